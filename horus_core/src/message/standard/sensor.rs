//! Sensor data, after `sensor_msgs`.

mod battery;

use std::fmt;

use bytemuck::Zeroable;

use crate::message::standard::control::JOINTS_MAX;
use crate::message::standard::geometry::IDENTITY_QUATERNION;
use crate::message::{FrameId, Text, clamp_count, timestamp_now_ns};

pub use battery::{BATTERY_CELLS_MAX, BatteryState};

/// The 3 × 3 covariance that marks its quantity as not provided: the first element is −1.
const COVARIANCE_NOT_PROVIDED: [f64; 9] = [-1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];

crate::message! {
    /// One sample of an inertial measurement unit, like `sensor_msgs/Imu`.
    ///
    /// Angular velocities and accelerations are in the frame of the unit. The orientation is that
    /// of this frame in a frame with x east, y north and z up (REP-103). Covariances are row-major
    /// 3 × 3 over x, y, z. All zeros means unknown; −1 as the first element means that the unit
    /// does not provide this quantity.
    pub struct Imu {
        /// Time of the sample, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Unit quaternion x, y, z, w: no unit.
        pub orientation: [f64; 4],
        /// Covariance of rotations about x, y, z: rad².
        pub orientation_covariance: [f64; 9],
        /// Angular velocity about x, y, z: radians per second.
        pub angular_velocity: [f64; 3],
        /// Covariance of `angular_velocity`: rad²/s².
        pub angular_velocity_covariance: [f64; 9],
        /// Acceleration along x, y, z, with gravity, as accelerometers measure it: m/s².
        pub linear_acceleration: [f64; 3],
        /// Covariance of `linear_acceleration`: m²/s⁴.
        pub linear_acceleration_covariance: [f64; 9],
    }
}
layout! {
    Imu = 304 {
        timestamp_ns: 0, orientation: 8, orientation_covariance: 40, angular_velocity: 112,
        angular_velocity_covariance: 136, linear_acceleration: 208,
        linear_acceleration_covariance: 232,
    }
}

impl Imu {
    /// Returns a sample without an orientation, stamped with the current time: `angular_velocity`
    /// in rad/s, `linear_acceleration` in m/s².
    ///
    /// ```
    /// use horus_core::message::Imu;
    ///
    /// let still = Imu::new([0.0; 3], [0.0, 0.0, 9.81]);
    /// assert_eq!(still.orientation_covariance[0], -1.0);
    /// let turned = Imu { orientation: [0.0, 0.0, 1.0, 0.0], ..Imu::now() };
    /// assert!(turned.timestamp_ns > 0);
    /// ```
    #[must_use]
    pub fn new(angular_velocity: [f64; 3], linear_acceleration: [f64; 3]) -> Self {
        Self {
            angular_velocity,
            linear_acceleration,
            ..Self::now()
        }
    }
}

impl Default for Imu {
    /// Returns a sample at rest with time 0, and an orientation that is marked as not provided.
    fn default() -> Self {
        let orientation_covariance = COVARIANCE_NOT_PROVIDED;
        Self {
            orientation: IDENTITY_QUATERNION,
            orientation_covariance,
            ..Self::zeroed()
        }
    }
}

/// The largest number of ranges in a [`LaserScan`]: one for each degree of a full turn.
pub const LASER_RANGES_MAX: usize = 360;

crate::message! {
    /// One sweep of a planar range finder, like `sensor_msgs/LaserScan` without intensities.
    /// [`LidarScan`](crate::message::LidarScan) has any number of rays.
    ///
    /// Angles are about z of the sensor, counter-clockwise, 0 along its x. After REP-117 a range of
    /// +∞ means that nothing was seen, −∞ that an object is too close, and NaN that the measurement
    /// failed.
    pub struct LaserScan {
        /// Time of the first ray, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Angle of the first ray: radians.
        pub angle_min: f32,
        /// Angle of the last ray: radians.
        pub angle_max: f32,
        /// Angle from one ray to the next: radians.
        pub angle_increment: f32,
        /// Time from one ray to the next: seconds.
        pub time_increment: f32,
        /// Time from one sweep to the next: seconds.
        pub scan_time: f32,
        /// Shortest valid range: metres.
        pub range_min: f32,
        /// Longest valid range: metres.
        pub range_max: f32,
        /// Number of measured ranges, which are the first elements of `ranges`: count.
        pub count: u32,
        /// Distances in order of their angles: metres.
        pub ranges: [f32; LASER_RANGES_MAX],
    }
}
layout! {
    LaserScan = 1480 {
        timestamp_ns: 0, angle_min: 8, angle_max: 12, angle_increment: 16, time_increment: 20,
        scan_time: 24, range_min: 28, range_max: 32, count: 36, ranges: 40,
    }
}

