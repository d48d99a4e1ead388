//! Many producers, one consumer, nothing lost: one lane for each producer, and one gated reader.

use std::marker::PhantomData;
use std::sync::Arc;

use bytemuck::Pod;

use super::{RingOptions, RingOrigin, constructors, fix_for_gated_reader};
use crate::endpoint::consumer::{Consumer, RawConsumer};
use crate::endpoint::producer::{OnStalled, Producer, RawProducer};
use crate::file::error::OpenError;
use crate::file::segment::Segment;

/// A ring with many producers and one consumer; a full lane refuses the send, nothing is
/// overwritten unread.
///
/// Each producer's messages keep their order; between producers there is none.
///
/// ```
/// use horus_shm::{MpscShm, RingOptions};
///
/// let ring = MpscShm::<u64>::heap(&RingOptions::default())?;
/// let (mut a, mut b, mut consumer) = (ring.producer()?, ring.producer()?, ring.consumer()?);
/// a.send(1).unwrap();
/// b.send(2).unwrap();
/// assert_eq!(consumer.recv().into_iter().chain(consumer.recv()).sum::<u64>(), 3);
/// # Ok::<(), horus_shm::OpenError>(())
/// ```
#[derive(Debug)]
pub struct MpscShm<T> {
    segment: Arc<Segment>,
    marker: PhantomData<fn(T) -> T>,
}

impl<T: Pod> MpscShm<T> {
    constructors!();

    fn from_origin(origin: RingOrigin<'_>, options: &RingOptions) -> Result<Self, OpenError> {
        let request = options.request::<T>(|request| fix_for_gated_reader(request, origin));
        Ok(Self {
            segment: origin.segment(&request)?,
            marker: PhantomData,
        })
    }

    /// Adds a producer, with a lane of its own.
    ///
    /// # Errors
    ///
    /// [`OpenError::TooManyPublishers`] if every lane has a live producer.
    pub fn producer(&self) -> Result<Producer<T>, OpenError> {
        Ok(Producer::new(RawProducer::new(
            Arc::clone(&self.segment),
            OnStalled::Full,
        )?))
    }

    /// Creates the consumer: from now on the producers wait for it. If a consumer died and the
    /// producers still wait for it, the new one goes on at its cursors (a message it was reading
    /// may come twice).
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
