//! Opening topics: creates files atomically, checks existing files before they are used, and keeps
//! a table of the files that this process has open.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use crate::file::error::OpenError;
use crate::file::header::{self, HeaderError, Provenance};
use crate::file::name::TopicName;
use crate::file::name_watch::NameWatch;
use crate::file::namespace::Namespace;
use crate::file::offer::Request;
use crate::file::segment::{FileId, TopicFile, TopicMemory};
use crate::file::topic_type::TypeInfo;
use crate::os::{self, FileStatus, FreeSpace, OpenMode, lock};
use crate::process::fork::ForkLocal;
use crate::process::liveness::Holder;
use crate::protocol::layout::{HEADER_BYTES, LAYOUT_VERSION};
use crate::protocol::presence::{self, AttachOutcome, AttachableFile};
use crate::protocol::shape::TopicShape;

/// Maximum number of attempts to open a topic. An attempt fails if another process creates or
/// removes the topic's file in the meantime.
pub(crate) const TOPIC_OPEN_ATTEMPTS_MAX: u32 = 1000;
/// Number of attempts to open an unusable file that another process has open. After that, the error
/// is reported.
const OPEN_ATTEMPTS_WHILE_IN_USE_MAX: u32 = 30;
/// Number of attempts (some 30 ms) between two checks whether the process that is removing the file
/// still runs.
const ATTEMPTS_PER_REMOVER_CHECK: u32 = 25;
/// Average pause between two attempts while another process is removing the file.
const FILE_REMOVAL_PAUSE: Duration = Duration::from_millis(1);

/// The rule for an open call: the topic has to exist, must not exist, or is created if it does not
/// exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenRule {
    Open,
    Create,
    OpenOrCreate,
}

/// The topic files that this process has marked as in use. The key is the file's device and inode,
/// because a name can move to another file.
pub(crate) type FilesInUse = HashMap<FileId, FileInUse>;

#[derive(Debug)]
pub(crate) struct FileInUse {
    segment: Weak<TopicMemory>,
    /// Number of segments of this file, including those that are being dropped. The presence lock,
    /// which marks the file as used, belongs to the whole process, so only the last segment may
    /// release it.
    segments: usize,
}

static TOPIC_FILES_IN_USE: ForkLocal<Mutex<FilesInUse>> = ForkLocal::new();

fn lock_files_in_use() -> MutexGuard<'static, FilesInUse> {
    // WHY poison is ignored: a panic cannot leave the table half-changed.
    TOPIC_FILES_IN_USE
        .get()
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
}

/// Subtracts one segment from the count of the segments of `file`. If it was the last one in this
/// process, removes the file from the table and calls `on_last_release`.
pub(crate) fn release_file_in_use(file: &TopicFile, on_last_release: impl FnOnce()) {
    let mut table = lock_files_in_use();
    if let Some(entry) = table.get_mut(&file.id) {
        entry.segments -= 1;
        if entry.segments == 0 {
            table.remove(&file.id);
            on_last_release();
        }
    }
}

/// Returns the table of used topic files, locked, if this process does not use the file `id`;
/// otherwise `None`.
pub(crate) fn lock_unless_in_use(id: FileId) -> Option<MutexGuard<'static, FilesInUse>> {
    let table = lock_files_in_use();
    (!table.contains_key(&id)).then_some(table)
}

/// The outcome of one attempt to open the file that has the topic's name.
pub(crate) enum OpenAttempt {
    Found(Arc<TopicMemory>),
    /// The file does not exist, or was just removed. The caller creates it, or tries again.
    Gone,
    /// Another process is removing the file. The caller tries again a little later.
    Retiring,
    /// The file is unusable, and another process has it open. That process may only be examining
    /// the file, too, so this becomes an error only after several attempts.
    InUse(Box<OpenError>),
}

