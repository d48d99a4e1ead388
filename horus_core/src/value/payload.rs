//! Lets topics carry values, and any type that `serde` supports.

use horus_shm::{FieldPrefixes, TypeInfo};

use super::Value;
use crate::message::{Buffer, fnv1a_128};
use crate::topic::error::WriteError;
use crate::topic::{Encoded, encoded_payload};

/// The schema that a topic with MessagePack messages stores. It says only that the message consists
/// of MessagePack, which describes itself.
pub const MSGPACK_SCHEMA: &str =
    "horus schema 1\nmessage MessagePack\nsize 0\nalign 8\ntail msgpack u8\n";

/// Initial capacity of a publisher's slots: the length in bytes of the longest MessagePack value
/// that fits. Slots grow when a longer value is sent.
const DEFAULT_MAX_MESSAGE_BYTES: u64 = 64 * 1024;

/// Returns the message type of all topics that carry MessagePack. It does not depend on the Rust
/// type into which an endpoint decodes messages.
fn msgpack_type() -> TypeInfo {
    TypeInfo {
        name: "MessagePack".into(),
        schema: MSGPACK_SCHEMA.into(),
        hash: const { fnv1a_128(MSGPACK_SCHEMA.as_bytes()) }.to_be_bytes(),
        bytes: DEFAULT_MAX_MESSAGE_BYTES,
        align: 8,
        sized: true,
        growth: FieldPrefixes::default(),
    }
}

impl Encoded for Value {
    fn type_info() -> TypeInfo {
        msgpack_type()
    }

    fn encode(&self, slot: &mut [u8]) -> Result<usize, WriteError> {
        Ok(self.encode(slot)?)
    }

    fn decode(buffer: &mut Buffer, bytes: usize) -> Option<Self> {
        Self::decode(buffer.as_ref().get(..bytes)?).ok()
    }
}

encoded_payload!([] Value);

impl From<super::EncodeError> for WriteError {
    fn from(error: super::EncodeError) -> Self {
        match error {
            super::EncodeError::TooSmall { needed, .. } => Self::TooLong {
                bytes: needed as u64,
            },
            error => Self::Unencodable {
                reason: error.to_string(),
            },
        }
    }
}

/// A wrapper that lets a topic carry any type that `serde` supports:
/// `Topic::<Serde<Config>>::new("config")`.
///
/// The message is sent as MessagePack, in which a struct is a map with the names of its fields. It
/// is therefore compatible with a topic of [`Value`]s, and with dictionaries in Python. A received
/// message that is not a `T` is skipped and counted, see
/// [`Stats::malformed`](crate::topic::Stats::malformed).
///
/// ```
/// # fn main() -> horus_core::Result<()> {
/// # let dir = tempfile::tempdir_in("/dev/shm").unwrap();
/// # // SAFETY: this program has one thread.
/// # unsafe { std::env::set_var("HORUS_SHM_DIR", dir.path().join("horus")) };
/// use horus_core::prelude::*;
///
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Goal {
///     name: String,
///     via: Vec<[f64; 2]>,
/// }
///
/// let mut goals = Topic::<Serde<Goal>>::new("goals")?;
/// let mut anything: Subscriber<Value> = Subscriber::new("goals")?;
/// goals.send(Serde(Goal { name: "dock".into(), via: vec![[0.0, 1.5]] }))?;
/// assert_eq!(goals.recv().unwrap().name, "dock");
/// let value = anything.recv().unwrap();
/// assert_eq!(value.get_path("via[0][1]").and_then(Value::as_f64), Some(1.5));
/// # Ok(())
/// # }
/// ```
#[cfg(feature = "serde")]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Serde<T>(pub T);

#[cfg(feature = "serde")]
impl<T> std::ops::Deref for Serde<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

#[cfg(feature = "serde")]
impl<T> std::ops::DerefMut for Serde<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

#[cfg(feature = "serde")]
impl<T: serde::Serialize + serde::de::DeserializeOwned + Send + 'static> Encoded for Serde<T> {
    fn type_info() -> TypeInfo {
        msgpack_type()
    }

    fn encode(&self, slot: &mut [u8]) -> Result<usize, WriteError> {
        Ok(super::encode_serde(&self.0, slot)?)
    }

    fn decode(buffer: &mut Buffer, bytes: usize) -> Option<Self> {
        super::decode_serde(buffer.as_ref().get(..bytes)?)
            .ok()
            .map(Self)
    }
}

#[cfg(feature = "serde")]
encoded_payload!([T: serde::Serialize + serde::de::DeserializeOwned + Send + 'static] Serde<T>);
