//! What actuators are told to do, and how controllers are set.

use bytemuck::Zeroable;

use crate::message::standard::geometry::IDENTITY;
use crate::message::{FrameId, clamped, timestamp_now_ns};

crate::message! {
    /// Velocity command of a robot that moves in the plane: `linear.x` and `angular.z` of
    /// `geometry_msgs/Twist`, in single precision; in the robot's own frame.
    #[derive(Default)]
    pub struct CmdVel {
        /// When it was commanded, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Forward: metres per second.
        pub linear: f32,
        /// Counter-clockwise: radians per second.
        pub angular: f32,
    }
}
layout! { CmdVel = 16 { timestamp_ns: 0, linear: 8, angular: 12 } }

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

/// The most joints one [`JointCommand`] or [`JointState`](crate::message::JointState) holds: two
/// arms of seven joints with their grippers, or a quadruped with an arm of four.
pub const JOINTS_MAX: usize = 16;

crate::message! {
    /// Set-points of up to 16 joints, with the names of `trajectory_msgs/JointTrajectoryPoint`.
    ///
    /// Element *i* of every array belongs to joint *i*; `mode` says which of them count. The units
    /// are those of a revolute joint; for a prismatic one read metres for radians, newtons for
    /// newton-metres.
    #[derive(Default)]
    pub struct JointCommand {
        /// When it was commanded, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// How many joints are commanded, from the first: count.
        pub count: u32,
        /// 0: no unit.
        pub _reserved: u32,
        /// One of the `MODE_` constants; any other number means `MODE_DISABLED`: no unit.
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
        /// The drive limits the total torque to ± this; 0 leaves the limit to the drive: N·m.
        pub effort_max: [f64; JOINTS_MAX],
    }

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
}
layout! {
    JointCommand = 928 {
        timestamp_ns: 0, count: 8, _reserved: 12, mode: 16, position: 32, velocity: 160,
        acceleration: 288, effort: 416, stiffness: 544, damping: 672, effort_max: 800,
    }
}

impl JointCommand {
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
        clamped(self.count, JOINTS_MAX)
    }
}

crate::message! {
    /// Set-point of one motor. No ROS type: the fields and modes of [`JointCommand`] for a single
    /// joint, and the duty cycle of drives without a sensor.
    #[derive(Default)]
    pub struct MotorCommand {
        /// When it was commanded, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Which motor, as its node on the bus: no unit.
        pub motor_id: u32,
        /// One of the `MODE_` constants; any other number means `MODE_DISABLED`: no unit.
        pub mode: u8,
        /// 0, or 1 to power the drive: no unit.
        pub enable: u8,
        /// 0: no unit.
        pub _reserved: u16,
        /// Radians.
        pub position: f64,
        /// Radians per second.
        pub velocity: f64,
        /// Torque, or feed-forward torque: N·m.
        pub effort: f64,
        /// Share of the supply voltage, −1 to 1: no unit.
        pub duty_cycle: f64,
        /// The drive turns no faster; 0 leaves the limit to the drive: radians per second.
        pub velocity_max: f64,
        /// The drive accelerates no harder; 0 leaves the limit to the drive: rad/s².
        pub acceleration_max: f64,
        /// The drive pushes no harder; 0 leaves the limit to the drive: N·m.
        pub effort_max: f64,
    }

    /// No command.
    pub const MODE_DISABLED: u8 = JointCommand::MODE_DISABLED;
    /// Follow `position`.
    pub const MODE_POSITION: u8 = JointCommand::MODE_POSITION;
    /// Follow `velocity`.
    pub const MODE_VELOCITY: u8 = JointCommand::MODE_VELOCITY;
    /// Apply `effort`.
    pub const MODE_EFFORT: u8 = JointCommand::MODE_EFFORT;
    /// Apply `duty_cycle`, open loop. 4 is the impedance mode of [`JointCommand`], not had here.
    pub const MODE_DUTY_CYCLE: u8 = 5;
}
layout! {
    MotorCommand = 72 {
        timestamp_ns: 0, motor_id: 8, mode: 12, enable: 13, _reserved: 14, position: 16,
        velocity: 24, effort: 32, duty_cycle: 40, velocity_max: 48, acceleration_max: 56,
        effort_max: 64,
    }
}

