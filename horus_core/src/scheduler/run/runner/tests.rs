//! Tests of a node that is always late, from its first warning to the end of the run, and of swaps.

use std::sync::atomic::AtomicU64;

use horus_shm::internals::sync::Word;

use super::*;
use crate::scheduler::api::input::InputWatch;
use crate::scheduler::api::plan::NodeSpec;
use crate::scheduler::api::policy::Miss;
use crate::scheduler::api::rate::Hertz;
use crate::scheduler::run::pending_swap::{PendingSwap, Swap, SwapState};

/// A node that counts how often it enters its safe state.
struct Counting(Arc<AtomicU64>);

impl Node for Counting {
    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        Ok(())
    }

    fn enter_safe_state(&mut self) {
        self.0.fetch_add_one();
    }
}

/// Returns the runner of an initialised node, its commands, and the counter of how often it entered
/// its safe state.
fn counting(spec: NodeSpec) -> (Runner, Arc<Commands>, Arc<AtomicU64>) {
    let entered = Arc::default();
    let node = Box::new(Counting(Arc::clone(&entered)));
    let entry = NodeEntry {
        spec: spec.clone(),
        commands: Arc::default(),
        metrics: Arc::default(),
    };
    let mut runner = Runner::new(node, spec.into_plan(1).unwrap(), &entry);
    runner.init_at_start(&Clock::simulated(0));
    (runner, entry.commands, entered)
}

#[test]
fn a_late_node_is_halved_and_isolated_and_ends_the_run_in_one_safe_state() {
    let rate = Some(1000.hz());
    let spec = NodeSpec {
        name: "n".into(),
        rate,
        on_miss: Some(Miss::Graduated),
        ..NodeSpec::default()
    };
    let (mut runner, _, entered) = counting(spec);
    let mut ticked_at_ms = Vec::new();
    let after = (0..20_000_u64).find_map(|ms| {
        let before = runner.tick;
        let due_ns = ms * 1_000_000;
        let clock = Clock::simulated(due_ns + 999_999);
        let (_, after) = runner.run_turn(&clock, due_ns, due_ns);
        ticked_at_ms.extend((runner.tick > before).then_some(ms));
        (after != AfterTurn::Continue).then_some(after)
    });
    assert_eq!(after, Some(AfterTurn::Abort));
    let wanted = [
        [0, 1, 2, 3],
        [5, 7, 9, 11],
        [1012, 1014, 1016, 1018],
        [3019, 3021, 3023, 3025],
        [7026, 7028, 7030, 7032],
    ];
    assert_eq!(ticked_at_ms, wanted.concat());
    assert_eq!(runner.metrics.snapshot().misses, 20);
    assert_eq!(entered.get(), 1);
}

/// A node that fails in its second tick.
struct Failing(u64);

impl Node for Failing {
    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        self.0 += 1;
        if self.0 == 2 {
            return Err("on purpose".into());
        }
        Ok(())
    }
}

/// Returns the runner of a node that is swapped for one that fails, the swap, and the counter of
/// how often the node entered its safe state.
fn swapped(spec: NodeSpec) -> (Runner, Swap, Arc<AtomicU64>) {
    let (runner, commands, entered) = counting(spec);
    let pending = PendingSwap::replace_by(Failing(0));
    let swap = pending.handle();
    commands.change_wanted_state(|wanted| wanted.pending_swap = Some(pending));
    (runner, swap, entered)
}

/// If the new node of a swap was in its safe state, the old node enters its own safe state when it
/// is restored.
#[test]
fn an_old_node_that_comes_back_is_as_safe_as_the_new_one() {
    let (mut runner, swap, entered) = swapped(NodeSpec {
        name: "n".into(),
        rate: Some(1000.hz()),
        on_miss: Some(Miss::SafeMode),
        ..NodeSpec::default()
    });
    for ms in 0..2 {
        let due_ns = ms * 1_000_000;
        let late = Clock::simulated(due_ns + 999_999);
        runner.run_turn(&late, due_ns, due_ns);
    }
    assert!(matches!(swap.state(), SwapState::RolledBack(_)));
    assert_eq!(entered.get(), 1);
}

/// Checks of the inputs between ticks do not count as ticks of the probation.
#[test]
fn a_node_on_trial_is_not_accepted_without_ticks() {
    let timeout = std::time::Duration::from_millis(1);
    let (mut runner, swap, _) = swapped(NodeSpec {
        name: "n".into(),
        inputs: vec![Arc::new(InputWatch::new("imu", timeout))],
        ..NodeSpec::default()
    });
    runner.run_turn(&Clock::simulated(0), 0, 0);
    for ms in 10..30 {
        runner.check_idle_inputs(ms * 1_000_000);
    }
    assert_eq!(swap.state(), SwapState::OnTrial);
}
