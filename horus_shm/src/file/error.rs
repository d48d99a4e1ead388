//! The errors of opening a topic or a ring, and of receiving messages.

use std::path::PathBuf;
use std::{fmt, io};

use crate::file::label::TopicLabel;
use crate::file::match_settings::Mismatch;
use crate::file::name::NameError;
use crate::file::namespace::error::NamespaceError;
use crate::file::topic_type::TypeInfo;
use crate::os;
use crate::os::advice::advice_for_error;
use crate::process::liveness::Holder;
use crate::protocol::layout::PARTICIPANTS_MAX;
use crate::protocol::shape::ShapeError;

/// The reason why a topic or one of its endpoints could not be opened. A call that fails changes
/// nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The topic's name is invalid.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The directory of the namespace, or its registry of live processes, cannot be used.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// The topic does not exist. A later call may succeed, once a publisher has created the topic.
    #[error(
        "no topic at {}: start its publisher, or open it so that it is created",
        path.display()
    )]
    NotFound {
        /// The path at which the topic's file was expected.
        path: PathBuf,
    },
    /// The call was to create a new topic, but a topic with this name already exists.
    #[error("{} exists: open it, or remove it first", path.display())]
    AlreadyExists {
        /// The path of the existing file.
        path: PathBuf,
    },
    /// The file that has the topic's name is not a topic file of this library.
    #[error("{} is {found}, and must be a topic file: remove it", path.display())]
    NotATopic {
        /// The path of the file.
        path: PathBuf,
        /// A description of what is at that path instead of a topic, such as `a directory`.
        found: String,
    },
    /// The call was to remove a topic, but the file that has the topic's name must not be removed
    /// by this call.
    #[error("{} is {found}, and was not removed: {cure} first", path.display())]
    NotRemoved {
        /// The path of the file.
        path: PathBuf,
        /// A description of what is at that path.
        found: &'static str,
        /// Advice to the user on how to make the removal possible.
        cure: String,
    },
    /// The header of the topic file contains an invalid value.
    #[error(
        "{} is damaged: {field} is {found}, and must be {wanted}: stop its users and remove it",
        path.display()
    )]
    Damaged {
        /// The path of the file.
        path: PathBuf,
        /// The name of the damaged header field.
        field: &'static str,
        /// The value that was found in the header field.
        found: String,
        /// The value, or the range of values, that is valid for the header field.
        wanted: String,
    },
    /// Live processes use the topic with a version of this library that has a different file
    /// layout.
    #[error(
        "{} has layout version {found}, this library {wanted}, and processes use it: \
         run all of them with the same version",
        path.display()
    )]
    LayoutVersion {
        /// The path of the file.
        path: PathBuf,
        /// The layout version that the file was created with.
        found: u32,
        /// The layout version that this library uses.
        wanted: u32,
    },
    /// Live processes use the topic, but the process registry with which they joined it has been
    /// removed.
    #[error(
        "{} belongs to a process registry that was removed while processes use it: \
         restart those processes",
        path.display()
    )]
    RegistryReplaced {
        /// The path of the file.
        path: PathBuf,
    },
    /// The file is out of date and belongs to another user of the namespace's group. Only a process
    /// of that user or of root can find out whether it is in use. Try again after such a process
    /// has run.
    #[error(
        "{} is {stale}, and belongs to user {uid}: start a program of user {uid} or of root in \
         this namespace, which removes the file if it is not in use",
        path.display()
    )]
    StaleOfOther {
        /// The path of the file.
        path: PathBuf,
        /// User id of the user that owns the file.
        uid: u32,
        /// A description of why the file cannot be used.
        stale: String,
    },
    /// The call required that the message types are the same, but the topic has a different type.
    #[error(
        "{} carries '{}' ({} bytes), but '{}' ({} bytes) was requested: use the same schema",
        path.display(), found.name, found.bytes, wanted.name, wanted.bytes
    )]
    SchemaMismatch {
        /// The path of the topic's file.
        path: PathBuf,
        /// The message type that the call requested.
        wanted: Box<TypeInfo>,
        /// The message type that the topic has.
        found: Box<TypeInfo>,
    },
    /// Every lane that this publisher is allowed to claim has a live publisher. Try again after one
    /// of them has left.
    #[error("all {limit} places of publishers are taken: {}", advice_on_limit(*limit))]
    TooManyPublishers {
        /// Number of lanes among which this publisher has to claim one.
        limit: u32,
    },
    /// Every reader slot that this reader is allowed to claim has a live reader. Try again after
    /// one of them has left.
    #[error("all {limit} places of subscribers are taken: {}", advice_on_limit(*limit))]
    TooManySubscribers {
        /// Number of reader slots among which this reader has to claim one.
        limit: u32,
    },
    /// The in-memory file system of the topic files is full.
    #[error(
        "no space for {}: {}", path.display(),
        describe_no_space(*needed_bytes, *available_bytes, *available_files)
    )]
    NoSpace {
        /// The path of the file that needs space.
        path: PathBuf,
        /// Number of bytes that the call needed.
        needed_bytes: u64,
        /// Number of bytes that were still free in the file system.
        available_bytes: u64,
        /// Number of files that could still be created in the file system; `None` if it has no such
        /// limit.
        available_files: Option<u64>,
    },
    /// Another process stopped while it was removing the file. No process can use the topic's name
    /// until that process continues or ends.
    #[error("{} is being removed by {}", path.display(), describe_remover(holder.as_deref()))]
    Retiring {
        /// The path of the file.
        path: PathBuf,
        /// The process that is removing the file; `None` if it could not be determined.
        holder: Option<Box<Holder>>,
    },
    /// The requested sizes, such as the number of slots, are not permitted.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// The type name or the schema text is too long for the header of the file.
    #[error("the {field} has {bytes} bytes: use at most {max}")]
    TypeTooLong {
        /// A description of the text that is too long: either the type name or the schema text.
        field: &'static str,
        /// Length of the text that is too long, in bytes.
        bytes: usize,
        /// Maximum length that the text may have, in bytes.
        max: usize,
    },
    /// The handle on which the call was made was inherited through `fork`. Open a new one in the
    /// child.
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
    /// The memory of one publisher's lane cannot be mapped by this process.
    #[error("{}: {cause}", path.display())]
    LaneNotMapped {
        /// The path of the topic's file.
        path: PathBuf,
        /// The error that names the lane and the reason.
        cause: LaneNotMapped,
    },
    /// A system call failed, for none of the reasons that the other variants describe.
    #[error("{operation} {}: {source}{}", path.display(), advice_for_error(source))]
    Io {
        /// A description of the operation that failed, for the error text.
        operation: &'static str,
        /// The path of the file or directory of the operation.
        path: PathBuf,
        /// The error that the system returned.
        source: io::Error,
    },
}

