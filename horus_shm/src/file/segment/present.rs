//! Finds the file that has the topic's name now, for endpoints whose own file no longer has that
//! name.

use std::sync::Arc;

use crate::file::error::OpenError;
use crate::file::name_watch::{NameState, NameWatch, check_names_for_endpoint};
use crate::file::open;
use crate::file::segment::{Segment, TopicMemory};

impl Segment {
    /// Returns the topic in which new endpoints should be opened. This is `self`, or the result of
    /// [`Self::reopen`] if the file of `self` has lost the topic's name. If `may_create` is true, a
    /// missing file is created.
    ///
    /// # Errors
    ///
    /// The same as for [`Self::reopen`].
    pub fn reopen_if_name_lost(self: &Arc<Self>, may_create: bool) -> Result<Arc<Self>, OpenError> {
        if self.is_name_lost() && !self.is_forked() {
            self.reopen(may_create)
        } else {
            Ok(Arc::clone(self))
        }
    }

    /// Returns true if `self` and `other` use the same topic file.
    #[must_use]
    pub fn is_same_file(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.memory, &other.memory)
    }

    /// Opens the topic file that has the name of this topic now, with the same request. If there is
    /// no such file and `may_create` is true, creates one. If the file of `self` has its name
    /// again, returns a segment of the same file: see [`Self::is_same_file`]. All endpoints of this
    /// process then learn that this file has the name.
    ///
    /// # Errors
    ///
    /// The same as for [`Self::open_or_create`] if `may_create` is true, otherwise as for
    /// [`Self::open`].
    pub fn reopen(&self, may_create: bool) -> Result<Arc<Self>, OpenError> {
        self.reopen_within(may_create, open::TOPIC_OPEN_ATTEMPTS_MAX)
    }

    /// Opens the topic file as [`Self::reopen`] does, but sleeps for a millisecond at most
    /// `pauses_max` times while another process removes that file.
    pub(crate) fn reopen_within(
        &self,
        may_create: bool,
        pauses_max: u32,
    ) -> Result<Arc<Self>, OpenError> {
        let Some(file) = self.file() else {
            return Err(OpenError::RegionLost { path: self.path() });
        };
        let mode = if may_create {
            open::OpenRule::OpenOrCreate
        } else {
            open::OpenRule::Open
        };
        let memory = open::open(&file.namespace, &file.name, &self.request, mode, pauses_max)?;
        if memory.is_name_lost()
            && let Some(watch) = memory.file().and_then(|file| file.name_watch.as_ref())
        {
            watch.record_linked_again();
        }
        Ok(Self::new(&self.request, memory))
    }
}

impl TopicMemory {
    /// Returns a number that identifies the topic file: the first 8 bytes of its random id; 0 on
    /// the heap.
    pub(crate) fn file_number(&self) -> u64 {
        let file = self.file().and_then(|file| file.topic_id.first_chunk());
        file.copied().map_or(0, u64::from_le_bytes)
    }

    /// Returns whether the topic's name still leads to this file, as the last check found it. The
    /// check is repeated every 100 ms.
    #[must_use]
    pub fn name_state(&self) -> NameState {
        let watch = self.file().and_then(|file| file.name_watch.as_ref());
        watch.map_or(NameState::Linked, NameWatch::state)
    }

    /// Checks now whether the topic's name leads to another file or to none. Makes a system call,
    /// and some more if it does.
    pub(crate) fn is_name_lost_now(&self) -> bool {
        let watch = self.file().and_then(|file| file.name_watch.as_ref());
        watch.is_some_and(NameWatch::is_lost_now)
    }

    /// Checks the names of all topics of this process now, if this file had lost its name at the
    /// last check. The caller has found that the file has the name again.
    pub(crate) fn notice_return_of_name(&self) {
        if self.is_name_lost() {
            check_names_for_endpoint();
        }
    }

    /// Returns true if the topic's name leads to another file or to none. Endpoints then move to
    /// the file that gets the name.
    pub(crate) fn is_name_lost(&self) -> bool {
        self.name_state() == NameState::Lost
    }
}
