//! Opening a topic: atomic birth, distrusting open, and the table of what this process has open.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use crate::file::contract::{Contract, Request};
use crate::file::error::OpenError;
use crate::file::header::{self, HeaderError, Provenance};
use crate::file::name::TopicName;
use crate::file::namespace::Namespace;
use crate::file::segment::{FileId, Segment, TopicFile};
use crate::os::{self, FreeSpace, OpenMode, Stat, lock};
use crate::process::fork::ForkLocal;
use crate::process::liveness::Holder;
use crate::protocol::layout::{HEADER_BYTES, LAYOUT_VERSION};
use crate::protocol::presence::{self, Attach, Attendance};

/// Looks at a name that others create and remove all the time before giving up.
const ATTEMPTS_MAX: u32 = 1000;
/// Looks at a file that cannot be used before believing that who has it open uses it.
const IN_USE_ATTEMPTS_MAX: u32 = 30;
/// After how many looks at a file that is being removed its remover is looked at: some 30 ms.
const HOLDER_ATTEMPTS: u32 = 25;
/// Pause while somebody else is in the middle of removing a file.
const RETIRING_PAUSE: Duration = Duration::from_millis(1);

/// May the topic be there; may it be made?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Open,
    Create,
    OpenOrCreate,
}

/// The topic files that this process attends, by what they are, not by name.
pub(crate) type Table = HashMap<FileId, Attended>;

#[derive(Debug)]
pub(crate) struct Attended {
    segment: Weak<Segment>,
    /// Segments of this file, those in the middle of their drop included: the presence lock is
    /// the process's, so only the last one gives it back.
    segments: usize,
}

static TABLE: ForkLocal<Mutex<Table>> = ForkLocal::new();

fn table() -> MutexGuard<'static, Table> {
    // A panic cannot leave the table half-changed, so poison means nothing here.
    TABLE.get().lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `last` if `file` belongs to the last segment of that file in this process.
pub(crate) fn leave(file: &TopicFile, last: impl FnOnce()) {
    let mut table = table();
    if let Some(attended) = table.get_mut(&file.id) {
        attended.segments -= 1;
        if attended.segments == 0 {
            table.remove(&file.id);
            last();
        }
    }
}

/// The locked table, if this process does not attend the file; `None` if it does.
pub(crate) fn table_unless_attended(id: FileId) -> Option<MutexGuard<'static, Table>> {
    let table = table();
    (!table.contains_key(&id)).then_some(table)
}

/// How one look at the name ended.
pub(crate) enum Look {
    Found(Arc<Segment>),
    /// Nothing there, or no longer: create, or look again.
    Gone,
    /// Somebody is removing it: look again a little later.
    Retiring,
    /// It cannot be used as it is, and somebody has it open: an error, unless that is only another
    /// one who looks at it.
    InUse(Box<OpenError>),
}

pub(crate) fn open(
    namespace: &Arc<Namespace>,
    name: &TopicName,
    request: &Request,
    mode: Mode,
) -> Result<Arc<Segment>, OpenError> {
    let place = TopicPath { namespace, name };
    for attempt in 0..ATTEMPTS_MAX {
        match place.look()? {
            Look::Found(_) if mode == Mode::Create => {
                return Err(OpenError::AlreadyExists { path: place.path() });
            }
            Look::Found(segment) => {
                request.check(segment.contract(), &place.path())?;
                return Ok(segment);
            }
            Look::Gone if mode == Mode::Open => {
                return Err(OpenError::NotFound { path: place.path() });
            }
            Look::Gone => {
                if let Some(segment) = place.give_birth(request)? {
                    return Ok(segment);
                }
            }
            Look::Retiring => place.await_removal(attempt)?,
            Look::InUse(error) if attempt >= IN_USE_ATTEMPTS_MAX => return Err(*error),
            Look::InUse(_) => pause(attempt),
        }
    }
    Err(place.removed_by(place.holder()))
}

