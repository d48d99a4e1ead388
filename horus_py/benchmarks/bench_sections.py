"""The sections of the benchmark. Each adds its rows to a report."""

import contextlib
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import threading
import time

import bench_peers
import horus
import numpy
from bench_peers import polled
from bench_report import Row, cpu_times, percentiles
from bench_sampling import Calls, Exchanges, Measured, Views

PEERS = pathlib.Path(bench_peers.__file__)
BOTH = "singles timed one by one; loop: mean of an untimed loop, median over rounds"
PATIENCE_S = 60
CHECKED = "numbered by the producer, and checked by the consumer, in the same time"
# The shape of the image of the reference page: rows, columns, RGB.
SHAPE = (480, 640, 3)
TICK_HZ = 10_000


def mean(row_id):
    """Returns a function for the mean of the untimed loop of a row, and its CPU time."""

    def of(rows):
        return (rows[row_id].mean_ns, rows[row_id].cpu_ns) if row_id in rows else None

    return of


def minus(row_id, baseline):
    """Returns a function for the difference of the means of two rows."""

    def of(rows):
        if row_id not in rows or baseline not in rows:
            return None
        row, other = rows[row_id], rows[baseline]
        return row.mean_ns - other.mean_ns, row.cpu_ns - other.cpu_ns

    return of


def rate(row_id):
    """Returns a function for the number of ticks per second of a row."""
    return lambda rows: (rows[row_id].extras["achieved_hz"], None) if row_id in rows else None


def row_of(row_id, measured, stats=None):
    """Returns the row of measured operations; `stats` is of the topic, if they move messages."""
    row = Row(row_id, measured.count)
    if stats is not None:
        row.sent, row.received = stats.sent, stats.received
    row.ns = percentiles(measured.singles)
    row.loops, row.cpu_loops = measured.loops, measured.cpu_loops
    return row


def add(report, row_id, operations, seconds, basis=BOTH):
    """Measures operations, which raise if they fail."""
    report.push(row_of(row_id, Measured(operations, seconds)), basis)


def exchange(report, row_id, types, message, seconds):
    """Measures a message sent and received in one thread.

    Compares all messages that are timed one by one, and counts all others.
    """

    def check(received):
        if received != message:
            raise AssertionError(f"{row_id}: {received!r} came of {message!r}")

    with horus.Topic(f"bench/{row_id.replace('/', '_')}", *types) as topic:
        operations = Exchanges(topic, message, check, bench_peers.number)
        measured = Measured(operations, seconds)
        stats = topic.stats()
    if (stats.sent, stats.received) != (measured.count, measured.count):
        raise AssertionError(f"{row_id}: {stats} of {measured.count} messages")
    report.push(row_of(row_id, measured, stats), BOTH)


def typed(report, seconds):
    """Measures messages of a class, sent and received in one thread."""
    messages = [
        horus.CmdVel(linear=0.5, angular=0.25),
        horus.Pose2D(x=1.0, y=2.0, theta=0.5),
        horus.Imu(linear_acceleration=[0.0, 0.0, 9.81]),
        horus.LaserScan(range_max=30.0),
    ]
    for message in messages:
        kind = type(message)
        exchange(report, f"python/typed/{kind.__name__}", (kind,), message, seconds)


# The dicts of the reference page.
DICTS = {
    "1_key": {"v": 1.0},
    "4_keys": {"x": 1.0, "y": 2.0, "z": 3.0, "w": 4.0},
    "50_keys": {f"key_{number}": number * 1.5 for number in range(50)},
}


def generic(report, seconds):
    """Measures dicts, sent and received in one thread."""
    for name, message in DICTS.items():
        row_id = f"python/generic/{name}"
        try:
            exchange(report, row_id, (), dict(message), seconds)
        except TypeError as error:
            report.lacks(row_id, error)


