#!/usr/bin/env python3
"""Measures actors and inboxes of Python: messages, spawning, ends and swaps.

    python3 -m venv .venv && .venv/bin/pip install './horus_py[test]'
    cd horus_py
    PYTHONPATH=benchmarks ../.venv/bin/python3 benchmarks/actors.py --json r.json

Each row is the median over the rounds, which take turns. Each section of a round has a process of
its own, as memory that other sections have used is slower: it is in no order any more. `bare` is
what Python itself needs to call a handler and a method in a loop, once for each message. A message
that is sent and handled alone cannot cost less; one in a list can, as its list saves these calls.
All messages are checked to have come.
"""

import argparse
import collections
import json
import multiprocessing
import os
import pathlib
import statistics
import sys
import tempfile
import time

import horus
from cpu import cpu_name

MESSAGES = 1_000_000
RING = 503
AGENTS = 100_000
SWAPS = 50_000
BURSTS = horus._horus._actor_bursts


class Counts:
    """Counts the messages that it handles."""

    def __init__(self):
        self.count = 0

    def handle(self, message, context):
        self.count += 1

    def handle_many(self, messages, context):
        self.count += len(messages)


def since(begin):
    return time.perf_counter() - begin


def until(condition):
    while not condition():
        time.sleep(0.0002)


def bare(scale):
    """Python alone: a method is called in a loop, and calls a handler."""
    count, counts = int(MESSAGES * scale), Counts()
    handle, kept = counts.handle, collections.deque(maxlen=1)
    keep = kept.append
    begin = time.perf_counter()
    for number in range(count):
        keep(number)
        handle(number, None)
    yield "bare/call", since(begin) / count * 1e9, "ns a message"


