//! The standard messages, with one file for each domain, and the list of them that exports, tests
//! and tools use.

pub(crate) mod control;
mod convert;
pub(crate) mod diagnostics;
pub(crate) mod geometry;
pub(crate) mod input;
pub(crate) mod navigation;
pub(crate) mod perception;
pub(crate) mod scheduling;
pub(crate) mod sensor;
pub(crate) mod time;
#[cfg(feature = "glam")]
pub(crate) mod transform;

use std::any::TypeId;

use super::{
    AudioFrame, AudioFrameHeader, Bytes, BytesHeader, CompressedImage, CompressedImageHeader,
    CostMap, CostMapHeader, DepthImage, DepthImageHeader, Image, ImageHeader, Joint,
    JointStateArray, JointStateArrayHeader, LidarScan, LidarScanHeader, LogLine, LogLineHeader,
    MapMetaData, Message, OccupancyGrid, OccupancyGridHeader, PointCloud, PointCloudHeader,
    PointField, SchedulerStatus, SchedulerStatusHeader, Schema, SegmentationMask,
    SegmentationMaskHeader, Tensor, TensorHeader,
};

/// Calls the macro that is passed as `callback` with all domains and their messages: `callback! {
/// geometry "Poses, …" { Point3, Vector3, … } sensor "Sensor …" { … } … }`.
#[doc(hidden)]
#[macro_export]
macro_rules! standard_messages {
    ($callback:ident) => {
        $callback! {
            geometry "Poses, transforms, velocities and forces" {
                Point3, Vector3, Quaternion, Transform, Pose2D, Pose3D, PoseStamped,
                PoseWithCovariance, Twist, TwistWithCovariance, Accel, TransformStamped, Wrench,
                WrenchStamped
            }
            sensor "Sensor data" {
                Imu, LaserScan, RangeSensor, JointState, BatteryState, NavSatFix, MagneticField,
                Temperature, FluidPressure, Illuminance, TactileArray
            }
            control "Commands to actuators and controllers" {
                CmdVel, JointCommand, MotorCommand, ServoCommand, DifferentialDriveCommand,
                PidConfig, TrajectoryPoint, ForceCommand, ImpedanceParameters
            }
            navigation "Navigation" {
                Odometry, NavGoal, GoalResult, Waypoint, NavPath
            }
            perception "Perception and cameras" {
                BoundingBox2D, BoundingBox3D, Detection, Detection3D, TrackedObject, Landmark,
                PlaneDetection, RegionOfInterest, CameraInfo
            }
            diagnostics "Diagnostics and safety" {
                Heartbeat, NodeHeartbeat, DiagnosticValue, DiagnosticStatus, EmergencyStop,
                SafetyStatus, ResourceUsage
            }
            scheduling "Events, metrics and commands of schedulers" {
                NodeEvent, NodeMetrics, NodeCommand
            }
            time "Other clocks" {
                Clock, TimeReference
            }
            input "Joystick and keyboard input" {
                JoystickInput, KeyboardInput
            }
        }
    };
}

/// A group of standard messages: those of one file of this module.
#[derive(Debug, Clone, Copy)]
pub struct Domain {
    /// The name of the domain, such as `geometry`.
    pub name: &'static str,
    /// The title of the domain in the reference document.
    pub title: &'static str,
    /// The schemas of the domain's messages. A message that is nested in others comes before them.
    pub messages: &'static [&'static Schema],
}

