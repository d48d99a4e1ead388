// @generated from the table of fields in horus_core/src/message/. C++17.
#ifndef HORUS_MSG_HPP
#define HORUS_MSG_HPP

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <horus/schema.hpp>

// Macros with the names of constants are set aside, and restored at the end.
#pragma push_macro("ACTION_PRESSED")
#undef ACTION_PRESSED
#pragma push_macro("ACTION_RELEASED")
#undef ACTION_RELEASED
#pragma push_macro("ACTION_REPEATED")
#undef ACTION_REPEATED
#pragma push_macro("ANTIWINDUP_BACK_CALCULATION")
#undef ANTIWINDUP_BACK_CALCULATION
#pragma push_macro("ANTIWINDUP_CONDITIONAL_INTEGRATION")
#undef ANTIWINDUP_CONDITIONAL_INTEGRATION
#pragma push_macro("ANTIWINDUP_NONE")
#undef ANTIWINDUP_NONE
#pragma push_macro("CHECKPOINT")
#undef CHECKPOINT
#pragma push_macro("CLASS_ACTORS")
#undef CLASS_ACTORS
#pragma push_macro("CLASS_ASYNC_IO")
#undef CLASS_ASYNC_IO
#pragma push_macro("CLASS_BEST_EFFORT")
#undef CLASS_BEST_EFFORT
#pragma push_macro("CLASS_COMPUTE")
#undef CLASS_COMPUTE
#pragma push_macro("CLASS_EVENT")
#undef CLASS_EVENT
#pragma push_macro("CLASS_REAL_TIME")
#undef CLASS_REAL_TIME
#pragma push_macro("CLASS_UNKNOWN")
#undef CLASS_UNKNOWN
#pragma push_macro("COMMAND")
#undef COMMAND
#pragma push_macro("COMPATIBLE")
#undef COMPATIBLE
#pragma push_macro("COVARIANCE_TYPE_APPROXIMATED")
#undef COVARIANCE_TYPE_APPROXIMATED
#pragma push_macro("COVARIANCE_TYPE_DIAGONAL_KNOWN")
#undef COVARIANCE_TYPE_DIAGONAL_KNOWN
#pragma push_macro("COVARIANCE_TYPE_KNOWN")
#undef COVARIANCE_TYPE_KNOWN
#pragma push_macro("COVARIANCE_TYPE_UNKNOWN")
#undef COVARIANCE_TYPE_UNKNOWN
#pragma push_macro("DEBUG")
#undef DEBUG
#pragma push_macro("EMERGENCY_OVER")
#undef EMERGENCY_OVER
#pragma push_macro("EMERGENCY_STOP")
#undef EMERGENCY_STOP
#pragma push_macro("ERROR")
#undef ERROR
#pragma push_macro("FAILED")
#undef FAILED
#pragma push_macro("FINISHED")
#undef FINISHED
#pragma push_macro("FRESH_INPUT")
#undef FRESH_INPUT
#pragma push_macro("INCOMPATIBLE")
#undef INCOMPATIBLE
#pragma push_macro("INFO")
#undef INFO
#pragma push_macro("INFRARED")
#undef INFRARED
#pragma push_macro("KIND_MARKER")
#undef KIND_MARKER
#pragma push_macro("KIND_POINT")
#undef KIND_POINT
#pragma push_macro("KIND_POLE")
#undef KIND_POLE
#pragma push_macro("KIND_REFLECTOR")
#undef KIND_REFLECTOR
#pragma push_macro("LANE_MAPPED")
#undef LANE_MAPPED
#pragma push_macro("LANE_NOT_MAPPED")
#undef LANE_NOT_MAPPED
#pragma push_macro("MISSED")
#undef MISSED
#pragma push_macro("MODE_DISABLED")
#undef MODE_DISABLED
#pragma push_macro("MODE_DUTY_CYCLE")
#undef MODE_DUTY_CYCLE
#pragma push_macro("MODE_EFFORT")
#undef MODE_EFFORT
#pragma push_macro("MODE_EMERGENCY_STOP")
#undef MODE_EMERGENCY_STOP
#pragma push_macro("MODE_FAULT")
#undef MODE_FAULT
#pragma push_macro("MODE_IMPEDANCE")
#undef MODE_IMPEDANCE
#pragma push_macro("MODE_NORMAL")
#undef MODE_NORMAL
#pragma push_macro("MODE_POSITION")
#undef MODE_POSITION
#pragma push_macro("MODE_PROTECTIVE_STOP")
#undef MODE_PROTECTIVE_STOP
#pragma push_macro("MODE_REDUCED")
#undef MODE_REDUCED
#pragma push_macro("MODE_UNKNOWN")
#undef MODE_UNKNOWN
#pragma push_macro("MODE_VELOCITY")
#undef MODE_VELOCITY
#pragma push_macro("MODIFIER_ALT")
#undef MODIFIER_ALT
#pragma push_macro("MODIFIER_CONTROL")
#undef MODIFIER_CONTROL
#pragma push_macro("MODIFIER_META")
#undef MODIFIER_META
#pragma push_macro("MODIFIER_SHIFT")
#undef MODIFIER_SHIFT
#pragma push_macro("NAMESPACE_REMOVED")
#undef NAMESPACE_REMOVED
#pragma push_macro("OK")
#undef OK
#pragma push_macro("PANICKED")
#undef PANICKED
#pragma push_macro("PAUSE")
#undef PAUSE
#pragma push_macro("PAUSED")
#undef PAUSED
#pragma push_macro("POWER_SUPPLY_HEALTH_COLD")
#undef POWER_SUPPLY_HEALTH_COLD
#pragma push_macro("POWER_SUPPLY_HEALTH_DEAD")
#undef POWER_SUPPLY_HEALTH_DEAD
#pragma push_macro("POWER_SUPPLY_HEALTH_GOOD")
#undef POWER_SUPPLY_HEALTH_GOOD
#pragma push_macro("POWER_SUPPLY_HEALTH_OVERHEAT")
#undef POWER_SUPPLY_HEALTH_OVERHEAT
#pragma push_macro("POWER_SUPPLY_HEALTH_OVERVOLTAGE")
#undef POWER_SUPPLY_HEALTH_OVERVOLTAGE
#pragma push_macro("POWER_SUPPLY_HEALTH_SAFETY_TIMER_EXPIRE")
#undef POWER_SUPPLY_HEALTH_SAFETY_TIMER_EXPIRE
#pragma push_macro("POWER_SUPPLY_HEALTH_UNKNOWN")
#undef POWER_SUPPLY_HEALTH_UNKNOWN
#pragma push_macro("POWER_SUPPLY_HEALTH_UNSPEC_FAILURE")
#undef POWER_SUPPLY_HEALTH_UNSPEC_FAILURE
#pragma push_macro("POWER_SUPPLY_HEALTH_WATCHDOG_TIMER_EXPIRE")
#undef POWER_SUPPLY_HEALTH_WATCHDOG_TIMER_EXPIRE
#pragma push_macro("POWER_SUPPLY_STATUS_CHARGING")
#undef POWER_SUPPLY_STATUS_CHARGING
#pragma push_macro("POWER_SUPPLY_STATUS_DISCHARGING")
#undef POWER_SUPPLY_STATUS_DISCHARGING
#pragma push_macro("POWER_SUPPLY_STATUS_FULL")
#undef POWER_SUPPLY_STATUS_FULL
#pragma push_macro("POWER_SUPPLY_STATUS_NOT_CHARGING")
#undef POWER_SUPPLY_STATUS_NOT_CHARGING
#pragma push_macro("POWER_SUPPLY_STATUS_UNKNOWN")
#undef POWER_SUPPLY_STATUS_UNKNOWN
#pragma push_macro("POWER_SUPPLY_TECHNOLOGY_LIFE")
#undef POWER_SUPPLY_TECHNOLOGY_LIFE
#pragma push_macro("POWER_SUPPLY_TECHNOLOGY_LIMN")
#undef POWER_SUPPLY_TECHNOLOGY_LIMN
#pragma push_macro("POWER_SUPPLY_TECHNOLOGY_LION")
#undef POWER_SUPPLY_TECHNOLOGY_LION
#pragma push_macro("POWER_SUPPLY_TECHNOLOGY_LIPO")
#undef POWER_SUPPLY_TECHNOLOGY_LIPO
#pragma push_macro("POWER_SUPPLY_TECHNOLOGY_NICD")
#undef POWER_SUPPLY_TECHNOLOGY_NICD
#pragma push_macro("POWER_SUPPLY_TECHNOLOGY_NIMH")
#undef POWER_SUPPLY_TECHNOLOGY_NIMH
#pragma push_macro("POWER_SUPPLY_TECHNOLOGY_TERNARY")
#undef POWER_SUPPLY_TECHNOLOGY_TERNARY
#pragma push_macro("POWER_SUPPLY_TECHNOLOGY_UNKNOWN")
#undef POWER_SUPPLY_TECHNOLOGY_UNKNOWN
#pragma push_macro("RATE_CHANGED")
#undef RATE_CHANGED
#pragma push_macro("RECOVERED")
#undef RECOVERED
#pragma push_macro("REFUSED")
#undef REFUSED
#pragma push_macro("RESUME")
#undef RESUME
#pragma push_macro("RESUMED")
#undef RESUMED
#pragma push_macro("SAFE_STATE_ENTERED")
#undef SAFE_STATE_ENTERED
#pragma push_macro("SAFE_STATE_LEFT")
#undef SAFE_STATE_LEFT
#pragma push_macro("SCHEDULER_STARTED")
#undef SCHEDULER_STARTED
#pragma push_macro("SCHEDULER_STOPPED")
#undef SCHEDULER_STOPPED
#pragma push_macro("SERVICE_COMPASS")
#undef SERVICE_COMPASS
#pragma push_macro("SERVICE_GALILEO")
#undef SERVICE_GALILEO
#pragma push_macro("SERVICE_GLONASS")
#undef SERVICE_GLONASS
#pragma push_macro("SERVICE_GPS")
#undef SERVICE_GPS
#pragma push_macro("SERVICE_UNKNOWN")
#undef SERVICE_UNKNOWN
#pragma push_macro("SET_RATE")
#undef SET_RATE
#pragma push_macro("STALE")
#undef STALE
#pragma push_macro("STALE_INPUT")
#undef STALE_INPUT
#pragma push_macro("STARTED")
#undef STARTED
#pragma push_macro("STATE_ACTIVE")
#undef STATE_ACTIVE
#pragma push_macro("STATE_BACKING_OFF")
#undef STATE_BACKING_OFF
#pragma push_macro("STATE_COASTING")
#undef STATE_COASTING
#pragma push_macro("STATE_CONFIRMED")
#undef STATE_CONFIRMED
#pragma push_macro("STATE_DELETED")
#undef STATE_DELETED
#pragma push_macro("STATE_EMERGENCY_STOP")
#undef STATE_EMERGENCY_STOP
#pragma push_macro("STATE_FINALIZED")
#undef STATE_FINALIZED
#pragma push_macro("STATE_INACTIVE")
#undef STATE_INACTIVE
#pragma push_macro("STATE_PAUSED")
#undef STATE_PAUSED
#pragma push_macro("STATE_RUNNING")
#undef STATE_RUNNING
#pragma push_macro("STATE_SAFE")
#undef STATE_SAFE
#pragma push_macro("STATE_STARTING")
#undef STATE_STARTING
#pragma push_macro("STATE_STOPPED")
#undef STATE_STOPPED
#pragma push_macro("STATE_STOPPING")
#undef STATE_STOPPING
#pragma push_macro("STATE_STUCK")
#undef STATE_STUCK
#pragma push_macro("STATE_TENTATIVE")
#undef STATE_TENTATIVE
#pragma push_macro("STATE_UNCONFIGURED")
#undef STATE_UNCONFIGURED
#pragma push_macro("STATE_UNKNOWN")
#undef STATE_UNKNOWN
#pragma push_macro("STATUS_ABORTED")
#undef STATUS_ABORTED
#pragma push_macro("STATUS_ACCEPTED")
#undef STATUS_ACCEPTED
#pragma push_macro("STATUS_CANCELED")
#undef STATUS_CANCELED
#pragma push_macro("STATUS_CANCELING")
#undef STATUS_CANCELING
#pragma push_macro("STATUS_EXECUTING")
#undef STATUS_EXECUTING
#pragma push_macro("STATUS_FIX")
#undef STATUS_FIX
#pragma push_macro("STATUS_GBAS_FIX")
#undef STATUS_GBAS_FIX
#pragma push_macro("STATUS_NO_FIX")
#undef STATUS_NO_FIX
#pragma push_macro("STATUS_SBAS_FIX")
#undef STATUS_SBAS_FIX
#pragma push_macro("STATUS_SUCCEEDED")
#undef STATUS_SUCCEEDED
#pragma push_macro("STATUS_UNKNOWN")
#undef STATUS_UNKNOWN
#pragma push_macro("STOP")
#undef STOP
#pragma push_macro("STOPPED")
#undef STOPPED
#pragma push_macro("STOP_SCHEDULER")
#undef STOP_SCHEDULER
#pragma push_macro("STUCK")
#undef STUCK
#pragma push_macro("SWAPPED")
#undef SWAPPED
#pragma push_macro("SWAP_FAILED")
#undef SWAP_FAILED
#pragma push_macro("TOPIC_MOVED")
#undef TOPIC_MOVED
#pragma push_macro("TRACE")
#undef TRACE
#pragma push_macro("ULTRASOUND")
#undef ULTRASOUND
#pragma push_macro("WARN")
#undef WARN

namespace horus {

/// A point in space, like `geometry_msgs/Point`. It has no timestamp: it is for use inside
/// other messages, and for computing.
struct alignas(8) Point3 {
    /// Coordinate x: metres.
    double x;
    /// Coordinate y: metres.
    double y;
    /// Coordinate z: metres.
    double z;
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x7682045822f34049u, 0x9ea8671d740c5cd7u};
};
static_assert(sizeof(Point3) == 24, "size of Point3");
static_assert(alignof(Point3) == 8, "alignment of Point3");
static_assert(std::is_trivially_copyable_v<Point3> && std::is_standard_layout_v<Point3>);
static_assert(offsetof(Point3, x) == 0);
static_assert(offsetof(Point3, y) == 8);
static_assert(offsetof(Point3, z) == 16);
HORUS_MESSAGE(Point3, x, y, z);

/// A direction with a length, like `geometry_msgs/Vector3`. It has no timestamp: it is for use
/// inside other messages, and for computing.
struct alignas(8) Vector3 {
    /// Component along x: depends on the use.
    double x;
    /// Component along y: depends on the use.
    double y;
    /// Component along z: depends on the use.
    double z;
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x70ab4246b67c63afu, 0x3f456aacae8ecbd6u};
};
static_assert(sizeof(Vector3) == 24, "size of Vector3");
static_assert(alignof(Vector3) == 8, "alignment of Vector3");
static_assert(std::is_trivially_copyable_v<Vector3> && std::is_standard_layout_v<Vector3>);
static_assert(offsetof(Vector3, x) == 0);
static_assert(offsetof(Vector3, y) == 8);
static_assert(offsetof(Vector3, z) == 16);
HORUS_MESSAGE(Vector3, x, y, z);

/// A rotation in space as a unit quaternion, like `geometry_msgs/Quaternion`. It has no
/// timestamp: it is for use inside other messages, and for computing.
struct alignas(8) Quaternion {
    /// sin(half the angle) times the axis along x: no unit.
    double x;
    /// sin(half the angle) times the axis along y: no unit.
    double y;
    /// sin(half the angle) times the axis along z: no unit.
    double z;
    /// cos(half the angle): no unit.
    double w = 1.0;
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0xf280916dd2e78ee0u, 0x446e784fbb8121a9u};
};
static_assert(sizeof(Quaternion) == 32, "size of Quaternion");
static_assert(alignof(Quaternion) == 8, "alignment of Quaternion");
static_assert(std::is_trivially_copyable_v<Quaternion> && std::is_standard_layout_v<Quaternion>);
static_assert(offsetof(Quaternion, x) == 0);
static_assert(offsetof(Quaternion, y) == 8);
static_assert(offsetof(Quaternion, z) == 16);
static_assert(offsetof(Quaternion, w) == 24);
HORUS_MESSAGE(Quaternion, x, y, z, w);

/// Pose of a child frame in its parent frame, like `geometry_msgs/Transform`. It converts
/// coordinates of the child's frame to the parent's: it rotates them and then translates them.
/// It has no names and no timestamp: it is for computing; `TransformStamped` is the message
/// to send.
struct alignas(8) Transform {
    /// The child's origin in the parent's frame, x, y, z: metres.
    double translation[3];
    /// Unit quaternion x, y, z, w: no unit.
    double rotation[4] = {0.0, 0.0, 0.0, 1.0};
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x85d626f2d893ce6du, 0xadb2d92a2a065682u};
};
static_assert(sizeof(Transform) == 56, "size of Transform");
static_assert(alignof(Transform) == 8, "alignment of Transform");
static_assert(std::is_trivially_copyable_v<Transform> && std::is_standard_layout_v<Transform>);
static_assert(offsetof(Transform, translation) == 0);
static_assert(offsetof(Transform, rotation) == 24);
HORUS_MESSAGE(Transform, translation, rotation);

/// Position and heading in the plane, like `geometry_msgs/Pose2D`; in the frame of the topic.
struct alignas(8) Pose2D {
    /// Time of the measurement or command, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Coordinate x: metres.
    double x;
    /// Coordinate y: metres.
    double y;
    /// Heading from the x axis, counter-clockwise: radians.
    double theta;
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x5bc725ec9dd69896u, 0x22d3af54adcb3030u};
};
static_assert(sizeof(Pose2D) == 32, "size of Pose2D");
static_assert(alignof(Pose2D) == 8, "alignment of Pose2D");
static_assert(std::is_trivially_copyable_v<Pose2D> && std::is_standard_layout_v<Pose2D>);
static_assert(offsetof(Pose2D, timestamp_ns) == 0);
static_assert(offsetof(Pose2D, x) == 8);
static_assert(offsetof(Pose2D, y) == 16);
static_assert(offsetof(Pose2D, theta) == 24);
HORUS_MESSAGE(Pose2D, timestamp_ns, x, y, theta);

/// Position and orientation in space, like `geometry_msgs/Pose` with a time; in the frame of
/// the topic. Its size is one cache line.
struct alignas(8) Pose3D {
    /// Time of the measurement or command, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Position x, y, z: metres.
    double position[3];
    /// Unit quaternion x, y, z, w: no unit.
    double orientation[4] = {0.0, 0.0, 0.0, 1.0};
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x2de247eef6942b85u, 0xe02a56b0c739b8e4u};
};
static_assert(sizeof(Pose3D) == 64, "size of Pose3D");
static_assert(alignof(Pose3D) == 8, "alignment of Pose3D");
static_assert(std::is_trivially_copyable_v<Pose3D> && std::is_standard_layout_v<Pose3D>);
static_assert(offsetof(Pose3D, timestamp_ns) == 0);
static_assert(offsetof(Pose3D, position) == 8);
static_assert(offsetof(Pose3D, orientation) == 32);
HORUS_MESSAGE(Pose3D, timestamp_ns, position, orientation);

/// Position and orientation in a named frame, like `geometry_msgs/PoseStamped`.
struct alignas(8) PoseStamped {
    /// Time of the measurement or command, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Frame of the pose: text.
    char frame_id[32];
    /// Position x, y, z: metres.
    double position[3];
    /// Unit quaternion x, y, z, w: no unit.
    double orientation[4] = {0.0, 0.0, 0.0, 1.0};
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x46dea6ebfacb4167u, 0xb04599cf1f80e2bfu};
};
static_assert(sizeof(PoseStamped) == 96, "size of PoseStamped");
static_assert(alignof(PoseStamped) == 8, "alignment of PoseStamped");
static_assert(std::is_trivially_copyable_v<PoseStamped> && std::is_standard_layout_v<PoseStamped>);
static_assert(offsetof(PoseStamped, timestamp_ns) == 0);
static_assert(offsetof(PoseStamped, frame_id) == 8);
static_assert(offsetof(PoseStamped, position) == 40);
static_assert(offsetof(PoseStamped, orientation) == 64);
HORUS_MESSAGE(PoseStamped, timestamp_ns, frame_id, position, orientation);

/// An estimated pose, like `geometry_msgs/PoseWithCovariance` with a time; in the frame of the
/// topic, usually `map`.
///
/// The covariance is row-major 6 × 6 over (x, y, z, rotation about x, y, z); all zeros means
/// unknown.
struct alignas(8) PoseWithCovariance {
    /// Time for which the pose is valid, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Position x, y, z: metres.
    double position[3];
    /// Unit quaternion x, y, z, w: no unit.
    double orientation[4] = {0.0, 0.0, 0.0, 1.0};
    /// Covariance of the position, of position and rotation, and of the rotation: m², m·rad,
    /// rad².
    double covariance[36];
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x63d01107de6d3857u, 0x370142cc11540372u};
};
static_assert(sizeof(PoseWithCovariance) == 352, "size of PoseWithCovariance");
static_assert(alignof(PoseWithCovariance) == 8, "alignment of PoseWithCovariance");
static_assert(std::is_trivially_copyable_v<PoseWithCovariance> && std::is_standard_layout_v<PoseWithCovariance>);
static_assert(offsetof(PoseWithCovariance, timestamp_ns) == 0);
static_assert(offsetof(PoseWithCovariance, position) == 8);
static_assert(offsetof(PoseWithCovariance, orientation) == 32);
static_assert(offsetof(PoseWithCovariance, covariance) == 64);
HORUS_MESSAGE(PoseWithCovariance, timestamp_ns, position, orientation, covariance);

