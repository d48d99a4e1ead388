"""Results: samples, the machine, goals, and their output formats.

The JSON has the format of the Rust benchmarks (`horus_benchmarks/src/report/rows.rs`).
"""

import csv
import dataclasses
import gc
import json
import math
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time

import horus
import numpy
from cpu import cpu_name

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNKNOWN = "unknown"
# Load average above which other work affects the results.
LOAD_MAX = 0.5
# CPU time that the hypervisor may take without a warning, in percent.
STEAL_PERCENT_MAX = 1.0
SHARES = {
    "p1": 0.01,
    "p5": 0.05,
    "p25": 0.25,
    "p50": 0.5,
    "p75": 0.75,
    "p90": 0.9,
    "p95": 0.95,
    "p99": 0.99,
    "p99_9": 0.999,
    "p99_99": 0.9999,
}


def percentiles(samples):
    """Returns percentiles, extremes and mean of all samples, in nanoseconds; none is removed."""
    ordered = numpy.sort(numpy.asarray(samples, dtype=numpy.int64))
    last = len(ordered) - 1
    found = {
        name: float(ordered[min(math.ceil(share * len(ordered)) - 1, last)])
        for name, share in SHARES.items()
    }
    return {"min": float(ordered[0]), **found, "max": float(ordered[-1]), "mean": ordered.mean()}


@dataclasses.dataclass
class Row:
    """One result. Fields that do not apply are absent."""

    id: str
    # Number of operations that were measured, each with or without a message.
    operations: int | None = None
    # Numbers of messages, in rows that move any.
    sent: int | None = None
    received: int | None = None
    # Percentiles of samples that were timed one by one, including the timer's overhead.
    ns: dict | None = None
    # Means of untimed loops, one per round.
    loops: list = dataclasses.field(default_factory=list)
    # The same by the CPU time of the thread.
    cpu_loops: list = dataclasses.field(default_factory=list)
    msgs_per_s: float | None = None
    # Fields that only some rows have.
    extras: dict = dataclasses.field(default_factory=dict)

    @property
    def mean_ns(self):
        """Returns the median over the rounds of the means of an untimed loop."""
        return statistics.median(self.loops) if self.loops else None

    @property
    def cpu_ns(self):
        """Returns the same by the CPU time of the thread, which excludes other threads."""
        return statistics.median(self.cpu_loops) if self.cpu_loops else None

    @property
    def lost(self):
        """Returns the number of messages that never arrived; None in rows that move none."""
        return None if self.sent is None else self.sent - self.received

    def as_json(self):
        row = {"id": self.id}
        if self.operations is not None:
            row["operations"] = self.operations
        if self.sent is not None:
            row |= {"sent": self.sent, "received": self.received, "lost": self.lost}
        if self.ns is not None:
            row["ns"] = self.ns
        if self.loops:
            row["loop_ns"] = {
                "median": self.mean_ns,
                "min": min(self.loops),
                "max": max(self.loops),
                "cpu_median": self.cpu_ns,
                "rounds": len(self.loops),
            }
        if self.msgs_per_s is not None:
            row["msgs_per_s"] = self.msgs_per_s
        return {**row, **self.extras}


@dataclasses.dataclass
class Goal:
    """A goal of the project for a row. A missed goal is not an error."""

    id: str
    limit: float
    # Computes from all rows the value to compare with the limit, and the same by CPU time.
    measured: object
    unit: str = "ns"
    # True: the limit is a minimum. False: it is a maximum.
    is_least: bool = False

    def verdict(self, rows):
        found = self.measured(rows)
        if found is None:
            return None
        measured, by_cpu = found
        met = measured >= self.limit if self.is_least else measured <= self.limit
        sign = ">=" if self.is_least else "<="
        return {
            "id": self.id,
            "goal": f"{sign} {self.limit:,.0f} {self.unit}",
            "measured": f"{measured:,.0f} {self.unit}",
            "by_cpu_time": "" if by_cpu is None else f"{by_cpu:,.0f} {self.unit}",
            "verdict": "met" if met else "missed",
        }


