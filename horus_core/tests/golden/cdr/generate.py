"""Makes the golden bytes beside it, with an implementation of CDR that is not ours.

    python3 -m venv v && v/bin/pip install rosbags==0.11.9 && v/bin/python generate.py

Each file holds one message of a type of ROS 2 Jazzy in both byte orders. The same messages are in
`tests/ros_messages/mod.rs`. No number is 0 and no text or sequence empty, except in the files with
a second name, which say what is special.
"""

from importlib.metadata import version
from pathlib import Path

import numpy
from rosbags.typesys import Stores, get_typestore
from rosbags.interfaces import Nodetype

STORE = get_typestore(Stores.ROS2_JAZZY)


def ramp(start, count, step=0.25):
    return [start + step * index for index in range(count)]


def header(frame_id):
    return {"stamp": {"sec": 1_700_000_001, "nanosec": 123_456_789}, "frame_id": frame_id}


def xyz(start):
    return dict(zip("xyz", ramp(start, 3)))


def xyzw(start):
    return dict(zip("xyzw", ramp(start, 4)))


def pose(start):
    return {"position": xyz(start), "orientation": xyzw(start + 1)}


def twist(start):
    return {"linear": xyz(start), "angular": xyz(start + 1)}


def field(name, offset, datatype, count):
    return {"name": name, "offset": offset, "datatype": datatype, "count": count}


SCALAR = {"variance": 0.5}
ROI = {"x_offset": 1, "y_offset": 2, "height": 3, "width": 4, "do_rectify": True}
MAP = {
    "map_load_time": {"sec": 1_600_000_000, "nanosec": 7},
    "resolution": 0.25,
    "width": 3,
    "height": 2,
    "origin": pose(5),
}
SCAN = {
    "header": header("front_laser"),
    "angle_min": -1.5,
    "angle_max": 1.5,
    "angle_increment": 0.5,
    "time_increment": 0.125,
    "scan_time": 0.75,
    "range_min": 0.0625,
    "range_max": 30.0,
    "ranges": [1.25, float("inf"), 2.5, 3.75, 5.0],
}
JOINTS = {
    "header": header("base_link"),
    "name": ["shoulder", "elbow", "wrist"],
    "position": ramp(1, 3),
    "velocity": ramp(2, 3),
    "effort": ramp(3, 3),
}
# A scanner of 270 degrees in steps of half a degree.
SCAN_541 = SCAN | {
    "ranges": ramp(0.5, 541, 0.03125),
    "intensities": ramp(100, 541, 0.5),
}
JOINTS_29 = {
    "header": header("pelvis"),
    "name": [f"left_hand_thumb_proximal_joint_{index}" for index in range(29)],
    "position": ramp(1, 29),
    "velocity": ramp(2, 29),
    "effort": ramp(3, 29),
}
BATTERY = {
    "header": header("battery"),
    "voltage": 25.5,
    "temperature": 31.25,
    "current": -3.5,
    "charge": 7.25,
    "capacity": 9.5,
    "design_capacity": 10.5,
    "percentage": 0.75,
    "power_supply_status": 2,
    "power_supply_health": 1,
    "power_supply_technology": 3,
    "present": True,
    "cell_voltage": [4.25, 4.125],
    "cell_temperature": [30.5, 31.5],
    "location": "slot 1",
    "serial_number": "A-17",
}
CAMERA = {
    "header": header("camera_optical"),
    "height": 480,
    "width": 640,
    "distortion_model": "plumb_bob",
    "d": ramp(1, 5),
    "k": ramp(2, 9),
    "r": ramp(3, 9),
    "p": ramp(4, 12),
    "binning_x": 2,
    "binning_y": 4,
    "roi": ROI,
}
CLOUD = {
    "header": header("lidar"),
    "height": 1,
    "width": 2,
    "fields": [field("x", 1, 7, 1), field("ring", 5, 4, 1), field("t", 7, 8, 1)],
    "is_bigendian": True,
    "point_step": 15,
    "row_step": 31,
    "data": list(range(1, 32)),
    "is_dense": True,
}
DIAGNOSTIC = {
    "level": 2,
    "name": "base: left motor",
    "message": "too hot: 81 °C",
    "hardware_id": "M-2",
    "values": [{"key": "temperature", "value": "81"}, {"key": "duty", "value": "0.75"}],
}