impl MotorCommand {
    /// Turn at `velocity`, in rad/s; powered, and stamped with the current time.
    ///
    /// ```
    /// use horus_core::message::MotorCommand;
    ///
    /// let spin = MotorCommand::velocity(3, 10.0);
    /// assert_eq!((spin.motor_id, spin.mode), (3, MotorCommand::MODE_VELOCITY));
    /// ```
    #[must_use]
    pub fn velocity(motor_id: u32, velocity: f64) -> Self {
        Self { velocity, ..Self::powered(motor_id, Self::MODE_VELOCITY) }
    }

    /// Go to `position`, in radians; powered, and stamped with the current time.
    #[must_use]
    pub fn position(motor_id: u32, position: f64) -> Self {
        Self { position, ..Self::powered(motor_id, Self::MODE_POSITION) }
    }

    /// Push with `effort`, in N·m; powered, and stamped with the current time.
    #[must_use]
    pub fn effort(motor_id: u32, effort: f64) -> Self {
        Self { effort, ..Self::powered(motor_id, Self::MODE_EFFORT) }
    }

    fn powered(motor_id: u32, mode: u8) -> Self {
        let timestamp_ns = timestamp_now_ns();
        Self { timestamp_ns, motor_id, mode, enable: 1, ..Self::default() }
    }
}

crate::message! {
    /// Set-point of a hobby servo. No ROS type.
    #[derive(Default)]
    pub struct ServoCommand {
        /// When it was commanded, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Which servo, as its channel: no unit.
        pub servo_id: u32,
        /// 0 to let it go limp, 1 to hold: no unit.
        pub enable: u8,
        /// 0: no unit.
        pub _reserved: [u8; 3],
        /// From the middle: radians.
        pub position: f32,
        /// 0 for as fast as it can: radians per second.
        pub velocity_max: f32,
    }
}
layout! {
    ServoCommand = 24 {
        timestamp_ns: 0, servo_id: 8, enable: 12, _reserved: 13, position: 16, velocity_max: 20,
    }
}

impl ServoCommand {
    /// Go to `position`, in radians, as fast as it can; stamped with the current time.
    #[must_use]
    pub fn new(servo_id: u32, position: f32) -> Self {
        let timestamp_ns = timestamp_now_ns();
        Self { timestamp_ns, servo_id, enable: 1, position, ..Self::default() }
    }
}

crate::message! {
    /// Wheel speeds of a robot with two driven wheels. No ROS type: what
    /// `diff_drive_controller` of `ros2_control` sends to its wheels.
    #[derive(Default)]
    pub struct DifferentialDriveCommand {
        /// When it was commanded, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Left wheel, forward: radians per second.
        pub left: f64,
        /// Right wheel, forward: radians per second.
        pub right: f64,
        /// The wheels accelerate no harder; 0 leaves the limit to the drive: rad/s².
        pub acceleration_max: f64,
        /// 0, or 1 to power the drives: no unit.
        pub enable: u8,
        /// 0: no unit.
        pub _reserved: [u8; 7],
    }
}
layout! {
    DifferentialDriveCommand = 40 {
        timestamp_ns: 0, left: 8, right: 16, acceleration_max: 24, enable: 32, _reserved: 33,
    }
}

impl DifferentialDriveCommand {
    /// Wheel speeds in rad/s; powered, and stamped with the current time.
    #[must_use]
    pub fn new(left: f64, right: f64) -> Self {
        let timestamp_ns = timestamp_now_ns();
        Self { timestamp_ns, left, right, enable: 1, ..Self::default() }
    }

