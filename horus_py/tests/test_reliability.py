"""A Python process that is killed, stopped or forked at any time harms no other process."""

import contextlib
import os
import pickle
import random
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import horus
import pytest
import victims
from conftest import until
from victims import KINDS, PATIENCE, checked, made

MORE = 30 if os.environ.get("HORUS_TORTURE") == "1" else 1
KILLS = {"small": 10 * MORE, "large": 5 * MORE, "image": 8 * MORE}
# The longest time in seconds for which a victim streams before it is killed.
STREAM_MAX_S = 0.004


class Victim:
    """A process that will be killed."""

    def __init__(self, number):
        self.number = number
        self.descriptor = os.pidfd_open(number)

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.descriptor, signal.SIGKILL)

    def stop(self):
        """Stops it, and waits until it is stopped: the signal takes effect with a delay."""
        signal.pidfd_send_signal(self.descriptor, signal.SIGSTOP)
        until(lambda: self.states() == {"T"})

    def states(self):
        """Returns the `stat` lines of its threads (the state follows the name in parentheses)."""
        states = set()
        for stat in Path(f"/proc/{self.number}/task").glob("*/stat"):
            # A thread may end at this moment.
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                states.add(stat.read_text().rpartition(")")[2].split()[0])
        return states

    @property
    def is_dead(self):
        return bool(select.select([self.descriptor], [], [], 0)[0])

    def close(self):
        os.close(self.descriptor)


