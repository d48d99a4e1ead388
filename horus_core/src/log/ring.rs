//! The ring of a process's log: a topic with a few lanes, which is kept after the process has
//! ended.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::SystemTime;

use horus_shm::clock::Clock;
use horus_shm::topic_names;

use super::error::LogError;
use super::topic_path::LogName;
use crate::introspect::Inspector;
use crate::message::{LogLine, LogLineHeader};
use crate::namespace::{Namespace, NamespaceConfig, remove_topic};
use crate::topic::error::TopicError;
use crate::topic::{Publisher, Qos, Subscriber, Topic, TopicBuilder};

/// Number of lanes of a log's topic. A thread writes to the first lane that no other thread uses at
/// that moment.
///
/// WHY not a lane for each thread: opening a lane takes a millisecond and memory, which is too much
/// for the first line of a real-time thread. WHY four lanes: a line is lost only if four other
/// threads were interrupted within the same fraction of a microsecond while they wrote a line.
const RING_LANES: u32 = 4;
/// The longest time for which a thread waits for the first lane before it takes another one, in
/// nanoseconds. WHY: the first lane keeps the most lines, and writing a line takes about 300 ns.
const FIRST_LANE_WAIT_MAX_NS: u64 = 1000;
/// The longest time for which a thread waits for a lane, in nanoseconds. After that, its line is
/// lost. WHY it waits: the threads that have the lanes are probably just writing their lines.
const LANE_WAIT_MAX_NS: u64 = 10_000;
/// The number of slots of the first lane, divided by the number of slots of each other lane.
const FIRST_LANE_CAPACITY_FACTOR: u64 = 8;

/// The largest number of lines that [`LogRing::print_deferred_lines`] holds at the same time. WHY a
/// limit: the ring may be large, and the lines that are held need memory.
const LINES_PER_BATCH_MAX: usize = 4096;

/// The largest number of lines that a log can be made to keep: with more, a lane would have more
/// slots than a topic permits.
pub(super) const LOG_LINES_MAX: u32 = 917_504;

/// The largest number of logs of dead processes that are kept for one program.
const LOGS_OF_DEAD_PROCESSES_PER_PROGRAM_MAX: usize = 4;
/// The largest number of logs of dead processes that are kept for all programs together.
const LOGS_OF_DEAD_PROCESSES_MAX: usize = 32;

/// The namespace and size of the topic that holds a process's log lines.
#[derive(Debug)]
pub(super) struct RingSettings {
    /// The settings of the topic's namespace. WHY not the open namespace: a forked child has to
    /// open it again.
    pub(super) config: NamespaceConfig,
    pub(super) program: String,
    /// The topic keeps at least this number of its last lines.
    pub(super) lines: u32,
}

/// The topic in shared memory that holds the log lines of this process, as a ring buffer.
#[derive(Debug)]
pub(super) struct LogRing {
    process_id: u32,
    lanes: Vec<Mutex<Publisher<LogLine>>>,
    /// Number of slots of all lanes together.
    slots: u64,
    /// Number of lines that this process has logged so far, including those that were lost.
    lines: AtomicU64,
    /// Number of lines that threads have logged so far and left to another thread to print. It
    /// wraps around.
    deferred: AtomicU32,
    own_reader: Mutex<OwnProcessLogReader>,
}

/// Reads the lines that this process has logged. One thread uses it to print the lines of the
/// threads that must not wait for stderr.
#[derive(Debug)]
pub(super) struct OwnProcessLogReader {
    observer: Subscriber<LogLine>,
    /// The value of [`LogRing::deferred`] before the last time that all lines were read. WHY not
    /// `printed`: a line may be printed before it is counted.
    seen: u32,
    /// Number of deferred lines that have been handled: printed, or reported as not printed. It
    /// wraps around.
    printed: u32,
}

impl LogRing {
    /// Creates the topic for the log of this process, and removes old logs of dead processes.
    /// Blocks for some milliseconds.
    pub(super) fn open(settings: &RingSettings) -> Result<Self, LogError> {
        let namespace = Namespace::open(&settings.config)?;
        remove_old_logs(&namespace);
        let process_id = std::process::id();
        let start_us = system_time_us();
        let name = LogName::new(&settings.program, process_id, start_us).to_string();
        let lines = u64::from(settings.lines);
        let slots = [1, FIRST_LANE_CAPACITY_FACTOR].map(|factor| slots_for_lines(lines / factor));
        let lanes = (0..RING_LANES).map(|lane| {
            let slots = slots[usize::from(lane != 0)];
            log_topic_builder(&namespace, &name)
                .qos(ring_qos(slots))
                .publisher()
        });
        let lanes = lanes.collect::<Result<Vec<_>, TopicError>>()?;
        // WHY: no line may cost a real-time thread a page fault.
        lanes.iter().for_each(Publisher::prefault);
        Ok(Self {
            process_id,
            lanes: lanes.into_iter().map(Mutex::new).collect(),
            slots: slots[0] + u64::from(RING_LANES - 1) * slots[1],
            lines: AtomicU64::new(0),
            deferred: AtomicU32::new(0),
            own_reader: Mutex::new(OwnProcessLogReader {
                observer: log_topic_builder(&namespace, &name).observer()?,
                seen: 0,
                printed: 0,
            }),
        })
    }

