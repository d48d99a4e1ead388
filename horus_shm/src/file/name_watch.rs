//! The watch on the names of topics. It detects that a name no longer leads to the file that this
//! process has open, and then makes all endpoints check their files.
//!
//! A process has at most one thread for this. The thread starts when the first topic is opened,
//! checks all names ten times a second, and ends when no topic is open. A forked child has no such
//! thread until it opens a topic.

use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use crate::file::label::TopicLabel;
use crate::file::name::TopicName;
use crate::file::namespace::Namespace;
use crate::os::once::SetOnce;
use crate::os::{self, FileStatus, fault};
use crate::process::fork::ForkLocal;
use crate::protocol::sync::Word as _;

/// The pause between two checks of the names of all open topic files.
const NAME_CHECK_PERIOD: Duration = Duration::from_millis(100);

/// Size of the stack of the thread that checks the names. It is this large because the thread calls
/// the program's logger.
const NAME_THREAD_STACK_BYTES: usize = 256 << 10;

static WATCHED_NAMES: ForkLocal<Mutex<WatchedNames>> = ForkLocal::new();

/// Not 0 if this process must not start the thread that checks the names of topic files.
static IS_NAME_THREAD_FORBIDDEN: AtomicU64 = AtomicU64::new(0);

/// The function to call once for each topic file that has lost its name, as [`set_on_name_lost`]
/// set it.
static ON_NAME_LOST: SetOnce<fn(&NameLost)> = SetOnce::new();

/// The relation between an open topic file and the topic's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameState {
    /// The topic's name leads to the open file.
    Linked,
    /// The topic's name leads to a different file or to none, because a user removed or replaced
    /// the file.
    Lost,
    /// The namespace's directory was removed or replaced, and the topic's name with it.
    NamespaceRemoved,
}

const NAME_STATES: [NameState; 3] = [
    NameState::Linked,
    NameState::Lost,
    NameState::NamespaceRemoved,
];

/// A report that the topic's name no longer leads to a file that this process has open.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct NameLost {
    /// The topic whose open file lost the topic's name.
    pub topic: TopicLabel,
    /// The reason: either [`NameState::Lost`] or [`NameState::NamespaceRemoved`].
    pub state: NameState,
}

/// Prevents this process from starting the thread that checks the names of topics. For tests in
/// which a debugger (tracer) steps through this process. Such a tracer changes the code of the
/// process, so threads that it does not trace would run the changed code, too.
pub fn forbid_name_watch_thread() {
    // Relaxed: the caller opens topics later.
    IS_NAME_THREAD_FORBIDDEN.set(1);
}

/// Sets the function that the thread of this module calls each time that an open topic file of this
/// process loses its name. Only the first call sets a function; later calls have no effect.
pub fn set_on_name_lost(on_lost: fn(&NameLost)) {
    ON_NAME_LOST.get_or_set(on_lost);
}

/// The registration of an open topic file with the thread that checks the names of topic files.
/// Dropping the value ends the checks of this file's name.
#[derive(Debug)]
pub(crate) struct NameWatch {
    entry: Arc<WatchedName>,
}

#[derive(Debug)]
struct WatchedName {
    /// The result of the last check of the name, as an index into [`NAME_STATES`].
    state: AtomicU64,
    name: TopicName,
    stat: FileStatus,
    namespace: Weak<Namespace>,
}

#[derive(Debug, Default)]
struct WatchedNames {
    entries: Vec<Arc<WatchedName>>,
    /// True if the thread that checks the names is running. If false, the next name that is added
    /// starts it.
    is_thread_running: bool,
    /// The changes that endpoints have found, and that the thread has not reported yet.
    unreported: Vec<NameLost>,
}

fn lock_watched_names() -> MutexGuard<'static, WatchedNames> {
    // WHY poison is ignored: nothing panics while it is locked.
    WATCHED_NAMES
        .get()
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
}

impl NameWatch {
    /// Watches the name `name` of the open file whose status is `stat`. The returned value must be
    /// dropped before the file's own reference to `namespace`.
    pub(crate) fn new(namespace: &Arc<Namespace>, name: &TopicName, stat: FileStatus) -> Self {
        let entry = Arc::new(WatchedName {
            state: AtomicU64::new(0),
            name: name.clone(),
            stat,
            namespace: Arc::downgrade(namespace),
        });
        let mut watched = lock_watched_names();
        watched.entries.push(Arc::clone(&entry));
        // WHY no error: the topic works without the thread, and the next open tries again.
        watched.is_thread_running = watched.is_thread_running || try_start_name_thread();
        Self { entry }
    }

    /// Records that the name leads to the file again, and makes all endpoints check their files.
    /// The caller has just opened the file by its name.
    pub(crate) fn record_linked_again(&self) {
        let watched = lock_watched_names();
        // Relaxed: the epoch, which is advanced next, orders it.
        self.entry.state.set(NameState::Linked as u64);
        drop(watched);
        fault::advance_fault_epoch();
    }

    /// Checks the file's name now. Returns true if it leads to another file or to none, and the
    /// namespace is in place. Returns false if a system call fails.
    pub(crate) fn is_lost_now(&self) -> bool {
        let WatchedName { name, stat, .. } = &*self.entry;
        let is_lost = |namespace: &Namespace| {
            let is_linked = os::is_name_of_file(namespace.topics_dir()?, name.file_name(), stat)?;
            Ok::<_, io::Error>(!is_linked && namespace.is_unchanged_on_disk()?)
        };
        let namespace = self.entry.namespace.upgrade();
        namespace.is_some_and(|namespace| is_lost(&namespace).unwrap_or(false))
    }

