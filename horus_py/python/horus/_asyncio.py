"""Receiving messages in asyncio tasks. All of this code runs in the thread of an event loop."""

import asyncio
import itertools
import weakref

from . import _horus

_bridges = weakref.WeakKeyDictionary()


class _Bridge:
    """Wakes the waiting tasks of one event loop."""

    def __init__(self, loop):
        self.wakeups = _horus._Wakeups()
        self.tokens = itertools.count(1)
        self.waiting = {}
        loop.add_reader(self.wakeups.fileno(), self._woken)

    def _woken(self):
        for token in self.wakeups.take():
            future = self.waiting.pop(token, None)
            if future is not None and not future.done():
                future.set_result(None)


def _bridge(loop):
    bridge = _bridges.get(loop)
    if bridge is None:
        bridge = _bridges[loop] = _Bridge(loop)
    return bridge


async def received(subscriber):
    """Returns the next message of a subscriber or topic; waits for it."""
    loop = asyncio.get_running_loop()
    bridge = _bridge(loop)
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
    finally:
        end._cancel()


async def following_mail(inbox):
    """Returns the next message; ends an `async for` when nobody can send any more."""
    try:
        return await answered(inbox)
    except (_horus.DisconnectedError, _horus.ClosedError):
        raise StopAsyncIteration from None
