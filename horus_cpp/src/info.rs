//! The C structs that describe an endpoint and its topic.

use crate::ffi::SizePrefixedStruct;

/// The C struct `horus_topic_info_t`, as `horus.h` declares it: the description of a topic.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
#[allow(missing_docs, reason = "the header documents each member")]
pub struct HorusTopicInfo {
    pub struct_bytes: u32,
    pub has_variable_size: i32,
    pub max_message_bytes: u64,
    pub sequence: u64,
    pub publishers: u32,
    pub subscribers: u32,
    pub received_bytes: u64,
}

// SAFETY: the struct has only numbers, so zeros are valid, and the first member is a `u32`.
unsafe impl SizePrefixedStruct for HorusTopicInfo {
    const FIRST_VERSION_BYTES: usize = 32;
}

/// Returns the [`HorusTopicInfo`] of a publisher or subscriber, or an error in a forked child. It
/// is a macro because both types have methods with the same names, but no common trait.
macro_rules! topic_info {
    ($end:expr, $received_bytes:expr) => {
        match $end.is_forked() {
            true => Err($crate::status::Failure::from(
                horus_core::RecvError::Forked {
                    topic: $end.label(),
                },
            )),
            false => Ok($crate::info::HorusTopicInfo {
                struct_bytes: 0,
                has_variable_size: $end.message_type().has_variable_size().into(),
                max_message_bytes: $end.max_message_bytes() as u64,
                sequence: $end.sequence(),
                publishers: $end.publisher_count() as u32,
                subscribers: $end.subscriber_count() as u32,
                received_bytes: $received_bytes,
            }),
        }
    };
}
pub(crate) use topic_info;

/// The C struct `horus_stats_t`, as `horus.h` declares it: the counters of one endpoint.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
#[allow(missing_docs, reason = "the header documents each member")]
pub struct HorusStats {
    pub struct_bytes: u32,
    pub unmapped: u32,
    pub received: u64,
    pub malformed: u64,
    pub lost: u64,
    pub skipped: u64,
    pub waiting: u64,
    pub sent: u64,
    pub busy: u64,
}

// SAFETY: the struct has only numbers, so zeros are valid, and the first member is a `u32`.
unsafe impl SizePrefixedStruct for HorusStats {
    const FIRST_VERSION_BYTES: usize = 64;
}
