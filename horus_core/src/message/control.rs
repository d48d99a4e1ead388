//! What actuators are told to do.

use std::mem::offset_of;

use super::timestamp_now_ns;

crate::message! {
    /// Velocity command of a robot that moves in the plane: `linear.x` and `angular.z` of
    /// `geometry_msgs/Twist`, in single precision.
    ///
    /// ```text
    ///  0  timestamp_ns
    ///  8  linear
    /// 12  angular
    /// 16
    /// ```
    #[derive(Default)]
    pub struct CmdVel {
        /// When it was commanded: CLOCK_REALTIME, nanoseconds.
        pub timestamp_ns: u64,
        /// Forward: metres per second.
        pub linear: f32,
        /// Counter-clockwise: radians per second.
        pub angular: f32,
    }
}

const _: () = {
    assert!(size_of::<CmdVel>() == 16);
    assert!(offset_of!(CmdVel, timestamp_ns) == 0);
    assert!(offset_of!(CmdVel, linear) == 8);
    assert!(offset_of!(CmdVel, angular) == 12);
};

impl CmdVel {
    /// A command stamped with the current time: `linear` in m/s, `angular` in rad/s.
    ///
    /// ```
    /// use horus_core::message::CmdVel;
    ///
    /// let turn = CmdVel::new(0.5, 0.1);
    /// assert_eq!((turn.linear, turn.angular), (0.5, 0.1));
    /// assert!(turn.timestamp_ns > 0);
    /// ```
    #[must_use]
    pub fn new(linear: f32, angular: f32) -> Self {
        Self { timestamp_ns: timestamp_now_ns(), linear, angular }
    }
}

/// The most joints one [`JointCommand`] holds.
pub const JOINTS_MAX: usize = 16;

crate::message! {
    /// Set-points of up to 16 joints, with the names of `trajectory_msgs/JointTrajectoryPoint`.
    ///
    /// Element *i* of every array belongs to joint *i*; `mode` says which of them count. The units
    /// are those of a revolute joint; for a prismatic one read metres for radians, newtons for
    /// newton-metres.
    ///
    /// ```text
    ///   0  timestamp_ns
    ///   8  count
    ///  12  _reserved
    ///  16  mode          16
    ///  32  position      16
    /// 160  velocity      16
    /// 288  acceleration  16
    /// 416  effort        16
    /// 544  stiffness     16
    /// 672  damping       16
    /// 800  effort_max    16
    /// 928
    /// ```
    #[derive(Default)]
    pub struct JointCommand {
        /// When it was commanded: CLOCK_REALTIME, nanoseconds.
        pub timestamp_ns: u64,
        /// How many joints are commanded, from the first.
        pub count: u32,
        /// 0.
        pub _reserved: u32,
        /// One of the `MODE_` constants; any other number means [`MODE_DISABLED`]: no unit.
        ///
        /// [`MODE_DISABLED`]: JointCommand::MODE_DISABLED
        pub mode: [u8; JOINTS_MAX],
        /// Radians.
        pub position: [f64; JOINTS_MAX],
        /// Radians per second.
        pub velocity: [f64; JOINTS_MAX],
        /// Feed-forward: rad/s².
        pub acceleration: [f64; JOINTS_MAX],
        /// Torque, or feed-forward torque: N·m.
        pub effort: [f64; JOINTS_MAX],
        /// Gain of the position error, often called kp: N·m/rad.
        pub stiffness: [f64; JOINTS_MAX],
        /// Gain of the velocity error, often called kd: N·m·s/rad.
        pub damping: [f64; JOINTS_MAX],
        /// The drive limits the total torque to ± this: N·m. 0 leaves the limit to the drive.
        pub effort_max: [f64; JOINTS_MAX],
    }
}

const _: () = {
    assert!(size_of::<JointCommand>() == 928);
    assert!(offset_of!(JointCommand, timestamp_ns) == 0);
    assert!(offset_of!(JointCommand, count) == 8);
    assert!(offset_of!(JointCommand, _reserved) == 12);
    assert!(offset_of!(JointCommand, mode) == 16);
    assert!(offset_of!(JointCommand, position) == 32);
    assert!(offset_of!(JointCommand, velocity) == 160);
    assert!(offset_of!(JointCommand, acceleration) == 288);
    assert!(offset_of!(JointCommand, effort) == 416);
    assert!(offset_of!(JointCommand, stiffness) == 544);
    assert!(offset_of!(JointCommand, damping) == 672);
    assert!(offset_of!(JointCommand, effort_max) == 800);
};

impl JointCommand {
    /// The joint gets no command: its drive keeps what it does without one.
    pub const MODE_DISABLED: u8 = 0;
    /// Follow `position`.
    pub const MODE_POSITION: u8 = 1;
    /// Follow `velocity`.
    pub const MODE_VELOCITY: u8 = 2;
    /// Apply `effort`.
    pub const MODE_EFFORT: u8 = 3;
    /// Apply `effort + stiffness · (position − measured) + damping · (velocity − measured)`.
    pub const MODE_IMPEDANCE: u8 = 4;

    /// How many joints are commanded: `count`, or all if a peer claims more.
    ///
    /// ```
    /// use horus_core::message::JointCommand;
    ///
    /// let mut command = JointCommand { count: 1, ..JointCommand::default() };
    /// command.mode[0] = JointCommand::MODE_VELOCITY;
    /// command.velocity[0] = 0.2;
    /// assert_eq!(command.joints(), 1);
    /// ```
    #[must_use]
    pub fn joints(&self) -> usize {
        usize::try_from(self.count).map_or(JOINTS_MAX, |count| count.min(JOINTS_MAX))
    }
}
