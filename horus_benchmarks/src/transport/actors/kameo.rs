//! Runs the workloads on actors of the crate kameo, which run on a tokio runtime.

use std::future::Future;

use ::kameo::actor::{Actor, ActorRef, Spawn};
use ::kameo::error::Infallible;
use ::kameo::mailbox;
use ::kameo::message::{Context, Message};

use super::{RunResult, Runtime, WorkloadActor, tokio};

/// The actor runtime of the crate kameo.
#[derive(Debug)]
pub struct Kameo;

/// A kameo actor that passes its messages to a [`WorkloadActor`].
#[derive(Debug)]
pub struct ActorAdapter<P>(P);

impl<P: WorkloadActor> Actor for ActorAdapter<P> {
    type Args = P;
    type Error = Infallible;

    async fn on_start(mut player: P, _: ActorRef<Self>) -> Result<Self, Infallible> {
        player.started();
        Ok(Self(player))
    }
}

struct Mail<M>(M);

impl<P: WorkloadActor> Message<Mail<P::Message>> for ActorAdapter<P> {
    type Reply = u64;

    async fn handle(&mut self, mail: Mail<P::Message>, _: &mut Context<Self, u64>) -> u64 {
        self.0.handle(mail.0)
    }
}

impl Runtime for Kameo {
    type Address<P: WorkloadActor> = ActorRef<ActorAdapter<P>>;

    fn run_workload<T: Send + 'static>(
        threads: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> RunResult {
        tokio::block_on(threads, work)
    }

    fn spawn<P: WorkloadActor>(player: P) -> Self::Address<P> {
        ActorAdapter::<P>::spawn_with_mailbox(player, mailbox::unbounded())
    }

    fn tell<P: WorkloadActor>(address: &Self::Address<P>, message: P::Message) -> bool {
        address.tell(Mail(message)).try_send().is_ok()
    }

    async fn ask<P: WorkloadActor>(address: &Self::Address<P>, message: P::Message) -> Option<u64> {
        address.ask(Mail(message)).await.ok()
    }

    fn spawn_task(future: impl Future<Output = ()> + Send + 'static) {
        ::tokio::spawn(future);
    }
}
