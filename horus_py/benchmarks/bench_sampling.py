"""Sampling: operations in bare loops, and timed one by one."""

import itertools
import time

# The number of operations of an untimed loop, and of those timed one by one in a round.
LOOP = 10_000
SINGLE = 2_000
# The minimum number of rounds. Each has both kinds, so that disturbances affect both.
ROUNDS_MIN = 5

clock = time.perf_counter_ns
# The CPU time of the thread, which excludes other threads.
cpu_clock = time.thread_time_ns


class Calls:
    """Repeats a call without arguments."""

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
    """Repeats a call with one argument."""

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
    """Repeats sending and receiving a message in one thread.

    The messages that are timed one by one are numbered, and each one that was received is compared
    with the one that was sent. The first of them follows a loop, so it also shows whether a message
    of the loop has come late.
    """

    def __init__(self, topic, message, check, number=lambda message, number: None):
        self.topic = topic
        self.message = message
        self.check = check
        self.number = number
        self.singles = 0

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
        self.singles += 1
        self.number(message, self.singles)
        begin = clock()
        send(message)
        received = recv()
        time_ns = clock() - begin
        self.check(received)
        return time_ns


class Measured:
    """The samples of many operations."""

    def __init__(self, operations, seconds):
        """Runs rounds of an untimed loop and of single operations for `duration` seconds."""
        end = clock() + int(seconds * 1e9)
        probe_ns = operations.loop(100)[1] / 100
        # WHY: slow operations have shorter rounds, but the same number of rounds.
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
