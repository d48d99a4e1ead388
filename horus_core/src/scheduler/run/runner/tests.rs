//! Tests of a node that is always late, from its first warning to the end of the run, of swaps, and
//! of nodes that take long to initialise or were not allowed to tick.

use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::thread;
use std::time::Duration;

use horus_shm::internals::sync::Word;

use super::*;
use crate::scheduler::api::input::InputWatch;
use crate::scheduler::api::plan::NodeSpec;
use crate::scheduler::api::policy::{FailurePolicy, MissPolicy};
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

/// Returns the runner of `node`, which is initialised at the time of `clock`, and its commands.
fn runner_of(node: impl Node, spec: NodeSpec, clock: &Clock) -> (Runner, Arc<Commands>) {
    let entry = NodeEntry {
        spec: spec.clone(),
        commands: Arc::default(),
        metrics: Arc::default(),
    };
    let mut runner = Runner::new(Box::new(node), spec.into_plan(1).unwrap(), &entry);
    runner.init_at_start(clock);
    (runner, entry.commands)
}

/// Returns the runner of an initialised node, its commands, and the counter of how often it entered
/// its safe state.
fn counting(spec: NodeSpec) -> (Runner, Arc<Commands>, Arc<AtomicU64>) {
    let entered = Arc::default();
    let node = Counting(Arc::clone(&entered));
    let (runner, commands) = runner_of(node, spec, &Clock::simulated(0));
    (runner, commands, entered)
}

#[test]
fn a_late_node_is_halved_and_isolated_and_ends_the_run_in_one_safe_state() {
    let rate = Some(1000.hz());
    let spec = NodeSpec {
        name: "n".into(),
        rate,
        on_miss: Some(MissPolicy::Graduated),
        ..NodeSpec::default()
    };
    let (mut runner, _, entered) = counting(spec);
    let mut ticked_at_ms = Vec::new();
    let decision = (0..20_000_u64).find_map(|ms| {
        let before = runner.tick;
        let due_ns = ms * 1_000_000;
        let clock = Clock::simulated(due_ns + 999_999);
        let (_, decision) = runner.run_turn(&clock, due_ns, due_ns);
        ticked_at_ms.extend((runner.tick > before).then_some(ms));
        (decision != RunDecision::Continue).then_some(decision)
    });
    assert_eq!(decision, Some(RunDecision::Abort));
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

/// A node that fails in its third tick.
struct Failing(u64);

impl Node for Failing {
    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        self.0 += 1;
        if self.0 == 3 {
            return Err("on purpose".into());
        }
        Ok(())
    }
}

/// Returns the runner of a node that is swapped for one that fails, the swap, and the counter of
/// how often the node entered its safe state.
fn swapped(spec: NodeSpec) -> (Runner, Swap, Arc<AtomicU64>) {
    let (runner, commands, entered) = counting(spec);
    let pending = PendingSwap::new_replacement(Failing(0));
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
        on_miss: Some(MissPolicy::SafeMode),
        ..NodeSpec::default()
    });
    // The first turn swaps the node, so its tick is due when that is done. The second is late.
    for ms in 0..3 {
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
    let timeout = Duration::from_millis(1);
    let (mut runner, swap, _) = swapped(NodeSpec {
        name: "n".into(),
        inputs: vec![Arc::new(InputWatch::new("imu", timeout))],
        ..NodeSpec::default()
    });
    runner.run_turn(&Clock::simulated(0), 0, 0);
    for ms in 10..30 {
        runner.check_idle_inputs(&Clock::simulated(0), ms * 1_000_000);
    }
    assert_eq!(swap.state(), SwapState::OnTrial);
}

/// The calls of nodes, in order.
type Calls = Arc<Mutex<Vec<String>>>;

/// A node that notes its calls, and fails in one of them.
struct Noting {
    name: &'static str,
    fails_in: &'static str,
    calls: Calls,
}

impl Noting {
    fn note(&self, call: &str) -> NodeResult {
        self.calls
            .lock()
            .unwrap()
            .push(format!("{} {call}", self.name));
        if call == self.fails_in {
            return Err("on purpose".into());
        }
        Ok(())
    }
}

