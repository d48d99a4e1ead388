//! Reports a panic of this program in one line. A panic is always a defect of the program.

use std::io::{self, Write};
use std::panic;

/// Installs a panic hook that prints one line for a panic, instead of the usual report.
pub(crate) fn report_panics_as_one_line() {
    panic::set_hook(Box::new(|panic| {
        let payload = panic.payload();
        let text = payload
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| payload.downcast_ref::<&str>().copied());
        let text = text.unwrap_or("no message").replace('\n', " ");
        let at = panic.location().map(ToString::to_string);
        let at = at.unwrap_or_else(|| "an unknown place".to_owned());
        let _ = writeln!(
            io::stderr(),
            "horus: internal error at {at}: {text}; this is a bug, please report it"
        );
    }));
}
