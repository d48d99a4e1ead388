# @generated from .msg files.
"""Messages, declared equally in Rust and C++."""

import horus


@horus.message
class Header(horus.Message):
    """Time and frame of data."""

    # Time by CLOCK_REALTIME: nanoseconds.
    #
    # Two-integer timestamp that is expressed as seconds and nanoseconds.
    stamp_ns: horus.u64
    # Transform frame with which this data is associated.
    frame_id: horus.Text[64]


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
    """This contains the position of a point in free space"""

    x: horus.f64
    y: horus.f64
    z: horus.f64


@horus.message
class Quaternion(horus.Message):
    """This represents an orientation in free space in quaternion form."""

    x: horus.f64 = 0.0
    y: horus.f64 = 0.0
    z: horus.f64 = 0.0
    w: horus.f64 = 1.0


@horus.message
class Pose(horus.Message):
    """A representation of pose in free space, composed of position and orientation."""

    position: Point
    orientation: Quaternion


@horus.message
class PoseWithCovariance(horus.Message):
    """This represents a pose in free space with uncertainty."""

    pose: Pose
    # Row-major representation of the 6x6 covariance matrix
    # The orientation parameters use a fixed-axis representation.
    covariance: horus.Array[horus.f64, 36]


@horus.message
class Vector3(horus.Message):
    """This represents a vector in free space.

    This is semantically different than a point.
    """

    x: horus.f64
    y: horus.f64
    z: horus.f64


@horus.message
class Twist(horus.Message):
    """This expresses velocity in free space broken into its linear and angular parts."""

    linear: Vector3
    angular: Vector3


@horus.message
class TwistWithCovariance(horus.Message):
    """This expresses velocity in free space with uncertainty."""

    twist: Twist
    # Row-major representation of the 6x6 covariance matrix
    covariance: horus.Array[horus.f64, 36]


@horus.message
class Odometry(horus.Message):
    """This represents an estimate of a position and velocity in free space."""

    # Time of the data, by CLOCK_REALTIME: nanoseconds.
    #
    # Includes the frame id of the pose parent.
    timestamp_ns: horus.u64
    # Estimated pose that is typically relative to a fixed world frame.
    pose: PoseWithCovariance
    # Estimated linear and angular velocity relative to child_frame_id.
    twist: TwistWithCovariance
    # Frame of the data: text.
    frame_id: horus.Text[32]
    # Frame id the pose points to. The twist is in this coordinate frame.
    child_frame_id: horus.Text[64]


@horus.message
class Imu(horus.Message):
    """This is a message to hold data from an IMU (Inertial Measurement Unit)

    Accelerations should be in m/s^2 (not in g's), and rotational velocity should be in rad/sec
    """

    # Time of the data, by CLOCK_REALTIME: nanoseconds.
    timestamp_ns: horus.u64
    orientation: Quaternion
    # Row major about x, y, z axes
    orientation_covariance: horus.Array[horus.f64, 9]
    angular_velocity: Vector3
    # Row major about x, y, z axes
    angular_velocity_covariance: horus.Array[horus.f64, 9]
    linear_acceleration: Vector3
    # Row major x, y z
    linear_acceleration_covariance: horus.Array[horus.f64, 9]
    # Frame of the data: text.
    frame_id: horus.Text[32]


@horus.message
class LaserScan(horus.Framed):
    """Single scan from a planar laser range-finder

    If you have another ranging device with different behavior (e.g. a sonar
    array), please find or create a different message
    """

    # Time of the data, by CLOCK_REALTIME: nanoseconds.
    #
    # Timestamp in the header is the acquisition time of
    # the first ray in the scan.
    timestamp_ns: horus.u64
    # Start angle of the scan: radians.
    angle_min: horus.f32
    # End angle of the scan: radians.
    angle_max: horus.f32
    # Angular distance between measurements: radians.
    angle_increment: horus.f32
    # Time between measurements: seconds.
    #
    # If your scanner
    # is moving, this will be used in interpolating position
    # of 3d points
    time_increment: horus.f32
    # Time between scans: seconds.
    scan_time: horus.f32
    # Minimum range value: metres.
    range_min: horus.f32
    # Maximum range value: metres.
    range_max: horus.f32
    # Number of `ranges` that follow: count.
    #
    # Range data: metres.
    #
    # (Note: values < range_min or > range_max should be discarded)
    ranges_count: horus.u32
    # Intensity data [device-specific units].  If your
    # device does not provide intensities, please leave
    # the array empty.
    intensities: horus.Array[horus.f32, 1081]
    # Elements of `intensities` in use, from the first: count.
    intensities_count: horus.u32
    # Frame of the data: text.
    frame_id: horus.Text[32]
    # Reserved, 0: no unit.
    _reserved: horus.Array[horus.u8, 16]
    ranges: horus.Tail[horus.f32, "ranges_count"]


