#!/usr/bin/env python3
"""horus beside horus-robotics and iceoryx2 from PyPI: the same rows, in rounds that take turns.

    python3 horus_py/benchmarks/compare_peers.py

Makes a virtual environment for each of the three below `target/peers`, for two packages are
imported by one name. All run at the same time, but only one works at a time. A ratio is that of two
times of one round, the median over the rounds: above 1, horus is faster. What a package cannot do is
said.
"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PACKAGES = {
    "horus": [str(ROOT / "horus_py"), "numpy"],
    "horus-robotics": ["horus-robotics==0.4.1", "numpy"],
    "iceoryx2": ["iceoryx2", "numpy"],
}
# How long a contestant works on a row in one round, about.
ROUND_NS = 20e6
RATE_TICKS = 20_000


def python_of(name, python):
    """The interpreter of the environment of a package, which is made if it is not there."""
    if python is not None:
        return python
    directory = ROOT / "target" / "peers" / name
    python = directory / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", directory], check=True)
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    environment = {**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target")}
    subprocess.run([*install, *PACKAGES[name]], check=True, env=environment)
    return str(python)


class Contestant:
    """A package, in a process of its own."""

    def __init__(self, name, python, directory):
        self.name = name
        environment = {
            **os.environ,
            "HORUS_SHM_DIR": f"{directory}/horus",
            "HORUS_NAMESPACE": f"compare_{os.getpid()}",
            "COMPARE_DIR": f"{directory}/iceoryx2",
            "COMPARE_PREFIX": f"compare_{os.getpid()}_",
            "PYTHONPATH": str(HERE),
        }
        version = "import importlib.metadata as m, sys; print(m.version(sys.argv[1]))"
        command = [python, "-c", version, name]
        self.version = subprocess.run(command, capture_output=True, text=True).stdout.strip()
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [python, HERE / "compare_end.py", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            env=environment,
        )
        # Of each row: null, or why it cannot be measured.
        self.rows = json.loads(self.answer())
        self.absent = {row: why for row, why in self.rows.items() if why is not None}

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            self.log.seek(0)
            sys.exit(f"{self.name} ended:\n{self.log.read()}")
        return line

    def measure(self, row, times):
        """Nanoseconds of one operation: by the clock, and of the processor."""
        print(row, times, file=self.process.stdin, flush=True)
        return [float(word) for word in self.answer().split()]

    def close(self):
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()
        self.log.close()


def compare(row, contestants, rounds):
    """The rounds of a row: the times of each of those who can do it."""
    able = [one for one in contestants if row not in one.absent]
    is_rate = row == "tick/10kHz"
    times = {}
    for one in able:
        times[one.name] = RATE_TICKS
        if not is_rate:
            times[one.name] = max(10, int(ROUND_NS / max(one.measure(row, 200)[0], 1)))
    found = {one.name: [] for one in able}
    if not able:
        return found
    for number in range(3 if is_rate else rounds):
        # WHY turned: nobody is always the first after a pause.
        for one in able[number % len(able) :] + able[: number % len(able)]:
            found[one.name].append(one.measure(row, times[one.name]))
    return found


def cell(found, name, ours, absent):
    """What a table says of a peer: its time, and the ratios by the clock and by processor time."""
    if name not in found:
        return f"cannot: {absent}"
    by_clock, by_cpu = (statistics.median(one[at] for one in found[name]) for at in (0, 1))
    text = f"{by_clock:,.0f} ns (CPU {by_cpu:,.0f})"
    if name == ours or ours not in found:
        return text
    ratios = [
        statistics.median(
            theirs[at] / own[at] for theirs, own in zip(found[name], found[ours], strict=True)
        )
        for at in (0, 1)
    ]
    return f"{text}, x {ratios[0]:.2f} (CPU x {ratios[1]:.2f})"


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--filter", default="", metavar="TEXT", help="only rows with this text")
    parser.add_argument("--json", metavar="FILE", help="also write all rounds as JSON")
    for name in PACKAGES:
        help_text = f"interpreter that has {name}, instead of an environment made for it"
        parser.add_argument(f"--{name}-python", metavar="FILE", help=help_text)
    return parser.parse_args()


def main():
    asked = options()
    pythons = {
        name: python_of(name, getattr(asked, f"{name.replace('-', '_')}_python"))
        for name in PACKAGES
    }
    directory = tempfile.mkdtemp(dir="/dev/shm", prefix="horus-compare-")
    results = {}
    try:
        with contextlib.ExitStack() as stack:
            contestants = []
            for name, python in pythons.items():
                contestants.append(Contestant(name, python, directory))
                stack.callback(contestants[-1].close)
            print(f"load average {os.getloadavg()[0]:.2f} of {os.cpu_count()} CPUs")
            for one in contestants:
                print(f"{one.name} {one.version}, {pythons[one.name]}")
            rows = [row for row in contestants[0].rows if asked.filter in row]
            for row in rows:
                found = results[row] = compare(row, contestants, asked.rounds)
                print(f"\n{row}")
                for one in contestants:
                    text = cell(found, one.name, "horus", one.absent.get(row))
                    print(f"  {one.name:<16} {text}", flush=True)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        # WHY: both peers leave files behind, wherever they are told to put the rest.
        for left in pathlib.Path("/dev/shm").glob(f"*compare_{os.getpid()}*"):
            shutil.rmtree(left) if left.is_dir() else left.unlink()
    if asked.json:
        versions = {one.name: one.version for one in contestants}
        report = {"versions": versions, "rounds": asked.rounds, "ns": results}
        pathlib.Path(asked.json).write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
