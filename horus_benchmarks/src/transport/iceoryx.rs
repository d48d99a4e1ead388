//! Publishers and subscribers of iceoryx2, at the settings that its own benchmark uses.
//!
//! As there: the `ipc` service whose ports belong to one thread each, room for the ports that there
//! are and no more, no history, and samples that are loaned ahead with `loan_uninit`, so that the
//! loan is no part of a round trip. Messages are written into the loan and read from the sample:
//! once in and once out, as by ours. Within a process the `local` service is used, and a stream
//! waits for room by the library's own `RetryUntilDelivered`.

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

use crate::run::namespace::PREFIX;
use crate::transport::ends::{Rx, Tx};
use crate::transport::packet::Packet;
use crate::transport::path::{self, CAPACITY, Ring};
use crate::transport::side::{self, Direction, OpenPathError, Side};

type Words<const N: usize> = [u64; N];
type AnyError = Box<dyn std::error::Error>;

/// Opens one side of a path; both directions are services of the name given there, or one service
/// if the path is duplex.
pub(crate) fn side<P: Packet>(
    namespace: &Namespace,
    path: path::Path,
    out: Direction<'_>,
    back: Direction<'_>,
) -> Result<Box<dyn Side>, OpenPathError> {
    let side = match path.ring {
        Ring::Iceoryx2Local => sized::<local::Service, P>(namespace, path.ring, out, back),
        _ => sized::<ipc::Service, P>(namespace, path.ring, out, back),
    };
    let side = side.map_err(|error| OpenPathError::Iceoryx2(error.to_string()))?;
    side.ok_or(OpenPathError::NotThisWay(path))
}

/// `None` for a message of another size.
fn sized<S: service::Service + 'static, P: Packet>(
    namespace: &Namespace,
    ring: Ring,
    out: Direction<'_>,
    back: Direction<'_>,
) -> Result<Option<Box<dyn Side>>, AnyError> {
    let side = match P::BYTES {
        8 => side_of::<S, P, 1>(namespace, ring, out, back),
        16 => side_of::<S, P, 2>(namespace, ring, out, back),
        304 => side_of::<S, P, 38>(namespace, ring, out, back),
        1480 => side_of::<S, P, 185>(namespace, ring, out, back),
        65_536 => side_of::<S, P, 8192>(namespace, ring, out, back),
        _ => return Ok(None),
    };
    side.map(Some)
}

fn side_of<S: service::Service + 'static, P: Packet, const N: usize>(
    namespace: &Namespace,
    ring: Ring,
    out: Direction<'_>,
    back: Direction<'_>,
) -> Result<Box<dyn Side>, AnyError> {
    let node = node_in::<S>(namespace)?;
    if ring == Ring::Iceoryx2Duplex {
        let name = if out.create { out.name } else { back.name };
        let publisher = publish::<S, N>(&node, ring, name)?;
        let subscriber = listen::<S, N>(&node, ring, name)?;
        return Ok(side::duplex_here::<P, _, _>(publisher, subscriber, out.create));
    }
    let publisher = publish::<S, N>(&node, ring, out.name)?;
    let subscriber = listen::<S, N>(&node, ring, back.name)?;
    Ok(side::joined_here::<P, _, _>(publisher, subscriber))
}

/// A node whose files are in our own directory, or in shared memory by a name that begins with the
/// directory's: both go when the directory does.
pub(crate) fn node_in<S: service::Service>(namespace: &Namespace) -> Result<Node<S>, AnyError> {
    set_log_level(LogLevel::Error);
    let topics = namespace.topics_path();
    let below = |path: &Path| path.file_name()?.to_str()?.starts_with(PREFIX).then_some(());
    let ours = topics.ancestors().find(|path| below(path).is_some());
    let ours = ours.ok_or("the namespace is not a private one")?;
    let name = ours.file_name().unwrap_or_default();
    let (root, prefix) = (ours.join("iox2"), format!("{}-", name.display()));
    let mut config = Config::default();
    config.global.set_root_path(&RootPath::new(root.as_os_str().as_bytes())?);
    config.global.prefix = FileName::new(prefix.as_bytes())?;
    Ok(NodeBuilder::new().config(&config).create::<S>()?)
}

/// The service `name`, which is the same from both sides.
macro_rules! service {
    ($node:expr, $ring:expr, $name:expr) => {{
        let ends = if $ring == Ring::Iceoryx2Duplex { 2 } else { 1 };
        let streams = $ring == Ring::Iceoryx2Stream;
        $node
            .service_builder(&ServiceName::new($name)?)
            .publish_subscribe::<Words<N>>()
            .max_publishers(ends)
            .max_subscribers(ends)
            .max_nodes(2)
            .history_size(0)
            .subscriber_max_buffer_size(if streams { CAPACITY as usize } else { 1 })
            .enable_safe_overflow(!streams)
            .open_or_create()?
    }};
}

fn publish<S: service::Service, const N: usize>(
    node: &Node<S>,
    ring: Ring,
    name: &str,
) -> Result<Sending<S, N>, AnyError> {
    let strategy = match ring {
        Ring::Iceoryx2Stream => BackpressureStrategy::RetryUntilDelivered,
        _ => BackpressureStrategy::DiscardData,
    };
    let publisher =
        service!(node, ring, name).publisher_builder().backpressure_strategy(strategy).create()?;
    let ahead = Some(publisher.loan_uninit()?);
    Ok(Sending { ahead, publisher })
}

fn listen<S: service::Service, const N: usize>(
    node: &Node<S>,
    ring: Ring,
    name: &str,
) -> Result<Receiving<S, N>, AnyError> {
    Ok(Receiving(service!(node, ring, name).subscriber_builder().create()?))
}

/// A publisher, and the sample that is sent next.
struct Sending<S: service::Service, const N: usize> {
    ahead: Option<SampleMutUninit<S, MaybeUninit<Words<N>>, ()>>,
    publisher: Publisher<S, Words<N>, ()>,
}

impl<S: service::Service, P: Packet, const N: usize> Tx<P> for Sending<S, N> {
    #[inline(always)]
    fn send(&mut self, message: &P) -> bool {
        let loan = || self.publisher.loan_uninit().expect("one sample is loaned at a time");
        let sample = self.ahead.take().unwrap_or_else(loan);
        let words: &Words<N> = bytemuck::cast_ref(message);
        let receivers = sample.write_payload(*words).send().expect("the service is open");
        self.ahead = Some(loan());
        // Nobody gets a message before its subscriber is known, nor, where it does not wait for
        // room, one for which there is none.
        receivers > 0
    }
}

/// A subscriber.
struct Receiving<S: service::Service, const N: usize>(Subscriber<S, Words<N>, ()>);

impl<S: service::Service, P: Packet, const N: usize> Rx<P> for Receiving<S, N> {
    #[inline(always)]
    fn recv(&mut self, message: &mut P) -> bool {
        let Some(sample) = self.0.receive().expect("the service is open") else { return false };
        *message = *bytemuck::cast_ref(sample.payload());
        true
    }

    /// It does not count; only in streams could anything be lost, and there nothing overflows.
    fn lost(&self) -> u64 {
        0
    }
}
