"""What the tests share: a namespace of their own."""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import horus
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MEMORY = pathlib.Path("/dev/shm")
# What the directories are called that the tests make there, with the number of their process.
PREFIX = "horus-pytest-"


def pytest_configure():
    """Leaves nothing in memory, however a run ends."""
    # WHY: by itself SIGTERM ends Python at once, and the directory of the test that runs stays.
    signal.signal(signal.SIGTERM, lambda *_: pytest.exit("told to end", 128 + signal.SIGTERM))
    # WHY: a run in the background of a shell ignores Ctrl-C, and so would all of its children.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Those of runs that were killed, which could do nothing. WHY only old ones: the number of a
    # process says nothing about one in another container.
    for left in MEMORY.glob(f"{PREFIX}*"):
        process = left.name.removeprefix(PREFIX).split("-")[0]
        is_old = time.time() - left.stat().st_mtime > 3600
        if is_old and not pathlib.Path(f"/proc/{process}").exists():
            shutil.rmtree(left, ignore_errors=True)


def pytest_runtest_logreport(report):
    """Adds what is skipped to the list at the end of `make test`."""
    record = os.environ.get("HORUS_TEST_SKIPS")
    if record and report.skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        with open(record, "a", encoding="utf-8") as file:
            file.write(f"{report.nodeid}: {reason}\n")


def built(name):
    """The program of an example of `horus_core`, in Rust."""
    command = [os.environ.get("CARGO", "cargo"), "build", "-q", "--locked", "-p", "horus_core"]
    command += ["--example", name, "--message-format", "json-render-diagnostics"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    programs = [line for line in done.stdout.splitlines() if '"executable":"' in line]
    return programs[-1].split('"executable":"')[1].split('"')[0]


def children():
    """The processes that this one started."""
    found = set()
    for task in pathlib.Path("/proc/self/task").iterdir():
        # A thread may end meanwhile.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found.update(map(int, (task / "children").read_text().split()))
    return found


@pytest.fixture(autouse=True)
def no_child_outlives_its_test():
    """Whatever becomes of a test, and of the run."""
    before = children()
    yield
    for child in children() - before:
        os.kill(child, signal.SIGKILL)


@pytest.fixture
def directory(monkeypatch, no_child_outlives_its_test):
    """A directory of namespaces, which the environment names."""
    prefix = f"{PREFIX}{os.getpid()}-"
    with tempfile.TemporaryDirectory(prefix=prefix, dir=MEMORY) as directory:
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
