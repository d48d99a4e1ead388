# @generated from .msg files.
"""Messages, declared equally in Rust and C++."""

from typing import Literal as _Literal

import horus


@horus.message
class Header(horus.Message):
    """Header."""

    # Time by CLOCK_REALTIME: nanoseconds.
    stamp_ns: horus.u64
    frame_id: horus.Text[_Literal[64]]


@horus.message
class ColorRGBA(horus.Message):
    """ColorRGBA."""

    r: horus.f32
    g: horus.f32
    b: horus.f32
    a: horus.f32


@horus.message
class Empty(horus.Message):
    """Empty."""

    # Reserved, 0: no unit.
    _reserved: horus.u8


@horus.message
class Point(horus.Message):
    """Point."""

    x: horus.f64
    y: horus.f64
    z: horus.f64


@horus.message
class Quaternion(horus.Message):
    """Quaternion."""

    x: horus.f64 = 0.0
    y: horus.f64 = 0.0
    z: horus.f64 = 0.0
    w: horus.f64 = 1.0


@horus.message
class Pose(horus.Message):
    """Pose."""

    position: Point
    orientation: Quaternion


@horus.message
class PoseWithCovariance(horus.Message):
    """PoseWithCovariance."""

    pose: Pose
    # 6 x 6: position, then rotation
    covariance: horus.Array[horus.f64, _Literal[36]]


@horus.message
class Vector3(horus.Message):
    """Vector3."""

    x: horus.f64
    y: horus.f64
    z: horus.f64


@horus.message
class Twist(horus.Message):
    """Twist."""

    linear: Vector3
    angular: Vector3


@horus.message
class TwistWithCovariance(horus.Message):
    """TwistWithCovariance."""

    twist: Twist
    # 6 x 6: linear, then angular
    covariance: horus.Array[horus.f64, _Literal[36]]


@horus.message
class Odometry(horus.Message):
    """Pose in the frame of the header, and velocity in the frame of the body."""

    # Time of the data, by CLOCK_REALTIME: nanoseconds.
    timestamp_ns: horus.u64
    pose: PoseWithCovariance
    twist: TwistWithCovariance
    # Frame of the data: text.
    frame_id: horus.Text[_Literal[32]]
    # Frame of the body
    child_frame_id: horus.Text[_Literal[64]]


@horus.message
class Imu(horus.Message):
    """Units are rad/s and m/s^2. Each covariance is 3 x 3, one row after the other."""

    # Time of the data, by CLOCK_REALTIME: nanoseconds.
    timestamp_ns: horus.u64
    orientation: Quaternion
    orientation_covariance: horus.Array[horus.f64, _Literal[9]]
    angular_velocity: Vector3
    angular_velocity_covariance: horus.Array[horus.f64, _Literal[9]]
    linear_acceleration: Vector3
    linear_acceleration_covariance: horus.Array[horus.f64, _Literal[9]]
    # Frame of the data: text.
    frame_id: horus.Text[_Literal[32]]


@horus.message
class LaserScan(horus.Framed):
    """One sweep of a planar range finder."""

    # Time of the data, by CLOCK_REALTIME: nanoseconds.
    #
    # Its time is that of ray 0
    timestamp_ns: horus.u64
    # Of ray 0: radians.
    angle_min: horus.f32
    # Of the last ray: radians.
    angle_max: horus.f32
    # From ray to ray: radians.
    angle_increment: horus.f32
    # From ray to ray: seconds.
    time_increment: horus.f32
    # From sweep to sweep: seconds.
    scan_time: horus.f32
    # Shortest valid range: metres.
    range_min: horus.f32
    # Longest valid range: metres.
    range_max: horus.f32
    # Number of `ranges` that follow: count.
    #
    # Metres.
    ranges_count: horus.u32
    # Each device has its own unit
    intensities: horus.Array[horus.f32, _Literal[1081]]
    # Elements of `intensities` in use, from the first: count.
    intensities_count: horus.u32
    # Frame of the data: text.
    frame_id: horus.Text[_Literal[32]]
    # Reserved, 0: no unit.
    _reserved: horus.Array[horus.u8, _Literal[16]]
    ranges: horus.Tail[horus.f32, _Literal["ranges_count"]]


@horus.message
class JointState(horus.Framed):
    """Units are rad, rad/s and N*m, or m, m/s and N for a prismatic joint."""

    # Time of the data, by CLOCK_REALTIME: nanoseconds.
    timestamp_ns: horus.u64
    velocity: horus.Array[horus.f64, _Literal[32]]
    effort: horus.Array[horus.f64, _Literal[32]]
    # Elements of `name` in use, from the first: count.
    name_count: horus.u32
    # Number of `position` that follow: count.
    position_count: horus.u32
    # Elements of `velocity` in use, from the first: count.
    velocity_count: horus.u32
    # Elements of `effort` in use, from the first: count.
    effort_count: horus.u32
    # Frame of the data: text.
    frame_id: horus.Text[_Literal[32]]
    name: horus.Array[horus.Text[_Literal[64]], _Literal[32]]
    # Reserved, 0: no unit.
    _reserved: horus.Array[horus.u8, _Literal[8]]
    position: horus.Tail[horus.f64, _Literal["position_count"]]


