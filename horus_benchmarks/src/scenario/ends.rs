//! The two ends between which transports are measured, and the floor between the same ends.

use crate::run::floor::{Floor, Placement};
use crate::run::session::BenchmarkSession;
use crate::scenario::entry::Outcome;
use crate::transport::connection::Connection;

/// Starts a connection whose near side is this thread, and whose far side is pinned to the far CPU.
pub fn connect(session: &BenchmarkSession, placement: Placement) -> Outcome<Connection> {
    let source = session.clock.source;
    Connection::start(placement, session.cpus, source, &session.private)
}

/// The two ends of the floor and of the measured transports, in one placement.
#[expect(missing_debug_implementations, reason = "a driver is a function")]
pub struct TwoEnds {
    /// The name of the placement in the ids of rows.
    pub place: &'static str,
    /// The floor.
    pub floor: Floor,
    /// The connection of the measured transports.
    pub connection: Connection,
}

impl TwoEnds {
    /// Starts the far ends. Stores in the report which numbers of pauses are best for the floor.
    pub fn start(session: &mut BenchmarkSession, placement: Placement) -> Outcome<TwoEnds> {
        let place = placement.id();
        session.progress.set_message(place);
        let (floor, spin) = Floor::new(placement, session.cpus, &session.clock, session.effort)?;
        session.report.set_setting(&format!("spin/{place}"), spin);
        Ok(TwoEnds {
            place,
            floor,
            connection: connect(session, placement)?,
        })
    }
}
