//! Computes how many more threads this process can create under the limits of the system.

use std::fs;
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};

/// Number of memory mappings that a thread needs: its stack and its signal stack, each with a guard
/// page.
const MAPPINGS_PER_THREAD: u64 = 4;

/// The share of the allowed mappings that is reserved for memory that the process maps later: they
/// are divided by this number.
const RESERVED_MAPPINGS_DIVISOR: u64 = 8;

/// The number of threads that this process can still create, and the system limit that determines
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RemainingThreads {
    /// Number of threads that can still be created.
    pub threads: u64,
    /// Name of the system limit that determines `threads`.
    pub limit: &'static str,
}

/// Returns the number of threads that the tightest limit still permits; `None` if the system
/// reports no limit.
///
/// Reads some files of `/proc` and `/sys`. Other processes may start threads in the meantime, so
/// that fewer remain.
///
/// WHY the number of mappings counts: a thread that cannot map its signal stack ends the process.
#[must_use]
pub fn remaining_threads() -> Option<RemainingThreads> {
    let kernel = |name| read_number(Path::new("/proc/sys").join(name));
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let all = threads_of_system(&load).unwrap_or(0);
    let maps = fs::read("/proc/self/maps").unwrap_or_default();
    let maps = maps.iter().filter(|byte| **byte == b'\n').count() as u64;
    let cgroups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = [
        ("kernel.threads-max", kernel("kernel/threads-max"), all),
        ("kernel.pid_max", kernel("kernel/pid_max"), all),
        ("RLIMIT_NPROC", user_thread_limit(), threads_of_process()),
    ];
    let limits = limits.map(|(limit, max, used)| remaining_under_limit(limit, max?, used));
    let of_maps = kernel("vm/max_map_count").map(|max| RemainingThreads {
        threads: threads_for_mappings(max, maps),
        limit: "vm.max_map_count",
    });
    let of_cgroups = pids_cgroup_directories(&cgroups)
        .into_iter()
        .map(|directory| {
            let max = read_number(directory.join("pids.max"))?;
            remaining_under_limit(
                "pids.max",
                max,
                read_number(directory.join("pids.current"))?,
            )
        });
    let all = limits.into_iter().chain([of_maps]).chain(of_cgroups);
    all.flatten().min()
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "the caller's closures return options"
)]
const fn remaining_under_limit(
    limit: &'static str,
    threads_max: u64,
    threads_used: u64,
) -> Option<RemainingThreads> {
    let threads = threads_max.saturating_sub(threads_used);
    Some(RemainingThreads { threads, limit })
}

/// Returns the number that the file at `path` contains; `None` if it contains no number, such as
/// `max` in a control group.
fn read_number(path: PathBuf) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Returns the number of threads that exist in the system. `loadavg_text` is the content of
/// `/proc/loadavg`.
fn threads_of_system(loadavg_text: &str) -> Option<u64> {
    loadavg_text
        .split(' ')
        .nth(3)?
        .split('/')
        .nth(1)?
        .parse()
        .ok()
}

const fn threads_for_mappings(mappings_max: u64, mappings_used: u64) -> u64 {
    (mappings_max - mappings_max / RESERVED_MAPPINGS_DIVISOR).saturating_sub(mappings_used)
        / MAPPINGS_PER_THREAD
}

fn threads_of_process() -> u64 {
    fs::read_dir("/proc/self/task").map_or(1, |threads| threads.count() as u64)
}

/// Returns the maximum number of threads of the present user; `None` if there is no limit, as for
/// root.
fn user_thread_limit() -> Option<u64> {
    // SAFETY: the call has no arguments and cannot fail.
    if unsafe { libc::geteuid() } == 0 {
        return None;
    }
    let mut limit = MaybeUninit::<libc::rlimit>::zeroed();
    // SAFETY: the limit is valid for the write. WHY unchecked: zeros are no limit, as below.
    let status = unsafe { libc::getrlimit(libc::RLIMIT_NPROC, limit.as_mut_ptr()) };
    // SAFETY: zeros are a valid limit.
    let limit = unsafe { limit.assume_init() };
    (status == 0 && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

/// Returns the directories of the control groups that may limit the threads of a process: its own
/// group and those above it. `cgroup_text` is the content of the process's `/proc/self/cgroup`.
fn pids_cgroup_directories(cgroup_text: &str) -> Vec<PathBuf> {
    let mut directories = Vec::new();
    for line in cgroup_text.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
            continue;
        };
        let root = match controllers {
            "" => "/sys/fs/cgroup",
            _ if controllers.split(',').any(|name| name == "pids") => "/sys/fs/cgroup/pids",
            _ => continue,
        };
        let own = Path::new(root).join(path.trim_start_matches('/'));
        let above = own.ancestors().take_while(|above| above.starts_with(root));
        directories.extend(above.map(Path::to_owned));
    }
    directories
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_groups_above_count_in_both_hierarchies() {
        let text = "9:name=systemd:/a\n8:cpu,pids:/robot/one\n1:cpu:/x\n0::/user\nbad\n";
        let wanted = [
            "/sys/fs/cgroup/pids/robot/one",
            "/sys/fs/cgroup/pids/robot",
            "/sys/fs/cgroup/pids",
            "/sys/fs/cgroup/user",
            "/sys/fs/cgroup",
        ];
        assert_eq!(pids_cgroup_directories(text), wanted.map(PathBuf::from));
    }

    #[test]
    fn a_thread_needs_four_mappings_and_some_are_reserved() {
        assert_eq!(threads_for_mappings(65_530, 0), 14_334);
        assert_eq!(threads_for_mappings(65_530, 57_339 - 4), 1);
        assert_eq!(threads_for_mappings(65_530, 65_530), 0);
        assert_eq!(threads_of_system("0.48 1.63 3.12 3/109 22130\n"), Some(109));
        assert_eq!(threads_of_system(""), None);
    }

    /// Starts some threads, and returns the average number of memory mappings that each of them
    /// adds.
    fn maps_of_a_thread() -> f64 {
        const THREADS: usize = 64;
        let maps = || {
            let maps = fs::read_to_string("/proc/self/maps").unwrap();
            maps.lines().count() as f64
        };
        let before = maps();
        let barrier = std::sync::Barrier::new(THREADS + 1);
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| (barrier.wait(), barrier.wait()));
            }
            barrier.wait();
            let each = (maps() - before) / THREADS as f64;
            barrier.wait();
            each
        })
    }

    #[test]
    fn the_mappings_of_threads_are_those_that_are_counted() {
        if cfg!(any(horus_sanitizer = "address", horus_sanitizer = "thread")) {
            return horus_testing::skip("the sanitizer maps memory for each thread, too");
        }
        // WHY again: other tests of this process map and unmap memory at the same time. They end
        // within seconds.
        let is_found = (0..1000).any(|_| (3.0..5.0).contains(&maps_of_a_thread()));
        assert!(is_found, "{}", maps_of_a_thread());
        let room = remaining_threads().unwrap();
        assert!(room.threads > 0, "{room:?}");
    }
}
