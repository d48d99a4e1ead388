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
        Self(fnv1a_32(text.as_bytes()))
    }

    /// Returns the key of this program. It is computed from the name of the program's file; if that
    /// is a Python interpreter, from the name of the script or module that it executes, or from the
    /// text of the command after `-c`. Reads `/proc/self/cmdline`.
    #[must_use]
    pub fn of_program() -> Self {
        let arguments = fs::read("/proc/self/cmdline").unwrap_or_default();
        Self(fnv1a_32(program_name(&arguments)))
    }
}

/// Computes the 32-bit FNV-1a hash: <https://datatracker.ietf.org/doc/html/rfc9923>.
const fn fnv1a_32(bytes: &[u8]) -> u32 {
    let mut hash = 0x811c_9dc5;
    let mut index = 0;
    while index < bytes.len() {
        hash = (hash ^ bytes[index] as u32).wrapping_mul(0x0100_0193);
        index += 1;
    }
    hash
}

/// Returns the name of a program, or of what a Python interpreter executes. In `arguments`, a NUL
/// byte ends each argument.
fn program_name(arguments: &[u8]) -> &[u8] {
    let mut arguments = arguments.split(|&byte| byte == 0);
    let program = last_path_component(arguments.next().unwrap_or_default());
    let is_python = PYTHON_INTERPRETERS
        .iter()
        .any(|name| program.starts_with(name));
    let executed = is_python.then(|| python_program_name(arguments)).flatten();
    executed.unwrap_or(program)
}

/// The beginnings of the names of Python interpreters, such as `python3.12`.
const PYTHON_INTERPRETERS: [&[u8]; 2] = [b"python", b"pypy"];

/// The long options of Python interpreters whose value is the next argument. The second one is
/// PyPy's.
const PYTHON_LONG_OPTIONS_WITH_VALUE: [&[u8]; 2] = [b"--check-hash-based-pycs", b"--jit"];

/// Returns the name of the script or module that a Python interpreter executes, or the text of the
/// command; `None` if it reads a program from its input. `arguments` are those after the
/// interpreter's own name.
fn python_program_name<'a>(mut arguments: impl Iterator<Item = &'a [u8]>) -> Option<&'a [u8]> {
    let given = |value: &'a [u8]| (!value.is_empty()).then_some(value);
    while let Some(argument) = arguments.next() {
        if argument == b"--" {
            return arguments.next().and_then(given).map(last_path_component);
        }
        if PYTHON_LONG_OPTIONS_WITH_VALUE.contains(&argument) {
            arguments.next();
            continue;
        }
        if argument.starts_with(b"--") {
            continue;
        }
        let Some(letters) = argument.strip_prefix(b"-") else {
            return given(argument).map(last_path_component);
        };
        // WHY only the first: what follows in the argument is its value.
        let Some(at) = letters.iter().position(|letter| b"cmWX".contains(letter)) else {
            if letters.is_empty() {
                return None;
            }
            continue;
        };
        let attached = given(&letters[at + 1..]);
        let value = attached.or_else(|| arguments.next());
        if b"cm".contains(&letters[at]) {
            return value.and_then(given);
        }
    }
    None
}

fn last_path_component(path: &[u8]) -> &[u8] {
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
            (b"python3\0-\0nodes/camera.py\0", "python3"),
            (b"python3\0-X\0dev\0nodes/map.py\0", "map.py"),
            (b"python3\0-X\0dev\0nodes/costmap.py\0", "costmap.py"),
            (
                b"python3.12\0-Wignore\0-uXdev\0-BW\0error\0map.py\0",
                "map.py",
            ),
            (
                b"python3\0--check-hash-based-pycs\0always\0map.py\0",
                "map.py",
            ),
            (b"python3\0-I\0--\0nodes/map.py\0", "map.py"),
            (b"python3\0-umrobot.camera\0--fast\0", "robot.camera"),
            (b"python3\0-c\0import map/of\0x\0", "import map/of"),
            (b"python3\0-Wc\0-cpass\0", "pass"),
            (b"/usr/bin/pypy3\0--jit\0off\0map.py\0", "map.py"),
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
