//! The byte layout of the registry file, and the meaning of locks on its bytes.
//!
//! ```text
//!   0  header       128 bytes, written before the file gets its name, never changed
//! 128  entry 0      128 bytes, written by the process that holds byte 64 of the file locked
//! 256  entry 1      … byte 65 …
//! ```
//!
//! The locks are on bytes of the same file. A lock has nothing to do with the data at its offset:
//!
//! ```text
//!            0      the file is being replaced or removed (exclusive, with all that follows), or
//!                   a process is joining (shared)
//!    64 + entry     the process of the entry lives (exclusive)
//! 2^40 + inode      a process has the topic file of this inode open (shared)
//! ```

use std::io;
use std::mem::offset_of;
use std::os::fd::BorrowedFd;

use bytemuck::{Pod, Zeroable};
use thiserror::Error;

use super::ProcessInfo;
use crate::os;
use crate::os::lock::LockRange;

/// Number of entries of a registry: the maximum number of processes (more precisely, of copies of
/// this library in processes) that can be in it at a time.
pub(crate) const ENTRY_LIMIT: u64 = 1024;

/// Version of the registry's file format and of its locks, as the module documentation describes
/// them.
pub(crate) const REGISTRY_VERSION: u32 = 2;

/// The largest generation of an entry (a number that grows with each use of the entry). An owner
/// word has 48 bits for it.
pub(crate) const GENERATION_MAX: u64 = (1 << 48) - 1;

/// Length in bytes that every registry file has.
pub(crate) const REGISTRY_BYTES: u64 = HEADER_BYTES + ENTRY_LIMIT * ENTRY_BYTES;

const HEADER_BYTES: u64 = size_of::<RegistryHeader>() as u64;
const ENTRY_BYTES: u64 = size_of::<RegistryEntry>() as u64;
const ENTRY_LOCK_START: u64 = 64;
const PRESENCE_LOCK_START: u64 = 1 << 40;

// WHY a native number: a file of the other endianness has another magic.
const REGISTRY_MAGIC: u64 = u64::from_be_bytes(*b"HORUSREG");

/// The header of a registry file, which identifies the registry and never changes.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
pub(crate) struct RegistryHeader {
    magic: u64,
    version: u32,
    entry_limit: u32,
    pub(crate) registry_id: [u8; 16],
    /// The boot during which the file was created; zero in a file system in memory.
    pub(crate) boot_id: [u8; 16],
    /// The number from which the generations of all entries are counted: the first process that
    /// takes an entry stores this number plus one. It is random, so that an owner word of an older
    /// registry does not identify a process of this one by accident.
    pub(crate) generation_base: u64,
    reserved: [u8; 68],
    /// CRC-32 of all bytes of the header that precede this field.
    crc: u32,
}

/// An entry of a registry file. It describes the process that holds the entry's lock, or that held
/// it last.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
pub(crate) struct RegistryEntry {
    /// A number that grows by one each time that a process takes this entry. It begins at
    /// [`RegistryHeader::generation_base`] + 1, and is 0 if the entry was never used.
    pub(crate) generation: u64,
    pub(crate) pid: u32,
    reserved: u32,
    pub(crate) start_time: u64,
    pub(crate) name: [u8; 64],
    reserved_tail: [u8; 40],
}

const _: () = {
    assert!(size_of::<RegistryHeader>() == 128);
    assert!(offset_of!(RegistryHeader, registry_id) == 16);
    assert!(offset_of!(RegistryHeader, boot_id) == 32);
    assert!(offset_of!(RegistryHeader, generation_base) == 48);
    assert!(offset_of!(RegistryHeader, crc) == 124);
    assert!(size_of::<RegistryEntry>() == 128);
    assert!(offset_of!(RegistryEntry, generation) == 0);
    assert!(offset_of!(RegistryEntry, start_time) == 16);
    assert!(ENTRY_LOCK_START + ENTRY_LIMIT < PRESENCE_LOCK_START);
};

