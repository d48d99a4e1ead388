//! Channels: messages of any type between parts of one process.
//!
//! | module | senders | receivers | who gets a message | capacity |
//! |---|---|---|---|---|
//! | [`direct`] | 1 | 1, on the same thread | the receiver | of the channel |
//! | [`spsc`] | 1 | 1 | the receiver | of the channel |
//! | [`mpsc`] | any number | 1 | the receiver | of the channel |
//! | [`spmc`] | 1 | up to 64 | every receiver, a clone | of the channel |
//! | [`fanout`] | up to 64 | up to 64 | every receiver, a clone | of each sender |
//!
//! All channels are bounded and lose no message: a send to a full channel blocks, or fails and
//! returns the message. Messages of one sender arrive in order. Every message is dropped exactly
//! once. Sends and receives take no locks and allocate no memory; only creating an endpoint does.
//! They make no system calls, unless they block or have to wake a sleeping thread.
//!
//! A channel is *disconnected* for its senders when the last receiver is gone. It is disconnected
//! for a receiver when the last sender is gone and everything was received. A disconnection is
//! permanent, unless a sender can create a new receiver by `subscribe`. A message that is sent
//! while the last receiver leaves may be accepted, and is then dropped with the channel.
//!
//! To send messages between processes, use [topics](crate::topic).
//!
//! ```
//! use horus_core::channel::spsc;
//!
//! let (mut tx, mut rx) = spsc::channel(16);
//! let planner = std::thread::spawn(move || {
//!     for goal in ["dock", "charge"] {
//!         tx.send(String::from(goal)).unwrap();
//!     }
//! });
//! assert_eq!(rx.iter().collect::<Vec<_>>(), ["dock", "charge"]);
//! planner.join().unwrap();
//! ```

mod copies;
pub mod direct;
mod endpoints;
mod error;
pub mod fanout;
mod iter;
pub mod mpsc;
mod shared;
pub mod spmc;
pub mod spsc;

pub use endpoints::{Receiver, Sender};
pub use error::{
    JoinError, RecvError, RecvTimeoutError, SendError, SendTimeoutError, TryRecvError, TrySendError,
};
pub use iter::{IntoIter, Iter, TryIter};
