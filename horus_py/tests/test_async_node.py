"""Nodes whose ticks are coroutines."""

import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import horus
import pytest
from conftest import PATIENCE


@pytest.fixture
def scheduler(namespace):
    return horus.Scheduler("test", namespace)


def test_ticks_of_two_nodes_overlap_while_they_wait_for_each_other(scheduler, namespace):
    ends = {name: {"namespace": namespace} for name in ("there", "back")}
    talk = [horus.Publisher(name, horus.CmdVel, **where) for name, where in ends.items()]
    hear = [horus.Subscriber(name, horus.CmdVel, **where) for name, where in ends.items()]
    threads = set()

    async def ask(context):
        threads.add(threading.get_ident())
        for number in range(100):
            talk[0].send(horus.CmdVel(linear=number))
            assert (await hear[1].recv_async()).linear == number + 100
        context.stop()

    async def answer(context):
        threads.add(threading.get_ident())
        for _ in range(100):
            asked = await hear[0].recv_async()
            talk[1].send(horus.CmdVel(linear=asked.linear + 100))

    scheduler.add(horus.Node("ask", tick=ask))
    scheduler.add(horus.Node("answer", tick=answer))
    report = scheduler.run()
    assert report.reason == "requested"
    assert report.node("ask").node_class == report.node("answer").node_class == "async_io"
    assert (report.node("ask").metrics.ticks, report.node("ask").metrics.failures) == (1, 0)
    assert len(threads) == 1


def test_a_tick_waits_for_time_sockets_threads_and_what_earlier_ones_began(scheduler):
    seen = []

    class Mixed(horus.Node):
        def init(self, context):
            self.earlier = None

        async def tick(self, context):
            begin = time.monotonic()
            await asyncio.sleep(0.02)
            seen.append(time.monotonic() - begin >= 0.019)
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            seen.append(await reader.readline())
            writer.close()
            seen.append(await asyncio.to_thread(lambda: "thread"))
            if self.earlier is None:
                self.earlier = asyncio.ensure_future(asyncio.sleep(0.001, "earlier"))
            else:
                seen.append(await self.earlier)
                context.stop()

    async def serve(reader, writer):
        writer.write(b"socket\n")
        writer.close()

    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(serve, "127.0.0.1", 0))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        scheduler.add(Mixed())
        report = scheduler.run()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        server.close()
        loop.close()
    assert report.node("Mixed").last_error is None
    assert seen == [True, b"socket\n", "thread"] * 2 + ["earlier"]


def test_a_failure_names_the_line_behind_the_await(scheduler):
    reported = []

    class Fails(horus.Node):
        async def tick(self, context):
            await asyncio.sleep(0.001)
            self.missing

        def on_error(self, error):
            reported.append(type(error))

    scheduler.add(Fails("fails"))
    report = scheduler.run(check=False)
    assert report.failed_node == "fails"
    assert report.error.startswith("AttributeError: 'Fails' object has no attribute 'missing'")
    assert "test_async_node.py" in report.error.splitlines()[0]
    assert reported == [AttributeError]


def test_the_watchdog_sees_who_does_not_give_back_the_thread(namespace):
    seen = threading.Event()

    def on_event(event):
        if (event.node, event.kind) == ("hog", horus.NodeEvent.STUCK):
            seen.set()

    async def polite(context):
        await asyncio.sleep(0.3)

    async def hog(context):
        await asyncio.sleep(0.001)
        assert seen.wait(PATIENCE)
        context.stop()

    scheduler = horus.Scheduler("test", namespace, on_event=on_event)
    scheduler.add(horus.Node("polite", tick=polite, rate=100, watchdog=0.1))
    scheduler.add(horus.Node("hog", tick=hog, rate=100, watchdog=0.1))
    scheduler.run()
    stuck = [e.node for e in horus.black_box("test", namespace) if e.kind == horus.NodeEvent.STUCK]
    assert "hog" in stuck


def test_what_waits_when_everything_ends_is_cancelled(scheduler):
    seen = []

    async def forever(context):
        asyncio.ensure_future(beside())
        try:
            seen.append("waits")
            # WHY here: on a busy machine, a run of some time may end before its first tick.
            scheduler.stop()
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    async def beside():
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            seen.append("beside")
            raise

    scheduler.add(horus.Node("forever", tick=forever))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = scheduler.run()
        gc.collect()
    assert seen == ["waits", "cancelled", "beside"]
    assert "still waiting when the run ended" in report.node("forever").last_error


def test_a_tick_that_the_end_cuts_off_is_no_failure_and_the_safe_state_comes_first(scheduler):
    begun, calls = threading.Event(), []

    class Motor(horus.Node):
        async def tick(self, context):
            begun.set()
            await asyncio.sleep(3600)

        def enter_safe_state(self):
            calls.append("motor safe")

        def shutdown(self):
            calls.append("motor shutdown")

        def on_error(self, error):
            calls.append("motor on_error")

    class Sensor(horus.Node):
        def tick(self, context):
            pass

        def shutdown(self):
            calls.append("sensor shutdown")

    def fails(context):
        if begun.is_set():
            raise ValueError("no battery")

    scheduler.add(Motor("motor", rate=10, failure_policy=horus.Restart(3, 0.1)))
    scheduler.add(Sensor("sensor", rate=10, order=5))
    scheduler.add(horus.Node("fails", tick=fails, rate=100, order=9))
    report = scheduler.run_for(PATIENCE, check=False)
    assert report.failed_node == "fails"
    assert calls == ["motor safe", "sensor shutdown", "motor shutdown"]
    motor = report.node("motor")
    assert motor.metrics.failures == 0
    assert "still waiting when the run ended" in motor.last_error


