"""Nodes: their hooks, their settings and their topics.

    import horus

    class Controller(horus.Node):
        def tick(self, context):
            imu = self.recv("imu")
            if imu is not None:
                self.send("cmd_vel", horus.CmdVel(linear=0.5))

        def enter_safe_state(self):
            self.send("cmd_vel", horus.CmdVel())

        def shutdown(self):
            self.send("cmd_vel", horus.CmdVel())

    horus.run(Controller(rate=100, subs={"imu": horus.Imu}, pubs={"cmd_vel": horus.CmdVel}))
"""

from __future__ import annotations

import functools
import inspect
import os

# WHY imported but unused: Python takes the thread that imports it first for the main thread.
import threading  # noqa: F401
import traceback
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Union

from . import _loop
from ._horus import (
    ClosedError,
    PlanError,
    Publisher,
    Scheduler,
    SchedulerError,
    Subscriber,
    Topic,
    _check_settings,
)

if TYPE_CHECKING:
    from ._horus import Context, Namespace, Report
    from ._messages import NodeEvent

__all__ = ["Node", "NodeFailedError", "Restart", "Skip", "run"]


class NodeFailedError(SchedulerError):
    """A node failed, and its failure ended the run.

    Its cause is the exception of the node, if there was one. `report` describes the whole run.
    """

    __module__ = "horus"

    def __init__(self, message: str, report: Report) -> None:
        super().__init__(message)
        self.report = report


class _Restart(NamedTuple):
    policy: Literal["restart"]
    max: int
    backoff: float


class _Skip(NamedTuple):
    policy: Literal["skip"]
    max: int
    cooldown: float


def Restart(max: int = 3, backoff: float = 0.1) -> _Restart:
    """Returns the policy that initialises a failed node again after `backoff` seconds.

    The pause doubles each time, up to a minute; a longer `backoff` counts as a minute. After `max`
    consecutive restarts, one more failure is fatal. Failures more than a minute apart are not
    consecutive.
    """
    return _Restart("restart", max, backoff)


def Skip(max: int = 3, cooldown: float = 1.0) -> _Skip:
    """Returns the policy that skips a failed tick and continues the node.

    After more than `max` consecutive failures, the node rests for `cooldown` seconds. Failures more
    than a minute apart do not count.
    """
    return _Skip("skip", max, cooldown)


if TYPE_CHECKING:
    _Miss = Literal["warn", "skip", "safe_mode", "graduated", "stop"]
    _Policy = Union[Literal["fatal", "ignore"], _Restart, _Skip]
    _Publishes = Union[type[Any], Publisher[Any], Topic[Any], None]
    _Receives = Union[type[Any], Subscriber[Any], Topic[Any], None]


