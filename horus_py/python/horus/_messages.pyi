# @generated from the table of fields in horus_core/src/message/.
"""The standard messages."""

import builtins
from collections.abc import Iterable
from typing import ClassVar, Self, final

import numpy as np
import numpy.typing as npt

from ._horus import Framed, Message

__all__ = [
    "Accel",
    "AudioFrame",
    "BatteryState",
    "BoundingBox2D",
    "BoundingBox3D",
    "Bytes",
    "CameraInfo",
    "Clock",
    "CmdVel",
    "CompressedImage",
    "CostMap",
    "DepthImage",
    "Detection",
    "Detection3D",
    "DiagnosticStatus",
    "DiagnosticValue",
    "DifferentialDriveCommand",
    "EmergencyStop",
    "FluidPressure",
    "ForceCommand",
    "GoalResult",
    "Heartbeat",
    "Illuminance",
    "Image",
    "ImpedanceParameters",
    "Imu",
    "JointCommand",
    "JointState",
    "JoystickInput",
    "KeyboardInput",
    "Landmark",
    "LaserScan",
    "MagneticField",
    "MapMetaData",
    "MotorCommand",
    "NavGoal",
    "NavPath",
    "NavSatFix",
    "NodeCommand",
    "NodeEvent",
    "NodeHeartbeat",
    "NodeMetrics",
    "OccupancyGrid",
    "Odometry",
    "PidConfig",
    "PlaneDetection",
    "Point3",
    "PointCloud",
    "PointField",
    "Pose2D",
    "Pose3D",
    "PoseStamped",
    "PoseWithCovariance",
    "Quaternion",
    "RangeSensor",
    "RegionOfInterest",
    "ResourceUsage",
    "SafetyStatus",
    "SchedulerStatus",
    "SegmentationMask",
    "ServoCommand",
    "TactileArray",
    "Temperature",
    "Tensor",
    "TimeReference",
    "TrackedObject",
    "TrajectoryPoint",
    "Transform",
    "TransformStamped",
    "Twist",
    "TwistWithCovariance",
    "Vector3",
    "Waypoint",
    "Wrench",
    "WrenchStamped",
]

@final
class Point3(Message):
    """A point in space, as `geometry_msgs/Point`. Without a time: for use inside other messages,
    and for computing.
    """
    def __new__(
        cls,
        *,
        x: float = ...,
        y: float = ...,
        z: float = ...,
    ) -> Self: ...
    x: float
    """Metres."""
    y: float
    """Metres."""
    z: float
    """Metres."""

@final
class Vector3(Message):
    """A direction with a length, as `geometry_msgs/Vector3`. Without a time: for use inside other
    messages, and for computing.
    """
    def __new__(
        cls,
        *,
        x: float = ...,
        y: float = ...,
        z: float = ...,
    ) -> Self: ...
    x: float
    """Along x: of its use."""
    y: float
    """Along y: of its use."""
    z: float
    """Along z: of its use."""

@final
class Quaternion(Message):
    """A rotation in space as a unit quaternion, as `geometry_msgs/Quaternion`. Without a time: for
    use inside other messages, and for computing.
    """
    def __new__(
        cls,
        *,
        x: float = ...,
        y: float = ...,
        z: float = ...,
        w: float = ...,
    ) -> Self: ...
    x: float
    """sin(half the angle) times the axis along x: no unit."""
    y: float
    """sin(half the angle) times the axis along y: no unit."""
    z: float
    """sin(half the angle) times the axis along z: no unit."""
    w: float
    """cos(half the angle): no unit."""