def image(report, seconds):
    """Measures views of an image in shared memory, and copies of it."""
    array = numpy.arange(numpy.prod(SHAPE), dtype=numpy.uint32).astype(numpy.uint8).reshape(SHAPE)
    baseline = "python/image/baseline"
    # The cheapest view of numpy, although it has neither the shape nor the type.
    flat = memoryview(array.reshape(-1))
    add(report, f"{baseline}/numpy_frombuffer", Views(numpy.frombuffer, flat), seconds)
    add(report, f"{baseline}/numpy_asarray", Views(numpy.asarray, memoryview(array)), seconds)
    add(report, f"{baseline}/from_dlpack_ndarray", Views(numpy.from_dlpack, array), seconds)
    add(report, f"{baseline}/np_copy", Views(numpy.copy, array), seconds)
    if not hasattr(getattr(horus, "Image", None), "to_numpy"):
        report.lacks("python/image/to_numpy/640x480", "this build has no image classes")
        return
    with received_image(array) as image:
        view = image.to_numpy()
        address = view.ctypes.data
        if view.shape != SHAPE or (view != array).any():
            raise AssertionError("another image came than was sent")

        def in_place(array):
            if array.ctypes.data != address:
                raise AssertionError("the image was copied")

        rows = {
            "to_numpy/640x480": Calls(image.to_numpy, in_place),
            "from_dlpack/640x480": Views(numpy.from_dlpack, image, in_place),
        }
        for name, operations in rows.items():
            add(report, f"python/image/{name}", operations, seconds)


@contextlib.contextmanager
def received_image(array):
    """Returns an image that was received through a topic, in shared memory."""
    with horus.Topic("bench/image", horus.Image) as topic:
        topic.send(horus.Image(array))
        yield topic.recv()


def attribution(report, seconds):
    """Measures the share of Python, and that of the call into Rust."""
    message = horus.CmdVel(linear=0.5)
    with horus.Topic("bench/ffi", horus.CmdVel) as topic:
        empty = horus.Subscriber("bench/ffi_empty", horus.CmdVel)
        rows = {
            "python_function": Calls(lambda: None),
            "clock_of_python": Calls(time.perf_counter_ns),
            "clock_of_horus": Calls(horus.timestamp_now_ns),
            "make/CmdVel": Calls(horus.CmdVel),
            "send/CmdVel": Views(topic.send, message),
            "recv/nothing": Calls(empty.recv),
            "send_and_recv/CmdVel": Exchanges(topic, message, lambda _: None),
        }
        for name, operations in rows.items():
            while topic.recv() is not None:
                pass
            add(report, f"python/ffi/{name}", operations, seconds)
    compare_with_rust(report)


def compare_with_rust(report):
    """Adds the same rows of Rust, if its report is given."""
    path = report.settings["rust"]
    if path is None:
        report.lacks("rust/typed", "give --rust all_paths_latency.json")
        return
    rust = {row["id"]: row for row in json.loads(pathlib.Path(path).read_text())["rows"]}
    python = {row.id: row for row in report.rows}
    for name, size in {"CmdVel": "16B", "Imu": "304B", "LaserScan": "1480B"}.items():
        of_rust = rust.get(f"one_way/same_thread/topic/{size}")
        of_python = python.get(f"python/typed/{name}")
        if of_rust and of_python:
            ns = of_rust["ns"]["p50"]
            text = f"Rust {ns:.0f} ns, Python {of_python.mean_ns:.0f} ns"
            print(f"  {name:<12} {text}, {of_python.mean_ns - ns:.0f} ns more")


def nothing(_context):
    pass


def quiet(_event):
    pass


@contextlib.contextmanager
def started(name, nodes):
    scheduler = horus.Scheduler(name, on_event=quiet)
    for number in range(nodes):
        scheduler.add(horus.Node(f"node{number}", tick=nothing))
    with scheduler:
        yield scheduler


def scheduler(report, seconds):
    """Measures ticks from Rust to Python and back, and a node of 10 kHz with its worst second."""
    argument = object()
    add(report, "python/tick/call_of_the_function", Views(nothing, argument), seconds)
    for nodes in (0, 1, 10):
        with started(f"bench{nodes}", nodes) as running:
            name = f"{nodes}_node{'' if nodes == 1 else 's'}"
            add(report, f"python/tick/tick_once/{name}", Calls(running.tick_once), seconds)
    for stay_awake in (False, True):
        at_rate(report, max(seconds, 12.2), stay_awake)


def stolen_in_seconds(cpu, begin, stolen, stop):
    """Records, at the end of each second after `begin`, the stolen time of a CPU in it."""
    _, last = cpu_times([cpu])
    for second in itertools.count(1):
        if stop.wait(begin / 1e9 + second - time.monotonic()):
            return
        _, now = cpu_times([cpu])
        stolen.append(now - last)
        last = now


