//! Actors that have nothing to do: they cost no time, and little memory.

use horus_testing as _;

mod private;

use std::fs;
use std::time::{Duration, Instant};

use horus_core::actor::{Actor, Address, Context, Reply};
use horus_core::scheduler::NodeResult;
use private::Private;

/// An actor with eight bytes of state.
struct Counter(u64);

impl Actor for Counter {
    type Message = Reply<u64>;

    fn handle(&mut self, reply: Reply<u64>, _: &mut Context<'_, Self>) -> NodeResult {
        self.0 += 1;
        reply.send(self.0);
        Ok(())
    }
}

/// Returns the resident memory of this process in bytes.
fn resident_bytes() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap();
    let pages = statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap();
    pages * 4096
}

/// Returns the CPU time of all threads of this process whose name begins with `name`, in ns.
fn cpu_ns(name: &str) -> u64 {
    let threads = fs::read_dir("/proc/self/task").unwrap();
    let one = |thread: std::io::Result<fs::DirEntry>| {
        let path = thread.unwrap().path();
        let is_meant =
            fs::read_to_string(path.join("comm")).is_ok_and(|comm| comm.starts_with(name));
        let stat = fs::read_to_string(path.join("schedstat")).unwrap_or_default();
        let time = stat.split(' ').next().and_then(|time| time.parse().ok());
        time.filter(|_| is_meant).unwrap_or(0)
    };
    threads.map(one).sum()
}

/// Returns the part of one core that the threads of the group `fleet` use during `work`.
fn share_of_a_core(work: impl FnOnce()) -> f64 {
    let (begin, begin_ns) = (Instant::now(), cpu_ns("fleet"));
    work();
    let (took, used) = (begin.elapsed(), cpu_ns("fleet") - begin_ns);
    used as f64 / took.as_nanos() as f64
}

/// A hundred thousand actors take as little memory each as four hundred thousand. All of them cost
/// no time while they have no mail, and little if a thread sends them a message each millisecond.
#[test]
fn idle_actors_cost_no_time_and_little_memory() {
    const FEW: usize = 100_000;
    const ACTORS: usize = 400_000;
    let (mut scheduler, _private) = Private::alone();
    let actors = scheduler.actors("fleet").threads(2).build().unwrap();
    let running = scheduler.start().unwrap();
    let mut addresses = Vec::with_capacity(ACTORS);
    // WHY before: pages of the list itself do not count.
    addresses.resize_with(ACTORS, || None);
    addresses
        .iter_mut()
        .for_each(|address| *std::hint::black_box(address) = None);
    let ask = |address: &Address<Reply<u64>>| {
        let answer = address.ask(|reply| reply).unwrap();
        assert_eq!(answer.wait(Duration::from_secs(60)), Ok(1));
    };
    ask(&actors.spawn(Counter(0)).unwrap());
    let before = resident_bytes();
    let mut spawned = 0;
    for count in [FEW, ACTORS] {
        for address in &mut addresses[spawned..count] {
            *address = Some(actors.spawn(Counter(0)).unwrap());
        }
        spawned = count;
        let bytes = (resident_bytes() - before) / count as u64;
        println!("RESULT actor_idle/memory: {bytes} bytes for each of {count} actors");
        assert!(bytes <= 150, "{bytes} bytes for each of {count} actors");
    }

    let addresses: Vec<_> = addresses.into_iter().flatten().collect();
    addresses
        .first()
        .into_iter()
        .chain(addresses.last())
        .for_each(ask);
    std::thread::sleep(Duration::from_millis(100));
    let idle = share_of_a_core(|| std::thread::sleep(Duration::from_secs(3)));
    println!("RESULT actor_idle/idle: {:.4} % of a core", idle * 100.0);
    assert!(idle <= 0.001, "{:.3} % of a core", idle * 100.0);

    let (interval, mut next) = (Duration::from_millis(1), Instant::now());
    let mut told = 0;
    let busy = share_of_a_core(|| {
        for address in addresses.iter().skip(1).step_by(97).take(3000) {
            next += interval;
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
            // WHY without a wait for the answer: nobody needs it.
            told += u64::from(address.ask(|reply| reply).is_ok());
        }
    });
    println!("RESULT actor_idle/told: {:.2} % of a core", busy * 100.0);
    assert_eq!(told, 3000);
    // WHY more without optimisation: to wake up, search and sleep takes several times as long.
    let limit = if cfg!(debug_assertions) { 0.12 } else { 0.03 };
    assert!(busy <= limit, "{:.2} % of a core", busy * 100.0);
    running.finish().unwrap();
    assert_eq!(actors.counters().alive, 0);
}
