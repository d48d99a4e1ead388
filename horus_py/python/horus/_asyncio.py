"""Receiving messages in asyncio tasks. All of this code runs in the thread of an event loop."""

import asyncio
import itertools
import weakref
from time import monotonic

from . import _horus

# The time in seconds after which a task that receives yields to the loop, also if there is a
# message. WHY not each time: a turn of the loop costs several times as much as a message.
_YIELD_AFTER = 0.001

# The bridge of each event loop, as a weak reference. WHY weak: a bridge refers to its loop by the
# tasks that wait. The loop itself keeps the bridge alive until it is closed, and a loop that was
# closed while a task waits is freed.
_bridges = weakref.WeakKeyDictionary()


class _Bridge:
    """Wakes the waiting tasks of one event loop."""

    def __init__(self, loop):
        self.wakeups = _horus._Wakeups()
        self.tokens = itertools.count(1)
        self.waiting = {}
        # The time at which a task that receives has last continued after a turn of the loop.
        self.continued_at = monotonic()
        # The loop refers to this object by the method.
        loop.add_reader(self.wakeups.fileno(), self._woken)

    def _woken(self):
        for token in self.wakeups.take():
            future = self.waiting.pop(token, None)
            if future is not None and not future.done():
                future.set_result(None)

    async def yield_to_loop(self):
        """Lets the loop run other tasks, timers and signal handlers once."""
        await asyncio.sleep(0)
        self.continued_at = monotonic()


def _bridge(loop):
    known = _bridges.get(loop)
    bridge = None if known is None else known()
    if bridge is None:
        bridge = _Bridge(loop)
        _bridges[loop] = weakref.ref(bridge)
    return bridge


async def received(subscriber):
    """Returns the next message of a subscriber or topic; waits for it."""
    loop = asyncio.get_running_loop()
    bridge = _bridge(loop)
    # WHY before the message is received: a task that is cancelled here must not lose it.
    if monotonic() - bridge.continued_at > _YIELD_AFTER:
        await bridge.yield_to_loop()
    while True:
        token = next(bridge.tokens)
        message = subscriber._poll(bridge.wakeups, token)
        if message is not bridge.wakeups:
            return message
        future = bridge.waiting[token] = loop.create_future()
        try:
            await future
        finally:
            bridge.waiting.pop(token, None)
            subscriber._forget_waker()
        bridge.continued_at = monotonic()


async def following(subscriber):
    """Returns the next message; ends an `async for` when the subscriber is closed."""
    try:
        return await received(subscriber)
    except _horus.ClosedError:
        raise StopAsyncIteration from None


async def answered(end):
    """Returns the answer to a question, or the next message of an inbox; waits for it."""
    loop = asyncio.get_running_loop()
    bridge = _bridge(loop)
    try:
        # WHY first: as in `received`.
        if monotonic() - bridge.continued_at > _YIELD_AFTER:
            await bridge.yield_to_loop()
        while True:
            token = next(bridge.tokens)
            # WHY a tuple: the answer may be `None`.
            answer = end._poll(bridge.wakeups, token)
            if answer is not None:
                return answer[0]
            future = bridge.waiting[token] = loop.create_future()
            try:
                await future
            finally:
                bridge.waiting.pop(token, None)
                end._forget_waker()
            bridge.continued_at = monotonic()
    finally:
        end._cancel()


async def following_mail(inbox):
    """Returns the next message; ends an `async for` when nobody can send any more."""
    try:
        return await answered(inbox)
    except (_horus.DisconnectedError, _horus.ClosedError):
        raise StopAsyncIteration from None
