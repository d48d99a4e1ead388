"""The compared packages run under the same conditions as horus, and these are recorded."""

import json
import os
import subprocess
import sys
import threading
import time

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
    # WHY half a second: on a busy machine there may be no second tick sooner.
    answer = contestant("tick/10kHz 5000")
    assert answer["ns"] >= 1e9 / compare_end.TICK_HZ * 0.9
    assert answer["cpu_ns"] is None and answer["sent"] == answer["received"] > 1
    assert answer["conditions"] == granted()
    assert granted()["cpus"] == cpus[-1:]
    # None of this remains after the measurement.
    assert contestant("typed/Imu 100")["conditions"]["policy"] == "other"
    for row in ("generic/50_keys", "image/to_numpy", "image/from_dlpack", "cross_process/CmdVel"):
        answer = contestant(f"{row} 50")
        assert (answer.get("sent"), answer.get("received")) == (50, 50), answer
    record = contestant("machine")
    assert record["machine"]["cpu"] and record["commit"]


def rounds(*times):
    return [compare_peers.Round(ns, cpu_ns, 10, 10) for ns, cpu_ns in times]


def test_a_record_has_the_ratio_of_rounds_next_to_each_other():
    found = {
        "horus": 2 * rounds((100.0, 90.0), (200.0, 180.0), (100.0, 90.0)),
        "iceoryx2": 2 * rounds((300.0, 270.0), (400.0, 360.0), (200.0, 180.0)),
    }
    rows = list(compare_peers.rows_of("typed/CmdVel", found))
    ours, _, versus = rows
    assert [row["id"] for row in rows] == [
        "peers/typed/CmdVel/horus",
        "peers/typed/CmdVel/iceoryx2",
        "vs_iceoryx2/python/typed/CmdVel",
    ]
    assert (versus["ours"], versus["theirs"], versus["ratio"]) == (100.0, 300.0, 2.0)
    low, high = versus["ratio_ci"]
    assert 2.0 <= low <= versus["ratio"] <= high <= 3.0
    assert ours["loop_ns"]["cpu_median"] == 90.0
    few = {name: all_rounds[:5] for name, all_rounds in found.items()}
    *_, versus = compare_peers.rows_of("typed/CmdVel", few)
    assert versus["ratio"] == 2.0 and "ratio_ci" not in versus


def test_a_record_has_the_counts_of_the_packages():
    found = {
        "horus": [compare_peers.Round(1.0, None, 7, 7), compare_peers.Round(1.0, None, 5, 5)],
        "iceoryx2": [compare_peers.Round(1.0, None, 9, 8), compare_peers.Round(1.0, None, 9, 9)],
    }
    rows = list(compare_peers.rows_of("tick/10kHz", found))
    counts = [(row["sent"], row["received"], row["lost"]) for row in rows]
    assert counts == [(12, 12, 0), (18, 17, 1), (30, 29, 1)]
    assert "cpu_median" not in rows[0]["loop_ns"]


class Queue:
    """A topic whose messages can be lost, late or changed."""

    def __init__(self, change=lambda number, messages: None):
        self.messages, self.change, self.sent = [], change, 0

    def send(self, message):
        self.sent += 1
        self.messages.append(message)
        self.change(self.sent, self.messages)

    def recv(self):
        return self.messages.pop(0) if self.messages else None


def measured(topic):
    """Measures exchanges of numbers; returns the answer."""

    def check(got, number):
        compare_end.expect(got, number)

    row = compare_end.Exchanges(topic, lambda number: number, check)
    return compare_end.measure({"row": row}, "row", "100")


def test_a_package_that_loses_messages_has_no_result():
    answer = measured(Queue())
    assert (answer["sent"], answer["received"]) == (100, 100) and answer["ns"] > 0

    def lose(number, messages):
        if number % 10 == 0:
            messages.pop()

    assert measured(Queue(lose)) == {"error": "10 of 100 messages were not received"}


def test_a_package_that_receives_another_message_has_no_result():
    def repeat_once(number, messages):
        if number == 50:
            messages.append(messages[0])

    def send_zeros(number, messages):
        messages[-1] = 0

    # The message after the loop is then an old one.
    assert measured(Queue(repeat_once)) == {"error": "1 was received instead of 2"}
    assert measured(Queue(send_zeros)) == {"error": "0 was received instead of 2"}


@pytest.mark.parametrize("kind", ["CmdVel", "Imu"])
def test_messages_have_values_that_are_not_zero_and_all_are_compared(kind):
    make, check = compare_end.Ours().numbered(kind)
    check(make(7), 7)
    for wrong in (make(8), type(make(7))()):
        with pytest.raises(compare_end.Failed):
            check(wrong, 7)
    peer_make, peer_check = compare_end.Iceoryx2.numbered(None, kind)
    peer_check(peer_make(7), 7)
    for wrong in (peer_make(8), compare_end.KINDS[kind]()):
        with pytest.raises(compare_end.Failed):
            peer_check(wrong, 7)


def in_thread(call):
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()


def test_the_time_of_a_tick_is_measured_and_has_no_cpu_time():
    def run(tick, seconds):
        # It takes longer than requested.
        def ticks():
            for _ in range(11):
                tick(None)
                time.sleep(0.002)

        in_thread(ticks)

    answer = compare_end.measure({"row": compare_end.Rate(run)}, "row", "10")
    assert answer["ns"] >= 2e6 and answer["cpu_ns"] is None
    assert (answer["sent"], answer["received"]) == (11, 11)

    def run_once(tick, seconds):
        in_thread(lambda: tick(None))

    answer = compare_end.measure({"row": compare_end.Rate(run_once)}, "row", "10")
    assert answer == {"error": "1 ticks in 0.001 s: no time from tick to tick"}


class Package:
    """A package that answers each command with the next of these rounds, or else fails."""

    def __init__(self, name, answers):
        self.name, self.answers = name, iter(answers)
        self.absent, self.conditions, self.failed = {}, {}, {}

    def ask(self, line):
        return {**next(self.answers), "conditions": {}}

    measure = compare_peers.Contestant.measure


def test_a_row_that_failed_is_named_and_has_no_ratio():
    good = {"ns": 1e6, "cpu_ns": 1e6, "sent": 20, "received": 20}
    bad = {"error": "1 of 20 messages were not received"}
    ours, theirs = Package("horus", [good] * 9), Package("iceoryx2", [good, good, bad])
    found = compare_peers.compare("typed/Imu", [ours, theirs], 4)
    assert [(name, len(all_rounds)) for name, all_rounds in found.items()] == [("horus", 4)]
    assert theirs.failed == {"typed/Imu": bad["error"]}
    text = compare_peers.cell(found, theirs, "horus", "typed/Imu")
    assert text == "FAILED: 1 of 20 messages were not received"
    assert [row["id"] for row in compare_peers.rows_of("typed/Imu", found)] == [
        "peers/typed/Imu/horus"
    ]
