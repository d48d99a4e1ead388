"""Messages of the user's own: any number of numbers at the end, and declarations of `.msg` files."""

import importlib.util
import os
import pickle
import sys

import horus
import numpy as np
import pytest
from conftest import ROOT
from mapped import address
from test_cpp import program  # noqa: F401
from test_interop import relay

IMPORTED = ROOT / "horus_core/tests/golden/imported"


@horus.message
class Sonar(horus.Framed):
    """Echoes of one ping."""

    MAXIMUM = 4.0

    timestamp_ns: horus.u64
    speed: horus.f32 = 343.0
    echoes: horus.u32
    frame_id: horus.Text[32]
    _reserved: horus.Array[horus.u8, 16]
    strengths: horus.Tail[horus.f32, "echoes"]

    def loudest(self):
        return float(self.strengths.max())


@pytest.fixture
def topic(namespace):
    return horus.Topic("sonar", Sonar, namespace=namespace)


def imported():
    """Imports the module that a test of the importer generates from `.msg` files."""
    spec = importlib.util.spec_from_file_location("imported", IMPORTED / "messages.py")
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = before
    return module


@horus.message
class Polite:
    """Its methods use `super` and `__class__`."""

    number: horus.u32

    def __repr__(self):
        return "polite " + super().__repr__()

    @property
    def own_class(self):
        return __class__

    @classmethod
    def made(cls, number):
        return cls(number=number), super().__thisclass__.__name__

    @staticmethod
    def nested():
        return (lambda: __class__)()


def decorated(method):
    # WHY no `functools.wraps`: the method can then only be found in the closure.
    def call(self):
        return method(self)

    return call


def test_methods_know_the_class_that_has_them():
    assert repr(Polite(number=3)) == f"polite {__name__}.Polite(number=3)"
    assert Polite().own_class is Polite is Polite.nested()
    assert Polite.made(4) == (Polite(number=4), "Polite")

    @horus.message
    class Decorated:
        number: horus.u32

        @decorated
        def text(self):
            return super().__repr__()

    assert Decorated(number=5).text() == f"{__name__}.Decorated(number=5)"


def test_the_schema_is_that_of_rust_and_cpp():
    assert Sonar.__horus_schema__ == (
        "horus schema 1\nmessage Sonar\nsize 64\nalign 8\n"
        "field timestamp_ns u64 0 1\nfield speed f32 8 1\nfield echoes u32 12 1\n"
        "field frame_id char 16 32\nfield _reserved u8 48 16\ntail strengths f32\n"
    )
    assert issubclass(Sonar, horus.Framed) and Sonar.__doc__ == "Echoes of one ping."


@pytest.mark.parametrize(
    "numbers",
    [
        [],
        [1, 2.5, 3],
        (1.0, 2.0),
        range(5),
        np.arange(7, dtype=np.float32),
        np.arange(7.0)[::2],
        np.arange(3, dtype=np.uint8),
        memoryview(np.arange(4, dtype=np.float32)),
    ],
    ids=str,
)
def test_any_sequence_of_numbers_is_sent(topic, numbers):
    wanted = np.array(list(numbers), np.float32)
    for made in (Sonar(numbers), Sonar(strengths=numbers), Sonar.now(numbers), Sonar()):
        made.strengths = numbers
        topic.send(made)
        received = topic.recv()
        assert received.echoes == len(wanted) == len(received.strengths)
        assert np.array_equal(received.strengths, wanted)
        assert received.strengths.dtype == np.float32
        assert received == made and not received.writeable
        assert received.speed == 343.0


def test_an_array_of_the_tail_is_a_view(topic):
    sonar = Sonar([1, 2, 3])
    sonar.strengths[1] = 9
    assert sonar.loudest() == 9 and np.shares_memory(sonar.strengths, sonar.to_numpy())
    before = sonar.strengths
    for length in (1, 100, 3):
        sonar.strengths = [length] * length
        assert sonar.strengths.tolist() == [length] * length
    # WHY: an array keeps the memory that it was made of.
    assert before.tolist() == [1, 9, 3]
    assert pickle.loads(pickle.dumps(sonar)) == sonar == Sonar.from_bytes(bytes(sonar))
    copy = sonar.copy()
    copy.strengths[0] = 0
    assert sonar.strengths[0] == 3 and copy != sonar


