"""The stubs match the module."""

import pathlib
import subprocess
import sys

import horus
import pytest
from conftest import ROOT

PROGRAM = """
import asyncio
import horus

def main() -> None:
    publisher = horus.Publisher("cmd_vel", horus.CmdVel, qos="command")
    with horus.Subscriber("cmd_vel", horus.CmdVel, capacity=8) as subscriber:
        publisher.send(horus.CmdVel(linear=0.5))
        message = subscriber.recv(timeout=1.0)
        if message is not None:
            speed: float = message.linear
            print(speed)
        for command in subscriber:
            print(command.angular + 1.0)

    anything = horus.Topic("anything", capacity=8)
    anything.send({"v": 1.0, "ids": [1, 2], "raw": horus.Ext(3, b"x")})
    print(anything.recv())

async def collect(topic: horus.Topic[horus.Imu]) -> None:
    imu = await topic.recv_async()
    imu.orientation = [0.0, 0.0, 0.0, 1.0]
    async for imu in topic:
        print(imu.orientation.sum())

asyncio.run(collect(horus.Topic("imu", horus.Imu)))

class Counter:
    def handle(self, message: int, context: horus.ActorContext) -> int:
        if message < 0:
            context.stop()
        return message

def act() -> None:
    with horus.Actors("fleet", mailbox=64) as actors:
        counter = actors.spawn(Counter, name="counter", failure_policy=horus.Restart(max=2))
        counter.tell(1, timeout=1.0)
        print(counter.ask(2), counter.name)
        actors.spawn(lambda message, context: print(message, context.name), batch=8)
        inbox, inboxes = actors.inbox("results", mailbox="latest"), horus.InboxSet()
        inboxes.add(inbox)
        for ready in inboxes.wait(timeout=1.0):
            print(ready.recv_many(4))
        swap = counter.swap(Counter())
        print(swap.state, actors.counters().handled)
    horus.Scheduler().actors("other", threads=2, order=1)
"""

WRONG = """
import horus
horus.CmdVel(speed=1.0)
horus.Publisher("x", horus.CmdVel).send(horus.Imu())
horus.Publisher("x", horus.CmdVel, depth=4)
horus.Actors("x").spawn(5)
horus.Actors("x", mailbox="fast")
horus.LidarScan([1.0, 2.0])
"""


DECLARED = """
from typing import Literal

import horus


@horus.message
class Point:
    x: horus.f64
    y: horus.f64 = 1.0


@horus.message
class Gripper(horus.Message):
    '''One of your own.'''

    timestamp_ns: horus.u64 = 0
    force: horus.Array[horus.f64, Literal[3]]
    at: horus.Array[Point, Literal[2]] = horus.default
    origin: Point = horus.default
    names: horus.Array[horus.Text[Literal[8]], Literal[2]] = horus.default
    label: horus.Text[Literal[20]] = horus.default
    mode: horus.u8 = 3
    _reserved: horus.Array[horus.u8, Literal[3]] = horus.default
    gain: horus.Array[horus.f32, Literal[1]] = horus.default
    finger: horus.Array[horus.Text[Literal[4]], Literal[1]] = horus.default

    def strength(self) -> float:
        return float(self.force.sum())


@horus.message
class Sonar(horus.Framed):
    timestamp_ns: horus.u64 = 0
    echoes: horus.u32 = 0
    _reserved: horus.Array[horus.u8, Literal[4]] = horus.default
    strengths: horus.Tail[horus.f32, Literal["echoes"]] = horus.default


def main() -> None:
    gripper = Gripper(force=[1, 2, 3], label="left", names=["a", "b"], at=[Point(x=1), Point(x=2)])
    assert gripper.strength() == 6
    gripper.force = [3.0, 2.0, 2.0]
    gripper.gain, gripper.finger = [0.5], ["left"]
    finger: str = gripper.finger[0]
    assert gripper.gain.sum() == 0.5 and len(gripper.gain) == 1 and finger == "left"
    label: str = gripper.label
    x: float = gripper.origin.y + gripper.at[1].x + gripper.force[0]
    first: str = gripper.names[0]
    assert (label, x, first, gripper.mode) == ("left", 6.0, "a", 3)
    topic = horus.Topic("gripper", Gripper)
    topic.send(Gripper.from_bytes(bytes(gripper.copy())))
    message = topic.recv()
    if message is not None:
        assert message.strength() == 7 and message.label == "left"
    assert Gripper.now(label="now").timestamp_ns > 0
    horus.Publisher("point", Point, qos=None, capacity=None).send(Point(x=1.0, y=2.0))
    sonar = Sonar(strengths=[1.0, 2.0])
    sonar.strengths = [*sonar.strengths, 3.0]
    echoes: int = sonar.echoes
    assert echoes == 3 and sonar.strengths.max() == 3
    horus.Publisher("sonar", Sonar).send(sonar.copy())


main()
"""

