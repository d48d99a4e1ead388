//! Child processes: checks whether a program can be started, starts it without a shell, ends a
//! child when its parent ends, ends all processes that a child has started, and waits for orphans.

use std::collections::BTreeMap;
use std::env;
use std::ffi::CString;
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command};
use std::ptr;

use libc::{c_char, c_int, c_ulong, id_t, pid_t, ssize_t};

use super::retry_if_interrupted;

/// Makes the kernel kill the process that `command` starts (SIGKILL) as soon as the thread that
/// started it ends, for whatever reason.
///
/// Processes that the killed process had started are not killed. If the program changes its user or
/// has file capabilities, the kernel clears this setting.
pub fn kill_with_parent(command: &mut Command) {
    let parent = std::process::id();
    let order = move || {
        // SAFETY: the call takes no pointer.
        retry_if_interrupted(|| unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as c_ulong) as ssize_t
        })?;
        // SAFETY: the call takes nothing and cannot fail.
        let now = unsafe { libc::getppid() };
        // WHY: if the parent died before the order was given, the kernel does not execute it.
        if now as u32 != parent {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        Ok(())
    };
    // SAFETY: after the fork, `order` only makes system calls. It allocates nothing and locks
    // nothing: errors that are made of a number need no memory.
    unsafe { command.pre_exec(order) };
}

/// Makes `command` execute the file at `path`, whatever its own program is, and only if the kernel
/// can execute that file: the error of the start is otherwise `ENOEXEC`.
///
/// WHY: the standard library gives a file of an unknown format to `/bin/sh` in some cases. The
/// shell would execute the bytes of a binary for another processor as commands.
///
/// Call it last: the arguments and the environment of `command` are those at the time of this call.
///
/// # Errors
///
/// A text contains a NUL.
pub fn execute_without_shell(command: &mut Command, path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let program = [command.get_program()];
    let arguments = program.into_iter().chain(command.get_args());
    let arguments = CStringArray::new(arguments.map(|text| CString::new(text.as_bytes())))?;
    let mut variables: BTreeMap<_, _> = env::vars_os().collect();
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => variables.insert(name.to_owned(), value.to_owned()),
            None => variables.remove(name),
        };
    }
    let variables = variables
        .iter()
        .map(|(name, value)| CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()));
    let variables = CStringArray::new(variables)?;
    let execute = move || {
        // SAFETY: the path is a C string, and each array is one of C strings that ends with null.
        unsafe { libc::execve(path.as_ptr(), arguments.as_ptr(), variables.as_ptr()) };
        // WHY only now: if it succeeds, the call does not return.
        Err(io::Error::last_os_error())
    };
    // SAFETY: after the fork, `execute` only makes a system call. It allocates nothing and locks
    // nothing: errors that are made of a number need no memory.
    unsafe { command.pre_exec(execute) };
    Ok(())
}

/// An array of C strings as system calls take it, which ends with a null pointer.
struct CStringArray {
    /// The addresses of the bytes of `_texts`, and null.
    addresses: Vec<*const c_char>,
    _texts: Vec<CString>,
}

// SAFETY: the addresses are those of bytes on the heap that this value owns, and nobody changes
// them.
unsafe impl Send for CStringArray {}
// SAFETY: as above.
unsafe impl Sync for CStringArray {}

impl CStringArray {
    fn new<E>(texts: impl Iterator<Item = Result<CString, E>>) -> Result<Self, E> {
        let texts = texts.collect::<Result<Vec<_>, E>>()?;
        let addresses = texts.iter().map(|text| text.as_ptr());
        Ok(Self {
            addresses: addresses.chain([ptr::null()]).collect(),
            _texts: texts,
        })
    }

    /// Returns the address of the array, which is valid as long as this value exists.
    const fn as_ptr(&self) -> *const *const c_char {
        self.addresses.as_ptr()
    }
}

/// Waits for each child of this process that has ended, if `is_orphan` returns true for its id.
/// Never blocks.
///
/// Process 1 of a PID namespace adopts the processes there whose parents have ended. The kernel
/// keeps each of them, when it has ended, until its new parent has waited for it.
///
/// Reads `/proc`; waits for no child if that is not possible.
pub fn reap_orphans(is_orphan: impl Fn(u32) -> bool) {
    // WHY all threads: a child belongs to the one that has started it.
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten();
    for thread in threads.flatten() {
        let children = fs::read_to_string(thread.path().join("children"));
        let children = children.unwrap_or_default();
        let ids = children.split_ascii_whitespace();
        let ids = ids.filter_map(|id| id.parse::<u32>().ok());
        for id in ids.filter(|id| is_orphan(*id)) {
            // SAFETY: the call takes no pointer that is not null. It fails if the process is no
            // child any more.
            unsafe { libc::waitpid(id as pid_t, ptr::null_mut(), libc::WNOHANG) };
        }
    }
}

