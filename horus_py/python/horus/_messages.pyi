# @generated from the table of fields in horus_core/src/message/.
"""The standard messages."""

import builtins
from collections.abc import Iterable
from typing import Any, ClassVar, Self, final

import numpy as np
import numpy.typing as npt
from typing_extensions import Buffer

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
    "Joint",
    "JointCommand",
    "JointState",
    "JointStateArray",
    "JoystickInput",
    "KeyboardInput",
    "Landmark",
    "LaserScan",
    "LidarScan",
    "LogLine",
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
    """A point in space, like `geometry_msgs/Point`. It has no timestamp: it is for use inside
    other messages, and for computing.
    """
    def __new__(
        cls,
        *,
        x: float = ...,
        y: float = ...,
        z: float = ...,
    ) -> Self: ...
    x: float
    """Coordinate x: metres."""
    y: float
    """Coordinate y: metres."""
    z: float
    """Coordinate z: metres."""

@final
class Vector3(Message):
    """A direction with a length, like `geometry_msgs/Vector3`. It has no timestamp: it is for use
    inside other messages, and for computing.
    """
    def __new__(
        cls,
        *,
        x: float = ...,
        y: float = ...,
        z: float = ...,
    ) -> Self: ...
    x: float
    """Component along x: depends on the use."""
    y: float
    """Component along y: depends on the use."""
    z: float
    """Component along z: depends on the use."""

@final
class Quaternion(Message):
    """A rotation in space as a unit quaternion, like `geometry_msgs/Quaternion`. It has no
    timestamp: it is for use inside other messages, and for computing.
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
    """Pose of a child frame in its parent frame, like `geometry_msgs/Transform`. It converts
    coordinates of the child's frame to the parent's: it rotates them and then translates them.
    It has no names and no timestamp: it is for computing; `TransformStamped` is the message
    to send.
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
    """Position and heading in the plane, like `geometry_msgs/Pose2D`; in the frame of the topic."""
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        x: float = ...,
        y: float = ...,
        theta: float = ...,
    ) -> Self: ...
    timestamp_ns: int
    """Time of the measurement or command, by CLOCK_REALTIME: nanoseconds."""
    x: float
    """Coordinate x: metres."""
    y: float
    """Coordinate y: metres."""
    theta: float
    """Heading from the x axis, counter-clockwise: radians."""

