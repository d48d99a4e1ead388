"""Topics: sending, receiving, waiting, and errors."""

import asyncio
import gc
import os
import resource
import signal
import subprocess
import sys
import threading
import time

import horus
import pytest
from conftest import PATIENCE, until


@pytest.fixture
def ends(namespace):
    publisher = horus.Publisher("cmd_vel", horus.CmdVel, namespace=namespace)
    return publisher, horus.Subscriber("cmd_vel", horus.CmdVel, namespace=namespace)


def command(number):
    return horus.CmdVel(timestamp_ns=number, linear=number)


def test_messages_come_in_order_and_are_copies(ends):
    publisher, subscriber = ends
    sent = command(1)
    publisher.send(sent)
    sent.linear = 7
    publisher.send(sent)
    first, second = subscriber.recv(), subscriber.recv()
    assert (first.linear, second.linear) == (1, 7)
    first.linear = 5
    assert (second.linear, sent.linear) == (7, 7)
    assert subscriber.recv() is None


def test_a_topic_is_both_ends(namespace):
    topic = horus.Topic("both", horus.Imu, namespace=namespace)
    topic.send(horus.Imu(timestamp_ns=3))
    assert topic.recv().timestamp_ns == 3
    alone = horus.Topic("alone", horus.Imu, namespace=namespace, ignore_own=True)
    alone.send(horus.Imu())
    assert alone.recv() is None


def test_latest_passes_over(ends):
    publisher, subscriber = ends
    for number in range(5):
        publisher.send(command(number))
    assert subscriber.latest().timestamp_ns == 4
    assert subscriber.latest() is None
    stats = subscriber.stats()
    assert (stats.received, stats.skipped, stats.sent, stats.waiting) == (1, 4, 5, 0)


def test_what_is_lost_is_counted(namespace):
    publisher = horus.Publisher("small", horus.CmdVel, namespace=namespace, capacity=4)
    subscriber = horus.Subscriber("small", horus.CmdVel, namespace=namespace)
    for number in range(100):
        publisher.send(command(number))
    received = 0
    while subscriber.recv() is not None:
        received += 1
    assert subscriber.lost + received == 100
    assert subscriber.lost > 0
    assert subscriber.stats().lost == subscriber.lost


def test_a_full_topic_refuses_and_waits(namespace):
    qos = {"namespace": namespace, "qos": "reliable", "capacity": 2}
    publisher = horus.Publisher("full", horus.CmdVel, **qos)
    subscriber = horus.Subscriber("full", horus.CmdVel, **qos)
    with pytest.raises(horus.FullError, match="a whole lane behind"):
        for number in range(10):
            publisher.send(command(number))
    with pytest.raises(horus.FullError):
        publisher.send(command(10), timeout=0.01)
    thread = threading.Thread(target=lambda: publisher.send(command(11), timeout=60))
    thread.start()
    numbers = []
    while 11 not in numbers:
        message = subscriber.recv(timeout=60)
        numbers.append(message.timestamp_ns)
    thread.join()
    assert subscriber.lost == 0


@pytest.mark.parametrize("is_framed", [False, True])
def test_a_send_waits_until_the_slots_may_grow(namespace, is_framed):
    qos = {"namespace": namespace, "qos": "reliable", "capacity": 4}

    def made(mebibytes):
        content = bytes(mebibytes << 20)
        return horus.Bytes(content) if is_framed else content

    kinds = [horus.Bytes] if is_framed else []
    publisher = horus.Publisher("growing", *kinds, **qos)
    subscriber = horus.Subscriber("growing", *kinds, **qos)
    for mebibytes in [0, 1, 2, 4]:
        publisher.send(made(mebibytes))
    for options in [{}, {"timeout": 0.01}]:
        with pytest.raises(horus.FullError):
            publisher.send(made(8), **options)
    thread = threading.Thread(target=lambda: publisher.send(made(8), timeout=60))
    thread.start()
    for mebibytes in [0, 1, 2, 4, 8]:
        message = subscriber.recv(timeout=60)
        assert (message.bytes if is_framed else len(message)) == mebibytes << 20
    thread.join()


