//! Measures stalls: times in which a CPU does not even run the thread with the highest priority,
//! because the kernel, the firmware or a hypervisor uses the CPU. During a stall, no thread can
//! start on time.

use std::thread;
use std::time::Duration;

use horus_shm::clock::Clock;
use horus_shm::rt;

use crate::measure::stats::Samples;
use crate::report::rows::Row;
use crate::scenario::entry::Outcome;

/// Minimum time between two readings of the clock that counts as a stall, in nanoseconds.
const STALL_MIN_NS: u64 = 5_000;
/// Minimum lateness that counts, in nanoseconds. A thread that becomes due during a stall is late
/// by the remaining duration of the stall.
const LATENESS_MIN_NS: u64 = 20_000;
/// Duration for which the thread looks for stalls before it sleeps for a short time. WHY: the
/// kernel stops a real-time thread that uses more than 95 % of a second, which would look like a
/// stall.
const STALL_SEARCH_TIME: Duration = Duration::from_millis(40);
/// Duration of the sleep after each search for stalls.
const SLEEP_AFTER_SEARCH: Duration = Duration::from_millis(10);

/// The stalls of a CPU that a thread found by reading the clock continuously.
#[derive(Debug, Clone, Default)]
pub(super) struct Stalls {
    samples: Samples,
    longest_ns: u64,
    looked_ns: u64,
    /// Total time in nanoseconds during which a thread that becomes due would start later than
    /// [`LATENESS_MIN_NS`].
    late_ns: u64,
    /// The thread settings that the kernel refused. Each text has the reason.
    pub(super) refused: Vec<String>,
}

impl Stalls {
    /// Looks for stalls on the processor `cpu` for about `time`. The looking thread has the
    /// priority `priority` under SCHED_FIFO.
    pub(super) fn find(cpu: usize, priority: u8, time: Duration) -> Outcome<Self> {
        run_in_thread("stalls", move || look_for_stalls(cpu, priority, time))
    }

    /// Creates a row with the id `id` from the stalls that were found.
    pub(super) fn row(&self, id: &str) -> Row {
        let mut samples = self.samples.clone();
        if samples.count() == 0 {
            // There was no stall: the longest time between two readings stands for it.
            samples.record(self.longest_ns);
        }
        let mut row = Row::from_samples(id, &samples, 1.0);
        let percent = self.late_ns as f64 / self.looked_ns.max(1) as f64 * 100.0;
        row.additional.stalled_percent = Some(percent);
        row
    }

    fn record_gap(&mut self, gap_ns: u64) {
        self.looked_ns += gap_ns;
        self.longest_ns = self.longest_ns.max(gap_ns);
        if gap_ns >= STALL_MIN_NS {
            self.samples.record(gap_ns);
            self.late_ns += gap_ns.saturating_sub(LATENESS_MIN_NS);
        }
    }
}

fn look_for_stalls(cpu: usize, priority: u8, time: Duration) -> Stalls {
    let mut stalls = Stalls {
        refused: make_thread_real_time(cpu, priority),
        ..Stalls::default()
    };
    let clock = Clock::kernel();
    let rounds = time.as_nanos() / (STALL_SEARCH_TIME + SLEEP_AFTER_SEARCH).as_nanos() + 1;
    for _ in 0..rounds {
        let begin_ns = clock.now_ns();
        let mut last_ns = begin_ns;
        while last_ns - begin_ns < STALL_SEARCH_TIME.as_nanos() as u64 {
            let now_ns = clock.now_ns();
            stalls.record_gap(now_ns - last_ns);
            last_ns = now_ns;
        }
        thread::sleep(SLEEP_AFTER_SEARCH);
    }
    stalls
}

/// Runs `work` in a new thread, and waits for its result.
pub(super) fn run_in_thread<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Outcome<T> {
    let thread = thread::Builder::new().name(name.to_owned());
    let joined = thread.spawn(work)?.join();
    joined.map_err(|_| format!("the thread '{name}' panicked").into())
}

/// Pins the calling thread to `cpu`, and gives it a priority under SCHED_FIFO. Returns the settings
/// that the kernel refused.
pub(super) fn make_thread_real_time(cpu: usize, priority: u8) -> Vec<String> {
    let pinned = rt::pin_thread_to(cpu).map_err(|error| format!("core {cpu}: {error}"));
    let first = rt::set_fifo_priority(priority)
        .map_err(|error| format!("priority {priority} (SCHED_FIFO): {error}"));
    [pinned.err(), first.err()].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_of_the_time_in_which_one_would_be_late() {
        let mut stalls = Stalls::default();
        (0..940).for_each(|_| stalls.record_gap(1000));
        stalls.record_gap(20_000);
        stalls.record_gap(40_000);
        let row = stalls.row("x");
        assert_eq!((row.sent_messages(), row.ns.unwrap().max), (2, 40_000.0));
        assert_eq!(row.additional.stalled_percent, Some(2.0));
    }

    #[test]
    fn it_looks_for_as_long_as_it_is_told() {
        let cpu = crate::measure::pin::allowed_cpus().unwrap()[0];
        let stalls = Stalls::find(cpu, 80, Duration::from_millis(60)).unwrap();
        assert!(stalls.looked_ns >= 2 * STALL_SEARCH_TIME.as_nanos() as u64);
    }
}