    /// What makes a robot move as `command` says, whose wheels have `wheel_radius`, not 0, and are
    /// `wheel_separation` apart, in metres. Keeps the time of `command`.
    ///
    /// ```
    /// use horus_core::message::{CmdVel, DifferentialDriveCommand};
    ///
    /// let on_the_spot = DifferentialDriveCommand::moving(&CmdVel::new(0.0, 1.0), 0.1, 0.4);
    /// assert!((on_the_spot.right - 2.0).abs() < 1e-6);
    /// assert_eq!(on_the_spot.left, -on_the_spot.right);
    /// ```
    #[must_use]
    pub fn moving(command: &CmdVel, wheel_radius: f64, wheel_separation: f64) -> Self {
        let (linear, angular) = (f64::from(command.linear), f64::from(command.angular));
        let turn = angular * wheel_separation / 2.0;
        Self {
            timestamp_ns: command.timestamp_ns,
            left: (linear - turn) / wheel_radius,
            right: (linear + turn) / wheel_radius,
            enable: 1,
            ..Self::default()
        }
    }
}

crate::message! {
    /// Gains and limits of a PID controller: `Pid::Gains` and `AntiWindupStrategy` of
    /// `control_toolbox` of `ros2_control`.
    ///
    /// `output = p·e + i·∫e dt + d·de/dt`; the units are those of the controller it is for.
    pub struct PidConfig {
        /// When it was set, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Which controller: no unit.
        pub controller_id: u32,
        /// What keeps the integral from growing while the output is limited, one of the
        /// `ANTIWINDUP_` constants: no unit.
        pub antiwindup: u8,
        /// 0: no unit.
        pub _reserved: [u8; 3],
        /// Proportional gain: of its use.
        pub p: f64,
        /// Integral gain: of its use.
        pub i: f64,
        /// Derivative gain: of its use.
        pub d: f64,
        /// Most that the integral part adds to the output, +∞ without a limit: of its use.
        pub i_max: f64,
        /// Least that the integral part adds to the output, −∞ without a limit: of its use.
        pub i_min: f64,
        /// Most that comes out, +∞ without a limit: of its use.
        pub u_max: f64,
        /// Least that comes out, −∞ without a limit: of its use.
        pub u_min: f64,
        /// How fast back calculation unwinds, 0 for the controller's own choice: seconds.
        pub tracking_time_constant: f64,
        /// Smaller errors are not integrated: of its use.
        pub error_deadband: f64,
    }

    /// Nothing but the limits of the integral part.
    pub const ANTIWINDUP_NONE: u8 = 0;
    /// The integral is drawn back by what the limit cut off.
    pub const ANTIWINDUP_BACK_CALCULATION: u8 = 1;
    /// Nothing is integrated that would lead further beyond the limit.
    pub const ANTIWINDUP_CONDITIONAL_INTEGRATION: u8 = 2;
}
layout! {
    PidConfig = 88 {
        timestamp_ns: 0, controller_id: 8, antiwindup: 12, _reserved: 13, p: 16, i: 24, d: 32,
        i_max: 40, i_min: 48, u_max: 56, u_min: 64, tracking_time_constant: 72,
        error_deadband: 80,
    }
}

impl PidConfig {
    /// Gains without limits, stamped with the current time.
    #[must_use]
    pub fn new(p: f64, i: f64, d: f64) -> Self {
        Self { timestamp_ns: timestamp_now_ns(), p, i, d, ..Self::default() }
    }
}

impl Default for PidConfig {
    /// No gains, no limits, time 0.
    fn default() -> Self {
        Self {
            i_max: f64::INFINITY,
            i_min: f64::NEG_INFINITY,
            u_max: f64::INFINITY,
            u_min: f64::NEG_INFINITY,
            ..Self::zeroed()
        }
    }
}

