//! A ring for latest values: it has one lane, and its readers read only the newest published
//! message.

use std::marker::PhantomData;
use std::sync::Arc;

use bytemuck::Pod;

use super::{RingOptions, RingOrigin, constructors};
use crate::endpoint::consumer::{Consumer, RawConsumer, ReadMode};
use crate::endpoint::producer::{OnStalled, Producer, RawProducer};
use crate::file::error::OpenError;
use crate::file::segment::Segment;

/// Minimum number of slots of the lane, so that a reader can copy one slot while the writer fills
/// the next ones.
const POD_SLOTS_MIN: u64 = 4;
/// Number of slots of the lane if the options do not set it.
const POD_SLOTS_DEFAULT: u64 = 16;

/// A ring for the latest value of one producer. It can have any number of consumers.
///
/// ```
/// use horus_shm::{PodShm, RingOptions};
///
/// let ring = PodShm::<u64>::heap(&RingOptions::default())?;
/// let (mut producer, mut consumer) = (ring.producer()?, ring.consumer()?);
/// producer.send(1).unwrap();
/// producer.send(2).unwrap();
/// assert_eq!(consumer.latest(), Some(2));
/// assert_eq!(consumer.latest(), None, "nothing newer");
/// # Ok::<(), horus_shm::OpenError>(())
/// ```
#[derive(Debug)]
pub struct PodShm<T> {
    segment: Arc<Segment>,
    marker: PhantomData<fn(T) -> T>,
}

impl<T: Pod> PodShm<T> {
    constructors!();

    fn from_origin(origin: RingOrigin<'_>, options: &RingOptions) -> Result<Self, OpenError> {
        let request = options.to_request::<T>(|request| {
            request.capacity = request
                .capacity
                .map(|slots| slots.max(POD_SLOTS_MIN))
                .or(Some(POD_SLOTS_DEFAULT));
            request.lane_limit = Some(1);
            request.history = Some(1);
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

    /// Adds a consumer. It receives the present value if the producer is alive, and each later
    /// value that it reads before the producer overwrites it.
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
