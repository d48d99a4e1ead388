//! The common messages as ROS 2 has them: CDR, for recordings and bridges.
//!
//! [`RosMessage::to_cdr`] makes the bytes that ROS 2's middlewares exchange, and that an MCAP file
//! with the encoding `cdr` holds; [`FromCdr::from_cdr`] reads them, of any origin.
//!
//! ```
//! use horus_core::message::Imu;
//! use horus_core::ros::{FromCdr, RosHeader, RosMessage};
//!
//! let imu = Imu { angular_velocity: [0.0, 0.0, 0.5], ..Imu::default() };
//! let header = RosHeader::new("imu_link");
//! let bytes = imu.to_cdr_with(&header)?;
//! assert_eq!(Imu::TYPE, "sensor_msgs/msg/Imu");
//! assert_eq!(Imu::from_cdr_with(&bytes)?, (imu, header));
//! assert_eq!(Imu::from_cdr(&bytes)?, imu);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is the same, and what is not
//!
//! Names and units are those of ROS, so a field is written as it is. `timestamp_ns` is
//! `header.stamp`, which ends in January 2038. What is longer than its place in our message
//! (a frame's name of 33 bytes, a scan of 361 ranges) is an error: nothing is cut. Flags are `u8`
//! here: any number but 0 is written as 1.
//!
//! Where our message has no `frame_id`, the frames are given and taken apart from it
//! ([`RosMessage::Frames`]); [`to_cdr`](RosMessage::to_cdr) leaves them empty, and
//! [`from_cdr`](FromCdr::from_cdr) drops them.
//!
//! | ours | ROS | what differs |
//! |---|---|---|
//! | `Point3` | `geometry_msgs/Point` | |
//! | `Vector3` | `geometry_msgs/Vector3` | |
//! | `Quaternion` | `geometry_msgs/Quaternion` | |
//! | `Transform` | `geometry_msgs/Transform` | |
//! | `Pose2D` | `geometry_msgs/Pose2D` | no time |
//! | `Pose3D` | `geometry_msgs/Pose` | no time |
//! | `PoseStamped` | `geometry_msgs/PoseStamped` | |
//! | `PoseWithCovariance` | `geometry_msgs/PoseWithCovarianceStamped` | frame |
//! | `CmdVel` | `geometry_msgs/Twist` | no time, planar |
//! | [`Unstamped<Twist>`](Unstamped) | `geometry_msgs/Twist` | no time |
//! | `Twist` | `geometry_msgs/TwistStamped` | frame |
//! | `TwistWithCovariance` | `geometry_msgs/TwistWithCovarianceStamped` | frame |
//! | `Accel` | `geometry_msgs/AccelStamped` | frame |
//! | `TransformStamped` | `geometry_msgs/TransformStamped` | |
//! | `Wrench` | `geometry_msgs/Wrench` | no time |
//! | `WrenchStamped` | `geometry_msgs/WrenchStamped` | |
//! | `Imu` | `sensor_msgs/Imu` | frame |
//! | `LaserScan` | `sensor_msgs/LaserScan` | frame, intensities |
//! | `RangeSensor` | `sensor_msgs/Range` | frame, variance |
//! | `JointState` | `sensor_msgs/JointState` | frame, empty arrays |
//! | `BatteryState` | `sensor_msgs/BatteryState` | frame, empty arrays |
//! | `NavSatFix` | `sensor_msgs/NavSatFix` | frame |
//! | `MagneticField` | `sensor_msgs/MagneticField` | frame |
//! | `Temperature` | `sensor_msgs/Temperature` | frame |
//! | `FluidPressure` | `sensor_msgs/FluidPressure` | frame |
//! | `Illuminance` | `sensor_msgs/Illuminance` | frame |
//! | `TimeReference` | `sensor_msgs/TimeReference` | frame |
//! | `RegionOfInterest` | `sensor_msgs/RegionOfInterest` | |
//! | `CameraInfo` | `sensor_msgs/CameraInfo` | |
//! | `Image` | `sensor_msgs/Image` | |
//! | `CompressedImage` | `sensor_msgs/CompressedImage` | |
//! | `PointField` | `sensor_msgs/PointField` | datatypes |
//! | `PointCloud` | `sensor_msgs/PointCloud2` | datatypes |
//! | `Odometry` | `nav_msgs/Odometry` | frames |
//! | `MapMetaData` | `nav_msgs/MapMetaData` | |
//! | `OccupancyGrid` | `nav_msgs/OccupancyGrid` | |
//! | `NavPath` | `nav_msgs/Path` | waypoints |
//! | `Clock` | `rosgraph_msgs/Clock` | no time, rate |
//! | `DiagnosticValue` | `diagnostic_msgs/KeyValue` | |
//! | `DiagnosticStatus` | `diagnostic_msgs/DiagnosticStatus` | no time |
//!
//! * *frame*, *frames*: `frame_id` is apart ([`RosHeader`]); so is `child_frame_id`
//!   ([`RosFrames`]).
//! * *no time*: the ROS type has no header. `timestamp_ns` is not written, and read as 0.
//! * *planar*: `linear.y`, `linear.z`, `angular.x` and `angular.y` are written as 0, and any other
//!   number in them is an error. ROS's doubles are rounded to singles.
//! * *intensities*: written empty, read and dropped.
//! * *variance*: since ROS 2 Iron; older programs have another `Range`, which ends before it.
//! * *empty arrays*: in ROS, one that nobody measures may be empty. Each of its elements is NaN
//!   here (a name is empty), and all NaN is written as an empty array, but for the first array,
//!   which tells how many there are. Arrays of other different lengths are an error.
//! * *datatypes*: a point field of another type than `i8` to `u32`, `f32` and `f64` is an error.
//! * *waypoints*: `speed` is not written, and read as NaN. Every pose has the header of the path;
//!   one that is read may have another stamp, which is dropped, and no other frame than the path's
//!   or none.
//! * *rate*: not written, and read as 1.
//!
//! Elements behind the count of an array are not written, and read as the message's default has
//! them; so are reserved fields.

