//! Nodes whose threads get no CPU while the run ends: other threads of the machine need it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use horus_core::scheduler::{Context, Hertz};
use horus_shm::rt::{pin_thread_to, set_fifo_priority};

use super::private::Private;

/// The time for which another thread uses the CPU of the nodes while the run ends. It is longer
/// than the time for the last ticks.
const SPIN_TIME: Duration = Duration::from_millis(1200);

/// Returns the numbers of the CPUs that this thread may use.
fn usable_cpus() -> Vec<usize> {
    // SAFETY: all zeros are an empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set is valid for its size; 0 is the calling thread.
    let status = unsafe { libc::sched_getaffinity(0, size_of_val(&set), &raw mut set) };
    assert_eq!(status, 0);
    let is_usable = |cpu: &usize| {
        // SAFETY: the number is below the size of the set.
        unsafe { libc::CPU_ISSET(*cpu, &set) }
    };
    (0..libc::CPU_SETSIZE as usize).filter(is_usable).collect()
}

/// A thread with a real-time priority uses the CPU of two threads that wait for nothing else: one
/// that is to end a tick, and one that is to drop a tick that waits.
#[test]
fn nodes_whose_threads_get_no_cpu_while_the_run_ends_are_not_left_behind() {
    let [cpu, own_cpu, ..] = usable_cpus()[..] else {
        return horus_testing::skip("it needs two CPUs");
    };
    let (mut scheduler, _private) = Private::alone();
    let (tell, told) = channel();
    let ending = Arc::new(AtomicBool::new(false));
    let (is_ending, began) = (Arc::clone(&ending), tell.clone());
    let spins = move |_: &mut Context<'_>| {
        pin_thread_to(cpu).unwrap();
        began.send(()).unwrap();
        while !is_ending.load(Ordering::Relaxed) {}
    };
    let node = scheduler.node("spins").rate(100.hz());
    node.watchdog(Duration::from_secs(60)).build(spins).unwrap();
    let mut nodes = 1;
    #[cfg(feature = "async-io")]
    {
        let waits = async move |_: &mut Context<'_>| {
            pin_thread_to(cpu).unwrap();
            tell.send(()).unwrap();
            std::future::pending::<()>().await;
        };
        scheduler.node("waits").build_async(waits).unwrap();
        nodes += 1;
    }
    let running = scheduler.start().unwrap();
    (0..nodes).for_each(|_| told.recv().unwrap());
    // WHY: this thread has to check meanwhile.
    pin_thread_to(own_cpu).unwrap();
    let (tell, told) = channel();
    let other = thread::spawn(move || {
        pin_thread_to(cpu).unwrap();
        let result = set_fifo_priority(1);
        let has_priority = result.is_ok();
        tell.send(result).unwrap();
        let begin = Instant::now();
        while has_priority && begin.elapsed() < SPIN_TIME {}
    });
    let result = told.recv().unwrap();
    ending.store(true, Ordering::Relaxed);
    let report = running.finish().unwrap();
    other.join().unwrap();
    if let Err(error) = result {
        return horus_testing::skip(format!("the priority of a thread: {error}"));
    }
    assert_eq!(report.node("spins").unwrap().metrics.failures, 0);
    if let Some(waits) = report.node("waits") {
        let error = waits.last_error.as_deref();
        assert!(error.unwrap().contains("still waiting"), "{error:?}");
    }
}

/// The node uses the CPU meanwhile.
#[test]
fn a_node_that_spins_when_the_run_ends_is_left_behind() {
    let (mut scheduler, _private) = Private::alone();
    let (tell, told) = channel();
    let released = Arc::new(AtomicBool::new(false));
    let is_released = Arc::clone(&released);
    let node = move |_: &mut Context<'_>| {
        tell.send(()).unwrap();
        while !is_released.load(Ordering::Relaxed) {}
    };
    let spins = scheduler.node("spins").rate(100.hz());
    spins.watchdog(Duration::from_secs(60)).build(node).unwrap();
    let running = scheduler.start().unwrap();
    told.recv().unwrap();
    let report = running.finish().unwrap_err().into_report().unwrap();
    released.store(true, Ordering::Relaxed);
    let error = report.node("spins").unwrap().last_error.as_deref();
    assert!(error.unwrap().contains("left behind"), "{error:?}");
}
