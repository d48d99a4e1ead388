//! How late a thread is that has to do something at exact times: a node of the scheduler, and the
//! kernel's sleep alone.

use std::error::Error;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use horus_core::scheduler::{Context, Miss, Node, NodeResult, Rate, Scheduler, Timeline};
use horus_shm::Namespace;
use horus_shm::clock::{Clock, sleep_until};
use horus_shm::rt::{self, Awake};

use crate::figures::Figures;
use crate::report::Row;
use crate::stats::Samples;

/// How long a tick may take before the scheduler calls its node stuck.
const WATCHDOG: Duration = Duration::from_secs(1);

/// Who is to be in time, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LatenessPlan {
    /// Due times in a second.
    pub hz: u32,
    /// Due times in all; at least two.
    pub ticks: u64,
    /// Where the thread stays.
    pub cpu: usize,
    /// Its priority under SCHED_FIFO, 1 to 99.
    pub priority: u8,
    /// The machine's processors are kept from sleeping.
    pub awake: bool,
}

impl LatenessPlan {
    fn rate(&self) -> Rate {
        Rate::hz(f64::from(self.hz))
    }

    /// From the first due time to the last.
    fn duration_ns(&self) -> u64 {
        self.ticks.saturating_sub(1).saturating_mul(1_000_000_000 / u64::from(self.hz))
    }

    /// How long a scheduler may take for it before something is wrong.
    fn limit(&self) -> Duration {
        Duration::from_nanos(self.duration_ns()) * 2 + Duration::from_secs(10)
    }
}

/// How late a thread was.
#[derive(Debug, Clone, PartialEq)]
pub struct Lateness {
    /// How much later than due it began, each time, in nanoseconds.
    late_ns: Vec<u64>,
    /// Due times at which it did not begin at all.
    passed_over: u64,
    /// Both clocks at the first and at the last tick.
    ends: [Stamp; 2],
    /// What it was to have and could not, with the reason.
    pub refused: Vec<String>,
}

/// What two clocks say at one moment, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Stamp {
    /// CLOCK_MONOTONIC.
    wall_ns: u64,
    /// Processor time of the calling thread.
    cpu_ns: u64,
}

