//! The token: a secret in the URL of the web page. Every request for data has to contain it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use crate::failure::Failure;
use crate::random::random_digits;
use crate::stop::Deadline;

/// Number of random bytes in a new token. [`TOKEN_DIGITS_MIN`] is the number of hexadecimal digits
/// that encode them. A token in a file must have at least as many characters.
const TOKEN_BYTES: usize = 16;
const TOKEN_DIGITS_MIN: usize = 2 * TOKEN_BYTES;

/// Maximum number of bytes that are read from a token file.
const TOKEN_FILE_BYTES_MAX: u64 = 256;

/// Returns the token that `file` contains. If the file does not exist, creates it with a new token.
/// If no file is given, returns a new token.
///
/// # Errors
///
/// The file cannot be read or created, or is not read before `deadline`.
pub(super) fn create_or_read(file: Option<&Path>, deadline: Deadline) -> Result<String, Failure> {
    let Some(path) = file else {
        return random_digits::<TOKEN_BYTES>().map_err(|error| {
            Failure::system(format_args!(
                "cannot read /dev/urandom for a token: {error}"
            ))
        });
    };
    let failed = |error| {
        let path = path.display();
        Failure::system(format_args!("cannot use the token file {path}: {error}"))
    };
    match create_file(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let owned = path.to_owned();
            // WHY a limit: a pipe that has a name waits for its other end.
            let Some(read) = deadline.call_until_deadline(move || read_file(&owned))? else {
                let path = path.display();
                return Err(Failure::timeout(format_args!("{path} has no token yet")));
            };
            read.map_err(failed)
        }
        created => created.map_err(failed),
    }
}

fn create_file(path: &Path) -> io::Result<String> {
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    let token = random_digits::<TOKEN_BYTES>()?;
    writeln!(file, "{token}")?;
    Ok(token)
}

fn read_file(path: &Path) -> io::Result<String> {
    let file = File::open(path)?;
    let mode = file.metadata()?.mode();
    if mode & 0o077 != 0 {
        return Err(io::Error::other(format!(
            "its mode is {:03o}, so others can use it; chmod 600 it",
            mode & 0o777
        )));
    }
    let mut text = String::new();
    file.take(TOKEN_FILE_BYTES_MAX).read_to_string(&mut text)?;
    let token = text.trim_end();
    let is_plain = token.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if token.len() < TOKEN_DIGITS_MIN || !is_plain {
        return Err(io::Error::other(format!(
            "it holds no token, which is {TOKEN_DIGITS_MIN} letters and digits or more; remove it"
        )));
    }
    Ok(token.to_owned())
}