    /// Returns the result of the last check of the file's name.
    pub(crate) fn state(&self) -> NameState {
        // Relaxed: the fault epoch orders it.
        NAME_STATES[self.entry.state.get() as usize]
    }
}

impl Drop for NameWatch {
    fn drop(&mut self) {
        let entry = &self.entry;
        lock_watched_names()
            .entries
            .retain(|other| !Arc::ptr_eq(other, entry));
    }
}

/// Starts the thread that checks the names. Returns false if the system could not create the
/// thread.
fn try_start_name_thread() -> bool {
    // Relaxed: as in `forbid_name_watch_thread`.
    if IS_NAME_THREAD_FORBIDDEN.get() != 0 {
        return false;
    }
    let thread = thread::Builder::new()
        .name("horus-names".into())
        .stack_size(NAME_THREAD_STACK_BYTES);
    thread.spawn(run_name_thread).is_ok()
}

fn run_name_thread() {
    os::thread::become_library_thread();
    loop {
        thread::sleep(NAME_CHECK_PERIOD);
        let Some(changed) = check_all_names() else {
            return;
        };
        report_name_changes(&changed);
    }
}

/// Checks the names of all open topic files now. For tests in processes that must not start the
/// thread that does this.
pub fn check_names_now() {
    report_name_changes(&check_all_names().unwrap_or_default());
}

/// Makes all endpoints of this process check their files, and reports each file of `changed` that
/// has lost its name. Does nothing if `changed` is empty.
fn report_name_changes(changed: &[NameLost]) {
    if changed.is_empty() {
        return;
    }
    fault::advance_fault_epoch();
    // WHY outside of the lock: the function may open a topic.
    if let Some(on_lost) = ON_NAME_LOST.get() {
        let lost = changed
            .iter()
            .filter(|name| name.state != NameState::Linked);
        lost.for_each(on_lost);
    }
}

/// Checks all names now, for an endpoint that has found that one has changed. Makes all endpoints
/// of this process check their files; the thread reports the changes at its next check. Makes a
/// system call for each open topic.
pub(crate) fn check_names_for_endpoint() {
    let mut watched = lock_watched_names();
    let changed = watched.check();
    if changed.is_empty() {
        return;
    }
    watched.unreported.extend(changed);
    drop(watched);
    fault::advance_fault_epoch();
}

/// Checks all names. Returns those that have been lost since the last check, or that lead to their
/// files again; `None` if no topic is open, which ends the thread.
fn check_all_names() -> Option<Vec<NameLost>> {
    let mut watched = lock_watched_names();
    let mut changed = std::mem::take(&mut watched.unreported);
    if watched.entries.is_empty() && changed.is_empty() {
        watched.is_thread_running = false;
        return None;
    }
    changed.extend(watched.check());
    Some(changed)
}

impl WatchedNames {
    /// Checks all names. Returns those that have been lost since the last check, or that lead to
    /// their files again.
    ///
    /// WHY under the lock: then no namespace is dropped by this thread, because each entry belongs
    /// to a file that refers to it.
    fn check(&self) -> Vec<NameLost> {
        let mut unchanged_namespaces = Vec::new();
        let entries = self.entries.iter();
        let changed = entries.filter_map(|entry| entry.check(&mut unchanged_namespaces));
        changed.collect()
    }
}

impl WatchedName {
    /// Checks the name. Returns its state if that has changed since the last check.
    /// `unchanged_namespaces` contains the namespaces that this round of checks has already found
    /// unchanged.
    ///
    /// WHY a lost name is checked, too: a user may rename the file away and back. Otherwise each
    /// call of its endpoints would try to move, and find the file that is already open. And the
    /// namespace may be removed later than the topic's file.
    fn check(&self, unchanged_namespaces: &mut Vec<*const Namespace>) -> Option<NameLost> {
        // Relaxed: the caller has the lock under which it is stored.
        let known = NAME_STATES[self.state.get() as usize];
        if known == NameState::NamespaceRemoved {
            return None;
        }
        let namespace = self.namespace.upgrade()?;
        let state = self.current_state(&namespace, unchanged_namespaces).ok()?;
        if state == known {
            return None;
        }
        // Relaxed: the epoch, which the caller advances next, orders it.
        self.state.set(state as u64);
        Some(NameLost {
            topic: TopicLabel::new(&self.name),
            state,
        })
    }

    /// Checks the name, and returns its present state. Returns an error if a system call fails.
    fn current_state(
        &self,
        namespace: &Namespace,
        unchanged_namespaces: &mut Vec<*const Namespace>,
    ) -> io::Result<NameState> {
        let place: *const Namespace = namespace;
        if !unchanged_namespaces.contains(&place) {
            if !namespace.is_unchanged_on_disk()? {
                return Ok(NameState::NamespaceRemoved);
            }
            unchanged_namespaces.push(place);
        }
        let dir = namespace.topics_dir()?;
        if os::is_name_of_file(dir, self.name.file_name(), &self.stat)? {
            return Ok(NameState::Linked);
        }
        // WHY again: a namespace that is being removed loses its topics first.
        Ok(if namespace.is_unchanged_on_disk()? {
            NameState::Lost
        } else {
            NameState::NamespaceRemoved
        })
    }
}
