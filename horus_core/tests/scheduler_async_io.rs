//! Nodes that wait for files and networks: they overlap, end and fail like all other nodes.

use horus_testing as _;

mod private;

use std::io::Write;
use std::os::unix::net::UnixStream as StdStream;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use horus_core::message::NodeEvent;
use horus_core::scheduler::{
    AsyncNode, AsyncNodeAdapter, Context, FailurePolicy, Hertz, Node, NodeClass, NodeResult,
    RunError, StopReason, SwapState, TickFuture,
};
use private::Private;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};

/// The timeout of a wait that would otherwise hang; a machine may be slow.
const PATIENCE: Duration = Duration::from_secs(30);

/// Makes a pipe between a thread and a task.
fn pipe() -> (StdStream, StdStream) {
    let (one, other) = StdStream::pair().unwrap();
    other.set_nonblocking(true).unwrap();
    (one, other)
}

/// Each of two nodes waits, in one tick, for what the other sends in one. If a tick kept the thread
/// until its end, this would wait forever.
#[test]
fn ticks_of_two_nodes_overlap_while_they_wait_for_each_other() {
    let (mut scheduler, _private) = Private::alone();
    let (tell, told) = mpsc::channel();
    let server = async move |context: &mut Context<'_>| -> NodeResult {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        tell.send(listener.local_addr()?)?;
        let (mut stream, _) = listener.accept().await?;
        let mut byte = [0];
        for number in 0..100 {
            stream.read_exact(&mut byte).await?;
            assert_eq!(byte[0], number);
            stream.write_all(&[number + 100]).await?;
        }
        context.stop();
        Ok(())
    };
    scheduler.node("server").build_async(server).unwrap();
    let mut done = false;
    let client = async move |_: &mut Context<'_>| -> NodeResult {
        if done {
            return Ok(());
        }
        // WHY not at once: another task of this thread sends the address.
        let Ok(address) = told.try_recv() else {
            return Ok(());
        };
        let mut stream = TcpStream::connect(address).await?;
        let mut byte = [0];
        for number in 0..100 {
            stream.write_all(&[number]).await?;
            stream.read_exact(&mut byte).await?;
            assert_eq!(byte[0], number + 100);
        }
        done = true;
        Ok(())
    };
    scheduler.node("client").build_async(client).unwrap();
    let report = scheduler.run().unwrap();
    assert_eq!(report.reason, StopReason::Requested, "{report:?}");
    assert_eq!(report.node("server").unwrap().metrics.ticks, 1);
    assert_eq!(report.node("client").unwrap().class, NodeClass::AsyncIo);
    assert!(
        report.nodes.iter().all(|node| node.metrics.failures == 0),
        "{report:?}"
    );
}

#[test]
fn ticks_need_not_be_send_and_a_node_may_not_wait_at_all() {
    let (mut scheduler, _private) = Private::alone();
    let waits = async |context: &mut Context<'_>| {
        let here = Rc::new(context.tick());
        tokio::task::yield_now().await;
        if *here == 3 {
            context.stop();
        }
    };
    scheduler.node("waits").build_async(waits).unwrap();
    scheduler
        .node("does not")
        .async_io()
        .build(|_: &mut Context<'_>| ())
        .unwrap();
    let report = scheduler.run().unwrap();
    assert_eq!(
        (&report.reason, report.node("waits").unwrap().metrics.ticks),
        (&StopReason::Requested, 4)
    );
    assert_eq!(report.node("does not").unwrap().class, NodeClass::AsyncIo);
    assert!(report.node("does not").unwrap().metrics.ticks > 0);
}

#[test]
fn a_tick_longer_than_a_period_does_not_overlap_with_the_next() {
    let (mut scheduler, _private) = Private::alone();
    let inside = Arc::new(AtomicU64::new(0));
    let due = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&due);
    let slow = async move |context: &mut Context<'_>| {
        assert_eq!(inside.fetch_add(1, Ordering::Relaxed), 0, "twice at once");
        seen.lock().unwrap().push(context.scheduled_ns());
        tokio::time::sleep(Duration::from_millis(12)).await;
        inside.fetch_sub(1, Ordering::Relaxed);
        if context.tick() == 4 {
            context.stop();
        }
    };
    scheduler
        .node("slow")
        .rate(200.hz())
        .build_async(slow)
        .unwrap();
    let report = scheduler.run().unwrap();
    assert_eq!(report.reason, StopReason::Requested, "{report:?}");
    let due = due.lock().unwrap();
    let periods: Vec<_> = due.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(
        periods
            .iter()
            .all(|ns| ns % 5_000_000 == 0 && *ns >= 15_000_000),
        "{periods:?}"
    );
    let metrics = report.node("slow").unwrap().metrics;
    assert_eq!((metrics.ticks, metrics.misses), (5, 5));
    let skipped_ticks = (due[4] - due[0]) / 5_000_000 - 4;
    assert!(metrics.skipped_ticks >= skipped_ticks, "{metrics:?}");
}

