//! A progress bar on a terminal. It prints nothing if the output is not a terminal.

use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

const TEMPLATE: &str = "{msg:40!} [{bar:30}] {pos}/{len} {elapsed}";

/// Creates a bar of `steps` steps on standard error, which is removed when it is dropped. It is
/// drawn only when the benchmark reports a step, so never during a round.
pub fn progress_bar(steps: u64) -> ProgressBar {
    let style = ProgressStyle::with_template(TEMPLATE).expect("a constant, valid template");
    let bar = ProgressBar::new(steps).with_style(style);
    bar.with_finish(ProgressFinish::AndClear)
}
