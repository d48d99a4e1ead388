//! The threads of a group: their settings, how they wait, and commands while one of them blocks.

use horus_testing as _;

mod executors;
mod noise;
mod private;

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use executors::{LONG, Recorded, until};
use horus_core::actor::{Actor, Actors, Address, Context, Idle, Reply};
use horus_core::message::NodeEvent;
use horus_core::scheduler::{Health, NodeResult, PlanError, Scheduler};
use noise::result;
use private::Private;

/// Returns a line of the status of each thread whose name begins with `name`.
fn status_of(name: &str, line: &str) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for thread in fs::read_dir("/proc/self/task").unwrap().flatten() {
        let read = |file| fs::read_to_string(thread.path().join(file)).unwrap_or_default();
        let comm = read("comm").trim().to_owned();
        let status = read("status");
        let value = status.lines().find_map(|text| text.strip_prefix(line));
        if let (true, Some(value)) = (comm.starts_with(name), value) {
            all.insert(comm, value.trim().to_owned());
        }
    }
    all
}

/// Answers with the name of its thread, or blocks.
struct Teller;

enum Order {
    Tell(Reply<String>),
    /// Sends the name of its thread, and blocks until the other end is dropped.
    Block(mpsc::Sender<String>, mpsc::Receiver<()>),
}

impl Actor for Teller {
    type Message = Order;

    fn handle(&mut self, order: Order, _: &mut Context<'_, Self>) -> NodeResult {
        let name = thread::current().name().unwrap_or_default().to_owned();
        match order {
            Order::Tell(reply) => reply.send(name),
            Order::Block(began, until) => {
                // WHY ignored: a test that fails hears of nothing any more.
                let _ = began.send(name);
                assert!(until.recv().is_err());
            }
        }
        Ok(())
    }
}

fn tell(address: &Address<Order>) -> String {
    address.ask(Order::Tell).unwrap().wait(LONG).unwrap()
}

#[test]
fn threads_are_pinned_to_their_cpus() {
    let cpus = thread::available_parallelism().unwrap().get();
    let (mut scheduler, _private) = Private::alone();
    let last = cpus - 1;
    let group = scheduler.actors("pinned").threads(3).cores([last, 0]);
    let actors = group.build().unwrap();
    let running = scheduler.start().unwrap();
    let addresses: Vec<_> = (0..10).map(|_| actors.spawn(Teller).unwrap()).collect();
    addresses.iter().for_each(|address| drop(tell(address)));
    let wanted = [("pinned", last), ("pinned 1", 0), ("pinned 2", last)];
    let wanted = wanted.map(|(name, core)| (name.to_owned(), core.to_string()));
    let found = || status_of("pinned", "Cpus_allowed_list:");
    until("all are pinned", || {
        found() == BTreeMap::from(wanted.clone())
    });
    running.finish().unwrap();
}

#[test]
fn settings_that_are_impossible_are_refused() {
    let (mut scheduler, _private) = Private::alone();
    for group in [
        scheduler.actors("fleet").cores([0, 100_000]).build(),
        scheduler.actors("fleet").priority(100).build(),
    ] {
        let error = group.map(drop).unwrap_err();
        assert!(matches!(error, PlanError::Range { .. }), "{error}");
    }
}

/// An actor that occupies a thread until others have come as far.
struct Waiting(Arc<Barrier>);

impl Actor for Waiting {
    type Message = ();

    fn handle(&mut self, (): (), _: &mut Context<'_, Self>) -> NodeResult {
        self.0.wait();
        Ok(())
    }
}

/// The priority is that of all threads, or the report says that the system refused it.
#[test]
fn threads_have_a_priority() {
    let (mut scheduler, _private) = Private::alone();
    let group = scheduler.actors("urgent").threads(2).priority(1);
    let actors = group.build().unwrap();
    let running = scheduler.start().unwrap();
    let address = actors.spawn(Teller).unwrap();
    assert!(tell(&address).starts_with("urgent"));
    // Each thread has set its priority before it runs an actor.
    let both = Arc::new(Barrier::new(3));
    let waiting = [(); 2].map(|()| actors.spawn(Waiting(Arc::clone(&both))).unwrap());
    waiting.iter().for_each(|address| address.tell(()).unwrap());
    both.wait();
    let mut policies = Vec::new();
    for thread in fs::read_dir("/proc/self/task").unwrap().flatten() {
        let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        if stat.contains("(urgent") {
            // Field 41, which is number 38 behind the name.
            let after = stat.rsplit_once(") ").unwrap().1;
            policies.push(after.split(' ').nth(38).unwrap().to_owned());
        }
    }
    let report = running.finish().unwrap();
    let refused = &report.node("urgent").unwrap().refused;
    let is_refused = refused.iter().any(|what| what.contains("SCHED_FIFO"));
    let fifo = policies.iter().filter(|policy| **policy == "1").count();
    result(
        "actor_threads/priority",
        format!("{policies:?} {refused:?}"),
    );
    assert_eq!(fifo, if is_refused { 0 } else { 2 });
}

