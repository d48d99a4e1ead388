//! Byte streams: Unix sockets and named pipes. All messages have the same size, so no separators
//! are needed between them.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use rustix::fs::{CWD, Mode, mkfifoat};
use rustix::pipe::fcntl_setpipe_size;

use super::datagram::request_socket_buffers;
use crate::measure::endpoint::Endpoint;
use crate::transport::driver::{self, Driver};
use crate::transport::packet::Packet;
use crate::transport::rendezvous::{OpenResult, Rendezvous};

/// Buffer size that a pipe requests, in bytes: the maximum that the kernel allows by default.
const PIPE_BUFFER_BYTES: usize = 1 << 20;

/// Maximum number of bytes that one call reads from a stream of messages. WHY: larger reads are not
/// faster, and do not fit into the cache.
const READ_BUFFER_BYTES: usize = 256 << 10;

/// Opens the two sockets of this side, one for each direction. In each direction, the far side
/// connects to the near side, because the near side opens first.
pub(crate) fn open_unix_stream<P: Packet>(rendezvous: &Rendezvous<'_>) -> OpenResult {
    let [out, back] = rendezvous
        .file_paths()
        .map(|path| path.with_extension("stream"));
    if !rendezvous.is_near_end() {
        let [out, back] = [UnixStream::connect(out)?, UnixStream::connect(back)?];
        return nonblocking_stream_driver::<P>(out, back);
    }
    let [out, back] = [UnixListener::bind(out)?, UnixListener::bind(back)?];
    Ok(driver::lazily_opened_driver(move || {
        nonblocking_stream_driver::<P>(out.accept()?.0, back.accept()?.0)
    }))
}

fn nonblocking_stream_driver<P: Packet>(out: UnixStream, back: UnixStream) -> OpenResult {
    for socket in [&out, &back] {
        socket.set_nonblocking(true)?;
        request_socket_buffers(socket)?;
    }
    Ok(stream_driver::<P>(out, back))
}

/// Opens the two pipes of this side, one for each direction. Creates them if they do not exist.
pub(crate) fn open_pipes<P: Packet>(rendezvous: &Rendezvous<'_>) -> OpenResult {
    let [out, back] = rendezvous
        .file_paths()
        .map(|path| path.with_extension("pipe"));
    Ok(stream_driver::<P>(create_pipe(&out)?, create_pipe(&back)?))
}

fn stream_driver<P: Packet>(out: impl Write + 'static, back: impl Read + 'static) -> Driver {
    driver::one_side_driver::<P>((
        StreamSender {
            channel: out,
            sent: 0,
        },
        StreamReceiver {
            channel: back,
            received: 0,
            buffer: vec![0; READ_BUFFER_BYTES].into_boxed_slice(),
            buffered: 0,
        },
    ))
}

fn create_pipe(path: &Path) -> io::Result<File> {
    let file = open_fifo(path, libc::O_NONBLOCK)?;
    // WHY ignored: if the kernel will not, the pipe stays as it is.
    let _ = fcntl_setpipe_size(&file, PIPE_BUFFER_BYTES);
    Ok(file)
}

/// Opens the named pipe at `path`. Creates it if it does not exist.
pub(crate) fn open_fifo(path: &Path, flags: libc::c_int) -> io::Result<File> {
    // WHY ignored: that it exists is no matter.
    let _ = mkfifoat(CWD, path, Mode::RUSR | Mode::WUSR);
    // WHY for both: then opening does not wait for the other end.
    File::options()
        .read(true)
        .write(true)
        .custom_flags(flags)
        .open(path)
}

/// A sending end of a byte stream, and how many bytes of the current message were sent.
#[derive(Debug)]
struct StreamSender<B> {
    channel: B,
    sent: usize,
}

impl<P: Packet, B: Write> Endpoint<P> for StreamSender<B> {
    #[inline(always)]
    fn send(&mut self, message: &P) -> bool {
        let rest = &horus_shm::bytes_of(message)[self.sent..];
        if let Ok(count) = self.channel.write(rest) {
            self.sent += count;
        }
        reset_count_if_whole_message(&mut self.sent, P::BYTES)
    }
}

/// A receiving end of a byte stream, and how many bytes of the current message were received.
#[derive(Debug)]
struct StreamReceiver<B> {
    channel: B,
    received: usize,
    /// A buffer for reads. Its first `buffered` bytes are the beginning of the next message.
    buffer: Box<[u8]>,
    buffered: usize,
}

impl<P: Packet, B: Read> Endpoint<P> for StreamReceiver<B> {
    /// Receives a part of a message. Until it is complete, the caller must pass the same `message`
    /// again.
    #[inline(always)]
    fn recv(&mut self, message: &mut P) -> bool {
        let rest = &mut bytemuck::bytes_of_mut(message)[self.received..];
        if self.buffered > 0 {
            // Less than a message, or `drain` would have handed it over.
            rest[..self.buffered].copy_from_slice(&self.buffer[..self.buffered]);
            self.received = std::mem::take(&mut self.buffered);
            return false;
        }
        if let Ok(count) = self.channel.read(rest) {
            self.received += count;
        }
        reset_count_if_whole_message(&mut self.received, P::BYTES)
    }

    /// Makes one read call, and passes all messages that it completes to `each`.
    #[inline(always)]
    fn drain(&mut self, message: &mut P, each: &mut impl FnMut(&P)) -> bool {
        if let Ok(count) = self.channel.read(&mut self.buffer[self.buffered..]) {
            self.buffered += count;
        }
        let mut messages = self.buffer[..self.buffered].chunks_exact(P::BYTES);
        let found = messages.len();
        let rest = messages.remainder().len();
        for bytes in &mut messages {
            bytemuck::bytes_of_mut(message).copy_from_slice(bytes);
            each(message);
        }
        self.buffer
            .copy_within(self.buffered - rest..self.buffered, 0);
        self.buffered = rest;
        if found == 0 {
            std::hint::spin_loop();
        }
        found > 0
    }
}

/// Returns true, and sets `count` to 0, if it has reached the size of a message.
#[inline(always)]
fn reset_count_if_whole_message(count: &mut usize, message_bytes: usize) -> bool {
    if *count == message_bytes {
        *count = 0;
        return true;
    }
    std::hint::spin_loop();
    false
}
