//! Datagram sockets: UDP over the loopback device, and Unix sockets in the file system.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;

use rustix::net::sockopt;

use crate::measure::endpoint::Endpoint;
use crate::transport::packet::Packet;
use crate::transport::rendezvous::Rendezvous;

/// Buffer size that a socket requests for each direction, in bytes.
const BUFFER_BYTES: usize = 4 << 20;

/// Maximum number of small datagrams that one call receives.
const BATCH_DATAGRAMS_MAX: usize = 64;

const BATCH_BYTES: usize = 256 << 10;

/// Buffers for the datagrams that one call receives.
#[derive(Debug, Default)]
struct DatagramBatch {
    bytes: Vec<u8>,
}

impl DatagramBatch {
    /// Receives datagrams with one call (`recvmmsg`) and passes each to `each`.
    #[inline(always)]
    fn receive<P: Packet>(
        &mut self,
        fd: RawFd,
        message: &mut P,
        each: &mut impl FnMut(&P),
    ) -> bool {
        let room = (BATCH_BYTES / P::BYTES).clamp(1, BATCH_DATAGRAMS_MAX);
        self.bytes.resize(room * P::BYTES, 0);
        let mut parts = [libc::iovec {
            iov_base: std::ptr::null_mut(),
            iov_len: 0,
        }; BATCH_DATAGRAMS_MAX];
        // SAFETY: `mmsghdr` is plain data, for which all zeroes is a valid value.
        let mut heads: [libc::mmsghdr; BATCH_DATAGRAMS_MAX] = unsafe { std::mem::zeroed() };
        let slots = self
            .bytes
            .chunks_exact_mut(P::BYTES)
            .zip(&mut parts)
            .zip(&mut heads);
        for ((bytes, part), head) in slots {
            *part = libc::iovec {
                iov_base: bytes.as_mut_ptr().cast(),
                iov_len: P::BYTES,
            };
            head.msg_hdr.msg_iov = part;
            head.msg_hdr.msg_iovlen = 1;
        }
        let heads_at = heads.as_mut_ptr();
        let flags = libc::MSG_DONTWAIT;
        // SAFETY: `room` heads are filled, each with one part of its own in `bytes`, and all of
        // them outlive the call.
        let count = unsafe {
            libc::recvmmsg(
                fd,
                heads_at,
                room as libc::c_uint,
                flags,
                std::ptr::null_mut(),
            )
        };
        let count = usize::try_from(count).unwrap_or(0);
        let mut last: &[u8] = &[];
        for (bytes, head) in self.bytes.chunks_exact(P::BYTES).zip(&heads).take(count) {
            // The last message of a stream is sent again until it is heard: see
            // `Endpoint::MAY_DROP_LAST`.
            if bytes == last {
                continue;
            }
            last = bytes;
            bytemuck::bytes_of_mut(message).copy_from_slice(bytes);
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

/// A UDP socket that is connected to the socket of the other side. It is polled and never blocks.
#[derive(Debug)]
pub(crate) struct PolledUdp {
    socket: UdpSocket,
    batch: DatagramBatch,
}

/// Opens the UDP socket of this side.
///
/// The near side binds its socket to any free port of an address that only this run uses. The far
/// side binds its socket to the same port of the next address. So each side knows the other side's
/// address before the other side has opened its socket.
pub(crate) fn open_udp(rendezvous: &Rendezvous<'_>) -> io::Result<PolledUdp> {
    let file = rendezvous
        .directory()
        .join(format!("udp-{}", rendezvous.number));
    let (socket, peer) = if rendezvous.is_near_end() {
        let [_, high, low, _] = (std::process::id() << 8).to_be_bytes();
        let socket = UdpSocket::bind((Ipv4Addr::new(127, high | 1, low, 1), 0))?;
        let SocketAddr::V4(own) = socket.local_addr()? else {
            unreachable!("it was bound to IPv4")
        };
        fs::write(&file, own.to_string())?;
        (socket, SocketAddrV4::new(far_address(own), own.port()))
    } else {
        let peer: SocketAddrV4 = fs::read_to_string(&file)?
            .parse()
            .map_err(io::Error::other)?;
        (UdpSocket::bind((far_address(peer), peer.port()))?, peer)
    };
    socket.connect(peer)?;
    socket.set_nonblocking(true)?;
    request_buffers(&socket)?;
    Ok(PolledUdp {
        socket,
        batch: DatagramBatch::default(),
    })
}

/// Returns the address of the far side's socket, which follows the address of the near side's
/// socket.
fn far_address(near: SocketAddrV4) -> Ipv4Addr {
    Ipv4Addr::from_bits(near.ip().to_bits() + 1)
}

/// A Unix datagram socket that has a path in the file system. It is polled and never blocks.
#[derive(Debug)]
pub(crate) struct PolledUnix {
    socket: UnixDatagram,
    /// The path of the other side's socket; `None` after this socket has been connected to it.
    peer: Option<PathBuf>,
    batch: DatagramBatch,
}

/// Opens the Unix socket of this side.
pub(crate) fn open_unix(rendezvous: &Rendezvous<'_>) -> io::Result<PolledUnix> {
    let [peer, own] = rendezvous.paths();
    let socket = UnixDatagram::bind(own)?;
    socket.set_nonblocking(true)?;
    request_buffers(&socket)?;
    Ok(PolledUnix {
        socket,
        peer: Some(peer),
        batch: DatagramBatch::default(),
    })
}

impl PolledUnix {
    #[inline(always)]
    fn await_peer(&mut self) {
        if self.peer.is_some() {
            self.connect();
        }
    }

    /// Connects this socket to the socket of the other side, which must already be open.
    #[cold]
    fn connect(&mut self) {
        let peer = self.peer.take();
        self.peer = peer.filter(|path| self.socket.connect(path).is_err());
    }
}

/// Implements [`Endpoint`] for a datagram socket. `drops` is true if a full buffer drops datagrams;
/// `$before_send` is called before each send.
macro_rules! endpoint {
    ($socket:ty, drops: $drops:literal, $before_send:expr) => {
        impl<P: Packet> Endpoint<P> for $socket {
            const MAY_DROP_LAST: bool = $drops;
            const COUNTS_LOSSES: bool = !$drops;

            #[inline(always)]
            fn send(&mut self, message: &P) -> bool {
                $before_send(self);
                is_whole_message(self.socket.send(horus_shm::bytes_of(message)), P::BYTES)
            }

            #[inline(always)]
            fn recv(&mut self, message: &mut P) -> bool {
                is_whole_message(self.socket.recv(bytemuck::bytes_of_mut(message)), P::BYTES)
            }

            #[inline(always)]
            fn drain(&mut self, message: &mut P, each: &mut impl FnMut(&P)) -> bool {
                self.batch.receive(self.socket.as_raw_fd(), message, each)
            }
        }
    };
}

endpoint!(PolledUdp, drops: true, |_: &mut PolledUdp| {});
endpoint!(PolledUnix, drops: false, PolledUnix::await_peer);

/// Requests large buffers for a socket. The kernel grants as much as its limits allow.
pub(crate) fn request_buffers(socket: impl AsFd) -> io::Result<()> {
    sockopt::set_socket_send_buffer_size(&socket, BUFFER_BYTES)?;
    Ok(sockopt::set_socket_recv_buffer_size(&socket, BUFFER_BYTES)?)
}

/// Returns true if a non-blocking call sent or received a whole message. Returns false if it
/// failed, in most cases because it would have had to block. Other errors mean that the other side
/// is gone, which the watch detects.
fn is_whole_message(result: io::Result<usize>, bytes: usize) -> bool {
    let done = matches!(result, Ok(count) if count == bytes);
    if !done {
        std::hint::spin_loop();
    }
    done
}
