"""The function `on_event`: events that it misses, and exceptions that it raises."""

import sys
import threading
import time

import horus
import pytest
from conftest import PATIENCE


def tick(context):
    if context.tick % 2:
        raise ValueError("again")


def busy_node(number=0):
    """Returns a node with twenty events in a second: each tick fails, or else exceeds its budget.

    WHY both in turns: of events of one kind, a node records ten in a second.
    """
    return horus.Node(
        f"busy-{number}",
        tick=tick,
        rate=20,
        budget=1e-9,
        on_miss="warn",
        failure_policy="ignore",
    )


def test_events_that_a_slow_function_misses_are_counted(namespace, monkeypatch):
    reported, delivered, release = [], [], threading.Event()
    monkeypatch.setattr(sys, "unraisablehook", lambda hook: reported.append(hook.exc_value))

    def slow(event):
        delivered.append(event)
        release.wait(PATIENCE)

    scheduler = horus.Scheduler("slow", namespace, on_event=slow)
    # Together they have 1,200 events in a second, of which 1,024 can wait for the function.
    for number in range(60):
        scheduler.add(busy_node(number))
    with scheduler:
        end = time.monotonic() + PATIENCE
        while scheduler.handle().metrics("busy-0").ticks < 60 and time.monotonic() < end:
            time.sleep(0.01)
        release.set()
    while not reported and time.monotonic() < end:
        time.sleep(0.01)
    text = str(reported[0])
    assert text.startswith("scheduler 'slow': on_event was too slow for "), text
    assert "the black box" in text
    assert int(text.split("too slow for ")[1].split()[0]) > 0


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
def test_an_exit_in_it_stops_the_run_as_in_a_tick(namespace, error):
    def leave(event):
        raise error

    scheduler = horus.Scheduler("leaves", namespace, on_event=leave)
    scheduler.add(busy_node())
    with pytest.raises(type(error)) as raised:
        scheduler.run_for(PATIENCE)
    assert raised.value is error
    assert scheduler.report.reason == "requested"
