//! What carries messages between two processes: our topics beside what the kernel offers, and a
//! ring as it is usually written.
//!
//! All are polled, never blocked on: a wake-up by the kernel would cost more than any of them. The
//! kernel's have the largest buffers that it grants.

mod datagram;
mod queue;
mod ring;
mod stream;

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use horus_core::TopicError;
use horus_core::topic::{Qos, Topic};
use horus_shm::Namespace;
use serde::{Deserialize, Serialize};

use crate::measure::pin::CpuPair;
use crate::measure::tsc::TickSource;
use crate::run::child::{ChildContext, ChildSpec};
use crate::run::namespace::PrivateNamespace;
use crate::scenario::contest::Entrant;
use crate::transport::packet::{
    Packet, Packet8, Packet32, Packet304, Packet1480, Packet4096, Packet16384, Packet65536,
};
use crate::transport::pair::{self, Pair, Way};
use crate::transport::path_pair::PathError;
use crate::transport::side::{self, OpenPathError, Side};

/// The role of a child process that is the far side of transports; serve it with [`serve_child`].
pub const TRANSPORT_ROLE: &str = "transport";

/// What a datagram of UDP can carry.
const UDP_BYTES_MAX: usize = 65_507;

/// Messages that a ring or a topic holds, and for messages of 4 KiB and more.
const CAPACITY: (usize, usize) = (256, 32);

/// What carries the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Carrier {
    /// Our topic, best effort.
    Topic,
    /// Our topic, reliable.
    TopicReliable,
    /// A ring in shared memory with a head and a tail.
    HeadTailRing,
    /// UDP over the loopback device.
    Udp,
    /// Datagrams between sockets in the file system.
    UnixDatagram,
    /// A stream between sockets in the file system.
    UnixStream,
    /// Two pipes in the file system.
    Pipe,
    /// POSIX message queues.
    MessageQueue,
}

impl Carrier {
    /// As the rows are ordered.
    pub const ALL: [Carrier; 8] = [
        Carrier::Topic,
        Carrier::TopicReliable,
        Carrier::HeadTailRing,
        Carrier::Udp,
        Carrier::UnixDatagram,
        Carrier::UnixStream,
        Carrier::Pipe,
        Carrier::MessageQueue,
    ];

    /// As it is written in ids.
    pub const fn id(self) -> &'static str {
        match self {
            Carrier::Topic => "topic",
            Carrier::TopicReliable => "topic_reliable",
            Carrier::HeadTailRing => "head_tail_ring",
            Carrier::Udp => "udp",
            Carrier::UnixDatagram => "unix_datagram",
            Carrier::UnixStream => "unix_stream",
            Carrier::Pipe => "pipe",
            Carrier::MessageQueue => "posix_mq",
        }
    }

    /// How it is used.
    const fn basis(self) -> &'static str {
        match self {
            Carrier::Topic => "best-effort topic; send; recv_into, streams received by drain",
            Carrier::TopicReliable => "reliable topic; send; recv_into, streams received by drain",
            Carrier::HeadTailRing => {
                "head and tail in lines of their own, each end caches the other; streams received \
                 in place, all there is at once"
            }
            Carrier::Udp | Carrier::UnixDatagram => {
                "connected, not blocking, polled, 4 MiB of buffer asked for; send; recv, streams \
                 received by recvmmsg of up to 64"
            }
            Carrier::UnixStream => {
                "not blocking, polled, 4 MiB of buffer asked for; write; read, streams received by \
                 reads of up to 256 KiB"
            }
            Carrier::Pipe => {
                "not blocking, polled, 1 MiB of buffer asked for; write; read, streams received by \
                 reads of up to 256 KiB"
            }
            Carrier::MessageQueue => {
                "not blocking, polled, as many messages as are allowed; mq_send; mq_receive, also \
                 of streams: there is no call for several"
            }
        }
    }

    const fn is_ours(self) -> bool {
        matches!(self, Carrier::Topic | Carrier::TopicReliable)
    }

    /// Why messages of so many bytes cannot be carried here, if so.
    fn refusal(self, bytes: usize) -> Option<String> {
        match self {
            Carrier::Udp if bytes > UDP_BYTES_MAX => {
                Some(format!("a datagram holds {UDP_BYTES_MAX} bytes"))
            }
            Carrier::MessageQueue => match queue::message_bytes_max() {
                None => Some("this kernel has no message queues".to_owned()),
                Some(max) if bytes > max => Some(format!("a message holds {max} bytes")),
                Some(_) => None,
            },
            _ => None,
        }
    }
}

