//! Compares messages with the bytes that another implementation of ROS 2's CDR makes, in both
//! directions.

use horus_testing as _;

mod ros_messages;

use std::any::type_name;
use std::collections::BTreeMap;
use std::fmt::Debug;

use horus_core::message::{
    BatteryState, CameraInfo, CmdVel, DType, DiagnosticStatus, FramedSample, Image, ImageHeader,
    Imu, JointState, JointStateArray, LaserScan, LidarScan, NavPath, Odometry, PointCloud,
    PointField, PoseStamped, Temperature, Text,
};
use horus_core::ros::{
    CdrError, CdrWriteError, CdrWriter, FromCdr, RosFrames, RosHeader, RosMessage,
};
use ros_messages::{Visit, golden, visit};

/// Proves at compile time that a borrowed message is written without a copy.
const _: fn(&FramedSample<ImageHeader>) -> Result<Vec<u8>, CdrWriteError> = FramedSample::to_cdr;

/// Returns the type that the first line of a golden file names.
fn golden_type(file: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/cdr");
    let text = std::fs::read_to_string(format!("{folder}/{file}.hex")).expect(file);
    text.trim_start_matches("# ")
        .split(',')
        .next()
        .unwrap()
        .to_owned()
}

#[derive(Default)]
struct Compare {
    /// The types here, with their ROS types.
    types: BTreeMap<&'static str, &'static str>,
}

