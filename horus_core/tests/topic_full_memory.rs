//! Long messages in a small file system, without any setting: they arrive, or there is a clear
//! error and the topic goes on.

use horus_testing as _;

mod actors;

use std::path::Path;
use std::process::Command;

use actors::{DIR, ROLE};
use horus_core::SendError;
use horus_core::message::{Encoding, Image, ImageHeader, PointCloud, PointCloudHeader};
use horus_core::topic::{Publisher, Qos, Subscriber, Topic};
use horus_testing::skip;

/// Points of a cloud of 10 MB: three `f32` each.
const POINTS: u32 = 10_000_000 / 12;

/// Not a test: entry point of the re-executed child process.
#[test]
fn child_role() {
    if let Some((_, dir)) = actors::role() {
        send_in_64_mib(&dir);
        actors::say("all sent");
    }
}

#[test]
fn long_messages_pass_or_are_refused_in_a_file_system_of_64_mib() {
    let dir = actors::private_dir();
    let mount = "mount -t tmpfs -o size=64m,mode=0700 none \"$HORUS_TEST_DIR\"";
    let isolated = |script: &str| {
        let mut command = Command::new("unshare");
        let arguments = ["--user", "--map-root-user", "--mount", "sh", "-c", script];
        command.args(arguments).env(DIR, dir.path());
        command
    };
    let allowed = isolated(mount).output();
    if !allowed.is_ok_and(|output| output.status.success()) {
        skip("a file system of its own cannot be mounted");
        return;
    }
    let test = std::env::current_exe().unwrap();
    let script = format!("{mount} && exec \"$TEST\" child_role --exact --nocapture");
    let mut command = isolated(&script);
    command.env("TEST", test).env(ROLE, "64 MiB");
    let output = command.output().unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {printed}", output.status);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("@all sent."), "{said}");
}

fn send_in_64_mib(dir: &Path) {
    let namespace = actors::namespace_in(dir);
    let image = |width, height| {
        let header = ImageHeader::new(width, height, Encoding::RGB8);
        Image::zeroed(header).unwrap()
    };
    let camera = |qos| -> (Publisher<Image>, Subscriber<Image>) {
        let builder = || Topic::builder("camera").namespace(&namespace).qos(qos);
        (
            builder().publisher().unwrap(),
            builder().subscriber().unwrap(),
        )
    };

    // Four slots of 6.2 MB fit, four of 25 MB do not.
    let (mut publisher, mut subscriber) = camera(Qos::new());
    for _ in 0..3 {
        publisher.send(&image(1920, 1080)).unwrap();
        let received = subscriber.recv().expect("the message is there");
        assert_eq!(received.data().len(), 1920 * 1080 * 3);
        let uhd = image(3840, 2160);
        let error = publisher.send(&uhd).unwrap_err();
        assert!(matches!(error, SendError::NoSpace { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("camera") && text.contains("free"), "{text}");
        assert!(subscriber.recv().is_none());
    }
    let stats = subscriber.stats();
    let ledger = (stats.sent, stats.received, stats.lost, stats.waiting);
    assert_eq!(ledger, (3, 3, 0, 0));
    drop((publisher, subscriber));

    // With two slots it does.
    let (mut publisher, mut subscriber) = camera(Qos::new().capacity(2));
    publisher.send(&image(3840, 2160)).unwrap();
    let received = subscriber.recv().expect("the message is there");
    assert_eq!(received.data().len(), 3840 * 2160 * 3);
    drop((publisher, subscriber));

    let builder = || Topic::builder("lidar").namespace(&namespace);
    let mut publisher: Publisher<PointCloud> = builder().publisher().unwrap();
    let mut subscriber: Subscriber<PointCloud> = builder().subscriber().unwrap();
    let cloud = PointCloud::zeroed(PointCloudHeader::xyz(POINTS)).unwrap();
    for _ in 0..8 {
        publisher.send(&cloud).unwrap();
        let received = subscriber.recv().expect("the message is there");
        assert_eq!(received.data().len(), cloud.data().len());
    }
}
