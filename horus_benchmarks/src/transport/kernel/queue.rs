//! POSIX message queues, which the benchmarks poll.

use std::ffi::CString;
use std::io;

use crate::measure::endpoint::Endpoint;
use crate::transport::carrier::kernel_mqueue_limit;
use crate::transport::driver;
use crate::transport::packet::Packet;
use crate::transport::rendezvous::{OpenResult, Rendezvous};

/// Opens the two queues of this side, one for each direction. Creates them if they do not exist.
pub(crate) fn open<P: Packet>(rendezvous: &Rendezvous<'_>) -> OpenResult {
    // WHY part of the directory: queues share one name space, and the directory is this run's.
    let run = rendezvous.directory().to_string_lossy().replace('/', "-");
    let [out, back] = rendezvous
        .directions()
        .map(|direction| format!("/{run}-{}", direction.name));
    let is_near_end = rendezvous.is_near_end();
    Ok(driver::one_side_driver::<P>((
        MessageQueue::open(out, P::BYTES, is_near_end)?,
        MessageQueue::open(back, P::BYTES, is_near_end)?,
    )))
}

/// One end of a message queue. It is polled and never blocks. The near side removes the name of the
/// queue.
#[derive(Debug)]
struct MessageQueue {
    queue: libc::mqd_t,
    name: CString,
    is_near_end: bool,
}

impl MessageQueue {
    /// Opens the queue `name` for messages of `bytes` bytes. Creates it if it does not exist.
    fn open(name: String, bytes: usize, is_near_end: bool) -> io::Result<MessageQueue> {
        let name = CString::new(name)?;
        let flags = libc::O_RDWR | libc::O_NONBLOCK | libc::O_CREAT | libc::O_CLOEXEC;
        // SAFETY: `mq_attr` is plain data, for which all zeroes is a valid value.
        let mut attributes: libc::mq_attr = unsafe { std::mem::zeroed() };
        attributes.mq_maxmsg = kernel_mqueue_limit("msg_max").unwrap_or(1) as _;
        attributes.mq_msgsize = bytes as _;
        let mode = 0o600 as libc::mode_t;
        let attributes = &raw const attributes;
        // SAFETY: the name is a C string, and the attributes are readable for the call.
        let queue = unsafe { libc::mq_open(name.as_ptr(), flags, mode, attributes) };
        if queue == -1 {
            return Err(io::Error::last_os_error());
        }
        Ok(MessageQueue {
            queue,
            name,
            is_near_end,
        })
    }
}

impl Drop for MessageQueue {
    fn drop(&mut self) {
        // SAFETY: the queue is ours, and not used any more.
        unsafe { libc::mq_close(self.queue) };
        if self.is_near_end {
            // SAFETY: the name is a C string that outlives the call.
            unsafe { libc::mq_unlink(self.name.as_ptr()) };
        }
    }
}

impl<P: Packet> Endpoint<P> for MessageQueue {
    #[inline(always)]
    fn send(&mut self, message: &P) -> bool {
        let bytes = horus_shm::bytes_of(message);
        // SAFETY: the bytes are readable for their length.
        let rc = unsafe { libc::mq_send(self.queue, bytes.as_ptr().cast(), bytes.len(), 0) };
        if rc != 0 {
            std::hint::spin_loop();
        }
        rc == 0
    }

    #[inline(always)]
    fn recv(&mut self, message: &mut P) -> bool {
        let bytes = bytemuck::bytes_of_mut(message);
        let start = bytes.as_mut_ptr().cast();
        let length = bytes.len();
        // SAFETY: the bytes are writable for their length, and of no priority is asked.
        let count = unsafe { libc::mq_receive(self.queue, start, length, std::ptr::null_mut()) };
        if count < 0 {
            std::hint::spin_loop();
        }
        count == length as isize
    }
}
