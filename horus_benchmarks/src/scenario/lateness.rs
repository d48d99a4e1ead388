//! Measures how late a thread is that has to act at exact times. The thread is either a node of a
//! scheduler, or only sleeps with the kernel's timer.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use horus_core::scheduler::{Context, MissPolicy, Node, NodeResult, Rate, Scheduler, Timeline};
use horus_shm::Namespace;
use horus_shm::clock::{Clock, sleep_until};
use horus_shm::rt::CpuAwakeRequest;
use rustix::time::ClockId;

use crate::measure::stats::Samples;
use crate::measure::steal::StealWatch;
use crate::measure::tsc::read_clock_ns;
use crate::report::goals;
use crate::report::rows::Row;
use crate::run::args::QuickOrFull;
use crate::run::session::BenchmarkSession;
use crate::scenario::entry::Outcome;
use crate::scenario::stalls::{Stalls, make_thread_real_time, run_in_thread};

/// The rates to measure. For each one: its value in hertz, its name in the ids of rows, and the
/// number of seconds that each row takes.
const RATES_AND_DURATIONS: [(u32, &str, QuickOrFull<u64>); 2] = [
    (1000, "1kHz", QuickOrFull(6, 60)),
    (10_000, "10kHz", QuickOrFull(6, 12)),
];

/// Duration of the search for stalls.
const STALL_MEASUREMENT_TIME: QuickOrFull<Duration> =
    QuickOrFull(Duration::from_secs(2), Duration::from_secs(20));

/// Priority of the measured threads under the real-time policy SCHED_FIFO.
const THREAD_PRIORITY: u8 = 80;

/// Duration of a tick after which the watchdog of the scheduler considers the node stuck.
const WATCHDOG_TIMEOUT: Duration = Duration::from_secs(1);

/// Measures nodes that have a rate. Before each node, measures the floor at the same rate: a thread
/// that only sleeps until each due time.
pub(super) fn measure_lateness(session: &mut BenchmarkSession) -> Outcome {
    let cpu = session.cpus.far;
    if session.args.wants_row(goals::STALLS_ROW_ID) {
        let time = session.args.quick_or_full(STALL_MEASUREMENT_TIME);
        let stalls = Stalls::find(cpu, THREAD_PRIORITY, time)?;
        record_refused_settings(session, goals::STALLS_ROW_ID, &stalls.refused);
        let method = "pauses of a thread that only reads the clock";
        let method = format!("{method}; CPU {cpu}, priority {THREAD_PRIORITY}");
        session.add_row(stalls.row(goals::STALLS_ROW_ID), method);
    }
    for (awake, suffix) in [(false, ""), (true, "/awake")] {
        for (hz, rate, seconds) in RATES_AND_DURATIONS {
            let ticks = session.args.quick_or_full(seconds) * u64::from(hz);
            let plan = LatenessPlan {
                hz,
                ticks: session.args.samples.unwrap_or(ticks).max(2),
                cpu,
                awake,
            };
            let floor = format!("floor/nanosleep/{rate}{suffix}");
            if session.args.wants_row(&floor) {
                let lateness = measure_lateness_of_sleep(plan)?;
                let method = "a bare clock_nanosleep, from due to awake";
                add_lateness_row(session, &floor, &lateness, &plan, method);
            }
            let id = format!("lateness/{rate}{suffix}");
            if session.args.wants_row(&id) {
                add_node_rows(session, &id, &plan)?;
            }
        }
    }
    Ok(())
}

/// Adds the row `id` for a node, and a second row for only those due times that lie in quiet
/// windows. In a quiet window, the hypervisor takes almost no CPU time.
fn add_node_rows(session: &mut BenchmarkSession, id: &str, plan: &LatenessPlan) -> Outcome {
    let watch = StealWatch::start(plan.cpu)?;
    let lateness = measure_lateness_of_node(plan, &session.private.open()?)?;
    let windows = watch.stop()?;
    let method = "from due to the begin of the tick";
    add_lateness_row(session, id, &lateness, plan, method);
    let quiet = format!("{id}{}", goals::QUIET_ROW_ID_SUFFIX);
    let row =
        lateness.row_of_selected_due_times(&quiet, plan, |due_ns| windows.is_quiet_at(due_ns));
    if row.sent_messages() > 0 {
        session.add_row(row, format!("of {id}: {}", windows.describe()));
    }
    Ok(())
}

fn add_lateness_row(
    session: &mut BenchmarkSession,
    id: &str,
    lateness: &Lateness,
    plan: &LatenessPlan,
    method: &str,
) {
    record_refused_settings(session, id, &lateness.refused);
    let LatenessPlan { hz, cpu, .. } = plan;
    let mut method = format!("{method}; {hz} Hz, CPU {cpu}, priority {THREAD_PRIORITY}");
    if plan.awake {
        method.push_str(", processors kept awake");
    }
    session.add_row(lateness.row(id, plan), method);
}

