//! Runs the workloads on actors of the crate actix. With several threads, each thread has an
//! arbiter, and new actors are assigned to the arbiters in turn.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};

use ::actix::{Actor, Addr, Arbiter, ArbiterHandle, Context, Handler, Message, System};

use super::{GATE, PerPass, RunResult, Runtime, WorkloadActor};

/// The actor runtime of the crate actix.
#[derive(Debug)]
pub struct Actix;

/// The arbiters of each pass, one for each thread. The list is empty if the actors run on the
/// thread that spawns them.
static ARBITERS: PerPass<Vec<ArbiterHandle>> = PerPass::new();

/// Number of actors spawned so far. It selects the thread of the next actor.
static SPAWNED: AtomicUsize = AtomicUsize::new(0);

/// An actix actor that passes its messages to a [`WorkloadActor`].
#[derive(Debug)]
pub struct ActorAdapter<P>(P);

impl<P: WorkloadActor> Actor for ActorAdapter<P> {
    type Context = Context<Self>;

    fn started(&mut self, _: &mut Context<Self>) {
        self.0.started();
    }
}

struct Mail<M>(M);

impl<M> Message for Mail<M> {
    type Result = u64;
}

impl<P: WorkloadActor> Handler<Mail<P::Message>> for ActorAdapter<P> {
    type Result = u64;

    fn handle(&mut self, mail: Mail<P::Message>, _: &mut Context<Self>) -> u64 {
        self.0.handle(mail.0)
    }
}

fn next() -> Option<&'static ArbiterHandle> {
    let arbiters = ARBITERS
        .current_cell()
        .get()
        .filter(|arbiters| !arbiters.is_empty())?;
    let index = SPAWNED.fetch_add(1, Ordering::Relaxed) % arbiters.len();
    arbiters.get(index)
}

impl Runtime for Actix {
    type Address<P: WorkloadActor> = Addr<ActorAdapter<P>>;

    fn run_workload<T: Send + 'static>(
        threads: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> RunResult {
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

    fn spawn<P: WorkloadActor>(player: P) -> Self::Address<P> {
        let seat = ActorAdapter(player);
        match next() {
            Some(arbiter) => Actor::start_in_arbiter(arbiter, |_| seat),
            None => seat.start(),
        }
    }

    fn tell<P: WorkloadActor>(address: &Self::Address<P>, message: P::Message) -> bool {
        address.do_send(Mail(message));
        true
    }

    async fn ask<P: WorkloadActor>(address: &Self::Address<P>, message: P::Message) -> Option<u64> {
        address.send(Mail(message)).await.ok()
    }

    fn spawn_task(future: impl Future<Output = ()> + Send + 'static) {
        match next() {
            Some(arbiter) => _ = arbiter.spawn(future),
            None => _ = ::actix::spawn(future),
        }
    }
}
