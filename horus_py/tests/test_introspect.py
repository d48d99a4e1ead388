"""Topics from the view of a tool: lists, counters, removal, sweeps."""

import os
import signal
import subprocess
import sys
import threading
import time

import horus
import pytest

LEFT_BEHIND = """
import os, signal, horus
publisher = horus.Publisher("left/behind", horus.CmdVel)
publisher.send(horus.CmdVel())
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_topics_are_listed_by_name(namespace):
    assert horus.topics(namespace) == []
    with horus.Topic("imu", horus.Imu), horus.Topic("arm/state"):
        assert horus.topics() == horus.topics(namespace) == ["arm/state", "imu"]


def test_a_topic_is_described_with_its_ends(namespace):
    publisher = horus.Publisher("cmd_vel", horus.CmdVel, capacity=64)
    subscriber = horus.Subscriber("cmd_vel", horus.CmdVel)
    for _ in range(3):
        publisher.send(horus.CmdVel(linear=0.5))
    assert subscriber.recv() is not None
    assert subscriber.latest() is not None
    topic = horus.introspect("cmd_vel", namespace)
    assert (topic.name, topic.message_type, topic.message_bytes) == ("cmd_vel", "CmdVel", 16)
    assert (topic.capacity, topic.reliability, topic.backend) == (64, "best_effort", "SpscShm")
    assert "linear" in topic.schema
    (lane,) = topic.publishers
    assert (lane.is_alive, lane.process_id, lane.sent) == (True, os.getpid(), 3)
    (reader,) = topic.subscribers
    assert reader.process_id == os.getpid()
    assert not reader.is_asleep
    assert repr(topic) == "<horus.TopicInfo 'cmd_vel' of CmdVel, 1 lanes, 1 subscribers>"
    subscriber.close()
    assert horus.introspect("cmd_vel").subscribers == []


WAITING = """
import sys, horus
publisher = horus.Publisher("imu", horus.Imu)
print("ready", flush=True)
sys.stdin.read()
"""


def test_processes_are_listed_while_they_live(namespace):
    (own,) = horus.processes()
    assert (own.process_id, own.is_own) == (os.getpid(), True)
    arguments = [sys.executable, "-c", WAITING]
    pipe = subprocess.PIPE
    with subprocess.Popen(arguments, stdin=pipe, stdout=pipe, text=True) as other:
        assert other.stdout.readline() == "ready\n"
        (found,) = (process for process in horus.processes(namespace) if not process.is_own)
        assert found.process_id == other.pid
        (lane,) = horus.introspect("imu").publishers
        assert (lane.process_id, lane.process_name) == (found.process_id, found.process_name)
        assert found.start_time >= own.start_time
        other.kill()
    assert horus.processes() == [own]


def test_what_a_subscriber_has_lost_is_known_before_it_looks(namespace):
    publisher = horus.Publisher("cmd_vel", horus.CmdVel, capacity=16)
    subscriber = horus.Subscriber("cmd_vel", horus.CmdVel)
    for _ in range(1000):
        publisher.send(horus.CmdVel())
    (reader,) = horus.introspect("cmd_vel", namespace).subscribers
    assert (reader.received, reader.lost, reader.waiting) == (0, 986, 14)
    stats = subscriber.stats()
    assert (stats.lost, stats.waiting, stats.sent) == (986, 14, 1000)
    assert subscriber.recv() is not None
    assert subscriber.latest() is not None
    stats = subscriber.stats()
    assert (stats.received, stats.lost, stats.skipped, stats.waiting) == (2, 986, 12, 0)
    (reader,) = horus.introspect("cmd_vel", namespace).subscribers
    seen = (reader.received, reader.lost, reader.skipped, reader.waiting)
    assert seen == (2, 986, 12, 0)


def test_a_topic_that_is_not_there_is_named():
    with pytest.raises(horus.OpenTopicError, match="nowhere"):
        horus.introspect("nowhere")


def test_a_topic_in_use_is_not_removed(namespace):
    with horus.Topic("map", horus.CmdVel, persist_after_exit=True) as topic:
        # What persists is what was sent.
        topic.send(horus.CmdVel())
        assert horus.remove_topic("map") is False
    assert horus.topics() == ["map"]
    assert horus.remove_topic("map", namespace) is True
    assert horus.topics() == []
    assert horus.remove_topic("map") is True


def test_a_sweep_removes_what_the_dead_left(directory):
    with horus.Topic("alive"), horus.Topic("kept", persist_after_exit=True) as kept:
        kept.send("kept")
        kept.close()
        killed = subprocess.run([sys.executable, "-c", LEFT_BEHIND], check=False, timeout=120)
        assert killed.returncode == -signal.SIGKILL
        assert horus.topics() == ["alive", "kept", "left/behind"]
        report = horus.sweep()
    assert (report.removed, report.in_use) == (["left/behind"], ["alive"])
    assert (report.kept, report.foreign) == (["kept"], [])


@pytest.mark.parametrize("kind", [horus.CmdVel, horus.Bytes, None])
def test_a_send_that_waits_long_is_refused_once(namespace, kind):
    kinds = [kind] if kind else []
    qos = {"namespace": namespace, "qos": "reliable", "capacity": 2}
    publisher = horus.Publisher("refused", *kinds, **qos)
    subscriber = horus.Subscriber("refused", *kinds, **qos)
    message = {horus.CmdVel: horus.CmdVel(linear=0.5), horus.Bytes: horus.Bytes(b"1"), None: 1}[kind]

    def refused():
        return horus.introspect("refused", namespace=namespace).publishers[0].refused

    for _ in range(2):
        publisher.send(message)
    # The wait handles signals every 40 ms, and each part may end without room.
    with pytest.raises(horus.FullError):
        publisher.send(message, timeout=0.15)
    assert refused() == 1
    thread = threading.Thread(target=lambda: publisher.send(message, timeout=60))
    thread.start()
    time.sleep(0.15)
    assert subscriber.recv() is not None
    thread.join()
    assert refused() == 1
