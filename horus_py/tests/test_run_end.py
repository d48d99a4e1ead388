"""The end of a run: nodes are safe and shut down, whatever the main thread does and gets."""

import os
import signal
import threading
import time

import horus
import pytest
from conftest import PATIENCE, until


class Motor(horus.Node):
    """Notes its calls. Each hook first sends the process a signal, if there is one."""

    def __init__(self, name, calls, raises=None, **settings):
        super().__init__(name, **settings)
        self.calls = calls
        self.raises = raises

    def tick(self, context):
        pass

    def note(self, call):
        if self.raises is not None:
            signal.raise_signal(self.raises)
        self.calls.append(f"{self.name} {call}")

    def enter_safe_state(self):
        self.note("safe")

    def shutdown(self):
        self.note("shutdown")


def fails(context):
    if context.tick == 2:
        raise ValueError("the wheel fell off")


def stops(context):
    if context.tick == 2:
        context.stop()


def test_nodes_are_safe_after_a_failure_before_the_program_calls_again(namespace):
    calls = []
    scheduler = horus.Scheduler("test", namespace)
    scheduler.add(Motor("motor", calls, rate=100))
    scheduler.add(horus.Node("wheel", tick=fails, rate=100))
    scheduler.start()
    until(lambda: calls)
    assert calls == ["motor safe"]
    with pytest.raises(horus.NodeFailedError):
        scheduler.finish()
    assert calls == ["motor safe", "motor shutdown"]


class Broken(horus.Node):
    def init(self, context):
        raise ValueError("no camera")

    def tick(self, context):
        pass


@pytest.mark.parametrize("start", [horus.Scheduler.start, horus.Scheduler.__enter__])
def test_a_start_that_fails_shuts_the_nodes_down(namespace, start):
    calls = []
    scheduler = horus.Scheduler("test", namespace)
    scheduler.add(Motor("motor", calls, rate=100))
    scheduler.add(Broken("camera", rate=100))
    with pytest.raises(horus.NodeFailedError, match="no camera") as failed:
        start(scheduler)
    assert isinstance(failed.value.__cause__, ValueError)
    assert calls == ["motor safe", "motor shutdown"]
    assert scheduler.finish().exit_code == 1


@pytest.fixture
def restored_handlers():
    """Fails if the handler of SIGINT is another one after the test."""
    before = signal.getsignal(signal.SIGINT)
    yield
    after = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, before)
    assert after is before


@pytest.mark.parametrize("end", [fails, stops])
def test_a_signal_does_not_interrupt_the_hooks_at_the_end(namespace, restored_handlers, end):
    calls = []
    scheduler = horus.Scheduler("test", namespace)
    for name in ["arm", "base"]:
        scheduler.add(Motor(name, calls, signal.SIGINT))
    scheduler.add(horus.Node("wheel", tick=end))
    with pytest.raises(KeyboardInterrupt):
        scheduler.run()
    safe = ["arm safe", "base safe"] if end is fails else []
    assert sorted(calls[: len(safe)]) == safe
    assert calls[len(safe) :] == ["base shutdown", "arm shutdown"]
    assert scheduler.report.exit_code == (1 if end is fails else 0)


def test_a_second_signal_does_not_interrupt_the_end_that_the_first_began(
    namespace, restored_handlers
):
    calls = []
    scheduler = horus.Scheduler("test", namespace)
    scheduler.add(Motor("arm", calls, signal.SIGINT))
    interrupts = horus.Node("interrupts", tick=lambda context: signal.raise_signal(signal.SIGINT))
    scheduler.add(interrupts)
    with pytest.raises(KeyboardInterrupt):
        scheduler.run()
    assert calls == ["arm shutdown"]


def test_handlers_that_raise_nothing_are_called_after_the_end(namespace):
    calls = []
    before = signal.signal(signal.SIGUSR1, lambda *_: calls.append("signal"))
    try:
        scheduler = horus.Scheduler("test", namespace)
        scheduler.add(Motor("arm", calls, signal.SIGUSR1))
        scheduler.add(horus.Node("stops", tick=stops))
        scheduler.run()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert calls == ["arm shutdown", "signal"]


def test_a_signal_does_not_interrupt_a_safe_state_during_the_run(namespace, restored_handlers):
    calls = []
    scheduler = horus.Scheduler("test", namespace)
    scheduler.add(Motor("arm", calls, signal.SIGINT))
    stop = horus.Publisher("emergency_stop", horus.EmergencyStop, namespace=namespace)
    engage = horus.EmergencyStop(engaged=1)
    sends = horus.Node("sends", rate=100, tick=lambda context: stop.send(engage))
    scheduler.add(sends)
    with pytest.raises(KeyboardInterrupt):
        scheduler.run()
    assert calls == ["arm safe", "arm shutdown"]


