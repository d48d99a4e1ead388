//! The checks for processes that do nothing: those that are suspended, schedulers that publish no
//! status any more, and schedulers whose processes have died.

use std::sync::Arc;

use horus_core::introspect::ProcessInfo;
use horus_core::namespace::Namespace;
use horus_core::scheduler::schedulers;

use super::Finding;
use crate::failure::Failure;
use crate::namespace::live::live_schedulers;
use crate::namespace::other_processes;
use crate::output::format::{duration, visible};
use crate::process::{ProcessKey, ProcessStat};
use crate::scheduler::liveness::Liveness;

/// Returns a fault for each process of the namespace that is suspended, and for each scheduler of
/// another process that does not respond.
pub(super) fn check_frozen_processes(namespace: &Arc<Namespace>) -> Result<Vec<Finding>, Failure> {
    let mut suspended = other_processes(namespace)?;
    suspended.retain(|process| is_suspended(&process.info));
    let faults = suspended
        .iter()
        .map(|process| suspended_process_fault(&process.info));
    let mut findings: Vec<Finding> = faults.collect();
    for scheduler in live_schedulers(namespace)? {
        let is_explained = suspended
            .iter()
            .any(|process| Some(process.key) == ProcessKey::of_scheduler(&scheduler));
        if Liveness::of(&scheduler) != Liveness::NotResponding || is_explained {
            continue;
        }
        let age = scheduler.status_age().map(duration).unwrap_or_default();
        let process = scheduler.process_id.map(|pid| pid.to_string());
        let process = process.unwrap_or_else(|| "unknown".to_owned());
        let found = format!(
            "{} (process {process}) has published no status for {age}",
            visible(&scheduler.name)
        );
        let advice = "it gets no CPU time, or is suspended in a debugger or a container: look at \
                      the load of its CPUs";
        findings.push(Finding::fault("scheduler does not respond", found, advice));
    }
    Ok(findings)
}

/// Returns a fault for each scheduler whose process has ended without shutting it down. A scheduler
/// that has stopped, or that runs again under its name, gets none.
///
/// WHY a fault: what it controlled does not work, as with one that does not respond.
pub(super) fn check_dead_schedulers(namespace: &Arc<Namespace>) -> Result<Vec<Finding>, Failure> {
    let mut all = schedulers(namespace).map_err(|error| Failure::from_open_error(&error))?;
    all.retain(|scheduler| Liveness::of(scheduler) == Liveness::Dead);
    let faults = all.iter().map(|scheduler| {
        let name = visible(&scheduler.name);
        let advice = format!(
            "its process ended without shutting it down: horus blackbox {name} shows its last \
             events, horus scheduler forget {name} removes what it left"
        );
        Finding::fault("scheduler has died", name.to_string(), advice)
    });
    Ok(faults.collect())
}

fn suspended_process_fault(process: &ProcessInfo) -> Finding {
    let found = format!("{} ({})", visible(&process.name), process.pid);
    let advice = format!(
        "it does nothing until it is continued, and reliable publishers wait for it: kill -CONT {}",
        process.pid
    );
    Finding::fault("suspended process", found, advice)
}

/// Returns true if the process is suspended, for example by SIGSTOP or a debugger. Returns false if
/// that cannot be found out, as for processes of other containers.
pub(crate) fn is_suspended(process: &ProcessInfo) -> bool {
    ProcessStat::of(process).is_some_and(ProcessStat::is_suspended)
}
