//! What is recognised in the data of sensors, and what is known of cameras, after `vision_msgs` and
//! `sensor_msgs`.

use std::fmt;

use bytemuck::Zeroable;

use crate::message::standard::geometry::IDENTITY;
use crate::message::{FrameId, Text, clamped};

crate::message! {
    /// A rectangle in an image, as `vision_msgs/BoundingBox2D`. Without a time: for use inside
    /// other messages.
    #[derive(Default)]
    pub struct BoundingBox2D {
        /// x, y from the top left corner of the image: pixels.
        pub center: [f64; 2],
        /// Rotation about the centre, from x to y: radians.
        pub theta: f64,
        /// Along its own x: pixels.
        pub size_x: f64,
        /// Along its own y: pixels.
        pub size_y: f64,
    }
}
layout! { BoundingBox2D = 40 { center: 0, theta: 16, size_x: 24, size_y: 32 } }

impl BoundingBox2D {
    /// An upright rectangle, in pixels.
    #[must_use]
    pub const fn new(center: [f64; 2], size_x: f64, size_y: f64) -> Self {
        Self { center, theta: 0.0, size_x, size_y }
    }
}

crate::message! {
    /// A box in space, as `vision_msgs/BoundingBox3D`. Without a time: for use inside other
    /// messages.
    pub struct BoundingBox3D {
        /// x, y, z of the centre: metres.
        pub center: [f64; 3],
        /// Unit quaternion x, y, z, w: no unit.
        pub orientation: [f64; 4],
        /// Along its own x, y, z: metres.
        pub size: [f64; 3],
    }
}
layout! { BoundingBox3D = 80 { center: 0, orientation: 24, size: 56 } }

impl BoundingBox3D {
    /// A box along the axes, in metres.
    #[must_use]
    pub const fn new(center: [f64; 3], size: [f64; 3]) -> Self {
        Self { center, orientation: IDENTITY, size }
    }
}

impl Default for BoundingBox3D {
    /// A point at the origin, not rotated.
    fn default() -> Self {
        Self::new([0.0; 3], [0.0; 3])
    }
}

crate::message! {
    /// Something that was recognised in an image, as `vision_msgs/Detection2D` with its best
    /// hypothesis. Those of one image have the same time.
    #[derive(Default)]
    pub struct Detection {
        /// When the image was taken, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// The frame of the camera: text.
        pub frame_id: FrameId,
        /// What it is, as `person`: text.
        pub class_id: Text<32>,
        /// How sure that is, 0 to 1: no unit.
        pub score: f64,
        /// Where in the image it is.
        pub bbox: BoundingBox2D,
        /// The same for the same thing in several images, if it is tracked: text.
        pub id: Text<32>,
    }
}
layout! {
    Detection = 152 {
        timestamp_ns: 0, frame_id: 8, class_id: 40, score: 72, bbox: 80, id: 120,
    }
}

impl Detection {
    /// A detection stamped with the current time; set `timestamp_ns` to that of the image if it is
    /// known.
    #[must_use]
    pub fn new(class_id: Text<32>, score: f64, bbox: BoundingBox2D) -> Self {
        Self { class_id, score, bbox, ..Self::now() }
    }
}

impl fmt::Display for Detection {
    /// As `person 0.93 at (320, 240) px`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y] = self.bbox.center;
        write!(f, "{} {:.2} at ({x:.0}, {y:.0}) px", self.class_id, self.score)
    }
}

crate::message! {
    /// Something that was recognised in space, as `vision_msgs/Detection3D` with its best
    /// hypothesis. Those of one measurement have the same time.
    #[derive(Default)]
    pub struct Detection3D {
        /// When it was measured, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// The frame of the box: text.
        pub frame_id: FrameId,
        /// What it is, as `person`: text.
        pub class_id: Text<32>,
        /// How sure that is, 0 to 1: no unit.
        pub score: f64,
        /// Where it is.
        pub bbox: BoundingBox3D,
        /// The same for the same thing in several measurements, if it is tracked: text.
        pub id: Text<32>,
    }
}
layout! {
    Detection3D = 192 {
        timestamp_ns: 0, frame_id: 8, class_id: 40, score: 72, bbox: 80, id: 160,
    }
}

impl Detection3D {
    /// A detection in `frame_id`, stamped with the current time; set `timestamp_ns` to that of the
    /// measurement if it is known.
    #[must_use]
    pub fn new(frame_id: FrameId, class_id: Text<32>, score: f64, bbox: BoundingBox3D) -> Self {
        Self { frame_id, class_id, score, bbox, ..Self::now() }
    }
}

impl fmt::Display for Detection3D {
    /// As `person 0.93 at (1.00, 2.00, 0.00) m in map`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.bbox.center;
        let Self { class_id, score, frame_id, .. } = self;
        write!(f, "{class_id} {score:.2} at ({x:.2}, {y:.2}, {z:.2}) m in {frame_id}")
    }
}

