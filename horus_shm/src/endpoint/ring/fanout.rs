//! Many producers, many consumers, each receives every message: one lane for each producer.

use std::marker::PhantomData;
use std::sync::Arc;

use bytemuck::Pod;

use super::{RingOptions, RingOrigin, constructors};
use crate::endpoint::consumer::{Consumer, RawConsumer, ReadMode};
use crate::endpoint::producer::{OnStalled, Producer, RawProducer};
use crate::file::error::OpenError;
use crate::file::segment::Segment;

/// A ring with many producers and many consumers; a consumer receives every message if it is fast
/// enough.
///
/// Consumers keep private cursors: none of them can delay a producer or another consumer. A
/// consumer that is lapped loses the oldest messages and counts them exactly.
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
        let request = options.request::<T>(|_| ());
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

    /// Adds a consumer, from the present head of every lane on.
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
