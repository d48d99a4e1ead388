//! Child processes: checks whether a program can be started, ends a child when its parent ends, and
//! ends all processes that a child has started.

use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command};

use libc::{c_int, c_ulong, id_t, pid_t, ssize_t};

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

/// Sends a signal to all processes of the process group whose leader is or was the process
/// `leader`.
///
/// If the leader was waited for and its group is empty, the kernel may have given its id to another
/// group. To prevent that, call [`has_ended`] and this function before you wait for the leader.
///
/// # Errors
///
/// The error of the system call: `ESRCH` if the group has no process.
pub fn signal_group(leader: u32, signal: i32) -> io::Result<()> {
    let group = leader as pid_t;
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
        signal_group(child.id(), libc::SIGKILL).unwrap();
        for id in [0, 1, u32::MAX] {
            assert!(signal_group(id, libc::SIGKILL).is_err());
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