/// Stores the thread settings that the kernel refused, and warns of them.
fn record_refused_settings(session: &mut BenchmarkSession, id: &str, refused: &[String]) {
    session.report.set_row_setting("refused", id, refused);
    let warnings = &mut session.report.machine.warnings;
    for refused in refused {
        warnings.push(format!("{id}: refused: {refused}"));
    }
}

/// The plan for a thread that has to act at due times: how often and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LatenessPlan {
    /// Number of due times per second.
    hz: u32,
    /// Number of due times. It is at least 2.
    ticks: u64,
    cpu: usize,
    /// True if the processors of the machine are kept awake, so that they cannot enter a sleep
    /// state.
    awake: bool,
}

impl LatenessPlan {
    fn rate(&self) -> Rate {
        Rate::hz(f64::from(self.hz))
    }

    fn period_ns(&self) -> u64 {
        1_000_000_000 / u64::from(self.hz)
    }

    /// Returns the time from the first due time to the last one, in nanoseconds.
    fn duration_ns(&self) -> u64 {
        self.ticks
            .saturating_sub(1)
            .saturating_mul(self.period_ns())
    }

    /// Returns the maximum duration that a scheduler may take for the plan. After it, the
    /// measurement has failed.
    fn duration_max(&self) -> Duration {
        Duration::from_nanos(self.duration_ns()) * 2 + Duration::from_secs(10)
    }
}

/// A due time at which a thread began: the time in nanoseconds of CLOCK_MONOTONIC, and how late the
/// thread was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct MetDueTime {
    due_ns: u64,
    late_ns: u64,
}

impl MetDueTime {
    const fn begin_ns(self) -> u64 {
        self.due_ns + self.late_ns
    }
}

/// The lateness of one thread at all of its due times.
#[derive(Debug, Clone, Default, PartialEq)]
struct Lateness {
    /// The due times at which the thread began, in ascending order.
    begun: Vec<MetDueTime>,
    /// Readings of two clocks at the first tick, and at the last tick.
    ends: [ClockPair; 2],
    /// The thread settings that the kernel refused. Each text has the reason.
    refused: Vec<String>,
}

/// Readings of two clocks at the same moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct ClockPair {
    /// Reading of CLOCK_MONOTONIC in nanoseconds.
    wall_ns: u64,
    /// Processor time of the calling thread in nanoseconds.
    cpu_ns: u64,
}

impl ClockPair {
    fn now() -> Self {
        Self {
            wall_ns: read_clock_ns(ClockId::Monotonic),
            cpu_ns: read_clock_ns(ClockId::ThreadCPUTime),
        }
    }
}

impl Lateness {
    /// Creates an empty record with space for `ticks` due times, whose memory pages are already
    /// allocated.
    fn preallocate(ticks: u64) -> Lateness {
        let (due_ns, late_ns) = (1, 1);
        let mut begun = vec![MetDueTime { due_ns, late_ns }; ticks as usize + 1];
        begun.clear();
        Lateness {
            begun,
            ..Lateness::default()
        }
    }

    /// Records a due time at which the thread began. WHY a limit: a run that goes on must not
    /// allocate.
    fn record(&mut self, due_ns: u64, late_ns: u64) {
        if self.begun.len() < self.begun.capacity() {
            self.begun.push(MetDueTime { due_ns, late_ns });
        }
        if self.begun.len() == 1 {
            self.ends[0] = ClockPair::now();
        }
    }

    /// Creates a row. In it, `sent` is the number of due times, `received` the number of due times
    /// at which the thread began, and `lost` the number of those that it skipped. A skipped due
    /// time also has a lateness: the time until the thread next began, even if that was for an
    /// earlier due time. WHY: a thread that was stopped for ten of its periods was late ten times.
    fn row(&self, id: &str, plan: &LatenessPlan) -> Row {
        let [first, last] = self.ends;
        let wall_ns = last.wall_ns.saturating_sub(first.wall_ns).max(1) as f64;
        let cpu_ns = last.cpu_ns.saturating_sub(first.cpu_ns) as f64;
        let mut row = self.row_of_selected_due_times(id, plan, |_| true);
        // WHY without lateness: it is a row of its own, and that of two ticks says nothing of all.
        let late_ns = |begun: Option<&MetDueTime>| begun.map_or(0.0, |begun| begun.late_ns as f64);
        let later_ns = late_ns(self.begun.last()) - late_ns(self.begun.first());
        let there_were = (wall_ns - later_ns) * f64::from(plan.hz) / 1e9;
        row.additional.cpu_percent = Some(cpu_ns / wall_ns * 100.0);
        // WHY minus 1: between `sent` due times there are `sent - 1` periods.
        row.additional.drift_ticks =
            Some(row.sent_messages().saturating_sub(1) as f64 - there_were);
        row
    }

