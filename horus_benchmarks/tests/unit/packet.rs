//! Messages of topics are verified like any other.

use horus_benchmarks::measure::payload::Payload;
use horus_benchmarks::transport::packet::*;
use horus_core::message::{CmdVel, Imu, JointCommand, LaserScan};

#[test]
fn packets_are_as_large_as_the_messages_they_stand_for() {
    assert_eq!(Packet16::BYTES, size_of::<CmdVel>());
    assert_eq!(Packet304::BYTES, size_of::<Imu>());
    assert_eq!(Packet1480::BYTES, size_of::<LaserScan>());
    let sizes = [
        Packet8::BYTES,
        Packet4096::BYTES,
        Packet16384::BYTES,
        Packet65536::BYTES,
    ];
    assert_eq!(sizes, [8, 4096, 16_384, 65_536]);
}

#[test]
fn messages_of_robots_are_verified_like_any_other() {
    let mut scan = LaserScan::compose(7);
    scan.set_stamp(123);
    assert_eq!((scan.verify(7), scan.stamp()), (Ok(()), 123));
    scan.ranges[100] = -scan.ranges[100];
    assert!(scan.verify(7).is_err());
    let mut joints = JointCommand::compose(1);
    joints.damping[3] = -joints.damping[3];
    assert!(joints.verify(1).is_err() && CmdVel::compose(1).verify(1).is_ok());
}
