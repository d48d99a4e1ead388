"""The native part of horus."""

import builtins
from collections.abc import Awaitable
from os import PathLike
from typing import Any, Final, Generic, Literal, Self, TypedDict, TypeVar, Unpack, final

import numpy as np
import numpy.typing as npt
from typing_extensions import Buffer

__build_profile__: Final[str]
__version__: Final[str]

_M = TypeVar("_M")

class Error(Exception):
    """Every error of horus itself."""

class OpenTopicError(Error):
    """A topic could not be opened."""

class SchemaMismatchError(OpenTopicError):
    """The topic carries another message; says which field differs."""

class NamespaceError(Error):
    """A namespace could not be opened or removed."""

class SendFailedError(Error):
    """A message was not sent."""

class FullError(SendFailedError):
    """A reliable subscriber is a whole lane behind. Try again later."""

class ForkedError(Error):
    """The handle was inherited through fork. Open a new one in the child."""

class RegionLostError(Error):
    """The topic's file was truncated. Open it again."""

class ClosedError(Error):
    """The handle was closed."""

class BusyError(Error):
    """Another thread is using this end of the topic. Open one for each thread."""

class Message(Buffer):
    """The base of all messages."""

    dtype: np.dtype[np.void]
    """The structured type of numpy."""
    __horus_dtype__: np.dtype[np.void]
    """`dtype`, also where a field has that name."""
    __horus_schema__: str
    __horus_hash__: int
    @classmethod
    def from_bytes(cls, bytes: Buffer) -> Self:
        """The message with these bytes."""
    @classmethod
    def now(cls, **fields: Any) -> Self:
        """A message stamped with the current time."""
    def copy(self) -> Self:
        """A message of its own with the same content."""
    def to_numpy(self) -> npt.NDArray[np.void]:
        """The message as a structured numpy array of no dimensions, in place."""
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: Any) -> Self: ...
    def __bytes__(self) -> bytes: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

@final
class Namespace:
    """The topics of `name` in the directory `dir`, apart from all others."""

    def __new__(cls, dir: str | PathLike[str], name: str) -> Self: ...
    @staticmethod
    def current() -> Namespace:
        """The namespace that the environment names."""
    @property
    def dir(self) -> Any: ...
    @property
    def name(self) -> str: ...
    def remove(self) -> None:
        """Removes its files; an error while somebody uses one of its topics."""

class _Qos(TypedDict, total=False):
    qos: Literal["default", "sensor_data", "reliable", "command", "latched"] | None
    reliability: Literal["reliable", "best_effort"] | None
    capacity: int | None
    history: int | None
    persist_after_exit: bool | None
    wake_edge: Literal["fence", "membarrier"] | None
    pinnable: bool | None
    publishers_max: int | None
    subscribers_max: int | None
    reliable_subscribers_max: int | None
    detach_stalled_after: float | None
    max_message_bytes: int | None
    namespace: Namespace | None

class _SubscriberQos(_Qos, total=False):
    observe: bool | None

class _TopicQos(_Qos, total=False):
    ignore_own: bool | None

@final
class Publisher(Generic[_M]):
    """Publishes messages of one type on a topic, for one thread at a time."""

    def __new__(cls, name: str, type: builtins.type[_M], **qos: Unpack[_Qos]) -> Self: ...
    def __class_getitem__(cls, item: Any, /) -> Any: ...
    @property
    def name(self) -> str:
        """The topic's name."""
    @property
    def type(self) -> builtins.type[_M]:
        """The class of the messages."""
    @property
    def closed(self) -> bool:
        """Whether it was closed."""
    @property
    def backend(self) -> str:
        """The ring that the topic amounts to with its present participants."""
    def close(self) -> None:
        """Leaves the topic. A thread that waits here gets `ClosedError` within 50 ms."""
    def publisher_count(self) -> int:
        """Live publishers of the topic, in any process."""
    def subscriber_count(self) -> int:
        """Live subscribers of the topic, in any process."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *_exception: object) -> None: ...
    @property
    def sequence(self) -> int:
        """Messages that this publisher's lane has carried since the topic was created."""
    def send(self, message: _M, timeout: float | None = None) -> None:
        """Publishes a message. Never blocks, unless `timeout` is given, in seconds."""