/// Velocity of a body in space, like `geometry_msgs/TwistStamped`; in the body's own frame.
struct alignas(8) Twist {
    /// Time of the measurement or command, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Velocity along x, y, z: metres per second.
    double linear[3];
    /// Angular velocity about x, y, z: radians per second.
    double angular[3];
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x259e73172a7989bbu, 0x412055e9b1a6866bu};
};
static_assert(sizeof(Twist) == 56, "size of Twist");
static_assert(alignof(Twist) == 8, "alignment of Twist");
static_assert(std::is_trivially_copyable_v<Twist> && std::is_standard_layout_v<Twist>);
static_assert(offsetof(Twist, timestamp_ns) == 0);
static_assert(offsetof(Twist, linear) == 8);
static_assert(offsetof(Twist, angular) == 32);
HORUS_MESSAGE(Twist, timestamp_ns, linear, angular);

/// An estimated velocity, like `geometry_msgs/TwistWithCovariance` with a time; in the body's
/// own frame.
///
/// The covariance is row-major 6 × 6 over (velocity along x, y, z, and about x, y, z); all
/// zeros means unknown.
struct alignas(8) TwistWithCovariance {
    /// Time for which the velocity is valid, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Velocity along x, y, z: metres per second.
    double linear[3];
    /// Angular velocity about x, y, z: radians per second.
    double angular[3];
    /// Covariance of the linear velocity, of linear and angular velocity, and of the angular
    /// velocity: m²/s², m·rad/s², rad²/s².
    double covariance[36];
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0xf088a2d640c0e1f6u, 0xb43628b0f1496e85u};
};
static_assert(sizeof(TwistWithCovariance) == 344, "size of TwistWithCovariance");
static_assert(alignof(TwistWithCovariance) == 8, "alignment of TwistWithCovariance");
static_assert(std::is_trivially_copyable_v<TwistWithCovariance> && std::is_standard_layout_v<TwistWithCovariance>);
static_assert(offsetof(TwistWithCovariance, timestamp_ns) == 0);
static_assert(offsetof(TwistWithCovariance, linear) == 8);
static_assert(offsetof(TwistWithCovariance, angular) == 32);
static_assert(offsetof(TwistWithCovariance, covariance) == 56);
HORUS_MESSAGE(TwistWithCovariance, timestamp_ns, linear, angular, covariance);

/// Acceleration of a body in space, like `geometry_msgs/AccelStamped`; in the body's own frame.
struct alignas(8) Accel {
    /// Time of the measurement or command, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Acceleration along x, y, z: m/s².
    double linear[3];
    /// Angular acceleration about x, y, z: rad/s².
    double angular[3];
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x044a25e6df18e5fau, 0xab2cfa0889ca6b58u};
};
static_assert(sizeof(Accel) == 56, "size of Accel");
static_assert(alignof(Accel) == 8, "alignment of Accel");
static_assert(std::is_trivially_copyable_v<Accel> && std::is_standard_layout_v<Accel>);
static_assert(offsetof(Accel, timestamp_ns) == 0);
static_assert(offsetof(Accel, linear) == 8);
static_assert(offsetof(Accel, angular) == 32);
HORUS_MESSAGE(Accel, timestamp_ns, linear, angular);

/// Pose of the frame `child_frame_id` in the frame `frame_id`, like
/// `geometry_msgs/TransformStamped`. It converts coordinates of the child's frame to the
/// parent's.
struct alignas(8) TransformStamped {
    /// Time for which the transform is valid, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Name of the parent, such as `odom`: text.
    char frame_id[32];
    /// Name of the child, such as `base_link`: text.
    char child_frame_id[32];
    /// The child's origin in the parent's frame, x, y, z: metres.
    double translation[3];
    /// Unit quaternion x, y, z, w: no unit.
    double rotation[4] = {0.0, 0.0, 0.0, 1.0};
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x3b5a63b80b73ea93u, 0xef668925dd31bd67u};
};
static_assert(sizeof(TransformStamped) == 128, "size of TransformStamped");
static_assert(alignof(TransformStamped) == 8, "alignment of TransformStamped");
static_assert(std::is_trivially_copyable_v<TransformStamped> && std::is_standard_layout_v<TransformStamped>);
static_assert(offsetof(TransformStamped, timestamp_ns) == 0);
static_assert(offsetof(TransformStamped, frame_id) == 8);
static_assert(offsetof(TransformStamped, child_frame_id) == 40);
static_assert(offsetof(TransformStamped, translation) == 72);
static_assert(offsetof(TransformStamped, rotation) == 96);
HORUS_MESSAGE(TransformStamped, timestamp_ns, frame_id, child_frame_id, translation, rotation);

/// Force and torque on a body about the origin of its frame, like `geometry_msgs/Wrench` with a
/// time. The frame is that of the body or of the sensor.
struct alignas(8) Wrench {
    /// Time of the measurement or command, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Force along x, y, z: newtons.
    double force[3];
    /// Torque about x, y, z: N·m.
    double torque[3];
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x0ea493aea20ddad5u, 0x55863e42f86a347du};
};
static_assert(sizeof(Wrench) == 56, "size of Wrench");
static_assert(alignof(Wrench) == 8, "alignment of Wrench");
static_assert(std::is_trivially_copyable_v<Wrench> && std::is_standard_layout_v<Wrench>);
static_assert(offsetof(Wrench, timestamp_ns) == 0);
static_assert(offsetof(Wrench, force) == 8);
static_assert(offsetof(Wrench, torque) == 32);
HORUS_MESSAGE(Wrench, timestamp_ns, force, torque);

/// Force and torque in a named frame and about its origin, like `geometry_msgs/WrenchStamped`.
struct alignas(8) WrenchStamped {
    /// Time of the measurement or command, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Frame of force and torque: text.
    char frame_id[32];
    /// Force along x, y, z: newtons.
    double force[3];
    /// Torque about x, y, z: N·m.
    double torque[3];
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x2d792e3487889692u, 0xf543f4b9d055cffbu};
};
static_assert(sizeof(WrenchStamped) == 88, "size of WrenchStamped");
static_assert(alignof(WrenchStamped) == 8, "alignment of WrenchStamped");
static_assert(std::is_trivially_copyable_v<WrenchStamped> && std::is_standard_layout_v<WrenchStamped>);
static_assert(offsetof(WrenchStamped, timestamp_ns) == 0);
static_assert(offsetof(WrenchStamped, frame_id) == 8);
static_assert(offsetof(WrenchStamped, force) == 40);
static_assert(offsetof(WrenchStamped, torque) == 64);
HORUS_MESSAGE(WrenchStamped, timestamp_ns, frame_id, force, torque);

/// One sample of an inertial measurement unit, like `sensor_msgs/Imu`.
///
/// Angular velocities and accelerations are in the frame of the unit. The orientation is that
/// of this frame in a frame with x east, y north and z up (REP-103). Covariances are row-major
/// 3 × 3 over x, y, z. All zeros means unknown; −1 as the first element means that the unit
/// does not provide this quantity.
struct alignas(8) Imu {
    /// Time of the sample, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Unit quaternion x, y, z, w: no unit.
    double orientation[4] = {0.0, 0.0, 0.0, 1.0};
    /// Covariance of rotations about x, y, z: rad².
    double orientation_covariance[9] = {-1.0};
    /// Angular velocity about x, y, z: radians per second.
    double angular_velocity[3];
    /// Covariance of `angular_velocity`: rad²/s².
    double angular_velocity_covariance[9];
    /// Acceleration along x, y, z, with gravity, as accelerometers measure it: m/s².
    double linear_acceleration[3];
    /// Covariance of `linear_acceleration`: m²/s⁴.
    double linear_acceleration_covariance[9];
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x1fb88ec2e68fac71u, 0x66c0f92fed9c36a9u};
};
static_assert(sizeof(Imu) == 304, "size of Imu");
static_assert(alignof(Imu) == 8, "alignment of Imu");
static_assert(std::is_trivially_copyable_v<Imu> && std::is_standard_layout_v<Imu>);
static_assert(offsetof(Imu, timestamp_ns) == 0);
static_assert(offsetof(Imu, orientation) == 8);
static_assert(offsetof(Imu, orientation_covariance) == 40);
static_assert(offsetof(Imu, angular_velocity) == 112);
static_assert(offsetof(Imu, angular_velocity_covariance) == 136);
static_assert(offsetof(Imu, linear_acceleration) == 208);
static_assert(offsetof(Imu, linear_acceleration_covariance) == 232);
HORUS_MESSAGE(Imu, timestamp_ns, orientation, orientation_covariance, angular_velocity,
    angular_velocity_covariance, linear_acceleration, linear_acceleration_covariance);

/// One sweep of a planar range finder, like `sensor_msgs/LaserScan` without intensities.
/// `LidarScan` has any number of rays.
///
/// Angles are about z of the sensor, counter-clockwise, 0 along its x. After REP-117 a range of
/// +∞ means that nothing was seen, −∞ that an object is too close, and NaN that the measurement
/// failed.
struct alignas(8) LaserScan {
    /// Time of the first ray, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Angle of the first ray: radians.
    float angle_min;
    /// Angle of the last ray: radians.
    float angle_max;
    /// Angle from one ray to the next: radians.
    float angle_increment;
    /// Time from one ray to the next: seconds.
    float time_increment;
    /// Time from one sweep to the next: seconds.
    float scan_time;
    /// Shortest valid range: metres.
    float range_min;
    /// Longest valid range: metres.
    float range_max;
    /// Number of measured ranges, which are the first elements of `ranges`: count.
    std::uint32_t count;
    /// Distances in order of their angles: metres.
    float ranges[360];
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x4f3cd10ce037e0f6u, 0xdc4d80863d0bb59du};
};
static_assert(sizeof(LaserScan) == 1480, "size of LaserScan");
static_assert(alignof(LaserScan) == 8, "alignment of LaserScan");
static_assert(std::is_trivially_copyable_v<LaserScan> && std::is_standard_layout_v<LaserScan>);
static_assert(offsetof(LaserScan, timestamp_ns) == 0);
static_assert(offsetof(LaserScan, angle_min) == 8);
static_assert(offsetof(LaserScan, angle_max) == 12);
static_assert(offsetof(LaserScan, angle_increment) == 16);
static_assert(offsetof(LaserScan, time_increment) == 20);
static_assert(offsetof(LaserScan, scan_time) == 24);
static_assert(offsetof(LaserScan, range_min) == 28);
static_assert(offsetof(LaserScan, range_max) == 32);
static_assert(offsetof(LaserScan, count) == 36);
static_assert(offsetof(LaserScan, ranges) == 40);
HORUS_MESSAGE(LaserScan, timestamp_ns, angle_min, angle_max, angle_increment, time_increment,
    scan_time, range_min, range_max, count, ranges);

/// The distance to the nearest object in a cone about the sensor's x axis, like
/// `sensor_msgs/Range`.
///
/// After REP-117 a range of +∞ means that nothing was seen, −∞ that an object is too close, and
/// NaN that the measurement failed.
struct alignas(8) RangeSensor {
    /// Time of the measurement, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// One of the constants of this type, such as `ULTRASOUND`: no unit.
    std::uint8_t radiation_type;
    /// Reserved, 0: no unit.
    std::uint8_t _reserved[3];
    /// Opening angle of the cone: radians.
    float field_of_view;
    /// Shortest valid range: metres.
    float min_range;
    /// Longest valid range: metres.
    float max_range;
    /// Distance: metres.
    float range;
    /// Variance of `range`, 0 if unknown: m².
    float variance;
    /// The sensor uses sound.
    static constexpr std::uint8_t ULTRASOUND = 0;
    /// The sensor uses infrared light.
    static constexpr std::uint8_t INFRARED = 1;
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x325fde923d06ce57u, 0xf2f48663061bec3bu};
};
static_assert(sizeof(RangeSensor) == 32, "size of RangeSensor");
static_assert(alignof(RangeSensor) == 8, "alignment of RangeSensor");
static_assert(std::is_trivially_copyable_v<RangeSensor> && std::is_standard_layout_v<RangeSensor>);
static_assert(offsetof(RangeSensor, timestamp_ns) == 0);
static_assert(offsetof(RangeSensor, radiation_type) == 8);
static_assert(offsetof(RangeSensor, _reserved) == 9);
static_assert(offsetof(RangeSensor, field_of_view) == 12);
static_assert(offsetof(RangeSensor, min_range) == 16);
static_assert(offsetof(RangeSensor, max_range) == 20);
static_assert(offsetof(RangeSensor, range) == 24);
static_assert(offsetof(RangeSensor, variance) == 28);
HORUS_MESSAGE(RangeSensor, timestamp_ns, radiation_type, _reserved, field_of_view, min_range,
    max_range, range, variance);

/// Measured state of up to 16 joints, like `sensor_msgs/JointState`.
/// `JointStateArray` has any number of joints.
///
/// Element *i* of every array belongs to joint *i*. The units are those of a revolute joint.
/// For a prismatic joint, radians become metres and newton-metres become newtons. The names are
/// in each message, as in ROS: a reader then needs no other topic and no fixed order.
struct alignas(8) JointState {
    /// Time of the measurement, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Number of joints, which are the first elements of each array: count.
    std::uint32_t count;
    /// Reserved, 0: no unit.
    std::uint32_t _reserved;
    /// Names of the joints, such as `left_wrist_roll`: text.
    char name[16][32];
    /// Position of each joint: radians.
    double position[16];
    /// Velocity of each joint: radians per second.
    double velocity[16];
    /// Torque: N·m.
    double effort[16];
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0xd1df00e2b659293eu, 0xf133648ec5e6d7aau};
};
static_assert(sizeof(JointState) == 912, "size of JointState");
static_assert(alignof(JointState) == 8, "alignment of JointState");
static_assert(std::is_trivially_copyable_v<JointState> && std::is_standard_layout_v<JointState>);
static_assert(offsetof(JointState, timestamp_ns) == 0);
static_assert(offsetof(JointState, count) == 8);
static_assert(offsetof(JointState, _reserved) == 12);
static_assert(offsetof(JointState, name) == 16);
static_assert(offsetof(JointState, position) == 528);
static_assert(offsetof(JointState, velocity) == 656);
static_assert(offsetof(JointState, effort) == 784);
HORUS_MESSAGE(JointState, timestamp_ns, count, _reserved, name, position, velocity, effort);

/// State of a battery, like `sensor_msgs/BatteryState`. NaN marks a value that is not measured.
struct alignas(8) BatteryState {
    /// Time of the measurement, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Voltage: volts.
    float voltage = std::numeric_limits<float>::quiet_NaN();
    /// Temperature: degrees Celsius.
    float temperature = std::numeric_limits<float>::quiet_NaN();
    /// Current, negative when discharging: amperes.
    float current = std::numeric_limits<float>::quiet_NaN();
    /// Remaining charge: ampere-hours.
    float charge = std::numeric_limits<float>::quiet_NaN();
    /// Present capacity when full: ampere-hours.
    float capacity = std::numeric_limits<float>::quiet_NaN();
    /// Capacity when new: ampere-hours.
    float design_capacity = std::numeric_limits<float>::quiet_NaN();
    /// Charge relative to the capacity, 0 to 1: no unit.
    float percentage = std::numeric_limits<float>::quiet_NaN();
    /// One of the `POWER_SUPPLY_STATUS_` constants: no unit.
    std::uint8_t power_supply_status;
    /// One of the `POWER_SUPPLY_HEALTH_` constants: no unit.
    std::uint8_t power_supply_health;
    /// One of the `POWER_SUPPLY_TECHNOLOGY_` constants: no unit.
    std::uint8_t power_supply_technology;
    /// 1 if there is a battery, else 0: no unit.
    std::uint8_t present;
    /// Number of measured cells, which are the first elements of each array: count.
    std::uint32_t cell_count;
    /// Reserved, 0: no unit.
    std::uint32_t _reserved;
    /// Voltage of each cell: volts.
    float cell_voltage[16];
    /// Temperature of each cell: degrees Celsius.
    float cell_temperature[16];
    /// Place of the battery, such as the name of its slot: text.
    char location[32];
    /// Serial number on the label: text.
    char serial_number[32];
    /// The status is unknown.
    static constexpr std::uint8_t POWER_SUPPLY_STATUS_UNKNOWN = 0;
    /// The battery is being charged.
    static constexpr std::uint8_t POWER_SUPPLY_STATUS_CHARGING = 1;
    /// The battery is being discharged.
    static constexpr std::uint8_t POWER_SUPPLY_STATUS_DISCHARGING = 2;
    /// The battery is connected and not being charged.
    static constexpr std::uint8_t POWER_SUPPLY_STATUS_NOT_CHARGING = 3;
    /// The battery is fully charged.
    static constexpr std::uint8_t POWER_SUPPLY_STATUS_FULL = 4;
    /// The health is unknown.
    static constexpr std::uint8_t POWER_SUPPLY_HEALTH_UNKNOWN = 0;
    /// The battery is healthy.
    static constexpr std::uint8_t POWER_SUPPLY_HEALTH_GOOD = 1;
    /// The battery is too hot.
    static constexpr std::uint8_t POWER_SUPPLY_HEALTH_OVERHEAT = 2;
    /// The battery does not work any more.
    static constexpr std::uint8_t POWER_SUPPLY_HEALTH_DEAD = 3;
    /// The voltage is too high.
    static constexpr std::uint8_t POWER_SUPPLY_HEALTH_OVERVOLTAGE = 4;
    /// The battery failed in a way that has no number here.
    static constexpr std::uint8_t POWER_SUPPLY_HEALTH_UNSPEC_FAILURE = 5;
    /// The battery is too cold.
    static constexpr std::uint8_t POWER_SUPPLY_HEALTH_COLD = 6;
    /// The watchdog of the battery expired.
    static constexpr std::uint8_t POWER_SUPPLY_HEALTH_WATCHDOG_TIMER_EXPIRE = 7;
    /// The safety timer of the battery expired.
    static constexpr std::uint8_t POWER_SUPPLY_HEALTH_SAFETY_TIMER_EXPIRE = 8;
    /// The technology has no number here.
    static constexpr std::uint8_t POWER_SUPPLY_TECHNOLOGY_UNKNOWN = 0;
    /// Nickel metal hydride.
    static constexpr std::uint8_t POWER_SUPPLY_TECHNOLOGY_NIMH = 1;
    /// Lithium ion.
    static constexpr std::uint8_t POWER_SUPPLY_TECHNOLOGY_LION = 2;
    /// Lithium polymer.
    static constexpr std::uint8_t POWER_SUPPLY_TECHNOLOGY_LIPO = 3;
    /// Lithium iron phosphate.
    static constexpr std::uint8_t POWER_SUPPLY_TECHNOLOGY_LIFE = 4;
    /// Nickel cadmium.
    static constexpr std::uint8_t POWER_SUPPLY_TECHNOLOGY_NICD = 5;
    /// Lithium manganese.
    static constexpr std::uint8_t POWER_SUPPLY_TECHNOLOGY_LIMN = 6;
    /// Lithium with nickel, manganese or aluminium, and cobalt.
    static constexpr std::uint8_t POWER_SUPPLY_TECHNOLOGY_TERNARY = 7;
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x97538250c5975e30u, 0xb3b5595802941285u};
};
static_assert(sizeof(BatteryState) == 240, "size of BatteryState");
static_assert(alignof(BatteryState) == 8, "alignment of BatteryState");
static_assert(std::is_trivially_copyable_v<BatteryState> && std::is_standard_layout_v<BatteryState>);
static_assert(offsetof(BatteryState, timestamp_ns) == 0);
static_assert(offsetof(BatteryState, voltage) == 8);
static_assert(offsetof(BatteryState, temperature) == 12);
static_assert(offsetof(BatteryState, current) == 16);
static_assert(offsetof(BatteryState, charge) == 20);
static_assert(offsetof(BatteryState, capacity) == 24);
static_assert(offsetof(BatteryState, design_capacity) == 28);
static_assert(offsetof(BatteryState, percentage) == 32);
static_assert(offsetof(BatteryState, power_supply_status) == 36);
static_assert(offsetof(BatteryState, power_supply_health) == 37);
static_assert(offsetof(BatteryState, power_supply_technology) == 38);
static_assert(offsetof(BatteryState, present) == 39);
static_assert(offsetof(BatteryState, cell_count) == 40);
static_assert(offsetof(BatteryState, _reserved) == 44);
static_assert(offsetof(BatteryState, cell_voltage) == 48);
static_assert(offsetof(BatteryState, cell_temperature) == 112);
static_assert(offsetof(BatteryState, location) == 176);
static_assert(offsetof(BatteryState, serial_number) == 208);
HORUS_MESSAGE(BatteryState, timestamp_ns, voltage, temperature, current, charge, capacity,
    design_capacity, percentage, power_supply_status, power_supply_health, power_supply_technology,
    present, cell_count, _reserved, cell_voltage, cell_temperature, location, serial_number);

