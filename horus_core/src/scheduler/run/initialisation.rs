//! Initialises the nodes at the start of a run. Applies emergency stops to those that are
//! initialised already, while others are not yet.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use horus_shm::clock::Clock;
use horus_shm::internals::thread::leave_real_time_policy;

use crate::scheduler::api::plan::NodeClass;
use crate::scheduler::run::pending_node::PendingNode;
use crate::scheduler::run::run_state::RunState;
use crate::scheduler::run::runner::Runner;

/// The time between two checks whether an emergency stop has to be applied to the nodes, or whether
/// a node has reached its safe state. WHY not always: there may be thousands of nodes.
const EMERGENCY_STOP_CHECK_PERIOD: Duration = Duration::from_millis(20);

/// Initialises the nodes in their order, on the calling thread. Meanwhile, other threads apply
/// emergency stops to those that are initialised already. Nodes of the main thread are
/// called by this thread only, between two calls of `init`.
///
/// Returns when the last `init` has returned, and all calls by the other threads.
///
/// WHY: an `init` may take long, and an emergency stop must not wait for it. The threads of the
/// nodes start after the last one.
pub(crate) fn init_nodes(entries: &mut [PendingNode], clock: &Clock, shared: &RunState) {
    let (give, messages) = mpsc::channel();
    let mut main = Vec::new();
    let mut poll_at = Instant::now();
    thread::scope(|scope| {
        let nodes = InitialisedNodes {
            scope,
            clock,
            give: give.clone(),
            runners: Vec::new(),
            check_at: Instant::now(),
            threads: Vec::new(),
        };
        let poll = move || {
            // WHY: as in `spawn_thread`.
            leave_real_time_policy();
            nodes.check_until_init_is_over(&messages);
        };
        let poll = thread::Builder::new()
            .name("init commands".to_owned())
            .spawn_scoped(scope, poll);
        for entry in entries {
            if shared.is_stopping() {
                break;
            }
            let decision = entry.runner.init_at_start(clock);
            shared.stop_run_if_decided([&entry.runner], decision);
            if entry.runner.plan().class == NodeClass::BestEffort {
                main.push(&mut entry.runner);
            } else {
                let _ = give.send(InitMessage::Node(&mut entry.runner));
            }
            if Instant::now() >= poll_at {
                main.iter_mut()
                    .for_each(|runner| runner.poll_emergency_stop(clock));
                poll_at = Instant::now() + EMERGENCY_STOP_CHECK_PERIOD;
            }
        }
        let _ = give.send(InitMessage::Over);
        // WHY not left to the scope: a thread that has not ended has a stack, which the threads of
        // nodes may need. WHY no error: without it, nodes apply the stop after the last `init`.
        let _ = poll.map(ScopedJoinHandle::join);
    });
}

/// A message to the thread that checks the initialised nodes.
enum InitMessage<'a> {
    /// The node was initialised, or has reached its safe state.
    Node(&'a mut Runner),
    /// No further node will be initialised.
    Over,
}

/// The nodes that are already initialised, while others are still being initialised. Nodes of the
/// main thread are not included.
struct InitialisedNodes<'scope, 'env, 'a> {
    scope: &'scope Scope<'scope, 'env>,
    clock: &'scope Clock,
    /// The channel through which a node comes back when it has reached its safe state.
    give: Sender<InitMessage<'a>>,
    /// The nodes that need not enter their safe state now.
    runners: Vec<&'a mut Runner>,
    check_at: Instant,
    /// The threads that make nodes enter their safe state. A thread ends when its sender is
    /// dropped.
    threads: Vec<(Sender<()>, ScopedJoinHandle<'scope, ()>)>,
}

impl<'scope, 'a: 'scope> InitialisedNodes<'scope, '_, 'a> {
    /// Applies emergency stops to nodes that are initialised, while others are still being
    /// initialised. `messages` brings each node once it is initialised, and ends when all are. Then
    /// waits until the running calls of `enter_safe_state` have returned.
    fn check_until_init_is_over(mut self, messages: &Receiver<InitMessage<'a>>) {
        loop {
            let left = self.check_at.saturating_duration_since(Instant::now());
            match messages.recv_timeout(left) {
                Ok(InitMessage::Node(runner)) => self.runners.push(runner),
                Ok(InitMessage::Over) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if Instant::now() >= self.check_at {
                self.apply_emergency_stop_to_nodes();
                self.check_at = Instant::now() + EMERGENCY_STOP_CHECK_PERIOD;
            }
        }
        let (senders, threads): (Vec<_>, Vec<_>) = self.threads.into_iter().unzip();
        drop(senders);
        for thread in threads {
            // WHY ignored: the thread catches the panics of the node.
            let _ = thread.join();
        }
    }

    /// Starts a thread for each node that has to apply an emergency stop, or its end.
    fn apply_emergency_stop_to_nodes(&mut self) {
        for runner in std::mem::take(&mut self.runners) {
            if runner.is_emergency_stop_pending() || runner.is_entering_safe_state() {
                self.start_safe_state_thread(runner);
            } else {
                self.runners.push(runner);
            }
        }
    }

    /// Starts a thread that applies the emergency stop to the node. WHY a thread for each node: its
    /// `enter_safe_state` may hang, and the other nodes must not wait for it. If the system cannot
    /// create a thread, this one applies the emergency stop.
    fn start_safe_state_thread(&mut self, runner: &'a mut Runner) {
        let (keep, over) = mpsc::channel();
        let (clock, give) = (self.clock, self.give.clone());
        let name = runner.plan().name.clone();
        // WHY a mutex: if the thread cannot be started, its closure is dropped with all that it
        // owns, and the node must not be.
        let given = Arc::new(Mutex::new(Some(runner)));
        let to_thread = Arc::clone(&given);
        let work = move || {
            leave_real_time_policy();
            if let Some(runner) = lock(&to_thread).take() {
                apply_emergency_stop_until_safe(&mut *runner, clock, &over);
                // WHY ignored: without a receiver, no node is checked any more.
                let _ = give.send(InitMessage::Node(runner));
            }
        };
        match thread::Builder::new()
            .name(name)
            .spawn_scoped(self.scope, work)
        {
            Ok(thread) => self.threads.push((keep, thread)),
            Err(_) => {
                if let Some(runner) = lock(&given).take() {
                    runner.poll_emergency_stop(self.clock);
                    self.runners.push(runner);
                }
            }
        }
    }
}

/// Applies an emergency stop, or its end, to the node. If the node enters its safe state, returns
/// when the node has reached it, or when the sender of `init_is_over` is dropped.
fn apply_emergency_stop_until_safe(
    runner: &mut Runner,
    clock: &Clock,
    init_is_over: &Receiver<()>,
) {
    loop {
        runner.poll_emergency_stop(clock);
        let is_over = !runner.is_entering_safe_state()
            || init_is_over.recv_timeout(EMERGENCY_STOP_CHECK_PERIOD)
                == Err(RecvTimeoutError::Disconnected);
        if is_over {
            return;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