def test_recv_waits_as_long_as_it_is_told(ends):
    publisher, subscriber = ends
    begin = time.monotonic()
    assert subscriber.recv(timeout=0.1) is None
    assert time.monotonic() - begin >= 0.1
    thread = threading.Timer(0.05, lambda: publisher.send(command(1)))
    thread.start()
    assert subscriber.recv(timeout=float("inf")).timestamp_ns == 1
    thread.join()
    for wrong in (-1, float("nan")):
        with pytest.raises(ValueError, match="give 0 or more"):
            subscriber.recv(timeout=wrong)


@pytest.mark.parametrize("message_type", [horus.CmdVel, horus.Image])
def test_a_wait_spins_only_before_it_sleeps(namespace, message_type):
    subscriber = horus.Subscriber("silent", message_type, namespace=namespace)

    def sleeps_of_wait(seconds):
        before = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
        assert subscriber.recv(timeout=seconds) is None
        return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw - before

    # Longer than the slices in which the library waits, which are 40 ms long.
    subscriber.set_spin(0.1)
    assert sleeps_of_wait(0.3) > 0
    # The next wait spins again, for the whole time. WHY a loop: a page fault may be a sleep, too.
    until(lambda: sleeps_of_wait(0.09) == 0)


def test_one_thread_waits_while_another_sends(namespace):
    topic = horus.Topic("echo", horus.CmdVel, namespace=namespace)
    received = []
    thread = threading.Thread(target=lambda: received.append(topic.recv(timeout=60)))
    thread.start()
    topic.send(command(9))
    thread.join()
    assert received[0].timestamp_ns == 9


def test_two_threads_at_one_end_is_an_error(ends):
    publisher, subscriber = ends
    waiting = threading.Thread(target=lambda: subscriber.recv(timeout=60))
    waiting.start()
    refused = None
    while refused is None and waiting.is_alive():
        try:
            assert subscriber.recv() is None
        except horus.BusyError as error:
            refused = error
    assert "another thread uses the subscriber of topic 'cmd_vel'" in str(refused)
    publisher.send(command(1))
    waiting.join()


def test_iteration_ends_when_the_subscriber_is_closed(ends):
    publisher, subscriber = ends
    numbers = []

    def collect():
        for message in subscriber:
            numbers.append(message.timestamp_ns)
            if message.timestamp_ns == 2:
                done.set()

    done = threading.Event()
    thread = threading.Thread(target=collect)
    thread.start()
    for number in range(3):
        publisher.send(command(number))
    assert done.wait(60)
    subscriber.close()
    thread.join(60)
    assert not thread.is_alive()
    assert numbers == [0, 1, 2]


def test_a_closed_handle_says_so(namespace):
    with horus.Topic("closed", horus.CmdVel, namespace=namespace) as topic:
        assert not topic.closed
        assert topic.publisher_count() == topic.subscriber_count() == 1
        assert topic.backend == "SpscShm"
    assert topic.closed
    topic.close()
    for call in (lambda: topic.send(command(1)), topic.recv, topic.latest, topic.stats):
        with pytest.raises(horus.ClosedError):
            call()
    assert "closed" in repr(topic)


def test_closing_ends_a_wait(ends):
    _, subscriber = ends
    errors = []

    def wait():
        try:
            subscriber.recv(timeout=60)
        except horus.Error as error:
            errors.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    while True:
        try:
            subscriber.recv()
        except horus.BusyError:
            break
    subscriber.close()
    thread.join(60)
    assert isinstance(errors[0], horus.ClosedError)