impl Stamp {
    fn now() -> Self {
        Self { wall_ns: read(libc::CLOCK_MONOTONIC), cpu_ns: read(libc::CLOCK_THREAD_CPUTIME_ID) }
    }
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is ours and outlives the call, and Linux has both clocks.
    unsafe { libc::clock_gettime(clock, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

impl Lateness {
    /// A row of it: sent are the due times, received those at which the thread began, lost those
    /// that it passed over.
    pub fn row(&self, id: &str, plan: &LatenessPlan) -> Row {
        let mut samples = Samples::new();
        self.late_ns.iter().for_each(|&ns| samples.record(ns));
        let [first, last] = self.ends;
        let wall_ns = last.wall_ns.saturating_sub(first.wall_ns).max(1) as f64;
        let cpu_ns = last.cpu_ns.saturating_sub(first.cpu_ns) as f64;
        let due = samples.count() + self.passed_over;
        // WHY without lateness: it is a row of its own, and that of two ticks says nothing of all.
        let late_ns = |late: Option<&u64>| late.copied().unwrap_or(0) as f64;
        let later_ns = late_ns(self.late_ns.last()) - late_ns(self.late_ns.first());
        let there_were = (wall_ns - later_ns) * f64::from(plan.hz) / 1e9;
        let figures = Figures {
            cpu_percent: Some(cpu_ns / wall_ns * 100.0),
            // WHY one less: of so many due times the last is one less periods after the first.
            drift_ticks: Some(due.saturating_sub(1) as f64 - there_were),
            ..Figures::default()
        };
        let row = Row::samples(id, &samples, 1.0);
        Row { sent: due, lost: self.passed_over, figures, ..row }
    }
}

/// A node that notes how late it is, and stops the scheduler when it has done so for long enough.
struct Punctual {
    late_ns: Vec<u64>,
    first: Option<(u64, Stamp)>,
    duration_ns: u64,
    told: mpsc::Sender<(Vec<u64>, [Stamp; 2])>,
}

impl Node for Punctual {
    fn tick(&mut self, context: &mut Context<'_>) -> NodeResult {
        // WHY a limit: a run that goes on must not allocate.
        if self.late_ns.len() < self.late_ns.capacity() {
            self.late_ns.push(context.lateness().as_nanos() as u64);
        }
        let due_ns = context.scheduled_ns();
        let (first_ns, first) = *self.first.get_or_insert_with(|| (due_ns, Stamp::now()));
        // WHY half a period: a due time is a whole nanosecond, and may be rounded down.
        let half = context.period().as_nanos() as u64 / 2;
        if due_ns + half >= first_ns.saturating_add(self.duration_ns) {
            let last = Stamp::now();
            context.stop();
            self.told.send((std::mem::take(&mut self.late_ns), [first, last]))?;
        }
        Ok(())
    }
}

/// Room for so many, all of it in memory already.
fn room(ticks: u64) -> Vec<u64> {
    let mut room = vec![1; ticks as usize + 1];
    room.clear();
    room
}

/// A node of the scheduler with a rate, a core and a priority.
///
/// # Errors
///
/// What the scheduler says, or if the node did not come to its end in time.
pub fn of_node(
    plan: &LatenessPlan,
    namespace: &Arc<Namespace>,
) -> Result<Lateness, Box<dyn Error>> {
    let (told, ends) = mpsc::channel();
    let mut scheduler = Scheduler::new();
    scheduler.namespace(namespace);
    // The row says it all.
    scheduler.on_event(|_| {});
    let builder = scheduler.node("punctual").rate(plan.rate());
    // WHY so patient: on a machine that stands still now and then, that is to be measured.
    let builder = builder.on_miss(Miss::Warn).watchdog(WATCHDOG);
    let builder = if plan.awake { builder.stay_awake() } else { builder };
    builder.core(plan.cpu).priority(plan.priority).build(Punctual {
        late_ns: room(plan.ticks),
        first: None,
        duration_ns: plan.duration_ns(),
        told,
    })?;
    let report = scheduler.run_for(plan.limit())?;
    let node = report.nodes.first().ok_or("the scheduler does not report the node")?;
    let (late_ns, ends) = ends.try_recv().map_err(|_| {
        let (reason, limit) = (&report.reason, plan.limit());
        format!("the node was not done after {limit:?} at most: the scheduler ended: {reason:?}")
    })?;
    if late_ns.len() as u64 != node.figures.ticks {
        let told = node.figures.ticks;
        return Err(format!("{} ticks, and the scheduler says {told}", late_ns.len()).into());
    }
    let (passed_over, refused) = (node.figures.passed_over, node.refused.clone());
    Ok(Lateness { late_ns, passed_over, ends, refused })
}

/// The floor: a thread with the same core and priority that sleeps until each due time, and does
/// nothing else.
///
/// # Errors
///
/// If the thread cannot be started.
pub fn of_sleep(plan: LatenessPlan) -> Result<Lateness, Box<dyn Error>> {
    let thread = thread::Builder::new().name("floor".to_owned());
    let sleeper = thread.spawn(move || sleep_at(&plan))?;
    sleeper.join().map_err(|_| "the floor's thread panicked".into())
}

fn sleep_at(plan: &LatenessPlan) -> Lateness {
    let mut refused = Vec::new();
    if let Err(error) = rt::pin_to(plan.cpu) {
        refused.push(format!("core {}: {error}", plan.cpu));
    }
    if let Err(error) = rt::run_first(plan.priority) {
        refused.push(format!("priority {} (SCHED_FIFO): {error}", plan.priority));
    }
    let awake = plan.awake.then(Awake::keep).transpose();
    if let Err(error) = &awake {
        refused.push(format!("processors that stay awake: {error}"));
    }
    let (clock, mut late_ns, mut passed_over) = (Clock::kernel(), room(plan.ticks), 0);
    let period_ns = 1_000_000_000 / u64::from(plan.hz);
    let mut timeline = Timeline::new(clock.now_ns() + period_ns, plan.rate());
    let mut ends = [Stamp::default(); 2];
    loop {
        let due_ns = timeline.due_ns();
        sleep_until(due_ns);
        let now_ns = clock.now_ns();
        if now_ns < due_ns {
            // A signal.
            continue;
        }
        late_ns.push(now_ns - due_ns);
        if late_ns.len() == 1 {
            ends[0] = Stamp::now();
        }
        if late_ns.len() as u64 + passed_over >= plan.ticks {
            // WHY before going on: what is passed over after the last tick is not between the two.
            ends[1] = Stamp::now();
            break;
        }
        passed_over += timeline.advance(now_ns);
    }
    Lateness { late_ns, passed_over, ends, refused }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::namespace::PrivateNamespace;

    fn plan() -> LatenessPlan {
        let cpu = crate::pin::allowed_cpus().unwrap()[0];
        LatenessPlan { hz: 1000, ticks: 20, cpu, priority: 80, awake: false }
    }

    #[test]
    fn the_figures_are_those_of_the_formulas() {
        let stamp = |wall_ns, cpu_ns| Stamp { wall_ns, cpu_ns };
        let ends = [stamp(5_000_000, 100_000), stamp(14_500_000, 575_000)];
        let late_ns = [&[10; 7][..], &[500_010]].concat();
        let refused = Vec::new();
        let lateness = Lateness { late_ns, passed_over: 2, ends, refused };
        let row = lateness.row("x", &plan());
        assert_eq!((row.sent, row.received, row.lost), (10, 8, 2));
        assert_eq!(row.figures.cpu_percent, Some(5.0));
        assert_eq!(row.figures.drift_ticks, Some(0.0));
        assert_eq!((row.ns.unwrap().p50, row.ns.unwrap().max), (10.0, 500_010.0));
    }

    #[test]
    fn every_due_time_is_met_or_passed_over() {
        let private = PrivateNamespace::create().unwrap();
        let namespace = private.open().unwrap();
        for lateness in [of_node(&plan(), &namespace).unwrap(), of_sleep(plan()).unwrap()] {
            let row = lateness.row("x", &plan());
            assert!(row.sent >= plan().ticks && row.sent == row.received + row.lost);
            assert!(row.figures.cpu_percent.unwrap() > 0.0);
        }
    }
}
