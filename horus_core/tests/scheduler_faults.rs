//! Nodes that fail in every way, on every executor: the policy decides what follows, the reason is
//! recorded, and no other node is harmed.

use horus_testing as _;

mod executors;
#[path = "scheduler_faults/limited.rs"]
mod limited;
mod noise;
mod private;

use std::fmt;
use std::panic::panic_any;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use executors::{EXECUTORS, Executor, LONG, Recorded};
use horus_core::message::NodeEvent;
use horus_core::prelude::*;
#[cfg(feature = "async-io")]
use horus_core::scheduler::{AsyncNode, AsyncNodeAdapter, TickFuture};
use horus_core::scheduler::{
    Context, FailurePolicy, Handle, Node, NodeError, NodeResult, Report, RunError, Running,
    StopReason,
};
use noise::result;
use private::Private;

/// The fault of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Error,
    /// Returns an error whose `Display` panics.
    MuteError,
    /// Panics with the payload of `panic!`, formatted or not, or with any other payload.
    Str,
    Text,
    Other,
    /// Panics with a payload whose drop panics.
    Bomb,
    Init,
    InitError,
    Shutdown,
    OnError,
    SafeState,
    Drop,
}

const FAULTS: [Fault; 12] = [
    Fault::Error,
    Fault::MuteError,
    Fault::Str,
    Fault::Text,
    Fault::Other,
    Fault::Bomb,
    Fault::Init,
    Fault::InitError,
    Fault::Shutdown,
    Fault::OnError,
    Fault::SafeState,
    Fault::Drop,
];

#[test]
fn an_event_of_a_panic_says_once_that_the_node_panicked() {
    let display = |kind, text| {
        let (node, text) = (Text::literal("arm"), Text::literal(text));
        let event = NodeEvent {
            kind,
            tick: 4,
            node,
            text,
            ..NodeEvent::default()
        };
        event.to_string()
    };
    let of_panic = |text| display(NodeEvent::PANICKED, text);
    assert_eq!(
        of_panic("panicked: no port"),
        "arm: panicked in tick 4: no port"
    );
    assert_eq!(
        of_panic("panicked in on_error: no port"),
        "arm: panicked in tick 4 in on_error: no port"
    );
    assert_eq!(
        display(NodeEvent::FAILED, "panicked?"),
        "arm: failed in tick 4: panicked?"
    );
}

const RESTART: FailurePolicy = FailurePolicy::Restart {
    max: 5,
    backoff: Duration::from_millis(1),
};
const SKIP: FailurePolicy = FailurePolicy::Skip {
    max: 0,
    cooldown: Duration::from_millis(1),
};
const POLICIES: [FailurePolicy; 4] = [FailurePolicy::Fatal, RESTART, SKIP, FailurePolicy::Ignore];

/// The tick in which a node fails.
const BAD_TICK: u64 = 2;

impl Fault {
    /// Returns the recorded text, and true for a panic; `None` if the policy does not apply to this
    /// fault.
    const fn text(self) -> Option<(&'static str, bool)> {
        Some(match self {
            Self::Error | Self::OnError | Self::SafeState => ("on purpose", false),
            Self::MuteError => ("an error whose text panicked: on purpose", false),
            Self::Str => ("panicked: on purpose", true),
            Self::Text => ("panicked: on purpose in tick 2", true),
            Self::Other | Self::Bomb => ("panicked: a panic without a text", true),
            Self::Init => ("panicked in init: on purpose", true),
            Self::InitError => ("on purpose", false),
            Self::Shutdown | Self::Drop => return None,
        })
    }

    /// Returns the text of a second panic.
    const fn second_text(self) -> Option<&'static str> {
        match self {
            Self::OnError => Some("panicked in on_error: on purpose"),
            Self::SafeState => Some("panicked in enter_safe_state: on purpose"),
            Self::Shutdown => Some("panicked in shutdown: on purpose"),
            Self::Drop => Some("panicked in its drop: on purpose"),
            _ => None,
        }
    }

    const fn is_in_init(self) -> bool {
        matches!(self, Self::Init | Self::InitError)
    }
}

#[derive(Debug)]
struct Mute;

impl fmt::Display for Mute {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("on purpose")
    }
}