mod cdr;
#[macro_use]
mod describe;
mod diagnostics;
mod error;
mod geometry;
mod navigation;
mod sensor;
mod wire;

pub use cdr::{CdrReader, CdrWriter, ENCAPSULATION_BYTES};
pub use error::{CdrError, CdrWriteError};
pub use geometry::Unstamped;

/// A message that ROS 2 has too, and that can be written as its middlewares do.
///
/// Writing does not block, and takes the time of copying the message. An image, a cloud or a map is
/// written from where it is, also if it is borrowed from its topic.
///
/// What ROS makes of several messages is made of their fields:
///
/// ```
/// use horus_core::message::TransformStamped;
/// use horus_core::ros::{CdrError, CdrReader, CdrWriteError, CdrWriter, FromCdr, RosMessage};
///
/// #[derive(Debug, PartialEq)]
/// struct Tf(Vec<TransformStamped>);
///
/// impl RosMessage for Tf {
///     const TYPE: &str = "tf2_msgs/msg/TFMessage";
///     type Frames = ();
///
///     fn write_cdr(&self, _: &(), out: &mut CdrWriter<'_>) -> Result<(), CdrWriteError> {
///         out.count(self.0.len())?;
///         self.0.iter().try_for_each(|transform| transform.write_cdr(&(), out))
///     }
/// }
///
/// impl FromCdr for Tf {
///     fn read_cdr(from: &mut CdrReader<'_>) -> Result<(Self, ()), CdrError> {
///         // Time, lengths of two names and seven doubles of one take 72 bytes at least.
///         let count = from.count(72)?;
///         let read = |_| TransformStamped::read_cdr(from).map(|(transform, ())| transform);
///         Ok((Self((0..count).map(read).collect::<Result<_, _>>()?), ()))
///     }
/// }
///
/// let tf = Tf(vec![TransformStamped::default(); 2]);
/// assert_eq!(Tf::from_cdr(&tf.to_cdr()?)?, tf);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no ROS type here",
    label = "not in the table of `horus_core::ros`",
    note = "write it with `CdrWriter`, or implement `RosMessage` for it"
)]
pub trait RosMessage {
    /// The name of the ROS type, as `sensor_msgs/msg/Imu`.
    const TYPE: &'static str;

    /// The names of frames that the ROS type has and ours has not: [`RosHeader`], [`RosFrames`], or
    /// `()` if it has none or ours has them too.
    type Frames: Default;