@horus.message
class RegionOfInterest(horus.Message):
    """A rectangle in an image: pixels."""

    x_offset: horus.u32
    y_offset: horus.u32
    height: horus.u32
    width: horus.u32
    do_rectify: horus.u8
    # Reserved, 0: no unit.
    _reserved: horus.Array[horus.u8, _Literal[3]]


@horus.message
class CameraInfo(horus.Framed):
    """Calibration of a camera. Matrices hold one row after the other."""

    # Time of the data, by CLOCK_REALTIME: nanoseconds.
    #
    # Its frame is the optical one
    timestamp_ns: horus.u64
    # 3 x 3
    k: horus.Array[horus.f64, _Literal[9]]
    # 3 x 3
    r: horus.Array[horus.f64, _Literal[9]]
    # 3 x 4
    p: horus.Array[horus.f64, _Literal[12]]
    # Pixels
    height: horus.u32
    # Pixels
    width: horus.u32
    # Number of `d` that follow: count.
    #
    # Coefficients of distortion_model
    d_count: horus.u32
    binning_x: horus.u32
    binning_y: horus.u32
    roi: RegionOfInterest
    # Frame of the data: text.
    frame_id: horus.Text[_Literal[32]]
    # Such as plumb_bob
    distortion_model: horus.Text[_Literal[64]]
    d: horus.Tail[horus.f64, _Literal["d_count"]]


@horus.message
class BatteryState(horus.Framed):
    """A number that was not measured is NaN."""

    POWER_SUPPLY_STATUS_UNKNOWN = 0
    POWER_SUPPLY_STATUS_CHARGING = 1
    POWER_SUPPLY_STATUS_DISCHARGING = 2
    # Time of the data, by CLOCK_REALTIME: nanoseconds.
    timestamp_ns: horus.u64
    # Volts.
    voltage: horus.f32
    # Degrees Celsius.
    temperature: horus.f32
    # Below 0 while it supplies the robot: amperes.
    current: horus.f32
    # Ampere hours.
    charge: horus.f32
    # 0 to 1
    percentage: horus.f32
    # Number of `cell_voltage` that follow: count.
    #
    # One number a cell: volts.
    cell_voltage_count: horus.u32
    # Frame of the data: text.
    frame_id: horus.Text[_Literal[32]]
    power_supply_status: horus.u8
    present: horus.u8
    location: horus.Text[_Literal[64]]
    serial_number: horus.Text[_Literal[64]]
    # Reserved, 0: no unit.
    _reserved: horus.Array[horus.u8, _Literal[62]]
    cell_voltage: horus.Tail[horus.f32, _Literal["cell_voltage_count"]]


@horus.message
class PointField(horus.Message):
    """One channel of the points."""

    INT8 = 1
    UINT8 = 2
    FLOAT32 = 7
    FLOAT64 = 8
    # Its first byte in a point
    offset: horus.u32
    count: horus.u32
    name: horus.Text[_Literal[16]]
    # FLOAT32, for example
    datatype: horus.u8
    # Reserved, 0: no unit.
    _reserved: horus.Array[horus.u8, _Literal[3]]


@horus.message
class PointCloud2(horus.Framed):
    """PointCloud2."""

    # Time of the data, by CLOCK_REALTIME: nanoseconds.
    timestamp_ns: horus.u64
    # Rows of points
    height: horus.u32
    # Points of each row
    width: horus.u32
    fields: horus.Array[PointField, _Literal[16]]
    # Elements of `fields` in use, from the first: count.
    fields_count: horus.u32
    # Bytes from point to point
    point_step: horus.u32
    # Bytes from row to row
    row_step: horus.u32
    # Number of `data` that follow: count.
    data_count: horus.u32
    # Frame of the data: text.
    frame_id: horus.Text[_Literal[32]]
    is_bigendian: horus.u8
    # No coordinate is NaN
    is_dense: horus.u8
    # Reserved, 0: no unit.
    _reserved: horus.Array[horus.u8, _Literal[62]]
    data: horus.Tail[horus.u8, _Literal["data_count"]]


@horus.message
class Joy(horus.Framed):
    """Joy."""

    # Time of the data, by CLOCK_REALTIME: nanoseconds.
    timestamp_ns: horus.u64
    # Number of `axes` that follow: count.
    axes_count: horus.u32
    buttons: horus.Array[horus.i32, _Literal[16]]
    # Elements of `buttons` in use, from the first: count.
    buttons_count: horus.u32
    # Frame of the data: text.
    frame_id: horus.Text[_Literal[32]]
    # Reserved, 0: no unit.
    _reserved: horus.Array[horus.u8, _Literal[16]]
    axes: horus.Tail[horus.f32, _Literal["axes_count"]]


