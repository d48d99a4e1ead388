"""One package of `compare_peers.py`, in its own environment. It measures on command.

It first prints which rows it can measure, and the reasons for the others. Then it answers each line
(a row and a number of operations) with the nanoseconds per operation: by the clock, and by the CPU
time of the thread. For rows of rates, this is the time from tick to tick, without a CPU time. Each
answer includes the counted operations and the conditions. If a message is missing, or is another
one than was sent, the answer is an error instead. All packages exchange the same values, which
differ from loop to loop. The measuring thread is on the first CPU. The thread that ticks at a rate
is on the last CPU, with a priority that its first tick requests. So the conditions are equal for
all packages.
"""

import contextlib
import ctypes
import itertools
import json
import os
import select
import signal
import subprocess
import sys
import time

import bench_sampling
import numpy
from bench_sampling import clock, cpu_clock

PATIENCE_S = 60
SHAPE = (480, 640, 3)
PIXELS = numpy.arange(numpy.prod(SHAPE)).astype(numpy.uint8).reshape(SHAPE)
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


class Failed(Exception):
    """The package measured something, but not what it should."""


def expect(received, wanted):
    if received != wanted:
        raise Failed(f"{received!r} was received instead of {wanted!r}")


def values_of(number, count):
    """Returns the values of the message with this number, which 32-bit floats hold exactly."""
    return [number % 4096 + place / 4 for place in range(1, count + 1)]


class Calls(bench_sampling.Calls):
    """Repeats a call without arguments. All calls of a loop have returned if it has ended."""

    def loop(self, times):
        self.sent = self.received = times
        return super().loop(times)


class Views(bench_sampling.Views):
    """Repeats a call with one argument. All calls of a loop have returned if it has ended."""

    def loop(self, times):
        self.sent = self.received = times
        return super().loop(times)


class Exchanges:
    """Repeats sending and receiving a message in one thread."""

    def __init__(self, topic, make, check):
        self.topic = topic
        # Makes the message with a number, and checks that a received message is that one.
        self.make, self.check = make, check
        self.number = 0

    def next(self):
        """Returns a message that differs from the one before."""
        self.number += 1
        return self.make(self.number)

    def loop(self, times):
        send, recv, message = self.topic.send, self.topic.recv, self.next()
        missing, rounds = 0, itertools.repeat(None, times)
        begin, cpu_begin = clock(), cpu_clock()
        for _ in rounds:
            send(message)
            if recv() is None:
                missing += 1
        cpu_ns = cpu_clock() - cpu_begin
        time_ns = clock() - begin
        self.sent, self.received = times, times - missing
        return time_ns, cpu_ns

    def single(self):
        """Sends and receives a new message, which no message before it may hold up."""
        self.topic.send(self.next())
        self.check(self.topic.recv(), self.number)


class RoundTrips:
    """Half a round trip to a polling peer in another process."""

    def __init__(self, contestant, ends):
        self.ends, self.number = ends, 0
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
        try:
            with on_cpu(0):
                # WHY: it takes a while until the peer runs again.
                for _ in range(WARM_UP):
                    self.round_trip()
                taken = self.round_trips(times)
                # WHY: a message that was received twice or late would now come first.
                self.round_trip()
        finally:
            self.stop()
        return taken

    def round_trip(self):
        """Sends a new message, and checks that the peer sends that one back."""
        self.number += 1
        self.ends.send(self.ends.make(self.number))
        self.ends.check(polled(self.ends.recv), self.number)

    def round_trips(self, times):
        self.number += 1
        send, recv, message = self.ends.send, self.ends.recv, self.ends.make(self.number)
        received = None
        begin, cpu_begin = clock(), cpu_clock()
        for _ in range(times):
            send(message)
            received = polled(recv)
        cpu_ns = cpu_clock() - cpu_begin
        time_ns = clock() - begin
        self.ends.check(received, self.number)
        # `polled` returns only with a message.
        self.sent = self.received = times
        return time_ns / 2, cpu_ns / 2

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
            raise Failed(f"no message came within {PATIENCE_S} s")


