#!/usr/bin/env python3
"""Compares horus with horus-robotics and iceoryx2 from PyPI: the same rows, in alternating rounds.

    python3 horus_py/benchmarks/compare_peers.py

It makes a virtual environment for each of the three below `target/peers`, because two packages have
the same import name. All processes run at the same time, but only one works at a time, on the same
CPU and with the same priority; the record has the conditions of each. A ratio divides two times of
one round, and is the median over the rounds. Above 1, horus is faster. Rows that a package cannot
run are listed with the reason. If a package loses a message, or receives another one than was sent,
its row has failed: it is named, it has no result, and the exit code is 1.
"""

import argparse
import contextlib
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import typing

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PACKAGES = {
    "horus": [str(ROOT / "horus_py"), "numpy"],
    "horus-robotics": ["horus-robotics==0.4.1", "numpy"],
    "iceoryx2": ["iceoryx2", "numpy"],
}
# The approximate time in seconds for a row of one package in one round.
ROUND_NS = 20e6
# The number of resamples for the interval of a ratio.
RESAMPLES = 10_000
# Fewer values have no 95 % interval of their median.
INTERVAL_VALUES_MIN = 6
RATE_TICKS = 20_000


def python_of(name, python):
    """Returns the interpreter of a package's environment, which is created if it is missing."""
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


class Round(typing.NamedTuple):
    """The result of a package in one round: nanoseconds per operation, and counted operations."""

    ns: float
    # By CPU time; None if the row has none.
    cpu_ns: float | None
    sent: int
    received: int


class Contestant:
    """A package in a process of its own."""

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
        # For each row: null, or the reason why it cannot be measured.
        self.rows = json.loads(self.answer())
        self.absent = {row: why for row, why in self.rows.items() if why is not None}
        # For each row: the conditions of its last measurement.
        self.conditions = {}
        # For each row that failed: the reason.
        self.failed = {}

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            self.log.seek(0)
            sys.exit(f"{self.name} ended:\n{self.log.read()}")
        return line

    def ask(self, line):
        print(line, file=self.process.stdin, flush=True)
        return json.loads(self.answer())

    def measure(self, row, times):
        """Returns the measured round; None if the row failed."""
        answer = self.ask(f"{row} {times}")
        if "error" in answer:
            self.failed[row] = answer["error"]
            return None
        self.conditions[row] = answer["conditions"]
        return Round(*(answer[field] for field in Round._fields))

    def close(self):
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()
        self.log.close()


def compare(row, contestants, rounds):
    """Returns the rounds of each package that can run the row and did not fail in it."""
    able = [one for one in contestants if row not in one.absent]
    is_rate = row == "tick/10kHz"
    times = {}
    for one in able:
        times[one.name] = RATE_TICKS
        if not is_rate and (probe := one.measure(row, 200)) is not None:
            times[one.name] = max(10, int(ROUND_NS / max(probe.ns, 1)))
    found = {one.name: [] for one in able}
    for number in range(3 if is_rate else rounds):
        # WHY rotated: no package should always be the first after a pause.
        turns = able[number % len(able) :] + able[: number % len(able)] if able else []
        for one in turns:
            if row not in one.failed:
                found[one.name].append(one.measure(row, times[one.name]))
    return {one.name: found[one.name] for one in able if row not in one.failed}


def cell(found, contestant, ours, row):
    """Returns the table cells of a peer: its time, and the ratios by the clock and by CPU time."""
    name = contestant.name
    if row in contestant.failed:
        return f"FAILED: {contestant.failed[row]}"
    if name not in found:
        return f"cannot: {contestant.absent.get(row)}"
    text = f"{statistics.median(one.ns for one in found[name]):,.0f} ns"
    has_cpu = all(one.cpu_ns is not None for one in found[name])
    if has_cpu:
        text += f" (CPU {statistics.median(one.cpu_ns for one in found[name]):,.0f})"
    if name == ours or ours not in found:
        return text
    pairs = list(zip(found[name], found[ours], strict=True))
    text += f", x {statistics.median(theirs.ns / own.ns for theirs, own in pairs):.2f}"
    if has_cpu:
        by_cpu = statistics.median(theirs.cpu_ns / own.cpu_ns for theirs, own in pairs)
        text += f" (CPU x {by_cpu:.2f})"
    return text


