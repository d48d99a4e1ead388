//! Converts the keyword arguments of Python calls to the quality of service of a topic.

use horus_core::topic::{OnStalled, Qos, Reliability, WakeBarrier};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error;
use crate::namespace::PyNamespace;
use crate::wait::duration::duration_from_secs;

/// The settings that a Python call opens a topic with: its keyword arguments, except the name and
/// the type.
#[derive(Default)]
pub(crate) struct TopicKeywords {
    pub(crate) qos: Qos,
    pub(crate) namespace: Option<Py<PyNamespace>>,
    pub(crate) max_message_bytes: Option<u64>,
    /// True if the topic is mapped read-only. Such an observer delays no publisher, and does not
    /// count as a subscriber.
    pub(crate) observe: bool,
    /// True if a handle does not receive the messages that it publishes itself.
    pub(crate) ignore_own: bool,
}

/// The names of all keyword arguments, as an error prints them.
const KEYWORD_NAMES: &str = "qos, reliability, capacity, history, persist_after_exit, \
                             wake_barrier, latch_key, pinnable, strict, strict_schema, \
                             publishers_max, subscribers_max, detach_stalled_after, \
                             max_message_bytes, namespace, observe, ignore_own";

impl TopicKeywords {
    /// Reads the keyword arguments. Applies the keyword `qos` and the default of `latch_key` first,
    /// in whatever order the keywords are given, because the others change their settings.
    pub(crate) fn read(keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut this = Self::default();
        let Some(keywords) = keywords else {
            return Ok(this);
        };
        if let Some(preset) = keywords.get_item("qos")?.filter(|preset| !preset.is_none()) {
            let qos = preset.extract::<String>();
            let qos = qos.map_err(|error| error::prefix_error_text(preset.py(), "qos", &error))?;
            this.qos = self::preset_named(&qos)?;
        }
        if let Some(key) = default_latch_key(keywords.py())? {
            this.qos = this.qos.latch_key(&key);
        }
        for (name, value) in keywords {
            let name: String = name.extract()?;
            if !value.is_none() {
                this.set(&name, &value)?;
            }
        }
        Ok(this)
    }

    fn set(&mut self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let about = |error| error::prefix_error_text(value.py(), name, &error);
        let qos = self.qos;
        self.qos = match name {
            "qos" => qos,
            "reliability" => qos.reliability(match value.extract::<&str>().map_err(about)? {
                "reliable" => Reliability::Reliable,
                "best_effort" => Reliability::BestEffort,
                other => {
                    return Err(unknown_value_error(
                        name,
                        other,
                        "'reliable' or 'best_effort'",
                    ));
                }
            }),
            "capacity" => qos.capacity(value.extract().map_err(about)?),
            "history" => qos.history(value.extract().map_err(about)?),
            "persist_after_exit" => qos.persist_after_exit(value.extract().map_err(about)?),
            "wake_barrier" => qos.wake_barrier(match value.extract::<&str>().map_err(about)? {
                "fence" => WakeBarrier::Fence,
                "membarrier" => WakeBarrier::Membarrier,
                other => return Err(unknown_value_error(name, other, "'fence' or 'membarrier'")),
            }),
            "latch_key" => qos.latch_key(value.extract().map_err(about)?),
            "pinnable" => qos.pinnable(value.extract().map_err(about)?),
            "strict" => qos.strict(value.extract().map_err(about)?),
            "strict_schema" => qos.strict_schema(value.extract().map_err(about)?),
            "publishers_max" => qos.publishers_max(value.extract().map_err(about)?),
            "subscribers_max" => qos.subscribers_max(value.extract().map_err(about)?),
            "detach_stalled_after" => qos.on_stalled(OnStalled::Detach {
                after: value
                    .extract()
                    .and_then(duration_from_secs)
                    .map_err(about)?,
            }),
            "max_message_bytes" => {
                self.max_message_bytes = Some(value.extract().map_err(about)?);
                qos
            }
            "namespace" => {
                let namespace = value.extract().map_err(PyErr::from);
                self.namespace = Some(namespace.map_err(about)?);
                qos
            }
            "observe" => {
                self.observe = value.extract().map_err(about)?;
                qos
            }
            "ignore_own" => {
                self.ignore_own = value.extract().map_err(about)?;
                qos
            }
            _ => {
                return Err(PyTypeError::new_err(format!(
                    "unexpected keyword '{name}': give one of {KEYWORD_NAMES}"
                )));
            }
        };
        Ok(())
    }
}

/// Returns the default of the keyword `latch_key`; `None` if it is that of the core library.
fn default_latch_key(py: Python<'_>) -> PyResult<Option<String>> {
    let module = py.import("horus._latch_key")?;
    module.call_method0("default_latch_key")?.extract()
}

fn preset_named(name: &str) -> PyResult<Qos> {
    Ok(match name {
        "default" => Qos::new(),
        "sensor_data" => Qos::sensor_data(),
        "reliable" => Qos::reliable(),
        "command" => Qos::command(),
        "latched" => Qos::latched(),
        other => {
            let presets = "'default', 'sensor_data', 'reliable', 'command' or 'latched'";
            return Err(unknown_value_error("qos", other, presets));
        }
    })
}

fn unknown_value_error(keyword: &str, found: &str, wanted: &str) -> PyErr {
    PyValueError::new_err(format!("{keyword} is '{found}', and must be {wanted}"))
}
