//! Datagram sockets: UDP over the loopback device, and Unix sockets in the file system.

use std::ffi::c_uint;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixDatagram;
use std::ptr::null_mut;

use bytemuck::{bytes_of, bytes_of_mut};
use rustix::io::ioctl_fionbio;
use rustix::net::{self, RecvFlags, SendFlags, sockopt};

use crate::measure::endpoint::Endpoint;
use crate::transport::driver;
use crate::transport::packet::Packet;
use crate::transport::rendezvous::{OpenResult, Rendezvous};

/// Buffer size that a socket requests for each direction, in bytes.
const SOCKET_BUFFER_BYTES: usize = 4 << 20;

/// Maximum number of small datagrams that one call receives.
const DATAGRAMS_PER_CALL_MAX: usize = 64;

const RECEIVE_BUFFER_BYTES: usize = 256 << 10;

/// Opens the UDP socket of this side. Each side writes the address of its socket to a file, where
/// the other side finds it.
pub(crate) fn open_udp<P: Packet>(rendezvous: &Rendezvous<'_>) -> OpenResult {
    let [peer, own] = rendezvous
        .file_paths()
        .map(|path| path.with_extension("udp"));
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    fs::write(own, socket.local_addr()?.to_string())?;
    let descriptor = socket.try_clone()?.into();
    let connect = move || socket.connect(fs::read_to_string(&peer)?);
    connected_driver::<P, true>(rendezvous, descriptor, connect)
}

/// Opens the Unix datagram socket of this side, which has a path in the file system.
pub(crate) fn open_unix_datagram<P: Packet>(rendezvous: &Rendezvous<'_>) -> OpenResult {
    let [peer, own] = rendezvous.file_paths();
    let socket = UnixDatagram::bind(own)?;
    let descriptor = socket.try_clone()?.into();
    connected_driver::<P, false>(rendezvous, descriptor, move || socket.connect(&peer))
}

/// Returns a driver for a socket that `connect` connects to the socket of the other side. `DROPS`
/// is true if a full buffer drops datagrams.
fn connected_driver<P: Packet, const DROPS: bool>(
    rendezvous: &Rendezvous<'_>,
    socket: OwnedFd,
    connect: impl FnOnce() -> io::Result<()> + 'static,
) -> OpenResult {
    ioctl_fionbio(&socket, true)?;
    request_socket_buffers(&socket)?;
    let open = move || {
        connect()?;
        let bytes = Vec::new();
        Ok(driver::one_side_driver::<P>(PolledSocket::<DROPS> {
            socket,
            bytes,
        }))
    };
    if rendezvous.is_near_end() {
        return Ok(driver::lazily_opened_driver(open));
    }
    open()
}

/// A datagram socket that is connected to the socket of the other side. It is polled and never
/// blocks.
struct PolledSocket<const DROPS: bool> {
    socket: OwnedFd,
    /// Buffer for the datagrams that one call receives.
    bytes: Vec<u8>,
}

impl<P: Packet, const DROPS: bool> Endpoint<P> for PolledSocket<DROPS> {
    const MAY_DROP_MESSAGES: bool = DROPS;

    #[inline(always)]
    fn send(&mut self, message: &P) -> bool {
        let sent = net::send(&self.socket, bytes_of(message), SendFlags::NOSIGNAL);
        is_whole_message(sent, P::BYTES)
    }

    #[inline(always)]
    fn recv(&mut self, message: &mut P) -> bool {
        let bytes = bytes_of_mut(message);
        let received = net::recv(&self.socket, bytes, RecvFlags::empty());
        is_whole_message(received.map(|(_, length)| length), P::BYTES)
    }

    /// Receives datagrams with one call (`recvmmsg`) and passes each to `each`.
    #[inline(always)]
    fn drain(&mut self, message: &mut P, each: &mut impl FnMut(&P)) -> bool {
        let room = (RECEIVE_BUFFER_BYTES / P::BYTES).clamp(1, DATAGRAMS_PER_CALL_MAX);
        self.bytes.resize(room * P::BYTES, 0);
        // SAFETY: `iovec` is plain data, for which all zeroes is a valid value.
        let mut parts: [libc::iovec; DATAGRAMS_PER_CALL_MAX] = unsafe { std::mem::zeroed() };
        // SAFETY: `mmsghdr` is plain data, for which all zeroes is a valid value.
        let mut heads: [libc::mmsghdr; DATAGRAMS_PER_CALL_MAX] = unsafe { std::mem::zeroed() };
        let slots = self.bytes.chunks_exact_mut(P::BYTES);
        for ((bytes, part), head) in slots.zip(&mut parts).zip(&mut heads) {
            part.iov_base = bytes.as_mut_ptr().cast();
            part.iov_len = P::BYTES;
            head.msg_hdr.msg_iov = part;
            head.msg_hdr.msg_iovlen = 1;
        }
        let (fd, heads_at, room) = (self.socket.as_raw_fd(), heads.as_mut_ptr(), room as c_uint);
        // SAFETY: `room` heads are filled, each with one part of its own in `bytes`, and all of
        // them outlive the call.
        let count = unsafe { libc::recvmmsg(fd, heads_at, room, libc::MSG_DONTWAIT, null_mut()) };
        let count = usize::try_from(count).unwrap_or(0);
        let mut last: &[u8] = &[];
        for (bytes, head) in self.bytes.chunks_exact(P::BYTES).zip(&heads).take(count) {
            // The last message of a stream is sent again until it is heard: see
            // `Endpoint::MAY_DROP_MESSAGES`.
            if bytes == last {
                continue;
            }
            last = bytes;
            bytes_of_mut(message).copy_from_slice(bytes);
            // A datagram of another length is none of ours: its end would be of an older one. No
            // message has number 0, so it is reported as corrupt.
            if head.msg_len as usize != P::BYTES {
                *message = P::compose(0);
            }
            each(message);
        }
        if count == 0 {
            std::hint::spin_loop();
        }
        count > 0
    }
}

/// Requests large buffers for a socket. The kernel grants as much as its limits allow.
pub(crate) fn request_socket_buffers(socket: impl AsFd) -> io::Result<()> {
    sockopt::set_socket_send_buffer_size(&socket, SOCKET_BUFFER_BYTES)?;
    Ok(sockopt::set_socket_recv_buffer_size(
        &socket,
        SOCKET_BUFFER_BYTES,
    )?)
}

/// Returns true if a non-blocking call sent or received a whole message. Errors mean that it would
/// have blocked, or that the other side is gone, which the watch detects.
fn is_whole_message(result: rustix::io::Result<usize>, message_bytes: usize) -> bool {
    let done = matches!(result, Ok(count) if count == message_bytes);
    if !done {
        std::hint::spin_loop();
    }
    done
}
