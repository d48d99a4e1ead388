"""The benchmark runs, verifies its messages, and writes the same format as those in Rust."""

import csv
import json
import os
import runpy
import subprocess
import sys

import horus
import pytest
from conftest import ROOT

BENCHMARKS = ROOT / "horus_py" / "benchmarks"
RECORDED = sorted((ROOT / "benchmarks" / "record").glob("*/*/all_paths_latency.json"))[-1]
# WHY not all: rows with a rate always take some seconds.
SECTIONS = ["typed", "generic", "image", "attribution", "cross_process", "streams"]


def run(*arguments, cwd):
    environment = {"PYTHONPATH": ".", "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "benchmarks/research_bench_python.py", *arguments]
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=240, env=environment, check=False
    )


@pytest.mark.parametrize(
    ("cpuinfo", "name"),
    [
        ("cpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\n", "(family 25, model 17)"),
        ("model name\t: AMD EPYC\nmodel\t\t: 1\n", "AMD EPYC"),
    ],
)
def test_the_name_of_a_cpu_has_its_family_and_model(cpuinfo, name):
    code = "import cpu, sys; print(cpu.cpu_name(sys.argv[1]))"
    command = [sys.executable, "-c", code, cpuinfo]
    told = subprocess.run(
        command, cwd=BENCHMARKS, capture_output=True, text=True, timeout=60, check=True
    )
    assert told.stdout.strip().endswith(name)


@pytest.mark.parametrize("section", SECTIONS)
def test_a_section_is_measured_and_written(tmp_path, section):
    files = {"csv": tmp_path / "rows.csv", "json": tmp_path / "rows.json"}
    options = [text for name, path in files.items() for text in (f"--{name}", str(path))]
    options += ["--rust", str(RECORDED), "--duration", "0.02", "--filter", section]
    done = run(*options, cwd=ROOT / "horus_py")
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(files["json"].read_text())
    recorded = json.loads(RECORDED.read_text())
    assert set(recorded) == set(report)
    always = set(recorded["machine"]) - {"governor", "hypervisor", "rustflags"}
    assert always <= set(report["machine"])
    rows = report["rows"]
    assert rows
    percentiles = set(recorded["rows"][0]["ns"])
    for row in rows:
        if section in ("image", "attribution"):
            # They move no messages, or nobody receives them.
            assert not {"sent", "received", "lost"} & set(row)
            assert row["operations"] > 0
        else:
            assert row["sent"] == row["received"] > 0
            assert row["lost"] == 0
        if section == "streams":
            assert row["msgs_per_s"] > 0
            busy = 2 if row["id"].endswith("/1_to_1/CmdVel") else 3
            shared = len(os.sched_getaffinity(0)) < busy
            assert row.get("oversubscribed", False) == shared, row
        else:
            assert percentiles <= set(row["ns"])
            assert row["ns"]["min"] <= row["ns"]["p50"] <= row["ns"]["p99_9"] <= row["ns"]["max"]
        assert report["settings"]["basis"][row["id"]]
    with files["csv"].open() as file:
        assert [row["id"] for row in csv.DictReader(file)] == [row["id"] for row in rows]
    for goal in report["settings"]["goals"]:
        assert goal["verdict"] in ("met", "missed")


def test_messages_that_do_not_come_end_the_benchmark_of_actors(directory, monkeypatch):
    class Silent:
        def add(self, inbox):
            pass

        def wait(self, timeout):
            return []

    monkeypatch.syspath_prepend(BENCHMARKS)
    monkeypatch.setattr(horus, "InboxSet", Silent)
    section = runpy.run_path(str(BENCHMARKS / "actors.py"))["pull"](1e-4)
    with pytest.raises(TimeoutError, match="pull: 0 of 1000 messages came"):
        list(section)


@pytest.mark.parametrize(
    "numbers",
    ["0 0 0 0", "0 0 0 2", "0 0 1 2", "0 1 1 0", "1 0 0 1"],
    ids=["repeated", "skipped", "another producer", "late", "first lost"],
)
def test_a_message_out_of_order_ends_the_program(numbers):
    code = """
import sys, bench_peers, horus
order = bench_peers.Order(2)
numbers = [int(word) for word in sys.argv[1].split()]
for producer, number in zip(numbers[::2], numbers[1::2]):
    order.check(horus.CmdVel(timestamp_ns=number, linear=float(producer)))
"""
    command = [sys.executable, "-c", code, numbers]
    done = subprocess.run(
        command, cwd=BENCHMARKS, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert "wanted number" in done.stderr


def test_numbered_messages_differ():
    code = """
import bench_peers
for kind in ("CmdVel", "Imu", '{"x": 1.0, "y": 2.0}'):
    message = bench_peers.made(kind)[1]
    for value in range(7, 10):
        before = dict(message) if isinstance(message, dict) else message.copy()
        bench_peers.number(message, value)
        assert before != message, kind
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, cwd=BENCHMARKS, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


def test_an_option_that_does_not_exist_is_refused():
    assert run("--rounds", "1", cwd=ROOT / "horus_py").returncode == 2
