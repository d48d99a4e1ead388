//! Actors: objects with private state and a mailbox, each of which handles one message at a time.
//!
//! An actor has a mailbox instead of topics. While the mailbox is empty, the actor sleeps and uses
//! no CPU time. A group of actors is one entry of the scheduler: a few threads run any number of
//! them.
//!
//! ```
//! # let dir = tempfile::tempdir_in("/dev/shm").unwrap();
//! # // SAFETY: this program has one thread.
//! # unsafe { std::env::set_var("HORUS_SHM_DIR", dir.path().join("horus")) };
//! use std::time::Duration;
//!
//! use horus_core::actor::{Actor, Context, MailboxKind, Reply};
//! use horus_core::scheduler::{NodeResult, Scheduler};
//!
//! #[derive(Default)]
//! struct Counter {
//!     total: u64,
//! }
//!
//! enum Count {
//!     Add(u64),
//!     Total(Reply<u64>),
//! }
//!
//! impl Actor for Counter {
//!     type Message = Count;
//!
//!     fn handle(&mut self, message: Count, _: &mut Context<'_, Self>) -> NodeResult {
//!         match message {
//!             Count::Add(number) => self.total += number,
//!             Count::Total(reply) => reply.send(self.total),
//!         }
//!         Ok(())
//!     }
//! }
//!
//! let mut scheduler = Scheduler::new();
//! let actors = scheduler.actors("fleet").threads(2).mailbox(MailboxKind::bounded(64)).build()?;
//! let counter = actors.spawn(Counter::default())?;
//! let running = scheduler.start()?;
//! counter.tell(Count::Add(1))?;
//! counter.tell_timeout(Count::Add(2), Duration::from_secs(1))?;
//! counter.tell_all((3..=10).map(Count::Add))?;
//! assert_eq!(counter.ask(Count::Total)?.wait(Duration::from_secs(1))?, 55);
//! running.finish()?;
//! assert!(counter.is_disconnected());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Messages of one sender arrive in their order. An actor that handles several types of messages
//! has an enum of them as its message.
//!
//! An actor may have a name ([`Actors::register`]), learn that another actor has ended
//! ([`Context::watch`]), and send messages to itself later ([`Context::tell_after`],
//! [`Context::tell_every`]).
//!
//! If a handler fails, the actor ends. An actor that was spawned by [`Actors::spawn_with`] is
//! re-created instead. [`Actors::options`] sets another failure policy, the kind of the mailbox,
//! and whether the actor has a safe state for emergency stops.
//!
//! An actor may spawn children, which end before it ([`Context::spawn`]), and put messages aside
//! for later ([`Context::stash`]).
//!
//! A thread that is not an actor receives messages through an [`Inbox`] ([`Actors::inbox`]), and
//! waits for any number of inboxes with an [`InboxSet`].
//!
//! [`Address::swap`] replaces an actor while it runs: the new one handles all messages that are
//! sent after the call.
//!
//! An actor ends if it calls [`Context::stop`], if it fails and is not restarted, or once no
//! [`Address`] of it is left and it has handled its mail. At the end of the run, all actors end, in
//! the reverse order of their spawning. Messages that still wait then are dropped and counted
//! ([`Actors::counters`]). A caller that waits for an answer to one of them gets an error.

mod actor_safe_state;
mod actors;
mod address;
mod behaviour;
mod children;
mod context;
mod counters;
pub(crate) mod emergency_stop;
mod error;
mod extras;
pub(crate) mod group;
pub(crate) mod group_settings;
mod hosted_actor;
mod idle;
pub(crate) mod inbox;
mod inbox_set;
pub(crate) mod local;
mod mailbox;
mod members;
mod registry;
mod spawning;
mod started_timers;
mod stash;
mod swap;
mod timer;
pub(crate) mod timers;
pub(crate) mod waiting;
mod watch;
pub(crate) mod worker_activity;
pub(crate) mod worker_context;

pub use actors::{Actors, SpawnOptions};
pub use address::{Address, Answer, WeakAddress};
pub use behaviour::Actor;
pub use context::Context;
pub use counters::ActorCounters;
pub use error::{
    AskError, FindError, RecvTimeoutError, RegisterError, SendTimeoutError, SpawnError, SwapError,
    TellAllError, TryRecvError, TrySendError,
};
#[doc(hidden)]
pub use group_settings::HandlerWrapper;
pub use horus_shm::internals::heap::Reply;
pub use idle::Idle;
pub use inbox::Inbox;
pub use inbox_set::InboxSet;
#[doc(hidden)]
pub use local::is_worker;
pub use mailbox::MailboxKind;
pub use timer::Timer;
pub use watch::{ActorId, Down, DownReason};
