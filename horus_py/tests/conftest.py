"""Fixtures for the tests, such as a private namespace."""

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
# The prefix of the test directories. The process id follows it.
PREFIX = "horus-pytest-"
# The time limit in seconds of waits that must succeed, on a slow machine.
PATIENCE = 60


def pytest_configure():
    """Removes the test directories, however a run ends."""
    # WHY: by default SIGTERM ends Python at once, and the directory of the running test stays.
    signal.signal(signal.SIGTERM, lambda *_: pytest.exit("terminated", 128 + signal.SIGTERM))
    # WHY: a background job of a shell ignores Ctrl-C, and so would all of its children.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # WHY: the same for a closed terminal, which a run below `nohup` ignores.
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    # Directories of killed runs. WHY only old ones: a process id means nothing in another
    # container.
    for left in MEMORY.glob(f"{PREFIX}*"):
        process = left.name.removeprefix(PREFIX).split("-")[0]
        is_old = time.time() - left.stat().st_mtime > 3600
        if is_old and not pathlib.Path(f"/proc/{process}").exists():
            shutil.rmtree(left, ignore_errors=True)


def pytest_runtest_logreport(report):
    """Adds skipped tests to the list at the end of `make test`."""
    record = os.environ.get("HORUS_TEST_SKIPS")
    if record and report.skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        with open(record, "a", encoding="utf-8") as file:
            file.write(f"{report.nodeid}: {reason}\n")


def built(name):
    """Returns the program of a Rust example of `horus_core`, built by `.ci/tests` or else here.

    WHY the same variable as for the library in C++: a build with other features would build
    `horus_core` once more.
    """
    if libraries := os.environ.get("HORUS_TEST_LIBRARY_DIR"):
        return str(pathlib.Path(libraries).parent / "examples" / name)
    command = [os.environ.get("CARGO", "cargo"), "build", "-q", "--locked", "-p", "horus_core"]
    command += ["--example", name, "--message-format", "json-render-diagnostics"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    programs = [line for line in done.stdout.splitlines() if '"executable":"' in line]
    return programs[-1].split('"executable":"')[1].split('"')[0]


def children():
    """Returns the processes that this one started."""
    found = set()
    for task in pathlib.Path("/proc/self/task").iterdir():
        # A thread may end at this moment.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found.update(map(int, (task / "children").read_text().split()))
    return found


def until(condition, step=lambda: time.sleep(0.001)):
    """Waits until the condition is true. Calls `step` after each time that it is not."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it does not come to that"
        step()


class Program:
    """A script in a process of its own. Each script here ends when its input does."""

    def __init__(self, script, **options):
        pipe = subprocess.PIPE
        command = [sys.executable, "-c", script]
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, **options)

    def line(self):
        """Returns its next line; an empty one if it has ended."""
        return self.process.stdout.readline().strip()

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(PATIENCE) == 0
        self.process.stdout.close()

    def kill(self):
        self.process.kill()
        self.process.communicate()


@pytest.fixture(autouse=True)
def no_child_outlives_its_test():
    """Kills the children of a test, however the test ends."""
    before = children()
    yield
    for child in children() - before:
        os.kill(child, signal.SIGKILL)


@pytest.fixture
def directory(monkeypatch, no_child_outlives_its_test):
    """A directory of namespaces, selected by the environment variables."""
    prefix = f"{PREFIX}{os.getpid()}-"
    with tempfile.TemporaryDirectory(prefix=prefix, dir=MEMORY) as directory:
        monkeypatch.setenv("HORUS_SHM_DIR", f"{directory}/horus")
        monkeypatch.setenv("HORUS_NAMESPACE", "test")
        yield directory


@pytest.fixture
def namespace(directory):
    return horus.Namespace(f"{directory}/horus", "test")


@pytest.fixture
def camera(namespace):
    """A topic of images up to a mebibyte."""
    return horus.Topic("camera", horus.Image, namespace=namespace, max_message_bytes=1 << 20)


@pytest.fixture
def python(directory):
    """Runs a script in a process of its own until it ends; returns its output."""

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
