//! The messages whose golden bytes are in `golden/cdr/`, made by `generate.py` there.

#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]

use std::fmt::Debug;

use horus_core::message::{
    Accel, BatteryState, CameraInfo, Clock, CmdVel, CompressedImage, CompressedImageHeader, DType,
    DiagnosticStatus, DiagnosticValue, FluidPressure, Illuminance, Image, ImageHeader, Imu, Joint,
    JointState, JointStateArray, JointStateArrayHeader, LaserScan, LidarScan, LidarScanHeader,
    MagneticField, MapMetaData, NavPath, NavSatFix, OccupancyGrid, OccupancyGridHeader, Odometry,
    Point3, PointCloud, PointCloudHeader, PointField, Pose2D, Pose3D, PoseStamped,
    PoseWithCovariance, Quaternion, RangeSensor, RegionOfInterest, Temperature, Text,
    TimeReference, Transform, TransformStamped, Twist, TwistWithCovariance, Vector3, Waypoint,
    Wrench, WrenchStamped,
};
use horus_core::ros::{FromCdr, RosFrames, RosHeader, Unstamped};

/// A test that is run with every message.
pub trait Visit {
    fn message<M>(&mut self, file: &'static str, message: M, frames: M::FrameNames)
    where
        M: FromCdr<FrameNames: PartialEq + Debug> + PartialEq + Debug + 'static;
}

/// Returns the golden bytes of one message: little-endian and big-endian.
pub fn golden(file: &str) -> [Vec<u8>; 2] {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/cdr");
    let text = std::fs::read_to_string(format!("{folder}/{file}.hex")).expect(file);
    ["# little-endian", "# big-endian"].map(|order| {
        let lines = text.lines().skip_while(|line| *line != order).skip(1);
        hex(&lines
            .take_while(|line| !line.starts_with('#'))
            .collect::<String>())
    })
}

/// Returns the bytes of hexadecimal digits.
pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

const STAMP: u64 = 1_700_000_001_123_456_789;

/// Returns numbers from `start` in steps of a quarter.
fn ramp<const N: usize>(start: f64) -> [f64; N] {
    std::array::from_fn(|index| start + 0.25 * index as f64)
}

/// Returns an array with these elements, and defaults behind them.
fn filled<T: Default, const N: usize>(elements: impl IntoIterator<Item = T>) -> [T; N] {
    let mut elements = elements.into_iter();
    std::array::from_fn(|_| elements.next().unwrap_or_default())
}

pub fn visit(visitor: &mut impl Visit) {
    geometry(visitor);
    stamped_geometry(visitor);
    sensors(visitor);
    lists(visitor);
    scalars(visitor);
    cameras(visitor);
    maps(visitor);
    others(visitor);
}

fn geometry(visitor: &mut impl Visit) {
    let linear = ramp(1.0);
    let angular = ramp(2.0);
    visitor.message("Point", Point3::new(1.0, 1.25, 1.5), ());
    visitor.message("Vector3", Vector3::new(2.0, 2.25, 2.5), ());
    visitor.message("Quaternion", Quaternion::new(3.0, 3.25, 3.5, 3.75), ());
    visitor.message("Transform", Transform::new(ramp(1.0), ramp(2.0)), ());
    let pose = Pose2D {
        x: 1.5,
        y: -2.5,
        theta: 0.75,
        ..Pose2D::default()
    };
    visitor.message("Pose2D", pose, ());
    let pose = Pose3D {
        position: ramp(1.0),
        orientation: ramp(2.0),
        ..Pose3D::default()
    };
    visitor.message("Pose", pose, ());
    let message = Twist {
        linear,
        angular,
        ..Twist::default()
    };
    visitor.message("Twist", Unstamped { message }, ());
    visitor.message(
        "Twist.planar",
        CmdVel {
            timestamp_ns: 0,
            linear: 0.5,
            angular: -0.25,
        },
        (),
    );
    let wrench = Wrench {
        force: ramp(1.0),
        torque: ramp(2.0),
        ..Wrench::default()
    };
    visitor.message("Wrench", wrench, ());
}

fn stamped_geometry(visitor: &mut impl Visit) {
    let timestamp_ns = STAMP;
    let position = ramp(1.0);
    let orientation = ramp(2.0);
    let linear = ramp(1.0);
    let angular = ramp(2.0);
    let covariance = ramp(3.0);
    let map = Text::literal("map");
    let odom = Text::literal("odom");
    let pose = PoseStamped {
        timestamp_ns,
        frame_id: map,
        position,
        orientation,
    };
    visitor.message("PoseStamped", pose, ());
    let pose = PoseWithCovariance {
        timestamp_ns,
        position,
        orientation,
        covariance,
    };
    visitor.message("PoseWithCovarianceStamped", pose, RosHeader::new("odom"));
    let base = || RosHeader::new("base_link");
    visitor.message(
        "TwistStamped",
        Twist {
            timestamp_ns,
            linear,
            angular,
        },
        base(),
    );
    let twist = TwistWithCovariance {
        timestamp_ns,
        linear,
        angular,
        covariance,
    };
    visitor.message("TwistWithCovarianceStamped", twist, base());
    let accel = Accel {
        timestamp_ns,
        linear: ramp(2.0),
        angular: ramp(3.0),
    };
    visitor.message("AccelStamped", accel, base());
    let transform = TransformStamped {
        timestamp_ns,
        frame_id: odom,
        child_frame_id: Text::literal("base_link"),
        translation: ramp(1.0),
        rotation: ramp(2.0),
    };
    visitor.message("TransformStamped", transform, ());
    let frame_id = Text::literal("tool0");
    let wrench = WrenchStamped {
        timestamp_ns,
        frame_id,
        force: ramp(1.0),
        torque: ramp(2.0),
    };
    visitor.message("WrenchStamped", wrench, ());
    let odometry = Odometry {
        timestamp_ns,
        position,
        orientation,
        pose_covariance: ramp(3.0),
        linear: ramp(2.0),
        angular: ramp(3.0),
        twist_covariance: ramp(4.0),
    };
    visitor.message("Odometry", odometry, RosFrames::new("odom", "base_link"));
}

pub fn laser_scan() -> LaserScan {
    LaserScan {
        timestamp_ns: STAMP,
        angle_min: -1.5,
        angle_max: 1.5,
        angle_increment: 0.5,
        time_increment: 0.125,
        scan_time: 0.75,
        range_min: 0.0625,
        range_max: 30.0,
        count: 5,
        ranges: filled([1.25, f32::INFINITY, 2.5, 3.75, 5.0]),
    }
}

pub fn joint_state() -> JointState {
    JointState {
        timestamp_ns: STAMP,
        count: 3,
        name: filled(["shoulder", "elbow", "wrist"].map(Text::literal)),
        position: filled(ramp::<3>(1.0)),
        velocity: filled(ramp::<3>(2.0)),
        effort: filled(ramp::<3>(3.0)),
        ..JointState::default()
    }
}

pub fn battery_state() -> BatteryState {
    BatteryState {
        timestamp_ns: STAMP,
        voltage: 25.5,
        temperature: 31.25,
        current: -3.5,
        charge: 7.25,
        capacity: 9.5,
        design_capacity: 10.5,
        percentage: 0.75,
        power_supply_status: BatteryState::POWER_SUPPLY_STATUS_DISCHARGING,
        power_supply_health: BatteryState::POWER_SUPPLY_HEALTH_GOOD,
        power_supply_technology: BatteryState::POWER_SUPPLY_TECHNOLOGY_LIPO,
        present: 1,
        cell_count: 2,
        cell_voltage: filled([4.25, 4.125]),
        cell_temperature: filled([30.5, 31.5]),
        location: Text::literal("slot 1"),
        serial_number: Text::literal("A-17"),
        ..BatteryState::default()
    }
}

pub fn lidar_scan(ranges: &[f32], intensities: &[f32]) -> LidarScan {
    let header = LidarScanHeader {
        timestamp_ns: STAMP,
        frame_id: Text::literal("front_laser"),
        angle_min: -1.5,
        angle_max: 1.5,
        angle_increment: 0.5,
        time_increment: 0.125,
        scan_time: 0.75,
        range_min: 0.0625,
        range_max: 30.0,
        ..LidarScanHeader::default()
    };
    LidarScan::from_parts(header, ranges, intensities).unwrap()
}

/// Returns numbers from `start` in steps of `step`.
fn floats(count: usize, start: f32, step: f32) -> Vec<f32> {
    (0..count)
        .map(|index| start + step * index as f32)
        .collect()
}

pub fn joint_state_array(frame_id: &'static str, joints: &[Joint]) -> JointStateArray {
    let header = JointStateArrayHeader {
        timestamp_ns: STAMP,
        frame_id: Text::literal(frame_id),
        ..JointStateArrayHeader::default()
    };
    JointStateArray::from_joints(header, joints).unwrap()
}

fn lists(visitor: &mut impl Visit) {
    let few = laser_scan();
    visitor.message("LaserScan", lidar_scan(few.measured(), &[]), ());
    let intensities = [1.0, 1.25, 1.5, 1.75, 2.0];
    let scan = lidar_scan(few.measured(), &intensities);
    visitor.message("LaserScan.intensities", scan, ());
    let scan = lidar_scan(&floats(541, 0.5, 0.03125), &floats(541, 100.0, 0.5));
    visitor.message("LaserScan.541_beams", scan, ());
    let joint = |index: usize, name| Joint {
        name,
        position: ramp::<29>(1.0)[index],
        velocity: ramp::<29>(2.0)[index],
        effort: ramp::<29>(3.0)[index],
    };
    let named = |(index, name): (usize, &'static str)| joint(index, Text::literal(name));
    let names = ["shoulder", "elbow", "wrist"].into_iter().enumerate();
    let joints: Vec<_> = names.map(named).collect();
    visitor.message("JointState", joint_state_array("base_link", &joints), ());
    let long = |index| {
        let name = format_args!("left_hand_thumb_proximal_joint_{index}");
        joint(index, Text::format(name))
    };
    let joints: Vec<_> = (0..29).map(long).collect();
    let state = joint_state_array("pelvis", &joints);
    visitor.message("JointState.29_joints", state, ());
}

fn sensors(visitor: &mut impl Visit) {
    let timestamp_ns = STAMP;
    let imu = Imu {
        timestamp_ns,
        orientation: ramp(1.0),
        orientation_covariance: ramp(2.0),
        angular_velocity: ramp(3.0),
        angular_velocity_covariance: ramp(4.0),
        linear_acceleration: ramp(5.0),
        linear_acceleration_covariance: ramp(6.0),
    };
    visitor.message("Imu", imu, RosHeader::new("imu_link"));
    visitor.message("LaserScan", laser_scan(), RosHeader::new("front_laser"));
    let range = RangeSensor {
        timestamp_ns,
        radiation_type: RangeSensor::INFRARED,
        field_of_view: 0.5,
        min_range: 0.25,
        max_range: 4.5,
        range: 1.75,
        variance: 0.125,
        ..RangeSensor::default()
    };
    visitor.message("Range", range, RosHeader::new("sonar"));
    visitor.message("JointState", joint_state(), RosHeader::new("base_link"));
    visitor.message("BatteryState", battery_state(), RosHeader::new("battery"));
    let fix = NavSatFix {
        timestamp_ns,
        status: NavSatFix::STATUS_NO_FIX,
        position_covariance_type: NavSatFix::COVARIANCE_TYPE_DIAGONAL_KNOWN,
        service: 513,
        latitude: 47.375,
        longitude: 8.5,
        altitude: 408.25,
        position_covariance: ramp(1.0),
        ..NavSatFix::default()
    };
    visitor.message("NavSatFix", fix, RosHeader::new("gps"));
    let magnetic_field = ramp(1.0);
    let magnetic_field_covariance = ramp(2.0);
    let field = MagneticField {
        timestamp_ns,
        magnetic_field,
        magnetic_field_covariance,
    };
    visitor.message("MagneticField", field, RosHeader::new("imu_link"));
}

fn scalars(visitor: &mut impl Visit) {
    let timestamp_ns = STAMP;
    let variance = 0.5;
    let temperature = Temperature {
        timestamp_ns,
        temperature: 41.5,
        variance,
    };
    visitor.message("Temperature", temperature, RosHeader::new("cpu"));
    let pressure = FluidPressure {
        timestamp_ns,
        fluid_pressure: 101_325.5,
        variance,
    };
    visitor.message("FluidPressure", pressure, RosHeader::new("baro"));
    let illuminance = Illuminance {
        timestamp_ns,
        illuminance: 300.5,
        variance,
    };
    visitor.message("Illuminance", illuminance, RosHeader::new("lux"));
    let time_ref_ns = 2_147_483_647_999_999_999;
    let reference = TimeReference {
        timestamp_ns,
        time_ref_ns,
        source: Text::literal("gps"),
    };
    visitor.message("TimeReference", reference, RosHeader::new("gps"));
    let clock = Clock {
        clock_ns: 12_500_000_000,
        rate: 1.0,
        ..Clock::default()
    };
    visitor.message("Clock", clock, ());
}

pub fn camera_info() -> CameraInfo {
    CameraInfo {
        timestamp_ns: STAMP,
        frame_id: Text::literal("camera_optical"),
        height: 480,
        width: 640,
        distortion_model: Text::literal("plumb_bob"),
        d_count: 5,
        d: filled(ramp::<5>(1.0)),
        k: ramp(2.0),
        r: ramp(3.0),
        p: ramp(4.0),
        binning_x: 2,
        binning_y: 4,
        roi: region(),
        ..CameraInfo::default()
    }
}

fn region() -> RegionOfInterest {
    let x_offset = 1;
    let y_offset = 2;
    let height = 3;
    let width = 4;
    RegionOfInterest {
        x_offset,
        y_offset,
        height,
        width,
        do_rectify: 1,
        ..Default::default()
    }
}

fn cameras(visitor: &mut impl Visit) {
    let timestamp_ns = STAMP;
    let frame_id = Text::literal("camera_optical");
    visitor.message("RegionOfInterest", region(), ());
    visitor.message("CameraInfo", camera_info(), ());
    let header = ImageHeader {
        timestamp_ns,
        frame_id,
        height: 2,
        width: 3,
        encoding: Text::literal("rgb8"),
        is_bigendian: 1,
        step: 10,
        ..ImageHeader::default()
    };
    let data: Vec<u8> = (1..=20).collect();
    visitor.message("Image", Image::new(header, &data).unwrap(), ());
    let format = Text::literal("jpeg");
    let bytes = CompressedImageHeader::default();
    let header = CompressedImageHeader {
        timestamp_ns,
        frame_id,
        format,
        bytes: 7,
        ..bytes
    };
    visitor.message(
        "CompressedImage",
        CompressedImage::new(header, &data[..7]).unwrap(),
        (),
    );
    visitor.message("PointField", point_field("intensity", 12, DType::F32), ());
    visitor.message("PointCloud2", point_cloud(), ());
}

fn point_field(name: &'static str, offset: u32, dtype: DType) -> PointField {
    let name = Text::literal(name);
    let dtype = dtype.code();
    PointField {
        name,
        offset,
        count: 1,
        dtype,
        ..PointField::default()
    }
}

pub fn point_cloud() -> PointCloud {
    let header = PointCloudHeader {
        timestamp_ns: STAMP,
        frame_id: Text::literal("lidar"),
        height: 1,
        width: 2,
        point_step: 15,
        row_step: 31,
        field_count: 3,
        is_bigendian: 1,
        is_dense: 1,
        fields: filled([
            point_field("x", 1, DType::F32),
            point_field("ring", 5, DType::U16),
            point_field("t", 7, DType::F64),
        ]),
        ..PointCloudHeader::default()
    };
    PointCloud::new(header, &(1..=31).collect::<Vec<u8>>()).unwrap()
}

fn maps(visitor: &mut impl Visit) {
    let info = MapMetaData {
        map_load_time_ns: 1_600_000_000_000_000_007,
        resolution: 0.25,
        width: 3,
        height: 2,
        origin_position: ramp(5.0),
        origin_orientation: ramp(6.0),
        ..MapMetaData::default()
    };
    visitor.message("MapMetaData", info, ());
    let timestamp_ns = STAMP;
    let frame_id = Text::literal("map");
    let header = OccupancyGridHeader {
        timestamp_ns,
        frame_id,
        info,
        ..Default::default()
    };
    let grid = OccupancyGrid::new(header, &[0xff, 100, 1, 2, 3, 4]).unwrap();
    visitor.message("OccupancyGrid", grid, ());
}

fn others(visitor: &mut impl Visit) {
    let value = DiagnosticValue::truncated("temperature", "81");
    visitor.message("KeyValue", value, ());
    visitor.message("DiagnosticStatus", diagnostic_status(), ());
}

pub fn diagnostic_status() -> DiagnosticStatus {
    DiagnosticStatus {
        level: DiagnosticStatus::ERROR,
        count: 2,
        name: Text::literal("base: left motor"),
        message: Text::literal("too hot: 81 °C"),
        hardware_id: Text::literal("M-2"),
        values: filled([
            DiagnosticValue::truncated("temperature", "81"),
            DiagnosticValue::truncated("duty", "0.75"),
        ]),
        ..DiagnosticStatus::default()
    }
}

/// Returns the path apart from the others: a missing speed is NaN, which does not equal itself.
pub fn nav_path() -> NavPath {
    let mut path = NavPath {
        timestamp_ns: STAMP,
        frame_id: Text::literal("map"),
        ..NavPath::default()
    };
    for start in [1.0, 4.0] {
        assert!(path.push(Waypoint::new(ramp(start), ramp(start + 1.0), f64::NAN)));
    }
    path
}
