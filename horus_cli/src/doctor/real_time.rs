//! Checks of the machine for real-time nodes: runs such a node on each CPU for a while, and
//! measures how late its ticks start.

use std::collections::BTreeSet;
use std::fs;
use std::thread;
use std::time::Duration;

use horus_core::message::NodeEvent;
use horus_core::namespace::{Namespace, NamespaceConfig, NamespaceName};
use horus_core::scheduler::{Context as NodeContext, Hertz as _, NodeReport, Report, Scheduler};

use super::Finding;
use crate::context::{Context, namespace_failure};
use crate::failure::{Failure, error_chain_text};
use crate::output::format::{count, duration};
use crate::topic::hz::wait_for_window;

/// SCHED_FIFO priority of the nodes that measure lateness. It is above the priority of the kernel's
/// interrupt threads.
const NODE_PRIORITY: u8 = 80;

/// Rate of the nodes that measure lateness, in hertz.
const NODE_RATE_HZ: u32 = 1000;

/// The list of the CPUs that the kernel gives to no program by itself.
const ISOLATED_CPUS_FILE: &str = "/sys/devices/system/cpu/isolated";

/// The largest lateness of a tick that a control loop at [`NODE_RATE_HZ`] tolerates. A larger one
/// is reported.
const LATENESS_MAX: Duration = Duration::from_micros(100);

/// Runs a real-time node on each CPU that this user's programs may use for the duration `time`, and
/// returns the findings.
pub(super) fn check_real_time(time: Duration, context: &Context) -> Result<Vec<Finding>, Failure> {
    let seconds = time.as_secs_f64();
    let online = read_cpus("/sys/devices/system/cpu/online");
    let allowed = allowed_cpus();
    let cpus = select_cpus(&online, &allowed, &read_cpus(ISOLATED_CPUS_FILE));
    let shown = if online.iter().eq(&cpus) {
        "all CPUs".to_owned()
    } else {
        let numbers: Vec<String> = cpus.iter().map(usize::to_string).collect();
        format!("CPUs {}", numbers.join(", "))
    };
    context.print_note(format_args!("measuring for {seconds} s on {shown}"));
    let report = measure_lateness(time, &cpus, context)?;
    let mut findings = vec![check_kernel()];
    findings.extend(check_isolated_cpus());
    findings.push(check_refused_settings(&report, &allowed));
    let measured = report.nodes.iter().filter(|node| runs_on_its_cpu(node));
    findings.extend(measured.map(check_lateness));
    Ok(findings)
}

/// Returns the CPUs to measure, in order: those that are online, and that either this process is
/// allowed to use, or that are isolated. WHY also these: they are for real-time nodes, and belong
/// to a process only when it selects them. Without `online`, all CPUs count as online.
fn select_cpus(
    online: &BTreeSet<usize>,
    allowed: &BTreeSet<usize>,
    isolated: &BTreeSet<usize>,
) -> Vec<usize> {
    let wanted = allowed.union(isolated).copied();
    wanted
        .filter(|cpu| online.is_empty() || online.contains(cpu))
        .collect()
}

/// Returns the CPUs on which this process may run.
fn allowed_cpus() -> BTreeSet<usize> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut lines = status.lines();
    let allowed = lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    match allowed.map(parse_cpus) {
        Some(allowed) if !allowed.is_empty() => allowed,
        _ => (0..thread::available_parallelism().map_or(1, usize::from)).collect(),
    }
}

/// Returns the CPUs in the file at `path`, a list of CPUs of the kernel. Without the file, there
/// are none.
fn read_cpus(path: &str) -> BTreeSet<usize> {
    parse_cpus(&fs::read_to_string(path).unwrap_or_default())
}

/// Parses a list of CPUs as the kernel writes it, such as `0-2,5`.
fn parse_cpus(list: &str) -> BTreeSet<usize> {
    let ranges = list.trim().split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.parse::<usize>().ok()?..=last.parse::<usize>().ok()?)
    });
    ranges.flatten().collect()
}

fn check_kernel() -> Finding {
    const CHECK_NAME: &str = "kernel";
    let version = fs::read_to_string("/proc/version").unwrap_or_default();
    if version.contains("PREEMPT_RT") {
        return Finding::ok(CHECK_NAME, "PREEMPT_RT");
    }
    let advice = "only a kernel with PREEMPT_RT limits the time until a thread wakes: on Debian, \
                  apt-get install linux-image-rt-amd64";
    Finding::note(CHECK_NAME, "without PREEMPT_RT", advice)
}

fn check_isolated_cpus() -> Option<Finding> {
    const CHECK_NAME: &str = "isolated CPUs";
    let found = fs::read_to_string(ISOLATED_CPUS_FILE).ok()?;
    let found = found.trim();
    if !found.is_empty() {
        return Some(Finding::ok(CHECK_NAME, found));
    }
    let advice = "other programs run on all CPUs: boot with isolcpus=N nohz_full=N, and give CPU N \
                  to a node by core(N)";
    Some(Finding::note(CHECK_NAME, "none", advice))
}