crate::message! {
    /// Something that is followed from one measurement to the next. No ROS type; the box is that of
    /// `vision_msgs/Detection3D`.
    #[derive(Default)]
    pub struct TrackedObject {
        /// When the pose held, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// The frame of box and velocities: text.
        pub frame_id: FrameId,
        /// The same for the same thing, never used again: no unit.
        pub track_id: u64,
        /// What it is, as `person`: text.
        pub class_id: Text<32>,
        /// How sure that is, 0 to 1: no unit.
        pub score: f64,
        /// Where it is.
        pub bbox: BoundingBox3D,
        /// Along x, y, z: metres per second.
        pub linear_velocity: [f64; 3],
        /// About x, y, z: radians per second.
        pub angular_velocity: [f64; 3],
        /// For how long it has been followed: nanoseconds.
        pub age_ns: u64,
        /// How often it was not seen since it was last seen: count.
        pub missed: u32,
        /// One of the `STATE_` constants: no unit.
        pub state: u8,
        /// 0: no unit.
        pub _reserved: [u8; 3],
    }

    /// Seen too seldom to be sure.
    pub const STATE_TENTATIVE: u8 = 0;
    /// There.
    pub const STATE_CONFIRMED: u8 = 1;
    /// Not seen, and assumed to go on as it went.
    pub const STATE_COASTING: u8 = 2;
    /// Given up: the last message of this track.
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
    /// A place that is recognised again, as a corner or a fiducial marker. No ROS type.
    ///
    /// The covariance is row-major 3 × 3 over x, y, z; all zeros means unknown.
    pub struct Landmark {
        /// When it was seen, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// The frame of the position: text.
        pub frame_id: FrameId,
        /// Which one it is, as the number of the marker: no unit.
        pub landmark_id: u32,
        /// One of the `KIND_` constants: no unit.
        pub kind: u8,
        /// 0: no unit.
        pub _reserved: [u8; 3],
        /// x, y, z: metres.
        pub position: [f64; 3],
        /// Unit quaternion x, y, z, w, the identity for a point: no unit.
        pub orientation: [f64; 4],
        /// Of `position`: m².
        pub position_covariance: [f64; 9],
        /// How sure it is that one, 0 to 1: no unit.
        pub score: f64,
    }

    /// A point, as of a feature detector.
    pub const KIND_POINT: u8 = 0;
    /// A fiducial marker, as of AprilTag or ArUco.
    pub const KIND_MARKER: u8 = 1;
    /// A vertical line, as a pole or an edge.
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
    /// A point at the origin, with an unknown covariance and time 0.
    fn default() -> Self {
        Self { orientation: IDENTITY, ..Self::zeroed() }
    }
}

crate::message! {
    /// A flat piece of the surroundings, as a floor or a table. No ROS type; `coef` as in
    /// `shape_msgs/Plane`.
    #[derive(Default)]
    pub struct PlaneDetection {
        /// When it was measured, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// The frame of plane and centre: text.
        pub frame_id: FrameId,
        /// a, b, c, d of `a·x + b·y + c·z + d = 0`, where (a, b, c) is a unit vector and d in
        /// metres: no unit.
        pub coef: [f64; 4],
        /// x, y, z of the middle of the piece: metres.
        pub center: [f64; 3],
        /// Longest extent of the piece, and that across: metres.
        pub size: [f64; 2],
        /// How many points it was fitted to: count.
        pub inlier_count: u32,
        /// 0: no unit.
        pub _reserved: u32,
        /// Root mean square distance of those from the plane: metres.
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
    /// How far a point is above the plane, in metres; negative below.
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
    /// A part of an image, as `sensor_msgs/RegionOfInterest`. Without a time: for use inside other
    /// messages. All zeros is the whole image.
    #[derive(Default)]
    pub struct RegionOfInterest {
        /// Of its left edge: pixels.
        pub x_offset: u32,
        /// Of its top edge: pixels.
        pub y_offset: u32,
        /// Pixels.
        pub height: u32,
        /// Pixels.
        pub width: u32,
        /// 1 if it is to be cut out of the rectified image: no unit.
        pub do_rectify: u8,
        /// 0: no unit.
        pub _reserved: [u8; 7],
    }
}
layout! {
    RegionOfInterest = 24 {
        x_offset: 0, y_offset: 4, height: 8, width: 12, do_rectify: 16, _reserved: 17,
    }
}

/// The most coefficients of a distortion model: those of OpenCV's with tilted sensors.
pub const DISTORTION_MAX: usize = 14;

crate::message! {
    /// Calibration of a camera, as `sensor_msgs/CameraInfo`; the meaning of its fields is in
    /// `image_pipeline`'s documents, and matrices are row-major.
    pub struct CameraInfo {
        /// When the image was taken, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// The optical frame: z forward, x right, y down: text.
        pub frame_id: FrameId,
        /// Of the image that was calibrated: pixels.
        pub height: u32,
        /// Of the image that was calibrated: pixels.
        pub width: u32,
        /// As `plumb_bob` or `rational_polynomial`: text.
        pub distortion_model: Text<32>,
        /// How many coefficients the model has, from the first of `d`: count.
        pub d_count: u32,
        /// 0: no unit.
        pub _reserved: u32,
        /// Coefficients of the distortion model: no unit.
        pub d: [f64; DISTORTION_MAX],
        /// Intrinsic matrix of the raw image, 3 × 3, fx 0 cx 0 fy cy 0 0 1: pixels.
        pub k: [f64; 9],
        /// Rotation that rectifies, 3 × 3: no unit.
        pub r: [f64; 9],
        /// Projection of the rectified image, 3 × 4: pixels.
        pub p: [f64; 12],
        /// Columns of the sensor in one of the image, 0 as 1: count.
        pub binning_x: u32,
        /// Rows of the sensor in one of the image, 0 as 1: count.
        pub binning_y: u32,
        /// The part of the sensor that was read, before binning.
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
    /// The coefficients that the model has: the first `d_count`, or all if a peer claims more.
    #[must_use]
    pub fn distortion(&self) -> &[f64] {
        &self.d[..clamped(self.d_count, DISTORTION_MAX)]
    }
}

impl Default for CameraInfo {
    /// Not calibrated, which ROS marks by zeros too.
    fn default() -> Self {
        Self::zeroed()
    }
}
