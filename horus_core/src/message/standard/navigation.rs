//! Odometry, navigation goals and paths, after `nav_msgs` and `nav2_msgs`.

use std::fmt;

use bytemuck::Zeroable;

use crate::message::standard::geometry::IDENTITY_QUATERNION;
use crate::message::{FrameId, Text, clamp_count, timestamp_now_ns};

crate::message! {
    /// Estimated pose and velocity of a body, like `nav_msgs/Odometry`.
    ///
    /// The pose is in the `odom` frame, the velocity in the body's own frame (REP-105).
    /// Covariances are row-major 6 × 6 over (x, y, z, rotation about x, y, z); all zeros means
    /// unknown.
    pub struct Odometry {
        /// Time for which the pose is valid, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Position x, y, z: metres.
        pub position: [f64; 3],
        /// Unit quaternion x, y, z, w: no unit.
        pub orientation: [f64; 4],
        /// Covariance of the position, of position and rotation, and of the rotation: m², m·rad,
        /// rad².
        pub pose_covariance: [f64; 36],
        /// Velocity along x, y, z of the body: metres per second.
        pub linear: [f64; 3],
        /// Angular velocity about x, y, z of the body: radians per second.
        pub angular: [f64; 3],
        /// Covariance of the linear velocity, of linear and angular velocity, and of the angular
        /// velocity: m²/s², m·rad/s², rad²/s².
        pub twist_covariance: [f64; 36],
    }
}
layout! {
    Odometry = 688 {
        timestamp_ns: 0, position: 8, orientation: 32, pose_covariance: 64, linear: 352,
        angular: 376, twist_covariance: 400,
    }
}

impl Default for Odometry {
    /// Returns the odometry of a robot at the origin, not rotated, at rest, with unknown
    /// covariances and time 0.
    fn default() -> Self {
        Self {
            orientation: IDENTITY_QUATERNION,
            ..Self::zeroed()
        }
    }
}

crate::message! {
    /// A navigation goal with tolerances, like the goal of `nav2_msgs/action/NavigateToPose`.
    pub struct NavGoal {
        /// Time of the command, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Number chosen by the sender, and returned in [`GoalResult`](crate::message::GoalResult):
        /// no unit.
        pub goal_id: u64,
        /// Frame of the pose, such as `map`: text.
        pub frame_id: FrameId,
        /// Position x, y, z: metres.
        pub position: [f64; 3],
        /// Unit quaternion x, y, z, w: no unit.
        pub orientation: [f64; 4],
        /// Largest accepted error of the position; 0 leaves it to the navigation: metres.
        pub position_tolerance: f64,
        /// Largest accepted error of the yaw; 0 leaves it to the navigation: radians.
        pub yaw_tolerance: f64,
        /// Time after which the goal is aborted; 0 means never: nanoseconds.
        pub timeout_ns: u64,
    }
}
layout! {
    NavGoal = 128 {
        timestamp_ns: 0, goal_id: 8, frame_id: 16, position: 48, orientation: 72,
        position_tolerance: 104, yaw_tolerance: 112, timeout_ns: 120,
    }
}

impl NavGoal {
    /// Returns a goal in `frame_id`, stamped with the current time: `position` in metres,
    /// `orientation` x, y, z, w.
    #[must_use]
    pub fn new(goal_id: u64, frame_id: FrameId, position: [f64; 3], orientation: [f64; 4]) -> Self {
        let timestamp_ns = timestamp_now_ns();
        Self {
            timestamp_ns,
            goal_id,
            frame_id,
            position,
            orientation,
            ..Self::default()
        }
    }
}

impl Default for NavGoal {
    /// Returns a goal at the origin of a frame without a name, not rotated, with time 0.
    fn default() -> Self {
        Self {
            orientation: IDENTITY_QUATERNION,
            ..Self::zeroed()
        }
    }
}

crate::message! {
    /// State of a [`NavGoal`] while it is executed, and its result.
    ///
    /// It has the status of `action_msgs/GoalStatus`, and the result and feedback of
    /// `nav2_msgs/action/NavigateToPose`.
    #[derive(Default)]
    pub struct GoalResult {
        /// Time of this state, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Number of the goal: no unit.
        pub goal_id: u64,
        /// One of the `STATUS_` constants; any other number means `STATUS_UNKNOWN`: no unit.
        pub status: u8,
        /// Reserved, 0: no unit.
        pub _reserved: u8,
        /// Error code of the navigation in use, 0 without an error: no unit.
        pub error_code: u16,
        /// Number of recoveries: count.
        pub number_of_recoveries: u32,
        /// Time since the goal was accepted: nanoseconds.
        pub navigation_time_ns: u64,
        /// Time until arrival, 0 if unknown: nanoseconds.
        pub estimated_time_remaining_ns: u64,
        /// Distance to go along the path: metres.
        pub distance_remaining: f64,
        /// Description of the error, for people to read: text.
        pub error_msg: Text<64>,
    }

    /// The status is unknown.
    pub const STATUS_UNKNOWN: u8 = 0;
    /// The goal was accepted and is not yet executed.
    pub const STATUS_ACCEPTED: u8 = 1;
    /// The robot moves to the goal.
    pub const STATUS_EXECUTING: u8 = 2;
    /// The goal is being cancelled, and the robot has not stopped yet.
    pub const STATUS_CANCELING: u8 = 3;
    /// The robot has arrived.
    pub const STATUS_SUCCEEDED: u8 = 4;
    /// The goal was cancelled on request.
    pub const STATUS_CANCELED: u8 = 5;
    /// The navigation aborted the goal.
    pub const STATUS_ABORTED: u8 = 6;
}
layout! {
    GoalResult = 112 {
        timestamp_ns: 0, goal_id: 8, status: 16, _reserved: 17, error_code: 18,
        number_of_recoveries: 20, navigation_time_ns: 24, estimated_time_remaining_ns: 32,
        distance_remaining: 40, error_msg: 48,
    }
}

