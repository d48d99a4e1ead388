//! Where a robot is, where it is to go and which way, after `nav_msgs` and `nav2_msgs`.

use std::fmt;

use bytemuck::Zeroable;

use crate::message::standard::geometry::IDENTITY;
use crate::message::{FrameId, Text, clamped, timestamp_now_ns};

crate::message! {
    /// Estimated pose and velocity of a body, as `nav_msgs/Odometry`.
    ///
    /// The pose is in the `odom` frame, the velocity in the body's own frame (REP-105).
    /// Covariances are row-major 6 × 6 over (x, y, z, rotation about x, y, z); all zeros means
    /// unknown.
    pub struct Odometry {
        /// When the pose held, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// x, y, z: metres.
        pub position: [f64; 3],
        /// Unit quaternion x, y, z, w: no unit.
        pub orientation: [f64; 4],
        /// Of position, of both, of rotation: m², m·rad, rad².
        pub pose_covariance: [f64; 36],
        /// Along x, y, z of the body: metres per second.
        pub linear: [f64; 3],
        /// About x, y, z of the body: radians per second.
        pub angular: [f64; 3],
        /// Of linear, of both, of angular velocity: m²/s², m·rad/s², rad²/s².
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
    /// At the origin, not rotated, at rest, with unknown covariances and time 0.
    fn default() -> Self {
        Self { orientation: IDENTITY, ..Self::zeroed() }
    }
}

crate::message! {
    /// Where to drive, as the goal of `nav2_msgs/action/NavigateToPose`, with its tolerances.
    pub struct NavGoal {
        /// When it was commanded, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Chosen by the commander, and given back in
        /// [`GoalResult`](crate::message::GoalResult): no unit.
        pub goal_id: u64,
        /// The frame of the pose, as `map`: text.
        pub frame_id: FrameId,
        /// x, y, z: metres.
        pub position: [f64; 3],
        /// Unit quaternion x, y, z, w: no unit.
        pub orientation: [f64; 4],
        /// Near enough; 0 leaves it to the navigation: metres.
        pub position_tolerance: f64,
        /// Turned well enough; 0 leaves it to the navigation: radians.
        pub yaw_tolerance: f64,
        /// To give up after; 0 is never: nanoseconds.
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
    /// A goal in `frame_id`, stamped with the current time: `position` in metres, `orientation`
    /// x, y, z, w.
    #[must_use]
    pub fn new(goal_id: u64, frame_id: FrameId, position: [f64; 3], orientation: [f64; 4]) -> Self {
        let timestamp_ns = timestamp_now_ns();
        Self { timestamp_ns, goal_id, frame_id, position, orientation, ..Self::default() }
    }
}

impl Default for NavGoal {
    /// The origin of a frame without a name, not rotated, with time 0.
    fn default() -> Self {
        Self { orientation: IDENTITY, ..Self::zeroed() }
    }
}

crate::message! {
    /// What became of a [`NavGoal`], while it is followed and afterwards: the status of
    /// `action_msgs/GoalStatus` with the result and feedback of `nav2_msgs/action/NavigateToPose`.
    #[derive(Default)]
    pub struct GoalResult {
        /// When it was known, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// That of the goal: no unit.
        pub goal_id: u64,
        /// One of the `STATUS_` constants; any other number means `STATUS_UNKNOWN`: no unit.
        pub status: u8,
        /// 0: no unit.
        pub _reserved: u8,
        /// 0, or why it failed, by the numbers of the navigation in use: no unit.
        pub error_code: u16,
        /// How often the robot had to free itself: count.
        pub number_of_recoveries: u32,
        /// Since the goal was accepted: nanoseconds.
        pub navigation_time_ns: u64,
        /// Until arrival, 0 if unknown: nanoseconds.
        pub estimated_time_remaining_ns: u64,
        /// Along the path: metres.
        pub distance_remaining: f64,
        /// Why it failed, for a person: text.
        pub error_msg: Text<64>,
    }

    /// Nothing is known.
    pub const STATUS_UNKNOWN: u8 = 0;
    /// Accepted, not begun.
    pub const STATUS_ACCEPTED: u8 = 1;
    /// On the way.
    pub const STATUS_EXECUTING: u8 = 2;
    /// Told to give up, not stopped yet.
    pub const STATUS_CANCELING: u8 = 3;
    /// Arrived.
    pub const STATUS_SUCCEEDED: u8 = 4;
    /// Given up as told.
    pub const STATUS_CANCELED: u8 = 5;
    /// Given up by itself.
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
    /// A result stamped with the current time.
    #[must_use]
    pub fn new(goal_id: u64, status: u8) -> Self {
        Self { timestamp_ns: timestamp_now_ns(), goal_id, status, ..Self::default() }
    }

    /// Whether nothing more happens to the goal.
    #[must_use]
    pub const fn is_final(&self) -> bool {
        matches!(self.status, Self::STATUS_SUCCEEDED | Self::STATUS_CANCELED | Self::STATUS_ABORTED)
    }
}

impl fmt::Display for GoalResult {
    /// As `goal 7: succeeded` or `goal 7: aborted (103: no path)`.
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
    /// One pose of a path and how fast to pass it; a pose of `nav_msgs/Path` with a speed. Without
    /// a time and a frame: for use inside [`NavPath`]. One cache line.
    pub struct Waypoint {
        /// x, y, z: metres.
        pub position: [f64; 3],
        /// Unit quaternion x, y, z, w: no unit.
        pub orientation: [f64; 4],
        /// How fast to pass; 0 is to stop there: metres per second.
        pub speed: f64,
    }
}
layout! { Waypoint = 64 { position: 0, orientation: 24, speed: 56 } }

impl Waypoint {
    /// A pose to pass at `speed` in m/s: `position` in metres, `orientation` x, y, z, w.
    #[must_use]
    pub const fn new(position: [f64; 3], orientation: [f64; 4], speed: f64) -> Self {
        Self { position, orientation, speed }
    }
}

impl Default for Waypoint {
    /// A stop at the origin, not rotated.
    fn default() -> Self {
        Self::new([0.0; 3], IDENTITY, 0.0)
    }
}

/// The most waypoints in a [`NavPath`]: 12.8 m in the steps of 5 cm that grid planners make, and
/// 16 KiB, which a loan fills in place.
pub const NAV_PATH_WAYPOINTS_MAX: usize = 256;

crate::message! {
    /// The way to go, as `nav_msgs/Path`.
    pub struct NavPath {
        /// When it was planned, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// The frame of all waypoints, as `map`: text.
        pub frame_id: FrameId,
        /// How many of `waypoints` there are, from the first: count.
        pub count: u32,
        /// 0: no unit.
        pub _reserved: u32,
        /// In the order in which they are passed.
        pub waypoints: [Waypoint; NAV_PATH_WAYPOINTS_MAX],
    }
}
layout! {
    NavPath = 16432 {
        timestamp_ns: 0, frame_id: 8, count: 40, _reserved: 44, waypoints: 48,
    }
}

impl NavPath {
    /// The waypoints that there are: the first `count`, or all if a peer claims more.
    #[must_use]
    pub fn waypoints(&self) -> &[Waypoint] {
        &self.waypoints[..clamped(self.count, NAV_PATH_WAYPOINTS_MAX)]
    }

    /// Adds a waypoint at the end; `false` if there is no room.
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
        let at = clamped(self.count, NAV_PATH_WAYPOINTS_MAX);
        let Some(free) = self.waypoints.get_mut(at) else { return false };
        *free = waypoint;
        self.count = at as u32 + 1;
        true
    }
}

impl Default for NavPath {
    /// No waypoints, in a frame without a name, with time 0.
    fn default() -> Self {
        let waypoints = [Waypoint::default(); NAV_PATH_WAYPOINTS_MAX];
        Self { waypoints, ..Self::zeroed() }
    }
}
