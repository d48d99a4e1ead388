//! Measures standard messages of robots, and shows whether control loops have time for them.

use std::process::ExitCode;

use serde_json::json;

use crate::report::rows::Report;
use crate::report::table::table_with_columns;
use crate::run::floor::Placement;
use crate::run::session::BenchmarkSession;
use crate::scenario::entry::{Outcome, Program};
use crate::scenario::survey::{self, TransportsToMeasure};
use crate::transport::carrier::{Carrier, MessageSize, Transport};

const ABOUT: &str = "Measures the common messages of robots over a topic, between two threads and \
between two processes: latency, cost of a send, throughput and headroom, and the share of the \
period of common control loops that they take.";

/// The usual rate of each standard message in a robot, in messages per second.
const TYPICAL_HZ: [(MessageSize, f64); 4] = [
    (MessageSize::CmdVel, 1000.0),
    (MessageSize::Imu, 500.0),
    (MessageSize::JointCommand, 500.0),
    (MessageSize::LaserScan, 40.0),
];

/// Control loops of robots. For each one: its name, its rate in hertz, and the message that it
/// waits for.
const CONTROL_LOOPS: [(&str, f64, MessageSize); 5] = [
    ("1 kHz (motor control)", 1000.0, MessageSize::CmdVel),
    ("10 kHz (servo control)", 10_000.0, MessageSize::CmdVel),
    ("500 Hz (sensor fusion)", 500.0, MessageSize::Imu),
    ("500 Hz (joint control)", 500.0, MessageSize::JointCommand),
    ("40 Hz (lidar)", 40.0, MessageSize::LaserScan),
];

/// The carrier of the messages: the one that programs of a robot use.
const CARRIER: Carrier = Carrier::Topic;

/// Runs the benchmark `robotics_messages_benchmark`.
pub fn main() -> ExitCode {
    Program::new(ABOUT, survey::ROUNDS_AND_SAMPLES).main(run)
}

fn run(session: &mut BenchmarkSession) -> Outcome {
    let places = [Placement::CrossThread, Placement::CrossProcess];
    let all = places.map(|placement| TransportsToMeasure {
        placement: Some(placement),
        one_way: &[CARRIER],
        streams: &[CARRIER],
        sizes: &MessageSize::ROBOT_MESSAGES,
    });
    survey::measure_paths(session, &all)?;
    for place in places.map(Placement::id) {
        add_headroom(&mut session.report, place);
        let table = real_time_table(&mut session.report, place);
        session.closing_texts.extend(table);
    }
    Ok(())
}

fn row_id(kind: &str, place: &str, size: MessageSize) -> String {
    let carrier = CARRIER;
    format!("{kind}/{place}/{}", Transport { carrier, size }.id())
}

/// Adds the headroom to the rows of throughput: the measured rate divided by the usual rate of the
/// message in a robot.
fn add_headroom(report: &mut Report, place: &str) {
    for (size, typical_hz) in TYPICAL_HZ {
        let id = row_id("throughput", place, size);
        if let Some(row) = report.rows.iter_mut().find(|row| row.id == id) {
            row.additional.headroom = row.msgs_per_s.map(|rate| rate / typical_hz);
        }
    }
}

/// Returns the verdict on a control loop: whether its message arrives within the time budget.
fn verdict_word(budget_ns: f64, p99_ns: f64, max_ns: f64) -> &'static str {
    match (p99_ns <= budget_ns, max_ns <= budget_ns) {
        (true, true) => "PASS",
        (true, false) => "p99 only",
        _ => "FAIL",
    }
}

/// Compares the period of each control loop with the latency of its message in the rows of `place`.
/// Returns a table, and stores the result in the report. Returns `None` if there are no such rows.
///
/// The time budget of a message is the whole period. The maximum was seen in this run and is not a
/// guaranteed bound.
fn real_time_table(report: &mut Report, place: &str) -> Option<String> {
    let mut notes = Vec::new();
    for (name, rate_hz, size) in CONTROL_LOOPS {
        let row = report.row(&row_id("one_way", place, size));
        let Some(ns) = row.and_then(|row| row.ns) else {
            continue;
        };
        let budget_ns = 1e9 / rate_hz;
        let verdict = verdict_word(budget_ns, ns.p99, ns.max);
        notes.push(
            json!({ "loop": name, "message": size.id(), "budget_ns": budget_ns,
            "p99_ns": ns.p99, "max_ns": ns.max, "result": verdict }),
        );
    }
    let table = table_with_columns("real_time", &notes);
    report.set_row_setting("real_time", place, notes);
    (!table.is_empty()).then(|| format!("Real-time suitability, {place}\n{table}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_is_judged_by_its_budget_and_the_worst_is_not_hidden() {
        let latencies = [(10.0, 900.0), (10.0, 1100.0), (1100.0, 2000.0)];
        let words = latencies.map(|(p99_ns, max_ns)| verdict_word(1000.0, p99_ns, max_ns));
        assert_eq!(words, ["PASS", "p99 only", "FAIL"]);
    }

    #[test]
    fn every_message_of_robots_has_a_usual_rate() {
        let has_rate = |size: &MessageSize| TYPICAL_HZ.iter().any(|(one, _)| one == size);
        assert!(MessageSize::ROBOT_MESSAGES.iter().all(has_rate));
    }
}
