//! Detections, tracks and landmarks, and the calibration of cameras, after `vision_msgs` and
//! `sensor_msgs`.

use std::fmt;

use bytemuck::Zeroable;

use crate::message::standard::geometry::IDENTITY_QUATERNION;
use crate::message::{FrameId, Text, clamp_count};

crate::message! {
    /// A rectangle in an image, like `vision_msgs/BoundingBox2D`. It has no timestamp: it is for
    /// use inside other messages.
    #[derive(Default)]
    pub struct BoundingBox2D {
        /// Centre x, y from the top left corner of the image: pixels.
        pub center: [f64; 2],
        /// Rotation about the centre, from x to y: radians.
        pub theta: f64,
        /// Size along its own x: pixels.
        pub size_x: f64,
        /// Size along its own y: pixels.
        pub size_y: f64,
    }
}
layout! { BoundingBox2D = 40 { center: 0, theta: 16, size_x: 24, size_y: 32 } }

impl BoundingBox2D {
    /// Returns a rectangle without rotation; all lengths are in pixels.
    #[must_use]
    pub const fn new(center: [f64; 2], size_x: f64, size_y: f64) -> Self {
        Self {
            center,
            theta: 0.0,
            size_x,
            size_y,
        }
    }
}

crate::message! {
    /// A box in space, like `vision_msgs/BoundingBox3D`. It has no timestamp: it is for use inside
    /// other messages.
    pub struct BoundingBox3D {
        /// Centre x, y, z: metres.
        pub center: [f64; 3],
        /// Unit quaternion x, y, z, w: no unit.
        pub orientation: [f64; 4],
        /// Size along its own x, y, z: metres.
        pub size: [f64; 3],
    }
}
layout! { BoundingBox3D = 80 { center: 0, orientation: 24, size: 56 } }

impl BoundingBox3D {
    /// Returns a box whose sides are parallel to the axes; all lengths are in metres.
    #[must_use]
    pub const fn new(center: [f64; 3], size: [f64; 3]) -> Self {
        Self {
            center,
            orientation: IDENTITY_QUATERNION,
            size,
        }
    }
}

impl Default for BoundingBox3D {
    /// Returns a box of size 0 at the origin, without rotation.
    fn default() -> Self {
        Self::new([0.0; 3], [0.0; 3])
    }
}

crate::message! {
    /// An object detected in an image, like `vision_msgs/Detection2D` with its best hypothesis. All
    /// detections in one image have the same time.
    #[derive(Default)]
    pub struct Detection {
        /// Time of the image, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Frame of the camera: text.
        pub frame_id: FrameId,
        /// Class of the object, such as `person`: text.
        pub class_id: Text<32>,
        /// Confidence in the class, 0 to 1: no unit.
        pub score: f64,
        /// Place of the object in the image.
        pub bbox: BoundingBox2D,
        /// Identifier of the object, the same in several images if it is tracked: text.
        pub id: Text<32>,
    }
}
layout! {
    Detection = 152 {
        timestamp_ns: 0, frame_id: 8, class_id: 40, score: 72, bbox: 80, id: 120,
    }
}

impl Detection {
    /// Returns a detection stamped with the current time. Set `timestamp_ns` to the time of the
    /// image if it is known.
    #[must_use]
    pub fn new(class_id: Text<32>, score: f64, bbox: BoundingBox2D) -> Self {
        Self {
            class_id,
            score,
            bbox,
            ..Self::now()
        }
    }
}

impl fmt::Display for Detection {
    /// Formats the detection like `person 0.93 at (320, 240) px`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y] = self.bbox.center;
        write!(
            f,
            "{} {:.2} at ({x:.0}, {y:.0}) px",
            self.class_id, self.score
        )
    }
}

crate::message! {
    /// An object detected in space, like `vision_msgs/Detection3D` with its best hypothesis. All
    /// detections in one measurement have the same time.
    #[derive(Default)]
    pub struct Detection3D {
        /// Time of the measurement, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Frame of the box: text.
        pub frame_id: FrameId,
        /// Class of the object, such as `person`: text.
        pub class_id: Text<32>,
        /// Confidence in the class, 0 to 1: no unit.
        pub score: f64,
        /// Place of the object.
        pub bbox: BoundingBox3D,
        /// Identifier of the object, the same in several measurements if it is tracked: text.
        pub id: Text<32>,
    }
}
layout! {
    Detection3D = 192 {
        timestamp_ns: 0, frame_id: 8, class_id: 40, score: 72, bbox: 80, id: 160,
    }
}