impl LaserScan {
    /// Returns the measured ranges: the first `count` elements of `ranges`, or all elements if the
    /// sender's count is larger.
    ///
    /// ```
    /// use horus_core::message::LaserScan;
    ///
    /// let mut scan = LaserScan { count: 2, ..LaserScan::default() };
    /// scan.ranges[..2].copy_from_slice(&[1.5, f32::INFINITY]);
    /// assert_eq!(scan.measured(), [1.5, f32::INFINITY]);
    /// ```
    #[must_use]
    pub fn measured(&self) -> &[f32] {
        &self.ranges[..clamp_count(self.count, LASER_RANGES_MAX)]
    }
}

impl Default for LaserScan {
    /// Returns a scan without ranges, all zeros.
    fn default() -> Self {
        Self::zeroed()
    }
}

crate::message! {
    /// The distance to the nearest object in a cone about the sensor's x axis, like
    /// `sensor_msgs/Range`.
    ///
    /// After REP-117 a range of +∞ means that nothing was seen, −∞ that an object is too close, and
    /// NaN that the measurement failed.
    #[derive(Default)]
    pub struct RangeSensor {
        /// Time of the measurement, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// One of the constants of this type, such as `ULTRASOUND`: no unit.
        pub radiation_type: u8,
        /// Reserved, 0: no unit.
        pub _reserved: [u8; 3],
        /// Opening angle of the cone: radians.
        pub field_of_view: f32,
        /// Shortest valid range: metres.
        pub min_range: f32,
        /// Longest valid range: metres.
        pub max_range: f32,
        /// Distance: metres.
        pub range: f32,
        /// Variance of `range`, 0 if unknown: m².
        pub variance: f32,
    }

    /// The sensor uses sound.
    pub const ULTRASOUND: u8 = 0;
    /// The sensor uses infrared light.
    pub const INFRARED: u8 = 1;
}
layout! {
    RangeSensor = 32 {
        timestamp_ns: 0, radiation_type: 8, _reserved: 9, field_of_view: 12, min_range: 16,
        max_range: 20, range: 24, variance: 28,
    }
}

impl RangeSensor {
    /// Returns a message with the measured distance `range`, in metres. It is stamped with the
    /// current time.
    #[must_use]
    pub fn new(radiation_type: u8, range: f32) -> Self {
        Self {
            timestamp_ns: timestamp_now_ns(),
            radiation_type,
            range,
            ..Self::default()
        }
    }
}

crate::message! {
    /// Measured state of up to 16 joints, like `sensor_msgs/JointState`.
    /// [`JointStateArray`](crate::message::JointStateArray) has any number of joints.
    ///
    /// Element *i* of every array belongs to joint *i*. The units are those of a revolute joint.
    /// For a prismatic joint, radians become metres and newton-metres become newtons. The names are
    /// in each message, as in ROS: a reader then needs no other topic and no fixed order.
    pub struct JointState {
        /// Time of the measurement, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Number of joints, which are the first elements of each array: count.
        pub count: u32,
        /// Reserved, 0: no unit.
        pub _reserved: u32,
        /// Names of the joints, such as `left_wrist_roll`: text.
        pub name: [Text<32>; JOINTS_MAX],
        /// Position of each joint: radians.
        pub position: [f64; JOINTS_MAX],
        /// Velocity of each joint: radians per second.
        pub velocity: [f64; JOINTS_MAX],
        /// Torque: N·m.
        pub effort: [f64; JOINTS_MAX],
    }
}
layout! {
    JointState = 912 {
        timestamp_ns: 0, count: 8, _reserved: 12, name: 16, position: 528, velocity: 656,
        effort: 784,
    }
}

impl JointState {
    /// Returns the number of joints: `count`, limited to the length of the arrays in case the
    /// sender wrote a larger number.
    #[must_use]
    pub fn joints(&self) -> usize {
        clamp_count(self.count, JOINTS_MAX)
    }

    /// Adds a joint at the end, with its position (rad), velocity (rad/s) and effort (N·m). Returns
    /// `false`, and adds nothing, if there is no room.
    #[must_use = "there may be no room"]
    pub fn push(&mut self, name: Text<32>, [position, velocity, effort]: [f64; 3]) -> bool {
        let at = self.joints();
        if at == JOINTS_MAX {
            return false;
        }
        self.name[at] = name;
        (self.position[at], self.velocity[at], self.effort[at]) = (position, velocity, effort);
        self.count = at as u32 + 1;
        true
    }

