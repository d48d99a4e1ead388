"""The native module of horus."""

import builtins
from collections.abc import Awaitable, Callable, Sequence
from os import PathLike
from typing import Any, Final, Generic, Literal, Self, TypeVar, Unpack, final, overload

import numpy as np
import numpy.typing as npt
from typing_extensions import Buffer

from ._actors import *
from ._actors import _actor_bursts as _actor_bursts, _Answer as _Answer, _Mailbox
from ._messages import NodeEvent, NodeMetrics
from ._node import Node
from ._qos import Qos, SubscriberQos, TopicQos

__build_profile__: Final[str]
__version__: Final[str]

_M = TypeVar("_M")

class Error(Exception):
    """The base class of the errors of horus."""

class OpenTopicError(Error):
    """A topic could not be opened."""

class SchemaMismatchError(OpenTopicError):
    """The topic was created with another message, and the endpoint is strict."""

class NamespaceError(Error):
    """A namespace could not be opened or removed."""

class SendFailedError(Error):
    """A message was not sent."""

class FullError(SendFailedError):
    """A reliable subscriber is a whole lane behind, or a mailbox is full. Try again later."""

class ForkedError(Error):
    """The handle was inherited by a forked child. Open a new one in the child."""

class RegionLostError(Error):
    """The file of the topic was truncated. Open the topic again."""

class LaneNotMappedError(Error):
    """The memory for mapping a publisher's messages is missing. Each call tries again."""

class IncompatibleError(Error):
    """No live publisher sends this message with the reliability that this subscriber requests."""

class ClosedError(Error):
    """The handle was closed."""

class BusyError(Error):
    """Another thread is using this object. Open one for each thread."""

class Message(Buffer):
    """The base class of the messages of fixed size."""

    dtype: np.dtype[np.void]
    """The structured dtype of numpy."""
    __horus_dtype__: np.dtype[np.void]
    """The same as `dtype`, even if a field has that name."""
    __horus_schema__: str
    __horus_hash__: int
    @classmethod
    def from_bytes(cls, bytes: Buffer) -> Self:
        """Returns the message with these bytes."""
    @classmethod
    def now(cls, **fields: Any) -> Self:
        """Returns a message stamped with the current time."""
    def copy(self) -> Self:
        """Returns an independent message with the same content."""
    def to_numpy(self) -> npt.NDArray[np.void]:
        """Returns a view of the message as a structured numpy array without dimensions."""
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: Any) -> Self: ...
    def __bytes__(self) -> bytes: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

class Framed:
    """The base class of messages such as images, which have a header and an array of data."""

    __horus_schema__: str
    __horus_hash__: int
    @classmethod
    def now(cls, data: npt.ArrayLike | None = None, /, **fields: Any) -> Self:
        """Returns a message with the current time. `data`: a buffer; for a `Tail` any sequence."""
    @classmethod
    def from_bytes(cls, bytes: bytes) -> Self:
        """Returns the message with the header and data that `bytes()` returned."""
    @property
    def nbytes(self) -> int:
        """The size of the data in bytes."""
    @property
    def writeable(self) -> bool:
        """True if the data may be written: they were not received, and not published yet."""
    def to_numpy(self) -> npt.NDArray[Any]:
        """Returns a view of the data as an array, without a copy. It keeps the data alive."""
    def copy(self) -> Self:
        """Returns an independent message with the same content, which can be written."""
    def publish(self) -> None:
        """Publishes a message on loan with its present content.

        Raises `BufferError` while an array of it, or an object made from one, can write it. Later
        only the fields can be read, and the data raise `ValueError`: make a `copy()` before.
        """
    def discard(self) -> None:
        """Ends a loan, if there is one, without publishing it; otherwise as `publish`."""
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
    """The topics of `name` in the directory `dir`, for one user, or for the members of `group`."""

    def __new__(cls, dir: str | PathLike[str], name: str, *, group: str | None = None) -> Self: ...
    @staticmethod
    def current() -> Namespace:
        """Returns the namespace that the environment variables select."""
    @property
    def dir(self) -> Any: ...
    @property
    def name(self) -> str: ...
    def remove(self) -> None:
        """Removes its files, also an engaged emergency stop. Raises an error while it is used."""

