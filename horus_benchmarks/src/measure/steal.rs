//! Measures steal time: CPU time that a hypervisor takes while a benchmark runs.

use std::ops::Range;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use horus_shm::clock::Clock;

use crate::Outcome;
use crate::measure::machine::CpuTimes;

/// Length of a window, for which the steal time is determined. WHY not shorter: the kernel counts
/// steal time in hundredths of a second.
pub const STEAL_WINDOW_DURATION: Duration = Duration::from_secs(5);

/// Maximum steal time of a quiet window, in hundredths of a second. WHY so little: it consists of
/// many short intervals, each of which can delay a thread.
pub const QUIET_WINDOW_STEAL_TICKS_MAX: u64 = 1;

/// The time of a reading in nanoseconds of CLOCK_MONOTONIC, and the times of a CPU.
type StealReading = (u64, CpuTimes);

/// A running thread that reads the steal time at the end of every window.
#[derive(Debug)]
pub struct StealWatch {
    /// The sender whose drop ends the thread.
    stop: Sender<()>,
    thread: JoinHandle<Vec<StealReading>>,
}

impl StealWatch {
    /// Starts a thread that reads the steal time of `cpu`.
    pub fn start(cpu: usize) -> Outcome<Self> {
        let (stop, stopped) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("steal".to_owned())
            .spawn(move || {
                let clock = Clock::kernel();
                let mut readings = Vec::new();
                loop {
                    let times = CpuTimes::read(&[cpu]);
                    readings.extend(times.map(|times| (clock.now_ns(), times)));
                    if stopped.recv_timeout(STEAL_WINDOW_DURATION) != Err(RecvTimeoutError::Timeout)
                    {
                        return readings;
                    }
                }
            })?;
        Ok(Self { stop, thread })
    }

    /// Stops the thread, and returns all windows that were complete by then.
    pub fn stop(self) -> Outcome<QuietWindows> {
        drop(self.stop);
        let readings = self.thread.join();
        let readings = readings.map_err(|_| "the thread that watches panicked")?;
        Ok(QuietWindows::from_readings(&readings))
    }
}

/// The parts of a run in which the hypervisor took almost no CPU time from the benchmark. The run
/// is divided into windows of length [`STEAL_WINDOW_DURATION`]. A window is *quiet* if its steal
/// time is at most [`QUIET_WINDOW_STEAL_TICKS_MAX`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct QuietWindows {
    /// The begin and the end of each quiet window, in nanoseconds of CLOCK_MONOTONIC.
    pub quiet: Vec<Range<u64>>,
    /// Number of all windows of the run, quiet or not.
    pub all: usize,
}

impl QuietWindows {
    /// Finds the quiet windows between readings.
    pub fn from_readings(readings: &[StealReading]) -> Self {
        let all = readings.windows(2);
        let count = all.len();
        let quiet = all.filter_map(|pair| {
            let [(begin_ns, begin), (end_ns, end)] = [pair[0], pair[1]];
            let is_quiet = end.steal.saturating_sub(begin.steal) <= QUIET_WINDOW_STEAL_TICKS_MAX;
            is_quiet.then_some(begin_ns..end_ns)
        });
        let quiet = quiet.collect();
        Self { quiet, all: count }
    }

    /// Returns true if the time `time_ns`, in nanoseconds of CLOCK_MONOTONIC, lies in a quiet
    /// window.
    pub fn is_quiet_at(&self, time_ns: u64) -> bool {
        self.quiet.iter().any(|window| window.contains(&time_ns))
    }

    /// Returns a summary of the windows, such as `3 of 12 windows of 5s, in which at most 1/100 s
    /// of the CPU was taken`.
    pub fn describe(&self) -> String {
        let (quiet, all) = (self.quiet.len(), self.all);
        format!(
            "{quiet} of {all} windows of {STEAL_WINDOW_DURATION:?}, in which at most \
             {QUIET_WINDOW_STEAL_TICKS_MAX}/100 s of the CPU was taken"
        )
    }
}