/// A position from a satellite navigation receiver in WGS 84, like `sensor_msgs/NavSatFix`.
///
/// The covariance is row-major 3 × 3 over east, north, up. `position_covariance_type` is the
/// last field in ROS; here it fills what would be padding.
struct alignas(8) NavSatFix {
    /// Time of the measurement, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// One of the `STATUS_` constants: no unit.
    std::int8_t status = -2;
    /// One of the `COVARIANCE_` constants: no unit.
    std::uint8_t position_covariance_type;
    /// Sum of the `SERVICE_` constants of the received systems: no unit.
    std::uint16_t service;
    /// Reserved, 0: no unit.
    std::uint32_t _reserved;
    /// Latitude, north is positive: degrees.
    double latitude;
    /// Longitude, east is positive: degrees.
    double longitude;
    /// Height above the ellipsoid, NaN if unknown: metres.
    double altitude;
    /// Covariance of the position to the east, north and up: m².
    double position_covariance[9];
    /// The status is not set.
    static constexpr std::int8_t STATUS_UNKNOWN = -2;
    /// There is no position.
    static constexpr std::int8_t STATUS_NO_FIX = -1;
    /// The position has no augmentation.
    static constexpr std::int8_t STATUS_FIX = 0;
    /// The position has augmentation by satellites.
    static constexpr std::int8_t STATUS_SBAS_FIX = 1;
    /// The position has augmentation from the ground.
    static constexpr std::int8_t STATUS_GBAS_FIX = 2;
    /// The received systems are unknown.
    static constexpr std::uint16_t SERVICE_UNKNOWN = 0;
    /// GPS is received.
    static constexpr std::uint16_t SERVICE_GPS = 1;
    /// GLONASS is received.
    static constexpr std::uint16_t SERVICE_GLONASS = 2;
    /// BeiDou is received.
    static constexpr std::uint16_t SERVICE_COMPASS = 4;
    /// Galileo is received.
    static constexpr std::uint16_t SERVICE_GALILEO = 8;
    /// The covariance is unknown.
    static constexpr std::uint8_t COVARIANCE_TYPE_UNKNOWN = 0;
    /// The covariance was estimated from the dilution of precision.
    static constexpr std::uint8_t COVARIANCE_TYPE_APPROXIMATED = 1;
    /// The diagonal of the covariance is known.
    static constexpr std::uint8_t COVARIANCE_TYPE_DIAGONAL_KNOWN = 2;
    /// The whole covariance is known.
    static constexpr std::uint8_t COVARIANCE_TYPE_KNOWN = 3;
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0xc4eca8ee794611c1u, 0xd55f5d92543a73bcu};
};
static_assert(sizeof(NavSatFix) == 112, "size of NavSatFix");
static_assert(alignof(NavSatFix) == 8, "alignment of NavSatFix");
static_assert(std::is_trivially_copyable_v<NavSatFix> && std::is_standard_layout_v<NavSatFix>);
static_assert(offsetof(NavSatFix, timestamp_ns) == 0);
static_assert(offsetof(NavSatFix, status) == 8);
static_assert(offsetof(NavSatFix, position_covariance_type) == 9);
static_assert(offsetof(NavSatFix, service) == 10);
static_assert(offsetof(NavSatFix, _reserved) == 12);
static_assert(offsetof(NavSatFix, latitude) == 16);
static_assert(offsetof(NavSatFix, longitude) == 24);
static_assert(offsetof(NavSatFix, altitude) == 32);
static_assert(offsetof(NavSatFix, position_covariance) == 40);
HORUS_MESSAGE(NavSatFix, timestamp_ns, status, position_covariance_type, service, _reserved,
    latitude, longitude, altitude, position_covariance);

/// The magnetic field at a sensor and in its frame, like `sensor_msgs/MagneticField`.
///
/// The covariance is row-major 3 × 3 over x, y, z; all zeros means unknown.
struct alignas(8) MagneticField {
    /// Time of the measurement, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Field along x, y, z, NaN for an axis that is not measured: tesla.
    double magnetic_field[3];
    /// Covariance of `magnetic_field`: T².
    double magnetic_field_covariance[9];
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0xa5d4fcc4439e9988u, 0x7b5e97e7d63273f9u};
};
static_assert(sizeof(MagneticField) == 104, "size of MagneticField");
static_assert(alignof(MagneticField) == 8, "alignment of MagneticField");
static_assert(std::is_trivially_copyable_v<MagneticField> && std::is_standard_layout_v<MagneticField>);
static_assert(offsetof(MagneticField, timestamp_ns) == 0);
static_assert(offsetof(MagneticField, magnetic_field) == 8);
static_assert(offsetof(MagneticField, magnetic_field_covariance) == 32);
HORUS_MESSAGE(MagneticField, timestamp_ns, magnetic_field, magnetic_field_covariance);

/// A temperature, like `sensor_msgs/Temperature`.
struct alignas(8) Temperature {
    /// Time of the measurement, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Temperature: degrees Celsius.
    double temperature;
    /// Variance of `temperature`, 0 if unknown: °C².
    double variance;
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x4a7c7b9e30c2faf9u, 0x1d33ce2fe3bd6099u};
};
static_assert(sizeof(Temperature) == 24, "size of Temperature");
static_assert(alignof(Temperature) == 8, "alignment of Temperature");
static_assert(std::is_trivially_copyable_v<Temperature> && std::is_standard_layout_v<Temperature>);
static_assert(offsetof(Temperature, timestamp_ns) == 0);
static_assert(offsetof(Temperature, temperature) == 8);
static_assert(offsetof(Temperature, variance) == 16);
HORUS_MESSAGE(Temperature, timestamp_ns, temperature, variance);

/// The pressure of air or water, like `sensor_msgs/FluidPressure`. It is not for tanks or
/// tyres.
struct alignas(8) FluidPressure {
    /// Time of the measurement, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Absolute pressure: pascals.
    double fluid_pressure;
    /// Variance of `fluid_pressure`, 0 if unknown: Pa².
    double variance;
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x8c2d6372538032d1u, 0xafcfe31a943dbe08u};
};
static_assert(sizeof(FluidPressure) == 24, "size of FluidPressure");
static_assert(alignof(FluidPressure) == 8, "alignment of FluidPressure");
static_assert(std::is_trivially_copyable_v<FluidPressure> && std::is_standard_layout_v<FluidPressure>);
static_assert(offsetof(FluidPressure, timestamp_ns) == 0);
static_assert(offsetof(FluidPressure, fluid_pressure) == 8);
static_assert(offsetof(FluidPressure, variance) == 16);
HORUS_MESSAGE(FluidPressure, timestamp_ns, fluid_pressure, variance);

/// An illuminance, like `sensor_msgs/Illuminance`.
struct alignas(8) Illuminance {
    /// Time of the measurement, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Illuminance: lux.
    double illuminance;
    /// Variance of `illuminance`, 0 if unknown: lx².
    double variance;
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0xeaebb1676530b1f3u, 0x717e492802310d4fu};
};
static_assert(sizeof(Illuminance) == 24, "size of Illuminance");
static_assert(alignof(Illuminance) == 8, "alignment of Illuminance");
static_assert(std::is_trivially_copyable_v<Illuminance> && std::is_standard_layout_v<Illuminance>);
static_assert(offsetof(Illuminance, timestamp_ns) == 0);
static_assert(offsetof(Illuminance, illuminance) == 8);
static_assert(offsetof(Illuminance, variance) == 16);
HORUS_MESSAGE(Illuminance, timestamp_ns, illuminance, variance);

/// Pressure on the taxels of a tactile sensor, row by row, and the total force. No ROS type.
struct alignas(8) TactileArray {
    /// Time of the measurement, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Frame of the pad, x along its rows, z out of it: text.
    char frame_id[32];
    /// Number of rows, along y: count.
    std::uint32_t rows;
    /// Number of taxels in a row, along x: count.
    std::uint32_t columns;
    /// Distance from one taxel to the next: metres.
    float spacing;
    /// Force on the whole pad along x, y, z, NaN if not measured: newtons.
    float force[3] = {
        std::numeric_limits<float>::quiet_NaN(),
        std::numeric_limits<float>::quiet_NaN(),
        std::numeric_limits<float>::quiet_NaN()};
    /// Pressures of `rows` × `columns` taxels, row-major: pascals.
    float pressure[256];
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x74503478e562bb2cu, 0xb0b9edebff8729c1u};
};
static_assert(sizeof(TactileArray) == 1088, "size of TactileArray");
static_assert(alignof(TactileArray) == 8, "alignment of TactileArray");
static_assert(std::is_trivially_copyable_v<TactileArray> && std::is_standard_layout_v<TactileArray>);
static_assert(offsetof(TactileArray, timestamp_ns) == 0);
static_assert(offsetof(TactileArray, frame_id) == 8);
static_assert(offsetof(TactileArray, rows) == 40);
static_assert(offsetof(TactileArray, columns) == 44);
static_assert(offsetof(TactileArray, spacing) == 48);
static_assert(offsetof(TactileArray, force) == 52);
static_assert(offsetof(TactileArray, pressure) == 64);
HORUS_MESSAGE(TactileArray, timestamp_ns, frame_id, rows, columns, spacing, force, pressure);

/// Velocity command of a robot that moves in the plane, in the robot's own frame: `linear.x`
/// and `angular.z` of `geometry_msgs/Twist` in single precision.
struct alignas(8) CmdVel {
    /// Time of the command, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Forward velocity: metres per second.
    float linear;
    /// Counter-clockwise angular velocity: radians per second.
    float angular;
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0xa6d74e5d663f338cu, 0xb818bd1ad89988b3u};
};
static_assert(sizeof(CmdVel) == 16, "size of CmdVel");
static_assert(alignof(CmdVel) == 8, "alignment of CmdVel");
static_assert(std::is_trivially_copyable_v<CmdVel> && std::is_standard_layout_v<CmdVel>);
static_assert(offsetof(CmdVel, timestamp_ns) == 0);
static_assert(offsetof(CmdVel, linear) == 8);
static_assert(offsetof(CmdVel, angular) == 12);
HORUS_MESSAGE(CmdVel, timestamp_ns, linear, angular);

/// Set-points of up to 16 joints, with the names of `trajectory_msgs/JointTrajectoryPoint`.
///
/// Element *i* of every array belongs to joint *i*; `mode` selects the arrays that are used.
/// The units are those of a revolute joint. For a prismatic joint, radians become metres and
/// newton-metres become newtons.
struct alignas(8) JointCommand {
    /// Time of the command, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Number of commanded joints: the first `count` elements of each array are in use: count.
    std::uint32_t count;
    /// Reserved, 0: no unit.
    std::uint32_t _reserved;
    /// One of the `MODE_` constants; any other number means `MODE_DISABLED`: no unit.
    std::uint8_t mode[16];
    /// Position of each joint: radians.
    double position[16];
    /// Velocity of each joint: radians per second.
    double velocity[16];
    /// Feed-forward acceleration: rad/s².
    double acceleration[16];
    /// Torque, or feed-forward torque: N·m.
    double effort[16];
    /// Gain of the position error, often called kp: N·m/rad.
    double stiffness[16];
    /// Gain of the velocity error, often called kd: N·m·s/rad.
    double damping[16];
    /// Limit of the absolute value of the total torque; 0 leaves the limit to the drive: N·m.
    double effort_max[16];
    /// This message does not command the joint. Whether it then holds, brakes or goes limp is up to
    /// its drive.
    static constexpr std::uint8_t MODE_DISABLED = 0;
    /// The drive follows `position`.
    static constexpr std::uint8_t MODE_POSITION = 1;
    /// The drive follows `velocity`.
    static constexpr std::uint8_t MODE_VELOCITY = 2;
    /// The drive applies `effort`.
    static constexpr std::uint8_t MODE_EFFORT = 3;
    /// The drive applies `effort + stiffness · (position − measured) + damping · (velocity −
    /// measured)`.
    static constexpr std::uint8_t MODE_IMPEDANCE = 4;
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x4a6514cb5ec896b3u, 0xd11cf45b15dc1b6eu};
};
static_assert(sizeof(JointCommand) == 928, "size of JointCommand");
static_assert(alignof(JointCommand) == 8, "alignment of JointCommand");
static_assert(std::is_trivially_copyable_v<JointCommand> && std::is_standard_layout_v<JointCommand>);
static_assert(offsetof(JointCommand, timestamp_ns) == 0);
static_assert(offsetof(JointCommand, count) == 8);
static_assert(offsetof(JointCommand, _reserved) == 12);
static_assert(offsetof(JointCommand, mode) == 16);
static_assert(offsetof(JointCommand, position) == 32);
static_assert(offsetof(JointCommand, velocity) == 160);
static_assert(offsetof(JointCommand, acceleration) == 288);
static_assert(offsetof(JointCommand, effort) == 416);
static_assert(offsetof(JointCommand, stiffness) == 544);
static_assert(offsetof(JointCommand, damping) == 672);
static_assert(offsetof(JointCommand, effort_max) == 800);
HORUS_MESSAGE(JointCommand, timestamp_ns, count, _reserved, mode, position, velocity, acceleration,
    effort, stiffness, damping, effort_max);

/// Set-point of one motor. No ROS type: the fields and modes of `JointCommand` for a single
/// joint, and the duty cycle of drives without a sensor.
struct alignas(8) MotorCommand {
    /// Time of the command, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Number of the motor, such as its node on the bus: no unit.
    std::uint32_t motor_id;
    /// One of the `MODE_` constants; any other number means `MODE_DISABLED`: no unit.
    std::uint8_t mode;
    /// 1 to power the drive, else 0: no unit.
    std::uint8_t enable;
    /// Reserved, 0: no unit.
    std::uint16_t _reserved;
    /// Position: radians.
    double position;
    /// Velocity: radians per second.
    double velocity;
    /// Torque, or feed-forward torque: N·m.
    double effort;
    /// Share of the supply voltage, −1 to 1: no unit.
    double duty_cycle;
    /// Limit of the speed; 0 leaves the limit to the drive: radians per second.
    double velocity_max;
    /// Limit of the acceleration; 0 leaves the limit to the drive: rad/s².
    double acceleration_max;
    /// Limit of the torque; 0 leaves the limit to the drive: N·m.
    double effort_max;
    /// The motor gets no command.
    static constexpr std::uint8_t MODE_DISABLED = 0;
    /// The drive follows `position`.
    static constexpr std::uint8_t MODE_POSITION = 1;
    /// The drive follows `velocity`.
    static constexpr std::uint8_t MODE_VELOCITY = 2;
    /// The drive applies `effort`.
    static constexpr std::uint8_t MODE_EFFORT = 3;
    /// The drive applies `duty_cycle`, open loop. 4 is the impedance mode of `JointCommand`,
    /// which does not exist here.
    static constexpr std::uint8_t MODE_DUTY_CYCLE = 5;
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0xa04b60fcf5273d0eu, 0x29bac585269bb339u};
};
static_assert(sizeof(MotorCommand) == 72, "size of MotorCommand");
static_assert(alignof(MotorCommand) == 8, "alignment of MotorCommand");
static_assert(std::is_trivially_copyable_v<MotorCommand> && std::is_standard_layout_v<MotorCommand>);
static_assert(offsetof(MotorCommand, timestamp_ns) == 0);
static_assert(offsetof(MotorCommand, motor_id) == 8);
static_assert(offsetof(MotorCommand, mode) == 12);
static_assert(offsetof(MotorCommand, enable) == 13);
static_assert(offsetof(MotorCommand, _reserved) == 14);
static_assert(offsetof(MotorCommand, position) == 16);
static_assert(offsetof(MotorCommand, velocity) == 24);
static_assert(offsetof(MotorCommand, effort) == 32);
static_assert(offsetof(MotorCommand, duty_cycle) == 40);
static_assert(offsetof(MotorCommand, velocity_max) == 48);
static_assert(offsetof(MotorCommand, acceleration_max) == 56);
static_assert(offsetof(MotorCommand, effort_max) == 64);
HORUS_MESSAGE(MotorCommand, timestamp_ns, motor_id, mode, enable, _reserved, position, velocity,
    effort, duty_cycle, velocity_max, acceleration_max, effort_max);

/// Set-point of a hobby servo. No ROS type.
struct alignas(8) ServoCommand {
    /// Time of the command, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Channel of the servo: no unit.
    std::uint32_t servo_id;
    /// 1 to hold the position, 0 to release it: no unit.
    std::uint8_t enable;
    /// Reserved, 0: no unit.
    std::uint8_t _reserved[3];
    /// Angle from the middle: radians.
    float position;
    /// Limit of the speed, 0 for the maximum of the servo: radians per second.
    float velocity_max;
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0xdb11875bb4b6c919u, 0xb08d3cdbfed4a928u};
};
static_assert(sizeof(ServoCommand) == 24, "size of ServoCommand");
static_assert(alignof(ServoCommand) == 8, "alignment of ServoCommand");
static_assert(std::is_trivially_copyable_v<ServoCommand> && std::is_standard_layout_v<ServoCommand>);
static_assert(offsetof(ServoCommand, timestamp_ns) == 0);
static_assert(offsetof(ServoCommand, servo_id) == 8);
static_assert(offsetof(ServoCommand, enable) == 12);
static_assert(offsetof(ServoCommand, _reserved) == 13);
static_assert(offsetof(ServoCommand, position) == 16);
static_assert(offsetof(ServoCommand, velocity_max) == 20);
HORUS_MESSAGE(ServoCommand, timestamp_ns, servo_id, enable, _reserved, position, velocity_max);

/// Wheel speeds of a robot with two driven wheels. No ROS type: `diff_drive_controller` of
/// `ros2_control` sends them to its wheels.
struct alignas(8) DifferentialDriveCommand {
    /// Time of the command, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Speed of the left wheel, positive is forward: radians per second.
    double left;
    /// Speed of the right wheel, positive is forward: radians per second.
    double right;
    /// Limit of the acceleration; 0 leaves the limit to the drive: rad/s².
    double acceleration_max;
    /// 1 to power the drives, else 0: no unit.
    std::uint8_t enable;
    /// Reserved, 0: no unit.
    std::uint8_t _reserved[7];
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x7e02422c1990f17fu, 0x933923d380b38cc4u};
};
static_assert(sizeof(DifferentialDriveCommand) == 40, "size of DifferentialDriveCommand");
static_assert(alignof(DifferentialDriveCommand) == 8, "alignment of DifferentialDriveCommand");
static_assert(std::is_trivially_copyable_v<DifferentialDriveCommand> && std::is_standard_layout_v<DifferentialDriveCommand>);
static_assert(offsetof(DifferentialDriveCommand, timestamp_ns) == 0);
static_assert(offsetof(DifferentialDriveCommand, left) == 8);
static_assert(offsetof(DifferentialDriveCommand, right) == 16);
static_assert(offsetof(DifferentialDriveCommand, acceleration_max) == 24);
static_assert(offsetof(DifferentialDriveCommand, enable) == 32);
static_assert(offsetof(DifferentialDriveCommand, _reserved) == 33);
HORUS_MESSAGE(DifferentialDriveCommand, timestamp_ns, left, right, acceleration_max, enable,
    _reserved);

/// Gains and limits of a PID controller: `Pid::Gains` and `AntiWindupStrategy` of
/// `control_toolbox` of `ros2_control`.
///
/// `output = p·e + i·∫e dt + d·de/dt`; the units are those of the controller it is for.
struct alignas(8) PidConfig {
    /// Time of the configuration, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Number of the controller: no unit.
    std::uint32_t controller_id;
    /// Method that limits the integral while the output is limited, one of the `ANTIWINDUP_`
    /// constants: no unit.
    std::uint8_t antiwindup;
    /// Reserved, 0: no unit.
    std::uint8_t _reserved[3];
    /// Proportional gain: depends on the use.
    double p;
    /// Integral gain: depends on the use.
    double i;
    /// Derivative gain: depends on the use.
    double d;
    /// Upper limit of the integral part of the output, +∞ without a limit: depends on the use.
    double i_max = std::numeric_limits<double>::infinity();
    /// Lower limit of the integral part of the output, −∞ without a limit: depends on the use.
    double i_min = -std::numeric_limits<double>::infinity();
    /// Upper limit of the output, +∞ without a limit: depends on the use.
    double u_max = std::numeric_limits<double>::infinity();
    /// Lower limit of the output, −∞ without a limit: depends on the use.
    double u_min = -std::numeric_limits<double>::infinity();
    /// Time constant of back calculation, 0 for the controller's default: seconds.
    double tracking_time_constant;
    /// Largest error that is not integrated: depends on the use.
    double error_deadband;
    /// Only the limits of the integral part apply.
    static constexpr std::uint8_t ANTIWINDUP_NONE = 0;
    /// The integral is reduced by the amount that the limit cut off.
    static constexpr std::uint8_t ANTIWINDUP_BACK_CALCULATION = 1;
    /// Errors that would drive the output further beyond the limit are not integrated.
    static constexpr std::uint8_t ANTIWINDUP_CONDITIONAL_INTEGRATION = 2;
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x7dda655f8606f200u, 0xf1eb25259ec91198u};
};
static_assert(sizeof(PidConfig) == 88, "size of PidConfig");
static_assert(alignof(PidConfig) == 8, "alignment of PidConfig");
static_assert(std::is_trivially_copyable_v<PidConfig> && std::is_standard_layout_v<PidConfig>);
static_assert(offsetof(PidConfig, timestamp_ns) == 0);
static_assert(offsetof(PidConfig, controller_id) == 8);
static_assert(offsetof(PidConfig, antiwindup) == 12);
static_assert(offsetof(PidConfig, _reserved) == 13);
static_assert(offsetof(PidConfig, p) == 16);
static_assert(offsetof(PidConfig, i) == 24);
static_assert(offsetof(PidConfig, d) == 32);
static_assert(offsetof(PidConfig, i_max) == 40);
static_assert(offsetof(PidConfig, i_min) == 48);
static_assert(offsetof(PidConfig, u_max) == 56);
static_assert(offsetof(PidConfig, u_min) == 64);
static_assert(offsetof(PidConfig, tracking_time_constant) == 72);
static_assert(offsetof(PidConfig, error_deadband) == 80);
HORUS_MESSAGE(PidConfig, timestamp_ns, controller_id, antiwindup, _reserved, p, i, d, i_max, i_min,
    u_max, u_min, tracking_time_constant, error_deadband);

