//! The launcher: starts the nodes, kills one halfway through, stops them, and compares the counts.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Write;
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use horus_core::message::timestamp_now_ns;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::child::{Child, Event};
use crate::ledger::Ledger;
use crate::options::{Options, Role};
use crate::private::PrivateNamespace;
use crate::report::Report;
use crate::{Result, controller, imu, laser, monitor};

/// Maximum time that a node may take to join its topics, or to end, on a busy machine.
const READY_MAX: Duration = Duration::from_secs(10);
const STOP_MAX: Duration = Duration::from_secs(10);

/// Runs the robot. Succeeds if every message is accounted for and no file is left behind.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let (sender, events) = mpsc::channel();
    forward_signals(sender.clone())?;
    let mut launcher = Launcher {
        options,
        sender,
        events,
        children: Vec::new(),
        namespace: PrivateNamespace::create()?,
        begin_ns: timestamp_now_ns(),
        signal: None,
        ready: HashMap::new(),
        ended: HashSet::new(),
        killed_ns: None,
        restarts: 0,
        sent: BTreeMap::new(),
        ledgers: Vec::new(),
    };
    launcher.say(&launcher.introduction())?;

    // A subscriber starts before its publishers and ends after them, so it receives everything.
    for role in [Role::Monitor, Role::Controller, Role::Imu, Role::Laser] {
        launcher.start(role)?;
    }
    launcher.begin_ns = timestamp_now_ns();
    let begin = Instant::now();
    launcher.run_until(begin + options.duration / 2)?;
    if launcher.signal.is_none() {
        launcher.replace_imu()?;
    }
    launcher.run_until(begin + options.duration)?;
    launcher.stop(&[Role::Imu, Role::Laser])?;
    launcher.stop(&[Role::Controller])?;
    launcher.stop(&[Role::Monitor])?;
    launcher.conclude()
}

/// Turns termination signals into events.
fn forward_signals(events: Sender<Event>) -> Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    thread::spawn(move || {
        for signal in signals.forever() {
            // A send fails only if the launcher is about to end.
            let _ = events.send(Event::Signal(signal));
        }
    });
    Ok(())
}

/// Starts and stops the nodes. When dropped, even after a failure, it ends all nodes and then
/// removes the namespace.
struct Launcher<'a> {
    options: &'a Options,
    sender: Sender<Event>,
    events: Receiver<Event>,
    children: Vec<Child>,
    namespace: PrivateNamespace,
    begin_ns: u64,
    /// The first termination signal received.
    signal: Option<i32>,
    /// For each process id: the position of the publisher's lane in its topic when the process
    /// joined.
    ready: HashMap<u32, u64>,
    ended: HashSet<u32>,
    killed_ns: Option<u64>,
    /// Number of times that the monitor received from a new IMU process.
    restarts: u32,
    /// For each topic: number of messages that the publishers sent, by their own count.
    sent: BTreeMap<String, u64>,
    ledgers: Vec<Ledger>,
}

