"""Every waiting call notices a signal within 50 ms. An alarm stands for Ctrl-C."""

import asyncio
import signal
import threading
import time

import horus
import pytest

# The time limit in seconds of waits that would otherwise hang.
PATIENCE = 60
WITHIN_S = 0.05
# The time of the signal: just after the start of a slice, so that nearly all of it is left.
ALARM_S = 0.004
# WHY several: on a busy machine, one may be late. If slices were longer than guaranteed, all would
# be late.
ATTEMPTS = 50


class Alarm(Exception):
    """The exception of the signal handler."""


@pytest.fixture
def alarm():
    def handler(*_):
        raise Alarm

    before = signal.signal(signal.SIGALRM, handler)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def receiving(topic):
    return lambda: topic.recv(timeout=PATIENCE)


def iterating(topic):
    return lambda: next(topic)


def waiting_for_room(topic):
    full = horus.Topic("full", horus.CmdVel, qos="reliable", capacity=16)
    with pytest.raises(horus.FullError):
        while True:
            full.send(horus.CmdVel())
    return lambda: full.send(horus.CmdVel(), timeout=PATIENCE)


def waiting_for_many(topic):
    waits = horus.WaitSet()
    waits.add(topic)
    return lambda: waits.wait(timeout=PATIENCE)


def waiting_for_subscribers(topic):
    return lambda: topic.wait_for_subscribers(1)


def waiting_for_publishers(topic):
    return lambda: topic.wait_for_publishers(1, timeout=PATIENCE)


def waiting_for_a_swap(topic):
    scheduler = horus.Scheduler("idle")
    scheduler.add(horus.Node("node", tick=lambda context: None))
    swap = scheduler.swap("node", horus.Node("other", tick=lambda context: None))
    return lambda _kept=scheduler: swap.wait(timeout=PATIENCE)


def waiting_for_mail(topic):
    scheduler = horus.Scheduler("idle")
    inbox = scheduler.actors("fleet").inbox()
    return lambda _kept=scheduler: inbox.recv(timeout=PATIENCE)


def waiting_for_much_mail(topic):
    scheduler, inboxes = horus.Scheduler("idle"), horus.InboxSet()
    actors = scheduler.actors("fleet")
    for _ in range(10):
        inboxes.add(actors.inbox())
    return lambda _kept=scheduler: inboxes.wait(timeout=PATIENCE)


def asking(topic):
    scheduler = horus.Scheduler("idle")
    address = scheduler.actors("fleet").inbox()
    return lambda _kept=scheduler: address.ask("x", timeout=PATIENCE)


def waiting_for_room_in_a_mailbox(topic):
    scheduler = horus.Scheduler("idle")
    address = scheduler.actors("fleet").inbox(mailbox=1)
    address.tell("x")
    return lambda _kept=scheduler: address.tell("y", timeout=PATIENCE)


def running_actors(topic):
    def run():
        scheduler = horus.Scheduler("running")
        actors = scheduler.actors("fleet")
        again = actors.spawn(lambda message, context: context.address().tell(message))
        again.tell("x")
        scheduler.run_for(PATIENCE)

    return run


def running(topic):
    def run():
        scheduler = horus.Scheduler("running")
        scheduler.add(horus.Node("node", tick=lambda context: None, rate=100))
        scheduler.run_for(PATIENCE)

    return run


@pytest.mark.parametrize(
    "prepare",
    [
        receiving,
        iterating,
        waiting_for_room,
        waiting_for_many,
        waiting_for_subscribers,
        waiting_for_publishers,
        waiting_for_a_swap,
        waiting_for_mail,
        waiting_for_much_mail,
        asking,
        waiting_for_room_in_a_mailbox,
        running,
        running_actors,
    ],
)
def test_a_signal_is_noticed_within_50_ms(directory, alarm, prepare):
    wait = prepare(horus.Topic("quiet", horus.CmdVel, ignore_own=True))
    least = float("inf")
    for _ in range(ATTEMPTS):
        begin = time.monotonic()
        with pytest.raises(Alarm):
            signal.setitimer(signal.ITIMER_REAL, ALARM_S)
            wait()
        least = min(least, time.monotonic() - begin - ALARM_S)
        if least < WITHIN_S:
            return
    pytest.fail(f"it took {least * 1e3:.0f} ms at best")


def test_closing_is_noticed_by_another_thread_and_task(directory):
    topic = horus.Topic("quiet", horus.CmdVel)
    reported = []

    def receive():
        with pytest.raises(horus.ClosedError):
            topic.recv(timeout=PATIENCE)
        reported.append("thread")

    thread = threading.Thread(target=receive)
    thread.start()
    time.sleep(0.01)
    topic.close()
    thread.join(PATIENCE)
    other = horus.Topic("other", horus.CmdVel)

    async def wait():
        asyncio.get_running_loop().call_later(0.01, other.close)
        with pytest.raises(horus.ClosedError):
            await other.recv_async()
        reported.append("task")

    asyncio.run(asyncio.wait_for(wait(), PATIENCE))
    assert reported == ["thread", "task"]