/// Opens a topic, or creates it, as `rule` says. Sleeps for a millisecond at a time while another
/// process removes the file, or has it open although it is unusable. After `pauses_max` such
/// attempts, this is an error.
pub(crate) fn open(
    namespace: &Arc<Namespace>,
    name: &TopicName,
    request: &Request,
    rule: OpenRule,
    pauses_max: u32,
) -> Result<Arc<TopicMemory>, OpenError> {
    request.check_participant_limits()?;
    let place = TopicPath { namespace, name };
    for attempt in 0..TOPIC_OPEN_ATTEMPTS_MAX {
        match place.try_open()? {
            OpenAttempt::Found(_) if rule == OpenRule::Create => {
                return Err(OpenError::AlreadyExists { path: place.path() });
            }
            OpenAttempt::Found(segment) => {
                if request.strict {
                    request.check_type(segment.type_info(), &place.path())?;
                }
                return Ok(segment);
            }
            OpenAttempt::Gone if rule == OpenRule::Open => {
                return Err(OpenError::NotFound { path: place.path() });
            }
            OpenAttempt::Gone => {
                if let Some(segment) = place.create_file(request)? {
                    return Ok(segment);
                }
            }
            OpenAttempt::Retiring if attempt >= pauses_max => {
                // WHY without its holder: to find that takes long.
                return Err(place.retiring_error(None));
            }
            OpenAttempt::Retiring => place.pause_for_removal(attempt)?,
            OpenAttempt::InUse(error)
                if attempt >= pauses_max.min(OPEN_ATTEMPTS_WHILE_IN_USE_MAX) =>
            {
                return Err(*error);
            }
            OpenAttempt::InUse(_) => pause_before_retry(attempt),
        }
    }
    Err(place.retiring_error(place.find_removing_process()))
}

/// Sleeps for 0.25 to 2 ms, depending on the pid. WHY: two processes that try at the same moment
/// should not try again at the same moment.
fn pause_before_retry(attempt: u32) {
    let spread = std::process::id()
        .wrapping_mul(31)
        .wrapping_add(attempt.wrapping_mul(7))
        % 8;
    std::thread::sleep(FILE_REMOVAL_PAUSE * (1 + spread) / 4);
}

pub(crate) fn inspect(
    namespace: &Arc<Namespace>,
    name: &TopicName,
) -> Result<Arc<TopicMemory>, OpenError> {
    let place = TopicPath { namespace, name };
    for attempt in 0..TOPIC_OPEN_ATTEMPTS_MAX {
        match place.try_open()? {
            OpenAttempt::Found(segment) => return Ok(segment),
            OpenAttempt::Gone => return Err(OpenError::NotFound { path: place.path() }),
            OpenAttempt::Retiring => place.pause_for_removal(attempt)?,
            OpenAttempt::InUse(error) if attempt >= OPEN_ATTEMPTS_WHILE_IN_USE_MAX => {
                return Err(*error);
            }
            OpenAttempt::InUse(_) => pause_before_retry(attempt),
        }
    }
    Err(place.retiring_error(place.find_removing_process()))
}

/// Reserves memory for a range of a topic file, so that later accesses to it cannot fail.
///
/// # Errors
///
/// [`OpenError::NoSpace`], which contains the needed and the available space, or [`OpenError::Io`].
pub(crate) fn reserve_file_range(
    fd: BorrowedFd<'_>,
    range: Range<u64>,
    path: impl Fn() -> PathBuf,
) -> Result<(), OpenError> {
    let needed_bytes = range.end - range.start;
    os::reserve(fd, range.start, needed_bytes).map_err(|source| {
        no_space_or_io_error(fd, "reserving memory of", path(), needed_bytes, source)
    })
}

/// Converts a system error for a file that needs `needed_bytes` on the file system that holds `fd`.
/// If the error means that space is lacking, returns [`OpenError::NoSpace`].
pub(crate) fn no_space_or_io_error(
    fd: BorrowedFd<'_>,
    operation: &'static str,
    path: PathBuf,
    needed_bytes: u64,
    source: io::Error,
) -> OpenError {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            let free = os::free_space(fd).unwrap_or(FreeSpace {
                bytes: 0,
                files: None,
            });
            let available_bytes = free.bytes;
            let available_files = free.files;
            OpenError::NoSpace {
                path,
                needed_bytes,
                available_bytes,
                available_files,
            }
        }
        _ => OpenError::Io {
            operation,
            path,
            source,
        },
    }
}

/// Returns the id of the present boot and that of the registry of `namespace`, which new files
/// store.
pub(crate) fn provenance(namespace: &Namespace) -> Provenance {
    let registry = namespace.registry();
    Provenance {
        boot_id: registry.boot_id(),
        registry_id: registry.id(),
    }
}

/// The namespace and the name of a topic, which together identify the path of the topic's file.
pub(crate) struct TopicPath<'a> {
    pub(crate) namespace: &'a Arc<Namespace>,
    pub(crate) name: &'a TopicName,
}

