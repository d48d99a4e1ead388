//! Carriers have the ids of their rows, and say what they may lose.

use horus_benchmarks::transport::carrier::{Carrier, MessageSize, Transport};

#[test]
fn ids_are_those_of_the_rows() {
    let transports = Transport::combinations(
        &[Carrier::SpscShm, Carrier::SPSC],
        &MessageSize::USUAL_SIZES[..2],
    );
    let ids: Vec<String> = transports.into_iter().map(Transport::id).collect();
    assert_eq!(
        ids,
        ["spsc_shm/16B", "spsc_shm/304B", "spsc/16B", "spsc/304B"]
    );
    let sizes = [
        MessageSize::Bytes(8),
        MessageSize::Bytes(65_536),
        MessageSize::JointCommand,
    ]
    .map(MessageSize::id);
    assert_eq!(sizes, ["8B", "64KB", "JointCommand"]);
}

#[test]
fn only_an_open_lane_may_lose_messages() {
    assert!(!Carrier::Topic.is_lossless() && Carrier::TopicReliable.is_lossless());
    assert!(Carrier::SPMC.is_lossless() && !Carrier::Udp.is_lossless());
}