/// Pose, velocity and acceleration of a body at one time of a trajectory.
///
/// It is like `trajectory_msgs/MultiDOFJointTrajectoryPoint` with one body, in the frame of the
/// topic. For joints use `JointCommand`.
struct alignas(8) TrajectoryPoint {
    /// Start of the trajectory, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Position x, y, z: metres.
    double position[3];
    /// Unit quaternion x, y, z, w: no unit.
    double orientation[4] = {0.0, 0.0, 0.0, 1.0};
    /// Velocity along x, y, z: metres per second.
    double linear_velocity[3];
    /// Angular velocity about x, y, z: radians per second.
    double angular_velocity[3];
    /// Acceleration along x, y, z: m/s².
    double linear_acceleration[3];
    /// Angular acceleration about x, y, z: rad/s².
    double angular_acceleration[3];
    /// Time of arrival at this point, from `timestamp_ns`: nanoseconds.
    std::uint64_t time_from_start_ns;
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x3f0a0ccc1cfad4acu, 0x533754a0243dcef2u};
};
static_assert(sizeof(TrajectoryPoint) == 168, "size of TrajectoryPoint");
static_assert(alignof(TrajectoryPoint) == 8, "alignment of TrajectoryPoint");
static_assert(std::is_trivially_copyable_v<TrajectoryPoint> && std::is_standard_layout_v<TrajectoryPoint>);
static_assert(offsetof(TrajectoryPoint, timestamp_ns) == 0);
static_assert(offsetof(TrajectoryPoint, position) == 8);
static_assert(offsetof(TrajectoryPoint, orientation) == 32);
static_assert(offsetof(TrajectoryPoint, linear_velocity) == 64);
static_assert(offsetof(TrajectoryPoint, angular_velocity) == 88);
static_assert(offsetof(TrajectoryPoint, linear_acceleration) == 112);
static_assert(offsetof(TrajectoryPoint, angular_acceleration) == 136);
static_assert(offsetof(TrajectoryPoint, time_from_start_ns) == 160);
HORUS_MESSAGE(TrajectoryPoint, timestamp_ns, position, orientation, linear_velocity,
    angular_velocity, linear_acceleration, angular_acceleration, time_from_start_ns);

/// Force to apply along some axes of a frame, while the others keep their position.
///
/// This is hybrid force and position control after Raibert and Craig (1981). No ROS type; force
/// and torque are as in `geometry_msgs/WrenchStamped`.
struct alignas(8) ForceCommand {
    /// Time of the command, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Name of the coordinate frame of the task: text.
    char frame_id[32];
    /// Force on the environment along x, y, z: newtons.
    double force[3];
    /// Torque on the environment about x, y, z: N·m.
    double torque[3];
    /// For each axis along x, y, z and about x, y, z, 1 to control the force, 0 to keep the
    /// position: no unit.
    std::uint8_t force_controlled[6];
    /// Reserved, 0: no unit.
    std::uint8_t _reserved[2];
    /// Limit of the speed in free space; 0 leaves the limit to the controller: metres per
    /// second.
    double linear_velocity_max;
    /// Limit of the angular speed in free space; 0 leaves the limit to the controller: radians
    /// per second.
    double angular_velocity_max;
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0xa160b5d5f02c365bu, 0x2c210aef51f681bdu};
};
static_assert(sizeof(ForceCommand) == 112, "size of ForceCommand");
static_assert(alignof(ForceCommand) == 8, "alignment of ForceCommand");
static_assert(std::is_trivially_copyable_v<ForceCommand> && std::is_standard_layout_v<ForceCommand>);
static_assert(offsetof(ForceCommand, timestamp_ns) == 0);
static_assert(offsetof(ForceCommand, frame_id) == 8);
static_assert(offsetof(ForceCommand, force) == 40);
static_assert(offsetof(ForceCommand, torque) == 64);
static_assert(offsetof(ForceCommand, force_controlled) == 88);
static_assert(offsetof(ForceCommand, _reserved) == 94);
static_assert(offsetof(ForceCommand, linear_velocity_max) == 96);
static_assert(offsetof(ForceCommand, angular_velocity_max) == 104);
HORUS_MESSAGE(ForceCommand, timestamp_ns, frame_id, force, torque, force_controlled, _reserved,
    linear_velocity_max, angular_velocity_max);

/// Compliance of a tool: a spring, a damper and a mass along and about each axis of a frame. No
/// ROS type; impedance control after Hogan (1985).
///
/// `force = stiffness · offset + damping · velocity + mass · acceleration`
struct alignas(8) ImpedanceParameters {
    /// Time of the configuration, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Frame of the axes, usually that of the tool: text.
    char frame_id[32];
    /// Stiffness along x, y, z: N/m.
    double linear_stiffness[3];
    /// Rotational stiffness about x, y, z: N·m/rad.
    double angular_stiffness[3];
    /// Damping along x, y, z: N·s/m.
    double linear_damping[3];
    /// Rotational damping about x, y, z: N·m·s/rad.
    double angular_damping[3];
    /// Mass along x, y, z; 0 leaves that of the tool: kilograms.
    double mass[3];
    /// Moment of inertia about x, y, z; 0 leaves that of the tool: kg·m².
    double inertia[3];
    /// Limit of the force; 0 leaves the limit to the controller: newtons.
    double force_max;
    /// Limit of the torque; 0 leaves the limit to the controller: N·m.
    double torque_max;
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x959370426970db0bu, 0xd7fd2c6bb64d8a08u};
};
static_assert(sizeof(ImpedanceParameters) == 200, "size of ImpedanceParameters");
static_assert(alignof(ImpedanceParameters) == 8, "alignment of ImpedanceParameters");
static_assert(std::is_trivially_copyable_v<ImpedanceParameters> && std::is_standard_layout_v<ImpedanceParameters>);
static_assert(offsetof(ImpedanceParameters, timestamp_ns) == 0);
static_assert(offsetof(ImpedanceParameters, frame_id) == 8);
static_assert(offsetof(ImpedanceParameters, linear_stiffness) == 40);
static_assert(offsetof(ImpedanceParameters, angular_stiffness) == 64);
static_assert(offsetof(ImpedanceParameters, linear_damping) == 88);
static_assert(offsetof(ImpedanceParameters, angular_damping) == 112);
static_assert(offsetof(ImpedanceParameters, mass) == 136);
static_assert(offsetof(ImpedanceParameters, inertia) == 160);
static_assert(offsetof(ImpedanceParameters, force_max) == 184);
static_assert(offsetof(ImpedanceParameters, torque_max) == 192);
HORUS_MESSAGE(ImpedanceParameters, timestamp_ns, frame_id, linear_stiffness, angular_stiffness,
    linear_damping, angular_damping, mass, inertia, force_max, torque_max);

/// Estimated pose and velocity of a body, like `nav_msgs/Odometry`.
///
/// The pose is in the `odom` frame, the velocity in the body's own frame (REP-105).
/// Covariances are row-major 6 × 6 over (x, y, z, rotation about x, y, z); all zeros means
/// unknown.
struct alignas(8) Odometry {
    /// Time for which the pose is valid, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Position x, y, z: metres.
    double position[3];
    /// Unit quaternion x, y, z, w: no unit.
    double orientation[4] = {0.0, 0.0, 0.0, 1.0};
    /// Covariance of the position, of position and rotation, and of the rotation: m², m·rad,
    /// rad².
    double pose_covariance[36];
    /// Velocity along x, y, z of the body: metres per second.
    double linear[3];
    /// Angular velocity about x, y, z of the body: radians per second.
    double angular[3];
    /// Covariance of the linear velocity, of linear and angular velocity, and of the angular
    /// velocity: m²/s², m·rad/s², rad²/s².
    double twist_covariance[36];
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0xfd74e7f9cdc87358u, 0x01436083d0c5dfdcu};
};
static_assert(sizeof(Odometry) == 688, "size of Odometry");
static_assert(alignof(Odometry) == 8, "alignment of Odometry");
static_assert(std::is_trivially_copyable_v<Odometry> && std::is_standard_layout_v<Odometry>);
static_assert(offsetof(Odometry, timestamp_ns) == 0);
static_assert(offsetof(Odometry, position) == 8);
static_assert(offsetof(Odometry, orientation) == 32);
static_assert(offsetof(Odometry, pose_covariance) == 64);
static_assert(offsetof(Odometry, linear) == 352);
static_assert(offsetof(Odometry, angular) == 376);
static_assert(offsetof(Odometry, twist_covariance) == 400);
HORUS_MESSAGE(Odometry, timestamp_ns, position, orientation, pose_covariance, linear, angular,
    twist_covariance);

/// A navigation goal with tolerances, like the goal of `nav2_msgs/action/NavigateToPose`.
struct alignas(8) NavGoal {
    /// Time of the command, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Number chosen by the sender, and returned in `GoalResult`:
    /// no unit.
    std::uint64_t goal_id;
    /// Frame of the pose, such as `map`: text.
    char frame_id[32];
    /// Position x, y, z: metres.
    double position[3];
    /// Unit quaternion x, y, z, w: no unit.
    double orientation[4] = {0.0, 0.0, 0.0, 1.0};
    /// Largest accepted error of the position; 0 leaves it to the navigation: metres.
    double position_tolerance;
    /// Largest accepted error of the yaw; 0 leaves it to the navigation: radians.
    double yaw_tolerance;
    /// Time after which the goal is aborted; 0 means never: nanoseconds.
    std::uint64_t timeout_ns;
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x6c45dc12d5918786u, 0x1d8bfac2804436c4u};
};
static_assert(sizeof(NavGoal) == 128, "size of NavGoal");
static_assert(alignof(NavGoal) == 8, "alignment of NavGoal");
static_assert(std::is_trivially_copyable_v<NavGoal> && std::is_standard_layout_v<NavGoal>);
static_assert(offsetof(NavGoal, timestamp_ns) == 0);
static_assert(offsetof(NavGoal, goal_id) == 8);
static_assert(offsetof(NavGoal, frame_id) == 16);
static_assert(offsetof(NavGoal, position) == 48);
static_assert(offsetof(NavGoal, orientation) == 72);
static_assert(offsetof(NavGoal, position_tolerance) == 104);
static_assert(offsetof(NavGoal, yaw_tolerance) == 112);
static_assert(offsetof(NavGoal, timeout_ns) == 120);
HORUS_MESSAGE(NavGoal, timestamp_ns, goal_id, frame_id, position, orientation, position_tolerance,
    yaw_tolerance, timeout_ns);

/// State of a `NavGoal` while it is executed, and its result.
///
/// It has the status of `action_msgs/GoalStatus`, and the result and feedback of
/// `nav2_msgs/action/NavigateToPose`.
struct alignas(8) GoalResult {
    /// Time of this state, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Number of the goal: no unit.
    std::uint64_t goal_id;
    /// One of the `STATUS_` constants; any other number means `STATUS_UNKNOWN`: no unit.
    std::uint8_t status;
    /// Reserved, 0: no unit.
    std::uint8_t _reserved;
    /// Error code of the navigation in use, 0 without an error: no unit.
    std::uint16_t error_code;
    /// Number of recoveries: count.
    std::uint32_t number_of_recoveries;
    /// Time since the goal was accepted: nanoseconds.
    std::uint64_t navigation_time_ns;
    /// Time until arrival, 0 if unknown: nanoseconds.
    std::uint64_t estimated_time_remaining_ns;
    /// Distance to go along the path: metres.
    double distance_remaining;
    /// Description of the error, for people to read: text.
    char error_msg[64];
    /// The status is unknown.
    static constexpr std::uint8_t STATUS_UNKNOWN = 0;
    /// The goal was accepted and is not yet executed.
    static constexpr std::uint8_t STATUS_ACCEPTED = 1;
    /// The robot moves to the goal.
    static constexpr std::uint8_t STATUS_EXECUTING = 2;
    /// The goal is being cancelled, and the robot has not stopped yet.
    static constexpr std::uint8_t STATUS_CANCELING = 3;
    /// The robot has arrived.
    static constexpr std::uint8_t STATUS_SUCCEEDED = 4;
    /// The goal was cancelled on request.
    static constexpr std::uint8_t STATUS_CANCELED = 5;
    /// The navigation aborted the goal.
    static constexpr std::uint8_t STATUS_ABORTED = 6;
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x065e8ec9ccc44431u, 0x069cd4b6111bc129u};
};
static_assert(sizeof(GoalResult) == 112, "size of GoalResult");
static_assert(alignof(GoalResult) == 8, "alignment of GoalResult");
static_assert(std::is_trivially_copyable_v<GoalResult> && std::is_standard_layout_v<GoalResult>);
static_assert(offsetof(GoalResult, timestamp_ns) == 0);
static_assert(offsetof(GoalResult, goal_id) == 8);
static_assert(offsetof(GoalResult, status) == 16);
static_assert(offsetof(GoalResult, _reserved) == 17);
static_assert(offsetof(GoalResult, error_code) == 18);
static_assert(offsetof(GoalResult, number_of_recoveries) == 20);
static_assert(offsetof(GoalResult, navigation_time_ns) == 24);
static_assert(offsetof(GoalResult, estimated_time_remaining_ns) == 32);
static_assert(offsetof(GoalResult, distance_remaining) == 40);
static_assert(offsetof(GoalResult, error_msg) == 48);
HORUS_MESSAGE(GoalResult, timestamp_ns, goal_id, status, _reserved, error_code,
    number_of_recoveries, navigation_time_ns, estimated_time_remaining_ns, distance_remaining,
    error_msg);

/// A pose of a path, like those of `nav_msgs/Path`, and the speed of the robot at this pose. It
/// has no timestamp and no frame: it is for use inside `NavPath`. Its size is one cache line.
struct alignas(8) Waypoint {
    /// Position x, y, z: metres.
    double position[3];
    /// Unit quaternion x, y, z, w: no unit.
    double orientation[4] = {0.0, 0.0, 0.0, 1.0};
    /// Speed at this pose; 0 means to stop there: metres per second.
    double speed;
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x2c20bd97b93a50d9u, 0x74d100a14662026fu};
};
static_assert(sizeof(Waypoint) == 64, "size of Waypoint");
static_assert(alignof(Waypoint) == 8, "alignment of Waypoint");
static_assert(std::is_trivially_copyable_v<Waypoint> && std::is_standard_layout_v<Waypoint>);
static_assert(offsetof(Waypoint, position) == 0);
static_assert(offsetof(Waypoint, orientation) == 24);
static_assert(offsetof(Waypoint, speed) == 56);
HORUS_MESSAGE(Waypoint, position, orientation, speed);

/// A path to follow, like `nav_msgs/Path`.
struct alignas(8) NavPath {
    /// Time of the planning, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Frame of all waypoints, such as `map`: text.
    char frame_id[32];
    /// Number of waypoints, which are the first elements of `waypoints`: count.
    std::uint32_t count;
    /// Reserved, 0: no unit.
    std::uint32_t _reserved;
    /// Waypoints in the order in which they are passed.
    Waypoint waypoints[256];
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x87271f2d00ec0f01u, 0x0ad8b5a04459bf7cu};
};
static_assert(sizeof(NavPath) == 16432, "size of NavPath");
static_assert(alignof(NavPath) == 8, "alignment of NavPath");
static_assert(std::is_trivially_copyable_v<NavPath> && std::is_standard_layout_v<NavPath>);
static_assert(offsetof(NavPath, timestamp_ns) == 0);
static_assert(offsetof(NavPath, frame_id) == 8);
static_assert(offsetof(NavPath, count) == 40);
static_assert(offsetof(NavPath, _reserved) == 44);
static_assert(offsetof(NavPath, waypoints) == 48);
HORUS_MESSAGE(NavPath, timestamp_ns, frame_id, count, _reserved, waypoints);

/// A rectangle in an image, like `vision_msgs/BoundingBox2D`. It has no timestamp: it is for
/// use inside other messages.
struct alignas(8) BoundingBox2D {
    /// Centre x, y from the top left corner of the image: pixels.
    double center[2];
    /// Rotation about the centre, from x to y: radians.
    double theta;
    /// Size along its own x: pixels.
    double size_x;
    /// Size along its own y: pixels.
    double size_y;
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0xdaa80f496d84563au, 0xf989ca6da0c56c15u};
};
static_assert(sizeof(BoundingBox2D) == 40, "size of BoundingBox2D");
static_assert(alignof(BoundingBox2D) == 8, "alignment of BoundingBox2D");
static_assert(std::is_trivially_copyable_v<BoundingBox2D> && std::is_standard_layout_v<BoundingBox2D>);
static_assert(offsetof(BoundingBox2D, center) == 0);
static_assert(offsetof(BoundingBox2D, theta) == 16);
static_assert(offsetof(BoundingBox2D, size_x) == 24);
static_assert(offsetof(BoundingBox2D, size_y) == 32);
HORUS_MESSAGE(BoundingBox2D, center, theta, size_x, size_y);

/// A box in space, like `vision_msgs/BoundingBox3D`. It has no timestamp: it is for use inside
/// other messages.
struct alignas(8) BoundingBox3D {
    /// Centre x, y, z: metres.
    double center[3];
    /// Unit quaternion x, y, z, w: no unit.
    double orientation[4] = {0.0, 0.0, 0.0, 1.0};
    /// Size along its own x, y, z: metres.
    double size[3];
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x6b1bd15d8fcc6373u, 0x46cc96c9f9129046u};
};
static_assert(sizeof(BoundingBox3D) == 80, "size of BoundingBox3D");
static_assert(alignof(BoundingBox3D) == 8, "alignment of BoundingBox3D");
static_assert(std::is_trivially_copyable_v<BoundingBox3D> && std::is_standard_layout_v<BoundingBox3D>);
static_assert(offsetof(BoundingBox3D, center) == 0);
static_assert(offsetof(BoundingBox3D, orientation) == 24);
static_assert(offsetof(BoundingBox3D, size) == 56);
HORUS_MESSAGE(BoundingBox3D, center, orientation, size);

/// An object detected in an image, like `vision_msgs/Detection2D` with its best hypothesis. All
/// detections in one image have the same time.
struct alignas(8) Detection {
    /// Time of the image, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Frame of the camera: text.
    char frame_id[32];
    /// Class of the object, such as `person`: text.
    char class_id[32];
    /// Confidence in the class, 0 to 1: no unit.
    double score;
    /// Place of the object in the image.
    BoundingBox2D bbox;
    /// Identifier of the object, the same in several images if it is tracked: text.
    char id[32];
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x3e41dad6e778b0bbu, 0x38c1f4e3d92535a1u};
};
static_assert(sizeof(Detection) == 152, "size of Detection");
static_assert(alignof(Detection) == 8, "alignment of Detection");
static_assert(std::is_trivially_copyable_v<Detection> && std::is_standard_layout_v<Detection>);
static_assert(offsetof(Detection, timestamp_ns) == 0);
static_assert(offsetof(Detection, frame_id) == 8);
static_assert(offsetof(Detection, class_id) == 40);
static_assert(offsetof(Detection, score) == 72);
static_assert(offsetof(Detection, bbox) == 80);
static_assert(offsetof(Detection, id) == 120);
HORUS_MESSAGE(Detection, timestamp_ns, frame_id, class_id, score, bbox, id);

/// An object detected in space, like `vision_msgs/Detection3D` with its best hypothesis. All
/// detections in one measurement have the same time.
struct alignas(8) Detection3D {
    /// Time of the measurement, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Frame of the box: text.
    char frame_id[32];
    /// Class of the object, such as `person`: text.
    char class_id[32];
    /// Confidence in the class, 0 to 1: no unit.
    double score;
    /// Place of the object.
    BoundingBox3D bbox;
    /// Identifier of the object, the same in several measurements if it is tracked: text.
    char id[32];
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0xe9df06dd51f762dbu, 0xe353ad7a258fcef1u};
};
static_assert(sizeof(Detection3D) == 192, "size of Detection3D");
static_assert(alignof(Detection3D) == 8, "alignment of Detection3D");
static_assert(std::is_trivially_copyable_v<Detection3D> && std::is_standard_layout_v<Detection3D>);
static_assert(offsetof(Detection3D, timestamp_ns) == 0);
static_assert(offsetof(Detection3D, frame_id) == 8);
static_assert(offsetof(Detection3D, class_id) == 40);
static_assert(offsetof(Detection3D, score) == 72);
static_assert(offsetof(Detection3D, bbox) == 80);
static_assert(offsetof(Detection3D, id) == 160);
HORUS_MESSAGE(Detection3D, timestamp_ns, frame_id, class_id, score, bbox, id);

