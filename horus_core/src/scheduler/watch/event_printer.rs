//! Prints the events of a scheduler whose program has set no callback for them.

use crate::log::{self, EscapedText, StderrPrinter};
use crate::message::{DiagnosticStatus, NodeEvent, Text};

/// Logs an event whose level is not OK. If this process has no log, prints the event to stderr.
/// Ignores events whose level is OK. Never waits for stderr.
pub(super) fn print_unless_ok(event: &NodeEvent, printer: &mut StderrPrinter) {
    let level = match event.level {
        DiagnosticStatus::OK => return,
        DiagnosticStatus::ERROR => log::Level::Error,
        _ => log::Level::Warn,
    };
    if !log::is_open() {
        // WHY escaped: another process may have written a part of the text.
        let text = event.to_string();
        printer.print_warning(format_args!("{}", EscapedText(&text)));
        return;
    }
    let node = event.node.as_str();
    let entry = log::LogEntry {
        node,
        target: "horus::scheduler",
        ..log::LogEntry::new(level)
    };
    // WHY without the node: the line names it already.
    let event = NodeEvent {
        node: Text::EMPTY,
        ..*event
    };
    log::write(&entry, format_args!("{event}"));
}