    /// Writes a line into a lane to which no other thread writes at this moment. Does not block,
    /// and allocates no memory. Makes no system call, unless a subscriber sleeps until a line
    /// arrives. Spins for some hundred nanoseconds while other threads write their lines, and for
    /// at most 10 µs if these were interrupted.
    pub(super) fn write(&self, mut header: LogLineHeader, text: &[u8]) {
        header.process_id = self.process_id;
        // Relaxed: each number is given once, and orders nothing else.
        header.sequence = self.lines.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(mut lane) = self.lock_idle_lane() {
            // WHY errors are ignored: a loan fails if the file was truncated, and the log itself
            // would be the place to report that.
            if let Ok(mut loan) = lane.loan(header) {
                loan.data_mut().copy_from_slice(text);
                let _ = loan.publish();
            }
        }
        if header.is_deferred != 0 {
            // ORDERING(deferred): Release. Pairs with the load in `print_deferred_lines`: a thread
            // that sees the count finds the line.
            self.deferred.fetch_add(1, Ordering::Release);
        }
    }

    /// Locks a lane to which no other thread writes. Returns `None` if there is none for 10 µs.
    fn lock_idle_lane(&self) -> Option<MutexGuard<'_, Publisher<LogLine>>> {
        let first_lane = self.lanes.first()?;
        if let Some(lane) = try_lock(first_lane) {
            return Some(lane);
        }
        let clock = Clock::kernel();
        let begin_ns = clock.now_ns();
        loop {
            let waited_ns = clock.now_ns().saturating_sub(begin_ns);
            let lane = if waited_ns < FIRST_LANE_WAIT_MAX_NS {
                try_lock(first_lane)
            } else {
                self.lanes.iter().find_map(try_lock)
            };
            if lane.is_some() || waited_ns >= LANE_WAIT_MAX_NS {
                return lane;
            }
            std::hint::spin_loop();
        }
    }

    /// Calls `print` for each line that another thread has logged without printing it. If some of
    /// these lines were overwritten before they could be printed, calls `report` with their number.
    /// Returns at once if another thread is in this call. Costs two atomic loads if there are no
    /// such lines. Leaves lines for the next call if they arrive as fast as they are printed.
    pub(super) fn print_deferred_lines(&self, print: impl Fn(&LogLine), report: impl Fn(u32)) {
        let Some(mut own) = try_lock(&self.own_reader) else {
            return;
        };
        // ORDERING(deferred): Acquire. Pairs with the addition in `write`.
        let deferred = self.deferred.load(Ordering::Acquire);
        if own.seen == deferred || !own.print_until_all_are_read(self.slots, print) {
            return;
        }
        own.seen = deferred;
        let missing = deferred.wrapping_sub(own.printed);
        // More were printed than were counted if one came meanwhile, or after it was reported.
        if missing != 0 && missing < u32::MAX / 2 {
            report(missing);
            own.printed = deferred;
        }
    }
}

impl OwnProcessLogReader {
    /// Reads at most `lines_max` lines, and calls `print` for each line that another thread has
    /// logged without printing it. Returns true if no unread line is left.
    fn print_until_all_are_read(&mut self, lines_max: u64, print: impl Fn(&LogLine)) -> bool {
        let mut lines_read = 0;
        while lines_read < lines_max {
            let mut batch: Vec<_> = self.observer.try_iter().take(LINES_PER_BATCH_MAX).collect();
            lines_read += batch.len() as u64;
            let was_last = batch.len() < LINES_PER_BATCH_MAX;
            batch.retain(|line| line.is_deferred != 0);
            batch.sort_by_key(|line| line.sequence);
            batch.iter().for_each(&print);
            self.printed = self.printed.wrapping_add(batch.len() as u32);
            if was_last {
                return true;
            }
        }
        false
    }
}

