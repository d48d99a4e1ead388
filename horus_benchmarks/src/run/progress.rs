//! A progress bar on a terminal. It prints nothing if the output is not a terminal.

use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

const TEMPLATE: &str = "{msg:40!} [{bar:30}] {pos}/{len} {elapsed}";

/// A progress bar for a benchmark. It is drawn only when the benchmark reports a step, so never
/// during a round.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Creates a bar of `steps` steps on standard error. The bar is not drawn if standard error is
    /// not a terminal.
    pub fn new(steps: u64) -> Progress {
        let target = if io::stderr().is_terminal() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(steps), target);
        let style = ProgressStyle::with_template(TEMPLATE).expect("a constant, valid template");
        bar.set_style(style);
        Progress { bar }
    }

    /// Shows `what`, the name of the current measurement, next to the bar.
    pub fn label(&self, what: &str) {
        self.bar.set_message(what.to_owned());
    }

    /// Reports that one step of the benchmark is done.
    pub fn step(&self) {
        self.bar.inc(1);
    }
}

impl Drop for Progress {
    /// Removes the bar from the terminal.
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