    /// Returns the index of the joint called `name`; `None` if there is no such joint.
    ///
    /// ```
    /// use horus_core::message::{JointState, Text};
    ///
    /// let mut state = JointState::now();
    /// assert!(state.push(Text::truncated("elbow"), [0.5, 0.0, 0.0]));
    /// assert_eq!((state.index_of("elbow"), state.index_of("wrist")), (Some(0), None));
    /// ```
    #[must_use]
    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.name[..self.joints()]
            .iter()
            .position(|joint| joint == name)
    }
}

impl Default for JointState {
    /// Returns a state without joints, all zeros.
    fn default() -> Self {
        Self::zeroed()
    }
}

crate::message! {
    /// A position from a satellite navigation receiver in WGS 84, like `sensor_msgs/NavSatFix`.
    ///
    /// The covariance is row-major 3 × 3 over east, north, up. `position_covariance_type` is the
    /// last field in ROS; here it fills what would be padding.
    pub struct NavSatFix {
        /// Time of the measurement, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// One of the `STATUS_` constants: no unit.
        pub status: i8,
        /// One of the `COVARIANCE_` constants: no unit.
        pub position_covariance_type: u8,
        /// Sum of the `SERVICE_` constants of the received systems: no unit.
        pub service: u16,
        /// Reserved, 0: no unit.
        pub _reserved: u32,
        /// Latitude, north is positive: degrees.
        pub latitude: f64,
        /// Longitude, east is positive: degrees.
        pub longitude: f64,
        /// Height above the ellipsoid, NaN if unknown: metres.
        pub altitude: f64,
        /// Covariance of the position to the east, north and up: m².
        pub position_covariance: [f64; 9],
    }

    /// The status is not set.
    pub const STATUS_UNKNOWN: i8 = -2;
    /// There is no position.
    pub const STATUS_NO_FIX: i8 = -1;
    /// The position has no augmentation.
    pub const STATUS_FIX: i8 = 0;
    /// The position has augmentation by satellites.
    pub const STATUS_SBAS_FIX: i8 = 1;
    /// The position has augmentation from the ground.
    pub const STATUS_GBAS_FIX: i8 = 2;

    /// The received systems are unknown.
    pub const SERVICE_UNKNOWN: u16 = 0;
    /// GPS is received.
    pub const SERVICE_GPS: u16 = 1;
    /// GLONASS is received.
    pub const SERVICE_GLONASS: u16 = 2;
    /// BeiDou is received.
    pub const SERVICE_COMPASS: u16 = 4;
    /// Galileo is received.
    pub const SERVICE_GALILEO: u16 = 8;

    /// The covariance is unknown.
    pub const COVARIANCE_TYPE_UNKNOWN: u8 = 0;
    /// The covariance was estimated from the dilution of precision.
    pub const COVARIANCE_TYPE_APPROXIMATED: u8 = 1;
    /// The diagonal of the covariance is known.
    pub const COVARIANCE_TYPE_DIAGONAL_KNOWN: u8 = 2;
    /// The whole covariance is known.
    pub const COVARIANCE_TYPE_KNOWN: u8 = 3;
}
layout! {
    NavSatFix = 112 {
        timestamp_ns: 0, status: 8, position_covariance_type: 9, service: 10, _reserved: 12,
        latitude: 16, longitude: 24, altitude: 32, position_covariance: 40,
    }
}

impl NavSatFix {
    /// Returns an unaugmented position stamped with the current time: `latitude` and `longitude` in
    /// degrees, `altitude` above the ellipsoid in metres.
    #[must_use]
    pub fn new(latitude: f64, longitude: f64, altitude: f64) -> Self {
        Self {
            status: Self::STATUS_FIX,
            latitude,
            longitude,
            altitude,
            ..Self::now()
        }
    }

    /// Returns true if the status says that the message contains a valid position.
    #[must_use]
    pub const fn has_fix(&self) -> bool {
        self.status >= Self::STATUS_FIX
    }
}

impl Default for NavSatFix {
    /// Returns a message whose status is unknown, as the default in ROS, with time 0.
    fn default() -> Self {
        Self {
            status: Self::STATUS_UNKNOWN,
            ..Self::zeroed()
        }
    }
}

impl fmt::Display for NavSatFix {
    /// Formats the position like `47.3769000°, 8.5417000°, 408.0 m`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.has_fix() {
            return f.write_str("no fix");
        }
        write!(
            f,
            "{:.7}°, {:.7}°, {:.1} m",
            self.latitude, self.longitude, self.altitude
        )
    }
}