@horus.message
class JointState(horus.Framed):
    """This is a message that holds data to describe the state of a set of torque controlled joints."""

    # Time of the data, by CLOCK_REALTIME: nanoseconds.
    timestamp_ns: horus.u64
    velocity: horus.Array[horus.f64, 32]
    effort: horus.Array[horus.f64, 32]
    # Elements of `name` in use, from the first: count.
    name_count: horus.u32
    # Number of `position` that follow: count.
    position_count: horus.u32
    # Elements of `velocity` in use, from the first: count.
    velocity_count: horus.u32
    # Elements of `effort` in use, from the first: count.
    effort_count: horus.u32
    # Frame of the data: text.
    frame_id: horus.Text[32]
    name: horus.Array[horus.Text[64], 32]
    # Reserved, 0: no unit.
    _reserved: horus.Array[horus.u8, 8]
    position: horus.Tail[horus.f64, "position_count"]


@horus.message
class RegionOfInterest(horus.Message):
    """This message is used to specify a region of interest within an image."""

    # Leftmost pixel of the ROI
    # (0 if the ROI includes the left edge of the image)
    x_offset: horus.u32
    # Topmost pixel of the ROI
    # (0 if the ROI includes the top edge of the image)
    y_offset: horus.u32
    # Height of ROI
    height: horus.u32
    # Width of ROI
    width: horus.u32
    # True if a distinct rectified ROI should be calculated from the "raw" ROI in this message.
    do_rectify: horus.u8
    # Reserved, 0: no unit.
    _reserved: horus.Array[horus.u8, 3]


@horus.message
class CameraInfo(horus.Framed):
    """This message defines meta information for a camera.

    Image acquisition info
    """

    # Time of the data, by CLOCK_REALTIME: nanoseconds.
    #
    # Time of image acquisition, camera coordinate frame ID
    # Header timestamp should be acquisition time of image
    # Header frame_id should be optical frame of camera
    timestamp_ns: horus.u64
    # Intrinsic camera matrix for the raw (distorted) images.
    # 3x3 row-major matrix
    k: horus.Array[horus.f64, 9]
    # 3x3 row-major matrix
    r: horus.Array[horus.f64, 9]
    # 3x4 row-major matrix
    p: horus.Array[horus.f64, 12]
    # The image dimensions with which the camera was calibrated.
    height: horus.u32
    width: horus.u32
    # Number of `d` that follow: count.
    #
    # The distortion parameters, size depending on the distortion model.
    d_count: horus.u32
    binning_x: horus.u32
    binning_y: horus.u32
    roi: RegionOfInterest
    # Frame of the data: text.
    frame_id: horus.Text[32]
    # The distortion model used.
    distortion_model: horus.Text[64]
    d: horus.Tail[horus.f64, "d_count"]


@horus.message
class BatteryState(horus.Framed):
    """Constants are chosen to match the enums in the linux kernel
    defined in include/linux/power_supply.h as of version 3.7
    """

    # Power supply status constants
    POWER_SUPPLY_STATUS_UNKNOWN = 0
    POWER_SUPPLY_STATUS_CHARGING = 1
    POWER_SUPPLY_STATUS_DISCHARGING = 2
    # Time of the data, by CLOCK_REALTIME: nanoseconds.
    #
    # The battery is described with the following fields
    timestamp_ns: horus.u64
    # Voltage in Volts (Mandatory)
    voltage: horus.f32
    # Temperature in Degrees Celsius (If unmeasured NaN)
    temperature: horus.f32
    # Negative when discharging: amperes.
    #
    # (If unmeasured NaN)
    current: horus.f32
    # Current charge in Ah  (If unmeasured NaN)
    charge: horus.f32
    # Charge percentage on 0 to 1 range  (If unmeasured NaN)
    percentage: horus.f32
    # Number of `cell_voltage` that follow: count.
    #
    # An array of individual cell voltages for each cell in the pack
    cell_voltage_count: horus.u32
    # Frame of the data: text.
    frame_id: horus.Text[32]
    # The charging status as reported. Values defined above
    power_supply_status: horus.u8
    # True if the battery is present
    present: horus.u8
    # The location into which the battery is inserted. (slot number or plug)
    location: horus.Text[64]
    # The best approximation of the battery serial number
    serial_number: horus.Text[64]
    # Reserved, 0: no unit.
    _reserved: horus.Array[horus.u8, 62]
    cell_voltage: horus.Tail[horus.f32, "cell_voltage_count"]


