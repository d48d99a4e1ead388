//! Answers: an answer is memory for one value, which a *replier* passes to an *asker*.
//!
//! ```text
//!              asker registers a waker                 replier takes the waker
//!  NO_REPLY_YET ----------------------> WAKER_REGISTERED -----------------> WAKER_TAKEN
//!     |         <----------------------   (retracts it)                         |
//!     |                                                                         |
//!     +-- replier gives or declines --> VALUE_READY | NO_VALUE <----------------+
//!
//!  ASKER_LEFT: the asker left before VALUE_READY or NO_VALUE. The replier drops the value, and
//!  frees the memory.
//! ```
//!
//! The replier writes the value before it publishes `VALUE_READY`; the asker reads the value after
//! it has seen `VALUE_READY`. Only the asker accesses the waker in the state `NO_REPLY_YET`, and
//! only the replier in the state `WAKER_TAKEN`. Neither side waits for the other.

use crate::protocol::sync::{Edge, Word, edge};

/// The state word of a new answer: there is no reply yet, and no waker is registered.
pub const NO_REPLY_YET: u64 = 0;
const WAKER_REGISTERED: u64 = 1;
const WAKER_TAKEN: u64 = 2;
const VALUE_READY: u64 = 3;
const NO_VALUE: u64 = 4;
const ASKER_LEFT: u64 = 5;

/// The memory of one answer: a state word that asker and replier share. Tests implement this trait
/// with a model of memory.
pub trait AnswerMemory {
    /// The type of the word that holds the state: an ordinary atomic in programs, a loom atomic in
    /// models.
    type Word: Word;

    /// Returns the shared word that holds the state of the answer.
    fn state(&self) -> &Self::Word;

    /// Executes a memory fence with the ordering of `edge`.
    fn fence(&self, edge: Edge);
}

/// The result of [`publish_reply`], which decides what the replier has to do next.
#[derive(Debug, PartialEq, Eq)]
pub enum ReplyOutcome<W> {
    /// The reply is published, and the asker will find it. The memory of the answer now belongs to
    /// the asker.
    Published,
    /// The reply is published, and the memory belongs to the asker. The asker waits for the reply,
    /// so the caller has to wake it with this waker.
    Wake(W),
    /// The asker has left: the caller has to drop the value and free the memory. Contains the
    /// asker's waker, if [`publish_reply`] took it before it found that the asker had left.
    Left(Option<W>),
}

/// Publishes a reply. If `has_value` is true, the reply is the value that the caller has already
/// written; otherwise it says that there will be no value. `take_waker` is called to move the
/// asker's waker out of the memory, if one is registered.
///
/// Wait-free, except that the function tries again if the asker registers or retracts its waker at
/// the same time.
///
/// # Safety
///
/// The state began with [`NO_REPLY_YET`], and only the functions of this module have changed it.
/// The caller is the only replier and calls this once; afterwards it uses the memory only as
/// [`ReplyOutcome::Left`] says.
pub unsafe fn publish_reply<M: AnswerMemory, W>(
    memory: &M,
    has_value: bool,
    take_waker: impl FnOnce() -> W,
) -> ReplyOutcome<W> {
    let reply = if has_value { VALUE_READY } else { NO_VALUE };
    let state = memory.state();
    loop {
        // Relaxed: the exchanges decide.
        match state.get() {
            NO_REPLY_YET => {
                // ORDERING(answer): pairs with the loads of the asker.
                if state.compare_exchange_ordered(NO_REPLY_YET, reply, edge::ANSWER_PUBLISH) {
                    return ReplyOutcome::Published;
                }
            }
            WAKER_REGISTERED => {
                // ORDERING(waker): pairs with the exchange in `try_register_waker`.
                if state.compare_exchange_ordered(WAKER_REGISTERED, WAKER_TAKEN, edge::WAKER_TAKE) {
                    let waker = take_waker();
                    // ORDERING(answer): as above; the waker is out before the asker frees.
                    if state.swap_ordered(reply, edge::ANSWER_PUBLISH) == WAKER_TAKEN {
                        return ReplyOutcome::Wake(waker);
                    }
                    // ORDERING(asker): pairs with the exchange in `leave_as_asker`.
                    memory.fence(edge::ASKER_LEFT_SEE);
                    return ReplyOutcome::Left(Some(waker));
                }
            }
            _ => {
                // ORDERING(asker): as above.
                memory.fence(edge::ASKER_LEFT_SEE);
                return ReplyOutcome::Left(None);
            }
        }
    }
}

/// Returns true if the asker no longer waits for the reply, so that nobody will read it.
pub fn has_asker_left<M: AnswerMemory>(memory: &M) -> bool {
    // Relaxed: no memory is read because of it.
    memory.state().get() == ASKER_LEFT
}

/// The state of an answer, as the asker finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyState {
    /// There is no reply yet.
    Pending,
    /// The replier has taken the asker's waker, and is about to publish a reply and wake the asker.
    /// The asker has to look again.
    Busy,
    /// The reply is a value. The value and the memory of the answer belong to the asker.
    Full,
    /// The replier has refused, so there will be no value. The memory of the answer belongs to the
    /// asker.
    Empty,
}

/// Checks whether there is a reply. Only the asker may call this function.
#[inline]
pub fn load_reply_state<M: AnswerMemory>(memory: &M) -> ReplyState {
    // ORDERING(answer): pairs with the exchanges in `publish_reply`.
    match memory.state().load(edge::ANSWER_SEE) {
        VALUE_READY => ReplyState::Full,
        NO_VALUE => ReplyState::Empty,
        WAKER_TAKEN => ReplyState::Busy,
        _ => ReplyState::Pending,
    }
}

/// Publishes the waker that the caller has written. Returns false if there is a reply already; the
/// waker is then not registered. Only the asker calls this function, and only while no waker is
/// registered.
#[must_use]
pub fn try_register_waker<M: AnswerMemory>(memory: &M) -> bool {
    // ORDERING(waker): pairs with the exchange in `publish_reply`.
    memory
        .state()
        .compare_exchange_ordered(NO_REPLY_YET, WAKER_REGISTERED, edge::WAKER_PUT)
}

/// Takes a registered waker back. Returns false if no waker is registered, or if the replier is
/// taking it. Only the asker calls this function.
#[must_use]
pub fn try_retract_waker<M: AnswerMemory>(memory: &M) -> bool {
    // Relaxed: the asker wrote the waker itself.
    memory
        .state()
        .compare_exchange_relaxed(WAKER_REGISTERED, NO_REPLY_YET)
}

/// Makes the asker give up its end of the answer. No waker of the asker may be registered. Returns
/// [`ReplyState::Full`] or [`ReplyState::Empty`] if there is a reply: the caller then has to drop
/// the value, if there is one, and free the memory. Otherwise returns [`ReplyState::Pending`], and
/// the memory belongs to the replier.
///
/// # Safety
///
/// The caller is the asker. After the call it uses the memory only if a reply was returned, to drop
/// the value and to free the memory.
pub unsafe fn leave_as_asker<M: AnswerMemory>(memory: &M) -> ReplyState {
    // ORDERING(asker): pairs with the fences in `publish_reply`.
    let before = memory.state().swap_ordered(ASKER_LEFT, edge::ASKER_LEAVE);
    if before != VALUE_READY && before != NO_VALUE {
        return ReplyState::Pending;
    }
    // ORDERING(answer): pairs with the exchanges in `publish_reply`.
    memory.fence(edge::ANSWER_SEE);
    if before == VALUE_READY {
        ReplyState::Full
    } else {
        ReplyState::Empty
    }
}