def test_mistakes_are_named(namespace):
    topic = horus.Topic("cmd_vel", horus.CmdVel, namespace=namespace)
    with pytest.raises(TypeError, match="carries CmdVel, not Imu"):
        topic.send(horus.Imu())
    with pytest.raises(TypeError, match="carries CmdVel, not int"):
        topic.send(5)
    with pytest.raises(horus.SchemaMismatchError, match="'Imu' here, 'CmdVel' in the topic"):
        horus.Publisher("cmd_vel", horus.Imu, namespace=namespace, strict=True)
    with pytest.raises(horus.OpenTopicError):
        horus.Publisher("", horus.Imu, namespace=namespace)
    with pytest.raises(TypeError, match="not a class of messages"):
        horus.Publisher("x", int, namespace=namespace)
    with pytest.raises(TypeError, match="unexpected keyword 'depth': give one of qos, "):
        horus.Publisher("x", horus.Imu, namespace=namespace, depth=3)
    with pytest.raises(ValueError, match="qos is 'fast', and must be 'default'"):
        horus.Publisher("x", horus.Imu, namespace=namespace, qos="fast")
    # No setting belongs to the topic, but not every setting is possible.
    horus.Publisher("cmd_vel", horus.CmdVel, namespace=namespace, capacity=4096).close()
    with pytest.raises(horus.OpenTopicError, match="capacity"):
        horus.Publisher("cmd_vel", horus.CmdVel, namespace=namespace, capacity=1 << 21)
    with pytest.raises(horus.OpenTopicError):
        horus.Subscriber("nothing", horus.CmdVel, namespace=namespace, observe=True)
    with pytest.raises(ValueError, match="'observe' means nothing here"):
        horus.Publisher("x", horus.Imu, namespace=namespace, observe=True)
    for wrong in (lambda: topic.send(), lambda: topic.recv(1, 2), lambda: topic.recv(time=1)):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(TypeError, match="twice"):
        topic.recv(0, timeout=0)
    for error in (horus.BusyError, horus.FullError, horus.ForkedError, horus.NamespaceError):
        assert issubclass(error, horus.Error)


def test_an_observer_is_not_counted(ends, namespace):
    publisher, _ = ends
    observer = horus.Subscriber("cmd_vel", horus.CmdVel, namespace=namespace, observe=True)
    assert observer.subscriber_count() == 1
    publisher.send(command(1))
    assert observer.recv().timestamp_ns == 1


def test_async_for_takes_every_message(ends):
    publisher, subscriber = ends

    async def main():
        numbers = []

        async def collect():
            async for message in subscriber:
                numbers.append(message.timestamp_ns)

        async def feed():
            for number in range(20):
                publisher.send(command(number))
                await asyncio.sleep(0.001)
            while len(numbers) < 20:
                await asyncio.sleep(0.001)
            subscriber.close()

        await asyncio.wait_for(asyncio.gather(collect(), feed()), 60)
        return numbers

    assert asyncio.run(main()) == list(range(20))


def test_a_cancelled_task_loses_nothing(ends):
    publisher, subscriber = ends

    async def main():
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(subscriber.recv_async(), 0.05)
        publisher.send(command(4))
        return await asyncio.wait_for(subscriber.recv_async(), 60)

    assert asyncio.run(main()).timestamp_ns == 4
    publisher.send(command(5))
    assert asyncio.run(asyncio.wait_for(subscriber.recv_async(), 60)).timestamp_ns == 5


def test_two_tasks_at_one_end_is_an_error(ends):
    _, subscriber = ends

    async def main():
        first = asyncio.create_task(subscriber.recv_async())
        await asyncio.sleep(0)
        with pytest.raises(horus.BusyError):
            await subscriber.recv_async()
        first.cancel()

    asyncio.run(main())


def test_a_wait_set_says_what_is_ready(ends, namespace):
    publisher, subscriber = ends
    other = horus.Topic("other", horus.Imu, namespace=namespace)
    waits = horus.WaitSet()
    with pytest.raises(horus.Error, match="empty"):
        waits.wait()
    on_command, on_imu = waits.add(subscriber), waits.add(other, deadline=PATIENCE)
    assert len(waits) == 2
    publisher.send(command(1))
    (ready,) = waits.wait(60)
    assert (ready.key, ready.source, ready.reason) == (on_command, subscriber, "message")
    subscriber.recv()
    assert waits.remove(on_imu)
    on_imu = waits.add(other, deadline=0.02)
    (ready,) = waits.wait(60)
    assert (ready.key, ready.reason, ready.silent >= 0.02) == (on_imu, "deadline_missed", True)
    assert waits.remove(on_imu)
    assert not waits.remove(on_imu)
    on_tick = waits.add_interval(0.01)
    (ready,) = waits.wait(60)
    assert (ready.key, ready.source, ready.reason) == (on_tick, None, "timer")
    waits.remove(on_tick)
    assert waits.wait(0.001) == []
    subscriber.close()
    (ready,) = waits.wait(60)
    assert (ready.key, ready.reason) == (on_command, "closed")
    with pytest.raises(ValueError, match="give more"):
        waits.add_interval(0)
    with pytest.raises(TypeError):
        waits.add(publisher)


