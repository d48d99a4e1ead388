//! Opens one side of a transport, for any carrier and message size.

use horus_core::message::{CmdVel, Imu, JointCommand, LaserScan};
use horus_core::topic::{Qos, Topic};
use horus_shm::{FanoutShm, MpscShm, PodShm, RingOptions, SpscShm};

use crate::measure::payload::Payload;
use crate::transport::carrier::{Carrier, MessageSize, Transport};
use crate::transport::channels;
use crate::transport::driver;
use crate::transport::endpoints::{BorrowSubscriber, LatestValueConsumer, LoanPublisher};
use crate::transport::groups::{AlternatingSenders, BroadcastPair};
use crate::transport::head_tail_ring::HeadTailRingEnd;
#[cfg(feature = "iceoryx2")]
use crate::transport::iceoryx;
use crate::transport::kernel::{datagram, stream};
use crate::transport::large;
use crate::transport::packet::{
    Packet, Packet8, Packet16, Packet32, Packet304, Packet1480, Packet4096, Packet16384,
    Packet65536, with_packet,
};
use crate::transport::rendezvous::{OpenResult, Rendezvous, SideRole, unsupported_transport_error};
use crate::transport::wakeup;

impl Transport {
    /// Opens the side of the transport that `rendezvous` describes.
    pub fn open(self, rendezvous: &Rendezvous<'_>) -> OpenResult {
        match self.carrier {
            Carrier::Channel(..) => channels::open(self, rendezvous),
            Carrier::SpscShm | Carrier::MpscShm | Carrier::FanoutShm | Carrier::PodShm => {
                with_packet!(
                    open_ring(self, rendezvous);
                    Packet8, Packet16, Packet304, Packet1480, Packet4096, Packet16384, Packet65536
                )
            }
            Carrier::SpmcShm | Carrier::FanoutShm2p2s | Carrier::FanoutShmDuplex => {
                with_packet!(open_shared_ring(self, rendezvous); Packet16, Packet304, Packet1480)
            }
            Carrier::Topic | Carrier::TopicReliable | Carrier::TopicReliableSole => with_packet!(
                open_topic(self, rendezvous);
                Packet8, Packet16, Packet32, Packet304, Packet1480, Packet4096, Packet16384,
                Packet65536; CmdVel, Imu, JointCommand, LaserScan
            ),
            Carrier::TopicDefault | Carrier::TopicLoan | Carrier::TopicDuplex => with_packet!(
                open_topic(self, rendezvous); Packet16, Packet304, Packet1480, Packet65536
            ),
            Carrier::Wakeup(mechanism) => wakeup::open(mechanism, rendezvous),
            Carrier::LargeCopy | Carrier::LargeLoan => large::open(self, rendezvous),
            Carrier::HeadTailRing
            | Carrier::Udp
            | Carrier::UnixDatagram
            | Carrier::UnixStream
            | Carrier::Pipe => with_packet!(
                open_kernel_or_head_tail_ring(self, rendezvous);
                Packet8, Packet32, Packet304, Packet1480, Packet4096, Packet16384, Packet65536
            ),
            Carrier::Iceoryx2
            | Carrier::Iceoryx2Loan
            | Carrier::Iceoryx2Local
            | Carrier::Iceoryx2Stream
            | Carrier::Iceoryx2Duplex => {
                #[cfg(feature = "iceoryx2")]
                return iceoryx::open(self, rendezvous);
                #[cfg(not(feature = "iceoryx2"))]
                Err(unsupported_transport_error(self))
            }
        }
    }
}

/// Opens a ring of type `$ring` for one direction. Creates it if it does not exist.
macro_rules! ring {
    ($ring:ident, $options:expr, $rendezvous:expr, $direction:expr) => {
        match $direction.create {
            true => $ring::<P>::create($rendezvous.namespace, &$direction.name, &$options)?,
            false => $ring::<P>::open($rendezvous.namespace, &$direction.name, &$options)?,
        }
    };
}

/// Opens two rings of type `$ring`, one for each direction. Creates them if they do not exist.
macro_rules! rings {
    ($ring:ident, $options:expr, $rendezvous:expr) => {{
        let [out, back] = $rendezvous.directions();
        let out = ring!($ring, $options, $rendezvous, out);
        (out, ring!($ring, $options, $rendezvous, back))
    }};
}