/// Returns advice for a user who needs more lanes or reader slots than `limit`, all of which are in
/// use.
fn advice_on_limit(limit: u32) -> String {
    if limit < PARTICIPANTS_MAX {
        format!("close one of them, or allow this one more of the {PARTICIPANTS_MAX} of the topic")
    } else {
        "close one of them, because no topic has more".to_owned()
    }
}

/// Describes whether the file system lacks bytes or files, and what the user can do about it.
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

/// Describes the process that is removing a file, and what the user can do about it. `None` means
/// that the process is unknown.
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

/// The reason why a handle cannot receive, either from the whole topic or from one of its
/// publishers. Permanent, except for [`Self::LaneNotMapped`], [`Self::Incompatible`] and
/// [`Self::NameLost`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecvError {
    /// The handle on which the call was made was inherited through `fork`. Permanent: open a new
    /// one in the child.
    #[error("{topic}: the handle belongs to the parent process: open a new one after fork")]
    Forked {
        /// The topic of the handle.
        topic: TopicLabel,
    },
    /// The topic's memory is lost, because its file was truncated, or because the program closed
    /// descriptors of this library.
    #[error(
        "{topic}: its memory is lost: the file was truncated, or the program closed descriptors of \
         this library: drop all of its handles and open it again"
    )]
    RegionLost {
        /// The topic of the handle.
        topic: TopicLabel,
    },
    /// The memory of a publisher's lane cannot be mapped, so its messages wait in the lane.
    /// Transient: receive calls try again ten times a second. After a success they continue with
    /// the first message that was not received.
    #[error("{topic}: {cause}; each call that receives tries again, ten times a second at most")]
    LaneNotMapped {
        /// The topic of the handle.
        topic: TopicLabel,
        /// The error that names the lane and the reason.
        cause: LaneNotMapped,
    },
    /// No live publisher offers what this subscriber requests, so the subscriber gets no messages.
    /// Transient: a publisher that matches may appear later.
    // WHY without the lane: the text is the same in whichever order the endpoints were opened.
    #[error("{topic}: {cause}{}", in_parentheses(*difference))]
    Incompatible {
        /// The topic of the handle.
        topic: TopicLabel,
        /// Index of the lane of one publisher that does not match.
        lane: u32,
        /// The reason why that publisher does not match.
        cause: Mismatch,
        /// A text that names the first difference between the message types. `None` if it is not
        /// known. WHY not known here: only the program knows what a schema means.
        difference: Option<&'static str>,
    },
    /// The namespace of the topic was removed or replaced. Permanent: processes that have the topic
    /// open can still exchange messages, but a process that opens it now does not meet them.
    #[error(
        "{topic}: its namespace was removed or replaced: drop all handles, open the namespace \
         again, and then the topic"
    )]
    NamespaceRemoved {
        /// The topic of the handle.
        topic: TopicLabel,
    },
    /// The file of the topic was removed or replaced, and this handle cannot move to the file that
    /// has the topic's name now. Transient: receive calls try again, at most ten times a second.
    #[error(
        "{topic}: its file was removed or replaced, and the present one cannot be used: {}: remove \
         that, or free what is missing",
        std::io::Error::from_raw_os_error(*errno)
    )]
    NameLost {
        /// The topic of the handle.
        topic: TopicLabel,
        /// The system's error number, as in `errno`; `EUCLEAN` if the file is unusable, or if the
        /// topic is full.
        errno: i32,
    },
}

