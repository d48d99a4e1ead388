"""One package of `compare_peers.py`, in its own environment. It measures on command.

It first prints which rows it can measure, and the reasons for the others. Then it answers each line
(a row and a number of operations) with the nanoseconds per operation: by the clock, and by the CPU
time of the thread. For rows of rates, this is the time of a tick. Each answer includes the
conditions. The measuring thread is on the first CPU. The thread that ticks at a rate is on the last
CPU, with a priority that its first tick requests. So the conditions are equal for all packages.
"""

import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time

import numpy
from bench_sampling import Calls, Exchanges, Views

PATIENCE_S = 60
SHAPE = (480, 640, 3)
DICTS = {
    "1_key": {"v": 1.0},
    "4_keys": {"x": 1.0, "y": 2.0, "z": 3.0, "w": 4.0},
    "50_keys": {f"key_{number}": number * 1.5 for number in range(50)},
}
TICK_HZ = 10_000
# The SCHED_FIFO priority of the thread that runs a node at a rate, if the system grants it.
PRIORITY = 80
POLICIES = {os.SCHED_OTHER: "other", os.SCHED_FIFO: "fifo", os.SCHED_RR: "rr"}
# The number of untimed round trips for warm-up.
WARM_UP = 200


class Absent(Exception):
    """The package lacks this feature."""


def expect(received, wanted):
    if received != wanted:
        raise AssertionError(f"{received!r} came of {wanted!r}")


class RoundTrips:
    """Half a round trip to a polling peer in another process."""

    def __init__(self, contestant, send, recv):
        self.send, self.recv = send, recv
        command = [sys.executable, __file__, contestant, "echo"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.process.stdout.readline()
        self.stop()

    def stop(self):
        """Stops the peer. WHY: the peers of all packages poll on one CPU."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED)

    def loop(self, times):
        self.process.send_signal(signal.SIGCONT)
        with on_cpu(0):
            # WHY: it takes a while until the peer runs again.
            self.round_trips(WARM_UP)
            taken = self.round_trips(times)
        self.stop()
        return taken

    def round_trips(self, times):
        begin, cpu_begin = time.perf_counter_ns(), time.thread_time_ns()
        for _ in range(times):
            self.send()
            polled(self.recv)
        cpu_ns = time.thread_time_ns() - cpu_begin
        return (time.perf_counter_ns() - begin) / 2, cpu_ns / 2

    def close(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.close()
        self.process.wait(PATIENCE_S)


@contextlib.contextmanager
def on_cpu(index):
    """Pins to one of the available CPUs: 0 is the first, -1 the last."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, [sorted(before)[index]])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def prioritize(cpu):
    """Pins the calling thread to this CPU and sets the priority, unless it is refused."""
    os.sched_setaffinity(0, [cpu])
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))


def conditions():
    """Returns the CPUs and the scheduling of the calling thread."""
    policy = os.sched_getscheduler(0)
    return {
        "cpus": sorted(os.sched_getaffinity(0)),
        "policy": POLICIES.get(policy, str(policy)),
        "priority": os.sched_getparam(0).sched_priority,
    }


def polled(recv):
    """Receives by polling."""
    end = time.monotonic() + PATIENCE_S
    while True:
        for _ in range(100_000):
            message = recv()
            if message is not None:
                return message
        if time.monotonic() > end:
            sys.exit("no message came")


class Rate:
    """Measures the time from tick to tick of a node of 10 kHz."""

    def __init__(self, run):
        # Runs a node for some seconds, with the given function as its tick.
        self.run = run
        # The conditions of the thread that ticked last.
        self.conditions = None

    def loop(self, times):
        ticks, last = 0, max(os.sched_getaffinity(0))

        def tick(_):
            nonlocal ticks
            if ticks == 0:
                # WHY here: threads that monitor the ticking one must not wait for its CPU.
                prioritize(last)
                self.conditions = conditions()
            ticks += 1

        with on_cpu(0):
            self.run(tick, times / TICK_HZ)
            # Some packages tick in the calling thread.
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        ns = times / TICK_HZ * 1e9 * times / max(ticks, 1)
        return ns, ns


