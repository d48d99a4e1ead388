"""The pairs of programs that a newcomer writes first, without agreeing on any setting: in Python and
C++, each end in a process of its own, and started in either order."""

import os
import shutil
import subprocess
import sys

import horus
import numpy as np
import pytest
from conftest import ROOT
from test_cpp import library

# The same program as `horus_cpp/tests/cpp/newcomer.cpp`.
NEWCOMER = """
import sys
import horus, numpy as np

end, preset = sys.argv[1:]
qos = {} if preset == "default" else {"qos": preset}
role, kind = end.split("-")
topic, message = ("cmd_vel", horus.CmdVel) if kind == "command" else ("camera/rgb", horus.Image)
one = (horus.Publisher if role == "publish" else horus.Subscriber)(topic, message, **qos)

def meet():
    print("open", flush=True)
    assert sys.stdin.readline() == "\\n"

meet()
for number in (1, 2, 3):
    if role == "publish" and kind == "command":
        one.send(horus.CmdVel(timestamp_ns=number, linear=number * 0.5, angular=-1))
    elif role == "publish" and number == 2:
        one.send(horus.Image(np.full((1080, 1920, 3), number, np.uint8), timestamp_ns=number))
    elif role == "publish":
        loan = one.loan((1080, 1920, 3), np.uint8, timestamp_ns=number)
        loan.to_numpy()[:] = number
        loan.publish()
    else:
        found = one.recv(timeout=60)
        assert found.timestamp_ns == number
        if kind == "command":
            assert found.linear == number * 0.5
        else:
            assert found.to_numpy().shape == (1080, 1920, 3)
            assert (found.to_numpy() == number).all()
print("done", flush=True)
sys.stdin.read()
"""

PAIRS = [
    ("command", "command", "default"),
    ("command", "reliable", "default"),
    ("command", "reliable", "reliable"),
    ("image", "default", "default"),
]


@pytest.fixture(scope="module")
def cpp(tmp_path_factory):
    """Compiles the program of C++; returns its command and environment."""
    if shutil.which("c++") is None:
        pytest.skip("there is no C++ compiler: apt-get install g++")
    where = library()
    binary = tmp_path_factory.mktemp("newcomer") / "newcomer"
    source = ROOT / "horus_cpp/tests/cpp/newcomer.cpp"
    command = ["c++", "-std=c++17", str(source), "-o", str(binary)]
    command += [f"-I{ROOT}/horus_cpp/include", f"-L{where}", "-lhorus_cpp"]
    subprocess.run(command, check=True)
    return [str(binary)], {"LD_LIBRARY_PATH": where}