/// Lets the system refuse to pin the calling thread, and all threads that it creates from now on.
fn refuse_pinning() {
    let instruction = |code, k, jt, jf| libc::sock_filter { code, jt, jf, k };
    let load = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    let jump = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    let give = (libc::BPF_RET | libc::BPF_K) as u16;
    let refused = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    let mut filter = [
        // The number of the system call is the first field.
        instruction(load, 0, 0, 0),
        instruction(jump, libc::SYS_sched_setaffinity as u32, 0, 1),
        instruction(give, refused, 0, 0),
        instruction(give, libc::SECCOMP_RET_ALLOW, 0, 0),
    ];
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: the call has no pointer.
    let is_safe = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    assert_eq!(is_safe, 0);
    let mode = libc::SECCOMP_MODE_FILTER;
    // SAFETY: the program and its filter live until the call returns.
    let is_set = unsafe { libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program) };
    assert_eq!(is_set, 0);
}

/// The report says for each thread of a group which settings the system refused, and of which CPU.
#[test]
fn the_report_has_the_refused_settings_of_all_threads() {
    // WHY a thread: the filter stays for as long as the thread lives.
    let run = || {
        refuse_pinning();
        let (mut scheduler, _private) = Private::alone();
        let group = scheduler.actors("pinned").threads(3).cores([0, 1]);
        let _actors = group.build().unwrap();
        let running = scheduler.start().unwrap();
        let report = running.finish().unwrap();
        report.node("pinned").unwrap().refused.clone()
    };
    let mut refused = std::thread::spawn(run).join().unwrap();
    refused.sort();
    let cores: Vec<_> = refused
        .iter()
        .filter_map(|what| what.strip_prefix("core "))
        .filter_map(|what| what.split(':').next())
        .collect();
    assert_eq!(cores, ["0", "1"], "{refused:?}");
}

/// Threads that do not sleep handle mail as others do, and make no sender wake them.
#[test]
fn threads_that_poll_do_not_sleep() {
    for (idle, name) in [(Idle::Yield, "yields"), (Idle::Spin, "spins")] {
        let (mut scheduler, _private) = Private::alone();
        let actors = scheduler
            .actors(name)
            .threads(2)
            .idle(idle)
            .build()
            .unwrap();
        let running = scheduler.start().unwrap();
        let address = actors.spawn(Teller).unwrap();
        assert!(tell(&address).starts_with(name));
        let sleeps = || -> u64 {
            let all = status_of(name, "voluntary_ctxt_switches:");
            all.values()
                .map(|count| count.parse::<u64>().unwrap())
                .sum()
        };
        until("both have a name", || status_of(name, "Pid:").len() == 2);
        let before = sleeps();
        for _ in 0..20 {
            thread::sleep(Duration::from_millis(5));
            assert!(tell(&address).starts_with(name));
        }
        let slept = sleeps() - before;
        // WHY not 0: a fault of a page may wait, too.
        assert!(slept < 10, "{slept} sleeps");
        let handle = running.handle();
        handle.pause(name).unwrap();
        until("it pauses", || {
            handle.metrics(name).unwrap().health == Health::Paused
        });
        handle.resume(name).unwrap();
        assert!(tell(&address).starts_with(name));
        running.finish().unwrap();
    }
}

/// A pause takes effect at once, also if the thread that applies commands is in a handler.
#[test]
fn a_pause_does_not_wait_for_a_handler() {
    let (mut scheduler, _private) = Private::alone();
    let actors: Actors = scheduler.actors("fleet").threads(2).build().unwrap();
    let running = scheduler.start().unwrap();
    let (began, begun) = mpsc::channel();
    // The first thread has the name of the group: an actor has to block there.
    let blocked = (0..).find_map(|_| {
        let address = actors.spawn(Teller).unwrap();
        let (release, block) = mpsc::channel::<()>();
        address.tell(Order::Block(began.clone(), block)).unwrap();
        let name = begun.recv_timeout(LONG).unwrap();
        (name == "fleet").then_some((address, release))
    });
    let handle = running.handle();
    let other = actors.spawn(Teller).unwrap();
    assert_eq!(tell(&other), "fleet 1");
    handle.pause("fleet").unwrap();
    let health = || handle.metrics("fleet").unwrap().health;
    until("it pauses", || health() == Health::Paused);
    // WHY: an activation that has begun goes on.
    thread::sleep(Duration::from_millis(20));
    let mut answer = other.ask(Order::Tell).unwrap();
    thread::sleep(Duration::from_millis(50));
    assert_eq!(answer.try_take(), None, "mail waits");
    handle.resume("fleet").unwrap();
    assert_eq!(answer.wait(LONG).unwrap(), "fleet 1");
    drop(blocked);
    running.finish().unwrap();
}

