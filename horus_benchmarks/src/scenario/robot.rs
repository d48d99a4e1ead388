//! Data about robots: standard messages, their usual rates, and whether control loops have time for
//! them.

use serde_json::{Value, json};

use crate::report::rows::Report;
use crate::report::table::empty_table;
use crate::transport::carrier::{Carrier, MessageSize, Transport};

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
pub const ROBOT_CARRIER: Carrier = Carrier::Topic;

fn row_id(kind: &str, place: &str, size: MessageSize) -> String {
    let carrier = ROBOT_CARRIER;
    format!("{kind}/{place}/{}", Transport { carrier, size }.id())
}

/// Adds the headroom to the rows of throughput: the measured rate divided by the usual rate of the
/// message in a robot.
pub fn add_headroom(report: &mut Report, place: &str) {
    for (size, typical_hz) in TYPICAL_HZ {
        let id = row_id("throughput", place, size);
        if let Some(row) = report.rows.iter_mut().find(|row| row.id == id) {
            row.figures.headroom = row.msgs_per_s.map(|rate| rate / typical_hz);
        }
    }
}

/// A control loop, with the latency of the message that it waits for.
struct Suitability {
    name: &'static str,
    size: MessageSize,
    budget_ns: f64,
    p99_ns: f64,
    max_ns: f64,
}

impl Suitability {
    fn verdict_word(&self) -> &'static str {
        match (self.p99_ns <= self.budget_ns, self.max_ns <= self.budget_ns) {
            (true, true) => "PASS",
            (true, false) => "p99 only",
            _ => "FAIL",
        }
    }
}

/// Compares the period of each control loop with the latency of its message in the rows of `place`.
/// Returns a table, and stores the result in the report. Returns `None` if there are no such rows.
///
/// The time budget of a message is the whole period. The maximum was seen in this run and is not a
/// guaranteed bound.
pub fn real_time_table(report: &mut Report, place: &str) -> Option<String> {
    let all: Vec<Suitability> = CONTROL_LOOPS
        .iter()
        .filter_map(|&(name, rate_hz, size)| {
            let ns = report.row(&row_id("one_way", place, size))?.ns?;
            Some(Suitability {
                name,
                size,
                budget_ns: 1e9 / rate_hz,
                p99_ns: ns.p99,
                max_ns: ns.max,
            })
        })
        .collect();
    let mut table = empty_table(&[
        "loop",
        "budget us",
        "message",
        "p99 ns",
        "max ns",
        "budget/p99",
        "result",
    ]);
    for one in &all {
        table.add_row([
            one.name.to_owned(),
            format!("{:.0}", one.budget_ns / 1e3),
            one.size.id(),
            format!("{:.0}", one.p99_ns),
            format!("{:.0}", one.max_ns),
            format!("{:.0}x", one.budget_ns / one.p99_ns),
            one.verdict_word().to_owned(),
        ]);
    }
    let notes = all.iter().map(|one| {
        json!({ "loop": one.name, "message": one.size.id(), "budget_ns": one.budget_ns,
            "p99_ns": one.p99_ns, "max_ns": one.max_ns, "result": one.verdict_word() })
    });
    report.set_for_row("real_time", place, Value::Array(notes.collect()));
    (!table.is_empty()).then(|| format!("Real-time suitability, {place}\n{table}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict_word(p99_ns: f64, max_ns: f64) -> &'static str {
        let one = Suitability {
            name: "x",
            size: MessageSize::Imu,
            budget_ns: 1000.0,
            p99_ns,
            max_ns,
        };
        one.verdict_word()
    }

    #[test]
    fn a_loop_is_judged_by_its_budget_and_the_worst_is_not_hidden() {
        assert_eq!(
            [
                verdict_word(10.0, 900.0),
                verdict_word(10.0, 1100.0),
                verdict_word(1100.0, 2000.0)
            ],
            ["PASS", "p99 only", "FAIL"]
        );
    }

    #[test]
    fn every_message_of_robots_has_a_usual_rate() {
        assert!(
            MessageSize::ROBOT_MESSAGES
                .iter()
                .all(|size| TYPICAL_HZ.iter().any(|(one, _)| one == size))
        );
    }
}
