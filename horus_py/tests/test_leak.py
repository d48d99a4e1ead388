"""Sending many messages of every type leaks no memory.

`HORUS_TORTURE=1` sends 10⁷ of them.
"""

import gc
import os
import sys

import horus
import numpy as np
import pytest
from test_framed import examples
from test_message import STANDARD, patterned
from test_value import VALUES

TORTURE = os.environ.get("HORUS_TORTURE") == "1"
MESSAGES = 10_000_000 if TORTURE else 200_000
# Blocks of Python's allocator that vary without any messages, such as numpy's caches.
BLOCKS_MAX = 200
# Bytes that the C library's allocator and the kernel may keep.
RSS_MAX = 2 << 20


def rss():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def typed(topic, message):
    def send(count):
        for _ in range(count):
            topic.send(message)
            topic.recv()
        return count

    return send


def fields(message):
    return [name for name, field in vars(type(message)).items() if "getset" in repr(type(field))]


def used(topic, message):
    """Returns all operations on a message of one length."""
    names = fields(message)

    def send(count):
        count = max(count // 20, 1)
        for _ in range(count):
            topic.send(message.copy())
            back = topic.recv()
            assert back == message
            for name in names:
                setattr(back, name, getattr(back, name))
            repr(back), bytes(back), back.to_numpy(), memoryview(back)
            with pytest.raises(TypeError):
                topic.send(None)
        return count

    return send


def framed(topic, message):
    header = {name: getattr(message, name) for name in fields(message)}
    is_structured = type(message) in (horus.PointCloud, horus.SchedulerStatus)

    def send(count):
        count = max(count // 4, 1)
        for number in range(count):
            topic.send(message)
            back = topic.recv()
            back.to_numpy()
            if not is_structured:
                np.from_dlpack(back)
                back.__dlpack__(max_version=(1, 0))
            with pytest.raises(AttributeError):
                back.timestamp_ns = 1
            loan = topic.loan(**header)
            if not is_structured:
                loan.to_numpy()
            loan.discard() if number % 2 else loan.publish()
            topic.recv()
        return count

    return send


def values(topic, value):
    def send(count):
        count = max(count // 4, 1)
        for _ in range(count):
            topic.send(value)
            topic.recv()
            with pytest.raises(TypeError):
                topic.send([value, {1, 2}])
        return count

    return send


def jobs(namespace):
    for seed, kind in enumerate(STANDARD):
        topic = horus.Topic(kind.__name__, kind, namespace=namespace)
        yield typed(topic, patterned(kind, seed))
        yield used(topic, patterned(kind, seed))
    for message in examples():
        kind = type(message)
        yield framed(horus.Topic(kind.__name__, kind, namespace=namespace), message)
    topic = horus.Topic("values", namespace=namespace, capacity=16)
    for value in [VALUES, {"numbers": np.arange(1000.0), "bytes": b"x" * 500}, VALUES[-3]]:
        yield values(topic, value)


def test_memory_is_flat(namespace):
    every = list(jobs(namespace))
    # One-time allocations: caches, and slots that are used for the first time.
    for job in every:
        job(2000)
    gc.collect()
    blocks, before = sys.getallocatedblocks(), rss()
    # More than an equal share, because operations with more work per message send fewer.
    count = 21 * MESSAGES // (10 * len(every))
    sent = sum(job(count) for job in every)
    gc.collect()
    grown = sys.getallocatedblocks() - blocks, rss() - before
    print(f"\nRESULT python_leak: messages={sent} blocks={grown[0]} rss_bytes={grown[1]}")
    assert sent >= MESSAGES
    assert grown[0] < BLOCKS_MAX
    assert grown[1] < RSS_MAX


def test_a_tail_of_changing_length_uses_the_same_memory():
    @horus.message
    class Scan:
        count: horus.u64
        strengths: horus.Tail[horus.f32, "count"]

    scan = Scan()
    tails = [np.full(1000, 1, np.float32), np.full(1001, 2, np.float32)]

    def assign(rounds):
        for _ in range(rounds):
            for tail in tails:
                scan.strengths = tail
                # With the array, and without one.
                assert scan.strengths[-1] == tail[0]
                scan.strengths = tail[:-1]

    assign(100)
    gc.collect()
    before = rss()
    assign(5000)
    gc.collect()
    assert rss() - before < RSS_MAX


def test_what_fails_leaves_nothing_behind(namespace):
    topics = [horus.Topic("c", horus.CmdVel, namespace=namespace)]
    topics += [horus.Topic("i", horus.Image, namespace=namespace)]
    topics += [horus.Topic("v", namespace=namespace)]
    image, imu = horus.Image(np.zeros((4, 4), np.uint8)), horus.Imu()

    def fail(rounds):
        for _ in range(rounds):
            for topic in topics:
                for call in (lambda: topic.send({1}), lambda: topic.send(2**64), topic.recv):
                    try:
                        call()
                    except (TypeError, OverflowError):
                        pass
            for name, value in (("orientation", range(4)), ("orientation", "x"), ("x", 1)):
                try:
                    setattr(imu, name, value)
                except (TypeError, AttributeError):
                    pass
            try:
                image.__dlpack__(dl_device=(2, 0))
            except BufferError:
                pass

    # No call goes through PyO3, but the dropped objects must be released all the same.
    fail(500)
    gc.collect()
    blocks = sys.getallocatedblocks()
    fail(2000)
    assert sys.getallocatedblocks() - blocks < BLOCKS_MAX


def test_handles_leave_nothing_behind(namespace):
    def open_and_close(rounds):
        for _ in range(rounds):
            with horus.Topic("t", horus.Image, namespace=namespace, capacity=4) as topic:
                topic.send(horus.Image(np.zeros((4, 4), np.uint8)))
                kept = topic.recv()
            with horus.Topic("v", namespace=namespace, capacity=4) as topic:
                topic.send({"v": 1.0})
                topic.recv()
            assert not kept.to_numpy().any()

    open_and_close(20)
    gc.collect()
    blocks, files = sys.getallocatedblocks(), len(os.listdir("/proc/self/fd"))
    open_and_close(200 if TORTURE else 60)
    gc.collect()
    assert sys.getallocatedblocks() - blocks < BLOCKS_MAX
    assert len(os.listdir("/proc/self/fd")) == files
