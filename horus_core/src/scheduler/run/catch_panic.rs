//! Runs user code under `catch_unwind`, including the drop of the panic payload.

use std::any::Any;
use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls `call` and returns its result. If `call` panics, returns the text of the panic as an
/// error.
#[inline(always)]
pub(crate) fn catch_panic<R>(call: impl FnOnce() -> R) -> Result<R, String> {
    // WHY this is unwind safe: a node that panicked is only called again if its failure policy says
    // so.
    catch_unwind(AssertUnwindSafe(call)).map_err(panic_text)
}

/// Drops a value whose drop may run user code. Returns the text of the panic if the drop panics,
/// else `None`.
pub(crate) fn drop_and_catch_panic<T>(value: T) -> Option<String> {
    catch_panic(|| drop(value)).err()
}

/// Returns the text of an error. Does not panic even if the `Display` of the error panics.
pub(crate) fn error_text(error: &(dyn Error + Send + Sync)) -> String {
    let text = catch_panic(|| error.to_string());
    text.unwrap_or_else(|panic| format!("an error whose text panicked: {panic}"))
}

/// Returns the text of a panic. `panic` is the payload, which `catch_unwind` has returned.
#[cold]
pub(crate) fn panic_text(panic: Box<dyn Any + Send>) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    let text = text.unwrap_or("a panic without a text").to_owned();
    // WHY caught: the drop of the payload is user code, too. If it panics, the second payload is
    // leaked.
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        std::mem::forget(second);
    }
    text
}

#[cfg(test)]
mod tests {
    use std::fmt;
    use std::panic::panic_any;

    use super::*;

    struct Bomb(u32);

    impl Drop for Bomb {
        fn drop(&mut self) {
            if self.0 > 0 {
                panic_any(Self(self.0 - 1));
            }
        }
    }

    #[derive(Debug)]
    struct Mute;

    impl fmt::Display for Mute {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            panic!("no words")
        }
    }

    impl Error for Mute {}

    #[test]
    fn a_panic_is_caught_whatever_its_payload_is() {
        assert_eq!(catch_panic(|| 7), Ok(7));
        assert_eq!(
            catch_panic(|| panic!("plain")),
            Err::<(), _>("plain".to_owned())
        );
        assert_eq!(
            catch_panic(|| panic!("made of {}", 2)),
            Err::<(), _>("made of 2".to_owned())
        );
        for fuse in 0..3 {
            let outcome = catch_panic(|| panic_any(Bomb(fuse)));
            assert_eq!(outcome, Err::<(), _>("a panic without a text".to_owned()));
        }
        assert_eq!(
            drop_and_catch_panic(Bomb(1)),
            Some("a panic without a text".to_owned())
        );
        assert_eq!(drop_and_catch_panic(Bomb(0)), None);
        assert_eq!(error_text(&Mute), "an error whose text panicked: no words");
    }
}
