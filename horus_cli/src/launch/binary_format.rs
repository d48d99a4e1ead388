//! Recognizes files that the kernel cannot execute: binaries for another processor or without their
//! loader, and files that are neither a binary nor a script with `#!`.
//!
//! The error of the kernel does not say which of them it is.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read as _;
use std::ops::Range;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

/// Number of bytes at the beginning of a file that are looked at. The kernel looks at as many.
const FILE_HEAD_BYTES: u64 = 256;

/// The first bytes of a binary.
const ELF_MAGIC: &[u8] = b"\x7fELF";

/// The index of the byte that says how many bits addresses have. 2 is 64 bits.
const ELF_CLASS: usize = 4;

/// The index of the byte that says in which order the bytes of numbers are. 2 is big-endian.
const ELF_BYTE_ORDER: usize = 5;

/// The bytes of an ELF header that have the number of the machine.
const ELF_MACHINE: Range<usize> = 18..20;

/// The type of the entry that names the loader, in the table of program headers.
const PT_INTERP: u64 = 3;

/// Maximum length of the name of a loader, in bytes. The kernel refuses longer ones.
const LOADER_PATH_BYTES_MAX: u64 = 4096;

/// The places of numbers in the header of a binary, and in the entries of its table of program
/// headers.
struct ElfLayout {
    /// The offset of the table in the file.
    table: Range<usize>,
    /// The size of an entry of the table, in bytes.
    entry_bytes: Range<usize>,
    /// The number of entries.
    entries: Range<usize>,
    /// In an entry: the offset of its content in the file.
    content: Range<usize>,
    /// In an entry: the length of its content in the file, in bytes.
    content_bytes: Range<usize>,
}

const LAYOUT_32: ElfLayout = ElfLayout {
    table: 28..32,
    entry_bytes: 42..44,
    entries: 44..46,
    content: 4..8,
    content_bytes: 16..20,
};

const LAYOUT_64: ElfLayout = ElfLayout {
    table: 32..40,
    entry_bytes: 54..56,
    entries: 56..58,
    content: 8..16,
    content_bytes: 32..40,
};

/// Names of the machines in ELF headers.
const MACHINES: [(u16, &str); 5] = [
    (3, "x86"),
    (40, "ARM"),
    (62, "x86-64"),
    (183, "AArch64"),
    (243, "RISC-V"),
];

/// Machines whose programs a processor of another one may execute, too: the other one is first.
const COMPATIBLE_MACHINES: [(u16, u16); 2] = [(62, 3), (183, 40)];

/// The directory in which the kernel shows the formats that users have registered.
const REGISTERED_FORMATS: &str = "/proc/sys/fs/binfmt_misc";

/// Returns a text that says why the kernel cannot execute the file at `path`, which is executable.
/// Returns `None` if it can, or if that is not known.
///
/// The file counts as not registered if registrations cannot be seen, as in many containers.
pub(super) fn format_fault(path: &Path) -> Option<String> {
    let head = read_file_head(path)?;
    let fault =
        format_fault_in_file_head(&head, path).or_else(|| missing_loader_text(&head, path))?;
    (!has_registered_interpreter(&head, path)).then_some(fault)
}

/// As [`format_fault`], for a file that the kernel has refused to execute.
pub(super) fn refused_format_text(path: &Path) -> Option<String> {
    format_fault_in_file_head(&read_file_head(path)?, path)
}

fn format_fault_in_file_head(head: &[u8], path: &Path) -> Option<String> {
    let shown = path.display();
    if head.starts_with(ELF_MAGIC) {
        let machine = elf_machine(head)?;
        let own = elf_machine(&read_file_head(Path::new("/proc/self/exe"))?)?;
        if machine == own || COMPATIBLE_MACHINES.contains(&(own, machine)) {
            return None;
        }
        let (machine, own) = (machine_name(machine), machine_name(own));
        return Some(format!(
            "the program {shown} is for another processor: {machine}, and this one is {own}"
        ));
    }
    (!head.starts_with(b"#!")).then(|| {
        format!(
            "the program {shown} is neither a binary for this machine nor a script with #! in its \
             first line"
        )
    })
}

/// Returns a text that says which loader the binary at `path` needs, if that does not exist. The
/// loader of a dynamically linked binary belongs to its C library, such as glibc or musl.
fn missing_loader_text(head: &[u8], path: &Path) -> Option<String> {
    let loader = read_loader_path(head, path)?;
    // WHY absolute ones only: the kernel looks for others in a directory that is not known here.
    (loader.is_absolute() && !loader.exists()).then(|| {
        format!(
            "the program {} needs the loader {}, which does not exist: build it for the C library \
             of this machine",
            path.display(),
            loader.display()
        )
    })
}

