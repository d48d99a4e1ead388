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