    /// Creates a row from the due times for which `is_wanted` returns true.
    fn row_of_selected_due_times(
        &self,
        id: &str,
        plan: &LatenessPlan,
        is_wanted: impl Fn(u64) -> bool,
    ) -> Row {
        let period_ns = plan.period_ns();
        let mut samples = Samples::new();
        let mut received = 0;
        let first = self.begun.first().copied().unwrap_or_default();
        let mut last = MetDueTime {
            due_ns: first.due_ns.saturating_sub(period_ns),
            late_ns: 0,
        };
        for &begun in &self.begun {
            // WHY half a period: a due time is a whole nanosecond, and may be rounded down.
            let periods = (begun.due_ns - last.due_ns + period_ns / 2) / period_ns;
            for ago in (0..periods.max(1)).rev() {
                let due_ns = begun.due_ns - ago * period_ns;
                let next = if last.begin_ns() < due_ns {
                    begun
                } else {
                    last
                };
                if is_wanted(due_ns) {
                    samples.record(next.begin_ns() - due_ns);
                    received += u64::from(ago == 0);
                }
            }
            last = begun;
        }
        Row::from_samples(id, &samples, 1.0).with_counts(samples.count(), received)
    }
}

/// A node that records how late each of its ticks starts. It stops the scheduler when it has enough
/// records.
struct LatenessRecorder {
    lateness: Lateness,
    duration_ns: u64,
    told: mpsc::Sender<Lateness>,
}

impl Node for LatenessRecorder {
    fn tick(&mut self, context: &mut Context<'_>) -> NodeResult {
        let due_ns = context.scheduled_ns();
        let lateness = &mut self.lateness;
        lateness.record(due_ns, context.lateness().as_nanos() as u64);
        // WHY half a period: a due time is a whole nanosecond, and may be rounded down.
        let half = context.period().as_nanos() as u64 / 2;
        if due_ns + half >= lateness.begun[0].due_ns.saturating_add(self.duration_ns) {
            lateness.ends[1] = ClockPair::now();
            context.stop();
            self.told.send(std::mem::take(lateness))?;
        }
        Ok(())
    }
}

/// Measures the lateness of a scheduler's node that has a rate, a core and a priority.
fn measure_lateness_of_node(plan: &LatenessPlan, namespace: &Arc<Namespace>) -> Outcome<Lateness> {
    let (told, answer) = mpsc::channel();
    let recorder = LatenessRecorder {
        lateness: Lateness::preallocate(plan.ticks),
        duration_ns: plan.duration_ns(),
        told,
    };
    let mut scheduler = Scheduler::new();
    scheduler.namespace(namespace);
    // The events are not needed: the row has all results.
    scheduler.on_event(|_| {});
    let builder = scheduler.node("punctual").rate(plan.rate());
    // WHY so patient: on a machine that stands still now and then, that is to be measured.
    let builder = builder.on_miss(MissPolicy::Warn).watchdog(WATCHDOG_TIMEOUT);
    let builder = builder.core(plan.cpu).priority(THREAD_PRIORITY);
    match plan.awake {
        true => builder.stay_awake().build(recorder)?,
        false => builder.build(recorder)?,
    }
    let report = scheduler.run_for(plan.duration_max())?;
    let mut lateness = answer.try_recv().map_err(|_| {
        let reason = &report.reason;
        let limit = plan.duration_max();
        format!("the node was not done after {limit:?} at most: the scheduler ended: {reason:?}")
    })?;
    let node = report.nodes.first();
    let node = node.ok_or("the scheduler does not report the node")?;
    lateness.refused.clone_from(&node.refused);
    let skipped = lateness
        .row_of_selected_due_times("", plan, |_| true)
        .lost_messages();
    let seen = (lateness.begun.len() as u64, skipped);
    let told = (node.metrics.ticks, node.metrics.skipped_ticks);
    // The scheduler may have skipped more due times after the last tick that the node recorded.
    if seen.0 != told.0 || seen.1 > told.1 {
        return Err(format!("{seen:?} ticks and passed over, the scheduler says {told:?}").into());
    }
    Ok(lateness)
}

/// Measures the floor: the lateness of a thread with the same core and priority as the node. The
/// thread only sleeps until each due time.
fn measure_lateness_of_sleep(plan: LatenessPlan) -> Outcome<Lateness> {
    run_in_thread("floor", move || sleep_until_due_times(&plan))
}

