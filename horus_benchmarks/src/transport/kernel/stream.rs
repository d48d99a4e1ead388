//! Byte streams: Unix sockets and named pipes. All messages have the same size, so no separators
//! are needed between them.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use rustix::fs::{CWD, Mode, mkfifoat};
use rustix::pipe::fcntl_setpipe_size;

use super::datagram::request_buffers;
use crate::measure::endpoint::Endpoint;
use crate::transport::packet::Packet;
use crate::transport::rendezvous::Rendezvous;

/// Buffer size that a pipe requests, in bytes: the maximum that the kernel allows by default.
const PIPE_BYTES: usize = 1 << 20;

/// Maximum number of bytes that one call reads from a stream of messages. WHY: larger reads are not
/// faster, and do not fit into the cache.
const READ_BYTES: usize = 256 << 10;

/// A Unix stream socket that is polled. On the near side, the connection exists only after the far
/// side has connected.
#[derive(Debug)]
pub(crate) struct PolledSocket {
    listener: Option<UnixListener>,
    stream: Option<UnixStream>,
}

impl PolledSocket {
    #[inline(always)]
    fn stream(&mut self) -> io::Result<&mut UnixStream> {
        if self.stream.is_none() {
            self.accept()?;
        }
        self.stream
            .as_mut()
            .ok_or_else(|| io::ErrorKind::WouldBlock.into())
    }

    #[cold]
    fn accept(&mut self) -> io::Result<()> {
        if let Some(listener) = &self.listener {
            let (stream, _) = listener.accept()?;
            stream.set_nonblocking(true)?;
            request_buffers(&stream)?;
            self.stream = Some(stream);
        }
        Ok(())
    }
}

impl Write for PolledSocket {
    #[inline(always)]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for PolledSocket {
    #[inline(always)]
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.stream()?.read(bytes)
    }
}

/// Opens the two sockets of this side, one for each direction. In each direction, the sending end
/// connects.
pub(crate) fn open_unix(
    rendezvous: &Rendezvous<'_>,
) -> io::Result<(StreamSender<PolledSocket>, StreamReceiver<PolledSocket>)> {
    let [out, back] = rendezvous.paths().map(|path| path.with_extension("stream"));
    // WHY the near side listens on both: it opens first.
    let open = |path: &Path| -> io::Result<PolledSocket> {
        if rendezvous.is_near_end() {
            let listener = UnixListener::bind(path)?;
            listener.set_nonblocking(true)?;
            return Ok(PolledSocket {
                listener: Some(listener),
                stream: None,
            });
        }
        let stream = UnixStream::connect(path)?;
        stream.set_nonblocking(true)?;
        request_buffers(&stream)?;
        Ok(PolledSocket {
            listener: None,
            stream: Some(stream),
        })
    };
    Ok((
        StreamSender::new(open(&out)?),
        StreamReceiver::new(open(&back)?),
    ))
}

/// Opens the two pipes of this side, one for each direction. Creates them if they do not exist.
pub(crate) fn open_pipes(
    rendezvous: &Rendezvous<'_>,
) -> io::Result<(StreamSender<File>, StreamReceiver<File>)> {
    let [out, back] = rendezvous.paths().map(|path| path.with_extension("pipe"));
    Ok((
        StreamSender::new(create_pipe(&out)?),
        StreamReceiver::new(create_pipe(&back)?),
    ))
}

fn create_pipe(path: &Path) -> io::Result<File> {
    let file = open_fifo(path, libc::O_NONBLOCK)?;
    // WHY ignored: if the kernel will not, the pipe stays as it is.
    let _ = fcntl_setpipe_size(&file, PIPE_BYTES);
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

/// A sending end of a byte stream, with the number of bytes of the current message that have been
/// sent.
#[derive(Debug)]
pub(crate) struct StreamSender<B> {
    channel: B,
    sent: usize,
}

impl<B> StreamSender<B> {
    fn new(channel: B) -> Self {
        StreamSender { channel, sent: 0 }
    }
}

impl<P: Packet, B: Write> Endpoint<P> for StreamSender<B> {
    #[inline(always)]
    fn send(&mut self, message: &P) -> bool {
        let rest = &horus_shm::bytes_of(message)[self.sent..];
        if let Ok(count) = self.channel.write(rest) {
            self.sent += count;
        }
        reset_if_whole(&mut self.sent, P::BYTES)
    }
}

/// A receiving end of a byte stream, with the number of bytes of the current message that have been
/// received.
#[derive(Debug)]
pub(crate) struct StreamReceiver<B> {
    channel: B,
    received: usize,
    /// A buffer for reads. Between two reads, its first `buffered` bytes are the beginning of a
    /// message whose remaining bytes have not been read yet.
    buffer: Box<[u8]>,
    buffered: usize,
}

impl<B> StreamReceiver<B> {
    fn new(channel: B) -> Self {
        let buffer = vec![0; READ_BYTES].into_boxed_slice();
        StreamReceiver {
            channel,
            received: 0,
            buffer,
            buffered: 0,
        }
    }
}

impl<P: Packet, B: Read> Endpoint<P> for StreamReceiver<B> {
    /// Receives the next part of a message into `message`. Returns true when the message is
    /// complete. Until then, the caller must pass the same `message` again.
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
        reset_if_whole(&mut self.received, P::BYTES)
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

/// If `count` has reached `bytes`, sets it to 0 and returns true; otherwise returns false. `count`
/// is the number of bytes of the current message that have been sent or received.
#[inline(always)]
fn reset_if_whole(count: &mut usize, bytes: usize) -> bool {
    if *count == bytes {
        *count = 0;
        return true;
    }
    std::hint::spin_loop();
    false
}