WRONG_DECLARED = """
from typing import Literal
import horus
@horus.message
class Gripper(horus.Message):
    force: horus.Array[horus.f64, Literal[3]] = horus.default
    label: horus.Text[Literal[20]] = horus.default
Gripper(power=1.0)
Gripper(label=5)
Gripper(force=5)
Gripper().label = 5
Gripper().force.strength
horus.Publisher("x", Gripper).send(horus.Imu())
"""

# Members that mypy cannot see, or interprets differently.
ALLOWED = r"""
# The name exists from Python 3.12 on; before, the buffer has no method.
horus\._horus\.Message\.__buffer__
# mypy does not follow `+=` with names of another module.
horus\.__all__
# For mypy, these descriptors read and assign the fields.
horus\.(_declare\.)?(Array|Tail|Text)\.__[gs]et__
# For mypy these are `int` and `float`; at run time they have a width.
horus\.(_declare\.)?[uif](8|16|32|64)(\..*)?
"""


def run(*command, cwd):
    command = [sys.executable, "-m", *command]
    process = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    return process.returncode, process.stdout + process.stderr


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    """Returns a function that checks a program; only the first call reads numpy's stubs."""
    cache = str(tmp_path_factory.mktemp("mypy"))

    def check(program, cwd):
        return run("mypy", "--strict", "--cache-dir", cache, program, cwd=cwd)

    return check


def test_the_stubs_agree_with_the_module(tmp_path):
    (tmp_path / "allowed").write_text(ALLOWED)
    arguments = ["horus", "--allowlist", "allowed", "--ignore-unused-allowlist"]
    code, text = run("mypy.stubtest", *arguments, cwd=tmp_path)
    assert code == 0, text


def test_a_program_is_typed(tmp_path, mypy):
    (tmp_path / "program.py").write_text(PROGRAM)
    code, text = mypy("program.py", cwd=tmp_path)
    assert code == 0, text


def test_mistakes_are_found(tmp_path, mypy):
    (tmp_path / "wrong.py").write_text(WRONG)
    _, text = mypy("wrong.py", cwd=tmp_path)
    lines = {line.split(":")[1] for line in text.splitlines() if ": error:" in line}
    assert lines == {"3", "4", "5", "6", "7", "8"}, text


def test_declared_messages_are_typed_and_run(tmp_path, mypy, python):
    (tmp_path / "declared.py").write_text(DECLARED)
    code, text = mypy("declared.py", cwd=tmp_path)
    assert code == 0, text
    # The typed program also runs.
    python(DECLARED)


def test_messages_imported_from_ros_are_typed(tmp_path, mypy):
    imported = ROOT / "horus_core/tests/golden/imported/messages.py"
    (tmp_path / "imported.py").write_text(imported.read_text())
    code, text = mypy("imported.py", cwd=tmp_path)
    assert code == 0, text


def test_mistakes_with_declared_messages_are_found(tmp_path, mypy):
    (tmp_path / "wrong.py").write_text(WRONG_DECLARED)
    _, text = mypy("wrong.py", cwd=tmp_path)
    lines = {int(line.split(":")[1]) for line in text.splitlines() if ": error:" in line}
    assert lines == {8, 9, 10, 11, 12, 13}, text


def test_all_names_what_there_is():
    for name in horus.__all__:
        assert hasattr(horus, name)
    assert set(horus._messages.__all__) < set(horus.__all__)


def test_the_package_says_that_it_is_typed():
    assert (pathlib.Path(horus.__file__).parent / "py.typed").exists()


def test_a_message_may_be_given_by_its_name(namespace):
    """As the stubs and `help` say."""
    subscriber = horus.Subscriber("cmd_vel", horus.CmdVel, namespace=namespace)
    publisher = horus.Publisher("cmd_vel", horus.CmdVel, namespace=namespace)
    topic = horus.Topic("cmd_vel", horus.CmdVel, namespace=namespace)
    with horus.Actors("group") as actors:
        inbox = actors.inbox()
        for send, recv in [
            (publisher.send, subscriber.recv),
            (topic.send, subscriber.recv),
            (inbox.tell, inbox.recv),
        ]:
            message = horus.CmdVel(linear=0.5)
            send(message=message)
            send(timeout=1.0, message=message)
            send(message, timeout=1.0)
            assert [recv(timeout=60) for _ in range(3)] == [message] * 3
            for wrong in (
                lambda: send(message, message=message),
                lambda: send(),
                lambda: send(timeout=1.0),
                lambda: send(massage=message),
            ):
                with pytest.raises(TypeError):
                    wrong()
            assert recv() is None