/// Returns the path of the loader that the binary at `path` names; `None` if it names none, or is
/// no binary.
fn read_loader_path(head: &[u8], path: &Path) -> Option<PathBuf> {
    if !head.starts_with(ELF_MAGIC) {
        return None;
    }
    let layout = match head.get(ELF_CLASS)? {
        2 => LAYOUT_64,
        _ => LAYOUT_32,
    };
    let number = |bytes: &[u8], range: Range<usize>| decode_elf_number(head, bytes.get(range)?);
    let table = number(head, layout.table)?;
    let entry_bytes = number(head, layout.entry_bytes)?;
    let file = File::open(path).ok()?;
    for index in 0..number(head, layout.entries)? {
        let mut entry = vec![0; usize::try_from(entry_bytes).ok()?];
        let offset = table.checked_add(index * entry_bytes)?;
        file.read_exact_at(&mut entry, offset).ok()?;
        if number(&entry, 0..4)? != PT_INTERP {
            continue;
        }
        let length = number(&entry, layout.content_bytes)?.min(LOADER_PATH_BYTES_MAX);
        let mut name = vec![0; usize::try_from(length).ok()?];
        let offset = number(&entry, layout.content)?;
        file.read_exact_at(&mut name, offset).ok()?;
        // The name ends with a NUL.
        name.truncate(name.iter().position(|byte| *byte == 0)?);
        return Some(OsString::from_vec(name).into());
    }
    None
}

/// Returns the number in `bytes`, of at most 8 bytes, in the byte order of the ELF header `head`.
fn decode_elf_number(head: &[u8], bytes: &[u8]) -> Option<u64> {
    let append = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
    Some(match head.get(ELF_BYTE_ORDER)? {
        2 => bytes.iter().fold(0, append),
        _ => bytes.iter().rev().fold(0, append),
    })
}

/// Returns the first bytes of the file at `path`; `None` if it cannot be read.
fn read_file_head(path: &Path) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    let file = File::open(path).ok()?;
    file.take(FILE_HEAD_BYTES).read_to_end(&mut head).ok()?;
    Some(head)
}

/// Returns the number of the machine in an ELF header.
fn elf_machine(head: &[u8]) -> Option<u16> {
    let number = decode_elf_number(head, head.get(ELF_MACHINE)?)?;
    u16::try_from(number).ok()
}

fn machine_name(machine: u16) -> String {
    let known = MACHINES.iter().find(|(number, _)| *number == machine);
    known.map_or_else(
        || format!("machine {machine}"),
        |(_, name)| (*name).to_owned(),
    )
}

/// Returns true if somebody has registered a program that executes this file, such as an emulator
/// of another processor.
fn has_registered_interpreter(head: &[u8], path: &Path) -> bool {
    let dir = Path::new(REGISTERED_FORMATS);
    let status = fs::read_to_string(dir.join("status")).unwrap_or_default();
    let entries = fs::read_dir(dir).into_iter().flatten();
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    status.trim() != "disabled"
        && entries.flatten().any(|entry| {
            // The other files cannot be read, or have no format.
            let format = fs::read_to_string(entry.path()).unwrap_or_default();
            matches_registered_format(&format, head, &extension)
        })
}

/// Returns true if the kernel recognizes a file by a registered `format`, as it shows one: by its
/// first bytes, or by the extension of its name.
fn matches_registered_format(format: &str, head: &[u8], extension: &str) -> bool {
    if !format.starts_with("enabled") {
        return false;
    }
    let value = |key: &str| {
        let mut lines = format.lines();
        lines.find_map(|line| line.strip_prefix(key)).map(str::trim)
    };
    if let Some(wanted) = value("extension .") {
        return wanted == extension;
    }
    let Some(magic) = value("magic ").and_then(parse_hex_bytes) else {
        return false;
    };
    let mask = value("mask ").and_then(parse_hex_bytes);
    let mask = mask.unwrap_or_else(|| vec![0xff; magic.len()]);
    let offset = value("offset ").and_then(|offset| offset.parse().ok());
    let Some(part) = head.get(offset.unwrap_or(0)..) else {
        return false;
    };
    let mut pairs = part.iter().zip(magic.iter().zip(&mask));
    part.len() >= magic.len() && pairs.all(|(byte, (magic, mask))| (byte ^ magic) & mask == 0)
}

fn parse_hex_bytes(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    let byte = |pair| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    pairs.map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registered_formats_are_recognized() {
        let qemu = "enabled\ninterpreter /usr/bin/qemu-aarch64-static\nflags: F\noffset 0\n\
                    magic 7f454c460201\nmask ffffffffff00\n";
        assert!(matches_registered_format(qemu, b"\x7fELF\x02\x02rest", ""));
        assert!(!matches_registered_format(qemu, b"\x7fELF\x01\x01rest", ""));
        assert!(!matches_registered_format(qemu, b"\x7fELF", ""));
        let disabled = qemu.replace("enabled", "disabled");
        assert!(!matches_registered_format(
            &disabled,
            b"\x7fELF\x02\x01rest",
            ""
        ));
        let jar = "enabled\ninterpreter /usr/bin/java\nflags:\nextension .jar\n";
        assert!(
            matches_registered_format(jar, b"PK", "jar")
                && !matches_registered_format(jar, b"PK", "zip")
        );
        let late = "enabled\ninterpreter /x\nflags:\noffset 2\nmagic 6162\n";
        assert!(
            matches_registered_format(late, b"zzab", "")
                && !matches_registered_format(late, b"abzz", "")
        );
        assert!(!matches_registered_format("enabled\n", b"", ""));
    }

    #[test]
    fn what_this_machine_executes_has_no_fault() {
        assert_eq!(format_fault(Path::new("/proc/self/exe")), None);
        assert_eq!(format_fault(Path::new("/no/such/file")), None);
    }
}
