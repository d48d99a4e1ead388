"""The victims of `test_reliability.py`: forks a process with a role for each input line.

A line is a role and its arguments; the answer is the number of the process. Each notes its progress
in a file of counters that all of them map.
"""

import collections
import itertools
import os
import signal
import sys

import horus
import numpy

# The time limit in seconds of the waits of a victim, on a slow machine.
PATIENCE = 60


@horus.message
class Small:
    """A message of 56 bytes, which fills a cache line with the stamp."""

    sender: horus.u64
    number: horus.u64
    words: horus.Array[horus.u64, 5]


@horus.message
class Large:
    """A message of 64 KiB, so that most kills happen in the middle of a message."""

    sender: horus.u64
    number: horus.u64
    words: horus.Array[horus.u64, 8190]


# An image is read and written in place.
KINDS = {"small": Small, "large": Large, "image": horus.Image}
SHAPE = (256, 256)
HELD = 4


class Broken(Exception):
    """A received message was never sent."""


def mixed(sender, number):
    """Returns the value of all words of a message."""
    return (sender * 0x9E3779B97F4A7C15 ^ number * 0xC2B2AE3D27D4EB4F) % 2**64


def words_of(image):
    """Returns an image as words: sender, number, and the others."""
    return image.to_numpy().reshape(-1).view(numpy.uint64)


def fill(image, sender, number):
    words = words_of(image)
    words[:2] = sender, number
    words[2:] = numpy.uint64(mixed(sender, number))


def made(kind, sender, number):
    if kind is horus.Image:
        image = horus.Image(numpy.zeros(SHAPE, numpy.uint8))
        fill(image, sender, number)
        return image
    message = kind(sender=sender, number=number)
    message.words[:] = numpy.uint64(mixed(sender, number))
    return message


def checked(message):
    """Returns sender and number of a message; checks that all words belong to the sender."""
    if isinstance(message, horus.Image):
        sender, number, *_ = (int(word) for word in words_of(message)[:2])
        words = words_of(message)[2:]
    else:
        sender, number, words = message.sender, message.number, message.words
    if (words != numpy.uint64(mixed(sender, number))).any():
        raise Broken(f"message {number} of {sender} is torn")
    return sender, number


class Ledger:
    """Counters that outlive the processes that increment them."""

    def __init__(self, path, size=None):
        if size is not None:
            with open(path, "wb") as file:
                file.truncate(8 * size)
        self.counts = numpy.memmap(path, dtype=numpy.uint64, mode="r+")


def publish(topic, size, counts, index):
    """Sends numbered messages forever; waits for room where a subscriber is reliable."""
    kind = KINDS[size]
    publisher = horus.Publisher(topic, kind, qos="reliable", capacity=64)
    number = 0
    while True:
        publisher.send(made(kind, index, number), timeout=PATIENCE)
        number += 1
        counts[index] = number


def lend(topic, size, counts, index):
    """Fills images in loans; discards one of three."""
    publisher = horus.Publisher(topic, KINDS[size])
    number = 0
    for turn in itertools.count():
        image = publisher.loan(SHAPE, "u1")
        fill(image, index, number)
        if turn % 3 == 2:
            image.discard()
            continue
        image.publish()
        number += 1
        counts[index] = number


def hold(topic, size, counts, index):
    """Holds the last few images, which must not change during that time."""
    subscriber = horus.Subscriber(topic, KINDS[size])
    held = collections.deque(maxlen=HELD)
    while True:
        image = subscriber.recv(timeout=PATIENCE)
        held.append((image, checked(image)))
        for image, was in held:
            if checked(image) != was:
                raise Broken(f"image {was} became {checked(image)} while it was held")
        counts[index] += 1


def receive(topic, size, counts, index):
    """Receives forever; fails if a message is missing."""
    subscriber = horus.Subscriber(topic, KINDS[size], qos="reliable")
    numbers = {}
    while True:
        message = subscriber.recv(timeout=PATIENCE)
        sender, number = checked(message)
        if number != numbers.get(sender, number):
            raise Broken(f"{number} of {sender} where {numbers[sender]} was due")
        numbers[sender] = number + 1
        counts[index] += 1


def both(topic, size, counts, index):
    """Runs a node in a scheduler that one topic wakes and that sends on another."""
    kind = KINDS[size]

    def tick(context):
        while (message := context.node.recv(topic)) is not None:
            context.node.publisher(f"{topic}_back").send(made(kind, index, checked(message)[1]))
            counts[index] += 1

    ends = {"subs": {topic: kind}, "pubs": {f"{topic}_back": kind}}
    horus.run(horus.Node(f"both{index}", tick=tick, on=topic, **ends), name="both")


ROLES = {role.__name__: role for role in (publish, lend, receive, hold, both)}


def main():
    # WHY: no process waits for their exit status.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    ledger = Ledger(sys.argv[1])
    for line in sys.stdin:
        role, topic, size, index = line.split()
        child = os.fork()
        if child == 0:
            try:
                ROLES[role](topic, size, ledger.counts, int(index))
            except BaseException as error:
                print(f"{role} {index}: {error!r}", file=sys.stderr, flush=True)
            os._exit(1)
        print(child, flush=True)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    os.setpgid(0, 0)
    main()