    /// Writes the fields.
    ///
    /// # Errors
    ///
    /// Which field has a value that ROS cannot say.
    fn write_cdr(
        &self,
        frames: &Self::Frames,
        out: &mut CdrWriter<'_>,
    ) -> Result<(), CdrWriteError>;

    /// Writes the message at the start of `out` and returns how many bytes it takes. No allocation.
    ///
    /// # Errors
    ///
    /// As [`write_cdr`](Self::write_cdr), and [`TooSmall`](CdrWriteError::TooSmall) with the bytes
    /// that are needed. After an error `out` holds a part.
    fn encode_cdr(&self, frames: &Self::Frames, out: &mut [u8]) -> Result<usize, CdrWriteError> {
        let mut out = CdrWriter::new(out);
        self.write_cdr(frames, &mut out)?;
        out.finish()
    }

    /// How many bytes the message takes. Looks at no byte of an image or a cloud.
    ///
    /// # Errors
    ///
    /// As [`write_cdr`](Self::write_cdr).
    fn cdr_bytes(&self, frames: &Self::Frames) -> Result<usize, CdrWriteError> {
        let mut out = CdrWriter::new(&mut []);
        self.write_cdr(frames, &mut out)?;
        Ok(out.at())
    }

    /// The message with these frames, in one allocation.
    ///
    /// # Errors
    ///
    /// As [`write_cdr`](Self::write_cdr).
    fn to_cdr_with(&self, frames: &Self::Frames) -> Result<Vec<u8>, CdrWriteError> {
        let mut bytes = vec![0; self.cdr_bytes(frames)?];
        self.encode_cdr(frames, &mut bytes)?;
        Ok(bytes)
    }

    /// The message, in one allocation; with empty names of frames if ours has none.
    ///
    /// # Errors
    ///
    /// As [`write_cdr`](Self::write_cdr).
    fn to_cdr(&self) -> Result<Vec<u8>, CdrWriteError> {
        self.to_cdr_with(&Self::Frames::default())
    }
}

/// A message that can be read from what ROS 2's middlewares write.
///
/// The bytes may come from anybody. Reading allocates nothing but names of frames and the data of
/// images, clouds and maps, and of those no more than the bytes that there are.
pub trait FromCdr: RosMessage + Sized {
    /// Reads the fields.
    ///
    /// # Errors
    ///
    /// Where and why the bytes are no such message.
    fn read_cdr(from: &mut CdrReader<'_>) -> Result<(Self, Self::Frames), CdrError>;

    /// Reads bytes that have to be one message, and the frames that ours has no place for.
    ///
    /// # Errors
    ///
    /// Where and why the bytes are no such message.
    fn from_cdr_with(bytes: &[u8]) -> Result<(Self, Self::Frames), CdrError> {
        let mut from = CdrReader::new(bytes)?;
        let message = Self::read_cdr(&mut from)?;
        from.finish()?;
        Ok(message)
    }

    /// Reads bytes that have to be one message, and drops the frames that ours has no place for.
    ///
    /// # Errors
    ///
    /// Where and why the bytes are no such message.
    fn from_cdr(bytes: &[u8]) -> Result<Self, CdrError> {
        Self::from_cdr_with(bytes).map(|(message, _)| message)
    }
}

/// What a `std_msgs/Header` has beside its stamp.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RosHeader {
    /// The frame of the data, as `laser_link`.
    pub frame_id: String,
}

impl RosHeader {
    /// A header with data in this frame.
    #[must_use]
    pub fn new(frame_id: &str) -> Self {
        Self { frame_id: frame_id.to_owned() }
    }
}

/// The two frames of a `nav_msgs/Odometry`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RosFrames {
    /// The frame of the pose, as `odom`.
    pub frame_id: String,
    /// The frame whose pose it is, and of the velocity, as `base_link`.
    pub child_frame_id: String,
}

impl RosFrames {
    /// The pose of `child_frame_id` in `frame_id`.
    #[must_use]
    pub fn new(frame_id: &str, child_frame_id: &str) -> Self {
        Self { frame_id: frame_id.to_owned(), child_frame_id: child_frame_id.to_owned() }
    }
}
