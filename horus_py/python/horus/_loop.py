"""Ticks that are coroutines: a loop of asyncio for each node, which a scheduler's thread turns."""

import asyncio
import math
import selectors
import threading
import time

from . import _horus


class _Selector(selectors.DefaultSelector):
    """What a loop asks for events. It never waits: where it would, the loop is stopped."""

    def __init__(self):
        super().__init__()
        self.loop = None
        # When there is something to do even without an event; None while there is now.
        self.idle_until = None

    def select(self, timeout=None):
        events = super().select(0)
        if events or (timeout is not None and timeout <= 0):
            return events
        self.idle_until = math.inf if timeout is None else time.monotonic() + timeout
        self.loop.stop()
        return events


class Ticks:
    """The ticks of one node. All is called by one thread, one call after the other.

    WHY a loop for each node, and not one for all: the scheduler's thread then knows who it is that
    does not give it back, what a node leaves behind ends with it, and nothing has to be handed from
    one thread to another.
    """

    def __init__(self, tick):
        self._tick = tick
        self._selector = None
        self._loop = None
        self._task = None

    def turn(self, context):
        """Goes on with the tick until it waits; begins one if none is under way.

        Returns for how many seconds there is nothing to do without an event; `None` if the tick is
        over.
        """
        if self._task is None:
            self._task = self._open().create_task(self._tick(context))
            self._task.add_done_callback(self._over)
        try:
            self._run()
        finally:
            task = self._task
            if task.done():
                self._task = None
        if not task.done():
            return max(self._selector.idle_until - time.monotonic(), 0.0)
        task.result()
        return None

    def fileno(self):
        """Readable when there is an event for the loop."""
        return self._selector.fileno()

    def cancel(self):
        """Has the tick under way, if there is one, end by `CancelledError`. Waits for nothing."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel("everything ends")
            self._run()

    def close(self):
        """Ends all that the ticks have started."""
        if self._loop is None:
            return
        loop, self._loop, self._task = self._loop, None, None
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel("the node ends")
        if tasks:
            # WHY a thread: this one may be in a loop of its own.
            last = threading.Thread(target=loop.run_forever)
            last.start()
            last.join()
        loop.close()

    def _open(self):
        if self._loop is None:
            _horus._above_standard(self._make)
        return self._loop

    def _make(self):
        self._selector = _Selector()
        self._loop = self._selector.loop = asyncio.SelectorEventLoop(self._selector)

    def _over(self, _task):
        # WHY: what the tick started goes on in the next one.
        self._selector.idle_until = math.inf
        self._loop.stop()

    def _run(self):
        """Runs until everything waits."""
        while True:
            self._loop.run_forever()
            # WHY again: a timer may have run out between the question and the stop.
            if time.monotonic() < self._selector.idle_until:
                return
