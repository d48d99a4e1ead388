"""The tests leave nothing behind, even if they are terminated by a signal."""

import pathlib
import shutil
import signal
import subprocess
import sys

import conftest

TEST = """
import subprocess, sys, time, horus

def test_that_does_not_end(directory):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    topic = horus.Topic("x")
    with open("started", "w") as started:
        print(directory, child.pid, file=started)
    print("started", file=sys.stderr, flush=True)
    time.sleep(600)
"""


def has_ended(process):
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().split(")")[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_a_run_that_is_told_to_end_clears_up(tmp_path):
    shutil.copy(conftest.__file__, tmp_path / "conftest.py")
    (tmp_path / "test_it.py").write_text(TEST)
    command = [sys.executable, "-m", "pytest", "--capture=no", "test_it.py"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert process.stderr.readline() == "started\n"
    directory, child = (tmp_path / "started").read_text().split()
    assert pathlib.Path(directory).exists()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert not pathlib.Path(directory).exists()
    assert has_ended(child)