/// Bytes of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Bytes {
    B8,
    B32,
    B304,
    B1480,
    Kib4,
    Kib16,
    Kib64,
}

impl Bytes {
    /// From small to large.
    pub const ALL: [Bytes; 7] =
        [Bytes::B8, Bytes::B32, Bytes::B304, Bytes::B1480, Bytes::Kib4, Bytes::Kib16, Bytes::Kib64];

    /// The number.
    pub const fn count(self) -> usize {
        match self {
            Bytes::B8 => 8,
            Bytes::B32 => 32,
            Bytes::B304 => 304,
            Bytes::B1480 => 1480,
            Bytes::Kib4 => 4096,
            Bytes::Kib16 => 16_384,
            Bytes::Kib64 => 65_536,
        }
    }
}

/// A carrier there, and one of the same kind back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transport {
    /// What carries the messages.
    pub carrier: Carrier,
    /// How large they are.
    pub bytes: Bytes,
}

impl Transport {
    /// All that can carry messages of that size; and why others cannot.
    pub fn entrants(bytes: Bytes) -> (Vec<Entrant<Transport>>, Vec<(Carrier, String)>) {
        let (mut entrants, mut refused) = (Vec::new(), Vec::new());
        for carrier in Carrier::ALL {
            match carrier.refusal(bytes.count()) {
                Some(reason) => refused.push((carrier, reason)),
                None => entrants.push(Entrant {
                    name: carrier.id(),
                    way: Transport { carrier, bytes },
                    is_ours: carrier.is_ours(),
                    basis: carrier.basis(),
                }),
            }
        }
        (entrants, refused)
    }

    fn capacity(self) -> usize {
        if self.bytes.count() < 4096 { CAPACITY.0 } else { CAPACITY.1 }
    }
}

/// One side's view of a connection.
#[derive(Debug)]
struct Place<'a> {
    namespace: &'a Arc<Namespace>,
    number: u64,
    /// This side opens first.
    is_near: bool,
    capacity: usize,
}

impl Place<'_> {
    /// The names of what goes out from this side, and of what comes back to it.
    fn names(&self) -> [String; 2] {
        let [there, back] = ["there", "back"].map(|end| format!("{end}-{}", self.number));
        if self.is_near { [there, back] } else { [back, there] }
    }

    /// Files for [`names`](Self::names), in the private directory.
    fn paths(&self) -> [PathBuf; 2] {
        self.names().map(|name| self.directory().join(name))
    }

    fn directory(&self) -> PathBuf {
        let topics = self.namespace.topics_path();
        topics.parent().map_or(topics.clone(), Path::to_path_buf)
    }
}

impl Way for Transport {
    type Meeting = Arc<Namespace>;

    fn near(self, meeting: &Arc<Namespace>, number: u64) -> Result<Box<dyn Side>, OpenPathError> {
        self.open(meeting, number, true)
    }

    fn far(self, meeting: &Arc<Namespace>, number: u64) -> Result<Box<dyn Side>, OpenPathError> {
        self.open(meeting, number, false)
    }

    fn producers(self) -> u64 {
        1
    }

    fn is_lossless(self) -> bool {
        !matches!(self.carrier, Carrier::Topic | Carrier::Udp)
    }
}

impl Transport {
    fn open(
        self,
        namespace: &Arc<Namespace>,
        number: u64,
        is_near: bool,
    ) -> Result<Box<dyn Side>, OpenPathError> {
        let place = Place { namespace, number, is_near, capacity: self.capacity() };
        match self.bytes {
            Bytes::B8 => open::<Packet8>(self.carrier, &place),
            Bytes::B32 => open::<Packet32>(self.carrier, &place),
            Bytes::B304 => open::<Packet304>(self.carrier, &place),
            Bytes::B1480 => open::<Packet1480>(self.carrier, &place),
            Bytes::Kib4 => open::<Packet4096>(self.carrier, &place),
            Bytes::Kib16 => open::<Packet16384>(self.carrier, &place),
            Bytes::Kib64 => open::<Packet65536>(self.carrier, &place),
        }
    }
}

