//! Commands to actuators, and settings of controllers.

use bytemuck::Zeroable;

use crate::message::standard::geometry::IDENTITY_QUATERNION;
use crate::message::{FrameId, clamp_count, timestamp_now_ns};

crate::message! {
    /// Velocity command of a robot that moves in the plane, in the robot's own frame: `linear.x`
    /// and `angular.z` of `geometry_msgs/Twist` in single precision.
    #[derive(Default)]
    pub struct CmdVel {
        /// Time of the command, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Forward velocity: metres per second.
        pub linear: f32,
        /// Counter-clockwise angular velocity: radians per second.
        pub angular: f32,
    }
}
layout! { CmdVel = 16 { timestamp_ns: 0, linear: 8, angular: 12 } }

impl CmdVel {
    /// Returns a command stamped with the current time: `linear` in m/s, `angular` in rad/s.
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
        Self {
            timestamp_ns: timestamp_now_ns(),
            linear,
            angular,
        }
    }
}

/// The largest number of joints in a [`JointCommand`] or
/// [`JointState`](crate::message::JointState): two arms of seven joints with their grippers, or a
/// quadruped with an arm of four.
pub const JOINTS_MAX: usize = 16;

crate::message! {
    /// Set-points of up to 16 joints, with the names of `trajectory_msgs/JointTrajectoryPoint`.
    ///
    /// Element *i* of every array belongs to joint *i*; `mode` selects the arrays that are used.
    /// The units are those of a revolute joint. For a prismatic joint, radians become metres and
    /// newton-metres become newtons.
    #[derive(Default)]
    pub struct JointCommand {
        /// Time of the command, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Number of commanded joints: the first `count` elements of each array are in use: count.
        pub count: u32,
        /// Reserved, 0: no unit.
        pub _reserved: u32,
        /// One of the `MODE_` constants; any other number means `MODE_DISABLED`: no unit.
        pub mode: [u8; JOINTS_MAX],
        /// Position of each joint: radians.
        pub position: [f64; JOINTS_MAX],
        /// Velocity of each joint: radians per second.
        pub velocity: [f64; JOINTS_MAX],
        /// Feed-forward acceleration: rad/s².
        pub acceleration: [f64; JOINTS_MAX],
        /// Torque, or feed-forward torque: N·m.
        pub effort: [f64; JOINTS_MAX],
        /// Gain of the position error, often called kp: N·m/rad.
        pub stiffness: [f64; JOINTS_MAX],
        /// Gain of the velocity error, often called kd: N·m·s/rad.
        pub damping: [f64; JOINTS_MAX],
        /// Limit of the absolute value of the total torque; 0 leaves the limit to the drive: N·m.
        pub effort_max: [f64; JOINTS_MAX],
    }

    /// This message does not command the joint. Whether it then holds, brakes or goes limp is up to
    /// its drive.
    pub const MODE_DISABLED: u8 = 0;
    /// The drive follows `position`.
    pub const MODE_POSITION: u8 = 1;
    /// The drive follows `velocity`.
    pub const MODE_VELOCITY: u8 = 2;
    /// The drive applies `effort`.
    pub const MODE_EFFORT: u8 = 3;
    /// The drive applies `effort + stiffness · (position − measured) + damping · (velocity −
    /// measured)`.
    pub const MODE_IMPEDANCE: u8 = 4;
}
layout! {
    JointCommand = 928 {
        timestamp_ns: 0, count: 8, _reserved: 12, mode: 16, position: 32, velocity: 160,
        acceleration: 288, effort: 416, stiffness: 544, damping: 672, effort_max: 800,
    }
}

impl JointCommand {
    /// Returns the number of commanded joints: `count`, limited to [`JOINTS_MAX`] in case the
    /// sender wrote a larger number.
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
        clamp_count(self.count, JOINTS_MAX)
    }
}