impl Launcher<'_> {
    fn introduction(&self) -> String {
        let look_period = monitor::LOOK_PERIOD;
        let path = self.namespace.path().display();
        let looks = if self.options.spin {
            "The monitor polls without pause.".to_owned()
        } else {
            format!(
                "The monitor sleeps {look_period:?} between two polls, so most of it\n\
                 is that sleep, and little is transport: try --spin, or the benchmarks."
            )
        };
        format!(
            "robot: {:?} in {path}\n\
             latency: from the timestamp in a message (CLOCK_REALTIME) to its arrival in the\n\
             monitor, over all messages. {looks}",
            self.options.duration
        )
    }

    fn say(&self, text: &str) -> Result<()> {
        Ok(writeln!(std::io::stdout(), "{text}")?)
    }

    /// Starts a node, waits until it has joined its topics, and returns the position of its lane.
    fn start(&mut self, role: Role) -> Result<u64> {
        let child = Child::spawn(role, self.options, &self.namespace, &self.sender)?;
        let id = child.id();
        self.children.push(child);
        self.handle_until(Instant::now() + READY_MAX, |this| {
            this.ready.contains_key(&id)
        })?;
        let sequence = self.ready.get(&id).copied();
        sequence.ok_or_else(|| format!("the {} is not ready in {READY_MAX:?}", role.name()).into())
    }

    /// Kills the IMU with SIGKILL and starts a new one.
    fn replace_imu(&mut self) -> Result<()> {
        let position = self
            .children
            .iter()
            .position(|child| child.role == Role::Imu);
        let mut old = self
            .children
            .remove(position.ok_or("no imu process to kill")?);
        let killed_ns = timestamp_now_ns();
        old.kill()?;
        old.wait()?;
        self.killed_ns = Some(killed_ns);
        self.say("\nimu  killed with SIGKILL")?;
        let sequence = self.start(Role::Imu)?;
        // A killed process cannot report how many messages it sent, but the topic can: the new
        // process continues at the sequence number where the old one stopped.
        let sent = sequence.saturating_sub(self.ready[&old.id()]);
        *self.sent.entry(imu::TOPIC.into()).or_default() += sent;
        self.say(&format!(
            "imu  a new process continues after {sent} samples"
        ))
    }

    /// Lets the robot run until `deadline` or a termination signal.
    fn run_until(&mut self, deadline: Instant) -> Result<()> {
        self.handle_until(deadline, |this| this.signal.is_some())
    }

    /// Stops the nodes with these roles and waits until they have ended.
    fn stop(&mut self, roles: &[Role]) -> Result<()> {
        let is_meant = |child: &mut Child| roles.contains(&child.role);
        let mut stopping: Vec<Child> = self.children.extract_if(.., is_meant).collect();
        let ids: Vec<u32> = stopping.iter().map(Child::id).collect();
        stopping.iter_mut().for_each(Child::stop);
        self.handle_until(Instant::now() + STOP_MAX, |this| {
            ids.iter().all(|id| this.ended.contains(id))
        })?;
        for mut child in stopping {
            let name = child.role.name();
            if !self.ended.contains(&child.id()) {
                return Err(format!("the {name} does not end within {STOP_MAX:?}").into());
            }
            let status = child.wait()?;
            if !status.success() {
                return Err(format!("the {name} ended with {status}").into());
            }
        }
        Ok(())
    }

    /// Handles events until `is_done` returns true, but not beyond `deadline`.
    fn handle_until(&mut self, deadline: Instant, is_done: impl Fn(&Self) -> bool) -> Result<()> {
        while !is_done(self) {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.events.recv_timeout(left) {
                Ok(event) => self.handle(event)?,
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => unreachable!("`sender` is kept"),
            }
        }
        Ok(())
    }

    fn handle(&mut self, event: Event) -> Result<()> {
        match event {
            Event::Signal(signal) => {
                self.signal.get_or_insert(signal);
            }
            // Nodes that are expected to end are no longer in `children`.
            Event::Ended(id) => match self.children.iter().find(|child| child.id() == id) {
                Some(child) => {
                    return Err(format!("the {} ended unexpectedly", child.role.name()).into());
                }
                None => drop(self.ended.insert(id)),
            },
            Event::Report(id, Report::Ready { sequence }) => {
                self.ready.insert(id, sequence);
            }
            Event::Report(_, Report::Text(text)) => self.say(&text)?,
            Event::Report(
                _,
                Report::Restarted {
                    last_ns,
                    first_ns,
                    received_ns,
                },
            ) => {
                self.restarts += 1;
                self.say(&self.recovery(last_ns, first_ns, received_ns))?;
            }
            Event::Report(_, Report::Published { topic, sent }) => {
                *self.sent.entry(topic).or_default() += sent;
            }
            Event::Report(_, Report::Received(ledger)) => self.ledgers.push(ledger),
        }
        Ok(())
    }

    /// Describes the effect of the IMU's death on its subscribers.
    fn recovery(&self, last_ns: u64, first_ns: u64, received_ns: u64) -> String {
        let killed_ns = self.killed_ns.unwrap_or(last_ns);
        let at_s = |ns: u64| ns.saturating_sub(self.begin_ns) as f64 / 1e9;
        format!(
            "imu  gap {:.1} ms between samples (killed at {:.3} s, back at {:.3} s: \
             recovered in {:.1} ms)",
            first_ns.saturating_sub(last_ns) as f64 / 1e6,
            at_s(killed_ns),
            at_s(received_ns),
            received_ns.saturating_sub(killed_ns) as f64 / 1e6,
        )
    }

    /// Compares the counts and removes the namespace.
    fn conclude(mut self) -> Result<ExitCode> {
        self.ledgers
            .sort_by(|a, b| (&a.topic, &b.reader).cmp(&(&b.topic, &a.reader)));
        let sent = |topic: &str| self.sent.get(topic).copied().unwrap_or(0);
        let rows: Vec<_> = self
            .ledgers
            .iter()
            .map(|row| row.row(sent(&row.topic)))
            .collect();
        self.say(&format!(
            "\nsummary\n{}\n{}",
            Ledger::HEADER,
            rows.join("\n")
        ))?;

        let mut faults = Vec::new();
        for row in self
            .ledgers
            .iter()
            .filter(|row| !row.holds(sent(&row.topic)))
        {
            faults.push(format!(
                "{}: the counts of the {} do not match the messages sent",
                row.topic, row.reader
            ));
        }
        for topic in [imu::TOPIC, laser::TOPIC, controller::TOPIC] {
            if !self
                .ledgers
                .iter()
                .any(|row| row.topic == topic && row.reader == "monitor")
            {
                faults.push(format!("{topic}: the monitor sent no report about it"));
            }
        }
        let restarts = self.restarts;
        let kills = u32::from(self.killed_ns.is_some());
        if restarts != kills {
            faults.push(format!(
                "imu: killed {kills} times, but the monitor saw {restarts} restarts"
            ));
        }
        let boxes = self.namespace.open_black_boxes()?;
        self.say(&format!(
            "\nblack boxes of the schedulers\n{}",
            boxes.join("\n")
        ))?;
        let signal = self.signal;
        faults.extend(
            self.namespace
                .remove()?
                .into_iter()
                .map(|left| format!("left: {left}")),
        );

        let verdict = match faults.is_empty() {
            true => "delivered + lost + skipped = sent, nothing torn, nothing left behind".into(),
            false => faults.join("\n"),
        };
        writeln!(std::io::stdout(), "\n{verdict}")?;
        Ok(match signal {
            _ if !faults.is_empty() => ExitCode::FAILURE,
            // The exit status of a shell after a signal.
            Some(signal) => ExitCode::from(128 + u8::try_from(signal)?),
            None => ExitCode::SUCCESS,
        })
    }
}