impl std::error::Error for Mute {}

struct Bomb(u64);

impl Drop for Bomb {
    fn drop(&mut self) {
        if self.0 > 0 {
            panic_any(Self(self.0 - 1));
        }
    }
}

/// The calls of nodes, in order.
#[derive(Clone, Default)]
struct CallLog(Arc<Mutex<Vec<String>>>);

impl CallLog {
    fn note(&self, what: String) {
        self.0.lock().unwrap().push(what);
    }

    fn read(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    /// Returns the names of the nodes that did this, in order.
    fn nodes_with(&self, what: &str) -> String {
        let read = self.read();
        let names = read
            .iter()
            .filter_map(|line| line.strip_suffix(what))
            .map(str::trim);
        names.collect::<Vec<_>>().join(" ")
    }
}

/// A node that logs its calls and has a fault.
struct Faulty {
    name: &'static str,
    fault: Option<Fault>,
    calls: CallLog,
    commands: Option<Subscriber<CmdVel>>,
    has_failed: bool,
}

impl Faulty {
    fn note(&self, what: &str) {
        self.calls.note(format!("{} {what}", self.name));
    }

    fn panics_if(&self, fault: Fault) {
        assert!(self.fault != Some(fault), "on purpose");
    }
}

impl Node for Faulty {
    fn init(&mut self, _: &mut Context<'_>) -> NodeResult {
        self.note("init");
        // Fails only the first time.
        if !std::mem::replace(&mut self.has_failed, true) {
            self.panics_if(Fault::Init);
            if self.fault == Some(Fault::InitError) {
                return Err("on purpose".into());
            }
        }
        self.note("ready");
        Ok(())
    }

    fn tick(&mut self, context: &mut Context<'_>) -> NodeResult {
        self.commands
            .iter_mut()
            .for_each(|commands| _ = commands.recv());
        assert!(
            self.calls.read().contains(&format!("{} ready", self.name)),
            "it is not ready"
        );
        if context.tick() != BAD_TICK {
            return Ok(());
        }
        match self.fault {
            Some(Fault::Error | Fault::OnError | Fault::SafeState) => Err("on purpose".into()),
            Some(Fault::MuteError) => {
                Err(Box::<dyn std::error::Error + Send + Sync>::from(Mute).into())
            }
            Some(Fault::Str) => panic!("on purpose"),
            Some(Fault::Text) => panic!("on purpose in tick {}", context.tick()),
            Some(Fault::Other) => panic_any(context.tick()),
            Some(Fault::Bomb) => panic_any(Bomb(2)),
            _ => Ok(()),
        }
    }

    fn shutdown(&mut self) -> NodeResult {
        self.note("shutdown");
        self.panics_if(Fault::Shutdown);
        Ok(())
    }

    fn enter_safe_state(&mut self) {
        self.note("safe");
        self.panics_if(Fault::SafeState);
    }

    fn on_error(&mut self, _: &NodeError) {
        self.note("on_error");
        self.panics_if(Fault::OnError);
    }
}

/// An async node that does all its work before it returns a future.
#[cfg(feature = "async-io")]
struct Eager(Faulty);

#[cfg(feature = "async-io")]
impl AsyncNode for Eager {
    fn tick<'a>(&'a mut self, context: &'a mut Context<'_>) -> TickFuture<'a> {
        Box::pin(std::future::ready(self.0.tick(context)))
    }

    fn init(&mut self, context: &mut Context<'_>) -> NodeResult {
        self.0.init(context)
    }

    fn shutdown(&mut self) -> NodeResult {
        self.0.shutdown()
    }

    fn enter_safe_state(&mut self) {
        self.0.enter_safe_state();
    }

    fn on_error(&mut self, error: &NodeError) {
        self.0.on_error(error);
    }
}

impl Drop for Faulty {
    fn drop(&mut self) {
        self.note("dropped");
        self.panics_if(Fault::Drop);
    }
}

/// Runs until the scheduler stops or `is_over`.
fn run(running: &mut Running, what: &str, mut is_over: impl FnMut(&Handle) -> bool) {
    let handle = running.handle();
    let end = Instant::now() + LONG;
    while !running.is_stopping() && !is_over(&handle) {
        // The report contains a failure, too.
        drop(running.run_for(Duration::from_millis(2)));
        assert!(Instant::now() < end, "never: {what}");
    }
}

