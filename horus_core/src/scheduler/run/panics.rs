//! Installs a panic hook that records when a tick panics. WHY: printing a backtrace may take
//! seconds, during which the node must not count as stuck.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use horus_shm::clock::Clock;
use horus_shm::internals::ForkLocal;

use crate::scheduler::api::metrics::LiveMetrics;
use crate::scheduler::run::runner::Runner;

thread_local! {
    /// The metrics of the nodes that the calling thread runs. The panic hook finds in them the node
    /// that panics.
    static NODES_OF_THREAD: RefCell<Vec<Arc<LiveMetrics>>> = const { RefCell::new(Vec::new()) };
}

/// A guard that records which nodes the calling thread runs, until it is dropped. The panic hook
/// needs this.
#[derive(Debug)]
pub(crate) struct ThreadNodesGuard {
    /// Number of nodes that were already registered for this thread when the guard was created.
    /// There may be some, because a scheduler can run inside a tick of another scheduler.
    before: usize,
    /// A marker that makes the guard `!Send`: it has to be dropped on the thread that created it.
    marker: PhantomData<*const ()>,
}

impl ThreadNodesGuard {
    pub(crate) fn register<'a>(runners: impl IntoIterator<Item = &'a Runner>) -> Self {
        let before = NODES_OF_THREAD.with_borrow_mut(|nodes| {
            let before = nodes.len();
            nodes.extend(
                runners
                    .into_iter()
                    .map(|runner| Arc::clone(runner.metrics())),
            );
            before
        });
        Self {
            before,
            marker: PhantomData,
        }
    }
}

impl Drop for ThreadNodesGuard {
    fn drop(&mut self) {
        NODES_OF_THREAD.with_borrow_mut(|nodes| nodes.truncate(self.before));
    }
}

/// Calls `act` with the metrics of each node that is in a tick on this thread.
fn for_each_node_in_a_tick(act: impl Fn(&LiveMetrics)) {
    // WHY errors are ignored: this runs in a panic hook, perhaps at the end of the thread, and must
    // not panic itself.
    let _ = NODES_OF_THREAD.try_with(|nodes| {
        let Ok(nodes) = nodes.try_borrow() else {
            return;
        };
        nodes
            .iter()
            .filter(|metrics| metrics.tick_began_ns() != 0)
            .for_each(|metrics| act(metrics));
    });
}

/// Installs the panic hook, which also calls the hook that was installed before. Only the first
/// call in a process has an effect.
pub(crate) fn install_panic_hook() {
    // WHY fork-local: a child that is forked while another thread installs the hook would wait for
    // the end of that for ever.
    static PANIC_HOOK_INSTALLATION: ForkLocal<OnceLock<()>> = ForkLocal::new();
    static IS_PANIC_HOOK_INSTALLED: AtomicBool = AtomicBool::new(false);
    // WHY the check: a thread that panics cannot change the hook.
    if std::thread::panicking() {
        return;
    }
    PANIC_HOOK_INSTALLATION.get().get_or_init(|| {
        // WHY first: two hooks would count the time of a panic wrongly, so a child that is forked
        // in the middle does without, and takes longer panics for hanging ticks.
        // Relaxed: the threads of a process wait for each other here.
        if IS_PANIC_HOOK_INSTALLED.swap(true, Ordering::Relaxed) {
            return;
        }
        let next = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            let now_ns = Clock::kernel().now_ns();
            for_each_node_in_a_tick(|metrics| metrics.record_panic_begin(now_ns));
            next(panic);
            let now_ns = Clock::kernel().now_ns();
            for_each_node_in_a_tick(|metrics| metrics.record_panic_end(now_ns));
        }));
    });
}
