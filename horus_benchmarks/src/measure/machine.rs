//! Describes the machine on which the numbers were measured, and what makes the numbers worse.

use std::fs;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use horus_core::machine::Tuning;

use crate::Outcome;
use crate::measure::pin::{self, CpuPair};
use crate::measure::tsc::{TickSource, TscClock, tsc_is_invariant};

/// Maximum load average without a warning.
const LOAD_AVERAGE_MAX: f64 = 0.5;

/// Maximum percentage of CPU time taken by the hypervisor without a warning.
const STEAL_PERCENT_MAX: f64 = 1.0;

/// Text for a property that the system does not report.
const UNKNOWN: &str = "unknown";

/// The description of the machine and of the build, and their state at the time of the measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(
    missing_docs,
    reason = "the names say it, and they are those of the JSON"
)]
pub struct Machine {
    /// The name of the CPU, with its family and model.
    pub cpu: String,
    /// Number of CPUs that are online.
    pub cores: usize,
    pub allowed_cpus: Vec<usize>,
    pub pinned: CpuPair,
    /// Frequency governor of the CPU of the measuring end; `None` if it has no governor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// The CPUs that were isolated from the scheduler at boot.
    pub isolated_cpus: Vec<usize>,
    pub kernel: String,
    /// The name of the hypervisor that the firmware reports; `None` on bare metal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hypervisor: Option<String>,
    pub rustc: String,
    /// The additional flags for code generation with which this binary was built.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub rustflags: String,
    /// Text that describes how our library copies messages and pauses on this machine.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub tuning: String,
    /// The build profile: `release` or `debug`.
    pub profile: String,
    pub timer: TickSource,
    /// Rate of the timer in ticks per second.
    pub timer_hz: f64,
    /// Median time between two consecutive readings of the timer, in nanoseconds.
    pub timer_overhead_ns: f64,
    /// The step in which the timer advances, in nanoseconds.
    pub timer_resolution_ns: f64,
    pub invariant_tsc: bool,
    /// The clock source that the kernel uses, such as `tsc`.
    pub clocksource: String,
    /// Load average of the minute before the run, as a number of running threads.
    pub load_average: f64,
    /// Percentage of the pinned CPUs' time that the hypervisor took, if the kernel reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal_percent: Option<f64>,
    /// One sentence for each circumstance that makes the numbers worse than they could be.
    pub warnings: Vec<String>,
}

impl Machine {
    /// Reads the properties of the machine from files. Must be called before the thread is pinned,
    /// because it also reads the affinity mask.
    pub fn probe(cpus: CpuPair, clock: &TscClock) -> Outcome<Machine> {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let mut machine = Machine {
            cpu: read_cpu_model(&cpuinfo),
            cores: pin::read_cpu_list("/sys/devices/system/cpu/online").len(),
            allowed_cpus: pin::allowed_cpus()?,
            pinned: cpus,
            governor: read_trimmed_file(&format!(
                "/sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor",
                cpus.near
            )),
            isolated_cpus: pin::read_cpu_list("/sys/devices/system/cpu/isolated"),
            kernel: read_trimmed_file("/proc/sys/kernel/osrelease").unwrap_or(UNKNOWN.to_owned()),
            hypervisor: read_hypervisor(&cpuinfo),
            rustc: env!("HORUS_BENCH_RUSTC").to_owned(),
            rustflags: env!("HORUS_BENCH_RUSTFLAGS").to_owned(),
            tuning: describe_tuning(),
            profile: if cfg!(debug_assertions) {
                "debug"
            } else {
                "release"
            }
            .to_owned(),
            timer: clock.source,
            timer_hz: clock.ticks_per_s().round(),
            timer_overhead_ns: clock.to_ns(clock.reading_overhead.quantile(0.5)),
            timer_resolution_ns: clock.to_ns(clock.resolution_ticks),
            invariant_tsc: tsc_is_invariant(),
            clocksource: read_trimmed_file(
                "/sys/devices/system/clocksource/clocksource0/current_clocksource",
            )
            .unwrap_or(UNKNOWN.to_owned()),
            load_average: read_load_average().unwrap_or(0.0),
            steal_percent: None,
            warnings: Vec::new(),
        };
        machine.warnings = machine.find_warnings(cpus.shares_core());
        Ok(machine)
    }

    /// Returns the number of CPUs that busy threads of a benchmark can use: one if both ends share
    /// a CPU, otherwise all CPUs that this process may use.
    pub fn usable_cpus(&self) -> usize {
        match self.pinned.shares_cpu() {
            true => 1,
            false => self.allowed_cpus.len(),
        }
    }

    /// Returns a sentence for each circumstance that makes the numbers worse. `share_core` is true
    /// if both ends are hardware threads of one core.
    pub fn find_warnings(&self, share_core: bool) -> Vec<String> {
        let governor = self.governor.as_deref().unwrap_or("performance");
        let load = self.load_average;
        let all = [
            (self.profile == "debug", "debug build: figures mean nothing"),
            (
                self.pinned.shares_cpu(),
                "one CPU for both ends: oversubscribed, figures are those of the scheduler",
            ),
            (share_core, "both ends are hardware threads of one core"),
            (
                governor != "performance",
                &format!("frequency governor is '{governor}'"),
            ),
            (
                load > LOAD_AVERAGE_MAX,
                &format!("load average {load:.2}: other work disturbs the figures"),
            ),
            (
                !self.invariant_tsc,
                "no invariant TSC: timed by the monotonic clock",
            ),
            (
                self.hypervisor.is_some(),
                "virtual machine: CPUs may be shared, the tail is not representative",
            ),
        ];
        let found = all.into_iter().filter(|(applies, _)| *applies);
        found.map(|(_, text)| text.to_owned()).collect()
    }

