"""The peer processes of a benchmark: `python bench_peers.py ROLE CPU ARGUMENT…`."""

import json
import os
import sys
import time

import horus

# The longest time without a message, in seconds; after it, a peer fails.
PATIENCE_S = 60


def made(kind):
    """Returns the type of a topic and a message, for the name of a message class or for dicts."""
    if kind.startswith("{"):
        return (), json.loads(kind)
    return (getattr(horus, kind),), getattr(horus, kind)()


def number(message, value):
    """Gives a message a number, by which it differs from all others."""
    if isinstance(message, dict):
        message[next(iter(message))] = float(value)
    else:
        message.timestamp_ns = value


class Order:
    """The order of the messages of a stream: those of each producer are numbered from 0 on."""

    def __init__(self, producers=1):
        self.next = [0] * producers

    def check(self, message):
        """Ends the program unless the message is the next one of its producer."""
        producer = int(message.linear)
        if message.timestamp_ns != self.next[producer]:
            sys.exit(f"{message!r} came, wanted number {self.next[producer]} of its producer")
        self.next[producer] += 1


def polled(recv):
    """Returns the next message; polls without sleeping."""
    end = time.monotonic() + PATIENCE_S
    while True:
        for _ in range(100_000):
            message = recv()
            if message is not None:
                return message
        if time.monotonic() > end:
            sys.exit("no message came")


def echo(kind, how):
    """Sends each received message back at once, until `stop` is sent."""
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


def send_numbered(publisher, message, count, producer=0):
    """Sends `count` messages as fast as there is room, which `Order` can check."""
    send = publisher.send
    message.linear = float(producer)
    for value in range(count):
        message.timestamp_ns = value
        try:
            send(message)
        except horus.FullError:
            send(message, timeout=PATIENCE_S)


def produce(kind, count, producer):
    """Sends `count` numbered messages as fast as there is room, after `go` is sent."""
    types, message = made(kind)
    publisher = horus.Publisher("stream", *types, qos="reliable")
    go = horus.Subscriber("go", horus.CmdVel)
    print("ready", flush=True)
    go.recv(timeout=PATIENCE_S)
    send_numbered(publisher, message, int(count), int(producer))
    print("done", flush=True)
    sys.stdin.read()


def consume(kind, count):
    """Receives `count` messages and checks each; prints the time of the last one, and how many."""
    types, _ = made(kind)
    subscriber = horus.Subscriber("stream", *types, qos="reliable")
    print("ready", flush=True)
    recv, check = subscriber.recv, Order().check
    received = 0
    while received < int(count):
        check(polled(recv))
        received += 1
    print(time.monotonic_ns(), received, flush=True)


def main():
    role, cpu, *arguments = sys.argv[1:]
    if cpu != "any":
        os.sched_setaffinity(0, [int(cpu)])
    {"echo": echo, "produce": produce, "consume": consume}[role](*arguments)


if __name__ == "__main__":
    main()
