//! Groups without threads, and actors in simulated runs.

use horus_testing as _;

mod executors;
mod private;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use executors::{LONG, Recorded};
use horus_core::actor::{Actor, Actors, Address, AskError, Context, InboxSet, MailboxKind, Reply};
use horus_core::message::{EmergencyStop, NodeEvent};
use horus_core::scheduler::{
    self, FailurePolicy, Hertz, NodeClass, NodeResult, Report, Scheduler, StopReason,
    emergency_stop_publisher,
};
use private::Private;

/// A line for each thing that an actor did.
type Log = Arc<Mutex<Vec<String>>>;

/// An agent that passes messages on.
struct Agent {
    name: &'static str,
    log: Log,
    next: Option<Address<Passed>>,
    fails_at: u64,
}

enum Passed {
    /// The agent to which this one passes messages.
    Next(Address<Passed>),
    /// A number, to be passed on so many times.
    Number(u64, u32),
    /// Sent by a timer.
    Late(u64),
    Ask(Reply<u64>),
    /// Spawns a child.
    Spawn,
}

impl Actor for Agent {
    type Message = Passed;

    fn init(&mut self, context: &mut Context<'_, Self>) -> NodeResult {
        context.tell_after(Duration::from_millis(35), Passed::Late(0));
        Ok(())
    }

    fn handle(&mut self, message: Passed, context: &mut Context<'_, Self>) -> NodeResult {
        let now_ns = context.now_ns();
        let note = |what: String| {
            self.log
                .lock()
                .unwrap()
                .push(format!("{now_ns} {} {what}", self.name));
        };
        match message {
            Passed::Next(next) => self.next = Some(next),
            Passed::Late(number) => note(format!("late {number}")),
            Passed::Ask(reply) => {
                // A handler must not wait for another actor.
                let answer = self.next.as_ref().map(|next| next.ask(Passed::Ask));
                if let Some(Ok(answer)) = answer {
                    assert_eq!(answer.wait(LONG), Err(AskError::InHandler));
                }
                reply.send(now_ns);
            }
            Passed::Spawn => {
                let child = Agent {
                    name: "child",
                    log: Arc::clone(&self.log),
                    next: None,
                    fails_at: u64::MAX,
                };
                context.spawn(child)?;
            }
            Passed::Number(number, hops) => {
                note(format!("number {number} {hops}"));
                if number == self.fails_at {
                    self.fails_at = u64::MAX;
                    return Err(format!("on purpose at {number}").into());
                }
                if hops > 0
                    && let Some(next) = &self.next
                {
                    next.tell(Passed::Number(number, hops - 1))?;
                } else {
                    let delay = Duration::from_micros(700 * (number % 5));
                    context.tell_after(delay, Passed::Late(number));
                }
            }
        }
        Ok(())
    }
}

/// Spawns agents with these names, in this order, that pass messages from each to the next by name.
fn agents(
    actors: &Actors,
    names: &[&'static str],
    log: &Log,
) -> Vec<(&'static str, Address<Passed>)> {
    let policy = FailurePolicy::Restart {
        max: 3,
        backoff: Duration::from_millis(3),
    };
    let spawn = |name: &&'static str| {
        let (name, log) = (*name, Arc::clone(log));
        let mut fails_at = 7;
        let make = move || Agent {
            name,
            log: Arc::clone(&log),
            next: None,
            fails_at: std::mem::replace(&mut fails_at, u64::MAX),
        };
        let options = actors.options().on_failure(policy);
        (name, options.spawn_with(make).unwrap())
    };
    let mut all: Vec<_> = names.iter().map(spawn).collect();
    all.sort_by_key(|(name, _)| *name);
    for (index, (_, agent)) in all.iter().enumerate() {
        let next = all[(index + 1) % all.len()].1.clone();
        agent.tell(Passed::Next(next)).unwrap();
    }
    all
}

/// Returns an agent that passes nothing on, and fails at this number.
fn lone_agent(fails_at: u64) -> Agent {
    Agent {
        name: "a",
        log: Log::default(),
        next: None,
        fails_at,
    }
}

