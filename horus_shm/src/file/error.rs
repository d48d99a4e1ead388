//! Errors of opening a topic or a ring, and of receiving.

use std::path::PathBuf;
use std::{fmt, io};

use crate::file::card::Mismatch;
use crate::file::label::TopicLabel;
use crate::file::name::NameError;
use crate::file::namespace::error::NamespaceError;
use crate::file::topic_type::TypeInfo;
use crate::os;
use crate::process::liveness::Holder;
use crate::protocol::layout::PARTICIPANTS_MAX;
use crate::protocol::shape::ShapeError;

/// The reason why a topic or one of its endpoints could not be opened. The failed call changed
/// nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The topic's name is not valid.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The namespace's directory or registry cannot be used.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// The topic does not exist yet. Retrying later may succeed.
    #[error(
        "no topic at {}: start its publisher, or open it so that it is created",
        path.display()
    )]
    NotFound {
        /// The path of the topic's file.
        path: PathBuf,
    },
    /// The topic exists, but the call was to create it.
    #[error("{} exists: open it, or remove it first", path.display())]
    AlreadyExists {
        /// The path of the file.
        path: PathBuf,
    },
    /// The file with the topic's name is not a topic file of this library.
    #[error("{} is {found}, and must be a topic file: remove it", path.display())]
    NotATopic {
        /// The path of the file.
        path: PathBuf,
        /// A description of the file.
        found: String,
    },
    /// The call may not remove the file with the topic's name.
    #[error("{} is {found}, and was not removed: {cure} first", path.display())]
    NotRemoved {
        /// The path of the file.
        path: PathBuf,
        /// A description of the file.
        found: &'static str,
        /// The advice: the action after which the file can be removed.
        cure: String,
    },
    /// The header of the topic file is damaged.
    #[error(
        "{} is damaged: {field} is {found}, and must be {wanted}: stop its users and remove it",
        path.display()
    )]
    Damaged {
        /// The path of the file.
        path: PathBuf,
        /// The field of the header.
        field: &'static str,
        /// The field's value.
        found: String,
        /// The value or range that is valid.
        wanted: String,
    },
    /// Live processes use the topic with another version of this library.
    #[error(
        "{} has layout version {found}, this library {wanted}, and processes use it: \
         run all of them with the same version",
        path.display()
    )]
    LayoutVersion {
        /// The path of the file.
        path: PathBuf,
        /// The file's version.
        found: u32,
        /// This library's version.
        wanted: u32,
    },
    /// Live processes use the topic under a registry that was removed.
    #[error(
        "{} belongs to a process registry that was removed while processes use it: \
         restart those processes",
        path.display()
    )]
    RegistryReplaced {
        /// The path of the file.
        path: PathBuf,
    },
    /// The file is stale and belongs to another user of the namespace's group. Only a process of
    /// its owner, or of root, can find out whether it is still in use. Retry after one of them ran.
    #[error(
        "{} is {stale}, and belongs to user {uid}: start a program of user {uid} or of root in \
         this namespace, which removes the file if it is not in use",
        path.display()
    )]
    StaleOfOther {
        /// The path of the file.
        path: PathBuf,
        /// The owner of the file.
        uid: u32,
        /// A description of the file.
        stale: String,
    },
    /// The topic was created with another type, and the request is strict.
    #[error(
        "{} carries '{}' ({} bytes), but '{}' ({} bytes) was requested: use the same schema",
        path.display(), found.name, found.bytes, wanted.name, wanted.bytes
    )]
    SchemaMismatch {
        /// The topic.
        path: PathBuf,
        /// The requested type.
        wanted: Box<TypeInfo>,
        /// The topic's type.
        found: Box<TypeInfo>,
    },
    /// Every lane that this publisher may take has a live publisher.
    #[error("all {limit} places of publishers are taken: {}", describe_limit(*limit))]
    TooManyPublishers {
        /// Number of lanes that the publisher may take.
        limit: u32,
    },
    /// Every reader slot that this reader may take has a live reader.
    #[error("all {limit} places of readers are taken: {}", describe_limit(*limit))]
    TooManySubscribers {
        /// Number of reader slots that the reader may take.
        limit: u32,
    },
    /// The file system in memory is full.
    #[error(
        "no space for {}: {}", path.display(),
        describe_no_space(*needed_bytes, *available_bytes, *available_files)
    )]
    NoSpace {
        /// The file.
        path: PathBuf,
        /// Number of bytes to be reserved.
        needed_bytes: u64,
        /// Number of bytes that the file system has left.
        available_bytes: u64,
        /// Number of files that the file system can still hold; `None` if it does not count them.
        available_files: Option<u64>,
    },
    /// Another process stopped while it was removing the file. Until it continues or ends, no
    /// process can use the name.
    #[error("{} is being removed by {}", path.display(), describe_remover(holder.as_deref()))]
    Retiring {
        /// The path of the file.
        path: PathBuf,
        /// The process that is removing the file, if the system names it.
        holder: Option<Box<Holder>>,
    },
    /// The requested sizes are not possible.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// The type name or the schema text is too long for the header.
    #[error("the {field} has {bytes} bytes: use at most {max}")]
    TypeTooLong {
        /// The text that is too long: the type name or the schema text.
        field: &'static str,
        /// Length of the text, in bytes.
        bytes: usize,
        /// Maximum length of the text, in bytes.
        max: usize,
    },
    /// This handle was inherited through `fork`; open a new one in the child.
    #[error("the handle belongs to the parent process: open a new one after fork")]
    Forked,
    /// The topic's file was truncated while this process used it, or the program closed descriptors
    /// of this library, and with them the lock that marks this process as alive.
    #[error(
        "{} was truncated while in use, or the program closed descriptors of this library: drop \
         all of its handles and open it again",
        path.display()
    )]
    RegionLost {
        /// The path of the topic's file.
        path: PathBuf,
    },
    /// The memory of a publisher's lane cannot be mapped.
    #[error("{}: {cause}", path.display())]
    LaneNotMapped {
        /// The topic.
        path: PathBuf,
        /// The lane, and the reason.
        cause: LaneNotMapped,
    },
    /// A system call failed.
    #[error("{operation} {}: {source}", path.display())]
    Io {
        /// The operation that failed.
        operation: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// Describes what to do if all lanes or all reader slots within the limit are taken.
fn describe_limit(limit: u32) -> String {
    if limit < PARTICIPANTS_MAX {
        format!("close one of them, or allow this one more of the {PARTICIPANTS_MAX} of the topic")
    } else {
        "close one of them, because no topic has more".to_owned()
    }
}

/// Describes the resource that a file system lacks, and the remedy.
fn describe_no_space(
    needed_bytes: u64,
    available_bytes: u64,
    available_files: Option<u64>,
) -> String {
    if available_files == Some(0) {
        return "the file system has no inode left: remove files, or mount it with a larger \
                nr_inodes"
            .to_owned();
    }
    format!(
        "{needed_bytes} bytes needed, {available_bytes} available: free some, or lower capacity"
    )
}

/// Describes the process that removes a file, and the remedy.
fn describe_remover(holder: Option<&Holder>) -> String {
    let Some(holder) = holder else {
        return "a process that makes no progress and that the system does not name: end it".into();
    };
    let process = &holder.process;
    let pid = holder.process.pid;
    if holder.is_stopped {
        format!(
            "{process}, which is stopped: continue it (kill -CONT {pid}), or end it (kill -KILL \
             {pid})"
        )
    } else {
        format!("{process}, which makes no progress: wait, or end it (kill {pid})")
    }
}

/// The reason why a handle does not receive, or does not receive from one of the publishers.
/// Permanent, except for [`Self::LaneNotMapped`], [`Self::Incompatible`] and [`Self::NameLost`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecvError {
    /// The handle was inherited through `fork`.
    #[error("{topic}: the handle belongs to the parent process: open a new one after fork")]
    Forked {
        /// The topic.
        topic: TopicLabel,
    },
    /// The topic's memory is lost: its file was truncated, or the program closed descriptors of
    /// this library.
    #[error(
        "{topic}: its memory is lost: the file was truncated, or the program closed descriptors of \
         this library: drop all of its handles and open it again"
    )]
    RegionLost {
        /// The topic.
        topic: TopicLabel,
    },
    /// The memory of a publisher's lane cannot be mapped, so its messages wait in the lane.
    /// Transient: calls that receive try again ten times a second, and continue with the first
    /// message not received.
    #[error("{topic}: {cause}")]
    LaneNotMapped {
        /// The topic.
        topic: TopicLabel,
        /// The lane, and the reason why it is not mapped.
        cause: LaneNotMapped,
    },
    /// No live publisher offers what this subscriber requests, so none of their messages reach it.
    /// Transient: a publisher that does may come.
    // WHY without the lane: the text is the same in whichever order the endpoints were opened.
    #[error("{topic}: {cause}")]
    Incompatible {
        /// The topic.
        topic: TopicLabel,
        /// Index of the lane of one of these publishers.
        lane: u32,
        /// The reason why none of them matches.
        cause: Mismatch,
    },
    /// The namespace of the topic was removed or replaced. Permanent: those who have the topic open
    /// still exchange messages, but nobody else meets them.
    #[error(
        "{topic}: its namespace was removed or replaced: drop all handles, open the namespace \
         again, and then the topic"
    )]
    NamespaceRemoved {
        /// The topic.
        topic: TopicLabel,
    },
    /// The file of the topic was removed or replaced, and this handle cannot move to the one that
    /// has the name now. Transient: calls that receive try again ten times a second at most.
    #[error(
        "{topic}: its file was removed or replaced, and the present one cannot be used: {}: remove \
         that, or free what is missing",
        std::io::Error::from_raw_os_error(*errno)
    )]
    NameLost {
        /// The topic.
        topic: TopicLabel,
        /// The number of the system's error, as in `errno`; `EUCLEAN` for an unusable file, or if
        /// the topic is full.
        errno: i32,
    },
}

