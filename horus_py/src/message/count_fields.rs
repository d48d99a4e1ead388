//! The table of the counted arrays in standard messages. Only the first elements of a counted array
//! are in use, and other fields of the message hold their number.

use pyo3::prelude::*;

/// An entry of the table: the name of a message, the names of counted arrays in it, and the names
/// of its count fields. The product of the count fields is the number of elements in use of each of
/// these arrays.
type CountedArrays = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

const COUNTED_ARRAYS: &[CountedArrays] = &[
    (
        "BatteryState",
        &["cell_voltage", "cell_temperature"],
        &["cell_count"],
    ),
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
    (
        "JointState",
        &["name", "position", "velocity", "effort"],
        &["count"],
    ),
    ("JoystickInput", &["axes"], &["axis_count"]),
    ("JoystickInput", &["buttons"], &["button_count"]),
    ("LaserScan", &["ranges"], &["count"]),
    ("NavPath", &["waypoints"], &["count"]),
    ("PointCloud", &["fields"], &["field_count"]),
    ("TactileArray", &["pressure"], &["rows", "columns"]),
    ("Tensor", &["shape", "strides"], &["dimensions"]),
];

/// Returns the names of the count fields of an array in a standard message. Their product is the
/// number of elements in use. Returns an empty slice if the array is not counted.
pub(crate) fn count_fields_of(message: &str, field: &str) -> &'static [&'static str] {
    let mut found = COUNTED_ARRAYS.iter().filter(|counted| counted.0 == message);
    found
        .find(|counted| counted.1.contains(&field))
        .map_or(&[], |counted| counted.2)
}

/// Returns the whole table, for tests: for each counted array, the name of the message, the name of
/// the array, and the fields that count the used elements.
#[pyfunction]
pub(crate) fn _counted_arrays() -> Vec<(&'static str, &'static str, Vec<&'static str>)> {
    let each = |counted: &CountedArrays| {
        let (message, arrays, counts) = *counted;
        arrays
            .iter()
            .map(move |array| (message, *array, counts.to_vec()))
    };
    COUNTED_ARRAYS.iter().flat_map(each).collect()
}
