"""Messages with a counted number of elements: scans of any number of rays, and joints."""

import horus
import numpy as np
import pytest
from mapped import address, is_mapped


@pytest.mark.parametrize("rays", [541, 720, 1081, 2000])
def test_a_scan_of_any_length_is_a_view_of_its_slot(namespace, directory, rays):
    rng = np.random.default_rng(rays)
    topic = horus.Topic("scan", horus.LidarScan, namespace=namespace)
    both = rng.random((2, rays), np.float32)
    topic.send(horus.LidarScan.now(both, frame_id="laser", angle_min=-2.35))
    scan = topic.recv()
    assert (scan.count, scan.has_intensities, scan.nbytes) == (rays, 1, 8 * rays)
    ranges, intensities = scan.to_numpy()
    assert np.array_equal(ranges, both[0]) and np.array_equal(intensities, both[1])
    assert ranges.flags.c_contiguous and not ranges.flags.writeable
    assert is_mapped(address(intensities), directory)
    # Without intensities the array has one dimension.
    topic.send(horus.LidarScan(both[0]))
    scan = topic.recv()
    assert (scan.count, scan.has_intensities) == (rays, 0)
    assert np.array_equal(scan.to_numpy(), both[0])
    # Filled in its slot.
    loan = topic.loan((2, rays), np.float32, scan_time=0.1)
    loan.to_numpy()[:] = both
    loan.publish()
    assert np.array_equal(topic.recv().to_numpy(), both)


def test_the_data_of_a_scan_are_one_or_two_rows_of_singles():
    for array in (np.zeros(9), np.zeros((3, 9), "f4"), np.zeros((2, 2, 2), "f4")):
        with pytest.raises(ValueError, match=r"f32 of the shape \[rays\], or \[2, rays\]"):
            horus.LidarScan(array)
    with pytest.raises(ValueError, match="has_intensities is 2"):
        horus.LidarScan(count=3, has_intensities=2)


def test_joints_are_elements_of_a_structured_array(namespace, directory):
    topic = horus.Topic("joints", horus.JointStateArray, namespace=namespace)
    state = horus.JointStateArray(count=58)
    joints = state.to_numpy()
    joints["name"] = [f"joint_{index}" for index in range(58)]
    joints["position"] = np.arange(58) / 8
    joints["effort"] = np.nan
    topic.send(state)
    state = topic.recv()
    assert (state.count, state.joint_bytes, state.nbytes) == (58, 64, 58 * 64)
    joints = state.to_numpy()
    assert joints["position"][57] == 57 / 8 and joints["name"][57] == b"joint_57"
    assert np.isnan(joints["effort"]).all() and is_mapped(address(joints), directory)
    loan = topic.loan(29, horus.Joint.__horus_dtype__)
    loan.to_numpy()["velocity"] = 0.5
    loan.publish()
    assert topic.recv().to_numpy()["velocity"].tolist() == [0.5] * 29
    for array in (np.zeros((2, 2), joints.dtype), np.zeros(2, [("position", "f8")])):
        with pytest.raises(TypeError, match="use one dimension and the type horus.Joint"):
            horus.JointStateArray(array)
    with pytest.raises(ValueError, match="fields only"):
        horus.JointStateArray(np.zeros(4))
