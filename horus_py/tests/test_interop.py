"""Rust and Python exchange every standard message and any value, byte for byte."""

import asyncio
import contextlib
import subprocess
import time

import horus
import numpy as np
from conftest import built
from test_framed import examples
from test_message import STANDARD, patterned
from test_value import DTYPES, VALUES, same


@contextlib.contextmanager
def relay(*arguments):
    """Runs the Rust program from its first subscription until it has echoed all messages."""
    process = subprocess.Popen([built("relay"), *arguments], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "ready\n"
        yield
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_rust_sends_back_what_python_sent(directory):
    # Messages that only occur inside framed messages have no topics in the Rust program.
    kinds = [kind for kind in STANDARD if kind.__name__ not in ("MapMetaData", "PointField", "Joint")]
    assert len(kinds) == 62
    ends = [
        (horus.Publisher(kind.__name__, kind), horus.Subscriber(f"{kind.__name__}_back", kind))
        for kind in kinds
    ]
    with relay():
        sent = [patterned(kind, seed) for seed, kind in enumerate(kinds)]
        for message, (publisher, _) in zip(sent, ends, strict=True):
            publisher.send(message)
        for message, (_, subscriber) in zip(sent, ends, strict=True):
            back = subscriber.recv(timeout=60)
            assert type(back) is type(message)
            assert bytes(back) == bytes(message)


def test_rust_sends_back_any_value(directory):
    publisher = horus.Publisher("values")
    subscriber = horus.Subscriber("values_back")
    arrays = [np.arange(-12, 12).astype(dtype).reshape(2, 3, 4) for dtype in DTYPES]
    values = [value for value in VALUES if value is not None] + arrays + [{"arrays": arrays}]
    with relay("values"):
        # The iteration passes malformed messages, and does not end.
        publisher.send("first")
        assert next(iter(subscriber)) == "first"
        for value in [*values, None]:
            publisher.send(value)
            # The value echoed by Rust is equal, and its bytes too if a value has only one encoding.
            back = subscriber.recv(timeout=60)
            assert same(value, back), (value, back)
    stats = subscriber.stats()
    assert (stats.malformed, stats.received) == (60, len(values) + 2)


def test_a_task_gets_the_values_behind_any_number_of_malformed_ones(directory):
    publisher = horus.Publisher("values")
    subscriber = horus.Subscriber("values_back")

    async def received():
        return [await asyncio.wait_for(subscriber.recv_async(), 60) for _ in range(2)]

    with relay("values"):
        for value in ("first", None):
            publisher.send(value)
        # The tasks begin to wait when all messages are there: no new one wakes them.
        while subscriber.stats().waiting < 62:
            time.sleep(0.001)
        assert asyncio.run(received()) == ["first", None]
    # The malformed ones come from another publisher, so some may still be there.
    while subscriber.stats().waiting > 0:
        assert subscriber.recv() is None
    assert subscriber.stats().malformed == 60


def test_rust_sends_back_messages_that_end_in_data(directory):
    sent = examples()
    ends = [
        (horus.Publisher(kind.__name__, kind), horus.Subscriber(f"{kind.__name__}_back", kind))
        for kind in map(type, sent)
    ]
    with relay("framed"):
        for message, (publisher, _) in zip(sent, ends, strict=True):
            publisher.send(message)
        for message, (_, subscriber) in zip(sent, ends, strict=True):
            back = subscriber.recv(timeout=60)
            assert back == message and bytes(back) == bytes(message)
            assert not back.writeable