/// Waits a little, not as long as another process that came at the same moment.
fn pause(attempt: u32) {
    let spread = std::process::id().wrapping_mul(31).wrapping_add(attempt.wrapping_mul(7)) % 8;
    std::thread::sleep(RETIRING_PAUSE * (1 + spread) / 4);
}

pub(crate) fn inspect(
    namespace: &Arc<Namespace>,
    name: &TopicName,
) -> Result<Arc<Segment>, OpenError> {
    let place = TopicPath { namespace, name };
    for attempt in 0..ATTEMPTS_MAX {
        match place.look()? {
            Look::Found(segment) => return Ok(segment),
            Look::Gone => return Err(OpenError::NotFound { path: place.path() }),
            Look::Retiring => place.await_removal(attempt)?,
            Look::InUse(error) if attempt >= IN_USE_ATTEMPTS_MAX => return Err(*error),
            Look::InUse(_) => pause(attempt),
        }
    }
    Err(place.removed_by(place.holder()))
}

/// Reserves a range of a topic file.
///
/// # Errors
///
/// [`OpenError::NoSpace`] with what is needed and what there is, or [`OpenError::Io`].
pub(crate) fn reserve(
    fd: BorrowedFd<'_>,
    range: Range<u64>,
    path: impl Fn() -> PathBuf,
) -> Result<(), OpenError> {
    let needed_bytes = range.end - range.start;
    os::reserve(fd, range.start, needed_bytes)
        .map_err(|source| no_space_or(fd, "reserving memory of", path(), needed_bytes, source))
}

/// Says what an error of the system means for a file that needs so many bytes, on the file system
/// of `fd`.
fn no_space_or(
    fd: BorrowedFd<'_>,
    operation: &'static str,
    path: PathBuf,
    needed_bytes: u64,
    source: io::Error,
) -> OpenError {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            let free = os::free_space(fd).unwrap_or(FreeSpace { bytes: 0, files: None });
            let (available_bytes, available_files) = (free.bytes, free.files);
            OpenError::NoSpace { path, needed_bytes, available_bytes, available_files }
        }
        _ => OpenError::Io { operation, path, source },
    }
}

/// A topic's name in a namespace.
pub(crate) struct TopicPath<'a> {
    pub(crate) namespace: &'a Arc<Namespace>,
    pub(crate) name: &'a TopicName,
}