/// The reason why the content of a registry file cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RegistryFault {
    /// The file has a different length from that of a registry file.
    #[error("it has {found_bytes} bytes instead of {wanted_bytes}")]
    Size {
        /// The length that the file has, in bytes.
        found_bytes: u64,
        /// The length that a registry file must have, in bytes.
        wanted_bytes: u64,
    },
    /// The file does not begin with the registry's magic number in the byte order of this machine.
    #[error("it does not begin with the magic number of a registry")]
    Magic,
    /// The file was created by a release of this library whose registry format is different.
    #[error("its layout is version {found}, this library has version {wanted}")]
    Version {
        /// The version of the registry format in the file.
        found: u32,
        /// The version of the registry format that this library uses.
        wanted: u32,
    },
    /// The checksum of the header does not match its content.
    #[error("the checksum of its header is wrong")]
    Checksum,
    /// The header contains a different number of entries from the one that this library uses.
    #[error("it has {found} entries instead of {wanted}")]
    Entries {
        /// The number of entries that the header of the file contains.
        found: u32,
        /// The number of entries that this library uses.
        wanted: u32,
    },
    /// The file was created before the last boot of the machine, or on another machine.
    #[error("it is of another boot of the machine")]
    Boot,
}

impl RegistryHeader {
    /// Creates the header of a new registry, with a random id. `boot_id` is the id of the current
    /// boot for files of its directory.
    pub(crate) fn new(boot_id: [u8; 16]) -> io::Result<Self> {
        let registry_id = os::random_bytes()?;
        let random = os::random_bytes()?;
        // WHY 47 random bits of 48: 2^47 generations remain, and it is very unlikely that a
        // generation of an older registry occurs again by accident.
        let generation_base = (u128::from_ne_bytes(random) as u64) & (GENERATION_MAX >> 1);
        let mut header = Self {
            magic: REGISTRY_MAGIC,
            version: REGISTRY_VERSION,
            entry_limit: ENTRY_LIMIT as u32,
            registry_id,
            boot_id,
            generation_base,
            reserved: [0; 68],
            crc: 0,
        };
        header.crc = header.checksum();
        Ok(header)
    }

    /// Reads the header of a registry file and checks it. `size_bytes` is the length of the file.
    pub(crate) fn read(
        fd: BorrowedFd<'_>,
        size_bytes: u64,
        boot_id: [u8; 16],
    ) -> io::Result<Result<Self, RegistryFault>> {
        let size = RegistryFault::Size {
            found_bytes: size_bytes,
            wanted_bytes: REGISTRY_BYTES,
        };
        if size_bytes < HEADER_BYTES {
            return Ok(Err(size));
        }
        let mut header = Self::zeroed();
        match os::read_at(fd, bytemuck::bytes_of_mut(&mut header), 0) {
            // WHY: the file was truncated after it was measured.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(Err(size)),
            other => other?,
        }
        let fault = header.check(boot_id).err();
        Ok(match fault {
            Some(fault) => Err(fault),
            None if size_bytes != REGISTRY_BYTES => Err(size),
            None => Ok(header),
        })
    }

    fn check(&self, boot_id: [u8; 16]) -> Result<(), RegistryFault> {
        if self.magic != REGISTRY_MAGIC {
            return Err(RegistryFault::Magic);
        }
        if self.version != REGISTRY_VERSION {
            let found = self.version;
            let wanted = REGISTRY_VERSION;
            return Err(RegistryFault::Version { found, wanted });
        }
        if self.crc != self.checksum() {
            return Err(RegistryFault::Checksum);
        }
        if u64::from(self.entry_limit) != ENTRY_LIMIT {
            let found = self.entry_limit;
            let wanted = ENTRY_LIMIT as u32;
            return Err(RegistryFault::Entries { found, wanted });
        }
        if self.boot_id != boot_id {
            return Err(RegistryFault::Boot);
        }
        Ok(())
    }

