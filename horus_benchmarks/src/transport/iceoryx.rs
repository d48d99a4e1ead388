//! Publishers and subscribers of iceoryx2, with the settings that its own benchmark uses.
//!
//! With these settings, the service is of the variant `ipc`, in which each port belongs to one
//! thread. There are no more ports than needed, and there is no history. Samples are loaned in
//! advance with `loan_uninit`, so that the loan is not part of a round trip. Messages are copied
//! into the loan and out of the sample, as with our topics. Within a process the `local` service is
//! used. A stream waits for space with the library's own `RetryUntilDelivered`.

use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use horus_shm::Namespace;
use iceoryx2::config::Config;
use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::prelude::{
    BackpressureStrategy, FileName, LogLevel, Node, NodeBuilder, Path as RootPath, SemanticString,
    ServiceName, ipc, local, set_log_level,
};
use iceoryx2::sample_mut_uninit::SampleMutUninit;
use iceoryx2::service;
use iceoryx2::service::port_factory::publish_subscribe::PortFactory;

use crate::measure::endpoint::Endpoint;
use crate::run::namespace::DIRECTORY_PREFIX;
use crate::transport::carrier::{CAPACITY, Carrier, MessageSize, Transport};
use crate::transport::driver::{self, Driver};
use crate::transport::packet::{Packet, Packet8, Packet16, Packet304, Packet1480, Packet65536};
use crate::transport::rendezvous::{AnyError, OpenResult, Rendezvous, unsuited_error};

type WordArray<const N: usize> = [u64; N];

pub(crate) fn open(transport: Transport, rendezvous: &Rendezvous<'_>) -> OpenResult {
    use MessageSize::Bytes;
    match transport.size {
        Bytes(8) => open_sized::<Packet8, 1>(transport, rendezvous),
        Bytes(16) => open_sized::<Packet16, 2>(transport, rendezvous),
        Bytes(304) => open_sized::<Packet304, 38>(transport, rendezvous),
        Bytes(1480) => open_sized::<Packet1480, 185>(transport, rendezvous),
        Bytes(65_536) => open_sized::<Packet65536, 8192>(transport, rendezvous),
        _ => Err(unsuited_error(transport)),
    }
}

fn open_sized<P: Packet, const N: usize>(
    transport: Transport,
    rendezvous: &Rendezvous<'_>,
) -> OpenResult {
    match transport.carrier {
        Carrier::Iceoryx2Local => open_side::<local::Service, P, N>(transport.carrier, rendezvous),
        _ => open_side::<ipc::Service, P, N>(transport.carrier, rendezvous),
    }
    .map_err(|error| format!("iceoryx2: {error}").into())
}

/// Opens one side of a transport. If one service has to carry both directions, both sides publish
/// and subscribe on it.
fn open_side<S: service::Service + 'static, P: Packet, const N: usize>(
    carrier: Carrier,
    rendezvous: &Rendezvous<'_>,
) -> Result<Driver, AnyError> {
    let node = create_node_in::<S>(rendezvous.namespace)?;
    if carrier == Carrier::Iceoryx2Duplex {
        let shared = rendezvous.shared_direction();
        let ends = (
            open_publisher::<S, N>(&node, carrier, &shared.name)?,
            open_subscriber::<S, N>(&node, carrier, &shared.name)?,
        );
        return Ok(driver::duplex_side_driver::<P>(ends, shared.create));
    }
    let [out, back] = rendezvous.directions();
    let publisher = open_publisher::<S, N>(&node, carrier, &out.name)?;
    let subscriber = open_subscriber::<S, N>(&node, carrier, &back.name)?;
    Ok(rendezvous.make_driver::<P>((publisher, subscriber)))
}

