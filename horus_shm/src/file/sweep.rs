//! Sweeps: a sweep removes the topic files and lane files of a namespace that no process uses any
//! more.

mod foreign;
mod lane_files;

use std::collections::{HashMap, HashSet};
use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use crate::file::error::OpenError;
use crate::file::header::{self, HeaderError, TopicHeader};
use crate::file::lane_name;
use crate::file::name::TopicName;
use crate::file::namespace::Namespace;
use crate::file::open::{OpenAttempt, TopicPath, lock_unless_in_use};
use crate::file::segment::FileId;
use crate::os::{self, OpenMode};
use crate::protocol::layout::HEADER_BYTES;
use crate::protocol::presence::{self, AttachableFile};

/// The result of a sweep of a namespace: the topics and files that were found, by what was done
/// with them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SweepReport {
    /// Topics that were removed, because every process that used them is dead.
    pub removed: Vec<TopicName>,
    /// Topics that were kept because at least one live process uses them.
    pub in_use: Vec<TopicName>,
    /// Topics that no process uses, but that were kept because their publishers asked for
    /// persistence.
    pub kept: Vec<TopicName>,
    /// Names of files that are damaged, or that are not topic files of this library. The sweep did
    /// not change them.
    pub foreign: Vec<String>,
}

enum TopicSweepOutcome {
    Removed,
    InUse,
    Kept,
    Foreign,
    Gone,
}

/// Removes the topic files that dead processes left in `namespace`, except persistent topics. Never
/// removes a file that is in use.
///
/// Runs automatically when a process joins a namespace. Any process may call it at any time;
/// several processes may call it at once. If a process dies during a sweep, the next sweep
/// completes it. Makes some ten system calls for each topic, or five if another process uses the
/// topic.
///
/// ```
/// # use horus_shm::{FanoutShm, Namespace, NamespaceConfig, NamespaceName, RingOptions, sweep};
/// # let dir = tempfile::tempdir_in("/dev/shm").unwrap();
/// # let config = NamespaceConfig::new(dir.path().join("horus"), NamespaceName::new("doc")?);
/// let namespace = Namespace::open(&config)?;
/// let ring = FanoutShm::<u64>::create(&namespace, "imu", &RingOptions::default())?;
/// assert_eq!(sweep(&namespace)?.in_use.len(), 1, "in use by this very process");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`OpenError::Io`] if the directory cannot be read. If a single file cannot be examined, it is
/// listed in [`SweepReport::foreign`] instead.
pub fn sweep(namespace: &Arc<Namespace>) -> Result<SweepReport, OpenError> {
    let mut report = SweepReport::default();
    let (lane_files, topics): (Vec<_>, Vec<_>) = file_names(namespace)?
        .into_iter()
        .partition(|name| lane_name::is_lane_file_name(name));
    let mut inodes = HashMap::new();
    let dir = namespace.topics_dir().ok();
    for shown in topics {
        let Ok(name) = TopicName::from_file_name(&shown) else {
            report.foreign.push(shown);
            continue;
        };
        // WHY first: most topics are in use, and need not be opened.
        let place = TopicPath {
            namespace,
            name: &name,
        };
        if let Some(inode) = dir.and_then(|dir| inode_if_in_use(&place, dir)) {
            inodes.insert(shown, inode);
            report.in_use.push(name);
            continue;
        }
        match sweep_topic(namespace, &name, PersistentTopicRule::Keep) {
            Ok(TopicSweepOutcome::Removed) => report.removed.push(name),
            Ok(TopicSweepOutcome::InUse) => report.in_use.push(name),
            Ok(TopicSweepOutcome::Kept) => report.kept.push(name),
            Ok(TopicSweepOutcome::Gone) => {}
            Ok(TopicSweepOutcome::Foreign) | Err(_) => report.foreign.push(shown),
        }
    }
    report
        .foreign
        .extend(remove_orphaned_lane_files_and_get_unreadable(
            namespace, lane_files, inodes,
        )?);
    Ok(report)
}

/// Returns the inode of the file that has the topic's name, if another process uses that file;
/// otherwise `None`.
fn inode_if_in_use(place: &TopicPath<'_>, dir: BorrowedFd<'_>) -> Option<u64> {
    let stat = os::fstatat(dir, place.name.file_name()).ok()?;
    let registry = place.namespace.registry();
    let is_used =
        place.check_file_status(&stat).is_ok() && registry.is_topic_file_used_by_others(stat.ino);
    is_used.then_some(stat.ino)
}

