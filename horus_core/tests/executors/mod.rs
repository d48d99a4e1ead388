//! The executors, for tests that try all of them, and the events of a scheduler.

#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use horus_core::message::NodeEvent;
use horus_core::prelude::*;
use horus_core::scheduler::{Handle, Hertz, NodeBuilder, Scheduler};

use crate::private::Private;

/// A timeout long enough for anything that happens at all.
pub const LONG: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Executor {
    RealTime,
    Chain,
    Event,
    BestEffort,
    Compute,
    #[cfg(feature = "async-io")]
    AsyncIo,
}

pub const EXECUTORS: &[Executor] = &[
    Executor::RealTime,
    Executor::Chain,
    Executor::Event,
    Executor::BestEffort,
    Executor::Compute,
    #[cfg(feature = "async-io")]
    Executor::AsyncIo,
];

impl Executor {
    /// Sets the node up for this executor: at this rate, or woken by the commands, or without a
    /// rate.
    pub fn runs<'a>(
        self,
        node: NodeBuilder<'a>,
        hz: u32,
        commands: &Subscriber<CmdVel>,
    ) -> NodeBuilder<'a> {
        match self {
            Self::RealTime => node.rate(hz.hz()),
            Self::Chain => node.rate(hz.hz()).chain("chain"),
            Self::Event => node.on(commands),
            Self::BestEffort => node,
            Self::Compute => node.compute().rate(hz.hz()),
            #[cfg(feature = "async-io")]
            Self::AsyncIo => node.async_io().rate(hz.hz()),
        }
    }
}

/// Collects the events of a scheduler.
#[derive(Clone, Default)]
pub struct Recorded(Arc<Mutex<Vec<NodeEvent>>>);

impl Recorded {
    /// Makes a scheduler in this namespace whose events are collected here.
    pub fn scheduler(&self, private: &Private) -> Scheduler {
        let mut scheduler = private.scheduler();
        let all = self.clone();
        scheduler.on_event(move |event| all.0.lock().unwrap().push(*event));
        scheduler
    }

    pub fn all(&self) -> Vec<NodeEvent> {
        self.0.lock().unwrap().clone()
    }

    /// Returns all events of this kind of the node.
    pub fn of(&self, node: &str, kind: u8) -> Vec<NodeEvent> {
        let mut all = self.all();
        all.retain(|event| event.kind == kind && event.node == *node);
        all
    }

    pub fn count(&self, node: &str, kind: u8) -> u64 {
        self.of(node, kind).len() as u64
    }

    /// Returns the number of events of this kind of the node whose text contains `part`, and the
    /// number of those that they say were left out.
    pub fn count_with_left_out(&self, node: &str, kind: u8, part: &str) -> (u64, u64) {
        let mut events = self.of(node, kind);
        events.retain(|event| event.text.as_str().contains(part));
        let left_out = events.iter().filter_map(|event| {
            let (_, left_out) = event.text.as_str().rsplit_once("and ")?;
            left_out
                .strip_suffix(" more before this")?
                .parse::<u64>()
                .ok()
        });
        (events.len() as u64, left_out.sum())
    }
}

/// Waits until `is_so`, which must happen at some time.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + LONG;
    while !is_so() {
        assert!(Instant::now() < end, "never: {what}");
        thread::sleep(Duration::from_millis(1));
    }
}

pub fn ticks(handle: &Handle, node: &str) -> u64 {
    handle.metrics(node).unwrap().ticks
}

/// Returns the time for which the supervisors of this process have run, in clock ticks of 10 ms.
pub fn supervisor_time() -> u64 {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let stats =
        tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("stat")).ok());
    let supervisors = stats.filter(|stat| stat.contains("(supervisor)"));
    let time = supervisors.map(|stat| {
        let fields: Vec<_> = stat.rsplit(')').next().unwrap().split(' ').collect();
        fields[12].parse::<u64>().unwrap() + fields[13].parse::<u64>().unwrap()
    });
    time.sum()
}
