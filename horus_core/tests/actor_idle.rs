//! Actors that have nothing to do: they cost no time, and little memory.

use horus_testing as _;

mod private;

use std::fs;
use std::time::{Duration, Instant};

use horus_core::actor::{Actor, Context, Reply};
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

#[test]
fn idle_actors_cost_no_time_and_little_memory() {
    const ACTORS: u64 = 400_000;
    let (mut scheduler, _private) = Private::alone();
    let actors = scheduler.actors("fleet").threads(2).build().unwrap();
    let running = scheduler.start().unwrap();
    let mut addresses = Vec::with_capacity(ACTORS as usize);
    // WHY before: pages of the list itself do not count.
    addresses.resize_with(ACTORS as usize, || None);
    addresses
        .iter_mut()
        .for_each(|address| *std::hint::black_box(address) = None);
    let first = actors.spawn(Counter(0)).unwrap();
    let answer = first.ask(|reply| reply).unwrap();
    assert_eq!(answer.wait(Duration::from_secs(60)), Ok(1));
    let before = resident_bytes();
    for address in &mut addresses {
        *address = Some(actors.spawn(Counter(0)).unwrap());
    }
    let bytes = (resident_bytes() - before) / ACTORS;
    println!("{bytes} bytes for each actor");
    assert!(bytes <= 150, "{bytes} bytes for each actor");

    let [first, last] = [0, ACTORS as usize - 1].map(|index| addresses[index].clone().unwrap());
    for address in [first, last] {
        let answer = address.ask(|reply| reply).unwrap();
        assert_eq!(answer.wait(Duration::from_secs(60)), Ok(1));
    }
    std::thread::sleep(Duration::from_millis(100));
    let (begin, begin_ns) = (Instant::now(), cpu_ns("fleet"));
    std::thread::sleep(Duration::from_secs(3));
    let (took, used) = (begin.elapsed(), cpu_ns("fleet") - begin_ns);
    let share = used as f64 / took.as_nanos() as f64;
    println!("{:.4} % of a core", share * 100.0);
    assert!(share <= 0.001, "{:.3} % of a core", share * 100.0);
    running.finish().unwrap();
    assert_eq!(actors.counts().alive, 0);
}