def test_a_loan_has_room_for_what_was_lent(topic):
    sonar = topic.loan(4, frame_id="bow")
    assert (sonar.echoes, sonar.strengths.dtype) == (4, np.float32)
    with pytest.raises(ValueError, match="5 elements, and the loan has room for 4: loan more"):
        sonar.strengths = range(5)
    sonar.strengths = [1, 2]
    sonar.publish()
    received = topic.recv()
    assert (received.strengths.tolist(), received.frame_id) == ([1, 2], "bow")
    with pytest.raises(AttributeError, match="read-only"):
        received.strengths = [1]
    with pytest.raises(AttributeError, match="read-only"):
        sonar.strengths = [1]
    sonar = topic.loan(echoes=2)
    sonar.strengths[:] = 5
    sonar.publish()
    assert topic.recv().strengths.tolist() == [5, 5]


@horus.message
class Inner:
    values: horus.Array[horus.u8, 4]


@horus.message
class Outer:
    inners: horus.Array[Inner, 2]
    count: horus.u32


@horus.message
class Nested(horus.Framed):
    outer: Outer
    length: horus.u32
    points: horus.Tail[horus.f32, "length"]


@pytest.mark.parametrize(
    "change",
    [
        lambda outer: setattr(outer, "count", 7),
        lambda outer: setattr(outer, "inners", [Inner(values=[7] * 4)] * 2),
        lambda outer: setattr(outer.inners[1], "values", [7] * 4),
        lambda outer: outer.inners[1].values.__setitem__(0, 7),
        lambda outer: memoryview(outer).__setitem__(0, 7),
        lambda outer: memoryview(outer.inners[1]).__setitem__(0, 7),
        lambda outer: np.frombuffer(outer, np.uint8).__setitem__(0, 7),
        lambda outer: outer.inners[1].values.setflags(write=True),
    ],
)
def test_a_received_header_cannot_be_changed_through_its_parts(namespace, change):
    topic = horus.Topic("nested", Nested, namespace=namespace)
    sent = Nested([1, 2])
    topic.send(sent)
    received = topic.recv()
    loan = topic.loan(2)
    of_loan = loan.outer
    loan.publish()
    for outer in (received.outer, of_loan):
        before = bytes(outer)
        with pytest.raises((AttributeError, TypeError, ValueError), match="read-only|WRITEABLE"):
            change(outer)
        assert bytes(outer) == before
    assert bytes(received) == bytes(sent) and received.outer.inners[1].values.tolist() == [0] * 4
    for message in (sent, received.copy(), topic.loan(2)):
        change(message.outer)


@horus.message
class Singles:
    numbers: horus.Array[horus.f32, 1] = [0.5]
    texts: horus.Array[horus.Text[4], 1]
    inners: horus.Array[Inner, 1]
    number: horus.f32


def test_an_array_of_one_element_is_an_array(namespace):
    singles = Singles(texts=["a"], inners=[Inner(values=range(4))], number=2)
    assert singles.numbers.tolist() == [0.5]
    assert (singles.texts, singles.inners) == (("a",), (Inner(values=range(4)),))
    assert "(numbers=[0.5], texts=['a'], inners=[" in repr(singles)
    assert "number=2.0)" in repr(singles)
    singles.numbers[0] = 3
    singles.texts = ("b",)
    topic = horus.Topic("singles", Singles, namespace=namespace)
    topic.send(singles)
    assert topic.recv() == singles and singles.texts == ("b",)
    array = singles.to_numpy()
    assert array["numbers"].tolist() == [3] and array["inners"].shape == (1,)
    assert array["number"].shape == ()
    for name, value in (("numbers", 1.0), ("numbers", [1, 2]), ("texts", "a"), ("inners", Inner())):
        with pytest.raises((TypeError, ValueError), match=f"Singles.{name}"):
            setattr(singles, name, value)
    with pytest.raises(TypeError, match="elements of a Tail are numbers"):

        @horus.message
        class Wrong:
            count: horus.u32
            values: horus.Tail[horus.Array[horus.f32, 1], "count"]


