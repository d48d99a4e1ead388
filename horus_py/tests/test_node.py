"""Nodes and schedulers: ticks, policies, exceptions, signals, swaps, and exit."""

import asyncio
import subprocess
import sys
import threading
import time

import horus
import pytest
from conftest import PATIENCE, until


@pytest.fixture
def scheduler(namespace):
    return horus.Scheduler("test", namespace)


def counting(ticks, stop_at):
    """Returns a tick that counts, and stops the run in its last call."""

    def tick(context):
        ticks.append(context.tick)
        if len(ticks) == stop_at:
            context.stop()

    return tick


def kinds(namespace, name="test"):
    try:
        return [event.kind for event in horus.black_box(name, namespace)]
    except horus.OpenTopicError:
        # The scheduler has its name already, and creates its black box next.
        return []


@pytest.mark.parametrize(
    ("settings", "executor"),
    [
        ({}, "best_effort"),
        ({"rate": 200}, "real_time"),
        ({"rate": 200, "compute": True}, "compute"),
        ({"rate": 200, "chain": "arm"}, "real_time"),
    ],
)
def test_a_node_ticks_until_it_stops_everything(scheduler, settings, executor):
    ticks = []
    scheduler.add(horus.Node("count", tick=counting(ticks, 5), **settings))
    report = scheduler.run()
    node = report.node("count")
    assert (report.reason, report.exit_code, report.failed_node) == ("requested", 0, None)
    assert (node.node_class, node.metrics.ticks, node.metrics.failures) == (executor, 5, 0)
    assert ticks == list(range(5))
    assert report.scheduler == "test"
    assert scheduler.report is report
    assert node.metrics.duration(0.5) > 0


def test_a_context_says_when_it_is_and_only_in_its_tick(namespace):
    seen = []

    class Look(horus.Node):
        def tick(self, context):
            assert context.node is self
            assert context.started_ns >= context.scheduled_ns
            assert context.period == 0.01
            assert context.lateness >= 0
            assert context.budget_left() <= 0.008
            assert 0 <= context.random() < 1
            now = time.monotonic_ns()
            # The counter of the CPU and the clock of the kernel agree to some microseconds.
            assert context.started_ns <= now + 1_000_000
            context.checkpoint(1)
            seen.append(context)
            context.stop()

    report = horus.run(Look(rate=100, checkpoints=1), name="look", namespace=namespace)
    assert report.node("Look").last_error is None
    with pytest.raises(horus.Error, match="the tick is over"):
        _ = seen[0].tick


def test_nodes_run_in_order_and_writers_before_readers(scheduler):
    seen = []

    def node(name, **settings):
        def tick(context):
            seen.append(name)
            if len(seen) == 8:
                context.stop()

        return horus.Node(name, tick=tick, **settings)

    scheduler.add(node("last", order=1))
    scheduler.add(node("reads", subs={"way": horus.CmdVel}))
    scheduler.add(node("writes", pubs={"way": horus.CmdVel}))
    scheduler.add(node("first", order=-1))
    scheduler.run()
    assert seen == ["first", "writes", "reads", "last"] * 2


def test_a_message_wakes_the_node_that_waits_for_it(scheduler):
    received = []

    class Listen(horus.Node):
        def tick(self, context):
            while (message := self.recv("cmd_vel")) is not None:
                received.append(message.linear)
            if len(received) == 3:
                context.stop()

    def talk(context):
        context.node.send("cmd_vel", horus.CmdVel(linear=context.tick))

    scheduler.add(Listen("listen", subs={"cmd_vel": horus.CmdVel}, on="cmd_vel"))
    scheduler.add(horus.Node("talk", tick=talk, rate=100, pubs={"cmd_vel": horus.CmdVel}))
    report = scheduler.run()
    assert report.node("listen").node_class == "event"
    assert received[:3] == [0, 1, 2]


def test_ends_that_are_there_already_are_used(scheduler, namespace):
    topic = horus.Topic("loop", horus.CmdVel, namespace=namespace)
    received = []

    def tick(context):
        received.append(context.node.recv("loop").linear)
        context.stop()

    node = scheduler.add(horus.Node("end", tick=tick, subs={"loop": topic}, on=["loop"]))
    assert node.subscriber("loop") is topic
    topic.send(horus.CmdVel(linear=4))
    scheduler.run()
    assert received == [4]


