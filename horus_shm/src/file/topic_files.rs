//! The endpoints of a topic in all of its files. After the topic's name has moved to a new file,
//! some endpoints may still use an old file.

use std::sync::Arc;

use crate::file::segment::Segment;
use crate::file::session::EndpointId;

/// The files in which the endpoints of one topic may be, from the oldest to the newest. There are
/// several after a file has lost its name, until all endpoints have moved to the newest one.
#[derive(Debug, Clone)]
pub struct TopicFiles {
    files: Vec<Arc<Segment>>,
}

/// A live endpoint, and the topic file in which it is.
#[derive(Debug, Clone)]
pub struct LiveEndpoint {
    /// The segment (mapped memory) of the topic file that contains the endpoint.
    pub file: Arc<Segment>,
    /// The lane or reader slot of the endpoint, and its process.
    pub id: EndpointId,
    /// The number of publishers or subscribers whose deaths had been recorded in the file before
    /// the endpoint was found.
    pub deaths: u64,
}

impl PartialEq for LiveEndpoint {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && self.file.is_same_file(&other.file)
    }
}

impl Eq for LiveEndpoint {}

impl TopicFiles {
    /// Returns the files of a topic, from the oldest to the newest: the files `former`, and then
    /// `newest`.
    pub(crate) fn new<'a>(
        former: impl Iterator<Item = &'a Arc<Segment>>,
        newest: &'a Arc<Segment>,
    ) -> Self {
        let files = former.chain([newest]).cloned().collect();
        Self { files }
    }

    /// Returns this list with the files of `other` that it does not contain yet.
    #[must_use]
    pub fn merged_with(mut self, other: &Self) -> Self {
        // WHY at the front: which files both know, and so the newest one, are at the end.
        let is_unknown =
            |file: &&Arc<Segment>| !self.files.iter().any(|own| own.is_same_file(file));
        let unknown: Vec<_> = other.files.iter().filter(is_unknown).cloned().collect();
        self.files.splice(0..0, unknown);
        self
    }

    /// Adds to the list the file that has the topic's name now, if that file exists and this
    /// process can open it.
    pub fn add_current_file(&mut self) {
        let newest = self.newest();
        if let Ok(present) = newest.reopen_if_name_lost(false)
            && !present.is_same_file(newest)
        {
            // WHY: the file may have been renamed away and back.
            self.files.retain(|file| !file.is_same_file(&present));
            self.files.push(present);
        }
    }

    /// Returns the segment of the newest file.
    #[must_use]
    pub fn newest(&self) -> &Arc<Segment> {
        // WHY there is one: no method removes the last file.
        &self.files[self.files.len() - 1]
    }

    /// Removes from the list the files in which none of `endpoints` is. The newest file always
    /// stays.
    pub fn retain_files_of(&mut self, endpoints: &[LiveEndpoint]) {
        let newest = Arc::clone(self.newest());
        self.files.retain(|file| {
            let mut used = endpoints.iter().map(|end| &end.file).chain([&newest]);
            used.any(|used| used.is_same_file(file))
        });
    }

    /// Returns the number of live publishers in all of these files. Takes about 0.2 µs for each
    /// publisher.
    #[must_use]
    pub fn publisher_count(&self) -> usize {
        match &self.files[..] {
            [only] => only.publisher_count(),
            _ => self.publishers().len(),
        }
    }

    /// Returns the number of live readers that have joined, in all processes, without observers.
    /// Takes about 0.2 µs for each reader.
    #[must_use]
    pub fn subscriber_count(&self) -> usize {
        match &self.files[..] {
            [only] => only.subscriber_count(),
            _ => self.subscribers().len(),
        }
    }

    /// Returns the live publishers in all processes. A publisher that is in several files is
    /// returned once, with the newest of them.
    #[must_use]
    pub fn publishers(&self) -> Vec<LiveEndpoint> {
        let mut found: Vec<(LiveEndpoint, u64)> = Vec::new();
        // WHY from the oldest on: a publisher that moves meanwhile is found twice, and not never.
        for file in &self.files {
            let deaths = file.publisher_deaths();
            let here = file.publishers_with_session_ids();
            found.retain(|(_, session)| !here.iter().any(|(_, moved)| moved == session));
            let live = |(id, session)| (LiveEndpoint::new(file, id, deaths), session);
            found.extend(here.into_iter().map(live));
        }
        found.into_iter().map(|(end, _)| end).collect()
    }

    /// Returns the live subscribers that have joined, in all processes, without observers. A
    /// subscriber that is moving to another file is returned once, with the newer file.
    #[must_use]
    pub fn subscribers(&self) -> Vec<LiveEndpoint> {
        // WHY from the oldest on, and the check before the look at the next file: as above.
        let live = self.files.iter().flat_map(|file| {
            let deaths = file.subscriber_deaths();
            let here = file.live_subscribers().into_iter();
            here.map(move |id| LiveEndpoint::new(file, id, deaths))
        });
        live.filter(|end| !self.has_reader_moved(end)).collect()
    }

    /// Returns true if a reader is also in another one of these files, because it has moved.
    fn has_reader_moved(&self, reader: &LiveEndpoint) -> bool {
        let moved_to = reader.file.file_number_moved_to(reader.id.place);
        let mut files = self.files.iter();
        moved_to != 0 && files.any(|file| file.file_number() == moved_to)
    }
}

impl LiveEndpoint {
    fn new(file: &Arc<Segment>, id: EndpointId, deaths: u64) -> Self {
        let file = Arc::clone(file);
        Self { file, id, deaths }
    }
}
