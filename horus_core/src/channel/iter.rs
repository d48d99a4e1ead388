//! Iterators over the messages of a receiver: one that blocks, one that does not, and one that owns
//! the receiver.

use std::fmt;
use std::iter::FusedIterator;

use super::endpoints::{ChannelKind, Receiver};

/// The iterator that [`Receiver::iter`] returns. It blocks until there is a message, and ends when
/// all messages were received and there is no sender any more.
pub struct Iter<'a, T, K: ChannelKind<T>>(&'a mut Receiver<T, K>);

/// The iterator that [`Receiver::try_iter`] returns. It does not block, and ends when no message is
/// available.
pub struct TryIter<'a, T, K: ChannelKind<T>>(&'a mut Receiver<T, K>);

/// An iterator that owns a receiver. It blocks until there is a message, and ends when all messages
/// were received and there is no sender any more.
pub struct IntoIter<T, K: ChannelKind<T>>(Receiver<T, K>);

impl<'a, T, K: ChannelKind<T>> Iter<'a, T, K> {
    pub(super) const fn new(receiver: &'a mut Receiver<T, K>) -> Self {
        Self(receiver)
    }
}

impl<'a, T, K: ChannelKind<T>> TryIter<'a, T, K> {
    pub(super) const fn new(receiver: &'a mut Receiver<T, K>) -> Self {
        Self(receiver)
    }
}

impl<T, K: ChannelKind<T>> Iterator for Iter<'_, T, K> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

impl<T, K: ChannelKind<T>> Iterator for TryIter<'_, T, K> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.try_recv().ok()
    }
}

impl<T, K: ChannelKind<T>> Iterator for IntoIter<T, K> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

// WHY: a channel without senders stays empty, because only a sender can make another sender.
impl<T, K: ChannelKind<T>> FusedIterator for Iter<'_, T, K> {}
impl<T, K: ChannelKind<T>> FusedIterator for IntoIter<T, K> {}

impl<'a, T, K: ChannelKind<T>> IntoIterator for &'a mut Receiver<T, K> {
    type Item = T;
    type IntoIter = Iter<'a, T, K>;

    fn into_iter(self) -> Iter<'a, T, K> {
        self.iter()
    }
}

impl<T, K: ChannelKind<T>> IntoIterator for Receiver<T, K> {
    type Item = T;
    type IntoIter = IntoIter<T, K>;

    fn into_iter(self) -> IntoIter<T, K> {
        IntoIter(self)
    }
}

impl<T, K: ChannelKind<T>> fmt::Debug for Iter<'_, T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Iter").field(&self.0).finish()
    }
}

impl<T, K: ChannelKind<T>> fmt::Debug for TryIter<'_, T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TryIter").field(&self.0).finish()
    }
}

impl<T, K: ChannelKind<T>> fmt::Debug for IntoIter<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("IntoIter").field(&self.0).finish()
    }
}