impl Detection3D {
    /// Returns a detection in `frame_id`, stamped with the current time. Set `timestamp_ns` to the
    /// time of the measurement if it is known.
    #[must_use]
    pub fn new(frame_id: FrameId, class_id: Text<32>, score: f64, bbox: BoundingBox3D) -> Self {
        Self {
            frame_id,
            class_id,
            score,
            bbox,
            ..Self::now()
        }
    }
}

impl fmt::Display for Detection3D {
    /// Formats the detection like `person 0.93 at (1.00, 2.00, 0.00) m in map`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.bbox.center;
        let Self {
            class_id,
            score,
            frame_id,
            ..
        } = self;
        write!(
            f,
            "{class_id} {score:.2} at ({x:.2}, {y:.2}, {z:.2}) m in {frame_id}"
        )
    }
}

crate::message! {
    /// An object that is tracked from one measurement to the next. No ROS type; the box is that of
    /// `vision_msgs/Detection3D`.
    #[derive(Default)]
    pub struct TrackedObject {
        /// Time for which the pose is valid, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Frame of box and velocities: text.
        pub frame_id: FrameId,
        /// Number of the track, which is never reused: no unit.
        pub track_id: u64,
        /// Class of the object, such as `person`: text.
        pub class_id: Text<32>,
        /// Confidence in the class, 0 to 1: no unit.
        pub score: f64,
        /// Place of the object.
        pub bbox: BoundingBox3D,
        /// Velocity along x, y, z: metres per second.
        pub linear_velocity: [f64; 3],
        /// Angular velocity about x, y, z: radians per second.
        pub angular_velocity: [f64; 3],
        /// Time since the track began: nanoseconds.
        pub age_ns: u64,
        /// Number of measurements without the object since it was last seen: count.
        pub missed: u32,
        /// One of the `STATE_` constants: no unit.
        pub state: u8,
        /// Reserved, 0: no unit.
        pub _reserved: [u8; 3],
    }

    /// The object was seen too few times to confirm the track.
    pub const STATE_TENTATIVE: u8 = 0;
    /// The track is confirmed.
    pub const STATE_CONFIRMED: u8 = 1;
    /// The object is not seen at the moment, and its motion is extrapolated.
    pub const STATE_COASTING: u8 = 2;
    /// The track has ended; this is its last message.
    pub const STATE_DELETED: u8 = 3;
}
layout! {
    TrackedObject = 232 {
        timestamp_ns: 0, frame_id: 8, track_id: 40, class_id: 48, score: 80, bbox: 88,
        linear_velocity: 168, angular_velocity: 192, age_ns: 216, missed: 224, state: 228,
        _reserved: 229,
    }
}

crate::message! {
    /// A place that is recognised again, such as a corner or a fiducial marker. No ROS type.
    ///
    /// The covariance is row-major 3 × 3 over x, y, z; all zeros means unknown.
    pub struct Landmark {
        /// Time at which the landmark was seen, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Frame of the position: text.
        pub frame_id: FrameId,
        /// Number of the landmark, such as that of the marker: no unit.
        pub landmark_id: u32,
        /// One of the `KIND_` constants: no unit.
        pub kind: u8,
        /// Reserved, 0: no unit.
        pub _reserved: [u8; 3],
        /// Position x, y, z: metres.
        pub position: [f64; 3],
        /// Unit quaternion x, y, z, w, the identity for a point: no unit.
        pub orientation: [f64; 4],
        /// Covariance of `position`: m².
        pub position_covariance: [f64; 9],
        /// Confidence that it is this landmark, 0 to 1: no unit.
        pub score: f64,
    }

    /// A point from a feature detector.
    pub const KIND_POINT: u8 = 0;
    /// A fiducial marker such as AprilTag or ArUco.
    pub const KIND_MARKER: u8 = 1;
    /// A vertical line such as a pole or an edge.
    pub const KIND_POLE: u8 = 2;
    /// A reflector.
    pub const KIND_REFLECTOR: u8 = 3;
}
layout! {
    Landmark = 184 {
        timestamp_ns: 0, frame_id: 8, landmark_id: 40, kind: 44, _reserved: 45, position: 48,
        orientation: 72, position_covariance: 104, score: 176,
    }
}

impl Default for Landmark {
    /// Returns a point at the origin, with an unknown covariance and time 0.
    fn default() -> Self {
        Self {
            orientation: IDENTITY_QUATERNION,
            ..Self::zeroed()
        }
    }
}

