//! Runs the workloads on actors of the crate ractor, which run on a tokio runtime.

use std::future::Future;

use ::ractor::{Actor, ActorProcessingErr, ActorRef, ActorRuntime, RpcReplyPort};

use super::{RunResult, Runtime, WorkloadActor, tokio};

/// The actor runtime of the crate ractor.
#[derive(Debug)]
pub struct Ractor;

type Mail<M> = super::Mail<M, RpcReplyPort<u64>>;

/// The code of a ractor actor, whose state is a [`WorkloadActor`].
struct ActorAdapter<P>(std::marker::PhantomData<fn(P)>);

impl<P: WorkloadActor> Actor for ActorAdapter<P> {
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
    type Address<P: WorkloadActor> = ActorRef<Mail<P::Message>>;

    fn run_workload<T: Send + 'static>(
        threads: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> RunResult {
        tokio::block_on(threads, work)
    }

    fn spawn<P: WorkloadActor>(player: P) -> Self::Address<P> {
        let seat = ActorAdapter(std::marker::PhantomData);
        let (address, _) = ActorRuntime::spawn_instant(None, seat, player).expect("it has no name");
        address
    }

    fn tell<P: WorkloadActor>(address: &Self::Address<P>, message: P::Message) -> bool {
        address.cast(Mail::Tell(message)).is_ok()
    }

    async fn ask<P: WorkloadActor>(address: &Self::Address<P>, message: P::Message) -> Option<u64> {
        let answer = address.call(|reply| Mail::Ask(message, reply), None).await;
        answer.ok()?.success_or(()).ok()
    }

    fn spawn_task(future: impl Future<Output = ()> + Send + 'static) {
        ::tokio::spawn(future);
    }
}
