"""Images, point clouds and tensors: zero-copy arrays in shared memory."""

import copy
import gc
import os
import pickle
import sys
import threading
import time

import horus
import numpy as np
import pytest
from mapped import address, is_mapped, mappings

KINDS = [
    kind
    for kind in (getattr(horus, name) for name in horus._messages.__all__)
    if issubclass(kind, horus.Framed)
]


def examples():
    """Returns a message of each kind."""
    rng = np.random.default_rng(3)
    points = np.zeros(7, [("x", "f4"), ("y", "f4"), ("z", "f4"), ("ring", "u2"), ("rgb", "u1", 3)])
    points["x"], points["ring"], points["rgb"] = range(7), range(7, 14), [[1, 2, 3]] * 7
    nodes = horus.SchedulerStatus(scheduler="arm", count=2)
    nodes.to_numpy()["name"] = [b"one", b"two"]
    joints = np.zeros(29, horus.Joint.__horus_dtype__)
    joints["name"] = [f"joint_{index}" for index in range(29)]
    joints["position"] = rng.random(29)
    return [
        horus.Image.now(rng.integers(0, 255, (48, 64, 3), np.uint8), frame_id="camera"),
        horus.DepthImage.now(rng.random((48, 64), np.float32), range_max=4.0),
        horus.CompressedImage.now(rng.bytes(1000), format="jpeg"),
        horus.SegmentationMask(rng.integers(0, 9, (48, 64), np.uint8), class_count=9),
        horus.PointCloud.now(points, frame_id="lidar"),
        horus.Tensor(rng.random((2, 3, 4, 5)), name="logits"),
        horus.OccupancyGrid(rng.integers(-1, 100, (20, 30), np.int8), frame_id="map"),
        horus.CostMap(rng.integers(0, 255, (20, 30), np.uint8), layer="master"),
        horus.AudioFrame(rng.integers(-99, 99, (480, 2), np.int16), sample_rate=48_000),
        horus.Bytes(b"anything", format="text/plain"),
        nodes,
        horus.LidarScan(rng.random((2, 1081), np.float32), frame_id="laser"),
        horus.JointStateArray(joints),
        horus.LogLine(b"no path", level=horus.LogLine.WARN, node="planner"),
    ]


def frame(seed=0, shape=(480, 640, 3)):
    return np.random.default_rng(seed).integers(0, 255, shape, np.uint8)


def test_there_is_an_example_of_every_kind():
    assert {type(example) for example in examples()} == set(KINDS)
    assert len(KINDS) == 14


@pytest.mark.parametrize("index", range(14), ids=lambda index: type(examples()[index]).__name__)
def test_every_kind_passes_a_topic_and_is_copied_and_pickled(namespace, index):
    sent = examples()[index]
    topic = horus.Topic("x", type(sent), namespace=namespace)
    topic.send(sent)
    back = topic.recv()
    assert back == sent and bytes(back) == bytes(sent)
    assert not back.writeable and sent.writeable
    assert np.array_equal(back.to_numpy(), sent.to_numpy())
    for other in (back.copy(), copy.deepcopy(back), pickle.loads(pickle.dumps(back))):
        assert other == sent and other.writeable
        assert address(other.to_numpy()) != address(back.to_numpy())
    other.timestamp_ns += 1
    assert other != sent
    name = type(sent).__name__
    assert repr(back).startswith(f"<horus.{name}(timestamp_ns=")
    # The same with a loan.
    names = [name for name, field in vars(type(sent)).items() if is_field(field)]
    loan = topic.loan(**{name: getattr(sent, name) for name in names})
    loan.to_numpy()[...] = sent.to_numpy()
    loan.publish()
    assert topic.recv() == sent


def is_field(attribute):
    return type(attribute).__name__ == "getset_descriptor"


