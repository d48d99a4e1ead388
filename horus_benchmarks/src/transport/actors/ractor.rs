//! Actors of ractor, on a runtime of tokio.

use std::future::Future;

use ::ractor::{Actor, ActorProcessingErr, ActorRef, ActorRuntime, RpcReplyPort};

use super::{Player, Ran, Runtime, tokio};

/// The runtime of ractor.
#[derive(Debug)]
pub struct Ractor;

type Mail<M> = super::Mail<M, RpcReplyPort<u64>>;

/// The code of an actor; its state is the player.
struct Seat<P>(std::marker::PhantomData<fn(P)>);

impl<P: Player> Actor for Seat<P> {
    type Msg = Mail<P::Message>;
    type State = P;
    type Arguments = P;

    async fn pre_start(
        &self,
        _: ActorRef<Self::Msg>,
        mut player: P,
    ) -> Result<P, ActorProcessingErr> {
        player.started();
        Ok(player)
    }

    async fn handle(
        &self,
        _: ActorRef<Self::Msg>,
        mail: Self::Msg,
        player: &mut P,
    ) -> Result<(), ActorProcessingErr> {
        match mail {
            Mail::Tell(message) => _ = player.handle(message),
            // WHY ignored: the one that asked has left.
            Mail::Ask(message, reply) => _ = reply.send(player.handle(message)),
        }
        Ok(())
    }
}

impl Runtime for Ractor {
    type Address<P: Player> = ActorRef<Mail<P::Message>>;

    fn run<T: Send + 'static>(threads: usize, work: impl FnOnce() -> T + Send + 'static) -> Ran {
        tokio::block_on(threads, work)
    }

    fn spawn<P: Player>(player: P) -> Self::Address<P> {
        let seat = Seat(std::marker::PhantomData);
        let (address, _) = ActorRuntime::spawn_instant(None, seat, player).expect("it has no name");
        address
    }

    fn tell<P: Player>(address: &Self::Address<P>, message: P::Message) -> bool {
        address.cast(Mail::Tell(message)).is_ok()
    }

    async fn ask<P: Player>(address: &Self::Address<P>, message: P::Message) -> Option<u64> {
        let answer = address.call(|reply| Mail::Ask(message, reply), None).await;
        answer.ok()?.success_or(()).ok()
    }

    fn task(future: impl Future<Output = ()> + Send + 'static) {
        ::tokio::spawn(future);
    }
}