impl GoalResult {
    /// Returns a result for the goal `goal_id`, stamped with the current time.
    #[must_use]
    pub fn new(goal_id: u64, status: u8) -> Self {
        Self {
            timestamp_ns: timestamp_now_ns(),
            goal_id,
            status,
            ..Self::default()
        }
    }

    /// Returns true if the goal has ended, so that its status will not change any more.
    #[must_use]
    pub const fn is_final(&self) -> bool {
        matches!(
            self.status,
            Self::STATUS_SUCCEEDED | Self::STATUS_CANCELED | Self::STATUS_ABORTED
        )
    }
}

impl fmt::Display for GoalResult {
    /// Formats the result like `goal 7: succeeded` or `goal 7: aborted (103: no path)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = match self.status {
            Self::STATUS_ACCEPTED => "accepted",
            Self::STATUS_EXECUTING => "executing",
            Self::STATUS_CANCELING => "canceling",
            Self::STATUS_SUCCEEDED => "succeeded",
            Self::STATUS_CANCELED => "canceled",
            Self::STATUS_ABORTED => "aborted",
            _ => "unknown",
        };
        write!(f, "goal {}: {status}", self.goal_id)?;
        if self.error_code != 0 || !self.error_msg.is_empty() {
            write!(f, " ({}: {})", self.error_code, self.error_msg)?;
        }
        Ok(())
    }
}

crate::message! {
    /// A pose of a path, like those of `nav_msgs/Path`, and the speed of the robot at this pose. It
    /// has no timestamp and no frame: it is for use inside [`NavPath`]. Its size is one cache line.
    pub struct Waypoint {
        /// Position x, y, z: metres.
        pub position: [f64; 3],
        /// Unit quaternion x, y, z, w: no unit.
        pub orientation: [f64; 4],
        /// Speed at this pose; 0 means to stop there: metres per second.
        pub speed: f64,
    }
}
layout! { Waypoint = 64 { position: 0, orientation: 24, speed: 56 } }

impl Waypoint {
    /// Returns a waypoint that a robot passes at `speed`, in m/s. `position` is in metres, and
    /// `orientation` is x, y, z, w.
    #[must_use]
    pub const fn new(position: [f64; 3], orientation: [f64; 4], speed: f64) -> Self {
        Self {
            position,
            orientation,
            speed,
        }
    }
}

impl Default for Waypoint {
    /// Returns a waypoint at the origin, without rotation, at which a robot stops.
    fn default() -> Self {
        Self::new([0.0; 3], IDENTITY_QUATERNION, 0.0)
    }
}

/// The largest number of waypoints in a [`NavPath`]. So many make 12.8 m in the 5 cm steps of grid
/// planners, and take 16 KiB, which a publisher can write in place with a loan.
pub const NAV_PATH_WAYPOINTS_MAX: usize = 256;

crate::message! {
    /// A path to follow, like `nav_msgs/Path`.
    pub struct NavPath {
        /// Time of the planning, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Frame of all waypoints, such as `map`: text.
        pub frame_id: FrameId,
        /// Number of waypoints, which are the first elements of `waypoints`: count.
        pub count: u32,
        /// Reserved, 0: no unit.
        pub _reserved: u32,
        /// Waypoints in the order in which they are passed.
        pub waypoints: [Waypoint; NAV_PATH_WAYPOINTS_MAX],
    }
}
layout! {
    NavPath = 16432 {
        timestamp_ns: 0, frame_id: 8, count: 40, _reserved: 44, waypoints: 48,
    }
}

impl NavPath {
    /// Returns the waypoints in use: the first `count` elements of `waypoints`, or all elements if
    /// the sender's count is larger.
    #[must_use]
    pub fn waypoints(&self) -> &[Waypoint] {
        &self.waypoints[..clamp_count(self.count, NAV_PATH_WAYPOINTS_MAX)]
    }

    /// Adds a waypoint at the end; returns `false` if there is no room.
    ///
    /// ```
    /// use horus_core::message::{NavPath, Waypoint};
    ///
    /// let mut path = NavPath::default();
    /// assert!(path.push(Waypoint { speed: 0.5, ..Waypoint::default() }));
    /// assert_eq!(path.waypoints().len(), 1);
    /// ```
    #[must_use = "the path may be full"]
    pub fn push(&mut self, waypoint: Waypoint) -> bool {
        let at = clamp_count(self.count, NAV_PATH_WAYPOINTS_MAX);
        let Some(free) = self.waypoints.get_mut(at) else {
            return false;
        };
        *free = waypoint;
        self.count = at as u32 + 1;
        true
    }
}

impl Default for NavPath {
    /// Returns a path without waypoints, in a frame without a name, with time 0.
    fn default() -> Self {
        let waypoints = [Waypoint::default(); NAV_PATH_WAYPOINTS_MAX];
        Self {
            waypoints,
            ..Self::zeroed()
        }
    }
}