@pytest.mark.parametrize("has_tail", [False, True])
def test_a_pickle_of_other_fields_is_refused(monkeypatch, has_tail):
    this = sys.modules[__name__]

    def declare(*names):
        fields = {**dict.fromkeys(names, horus.f32), "count": horus.u32}
        if has_tail:
            fields["values"] = horus.Tail[horus.f32, "count"]
        made = type("Pair", (), {"__module__": __name__, "__annotations__": fields})
        monkeypatch.setattr(this, "Pair", horus.message(made), raising=False)
        return this.Pair

    pair = declare("left", "right")(left=1, right=2)
    pickled = pickle.dumps(pair)
    assert pickle.loads(pickled) == pair
    declare("right", "left")
    with pytest.raises(ValueError, match="pickled Pair has other fields"):
        pickle.loads(pickled)
    with pytest.raises(TypeError, match="Pair has no field 'timestamp_ns'"):
        this.Pair.now()


def test_what_are_no_numbers_changes_nothing(topic):
    sonar = Sonar([1, 2])
    wrong = ["ab", {1: 2}, [None], ["1"], 5, None, np.zeros((2, 2)), [1j]]
    # Longer than all memory.
    wrong.append(np.broadcast_to(np.float32(0), (10**12,)))
    for value in wrong:
        with pytest.raises((TypeError, ValueError), match="Sonar.strengths"):
            sonar.strengths = value
        if value is not None:
            with pytest.raises((TypeError, ValueError), match="Sonar.strengths"):
                Sonar(strengths=value)
    with pytest.raises(TypeError, match="always has 'strengths'"):
        del sonar.strengths
    with pytest.raises(TypeError, match="takes its array once"):
        Sonar([1], strengths=[1])
    assert sonar.strengths.tolist() == [1, 2]
    sonar.echoes = 3
    with pytest.raises(ValueError, match="promises 12 bytes, it has 8"):
        topic.send(sonar)


def test_an_array_of_a_tail_keeps_its_length_and_memory():
    sonar = Sonar()
    views = []
    for length in range(1, 2000):
        sonar.strengths = np.full(length, length, np.float32)
        views.append(sonar.strengths)
    # The memory grows by factors of two.
    assert len({address(view) for view in views}) <= 12
    for length, view in enumerate(views, start=1):
        assert len(view) == length and (view == view[0]).all() and view[0] >= length
    before = sonar.strengths
    sonar.strengths = [1, 2]
    assert before[:3].tolist() == [1, 2, 1999] and len(before) == 1999
    assert (sonar.echoes, sonar.nbytes, sonar.strengths.tolist()) == (2, 8, [1, 2])
    assert Sonar.from_bytes(bytes(sonar)) == sonar
    sonar.strengths = []
    assert (sonar.echoes, sonar.nbytes, len(sonar.strengths)) == (0, 0, 0)


def test_a_count_has_a_limit():
    @horus.message
    class Short:
        count: horus.u8
        _reserved: horus.Array[horus.u8, 7]
        xs: horus.Tail[horus.i64, "count"]

    assert Short(range(255)).count == 255
    short = Short([1])
    for make in (lambda: Short(range(256)), lambda: setattr(short, "xs", range(256))):
        with pytest.raises(ValueError, match="i64 in a row, as many as a u8 can count"):
            make()
    assert (short.count, short.xs.tolist()) == (1, [1])
    with pytest.raises(OverflowError, match="Short.xs"):
        Short([2**63])


def test_a_long_header_is_received(namespace):
    @horus.message
    class Long:
        count: horus.u64
        values: horus.Array[horus.f64, 999]
        xs: horus.Tail[horus.u16, "count"]

    topic = horus.Topic("long", Long, namespace=namespace)
    topic.send(Long([1, 2], values=range(999)))
    received = topic.recv()
    assert received.values[998] == 998 and received.xs.tolist() == [1, 2]


