"""What the tests share: a namespace of their own."""

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
