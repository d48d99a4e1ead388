//! Introspection sees the counts of the participants, and no participant notices it.

use horus_testing as _;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use horus_core::introspect::{Inspector, Participant, processes, topics};
use horus_core::namespace::{Namespace, NamespaceConfig, NamespaceName};
use horus_core::prelude::*;
use horus_core::topic::DynamicType;
use horus_shm::internals::check_names_now;
use tempfile::TempDir;

fn namespace() -> (TempDir, Arc<Namespace>) {
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    let config = NamespaceConfig::new(dir.path().join("horus"), NamespaceName::default());
    let namespace = Namespace::open(&config).unwrap();
    (dir, namespace)
}

#[test]
fn sent_received_and_lost_are_visible_from_outside() {
    let (_dir, namespace) = namespace();
    let builder = || {
        Topic::<CmdVel>::builder("arm/cmd")
            .namespace(&namespace)
            .capacity(16)
    };
    let mut publisher = builder().publisher().unwrap();
    let mut subscriber = builder().subscriber().unwrap();
    let inspector = Inspector::open_in(&namespace, "arm/cmd").unwrap();
    let before = inspector.snapshot();
    for _ in 0..1000 {
        publisher.send(CmdVel::default()).unwrap();
    }
    while subscriber.recv().is_some() {}
    let stats = subscriber.stats();
    let change = before.change_until(&inspector.snapshot());
    assert_eq!(change.sent, 1000);
    assert_eq!((change.received, change.lost), (stats.received, stats.lost));
    assert!(change.lost > 900 && change.sent_hz() > 0.0, "{change:?}");

    let [lane] = &inspector.publishers()[..] else {
        panic!("one publisher")
    };
    let process = lane.publisher.as_ref().unwrap().process.as_ref().unwrap();
    assert_eq!(
        (process.pid, lane.sent, lane.claims),
        (std::process::id(), 1000, 1)
    );
    let [reader] = &inspector.subscribers()[..] else {
        panic!("one subscriber")
    };
    assert!(!reader.asleep && reader.borrowed == 0);
}

/// A subscriber that could read nothing must not look from outside as if it had received all.
#[test]
fn malformed_messages_are_visible_from_outside() {
    let (_dir, namespace) = namespace();
    let kind = DynamicType::of::<Value>();
    let builder = || kind.builder("any").namespace(&namespace);
    let mut publisher = builder().publisher().unwrap();
    let typed = || Topic::<Value>::builder("any").namespace(&namespace);
    let mut values = typed().subscriber().unwrap();
    let inspector = Inspector::open_in(&namespace, "any").unwrap();
    let seen = || {
        let [reader] = &inspector.subscribers()[..] else {
            panic!("one subscriber")
        };
        (reader.received, reader.malformed)
    };
    for message in [&b"\xc1"[..], b"\xc1", b"\x07"] {
        publisher.send_bytes(message).unwrap();
    }
    assert_eq!(values.recv(), Some(Value::from(7)));
    let stats = values.stats();
    assert_eq!((stats.received, stats.malformed), (1, 2));
    assert_eq!(seen(), (1, 2));
    publisher.send_bytes(b"\xc1").unwrap();
    assert_eq!(values.latest(), None);
    assert_eq!(seen(), (1, 3));
    // The next subscriber gets the slot, and has its own counts.
    drop(values);
    let mut untyped = builder().subscriber().unwrap();
    assert_eq!(seen(), (0, 0));
    publisher.send_bytes(b"\x07").unwrap();
    assert_eq!(untyped.recv_into(&mut [0; 64]), Some(1));
    untyped.count_malformed();
    assert_eq!(seen(), (0, 1));
}

/// A message of the present file counts, also after messages of a file that is gone.
#[test]
fn malformed_messages_after_a_move_are_visible_from_outside() {
    let (_dir, namespace) = namespace();
    let kind = DynamicType::of::<Value>();
    let mut publisher = kind
        .builder("any")
        .namespace(&namespace)
        .publisher()
        .unwrap();
    let typed = || Topic::<Value>::builder("any").namespace(&namespace);
    let mut values = typed().subscriber().unwrap();
    let mut send_and_receive = |message: &[u8]| {
        publisher.send_bytes(message).unwrap();
        values.recv()
    };
    assert_eq!(send_and_receive(b"\x07"), Some(Value::from(7)));
    fs::remove_file(namespace.topics_path().join("any")).unwrap();
    check_names_now();
    assert_eq!(send_and_receive(b"\x08"), Some(Value::from(8)));
    let inspector = Inspector::open_in(&namespace, "any").unwrap();
    for malformed in 1..=3 {
        assert_eq!(send_and_receive(b"\xc1"), None);
        let [reader] = &inspector.subscribers()[..] else {
            panic!("one subscriber")
        };
        assert_eq!(reader.malformed, malformed);
    }
}

#[test]
fn an_inspector_takes_no_subscriber_slot() {
    let (_dir, namespace) = namespace();
    let builder = || Topic::<Imu>::builder("imu").namespace(&namespace);
    let publisher = builder().publisher().unwrap();
    let looks: Vec<_> = (0..100)
        .map(|_| Inspector::open_in(&namespace, "imu").unwrap())
        .collect();
    assert_eq!(
        (publisher.publisher_count(), publisher.subscriber_count()),
        (1, 0)
    );
    assert_eq!(looks[0].backend(), Backend::SpscShm);
    assert_eq!(topics(&namespace).unwrap(), ["imu"]);
    drop(publisher);
    assert!(looks[0].publishers()[0].publisher.is_none(), "it left");
    drop(looks);
    assert!(
        topics(&namespace).unwrap().is_empty(),
        "the last look removed it"
    );
}

