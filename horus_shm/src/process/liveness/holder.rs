//! Holders of a topic file: finds the process that prevents others from using the file, in the
//! kernel's lists of locks.
//!
//! This is used only for error messages. The kernel does not name the owner of such a lock
//! directly: the only way is to search the list of locks of each descriptor of each process, under
//! `/proc`.

use std::fs;
use std::os::unix::fs::MetadataExt;

use super::ProcessInfo;
use super::record::{parse_stat_name_and_start, parse_stat_state};
use crate::os::FileStatus;

/// A lock or lease whose holder is to be found. The fields are the numbers that
/// `/proc/<pid>/fdinfo/<fd>` shows for it.
#[derive(Debug, Clone, Copy)]
pub(super) struct WantedLock {
    /// Inode of the registry file that is locked.
    pub(super) registry: u64,
    /// Offset of the byte of the registry file that is locked exclusively while the topic file is
    /// being removed.
    pub(super) byte: u64,
    /// Inode of the topic file, on which a process may hold a lease instead of the lock.
    pub(super) topic: u64,
}

/// A process whose lock or lease prevents others from using a topic file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The process that has the lock or the lease.
    pub process: ProcessInfo,
    /// True if a signal has stopped the process. A debugger that suspends the process does not
    /// count.
    pub is_stopped: bool,
}

/// Returns the first of `processes` that has the wanted lock or lease, and its state; `None` if no
/// process has it.
pub(super) fn find_holder(
    processes: impl Iterator<Item = ProcessInfo>,
    wanted: WantedLock,
) -> Option<Holder> {
    for process in processes {
        let dir = format!("/proc/{}", process.pid);
        let Ok(stat) = fs::read(format!("{dir}/stat")) else {
            continue;
        };
        // WHY: the pid may be another process's by now, or one of another pid namespace.
        if parse_stat_name_and_start(&stat).is_none_or(|(_, start)| start != process.start_time) {
            continue;
        }
        let Ok(descriptors) = fs::read_dir(format!("{dir}/fdinfo")) else {
            continue;
        };
        let infos = descriptors
            .flatten()
            .filter_map(|entry| fs::read_to_string(entry.path()).ok());
        if infos
            .into_iter()
            .any(|info| info.lines().any(|line| is_wanted_lock(line, wanted)))
        {
            let is_stopped = parse_stat_state(&stat) == Some(b'T');
            return Some(Holder {
                process,
                is_stopped,
            });
        }
    }
    None
}

/// Returns another process that has `file` open. Used only for error messages, because it is slow:
/// it examines all descriptors of this user's processes.
pub(crate) fn find_process_with_open_file(file: &FileStatus) -> Option<ProcessInfo> {
    for process in fs::read_dir("/proc").ok()?.flatten() {
        let pid = process
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        let Some(pid) = pid.filter(|&pid: &u32| pid != std::process::id()) else {
            continue;
        };
        let Ok(descriptors) = fs::read_dir(process.path().join("fd")) else {
            continue;
        };
        let stats = descriptors
            .flatten()
            .filter_map(|entry| fs::metadata(entry.path()).ok());
        if !stats
            .into_iter()
            .any(|found| (found.dev(), found.ino()) == (file.dev, file.ino))
        {
            continue;
        }
        let stat = fs::read(process.path().join("stat")).unwrap_or_default();
        let (name, start_time) = parse_stat_name_and_start(&stat).unwrap_or_default();
        let name = String::from_utf8_lossy(name).escape_debug().to_string();
        return Some(ProcessInfo {
            pid,
            start_time,
            name,
        });
    }
    None
}

/// Returns true if a line of `fdinfo` lists the wanted lock or lease. Such a line is `lock:\t1:
/// OFDLCK  ADVISORY  WRITE -1 00:1a:513 1099511628289 1099511628289`.
fn is_wanted_lock(line: &str, wanted: WantedLock) -> bool {
    let mut words = line.split_ascii_whitespace();
    let is_lock = words.next() == Some("lock:");
    let Some((kind, access)) = words.nth(1).zip(words.nth(1)) else {
        return false;
    };
    let Some((file, start, end)) = words
        .nth(1)
        .and_then(|file| Some((file, words.next()?, words.next()?)))
    else {
        return false;
    };
    let inode: Option<u64> = file.rsplit(':').next().and_then(|inode| inode.parse().ok());
    let first: u64 = start.parse().unwrap_or(u64::MAX);
    let last: u64 = if end == "EOF" {
        u64::MAX
    } else {
        end.parse().unwrap_or(0)
    };
    let is_range = (first..=last).contains(&wanted.byte) && inode == Some(wanted.registry);
    let is_lease = kind == "LEASE" && inode == Some(wanted.topic);
    is_lock && access == "WRITE" && (is_lease || kind == "OFDLCK" && is_range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_lines_of_the_kernel_are_parsed() {
        let wanted = WantedLock {
            registry: 513,
            byte: 1_099_511_628_289,
            topic: 7,
        };
        let lock = "lock:\t1: OFDLCK  ADVISORY  WRITE -1 00:1a:513 1099511628289 1099511628289";
        let others = [
            lock.replace("WRITE", "READ "),
            lock.replace(":513", ":514"),
            lock.replace("8289 109", "8288 109")
                .replace("628289", "628288"),
            lock.replace("OFDLCK", "POSIX "),
            lock.replace("lock:", "kcol:"),
            "lock:\t1: OFDLCK  ADVISORY  WRITE".to_owned(),
            "pos:\t0".to_owned(),
            String::new(),
        ];
        assert!(is_wanted_lock(lock, wanted));
        assert!(is_wanted_lock(
            "lock:\t1: OFDLCK ADVISORY WRITE -1 00:1a:513 0 EOF",
            wanted
        ));
        assert!(is_wanted_lock(
            "lock:\t1: LEASE  ACTIVE    WRITE 99 00:1a:7 0 EOF",
            wanted
        ));
        for other in others {
            assert!(!is_wanted_lock(&other, wanted), "{other}");
        }
    }
}