def test_wrong_declarations_are_refused():
    count = ("count", horus.u32)

    def declare(*fields, bases=(), **values):
        return horus.message(type("A", bases, {"__annotations__": dict(fields), **values}))

    f32 = ("xs", horus.Tail[horus.f32, "count"])
    refused = [
        ([count, ("xs", horus.Tail[horus.f32, "number"])], "counted by 'number', which is no field"),
        ([("count", horus.i32), f32], "counted by 'count', which is no field of A of the type u8"),
        ([("count", horus.Array[horus.u32, 2]), f32], "counted by 'count', which is no field"),
        ([f32, count], "A.xs is a Tail: put one, and behind all other fields"),
        ([count, f32, ("ys", f32[1])], "A.xs is a Tail: put one"),
        ([count, ("xs", horus.Tail[horus.Text[4], "count"])], "elements of a Tail are numbers"),
        ([count, ("xs", horus.Tail[horus.Array[horus.f32, 2], "count"])], "elements of a Tail"),
        ([count, ("xs", horus.Tail[horus.f64, "count"])], "begin at byte 4, which is no multiple of 8"),
        ([f32], "A has no fields"),
        ([("a", Sonar)], "Sonar"),
        ([("a", horus.Text[10**12])], "A.a makes the message longer than 67108864 bytes"),
    ]
    for fields, text in refused:
        with pytest.raises(TypeError, match=text):
            declare(*fields)
    with pytest.raises(TypeError, match="can only derive from horus.Framed"):
        declare(count, f32, bases=(horus.Message,))
    with pytest.raises(TypeError, match="has no default: remove it"):
        declare(count, f32, xs=[1])
    with pytest.raises(TypeError, match="5 is no name of a field"):
        horus.Tail[horus.f32, 5]
    with pytest.raises(TypeError, match=r"an element and its count are wanted, as in Array\[f64, 9\]"):
        horus.Array[horus.f64]
    with pytest.raises(TypeError, match=r"0 is no length: .*, as in Text\[32\]"):
        horus.Text[0]


def test_a_number_out_of_range_is_refused_with_its_field_and_range():
    @horus.message
    class Small:
        a: horus.u8

    with pytest.raises(OverflowError, match="a: -1 is out of range: give 0 to 255"):
        Small(a=-1)
    with pytest.raises(OverflowError, match="a: 256 is out of range: give 0 to 255"):
        Small().a = 256


def test_a_number_too_large_for_32_bits_is_refused_and_infinity_is_not():
    @horus.message
    class Gains:
        count: horus.u32
        one: horus.f32
        four: horus.Array[horus.f32, 4]
        double: horus.f64
        more: horus.Tail[horus.f32, "count"]

    wanted = r"give -3\.4028235e38 to 3\.4028235e38, or float\('inf'\)"
    for field, value in [
        ("one", 1e39),
        ("one", -1e39),
        ("one", np.float64(1e39)),
        ("four", [0, 0, 0, 1e39]),
        ("four", np.array([0, 0, 0, 1e39])),
        ("more", [1.0, 1e39]),
    ]:
        with pytest.raises(OverflowError, match=rf"{field}: -?1e\+39 is out of range: {wanted}"):
            Gains(**{field: value})
    with pytest.raises(OverflowError, match=r"one: .* is out of range: " + wanted):
        Gains(one=10**400)
    with pytest.raises(OverflowError, match=r"give -1\.7976931348623157e308 to 1\.797"):
        Gains(double=10**400)
    gains = Gains(one=float("inf"), four=np.array([np.inf, -np.inf, np.nan, 3.4028235e38]))
    assert gains.one == float("inf")
    assert np.isposinf(gains.four[0]) and np.isneginf(gains.four[1]) and np.isnan(gains.four[2])
    assert gains.four[3] == np.finfo(np.float32).max


WITHOUT_NUMPY = """
import sys
sys.modules["numpy"] = None
import horus

@horus.message
class Sonar:
    echoes: horus.u32
    strengths: horus.Tail[horus.f32, "echoes"]

topic = horus.Topic("sonar", Sonar)
topic.send(Sonar(strengths=[1, 2]))
assert topic.recv().strengths == [1.0, 2.0]
sonar = topic.loan(2)
sonar.strengths = [3, 4]
sonar.publish()
assert topic.recv().strengths == [3.0, 4.0]
"""


def test_without_numpy_a_tail_is_a_list(python):
    python(WITHOUT_NUMPY)


