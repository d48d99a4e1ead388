"""Publishers and subscribers wait for each other, in this process and in others."""

import os
import pathlib
import signal
import threading
import time

import horus
import numpy as np
import pytest
from conftest import PATIENCE, Program

PUBLISHER = """
import sys
import horus
publisher = horus.Publisher("met", horus.CmdVel)
print("open", flush=True)
found = publisher.wait_for_subscribers(1, timeout=60)
publisher.send(horus.CmdVel(timestamp_ns=7))
print("found", found, flush=True)
sys.stdin.read()
"""

SUBSCRIBER = """
import sys
import horus
subscriber = horus.Subscriber("met", horus.CmdVel)
print("open", flush=True)
print("found", subscriber.wait_for_publishers(1, timeout=60), flush=True)
print("received", subscriber.recv(timeout=60).timestamp_ns, flush=True)
sys.stdin.read()
"""

# Waits for what never comes, without a limit, until Ctrl-C.
INTERRUPTED = """
import horus
{end} = horus.{kind}("met", horus.CmdVel)
try:
    print("open", flush=True)
    {wait}
except KeyboardInterrupt:
    print("interrupted", flush=True)
{end}.close()
"""


@pytest.fixture
def met(namespace):
    def open_end(kind, **settings):
        return kind("met", horus.CmdVel, namespace=namespace, **settings)

    return open_end


@pytest.mark.parametrize("order", [(PUBLISHER, SUBSCRIBER), (SUBSCRIBER, PUBLISHER)])
def test_processes_wait_for_each_other_in_either_order(directory, order):
    programs = []
    for script in order:
        programs.append(Program(script))
        assert programs[-1].line() == "open"
    for script, program in zip(order, programs, strict=True):
        assert program.line() == "found 1"
        if script is SUBSCRIBER:
            assert program.line() == "received 7"
    for program in programs:
        program.end()


def test_a_killed_process_no_longer_counts(met):
    publisher = met(horus.Publisher)
    program = Program(SUBSCRIBER)
    assert publisher.wait_for_subscribers(1, timeout=PATIENCE) == 1
    publisher.send(horus.CmdVel(timestamp_ns=7))
    assert [program.line() for _ in range(3)] == ["open", "found 1", "received 7"]
    program.kill()
    with pytest.raises(TimeoutError, match="found 0, wanted 1"):
        publisher.wait_for_subscribers(1, timeout=0.01)


@pytest.mark.parametrize(
    ("kind", "wait"),
    [
        ("Publisher", "end.wait_for_subscribers(1)"),
        ("Publisher", "end.wait_for_subscribers(1, timeout=float('inf'))"),
        ("Subscriber", "end.wait_for_publishers(1, None)"),
        ("Topic", "end.wait_for_publishers(count=1)"),
    ],
)
def test_ctrl_c_ends_a_wait_without_a_limit(directory, kind, wait):
    program = Program(INTERRUPTED.format(end="end", kind=kind, wait=wait))
    assert program.line() == "open"
    # Mostly, it waits by then. A signal that comes earlier is noticed, too.
    time.sleep(0.1)
    program.process.send_signal(signal.SIGINT)
    assert program.line() == "interrupted"
    program.end()


def test_a_signal_handler_runs_during_a_wait_which_goes_on(met):
    publisher = met(horus.Publisher)
    late = []

    def handler(*_):
        late.append(met(horus.Subscriber))

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        assert publisher.wait_for_subscribers(1, timeout=PATIENCE) == 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(late) == 1


def test_other_threads_run_during_a_wait(met):
    publisher = met(horus.Publisher)
    late = []

    def join():
        # Only runs if the thread that waits has released the GIL.
        with pytest.raises(horus.BusyError):
            while True:
                publisher.publisher_count()
        late.append(met(horus.Subscriber))

    thread = threading.Thread(target=join)
    thread.start()
    assert publisher.wait_for_subscribers(1, timeout=PATIENCE) == 1
    thread.join(PATIENCE)
    assert len(late) == 1


def test_a_wait_returns_how_many_there_are(met):
    publisher, subscriber = met(horus.Publisher), met(horus.Subscriber)
    second = met(horus.Subscriber)
    assert publisher.wait_for_subscribers(1) == 2
    assert publisher.wait_for_subscribers(0) == 2
    assert subscriber.wait_for_publishers(1, 0) == 1
    second.close()
    assert publisher.wait_for_subscribers(1, timeout=0) == 1


def test_a_timeout_says_how_many_were_found_and_wanted(met):
    publisher, subscriber = met(horus.Publisher), met(horus.Subscriber)
    begin = time.monotonic()
    text = "^topic 'met': not enough subscribers came in time: found 1, wanted 3$"
    with pytest.raises(TimeoutError, match=text):
        publisher.wait_for_subscribers(3, timeout=0.06)
    assert time.monotonic() - begin >= 0.06
    with pytest.raises(TimeoutError, match="not enough publishers .* found 1, wanted 2"):
        subscriber.wait_for_publishers(2, timeout=0)