crate::message! {
    /// A flat part of the environment, such as a floor or a table. No ROS type; `coef` is as in
    /// `shape_msgs/Plane`.
    #[derive(Default)]
    pub struct PlaneDetection {
        /// Time of the measurement, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Frame of plane and centre: text.
        pub frame_id: FrameId,
        /// Coefficients a, b, c, d of `a·x + b·y + c·z + d = 0`, where (a, b, c) is a unit vector
        /// and d in metres: no unit.
        pub coef: [f64; 4],
        /// Centre x, y, z of the part: metres.
        pub center: [f64; 3],
        /// Longest extent of the part, and the extent across it: metres.
        pub size: [f64; 2],
        /// Number of points that the plane was fitted to: count.
        pub inlier_count: u32,
        /// Reserved, 0: no unit.
        pub _reserved: u32,
        /// Root mean square distance of these points from the plane: metres.
        pub residual: f64,
    }
}
layout! {
    PlaneDetection = 128 {
        timestamp_ns: 0, frame_id: 8, coef: 40, center: 72, size: 96, inlier_count: 112,
        _reserved: 116, residual: 120,
    }
}

impl PlaneDetection {
    /// Returns the distance of a point from the plane, in metres. It is negative for a point below
    /// the plane.
    ///
    /// ```
    /// use horus_core::message::PlaneDetection;
    ///
    /// let table = PlaneDetection { coef: [0.0, 0.0, 1.0, -0.75], ..PlaneDetection::default() };
    /// assert_eq!(table.distance([3.0, 4.0, 1.0]), 0.25);
    /// ```
    #[must_use]
    pub fn distance(&self, [x, y, z]: [f64; 3]) -> f64 {
        let [a, b, c, d] = self.coef;
        a * x + b * y + c * z + d
    }
}

crate::message! {
    /// A part of an image, like `sensor_msgs/RegionOfInterest`. It has no timestamp: it is for use
    /// inside other messages. All zeros means the whole image.
    #[derive(Default)]
    pub struct RegionOfInterest {
        /// Left edge: pixels.
        pub x_offset: u32,
        /// Top edge: pixels.
        pub y_offset: u32,
        /// Height of the region: pixels.
        pub height: u32,
        /// Width of the region: pixels.
        pub width: u32,
        /// 1 if it is to be cut from the rectified image: no unit.
        pub do_rectify: u8,
        /// Reserved, 0: no unit.
        pub _reserved: [u8; 7],
    }
}
layout! {
    RegionOfInterest = 24 {
        x_offset: 0, y_offset: 4, height: 8, width: 12, do_rectify: 16, _reserved: 17,
    }
}

/// The largest number of coefficients of a distortion model: that of OpenCV's model with tilted
/// sensors.
pub const DISTORTION_MAX: usize = 14;

crate::message! {
    /// Calibration of a camera, like `sensor_msgs/CameraInfo`.
    ///
    /// The documents of `image_pipeline` explain its fields. Matrices are row-major.
    pub struct CameraInfo {
        /// Time of the image, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Optical frame (z forward, x right, y down): text.
        pub frame_id: FrameId,
        /// Height of the image that was calibrated: pixels.
        pub height: u32,
        /// Width of the image that was calibrated: pixels.
        pub width: u32,
        /// Name of the model, such as `plumb_bob` or `rational_polynomial`: text.
        pub distortion_model: Text<32>,
        /// Number of coefficients of the model, from the first of `d`: count.
        pub d_count: u32,
        /// Reserved, 0: no unit.
        pub _reserved: u32,
        /// Coefficients of the distortion model: no unit.
        pub d: [f64; DISTORTION_MAX],
        /// Intrinsic matrix of the raw image, 3 × 3, fx 0 cx 0 fy cy 0 0 1: pixels.
        pub k: [f64; 9],
        /// Rotation that rectifies the image, 3 × 3: no unit.
        pub r: [f64; 9],
        /// Projection of the rectified image, 3 × 4: pixels.
        pub p: [f64; 12],
        /// Number of sensor columns in one column of the image; 0 means 1: count.
        pub binning_x: u32,
        /// Number of sensor rows in one row of the image; 0 means 1: count.
        pub binning_y: u32,
        /// Part of the sensor that was read, before binning.
        pub roi: RegionOfInterest,
    }
}
layout! {
    CameraInfo = 472 {
        timestamp_ns: 0, frame_id: 8, height: 40, width: 44, distortion_model: 48, d_count: 80,
        _reserved: 84, d: 88, k: 200, r: 272, p: 344, binning_x: 440, binning_y: 444, roi: 448,
    }
}

impl CameraInfo {
    /// Returns the coefficients of the model: the first `d_count`, or all if the sender's count is
    /// larger.
    #[must_use]
    pub fn distortion(&self) -> &[f64] {
        &self.d[..clamp_count(self.d_count, DISTORTION_MAX)]
    }
}

impl Default for CameraInfo {
    /// Returns the data of an uncalibrated camera. As in ROS, zeros mark it as uncalibrated.
    fn default() -> Self {
        Self::zeroed()
    }
}