class Node:
    """A part of a robot's program that a scheduler runs.

    Pass a `tick`, or derive a class that has one. Times are in seconds, rates in hertz.

    `pubs` and `subs` map the names of its topics to the class of the messages, to `None` for dicts,
    or to a publisher, subscriber or topic that is open already. For dicts, a list of names is
    enough. Adding the node to a scheduler opens the topics, in the namespace of the scheduler.
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        tick: Callable[[Context], object] | None = None,
        init: Callable[[Context], object] | None = None,
        shutdown: Callable[[], object] | None = None,
        enter_safe_state: Callable[[], object] | None = None,
        safe_state: Callable[[], object] | None = None,
        rate: float | None = None,
        order: int = 0,
        budget: float | None = None,
        deadline: float | None = None,
        on_miss: _Miss | None = None,
        failure_policy: _Policy | None = None,
        watchdog: float | None = None,
        priority: int | None = None,
        core: int | None = None,
        stay_awake: bool = False,
        chain: str | None = None,
        compute: bool = False,
        on: str | Iterable[str] = (),
        at_most: float | None = None,
        miss_if_sooner_than: float | None = None,
        checkpoints: int | None = None,
        pubs: Mapping[str, _Publishes] | Iterable[str] | str = (),
        subs: Mapping[str, _Receives] | Iterable[str] | str = (),
    ) -> None:
        hooks = {
            "tick": tick,
            "init": init,
            "shutdown": shutdown,
            "enter_safe_state": enter_safe_state,
            "safe_state": safe_state,
        }
        if name is None:
            name = type(self).__name__ if tick is None else getattr(tick, "__name__", "node")
        if not isinstance(name, str):
            raise TypeError(f"the name of a node is {name!r}: give a str")
        self.name = name
        for hook, call in hooks.items():
            if call is None:
                continue
            if not callable(call):
                raise TypeError(f"node '{name}': {hook} is {call!r}: give a callable")
            setattr(self, hook, call)
        self._spec = {
            "rate": rate,
            "order": order,
            "budget": budget,
            "deadline": deadline,
            "on_miss": on_miss,
            "failure_policy": failure_policy,
            "watchdog": watchdog,
            "priority": priority,
            "core": core,
            "stay_awake": stay_awake,
            "chain": chain,
            "compute": compute,
            "at_most": at_most,
            "miss_if_sooner_than": miss_if_sooner_than,
            "checkpoints": checkpoints,
        }
        _check_settings(name, self._spec)
        self._on = tuple(_named(name, "on", on))
        self._pubs = _named(name, "pubs", pubs)
        self._subs = _named(name, "subs", subs)
        self._publishers: dict[str, Publisher[Any] | Topic[Any]] = {}
        self._subscribers: dict[str, Subscriber[Any] | Topic[Any]] = {}
        self._in_scheduler: Callable[[], Scheduler | None] | None = None
        self._opened: list[Publisher[Any] | Subscriber[Any]] = []
        self._former = self._publishers, self._subscribers
        unknown = [topic for topic in self._on if topic not in self._subs]
        if unknown:
            raise PlanError(f"node '{name}': '{unknown[0]}' of on is not in its subs: add it")

    def tick(self, context: Context) -> object:
        """Does the work of one tick.

        If it is `async def`, other asynchronous nodes run while it awaits. They all share one
        thread, and each has its own asyncio loop.
        """
        raise NotImplementedError(f"node '{self.name}' has no tick: pass one, or define it")

    def init(self, context: Context) -> object:
        """Is called once before the first tick of any node, and again after a restart or swap."""

    def shutdown(self) -> object:
        """Is called after the last tick, and before each restart.

        At a regular end of the run, such as Ctrl-C, only this is called, and not
        `enter_safe_state`: a node that drives something stops it in both.
        """

    def enter_safe_state(self) -> object:
        """Brings the devices of the node into a state that is safe for people and machine.

        Is called in an emergency stop, by a policy, and at the end of a run that failed. A node
        without it only stops to tick in an emergency stop, and counts as safe; its last command
        stays in force.
        """

    def safe_state(self) -> object:
        """Is called once while a tick of the node hangs, by another thread.

        It must not wait for anything that the tick holds. While the tick keeps the GIL, as in a C
        call, no Python code can run. A `ctypes` function of a C library is called even then.
        """

    def is_safe_state(self) -> bool:
        """Returns whether the safe state has been reached.

        Is called after `enter_safe_state`, and then before each tick and at least every 20 ms,
        until it returns true. Until then, the node does not count as safe.
        """
        return True

    def on_error(self, error: BaseException) -> object:
        """Is called after every failure of this node, before its policy is applied."""

    def send(self, topic: str, message: Any) -> None:
        """Publishes a message on one of the node's topics. Never blocks."""
        try:
            publisher = self._publishers[topic]
        except KeyError:
            raise self._unknown(topic, self._pubs, "pubs") from None
        publisher.send(message)

    def recv(self, topic: str) -> Any:
        """Returns the next message of one of the node's topics, or `None`. Never blocks."""
        try:
            subscriber = self._subscribers[topic]
        except KeyError:
            raise self._unknown(topic, self._subs, "subs") from None
        return subscriber.recv()

    def latest(self, topic: str) -> Any:
        """Returns the newest message of a topic that was not received yet, or `None`.

        Never blocks. Older messages are skipped.
        """
        try:
            subscriber = self._subscribers[topic]
        except KeyError:
            raise self._unknown(topic, self._subs, "subs") from None
        return subscriber.latest()

    def publisher(self, topic: str) -> Publisher[Any] | Topic[Any]:
        """Returns the publisher by which the node sends on a topic."""
        if topic not in self._publishers:
            raise self._unknown(topic, self._pubs, "pubs")
        return self._publishers[topic]

    def subscriber(self, topic: str) -> Subscriber[Any] | Topic[Any]:
        """Returns the subscriber by which the node receives from a topic."""
        if topic not in self._subscribers:
            raise self._unknown(topic, self._subs, "subs")
        return self._subscribers[topic]

    def _unknown(self, topic: str, known: Mapping[str, object], where: str) -> Exception:
        if topic in known:
            return ClosedError(f"node '{self.name}': no topics are open: add it to a scheduler")
        names = ", ".join(known) or "none"
        return KeyError(f"node '{self.name}' has no '{topic}' in its {where}; there are: {names}")

    def _settings(self, namespace: Namespace | None) -> dict[str, Any]:
        """Opens the topics, and returns the settings for the scheduler."""
        hooks = ("init", "shutdown", "enter_safe_state", "safe_state", "is_safe_state", "on_error")
        for hook in ("tick", *hooks):
            if _is_generator(getattr(self, hook)):
                raise PlanError(
                    f"node '{self.name}': {hook} is a generator function, whose body would never "
                    "run: remove its yield"
                )
        for hook in hooks:
            if _is_async(getattr(self, hook)):
                raise PlanError(
                    f"node '{self.name}' has an asynchronous {hook}: only tick may be async def"
                )
            _check_parameters(self.name, hook, getattr(self, hook), _PARAMETERS.get(hook, ()))
        if getattr(self.tick, "__func__", None) is Node.tick:
            raise PlanError(f"node '{self.name}' has no tick: pass one, or define it")
        _check_parameters(self.name, "tick", self.tick, ("context",))
        self._open_topics({} if namespace is None else {"namespace": namespace})
        settings: dict[str, Any] = dict(self._spec)
        settings["name"] = self.name
        settings["tick"] = self.tick
        if _is_async(self.tick):
            ticks = settings["ticks"] = _loop.Ticks(self.name, self.tick)
            settings["tick"] = ticks.turn
        for hook in hooks:
            call = getattr(self, hook)
            # WHY: a hook that does nothing needs no call from the scheduler.
            if getattr(call, "__func__", None) is not getattr(Node, hook):
                settings[hook] = call
        settings["on"] = [self._subscribers[topic] for topic in self._on]
        settings["writes"] = [end.name for end in self._publishers.values()]
        settings["reads"] = [
            self._subscribers[topic] for topic in self._subs if topic not in self._on
        ]
        return settings

    def _open_topics(self, where: dict[str, Any]) -> None:
        self._opened = []
        self._former = self._publishers, self._subscribers
        self._publishers, self._subscribers = {}, {}
        try:
            for topic, sent in self._pubs.items():
                if not isinstance(sent, (Publisher, Topic)):
                    sent = Publisher(topic, sent, **where)
                    self._opened.append(sent)
                self._publishers[topic] = sent
            for topic, received in self._subs.items():
                if not isinstance(received, (Subscriber, Topic)):
                    received = Subscriber(topic, received, **where)
                    self._opened.append(received)
                self._subscribers[topic] = received
        except BaseException:
            self._close_opened()
            raise

    def _keep_opened(self, scheduler: Callable[[], Scheduler | None]) -> None:
        """Is called when a scheduler has taken the node, with a weak reference to it."""
        self._in_scheduler = scheduler
        self._opened, self._former = [], ({}, {})

    def _close_opened(self) -> None:
        """Closes what `_open_topics` has opened, because no scheduler has taken the node."""
        for end in self._opened:
            end.close()
        self._opened = []
        self._publishers, self._subscribers = self._former

    def __repr__(self) -> str:
        return f"<horus.{type(self).__name__} '{self.name}'>"


