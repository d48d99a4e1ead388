//! The commands that a web page can send: they pause nodes or stop the robot. The user has to allow
//! them.

use std::sync::Arc;

use horus_core::message::EmergencyStop;
use horus_core::namespace::Namespace;
use horus_core::scheduler::{Rate, RemoteError, RemoteScheduler};
use serde::{Deserialize, Serialize};

use super::http::{Request, Response, to_json};
use super::server::RequestContext;
use crate::estop;
use crate::failure::Failure;
use crate::node::remote_failure;
use crate::output::with_format_version;

/// Value of the field `source` in the emergency stops that this server sends.
const STOP_SOURCE: &str = "horus monitor";

/// A command of a web page. The body of a request contains it as JSON.
#[derive(Debug, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case", deny_unknown_fields)]
enum Command {
    Pause {
        scheduler: String,
        node: String,
    },
    Resume {
        scheduler: String,
        node: String,
    },
    Rate {
        scheduler: String,
        node: String,
        rate_hz: f64,
    },
    EmergencyStop {
        reason: String,
    },
    ReleaseEmergencyStop,
}

#[derive(Debug, Serialize)]
struct CommandResult {
    done: String,
}

/// Executes the command in the body of a request. Returns the response.
pub(super) fn execute(
    request: &Request,
    request_context: RequestContext<'_>,
) -> Result<Response, Response> {
    // WHY: a foreign page may send other types without asking first.
    if request.header("content-type") != Some("application/json") {
        let text = "the Content-Type is not application/json";
        return Err(Response::error(400, text));
    }
    let command = serde_json::from_slice::<Command>(&request.body);
    let command = command.map_err(|error| {
        let text = format!("the body is not a command: {error}");
        Response::error(400, &text)
    })?;
    let known = Arc::clone(&request_context.broadcast.lock_newest_sample().known);
    let namespace = known.namespace.as_ref();
    let namespace = namespace.ok_or_else(|| Response::error(409, "the namespace is gone"))?;
    let done = command.send(namespace);
    let done = done.map_err(|failure| Response::error(409, failure.text()))?;
    let body = to_json(with_format_version(CommandResult { done }));
    Ok(Response::new("application/json", body))
}

impl Command {
    /// Sends the command to the nodes or schedulers, and returns a text for the user about the
    /// result.
    fn send(&self, namespace: &Arc<Namespace>) -> Result<String, Failure> {
        let to_node = |scheduler, node, send: &dyn Fn(&mut RemoteScheduler) -> _| {
            let opened = RemoteScheduler::open(namespace, scheduler);
            let sent: Result<(), RemoteError> = opened.and_then(|mut remote| send(&mut remote));
            sent.map_err(remote_failure)?;
            Ok(format!("sent to {scheduler}/{node}"))
        };
        let stop = |stop: EmergencyStop| {
            estop::publish_stop(namespace, stop)?;
            estop::stopped_schedulers_text(namespace)
        };
        match self {
            Self::Pause { scheduler, node } => {
                to_node(scheduler, node, &|remote| remote.pause(node))
            }
            Self::Resume { scheduler, node } => {
                to_node(scheduler, node, &|remote| remote.resume(node))
            }
            Self::Rate {
                scheduler,
                node,
                rate_hz,
            } => to_node(scheduler, node, &|remote| {
                remote.set_rate(node, Rate::hz(*rate_hz))
            }),
            Self::EmergencyStop { reason } => stop(EmergencyStop::engage(STOP_SOURCE, reason)),
            Self::ReleaseEmergencyStop => stop(EmergencyStop::release(STOP_SOURCE, "")),
        }
    }
}