fn sleep_until_due_times(plan: &LatenessPlan) -> Lateness {
    let mut lateness = Lateness::preallocate(plan.ticks);
    lateness.refused = make_thread_real_time(plan.cpu, THREAD_PRIORITY);
    let awake = plan.awake.then(CpuAwakeRequest::new).transpose();
    if let Err(error) = &awake {
        let refused = format!("processors that stay awake: {error}");
        lateness.refused.push(refused);
    }
    let clock = Clock::kernel();
    let mut skipped = 0;
    let mut timeline = Timeline::new(clock.now_ns() + plan.period_ns(), plan.rate());
    loop {
        let due_ns = timeline.due_ns();
        sleep_until(due_ns);
        let now_ns = clock.now_ns();
        if now_ns < due_ns {
            // A signal.
            continue;
        }
        lateness.record(due_ns, now_ns - due_ns);
        if lateness.begun.len() as u64 + skipped >= plan.ticks {
            // WHY before `advance`: due times skipped after the last tick are not between `ends`.
            lateness.ends[1] = ClockPair::now();
            return lateness;
        }
        skipped += timeline.advance(now_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::steal::QuietWindows;
    use crate::run::namespace::PrivateNamespace;

    fn plan() -> LatenessPlan {
        LatenessPlan {
            hz: 1000,
            ticks: 20,
            cpu: crate::measure::pin::allowed_cpus().unwrap()[0],
            awake: false,
        }
    }

    fn met((due_ms, late_ns): (u64, u64)) -> MetDueTime {
        let due_ns = due_ms * 1_000_000;
        MetDueTime { due_ns, late_ns }
    }

    /// Returns the lateness of ten due times at 1 kHz, starting at 5 ms. Two of them were skipped.
    /// The last one began 500 us late, so that the two before it were 1.5 and 2.5 ms late.
    fn lateness() -> Lateness {
        let stamp = |wall_ns, cpu_ns| ClockPair { wall_ns, cpu_ns };
        let ends = [stamp(5_000_000, 100_000), stamp(14_500_000, 575_000)];
        let in_time = (5..12).map(|due_ms| (due_ms, 10));
        Lateness {
            begun: in_time.chain([(14, 500_010)]).map(met).collect(),
            ends,
            refused: Vec::new(),
        }
    }

    #[test]
    fn the_figures_are_those_of_the_formulas() {
        let row = lateness().row("x", &plan());
        assert_eq!(
            (
                row.sent_messages(),
                row.received_messages(),
                row.lost_messages()
            ),
            (10, 8, 2)
        );
        assert_eq!(row.additional.cpu_percent, Some(5.0));
        assert_eq!(row.additional.drift_ticks, Some(0.0));
        let ns = row.ns.unwrap();
        assert_eq!((ns.p50, (ns.max / 1e3).round()), (10.0, 2500.0));
    }

    #[test]
    fn what_is_passed_over_is_as_late_as_the_begin_after_it() {
        // Due at 1, 2, 3 and 4 ms: the first begins at 2.4 ms and so late for the second as well,
        // the third is passed over while it runs, and the fourth begins at 4.1 ms.
        let mut lateness = lateness();
        lateness.begun = [(1, 1_400_000), (4, 100_000)].map(met).to_vec();
        let row = lateness.row("x", &plan());
        assert_eq!(
            (
                row.sent_messages(),
                row.received_messages(),
                row.lost_messages()
            ),
            (4, 2, 2)
        );
        let ns = row.ns.unwrap();
        let us = [ns.min, ns.p50, ns.mean, ns.max].map(|ns| (ns / 1e3).round());
        // 100, 400, 1100 and 1400.
        assert_eq!(us, [100.0, 400.0, 750.0, 1400.0]);
    }

    #[test]
    fn a_row_of_quiet_windows_has_what_was_due_in_them() {
        let quiet = |quiet| QuietWindows { quiet, all: 3 };
        let row = |windows: QuietWindows| {
            lateness().row_of_selected_due_times("x", &plan(), |due_ns| windows.is_quiet_at(due_ns))
        };
        assert_eq!(row(quiet(vec![])).sent_messages(), 0);
        let row = row(quiet(vec![5_000_000..7_000_000, 12_500_000..15_000_000]));
        assert_eq!(
            (
                row.sent_messages(),
                row.received_messages(),
                row.lost_messages()
            ),
            (4, 3, 1)
        );
        assert_eq!((row.ns.unwrap().max / 1e3).round(), 1500.0);
    }

    #[test]
    fn every_due_time_is_met_or_passed_over() {
        let private = PrivateNamespace::create().unwrap();
        let namespace = private.open().unwrap();
        for lateness in [
            measure_lateness_of_node(&plan(), &namespace).unwrap(),
            measure_lateness_of_sleep(plan()).unwrap(),
        ] {
            let row = lateness.row("x", &plan());
            assert!(
                row.sent_messages() >= plan().ticks
                    && row.received_messages() == lateness.begun.len() as u64
            );
            assert!(row.additional.cpu_percent.unwrap() > 0.0);
        }
    }
}
