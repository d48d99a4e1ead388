"""Callables whose calls return a coroutine or generator, whose body nobody would run."""

import functools
import sys
import threading

import horus
import pytest

# The time limit in seconds of waits that must succeed, on a slow machine.
PATIENCE = 60


@pytest.fixture
def scheduler(namespace):
    return horus.Scheduler("test", namespace)


@pytest.fixture
def actors():
    with horus.Actors("group") as group:
        yield group


def generates(*_):
    yield


async def generates_asynchronously(*_):
    yield


async def waits(*_):
    pass


class Generates:
    def __call__(self, *_):
        yield


class Waits:
    async def __call__(self, *_):
        pass


GENERATORS = {
    "function": generates,
    "asynchronous": generates_asynchronously,
    "object": Generates(),
    "method": Generates().__call__,
    "partial": functools.partial(generates, 1),
    "partial object": functools.partial(Generates(), 1),
}
COROUTINES = {
    "function": waits,
    "object": Waits(),
    "method": Waits().__call__,
    "partial": functools.partial(waits, 1),
    "partial object": functools.partial(Waits(), 1),
}
# A function that cannot be seen to return one of these before it is called.
HIDDEN = {
    "coroutine": lambda *_: waits(),
    "generator": lambda *_: generates(),
    "async_generator": lambda *_: generates_asynchronously(),
}
HOOKS = ["init", "shutdown", "enter_safe_state", "safe_state"]
ignoring_the_warning = pytest.mark.filterwarnings("ignore:coroutine.*never awaited")


@pytest.mark.parametrize("kind", GENERATORS)
@pytest.mark.parametrize("hook", ["tick", *HOOKS])
def test_a_node_refuses_generator_functions(scheduler, hook, kind):
    calls = {"tick": print, hook: GENERATORS[kind]}
    with pytest.raises(horus.PlanError, match=f"node 'n': {hook} is a generator function"):
        scheduler.add(horus.Node("n", **calls))


def test_a_node_without_a_tick_is_refused(scheduler):
    class Forgot(horus.Node):
        def tock(self, context):
            pass

    for node in (horus.Node("n", rate=10), Forgot("n")):
        with pytest.raises(horus.PlanError, match="^node 'n' has no tick: pass one, or define it$"):
            scheduler.add(node)


def test_a_partial_object_is_asynchronous_as_its_function_is(scheduler):
    done = []

    class Arm:
        async def __call__(self, text, context):
            done.append(text)
            context.stop()

    scheduler.add(horus.Node("arm", tick=functools.partial(Arm(), "moved")))
    scheduler.run_for(PATIENCE)
    assert done == ["moved"]


@ignoring_the_warning
@pytest.mark.parametrize("kind", HIDDEN)
@pytest.mark.parametrize("hook", ["tick", "init", "shutdown"])
def test_a_call_that_returns_one_is_a_failure_of_the_node(scheduler, hook, kind):
    calls = {"tick": lambda context: context.tick < 3 or context.stop(), hook: HIDDEN[kind]}
    scheduler.add(horus.Node("n", **calls))
    report = scheduler.run_for(PATIENCE, check=False)
    assert f"the result is a {kind}, whose body never runs" in report.node("n").last_error


@ignoring_the_warning
@pytest.mark.parametrize("hook", ["enter_safe_state", "is_safe_state", "on_error"])
def test_a_safe_state_that_returns_one_is_reported(scheduler, hook, monkeypatch):
    def fails(context):
        raise ValueError("no battery")

    reported = []
    monkeypatch.setattr(sys, "unraisablehook", lambda error: reported.append(error.exc_value))
    node = horus.Node("n", tick=fails)
    setattr(node, hook, HIDDEN["coroutine"])
    scheduler.add(node)
    scheduler.run(check=False)
    assert any("the result is a coroutine" in str(error) for error in reported), reported


@ignoring_the_warning
def test_a_safe_state_for_hangs_that_returns_one_is_reported(scheduler, monkeypatch):
    is_reported = threading.Event()
    reported = []

    def report(error):
        reported.append(error.exc_value)
        is_reported.set()

    def hang(context):
        is_reported.wait(PATIENCE)
        context.stop()

    monkeypatch.setattr(sys, "unraisablehook", report)
    safe_state = HIDDEN["coroutine"]
    scheduler.add(horus.Node("hangs", tick=hang, watchdog=0.05, safe_state=safe_state))
    scheduler.run()
    assert any("the result is a coroutine" in str(error) for error in reported), reported


@ignoring_the_warning
def test_a_function_for_events_that_returns_one_is_reported(namespace, monkeypatch):
    reported = []
    monkeypatch.setattr(sys, "unraisablehook", lambda error: reported.append(error.exc_value))
    horus.run(
        horus.Node("n", tick=lambda context: context.stop()),
        namespace=namespace,
        on_event=HIDDEN["coroutine"],
    )
    assert any("the result is a coroutine" in str(error) for error in reported), reported


def object_with(name, call):
    return type("Handler", (), {"handle": lambda *_: None, name: staticmethod(call)})()


@pytest.mark.parametrize("kind", COROUTINES)
def test_an_actor_refuses_asynchronous_functions(actors, kind):
    for handler in (COROUTINES[kind], object_with("handle", COROUTINES[kind])):
        with pytest.raises(TypeError, match="the handler is asynchronous"):
            actors.spawn(handler)


@pytest.mark.parametrize("kind", GENERATORS)
def test_an_actor_refuses_generator_functions(actors, kind):
    for handler in (GENERATORS[kind], object_with("handle", GENERATORS[kind])):
        with pytest.raises(TypeError, match="the handler is a generator function"):
            actors.spawn(handler)


@pytest.mark.parametrize("hook", ["init", "shutdown", "on_down", "on_error"])
def test_an_actor_refuses_such_hooks(actors, hook):
    with pytest.raises(TypeError, match=f"{hook} of the handler is asynchronous"):
        actors.spawn(object_with(hook, waits))
    with pytest.raises(TypeError, match=f"{hook} of the handler is a generator function"):
        actors.spawn(object_with(hook, generates))


@ignoring_the_warning
@pytest.mark.parametrize("kind", HIDDEN)
@pytest.mark.parametrize("batch", [None, 8])
def test_a_handler_that_returns_one_fails(namespace, kind, batch):
    scheduler = horus.Scheduler("test", namespace)
    group = scheduler.actors("group")
    group.spawn(HIDDEN[kind], batch=batch, failure_policy="fatal").tell(1)
    with pytest.raises(horus.NodeFailedError, match=f"the result is a {kind}"):
        scheduler.run_for(PATIENCE)


def test_a_handler_may_answer_with_a_generator(actors):
    answer = actors.spawn(lambda *_: (number for number in range(3))).ask(1, timeout=PATIENCE)
    assert list(answer) == [0, 1, 2]
