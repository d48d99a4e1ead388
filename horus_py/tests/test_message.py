"""Messages: all standard ones, and custom ones."""

import copy
import gc
import inspect
import pathlib
import pickle
import subprocess
import sys
from typing import Literal

import horus
import numpy as np
import pytest

STANDARD = [getattr(horus, name) for name in horus._messages.__all__]
STANDARD = [kind for kind in STANDARD if issubclass(kind, horus.Message)]
every_message = pytest.mark.parametrize("kind", STANDARD, ids=lambda kind: kind.__name__)

SCHEMAS = pathlib.Path(__file__).parents[2] / "horus_core/tests/golden/schemas.txt"


def patterned(kind, seed=1):
    """Returns a message whose bytes all differ, with valid texts."""
    size = kind.__horus_dtype__.itemsize
    message = kind.from_bytes(bytes((seed + 7 * at) % 120 + 1 for at in range(size)))
    return message


def test_the_build_is_optimised():
    assert horus.__build_profile__ == "release"
    assert horus.__version__.count(".") == 2


def test_no_standard_message_is_missing():
    golden = {}
    for line in SCHEMAS.read_text().splitlines():
        name, size, text = line.split()
        golden[name] = (int(size), int(text, 16))
    assert len(STANDARD) >= 62
    for kind in STANDARD:
        found = (kind.__horus_dtype__.itemsize, kind.__horus_hash__)
        assert found == golden[kind.__name__]


@every_message
def test_messages_are_left_alone_by_the_garbage_collector(kind):
    held = [kind() for _ in range(50)]
    assert not gc.is_tracked(held[0])
    gc.collect()
    assert not kind.__flags__ & 1 << 14


@every_message
def test_no_field_hides_a_method(kind):
    # A field of that name hides it, so `__horus_dtype__` is an alias.
    taken = set(dir(horus.Message)) - {"dtype"}
    assert not taken & set(kind.__horus_dtype__.names)


@every_message
def test_a_message_survives_repr_pickle_and_copy(kind):
    for message in (kind(), patterned(kind)):
        assert bytes(eval(repr(message))) == bytes(message)
        for other in (
            eval(repr(message)),
            pickle.loads(pickle.dumps(message)),
            copy.copy(message),
            copy.deepcopy(message),
            message.copy(),
            kind.from_bytes(bytes(message)),
        ):
            assert bytes(other) == bytes(message)
            # This does not hold if a field is NaN by default.
            assert (other == message) == (message == message)
            assert (other != message) != (message == message)
            assert not np.shares_memory(np.frombuffer(other, "u1"), np.frombuffer(message, "u1"))


@every_message
def test_attributes_are_where_numpy_says(kind):
    message = patterned(kind)
    view = message.to_numpy()
    assert np.shares_memory(view, np.frombuffer(message, "u1"))
    for name in kind.__horus_dtype__.names:
        value, field = getattr(message, name), view[name]
        if isinstance(value, horus.Message):
            assert bytes(value) == field.tobytes()
        elif isinstance(value, str):
            assert value.encode() == field
        elif isinstance(value, tuple):
            assert len(value) == len(field)
        else:
            assert np.array_equal(value, field)
            assert isinstance(value, (int, float, np.ndarray))


@every_message
def test_what_is_set_is_there(kind):
    source, message = patterned(kind), kind()
    for name in kind.__horus_dtype__.names:
        setattr(message, name, getattr(source, name))
    assert message == source
    again = kind(**{name: getattr(source, name) for name in kind.__horus_dtype__.names})
    assert bytes(again) == bytes(source)


@every_message
def test_one_changed_byte_is_another_message(kind):
    message = patterned(kind)
    other = message.copy()
    np.frombuffer(other, "u1")[-1] ^= 1
    assert message != other


def test_the_type_of_numpy_has_two_names():
    assert horus.Imu.dtype is horus.Imu.__horus_dtype__ is horus.Imu().dtype
    assert horus.Imu.dtype["orientation"].shape == (4,)


def test_the_default_is_that_of_rust():
    assert list(horus.Imu().orientation) == [0, 0, 0, 1]
    assert horus.Imu().orientation_covariance[0] == -1
    assert horus.CmdVel() == horus.CmdVel(timestamp_ns=0, linear=0, angular=0)


def test_now_stamps():
    before = horus.timestamp_now_ns()
    command = horus.CmdVel.now(linear=0.5)
    assert before <= command.timestamp_ns <= horus.timestamp_now_ns()
    assert command.linear == 0.5