crate::message! {
    /// The magnetic field at a sensor and in its frame, like `sensor_msgs/MagneticField`.
    ///
    /// The covariance is row-major 3 × 3 over x, y, z; all zeros means unknown.
    #[derive(Default)]
    pub struct MagneticField {
        /// Time of the measurement, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Field along x, y, z, NaN for an axis that is not measured: tesla.
        pub magnetic_field: [f64; 3],
        /// Covariance of `magnetic_field`: T².
        pub magnetic_field_covariance: [f64; 9],
    }
}
layout! {
    MagneticField = 104 {
        timestamp_ns: 0, magnetic_field: 8, magnetic_field_covariance: 32,
    }
}

impl MagneticField {
    /// Returns a message with the measured field, in tesla. It is stamped with the current time.
    #[must_use]
    pub fn new(magnetic_field: [f64; 3]) -> Self {
        Self {
            timestamp_ns: timestamp_now_ns(),
            magnetic_field,
            ..Self::default()
        }
    }
}

crate::message! {
    /// A temperature, like `sensor_msgs/Temperature`.
    #[derive(Default)]
    pub struct Temperature {
        /// Time of the measurement, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Temperature: degrees Celsius.
        pub temperature: f64,
        /// Variance of `temperature`, 0 if unknown: °C².
        pub variance: f64,
    }
}
layout! { Temperature = 24 { timestamp_ns: 0, temperature: 8, variance: 16 } }

impl Temperature {
    /// Returns a message with the measured temperature, in degrees Celsius. It is stamped with the
    /// current time.
    #[must_use]
    pub fn new(temperature: f64) -> Self {
        Self {
            timestamp_ns: timestamp_now_ns(),
            temperature,
            variance: 0.0,
        }
    }
}

crate::message! {
    /// The pressure of air or water, like `sensor_msgs/FluidPressure`. It is not for tanks or
    /// tyres.
    #[derive(Default)]
    pub struct FluidPressure {
        /// Time of the measurement, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Absolute pressure: pascals.
        pub fluid_pressure: f64,
        /// Variance of `fluid_pressure`, 0 if unknown: Pa².
        pub variance: f64,
    }
}
layout! { FluidPressure = 24 { timestamp_ns: 0, fluid_pressure: 8, variance: 16 } }

impl FluidPressure {
    /// Returns a message with the measured absolute pressure, in pascals. It is stamped with the
    /// current time.
    #[must_use]
    pub fn new(fluid_pressure: f64) -> Self {
        Self {
            timestamp_ns: timestamp_now_ns(),
            fluid_pressure,
            variance: 0.0,
        }
    }
}

crate::message! {
    /// An illuminance, like `sensor_msgs/Illuminance`.
    #[derive(Default)]
    pub struct Illuminance {
        /// Time of the measurement, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Illuminance: lux.
        pub illuminance: f64,
        /// Variance of `illuminance`, 0 if unknown: lx².
        pub variance: f64,
    }
}
layout! { Illuminance = 24 { timestamp_ns: 0, illuminance: 8, variance: 16 } }

impl Illuminance {
    /// Returns a message with the measured illuminance, in lux. It is stamped with the current
    /// time.
    #[must_use]
    pub fn new(illuminance: f64) -> Self {
        Self {
            timestamp_ns: timestamp_now_ns(),
            illuminance,
            variance: 0.0,
        }
    }
}

/// The largest number of taxels in a [`TactileArray`]: 16 × 16, a fingertip at 1 mm or a palm at 5
/// mm.
pub const TAXELS_MAX: usize = 256;

crate::message! {
    /// Pressure on the taxels of a tactile sensor, row by row, and the total force. No ROS type.
    pub struct TactileArray {
        /// Time of the measurement, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Frame of the pad, x along its rows, z out of it: text.
        pub frame_id: FrameId,
        /// Number of rows, along y: count.
        pub rows: u32,
        /// Number of taxels in a row, along x: count.
        pub columns: u32,
        /// Distance from one taxel to the next: metres.
        pub spacing: f32,
        /// Force on the whole pad along x, y, z, NaN if not measured: newtons.
        pub force: [f32; 3],
        /// Pressures of `rows` × `columns` taxels, row-major: pascals.
        pub pressure: [f32; TAXELS_MAX],
    }
}
layout! {
    TactileArray = 1088 {
        timestamp_ns: 0, frame_id: 8, rows: 40, columns: 44, spacing: 48, force: 52, pressure: 64,
    }
}

impl TactileArray {
    /// Returns the pressures of the `rows` × `columns` taxels in use, row-major, or all pressures
    /// if the sender wrote larger numbers.
    #[must_use]
    pub fn taxels(&self) -> &[f32] {
        &self.pressure[..clamp_count(self.rows.saturating_mul(self.columns), TAXELS_MAX)]
    }
}

impl Default for TactileArray {
    /// Returns a message without taxels, with no force and time 0.
    fn default() -> Self {
        Self {
            force: [f32::NAN; 3],
            ..Self::zeroed()
        }
    }
}