impl Node for Noting {
    fn init(&mut self, _: &mut Context<'_>) -> NodeResult {
        self.note("init")
    }

    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        self.note("tick")
    }

    fn shutdown(&mut self) -> NodeResult {
        self.note("shutdown")
    }

    fn enter_safe_state(&mut self) {
        self.note("safe").unwrap();
    }
}

const SECOND: u64 = 1_000_000_000;

/// Runs a turn of the node at each of these seconds.
fn run_at(runner: &mut Runner, seconds: impl IntoIterator<Item = u64>) {
    for second in seconds {
        let now_ns = second * SECOND;
        runner.run_turn(&Clock::simulated(now_ns), now_ns, now_ns);
    }
}

/// Returns the runner of a node that is restarted 10 s after a failure, its commands, and its
/// calls. It fails in `fails_in`.
fn noting(fails_in: &'static str) -> (Runner, Arc<Commands>, Calls) {
    let calls = Calls::default();
    let node = Noting {
        name: "old",
        fails_in,
        calls: Arc::clone(&calls),
    };
    let spec = NodeSpec {
        name: "n".into(),
        on_failure: FailurePolicy::Restart {
            max: 9,
            backoff: Duration::from_secs(10),
        },
        ..NodeSpec::default()
    };
    let (runner, commands) = runner_of(node, spec, &Clock::simulated(0));
    (runner, commands, calls)
}

/// Requests a swap for a new node that fails in `fails_in`.
fn swap_for(commands: &Commands, fails_in: &'static str, calls: &Calls) -> Swap {
    let pending = PendingSwap::new_replacement(Noting {
        name: "new",
        fails_in,
        calls: Arc::clone(calls),
    });
    let swap = pending.handle();
    commands.change_wanted_state(|wanted| wanted.pending_swap = Some(pending));
    swap
}

fn read(calls: &Calls) -> Vec<String> {
    std::mem::take(&mut *calls.lock().unwrap())
}

#[test]
fn a_node_that_is_replaced_while_it_waits_for_its_restart_is_shut_down_once() {
    let (mut runner, commands, calls) = noting("tick");
    run_at(&mut runner, [1]);
    assert_eq!(read(&calls), ["old init", "old tick", "old shutdown"]);
    let swap = swap_for(&commands, "", &calls);
    run_at(&mut runner, [2]);
    assert_eq!((read(&calls).len(), swap.state()), (0, SwapState::OnTrial));
    run_at(&mut runner, 12..22);
    assert_eq!(swap.state(), SwapState::Done);
    let called = read(&calls);
    assert_eq!((called.len(), &*called[0]), (11, "new init"));
    assert!(!called.contains(&"old shutdown".to_owned()), "{called:?}");
    runner.shut_down();
    assert_eq!(read(&calls), ["new shutdown"]);

    // The run ends during the pause: neither node is initialised.
    let (mut runner, commands, calls) = noting("tick");
    run_at(&mut runner, [1]);
    swap_for(&commands, "", &calls);
    run_at(&mut runner, [2]);
    read(&calls);
    runner.shut_down();
    assert_eq!(read(&calls), [""; 0]);
}

#[test]
fn a_node_that_was_not_initialised_before_a_swap_is_initialised_after_its_end() {
    let (mut runner, commands, calls) = noting("tick");
    run_at(&mut runner, [1]);
    read(&calls);
    let swap = swap_for(&commands, "tick", &calls);
    run_at(&mut runner, [12]);
    assert!(matches!(swap.state(), SwapState::RolledBack(_)));
    assert_eq!(read(&calls), ["new init", "new tick", "new shutdown"]);
    run_at(&mut runner, [13]);
    assert_eq!(read(&calls), ["old init", "old tick", "old shutdown"]);
}

