//! Runs the workloads on actors of our own library.

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Polling, Poll, Wake, Waker};
use std::time::Duration;

use horus_core::actor::{Actor, Actors, Address, Context, MailboxKind, Reply};
use horus_core::scheduler::{NodeResult, Running, Scheduler};

use super::{GATE, PerWorkloadPass, Runtime, WorkloadActor};
use crate::Outcome;

/// Maximum time to wait for the answer of an actor.
const ANSWER_WAIT_MAX: Duration = Duration::from_secs(60);

/// The groups of actors that [`HorusRuntime`] creates.
static ACTOR_GROUPS: PerWorkloadPass<Actors> = PerWorkloadPass::new();

/// The actor runtime of our library.
#[derive(Debug)]
pub struct HorusRuntime;

type Mail<M> = super::Mail<M, Reply<u64>>;

/// An actor of our library that passes its messages to a [`WorkloadActor`].
struct ActorAdapter<P>(P);

impl<P: WorkloadActor> Actor for ActorAdapter<P> {
    type Message = Mail<P::Message>;

    fn init(&mut self, _: &mut Context<'_, Self>) -> NodeResult {
        self.0.handle_start();
        Ok(())
    }

    fn handle(&mut self, mail: Mail<P::Message>, _: &mut Context<'_, Self>) -> NodeResult {
        match mail {
            Mail::Tell(message) => _ = self.0.handle(message),
            Mail::Ask(message, reply) => reply.send(self.0.handle(message)),
        }
        Ok(())
    }
}

/// An actor that polls a future each time it receives a message.
struct FutureActor {
    future: Pin<Box<dyn Future<Output = ()> + Send>>,
    waker: Option<Waker>,
}

/// A waker that wakes its task by sending a message to an actor.
struct MessageWaker(Address<()>);

impl Wake for MessageWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // WHY ignored: the task has ended.
        let _ = self.0.tell(());
    }
}

impl Actor for FutureActor {
    type Message = ();

    fn handle(&mut self, (): (), context: &mut Context<'_, Self>) -> NodeResult {
        let waker = || Waker::from(Arc::new(MessageWaker(context.address())));
        let waker = self.waker.get_or_insert_with(waker);
        if let Poll::Ready(()) = self.future.as_mut().poll(&mut Polling::from_waker(waker)) {
            context.stop();
        }
        Ok(())
    }
}

/// Starts a scheduler with a group of actors on `threads` threads.
fn start_actors(threads: usize) -> Outcome<Running> {
    let mut scheduler = Scheduler::new();
    let actors = scheduler.actors("players").threads(threads);
    let actors = actors.mailbox(MailboxKind::unbounded()).build()?;
    ACTOR_GROUPS.current_cell().get_or_init(|| actors);
    Ok(scheduler.start()?)
}

fn spawn<A: Actor>(actor: A) -> Address<A::Message> {
    let actors = ACTOR_GROUPS
        .current_cell()
        .get()
        .expect("`run` has made the group");
    actors.spawn(actor).expect("the group takes actors")
}

impl Runtime for HorusRuntime {
    type Address<P: WorkloadActor> = Address<Mail<P::Message>>;

    fn run_workload<T: Send + 'static>(
        threads: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Outcome {
        let running = start_actors(threads.max(1))?;
        if threads == 0 {
            Self::spawn_task(async move {
                let _kept = work();
                pending::<()>().await;
            });
            pollster::block_on(&GATE);
        } else {
            let _kept = work();
            pollster::block_on(&GATE);
        }
        running.finish()?;
        Ok(())
    }

    /// Runs the actors without threads of the runtime. WHY: a wait for an answer then runs the
    /// actors itself, and no task has to be woken.
    fn run_on_one_thread<F: Future<Output = ()> + Send + 'static>(
        work: impl FnOnce() -> F + Send + 'static,
    ) -> Outcome {
        let mut running = start_actors(0)?;
        running.tick_once()?;
        pollster::block_on(work());
        running.finish()?;
        Ok(())
    }

    fn spawn<P: WorkloadActor>(actor: P) -> Self::Address<P> {
        spawn(ActorAdapter(actor))
    }

    fn tell<P: WorkloadActor>(address: &Self::Address<P>, message: P::Message) -> bool {
        address.tell(Mail::Tell(message)).is_ok()
    }

    fn tell_all<P: WorkloadActor>(
        address: &Self::Address<P>,
        messages: impl Iterator<Item = P::Message>,
    ) -> bool {
        address.tell_all(messages.map(Mail::Tell)).is_ok()
    }

    async fn ask<P: WorkloadActor>(address: &Self::Address<P>, message: P::Message) -> Option<u64> {
        let answer = address.ask(|reply| Mail::Ask(message, reply)).ok()?;
        answer.await.ok()
    }

    async fn ask_in_same_thread<P: WorkloadActor>(
        address: &Self::Address<P>,
        message: P::Message,
    ) -> Option<u64> {
        Self::ask_and_wait::<P>(address, message)
    }

    fn ask_and_wait<P: WorkloadActor>(
        address: &Self::Address<P>,
        message: P::Message,
    ) -> Option<u64> {
        let answer = address.ask(|reply| Mail::Ask(message, reply)).ok()?;
        answer.wait(ANSWER_WAIT_MAX).ok()
    }

    fn spawn_task(future: impl Future<Output = ()> + Send + 'static) {
        let future = Box::pin(future);
        let task = spawn(FutureActor {
            future,
            waker: None,
        });
        GATE.fail_unless(task.tell(()).is_ok());
    }
}
