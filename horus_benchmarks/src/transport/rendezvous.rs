//! The place where the two sides of a connection meet: by names in a namespace, or by hand between
//! threads of one process.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use horus_core::TopicError;
use horus_shm::{Namespace, NamespaceError, OpenError};

use crate::measure::endpoint::Endpoint;
use crate::measure::payload::Payload;
use crate::measure::workload::WorkloadError;
use crate::run::peer::PeerError;
use crate::transport::carrier::Transport;
use crate::transport::driver::{self, Driver};

/// The reason why a connection cannot be opened or measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ConnectionError {
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    #[error(transparent)]
    Ring(#[from] OpenError),
    #[error(transparent)]
    Topic(#[from] TopicError),
    #[error(transparent)]
    System(#[from] io::Error),
    #[error("iceoryx2: {0}")]
    Iceoryx2(String),
    /// The carrier does not carry messages of this size between these sides.
    #[error("{0:?} cannot be opened here")]
    Unsuited(Transport),
    #[error("no endpoint was left for the far side")]
    NothingLeft,
    #[error(transparent)]
    Peer(#[from] PeerError),
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    #[error("{lost} messages were lost on a ring that loses none")]
    Lost { lost: u64 },
    #[error("no transport is open")]
    Closed,
}

pub(crate) type Opened = Result<Box<dyn Driver>, ConnectionError>;

type Handed = Option<Box<dyn Driver + Send>>;

/// The place where two sides meet. A clone is the same place.
#[derive(Clone)]
pub struct Rendezvous {
    namespace: Arc<Namespace>,
    handed: Arc<Mutex<Handed>>,
}

impl fmt::Debug for Rendezvous {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rendezvous")
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

/// Returns a number that no other connection of this process has: a part of its names.
pub fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    // Relaxed: a number, and nothing else.
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Rendezvous {
    /// Lets sides meet in `namespace`.
    pub fn new(namespace: Arc<Namespace>) -> Rendezvous {
        Rendezvous {
            namespace,
            handed: Arc::default(),
        }
    }

    /// Returns the near side's place in a connection. The near side opens first.
    pub fn near(&self, number: u64) -> Place<'_> {
        Place {
            rendezvous: self,
            number,
            role: Role::Near,
        }
    }

    /// Returns the far side's place in a connection.
    pub fn far(&self, number: u64) -> Place<'_> {
        Place {
            rendezvous: self,
            number,
            role: Role::Far,
        }
    }

    /// Returns the place of a thread that has both ends of one ring.
    pub fn looped(&self) -> Place<'_> {
        Place {
            rendezvous: self,
            number: next_number(),
            role: Role::Loop,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Creates both directions.
    Near,
    /// Opens what the near side created.
    Far,
    /// Creates one ring and opens it again: both directions are this one.
    Loop,
}

/// One side's view of a connection.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    rendezvous: &'a Rendezvous,
    number: u64,
    pub(crate) role: Role,
}

/// One direction of a connection: a name, and whether this side creates it.
pub(crate) struct Direction {
    pub(crate) name: String,
    pub(crate) create: bool,
}

impl Place<'_> {
    pub(crate) fn namespace(&self) -> &Arc<Namespace> {
        &self.rendezvous.namespace
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn is_near(&self) -> bool {
        self.role == Role::Near
    }

    /// Returns the direction out of this side, and the one back.
    pub(crate) fn directions(&self) -> [Direction; 2] {
        let named = |way, create| Direction {
            name: format!("{way}-{}", self.number),
            create,
        };
        match self.role {
            Role::Near => [named("there", true), named("back", true)],
            Role::Far => [named("back", false), named("there", false)],
            Role::Loop => [named("loop", true), named("loop", false)],
        }
    }

    /// Returns the name of what goes from the near side to the far one.
    pub(crate) fn there(&self) -> String {
        let [out, back] = self.directions();
        if self.is_near() { out.name } else { back.name }
    }

    /// Returns files for both directions, in the private directory.
    pub(crate) fn paths(&self) -> [PathBuf; 2] {
        self.directions()
            .map(|direction| self.directory().join(direction.name))
    }

    pub(crate) fn directory(&self) -> PathBuf {
        let topics = self.namespace().topics_path();
        topics.parent().map_or(topics.clone(), Path::to_path_buf)
    }

    /// Returns the driver of a sender and a receiver for the role of this side.
    pub(crate) fn driven<P: Payload + 'static>(
        &self,
        ends: impl Endpoint<P> + 'static,
    ) -> Box<dyn Driver> {
        match self.role {
            Role::Loop => driver::looped::<P>(ends),
            _ => driver::across::<P>(ends),
        }
    }

    /// Leaves `far` for the far side, which is another thread of this process.
    pub(crate) fn leave(&self, far: Box<dyn Driver + Send>) {
        *self
            .rendezvous
            .handed
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(far);
    }

    /// Takes what the near side left.
    pub(crate) fn take(&self) -> Opened {
        let handed = self
            .rendezvous
            .handed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        Ok(handed.ok_or(ConnectionError::NothingLeft)?)
    }
}