/// An object that is tracked from one measurement to the next. No ROS type; the box is that of
/// `vision_msgs/Detection3D`.
struct alignas(8) TrackedObject {
    /// Time for which the pose is valid, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Frame of box and velocities: text.
    char frame_id[32];
    /// Number of the track, which is never reused: no unit.
    std::uint64_t track_id;
    /// Class of the object, such as `person`: text.
    char class_id[32];
    /// Confidence in the class, 0 to 1: no unit.
    double score;
    /// Place of the object.
    BoundingBox3D bbox;
    /// Velocity along x, y, z: metres per second.
    double linear_velocity[3];
    /// Angular velocity about x, y, z: radians per second.
    double angular_velocity[3];
    /// Time since the track began: nanoseconds.
    std::uint64_t age_ns;
    /// Number of measurements without the object since it was last seen: count.
    std::uint32_t missed;
    /// One of the `STATE_` constants: no unit.
    std::uint8_t state;
    /// Reserved, 0: no unit.
    std::uint8_t _reserved[3];
    /// The object was seen too few times to confirm the track.
    static constexpr std::uint8_t STATE_TENTATIVE = 0;
    /// The track is confirmed.
    static constexpr std::uint8_t STATE_CONFIRMED = 1;
    /// The object is not seen at the moment, and its motion is extrapolated.
    static constexpr std::uint8_t STATE_COASTING = 2;
    /// The track has ended; this is its last message.
    static constexpr std::uint8_t STATE_DELETED = 3;
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x7b237fa28b88d4a2u, 0x6f4c57a88617572du};
};
static_assert(sizeof(TrackedObject) == 232, "size of TrackedObject");
static_assert(alignof(TrackedObject) == 8, "alignment of TrackedObject");
static_assert(std::is_trivially_copyable_v<TrackedObject> && std::is_standard_layout_v<TrackedObject>);
static_assert(offsetof(TrackedObject, timestamp_ns) == 0);
static_assert(offsetof(TrackedObject, frame_id) == 8);
static_assert(offsetof(TrackedObject, track_id) == 40);
static_assert(offsetof(TrackedObject, class_id) == 48);
static_assert(offsetof(TrackedObject, score) == 80);
static_assert(offsetof(TrackedObject, bbox) == 88);
static_assert(offsetof(TrackedObject, linear_velocity) == 168);
static_assert(offsetof(TrackedObject, angular_velocity) == 192);
static_assert(offsetof(TrackedObject, age_ns) == 216);
static_assert(offsetof(TrackedObject, missed) == 224);
static_assert(offsetof(TrackedObject, state) == 228);
static_assert(offsetof(TrackedObject, _reserved) == 229);
HORUS_MESSAGE(TrackedObject, timestamp_ns, frame_id, track_id, class_id, score, bbox,
    linear_velocity, angular_velocity, age_ns, missed, state, _reserved);

/// A place that is recognised again, such as a corner or a fiducial marker. No ROS type.
///
/// The covariance is row-major 3 × 3 over x, y, z; all zeros means unknown.
struct alignas(8) Landmark {
    /// Time at which the landmark was seen, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Frame of the position: text.
    char frame_id[32];
    /// Number of the landmark, such as that of the marker: no unit.
    std::uint32_t landmark_id;
    /// One of the `KIND_` constants: no unit.
    std::uint8_t kind;
    /// Reserved, 0: no unit.
    std::uint8_t _reserved[3];
    /// Position x, y, z: metres.
    double position[3];
    /// Unit quaternion x, y, z, w, the identity for a point: no unit.
    double orientation[4] = {0.0, 0.0, 0.0, 1.0};
    /// Covariance of `position`: m².
    double position_covariance[9];
    /// Confidence that it is this landmark, 0 to 1: no unit.
    double score;
    /// A point from a feature detector.
    static constexpr std::uint8_t KIND_POINT = 0;
    /// A fiducial marker such as AprilTag or ArUco.
    static constexpr std::uint8_t KIND_MARKER = 1;
    /// A vertical line such as a pole or an edge.
    static constexpr std::uint8_t KIND_POLE = 2;
    /// A reflector.
    static constexpr std::uint8_t KIND_REFLECTOR = 3;
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x9e84ee6e81a7dc46u, 0xd61deec9cc971ec0u};
};
static_assert(sizeof(Landmark) == 184, "size of Landmark");
static_assert(alignof(Landmark) == 8, "alignment of Landmark");
static_assert(std::is_trivially_copyable_v<Landmark> && std::is_standard_layout_v<Landmark>);
static_assert(offsetof(Landmark, timestamp_ns) == 0);
static_assert(offsetof(Landmark, frame_id) == 8);
static_assert(offsetof(Landmark, landmark_id) == 40);
static_assert(offsetof(Landmark, kind) == 44);
static_assert(offsetof(Landmark, _reserved) == 45);
static_assert(offsetof(Landmark, position) == 48);
static_assert(offsetof(Landmark, orientation) == 72);
static_assert(offsetof(Landmark, position_covariance) == 104);
static_assert(offsetof(Landmark, score) == 176);
HORUS_MESSAGE(Landmark, timestamp_ns, frame_id, landmark_id, kind, _reserved, position,
    orientation, position_covariance, score);

/// A flat part of the environment, such as a floor or a table. No ROS type; `coef` is as in
/// `shape_msgs/Plane`.
struct alignas(8) PlaneDetection {
    /// Time of the measurement, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Frame of plane and centre: text.
    char frame_id[32];
    /// Coefficients a, b, c, d of `a·x + b·y + c·z + d = 0`, where (a, b, c) is a unit vector
    /// and d in metres: no unit.
    double coef[4];
    /// Centre x, y, z of the part: metres.
    double center[3];
    /// Longest extent of the part, and the extent across it: metres.
    double size[2];
    /// Number of points that the plane was fitted to: count.
    std::uint32_t inlier_count;
    /// Reserved, 0: no unit.
    std::uint32_t _reserved;
    /// Root mean square distance of these points from the plane: metres.
    double residual;
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0xe8755ffe6d4b9674u, 0xd65f7d3c6a41c3a4u};
};
static_assert(sizeof(PlaneDetection) == 128, "size of PlaneDetection");
static_assert(alignof(PlaneDetection) == 8, "alignment of PlaneDetection");
static_assert(std::is_trivially_copyable_v<PlaneDetection> && std::is_standard_layout_v<PlaneDetection>);
static_assert(offsetof(PlaneDetection, timestamp_ns) == 0);
static_assert(offsetof(PlaneDetection, frame_id) == 8);
static_assert(offsetof(PlaneDetection, coef) == 40);
static_assert(offsetof(PlaneDetection, center) == 72);
static_assert(offsetof(PlaneDetection, size) == 96);
static_assert(offsetof(PlaneDetection, inlier_count) == 112);
static_assert(offsetof(PlaneDetection, _reserved) == 116);
static_assert(offsetof(PlaneDetection, residual) == 120);
HORUS_MESSAGE(PlaneDetection, timestamp_ns, frame_id, coef, center, size, inlier_count, _reserved,
    residual);

/// A part of an image, like `sensor_msgs/RegionOfInterest`. It has no timestamp: it is for use
/// inside other messages. All zeros means the whole image.
struct alignas(4) RegionOfInterest {
    /// Left edge: pixels.
    std::uint32_t x_offset;
    /// Top edge: pixels.
    std::uint32_t y_offset;
    /// Height of the region: pixels.
    std::uint32_t height;
    /// Width of the region: pixels.
    std::uint32_t width;
    /// 1 if it is to be cut from the rectified image: no unit.
    std::uint8_t do_rectify;
    /// Reserved, 0: no unit.
    std::uint8_t _reserved[7];
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0xe32ae37d0766003cu, 0x8513f38d6954b335u};
};
static_assert(sizeof(RegionOfInterest) == 24, "size of RegionOfInterest");
static_assert(alignof(RegionOfInterest) == 4, "alignment of RegionOfInterest");
static_assert(std::is_trivially_copyable_v<RegionOfInterest> && std::is_standard_layout_v<RegionOfInterest>);
static_assert(offsetof(RegionOfInterest, x_offset) == 0);
static_assert(offsetof(RegionOfInterest, y_offset) == 4);
static_assert(offsetof(RegionOfInterest, height) == 8);
static_assert(offsetof(RegionOfInterest, width) == 12);
static_assert(offsetof(RegionOfInterest, do_rectify) == 16);
static_assert(offsetof(RegionOfInterest, _reserved) == 17);
HORUS_MESSAGE(RegionOfInterest, x_offset, y_offset, height, width, do_rectify, _reserved);

/// Calibration of a camera, like `sensor_msgs/CameraInfo`.
///
/// The documents of `image_pipeline` explain its fields. Matrices are row-major.
struct alignas(8) CameraInfo {
    /// Time of the image, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Optical frame (z forward, x right, y down): text.
    char frame_id[32];
    /// Height of the image that was calibrated: pixels.
    std::uint32_t height;
    /// Width of the image that was calibrated: pixels.
    std::uint32_t width;
    /// Name of the model, such as `plumb_bob` or `rational_polynomial`: text.
    char distortion_model[32];
    /// Number of coefficients of the model, from the first of `d`: count.
    std::uint32_t d_count;
    /// Reserved, 0: no unit.
    std::uint32_t _reserved;
    /// Coefficients of the distortion model: no unit.
    double d[14];
    /// Intrinsic matrix of the raw image, 3 × 3, fx 0 cx 0 fy cy 0 0 1: pixels.
    double k[9];
    /// Rotation that rectifies the image, 3 × 3: no unit.
    double r[9];
    /// Projection of the rectified image, 3 × 4: pixels.
    double p[12];
    /// Number of sensor columns in one column of the image; 0 means 1: count.
    std::uint32_t binning_x;
    /// Number of sensor rows in one row of the image; 0 means 1: count.
    std::uint32_t binning_y;
    /// Part of the sensor that was read, before binning.
    RegionOfInterest roi;
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x1a0c86a55ece8ee4u, 0xba0651a853759885u};
};
static_assert(sizeof(CameraInfo) == 472, "size of CameraInfo");
static_assert(alignof(CameraInfo) == 8, "alignment of CameraInfo");
static_assert(std::is_trivially_copyable_v<CameraInfo> && std::is_standard_layout_v<CameraInfo>);
static_assert(offsetof(CameraInfo, timestamp_ns) == 0);
static_assert(offsetof(CameraInfo, frame_id) == 8);
static_assert(offsetof(CameraInfo, height) == 40);
static_assert(offsetof(CameraInfo, width) == 44);
static_assert(offsetof(CameraInfo, distortion_model) == 48);
static_assert(offsetof(CameraInfo, d_count) == 80);
static_assert(offsetof(CameraInfo, _reserved) == 84);
static_assert(offsetof(CameraInfo, d) == 88);
static_assert(offsetof(CameraInfo, k) == 200);
static_assert(offsetof(CameraInfo, r) == 272);
static_assert(offsetof(CameraInfo, p) == 344);
static_assert(offsetof(CameraInfo, binning_x) == 440);
static_assert(offsetof(CameraInfo, binning_y) == 444);
static_assert(offsetof(CameraInfo, roi) == 448);
HORUS_MESSAGE(CameraInfo, timestamp_ns, frame_id, height, width, distortion_model, d_count,
    _reserved, d, k, r, p, binning_x, binning_y, roi);

/// A periodic message that shows that its sender runs. No ROS type.
struct alignas(8) Heartbeat {
    /// Send time, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Name of the sender: text.
    char source[32];
    /// Sequence number, one more for each message: count.
    std::uint64_t sequence;
    /// Time until the next heartbeat, from this one: nanoseconds.
    std::uint64_t period_ns;
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x26633e60a4f4b2d9u, 0x9e23d192b3b5da7au};
};
static_assert(sizeof(Heartbeat) == 56, "size of Heartbeat");
static_assert(alignof(Heartbeat) == 8, "alignment of Heartbeat");
static_assert(std::is_trivially_copyable_v<Heartbeat> && std::is_standard_layout_v<Heartbeat>);
static_assert(offsetof(Heartbeat, timestamp_ns) == 0);
static_assert(offsetof(Heartbeat, source) == 8);
static_assert(offsetof(Heartbeat, sequence) == 40);
static_assert(offsetof(Heartbeat, period_ns) == 48);
HORUS_MESSAGE(Heartbeat, timestamp_ns, source, sequence, period_ns);

/// A heartbeat of a node with its timing. No ROS type; the states are those of
/// `lifecycle_msgs/State`.
struct alignas(8) NodeHeartbeat {
    /// Send time, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Name of the node: text.
    char name[32];
    /// Number of ticks: count.
    std::uint64_t tick_count;
    /// Period of the ticks, 0 without a fixed one: nanoseconds.
    std::uint64_t period_ns;
    /// Duration of the last tick: nanoseconds.
    std::uint64_t tick_duration_ns;
    /// Duration of the longest tick: nanoseconds.
    std::uint64_t tick_duration_max_ns;
    /// Number of ticks that ended after their deadline: count.
    std::uint64_t missed_deadlines;
    /// Time since the start of the node: nanoseconds.
    std::uint64_t uptime_ns;
    /// Process id, in its own PID namespace: no unit.
    std::uint32_t process_id;
    /// One of the `STATE_` constants: no unit.
    std::uint8_t state;
    /// One of the constants of `DiagnosticStatus`, such as `OK`: no unit.
    std::uint8_t level;
    /// Reserved, 0: no unit.
    std::uint16_t _reserved;
    /// The state is unknown.
    static constexpr std::uint8_t STATE_UNKNOWN = 0;
    /// The node exists and is not set up.
    static constexpr std::uint8_t STATE_UNCONFIGURED = 1;
    /// The node is set up and does not tick.
    static constexpr std::uint8_t STATE_INACTIVE = 2;
    /// The node ticks.
    static constexpr std::uint8_t STATE_ACTIVE = 3;
    /// The node has ended.
    static constexpr std::uint8_t STATE_FINALIZED = 4;
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0xa55142ea1c420ecau, 0x4226d798d2c1eb35u};
};
static_assert(sizeof(NodeHeartbeat) == 96, "size of NodeHeartbeat");
static_assert(alignof(NodeHeartbeat) == 8, "alignment of NodeHeartbeat");
static_assert(std::is_trivially_copyable_v<NodeHeartbeat> && std::is_standard_layout_v<NodeHeartbeat>);
static_assert(offsetof(NodeHeartbeat, timestamp_ns) == 0);
static_assert(offsetof(NodeHeartbeat, name) == 8);
static_assert(offsetof(NodeHeartbeat, tick_count) == 40);
static_assert(offsetof(NodeHeartbeat, period_ns) == 48);
static_assert(offsetof(NodeHeartbeat, tick_duration_ns) == 56);
static_assert(offsetof(NodeHeartbeat, tick_duration_max_ns) == 64);
static_assert(offsetof(NodeHeartbeat, missed_deadlines) == 72);
static_assert(offsetof(NodeHeartbeat, uptime_ns) == 80);
static_assert(offsetof(NodeHeartbeat, process_id) == 88);
static_assert(offsetof(NodeHeartbeat, state) == 92);
static_assert(offsetof(NodeHeartbeat, level) == 93);
static_assert(offsetof(NodeHeartbeat, _reserved) == 94);
HORUS_MESSAGE(NodeHeartbeat, timestamp_ns, name, tick_count, period_ns, tick_duration_ns,
    tick_duration_max_ns, missed_deadlines, uptime_ns, process_id, state, level, _reserved);

/// A named value of a part of the robot, like `diagnostic_msgs/KeyValue`. It has no timestamp:
/// it is for use inside `DiagnosticStatus`.
struct alignas(1) DiagnosticValue {
    /// Name of the value: text.
    char key[32];
    /// The value with its unit: text.
    char value[64];
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0xdfc88fc18827760eu, 0x9e4c898d7919a3c7u};
};
static_assert(sizeof(DiagnosticValue) == 96, "size of DiagnosticValue");
static_assert(alignof(DiagnosticValue) == 1, "alignment of DiagnosticValue");
static_assert(std::is_trivially_copyable_v<DiagnosticValue> && std::is_standard_layout_v<DiagnosticValue>);
static_assert(offsetof(DiagnosticValue, key) == 0);
static_assert(offsetof(DiagnosticValue, value) == 32);
HORUS_MESSAGE(DiagnosticValue, key, value);

/// State of a part of the robot, like `diagnostic_msgs/DiagnosticStatus`.
struct alignas(8) DiagnosticStatus {
    /// Time of this state, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// `OK`, `WARN`, `ERROR` or `STALE`; any other number means `ERROR`: no unit.
    std::uint8_t level;
    /// Reserved, 0: no unit.
    std::uint8_t _reserved[3];
    /// Number of values, which are the first elements of `values`: count.
    std::uint32_t count;
    /// Name of the part, such as `base: left motor`: text.
    char name[64];
    /// Description of the state, for people to read: text.
    char message[128];
    /// Identifier of the hardware, such as a serial number: text.
    char hardware_id[32];
    /// Further values of the part.
    DiagnosticValue values[16];
    /// The part works.
    static constexpr std::uint8_t OK = 0;
    /// The part works, but needs attention.
    static constexpr std::uint8_t WARN = 1;
    /// The part does not work.
    static constexpr std::uint8_t ERROR = 2;
    /// The part has not reported for too long.
    static constexpr std::uint8_t STALE = 3;
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x057fe8783c522fe9u, 0x7a832fdccbe59e67u};
};
static_assert(sizeof(DiagnosticStatus) == 1776, "size of DiagnosticStatus");
static_assert(alignof(DiagnosticStatus) == 8, "alignment of DiagnosticStatus");
static_assert(std::is_trivially_copyable_v<DiagnosticStatus> && std::is_standard_layout_v<DiagnosticStatus>);
static_assert(offsetof(DiagnosticStatus, timestamp_ns) == 0);
static_assert(offsetof(DiagnosticStatus, level) == 8);
static_assert(offsetof(DiagnosticStatus, _reserved) == 9);
static_assert(offsetof(DiagnosticStatus, count) == 12);
static_assert(offsetof(DiagnosticStatus, name) == 16);
static_assert(offsetof(DiagnosticStatus, message) == 80);
static_assert(offsetof(DiagnosticStatus, hardware_id) == 208);
static_assert(offsetof(DiagnosticStatus, values) == 240);
HORUS_MESSAGE(DiagnosticStatus, timestamp_ns, level, _reserved, count, name, message, hardware_id,
    values);

/// State of the emergency stop. No ROS type.
///
/// Every value of `engaged` except 0 means that everything has to stand still, so that a
/// damaged message does not release the stop.
struct alignas(8) EmergencyStop {
    /// Time at which the stop was engaged or released, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// 0 if released, else the stop is engaged: no unit.
    std::uint8_t engaged = 1;
    /// Reserved, 0: no unit.
    std::uint8_t _reserved[7];
    /// Name of the part that engaged or released the stop: text.
    char source[32];
    /// Reason why it was engaged or released, for people to read: text.
    char reason[64];
    /// Time at which the stop was engaged or released, by CLOCK_MONOTONIC, 0 if unknown; it
    /// shows which message of several publishers is the last one: nanoseconds.
    std::uint64_t monotonic_ns;
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x3fadb267f556345eu, 0x05df04e9b36bb899u};
};
static_assert(sizeof(EmergencyStop) == 120, "size of EmergencyStop");
static_assert(alignof(EmergencyStop) == 8, "alignment of EmergencyStop");
static_assert(std::is_trivially_copyable_v<EmergencyStop> && std::is_standard_layout_v<EmergencyStop>);
static_assert(offsetof(EmergencyStop, timestamp_ns) == 0);
static_assert(offsetof(EmergencyStop, engaged) == 8);
static_assert(offsetof(EmergencyStop, _reserved) == 9);
static_assert(offsetof(EmergencyStop, source) == 16);
static_assert(offsetof(EmergencyStop, reason) == 48);
static_assert(offsetof(EmergencyStop, monotonic_ns) == 112);
HORUS_MESSAGE(EmergencyStop, timestamp_ns, engaged, _reserved, source, reason, monotonic_ns);

/// Motion that the safety functions allow at the moment. No ROS type; the modes are after ISO
/// 10218.
///
/// A message of all zeros allows nothing.
struct alignas(8) SafetyStatus {
    /// Time of this state, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// One of the `MODE_` constants; any other number means `MODE_FAULT`: no unit.
    std::uint8_t mode;
    /// 1 if the drives are powered: no unit.
    std::uint8_t enabled;
    /// 1 if all watchdogs were served in time: no unit.
    std::uint8_t watchdog_ok;
    /// 1 if positions, speeds and forces are within their limits: no unit.
    std::uint8_t limits_ok;
    /// Fault code of the safety controller, 0 if there is none: no unit.
    std::uint32_t fault_code;
    /// Limit of the speed of every part; +∞ without a limit: metres per second.
    double speed_max;
    /// Reason for the mode, for people to read: text.
    char message[64];
    /// The mode is unknown; the robot must stand still.
    static constexpr std::uint8_t MODE_UNKNOWN = 0;
    /// The robot may move freely.
    static constexpr std::uint8_t MODE_NORMAL = 1;
    /// The robot may move at reduced speed, see `speed_max`.
    static constexpr std::uint8_t MODE_REDUCED = 2;
    /// A safety function stopped the robot, which may move again when the cause is gone.
    static constexpr std::uint8_t MODE_PROTECTIVE_STOP = 3;
    /// A person stopped the robot, which may move again when a person releases it.
    static constexpr std::uint8_t MODE_EMERGENCY_STOP = 4;
    /// A safety function does not work.
    static constexpr std::uint8_t MODE_FAULT = 5;
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0xc6c0baf4f0fc739bu, 0x9268d6a1b8270a6bu};
};
static_assert(sizeof(SafetyStatus) == 88, "size of SafetyStatus");
static_assert(alignof(SafetyStatus) == 8, "alignment of SafetyStatus");
static_assert(std::is_trivially_copyable_v<SafetyStatus> && std::is_standard_layout_v<SafetyStatus>);
static_assert(offsetof(SafetyStatus, timestamp_ns) == 0);
static_assert(offsetof(SafetyStatus, mode) == 8);
static_assert(offsetof(SafetyStatus, enabled) == 9);
static_assert(offsetof(SafetyStatus, watchdog_ok) == 10);
static_assert(offsetof(SafetyStatus, limits_ok) == 11);
static_assert(offsetof(SafetyStatus, fault_code) == 12);
static_assert(offsetof(SafetyStatus, speed_max) == 16);
static_assert(offsetof(SafetyStatus, message) == 24);
HORUS_MESSAGE(SafetyStatus, timestamp_ns, mode, enabled, watchdog_ok, limits_ok, fault_code,
    speed_max, message);