#[test]
fn a_new_node_whose_init_fails_is_not_shut_down_and_the_old_one_stays_safe() {
    let (mut runner, commands, calls) = noting("");
    run_at(&mut runner, [1]);
    commands.change_wanted_state(|wanted| wanted.is_emergency = true);
    run_at(&mut runner, [2]);
    assert_eq!(read(&calls), ["old init", "old tick", "old safe"]);
    let swap = swap_for(&commands, "init", &calls);
    run_at(&mut runner, [3]);
    assert!(matches!(swap.state(), SwapState::RolledBack(_)));
    assert_eq!(read(&calls), ["new init"]);
    commands.change_wanted_state(|wanted| wanted.is_emergency = false);
    run_at(&mut runner, [4]);
    assert_eq!(read(&calls), ["old tick"]);
}

/// Returns the settings of a node with an input that has a timeout of 50 ms.
fn with_input(on_miss: MissPolicy) -> NodeSpec {
    let input = InputWatch::new("lidar", Duration::from_millis(50));
    NodeSpec {
        name: "n".into(),
        inputs: vec![Arc::new(input)],
        on_miss: Some(on_miss),
        ..NodeSpec::default()
    }
}

#[test]
fn the_time_of_a_pause_or_an_emergency_stop_makes_no_input_stale() {
    for is_emergency in [false, true] {
        for has_message in [false, true] {
            let (mut runner, commands, _) = counting(with_input(MissPolicy::Stop));
            let mut turn = |second: u64| {
                let (now_ns, clock) = (second * SECOND, Clock::simulated(second * SECOND));
                if has_message {
                    runner.run_turn(&clock, now_ns, now_ns).1
                } else if runner.poll_commands_and_is_blocked(&clock, now_ns) {
                    RunDecision::Continue
                } else {
                    runner.check_idle_inputs(&clock, now_ns)
                }
            };
            assert_eq!(turn(0), RunDecision::Continue);
            commands.change_wanted_state(|wanted| match is_emergency {
                true => wanted.is_emergency = true,
                false => wanted.mode = NodeMode::Pause,
            });
            assert_eq!(turn(1), RunDecision::Continue);
            commands.change_wanted_state(|wanted| {
                (wanted.is_emergency, wanted.mode) = (false, NodeMode::Run);
            });
            assert_eq!(turn(10), RunDecision::Continue, "emergency: {is_emergency}");
            assert_eq!(turn(11), RunDecision::Abort, "it is stale now");
        }
    }
}

#[test]
fn a_silent_input_leads_through_all_steps_to_the_end_without_a_message() {
    let (mut runner, _, entered) = counting(with_input(MissPolicy::Graduated));
    let decision = (0..20_000_u64).step_by(20).find_map(|ms| {
        let (now_ns, clock) = (ms * 1_000_000, Clock::simulated(ms * 1_000_000));
        if runner.poll_commands_and_is_blocked(&clock, now_ns) {
            return None;
        }
        let decision = runner.check_idle_inputs(&clock, now_ns);
        (decision != RunDecision::Continue).then_some((decision, ms))
    });
    // The isolations take 7 s.
    assert!(
        matches!(decision, Some((RunDecision::Abort, 7_000..=9_000))),
        "{decision:?}"
    );
    assert_eq!((runner.metrics.snapshot().misses, entered.get()), (20, 1));
}

/// An input that is silent counts a miss at each check, also if the policy is to skip the tick
/// after a miss. There is no late tick, so none is skipped.
#[test]
fn a_silent_input_skips_no_tick() {
    let misses = |on_miss| {
        let (mut runner, _, _) = counting(with_input(on_miss));
        for second in 1..=10 {
            let (now_ns, clock) = (second * SECOND, Clock::simulated(second * SECOND));
            assert!(!runner.poll_commands_and_is_blocked(&clock, now_ns));
            runner.check_idle_inputs(&clock, now_ns);
        }
        let misses = runner.metrics.snapshot().misses;
        run_at(&mut runner, [11]);
        (misses, runner.metrics.snapshot().ticks)
    };
    assert_eq!(misses(MissPolicy::Warn), (10, 1));
    assert_eq!(misses(MissPolicy::Skip), (10, 1));

    // A tick that was a miss skips the next one, but none of the checks before that.
    let (mut runner, _, _) = counting(with_input(MissPolicy::Skip));
    run_at(&mut runner, [1]);
    for second in 2..=10 {
        let now_ns = second * SECOND;
        runner.check_idle_inputs(&Clock::simulated(now_ns), now_ns);
    }
    assert_eq!(runner.metrics.snapshot().misses, 10);
    run_at(&mut runner, 11..=12);
    assert_eq!(runner.metrics.snapshot().ticks, 2, "one was skipped");
}