/// Returns the end of a text: `note` in parentheses, or nothing.
fn in_parentheses(note: Option<&str>) -> String {
    note.map_or_else(String::new, |note| format!(" ({note})"))
}

impl RecvError {
    /// Returns the label of the topic that the error concerns.
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
    /// Returns true if the system refused memory or file descriptors, so that the error says
    /// nothing about the topic, and a later attempt may succeed. False if the file system is full.
    #[must_use]
    pub fn is_lack_of_resources(&self) -> bool {
        is_lack_of_memory(self.errno_or(0))
    }

    /// Returns the system's error number (`errno`) that the error contains; `other` if it contains
    /// none.
    pub(crate) fn errno_or(&self, other: i32) -> i32 {
        match self {
            Self::NoSpace { .. } => libc::ENOSPC,
            Self::Io { source, .. } => source.raw_os_error().unwrap_or(other),
            Self::LaneNotMapped { cause, .. } => cause.errno,
            _ => other,
        }
    }
}

/// Returns true if `errno` says that the machine has no memory, or that a limit of this process
/// refuses more memory or files, so that a later attempt may succeed.
pub(crate) const fn is_lack_of_memory(errno: i32) -> bool {
    matches!(
        errno,
        libc::ENOMEM | libc::EAGAIN | libc::EMFILE | libc::ENFILE
    )
}

/// The reason why no handle of a topic in this process can be used any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnusableReason {
    Forked,
    RegionLost,
}

impl UnusableReason {
    /// Returns the error that a receive call on `topic` reports for this reason.
    pub(crate) const fn to_recv_error(self, topic: TopicLabel) -> RecvError {
        match self {
            Self::Forked => RecvError::Forked { topic },
            Self::RegionLost => RecvError::RegionLost { topic },
        }
    }
}

/// A publisher's lane whose memory this process cannot map, so that it gets no messages from that
/// publisher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneNotMapped {
    /// Index of the lane in the topic.
    pub lane: u32,
    /// Number of bytes of the lane that were to be mapped.
    pub bytes: u64,
    /// The system's error number, as in `errno`; `EUCLEAN` if the lane file is damaged or missing.
    pub errno: i32,
    /// Name and value of this process's resource limit that probably prevents the mapping; `None`
    /// if no limit was found to be the cause.
    pub limit: Option<(&'static str, u64)>,
}

/// The value of [`LaneNotMapped::errno`] that means that the lane file is damaged or missing.
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
            ),
            Some((name @ "RLIMIT_NOFILE", at)) => {
                write!(f, ", and {name} is {at}: raise it (ulimit -n)")
            }
            Some((name, at)) => write!(f, ", and {name} is {at} bytes: raise it (ulimit -v)"),
            None if *errno == DAMAGED_LANE_ERRNO => write!(
                f,
                ", its lane file was removed, replaced or damaged: start its publisher again"
            ),
            None => write!(f, ": free memory, or raise the limits of this process"),
        }
    }
}