/// Locks the mutex without waiting. Returns `None` if another thread holds the lock.
fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(value) => Some(value),
        // A panic cannot leave the value half-changed.
        Err(TryLockError::Poisoned(value)) => Some(PoisonError::into_inner(value)),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Returns the number of slots that a lane needs so that a reader that opens the log later gets at
/// least the last `lines` lines. An eighth of the slots is kept free for the publisher.
fn slots_for_lines(lines: u64) -> u64 {
    (lines * 8).div_ceil(7).max(16).next_power_of_two()
}

fn ring_qos(slots: u64) -> Qos {
    let history = slots / 8 * 7;
    Qos::sensor_data()
        .capacity(slots)
        .history(history as u32)
        .persist_after_exit(true)
        .continue_history()
        .publishers_max(RING_LANES)
}

pub(super) fn log_topic_builder(namespace: &Arc<Namespace>, name: &str) -> TopicBuilder<LogLine> {
    // WHY strict: a reader passes over the logs of other versions.
    let topic = Topic::builder(name).namespace(namespace);
    topic.qos(Qos::new().strict(true))
}

/// Returns the time of the system clock, in microseconds since 1970. WHY not the clock of messages:
/// a simulated time may be the same in each run.
fn system_time_us() -> u64 {
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    time.unwrap_or_default().as_micros() as u64
}

/// Removes the oldest logs of dead processes, so that only the permitted numbers are kept. Their
/// order is that of their last lines.
///
/// WHY a limit for each program: a program that ends and starts again and again must not displace
/// the logs of all others.
fn remove_old_logs(namespace: &Arc<Namespace>) {
    // WHY errors are ignored: the next process tries it again.
    let Ok(names) = topic_names(namespace) else {
        return;
    };
    let logs = names
        .iter()
        .filter_map(|name| LogName::parse(name.as_str()));
    let mut dead: Vec<_> = logs
        .filter(|log| is_log_of_dead_process(namespace, log))
        .collect();
    dead.sort_by_cached_key(|log| last_line_time_us(namespace, log));
    let mut of_program: HashMap<&str, usize> = HashMap::new();
    for (newer, log) in dead.iter().rev().enumerate() {
        let of_program = of_program.entry(&log.program).or_default();
        *of_program += 1;
        if newer >= LOGS_OF_DEAD_PROCESSES_MAX
            || *of_program > LOGS_OF_DEAD_PROCESSES_PER_PROGRAM_MAX
        {
            let _ = remove_topic(namespace, &log.to_string());
        }
    }
}

/// Returns the time of the last line of a log, in nanoseconds of the monotonic clock, or 0 if there
/// is none. Costs some 50 µs.
///
/// WHY not the time in the name of the log: the system clock may have been set back since then.
fn last_line_time_us(namespace: &Arc<Namespace>, log: &LogName) -> u64 {
    let topic = log_topic_builder(namespace, &log.to_string());
    let line = topic.observer().ok().and_then(|mut lines| lines.latest());
    line.map_or(0, |line| line.monotonic_ns)
}