crate::message! {
    /// Where a body is to be and how it is to move there at one time of a trajectory, as
    /// `trajectory_msgs/MultiDOFJointTrajectoryPoint` of one body; in the frame that the topic is
    /// about. For joints: [`JointCommand`].
    pub struct TrajectoryPoint {
        /// When the trajectory begins, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// x, y, z: metres.
        pub position: [f64; 3],
        /// Unit quaternion x, y, z, w: no unit.
        pub orientation: [f64; 4],
        /// Along x, y, z: metres per second.
        pub linear_velocity: [f64; 3],
        /// About x, y, z: radians per second.
        pub angular_velocity: [f64; 3],
        /// Along x, y, z: m/s².
        pub linear_acceleration: [f64; 3],
        /// About x, y, z: rad/s².
        pub angular_acceleration: [f64; 3],
        /// When to be there, from `timestamp_ns`: nanoseconds.
        pub time_from_start_ns: u64,
    }
}
layout! {
    TrajectoryPoint = 168 {
        timestamp_ns: 0, position: 8, orientation: 32, linear_velocity: 64, angular_velocity: 88,
        linear_acceleration: 112, angular_acceleration: 136, time_from_start_ns: 160,
    }
}

impl Default for TrajectoryPoint {
    /// At rest at the origin, not rotated, at time 0.
    fn default() -> Self {
        Self { orientation: IDENTITY, ..Self::zeroed() }
    }
}

crate::message! {
    /// Force to apply along some axes of a frame, while the others keep their position: hybrid
    /// force and position control after Raibert and Craig (1981). No ROS type; force and torque
    /// as in `geometry_msgs/WrenchStamped`.
    #[derive(Default)]
    pub struct ForceCommand {
        /// When it was commanded, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// The frame of the task: text.
        pub frame_id: FrameId,
        /// To apply to the surroundings along x, y, z: newtons.
        pub force: [f64; 3],
        /// To apply to the surroundings about x, y, z: N·m.
        pub torque: [f64; 3],
        /// Along x, y, z and about x, y, z, 1 to follow the force, 0 to keep the position: no unit.
        pub force_controlled: [u8; 6],
        /// 0: no unit.
        pub _reserved: [u8; 2],
        /// How fast to go where nothing resists; 0 leaves the limit to the controller: metres per
        /// second.
        pub linear_velocity_max: f64,
        /// How fast to turn where nothing resists; 0 leaves the limit to the controller: radians
        /// per second.
        pub angular_velocity_max: f64,
    }
}
layout! {
    ForceCommand = 112 {
        timestamp_ns: 0, frame_id: 8, force: 40, torque: 64, force_controlled: 88, _reserved: 94,
        linear_velocity_max: 96, angular_velocity_max: 104,
    }
}

crate::message! {
    /// How a tool gives way: a spring, a damper and a mass along and about each axis of a frame.
    /// No ROS type; Hogan's impedance control (1985).
    ///
    /// `force = stiffness · offset + damping · velocity + mass · acceleration`
    #[derive(Default)]
    pub struct ImpedanceParameters {
        /// When it was set, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// The frame of the axes, as the tool's: text.
        pub frame_id: FrameId,
        /// Along x, y, z: N/m.
        pub linear_stiffness: [f64; 3],
        /// About x, y, z: N·m/rad.
        pub angular_stiffness: [f64; 3],
        /// Along x, y, z: N·s/m.
        pub linear_damping: [f64; 3],
        /// About x, y, z: N·m·s/rad.
        pub angular_damping: [f64; 3],
        /// Along x, y, z; 0 leaves the tool's own: kilograms.
        pub mass: [f64; 3],
        /// About x, y, z; 0 leaves the tool's own: kg·m².
        pub inertia: [f64; 3],
        /// Never push harder; 0 leaves the limit to the controller: newtons.
        pub force_max: f64,
        /// Never turn harder; 0 leaves the limit to the controller: N·m.
        pub torque_max: f64,
    }
}
layout! {
    ImpedanceParameters = 200 {
        timestamp_ns: 0, frame_id: 8, linear_stiffness: 40, angular_stiffness: 64,
        linear_damping: 88, angular_damping: 112, mass: 136, inertia: 160, force_max: 184,
        torque_max: 192,
    }
}
