//! The memory of a modelled depot and of a modelled answer.

use horus_shm::internals::answer::{self, AnswerMemory, NO_REPLY_YET, ReplyOutcome, ReplyState};
use horus_shm::internals::depot::{self, DepotMemory};
use horus_shm::internals::sync::Edge;

use crate::checker::Shared;
use crate::checker::cell::UnsafeCell;
use crate::loom_memory::LoomWord;
use crate::loom_memory::sleepers::fence;

/// Numbered items with a content, and one stack of them.
pub(crate) struct LoomDepot {
    top: LoomWord,
    items: Box<[(LoomWord, UnsafeCell<u64>)]>,
}

impl LoomDepot {
    pub(crate) fn new(items: u32) -> Shared<Self> {
        let item = |_| (LoomWord::new(0), UnsafeCell::new(0));
        Shared::new(Self {
            top: LoomWord::new(0),
            items: (0..items).map(item).collect(),
        })
    }

    /// Pushes item `number` with `content`.
    pub(crate) fn push(&self, number: u32, content: u64) {
        // SAFETY: the checker fails the model if another thread is in it.
        self.items[number as usize - 1]
            .1
            .with_mut(|place| unsafe { place.write(content) });
        depot::push_item(self, &self.top, number);
    }

    /// Pops an item, and returns its number and content.
    pub(crate) fn pop(&self) -> Option<(u32, u64)> {
        let number = depot::pop_item(self, &self.top)?;
        // SAFETY: as above.
        let content = self.items[number as usize - 1]
            .1
            .with_mut(|place| unsafe { place.replace(0) });
        Some((number, content))
    }
}

impl DepotMemory for LoomDepot {
    type Word = LoomWord;

    fn next(&self, number: u32) -> &LoomWord {
        &self.items[number as usize - 1].0
    }
}

struct Parts {
    state: LoomWord,
    waker: UnsafeCell<Option<u64>>,
    value: UnsafeCell<u64>,
    is_freed: UnsafeCell<bool>,
}

/// One side's view of an answer. The waker is a number.
#[derive(Clone)]
pub(crate) struct LoomAnswer(Shared<Parts>);

impl LoomAnswer {
    pub(crate) fn new() -> Self {
        Self(Shared::new(Parts {
            state: LoomWord::new(NO_REPLY_YET),
            waker: UnsafeCell::new(None),
            value: UnsafeCell::new(0),
            is_freed: UnsafeCell::new(false),
        }))
    }

    /// Replies, and returns the waker that has to be called. Without a value, there is no answer.
    pub(crate) fn give(&self, value: Option<u64>) -> Option<u64> {
        if let Some(value) = value {
            // SAFETY: the checker fails the model if another thread is in it.
            self.0.value.with_mut(|place| unsafe { place.write(value) });
        }
        let take = || self.take_waker();
        // SAFETY: each model has one replier, which calls this once.
        match unsafe { answer::publish_reply(self, value.is_some(), take) } {
            ReplyOutcome::Published => None,
            ReplyOutcome::Wake(waker) => Some(waker.expect("a registered waker")),
            ReplyOutcome::Left(_) => {
                self.free();
                None
            }
        }
    }

    fn take_waker(&self) -> Option<u64> {
        // SAFETY: the checker fails the model if another thread is in it.
        self.0.waker.with_mut(|place| unsafe { (*place).take() })
    }

    /// Looks for the reply, and takes it: the value, or `Some(None)` if there is none.
    pub(crate) fn try_take(&self) -> Option<Option<u64>> {
        match answer::load_reply_state(self) {
            ReplyState::Pending | ReplyState::Busy => None,
            ReplyState::Empty => {
                self.free();
                Some(None)
            }
            ReplyState::Full => {
                let value = self.value();
                self.free();
                Some(Some(value))
            }
        }
    }

    fn value(&self) -> u64 {
        // SAFETY: the checker fails the model if the replier is in it.
        self.0.value.with(|place| unsafe { place.read() })
    }

    /// Registers `waker`, where none is registered.
    pub(crate) fn register(&self, waker: u64) -> bool {
        // SAFETY: the checker fails the model if the replier is in it.
        self.0
            .waker
            .with_mut(|place| unsafe { place.write(Some(waker)) });
        answer::try_register_waker(self)
    }

    /// Takes the waker back, and drops it.
    pub(crate) fn retract(&self) -> bool {
        let is_retracted = answer::try_retract_waker(self);
        if is_retracted {
            self.take_waker();
        }
        is_retracted
    }

    /// Leaves, after a registered waker was retracted or taken.
    pub(crate) fn leave(&self) -> Option<Option<u64>> {
        // WHY: it stands for the state, of which the checker allows a late access.
        self.0.is_freed.with(|_| ());
        // SAFETY: the asker calls this last.
        match unsafe { answer::leave_as_asker(self) } {
            ReplyState::Full => {
                let value = self.value();
                self.free();
                Some(Some(value))
            }
            ReplyState::Empty => {
                self.free();
                Some(None)
            }
            _ => None,
        }
    }

    /// Frees the memory: no other thread may be in any part of it, or come later.
    fn free(&self) {
        self.take_waker();
        // SAFETY: the checker fails the model if another thread is in it.
        self.0
            .value
            .with_mut(|place| unsafe { place.write(u64::MAX) });
        // SAFETY: as above.
        let was = self
            .0
            .is_freed
            .with_mut(|place| unsafe { place.replace(true) });
        assert!(!was, "freed twice");
    }

    pub(crate) fn is_freed(&self) -> bool {
        // SAFETY: all threads have ended.
        self.0.is_freed.with(|place| unsafe { place.read() })
    }
}

impl AnswerMemory for LoomAnswer {
    type Word = LoomWord;

    fn state(&self) -> &LoomWord {
        &self.0.state
    }

    #[track_caller]
    fn fence(&self, edge: Edge) {
        fence(edge);
    }
}
