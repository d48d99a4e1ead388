//! Scans of any number of rays and states of any number of joints: their parts, their way through a
//! topic, and their conversion from and to the messages of a fixed size.

use horus_testing as _;

mod private;

use horus_core::message::{
    HeaderError, Joint, JointState, JointStateArray, JointStateArrayHeader, LaserScan, LidarScan,
    LidarScanHeader, Text, TooLarge,
};
use horus_core::ros::{FromCdr, RosMessage};
use private::Private;

/// The numbers of rays of common scanners, and more.
const RAYS: [usize; 6] = [1, 360, 541, 720, 1081, 2000];

fn numbers(count: usize, start: f32) -> Vec<f32> {
    (0..count)
        .map(|index| start + index as f32 / 64.0)
        .collect()
}

fn joints(count: usize) -> Vec<Joint> {
    let joint = |index| Joint {
        name: Text::format(format_args!("joint_{index}")),
        position: index as f64,
        velocity: 0.5,
        effort: f64::NAN,
    };
    (0..count).map(joint).collect()
}

#[test]
fn scans_of_any_length_arrive_with_and_without_intensities() {
    let private = Private::new();
    let mut topic = private.builder::<LidarScan>("scan").topic().unwrap();
    for rays in RAYS {
        for intensities in [numbers(rays, 100.0), Vec::new()] {
            let ranges = numbers(rays, 0.5);
            let header = LidarScanHeader::new(0).in_frame(Text::literal("laser"));
            let scan = LidarScan::from_parts(header, &ranges, &intensities).unwrap();
            topic.send(&scan).unwrap();
            let sample = topic.borrow().unwrap().unwrap();
            assert_eq!(sample.ranges().unwrap(), ranges);
            assert_eq!(sample.intensities().unwrap(), intensities);
            assert_eq!(sample.frame_id, *"laser");
            let bytes = sample.to_cdr().unwrap();
            // Stamp, frame, seven numbers, two counts, and the numbers.
            let expected = 4 + 8 + 4 + 6 + 2 + 28 + 8 + 4 * (rays + intensities.len());
            assert_eq!(bytes.len(), expected);
            assert_eq!(LidarScan::from_cdr(&bytes).unwrap(), sample);
        }
    }
}

#[test]
fn a_scan_is_written_in_its_slot() {
    let private = Private::new();
    let mut topic = private.builder::<LidarScan>("scan").topic().unwrap();
    let header = LidarScanHeader::new(1081).with_intensities();
    let mut loan = topic.loan(header).unwrap();
    loan.ranges_mut()
        .unwrap()
        .copy_from_slice(&numbers(1081, 1.0));
    loan.intensities_mut().unwrap().fill(7.0);
    loan.publish().unwrap();
    let scan = topic.recv().unwrap();
    assert_eq!(scan.ranges().unwrap(), numbers(1081, 1.0));
    assert_eq!(scan.intensities().unwrap(), [7.0; 1081]);

    // A header that announces less than was lent shortens the message.
    let mut loan = topic.loan(header).unwrap();
    loan.ranges_mut().unwrap().fill(3.0);
    loan.header_mut().has_intensities = 0;
    loan.header_mut().count = 720;
    assert_eq!(loan.ranges_mut().unwrap().len(), 720);
    loan.publish().unwrap();
    let scan = topic.recv().unwrap();
    assert_eq!(scan.ranges().unwrap(), [3.0; 720]);
    assert_eq!(scan.intensities().unwrap(), [0.0; 0]);
}

#[test]
fn the_last_angle_follows_from_the_first_and_the_number_of_rays() {
    let scan = LidarScanHeader::new(1081).with_angles(-2.5, 0.005);
    assert!((scan.angle_max - 2.9).abs() < 1e-6, "{}", scan.angle_max);
    assert_eq!(
        LidarScanHeader::new(0).with_angles(-2.5, 0.005).angle_max,
        -2.5
    );
}

#[test]
fn contradictions_are_refused() {
    let error = LidarScan::from_parts(LidarScanHeader::new(0), &[1.0, 2.0], &[3.0]).unwrap_err();
    let text = "the header of the LidarScan announces 16 bytes of data, but there are 12";
    assert_eq!(error.to_string(), text);
    let header = LidarScanHeader {
        has_intensities: 2,
        ..LidarScanHeader::new(4)
    };
    let error = LidarScan::zeroed(header).unwrap_err();
    let text = "the header of the LidarScan contradicts itself: has_intensities is 2, and 0 or 1 \
                is wanted";
    assert_eq!(error.to_string(), text);
    let header = JointStateArrayHeader {
        joint_bytes: 56,
        ..JointStateArrayHeader::new(3)
    };
    let error = JointStateArray::zeroed(header).unwrap_err();
    assert!(matches!(error, HeaderError::Inconsistent { .. }), "{error}");
    let error = JointStateArray::zeroed(JointStateArrayHeader::new(1 << 21)).unwrap_err();
    assert!(matches!(error, HeaderError::TooLong { .. }), "{error}");
}

