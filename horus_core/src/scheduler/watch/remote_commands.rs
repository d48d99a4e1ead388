//! The commands that a scheduler receives from other processes: the supervisor applies them.

use super::supervisor::{EVENTS_PER_CHECK_MAX, Supervisor};
use crate::message::{NodeCommand, NodeEvent};
use crate::scheduler::api::rate::Rate;
use crate::scheduler::remote::client::refusal_text;
use crate::scheduler::run::handle::CommandError;

impl Supervisor {
    /// Applies the commands that have arrived, and records an event for each that is refused.
    /// Records one, too, if commands were overwritten before this call.
    pub(super) fn poll_commands(&mut self, now_ns: u64) {
        let mut has_command = false;
        for _ in 0..EVENTS_PER_CHECK_MAX {
            let Some(command) = self.endpoints.commands().recv() else {
                break;
            };
            has_command = true;
            if let Err(error) = self.apply_command(&command) {
                self.record_event(
                    NodeEvent::COMMAND,
                    command.node.as_str(),
                    0,
                    &refusal_text(&command, &error),
                );
            }
        }
        if has_command {
            self.record_lost_commands();
            self.publish_status(now_ns);
        }
    }

    fn record_lost_commands(&mut self) {
        let text = match self.endpoints.commands().take_lost_message_count() {
            0 => return,
            1 => "1 command was overwritten before it was read: send it again".to_owned(),
            lost => {
                format!("{lost} commands were overwritten before they were read: send them again")
            }
        };
        self.record_event(NodeEvent::COMMAND, "", 0, &text);
    }

    fn apply_command(&self, command: &NodeCommand) -> Result<(), String> {
        let each = |act: &dyn Fn(&str) -> Result<(), CommandError>| match command.node.as_str() {
            "" => apply_to_all_nodes(&self.handle.nodes(), act),
            node => act(node).map_err(|error| error.to_string()),
        };
        match command.kind {
            NodeCommand::PAUSE => each(&|node| self.handle.pause(node)),
            NodeCommand::RESUME => each(&|node| self.handle.resume(node)),
            NodeCommand::STOP => each(&|node| self.handle.stop_node(node)),
            NodeCommand::SET_RATE => {
                each(&|node| self.handle.set_rate(node, Rate::hz(command.rate_hz)))
            }
            NodeCommand::STOP_SCHEDULER => {
                self.handle.stop();
                Ok(())
            }
            kind => Err(format!("unknown command {kind}")),
        }
    }
}

/// Applies a command to all nodes. A node without a rate does not refuse a new rate, unless all
/// nodes do.
///
/// # Errors
///
/// Returns the reason of the first node that has refused the command, and the names of all that
/// have.
fn apply_to_all_nodes(
    nodes: &[String],
    act: &dyn Fn(&str) -> Result<(), CommandError>,
) -> Result<(), String> {
    let refused = nodes
        .iter()
        .filter_map(|node| act(node).err().map(|error| (node.as_str(), error)));
    let mut refused: Vec<_> = refused.collect();
    if refused.len() < nodes.len() {
        refused.retain(|(_, error)| !matches!(error, CommandError::NoRate { .. }));
    }
    match &refused[..] {
        [] => Ok(()),
        [(_, error)] => Err(error.to_string()),
        [(_, error), ..] => {
            let names: Vec<_> = refused.iter().map(|(node, _)| *node).collect();
            // WHY the names first: the text of an event is short.
            Err(format!("refused by {}: {error}", names.join(", ")))
        }
    }
}
