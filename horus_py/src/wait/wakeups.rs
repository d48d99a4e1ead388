//! Wakes tasks of an asyncio event loop from a thread of the library, through a pipe that the loop
//! reads.
//!
//! WHY a pipe, and not asyncio's `call_soon_threadsafe`: that function needs the GIL, which another
//! thread may hold for a long time, and which does not exist any longer after the interpreter has
//! ended. Writing a byte to a pipe never blocks.

use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

use horus_core::with_standard_streams_open;
use pyo3::prelude::*;

/// Calls `open`, which opens file descriptors, so that they do not get the numbers 0 to 2.
/// Otherwise they would replace a standard stream that is closed.
#[pyfunction(name = "_above_standard")]
pub(crate) fn call_above_standard(open: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    with_standard_streams_open(|| Ok(open.call0()))?.map(Bound::unbind)
}

/// The tasks of one event loop that were woken, each identified by its token, until the loop takes
/// the tokens. Also holds the end of a pipe through which the loop is woken.
#[derive(Debug)]
struct WokenTasks {
    tokens: Mutex<Vec<u64>>,
    pipe: UnixStream,
}

/// Wakes one asyncio task, which `token` identifies: stores the token, and wakes the task's event
/// loop.
#[derive(Debug)]
struct TaskWaker {
    woken: Arc<WokenTasks>,
    token: u64,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.woken
            .tokens
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(self.token);
        // An error is ignored: a full pipe wakes the loop anyway, and a closed one has no loop.
        let _ = (&self.woken.pipe).write(&[0]);
    }
}

/// The end of the pipe that an event loop reads to learn which of its tasks were woken.
#[pyclass(frozen, name = "_Wakeups", module = "horus._horus")]
#[derive(Debug)]
pub(crate) struct Wakeups {
    woken: Arc<WokenTasks>,
    pipe: UnixStream,
}

impl Wakeups {
    pub(crate) fn waker(&self, token: u64) -> Waker {
        Waker::from(Arc::new(TaskWaker {
            woken: Arc::clone(&self.woken),
            token,
        }))
    }
}

#[pymethods]
impl Wakeups {
    #[new]
    fn new() -> PyResult<Self> {
        let (ours, theirs) = with_standard_streams_open(UnixStream::pair)?;
        ours.set_nonblocking(true)?;
        theirs.set_nonblocking(true)?;
        let woken = Arc::new(WokenTasks {
            tokens: Mutex::new(Vec::new()),
            pipe: theirs,
        });
        Ok(Self { woken, pipe: ours })
    }

    /// Returns the file descriptor, which is readable when a task was woken.
    fn fileno(&self) -> i32 {
        self.pipe.as_raw_fd()
    }

    /// Returns the tokens of the tasks that were woken since the last call.
    fn take(&self) -> Vec<u64> {
        let mut bytes = [0; 256];
        while matches!((&self.pipe).read(&mut bytes), Ok(256)) {}
        std::mem::take(
            &mut *self
                .woken
                .tokens
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }
}
