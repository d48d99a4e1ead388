//! Groups of users: converts between their ids and names, and checks whether this process is a
//! member.

use std::ffi::{CStr, CString};
use std::io;
use std::mem::MaybeUninit;
use std::ptr::null_mut;

use libc::{c_char, c_int, gid_t};

use super::retry_if_interrupted;

/// Length of the first buffer for the database entry of a group, in bytes. If the entry does not
/// fit, longer buffers are tried, up to [`BUFFER_BYTES_MAX`].
const FIRST_BUFFER_BYTES: usize = 1 << 10;
const BUFFER_BYTES_MAX: usize = 1 << 20;

/// Returns the id of the group called `name`; `None` if the system's database of groups does not
/// contain it.
pub(crate) fn find_gid(name: &str) -> io::Result<Option<u32>> {
    let name = CString::new(name)?;
    find_group_entry(
        // SAFETY: the name is a C string that outlives the call; the rest is valid memory.
        |entry, buffer, bytes, found| unsafe {
            libc::getgrnam_r(name.as_ptr(), entry, buffer, bytes, found)
        },
        |entry| entry.gr_gid,
    )
}

/// Returns the name of the group with the id `gid`; `None` if it has no name. The name is used only
/// in error texts.
pub(crate) fn find_group_name(gid: u32) -> Option<String> {
    let found = find_group_entry(
        // SAFETY: `find_group_entry` passes valid memory.
        |entry, buffer, bytes, found| unsafe { libc::getgrgid_r(gid, entry, buffer, bytes, found) },
        |entry| {
            // SAFETY: the name of a found entry is a C string in the buffer, which still exists.
            let name = unsafe { CStr::from_ptr(entry.gr_name) };
            name.to_string_lossy().into_owned()
        },
    );
    found.ok().flatten()
}

/// Calls `call` with buffers of growing length until the entry of the group fits. Returns the
/// result of `read` for the entry; `None` if there is no such group.
fn find_group_entry<T>(
    mut call: impl FnMut(*mut libc::group, *mut c_char, usize, *mut *mut libc::group) -> c_int,
    read: impl FnOnce(&libc::group) -> T,
) -> io::Result<Option<T>> {
    let mut buffer = vec![0 as c_char; FIRST_BUFFER_BYTES];
    loop {
        let mut entry = MaybeUninit::<libc::group>::uninit();
        let mut found = null_mut();
        let (at, bytes) = (buffer.as_mut_ptr(), buffer.len());
        match call(entry.as_mut_ptr(), at, bytes, &raw mut found) {
            0 if found.is_null() => return Ok(None),
            // SAFETY: the call succeeded and found the group, so it filled `entry`.
            0 => return Ok(Some(read(unsafe { entry.assume_init_ref() }))),
            libc::EINTR => {}
            libc::ERANGE if bytes < BUFFER_BYTES_MAX => buffer.resize(bytes * 2, 0),
            // WHY not an error: databases return these for a group that they do not have.
            libc::ENOENT | libc::ESRCH => return Ok(None),
            error => return Err(io::Error::from_raw_os_error(error)),
        }
    }
}

/// Returns true if this process has the rights of a member of the group `gid`.
pub(crate) fn is_group_member(gid: u32) -> io::Result<bool> {
    // SAFETY: the call takes nothing and cannot fail.
    if unsafe { libc::getegid() } == gid {
        return Ok(true);
    }
    // SAFETY: with length 0 the call only counts, and writes nothing.
    let count = retry_if_interrupted(|| unsafe { libc::getgroups(0, null_mut()) as isize })?;
    let mut groups: Vec<gid_t> = vec![0; count];
    let to = groups.as_mut_ptr();
    // SAFETY: `to` is valid for writes of `count` numbers.
    let count = retry_if_interrupted(|| unsafe { libc::getgroups(count as c_int, to) as isize })?;
    Ok(groups.iter().take(count).any(|&group| group == gid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_found_by_its_name_and_by_its_number() {
        assert_eq!(find_gid("root").unwrap(), Some(0));
        assert_eq!(find_group_name(0).as_deref(), Some("root"));
        assert_eq!(find_gid("no-such-group-of-robots").unwrap(), None);
        assert_eq!(find_group_name(0xfff0_1234), None);
        assert!(find_gid("with\0zero").is_err());
    }

    #[test]
    fn a_process_is_a_member_of_its_own_group() {
        // SAFETY: the call takes nothing and cannot fail.
        assert!(is_group_member(unsafe { libc::getegid() }).unwrap());
        assert!(!is_group_member(0xfff0_1234).unwrap());
    }
}