def opened(command, environment, end, preset):
    """Starts a program, and returns it when its end is open."""
    process = subprocess.Popen(
        [*command, end, preset],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    assert process.stdout.readline() == "open\n"
    return process


def meet(programs, kind, presets, publisher_first):
    ends = [
        (*program, f"{role}-{kind}", preset)
        for program, role, preset in zip(
            programs, ("publish", "subscribe"), presets, strict=True
        )
    ]
    if publisher_first:
        publisher, subscriber = opened(*ends[0]), opened(*ends[1])
    else:
        subscriber, publisher = opened(*ends[1]), opened(*ends[0])
    for process in (publisher, subscriber):
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "done\n"
    for process in (subscriber, publisher):
        process.communicate()
        assert process.returncode == 0


@pytest.mark.parametrize("publisher_first", [True, False])
@pytest.mark.parametrize(("kind", "publisher", "subscriber"), PAIRS)
def test_python_ends_meet_in_either_order(
    directory, kind, publisher, subscriber, publisher_first
):
    python = ([sys.executable, "-c", NEWCOMER], {})
    meet((python, python), kind, (publisher, subscriber), publisher_first)


@pytest.mark.parametrize("publisher_first", [True, False])
@pytest.mark.parametrize("kind", ["command", "image"])
@pytest.mark.parametrize("publisher", ["cpp", "python"])
def test_python_and_cpp_meet_in_either_order(directory, cpp, publisher, kind, publisher_first):
    python = ([sys.executable, "-c", NEWCOMER], {})
    programs = (cpp, python) if publisher == "cpp" else (python, cpp)
    preset = "command" if kind == "command" else "default"
    meet(programs, kind, (preset, "default"), publisher_first)


def test_who_requests_more_than_is_offered_is_told(namespace):
    plain = horus.Subscriber("matched", horus.CmdVel, namespace=namespace)
    demanding = horus.Subscriber("matched", horus.CmdVel, namespace=namespace, qos="reliable")
    assert demanding.recv() is None
    careless = horus.Publisher("matched", horus.CmdVel, namespace=namespace, qos="command")
    careless.send(horus.CmdVel(timestamp_ns=1))
    assert plain.recv().timestamp_ns == 1
    wanted = (
        "topic 'matched': this subscriber requests reliable, .* request best effort, .*"
        rf"\(process {os.getpid()} \(.+\) offers best effort\)$"
    )
    for call in (demanding.recv, demanding.latest, lambda: demanding.recv(timeout=60)):
        with pytest.raises(horus.IncompatibleError, match=wanted):
            call()
    with pytest.raises(horus.IncompatibleError, match=wanted):
        next(demanding)
    options = {"namespace": namespace, "qos": "reliable", "capacity": 2}
    careful = horus.Publisher("matched", horus.CmdVel, **options)
    careful.send(horus.CmdVel(timestamp_ns=2))
    assert demanding.recv(timeout=60).timestamp_ns == 2
    assert plain.recv().timestamp_ns == 2
    assert demanding.recv() is None
    stats = demanding.stats()
    assert (stats.sent, stats.received, stats.waiting) == (1, 1, 0)


@pytest.mark.parametrize("publisher_first", [True, False])
def test_a_topic_may_carry_two_types(namespace, publisher_first):
    if publisher_first:
        twists = horus.Publisher("typed", horus.Twist, namespace=namespace)
    commands = horus.Subscriber("typed", horus.CmdVel, namespace=namespace)
    if not publisher_first:
        twists = horus.Publisher("typed", horus.Twist, namespace=namespace)
    twists.send(horus.Twist())
    here = rf"process {os.getpid()} \(.+\)"
    wanted = rf"topic 'typed': .* another type .*\({here} sends 'Twist', this .* reads 'CmdVel'\)$"
    for call in (commands.recv, commands.latest, lambda: commands.recv(timeout=60)):
        with pytest.raises(horus.IncompatibleError, match=wanted):
            call()
    untyped = horus.Subscriber("typed", namespace=namespace)
    kind = "values of any kind, because it has no message class"
    with pytest.raises(horus.IncompatibleError, match=rf"sends 'Twist', this .* reads {kind}\)$"):
        untyped.recv()
    untyped.close()
    anything = horus.Topic("typed", namespace=namespace)
    anything.send({"v": 1})
    assert anything.recv() == {"v": 1}
    publisher = horus.Publisher("typed", horus.CmdVel, namespace=namespace)
    publisher.send(horus.CmdVel(timestamp_ns=2))
    assert commands.recv(timeout=60).timestamp_ns == 2
    assert commands.recv() is None
    stats = commands.stats()
    assert (stats.sent, stats.received, stats.waiting) == (1, 1, 0)


def test_slots_grow_with_the_messages(namespace):
    images = horus.Topic("camera", horus.Image, namespace=namespace)
    observer = horus.Subscriber("camera", horus.Image, namespace=namespace, observe=True)
    for side in (4, 600, 8, 1500):
        pixels = np.full((side, side, 3), side % 251, np.uint8)
        images.send(horus.Image(pixels))
        for end in (images, observer):
            received = end.recv()
            assert np.array_equal(received.to_numpy(), pixels)
    for side in (700, 2000):
        images.send(horus.Image(np.zeros((2, 2, 3), np.uint8)))
        images.send(horus.Image(np.full((side, side, 3), 9, np.uint8)))
        for end in (observer, images):
            assert end.latest().to_numpy().shape == (side, side, 3)


def test_values_of_any_length_need_no_setting(namespace):
    topic = horus.Topic("state", namespace=namespace)
    waiting = horus.Subscriber("state", namespace=namespace)
    for bytes in (1, 100_000, 10, 3_000_000):
        topic.send({"log": b"x" * bytes})
        assert topic.recv() == {"log": b"x" * bytes}
        assert waiting.recv(timeout=60) == {"log": b"x" * bytes}
    topic.send(1)
    topic.send(b"y" * 20_000_000)
    assert waiting.latest() == b"y" * 20_000_000
    assert topic.recv() == 1
    assert len(topic.recv()) == 20_000_000


def test_memory_can_be_reserved(namespace):
    topic = horus.Topic("camera", horus.Image, namespace=namespace)
    topic.reserve(7 << 20)
    topic.reserve(1)
    loan = topic.loan((1080, 1920, 3))
    with pytest.raises(horus.BusyError, match="on loan"):
        topic.reserve(9 << 20)
    loan.to_numpy()[:] = 5
    loan.publish()
    assert (topic.recv().to_numpy() == 5).all()
    with pytest.raises(horus.SendFailedError, match="^topic 'camera': a message of 134217728"):
        topic.reserve(1 << 27)
    commands = horus.Publisher("cmd_vel", horus.CmdVel, namespace=namespace)
    commands.reserve(16)
    with pytest.raises(horus.SendFailedError, match="^topic 'cmd_vel': a message of 17 bytes"):
        commands.reserve(17)
