//! Programs that a test writes and executes.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes an executable file with these contents. Panics if that is not possible.
///
/// WHY by a child: if this process wrote the file, a child that another test starts at this moment
/// would inherit the open descriptor, and until that child has executed its own program, this one
/// could not be executed (ETXTBSY).
pub fn write_program(path: impl AsRef<Path>, contents: impl AsRef<[u8]>) {
    let mut shell = Command::new("sh")
        .args(["-c", "cat > \"$0\" && chmod 755 \"$0\""])
        .arg(path.as_ref())
        .stdin(Stdio::piped())
        .spawn()
        .expect("there is a shell");
    let mut stdin = shell.stdin.take().expect("it is a pipe");
    stdin.write_all(contents.as_ref()).expect("it is read");
    drop(stdin);
    assert!(shell.wait().expect("it is a child").success());
}
