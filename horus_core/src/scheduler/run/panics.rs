//! Marks panics in ticks before their backtrace is written, which may take seconds, so that a node
//! that panics is not taken for one that hangs.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::panic;
use std::sync::{Arc, Once};

use horus_shm::clock::Clock;

use crate::scheduler::api::metrics::LiveMetrics;
use crate::scheduler::run::runner::Runner;

thread_local! {
    /// The nodes that this thread runs.
    static NODES: RefCell<Vec<Arc<LiveMetrics>>> = const { RefCell::new(Vec::new()) };
}

/// Marks nodes as run by the calling thread, until it is dropped.
#[derive(Debug)]
pub(crate) struct Here {
    /// The number of nodes before these, of a scheduler that surrounds this one.
    before: usize,
    /// Keeps this on its thread (`!Send`).
    marker: PhantomData<*const ()>,
}

impl Here {
    pub(crate) fn run<'a>(runners: impl IntoIterator<Item = &'a Runner>) -> Self {
        let before = NODES.with_borrow_mut(|nodes| {
            let before = nodes.len();
            nodes.extend(runners.into_iter().map(|runner| Arc::clone(runner.metrics())));
            before
        });
        Self { before, marker: PhantomData }
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        NODES.with_borrow_mut(|nodes| nodes.truncate(self.before));
    }
}

/// Calls `act` with each node that is in a tick on this thread.
fn each_in_a_tick(act: impl Fn(&LiveMetrics)) {
    // WHY no panic here, at the end of a thread or in a drop: this runs in a panic hook.
    let _ = NODES.try_with(|nodes| {
        let Ok(nodes) = nodes.try_borrow() else { return };
        nodes.iter().filter(|metrics| metrics.began_ns() != 0).for_each(|metrics| act(metrics));
    });
}

/// Installs a panic hook before the present one, once in a process.
pub(crate) fn watch() {
    static ONCE: Once = Once::new();
    // WHY the check: a thread that panics cannot change the hook.
    if std::thread::panicking() {
        return;
    }
    ONCE.call_once(|| {
        let next = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            each_in_a_tick(LiveMetrics::begin_panic);
            next(panic);
            let now_ns = Clock::kernel().now_ns();
            each_in_a_tick(|metrics| metrics.end_panic(now_ns));
        }));
    });
}