/// Runs a real-time node on each of `cpus` for the duration `time`, and returns the report of the
/// run. Uses a new namespace that no other program uses.
fn measure_lateness(time: Duration, cpus: &[usize], context: &Context) -> Result<Report, Failure> {
    // WHY: an interrupted measurement removes its namespace, too.
    context.stop.catch_next_signal();
    let config: NamespaceConfig = context.namespace_config()?;
    let name = format!("horus_doctor_{}", std::process::id());
    let name = NamespaceName::new(&name).map_err(Failure::usage)?;
    let namespace = Namespace::open(&config.with_name(name));
    let namespace = namespace.map_err(|error| namespace_failure(&error))?;
    let mut scheduler = Scheduler::new();
    scheduler.namespace(&namespace);
    scheduler.on_event(|_: &NodeEvent| {});
    for &core in cpus {
        let node = scheduler
            .node(&format!("cpu {core}"))
            .rate(NODE_RATE_HZ.hz());
        let node = node.core(core).priority(NODE_PRIORITY);
        let built = node.build(|_: &mut NodeContext<'_>| {});
        built.map_err(|error| Failure::system(error_chain_text(&error)))?;
    }
    let running = scheduler.start();
    let waited = wait_for_window(time, context.deadline(), context);
    let report = running.map(|running| running.finish());
    // An error means that a process looks at it; then `horus clean` removes it later.
    let _ = namespace.remove();
    waited?;
    if context.stop.is_received() {
        return Err(Failure::interrupted());
    }
    let report = report.map_err(|error| Failure::system(error_chain_text(&error)))?;
    report.map_err(|error| Failure::system(error_chain_text(&error)))
}

/// Returns true unless the system refused to run `node` on its CPU, for instance because the cpuset
/// of a container does not have it.
fn runs_on_its_cpu(node: &NodeReport) -> bool {
    !node
        .refused
        .iter()
        .any(|refused| refused.starts_with("core "))
}

/// Returns a finding about the real-time settings that the system refused to any of the nodes.
/// `allowed` has the CPUs on which this process may run: that it may not run on an isolated one, as
/// in a container with a cpuset, is no fault.
fn check_refused_settings(report: &Report, allowed: &BTreeSet<usize>) -> Finding {
    const CHECK_NAME: &str = "real-time settings";
    let is_fault = |setting: &str| match setting.strip_prefix("core ") {
        Some(rest) => {
            let core = rest.split(':').next().and_then(|core| core.parse().ok());
            core.is_none_or(|core| allowed.contains(&core))
        }
        None => true,
    };
    let mut refused: Vec<&str> = Vec::new();
    for setting in report.nodes.iter().flat_map(|node| &node.refused) {
        if is_fault(setting) && !refused.contains(&setting.as_str()) {
            refused.push(setting);
        }
    }
    let refused = refused.join("; ");
    if refused.is_empty() {
        return Finding::ok(CHECK_NAME, "priority, CPU and locked memory are allowed");
    }
    let advice = "run as root, or allow it in /etc/security/limits.conf: rtprio 90, memlock \
                  unlimited; in a container: --ulimit rtprio=90 --ulimit memlock=-1";
    Finding::note(CHECK_NAME, refused, advice)
}

/// Returns a finding about `node`: how late its ticks started.
fn check_lateness(node: &NodeReport) -> Finding {
    const CHECK_NAME: &str = "wake-up latency";
    let metrics = &node.metrics;
    let late = |share| duration(metrics.lateness.quantile(share));
    let found = format!(
        "{} at {NODE_RATE_HZ} Hz: p50 {}, p99 {}, p99.9 {}, max {}; {} ticks, {} skipped",
        node.name,
        late(0.5),
        late(0.99),
        late(0.999),
        late(1.0),
        count(metrics.ticks),
        count(metrics.skipped_ticks),
    );
    if metrics.lateness.quantile(1.0) <= LATENESS_MAX && metrics.skipped_ticks == 0 {
        return Finding::ok(CHECK_NAME, found);
    }
    let advice = "a node starts late by as much: give it a priority and a CPU of its own, and the \
                  machine the governor performance; virtual machines promise nothing";
    Finding::note(CHECK_NAME, found, advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_the_kernel_are_parsed() {
        let cpus = |list| parse_cpus(list).into_iter().collect::<Vec<_>>();
        assert_eq!(cpus("\t0-2,5\n"), [0, 1, 2, 5]);
        assert_eq!(cpus("7\n"), [7]);
        assert!(cpus("\n").is_empty());
    }

    #[test]
    fn allowed_and_isolated_cpus_are_measured_if_they_are_online() {
        let select = |online, allowed, isolated| {
            let [online, allowed, isolated] = [online, allowed, isolated].map(parse_cpus);
            select_cpus(&online, &allowed, &isolated)
        };
        assert_eq!(select("0-3", "0-3", ""), [0, 1, 2, 3]);
        assert_eq!(select("0-7", "1", ""), [1]);
        assert_eq!(select("0,2-7", "0-1,4", "3,9"), [0, 3, 4]);
        assert_eq!(select("", "1-2", ""), [1, 2]);
    }
}