def path(frame_id):
    poses = [{"header": header(frame_id), "pose": pose(start)} for start in (1, 4)]
    return {"header": header("map"), "poses": poses}


MESSAGES = {
    "geometry_msgs/msg/Point": xyz(1),
    "geometry_msgs/msg/Vector3": xyz(2),
    "geometry_msgs/msg/Quaternion": xyzw(3),
    "geometry_msgs/msg/Transform": {"translation": xyz(1), "rotation": xyzw(2)},
    "geometry_msgs/msg/Pose2D": {"x": 1.5, "y": -2.5, "theta": 0.75},
    "geometry_msgs/msg/Pose": pose(1),
    "geometry_msgs/msg/PoseStamped": {"header": header("map"), "pose": pose(1)},
    "geometry_msgs/msg/PoseWithCovarianceStamped": {
        "header": header("odom"),
        "pose": {"pose": pose(1), "covariance": ramp(3, 36)},
    },
    "geometry_msgs/msg/Twist": twist(1),
    "geometry_msgs/msg/TwistStamped": {"header": header("base_link"), "twist": twist(1)},
    "geometry_msgs/msg/TwistWithCovarianceStamped": {
        "header": header("base_link"),
        "twist": {"twist": twist(1), "covariance": ramp(3, 36)},
    },
    "geometry_msgs/msg/AccelStamped": {"header": header("base_link"), "accel": twist(2)},
    "geometry_msgs/msg/TransformStamped": {
        "header": header("odom"),
        "child_frame_id": "base_link",
        "transform": {"translation": xyz(1), "rotation": xyzw(2)},
    },
    "geometry_msgs/msg/Wrench": {"force": xyz(1), "torque": xyz(2)},
    "geometry_msgs/msg/WrenchStamped": {
        "header": header("tool0"),
        "wrench": {"force": xyz(1), "torque": xyz(2)},
    },
    "sensor_msgs/msg/Imu": {
        "header": header("imu_link"),
        "orientation": xyzw(1),
        "orientation_covariance": ramp(2, 9),
        "angular_velocity": xyz(3),
        "angular_velocity_covariance": ramp(4, 9),
        "linear_acceleration": xyz(5),
        "linear_acceleration_covariance": ramp(6, 9),
    },
    "sensor_msgs/msg/LaserScan": {**SCAN, "intensities": []},
    "sensor_msgs/msg/Range": {
        "header": header("sonar"),
        "radiation_type": 1,
        "field_of_view": 0.5,
        "min_range": 0.25,
        "max_range": 4.5,
        "range": 1.75,
        "variance": 0.125,
    },
    "sensor_msgs/msg/JointState": JOINTS,
    "sensor_msgs/msg/BatteryState": BATTERY,
    "sensor_msgs/msg/NavSatFix": {
        "header": header("gps"),
        "status": {"status": -1, "service": 513},
        "latitude": 47.375,
        "longitude": 8.5,
        "altitude": 408.25,
        "position_covariance": ramp(1, 9),
        "position_covariance_type": 2,
    },
    "sensor_msgs/msg/MagneticField": {
        "header": header("imu_link"),
        "magnetic_field": xyz(1),
        "magnetic_field_covariance": ramp(2, 9),
    },
    "sensor_msgs/msg/Temperature": {"header": header("cpu"), "temperature": 41.5, **SCALAR},
    "sensor_msgs/msg/FluidPressure": {
        "header": header("baro"),
        "fluid_pressure": 101325.5,
        **SCALAR,
    },
    "sensor_msgs/msg/Illuminance": {"header": header("lux"), "illuminance": 300.5, **SCALAR},
    "sensor_msgs/msg/TimeReference": {
        "header": header("gps"),
        "time_ref": {"sec": 2_147_483_647, "nanosec": 999_999_999},
        "source": "gps",
    },
    "sensor_msgs/msg/RegionOfInterest": ROI,
    "sensor_msgs/msg/CameraInfo": CAMERA,
    "sensor_msgs/msg/Image": {
        "header": header("camera_optical"),
        "height": 2,
        "width": 3,
        "encoding": "rgb8",
        "is_bigendian": 1,
        "step": 10,
        "data": list(range(1, 21)),
    },
    "sensor_msgs/msg/CompressedImage": {
        "header": header("camera_optical"),
        "format": "jpeg",
        "data": list(range(1, 8)),
    },
    "sensor_msgs/msg/PointField": field("intensity", 12, 7, 1),
    "sensor_msgs/msg/PointCloud2": CLOUD,
    "nav_msgs/msg/Odometry": {
        "header": header("odom"),
        "child_frame_id": "base_link",
        "pose": {"pose": pose(1), "covariance": ramp(3, 36)},
        "twist": {"twist": twist(2), "covariance": ramp(4, 36)},
    },
    "nav_msgs/msg/MapMetaData": MAP,
    "nav_msgs/msg/OccupancyGrid": {
        "header": header("map"),
        "info": MAP,
        "data": [-1, 100, 1, 2, 3, 4],
    },
    "nav_msgs/msg/Path": path("map"),
    "rosgraph_msgs/msg/Clock": {"clock": {"sec": 12, "nanosec": 500_000_000}},
    "diagnostic_msgs/msg/KeyValue": {"key": "temperature", "value": "81"},
    "diagnostic_msgs/msg/DiagnosticStatus": DIAGNOSTIC,
}