@pytest.mark.parametrize("topics", ["state", ["state"], {"state": None}])
def test_a_topic_without_a_class_carries_dicts(scheduler, topics):
    received = []

    def talk(context):
        context.node.send("state", {"tick": context.tick})

    def listen(context):
        received.append(context.node.recv("state"))
        context.stop()

    scheduler.add(horus.Node("listen", tick=listen, subs=topics, on="state"))
    scheduler.add(horus.Node("talk", tick=talk, pubs=topics))
    scheduler.run()
    assert received == [{"tick": 0}]


def test_a_node_is_initialised_first_and_shut_down_last(scheduler):
    calls = []

    def node(name):
        return horus.Node(
            name,
            init=lambda context: calls.append(f"init {name}"),
            tick=lambda context: context.stop(),
            shutdown=lambda: calls.append(f"shutdown {name}"),
        )

    scheduler.add(node("a"))
    scheduler.add(node("b"))
    scheduler.run()
    assert calls == ["init a", "init b", "shutdown b", "shutdown a"]


def recurse():
    return recurse()


class Rude(Exception):
    def __str__(self):
        raise ValueError("no words")


EXECUTORS = {
    "best_effort": {},
    "real_time": {"rate": 500},
    "compute": {"rate": 500, "compute": True},
    "event": {"subs": {"go": horus.CmdVel}, "on": "go"},
    "async_io": {"rate": 500},
}


def add(scheduler, namespace, executor, tick, **hooks):
    """Adds a node that this executor runs, and the source of its ticks."""

    async def later(context):
        await asyncio.sleep(0)
        tick(context)

    tick_or_later = later if executor == "async_io" else tick
    scheduler.add(horus.Node("bad", tick=tick_or_later, **EXECUTORS[executor], **hooks))
    if executor == "event":
        publisher = horus.Publisher("go", horus.CmdVel, namespace=namespace)
        publisher.send(horus.CmdVel())
        return publisher
    return None


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize(
    ("error", "text"),
    [
        (lambda: 1 / 0, "ZeroDivisionError: division by zero (test_node.py"),
        (lambda: recurse(), "RecursionError: maximum recursion depth exceeded"),
        (lambda: (_ for _ in ()).throw(MemoryError("all")), "MemoryError: all (test_node.py"),
        (lambda: (_ for _ in ()).throw(GeneratorExit()), "GeneratorExit"),
        (lambda: (_ for _ in ()).throw(Rude()), "Rude: <exception str() failed>"),
    ],
)
def test_an_exception_is_the_node_s_failure(scheduler, namespace, executor, error, text):
    _publisher = add(scheduler, namespace, executor, lambda context: error())
    report = scheduler.run(check=False)
    assert report.node("bad").node_class == executor
    assert (report.reason, report.exit_code, report.failed_node) == ("node", 1, "bad")
    assert report.error == report.node("bad").last_error
    assert text in report.error.splitlines()[0]
    assert "Traceback (most recent call last)" in report.error
    assert report.node("bad").metrics.failures == 1
    events = horus.black_box("test", namespace)
    failed = [event for event in events if event.kind == horus.NodeEvent.FAILED]
    assert text[:40] in failed[0].text
    assert not [event for event in events if event.kind == horus.NodeEvent.PANICKED]


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("error", [SystemExit(7), KeyboardInterrupt()])
def test_what_ends_a_program_ends_the_run_first(scheduler, namespace, executor, error):
    calls = []

    def tick(context):
        raise error

    shutdown = {"shutdown": lambda: calls.append("shutdown")}
    _publisher = add(scheduler, namespace, executor, tick, **shutdown)
    with pytest.raises(type(error)) as caught:
        scheduler.run()
    assert caught.value is error
    assert calls == ["shutdown"]
    assert scheduler.report.reason == "requested"
    assert scheduler.report.node("bad").metrics.failures == 0


