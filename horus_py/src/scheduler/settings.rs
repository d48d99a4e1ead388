//! Applies the settings of a node to its builder. The settings are a Python dictionary. Also
//! returns the default name of a scheduler.

use std::fmt::Display;
use std::time::Duration;

use horus_core::scheduler::{FailurePolicy, MissPolicy, NodeBuilder, Rate};
use horus_core::topic::DynamicSubscriber;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error;
use crate::scheduler::error::{PlanError, scheduler_error};
use crate::topic::handles::{PySubscriber, PyTopic};
use crate::wait::duration::duration_from_secs;

/// Returns the setting `name`, which every node must have. Returns an error if it is missing.
pub(crate) fn required_setting<'py, T>(settings: &Bound<'py, PyDict>, name: &str) -> PyResult<T>
where
    T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
{
    let value = settings.get_item(name)?;
    value
        .ok_or_else(|| PyTypeError::new_err(format!("no '{name}'")))?
        .extract()
}

/// Applies all settings of a node to its builder.
pub(crate) fn apply_settings<'a>(
    mut builder: NodeBuilder<'a>,
    settings: &Bound<'_, PyDict>,
) -> PyResult<NodeBuilder<'a>> {
    for (name, value) in settings {
        if value.is_none() {
            continue;
        }
        let name: String = name.extract()?;
        builder = match &*name {
            "reads" => apply_each(builder, &value, |builder, end| {
                let read = |builder: &mut NodeBuilder<'_>, end: &mut DynamicSubscriber| {
                    builder.add_subscriber(end.name(), end);
                    Ok(())
                };
                with_subscriber_of(builder, end, read)
            })?,
            "writes" => apply_each(builder, &value, |builder, topic| {
                Ok(builder.writes_topic(&topic.extract::<String>()?))
            })?,
            "on" => apply_each(builder, &value, |builder, end| {
                let wake = |builder: &mut NodeBuilder<'_>, end: &mut DynamicSubscriber| {
                    builder
                        .add_waking_subscriber(end.name(), end)
                        .map_err(scheduler_error)
                };
                with_subscriber_of(builder, end, wake)
            })?,
            _ => match setter_for(&name, &value)? {
                Some(set) => set(builder),
                None => builder,
            },
        };
    }
    Ok(builder)
}

/// Raises an error that names the first setting with an invalid value.
#[pyfunction]
pub(crate) fn _check_settings(node: &str, settings: &Bound<'_, PyDict>) -> PyResult<()> {
    for (name, value) in settings {
        if value.is_none() {
            continue;
        }
        let name: String = name.extract()?;
        let place = || format!("node '{node}': {name}");
        setter_for(&name, &value)
            .map_err(|error| error::prefix_error_text(value.py(), &place(), &error))?;
    }
    Ok(())
}

/// Returns the failure policy in the settings; `None` if it is not set.
pub(crate) fn failure_policy_of(settings: &Bound<'_, PyDict>) -> PyResult<Option<FailurePolicy>> {
    let policy = settings
        .get_item("failure_policy")?
        .filter(|policy| !policy.is_none());
    policy
        .map(|policy| parse_failure_policy(&policy))
        .transpose()
}

/// Returns an integer from `min` to `max`. An integer that its type cannot represent is an
/// `OverflowError` with the value and the range; the plan checks the others.
fn integer_in_range<T>(value: &Bound<'_, PyAny>, min: T, max: T) -> PyResult<T>
where
    T: for<'a, 'py> FromPyObject<'a, 'py, Error = PyErr> + Display,
{
    value.extract().map_err(|error: PyErr| {
        if !error.is_instance_of::<PyOverflowError>(value.py()) {
            return error;
        }
        let range = format!("{value} is out of range: give an integer from {min} to {max}");
        PyOverflowError::new_err(range)
    })
}

/// A function that applies one setting of a node to its builder.
type Setter = Box<dyn for<'a> FnOnce(NodeBuilder<'a>) -> NodeBuilder<'a>>;