def test_an_impatient_signal_interrupts_a_hook_that_does_not_return(namespace, restored_handlers):
    sent = []

    class Hangs(horus.Node):
        def tick(self, context):
            context.stop()

        def shutdown(self):
            # WHY here: a signal of another thread may come when this one has been interrupted.
            while True:
                sent.append(signal.SIGINT)
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.1)

    scheduler = horus.Scheduler("test", namespace)
    scheduler.add(Hangs("hangs"))
    with pytest.raises(KeyboardInterrupt):
        scheduler.run()
    # The first signal was not impatient.
    assert len(sent) > 1


def test_a_scheduler_that_stops_on_signals_keeps_doing_so_in_its_end(namespace, restored_handlers):
    calls = []
    scheduler = horus.Scheduler("test", namespace, stop_on_signals=True)
    scheduler.add(Motor("arm", calls, signal.SIGINT))
    scheduler.add(horus.Node("stops", tick=stops))
    with pytest.raises(KeyboardInterrupt):
        scheduler.run()
    assert calls == ["arm shutdown"]


class Slow(horus.Node):
    """Its tick lasts until the event is set."""

    def __init__(self, released):
        super().__init__("slow")
        self.begun = threading.Event()
        self.released = released

    def tick(self, context):
        self.begun.set()
        assert self.released.wait(PATIENCE)


@pytest.mark.parametrize("is_released_in_time", [True, False])
def test_a_block_ends_the_run_although_another_thread_is_in_a_call(namespace, is_released_in_time):
    calls, rounds, released = [], [], threading.Event()
    scheduler = horus.Scheduler("test", namespace)
    scheduler.add(Motor("motor", calls, rate=100))
    slow = scheduler.add(Slow(released))

    def drive():
        while scheduler.tick_once():
            rounds.append("tick")

    driver = threading.Thread(target=drive)
    with pytest.raises(RuntimeError, match="of the block"), scheduler:
        driver.start()
        assert slow.begun.wait(PATIENCE)
        if is_released_in_time:
            threading.Timer(0.1, released.set).start()
        raise RuntimeError("of the block")
    if is_released_in_time:
        assert calls == ["motor shutdown"]
    released.set()
    driver.join(PATIENCE)
    assert not driver.is_alive()
    assert len(rounds) <= 1
    if not is_released_in_time:
        scheduler.finish()
        assert calls == ["motor shutdown"]


def test_a_tick_that_ends_its_own_scheduler_gets_an_error_at_once(namespace):
    errors = []
    scheduler = horus.Scheduler("test", namespace)

    def tick(context):
        if context.tick == 0:
            for call in [scheduler.finish, scheduler.tick_once, scheduler.run, scheduler.__exit__]:
                with pytest.raises(horus.BusyError, match=r"stop\(\)") as error:
                    call()
                errors.append(error.value)
        elif context.tick == 1:
            context.stop()

    scheduler.add(horus.Node("ends", tick=tick, rate=100))
    scheduler.start()
    until(lambda: scheduler.handle().metrics("ends").ticks >= 2)
    report = scheduler.finish()
    assert len(errors) == 4
    assert report.exit_code == 0


def test_a_handler_that_closes_its_own_group_gets_an_error_at_once(directory):
    errors = []
    with horus.Actors("fleet") as group:

        def handle(message, context):
            with pytest.raises(horus.BusyError, match=r"stop\(\)") as error:
                group.close()
            errors.append(error.value)

        address = group.spawn(handle)
        address.tell(1)
        until(lambda: errors)


def test_a_node_that_replaces_another_one_is_the_cause_of_its_failure(namespace):
    scheduler = horus.Scheduler("test", namespace)
    scheduler.add(horus.Node("old", tick=lambda context: None, rate=500))
    broken = threading.Event()

    def tick(context):
        if broken.is_set():
            raise ValueError("late")

    scheduler.start()
    # The new node has the policies of the old one.
    swap = scheduler.swap("old", horus.Node("new", tick=tick, failure_policy="ignore"))
    assert swap.wait(PATIENCE) == "done"
    broken.set()
    with pytest.raises(horus.NodeFailedError, match="late") as failed:
        until(lambda: not scheduler.tick_once())
    assert isinstance(failed.value.__cause__, ValueError)