#[test]
fn a_panic_between_two_waits_fails_only_its_node() {
    let (mut scheduler, _private) = Private::alone();
    let panics = async |context: &mut Context<'_>| {
        tokio::task::yield_now().await;
        assert!(context.tick() % 2 == 0, "on purpose");
        tokio::task::yield_now().await;
    };
    let policy = FailurePolicy::Ignore;
    scheduler
        .node("bad")
        .failure_policy(policy)
        .build_async(panics)
        .unwrap();
    let good = async |context: &mut Context<'_>| {
        tokio::task::yield_now().await;
        if context.tick() == 10 {
            context.stop();
        }
    };
    scheduler
        .node("good")
        .rate(50.hz())
        .build_async(good)
        .unwrap();
    let report = scheduler.run().unwrap();
    assert_eq!(
        (&report.reason, report.node("good").unwrap().metrics.ticks),
        (&StopReason::Requested, 11)
    );
    let bad = report.node("bad").unwrap();
    assert_eq!(
        bad.metrics.panics,
        bad.metrics.ticks / 2,
        "every other tick"
    );
    assert!(bad.metrics.panics > 0);
    assert_eq!(bad.last_error.as_deref(), Some("panicked: on purpose"));
}

#[test]
fn a_fatal_failure_ends_the_run() {
    let (mut scheduler, _private) = Private::alone();
    let bad = async |_: &mut Context<'_>| -> NodeResult {
        tokio::task::yield_now().await;
        Err("on purpose".into())
    };
    scheduler.node("bad").build_async(bad).unwrap();
    scheduler
        .node("waits")
        .build_async(async |_: &mut Context<'_>| ())
        .unwrap();
    let reason = StopReason::Node {
        name: "bad".to_owned(),
        error: "on purpose".to_owned(),
    };
    assert_eq!(
        scheduler
            .run()
            .or_else(RunError::into_report)
            .unwrap()
            .reason,
        reason
    );
}

/// Both ticks last until the watchdog reports the one that blocks.
#[test]
fn a_tick_that_waits_is_not_stuck_and_one_that_blocks_is() {
    let (mut scheduler, _private) = Private::alone();
    let events = Arc::new(Mutex::new(Vec::new()));
    let all = Arc::clone(&events);
    let (report, reported) = mpsc::channel();
    scheduler.on_event(move |event| {
        if event.kind == NodeEvent::STUCK && event.node == *"blocks" {
            let _ = report.send(());
        }
        all.lock().unwrap().push(*event);
    });
    let (mut thread_end, task_end) = pipe();
    let watchdog = Duration::from_millis(200);
    let mut task_end = Some(task_end);
    let waits = async move |context: &mut Context<'_>| -> NodeResult {
        if let Some(task_end) = task_end.take() {
            UnixStream::from_std(task_end)?.read_u8().await?;
            context.stop();
        }
        Ok(())
    };
    scheduler
        .node("waits")
        .order(0)
        .watchdog(watchdog)
        .build_async(waits)
        .unwrap();
    let blocks = async move |context: &mut Context<'_>| -> NodeResult {
        tokio::task::yield_now().await;
        // WHY the second tick: the other node waits by then.
        if context.tick() == 1 {
            reported.recv_timeout(PATIENCE)?;
            thread_end.write_all(&[1])?;
        }
        Ok(())
    };
    scheduler
        .node("blocks")
        .watchdog(watchdog)
        .build_async(blocks)
        .unwrap();
    let report = scheduler.run().unwrap();
    assert_eq!(report.reason, StopReason::Requested, "{report:?}");
    let events = events.lock().unwrap();
    let stuck = |event: &NodeEvent| event.kind == NodeEvent::STUCK && event.node == *"waits";
    assert!(!events.iter().any(stuck), "{events:?}");
    assert!(
        report.node("waits").unwrap().metrics.max >= watchdog,
        "it did wait"
    );
}

/// Sends a message when it is dropped, and panics.
struct Dropped(mpsc::Sender<()>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.send(());
        panic!("on purpose, in a drop");
    }
}

