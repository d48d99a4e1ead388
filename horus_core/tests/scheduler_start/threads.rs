//! The CPUs and the scheduling policy of the threads that a scheduler starts.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use horus_core::prelude::*;
use horus_core::scheduler::{Context, Hertz};
use horus_shm::rt;

use super::private::Private;

/// Returns the CPUs on which the calling thread may run, and its scheduling policy (0 is the
/// ordinary one).
fn cpus_and_policy() -> (String, String) {
    let read = |file| std::fs::read_to_string(format!("/proc/thread-self/{file}")).unwrap();
    let status = read("status");
    let cpus = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    // The name of the thread, in parentheses, may contain spaces.
    let stat = read("stat");
    let fields = stat.rsplit_once(')').unwrap().1;
    let policy = fields.split_whitespace().nth(38).unwrap();
    (cpus.unwrap().trim().to_owned(), policy.to_owned())
}

/// The main loop of a program may be pinned to a CPU, and have a real-time priority.
#[test]
fn threads_do_not_inherit_cpu_and_priority_from_the_thread_that_starts_them() {
    let (mut scheduler, private) = Private::alone();
    let found = Arc::new(Mutex::new(BTreeMap::new()));
    let noting = |name: &'static str| {
        let found = Arc::clone(&found);
        move |_: &mut Context<'_>| _ = found.lock().unwrap().insert(name, cpus_and_policy())
    };
    let mut commands = private.publisher::<CmdVel>("commands", Qos::new());
    for name in ["event", "shared"] {
        let mut heard = private.subscriber::<CmdVel>("commands", Qos::new());
        if name == "shared" {
            scheduler.actors("fleet").threads(2).build().unwrap();
        }
        let node = scheduler.node(name).on(&heard);
        let node = if name == "shared" {
            node.on_group_threads("fleet")
        } else {
            node
        };
        let note = noting(name);
        let tick = move |context: &mut Context<'_>| {
            let _ = heard.recv();
            note(context);
        };
        node.build(tick).unwrap();
    }
    let timed = scheduler.node("timed").rate(100.hz());
    timed.build(noting("timed")).unwrap();
    let pinned = scheduler.node("pinned").rate(100.hz()).core(0);
    pinned.build(noting("pinned")).unwrap();
    let pool = scheduler.node("pool").rate(100.hz()).compute();
    pool.build(noting("pool")).unwrap();
    let mut names = vec!["event", "pinned", "pool", "shared", "supervisor", "timed"];
    #[cfg(feature = "async-io")]
    {
        let task = scheduler.node("task").rate(100.hz()).async_io();
        task.build(noting("task")).unwrap();
        names.push("task");
    }
    let seen = Arc::clone(&found);
    scheduler.on_event(move |_| {
        seen.lock().unwrap().insert("supervisor", cpus_and_policy());
    });
    let (cpus, policy) = cpus_and_policy();
    let starter = thread::spawn(move || {
        rt::pin_thread_to(0).unwrap();
        // Fails without the privilege: then only the CPUs are tested.
        let _ = rt::set_fifo_priority(1);
        scheduler.start().unwrap()
    });
    let running = starter.join().unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    while found.lock().unwrap().len() < names.len() {
        assert!(Instant::now() < end, "never: {:?}", found.lock().unwrap());
        commands.send(CmdVel::default()).unwrap();
        thread::sleep(Duration::from_millis(1));
    }
    running.finish().unwrap();
    names.sort_unstable();
    let wanted = names.into_iter().map(|name| match name {
        "pinned" => (name, ("0".to_owned(), policy.clone())),
        _ => (name, (cpus.clone(), policy.clone())),
    });
    let wanted: BTreeMap<_, _> = wanted.collect();
    assert_eq!(*found.lock().unwrap(), wanted);
}