def run(
    *nodes: Node,
    duration: float | None = None,
    name: str | None = None,
    namespace: Namespace | None = None,
    stop_on_signals: bool = True,
    on_event: Callable[[NodeEvent], object] | None = None,
    check: bool = True,
) -> Report:
    """Runs nodes until a node, a command or a signal stops them, or for `duration` seconds.

    Ctrl-C shuts all nodes down in order, and then raises `KeyboardInterrupt`. If a node failed and
    ended the run, it raises `NodeFailedError`. If `check` is false, it returns the report instead.
    """
    if not nodes:
        raise TypeError("run() has no nodes: give it at least one, such as run(MyNode(rate=100))")
    for node in nodes:
        expect_node(node)
    scheduler = Scheduler(
        name, namespace, stop_on_signals=stop_on_signals, on_event=on_event
    )
    for node in nodes:
        scheduler.add(node)
    if duration is None:
        return scheduler.run(check=check)
    return scheduler.run_for(duration, check=check)


def expect_node(node: object) -> None:
    """Raises `TypeError` unless `node` is an instance of `Node`."""
    if isinstance(node, type) and issubclass(node, Node):
        name = node.__name__
        text = f"a horus.Node is wanted, not the class {name}"
        raise TypeError(f"{text}: create an instance, {name}(rate=100)")
    if not isinstance(node, Node):
        raise TypeError(f"a horus.Node is wanted, not {node!r}")