@final
class Transform(Message):
    """Where one frame is in another, as `geometry_msgs/Transform`: takes what is given in the
    child's frame to the parent's, by rotating and then translating. Without names and time: for
    computing; `TransformStamped` is what is sent.
    """
    def __new__(
        cls,
        *,
        translation: Iterable[float] | npt.NDArray[np.float64] = ...,
        rotation: Iterable[float] | npt.NDArray[np.float64] = ...,
    ) -> Self: ...
    @property
    def translation(self) -> npt.NDArray[np.float64]:
        """The child's origin in the parent's frame, x, y, z: metres."""
    @translation.setter
    def translation(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def rotation(self) -> npt.NDArray[np.float64]:
        """Unit quaternion x, y, z, w: no unit."""
    @rotation.setter
    def rotation(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...

@final
class Pose2D(Message):
    """Position and heading in the plane, as `geometry_msgs/Pose2D`; in the frame that the topic is
    about.
    """
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        x: float = ...,
        y: float = ...,
        theta: float = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was measured or commanded, by CLOCK_REALTIME: nanoseconds."""
    x: float
    """Metres."""
    y: float
    """Metres."""
    theta: float
    """Heading from the x axis, counter-clockwise: radians."""

@final
class Pose3D(Message):
    """Position and orientation in space, as `geometry_msgs/Pose` with a time; in the frame that
    the topic is about. One cache line.
    """
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        position: Iterable[float] | npt.NDArray[np.float64] = ...,
        orientation: Iterable[float] | npt.NDArray[np.float64] = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was measured or commanded, by CLOCK_REALTIME: nanoseconds."""
    @property
    def position(self) -> npt.NDArray[np.float64]:
        """x, y, z: metres."""
    @position.setter
    def position(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def orientation(self) -> npt.NDArray[np.float64]:
        """Unit quaternion x, y, z, w: no unit."""
    @orientation.setter
    def orientation(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...

@final
class PoseStamped(Message):
    """Position and orientation in a named frame, as `geometry_msgs/PoseStamped`."""
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        frame_id: str | builtins.bytes = ...,
        position: Iterable[float] | npt.NDArray[np.float64] = ...,
        orientation: Iterable[float] | npt.NDArray[np.float64] = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was measured or commanded, by CLOCK_REALTIME: nanoseconds."""
    @property
    def frame_id(self) -> str:
        """The frame it is given in: text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    @property
    def position(self) -> npt.NDArray[np.float64]:
        """x, y, z: metres."""
    @position.setter
    def position(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def orientation(self) -> npt.NDArray[np.float64]:
        """Unit quaternion x, y, z, w: no unit."""
    @orientation.setter
    def orientation(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...

@final
class PoseWithCovariance(Message):
    """An estimated pose, as `geometry_msgs/PoseWithCovariance` with a time; in the frame that the
    topic is about, usually `map`.

    The covariance is row-major 6 × 6 over (x, y, z, rotation about x, y, z); all zeros means
    unknown.
    """
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        position: Iterable[float] | npt.NDArray[np.float64] = ...,
        orientation: Iterable[float] | npt.NDArray[np.float64] = ...,
        covariance: Iterable[float] | npt.NDArray[np.float64] = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When the pose held, by CLOCK_REALTIME: nanoseconds."""
    @property
    def position(self) -> npt.NDArray[np.float64]:
        """x, y, z: metres."""
    @position.setter
    def position(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def orientation(self) -> npt.NDArray[np.float64]:
        """Unit quaternion x, y, z, w: no unit."""
    @orientation.setter
    def orientation(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def covariance(self) -> npt.NDArray[np.float64]:
        """Of position, of both, of rotation: m², m·rad, rad²."""
    @covariance.setter
    def covariance(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...

@final
class Twist(Message):
    """Velocity of a body in space, as `geometry_msgs/TwistStamped`; in the body's own frame."""
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        linear: Iterable[float] | npt.NDArray[np.float64] = ...,
        angular: Iterable[float] | npt.NDArray[np.float64] = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was measured or commanded, by CLOCK_REALTIME: nanoseconds."""
    @property
    def linear(self) -> npt.NDArray[np.float64]:
        """Along x, y, z: metres per second."""
    @linear.setter
    def linear(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def angular(self) -> npt.NDArray[np.float64]:
        """About x, y, z: radians per second."""
    @angular.setter
    def angular(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...

@final
class TwistWithCovariance(Message):
    """An estimated velocity, as `geometry_msgs/TwistWithCovariance` with a time; in the body's own
    frame.

    The covariance is row-major 6 × 6 over (velocity along x, y, z, and about x, y, z); all
    zeros means unknown.
    """
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        linear: Iterable[float] | npt.NDArray[np.float64] = ...,
        angular: Iterable[float] | npt.NDArray[np.float64] = ...,
        covariance: Iterable[float] | npt.NDArray[np.float64] = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When the velocity held, by CLOCK_REALTIME: nanoseconds."""
    @property
    def linear(self) -> npt.NDArray[np.float64]:
        """Along x, y, z: metres per second."""
    @linear.setter
    def linear(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def angular(self) -> npt.NDArray[np.float64]:
        """About x, y, z: radians per second."""
    @angular.setter
    def angular(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def covariance(self) -> npt.NDArray[np.float64]:
        """Of linear, of both, of angular velocity: m²/s², m·rad/s², rad²/s²."""
    @covariance.setter
    def covariance(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...

@final
class Accel(Message):
    """Acceleration of a body in space, as `geometry_msgs/AccelStamped`; in the body's own frame."""
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        linear: Iterable[float] | npt.NDArray[np.float64] = ...,
        angular: Iterable[float] | npt.NDArray[np.float64] = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was measured or commanded, by CLOCK_REALTIME: nanoseconds."""
    @property
    def linear(self) -> npt.NDArray[np.float64]:
        """Along x, y, z: m/s²."""
    @linear.setter
    def linear(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def angular(self) -> npt.NDArray[np.float64]:
        """About x, y, z: rad/s²."""
    @angular.setter
    def angular(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...

@final
class TransformStamped(Message):
    """Where the frame `child_frame_id` is in the frame `frame_id`, as
    `geometry_msgs/TransformStamped`: takes what is given in the child's frame to the parent's.
    """
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        frame_id: str | builtins.bytes = ...,
        child_frame_id: str | builtins.bytes = ...,
        translation: Iterable[float] | npt.NDArray[np.float64] = ...,
        rotation: Iterable[float] | npt.NDArray[np.float64] = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it held, by CLOCK_REALTIME: nanoseconds."""
    @property
    def frame_id(self) -> str:
        """The parent, as `odom`: text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    @property
    def child_frame_id(self) -> str:
        """The child, as `base_link`: text."""
    @child_frame_id.setter
    def child_frame_id(self, value: str | builtins.bytes) -> None: ...
    @property
    def translation(self) -> npt.NDArray[np.float64]:
        """The child's origin in the parent's frame, x, y, z: metres."""
    @translation.setter
    def translation(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def rotation(self) -> npt.NDArray[np.float64]:
        """Unit quaternion x, y, z, w: no unit."""
    @rotation.setter
    def rotation(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...

@final
class Wrench(Message):
    """Force and torque on a body, as `geometry_msgs/Wrench` with a time; in the body's own frame,
    or that of the sensor, and about its origin.
    """
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        force: Iterable[float] | npt.NDArray[np.float64] = ...,
        torque: Iterable[float] | npt.NDArray[np.float64] = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was measured or commanded, by CLOCK_REALTIME: nanoseconds."""
    @property
    def force(self) -> npt.NDArray[np.float64]:
        """Along x, y, z: newtons."""
    @force.setter
    def force(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def torque(self) -> npt.NDArray[np.float64]:
        """About x, y, z: N·m."""
    @torque.setter
    def torque(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...

@final
class WrenchStamped(Message):
    """Force and torque in a named frame and about its origin, as `geometry_msgs/WrenchStamped`."""
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        frame_id: str | builtins.bytes = ...,
        force: Iterable[float] | npt.NDArray[np.float64] = ...,
        torque: Iterable[float] | npt.NDArray[np.float64] = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was measured or commanded, by CLOCK_REALTIME: nanoseconds."""
    @property
    def frame_id(self) -> str:
        """The frame it is given in: text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    @property
    def force(self) -> npt.NDArray[np.float64]:
        """Along x, y, z: newtons."""
    @force.setter
    def force(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def torque(self) -> npt.NDArray[np.float64]:
        """About x, y, z: N·m."""
    @torque.setter
    def torque(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...

@final
class Imu(Message):
    """One sample of an inertial measurement unit, as `sensor_msgs/Imu`.

    Rates and accelerations are in the frame of the unit; the orientation is that of this frame
    in one with x east, y north and z up (REP-103).
    Covariances are row-major 3 × 3 over x, y, z. All zeros means unknown; −1 as the first
    element means that the unit does not provide this quantity.
    """
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        orientation: Iterable[float] | npt.NDArray[np.float64] = ...,
        orientation_covariance: Iterable[float] | npt.NDArray[np.float64] = ...,
        angular_velocity: Iterable[float] | npt.NDArray[np.float64] = ...,
        angular_velocity_covariance: Iterable[float] | npt.NDArray[np.float64] = ...,
        linear_acceleration: Iterable[float] | npt.NDArray[np.float64] = ...,
        linear_acceleration_covariance: Iterable[float] | npt.NDArray[np.float64] = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was sampled, by CLOCK_REALTIME: nanoseconds."""
    @property
    def orientation(self) -> npt.NDArray[np.float64]:
        """Unit quaternion x, y, z, w: no unit."""
    @orientation.setter
    def orientation(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def orientation_covariance(self) -> npt.NDArray[np.float64]:
        """Of rotations about x, y, z: rad²."""
    @orientation_covariance.setter
    def orientation_covariance(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def angular_velocity(self) -> npt.NDArray[np.float64]:
        """About x, y, z: radians per second."""
    @angular_velocity.setter
    def angular_velocity(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def angular_velocity_covariance(self) -> npt.NDArray[np.float64]:
        """Of `angular_velocity`: rad²/s²."""
    @angular_velocity_covariance.setter
    def angular_velocity_covariance(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def linear_acceleration(self) -> npt.NDArray[np.float64]:
        """Along x, y, z, with gravity, as accelerometers report it: m/s²."""
    @linear_acceleration.setter
    def linear_acceleration(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def linear_acceleration_covariance(self) -> npt.NDArray[np.float64]:
        """Of `linear_acceleration`: m²/s⁴."""
    @linear_acceleration_covariance.setter
    def linear_acceleration_covariance(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...

@final
class LaserScan(Message):
    """One sweep of a planar range finder, as `sensor_msgs/LaserScan` without intensities.

    Angles are about z of the sensor, counter-clockwise, 0 along its x. After REP-117 a range of
    +∞ means that nothing was seen, −∞ that something is too close, NaN that the measurement
    failed.
    """
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        angle_min: float = ...,
        angle_max: float = ...,
        angle_increment: float = ...,
        time_increment: float = ...,
        scan_time: float = ...,
        range_min: float = ...,
        range_max: float = ...,
        count: int = ...,
        ranges: Iterable[float] | npt.NDArray[np.float32] = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When the first ray was measured, by CLOCK_REALTIME: nanoseconds."""
    angle_min: float
    """Of the first ray: radians."""
    angle_max: float
    """Of the last ray: radians."""
    angle_increment: float
    """From one ray to the next: radians."""
    time_increment: float
    """From one ray to the next: seconds."""
    scan_time: float
    """From one sweep to the next: seconds."""
    range_min: float
    """Shorter ranges are not valid: metres."""
    range_max: float
    """Longer ranges are not valid: metres."""
    count: int
    """How many of `ranges` were measured, from the first: count."""
    @property
    def ranges(self) -> npt.NDArray[np.float32]:
        """Distances in order of their angles: metres."""
    @ranges.setter
    def ranges(self, value: Iterable[float] | npt.NDArray[np.float32]) -> None: ...

@final
class RangeSensor(Message):
    """The distance to the nearest thing in a cone about the sensor's x axis, as
    `sensor_msgs/Range`.

    After REP-117 a range of +∞ means that nothing was seen, −∞ that something is too close, NaN
    that the measurement failed.
    """
    ULTRASOUND: ClassVar[int]
    INFRARED: ClassVar[int]
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        radiation_type: int = ...,
        _reserved: Iterable[int] | npt.NDArray[np.uint8] = ...,
        field_of_view: float = ...,
        min_range: float = ...,
        max_range: float = ...,
        range: float = ...,
        variance: float = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was measured, by CLOCK_REALTIME: nanoseconds."""
    radiation_type: int
    """One of the constants of this type, as `ULTRASOUND`: no unit."""
    @property
    def _reserved(self) -> npt.NDArray[np.uint8]:
        """0: no unit."""
    @_reserved.setter
    def _reserved(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...
    field_of_view: float
    """Angle at the tip of the cone: radians."""
    min_range: float
    """Shorter ranges are not valid: metres."""
    max_range: float
    """Longer ranges are not valid: metres."""
    range: float
    """Distance: metres."""
    variance: float
    """Of `range`, 0 if unknown: m²."""

@final
class JointState(Message):
    """Measured state of up to 16 joints, as `sensor_msgs/JointState`.

    Element *i* of every array belongs to joint *i*. The units are those of a revolute joint;
    for a prismatic one read metres for radians, newtons for newton-metres. The names are in
    each message, as in ROS: who reads it then needs no other topic, and no order is agreed on.
    """
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        count: int = ...,
        _reserved: int = ...,
        name: Iterable[str | builtins.bytes] = ...,
        position: Iterable[float] | npt.NDArray[np.float64] = ...,
        velocity: Iterable[float] | npt.NDArray[np.float64] = ...,
        effort: Iterable[float] | npt.NDArray[np.float64] = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was measured, by CLOCK_REALTIME: nanoseconds."""
    count: int
    """How many joints there are, from the first: count."""
    _reserved: int
    """0: no unit."""
    @property
    def name(self) -> tuple[str, ...]:
        """Of the joints, as `left_wrist_roll`: text."""
    @name.setter
    def name(self, value: Iterable[str | builtins.bytes]) -> None: ...
    @property
    def position(self) -> npt.NDArray[np.float64]:
        """Radians."""
    @position.setter
    def position(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def velocity(self) -> npt.NDArray[np.float64]:
        """Radians per second."""
    @velocity.setter
    def velocity(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def effort(self) -> npt.NDArray[np.float64]:
        """Torque: N·m."""
    @effort.setter
    def effort(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...

@final
class BatteryState(Message):
    """State of a battery, as `sensor_msgs/BatteryState`. NaN is what is not measured."""
    POWER_SUPPLY_STATUS_UNKNOWN: ClassVar[int]
    POWER_SUPPLY_STATUS_CHARGING: ClassVar[int]
    POWER_SUPPLY_STATUS_DISCHARGING: ClassVar[int]
    POWER_SUPPLY_STATUS_NOT_CHARGING: ClassVar[int]
    POWER_SUPPLY_STATUS_FULL: ClassVar[int]
    POWER_SUPPLY_HEALTH_UNKNOWN: ClassVar[int]
    POWER_SUPPLY_HEALTH_GOOD: ClassVar[int]
    POWER_SUPPLY_HEALTH_OVERHEAT: ClassVar[int]
    POWER_SUPPLY_HEALTH_DEAD: ClassVar[int]
    POWER_SUPPLY_HEALTH_OVERVOLTAGE: ClassVar[int]
    POWER_SUPPLY_HEALTH_UNSPEC_FAILURE: ClassVar[int]
    POWER_SUPPLY_HEALTH_COLD: ClassVar[int]
    POWER_SUPPLY_HEALTH_WATCHDOG_TIMER_EXPIRE: ClassVar[int]
    POWER_SUPPLY_HEALTH_SAFETY_TIMER_EXPIRE: ClassVar[int]
    POWER_SUPPLY_TECHNOLOGY_UNKNOWN: ClassVar[int]
    POWER_SUPPLY_TECHNOLOGY_NIMH: ClassVar[int]
    POWER_SUPPLY_TECHNOLOGY_LION: ClassVar[int]
    POWER_SUPPLY_TECHNOLOGY_LIPO: ClassVar[int]
    POWER_SUPPLY_TECHNOLOGY_LIFE: ClassVar[int]
    POWER_SUPPLY_TECHNOLOGY_NICD: ClassVar[int]
    POWER_SUPPLY_TECHNOLOGY_LIMN: ClassVar[int]
    POWER_SUPPLY_TECHNOLOGY_TERNARY: ClassVar[int]
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        voltage: float = ...,
        temperature: float = ...,
        current: float = ...,
        charge: float = ...,
        capacity: float = ...,
        design_capacity: float = ...,
        percentage: float = ...,
        power_supply_status: int = ...,
        power_supply_health: int = ...,
        power_supply_technology: int = ...,
        present: int = ...,
        cell_count: int = ...,
        _reserved: int = ...,
        cell_voltage: Iterable[float] | npt.NDArray[np.float32] = ...,
        cell_temperature: Iterable[float] | npt.NDArray[np.float32] = ...,
        location: str | builtins.bytes = ...,
        serial_number: str | builtins.bytes = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was measured, by CLOCK_REALTIME: nanoseconds."""
    voltage: float
    """Volts."""
    temperature: float
    """Degrees Celsius."""
    current: float
    """Negative when discharging: amperes."""
    charge: float
    """Left now: ampere-hours."""
    capacity: float
    """When full, as it is by now: ampere-hours."""
    design_capacity: float
    """When full, as it was new: ampere-hours."""
    percentage: float
    """Charge, 0 to 1: no unit."""
    power_supply_status: int
    """One of the `POWER_SUPPLY_STATUS_` constants: no unit."""
    power_supply_health: int
    """One of the `POWER_SUPPLY_HEALTH_` constants: no unit."""
    power_supply_technology: int
    """One of the `POWER_SUPPLY_TECHNOLOGY_` constants: no unit."""
    present: int
    """0, or 1 if there is a battery: no unit."""
    cell_count: int
    """How many cells are measured, from the first: count."""
    _reserved: int
    """0: no unit."""
    @property
    def cell_voltage(self) -> npt.NDArray[np.float32]:
        """Volts."""
    @cell_voltage.setter
    def cell_voltage(self, value: Iterable[float] | npt.NDArray[np.float32]) -> None: ...
    @property
    def cell_temperature(self) -> npt.NDArray[np.float32]:
        """Degrees Celsius."""
    @cell_temperature.setter
    def cell_temperature(self, value: Iterable[float] | npt.NDArray[np.float32]) -> None: ...
    @property
    def location(self) -> str:
        """Where it is, as the name of its slot: text."""
    @location.setter
    def location(self, value: str | builtins.bytes) -> None: ...
    @property
    def serial_number(self) -> str:
        """As printed on it: text."""
    @serial_number.setter
    def serial_number(self, value: str | builtins.bytes) -> None: ...

@final
class NavSatFix(Message):
    """A fix of a satellite navigation receiver by WGS 84, as `sensor_msgs/NavSatFix`.

    The covariance is row-major 3 × 3 over east, north, up. `position_covariance_type`, in ROS
    the last field, stands where there would be padding.
    """
    STATUS_UNKNOWN: ClassVar[int]
    STATUS_NO_FIX: ClassVar[int]
    STATUS_FIX: ClassVar[int]
    STATUS_SBAS_FIX: ClassVar[int]
    STATUS_GBAS_FIX: ClassVar[int]
    SERVICE_UNKNOWN: ClassVar[int]
    SERVICE_GPS: ClassVar[int]
    SERVICE_GLONASS: ClassVar[int]
    SERVICE_COMPASS: ClassVar[int]
    SERVICE_GALILEO: ClassVar[int]
    COVARIANCE_TYPE_UNKNOWN: ClassVar[int]
    COVARIANCE_TYPE_APPROXIMATED: ClassVar[int]
    COVARIANCE_TYPE_DIAGONAL_KNOWN: ClassVar[int]
    COVARIANCE_TYPE_KNOWN: ClassVar[int]
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        status: int = ...,
        position_covariance_type: int = ...,
        service: int = ...,
        _reserved: int = ...,
        latitude: float = ...,
        longitude: float = ...,
        altitude: float = ...,
        position_covariance: Iterable[float] | npt.NDArray[np.float64] = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was measured, by CLOCK_REALTIME: nanoseconds."""
    status: int
    """One of the `STATUS_` constants: no unit."""
    position_covariance_type: int
    """One of the `COVARIANCE_` constants: no unit."""
    service: int
    """The `SERVICE_` constants of what is received, added: no unit."""
    _reserved: int
    """0: no unit."""
    latitude: float
    """North is positive: degrees."""
    longitude: float
    """East is positive: degrees."""
    altitude: float
    """Above the ellipsoid, NaN if unknown: metres."""
    @property
    def position_covariance(self) -> npt.NDArray[np.float64]:
        """Of the position to the east, north and up: m²."""
    @position_covariance.setter
    def position_covariance(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...

@final
class MagneticField(Message):
    """The magnetic field at a sensor and in its frame, as `sensor_msgs/MagneticField`.

    The covariance is row-major 3 × 3 over x, y, z; all zeros means unknown.
    """
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        magnetic_field: Iterable[float] | npt.NDArray[np.float64] = ...,
        magnetic_field_covariance: Iterable[float] | npt.NDArray[np.float64] = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was measured, by CLOCK_REALTIME: nanoseconds."""
    @property
    def magnetic_field(self) -> npt.NDArray[np.float64]:
        """Along x, y, z, NaN for an axis that is not measured: tesla."""
    @magnetic_field.setter
    def magnetic_field(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def magnetic_field_covariance(self) -> npt.NDArray[np.float64]:
        """Of `magnetic_field`: T²."""
    @magnetic_field_covariance.setter
    def magnetic_field_covariance(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...

@final
class Temperature(Message):
    """A temperature, as `sensor_msgs/Temperature`."""
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        temperature: float = ...,
        variance: float = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was measured, by CLOCK_REALTIME: nanoseconds."""
    temperature: float
    """Degrees Celsius."""
    variance: float
    """Of `temperature`, 0 if unknown: °C²."""

@final
class FluidPressure(Message):
    """The pressure of air or water, not of a tank or a tyre, as `sensor_msgs/FluidPressure`."""
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        fluid_pressure: float = ...,
        variance: float = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was measured, by CLOCK_REALTIME: nanoseconds."""
    fluid_pressure: float
    """Absolute: pascals."""
    variance: float
    """Of `fluid_pressure`, 0 if unknown: Pa²."""

@final
class Illuminance(Message):
    """How bright it is, as `sensor_msgs/Illuminance`."""
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        illuminance: float = ...,
        variance: float = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was measured, by CLOCK_REALTIME: nanoseconds."""
    illuminance: float
    """Lux."""
    variance: float
    """Of `illuminance`, 0 if unknown: lx²."""

@final
class TactileArray(Message):
    """Pressure on the taxels of a tactile sensor, row by row, and the force that they add up to.
    No ROS type.
    """
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        frame_id: str | builtins.bytes = ...,
        rows: int = ...,
        columns: int = ...,
        spacing: float = ...,
        force: Iterable[float] | npt.NDArray[np.float32] = ...,
        pressure: Iterable[float] | npt.NDArray[np.float32] = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was measured, by CLOCK_REALTIME: nanoseconds."""
    @property
    def frame_id(self) -> str:
        """The frame of the pad: x along its rows, z out of it: text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    rows: int
    """How many rows there are, along y: count."""
    columns: int
    """How many taxels a row has, along x: count."""
    spacing: float
    """From one taxel to the next: metres."""
    @property
    def force(self) -> npt.NDArray[np.float32]:
        """On the whole pad along x, y, z, NaN if not measured: newtons."""
    @force.setter
    def force(self, value: Iterable[float] | npt.NDArray[np.float32]) -> None: ...
    @property
    def pressure(self) -> npt.NDArray[np.float32]:
        """Row-major, `rows` times `columns` of them: pascals."""
    @pressure.setter
    def pressure(self, value: Iterable[float] | npt.NDArray[np.float32]) -> None: ...

@final
class CmdVel(Message):
    """Velocity command of a robot that moves in the plane: `linear.x` and `angular.z` of
    `geometry_msgs/Twist`, in single precision; in the robot's own frame.
    """
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        linear: float = ...,
        angular: float = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was commanded, by CLOCK_REALTIME: nanoseconds."""
    linear: float
    """Forward: metres per second."""
    angular: float
    """Counter-clockwise: radians per second."""

@final
class JointCommand(Message):
    """Set-points of up to 16 joints, with the names of `trajectory_msgs/JointTrajectoryPoint`.

    Element *i* of every array belongs to joint *i*; `mode` says which of them count. The units
    are those of a revolute joint; for a prismatic one read metres for radians, newtons for
    newton-metres.
    """
    MODE_DISABLED: ClassVar[int]
    MODE_POSITION: ClassVar[int]
    MODE_VELOCITY: ClassVar[int]
    MODE_EFFORT: ClassVar[int]
    MODE_IMPEDANCE: ClassVar[int]
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        count: int = ...,
        _reserved: int = ...,
        mode: Iterable[int] | npt.NDArray[np.uint8] = ...,
        position: Iterable[float] | npt.NDArray[np.float64] = ...,
        velocity: Iterable[float] | npt.NDArray[np.float64] = ...,
        acceleration: Iterable[float] | npt.NDArray[np.float64] = ...,
        effort: Iterable[float] | npt.NDArray[np.float64] = ...,
        stiffness: Iterable[float] | npt.NDArray[np.float64] = ...,
        damping: Iterable[float] | npt.NDArray[np.float64] = ...,
        effort_max: Iterable[float] | npt.NDArray[np.float64] = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was commanded, by CLOCK_REALTIME: nanoseconds."""
    count: int
    """How many joints are commanded, from the first: count."""
    _reserved: int
    """0: no unit."""
    @property
    def mode(self) -> npt.NDArray[np.uint8]:
        """One of the `MODE_` constants; any other number means `MODE_DISABLED`: no unit."""
    @mode.setter
    def mode(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...
    @property
    def position(self) -> npt.NDArray[np.float64]:
        """Radians."""
    @position.setter
    def position(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def velocity(self) -> npt.NDArray[np.float64]:
        """Radians per second."""
    @velocity.setter
    def velocity(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def acceleration(self) -> npt.NDArray[np.float64]:
        """Feed-forward: rad/s²."""
    @acceleration.setter
    def acceleration(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def effort(self) -> npt.NDArray[np.float64]:
        """Torque, or feed-forward torque: N·m."""
    @effort.setter
    def effort(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def stiffness(self) -> npt.NDArray[np.float64]:
        """Gain of the position error, often called kp: N·m/rad."""
    @stiffness.setter
    def stiffness(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def damping(self) -> npt.NDArray[np.float64]:
        """Gain of the velocity error, often called kd: N·m·s/rad."""
    @damping.setter
    def damping(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def effort_max(self) -> npt.NDArray[np.float64]:
        """The drive limits the total torque to ± this; 0 leaves the limit to the drive: N·m."""
    @effort_max.setter
    def effort_max(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...

@final
class MotorCommand(Message):
    """Set-point of one motor. No ROS type: the fields and modes of `JointCommand` for a single
    joint, and the duty cycle of drives without a sensor.
    """
    MODE_DISABLED: ClassVar[int]
    MODE_POSITION: ClassVar[int]
    MODE_VELOCITY: ClassVar[int]
    MODE_EFFORT: ClassVar[int]
    MODE_DUTY_CYCLE: ClassVar[int]
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        motor_id: int = ...,
        mode: int = ...,
        enable: int = ...,
        _reserved: int = ...,
        position: float = ...,
        velocity: float = ...,
        effort: float = ...,
        duty_cycle: float = ...,
        velocity_max: float = ...,
        acceleration_max: float = ...,
        effort_max: float = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was commanded, by CLOCK_REALTIME: nanoseconds."""
    motor_id: int
    """Which motor, as its node on the bus: no unit."""
    mode: int
    """One of the `MODE_` constants; any other number means `MODE_DISABLED`: no unit."""
    enable: int
    """0, or 1 to power the drive: no unit."""
    _reserved: int
    """0: no unit."""
    position: float
    """Radians."""
    velocity: float
    """Radians per second."""
    effort: float
    """Torque, or feed-forward torque: N·m."""
    duty_cycle: float
    """Share of the supply voltage, −1 to 1: no unit."""
    velocity_max: float
    """The drive turns no faster; 0 leaves the limit to the drive: radians per second."""
    acceleration_max: float
    """The drive accelerates no harder; 0 leaves the limit to the drive: rad/s²."""
    effort_max: float
    """The drive pushes no harder; 0 leaves the limit to the drive: N·m."""

@final
class ServoCommand(Message):
    """Set-point of a hobby servo. No ROS type."""
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        servo_id: int = ...,
        enable: int = ...,
        _reserved: Iterable[int] | npt.NDArray[np.uint8] = ...,
        position: float = ...,
        velocity_max: float = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was commanded, by CLOCK_REALTIME: nanoseconds."""
    servo_id: int
    """Which servo, as its channel: no unit."""
    enable: int
    """0 to let it go limp, 1 to hold: no unit."""
    @property
    def _reserved(self) -> npt.NDArray[np.uint8]:
        """0: no unit."""
    @_reserved.setter
    def _reserved(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...
    position: float
    """From the middle: radians."""
    velocity_max: float
    """0 for as fast as it can: radians per second."""

@final
class DifferentialDriveCommand(Message):
    """Wheel speeds of a robot with two driven wheels. No ROS type: what
    `diff_drive_controller` of `ros2_control` sends to its wheels.
    """
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        left: float = ...,
        right: float = ...,
        acceleration_max: float = ...,
        enable: int = ...,
        _reserved: Iterable[int] | npt.NDArray[np.uint8] = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was commanded, by CLOCK_REALTIME: nanoseconds."""
    left: float
    """Left wheel, forward: radians per second."""
    right: float
    """Right wheel, forward: radians per second."""
    acceleration_max: float
    """The wheels accelerate no harder; 0 leaves the limit to the drive: rad/s²."""
    enable: int
    """0, or 1 to power the drives: no unit."""
    @property
    def _reserved(self) -> npt.NDArray[np.uint8]:
        """0: no unit."""
    @_reserved.setter
    def _reserved(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...

@final
class PidConfig(Message):
    """Gains and limits of a PID controller: `Pid::Gains` and `AntiWindupStrategy` of
    `control_toolbox` of `ros2_control`.

    `output = p·e + i·∫e dt + d·de/dt`; the units are those of the controller it is for.
    """
    ANTIWINDUP_NONE: ClassVar[int]
    ANTIWINDUP_BACK_CALCULATION: ClassVar[int]
    ANTIWINDUP_CONDITIONAL_INTEGRATION: ClassVar[int]
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        controller_id: int = ...,
        antiwindup: int = ...,
        _reserved: Iterable[int] | npt.NDArray[np.uint8] = ...,
        p: float = ...,
        i: float = ...,
        d: float = ...,
        i_max: float = ...,
        i_min: float = ...,
        u_max: float = ...,
        u_min: float = ...,
        tracking_time_constant: float = ...,
        error_deadband: float = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was set, by CLOCK_REALTIME: nanoseconds."""
    controller_id: int
    """Which controller: no unit."""
    antiwindup: int
    """What keeps the integral from growing while the output is limited, one of the
    `ANTIWINDUP_` constants: no unit.
    """
    @property
    def _reserved(self) -> npt.NDArray[np.uint8]:
        """0: no unit."""
    @_reserved.setter
    def _reserved(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...
    p: float
    """Proportional gain: of its use."""
    i: float
    """Integral gain: of its use."""
    d: float
    """Derivative gain: of its use."""
    i_max: float
    """Most that the integral part adds to the output, +∞ without a limit: of its use."""
    i_min: float
    """Least that the integral part adds to the output, −∞ without a limit: of its use."""
    u_max: float
    """Most that comes out, +∞ without a limit: of its use."""
    u_min: float
    """Least that comes out, −∞ without a limit: of its use."""
    tracking_time_constant: float
    """How fast back calculation unwinds, 0 for the controller's own choice: seconds."""
    error_deadband: float
    """Smaller errors are not integrated: of its use."""

@final
class TrajectoryPoint(Message):
    """Where a body is to be and how it is to move there at one time of a trajectory, as
    `trajectory_msgs/MultiDOFJointTrajectoryPoint` of one body; in the frame that the topic is
    about. For joints: `JointCommand`.
    """
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        position: Iterable[float] | npt.NDArray[np.float64] = ...,
        orientation: Iterable[float] | npt.NDArray[np.float64] = ...,
        linear_velocity: Iterable[float] | npt.NDArray[np.float64] = ...,
        angular_velocity: Iterable[float] | npt.NDArray[np.float64] = ...,
        linear_acceleration: Iterable[float] | npt.NDArray[np.float64] = ...,
        angular_acceleration: Iterable[float] | npt.NDArray[np.float64] = ...,
        time_from_start_ns: int = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When the trajectory begins, by CLOCK_REALTIME: nanoseconds."""
    @property
    def position(self) -> npt.NDArray[np.float64]:
        """x, y, z: metres."""
    @position.setter
    def position(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def orientation(self) -> npt.NDArray[np.float64]:
        """Unit quaternion x, y, z, w: no unit."""
    @orientation.setter
    def orientation(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def linear_velocity(self) -> npt.NDArray[np.float64]:
        """Along x, y, z: metres per second."""
    @linear_velocity.setter
    def linear_velocity(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def angular_velocity(self) -> npt.NDArray[np.float64]:
        """About x, y, z: radians per second."""
    @angular_velocity.setter
    def angular_velocity(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def linear_acceleration(self) -> npt.NDArray[np.float64]:
        """Along x, y, z: m/s²."""
    @linear_acceleration.setter
    def linear_acceleration(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def angular_acceleration(self) -> npt.NDArray[np.float64]:
        """About x, y, z: rad/s²."""
    @angular_acceleration.setter
    def angular_acceleration(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    time_from_start_ns: int
    """When to be there, from `timestamp_ns`: nanoseconds."""

@final
class ForceCommand(Message):
    """Force to apply along some axes of a frame, while the others keep their position: hybrid
    force and position control after Raibert and Craig (1981). No ROS type; force and torque
    as in `geometry_msgs/WrenchStamped`.
    """
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        frame_id: str | builtins.bytes = ...,
        force: Iterable[float] | npt.NDArray[np.float64] = ...,
        torque: Iterable[float] | npt.NDArray[np.float64] = ...,
        force_controlled: Iterable[int] | npt.NDArray[np.uint8] = ...,
        _reserved: Iterable[int] | npt.NDArray[np.uint8] = ...,
        linear_velocity_max: float = ...,
        angular_velocity_max: float = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was commanded, by CLOCK_REALTIME: nanoseconds."""
    @property
    def frame_id(self) -> str:
        """The frame of the task: text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    @property
    def force(self) -> npt.NDArray[np.float64]:
        """To apply to the surroundings along x, y, z: newtons."""
    @force.setter
    def force(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def torque(self) -> npt.NDArray[np.float64]:
        """To apply to the surroundings about x, y, z: N·m."""
    @torque.setter
    def torque(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def force_controlled(self) -> npt.NDArray[np.uint8]:
        """Along x, y, z and about x, y, z, 1 to follow the force, 0 to keep the position: no unit."""
    @force_controlled.setter
    def force_controlled(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...
    @property
    def _reserved(self) -> npt.NDArray[np.uint8]:
        """0: no unit."""
    @_reserved.setter
    def _reserved(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...
    linear_velocity_max: float
    """How fast to go where nothing resists; 0 leaves the limit to the controller: metres per
    second.
    """
    angular_velocity_max: float
    """How fast to turn where nothing resists; 0 leaves the limit to the controller: radians
    per second.
    """

@final
class ImpedanceParameters(Message):
    """How a tool gives way: a spring, a damper and a mass along and about each axis of a frame.
    No ROS type; Hogan's impedance control (1985).

    `force = stiffness · offset + damping · velocity + mass · acceleration`
    """
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        frame_id: str | builtins.bytes = ...,
        linear_stiffness: Iterable[float] | npt.NDArray[np.float64] = ...,
        angular_stiffness: Iterable[float] | npt.NDArray[np.float64] = ...,
        linear_damping: Iterable[float] | npt.NDArray[np.float64] = ...,
        angular_damping: Iterable[float] | npt.NDArray[np.float64] = ...,
        mass: Iterable[float] | npt.NDArray[np.float64] = ...,
        inertia: Iterable[float] | npt.NDArray[np.float64] = ...,
        force_max: float = ...,
        torque_max: float = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was set, by CLOCK_REALTIME: nanoseconds."""
    @property
    def frame_id(self) -> str:
        """The frame of the axes, as the tool's: text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    @property
    def linear_stiffness(self) -> npt.NDArray[np.float64]:
        """Along x, y, z: N/m."""
    @linear_stiffness.setter
    def linear_stiffness(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def angular_stiffness(self) -> npt.NDArray[np.float64]:
        """About x, y, z: N·m/rad."""
    @angular_stiffness.setter
    def angular_stiffness(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def linear_damping(self) -> npt.NDArray[np.float64]:
        """Along x, y, z: N·s/m."""
    @linear_damping.setter
    def linear_damping(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def angular_damping(self) -> npt.NDArray[np.float64]:
        """About x, y, z: N·m·s/rad."""
    @angular_damping.setter
    def angular_damping(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def mass(self) -> npt.NDArray[np.float64]:
        """Along x, y, z; 0 leaves the tool's own: kilograms."""
    @mass.setter
    def mass(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def inertia(self) -> npt.NDArray[np.float64]:
        """About x, y, z; 0 leaves the tool's own: kg·m²."""
    @inertia.setter
    def inertia(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    force_max: float
    """Never push harder; 0 leaves the limit to the controller: newtons."""
    torque_max: float
    """Never turn harder; 0 leaves the limit to the controller: N·m."""

@final
class Odometry(Message):
    """Estimated pose and velocity of a body, as `nav_msgs/Odometry`.

    The pose is in the `odom` frame, the velocity in the body's own frame (REP-105).
    Covariances are row-major 6 × 6 over (x, y, z, rotation about x, y, z); all zeros means
    unknown.
    """
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        position: Iterable[float] | npt.NDArray[np.float64] = ...,
        orientation: Iterable[float] | npt.NDArray[np.float64] = ...,
        pose_covariance: Iterable[float] | npt.NDArray[np.float64] = ...,
        linear: Iterable[float] | npt.NDArray[np.float64] = ...,
        angular: Iterable[float] | npt.NDArray[np.float64] = ...,
        twist_covariance: Iterable[float] | npt.NDArray[np.float64] = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When the pose held, by CLOCK_REALTIME: nanoseconds."""
    @property
    def position(self) -> npt.NDArray[np.float64]:
        """x, y, z: metres."""
    @position.setter
    def position(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def orientation(self) -> npt.NDArray[np.float64]:
        """Unit quaternion x, y, z, w: no unit."""
    @orientation.setter
    def orientation(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def pose_covariance(self) -> npt.NDArray[np.float64]:
        """Of position, of both, of rotation: m², m·rad, rad²."""
    @pose_covariance.setter
    def pose_covariance(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def linear(self) -> npt.NDArray[np.float64]:
        """Along x, y, z of the body: metres per second."""
    @linear.setter
    def linear(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def angular(self) -> npt.NDArray[np.float64]:
        """About x, y, z of the body: radians per second."""
    @angular.setter
    def angular(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def twist_covariance(self) -> npt.NDArray[np.float64]:
        """Of linear, of both, of angular velocity: m²/s², m·rad/s², rad²/s²."""
    @twist_covariance.setter
    def twist_covariance(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...

@final
class NavGoal(Message):
    """Where to drive, as the goal of `nav2_msgs/action/NavigateToPose`, with its tolerances."""
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        goal_id: int = ...,
        frame_id: str | builtins.bytes = ...,
        position: Iterable[float] | npt.NDArray[np.float64] = ...,
        orientation: Iterable[float] | npt.NDArray[np.float64] = ...,
        position_tolerance: float = ...,
        yaw_tolerance: float = ...,
        timeout_ns: int = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was commanded, by CLOCK_REALTIME: nanoseconds."""
    goal_id: int
    """Chosen by the commander, and given back in
    `GoalResult`: no unit.
    """
    @property
    def frame_id(self) -> str:
        """The frame of the pose, as `map`: text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    @property
    def position(self) -> npt.NDArray[np.float64]:
        """x, y, z: metres."""
    @position.setter
    def position(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def orientation(self) -> npt.NDArray[np.float64]:
        """Unit quaternion x, y, z, w: no unit."""
    @orientation.setter
    def orientation(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    position_tolerance: float
    """Near enough; 0 leaves it to the navigation: metres."""
    yaw_tolerance: float
    """Turned well enough; 0 leaves it to the navigation: radians."""
    timeout_ns: int
    """To give up after; 0 is never: nanoseconds."""

@final
class GoalResult(Message):
    """What became of a `NavGoal`, while it is followed and afterwards: the status of
    `action_msgs/GoalStatus` with the result and feedback of `nav2_msgs/action/NavigateToPose`.
    """
    STATUS_UNKNOWN: ClassVar[int]
    STATUS_ACCEPTED: ClassVar[int]
    STATUS_EXECUTING: ClassVar[int]
    STATUS_CANCELING: ClassVar[int]
    STATUS_SUCCEEDED: ClassVar[int]
    STATUS_CANCELED: ClassVar[int]
    STATUS_ABORTED: ClassVar[int]
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        goal_id: int = ...,
        status: int = ...,
        _reserved: int = ...,
        error_code: int = ...,
        number_of_recoveries: int = ...,
        navigation_time_ns: int = ...,
        estimated_time_remaining_ns: int = ...,
        distance_remaining: float = ...,
        error_msg: str | builtins.bytes = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was known, by CLOCK_REALTIME: nanoseconds."""
    goal_id: int
    """That of the goal: no unit."""
    status: int
    """One of the `STATUS_` constants; any other number means `STATUS_UNKNOWN`: no unit."""
    _reserved: int
    """0: no unit."""
    error_code: int
    """0, or why it failed, by the numbers of the navigation in use: no unit."""
    number_of_recoveries: int
    """How often the robot had to free itself: count."""
    navigation_time_ns: int
    """Since the goal was accepted: nanoseconds."""
    estimated_time_remaining_ns: int
    """Until arrival, 0 if unknown: nanoseconds."""
    distance_remaining: float
    """Along the path: metres."""
    @property
    def error_msg(self) -> str:
        """Why it failed, for a person: text."""
    @error_msg.setter
    def error_msg(self, value: str | builtins.bytes) -> None: ...

@final
class Waypoint(Message):
    """One pose of a path and how fast to pass it; a pose of `nav_msgs/Path` with a speed. Without
    a time and a frame: for use inside `NavPath`. One cache line.
    """
    def __new__(
        cls,
        *,
        position: Iterable[float] | npt.NDArray[np.float64] = ...,
        orientation: Iterable[float] | npt.NDArray[np.float64] = ...,
        speed: float = ...,
    ) -> Self: ...
    @property
    def position(self) -> npt.NDArray[np.float64]:
        """x, y, z: metres."""
    @position.setter
    def position(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def orientation(self) -> npt.NDArray[np.float64]:
        """Unit quaternion x, y, z, w: no unit."""
    @orientation.setter
    def orientation(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    speed: float
    """How fast to pass; 0 is to stop there: metres per second."""

@final
class NavPath(Message):
    """The way to go, as `nav_msgs/Path`."""
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        frame_id: str | builtins.bytes = ...,
        count: int = ...,
        _reserved: int = ...,
        waypoints: Iterable[Waypoint] = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was planned, by CLOCK_REALTIME: nanoseconds."""
    @property
    def frame_id(self) -> str:
        """The frame of all waypoints, as `map`: text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    count: int
    """How many of `waypoints` there are, from the first: count."""
    _reserved: int
    """0: no unit."""
    @property
    def waypoints(self) -> tuple[Waypoint, ...]:
        """In the order in which they are passed."""
    @waypoints.setter
    def waypoints(self, value: Iterable[Waypoint]) -> None: ...

@final
class BoundingBox2D(Message):
    """A rectangle in an image, as `vision_msgs/BoundingBox2D`. Without a time: for use inside
    other messages.
    """
    def __new__(
        cls,
        *,
        center: Iterable[float] | npt.NDArray[np.float64] = ...,
        theta: float = ...,
        size_x: float = ...,
        size_y: float = ...,
    ) -> Self: ...
    @property
    def center(self) -> npt.NDArray[np.float64]:
        """x, y from the top left corner of the image: pixels."""
    @center.setter
    def center(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    theta: float
    """Rotation about the centre, from x to y: radians."""
    size_x: float
    """Along its own x: pixels."""
    size_y: float
    """Along its own y: pixels."""

@final
class BoundingBox3D(Message):
    """A box in space, as `vision_msgs/BoundingBox3D`. Without a time: for use inside other
    messages.
    """
    def __new__(
        cls,
        *,
        center: Iterable[float] | npt.NDArray[np.float64] = ...,
        orientation: Iterable[float] | npt.NDArray[np.float64] = ...,
        size: Iterable[float] | npt.NDArray[np.float64] = ...,
    ) -> Self: ...
    @property
    def center(self) -> npt.NDArray[np.float64]:
        """x, y, z of the centre: metres."""
    @center.setter
    def center(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def orientation(self) -> npt.NDArray[np.float64]:
        """Unit quaternion x, y, z, w: no unit."""
    @orientation.setter
    def orientation(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def size(self) -> npt.NDArray[np.float64]:
        """Along its own x, y, z: metres."""
    @size.setter
    def size(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...

@final
class Detection(Message):
    """Something that was recognised in an image, as `vision_msgs/Detection2D` with its best
    hypothesis. Those of one image have the same time.
    """
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        frame_id: str | builtins.bytes = ...,
        class_id: str | builtins.bytes = ...,
        score: float = ...,
        bbox: BoundingBox2D = ...,
        id: str | builtins.bytes = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When the image was taken, by CLOCK_REALTIME: nanoseconds."""
    @property
    def frame_id(self) -> str:
        """The frame of the camera: text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    @property
    def class_id(self) -> str:
        """What it is, as `person`: text."""
    @class_id.setter
    def class_id(self, value: str | builtins.bytes) -> None: ...
    score: float
    """How sure that is, 0 to 1: no unit."""
    bbox: BoundingBox2D
    """Where in the image it is."""
    @property
    def id(self) -> str:
        """The same for the same thing in several images, if it is tracked: text."""
    @id.setter
    def id(self, value: str | builtins.bytes) -> None: ...

@final
class Detection3D(Message):
    """Something that was recognised in space, as `vision_msgs/Detection3D` with its best
    hypothesis. Those of one measurement have the same time.
    """
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        frame_id: str | builtins.bytes = ...,
        class_id: str | builtins.bytes = ...,
        score: float = ...,
        bbox: BoundingBox3D = ...,
        id: str | builtins.bytes = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was measured, by CLOCK_REALTIME: nanoseconds."""
    @property
    def frame_id(self) -> str:
        """The frame of the box: text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    @property
    def class_id(self) -> str:
        """What it is, as `person`: text."""
    @class_id.setter
    def class_id(self, value: str | builtins.bytes) -> None: ...
    score: float
    """How sure that is, 0 to 1: no unit."""
    bbox: BoundingBox3D
    """Where it is."""
    @property
    def id(self) -> str:
        """The same for the same thing in several measurements, if it is tracked: text."""
    @id.setter
    def id(self, value: str | builtins.bytes) -> None: ...

@final
class TrackedObject(Message):
    """Something that is followed from one measurement to the next. No ROS type; the box is that of
    `vision_msgs/Detection3D`.
    """
    STATE_TENTATIVE: ClassVar[int]
    STATE_CONFIRMED: ClassVar[int]
    STATE_COASTING: ClassVar[int]
    STATE_DELETED: ClassVar[int]
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        frame_id: str | builtins.bytes = ...,
        track_id: int = ...,
        class_id: str | builtins.bytes = ...,
        score: float = ...,
        bbox: BoundingBox3D = ...,
        linear_velocity: Iterable[float] | npt.NDArray[np.float64] = ...,
        angular_velocity: Iterable[float] | npt.NDArray[np.float64] = ...,
        age_ns: int = ...,
        missed: int = ...,
        state: int = ...,
        _reserved: Iterable[int] | npt.NDArray[np.uint8] = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When the pose held, by CLOCK_REALTIME: nanoseconds."""
    @property
    def frame_id(self) -> str:
        """The frame of box and velocities: text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    track_id: int
    """The same for the same thing, never used again: no unit."""
    @property
    def class_id(self) -> str:
        """What it is, as `person`: text."""
    @class_id.setter
    def class_id(self, value: str | builtins.bytes) -> None: ...
    score: float
    """How sure that is, 0 to 1: no unit."""
    bbox: BoundingBox3D
    """Where it is."""
    @property
    def linear_velocity(self) -> npt.NDArray[np.float64]:
        """Along x, y, z: metres per second."""
    @linear_velocity.setter
    def linear_velocity(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def angular_velocity(self) -> npt.NDArray[np.float64]:
        """About x, y, z: radians per second."""
    @angular_velocity.setter
    def angular_velocity(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    age_ns: int
    """For how long it has been followed: nanoseconds."""
    missed: int
    """How often it was not seen since it was last seen: count."""
    state: int
    """One of the `STATE_` constants: no unit."""
    @property
    def _reserved(self) -> npt.NDArray[np.uint8]:
        """0: no unit."""
    @_reserved.setter
    def _reserved(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...

@final
class Landmark(Message):
    """A place that is recognised again, as a corner or a fiducial marker. No ROS type.

    The covariance is row-major 3 × 3 over x, y, z; all zeros means unknown.
    """
    KIND_POINT: ClassVar[int]
    KIND_MARKER: ClassVar[int]
    KIND_POLE: ClassVar[int]
    KIND_REFLECTOR: ClassVar[int]
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        frame_id: str | builtins.bytes = ...,
        landmark_id: int = ...,
        kind: int = ...,
        _reserved: Iterable[int] | npt.NDArray[np.uint8] = ...,
        position: Iterable[float] | npt.NDArray[np.float64] = ...,
        orientation: Iterable[float] | npt.NDArray[np.float64] = ...,
        position_covariance: Iterable[float] | npt.NDArray[np.float64] = ...,
        score: float = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was seen, by CLOCK_REALTIME: nanoseconds."""
    @property
    def frame_id(self) -> str:
        """The frame of the position: text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    landmark_id: int
    """Which one it is, as the number of the marker: no unit."""
    kind: int
    """One of the `KIND_` constants: no unit."""
    @property
    def _reserved(self) -> npt.NDArray[np.uint8]:
        """0: no unit."""
    @_reserved.setter
    def _reserved(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...
    @property
    def position(self) -> npt.NDArray[np.float64]:
        """x, y, z: metres."""
    @position.setter
    def position(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def orientation(self) -> npt.NDArray[np.float64]:
        """Unit quaternion x, y, z, w, the identity for a point: no unit."""
    @orientation.setter
    def orientation(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def position_covariance(self) -> npt.NDArray[np.float64]:
        """Of `position`: m²."""
    @position_covariance.setter
    def position_covariance(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    score: float
    """How sure it is that one, 0 to 1: no unit."""

@final
class PlaneDetection(Message):
    """A flat piece of the surroundings, as a floor or a table. No ROS type; `coef` as in
    `shape_msgs/Plane`.
    """
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        frame_id: str | builtins.bytes = ...,
        coef: Iterable[float] | npt.NDArray[np.float64] = ...,
        center: Iterable[float] | npt.NDArray[np.float64] = ...,
        size: Iterable[float] | npt.NDArray[np.float64] = ...,
        inlier_count: int = ...,
        _reserved: int = ...,
        residual: float = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was measured, by CLOCK_REALTIME: nanoseconds."""
    @property
    def frame_id(self) -> str:
        """The frame of plane and centre: text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    @property
    def coef(self) -> npt.NDArray[np.float64]:
        """a, b, c, d of `a·x + b·y + c·z + d = 0`, where (a, b, c) is a unit vector and d in
    metres: no unit.
    """
    @coef.setter
    def coef(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def center(self) -> npt.NDArray[np.float64]:
        """x, y, z of the middle of the piece: metres."""
    @center.setter
    def center(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def size(self) -> npt.NDArray[np.float64]:
        """Longest extent of the piece, and that across: metres."""
    @size.setter
    def size(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    inlier_count: int
    """How many points it was fitted to: count."""
    _reserved: int
    """0: no unit."""
    residual: float
    """Root mean square distance of those from the plane: metres."""

@final
class RegionOfInterest(Message):
    """A part of an image, as `sensor_msgs/RegionOfInterest`. Without a time: for use inside other
    messages. All zeros is the whole image.
    """
    def __new__(
        cls,
        *,
        x_offset: int = ...,
        y_offset: int = ...,
        height: int = ...,
        width: int = ...,
        do_rectify: int = ...,
        _reserved: Iterable[int] | npt.NDArray[np.uint8] = ...,
    ) -> Self: ...
    x_offset: int
    """Of its left edge: pixels."""
    y_offset: int
    """Of its top edge: pixels."""
    height: int
    """Pixels."""
    width: int
    """Pixels."""
    do_rectify: int
    """1 if it is to be cut out of the rectified image: no unit."""
    @property
    def _reserved(self) -> npt.NDArray[np.uint8]:
        """0: no unit."""
    @_reserved.setter
    def _reserved(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...

@final
class CameraInfo(Message):
    """Calibration of a camera, as `sensor_msgs/CameraInfo`; the meaning of its fields is in
    `image_pipeline`'s documents, and matrices are row-major.
    """
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        frame_id: str | builtins.bytes = ...,
        height: int = ...,
        width: int = ...,
        distortion_model: str | builtins.bytes = ...,
        d_count: int = ...,
        _reserved: int = ...,
        d: Iterable[float] | npt.NDArray[np.float64] = ...,
        k: Iterable[float] | npt.NDArray[np.float64] = ...,
        r: Iterable[float] | npt.NDArray[np.float64] = ...,
        p: Iterable[float] | npt.NDArray[np.float64] = ...,
        binning_x: int = ...,
        binning_y: int = ...,
        roi: RegionOfInterest = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When the image was taken, by CLOCK_REALTIME: nanoseconds."""
    @property
    def frame_id(self) -> str:
        """The optical frame: z forward, x right, y down: text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    height: int
    """Of the image that was calibrated: pixels."""
    width: int
    """Of the image that was calibrated: pixels."""
    @property
    def distortion_model(self) -> str:
        """As `plumb_bob` or `rational_polynomial`: text."""
    @distortion_model.setter
    def distortion_model(self, value: str | builtins.bytes) -> None: ...
    d_count: int
    """How many coefficients the model has, from the first of `d`: count."""
    _reserved: int
    """0: no unit."""
    @property
    def d(self) -> npt.NDArray[np.float64]:
        """Coefficients of the distortion model: no unit."""
    @d.setter
    def d(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def k(self) -> npt.NDArray[np.float64]:
        """Intrinsic matrix of the raw image, 3 × 3, fx 0 cx 0 fy cy 0 0 1: pixels."""
    @k.setter
    def k(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def r(self) -> npt.NDArray[np.float64]:
        """Rotation that rectifies, 3 × 3: no unit."""
    @r.setter
    def r(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def p(self) -> npt.NDArray[np.float64]:
        """Projection of the rectified image, 3 × 4: pixels."""
    @p.setter
    def p(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    binning_x: int
    """Columns of the sensor in one of the image, 0 as 1: count."""
    binning_y: int
    """Rows of the sensor in one of the image, 0 as 1: count."""
    roi: RegionOfInterest
    """The part of the sensor that was read, before binning."""

@final
class Heartbeat(Message):
    """A sign of life. No ROS type."""
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        source: str | builtins.bytes = ...,
        sequence: int = ...,
        period_ns: int = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was sent, by CLOCK_REALTIME: nanoseconds."""
    @property
    def source(self) -> str:
        """Who lives: text."""
    @source.setter
    def source(self, value: str | builtins.bytes) -> None: ...
    sequence: int
    """One more each time: count."""
    period_ns: int
    """When the next one is due, from this one: nanoseconds."""

@final
class NodeHeartbeat(Message):
    """A sign of life of a node, and how it keeps its time. No ROS type; the states are those of
    `lifecycle_msgs/State`.
    """
    STATE_UNKNOWN: ClassVar[int]
    STATE_UNCONFIGURED: ClassVar[int]
    STATE_INACTIVE: ClassVar[int]
    STATE_ACTIVE: ClassVar[int]
    STATE_FINALIZED: ClassVar[int]
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        name: str | builtins.bytes = ...,
        tick_count: int = ...,
        period_ns: int = ...,
        tick_duration_ns: int = ...,
        tick_duration_max_ns: int = ...,
        missed_deadlines: int = ...,
        uptime_ns: int = ...,
        process_id: int = ...,
        state: int = ...,
        level: int = ...,
        _reserved: int = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was sent, by CLOCK_REALTIME: nanoseconds."""
    @property
    def name(self) -> str:
        """Of the node: text."""
    @name.setter
    def name(self, value: str | builtins.bytes) -> None: ...
    tick_count: int
    """How often it ticked: count."""
    period_ns: int
    """From one tick to the next, 0 without a fixed one: nanoseconds."""
    tick_duration_ns: int
    """What the last tick took: nanoseconds."""
    tick_duration_max_ns: int
    """What the longest tick took: nanoseconds."""
    missed_deadlines: int
    """How often a tick ended too late: count."""
    uptime_ns: int
    """Since its start: nanoseconds."""
    process_id: int
    """Of the process, in its own namespace: no unit."""
    state: int
    """One of the `STATE_` constants: no unit."""
    level: int
    """One of the constants of `DiagnosticStatus`, as `OK`: no unit."""
    _reserved: int
    """0: no unit."""

@final
class DiagnosticValue(Message):
    """One thing that is known of a part, as `diagnostic_msgs/KeyValue`. Without a time: for use
    inside `DiagnosticStatus`.
    """
    def __new__(
        cls,
        *,
        key: str | builtins.bytes = ...,
        value: str | builtins.bytes = ...,
    ) -> Self: ...
    @property
    def key(self) -> str:
        """What it is: text."""
    @key.setter
    def key(self, value: str | builtins.bytes) -> None: ...
    @property
    def value(self) -> str:
        """How it is, with its unit: text."""
    @value.setter
    def value(self, value: str | builtins.bytes) -> None: ...

@final
class DiagnosticStatus(Message):
    """How a part of the robot is, as `diagnostic_msgs/DiagnosticStatus`."""
    OK: ClassVar[int]
    WARN: ClassVar[int]
    ERROR: ClassVar[int]
    STALE: ClassVar[int]
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        level: int = ...,
        _reserved: Iterable[int] | npt.NDArray[np.uint8] = ...,
        count: int = ...,
        name: str | builtins.bytes = ...,
        message: str | builtins.bytes = ...,
        hardware_id: str | builtins.bytes = ...,
        values: Iterable[DiagnosticValue] = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was so, by CLOCK_REALTIME: nanoseconds."""
    level: int
    """`OK`, `WARN`, `ERROR` or `STALE`; any other number means `ERROR`: no unit."""
    @property
    def _reserved(self) -> npt.NDArray[np.uint8]:
        """0: no unit."""
    @_reserved.setter
    def _reserved(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...
    count: int
    """How many of `values` there are, from the first: count."""
    @property
    def name(self) -> str:
        """Which part, as `base: left motor`: text."""
    @name.setter
    def name(self, value: str | builtins.bytes) -> None: ...
    @property
    def message(self) -> str:
        """How it is, for a person: text."""
    @message.setter
    def message(self, value: str | builtins.bytes) -> None: ...
    @property
    def hardware_id(self) -> str:
        """Which one of its kind: text."""
    @hardware_id.setter
    def hardware_id(self, value: str | builtins.bytes) -> None: ...
    @property
    def values(self) -> tuple[DiagnosticValue, ...]:
        """What else is known of it."""
    @values.setter
    def values(self, value: Iterable[DiagnosticValue]) -> None: ...

@final
class EmergencyStop(Message):
    """Whether everything has to stand still. No ROS type.

    Anything but 0 in `engaged` means that it has to, so that no damaged message releases it.
    """
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        engaged: int = ...,
        _reserved: Iterable[int] | npt.NDArray[np.uint8] = ...,
        source: str | builtins.bytes = ...,
        reason: str | builtins.bytes = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was engaged or released, by CLOCK_REALTIME: nanoseconds."""
    engaged: int
    """0 if released: no unit."""
    @property
    def _reserved(self) -> npt.NDArray[np.uint8]:
        """0: no unit."""
    @_reserved.setter
    def _reserved(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...
    @property
    def source(self) -> str:
        """Who engaged or released it: text."""
    @source.setter
    def source(self, value: str | builtins.bytes) -> None: ...
    @property
    def reason(self) -> str:
        """Why, for a person: text."""
    @reason.setter
    def reason(self, value: str | builtins.bytes) -> None: ...

@final
class SafetyStatus(Message):
    """What the safety functions allow at the moment. No ROS type; the modes after ISO 10218.

    All zeros allows nothing.
    """
    MODE_UNKNOWN: ClassVar[int]
    MODE_NORMAL: ClassVar[int]
    MODE_REDUCED: ClassVar[int]
    MODE_PROTECTIVE_STOP: ClassVar[int]
    MODE_EMERGENCY_STOP: ClassVar[int]
    MODE_FAULT: ClassVar[int]
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        mode: int = ...,
        enabled: int = ...,
        watchdog_ok: int = ...,
        limits_ok: int = ...,
        fault_code: int = ...,
        speed_max: float = ...,
        message: str | builtins.bytes = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was so, by CLOCK_REALTIME: nanoseconds."""
    mode: int
    """One of the `MODE_` constants; any other number means `MODE_FAULT`: no unit."""
    enabled: int
    """1 if the drives are powered: no unit."""
    watchdog_ok: int
    """1 if all watchdogs were served in time: no unit."""
    limits_ok: int
    """1 if positions, speeds and forces are within their limits: no unit."""
    fault_code: int
    """0, or what is wrong, by the numbers of the safety controller: no unit."""
    speed_max: float
    """No part may move faster; +∞ without a limit: metres per second."""
    @property
    def message(self) -> str:
        """Why, for a person: text."""
    @message.setter
    def message(self, value: str | builtins.bytes) -> None: ...

@final
class ResourceUsage(Message):
    """What a computer is busy with. No ROS type."""
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        source: str | builtins.bytes = ...,
        cpu_load: float = ...,
        cpu_temperature: float = ...,
        memory_used_bytes: int = ...,
        memory_total_bytes: int = ...,
        disk_used_bytes: int = ...,
        disk_total_bytes: int = ...,
        network_received_bytes: int = ...,
        network_sent_bytes: int = ...,
        uptime_ns: int = ...,
        thread_count: int = ...,
        cpu_count: int = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was measured, by CLOCK_REALTIME: nanoseconds."""
    @property
    def source(self) -> str:
        """The computer or the process: text."""
    @source.setter
    def source(self, value: str | builtins.bytes) -> None: ...
    cpu_load: float
    """Processors in use, 0 to their number: no unit."""
    cpu_temperature: float
    """NaN if not measured: degrees Celsius."""
    memory_used_bytes: int
    """Memory in use: bytes."""
    memory_total_bytes: int
    """Memory that there is: bytes."""
    disk_used_bytes: int
    """Disk in use: bytes."""
    disk_total_bytes: int
    """Disk that there is: bytes."""
    network_received_bytes: int
    """Since its start: bytes."""
    network_sent_bytes: int
    """Since its start: bytes."""
    uptime_ns: int
    """Since its start: nanoseconds."""
    thread_count: int
    """Threads that there are: count."""
    cpu_count: int
    """Processors that there are: count."""

@final
class NodeEvent(Message):
    """Something that happened to a node, or to the scheduler that runs it: a line of a log, and of
    the black box. No ROS type.
    """
    STARTED: ClassVar[int]
    FINISHED: ClassVar[int]
    FAILED: ClassVar[int]
    PANICKED: ClassVar[int]
    MISSED: ClassVar[int]
    STUCK: ClassVar[int]
    RECOVERED: ClassVar[int]
    SAFE_STATE_ENTERED: ClassVar[int]
    SAFE_STATE_LEFT: ClassVar[int]
    PAUSED: ClassVar[int]
    RESUMED: ClassVar[int]
    STOPPED: ClassVar[int]
    RATE_CHANGED: ClassVar[int]
    SWAPPED: ClassVar[int]
    SWAP_FAILED: ClassVar[int]
    STALE_INPUT: ClassVar[int]
    FRESH_INPUT: ClassVar[int]
    CHECKPOINT: ClassVar[int]
    EMERGENCY_STOP: ClassVar[int]
    EMERGENCY_OVER: ClassVar[int]
    REFUSED: ClassVar[int]
    COMMAND: ClassVar[int]
    SCHEDULER_STARTED: ClassVar[int]
    SCHEDULER_STOPPED: ClassVar[int]
    LANE_NOT_MAPPED: ClassVar[int]
    LANE_MAPPED: ClassVar[int]
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        monotonic_ns: int = ...,
        tick: int = ...,
        value_ns: int = ...,
        node: str | builtins.bytes = ...,
        text: str | builtins.bytes = ...,
        process_id: int = ...,
        kind: int = ...,
        level: int = ...,
        _reserved: int = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it happened, by CLOCK_REALTIME: nanoseconds."""
    monotonic_ns: int
    """When it happened, by CLOCK_MONOTONIC: nanoseconds."""
    tick: int
    """In which tick of the node, from 0 on: count."""
    value_ns: int
    """How long or how late, by the kind of event; 0 if that says nothing: nanoseconds."""
    @property
    def node(self) -> str:
        """The node, empty for the scheduler itself: text."""
    @node.setter
    def node(self, value: str | builtins.bytes) -> None: ...
    @property
    def text(self) -> str:
        """What else is known, as an error or the message of a panic: text."""
    @text.setter
    def text(self, value: str | builtins.bytes) -> None: ...
    process_id: int
    """Of the process, in its own namespace: no unit."""
    kind: int
    """One of the constants of this message, as `STARTED`: no unit."""
    level: int
    """One of the constants of `DiagnosticStatus`, as `OK`: no unit."""
    _reserved: int
    """0: no unit."""

@final
class NodeMetrics(Message):
    """What a node has done since its scheduler began. Without a time: for use inside
    `SchedulerStatus`. No ROS type.
    """
    CLASS_UNKNOWN: ClassVar[int]
    CLASS_REAL_TIME: ClassVar[int]
    CLASS_COMPUTE: ClassVar[int]
    CLASS_EVENT: ClassVar[int]
    CLASS_ASYNC_IO: ClassVar[int]
    CLASS_BEST_EFFORT: ClassVar[int]
    STATE_UNKNOWN: ClassVar[int]
    STATE_ACTIVE: ClassVar[int]
    STATE_PAUSED: ClassVar[int]
    STATE_RESTING: ClassVar[int]
    STATE_SAFE: ClassVar[int]
    STATE_STOPPED: ClassVar[int]
    STATE_STUCK: ClassVar[int]
    def __new__(
        cls,
        *,
        name: str | builtins.bytes = ...,
        last_error: str | builtins.bytes = ...,
        ticks: int = ...,
        period_ns: int = ...,
        last_ns: int = ...,
        max_ns: int = ...,
        misses: int = ...,
        passed_over: int = ...,
        failures: int = ...,
        panics: int = ...,
        durations: Iterable[int] | npt.NDArray[np.uint64] = ...,
        lateness: Iterable[int] | npt.NDArray[np.uint64] = ...,
        node_class: int = ...,
        state: int = ...,
        level: int = ...,
        _reserved: Iterable[int] | npt.NDArray[np.uint8] = ...,
    ) -> Self: ...
    @property
    def name(self) -> str:
        """Of the node: text."""
    @name.setter
    def name(self, value: str | builtins.bytes) -> None: ...
    @property
    def last_error(self) -> str:
        """What it said when it failed last: text."""
    @last_error.setter
    def last_error(self, value: str | builtins.bytes) -> None: ...
    ticks: int
    """Ticks that are over: count."""
    period_ns: int
    """From one tick to the next, 0 without a rate: nanoseconds."""
    last_ns: int
    """What the last tick took: nanoseconds."""
    max_ns: int
    """What the longest tick took: nanoseconds."""
    misses: int
    """Ticks that were over after their deadline, or took more than their budget: count."""
    passed_over: int
    """Due times at which it did not run, because it was still busy or late: count."""
    failures: int
    """Ticks that returned an error or panicked: count."""
    panics: int
    """Ticks that panicked: count."""
    @property
    def durations(self) -> npt.NDArray[np.uint64]:
        """Ticks by what they took: element i has those below 2^i nanoseconds that are in no
    element before, the last one all others: count.
    """
    @durations.setter
    def durations(self, value: Iterable[int] | npt.NDArray[np.uint64]) -> None: ...
    @property
    def lateness(self) -> npt.NDArray[np.uint64]:
        """Ticks by how much later than due they began, as in `durations`: count."""
    @lateness.setter
    def lateness(self, value: Iterable[int] | npt.NDArray[np.uint64]) -> None: ...
    node_class: int
    """Who runs it, one of the `CLASS_` constants: no unit."""
    state: int
    """One of the `STATE_` constants: no unit."""
    level: int
    """One of the constants of `DiagnosticStatus`, as `OK`: no unit."""
    @property
    def _reserved(self) -> npt.NDArray[np.uint8]:
        """0: no unit."""
    @_reserved.setter
    def _reserved(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...

@final
class NodeCommand(Message):
    """What a node or a whole scheduler is to do. No ROS type."""
    PAUSE: ClassVar[int]
    RESUME: ClassVar[int]
    STOP: ClassVar[int]
    SET_RATE: ClassVar[int]
    STOP_SCHEDULER: ClassVar[int]
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        node: str | builtins.bytes = ...,
        rate_hz: float = ...,
        kind: int = ...,
        _reserved: Iterable[int] | npt.NDArray[np.uint8] = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was sent, by CLOCK_REALTIME: nanoseconds."""
    @property
    def node(self) -> str:
        """The node, empty for all of the scheduler: text."""
    @node.setter
    def node(self, value: str | builtins.bytes) -> None: ...
    rate_hz: float
    """How often it is to tick, for `SET_RATE`: hertz."""
    kind: int
    """One of the constants of this message, as `PAUSE`: no unit."""
    @property
    def _reserved(self) -> npt.NDArray[np.uint8]:
        """0: no unit."""
    @_reserved.setter
    def _reserved(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...

@final
class Clock(Message):
    """The time by which a simulation or a recording runs, as `rosgraph_msgs/Clock`."""
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        clock_ns: int = ...,
        rate: float = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was sent, by CLOCK_REALTIME: nanoseconds."""
    clock_ns: int
    """What the clock shows: nanoseconds."""
    rate: float
    """How fast it is meant to run, 1 as real time, 0 while it stands: no unit."""

@final
class TimeReference(Message):
    """What another clock showed at a time of this one, as `sensor_msgs/TimeReference`."""
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        time_ref_ns: int = ...,
        source: str | builtins.bytes = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was read, by CLOCK_REALTIME: nanoseconds."""
    time_ref_ns: int
    """What the other clock showed: nanoseconds."""
    @property
    def source(self) -> str:
        """Which clock, as `gps`: text."""
    @source.setter
    def source(self, value: str | builtins.bytes) -> None: ...

@final
class JoystickInput(Message):
    """State of a joystick or gamepad, as `sensor_msgs/Joy`."""
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        device: str | builtins.bytes = ...,
        axis_count: int = ...,
        button_count: int = ...,
        axes: Iterable[float] | npt.NDArray[np.float32] = ...,
        buttons: Iterable[int] | npt.NDArray[np.uint8] = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was read, by CLOCK_REALTIME: nanoseconds."""
    @property
    def device(self) -> str:
        """Which one, as `/dev/input/js0`: text."""
    @device.setter
    def device(self, value: str | builtins.bytes) -> None: ...
    axis_count: int
    """How many axes it has, from the first: count."""
    button_count: int
    """How many buttons it has, from the first: count."""
    @property
    def axes(self) -> npt.NDArray[np.float32]:
        """−1 to 1: no unit."""
    @axes.setter
    def axes(self, value: Iterable[float] | npt.NDArray[np.float32]) -> None: ...
    @property
    def buttons(self) -> npt.NDArray[np.uint8]:
        """1 while pressed, else 0: no unit."""
    @buttons.setter
    def buttons(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...

@final
class KeyboardInput(Message):
    """A key that was pressed or released. No ROS type; keys have the numbers of the USB HID usage
    tables, page 7, which do not depend on the layout of the keyboard.
    """
    ACTION_RELEASED: ClassVar[int]
    ACTION_PRESSED: ClassVar[int]
    ACTION_REPEATED: ClassVar[int]
    MODIFIER_SHIFT: ClassVar[int]
    MODIFIER_CONTROL: ClassVar[int]
    MODIFIER_ALT: ClassVar[int]
    MODIFIER_META: ClassVar[int]
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        key: int = ...,
        modifiers: int = ...,
        action: int = ...,
        _reserved: Iterable[int] | npt.NDArray[np.uint8] = ...,
        text: str | builtins.bytes = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it happened, by CLOCK_REALTIME: nanoseconds."""
    key: int
    """Which key, as 4 for the one that types an A in the United States: no unit."""
    modifiers: int
    """The `MODIFIER_` constants of the keys that are held, added: no unit."""
    action: int
    """One of the `ACTION_` constants: no unit."""
    @property
    def _reserved(self) -> npt.NDArray[np.uint8]:
        """0: no unit."""
    @_reserved.setter
    def _reserved(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...
    @property
    def text(self) -> str:
        """What it types by the layout in use, if anything: text."""
    @text.setter
    def text(self, value: str | builtins.bytes) -> None: ...

@final
class Image(Framed):
    """The header of an `Image`, after `sensor_msgs/Image`: rows of pixels, the top one first."""
    def __new__(
        cls,
        data: npt.ArrayLike | None = None,
        /,
        *,
        timestamp_ns: int = ...,
        height: int = ...,
        width: int = ...,
        step: int = ...,
        is_bigendian: int = ...,
        _reserved0: Iterable[int] | npt.NDArray[np.uint8] = ...,
        encoding: str | builtins.bytes = ...,
        frame_id: str | builtins.bytes = ...,
        _reserved1: Iterable[int] | npt.NDArray[np.uint64] = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When the exposure began, CLOCK_REALTIME: nanoseconds."""
    height: int
    """Rows: count."""
    width: int
    """Columns: count."""
    step: int
    """From one row to the next: bytes."""
    is_bigendian: int
    """1 if channels of several bytes have the highest one first, else 0: no unit."""
    @property
    def _reserved0(self) -> npt.NDArray[np.uint8]:
        """0: no unit."""
    @_reserved0.setter
    def _reserved0(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...
    @property
    def encoding(self) -> str:
        """How a pixel is stored, by ROS's names, see `Encoding`: text."""
    @encoding.setter
    def encoding(self, value: str | builtins.bytes) -> None: ...
    @property
    def frame_id(self) -> str:
        """The optical frame of the camera (z forward, x right, y down): text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    @property
    def _reserved1(self) -> npt.NDArray[np.uint64]:
        """0: no unit."""
    @_reserved1.setter
    def _reserved1(self, value: Iterable[int] | npt.NDArray[np.uint64]) -> None: ...

@final
class DepthImage(Framed):
    """The header of a `DepthImage`, as REP-118 describes them: rows of depths along the optical
    axis, the top one first.
    """
    def __new__(
        cls,
        data: npt.ArrayLike | None = None,
        /,
        *,
        timestamp_ns: int = ...,
        height: int = ...,
        width: int = ...,
        step: int = ...,
        unit: float = ...,
        range_min: float = ...,
        range_max: float = ...,
        encoding: str | builtins.bytes = ...,
        frame_id: str | builtins.bytes = ...,
        _reserved: Iterable[int] | npt.NDArray[np.uint64] = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When the exposure began, CLOCK_REALTIME: nanoseconds."""
    height: int
    """Rows: count."""
    width: int
    """Columns: count."""
    step: int
    """From one row to the next: bytes."""
    unit: float
    """What a depth of 1 in the data is, 0.001 for millimetres: metres."""
    range_min: float
    """Smaller depths are not valid: metres."""
    range_max: float
    """Larger depths are not valid: metres."""
    @property
    def encoding(self) -> str:
        """`16UC1` or `32FC1` (REP-118), in the byte order of the machine: text."""
    @encoding.setter
    def encoding(self, value: str | builtins.bytes) -> None: ...
    @property
    def frame_id(self) -> str:
        """The optical frame of the camera (z forward, x right, y down): text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    @property
    def _reserved(self) -> npt.NDArray[np.uint64]:
        """0: no unit."""
    @_reserved.setter
    def _reserved(self, value: Iterable[int] | npt.NDArray[np.uint64]) -> None: ...

@final
class CompressedImage(Framed):
    """The header of a `CompressedImage`, after `sensor_msgs/CompressedImage`: the output of a
    codec.
    """
    def __new__(
        cls,
        data: npt.ArrayLike | None = None,
        /,
        *,
        timestamp_ns: int = ...,
        bytes: int = ...,
        format: str | builtins.bytes = ...,
        frame_id: str | builtins.bytes = ...,
        _reserved: Iterable[int] | npt.NDArray[np.uint8] = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When the exposure began, CLOCK_REALTIME: nanoseconds."""
    bytes: int
    """Length of the compressed data that follow: bytes."""
    @property
    def format(self) -> str:
        """The codec, as `jpeg` or `png`, or ROS's longer form `rgb8; jpeg compressed bgr8`: text."""
    @format.setter
    def format(self, value: str | builtins.bytes) -> None: ...
    @property
    def frame_id(self) -> str:
        """The optical frame of the camera (z forward, x right, y down): text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    @property
    def _reserved(self) -> npt.NDArray[np.uint8]:
        """0: no unit."""
    @_reserved.setter
    def _reserved(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...

@final
class SegmentationMask(Framed):
    """The header of a `SegmentationMask`: rows of numbers of classes, a byte for each pixel, the
    top one first.
    """
    def __new__(
        cls,
        data: npt.ArrayLike | None = None,
        /,
        *,
        timestamp_ns: int = ...,
        height: int = ...,
        width: int = ...,
        step: int = ...,
        class_count: int = ...,
        frame_id: str | builtins.bytes = ...,
        _reserved: int = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When the image was taken that this is about, CLOCK_REALTIME: nanoseconds."""
    height: int
    """Rows: count."""
    width: int
    """Columns: count."""
    step: int
    """From one row to the next: bytes."""
    class_count: int
    """Classes, 0 up to one less than this: count."""
    @property
    def frame_id(self) -> str:
        """The optical frame of the camera (z forward, x right, y down): text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    _reserved: int
    """0: no unit."""

@final
class PointField(Message):
    """One number, or array of numbers, in each point, as `sensor_msgs/PointField`. Without a time:
    for use inside `PointCloudHeader`.
    """
    def __new__(
        cls,
        *,
        name: str | builtins.bytes = ...,
        offset: int = ...,
        count: int = ...,
        dtype: int = ...,
        _reserved: Iterable[int] | npt.NDArray[np.uint8] = ...,
    ) -> Self: ...
    @property
    def name(self) -> str:
        """`x`, `y`, `z`, `rgb`, `intensity`, `ring`, …: text."""
    @name.setter
    def name(self, value: str | builtins.bytes) -> None: ...
    offset: int
    """From the start of a point: bytes."""
    count: int
    """Numbers side by side: count."""
    dtype: int  # type: ignore[assignment]
    """Type of one number, the code of a `DType`: no unit."""
    @property
    def _reserved(self) -> npt.NDArray[np.uint8]:
        """0: no unit."""
    @_reserved.setter
    def _reserved(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...

@final
class PointCloud(Framed):
    """The header of a `PointCloud`, after `sensor_msgs/PointCloud2`: points that have the fields
    described here.
    """
    def __new__(
        cls,
        data: npt.ArrayLike | None = None,
        /,
        *,
        timestamp_ns: int = ...,
        frame_id: str | builtins.bytes = ...,
        height: int = ...,
        width: int = ...,
        point_step: int = ...,
        row_step: int = ...,
        field_count: int = ...,
        is_bigendian: int = ...,
        is_dense: int = ...,
        _reserved: Iterable[int] | npt.NDArray[np.uint8] = ...,
        fields: Iterable[PointField] = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was measured, CLOCK_REALTIME: nanoseconds."""
    @property
    def frame_id(self) -> str:
        """The frame of the points: text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    height: int
    """Rows of an organised cloud, else 1: count."""
    width: int
    """Points in a row, all points of a cloud that is not organised: count."""
    point_step: int
    """From one point to the next: bytes."""
    row_step: int
    """From one row to the next: bytes."""
    field_count: int
    """How many of `fields` there are, from the first: count."""
    is_bigendian: int
    """1 if numbers have the highest byte first, else 0: no unit."""
    is_dense: int
    """1 if all points are valid, 0 if some have a NaN as a coordinate: no unit."""
    @property
    def _reserved(self) -> npt.NDArray[np.uint8]:
        """0: no unit."""
    @_reserved.setter
    def _reserved(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...
    @property
    def fields(self) -> tuple[PointField, ...]:
        """What a point consists of: no unit."""
    @fields.setter
    def fields(self, value: Iterable[PointField]) -> None: ...

@final
class Tensor(Framed):
    """The header of a `Tensor`, with what `DLTensor` of DLPack says: numbers in up to eight
    dimensions.
    """
    def __new__(
        cls,
        data: npt.ArrayLike | None = None,
        /,
        *,
        timestamp_ns: int = ...,
        dtype: int = ...,
        dimensions: int = ...,
        _reserved0: Iterable[int] | npt.NDArray[np.uint8] = ...,
        shape: Iterable[int] | npt.NDArray[np.uint64] = ...,
        strides: Iterable[int] | npt.NDArray[np.uint64] = ...,
        name: str | builtins.bytes = ...,
        _reserved1: Iterable[int] | npt.NDArray[np.uint8] = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When the data were measured or computed, CLOCK_REALTIME: nanoseconds."""
    dtype: int
    """Type of one element, the code of a `DType`: no unit."""
    dimensions: int
    """How many of `shape` and `strides` there are, from the first: count."""
    @property
    def _reserved0(self) -> npt.NDArray[np.uint8]:
        """0: no unit."""
    @_reserved0.setter
    def _reserved0(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...
    @property
    def shape(self) -> npt.NDArray[np.uint64]:
        """Elements along each dimension, the outermost first: count."""
    @shape.setter
    def shape(self, value: Iterable[int] | npt.NDArray[np.uint64]) -> None: ...
    @property
    def strides(self) -> npt.NDArray[np.uint64]:
        """From one element to the next along each dimension, as in DLPack: elements."""
    @strides.setter
    def strides(self, value: Iterable[int] | npt.NDArray[np.uint64]) -> None: ...
    @property
    def name(self) -> str:
        """What it is, as `images` or `logits`: text."""
    @name.setter
    def name(self, value: str | builtins.bytes) -> None: ...
    @property
    def _reserved1(self) -> npt.NDArray[np.uint8]:
        """0: no unit."""
    @_reserved1.setter
    def _reserved1(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...

@final
class MapMetaData(Message):
    """Size and place of a map, as `nav_msgs/MapMetaData`. Without a time: for use inside maps."""
    def __new__(
        cls,
        *,
        map_load_time_ns: int = ...,
        resolution: float = ...,
        width: int = ...,
        height: int = ...,
        _reserved: int = ...,
        origin_position: Iterable[float] | npt.NDArray[np.float64] = ...,
        origin_orientation: Iterable[float] | npt.NDArray[np.float64] = ...,
    ) -> Self: ...
    map_load_time_ns: int
    """When the map was made, CLOCK_REALTIME: nanoseconds."""
    resolution: float
    """Side of a cell: metres."""
    width: int
    """Cells along x: count."""
    height: int
    """Cells along y: count."""
    _reserved: int
    """0: no unit."""
    @property
    def origin_position(self) -> npt.NDArray[np.float64]:
        """Position of the outer corner of cell (0, 0) in the map's frame, x, y, z: metres."""
    @origin_position.setter
    def origin_position(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def origin_orientation(self) -> npt.NDArray[np.float64]:
        """Rotation of the grid in the map's frame, a unit quaternion x, y, z, w: no unit."""
    @origin_orientation.setter
    def origin_orientation(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...

@final
class OccupancyGrid(Framed):
    """The header of an `OccupancyGrid`, after `nav_msgs/OccupancyGrid`: a byte for each cell, 0
    to 100 in percent, −1 if unknown, along x first.
    """
    def __new__(
        cls,
        data: npt.ArrayLike | None = None,
        /,
        *,
        timestamp_ns: int = ...,
        frame_id: str | builtins.bytes = ...,
        info: MapMetaData = ...,
        _reserved: int = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When the content held, CLOCK_REALTIME: nanoseconds."""
    @property
    def frame_id(self) -> str:
        """The frame of the map: text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    info: MapMetaData
    """Size and place."""
    _reserved: int
    """0: no unit."""

@final
class CostMap(Framed):
    """The header of a `CostMap`, after `nav2_msgs/Costmap`: a byte for each cell, 0 to 252, 253
    and 254 near and in obstacles, 255 if unknown, along x first.
    """
    def __new__(
        cls,
        data: npt.ArrayLike | None = None,
        /,
        *,
        timestamp_ns: int = ...,
        frame_id: str | builtins.bytes = ...,
        info: MapMetaData = ...,
        layer: str | builtins.bytes = ...,
        _reserved: Iterable[int] | npt.NDArray[np.uint64] = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When the content held, CLOCK_REALTIME: nanoseconds."""
    @property
    def frame_id(self) -> str:
        """The frame of the map: text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    info: MapMetaData
    """Size and place."""
    @property
    def layer(self) -> str:
        """Which layer of the costs it is, as `master`: text."""
    @layer.setter
    def layer(self, value: str | builtins.bytes) -> None: ...
    @property
    def _reserved(self) -> npt.NDArray[np.uint64]:
        """0: no unit."""
    @_reserved.setter
    def _reserved(self, value: Iterable[int] | npt.NDArray[np.uint64]) -> None: ...

@final
class AudioFrame(Framed):
    """The header of an `AudioFrame`: samples that are not compressed, those of all channels at
    one time side by side.
    """
    def __new__(
        cls,
        data: npt.ArrayLike | None = None,
        /,
        *,
        timestamp_ns: int = ...,
        samples: int = ...,
        sample_rate: int = ...,
        channels: int = ...,
        dtype: int = ...,
        _reserved0: int = ...,
        frame_id: str | builtins.bytes = ...,
        _reserved1: int = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When the first sample was taken, CLOCK_REALTIME: nanoseconds."""
    samples: int
    """Samples of each channel: count."""
    sample_rate: int
    """Samples of each channel in a second: hertz."""
    channels: int
    """Channels: count."""
    dtype: int
    """Type of a sample, the code of a `DType`: no unit."""
    _reserved0: int
    """0: no unit."""
    @property
    def frame_id(self) -> str:
        """The frame of the microphone: text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    _reserved1: int
    """0: no unit."""

@final
class Bytes(Framed):
    """The header of `Bytes`: any data, with a name for what they are."""
    def __new__(
        cls,
        data: npt.ArrayLike | None = None,
        /,
        *,
        timestamp_ns: int = ...,
        bytes: int = ...,
        format: str | builtins.bytes = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When they were made, CLOCK_REALTIME: nanoseconds."""
    bytes: int
    """Length of the data that follow: bytes."""
    @property
    def format(self) -> str:
        """What the data are, best as a media type such as `application/cbor`: text."""
    @format.setter
    def format(self, value: str | builtins.bytes) -> None: ...

@final
class SchedulerStatus(Framed):
    """The header of a `SchedulerStatus`: how a scheduler is. The metrics of its nodes follow,
    one `NodeMetrics` after the other.
    """
    STATE_UNKNOWN: ClassVar[int]
    STATE_STARTING: ClassVar[int]
    STATE_RUNNING: ClassVar[int]
    STATE_EMERGENCY_STOP: ClassVar[int]
    STATE_STOPPING: ClassVar[int]
    STATE_STOPPED: ClassVar[int]
    def __new__(
        cls,
        data: npt.ArrayLike | None = None,
        /,
        *,
        timestamp_ns: int = ...,
        monotonic_ns: int = ...,
        uptime_ns: int = ...,
        scheduler: str | builtins.bytes = ...,
        process_id: int = ...,
        count: int = ...,
        node_bytes: int = ...,
        state: int = ...,
        _reserved: Iterable[int] | npt.NDArray[np.uint8] = ...,
    ) -> Self: ...
    timestamp_ns: int
    """When it was so, by CLOCK_REALTIME: nanoseconds."""
    monotonic_ns: int
    """When it was so, by CLOCK_MONOTONIC: nanoseconds."""
    uptime_ns: int
    """Since its start: nanoseconds."""
    @property
    def scheduler(self) -> str:
        """Name of the scheduler: text."""
    @scheduler.setter
    def scheduler(self, value: str | builtins.bytes) -> None: ...
    process_id: int
    """Of the process, in its own namespace: no unit."""
    count: int
    """Nodes that follow: count."""
    node_bytes: int
    """From one node to the next, the size of a `NodeMetrics`: bytes."""
    state: int
    """One of the `STATE_` constants: no unit."""
    @property
    def _reserved(self) -> npt.NDArray[np.uint8]:
        """0: no unit."""
    @_reserved.setter
    def _reserved(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...
