//! `launch` and signals: a second signal.

use crate::common::{Robot, until};
use crate::launch::{event, is_alive, launch, number, printed_number};

#[test]
fn a_second_signal_kills_all_programs() {
    let deaf = "command: ['sh', '-c', 'trap \"\" TERM; sleep 1000 & echo $!; wait'],
        stop_timeout: 1000";
    let programs = format!("a: {{{deaf}}}, b: {{{deaf}, after: ['a']}}");
    for options in ["--json", "--json --keep"] {
        for (first, second) in [
            (libc::SIGINT, libc::SIGINT),
            (libc::SIGTERM, libc::SIGINT),
            (libc::SIGTERM, libc::SIGTERM),
        ] {
            let robot = Robot::new();
            let stream = launch(&robot, &programs, options);
            // Of each program, its process and the one that it has started.
            let mut pids = Vec::new();
            while pids.len() < 4 {
                let line = stream.line();
                if line.contains("\"event\":\"started\"") {
                    pids.push(number(&line, "pid"));
                } else if line.contains("\"event\":\"line\"") {
                    pids.push(printed_number(&line));
                }
            }
            stream.signal(first);
            stream.line_with(&event("b", "stopping"));
            stream.signal(second);
            let ran = stream.wait();
            assert_eq!((ran.code, ran.stderr.as_str()), (130, ""), "{ran:?}");
            until("all are gone", || !pids.iter().any(|pid| is_alive(*pid)));
        }
    }
}