    fn checksum(&self) -> u32 {
        crc32fast::hash(&bytemuck::bytes_of(self)[..offset_of!(Self, crc)])
    }
}

impl RegistryEntry {
    /// Creates an entry that describes this process, with the given generation (a number that grows
    /// with each use of the entry).
    pub(crate) fn for_this_process(generation: u64) -> Self {
        let stat = std::fs::read("/proc/self/stat").unwrap_or_default();
        let (comm, start_time) = parse_stat_name_and_start(&stat).unwrap_or_default();
        let mut name = [0; 64];
        let len = comm.len().min(name.len());
        name[..len].copy_from_slice(&comm[..len]);
        Self {
            generation,
            pid: std::process::id(),
            start_time,
            name,
            ..Self::zeroed()
        }
    }

    /// Reads the entry with the index `entry` from the file. The index must be below
    /// [`ENTRY_LIMIT`].
    pub(crate) fn read(fd: BorrowedFd<'_>, entry: u64) -> io::Result<Self> {
        let mut read = Self::zeroed();
        os::read_at(fd, bytemuck::bytes_of_mut(&mut read), Self::offset(entry))?;
        Ok(read)
    }

    /// Reads all entries from the file.
    pub(crate) fn read_all(fd: BorrowedFd<'_>) -> io::Result<Vec<Self>> {
        let mut read = vec![Self::zeroed(); ENTRY_LIMIT as usize];
        os::read_at(fd, bytemuck::cast_slice_mut(&mut read), Self::offset(0))?;
        Ok(read)
    }

    /// Reads only the generation of the entry with the index `entry`: a number that grows with each
    /// use of the entry, and is 0 if it was never used.
    pub(crate) fn read_generation(fd: BorrowedFd<'_>, entry: u64) -> io::Result<u64> {
        let mut bytes = [0; 8];
        os::read_at(fd, &mut bytes, Self::offset(entry))?;
        Ok(u64::from_ne_bytes(bytes))
    }

    /// Writes this entry to the file at the index `entry`. The caller must hold the lock of that
    /// entry.
    pub(crate) fn write(&self, fd: BorrowedFd<'_>, entry: u64) -> io::Result<()> {
        os::write_at(fd, bytemuck::bytes_of(self), Self::offset(entry))
    }

    /// Returns the command name, up to the first zero byte. Replaces control characters, because
    /// they could have an effect on a terminal.
    pub(crate) fn printable_name(&self) -> String {
        let name = self
            .name
            .split(|&byte| byte == 0)
            .next()
            .unwrap_or_default();
        let shown = |c: char| {
            if c.is_control() {
                char::REPLACEMENT_CHARACTER
            } else {
                c
            }
        };
        String::from_utf8_lossy(name).chars().map(shown).collect()
    }

    /// Returns the description of the process in this entry, for error texts.
    pub(crate) fn process_info(&self) -> ProcessInfo {
        ProcessInfo {
            pid: self.pid,
            start_time: self.start_time,
            name: self.printable_name(),
        }
    }

    fn offset(entry: u64) -> u64 {
        HEADER_BYTES + entry * ENTRY_BYTES
    }
}

/// Returns the command name and the start time (field 22) from `stat`, the content of
/// `/proc/<pid>/stat`; `None` if `stat` is malformed.
pub(super) fn parse_stat_name_and_start(stat: &[u8]) -> Option<(&[u8], u64)> {
    let open = stat.iter().position(|&byte| byte == b'(')?;
    // WHY the last one: the name may contain parentheses and spaces.
    let close = stat.iter().rposition(|&byte| byte == b')')?;
    let comm = stat.get(open + 1..close)?;
    // WHY 3: field 3 follows the name.
    let rest = std::str::from_utf8(&stat[close + 1..]).ok()?;
    let start_time = rest.split_ascii_whitespace().nth(22 - 3)?.parse().ok()?;
    Some((comm, start_time))
}

