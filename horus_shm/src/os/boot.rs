//! The id of the present boot of the machine, which shows whether a file is older than that.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use super::file_system_type;

/// The file of the kernel that contains the id.
const BOOT_ID_PATH: &str = "/proc/sys/kernel/random/boot_id";
/// The id for file systems in memory. Their files are never of another boot.
const MEMORY_BOOT_ID: [u8; 16] = [0; 16];
/// The numbers of file systems in memory, as statfs(2) lists them: tmpfs, ramfs and hugetlbfs.
const MEMORY_FILE_SYSTEMS: [u64; 3] = [0x0102_1994, 0x8584_58f6, 0x9584_58f6];
/// The number of the file system `/proc`.
const PROC_FILE_SYSTEM: u64 = 0x9fa0;

/// Returns the boot id that files in the directory `dir` contain if they were created since the
/// machine was booted. It is zero if `dir` is in memory, and otherwise a random id of the kernel.
///
/// WHY zero: a container may have a boot id of its own. With the kernel's id, such a container and
/// its host would take each other's files for files of another boot, and replace them.
///
/// # Errors
///
/// The id of the kernel cannot be read, or it is not that of the kernel but of a container.
pub(crate) fn boot_id_of_files_in(dir: BorrowedFd<'_>) -> io::Result<[u8; 16]> {
    if MEMORY_FILE_SYSTEMS.contains(&file_system_type(dir)?) {
        return Ok(MEMORY_BOOT_ID);
    }
    read_boot_id().map_err(|error| {
        let advice = "use a directory in memory, such as one in /dev/shm";
        let text = format!("{BOOT_ID_PATH}: {error}; {advice}");
        io::Error::new(error.kind(), text)
    })
}

fn read_boot_id() -> io::Result<[u8; 16]> {
    let file = File::open(BOOT_ID_PATH).map_err(|error| {
        let reason = if error.kind() == io::ErrorKind::NotFound {
            " (the option ProcSubset=pid of a systemd service hides this file)"
        } else {
            ""
        };
        io::Error::new(error.kind(), format!("{error}{reason}"))
    })?;
    if file_system_type(file.as_fd())? != PROC_FILE_SYSTEM {
        let text = "this container has a boot id of its own, so a file of its host seems to be of \
                    another boot";
        return Err(io::Error::new(io::ErrorKind::Unsupported, text));
    }
    let digits = io::read_to_string(file)?.trim().replace('-', "");
    match u128::from_str_radix(&digits, 16) {
        Ok(id) if digits.len() == 32 => Ok(id.to_be_bytes()),
        _ => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "it is not a UUID",
        )),
    }
}