impl Visit for Compare {
    fn message<M>(&mut self, file: &'static str, message: M, frames: M::FrameNames)
    where
        M: FromCdr<FrameNames: PartialEq + Debug> + PartialEq + Debug + 'static,
    {
        self.types.insert(type_name::<M>(), M::TYPE);
        let [little, big] = golden(file);
        assert_eq!(M::TYPE, golden_type(file));
        assert_eq!(message.to_cdr_with(&frames).unwrap(), little, "{file}");
        for bytes in [&little, &big] {
            let (read, read_frames) = M::from_cdr_with(bytes).expect(file);
            assert_eq!(read, message, "{file}");
            assert_eq!(read_frames, frames, "{file}");
        }
    }
}

#[test]
fn messages_have_the_golden_bytes() {
    visit(&mut Compare::default());
    let [little, big] = golden("Path");
    let path = ros_messages::nav_path();
    assert_eq!(path.to_cdr().unwrap(), little);
    assert_eq!(NavPath::TYPE, golden_type("Path"));
    for bytes in [little, big] {
        let read = NavPath::from_cdr(&bytes).unwrap();
        assert_eq!(bytemuck::bytes_of(&read), bytemuck::bytes_of(&path));
    }
}

/// Checks that the table has the differences of every type.
#[test]
fn the_table_names_the_types_that_are_tested() {
    let mut compare = Compare::default();
    visit(&mut compare);
    let mut tested: Vec<_> = compare.types.into_values().collect();
    tested.push(NavPath::TYPE);
    let documents = include_str!("../src/ros/mod.rs");
    let rows = documents
        .lines()
        .filter_map(|line| line.strip_prefix("//! | "))
        .skip(1);
    let named = rows.map(|row| {
        row.split(" | ")
            .nth(1)
            .unwrap_or_default()
            .trim_matches('`')
    });
    let mut named: Vec<_> = named.map(|name| name.replacen('/', "/msg/", 1)).collect();
    named.sort_unstable();
    tested.sort_unstable();
    assert_eq!(named, tested);
}

/// Returns the message in a golden file with a special case, which is the same in both byte orders.
fn special<M: FromCdr + Debug>(file: &str) -> M {
    let read = golden(file).map(|bytes| M::from_cdr(&bytes).expect(file));
    assert_eq!(format!("{:?}", read[0]), format!("{:?}", read[1]), "{file}");
    let [message, _] = read;
    message
}

#[test]
fn fields_that_only_ros_has_are_dropped() {
    let scan: LaserScan = special("LaserScan.intensities");
    assert_eq!(scan, ros_messages::laser_scan());
    let header = RosHeader::new("front_laser");
    assert_eq!(scan.to_cdr_with(&header).unwrap(), golden("LaserScan")[0]);
    let imu = Imu::default();
    let bytes = &golden("Imu")[0];
    let without = Imu::from_cdr(bytes).unwrap();
    assert_ne!(without, imu);
    let bytes = without.to_cdr().unwrap();
    let (_, header) = Imu::from_cdr_with(&bytes).unwrap();
    assert_eq!(header, RosHeader::default());
}

#[test]
fn an_empty_array_is_nan_for_each_and_the_reverse() {
    let full = ros_messages::joint_state();
    let state: JointState = special("JointState.positions_only");
    assert_eq!(
        (state.count, state.name, state.position),
        (3, full.name, full.position)
    );
    for numbers in [state.velocity, state.effort] {
        assert!(
            numbers[..3].iter().all(|number| number.is_nan()),
            "{numbers:?}"
        );
        assert_eq!(numbers[3..], [0.0; 13]);
    }
    let bytes = state.to_cdr_with(&RosHeader::new("base_link")).unwrap();
    assert_eq!(bytes, golden("JointState.positions_only")[0]);

    let state: JointState = special("JointState.nameless");
    assert_eq!(
        (state.count, state.position, state.effort),
        (3, full.position, full.effort)
    );
    assert!(state.name.iter().all(|name| name.is_empty()));
    assert!(state.velocity[..3].iter().all(|number| number.is_nan()));
    let again = JointState::from_cdr(&state.to_cdr().unwrap()).unwrap();
    assert_eq!(bytemuck::bytes_of(&again), bytemuck::bytes_of(&state));

    let unmeasured = JointState {
        timestamp_ns: full.timestamp_ns,
        ..JointState::default()
    };
    assert_eq!(special::<JointState>("JointState.empty"), unmeasured);
    assert_eq!(unmeasured.to_cdr().unwrap(), golden("JointState.empty")[0]);
}

#[test]
fn a_list_of_joints_reads_empty_arrays_as_not_measured() {
    let positions: JointStateArray = special("JointState.positions_only");
    let joints = positions.joints().unwrap();
    assert_eq!((joints.len(), joints[2].name), (3, Text::literal("wrist")));
    for joint in joints {
        assert!(joint.position >= 1.0 && joint.velocity.is_nan() && joint.effort.is_nan());
    }
    let golden_bytes = &golden("JointState.positions_only")[0];
    assert_eq!(&positions.to_cdr().unwrap(), golden_bytes);

    let nameless: JointStateArray = special("JointState.nameless");
    let joints = nameless.joints().unwrap();
    assert_eq!((joints.len(), joints[1].effort), (3, 3.25));
    assert!(
        joints
            .iter()
            .all(|joint| joint.name.is_empty() && joint.velocity.is_nan())
    );

    let none: JointStateArray = special("JointState.empty");
    assert_eq!((none.count, none.data().len()), (0, 0));
    assert_eq!(none.to_cdr().unwrap(), golden("JointState.empty")[0]);
}

#[test]
fn intensities_of_another_number_than_ranges_are_an_error() {
    let mut bytes = golden("LaserScan.intensities")[0].clone();
    let last = bytes.len() - 4;
    bytes.truncate(last);
    let at = last - 4 * 4 - 4;
    assert_eq!(bytes[at..at + 4], 5_u32.to_le_bytes());
    bytes[at..at + 4].copy_from_slice(&4_u32.to_le_bytes());
    let wanted = CdrError::LengthMismatch {
        at,
        field: "intensities",
        found: 4,
        wanted: 5,
    };
    assert_eq!(LidarScan::from_cdr(&bytes), Err(wanted));
}

#[test]
fn sequences_may_be_empty() {
    let [voltages, temperatures] = [[0.0; 16]; 2];
    let battery = BatteryState {
        cell_count: 0,
        cell_voltage: voltages,
        cell_temperature: temperatures,
        ..ros_messages::battery_state()
    };
    assert_eq!(special::<BatteryState>("BatteryState.no_cells"), battery);
    let bytes = battery.to_cdr_with(&RosHeader::new("battery")).unwrap();
    assert_eq!(bytes, golden("BatteryState.no_cells")[0]);

    let camera = CameraInfo {
        d_count: 0,
        d: [0.0; 14],
        ..ros_messages::camera_info()
    };
    assert_eq!(special::<CameraInfo>("CameraInfo.uncalibrated"), camera);
    assert_eq!(
        camera.to_cdr().unwrap(),
        golden("CameraInfo.uncalibrated")[0]
    );

    let cloud: PointCloud = special("PointCloud2.no_points");
    assert_eq!(
        (cloud.field_count, cloud.is_dense, cloud.data()),
        (0, 1, &[][..])
    );
    assert_eq!(cloud.to_cdr().unwrap(), golden("PointCloud2.no_points")[0]);

    let status: DiagnosticStatus = special("DiagnosticStatus.no_values");
    assert_eq!((status.count, status.values().len()), (0, 0));
    assert_eq!(
        status.to_cdr().unwrap(),
        golden("DiagnosticStatus.no_values")[0]
    );
}

#[test]
fn poses_without_a_frame_are_in_that_of_their_path() {
    let path: NavPath = special("Path.frameless_poses");
    assert_eq!(
        bytemuck::bytes_of(&path),
        bytemuck::bytes_of(&ros_messages::nav_path())
    );
    let foreign = NavPath {
        frame_id: "odo".try_into().unwrap(),
        ..path
    };
    let mut bytes = path.to_cdr().unwrap();
    let header = foreign.to_cdr().unwrap();
    bytes[..20].copy_from_slice(&header[..20]);
    let error = NavPath::from_cdr(&bytes).unwrap_err();
    let text = r#"`poses.header.frame_id` is "map", which the horus message cannot represent"#;
    assert!(error.to_string().ends_with(text), "{error}");
}

#[test]
fn values_that_do_not_fit_are_errors_that_name_the_field() {
    let mut out = vec![0; 4000];
    let mut scan = golden("LaserScan")[0].clone();
    // The value is behind stamp (8), frame (4 + 12) and seven numbers (28).
    let at = 4 + 8 + 16 + 28;
    scan.truncate(at);
    scan.extend(361_u32.to_le_bytes());
    scan.resize(at + 4 + 361 * 4 + 4, 0);
    let error = LaserScan::from_cdr(&scan).unwrap_err();
    let wanted = CdrError::TooLong {
        at,
        field: "ranges",
        found: 361,
        limit: 360,
        of: "elements",
    };
    assert_eq!(error, wanted);
    assert_eq!(
        error.to_string(),
        "at byte 56: `ranges` has 361 elements, and 360 fit"
    );

    let frame = "a".repeat(33);
    let header = RosHeader::new(&frame);
    let length = Temperature::default()
        .encode_cdr(&header, &mut out)
        .unwrap();
    let error = PoseStamped::from_cdr(&out[..length]).unwrap_err();
    let field = "header.frame_id";
    let found = 33;
    let limit = 32;
    assert_eq!(
        error,
        CdrError::TooLong {
            at: 12,
            field,
            found,
            limit,
            of: "bytes"
        }
    );

    let scan = LaserScan {
        count: 361,
        ..LaserScan::default()
    };
    let field = "ranges";
    let found = 361;
    let limit = 360;
    let wanted = CdrWriteError::TooLong {
        field,
        found,
        limit,
        of: "elements",
    };
    assert_eq!(scan.to_cdr(), Err(wanted));
    let path = NavPath {
        count: 257,
        ..NavPath::default()
    };
    let field = "poses";
    let found = 257;
    let limit = 256;
    let wanted = CdrWriteError::TooLong {
        field,
        found,
        limit,
        of: "elements",
    };
    assert_eq!(path.to_cdr(), Err(wanted));
}

#[test]
fn times_end_in_2038_and_begin_in_1970() {
    const LAST: u64 = i32::MAX as u64 * 1_000_000_000 + 999_999_999;
    let last = Temperature {
        timestamp_ns: LAST,
        ..Temperature::default()
    };
    let bytes = last.to_cdr().unwrap();
    assert_eq!(Temperature::from_cdr(&bytes), Ok(last));
    let late = Temperature {
        timestamp_ns: LAST + 1,
        ..last
    };
    let wanted = CdrWriteError::Time {
        field: "header.stamp",
        found_ns: LAST + 1,
    };
    assert_eq!(late.to_cdr(), Err(wanted));
    for (sec, nanosec) in [(-1, 0), (0, 1_000_000_000)] {
        let mut bytes = bytes.clone();
        bytes[4..8].copy_from_slice(&i32::to_le_bytes(sec));
        bytes[8..12].copy_from_slice(&u32::to_le_bytes(nanosec));
        let wanted = CdrError::Time {
            at: 4,
            field: "header.stamp",
            sec,
            nanosec,
        };
        assert_eq!(Temperature::from_cdr(&bytes), Err(wanted));
    }
}

#[test]
fn a_command_with_other_axes_is_an_error() {
    let error = CmdVel::from_cdr(&golden("Twist")[0]).unwrap_err();
    let found = "1.25".to_owned();
    assert_eq!(
        error,
        CdrError::NotRepresentable {
            at: 20,
            field: "linear.y",
            found
        }
    );
    let mut bytes = golden("Twist.planar")[0].clone();
    bytes[4..12].copy_from_slice(&1e300_f64.to_le_bytes());
    assert!(matches!(
        CmdVel::from_cdr(&bytes),
        Err(CdrError::NotRepresentable {
            field: "linear.x",
            ..
        })
    ));
}

#[test]
fn arrays_of_different_lengths_are_an_error() {
    let mut bytes = [0; 100];
    let mut out = CdrWriter::new(&mut bytes);
    out.u64(0);
    out.string("").unwrap();
    for count in [0, 1, 2] {
        out.count(count).unwrap();
        (0..count).for_each(|_| out.f64(1.0));
    }
    // The value is behind stamp (8), frame (4 + 1 + 3), no name (4) and a position (4 + 8).
    let at = 4 + 16 + 4 + 12;
    let error = JointState::from_cdr(&bytes).unwrap_err();
    assert_eq!(
        error,
        CdrError::LengthMismatch {
            at,
            field: "velocity",
            found: 2,
            wanted: 1
        }
    );
}

#[test]
fn point_types_that_ros_does_not_have_are_an_error() {
    let field = PointField {
        dtype: DType::F16.code(),
        count: 1,
        ..PointField::default()
    };
    let wanted = CdrWriteError::NotRepresentable {
        field: "datatype",
        found: "f16".to_owned(),
    };
    assert_eq!(field.to_cdr(), Err(wanted));
    let mut bytes = golden("PointField")[0].clone();
    for code in [0, 9] {
        bytes[24] = code;
        let error = PointField::from_cdr(&bytes).unwrap_err();
        assert_eq!(
            error,
            CdrError::NotRepresentable {
                at: 25,
                field: "datatype",
                found: code.to_string()
            }
        );
    }
}

#[test]
fn texts_of_any_bytes_are_an_error() {
    let frame_id = [0xff; 32].into();
    let pose = PoseStamped {
        frame_id,
        ..PoseStamped::default()
    };
    assert_eq!(
        pose.to_cdr(),
        Err(CdrWriteError::Text {
            field: "header.frame_id"
        })
    );
    let odometry = Odometry::default();
    let error = odometry
        .to_cdr_with(&RosFrames::new("odom", "base\0link"))
        .unwrap_err();
    assert_eq!(
        error,
        CdrWriteError::Text {
            field: "child_frame_id"
        }
    );
}

#[test]
fn an_image_has_the_data_that_its_header_promises() {
    let mut bytes = golden("Image")[0].clone();
    let image = Image::from_cdr(&bytes).unwrap();
    bytes.truncate(bytes.len() - 4);
    let at = bytes.len() - 16 - 4;
    bytes[at..at + 4].copy_from_slice(&16_u32.to_le_bytes());
    let error = Image::from_cdr(&bytes).unwrap_err();
    let text = "the header of the Image announces 20 bytes of data, but there are 16";
    assert_eq!(error.to_string(), text);
    let mut image = image;
    image.header_mut().height = 1;
    assert!(matches!(image.to_cdr(), Err(CdrWriteError::Header(_))));
}
