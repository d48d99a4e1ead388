//! One producer, one consumer, nothing lost: a lane, and one gated reader.

use std::marker::PhantomData;
use std::sync::Arc;

use bytemuck::Pod;

use super::{RingOptions, RingOrigin, constructors, fix_for_gated_reader};
use crate::endpoint::consumer::{Consumer, RawConsumer};
use crate::endpoint::producer::{OnStalled, Producer, RawProducer};
use crate::file::error::OpenError;
use crate::file::segment::Segment;

/// A ring with one producer and one consumer; a full ring refuses the send, nothing is overwritten
/// unread.
///
/// ```
/// use horus_shm::{RingOptions, SpscShm};
///
/// let ring = SpscShm::<u64>::heap(&RingOptions::capacity(8))?;
/// let (mut producer, mut consumer) = (ring.producer()?, ring.consumer()?);
/// producer.send(7).unwrap();
/// assert_eq!(consumer.recv(), Some(7));
/// assert_eq!(consumer.recv(), None);
/// # Ok::<(), horus_shm::OpenError>(())
/// ```
#[derive(Debug)]
pub struct SpscShm<T> {
    segment: Arc<Segment>,
    marker: PhantomData<fn(T) -> T>,
}

impl<T: Pod> SpscShm<T> {
    constructors!();

    fn from_origin(origin: RingOrigin<'_>, options: &RingOptions) -> Result<Self, OpenError> {
        let request = options.request::<T>(|request| {
            fix_for_gated_reader(request, origin);
            request.lane_limit = Some(1);
        });
        Ok(Self {
            segment: origin.segment(&request)?,
            marker: PhantomData,
        })
    }

    /// Creates the producer. If a producer died, the new one goes on where it stopped.
    ///
    /// # Errors
    ///
    /// [`OpenError::TooManyPublishers`] while another producer lives.
    pub fn producer(&self) -> Result<Producer<T>, OpenError> {
        Ok(Producer::new(RawProducer::new(
            Arc::clone(&self.segment),
            OnStalled::Full,
        )?))
    }

    /// Creates the consumer: from now on the producer waits for it. Messages sent before are not
    /// received, unless a consumer died and the producer still waits for it: then the new one goes
    /// on at its cursor (the message it was reading may come twice).
    ///
    /// # Errors
    ///
    /// [`OpenError::TooManySubscribers`] while another consumer lives.
    pub fn consumer(&self) -> Result<Consumer<T>, OpenError> {
        Ok(Consumer::new(RawConsumer::successor(Arc::clone(
            &self.segment,
        ))?))
    }
}