impl RecvError {
    /// Returns the label of the topic.
    #[must_use]
    pub const fn topic(&self) -> TopicLabel {
        match self {
            Self::Forked { topic }
            | Self::RegionLost { topic }
            | Self::LaneNotMapped { topic, .. }
            | Self::Incompatible { topic, .. }
            | Self::NamespaceRemoved { topic }
            | Self::NameLost { topic, .. } => *topic,
        }
    }
}

impl OpenError {
    /// Returns the number of the system's error, as in `errno`, or `other` if there is none.
    pub(crate) fn errno_or(&self, other: i32) -> i32 {
        match self {
            Self::NoSpace { .. } => libc::ENOSPC,
            Self::Io { source, .. } => source.raw_os_error().unwrap_or(other),
            _ => other,
        }
    }
}

/// The reason why all handles of a topic are unusable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnusableReason {
    Forked,
    RegionLost,
}

impl UnusableReason {
    /// Returns the error of a handle that receives from `topic`.
    pub(crate) const fn to_recv_error(self, topic: TopicLabel) -> RecvError {
        match self {
            Self::Forked => RecvError::Forked { topic },
            Self::RegionLost => RecvError::RegionLost { topic },
        }
    }
}

/// A publisher's lane that this process cannot map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneNotMapped {
    /// Index of the lane.
    pub lane: u32,
    /// Number of bytes to be mapped.
    pub bytes: u64,
    /// The number of the system's error, as in `errno`; `EUCLEAN` if the lane file is damaged or
    /// missing.
    pub errno: i32,
    /// Name and value of the resource limit of this process that is the probable cause, if there is
    /// one.
    pub limit: Option<(&'static str, u64)>,
}

