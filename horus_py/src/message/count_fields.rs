//! The table of arrays in standard messages of which only some elements count, with the fields that
//! hold their number.

use pyo3::prelude::*;

/// A message, arrays in it, and the fields whose product is the number of their elements.
type Counted = (&'static str, &'static [&'static str], &'static [&'static str]);

const COUNTED: &[Counted] = &[
    ("BatteryState", &["cell_voltage", "cell_temperature"], &["cell_count"]),
    ("CameraInfo", &["d"], &["d_count"]),
    ("DiagnosticStatus", &["values"], &["count"]),
    (
        "JointCommand",
        &[
            "mode",
            "position",
            "velocity",
            "acceleration",
            "effort",
            "stiffness",
            "damping",
            "effort_max",
        ],
        &["count"],
    ),
    ("JointState", &["name", "position", "velocity", "effort"], &["count"]),
    ("JoystickInput", &["axes"], &["axis_count"]),
    ("JoystickInput", &["buttons"], &["button_count"]),
    ("LaserScan", &["ranges"], &["count"]),
    ("NavPath", &["waypoints"], &["count"]),
    ("PointCloud", &["fields"], &["field_count"]),
    ("TactileArray", &["pressure"], &["rows", "columns"]),
    ("Tensor", &["shape", "strides"], &["dimensions"]),
];

/// Returns the fields whose product is the number of elements that count in an array of a standard
/// message. None if all count.
pub(crate) fn counts_of(message: &str, field: &str) -> &'static [&'static str] {
    let mut found = COUNTED.iter().filter(|counted| counted.0 == message);
    found.find(|counted| counted.1.contains(&field)).map_or(&[], |counted| counted.2)
}

/// The table, for tests: message, array, and what counts its elements.
#[pyfunction]
pub(crate) fn _counted() -> Vec<(&'static str, &'static str, Vec<&'static str>)> {
    let each = |counted: &Counted| {
        let (message, arrays, counts) = *counted;
        arrays.iter().map(move |array| (message, *array, counts.to_vec()))
    };
    COUNTED.iter().flat_map(each).collect()
}
