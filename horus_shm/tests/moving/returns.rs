//! A topic file that is renamed away and back, while its endpoints are called in between: they
//! return to it.

use std::fs;

use horus_shm::internals::check_names_now;
use horus_shm::{OnStalled, RawConsumer, RawProducer};

use super::{Scene, receive, send};

/// The endpoints that are called while the file has another name.
#[derive(Debug, Clone, Copy)]
struct Called {
    reader: bool,
    publisher: bool,
}

impl Called {
    fn all() -> [Self; 4] {
        let all = [(true, false), (false, true), (true, true), (false, false)];
        all.map(|(reader, publisher)| Self { reader, publisher })
    }
}

impl Scene {
    /// Renames the topic's file away, and lets its endpoints notice that.
    fn rename_away(&self) {
        fs::rename(self.path(), self.away()).unwrap();
        check_names_now();
    }

    /// Renames the topic's file back, over the file that has its name meanwhile.
    fn rename_back(&self) {
        fs::rename(self.away(), self.path()).unwrap();
        check_names_now();
    }

    fn away(&self) -> std::path::PathBuf {
        self.namespace.topics_path().with_file_name("away")
    }
}

/// Sends a message at a time, and receives it at once.
fn exchange(ends: &mut (RawProducer, RawConsumer), numbers: std::ops::Range<u64>, what: &str) {
    for number in numbers {
        send(&mut ends.0, number..number + 1);
        assert_eq!(receive(&mut ends.1), [number], "{what}");
    }
}

/// Renames the file away and back some times. If the publisher `repeats` the messages of the file
/// that has the name in between, a reader gets those although it was never there.
fn go_and_return(
    scene: &Scene,
    mut ends: (RawProducer, RawConsumer),
    called: Called,
    repeats: bool,
) {
    let what = format!("{called:?}, repeats {repeats}");
    let (mut sent, mut lost) = (0, 0);
    let mut watch = ends.1.watch();
    for round in 0..3 {
        let what = format!("{what}, round {round}");
        exchange(&mut ends, sent..sent + 10, &what);
        sent += 10;
        scene.rename_away();
        if called.publisher {
            send(&mut ends.0, sent..sent + 3);
        }
        if called.reader {
            let found = receive(&mut ends.1);
            let all: Vec<_> = (sent..sent + 3).collect();
            assert_eq!(
                found,
                if called.publisher { &all[..] } else { &[] },
                "{what}"
            );
        }
        sent += if called.publisher { 3 } else { 0 };
        scene.rename_back();
        if called.publisher && !called.reader {
            send(&mut ends.0, sent..sent + 1);
            let missed = if repeats { 0 } else { 3 };
            let all: Vec<_> = (sent - 3 + missed..=sent).collect();
            assert_eq!(receive(&mut ends.1), all, "{what}");
            (sent, lost) = (sent + 1, lost + missed);
        }
        exchange(&mut ends, sent..sent + 10, &what);
        sent += 10;
        let stats = ends.1.stats();
        let found = (stats.sent, stats.received, stats.lost, stats.waiting);
        assert_eq!(found, (sent, sent - lost, lost, 0), "{what}");
        let present = scene.open();
        assert!(present.is_same_file(ends.0.segment()), "{what}");
        assert!(present.is_same_file(ends.1.segment()), "{what}");
        let counts = (present.publisher_count(), present.subscriber_count());
        assert_eq!(counts, (1, 1), "{what}");
        watch.follow();
        assert!(!watch.has_message(), "{what}");
        send(&mut ends.0, sent..sent + 1);
        assert!(watch.has_message(), "{what}");
        assert_eq!(receive(&mut ends.1), [sent], "{what}");
        sent += 1;
    }
}

#[test]
fn endpoints_return_to_a_file_that_gets_its_name_back() {
    for called in Called::all() {
        for history in [0, 4] {
            let scene = Scene::new(history);
            let reader = scene.reader();
            let mut request = scene.request();
            // WHY: each return takes a lane that was never used.
            request.lane_limit = None;
            let segment = scene.open_with(&request);
            let producer = RawProducer::new(segment, OnStalled::Full).unwrap();
            go_and_return(&scene, (producer, reader), called, history > 0);
        }
    }
}

#[test]
fn reliable_endpoints_return_to_a_file_that_gets_its_name_back() {
    for called in Called::all() {
        let scene = Scene::new(0);
        let ends = scene.reliable();
        go_and_return(&scene, ends, called, true);
    }
}