/// Creates a node whose files are in our own directory, or in shared memory under a name that
/// begins with the directory's name. In both cases they are removed together with the directory.
pub(crate) fn create_node_in<S: service::Service>(
    namespace: &Namespace,
) -> Result<Node<S>, AnyError> {
    set_log_level(LogLevel::Error);
    let topics = namespace.topics_path();
    let below = |path: &Path| {
        path.file_name()?
            .to_str()?
            .starts_with(DIRECTORY_PREFIX)
            .then_some(())
    };
    let ours = topics.ancestors().find(|path| below(path).is_some());
    let ours = ours.ok_or("the namespace is not a private one")?;
    let name = ours.file_name().unwrap_or_default();
    let root = ours.join("iox2");
    let prefix = format!("{}-", name.display());
    let mut config = Config::default();
    config
        .global
        .set_root_path(&RootPath::new(root.as_os_str().as_bytes())?);
    config.global.prefix = FileName::new(prefix.as_bytes())?;
    Ok(NodeBuilder::new().config(&config).create::<S>()?)
}

/// Opens the service with the name `name`. Creates it if it does not exist. Both sides use the same
/// settings.
fn open_service<S: service::Service, const N: usize>(
    node: &Node<S>,
    carrier: Carrier,
    name: &str,
) -> Result<PortFactory<S, WordArray<N>, ()>, AnyError> {
    let ends = if carrier.is_duplex() { 2 } else { 1 };
    let streams = carrier == Carrier::Iceoryx2Stream;
    let builder = node.service_builder(&ServiceName::new(name)?);
    let builder = builder.publish_subscribe::<WordArray<N>>();
    Ok(builder
        .max_publishers(ends)
        .max_subscribers(ends)
        .max_nodes(2)
        .history_size(0)
        .subscriber_max_buffer_size(if streams { CAPACITY as usize } else { 1 })
        .enable_safe_overflow(!streams)
        .open_or_create()?)
}

fn open_publisher<S: service::Service, const N: usize>(
    node: &Node<S>,
    carrier: Carrier,
    name: &str,
) -> Result<PublisherWithLoan<S, N>, AnyError> {
    let strategy = match carrier {
        Carrier::Iceoryx2Stream => BackpressureStrategy::RetryUntilDelivered,
        _ => BackpressureStrategy::DiscardData,
    };
    let publisher = open_service::<S, N>(node, carrier, name)?
        .publisher_builder()
        .backpressure_strategy(strategy)
        .create()?;
    let ahead = Some(publisher.loan_uninit()?);
    Ok(PublisherWithLoan { ahead, publisher })
}

fn open_subscriber<S: service::Service, const N: usize>(
    node: &Node<S>,
    carrier: Carrier,
    name: &str,
) -> Result<CopyingSubscriber<S, N>, AnyError> {
    Ok(CopyingSubscriber(
        open_service::<S, N>(node, carrier, name)?
            .subscriber_builder()
            .create()?,
    ))
}

/// A publisher, together with a loaned sample that the next message will be written to.
struct PublisherWithLoan<S: service::Service, const N: usize> {
    ahead: Option<SampleMutUninit<S, MaybeUninit<WordArray<N>>, ()>>,
    publisher: Publisher<S, WordArray<N>, ()>,
}

impl<S: service::Service, P: Packet, const N: usize> Endpoint<P> for PublisherWithLoan<S, N> {
    #[inline(always)]
    fn send(&mut self, message: &P) -> bool {
        let loan = || {
            self.publisher
                .loan_uninit()
                .expect("one sample is loaned at a time")
        };
        let sample = self.ahead.take().unwrap_or_else(loan);
        let words: &WordArray<N> = bytemuck::cast_ref(message);
        let receivers = sample
            .write_payload(*words)
            .send()
            .expect("the service is open");
        self.ahead = Some(loan());
        // Nobody gets a message before its subscriber is known, nor, where it does not wait for
        // room, one for which there is none.
        receivers > 0
    }
}

struct CopyingSubscriber<S: service::Service, const N: usize>(Subscriber<S, WordArray<N>, ()>);

impl<S: service::Service, P: Packet, const N: usize> Endpoint<P> for CopyingSubscriber<S, N> {
    #[inline(always)]
    fn recv(&mut self, message: &mut P) -> bool {
        let Some(sample) = self.0.receive().expect("the service is open") else {
            return false;
        };
        *message = *bytemuck::cast_ref(sample.payload());
        true
    }
}