SPECIAL = {
    "planar": ("geometry_msgs/msg/Twist", {
        "linear": {"x": 0.5, "y": 0.0, "z": 0.0},
        "angular": {"x": 0.0, "y": 0.0, "z": -0.25},
    }),
    "intensities": ("sensor_msgs/msg/LaserScan", {**SCAN, "intensities": ramp(1, 5)}),
    "541_beams": ("sensor_msgs/msg/LaserScan", SCAN_541),
    "29_joints": ("sensor_msgs/msg/JointState", JOINTS_29),
    "positions_only": ("sensor_msgs/msg/JointState", {**JOINTS, "velocity": [], "effort": []}),
    "nameless": ("sensor_msgs/msg/JointState", {**JOINTS, "name": [], "velocity": []}),
    "empty": ("sensor_msgs/msg/JointState", {
        "header": header(""), "name": [], "position": [], "velocity": [], "effort": [],
    }),
    "no_cells": ("sensor_msgs/msg/BatteryState", {
        **BATTERY, "cell_voltage": [], "cell_temperature": [],
    }),
    "uncalibrated": ("sensor_msgs/msg/CameraInfo", {**CAMERA, "d": []}),
    "no_points": ("sensor_msgs/msg/PointCloud2", {
        **CLOUD, "width": 0, "row_step": 0, "fields": [], "data": [],
    }),
    "no_values": ("diagnostic_msgs/msg/DiagnosticStatus", {**DIAGNOSTIC, "values": []}),
    "frameless_poses": ("nav_msgs/msg/Path", path("")),
}


def value(node, given):
    """What the description `node` of a field says, made of plain numbers, texts and lists."""
    kind, of = node
    if kind == Nodetype.BASE:
        return given
    if kind == Nodetype.NAME:
        return message(of, given)
    (element, name), length = of
    assert kind == Nodetype.SEQUENCE or len(given) == length, (node, given)
    if element == Nodetype.BASE and name[0] != "string":
        return numpy.array(given, dtype=name[0])
    return [value(of[0], each) for each in given]


def message(name, given):
    fields = STORE.fielddefs[name][1]
    assert [field for field, _ in fields] == list(given), (name, list(given))
    return STORE.types[name](*[value(node, given[field]) for field, node in fields])


def is_full(given):
    if isinstance(given, dict):
        return all(is_full(each) for key, each in given.items() if key != "intensities")
    if isinstance(given, list):
        return bool(given) and all(is_full(each) for each in given)
    return bool(given)


def lines(data):
    return "".join(f"{data[at:at + 32].hex()}\n" for at in range(0, len(data), 32))


def write(file, name, given):
    made = message(name, given)
    text = f"# {name}, serialize_cdr of rosbags {version('rosbags')}\n"
    for order in ("little", "big"):
        data = STORE.serialize_cdr(made, name, little_endian=order == "little")
        text += f"# {order}-endian\n{lines(bytes(data))}"
    Path(__file__).with_name(f"{file}.hex").write_text(text)


for name, given in MESSAGES.items():
    assert is_full(given), name
    write(name.split("/")[2], name, given)
for special, (name, given) in SPECIAL.items():
    write(f"{name.split('/')[2]}.{special}", name, given)