/// Adds a node that sends a number to each agent at each tick.
fn add_source(scheduler: &mut Scheduler, agents: Vec<(&'static str, Address<Passed>)>) {
    let mut number = 0;
    agents[0].1.tell(Passed::Spawn).unwrap();
    let tick = move |_: &mut scheduler::Context<'_>| -> NodeResult {
        for (_, agent) in &agents {
            number += 1;
            agent.tell(Passed::Number(number, 5))?;
        }
        Ok(())
    };
    scheduler.node("source").rate(200.hz()).build(tick).unwrap();
}

/// Simulates half a second of agents that are spawned in this order; returns the log and the
/// report.
fn simulate(names: &[&'static str], threads: usize) -> (Vec<String>, Report) {
    let (mut scheduler, _private) = Private::alone();
    scheduler.on_event(|_| {});
    let actors = scheduler.actors("fleet").threads(threads).build().unwrap();
    let log = Log::default();
    let agents = agents(&actors, names, &log);
    add_source(&mut scheduler, agents);
    let report = scheduler.simulate(Duration::from_millis(500), 7, 0);
    let log = log.lock().unwrap().clone();
    (log, report)
}

/// A simulated run does the same to the byte, whatever the order of the spawns and the threads.
#[test]
fn simulated_actors_do_the_same_in_every_run() {
    let names = ["a", "b", "c", "d"];
    let (first, report) = simulate(&names, 2);
    let group = report.node("fleet").unwrap();
    assert_eq!(group.class, NodeClass::Actors);
    assert!(group.metrics.ticks > 400, "{}", group.metrics.ticks);
    assert_eq!(group.metrics.failures, 1);
    // The numbers of 100 ticks, of which many are passed on: an agent that restarts knows no other.
    let numbers = first.iter().filter(|line| line.contains("number")).count();
    assert!(numbers > 4 * 100 * 2, "{numbers}");
    // A timer of `init` counts from the start of the run.
    let lates: Vec<_> = first
        .iter()
        .filter(|line| line.ends_with("late 0"))
        .collect();
    assert!(
        lates.iter().any(|line| **line == "35000000 a late 0"),
        "{lates:?}"
    );
    assert!(
        first.contains(&"35000000 child late 0".to_owned()),
        "{lates:?}"
    );
    for (names, threads) in [
        (["a", "b", "c", "d"], 2),
        (["d", "b", "a", "c"], 1),
        (["c", "d", "b", "a"], 0),
        (["b", "a", "d", "c"], 8),
    ] {
        let mut wanted = first.clone();
        let (mut found, _) = simulate(&names, threads);
        // WHY apart: those timers are started by `init`, in the order of the spawns.
        for log in [&mut wanted, &mut found] {
            log.retain(|line| !line.ends_with("late 0"));
        }
        assert_eq!(found, wanted, "{names:?}, {threads} threads");
    }
}

struct Stops(scheduler::Handle, Arc<Mutex<u64>>);

impl Actor for Stops {
    type Message = ();

    fn handle(&mut self, (): (), _: &mut Context<'_, Self>) -> NodeResult {
        *self.1.lock().unwrap() += 1;
        self.0.stop();
        Ok(())
    }
}

#[test]
fn an_actor_stops_a_simulated_run_by_a_handle() {
    let (mut scheduler, _private) = Private::alone();
    let actors = scheduler.actors("fleet").build().unwrap();
    let count = Arc::default();
    let stops = actors.spawn(Stops(scheduler.handle(), Arc::clone(&count)));
    let stops = stops.unwrap();
    let tick = move |_: &mut scheduler::Context<'_>| -> NodeResult { Ok(stops.tell(())?) };
    scheduler.node("source").rate(100.hz()).build(tick).unwrap();
    let report = scheduler.simulate(Duration::from_secs(1), 7, 0);
    assert!(matches!(report.reason, StopReason::Requested));
    assert_eq!(*count.lock().unwrap(), 1);
}

/// Without threads, the thread that runs the scheduler runs the actors, also between the ticks of
/// its nodes.
#[test]
fn a_group_without_threads_runs_on_the_main_thread() {
    let (mut scheduler, _private) = Private::alone();
    // WHY a name of its own: other tests start threads at the same time.
    let actors = scheduler.actors("lone").threads(0).build().unwrap();
    let log = Log::default();
    let agents = agents(&actors, &["a", "b", "c"], &log);
    let first = agents[0].1.clone();
    add_source(&mut scheduler, agents);
    let mut running = scheduler.start().unwrap();
    let asker = first.clone();
    let handle = running.handle();
    let asking = std::thread::spawn(move || {
        // WHY so many: at 100 rounds a second, they would take ten seconds.
        for _ in 0..1000 {
            asker.ask(Passed::Ask).unwrap().wait(LONG).unwrap();
        }
        let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
        let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
        let own: Vec<_> = names.filter(|name| name.starts_with("lone")).collect();
        handle.stop();
        own
    });
    running.run_for(LONG).unwrap();
    assert_eq!(asking.join().unwrap(), [""; 0]);
    let report = running.finish().unwrap();
    assert!(report.node("lone").unwrap().metrics.ticks > 1000);
    assert!(
        log.lock()
            .unwrap()
            .iter()
            .any(|line| line.contains("number"))
    );
    assert_eq!(actors.counters().alive, 0);
    assert!(first.is_disconnected());
}

/// Each `tick_once` handles the mail that is there.
#[test]
fn a_program_with_a_loop_of_its_own_runs_actors() {
    let (mut scheduler, _private) = Private::alone();
    let actors = scheduler.actors("fleet").threads(0).build().unwrap();
    let agent = lone_agent(u64::MAX);
    let agent = actors.spawn(agent).unwrap();
    let mut running = scheduler.start().unwrap();
    for _ in 0..10 {
        let mut answer = agent.ask(Passed::Ask).unwrap();
        assert_eq!(answer.try_take(), None);
        assert!(running.tick_once().unwrap());
        assert!(matches!(answer.try_take(), Some(Ok(1..))));
    }
    let handle = running.handle();
    handle.pause("fleet").unwrap();
    let mut answer = agent.ask(Passed::Ask).unwrap();
    running.tick_once().unwrap();
    assert_eq!(answer.try_take(), None, "mail waits");
    handle.resume("fleet").unwrap();
    running.tick_once().unwrap();
    assert!(matches!(answer.try_take(), Some(Ok(1..))));
    running.finish().unwrap();
}

/// The thread that ticked last runs the actors while it waits, and no other one.
#[test]
fn a_run_that_moves_to_another_thread_takes_its_actors_along() {
    let (mut scheduler, _private) = Private::alone();
    let actors = scheduler.actors("fleet").threads(0).build().unwrap();
    let agent = actors.spawn(lone_agent(u64::MAX)).unwrap();
    let mut running = scheduler.start().unwrap();
    running.tick_once().unwrap();
    agent.ask(Passed::Ask).unwrap().wait(LONG).unwrap();
    let elsewhere = agent.clone();
    let mut running = std::thread::spawn(move || {
        running.tick_once().unwrap();
        elsewhere.ask(Passed::Ask).unwrap().wait(LONG).unwrap();
        running
    })
    .join()
    .unwrap();
    let mut answer = agent.ask(Passed::Ask).unwrap();
    let early = answer.try_wait(Duration::from_millis(50));
    assert_eq!(early, Err(AskError::Timeout), "another thread ticked last");
    running.tick_once().unwrap();
    assert!(matches!(answer.try_take(), Some(Ok(1..))));
    agent.ask(Passed::Ask).unwrap().wait(LONG).unwrap();
    running.finish().unwrap();
    assert_eq!(actors.counters().alive, 0);
}

/// The thread that runs the actors runs them while it waits for an answer: beside the ticks, and in
/// the tick of another node. A handler must not wait.
#[test]
fn a_wait_for_an_answer_runs_actors() {
    let (mut scheduler, _private) = Private::alone();
    let actors = scheduler.actors("fleet").threads(0).build().unwrap();
    let agents = agents(&actors, &["a", "b"], &Log::default());
    let [first, second] = [0, 1].map(|index| agents[index].1.clone());
    let mut asked = Some(second.clone());
    let asking = move |_: &mut scheduler::Context<'_>| -> NodeResult {
        if let Some(agent) = asked.take() {
            agent.ask(Passed::Ask)?.wait(LONG)?;
        }
        Ok(())
    };
    scheduler.node("asking").build(asking).unwrap();
    let mut running = scheduler.start().unwrap();
    let ask = |agent: &Address<Passed>, time| agent.ask(Passed::Ask).unwrap().wait(time);
    // The thread does not run them yet.
    let early = ask(&first, Duration::from_millis(20));
    assert_eq!(early, Err(AskError::Timeout));
    assert!(running.tick_once().unwrap());
    for _ in 0..1000 {
        assert!(ask(&first, LONG).is_ok());
    }
    let handle = running.handle();
    handle.pause("fleet").unwrap();
    running.tick_once().unwrap();
    let paused = ask(&first, Duration::from_millis(20));
    assert_eq!(paused, Err(AskError::Timeout));
    handle.resume("fleet").unwrap();
    running.tick_once().unwrap();
    assert!(ask(&second, LONG).is_ok());
    // Another thread only waits.
    let other = std::thread::spawn(move || first.ask(Passed::Ask).unwrap().wait(LONG));
    while !other.is_finished() {
        running.tick_once().unwrap();
    }
    assert!(other.join().unwrap().is_ok());
    running.finish().unwrap();
    assert_eq!(try_ask(&second), Err(AskError::NoAnswer));
}