/// Use of a computer's resources. No ROS type.
struct alignas(8) ResourceUsage {
    /// Time of the measurement, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Name of the computer or the process: text.
    char source[32];
    /// Load of all processors together: the number of processors that are in use on average,
    /// from 0 to `cpu_count`: no unit.
    float cpu_load;
    /// Temperature, NaN if not measured: degrees Celsius.
    float cpu_temperature = std::numeric_limits<float>::quiet_NaN();
    /// Memory in use: bytes.
    std::uint64_t memory_used_bytes;
    /// Total memory: bytes.
    std::uint64_t memory_total_bytes;
    /// Disk space in use: bytes.
    std::uint64_t disk_used_bytes;
    /// Total disk space: bytes.
    std::uint64_t disk_total_bytes;
    /// Data received from networks since the start of `source`: bytes.
    std::uint64_t network_received_bytes;
    /// Data sent to networks since the start of `source`: bytes.
    std::uint64_t network_sent_bytes;
    /// Time since the start of `source`: nanoseconds.
    std::uint64_t uptime_ns;
    /// Number of threads: count.
    std::uint32_t thread_count;
    /// Number of processors: count.
    std::uint32_t cpu_count;
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0xd042a0a078883fcbu, 0x5c02531e42d4e6c8u};
};
static_assert(sizeof(ResourceUsage) == 112, "size of ResourceUsage");
static_assert(alignof(ResourceUsage) == 8, "alignment of ResourceUsage");
static_assert(std::is_trivially_copyable_v<ResourceUsage> && std::is_standard_layout_v<ResourceUsage>);
static_assert(offsetof(ResourceUsage, timestamp_ns) == 0);
static_assert(offsetof(ResourceUsage, source) == 8);
static_assert(offsetof(ResourceUsage, cpu_load) == 40);
static_assert(offsetof(ResourceUsage, cpu_temperature) == 44);
static_assert(offsetof(ResourceUsage, memory_used_bytes) == 48);
static_assert(offsetof(ResourceUsage, memory_total_bytes) == 56);
static_assert(offsetof(ResourceUsage, disk_used_bytes) == 64);
static_assert(offsetof(ResourceUsage, disk_total_bytes) == 72);
static_assert(offsetof(ResourceUsage, network_received_bytes) == 80);
static_assert(offsetof(ResourceUsage, network_sent_bytes) == 88);
static_assert(offsetof(ResourceUsage, uptime_ns) == 96);
static_assert(offsetof(ResourceUsage, thread_count) == 104);
static_assert(offsetof(ResourceUsage, cpu_count) == 108);
HORUS_MESSAGE(ResourceUsage, timestamp_ns, source, cpu_load, cpu_temperature, memory_used_bytes,
    memory_total_bytes, disk_used_bytes, disk_total_bytes, network_received_bytes,
    network_sent_bytes, uptime_ns, thread_count, cpu_count);

/// An event of a node, or of the scheduler that runs it: an entry of a log, and of the black
/// box. No ROS type.
struct alignas(8) NodeEvent {
    /// Time of the event, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Time of the event, by CLOCK_MONOTONIC: nanoseconds.
    std::uint64_t monotonic_ns;
    /// Number of the tick, counted from 0: count.
    std::uint64_t tick;
    /// Duration or delay, depending on the kind of event; 0 without one: nanoseconds.
    std::uint64_t value_ns;
    /// Name of the node, empty for the scheduler itself: text.
    char node[64];
    /// Details, such as an error or the message of a panic: text.
    char text[128];
    /// Process id, in its own PID namespace: no unit.
    std::uint32_t process_id;
    /// One of the constants of this message, such as `STARTED`: no unit.
    std::uint8_t kind;
    /// One of the constants of `DiagnosticStatus`, such as `OK`: no unit.
    std::uint8_t level;
    /// Reserved, 0: no unit.
    std::uint16_t _reserved;
    /// The node started.
    static constexpr std::uint8_t STARTED = 1;
    /// The node ended.
    static constexpr std::uint8_t FINISHED = 2;
    /// A tick returned an error, which is in `text`.
    static constexpr std::uint8_t FAILED = 3;
    /// A tick panicked with the message in `text`.
    static constexpr std::uint8_t PANICKED = 4;
    /// A tick exceeded a limit by `value_ns`; `text` is `deadline` if it ended too late, and
    /// `budget` if it took too long.
    static constexpr std::uint8_t MISSED = 5;
    /// A tick does not end, and has run for `value_ns`.
    static constexpr std::uint8_t STUCK = 6;
    /// A tick that was stuck ended after `value_ns`.
    static constexpr std::uint8_t RECOVERED = 7;
    /// The node entered its safe state.
    static constexpr std::uint8_t SAFE_STATE_ENTERED = 8;
    /// The node left its safe state.
    static constexpr std::uint8_t SAFE_STATE_LEFT = 9;
    /// The node is paused until it is resumed.
    static constexpr std::uint8_t PAUSED = 10;
    /// The node continues after a pause.
    static constexpr std::uint8_t RESUMED = 11;
    /// The node ended because of a command.
    static constexpr std::uint8_t STOPPED = 12;
    /// The node has a new rate, with the period `value_ns`.
    static constexpr std::uint8_t RATE_CHANGED = 13;
    /// Another node has replaced this one.
    static constexpr std::uint8_t SWAPPED = 14;
    /// A replacement by another node failed and changed nothing; the reason is in `text`.
    static constexpr std::uint8_t SWAP_FAILED = 15;
    /// An input had no message for longer than its timeout; `text` names the topic and the times.
    static constexpr std::uint8_t STALE_INPUT = 16;
    /// All inputs of the node have had a message within their timeouts again.
    static constexpr std::uint8_t FRESH_INPUT = 17;
    /// A checkpoint was passed out of order, too early or not at all; `text` says which.
    static constexpr std::uint8_t CHECKPOINT = 18;
    /// The emergency stop was engaged; `text` says by whom and why.
    static constexpr std::uint8_t EMERGENCY_STOP = 19;
    /// The emergency stop was released; `text` says by whom and why.
    static constexpr std::uint8_t EMERGENCY_OVER = 20;
    /// The system refused a setting of the thread, such as a core or a priority; `text` says which.
    static constexpr std::uint8_t REFUSED = 21;
    /// A `NodeCommand` was not executed; `text` has the command and the reason.
    static constexpr std::uint8_t COMMAND = 22;
    /// The scheduler started.
    static constexpr std::uint8_t SCHEDULER_STARTED = 23;
    /// The scheduler ended; the reason is in `text`.
    static constexpr std::uint8_t SCHEDULER_STOPPED = 24;
    /// A subscriber of the node cannot map the memory of a publisher, and misses its messages;
    /// `text` has the reason and the topic.
    static constexpr std::uint8_t LANE_NOT_MAPPED = 25;
    /// The subscriber of the topic `text` can map the memory of all publishers again.
    static constexpr std::uint8_t LANE_MAPPED = 26;
    /// A subscriber of the node gets nothing from any live publisher, because they send another
    /// message or offer less than it requests; `text` has the reason and the topic.
    static constexpr std::uint8_t INCOMPATIBLE = 27;
    /// The subscriber of the topic `text` matches a live publisher again, or the topic has no live
    /// publisher any more.
    static constexpr std::uint8_t COMPATIBLE = 28;
    /// The file of the topic `text` was removed or replaced, and the subscriber of the node
    /// continues in the file that has the name now.
    static constexpr std::uint8_t TOPIC_MOVED = 29;
    /// The namespace of the topic `text` was removed or replaced: publishers that open the topic
    /// from now on do not reach the subscriber of the node.
    static constexpr std::uint8_t NAMESPACE_REMOVED = 30;
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0xab1f7eb7b2c7a9b1u, 0x4acfe5c08fde3c1du};
};
static_assert(sizeof(NodeEvent) == 232, "size of NodeEvent");
static_assert(alignof(NodeEvent) == 8, "alignment of NodeEvent");
static_assert(std::is_trivially_copyable_v<NodeEvent> && std::is_standard_layout_v<NodeEvent>);
static_assert(offsetof(NodeEvent, timestamp_ns) == 0);
static_assert(offsetof(NodeEvent, monotonic_ns) == 8);
static_assert(offsetof(NodeEvent, tick) == 16);
static_assert(offsetof(NodeEvent, value_ns) == 24);
static_assert(offsetof(NodeEvent, node) == 32);
static_assert(offsetof(NodeEvent, text) == 96);
static_assert(offsetof(NodeEvent, process_id) == 224);
static_assert(offsetof(NodeEvent, kind) == 228);
static_assert(offsetof(NodeEvent, level) == 229);
static_assert(offsetof(NodeEvent, _reserved) == 230);
HORUS_MESSAGE(NodeEvent, timestamp_ns, monotonic_ns, tick, value_ns, node, text, process_id, kind,
    level, _reserved);

/// Metrics of a node since its scheduler started. It has no timestamp: it is for use inside
/// `SchedulerStatus`. No ROS type.
struct alignas(8) NodeMetrics {
    /// Name of the node: text.
    char name[64];
    /// Text of the last failure: text.
    char last_error[128];
    /// Number of ticks that have ended: count.
    std::uint64_t ticks;
    /// Period of the ticks, 0 without a rate: nanoseconds.
    std::uint64_t period_ns;
    /// Duration of the last tick: nanoseconds.
    std::uint64_t last_ns;
    /// Duration of the longest tick: nanoseconds.
    std::uint64_t max_ns;
    /// Number of misses, which are ticks that ended too late, took too long, began too soon or
    /// passed their checkpoints in a wrong order, and inputs found too old: count.
    std::uint64_t misses;
    /// Number of ticks that were skipped because the node was still busy or late: count.
    std::uint64_t skipped_ticks;
    /// Number of ticks that returned an error or panicked: count.
    std::uint64_t failures;
    /// Number of ticks that panicked: count.
    std::uint64_t panics;
    /// Histogram of the durations: element i counts the ticks below 2^i nanoseconds that no
    /// earlier element counts. The last element counts all others: count.
    std::uint64_t durations[40];
    /// Histogram of the delays between due time and start of the ticks, like `durations`:
    /// count.
    std::uint64_t lateness[40];
    /// Execution class, one of the `CLASS_` constants: no unit.
    std::uint8_t node_class;
    /// One of the `STATE_` constants: no unit.
    std::uint8_t state;
    /// One of the constants of `DiagnosticStatus`, such as `OK`: no unit.
    std::uint8_t level;
    /// 1 while a command pauses the node, also if `state` is another one, such as `STATE_SAFE`
    /// in an emergency stop: no unit.
    std::uint8_t is_paused;
    /// Reserved, 0: no unit.
    std::uint8_t _reserved[4];
    /// The class is unknown.
    static constexpr std::uint8_t CLASS_UNKNOWN = 0;
    /// The node has its own thread, which wakes at absolute times.
    static constexpr std::uint8_t CLASS_REAL_TIME = 1;
    /// The thread pool runs the node's ticks.
    static constexpr std::uint8_t CLASS_COMPUTE = 2;
    /// The node has a thread that sleeps until a topic has a message.
    static constexpr std::uint8_t CLASS_EVENT = 3;
    /// The node is a task that waits for files and networks.
    static constexpr std::uint8_t CLASS_ASYNC_IO = 4;
    /// The thread that runs the scheduler also runs the node's ticks.
    static constexpr std::uint8_t CLASS_BEST_EFFORT = 5;
    /// The node is a group of actors, which has threads of its own. A tick is a message that an
    /// actor has handled.
    static constexpr std::uint8_t CLASS_ACTORS = 6;
    /// The state is unknown.
    static constexpr std::uint8_t STATE_UNKNOWN = 0;
    /// The node ticks.
    static constexpr std::uint8_t STATE_ACTIVE = 1;
    /// The node is paused by a command.
    static constexpr std::uint8_t STATE_PAUSED = 2;
    /// The node backs off after a failure.
    static constexpr std::uint8_t STATE_BACKING_OFF = 3;
    /// The node is in its safe state.
    static constexpr std::uint8_t STATE_SAFE = 4;
    /// The node has ended.
    static constexpr std::uint8_t STATE_STOPPED = 5;
    /// The node is in a tick that does not end.
    static constexpr std::uint8_t STATE_STUCK = 6;
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0xde933cfdda3b1902u, 0xad87a322b65cfdf4u};
};
static_assert(sizeof(NodeMetrics) == 904, "size of NodeMetrics");
static_assert(alignof(NodeMetrics) == 8, "alignment of NodeMetrics");
static_assert(std::is_trivially_copyable_v<NodeMetrics> && std::is_standard_layout_v<NodeMetrics>);
static_assert(offsetof(NodeMetrics, name) == 0);
static_assert(offsetof(NodeMetrics, last_error) == 64);
static_assert(offsetof(NodeMetrics, ticks) == 192);
static_assert(offsetof(NodeMetrics, period_ns) == 200);
static_assert(offsetof(NodeMetrics, last_ns) == 208);
static_assert(offsetof(NodeMetrics, max_ns) == 216);
static_assert(offsetof(NodeMetrics, misses) == 224);
static_assert(offsetof(NodeMetrics, skipped_ticks) == 232);
static_assert(offsetof(NodeMetrics, failures) == 240);
static_assert(offsetof(NodeMetrics, panics) == 248);
static_assert(offsetof(NodeMetrics, durations) == 256);
static_assert(offsetof(NodeMetrics, lateness) == 576);
static_assert(offsetof(NodeMetrics, node_class) == 896);
static_assert(offsetof(NodeMetrics, state) == 897);
static_assert(offsetof(NodeMetrics, level) == 898);
static_assert(offsetof(NodeMetrics, is_paused) == 899);
static_assert(offsetof(NodeMetrics, _reserved) == 900);
HORUS_MESSAGE(NodeMetrics, name, last_error, ticks, period_ns, last_ns, max_ns, misses,
    skipped_ticks, failures, panics, durations, lateness, node_class, state, level, is_paused,
    _reserved);

/// A command to a node or a whole scheduler. No ROS type.
struct alignas(8) NodeCommand {
    /// Send time, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Name of the node, empty for all nodes of the scheduler: text.
    char node[64];
    /// New rate, for `SET_RATE`: hertz.
    double rate_hz;
    /// One of the constants of this message, such as `PAUSE`: no unit.
    std::uint8_t kind;
    /// Reserved, 0: no unit.
    std::uint8_t _reserved[7];
    /// Pauses the node until it is resumed.
    static constexpr std::uint8_t PAUSE = 1;
    /// Resumes a paused node.
    static constexpr std::uint8_t RESUME = 2;
    /// Ends the node after its current tick.
    static constexpr std::uint8_t STOP = 3;
    /// Changes the rate of the node.
    static constexpr std::uint8_t SET_RATE = 4;
    /// Ends all nodes and the scheduler.
    static constexpr std::uint8_t STOP_SCHEDULER = 5;
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x539134b4514d404du, 0x62302f2b0c3aa235u};
};
static_assert(sizeof(NodeCommand) == 88, "size of NodeCommand");
static_assert(alignof(NodeCommand) == 8, "alignment of NodeCommand");
static_assert(std::is_trivially_copyable_v<NodeCommand> && std::is_standard_layout_v<NodeCommand>);
static_assert(offsetof(NodeCommand, timestamp_ns) == 0);
static_assert(offsetof(NodeCommand, node) == 8);
static_assert(offsetof(NodeCommand, rate_hz) == 72);
static_assert(offsetof(NodeCommand, kind) == 80);
static_assert(offsetof(NodeCommand, _reserved) == 81);
HORUS_MESSAGE(NodeCommand, timestamp_ns, node, rate_hz, kind, _reserved);

/// The time of a simulation or a replayed recording, like `rosgraph_msgs/Clock`.
struct alignas(8) Clock {
    /// Send time, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Time of the clock: nanoseconds.
    std::uint64_t clock_ns;
    /// Nominal rate of the clock, 1 for real time, 0 if it is stopped: no unit.
    double rate;
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0xcd96f703159eb346u, 0x946c0e3ee5e2cfcbu};
};
static_assert(sizeof(Clock) == 24, "size of Clock");
static_assert(alignof(Clock) == 8, "alignment of Clock");
static_assert(std::is_trivially_copyable_v<Clock> && std::is_standard_layout_v<Clock>);
static_assert(offsetof(Clock, timestamp_ns) == 0);
static_assert(offsetof(Clock, clock_ns) == 8);
static_assert(offsetof(Clock, rate) == 16);
HORUS_MESSAGE(Clock, timestamp_ns, clock_ns, rate);

/// A reading of another clock, like `sensor_msgs/TimeReference`.
struct alignas(8) TimeReference {
    /// Time of the reading, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Time of the other clock: nanoseconds.
    std::uint64_t time_ref_ns;
    /// Name of the other clock, such as `gps`: text.
    char source[32];
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0xfe87fa87ea763168u, 0x5a2baa29aaebdbc1u};
};
static_assert(sizeof(TimeReference) == 48, "size of TimeReference");
static_assert(alignof(TimeReference) == 8, "alignment of TimeReference");
static_assert(std::is_trivially_copyable_v<TimeReference> && std::is_standard_layout_v<TimeReference>);
static_assert(offsetof(TimeReference, timestamp_ns) == 0);
static_assert(offsetof(TimeReference, time_ref_ns) == 8);
static_assert(offsetof(TimeReference, source) == 16);
HORUS_MESSAGE(TimeReference, timestamp_ns, time_ref_ns, source);

/// State of a joystick or gamepad, like `sensor_msgs/Joy`.
struct alignas(8) JoystickInput {
    /// Time of the reading, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Name of the device, such as `/dev/input/js0`: text.
    char device[32];
    /// Number of axes, which are the first elements of `axes`: count.
    std::uint32_t axis_count;
    /// Number of buttons, which are the first elements of `buttons`: count.
    std::uint32_t button_count;
    /// Positions of the axes, −1 to 1: no unit.
    float axes[16];
    /// For each button, 1 while it is pressed, else 0: no unit.
    std::uint8_t buttons[32];
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x4164a31930fa5e47u, 0x134a57bcbd3c1d08u};
};
static_assert(sizeof(JoystickInput) == 144, "size of JoystickInput");
static_assert(alignof(JoystickInput) == 8, "alignment of JoystickInput");
static_assert(std::is_trivially_copyable_v<JoystickInput> && std::is_standard_layout_v<JoystickInput>);
static_assert(offsetof(JoystickInput, timestamp_ns) == 0);
static_assert(offsetof(JoystickInput, device) == 8);
static_assert(offsetof(JoystickInput, axis_count) == 40);
static_assert(offsetof(JoystickInput, button_count) == 44);
static_assert(offsetof(JoystickInput, axes) == 48);
static_assert(offsetof(JoystickInput, buttons) == 112);
HORUS_MESSAGE(JoystickInput, timestamp_ns, device, axis_count, button_count, axes, buttons);

/// A key that was pressed or released. No ROS type. Keys have the numbers of the USB HID usage
/// tables, page 7, which do not depend on the layout of the keyboard.
struct alignas(8) KeyboardInput {
    /// Time of the event, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Number of the key, such as 4 for the A of a US keyboard: no unit.
    std::uint16_t key;
    /// Sum of the `MODIFIER_` constants of the keys that are held: no unit.
    std::uint16_t modifiers;
    /// One of the `ACTION_` constants: no unit.
    std::uint8_t action;
    /// Reserved, 0: no unit.
    std::uint8_t _reserved[3];
    /// Text that the key types in the current layout, empty if none: text.
    char text[8];
    /// The key was released.
    static constexpr std::uint8_t ACTION_RELEASED = 0;
    /// The key was pressed.
    static constexpr std::uint8_t ACTION_PRESSED = 1;
    /// The key is still held, and the keyboard repeats it.
    static constexpr std::uint8_t ACTION_REPEATED = 2;
    /// A shift key is held.
    static constexpr std::uint16_t MODIFIER_SHIFT = 1;
    /// A control key is held.
    static constexpr std::uint16_t MODIFIER_CONTROL = 2;
    /// An alt key is held.
    static constexpr std::uint16_t MODIFIER_ALT = 4;
    /// A meta key is held: the Windows, Command or Super key.
    static constexpr std::uint16_t MODIFIER_META = 8;
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x0179e3d391d7165eu, 0x46ee9aadce974f28u};
};
static_assert(sizeof(KeyboardInput) == 24, "size of KeyboardInput");
static_assert(alignof(KeyboardInput) == 8, "alignment of KeyboardInput");
static_assert(std::is_trivially_copyable_v<KeyboardInput> && std::is_standard_layout_v<KeyboardInput>);
static_assert(offsetof(KeyboardInput, timestamp_ns) == 0);
static_assert(offsetof(KeyboardInput, key) == 8);
static_assert(offsetof(KeyboardInput, modifiers) == 10);
static_assert(offsetof(KeyboardInput, action) == 12);
static_assert(offsetof(KeyboardInput, _reserved) == 13);
static_assert(offsetof(KeyboardInput, text) == 16);
HORUS_MESSAGE(KeyboardInput, timestamp_ns, key, modifiers, action, _reserved, text);