@final
class Publisher(Generic[_M]):
    """Publishes messages of one type on a topic. Only one thread at a time may use it."""

    @overload
    def __new__(cls, name: str, type: builtins.type[_M], **qos: Unpack[Qos]) -> Publisher[_M]: ...
    @overload
    def __new__(cls, name: str, type: None = None, **qos: Unpack[Qos]) -> Publisher[Any]: ...
    def __class_getitem__(cls, item: Any) -> Any: ...
    @property
    def name(self) -> str:
        """The topic's name."""
    @property
    def type(self) -> builtins.type[_M] | None:
        """The class of the messages; `None` if they are dicts and the like."""
    @property
    def closed(self) -> bool:
        """True if it was closed."""
    @property
    def backend(self) -> str:
        """The kind of ring that the present participants of the topic need."""
    def close(self) -> None:
        """Leaves the topic. A thread that waits in a call gets `ClosedError` within 50 ms."""
    def publisher_count(self) -> int:
        """Returns the number of live publishers of the topic, in all processes."""
    def subscriber_count(self) -> int:
        """Returns the number of live subscribers of the topic, in all processes."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *_exception: object) -> None: ...
    @property
    def sequence(self) -> int:
        """The number of messages that this publisher's lane has carried since the topic exists."""
    def reserve(self, bytes: int) -> None:
        """Makes the slots fit messages of so many bytes; `SendFailedError` if that cannot be."""
    def loan(
        self,
        shape: int | Sequence[int] | None = None,
        dtype: npt.DTypeLike | None = None,
        /,
        **fields: Any,
    ) -> _M:
        """Returns a message in shared memory of the size of that array, or of those fields."""
    def send(self, message: _M, timeout: float | None = None) -> None:
        """Publishes a message. Never blocks, unless `timeout` is given, in seconds."""
    def wait_for_subscribers(self, count: int, timeout: float | None = None) -> int:
        """Waits until `count` subscribers are there; messages sent then reach them."""
    def subscriber_events(self) -> EndpointEvents:
        """Returns an event for each subscriber there, then one when any joins, leaves or dies."""

