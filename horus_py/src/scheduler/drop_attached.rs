//! Values that are dropped while the thread is attached to the interpreter.

use std::mem::ManuallyDrop;
use std::ops::Deref;

use crate::scheduler::python_calls::try_with_python;

/// A value that refers to Python objects, and whose drop attaches the thread to the interpreter.
///
/// WHY: PyO3 puts objects that are dropped on a thread which is not attached into a list with a
/// lock. If another thread forks while that lock is held, the child hangs in its next call of this
/// library. A thread that is attached drops objects without the list, and no thread forks
/// meanwhile.
#[derive(Debug)]
pub(crate) struct DropAttached<T>(ManuallyDrop<T>);

impl<T> DropAttached<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(ManuallyDrop::new(value))
    }
}

impl<T> Deref for DropAttached<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Drop for DropAttached<T> {
    fn drop(&mut self) {
        // SAFETY: the value is taken once, and nothing uses it afterwards.
        let value = unsafe { ManuallyDrop::take(&mut self.0) };
        // WHY ignored: the interpreter has ended. The value is dropped all the same.
        let _ = try_with_python(move |_| drop(value));
    }
}