/// Opens a ring that has one endpoint on each side, or two producers if it is an MPSC ring.
fn open_ring<P: Packet>(transport: Transport, rendezvous: &Rendezvous<'_>) -> OpenResult {
    let options = RingOptions::capacity(transport.size.capacity());
    Ok(match transport.carrier {
        Carrier::SpscShm => {
            let (out, back) = rings!(SpscShm, options, rendezvous);
            rendezvous.make_driver::<P>((out.producer()?, back.consumer()?))
        }
        Carrier::MpscShm => {
            let (out, back) = rings!(MpscShm, options, rendezvous);
            let producers = AlternatingSenders::new([out.producer()?, out.producer()?]);
            rendezvous.make_driver::<P>((producers, back.consumer()?))
        }
        Carrier::FanoutShm => {
            let (out, back) = rings!(FanoutShm, options, rendezvous);
            rendezvous.make_driver::<P>((out.producer()?, back.consumer()?))
        }
        Carrier::PodShm => {
            let (out, back) = rings!(PodShm, RingOptions::default(), rendezvous);
            driver::one_side_driver::<P>((out.producer()?, LatestValueConsumer(back.consumer()?)))
        }
        _ => return Err(unsupported_transport_error(transport)),
    })
}

/// Opens an open ring that has two consumers, or that serves both directions.
fn open_shared_ring<P: Packet>(transport: Transport, rendezvous: &Rendezvous<'_>) -> OpenResult {
    let options = RingOptions::capacity(transport.size.capacity());
    if transport.carrier == Carrier::FanoutShmDuplex {
        let shared = rendezvous.shared_direction();
        let ring = ring!(FanoutShm, options, rendezvous, shared);
        let ends = (ring.producer()?, ring.consumer()?);
        return Ok(driver::duplex_side_driver::<P>(ends, shared.create));
    }
    let (out, back) = rings!(FanoutShm, options, rendezvous);
    let consumers = BroadcastPair::new([back.consumer()?, back.consumer()?]);
    if transport.carrier == Carrier::SpmcShm {
        return Ok(driver::one_side_driver::<P>((out.producer()?, consumers)));
    }
    let producers = AlternatingSenders::new([out.producer()?, out.producer()?]);
    Ok(driver::one_side_driver::<P>((producers, consumers)))
}

fn open_topic<P: Packet>(transport: Transport, rendezvous: &Rendezvous<'_>) -> OpenResult {
    let capacity = transport.size.capacity();
    let qos = match transport.carrier {
        Carrier::Topic | Carrier::TopicDuplex => Qos::new().capacity(capacity),
        Carrier::TopicReliable => Qos::reliable().capacity(capacity),
        // WHY: the setting makes streams of small messages faster on some CPUs, and is not the
        // default.
        Carrier::TopicReliableSole => Qos::reliable().capacity(capacity).subscribers_max(1),
        Carrier::TopicDefault => Qos::new(),
        _ => Qos::new().pinnable(true),
    };
    let builder = |name: &str| {
        Topic::<P>::builder(name)
            .namespace(rendezvous.namespace)
            .qos(qos)
    };
    let [out, back] = rendezvous.directions();
    if rendezvous.role == SideRole::Loop {
        // WHY: one thread that has both ends shares a mapping between them. What is stored through
        // one mapping is forwarded late to a load through another (`mmap_write_read`).
        let ends = builder(&out.name).topic()?.split();
        return Ok(driver::both_ends_driver::<P>(ends));
    }
    if transport.carrier == Carrier::TopicDuplex {
        let shared = rendezvous.shared_direction();
        let ends = (
            builder(&shared.name).publisher()?,
            builder(&shared.name).subscriber()?,
        );
        return Ok(driver::duplex_side_driver::<P>(ends, shared.create));
    }
    let (out, back) = (
        builder(&out.name).publisher()?,
        builder(&back.name).subscriber()?,
    );
    Ok(match transport.carrier {
        Carrier::TopicLoan => {
            driver::one_side_driver::<P>((LoanPublisher(out), BorrowSubscriber(back)))
        }
        _ => driver::one_side_driver::<P>((out, back)),
    })
}

/// Opens a carrier that is not ours: a transport of the kernel, or the ring with a head and a tail.
fn open_kernel_or_head_tail_ring<P: Packet>(
    transport: Transport,
    rendezvous: &Rendezvous<'_>,
) -> OpenResult {
    match transport.carrier {
        Carrier::HeadTailRing => {
            let capacity = transport.size.capacity();
            let [out, back] = rendezvous.file_paths();
            let ends = (
                HeadTailRingEnd::open(&out, capacity)?,
                HeadTailRingEnd::open(&back, capacity)?,
            );
            Ok(driver::one_side_driver::<P>(ends))
        }
        Carrier::Udp => datagram::open_udp::<P>(rendezvous),
        Carrier::UnixDatagram => datagram::open_unix_datagram::<P>(rendezvous),
        Carrier::UnixStream => stream::open_unix_stream::<P>(rendezvous),
        Carrier::Pipe => stream::open_pipes::<P>(rendezvous),
        _ => Err(unsupported_transport_error(transport)),
    }
}