/// Returns the function that applies the setting `name` to a builder. Returns `None` if the setting
/// is switched off, or if other code applies it.
fn setter_for(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<Setter>> {
    macro_rules! set {
        ($method:ident($argument:expr)) => {{
            let argument = $argument;
            Some(Box::new(move |builder| builder.$method(argument)))
        }};
    }
    let time = || -> PyResult<Duration> { duration_from_secs(value.extract()?) };
    let rate = || -> PyResult<Rate> {
        let rate = Rate::hz(value.extract()?).check();
        rate.map_err(|error| PlanError::new_err(error.to_string()))
    };
    Ok(match name {
        "order" => set!(order(integer_in_range(value, i32::MIN, i32::MAX)?)),
        "rate" => set!(rate(rate()?)),
        "at_most" => set!(at_most(rate()?)),
        "budget" => set!(budget(time()?)),
        "deadline" => set!(deadline(time()?)),
        "watchdog" => set!(watchdog(time()?)),
        "miss_if_sooner_than" => set!(miss_if_sooner_than(time()?)),
        "checkpoints" => set!(checkpoints(integer_in_range(value, 0, u64::MAX)?)),
        "priority" => set!(priority(integer_in_range(value, 1_u8, 99)?)),
        "core" => set!(core(integer_in_range(value, 0, usize::MAX)?)),
        "stay_awake" if value.is_truthy()? => Some(Box::new(|builder| builder.stay_awake())),
        "chain" => {
            let chain: String = value.extract()?;
            Some(Box::new(move |builder| builder.chain(&chain)))
        }
        "compute" if value.is_truthy()? => Some(Box::new(|builder| builder.compute())),
        "on_miss" => set!(on_miss(parse_miss_policy(&value.extract::<String>()?)?)),
        "failure_policy" => set!(failure_policy(parse_failure_policy(value)?)),
        // The name, the hooks, and settings that are switched off.
        _ => None,
    })
}

fn apply_each<'a, 'py>(
    mut builder: NodeBuilder<'a>,
    values: &Bound<'py, PyAny>,
    set: impl Fn(NodeBuilder<'a>, &Bound<'py, PyAny>) -> PyResult<NodeBuilder<'a>>,
) -> PyResult<NodeBuilder<'a>> {
    for value in values.try_iter()? {
        builder = set(builder, &value?)?;
    }
    Ok(builder)
}

/// Calls `set` with the builder and with the subscriber of `end`, which is a Python `Subscriber` or
/// `Topic`.
fn with_subscriber_of<'a>(
    mut builder: NodeBuilder<'a>,
    end: &Bound<'_, PyAny>,
    set: impl Fn(&mut NodeBuilder<'a>, &mut DynamicSubscriber) -> PyResult<()>,
) -> PyResult<NodeBuilder<'a>> {
    let py = end.py();
    let set = |end: &mut DynamicSubscriber| set(&mut builder, end);
    if let Ok(subscriber) = end.cast::<PySubscriber>() {
        subscriber
            .get()
            .subscriber_endpoint
            .with_endpoint(py, set)??;
    } else if let Ok(topic) = end.cast::<PyTopic>() {
        topic.get().subscriber_endpoint.with_endpoint(py, set)??;
    } else {
        let found = end.get_type();
        let text = format!("{found} where a Subscriber or Topic is wanted");
        return Err(PyTypeError::new_err(text));
    }
    Ok(builder)
}

fn parse_miss_policy(name: &str) -> PyResult<MissPolicy> {
    Ok(match name {
        "warn" => MissPolicy::Warn,
        "skip" => MissPolicy::Skip,
        "safe_mode" => MissPolicy::SafeMode,
        "graduated" => MissPolicy::Graduated,
        "stop" => MissPolicy::Stop,
        other => {
            let text = format!(
                "'{other}', and must be 'warn', 'skip', 'safe_mode', 'graduated' or 'stop'"
            );
            return Err(PyValueError::new_err(text));
        }
    })
}

/// Reads a failure policy: `'fatal'`, `'ignore'`, or an object of the Python class `Restart` or
/// `Skip`, which is a tuple of a name, a maximum and a time in seconds.
pub(crate) fn parse_failure_policy(value: &Bound<'_, PyAny>) -> PyResult<FailurePolicy> {
    let parts: PyResult<(String, u32, f64)> = value.extract();
    if let Ok((name, max, time)) = parts {
        let time = duration_from_secs(time)?;
        match &*name {
            "restart" => return Ok(FailurePolicy::Restart { max, backoff: time }),
            "skip" => {
                return Ok(FailurePolicy::Skip {
                    max,
                    cooldown: time,
                });
            }
            _ => {}
        }
    }
    match value.extract::<String>().as_deref() {
        Ok("fatal") => Ok(FailurePolicy::Fatal),
        Ok("ignore") => Ok(FailurePolicy::Ignore),
        _ => {
            let text = format!(
                "{value:?}, and must be 'fatal', 'ignore', horus.Restart(…) or horus.Skip(…)"
            );
            Err(PyValueError::new_err(text))
        }
    }
}

/// Returns the name of the Python program, taken from `sys.argv`.
pub(crate) fn program_name(py: Python<'_>) -> PyResult<String> {
    let arguments = py.import("sys")?.getattr("argv")?;
    let path: std::path::PathBuf = match arguments.get_item(0) {
        Ok(path) => path.extract()?,
        Err(_) => std::path::PathBuf::new(),
    };
    let name = path
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    Ok(if name.is_empty() || name == "-c" {
        "python".to_owned()
    } else {
        name
    })
}