def test_an_array_says_what_the_header_is():
    image = horus.Image(frame())
    assert (image.height, image.width, image.step, image.encoding) == (480, 640, 1920, "rgb8")
    assert image.nbytes == 480 * 640 * 3
    assert np.array_equal(image.to_numpy(), frame())
    assert horus.Image(np.zeros((4, 5), np.uint8)).encoding == "mono8"
    assert horus.Image(np.zeros((4, 5, 1), np.uint16)).encoding == "mono16"
    assert horus.Image(np.zeros((4, 5, 2), np.float32)).encoding == "32FC2"
    assert horus.Image(np.zeros((4, 5, 3), np.uint8), encoding="bgr8").encoding == "bgr8"
    # Arrays with another memory order are copied into C order.
    wide = frame()[::2, ::-3]
    assert np.array_equal(horus.Image(wide).to_numpy(), wide)
    empty = horus.Image(width=64, height=2, encoding="rgb8", step=256)
    assert empty.to_numpy().strides == (256, 3, 1)
    assert horus.Image(width=64, height=2, encoding="rgb8").step == 192
    depth = horus.DepthImage(np.zeros((4, 5), np.uint16))
    assert (depth.encoding, round(depth.unit, 6)) == ("16UC1", 0.001)
    tensor = horus.Tensor(np.zeros((2, 3), np.float16))
    assert list(tensor.shape[:2]) == [2, 3] and tensor.to_numpy().dtype == np.float16
    cloud = horus.PointCloud(np.ones((9, 3), np.float32))
    assert (cloud.width, cloud.point_step) == (9, 12)
    assert cloud.to_numpy().dtype.names == ("x", "y", "z")
    assert np.from_dlpack(cloud).shape == (9, 3)
    organised = horus.PointCloud(np.ones((2, 3, 4), np.float32))
    assert organised.to_numpy().shape == (2, 3) and organised.to_numpy()["intensity"][1, 2] == 1
    grid = horus.OccupancyGrid(np.zeros((3, 7), np.int8))
    assert (grid.info.height, grid.info.width) == (3, 7)
    assert np.asarray(image).base is image
    assert np.array(image, copy=True).flags.writeable
    assert np.asarray(image, np.float32).dtype == np.float32


@pytest.mark.parametrize(
    ("kind", "data", "fields", "text"),
    [
        (horus.Image, np.zeros(4, np.uint8), {}, "rows, columns"),
        (horus.Image, np.zeros((4, 4, 5), np.uint8), {}, "an encoding that has such pixels"),
        (horus.Image, np.zeros((4, 4), np.uint8), {"encoding": "rgb8"}, "'rgb8'"),
        (horus.Image, None, {"width": 4, "height": 4, "encoding": "rgb8", "step": 3}, "apart"),
        (horus.Image, None, {"width": 2**20, "height": 2**20, "encoding": "rgb8"}, "fewer than"),
        (horus.DepthImage, np.zeros((4, 4)), {}, "u16 or f32"),
        (horus.PointCloud, np.zeros((4, 2)), {}, "x, y, z"),
        (horus.Tensor, np.zeros((1,) * 9), {}, "9 dimensions"),
        (horus.SchedulerStatus, np.zeros(3), {}, "fields only"),
        (horus.CostMap, np.zeros((2, 2), np.int8), {}, "rows and columns of u8"),
    ],
    ids=lambda value: "",
)
def test_what_is_no_message_is_named(kind, data, fields, text):
    with pytest.raises(ValueError, match=text):
        kind(data, **fields)


def test_mistakes_are_named(camera, namespace):
    with pytest.raises(TypeError, match="no field 'colour'"):
        horus.Image(frame(), colour=1)
    with pytest.raises(TypeError, match="one array"):
        horus.Image(frame(), 1)
    with pytest.raises(TypeError, match="data of a LidarScan are <class 'list'>: give a numpy"):
        horus.LidarScan([1.0, 2.0])
    with pytest.raises(TypeError, match="carries Image, not ndarray"):
        camera.send(frame())
    image = horus.Image(frame())
    image.height = 500
    with pytest.raises(ValueError, match="promises 960000 bytes, it has 921600"):
        camera.send(image)
    with pytest.raises(ValueError, match="fewer than its header says"):
        image.to_numpy()
    large = horus.Image(frame(shape=(800, 800, 3)))
    with pytest.raises(horus.SendFailedError, match="1920128 bytes, .* 1048576 at most"):
        camera.send(large)
    with pytest.raises(horus.SendFailedError, match="1920128 bytes, .* 1048576 at most"):
        camera.loan((800, 800, 3))
    with pytest.raises(TypeError, match="CmdVel are copied"):
        horus.Topic("x", horus.CmdVel, namespace=namespace).loan()
    with pytest.raises(ValueError, match="no Image"):
        horus.Image.from_bytes(bytes(horus.Image(frame()))[:-1])
    with pytest.raises(TypeError, match="cannot be a field"):

        @horus.message
        class Wrong:
            image: horus.Image