class Report:
    """All results of a run."""

    def __init__(self, pinned, **settings):
        self.machine = machine(pinned)
        self.began = cpu_times(pinned)
        self.rows = []
        self.absent = {}
        self.settings = {
            **settings,
            "python": sys.version.split()[0],
            "implementation": platform.python_implementation(),
            "numpy": numpy.__version__,
            "horus": horus.__version__,
            "garbage_collector": gc.isenabled(),
            "samples_removed": 0,
            "timer_overhead_subtracted": False,
            "basis": {},
        }

    def push(self, row, basis):
        """Adds a row, and how it was measured."""
        self.rows.append(row)
        self.settings["basis"][row.id] = basis
        print(f"  {line(row)}", flush=True)

    def lacks(self, row_id, why):
        """Records a row that could not be measured, with the reason."""
        self.absent[row_id] = str(why)
        print(f"  {row_id:<44} not measured: {why}", flush=True)

    def judge(self, goals):
        """Compares the rows with the goals, and prints the verdicts."""
        rows = {row.id: row for row in self.rows}
        verdicts = [verdict for goal in goals if (verdict := goal.verdict(rows)) is not None]
        self.settings["goals"] = verdicts
        print("\nGoals")
        head = ["id", "goal", "measured", "by CPU time", "verdict"]
        table(head, [list(one.values()) for one in verdicts])

    def note_steal(self):
        """Records and prints the CPU time that the hypervisor took from the pinned CPUs."""
        now = cpu_times(self.machine["pinned"].values())
        all_time, stolen = (after - before for after, before in zip(now, self.began, strict=True))
        percent = round(100 * stolen / all_time, 2) if all_time else 0.0
        self.machine["steal_percent"] = percent
        if percent > STEAL_PERCENT_MAX:
            self.warn(f"the hypervisor took {percent:.1f} % of the pinned CPUs' time")

    def warn(self, text):
        """Records and prints a circumstance that makes the results less reliable."""
        self.machine["warnings"].append(text)
        print(f"WARNING {text}")

    def write_json(self, path):
        self.settings["not_measured"] = self.absent
        report = {
            "machine": self.machine,
            "commit": commit(),
            "settings": self.settings,
            "rows": [row.as_json() for row in self.rows],
        }
        pathlib.Path(path).write_text(json.dumps(report, indent=2) + "\n")

    def write_csv(self, path):
        names = ["min", "p50", "p90", "p95", "p99", "p99_9", "max", "mean"]
        with open(path, "w", newline="") as file:
            writer = csv.writer(file)
            loops = ["loop_mean", "loop_cpu"]
            writer.writerow(["id", "messages", "lost", *names, *loops, "unit", "msgs_per_s"])
            for row in self.rows:
                loop_cpu = "" if row.cpu_ns is None else row.cpu_ns
                extras = [row.ns[name] if row.ns else "" for name in names]
                loop = "" if row.mean_ns is None else row.mean_ns
                rate = "" if row.msgs_per_s is None else row.msgs_per_s
                counts = [row.id, row.sent, row.lost]
                writer.writerow([*counts, *extras, loop, loop_cpu, "ns", rate])


def line(row):
    """Returns a row as text for people."""
    text = f"{row.id:<44}"
    if row.ns is not None:
        names = ("p50", "p95", "p99", "p99_9", "max")
        text += "".join(f" {name} {duration(row.ns[name]):>8}" for name in names)
    if row.loops:
        text += f"  loop {duration(row.mean_ns):>8} (CPU {duration(row.cpu_ns)})"
    if row.msgs_per_s is not None:
        text += f"  {row.msgs_per_s / 1e6:.2f} M/s"
    if row.lost:
        text += f"  lost {row.lost:,}"
    for name, value in row.extras.items():
        text += f"  {name} {value:,.1f}" if isinstance(value, float) else f"  {name} {value}"
    return text