def counts_of(rounds):
    """Returns the counted operations of some rounds, as fields of a row."""
    sent, received = (sum(getattr(one, field) for one in rounds) for field in ("sent", "received"))
    return {"sent": sent, "received": received, "lost": sent - received}


def interval(ratios, seed=7):
    """Returns the 95 % bootstrap interval of the median of ratios; None of too few."""
    if len(ratios) < INTERVAL_VALUES_MIN:
        return None
    source = random.Random(seed)
    medians = sorted(
        statistics.median(source.choices(ratios, k=len(ratios))) for _ in range(RESAMPLES)
    )
    return [medians[int(RESAMPLES * share)] for share in (0.025, 0.975)]


def rows_of(row, found):
    """Returns the rows of a record: one per package, and one per comparison with horus."""
    for name, rounds in found.items():
        by_clock = [one.ns for one in rounds]
        by_cpu = [one.cpu_ns for one in rounds if one.cpu_ns is not None]
        yield {
            "id": f"peers/{row}/{name}",
            **counts_of(rounds),
            "loop_ns": {
                "median": statistics.median(by_clock),
                "min": min(by_clock),
                "max": max(by_clock),
                **({"cpu_median": statistics.median(by_cpu)} if by_cpu else {}),
                "rounds": len(rounds),
            },
        }
    ours = found.get("horus")
    for name, rounds in found.items():
        if ours is None or name == "horus":
            continue
        ratios = [theirs.ns / own.ns for theirs, own in zip(rounds, ours, strict=True)]
        yield {
            "id": f"vs_{name}/python/{row}",
            # Those of both packages.
            **counts_of([*ours, *rounds]),
            "ours": statistics.median(own.ns for own in ours),
            "theirs": statistics.median(theirs.ns for theirs in rounds),
            "ratio": statistics.median(ratios),
            **({"ratio_ci": ends} if (ends := interval(ratios)) else {}),
        }


def basis_of(row_id):
    """Returns the text that says how a row was measured."""
    if "tick/10kHz" in row_id:
        return "rounds that take turns; from the first tick to the last, divided by their number"
    basis = "rounds that take turns; means of loops"
    if "typed/" in row_id or "generic/" in row_id:
        return f"{basis}; missing messages are counted; before the next loop, one is compared"
    if "cross_process/" in row_id:
        return f"{basis}; the peer sends back what it received; it is compared outside the loop"
    return basis


def record(results, contestants, rounds):
    """Returns all results in the format of the other records."""
    rows = [one for row in results for one in rows_of(row, results[row])]
    settings = {
        "rounds": rounds,
        "versions": {one.name: one.version for one in contestants},
        "conditions": {
            row: {one.name: one.conditions[row] for one in contestants if row in one.conditions}
            for row in results
        },
        "not_measured": {one.name: one.absent for one in contestants},
        "failed": {one.name: one.failed for one in contestants if one.failed},
        "samples_removed": 0,
        "timer_overhead_subtracted": False,
        "basis": {row["id"]: basis_of(row["id"]) for row in rows},
    }
    return {**contestants[0].ask("machine"), "settings": settings, "rows": rows}


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
    results, report, failed = {}, None, 0
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
                had = [one.conditions[row] for one in contestants if row in one.conditions]
                if any(one != had[0] for one in had):
                    print(f"  WARNING not under the same conditions: {had}")
                for one in contestants:
                    print(f"  {one.name:<16} {cell(found, one, 'horus', row)}", flush=True)
            report = record(results, contestants, asked.rounds)
            failed = sum(len(one.failed) for one in contestants)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        # WHY: both peers leave files in fixed places, whatever directory is set.
        for left in pathlib.Path("/dev/shm").glob(f"*compare_{os.getpid()}*"):
            shutil.rmtree(left) if left.is_dir() else left.unlink()
    if asked.json:
        pathlib.Path(asked.json).write_text(json.dumps(report, indent=2) + "\n")
    if failed:
        sys.exit(f"compare_peers: {failed} measurements failed; the reasons are above")


if __name__ == "__main__":
    main()