def test_a_failure_is_skipped_ignored_or_followed_by_a_restart(scheduler):
    ticks = {"skip": 0, "ignore": 0, "restart": 0}
    inits = []
    reported = []

    class Fails(horus.Node):
        def init(self, context):
            inits.append(self.name)

        def tick(self, context):
            ticks[self.name] += 1
            if min(ticks.values()) >= 3:
                context.stop()
            raise ValueError(self.name)

        def on_error(self, error):
            assert isinstance(error, ValueError)
            reported.append(self.name)

    scheduler.add(Fails("skip", failure_policy=horus.Skip(max=1000, cooldown=0.01)))
    scheduler.add(Fails("ignore", failure_policy="ignore"))
    scheduler.add(Fails("restart", failure_policy=horus.Restart(max=1000, backoff=0.0001)))
    report = scheduler.run()
    assert report.reason == "requested"
    for name, count in ticks.items():
        assert report.node(name).metrics.failures == count == reported.count(name)
        assert f"ValueError: {name}" in report.node(name).last_error
    assert inits.count("restart") >= 3
    assert (inits.count("skip"), inits.count("ignore")) == (1, 1)


def test_a_failure_in_init_is_one_of_the_node(scheduler):
    ticks = []
    scheduler.add(horus.Node("bad", tick=counting(ticks, 1), init=lambda context: 1 / 0))
    report = scheduler.run(check=False)
    assert (report.failed_node, ticks) == ("bad", [])


def test_a_failure_elsewhere_is_reported_by_python(scheduler, monkeypatch):
    unraisable = []
    monkeypatch.setattr(sys, "unraisablehook", lambda hook: unraisable.append(hook.exc_type))
    node = horus.Node("bad", tick=lambda context: 1 / 0, enter_safe_state=lambda: {}["x"])
    scheduler.add(node)
    assert scheduler.run(check=False).failed_node == "bad"
    assert unraisable == [KeyError]


def test_events_are_told_by_a_thread_of_their_own(namespace):
    reported = []

    def tell(event):
        reported.append((event.kind, threading.get_ident()))

    node = horus.Node("bad", tick=lambda context: 1 / 0)
    horus.run(node, name="reported", namespace=namespace, on_event=tell, check=False)
    assert horus.NodeEvent.FAILED in [kind for kind, _ in reported]
    assert threading.get_ident() not in [thread for _, thread in reported]


# A call of C that keeps the GIL for as long as it sleeps.
STALL = """
import ctypes, sys, threading, time
import horus
usleep = ctypes.PyDLL(None).usleep
scheduler = horus.Scheduler("stalled", on_event=None)
free = threading.Event()

def tick(context):
    if context.tick == 3:
        usleep(int(float(sys.argv[1]) * 1e6))
    if context.tick == 5:
        context.stop()

scheduler.add(horus.Node("stall", tick=tick, rate=100, watchdog=0.05, on_miss="warn"))
scheduler.run()
"""


def test_the_watchdog_sees_a_gil_that_is_not_given_back(namespace):
    process = subprocess.Popen([sys.executable, "-c", STALL, "600"])
    try:
        until(lambda: any(info.is_alive for info in horus.schedulers(namespace)))
        until(lambda: horus.NodeEvent.STUCK in kinds(namespace, "stalled"))
        # The child is still in that call: none of its threads has run Python since.
        assert process.poll() is None
        events = horus.black_box("stalled", namespace)
        stuck = next(event for event in events if event.kind == horus.NodeEvent.STUCK)
        assert stuck.node == "stall"
        assert stuck.value_ns >= 50_000_000
        assert horus.NodeEvent.RECOVERED not in kinds(namespace, "stalled")
    finally:
        process.kill()
        process.wait()


def test_a_stall_that_ends_is_followed_by_recovery(namespace):
    # WHY several: on a busy machine, the watchdog may get no CPU during a short stall.
    for stall in ("0.3", "3", "30"):
        subprocess.run([sys.executable, "-c", STALL, stall], check=True, timeout=2 * PATIENCE)
        found = kinds(namespace, "stalled")
        if horus.NodeEvent.STUCK in found:
            break
    assert found.index(horus.NodeEvent.STUCK) < found.index(horus.NodeEvent.RECOVERED)


