//! The four kinds of ring: thin, typed views of lanes.
//!
//! | ring | lanes | readers | a slow reader |
//! |---|---|---|---|
//! | [`SpscShm`] | 1 | 1, gated | holds the writer back |
//! | [`MpscShm`] | one a producer | 1, gated | holds the writers back |
//! | [`FanoutShm`] | one a producer | any, keep-last | loses messages and counts them |
//! | [`PodShm`] | 1 | any, latest value | sees the newest |
//!
//! A ring is a topic file of a fixed form: `create` or `open` it by name, then ask for its ends.

mod fanout;
mod mpsc;
mod pod;
mod spsc;

pub use fanout::FanoutShm;
pub use mpsc::MpscShm;
pub use pod::PodShm;
pub use spsc::SpscShm;

use std::sync::Arc;

use crate::file::contract::Request;
use crate::file::error::OpenError;
use crate::file::name::TopicName;
use crate::file::namespace::Namespace;
use crate::file::segment::Segment;
use crate::file::topic_type::TypeInfo;

/// What the creator of a ring may choose; whoever opens it adopts the rest.
#[derive(Debug, Clone, Default)]
pub struct RingOptions {
    /// Slots of a lane, rounded up to a power of two. Default: 256 KiB worth of them, 16 to 1024.
    pub capacity: Option<u64>,
    /// Lanes, so producers at a time, where the ring has more than one. Default 16.
    pub producers: Option<u32>,
    /// Readers at a time, where the ring has more than one. Default 64.
    pub consumers: Option<u32>,
    /// Messages can be written and read where they lie. Default: those of 4 KiB and more, in rings
    /// whose readers are not all gated.
    pub pinnable: Option<bool>,
    /// The message's schema. Default: plain bytes of the type's size.
    pub type_info: Option<TypeInfo>,
}

impl RingOptions {
    /// Options that only say how many slots a lane has.
    #[must_use]
    pub fn capacity(capacity: u64) -> Self {
        Self { capacity: Some(capacity), ..Self::default() }
    }

    fn request<T>(&self, fix: impl FnOnce(&mut Request)) -> Request {
        let type_info = self.type_info.clone().unwrap_or_else(TypeInfo::opaque::<T>);
        let mut request = Request::new(type_info);
        request.capacity = self.capacity;
        request.lane_limit = self.producers;
        request.reader_limit = self.consumers;
        request.pinnable = self.pinnable;
        fix(&mut request);
        request
    }
}

/// Where a ring's memory comes from.
#[derive(Debug, Clone, Copy)]
enum Origin<'a> {
    Create(&'a Arc<Namespace>, &'a str),
    Open(&'a Arc<Namespace>, &'a str),
    Heap,
}

impl Origin<'_> {
    fn segment(self, request: &Request) -> Result<Arc<Segment>, OpenError> {
        match self {
            Self::Create(namespace, name) => {
                Segment::create(namespace, &TopicName::new(name)?, request)
            }
            Self::Open(namespace, name) => {
                Segment::open(namespace, &TopicName::new(name)?, request)
            }
            Self::Heap => Segment::heap(request),
        }
    }
}

/// The constructors that every kind of ring has.
macro_rules! constructors {
    () => {
        /// Creates the ring `name`, which must not exist.
        ///
        /// # Errors
        ///
        /// Those of [`Segment::create`](crate::Segment::create).
        pub fn create(
            namespace: &std::sync::Arc<crate::Namespace>,
            name: &str,
            options: &crate::RingOptions,
        ) -> Result<Self, crate::OpenError> {
            Self::make(super::Origin::Create(namespace, name), options)
        }

        /// Opens the ring `name`, which must exist.
        ///
        /// # Errors
        ///
        /// Those of [`Segment::open`](crate::Segment::open); options that are given and differ are
        /// mismatches.
        pub fn open(
            namespace: &std::sync::Arc<crate::Namespace>,
            name: &str,
            options: &crate::RingOptions,
        ) -> Result<Self, crate::OpenError> {
            Self::make(super::Origin::Open(namespace, name), options)
        }

        /// A ring on the heap, between threads of this process.
        ///
        /// # Errors
        ///
        /// Those of [`Segment::heap`](crate::Segment::heap).
        pub fn heap(options: &crate::RingOptions) -> Result<Self, crate::OpenError> {
            Self::make(super::Origin::Heap, options)
        }

        /// The memory under the ring.
        #[must_use]
        pub const fn segment(&self) -> &std::sync::Arc<crate::Segment> {
            &self.segment
        }
    };
}
use constructors;