/// A node whose ticks all fail, with an error or a panic. Counts how often it enters its safe
/// state.
struct AlwaysFailing {
    panics: bool,
    entered: Arc<AtomicU64>,
}

impl Node for AlwaysFailing {
    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        assert!(!self.panics, "on purpose, without an input");
        Err("there is no input".into())
    }

    fn enter_safe_state(&mut self) {
        self.entered.fetch_add_one();
    }
}

/// Returns the runner of a node whose ticks all fail, and the counter of its safe states.
fn failing(panics: bool, spec: NodeSpec) -> (Runner, Arc<AtomicU64>) {
    let entered = Arc::default();
    let node = AlwaysFailing {
        panics,
        entered: Arc::clone(&entered),
    };
    let (runner, _) = runner_of(node, spec, &Clock::simulated(0));
    (runner, entered)
}

#[test]
fn a_tick_that_fails_because_its_input_is_stale_is_a_miss() {
    let cooldown = Duration::from_secs(100);
    for (policy, ticks) in [
        (FailurePolicy::Ignore, 20),
        (FailurePolicy::Skip { max: 9, cooldown }, 10),
        (FailurePolicy::Skip { max: 0, cooldown }, 1),
    ] {
        for panics in [false, true] {
            let mut spec = with_input(MissPolicy::SafeMode);
            spec.on_failure = policy;
            let (mut runner, entered) = failing(panics, spec);
            run_at(&mut runner, 1..=20);
            let metrics = runner.metrics().snapshot();
            let found = (metrics.ticks, metrics.failures, metrics.misses);
            assert_eq!(found, (ticks, ticks, ticks), "{policy:?}, {panics}");
            assert_eq!(entered.get(), 1, "{policy:?}, {panics}");
        }
    }
}

#[test]
fn a_tick_that_fails_late_is_a_miss_and_one_in_time_ends_no_safe_state() {
    let spec = NodeSpec {
        name: "n".into(),
        rate: Some(1000.hz()),
        on_miss: Some(MissPolicy::SafeMode),
        on_failure: FailurePolicy::Ignore,
        ..NodeSpec::default()
    };
    let (mut runner, entered) = failing(false, spec);
    let mut turn = |due_ns: u64, now_ns: u64| {
        let decision = runner.run_turn(&Clock::simulated(now_ns), due_ns, now_ns).1;
        assert_eq!(decision, RunDecision::Continue);
        (
            runner.metrics().snapshot().misses,
            runner.safe_state.is_wanted(),
        )
    };
    assert_eq!(turn(SECOND, SECOND + 2_000_000), (1, true));
    for second in 2..100 {
        assert_eq!(turn(second * SECOND, second * SECOND), (1, true));
    }
    assert_eq!(entered.get(), 1);
}

/// A node whose `init` takes long. It fails in its first tick, and in its second `init`.
struct Slow {
    inits: u64,
    ready_ns: Arc<AtomicU64>,
}

impl Node for Slow {
    fn init(&mut self, _: &mut Context<'_>) -> NodeResult {
        self.inits += 1;
        thread::sleep(Duration::from_millis(30));
        self.ready_ns.set(Clock::kernel().now_ns());
        if self.inits == 2 {
            return Err("on purpose".into());
        }
        Ok(())
    }

    fn tick(&mut self, context: &mut Context<'_>) -> NodeResult {
        let ready_ns = self.ready_ns.get();
        assert!(context.scheduled_ns() >= ready_ns, "due before it is ready");
        assert!(context.started_ns() >= ready_ns, "begun before it is ready");
        if self.inits == 1 {
            return Err("on purpose".into());
        }
        Ok(())
    }
}