def test_nothing_is_copied(camera, directory):
    loan = camera.loan((480, 640, 3), "u1", encoding="bgr8")
    written = loan.to_numpy()
    assert written.flags.writeable and is_mapped(address(written), directory)
    # Any number of views count as one.
    assert loan.to_numpy() is written
    written[:] = frame(1)
    del written
    loan.publish()
    one = camera.recv()
    arrays = [one.to_numpy(), np.from_dlpack(one), np.asarray(one), one.to_numpy()[:]]
    assert {address(array) for array in arrays} == {address(arrays[0])}
    assert is_mapped(address(arrays[0]), directory)
    for array in arrays:
        assert np.array_equal(array, frame(1)) and not array.flags.writeable
    # Another subscriber of this process reads the same bytes in memory.
    other = horus.Subscriber("camera", horus.Image, namespace=namespace_of(directory))
    camera.send(one.copy())
    first, second = camera.recv(), other.recv()
    assert address(first.to_numpy()) == address(second.to_numpy())


def namespace_of(directory):
    return horus.Namespace(f"{directory}/horus", "test")


def test_what_was_received_cannot_be_changed(camera):
    camera.send(horus.Image(frame()))
    image = camera.recv()
    for change in (
        lambda: image.to_numpy().__setitem__(0, 0),
        lambda: np.from_dlpack(image).__setitem__(0, 0),
        lambda: image.to_numpy().setflags(write=True),
    ):
        with pytest.raises(ValueError):
            change()
    with pytest.raises(AttributeError, match="read-only: change a copy"):
        image.width = 3
    mine = image.copy()
    mine.to_numpy()[:] = 0
    assert image.to_numpy().any()


def test_a_message_is_held_while_anything_looks_at_it(namespace):
    topic = horus.Topic("held", horus.Tensor, namespace=namespace, capacity=4)
    topic.send(horus.Tensor(np.full(100, 7.0)))
    view = np.from_dlpack(topic.recv())[10:20]
    held = [view[1:], topic]
    del view
    gc.collect()
    for number in range(50):
        topic.send(horus.Tensor(np.full(100, float(number))))
        assert topic.recv().to_numpy()[0] == number
    assert (held[0] == 7).all()
    topic.close()
    assert (held[0] == 7).all()


def test_messages_that_cannot_be_held_any_more_are_copies(namespace, directory):
    topic = horus.Topic("pins", horus.Bytes, namespace=namespace, capacity=64)
    for number in range(20):
        topic.send(horus.Bytes(bytes([number])))
    held = [topic.recv().to_numpy() for _ in range(7)]
    assert all(is_mapped(address(array), directory) for array in held)
    for number, call in ((7, topic.recv), (8, lambda: topic.recv(timeout=1)), (19, topic.latest)):
        copied = call().to_numpy()
        assert copied[0] == number and not copied.flags.writeable
        assert not is_mapped(address(copied), directory)
    assert [array[0] for array in held] == list(range(7))
    del held[3]
    # The slot was released at once.
    topic.send(horus.Bytes(bytes([20])))
    assert is_mapped(address(topic.recv().to_numpy()), directory)
    assert topic.stats().lost == 0