/// Passes each message on.
struct Forward(Address<u32>);

impl Actor for Forward {
    type Message = u32;

    fn handle(&mut self, number: u32, _: &mut Context<'_, Self>) -> NodeResult {
        Ok(self.0.tell(number)?)
    }
}

/// The thread that runs the actors runs them also while it waits for room in a mailbox, for a
/// message in an inbox, and for one of several inboxes.
#[test]
fn a_wait_for_room_or_for_mail_runs_actors() {
    let (mut scheduler, _private) = Private::alone();
    let actors = scheduler.actors("fleet").threads(0).build().unwrap();
    let (address, mut inbox) = actors.inbox(MailboxKind::bounded(64)).unwrap();
    let options = actors.options().mailbox(MailboxKind::bounded(1));
    let forward = options.spawn(Forward(address)).unwrap();
    let mut running = scheduler.start().unwrap();
    running.tick_once().unwrap();
    for number in 0..10 {
        forward.tell_timeout(number, LONG).unwrap();
    }
    for number in 0..10 {
        assert_eq!(inbox.recv(LONG), Ok(number));
    }
    let mut set = InboxSet::new();
    let id = set.add(inbox);
    forward.tell(10).unwrap();
    assert_eq!(set.wait(LONG), [id]);
    assert_eq!(set.get_mut(id).unwrap().try_recv(), Ok(10));
    assert_eq!(set.wait(Duration::from_millis(3)), []);
    running.finish().unwrap();
    assert!(forward.tell_timeout(11, LONG).is_err());
}