@final
class Subscriber(Generic[_M]):
    """Receives messages of one type from a topic. Only one thread at a time may use it."""

    @overload
    def __new__(
        cls, name: str, type: builtins.type[_M], **qos: Unpack[SubscriberQos]
    ) -> Subscriber[_M]: ...
    @overload
    def __new__(
        cls, name: str, type: None = None, **qos: Unpack[SubscriberQos]
    ) -> Subscriber[Any]: ...
    def __class_getitem__(cls, item: Any) -> Any: ...
    @property
    def name(self) -> str:
        """The topic's name."""
    @property
    def type(self) -> builtins.type[_M] | None:
        """The class of the messages; `None` if they are dicts and the like."""
    @property
    def closed(self) -> bool:
        """True if it was closed."""
    @property
    def backend(self) -> str:
        """The kind of ring that the present participants of the topic need."""
    def close(self) -> None:
        """Leaves the topic. A thread that waits in a call gets `ClosedError` within 50 ms."""
    def publisher_count(self) -> int:
        """Returns the number of live publishers of the topic, in all processes."""
    def subscriber_count(self) -> int:
        """Returns the number of live subscribers of the topic, in all processes."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *_exception: object) -> None: ...
    def recv(self, timeout: float | None = None) -> _M | None:
        """Returns the next message, or `None` if there is none now or within `timeout` seconds."""
    def latest(self) -> _M | None:
        """Returns the newest message that was not received yet, or `None`. Counts older ones as
        skipped, or as lost if they are overwritten already."""
    @property
    def lost(self) -> int:
        """The number of messages overwritten before this subscriber received them, up to now."""
    @property
    def sequence(self) -> int:
        """The sequence number of the last received message, as counted by its publisher."""
    @property
    def received_bytes(self) -> int:
        """The bytes of the last message that came: less than its size if its publisher knows fewer
        fields. The others have the default values of the class."""
    def stats(self) -> Stats:
        """Returns the ledger since this subscriber joined."""
    def set_spin(self, seconds: float) -> None:
        """Sets the time for which a waiting call spins before it sleeps."""
    def __iter__(self) -> Self: ...
    def __next__(self) -> _M: ...
    def __aiter__(self) -> Self: ...
    def __anext__(self) -> Awaitable[_M]: ...
    def recv_async(self) -> Awaitable[_M]:
        """Returns an asyncio awaitable of the next message."""
    def wait_for_publishers(self, count: int, timeout: float | None = None) -> int:
        """Waits until `count` publishers are there, as `Publisher.wait_for_subscribers` does."""
    def publisher_events(self) -> EndpointEvents:
        """Returns an event for each publisher there, then one when any joins, leaves or dies."""
    def _poll(self, wakeups: _Wakeups, token: int) -> _M | _Wakeups: ...
    def _forget_waker(self) -> None: ...

@final
class Topic(Generic[_M]):
    """A publisher and a subscriber of a topic. One thread may send while another receives."""

    @overload
    def __new__(cls, name: str, type: builtins.type[_M], **qos: Unpack[TopicQos]) -> Topic[_M]: ...
    @overload
    def __new__(cls, name: str, type: None = None, **qos: Unpack[TopicQos]) -> Topic[Any]: ...
    def __class_getitem__(cls, item: Any) -> Any: ...
    @property
    def name(self) -> str:
        """The topic's name."""
    @property
    def type(self) -> builtins.type[_M] | None:
        """The class of the messages; `None` if they are dicts and the like."""
    @property
    def closed(self) -> bool:
        """True if it was closed."""
    @property
    def backend(self) -> str:
        """The kind of ring that the present participants of the topic need."""
    def close(self) -> None:
        """Leaves the topic. A thread that waits in a call gets `ClosedError` within 50 ms."""
    def publisher_count(self) -> int:
        """Returns the number of live publishers of the topic, in all processes."""
    def subscriber_count(self) -> int:
        """Returns the number of live subscribers of the topic, in all processes."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *_exception: object) -> None: ...
    def reserve(self, bytes: int) -> None:
        """Makes the slots fit messages of so many bytes; `SendFailedError` if that cannot be."""
    def loan(
        self,
        shape: int | Sequence[int] | None = None,
        dtype: npt.DTypeLike | None = None,
        /,
        **fields: Any,
    ) -> _M:
        """Returns a message in shared memory, as `Publisher.loan` does."""
    def send(self, message: _M, timeout: float | None = None) -> None:
        """Publishes a message. Never blocks, unless `timeout` is given, in seconds."""
    def recv(self, timeout: float | None = None) -> _M | None:
        """Returns the next message, or `None` if there is none now or within `timeout` seconds."""
    def latest(self) -> _M | None:
        """Returns the newest message that was not received yet, or `None`. Counts older ones as
        skipped, or as lost if they are overwritten already."""
    @property
    def lost(self) -> int:
        """The number of messages overwritten before this subscriber received them, up to now."""
    @property
    def sequence(self) -> int:
        """The sequence number of the last received message, as counted by its publisher."""
    @property
    def received_bytes(self) -> int:
        """The bytes of the last message that came: less than its size if its publisher knows fewer
        fields. The others have the default values of the class."""
    def stats(self) -> Stats:
        """Returns the ledger since this subscriber joined."""
    def set_spin(self, seconds: float) -> None:
        """Sets the time for which a waiting call spins before it sleeps."""
    def __iter__(self) -> Self: ...
    def __next__(self) -> _M: ...
    def __aiter__(self) -> Self: ...
    def __anext__(self) -> Awaitable[_M]: ...
    def recv_async(self) -> Awaitable[_M]:
        """Returns an asyncio awaitable of the next message."""
    def wait_for_subscribers(self, count: int, timeout: float | None = None) -> int:
        """Waits until `count` subscribers are there; its own does not count."""
    def wait_for_publishers(self, count: int, timeout: float | None = None) -> int:
        """Waits until `count` publishers are there; its own does not count."""
    def subscriber_events(self) -> EndpointEvents:
        """Returns an event for each subscriber there, then one when any joins, leaves or dies."""
    def publisher_events(self) -> EndpointEvents:
        """Returns an event for each publisher there, then one when any joins, leaves or dies."""
    def _poll(self, wakeups: _Wakeups, token: int) -> _M | _Wakeups: ...
    def _forget_waker(self) -> None: ...

@final
class EndpointEvents:
    """The endpoints of a topic that join, leave or die. It keeps the topic in use until closed."""

    def poll(self, timeout: float | None = None) -> EndpointEvent | None:
        """Returns the next event; None if there is none, or none within `timeout` seconds."""
    def close(self) -> None:
        """Stops to use the topic. A thread that waits in `poll` gets `ClosedError` within 50 ms."""
    @property
    def closed(self) -> bool: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_exception: object) -> None: ...

@final
class EndpointEvent:
    """A publisher or subscriber of a topic that joined, left or died."""

    @property
    def kind(self) -> Literal["publisher", "subscriber"]: ...
    @property
    def change(self) -> Literal["joined", "left", "died", "gone"]:
        """`died` if its process ended without closing it; `gone` if it left or died."""
    @property
    def process_id(self) -> int | None: ...
    @property
    def process_name(self) -> str | None: ...
    @property
    def mismatch(self) -> Literal["type", "reliability"] | None:
        """For an endpoint that joined: why no message passes, or None if the two match."""

@final
class Ext:
    """A MessagePack extension that horus does not interpret: a number and bytes."""

    def __new__(cls, number: int, data: bytes) -> Self: ...
    @property
    def number(self) -> int:
        """The number of the extension."""
    @property
    def data(self) -> bytes:
        """The bytes of the extension."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Stats:
    """The ledger of a subscriber: `sent == received + malformed + lost + skipped + waiting`."""

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
        """The number of publishers whose messages wait, as there is no memory to map them."""