#[test]
fn a_topic_describes_itself() {
    let (_dir, namespace) = namespace();
    let _topic = Topic::<LaserScan>::builder("scan")
        .namespace(&namespace)
        .topic()
        .unwrap();
    let inspector = Inspector::open_in(&namespace, "scan").unwrap();
    assert_eq!(inspector.message_type(), "LaserScan");
    assert_eq!(inspector.message_bytes(), 1480);
    assert!(
        inspector.schema().contains("ranges"),
        "{}",
        inspector.schema()
    );
    assert_eq!(inspector.schema_hash(), LaserScan::SCHEMA.hash());
    assert!(!inspector.has_variable_size() && !inspector.persists());
    assert_eq!(
        (inspector.history(), inspector.publishers_max()),
        (0, 64),
        "the defaults"
    );
    assert_eq!(inspector.subscribers_max(), 64);
    let file = inspector.file().unwrap();
    assert!(0 < file.allocated_bytes && file.allocated_bytes <= file.bytes);
    assert!(Inspector::open_in(&namespace, "nothing").is_err());
}

#[test]
fn an_inspector_notices_that_its_topic_was_replaced() {
    let (_dir, namespace) = namespace();
    let topic = || {
        let qos = Qos::latched();
        let builder = Topic::<CmdVel>::builder("cmd").namespace(&namespace);
        let mut publisher = builder.qos(qos).publisher().unwrap();
        publisher.send(CmdVel::default()).unwrap();
        publisher
    };
    drop(topic());
    let inspector = Inspector::open_in(&namespace, "cmd").unwrap();
    assert!(inspector.persists() && inspector.history() == 1);
    assert!(!inspector.is_retired());
    let path = namespace.topics_path().join("cmd");
    std::fs::remove_file(&path).unwrap();
    assert!(inspector.is_retired(), "it was removed");
    let _new = topic();
    assert!(inspector.is_retired(), "another file has its name");
    assert!(!Inspector::open_in(&namespace, "cmd").unwrap().is_retired());
    assert!(
        inspector.file().is_ok(),
        "the old file is still there without a name"
    );
}

#[test]
fn latency_is_sampled() {
    let (_dir, namespace) = namespace();
    let builder = || Topic::<CmdVel>::builder("cmd").namespace(&namespace);
    let mut topic = builder().topic().unwrap();
    for _ in 0..10_000 {
        topic.send(CmdVel::default()).unwrap();
        assert!(topic.recv().is_some());
    }
    let latencies = Inspector::open_in(&namespace, "cmd").unwrap().subscribers()[0].latencies;
    assert_eq!(latencies.samples(), 10_000_u64.div_ceil(256));
    assert!(latencies.percentile(0.5) <= latencies.percentile(0.99));
}

/// Every process that has opened the namespace is listed while it lives, and its id is that of its
/// publishers and subscribers.
#[test]
fn live_processes_are_matched_to_their_endpoints() {
    let (dir, namespace) = namespace();
    let own = |found: &[Participant]| found.len() == 1 && pids(found) == [std::process::id()];
    assert!(own(&processes(&namespace).unwrap()));
    let mut children: Vec<_> = (0..3).map(|_| Participating::start(dir.path())).collect();
    let found = processes(&namespace).unwrap();
    let mut expected: Vec<u32> = children.iter().map(|child| child.0.id()).collect();
    expected.push(std::process::id());
    expected.sort_unstable();
    assert_eq!(pids(&found), expected);
    let mut ids: Vec<u64> = found.iter().map(|process| process.owner_id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 4, "each process has an id of its own");
    let topic = Inspector::open_in(&namespace, "imu").unwrap();
    let publishers = topic.publishers();
    assert_eq!(publishers.len(), 3);
    for lane in publishers {
        let publisher = lane.publisher.unwrap();
        assert!(found.contains(&publisher), "{publisher:?}");
    }
    // Dead ones are left out, also if the next process takes the entry.
    drop(children.remove(1));
    let left = processes(&namespace).unwrap();
    assert_eq!(left.len(), 3);
    assert!(left.iter().all(|process| found.contains(process)));
    let new = Participating::start(dir.path());
    let again = processes(&namespace).unwrap();
    let new = again
        .iter()
        .find(|process| pids(&[(*process).clone()]) == [new.0.id()]);
    assert!(!ids.contains(&new.unwrap().owner_id));
    drop(children);
}

fn pids(processes: &[Participant]) -> Vec<u32> {
    let pids = processes.iter().flat_map(|process| &process.process);
    let mut pids: Vec<u32> = pids.map(|process| process.pid).collect();
    pids.sort_unstable();
    pids
}

/// A child that publishes `imu` in the namespace below this directory. Killed when dropped.
struct Participating(Child);

impl Participating {
    fn start(dir: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["child_role", "--exact", "--nocapture"])
            .env(ROLE, dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut lines = lines.map_while(Result::ok);
        assert!(lines.any(|line| line.ends_with("@ready")));
        Self(child)
    }
}

impl Drop for Participating {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

const ROLE: &str = "HORUS_TEST_INTROSPECT_DIR";

/// Not a test: entry point of the re-executed child process; does nothing without a role.
#[test]
fn child_role() {
    let Some(dir) = std::env::var_os(ROLE) else {
        return;
    };
    let config = NamespaceConfig::new(Path::new(&dir).join("horus"), NamespaceName::default());
    let namespace = Namespace::open(&config).unwrap();
    let topic = Topic::<Imu>::builder("imu").namespace(&namespace);
    let _publisher = topic.publisher().unwrap();
    println!("@ready");
    let _ = std::io::stdin().lines().count();
}