def test_a_topic_waits_for_others(met):
    topic = met(horus.Topic)
    with pytest.raises(TimeoutError, match="subscribers .* found 0, wanted 1"):
        topic.wait_for_subscribers(1, timeout=0.001)
    with pytest.raises(TimeoutError, match="publishers .* found 0, wanted 1"):
        topic.wait_for_publishers(1, timeout=0.001)
    assert topic.wait_for_subscribers(0) == topic.wait_for_publishers(0) == 0
    other = met(horus.Topic)
    assert topic.wait_for_subscribers(1) == other.wait_for_publishers(1) == 1


def test_an_observer_waits_but_does_not_count(met):
    publisher = met(horus.Publisher)
    observer = met(horus.Subscriber, observe=True)
    assert observer.wait_for_publishers(1) == 1
    with pytest.raises(TimeoutError, match="found 0"):
        publisher.wait_for_subscribers(1, timeout=0)


def test_wrong_arguments_are_refused_at_once(met):
    publisher = met(horus.Publisher)
    topic = met(horus.Topic)
    with pytest.raises(ValueError, match="65 subscribers can never be there.*room for 64"):
        publisher.wait_for_subscribers(65)
    with pytest.raises(ValueError, match="64 publishers can never be there.*room for 63"):
        topic.wait_for_publishers(64)
    for count in (-1, 2**64):
        with pytest.raises(OverflowError, match="^count: "):
            publisher.wait_for_subscribers(count)
    with pytest.raises(TypeError, match="^count: "):
        publisher.wait_for_subscribers("one")
    for timeout in (-1, float("nan")):
        with pytest.raises(ValueError, match="^timeout: "):
            publisher.wait_for_subscribers(1, timeout)


def test_a_close_in_another_thread_ends_a_wait(met):
    topic = met(horus.Topic)
    reported = []

    def wait():
        with pytest.raises(horus.ClosedError, match="topic 'met' was closed"):
            topic.wait_for_publishers(1)
        reported.append("closed")

    thread = threading.Thread(target=wait)
    thread.start()
    while not reported:
        try:
            topic.stats()
        except horus.BusyError:
            break
    # The other end of the topic is free meanwhile.
    topic.send(horus.CmdVel())
    topic.close()
    thread.join(PATIENCE)
    assert reported == ["closed"]


def test_a_truncated_topic_ends_a_wait(met, namespace):
    publisher = met(horus.Publisher)
    file = pathlib.Path(namespace.dir, namespace.name, "topics", "met")

    def truncate():
        time.sleep(0.02)
        with open(file, "r+b") as opened:
            opened.truncate(0)

    thread = threading.Thread(target=truncate)
    thread.start()
    with pytest.raises(horus.RegionLostError, match="topic 'met': its memory is lost"):
        publisher.wait_for_subscribers(1)
    thread.join(PATIENCE)


def test_a_publisher_with_a_loan_does_not_wait(namespace):
    publisher = horus.Publisher("camera", horus.Image, namespace=namespace)
    image = publisher.loan((4, 4), np.uint8)
    with pytest.raises(horus.BusyError, match="topic 'camera' is on loan"):
        publisher.wait_for_subscribers(0)
    image.discard()
    assert publisher.wait_for_subscribers(0) == 0


def test_endpoints_that_come_and_go_make_events(met, directory):
    publisher = met(horus.Publisher)
    events = publisher.subscriber_events()
    assert events.poll() is None
    assert events.poll(timeout=0.01) is None
    with met(horus.Subscriber, reliability="reliable") as subscriber:
        event = events.poll()
        assert (event.kind, event.change) == ("subscriber", "joined")
        assert event.mismatch == "reliability"
        assert event.process_id == os.getpid()
        publishers = subscriber.publisher_events()
        assert publishers.poll().mismatch == "reliability"
    event = events.poll(timeout=PATIENCE)
    assert (event.change, event.mismatch) == ("left", None)
    assert "subscriber of process" in repr(event)
    program = Program(SUBSCRIBER)
    assert program.line() == "open"
    assert events.poll(timeout=PATIENCE).change == "joined"
    program.kill()
    event = events.poll(timeout=PATIENCE)
    assert (event.change, event.process_id) == ("died", program.process.pid)


def test_one_thread_at_a_time_polls_events_until_they_are_closed(met, namespace):
    publisher, errors = met(horus.Publisher), []
    events = publisher.subscriber_events()

    def wait():
        with pytest.raises(horus.ClosedError, match="EndpointEvents of topic 'met' was closed"):
            events.poll(timeout=PATIENCE)
        errors.append("closed")

    waiting = threading.Thread(target=wait)
    waiting.start()
    end = time.monotonic() + PATIENCE
    # Until the other thread is in its call, this one succeeds.
    with pytest.raises(horus.BusyError, match="another thread uses the EndpointEvents"):
        while time.monotonic() < end:
            events.poll()
            time.sleep(0.001)
    publisher.close()
    assert not events.closed and not horus.remove_topic("met", namespace=namespace)
    events.close()
    waiting.join(PATIENCE)
    assert errors == ["closed"] and events.closed
    with pytest.raises(horus.ClosedError):
        events.poll()
    # Without the handle and the events, the topic is in use by nobody.
    publisher = met(horus.Publisher, persist_after_exit=True)
    publisher.send(horus.CmdVel())
    with publisher.subscriber_events() as events:
        publisher.close()
        assert not horus.remove_topic("met", namespace=namespace)
    assert events.closed and horus.remove_topic("met", namespace=namespace)
