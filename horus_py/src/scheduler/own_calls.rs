//! Knows, for each thread, for which schedulers it calls Python functions at present.
//!
//! WHY: such a function must not end its scheduler, which would wait for the function itself.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;

use crate::scheduler::run_exceptions::RunExceptions;

thread_local! {
    /// The schedulers for which this thread calls Python functions, the innermost last. There may
    /// be several, because a scheduler can run inside a tick of another scheduler. Each is
    /// represented by the address of its `RunExceptions`, which is never read.
    static SCHEDULERS_IN_CALL: RefCell<Vec<*const RunExceptions>> =
        const { RefCell::new(Vec::new()) };
}

/// A guard that records a call of a Python function for a scheduler, until it is dropped.
#[derive(Debug)]
pub(crate) struct SchedulerCallGuard {
    /// A marker that makes the guard `!Send`: it has to be dropped on the thread that made it.
    marker: PhantomData<*const ()>,
}

impl SchedulerCallGuard {
    /// Records that this thread calls a function of a node or an actor of the scheduler to which
    /// `run_exceptions` belongs. Costs a few nanoseconds.
    #[inline]
    pub(crate) fn enter(run_exceptions: &Arc<RunExceptions>) -> Self {
        // WHY errors are ignored: a thread that is being torn down ends no scheduler.
        let _ =
            SCHEDULERS_IN_CALL.try_with(|all| all.borrow_mut().push(Arc::as_ptr(run_exceptions)));
        Self {
            marker: PhantomData,
        }
    }
}

impl Drop for SchedulerCallGuard {
    #[inline]
    fn drop(&mut self) {
        let _ = SCHEDULERS_IN_CALL.try_with(|all| all.borrow_mut().pop());
    }
}

/// Returns true if this thread is in a call of a function of a node or an actor of the scheduler to
/// which `run_exceptions` belongs.
pub(crate) fn is_in_python_call_of(run_exceptions: &Arc<RunExceptions>) -> bool {
    let own = Arc::as_ptr(run_exceptions);
    SCHEDULERS_IN_CALL.with_borrow(|all| all.iter().any(|other| ptr::eq(*other, own)))
}
