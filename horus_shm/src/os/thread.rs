//! The calling thread, as the kernel knows it.

use libc::{c_int, c_ulong};

/// Length of a thread's name in bytes, including the NUL at its end.
const NAME_BYTES: usize = 16;

/// Returns the id of the calling thread in the PID namespace of this process. Makes a system call.
#[must_use]
pub fn id() -> u32 {
    // SAFETY: it has no arguments and cannot fail.
    unsafe { libc::gettid() }.cast_unsigned()
}

/// Returns the name of the calling thread, padded with NUL bytes. Makes a system call.
#[must_use]
pub fn name() -> [u8; NAME_BYTES] {
    let mut name = [0_u8; NAME_BYTES];
    // SAFETY: the kernel writes a name of at most 16 bytes with its NUL; if it refuses the call, it
    // writes nothing.
    let _status: c_int =
        unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr() as c_ulong, 0, 0, 0) };
    name
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
