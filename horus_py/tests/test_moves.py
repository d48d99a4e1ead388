"""Topics whose file is removed while they are in use: all processes go on in a new file."""

from pathlib import Path

import horus
import pytest
from conftest import PATIENCE, Program

ECHO = """
import sys, horus
subscriber = horus.Subscriber("questions", horus.CmdVel)
publisher = horus.Publisher("answers", horus.CmdVel)
print("ready", flush=True)
message = None
while message is None or message.linear >= 0:
    message = subscriber.recv(timeout=60)
    publisher.send(message)
print(subscriber.stats().received, subscriber.stats().lost, flush=True)
sys.stdin.read()
"""
REMOVALS = 3


def topic_files(directory):
    return [Path(directory) / "horus" / "test" / "topics" / name for name in ("questions", "answers")]


def test_two_processes_go_on_when_the_files_of_their_topics_are_removed(directory):
    publisher = horus.Publisher("questions", horus.CmdVel)
    subscriber = horus.Subscriber("answers", horus.CmdVel)
    echo = Program(ECHO)
    assert echo.line() == "ready"
    asked = 0

    def ask(linear):
        nonlocal asked
        asked += 1
        publisher.send(horus.CmdVel(linear=linear, angular=float(asked)))
        answer = subscriber.recv(timeout=PATIENCE)
        assert (answer.linear, answer.angular) == (linear, asked)

    files = topic_files(directory)
    for _ in range(REMOVALS):
        for file in files:
            file.unlink()
        while not all(file.exists() for file in files):
            ask(1.0)
        ask(1.0)
    ask(-1.0)
    assert echo.line() == f"{asked} 0"
    stats = subscriber.stats()
    assert (stats.received, stats.lost) == (asked, 0)
    echo.end()


def test_a_removed_namespace_is_an_error(directory):
    publisher = horus.Publisher("questions", horus.CmdVel)
    subscriber = horus.Subscriber("questions", horus.CmdVel)
    publisher.send(horus.CmdVel())
    subscriber.recv(timeout=PATIENCE)
    (Path(directory) / "horus" / "test").rename(Path(directory) / "horus" / "elsewhere")
    with pytest.raises(horus.NamespaceError, match="'questions': its namespace was removed"):
        subscriber.recv(timeout=PATIENCE)
