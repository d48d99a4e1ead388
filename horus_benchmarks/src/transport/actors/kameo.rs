//! Actors of kameo, on a runtime of tokio.

use std::future::Future;

use ::kameo::actor::{Actor, ActorRef, Spawn};
use ::kameo::error::Infallible;
use ::kameo::mailbox;
use ::kameo::message::{Context, Message};

use super::{Player, Ran, Runtime, tokio};

/// The runtime of kameo.
#[derive(Debug)]
pub struct Kameo;

/// A player as an actor.
#[derive(Debug)]
pub struct Seat<P>(P);

impl<P: Player> Actor for Seat<P> {
    type Args = P;
    type Error = Infallible;

    async fn on_start(mut player: P, _: ActorRef<Self>) -> Result<Self, Infallible> {
        player.started();
        Ok(Self(player))
    }
}

struct Mail<M>(M);

impl<P: Player> Message<Mail<P::Message>> for Seat<P> {
    type Reply = u64;

    async fn handle(&mut self, mail: Mail<P::Message>, _: &mut Context<Self, u64>) -> u64 {
        self.0.handle(mail.0)
    }
}

impl Runtime for Kameo {
    type Address<P: Player> = ActorRef<Seat<P>>;

    fn run<T: Send + 'static>(threads: usize, work: impl FnOnce() -> T + Send + 'static) -> Ran {
        tokio::block_on(threads, work)
    }

    fn spawn<P: Player>(player: P) -> Self::Address<P> {
        Seat::<P>::spawn_with_mailbox(player, mailbox::unbounded())
    }

    fn tell<P: Player>(address: &Self::Address<P>, message: P::Message) -> bool {
        address.tell(Mail(message)).try_send().is_ok()
    }

    async fn ask<P: Player>(address: &Self::Address<P>, message: P::Message) -> Option<u64> {
        address.ask(Mail(message)).await.ok()
    }

    fn task(future: impl Future<Output = ()> + Send + 'static) {
        ::tokio::spawn(future);
    }
}
