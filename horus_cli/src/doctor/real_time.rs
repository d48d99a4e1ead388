//! Checks of the machine for real-time nodes: runs such a node on each CPU for a while, and
//! measures how late its ticks start.

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

/// The largest lateness of a tick that a control loop at [`NODE_RATE_HZ`] tolerates. A larger one
/// is reported.
const LATENESS_MAX: Duration = Duration::from_micros(100);

/// Runs a real-time node on each CPU for the duration `time`, and returns the findings.
pub(super) fn check_real_time(time: Duration, context: &Context) -> Result<Vec<Finding>, Failure> {
    let seconds = time.as_secs_f64();
    context.print_note(format_args!("measuring for {seconds} s on all CPUs"));
    let report = measure_lateness(time, context)?;
    let mut findings = vec![check_kernel()];
    findings.extend(check_isolated_cpus());
    findings.extend(check_refused_settings(&report));
    findings.extend(report.nodes.iter().map(check_lateness));
    Ok(findings)
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
    let found = fs::read_to_string("/sys/devices/system/cpu/isolated").ok()?;
    let found = found.trim();
    if !found.is_empty() {
        return Some(Finding::ok(CHECK_NAME, found));
    }
    let advice = "other programs run on all CPUs: boot with isolcpus=N nohz_full=N, and give CPU N \
                  to a node by core(N)";
    Some(Finding::note(CHECK_NAME, "none", advice))
}

/// Runs a real-time node on each CPU for the duration `time`, and returns the report of the run.
/// Uses a new namespace that no other program uses.
fn measure_lateness(time: Duration, context: &Context) -> Result<Report, Failure> {
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
    let cores = thread::available_parallelism().map_or(1, usize::from);
    for core in 0..cores {
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

/// Returns a finding about the real-time settings that the system refused; `None` if it refused
/// none. Checks only the first node, because the system refuses the same settings for all nodes.
fn check_refused_settings(report: &Report) -> Option<Finding> {
    const CHECK_NAME: &str = "real-time settings";
    let refused = report.nodes.first()?.refused.join("; ");
    if refused.is_empty() {
        return Some(Finding::ok(
            CHECK_NAME,
            "priority, CPU and locked memory are allowed",
        ));
    }
    let advice = "run as root, or allow it in /etc/security/limits.conf: rtprio 90, memlock \
                  unlimited; in a container: --ulimit rtprio=90 --ulimit memlock=-1";
    Some(Finding::note(CHECK_NAME, refused, advice))
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
