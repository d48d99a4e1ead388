//! Endpoints of the kinds that programs open, in this process or in others.

#![allow(unreachable_pub, reason = "a module of a test")]

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use horus_core::message::{CmdVel, Twist};
use horus_core::namespace::Namespace;
use horus_core::topic::{DynamicPublisher, DynamicSubscriber, DynamicType, Qos};

use crate::actors::{Child, hear, namespace_in, say};

/// Bytes of the longest message that a limited publisher sends, and of one that is longer than the
/// first slots of any publisher.
const LIMIT: usize = 64;
const LONG: usize = 100_000;

mod other {
    horus_core::message! {
        /// [`CmdVel`](horus_core::message::CmdVel) of another program, with other fields.
        pub struct CmdVel {
            pub timestamp_ns: u64,
            pub linear: f64,
        }
    }
}

use other::CmdVel as OtherCmdVel;

/// Versions of [`CmdVel`] with more fields.
mod grown {
    horus_core::message! {
        pub struct CmdVel {
            pub timestamp_ns: u64,
            pub linear: f32,
            pub angular: f32,
            pub acceleration: f64,
        }
    }
}

mod apart {
    horus_core::message! {
        pub struct CmdVel {
            pub timestamp_ns: u64,
            pub linear: f32,
            pub angular: f32,
            pub jerk: f32,
            pub _pad: u32,
        }
    }
}

/// A version of the message that a kind of endpoint has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// The fields that all versions have.
    First,
    /// A field more.
    Grown,
    /// Another field more.
    Apart,
    /// The fields of the first one, and no other version matches.
    Strict,
}

/// The role of a child process that has an endpoint.
pub const HOST: &str = "host";

/// A kind of endpoint.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    pub name: &'static str,
    pub publishes: bool,
    pub qos: Qos,
    /// The length of the messages of a publisher, if they have lengths of their own.
    bytes: usize,
    /// The limit of a publisher, which it sets itself.
    limit: Option<u64>,
    /// True if it sends or reads another message than the others.
    pub is_other: bool,
    pub version: Version,
}

impl Kind {
    const fn publisher(name: &'static str, qos: Qos) -> Self {
        Self {
            name,
            publishes: true,
            qos,
            bytes: 16,
            limit: None,
            is_other: false,
            version: Version::First,
        }
    }

    const fn subscriber(name: &'static str, qos: Qos) -> Self {
        Self {
            publishes: false,
            ..Self::publisher(name, qos)
        }
    }

    const fn other(mut self) -> Self {
        self.is_other = true;
        self
    }

    const fn version(mut self, version: Version) -> Self {
        self.version = version;
        if matches!(version, Version::Strict) {
            self.qos = self.qos.strict_schema(true);
        }
        self
    }

    const fn bytes(mut self, bytes: usize) -> Self {
        self.bytes = bytes;
        self
    }

    const fn limit(mut self, limit: usize) -> Self {
        self.bytes = limit;
        self.limit = Some(limit as u64);
        self
    }
}

/// All kinds.
pub const KINDS: [Kind; 19] = [
    Kind::publisher("P plain", Qos::new()),
    // WHY few slots: the 1024 of the preset would be 64 MiB of messages with lengths of their own.
    Kind::publisher("P reliable", Qos::reliable().capacity(16)),
    Kind::publisher("P command", Qos::command()),
    Kind::publisher("P latched", Qos::latched()),
    Kind::publisher("P sensor", Qos::sensor_data()),
    Kind::publisher("P small", Qos::new().capacity(2)).bytes(LONG),
    Kind::publisher("P limited", Qos::reliable().capacity(2)).limit(LIMIT),
    Kind::subscriber("S plain", Qos::new()),
    Kind::subscriber("S reliable", Qos::reliable()),
    Kind::subscriber("S command", Qos::command()),
    Kind::subscriber("S latched", Qos::latched()),
    Kind::subscriber("S small", Qos::new().capacity(2)),
    Kind::publisher("P other", Qos::reliable().capacity(2)).other(),
    Kind::subscriber("S other", Qos::new()).other(),
    Kind::subscriber("S other reliable", Qos::reliable()).other(),
    Kind::publisher("P grown", Qos::reliable().capacity(2)).version(Version::Grown),
    Kind::subscriber("S grown reliable", Qos::reliable()).version(Version::Grown),
    Kind::subscriber("S apart", Qos::new()).version(Version::Apart),
    Kind::subscriber("S strict reliable", Qos::reliable()).version(Version::Strict),
];

/// The topic that endpoints are opened on.
#[derive(Debug, Clone)]
pub struct Place {
    pub topic: String,
    /// True if messages have lengths of their own.
    pub sized: bool,
}

impl Place {
    fn message_type(&self, kind: &Kind) -> DynamicType {
        match (self.sized, kind.is_other) {
            (true, false) => DynamicType::bytes(),
            (false, false) => match kind.version {
                Version::First | Version::Strict => DynamicType::of::<CmdVel>(),
                Version::Grown => DynamicType::of::<grown::CmdVel>(),
                Version::Apart => DynamicType::of::<apart::CmdVel>(),
            },
            (true, true) => DynamicType::of::<Twist>(),
            (false, true) => DynamicType::of::<OtherCmdVel>(),
        }
    }
}

