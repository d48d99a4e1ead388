//! Publishes velocity commands on `cmd_vel` 100 times a second, until Ctrl-C.
//!
//! ```text
//! cargo run --release -p horus_core --example talker [-- --count N]
//! ```
//!
//! Start it before or after the `listener`, any number of times. Ctrl-C may end it at any
//! instruction. For a listener, the next talker continues where this one stopped. Files that no
//! process uses any more are removed by the next start.

use std::io::{self, Write};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use horus_core::prelude::*;

const RATE_HZ: u32 = 100;

fn main() -> Result<ExitCode> {
    let Some(count) = count() else {
        eprintln!("usage: talker [--count N]");
        return Ok(ExitCode::from(2));
    };
    let mut publisher = Publisher::<CmdVel>::new("cmd_vel")?;
    let mut deadline = Instant::now();
    for turn in 0..count {
        let angular = 0.5 * (turn as f32 / RATE_HZ as f32).sin();
        let command = CmdVel::new(0.1, angular);
        publisher.send(command)?;
        if turn % u64::from(RATE_HZ) == 0 {
            let (number, CmdVel { linear, .. }) = (publisher.sequence(), command);
            let text = format!("linear={linear:.2} angular={angular:.2}");
            // WHY not `println!`: it panics if nobody reads the output any more, as after `| head`.
            if writeln!(io::stdout(), "[talker] cmd_vel  #{number}  {text}").is_err() {
                break;
            }
        }
        // WHY until a deadline, not for a period: a period would add the length of each turn. WHY
        // not before now: after a stop, as by Ctrl-Z, all missed commands would be sent at once.
        deadline = Instant::now().max(deadline + Duration::from_secs(1) / RATE_HZ);
        thread::sleep(deadline.saturating_duration_since(Instant::now()));
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the number of messages to send; `None` if the command line is not valid.
fn count() -> Option<u64> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Some(u64::MAX),
        ["--count", count] => count.parse().ok(),
        _ => None,
    }
}