@horus.message
class PointField(horus.Message):
    """This message holds the description of one point entry in the PointCloud2 message format."""

    INT8 = 1
    UINT8 = 2
    FLOAT32 = 7
    FLOAT64 = 8
    # Offset from start of point struct
    offset: horus.u32
    # How many elements in the field
    count: horus.u32
    # Common PointField names are x, y, z, intensity, rgb, rgba
    # Name of field
    name: horus.Text[16]
    # Datatype enumeration, see above
    datatype: horus.u8
    # Reserved, 0: no unit.
    _reserved: horus.Array[horus.u8, 3]


@horus.message
class PointCloud2(horus.Framed):
    """This message holds a collection of N-dimensional points"""

    # Time of the data, by CLOCK_REALTIME: nanoseconds.
    #
    # Time of sensor data acquisition, and the coordinate frame ID (for 3d points).
    timestamp_ns: horus.u64
    # 2D structure of the point cloud.
    height: horus.u32
    width: horus.u32
    # Describes the channels and their layout in the binary data blob.
    fields: horus.Array[PointField, 16]
    # Elements of `fields` in use, from the first: count.
    fields_count: horus.u32
    # Length of a point in bytes
    point_step: horus.u32
    # Length of a row in bytes
    row_step: horus.u32
    # Number of `data` that follow: count.
    #
    # Actual point data, size is (row_step*height)
    data_count: horus.u32
    # Frame of the data: text.
    frame_id: horus.Text[32]
    # Is this data bigendian?
    is_bigendian: horus.u8
    # True if there are no invalid points
    is_dense: horus.u8
    # Reserved, 0: no unit.
    _reserved: horus.Array[horus.u8, 62]
    data: horus.Tail[horus.u8, "data_count"]


@horus.message
class Joy(horus.Framed):
    """Reports the state of a joystick's axes and buttons."""

    # Time of the data, by CLOCK_REALTIME: nanoseconds.
    #
    # The timestamp is the time at which data is received from the joystick.
    timestamp_ns: horus.u64
    # Number of `axes` that follow: count.
    #
    # The axes measurements from a joystick.
    axes_count: horus.u32
    # The buttons measurements from a joystick.
    buttons: horus.Array[horus.i32, 16]
    # Elements of `buttons` in use, from the first: count.
    buttons_count: horus.u32
    # Frame of the data: text.
    frame_id: horus.Text[32]
    # Reserved, 0: no unit.
    _reserved: horus.Array[horus.u8, 16]
    axes: horus.Tail[horus.f32, "axes_count"]


@horus.message
class Leg(horus.Message):
    """State of one leg, with every kind of field.

    \\\"Quotes\\\", `code`, * / and a backslash at the end

    The constant `RATE` is 0.5. Of the gait: hertz.

    The constant `PREFIX` is leg.
    """

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
    phases_ns: horus.Array[horus.i64, 2]
    foot: Point
    joints: horus.Array[Quaternion, 2]
    lowest: horus.i64 = -9223372036854775808
    highest: horus.u64 = 18446744073709551615
    axis: horus.Array[horus.f64, 3] = [0.0, 0.0, 1.0]
    gain: horus.f32 = 1.5
    # At the foot: newtons.
    forces: horus.Array[horus.f32, 8] = [1.5, 2.0] + [0] * 6
    # Elements of `forces` in use, from the first: count.
    forces_count: horus.u32 = 2
    # Elements of `notes` in use, from the first: count.
    notes_count: horus.u32
    steps: horus.i16 = 127
    # Frame of the data: text.
    frame_id: horus.Text[32]
    # As on the label
    name: horus.Text[12] = "left #1"
    # A word that C++ and Python reserve
    class_: horus.u8 = 1
    # And one that Rust does
    type: horus.u8
    letter: horus.u8 = 65
    trim: horus.i8 = -128
    notes: horus.Array[horus.Text[5], 2]


@horus.message
class Sonar(horus.Framed):
    """Echoes of one ping."""

    # Time of the data, by CLOCK_REALTIME: nanoseconds.
    timestamp_ns: horus.u64
    # Of the ping
    origin: Point
    # Number of `strengths` that follow: count.
    #
    # Strength of each echo
    strengths_count: horus.u32
    # Of sound: metres per second.
    speed: horus.f32 = 343.0
    # Frame of the data: text.
    frame_id: horus.Text[32]
    # Reserved, 0: no unit.
    _reserved: horus.Array[horus.u8, 56]
    strengths: horus.Tail[horus.u16, "strengths_count"]
