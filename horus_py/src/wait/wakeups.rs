//! Wakes tasks of an event loop from a thread of the library, by a pipe that the loop reads.
//!
//! WHY a pipe, and not `call_soon_threadsafe`: that needs the GIL, which may be taken for long, or
//! gone with the interpreter. Writing a byte never waits.

use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

use horus_core::above_standard;
use pyo3::prelude::*;

/// Calls something that opens descriptors while no standard stream is closed.
#[pyfunction(name = "_above_standard")]
pub(crate) fn above(open: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    above_standard(|| Ok(open.call0()))?.map(Bound::unbind)
}

/// The tasks of one loop that were woken.
#[derive(Debug)]
struct Woken {
    tokens: Mutex<Vec<u64>>,
    pipe: UnixStream,
}

/// Wakes one task.
#[derive(Debug)]
struct Call {
    woken: Arc<Woken>,
    token: u64,
}

impl Wake for Call {
    fn wake(self: Arc<Self>) {
        self.woken.tokens.lock().unwrap_or_else(PoisonError::into_inner).push(self.token);
        // A full pipe wakes the loop too, and a closed one has no loop.
        let _ = (&self.woken.pipe).write(&[0]);
    }
}

/// The end that an event loop reads to learn which of its tasks were woken.
#[pyclass(frozen, name = "_Wakeups", module = "horus._horus")]
#[derive(Debug)]
pub(crate) struct Wakeups {
    woken: Arc<Woken>,
    pipe: UnixStream,
}

impl Wakeups {
    pub(crate) fn waker(&self, token: u64) -> Waker {
        Waker::from(Arc::new(Call { woken: Arc::clone(&self.woken), token }))
    }
}

#[pymethods]
impl Wakeups {
    #[new]
    fn new() -> PyResult<Self> {
        let (ours, theirs) = above_standard(UnixStream::pair)?;
        ours.set_nonblocking(true)?;
        theirs.set_nonblocking(true)?;
        let woken = Arc::new(Woken { tokens: Mutex::new(Vec::new()), pipe: theirs });
        Ok(Self { woken, pipe: ours })
    }

    /// Readable when a task was woken.
    fn fileno(&self) -> i32 {
        self.pipe.as_raw_fd()
    }

    /// The tasks that were woken since the last call.
    fn take(&self) -> Vec<u64> {
        let mut bytes = [0; 256];
        while matches!((&self.pipe).read(&mut bytes), Ok(256)) {}
        std::mem::take(&mut *self.woken.tokens.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