/// An actor that fails while the thread waits stops the scheduler.
#[test]
fn a_failure_in_a_wait_stops_the_scheduler() {
    let (mut scheduler, _private) = Private::alone();
    let actors = scheduler.actors("fleet").threads(0).build().unwrap();
    let agent = lone_agent(7);
    let options = actors.options().on_failure(FailurePolicy::Fatal);
    let agent = options.spawn(agent).unwrap();
    let mut running = scheduler.start().unwrap();
    running.tick_once().unwrap();
    agent.tell(Passed::Number(7, 0)).unwrap();
    assert_eq!(try_ask(&agent), Err(AskError::NoAnswer));
    let error = running.tick_once().unwrap_err();
    assert!(error.to_string().contains("on purpose"), "{error}");
}

/// Counts how often it enters its safe state.
struct Bystander(Arc<Mutex<u64>>);

impl scheduler::Node for Bystander {
    fn tick(&mut self, _: &mut scheduler::Context<'_>) -> NodeResult {
        Ok(())
    }

    fn enter_safe_state(&mut self) {
        *self.0.lock().unwrap() += 1;
    }
}

/// The program may end the run before the next tick. The first failure is the reason.
#[test]
fn a_failure_in_a_wait_is_not_lost_if_no_tick_follows() {
    let (mut scheduler, _private) = Private::alone();
    let actors = scheduler.actors("fleet").threads(0).build().unwrap();
    let [first, second] = [7, 8].map(|number| {
        let options = actors.options().on_failure(FailurePolicy::Fatal);
        options.spawn(lone_agent(number)).unwrap()
    });
    let entered = Arc::default();
    let bystander = Bystander(Arc::clone(&entered));
    scheduler.node("bystander").build(bystander).unwrap();
    let mut running = scheduler.start().unwrap();
    running.tick_once().unwrap();
    for (agent, number) in [(first, 7), (second, 8)] {
        agent.tell(Passed::Number(number, 0)).unwrap();
        assert_eq!(try_ask(&agent), Err(AskError::NoAnswer));
    }
    assert!(running.is_stopping());
    let report = running.finish().unwrap_err().into_report().unwrap();
    let StopReason::Node { name, error } = &report.reason else {
        panic!("{report}");
    };
    assert!(
        name == "fleet" && error.contains("on purpose at 7"),
        "{report}"
    );
    assert_eq!(
        report.node("fleet").unwrap().last_error.as_ref(),
        Some(error)
    );
    assert_eq!(*entered.lock().unwrap(), 1);
}

