"""The stubs say what the module has."""

import pathlib
import subprocess
import sys

import horus

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
"""

WRONG = """
import horus
horus.CmdVel(speed=1.0)
horus.Publisher("x", horus.CmdVel).send(horus.Imu())
horus.Publisher("x", horus.CmdVel, depth=4)
"""


# What mypy cannot see, or takes for something else.
ALLOWED = r"""
# Of Python 3.12 on; until then the buffer is there without that name.
horus\._horus\.Message\.__buffer__
# mypy does not follow `+=` of another module's names.
horus\.__all__
# For mypy these are `int` and `float`, when the program runs they say how wide.
horus\.(_declare\.)?[uif](8|16|32|64)(\..*)?
"""


def mypy(module, *arguments, cwd):
    command = [sys.executable, "-m", module, *arguments]
    process = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    return process.returncode, process.stdout + process.stderr


def test_the_stubs_agree_with_the_module(tmp_path):
    (tmp_path / "allowed").write_text(ALLOWED)
    arguments = ["horus", "--allowlist", "allowed", "--ignore-unused-allowlist"]
    code, text = mypy("mypy.stubtest", *arguments, cwd=tmp_path)
    assert code == 0, text


def test_a_program_is_typed(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    code, text = mypy("mypy", "--strict", "program.py", cwd=tmp_path)
    assert code == 0, text


def test_mistakes_are_found(tmp_path):
    (tmp_path / "wrong.py").write_text(WRONG)
    _, text = mypy("mypy", "--strict", "wrong.py", cwd=tmp_path)
    lines = {line.split(":")[1] for line in text.splitlines() if ": error:" in line}
    assert lines == {"3", "4", "5"}, text


def test_all_names_what_there_is():
    for name in horus.__all__:
        assert hasattr(horus, name)
    assert set(horus._messages.__all__) < set(horus.__all__)


def test_the_package_says_that_it_is_typed():
    assert (pathlib.Path(horus.__file__).parent / "py.typed").exists()
