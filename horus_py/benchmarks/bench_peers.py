"""The other processes of a benchmark: `python bench_peers.py ROLE CPU ARGUMENT…`."""

import json
import os
import sys
import time

import horus

# Without a message for so long, something is wrong.
PATIENCE_S = 60


def made(kind):
    """A topic's type, and a message of it: of a class of messages by name, or of anything."""
    if kind.startswith("{"):
        return (), json.loads(kind)
    return (getattr(horus, kind),), getattr(horus, kind)()


def polled(recv):
    """The next message, without sleeping."""
    end = time.monotonic() + PATIENCE_S
    while True:
        for _ in range(100_000):
            message = recv()
            if message is not None:
                return message
        if time.monotonic() > end:
            sys.exit("no message came")


def echo(kind, how):
    """Sends back what it receives, as soon as it is there: until `stop` is sent."""
    types, _ = made(kind)
    subscriber = horus.Subscriber("there", *types)
    publisher = horus.Publisher("back", *types)
    stop = horus.Subscriber("stop", horus.CmdVel)
    if how == "blocking":
        subscriber.set_spin(0.0)
    print("ready", flush=True)
    recv, send = subscriber.recv, publisher.send
    while stop.recv() is None:
        for _ in range(100):
            message = recv() if how == "polled" else recv(timeout=0.005)
            if message is not None:
                send(message)


def produce(kind, count):
    """Sends so many messages as fast as there is room for them, when `go` is sent."""
    types, message = made(kind)
    publisher = horus.Publisher("stream", *types)
    go = horus.Subscriber("go", horus.CmdVel)
    print("ready", flush=True)
    go.recv(timeout=PATIENCE_S)
    send = publisher.send
    for _ in range(int(count)):
        try:
            send(message)
        except horus.FullError:
            send(message, timeout=PATIENCE_S)
    print("done", flush=True)
    sys.stdin.read()


def consume(kind, count):
    """Receives so many messages; says when it had them all, and how many were lost."""
    types, _ = made(kind)
    subscriber = horus.Subscriber("stream", *types)
    print("ready", flush=True)
    recv = subscriber.recv
    received = 0
    while received < int(count):
        polled(recv)
        received += 1
    print(time.monotonic_ns(), subscriber.lost, flush=True)


def main():
    role, cpu, *arguments = sys.argv[1:]
    if cpu != "any":
        os.sched_setaffinity(0, [int(cpu)])
    {"echo": echo, "produce": produce, "consume": consume}[role](*arguments)


if __name__ == "__main__":
    main()
