//! The actions of signals in a test binary do not depend on how it was started.
//!
//! `nohup` ignores SIGHUP, and a shell ignores SIGINT and SIGQUIT for a job in the background. The
//! test binary and all programs that it starts would inherit this, and could not be stopped by
//! these signals.

use libc::{SIG_DFL, SIG_ERR, SIGHUP, SIGINT, SIGQUIT, SIGTERM, c_int};

/// The signals that end a program.
const TERMINATION_SIGNALS: [c_int; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

// SAFETY: the linker's start-up code calls the pointers in this section before `main`, as C
// functions without results. `restore_default_actions` is one, and ignores the arguments that it
// gets.
#[cfg(target_os = "linux")]
#[used]
#[unsafe(link_section = ".init_array")]
static RUN_BEFORE_MAIN: extern "C" fn() = restore_default_actions;

/// Gives each termination signal its default action. Runs before `main`, when there are no handlers
/// yet.
extern "C" fn restore_default_actions() {
    for signal in TERMINATION_SIGNALS {
        // SAFETY: the default action is valid for each of these signals.
        let previous = unsafe { libc::signal(signal, SIG_DFL) };
        assert_ne!(previous, SIG_ERR, "signal {signal}");
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn no_termination_signal_is_ignored() {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let ignored = u64::from_str_radix(ignored.unwrap().trim(), 16).unwrap();
        for signal in TERMINATION_SIGNALS {
            assert_eq!(ignored >> (signal - 1) & 1, 0, "signal {signal}");
        }
    }

    #[test]
    fn signals_that_the_parent_ignores_are_not_ignored() {
        let script = "trap '' HUP INT QUIT TERM; exec \"$0\" no_termination_signal_is_ignored";
        let mut shell = Command::new("sh");
        shell.args(["-c", script]);
        let child = shell
            .arg(std::env::current_exe().unwrap())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&child.stdout);
        assert!(child.status.success(), "{text}");
        assert!(text.contains(" 1 passed"), "{text}");
    }
}
