"""What the tests share: a namespace of their own."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile

import horus
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# WHY: what a shell starts in the background ignores Ctrl-C, and so would all that the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)


def built(name):
    """The program of an example of `horus_core`, in Rust."""
    command = [os.environ.get("CARGO", "cargo"), "build", "-q", "--locked", "-p", "horus_core"]
    command += ["--example", name, "--message-format", "json-render-diagnostics"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    programs = [line for line in done.stdout.splitlines() if '"executable":"' in line]
    return programs[-1].split('"executable":"')[1].split('"')[0]


@pytest.fixture
def directory(monkeypatch):
    """A directory of namespaces, which the environment names."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        monkeypatch.setenv("HORUS_SHM_DIR", f"{directory}/horus")
        monkeypatch.setenv("HORUS_NAMESPACE", "test")
        yield directory


@pytest.fixture
def namespace(directory):
    return horus.Namespace(f"{directory}/horus", "test")


@pytest.fixture
def python(directory):
    """Runs a script in a process of its own, to its end; returns what it printed."""

    def run(script, **options):
        process = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            **options,
        )
        assert process.returncode == 0, process.stdout + process.stderr
        return process.stdout

    return run
