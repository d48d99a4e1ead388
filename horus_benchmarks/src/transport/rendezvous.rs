//! The meeting point of the two sides of a connection: they find each other by names in a
//! namespace, or, between threads of one process, one side leaves an endpoint for the other thread.

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
    /// This transport cannot be opened: its carrier does not support messages of its size between
    /// the two sides of this connection.
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

type FarDriver = Option<Box<dyn Driver + Send>>;

/// The meeting point of two sides. Clones are the same meeting point.
#[derive(Clone)]
pub struct Rendezvous {
    namespace: Arc<Namespace>,
    handed: Arc<Mutex<FarDriver>>,
}

impl fmt::Debug for Rendezvous {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rendezvous")
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

/// Returns a number that no other connection of this process has. It becomes part of the
/// connection's names.
pub fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    // Relaxed: a number, and nothing else.
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Rendezvous {
    /// Makes a meeting point whose names are in `namespace`.
    pub fn new(namespace: Arc<Namespace>) -> Rendezvous {
        Rendezvous {
            namespace,
            handed: Arc::default(),
        }
    }

    /// Returns the near side of connection `number`. The near side opens first.
    pub fn near(&self, number: u64) -> ConnectionSide<'_> {
        ConnectionSide {
            rendezvous: self,
            number,
            role: Role::Near,
        }
    }

    /// Returns the far side of connection `number`.
    pub fn far(&self, number: u64) -> ConnectionSide<'_> {
        ConnectionSide {
            rendezvous: self,
            number,
            role: Role::Far,
        }
    }

    /// Returns a place for one thread that holds both ends of one ring, in a new connection.
    pub fn looped(&self) -> ConnectionSide<'_> {
        ConnectionSide {
            rendezvous: self,
            number: next_number(),
            role: Role::Loop,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// The near side, which creates the carriers of both directions.
    Near,
    /// The far side, which opens the carriers that the near side created.
    Far,
    /// Both ends in one thread. It creates one ring and opens it a second time, so that both
    /// directions are this ring.
    Loop,
}

/// One side's view of a connection.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionSide<'a> {
    rendezvous: &'a Rendezvous,
    number: u64,
    pub(crate) role: Role,
}

/// One direction of a connection: its name, and whether this side creates it.
pub(crate) struct Direction {
    pub(crate) name: String,
    pub(crate) create: bool,
}

impl ConnectionSide<'_> {
    pub(crate) fn namespace(&self) -> &Arc<Namespace> {
        &self.rendezvous.namespace
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn is_near(&self) -> bool {
        self.role == Role::Near
    }

    /// Returns two directions: the one in which this side sends, then the one in which it receives.
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

    /// Returns the name of the direction from the near side to the far side.
    pub(crate) fn there(&self) -> String {
        let [out, back] = self.directions();
        if self.is_near() { out.name } else { back.name }
    }

    /// Returns the file paths of both directions, in the private directory.
    pub(crate) fn paths(&self) -> [PathBuf; 2] {
        self.directions()
            .map(|direction| self.directory().join(direction.name))
    }

    pub(crate) fn directory(&self) -> PathBuf {
        let topics = self.namespace().topics_path();
        topics.parent().map_or(topics.clone(), Path::to_path_buf)
    }

    /// Returns a driver of `ends` for the role of this side.
    pub(crate) fn driven<P: Payload + 'static>(
        &self,
        ends: impl Endpoint<P> + 'static,
    ) -> Box<dyn Driver> {
        match self.role {
            Role::Loop => driver::both_ends::<P>(ends),
            _ => driver::one_side::<P>(ends),
        }
    }

    /// Stores `far` for the far side, which is another thread of this process.
    pub(crate) fn leave(&self, far: Box<dyn Driver + Send>) {
        *self
            .rendezvous
            .handed
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(far);
    }

    /// Takes the endpoint that the near side has left.
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