@final
class Pose3D(Message):
    """Position and orientation in space, like `geometry_msgs/Pose` with a time; in the frame of
    the topic. Its size is one cache line.
    """
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        position: Iterable[float] | npt.NDArray[np.float64] = ...,
        orientation: Iterable[float] | npt.NDArray[np.float64] = ...,
    ) -> Self: ...
    timestamp_ns: int
    """Time of the measurement or command, by CLOCK_REALTIME: nanoseconds."""
    @property
    def position(self) -> npt.NDArray[np.float64]:
        """Position x, y, z: metres."""
    @position.setter
    def position(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def orientation(self) -> npt.NDArray[np.float64]:
        """Unit quaternion x, y, z, w: no unit."""
    @orientation.setter
    def orientation(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...

@final
class PoseStamped(Message):
    """Position and orientation in a named frame, like `geometry_msgs/PoseStamped`."""
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        frame_id: str | builtins.bytes = ...,
        position: Iterable[float] | npt.NDArray[np.float64] = ...,
        orientation: Iterable[float] | npt.NDArray[np.float64] = ...,
    ) -> Self: ...
    timestamp_ns: int
    """Time of the measurement or command, by CLOCK_REALTIME: nanoseconds."""
    @property
    def frame_id(self) -> str:
        """Frame of the pose: text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    @property
    def position(self) -> npt.NDArray[np.float64]:
        """Position x, y, z: metres."""
    @position.setter
    def position(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def orientation(self) -> npt.NDArray[np.float64]:
        """Unit quaternion x, y, z, w: no unit."""
    @orientation.setter
    def orientation(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...

@final
class PoseWithCovariance(Message):
    """An estimated pose, like `geometry_msgs/PoseWithCovariance` with a time; in the frame of the
    topic, usually `map`.

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
    """Time for which the pose is valid, by CLOCK_REALTIME: nanoseconds."""
    @property
    def position(self) -> npt.NDArray[np.float64]:
        """Position x, y, z: metres."""
    @position.setter
    def position(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def orientation(self) -> npt.NDArray[np.float64]:
        """Unit quaternion x, y, z, w: no unit."""
    @orientation.setter
    def orientation(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def covariance(self) -> npt.NDArray[np.float64]:
        """Covariance of the position, of position and rotation, and of the rotation: m², m·rad,
    rad².
    """
    @covariance.setter
    def covariance(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...

@final
class Twist(Message):
    """Velocity of a body in space, like `geometry_msgs/TwistStamped`; in the body's own frame."""
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        linear: Iterable[float] | npt.NDArray[np.float64] = ...,
        angular: Iterable[float] | npt.NDArray[np.float64] = ...,
    ) -> Self: ...
    timestamp_ns: int
    """Time of the measurement or command, by CLOCK_REALTIME: nanoseconds."""
    @property
    def linear(self) -> npt.NDArray[np.float64]:
        """Velocity along x, y, z: metres per second."""
    @linear.setter
    def linear(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def angular(self) -> npt.NDArray[np.float64]:
        """Angular velocity about x, y, z: radians per second."""
    @angular.setter
    def angular(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...

@final
class TwistWithCovariance(Message):
    """An estimated velocity, like `geometry_msgs/TwistWithCovariance` with a time; in the body's
    own frame.

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
    """Time for which the velocity is valid, by CLOCK_REALTIME: nanoseconds."""
    @property
    def linear(self) -> npt.NDArray[np.float64]:
        """Velocity along x, y, z: metres per second."""
    @linear.setter
    def linear(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def angular(self) -> npt.NDArray[np.float64]:
        """Angular velocity about x, y, z: radians per second."""
    @angular.setter
    def angular(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def covariance(self) -> npt.NDArray[np.float64]:
        """Covariance of the linear velocity, of linear and angular velocity, and of the angular
    velocity: m²/s², m·rad/s², rad²/s².
    """
    @covariance.setter
    def covariance(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...

@final
class Accel(Message):
    """Acceleration of a body in space, like `geometry_msgs/AccelStamped`; in the body's own frame."""
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        linear: Iterable[float] | npt.NDArray[np.float64] = ...,
        angular: Iterable[float] | npt.NDArray[np.float64] = ...,
    ) -> Self: ...
    timestamp_ns: int
    """Time of the measurement or command, by CLOCK_REALTIME: nanoseconds."""
    @property
    def linear(self) -> npt.NDArray[np.float64]:
        """Acceleration along x, y, z: m/s²."""
    @linear.setter
    def linear(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def angular(self) -> npt.NDArray[np.float64]:
        """Angular acceleration about x, y, z: rad/s²."""
    @angular.setter
    def angular(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...

@final
class TransformStamped(Message):
    """Pose of the frame `child_frame_id` in the frame `frame_id`, like
    `geometry_msgs/TransformStamped`. It converts coordinates of the child's frame to the
    parent's.
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
    """Time for which the transform is valid, by CLOCK_REALTIME: nanoseconds."""
    @property
    def frame_id(self) -> str:
        """Name of the parent, such as `odom`: text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    @property
    def child_frame_id(self) -> str:
        """Name of the child, such as `base_link`: text."""
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
    """Force and torque on a body about the origin of its frame, like `geometry_msgs/Wrench` with a
    time. The frame is that of the body or of the sensor.
    """
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        force: Iterable[float] | npt.NDArray[np.float64] = ...,
        torque: Iterable[float] | npt.NDArray[np.float64] = ...,
    ) -> Self: ...
    timestamp_ns: int
    """Time of the measurement or command, by CLOCK_REALTIME: nanoseconds."""
    @property
    def force(self) -> npt.NDArray[np.float64]:
        """Force along x, y, z: newtons."""
    @force.setter
    def force(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def torque(self) -> npt.NDArray[np.float64]:
        """Torque about x, y, z: N·m."""
    @torque.setter
    def torque(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...

@final
class WrenchStamped(Message):
    """Force and torque in a named frame and about its origin, like `geometry_msgs/WrenchStamped`."""
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        frame_id: str | builtins.bytes = ...,
        force: Iterable[float] | npt.NDArray[np.float64] = ...,
        torque: Iterable[float] | npt.NDArray[np.float64] = ...,
    ) -> Self: ...
    timestamp_ns: int
    """Time of the measurement or command, by CLOCK_REALTIME: nanoseconds."""
    @property
    def frame_id(self) -> str:
        """Frame of force and torque: text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    @property
    def force(self) -> npt.NDArray[np.float64]:
        """Force along x, y, z: newtons."""
    @force.setter
    def force(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def torque(self) -> npt.NDArray[np.float64]:
        """Torque about x, y, z: N·m."""
    @torque.setter
    def torque(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...

@final
class Imu(Message):
    """One sample of an inertial measurement unit, like `sensor_msgs/Imu`.

    Angular velocities and accelerations are in the frame of the unit. The orientation is that
    of this frame in a frame with x east, y north and z up (REP-103). Covariances are row-major
    3 × 3 over x, y, z. All zeros means unknown; −1 as the first element means that the unit
    does not provide this quantity.
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
    """Time of the sample, by CLOCK_REALTIME: nanoseconds."""
    @property
    def orientation(self) -> npt.NDArray[np.float64]:
        """Unit quaternion x, y, z, w: no unit."""
    @orientation.setter
    def orientation(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def orientation_covariance(self) -> npt.NDArray[np.float64]:
        """Covariance of rotations about x, y, z: rad²."""
    @orientation_covariance.setter
    def orientation_covariance(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def angular_velocity(self) -> npt.NDArray[np.float64]:
        """Angular velocity about x, y, z: radians per second."""
    @angular_velocity.setter
    def angular_velocity(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def angular_velocity_covariance(self) -> npt.NDArray[np.float64]:
        """Covariance of `angular_velocity`: rad²/s²."""
    @angular_velocity_covariance.setter
    def angular_velocity_covariance(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def linear_acceleration(self) -> npt.NDArray[np.float64]:
        """Acceleration along x, y, z, with gravity, as accelerometers measure it: m/s²."""
    @linear_acceleration.setter
    def linear_acceleration(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def linear_acceleration_covariance(self) -> npt.NDArray[np.float64]:
        """Covariance of `linear_acceleration`: m²/s⁴."""
    @linear_acceleration_covariance.setter
    def linear_acceleration_covariance(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...

@final
class LaserScan(Message):
    """One sweep of a planar range finder, like `sensor_msgs/LaserScan` without intensities.
    `LidarScan` has any number of rays.

    Angles are about z of the sensor, counter-clockwise, 0 along its x. After REP-117 a range of
    +∞ means that nothing was seen, −∞ that an object is too close, and NaN that the measurement
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
    """Time of the first ray, by CLOCK_REALTIME: nanoseconds."""
    angle_min: float
    """Angle of the first ray: radians."""
    angle_max: float
    """Angle of the last ray: radians."""
    angle_increment: float
    """Angle from one ray to the next: radians."""
    time_increment: float
    """Time from one ray to the next: seconds."""
    scan_time: float
    """Time from one sweep to the next: seconds."""
    range_min: float
    """Shortest valid range: metres."""
    range_max: float
    """Longest valid range: metres."""
    count: int
    """Number of measured ranges, which are the first elements of `ranges`: count."""
    @property
    def ranges(self) -> npt.NDArray[np.float32]:
        """Distances in order of their angles: metres."""
    @ranges.setter
    def ranges(self, value: Iterable[float] | npt.NDArray[np.float32]) -> None: ...

@final
class RangeSensor(Message):
    """The distance to the nearest object in a cone about the sensor's x axis, like
    `sensor_msgs/Range`.

    After REP-117 a range of +∞ means that nothing was seen, −∞ that an object is too close, and
    NaN that the measurement failed.
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
    """Time of the measurement, by CLOCK_REALTIME: nanoseconds."""
    radiation_type: int
    """One of the constants of this type, such as `ULTRASOUND`: no unit."""
    @property
    def _reserved(self) -> npt.NDArray[np.uint8]:
        """Reserved, 0: no unit."""
    @_reserved.setter
    def _reserved(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...
    field_of_view: float
    """Opening angle of the cone: radians."""
    min_range: float
    """Shortest valid range: metres."""
    max_range: float
    """Longest valid range: metres."""
    range: float
    """Distance: metres."""
    variance: float
    """Variance of `range`, 0 if unknown: m²."""

@final
class JointState(Message):
    """Measured state of up to 16 joints, like `sensor_msgs/JointState`.
    `JointStateArray` has any number of joints.

    Element *i* of every array belongs to joint *i*. The units are those of a revolute joint.
    For a prismatic joint, radians become metres and newton-metres become newtons. The names are
    in each message, as in ROS: a reader then needs no other topic and no fixed order.
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
    """Time of the measurement, by CLOCK_REALTIME: nanoseconds."""
    count: int
    """Number of joints, which are the first elements of each array: count."""
    _reserved: int
    """Reserved, 0: no unit."""
    @property
    def name(self) -> tuple[str, ...]:
        """Names of the joints, such as `left_wrist_roll`: text."""
    @name.setter
    def name(self, value: Iterable[str | builtins.bytes]) -> None: ...
    @property
    def position(self) -> npt.NDArray[np.float64]:
        """Position of each joint: radians."""
    @position.setter
    def position(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def velocity(self) -> npt.NDArray[np.float64]:
        """Velocity of each joint: radians per second."""
    @velocity.setter
    def velocity(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def effort(self) -> npt.NDArray[np.float64]:
        """Torque: N·m."""
    @effort.setter
    def effort(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...

@final
class BatteryState(Message):
    """State of a battery, like `sensor_msgs/BatteryState`. NaN marks a value that is not measured."""
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
    """Time of the measurement, by CLOCK_REALTIME: nanoseconds."""
    voltage: float
    """Voltage: volts."""
    temperature: float
    """Temperature: degrees Celsius."""
    current: float
    """Current, negative when discharging: amperes."""
    charge: float
    """Remaining charge: ampere-hours."""
    capacity: float
    """Present capacity when full: ampere-hours."""
    design_capacity: float
    """Capacity when new: ampere-hours."""
    percentage: float
    """Charge relative to the capacity, 0 to 1: no unit."""
    power_supply_status: int
    """One of the `POWER_SUPPLY_STATUS_` constants: no unit."""
    power_supply_health: int
    """One of the `POWER_SUPPLY_HEALTH_` constants: no unit."""
    power_supply_technology: int
    """One of the `POWER_SUPPLY_TECHNOLOGY_` constants: no unit."""
    present: int
    """1 if there is a battery, else 0: no unit."""
    cell_count: int
    """Number of measured cells, which are the first elements of each array: count."""
    _reserved: int
    """Reserved, 0: no unit."""
    @property
    def cell_voltage(self) -> npt.NDArray[np.float32]:
        """Voltage of each cell: volts."""
    @cell_voltage.setter
    def cell_voltage(self, value: Iterable[float] | npt.NDArray[np.float32]) -> None: ...
    @property
    def cell_temperature(self) -> npt.NDArray[np.float32]:
        """Temperature of each cell: degrees Celsius."""
    @cell_temperature.setter
    def cell_temperature(self, value: Iterable[float] | npt.NDArray[np.float32]) -> None: ...
    @property
    def location(self) -> str:
        """Place of the battery, such as the name of its slot: text."""
    @location.setter
    def location(self, value: str | builtins.bytes) -> None: ...
    @property
    def serial_number(self) -> str:
        """Serial number on the label: text."""
    @serial_number.setter
    def serial_number(self, value: str | builtins.bytes) -> None: ...

@final
class NavSatFix(Message):
    """A position from a satellite navigation receiver in WGS 84, like `sensor_msgs/NavSatFix`.

    The covariance is row-major 3 × 3 over east, north, up. `position_covariance_type` is the
    last field in ROS; here it fills what would be padding.
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
    """Time of the measurement, by CLOCK_REALTIME: nanoseconds."""
    status: int
    """One of the `STATUS_` constants: no unit."""
    position_covariance_type: int
    """One of the `COVARIANCE_` constants: no unit."""
    service: int
    """Sum of the `SERVICE_` constants of the received systems: no unit."""
    _reserved: int
    """Reserved, 0: no unit."""
    latitude: float
    """Latitude, north is positive: degrees."""
    longitude: float
    """Longitude, east is positive: degrees."""
    altitude: float
    """Height above the ellipsoid, NaN if unknown: metres."""
    @property
    def position_covariance(self) -> npt.NDArray[np.float64]:
        """Covariance of the position to the east, north and up: m²."""
    @position_covariance.setter
    def position_covariance(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...

@final
class MagneticField(Message):
    """The magnetic field at a sensor and in its frame, like `sensor_msgs/MagneticField`.

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
    """Time of the measurement, by CLOCK_REALTIME: nanoseconds."""
    @property
    def magnetic_field(self) -> npt.NDArray[np.float64]:
        """Field along x, y, z, NaN for an axis that is not measured: tesla."""
    @magnetic_field.setter
    def magnetic_field(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def magnetic_field_covariance(self) -> npt.NDArray[np.float64]:
        """Covariance of `magnetic_field`: T²."""
    @magnetic_field_covariance.setter
    def magnetic_field_covariance(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...

@final
class Temperature(Message):
    """A temperature, like `sensor_msgs/Temperature`."""
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        temperature: float = ...,
        variance: float = ...,
    ) -> Self: ...
    timestamp_ns: int
    """Time of the measurement, by CLOCK_REALTIME: nanoseconds."""
    temperature: float
    """Temperature: degrees Celsius."""
    variance: float
    """Variance of `temperature`, 0 if unknown: °C²."""

@final
class FluidPressure(Message):
    """The pressure of air or water, like `sensor_msgs/FluidPressure`. It is not for tanks or
    tyres.
    """
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        fluid_pressure: float = ...,
        variance: float = ...,
    ) -> Self: ...
    timestamp_ns: int
    """Time of the measurement, by CLOCK_REALTIME: nanoseconds."""
    fluid_pressure: float
    """Absolute pressure: pascals."""
    variance: float
    """Variance of `fluid_pressure`, 0 if unknown: Pa²."""

@final
class Illuminance(Message):
    """An illuminance, like `sensor_msgs/Illuminance`."""
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        illuminance: float = ...,
        variance: float = ...,
    ) -> Self: ...
    timestamp_ns: int
    """Time of the measurement, by CLOCK_REALTIME: nanoseconds."""
    illuminance: float
    """Illuminance: lux."""
    variance: float
    """Variance of `illuminance`, 0 if unknown: lx²."""

@final
class TactileArray(Message):
    """Pressure on the taxels of a tactile sensor, row by row, and the total force. No ROS type."""
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
    """Time of the measurement, by CLOCK_REALTIME: nanoseconds."""
    @property
    def frame_id(self) -> str:
        """Frame of the pad, x along its rows, z out of it: text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    rows: int
    """Number of rows, along y: count."""
    columns: int
    """Number of taxels in a row, along x: count."""
    spacing: float
    """Distance from one taxel to the next: metres."""
    @property
    def force(self) -> npt.NDArray[np.float32]:
        """Force on the whole pad along x, y, z, NaN if not measured: newtons."""
    @force.setter
    def force(self, value: Iterable[float] | npt.NDArray[np.float32]) -> None: ...
    @property
    def pressure(self) -> npt.NDArray[np.float32]:
        """Pressures of `rows` × `columns` taxels, row-major: pascals."""
    @pressure.setter
    def pressure(self, value: Iterable[float] | npt.NDArray[np.float32]) -> None: ...

@final
class CmdVel(Message):
    """Velocity command of a robot that moves in the plane, in the robot's own frame: `linear.x`
    and `angular.z` of `geometry_msgs/Twist` in single precision.
    """
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        linear: float = ...,
        angular: float = ...,
    ) -> Self: ...
    timestamp_ns: int
    """Time of the command, by CLOCK_REALTIME: nanoseconds."""
    linear: float
    """Forward velocity: metres per second."""
    angular: float
    """Counter-clockwise angular velocity: radians per second."""

@final
class JointCommand(Message):
    """Set-points of up to 16 joints, with the names of `trajectory_msgs/JointTrajectoryPoint`.

    Element *i* of every array belongs to joint *i*; `mode` selects the arrays that are used.
    The units are those of a revolute joint. For a prismatic joint, radians become metres and
    newton-metres become newtons.
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
    """Time of the command, by CLOCK_REALTIME: nanoseconds."""
    count: int
    """Number of commanded joints: the first `count` elements of each array are in use: count."""
    _reserved: int
    """Reserved, 0: no unit."""
    @property
    def mode(self) -> npt.NDArray[np.uint8]:
        """One of the `MODE_` constants; any other number means `MODE_DISABLED`: no unit."""
    @mode.setter
    def mode(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...
    @property
    def position(self) -> npt.NDArray[np.float64]:
        """Position of each joint: radians."""
    @position.setter
    def position(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def velocity(self) -> npt.NDArray[np.float64]:
        """Velocity of each joint: radians per second."""
    @velocity.setter
    def velocity(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def acceleration(self) -> npt.NDArray[np.float64]:
        """Feed-forward acceleration: rad/s²."""
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
        """Limit of the absolute value of the total torque; 0 leaves the limit to the drive: N·m."""
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
    """Time of the command, by CLOCK_REALTIME: nanoseconds."""
    motor_id: int
    """Number of the motor, such as its node on the bus: no unit."""
    mode: int
    """One of the `MODE_` constants; any other number means `MODE_DISABLED`: no unit."""
    enable: int
    """1 to power the drive, else 0: no unit."""
    _reserved: int
    """Reserved, 0: no unit."""
    position: float
    """Position: radians."""
    velocity: float
    """Velocity: radians per second."""
    effort: float
    """Torque, or feed-forward torque: N·m."""
    duty_cycle: float
    """Share of the supply voltage, −1 to 1: no unit."""
    velocity_max: float
    """Limit of the speed; 0 leaves the limit to the drive: radians per second."""
    acceleration_max: float
    """Limit of the acceleration; 0 leaves the limit to the drive: rad/s²."""
    effort_max: float
    """Limit of the torque; 0 leaves the limit to the drive: N·m."""

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
    """Time of the command, by CLOCK_REALTIME: nanoseconds."""
    servo_id: int
    """Channel of the servo: no unit."""
    enable: int
    """1 to hold the position, 0 to release it: no unit."""
    @property
    def _reserved(self) -> npt.NDArray[np.uint8]:
        """Reserved, 0: no unit."""
    @_reserved.setter
    def _reserved(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...
    position: float
    """Angle from the middle: radians."""
    velocity_max: float
    """Limit of the speed, 0 for the maximum of the servo: radians per second."""

@final
class DifferentialDriveCommand(Message):
    """Wheel speeds of a robot with two driven wheels. No ROS type: `diff_drive_controller` of
    `ros2_control` sends them to its wheels.
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
    """Time of the command, by CLOCK_REALTIME: nanoseconds."""
    left: float
    """Speed of the left wheel, positive is forward: radians per second."""
    right: float
    """Speed of the right wheel, positive is forward: radians per second."""
    acceleration_max: float
    """Limit of the acceleration; 0 leaves the limit to the drive: rad/s²."""
    enable: int
    """1 to power the drives, else 0: no unit."""
    @property
    def _reserved(self) -> npt.NDArray[np.uint8]:
        """Reserved, 0: no unit."""
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
    """Time of the configuration, by CLOCK_REALTIME: nanoseconds."""
    controller_id: int
    """Number of the controller: no unit."""
    antiwindup: int
    """Method that limits the integral while the output is limited, one of the `ANTIWINDUP_`
    constants: no unit.
    """
    @property
    def _reserved(self) -> npt.NDArray[np.uint8]:
        """Reserved, 0: no unit."""
    @_reserved.setter
    def _reserved(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...
    p: float
    """Proportional gain: depends on the use."""
    i: float
    """Integral gain: depends on the use."""
    d: float
    """Derivative gain: depends on the use."""
    i_max: float
    """Upper limit of the integral part of the output, +∞ without a limit: depends on the use."""
    i_min: float
    """Lower limit of the integral part of the output, −∞ without a limit: depends on the use."""
    u_max: float
    """Upper limit of the output, +∞ without a limit: depends on the use."""
    u_min: float
    """Lower limit of the output, −∞ without a limit: depends on the use."""
    tracking_time_constant: float
    """Time constant of back calculation, 0 for the controller's default: seconds."""
    error_deadband: float
    """Largest error that is not integrated: depends on the use."""

@final
class TrajectoryPoint(Message):
    """Pose, velocity and acceleration of a body at one time of a trajectory.

    It is like `trajectory_msgs/MultiDOFJointTrajectoryPoint` with one body, in the frame of the
    topic. For joints use `JointCommand`.
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
    """Start of the trajectory, by CLOCK_REALTIME: nanoseconds."""
    @property
    def position(self) -> npt.NDArray[np.float64]:
        """Position x, y, z: metres."""
    @position.setter
    def position(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def orientation(self) -> npt.NDArray[np.float64]:
        """Unit quaternion x, y, z, w: no unit."""
    @orientation.setter
    def orientation(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def linear_velocity(self) -> npt.NDArray[np.float64]:
        """Velocity along x, y, z: metres per second."""
    @linear_velocity.setter
    def linear_velocity(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def angular_velocity(self) -> npt.NDArray[np.float64]:
        """Angular velocity about x, y, z: radians per second."""
    @angular_velocity.setter
    def angular_velocity(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def linear_acceleration(self) -> npt.NDArray[np.float64]:
        """Acceleration along x, y, z: m/s²."""
    @linear_acceleration.setter
    def linear_acceleration(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def angular_acceleration(self) -> npt.NDArray[np.float64]:
        """Angular acceleration about x, y, z: rad/s²."""
    @angular_acceleration.setter
    def angular_acceleration(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    time_from_start_ns: int
    """Time of arrival at this point, from `timestamp_ns`: nanoseconds."""

@final
class ForceCommand(Message):
    """Force to apply along some axes of a frame, while the others keep their position.

    This is hybrid force and position control after Raibert and Craig (1981). No ROS type; force
    and torque are as in `geometry_msgs/WrenchStamped`.
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
    """Time of the command, by CLOCK_REALTIME: nanoseconds."""
    @property
    def frame_id(self) -> str:
        """Name of the coordinate frame of the task: text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    @property
    def force(self) -> npt.NDArray[np.float64]:
        """Force on the environment along x, y, z: newtons."""
    @force.setter
    def force(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def torque(self) -> npt.NDArray[np.float64]:
        """Torque on the environment about x, y, z: N·m."""
    @torque.setter
    def torque(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def force_controlled(self) -> npt.NDArray[np.uint8]:
        """For each axis along x, y, z and about x, y, z, 1 to control the force, 0 to keep the
    position: no unit.
    """
    @force_controlled.setter
    def force_controlled(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...
    @property
    def _reserved(self) -> npt.NDArray[np.uint8]:
        """Reserved, 0: no unit."""
    @_reserved.setter
    def _reserved(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...
    linear_velocity_max: float
    """Limit of the speed in free space; 0 leaves the limit to the controller: metres per
    second.
    """
    angular_velocity_max: float
    """Limit of the angular speed in free space; 0 leaves the limit to the controller: radians
    per second.
    """

@final
class ImpedanceParameters(Message):
    """Compliance of a tool: a spring, a damper and a mass along and about each axis of a frame. No
    ROS type; impedance control after Hogan (1985).

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
    """Time of the configuration, by CLOCK_REALTIME: nanoseconds."""
    @property
    def frame_id(self) -> str:
        """Frame of the axes, usually that of the tool: text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    @property
    def linear_stiffness(self) -> npt.NDArray[np.float64]:
        """Stiffness along x, y, z: N/m."""
    @linear_stiffness.setter
    def linear_stiffness(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def angular_stiffness(self) -> npt.NDArray[np.float64]:
        """Rotational stiffness about x, y, z: N·m/rad."""
    @angular_stiffness.setter
    def angular_stiffness(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def linear_damping(self) -> npt.NDArray[np.float64]:
        """Damping along x, y, z: N·s/m."""
    @linear_damping.setter
    def linear_damping(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def angular_damping(self) -> npt.NDArray[np.float64]:
        """Rotational damping about x, y, z: N·m·s/rad."""
    @angular_damping.setter
    def angular_damping(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def mass(self) -> npt.NDArray[np.float64]:
        """Mass along x, y, z; 0 leaves that of the tool: kilograms."""
    @mass.setter
    def mass(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def inertia(self) -> npt.NDArray[np.float64]:
        """Moment of inertia about x, y, z; 0 leaves that of the tool: kg·m²."""
    @inertia.setter
    def inertia(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    force_max: float
    """Limit of the force; 0 leaves the limit to the controller: newtons."""
    torque_max: float
    """Limit of the torque; 0 leaves the limit to the controller: N·m."""

@final
class Odometry(Message):
    """Estimated pose and velocity of a body, like `nav_msgs/Odometry`.

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
    """Time for which the pose is valid, by CLOCK_REALTIME: nanoseconds."""
    @property
    def position(self) -> npt.NDArray[np.float64]:
        """Position x, y, z: metres."""
    @position.setter
    def position(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def orientation(self) -> npt.NDArray[np.float64]:
        """Unit quaternion x, y, z, w: no unit."""
    @orientation.setter
    def orientation(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def pose_covariance(self) -> npt.NDArray[np.float64]:
        """Covariance of the position, of position and rotation, and of the rotation: m², m·rad,
    rad².
    """
    @pose_covariance.setter
    def pose_covariance(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def linear(self) -> npt.NDArray[np.float64]:
        """Velocity along x, y, z of the body: metres per second."""
    @linear.setter
    def linear(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def angular(self) -> npt.NDArray[np.float64]:
        """Angular velocity about x, y, z of the body: radians per second."""
    @angular.setter
    def angular(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def twist_covariance(self) -> npt.NDArray[np.float64]:
        """Covariance of the linear velocity, of linear and angular velocity, and of the angular
    velocity: m²/s², m·rad/s², rad²/s².
    """
    @twist_covariance.setter
    def twist_covariance(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...

@final
class NavGoal(Message):
    """A navigation goal with tolerances, like the goal of `nav2_msgs/action/NavigateToPose`."""
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
    """Time of the command, by CLOCK_REALTIME: nanoseconds."""
    goal_id: int
    """Number chosen by the sender, and returned in `GoalResult`:
    no unit.
    """
    @property
    def frame_id(self) -> str:
        """Frame of the pose, such as `map`: text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    @property
    def position(self) -> npt.NDArray[np.float64]:
        """Position x, y, z: metres."""
    @position.setter
    def position(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def orientation(self) -> npt.NDArray[np.float64]:
        """Unit quaternion x, y, z, w: no unit."""
    @orientation.setter
    def orientation(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    position_tolerance: float
    """Largest accepted error of the position; 0 leaves it to the navigation: metres."""
    yaw_tolerance: float
    """Largest accepted error of the yaw; 0 leaves it to the navigation: radians."""
    timeout_ns: int
    """Time after which the goal is aborted; 0 means never: nanoseconds."""

@final
class GoalResult(Message):
    """State of a `NavGoal` while it is executed, and its result.

    It has the status of `action_msgs/GoalStatus`, and the result and feedback of
    `nav2_msgs/action/NavigateToPose`.
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
    """Time of this state, by CLOCK_REALTIME: nanoseconds."""
    goal_id: int
    """Number of the goal: no unit."""
    status: int
    """One of the `STATUS_` constants; any other number means `STATUS_UNKNOWN`: no unit."""
    _reserved: int
    """Reserved, 0: no unit."""
    error_code: int
    """Error code of the navigation in use, 0 without an error: no unit."""
    number_of_recoveries: int
    """Number of recoveries: count."""
    navigation_time_ns: int
    """Time since the goal was accepted: nanoseconds."""
    estimated_time_remaining_ns: int
    """Time until arrival, 0 if unknown: nanoseconds."""
    distance_remaining: float
    """Distance to go along the path: metres."""
    @property
    def error_msg(self) -> str:
        """Description of the error, for people to read: text."""
    @error_msg.setter
    def error_msg(self, value: str | builtins.bytes) -> None: ...

@final
class Waypoint(Message):
    """A pose of a path, like those of `nav_msgs/Path`, and the speed of the robot at this pose. It
    has no timestamp and no frame: it is for use inside `NavPath`. Its size is one cache line.
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
        """Position x, y, z: metres."""
    @position.setter
    def position(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def orientation(self) -> npt.NDArray[np.float64]:
        """Unit quaternion x, y, z, w: no unit."""
    @orientation.setter
    def orientation(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    speed: float
    """Speed at this pose; 0 means to stop there: metres per second."""

@final
class NavPath(Message):
    """A path to follow, like `nav_msgs/Path`."""
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
    """Time of the planning, by CLOCK_REALTIME: nanoseconds."""
    @property
    def frame_id(self) -> str:
        """Frame of all waypoints, such as `map`: text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    count: int
    """Number of waypoints, which are the first elements of `waypoints`: count."""
    _reserved: int
    """Reserved, 0: no unit."""
    @property
    def waypoints(self) -> tuple[Waypoint, ...]:
        """Waypoints in the order in which they are passed."""
    @waypoints.setter
    def waypoints(self, value: Iterable[Waypoint]) -> None: ...

@final
class BoundingBox2D(Message):
    """A rectangle in an image, like `vision_msgs/BoundingBox2D`. It has no timestamp: it is for
    use inside other messages.
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
        """Centre x, y from the top left corner of the image: pixels."""
    @center.setter
    def center(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    theta: float
    """Rotation about the centre, from x to y: radians."""
    size_x: float
    """Size along its own x: pixels."""
    size_y: float
    """Size along its own y: pixels."""

@final
class BoundingBox3D(Message):
    """A box in space, like `vision_msgs/BoundingBox3D`. It has no timestamp: it is for use inside
    other messages.
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
        """Centre x, y, z: metres."""
    @center.setter
    def center(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def orientation(self) -> npt.NDArray[np.float64]:
        """Unit quaternion x, y, z, w: no unit."""
    @orientation.setter
    def orientation(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def size(self) -> npt.NDArray[np.float64]:
        """Size along its own x, y, z: metres."""
    @size.setter
    def size(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...

@final
class Detection(Message):
    """An object detected in an image, like `vision_msgs/Detection2D` with its best hypothesis. All
    detections in one image have the same time.
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
    """Time of the image, by CLOCK_REALTIME: nanoseconds."""
    @property
    def frame_id(self) -> str:
        """Frame of the camera: text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    @property
    def class_id(self) -> str:
        """Class of the object, such as `person`: text."""
    @class_id.setter
    def class_id(self, value: str | builtins.bytes) -> None: ...
    score: float
    """Confidence in the class, 0 to 1: no unit."""
    bbox: BoundingBox2D
    """Place of the object in the image."""
    @property
    def id(self) -> str:
        """Identifier of the object, the same in several images if it is tracked: text."""
    @id.setter
    def id(self, value: str | builtins.bytes) -> None: ...

@final
class Detection3D(Message):
    """An object detected in space, like `vision_msgs/Detection3D` with its best hypothesis. All
    detections in one measurement have the same time.
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
    """Time of the measurement, by CLOCK_REALTIME: nanoseconds."""
    @property
    def frame_id(self) -> str:
        """Frame of the box: text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    @property
    def class_id(self) -> str:
        """Class of the object, such as `person`: text."""
    @class_id.setter
    def class_id(self, value: str | builtins.bytes) -> None: ...
    score: float
    """Confidence in the class, 0 to 1: no unit."""
    bbox: BoundingBox3D
    """Place of the object."""
    @property
    def id(self) -> str:
        """Identifier of the object, the same in several measurements if it is tracked: text."""
    @id.setter
    def id(self, value: str | builtins.bytes) -> None: ...

@final
class TrackedObject(Message):
    """An object that is tracked from one measurement to the next. No ROS type; the box is that of
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
    """Time for which the pose is valid, by CLOCK_REALTIME: nanoseconds."""
    @property
    def frame_id(self) -> str:
        """Frame of box and velocities: text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    track_id: int
    """Number of the track, which is never reused: no unit."""
    @property
    def class_id(self) -> str:
        """Class of the object, such as `person`: text."""
    @class_id.setter
    def class_id(self, value: str | builtins.bytes) -> None: ...
    score: float
    """Confidence in the class, 0 to 1: no unit."""
    bbox: BoundingBox3D
    """Place of the object."""
    @property
    def linear_velocity(self) -> npt.NDArray[np.float64]:
        """Velocity along x, y, z: metres per second."""
    @linear_velocity.setter
    def linear_velocity(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def angular_velocity(self) -> npt.NDArray[np.float64]:
        """Angular velocity about x, y, z: radians per second."""
    @angular_velocity.setter
    def angular_velocity(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    age_ns: int
    """Time since the track began: nanoseconds."""
    missed: int
    """Number of measurements without the object since it was last seen: count."""
    state: int
    """One of the `STATE_` constants: no unit."""
    @property
    def _reserved(self) -> npt.NDArray[np.uint8]:
        """Reserved, 0: no unit."""
    @_reserved.setter
    def _reserved(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...

@final
class Landmark(Message):
    """A place that is recognised again, such as a corner or a fiducial marker. No ROS type.

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
    """Time at which the landmark was seen, by CLOCK_REALTIME: nanoseconds."""
    @property
    def frame_id(self) -> str:
        """Frame of the position: text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    landmark_id: int
    """Number of the landmark, such as that of the marker: no unit."""
    kind: int
    """One of the `KIND_` constants: no unit."""
    @property
    def _reserved(self) -> npt.NDArray[np.uint8]:
        """Reserved, 0: no unit."""
    @_reserved.setter
    def _reserved(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...
    @property
    def position(self) -> npt.NDArray[np.float64]:
        """Position x, y, z: metres."""
    @position.setter
    def position(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def orientation(self) -> npt.NDArray[np.float64]:
        """Unit quaternion x, y, z, w, the identity for a point: no unit."""
    @orientation.setter
    def orientation(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def position_covariance(self) -> npt.NDArray[np.float64]:
        """Covariance of `position`: m²."""
    @position_covariance.setter
    def position_covariance(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    score: float
    """Confidence that it is this landmark, 0 to 1: no unit."""

@final
class PlaneDetection(Message):
    """A flat part of the environment, such as a floor or a table. No ROS type; `coef` is as in
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
    """Time of the measurement, by CLOCK_REALTIME: nanoseconds."""
    @property
    def frame_id(self) -> str:
        """Frame of plane and centre: text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    @property
    def coef(self) -> npt.NDArray[np.float64]:
        """Coefficients a, b, c, d of `a·x + b·y + c·z + d = 0`, where (a, b, c) is a unit vector
    and d in metres: no unit.
    """
    @coef.setter
    def coef(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def center(self) -> npt.NDArray[np.float64]:
        """Centre x, y, z of the part: metres."""
    @center.setter
    def center(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def size(self) -> npt.NDArray[np.float64]:
        """Longest extent of the part, and the extent across it: metres."""
    @size.setter
    def size(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    inlier_count: int
    """Number of points that the plane was fitted to: count."""
    _reserved: int
    """Reserved, 0: no unit."""
    residual: float
    """Root mean square distance of these points from the plane: metres."""

@final
class RegionOfInterest(Message):
    """A part of an image, like `sensor_msgs/RegionOfInterest`. It has no timestamp: it is for use
    inside other messages. All zeros means the whole image.
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
    """Left edge: pixels."""
    y_offset: int
    """Top edge: pixels."""
    height: int
    """Height of the region: pixels."""
    width: int
    """Width of the region: pixels."""
    do_rectify: int
    """1 if it is to be cut from the rectified image: no unit."""
    @property
    def _reserved(self) -> npt.NDArray[np.uint8]:
        """Reserved, 0: no unit."""
    @_reserved.setter
    def _reserved(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...

@final
class CameraInfo(Message):
    """Calibration of a camera, like `sensor_msgs/CameraInfo`.

    The documents of `image_pipeline` explain its fields. Matrices are row-major.
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
    """Time of the image, by CLOCK_REALTIME: nanoseconds."""
    @property
    def frame_id(self) -> str:
        """Optical frame (z forward, x right, y down): text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    height: int
    """Height of the image that was calibrated: pixels."""
    width: int
    """Width of the image that was calibrated: pixels."""
    @property
    def distortion_model(self) -> str:
        """Name of the model, such as `plumb_bob` or `rational_polynomial`: text."""
    @distortion_model.setter
    def distortion_model(self, value: str | builtins.bytes) -> None: ...
    d_count: int
    """Number of coefficients of the model, from the first of `d`: count."""
    _reserved: int
    """Reserved, 0: no unit."""
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
        """Rotation that rectifies the image, 3 × 3: no unit."""
    @r.setter
    def r(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    @property
    def p(self) -> npt.NDArray[np.float64]:
        """Projection of the rectified image, 3 × 4: pixels."""
    @p.setter
    def p(self, value: Iterable[float] | npt.NDArray[np.float64]) -> None: ...
    binning_x: int
    """Number of sensor columns in one column of the image; 0 means 1: count."""
    binning_y: int
    """Number of sensor rows in one row of the image; 0 means 1: count."""
    roi: RegionOfInterest
    """Part of the sensor that was read, before binning."""

@final
class Heartbeat(Message):
    """A periodic message that shows that its sender runs. No ROS type."""
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        source: str | builtins.bytes = ...,
        sequence: int = ...,
        period_ns: int = ...,
    ) -> Self: ...
    timestamp_ns: int
    """Send time, by CLOCK_REALTIME: nanoseconds."""
    @property
    def source(self) -> str:
        """Name of the sender: text."""
    @source.setter
    def source(self, value: str | builtins.bytes) -> None: ...
    sequence: int
    """Sequence number, one more for each message: count."""
    period_ns: int
    """Time until the next heartbeat, from this one: nanoseconds."""

@final
class NodeHeartbeat(Message):
    """A heartbeat of a node with its timing. No ROS type; the states are those of
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
    """Send time, by CLOCK_REALTIME: nanoseconds."""
    @property
    def name(self) -> str:
        """Name of the node: text."""
    @name.setter
    def name(self, value: str | builtins.bytes) -> None: ...
    tick_count: int
    """Number of ticks: count."""
    period_ns: int
    """Period of the ticks, 0 without a fixed one: nanoseconds."""
    tick_duration_ns: int
    """Duration of the last tick: nanoseconds."""
    tick_duration_max_ns: int
    """Duration of the longest tick: nanoseconds."""
    missed_deadlines: int
    """Number of ticks that ended after their deadline: count."""
    uptime_ns: int
    """Time since the start of the node: nanoseconds."""
    process_id: int
    """Process id, in its own PID namespace: no unit."""
    state: int
    """One of the `STATE_` constants: no unit."""
    level: int
    """One of the constants of `DiagnosticStatus`, such as `OK`: no unit."""
    _reserved: int
    """Reserved, 0: no unit."""

@final
class DiagnosticValue(Message):
    """A named value of a part of the robot, like `diagnostic_msgs/KeyValue`. It has no timestamp:
    it is for use inside `DiagnosticStatus`.
    """
    def __new__(
        cls,
        *,
        key: str | builtins.bytes = ...,
        value: str | builtins.bytes = ...,
    ) -> Self: ...
    @property
    def key(self) -> str:
        """Name of the value: text."""
    @key.setter
    def key(self, value: str | builtins.bytes) -> None: ...
    @property
    def value(self) -> str:
        """The value with its unit: text."""
    @value.setter
    def value(self, value: str | builtins.bytes) -> None: ...

@final
class DiagnosticStatus(Message):
    """State of a part of the robot, like `diagnostic_msgs/DiagnosticStatus`."""
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
    """Time of this state, by CLOCK_REALTIME: nanoseconds."""
    level: int
    """`OK`, `WARN`, `ERROR` or `STALE`; any other number means `ERROR`: no unit."""
    @property
    def _reserved(self) -> npt.NDArray[np.uint8]:
        """Reserved, 0: no unit."""
    @_reserved.setter
    def _reserved(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...
    count: int
    """Number of values, which are the first elements of `values`: count."""
    @property
    def name(self) -> str:
        """Name of the part, such as `base: left motor`: text."""
    @name.setter
    def name(self, value: str | builtins.bytes) -> None: ...
    @property
    def message(self) -> str:
        """Description of the state, for people to read: text."""
    @message.setter
    def message(self, value: str | builtins.bytes) -> None: ...
    @property
    def hardware_id(self) -> str:
        """Identifier of the hardware, such as a serial number: text."""
    @hardware_id.setter
    def hardware_id(self, value: str | builtins.bytes) -> None: ...
    @property
    def values(self) -> tuple[DiagnosticValue, ...]:
        """Further values of the part."""
    @values.setter
    def values(self, value: Iterable[DiagnosticValue]) -> None: ...

@final
class EmergencyStop(Message):
    """State of the emergency stop. No ROS type.

    Every value of `engaged` except 0 means that everything has to stand still, so that a
    damaged message does not release the stop.
    """
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        engaged: int = ...,
        _reserved: Iterable[int] | npt.NDArray[np.uint8] = ...,
        source: str | builtins.bytes = ...,
        reason: str | builtins.bytes = ...,
        monotonic_ns: int = ...,
    ) -> Self: ...
    timestamp_ns: int
    """Time at which the stop was engaged or released, by CLOCK_REALTIME: nanoseconds."""
    engaged: int
    """0 if released, else the stop is engaged: no unit."""
    @property
    def _reserved(self) -> npt.NDArray[np.uint8]:
        """Reserved, 0: no unit."""
    @_reserved.setter
    def _reserved(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...
    @property
    def source(self) -> str:
        """Name of the part that engaged or released the stop: text."""
    @source.setter
    def source(self, value: str | builtins.bytes) -> None: ...
    @property
    def reason(self) -> str:
        """Reason why it was engaged or released, for people to read: text."""
    @reason.setter
    def reason(self, value: str | builtins.bytes) -> None: ...
    monotonic_ns: int
    """Time at which the stop was engaged or released, by CLOCK_MONOTONIC, 0 if unknown; it
    shows which message of several publishers is the last one: nanoseconds.
    """

@final
class SafetyStatus(Message):
    """Motion that the safety functions allow at the moment. No ROS type; the modes are after ISO
    10218.

    A message of all zeros allows nothing.
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
    """Time of this state, by CLOCK_REALTIME: nanoseconds."""
    mode: int
    """One of the `MODE_` constants; any other number means `MODE_FAULT`: no unit."""
    enabled: int
    """1 if the drives are powered: no unit."""
    watchdog_ok: int
    """1 if all watchdogs were served in time: no unit."""
    limits_ok: int
    """1 if positions, speeds and forces are within their limits: no unit."""
    fault_code: int
    """Fault code of the safety controller, 0 if there is none: no unit."""
    speed_max: float
    """Limit of the speed of every part; +∞ without a limit: metres per second."""
    @property
    def message(self) -> str:
        """Reason for the mode, for people to read: text."""
    @message.setter
    def message(self, value: str | builtins.bytes) -> None: ...

@final
class ResourceUsage(Message):
    """Use of a computer's resources. No ROS type."""
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
    """Time of the measurement, by CLOCK_REALTIME: nanoseconds."""
    @property
    def source(self) -> str:
        """Name of the computer or the process: text."""
    @source.setter
    def source(self, value: str | builtins.bytes) -> None: ...
    cpu_load: float
    """Load of all processors together: the number of processors that are in use on average,
    from 0 to `cpu_count`: no unit.
    """
    cpu_temperature: float
    """Temperature, NaN if not measured: degrees Celsius."""
    memory_used_bytes: int
    """Memory in use: bytes."""
    memory_total_bytes: int
    """Total memory: bytes."""
    disk_used_bytes: int
    """Disk space in use: bytes."""
    disk_total_bytes: int
    """Total disk space: bytes."""
    network_received_bytes: int
    """Data received from networks since the start of `source`: bytes."""
    network_sent_bytes: int
    """Data sent to networks since the start of `source`: bytes."""
    uptime_ns: int
    """Time since the start of `source`: nanoseconds."""
    thread_count: int
    """Number of threads: count."""
    cpu_count: int
    """Number of processors: count."""

@final
class NodeEvent(Message):
    """An event of a node, or of the scheduler that runs it: an entry of a log, and of the black
    box. No ROS type.
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
    INCOMPATIBLE: ClassVar[int]
    COMPATIBLE: ClassVar[int]
    TOPIC_MOVED: ClassVar[int]
    NAMESPACE_REMOVED: ClassVar[int]
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
    """Time of the event, by CLOCK_REALTIME: nanoseconds."""
    monotonic_ns: int
    """Time of the event, by CLOCK_MONOTONIC: nanoseconds."""
    tick: int
    """Number of the tick, counted from 0: count."""
    value_ns: int
    """Duration or delay, depending on the kind of event; 0 without one: nanoseconds."""
    @property
    def node(self) -> str:
        """Name of the node, empty for the scheduler itself: text."""
    @node.setter
    def node(self, value: str | builtins.bytes) -> None: ...
    @property
    def text(self) -> str:
        """Details, such as an error or the message of a panic: text."""
    @text.setter
    def text(self, value: str | builtins.bytes) -> None: ...
    process_id: int
    """Process id, in its own PID namespace: no unit."""
    kind: int
    """One of the constants of this message, such as `STARTED`: no unit."""
    level: int
    """One of the constants of `DiagnosticStatus`, such as `OK`: no unit."""
    _reserved: int
    """Reserved, 0: no unit."""

@final
class NodeMetrics(Message):
    """Metrics of a node since its scheduler started. It has no timestamp: it is for use inside
    `SchedulerStatus`. No ROS type.
    """
    CLASS_UNKNOWN: ClassVar[int]
    CLASS_REAL_TIME: ClassVar[int]
    CLASS_COMPUTE: ClassVar[int]
    CLASS_EVENT: ClassVar[int]
    CLASS_ASYNC_IO: ClassVar[int]
    CLASS_BEST_EFFORT: ClassVar[int]
    CLASS_ACTORS: ClassVar[int]
    STATE_UNKNOWN: ClassVar[int]
    STATE_ACTIVE: ClassVar[int]
    STATE_PAUSED: ClassVar[int]
    STATE_BACKING_OFF: ClassVar[int]
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
        skipped_ticks: int = ...,
        failures: int = ...,
        panics: int = ...,
        durations: Iterable[int] | npt.NDArray[np.uint64] = ...,
        lateness: Iterable[int] | npt.NDArray[np.uint64] = ...,
        node_class: int = ...,
        state: int = ...,
        level: int = ...,
        is_paused: int = ...,
        _reserved: Iterable[int] | npt.NDArray[np.uint8] = ...,
    ) -> Self: ...
    @property
    def name(self) -> str:
        """Name of the node: text."""
    @name.setter
    def name(self, value: str | builtins.bytes) -> None: ...
    @property
    def last_error(self) -> str:
        """Text of the last failure: text."""
    @last_error.setter
    def last_error(self, value: str | builtins.bytes) -> None: ...
    ticks: int
    """Number of ticks that have ended: count."""
    period_ns: int
    """Period of the ticks, 0 without a rate: nanoseconds."""
    last_ns: int
    """Duration of the last tick: nanoseconds."""
    max_ns: int
    """Duration of the longest tick: nanoseconds."""
    misses: int
    """Number of misses, which are ticks that ended too late, took too long, began too soon or
    passed their checkpoints in a wrong order, and inputs found too old: count.
    """
    skipped_ticks: int
    """Number of ticks that were skipped because the node was still busy or late: count."""
    failures: int
    """Number of ticks that returned an error or panicked: count."""
    panics: int
    """Number of ticks that panicked: count."""
    @property
    def durations(self) -> npt.NDArray[np.uint64]:
        """Histogram of the durations: element i counts the ticks below 2^i nanoseconds that no
    earlier element counts. The last element counts all others: count.
    """
    @durations.setter
    def durations(self, value: Iterable[int] | npt.NDArray[np.uint64]) -> None: ...
    @property
    def lateness(self) -> npt.NDArray[np.uint64]:
        """Histogram of the delays between due time and start of the ticks, like `durations`:
    count.
    """
    @lateness.setter
    def lateness(self, value: Iterable[int] | npt.NDArray[np.uint64]) -> None: ...
    node_class: int
    """Execution class, one of the `CLASS_` constants: no unit."""
    state: int
    """One of the `STATE_` constants: no unit."""
    level: int
    """One of the constants of `DiagnosticStatus`, such as `OK`: no unit."""
    is_paused: int
    """1 while a command pauses the node, also if `state` is another one, such as `STATE_SAFE`
    in an emergency stop: no unit.
    """
    @property
    def _reserved(self) -> npt.NDArray[np.uint8]:
        """Reserved, 0: no unit."""
    @_reserved.setter
    def _reserved(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...

@final
class NodeCommand(Message):
    """A command to a node or a whole scheduler. No ROS type."""
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
    """Send time, by CLOCK_REALTIME: nanoseconds."""
    @property
    def node(self) -> str:
        """Name of the node, empty for all nodes of the scheduler: text."""
    @node.setter
    def node(self, value: str | builtins.bytes) -> None: ...
    rate_hz: float
    """New rate, for `SET_RATE`: hertz."""
    kind: int
    """One of the constants of this message, such as `PAUSE`: no unit."""
    @property
    def _reserved(self) -> npt.NDArray[np.uint8]:
        """Reserved, 0: no unit."""
    @_reserved.setter
    def _reserved(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...

@final
class Clock(Message):
    """The time of a simulation or a replayed recording, like `rosgraph_msgs/Clock`."""
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        clock_ns: int = ...,
        rate: float = ...,
    ) -> Self: ...
    timestamp_ns: int
    """Send time, by CLOCK_REALTIME: nanoseconds."""
    clock_ns: int
    """Time of the clock: nanoseconds."""
    rate: float
    """Nominal rate of the clock, 1 for real time, 0 if it is stopped: no unit."""

@final
class TimeReference(Message):
    """A reading of another clock, like `sensor_msgs/TimeReference`."""
    def __new__(
        cls,
        *,
        timestamp_ns: int = ...,
        time_ref_ns: int = ...,
        source: str | builtins.bytes = ...,
    ) -> Self: ...
    timestamp_ns: int
    """Time of the reading, by CLOCK_REALTIME: nanoseconds."""
    time_ref_ns: int
    """Time of the other clock: nanoseconds."""
    @property
    def source(self) -> str:
        """Name of the other clock, such as `gps`: text."""
    @source.setter
    def source(self, value: str | builtins.bytes) -> None: ...

@final
class JoystickInput(Message):
    """State of a joystick or gamepad, like `sensor_msgs/Joy`."""
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
    """Time of the reading, by CLOCK_REALTIME: nanoseconds."""
    @property
    def device(self) -> str:
        """Name of the device, such as `/dev/input/js0`: text."""
    @device.setter
    def device(self, value: str | builtins.bytes) -> None: ...
    axis_count: int
    """Number of axes, which are the first elements of `axes`: count."""
    button_count: int
    """Number of buttons, which are the first elements of `buttons`: count."""
    @property
    def axes(self) -> npt.NDArray[np.float32]:
        """Positions of the axes, −1 to 1: no unit."""
    @axes.setter
    def axes(self, value: Iterable[float] | npt.NDArray[np.float32]) -> None: ...
    @property
    def buttons(self) -> npt.NDArray[np.uint8]:
        """For each button, 1 while it is pressed, else 0: no unit."""
    @buttons.setter
    def buttons(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...

@final
class KeyboardInput(Message):
    """A key that was pressed or released. No ROS type. Keys have the numbers of the USB HID usage
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
    """Time of the event, by CLOCK_REALTIME: nanoseconds."""
    key: int
    """Number of the key, such as 4 for the A of a US keyboard: no unit."""
    modifiers: int
    """Sum of the `MODIFIER_` constants of the keys that are held: no unit."""
    action: int
    """One of the `ACTION_` constants: no unit."""
    @property
    def _reserved(self) -> npt.NDArray[np.uint8]:
        """Reserved, 0: no unit."""
    @_reserved.setter
    def _reserved(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...
    @property
    def text(self) -> str:
        """Text that the key types in the current layout, empty if none: text."""
    @text.setter
    def text(self, value: str | builtins.bytes) -> None: ...

@final
class Image(Framed):
    """The header of an `Image`, after `sensor_msgs/Image`: rows of pixels, top row first."""
    def __new__(
        cls,
        data: Buffer | npt.NDArray[Any] | None = None,
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
    """Start of the exposure, by CLOCK_REALTIME: nanoseconds."""
    height: int
    """Number of rows: count."""
    width: int
    """Number of columns: count."""
    step: int
    """Stride from one row to the next: bytes."""
    is_bigendian: int
    """1 if channels of several bytes are big-endian, else 0: no unit."""
    @property
    def _reserved0(self) -> npt.NDArray[np.uint8]:
        """Reserved, 0: no unit."""
    @_reserved0.setter
    def _reserved0(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...
    @property
    def encoding(self) -> str:
        """Name of the pixel format, as in ROS, see `Encoding`: text."""
    @encoding.setter
    def encoding(self, value: str | builtins.bytes) -> None: ...
    @property
    def frame_id(self) -> str:
        """Optical frame of the camera (z forward, x right, y down): text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    @property
    def _reserved1(self) -> npt.NDArray[np.uint64]:
        """Reserved, 0: no unit."""
    @_reserved1.setter
    def _reserved1(self, value: Iterable[int] | npt.NDArray[np.uint64]) -> None: ...

@final
class DepthImage(Framed):
    """The header of a `DepthImage` (REP-118): rows of depths along the optical axis, top row
    first.
    """
    def __new__(
        cls,
        data: Buffer | npt.NDArray[Any] | None = None,
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
    """Start of the exposure, by CLOCK_REALTIME: nanoseconds."""
    height: int
    """Number of rows: count."""
    width: int
    """Number of columns: count."""
    step: int
    """Stride from one row to the next: bytes."""
    unit: float
    """Length that a depth of 1 in the data stands for, 0.001 for millimetres: metres."""
    range_min: float
    """Smallest valid depth: metres."""
    range_max: float
    """Largest valid depth: metres."""
    @property
    def encoding(self) -> str:
        """`16UC1` or `32FC1` (REP-118), in the byte order of the machine: text."""
    @encoding.setter
    def encoding(self, value: str | builtins.bytes) -> None: ...
    @property
    def frame_id(self) -> str:
        """Optical frame of the camera (z forward, x right, y down): text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    @property
    def _reserved(self) -> npt.NDArray[np.uint64]:
        """Reserved, 0: no unit."""
    @_reserved.setter
    def _reserved(self, value: Iterable[int] | npt.NDArray[np.uint64]) -> None: ...

@final
class CompressedImage(Framed):
    """The header of a `CompressedImage`, after `sensor_msgs/CompressedImage`: the output of a
    codec.
    """
    def __new__(
        cls,
        data: Buffer | npt.NDArray[Any] | None = None,
        /,
        *,
        timestamp_ns: int = ...,
        bytes: int = ...,
        format: str | builtins.bytes = ...,
        frame_id: str | builtins.bytes = ...,
        _reserved: Iterable[int] | npt.NDArray[np.uint8] = ...,
    ) -> Self: ...
    timestamp_ns: int
    """Start of the exposure, by CLOCK_REALTIME: nanoseconds."""
    bytes: int
    """Length of the compressed data that follow: bytes."""
    @property
    def format(self) -> str:
        """The codec, such as `jpeg` or `png`, or ROS's longer form `rgb8; jpeg compressed bgr8`:
    text.
    """
    @format.setter
    def format(self, value: str | builtins.bytes) -> None: ...
    @property
    def frame_id(self) -> str:
        """Optical frame of the camera (z forward, x right, y down): text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    @property
    def _reserved(self) -> npt.NDArray[np.uint8]:
        """Reserved, 0: no unit."""
    @_reserved.setter
    def _reserved(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...

@final
class SegmentationMask(Framed):
    """The header of a `SegmentationMask`: rows of class numbers, a byte for each pixel, top row
    first.
    """
    def __new__(
        cls,
        data: Buffer | npt.NDArray[Any] | None = None,
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
    """Time at which the segmented image was taken, by CLOCK_REALTIME: nanoseconds."""
    height: int
    """Number of rows: count."""
    width: int
    """Number of columns: count."""
    step: int
    """Stride from one row to the next: bytes."""
    class_count: int
    """Number of classes, which are numbered from 0: count."""
    @property
    def frame_id(self) -> str:
        """Optical frame of the camera (z forward, x right, y down): text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    _reserved: int
    """Reserved, 0: no unit."""

@final
class PointField(Message):
    """One number, or array of numbers, in each point, like `sensor_msgs/PointField`. It has no
    timestamp: it is for use inside `PointCloudHeader`.
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
        """Name, such as `x`, `y`, `z`, `rgb`, `intensity` or `ring`: text."""
    @name.setter
    def name(self, value: str | builtins.bytes) -> None: ...
    offset: int
    """Offset from the start of a point: bytes."""
    count: int
    """Number of contiguous numbers: count."""
    dtype: int  # type: ignore[assignment]
    """Type of one number, the code of a `DType`: no unit."""
    @property
    def _reserved(self) -> npt.NDArray[np.uint8]:
        """Reserved, 0: no unit."""
    @_reserved.setter
    def _reserved(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...

@final
class PointCloud(Framed):
    """The header of a `PointCloud`, after `sensor_msgs/PointCloud2`: points that have the fields
    described here.
    """
    def __new__(
        cls,
        data: Buffer | npt.NDArray[Any] | None = None,
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
    """Time of the measurement, by CLOCK_REALTIME: nanoseconds."""
    @property
    def frame_id(self) -> str:
        """Frame of the points: text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    height: int
    """Number of rows of an organised cloud, else 1: count."""
    width: int
    """Number of points in a row, or of all points if the cloud is not organised: count."""
    point_step: int
    """Stride from one point to the next: bytes."""
    row_step: int
    """Stride from one row to the next: bytes."""
    field_count: int
    """Number of fields, which are the first elements of `fields`: count."""
    is_bigendian: int
    """1 if numbers are big-endian, else 0: no unit."""
    is_dense: int
    """1 if all points are valid, 0 if some have a NaN as a coordinate: no unit."""
    @property
    def _reserved(self) -> npt.NDArray[np.uint8]:
        """Reserved, 0: no unit."""
    @_reserved.setter
    def _reserved(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...
    @property
    def fields(self) -> tuple[PointField, ...]:
        """Fields of each point: no unit."""
    @fields.setter
    def fields(self, value: Iterable[PointField]) -> None: ...

@final
class Tensor(Framed):
    """The header of a `Tensor`, with the content of DLPack's `DLTensor`: numbers in up to eight
    dimensions.
    """
    def __new__(
        cls,
        data: Buffer | npt.NDArray[Any] | None = None,
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
    """Time of the measurement or computation, by CLOCK_REALTIME: nanoseconds."""
    dtype: int
    """Type of one element, the code of a `DType`: no unit."""
    dimensions: int
    """Number of dimensions, which are the first elements of `shape` and `strides`: count."""
    @property
    def _reserved0(self) -> npt.NDArray[np.uint8]:
        """Reserved, 0: no unit."""
    @_reserved0.setter
    def _reserved0(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...
    @property
    def shape(self) -> npt.NDArray[np.uint64]:
        """Number of elements along each dimension, outermost first: count."""
    @shape.setter
    def shape(self, value: Iterable[int] | npt.NDArray[np.uint64]) -> None: ...
    @property
    def strides(self) -> npt.NDArray[np.uint64]:
        """Stride along each dimension, as in DLPack: elements."""
    @strides.setter
    def strides(self, value: Iterable[int] | npt.NDArray[np.uint64]) -> None: ...
    @property
    def name(self) -> str:
        """Name, such as `images` or `logits`: text."""
    @name.setter
    def name(self, value: str | builtins.bytes) -> None: ...
    @property
    def _reserved1(self) -> npt.NDArray[np.uint8]:
        """Reserved, 0: no unit."""
    @_reserved1.setter
    def _reserved1(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...

@final
class MapMetaData(Message):
    """Size and position of a map, like `nav_msgs/MapMetaData`. It has no timestamp: it is for use
    inside maps.
    """
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
    """Time at which the map was made, by CLOCK_REALTIME: nanoseconds."""
    resolution: float
    """Side length of a cell: metres."""
    width: int
    """Number of cells along x: count."""
    height: int
    """Number of cells along y: count."""
    _reserved: int
    """Reserved, 0: no unit."""
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
        data: Buffer | npt.NDArray[Any] | None = None,
        /,
        *,
        timestamp_ns: int = ...,
        frame_id: str | builtins.bytes = ...,
        info: MapMetaData = ...,
        _reserved: int = ...,
    ) -> Self: ...
    timestamp_ns: int
    """Time for which the content is valid, by CLOCK_REALTIME: nanoseconds."""
    @property
    def frame_id(self) -> str:
        """Frame of the map: text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    info: MapMetaData
    """Size, resolution and position of the map."""
    _reserved: int
    """Reserved, 0: no unit."""

@final
class CostMap(Framed):
    """The header of a `CostMap`, after `nav2_msgs/Costmap`: a byte for each cell, 0 to 252, 253
    and 254 near and in obstacles, 255 if unknown, along x first.
    """
    def __new__(
        cls,
        data: Buffer | npt.NDArray[Any] | None = None,
        /,
        *,
        timestamp_ns: int = ...,
        frame_id: str | builtins.bytes = ...,
        info: MapMetaData = ...,
        layer: str | builtins.bytes = ...,
        _reserved: Iterable[int] | npt.NDArray[np.uint64] = ...,
    ) -> Self: ...
    timestamp_ns: int
    """Time for which the content is valid, by CLOCK_REALTIME: nanoseconds."""
    @property
    def frame_id(self) -> str:
        """Frame of the map: text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    info: MapMetaData
    """Size, resolution and position of the map."""
    @property
    def layer(self) -> str:
        """Layer of the costs, such as `master`: text."""
    @layer.setter
    def layer(self, value: str | builtins.bytes) -> None: ...
    @property
    def _reserved(self) -> npt.NDArray[np.uint64]:
        """Reserved, 0: no unit."""
    @_reserved.setter
    def _reserved(self, value: Iterable[int] | npt.NDArray[np.uint64]) -> None: ...

@final
class AudioFrame(Framed):
    """The header of an `AudioFrame`: uncompressed samples, with the samples of all channels at
    one time stored together.
    """
    def __new__(
        cls,
        data: Buffer | npt.NDArray[Any] | None = None,
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
    """Time of the first sample, by CLOCK_REALTIME: nanoseconds."""
    samples: int
    """Number of samples of each channel: count."""
    sample_rate: int
    """Sample rate of each channel: hertz."""
    channels: int
    """Number of channels: count."""
    dtype: int
    """Type of a sample, the code of a `DType`: no unit."""
    _reserved0: int
    """Reserved, 0: no unit."""
    @property
    def frame_id(self) -> str:
        """Frame of the microphone: text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    _reserved1: int
    """Reserved, 0: no unit."""

@final
class Bytes(Framed):
    """The header of `Bytes`: any data, with the name of their format."""
    def __new__(
        cls,
        data: Buffer | npt.NDArray[Any] | None = None,
        /,
        *,
        timestamp_ns: int = ...,
        bytes: int = ...,
        format: str | builtins.bytes = ...,
    ) -> Self: ...
    timestamp_ns: int
    """Time of creation, by CLOCK_REALTIME: nanoseconds."""
    bytes: int
    """Length of the data that follow: bytes."""
    @property
    def format(self) -> str:
        """Format of the data, preferably a media type such as `application/cbor`: text."""
    @format.setter
    def format(self, value: str | builtins.bytes) -> None: ...

@final
class SchedulerStatus(Framed):
    """The header of a `SchedulerStatus`: the state of a scheduler. The metrics of its nodes
    follow, one `NodeMetrics` after the other.
    """
    STATE_UNKNOWN: ClassVar[int]
    STATE_STARTING: ClassVar[int]
    STATE_RUNNING: ClassVar[int]
    STATE_EMERGENCY_STOP: ClassVar[int]
    STATE_STOPPING: ClassVar[int]
    STATE_STOPPED: ClassVar[int]
    def __new__(
        cls,
        data: Buffer | npt.NDArray[Any] | None = None,
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
    """Time of this state, by CLOCK_REALTIME: nanoseconds."""
    monotonic_ns: int
    """Time of this state, by CLOCK_MONOTONIC: nanoseconds."""
    uptime_ns: int
    """Time since the scheduler started: nanoseconds."""
    @property
    def scheduler(self) -> str:
        """Name of the scheduler: text."""
    @scheduler.setter
    def scheduler(self, value: str | builtins.bytes) -> None: ...
    process_id: int
    """Process id, in its own PID namespace: no unit."""
    count: int
    """Number of nodes that follow: count."""
    node_bytes: int
    """Stride from one node to the next, which is the size of a `NodeMetrics`: bytes."""
    state: int
    """One of the `STATE_` constants: no unit."""
    @property
    def _reserved(self) -> npt.NDArray[np.uint8]:
        """Reserved, 0: no unit."""
    @_reserved.setter
    def _reserved(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...

@final
class LidarScan(Framed):
    """The header of a `LidarScan`, after `sensor_msgs/LaserScan`: the distances in order of
    their angles, then, if they were measured, the intensities in the same order.

    Angles are about z of the sensor, counter-clockwise, 0 along its x. After REP-117 a range of
    +∞ means that nothing was seen, −∞ that an object is too close, and NaN that the measurement
    failed. The unit of the intensities depends on the device.
    """
    def __new__(
        cls,
        data: Buffer | npt.NDArray[Any] | None = None,
        /,
        *,
        timestamp_ns: int = ...,
        frame_id: str | builtins.bytes = ...,
        angle_min: float = ...,
        angle_max: float = ...,
        angle_increment: float = ...,
        time_increment: float = ...,
        scan_time: float = ...,
        range_min: float = ...,
        range_max: float = ...,
        count: int = ...,
        has_intensities: int = ...,
        _reserved0: Iterable[int] | npt.NDArray[np.uint8] = ...,
        _reserved1: Iterable[int] | npt.NDArray[np.uint64] = ...,
    ) -> Self: ...
    timestamp_ns: int
    """Time of the first ray, by CLOCK_REALTIME: nanoseconds."""
    @property
    def frame_id(self) -> str:
        """Frame of the sensor: text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    angle_min: float
    """Angle of the first ray: radians."""
    angle_max: float
    """Angle of the last ray: radians."""
    angle_increment: float
    """Angle from one ray to the next: radians."""
    time_increment: float
    """Time from one ray to the next: seconds."""
    scan_time: float
    """Time from one sweep to the next: seconds."""
    range_min: float
    """Shortest valid range: metres."""
    range_max: float
    """Longest valid range: metres."""
    count: int
    """Number of rays: count."""
    has_intensities: int
    """1 if an intensity for each ray follows the ranges, else 0: no unit."""
    @property
    def _reserved0(self) -> npt.NDArray[np.uint8]:
        """Reserved, 0: no unit."""
    @_reserved0.setter
    def _reserved0(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...
    @property
    def _reserved1(self) -> npt.NDArray[np.uint64]:
        """Reserved, 0: no unit."""
    @_reserved1.setter
    def _reserved1(self, value: Iterable[int] | npt.NDArray[np.uint64]) -> None: ...

@final
class Joint(Message):
    """Measured state of one joint. It has no timestamp: it is for use in a `JointStateArray`.

    The units are those of a revolute joint. For a prismatic joint, radians become metres and
    newton-metres become newtons. NaN marks a value that is not measured. Its size is one cache
    line.
    """
    def __new__(
        cls,
        *,
        name: str | builtins.bytes = ...,
        position: float = ...,
        velocity: float = ...,
        effort: float = ...,
    ) -> Self: ...
    @property
    def name(self) -> str:
        """Name of the joint, such as `left_wrist_roll`: text."""
    @name.setter
    def name(self, value: str | builtins.bytes) -> None: ...
    position: float
    """Position: radians."""
    velocity: float
    """Velocity: radians per second."""
    effort: float
    """Torque: N·m."""

@final
class JointStateArray(Framed):
    """The header of a `JointStateArray`, after `sensor_msgs/JointState`: a `Joint` for each
    joint.
    """
    def __new__(
        cls,
        data: Buffer | npt.NDArray[Any] | None = None,
        /,
        *,
        timestamp_ns: int = ...,
        frame_id: str | builtins.bytes = ...,
        count: int = ...,
        joint_bytes: int = ...,
        _reserved: Iterable[int] | npt.NDArray[np.uint8] = ...,
    ) -> Self: ...
    timestamp_ns: int
    """Time of the measurement, by CLOCK_REALTIME: nanoseconds."""
    @property
    def frame_id(self) -> str:
        """Frame of the state, usually empty: text."""
    @frame_id.setter
    def frame_id(self, value: str | builtins.bytes) -> None: ...
    count: int
    """Number of joints that follow: count."""
    joint_bytes: int
    """Stride from one joint to the next, which is the size of a `Joint`: bytes."""
    @property
    def _reserved(self) -> npt.NDArray[np.uint8]:
        """Reserved, 0: no unit."""
    @_reserved.setter
    def _reserved(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...

@final
class LogLine(Framed):
    """The header of a `LogLine`, which `log` writes. The text of the line
    follows.
    """
    ERROR: ClassVar[int]
    WARN: ClassVar[int]
    INFO: ClassVar[int]
    DEBUG: ClassVar[int]
    TRACE: ClassVar[int]
    def __new__(
        cls,
        data: Buffer | npt.NDArray[Any] | None = None,
        /,
        *,
        timestamp_ns: int = ...,
        monotonic_ns: int = ...,
        sequence: int = ...,
        process_id: int = ...,
        thread_id: int = ...,
        source_line: int = ...,
        text_bytes: int = ...,
        cut_bytes: int = ...,
        level: int = ...,
        is_deferred: int = ...,
        _reserved: Iterable[int] | npt.NDArray[np.uint8] = ...,
        thread: str | builtins.bytes = ...,
        node: str | builtins.bytes = ...,
        target: str | builtins.bytes = ...,
        source_file: str | builtins.bytes = ...,
    ) -> Self: ...
    timestamp_ns: int
    """Time of the call, by CLOCK_REALTIME: nanoseconds."""
    monotonic_ns: int
    """Time of the call, by CLOCK_MONOTONIC: nanoseconds."""
    sequence: int
    """Number of the line in its process, from 1 on; a gap is a line that was lost: no unit."""
    process_id: int
    """Process id, in its own PID namespace: no unit."""
    thread_id: int
    """Thread id, in its own PID namespace: no unit."""
    source_line: int
    """Line of the source file, 0 if unknown: no unit."""
    text_bytes: int
    """Length of the text that follows: bytes."""
    cut_bytes: int
    """Number of bytes at the end of the text that were cut off, because they did not fit:
    bytes.
    """
    level: int
    """One of the constants from `ERROR` to `TRACE`: no unit."""
    is_deferred: int
    """1 if another thread prints the line, because the thread that logged it must not wait for
    stderr: no unit.
    """
    @property
    def _reserved(self) -> npt.NDArray[np.uint8]:
        """Reserved, 0: no unit."""
    @_reserved.setter
    def _reserved(self, value: Iterable[int] | npt.NDArray[np.uint8]) -> None: ...
    @property
    def thread(self) -> str:
        """Name of the thread: text."""
    @thread.setter
    def thread(self, value: str | builtins.bytes) -> None: ...
    @property
    def node(self) -> str:
        """Name of the node that logged the line, empty if no node did: text."""
    @node.setter
    def node(self, value: str | builtins.bytes) -> None: ...
    @property
    def target(self) -> str:
        """Name of the logger, such as a module of Rust: text."""
    @target.setter
    def target(self, value: str | builtins.bytes) -> None: ...
    @property
    def source_file(self) -> str:
        """Path of the source file, without its beginning if it is long; empty if unknown: text."""
    @source_file.setter
    def source_file(self, value: str | builtins.bytes) -> None: ...