/// An actor whose handler does not return is reported by its name, and so is its return.
#[test]
fn a_handler_that_does_not_return_is_reported() {
    let (private, recorded) = (Private::new(), Recorded::default());
    for threads in [0, 1, 3] {
        let mut scheduler = recorded.scheduler(&private);
        let name = format!("fleet of {threads}");
        let group = scheduler.actors(&name).threads(threads);
        let actors = group.watchdog(Duration::from_millis(50)).build().unwrap();
        let running = scheduler.start().unwrap();
        let handle = running.handle();
        let main = thread::spawn(move || {
            let mut running = running;
            running.run_for(LONG).unwrap();
            running.finish()
        });
        let arm = actors.spawn(Teller).unwrap();
        actors.register("arm/left", &arm).unwrap();
        let (began, begun) = mpsc::channel();
        for _ in 0..2 {
            let (release, block) = mpsc::channel::<()>();
            arm.tell(Order::Block(began.clone(), block)).unwrap();
            begun.recv_timeout(LONG).unwrap();
            let before = recorded.count(&name, NodeEvent::STUCK);
            until("it is reported", || {
                recorded.count(&name, NodeEvent::STUCK) > before
            });
            let event = *recorded.of(&name, NodeEvent::STUCK).last().unwrap();
            assert!(
                event
                    .text
                    .as_str()
                    .starts_with("actor 'arm/left' on thread"),
                "{event}"
            );
            assert!(event.value_ns >= 50_000_000, "{event}");
            let recovered = recorded.count(&name, NodeEvent::RECOVERED);
            drop(release);
            until("its return is reported", || {
                recorded.count(&name, NodeEvent::RECOVERED) > recovered
            });
        }
        // WHY again: a busy machine may displace a worker in a short handler for that long.
        until("many short handlers are not reported", || {
            let before = recorded.count(&name, NodeEvent::STUCK);
            let begin = Instant::now();
            while begin.elapsed() < Duration::from_millis(200) {
                tell(&arm);
            }
            let stuck = recorded.count(&name, NodeEvent::STUCK);
            stuck == before && stuck == recorded.count(&name, NodeEvent::RECOVERED)
        });
        handle.stop();
        main.join().unwrap().unwrap();
    }
}

/// Starts a timer whose function does not return until the other end is dropped.
struct Timed(Option<(mpsc::Sender<()>, mpsc::Receiver<()>)>);

impl Actor for Timed {
    type Message = ();

    fn init(&mut self, context: &mut Context<'_, Self>) -> NodeResult {
        if let Some((began, until)) = self.0.take() {
            context.tell_every(Duration::from_millis(1), move || {
                let _ = began.send(());
                let _ = until.recv();
            });
        }
        Ok(())
    }

    fn handle(&mut self, (): (), _: &mut Context<'_, Self>) -> NodeResult {
        Ok(())
    }
}

/// The function of a timer is code of its actor, and is watched like a handler.
#[test]
fn a_timer_whose_function_does_not_return_is_reported() {
    let (private, recorded) = (Private::new(), Recorded::default());
    for threads in [0, 1, 2] {
        let mut scheduler = recorded.scheduler(&private);
        let name = format!("fleet of {threads}");
        let group = scheduler.actors(&name).threads(threads);
        let actors = group.watchdog(Duration::from_millis(50)).build().unwrap();
        let (began, begun) = mpsc::channel();
        let (release, until_released) = mpsc::channel();
        let timed = Timed(Some((began, until_released)));
        actors
            .register("clock", &actors.spawn(timed).unwrap())
            .unwrap();
        let mut running = scheduler.start().unwrap();
        let handle = running.handle();
        let main = thread::spawn(move || {
            running.run_for(LONG).unwrap();
            running.finish()
        });
        begun.recv_timeout(LONG).unwrap();
        until("it is reported", || {
            recorded.count(&name, NodeEvent::STUCK) > 0
        });
        let event = recorded.of(&name, NodeEvent::STUCK)[0];
        let text = event.text.as_str();
        assert!(text.starts_with("actor 'clock' on thread"), "{event}");
        drop(release);
        until("its return is reported", || {
            recorded.count(&name, NodeEvent::RECOVERED) > 0
        });
        handle.stop();
        main.join().unwrap().unwrap();
    }
}

/// Settings of threads that do not exist are refused, and not ignored.
#[test]
fn a_group_without_threads_has_no_settings_of_threads() {
    let mut scheduler = Scheduler::new();
    let refused = scheduler.actors("still").threads(0).cores([0]).build();
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("'still' has no threads and cores"), "{text}");
    let refused = scheduler.actors("still").threads(0).priority(20).build();
    let text = refused.unwrap_err().to_string();
    assert!(
        text.contains("no threads and a priority: the thread of the scheduler runs its actors"),
        "{text}"
    );
    scheduler.actors("still").threads(0).build().unwrap();
}