def test_what_swallows_its_cancellation_does_not_hold_up_the_end(scheduler):
    async def stubborn(context):
        # WHY not `run_for`: on a busy machine, a run may end before its first tick begins.
        scheduler.stop()
        while True:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                pass

    scheduler.add(horus.Node("stubborn", tick=stubborn))
    report = scheduler.run()
    assert "still waiting when the run ended" in report.node("stubborn").last_error


def test_a_cancelled_tick_cleans_up_before_the_node_is_shut_down(scheduler):
    seen = []

    async def generator():
        try:
            while True:
                yield
        finally:
            await asyncio.sleep(0.001)
            seen.append("generator")

    class Drives(horus.Node):
        async def tick(self, context):
            asyncio.ensure_future(self.beside())
            self.steps = generator()
            await anext(self.steps)
            # WHY here: on a busy machine, a run of some time may end before its first tick.
            await asyncio.sleep(0)
            scheduler.stop()
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                # As a command to a motor, through a socket.
                await asyncio.sleep(0.001)
                await asyncio.sleep(0.001)
                seen.append("stopped")
                raise

        async def beside(self):
            try:
                await asyncio.sleep(3600)
            finally:
                await asyncio.to_thread(lambda: None)
                seen.append("beside")

        def shutdown(self):
            seen.append("shutdown")

    scheduler.add(Drives())
    scheduler.run()
    assert seen == ["stopped", "shutdown", "beside", "generator"]


def test_a_task_that_does_not_end_is_reported(scheduler, caplog):
    async def stubborn():
        while True:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                pass

    async def tick(context):
        asyncio.ensure_future(stubborn())
        await asyncio.sleep(0.001)
        context.stop()

    scheduler.add(horus.Node("starts", tick=tick))
    scheduler.run()
    assert "a task of node 'starts' did not end within" in caplog.text
    assert "stubborn" in caplog.text


def test_an_async_node_is_swapped_and_taken_back_if_it_fails(scheduler):
    seen = []

    def node(name):
        async def tick(context):
            await asyncio.sleep(0)
            seen.append(name)

        return horus.Node(name, tick=tick)

    async def bad(context):
        await asyncio.sleep(0)
        raise ValueError("worse")

    scheduler.add(horus.Node("node", tick=node("old").tick, rate=200))
    with scheduler:
        assert scheduler.swap("node", node("new")).wait(timeout=PATIENCE) == "done"
        swap = scheduler.swap("node", horus.Node("bad", tick=bad))
        assert swap.wait(timeout=PATIENCE) == "rolled_back"
        assert "ValueError: worse" in swap.reason
    assert set(seen) >= {"new"}


def test_a_scheduler_ends_within_a_loop_of_its_caller_s(scheduler):
    async def tick(context):
        asyncio.ensure_future(asyncio.sleep(3600))

    async def main():
        scheduler.add(horus.Node("inner", tick=tick, rate=100))
        with scheduler:
            await asyncio.sleep(0.1)

    asyncio.run(main())
    assert scheduler.report.node("inner").metrics.failures == 0


def test_loops_are_closed_with_their_nodes(scheduler):
    async def tick(context):
        await asyncio.sleep(0.001)
        if context.tick == 3:
            context.stop()

    def open_files():
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    scheduler.add(horus.Node("first", tick=tick))
    before = open_files()
    scheduler.run()
    # The scheduler's own topics stay open as long as it exists; the loop does not.
    assert open_files() <= before


@pytest.mark.parametrize("hook", ["init", "shutdown", "enter_safe_state"])
def test_only_ticks_may_wait(scheduler, hook):
    async def wait(*_):
        pass

    with pytest.raises(horus.PlanError, match=f"asynchronous {hook}"):
        scheduler.add(horus.Node("wrong", tick=lambda context: None, **{hook: wait}))


@pytest.mark.parametrize(
    ("settings", "text"),
    [({"compute": True}, "compute"), ({"subs": {"x": horus.CmdVel}, "on": "x"}, "recv_async")],
)
def test_what_contradicts_waiting_is_refused(scheduler, settings, text):
    async def tick(context):
        pass

    with pytest.raises(horus.PlanError, match=text):
        scheduler.add(horus.Node("wrong", tick=tick, **settings))


def test_simulated_time_has_nothing_to_wait_for(scheduler):
    async def tick(context):
        pass

    scheduler.add(horus.Node("waits", tick=tick))
    assert "simulated time" in scheduler.simulate(1.0, check=False).error


CHILD = """
import asyncio, horus, sys

async def tick(context):
    print("ready", flush=True)
    try:
        await asyncio.sleep(3600)
    finally:
        print("cancelled", flush=True)
        await asyncio.sleep(0.01)
        print("clean", flush=True)

node = horus.Node("wait", tick=tick, shutdown=lambda: print("shutdown", flush=True))
"""


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("horus.run(node, name='child')", -signal.SIGINT),
        ("s = horus.Scheduler('child'); s.add(node); s.start(); sys.stdin.read()", 0),
    ],
)
def test_the_end_of_the_program_ends_what_waits(directory, script, code):
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD + script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    if code:
        process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=PATIENCE)
    assert (output, process.returncode) == ("cancelled\nclean\nshutdown\n", code), errors
    assert "never awaited" not in errors