    /// Stores the percentage of CPU time that the hypervisor took between two readings. Adds a
    /// warning if it is large.
    pub fn record_steal_time(&mut self, before: Option<CpuTimes>, after: Option<CpuTimes>) {
        let percent = before.and_then(|before| after?.steal_percent_since(before));
        let Some(percent) = percent else { return };
        let percent = (percent * 1e2).round() / 1e2;
        self.steal_percent = Some(percent);
        if percent > STEAL_PERCENT_MAX {
            let text = format!("the hypervisor took {percent:.1} % of the pinned CPUs' time");
            self.warnings.push(text);
        }
    }
}

/// Returns the text for [`Machine::tuning`]. First reads the properties of the machine, because the
/// library chooses its settings when it does so.
fn describe_tuning() -> String {
    horus_core::machine();
    Tuning::current().to_string()
}

/// CPU times that the kernel has counted since it started, in ticks of the kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// Total time of the CPUs in all states, in kernel ticks.
    pub all: u64,
    /// Time in which the hypervisor did not run a CPU that had something to run, in kernel ticks.
    pub steal: u64,
}

impl CpuTimes {
    /// Returns the current times, summed over all `cpus`; `None` if the kernel does not report
    /// them.
    pub fn read(cpus: &[usize]) -> Option<CpuTimes> {
        CpuTimes::parse(&fs::read_to_string("/proc/stat").ok()?, cpus)
    }

    /// Returns the percentage of the time since `before` that the hypervisor took, if time passed.
    pub fn steal_percent_since(self, before: CpuTimes) -> Option<f64> {
        let all = self.all.saturating_sub(before.all);
        let stolen = self.steal.saturating_sub(before.steal);
        (all > 0).then(|| stolen as f64 / all as f64 * 1e2)
    }

    /// Returns the times in the text of `/proc/stat`, summed over all `cpus`.
    pub fn parse(stat: &str, cpus: &[usize]) -> Option<CpuTimes> {
        let mut sum = None;
        for line in stat.lines() {
            let mut words = line.split_whitespace();
            let cpu = words.next().and_then(|name| name.strip_prefix("cpu"));
            if !cpu.is_some_and(|cpu| cpus.iter().any(|one| one.to_string() == cpu)) {
                continue;
            }
            // user nice system idle iowait irq softirq steal; what follows is part of user time.
            let times: Vec<u64> = words.take(8).filter_map(|word| word.parse().ok()).collect();
            let sum: &mut CpuTimes = sum.get_or_insert_default();
            sum.steal += times.get(7)?;
            sum.all += times.iter().sum::<u64>();
        }
        sum
    }
}

/// Returns the resident memory of this process in bytes; 0 if the kernel does not report it. WHY
/// without the pages of files: the kernel maps those of the program when code runs first.
pub fn resident_bytes() -> u64 {
    read_process_status_bytes("RssAnon:")
}

/// Returns the largest resident memory of this process so far, in bytes; 0 if it is not known.
pub fn peak_resident_bytes() -> u64 {
    read_process_status_bytes("VmHWM:")
}

fn read_process_status_bytes(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}

/// Returns the commit of the working directory, with `-dirty` appended if tracked files were
/// changed; "unknown" without a commit. Starts `git`, so the thread must not be pinned yet.
pub fn git_commit() -> String {
    let Some(hash) = run_git(&["rev-parse", "--short=12", "HEAD"]) else {
        return UNKNOWN.to_owned();
    };
    match run_git(&["status", "--porcelain", "--untracked-files=no"]) {
        Some(changes) if changes.is_empty() => hash,
        _ => format!("{hash}-dirty"),
    }
}

fn run_git(arguments: &[&str]) -> Option<String> {
    // Set by `cargo run`, so that the source is found wherever the command was given.
    let directory = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| ".".into());
    let mut git = Command::new("git");
    git.arg("-C").arg(directory).args(arguments);
    let output = git.stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    output.status.success().then_some(text)
}

/// Returns the name of the CPU, on x86 with its family and model. WHY: virtual machines with
/// different CPUs may report the same name, such as "AMD EPYC".
pub fn read_cpu_model(cpuinfo: &str) -> String {
    let name = ["model name", "Model", "Hardware"]
        .iter()
        .find_map(|key| field_value(cpuinfo, key))
        .unwrap_or_else(|| UNKNOWN.to_owned());
    match ["cpu family", "model"].map(|key| field_value(cpuinfo, key)) {
        [Some(family), Some(model)] => format!("{name} (family {family}, model {model})"),
        _ => name,
    }
}

/// Returns the value in the first line of `text` that has the form `key : value`.
fn field_value(text: &str, key: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim().to_owned())
    })
}

fn read_hypervisor(cpuinfo: &str) -> Option<String> {
    let flags = field_value(cpuinfo, "flags")?;
    flags
        .split_whitespace()
        .find(|&flag| flag == "hypervisor")?;
    Some(read_trimmed_file("/sys/class/dmi/id/sys_vendor").unwrap_or(UNKNOWN.to_owned()))
}

fn read_load_average() -> Option<f64> {
    let text = read_trimmed_file("/proc/loadavg")?;
    text.split_whitespace().next()?.parse().ok()
}

fn read_trimmed_file(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}