class Ours:
    """The package of this repository."""

    name = "horus"

    def __init__(self):
        import horus

        self.horus = horus

    def typed(self, name):
        horus = self.horus
        message = getattr(horus, name)()
        topic = horus.Topic(f"compare/{name}", type(message))
        return Exchanges(topic, message, lambda received: expect(received, message))

    def generic(self, name):
        topic = self.horus.Topic(f"compare/{name}")
        return Exchanges(topic, DICTS[name], lambda received: expect(received, DICTS[name]))

    def image(self):
        horus = self.horus
        if not hasattr(getattr(horus, "Image", None), "to_numpy"):
            raise Absent("this build has no image classes")
        topic = self.topic = horus.Topic("compare/image", horus.Image)
        topic.send(horus.Image(numpy.zeros(SHAPE, numpy.uint8)))
        return topic.recv()

    def dlpack(self):
        return self.image()

    def tick_once(self):
        horus = self.horus
        scheduler = self.scheduler = horus.Scheduler("compare", on_event=lambda event: None)
        scheduler.add(horus.Node("node", tick=lambda context: None))
        scheduler.start()
        return Calls(scheduler.tick_once)

    def rated(self):
        return Rate(self.rate)

    def rate(self, tick, seconds):
        horus = self.horus
        node = horus.Node("fast", tick=tick, rate=TICK_HZ)
        horus.run(node, duration=seconds, name="rate", on_event=lambda event: None)

    def ends(self, there, back):
        horus = self.horus
        publisher = horus.Publisher(there, horus.CmdVel)
        subscriber = horus.Subscriber(back, horus.CmdVel)
        message = horus.CmdVel(linear=0.5)
        return (lambda: publisher.send(message)), subscriber.recv


class HorusRobotics(Ours):
    """horus-robotics, which has the same import name."""

    name = "horus-robotics"

    def typed(self, name):
        kind = getattr(self.horus, name)
        message = kind(0.5, 0.25) if name == "CmdVel" else kind(*[0.1] * 6)
        topic = self.horus.Topic(kind)
        return Exchanges(topic, message, lambda received: expect(type(received), kind))

    def image(self):
        topic = self.topic = self.horus.Topic(self.horus.Image)
        topic.send(self.horus.Image.from_numpy(numpy.zeros(SHAPE, numpy.uint8)))
        return topic.recv()

    def dlpack(self):
        image = self.image()
        if not hasattr(image, "__dlpack__"):
            raise Absent("its images have no __dlpack__ in this version")
        return image

    def tick_once(self):
        raise Absent("its tick_once waits until the node is due, so it cannot time a call")

    def rate(self, tick, seconds):
        self.horus.run(self.horus.Node("fast", tick=tick, rate=TICK_HZ), duration=seconds)

    def ends(self, there, back):
        kind = self.horus.CmdVel
        publisher = self.horus.Topic(kind, endpoint=there)
        subscriber = self.horus.Topic(kind, endpoint=back)
        message = kind(0.5, 0.25)
        return (lambda: publisher.send(message)), subscriber.recv


class CmdVel(ctypes.Structure):
    """A message of the same 16 bytes."""

    _fields_ = (
        ("timestamp_ns", ctypes.c_uint64),
        ("linear", ctypes.c_float),
        ("angular", ctypes.c_float),
    )


class Imu(ctypes.Structure):
    """A message of the same 304 bytes."""

    _fields_ = (("timestamp_ns", ctypes.c_uint64), ("values", ctypes.c_double * 37))