/// The outcome of a run with a bad node among good ones.
struct Outcome {
    report: Report,
    events: Vec<NodeEvent>,
    calls: CallLog,
}

/// The ticks that every node makes after a fault that is not fatal.
const MORE_TICKS: u64 = 4;

/// Runs the nodes. If `is_eager`, the bad one is an [`Eager`] one.
fn try_out(executor: Executor, is_eager: bool, fault: Fault, policy: FailurePolicy) -> Outcome {
    assert!(cfg!(feature = "async-io") || !is_eager);
    let private = Private::new();
    let recorded = Recorded::default();
    let mut scheduler = recorded.scheduler(&private);
    let calls = CallLog::default();
    let mut publisher = private.publisher::<CmdVel>("cmd_vel", Qos::new());
    let plan = [
        ("first", Executor::BestEffort),
        ("bad", executor),
        ("like it", executor),
        ("last", Executor::RealTime),
    ];
    for (order, (name, executor)) in plan.into_iter().enumerate() {
        let commands = private.subscriber::<CmdVel>("cmd_vel", Qos::new());
        let (fault, policy) = match name {
            "bad" => (Some(fault), policy),
            _ => (None, FailurePolicy::Fatal),
        };
        let node = scheduler
            .node(name)
            .order(order as i32)
            .failure_policy(policy);
        let node = executor.runs(node, 200, &commands);
        let calls = calls.clone();
        let commands = Some(commands);
        let faulty = Faulty {
            name,
            fault,
            calls,
            commands,
            has_failed: false,
        };
        #[cfg(feature = "async-io")]
        if is_eager && name == "bad" {
            node.build(AsyncNodeAdapter::new(Eager(faulty))).unwrap();
            continue;
        }
        node.build(faulty).unwrap();
    }
    let mut running = scheduler.start().unwrap();
    let what = format!("{executor:?} {fault:?} {policy:?}");
    run(&mut running, &what, |handle| {
        publisher.send(CmdVel::default()).unwrap();
        let ticks = |name: &str| handle.metrics(name).unwrap().ticks;
        plan.iter()
            .all(|(name, _)| ticks(name) > BAD_TICK + MORE_TICKS)
    });
    if !running.is_stopping() {
        running.handle().stop();
    }
    let report = running.finish().or_else(RunError::into_report).unwrap();
    Outcome {
        report,
        events: recorded.all(),
        calls,
    }
}

/// Returns the number of events with this text for the node.
fn count_events(events: &[NodeEvent], node: &str, kind: u8, text: &str) -> usize {
    let is_it = |event: &&NodeEvent| {
        event.kind == kind && event.node == *node && event.text.as_str() == text
    };
    events.iter().filter(is_it).count()
}