def test_nodes_are_paused_resumed_stopped_and_changed_while_they_run(scheduler):
    ticks = {"a": 0, "b": 0}

    class Count(horus.Node):
        def tick(self, context):
            ticks[self.name] += 1

    scheduler.add(Count("a", rate=500))
    scheduler.add(Count("b", rate=500))
    handle = scheduler.handle()
    with scheduler:
        assert handle.nodes() == ["a", "b"]
        until(lambda: ticks["a"] > 3)
        handle.pause("a")
        until(lambda: handle.metrics("a").health == "paused")
        paused, others = ticks["a"], ticks["b"]
        until(lambda: ticks["b"] > others + 5)
        assert ticks["a"] == paused
        handle.resume("a")
        until(lambda: ticks["a"] > paused)
        handle.set_rate("a", 1000)
        handle.stop_node("b")
        until(lambda: handle.metrics("b").health == "stopped")
        with pytest.raises(horus.CommandError, match="no node is called 'c'; there are: a, b"):
            handle.pause("c")
        with pytest.raises(horus.CommandError, match="a rate has to be .*, and not -1"):
            handle.set_rate("a", -1)
    assert scheduler.report.reason == "duration_elapsed"


def test_a_node_is_swapped_and_taken_back_if_it_fails(scheduler):
    seen = []

    def node(name):
        return horus.Node(name, tick=lambda context: seen.append(name))

    def bad(context):
        raise ValueError("worse")

    scheduler.add(node("old"))
    handle = scheduler.handle()
    with scheduler:
        thread = threading.Thread(target=ticking, args=(scheduler, handle))
        thread.start()
        until(lambda: "old" in seen)
        swap = scheduler.swap("old", node("new"))
        assert swap.wait(timeout=PATIENCE) == "done"
        assert seen.count("new") >= 10
        swap = handle.swap("old", horus.Node("bad", tick=bad))
        assert swap.wait(timeout=PATIENCE) == "rolled_back"
        assert "ValueError: worse" in swap.reason
        seen.clear()
        until(lambda: seen)
        assert set(seen) == {"new"}
        handle.stop()
        thread.join()
        late = handle.swap("old", node("late"))
    del handle
    assert late.state in ("pending", "abandoned")


def ticking(scheduler, handle):
    while scheduler.tick_once():
        pass


def test_ticks_are_had_one_by_one(scheduler):
    ticks = []
    scheduler.add(horus.Node("count", tick=counting(ticks, 3)))
    with pytest.raises(horus.SchedulerError, match="neither nodes nor actors"):
        horus.Scheduler().run()
    with pytest.raises(horus.SchedulerError, match="call start"):
        scheduler.tick_once()
    scheduler.start()
    assert [scheduler.tick_once() for _ in range(5)] == [True, True, True, False, False]
    assert scheduler.finish().node("count").metrics.ticks == 3
    with pytest.raises(horus.SchedulerError, match="its run is over"):
        scheduler.run()


def test_each_due_time_of_the_main_thread_is_a_tick_or_is_counted_as_skipped(namespace):
    due = []
    scheduler = horus.Scheduler("main", namespace, main_rate=1000)
    scheduler.add(horus.Node("main", tick=lambda context: due.append(context.scheduled_ns)))
    is_over = threading.Event()

    def spin():
        while not is_over.is_set():
            pass

    # WHY: a thread that keeps the GIL makes the main thread late when it checks for signals.
    thread = threading.Thread(target=spin)
    thread.start()
    try:
        metrics = scheduler.run_for(1.0).node("main").metrics
    finally:
        is_over.set()
        thread.join()
    passed = round((due[-1] - due[0]) / 1e6) + 1
    assert metrics.ticks + metrics.skipped_ticks >= passed


def test_simulated_runs_are_alike(namespace):
    def run():
        drawn = []
        scheduler = horus.Scheduler("simulated", namespace)
        scheduler.add(horus.Node("a", tick=lambda context: drawn.append(context.random())))
        report = scheduler.simulate(1.0, seed=3)
        return drawn, report.node("a").metrics.ticks

    first, second = run(), run()
    assert first == second
    assert first[1] == 100


