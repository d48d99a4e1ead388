#!/usr/bin/env python3
"""Measures the cost of Python: messages, images, ticks, and other processes.

    python3 -m venv .venv && .venv/bin/pip install './horus_py[test]'
    cd horus_py
    PYTHONPATH=. ../.venv/bin/python3 benchmarks/research_bench_python.py --duration 2
    PYTHONPATH=. ../.venv/bin/python3 benchmarks/research_bench_python.py --csv r.csv --json r.json

Each row has two results: percentiles of operations that were timed one by one, with the timer's
overhead, which is printed; and the mean of a bare loop, as the median over the rounds. Goals are
compared with the second.
"""

import argparse
import os
import sys
import tempfile

import horus
from bench_report import Goal, Report
from bench_sections import SECTIONS, UNPINNED, mean, minus, on_cpu, rate


def goals():
    """Returns the goals of the issue and the reference page, in nanoseconds unless noted."""
    limits = {
        "typed/CmdVel": 190,
        "typed/Imu": 260,
        "generic/1_key": 600,
        "generic/4_keys": 1_000,
        "generic/50_keys": 7_000,
    }
    found = [
        Goal(f"python/{name}", limit, mean(f"python/{name}")) for name, limit in limits.items()
    ]
    views = {
        "image/to_numpy/640x480": "image/baseline/numpy_frombuffer",
        "image/from_dlpack/640x480": "image/baseline/from_dlpack_ndarray",
    }
    found += [
        Goal(
            f"python/{name}",
            150,
            minus(f"python/{name}", f"python/{baseline}"),
            f"ns more than {baseline}",
        )
        for name, baseline in views.items()
    ]
    overhead = minus("python/tick/tick_once/1_node", "python/tick/tick_once/0_nodes")
    found.append(Goal("python/tick/tick_once/1_node", 1_000, overhead, "ns more than 0 nodes"))
    for way in ("", "/quiet", "/awake", "/awake/quiet"):
        row = f"python/tick/10kHz{way}"
        found.append(Goal(row, 9_990, rate(row), "Hz", is_least=True))
    return found


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--duration", type=float, default=5.0, help="seconds for each row")
    parser.add_argument("--csv", metavar="FILE", help="also write the rows as CSV")
    parser.add_argument("--json", metavar="FILE", help="also write everything as JSON")
    parser.add_argument("--rust", metavar="FILE", help="JSON of all_paths_latency, to compare with")
    parser.add_argument("--filter", default="", metavar="TEXT", help="only sections with this name")
    parser.add_argument("--cpus", metavar="A,B", help="CPUs of the two ends")
    return parser.parse_args()


def pinned(wanted):
    """Returns the CPUs of the two sides; twice the same if there is only one."""
    allowed = sorted(os.sched_getaffinity(0))
    if wanted:
        near, far = (int(cpu) for cpu in wanted.split(","))
        return near, far
    return allowed[0], allowed[-1]


def main():
    asked = options()
    if horus.__build_profile__ != "release":
        sys.exit(
            f"horus was built with the profile '{horus.__build_profile__}', whose results have no "
            "meaning: install it with pip"
        )
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="horus-bench-") as directory:
        os.environ["HORUS_SHM_DIR"] = f"{directory}/horus"
        os.environ["HORUS_NAMESPACE"] = "bench"
        report = Report(pinned(asked.cpus), duration_s=asked.duration, rust=asked.rust)
        for warning in report.machine["warnings"]:
            print(f"WARNING {warning}")
        print(
            f"{report.machine['cpu']}, Python {report.settings['python']}, timer overhead "
            f"{report.machine['timer_overhead_ns']:.0f} ns (not subtracted)"
        )
        for name, section in SECTIONS.items():
            if asked.filter not in name:
                continue
            print(f"\n{name}: {section.__doc__.splitlines()[0]}")
            if name in UNPINNED:
                report.warn(UNPINNED[name])
                section(report, asked.duration)
            else:
                with on_cpu(report.machine["pinned"]["near"]):
                    section(report, asked.duration)
        report.note_steal()
        report.judge(goals())
    if asked.csv:
        report.write_csv(asked.csv)
    if asked.json:
        report.write_json(asked.json)


if __name__ == "__main__":
    main()
