"""C++ and Python: every standard message, both ways, byte for byte; and a C++ program is killed."""

import json
import os
import shutil
import subprocess

import horus
import numpy as np
import pytest
from conftest import ROOT
from test_interop import relay
from test_message import STANDARD, patterned

# Messages that only occur inside framed messages have no topics of their own.
KINDS = [kind for kind in STANDARD if kind.__name__ not in ("MapMetaData", "PointField", "Joint")]

RELAY = """
#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>
#include <horus/horus.hpp>
#include <horus/msg.hpp>

/// Both ends of one type, as a step that sends back one message.
template <class T>
std::function<void()> relay(const char *name) {
    auto in = std::make_shared<horus::Subscriber<T>>(name);
    auto out = std::make_shared<horus::Publisher<T>>(std::string(name) + "_back");
    return [in, out] {
        if (!out->send(in->recv_blocking())) throw std::runtime_error("full");
    };
}

int main() {
    const std::vector<std::function<void()>> relays = {RELAYS};
    std::puts("ready");
    std::fflush(stdout);
    for (const auto &one : relays) one();
}
"""

TALKER = """
#include <horus/horus.hpp>
#include <horus/msg.hpp>

int main() {
    horus::Publisher<horus::CmdVel> publisher("cmd_vel", horus::Qos::reliable());
    horus::CmdVel command{};
    for (;;) {
        command.timestamp_ns++;
        if (!publisher.send_timeout(command, horus::forever)) return 1;
    }
}
"""


SCANS = """
#include <cstdio>
#include <thread>
#include <utility>
#include <horus/horus.hpp>
#include <horus/msg.hpp>

template <class T>
horus::Borrow<T> wait(horus::Subscriber<T> &subscriber) {
    for (;; std::this_thread::yield()) {
        if (auto message = subscriber.borrow()) return std::move(*message);
    }
}

int main() {
    horus::Subscriber<horus::LidarScan> scans("LidarScan_back");
    horus::Publisher<horus::LidarScan> doubled("doubled");
    horus::Subscriber<horus::JointStateArray> states("JointStateArray_back");
    horus::Publisher<horus::JointStateArray> reversed("reversed");
    std::puts("ready");
    std::fflush(stdout);

    auto scan = wait(scans);
    const horus::LidarScanHeader &header = scan.header();
    const std::size_t numbers = header.count * (1 + (header.has_intensities != 0));
    if (scan.data().size() < numbers) return 1;
    auto loan = doubled.loan();
    if (!loan || loan->data().size() < numbers) return 2;
    loan->header() = header;
    for (std::size_t at = 0; at < numbers; ++at) loan->data()[at] = 2 * scan.data()[at];
    loan->publish(numbers);

    auto state = wait(states);
    const std::uint32_t count = state.header().count;
    if (state.data().size() < count * sizeof(horus::Joint)) return 3;
    const auto *joints = reinterpret_cast<const horus::Joint *>(state.data().data());
    auto back = reversed.loan();
    back->header() = state.header();
    auto *joint = reinterpret_cast<horus::Joint *>(back->data().data());
    for (std::uint32_t at = 0; at < count; ++at) joint[at] = joints[count - 1 - at];
    back->publish(count * sizeof(horus::Joint));
    return 0;
}
"""


def library():
    """Returns the directory of the shared library, which cargo builds unless a variable names it.

    WHY a variable: `.ci/tests` has built it. A build with other features would replace the file
    while tests in C++ link with it.
    """
    if built := os.environ.get("HORUS_TEST_LIBRARY_DIR"):
        return built
    command = [os.environ.get("CARGO", "cargo"), "build", "-q", "--locked", "-p", "horus_cpp"]
    command += ["--message-format", "json-render-diagnostics"]
    built = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    artifacts = [json.loads(line) for line in built.stdout.splitlines()]
    names = [name for artifact in artifacts for name in artifact.get("filenames", [])]
    return os.path.dirname(next(name for name in names if name.endswith("/libhorus_cpp.so")))


@pytest.fixture
def program(directory, tmp_path):
    """Compiles a C++ program, and starts it in the namespace of this test."""
    if shutil.which("c++") is None:
        pytest.skip("there is no C++ compiler: apt-get install g++")
    where = library()
    started = []

    def start(source):
        (tmp_path / "main.cpp").write_text(source)
        command = ["c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "main.cpp", "-o", "main"]
        command += [f"-I{ROOT}/horus_cpp/include", f"-L{where}", "-lhorus_cpp"]
        subprocess.run(command, cwd=tmp_path, check=True)
        environment = {**os.environ, "LD_LIBRARY_PATH": where}
        process = subprocess.Popen(
            [tmp_path / "main"], stdout=subprocess.PIPE, text=True, env=environment
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def test_cpp_sends_back_what_python_sent(program):
    assert len(KINDS) == 62
    ends = [
        (horus.Publisher(kind.__name__, kind), horus.Subscriber(f"{kind.__name__}_back", kind))
        for kind in KINDS
    ]
    names = [kind.__name__ for kind in KINDS]
    relays = ", ".join(f'relay<horus::{name}>("{name}")' for name in names)
    process = program(RELAY.replace("RELAYS", relays))
    assert process.stdout.readline() == "ready\n"
    sent = [patterned(kind, seed) for seed, kind in enumerate(KINDS)]
    for message, (publisher, _) in zip(sent, ends, strict=True):
        publisher.send(message)
    for message, (_, subscriber) in zip(sent, ends, strict=True):
        back = subscriber.recv(timeout=60)
        assert type(back) is type(message)
        assert bytes(back) == bytes(message)
    assert process.wait(60) == 0


def test_scans_and_joints_pass_python_rust_and_cpp(program):
    rng = np.random.default_rng(5)
    topics = [
        (horus.LidarScan, "doubled", horus.LidarScan(rng.random((2, 1081), np.float32))),
        (horus.JointStateArray, "reversed", horus.JointStateArray(count=29)),
    ]
    joints = topics[1][2].to_numpy()
    joints["name"], joints["position"] = [f"j{at}" for at in range(29)], rng.random(29)
    ends = [
        (horus.Publisher(kind.__name__, kind), horus.Subscriber(back, kind), message)
        for kind, back, message in topics
    ]
    with relay("lists"):
        process = program(SCANS)
        assert process.stdout.readline() == "ready\n"
        for publisher, _, message in ends:
            publisher.send(message)
        doubled, turned = [subscriber.recv(timeout=60) for _, subscriber, _ in ends]
    assert np.array_equal(doubled.to_numpy(), 2 * topics[0][2].to_numpy())
    assert np.array_equal(turned.to_numpy(), joints[::-1])
    assert process.wait(60) == 0


def test_a_killed_cpp_publisher_leaves_a_topic_without_a_gap(program):
    subscriber = horus.Subscriber("cmd_vel", horus.CmdVel, qos="reliable")
    for _ in range(3):
        process = program(TALKER)
        for number in range(1, 2000):
            assert subscriber.recv(timeout=60).timestamp_ns == number
        process.kill()
        process.wait()
        # First the messages that were sent before the kill, then nothing.
        while (command := subscriber.recv(timeout=0.2)) is not None:
            number += 1
            assert command.timestamp_ns == number
    stats = subscriber.stats()
    assert (stats.lost, stats.waiting) == (0, 0)
    assert stats.sent == stats.received
