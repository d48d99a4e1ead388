"""The compared packages run under the same conditions as horus, and these are recorded."""

import json
import os
import subprocess
import sys
import threading

import pytest
from conftest import ROOT

BENCHMARKS = ROOT / "horus_py" / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import compare_end  # noqa: E402
import compare_peers  # noqa: E402


@pytest.fixture
def contestant():
    """Returns a process that measures horus on command."""
    process = subprocess.Popen(
        [sys.executable, BENCHMARKS / "compare_end.py", "horus"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def ask(line):
        print(line, file=process.stdin, flush=True)
        return json.loads(process.stdout.readline())

    rows = json.loads(process.stdout.readline())
    assert all(why is None for why in rows.values()), rows
    yield ask
    process.stdin.close()
    assert process.wait(60) == 0
    process.stdout.close()


def granted():
    """Returns the scheduling of a thread that requests the priority of the benchmark."""
    found = []

    def ask():
        compare_end.prioritize(max(os.sched_getaffinity(0)))
        found.append(compare_end.conditions())

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    return found[0]


def test_the_conditions_are_given_from_outside_and_said(contestant):
    cpus = sorted(os.sched_getaffinity(0))
    answer = contestant("typed/CmdVel 100")
    assert answer["ns"] > 0 and answer["cpu_ns"] > 0
    assert answer["conditions"] == {"cpus": cpus[:1], "policy": "other", "priority": 0}
    # The conditions of the thread that ticks, which the package creates.
    answer = contestant("tick/10kHz 500")
    assert answer["ns"] >= 1e9 / compare_end.TICK_HZ * 0.9
    assert answer["conditions"] == granted()
    assert granted()["cpus"] == cpus[-1:]
    # None of this remains after the measurement.
    assert contestant("typed/Imu 100")["conditions"]["policy"] == "other"
    record = contestant("machine")
    assert record["machine"]["cpu"] and record["commit"]


def test_a_record_has_the_ratio_of_rounds_next_to_each_other():
    found = {
        "horus": [[100.0, 90.0], [200.0, 180.0], [100.0, 90.0]],
        "iceoryx2": [[300.0, 270.0], [400.0, 360.0], [200.0, 180.0]],
    }
    rows = list(compare_peers.rows_of("typed/CmdVel", found, {"horus": 10, "iceoryx2": 20}))
    ours, theirs, versus = rows
    assert [row["id"] for row in rows] == [
        "peers/typed/CmdVel/horus",
        "peers/typed/CmdVel/iceoryx2",
        "vs_iceoryx2/python/typed/CmdVel",
    ]
    assert (ours["sent"], theirs["sent"], versus["sent"]) == (30, 60, 3)
    assert (versus["ours"], versus["theirs"], versus["ratio"]) == (100.0, 300.0, 2.0)
    low, high = versus["ratio_ci"]
    assert 2.0 <= low <= versus["ratio"] <= high <= 3.0
    assert ours["loop_ns"]["cpu_median"] == 90.0