macro_rules! tables {
    ($($domain:ident $title:literal { $($name:ident),+ $(,)? })+) => {
        /// The schemas of all standard messages, grouped by domain.
        pub const STANDARD: &[&Schema] = &{
            let mut all = [FIXED_LENGTH_SCHEMAS[0];
                FIXED_LENGTH_SCHEMAS.len() + VARIABLE_LENGTH_DOMAIN.messages.len()];
            let mut index = 1;
            while index < all.len() {
                all[index] = if index < FIXED_LENGTH_SCHEMAS.len() {
                    FIXED_LENGTH_SCHEMAS[index]
                } else {
                    VARIABLE_LENGTH_DOMAIN.messages[index - FIXED_LENGTH_SCHEMAS.len()]
                };
                index += 1;
            }
            all
        };

        /// Returns the bytes of the [`Default`] value of a type: the standard message of fixed
        /// length called `name`, or a header such as `ImageHeader`. Constructors in other languages
        /// begin with these bytes.
        #[must_use]
        pub fn standard_default(name: &str) -> Option<Box<[u8]>> {
            match name {
                $($(stringify!($name) => {
                    Some(bytemuck::bytes_of(&self::$domain::$name::default()).into())
                })+)+
                _ => framed_default_bytes(name),
            }
        }

        /// Returns the name of this type if it is one that [`standard_default`] knows.
        pub(super) fn standard_type_name(type_id: TypeId) -> Option<&'static str> {
            $($(if type_id == TypeId::of::<self::$domain::$name>() {
                return Some(stringify!($name));
            })+)+
            framed_type_name(type_id)
        }

        const FIXED_LENGTH_SCHEMAS: &[&Schema] =
            &[$($(&<self::$domain::$name as Message>::SCHEMA),+),+];

        /// The domains of the standard messages.
        pub const STANDARD_DOMAINS: &[Domain] = &[
            $(Domain {
                name: stringify!($domain),
                title: $title,
                messages: &[$(&<self::$domain::$name as Message>::SCHEMA),+],
            },)+
            VARIABLE_LENGTH_DOMAIN,
        ];
    };
}
standard_messages!(tables);

/// Returns what [`standard_default`] returns if a standard message has this name and this schema
/// hash: for a message of variable length, the bytes of its header. A message of another origin may
/// have the same name and other fields.
#[must_use]
pub fn standard_default_of(name: &str, hash: u128) -> Option<Box<[u8]>> {
    let is_it = |schema: &&&Schema| schema.name == name && schema.hash() == hash;
    let schema = STANDARD.iter().find(is_it)?;
    match schema.tail {
        Some(_) => standard_default(&format!("{name}Header")),
        None => standard_default(name),
    }
}

macro_rules! framed_defaults {
    ($($name:ident)+) => {
        /// Does the same as [`standard_default`], but only for the headers of messages of variable
        /// length, and for the messages that are nested in them.
        fn framed_default_bytes(name: &str) -> Option<Box<[u8]>> {
            match name {
                $(stringify!($name) => Some(bytemuck::bytes_of(&$name::default()).into()),)+
                _ => None,
            }
        }

        /// Does the same as [`standard_type_name`], but only for the types of
        /// [`framed_default_bytes`].
        fn framed_type_name(type_id: TypeId) -> Option<&'static str> {
            $(if type_id == TypeId::of::<$name>() {
                return Some(stringify!($name));
            })+
            None
        }
    };
}
framed_defaults! {
    ImageHeader DepthImageHeader CompressedImageHeader SegmentationMaskHeader PointField
    PointCloudHeader TensorHeader MapMetaData OccupancyGridHeader CostMapHeader AudioFrameHeader
    BytesHeader SchedulerStatusHeader LidarScanHeader Joint JointStateArrayHeader LogLineHeader
}

/// The messages of variable length, and the messages that are nested in their headers.
const VARIABLE_LENGTH_DOMAIN: Domain = Domain {
    name: "framed",
    title: "Messages of variable length: a header and its data",
    messages: &[
        &Image::SCHEMA,
        &DepthImage::SCHEMA,
        &CompressedImage::SCHEMA,
        &SegmentationMask::SCHEMA,
        &PointField::SCHEMA,
        &PointCloud::SCHEMA,
        &Tensor::SCHEMA,
        &MapMetaData::SCHEMA,
        &OccupancyGrid::SCHEMA,
        &CostMap::SCHEMA,
        &AudioFrame::SCHEMA,
        &Bytes::SCHEMA,
        &SchedulerStatus::SCHEMA,
        &LidarScan::SCHEMA,
        &Joint::SCHEMA,
        &JointStateArray::SCHEMA,
        &LogLine::SCHEMA,
    ],
};
