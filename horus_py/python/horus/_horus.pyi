"""The native part of horus."""

import builtins
from collections.abc import Awaitable, Callable, Sequence
from os import PathLike
from typing import Any, Final, Generic, Literal, Self, TypedDict, TypeVar, Unpack, final, overload

import numpy as np
import numpy.typing as npt
from typing_extensions import Buffer

from ._messages import NodeEvent, NodeMetrics
from ._node import Node

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

class LaneNotMappedError(Error):
    """There is no memory to map a publisher's messages. Each call tries again."""

class ClosedError(Error):
    """The handle was closed."""

class NoPinsError(Error):
    """As many messages are held as may be held at a time: drop one, or keep a copy() of it."""

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

class Framed:
    """The base of the messages that end in data, as images: a header, and an array."""

    __horus_schema__: str
    __horus_hash__: int
    @classmethod
    def now(cls, data: npt.ArrayLike | None = None, /, **fields: Any) -> Self:
        """A message stamped with the current time."""
    @classmethod
    def from_bytes(cls, bytes: bytes) -> Self:
        """The message with this header and these data, as `bytes()` gives them."""
    @property
    def nbytes(self) -> int:
        """Bytes of the data."""
    @property
    def writeable(self) -> bool:
        """Whether the data may be written: not if they were received, nor after `publish()`."""
    def to_numpy(self) -> npt.NDArray[Any]:
        """The data as an array, where they lie: nothing is copied. It keeps them alive."""
    def copy(self) -> Self:
        """A message of its own with the same content, which can be written."""
    def publish(self) -> None:
        """Publishes a message on loan, as it now is.

        Raises `BufferError` while an array of it, or anything made of one, can write it.
        """
    def discard(self) -> None:
        """Gives a loan back, as if it had not been asked for. Raises what `publish` does."""
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]: ...
    def __dlpack__(
        self,
        *,
        stream: None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: Any) -> Self: ...
    def __bytes__(self) -> bytes: ...

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

    @overload
    def __new__(
        cls, name: str, type: builtins.type[_M], **qos: Unpack[_Qos]
    ) -> Publisher[_M]: ...
    @overload
    def __new__(cls, name: str, type: None = None, **qos: Unpack[_Qos]) -> Publisher[Any]: ...
    def __class_getitem__(cls, item: Any) -> Any: ...
    @property
    def name(self) -> str:
        """The topic's name."""
    @property
    def type(self) -> builtins.type[_M] | None:
        """The class of the messages; `None` if they are dicts and the like."""
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
    def loan(
        self,
        shape: int | Sequence[int] | None = None,
        dtype: npt.DTypeLike | None = None,
        /,
        **fields: Any,
    ) -> _M:
        """A message in shared memory, to be filled where its subscribers will read it.

        For an array of this shape and type, or with fields that say as much.
        """
    def send(self, message: _M, timeout: float | None = None) -> None:
        """Publishes a message. Never blocks, unless `timeout` is given, in seconds."""

