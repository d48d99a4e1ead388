//! The data about the calling thread that the log needs: the node that it runs, its name, and
//! whether it may wait for stderr.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

use horus_shm::fork_epoch;
use horus_shm::internals::{ForkLocal, thread};

use crate::message::Text;

thread_local! {
    /// The name of the node that the calling thread runs; empty if it runs none.
    static CURRENT_NODE: Cell<&'static str> = const { Cell::new("") };
    /// True if the calling thread is a real-time thread, which must not wait for stderr: another
    /// thread prints the lines that it logs.
    static IS_REAL_TIME_THREAD: Cell<bool> = const { Cell::new(false) };
    static THREAD_IDENTITY: Cell<Option<ThreadIdentity>> = const { Cell::new(None) };
}

/// The names of all nodes that this process has run. They are never freed.
static NODE_NAMES: ForkLocal<Mutex<BTreeSet<&'static str>>> = ForkLocal::new();

/// Returns a copy of `name` that is never freed. Equal names share one copy.
pub(crate) fn intern_node_name(name: &str) -> &'static str {
    let names = NODE_NAMES.get().lock();
    let mut names = names.unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let name: &'static str = Box::leak(name.into());
    names.insert(name);
    name
}

/// A guard that adds the name of a node to the lines that the calling thread logs, until the guard
/// is dropped.
#[derive(Debug)]
pub(crate) struct NodeScope {
    before: &'static str,
    /// A marker that makes the guard `!Send`: it has to be dropped on the thread that created it.
    marker: PhantomData<*const ()>,
}

impl NodeScope {
    /// Adds `name`, which comes from [`intern_node_name`], as the node name to the lines that the
    /// calling thread logs, until the returned guard is dropped. Costs about a nanosecond.
    #[inline]
    pub(crate) fn enter(name: &'static str) -> Self {
        Self {
            before: CURRENT_NODE.replace(name),
            marker: PhantomData,
        }
    }
}

impl Drop for NodeScope {
    #[inline]
    fn drop(&mut self) {
        CURRENT_NODE.set(self.before);
    }
}

/// Returns the name of the node that the calling thread runs; empty if it runs none.
pub(super) fn current_node() -> &'static str {
    CURRENT_NODE.get()
}

/// Marks the calling thread as real-time, or no longer. Log calls of a real-time thread never wait
/// for stderr: they write only to the log's topic. If the process runs a scheduler, one of the
/// scheduler's threads prints these lines. The scheduler calls this function on the threads of
/// real-time nodes. Costs about a nanosecond.
pub fn set_real_time_thread(is_real_time: bool) {
    IS_REAL_TIME_THREAD.set(is_real_time);
}

/// Returns true if the calling thread must not wait for stderr.
pub(super) fn is_real_time_thread() -> bool {
    IS_REAL_TIME_THREAD.get()
}

/// The id and name of a thread, which the log adds to each line of the thread.
#[derive(Debug, Clone, Copy)]
pub(super) struct ThreadIdentity {
    pub(super) id: u32,
    pub(super) name: Text<16>,
    /// The fork epoch in which the identity was determined. The fork epoch changes when the process
    /// forks. WHY it is stored: the thread of a forked child has a different id.
    epoch: u64,
}

impl ThreadIdentity {
    /// Returns the identity of the calling thread. The first call on a thread makes two system
    /// calls.
    pub(super) fn current() -> Self {
        let epoch = fork_epoch();
        match THREAD_IDENTITY.get() {
            Some(known) if known.epoch == epoch => known,
            _ => {
                let (id, name) = (thread::id(), Text::from(thread::name()));
                let identity = Self { id, name, epoch };
                THREAD_IDENTITY.set(Some(identity));
                identity
            }
        }
    }
}