/// Returns field 3 of `stat`, the content of a file `/proc/<pid>/stat`: a letter that stands for
/// the state of the process.
pub(super) fn parse_stat_state(stat: &[u8]) -> Option<u8> {
    let close = stat.iter().rposition(|&byte| byte == b')')?;
    stat.get(close + 2).copied()
}

/// Returns the byte whose lock says that the process of the entry with the index `entry` is alive.
pub(crate) fn entry_lock(entry: u64) -> io::Result<LockRange> {
    LockRange::new(ENTRY_LOCK_START + entry, 1)
}

/// Returns the index of the entry that belongs to the locked byte `byte`; `None` if that byte
/// belongs to no entry.
pub(crate) fn entry_at_lock_offset(byte: u64) -> Option<u64> {
    byte.checked_sub(ENTRY_LOCK_START)
        .filter(|&entry| entry < ENTRY_LIMIT)
}

/// Returns the byte that a process locks while it replaces, removes or joins the registry.
pub(crate) fn removal_lock() -> io::Result<LockRange> {
    LockRange::new(0, 1)
}

/// Returns ranges that cover the bytes of [`all_entries_lock`], except the byte of the entry with
/// the index `entry`.
pub(crate) fn lock_ranges_except_entry(entry: u64) -> io::Result<Vec<LockRange>> {
    let byte = ENTRY_LOCK_START + entry;
    let below = 0..byte;
    let above = byte + 1..ENTRY_LOCK_START + ENTRY_LIMIT;
    let ranges = [below, above].into_iter().filter(|range| !range.is_empty());
    ranges
        .map(|range| LockRange::new(range.start, range.end - range.start))
        .collect()
}

/// Returns the range of the removal byte and the bytes of all entries. It does not include the
/// presence bytes of topic files.
pub(crate) fn all_entries_lock() -> io::Result<LockRange> {
    LockRange::new(0, ENTRY_LOCK_START + ENTRY_LIMIT)
}

/// Returns the byte whose lock says that a process uses the topic file with the inode `ino`.
pub(crate) fn presence_lock(ino: u64) -> io::Result<LockRange> {
    LockRange::new(presence_lock_offset(ino), 1)
}

/// Returns the offset in the registry file of the byte that stands for the topic file with the
/// inode `ino`.
pub(crate) const fn presence_lock_offset(ino: u64) -> u64 {
    PRESENCE_LOCK_START.saturating_add(ino)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_is_parsed_with_any_command_name() {
        let fields = "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21";
        for comm in ["node", "a b", ") S 1 2 (", "", "((("] {
            let stat = format!("123 ({comm}) {fields}\n");
            let parsed = parse_stat_name_and_start(stat.as_bytes());
            assert_eq!(parsed, Some((comm.as_bytes(), 4711)), "{stat}");
        }
        for stat in [
            "",
            "1",
            "1 (",
            "1 (a",
            ")(",
            "1 (a) S 1 2",
            "1 (a) S 1 2 3 x",
        ] {
            assert_eq!(parse_stat_name_and_start(stat.as_bytes()), None, "{stat}");
        }
    }

    #[test]
    fn header_with_any_bit_flipped_is_refused() {
        let boot_id = [7; 16];
        let header = RegistryHeader::new(boot_id).unwrap();
        assert_eq!(header.check(boot_id), Ok(()));
        assert_eq!(header.check([8; 16]), Err(RegistryFault::Boot));
        for bit in 0..size_of::<RegistryHeader>() * 8 {
            let mut flipped = header;
            bytemuck::bytes_of_mut(&mut flipped)[bit / 8] ^= 1 << (bit % 8);
            assert!(flipped.check(boot_id).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn presence_beyond_the_offsets_of_the_kernel_is_an_error() {
        let last = i64::MAX as u64 - PRESENCE_LOCK_START;
        assert!(presence_lock(last - 1).is_ok());
        for ino in [last + 1, u64::MAX - 1, u64::MAX] {
            assert!(presence_lock(ino).is_err(), "inode {ino}");
        }
    }
}
