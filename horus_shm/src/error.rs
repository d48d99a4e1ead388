//! What can go wrong when a topic or a ring is opened, and what a reader may find out later.

use std::io;
use std::path::PathBuf;

use crate::contract::{Reliability, TypeInfo};
use crate::name::NameError;
use crate::namespace::NamespaceError;
use crate::shape::ShapeError;

/// Why a topic or one of its ends could not be opened. Nothing is left behind.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The topic's name is not one.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The namespace's directory or registry cannot be used.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// Nobody created the topic yet. Trying again later is useful.
    #[error(
        "no topic at {}: start its publisher, or open it so that it is created",
        path.display()
    )]
    NotFound {
        /// Where it would be.
        path: PathBuf,
    },
    /// The topic is there, and was to be created.
    #[error("{} exists: open it, or remove it first", path.display())]
    AlreadyExists {
        /// Where it is.
        path: PathBuf,
    },
    /// What has the topic's name is not a topic file of ours.
    #[error("{} is {found}, and must be a topic file: remove it", path.display())]
    NotATopic {
        /// Where it is.
        path: PathBuf,
        /// What it is instead.
        found: String,
    },
    /// A topic file whose header does not add up.
    #[error(
        "{} is damaged: {field} is {found}, and must be {wanted}: stop its users and remove it",
        path.display()
    )]
    Damaged {
        /// Where it is.
        path: PathBuf,
        /// The header's field.
        field: &'static str,
        /// What it says.
        found: String,
        /// What it would have to say.
        wanted: String,
    },
    /// Live processes use the topic with another version of this library.
    #[error(
        "{} has layout version {found}, this library {wanted}, and processes use it: \
         run all of them with the same version",
        path.display()
    )]
    LayoutVersion {
        /// Where it is.
        path: PathBuf,
        /// The file's version.
        found: u32,
        /// This library's version.
        wanted: u32,
    },
    /// Live processes use the topic under a registry that is no longer there.
    #[error(
        "{} belongs to a process registry that was removed while processes use it: \
         restart those processes",
        path.display()
    )]
    RegistryReplaced {
        /// Where it is.
        path: PathBuf,
    },
    /// The topic carries another type.
    #[error(
        "{} carries '{}' ({} bytes), and this end '{}' ({} bytes): schemas differ",
        path.display(), found.name, found.bytes, wanted.name, wanted.bytes
    )]
    SchemaMismatch {
        /// The topic.
        path: PathBuf,
        /// This end's type.
        wanted: Box<TypeInfo>,
        /// The topic's type.
        found: Box<TypeInfo>,
    },
    /// A setting that was asked for differs from what the creator fixed.
    #[error("{field} of {} is {found}, and {wanted} was asked for", path.display())]
    QosMismatch {
        /// The topic.
        path: PathBuf,
        /// The setting.
        field: &'static str,
        /// The topic's value.
        found: String,
        /// The value asked for.
        wanted: String,
    },
    /// A reliable reader on a topic whose publishers never wait.
    #[error("the topic is {offered}, and a {requested} reader was asked for")]
    IncompatibleQos {
        /// The topic's reliability.
        offered: Reliability,
        /// The reader's.
        requested: Reliability,
    },
    /// Gated-only rings and open ones do not mix.
    #[error(
        "{} is {} ring, and an end of the other kind was asked for",
        path.display(),
        if *found { "a gated-only" } else { "an open" }
    )]
    GatedOnly {
        /// The ring.
        path: PathBuf,
        /// True if the file is gated-only.
        found: bool,
    },
    /// Every lane has a live publisher.
    #[error("all {limit} places of publishers are taken: allow more where the topic is created")]
    TooManyPublishers {
        /// Lanes.
        limit: u32,
    },
    /// Every reader block has a live reader.
    #[error("all {limit} places of readers are taken: allow more where the topic is created")]
    TooManySubscribers {
        /// Places.
        limit: u32,
    },
    /// Every gate has a live reader.
    #[error(
        "all {limit} places of reliable readers are taken: allow more where the topic is created"
    )]
    TooManyReliableSubscribers {
        /// Gates.
        limit: u32,
    },
    /// The memory file system is full.
    #[error(
        "no space for {}: {needed_bytes} bytes needed, {available_bytes} available: \
         free some, or lower capacity",
        path.display()
    )]
    NoSpace {
        /// The file.
        path: PathBuf,
        /// What was to be reserved.
        needed_bytes: u64,
        /// What the file system had left.
        available_bytes: u64,
    },
    /// Somebody is in the middle of removing the file, and does not get on.
    #[error("{} is being removed by a process that does not get on: stop that one", path.display())]
    Retiring {
        /// Where it is.
        path: PathBuf,
    },
    /// No file can have these sizes.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// A type name or schema text that does not fit the header.
    #[error("the {field} has {bytes} bytes, and may have {max}")]
    TypeTooLong {
        /// Which of the two.
        field: &'static str,
        /// Its length.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// This handle was inherited through `fork`; open a new one in the child.
    #[error("the handle belongs to the parent process: open a new one after fork")]
    Forked,
    /// The topic's file was truncated while this process used it.
    #[error(
        "{} was truncated while in use: drop all of its handles and open it again",
        path.display()
    )]
    RegionLost {
        /// Where it was.
        path: PathBuf,
    },
    /// The system refused.
    #[error("{operation} {}: {source}", path.display())]
    Io {
        /// What was tried.
        operation: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
}

/// Why a handle receives nothing any more. Permanent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecvError {
    /// The handle was inherited through `fork`.
    #[error("the handle belongs to the parent process: open a new one after fork")]
    Forked,
    /// The topic's memory is gone: its file was truncated under us.
    #[error("the topic's file was truncated: drop all of its handles and open it again")]
    RegionLost,
}
