//! Sweeps, which remove topic files that no process attends any more.

mod foreign;

use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::sync::Arc;

use crate::file::error::OpenError;
use crate::file::header::{self, HeaderError};
use crate::file::name::TopicName;
use crate::file::namespace::Namespace;
use crate::file::open::{Look, TopicPath, table_unless_attended};
use crate::file::segment::FileId;
use crate::os::{self, OpenMode};
use crate::protocol::layout::HEADER_BYTES;
use crate::protocol::presence::{self, Attendance};

/// The result of a sweep of a namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SweepReport {
    /// Topics that were removed, because their processes are gone.
    pub removed: Vec<TopicName>,
    /// Topics that a process attends.
    pub attended: Vec<TopicName>,
    /// Topics without processes that stay because they persist.
    pub kept: Vec<TopicName>,
    /// File names that are not topics of this library, or damaged: left unchanged.
    pub foreign: Vec<String>,
}

enum Swept {
    Removed,
    Attended,
    Kept,
    Foreign,
    Gone,
}

/// Removes what dead processes left in `namespace`; never what is in use.
///
/// Runs automatically when a process joins a namespace. Any process may call it at any time, even
/// several at once. If a process dies in it, the next sweep does the rest. Some ten system calls a
/// topic.
///
/// ```
/// # use horus_shm::{FanoutShm, Namespace, NamespaceConfig, NamespaceName, RingOptions, sweep};
/// # let dir = tempfile::tempdir_in("/dev/shm").unwrap();
/// # let config = NamespaceConfig::new(dir.path().join("horus"), NamespaceName::new("doc")?);
/// let namespace = Namespace::open(&config)?;
/// let ring = FanoutShm::<u64>::create(&namespace, "imu", &RingOptions::default())?;
/// assert_eq!(sweep(&namespace)?.attended.len(), 1, "in use by this very process");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`OpenError::Io`] if the directory cannot be read. A single file that cannot be examined is
/// reported as foreign.
pub fn sweep(namespace: &Arc<Namespace>) -> Result<SweepReport, OpenError> {
    let mut report = SweepReport::default();
    for shown in file_names(namespace)? {
        let Ok(name) = TopicName::from_file_name(&shown) else {
            report.foreign.push(shown);
            continue;
        };
        match sweep_topic(namespace, &name, Persistent::Stay) {
            Ok(Swept::Removed) => report.removed.push(name),
            Ok(Swept::Attended) => report.attended.push(name),
            Ok(Swept::Kept) => report.kept.push(name),
            Ok(Swept::Gone) => {}
            Ok(Swept::Foreign) | Err(_) => report.foreign.push(shown),
        }
    }
    Ok(report)
}

/// Removes the topic `name`, even if it persists; never while a process attends it, this one
/// included. Returns true if it is gone, even if it never existed.
///
/// A file of any kind with the topic's name is removed: also a damaged one, one with other
/// permissions, a symbolic link, a FIFO, or an empty directory.
///
/// # Errors
///
/// [`OpenError::NotRemoved`] with the obstacle: a process that has a damaged file open, or a
/// directory that is not empty. [`OpenError::Io`] if a system call fails.
pub fn remove_topic(namespace: &Arc<Namespace>, name: &TopicName) -> Result<bool, OpenError> {
    match sweep_topic(namespace, name, Persistent::Go) {
        Ok(Swept::Removed | Swept::Gone) => Ok(true),
        Ok(Swept::Attended | Swept::Kept) => Ok(false),
        Ok(Swept::Foreign) | Err(OpenError::NotATopic { .. }) => {
            foreign::remove(&TopicPath { namespace, name })
        }
        Err(OpenError::Io { source, .. }) if source.kind() == ErrorKind::PermissionDenied => {
            foreign::remove(&TopicPath { namespace, name })
        }
        Err(error) => Err(error),
    }
}

/// The treatment of topics that persist.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Persistent {
    Stay,
    Go,
}

fn file_names(namespace: &Namespace) -> Result<Vec<String>, OpenError> {
    let names = namespace.topics_dir().and_then(os::list_dir).map_err(|source| OpenError::Io {
        operation: "listing",
        path: namespace.topics_path(),
        source,
    })?;
    Ok(names.iter().map(|name| name.to_string_lossy().into_owned()).collect())
}

/// Returns the names of the topics in `namespace`, in use or not, in no order. Opens none of them.
///
/// # Errors
///
/// [`OpenError::Io`] if the directory cannot be read.
pub fn topic_names(namespace: &Namespace) -> Result<Vec<TopicName>, OpenError> {
    let names = file_names(namespace)?;
    Ok(names.iter().filter_map(|name| TopicName::from_file_name(name).ok()).collect())
}

fn sweep_topic(
    namespace: &Arc<Namespace>,
    name: &TopicName,
    persistent: Persistent,
) -> Result<Swept, OpenError> {
    let place = TopicPath { namespace, name };
    let dir = namespace.topics_dir().map_err(place.io("opening"))?;
    let fd = match os::open_file(dir, name.file_name(), OpenMode::ReadWrite) {
        Ok(fd) => fd,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Swept::Gone),
        // WHY: another process is just finding out whether to remove it.
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(Swept::Attended),
        Err(error) => return Err(place.unopened(error)),
    };
    let stat = os::fstat(fd.as_fd()).map_err(place.io("looking at"))?;
    if stat.links == 0 {
        return Ok(Swept::Gone);
    }
    place.check_kind(&stat)?;
    let id = FileId::of(&stat);
    // WHY: an exclusive lock on top of this process's own shared one would succeed. So only the
    // table shows what this process attends, and it stays locked until this file is handled.
    let Some(_table) = table_unless_attended(id) else { return Ok(Swept::Attended) };
    let mut bytes = vec![0; HEADER_BYTES.min(stat.size_bytes as usize)];
    os::read_at(fd.as_fd(), &mut bytes, 0).map_err(place.io("reading the header of"))?;
    let contract = header::decode(&bytes, stat.size_bytes, name.as_str(), place.provenance()?);
    match contract {
        Ok(contract) => {
            let file = place.file(fd, id);
            let retired = file.is_retired().map_err(place.io("looking at"))?;
            if contract.persists && !retired && persistent == Persistent::Stay {
                return Ok(Swept::Kept);
            }
            let removed = presence::retire(&file).map_err(place.io("removing"))?;
            Ok(if removed { Swept::Removed } else { Swept::Attended })
        }
        Err(HeaderError::Magic | HeaderError::Damaged { .. }) => Ok(Swept::Foreign),
        Err(error) => {
            let look = place.replace(&place.file(fd, id), error)?;
            Ok(if matches!(look, Look::Gone) { Swept::Removed } else { Swept::Attended })
        }
    }
}