@horus.message
class Literal(horus.Message):
    """A message with a name that generated Python uses, too."""

    gains: horus.Array[horus.f64, _Literal[4]]


@horus.message
class Leg(horus.Message):
    """State of one leg, with every kind of field.

    \\\"Quotes\\\", `code`, * / and a backslash at the end

    The constant `RATE` is 0.5. Of the gait: hertz.

    The constant `PREFIX` is leg.
    """

    # Phase of the step
    SWING = -1
    MASK = 18446744073709551615
    LOWEST = -9223372036854775808
    # Time of the data, by CLOCK_REALTIME: nanoseconds.
    timestamp_ns: horus.u64
    # Time by CLOCK_REALTIME: nanoseconds.
    #
    # Of the last contact
    contact_time_ns: horus.u64
    # Duration: nanoseconds.
    #
    # Stance and swing
    phases_ns: horus.Array[horus.i64, _Literal[2]]
    foot: Point
    joints: horus.Array[Quaternion, _Literal[2]]
    lowest: horus.i64 = -9223372036854775808
    highest: horus.u64 = 18446744073709551615
    axis: horus.Array[horus.f64, _Literal[3]] = [0.0, 0.0, 1.0]  # type: ignore[assignment]
    gain: horus.f32 = 1.5
    # At the foot: newtons.
    forces: horus.Array[horus.f32, _Literal[8]] = [1.5, 2.0] + [0] * 6  # type: ignore[assignment]
    # Elements of `forces` in use, from the first: count.
    forces_count: horus.u32 = 2
    # Elements of `notes` in use, from the first: count.
    notes_count: horus.u32
    steps: horus.i16 = 127
    # Frame of the data: text.
    frame_id: horus.Text[_Literal[32]]
    # As on the label
    name: horus.Text[_Literal[12]] = "left #1"  # type: ignore[assignment]
    # A word that C++ and Python reserve
    class_: horus.u8 = 1
    # And one that Rust does
    type: horus.u8
    letter: horus.u8 = 65
    trim: horus.i8 = -128
    notes: horus.Array[horus.Text[_Literal[5]], _Literal[2]]


@horus.message
class Sonar(horus.Framed):
    """Echoes of one ping."""

    # Time of the data, by CLOCK_REALTIME: nanoseconds.
    #
    # Its time is that of the ping,
    # and its frame that of the microphone
    timestamp_ns: horus.u64
    # Of the ping
    origin: Point
    # Number of `strengths` that follow: count.
    #
    # Sound pressure of each echo: pascals.
    #
    # (an echo that was lost has none)
    strengths_count: horus.u32
    # Speed of sound in the air: metres per second.
    speed: horus.f32 = 343.0
    # Frame of the data: text.
    frame_id: horus.Text[_Literal[32]]
    # Reserved, 0: no unit.
    _reserved: horus.Array[horus.u8, _Literal[56]]
    strengths: horus.Tail[horus.u16, _Literal["strengths_count"]]


@horus.message
class Keywords(horus.Message):
    """Fields with the names of all keywords of Rust, and of a name that generated Python uses."""

    as_: horus.u8
    break_: horus.u8
    const_: horus.u8
    continue_: horus.u8
    crate_: horus.u8
    else_: horus.u8
    enum_: horus.u8
    extern_: horus.u8
    false_: horus.u8
    fn: horus.u8
    for_: horus.u8
    if_: horus.u8
    impl: horus.u8
    in_: horus.u8
    let: horus.u8
    loop: horus.u8
    match: horus.u8
    mod: horus.u8
    move: horus.u8
    mut: horus.u8
    pub: horus.u8
    ref: horus.u8
    return_: horus.u8
    self_: horus.u8
    Self_: horus.u8
    static_: horus.u8
    struct_: horus.u8
    super_: horus.u8
    trait: horus.u8
    true_: horus.u8
    type: horus.u8
    unsafe: horus.u8
    use: horus.u8
    where: horus.u8
    while_: horus.u8
    async_: horus.u8
    await_: horus.u8
    dyn: horus.u8
    gen: horus.u8
    abstract: horus.u8
    become: horus.u8
    box: horus.u8
    do_: horus.u8
    final: horus.u8
    macro: horus.u8
    override: horus.u8
    priv: horus.u8
    typeof_: horus.u8
    unsized: horus.u8
    virtual_: horus.u8
    yield_: horus.u8
    try_: horus.u8
    Literal: horus.u8 = 1
    after_it: horus.Array[horus.u8, _Literal[3]]