/// Sends a signal to all processes of the process group whose leader is or was the process
/// `leader_pid`.
///
/// If the leader was waited for and its group is empty, the kernel may have given its id to another
/// group. To prevent that, call [`has_ended`] and this function before you wait for the leader.
///
/// # Errors
///
/// The error of the system call: `ESRCH` if the group has no process.
pub fn signal_process_group(leader_pid: u32, signal: i32) -> io::Result<()> {
    let group = leader_pid as pid_t;
    // WHY: 0 and 1 mean this process's own group, and all processes.
    if group <= 1 {
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    // SAFETY: the call takes no pointer.
    retry_if_interrupted(|| unsafe { libc::kill(-group, signal) as ssize_t })?;
    Ok(())
}

/// Returns true if a child has ended. Does not reap the child: until the caller waits for it, no
/// other process or group gets its id.
///
/// # Errors
///
/// The error of the system call: `ECHILD` if the child was already waited for.
pub fn has_ended(child: &Child) -> io::Result<bool> {
    let mut found = MaybeUninit::<libc::siginfo_t>::zeroed();
    let flags: c_int = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    let id = child.id() as id_t;
    // SAFETY: `found` is valid for the write.
    retry_if_interrupted(|| unsafe {
        libc::waitid(libc::P_PID, id, found.as_mut_ptr(), flags) as ssize_t
    })?;
    // SAFETY: all zeros are a `siginfo_t`, and the call may have written another.
    let found = unsafe { found.assume_init_ref() };
    // SAFETY: the call wrote the id of a child that has ended, or left the zeros.
    Ok(unsafe { found.si_pid() } != 0)
}

/// Returns true if this process may execute the file at `path`, or enter it if it is a directory.
///
/// Makes a system call, because the permission bits alone do not show it: they apply to the owner,
/// the group or others, and the file system may be mounted without the right to execute.
#[must_use]
pub fn may_execute(path: &Path) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else {
        return false;
    };
    let (mode, flags) = (libc::X_OK, libc::AT_EACCESS);
    // SAFETY: `path` is a C string.
    unsafe { libc::faccessat(libc::AT_FDCWD, path.as_ptr(), mode, flags) == 0 }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::Stdio;

    use super::*;

    #[test]
    fn a_group_is_killed_with_its_leader() {
        let mut command = Command::new("sh");
        // The shell's child inherits the pipe, which is closed when both have ended.
        command.args(["-c", "echo begun; sleep 1000; :"]);
        let mut child = command
            .process_group(0)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut pipe = child.stdout.take().unwrap();
        let mut begun = [0; 6];
        pipe.read_exact(&mut begun).unwrap();
        assert!(!has_ended(&child).unwrap());
        signal_process_group(child.id(), libc::SIGKILL).unwrap();
        for id in [0, 1, u32::MAX] {
            assert!(signal_process_group(id, libc::SIGKILL).is_err());
        }
        assert_eq!(pipe.read(&mut begun).unwrap(), 0);
        while !has_ended(&child).unwrap() {
            std::thread::yield_now();
        }
        assert!(has_ended(&child).unwrap());
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
        assert_eq!(
            has_ended(&child).unwrap_err().raw_os_error(),
            Some(libc::ECHILD)
        );
    }

    /// A shell would execute the line.
    #[test]
    fn a_file_of_no_known_format_is_not_executed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("plain");
        // WHY by a child: a child that another test starts meanwhile may inherit a descriptor with
        // which this process writes the file, and then it cannot be executed (ETXTBSY).
        let write = "echo 'exit 7' >\"$0\" && chmod 755 \"$0\"";
        let written = Command::new("sh").args(["-c", write]).arg(&path).status();
        assert!(written.unwrap().success());
        let mut command = Command::new(&path);
        execute_without_shell(&mut command, &path).unwrap();
        let error = command.spawn().unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOEXEC));
        let script = "test \"$A:$1:${HOME-none}\" = b:x:none && exit 7";
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh", "x"]).env("A", "b");
        command.env_remove("HOME").process_group(0);
        kill_with_parent(&mut command);
        execute_without_shell(&mut command, Path::new("/bin/sh")).unwrap();
        assert_eq!(command.status().unwrap().code(), Some(7));
    }

    #[test]
    fn only_orphans_are_waited_for() {
        let start = || Command::new("true").spawn().unwrap();
        let (mut kept, mut orphan) = (start(), start());
        for child in [&kept, &orphan] {
            while !has_ended(child).unwrap() {
                std::thread::yield_now();
            }
        }
        let id = orphan.id();
        reap_orphans(|child| child == id);
        assert!(kept.wait().unwrap().success());
        assert!(orphan.wait().is_err());
    }

    #[test]
    fn a_child_ends_with_the_thread_that_started_it() {
        let start = || {
            let mut command = Command::new("sleep");
            kill_with_parent(command.arg("1000"));
            command.spawn().unwrap()
        };
        let mut child = std::thread::spawn(start).join().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
    }
}