crate::message! {
    /// Set-point of one motor. No ROS type: the fields and modes of [`JointCommand`] for a single
    /// joint, and the duty cycle of drives without a sensor.
    #[derive(Default)]
    pub struct MotorCommand {
        /// Time of the command, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Number of the motor, such as its node on the bus: no unit.
        pub motor_id: u32,
        /// One of the `MODE_` constants; any other number means `MODE_DISABLED`: no unit.
        pub mode: u8,
        /// 1 to power the drive, else 0: no unit.
        pub enable: u8,
        /// Reserved, 0: no unit.
        pub _reserved: u16,
        /// Position: radians.
        pub position: f64,
        /// Velocity: radians per second.
        pub velocity: f64,
        /// Torque, or feed-forward torque: N·m.
        pub effort: f64,
        /// Share of the supply voltage, −1 to 1: no unit.
        pub duty_cycle: f64,
        /// Limit of the speed; 0 leaves the limit to the drive: radians per second.
        pub velocity_max: f64,
        /// Limit of the acceleration; 0 leaves the limit to the drive: rad/s².
        pub acceleration_max: f64,
        /// Limit of the torque; 0 leaves the limit to the drive: N·m.
        pub effort_max: f64,
    }

    /// The motor gets no command.
    pub const MODE_DISABLED: u8 = JointCommand::MODE_DISABLED;
    /// The drive follows `position`.
    pub const MODE_POSITION: u8 = JointCommand::MODE_POSITION;
    /// The drive follows `velocity`.
    pub const MODE_VELOCITY: u8 = JointCommand::MODE_VELOCITY;
    /// The drive applies `effort`.
    pub const MODE_EFFORT: u8 = JointCommand::MODE_EFFORT;
    /// The drive applies `duty_cycle`, open loop. 4 is the impedance mode of [`JointCommand`],
    /// which does not exist here.
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
    /// Returns a command to turn at `velocity`, in rad/s. The motor is powered, and the command is
    /// stamped with the current time.
    ///
    /// ```
    /// use horus_core::message::MotorCommand;
    ///
    /// let spin = MotorCommand::velocity(3, 10.0);
    /// assert_eq!((spin.motor_id, spin.mode), (3, MotorCommand::MODE_VELOCITY));
    /// ```
    #[must_use]
    pub fn velocity(motor_id: u32, velocity: f64) -> Self {
        Self {
            velocity,
            ..Self::with_power_on(motor_id, Self::MODE_VELOCITY)
        }
    }

    /// Returns a command to go to `position`, in radians. The motor is powered, and the command is
    /// stamped with the current time.
    #[must_use]
    pub fn position(motor_id: u32, position: f64) -> Self {
        Self {
            position,
            ..Self::with_power_on(motor_id, Self::MODE_POSITION)
        }
    }

    /// Returns a command to apply `effort`, in N·m. The motor is powered, and the command is
    /// stamped with the current time.
    #[must_use]
    pub fn effort(motor_id: u32, effort: f64) -> Self {
        Self {
            effort,
            ..Self::with_power_on(motor_id, Self::MODE_EFFORT)
        }
    }

    fn with_power_on(motor_id: u32, mode: u8) -> Self {
        let timestamp_ns = timestamp_now_ns();
        Self {
            timestamp_ns,
            motor_id,
            mode,
            enable: 1,
            ..Self::default()
        }
    }
}

crate::message! {
    /// Set-point of a hobby servo. No ROS type.
    #[derive(Default)]
    pub struct ServoCommand {
        /// Time of the command, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Channel of the servo: no unit.
        pub servo_id: u32,
        /// 1 to hold the position, 0 to release it: no unit.
        pub enable: u8,
        /// Reserved, 0: no unit.
        pub _reserved: [u8; 3],
        /// Angle from the middle: radians.
        pub position: f32,
        /// Limit of the speed, 0 for the maximum of the servo: radians per second.
        pub velocity_max: f32,
    }
}
layout! {
    ServoCommand = 24 {
        timestamp_ns: 0, servo_id: 8, enable: 12, _reserved: 13, position: 16, velocity_max: 20,
    }
}

