//! Reports about topics that were removed: only by the command itself.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use horus_core::message::CmdVel;
use horus_core::topic::Topic;

use crate::common::Robot;

/// Number of runs. In each one, the topic may go at a moment between two looks at it.
const RUNS: u32 = 40;

/// A topic that goes while a command looks was removed by its own processes.
#[test]
fn what_others_remove_is_not_reported_as_removed() {
    let robot = Robot::new();
    let topic = Topic::<CmdVel>::builder("brief").namespace(robot.namespace());
    let _publisher = topic.publisher().unwrap();
    let file = robot.namespace().topics_path().join("brief");
    let away = robot.dir().join("away");
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                for (from, to) in [(&file, &away), (&away, &file)] {
                    fs::rename(from, to).unwrap();
                    thread::sleep(Duration::from_micros(500));
                }
            }
        });
        let runs = (0..RUNS).map(|_| (robot.run("clean"), robot.run("doctor")));
        let runs: Vec<_> = runs.collect();
        is_over.store(true, Ordering::Relaxed);
        for (cleaned, found) in runs {
            assert!(!cleaned.stdout.contains("removed"), "{cleaned:?}");
            assert!(found.stdout.contains("stale topics: none\n"), "{found:?}");
        }
    });
}
