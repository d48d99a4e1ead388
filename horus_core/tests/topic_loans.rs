//! Frames that are written and read in place, through topics of messages.

use horus_testing as _;

use std::sync::Arc;

use horus_core::namespace::{Namespace, NamespaceConfig, NamespaceName};
use horus_core::prelude::*;
use horus_core::topic::Sample;
use horus_core::{BorrowError, LoanError};
use tempfile::TempDir;

const WIDTH: usize = 640;
const HEIGHT: usize = 480;

horus_core::message! {
    /// A camera image.
    pub struct Frame {
        /// CLOCK_REALTIME, nanoseconds.
        pub timestamp_ns: u64,
        /// Rows of red, green and blue.
        pub rgb: [u8; WIDTH * HEIGHT * 3],
    }
}

fn namespace() -> (TempDir, Arc<Namespace>) {
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    let config = NamespaceConfig::new(dir.path().join("horus"), NamespaceName::default());
    let namespace = Namespace::open(&config).unwrap();
    (dir, namespace)
}

/// Returns the address of a message in this process.
fn address(frame: &Frame) -> usize {
    std::ptr::from_ref(frame).addr()
}

#[test]
fn a_frame_is_never_copied_after_it_is_written() {
    let (_dir, namespace) = namespace();
    let builder = || Topic::<Frame>::builder("camera/rgb").namespace(&namespace);
    let mut camera = builder().publisher().unwrap();
    let mut viewers = [
        builder().subscriber().unwrap(),
        builder().subscriber().unwrap(),
    ];
    let mut distances = Vec::new();
    for shade in 0..50_u8 {
        let mut frame = camera.loan().unwrap();
        frame.timestamp_ns = u64::from(shade);
        frame.rgb.fill(shade);
        let written = address(&frame);
        frame.publish().unwrap();
        let read = viewers
            .each_mut()
            .map(|viewer| viewer.borrow().unwrap().unwrap());
        for frame in &read {
            assert!(frame.timestamp_ns == u64::from(shade) && frame.rgb == [shade; _]);
            distances.push(address(frame).wrapping_sub(written));
        }
        assert_eq!(
            address(&read[0]),
            address(&read[1]),
            "both read the same bytes"
        );
    }
    // Publisher and subscribers map a lane separately: a slot has different addresses, at a
    // constant distance.
    assert!(distances.iter().all(|&distance| distance == distances[0]));
}

#[test]
fn frames_can_be_kept_and_handed_on() {
    let (_dir, namespace) = namespace();
    let builder = || Topic::<Frame>::builder("camera/rgb").namespace(&namespace);
    let mut camera = builder().publisher().unwrap();
    let mut viewer = builder().subscriber().unwrap();
    let mut send = |shade: u8| {
        let mut frame = camera.loan().unwrap();
        frame.rgb.fill(shade);
        frame.publish().unwrap();
    };
    send(1);
    let kept: Sample<Frame> = viewer.borrow().unwrap().unwrap();
    (2..100).for_each(&mut send);
    let checking = std::thread::spawn(move || kept.rgb == [1; _] && kept.sequence() == 1);
    assert!(checking.join().unwrap());
    while viewer.borrow().unwrap().is_some() {}
    let stats = viewer.stats();
    assert_eq!(
        (stats.sent, stats.received + stats.lost),
        (99, 99),
        "{stats:?}"
    );
}

#[test]
fn a_small_message_is_lent_where_its_publisher_was_made_for_it() {
    let (_dir, namespace) = namespace();
    let plain = || Topic::<CmdVel>::builder("plain").namespace(&namespace);
    let mut topic = plain().topic().unwrap();
    assert!(matches!(topic.loan(), Err(LoanError::NotPinnable { .. })));
    assert!(matches!(
        topic.borrow(),
        Err(BorrowError::NotPinnable { .. })
    ));
    let qos = Qos::new().pinnable(true);
    let mut topic = Topic::<CmdVel>::builder("lent")
        .namespace(&namespace)
        .qos(qos)
        .topic()
        .unwrap();
    let mut command = topic.loan().unwrap();
    *command = CmdVel::new(0.5, 0.1);
    command.publish().unwrap();
    assert_eq!(topic.borrow().unwrap().unwrap().linear, 0.5);
    // A publisher beside one that copies, on the same topic.
    let mut beside = plain().qos(qos).topic().unwrap();
    let mut command = beside.loan().unwrap();
    *command = CmdVel::new(0.25, 0.0);
    command.publish().unwrap();
    assert_eq!(beside.recv().unwrap().linear, 0.25);
    assert!(matches!(
        plain().topic().unwrap().loan(),
        Err(LoanError::NotPinnable { .. })
    ));
}

/// A loan takes the slot of the oldest message. Whether it is dropped, or still being filled, no
/// other message is lost by it.
#[test]
fn a_loan_in_a_full_lane_costs_one_message() {
    const CAPACITY: u64 = 64;
    let (_dir, namespace) = namespace();
    let qos = Qos::new().pinnable(true).capacity(CAPACITY);
    let lent = || {
        Topic::<CmdVel>::builder("lent")
            .namespace(&namespace)
            .qos(qos)
    };
    let mut subscriber = lent().subscriber().unwrap();
    let mut publisher = lent().publisher().unwrap();
    for _ in 0..CAPACITY {
        publisher.send(CmdVel::new(0.5, 0.1)).unwrap();
    }
    {
        let _loan = publisher.loan().unwrap();
        assert!(subscriber.recv().is_some());
    }
    let received = 1 + std::iter::from_fn(|| subscriber.recv()).count() as u64;
    publisher.send(CmdVel::new(0.5, 0.1)).unwrap();
    assert!(subscriber.recv().is_some());
    let stats = subscriber.stats();
    let ledger = (stats.sent, stats.received, stats.lost, stats.waiting);
    assert_eq!(received, CAPACITY - 1);
    assert_eq!(ledger, (CAPACITY + 1, CAPACITY, 1, 0));
}

/// Which messages can be borrowed depends on the publishers, and not on which endpoint came first.
#[test]
fn a_subscriber_without_a_publisher_has_nothing_to_borrow() {
    let (_dir, namespace) = namespace();
    for is_pinnable in [true, false] {
        let name = format!("early/{is_pinnable}");
        let builder = || Topic::<CmdVel>::builder(&name).namespace(&namespace);
        let mut subscriber = builder().subscriber().unwrap();
        assert!(subscriber.borrow().unwrap().is_none());
        assert!(subscriber.borrow_latest().unwrap().is_none());
        let qos = Qos::new().pinnable(is_pinnable);
        let mut publisher = builder().qos(qos).publisher().unwrap();
        publisher.send(CmdVel::new(1.0, 0.0)).unwrap();
        match subscriber.borrow() {
            Ok(borrowed) => assert_eq!(borrowed.is_some(), is_pinnable),
            Err(error) => assert!(
                !is_pinnable && matches!(error, BorrowError::NotPinnable { .. }),
                "{error}"
            ),
        }
    }
}
