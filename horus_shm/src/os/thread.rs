//! The calling thread in the kernel: its id, its name, and the settings of a thread of the library.

use libc::{c_int, c_ulong};

use crate::os::{self, rt};

/// Maximum length in bytes of a thread's name in the kernel, including the NUL at its end.
const NAME_BYTES: usize = 16;

/// Returns the kernel's id of the calling thread, as it is numbered in the PID namespace of this
/// process. Makes a system call.
#[must_use]
pub fn id() -> u32 {
    // SAFETY: it has no arguments and cannot fail.
    unsafe { libc::gettid() }.cast_unsigned()
}

/// Returns the name that the calling thread has in the kernel, padded with NUL bytes. Makes a
/// system call.
#[must_use]
pub fn name() -> [u8; NAME_BYTES] {
    let mut name = [0_u8; NAME_BYTES];
    // SAFETY: the kernel writes a name of at most 16 bytes with its NUL; if it refuses the call, it
    // writes nothing.
    let _status: c_int =
        unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr() as c_ulong, 0, 0, 0) };
    name
}

/// Gives the calling thread the settings of all threads that the library starts: the ordinary
/// scheduling policy, the CPUs of the process, and a signal mask that leaves the signals of the
/// process to other threads.
///
/// WHY: a thread inherits these settings from the thread that starts it, which may be a real-time
/// thread of the program, pinned to a CPU that nothing else should use.
pub fn become_library_thread() {
    os::block_process_signals();
    rt::leave_real_time();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_an_id_and_a_name_of_its_own() {
        let (other, its_name) = std::thread::Builder::new()
            .name("left wheel".to_owned())
            .spawn(|| (id(), name()))
            .unwrap()
            .join()
            .unwrap();
        assert_ne!(other, id());
        assert_eq!(&its_name, b"left wheel\0\0\0\0\0\0");
    }
}
