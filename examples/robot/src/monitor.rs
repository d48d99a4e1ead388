//! The monitor: receives the messages of every topic, and prints a table of the traffic every
//! second.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use horus_core::prelude::*;
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::clock::{ClockChangeDetector, Ticker};
use crate::ledger::Latency;
use crate::measured_subscriber::MeasuredSubscriber;
use crate::report::{Report, check_reported_ledgers};
use crate::{Result, controller, imu, laser};

/// Time between two polls of the topics. Waiting for the next poll causes most of the measured
/// latency.
const POLL_PERIOD: Duration = Duration::from_micros(100);
const REPORT_PERIOD: Duration = Duration::from_secs(1);
/// Maximum change of CLOCK_REALTIME that the time service may cause during a demo. If it is larger,
/// the monitor reports that the latencies are not valid.
const CLOCK_CHANGE_MAX: Duration = Duration::from_millis(5);

pub(crate) fn run(spin: bool) -> Result<()> {
    let is_stopped = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&is_stopped))?;
    }
    let mut monitor = Monitor::new()?;
    Report::Text(introduction_text(spin)).print();

    let mut due = Ticker::every(REPORT_PERIOD);
    loop {
        // WHY first: the last poll then receives all that was sent before the signal. Relaxed:
        // the flag stands alone.
        let is_last = is_stopped.load(Ordering::Relaxed);
        monitor.poll_topics()?;
        if is_last {
            break;
        }
        if due.is_due() {
            Report::Text(monitor.format_table()).print();
        }
        if spin {
            std::hint::spin_loop();
        } else {
            thread::sleep(POLL_PERIOD);
        }
    }
    monitor.report_results();
    check_reported_ledgers()
}

fn introduction_text(spin: bool) -> String {
    let polls = if spin {
        "The monitor polls without pause.".to_owned()
    } else {
        format!(
            "The monitor sleeps {POLL_PERIOD:?} between two polls: most of it is that sleep, and\n\
             little is transport. For that, see the benchmarks."
        )
    };
    format!(
        "latency: from the timestamp in a message (CLOCK_REALTIME) to its arrival in the\n\
         monitor, over all messages. {polls}"
    )
}

struct Monitor {
    imu: MeasuredSubscriber<Imu>,
    scan: MeasuredSubscriber<LaserScan>,
    cmd_vel: MeasuredSubscriber<CmdVel>,
    /// The process id and the timestamp in nanoseconds of the last IMU sample; `None` before the
    /// first one. A change of the id shows that the IMU was restarted.
    last_sample: Option<(u32, u64)>,
    clock: ClockChangeDetector,
    start: Instant,
    last_table: Instant,
    last_poll: Instant,
    poll_gaps_ns: Histogram<u64>,
}

impl Monitor {
    fn new() -> Result<Self> {
        let now = Instant::now();
        Ok(Self {
            imu: MeasuredSubscriber::new(imu::TOPIC)?,
            scan: MeasuredSubscriber::new(laser::TOPIC)?,
            cmd_vel: MeasuredSubscriber::new(controller::TOPIC)?,
            last_sample: None,
            clock: ClockChangeDetector::start(),
            start: now,
            last_table: now,
            last_poll: now,
            poll_gaps_ns: Histogram::new(3)?,
        })
    }

    /// Receives all available messages of all topics, and updates the statistics.
    fn poll_topics(&mut self) -> Result<()> {
        let now = Instant::now();
        self.poll_gaps_ns
            .record((now - self.last_poll).as_nanos() as u64)?;
        self.last_poll = now;
        let last_sample = &mut self.last_sample;
        self.imu.drain(|sample| {
            let process = imu::publisher_process_id(sample);
            let first_ns = sample.timestamp_ns;
            if let Some((last_process, last_ns)) = last_sample.replace((process, first_ns))
                && process != last_process
            {
                Report::Restarted { last_ns, first_ns }.print();
            }
        })?;
        self.scan.drain(|_| ())?;
        self.cmd_vel.drain(|_| ())
    }

    fn format_table(&mut self) -> String {
        let seconds = self.last_table.elapsed().as_secs_f64();
        self.last_table = Instant::now();
        let rows = [
            self.imu.format_row(seconds),
            self.scan.format_row(seconds),
            self.cmd_vel.format_row(seconds),
        ];
        let head = MeasuredSubscriber::<Imu>::TABLE_HEADER;
        format!(
            "\n{:.1} s\n{head}\n{}",
            self.start.elapsed().as_secs_f64(),
            rows.join("\n")
        )
    }

    fn report_results(&self) {
        if let Some(poll_gaps) = Latency::from_nanoseconds(&self.poll_gaps_ns) {
            let text = format!(
                "{:<58}{}",
                "\nthe monitor's time between polls",
                poll_gaps.format_columns()
            );
            Report::Text(text).print();
        }
        let moved = self.clock.clock_change_since_start();
        if moved > CLOCK_CHANGE_MAX {
            let text =
                format!("the clock was set by {moved:?} during the run: latencies are not valid");
            Report::Text(text).print();
        }
        Report::Received(self.imu.ledger("monitor")).print();
        Report::Received(self.scan.ledger("monitor")).print();
        Report::Received(self.cmd_vel.ledger("monitor")).print();
    }
}