def test_what_contradicts_itself_is_refused(scheduler):
    def tick(context):
        pass

    table = [
        ({"rate": -1}, horus.PlanError, "a rate has to be"),
        ({"rate": 10, "priority": 100}, horus.PlanError, "priority"),
        ({"on_miss": "weep"}, ValueError, "on_miss: 'weep', and must be 'warn'"),
        ({"failure_policy": "hope"}, ValueError, "failure_policy: 'hope'"),
        ({"budget": -1.0}, ValueError, "give 0 or more"),
        ({"subs": {"x": int}}, TypeError, "int"),
    ]
    for settings, error, text in table:
        with pytest.raises(error, match=text):
            scheduler.add(horus.Node("wrong", **{"tick": tick, **settings}))
    with pytest.raises(horus.PlanError, match="not in its subs"):
        horus.Node("wrong", tick=tick, on="scan")
    with pytest.raises(TypeError, match="a horus.Node is wanted"):
        scheduler.add(tick)
    scheduler.add(horus.Node("same", tick=tick))
    with pytest.raises(horus.PlanError, match="same"):
        scheduler.add(horus.Node("same", tick=tick))
    with pytest.raises(KeyError, match="no 'x' in its pubs"):
        horus.Node("same", tick=tick).send("x", horus.CmdVel())


def test_a_scheduler_that_runs_says_so(scheduler):
    found = []

    def tick(context):
        with pytest.raises(horus.BusyError, match="the scheduler is running"):
            scheduler.run()
        found.append(True)
        scheduler.stop()

    scheduler.add(horus.Node("nested", tick=tick))
    scheduler.run()
    assert found == [True]


def test_nodes_and_schedulers_are_freed(namespace):
    import gc
    import weakref

    class Held(horus.Node):
        def tick(self, context):
            context.stop()

    node = Held(rate=100)
    gone = weakref.ref(node)
    scheduler = horus.Scheduler("freed", namespace)
    scheduler_gone = weakref.ref(scheduler)
    scheduler.add(node)
    scheduler.run()
    # No subscriber is left for this message.
    late = Held("late")
    late_gone = weakref.ref(late)
    scheduler.handle().swap("Held", late)
    del node, scheduler, late
    gc.collect()
    # WHY with a limit: on a slow machine, the thread for events ends a little after the run.
    until(lambda: late_gone() is gone() is scheduler_gone() is None, gc.collect)


def test_a_thread_s_own_values_last_from_tick_to_tick(scheduler):
    own = threading.local()
    seen = []

    def tick(context):
        own.count = getattr(own, "count", 0) + 1
        seen.append(own.count)
        if len(seen) == 3:
            context.stop()

    scheduler.add(horus.Node("local", tick=tick, rate=500))
    scheduler.run()
    assert seen == [1, 2, 3]
    assert not hasattr(own, "count")


def test_a_publisher_that_a_node_cannot_map_is_an_event_of_the_node(python):
    script = """
import horus, resource

options = {"max_message_bytes": 4096, "capacity": 4096}
reported = []
about = (horus.NodeEvent.LANE_NOT_MAPPED, horus.NodeEvent.LANE_MAPPED)
unlimited = resource.getrlimit(resource.RLIMIT_AS)


class Reader(horus.Node):
    failures = good_ticks = 0

    def tick(self, context):
        if context.tick == 0:
            used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + (8 << 20), unlimited[1]))
            publisher.send("seven")
        try:
            if self.recv("scan") is not None or self.good_ticks > 0:
                self.good_ticks += 1
        except horus.LaneNotMappedError:
            self.failures += 1
        # WHY both: the supervisor may report an event twice, and on a busy machine also late.
        kinds = {event.kind for event in reported}
        if self.failures >= 50 and about[0] in kinds:
            resource.setrlimit(resource.RLIMIT_AS, unlimited)
        if self.good_ticks >= 50 and about[1] in kinds:
            context.stop()


subscriber = horus.Subscriber("scan", **options)
scheduler = horus.Scheduler("events", on_event=reported.append)
scheduler.add(Reader(name="reader", subs={"scan": subscriber}))
publisher = horus.Publisher("scan", **options)
scheduler.run_for(60)
reported = [event for event in reported if event.kind in about]
found = [(event.node, event.kind) for event in reported]
assert found == [("reader", kind) for kind in about], reported
assert "'scan'" in reported[0].text and "RLIMIT_AS" in reported[0].text, reported
"""
    python(script)