def push(scale):
    """The main thread sends to one actor, which counts."""
    count = int(MESSAGES * scale)
    for batch in (None, 256):
        with horus.Actors("push") as actors:
            counts = Counts()
            handler = counts.handle_many if batch else counts.handle
            address = actors.spawn(handler, mailbox="unbounded", batch=batch)
            tell = address.tell
            begin = time.perf_counter()
            for number in range(count):
                tell(number)
            until(lambda counts=counts: counts.count == count)
            name = "push/one" if batch is None else f"push/lists_of_{batch}"
            yield name, count / since(begin) / 1e6, "M messages/s"
    with horus.Actors("push") as actors:
        counts, many = Counts(), list(range(256))
        address = actors.spawn(counts.handle_many, mailbox="unbounded", batch=256)
        begin = time.perf_counter()
        for _ in range(count // 256):
            address.tell_all(many)
        until(lambda: counts.count == count // 256 * 256)
        yield "push/tell_all_of_256", counts.count / since(begin) / 1e6, "M messages/s"


def ring(scale):
    """503 actors pass a message around."""
    hops, done = int(MESSAGES * scale), []

    def member(place):
        def handle(left, context):
            if left == 0:
                done.append(place)
            else:
                addresses[place].tell(left - 1)

        return handle

    with horus.Actors("ring") as actors:
        addresses = []
        addresses += [actors.spawn(member((place + 1) % RING)) for place in range(RING)]
        begin = time.perf_counter()
        addresses[0].tell(hops)
        until(lambda: done)
        yield "ring/503", hops / since(begin) / 1e6, "M hops/s"


def blitz(scale):
    """100,000 actors are spawned, get 10 messages each, and are shut down."""
    agents, counts = int(AGENTS * scale), Counts()
    scheduler = horus.Scheduler("blitz")
    actors = scheduler.actors("blitz")
    handle, spawn = counts.handle, actors.spawn
    begin = time.perf_counter()
    addresses = [spawn(handle) for _ in range(agents)]
    yield "spawn", agents / since(begin) / 1e3, "k actors/s"
    scheduler.start()
    bursts, begin = BURSTS(), time.perf_counter()
    for number in range(10):
        for address in addresses:
            address.tell(number)
    until(lambda: counts.count == 10 * agents)
    yield "blitz/handled", 10 * agents / since(begin) / 1e6, "M messages/s"
    yield "blitz/gil", 10 * agents / (BURSTS() - bursts), "messages a GIL acquisition"
    begin = time.perf_counter()
    scheduler.finish()
    yield "teardown", since(begin) * 1e3, "ms for all actors"


def pull(scale):
    """One thread sends 100 messages to each of 100,000 inboxes, then receives them all."""
    inboxes = int(AGENTS * scale)
    scheduler = horus.Scheduler("pull")
    actors = scheduler.actors("pull")
    begin = time.perf_counter()
    every = [actors.inbox(mailbox=100) for _ in range(inboxes)]
    yield "pull/make", inboxes / since(begin) / 1e3, "k inboxes/s"
    waiting = horus.InboxSet()
    for inbox in every:
        waiting.add(inbox)
    messages = list(range(100))
    begin = time.perf_counter()
    for inbox in every:
        inbox.tell_all(messages)
    yield "pull/tell_all", 100 * inboxes / since(begin) / 1e6, "M messages/s"
    begin, received = time.perf_counter(), 0
    while received < 100 * inboxes:
        ready = waiting.wait(timeout=60)
        if not ready:
            text = f"pull: {received} of {100 * inboxes} messages came, and no more within 60 s"
            raise TimeoutError(text)
        received += sum(len(inbox.recv_many(100)) for inbox in ready)
    yield "pull/received", received / since(begin) / 1e6, "M messages/s"


def swap(scale):
    """An actor gets 4 messages and another handler, again and again."""
    swaps, every = int(SWAPS * scale), [Counts(), Counts()]
    with horus.Actors("swap") as actors:
        address = actors.spawn(every[0].handle, mailbox="unbounded")
        four = list(range(4))
        begin = time.perf_counter()
        for number in range(swaps):
            address.tell_all(four)
            address.swap(every[1 - number % 2].handle)
        until(lambda: sum(one.count for one in every) == 4 * swaps)
        yield "swap/4_messages_each", swaps / since(begin) / 1e3, "k swaps/s"


SECTIONS = [bare, push, ring, blitz, pull, swap]


def measured(name, scale):
    """Returns the rows of a section."""
    section = next(section for section in SECTIONS if section.__name__ == name)
    return list(section(scale))


def machine():
    return {
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "python": sys.version.split()[0],
        "horus": horus.__version__,
        "profile": horus.__build_profile__,
        "load_average": os.getloadavg()[0],
        "date": time.strftime("%Y-%m-%d"),
    }


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="rounds of all rows")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the messages")
    parser.add_argument("--json", metavar="FILE", help="also write all rounds as JSON")
    parser.add_argument("--filter", default="", metavar="TEXT", help="only sections with this name")
    return parser.parse_args()


def main():
    asked = options()
    found, units = collections.defaultdict(list), {}
    about = machine()
    print(f"{about['cpu']}, {about['cores']} CPUs, Python {about['python']}, {about['profile']}")
    if about["profile"] != "release":
        print("WARNING an unoptimised build, whose results have no meaning")
    sections = [one.__name__ for one in SECTIONS if asked.filter in one.__name__]
    spawning = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="horus-bench-") as directory:
        os.environ["HORUS_SHM_DIR"] = f"{directory}/horus"
        for _ in range(asked.rounds):
            for section in sections:
                with spawning.Pool(1) as process:
                    results = process.apply(measured, (section, asked.scale))
                for row, value, unit in results:
                    found[row].append(value)
                    units[row] = unit
    rows = []
    for row, values in found.items():
        median = statistics.median(values)
        print(f"{row:<24} {median:10.2f} {units[row]}   ({min(values):.2f} to {max(values):.2f})")
        rows.append({"id": row, "unit": units[row], "median": median, "rounds": values})
    if asked.json:
        report = {"machine": about, "scale": asked.scale, "rows": rows}
        pathlib.Path(asked.json).write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