def quiet_seconds(whole, stolen):
    """Returns the ticks of the seconds without stolen time in them and in both neighbours.

    WHY three: the kernel counts in hundredths of a second, and reports a part of one later.
    """
    triples = zip(stolen, stolen[1:], stolen[2:])
    # The first second is incomplete, and not in `whole`.
    return [ticks for ticks, three in zip(whole, triples) if not any(three)]


def at_rate(report, seconds, stay_awake):
    """Measures a node of 10 kHz on a thread of its own, on the far CPU."""
    clock = time.monotonic_ns
    per_second = [0] * (int(seconds) + 2)
    begin = clock()

    def tick(_context):
        per_second[(clock() - begin) // 1_000_000_000] += 1

    cpu = report.machine["pinned"]["far"]
    # WHY a priority: robots use one. The row lists what the system refused.
    node = horus.Node("fast", tick=tick, rate=TICK_HZ, priority=80, core=cpu, stay_awake=stay_awake)
    begin, stolen, stop = clock(), [], threading.Event()
    watch = threading.Thread(target=stolen_in_seconds, args=(cpu, begin, stolen, stop))
    watch.start()
    try:
        run = horus.run(node, duration=seconds, name="bench_rate", on_event=quiet)
    finally:
        stop.set()
        watch.join()
    metrics, refused = run.node("fast").metrics, run.node("fast").refused
    # The first and the last second are incomplete.
    whole = per_second[1 : int(seconds)]
    due = metrics.ticks + metrics.skipped_ticks
    row_id = f"python/tick/10kHz{'/awake' if stay_awake else ''}"
    row = Row(row_id, sent=due, received=metrics.ticks)
    row.extras = {
        "achieved_hz": statistics.mean(whole),
        "worst_second_fewer_ticks": TICK_HZ - min(whole),
        "passed_over": metrics.skipped_ticks,
        "lateness_p50_us_at_most": metrics.lateness(0.5) * 1e6,
        "lateness_p99_us_at_most": metrics.lateness(0.99) * 1e6,
        "tick_p50_us_at_most": metrics.duration(0.5) * 1e6,
    }
    if refused:
        row.extras["refused"] = refused
    report.push(row, "ticks in whole seconds; lateness and duration within a factor of two")
    if ticks := quiet_seconds(whole, stolen):
        # A late tick of the previous second may fall into it.
        due = max(len(ticks) * TICK_HZ, sum(ticks))
        part = Row(f"{row.id}/quiet", sent=due, received=sum(ticks))
        part.extras = {
            "achieved_hz": statistics.mean(ticks),
            "worst_second_fewer_ticks": TICK_HZ - min(ticks),
            "seconds": len(ticks),
        }
        basis = "seconds in and around which the hypervisor took nothing"
        report.push(part, f"of {row.id}: {basis}, {len(ticks)} of {len(whole)}")


class Peer:
    """A peer process of a benchmark."""

    def __init__(self, role, cpu, *arguments):
        command = [sys.executable, PEERS, role, str(cpu), *map(str, arguments)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        if self.line() != "ready":
            raise RuntimeError(f"{role} did not start")

    def line(self):
        return self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


@contextlib.contextmanager
def on_cpu(cpu):
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, [cpu])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def cross_process(report, seconds):
    """Measures half a round trip between two processes, polling and blocking."""
    near, far = report.machine["pinned"].values()
    kinds = ["CmdVel", "Imu", json.dumps(DICTS["4_keys"])]
    for kind, how in [(kind, "polled") for kind in kinds] + [("CmdVel", "blocking")]:
        name = "4_keys" if kind.startswith("{") else kind
        row_id = f"python/cross_process/{name}/{how}"
        try:
            types, message = bench_peers.made(kind)
            ends = horus.Publisher("there", *types), horus.Subscriber("back", *types)
        except TypeError as error:
            report.lacks(row_id, error)
            continue
        if how == "blocking":
            # WHY: otherwise it would spin before it sleeps, and find a message.
            ends[1].set_spin(0.0)
        stop = horus.Publisher("stop", horus.CmdVel)
        with ends[0] as publisher, ends[1] as subscriber, Peer("echo", far, kind, how):
            try:
                with on_cpu(near):
                    row = round_trips(row_id, publisher, subscriber, message, how, seconds)
            finally:
                stop.send(horus.CmdVel())
        report.push(row, "RTT/2, each timed by the clock of one process")


def round_trips(row_id, publisher, subscriber, message, how, seconds):
    clock = time.perf_counter_ns
    send, recv = publisher.send, subscriber.recv
    samples = []
    # WHY fewer: with one CPU for both, each round trip takes a time slice of the kernel.
    warm_up = 200 if seconds >= 0.5 else 20
    end = clock() + int(seconds * 1e9)
    sent = 0
    while clock() < end or len(samples) < 2 * warm_up:
        sent += 1
        bench_peers.number(message, sent)
        begin = clock()
        send(message)
        received = polled(recv) if how == "polled" else recv(timeout=PATIENCE_S)
        samples.append((clock() - begin) // 2)
        if received != message:
            raise AssertionError(f"{row_id}: {received!r} came of {message!r}")
    counted = len(samples) - warm_up
    ns = percentiles(samples[warm_up:])
    return Row(row_id, counted, sent - warm_up, counted, ns)


def streams(report, seconds):
    """Measures producers and consumers in separate processes, at full speed, without loss."""
    near, far = report.machine["pinned"].values()
    peers = peer_cpus(near, far)
    count = max(2_000, int(200_000 * seconds))
    for producers in (1, 2):
        row_id = f"python/stream/{producers}_to_1/CmdVel"
        with contextlib.ExitStack() as stack:
            enter = stack.enter_context
            subscriber = enter(horus.Subscriber("stream", horus.CmdVel, qos="reliable"))
            go = enter(horus.Publisher("go", horus.CmdVel))
            share = count // producers
            for producer in range(producers):
                enter(Peer("produce", peers[producer], "CmdVel", share, producer))
            enter(on_cpu(near))
            go.send(horus.CmdVel())
            wanted, recv = share * producers, subscriber.recv
            check = bench_peers.Order(producers).check
            check(polled(recv))
            begin = time.perf_counter_ns()
            for _ in range(wanted - 1):
                check(polled(recv))
            time_ns = time.perf_counter_ns() - begin
            stats = subscriber.stats()
        row = stream_row(row_id, stats.sent, stats.received, [near, *peers[:producers]])
        row.msgs_per_s = (wanted - 1) / time_ns * 1e9
        text = f"one stream of {wanted} messages, from the first to the last; {CHECKED}"
        report.push(row, text)
    fan_out(report, count, near, peers)


def peer_cpus(near, far):
    """Returns the CPUs of the first and the second peer. There may be no other one than `far`."""
    others = [cpu for cpu in sorted(os.sched_getaffinity(0)) if cpu not in (near, far)]
    return [far, *others, far][:2]


def stream_row(row_id, sent, received, cpus):
    """Returns a row of processes that are busy on these CPUs all the time.

    It has a mark if two of them share a CPU. It then measures the time slices of the kernel.
    """
    row = Row(row_id, sent=sent, received=received)
    if len(set(cpus)) < len(cpus):
        row.extras = {"busy_threads": len(cpus), "oversubscribed": True}
    return row


def fan_out(report, count, near, peers):
    """Measures one producer and two consumers, each of which gets every message."""
    message = horus.CmdVel()
    with contextlib.ExitStack() as stack:
        enter = stack.enter_context
        publisher = enter(horus.Publisher("stream", horus.CmdVel, qos="reliable"))
        consumers = [enter(Peer("consume", cpu, "CmdVel", count)) for cpu in peers]
        enter(on_cpu(near))
        begin = time.monotonic_ns()
        bench_peers.send_numbered(publisher, message, count)
        ends = [[int(word) for word in consumer.line().split()] for consumer in consumers]
    received = sum(received for _, received in ends)
    time_ns = max(end for end, _ in ends) - begin
    row = stream_row("python/stream/1_to_2/CmdVel", 2 * count, received, [near, *peers])
    row.msgs_per_s = received / time_ns * 1e9
    text = f"one stream of {count} messages to both, until the later one has all; {CHECKED}"
    report.push(row, text)


# WHY not pinned: the supervisor of a scheduler stays on the CPU where it is started, and must not
# run on the measured one.
UNPINNED = {
    "scheduler": "python/tick/tick_once/… is not pinned: it runs wherever the kernel puts it",
}

SECTIONS = {
    "typed": typed,
    "generic": generic,
    "image": image,
    "attribution": attribution,
    "scheduler": scheduler,
    "cross_process": cross_process,
    "streams": streams,
}
