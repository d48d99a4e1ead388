//! The four kinds of rings. A ring is a thin, typed view of one or more lanes.
//!
//! | ring | lanes | readers | a slow reader |
//! |---|---|---|---|
//! | [`SpscShm`] | 1 | 1, gated | holds the writer back |
//! | [`MpscShm`] | one a producer | 1, gated | holds the writers back |
//! | [`FanoutShm`] | one a producer | any, keep-last | loses messages and counts them |
//! | [`PodShm`] | 1 | any, latest value | sees the newest |
//!
//! A ring is a topic file with a fixed configuration. `create` it or `open` it by name, then get
//! its endpoints.

mod fanout;
mod mpsc;
mod pod;
mod spsc;

pub use fanout::FanoutShm;
pub use mpsc::MpscShm;
pub use pod::PodShm;
pub use spsc::SpscShm;

use std::sync::Arc;

use crate::file::error::OpenError;
use crate::file::name::TopicName;
use crate::file::namespace::Namespace;
use crate::file::offer::Request;
use crate::file::segment::Segment;
use crate::file::topic_type::{Reliability, TypeInfo};

/// The options of a ring; `None` selects the default. Except for the message type, the options
/// apply only to the producers and consumers that are created through the same handle, and the
/// processes that use a ring may choose different ones.
#[derive(Debug, Clone, Default)]
pub struct RingOptions {
    /// Number of slots of a lane, which is rounded up to a power of two. Default: as many slots as
    /// fit in 256 KiB, but at least 16 and at most 1024; 4 if a slot has more than 1 MiB.
    pub capacity: Option<u64>,
    /// Maximum number of producers at the same time, each of which has a lane. Only for rings with
    /// several producers. Default: 64.
    pub producers: Option<u32>,
    /// Maximum number of readers at the same time. Used only for rings that permit several readers.
    /// It is 64 by default.
    pub consumers: Option<u32>,
    /// True if messages can be written and read in their slots. Default: true for messages of 4 KiB
    /// and more, in rings whose readers are not gated.
    pub pinnable: Option<bool>,
    /// The message type of the ring. Default: plain bytes with the size of `T`, without a schema.
    pub type_info: Option<TypeInfo>,
}

impl RingOptions {
    /// Creates options with `capacity` slots per lane. All other options keep their defaults.
    #[must_use]
    pub fn capacity(capacity: u64) -> Self {
        Self {
            capacity: Some(capacity),
            ..Self::default()
        }
    }

    fn to_request<T>(&self, adjust: impl FnOnce(&mut Request)) -> Request {
        let type_info = self.type_info.clone().unwrap_or_else(TypeInfo::opaque::<T>);
        let mut request = Request::new(type_info);
        request.capacity = self.capacity;
        request.lane_limit = self.producers;
        request.reader_limit = self.consumers;
        request.pinnable = self.pinnable;
        // WHY: a ring is opened by those who know its form.
        request.strict = true;
        adjust(&mut request);
        request
    }
}

/// The source of a ring's memory: a new topic file, an existing topic file, or the heap.
#[derive(Debug, Clone, Copy)]
enum RingOrigin<'a> {
    Create(&'a Arc<Namespace>, &'a str),
    Open(&'a Arc<Namespace>, &'a str),
    Heap,
}

impl RingOrigin<'_> {
    fn open_segment(self, request: &Request) -> Result<Arc<Segment>, OpenError> {
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

/// Sets the options that all rings with a single gated reader need, such as reliability.
fn set_gated_reader_options(request: &mut Request) {
    request.reliability = Some(Reliability::Reliable);
    request.reader_limit = Some(1);
    // WHY not in place by default: a slot that is read in place is pinned, and costs a fence.
    request.pinnable = request.pinnable.or(Some(false));
}

/// Defines the constructors and the accessor that every kind of ring has.
macro_rules! constructors {
    () => {
        /// Creates the ring `name`, which must not exist.
        ///
        /// # Errors
        ///
        /// The same as for [`Segment::create`](crate::Segment::create).
        pub fn create(
            namespace: &std::sync::Arc<crate::Namespace>,
            name: &str,
            options: &crate::RingOptions,
        ) -> Result<Self, crate::OpenError> {
            Self::from_origin(super::RingOrigin::Create(namespace, name), options)
        }

        /// Opens the ring `name`, which must exist.
        ///
        /// # Errors
        ///
        /// The same as for [`Segment::open`](crate::Segment::open). A message type that differs
        /// from that of the ring is an error; the other options are not compared.
        pub fn open(
            namespace: &std::sync::Arc<crate::Namespace>,
            name: &str,
            options: &crate::RingOptions,
        ) -> Result<Self, crate::OpenError> {
            Self::from_origin(super::RingOrigin::Open(namespace, name), options)
        }

        /// Creates a ring on the heap, for the threads of this process.
        ///
        /// # Errors
        ///
        /// The same as for [`Segment::heap`](crate::Segment::heap).
        pub fn heap(options: &crate::RingOptions) -> Result<Self, crate::OpenError> {
            Self::from_origin(super::RingOrigin::Heap, options)
        }

        /// Returns the segment (mapped memory) of the ring.
        #[must_use]
        pub const fn segment(&self) -> &std::sync::Arc<crate::Segment> {
            &self.segment
        }
    };
}
use constructors;
