"""Topics of dicts and other values: values arrive unchanged, and errors name wrong ones."""

import array
import collections
import enum
import json
import math
import os
import random
import struct
import tracemalloc

import horus
import numpy as np
import pytest

SCALARS = [
    None,
    False,
    True,
    0,
    -1,
    127,
    128,
    -32,
    -33,
    2**31,
    -(2**31) - 1,
    2**63 - 1,
    -(2**63),
    2**63,
    2**64 - 1,
    0.0,
    -1.5,
    math.inf,
    5e-324,
    "",
    "v",
    "grün",
    "雪" * 100,
    "a" * 31,
    "a" * 32,
    "\0",
    b"",
    b"\x00\xff",
    b"x" * 300,
]
VALUES = SCALARS + [
    [],
    [1, [2, [3, []]]],
    {},
    {"v": 1.0},
    {"a": {"b": {"c": [None, True, "x"]}}, "": 0},
    {1: "one", 2.5: "float", None: "none", b"b": "bytes", False: 1, (1, (2, "x")): "tuple"},
    {f"key_{index}": index * 1.5 for index in range(300)},
    {"long key that is longer than thirty-two bytes": 1},
    list(range(70_000))[:5000],
    horus.Ext(-1, b"\x00\x01"),
    horus.Ext(5, b""),
]
DTYPES = ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", "?"]


@pytest.fixture
def topic(namespace):
    return horus.Topic("anything", namespace=namespace)


def through(topic, value):
    topic.send(value)
    return topic.recv()


def same(one, other):
    """Returns true if both are equal and have the same types at all levels."""
    if isinstance(one, np.ndarray):
        return (
            type(other) is np.ndarray
            and one.dtype == other.dtype
            and one.shape == other.shape
            and one.tobytes() == other.tobytes()
        )
    if type(one) is not type(other):
        return False
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        pairs = zip(one.items(), other.items(), strict=True)
        return len(one) == len(other) and all(same(a, b) for a, b in pairs)
    return one == other


@pytest.mark.parametrize("value", VALUES, ids=lambda value: repr(value)[:20])
def test_what_is_sent_is_received(topic, value):
    back = through(topic, value)
    assert same(value, back), back


def test_a_nan_stays_one_and_sequences_become_lists(topic):
    assert math.isnan(through(topic, math.nan))
    assert same(through(topic, (1, (2, 3))), [1, [2, 3]])
    for data in (bytearray(b"abc"), memoryview(b"abc"), memoryview(b"a_b_c")[::2]):
        assert same(through(topic, data), b"abc")


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_keep_type_and_shape(topic, dtype):
    numbers = np.arange(-60, 60).astype(dtype)
    for value in (
        numbers,
        numbers.reshape(2, 3, 4, 5),
        np.asfortranarray(numbers.reshape(10, 12)),
        numbers.reshape(10, 12)[::-2, 1::3],
        numbers[:0],
        numbers.reshape(2, 3, 4, 5)[:, :0],
        np.array(numbers[5]),
    ):
        back = through(topic, {"array": value})["array"]
        assert same(np.array(value), back), (value, back)
        assert back.flags.owndata and back.flags.writeable


def test_subclasses_and_numbers_of_numpy_are_what_they_are_made_of(topic):
    class Color(enum.IntEnum):
        RED = 3

    Point = collections.namedtuple("Point", "x y")
    ordered = collections.OrderedDict(b=1, a=2)
    assert same(through(topic, [Color.RED, Point(1, 2.0), ordered]), [3, [1, 2.0], dict(ordered)])
    numbers = [np.float64(0.5), np.float32(0.5), np.int8(-3), np.uint64(2**64 - 1), np.bool_(True)]
    assert same(through(topic, numbers), [0.5, 0.5, -3, 2**64 - 1, True])
    back = through(topic, array.array("d", [1.0, 2.0]))
    assert same(back, np.array([1.0, 2.0]))


def test_keys_that_come_again_are_the_same_objects(topic):
    first, second = through(topic, {"speed": 1}), through(topic, {"speed": 2})
    assert next(iter(first)) is next(iter(second))


class Evil:
    """Returns values that run Python code during a send."""

    def __init__(self, act):
        self.act = act

    def __buffer__(self, flags):
        self.act()
        return memoryview(b"x")


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        ({1, 2}, TypeError, "'set'.* cannot be sent: only dict"),
        ({"a": [object()]}, TypeError, "'object'"),
        (2**64, OverflowError, "64 bits"),
        (-(2**63) - 1, OverflowError, "64 bits"),
        ("\ud800", UnicodeEncodeError, "surrogates"),
        (np.array([1j]), TypeError, "elements 'Zd'"),
        (np.array([1.0], ">f8"), TypeError, "byte order"),
        (np.array(["x"]), TypeError, "elements '1w'"),
        (np.array([None]), TypeError, "elements 'O'"),
        (np.zeros(1, [("a", "f4")]), TypeError, "integers, floats"),
        (horus.CmdVel(), TypeError, "a CmdVel inside a value"),
        (horus.Ext(72, b""), ValueError, "72 is for typed arrays"),
        (np.longdouble(1), TypeError, "cannot be sent"),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_what_cannot_be_sent_is_named(topic, value, error, text):
    with pytest.raises(error, match=text):
        topic.send(value)
    assert topic.recv() is None
    assert through(topic, 1) == 1