/// Returns true if the process that wrote the log `log` has ended. Costs some 40 µs.
fn is_log_of_dead_process(namespace: &Arc<Namespace>, log: &LogName) -> bool {
    let topic = Inspector::open_in(namespace, &log.to_string());
    topic.is_ok_and(|topic| {
        topic
            .publishers()
            .iter()
            .all(|lane| lane.publisher.is_none())
    })
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::ops::Range;
    use std::thread;
    use std::time::{Duration, Instant};

    use horus_shm::internals::layout::LANE_CAPACITY_MAX;
    use horus_testing::thread_cpu_time;

    use super::*;
    use crate::namespace::NamespaceName;

    /// Opens a ring for `lines` lines, and writes `deferred` lines that nobody has printed.
    fn ring_with(lines: u32, deferred: u64) -> (tempfile::TempDir, LogRing) {
        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        let ring = LogRing::open(&RingSettings {
            config: NamespaceConfig::new(dir.path().join("shm"), NamespaceName::default()),
            program: "program".to_owned(),
            lines,
        });
        let ring = ring.unwrap();
        let header = LogLineHeader {
            is_deferred: 1,
            ..LogLineHeader::default()
        };
        (0..deferred).for_each(|_| ring.write(header, b""));
        (dir, ring)
    }

    /// Returns the numbers of the lines that one call prints, and the sum of what it reports.
    fn print_once(ring: &LogRing) -> (Vec<u64>, u32) {
        let printed = RefCell::new(Vec::new());
        let missing = Cell::new(0);
        ring.print_deferred_lines(
            |line| printed.borrow_mut().push(line.sequence),
            |count| missing.set(missing.get() + count),
        );
        (printed.into_inner(), missing.get())
    }

    #[test]
    fn a_call_prints_all_lines_of_a_large_ring() {
        let (_dir, ring) = ring_with(20_000, 20_000);
        let (printed, missing) = print_once(&ring);
        assert_eq!((printed.len(), missing), (20_000, 0));
        assert!(printed.iter().copied().eq(1..=20_000));
        assert_eq!(print_once(&ring), (Vec::new(), 0));
    }

    #[test]
    fn only_overwritten_lines_are_reported_as_missing() {
        let (_dir, ring) = ring_with(10_000, 50_000);
        let (printed, missing) = print_once(&ring);
        assert!(printed.len() >= 10_000, "{}", printed.len());
        assert_eq!(printed.len() as u32 + missing, 50_000);
        assert_eq!(printed.last(), Some(&50_000));
        assert_eq!(print_once(&ring), (Vec::new(), 0));
    }

    /// Writes lines while another thread holds the lanes `held` for about a microsecond. Returns
    /// true once 20 such lines in succession were written into the lanes `wanted`, and false if
    /// that never happens.
    fn are_written_into(wanted: Range<usize>, held: Range<usize>) -> bool {
        let (_dir, ring) = ring_with(16, 0);
        // The numbers of the last lines that the writer may begin, has begun, and has written.
        let [permitted, begun, written] = [const { AtomicU64::new(0) }; 3];
        let await_line = |count: &AtomicU64, line| {
            while count.load(Ordering::Relaxed) < line {
                std::hint::spin_loop();
            }
        };
        // WHY the CPU time: both threads have to run at once, also on a busy machine.
        let end = thread_cpu_time() + Duration::from_secs(20);
        let mut successes = 0;
        thread::scope(|scope| {
            scope.spawn(|| {
                for line in 1.. {
                    await_line(&permitted, line);
                    if permitted.load(Ordering::Relaxed) == u64::MAX {
                        break;
                    }
                    begun.store(line, Ordering::Relaxed);
                    ring.write(LogLineHeader::default(), b"");
                    written.store(line, Ordering::Relaxed);
                }
            });
            for line in 1.. {
                let before = sent(&ring, wanted.clone());
                let guards: Vec<_> = ring.lanes[held.clone()].iter().map(try_lock).collect();
                permitted.store(line, Ordering::Relaxed);
                await_line(&begun, line);
                let begin = Instant::now();
                while begin.elapsed() < Duration::from_nanos(500) {}
                drop(guards);
                await_line(&written, line);
                let is_written = sent(&ring, wanted.clone()) == before + 1;
                successes = if is_written { successes + 1 } else { 0 };
                if successes == 20 || thread_cpu_time() > end {
                    break;
                }
            }
            permitted.store(u64::MAX, Ordering::Relaxed);
        });
        successes == 20
    }

    #[test]
    fn a_line_waits_for_threads_that_are_just_writing_theirs() {
        assert!(are_written_into(0..4, 0..4), "lines were lost");
    }

    #[test]
    fn a_line_waits_for_the_first_lane_which_keeps_the_most_lines() {
        assert!(are_written_into(0..1, 0..1), "it took another lane");
    }

    /// Returns the number of lines in some lanes of the ring.
    fn sent(ring: &LogRing, lanes: Range<usize>) -> u64 {
        let lanes = ring.lanes[lanes].iter();
        lanes.map(|lane| lane.lock().unwrap().sequence()).sum()
    }

    /// On a CPU that reorders accesses, or if a lane is mapped late, a line may be found after it
    /// was reported as missing.
    #[test]
    fn a_line_that_comes_after_it_was_reported_delays_no_other_line() {
        let (_dir, ring) = ring_with(16, 0);
        let header = LogLineHeader {
            is_deferred: 1,
            ..LogLineHeader::default()
        };
        ring.deferred.fetch_add(1, Ordering::Relaxed);
        assert_eq!(print_once(&ring), (Vec::new(), 1));
        let mut late = ring.lanes[1].lock().unwrap();
        late.loan(header).unwrap().publish().unwrap();
        drop(late);

        ring.write(header, b"");
        assert_eq!(print_once(&ring), (vec![0, 1], 0));
        ring.write(header, b"");
        assert_eq!(print_once(&ring), (vec![2], 0));
    }

    #[test]
    fn the_largest_log_fits_into_a_topic() {
        assert!(slots_for_lines(LOG_LINES_MAX.into()) <= LANE_CAPACITY_MAX);
        assert!(slots_for_lines(u64::from(LOG_LINES_MAX) + 1) > LANE_CAPACITY_MAX);
    }
}
