//! System calls outside the hot path, with types: descriptors are owned or borrowed, failures are
//! [`io::Error`], and `EINTR` is never returned.

use std::ffi::{CStr, CString, OsStr, OsString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;

use libc::{c_char, c_int, mode_t, off_t, ssize_t};

pub(crate) mod access;
pub(crate) mod advice;
pub(crate) mod boot;
pub(crate) mod cancel;
pub mod child;
pub mod clock;
pub(crate) mod cpu;
pub(crate) mod descriptor;
pub(crate) mod fault;
pub(crate) mod futex;
pub(crate) mod group;
pub(crate) mod lock;
pub(crate) mod once;
pub(crate) mod region;
pub(crate) mod remaining_threads;
pub(crate) mod rt;
pub(crate) mod signal;
pub(crate) mod signal_action;
pub mod stderr;
pub(crate) mod termination;
pub mod thread;

// WHY: presence bytes are beyond 2^40, so offsets must have 64 bits.
const _: () = assert!(size_of::<off_t>() == 8);

/// Minimum length in bytes of the pieces in which file space is reserved, if signals keep
/// interrupting the reservation of the whole range.
const RESERVE_PIECE_BYTES_MIN: off_t = 4096;

/// The fields of the system's `struct stat` that this library uses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileStatus {
    pub(crate) dev: u64,
    pub(crate) ino: u64,
    /// The type of the file and its permission bits, as in `st_mode`.
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) links: u64,
    pub(crate) size_bytes: u64,
}

impl FileStatus {
    pub(crate) fn is_file(&self) -> bool {
        self.mode & libc::S_IFMT == libc::S_IFREG
    }

    pub(crate) fn is_dir(&self) -> bool {
        self.mode & libc::S_IFMT == libc::S_IFDIR
    }

    /// Returns the lower nine bits of the mode: the permissions of owner, group and others.
    pub(crate) fn permissions(&self) -> u32 {
        self.mode & 0o777
    }

    /// Returns the lower twelve bits of the mode: the permissions, and the set-user-id,
    /// set-group-id and sticky bits.
    pub(crate) fn mode_bits(&self) -> u32 {
        self.mode & 0o7777
    }

    pub(crate) fn is_same_file(&self, other: &FileStatus) -> bool {
        (self.dev, self.ino) == (other.dev, other.ino)
    }

    #[expect(
        clippy::unnecessary_cast,
        reason = "the fields' widths differ between targets"
    )]
    fn from_raw(raw: &libc::stat) -> Self {
        Self {
            dev: raw.st_dev as u64,
            ino: raw.st_ino as u64,
            mode: raw.st_mode as u32,
            uid: raw.st_uid as u32,
            gid: raw.st_gid as u32,
            links: raw.st_nlink as u64,
            size_bytes: raw.st_size.max(0) as u64,
        }
    }
}

/// The access with which a file is opened: to read, or to read and write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenMode {
    /// The file is only read. Meant for files that are closed again at once.
    ReadOnly,
    /// The file is read and written. Needed also for exclusive locks, and for files that stay open.
    ReadWrite,
}

