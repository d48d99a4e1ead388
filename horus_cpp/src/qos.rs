//! The C struct for the quality of service of an endpoint, and the values of its members.

use horus_core::topic::{OnStalled, Qos, Reliability, WakeBarrier};

use crate::ffi::{
    SizePrefixedStruct, count_unless_default, count64_unless_default, duration_unless_default,
    invalid_argument,
};
use crate::status::Failure;

/// Value of a setting in the quality of service: the setting keeps its default.
pub const HORUS_UNSET: i32 = 0;
/// Value of an on-off setting in the quality of service: off.
pub const HORUS_NO: i32 = 1;
/// Value of an on-off setting in the quality of service: on.
pub const HORUS_YES: i32 = 2;
/// Value of the member `reliability`: a slow subscriber loses messages, and counts the lost ones.
pub const HORUS_BEST_EFFORT: i32 = 1;
/// Value of the member `reliability`: no message is lost. While a subscriber is too slow, a send
/// returns `HORUS_FULL`.
pub const HORUS_RELIABLE: i32 = 2;
/// Value of the setting for wake-ups: sends need no fence, because a reader executes a `membarrier`
/// before it sleeps.
pub const HORUS_WAKE_MEMBARRIER: i32 = 1;
/// Value of the setting for wake-ups: every send executes a fence, so readers need no `membarrier`.
pub const HORUS_WAKE_FENCE: i32 = 2;
/// Value of the member `history` for no history. WHY not 0: in this member, 0 means that the
/// setting keeps its default.
pub const HORUS_HISTORY_NONE: u32 = u32::MAX;

/// Preset for the quality of service: every setting has its default.
pub const HORUS_QOS_DEFAULT: i32 = 0;
/// Preset for the quality of service of sensor data, where only fresh data matters.
pub const HORUS_QOS_SENSOR_DATA: i32 = 1;
/// Preset for the quality of service of messages that must not be lost.
pub const HORUS_QOS_RELIABLE: i32 = 2;
/// Preset for the quality of service of commands to actuators.
pub const HORUS_QOS_COMMAND: i32 = 3;
/// Preset for the quality of service of topics whose last message is kept for subscribers that are
/// opened later.
pub const HORUS_QOS_LATCHED: i32 = 4;

/// The C struct `horus_qos_t`, as `horus.h` declares it: the quality of service of an endpoint.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
#[allow(missing_docs, reason = "the header documents each member")]
pub struct HorusQos {
    pub struct_bytes: u32,
    pub preset: i32,
    pub reliability: i32,
    pub history: u32,
    pub capacity: u64,
    pub persist_after_exit: i32,
    pub wake_barrier: i32,
    pub pinnable: i32,
    pub publishers_max: u32,
    pub subscribers_max: u32,
    pub strict: i32,
    pub detach_after_ns: u64,
    pub strict_schema: i32,
    pub reserved: u32,
}

// SAFETY: the struct has only numbers, so zeros are valid, and the first member is a `u32`.
unsafe impl SizePrefixedStruct for HorusQos {
    const FIRST_VERSION_BYTES: usize = 56;
}

impl HorusQos {
    /// Converts the C struct to the quality of service of `horus_core`. Returns an error if a
    /// member has an invalid value.
    pub(crate) fn to_qos(self) -> Result<Qos, Failure> {
        let mut qos = match self.preset {
            HORUS_QOS_DEFAULT => Qos::new(),
            HORUS_QOS_SENSOR_DATA => Qos::sensor_data(),
            HORUS_QOS_RELIABLE => Qos::reliable(),
            HORUS_QOS_COMMAND => Qos::command(),
            HORUS_QOS_LATCHED => Qos::latched(),
            other => {
                return Err(invalid_argument(format!(
                    "qos->preset is {other}, not 0 to 4"
                )));
            }
        };
        if let Some(reliable) = parse_flag("reliability", self.reliability)? {
            let kinds = [Reliability::BestEffort, Reliability::Reliable];
            qos = qos.reliability(kinds[usize::from(reliable)]);
        }
        if let Some(fence) = parse_flag("wake_barrier", self.wake_barrier)? {
            qos =
                qos.wake_barrier([WakeBarrier::Membarrier, WakeBarrier::Fence][usize::from(fence)]);
        }
        if let Some(persist) = parse_flag("persist_after_exit", self.persist_after_exit)? {
            qos = qos.persist_after_exit(persist);
        }
        if let Some(pinnable) = parse_flag("pinnable", self.pinnable)? {
            qos = qos.pinnable(pinnable);
        }
        if let Some(strict) = parse_flag("strict", self.strict)? {
            qos = qos.strict(strict);
        }
        if let Some(strict) = parse_flag("strict_schema", self.strict_schema)? {
            qos = qos.strict_schema(strict);
        }
        qos = match self.history {
            0 => qos,
            HORUS_HISTORY_NONE => qos.history(0),
            messages => qos.history(messages),
        };
        qos = count64_unless_default(self.capacity).map_or(qos, |slots| qos.capacity(slots));
        qos = count_unless_default(self.publishers_max).map_or(qos, |max| qos.publishers_max(max));
        qos =
            count_unless_default(self.subscribers_max).map_or(qos, |max| qos.subscribers_max(max));
        let detach_after = duration_unless_default("detach_after_ns", self.detach_after_ns)?;
        Ok(detach_after.map_or(qos, |after| qos.on_stalled(OnStalled::Detach { after })))
    }
}

/// Converts `value`, the value of an on-off setting: returns false for `HORUS_NO`, true for
/// `HORUS_YES`, and `None` for [`HORUS_UNSET`]. Other values are errors that contain `name`, the
/// name of the setting.
fn parse_flag(name: &str, value: i32) -> Result<Option<bool>, Failure> {
    match value {
        HORUS_UNSET => Ok(None),
        HORUS_NO => Ok(Some(false)),
        HORUS_YES => Ok(Some(true)),
        other => Err(invalid_argument(format!(
            "qos->{name} is {other}, not 0 to 2"
        ))),
    }
}