fn open<P: Packet>(carrier: Carrier, place: &Place<'_>) -> Result<Box<dyn Side>, OpenPathError> {
    Ok(match carrier {
        Carrier::Topic => topic::<P>(Qos::new(), place)?,
        Carrier::TopicReliable => topic::<P>(Qos::reliable(), place)?,
        Carrier::HeadTailRing => {
            let [out, back] = place.paths();
            let [out, back] = [ring::open::<P>(&out, place)?, ring::open::<P>(&back, place)?];
            side::joined_here::<P, _, _>(ring::Producer::new(out), ring::Consumer::new(back))
        }
        Carrier::Udp => {
            let socket = datagram::udp(place)?;
            side::joined_here::<P, _, _>(socket.try_clone()?, socket)
        }
        Carrier::UnixDatagram => {
            let socket = datagram::unix(place)?;
            side::joined_here::<P, _, _>(socket.try_clone()?, socket)
        }
        Carrier::UnixStream => {
            let (out, back) = stream::unix(place)?;
            side::joined_here::<P, _, _>(out, back)
        }
        Carrier::Pipe => {
            let (out, back) = stream::pipes(place)?;
            side::joined_here::<P, _, _>(out, back)
        }
        Carrier::MessageQueue => {
            let [out, back] = place.names();
            let open = |name| queue::Queue::open(name, P::BYTES, place);
            side::joined_here::<P, _, _>(open(&out)?, open(&back)?)
        }
    })
}

fn topic<P: Packet>(qos: Qos, place: &Place<'_>) -> Result<Box<dyn Side>, TopicError> {
    let qos = qos.capacity(place.capacity as u64);
    let [out, back] = place.names();
    let builder = |name| Topic::<P>::builder(name).namespace(place.namespace).qos(qos);
    Ok(side::joined_here::<P, _, _>(builder(&*out).publisher()?, builder(&*back).subscriber()?))
}

/// Starts the far side in a process pinned to `cpus.far`.
pub fn start(
    cpus: CpuPair,
    source: TickSource,
    private: &PrivateNamespace,
) -> Result<Pair<Transport>, PathError> {
    let env = &private.environment();
    let (role, cpu, share_cpu) = (TRANSPORT_ROLE, cpus.far, cpus.oversubscribed());
    let spec = ChildSpec { role, cpu, share_cpu, memory: None, env };
    Pair::processes(&spec, source, private.open()?)
}

/// Serves [`TRANSPORT_ROLE`] in a child process until the parent hangs up.
pub fn serve_child(context: &ChildContext) -> ExitCode {
    match Namespace::current() {
        Ok(namespace) => pair::serve::<Transport>(context, namespace),
        Err(error) => {
            eprintln!("child process '{}': {error}", context.role());
            ExitCode::FAILURE
        }
    }
}

/// What a call on something that does not block came to: true if it was done, false if it has to
/// wait. Anything else means that the other end is gone, which its watch finds out.
fn done(result: io::Result<usize>, bytes: usize) -> bool {
    let done = matches!(result, Ok(count) if count == bytes);
    if !done {
        std::hint::spin_loop();
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::pin;
    use crate::measure::workload::Timing;

    #[test]
    fn every_transport_carries_rounds_and_streams_of_every_size() {
        let cpu = pin::allowed_cpus().unwrap()[0];
        let cpus = CpuPair { near: cpu, far: cpu };
        let private = PrivateNamespace::create().unwrap();
        // A thread of its own, so that the test runner's threads keep their freedom.
        std::thread::spawn(move || {
            pin::pin_current_thread(cpu).unwrap();
            let namespace = private.open().unwrap();
            let both = [Arc::clone(&namespace), namespace];
            let mut pair = Pair::<Transport>::threads(cpus, TickSource::detect(), both).unwrap();
            for bytes in Bytes::ALL {
                let (entrants, refused) = Transport::entrants(bytes);
                assert_eq!(entrants.len() + refused.len(), Carrier::ALL.len());
                for entrant in entrants {
                    pair.open(entrant.way).unwrap();
                    let (round, echo) = pair.round(Timing::RoundTrip, 2, 10).unwrap();
                    assert_eq!((round.received, echo.echoed), (10, 12), "{entrant:?}");
                    let (_, streamed) = pair.stream(200).unwrap();
                    assert_eq!(streamed.sent(), 200, "{entrant:?}");
                    assert!(streamed.lost == 0 || !entrant.way.is_lossless(), "{entrant:?}");
                }
            }
            pair.close().unwrap();
        })
        .join()
        .unwrap();
    }
}
