//! Checks of the machine: the limits of processes, the clocks, and the processor with its speed.

use std::fs;
use std::thread::{self, JoinHandle};

use horus_core::set_fifo_priority;

use super::Finding;

/// The highest real-time priority of a thread.
const PRIORITY_MAX: u8 = 99;

/// Runs all checks of the machine, and returns the findings.
pub(super) fn check_machine() -> Vec<Finding> {
    let checks = [
        report_processor(),
        check_locked_memory(),
        check_priority_limit(),
        check_open_files(),
        check_core_dumps(),
        check_clock_source(),
        check_frequency_governor(),
        check_hyper_threads(),
    ];
    checks.into_iter().flatten().collect()
}

/// Returns a finding about the CPU, and about how the library copies data and waits on this CPU. It
/// explains why two machines have different latencies.
#[expect(
    clippy::unnecessary_wraps,
    reason = "other checks find nothing on some machines"
)]
fn report_processor() -> Option<Finding> {
    Some(Finding::ok("processor", horus_core::machine().to_string()))
}

/// Returns the soft limit of this process for the resource `name`, as `/proc/self/limits` calls it.
fn soft_limit(name: &str) -> Option<String> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next().map(str::to_owned)
}

/// Returns the content of the file at `path` without white space around it; `None` if it cannot be
/// read.
fn read_trimmed(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned())
}

/// Returns true if the effective capabilities in `status`, the text of a file such as
/// `/proc/self/status`, have the bit `capability`.
fn has_capability(status: &str, capability: u64) -> bool {
    let bits = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = bits.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    bits.is_some_and(|bits| bits & capability != 0)
}

/// Returns true if `uid_map`, the content of `/proc/self/uid_map`, is that of a process in the
/// first user namespace, which has all users. WHY: elsewhere, as in containers without root, the
/// kernel does not take a capability for permission to use the resources of the machine.
fn has_all_users(uid_map: &str) -> bool {
    uid_map.split_whitespace().eq(["0", "0", "4294967295"])
}

fn check_locked_memory() -> Option<Finding> {
    const CHECK_NAME: &str = "locked memory";
    /// Amount of locked memory that a real-time program needs, in bytes. A lower limit is reported.
    const LOCKED_BYTES_NEEDED: u64 = 64 << 20;
    /// The bit of CAP_IPC_LOCK in a set of capabilities. A process with this capability may lock
    /// any amount of memory.
    const CAP_IPC_LOCK_BIT: u64 = 1 << 14;
    let found = soft_limit("Max locked memory")?;
    let status = read_trimmed("/proc/self/status")?;
    // Without user namespaces, the kernel has no such file.
    let has_all_users = read_trimmed("/proc/self/uid_map").is_none_or(|map| has_all_users(&map));
    if has_all_users && has_capability(&status, CAP_IPC_LOCK_BIT) {
        return Some(Finding::ok(CHECK_NAME, "allowed"));
    }
    if found
        .parse::<u64>()
        .is_ok_and(|bytes| bytes < LOCKED_BYTES_NEEDED)
    {
        let advice = "real-time nodes cannot lock their memory: ulimit -l unlimited, or memlock \
                      in /etc/security/limits.conf";
        return Some(Finding::note(CHECK_NAME, format!("{found} bytes"), advice));
    }
    Some(Finding::ok(CHECK_NAME, found))
}

