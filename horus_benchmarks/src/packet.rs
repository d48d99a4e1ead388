//! The messages that rings and topics carry in benchmarks: the sizes of `CmdVel`, `Imu` and
//! `LaserScan`, with contents that can be verified.

use horus_core::message::Message;

use crate::payload::Payload;

/// A verifiable message that topics carry too.
pub trait Packet: Payload + Message {}

impl<P: Payload + Message> Packet for P {}

macro_rules! packets {
    ($($name:ident: $words:literal, $like:literal;)+) => {$(
        horus_core::message! {
            #[doc = concat!("As large as ", $like, ".")]
            pub struct $name {
                /// See [`Payload`].
                pub words: [u64; $words],
            }
        }

        impl Payload for $name {
            const BYTES: usize = size_of::<$name>();

            #[inline(always)]
            fn compose(seq: u64) -> Self {
                $name { words: Payload::compose(seq) }
            }

            #[inline(always)]
            fn restamp(&mut self, stamp: u64) {
                self.words.restamp(stamp);
            }

            #[inline(always)]
            fn stamp(&self) -> u64 {
                self.words.stamp()
            }

            #[inline(always)]
            fn seq(&self) -> u64 {
                self.words.seq()
            }

            #[inline(always)]
            fn is_intact(&self) -> bool {
                self.words.is_intact()
            }
        }
    )+};
}

packets! {
    Packet16: 2, "`CmdVel`: 16 bytes";
    Packet304: 38, "`Imu`: 304 bytes";
    Packet1480: 185, "`LaserScan`: 1480 bytes";
}

#[cfg(test)]
mod tests {
    use horus_core::prelude::{CmdVel, Imu, LaserScan};

    use super::*;

    #[test]
    fn packets_are_as_large_as_the_messages_they_stand_for() {
        assert_eq!(Packet16::BYTES, size_of::<CmdVel>());
        assert_eq!(Packet304::BYTES, size_of::<Imu>());
        assert_eq!(Packet1480::BYTES, size_of::<LaserScan>());
    }
}