/// Repeats `call` as long as signals interrupt it. Returns its result, or the error in `errno` if
/// it returned -1 for another reason.
fn retry_if_interrupted(mut call: impl FnMut() -> ssize_t) -> io::Result<usize> {
    loop {
        if let Ok(value) = usize::try_from(call()) {
            return Ok(value);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn c_path(path: &OsStr) -> io::Result<CString> {
    Ok(CString::new(path.as_bytes())?)
}

fn open_raw(dir: RawFd, path: &OsStr, flags: c_int, mode: mode_t) -> io::Result<OwnedFd> {
    let path = c_path(path)?;
    descriptor::open_long_lived(|| open_at(dir, &path, flags, mode))
}

fn open_at(dir: RawFd, path: &CStr, flags: c_int, mode: mode_t) -> io::Result<OwnedFd> {
    let flags = flags | libc::O_CLOEXEC;
    // SAFETY: `path` is a C string that outlives the call, and the mode is passed as C promotes it.
    let fd = retry_if_interrupted(|| unsafe {
        libc::openat(dir, path.as_ptr(), flags, mode) as ssize_t
    })?;
    // SAFETY: `openat` just returned this descriptor, and no other code knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// Opens an existing file. Does not follow a symlink, wait for the other end of a FIFO, or acquire
/// a controlling terminal. The caller has to check the kind of file by [`fstat`].
pub(crate) fn open_file(
    dir: BorrowedFd<'_>,
    name: impl AsRef<OsStr>,
    mode: OpenMode,
) -> io::Result<OwnedFd> {
    let (dir, name) = (dir.as_raw_fd(), name.as_ref());
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    match mode {
        OpenMode::ReadWrite => open_raw(dir, name, flags | libc::O_RDWR, 0),
        OpenMode::ReadOnly => {
            let (path, flags) = (c_path(name)?, flags | libc::O_RDONLY);
            descriptor::open_short_lived_read_only(|| open_at(dir, &path, flags, 0))
        }
    }
}

/// Opens the directory `name` in `dir`. If `name` is the name of a symlink, the error is `ENOTDIR`.
pub(crate) fn open_dir(dir: BorrowedFd<'_>, name: impl AsRef<OsStr>) -> io::Result<OwnedFd> {
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW;
    open_raw(dir.as_raw_fd(), name.as_ref(), flags, 0)
}

/// Opens a directory with `O_PATH`, which needs no permission to read it; the error is `ENOTDIR` if
/// the name is that of a symlink.
pub(crate) fn open_dir_o_path(dir: BorrowedFd<'_>, name: impl AsRef<OsStr>) -> io::Result<OwnedFd> {
    let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW;
    open_raw(dir.as_raw_fd(), name.as_ref(), flags, 0)
}

/// Opens the directory at `path` only as the `dir` argument of other calls (`O_PATH`). Follows
/// symlinks.
pub(crate) fn open_o_path(path: impl AsRef<OsStr>) -> io::Result<OwnedFd> {
    open_raw(
        libc::AT_FDCWD,
        path.as_ref(),
        libc::O_PATH | libc::O_DIRECTORY,
        0,
    )
}

/// Creates a file without a name in the file system of the directory `dir`. [`link_unnamed_file`]
/// can give it a name later.
pub(crate) fn open_unnamed_file(dir: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    open_raw(
        dir.as_raw_fd(),
        OsStr::new("."),
        libc::O_TMPFILE | libc::O_RDWR,
        0o600,
    )
}

/// Gives the name `name` in `dir` to `file`, which [`open_unnamed_file`] created; the error is
/// `EEXIST` if the name is taken.
pub(crate) fn link_unnamed_file(
    file: BorrowedFd<'_>,
    dir: BorrowedFd<'_>,
    name: impl AsRef<OsStr>,
) -> io::Result<()> {
    let from = c_path(OsStr::new(&proc_fd_path(file)))?;
    let to = c_path(name.as_ref())?;
    let dir = dir.as_raw_fd();
    let (from, to, flags): (*const c_char, _, _) =
        (from.as_ptr(), to.as_ptr(), libc::AT_SYMLINK_FOLLOW);
    // SAFETY: both paths are C strings that outlive the call.
    retry_if_interrupted(|| unsafe {
        libc::linkat(libc::AT_FDCWD, from, dir, to, flags) as ssize_t
    })?;
    Ok(())
}

/// Returns a path under `/proc` that refers to the file of the open descriptor `fd`.
fn proc_fd_path(fd: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}

pub(crate) fn fstat(fd: BorrowedFd<'_>) -> io::Result<FileStatus> {
    let mut raw = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: `raw` is valid for the write of one `stat`.
    retry_if_interrupted(|| unsafe { libc::fstat(fd.as_raw_fd(), raw.as_mut_ptr()) as ssize_t })?;
    // SAFETY: the call succeeded, so it filled `raw`.
    Ok(FileStatus::from_raw(unsafe { raw.assume_init_ref() }))
}

/// Returns the status of the file `name` in `dir`. If `name` is the name of a symlink, returns the
/// status of the symlink itself.
pub(crate) fn fstatat(dir: BorrowedFd<'_>, name: impl AsRef<OsStr>) -> io::Result<FileStatus> {
    let name = c_path(name.as_ref())?;
    let mut raw = MaybeUninit::<libc::stat>::uninit();
    let dir = dir.as_raw_fd();
    let flags = libc::AT_SYMLINK_NOFOLLOW;
    // SAFETY: `name` is a C string that outlives the call, `raw` is valid for one `stat`.
    retry_if_interrupted(|| unsafe {
        libc::fstatat(dir, name.as_ptr(), raw.as_mut_ptr(), flags) as ssize_t
    })?;
    // SAFETY: the call succeeded, so it filled `raw`.
    Ok(FileStatus::from_raw(unsafe { raw.assume_init_ref() }))
}

/// Creates the directory `name` in `dir`. The umask may clear bits of `mode`; [`chmod_o_path`] can
/// set them afterwards.
pub(crate) fn make_dir(dir: BorrowedFd<'_>, name: impl AsRef<OsStr>, mode: u32) -> io::Result<()> {
    let name = c_path(name.as_ref())?;
    // SAFETY: `name` is a C string that outlives the call.
    retry_if_interrupted(|| unsafe {
        libc::mkdirat(dir.as_raw_fd(), name.as_ptr(), mode) as ssize_t
    })?;
    Ok(())
}

/// Removes the name `name` from `dir` (unlinks it). Fails for a directory.
pub(crate) fn unlink(dir: BorrowedFd<'_>, name: impl AsRef<OsStr>) -> io::Result<()> {
    unlink_raw(dir, name.as_ref(), 0)
}

/// Removes the empty directory `name` from `dir`.
pub(crate) fn remove_dir(dir: BorrowedFd<'_>, name: impl AsRef<OsStr>) -> io::Result<()> {
    unlink_raw(dir, name.as_ref(), libc::AT_REMOVEDIR)
}

fn unlink_raw(dir: BorrowedFd<'_>, name: &OsStr, flags: c_int) -> io::Result<()> {
    let name = c_path(name)?;
    // SAFETY: `name` is a C string that outlives the call.
    retry_if_interrupted(|| unsafe {
        libc::unlinkat(dir.as_raw_fd(), name.as_ptr(), flags) as ssize_t
    })?;
    Ok(())
}

/// Returns the names of all entries of a directory that was opened with [`open_dir`], without `.`
/// and `..`.
pub(crate) fn list_dir(dir: BorrowedFd<'_>) -> io::Result<Vec<OsString>> {
    let path = proc_fd_path(dir);
    loop {
        let names = std::fs::read_dir(&path)
            .and_then(|entries| entries.map(|entry| Ok(entry?.file_name())).collect());
        // WHY: the standard library's directory streams do not retry after a signal.
        match names {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// Returns true if `name` in `dir` is a name of the file whose status is `file`.
pub(crate) fn is_name_of_file(
    dir: BorrowedFd<'_>,
    name: impl AsRef<OsStr>,
    file: &FileStatus,
) -> io::Result<bool> {
    match fstatat(dir, name) {
        Ok(found) => Ok(found.is_same_file(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Sets the permission bits of an open file to `mode`, independent of the umask.
pub(crate) fn fchmod(fd: BorrowedFd<'_>, mode: u32) -> io::Result<()> {
    // SAFETY: the call takes no pointer.
    retry_if_interrupted(|| unsafe { libc::fchmod(fd.as_raw_fd(), mode) as ssize_t })?;
    Ok(())
}

/// Sets the permission bits through a descriptor from [`open_dir_o_path`], for which [`fchmod`]
/// fails.
pub(crate) fn chmod_o_path(dir: BorrowedFd<'_>, mode: u32) -> io::Result<()> {
    let path = c_path(OsStr::new(&proc_fd_path(dir)))?;
    // SAFETY: `path` is a C string that outlives the call.
    retry_if_interrupted(|| unsafe { libc::chmod(path.as_ptr(), mode) as ssize_t })?;
    Ok(())
}

/// Changes the group of an open file to `gid`. Accepts descriptors from [`open_dir_o_path`]. The
/// error is `EPERM` if this process is not a member of that group, and `EINVAL` if its user
/// namespace does not have the group.
pub(crate) fn set_group(file: BorrowedFd<'_>, gid: u32) -> io::Result<()> {
    let (fd, same_owner, itself) = (file.as_raw_fd(), u32::MAX, libc::AT_EMPTY_PATH);
    let path = c"".as_ptr();
    // SAFETY: the path is a C string that outlives the call.
    retry_if_interrupted(|| unsafe {
        libc::fchownat(fd, path, same_owner, gid, itself) as ssize_t
    })?;
    Ok(())
}

/// Renames `from` to `to` in the directory `dir`. If the name `to` is in use, the error is
/// `EEXIST`.
pub(crate) fn rename_to_free_name(
    dir: BorrowedFd<'_>,
    from: impl AsRef<OsStr>,
    to: impl AsRef<OsStr>,
) -> io::Result<()> {
    let (from, to) = (c_path(from.as_ref())?, c_path(to.as_ref())?);
    let (from, to, fd) = (from.as_ptr(), to.as_ptr(), dir.as_raw_fd());
    let call = libc::SYS_renameat2;
    // SAFETY: both paths are C strings that outlive the call.
    retry_if_interrupted(|| unsafe {
        libc::syscall(call, fd, from, fd, to, libc::RENAME_NOREPLACE) as ssize_t
    })?;
    Ok(())
}

/// Sets the length of a file to `len_bytes`. If that exceeds the file size limit of this process,
/// the error is `EFBIG`.
pub(crate) fn set_len(fd: BorrowedFd<'_>, len_bytes: u64) -> io::Result<()> {
    check_file_size_limit(len_bytes)?;
    let len = to_offset(len_bytes)?;
    // SAFETY: the call takes no pointer.
    retry_if_interrupted(|| unsafe { libc::ftruncate(fd.as_raw_fd(), len) as ssize_t })?;
    Ok(())
}

/// Returns the error `EFBIG` if `end_bytes` exceeds the file size limit of this process.
fn check_file_size_limit(end_bytes: u64) -> io::Result<()> {
    let limit = soft_limit(libc::RLIMIT_FSIZE)?;
    // WHY: the kernel would return the same error, but also send SIGXFSZ, which kills.
    if end_bytes > limit {
        Err(io::Error::from_raw_os_error(libc::EFBIG))
    } else {
        Ok(())
    }
}

/// The type of the constants by which `getrlimit` identifies a resource, such as `RLIMIT_AS`.
#[cfg(target_env = "musl")]
pub(crate) type RlimitResource = c_int;
#[cfg(not(target_env = "musl"))]
pub(crate) type RlimitResource = libc::__rlimit_resource_t;

/// Returns the soft limit of this process for `resource`; `RLIM_INFINITY` if there is no limit.
pub(crate) fn soft_limit(resource: RlimitResource) -> io::Result<u64> {
    let mut raw = MaybeUninit::<libc::rlimit>::uninit();
    // SAFETY: `raw` is valid for the write of one `rlimit`.
    retry_if_interrupted(|| unsafe { libc::getrlimit(resource, raw.as_mut_ptr()) as ssize_t })?;
    // SAFETY: the call succeeded, so it filled `raw`.
    Ok(unsafe { raw.assume_init_ref() }.rlim_cur)
}

/// Reserves memory for a range of the file like [`fallocate`], but does not extend the file. WHY: a
/// range that was truncated must not reappear as zeros.
pub(crate) fn reserve(fd: BorrowedFd<'_>, offset: u64, len_bytes: u64) -> io::Result<()> {
    let reserved = reserve_in_pieces(offset, len_bytes, |at, len| {
        // SAFETY: the call takes no pointer.
        match unsafe { libc::fallocate(fd.as_raw_fd(), libc::FALLOC_FL_KEEP_SIZE, at, len) } {
            0 => 0,
            _ => io::Error::last_os_error()
                .raw_os_error()
                .unwrap_or(libc::EIO),
        }
    });
    match reserved {
        // WHY: not every file system supports the call; `posix_fallocate` then writes to every
        // block instead.
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {
            fallocate(fd, offset, len_bytes)
        }
        outcome => outcome,
    }
}

/// Reserves memory for a range of the file, so that later accesses to it cannot fail; the error is
/// `ENOSPC` if there is no space. A file that is shorter than the range is extended.
pub(crate) fn fallocate(fd: BorrowedFd<'_>, offset: u64, len_bytes: u64) -> io::Result<()> {
    reserve_in_pieces(offset, len_bytes, |at, len| {
        // This call returns its error number and does not set `errno`.
        // SAFETY: the call takes no pointer.
        unsafe { libc::posix_fallocate(fd.as_raw_fd(), at, len) }
    })
}

/// Reserves a range of a file piece by piece, by a call of `reserve` for each piece. `reserve`
/// returns 0 or an error number.
fn reserve_in_pieces(
    offset: u64,
    len_bytes: u64,
    reserve: impl Fn(off_t, off_t) -> c_int,
) -> io::Result<()> {
    let end = to_offset(offset.saturating_add(len_bytes))?;
    let mut at = to_offset(offset)?;
    let mut piece = to_offset(len_bytes)?;
    while at < end {
        let len = piece.min(end - at);
        match reserve(at, len) {
            0 => at += len,
            // WHY: when a signal interrupts the call, a kernel may release all that it had reserved
            // (tmpfs did so for years). If signals come faster than the whole range is reserved,
            // only smaller pieces succeed.
            libc::EINTR => piece = (piece / 2).max(RESERVE_PIECE_BYTES_MIN),
            error => return Err(io::Error::from_raw_os_error(error)),
        }
    }
    Ok(())
}

/// Fills `bytes` with the bytes of the file that begin at `offset`; the error is `UnexpectedEof` if
/// the file is too short.
pub(crate) fn read_at(fd: BorrowedFd<'_>, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    // SAFETY: the slice is writable.
    unsafe { read_raw_at(fd, bytes.as_mut_ptr(), bytes.len(), offset) }
}

/// Reads from a file as [`read_at`] does, but to memory that may be uninitialised.
///
/// # Safety
///
/// `to` is writable for `bytes` bytes.
pub(crate) unsafe fn read_raw_at(
    fd: BorrowedFd<'_>,
    to: *mut u8,
    bytes: usize,
    offset: u64,
) -> io::Result<()> {
    let mut done = 0;
    while done < bytes {
        let offset = to_offset(offset + done as u64)?;
        // SAFETY: `to` is writable for `bytes` by the contract; `done` is less than `bytes`.
        let to = unsafe { to.add(done) }.cast();
        // SAFETY: `to` is writable for the remaining `bytes - done` by the contract.
        match retry_if_interrupted(|| unsafe {
            libc::pread(fd.as_raw_fd(), to, bytes - done, offset)
        })? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            more => done += more,
        }
    }
    Ok(())
}

/// Writes all of `bytes` to the file from `offset` on. If the end exceeds the file size limit of
/// this process, the error is `EFBIG`.
pub(crate) fn write_at(fd: BorrowedFd<'_>, mut bytes: &[u8], offset: u64) -> io::Result<()> {
    check_file_size_limit(offset.saturating_add(bytes.len() as u64))?;
    let mut offset = to_offset(offset)?;
    while !bytes.is_empty() {
        let from = bytes.as_ptr().cast();
        let len = bytes.len();
        // SAFETY: `from` is valid for reads of `len` bytes.
        let done =
            retry_if_interrupted(|| unsafe { libc::pwrite(fd.as_raw_fd(), from, len, offset) })?;
        if done == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        bytes = &bytes[done..];
        offset += done as off_t;
    }
    Ok(())
}

fn to_offset(bytes: u64) -> io::Result<off_t> {
    off_t::try_from(bytes).map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// Returns the number that identifies the type of the file system of `fd`, as statfs(2) lists it.
pub(crate) fn file_system_type(fd: BorrowedFd<'_>) -> io::Result<u64> {
    let mut raw = MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: `raw` is valid for the write of one `statfs`.
    retry_if_interrupted(|| unsafe { libc::fstatfs(fd.as_raw_fd(), raw.as_mut_ptr()) as ssize_t })?;
    // SAFETY: the call succeeded, so it filled `raw`.
    let kind = unsafe { raw.assume_init_ref() }.f_type;
    // WHY: targets disagree on the field's width and sign; the numbers have 32 bits.
    Ok(kind as u64 & 0xffff_ffff)
}

/// The free space of a file system, as far as an unprivileged user may use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FreeSpace {
    pub(crate) bytes: u64,
    /// Number of files that can still be created; `None` if the file system has no such limit.
    pub(crate) files: Option<u64>,
}

/// Returns the free space of the file system that contains the file of `fd`.
pub(crate) fn free_space(fd: BorrowedFd<'_>) -> io::Result<FreeSpace> {
    let mut raw = MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: `raw` is valid for the write of one `statvfs`.
    retry_if_interrupted(|| unsafe {
        libc::fstatvfs(fd.as_raw_fd(), raw.as_mut_ptr()) as ssize_t
    })?;
    // SAFETY: the call succeeded, so it filled `raw`.
    let raw = unsafe { raw.assume_init_ref() };
    #[expect(
        clippy::unnecessary_cast,
        reason = "the fields' widths differ between targets"
    )]
    let bytes = (raw.f_bavail as u64).saturating_mul(raw.f_frsize as u64);
    #[expect(
        clippy::unnecessary_cast,
        reason = "the fields' widths differ between targets"
    )]
    let files = (raw.f_files > 0).then_some(raw.f_favail as u64);
    Ok(FreeSpace { bytes, files })
}

/// Signals that a thread can raise for itself by executing an instruction. If a thread blocks one
/// of them and then raises it, the kernel kills the process, even if a handler is installed.
const SELF_RAISED_SIGNALS: [c_int; 7] = [
    libc::SIGBUS,
    libc::SIGSEGV,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGSYS,
    libc::SIGABRT,
];

/// Blocks all signals in the calling thread, except those that its own instructions raise. Signals
/// that are sent to the process are then handled by its other threads.
pub(crate) fn block_process_signals() {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `set` is valid for the write.
    unsafe { libc::sigfillset(set.as_mut_ptr()) };
    for signal in SELF_RAISED_SIGNALS {
        // SAFETY: the set was filled, and the number is that of a signal.
        unsafe { libc::sigdelset(set.as_mut_ptr(), signal) };
    }
    let set = set.as_ptr();
    let former = std::ptr::null_mut();
    // SAFETY: the set was filled, and null means that the former one is not returned.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, set, former) };
}

/// Returns 16 random bytes from the kernel's random number generator.
pub(crate) fn random_bytes() -> io::Result<[u8; 16]> {
    let mut bytes = [0; 16];
    let to = bytes.as_mut_ptr().cast();
    let len = bytes.len();
    // SAFETY: `to` is valid for writes of `len` bytes. Up to 256 bytes are always returned in full.
    retry_if_interrupted(|| unsafe { libc::getrandom(to, len, 0) })?;
    Ok(bytes)
}

/// Returns the effective user id of this process, with which the kernel checks permissions.
pub(crate) fn effective_uid() -> u32 {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::geteuid() }
}