#[test]
fn a_tick_that_waits_forever_is_dropped_in_the_end_even_if_its_drop_panics() {
    let (mut scheduler, _private) = Private::alone();
    let (tell, told) = mpsc::channel();
    let stopper = scheduler.handle();
    let forever = async move |_: &mut Context<'_>| -> NodeResult {
        let _dropped = Dropped(tell.clone());
        stopper.stop();
        std::future::pending().await
    };
    scheduler.node("forever").build_async(forever).unwrap();
    let report = scheduler.run().unwrap();
    assert_eq!(report.reason, StopReason::Requested);
    let forever = report.node("forever").unwrap();
    assert_eq!((forever.metrics.ticks, forever.metrics.failures), (1, 1));
    assert!(
        forever
            .last_error
            .as_ref()
            .unwrap()
            .contains("still waiting"),
        "{forever:?}"
    );
    assert!(told.try_recv().is_ok());
}

#[test]
fn a_tick_under_way_may_end_when_everything_stops() {
    let (mut scheduler, _private) = Private::alone();
    let (mut thread_end, task_end) = pipe();
    let mut task_end = Some(task_end);
    let stopper = scheduler.handle();
    let (tell, stopped) = mpsc::channel();
    let last = async move |_: &mut Context<'_>| -> NodeResult {
        let mut stream = UnixStream::from_std(task_end.take().ok_or("ticked twice")?)?;
        stopper.stop();
        tell.send(())?;
        stream.read_u8().await?;
        Ok(())
    };
    scheduler.node("last").build_async(last).unwrap();
    let answer = thread::spawn(move || {
        let _ = stopped.recv_timeout(PATIENCE);
        thread_end.write_all(&[1]).unwrap();
    });
    let report = scheduler.run().unwrap();
    answer.join().unwrap();
    let last = report.node("last").unwrap();
    assert_eq!(
        (last.metrics.ticks, last.metrics.failures),
        (1, 0),
        "{last:?}"
    );
}

/// Logs its shutdown.
struct Noting(&'static str, Arc<Mutex<Vec<&'static str>>>);

impl Node for Noting {
    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        Ok(())
    }

    fn shutdown(&mut self) -> NodeResult {
        self.1.lock().unwrap().push(self.0);
        Ok(())
    }
}

#[test]
fn nodes_are_shut_down_in_reverse_order_on_any_executor() {
    let (mut scheduler, _private) = Private::alone();
    let ended = Arc::default();
    let noting = |name| Noting(name, Arc::clone(&ended));
    scheduler
        .node("a")
        .async_io()
        .order(0)
        .build(noting("a"))
        .unwrap();
    scheduler
        .node("d")
        .async_io()
        .order(3)
        .build(noting("d"))
        .unwrap();
    scheduler
        .node("b")
        .compute()
        .order(1)
        .build(noting("b"))
        .unwrap();
    scheduler.node("c").order(2).build(noting("c")).unwrap();
    let report = scheduler.run_for(Duration::from_millis(50)).unwrap();
    assert_eq!(*ended.lock().unwrap(), ["d", "c", "b", "a"]);
    assert!(
        report
            .nodes
            .iter()
            .map(|node| node.name.as_str())
            .eq(["a", "b", "c", "d"])
    );
}

/// Waits in its tick for ever, and logs its calls.
struct Endless(Arc<Mutex<Vec<&'static str>>>);

impl AsyncNode for Endless {
    fn tick<'a>(&'a mut self, _: &'a mut Context<'_>) -> TickFuture<'a> {
        self.0.lock().unwrap().push("tick");
        Box::pin(std::future::pending())
    }

    fn on_error(&mut self, _: &horus_core::scheduler::NodeError) {
        self.0.lock().unwrap().push("on_error");
    }

    fn enter_safe_state(&mut self) {
        self.0.lock().unwrap().push("enter_safe_state");
    }

    fn shutdown(&mut self) -> NodeResult {
        self.0.lock().unwrap().push("shutdown");
        Ok(())
    }
}

/// That the end of the run cuts a tick off is no failure of the node, so no policy applies.
#[test]
fn a_node_whose_tick_is_dropped_enters_its_safe_state_before_it_is_shut_down() {
    let (mut scheduler, _private) = Private::alone();
    let calls = Arc::default();
    let node = scheduler
        .node("motor")
        .failure_policy(FailurePolicy::Restart {
            max: 3,
            backoff: Duration::from_millis(1),
        });
    node.async_io()
        .build(AsyncNodeAdapter::new(Endless(Arc::clone(&calls))))
        .unwrap();
    let begun = Arc::clone(&calls);
    let fails = move |_: &mut Context<'_>| -> NodeResult {
        match begun.lock().unwrap().is_empty() {
            true => Ok(()),
            false => Err("the wheel fell off".into()),
        }
    };
    scheduler.node("wheel").build(fails).unwrap();
    let report = scheduler.run().unwrap_err().into_report().unwrap();
    let calls = calls.lock().unwrap();
    assert_eq!(*calls, ["tick", "enter_safe_state", "shutdown"]);
    let motor = report.node("motor").unwrap();
    assert_eq!(motor.metrics.failures, 0);
    let error = motor.last_error.as_ref().unwrap();
    assert!(error.contains("the tick was dropped"), "{error}");
}

