//! Moving: a publisher goes on in the file that has the topic's name now, after its own lost it.
//!
//! It claims a lane of the new file that no publisher has had, and continues its count of messages
//! there, so that its readers neither miss nor repeat one. It sends its history once more, under
//! the old numbers, and then ends its session in the old file.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::RawProducer;
use crate::endpoint::consumer::RawConsumer;
use crate::endpoint::producer::SendError;
use crate::file::error::OpenError;
use crate::file::segment::{Blocks as _, Segment};
use crate::os;
use crate::os::cancel::NoCancelGuard;
use crate::os::region::Access;
use crate::protocol::sync::Word;

/// Minimum time between two attempts to move.
const RETRY_PERIOD: Duration = Duration::from_millis(100);

/// The part of a publisher that it keeps when it moves.
#[derive(Debug, Clone, Copy)]
pub(super) struct Session {
    /// The random number in [`LaneBlock::session`](crate::protocol::layout::LaneBlock::session).
    pub(super) id: u64,
    /// The number of messages that it has sent before those that it sends in the new file.
    number: u64,
}

impl Session {
    /// Returns a new session.
    fn fresh() -> Self {
        let bytes = os::random_bytes().unwrap_or_default();
        let id = bytes.first_chunk().copied().map_or(0, u64::from_ne_bytes);
        Self { id, number: 0 }
    }
}

/// An attempt to move that failed.
#[derive(Debug, Clone, Copy)]
pub(super) struct NotMoved {
    at: Instant,
    errno: i32,
}

/// Begins a session in lane `lane`, which the caller has claimed: `former` if it can go on there,
/// otherwise a new one. WHY only in a lane that was never used: its positions only grow, and those
/// of another publisher are before them.
pub(super) fn begin_session(
    segment: &Segment,
    lane: u32,
    former: Option<Session>,
) -> Result<u64, OpenError> {
    let block = segment.lane_block(lane, Access::Write)?;
    // Relaxed, all of it: the claim of the lane ordered the loads, and the count of changes
    // publishes the stores.
    let is_unused = block.generation.get() == 0 && block.head.get() == 0;
    let session = match former {
        Some(session) if is_unused => {
            block.head.set(session.number);
            session
        }
        _ => Session::fresh(),
    };
    block.session.set(session.id);
    Ok(session.id)
}

impl RawProducer {
    /// Checks whether a new fault epoch concerns this producer, before it begins a message; moves
    /// if its file has lost its name.
    ///
    /// # Errors
    ///
    /// As [`Self::send`].
    #[cold]
    pub(super) fn settle(&mut self) -> Result<(), SendError<()>> {
        self.check_health()?;
        if !self.segment.has_lost_name() {
            return Ok(());
        }
        let _uncancelled = NoCancelGuard::new();
        if let Some(failed) = self.not_moved
            && failed.at.elapsed() < RETRY_PERIOD
        {
            return Err(self.name_lost(failed.errno));
        }
        match self.moved() {
            Ok(moved) => {
                *self = moved;
                Ok(())
            }
            Err(error) => {
                let errno = error.errno_or(libc::EUCLEAN);
                let at = Instant::now();
                self.not_moved = Some(NotMoved { at, errno });
                Err(self.name_lost(errno))
            }
        }
    }

    fn name_lost(&self, errno: i32) -> SendError<()> {
        SendError::NameLost {
            topic: self.segment.label(),
            message: (),
            errno,
        }
    }

    /// Opens this publisher in the file that has the name now.
    fn moved(&self) -> Result<Self, OpenError> {
        let segment = self.segment.reopen(true)?;
        let history = self.history()?;
        let session = Session {
            id: self.session,
            number: self.position().saturating_sub(history.len() as u64),
        };
        let mut moved = Self::open(segment, self.on_stalled, Some(session))?;
        let no_space = |error: SendError<()>| OpenError::Io {
            operation: "reserving memory of",
            path: self.segment.path(),
            source: std::io::Error::from_raw_os_error(error.errno_or(libc::EIO)),
        };
        // WHY: callers rely on the length that they have reserved.
        moved.reserve(self.slot_bytes).map_err(no_space)?;
        for message in history {
            moved.send_bytes(&message).map_err(no_space)?;
        }
        Ok(moved)
    }

    /// Returns the messages that a reader would get that joined the old file now.
    fn history(&self) -> Result<Vec<Vec<u8>>, OpenError> {
        let mut messages = Vec::new();
        if self.extent.offer.history == 0 {
            return Ok(messages);
        }
        let mut reader = RawConsumer::observer_of(Arc::clone(&self.segment), self.lane)?;
        let mut buffer = vec![0; self.slot_bytes as usize];
        while let Some(bytes) = reader.recv_bytes(&mut buffer) {
            messages.push(buffer[..bytes].to_vec());
        }
        Ok(messages)
    }
}