def test_any_number_of_loops_that_keep_their_last_image_receive_all(directory):
    namespace = namespace_of(directory)
    camera = horus.Publisher("camera", horus.Image, namespace=namespace)
    camera.reserve(2 << 20)
    subscribers = [horus.Subscriber("camera", horus.Image, namespace=namespace) for _ in range(5)]
    images = [None] * len(subscribers)
    for seed in range(20):
        camera.send(horus.Image(np.full((4, 4), seed, np.uint8)))
        for index, subscriber in enumerate(subscribers):
            # The name keeps the last image until this one has come.
            images[index] = subscriber.recv(timeout=60)
        assert all((image.to_numpy() == seed).all() for image in images)
    assert [subscriber.stats().received for subscriber in subscribers] == [20] * 5


def test_who_only_observes_gets_copies(camera, directory):
    observer = horus.Subscriber(
        "camera", horus.Image, namespace=namespace_of(directory), observe=True
    )
    for seed in range(3):
        camera.send(horus.Image(frame(seed)))
    images = [observer.recv(), observer.recv(timeout=60)]
    assert all(image.writeable for image in images)
    assert not is_mapped(address(images[0].to_numpy()), directory)
    assert np.array_equal(images[1].to_numpy(), frame(1))
    camera.send(horus.Image(frame(5)))
    assert np.array_equal(observer.latest().to_numpy(), frame(5))
    assert observer.recv() is None and observer.recv(timeout=0.01) is None


def test_a_loan_is_published_once_or_given_back(camera):
    loan = camera.loan((4, 4))
    array = loan.to_numpy()
    for call in (camera.loan, lambda: camera.send(horus.Image(frame()))):
        with pytest.raises(horus.BusyError, match="on loan: publish"):
            call()
    array[:] = 5
    loan.frame_id = "late"
    del array
    loan.publish()
    assert not loan.writeable
    with pytest.raises(horus.SendFailedError, match="not on loan"):
        loan.publish()
    with pytest.raises(AttributeError, match="read-only"):
        loan.frame_id = "later"
    image = camera.recv()
    assert image.frame_id == "late" and (image.to_numpy() == 5).all()
    # Discarded, dropped, and kept alive only by its array.
    camera.loan((4, 4)).discard()
    camera.loan((4, 4))
    array = camera.loan((4, 4)).to_numpy()
    with pytest.raises(horus.BusyError):
        camera.loan()
    del array
    assert camera.recv() is None
    with pytest.raises(horus.SendFailedError, match="use publisher.send"):
        horus.Image(frame()).publish()
    # A loan that still exists when its publisher is closed.
    loan = camera.loan((4, 4))
    camera.close()
    assert not loan.writeable
    with pytest.raises(horus.SendFailedError, match="not on loan"):
        loan.publish()


def borrowed_views(loan):
    """Returns the objects, except the array itself, that can write the data of a loan."""
    yield "slice", loan.to_numpy()[1:]
    yield "transposed", loan.to_numpy().T
    yield "memoryview", memoryview(loan.to_numpy())
    yield "frombuffer", np.frombuffer(memoryview(loan.to_numpy()), np.uint8)
    yield "dlpack", loan.__dlpack__()
    yield "versioned", loan.__dlpack__(max_version=(1, 0))
    yield "from_dlpack", np.from_dlpack(loan)
    yield "array", loan.to_numpy()


@pytest.mark.parametrize("end", ["publish", "discard"])
def test_a_loan_does_not_end_while_anything_can_write_it(camera, end):
    names = [name for name, _ in borrowed_views(camera.loan((4, 4)))]
    for wanted in names:
        loan = camera.loan((4, 4))
        view = next(view for name, view in borrowed_views(loan) if name == wanted)
        with pytest.raises(BufferError, match=f"'camera'.*before {end}"):
            getattr(loan, end)()
        # Nothing has changed: it can still be written, and no subscriber has received it.
        assert loan.writeable and camera.recv() is None
        loan.to_numpy()[:] = 3
        del view
        getattr(loan, end)()
        image = camera.recv()
        assert (image is not None) == (end == "publish")
        assert image is None or (image.to_numpy() == 3).all()


