//! A ring with many producers and many consumers. Each producer has its own lane, and each consumer
//! receives every message.

use std::marker::PhantomData;
use std::sync::Arc;

use bytemuck::Pod;

use super::{RingOptions, RingOrigin, constructors};
use crate::endpoint::consumer::{Consumer, RawConsumer, ReadMode};
use crate::endpoint::producer::{OnStalled, Producer, RawProducer};
use crate::file::error::OpenError;
use crate::file::segment::Segment;

/// A ring with many producers and many consumers. A consumer receives every message, provided that
/// it is fast enough.
///
/// Consumers keep private cursors, so none of them can delay a producer or another consumer. A
/// consumer that is too slow loses the oldest messages, and counts exactly how many it lost.
///
/// ```
/// use horus_shm::{FanoutShm, RingOptions};
///
/// let ring = FanoutShm::<u64>::heap(&RingOptions::capacity(8))?;
/// let (mut a, mut b) = (ring.consumer()?, ring.consumer()?);
/// let mut producer = ring.producer()?;
/// producer.send(7).unwrap();
/// assert_eq!((a.recv(), b.recv()), (Some(7), Some(7)));
/// # Ok::<(), horus_shm::OpenError>(())
/// ```
#[derive(Debug)]
pub struct FanoutShm<T> {
    segment: Arc<Segment>,
    marker: PhantomData<fn(T) -> T>,
}

impl<T: Pod> FanoutShm<T> {
    constructors!();

    fn from_origin(origin: RingOrigin<'_>, options: &RingOptions) -> Result<Self, OpenError> {
        let request = options.to_request::<T>(|_| ());
        Ok(Self {
            segment: origin.open_segment(&request)?,
            marker: PhantomData,
        })
    }

    /// Adds a producer, for which it claims a free lane.
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

    /// Adds a consumer, which receives the messages that are sent from now on.
    ///
    /// # Errors
    ///
    /// [`OpenError::TooManySubscribers`] if every reader slot has a live consumer.
    pub fn consumer(&self) -> Result<Consumer<T>, OpenError> {
        Ok(Consumer::new(RawConsumer::new(
            Arc::clone(&self.segment),
            ReadMode::KeepLast,
        )?))
    }
}