/// The header of an `Image`, after `sensor_msgs/Image`: rows of pixels, top row first.
///
/// Followed by `std::uint8_t data[]`, to the message's end.
struct alignas(8) ImageHeader {
    /// Start of the exposure, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Number of rows: count.
    std::uint32_t height;
    /// Number of columns: count.
    std::uint32_t width;
    /// Stride from one row to the next: bytes.
    std::uint32_t step;
    /// 1 if channels of several bytes are big-endian, else 0: no unit.
    std::uint8_t is_bigendian;
    /// Reserved, 0: no unit.
    std::uint8_t _reserved0[3];
    /// Name of the pixel format, as in ROS, see `Encoding`: text.
    char encoding[16];
    /// Optical frame of the camera (z forward, x right, y down): text.
    char frame_id[32];
    /// Reserved, 0: no unit.
    std::uint64_t _reserved1[7];
};
static_assert(sizeof(ImageHeader) == 128, "size of ImageHeader");
static_assert(alignof(ImageHeader) == 8, "alignment of ImageHeader");
static_assert(std::is_trivially_copyable_v<ImageHeader> && std::is_standard_layout_v<ImageHeader>);
static_assert(offsetof(ImageHeader, timestamp_ns) == 0);
static_assert(offsetof(ImageHeader, height) == 8);
static_assert(offsetof(ImageHeader, width) == 12);
static_assert(offsetof(ImageHeader, step) == 16);
static_assert(offsetof(ImageHeader, is_bigendian) == 20);
static_assert(offsetof(ImageHeader, _reserved0) == 21);
static_assert(offsetof(ImageHeader, encoding) == 24);
static_assert(offsetof(ImageHeader, frame_id) == 40);
static_assert(offsetof(ImageHeader, _reserved1) == 72);
HORUS_MESSAGE(ImageHeader, timestamp_ns, height, width, step, is_bigendian, _reserved0, encoding,
    frame_id, _reserved1);
struct Image : Framed<ImageHeader, std::uint8_t> {
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x22b8835e6c7aadb9u, 0x462af78c7539b9bfu};
};
HORUS_FRAMED(Image, data);

/// The header of a `DepthImage` (REP-118): rows of depths along the optical axis, top row
/// first.
///
/// Followed by `std::uint8_t data[]`, to the message's end.
struct alignas(8) DepthImageHeader {
    /// Start of the exposure, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Number of rows: count.
    std::uint32_t height;
    /// Number of columns: count.
    std::uint32_t width;
    /// Stride from one row to the next: bytes.
    std::uint32_t step;
    /// Length that a depth of 1 in the data stands for, 0.001 for millimetres: metres.
    float unit;
    /// Smallest valid depth: metres.
    float range_min;
    /// Largest valid depth: metres.
    float range_max;
    /// `16UC1` or `32FC1` (REP-118), in the byte order of the machine: text.
    char encoding[16];
    /// Optical frame of the camera (z forward, x right, y down): text.
    char frame_id[32];
    /// Reserved, 0: no unit.
    std::uint64_t _reserved[6];
};
static_assert(sizeof(DepthImageHeader) == 128, "size of DepthImageHeader");
static_assert(alignof(DepthImageHeader) == 8, "alignment of DepthImageHeader");
static_assert(std::is_trivially_copyable_v<DepthImageHeader> && std::is_standard_layout_v<DepthImageHeader>);
static_assert(offsetof(DepthImageHeader, timestamp_ns) == 0);
static_assert(offsetof(DepthImageHeader, height) == 8);
static_assert(offsetof(DepthImageHeader, width) == 12);
static_assert(offsetof(DepthImageHeader, step) == 16);
static_assert(offsetof(DepthImageHeader, unit) == 20);
static_assert(offsetof(DepthImageHeader, range_min) == 24);
static_assert(offsetof(DepthImageHeader, range_max) == 28);
static_assert(offsetof(DepthImageHeader, encoding) == 32);
static_assert(offsetof(DepthImageHeader, frame_id) == 48);
static_assert(offsetof(DepthImageHeader, _reserved) == 80);
HORUS_MESSAGE(DepthImageHeader, timestamp_ns, height, width, step, unit, range_min, range_max,
    encoding, frame_id, _reserved);
struct DepthImage : Framed<DepthImageHeader, std::uint8_t> {
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0xaa2395cedaf53127u, 0xfbf738c539ae75dau};
};
HORUS_FRAMED(DepthImage, data);

/// The header of a `CompressedImage`, after `sensor_msgs/CompressedImage`: the output of a
/// codec.
///
/// Followed by `std::uint8_t data[]`, to the message's end.
struct alignas(8) CompressedImageHeader {
    /// Start of the exposure, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Length of the compressed data that follow: bytes.
    std::uint64_t bytes;
    /// The codec, such as `jpeg` or `png`, or ROS's longer form `rgb8; jpeg compressed bgr8`:
    /// text.
    char format[64];
    /// Optical frame of the camera (z forward, x right, y down): text.
    char frame_id[32];
    /// Reserved, 0: no unit.
    std::uint8_t _reserved[16];
};
static_assert(sizeof(CompressedImageHeader) == 128, "size of CompressedImageHeader");
static_assert(alignof(CompressedImageHeader) == 8, "alignment of CompressedImageHeader");
static_assert(std::is_trivially_copyable_v<CompressedImageHeader> && std::is_standard_layout_v<CompressedImageHeader>);
static_assert(offsetof(CompressedImageHeader, timestamp_ns) == 0);
static_assert(offsetof(CompressedImageHeader, bytes) == 8);
static_assert(offsetof(CompressedImageHeader, format) == 16);
static_assert(offsetof(CompressedImageHeader, frame_id) == 80);
static_assert(offsetof(CompressedImageHeader, _reserved) == 112);
HORUS_MESSAGE(CompressedImageHeader, timestamp_ns, bytes, format, frame_id, _reserved);
struct CompressedImage : Framed<CompressedImageHeader, std::uint8_t> {
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x4e29072dcb6eedc2u, 0x0a2f1fe39810c21fu};
};
HORUS_FRAMED(CompressedImage, data);

/// The header of a `SegmentationMask`: rows of class numbers, a byte for each pixel, top row
/// first.
///
/// Followed by `std::uint8_t data[]`, to the message's end.
struct alignas(8) SegmentationMaskHeader {
    /// Time at which the segmented image was taken, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Number of rows: count.
    std::uint32_t height;
    /// Number of columns: count.
    std::uint32_t width;
    /// Stride from one row to the next: bytes.
    std::uint32_t step;
    /// Number of classes, which are numbered from 0: count.
    std::uint32_t class_count;
    /// Optical frame of the camera (z forward, x right, y down): text.
    char frame_id[32];
    /// Reserved, 0: no unit.
    std::uint64_t _reserved;
};
static_assert(sizeof(SegmentationMaskHeader) == 64, "size of SegmentationMaskHeader");
static_assert(alignof(SegmentationMaskHeader) == 8, "alignment of SegmentationMaskHeader");
static_assert(std::is_trivially_copyable_v<SegmentationMaskHeader> && std::is_standard_layout_v<SegmentationMaskHeader>);
static_assert(offsetof(SegmentationMaskHeader, timestamp_ns) == 0);
static_assert(offsetof(SegmentationMaskHeader, height) == 8);
static_assert(offsetof(SegmentationMaskHeader, width) == 12);
static_assert(offsetof(SegmentationMaskHeader, step) == 16);
static_assert(offsetof(SegmentationMaskHeader, class_count) == 20);
static_assert(offsetof(SegmentationMaskHeader, frame_id) == 24);
static_assert(offsetof(SegmentationMaskHeader, _reserved) == 56);
HORUS_MESSAGE(SegmentationMaskHeader, timestamp_ns, height, width, step, class_count, frame_id,
    _reserved);
struct SegmentationMask : Framed<SegmentationMaskHeader, std::uint8_t> {
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x603e3871881495d1u, 0xb6a8799b03a4336du};
};
HORUS_FRAMED(SegmentationMask, data);

/// One number, or array of numbers, in each point, like `sensor_msgs/PointField`. It has no
/// timestamp: it is for use inside `PointCloudHeader`.
struct alignas(4) PointField {
    /// Name, such as `x`, `y`, `z`, `rgb`, `intensity` or `ring`: text.
    char name[16];
    /// Offset from the start of a point: bytes.
    std::uint32_t offset;
    /// Number of contiguous numbers: count.
    std::uint32_t count;
    /// Type of one number, the code of a `DType`: no unit.
    std::uint8_t dtype;
    /// Reserved, 0: no unit.
    std::uint8_t _reserved[7];
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x0d6278f00c682511u, 0x442a98c1eac19115u};
};
static_assert(sizeof(PointField) == 32, "size of PointField");
static_assert(alignof(PointField) == 4, "alignment of PointField");
static_assert(std::is_trivially_copyable_v<PointField> && std::is_standard_layout_v<PointField>);
static_assert(offsetof(PointField, name) == 0);
static_assert(offsetof(PointField, offset) == 16);
static_assert(offsetof(PointField, count) == 20);
static_assert(offsetof(PointField, dtype) == 24);
static_assert(offsetof(PointField, _reserved) == 25);
HORUS_MESSAGE(PointField, name, offset, count, dtype, _reserved);

/// The header of a `PointCloud`, after `sensor_msgs/PointCloud2`: points that have the fields
/// described here.
///
/// Followed by `std::uint8_t data[]`, to the message's end.
struct alignas(8) PointCloudHeader {
    /// Time of the measurement, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Frame of the points: text.
    char frame_id[32];
    /// Number of rows of an organised cloud, else 1: count.
    std::uint32_t height;
    /// Number of points in a row, or of all points if the cloud is not organised: count.
    std::uint32_t width;
    /// Stride from one point to the next: bytes.
    std::uint32_t point_step;
    /// Stride from one row to the next: bytes.
    std::uint32_t row_step;
    /// Number of fields, which are the first elements of `fields`: count.
    std::uint32_t field_count;
    /// 1 if numbers are big-endian, else 0: no unit.
    std::uint8_t is_bigendian;
    /// 1 if all points are valid, 0 if some have a NaN as a coordinate: no unit.
    std::uint8_t is_dense;
    /// Reserved, 0: no unit.
    std::uint8_t _reserved[2];
    /// Fields of each point: no unit.
    PointField fields[16];
};
static_assert(sizeof(PointCloudHeader) == 576, "size of PointCloudHeader");
static_assert(alignof(PointCloudHeader) == 8, "alignment of PointCloudHeader");
static_assert(std::is_trivially_copyable_v<PointCloudHeader> && std::is_standard_layout_v<PointCloudHeader>);
static_assert(offsetof(PointCloudHeader, timestamp_ns) == 0);
static_assert(offsetof(PointCloudHeader, frame_id) == 8);
static_assert(offsetof(PointCloudHeader, height) == 40);
static_assert(offsetof(PointCloudHeader, width) == 44);
static_assert(offsetof(PointCloudHeader, point_step) == 48);
static_assert(offsetof(PointCloudHeader, row_step) == 52);
static_assert(offsetof(PointCloudHeader, field_count) == 56);
static_assert(offsetof(PointCloudHeader, is_bigendian) == 60);
static_assert(offsetof(PointCloudHeader, is_dense) == 61);
static_assert(offsetof(PointCloudHeader, _reserved) == 62);
static_assert(offsetof(PointCloudHeader, fields) == 64);
HORUS_MESSAGE(PointCloudHeader, timestamp_ns, frame_id, height, width, point_step, row_step,
    field_count, is_bigendian, is_dense, _reserved, fields);
struct PointCloud : Framed<PointCloudHeader, std::uint8_t> {
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0xb393948ce9737c83u, 0x2909928b0cd58f85u};
};
HORUS_FRAMED(PointCloud, data);

/// The header of a `Tensor`, with the content of DLPack's `DLTensor`: numbers in up to eight
/// dimensions.
///
/// Followed by `std::uint8_t data[]`, to the message's end.
struct alignas(8) TensorHeader {
    /// Time of the measurement or computation, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Type of one element, the code of a `DType`: no unit.
    std::uint8_t dtype = 1;
    /// Number of dimensions, which are the first elements of `shape` and `strides`: count.
    std::uint8_t dimensions = 1;
    /// Reserved, 0: no unit.
    std::uint8_t _reserved0[6];
    /// Number of elements along each dimension, outermost first: count.
    std::uint64_t shape[8];
    /// Stride along each dimension, as in DLPack: elements.
    std::uint64_t strides[8] = {1};
    /// Name, such as `images` or `logits`: text.
    char name[32];
    /// Reserved, 0: no unit.
    std::uint8_t _reserved1[16];
};
static_assert(sizeof(TensorHeader) == 192, "size of TensorHeader");
static_assert(alignof(TensorHeader) == 8, "alignment of TensorHeader");
static_assert(std::is_trivially_copyable_v<TensorHeader> && std::is_standard_layout_v<TensorHeader>);
static_assert(offsetof(TensorHeader, timestamp_ns) == 0);
static_assert(offsetof(TensorHeader, dtype) == 8);
static_assert(offsetof(TensorHeader, dimensions) == 9);
static_assert(offsetof(TensorHeader, _reserved0) == 10);
static_assert(offsetof(TensorHeader, shape) == 16);
static_assert(offsetof(TensorHeader, strides) == 80);
static_assert(offsetof(TensorHeader, name) == 144);
static_assert(offsetof(TensorHeader, _reserved1) == 176);
HORUS_MESSAGE(TensorHeader, timestamp_ns, dtype, dimensions, _reserved0, shape, strides, name,
    _reserved1);
struct Tensor : Framed<TensorHeader, std::uint8_t> {
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x6c65a2ac2cb67a45u, 0x21a0cbb9714ffc15u};
};
HORUS_FRAMED(Tensor, data);

/// Size and position of a map, like `nav_msgs/MapMetaData`. It has no timestamp: it is for use
/// inside maps.
struct alignas(8) MapMetaData {
    /// Time at which the map was made, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t map_load_time_ns;
    /// Side length of a cell: metres.
    float resolution;
    /// Number of cells along x: count.
    std::uint32_t width;
    /// Number of cells along y: count.
    std::uint32_t height;
    /// Reserved, 0: no unit.
    std::uint32_t _reserved;
    /// Position of the outer corner of cell (0, 0) in the map's frame, x, y, z: metres.
    double origin_position[3];
    /// Rotation of the grid in the map's frame, a unit quaternion x, y, z, w: no unit.
    double origin_orientation[4] = {0.0, 0.0, 0.0, 1.0};
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x4dcaa78dfb51f6e8u, 0x4a7861db5480d9e8u};
};
static_assert(sizeof(MapMetaData) == 80, "size of MapMetaData");
static_assert(alignof(MapMetaData) == 8, "alignment of MapMetaData");
static_assert(std::is_trivially_copyable_v<MapMetaData> && std::is_standard_layout_v<MapMetaData>);
static_assert(offsetof(MapMetaData, map_load_time_ns) == 0);
static_assert(offsetof(MapMetaData, resolution) == 8);
static_assert(offsetof(MapMetaData, width) == 12);
static_assert(offsetof(MapMetaData, height) == 16);
static_assert(offsetof(MapMetaData, _reserved) == 20);
static_assert(offsetof(MapMetaData, origin_position) == 24);
static_assert(offsetof(MapMetaData, origin_orientation) == 48);
HORUS_MESSAGE(MapMetaData, map_load_time_ns, resolution, width, height, _reserved, origin_position,
    origin_orientation);

/// The header of an `OccupancyGrid`, after `nav_msgs/OccupancyGrid`: a byte for each cell, 0
/// to 100 in percent, −1 if unknown, along x first.
///
/// Followed by `std::int8_t data[]`, to the message's end.
struct alignas(8) OccupancyGridHeader {
    /// Time for which the content is valid, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Frame of the map: text.
    char frame_id[32];
    /// Size, resolution and position of the map.
    MapMetaData info;
    /// Reserved, 0: no unit.
    std::uint64_t _reserved;
};
static_assert(sizeof(OccupancyGridHeader) == 128, "size of OccupancyGridHeader");
static_assert(alignof(OccupancyGridHeader) == 8, "alignment of OccupancyGridHeader");
static_assert(std::is_trivially_copyable_v<OccupancyGridHeader> && std::is_standard_layout_v<OccupancyGridHeader>);
static_assert(offsetof(OccupancyGridHeader, timestamp_ns) == 0);
static_assert(offsetof(OccupancyGridHeader, frame_id) == 8);
static_assert(offsetof(OccupancyGridHeader, info) == 40);
static_assert(offsetof(OccupancyGridHeader, _reserved) == 120);
HORUS_MESSAGE(OccupancyGridHeader, timestamp_ns, frame_id, info, _reserved);
struct OccupancyGrid : Framed<OccupancyGridHeader, std::int8_t> {
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x87c1623137dcb677u, 0xac2dffbc685137aeu};
};
HORUS_FRAMED(OccupancyGrid, data);

/// The header of a `CostMap`, after `nav2_msgs/Costmap`: a byte for each cell, 0 to 252, 253
/// and 254 near and in obstacles, 255 if unknown, along x first.
///
/// Followed by `std::uint8_t data[]`, to the message's end.
struct alignas(8) CostMapHeader {
    /// Time for which the content is valid, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Frame of the map: text.
    char frame_id[32];
    /// Size, resolution and position of the map.
    MapMetaData info;
    /// Layer of the costs, such as `master`: text.
    char layer[32];
    /// Reserved, 0: no unit.
    std::uint64_t _reserved[5];
};
static_assert(sizeof(CostMapHeader) == 192, "size of CostMapHeader");
static_assert(alignof(CostMapHeader) == 8, "alignment of CostMapHeader");
static_assert(std::is_trivially_copyable_v<CostMapHeader> && std::is_standard_layout_v<CostMapHeader>);
static_assert(offsetof(CostMapHeader, timestamp_ns) == 0);
static_assert(offsetof(CostMapHeader, frame_id) == 8);
static_assert(offsetof(CostMapHeader, info) == 40);
static_assert(offsetof(CostMapHeader, layer) == 120);
static_assert(offsetof(CostMapHeader, _reserved) == 152);
HORUS_MESSAGE(CostMapHeader, timestamp_ns, frame_id, info, layer, _reserved);
struct CostMap : Framed<CostMapHeader, std::uint8_t> {
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x9d214cbf5660bf3cu, 0x8101cfb423dbe49fu};
};
HORUS_FRAMED(CostMap, data);

/// The header of an `AudioFrame`: uncompressed samples, with the samples of all channels at
/// one time stored together.
///
/// Followed by `std::uint8_t data[]`, to the message's end.
struct alignas(8) AudioFrameHeader {
    /// Time of the first sample, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Number of samples of each channel: count.
    std::uint64_t samples;
    /// Sample rate of each channel: hertz.
    std::uint32_t sample_rate;
    /// Number of channels: count.
    std::uint16_t channels;
    /// Type of a sample, the code of a `DType`: no unit.
    std::uint8_t dtype;
    /// Reserved, 0: no unit.
    std::uint8_t _reserved0;
    /// Frame of the microphone: text.
    char frame_id[32];
    /// Reserved, 0: no unit.
    std::uint64_t _reserved1;
};
static_assert(sizeof(AudioFrameHeader) == 64, "size of AudioFrameHeader");
static_assert(alignof(AudioFrameHeader) == 8, "alignment of AudioFrameHeader");
static_assert(std::is_trivially_copyable_v<AudioFrameHeader> && std::is_standard_layout_v<AudioFrameHeader>);
static_assert(offsetof(AudioFrameHeader, timestamp_ns) == 0);
static_assert(offsetof(AudioFrameHeader, samples) == 8);
static_assert(offsetof(AudioFrameHeader, sample_rate) == 16);
static_assert(offsetof(AudioFrameHeader, channels) == 20);
static_assert(offsetof(AudioFrameHeader, dtype) == 22);
static_assert(offsetof(AudioFrameHeader, _reserved0) == 23);
static_assert(offsetof(AudioFrameHeader, frame_id) == 24);
static_assert(offsetof(AudioFrameHeader, _reserved1) == 56);
HORUS_MESSAGE(AudioFrameHeader, timestamp_ns, samples, sample_rate, channels, dtype, _reserved0,
    frame_id, _reserved1);
struct AudioFrame : Framed<AudioFrameHeader, std::uint8_t> {
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0xe3a0c04004dae366u, 0xbc67d772e87c199bu};
};
HORUS_FRAMED(AudioFrame, data);

