//! Publishers and subscribers of iceoryx2, with the settings that its own benchmark uses.
//!
//! The service is of the variant `ipc`, in which each port belongs to one thread, and within a
//! process of the variant `local`. There are no more ports than needed, and there is no history.
//! Samples are loaned in advance with `loan_uninit`, so that the loan is not part of a round trip.
//! Messages are copied into the loan and out of the sample, as with our topics. A stream waits for
//! space with the library's own `RetryUntilDelivered`.

use std::fmt::Debug;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use horus_shm::Namespace;
use iceoryx2::config::Config;
use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::prelude::{
    BackpressureStrategy, FileName, LogLevel, Node, NodeBuilder, Path as RootPath, SemanticString,
    ServiceName, ZeroCopySend, ipc, local, set_log_level,
};
use iceoryx2::sample_mut_uninit::SampleMutUninit;
use iceoryx2::service;
use iceoryx2::service::port_factory::publish_subscribe::PortFactory;

use crate::Outcome;
use crate::measure::endpoint::Endpoint;
use crate::measure::payload::Payload;
use crate::run::namespace::DIRECTORY_PREFIX;
use crate::transport::carrier::{CARRIER_CAPACITY, Carrier, MessageSize, Transport};
use crate::transport::driver;
use crate::transport::packet::with_packet;
use crate::transport::rendezvous::{OpenResult, Rendezvous, unsupported_transport_error};

/// A message that a service of iceoryx2 can carry.
trait ZeroCopyMessage: Payload + ZeroCopySend + Debug {}

impl<P: Payload + ZeroCopySend + Debug> ZeroCopyMessage for P {}

pub(crate) fn open(transport: Transport, rendezvous: &Rendezvous<'_>) -> OpenResult {
    with_packet!(
        open_with_message_type(transport, rendezvous);
        [u64; 1], [u64; 2], [u64; 38], [u64; 185], [u64; 8192]
    )
}

fn open_with_message_type<P: ZeroCopyMessage>(
    transport: Transport,
    rendezvous: &Rendezvous<'_>,
) -> OpenResult {
    match transport.carrier {
        Carrier::Iceoryx2Local => open_side::<local::Service, P>(transport.carrier, rendezvous),
        _ => open_side::<ipc::Service, P>(transport.carrier, rendezvous),
    }
    .map_err(|error| format!("iceoryx2: {error}").into())
}

/// Opens one side of a transport. If one service has to carry both directions, both sides publish
/// and subscribe on it. Both sides use the same settings, and create services that do not exist.
fn open_side<S: service::Service + 'static, P: ZeroCopyMessage>(
    carrier: Carrier,
    rendezvous: &Rendezvous<'_>,
) -> OpenResult {
    let node = create_node_in::<S>(rendezvous.namespace)?;
    let ends = if carrier.is_duplex() { 2 } else { 1 };
    let (capacity, strategy) = match carrier {
        Carrier::Iceoryx2Stream => (CARRIER_CAPACITY, BackpressureStrategy::RetryUntilDelivered),
        _ => (1, BackpressureStrategy::DiscardData),
    };
    let open_service = |name: &str| -> Outcome<PortFactory<S, P, ()>> {
        Ok(node
            .service_builder(&ServiceName::new(name)?)
            .publish_subscribe::<P>()
            .max_publishers(ends)
            .max_subscribers(ends)
            .max_nodes(2)
            .history_size(0)
            .subscriber_max_buffer_size(capacity as usize)
            .enable_safe_overflow(carrier != Carrier::Iceoryx2Stream)
            .open_or_create()?)
    };
    let open_ends = |out: &str, back: &str| -> Outcome<_> {
        let publisher = open_service(out)?
            .publisher_builder()
            .backpressure_strategy(strategy)
            .create()?;
        let ahead = Some(publisher.loan_uninit()?);
        let subscriber = open_service(back)?.subscriber_builder().create()?;
        Ok((PublisherWithLoan { ahead, publisher }, subscriber))
    };
    if carrier.is_duplex() {
        let shared = rendezvous.shared_direction();
        let ends = open_ends(&shared.name, &shared.name)?;
        return Ok(driver::duplex_side_driver::<P>(ends, shared.create));
    }
    let [out, back] = rendezvous.directions();
    Ok(rendezvous.make_driver::<P>(open_ends(&out.name, &back.name)?))
}

/// Creates a node whose files are in our own directory, or in shared memory under a name that
/// begins with the directory's name. In both cases they are removed together with the directory.
pub(crate) fn create_node_in<S: service::Service>(namespace: &Namespace) -> Outcome<Node<S>> {
    set_log_level(LogLevel::Error);
    let topics = namespace.topics_path();
    let name = |path: &Path| Some(path.file_name()?.to_str()?.to_owned());
    let is_ours = |path: &&Path| name(path).is_some_and(|it| it.starts_with(DIRECTORY_PREFIX));
    let ours = topics.ancestors().find(is_ours);
    let ours = ours.ok_or("the namespace is not a private one")?;
    let root = ours.join("iox2");
    let prefix = format!("{}-", name(ours).unwrap_or_default());
    let mut config = Config::default();
    config
        .global
        .set_root_path(&RootPath::new(root.as_os_str().as_bytes())?);
    config.global.prefix = FileName::new(prefix.as_bytes())?;
    Ok(NodeBuilder::new().config(&config).create::<S>()?)
}

/// A publisher, together with a loaned sample that the next message will be written to.
struct PublisherWithLoan<S: service::Service, P: ZeroCopyMessage> {
    ahead: Option<SampleMutUninit<S, MaybeUninit<P>, ()>>,
    publisher: Publisher<S, P, ()>,
}

impl<S: service::Service, P: ZeroCopyMessage> Endpoint<P> for PublisherWithLoan<S, P> {
    #[inline(always)]
    fn send(&mut self, message: &P) -> bool {
        let loan = || {
            self.publisher
                .loan_uninit()
                .expect("one sample is loaned at a time")
        };
        let sample = self.ahead.take().unwrap_or_else(loan);
        let receivers = sample
            .write_payload(*message)
            .send()
            .expect("the service is open");
        self.ahead = Some(loan());
        // Nobody gets a message before its subscriber is known, nor, where it does not wait for
        // room, one for which there is none.
        receivers > 0
    }
}

impl<S: service::Service, P: ZeroCopyMessage> Endpoint<P> for Subscriber<S, P, ()> {
    #[inline(always)]
    fn recv(&mut self, message: &mut P) -> bool {
        let Some(sample) = self.receive().expect("the service is open") else {
            return false;
        };
        *message = *sample.payload();
        true
    }
}
