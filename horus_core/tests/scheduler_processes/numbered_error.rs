//! An error with a number, whose drop panics.

use std::error::Error;
use std::fmt;

/// An error whose drop panics, with its number as the last word.
#[derive(Debug)]
pub(crate) struct NumberedError(pub(crate) u64);

impl fmt::Display for NumberedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error {}", self.0)
    }
}

impl Error for NumberedError {}

impl Drop for NumberedError {
    fn drop(&mut self) {
        panic!("{self}");
    }
}