impl TopicPath<'_> {
    fn path(&self) -> PathBuf {
        self.namespace.topics_path().join(self.name.file_name())
    }

    /// Pauses while another process removes the file. Returns an error if that process was stopped
    /// by a signal.
    ///
    /// WHY this process does not remove the file itself: the other process may already have checked
    /// the name, and be about to remove it. By then the name could belong to a new file.
    fn pause_for_removal(&self, attempt: u32) -> Result<(), OpenError> {
        pause_before_retry(attempt);
        if attempt % ATTEMPTS_PER_REMOVER_CHECK == ATTEMPTS_PER_REMOVER_CHECK - 1 {
            let holder = self.find_removing_process();
            if holder.as_ref().is_some_and(|holder| holder.is_stopped) {
                return Err(self.retiring_error(holder));
            }
        }
        Ok(())
    }

    /// Returns the process that is removing the topic's file; `None` if it could not be determined.
    fn find_removing_process(&self) -> Option<Holder> {
        let file = os::fstatat(self.namespace.topics_dir().ok()?, self.name.file_name()).ok()?;
        self.namespace.registry().find_topic_file_holder(file.ino)
    }

    pub(crate) fn not_removed_error(&self, found: &'static str, cure: &str) -> OpenError {
        OpenError::NotRemoved {
            path: self.path(),
            found,
            cure: cure.to_owned(),
        }
    }

    fn retiring_error(&self, holder: Option<Holder>) -> OpenError {
        OpenError::Retiring {
            path: self.path(),
            holder: holder.map(Box::new),
        }
    }

    pub(crate) fn io_error(&self, operation: &'static str) -> impl FnOnce(io::Error) -> OpenError {
        let path = self.path();
        move |source| OpenError::Io {
            operation,
            path,
            source,
        }
    }

    pub(crate) fn provenance(&self) -> Provenance {
        provenance(self.namespace)
    }

    /// Makes one attempt to open the file that has the topic's name. Checks the file before it
    /// trusts its content.
    fn try_open(&self) -> Result<OpenAttempt, OpenError> {
        let dir = self
            .namespace
            .topics_dir()
            .map_err(self.io_error("opening"))?;
        let fd = match os::open_file(dir, self.name.file_name(), OpenMode::ReadWrite) {
            Ok(fd) => fd,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(OpenAttempt::Gone),
            // WHY: another process holds a lease on the file, to find out whether it may remove it.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Ok(OpenAttempt::Retiring);
            }
            Err(error) => return Err(self.open_error(error)),
        };
        let stat = os::fstat(fd.as_fd()).map_err(self.io_error("looking at"))?;
        if stat.links == 0 {
            return Ok(OpenAttempt::Gone);
        }
        self.check_file_status(&stat)?;
        let id = FileId::from_stat(&stat);
        // WHY declared before the table: the last other handle of a lost segment may be dropped
        // meanwhile. The segment is then dropped here, and its drop locks the table, which must be
        // unlocked by then.
        let _lost;
        // WHY locked until the file is entered: two threads of this process then get the same
        // segment, and a segment whose drop has begun is either still counted or already gone.
        let mut table = lock_files_in_use();
        match table.get(&id).and_then(|entry| entry.segment.upgrade()) {
            // WHY not returned: its memory is no longer the file's. Whether the file is usable
            // again is checked below.
            Some(segment) if segment.is_memory_lost() => _lost = segment,
            // WHY no check: this process is present at the file, so no other process can have
            // retired it.
            Some(segment) => return Ok(OpenAttempt::Found(segment)),
            None => {}
        }
        let mut bytes = vec![0; HEADER_BYTES.min(stat.size_bytes as usize)];
        os::read_at(fd.as_fd(), &mut bytes, 0).map_err(self.io_error("reading the header of"))?;
        let decoded = header::decode_topic_header(
            &bytes,
            stat.size_bytes,
            self.name.as_str(),
            self.provenance(),
        );
        match decoded {
            Ok(header) => {
                let file = self.topic_file(fd, id).with_topic_id(header.topic_id);
                self.attach_to_file(&mut table, (file, stat), header.type_info)
            }
            Err(error) => self.remove_stale_file(&self.topic_file(fd, id), error),
        }
    }

    fn attach_to_file(
        &self,
        table: &mut FilesInUse,
        (file, stat): (TopicFile, FileStatus),
        type_info: TypeInfo,
    ) -> Result<OpenAttempt, OpenError> {
        Ok(
            match presence::attach_to_file(&file).map_err(self.io_error("attending"))? {
                AttachOutcome::Attached => {
                    OpenAttempt::Found(add_segment(table, type_info, file, stat))
                }
                AttachOutcome::Gone => {
                    // WHY: the process that retired the file may have died before it removed the
                    // name, which would then stay taken for ever. Retiring again removes the name
                    // if that was not done.
                    if file.is_retired().map_err(self.io_error("attending"))? {
                        presence::retire_file(&file)
                            .map_err(self.io_error("removing the retired"))?;
                    }
                    OpenAttempt::Gone
                }
                AttachOutcome::Retiring => OpenAttempt::Retiring,
            },
        )
    }

    pub(crate) fn topic_file(&self, fd: OwnedFd, id: FileId) -> TopicFile {
        TopicFile::new(fd, id, Arc::clone(self.namespace), self.name.clone())
    }

    /// Converts the error of a failed open. If the name belongs to something that is not a regular
    /// file, the result says so.
    pub(crate) fn open_error(&self, error: io::Error) -> OpenError {
        let found = match error.raw_os_error() {
            Some(libc::ELOOP) => "a symbolic link",
            Some(libc::EISDIR) => "a directory",
            Some(libc::ENXIO) => "a socket or a device",
            Some(libc::EACCES) => return self.permission_error(error),
            _ => return self.io_error("opening")(error),
        };
        OpenError::NotATopic {
            path: self.path(),
            found: found.to_owned(),
        }
    }

    /// Converts the error of an open that failed for lack of permission. In the namespace of a
    /// group, the result says in which way the file is not shared with the group.
    fn permission_error(&self, error: io::Error) -> OpenError {
        let found = self
            .namespace
            .topics_dir()
            .and_then(|dir| os::fstatat(dir, self.name.file_name()));
        match found.map(|stat| self.check_file_status(&stat)) {
            Ok(Err(refused)) if self.namespace.config().gid().is_some() => refused,
            _ => self.io_error("opening")(error),
        }
    }

    pub(crate) fn check_file_status(&self, stat: &FileStatus) -> Result<(), OpenError> {
        let found = if !stat.is_file() {
            "not a regular file".to_owned()
        } else if let Err(refusal) = self.namespace.access_rule().check_file(stat) {
            refusal
        } else if stat.links != 1 {
            format!("a file with {} names", stat.links)
        } else {
            return Ok(());
        };
        Err(OpenError::NotATopic {
            path: self.path(),
            found,
        })
    }

    /// Removes an unusable file, provided that it is out of date (not just foreign) and no process
    /// has it open.
    pub(crate) fn remove_stale_file(
        &self,
        file: &TopicFile,
        error: HeaderError,
    ) -> Result<OpenAttempt, OpenError> {
        let path = self.path();
        let refusal = match error {
            HeaderError::Magic => {
                let found = "without the magic number of a topic file".to_owned();
                return Err(OpenError::NotATopic { path, found });
            }
            HeaderError::Damaged {
                field,
                found,
                wanted,
            } => {
                return Err(OpenError::Damaged {
                    path,
                    field,
                    found,
                    wanted,
                });
            }
            HeaderError::Boot => {
                let found = "from another boot, and in use".to_owned();
                OpenError::NotATopic { path, found }
            }
            HeaderError::Version(found) => OpenError::LayoutVersion {
                path,
                found,
                wanted: LAYOUT_VERSION,
            },
            HeaderError::Registry => OpenError::RegistryReplaced { path },
        };
        let fd = file.fd.get().map_err(self.io_error("taking a lease on"))?;
        if !self.try_lease_stale_file(fd, &refusal)? {
            return Ok(OpenAttempt::InUse(Box::new(refusal)));
        }
        let removed = presence::retire_file(file).map_err(self.io_error("removing the stale"));
        let _ = lock::end_lease(fd);
        Ok(if removed? {
            OpenAttempt::Gone
        } else {
            OpenAttempt::InUse(Box::new(refusal))
        })
    }

    /// Takes a lease on a stale file; returns false if another process has the file open.
    /// `refusal` is the error that says why the file is stale. WHY a lease: the presence lock
    /// covers only processes of this registry, but the kernel grants a write lease only on a file
    /// that no other process has open or mapped.
    ///
    /// The kernel grants no lease on a file of another user. Then returns true for a file of an
    /// earlier boot, which no process can have open, and otherwise an error.
    fn try_lease_stale_file(
        &self,
        fd: BorrowedFd<'_>,
        refusal: &OpenError,
    ) -> Result<bool, OpenError> {
        let refused = match lock::try_write_lease(fd) {
            // The kernel grants a lease only to the owner of the file and to root.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => error,
            granted => return granted.map_err(self.io_error("taking a lease on")),
        };
        let uid = os::fstat(fd).map_err(self.io_error("looking at"))?.uid;
        let stale = match refusal {
            _ if uid == os::effective_uid() => {
                return Err(self.io_error("taking a lease on")(refused));
            }
            OpenError::LayoutVersion { found, .. } => {
                format!("of layout version {found}, this library has {LAYOUT_VERSION}")
            }
            OpenError::RegistryReplaced { .. } => "of a registry that was removed".to_owned(),
            // WHY true: it is of another boot. No process outlives its boot, and in this boot none
            // could open the file, so the presence lock suffices.
            OpenError::NotATopic { .. } => return Ok(true),
            _ => return Err(self.io_error("taking a lease on")(refused)),
        };
        let path = self.path();
        Err(OpenError::StaleOfOther { path, uid, stale })
    }

    /// Creates the file without a name, and gives it its name when it is complete. Returns `None`
    /// if another process created a file with this name first.
    fn create_file(&self, request: &Request) -> Result<Option<Arc<TopicMemory>>, OpenError> {
        request.check_type_fits_header()?;
        let type_info = request.type_info.clone();
        let shape = TopicShape::FILE;
        let dir = self
            .namespace
            .topics_dir()
            .map_err(self.io_error("creating"))?;
        let no_space = |operation, source| {
            no_space_or_io_error(dir, operation, self.path(), shape.file_bytes(), source)
        };
        let fd = os::open_unnamed_file(dir).map_err(|error| no_space("creating", error))?;
        os::set_len(fd.as_fd(), shape.file_bytes()).map_err(self.io_error("sizing"))?;
        for part in [
            0..HEADER_BYTES as u64,
            shape.lane_area(),
            shape.reader_area(),
        ] {
            reserve_file_range(fd.as_fd(), part, || self.path())?;
        }
        let now_ns = SystemTime::UNIX_EPOCH
            .elapsed()
            .map_or(0, |d| d.as_nanos() as u64);
        let topic_id = os::random_bytes().map_err(self.io_error("creating"))?;
        let name = self.name.as_str();
        let bytes =
            header::encode_topic_header(&type_info, name, topic_id, self.provenance(), now_ns);
        os::write_at(fd.as_fd(), &bytes, 0).map_err(self.io_error("writing the header of"))?;
        self.namespace
            .access_rule()
            .apply_to_file(fd.as_fd())
            .map_err(self.io_error("setting the mode of"))?;
        let stat = os::fstat(fd.as_fd()).map_err(self.io_error("looking at"))?;
        let file = self
            .topic_file(fd, FileId::from_stat(&stat))
            .with_topic_id(topic_id);
        // WHY before the presence lock: another thread may sweep lane files that an earlier file
        // with this inode left. It takes a file that is not in the table for one that this process
        // does not use, and would release the lock.
        let mut table = lock_files_in_use();
        // WHY present before the file has a name: otherwise a sweep could find it without
        // processes.
        if !file.try_lock_shared().map_err(self.io_error("attending"))? {
            return Ok(None);
        }
        let fd = file.fd.get().map_err(self.io_error("naming"))?;
        match os::link_unnamed_file(fd, dir, self.name.file_name()) {
            Ok(()) => Ok(Some(add_segment(&mut table, type_info, file, stat))),
            Err(error) => {
                file.release_lock();
                match error.kind() {
                    io::ErrorKind::AlreadyExists => Ok(None),
                    _ => Err(no_space("naming", error)),
                }
            }
        }
    }
}

/// Creates a segment for the open topic file `file`, and counts it in `table`, the topic files that
/// this process uses.
fn add_segment(
    table: &mut FilesInUse,
    type_info: TypeInfo,
    mut file: TopicFile,
    stat: FileStatus,
) -> Arc<TopicMemory> {
    let id = file.id;
    file.name_watch = Some(NameWatch::new(&file.namespace, &file.name, stat));
    let segment = Arc::new(TopicMemory::from_file(type_info, file));
    let entry = table.entry(id).or_insert(FileInUse {
        segment: Weak::new(),
        segments: 0,
    });
    entry.segment = Arc::downgrade(&segment);
    entry.segments += 1;
    segment
}