@final
class Ready:
    """A ready entry of a wait set."""

    @property
    def key(self) -> int:
        """The key that `add` returned."""
    @property
    def source(self) -> Any:
        """The subscriber or topic that was added; `None` for a timer."""
    @property
    def reason(self) -> Literal["message", "deadline_missed", "timer", "closed"]: ...
    @property
    def silent(self) -> float | None:
        """The time without a message, in seconds; for `deadline_missed`."""
    @property
    def missed(self) -> int | None:
        """The number of periods that were not reported; for `timer`."""

@final
class WaitSet:
    """Waits for messages on many topics, for topics that stay silent, and for timers."""

    def __new__(cls) -> Self: ...
    def add(self, subscriber: Subscriber[Any] | Topic[Any], deadline: float | None = None) -> int:
        """Adds a subscriber or topic; returns a key."""
    def add_interval(self, period: float) -> int:
        """Adds a timer; returns a key."""
    def remove(self, key: int) -> bool:
        """Removes the entry with this key; returns False if there is none."""
    def wait(self, timeout: float | None = None) -> list[Ready]:
        """Waits until an entry is ready. Returns an empty list after the timeout."""
    def __len__(self) -> int: ...

def timestamp_now_ns() -> int:
    """Returns CLOCK_REALTIME in nanoseconds, the unit of `timestamp_ns` in messages."""

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
    tail: tuple[str, str, str] | None,
    defaults: dict[str, Any],
) -> type[Any]: ...

class SchedulerError(Error):
    """A scheduler could not be created, started or commanded."""

class PlanError(SchedulerError):
    """The settings of a node contradict each other; the text gives the reason."""

class CommandError(SchedulerError):
    """A command to a node or scheduler was refused."""

