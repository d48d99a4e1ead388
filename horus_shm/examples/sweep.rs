//! Removes what dead processes left in the namespace of the environment, and prints a report.
//!
//! ```text
//! cargo run -p horus_shm --example sweep
//! ```

use horus_shm::{Namespace, SweepReport, sweep};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let namespace = Namespace::current()?;
    let SweepReport {
        removed,
        in_use,
        kept,
        foreign,
        ..
    } = sweep(&namespace)?;
    println!("{}", namespace.path().display());
    for (topics, outcome) in [
        (removed, "removed: its processes are gone"),
        (in_use, "in use"),
        (kept, "kept: it outlives its processes"),
    ] {
        for topic in topics {
            println!("  {topic}  {outcome}");
        }
    }
    for file in foreign {
        println!("  {file}  left alone: not a topic of ours, or damaged");
    }
    Ok(())
}
