//! Opens one side of a transport, for any carrier and message size.

use horus_core::message::{CmdVel, Imu, JointCommand, LaserScan};
use horus_core::topic::{Qos, Topic};
use horus_shm::{FanoutShm, MpscShm, PodShm, RingOptions, SpscShm};

use crate::measure::payload::Payload;
use crate::transport::carrier::{Carrier, MessageSize, Transport};
use crate::transport::channels;
use crate::transport::driver;
use crate::transport::endpoints::{
    AlternatingSenders, BorrowSubscriber, BroadcastReceivers, LatestConsumer, LoanPublisher,
};
use crate::transport::head_tail_ring;
#[cfg(feature = "iceoryx2")]
use crate::transport::iceoryx;
use crate::transport::kernel::{datagram, queue, stream};
use crate::transport::large;
use crate::transport::packet::{
    Packet, Packet8, Packet16, Packet32, Packet304, Packet1480, Packet4096, Packet16384,
    Packet65536, with_packet,
};
use crate::transport::rendezvous::{OpenResult, Rendezvous, SideRole, unsuited_error};
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
            Carrier::Topic | Carrier::TopicReliable => with_packet!(
                open_topic(self, rendezvous);
                Packet8, Packet16, Packet32, Packet304, Packet1480, Packet4096, Packet16384,
                Packet65536; CmdVel, Imu, JointCommand, LaserScan
            ),
            Carrier::TopicDefault | Carrier::TopicLoan => {
                with_packet!(
                    open_topic(self, rendezvous);
                    Packet16, Packet304, Packet1480, Packet65536
                )
            }
            Carrier::SpmcShm
            | Carrier::FanoutShm2p2s
            | Carrier::FanoutShmDuplex
            | Carrier::TopicDuplex => {
                with_packet!(open_two_endpoints(self, rendezvous); Packet16, Packet304, Packet1480)
            }
            Carrier::Wakeup(mechanism) => wakeup::open(mechanism, rendezvous),
            Carrier::LargeCopy | Carrier::LargeLoan => large::open(self, rendezvous),
            Carrier::HeadTailRing
            | Carrier::Udp
            | Carrier::UnixDatagram
            | Carrier::UnixStream
            | Carrier::Pipe
            | Carrier::MessageQueue => with_packet!(
                open_foreign_carrier(self, rendezvous);
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
                Err(unsuited_error(self))
            }
        }
    }
}

/// Opens a ring of type `$ring` for one direction. Creates it if it does not exist.
macro_rules! ring {
    ($ring:ident, $options:expr, $rendezvous:expr, $direction:expr) => {
        match $direction.create {
            true => $ring::<P>::create($rendezvous.namespace, &$direction.name, &$options),
            false => $ring::<P>::open($rendezvous.namespace, &$direction.name, &$options),
        }
    };
}

/// Opens two rings of type `$ring`, one for each direction. Creates them if they do not exist.
macro_rules! rings {
    ($ring:ident, $options:expr, $rendezvous:expr) => {{
        let [out, back] = $rendezvous.directions();
        (
            ring!($ring, $options, $rendezvous, out)?,
            ring!($ring, $options, $rendezvous, back)?,
        )
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
            driver::one_side_driver::<P>((out.producer()?, LatestConsumer(back.consumer()?)))
        }
        _ => return Err(unsuited_error(transport)),
    })
}

/// Opens a ring or topic that has two senders, or two receivers.
fn open_two_endpoints<P: Packet>(transport: Transport, rendezvous: &Rendezvous<'_>) -> OpenResult {
    let capacity = transport.size.capacity();
    let options = RingOptions::capacity(capacity);
    let shared = rendezvous.shared_direction();
    Ok(match transport.carrier {
        Carrier::SpmcShm => {
            let (out, back) = rings!(FanoutShm, options, rendezvous);
            let consumers = BroadcastReceivers::new([back.consumer()?, back.consumer()?]);
            driver::one_side_driver::<P>((out.producer()?, consumers))
        }
        Carrier::FanoutShm2p2s => {
            let (out, back) = rings!(FanoutShm, options, rendezvous);
            let producers = AlternatingSenders::new([out.producer()?, out.producer()?]);
            let consumers = BroadcastReceivers::new([back.consumer()?, back.consumer()?]);
            driver::one_side_driver::<P>((producers, consumers))
        }
        Carrier::FanoutShmDuplex => {
            let ring = ring!(FanoutShm, options, rendezvous, shared)?;
            driver::duplex_side_driver::<P>((ring.producer()?, ring.consumer()?), shared.create)
        }
        Carrier::TopicDuplex => {
            let builder = Topic::<P>::builder(&shared.name).namespace(rendezvous.namespace);
            let builder = builder.qos(Qos::new().capacity(capacity));
            let ends = (builder.clone().publisher()?, builder.subscriber()?);
            driver::duplex_side_driver::<P>(ends, shared.create)
        }
        _ => return Err(unsuited_error(transport)),
    })
}

fn open_topic<P: Packet>(transport: Transport, rendezvous: &Rendezvous<'_>) -> OpenResult {
    let capacity = transport.size.capacity();
    let qos = match transport.carrier {
        // WHY the limit: these rows are compared with transports that have one receiver, too.
        Carrier::Topic => Qos::new().capacity(capacity).subscribers_max(1),
        Carrier::TopicReliable => Qos::reliable().capacity(capacity).subscribers_max(1),
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
        return Ok(driver::both_ends_driver::<P>(
            builder(&out.name).topic()?.split(),
        ));
    }
    let ends = (
        builder(&out.name).publisher()?,
        builder(&back.name).subscriber()?,
    );
    Ok(match transport.carrier {
        Carrier::TopicLoan => {
            driver::one_side_driver::<P>((LoanPublisher(ends.0), BorrowSubscriber(ends.1)))
        }
        _ => driver::one_side_driver::<P>(ends),
    })
}

/// Opens a carrier that is not ours: a transport of the kernel, or the ring with a head and a tail.
fn open_foreign_carrier<P: Packet>(
    transport: Transport,
    rendezvous: &Rendezvous<'_>,
) -> OpenResult {
    Ok(match transport.carrier {
        Carrier::HeadTailRing => {
            let capacity = transport.size.capacity();
            let ends = head_tail_ring::open_ends::<P>(rendezvous.paths(), capacity)?;
            driver::one_side_driver::<P>(ends)
        }
        Carrier::Udp => driver::one_side_driver::<P>(datagram::open_udp(rendezvous)?),
        Carrier::UnixDatagram => driver::one_side_driver::<P>(datagram::open_unix(rendezvous)?),
        Carrier::UnixStream => driver::one_side_driver::<P>(stream::open_unix(rendezvous)?),
        Carrier::Pipe => driver::one_side_driver::<P>(stream::open_pipes(rendezvous)?),
        Carrier::MessageQueue => {
            let open = |name: &str| queue::MessageQueue::open(name, P::BYTES, rendezvous);
            let [out, back] = rendezvous.directions();
            driver::one_side_driver::<P>((open(&out.name)?, open(&back.name)?))
        }
        _ => return Err(unsuited_error(transport)),
    })
}
