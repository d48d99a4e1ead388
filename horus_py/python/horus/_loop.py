"""Asynchronous ticks: each node has an asyncio loop, which a thread of the scheduler runs."""

import asyncio
import math
import selectors
import threading
import time

from . import _horus

# Maximum time in seconds for which the end of a node waits for tasks that were cancelled. WHY not
# longer: the nodes of a scheduler are shut down one after the other.
_CLEANUP_MAX = 1.0


class _Selector(selectors.DefaultSelector):
    """The selector of a loop. During ticks it never waits: it stops the loop instead."""

    def __init__(self):
        super().__init__()
        self.loop = None
        # True once the node ends. Its tasks then clean up, and the selector waits for their events.
        self.may_wait = False
        # The time at which there is work even without an event; None if there is work now.
        self.idle_until = None

    def select(self, timeout=None):
        if self.may_wait:
            return super().select(timeout)
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

    def __init__(self, name, tick):
        self._name = name
        self._tick = tick
        self._selector = None
        self._loop = None
        self._task = None
        # The tick that was cancelled, in a set; empty without one.
        self._cancelled = set()
        self._is_cancelled_finished = False

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
                # WHY: SystemExit and KeyboardInterrupt leave the loop at once, and asyncio would
                # report them once more, as exceptions that nobody has retrieved.
                task.cancelled() or task.exception()
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
            self._cancelled, self._is_cancelled_finished = {task}, False
            self._run()

    def finish_cancelled(self):
        """Waits until the cancelled tick has cleaned up, at most `_CLEANUP_MAX`."""
        if self._is_cancelled_finished or all(task.done() for task in self._cancelled):
            return
        self._is_cancelled_finished = True
        self._wait_for(self._ended(self._cancelled))

    def close(self):
        """Cancels all tasks that the ticks have started, waits until they end, closes the loop."""
        if self._loop is None:
            return
        self.finish_cancelled()
        # WHY without the cancelled tick: a second cancellation would interrupt its clean-up.
        tasks = asyncio.all_tasks(self._loop) - self._cancelled
        for task in tasks:
            task.cancel("the node ends")
        try:
            # WHY: the set of generators has no public name, and most nodes need no more turns.
            if tasks or getattr(self._loop, "_asyncgens", True):
                self._wait_for(self._all_ended(tasks))
        finally:
            loop, self._loop, self._task, self._cancelled = self._loop, None, None, set()
            loop.close()

    def _wait_for(self, end):
        """Runs the loop until the coroutine `end` has ended."""
        self._selector.may_wait = True
        # WHY no thread, if none is needed: Python 3.12 starts none while the interpreter ends.
        if asyncio._get_running_loop() is None:
            self._loop.run_until_complete(end)
            return
        # WHY a thread: this one runs another event loop.
        last = threading.Thread(target=self._loop.run_until_complete, args=(end,))
        last.start()
        last.join()

    async def _all_ended(self, tasks):
        """Waits until the tasks have ended, and closes all asynchronous generators."""
        if tasks:
            await self._ended(tasks)
        closing = asyncio.ensure_future(self._loop.shutdown_asyncgens())
        await asyncio.wait({closing}, timeout=_CLEANUP_MAX)

    async def _ended(self, tasks):
        """Waits until the tasks have ended, at most `_CLEANUP_MAX`; reports those that have not."""
        for task in tasks:
            # WHY: it would stop the loop.
            task.remove_done_callback(self._over)
        _, pending = await asyncio.wait(tasks, timeout=_CLEANUP_MAX)
        for task in pending:
            text = (
                f"a task of node '{self._name}' did not end within {_CLEANUP_MAX:g} s after it was "
                "cancelled: let it pass CancelledError on"
            )
            self._loop.call_exception_handler({"message": text, "task": task})

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