def _named(
    node: str, setting: str, topics: Mapping[str, Any] | Iterable[str] | str
) -> dict[str, Any]:
    """Returns the topics of a setting by name, with `None` for those that have no class."""
    if isinstance(topics, str):
        return {topics: None}
    named = dict(topics) if isinstance(topics, Mapping) else dict.fromkeys(topics)
    for topic in named:
        if not isinstance(topic, str):
            raise TypeError(f"node '{node}': {setting} has {topic!r} as a topic name: give a str")
    return named


# `FUNCFLAG_PYTHONAPI` of `ctypes`. It marks functions of `PyDLL`, `pythonapi` and `PYFUNCTYPE`.
_PYTHON_API = 4


def _needs_gil(function: Any) -> bool:
    """Returns True if a `ctypes` function calls Python code, or belongs to the Python API."""
    if getattr(function, "_flags_", 0) & _PYTHON_API:
        return True
    kept = getattr(function, "_objects", None) or {}
    return any(type(kept).__name__ == "CThunkObject" for kept in kept.values())


# The parameters of the hooks that have some.
_PARAMETERS = {"init": ("context",), "on_error": ("error",)}


def _check_parameters(node: str, hook: str, call: Any, given: tuple[str, ...]) -> None:
    """Raises `PlanError` if `call` cannot be called with as many arguments as `given` has."""
    if getattr(call, "__func__", None) is getattr(Node, hook):
        return
    try:
        signature = inspect.signature(call)
    except (TypeError, ValueError):
        # A function of C, whose parameters are not known.
        return
    try:
        signature.bind(*given)
    except TypeError as error:
        called = f"{hook}({', '.join(given)})"
        wanted = f"one parameter, the {given[0]}" if given else "no parameters"
        raise PlanError(
            f"node '{node}': {hook} is defined with the parameters {signature}, and is called as "
            f"{called}: {error}: give it {wanted}"
        ) from None


def _functions(call: object) -> tuple[object, object]:
    """Returns the two objects of which one may be the function that a call of `call` executes."""
    while isinstance(call, functools.partial):
        call = call.func
    return call, getattr(type(call), "__call__", None)


def _is_async(call: object) -> bool:
    """Returns True if a call of `call` returns a coroutine."""
    return any(map(inspect.iscoroutinefunction, _functions(call)))


def _is_generator(call: object) -> bool:
    """Returns True if a call of `call` returns a generator, and runs nothing of its body."""
    return any(
        inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)
        for function in _functions(call)
    )


def _describe(error: BaseException) -> str:
    """Returns one line with text and place of an exception, and the traceback below.

    The place is the last one outside of this package: the line of the user's program.
    """
    try:
        line = traceback.format_exception_only(error)[-1].strip().splitlines()[0]
    except Exception:
        line = type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    package = os.path.dirname(__file__)
    outside = [frame for frame in frames if os.path.dirname(frame.filename) != package]
    if frames:
        frame = (outside or frames)[-1]
        place = f"{os.path.basename(frame.filename)}:{frame.lineno} in {frame.name}"
        line = f"{line[:80]} ({place})"
    return line + "\n" + "".join(traceback.format_exception(error))