class Rate:
    """Measures the time from tick to tick of a node of 10 kHz."""

    def __init__(self, run):
        # Runs a node for some seconds, with the given function as its tick.
        self.run = run
        # The conditions of the thread that ticked last.
        self.conditions = None

    def loop(self, times):
        ticks, first, latest = 0, 0, 0
        last = max(os.sched_getaffinity(0))

        def tick(_):
            nonlocal ticks, first, latest
            latest = clock()
            if ticks == 0:
                first = latest
                # WHY here: threads that monitor the ticking one must not wait for its CPU.
                prioritize(last)
                self.conditions = conditions()
            ticks += 1

        with on_cpu(0):
            self.run(tick, times / TICK_HZ)
            # Some packages tick in the calling thread.
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        if ticks < 2:
            raise Failed(f"{ticks} ticks in {times / TICK_HZ} s: no time from tick to tick")
        self.sent = self.received = ticks
        # WHY scaled: the result is the time of `times` operations.
        return (latest - first) / (ticks - 1) * times, None


class Ends:
    """A publisher and a subscriber of numbered messages."""

    def __init__(self, send, recv, make, check, answer=None):
        self.send, self.recv, self.make, self.check = send, recv, make, check
        # Sends a received message back.
        self.answer = answer or send


class Ours:
    """The package of this repository."""

    name = "horus"

    def __init__(self):
        import horus

        self.horus = horus

    def typed(self, name):
        topic = self.horus.Topic(f"compare/{name}", getattr(self.horus, name))
        return Exchanges(topic, *self.numbered(name))

    def numbered(self, name):
        """Returns two functions: one makes the message with a number, and one checks it."""
        kind = getattr(self.horus, name)
        if name == "CmdVel":

            def make(number):
                linear, angular = values_of(number, 2)
                return kind(linear=linear, angular=angular)

            return make, lambda got, number: expect(
                [type(got), got.linear, got.angular], [kind, *values_of(number, 2)]
            )

        def make(number):
            values = values_of(number, 6)
            return kind(linear_acceleration=values[:3], angular_velocity=values[3:])

        def check(got, number):
            found = [*got.linear_acceleration, *got.angular_velocity]
            expect([type(got), *map(float, found)], [kind, *values_of(number, 6)])

        return make, check

    def generic(self, name):
        topic = self.horus.Topic(f"compare/{name}")

        def make(number):
            return {key: value + number for key, value in DICTS[name].items()}

        return Exchanges(topic, make, lambda got, number: expect(got, make(number)))

    def image(self):
        horus = self.horus
        if not hasattr(getattr(horus, "Image", None), "to_numpy"):
            raise Absent("this build has no image classes")
        topic = self.topic = horus.Topic("compare/image", horus.Image)
        topic.send(horus.Image(PIXELS))
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
        kind = self.horus.CmdVel
        publisher = self.horus.Publisher(there, kind)
        subscriber = self.horus.Subscriber(back, kind)
        return Ends(publisher.send, subscriber.recv, *self.numbered("CmdVel"))


class HorusRobotics(Ours):
    """horus-robotics, which has the same import name."""

    name = "horus-robotics"

    def typed(self, name):
        return Exchanges(self.horus.Topic(getattr(self.horus, name)), *self.numbered(name))

    def numbered(self, name):
        if name == "CmdVel":
            return super().numbered(name)
        kind = getattr(self.horus, name)

        def check(got, number):
            found = [got.accel_x, got.accel_y, got.accel_z, got.gyro_x, got.gyro_y, got.gyro_z]
            expect([type(got), *found], [kind, *values_of(number, 6)])

        return lambda number: kind(*values_of(number, 6)), check

    def image(self):
        topic = self.topic = self.horus.Topic(self.horus.Image)
        topic.send(self.horus.Image.from_numpy(PIXELS))
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
        return Ends(publisher.send, subscriber.recv, *self.numbered("CmdVel"))


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