WITHOUT_NUMPY = """
import sys
sys.modules["numpy"] = None
import horus

topic = horus.Topic("camera", horus.Image, max_message_bytes=4096)
loan = topic.loan(width=4, height=4, encoding="mono8")
for versions in ({}, {"max_version": (1, 0)}):
    capsules = [loan.__dlpack__(**versions), loan.__dlpack__(**versions)]
    while capsules:
        try:
            loan.publish()
        except BufferError:
            print("refused")
        capsules.pop()
try:
    loan.to_numpy()
except ImportError as error:
    print(error)
capsule = loan.__dlpack__()
try:
    loan.to_numpy()
except ImportError as error:
    print(error)
del capsule
loan.publish()
image = topic.recv()
print(image.width, "versioned" in repr(image.__dlpack__(max_version=(1, 0))))
"""


def test_a_loan_goes_to_dlpack_without_numpy(python):
    needs = "this needs numpy: pip install numpy\n"
    assert python(WITHOUT_NUMPY) == "refused\n" * 4 + needs * 2 + "4 True\n"


def test_a_publisher_that_is_closed_leaves_when_nothing_can_write_its_loan(camera, directory):
    other = horus.Subscriber("camera", horus.Image, namespace=namespace_of(directory))
    loan = camera.loan((4, 4))
    part = loan.to_numpy()[1:]
    camera.close()
    assert camera.closed and other.publisher_count() == 1
    for call in (
        lambda: camera.send(horus.Image(frame())),
        camera.loan,
        loan.publish,
        camera.publisher_count,
    ):
        with pytest.raises(horus.ClosedError):
            call()
    # It is still the memory of the publisher.
    part[:] = 1
    del part, loan
    assert other.publisher_count() == 0 and other.recv() is None


@pytest.mark.parametrize("how", ["fields", "locals"])
def test_a_header_that_changes_while_it_is_read_shows_no_other_memory(how):
    cloud = horus.PointCloud(np.ones((4, 3), np.float32))
    step = cloud.point_step

    def change(code, event, _argument):
        if code.f_code.co_name == "structure" and code.f_code.co_filename.endswith("_framed.py"):
            message = cloud if how == "fields" else code.f_locals["message"]
            message.width, message.row_step = 100_000, 100_000 * step
        return change

    before = sys.gettrace()
    sys.settrace(change)
    try:
        shape = cloud.to_numpy().shape
    except ValueError as error:
        shape = str(error)
    finally:
        sys.settrace(before)
    assert cloud.nbytes == 4 * step
    assert shape == (4,) if how == "fields" else "48 bytes" in shape


def test_loans_are_asked_for_as_arrays_of_numpy_are(namespace):
    topic = horus.Topic("tensors", horus.Tensor, namespace=namespace)
    for shape, dtype in [((2, 3), np.float32), ([4], "i8"), (5, bool), ((), np.dtype("f2"))]:
        loan = topic.loan(shape, dtype, name="x")
        array, wanted = loan.to_numpy(), np.empty(shape, dtype)
        assert (array.dtype, array.shape) == (wanted.dtype, wanted.shape)
        del array
        loan.discard()
    for wrong in (">f4", "U3", complex, [("a", "f4")]):
        with pytest.raises(TypeError, match="where integers, floats or booleans"):
            topic.loan(3, wrong)
    with pytest.raises((OverflowError, TypeError)):
        topic.loan(-1)
    clouds = horus.Topic("clouds", horus.PointCloud, namespace=namespace)
    loan = clouds.loan(9, [("x", "f4"), ("ring", "u2")])
    loan.to_numpy()["ring"] = 3
    loan.publish()
    assert clouds.recv().to_numpy()["ring"].tolist() == [3] * 9


def test_a_shorter_header_publishes_less(namespace):
    topic = horus.Topic("jpeg", horus.CompressedImage, namespace=namespace)
    loan = topic.loan(1000, format="jpeg")
    loan.to_numpy()[:3] = [1, 2, 3]
    loan.bytes = 3
    loan.publish()
    assert topic.recv().to_numpy().tolist() == [1, 2, 3]


