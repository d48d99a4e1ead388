//! Runs the workloads on actors of other crates: on those of actix, kameo and ractor, and on tokio
//! tasks with an unbounded channel each, which a program without an actor library would have.

use std::future::Future;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};

use ::actix::{Addr, Arbiter, ArbiterHandle, System};
use ::kameo::actor::Spawn as _;
use ::ractor::{ActorProcessingErr, ActorRuntime, RpcReplyPort};
use ::tokio::runtime::Builder;
use ::tokio::sync::{mpsc, oneshot};

use super::{GATE, Mail, PerWorkloadPass, Runtime, WorkloadActor};
use crate::Outcome;

/// An actor of actix or kameo that passes its messages to a [`WorkloadActor`].
#[derive(Debug)]
pub struct ActorAdapter<P>(P);

/// A message to an [`ActorAdapter`]. A sender that needs no answer ignores it.
struct Question<M>(M);

/// The actor runtime of the crate actix. With several threads, each thread has an arbiter, and new
/// actors are assigned to the arbiters in turn.
#[derive(Debug)]
pub struct Actix;

/// The arbiters (event loops of actix), one for each thread. There are none if the actors run on
/// the thread that spawns them.
static ARBITERS: PerWorkloadPass<Vec<ArbiterHandle>> = PerWorkloadPass::new();

/// Number of actors spawned so far. It selects the thread of the next actor.
static SPAWNED_ACTORS: AtomicUsize = AtomicUsize::new(0);

fn next_arbiter() -> Option<&'static ArbiterHandle> {
    let arbiters = ARBITERS.current_cell().get()?;
    let index = SPAWNED_ACTORS.fetch_add(1, Ordering::Relaxed);
    arbiters.get(index.checked_rem(arbiters.len())?)
}

impl<P: WorkloadActor> ::actix::Actor for ActorAdapter<P> {
    type Context = ::actix::Context<Self>;

    fn started(&mut self, _: &mut Self::Context) {
        self.0.handle_start();
    }
}

impl<M> ::actix::Message for Question<M> {
    type Result = u64;
}

impl<P: WorkloadActor> ::actix::Handler<Question<P::Message>> for ActorAdapter<P> {
    type Result = u64;

    fn handle(&mut self, question: Question<P::Message>, _: &mut Self::Context) -> u64 {
        self.0.handle(question.0)
    }
}

impl Runtime for Actix {
    type Address<P: WorkloadActor> = Addr<ActorAdapter<P>>;

    fn run_workload<T: Send + 'static>(
        threads: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Outcome {
        let system = System::new();
        let arbiters: Vec<_> = (0..threads).map(|_| Arbiter::new()).collect();
        ARBITERS
            .current_cell()
            .get_or_init(|| arbiters.iter().map(Arbiter::handle).collect());
        system.block_on(async {
            let _kept = work();
            (&GATE).await;
        });
        for arbiter in arbiters {
            arbiter.stop();
            arbiter.join().map_err(|_| "an arbiter panicked")?;
        }
        Ok(())
    }

    fn spawn<P: WorkloadActor>(actor: P) -> Self::Address<P> {
        let adapter = ActorAdapter(actor);
        match next_arbiter() {
            Some(arbiter) => ::actix::Actor::start_in_arbiter(arbiter, |_| adapter),
            None => ::actix::Actor::start(adapter),
        }
    }

    fn tell<P: WorkloadActor>(address: &Self::Address<P>, message: P::Message) -> bool {
        address.do_send(Question(message));
        true
    }

    async fn ask<P: WorkloadActor>(address: &Self::Address<P>, message: P::Message) -> Option<u64> {
        address.send(Question(message)).await.ok()
    }

    fn spawn_task(future: impl Future<Output = ()> + Send + 'static) {
        match next_arbiter() {
            Some(arbiter) => _ = arbiter.spawn(future),
            None => _ = ::actix::spawn(future),
        }
    }
}

/// Defines the functions of [`Runtime`] that all actors on tokio share, including those of other
/// crates: one starts a tokio runtime, runs `work` on it, and waits for the end of the workload.
macro_rules! on_tokio {
    () => {
        fn run_workload<T: Send + 'static>(
            threads: usize,
            work: impl FnOnce() -> T + Send + 'static,
        ) -> Outcome {
            let runtime = match threads {
                0 => Builder::new_current_thread().build()?,
                _ => Builder::new_multi_thread()
                    .worker_threads(threads)
                    .build()?,
            };
            runtime.block_on(async {
                let _kept = work();
                (&GATE).await;
            });
            Ok(())
        }

        fn spawn_task(future: impl Future<Output = ()> + Send + 'static) {
            ::tokio::spawn(future);
        }
    };
}