@final
class Context:
    """The context of one tick. It is invalid after the tick."""

    @property
    def node(self) -> Any:
        """The node that ticks."""
    @property
    def tick(self) -> int:
        """The number of this tick of this node, from 0 on."""
    @property
    def scheduled_ns(self) -> int:
        """The due time of the tick, in nanoseconds of `time.monotonic_ns()`."""
    @property
    def started_ns(self) -> int:
        """The start time of the tick, in nanoseconds of `time.monotonic_ns()`."""
    @property
    def lateness(self) -> float:
        """The delay from the due time to the start of the tick, in seconds."""
    @property
    def period(self) -> float:
        """The time from one tick to the next, in seconds; 0 without a rate."""
    @property
    def in_safe_state(self) -> bool:
        """True in the safe state (`"safe_mode"`, `"graduated"` after isolation): do not end it."""
    def budget_left(self) -> float:
        """Returns the rest of the budget, in seconds; infinite without a budget."""
    def checkpoint(self, number: int) -> None:
        """Passes a checkpoint, 1 for the first of a tick."""
    def random(self) -> float:
        """Returns a random number from 0 to 1, equal in all simulated runs with the same seed."""
    def stop(self) -> None:
        """Asks the scheduler to stop after this tick."""

_N = TypeVar("_N", bound=Node)