impl ServoCommand {
    /// Returns a command to go to `position`, in radians, as fast as possible. It is stamped with
    /// the current time.
    #[must_use]
    pub fn new(servo_id: u32, position: f32) -> Self {
        let timestamp_ns = timestamp_now_ns();
        Self {
            timestamp_ns,
            servo_id,
            enable: 1,
            position,
            ..Self::default()
        }
    }
}

crate::message! {
    /// Wheel speeds of a robot with two driven wheels. No ROS type: `diff_drive_controller` of
    /// `ros2_control` sends them to its wheels.
    #[derive(Default)]
    pub struct DifferentialDriveCommand {
        /// Time of the command, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Speed of the left wheel, positive is forward: radians per second.
        pub left: f64,
        /// Speed of the right wheel, positive is forward: radians per second.
        pub right: f64,
        /// Limit of the acceleration; 0 leaves the limit to the drive: rad/s².
        pub acceleration_max: f64,
        /// 1 to power the drives, else 0: no unit.
        pub enable: u8,
        /// Reserved, 0: no unit.
        pub _reserved: [u8; 7],
    }
}
layout! {
    DifferentialDriveCommand = 40 {
        timestamp_ns: 0, left: 8, right: 16, acceleration_max: 24, enable: 32, _reserved: 33,
    }
}

impl DifferentialDriveCommand {
    /// Returns a command to turn the wheels at these speeds, in rad/s. The drives are powered
    /// (`enable` is 1), and the command is stamped with the current time.
    #[must_use]
    pub fn new(left: f64, right: f64) -> Self {
        let timestamp_ns = timestamp_now_ns();
        Self {
            timestamp_ns,
            left,
            right,
            enable: 1,
            ..Self::default()
        }
    }

    /// Returns a command with the wheel speeds that move a robot as `command` says. `wheel_radius`,
    /// which must not be 0, and `wheel_separation` are in metres. The result has the same time as
    /// `command`.
    ///
    /// ```
    /// use horus_core::message::{CmdVel, DifferentialDriveCommand};
    ///
    /// let on_the_spot = DifferentialDriveCommand::from_cmd_vel(&CmdVel::new(0.0, 1.0), 0.1, 0.4);
    /// assert!((on_the_spot.right - 2.0).abs() < 1e-6);
    /// assert_eq!(on_the_spot.left, -on_the_spot.right);
    /// ```
    #[must_use]
    pub fn from_cmd_vel(command: &CmdVel, wheel_radius: f64, wheel_separation: f64) -> Self {
        let linear = f64::from(command.linear);
        let angular = f64::from(command.angular);
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
        /// Time of the configuration, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Number of the controller: no unit.
        pub controller_id: u32,
        /// Method that limits the integral while the output is limited, one of the `ANTIWINDUP_`
        /// constants: no unit.
        pub antiwindup: u8,
        /// Reserved, 0: no unit.
        pub _reserved: [u8; 3],
        /// Proportional gain: depends on the use.
        pub p: f64,
        /// Integral gain: depends on the use.
        pub i: f64,
        /// Derivative gain: depends on the use.
        pub d: f64,
        /// Upper limit of the integral part of the output, +∞ without a limit: depends on the use.
        pub i_max: f64,
        /// Lower limit of the integral part of the output, −∞ without a limit: depends on the use.
        pub i_min: f64,
        /// Upper limit of the output, +∞ without a limit: depends on the use.
        pub u_max: f64,
        /// Lower limit of the output, −∞ without a limit: depends on the use.
        pub u_min: f64,
        /// Time constant of back calculation, 0 for the controller's default: seconds.
        pub tracking_time_constant: f64,
        /// Largest error that is not integrated: depends on the use.
        pub error_deadband: f64,
    }