/// The messages that a subscriber received, and its verdict on its publishers.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Received {
    pub numbers: Vec<u64>,
    /// The text of the error of `check`; empty if there is none.
    pub verdict: String,
}

/// An endpoint, wherever it is. It is closed by its drop.
pub trait Endpoint {
    /// Sends a number. Returns the text of the error; empty if it was sent.
    fn send(&mut self, number: u64) -> String;
    /// Receives everything.
    fn receive(&mut self) -> Received;
}

/// An endpoint of this process.
pub enum Local {
    Publisher(DynamicPublisher, Vec<u8>),
    Subscriber(DynamicSubscriber),
}

impl Local {
    pub fn open(namespace: &Arc<Namespace>, place: &Place, kind: &Kind) -> Self {
        let builder = place.message_type(kind).builder(&place.topic);
        let mut builder = builder.namespace(namespace).qos(kind.qos);
        if let Some(limit) = kind.limit {
            builder = builder.max_message_bytes(limit);
        }
        if kind.publishes {
            let bytes = match (place.sized, kind.is_other) {
                (true, false) => kind.bytes,
                (true, true) => size_of::<Twist>(),
                (false, false) if kind.version == Version::Grown => 24,
                (false, _) => 16,
            };
            Self::Publisher(builder.publisher().unwrap(), vec![0; bytes])
        } else {
            Self::Subscriber(builder.subscriber().unwrap())
        }
    }
}

impl Endpoint for Local {
    fn send(&mut self, number: u64) -> String {
        let Self::Publisher(publisher, message) = self else {
            panic!("a subscriber sends nothing")
        };
        message[..8].copy_from_slice(&number.to_le_bytes());
        let sent = publisher.send_bytes(message);
        sent.map_or_else(|error| error.to_string(), |()| String::new())
    }

    fn receive(&mut self) -> Received {
        let Self::Subscriber(subscriber) = self else {
            panic!("a publisher receives nothing")
        };
        let mut received = Received::default();
        while let Some(message) = subscriber.recv_bytes() {
            let number = message.first_chunk().expect("eight bytes or more");
            received.numbers.push(u64::from_le_bytes(*number));
        }
        received.numbers.sort_unstable();
        let check = subscriber.check();
        received.verdict = check.map_or_else(|error| error.to_string(), |()| String::new());
        received
    }
}

/// Child processes that have an endpoint each.
pub struct Hosts {
    free: RefCell<Vec<Child>>,
}

impl Hosts {
    pub const fn new() -> Self {
        let free = RefCell::new(Vec::new());
        Self { free }
    }

    /// Opens an endpoint in a child process of its own.
    pub fn open(self: &Rc<Self>, dir: &Path, place: &Place, kind: usize) -> Remote {
        let free = self.free.borrow_mut().pop();
        let child = free.unwrap_or_else(|| Child::spawn(HOST, dir));
        let mut remote = Remote {
            child: Some(child),
            hosts: Rc::clone(self),
        };
        remote.ask(&format!("open {kind} {} {}", place.sized, place.topic));
        remote
    }
}

/// An endpoint of a child process.
pub struct Remote {
    child: Option<Child>,
    hosts: Rc<Hosts>,
}

impl Remote {
    /// Kills the process.
    pub fn kill(mut self) {
        self.child.take().expect("it lives").kill();
    }

    fn ask(&mut self, command: &str) -> String {
        let child = self.child.as_mut().expect("it lives");
        child.tell(command);
        child.await_word("done ")["done ".len()..].to_owned()
    }
}

impl Endpoint for Remote {
    fn send(&mut self, number: u64) -> String {
        self.ask(&format!("send {number}"))
    }

    fn receive(&mut self) -> Received {
        let answer = self.ask("receive");
        let (numbers, verdict) = answer.split_once(';').expect("two parts");
        Received {
            numbers: numbers
                .split_whitespace()
                .map(|number| number.parse().unwrap())
                .collect(),
            verdict: verdict.to_owned(),
        }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        if self.child.is_some() && !std::thread::panicking() {
            self.ask("close");
            let child = self.child.take().expect("it lives");
            self.hosts.free.borrow_mut().push(child);
        }
    }
}

/// Executes the commands of [`Remote`].
pub fn host(dir: &Path) {
    let namespace = namespace_in(dir);
    let mut endpoint = None;
    while let Some(command) = hear() {
        let words: Vec<_> = command.split(' ').collect();
        let answer = match words[..] {
            ["open", kind, sized, topic] => {
                let place = Place {
                    topic: topic.to_owned(),
                    sized: sized == "true",
                };
                let kind = &KINDS[kind.parse::<usize>().unwrap()];
                endpoint = Some(Local::open(&namespace, &place, kind));
                String::new()
            }
            ["close"] => {
                endpoint = None;
                String::new()
            }
            ["send", number] => {
                let endpoint = endpoint.as_mut().expect("it is open");
                endpoint.send(number.parse().unwrap())
            }
            ["receive"] => {
                let Received { numbers, verdict } = endpoint.as_mut().unwrap().receive();
                let numbers: Vec<_> = numbers.iter().map(u64::to_string).collect();
                format!("{};{verdict}", numbers.join(" "))
            }
            _ => panic!("no command '{command}'"),
        };
        say(format!("done {answer}"));
    }
}
