//! The identity of processes: of those of a namespace, and of those that `/proc` shows.
//!
//! The process id of a [`ProcessInfo`] is the one that the process has in its own PID namespace.
//! Processes in different containers may have the same one, so it does not identify a process.

use std::fs;
use std::io::{self, ErrorKind::NotFound, ErrorKind::PermissionDenied};

use horus_core::introspect::{Participant, ProcessInfo};
use horus_core::scheduler::SchedulerInfo;
use serde::{Serialize, Serializer};

/// The error of a system call for a process that has ended meanwhile.
const ESRCH: i32 = 3;

/// Identifies a process of a namespace. Keys are sorted by process id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct ProcessKey {
    pub(crate) pid: u32,
    pub(crate) owner_id: OwnerId,
}

/// The owner id of a process, as in [`Participant::owner_id`]. JSON has it as 16 hexadecimal
/// digits.
///
/// WHY: a number of JavaScript has 53 bits, and the id has 64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OwnerId(pub(crate) u64);

/// A live process of a namespace, with its description.
#[derive(Debug, Clone)]
pub(crate) struct LiveProcess {
    pub(crate) key: ProcessKey,
    pub(crate) info: ProcessInfo,
}

/// The parts of `/proc/<pid>/stat` that this program uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessStat {
    /// The letter of the state, such as `T`.
    state: u8,
    /// The id of the process group.
    pub(crate) group: u32,
    /// The start time, in clock ticks since boot, as in [`ProcessInfo::start_time`].
    pub(crate) start_time: u64,
}

impl ProcessKey {
    /// Returns the key of the process of an endpoint; `None` if the process is not known.
    pub(crate) fn of(participant: &Participant) -> Option<Self> {
        Some(Self {
            pid: participant.process.as_ref()?.pid,
            owner_id: OwnerId(participant.owner_id),
        })
    }

    /// Returns the key of the process of a scheduler; `None` if the scheduler is not alive, or its
    /// process is not known.
    pub(crate) fn of_scheduler(scheduler: &SchedulerInfo) -> Option<Self> {
        Some(Self {
            pid: scheduler.process_id?,
            owner_id: OwnerId(scheduler.owner_id?),
        })
    }
}

impl Serialize for OwnerId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:016x}", self.0))
    }
}

impl LiveProcess {
    /// Returns the process of a participant; `None` if it is not known.
    pub(crate) fn of(participant: Participant) -> Option<Self> {
        Some(Self {
            key: ProcessKey::of(&participant)?,
            info: participant.process?,
        })
    }
}

impl ProcessStat {
    /// Reads what `/proc` shows of the process with the id `pid` in the PID namespace of this
    /// command. Returns `None` if there is no such process.
    pub(crate) fn read(pid: u32) -> Option<Self> {
        Self::try_read(pid).ok().flatten()
    }

    /// Reads what `/proc` shows of a process, as [`Self::read`] does.
    ///
    /// # Errors
    ///
    /// The process may exist, but `/proc` cannot be read, for example because this process has too
    /// many open files.
    pub(crate) fn try_read(pid: u32) -> io::Result<Option<Self>> {
        // WHY bytes: the name of the program may contain anything.
        match fs::read(format!("/proc/{pid}/stat")) {
            Ok(stat) => Ok(Self::parse(&stat)),
            Err(error) if error.raw_os_error() == Some(ESRCH) => Ok(None),
            // WHY also without permission: `/proc` may be mounted with the option `hidepid`, and
            // then refuses the processes of all other users.
            Err(error) if matches!(error.kind(), NotFound | PermissionDenied) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads what `/proc` shows of a process of the namespace. Returns `None` if that is not known,
    /// as for processes of other containers.
    pub(crate) fn of(process: &ProcessInfo) -> Option<Self> {
        let stat = Self::read(process.pid)?;
        // WHY: another process may have this id here.
        (stat.start_time == process.start_time).then_some(stat)
    }

    fn parse(stat: &[u8]) -> Option<Self> {
        // The last parenthesis ends the name of the program.
        let name_end = stat.iter().rposition(|byte| *byte == b')')?;
        let fields = str::from_utf8(&stat[name_end + 1..]).ok()?;
        let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
        Some(Self {
            state: *fields.first()?.as_bytes().first()?,
            group: fields.get(2)?.parse().ok()?,
            start_time: fields.get(19)?.parse().ok()?,
        })
    }

    /// Returns true if the process has ended, and its parent has not waited for it yet.
    pub(crate) const fn has_ended(self) -> bool {
        matches!(self.state, b'Z' | b'X')
    }

    /// Returns true if the process is suspended, for example by SIGSTOP or a debugger.
    pub(crate) const fn is_suspended(self) -> bool {
        matches!(self.state, b'T' | b't')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_after_any_name_are_parsed() {
        let rest = "T 1 42 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 777 20 21";
        let expected = ProcessStat {
            state: b'T',
            group: 42,
            start_time: 777,
        };
        for name in [&b"imu"[..], b"a) S 1 2", b"\xff\xfe (", b""] {
            let stat = [b"4711 (", name, b") ", rest.as_bytes()].concat();
            assert_eq!(ProcessStat::parse(&stat), Some(expected));
        }
        assert!(expected.is_suspended());
        for stat in ["", "4711 (imu", "4711 (imu)", "4711 (imu) T 1 x"] {
            assert_eq!(ProcessStat::parse(stat.as_bytes()), None, "{stat}");
        }
        let own = ProcessStat::read(std::process::id()).unwrap();
        assert!(!own.is_suspended() && own.start_time > 0, "{own:?}");
    }

    #[test]
    fn owner_ids_are_text_in_json() {
        let key = ProcessKey {
            pid: 7,
            owner_id: OwnerId(0x0001_0000_0000_0002),
        };
        let json = serde_json::to_string(&key).unwrap();
        assert_eq!(json, r#"{"pid":7,"owner_id":"0001000000000002"}"#);
    }
}