def duration(ns):
    return f"{ns:.0f} ns" if ns < 10_000 else f"{ns / 1e3:.1f} us"


def table(head, rows):
    """Prints a table."""
    widths = [max(len(str(row[at])) for row in [head, *rows]) for at in range(len(head))]
    for row in [head, ["-" * width for width in widths], *rows]:
        cells = (f"{cell!s:<{width}}" for cell, width in zip(row, widths, strict=True))
        print(f"| {' | '.join(cells)} |")


def cpu_times(cpus):
    """Returns all time of these CPUs, and the part taken by the hypervisor, in kernel ticks."""
    names = {f"cpu{cpu}" for cpu in cpus}
    lines = [line.split() for line in read("/proc/stat").splitlines()]
    # user nice system idle iowait irq softirq steal; the other fields are part of user time.
    times = [[int(word) for word in words[1:9]] for words in lines if words[0] in names]
    return sum(map(sum, times)), sum(time[7] for time in times)


def machine(pinned):
    """Returns the machine, the build, and their state."""
    cpuinfo = read("/proc/cpuinfo")
    found = {
        "cpu": cpu_name(cpuinfo),
        "cores": os.cpu_count(),
        "allowed_cpus": sorted(os.sched_getaffinity(0)),
        "pinned": {"near": pinned[0], "far": pinned[1]},
        "isolated_cpus": listed(read("/sys/devices/system/cpu/isolated")),
        "kernel": platform.release(),
        "rustc": output("rustc", "--version") or UNKNOWN,
        "profile": horus.__build_profile__,
        "timer": "monotonic",
        "timer_hz": 1e9,
        "timer_overhead_ns": timer_overhead_ns(),
        "timer_resolution_ns": time.get_clock_info("perf_counter").resolution * 1e9,
        "invariant_tsc": "nonstop_tsc" in cpuinfo and "constant_tsc" in cpuinfo,
        "clocksource": read("/sys/devices/system/clocksource/clocksource0/current_clocksource")
        or UNKNOWN,
        "load_average": os.getloadavg()[0],
        "warnings": [],
    }
    governor = read(f"/sys/devices/system/cpu/cpu{pinned[0]}/cpufreq/scaling_governor")
    if governor:
        found["governor"] = governor
    virtual = "hypervisor" in cpuinfo
    if virtual:
        found["hypervisor"] = read("/sys/class/dmi/id/sys_vendor") or UNKNOWN
    warnings = [
        (pinned[0] == pinned[1], "one CPU for both sides: oversubscribed"),
        (
            found["load_average"] > LOAD_MAX,
            f"load average {found['load_average']:.2f}: other work affects the results",
        ),
        (virtual, "virtual machine: CPUs may be shared, the tail is not representative"),
    ]
    found["warnings"] = [text for when, text in warnings if when]
    return found


def timer_overhead_ns():
    """Returns the median of empty timed intervals."""
    clock = time.perf_counter_ns
    samples = []
    for _ in range(10_000):
        begin = clock()
        samples.append(clock() - begin)
    return float(statistics.median(samples))


def commit():
    """Returns the commit of the sources, with `-dirty` if they were changed."""
    found = output("git", "-C", ROOT, "rev-parse", "--short=12", "HEAD")
    if not found:
        return UNKNOWN
    changed = output("git", "-C", ROOT, "status", "--porcelain", "--untracked-files=no")
    return f"{found}-dirty" if changed else found


def output(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def read(path):
    try:
        return pathlib.Path(path).read_text().strip()
    except OSError:
        return ""


def listed(text):
    """Returns the numbers of a list in the kernel's format, such as `0,2-3`."""
    numbers = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        numbers.extend(range(int(first), int(last or first) + 1))
    return numbers