def test_what_contains_itself_or_is_too_deep_is_refused(topic):
    deep = []
    for _ in range(63):
        deep = [deep]
    assert through(topic, deep) == deep
    with pytest.raises(ValueError, match="more than 64"):
        topic.send([deep])
    endless = np.broadcast_to(np.zeros(1, "u1"), (10**5, 30_000))
    for view in (endless, memoryview(endless)):
        with pytest.raises(horus.SendFailedError, match="may send 67108800 at most"):
            topic.send(view)
    for circle in ([], {}):
        circle.append(circle) if isinstance(circle, list) else circle.update(me=circle)
        with pytest.raises(ValueError, match="contain itself"):
            topic.send(circle)


def test_what_is_too_long_is_refused_with_its_size(namespace):
    topic = horus.Topic("short", namespace=namespace, max_message_bytes=256)
    assert through(topic, b"x" * 254) == b"x" * 254
    for value, bytes in ((b"x" * 255, 257), ([1.0] * 100, 903), (np.zeros(100), 810)):
        with pytest.raises(horus.SendFailedError, match=f"{bytes} bytes, .* may send 256 at most"):
            topic.send(value)
    assert through(topic, 7) == 7


def test_a_dict_that_changes_while_it_is_sent_does_no_harm(topic):
    class Changes(np.ndarray):
        pass

    value = {"a": 1}

    class Grows(float):
        pass

    # `item` of a numpy number is looked up, so a subclass can run Python code.
    class Number(np.float32):
        def item(self):
            value.clear()
            value.update((str(index), index) for index in range(100))
            return 1.0

    value["b"] = Number(1)
    value["c"] = [1, 2, 3]
    with pytest.raises(RuntimeError, match="changed its size"):
        topic.send(value)

    class Sends(np.float32):
        def item(self):
            topic.send(1)

    with pytest.raises(horus.BusyError):
        topic.send([Sends(1)])

    class Closes(np.float32):
        def item(self):
            topic.close()
            return 1.0

    topic.send([Closes(1)])
    assert topic.closed


MALFORMED = [
    b"",
    b"\xc1",
    b"\xa1",
    b"\xa1\xff",
    b"\x01\x02",
    b"\xdd\xff\xff\xff\xff",
    b"\xdf\xff\xff\xff\xff\x01",
    b"\x91" * 65 + b"\xc0",
    b"\x81\x80\x01",
    b"\x81\x91\x80\x01",
    b"\x81\xc7\x02\x48\x01\x00\x01",
    b"\xc7\x03\x48\x01\x01\x00",
    struct.pack(">BBbBB", 0xC7, 2, 72, 99, 0),
    struct.pack(">BBbBB", 0xC7, 2, 72, 1, 33),
    struct.pack("<BBbBBIIIII", 0xC7, 22, 72, 1, 5, 0, 2**32 - 1, 2**32 - 1, 2**32 - 1, 2**32 - 1),
]


@pytest.mark.parametrize("data", MALFORMED, ids=bytes.hex)
def test_what_is_no_value_is_refused(data):
    with pytest.raises(ValueError, match="not the MessagePack"):
        horus._horus._unpack(data)


def packed_map(keys):
    """Returns the MessagePack of a map with arrays of small numbers as keys."""
    data = struct.pack(">BI", 0xDF, len(keys))
    for key in keys:
        data += struct.pack(f">BH{len(key)}bB", 0xDC, len(key), *key, 0xC0)
    return data