def test_arrays_are_views():
    imu = horus.Imu()
    imu.orientation[2] = 0.5
    assert imu.orientation[2] == 0.5
    orientation = imu.orientation
    del imu
    assert orientation[2] == 0.5
    scan = horus.LaserScan(ranges=[1.0, 2.0])
    assert list(scan.ranges[:3]) == [1, 2, 0]
    with pytest.raises(ValueError, match="LaserScan.ranges"):
        scan.ranges = np.zeros(len(scan.ranges) + 1, np.float32)


def test_messages_inside_are_views():
    outer = horus.NavPath()
    first = outer.waypoints[0]
    name = next(name for name in first.__horus_dtype__.names if first.__horus_dtype__[name].kind == "f")
    setattr(first, name, 2.5)
    assert getattr(outer.waypoints[0], name) == 2.5
    inner = outer.waypoints[0]
    del outer
    assert getattr(inner, name) == 2.5
    assert inner.copy() == inner


def test_equality_is_that_of_numbers():
    assert horus.CmdVel(linear=-0.0) == horus.CmdVel(linear=0.0)
    assert horus.CmdVel(linear=float("nan")) != horus.CmdVel(linear=float("nan"))
    assert horus.CmdVel() != horus.Imu()
    with pytest.raises(TypeError):
        hash(horus.CmdVel())


def test_mistakes_are_named():
    with pytest.raises(TypeError, match="no field 'speed', only timestamp_ns, linear, angular"):
        horus.CmdVel(speed=1)
    with pytest.raises(TypeError, match="keywords only"):
        horus.CmdVel(1)
    with pytest.raises(TypeError, match="CmdVel.linear"):
        horus.CmdVel(linear="fast")
    with pytest.raises(OverflowError, match="CmdVel.timestamp_ns"):
        horus.CmdVel(timestamp_ns=-1)
    with pytest.raises(ValueError, match="33 bytes where 32 fit"):
        horus.TransformStamped(frame_id="x" * 33)
    with pytest.raises(ValueError, match="frame_id.*the character NUL"):
        horus.TransformStamped(frame_id="map\0x")
    with pytest.raises(ValueError, match="7 bytes, and a CmdVel has 16"):
        horus.CmdVel.from_bytes(b"1234567")
    with pytest.raises(TypeError):
        del horus.CmdVel().linear
    with pytest.raises(AttributeError):
        horus.CmdVel().speed = 1
    with pytest.raises(TypeError):
        horus.Message()
    with pytest.raises(TypeError):
        type("Mine", (horus.CmdVel,), {})
    with pytest.raises(TypeError):
        object.__new__(horus.CmdVel)
    assert horus.CmdVel(linear=1) == horus.CmdVel(linear=np.float32(1))


def test_a_failed_assignment_changes_nothing():
    imu = horus.Imu()
    with pytest.raises(TypeError):
        imu.orientation = [1, 2, "three", 4]
    assert imu == horus.Imu()


def test_a_message_may_be_assigned_to_itself():
    path = horus.NavPath()
    before = bytes(path)
    path.waypoints = path.waypoints
    assert bytes(path) == before


def test_texts_take_what_peers_may_have_written():
    raw = horus.TransformStamped.from_bytes(b"\xff" * horus.TransformStamped.dtype.itemsize)
    assert raw.frame_id == ""
    assert bytes(eval(repr(raw)).to_numpy()["frame_id"]) == b"\xff" * 32
    assert horus.TransformStamped(frame_id="map→'\n\\").frame_id == "map→'\n\\"