fn check_priority_limit() -> Option<Finding> {
    const CHECK_NAME: &str = "real-time priority";
    let found = soft_limit("Max realtime priority")?;
    // WHY an attempt: neither the limit nor the capability decides alone. The root of a user
    // namespace has all capabilities, and a control group may have no real-time share.
    let attempt = thread::Builder::new().spawn(|| {
        let any_priority = set_fifo_priority(PRIORITY_MAX);
        any_priority
            .map(|()| true)
            .or_else(|_| set_fifo_priority(1).map(|()| false))
    });
    let outcome = match attempt.map(JoinHandle::join) {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_)) => return None,
        Err(error) => {
            let found = format!("not known, because no thread can be started: {error}");
            return Some(Finding::ok(CHECK_NAME, found));
        }
    };
    Some(match outcome {
        Ok(true) => Finding::ok(CHECK_NAME, "allowed"),
        Ok(false) => Finding::ok(CHECK_NAME, found),
        Err(error) => {
            let advice = "real-time nodes run without priority: ulimit -r 90, or rtprio in \
                          /etc/security/limits.conf, for the user outside if this is a container \
                          without root; for root, cpu.rt_runtime_us of its control group";
            Finding::note(CHECK_NAME, format!("not allowed: {error}"), advice)
        }
    })
}

fn check_open_files() -> Option<Finding> {
    const CHECK_NAME: &str = "open files";
    /// Number of open files that a program with some hundred topics needs. A lower limit is
    /// reported.
    const OPEN_FILES_NEEDED: u64 = 1024;
    let found = soft_limit("Max open files")?;
    if found
        .parse::<u64>()
        .is_ok_and(|files| files < OPEN_FILES_NEEDED)
    {
        let advice = "a program opens a file for each topic: ulimit -n 4096";
        return Some(Finding::note(CHECK_NAME, found, advice));
    }
    Some(Finding::ok(CHECK_NAME, found))
}

fn check_core_dumps() -> Option<Finding> {
    const CHECK_NAME: &str = "core dumps";
    let found = soft_limit("Max core file size")?;
    if found == "0" {
        return Some(Finding::ok(CHECK_NAME, "off"));
    }
    let advice = "a crashed program counts as alive until its core dump is written: ulimit -c 0";
    Some(Finding::note(CHECK_NAME, found, advice))
}

fn check_clock_source() -> Option<Finding> {
    const CHECK_NAME: &str = "clock source";
    let found = read_trimmed("/sys/devices/system/clocksource/clocksource0/current_clocksource")?;
    if ["tsc", "kvm-clock", "arch_sys_counter"].contains(&found.as_str()) {
        return Some(Finding::ok(CHECK_NAME, found));
    }
    let advice = "reading the clock is slow: boot with clocksource=tsc if the processor has it";
    Some(Finding::note(CHECK_NAME, found, advice))
}

fn check_frequency_governor() -> Option<Finding> {
    const CHECK_NAME: &str = "frequency governor";
    let found = read_trimmed("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")?;
    if found == "performance" {
        return Some(Finding::ok(CHECK_NAME, found));
    }
    let advice = "latencies vary with the frequency: cpupower frequency-set -g performance";
    Some(Finding::note(CHECK_NAME, found, advice))
}

fn check_hyper_threads() -> Option<Finding> {
    const CHECK_NAME: &str = "simultaneous multithreading";
    if read_trimmed("/sys/devices/system/cpu/smt/active")? != "1" {
        return Some(Finding::ok(CHECK_NAME, "off"));
    }
    let advice = "two threads share a core: pin real-time nodes to different cores";
    Some(Finding::note(CHECK_NAME, "on", advice))
}

#[cfg(test)]
mod tests {
    use super::{has_all_users, has_capability};

    #[test]
    fn only_effective_capabilities_count() {
        let status = "CapPrm:\t0000000000804000\nCapEff:\t0000000000004000\nCapBnd:\tffff";
        assert!(has_capability(status, 1 << 14));
        assert!(!has_capability(status, 1 << 23));
        assert!(!has_capability("Name:\thorus", 1 << 14));
    }

    #[test]
    fn a_user_namespace_does_not_have_all_users() {
        assert!(has_all_users("         0          0 4294967295\n"));
        assert!(!has_all_users("         0       1000          1\n"));
        assert!(!has_all_users("0 1000 1\n1 100000 65536\n"));
        assert!(!has_all_users(""));
    }
}