def test_keys_that_all_have_one_hash_stop_no_process():
    """Python's hashes of -1 and -2 are equal, so those of tuples of them are, too."""
    assert hash((-1, -2)) == hash((-2, -1))
    keys = [[-1 - (number >> bit & 1) for bit in range(17)] for number in range(20_000)]
    with pytest.raises(ValueError, match="not the MessagePack"):
        horus._horus._unpack(packed_map(keys))
    # Keys of ordinary programs, of which few have one hash.
    keys = [[number % 100, number // 100, -1 - number % 2] for number in range(10_000)]
    unpacked = horus._horus._unpack(packed_map(keys))
    assert list(unpacked) == [tuple(key) for key in keys]
    few = [[-1 - (number >> bit & 1) for bit in range(5)] for number in range(32)]
    assert list(horus._horus._unpack(packed_map(few))) == [tuple(key) for key in few]


def test_a_dict_is_sent_in_the_order_that_it_shows(topic):
    ordered = collections.OrderedDict(a=1, b=2, c=3)
    ordered.move_to_end("a")
    topic.send(ordered)
    assert list(topic.recv()) == ["b", "c", "a"]
    topic.send({"counts": collections.Counter("abracadabra")})
    assert topic.recv() == {"counts": {"a": 5, "b": 2, "r": 2, "c": 1, "d": 1}}


def test_an_extension_of_the_library_s_own_number_says_what_to_send(topic):
    with pytest.raises(ValueError, match="extension 72 is for typed arrays: send a numpy array"):
        topic.send(horus.Ext(72, b""))


def test_any_bytes_are_a_value_or_refused_in_bounded_memory():
    rng = random.Random(5)
    values = 0
    tracemalloc.start()
    for _ in range(20_000):
        data = rng.randbytes(rng.randrange(200))
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        try:
            value = horus._horus._unpack(data)
        except ValueError:
            continue
        finally:
            peak = tracemalloc.get_traced_memory()[1] - before
            # The fixed cost of one call: a traceback, a reader.
            assert peak < 4096 + 160 * len(data)
        values += 1
        # A decoded value is encoded and decoded again to an equal value, except NaN.
        assert repr(horus._horus._unpack(horus._horus._pack(value))) == repr(value)
    tracemalloc.stop()
    assert values > 50


def outcome(data, after=()):
    """Returns the value of these bytes, with the order of all keys, or None."""
    try:
        return repr(horus._horus._unpack(data, after=list(after)))
    except ValueError:
        return None


def test_dicts_that_differ_from_those_before_are_what_was_sent(topic):
    pose = {"x": 1.0, "y": 2.0, "z": 3.0}
    robot = {"name": "r", "pose": pose, "poses": [pose, pose]}
    others = [
        {"x": 1.0, "y": 2.0, "w": 3.0},
        {"x": 1.0, "z": 2.0, "y": 3.0},
        {"x": 1.0, "y": 2.0},
        {"x": 1.0, "y": 2.0, 3: None},
        {"x": 1.0, "y": {"x": 1.0, "y": [pose], "z": 0}, "z": pose},
        {"x": 1.0, "y": 2.0, "z" * 40: 3.0},
        {"x": 1.0, (1, 2): 2.0, "z": "text"},
        {"x": 1.0, "y": {"x": robot, "z": 1, "y": 2}, "z": robot},
    ]
    for other in others:
        for message in [pose, pose, pose, other, pose, other, other, other, robot, pose]:
            assert repr(through(topic, message)) == repr(message)


def test_a_dict_shares_no_value_with_those_before(topic):
    message = {"a": [1], "b": {"c": [2], "d": 3}}
    received = [through(topic, message) for _ in range(4)]
    received[2]["a"].append(0)
    received[2]["b"]["e"] = 0
    del received[2]["b"]["c"]
    assert received[3] == message
    assert through(topic, message) == message


def test_what_was_read_before_changes_nothing_of_what_bytes_mean():
    rng = random.Random(6)
    plain = {"x": 1.5, "speed": 2, "name": "ab", "on": True}
    nested = {"x": 1.5, "speed": {"x": 0.5, "speed": 1, "name": None, "on": []}, "name": 1, "on": 2}
    large = {f"key_{number}": number * 1.5 for number in range(50)}
    kinds = [horus._horus._pack(value) for value in (plain, nested, large)]
    values = 0
    for _ in range(20_000):
        data = bytearray(rng.choice(kinds))
        for _ in range(rng.randrange(1, 4)):
            data[rng.randrange(len(data))] = rng.choice([rng.randrange(256), *data[:9]])
        del data[rng.choice([len(data), rng.randrange(len(data))]) :]
        data = bytes(data)
        after = [rng.choice(kinds)] * 2 + rng.choices(kinds, k=rng.randrange(3))
        wanted = outcome(data)
        assert outcome(data, after) == wanted, (data, after)
        values += wanted is not None
    assert values > 2_000
    # A duplicate key: the dict has fewer keys than the message has pairs.
    twice = b"\x83\xa1a\x01\xa1b\x02\xa1a\x03"
    assert outcome(twice, [twice] * 3) == "{'a': 3, 'b': 2}"
    good = horus._horus._pack({"a": 1, "b": 2, "c": 3})
    assert outcome(twice, [good] * 3) == "{'a': 3, 'b': 2}"


def test_a_layout_is_made_for_what_comes_again_and_not_for_what_changes():
    def made(*values):
        return horus._horus._layouts_made([horus._horus._pack(value) for value in values])

    pose, twist = {"x": 1.0, "y": 2.0, "z": 3.0}, {"x": 1.0, "y": 2.0, "w": 3.0}
    assert made(pose) == 0
    assert made(*[pose] * 3) == 1
    # Two kinds of dicts with a common prefix. Alternating: no copies. In pairs: ever fewer.
    assert made(*[pose, twist] * 100) == 0
    assert made(*[pose, pose, twist, twist] * 100) == 1
    assert made(*([pose] * 1000 + [twist]) * 8) == 8
    # The keys of nested dicts are not learned again for each dict of the same kind.
    tree = {"x": {"x": {"x": 1.0, "y": 0, "z": 0}, "y": 0, "z": 0}, "y": 0, "z": 0}
    assert made(*[tree] * 100) <= 2
    # Keys up to the longest short key, longer keys, and keys that are not text.
    for length in (31, 32, 33):
        assert made(*[{"x": 1, "k" * length: 2}] * 100) == int(length == 31)
    assert made(*[{"x": 1, 2: 2}] * 100) == 0
    # A short key in the encoding of another program: it takes the slow path, and nothing is lost.
    written_long = b"\x82\xa1x\x01\xd9\x01y\x02"
    assert horus._horus._layouts_made([written_long] * 1000) < 10
    assert outcome(written_long, [written_long] * 3) == "{'x': 1, 'y': 2}"


ERASES = """
import codecs, horus
value = {"\\ud800": "\\ud801" * 3, "b": [0.5] * 3}
def erase(error):
    value.clear()
    return "?", error.end
codecs.register_error("strict", erase)
topic = horus.Topic("erased")
try:
    topic.send(value)
except (RuntimeError, UnicodeEncodeError) as error:
    print(type(error).__name__)
print(topic.recv(), value)
"""


def test_a_handler_of_bad_text_that_changes_the_dict_does_no_harm(python):
    # In a process of its own, because a handler cannot be removed.
    assert python(ERASES).splitlines()[-1] == "None {}"


def test_every_depth_that_is_sent_is_read():
    assert horus._horus._unpack(b"\x91" * 64 + b"\xc0") is not None


def test_latest_timeout_and_iteration(namespace):
    topic = horus.Topic("waits", namespace=namespace)
    for number in range(3):
        topic.send({"number": number})
    assert topic.latest() == {"number": 2}
    assert topic.recv(timeout=0.01) is None
    topic.send("next", timeout=1)
    assert next(topic) == "next"
    topic.send("x")
    assert topic.recv(timeout=60) == "x"


def test_full_topics_wait_for_room(namespace):
    qos = {"namespace": namespace, "qos": "reliable", "capacity": 2}
    publisher, subscriber = horus.Publisher("full", **qos), horus.Subscriber("full", **qos)
    with pytest.raises(horus.FullError):
        for number in range(10):
            publisher.send(number)
    with pytest.raises(horus.FullError):
        publisher.send(10, timeout=0.01)
    assert subscriber.recv() == 0
    publisher.send(11, timeout=60)


def test_a_forked_child_is_told(topic):
    topic.send({"v": 1})
    child = os.fork()
    if child == 0:
        try:
            code = 0
            for call in (lambda: topic.send(1), topic.recv):
                try:
                    call()
                    code = 1
                except horus.ForkedError:
                    pass
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert topic.recv() == {"v": 1}


def test_handles_say_that_they_carry_anything(topic, namespace):
    assert topic.type is None
    assert repr(topic) == "<horus.Topic 'anything' of MessagePack>"
    with pytest.raises(horus.SchemaMismatchError):
        horus.Publisher("anything", horus.CmdVel, namespace=namespace, strict=True)
    assert repr(horus.Ext(3, b"ab")) == "horus.Ext(3, b'ab')"
    assert {horus.Ext(3, b"ab")} == {horus.Ext(3, b"ab")}
    with pytest.raises(OverflowError):
        horus.Ext(200, b"")


def test_without_numpy_arrays_of_every_type_are_received(python, namespace):
    publisher = horus.Publisher("arrays", namespace=namespace, history=len(DTYPES))
    arrays = [np.arange(-3, 3).astype(dtype).reshape(2, 3) for dtype in DTYPES]
    for array in arrays:
        publisher.send({"array": array})
    printed = python(
        """
import sys
sys.modules["numpy"] = None
import json
import horus
subscriber = horus.Subscriber("arrays")
while (message := subscriber.recv()) is not None:
    print(json.dumps(message["array"].tolist()))
"""
    )
    assert [json.loads(line) for line in printed.splitlines()] == [one.tolist() for one in arrays]


def test_without_numpy_an_array_of_no_elements_is_received(python):
    python(
        """
import sys
sys.modules["numpy"] = None
import horus
topic = horus.Topic("empty")
topic.send({"points": memoryview(b"").cast("d")})
assert topic.recv()["points"].tolist() == []
"""
    )