KINDS = {"CmdVel": CmdVel, "Imu": Imu}


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
        service = self.service(f"compare/{name}", KINDS[name])
        publisher = service.publisher_builder().create()
        subscriber = service.subscriber_builder().create()

        class Topic:
            """A publisher and a subscriber."""

            send = publisher.send_copy

            @staticmethod
            def recv():
                # Without a sample, this raises.
                sample = subscriber.receive()
                return sample.payload().contents

        return Exchanges(Topic, *self.numbered(name))

    def numbered(self, name):
        if name == "CmdVel":

            def make(number):
                linear, angular = values_of(number, 2)
                return CmdVel(linear=linear, angular=angular)

            return make, lambda got, number: expect(
                [got.linear, got.angular], values_of(number, 2)
            )

        def make(number):
            message = Imu()
            message.values[:6] = values_of(number, 6)
            return message

        return make, lambda got, number: expect(got.values[:6], values_of(number, 6))

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
        make, check = self.numbered("CmdVel")
        return Ends(
            publisher.send_copy,
            subscriber.receive,
            make,
            lambda sample, number: check(sample.payload().contents, number),
            lambda sample: publisher.send_copy(sample.payload().contents),
        )


def check_pixels(array):
    if not numpy.array_equal(array, PIXELS):
        raise Failed("the array has other pixels than the image that was sent")


CONTESTANTS = {kind.name: kind for kind in (Ours, HorusRobotics, Iceoryx2)}


def rows(contestant):
    """Returns, for each row, the function that makes its operations."""

    def round_trips():
        return RoundTrips(contestant.name, contestant.ends("there", "back"))

    types = ("CmdVel", "Imu")
    found = {f"typed/{name}": lambda name=name: contestant.typed(name) for name in types}
    found |= {f"generic/{name}": lambda name=name: contestant.generic(name) for name in DICTS}
    return found | {
        "image/to_numpy": lambda: Calls(contestant.image().to_numpy, check_pixels),
        "image/from_dlpack": lambda: Views(
            numpy.from_dlpack, contestant.dlpack(), check_pixels
        ),
        "tick/tick_once": contestant.tick_once,
        "cross_process/CmdVel": round_trips,
        # WHY last: some packages change the process for it, and do not undo this.
        "tick/10kHz": contestant.rated,
    }


def echo(contestant):
    """Sends each received message back, until the other process has closed its pipe."""
    ends = contestant.ends("back", "there")
    recv, answer = ends.recv, ends.answer
    print("ready", flush=True)
    with on_cpu(-1):
        while not select.select([sys.stdin], [], [], 0)[0]:
            for _ in range(1_000):
                message = recv()
                if message is not None:
                    answer(message)


def measure(operations, row, times):
    """Measures `times` operations of a row: their time, their counts, and the conditions.

    The answer is an error if the package did not do what was to be measured.
    """
    operation, times = operations[row], int(times)
    try:
        if isinstance(operation, Rate):
            time_ns, cpu_ns = operation.loop(times)
            found = operation.conditions
        else:
            with on_cpu(0):
                time_ns, cpu_ns = operation.loop(times)
                found = conditions()
        lost = operation.sent - operation.received
        if lost > 0:
            raise Failed(f"{lost} of {operation.sent} messages were not received")
        if hasattr(operation, "single"):
            operation.single()
    except Exception as error:
        return {"error": f"{error}" if isinstance(error, Failed) else f"{error!r}"}
    return {
        "ns": time_ns / times,
        "cpu_ns": None if cpu_ns is None else cpu_ns / times,
        "sent": operation.sent,
        "received": operation.received,
        "conditions": found,
    }


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
        except Failed:
            # Its measurement will fail in the same way, which is then reported as a failure.
            pass
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
