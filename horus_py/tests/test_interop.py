"""Rust and Python: every standard message, both ways, byte for byte."""

import os
import subprocess

import horus
from conftest import ROOT
from test_message import STANDARD, patterned


def relay():
    """The Rust program that sends back what it receives."""
    command = [os.environ.get("CARGO", "cargo"), "build", "-q", "--locked", "-p", "horus_core"]
    command += ["--example", "relay", "--message-format", "json-render-diagnostics"]
    built = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    programs = [line for line in built.stdout.splitlines() if '"executable":"' in line]
    return programs[-1].split('"executable":"')[1].split('"')[0]


def test_rust_sends_back_what_python_sent(directory):
    # Those inside framed messages have no topics of their own in the Rust program.
    kinds = [kind for kind in STANDARD if kind.__name__ not in ("MapMetaData", "PointField")]
    assert len(kinds) == 62
    ends = [
        (horus.Publisher(kind.__name__, kind), horus.Subscriber(f"{kind.__name__}_back", kind))
        for kind in kinds
    ]
    process = subprocess.Popen([relay()], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "ready\n"
        sent = [patterned(kind, seed) for seed, kind in enumerate(kinds)]
        for message, (publisher, _) in zip(sent, ends, strict=True):
            publisher.send(message)
        for message, (_, subscriber) in zip(sent, ends, strict=True):
            back = subscriber.recv(timeout=60)
            assert type(back) is type(message)
            assert bytes(back) == bytes(message)
        assert process.wait(60) == 0
    finally:
        process.kill()