def test_numpy_is_imported_only_when_it_is_needed():
    script = "import sys, horus; horus.CmdVel(linear=1); assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_without_numpy_arrays_are_memoryviews():
    script = """
import sys
sys.modules["numpy"] = None
import horus
imu = horus.Imu()
imu.orientation[1] = 0.25
assert imu.orientation.tolist() == [0.0, 0.25, 0.0, 1.0], imu.orientation
imu.orientation = [1, 2, 3, 4]
assert imu.orientation.tolist() == [1, 2, 3, 4]
try:
    imu.dtype
except ImportError as error:
    assert "pip install numpy" in str(error)
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


@horus.message
class Wheel:
    """One wheel."""

    RADIUS = 0.1

    timestamp_ns: horus.u64
    pose: horus.Pose2D
    gains: horus.Array[horus.f64, Literal[3]] = [1, 2, 3]
    speed: horus.f32 = 0.5
    name: horus.Text[Literal[12]] = "left"

    def metres_per_second(self):
        return self.speed * self.RADIUS


def test_a_declared_message_is_one():
    wheel = Wheel()
    assert isinstance(wheel, horus.Message)
    assert (wheel.speed, wheel.name, list(wheel.gains)) == (0.5, "left", [1, 2, 3])
    assert wheel.metres_per_second() == 0.5 * 0.1
    assert inspect.getdoc(Wheel) == "One wheel."
    assert pickle.loads(pickle.dumps(wheel)) == wheel
    assert Wheel.dtype.names == ("timestamp_ns", "pose", "gains", "speed", "name")


def test_a_declared_message_has_the_schema_of_rust():
    @horus.message
    class CmdVel:
        timestamp_ns: horus.u64
        linear: horus.f32
        angular: horus.f32

    assert CmdVel.__horus_schema__ == horus.CmdVel.__horus_schema__
    assert CmdVel.__horus_hash__ == horus.CmdVel.__horus_hash__


def test_a_field_has_the_class_of_its_declaration():
    """Also if a later class has the same name and fields, as when a notebook's cell runs twice."""

    def declare(default):
        @horus.message
        class Point:
            x: horus.f64 = default

        return Point

    first, second = declare(1), declare(2)

    @horus.message
    class Line:
        begin: first
        others: horus.Array[first, Literal[2]]
        end: second

    line = Line(begin=first(x=3))
    assert (type(line.begin), line.begin.x) == (first, 3)
    assert (type(line.others[0]), line.others[0].x) == (first, 1)
    assert (type(line.end), line.end.x) == (second, 2)
    with pytest.raises(TypeError, match="where a Point is wanted"):
        line.begin = second()


def test_a_class_like_a_standard_one_takes_no_place_of_it():
    @horus.message
    class Quaternion:
        x: horus.f64
        y: horus.f64
        z: horus.f64
        w: horus.f64

    assert Quaternion.__horus_hash__ == horus.Quaternion.__horus_hash__

    @horus.message
    class Hand:
        grip: horus.Quaternion

    hand = Hand(grip=horus.Quaternion(x=1))
    assert (type(hand.grip), hand.grip.x, Hand().grip.w) == (horus.Quaternion, 1, 1)


def test_the_hash_is_that_of_the_text():
    for kind in [*STANDARD, Wheel]:
        value = 0x6C62272E07BB014262B821756295C58D
        for byte in kind.__horus_schema__.encode():
            value = (value ^ byte) * 0x0000000001000000000000000000013B % 2**128
        assert kind.__horus_hash__ == value


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"a": horus.u8, "b": horus.u64}, "put larger fields first"),
        ({"a": horus.u64, "b": horus.u8}, "no multiple of 8"),
        ({"a": int}, "cannot be a field"),
        ({"é": horus.u8}, "Wrong.é: the name is not ASCII"),
        ({f"name_{'x' * at}": horus.u8 for at in range(200)}, "schema text has 2.... bytes"),
        ({}, "no fields"),
    ],
)
def test_a_wrong_declaration_says_what_is_wrong(fields, error, capfd):
    with pytest.raises(TypeError, match=error):
        horus.message(type("Wrong", (), {"__annotations__": fields}))
    assert capfd.readouterr().err == "", "no text of a panic"


def test_a_message_that_is_nested_too_deeply_says_so(capfd):
    kind = horus.u8
    with pytest.raises(TypeError, match="more than 8 arrays of messages and texts are nested"):
        for _ in range(10):
            fields = {"inner": horus.Array[kind, Literal[2]]}
            kind = horus.message(type("Deep", (), {"__annotations__": fields}))
    assert capfd.readouterr().err == "", "no text of a panic"


def test_an_array_of_fixed_length_takes_neither_more_nor_fewer():
    with pytest.raises(ValueError, match="Imu.angular_velocity: 2 elements where 3 are wanted"):
        horus.Imu(angular_velocity=[1, 2])
    imu = horus.Imu(angular_velocity=[1, 2, 3])
    for wrong in ([1, 2], [], np.zeros(2), np.zeros(4), [1, 2, 3, 4]):
        with pytest.raises(ValueError, match="Imu.angular_velocity: "):
            imu.angular_velocity = wrong
    assert list(imu.angular_velocity) == [1, 2, 3]

    @horus.message
    class Pose:
        joints: horus.Array[horus.f64, 2]

    with pytest.raises(ValueError, match="Pose.joints: 1 elements where 2 are wanted"):
        Pose(joints=[1])
    with pytest.raises(ValueError, match="2 elements where 3 are wanted"):

        @horus.message
        class Wrong:
            joints: horus.Array[horus.f64, 3] = [1, 2]


