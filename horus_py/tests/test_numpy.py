"""The first use of numpy imports it. An import that fails is an error, and is tried again."""

import horus
import numpy as np
import pytest

BEGIN = """
import array
import sys

import horus


@horus.message
class Sonar:
    echoes: horus.u32
    strengths: horus.Tail[horus.f32, "echoes"]


class Finder:
    error = None

    def find_spec(self, name, path=None, target=None):
        if name == "numpy" and self.error is not None:
            raise self.error


finder = Finder()
sys.meta_path.insert(0, finder)
values = horus.Publisher("values")
received = horus.Subscriber("received")
tensors = horus.Topic("tensors", horus.Tensor)
image = horus.Image(memoryview(bytes(12)).cast("B", (2, 2, 3)))


def use():
    return {use}


for error in (KeyboardInterrupt(), ImportError("broken"), MemoryError()):
    finder.error = error
    try:
        use()
    except type(error) as found:
        assert found is error, repr(found)
    else:
        raise AssertionError(f"no {error!r}")
finder.error = None
use()
assert type(horus.Imu().orientation).__module__ == "numpy"
"""

USES = {
    "a field": "horus.Imu().orientation",
    "a tail": "Sonar(strengths=[1]).strengths",
    "the array of an image": "image.to_numpy()",
    "the view of a loan": "tensors.loan(2).__dlpack__()",
    "the element type of a class": "horus.Imu.dtype",
    "the fields of a message": "horus.Imu().to_numpy()",
    "the element type of a loan": "tensors.loan(2, 'f4')",
    "a received array": "received.recv(timeout=60)",
    "a sent array": "values.send(array.array('d', [1]))",
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_failed_import_is_an_error_and_is_tried_again(python, namespace, use):
    arrays = horus.Publisher("received", namespace=namespace, history=8)
    for number in range(8):
        arrays.send(np.arange(number))
    python(BEGIN.replace("{use}", use))


MASKED = np.ma.masked_array([1.0, 2.0, 3.0], mask=[0, 1, 0])



@horus.message
class Echoes:
    count: horus.u64
    strengths: horus.Tail[horus.f64, "count"]


def set_field(message, name, array):
    before = message.copy()
    try:
        setattr(message, name, array)
    finally:
        assert message == before


SEND = {
    "a value": lambda publisher, array: publisher.send({"x": array}),
    "an element": lambda publisher, array: publisher.send([array[1]]),
    "a tensor": lambda _, array: horus.Tensor(array),
    "an image": lambda _, array: horus.Image(array.reshape(1, 3).astype(np.uint8)),
    "a new field": lambda _, array: horus.Imu(angular_velocity=array),
    "a field": lambda _, array: set_field(horus.Imu(), "angular_velocity", array),
    "a new tail": lambda _, array: Echoes(strengths=array),
    "a tail": lambda _, array: set_field(Echoes(strengths=[4.0]), "strengths", array),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("send", SEND.values(), ids=SEND)
def test_an_array_with_masked_elements_is_refused(namespace, send, dtype):
    """The receiver would take the values below the mask for valid ones."""
    publisher = horus.Publisher("values", namespace=namespace)
    with pytest.raises(ValueError, match="elements of the array are masked.*filled"):
        send(publisher, MASKED.astype(dtype))


def test_an_array_whose_mask_is_not_set_is_sent(namespace):
    array = np.ma.masked_array([1.0, 2.0, 3.0], mask=False)
    topic = horus.Topic("values", namespace=namespace)
    topic.send(array)
    assert topic.recv().tolist() == [1.0, 2.0, 3.0]
    assert horus.Imu(angular_velocity=array).angular_velocity.tolist() == [1.0, 2.0, 3.0]
    assert horus.Tensor(array).to_numpy().tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("unit", ["Y", "D", "s", "us", "ns", "as"])
@pytest.mark.parametrize("kind", [np.datetime64, np.timedelta64])
def test_dates_and_durations_of_numpy_are_refused_whatever_their_unit(namespace, kind, unit):
    values = horus.Publisher("values", namespace=namespace)
    for wrong in (kind(5, unit), kind("NaT", unit)):
        with pytest.raises(TypeError, match=f"{kind.__name__}.*cannot be sent"):
            values.send([wrong])


def test_a_boolean_of_numpy_is_a_number_as_one_of_python_is():
    assert horus.EmergencyStop(engaged=np.bool_(True)).engaged == 1
    assert horus.EmergencyStop(engaged=np.bool_(False)).engaged == 0
    buttons = horus.JoystickInput(buttons=np.array([True, False])).buttons
    assert buttons[:2].tolist() == [1, 0]
    assert horus.Imu(angular_velocity=np.array([True, False, True])).angular_velocity.sum() == 2
    for wrong in (np.float64(1), np.str_("1"), np.datetime64(5, "ns")):
        with pytest.raises(TypeError):
            horus.EmergencyStop(engaged=wrong)
