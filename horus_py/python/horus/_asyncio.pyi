"""Receiving messages in asyncio tasks."""

from typing import Any, TypeVar

from ._horus import Subscriber, Topic

_M = TypeVar("_M")

async def received(subscriber: Subscriber[_M] | Topic[_M]) -> _M: ...
async def following(subscriber: Subscriber[_M] | Topic[_M]) -> _M: ...
def __getattr__(name: str) -> Any: ...
