//! Converts common messages to and from the CDR of ROS 2, for recordings and bridges.
//!
//! [`RosMessage::to_cdr`] returns the bytes that the middlewares of ROS 2 exchange, and that an
//! MCAP file with the encoding `cdr` contains. [`FromCdr::from_cdr`] reads such bytes, which may
//! come from any program.
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
//! # Differences
//!
//! Names and units are those of ROS, so a field is written unchanged. `timestamp_ns` is written as
//! `header.stamp`, which cannot represent times after January 2038. A value that is too long for
//! the horus message (a frame's name of 33 bytes, a scan of 361 ranges) is an error: nothing is
//! truncated. Flags are `u8` in the horus messages: any number except 0 is written as 1.
//!
//! If the horus message has no `frame_id`, the frames are passed separately
//! ([`RosMessage::FrameNames`]). [`to_cdr`](RosMessage::to_cdr) leaves them empty, and
//! [`from_cdr`](FromCdr::from_cdr) drops them.
//!
//! | horus | ROS | difference |
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
//! | `LidarScan` | `sensor_msgs/LaserScan` | |
//! | `RangeSensor` | `sensor_msgs/Range` | frame, variance |
//! | `JointState` | `sensor_msgs/JointState` | frame, empty arrays |
//! | `JointStateArray` | `sensor_msgs/JointState` | empty arrays |
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
//! * *frame*, *frames*: `frame_id` is passed separately ([`RosHeader`]), and so is `child_frame_id`
//!   ([`RosFrames`]).
//! * *no time*: the ROS type has no header. `timestamp_ns` is not written, and is read as 0.
//! * *planar*: `linear.y`, `linear.z`, `angular.x` and `angular.y` are written as 0, and any other
//!   number that is read for them is an error. The double-precision numbers of ROS are rounded to
//!   single precision.
//! * *intensities*: the field is written as an empty array, and ignored when read.
//! * *variance*: the field exists since ROS 2 Iron; in older versions the type `Range` does not
//!   have it.
//! * *empty arrays*: in ROS an array may be empty if its values are not measured. In the horus
//!   message each of its elements is then NaN, or an empty name. An array of only NaN is written as
//!   an empty array. The exception is the first array, which is always written with the full number
//!   of elements. Arrays of any other length are an error.
//! * *datatypes*: a point field is an error if its type is not one of `i8` to `u32`, `f32` and
//!   `f64`.
//! * *waypoints*: `speed` is not written, and is read as NaN. Every pose is written with the header
//!   of the path. A pose that is read may have a different stamp, which is dropped; its frame must
//!   be that of the path or empty.
//! * *rate*: the field is not written, and is read as 1.
//!
//! Array elements after the first `count` ones are not written. When read, they get the values of
//! the message's default. The same holds for reserved fields.

mod cdr;
#[macro_use]
mod describe;
mod diagnostics;
mod elements;
mod error;
mod geometry;
mod navigation;
mod sensor;
mod wire;

pub use cdr::{CdrReader, CdrWriter, ENCAPSULATION_BYTES};
pub use error::{CdrError, CdrWriteError};
pub use geometry::Unstamped;

