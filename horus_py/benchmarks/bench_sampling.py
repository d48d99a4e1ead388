"""Operations in loops that nothing else is in, and timed one by one."""

import itertools
import time

# Operations of an untimed loop, and of a round timed one by one.
LOOP = 10_000
SINGLE = 2_000
# Rounds at least; each has both, so that what disturbs one disturbs the other.
ROUNDS_MIN = 5

clock = time.perf_counter_ns
# What the thread itself has had of a processor: not what others took meanwhile.
cpu_clock = time.thread_time_ns


class Calls:
    """A call without arguments, again and again."""

    def __init__(self, call, check=None):
        self.call = call
        self.check = check

    def loop(self, times):
        call = self.call
        times = itertools.repeat(None, times)
        begin, cpu_begin = clock(), cpu_clock()
        for _ in times:
            call()
        cpu_ns = cpu_clock() - cpu_begin
        return clock() - begin, cpu_ns

    def single(self):
        call = self.call
        begin = clock()
        result = call()
        time_ns = clock() - begin
        if self.check is not None:
            self.check(result)
        return time_ns


class Views:
    """A call with one argument, again and again."""

    def __init__(self, call, argument, check=None):
        self.call = call
        self.argument = argument
        self.check = check

    def loop(self, times):
        call, argument = self.call, self.argument
        times = itertools.repeat(None, times)
        begin, cpu_begin = clock(), cpu_clock()
        for _ in times:
            call(argument)
        cpu_ns = cpu_clock() - cpu_begin
        return clock() - begin, cpu_ns

    def single(self):
        call, argument = self.call, self.argument
        begin = clock()
        result = call(argument)
        time_ns = clock() - begin
        if self.check is not None:
            self.check(result)
        return time_ns


class Exchanges:
    """A message sent and received in one thread, again and again."""

    def __init__(self, topic, message, check):
        self.topic = topic
        self.message = message
        self.check = check

    def loop(self, times):
        send, recv, message = self.topic.send, self.topic.recv, self.message
        times = itertools.repeat(None, times)
        begin, cpu_begin = clock(), cpu_clock()
        for _ in times:
            send(message)
            recv()
        cpu_ns = cpu_clock() - cpu_begin
        return clock() - begin, cpu_ns

    def single(self):
        send, recv, message = self.topic.send, self.topic.recv, self.message
        begin = clock()
        send(message)
        received = recv()
        time_ns = clock() - begin
        self.check(received)
        return time_ns


class Measured:
    """What came of many operations."""

    def __init__(self, operations, seconds):
        """Rounds of an untimed loop and of single operations, for so long."""
        end = clock() + int(seconds * 1e9)
        probe_ns = operations.loop(100)[1] / 100
        # WHY: slow operations have shorter rounds, but as many.
        share_ns = seconds * 1e9 / ROUNDS_MIN / 2
        loop = max(100, min(LOOP, int(share_ns / max(probe_ns, 1))))
        self.count = 100
        self.loops, self.cpu_loops, self.singles = [], [], []
        while len(self.loops) < ROUNDS_MIN or clock() < end:
            time_ns, cpu_ns = operations.loop(loop)
            self.loops.append(time_ns / loop)
            self.cpu_loops.append(cpu_ns / loop)
            self.singles.extend(operations.single() for _ in range(min(SINGLE, loop)))
            self.count += loop + min(SINGLE, loop)
