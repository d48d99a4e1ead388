//! Recognizes files that the kernel cannot execute: binaries for another processor, and files that
//! are neither a binary nor a script with `#!`.
//!
//! The error of the kernel does not say which of the two it is.

use std::fs::{self, File};
use std::io::Read as _;
use std::ops::Range;
use std::path::Path;

/// Number of bytes at the beginning of a file that are looked at. The kernel looks at as many.
const HEAD_BYTES: u64 = 256;

/// The first bytes of a binary.
const ELF_MAGIC: &[u8] = b"\x7fELF";

/// The index of the byte that says in which order the bytes of numbers are. 2 is big-endian.
const ELF_BYTE_ORDER: usize = 5;

/// The bytes of an ELF header that have the number of the machine.
const ELF_MACHINE: Range<usize> = 18..20;

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
    let head = head_of(path)?;
    let fault = fault_of_head(&head, path)?;
    (!is_registered(&head, path)).then_some(fault)
}

/// As [`format_fault`], for a file that the kernel has refused to execute.
pub(super) fn refused_format_text(path: &Path) -> Option<String> {
    fault_of_head(&head_of(path)?, path)
}

fn fault_of_head(head: &[u8], path: &Path) -> Option<String> {
    let shown = path.display();
    if head.starts_with(ELF_MAGIC) {
        let machine = machine_of(head)?;
        let own = machine_of(&head_of(Path::new("/proc/self/exe"))?)?;
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

/// Returns the first bytes of the file at `path`; `None` if it cannot be read.
fn head_of(path: &Path) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    let file = File::open(path).ok()?;
    file.take(HEAD_BYTES).read_to_end(&mut head).ok()?;
    Some(head)
}

/// Returns the number of the machine in an ELF header.
fn machine_of(head: &[u8]) -> Option<u16> {
    let bytes = head.get(ELF_MACHINE)?.try_into().ok()?;
    Some(match head[ELF_BYTE_ORDER] {
        2 => u16::from_be_bytes(bytes),
        _ => u16::from_le_bytes(bytes),
    })
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
fn is_registered(head: &[u8], path: &Path) -> bool {
    let dir = Path::new(REGISTERED_FORMATS);
    let status = fs::read_to_string(dir.join("status")).unwrap_or_default();
    let entries = fs::read_dir(dir).into_iter().flatten();
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    status.trim() != "disabled"
        && entries.flatten().any(|entry| {
            // The other files cannot be read, or have no format.
            let format = fs::read_to_string(entry.path()).unwrap_or_default();
            is_of_format(&format, head, &extension)
        })
}

/// Returns true if the kernel recognizes a file by a registered `format`, as it shows one: by its
/// first bytes, or by the extension of its name.
fn is_of_format(format: &str, head: &[u8], extension: &str) -> bool {
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
    let Some(magic) = value("magic ").and_then(bytes_of_hex) else {
        return false;
    };
    let mask = value("mask ").and_then(bytes_of_hex);
    let mask = mask.unwrap_or_else(|| vec![0xff; magic.len()]);
    let offset = value("offset ").and_then(|offset| offset.parse().ok());
    let Some(part) = head.get(offset.unwrap_or(0)..) else {
        return false;
    };
    let mut pairs = part.iter().zip(magic.iter().zip(&mask));
    part.len() >= magic.len() && pairs.all(|(byte, (magic, mask))| (byte ^ magic) & mask == 0)
}

fn bytes_of_hex(text: &str) -> Option<Vec<u8>> {
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
        assert!(is_of_format(qemu, b"\x7fELF\x02\x02rest", ""));
        assert!(!is_of_format(qemu, b"\x7fELF\x01\x01rest", ""));
        assert!(!is_of_format(qemu, b"\x7fELF", ""));
        let disabled = qemu.replace("enabled", "disabled");
        assert!(!is_of_format(&disabled, b"\x7fELF\x02\x01rest", ""));
        let jar = "enabled\ninterpreter /usr/bin/java\nflags:\nextension .jar\n";
        assert!(is_of_format(jar, b"PK", "jar") && !is_of_format(jar, b"PK", "zip"));
        let late = "enabled\ninterpreter /x\nflags:\noffset 2\nmagic 6162\n";
        assert!(is_of_format(late, b"zzab", "") && !is_of_format(late, b"abzz", ""));
        assert!(!is_of_format("enabled\n", b"", ""));
    }

    #[test]
    fn what_this_machine_executes_has_no_fault() {
        assert_eq!(format_fault(Path::new("/proc/self/exe")), None);
        assert_eq!(format_fault(Path::new("/no/such/file")), None);
    }
}