OPEN = """
import horus, os, sys, threading, time
topic = horus.Topic("cmd_vel", horus.CmdVel)
"""


@pytest.mark.parametrize("wait", ["topic.recv(timeout=60)", "next(topic)", "waits.wait(60)"])
def test_ctrl_c_ends_a_wait(directory, wait):
    script = OPEN + f"""
waits = horus.WaitSet()
waits.add(topic)
try:
    print("waiting", flush=True)
    {wait}
except KeyboardInterrupt:
    print("interrupted")
"""
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "waiting\n"
    # The signal is noticed before and during the wait.
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=30)[0] == "interrupted\n"
    assert process.returncode == 0


def test_a_publisher_that_cannot_be_mapped_is_an_error_until_it_can(python):
    script = """
import horus, resource
options = {"max_message_bytes": 4096, "capacity": 4096}
subscriber = horus.Subscriber("unmapped", **options)
publisher = horus.Publisher("unmapped", **options)
subscriber.recv()
publisher.close()
subscriber.close()
subscriber = horus.Subscriber("unmapped", **options)
publisher = horus.Publisher("unmapped", **options)
unlimited = resource.getrlimit(resource.RLIMIT_AS)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (8 << 20), unlimited[1]))
publisher.send("seven")
for call in (subscriber.recv, subscriber.latest, lambda: subscriber.recv(timeout=60)):
    try:
        call()
    except horus.LaneNotMappedError as error:
        assert "publisher lane 0" in str(error) and "RLIMIT_AS" in str(error), error
    else:
        raise AssertionError("mute and well")
assert (subscriber.stats().unmapped, subscriber.stats().waiting) == (1, 1)
resource.setrlimit(resource.RLIMIT_AS, unlimited)
message = None
while message is None:
    try:
        message = subscriber.recv()
    except horus.LaneNotMappedError:
        pass
assert message == "seven" and subscriber.stats().unmapped == 0
"""
    python(script)


def test_a_forked_child_is_told(python):
    script = OPEN + """
view = horus.Imu(timestamp_ns=5)
array = view.orientation
topic.send(horus.CmdVel(linear=1))
received = topic.recv()
if os.fork() == 0:
    for call in (lambda: topic.send(horus.CmdVel()), topic.recv, lambda: topic.recv(timeout=9)):
        try:
            call()
        except horus.ForkedError as error:
            assert "open a new one after fork" in str(error)
        else:
            os._exit(1)
    assert (view.timestamp_ns, array[3], received.linear) == (5, 1, 1)
    fresh = horus.Topic("cmd_vel", horus.CmdVel)
    fresh.send(horus.CmdVel(linear=2))
    os._exit(0 if fresh.recv().linear == 2 else 2)
assert os.wait()[1] == 0
assert topic.recv(timeout=60).linear == 2
print("done")
"""
    assert python(script) == "done\n"


def test_an_end_that_was_in_use_when_it_was_forked_says_so(python):
    script = OPEN + """
thread = threading.Thread(target=lambda: topic.recv(timeout=60))
thread.start()
while True:
    try:
        topic.recv()
    except horus.BusyError:
        break
if os.fork() == 0:
    try:
        topic.recv()
    except horus.ForkedError:
        os._exit(0)
    os._exit(1)
assert os.wait()[1] == 0
topic.send(horus.CmdVel())
thread.join()
print("done")
"""
    assert python(script) == "done\n"


@pytest.mark.parametrize(
    "wait",
    [
        "topic.recv(timeout=1e9)",
        "next(topic)",
        "topic.recv(0.001)",
        "topic.wait_for_subscribers(1)",
    ],
)
def test_the_interpreter_ends_while_daemons_wait(python, wait):
    script = OPEN + f"""
topics = [horus.Topic(f"topic{{n}}", horus.CmdVel) for n in range(8)]
def work(topic):
    while True:
        {wait}
for topic in topics:
    threading.Thread(target=work, args=(topic,), daemon=True).start()
time.sleep(0.05)
print("done")
"""
    for _ in range(5):
        assert python(script) == "done\n"


