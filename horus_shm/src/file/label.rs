//! Topic labels: the name of a topic for use in errors. A label is a pointer to a copy of the name
//! that is never freed.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use crate::file::name::TopicName;
use crate::process::fork::ForkLocal;

/// The names of all topics that this process has opened, each once. Fork-local, because another
/// thread of the parent may hold the lock during a fork. Names that the parent entered stay valid
/// in the child.
static OPENED_TOPIC_NAMES: ForkLocal<Mutex<BTreeSet<&'static TopicName>>> = ForkLocal::new();

/// The name of a topic, for error texts. It is displayed as `topic 'camera/rgb'`.
///
/// A label is one pointer, so errors that contain it stay small and `Copy`. It points to a name in
/// a table of the process. A name is entered when its topic is first opened, and is never removed.
/// The table therefore has one entry, of at most some 500 bytes, for each distinct name that the
/// process has opened. Copying or displaying a label takes no lock.
///
/// ```
/// use horus_shm::{TopicLabel, TopicName};
///
/// let label = TopicLabel::new(&TopicName::new("camera/rgb")?);
/// assert_eq!(label.to_string(), "topic 'camera/rgb'");
/// assert_eq!(label.name(), Some("camera/rgb"));
/// assert_eq!(TopicLabel::UNNAMED.to_string(), "ring on the heap");
/// # Ok::<(), horus_shm::NameError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TopicLabel(Option<&'static TopicName>);

const _: () = assert!(size_of::<TopicLabel>() == size_of::<usize>());

impl TopicLabel {
    /// The label of a ring on the heap, which has no topic name.
    pub const UNNAMED: Self = Self(None);

    /// Returns the label of the topic `name`. Takes a lock. If the process has not used the name
    /// before, allocates a copy of it, which stays in memory until the process ends.
    #[must_use]
    pub fn new(name: &TopicName) -> Self {
        // WHY poison is ignored: an insertion that panics leaves the set unchanged.
        let mut names = OPENED_TOPIC_NAMES
            .get()
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = names.get(name) {
            return Self(Some(known));
        }
        let name: &'static TopicName = Box::leak(Box::new(name.clone()));
        names.insert(name);
        Self(Some(name))
    }

    /// Returns the topic's name, without a leading slash; `None` for a ring on the heap.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        self.0.map(TopicName::as_str)
    }
}

impl fmt::Display for TopicLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            // WHY unescaped: a checked name has no character that a terminal would interpret.
            Some(name) => write!(f, "topic '{name}'"),
            None => f.write_str("ring on the heap"),
        }
    }
}

/// Formats in the same way as `Display`. WHY: the output of `unwrap` and `{:?}` for an error is
/// then readable.
impl fmt::Debug for TopicLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_stored_only_once() {
        let label = |name| TopicLabel::new(&TopicName::new(name).unwrap());
        let first = label("arm/joint");
        let again = label("/arm/joint");
        assert_eq!(first, again);
        assert!(std::ptr::eq(first.0.unwrap(), again.0.unwrap()));
        assert_ne!(first, label("arm/joint2"));
        assert_ne!(first, TopicLabel::UNNAMED);
        assert_eq!(
            format!("{first} {first:?}"),
            "topic 'arm/joint' topic 'arm/joint'"
        );
    }

    #[test]
    fn an_error_of_a_send_fits_in_four_words() {
        assert!(size_of::<Result<(), crate::SendError<()>>>() <= 4 * size_of::<usize>());
    }
}