@final
class Subscriber(Generic[_M]):
    """Receives messages of one type from a topic, for one thread at a time."""

    @overload
    def __new__(
        cls, name: str, type: builtins.type[_M], **qos: Unpack[_SubscriberQos]
    ) -> Subscriber[_M]: ...
    @overload
    def __new__(cls, name: str, type: None = None, **qos: Unpack[_SubscriberQos]) -> Subscriber[Any]: ...
    def __class_getitem__(cls, item: Any) -> Any: ...
    @property
    def name(self) -> str:
        """The topic's name."""
    @property
    def type(self) -> builtins.type[_M] | None:
        """The class of the messages; `None` if they are dicts and the like."""
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

    @overload
    def __new__(
        cls, name: str, type: builtins.type[_M], **qos: Unpack[_TopicQos]
    ) -> Topic[_M]: ...
    @overload
    def __new__(cls, name: str, type: None = None, **qos: Unpack[_TopicQos]) -> Topic[Any]: ...
    def __class_getitem__(cls, item: Any) -> Any: ...
    @property
    def name(self) -> str:
        """The topic's name."""
    @property
    def type(self) -> builtins.type[_M] | None:
        """The class of the messages; `None` if they are dicts and the like."""
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
    def loan(
        self,
        shape: int | Sequence[int] | None = None,
        dtype: npt.DTypeLike | None = None,
        /,
        **fields: Any,
    ) -> _M:
        """A message in shared memory, to be filled where its subscribers will read it.

        For an array of this shape and type, or with fields that say as much.
        """
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
class Ext:
    """An extension of MessagePack that horus has no meaning for: a number and bytes."""

    def __new__(cls, number: int, data: bytes) -> Self: ...
    @property
    def number(self) -> int:
        """Which extension it is."""
    @property
    def data(self) -> bytes:
        """Its bytes."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

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
    @property
    def unmapped(self) -> int:
        """Publishers whose messages there is no memory to map; they count as waiting."""

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

def _above_standard(open: Callable[[], Any]) -> Any: ...
def _exiting() -> None: ...
def _pack(object: Any, /) -> bytes: ...
def _unpack(data: bytes, /, *, after: list[bytes] = ...) -> Any: ...
def _layouts_made(messages: list[bytes], /) -> int: ...
def _restore(class_: type[_M], hash: int, bytes: bytes, /) -> _M: ...
def _declare(
    names: tuple[str, str, str],
    fields: list[tuple[str, Any, int]],
    defaults: dict[str, Any],
) -> type[Any]: ...

class SchedulerError(Error):
    """A scheduler could not be made, started or told."""

class PlanError(SchedulerError):
    """What was asked for a node contradicts itself; says why."""

class CommandError(SchedulerError):
    """A node or scheduler could not be told."""

@final
class Context:
    """A tick, as its node sees it. Of no use when the tick is over."""

    @property
    def node(self) -> Any:
        """The node whose tick it is."""
    @property
    def tick(self) -> int:
        """Number of this tick of this node, from 0 on."""
    @property
    def scheduled_ns(self) -> int:
        """When the tick was due, in nanoseconds of `time.monotonic_ns()`."""
    @property
    def started_ns(self) -> int:
        """When the tick began, in nanoseconds of `time.monotonic_ns()`."""
    @property
    def lateness(self) -> float:
        """How much later than due the tick began, in seconds."""
    @property
    def period(self) -> float:
        """From one tick to the next, in seconds; 0 without a rate."""
    def budget_left(self) -> float:
        """What is left of the budget, in seconds; infinite without one."""
    def checkpoint(self, number: int) -> None:
        """Passes a checkpoint, 1 for the first of a tick."""
    def random(self) -> float:
        """A random number from 0 to 1, the same in every simulated run with the same seed."""
    def stop(self) -> None:
        """Asks the scheduler to stop after this tick."""

_N = TypeVar("_N", bound=Node)

@final
class Scheduler:
    """Nodes, and what runs them. Runs once."""

    def __new__(
        cls,
        name: str | None = None,
        namespace: Namespace | None = None,
        *,
        main_rate: float | None = None,
        compute_threads: int | None = None,
        stop_on_signals: bool = False,
        on_event: Callable[[NodeEvent], object] | None = None,
    ) -> Self: ...
    @property
    def name(self) -> str:
        """What it is called; once it runs, perhaps with a number behind it."""
    @property
    def report(self) -> Report | None:
        """What the run came to, once it is over."""
    def add(self, node: _N) -> _N:
        """Adds a node, and opens its topics in the scheduler's namespace. Returns the node."""
    def handle(self) -> Handle:
        """Stops the run and changes its nodes, from any thread."""
    def swap(self, node: str, replacement: Node) -> Swap:
        """Puts another node in the place of the node of this name, as `Handle.swap`."""
    def stop(self) -> None:
        """Has every node shut down after its present tick; `run` returns then."""
    def start(self) -> None:
        """Initialises the nodes, in order, and starts their threads."""
    def tick_once(self) -> bool:
        """Gives every node that has neither a rate nor a topic one turn, now, on this thread.

        False if everything is to stop. Raises `NodeFailedError` if a node failed and thereby ended
        the run.
        """
    def run(self, *, check: bool = True) -> Report:
        """Runs until a node, a handle, a command or a signal stops it.

        Raises `NodeFailedError` if a node failed, unless `check` is false.
        """
    def run_for(self, duration: float, *, check: bool = True) -> Report:
        """Runs for so many seconds at most. Raises what `run` does."""
    def finish(self, *, check: bool = True) -> Report:
        """Stops everything, shuts all nodes down in reverse order, and says what they did."""
    def simulate(
        self, duration: float, seed: int = 0, epoch_ns: int = 0, *, check: bool = True
    ) -> Report:
        """Runs so many simulated seconds as fast as it goes, on this thread alone."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...

@final
class Handle:
    """Stops a run and changes its nodes, from any thread. Nothing here waits for a node."""

    def stop(self) -> None:
        """Has every node shut down after its present tick."""
    def nodes(self) -> list[str]:
        """The names of the nodes, in the order in which they were added."""
    def metrics(self, node: str) -> Metrics:
        """What the node has done so far."""
    def pause(self, node: str) -> None:
        """Has the node tick no more until `resume`."""
    def resume(self, node: str) -> None:
        """Has a paused node tick again."""
    def stop_node(self, node: str) -> None:
        """Shuts the node down, for the rest of the run."""
    def set_rate(self, node: str, rate: float) -> None:
        """Has the node tick at another rate, in hertz, from its next due time on."""
    def swap(self, node: str, replacement: Node) -> Swap:
        """Puts another node in the node's place, between two ticks.

        If its `init` or one of its first ten ticks fails, the old node is back.
        """

_SwapState = Literal["pending", "on_trial", "done", "rolled_back", "abandoned"]

@final
class Swap:
    """A swap that was asked for: where to learn how it is going."""

    @property
    def state(self) -> _SwapState:
        """How it is going."""
    @property
    def reason(self) -> str | None:
        """Why the old node is back."""
    def wait(self, timeout: float | None = None) -> _SwapState:
        """Waits until it is done, rolled back or abandoned; says how it is going then."""

@final
class Report:
    """What a run came to."""

    @property
    def scheduler(self) -> str:
        """What the scheduler was called."""
    @property
    def reason(self) -> Literal["asked", "over", "signal", "node"]:
        """Why it ended."""
    @property
    def signal(self) -> int | None:
        """The signal that ended it."""
    @property
    def failed_node(self) -> str | None:
        """The node whose failure ended it."""
    @property
    def error(self) -> str | None:
        """What that node said, with the traceback if it was an exception."""
    @property
    def exit_code(self) -> int:
        """What the process is to exit with."""
    @property
    def nodes(self) -> list[NodeReport]:
        """The nodes, in the order in which they were started."""
    def node(self, name: str) -> NodeReport | None:
        """The node of this name, or `None`."""

@final
class NodeReport:
    """What one node did in a run."""

    @property
    def name(self) -> str:
        """Its name."""
    @property
    def executor(
        self,
    ) -> Literal["real_time", "compute", "event", "async_io", "best_effort", "other"]:
        """Who ran it."""
    @property
    def metrics(self) -> Metrics:
        """What it did."""
    @property
    def last_error(self) -> str | None:
        """What it said when it failed last; of an exception, a line and the traceback."""
    @property
    def refused(self) -> list[str]:
        """What its thread was to have and could not, with the reason."""

@final
class Metrics:
    """What a node has done so far. Times are in seconds."""

    @property
    def ticks(self) -> int:
        """Ticks that are over."""
    @property
    def last(self) -> float:
        """How long the last one took."""
    @property
    def max(self) -> float:
        """How long the longest one took."""
    @property
    def misses(self) -> int:
        """Ticks that were over after their deadline, or took more than their budget."""
    @property
    def skipped_ticks(self) -> int:
        """Due times at which the node did not run, because it was still busy or late."""
    @property
    def failures(self) -> int:
        """Ticks that raised an exception."""
    @property
    def health(self) -> Literal["active", "paused", "resting", "safe", "stopped"]:
        """How it is."""
    def duration(self, share: float) -> float:
        """A time that `share` of the ticks, from 0 to 1, did not take: at most twice what it is."""
    def lateness(self, share: float) -> float:
        """By how much `share` of the ticks were not late: at most twice what it is."""

@final
class SchedulerInfo:
    """A scheduler, as another process sees it."""

    @property
    def name(self) -> str:
        """Its name."""
    @property
    def process_id(self) -> int | None:
        """Its process, if that is known."""
    @property
    def is_alive(self) -> bool:
        """Whether it lives. The kernel says so."""
    @property
    def nodes(self) -> list[NodeMetrics]:
        """Its nodes, as they were when it last said so."""

@final
class RemoteScheduler:
    """A scheduler of another process, or of this one, to be told something."""

    def __new__(cls, name: str, namespace: Namespace | None = None) -> Self: ...
    @property
    def name(self) -> str:
        """Its name."""
    def info(self) -> SchedulerInfo:
        """How it is."""
    def pause(self, node: str) -> None:
        """Has a node not tick until it is resumed; all nodes, if the name is empty."""
    def resume(self, node: str) -> None:
        """Has a node go on after a pause."""
    def stop_node(self, node: str) -> None:
        """Has a node end after its present tick."""
    def set_rate(self, node: str, rate: float) -> None:
        """Has a node tick at another rate, in hertz."""
    def stop(self) -> None:
        """Has all nodes end, and the scheduler with them."""

@final
class TopicInfo:
    """A topic and its counters, which are read one after another while the topic runs."""

    @property
    def name(self) -> str: ...
    @property
    def message_type(self) -> str: ...
    @property
    def schema(self) -> str: ...
    @property
    def message_bytes(self) -> int: ...
    @property
    def capacity(self) -> int: ...
    @property
    def reliability(self) -> Literal["reliable", "best_effort"]: ...
    @property
    def backend(self) -> str: ...
    @property
    def publishers(self) -> list[PublisherInfo]: ...
    @property
    def subscribers(self) -> list[SubscriberInfo]: ...

@final
class PublisherInfo:
    """A lane of a topic, which one publisher at a time writes."""

    @property
    def lane(self) -> int: ...
    @property
    def is_alive(self) -> bool: ...
    @property
    def process_id(self) -> int | None: ...
    @property
    def process_name(self) -> str | None: ...
    @property
    def sent(self) -> int: ...
    @property
    def refused(self) -> int: ...
    @property
    def skips(self) -> int: ...
    @property
    def aborted(self) -> int: ...
    @property
    def corrupt_resyncs(self) -> int: ...
    @property
    def claims(self) -> int: ...
    @property
    def wakes(self) -> int: ...

@final
class SubscriberInfo:
    """A live subscriber of a topic. Its counters may be behind by up to 256 messages."""

    @property
    def process_id(self) -> int | None: ...
    @property
    def process_name(self) -> str | None: ...
    @property
    def received(self) -> int: ...
    @property
    def lost(self) -> int: ...
    @property
    def skipped(self) -> int: ...
    @property
    def busy(self) -> int: ...
    @property
    def borrowed(self) -> int: ...
    @property
    def is_asleep(self) -> bool: ...
    @property
    def latency_p50(self) -> float | None: ...
    @property
    def latency_p99(self) -> float | None: ...

@final
class SweepReport:
    """The topics that a sweep found, by what it did with them."""

    @property
    def removed(self) -> list[str]: ...
    @property
    def attended(self) -> list[str]: ...
    @property
    def kept(self) -> list[str]: ...
    @property
    def foreign(self) -> list[str]: ...

def topics(namespace: Namespace | None = None) -> list[str]:
    """Returns the names of the topics of a namespace, sorted."""

def introspect(name: str, namespace: Namespace | None = None) -> TopicInfo:
    """Returns a topic and its counters at this moment. It disturbs nobody: all is only read."""

def remove_topic(name: str, namespace: Namespace | None = None) -> bool:
    """Removes a topic that no process has open, also one that persists.

    Returns `True` if it is gone, also if it never was there, and `False` if a process has it open.
    """

def sweep(namespace: Namespace | None = None) -> SweepReport:
    """Removes the topics of a namespace whose processes have all died. Never one in use."""

def schedulers(namespace: Namespace | None = None) -> list[SchedulerInfo]:
    """The schedulers of a namespace, by name: those that live, and those that ended."""

def black_box(name: str, namespace: Namespace | None = None) -> list[NodeEvent]:
    """The last events of a scheduler, oldest first, also after it was killed."""

def forget(name: str, namespace: Namespace | None = None) -> bool:
    """Removes what a scheduler left that is no more. True if it is gone."""

def _end_schedulers() -> None: ...
def _counted() -> list[tuple[str, str, list[str]]]: ...
def _check_settings(node: str, settings: dict[str, Any]) -> None: ...

_STANDARD: dict[str, type[Message]]