def test_the_interpreter_ends_while_tasks_wait(python):
    script = OPEN + """
import asyncio
async def main():
    asyncio.create_task(topic.recv_async())
    await asyncio.sleep(0.01)
asyncio.run(main())
print("done")
"""
    assert python(script) == "done\n"


def test_handles_are_collected(namespace):
    for _ in range(200):
        horus.Topic("often", horus.CmdVel, namespace=namespace, publishers_max=2)
    gc.collect()
    assert horus.Topic("often", horus.CmdVel, namespace=namespace).publisher_count() == 1


def test_the_environment_names_the_namespace(namespace, python):
    subscriber = horus.Subscriber("cmd_vel", horus.CmdVel)
    python(OPEN + "topic.send(horus.CmdVel(linear=4))")
    assert subscriber.recv(timeout=60).linear == 4
    assert horus.Namespace.current().dir == namespace.dir
    assert horus.Subscriber("cmd_vel", horus.CmdVel, namespace=namespace).publisher_count() == 0
    assert os.environ["HORUS_NAMESPACE"] == namespace.name


def test_each_key_has_its_latched_message(namespace):
    latched = {"qos": "latched", "namespace": namespace}
    for number in (1, 2):
        for key in ("map server", "costmap"):
            with horus.Publisher("kept", latch_key=key, **latched) as publisher:
                publisher.send([key, number])
    with horus.Subscriber("kept", namespace=namespace) as late:
        assert sorted([late.recv(), late.recv()]) == [["costmap", 2], ["map server", 2]]
        assert late.recv() is None


# A program whose child latches a message.
LATCHING = """
import multiprocessing, os, sys
from mapping import publish

if __name__ == "__main__":
    number = int(sys.argv[2])
    # The numbers of further descriptors are in the command line of the child.
    files = [os.open("/dev/null", os.O_RDONLY) for _ in range(number)]
    child = multiprocessing.get_context(sys.argv[1]).Process(target=publish, args=(number,))
    child.start()
    child.join()
"""
MAPPING = """
def publish(number):
    import horus

    with horus.Publisher("map", qos="latched") as publisher:
        publisher.send(number)
"""


@pytest.mark.parametrize(
    ("method", "programs"),
    [
        ("fork", ["a/map.py", "a/costmap.py"]),
        ("forkserver", ["a/map.py", "a/costmap.py"]),
        ("spawn", ["a/map.py", "a/costmap.py"]),
        ("spawn", ["-m a.map", "-m b.map"]),
        ("spawn", ["-m a", "-m b"]),
        ("spawn", ["a", "b"]),
    ],
    ids=["fork", "forkserver", "scripts", "modules", "packages", "directories"],
)
def test_a_child_of_multiprocessing_replaces_what_it_latched_before(
    namespace, tmp_path, method, programs
):
    (tmp_path / "mapping.py").write_text(MAPPING)
    for path in ("a/map.py", "a/costmap.py", "b/map.py", "a/__main__.py", "b/__main__.py"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(LATCHING)
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"}
    for number, program in enumerate(2 * programs, 1):
        command = [sys.executable, *program.split(), method, str(number)]
        subprocess.run(command, cwd=tmp_path, env=environment, check=True, timeout=60)
    with horus.Subscriber("map", namespace=namespace) as late:
        # The two programs have different keys.
        assert sorted([late.recv(), late.recv()]) == [3, 4]
        assert late.recv() is None


def test_the_latest_of_several_publishers_is_found_by_the_clock_that_is_never_set(namespace):
    button, bumper = (
        horus.Publisher("emergency_stop", horus.EmergencyStop, namespace=namespace)
        for _ in range(2)
    )
    subscriber = horus.Subscriber("emergency_stop", horus.EmergencyStop, namespace=namespace)
    before_ns = time.monotonic_ns()
    release = horus.EmergencyStop.now(engaged=0)
    engage = horus.EmergencyStop.now()
    assert before_ns <= release.monotonic_ns <= engage.monotonic_ns <= time.monotonic_ns()
    # The real-time clock was set back by an hour between the two.
    release.timestamp_ns += 3600 * 10**9
    button.send(release)
    bumper.send(engage)
    assert subscriber.latest() == engage