/// Asks an agent that may have ended.
fn try_ask(agent: &Address<Passed>) -> Result<u64, AskError> {
    let answer = agent.ask(Passed::Ask).map_err(|_| AskError::NoAnswer)?;
    answer.wait(LONG)
}

/// Actors without a thread run in the order in which they got mail.
#[test]
fn actors_run_in_the_order_of_their_mail() {
    let (mut scheduler, _private) = Private::alone();
    let actors = scheduler.actors("fleet").threads(0).build().unwrap();
    let log = Log::default();
    let agents = agents(&actors, &["a", "b", "c"], &log);
    let mut running = scheduler.start().unwrap();
    running.tick_once().unwrap();
    for index in [2, 0, 1] {
        agents[index].1.tell(Passed::Number(1, 0)).unwrap();
    }
    running.tick_once().unwrap();
    let ran: Vec<_> = log
        .lock()
        .unwrap()
        .iter()
        .filter(|line| line.contains("number"))
        .map(|line| line.split(' ').nth(1).unwrap().to_owned())
        .collect();
    assert_eq!(ran, ["c", "a", "b"]);
    running.finish().unwrap();
}

/// Enters its safe state.
struct Safe(Log);

impl Actor for Safe {
    type Message = ();

    fn handle(&mut self, (): (), _: &mut Context<'_, Self>) -> NodeResult {
        self.0.lock().unwrap().push("handled".to_owned());
        Ok(())
    }

    fn enter_safe_state(&mut self) {
        self.0.lock().unwrap().push("safe".to_owned());
    }
}

#[test]
fn an_emergency_stop_reaches_actors_of_the_main_thread() {
    let (private, recorded) = (Private::new(), Recorded::default());
    let mut scheduler = recorded.scheduler(&private);
    let actors = scheduler.actors("fleet").threads(0).build().unwrap();
    let log = Log::default();
    let address = actors
        .options()
        .safe_state()
        .spawn(Safe(Arc::clone(&log)))
        .unwrap();
    let mut running = scheduler.start().unwrap();
    let mut stop = emergency_stop_publisher(private.namespace()).unwrap();
    stop.send(EmergencyStop::engage("test", "on purpose"))
        .unwrap();
    let is_reported = || recorded.count("fleet", NodeEvent::SAFE_STATE_ENTERED) >= 2;
    while !is_reported() {
        running.run_for(Duration::from_millis(20)).unwrap();
    }
    address.tell(()).unwrap();
    running.run_for(Duration::from_millis(50)).unwrap();
    assert_eq!(*log.lock().unwrap(), ["safe"]);
    stop.send(EmergencyStop::release("test", "over")).unwrap();
    while log.lock().unwrap().len() < 2 {
        running.run_for(Duration::from_millis(20)).unwrap();
    }
    assert_eq!(*log.lock().unwrap(), ["safe", "handled"]);
    running.finish().unwrap();
}
