//! Streams of bytes: sockets and pipes in the file system. A message is as many bytes as it has.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;

use super::Place;
use super::datagram::ask_for_buffers;
use crate::ends::{Rx, Tx};
use crate::packet::Packet;

/// Buffer asked for in a pipe: what the kernel allows by default.
const PIPE_BYTES: libc::c_int = 1 << 20;

/// What bytes go through.
#[derive(Debug)]
enum Channel {
    Pipe(File),
    Socket(Arc<UnixStream>),
    /// The near side's, until the far side has connected.
    Listening(UnixListener),
}

impl Channel {
    /// Does `work` with the socket or the pipe; `WouldBlock` if the other side is not there yet.
    #[inline(always)]
    fn with(
        &mut self,
        pipe: impl FnOnce(&mut &File) -> io::Result<usize>,
        socket: impl FnOnce(&mut &UnixStream) -> io::Result<usize>,
    ) -> io::Result<usize> {
        match self {
            Channel::Pipe(file) => pipe(&mut &*file),
            Channel::Socket(stream) => socket(&mut &**stream),
            Channel::Listening(_) => Err(io::ErrorKind::WouldBlock.into()),
        }
    }
}

/// A sending end; remembers how much of a message has gone.
#[derive(Debug)]
pub(super) struct Out {
    channel: Channel,
    sent: usize,
}

/// A receiving end; remembers how much of a message has come.
#[derive(Debug)]
pub(super) struct Back {
    channel: Channel,
    buffer: Vec<u8>,
    received: usize,
}