@final
class Scheduler:
    """Runs nodes. A scheduler can run once."""

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
        """Its name. When it runs, a number may be appended to make the name unique."""
    @property
    def report(self) -> Report | None:
        """The report of the run, or `None` before the run has ended."""
    def add(self, node: _N) -> _N:
        """Adds a node, and opens its topics in the scheduler's namespace. Returns the node."""
    def actors(
        self, name: str, *, threads: int = 1, mailbox: _Mailbox | None = None, order: int = 0
    ) -> Actors:
        """Adds a group of actors; more `threads` help only if handlers release the GIL."""
    def handle(self) -> Handle:
        """Returns a handle that stops the run and changes its nodes, from any thread."""
    def swap(self, node: str, replacement: Node) -> Swap:
        """Replaces the node of this name by another one, as `Handle.swap` does."""
    def stop(self) -> None:
        """Shuts every node down after its current tick; then `run` returns."""
    def start(self) -> None:
        """Initialises the nodes and starts their threads. Raises `NodeFailedError` if that fails."""
    def tick_once(self) -> bool:
        """Ticks this thread's nodes once. Returns False if the run should stop. Errors: as `run`."""
    def run(self, *, check: bool = True) -> Report:
        """Runs until a node, a handle, a command or a signal stops it.

        Raises `NodeFailedError` if a node failed and ended the run, unless `check` is false.
        """
    def run_for(self, duration: float, *, check: bool = True) -> Report:
        """Runs for at most `duration` seconds, and ends the run. Raises the errors of `run`."""
    def finish(self, *, check: bool = True) -> Report:
        """Stops the run, shuts all nodes down in reverse order, and returns the report."""
    def simulate(
        self, duration: float, seed: int = 0, epoch_ns: int = 0, *, check: bool = True
    ) -> Report:
        """Runs for `duration` simulated seconds as fast as possible, on this thread alone."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...

@final
class Handle:
    """Stops a run and changes its nodes, from any thread. No call waits for a node."""

    def stop(self) -> None:
        """Shuts every node down after its current tick."""
    def nodes(self) -> list[str]:
        """Returns the names of the nodes, in the order in which they were added."""
    def metrics(self, node: str) -> Metrics:
        """Returns the metrics of the node up to now."""
    def pause(self, node: str) -> None:
        """Stops the ticks of the node until `resume`. What it has set in motion keeps moving."""
    def resume(self, node: str) -> None:
        """Lets a paused node tick again."""
    def stop_node(self, node: str) -> None:
        """Shuts the node down, for the rest of the run, without `enter_safe_state`."""
    def set_rate(self, node: str, rate: float) -> None:
        """Changes the rate of the node and of its chain, in hertz, from the next due time on."""
    def swap(self, node: str, replacement: Node) -> Swap:
        """Replaces the node by another one between two ticks.

        If the `init` of the new node or one of its first ten ticks fails, the old node is restored.
        A node that topics wake is replaced only by one with the same subscribers in its `on`:
        `subs={"scan": old.subscriber("scan")}, on="scan"`.
        """

_NodeClass = Literal[
    "real_time", "compute", "event", "async_io", "best_effort", "actors", "other"
]
_SwapState = Literal["pending", "on_trial", "done", "rolled_back", "abandoned"]

@final
class Swap:
    """A requested swap, and its state."""

    @property
    def state(self) -> _SwapState:
        """The state of the swap."""
    @property
    def reason(self) -> str | None:
        """The reason for which the old node was restored."""
    def wait(self, timeout: float | None = None) -> _SwapState:
        """Waits until the swap is done, rolled back or abandoned; returns its state."""

@final
class Report:
    """The report of a run."""

    @property
    def scheduler(self) -> str:
        """The name of the scheduler."""
    @property
    def reason(self) -> Literal["requested", "duration_elapsed", "signal", "node"]:
        """The reason for which the run ended."""
    @property
    def signal(self) -> int | None:
        """The signal that ended the run."""
    @property
    def failed_node(self) -> str | None:
        """The node whose failure ended the run."""
    @property
    def error(self) -> str | None:
        """The error text of that node, with the traceback if it was an exception."""
    @property
    def exit_code(self) -> int:
        """The status with which the process should exit."""
    @property
    def nodes(self) -> list[NodeReport]:
        """The nodes, in the order in which they were started."""
    def node(self, name: str) -> NodeReport | None:
        """Returns the node of this name, or `None`."""

@final
class NodeReport:
    """The report of one node in a run."""

    @property
    def name(self) -> str:
        """Its name."""
    @property
    def node_class(self) -> _NodeClass:
        """The class of the node: how the scheduler ran it."""
    @property
    def metrics(self) -> Metrics:
        """Its metrics."""
    @property
    def last_error(self) -> str | None:
        """The error text of its last failure; for an exception, a line and the traceback."""
    @property
    def refused(self) -> list[str]:
        """The requests for its thread that the system refused, with the reasons."""

@final
class Metrics:
    """The metrics of a node. Times are in seconds."""

    @property
    def ticks(self) -> int:
        """The number of completed ticks."""
    @property
    def last(self) -> float:
        """The duration of the last tick."""
    @property
    def max(self) -> float:
        """The duration of the longest tick."""
    @property
    def misses(self) -> int:
        """The number of ticks that broke a time limit or missed a checkpoint, and of stale inputs."""
    @property
    def skipped_ticks(self) -> int:
        """The number of due times without a tick: it was busy, or a policy skipped them."""
    @property
    def failures(self) -> int:
        """The number of calls of `tick` and `init` that raised an exception."""
    @property
    def health(self) -> Literal["active", "paused", "backing_off", "safe", "stopped"]:
        """The state of the node."""
    def duration(self, share: float) -> float:
        """Returns an upper bound of the duration of `share` (0 to 1) of the ticks, within 2 x."""
    def lateness(self, share: float) -> float:
        """Returns an upper bound of the lateness of `share` (0 to 1) of the ticks, within 2 x."""

@final
class SchedulerInfo:
    """Information about a scheduler, for other processes."""

    @property
    def name(self) -> str:
        """Its name."""
    @property
    def process_id(self) -> int | None:
        """Its process id, if it is known."""
    @property
    def is_alive(self) -> bool:
        """True if its process is alive, as reported by the kernel."""
    @property
    def nodes(self) -> list[NodeMetrics]:
        """The metrics of its nodes at its last report."""

@final
class RemoteScheduler:
    """Sends commands to a scheduler in another process, or in this one."""

    def __new__(cls, name: str, namespace: Namespace | None = None) -> Self: ...
    @property
    def name(self) -> str:
        """Its name."""
    def info(self) -> SchedulerInfo:
        """Returns information about the scheduler."""
    def pause(self, node: str) -> None:
        """Stops the ticks of a node (`""`: of all). What it has set in motion keeps moving."""
    def resume(self, node: str) -> None:
        """Lets a paused node tick again."""
    def stop_node(self, node: str) -> None:
        """Shuts a node down after its current tick, without `enter_safe_state`."""
    def set_rate(self, node: str, rate: float) -> None:
        """Changes the rate of a node and of its chain, in hertz."""
    def stop(self) -> None:
        """Shuts all nodes down, and ends the run of the scheduler."""

@final
class TopicInfo:
    """A topic and its counters. They are read one after another while the topic runs."""

    name: Final[str]
    message_type: Final[str]
    schema: Final[str]
    message_bytes: Final[int]
    capacity: Final[int]
    reliability: Final[Literal["reliable", "best_effort"]]
    backend: Final[str]
    publishers: Final[list[PublisherInfo]]
    subscribers: Final[list[SubscriberInfo]]

@final
class PublisherInfo:
    """A lane of a topic, which is written by one publisher at a time."""

    lane: Final[int]
    is_alive: Final[bool]
    process_id: Final[int | None]
    process_name: Final[str | None]
    sent: Final[int]
    refused: Final[int]
    skips: Final[int]
    aborted: Final[int]
    corrupt_resyncs: Final[int]
    claims: Final[int]
    wakes: Final[int]

@final
class SubscriberInfo:
    """A live subscriber of a topic. `busy` and latencies may lag by up to 256 messages. A message
    that waited for more than 18 minutes counts with its time modulo 2^40 ns."""
    process_id: Final[int | None]
    process_name: Final[str | None]
    received: Final[int]
    malformed: Final[int]
    lost: Final[int]
    waiting: Final[int]
    skipped: Final[int]
    busy: Final[int]
    borrowed: Final[int]
    is_asleep: Final[bool]
    latency_p50: Final[float | None]
    latency_p99: Final[float | None]

@final
class SweepReport:
    """The topics that a sweep found, grouped by the action of the sweep."""

    removed: Final[list[str]]
    in_use: Final[list[str]]
    kept: Final[list[str]]
    foreign: Final[list[str]]

def topics(namespace: Namespace | None = None) -> list[str]:
    """Returns the names of the topics of a namespace, sorted."""

def introspect(name: str, namespace: Namespace | None = None) -> TopicInfo:
    """Returns a topic and its current counters. Only reads: no process is disturbed."""

def remove_topic(name: str, namespace: Namespace | None = None) -> bool:
    """Removes a topic, even a persistent one. Returns False if it is in use. Also removes an engaged
    `emergency_stop`, which later schedulers then do not know: `horus topic rm` refuses that."""

def sweep(namespace: Namespace | None = None) -> SweepReport:
    """Removes the topics of a namespace whose processes have all died, never one in use."""

def schedulers(namespace: Namespace | None = None) -> list[SchedulerInfo]:
    """Returns the schedulers of a namespace, by name, both running and ended ones."""

def black_box(name: str, namespace: Namespace | None = None) -> list[NodeEvent]:
    """Returns the last events of a scheduler, oldest first, even after it was killed."""

def remove_scheduler_topics(name: str, namespace: Namespace | None = None) -> bool:
    """Removes the files of a scheduler that has ended. Returns True if they are removed."""

def _processes(namespace: Namespace | None) -> list[tuple[int, str, int, bool]]: ...
def _end_schedulers() -> None: ...
def _counted_arrays() -> list[tuple[str, str, list[str]]]: ...
def _open_log(program: str, filter: str, stderr: bool, lines: Any, namespace: Any) -> bool: ...
def _is_log_enabled(level: int, node: str, target: str) -> bool: ...
def _log_max_level() -> int | None: ...
def _log(level: int, node: str, target: str, source: tuple[str, int], text: bytes) -> None: ...
def _check_settings(node: str, settings: dict[str, Any]) -> None: ...

_LOG_TEXT_BYTES_MAX: Final[int]
_STANDARD: dict[str, type[Message]]
