"""Asynchronous ticks: each node has an asyncio loop, which a thread of the scheduler runs."""

import asyncio
import math
import selectors
import threading
import time

from . import _horus


class _Selector(selectors.DefaultSelector):
    """The selector of a loop. It never waits: it stops the loop instead."""

    def __init__(self):
        super().__init__()
        self.loop = None
        # The time at which there is work even without an event; None if there is work now.
        self.idle_until = None

    def select(self, timeout=None):
        events = super().select(0)
        if events or (timeout is not None and timeout <= 0):
            return events
        self.idle_until = math.inf if timeout is None else time.monotonic() + timeout
        self.loop.stop()
        return events


class Ticks:
    """The ticks of one node. One thread makes all calls, one after the other.

    WHY each node has its own loop: the thread of the scheduler then knows which node does not
    yield, the tasks of a node end with it, and nothing has to be passed between threads.
    """

    def __init__(self, tick):
        self._tick = tick
        self._selector = None
        self._loop = None
        self._task = None

    def turn(self, context):
        """Continues the tick until it waits; starts one if none is in progress.

        Returns the number of seconds for which there is no work without an event, or `None` if the
        tick has ended.
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
        """Returns a descriptor that is readable when there is an event for the loop."""
        return self._selector.fileno()

    def cancel(self):
        """Cancels the tick in progress, if any, by `CancelledError`. Does not wait."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel("the run ends")
            self._run()

    def close(self):
        """Cancels all tasks that the ticks have started, and closes the loop."""
        if self._loop is None:
            return
        loop, self._loop, self._task = self._loop, None, None
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel("the node ends")
        if tasks:
            # WHY a thread: this one may be running an event loop already.
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
        # WHY: tasks that the tick started continue in the next tick.
        self._selector.idle_until = math.inf
        self._loop.stop()

    def _run(self):
        """Runs the loop until all tasks wait."""
        while True:
            self._loop.run_forever()
            # WHY again: a timer may have expired between the check and the stop.
            if time.monotonic() < self._selector.idle_until:
                return