#[test]
fn a_tick_that_blocks_the_thread_is_left_behind() {
    let (mut scheduler, _private) = Private::alone();
    let (release, released) = mpsc::channel::<()>();
    let stopper = scheduler.handle();
    let hangs = async move |_: &mut Context<'_>| {
        tokio::task::yield_now().await;
        stopper.stop();
        let _ = released.recv_timeout(PATIENCE);
    };
    scheduler.node("hangs").build_async(hangs).unwrap();
    let report = scheduler.run().or_else(RunError::into_report).unwrap();
    drop(release);
    let hangs = report.node("hangs").unwrap();
    assert!(
        hangs.last_error.as_ref().unwrap().contains("left behind"),
        "{hangs:?}"
    );
}

#[test]
fn an_async_node_fails_in_simulated_time() {
    let (mut scheduler, _private) = Private::alone();
    scheduler
        .node("waits")
        .build_async(async |_: &mut Context<'_>| ())
        .unwrap();
    let report = scheduler.simulate(Duration::from_secs(1), 0, 0);
    let error = report.node("waits").unwrap().last_error.as_ref().unwrap();
    assert!(error.contains("neither in simulated time"), "{error}");
    assert!(
        matches!(report.reason, StopReason::Node { .. }),
        "{report:?}"
    );
}

/// Yields in its ticks, and logs all other calls.
struct Whole(&'static str, Arc<Mutex<Vec<String>>>);

impl Whole {
    fn note(&self, what: &str) {
        self.1.lock().unwrap().push(format!("{} {what}", self.0));
    }
}

impl AsyncNode for Whole {
    fn tick<'a>(&'a mut self, context: &'a mut Context<'_>) -> TickFuture<'a> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            if self.0 == "bad" {
                Err(format!("tick {}", context.tick()).into())
            } else {
                Ok(())
            }
        })
    }

    fn init(&mut self, _: &mut Context<'_>) -> NodeResult {
        self.note("init");
        Ok(())
    }

    fn shutdown(&mut self) -> NodeResult {
        self.note("shutdown");
        Ok(())
    }

    fn enter_safe_state(&mut self) {
        self.note("safe");
    }

    fn is_safe_state(&self) -> bool {
        self.note("is safe");
        true
    }

    fn on_error(&mut self, error: &horus_core::scheduler::NodeError) {
        self.note(&error.to_string());
    }
}

#[test]
fn a_task_node_gets_every_call_of_a_node() {
    let (mut scheduler, _private) = Private::alone();
    let notes = Arc::default();
    let bad = AsyncNodeAdapter::new(Whole("bad", Arc::clone(&notes)));
    scheduler.node("bad").async_io().build(bad).unwrap();
    let report = scheduler.run().or_else(RunError::into_report).unwrap();
    assert!(
        matches!(report.reason, StopReason::Node { .. }),
        "{report:?}"
    );
    let wanted = [
        "bad init",
        "bad tick 0",
        "bad safe",
        "bad is safe",
        "bad shutdown",
    ];
    assert_eq!(*notes.lock().unwrap(), wanted);
}

#[test]
fn a_task_node_replaces_only_nodes_that_were_built_with_async_io() {
    let (mut scheduler, _private) = Private::alone();
    let notes = Arc::default();
    let node = |name| AsyncNodeAdapter::new(Whole(name, Arc::clone(&notes)));
    scheduler
        .node("waits")
        .async_io()
        .rate(200.hz())
        .build(node("old"))
        .unwrap();
    scheduler
        .node("plain")
        .rate(200.hz())
        .build(|_: &mut Context<'_>| ())
        .unwrap();
    let handle = scheduler.handle();
    let running = scheduler.start().unwrap();
    let swap = handle.swap("waits", node("new")).unwrap();
    assert_eq!(swap.wait(PATIENCE), SwapState::Done);
    let swap = handle.swap("waits", node("bad")).unwrap();
    assert!(matches!(swap.wait(PATIENCE), SwapState::RolledBack(_)));
    let swap = handle.swap("plain", node("lost")).unwrap();
    let SwapState::RolledBack(why) = swap.wait(PATIENCE) else {
        panic!("the swap was not rolled back")
    };
    assert!(why.contains("not built with async_io()"), "{why}");
    let report = running.finish().unwrap();
    assert!(
        report.node("waits").unwrap().metrics.ticks >= 10,
        "{report:?}"
    );
    let notes = notes.lock().unwrap();
    assert!(
        ["new init", "old shutdown", "bad shutdown"]
            .iter()
            .all(|one| { notes.iter().any(|note| note == one) })
    );
}