/// The header of `Bytes`: any data, with the name of their format.
///
/// Followed by `std::uint8_t data[]`, to the message's end.
struct alignas(8) BytesHeader {
    /// Time of creation, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Length of the data that follow: bytes.
    std::uint64_t bytes;
    /// Format of the data, preferably a media type such as `application/cbor`: text.
    char format[48];
};
static_assert(sizeof(BytesHeader) == 64, "size of BytesHeader");
static_assert(alignof(BytesHeader) == 8, "alignment of BytesHeader");
static_assert(std::is_trivially_copyable_v<BytesHeader> && std::is_standard_layout_v<BytesHeader>);
static_assert(offsetof(BytesHeader, timestamp_ns) == 0);
static_assert(offsetof(BytesHeader, bytes) == 8);
static_assert(offsetof(BytesHeader, format) == 16);
HORUS_MESSAGE(BytesHeader, timestamp_ns, bytes, format);
struct Bytes : Framed<BytesHeader, std::uint8_t> {
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x8610491e6d4200e6u, 0xa93c5bfcab91bed2u};
};
HORUS_FRAMED(Bytes, data);

/// The header of a `SchedulerStatus`: the state of a scheduler. The metrics of its nodes
/// follow, one `NodeMetrics` after the other.
///
/// Followed by `std::uint8_t nodes[]`, to the message's end.
struct alignas(8) SchedulerStatusHeader {
    /// Time of this state, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Time of this state, by CLOCK_MONOTONIC: nanoseconds.
    std::uint64_t monotonic_ns;
    /// Time since the scheduler started: nanoseconds.
    std::uint64_t uptime_ns;
    /// Name of the scheduler: text.
    char scheduler[64];
    /// Process id, in its own PID namespace: no unit.
    std::uint32_t process_id;
    /// Number of nodes that follow: count.
    std::uint32_t count;
    /// Stride from one node to the next, which is the size of a `NodeMetrics`: bytes.
    std::uint32_t node_bytes;
    /// One of the `STATE_` constants: no unit.
    std::uint8_t state;
    /// Reserved, 0: no unit.
    std::uint8_t _reserved[27];
    /// The state is unknown.
    static constexpr std::uint8_t STATE_UNKNOWN = 0;
    /// The scheduler initialises its nodes.
    static constexpr std::uint8_t STATE_STARTING = 1;
    /// The scheduler runs its nodes.
    static constexpr std::uint8_t STATE_RUNNING = 2;
    /// The emergency stop is engaged, and nothing may move until it is released.
    static constexpr std::uint8_t STATE_EMERGENCY_STOP = 3;
    /// The scheduler waits for its nodes to end.
    static constexpr std::uint8_t STATE_STOPPING = 4;
    /// The scheduler has ended.
    static constexpr std::uint8_t STATE_STOPPED = 5;
};
static_assert(sizeof(SchedulerStatusHeader) == 128, "size of SchedulerStatusHeader");
static_assert(alignof(SchedulerStatusHeader) == 8, "alignment of SchedulerStatusHeader");
static_assert(std::is_trivially_copyable_v<SchedulerStatusHeader> && std::is_standard_layout_v<SchedulerStatusHeader>);
static_assert(offsetof(SchedulerStatusHeader, timestamp_ns) == 0);
static_assert(offsetof(SchedulerStatusHeader, monotonic_ns) == 8);
static_assert(offsetof(SchedulerStatusHeader, uptime_ns) == 16);
static_assert(offsetof(SchedulerStatusHeader, scheduler) == 24);
static_assert(offsetof(SchedulerStatusHeader, process_id) == 88);
static_assert(offsetof(SchedulerStatusHeader, count) == 92);
static_assert(offsetof(SchedulerStatusHeader, node_bytes) == 96);
static_assert(offsetof(SchedulerStatusHeader, state) == 100);
static_assert(offsetof(SchedulerStatusHeader, _reserved) == 101);
HORUS_MESSAGE(SchedulerStatusHeader, timestamp_ns, monotonic_ns, uptime_ns, scheduler, process_id,
    count, node_bytes, state, _reserved);
struct SchedulerStatus : Framed<SchedulerStatusHeader, std::uint8_t> {
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x5dd3f7aa202fb154u, 0xcf80d674dd139f45u};
};
HORUS_FRAMED(SchedulerStatus, nodes);

/// The header of a `LidarScan`, after `sensor_msgs/LaserScan`: the distances in order of
/// their angles, then, if they were measured, the intensities in the same order.
///
/// Angles are about z of the sensor, counter-clockwise, 0 along its x. After REP-117 a range of
/// +∞ means that nothing was seen, −∞ that an object is too close, and NaN that the measurement
/// failed. The unit of the intensities depends on the device.
///
/// Followed by `float data[]`, to the message's end.
struct alignas(8) LidarScanHeader {
    /// Time of the first ray, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Frame of the sensor: text.
    char frame_id[32];
    /// Angle of the first ray: radians.
    float angle_min;
    /// Angle of the last ray: radians.
    float angle_max;
    /// Angle from one ray to the next: radians.
    float angle_increment;
    /// Time from one ray to the next: seconds.
    float time_increment;
    /// Time from one sweep to the next: seconds.
    float scan_time;
    /// Shortest valid range: metres.
    float range_min;
    /// Longest valid range: metres.
    float range_max;
    /// Number of rays: count.
    std::uint32_t count;
    /// 1 if an intensity for each ray follows the ranges, else 0: no unit.
    std::uint8_t has_intensities;
    /// Reserved, 0: no unit.
    std::uint8_t _reserved0[7];
    /// Reserved, 0: no unit.
    std::uint64_t _reserved1[6];
};
static_assert(sizeof(LidarScanHeader) == 128, "size of LidarScanHeader");
static_assert(alignof(LidarScanHeader) == 8, "alignment of LidarScanHeader");
static_assert(std::is_trivially_copyable_v<LidarScanHeader> && std::is_standard_layout_v<LidarScanHeader>);
static_assert(offsetof(LidarScanHeader, timestamp_ns) == 0);
static_assert(offsetof(LidarScanHeader, frame_id) == 8);
static_assert(offsetof(LidarScanHeader, angle_min) == 40);
static_assert(offsetof(LidarScanHeader, angle_max) == 44);
static_assert(offsetof(LidarScanHeader, angle_increment) == 48);
static_assert(offsetof(LidarScanHeader, time_increment) == 52);
static_assert(offsetof(LidarScanHeader, scan_time) == 56);
static_assert(offsetof(LidarScanHeader, range_min) == 60);
static_assert(offsetof(LidarScanHeader, range_max) == 64);
static_assert(offsetof(LidarScanHeader, count) == 68);
static_assert(offsetof(LidarScanHeader, has_intensities) == 72);
static_assert(offsetof(LidarScanHeader, _reserved0) == 73);
static_assert(offsetof(LidarScanHeader, _reserved1) == 80);
HORUS_MESSAGE(LidarScanHeader, timestamp_ns, frame_id, angle_min, angle_max, angle_increment,
    time_increment, scan_time, range_min, range_max, count, has_intensities, _reserved0,
    _reserved1);
struct LidarScan : Framed<LidarScanHeader, float> {
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x08fb57d2a79aef3eu, 0x33cb1041f57cdcbeu};
};
HORUS_FRAMED(LidarScan, data);

/// Measured state of one joint. It has no timestamp: it is for use in a `JointStateArray`.
///
/// The units are those of a revolute joint. For a prismatic joint, radians become metres and
/// newton-metres become newtons. NaN marks a value that is not measured. Its size is one cache
/// line.
struct alignas(8) Joint {
    /// Name of the joint, such as `left_wrist_roll`: text.
    char name[40];
    /// Position: radians.
    double position;
    /// Velocity: radians per second.
    double velocity;
    /// Torque: N·m.
    double effort;
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x50ffdb99b941440fu, 0x7406f8eba825b1beu};
};
static_assert(sizeof(Joint) == 64, "size of Joint");
static_assert(alignof(Joint) == 8, "alignment of Joint");
static_assert(std::is_trivially_copyable_v<Joint> && std::is_standard_layout_v<Joint>);
static_assert(offsetof(Joint, name) == 0);
static_assert(offsetof(Joint, position) == 40);
static_assert(offsetof(Joint, velocity) == 48);
static_assert(offsetof(Joint, effort) == 56);
HORUS_MESSAGE(Joint, name, position, velocity, effort);

/// The header of a `JointStateArray`, after `sensor_msgs/JointState`: a `Joint` for each
/// joint.
///
/// Followed by `std::uint8_t joints[]`, to the message's end.
struct alignas(8) JointStateArrayHeader {
    /// Time of the measurement, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Frame of the state, usually empty: text.
    char frame_id[32];
    /// Number of joints that follow: count.
    std::uint32_t count;
    /// Stride from one joint to the next, which is the size of a `Joint`: bytes.
    std::uint32_t joint_bytes;
    /// Reserved, 0: no unit.
    std::uint8_t _reserved[16];
};
static_assert(sizeof(JointStateArrayHeader) == 64, "size of JointStateArrayHeader");
static_assert(alignof(JointStateArrayHeader) == 8, "alignment of JointStateArrayHeader");
static_assert(std::is_trivially_copyable_v<JointStateArrayHeader> && std::is_standard_layout_v<JointStateArrayHeader>);
static_assert(offsetof(JointStateArrayHeader, timestamp_ns) == 0);
static_assert(offsetof(JointStateArrayHeader, frame_id) == 8);
static_assert(offsetof(JointStateArrayHeader, count) == 40);
static_assert(offsetof(JointStateArrayHeader, joint_bytes) == 44);
static_assert(offsetof(JointStateArrayHeader, _reserved) == 48);
HORUS_MESSAGE(JointStateArrayHeader, timestamp_ns, frame_id, count, joint_bytes, _reserved);
struct JointStateArray : Framed<JointStateArrayHeader, std::uint8_t> {
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0xf50e777b15dc4de8u, 0xc0153543c97782f9u};
};
HORUS_FRAMED(JointStateArray, joints);

/// The header of a `LogLine`, which `log` writes. The text of the line
/// follows.
///
/// Followed by `std::uint8_t text[]`, to the message's end.
struct alignas(8) LogLineHeader {
    /// Time of the call, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Time of the call, by CLOCK_MONOTONIC: nanoseconds.
    std::uint64_t monotonic_ns;
    /// Number of the line in its process, from 1 on; a gap is a line that was lost: no unit.
    std::uint64_t sequence;
    /// Process id, in its own PID namespace: no unit.
    std::uint32_t process_id;
    /// Thread id, in its own PID namespace: no unit.
    std::uint32_t thread_id;
    /// Line of the source file, 0 if unknown: no unit.
    std::uint32_t source_line;
    /// Length of the text that follows: bytes.
    std::uint32_t text_bytes;
    /// Number of bytes at the end of the text that were cut off, because they did not fit:
    /// bytes.
    std::uint32_t cut_bytes;
    /// One of the constants from `ERROR` to `TRACE`: no unit.
    std::uint8_t level;
    /// 1 if another thread prints the line, because the thread that logged it must not wait for
    /// stderr: no unit.
    std::uint8_t is_deferred;
    /// Reserved, 0: no unit.
    std::uint8_t _reserved[2];
    /// Name of the thread: text.
    char thread[16];
    /// Name of the node that logged the line, empty if no node did: text.
    char node[64];
    /// Name of the logger, such as a module of Rust: text.
    char target[64];
    /// Path of the source file, without its beginning if it is long; empty if unknown: text.
    char source_file[64];
    /// Something failed.
    static constexpr std::uint8_t ERROR = 1;
    /// Something is wrong, and the program goes on.
    static constexpr std::uint8_t WARN = 2;
    /// Something that a user wants to know.
    static constexpr std::uint8_t INFO = 3;
    /// Something that a developer wants to know.
    static constexpr std::uint8_t DEBUG = 4;
    /// A step of the program, for developers who follow each of them.
    static constexpr std::uint8_t TRACE = 5;
};
static_assert(sizeof(LogLineHeader) == 256, "size of LogLineHeader");
static_assert(alignof(LogLineHeader) == 8, "alignment of LogLineHeader");
static_assert(std::is_trivially_copyable_v<LogLineHeader> && std::is_standard_layout_v<LogLineHeader>);
static_assert(offsetof(LogLineHeader, timestamp_ns) == 0);
static_assert(offsetof(LogLineHeader, monotonic_ns) == 8);
static_assert(offsetof(LogLineHeader, sequence) == 16);
static_assert(offsetof(LogLineHeader, process_id) == 24);
static_assert(offsetof(LogLineHeader, thread_id) == 28);
static_assert(offsetof(LogLineHeader, source_line) == 32);
static_assert(offsetof(LogLineHeader, text_bytes) == 36);
static_assert(offsetof(LogLineHeader, cut_bytes) == 40);
static_assert(offsetof(LogLineHeader, level) == 44);
static_assert(offsetof(LogLineHeader, is_deferred) == 45);
static_assert(offsetof(LogLineHeader, _reserved) == 46);
static_assert(offsetof(LogLineHeader, thread) == 48);
static_assert(offsetof(LogLineHeader, node) == 64);
static_assert(offsetof(LogLineHeader, target) == 128);
static_assert(offsetof(LogLineHeader, source_file) == 192);
HORUS_MESSAGE(LogLineHeader, timestamp_ns, monotonic_ns, sequence, process_id, thread_id,
    source_line, text_bytes, cut_bytes, level, is_deferred, _reserved, thread, node, target,
    source_file);
struct LogLine : Framed<LogLineHeader, std::uint8_t> {
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0xc5224d6b791ef45fu, 0x0f129719bd3e5999u};
};
HORUS_FRAMED(LogLine, text);

}  // namespace horus

#pragma pop_macro("ACTION_PRESSED")
#pragma pop_macro("ACTION_RELEASED")
#pragma pop_macro("ACTION_REPEATED")
#pragma pop_macro("ANTIWINDUP_BACK_CALCULATION")
#pragma pop_macro("ANTIWINDUP_CONDITIONAL_INTEGRATION")
#pragma pop_macro("ANTIWINDUP_NONE")
#pragma pop_macro("CHECKPOINT")
#pragma pop_macro("CLASS_ACTORS")
#pragma pop_macro("CLASS_ASYNC_IO")
#pragma pop_macro("CLASS_BEST_EFFORT")
#pragma pop_macro("CLASS_COMPUTE")
#pragma pop_macro("CLASS_EVENT")
#pragma pop_macro("CLASS_REAL_TIME")
#pragma pop_macro("CLASS_UNKNOWN")
#pragma pop_macro("COMMAND")
#pragma pop_macro("COMPATIBLE")
#pragma pop_macro("COVARIANCE_TYPE_APPROXIMATED")
#pragma pop_macro("COVARIANCE_TYPE_DIAGONAL_KNOWN")
#pragma pop_macro("COVARIANCE_TYPE_KNOWN")
#pragma pop_macro("COVARIANCE_TYPE_UNKNOWN")
#pragma pop_macro("DEBUG")
#pragma pop_macro("EMERGENCY_OVER")
#pragma pop_macro("EMERGENCY_STOP")
#pragma pop_macro("ERROR")
#pragma pop_macro("FAILED")
#pragma pop_macro("FINISHED")
#pragma pop_macro("FRESH_INPUT")
#pragma pop_macro("INCOMPATIBLE")
#pragma pop_macro("INFO")
#pragma pop_macro("INFRARED")
#pragma pop_macro("KIND_MARKER")
#pragma pop_macro("KIND_POINT")
#pragma pop_macro("KIND_POLE")
#pragma pop_macro("KIND_REFLECTOR")
#pragma pop_macro("LANE_MAPPED")
#pragma pop_macro("LANE_NOT_MAPPED")
#pragma pop_macro("MISSED")
#pragma pop_macro("MODE_DISABLED")
#pragma pop_macro("MODE_DUTY_CYCLE")
#pragma pop_macro("MODE_EFFORT")
#pragma pop_macro("MODE_EMERGENCY_STOP")
#pragma pop_macro("MODE_FAULT")
#pragma pop_macro("MODE_IMPEDANCE")
#pragma pop_macro("MODE_NORMAL")
#pragma pop_macro("MODE_POSITION")
#pragma pop_macro("MODE_PROTECTIVE_STOP")
#pragma pop_macro("MODE_REDUCED")
#pragma pop_macro("MODE_UNKNOWN")
#pragma pop_macro("MODE_VELOCITY")
#pragma pop_macro("MODIFIER_ALT")
#pragma pop_macro("MODIFIER_CONTROL")
#pragma pop_macro("MODIFIER_META")
#pragma pop_macro("MODIFIER_SHIFT")
#pragma pop_macro("NAMESPACE_REMOVED")
#pragma pop_macro("OK")
#pragma pop_macro("PANICKED")
#pragma pop_macro("PAUSE")
#pragma pop_macro("PAUSED")
#pragma pop_macro("POWER_SUPPLY_HEALTH_COLD")
#pragma pop_macro("POWER_SUPPLY_HEALTH_DEAD")
#pragma pop_macro("POWER_SUPPLY_HEALTH_GOOD")
#pragma pop_macro("POWER_SUPPLY_HEALTH_OVERHEAT")
#pragma pop_macro("POWER_SUPPLY_HEALTH_OVERVOLTAGE")
#pragma pop_macro("POWER_SUPPLY_HEALTH_SAFETY_TIMER_EXPIRE")
#pragma pop_macro("POWER_SUPPLY_HEALTH_UNKNOWN")
#pragma pop_macro("POWER_SUPPLY_HEALTH_UNSPEC_FAILURE")
#pragma pop_macro("POWER_SUPPLY_HEALTH_WATCHDOG_TIMER_EXPIRE")
#pragma pop_macro("POWER_SUPPLY_STATUS_CHARGING")
#pragma pop_macro("POWER_SUPPLY_STATUS_DISCHARGING")
#pragma pop_macro("POWER_SUPPLY_STATUS_FULL")
#pragma pop_macro("POWER_SUPPLY_STATUS_NOT_CHARGING")
#pragma pop_macro("POWER_SUPPLY_STATUS_UNKNOWN")
#pragma pop_macro("POWER_SUPPLY_TECHNOLOGY_LIFE")
#pragma pop_macro("POWER_SUPPLY_TECHNOLOGY_LIMN")
#pragma pop_macro("POWER_SUPPLY_TECHNOLOGY_LION")
#pragma pop_macro("POWER_SUPPLY_TECHNOLOGY_LIPO")
#pragma pop_macro("POWER_SUPPLY_TECHNOLOGY_NICD")
#pragma pop_macro("POWER_SUPPLY_TECHNOLOGY_NIMH")
#pragma pop_macro("POWER_SUPPLY_TECHNOLOGY_TERNARY")
#pragma pop_macro("POWER_SUPPLY_TECHNOLOGY_UNKNOWN")
#pragma pop_macro("RATE_CHANGED")
#pragma pop_macro("RECOVERED")
#pragma pop_macro("REFUSED")
#pragma pop_macro("RESUME")
#pragma pop_macro("RESUMED")
#pragma pop_macro("SAFE_STATE_ENTERED")
#pragma pop_macro("SAFE_STATE_LEFT")
#pragma pop_macro("SCHEDULER_STARTED")
#pragma pop_macro("SCHEDULER_STOPPED")
#pragma pop_macro("SERVICE_COMPASS")
#pragma pop_macro("SERVICE_GALILEO")
#pragma pop_macro("SERVICE_GLONASS")
#pragma pop_macro("SERVICE_GPS")
#pragma pop_macro("SERVICE_UNKNOWN")
#pragma pop_macro("SET_RATE")
#pragma pop_macro("STALE")
#pragma pop_macro("STALE_INPUT")
#pragma pop_macro("STARTED")
#pragma pop_macro("STATE_ACTIVE")
#pragma pop_macro("STATE_BACKING_OFF")
#pragma pop_macro("STATE_COASTING")
#pragma pop_macro("STATE_CONFIRMED")
#pragma pop_macro("STATE_DELETED")
#pragma pop_macro("STATE_EMERGENCY_STOP")
#pragma pop_macro("STATE_FINALIZED")
#pragma pop_macro("STATE_INACTIVE")
#pragma pop_macro("STATE_PAUSED")
#pragma pop_macro("STATE_RUNNING")
#pragma pop_macro("STATE_SAFE")
#pragma pop_macro("STATE_STARTING")
#pragma pop_macro("STATE_STOPPED")
#pragma pop_macro("STATE_STOPPING")
#pragma pop_macro("STATE_STUCK")
#pragma pop_macro("STATE_TENTATIVE")
#pragma pop_macro("STATE_UNCONFIGURED")
#pragma pop_macro("STATE_UNKNOWN")
#pragma pop_macro("STATUS_ABORTED")
#pragma pop_macro("STATUS_ACCEPTED")
#pragma pop_macro("STATUS_CANCELED")
#pragma pop_macro("STATUS_CANCELING")
#pragma pop_macro("STATUS_EXECUTING")
#pragma pop_macro("STATUS_FIX")
#pragma pop_macro("STATUS_GBAS_FIX")
#pragma pop_macro("STATUS_NO_FIX")
#pragma pop_macro("STATUS_SBAS_FIX")
#pragma pop_macro("STATUS_SUCCEEDED")
#pragma pop_macro("STATUS_UNKNOWN")
#pragma pop_macro("STOP")
#pragma pop_macro("STOPPED")
#pragma pop_macro("STOP_SCHEDULER")
#pragma pop_macro("STUCK")
#pragma pop_macro("SWAPPED")
#pragma pop_macro("SWAP_FAILED")
#pragma pop_macro("TOPIC_MOVED")
#pragma pop_macro("TRACE")
#pragma pop_macro("ULTRASOUND")
#pragma pop_macro("WARN")

#endif  // HORUS_MSG_HPP
