//! Random digits, for secrets and for names that nothing else has.

use std::fs::File;
use std::io::{self, Read as _};

/// Returns the hexadecimal digits of `N` random bytes.
pub(crate) fn random_digits<const N: usize>() -> io::Result<String> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
