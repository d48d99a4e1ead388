"""The example: a camera in Rust and a detector in Python, each in its own process."""

import importlib.util
import signal
import subprocess
import sys
import time
import types

import horus
import numpy
import pytest
from conftest import ROOT, built

DETECTOR = ROOT / "horus_py" / "examples" / "detector.py"
PATIENCE = 60
# The ball moves within a cell of the network, which is 8 pixels wide.
PIXELS = 6.0


def start(*command):
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def stopped(process):
    """Stops a process like Ctrl-C; returns its output."""
    process.send_signal(signal.SIGINT)
    try:
        return process.communicate(timeout=PATIENCE)
    finally:
        process.kill()


def test_the_detector_finds_the_ball_where_the_camera_has_drawn_it(directory):
    truth = horus.Subscriber("camera/truth", horus.Detection, capacity=1024)
    detections = horus.Subscriber("detections", horus.Detection)
    detector = start(sys.executable, DETECTOR)
    camera = start(built("camera"))
    places, found = {}, []
    end = time.monotonic() + PATIENCE
    while len(found) < 20:
        assert time.monotonic() < end, stopped(detector)
        message = detections.recv(timeout=0.1)
        if message is not None:
            found.append(message)
        # Each time: the camera overwrites what is not received in time.
        places |= {place.timestamp_ns: place for place in iter(truth.recv, None)}
    places |= {place.timestamp_ns: place for place in iter(truth.recv, None)}
    output, errors = stopped(camera)
    assert camera.returncode == 0, output + errors
    output, errors = stopped(detector)
    assert detector.returncode == -signal.SIGINT, output + errors
    assert "ball at" in output
    for message in found:
        place = places[message.timestamp_ns]
        assert (message.class_id, place.class_id) == ("ball", "ball")
        assert numpy.abs(message.bbox.center - place.bbox.center).max() < PIXELS
        assert abs(message.bbox.size_x - place.bbox.size_x) <= 16
        assert message.score > 0.9
    assert len({tuple(message.bbox.center) for message in found}) > 1


@pytest.fixture
def example():
    specification = importlib.util.spec_from_file_location("detector", DETECTOR)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_a_wall_without_a_ball_is_no_ball(directory, example):
    topic = horus.Topic("camera/rgb", horus.Image)
    topic.send(horus.Image(numpy.full((480, 640, 3), 150, numpy.uint8), encoding="rgb8"))
    assert example.heat_by_numpy(topic.recv()).max() < 0.01


def test_torch_and_numpy_agree(directory, example):
    pytest.importorskip("torch")
    topic = horus.Topic("camera/rgb", horus.Image)
    noise = numpy.random.default_rng(1).integers(0, 256, (480, 640, 3), dtype=numpy.uint8)
    topic.send(horus.Image(noise, encoding="rgb8"))
    image = topic.recv()
    heat = example.heat_by_torch(image)
    assert numpy.allclose(heat, example.heat_by_numpy(image), atol=1e-4)


@pytest.mark.parametrize(("versions", "is_view"), [({}, False), ({"max_version": (1, 0)}, True)])
def test_a_torch_of_any_version_gets_a_tensor(
    directory, example, monkeypatch, versions, is_view
):
    class Pixels:
        """Lets numpy consume an image as a version of torch does."""

        def __init__(self, image):
            self.image = image

        def __dlpack__(self, **_requested):
            return self.image.__dlpack__(**versions)

        def __dlpack_device__(self):
            return self.image.__dlpack_device__()

    def from_dlpack(image):
        return numpy.from_dlpack(Pixels(image))

    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(from_dlpack=from_dlpack))
    topic = horus.Topic("camera/rgb", horus.Image)
    topic.send(horus.Image(numpy.full((2, 2, 3), 7, numpy.uint8)))
    image = topic.recv()
    pixels = example.tensor_by_torch(image)
    assert (pixels == 7).all()
    assert numpy.shares_memory(pixels, image.to_numpy()) == is_view


def test_the_example_is_typed(tmp_path):
    command = [sys.executable, "-m", "mypy", "--strict", str(DETECTOR)]
    options = ["--cache-dir", str(tmp_path), "--ignore-missing-imports"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
