//! A checksum that the demo puts into every message, to detect torn messages: messages that combine
//! parts of two sends.

use bytemuck::{bytes_of, bytes_of_mut};
use horus_core::message::{CmdVel, Imu, LaserScan, Message};

const CHECKSUM_BYTES: usize = 2;

/// A message that stores a checksum of its bytes in the two lowest bytes of its last number.
///
/// The checksum makes the last number slightly less precise. If a message combines parts of two
/// sends, the checksum does not match.
pub(crate) trait ChecksummedMessage: Message {
    /// Offset of the checksum in the message, in bytes. On a little-endian machine, the two lowest
    /// bytes of the last number are at this offset.
    const CHECKSUM_OFFSET: usize;

    /// Returns the time at which the message was created, in nanoseconds of CLOCK_REALTIME.
    fn timestamp_ns(&self) -> u64;
}

macro_rules! checked {
    ($($message:ty, last: $last:ty;)+) => {$(
        impl ChecksummedMessage for $message {
            const CHECKSUM_OFFSET: usize = size_of::<$message>() - size_of::<$last>();

            fn timestamp_ns(&self) -> u64 {
                self.timestamp_ns
            }
        }
    )+};
}

checked! {
    Imu, last: f64;
    LaserScan, last: f32;
    CmdVel, last: f32;
}

/// Returns `message` with its checksum filled in.
pub(crate) fn with_checksum<M: ChecksummedMessage>(mut message: M) -> M {
    let checksum = checksum(&message);
    bytes_of_mut(&mut message)[M::CHECKSUM_OFFSET..][..CHECKSUM_BYTES].copy_from_slice(&checksum);
    message
}

/// Returns true if the bytes of `message` match its checksum. The checksum misses one corruption in
/// 65 536.
pub(crate) fn matches_checksum<M: ChecksummedMessage>(message: &M) -> bool {
    bytes_of(message)[M::CHECKSUM_OFFSET..][..CHECKSUM_BYTES] == checksum(message)
}

/// Computes the checksum: FNV-1a over 8-byte words of everything except the checksum. Takes about
/// 0.2 µs for a laser scan.
fn checksum<M: ChecksummedMessage>(message: &M) -> [u8; CHECKSUM_BYTES] {
    let mut message = *message;
    let bytes = bytes_of_mut(&mut message);
    bytes[M::CHECKSUM_OFFSET..][..CHECKSUM_BYTES].fill(0);
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let (words, rest) = bytes.as_chunks();
    assert!(
        rest.is_empty(),
        "messages that begin with a u64 are made of whole words"
    );
    for word in words {
        hash = (hash ^ u64::from_ne_bytes(*word)).wrapping_mul(0x0100_0000_01b3);
    }
    let [.., low, high] = hash.to_le_bytes();
    [low, high]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{controller, imu, laser};

    fn every_seam_shows<M: ChecksummedMessage>(a: M, b: M) {
        assert!(matches_checksum(&a) && matches_checksum(&b));
        for seam in (8..size_of::<M>()).step_by(8) {
            let mut torn = a;
            bytes_of_mut(&mut torn)[seam..].copy_from_slice(&bytes_of(&b)[seam..]);
            assert!(
                !matches_checksum(&torn),
                "{} torn at byte {seam}",
                M::SCHEMA.name
            );
        }
    }

    #[test]
    fn a_message_of_two_halves_is_not_whole() {
        every_seam_shows(imu::sample_at(1), imu::sample_at(2));
        every_seam_shows(laser::scan_at(1), laser::scan_at(2));
        every_seam_shows(
            controller::velocity_command(0.5, 0.1),
            controller::velocity_command(0.6, -0.1),
        );
    }
}