class Iceoryx2:
    """iceoryx2, with ctypes structures as in its examples."""

    name = "iceoryx2"

    def __init__(self):
        import iceoryx2

        self.iox2 = iceoryx2
        iceoryx2.set_log_level(iceoryx2.LogLevel.Error)
        config = iceoryx2.config.default()
        config.global_cfg.root_path = iceoryx2.Path.new(os.environ["COMPARE_DIR"])
        config.global_cfg.prefix = iceoryx2.FileName.new(os.environ["COMPARE_PREFIX"])
        self.node = (
            iceoryx2.NodeBuilder.new().config(config).create(iceoryx2.ServiceType.Ipc)
        )

    def service(self, name, kind):
        return (
            self.node.service_builder(self.iox2.ServiceName.new(name))
            .publish_subscribe(kind)
            .open_or_create()
        )

    def typed(self, name):
        kind = {"CmdVel": CmdVel, "Imu": Imu}[name]
        message = kind(timestamp_ns=1)
        service = self.service(f"compare/{name}", kind)
        publisher = service.publisher_builder().create()
        subscriber = service.subscriber_builder().create()

        class Topic:
            """A publisher and a subscriber."""

            send = publisher.send_copy

            @staticmethod
            def recv():
                sample = subscriber.receive()
                return sample.payload().contents

        return Exchanges(Topic, message, lambda received: None)

    def generic(self, name):
        raise Absent("it has no dictionaries")

    def image(self):
        raise Absent("it has no images")

    dlpack = image

    def tick_once(self):
        raise Absent("it has no nodes that tick")

    rated = tick_once

    def ends(self, there, back):
        publisher = self.service(there, CmdVel).publisher_builder().create()
        subscriber = self.service(back, CmdVel).subscriber_builder().create()
        message = CmdVel(linear=0.5)
        return (lambda: publisher.send_copy(message)), subscriber.receive


CONTESTANTS = {kind.name: kind for kind in (Ours, HorusRobotics, Iceoryx2)}


def rows(contestant):
    """Returns, for each row, the function that makes its operations."""

    def round_trips():
        return RoundTrips(contestant.name, *contestant.ends("there", "back"))

    types = ("CmdVel", "Imu")
    found = {f"typed/{name}": lambda name=name: contestant.typed(name) for name in types}
    found |= {f"generic/{name}": lambda name=name: contestant.generic(name) for name in DICTS}
    return found | {
        "image/to_numpy": lambda: Calls(contestant.image().to_numpy),
        "image/from_dlpack": lambda: Views(numpy.from_dlpack, contestant.dlpack()),
        "tick/tick_once": contestant.tick_once,
        "cross_process/CmdVel": round_trips,
        # WHY last: some packages change the process for it, and do not undo this.
        "tick/10kHz": contestant.rated,
    }


def echo(contestant):
    """Sends each received message back, until the other process has closed its pipe."""
    send, recv = contestant.ends("back", "there")
    print("ready", flush=True)
    with on_cpu(-1):
        while not select.select([sys.stdin], [], [], 0)[0]:
            for _ in range(1_000):
                if recv() is not None:
                    send()


def measure(operations, row, times):
    """Measures `count` operations of a row: nanoseconds per operation, and the conditions."""
    operation, times = operations[row], int(times)
    if isinstance(operation, Rate):
        time_ns, cpu_ns = operation.loop(times)
        found = operation.conditions
    else:
        with on_cpu(0):
            time_ns, cpu_ns = operation.loop(times)
            found = conditions()
    return {"ns": time_ns / times, "cpu_ns": cpu_ns / times, "conditions": found}


def machine():
    """Returns the machine and the commit, as in records. Only horus can do this."""
    import bench_report

    cpus = sorted(os.sched_getaffinity(0))
    return {
        "machine": bench_report.machine((cpus[0], cpus[-1])),
        "commit": bench_report.commit(),
    }


def main():
    contestant = CONTESTANTS[sys.argv[1]]()
    if sys.argv[2:] == ["echo"]:
        echo(contestant)
        return
    # WHY: the output of some packages would mix with the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    operations, absent = {}, {}
    all_rows = rows(contestant)
    for row, make in all_rows.items():
        try:
            operations[row] = make()
            if not isinstance(operations[row], Rate):
                operations[row].loop(10)
        except Exception as error:
            operations.pop(row, None)
            absent[row] = f"{error}" if isinstance(error, Absent) else f"{error!r}"
    print(json.dumps({row: absent.get(row) for row in all_rows}), file=answers, flush=True)
    for line in sys.stdin:
        answer = machine() if line.strip() == "machine" else measure(operations, *line.split())
        print(json.dumps(answer), file=answers, flush=True)
    for row in operations.values():
        with contextlib.suppress(AttributeError):
            row.close()


if __name__ == "__main__":
    main()
