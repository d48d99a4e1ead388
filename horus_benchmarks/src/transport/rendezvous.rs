//! The means by which the two sides of a connection find each other: names in a namespace or, in
//! one process, drivers that one side creates for both.

use std::cell::Cell;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use horus_shm::Namespace;

use crate::Outcome;
use crate::measure::endpoint::Endpoint;
use crate::measure::payload::Payload;
use crate::transport::carrier::Transport;
use crate::transport::driver::{self, Driver, SendableDriver};

pub(crate) type OpenResult = Outcome<Driver>;

/// Returns the error for a carrier that does not support the size or the role.
pub(crate) fn unsupported_transport_error(transport: Transport) -> Box<dyn Error> {
    format!("{transport:?} cannot be opened here").into()
}

/// Returns a number that no other connection of this process has.
pub fn next_connection_number() -> u64 {
    static NEXT_NUMBER: AtomicU64 = AtomicU64::new(1);
    // Relaxed: a number, and nothing else.
    NEXT_NUMBER.fetch_add(1, Ordering::Relaxed)
}

/// The role of one side when a connection is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SideRole {
    /// The near side, which is opened first and creates the carriers of both directions.
    Near,
    /// The far side, which opens what the near side has created.
    Far,
    /// Both ends in one thread. One ring, which is opened twice, is both directions.
    Loop,
}

/// The information that one side needs to find the other side of its connection.
#[expect(missing_debug_implementations, reason = "a driver is a function")]
pub struct Rendezvous<'a> {
    /// The namespace that contains the names of the connection.
    pub namespace: &'a Arc<Namespace>,
    /// The number of the connection, which is part of its names.
    pub number: u64,
    /// The role of this side.
    pub role: SideRole,
    /// The driver of the far side, if the near side has created it: carriers without names only
    /// connect threads.
    pub far: Cell<Option<SendableDriver>>,
}

/// One direction of a connection: its name, and whether this side creates its carrier.
pub(crate) struct Direction {
    pub(crate) name: String,
    pub(crate) create: bool,
}

impl<'a> Rendezvous<'a> {
    /// Returns the rendezvous of connection `number` for the side with this role.
    pub fn new(namespace: &'a Arc<Namespace>, number: u64, role: SideRole) -> Self {
        Self {
            namespace,
            number,
            role,
            far: Cell::new(None),
        }
    }

    pub(crate) fn is_near_end(&self) -> bool {
        self.role == SideRole::Near
    }

    /// Returns the direction in which this side sends, and the one in which it receives.
    pub(crate) fn directions(&self) -> [Direction; 2] {
        let named = |way, create| Direction {
            name: format!("{way}-{}", self.number),
            create,
        };
        match self.role {
            SideRole::Near => [named("there", true), named("back", true)],
            SideRole::Far => [named("back", false), named("there", false)],
            SideRole::Loop => [named("loop", true), named("loop", false)],
        }
    }

    /// Returns the direction from the near side to the far side. A ring that serves both directions
    /// has the name of this one.
    pub(crate) fn shared_direction(&self) -> Direction {
        let [out, back] = self.directions();
        if self.is_near_end() { out } else { back }
    }

    /// Returns the paths of the files for both directions, in the private directory.
    pub(crate) fn file_paths(&self) -> [PathBuf; 2] {
        self.directions()
            .map(|direction| self.directory().join(direction.name))
    }

    pub(crate) fn directory(&self) -> PathBuf {
        let topics = self.namespace.topics_path();
        topics.parent().map_or(topics.clone(), Path::to_path_buf)
    }

    /// Returns a driver for `ends` that suits the role of this side.
    pub(crate) fn make_driver<P: Payload>(&self, ends: impl Endpoint<P> + 'static) -> Driver {
        match self.role {
            SideRole::Loop => driver::both_ends_driver::<P>(ends),
            _ => driver::one_side_driver::<P>(ends),
        }
    }
}