/// A message that has a ROS 2 type and can be written in its CDR encoding.
///
/// Writing does not block, and takes the time of copying the message. The data of an image, a point
/// cloud or a map are written without an intermediate copy, even if the message is borrowed from
/// its topic.
///
/// To support a ROS type that contains other messages, write and read those messages one after
/// another:
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
///     type FrameNames = ();
///
///     fn write_cdr(&self, _: &(), out: &mut CdrWriter<'_>) -> Result<(), CdrWriteError> {
///         out.count(self.0.len())?;
///         self.0.iter().try_for_each(|transform| transform.write_cdr(&(), out))
///     }
/// }
///
/// impl FromCdr for Tf {
///     fn read_cdr(from: &mut CdrReader<'_>) -> Result<(Self, ()), CdrError> {
///         // Stamp, two string lengths and seven doubles take at least 72 bytes.
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
    /// Name of the ROS type, such as `sensor_msgs/msg/Imu`.
    const TYPE: &'static str;

    /// The type of the frame names that the ROS type has and the horus message lacks:
    /// [`RosHeader`], [`RosFrames`], or `()` if the horus message lacks none.
    type FrameNames: Default;

    /// Writes the fields of the message to `out`.
    ///
    /// # Errors
    ///
    /// [`CdrWriteError`], which names the field, if ROS cannot represent the value of a field.
    fn write_cdr(
        &self,
        frames: &Self::FrameNames,
        out: &mut CdrWriter<'_>,
    ) -> Result<(), CdrWriteError>;

    /// Writes the message at the start of `out`, and returns its length in bytes. Does not
    /// allocate.
    ///
    /// # Errors
    ///
    /// The errors of [`write_cdr`](Self::write_cdr), and [`TooSmall`](CdrWriteError::TooSmall) with
    /// the number of bytes that are needed. After an error `out` contains a partial encoding.
    fn encode_cdr(
        &self,
        frames: &Self::FrameNames,
        out: &mut [u8],
    ) -> Result<usize, CdrWriteError> {
        let mut out = CdrWriter::new(out);
        self.write_cdr(frames, &mut out)?;
        out.finish()
    }

    /// Returns the length of the message as CDR, in bytes. Does not read the data of an image or a
    /// point cloud.
    ///
    /// # Errors
    ///
    /// The errors of [`write_cdr`](Self::write_cdr).
    fn cdr_bytes(&self, frames: &Self::FrameNames) -> Result<usize, CdrWriteError> {
        let mut out = CdrWriter::new(&mut []);
        self.write_cdr(frames, &mut out)?;
        Ok(out.at())
    }

    /// Returns the CDR encoding of the message, with these frame names. Makes one allocation.
    ///
    /// # Errors
    ///
    /// The errors of [`write_cdr`](Self::write_cdr).
    fn to_cdr_with(&self, frames: &Self::FrameNames) -> Result<Vec<u8>, CdrWriteError> {
        let mut bytes = vec![0; self.cdr_bytes(frames)?];
        self.encode_cdr(frames, &mut bytes)?;
        Ok(bytes)
    }

    /// Returns the CDR encoding of the message. Makes one allocation. Frame names that the horus
    /// message lacks are written as empty texts.
    ///
    /// # Errors
    ///
    /// The errors of [`write_cdr`](Self::write_cdr).
    fn to_cdr(&self) -> Result<Vec<u8>, CdrWriteError> {
        self.to_cdr_with(&Self::FrameNames::default())
    }
}

/// A message that can be read from the CDR that ROS 2's middlewares write.
///
/// The bytes may come from any process. Reading allocates memory only for frame names and for the
/// data of images, point clouds, maps and lists, and no more bytes than the input has. The
/// exception is a `JointStateArray`: each name of a few bytes becomes a whole `Joint` of 64 bytes.
/// It takes up to 16 times as many bytes as the input.
pub trait FromCdr: RosMessage + Sized {
    /// Reads the fields of a message from `from`.
    ///
    /// # Errors
    ///
    /// [`CdrError`], with the offset and the reason, if the bytes are not such a message.
    fn read_cdr(from: &mut CdrReader<'_>) -> Result<(Self, Self::FrameNames), CdrError>;

    /// Reads bytes that must be exactly one message. Returns the message, and the frame names that
    /// the horus message lacks.
    ///
    /// # Errors
    ///
    /// [`CdrError`], with the offset and the reason, if the bytes are not such a message.
    fn from_cdr_with(bytes: &[u8]) -> Result<(Self, Self::FrameNames), CdrError> {
        let mut from = CdrReader::new(bytes)?;
        let message = Self::read_cdr(&mut from)?;
        from.finish()?;
        Ok(message)
    }

    /// Reads bytes that must be exactly one message, and drops the frame names that the horus
    /// message lacks.
    ///
    /// # Errors
    ///
    /// [`CdrError`], with the offset and the reason, if the bytes are not such a message.
    fn from_cdr(bytes: &[u8]) -> Result<Self, CdrError> {
        Self::from_cdr_with(bytes).map(|(message, _)| message)
    }
}

/// The fields of a `std_msgs/Header`, except the stamp.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RosHeader {
    /// The frame of the data, such as `laser_link`.
    pub frame_id: String,
}

impl RosHeader {
    /// Returns a header for data in the frame `frame_id`.
    #[must_use]
    pub fn new(frame_id: &str) -> Self {
        Self {
            frame_id: frame_id.to_owned(),
        }
    }
}

/// The names of the two frames of a `nav_msgs/Odometry`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RosFrames {
    /// The frame in which the pose is expressed, such as `odom`.
    pub frame_id: String,
    /// The frame whose pose the odometry gives, such as `base_link`. The velocity is expressed in
    /// this frame.
    pub child_frame_id: String,
}

impl RosFrames {
    /// Returns the frame names of an odometry that gives the pose of `child_frame_id`, expressed in
    /// `frame_id`.
    #[must_use]
    pub fn new(frame_id: &str, child_frame_id: &str) -> Self {
        Self {
            frame_id: frame_id.to_owned(),
            child_frame_id: child_frame_id.to_owned(),
        }
    }
}
