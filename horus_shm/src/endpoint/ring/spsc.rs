//! A ring with one producer and one consumer, in which no message is lost: it has one lane and one
//! gated reader.

use std::marker::PhantomData;
use std::sync::Arc;

use bytemuck::Pod;

use super::{RingOptions, RingOrigin, constructors, set_gated_reader_options};
use crate::endpoint::consumer::{Consumer, RawConsumer};
use crate::endpoint::producer::{OnStalled, Producer, RawProducer};
use crate::file::error::OpenError;
use crate::file::segment::Segment;

/// A ring with one producer and one consumer. A send into a full ring is refused; an unread message
/// is never overwritten.
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
        let request = options.to_request::<T>(|request| {
            set_gated_reader_options(request);
            request.lane_limit = Some(1);
        });
        Ok(Self {
            segment: origin.open_segment(&request)?,
            marker: PhantomData,
        })
    }

    /// Creates the producer. If an earlier producer died, the new one continues at the position
    /// where the earlier one stopped.
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

    /// Creates the consumer, for which the producer waits from now on. The consumer does not
    /// receive messages sent before, with one exception. If an earlier consumer died and the
    /// producer is still waiting for it, the new one continues at its cursor. It may receive a
    /// message again that the earlier consumer was reading when it died.
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
