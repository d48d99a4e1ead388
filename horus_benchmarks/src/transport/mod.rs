//! What carries messages: endpoints of ours and of the peers, and how two sides meet.

pub mod channel_ends;
pub mod channels;
pub mod duplex;
pub mod ends;
#[cfg(feature = "iceoryx2")]
pub mod iceoryx;
pub mod packet;
pub mod pair;
pub mod path;
pub mod path_pair;
pub mod side;
pub mod transports;