#[test]
fn a_scan_of_a_fixed_size_is_converted_and_back() {
    for count in [0, 1, 360] {
        let mut fixed = LaserScan {
            angle_min: -1.0,
            angle_max: 1.0,
            angle_increment: 0.25,
            time_increment: 0.125,
            scan_time: 0.5,
            range_min: 0.1,
            range_max: 30.0,
            count,
            ..LaserScan::now()
        };
        fixed.ranges[..count as usize].copy_from_slice(&numbers(count as usize, 2.0));
        let scan = LidarScan::from(&fixed);
        assert_eq!(scan.ranges().unwrap(), fixed.measured());
        assert_eq!(
            (scan.has_intensities, scan.timestamp_ns),
            (0, fixed.timestamp_ns)
        );
        assert_eq!(LaserScan::try_from(&scan), Ok(fixed));
        // Intensities are dropped.
        let with =
            LidarScan::from_parts(*scan.header(), fixed.measured(), fixed.measured()).unwrap();
        assert_eq!(LaserScan::try_from(&with), Ok(fixed));
    }
    let scan = LidarScan::from_parts(LidarScanHeader::new(0), &numbers(361, 1.0), &[]).unwrap();
    let error = LaserScan::try_from(&scan).unwrap_err();
    let text = "the message has 361 ranges, and a LaserScan has room for 360";
    assert_eq!(error.to_string(), text);
    // A peer may claim more than the array has.
    let hostile = LaserScan {
        count: u32::MAX,
        ..LaserScan::now()
    };
    assert_eq!(LidarScan::from(&hostile).count, 360);
}

#[test]
fn states_of_any_number_of_joints_arrive() {
    let private = Private::new();
    let mut topic = private
        .builder::<JointStateArray>("joints")
        .topic()
        .unwrap();
    for count in [0, 1, 16, 17, 29, 58, 255] {
        let joints = joints(count);
        let state = JointStateArray::from_joints(JointStateArrayHeader::new(0), &joints).unwrap();
        topic.send(&state).unwrap();
        let sample = topic.borrow().unwrap().unwrap();
        let found = sample.joints().unwrap();
        assert_eq!(
            bytemuck::bytes_of(&sample.count),
            (count as u32).to_ne_bytes()
        );
        assert_eq!(
            bytemuck::cast_slice::<_, u8>(found),
            bytemuck::cast_slice::<_, u8>(&joints)
        );
        assert_eq!(
            sample.index_of("joint_7").unwrap(),
            (count > 7).then_some(7)
        );
        let read = JointStateArray::from_cdr(&sample.to_cdr().unwrap()).unwrap();
        assert_eq!(read.data(), sample.data());
    }
    let mut loan = topic.loan(JointStateArrayHeader::new(29)).unwrap();
    loan.joints_mut().unwrap().copy_from_slice(&joints(29));
    loan.publish().unwrap();
    assert_eq!(topic.recv().unwrap().joints().unwrap()[28].position, 28.0);
}

#[test]
fn a_state_of_a_fixed_size_is_converted_and_back() {
    let mut fixed = JointState::now();
    for index in 0..16 {
        let name = Text::format(format_args!("joint_{index}"));
        assert!(fixed.push(name, [f64::from(index), 2.0, 3.0]));
    }
    let state = JointStateArray::from(&fixed);
    assert_eq!(
        (state.count, state.joints().unwrap()[15].position),
        (16, 15.0)
    );
    assert_eq!(JointState::try_from(&state), Ok(fixed));

    let more = JointStateArray::from_joints(JointStateArrayHeader::new(0), &joints(17)).unwrap();
    let wanted = TooLarge::Elements {
        message: "JointState",
        of: "joints",
        found: 17,
        limit: 16,
    };
    assert_eq!(JointState::try_from(&more), Err(wanted));
    let name = "left_hand_thumb_proximal_yaw_joint";
    let joint = [Joint::new(Text::literal(name), 1.0)];
    let long = JointStateArray::from_joints(JointStateArrayHeader::new(0), &joint).unwrap();
    let error = JointState::try_from(&long).unwrap_err();
    let text = format!("the name '{name}' has 34 bytes, and a JointState has room for 32");
    assert_eq!(error.to_string(), text);
}
