"""The end of a run: nodes are safe and shut down, whatever the main thread does and gets."""

import signal
import time

import horus
import pytest
from conftest import PATIENCE


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


def until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)


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
