//! Receives the messages of the `talker` on `cmd_vel`, until Ctrl-C.
//!
//! ```text
//! cargo run --release -p horus_core --example listener [-- --count N]
//! ```
//!
//! The latency is the time from the message's timestamp to its arrival here. The listener sleeps
//! until there is a message, and most of the latency is the wake-up; the benchmarks measure both.

use std::io::{self, Write};
use std::process::ExitCode;

use horus_core::message::timestamp_now_ns;
use horus_core::prelude::*;

/// One message of this many is shown.
const SHOWN: u64 = 100;

fn main() -> Result<ExitCode> {
    let Some(count) = count() else {
        eprintln!("usage: listener [--count N]");
        return Ok(ExitCode::from(2));
    };
    let mut subscriber = Subscriber::<CmdVel>::new("cmd_vel")?;
    let mut received = 0;
    while received < count {
        let CmdVel {
            timestamp_ns,
            linear,
            angular,
        } = subscriber.recv_blocking()?;
        let latency_us = timestamp_now_ns().saturating_sub(timestamp_ns) as f64 / 1e3;
        if received % SHOWN == 0 {
            let number = subscriber.sequence();
            let lost = subscriber.lost();
            let text = format!("linear={linear:.2} angular={angular:.2}");
            let printed = writeln!(
                io::stdout(),
                "[listener] cmd_vel #{number} {text}  latency={latency_us:.1} us  lost={lost}"
            );
            // WHY not `println!`: it panics if nobody reads the output any more, as after `| head`.
            if printed.is_err() {
                break;
            }
        }
        received += 1;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the number of messages to wait for; `None` if the command line is not valid.
fn count() -> Option<u64> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Some(u64::MAX),
        ["--count", count] => count.parse().ok(),
        _ => None,
    }
}
