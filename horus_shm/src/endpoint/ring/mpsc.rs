//! A ring with many producers and one consumer that loses no message. Each producer has its own
//! lane, and the consumer is a gated reader.

use std::marker::PhantomData;
use std::sync::Arc;

use bytemuck::Pod;

use super::{RingOptions, RingOrigin, constructors, set_gated_reader_options};
use crate::endpoint::consumer::{Consumer, RawConsumer};
use crate::endpoint::producer::{OnStalled, Producer, RawProducer};
use crate::file::error::OpenError;
use crate::file::segment::Segment;

/// A ring with many producers and one consumer. A send into a full lane is refused; an unread
/// message is never overwritten.
///
/// The messages of each producer keep their order. Between different producers there is no order.
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
        let request = options.to_request::<T>(set_gated_reader_options);
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

    /// Creates the consumer, for which the producers wait from now on. If an earlier consumer died
    /// and the producers are still waiting for it, the new one continues at its cursors. It may
    /// receive a message again that the earlier consumer was reading when it died.
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