class Crew:
    """A group of processes with roles."""

    def __init__(self, path):
        self.ledger = victims.Ledger(path, 1024)
        self.process = subprocess.Popen(
            [sys.executable, victims.__file__, path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.living = []

    def hire(self, role, topic, size, index):
        print(role, topic, size, index, file=self.process.stdin, flush=True)
        victim = Victim(int(self.process.stdout.readline()))
        self.living.append(victim)
        return victim

    def count(self, index):
        return int(self.ledger.counts[index])

    def end(self):
        """Returns all lines that they printed."""
        for victim in self.living:
            victim.kill()
            victim.close()
        return self.process.communicate(timeout=PATIENCE)[1]


@pytest.fixture
def crew(directory, tmp_path):
    crew = Crew(str(tmp_path / "ledger"))
    yield crew
    # No process found a torn, duplicate or missing message.
    assert crew.end() == ""


class Account:
    """The received messages of a subscriber, by sender, and the gaps between them."""

    def __init__(self, subscriber):
        self.subscriber = subscriber
        self.due = {}
        self.received = 0
        self.missing = 0

    def receive(self):
        """Receives all waiting messages; returns true if there was one."""
        message = self.subscriber.recv()
        while message is not None:
            sender, number = checked(message)
            due = self.due.get(sender, 0)
            assert number >= due, f"{number} of {sender} where {due} was due"
            self.missing += number - due
            self.due[sender] = number + 1
            self.received += 1
            message = self.subscriber.recv()


@pytest.mark.parametrize(
    ("role", "size", "qos"),
    [
        ("publish", "small", "default"),
        ("publish", "large", "default"),
        ("publish", "small", "reliable"),
        ("publish", "large", "reliable"),
        ("lend", "image", "default"),
    ],
)
def test_killed_publishers_are_replaced_and_all_is_accounted_for(crew, role, size, qos):
    kills = KILLS[size]
    subscriber = horus.Subscriber("stream", KINDS[size], qos=qos)
    account = Account(subscriber)
    bystander = kills
    crew.hire(role, "stream", size, bystander)
    until(lambda: bystander in account.due, account.receive)
    for index in range(kills):
        victim = crew.hire(role, "stream", size, index)
        until(lambda: index in account.due, account.receive)
        end = time.monotonic() + random.uniform(0, STREAM_MAX_S)
        until(lambda: time.monotonic() >= end, account.receive)
        victim.kill()
        before = account.due[bystander]
        until(lambda: victim.is_dead and account.due[bystander] > before, account.receive)
    last = crew.living[0]
    last.kill()
    until(lambda: last.is_dead)
    account.receive()
    stats = subscriber.stats()
    assert (stats.received, stats.waiting, stats.malformed) == (account.received, 0, 0)
    assert stats.sent == stats.received + stats.lost
    if qos == "reliable":
        assert (stats.lost, account.missing) == (0, 0)
    # A killed process may have published its last message without counting it.
    counted = [crew.count(index) for index in range(kills + 1)]
    assert sum(counted) <= stats.sent <= sum(counted) + kills + 1
    for index, count in enumerate(counted):
        assert account.due[index] <= count + 1
    # Messages overwritten after the last received one leave no gap in the numbers.
    tail = sum(max(count - account.due[index], 0) for index, count in enumerate(counted))
    assert account.missing <= stats.lost <= account.missing + tail + kills + 1
    assert subscriber.publisher_count() == 0
    heir = horus.Publisher("stream", KINDS[size], qos=qos)
    heir.send(made(KINDS[size], bystander + 1, 0))
    assert checked(subscriber.recv()) == (bystander + 1, 0)


@pytest.mark.parametrize("size", ["small", "large"])
def test_killed_subscribers_of_a_reliable_topic_hold_nobody_up(crew, size):
    kind, sender = KINDS[size], 1000
    publisher = horus.Publisher("stream", kind, qos="reliable", capacity=16)
    survivor = Account(horus.Subscriber("stream", kind, qos="reliable"))
    sent = 0

    def step():
        nonlocal sent
        publisher.send(made(kind, sender, sent), timeout=PATIENCE)
        sent += 1
        survivor.receive()

    for index in range(KILLS[size]):
        victim = crew.hire("receive", "stream", size, index)
        until(lambda: crew.count(index) > 0, step)
        end = time.monotonic() + random.uniform(0, STREAM_MAX_S)
        until(lambda: time.monotonic() >= end, step)
        victim.kill()
        until(lambda: victim.is_dead, step)
        # More than the topic holds: the place of the dead subscriber is found and freed.
        for _ in range(17):
            step()
        assert crew.count(index) <= sent
    assert (survivor.received, survivor.missing, survivor.due) == (sent, 0, {sender: sent})
    stats = survivor.subscriber.stats()
    assert (stats.sent, stats.received, stats.lost, stats.waiting) == (sent, sent, 0, 0)
    assert survivor.subscriber.subscriber_count() == 1


def test_killed_borrowers_give_back_what_they_held(crew):
    kind, sender = KINDS["image"], 1000
    publisher = horus.Publisher("stream", kind, capacity=64)
    survivor = Account(horus.Subscriber("stream", kind))
    held = []
    sent = 0

    def step():
        nonlocal sent
        publisher.send(made(kind, sender, sent))
        sent += 1
        survivor.receive()

    for index in range(KILLS["image"]):
        victim = crew.hire("hold", "stream", "image", index)
        until(lambda: crew.count(index) > victims.HELD, step)
        end = time.monotonic() + random.uniform(0, STREAM_MAX_S)
        until(lambda: time.monotonic() >= end, step)
        victim.kill()
        until(lambda: victim.is_dead, step)
        # All slots are written again, including those that it held.
        for _ in range(128):
            step()
    assert (survivor.received, survivor.missing, survivor.due) == (sent, 0, {sender: sent})
    stats = survivor.subscriber.stats()
    assert (stats.sent, stats.received, stats.lost, stats.waiting) == (sent, sent, 0, 0)
    # Held messages are not overwritten: half of the slots are left.
    for _ in range(victims.HELD):
        publisher.send(made(kind, sender, sent))
        sent += 1
        image = survivor.subscriber.recv()
        held.append((image, checked(image)))
    for _ in range(200):
        publisher.send(made(kind, sender, sent))
        sent += 1
        assert checked(survivor.subscriber.recv()) == (sender, sent - 1)
    assert all(checked(image) == was for image, was in held)


def test_a_stopped_subscriber_is_waited_for_and_a_killed_one_is_not(crew):
    publisher = horus.Publisher("stream", victims.Small, qos="reliable", capacity=16)
    victim = crew.hire("receive", "stream", "small", 0)
    until(lambda: publisher.subscriber_count() == 1)
    victim.stop()
    sent = 0
    with pytest.raises(horus.FullError):
        for sent in range(1000):
            publisher.send(made(victims.Small, 1000, sent))
    assert sent >= 16
    with pytest.raises(horus.FullError):
        publisher.send(made(victims.Small, 1000, sent), timeout=0.1)
    victim.kill()
    publisher.send(made(victims.Small, 1000, sent), timeout=PATIENCE)


def test_killed_schedulers_leave_their_name_and_their_black_box(crew, namespace):
    publisher = horus.Publisher("ask", victims.Small)
    back = Account(horus.Subscriber("ask_back", victims.Small))
    sent = 0

    def step():
        nonlocal sent
        publisher.send(made(victims.Small, 1000, sent))
        sent += 1
        message = back.subscriber.recv(timeout=0.01)
        if message is not None:
            sender, number = checked(message)
            back.due[sender] = number

    pids = []
    for index in range(10):
        victim = crew.hire("both", "ask", "small", index)
        pids.append(victim.number)
        until(lambda: index in back.due, step)
        assert [info.name for info in horus.schedulers() if info.is_alive] == ["both"]
        time.sleep(random.uniform(0, STREAM_MAX_S))
        victim.kill()
        until(lambda: victim.is_dead)
    events = horus.black_box("both")
    started = [event for event in events if event.kind == horus.NodeEvent.STARTED]
    assert [event.process_id for event in started] == pids
    assert [event.node for event in started] == [f"both{index}" for index in range(10)]
    assert not any(info.is_alive for info in horus.schedulers())


def test_the_next_process_removes_what_the_dead_left(crew, directory, python):
    for index in range(5):
        victim = crew.hire("publish", f"stream{index}", "large", index)
        until(lambda: crew.count(index) > 0)
        victim.kill()
        until(lambda: victim.is_dead)

    def files():
        return [name for _, _, names in os.walk(directory) for name in names if "stream" in name]

    assert files() == ["stream4"]
    python("import horus; horus.Publisher('other', horus.CmdVel)")
    assert files() == []


FORKED = """
import horus, multiprocessing, os, sys, time

def ends(topic):
    return horus.Publisher(topic, horus.CmdVel), horus.Subscriber(topic, horus.CmdVel)

def reported(call):
    try:
        call()
    except horus.ForkedError:
        return True
    return False

def child(inherited):
    publisher, subscriber = ends("child")
    publisher.send(horus.CmdVel(linear=3))
    assert subscriber.recv().linear == 3
    if inherited is not None:
        assert reported(lambda: inherited[0].send(horus.CmdVel()))
        assert reported(lambda: inherited[1].recv())
        assert reported(lambda: inherited[1].recv(timeout=60))
        assert reported(lambda: inherited[1].stats()) and reported(lambda: inherited[1].lost)
        for end in inherited:
            assert reported(end.subscriber_count) and reported(end.publisher_count)
        for end in inherited:
            end.close()
    parents = horus.Publisher("parent", horus.CmdVel)
    parents.send(horus.CmdVel(linear=7))
    # Destructors and the exit of the interpreter must not affect the parent either.

if __name__ == "__main__":
    method = sys.argv[1]
    context = multiprocessing.get_context(method)
    publisher, subscriber = ends("parent")
    inherited = (publisher, subscriber) if method == "fork" else None
    for number in range(3):
        process = context.Process(target=child, args=(inherited,))
        publisher.send(horus.CmdVel(linear=1))
        process.start()
        publisher.send(horus.CmdVel(linear=2))
        process.join(60)
        assert process.exitcode == 0
        received = sorted(message.linear for message in iter(subscriber.recv, None))
        assert received == [1, 2, 7], received
    stats = subscriber.stats()
    assert (stats.sent, stats.received, stats.lost) == (9, 9, 0)
    assert (publisher.publisher_count(), publisher.subscriber_count()) == (1, 1)
    print("done")
"""


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_children_of_multiprocessing_have_ends_of_their_own(directory, tmp_path, method):
    program = tmp_path / "forked.py"
    program.write_text(FORKED)
    process = subprocess.run(
        [sys.executable, program, method],
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
        check=False,
    )
    assert (process.returncode, process.stdout) == (0, "done\n"), process.stderr


def test_an_end_is_not_sent_to_another_process(directory):
    ends = [horus.Topic("x", horus.CmdVel), horus.Publisher("x", horus.CmdVel)]
    for end in [*ends, horus.Subscriber("x", horus.CmdVel)]:
        with pytest.raises(TypeError, match="cannot pickle"):
            pickle.dumps(end)


ORPHAN = """
import horus, os, sys, time
publisher = horus.Publisher("stream", horus.CmdVel)
subscriber = horus.Subscriber("reliable", horus.CmdVel, qos="reliable", capacity=16)
if os.fork() == 0:
    print(os.getpid(), flush=True)
    sys.stdin.read()
    try:
        publisher.send(horus.CmdVel())
    except horus.ForkedError:
        print("forked", flush=True)
    os._exit(0)
time.sleep(600)
"""


def test_a_killed_parent_is_dead_though_its_child_lives(directory):
    subscriber = horus.Subscriber("stream", horus.CmdVel)
    publisher = horus.Publisher("reliable", horus.CmdVel, qos="reliable", capacity=16)
    process = subprocess.Popen(
        [sys.executable, "-c", ORPHAN],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    child = Victim(int(process.stdout.readline()))
    try:
        assert (subscriber.publisher_count(), publisher.subscriber_count()) == (1, 1)
        process.kill()
        # The child of the victim has all of its memory and descriptors.
        until(lambda: subscriber.publisher_count() == 0)
        for _ in range(32):
            publisher.send(horus.CmdVel(), timeout=PATIENCE)
        assert publisher.subscriber_count() == 0
        assert not child.is_dead
        process.stdin.close()
        assert process.stdout.read() == "forked\n"
    finally:
        child.kill()
        child.close()
        process.stdout.close()
        process.wait()


TRUNCATED = """
import asyncio, os
import horus

subscriber = horus.Subscriber("task", horus.CmdVel)

async def main():
    waiting = asyncio.ensure_future(subscriber.recv_async())
    await asyncio.sleep(0)
    assert not waiting.done()
    os.truncate(os.path.join(os.environ["HORUS_SHM_DIR"], "test", "topics", "task"), 0)
    try:
        await asyncio.wait_for(waiting, 60)
    except horus.RegionLostError:
        print("reported")

asyncio.run(main())
"""


def test_a_task_outlives_the_truncation_of_its_topic(python):
    # The thread of the library meets the fault, and must not be killed by SIGBUS.
    assert python(TRUNCATED) == "reported\n"


STREAMLESS = """
import asyncio, os
import horus

saved = os.dup(1)
for stream in range(3):
    os.close(stream)
seen = []

async def tick(context):
    await asyncio.sleep(0)
    seen.append(any(os.path.exists(f"/proc/self/fd/{stream}") for stream in range(3)))
    context.stop()

async def received():
    subscriber = horus.Subscriber("task", horus.CmdVel)
    waiting = asyncio.ensure_future(subscriber.recv_async())
    await asyncio.sleep(0)
    publisher = horus.Publisher("task", horus.CmdVel)
    publisher.send(horus.CmdVel(linear=3))
    seen.append(any(os.path.exists(f"/proc/self/fd/{stream}") for stream in range(3)))
    return (await waiting).linear

keep = [os.open("/dev/null", os.O_RDWR) for stream in range(3)]
loop = asyncio.new_event_loop()
for stream in keep:
    os.close(stream)
assert loop.run_until_complete(received()) == 3
horus.run(horus.Node("task", tick=tick))
os.write(saved, repr(seen).encode())
"""


def test_a_program_without_standard_streams_keeps_them_free(python):
    # Its output must not go into a topic, nor into the pipe that wakes its tasks.
    assert python(STREAMLESS) == "[False, False]"