    /// Only the limits of the integral part apply.
    pub const ANTIWINDUP_NONE: u8 = 0;
    /// The integral is reduced by the amount that the limit cut off.
    pub const ANTIWINDUP_BACK_CALCULATION: u8 = 1;
    /// Errors that would drive the output further beyond the limit are not integrated.
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
    /// Returns a configuration with these gains and without limits, stamped with the current time.
    #[must_use]
    pub fn new(p: f64, i: f64, d: f64) -> Self {
        Self {
            timestamp_ns: timestamp_now_ns(),
            p,
            i,
            d,
            ..Self::default()
        }
    }
}

impl Default for PidConfig {
    /// Returns a configuration in which all gains are 0, without limits, with time 0.
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
    /// Pose, velocity and acceleration of a body at one time of a trajectory.
    ///
    /// It is like `trajectory_msgs/MultiDOFJointTrajectoryPoint` with one body, in the frame of the
    /// topic. For joints use [`JointCommand`].
    pub struct TrajectoryPoint {
        /// Start of the trajectory, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Position x, y, z: metres.
        pub position: [f64; 3],
        /// Unit quaternion x, y, z, w: no unit.
        pub orientation: [f64; 4],
        /// Velocity along x, y, z: metres per second.
        pub linear_velocity: [f64; 3],
        /// Angular velocity about x, y, z: radians per second.
        pub angular_velocity: [f64; 3],
        /// Acceleration along x, y, z: m/s².
        pub linear_acceleration: [f64; 3],
        /// Angular acceleration about x, y, z: rad/s².
        pub angular_acceleration: [f64; 3],
        /// Time of arrival at this point, from `timestamp_ns`: nanoseconds.
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
    /// Returns a trajectory point at rest at the origin, not rotated, at time 0.
    fn default() -> Self {
        Self {
            orientation: IDENTITY_QUATERNION,
            ..Self::zeroed()
        }
    }
}

crate::message! {
    /// Force to apply along some axes of a frame, while the others keep their position.
    ///
    /// This is hybrid force and position control after Raibert and Craig (1981). No ROS type; force
    /// and torque are as in `geometry_msgs/WrenchStamped`.
    #[derive(Default)]
    pub struct ForceCommand {
        /// Time of the command, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Name of the coordinate frame of the task: text.
        pub frame_id: FrameId,
        /// Force on the environment along x, y, z: newtons.
        pub force: [f64; 3],
        /// Torque on the environment about x, y, z: N·m.
        pub torque: [f64; 3],
        /// For each axis along x, y, z and about x, y, z, 1 to control the force, 0 to keep the
        /// position: no unit.
        pub force_controlled: [u8; 6],
        /// Reserved, 0: no unit.
        pub _reserved: [u8; 2],
        /// Limit of the speed in free space; 0 leaves the limit to the controller: metres per
        /// second.
        pub linear_velocity_max: f64,
        /// Limit of the angular speed in free space; 0 leaves the limit to the controller: radians
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
    /// Compliance of a tool: a spring, a damper and a mass along and about each axis of a frame. No
    /// ROS type; impedance control after Hogan (1985).
    ///
    /// `force = stiffness · offset + damping · velocity + mass · acceleration`
    #[derive(Default)]
    pub struct ImpedanceParameters {
        /// Time of the configuration, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Frame of the axes, usually that of the tool: text.
        pub frame_id: FrameId,
        /// Stiffness along x, y, z: N/m.
        pub linear_stiffness: [f64; 3],
        /// Rotational stiffness about x, y, z: N·m/rad.
        pub angular_stiffness: [f64; 3],
        /// Damping along x, y, z: N·s/m.
        pub linear_damping: [f64; 3],
        /// Rotational damping about x, y, z: N·m·s/rad.
        pub angular_damping: [f64; 3],
        /// Mass along x, y, z; 0 leaves that of the tool: kilograms.
        pub mass: [f64; 3],
        /// Moment of inertia about x, y, z; 0 leaves that of the tool: kg·m².
        pub inertia: [f64; 3],
        /// Limit of the force; 0 leaves the limit to the controller: newtons.
        pub force_max: f64,
        /// Limit of the torque; 0 leaves the limit to the controller: N·m.
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
