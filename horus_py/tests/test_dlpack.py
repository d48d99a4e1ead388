"""Images, point clouds and tensors by DLPack, for numpy and torch."""

import sys

import horus
import numpy as np
import pytest
from mapped import address
from test_framed import examples, frame


class TestDLPack:
    @pytest.mark.parametrize("index", range(10), ids=lambda index: type(examples()[index]).__name__)
    def test_every_kind_of_numbers_is_exported(self, index):
        message = examples()[index]
        if isinstance(message, horus.PointCloud):
            with pytest.raises(ValueError, match="no array"):
                np.from_dlpack(message)
            return
        array = np.from_dlpack(message)
        assert np.array_equal(array, message.to_numpy())
        assert array.strides == message.to_numpy().strides
        assert address(array) == address(message.to_numpy())

    def test_protocol(self, camera):
        mine = horus.Image(frame())
        assert mine.__dlpack_device__() == (1, 0)
        assert 'capsule object "dltensor"' in repr(mine.__dlpack__())
        versioned = 'capsule object "dltensor_versioned"'
        assert versioned in repr(mine.__dlpack__(max_version=(1, 1), dl_device=(1, 0), copy=False))
        assert versioned not in repr(mine.__dlpack__(max_version=(0, 8)))
        camera.send(mine)
        theirs = camera.recv()
        assert versioned in repr(theirs.__dlpack__(max_version=(1, 0)))
        with pytest.raises(BufferError, match="read-only"):
            theirs.__dlpack__()
        copied = np.from_dlpack(theirs, copy=True)
        copied[:] = 0
        assert theirs.to_numpy().any()
        assert 'capsule object "dltensor"' in repr(theirs.__dlpack__(copy=True))
        for wrong in ({"dl_device": (2, 0)}, {"stream": 1}):
            with pytest.raises(BufferError):
                mine.__dlpack__(**wrong)
        with pytest.raises(TypeError):
            mine.__dlpack__(1)
        with pytest.raises(TypeError):
            mine.__dlpack__(version=1)

    def test_views_hold_what_they_show(self, camera):
        camera.send(horus.Image(frame(4)))
        image = camera.recv()
        before = sys.getrefcount(image)
        capsule = image.__dlpack__(max_version=(1, 0))
        assert sys.getrefcount(image) == before + 1
        del capsule
        assert sys.getrefcount(image) == before
        array = np.from_dlpack(image)
        assert sys.getrefcount(image) == before + 1
        del array
        assert sys.getrefcount(image) == before

    def test_torch(self, camera):
        torch = pytest.importorskip("torch")
        mine = horus.Image(frame())
        tensor = torch.from_dlpack(mine)
        assert tensor.data_ptr() == address(mine.to_numpy())
        camera.send(mine)
        assert torch.equal(torch.from_dlpack(camera.recv().copy()), tensor)

    def test_a_shape_that_is_too_large_is_refused(self):
        tensor = horus.Tensor(np.zeros((0, 3)))
        tensor.shape[1] = 2**63
        with pytest.raises(BufferError, match="at most 2\\^63 - 1 fit"):
            tensor.__dlpack__()