@pytest.mark.parametrize(
    ("make", "counts"),
    [
        (lambda: horus.LaserScan(ranges=[1.0, 2.0]), {"count": 2}),
        (lambda: horus.LaserScan(ranges=np.zeros(5, np.float32)), {"count": 5}),
        (lambda: horus.LaserScan(ranges=np.zeros(360, np.float32)), {"count": 360}),
        (lambda: horus.LaserScan.now(ranges=[1.0]), {"count": 1}),
        (lambda: horus.JointState(name=["a", "b"], position=[1, 2], effort=[0, 0]), {"count": 2}),
        (lambda: horus.JointCommand(position=[1, 2, 3]), {"count": 3}),
        (lambda: horus.JoystickInput(axes=[0.5], buttons=[1, 0]),
         {"axis_count": 1, "button_count": 2}),
        (lambda: horus.NavPath(waypoints=[horus.Waypoint()] * 3), {"count": 3}),
        (lambda: horus.CameraInfo(d=[0.1] * 4), {"d_count": 4}),
        (lambda: horus.BatteryState(cell_voltage=[3.7, 3.6]), {"cell_count": 2}),
        (lambda: horus.DiagnosticStatus(values=[horus.DiagnosticValue()]), {"count": 1}),
        (lambda: horus.Tensor(shape=[2, 3], dtype=11), {"dimensions": 2}),
        (lambda: horus.LaserScan(count=1, ranges=np.zeros(360, np.float32)), {"count": 1}),
        (lambda: horus.LaserScan(ranges=[1.0, 2.0], count=2), {"count": 2}),
    ],
)
def test_an_array_of_some_length_sets_its_count(make, counts):
    message = make()
    assert {name: getattr(message, name) for name in counts} == counts
    copy = type(message).from_bytes(bytes(message))
    assert {name: getattr(copy, name) for name in counts} == counts


def test_arrays_that_are_counted_together_are_equally_long():
    with pytest.raises(ValueError, match="JointState: 'name' has 2 elements and 'position' 3"):
        horus.JointState(name=["a", "b"], position=[1, 2, 3])
    for count in (1, 3):
        text = f"LaserScan.ranges: 2 elements where 'count' is {count}"
        with pytest.raises(ValueError, match=text):
            horus.LaserScan(count=count, ranges=[1.0, 2.0])
    with pytest.raises(ValueError, match="TactileArray.pressure: 5 elements where 'rows' times"):
        horus.TactileArray(rows=2, columns=3, pressure=[0.0] * 5)
    pad = horus.TactileArray(pressure=[1.0] * 6, rows=2, columns=3)
    assert list(pad.pressure[:7]) == [1] * 6 + [0]


def test_an_array_that_is_assigned_agrees_with_its_count():
    scan = horus.LaserScan()
    scan.ranges = [1.0, 2.0, 3.0]
    assert scan.count == 3
    scan.ranges = [1.0]
    assert scan.count == 1 and list(scan.ranges[:2]) == [1, 0]
    # A whole array does not set the count.
    scan.ranges = np.ones(360, np.float32)
    assert scan.count == 1
    joints = horus.JointState()
    joints.name = ["a", "b"]
    joints.position = [1, 2]
    assert joints.count == 2
    with pytest.raises(ValueError, match="JointState.effort: 3 elements where 'count' is 2"):
        joints.effort = [1, 2, 3]
    assert list(joints.effort) == [0] * 16


def test_every_array_of_a_standard_message_is_of_fixed_length_or_counted():
    """A new message type with a `count` has to declare which arrays it counts."""
    counting = {
        (name, count)
        for name, array, counts in horus._horus._counted_arrays()
        for count in counts
        if array in dir(getattr(horus, name))
    }
    for name in horus._messages.__all__:
        fields = [line.split()[1:] for line in getattr(horus, name).__horus_schema__.splitlines()
                  if line.startswith("field ")]
        arrays = [field for field in fields if field[3] != "1" and not field[0].startswith("_")]
        # A count of other things, such as the data after a header: not of an array in the message.
        others = {"inlier_count", "tick_count", "thread_count", "cpu_count", "class_count"}
        counts = {field[0] for field in fields if field[0].split("_")[-1] == "count"} - others
        if arrays and name not in ("SchedulerStatus", "PointField", "LidarScan", "JointStateArray"):
            assert {(name, count) for count in counts} <= counting, name