/// Removes the lane files in the list `names` that belong to no topic. Returns the names of the
/// damaged ones. `known_inodes` maps the file names of some topics to the inodes of their files.
fn remove_orphaned_lane_files_and_get_unreadable(
    namespace: &Namespace,
    mut names: Vec<String>,
    known_inodes: HashMap<String, u64>,
) -> Result<Vec<String>, OpenError> {
    if names.is_empty() {
        return Ok(names);
    }
    // WHY after the names of the lane files: each of those is younger than its topic file.
    let topics = topic_inodes(namespace, known_inodes)?;
    let belongs = |inode| topics.contains(&inode);
    names.retain(|name| !lane_name::topic_inode_in_name(name).is_some_and(belongs));
    Ok(lane_files::remove_orphaned_lane_files_and_get_unreadable(
        namespace, names, &topics,
    ))
}

/// Returns the inodes of all topic files of the namespace. `known_inodes` contains those that the
/// caller has already found, by file name.
fn topic_inodes(
    namespace: &Namespace,
    known_inodes: HashMap<String, u64>,
) -> Result<HashSet<u64>, OpenError> {
    let mut names = file_names(namespace)?;
    names.retain(|name| !known_inodes.contains_key(name) && !lane_name::is_lane_file_name(name));
    let inode = |name: &String| Some(os::fstatat(namespace.topics_dir().ok()?, name).ok()?.ino);
    let others = names.iter().filter_map(inode);
    Ok(others.chain(known_inodes.into_values()).collect())
}

/// Removes the topic `name`, even if it is persistent, but not while a process (this one included)
/// uses it. Returns true if the topic is gone or never existed.
///
/// Removes any file that has the topic's name: also a damaged file, one with other permissions, a
/// symbolic link, a FIFO, or an empty directory.
///
/// # Errors
///
/// [`OpenError::NotRemoved`], which describes the obstacle: a process that has a damaged file open,
/// or a directory that is not empty. [`OpenError::Io`] if a system call fails.
pub fn remove_topic(namespace: &Arc<Namespace>, name: &TopicName) -> Result<bool, OpenError> {
    remove_topic_by_rule(namespace, name, PersistentTopicRule::Remove)
}

/// Does the same as [`remove_topic`], but keeps the topic and returns false if it was used since
/// the caller has looked at it. `uses` is the sum of [`claims`](crate::LaneCounters::claims) and
/// [`sent`](crate::LaneCounters::sent) of all lanes.
///
/// A caller that first determines `uses`, and then reads the messages, thus removes no message that
/// it has not read.
///
/// # Errors
///
/// As [`remove_topic`].
pub fn remove_topic_if_unused(
    namespace: &Arc<Namespace>,
    name: &TopicName,
    uses: u64,
) -> Result<bool, OpenError> {
    remove_topic_by_rule(
        namespace,
        name,
        PersistentTopicRule::RemoveIfUseCountIs(uses),
    )
}

fn remove_topic_by_rule(
    namespace: &Arc<Namespace>,
    name: &TopicName,
    rule: PersistentTopicRule,
) -> Result<bool, OpenError> {
    match sweep_topic(namespace, name, rule) {
        Ok(TopicSweepOutcome::Removed | TopicSweepOutcome::Gone) => Ok(true),
        Ok(TopicSweepOutcome::InUse | TopicSweepOutcome::Kept) => Ok(false),
        Ok(TopicSweepOutcome::Foreign) | Err(OpenError::NotATopic { .. }) => {
            remove_foreign_file(namespace, name)
        }
        Err(OpenError::Io { source, .. }) if source.kind() == ErrorKind::PermissionDenied => {
            remove_foreign_file(namespace, name)
        }
        Err(error) => Err(error),
    }
}

/// Removes a file that cannot be read as a topic, and its lane files. Returns true if the file was
/// removed.
fn remove_foreign_file(namespace: &Arc<Namespace>, name: &TopicName) -> Result<bool, OpenError> {
    let removed = foreign::remove_foreign_file(&TopicPath { namespace, name })?;
    if removed {
        // WHY all orphans: a damaged file does not say which lane files are its own.
        let mut names = file_names(namespace)?;
        names.retain(|name| lane_name::is_lane_file_name(name));
        remove_orphaned_lane_files_and_get_unreadable(namespace, names, HashMap::new())?;
    }
    Ok(removed)
}