/// The error number that a [`LaneNotMapped`] has if the lane file is damaged or missing.
const DAMAGED_LANE_ERRNO: i32 = libc::EUCLEAN;

impl LaneNotMapped {
    pub(crate) fn new(lane: u32, bytes: u64, error: &OpenError) -> Self {
        let errno = error.errno_or(DAMAGED_LANE_ERRNO);
        // WHY these: the kernel returns EAGAIN if memory cannot be locked, ENOMEM if it cannot be
        // mapped, and EMFILE if the lane file cannot be opened for that.
        let limit_of = |name, resource| match os::soft_limit(resource) {
            Ok(libc::RLIM_INFINITY) | Err(_) => None,
            Ok(limit) => Some((name, limit)),
        };
        let limit = match errno {
            libc::EAGAIN => limit_of("RLIMIT_MEMLOCK", libc::RLIMIT_MEMLOCK),
            libc::ENOMEM => limit_of("RLIMIT_AS", libc::RLIMIT_AS),
            libc::EMFILE => limit_of("RLIMIT_NOFILE", libc::RLIMIT_NOFILE),
            _ => None,
        };
        Self {
            lane,
            bytes,
            errno,
            limit,
        }
    }
}

impl fmt::Display for LaneNotMapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            lane,
            bytes,
            errno,
            limit,
        } = self;
        let source = io::Error::from_raw_os_error(*errno);
        write!(
            f,
            "the {bytes} bytes of publisher lane {lane} cannot be mapped: {source}"
        )?;
        match limit {
            Some((name @ "RLIMIT_MEMLOCK", at)) => write!(
                f,
                ", as memory is locked (mlockall) and {name} is {at} bytes: raise it (ulimit -l), \
                 or lock less memory"
            )?,
            Some((name @ "RLIMIT_NOFILE", at)) => {
                write!(f, ", and {name} is {at}: raise it (ulimit -n)")?;
            }
            Some((name, at)) => write!(f, ", and {name} is {at} bytes: raise it (ulimit -v)")?,
            None if *errno == DAMAGED_LANE_ERRNO => write!(
                f,
                ", its lane file was removed, replaced or damaged: start its publisher again"
            )?,
            None => write!(f, ": free memory, or raise the limits of this process")?,
        }
        f.write_str("; each call that receives tries again, ten times a second at most")
    }
}