def test_malformed_messages_are_counted(namespace):
    # The same schema text, but other data than the header describes: bytes of a message whose
    # header describes more.
    topic = horus.Topic("broken", horus.Bytes, namespace=namespace)
    loan = topic.loan(8)
    loan.bytes = 2**40
    with pytest.raises(ValueError, match="fewer than"):
        loan.publish()
    loan.bytes = 9
    with pytest.raises(ValueError, match="promises 9 bytes, it has 8"):
        loan.publish()
    loan.discard()
    topic.send(horus.Bytes(b"good"))
    assert bytes(topic.recv().to_numpy()) == b"good"


def test_views_are_readable_after_a_fork(camera):
    camera.send(horus.Image(frame(9)))
    image = camera.recv()
    view = image.to_numpy()
    loan = camera.loan((4, 4))
    child = os.fork()
    if child == 0:
        code = 1
        try:
            assert np.array_equal(view, frame(9)) and np.array_equal(np.from_dlpack(image), frame(9))
            for call in (camera.recv, loan.publish):
                try:
                    call()
                    os._exit(2)
                except horus.ForkedError:
                    pass
            del view, image, loan
            gc.collect()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    # The child released nothing that belongs to the parent.
    for seed in range(40):
        loan.discard()
        camera.send(horus.Image(frame(seed, (2, 2))))
    assert np.array_equal(view, frame(9))


def test_the_interpreter_may_end_while_messages_are_held(python):
    script = """
import horus, numpy as np, sys
topic = horus.Topic("held", horus.Image)
topic.send(horus.Image(np.ones((4, 4, 3), np.uint8)))
class Keeps:
    def __del__(self, Image=horus.Image, topic=topic):
        print(int(self.view[0, 0, 0]), self.image.to_numpy().shape)
        # Objects that are freed or created now meet an interpreter that is exiting.
        del self.loan, self.image
        made = Image(width=2, height=2, encoding="mono8")
        made.frame_id = "late"
        try:
            topic.send(5)
        except TypeError:
            print(made.nbytes)
keeps = Keeps()
keeps.image = topic.recv()
keeps.view = np.from_dlpack(keeps.image)
keeps.loan = topic.loan((4, 4))
keeps.array = keeps.loan.to_numpy().copy()
sys.kept = keeps.view, keeps.array
"""
    assert python(script) == "1 (4, 4, 3)\n4\n"


def test_waiting_and_iteration(namespace):
    import asyncio
    import threading

    topic = horus.Topic("waits", horus.Image, namespace=namespace)
    assert topic.recv(timeout=0.01) is None
    thread = threading.Timer(0.05, lambda: topic.send(horus.Image(frame(shape=(2, 2, 3)))))
    thread.start()
    assert topic.recv(timeout=60).width == 2
    thread.join()
    topic.send(horus.Image(frame(shape=(2, 3, 3))))
    assert next(topic).width == 3
    for width in (4, 5, 6):
        topic.send(horus.Image(frame(shape=(2, width, 3))), timeout=1)
    assert topic.latest().width == 6

    async def main():
        task = asyncio.create_task(topic.recv_async())
        await asyncio.sleep(0.01)
        topic.send(horus.Image(frame(shape=(2, 8, 3))))
        return (await task).width

    assert asyncio.run(main()) == 8


def test_a_message_that_changes_while_its_send_waits_is_refused(namespace):
    topic = horus.Topic("camera", horus.Image, qos="reliable", capacity=4, namespace=namespace)
    image = horus.Image(np.zeros((4, 4, 3), np.uint8))
    with pytest.raises(horus.FullError):
        while True:
            topic.send(image)
    errors = []

    def send():
        try:
            topic.send(image, timeout=60)
        except ValueError as error:
            errors.append(str(error))

    sender = threading.Thread(target=send)
    sender.start()
    # It probably waits then; if not, it is refused at once.
    time.sleep(0.2)
    image.width = 10_000
    while sender.is_alive():
        topic.recv()
    sender.join()
    assert len(errors) == 1 and "contradicts itself" in errors[0], errors