ARRAYS_WITHOUT_NUMPY = """
import sys
sys.modules["numpy"] = None
import horus

@horus.message
class Gains:
    values: horus.Array[horus.u16, 2]

@horus.message
class Scan:
    offsets: horus.Array[horus.f64, 3]
    gains: Gains
    length: horus.u32
    points: horus.Tail[horus.f32, "length"]

topic = horus.Topic("scan", Scan)
sent = Scan(points=[1, 2], offsets=[1, 2, 3])
sent.offsets[1] = 0.5
sent.gains.values[0] = 7
topic.send(sent)
received = topic.recv()
arrays = [received.offsets, received.gains.values]
del received
assert [array.tolist() for array in arrays] == [[1.0, 0.5, 3.0], [7, 0]]
for array in arrays:
    try:
        array[0] = 1
    except TypeError as error:
        assert "read-only" in str(error), error
    else:
        raise AssertionError
"""


def test_without_numpy_arrays_of_a_header_are_memoryviews(python):
    python(ARRAYS_WITHOUT_NUMPY)


def test_imported_messages_have_the_schemas_of_rust_and_cpp():
    texts = (IMPORTED / "schemas.txt").read_text().split("\n\n")[:-1]
    module = imported()
    for text in texts:
        name = text.split("\n")[1].removeprefix("message ")
        assert getattr(module, name).__horus_schema__ == text + "\n"
    assert len(texts) == 24
    leg = module.Leg()
    assert (leg.name, leg.class_, leg.trim, leg.joints[1].w) == ("left #1", 1, -128, 1.0)
    assert (leg.forces[:3].tolist(), leg.forces_count) == ([1.5, 2.0, 0.0], 2)
    assert (leg.lowest, leg.highest, module.Leg.SWING) == (-(2**63), 2**64 - 1, -1)


CPP = """
#include <cstdio>
#include <thread>
#include <utility>
#include <horus/horus.hpp>
#include "messages.hpp"

using namespace robot::msg;

int main() {
    horus::Subscriber<Leg> legs("Leg_back");
    horus::Publisher<Leg> named("named");
    horus::Subscriber<Sonar> sonars("Sonar_back");
    horus::Publisher<Sonar> doubled("doubled");
    std::puts("ready");
    std::fflush(stdout);

    Leg leg = legs.recv_blocking();
    if (horus::text(leg.frame_id) != "hip" || leg.joints[1].w != 1.0) return 1;
    if (horus::set_text(leg.name, "0123456789abc") || !horus::set_text(leg.name, "0123456789ab")) {
        return 2;
    }
    if (!named.send(leg)) return 3;

    auto sonar = sonars.borrow();
    for (; !sonar; sonar = sonars.borrow()) std::this_thread::yield();
    const std::size_t count = sonar->header().strengths_count;
    if (sonar->data().size() < count) return 4;
    auto loan = doubled.loan();
    if (!loan || loan->data().size() < count) return 5;
    loan->header() = sonar->header();
    for (std::size_t at = 0; at < count; ++at) {
        loan->data()[at] = static_cast<std::uint16_t>(2 * sonar->data()[at]);
    }
    loan->publish(count);
    return 0;
}
"""


def test_imported_messages_pass_python_rust_and_cpp(program, monkeypatch):  # noqa: F811
    monkeypatch.setenv("CPLUS_INCLUDE_PATH", os.fspath(IMPORTED))
    messages = imported()
    legs = horus.Publisher("Leg", messages.Leg)
    named = horus.Subscriber("named", messages.Leg)
    sonars = horus.Publisher("Sonar", messages.Sonar)
    doubled = horus.Subscriber("doubled", messages.Sonar)
    with relay("imported"):
        process = program(CPP)
        assert process.stdout.readline() == "ready\n"
        leg = messages.Leg(frame_id="hip", notes=["a", "bcdef"])
        legs.send(leg)
        sonar = messages.Sonar.now(range(1000), frame_id="bow")
        sonars.send(sonar)
        back = named.recv(timeout=60)
        assert back.name == "0123456789ab"
        back.name = leg.name
        assert back == leg
        back = doubled.recv(timeout=60)
        assert back.strengths.tolist() == list(range(0, 2000, 2))
        assert (back.frame_id, back.timestamp_ns) == ("bow", sonar.timestamp_ns)
    assert process.wait(60) == 0
