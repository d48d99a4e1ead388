//! Runs the workloads on actors that are tokio tasks, each with an unbounded channel. A program
//! without an actor library would have such actors.

use std::future::Future;

use ::tokio::runtime::Builder;
use ::tokio::sync::{mpsc, oneshot};

use super::{GATE, RunResult, Runtime, WorkloadActor};

/// The actor runtime whose actors are tokio tasks.
#[derive(Debug)]
pub struct Tokio;

type Mail<M> = super::Mail<M, oneshot::Sender<u64>>;

/// Starts a tokio runtime, runs `work` on it, and waits for the end of the workload. Used for all
/// actors that run on tokio, including those of other crates.
pub(super) fn block_on<T: Send + 'static>(threads: usize, work: impl FnOnce() -> T) -> RunResult {
    let runtime = if threads == 0 {
        Builder::new_current_thread().build()?
    } else {
        Builder::new_multi_thread()
            .worker_threads(threads)
            .build()?
    };
    runtime.block_on(async {
        let _kept = work();
        (&GATE).await;
    });
    Ok(())
}

async fn run_actor<P: WorkloadActor>(
    mut player: P,
    mut mails: mpsc::UnboundedReceiver<Mail<P::Message>>,
) {
    player.started();
    while let Some(mail) = mails.recv().await {
        match mail {
            Mail::Tell(message) => _ = player.handle(message),
            // WHY ignored: the one that asked has left.
            Mail::Ask(message, reply) => _ = reply.send(player.handle(message)),
        }
    }
}

impl Runtime for Tokio {
    type Address<P: WorkloadActor> = mpsc::UnboundedSender<Mail<P::Message>>;

    fn run_workload<T: Send + 'static>(
        threads: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> RunResult {
        block_on(threads, work)
    }

    fn spawn<P: WorkloadActor>(player: P) -> Self::Address<P> {
        let (sender, receiver) = mpsc::unbounded_channel();
        ::tokio::spawn(run_actor(player, receiver));
        sender
    }

    fn tell<P: WorkloadActor>(address: &Self::Address<P>, message: P::Message) -> bool {
        address.send(Mail::Tell(message)).is_ok()
    }

    async fn ask<P: WorkloadActor>(address: &Self::Address<P>, message: P::Message) -> Option<u64> {
        let (reply, answer) = oneshot::channel();
        address.send(Mail::Ask(message, reply)).ok()?;
        answer.await.ok()
    }

    fn spawn_task(future: impl Future<Output = ()> + Send + 'static) {
        ::tokio::spawn(future);
    }
}
