//! The quantities by which the rows of two runs are compared.

use serde_json::{Map, Value};

use crate::measure::state::MachineState;
use crate::report::goals;
use crate::report::rows::Row;
use crate::report::template::{format_rate, format_time};

/// A quantity by which rows are compared.
#[derive(Debug, Clone, Copy)]
pub struct ComparedQuantity {
    /// The JSON pointer to the quantity in the list of goals.
    pub(super) goal_pointer: &'static str,
    /// Reads the value of a row. The second argument is the settings of the row's record.
    pub(super) read: fn(&Row, &Map<String, Value>) -> Option<ValueWithInterval>,
    pub(super) format: fn(f64) -> String,
    /// True if rows without a goal for the quantity are compared by it, too.
    pub(super) is_general: bool,
    /// True if the quantity is a ratio, which can be compared between different machines.
    pub(super) is_ratio: bool,
    pub(super) more_is_better: bool,
    /// The change that counts as noise, in the unit of the quantity; `None` if noise is a relative
    /// change.
    pub(super) noise: Option<f64>,
}

/// A value and its interval, if it has one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ValueWithInterval {
    pub(super) value: f64,
    pub(super) interval: Option<[f64; 2]>,
}

/// All quantities. The first four are general: the ratio of a peer's time to ours or of our rate to
/// the peer's, the ratio to the floor, the median time, and the rate. A row is compared by the
/// first general one that both runs have, and by each one for which it has a goal.
pub(super) const QUANTITIES: [ComparedQuantity; 14] = [
    ComparedQuantity {
        is_general: true,
        is_ratio: true,
        more_is_better: true,
        ..quantity(
            "/ratio",
            |row, _| ValueWithInterval::above_0(row.figures.ratio, row.figures.ratio_ci),
            |value| format!("{value:.2} x theirs"),
        )
    },
    ComparedQuantity {
        is_general: true,
        is_ratio: true,
        ..quantity(
            "/floor",
            |row, _| ValueWithInterval::above_0(row.floor_ratio, row.floor_ratio_ci),
            |value| format!("{value:.2} x floor"),
        )
    },
    ComparedQuantity {
        is_general: true,
        ..quantity(
            "/ns/p50",
            |row, _| {
                let interval = row.spread.map(|spread| spread.p50_ci);
                ValueWithInterval::above_0(row.ns.map(|ns| ns.p50), interval)
            },
            format_time,
        )
    },
    ComparedQuantity {
        is_general: true,
        more_is_better: true,
        ..quantity(
            "/msgs_per_s",
            |row, _| ValueWithInterval::above_0(row.msgs_per_s, row.msgs_per_s_ci),
            format_rate,
        )
    },
    quantity(
        "/ns/p99",
        |row, _| ValueWithInterval::above_0(row.ns.map(|ns| ns.p99), None),
        |value| format!("p99 {}", format_time(value)),
    ),
    quantity(
        "/ns/mean",
        |row, _| ValueWithInterval::above_0(row.ns.map(|ns| ns.mean), None),
        |value| format!("mean {}", format_time(value)),
    ),
    quantity(
        "/bytes_each",
        |row, _| ValueWithInterval::above_0(row.figures.bytes_each, None),
        |value| format!("{value:.1} B each"),
    ),
    quantity(
        "/peak_mib",
        |row, _| ValueWithInterval::above_0(row.figures.peak_mib, None),
        |value| format!("{value:.1} MiB"),
    ),
    quantity(
        "/ns_per_node",
        |row, _| ValueWithInterval::above_0(row.figures.ns_per_node, None),
        |value| format!("{value:.1} ns a node"),
    ),
    quantity(
        "/cpu_percent",
        |row, _| ValueWithInterval::above_0(row.figures.cpu_percent, None),
        |value| format!("{value:.2} % CPU"),
    ),
    // WHY not relative: the value may be 0.
    ComparedQuantity {
        noise: Some(1.0),
        ..quantity(
            "/drift_ticks",
            |row, _| {
                let value = row.figures.drift_ticks?.abs();
                let interval = None;
                Some(ValueWithInterval { value, interval })
            },
            |value| format!("+-{value:.0} ticks"),
        )
    },
    ComparedQuantity {
        is_ratio: true,
        ..quantity(
            "/ratio_to/wakeup~1futex",
            |row, settings| ValueWithInterval::ratio_to(row, settings, "wakeup/futex"),
            |value| format!("{value:.2} x wakeup/futex"),
        )
    },
    ComparedQuantity {
        is_ratio: true,
        ..quantity(
            "/ratio_to/wakeup~1iceoryx2",
            |row, settings| ValueWithInterval::ratio_to(row, settings, "wakeup/iceoryx2"),
            |value| format!("{value:.2} x wakeup/iceoryx2"),
        )
    },
    ComparedQuantity {
        is_ratio: true,
        ..quantity(
            "/ratio_to/memory of the best peer",
            |row, settings| ValueWithInterval::ratio_to(row, settings, goals::BEST_PEER_MEMORY_KEY),
            |value| format!("{value:.2} x memory of the best peer"),
        )
    },
];

/// Creates a quantity of which less is better. Only rows with a goal for it are compared by it.
const fn quantity(
    goal_pointer: &'static str,
    read: fn(&Row, &Map<String, Value>) -> Option<ValueWithInterval>,
    format: fn(f64) -> String,
) -> ComparedQuantity {
    ComparedQuantity {
        goal_pointer,
        read,
        format,
        is_general: false,
        is_ratio: false,
        more_is_better: false,
        noise: None,
    }
}

impl ValueWithInterval {
    /// Returns the value and its interval; `None` if there is no value above 0.
    fn above_0(value: Option<f64>, interval: Option<[f64; 2]>) -> Option<ValueWithInterval> {
        let value = value.filter(|value| *value > 0.0)?;
        Some(ValueWithInterval { value, interval })
    }

    /// Returns the ratio of `row` to the row `other`, as `settings` has it.
    fn ratio_to(
        row: &Row,
        settings: &Map<String, Value>,
        other: &str,
    ) -> Option<ValueWithInterval> {
        let [ratio, low, high] = goals::recorded_ratio_to(settings, &row.id, other)?;
        ValueWithInterval::above_0(Some(ratio), Some([low, high]))
    }

    /// Returns the ratio of a row in one state of the machine.
    pub(super) fn of_state(state: &MachineState) -> ValueWithInterval {
        ValueWithInterval {
            value: state.ratio,
            interval: state.ratio_ci,
        }
    }

    pub(super) fn format(self, measure: ComparedQuantity) -> String {
        let text = measure.format;
        let ends = self
            .interval
            .map(|ends| format!(" [{}, {}]", text(ends[0]), text(ends[1])));
        format!("{}{}", text(self.value), ends.unwrap_or_default())
    }
}
