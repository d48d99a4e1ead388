"""Errors name the topic, the handle, the actor or the argument."""

import asyncio
import os
import re
import subprocess
import sys
import threading

import horus
import numpy as np
import pytest
from conftest import PATIENCE
from test_actor import actors

__all__ = ["actors"]


@pytest.fixture
def topic(namespace):
    return horus.Topic("cmd/vel", horus.CmdVel, namespace=namespace)


@pytest.fixture
def values(namespace):
    return horus.Topic("state", namespace=namespace, max_message_bytes=256)


CALLS = {
    "send": lambda end: end.send(horus.CmdVel()),
    "recv": lambda end: end.recv(),
    "wait": lambda end: end.recv(timeout=1),
    "latest": lambda end: end.latest(),
    "stats": lambda end: end.stats(),
    "lost": lambda end: end.lost,
    "sequence": lambda end: end.sequence,
    "subscriber_count": lambda end: end.subscriber_count(),
    "publisher_count": lambda end: end.publisher_count(),
    "backend": lambda end: end.backend,
    "wait_for_subscribers": lambda end: end.wait_for_subscribers(9),
    "wait_for_publishers": lambda end: end.wait_for_publishers(9),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_closed_handle_is_named(topic, call):
    topic.close()
    with pytest.raises(horus.ClosedError, match="topic 'cmd/vel' was closed: open a new one"):
        CALLS[call](topic)


@pytest.mark.parametrize("kind", [horus.Publisher, horus.Subscriber])
def test_it_says_which_end_was_closed(namespace, kind):
    end = kind("cmd/vel", horus.CmdVel, namespace=namespace)
    end.close()
    name = kind.__name__.lower()
    with pytest.raises(horus.ClosedError, match=f"the {name} of topic 'cmd/vel' was closed"):
        end.subscriber_count()


def test_every_call_in_a_forked_child_says_so(namespace):
    topic = horus.Topic("cmd/vel", horus.CmdVel, namespace=namespace)
    publisher = horus.Publisher("cmd/vel", horus.CmdVel, namespace=namespace)
    subscriber = horus.Subscriber("cmd/vel", horus.CmdVel, namespace=namespace)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        answers = []
        for end in (topic, publisher, subscriber):
            for name, call in CALLS.items():
                if not hasattr(type(end), {"wait": "recv"}.get(name, name)):
                    continue
                try:
                    call(end)
                    answers.append(f"{name} of a {type(end).__name__} was no error")
                except horus.ForkedError as error:
                    if "'cmd/vel'" not in str(error) or "after fork" not in str(error):
                        answers.append(f"{name}: {error}")
                except BaseException as error:
                    answers.append(f"{name}: {error!r}")
        os.write(write, "\n".join(answers).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answers:
        assert answers.read() == ""
    assert os.waitpid(child, 0)[1] == 0
    assert topic.stats().received == 0 and subscriber.subscriber_count() == 2


def test_what_was_not_sent_says_to_which_topic(topic, values, namespace):
    with pytest.raises(TypeError, match="topic 'cmd/vel' carries CmdVel, not int"):
        topic.send(5)
    with pytest.raises(TypeError, match="topic 'state': .*'set'.* cannot be sent"):
        values.send({"a": {1}})
    with pytest.raises(horus.SendFailedError, match="^topic 'state': a message of .* 256"):
        values.send("x" * 1000)
    full = horus.Topic("full", horus.CmdVel, qos="reliable", capacity=16, namespace=namespace)
    behind = rf"^topic 'full': process {os.getpid()} .* is a whole lane behind: try again"
    for call in (
        lambda: full.send(horus.CmdVel()),
        lambda: full.send(horus.CmdVel(), timeout=0.001),
    ):
        with pytest.raises(horus.FullError, match=behind):
            for _ in range(1000):
                call()
    images = horus.Topic("camera", horus.Image, namespace=namespace, max_message_bytes=1024)
    with pytest.raises(horus.SendFailedError, match="^topic 'camera': a message of .* 1024"):
        images.send(horus.Image(np.zeros((99, 99), np.uint8)))
    with pytest.raises(horus.SendFailedError, match="^topic 'camera': a message of .* 1024"):
        images.loan((99, 99))
    loan = images.loan((4, 4))
    with pytest.raises(horus.BusyError, match="topic 'camera'.*on loan"):
        images.loan((4, 4))
    del loan


BEHIND = """
import horus, os, sys
subscriber = horus.Subscriber(sys.argv[1], eval(sys.argv[2]), qos="reliable", capacity=16)
print("behind", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("horus.CmdVel", horus.CmdVel()),
        ("None", {"a": 1}),
        ("horus.Image", horus.Image(np.zeros((4, 4), np.uint8))),
    ],
)
@pytest.mark.parametrize("timeout", [None, 0.001])
def test_who_finds_no_room_is_told_which_process_is_behind(kind, message, timeout, namespace):
    process = subprocess.Popen(
        [sys.executable, "-c", BEHIND, "full", kind],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout.readline() == "behind\n"
        kind = eval(kind)
        full = horus.Publisher("full", kind, qos="reliable", capacity=16, namespace=namespace)
        wanted = f"topic 'full': process {process.pid} .*python.* is a whole lane behind"
        with pytest.raises(horus.FullError, match=wanted):
            for _ in range(1000):
                full.send(message, timeout=timeout)
        if isinstance(message, horus.Image):
            with pytest.raises(horus.FullError, match=wanted):
                full.loan((4, 4))
        process.stdin.close()


def test_a_handle_in_use_is_named(topic):
    waits = threading.Thread(target=lambda: pytest.raises(horus.ClosedError, topic.recv, 60))
    waits.start()
    try:
        with pytest.raises(horus.BusyError, match="topic 'cmd/vel'"):
            while True:
                topic.recv()
    finally:
        topic.close()
        waits.join()


# Each call with the wrong argument, which the error has to name.
WRONG_ARGUMENTS = [
    ("timeout", lambda topic: topic.recv(timeout="soon")),
    ("timeout", lambda topic: topic.recv("soon")),
    ("timeout", lambda topic: horus.WaitSet().wait(timeout="soon")),
    ("reliability", lambda topic: horus.Topic("x", reliability=5)),
    ("capacity", lambda topic: horus.Topic("x", capacity="many")),
    ("history", lambda topic: horus.Topic("x", history=-1)),
    ("pinnable", lambda topic: horus.Topic("x", pinnable="yes")),
    ("wake_barrier", lambda topic: horus.Topic("x", wake_barrier=1.5)),
    ("qos", lambda topic: horus.Topic("x", qos=5)),
    ("publishers_max", lambda topic: horus.Topic("x", publishers_max=[])),
    ("detach_stalled_after", lambda topic: horus.Topic("x", detach_stalled_after="late")),
    ("detach_stalled_after", lambda topic: horus.Topic("x", detach_stalled_after=-1)),
    ("max_message_bytes", lambda topic: horus.Topic("x", max_message_bytes=-1)),
    ("namespace", lambda topic: horus.Topic("x", namespace="robot")),
    ("observe", lambda topic: horus.Subscriber("x", observe="yes")),
    ("name", lambda topic: horus.Topic(5)),
    ("shape", lambda topic: horus.Topic("x", horus.Image).loan("large")),
    ("CmdVel.linear", lambda topic: horus.CmdVel(linear="fast")),
    ("Imu.frame_id", lambda topic: horus.Image(frame_id=5)),
    ("'arm': rate", lambda topic: horus.Node("arm", tick=print, rate="fast")),
    ("'arm': budget", lambda topic: horus.Node("arm", tick=print, budget=-1)),
    ("'arm': priority", lambda topic: horus.Node("arm", tick=print, priority=1000)),
    ("'arm': core", lambda topic: horus.Node("arm", tick=print, core="first")),
    ("'arm': chain", lambda topic: horus.Node("arm", tick=print, chain=5)),
    ("'arm': on_miss", lambda topic: horus.Node("arm", tick=print, on_miss=5)),
    ("'arm': failure_policy", lambda topic: horus.Node("arm", tick=print, failure_policy=5)),
    ("'arm': subs", lambda topic: horus.Node("arm", tick=print, subs={5: None})),
    ("'arm': pubs", lambda topic: horus.Node("arm", tick=print, pubs=[5])),
    ("'arm': on", lambda topic: horus.Node("arm", tick=print, on=[5], subs="x")),
    ("name", lambda topic: horus.Node(5, tick=print)),
    ("duration", lambda topic: horus.Scheduler("x").run_for("long")),
    ("main_rate", lambda topic: horus.Scheduler("x", main_rate=-1)),
    ("on_event", lambda topic: horus.Scheduler("x", on_event=5)),
]


@pytest.mark.parametrize(("argument", "call"), WRONG_ARGUMENTS, ids=lambda value: str(value)[:24])
def test_a_wrong_argument_is_named(topic, argument, call):
    argument = argument.replace("Imu.", "Image.")
    with pytest.raises((TypeError, ValueError, OverflowError, horus.Error)) as caught:
        call(topic)
    # For most errors, PyO3 adds a note, which Python shows below the text.
    texts = [str(caught.value), *getattr(caught.value, "__notes__", [])]
    assert any(argument in text for text in texts), texts


def test_a_node_s_policies_are_checked_when_it_is_made():
    def tick(context):
        pass

    table = [
        ({"rate": -1}, horus.PlanError, "node 'arm': rate: a rate has to be .*, and not -1"),
        ({"rate": 0}, horus.PlanError, "node 'arm': rate"),
        ({"rate": float("nan")}, horus.PlanError, "node 'arm': rate"),
        ({"on_miss": "weep"}, ValueError, "'arm': on_miss: 'weep', and must be 'warn'"),
        ({"failure_policy": "hope"}, ValueError, "'arm': failure_policy: 'hope', and must"),
        ({"budget": -1.0}, ValueError, "node 'arm': budget.*give 0 or more"),
    ]
    for settings, error, text in table:
        with pytest.raises(error, match=text):
            horus.Node("arm", tick=tick, **settings)


def test_a_hook_with_wrong_parameters_is_refused_when_its_node_is_added(namespace):
    scheduler = horus.Scheduler("robot", namespace)

    class Arm(horus.Node):
        def tick(self):
            pass

    class Leg(horus.Node):
        def tick(self, context):
            pass

        def shutdown(self, context):
            pass

    def gained(context, gain):
        pass

    async def asynchronous():
        pass

    for node, text in [
        (Arm("arm"), r"node 'arm': tick is .* \(\), .* tick\(context\): too many .*: give it one"),
        (horus.Node("arm", tick=gained), r"\(context, gain\), .* a required argument: 'gain'"),
        (horus.Node("arm", tick=lambda context, *, gain: 0), "'gain'"),
        (horus.Node("arm", tick=asynchronous), "tick is defined"),
        (horus.Node("arm", tick=print, init=lambda: 0), r"'arm': init is .* init\(context\)"),
        (Leg("leg"), r"node 'leg': shutdown is .* shutdown\(\): .*: give it no parameters"),
    ]:
        node._pubs = {"opened": None}
        with pytest.raises(horus.PlanError, match=text):
            scheduler.add(node)
    assert horus.topics(namespace) == []
    for tick in (print, lambda *all: 0, lambda context, gain=1: 0, gained.__get__(1), int):
        scheduler.add(horus.Node(f"n{id(tick)}", tick=tick))


def test_what_is_no_node_is_refused_before_anything_runs(namespace):
    opened = []

    class Mine(horus.Node):
        def tick(self, context):
            opened.append(self.name)

    first = horus.Node("first", tick=lambda context: opened.append("first"), pubs="x")
    for wrong, text in [
        ((), re.escape("run() has no nodes: give it at least one")),
        ((first, Mine), re.escape("not the class Mine: create an instance, Mine(")),
        ((first, print), "a horus.Node is wanted, not <built-in function print>"),
    ]:
        with pytest.raises(TypeError, match=text):
            horus.run(*wrong, namespace=namespace)
    assert opened == [] and horus.topics(namespace) == []


def test_errors_name_the_actor(actors):
    held = threading.Event()

    def waits(message, context):
        held.wait(PATIENCE)
        context.question()

    address = actors.spawn(waits, name="slow")
    named = "^actor 'slow' of group 'fleet': "
    with pytest.raises(TimeoutError, match=f"{named}the answer did not come in time"):
        address.ask(1, timeout=0.01)
    held.set()
    with pytest.raises(horus.NoAnswerError, match=f"{named}there is no answer"):
        actors.find("slow").ask(1, timeout=PATIENCE)

    async def asks(address):
        await asyncio.wait_for(address.ask_async(1), PATIENCE)

    with pytest.raises(horus.NoAnswerError, match=f"{named}there is no answer"):
        asyncio.run(asks(address))


def test_a_full_mailbox_refuses_and_makes_room(actors):
    held = threading.Event()
    address = actors.spawn(lambda message, context: held.wait(PATIENCE), mailbox=4)
    for number in range(4):
        address.tell(number)
    place = "^an actor without a name of group 'fleet': "
    with pytest.raises(horus.FullError, match=f"{place}.* full"):
        address.tell(4)
    with pytest.raises(horus.FullError, match=f"{place}.* stayed full"):
        address.tell(4, timeout=0.01)
    with pytest.raises(horus.FullError, match=f"{place}.*2 messages"):
        address.tell_all([4, 5])
    with pytest.raises(horus.FullError, match=f"{place}the question was not sent"):
        address.ask(4)
    with pytest.raises(horus.FullError, match=f"{place}the actor was not replaced"):
        address.swap(lambda message, context: None)
    threading.Timer(0.02, held.set).start()
    address.tell(4, timeout=PATIENCE)
    assert issubclass(horus.FullError, horus.SendFailedError)
