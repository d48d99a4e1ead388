"""Groups of actors, and inboxes."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Literal, Protocol, Self, final

from typing_extensions import disjoint_base

from ._horus import Error, Swap, _Wakeups
from ._node import _Policy

__all__ = [
    "ActorContext",
    "ActorCounters",
    "Actors",
    "Address",
    "DisconnectedError",
    "Down",
    "InHandlerError",
    "Inbox",
    "InboxSet",
    "NoAnswerError",
    "Question",
    "Timer",
]

_Mailbox = int | Literal["unbounded", "latest"]

class _Handles(Protocol):
    def handle(self, message: Any, context: ActorContext, /) -> object: ...

_Handler = Callable[[Any, ActorContext], object] | _Handles | type[_Handles]

class DisconnectedError(Error):
    """The actor has ended, or nobody can send to the inbox any more."""

class NoAnswerError(Error):
    """The question was dropped without an answer."""

class InHandlerError(Error):
    """An actor must not wait: the one for which it waits may need its thread."""

@final
class Actors:
    """A group of actors, made by `Scheduler.actors`, or by itself: then it runs at once.

    `mailbox` is that of its actors, 1024 messages by default; an inbox has its own. A group by
    itself runs until `close`, the end of its `with` block, or the end of the program.
    """

    def __new__(
        cls, name: str = "actors", *, threads: int = 1, mailbox: _Mailbox | None = None
    ) -> Self: ...
    @property
    def name(self) -> str:
        """The name of the group."""
    def spawn(
        self,
        handler: _Handler,
        *,
        mailbox: _Mailbox | None = None,
        batch: int | None = None,
        name: str | None = None,
        failure_policy: _Policy | None = None,
    ) -> Address:
        """Spawns an actor, and returns its address.

        The handler is a callable of `(message, context)`, or an object with a method
        `handle(message, context)`, which may also have `init(context)`, `shutdown()`,
        `on_down(down, context)` and `on_error(exception)`. A class is as for `spawn_with`. With
        `batch`, the handler gets a list of up to so many messages. `name` also registers the actor:
        if another one has the name, raises `ValueError`, and no actor is left. Without a
        `failure_policy`, an actor that fails ends.
        """
    def spawn_with(
        self,
        make: Callable[[], _Handler],
        *,
        mailbox: _Mailbox | None = None,
        batch: int | None = None,
        name: str | None = None,
        failure_policy: _Policy | None = None,
    ) -> Address:
        """Spawns an actor whose handler `make` returns, as `spawn` does.

        After a failure, `make` makes it anew: five times in a row, after 100 ms that double each
        time. Its mail waits.
        """
    def inbox(self, name: str | None = None, *, mailbox: _Mailbox | None = None) -> Inbox:
        """Makes an inbox, out of which a thread or task receives. `name` also registers it.

        `mailbox` is 1024 messages by default, whatever the mailbox of the group is.
        """
    def register(self, name: str, address: Address) -> None:
        """Gives an actor or inbox a name, which keeps it alive.

        Raises `ValueError` if another one has the name.
        """
    def unregister(self, name: str) -> bool:
        """Takes a name away; returns False if no actor had it."""
    def find(self, name: str) -> Address:
        """Returns the address of the actor with this name. Raises `KeyError` if there is none."""
    def names(self, prefix: str = "") -> list[str]:
        """Returns the names that begin with `prefix`, sorted."""
    def counters(self) -> ActorCounters:
        """Returns the counters of the group."""
    def close(self) -> None:
        """Ends a group that has its own scheduler: shuts its actors down, and drops their mail.

        Raises what made the run fail, and `BusyError` in a handler of one of the actors. Does
        nothing for a group that `Scheduler.actors` made, and in a forked child.
        """
    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...

@disjoint_base
class Address:
    """Sends messages to an actor or inbox, from any thread. Without one, an actor ends."""

    @property
    def name(self) -> str | None:
        """The name with which the actor was spawned or found."""
    @property
    def id(self) -> int:
        """The identity of the actor."""
    @property
    def disconnected(self) -> bool:
        """True if the actor has ended."""
    @property
    def waiting(self) -> int:
        """The number of messages in a bounded mailbox."""
    def tell(self, message: Any, timeout: float | None = None) -> None:
        """Sends a message: any object, by reference.

        Never waits, unless `timeout` is given: for so many seconds it waits for room. Raises
        `FullError` if there is none, and `InHandlerError` if there is none in a handler.
        """
    def tell_all(self, messages: Iterable[Any]) -> None:
        """Sends all messages, with no other one between them, or none. Does not wait."""
    def ask(self, message: Any, timeout: float | None = None) -> Any:
        """Sends a question, and waits for the answer.

        Raises `NoAnswerError` if the actor drops it, and `TimeoutError` after the time.
        """
    def ask_async(self, message: Any) -> Awaitable[Any]:
        """Sends a question, and returns the answer as an awaitable of asyncio."""
    def swap(self, handler: _Handler, *, batch: int | None = None) -> Swap:
        """Replaces the handler of the actor, for all messages that are sent after this.

        If its `init` or one of its first ten messages fails, the old one comes back.
        """
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Inbox(Address):
    """A mailbox out of which one thread at a time receives. It is its own address, too."""

    def recv(self, timeout: float | None = None) -> Any:
        """Returns the next message, or None: if there is none now, or within `timeout` seconds.

        Raises `DisconnectedError` after the last one, once the group has ended.
        """
    def recv_many(self, max: int = 1024, timeout: float | None = None) -> list[Any]:
        """Returns up to `max` messages. If none is there, waits `timeout` seconds for one."""
    def recv_async(self) -> Awaitable[Any]:
        """Returns the next message as an awaitable of asyncio.

        One task at a time may wait; a second one gets `BusyError`.
        """
    def close(self) -> None:
        """Drops the inbox with its mail: senders get `DisconnectedError`.

        A thread or task that waits for it gets `ClosedError`; a `for` or `async for` over it ends.
        """
    @property
    def closed(self) -> bool:
        """True if the inbox was closed."""
    def __iter__(self) -> Self: ...
    def __next__(self) -> Any: ...
    def __aiter__(self) -> Self: ...
    def __anext__(self) -> Awaitable[Any]: ...
    def _poll(self, wakeups: _Wakeups, token: int) -> tuple[Any] | None: ...
    def _forget_waker(self) -> None: ...
    @staticmethod
    def _cancel() -> None: ...

@final
class InboxSet:
    """Any number of inboxes, for one thread that waits for all of them."""

    def __new__(cls) -> Self: ...
    def add(self, inbox: Inbox) -> None:
        """Adds an inbox, with the mail that it has. Raises `Error` if it is in a set already.

        In the set, call `recv()` or `recv_many()` without a timeout: other calls raise `Error`.
        """
    def remove(self, inbox: Inbox) -> bool:
        """Takes an inbox out of the set, with its mail; returns False if it is not in it."""
    def wait(self, timeout: float | None = None) -> list[Inbox]:
        """Waits until an inbox has mail, and returns all that have; none after the timeout.

        An inbox whose mail was not received is returned again by the next call. One that will get
        no mail any more is returned once. Raises `InHandlerError` in a handler if none has mail,
        unless the timeout is 0.
        """
    def __len__(self) -> int: ...

@final
class ActorContext:
    """The actor whose handler runs. It is invalid after the handler."""

    @property
    def name(self) -> str | None:
        """The name with which the actor was spawned."""
    def address(self) -> Address:
        """Returns an address of this actor. While it exists, the actor does not end by itself."""
    def stop(self) -> None:
        """Ends the actor after this handler: what waits in its mailbox is dropped."""
    def reply(self, value: Any) -> None:
        """Answers the question. The value that the handler returns is then ignored."""
    def question(self) -> Question | None:
        """Returns the question, to be answered later; None if the message is no question."""
    def tell_after(self, delay: float, message: Any) -> Timer:
        """Sends `message` to this actor after `delay` seconds."""
    def tell_every(self, period: float, message: Any) -> Timer:
        """Sends `message` to this actor every `period` seconds, unless the last one waits."""
    def watch(self, other: Address) -> None:
        """Watches another actor: `on_down(down, context)` is called once it has ended."""

@final
class Question:
    """A question, which any thread can answer once. If it is dropped, there is no answer."""

    @property
    def message(self) -> Any:
        """The message that was asked."""
    @property
    def cancelled(self) -> bool:
        """True if nobody waits for the answer any more, or if it was given."""
    def reply(self, value: Any) -> None:
        """Answers. Does not wait."""

@final
class Timer:
    """A timer of an actor. It goes on if this object is dropped, until the actor ends."""

    @property
    def cancelled(self) -> bool:
        """True if the timer was cancelled."""
    def cancel(self) -> None:
        """Cancels the timer: it sends no more messages, and one that waits is not handled."""

@final
class Down:
    """The end of an actor that another one watches."""

    @property
    def id(self) -> int:
        """The `id` of the actor's address."""
    @property
    def error(self) -> str | None:
        """The error by which it has failed for good; None if it has just ended."""

@final
class ActorCounters:
    """Counters of a group of actors."""

    @property
    def alive(self) -> int:
        """Number of actors and inboxes that exist."""
    @property
    def handled(self) -> int:
        """Number of messages that were handled, also those whose handler failed."""
    @property
    def failures(self) -> int:
        """Number of handlers that failed."""
    @property
    def undelivered(self) -> int:
        """Number of messages that were accepted, and dropped at the end of their actor."""

@final
class _Answer:
    def _poll(self, wakeups: _Wakeups, token: int) -> tuple[Any] | None: ...
    def _forget_waker(self) -> None: ...
    def _cancel(self) -> None: ...

def _actor_bursts() -> int: ...