fn judge(executor: Executor, is_eager: bool, fault: Fault, policy: FailurePolicy) {
    let Outcome {
        report,
        events,
        calls,
    } = try_out(executor, is_eager, fault, policy);
    let what = format!(
        "{executor:?} {is_eager} {fault:?} {policy:?}: {report:?}\n{:?}\n{events:?}",
        calls.read()
    );
    let is_fatal = policy == FailurePolicy::Fatal && fault.text().is_some();
    let bad = report.node("bad").unwrap();

    // The policy was applied to the run and to the node.
    match fault.text() {
        Some((error, _)) if is_fatal => {
            let reason = StopReason::Node {
                name: "bad".into(),
                error: error.into(),
            };
            assert_eq!(report.reason, reason, "{what}");
        }
        _ => assert_eq!(report.reason, StopReason::Requested, "{what}"),
    }
    let restarts = usize::from(policy == RESTART && fault.text().is_some() && !fault.is_in_init());
    let inits = if fault.is_in_init() && !is_fatal {
        2
    } else {
        1 + restarts
    };
    let count = |what: &str| calls.read().iter().filter(|line| *line == what).count();
    assert_eq!(count("bad init"), inits, "{what}");
    let is_ready = usize::from(!(is_fatal && fault.is_in_init()));
    assert_eq!(count("bad shutdown"), is_ready + restarts, "{what}");
    assert_eq!(
        count("bad on_error"),
        usize::from(fault.text().is_some()),
        "{what}"
    );
    assert_eq!(count("bad dropped"), 1, "{what}");

    // The fault was recorded, with its text, call and tick.
    let mut panics = 0;
    if let Some((error, is_panic)) = fault.text() {
        let kind = if is_panic {
            NodeEvent::PANICKED
        } else {
            NodeEvent::FAILED
        };
        assert_eq!(count_events(&events, "bad", kind, error), 1, "{what}");
        let event = events.iter().find(|event| event.kind == kind).unwrap();
        let tick = if fault.is_in_init() { 0 } else { BAD_TICK };
        assert_eq!(event.tick, tick, "{what}");
        panics += u64::from(is_panic);
    }
    // A safe state is entered only at the end of the run.
    let is_also = fault != Fault::SafeState || is_fatal;
    if let Some(error) = fault.second_text().filter(|_| is_also) {
        assert_eq!(
            count_events(&events, "bad", NodeEvent::PANICKED, error),
            1,
            "{what}"
        );
        panics += 1;
    }
    assert_eq!(bad.metrics.panics, panics, "{what}");

    // No other node was harmed, and all ended in order.
    let others = report.nodes.iter().filter(|node| node.name != "bad");
    assert!(
        others.clone().all(|node| node.metrics.failures == 0),
        "{what}"
    );
    let initialised = match is_fatal && fault.is_in_init() {
        true => "first",
        false => "last like it bad first",
    };
    let ends = calls.nodes_with("shutdown");
    let ends = ends
        .strip_prefix("bad ")
        .filter(|_| restarts > 0)
        .unwrap_or(&ends);
    assert_eq!(ends, initialised, "{what}");
    // Each thread makes its own nodes safe, so their order is not defined.
    let safe = if is_fatal { initialised } else { "" };
    let sorted = |nodes: &str| {
        let mut nodes: Vec<_> = nodes.split(' ').map(str::to_owned).collect();
        nodes.sort();
        nodes
    };
    assert_eq!(sorted(&calls.nodes_with("safe")), sorted(safe), "{what}");
    assert_eq!(
        calls.nodes_with("dropped"),
        "last like it bad first",
        "{what}"
    );
    let lines = calls.read();
    let last_safe = lines.iter().rposition(|line| line.ends_with(" safe"));
    let shutdown = lines.iter().position(|line| {
        *line
            == format!(
                "{} shutdown",
                if initialised == "first" {
                    "first"
                } else {
                    "last"
                }
            )
    });
    assert!(
        last_safe.is_none_or(|safe| Some(safe) < shutdown),
        "safe before the end: {what}"
    );
}

fn matrix(executor: Executor) {
    matrix_of(executor, false);
}

fn matrix_of(executor: Executor, is_eager: bool) {
    assert!(EXECUTORS.contains(&executor));
    for fault in FAULTS {
        POLICIES
            .iter()
            .for_each(|policy| judge(executor, is_eager, fault, *policy));
    }
    let cases = FAULTS.len() * POLICIES.len();
    result(
        &format!("scheduler_faults/{executor:?}"),
        format!("{cases} faults and policies"),
    );
}

#[test]
fn the_policy_is_applied_to_a_fault_on_a_thread_of_its_own() {
    matrix(Executor::RealTime);
}

#[test]
fn the_policy_is_applied_to_a_fault_in_a_chain() {
    matrix(Executor::Chain);
}

#[test]
fn the_policy_is_applied_to_a_fault_on_a_topic() {
    matrix(Executor::Event);
}

#[test]
fn the_policy_is_applied_to_a_fault_on_the_main_thread() {
    matrix(Executor::BestEffort);
}

#[test]
fn the_policy_is_applied_to_a_fault_in_the_pool() {
    matrix(Executor::Compute);
}

#[cfg(feature = "async-io")]
#[test]
fn the_policy_is_applied_to_a_fault_of_a_task() {
    matrix(Executor::AsyncIo);
}

#[cfg(feature = "async-io")]
#[test]
fn the_policy_is_applied_to_a_fault_of_a_task_before_it_returns_a_future() {
    matrix_of(Executor::AsyncIo, true);
}
