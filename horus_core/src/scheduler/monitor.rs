//! Stub.

use crate::message::Text;

#[derive(Debug, Clone, Copy)]
pub struct NodeEvent {
    pub monotonic_ns: u64,
    pub tick: u64,
    pub value_ns: u64,
    pub node: Text<64>,
    pub text: Text<128>,
    pub kind: u8,
}

impl NodeEvent {
    pub const STARTED: u8 = 1;
    pub const FINISHED: u8 = 2;
    pub const FAILED: u8 = 3;
    pub const PANICKED: u8 = 4;
    pub const MISSED: u8 = 5;
    pub const STUCK: u8 = 6;
    pub const RECOVERED: u8 = 7;
    pub const SAFE_STATE_ENTERED: u8 = 8;
    pub const SAFE_STATE_LEFT: u8 = 9;
    pub const PAUSED: u8 = 10;
    pub const RESUMED: u8 = 11;
    pub const STOPPED: u8 = 12;
    pub const RATE_CHANGED: u8 = 13;
    pub const SWAPPED: u8 = 14;
    pub const SWAP_FAILED: u8 = 15;
    pub const REFUSED: u8 = 16;
    pub const EMERGENCY_STOP: u8 = 17;
    pub const EMERGENCY_OVER: u8 = 18;
    pub const COMMAND: u8 = 19;
    pub const SCHEDULER_STARTED: u8 = 20;
    pub const SCHEDULER_STOPPED: u8 = 21;
}

#[derive(Debug, Clone, Default)]
pub(super) struct Recorder;
impl Recorder {
    pub(super) fn record(&self, _event: NodeEvent) {}
}
