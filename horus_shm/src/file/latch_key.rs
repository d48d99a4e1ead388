//! Keys of latched (persistent) history. By its key, a publisher finds the lane with the messages
//! that it left there in an earlier run.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// The key of a publisher whose history stays after it has left. A publisher with the same key
/// continues in the same lane, and its first message replaces the history there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LatchKey(pub u32);

impl LatchKey {
    /// Returns the key for a text. WHY a hash: a lane has only one word for its key. Two different
    /// texts have the same key with a probability of 2^-32.
    #[must_use]
    pub const fn new(text: &str) -> Self {
        Self(fnv1a(text.as_bytes()))
    }

    /// Returns the key of this program. It is computed from the name of the program's file; if that
    /// is a Python interpreter, from the name of the script or module. Reads `/proc/self/cmdline`.
    #[must_use]
    pub fn of_program() -> Self {
        let arguments = fs::read("/proc/self/cmdline").unwrap_or_default();
        Self(fnv1a(program_name(&arguments)))
    }
}

/// Computes the 32-bit FNV-1a hash: <https://datatracker.ietf.org/doc/html/rfc9923>.
const fn fnv1a(bytes: &[u8]) -> u32 {
    let mut hash = 0x811c_9dc5;
    let mut index = 0;
    while index < bytes.len() {
        hash = (hash ^ bytes[index] as u32).wrapping_mul(0x0100_0193);
        index += 1;
    }
    hash
}

/// Returns the name of a program, or of the script or module that a Python interpreter executes. In
/// `arguments`, a NUL byte ends each argument.
fn program_name(arguments: &[u8]) -> &[u8] {
    let mut arguments = arguments.split(|&byte| byte == 0);
    let program = last_component(arguments.next().unwrap_or_default());
    let is_option = |argument: &&[u8]| argument.is_empty() || argument.starts_with(b"-");
    let script = arguments.find(|argument| !is_option(argument));
    match script {
        Some(script) if program.starts_with(b"python") => last_component(script),
        _ => program,
    }
}

fn last_component(path: &[u8]) -> &[u8] {
    let name = Path::new(std::ffi::OsStr::from_bytes(path)).file_name();
    name.map_or(path, std::ffi::OsStr::as_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_the_name_of_its_file_or_script() {
        for (arguments, name) in [
            (
                &b"/opt/robot/bin/map_server\0--map\0office\0"[..],
                "map_server",
            ),
            (b"map_server\0", "map_server"),
            (b"/usr/bin/python3\0nodes/camera.py\0--fast\0", "camera.py"),
            (b"python\0-u\0-m\0robot.camera\0", "robot.camera"),
            (b"python3\0", "python3"),
            (b"", ""),
        ] {
            assert_eq!(program_name(arguments), name.as_bytes());
        }
    }

    #[test]
    fn a_key_is_the_published_hash_of_its_text() {
        assert_eq!(LatchKey::new(""), LatchKey(0x811c_9dc5));
        assert_eq!(LatchKey::new("foobar"), LatchKey(0xbf9c_f968));
        assert_ne!(LatchKey::new("map"), LatchKey::new("costmap"));
    }
}