/// The rule of a sweep for persistent topics that no process uses: they are kept or removed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PersistentTopicRule {
    Keep,
    Remove,
    /// They are removed if [`TopicFile::use_count`] is this number.
    RemoveIfUseCountIs(u64),
}

fn file_names(namespace: &Namespace) -> Result<Vec<String>, OpenError> {
    let names = namespace
        .topics_dir()
        .and_then(os::list_dir)
        .map_err(|source| OpenError::Io {
            operation: "listing",
            path: namespace.topics_path(),
            source,
        })?;
    Ok(names
        .iter()
        .map(|name| name.to_string_lossy().into_owned())
        .collect())
}

/// Returns the names of all topics in `namespace`, whether or not they are in use, in no particular
/// order. Does not open the topics.
///
/// # Errors
///
/// [`OpenError::Io`] if the directory cannot be read.
pub fn topic_names(namespace: &Namespace) -> Result<Vec<TopicName>, OpenError> {
    let names = file_names(namespace)?;
    Ok(names
        .iter()
        .filter_map(|name| TopicName::from_file_name(name).ok())
        .collect())
}

fn sweep_topic(
    namespace: &Arc<Namespace>,
    name: &TopicName,
    persistent: PersistentTopicRule,
) -> Result<TopicSweepOutcome, OpenError> {
    let place = TopicPath { namespace, name };
    let dir = namespace.topics_dir().map_err(place.io_error("opening"))?;
    let fd = match os::open_file(dir, name.file_name(), OpenMode::ReadWrite) {
        Ok(fd) => fd,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(TopicSweepOutcome::Gone);
        }
        // WHY: another process holds a lease on the file, to find out whether it may remove it.
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
            return Ok(TopicSweepOutcome::InUse);
        }
        Err(error) => return Err(place.open_error(error)),
    };
    let stat = os::fstat(fd.as_fd()).map_err(place.io_error("looking at"))?;
    if stat.links == 0 {
        return Ok(TopicSweepOutcome::Gone);
    }
    place.check_file_status(&stat)?;
    let id = FileId::from_stat(&stat);
    // WHY: an exclusive lock would replace this process's own shared one without conflict. So only
    // the table shows which files this process uses; it stays locked until this file is handled.
    let Some(_table) = lock_unless_in_use(id) else {
        return Ok(TopicSweepOutcome::InUse);
    };
    let mut bytes = vec![0; HEADER_BYTES.min(stat.size_bytes as usize)];
    os::read_at(fd.as_fd(), &mut bytes, 0).map_err(place.io_error("reading the header of"))?;
    let decoded =
        header::decode_topic_header(&bytes, stat.size_bytes, name.as_str(), place.provenance());
    match decoded {
        Ok(TopicHeader { topic_id, .. }) => {
            let file = place.topic_file(fd, id).with_topic_id(topic_id);
            let retired = file.is_retired().map_err(place.io_error("looking at"))?;
            let keeps = persistent == PersistentTopicRule::Keep && !retired;
            if keeps
                && file
                    .has_latched_history()
                    .map_err(place.io_error("reading"))?
            {
                return Ok(TopicSweepOutcome::Kept);
            }
            let removed = match persistent {
                PersistentTopicRule::Keep if keeps => presence::retire_file_unless_kept(&file),
                PersistentTopicRule::Keep | PersistentTopicRule::Remove => {
                    presence::retire_file(&file)
                }
                PersistentTopicRule::RemoveIfUseCountIs(uses) => {
                    presence::retire_file_if(&file, || Ok(file.use_count()? == uses))
                }
            };
            let removed = removed.map_err(place.io_error("removing"))?;
            Ok(if removed {
                TopicSweepOutcome::Removed
            } else {
                TopicSweepOutcome::InUse
            })
        }
        Err(HeaderError::Magic | HeaderError::Damaged { .. }) => Ok(TopicSweepOutcome::Foreign),
        Err(error) => {
            let look = place.remove_stale_file(&place.topic_file(fd, id), error)?;
            Ok(if matches!(look, OpenAttempt::Gone) {
                TopicSweepOutcome::Removed
            } else {
                TopicSweepOutcome::InUse
            })
        }
    }
}