/// The actor runtime whose actors are tokio tasks.
#[derive(Debug)]
pub struct Tokio;

async fn run_actor<P: WorkloadActor>(
    mut actor: P,
    mut mails: mpsc::UnboundedReceiver<Mail<P::Message, oneshot::Sender<u64>>>,
) {
    actor.handle_start();
    while let Some(mail) = mails.recv().await {
        match mail {
            Mail::Tell(message) => _ = actor.handle(message),
            // WHY ignored: the one that asked has left.
            Mail::Ask(message, reply) => _ = reply.send(actor.handle(message)),
        }
    }
}

impl Runtime for Tokio {
    type Address<P: WorkloadActor> = mpsc::UnboundedSender<Mail<P::Message, oneshot::Sender<u64>>>;

    on_tokio!();

    fn spawn<P: WorkloadActor>(actor: P) -> Self::Address<P> {
        let (sender, receiver) = mpsc::unbounded_channel();
        ::tokio::spawn(run_actor(actor, receiver));
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
}

/// The actor runtime of the crate kameo.
#[derive(Debug)]
pub struct Kameo;

impl<P: WorkloadActor> ::kameo::Actor for ActorAdapter<P> {
    type Args = P;
    type Error = ::kameo::error::Infallible;

    async fn on_start(
        mut actor: P,
        _: ::kameo::actor::ActorRef<Self>,
    ) -> Result<Self, Self::Error> {
        actor.handle_start();
        Ok(Self(actor))
    }
}

impl<P: WorkloadActor> ::kameo::message::Message<Question<P::Message>> for ActorAdapter<P> {
    type Reply = u64;

    async fn handle(
        &mut self,
        question: Question<P::Message>,
        _: &mut ::kameo::message::Context<Self, u64>,
    ) -> u64 {
        self.0.handle(question.0)
    }
}

impl Runtime for Kameo {
    type Address<P: WorkloadActor> = ::kameo::actor::ActorRef<ActorAdapter<P>>;

    on_tokio!();

    fn spawn<P: WorkloadActor>(actor: P) -> Self::Address<P> {
        ActorAdapter::<P>::spawn_with_mailbox(actor, ::kameo::mailbox::unbounded())
    }

    fn tell<P: WorkloadActor>(address: &Self::Address<P>, message: P::Message) -> bool {
        address.tell(Question(message)).try_send().is_ok()
    }

    async fn ask<P: WorkloadActor>(address: &Self::Address<P>, message: P::Message) -> Option<u64> {
        address.ask(Question(message)).await.ok()
    }
}

/// The actor runtime of the crate ractor.
#[derive(Debug)]
pub struct Ractor;

/// The code of a ractor actor, whose state is a [`WorkloadActor`].
struct RactorAdapter<P>(PhantomData<fn(P)>);

impl<P: WorkloadActor> ::ractor::Actor for RactorAdapter<P> {
    type Msg = Mail<P::Message, RpcReplyPort<u64>>;
    type State = P;
    type Arguments = P;

    async fn pre_start(
        &self,
        _: ::ractor::ActorRef<Self::Msg>,
        mut actor: P,
    ) -> Result<P, ActorProcessingErr> {
        actor.handle_start();
        Ok(actor)
    }

    async fn handle(
        &self,
        _: ::ractor::ActorRef<Self::Msg>,
        mail: Self::Msg,
        actor: &mut P,
    ) -> Result<(), ActorProcessingErr> {
        match mail {
            Mail::Tell(message) => _ = actor.handle(message),
            // WHY ignored: the one that asked has left.
            Mail::Ask(message, reply) => _ = reply.send(actor.handle(message)),
        }
        Ok(())
    }
}

impl Runtime for Ractor {
    type Address<P: WorkloadActor> = ::ractor::ActorRef<Mail<P::Message, RpcReplyPort<u64>>>;

    on_tokio!();

    fn spawn<P: WorkloadActor>(actor: P) -> Self::Address<P> {
        let adapter = RactorAdapter(PhantomData);
        let (address, _) =
            ActorRuntime::spawn_instant(None, adapter, actor).expect("it has no name");
        address
    }

    fn tell<P: WorkloadActor>(address: &Self::Address<P>, message: P::Message) -> bool {
        address.cast(Mail::Tell(message)).is_ok()
    }

    async fn ask<P: WorkloadActor>(address: &Self::Address<P>, message: P::Message) -> Option<u64> {
        let answer = address.call(|reply| Mail::Ask(message, reply), None).await;
        answer.ok()?.success_or(()).ok()
    }
}
