//! The messages that rings and topics carry in benchmarks: messages of many sizes, and standard
//! messages of robots, with content that can be verified.

use horus_core::message::{CmdVel, Imu, JointCommand, LaserScan, Message};

use crate::measure::payload::Payload;

/// A message that topics can carry and that can be verified.
pub trait Packet: Payload + Message {}

impl<P: Payload + Message> Packet for P {}

macro_rules! packets {
    ($($name:ident: $words:literal, $like:literal;)+) => {$(
        horus_core::message! {
            #[doc = concat!("As large as ", $like, ".")]
            pub struct $name {
                /// The words of the message. [`Payload`] describes their content.
                pub words: [u64; $words],
            }
        }

        impl Payload for $name {}
    )+};
}

packets! {
    Packet8: 1, "a word: 8 bytes, with no room for a stamp";
    Packet16: 2, "`CmdVel`: 16 bytes";
    Packet32: 4, "two `CmdVel`s: 32 bytes";
    Packet304: 38, "`Imu`: 304 bytes";
    Packet1480: 185, "`LaserScan`: 1480 bytes";
    Packet4096: 512, "a page: 4 KiB";
    Packet16384: 2048, "four pages: 16 KiB";
    Packet65536: 8192, "sixteen pages: 64 KiB";
}

impl Payload for CmdVel {}
impl Payload for Imu {}
impl Payload for JointCommand {}
impl Payload for LaserScan {}

/// Calls `$open::<P>` with the message type `P` that belongs to the transport's message size. WHY
/// each call lists its sizes: for every size, a copy of every loop has to be compiled, which takes
/// long.
macro_rules! with_packet {
    ($open:ident($transport:expr, $rendezvous:expr); $($packet:ty),+ $(; $($robot:ident),+)?) => {
        match $transport.size {
            $(MessageSize::Bytes(<$packet as Payload>::BYTES) => {
                $open::<$packet>($transport, $rendezvous)
            })+
            $($(MessageSize::$robot => $open::<$robot>($transport, $rendezvous),)+)?
            _ => Err(unsupported_transport_error($transport)),
        }
    };
}
pub(crate) use with_packet;
