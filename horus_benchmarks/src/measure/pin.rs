//! Chooses two of the CPUs that this process may use, and pins threads to them.

use std::error::Error;
use std::io;

use horus_shm::rt;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};

use crate::Outcome;

/// The two CPUs on which the two ends of a benchmark run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuPair {
    /// The number of the CPU on which the measuring end runs.
    pub near: usize,
    /// The number of the CPU on which the other end runs.
    pub far: usize,
}

impl CpuPair {
    /// Returns the numbers of both CPUs. They may be equal.
    pub const fn both(self) -> [usize; 2] {
        [self.near, self.far]
    }

    /// Returns `requested` if it is given. Otherwise `near` is the first CPU that this process may
    /// use, and `far` is on another core if possible, else another CPU, else the same one.
    pub fn choose(requested: Option<(usize, usize)>) -> Outcome<CpuPair> {
        let allowed = allowed_cpus()?;
        let Some((near, far)) = requested else {
            return Ok(CpuPair::choose_among(&allowed, hardware_threads_of));
        };
        for cpu in [near, far] {
            if !allowed.contains(&cpu) {
                return Err(not_allowed_error(cpu, &allowed));
            }
        }
        Ok(CpuPair { near, far })
    }

    /// Returns the default of [`choose`](Self::choose) for these CPUs.
    pub fn choose_among(
        allowed: &[usize],
        hardware_threads_of: impl Fn(usize) -> Vec<usize>,
    ) -> CpuPair {
        let near = allowed.first().copied().unwrap_or(0);
        let others = || allowed.iter().copied().filter(|&cpu| cpu != near);
        let same_core = hardware_threads_of(near);
        let far = others()
            .find(|cpu| !same_core.contains(cpu))
            .or_else(|| others().next());
        CpuPair {
            near,
            far: far.unwrap_or(near),
        }
    }

    /// Returns true if both ends share one CPU. They then run in turn.
    pub fn shares_cpu(&self) -> bool {
        self.near == self.far
    }

    /// Returns true if the two CPUs are hardware threads of one core.
    pub fn shares_core(&self) -> bool {
        !self.shares_cpu() && hardware_threads_of(self.near).contains(&self.far)
    }
}

/// Returns the error for a CPU that is not in the affinity mask `allowed`, or does not exist.
fn not_allowed_error(cpu: usize, allowed: &[usize]) -> Box<dyn Error> {
    format!("cpu {cpu} is not allowed here; allowed: {allowed:?}").into()
}

/// Returns the numbers of the CPUs on which this thread may run, in ascending order.
pub fn allowed_cpus() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)
        .map_err(|error| io::Error::other(format!("cannot read the cpu affinity: {error}")))?;
    Ok((0..CpuSet::MAX_CPU)
        .filter(|&cpu| set.is_set(cpu))
        .collect())
}

/// Pins the calling thread, and what it starts from now on, to `cpu`.
pub fn pin_current_thread(cpu: usize) -> Outcome {
    match rt::pin_thread_to(cpu) {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            Err(not_allowed_error(cpu, &allowed_cpus()?))
        }
        pinned => {
            pinned.map_err(|error| format!("cannot pin a thread to cpu {cpu}: {error}").into())
        }
    }
}

/// Allows the calling thread, and what it starts from now on, to run on all of `cpus`.
pub fn allow_cpus(cpus: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    let possible = cpus.iter().filter(|&&cpu| cpu < CpuSet::MAX_CPU);
    possible.for_each(|&cpu| set.set(cpu));
    Ok(sched_setaffinity(None, &set)?)
}

/// Parses a list of CPUs in the kernel's notation, such as `0-3,8,10-11`. Ignores parts that are
/// not numbers.
pub fn parse_cpu_list(list: &str) -> Vec<usize> {
    list.trim()
        .split(',')
        .filter_map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            Some(first.trim().parse::<usize>().ok()?..=last.trim().parse::<usize>().ok()?)
        })
        .flatten()
        .collect()
}

/// Returns the list of CPUs in a file of the kernel; empty if there is no such file.
pub(crate) fn read_cpu_list(path: &str) -> Vec<usize> {
    parse_cpu_list(&std::fs::read_to_string(path).unwrap_or_default())
}

/// Returns the hardware threads of the core to which `cpu` belongs, including `cpu`.
fn hardware_threads_of(cpu: usize) -> Vec<usize> {
    read_cpu_list(&format!(
        "/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
    ))
}