@final
class Subscriber(Generic[_M]):
    """Receives messages of one type from a topic, for one thread at a time."""

    def __new__(cls, name: str, type: builtins.type[_M], **qos: Unpack[_SubscriberQos]) -> Self: ...
    def __class_getitem__(cls, item: Any, /) -> Any: ...
    @property
    def name(self) -> str:
        """The topic's name."""
    @property
    def type(self) -> builtins.type[_M]:
        """The class of the messages."""
    @property
    def closed(self) -> bool:
        """Whether it was closed."""
    @property
    def backend(self) -> str:
        """The ring that the topic amounts to with its present participants."""
    def close(self) -> None:
        """Leaves the topic. A thread that waits here gets `ClosedError` within 50 ms."""
    def publisher_count(self) -> int:
        """Live publishers of the topic, in any process."""
    def subscriber_count(self) -> int:
        """Live subscribers of the topic, in any process."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *_exception: object) -> None: ...
    def recv(self, timeout: float | None = None) -> _M | None:
        """The next message, or `None` if there is none: right now, or within `timeout` seconds."""
    def latest(self) -> _M | None:
        """The newest message that was not received yet; older ones are passed over."""
    @property
    def lost(self) -> int:
        """Messages overwritten before this subscriber came to them."""
    @property
    def sequence(self) -> int:
        """Number of the last message received, as its publisher counts."""
    def stats(self) -> Stats:
        """The ledger since this subscriber joined."""
    def set_spin(self, seconds: float) -> None:
        """How long a wait looks for a message before it sleeps."""
    def __iter__(self) -> Self: ...
    def __next__(self) -> _M: ...
    def __aiter__(self) -> Self: ...
    def __anext__(self) -> Awaitable[_M]: ...
    def recv_async(self) -> Awaitable[_M]:
        """The next message, as an awaitable of asyncio."""
    def _poll(self, wakeups: _Wakeups, token: int) -> _M | None: ...
    def _polled(self) -> None: ...

@final
class Topic(Generic[_M]):
    """Both ends of a topic: one thread may send while another receives."""

    def __new__(cls, name: str, type: builtins.type[_M], **qos: Unpack[_TopicQos]) -> Self: ...
    def __class_getitem__(cls, item: Any, /) -> Any: ...
    @property
    def name(self) -> str:
        """The topic's name."""
    @property
    def type(self) -> builtins.type[_M]:
        """The class of the messages."""
    @property
    def closed(self) -> bool:
        """Whether it was closed."""
    @property
    def backend(self) -> str:
        """The ring that the topic amounts to with its present participants."""
    def close(self) -> None:
        """Leaves the topic. A thread that waits here gets `ClosedError` within 50 ms."""
    def publisher_count(self) -> int:
        """Live publishers of the topic, in any process."""
    def subscriber_count(self) -> int:
        """Live subscribers of the topic, in any process."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *_exception: object) -> None: ...
    def send(self, message: _M, timeout: float | None = None) -> None:
        """Publishes a message. Never blocks, unless `timeout` is given, in seconds."""
    def recv(self, timeout: float | None = None) -> _M | None:
        """The next message, or `None` if there is none: right now, or within `timeout` seconds."""
    def latest(self) -> _M | None:
        """The newest message that was not received yet; older ones are passed over."""
    @property
    def lost(self) -> int:
        """Messages overwritten before this subscriber came to them."""
    @property
    def sequence(self) -> int:
        """Number of the last message received, as its publisher counts."""
    def stats(self) -> Stats:
        """The ledger since this subscriber joined."""
    def set_spin(self, seconds: float) -> None:
        """How long a wait looks for a message before it sleeps."""
    def __iter__(self) -> Self: ...
    def __next__(self) -> _M: ...
    def __aiter__(self) -> Self: ...
    def __anext__(self) -> Awaitable[_M]: ...
    def recv_async(self) -> Awaitable[_M]:
        """The next message, as an awaitable of asyncio."""
    def _poll(self, wakeups: _Wakeups, token: int) -> _M | None: ...
    def _polled(self) -> None: ...

@final
class Stats:
    """The ledger of a subscriber since it joined, in messages.

    `sent == received + malformed + lost + skipped + waiting` whenever the publishers rest.
    """

    @property
    def received(self) -> int: ...
    @property
    def malformed(self) -> int: ...
    @property
    def lost(self) -> int: ...
    @property
    def skipped(self) -> int: ...
    @property
    def waiting(self) -> int: ...
    @property
    def sent(self) -> int: ...
    @property
    def busy(self) -> int: ...

@final
class Ready:
    """Something that is ready."""

    @property
    def key(self) -> int:
        """What `add` returned."""
    @property
    def source(self) -> Any:
        """What was added: a subscriber, a topic, or `None` for a timer."""
    @property
    def reason(self) -> Literal["message", "deadline_missed", "timer", "closed"]: ...
    @property
    def silent(self) -> float | None:
        """How long there was no message, in seconds; for `deadline_missed`."""
    @property
    def missed(self) -> int | None:
        """Periods that were not reported; for `timer`."""

@final
class WaitSet:
    """Waits for messages on many topics, for topics that stay silent, and for time to pass."""

    def __new__(cls) -> Self: ...
    def add(
        self, subscriber: Subscriber[Any] | Topic[Any], deadline: float | None = None
    ) -> int:
        """Adds a subscriber or topic; returns a key."""
    def add_interval(self, period: float) -> int:
        """Adds a timer; returns a key."""
    def remove(self, key: int) -> bool:
        """Takes out what has this key; false if nothing has."""
    def wait(self, timeout: float | None = None) -> list[Ready]:
        """Waits until something is ready; nothing if the time was over."""
    def __len__(self) -> int: ...

def timestamp_now_ns() -> int:
    """Nanoseconds since 1970 by CLOCK_REALTIME: what `timestamp_ns` of a message is."""

@final
class _Wakeups:
    def __new__(cls) -> Self: ...
    def fileno(self) -> int: ...
    def take(self) -> list[int]: ...

def _exiting() -> None: ...
def _restore(class_: type[_M], hash: int, bytes: bytes, /) -> _M: ...
def _declare(
    module: str,
    name: str,
    doc: str,
    fields: list[tuple[str, Any, int]],
    defaults: dict[str, Any],
) -> type[Any]: ...

_STANDARD: tuple[str, ...]