#[test]
fn a_tick_is_neither_due_nor_begins_before_init_has_ended() {
    let backoff = Duration::from_millis(10);
    let backoff_ns = 10_000_000;
    let spec = NodeSpec {
        name: "n".into(),
        on_failure: FailurePolicy::Restart { max: 9, backoff },
        ..NodeSpec::default()
    };
    let (clock, ready_ns) = (Clock::kernel(), Arc::<AtomicU64>::default());
    let node = Slow {
        inits: 0,
        ready_ns: Arc::clone(&ready_ns),
    };
    let (mut runner, _) = runner_of(node, spec, &clock);
    let mut turn = || {
        let now_ns = clock.now_ns();
        let (end_ns, decision) = runner.run_turn(&clock, now_ns, now_ns);
        assert_eq!(decision, RunDecision::Continue);
        (end_ns, runner.pause_end_ns(), runner.tick_count())
    };
    assert_eq!(turn().2, 1);
    // The second `init` fails: the pause begins, and the next turn may begin, when it has ended.
    thread::sleep(backoff);
    let (end_ns, pause_end_ns, ticks) = turn();
    let ready_ns = || ready_ns.get();
    assert_eq!(ticks, 1);
    assert!(end_ns >= ready_ns());
    assert!(pause_end_ns.unwrap() >= ready_ns() + 2 * backoff_ns);
    thread::sleep(3 * backoff);
    assert_eq!(turn().2, 2);
    assert_eq!(runner.metrics.snapshot().failures, 2);
}

/// A node that has not reached its safe state when it is shut down.
struct NeverSafe {
    asked: Arc<AtomicU64>,
    is_shut_down: bool,
}

impl Node for NeverSafe {
    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        Ok(())
    }

    fn shutdown(&mut self) -> NodeResult {
        self.is_shut_down = true;
        Ok(())
    }

    fn is_safe_state(&self) -> bool {
        assert!(!self.is_shut_down);
        self.asked.fetch_add_one();
        false
    }
}

#[test]
fn a_node_that_is_shut_down_is_not_asked_any_more_whether_it_is_safe() {
    let clock = Clock::simulated(0);
    let asked = Arc::<AtomicU64>::default();
    let node = NeverSafe {
        asked: Arc::clone(&asked),
        is_shut_down: false,
    };
    let spec = NodeSpec {
        name: "n".into(),
        ..NodeSpec::default()
    };
    let (mut runner, commands) = runner_of(node, spec, &clock);
    commands.change_wanted_state(|wanted| wanted.is_emergency = true);
    for polls in 1..4 {
        runner.poll_commands(&clock, 0);
        assert_eq!(asked.get(), polls);
    }
    commands.change_wanted_state(|wanted| wanted.mode = NodeMode::Stop);
    for _ in 0..3 {
        runner.poll_commands(&clock, 0);
        runner.run_turn(&clock, 0, 0);
    }
    assert!(runner.is_shut_down());
    assert_eq!((asked.get(), runner.metrics.snapshot().panics), (4, 0));
}

/// The actors of a group run again as soon as an emergency stop ends, before the node that
/// represents the group has seen this end.
#[test]
fn the_node_of_a_group_enters_its_safe_state_again_in_a_stop_that_follows_at_once() {
    for (is_group, wanted) in [(true, 2), (false, 1)] {
        let spec = NodeSpec {
            name: "n".into(),
            is_actors: is_group,
            ..NodeSpec::default()
        };
        let (mut runner, commands, entered) = counting(spec);
        let clock = Clock::simulated(0);
        for is_emergency in [true, false, true] {
            commands.change_wanted_state(|wanted| wanted.is_emergency = is_emergency);
            if is_emergency {
                runner.poll_commands(&clock, 0);
                runner.poll_commands(&clock, 0);
            }
        }
        assert_eq!(entered.get(), wanted, "a group: {is_group}");
        assert!(runner.is_safe_in_emergency());
    }
}