impl TopicPath<'_> {
    fn path(&self) -> PathBuf {
        self.namespace.topics_path().join(self.name.file_name())
    }

    /// Waits a little for a process that is removing the file; an error once that is found to be
    /// stopped.
    ///
    /// WHY nobody does its work for it: it may have looked at the name and be about to remove it,
    /// which would then be another file.
    fn await_removal(&self, attempt: u32) -> Result<(), OpenError> {
        pause(attempt);
        if attempt % HOLDER_ATTEMPTS == HOLDER_ATTEMPTS - 1 {
            let holder = self.holder();
            if holder.as_ref().is_some_and(|holder| holder.is_stopped) {
                return Err(self.removed_by(holder));
            }
        }
        Ok(())
    }

    /// The process that is removing the file.
    fn holder(&self) -> Option<Holder> {
        let file = os::fstatat(self.namespace.topics_dir().ok()?, self.name.file_name()).ok()?;
        self.namespace.registry().holder(file.ino)
    }

    pub(crate) fn not_removed(&self, found: &'static str, cure: &str) -> OpenError {
        OpenError::NotRemoved { path: self.path(), found, cure: cure.to_owned() }
    }

    fn removed_by(&self, holder: Option<Holder>) -> OpenError {
        OpenError::Retiring { path: self.path(), holder: holder.map(Box::new) }
    }

    pub(crate) fn io(&self, operation: &'static str) -> impl FnOnce(io::Error) -> OpenError {
        let path = self.path();
        move |source| OpenError::Io { operation, path, source }
    }

    pub(crate) fn provenance(&self) -> Result<Provenance, OpenError> {
        let boot_id = os::boot_id().map_err(self.io("reading the boot id for"))?;
        Ok(Provenance { boot_id, registry_id: self.namespace.registry().id() })
    }

    /// Opens what has the name, trusting nothing of it.
    fn look(&self) -> Result<Look, OpenError> {
        let dir = self.namespace.topics_dir().map_err(self.io("opening"))?;
        let fd = match os::open_file(dir, self.name.file_name(), OpenMode::ReadWrite) {
            Ok(fd) => fd,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Look::Gone),
            // Another process holds a lease on it, to find out whether it may be removed.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Look::Retiring),
            Err(error) => return Err(self.unopened(error)),
        };
        let stat = os::fstat(fd.as_fd()).map_err(self.io("looking at"))?;
        if stat.links == 0 {
            return Ok(Look::Gone);
        }
        self.check_kind(&stat)?;
        let id = FileId::of(&stat);
        // WHY before the table: a lost segment's last handle may go meanwhile, and the drop of the
        // segment, which then falls to this one, locks the table itself.
        let _lost;
        // WHY: held until the file is entered, so that two threads of this process end on one
        // segment, and a segment in its drop is either still counted or already gone.
        let mut table = table();
        match table.get(&id).and_then(|attended| attended.segment.upgrade()) {
            // WHY: its memory is not the file's; whether the file is of use again is seen below.
            Some(segment) if segment.is_lost() => _lost = segment,
            // WHY: attended by this process, so nobody can have retired it under its lock.
            Some(segment) => return Ok(Look::Found(segment)),
            None => {}
        }
        let mut bytes = vec![0; HEADER_BYTES.min(stat.size_bytes as usize)];
        os::read_at(fd.as_fd(), &mut bytes, 0).map_err(self.io("reading the header of"))?;
        let contract =
            header::decode(&bytes, stat.size_bytes, self.name.as_str(), self.provenance()?);
        match contract {
            Ok(contract) => self.attach(&mut table, self.file(fd, id), contract),
            Err(error) => self.replace(&self.file(fd, id), error),
        }
    }

    fn attach(
        &self,
        table: &mut Table,
        file: TopicFile,
        contract: Contract,
    ) -> Result<Look, OpenError> {
        Ok(match presence::attach(&file).map_err(self.io("attending"))? {
            Attach::Attached => Look::Found(enter(table, contract, file)),
            Attach::Gone => {
                // WHY: whoever retired it may have died before the unlink; the name would then be
                // taken for good. Retiring again takes that step, or finds it taken.
                if file.is_retired().map_err(self.io("attending"))? {
                    presence::retire(&file).map_err(self.io("removing the retired"))?;
                }
                Look::Gone
            }
            Attach::Retiring => Look::Retiring,
        })
    }

    pub(crate) fn file(&self, fd: OwnedFd, id: FileId) -> TopicFile {
        TopicFile::new(fd, id, Arc::clone(self.namespace), self.name.clone())
    }

    /// What a failed open says about the thing that has the name.
    pub(crate) fn unopened(&self, error: io::Error) -> OpenError {
        let found = match error.raw_os_error() {
            Some(libc::ELOOP) => "a symbolic link",
            Some(libc::EISDIR) => "a directory",
            Some(libc::ENXIO) => "a socket or a device",
            _ => return self.io("opening")(error),
        };
        OpenError::NotATopic { path: self.path(), found: found.to_owned() }
    }

    pub(crate) fn check_kind(&self, stat: &Stat) -> Result<(), OpenError> {
        let me = os::effective_uid();
        let found = if !stat.is_file() {
            "not a regular file".to_owned()
        } else if stat.uid != me {
            format!("owned by user {} (you are {me})", stat.uid)
        } else if stat.links != 1 {
            format!("a file with {} names", stat.links)
        } else if stat.permissions() & !self.namespace.access().file_mode != 0 {
            format!("open to others (mode {:04o})", stat.permissions())
        } else {
            return Ok(());
        };
        Err(OpenError::NotATopic { path: self.path(), found })
    }

    /// A file that cannot be used as it is: removed if it is merely stale and nobody has it open.
    pub(crate) fn replace(&self, file: &TopicFile, error: HeaderError) -> Result<Look, OpenError> {
        let path = self.path();
        let attended = match error {
            HeaderError::Magic => {
                let found = "not marked as one of ours".to_owned();
                return Err(OpenError::NotATopic { path, found });
            }
            HeaderError::Damaged { field, found, wanted } => {
                return Err(OpenError::Damaged { path, field, found, wanted });
            }
            HeaderError::Boot => {
                let found = "from another boot, and in use".to_owned();
                OpenError::NotATopic { path, found }
            }
            HeaderError::Version(found) => {
                OpenError::LayoutVersion { path, found, wanted: LAYOUT_VERSION }
            }
            HeaderError::Registry => OpenError::RegistryReplaced { path },
        };
        // WHY: the presence lock only speaks for files of this registry. The kernel grants a write
        // lease only on a file that nobody else has open or mapped, whoever they are.
        let fd = file.fd.get().map_err(self.io("taking a lease on"))?;
        if !lock::try_write_lease(fd).map_err(self.io("taking a lease on"))? {
            return Ok(Look::InUse(Box::new(attended)));
        }
        let removed = presence::retire(file).map_err(self.io("removing the stale"));
        let _ = lock::end_lease(fd);
        Ok(if removed? { Look::Gone } else { Look::InUse(Box::new(attended)) })
    }

    /// Makes the file without a name, and links it when it is complete. `None` if somebody else
    /// was faster.
    fn give_birth(&self, request: &Request) -> Result<Option<Arc<Segment>>, OpenError> {
        let contract = request.contract()?;
        let shape = &contract.shape;
        let dir = self.namespace.topics_dir().map_err(self.io("creating"))?;
        let no_space = |operation, source| {
            no_space_or(dir, operation, self.path(), shape.file_bytes(), source)
        };
        let fd = os::open_unnamed(dir).map_err(|error| no_space("creating", error))?;
        os::set_len(fd.as_fd(), shape.file_bytes()).map_err(self.io("sizing"))?;
        for part in [0..HEADER_BYTES as u64, shape.lane_area(), shape.reader_area()] {
            reserve(fd.as_fd(), part, || self.path())?;
        }
        let now_ns = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |d| d.as_nanos() as u64);
        let bytes = header::encode(&contract, self.name.as_str(), self.provenance()?, now_ns);
        os::write_at(fd.as_fd(), &bytes, 0).map_err(self.io("writing the header of"))?;
        let mode = self.namespace.access().file_mode;
        os::fchmod(fd.as_fd(), mode).map_err(self.io("setting the mode of"))?;
        let stat = os::fstat(fd.as_fd()).map_err(self.io("looking at"))?;
        let file = self.file(fd, FileId::of(&stat));
        // WHY: attended before it has a name, so that no sweep finds it unattended.
        if !file.share().map_err(self.io("attending"))? {
            return Ok(None);
        }
        let mut table = table();
        let fd = file.fd.get().map_err(self.io("naming"))?;
        match os::link_unnamed(fd, dir, self.name.file_name()) {
            Ok(()) => Ok(Some(enter(&mut table, contract, file))),
            Err(error) => {
                file.release();
                match error.kind() {
                    io::ErrorKind::AlreadyExists => Ok(None),
                    _ => Err(no_space("naming", error)),
                }
            }
        }
    }
}

/// Enters a segment into the table.
fn enter(table: &mut Table, contract: Contract, file: TopicFile) -> Arc<Segment> {
    let id = file.id;
    let segment = Arc::new(Segment::of_file(contract, file));
    let attended = table.entry(id).or_insert(Attended { segment: Weak::new(), segments: 0 });
    attended.segment = Arc::downgrade(&segment);
    attended.segments += 1;
    segment
}
