// @generated from the table of fields in horus_core/src/message/. C++17.
#ifndef HORUS_MSG_HPP
#define HORUS_MSG_HPP

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <horus/schema.hpp>

namespace horus {

/// A point in space, as `geometry_msgs/Point`. Without a time: for use inside other messages,
/// and for computing.
struct alignas(8) Point3 {
    /// Metres.
    double x;
    /// Metres.
    double y;
    /// Metres.
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

/// A direction with a length, as `geometry_msgs/Vector3`. Without a time: for use inside other
/// messages, and for computing.
struct alignas(8) Vector3 {
    /// Along x: of its use.
    double x;
    /// Along y: of its use.
    double y;
    /// Along z: of its use.
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

/// A rotation in space as a unit quaternion, as `geometry_msgs/Quaternion`. Without a time: for
/// use inside other messages, and for computing.
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

/// Where one frame is in another, as `geometry_msgs/Transform`: takes what is given in the
/// child's frame to the parent's, by rotating and then translating. Without names and time: for
/// computing; `TransformStamped` is what is sent.
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

/// Position and heading in the plane, as `geometry_msgs/Pose2D`; in the frame that the topic is
/// about.
struct alignas(8) Pose2D {
    /// When it was measured or commanded, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Metres.
    double x;
    /// Metres.
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

/// Position and orientation in space, as `geometry_msgs/Pose` with a time; in the frame that
/// the topic is about. One cache line.
struct alignas(8) Pose3D {
    /// When it was measured or commanded, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// x, y, z: metres.
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

/// Position and orientation in a named frame, as `geometry_msgs/PoseStamped`.
struct alignas(8) PoseStamped {
    /// When it was measured or commanded, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// The frame it is given in: text.
    char frame_id[32];
    /// x, y, z: metres.
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

/// An estimated pose, as `geometry_msgs/PoseWithCovariance` with a time; in the frame that the
/// topic is about, usually `map`.
///
/// The covariance is row-major 6 × 6 over (x, y, z, rotation about x, y, z); all zeros means
/// unknown.
struct alignas(8) PoseWithCovariance {
    /// When the pose held, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// x, y, z: metres.
    double position[3];
    /// Unit quaternion x, y, z, w: no unit.
    double orientation[4] = {0.0, 0.0, 0.0, 1.0};
    /// Of position, of both, of rotation: m², m·rad, rad².
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

/// Velocity of a body in space, as `geometry_msgs/TwistStamped`; in the body's own frame.
struct alignas(8) Twist {
    /// When it was measured or commanded, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Along x, y, z: metres per second.
    double linear[3];
    /// About x, y, z: radians per second.
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

/// An estimated velocity, as `geometry_msgs/TwistWithCovariance` with a time; in the body's own
/// frame.
///
/// The covariance is row-major 6 × 6 over (velocity along x, y, z, and about x, y, z); all
/// zeros means unknown.
struct alignas(8) TwistWithCovariance {
    /// When the velocity held, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Along x, y, z: metres per second.
    double linear[3];
    /// About x, y, z: radians per second.
    double angular[3];
    /// Of linear, of both, of angular velocity: m²/s², m·rad/s², rad²/s².
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

/// Acceleration of a body in space, as `geometry_msgs/AccelStamped`; in the body's own frame.
struct alignas(8) Accel {
    /// When it was measured or commanded, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Along x, y, z: m/s².
    double linear[3];
    /// About x, y, z: rad/s².
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

/// Where the frame `child_frame_id` is in the frame `frame_id`, as
/// `geometry_msgs/TransformStamped`: takes what is given in the child's frame to the parent's.
struct alignas(8) TransformStamped {
    /// When it held, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// The parent, as `odom`: text.
    char frame_id[32];
    /// The child, as `base_link`: text.
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

/// Force and torque on a body, as `geometry_msgs/Wrench` with a time; in the body's own frame,
/// or that of the sensor, and about its origin.
struct alignas(8) Wrench {
    /// When it was measured or commanded, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Along x, y, z: newtons.
    double force[3];
    /// About x, y, z: N·m.
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

/// Force and torque in a named frame and about its origin, as `geometry_msgs/WrenchStamped`.
struct alignas(8) WrenchStamped {
    /// When it was measured or commanded, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// The frame it is given in: text.
    char frame_id[32];
    /// Along x, y, z: newtons.
    double force[3];
    /// About x, y, z: N·m.
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

/// One sample of an inertial measurement unit, as `sensor_msgs/Imu`.
///
/// Rates and accelerations are in the frame of the unit; the orientation is that of this frame
/// in one with x east, y north and z up (REP-103).
/// Covariances are row-major 3 × 3 over x, y, z. All zeros means unknown; −1 as the first
/// element means that the unit does not provide this quantity.
struct alignas(8) Imu {
    /// When it was sampled, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Unit quaternion x, y, z, w: no unit.
    double orientation[4] = {0.0, 0.0, 0.0, 1.0};
    /// Of rotations about x, y, z: rad².
    double orientation_covariance[9] = {-1.0};
    /// About x, y, z: radians per second.
    double angular_velocity[3];
    /// Of `angular_velocity`: rad²/s².
    double angular_velocity_covariance[9];
    /// Along x, y, z, with gravity, as accelerometers report it: m/s².
    double linear_acceleration[3];
    /// Of `linear_acceleration`: m²/s⁴.
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

/// One sweep of a planar range finder, as `sensor_msgs/LaserScan` without intensities.
///
/// Angles are about z of the sensor, counter-clockwise, 0 along its x. After REP-117 a range of
/// +∞ means that nothing was seen, −∞ that something is too close, NaN that the measurement
/// failed.
struct alignas(8) LaserScan {
    /// When the first ray was measured, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Of the first ray: radians.
    float angle_min;
    /// Of the last ray: radians.
    float angle_max;
    /// From one ray to the next: radians.
    float angle_increment;
    /// From one ray to the next: seconds.
    float time_increment;
    /// From one sweep to the next: seconds.
    float scan_time;
    /// Shorter ranges are not valid: metres.
    float range_min;
    /// Longer ranges are not valid: metres.
    float range_max;
    /// How many of `ranges` were measured, from the first: count.
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

/// The distance to the nearest thing in a cone about the sensor's x axis, as
/// `sensor_msgs/Range`.
///
/// After REP-117 a range of +∞ means that nothing was seen, −∞ that something is too close, NaN
/// that the measurement failed.
struct alignas(8) RangeSensor {
    /// When it was measured, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// One of the constants of this type, as `ULTRASOUND`: no unit.
    std::uint8_t radiation_type;
    /// 0: no unit.
    std::uint8_t _reserved[3];
    /// Angle at the tip of the cone: radians.
    float field_of_view;
    /// Shorter ranges are not valid: metres.
    float min_range;
    /// Longer ranges are not valid: metres.
    float max_range;
    /// Distance: metres.
    float range;
    /// Of `range`, 0 if unknown: m².
    float variance;
    /// Sound.
    static constexpr std::uint8_t ULTRASOUND = 0;
    /// Infrared light.
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

/// Measured state of up to 16 joints, as `sensor_msgs/JointState`.
///
/// Element *i* of every array belongs to joint *i*. The units are those of a revolute joint;
/// for a prismatic one read metres for radians, newtons for newton-metres. The names are in
/// each message, as in ROS: who reads it then needs no other topic, and no order is agreed on.
struct alignas(8) JointState {
    /// When it was measured, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// How many joints there are, from the first: count.
    std::uint32_t count;
    /// 0: no unit.
    std::uint32_t _reserved;
    /// Of the joints, as `left_wrist_roll`: text.
    char name[16][32];
    /// Radians.
    double position[16];
    /// Radians per second.
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

/// State of a battery, as `sensor_msgs/BatteryState`. NaN is what is not measured.
struct alignas(8) BatteryState {
    /// When it was measured, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Volts.
    float voltage = std::numeric_limits<float>::quiet_NaN();
    /// Degrees Celsius.
    float temperature = std::numeric_limits<float>::quiet_NaN();
    /// Negative when discharging: amperes.
    float current = std::numeric_limits<float>::quiet_NaN();
    /// Left now: ampere-hours.
    float charge = std::numeric_limits<float>::quiet_NaN();
    /// When full, as it is by now: ampere-hours.
    float capacity = std::numeric_limits<float>::quiet_NaN();
    /// When full, as it was new: ampere-hours.
    float design_capacity = std::numeric_limits<float>::quiet_NaN();
    /// Charge, 0 to 1: no unit.
    float percentage = std::numeric_limits<float>::quiet_NaN();
    /// One of the `POWER_SUPPLY_STATUS_` constants: no unit.
    std::uint8_t power_supply_status;
    /// One of the `POWER_SUPPLY_HEALTH_` constants: no unit.
    std::uint8_t power_supply_health;
    /// One of the `POWER_SUPPLY_TECHNOLOGY_` constants: no unit.
    std::uint8_t power_supply_technology;
    /// 0, or 1 if there is a battery: no unit.
    std::uint8_t present;
    /// How many cells are measured, from the first: count.
    std::uint32_t cell_count;
    /// 0: no unit.
    std::uint32_t _reserved;
    /// Volts.
    float cell_voltage[16];
    /// Degrees Celsius.
    float cell_temperature[16];
    /// Where it is, as the name of its slot: text.
    char location[32];
    /// As printed on it: text.
    char serial_number[32];
    /// Not known whether it is charged or drained.
    static constexpr std::uint8_t POWER_SUPPLY_STATUS_UNKNOWN = 0;
    /// Being charged.
    static constexpr std::uint8_t POWER_SUPPLY_STATUS_CHARGING = 1;
    /// Being drained.
    static constexpr std::uint8_t POWER_SUPPLY_STATUS_DISCHARGING = 2;
    /// Connected, and not charged.
    static constexpr std::uint8_t POWER_SUPPLY_STATUS_NOT_CHARGING = 3;
    /// Fully charged.
    static constexpr std::uint8_t POWER_SUPPLY_STATUS_FULL = 4;
    /// Not known how well it is.
    static constexpr std::uint8_t POWER_SUPPLY_HEALTH_UNKNOWN = 0;
    /// Nothing is wrong.
    static constexpr std::uint8_t POWER_SUPPLY_HEALTH_GOOD = 1;
    /// Too hot.
    static constexpr std::uint8_t POWER_SUPPLY_HEALTH_OVERHEAT = 2;
    /// Does not work any more.
    static constexpr std::uint8_t POWER_SUPPLY_HEALTH_DEAD = 3;
    /// Voltage too high.
    static constexpr std::uint8_t POWER_SUPPLY_HEALTH_OVERVOLTAGE = 4;
    /// Failed in a way that has no number here.
    static constexpr std::uint8_t POWER_SUPPLY_HEALTH_UNSPEC_FAILURE = 5;
    /// Too cold.
    static constexpr std::uint8_t POWER_SUPPLY_HEALTH_COLD = 6;
    /// Its watchdog ran out.
    static constexpr std::uint8_t POWER_SUPPLY_HEALTH_WATCHDOG_TIMER_EXPIRE = 7;
    /// Its safety timer ran out.
    static constexpr std::uint8_t POWER_SUPPLY_HEALTH_SAFETY_TIMER_EXPIRE = 8;
    /// Of a kind that has no number here.
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

/// A fix of a satellite navigation receiver by WGS 84, as `sensor_msgs/NavSatFix`.
///
/// The covariance is row-major 3 × 3 over east, north, up. `position_covariance_type`, in ROS
/// the last field, stands where there would be padding.
struct alignas(8) NavSatFix {
    /// When it was measured, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// One of the `STATUS_` constants: no unit.
    std::int8_t status = -2;
    /// One of the `COVARIANCE_` constants: no unit.
    std::uint8_t position_covariance_type;
    /// The `SERVICE_` constants of what is received, added: no unit.
    std::uint16_t service;
    /// 0: no unit.
    std::uint32_t _reserved;
    /// North is positive: degrees.
    double latitude;
    /// East is positive: degrees.
    double longitude;
    /// Above the ellipsoid, NaN if unknown: metres.
    double altitude;
    /// Of the position to the east, north and up: m².
    double position_covariance[9];
    /// Not set.
    static constexpr std::int8_t STATUS_UNKNOWN = -2;
    /// No position.
    static constexpr std::int8_t STATUS_NO_FIX = -1;
    /// A position without augmentation.
    static constexpr std::int8_t STATUS_FIX = 0;
    /// With augmentation by satellites.
    static constexpr std::int8_t STATUS_SBAS_FIX = 1;
    /// With augmentation from the ground.
    static constexpr std::int8_t STATUS_GBAS_FIX = 2;
    /// Not known what is received.
    static constexpr std::uint16_t SERVICE_UNKNOWN = 0;
    /// GPS is received.
    static constexpr std::uint16_t SERVICE_GPS = 1;
    /// GLONASS is received.
    static constexpr std::uint16_t SERVICE_GLONASS = 2;
    /// BeiDou is received.
    static constexpr std::uint16_t SERVICE_COMPASS = 4;
    /// Galileo is received.
    static constexpr std::uint16_t SERVICE_GALILEO = 8;
    /// The covariance says nothing.
    static constexpr std::uint8_t COVARIANCE_TYPE_UNKNOWN = 0;
    /// The covariance was estimated from the dilution of precision.
    static constexpr std::uint8_t COVARIANCE_TYPE_APPROXIMATED = 1;
    /// The diagonal is known.
    static constexpr std::uint8_t COVARIANCE_TYPE_DIAGONAL_KNOWN = 2;
    /// All of it is known.
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

/// The magnetic field at a sensor and in its frame, as `sensor_msgs/MagneticField`.
///
/// The covariance is row-major 3 × 3 over x, y, z; all zeros means unknown.
struct alignas(8) MagneticField {
    /// When it was measured, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Along x, y, z, NaN for an axis that is not measured: tesla.
    double magnetic_field[3];
    /// Of `magnetic_field`: T².
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

/// A temperature, as `sensor_msgs/Temperature`.
struct alignas(8) Temperature {
    /// When it was measured, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Degrees Celsius.
    double temperature;
    /// Of `temperature`, 0 if unknown: °C².
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

/// The pressure of air or water, not of a tank or a tyre, as `sensor_msgs/FluidPressure`.
struct alignas(8) FluidPressure {
    /// When it was measured, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Absolute: pascals.
    double fluid_pressure;
    /// Of `fluid_pressure`, 0 if unknown: Pa².
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

/// How bright it is, as `sensor_msgs/Illuminance`.
struct alignas(8) Illuminance {
    /// When it was measured, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Lux.
    double illuminance;
    /// Of `illuminance`, 0 if unknown: lx².
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

/// Pressure on the taxels of a tactile sensor, row by row, and the force that they add up to.
/// No ROS type.
struct alignas(8) TactileArray {
    /// When it was measured, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// The frame of the pad: x along its rows, z out of it: text.
    char frame_id[32];
    /// How many rows there are, along y: count.
    std::uint32_t rows;
    /// How many taxels a row has, along x: count.
    std::uint32_t columns;
    /// From one taxel to the next: metres.
    float spacing;
    /// On the whole pad along x, y, z, NaN if not measured: newtons.
    float force[3] = {
        std::numeric_limits<float>::quiet_NaN(),
        std::numeric_limits<float>::quiet_NaN(),
        std::numeric_limits<float>::quiet_NaN()};
    /// Row-major, `rows` times `columns` of them: pascals.
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

/// Velocity command of a robot that moves in the plane: `linear.x` and `angular.z` of
/// `geometry_msgs/Twist`, in single precision; in the robot's own frame.
struct alignas(8) CmdVel {
    /// When it was commanded, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Forward: metres per second.
    float linear;
    /// Counter-clockwise: radians per second.
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
/// Element *i* of every array belongs to joint *i*; `mode` says which of them count. The units
/// are those of a revolute joint; for a prismatic one read metres for radians, newtons for
/// newton-metres.
struct alignas(8) JointCommand {
    /// When it was commanded, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// How many joints are commanded, from the first: count.
    std::uint32_t count;
    /// 0: no unit.
    std::uint32_t _reserved;
    /// One of the `MODE_` constants; any other number means `MODE_DISABLED`: no unit.
    std::uint8_t mode[16];
    /// Radians.
    double position[16];
    /// Radians per second.
    double velocity[16];
    /// Feed-forward: rad/s².
    double acceleration[16];
    /// Torque, or feed-forward torque: N·m.
    double effort[16];
    /// Gain of the position error, often called kp: N·m/rad.
    double stiffness[16];
    /// Gain of the velocity error, often called kd: N·m·s/rad.
    double damping[16];
    /// The drive limits the total torque to ± this; 0 leaves the limit to the drive: N·m.
    double effort_max[16];
    /// The joint gets no command: its drive keeps what it does without one.
    static constexpr std::uint8_t MODE_DISABLED = 0;
    /// Follow `position`.
    static constexpr std::uint8_t MODE_POSITION = 1;
    /// Follow `velocity`.
    static constexpr std::uint8_t MODE_VELOCITY = 2;
    /// Apply `effort`.
    static constexpr std::uint8_t MODE_EFFORT = 3;
    /// Apply `effort + stiffness · (position − measured) + damping · (velocity − measured)`.
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
    /// When it was commanded, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Which motor, as its node on the bus: no unit.
    std::uint32_t motor_id;
    /// One of the `MODE_` constants; any other number means `MODE_DISABLED`: no unit.
    std::uint8_t mode;
    /// 0, or 1 to power the drive: no unit.
    std::uint8_t enable;
    /// 0: no unit.
    std::uint16_t _reserved;
    /// Radians.
    double position;
    /// Radians per second.
    double velocity;
    /// Torque, or feed-forward torque: N·m.
    double effort;
    /// Share of the supply voltage, −1 to 1: no unit.
    double duty_cycle;
    /// The drive turns no faster; 0 leaves the limit to the drive: radians per second.
    double velocity_max;
    /// The drive accelerates no harder; 0 leaves the limit to the drive: rad/s².
    double acceleration_max;
    /// The drive pushes no harder; 0 leaves the limit to the drive: N·m.
    double effort_max;
    /// No command.
    static constexpr std::uint8_t MODE_DISABLED = 0;
    /// Follow `position`.
    static constexpr std::uint8_t MODE_POSITION = 1;
    /// Follow `velocity`.
    static constexpr std::uint8_t MODE_VELOCITY = 2;
    /// Apply `effort`.
    static constexpr std::uint8_t MODE_EFFORT = 3;
    /// Apply `duty_cycle`, open loop. 4 is the impedance mode of `JointCommand`, not had here.
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
    /// When it was commanded, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Which servo, as its channel: no unit.
    std::uint32_t servo_id;
    /// 0 to let it go limp, 1 to hold: no unit.
    std::uint8_t enable;
    /// 0: no unit.
    std::uint8_t _reserved[3];
    /// From the middle: radians.
    float position;
    /// 0 for as fast as it can: radians per second.
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

/// Wheel speeds of a robot with two driven wheels. No ROS type: what
/// `diff_drive_controller` of `ros2_control` sends to its wheels.
struct alignas(8) DifferentialDriveCommand {
    /// When it was commanded, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Left wheel, forward: radians per second.
    double left;
    /// Right wheel, forward: radians per second.
    double right;
    /// The wheels accelerate no harder; 0 leaves the limit to the drive: rad/s².
    double acceleration_max;
    /// 0, or 1 to power the drives: no unit.
    std::uint8_t enable;
    /// 0: no unit.
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
    /// When it was set, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Which controller: no unit.
    std::uint32_t controller_id;
    /// What keeps the integral from growing while the output is limited, one of the
    /// `ANTIWINDUP_` constants: no unit.
    std::uint8_t antiwindup;
    /// 0: no unit.
    std::uint8_t _reserved[3];
    /// Proportional gain: of its use.
    double p;
    /// Integral gain: of its use.
    double i;
    /// Derivative gain: of its use.
    double d;
    /// Most that the integral part adds to the output, +∞ without a limit: of its use.
    double i_max = std::numeric_limits<double>::infinity();
    /// Least that the integral part adds to the output, −∞ without a limit: of its use.
    double i_min = -std::numeric_limits<double>::infinity();
    /// Most that comes out, +∞ without a limit: of its use.
    double u_max = std::numeric_limits<double>::infinity();
    /// Least that comes out, −∞ without a limit: of its use.
    double u_min = -std::numeric_limits<double>::infinity();
    /// How fast back calculation unwinds, 0 for the controller's own choice: seconds.
    double tracking_time_constant;
    /// Smaller errors are not integrated: of its use.
    double error_deadband;
    /// Nothing but the limits of the integral part.
    static constexpr std::uint8_t ANTIWINDUP_NONE = 0;
    /// The integral is drawn back by what the limit cut off.
    static constexpr std::uint8_t ANTIWINDUP_BACK_CALCULATION = 1;
    /// Nothing is integrated that would lead further beyond the limit.
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

/// Where a body is to be and how it is to move there at one time of a trajectory, as
/// `trajectory_msgs/MultiDOFJointTrajectoryPoint` of one body; in the frame that the topic is
/// about. For joints: `JointCommand`.
struct alignas(8) TrajectoryPoint {
    /// When the trajectory begins, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// x, y, z: metres.
    double position[3];
    /// Unit quaternion x, y, z, w: no unit.
    double orientation[4] = {0.0, 0.0, 0.0, 1.0};
    /// Along x, y, z: metres per second.
    double linear_velocity[3];
    /// About x, y, z: radians per second.
    double angular_velocity[3];
    /// Along x, y, z: m/s².
    double linear_acceleration[3];
    /// About x, y, z: rad/s².
    double angular_acceleration[3];
    /// When to be there, from `timestamp_ns`: nanoseconds.
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

/// Force to apply along some axes of a frame, while the others keep their position: hybrid
/// force and position control after Raibert and Craig (1981). No ROS type; force and torque
/// as in `geometry_msgs/WrenchStamped`.
struct alignas(8) ForceCommand {
    /// When it was commanded, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// The frame of the task: text.
    char frame_id[32];
    /// To apply to the surroundings along x, y, z: newtons.
    double force[3];
    /// To apply to the surroundings about x, y, z: N·m.
    double torque[3];
    /// Along x, y, z and about x, y, z, 1 to follow the force, 0 to keep the position: no unit.
    std::uint8_t force_controlled[6];
    /// 0: no unit.
    std::uint8_t _reserved[2];
    /// How fast to go where nothing resists; 0 leaves the limit to the controller: metres per
    /// second.
    double linear_velocity_max;
    /// How fast to turn where nothing resists; 0 leaves the limit to the controller: radians
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

/// How a tool gives way: a spring, a damper and a mass along and about each axis of a frame.
/// No ROS type; Hogan's impedance control (1985).
///
/// `force = stiffness · offset + damping · velocity + mass · acceleration`
struct alignas(8) ImpedanceParameters {
    /// When it was set, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// The frame of the axes, as the tool's: text.
    char frame_id[32];
    /// Along x, y, z: N/m.
    double linear_stiffness[3];
    /// About x, y, z: N·m/rad.
    double angular_stiffness[3];
    /// Along x, y, z: N·s/m.
    double linear_damping[3];
    /// About x, y, z: N·m·s/rad.
    double angular_damping[3];
    /// Along x, y, z; 0 leaves the tool's own: kilograms.
    double mass[3];
    /// About x, y, z; 0 leaves the tool's own: kg·m².
    double inertia[3];
    /// Never push harder; 0 leaves the limit to the controller: newtons.
    double force_max;
    /// Never turn harder; 0 leaves the limit to the controller: N·m.
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

/// Estimated pose and velocity of a body, as `nav_msgs/Odometry`.
///
/// The pose is in the `odom` frame, the velocity in the body's own frame (REP-105).
/// Covariances are row-major 6 × 6 over (x, y, z, rotation about x, y, z); all zeros means
/// unknown.
struct alignas(8) Odometry {
    /// When the pose held, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// x, y, z: metres.
    double position[3];
    /// Unit quaternion x, y, z, w: no unit.
    double orientation[4] = {0.0, 0.0, 0.0, 1.0};
    /// Of position, of both, of rotation: m², m·rad, rad².
    double pose_covariance[36];
    /// Along x, y, z of the body: metres per second.
    double linear[3];
    /// About x, y, z of the body: radians per second.
    double angular[3];
    /// Of linear, of both, of angular velocity: m²/s², m·rad/s², rad²/s².
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

/// Where to drive, as the goal of `nav2_msgs/action/NavigateToPose`, with its tolerances.
struct alignas(8) NavGoal {
    /// When it was commanded, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Chosen by the commander, and given back in
    /// `GoalResult`: no unit.
    std::uint64_t goal_id;
    /// The frame of the pose, as `map`: text.
    char frame_id[32];
    /// x, y, z: metres.
    double position[3];
    /// Unit quaternion x, y, z, w: no unit.
    double orientation[4] = {0.0, 0.0, 0.0, 1.0};
    /// Near enough; 0 leaves it to the navigation: metres.
    double position_tolerance;
    /// Turned well enough; 0 leaves it to the navigation: radians.
    double yaw_tolerance;
    /// To give up after; 0 is never: nanoseconds.
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

/// What became of a `NavGoal`, while it is followed and afterwards: the status of
/// `action_msgs/GoalStatus` with the result and feedback of `nav2_msgs/action/NavigateToPose`.
struct alignas(8) GoalResult {
    /// When it was known, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// That of the goal: no unit.
    std::uint64_t goal_id;
    /// One of the `STATUS_` constants; any other number means `STATUS_UNKNOWN`: no unit.
    std::uint8_t status;
    /// 0: no unit.
    std::uint8_t _reserved;
    /// 0, or why it failed, by the numbers of the navigation in use: no unit.
    std::uint16_t error_code;
    /// How often the robot had to free itself: count.
    std::uint32_t number_of_recoveries;
    /// Since the goal was accepted: nanoseconds.
    std::uint64_t navigation_time_ns;
    /// Until arrival, 0 if unknown: nanoseconds.
    std::uint64_t estimated_time_remaining_ns;
    /// Along the path: metres.
    double distance_remaining;
    /// Why it failed, for a person: text.
    char error_msg[64];
    /// Nothing is known.
    static constexpr std::uint8_t STATUS_UNKNOWN = 0;
    /// Accepted, not begun.
    static constexpr std::uint8_t STATUS_ACCEPTED = 1;
    /// On the way.
    static constexpr std::uint8_t STATUS_EXECUTING = 2;
    /// Told to give up, not stopped yet.
    static constexpr std::uint8_t STATUS_CANCELING = 3;
    /// Arrived.
    static constexpr std::uint8_t STATUS_SUCCEEDED = 4;
    /// Given up as told.
    static constexpr std::uint8_t STATUS_CANCELED = 5;
    /// Given up by itself.
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

/// One pose of a path and how fast to pass it; a pose of `nav_msgs/Path` with a speed. Without
/// a time and a frame: for use inside `NavPath`. One cache line.
struct alignas(8) Waypoint {
    /// x, y, z: metres.
    double position[3];
    /// Unit quaternion x, y, z, w: no unit.
    double orientation[4] = {0.0, 0.0, 0.0, 1.0};
    /// How fast to pass; 0 is to stop there: metres per second.
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

/// The way to go, as `nav_msgs/Path`.
struct alignas(8) NavPath {
    /// When it was planned, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// The frame of all waypoints, as `map`: text.
    char frame_id[32];
    /// How many of `waypoints` there are, from the first: count.
    std::uint32_t count;
    /// 0: no unit.
    std::uint32_t _reserved;
    /// In the order in which they are passed.
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

/// A rectangle in an image, as `vision_msgs/BoundingBox2D`. Without a time: for use inside
/// other messages.
struct alignas(8) BoundingBox2D {
    /// x, y from the top left corner of the image: pixels.
    double center[2];
    /// Rotation about the centre, from x to y: radians.
    double theta;
    /// Along its own x: pixels.
    double size_x;
    /// Along its own y: pixels.
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

/// A box in space, as `vision_msgs/BoundingBox3D`. Without a time: for use inside other
/// messages.
struct alignas(8) BoundingBox3D {
    /// x, y, z of the centre: metres.
    double center[3];
    /// Unit quaternion x, y, z, w: no unit.
    double orientation[4] = {0.0, 0.0, 0.0, 1.0};
    /// Along its own x, y, z: metres.
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

/// Something that was recognised in an image, as `vision_msgs/Detection2D` with its best
/// hypothesis. Those of one image have the same time.
struct alignas(8) Detection {
    /// When the image was taken, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// The frame of the camera: text.
    char frame_id[32];
    /// What it is, as `person`: text.
    char class_id[32];
    /// How sure that is, 0 to 1: no unit.
    double score;
    /// Where in the image it is.
    BoundingBox2D bbox;
    /// The same for the same thing in several images, if it is tracked: text.
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

/// Something that was recognised in space, as `vision_msgs/Detection3D` with its best
/// hypothesis. Those of one measurement have the same time.
struct alignas(8) Detection3D {
    /// When it was measured, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// The frame of the box: text.
    char frame_id[32];
    /// What it is, as `person`: text.
    char class_id[32];
    /// How sure that is, 0 to 1: no unit.
    double score;
    /// Where it is.
    BoundingBox3D bbox;
    /// The same for the same thing in several measurements, if it is tracked: text.
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

/// Something that is followed from one measurement to the next. No ROS type; the box is that of
/// `vision_msgs/Detection3D`.
struct alignas(8) TrackedObject {
    /// When the pose held, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// The frame of box and velocities: text.
    char frame_id[32];
    /// The same for the same thing, never used again: no unit.
    std::uint64_t track_id;
    /// What it is, as `person`: text.
    char class_id[32];
    /// How sure that is, 0 to 1: no unit.
    double score;
    /// Where it is.
    BoundingBox3D bbox;
    /// Along x, y, z: metres per second.
    double linear_velocity[3];
    /// About x, y, z: radians per second.
    double angular_velocity[3];
    /// For how long it has been followed: nanoseconds.
    std::uint64_t age_ns;
    /// How often it was not seen since it was last seen: count.
    std::uint32_t missed;
    /// One of the `STATE_` constants: no unit.
    std::uint8_t state;
    /// 0: no unit.
    std::uint8_t _reserved[3];
    /// Seen too seldom to be sure.
    static constexpr std::uint8_t STATE_TENTATIVE = 0;
    /// There.
    static constexpr std::uint8_t STATE_CONFIRMED = 1;
    /// Not seen, and assumed to go on as it went.
    static constexpr std::uint8_t STATE_COASTING = 2;
    /// Given up: the last message of this track.
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

/// A place that is recognised again, as a corner or a fiducial marker. No ROS type.
///
/// The covariance is row-major 3 × 3 over x, y, z; all zeros means unknown.
struct alignas(8) Landmark {
    /// When it was seen, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// The frame of the position: text.
    char frame_id[32];
    /// Which one it is, as the number of the marker: no unit.
    std::uint32_t landmark_id;
    /// One of the `KIND_` constants: no unit.
    std::uint8_t kind;
    /// 0: no unit.
    std::uint8_t _reserved[3];
    /// x, y, z: metres.
    double position[3];
    /// Unit quaternion x, y, z, w, the identity for a point: no unit.
    double orientation[4] = {0.0, 0.0, 0.0, 1.0};
    /// Of `position`: m².
    double position_covariance[9];
    /// How sure it is that one, 0 to 1: no unit.
    double score;
    /// A point, as of a feature detector.
    static constexpr std::uint8_t KIND_POINT = 0;
    /// A fiducial marker, as of AprilTag or ArUco.
    static constexpr std::uint8_t KIND_MARKER = 1;
    /// A vertical line, as a pole or an edge.
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

/// A flat piece of the surroundings, as a floor or a table. No ROS type; `coef` as in
/// `shape_msgs/Plane`.
struct alignas(8) PlaneDetection {
    /// When it was measured, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// The frame of plane and centre: text.
    char frame_id[32];
    /// a, b, c, d of `a·x + b·y + c·z + d = 0`, where (a, b, c) is a unit vector and d in
    /// metres: no unit.
    double coef[4];
    /// x, y, z of the middle of the piece: metres.
    double center[3];
    /// Longest extent of the piece, and that across: metres.
    double size[2];
    /// How many points it was fitted to: count.
    std::uint32_t inlier_count;
    /// 0: no unit.
    std::uint32_t _reserved;
    /// Root mean square distance of those from the plane: metres.
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

/// A part of an image, as `sensor_msgs/RegionOfInterest`. Without a time: for use inside other
/// messages. All zeros is the whole image.
struct alignas(4) RegionOfInterest {
    /// Of its left edge: pixels.
    std::uint32_t x_offset;
    /// Of its top edge: pixels.
    std::uint32_t y_offset;
    /// Pixels.
    std::uint32_t height;
    /// Pixels.
    std::uint32_t width;
    /// 1 if it is to be cut out of the rectified image: no unit.
    std::uint8_t do_rectify;
    /// 0: no unit.
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

/// Calibration of a camera, as `sensor_msgs/CameraInfo`; the meaning of its fields is in
/// `image_pipeline`'s documents, and matrices are row-major.
struct alignas(8) CameraInfo {
    /// When the image was taken, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// The optical frame: z forward, x right, y down: text.
    char frame_id[32];
    /// Of the image that was calibrated: pixels.
    std::uint32_t height;
    /// Of the image that was calibrated: pixels.
    std::uint32_t width;
    /// As `plumb_bob` or `rational_polynomial`: text.
    char distortion_model[32];
    /// How many coefficients the model has, from the first of `d`: count.
    std::uint32_t d_count;
    /// 0: no unit.
    std::uint32_t _reserved;
    /// Coefficients of the distortion model: no unit.
    double d[14];
    /// Intrinsic matrix of the raw image, 3 × 3, fx 0 cx 0 fy cy 0 0 1: pixels.
    double k[9];
    /// Rotation that rectifies, 3 × 3: no unit.
    double r[9];
    /// Projection of the rectified image, 3 × 4: pixels.
    double p[12];
    /// Columns of the sensor in one of the image, 0 as 1: count.
    std::uint32_t binning_x;
    /// Rows of the sensor in one of the image, 0 as 1: count.
    std::uint32_t binning_y;
    /// The part of the sensor that was read, before binning.
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

/// A sign of life. No ROS type.
struct alignas(8) Heartbeat {
    /// When it was sent, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Who lives: text.
    char source[32];
    /// One more each time: count.
    std::uint64_t sequence;
    /// When the next one is due, from this one: nanoseconds.
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

/// A sign of life of a node, and how it keeps its time. No ROS type; the states are those of
/// `lifecycle_msgs/State`.
struct alignas(8) NodeHeartbeat {
    /// When it was sent, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Of the node: text.
    char name[32];
    /// How often it ticked: count.
    std::uint64_t tick_count;
    /// From one tick to the next, 0 without a fixed one: nanoseconds.
    std::uint64_t period_ns;
    /// What the last tick took: nanoseconds.
    std::uint64_t tick_duration_ns;
    /// What the longest tick took: nanoseconds.
    std::uint64_t tick_duration_max_ns;
    /// How often a tick ended too late: count.
    std::uint64_t missed_deadlines;
    /// Since its start: nanoseconds.
    std::uint64_t uptime_ns;
    /// Of the process, in its own namespace: no unit.
    std::uint32_t process_id;
    /// One of the `STATE_` constants: no unit.
    std::uint8_t state;
    /// One of the constants of `DiagnosticStatus`, as `OK`: no unit.
    std::uint8_t level;
    /// 0: no unit.
    std::uint16_t _reserved;
    /// Not known.
    static constexpr std::uint8_t STATE_UNKNOWN = 0;
    /// Made, not set up.
    static constexpr std::uint8_t STATE_UNCONFIGURED = 1;
    /// Set up, does not tick.
    static constexpr std::uint8_t STATE_INACTIVE = 2;
    /// Ticks.
    static constexpr std::uint8_t STATE_ACTIVE = 3;
    /// At its end.
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

/// One thing that is known of a part, as `diagnostic_msgs/KeyValue`. Without a time: for use
/// inside `DiagnosticStatus`.
struct alignas(1) DiagnosticValue {
    /// What it is: text.
    char key[32];
    /// How it is, with its unit: text.
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

/// How a part of the robot is, as `diagnostic_msgs/DiagnosticStatus`.
struct alignas(8) DiagnosticStatus {
    /// When it was so, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// `OK`, `WARN`, `ERROR` or `STALE`; any other number means `ERROR`: no unit.
    std::uint8_t level;
    /// 0: no unit.
    std::uint8_t _reserved[3];
    /// How many of `values` there are, from the first: count.
    std::uint32_t count;
    /// Which part, as `base: left motor`: text.
    char name[64];
    /// How it is, for a person: text.
    char message[128];
    /// Which one of its kind: text.
    char hardware_id[32];
    /// What else is known of it.
    DiagnosticValue values[16];
    /// Works.
    static constexpr std::uint8_t OK = 0;
    /// Works, but look at it.
    static constexpr std::uint8_t WARN = 1;
    /// Does not work.
    static constexpr std::uint8_t ERROR = 2;
    /// Has said nothing for too long.
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

/// Whether everything has to stand still. No ROS type.
///
/// Anything but 0 in `engaged` means that it has to, so that no damaged message releases it.
struct alignas(8) EmergencyStop {
    /// When it was engaged or released, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// 0 if released: no unit.
    std::uint8_t engaged = 1;
    /// 0: no unit.
    std::uint8_t _reserved[7];
    /// Who engaged or released it: text.
    char source[32];
    /// Why, for a person: text.
    char reason[64];
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0xbd885f54117f0403u, 0x58ef7d2f311ba594u};
};
static_assert(sizeof(EmergencyStop) == 112, "size of EmergencyStop");
static_assert(alignof(EmergencyStop) == 8, "alignment of EmergencyStop");
static_assert(std::is_trivially_copyable_v<EmergencyStop> && std::is_standard_layout_v<EmergencyStop>);
static_assert(offsetof(EmergencyStop, timestamp_ns) == 0);
static_assert(offsetof(EmergencyStop, engaged) == 8);
static_assert(offsetof(EmergencyStop, _reserved) == 9);
static_assert(offsetof(EmergencyStop, source) == 16);
static_assert(offsetof(EmergencyStop, reason) == 48);
HORUS_MESSAGE(EmergencyStop, timestamp_ns, engaged, _reserved, source, reason);

/// What the safety functions allow at the moment. No ROS type; the modes after ISO 10218.
///
/// All zeros allows nothing.
struct alignas(8) SafetyStatus {
    /// When it was so, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// One of the `MODE_` constants; any other number means `MODE_FAULT`: no unit.
    std::uint8_t mode;
    /// 1 if the drives are powered: no unit.
    std::uint8_t enabled;
    /// 1 if all watchdogs were served in time: no unit.
    std::uint8_t watchdog_ok;
    /// 1 if positions, speeds and forces are within their limits: no unit.
    std::uint8_t limits_ok;
    /// 0, or what is wrong, by the numbers of the safety controller: no unit.
    std::uint32_t fault_code;
    /// No part may move faster; +∞ without a limit: metres per second.
    double speed_max;
    /// Why, for a person: text.
    char message[64];
    /// Not known: stand still.
    static constexpr std::uint8_t MODE_UNKNOWN = 0;
    /// Free to move.
    static constexpr std::uint8_t MODE_NORMAL = 1;
    /// Free to move at reduced speed, as by `speed_max`.
    static constexpr std::uint8_t MODE_REDUCED = 2;
    /// Stopped by a safety function; moves again when the cause is gone.
    static constexpr std::uint8_t MODE_PROTECTIVE_STOP = 3;
    /// Stopped by a person; moves again when a person releases it.
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

/// What a computer is busy with. No ROS type.
struct alignas(8) ResourceUsage {
    /// When it was measured, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// The computer or the process: text.
    char source[32];
    /// Processors in use, 0 to their number: no unit.
    float cpu_load;
    /// NaN if not measured: degrees Celsius.
    float cpu_temperature = std::numeric_limits<float>::quiet_NaN();
    /// Memory in use: bytes.
    std::uint64_t memory_used_bytes;
    /// Memory that there is: bytes.
    std::uint64_t memory_total_bytes;
    /// Disk in use: bytes.
    std::uint64_t disk_used_bytes;
    /// Disk that there is: bytes.
    std::uint64_t disk_total_bytes;
    /// Since its start: bytes.
    std::uint64_t network_received_bytes;
    /// Since its start: bytes.
    std::uint64_t network_sent_bytes;
    /// Since its start: nanoseconds.
    std::uint64_t uptime_ns;
    /// Threads that there are: count.
    std::uint32_t thread_count;
    /// Processors that there are: count.
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

/// Something that happened to a node, or to the scheduler that runs it: a line of a log, and of
/// the black box. No ROS type.
struct alignas(8) NodeEvent {
    /// When it happened, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// When it happened, by CLOCK_MONOTONIC: nanoseconds.
    std::uint64_t monotonic_ns;
    /// In which tick of the node, from 0 on: count.
    std::uint64_t tick;
    /// How long or how late, by the kind of event; 0 if that says nothing: nanoseconds.
    std::uint64_t value_ns;
    /// The node, empty for the scheduler itself: text.
    char node[64];
    /// What else is known, as an error or the message of a panic: text.
    char text[128];
    /// Of the process, in its own namespace: no unit.
    std::uint32_t process_id;
    /// One of the constants of this message, as `STARTED`: no unit.
    std::uint8_t kind;
    /// One of the constants of `DiagnosticStatus`, as `OK`: no unit.
    std::uint8_t level;
    /// 0: no unit.
    std::uint16_t _reserved;
    /// The node began.
    static constexpr std::uint8_t STARTED = 1;
    /// The node ended.
    static constexpr std::uint8_t FINISHED = 2;
    /// A tick returned an error: `text`.
    static constexpr std::uint8_t FAILED = 3;
    /// A tick panicked: `text`.
    static constexpr std::uint8_t PANICKED = 4;
    /// A tick was over too late, by `value_ns`.
    static constexpr std::uint8_t MISSED = 5;
    /// A tick does not end, and has lasted `value_ns`.
    static constexpr std::uint8_t STUCK = 6;
    /// A tick that did not end is over, after `value_ns`.
    static constexpr std::uint8_t RECOVERED = 7;
    /// The node is in its safe state.
    static constexpr std::uint8_t SAFE_STATE_ENTERED = 8;
    /// The node is in its safe state no more.
    static constexpr std::uint8_t SAFE_STATE_LEFT = 9;
    /// The node rests until it is resumed.
    static constexpr std::uint8_t PAUSED = 10;
    /// The node goes on after a pause.
    static constexpr std::uint8_t RESUMED = 11;
    /// The node ended because it was told to.
    static constexpr std::uint8_t STOPPED = 12;
    /// The node has another rate: `value_ns` from one tick to the next.
    static constexpr std::uint8_t RATE_CHANGED = 13;
    /// Another node took its place.
    static constexpr std::uint8_t SWAPPED = 14;
    /// Another node did not take its place, and all is as before: `text`.
    static constexpr std::uint8_t SWAP_FAILED = 15;
    /// Nothing has come on the topic `text` for `value_ns`.
    static constexpr std::uint8_t STALE_INPUT = 16;
    /// Something has come on the topic `text` again.
    static constexpr std::uint8_t FRESH_INPUT = 17;
    /// A checkpoint was passed out of turn, too early or not at all: `text`.
    static constexpr std::uint8_t CHECKPOINT = 18;
    /// Everything has to stand still: `text`.
    static constexpr std::uint8_t EMERGENCY_STOP = 19;
    /// Everything may move again: `text`.
    static constexpr std::uint8_t EMERGENCY_OVER = 20;
    /// Its thread has not got what was asked for, as a core or a priority: `text`.
    static constexpr std::uint8_t REFUSED = 21;
    /// A `NodeCommand` was not carried out: `text`.
    static constexpr std::uint8_t COMMAND = 22;
    /// The scheduler began.
    static constexpr std::uint8_t SCHEDULER_STARTED = 23;
    /// The scheduler ended: `text`.
    static constexpr std::uint8_t SCHEDULER_STOPPED = 24;
    /// A subscriber of the node has no memory to map a publisher, and misses its messages: `text`.
    static constexpr std::uint8_t LANE_NOT_MAPPED = 25;
    /// The subscriber of the topic `text` misses no publisher any more.
    static constexpr std::uint8_t LANE_MAPPED = 26;
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

/// What a node has done since its scheduler began. Without a time: for use inside
/// `SchedulerStatus`. No ROS type.
struct alignas(8) NodeMetrics {
    /// Of the node: text.
    char name[64];
    /// What it said when it failed last: text.
    char last_error[128];
    /// Ticks that are over: count.
    std::uint64_t ticks;
    /// From one tick to the next, 0 without a rate: nanoseconds.
    std::uint64_t period_ns;
    /// What the last tick took: nanoseconds.
    std::uint64_t last_ns;
    /// What the longest tick took: nanoseconds.
    std::uint64_t max_ns;
    /// Ticks that were over after their deadline, or took more than their budget: count.
    std::uint64_t misses;
    /// Due times at which it did not run, because it was still busy or late: count.
    std::uint64_t passed_over;
    /// Ticks that returned an error or panicked: count.
    std::uint64_t failures;
    /// Ticks that panicked: count.
    std::uint64_t panics;
    /// Ticks by what they took: element i has those below 2^i nanoseconds that are in no
    /// element before, the last one all others: count.
    std::uint64_t durations[40];
    /// Ticks by how much later than due they began, as in `durations`: count.
    std::uint64_t lateness[40];
    /// Who runs it, one of the `CLASS_` constants: no unit.
    std::uint8_t node_class;
    /// One of the `STATE_` constants: no unit.
    std::uint8_t state;
    /// One of the constants of `DiagnosticStatus`, as `OK`: no unit.
    std::uint8_t level;
    /// 0: no unit.
    std::uint8_t _reserved[5];
    /// Not known.
    static constexpr std::uint8_t CLASS_UNKNOWN = 0;
    /// A thread of its own, at absolute times.
    static constexpr std::uint8_t CLASS_REAL_TIME = 1;
    /// The pool of threads.
    static constexpr std::uint8_t CLASS_COMPUTE = 2;
    /// A thread that sleeps until a topic has a message.
    static constexpr std::uint8_t CLASS_EVENT = 3;
    /// Tasks that wait for files and networks.
    static constexpr std::uint8_t CLASS_ASYNC_IO = 4;
    /// The thread that runs the scheduler.
    static constexpr std::uint8_t CLASS_BEST_EFFORT = 5;
    /// Not known.
    static constexpr std::uint8_t STATE_UNKNOWN = 0;
    /// Ticks.
    static constexpr std::uint8_t STATE_ACTIVE = 1;
    /// Told not to tick for now.
    static constexpr std::uint8_t STATE_PAUSED = 2;
    /// Does not tick for a while after a failure.
    static constexpr std::uint8_t STATE_RESTING = 3;
    /// In its safe state.
    static constexpr std::uint8_t STATE_SAFE = 4;
    /// Ticks no more.
    static constexpr std::uint8_t STATE_STOPPED = 5;
    /// In a tick that does not end.
    static constexpr std::uint8_t STATE_STUCK = 6;
    /// Of the canonical schema text.
    static constexpr SchemaHash schema_hash{0x60e9871cb26c1591u, 0x07c120781e1e810fu};
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
static_assert(offsetof(NodeMetrics, passed_over) == 232);
static_assert(offsetof(NodeMetrics, failures) == 240);
static_assert(offsetof(NodeMetrics, panics) == 248);
static_assert(offsetof(NodeMetrics, durations) == 256);
static_assert(offsetof(NodeMetrics, lateness) == 576);
static_assert(offsetof(NodeMetrics, node_class) == 896);
static_assert(offsetof(NodeMetrics, state) == 897);
static_assert(offsetof(NodeMetrics, level) == 898);
static_assert(offsetof(NodeMetrics, _reserved) == 899);
HORUS_MESSAGE(NodeMetrics, name, last_error, ticks, period_ns, last_ns, max_ns, misses,
    passed_over, failures, panics, durations, lateness, node_class, state, level, _reserved);

/// What a node or a whole scheduler is to do. No ROS type.
struct alignas(8) NodeCommand {
    /// When it was sent, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// The node, empty for all of the scheduler: text.
    char node[64];
    /// How often it is to tick, for `SET_RATE`: hertz.
    double rate_hz;
    /// One of the constants of this message, as `PAUSE`: no unit.
    std::uint8_t kind;
    /// 0: no unit.
    std::uint8_t _reserved[7];
    /// Not to tick until it is resumed.
    static constexpr std::uint8_t PAUSE = 1;
    /// To go on after a pause.
    static constexpr std::uint8_t RESUME = 2;
    /// To end after its present tick.
    static constexpr std::uint8_t STOP = 3;
    /// To tick at another rate.
    static constexpr std::uint8_t SET_RATE = 4;
    /// All nodes to end, and the scheduler with them.
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

/// The time by which a simulation or a recording runs, as `rosgraph_msgs/Clock`.
struct alignas(8) Clock {
    /// When it was sent, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// What the clock shows: nanoseconds.
    std::uint64_t clock_ns;
    /// How fast it is meant to run, 1 as real time, 0 while it stands: no unit.
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

/// What another clock showed at a time of this one, as `sensor_msgs/TimeReference`.
struct alignas(8) TimeReference {
    /// When it was read, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// What the other clock showed: nanoseconds.
    std::uint64_t time_ref_ns;
    /// Which clock, as `gps`: text.
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

/// State of a joystick or gamepad, as `sensor_msgs/Joy`.
struct alignas(8) JoystickInput {
    /// When it was read, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Which one, as `/dev/input/js0`: text.
    char device[32];
    /// How many axes it has, from the first: count.
    std::uint32_t axis_count;
    /// How many buttons it has, from the first: count.
    std::uint32_t button_count;
    /// −1 to 1: no unit.
    float axes[16];
    /// 1 while pressed, else 0: no unit.
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

/// A key that was pressed or released. No ROS type; keys have the numbers of the USB HID usage
/// tables, page 7, which do not depend on the layout of the keyboard.
struct alignas(8) KeyboardInput {
    /// When it happened, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Which key, as 4 for the one that types an A in the United States: no unit.
    std::uint16_t key;
    /// The `MODIFIER_` constants of the keys that are held, added: no unit.
    std::uint16_t modifiers;
    /// One of the `ACTION_` constants: no unit.
    std::uint8_t action;
    /// 0: no unit.
    std::uint8_t _reserved[3];
    /// What it types by the layout in use, if anything: text.
    char text[8];
    /// Let go.
    static constexpr std::uint8_t ACTION_RELEASED = 0;
    /// Pressed.
    static constexpr std::uint8_t ACTION_PRESSED = 1;
    /// Still held, repeated by the keyboard.
    static constexpr std::uint8_t ACTION_REPEATED = 2;
    /// A shift key.
    static constexpr std::uint16_t MODIFIER_SHIFT = 1;
    /// A control key.
    static constexpr std::uint16_t MODIFIER_CONTROL = 2;
    /// An alternate key.
    static constexpr std::uint16_t MODIFIER_ALT = 4;
    /// A key with a logo on it.
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

/// The header of an `Image`, after `sensor_msgs/Image`: rows of pixels, the top one first.
///
/// Followed by `std::uint8_t data[]`, to the message's end.
struct alignas(8) ImageHeader {
    /// When the exposure began, CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Rows: count.
    std::uint32_t height;
    /// Columns: count.
    std::uint32_t width;
    /// From one row to the next: bytes.
    std::uint32_t step;
    /// 1 if channels of several bytes have the highest one first, else 0: no unit.
    std::uint8_t is_bigendian;
    /// 0: no unit.
    std::uint8_t _reserved0[3];
    /// How a pixel is stored, by ROS's names, see `Encoding`: text.
    char encoding[16];
    /// The optical frame of the camera (z forward, x right, y down): text.
    char frame_id[32];
    /// 0: no unit.
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

/// The header of a `DepthImage`, as REP-118 describes them: rows of depths along the optical
/// axis, the top one first.
///
/// Followed by `std::uint8_t data[]`, to the message's end.
struct alignas(8) DepthImageHeader {
    /// When the exposure began, CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Rows: count.
    std::uint32_t height;
    /// Columns: count.
    std::uint32_t width;
    /// From one row to the next: bytes.
    std::uint32_t step;
    /// What a depth of 1 in the data is, 0.001 for millimetres: metres.
    float unit;
    /// Smaller depths are not valid: metres.
    float range_min;
    /// Larger depths are not valid: metres.
    float range_max;
    /// `16UC1` or `32FC1` (REP-118), in the byte order of the machine: text.
    char encoding[16];
    /// The optical frame of the camera (z forward, x right, y down): text.
    char frame_id[32];
    /// 0: no unit.
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
    /// When the exposure began, CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Length of the compressed data that follow: bytes.
    std::uint64_t bytes;
    /// The codec, as `jpeg` or `png`, or ROS's longer form `rgb8; jpeg compressed bgr8`: text.
    char format[64];
    /// The optical frame of the camera (z forward, x right, y down): text.
    char frame_id[32];
    /// 0: no unit.
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

/// The header of a `SegmentationMask`: rows of numbers of classes, a byte for each pixel, the
/// top one first.
///
/// Followed by `std::uint8_t data[]`, to the message's end.
struct alignas(8) SegmentationMaskHeader {
    /// When the image was taken that this is about, CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Rows: count.
    std::uint32_t height;
    /// Columns: count.
    std::uint32_t width;
    /// From one row to the next: bytes.
    std::uint32_t step;
    /// Classes, 0 up to one less than this: count.
    std::uint32_t class_count;
    /// The optical frame of the camera (z forward, x right, y down): text.
    char frame_id[32];
    /// 0: no unit.
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

/// One number, or array of numbers, in each point, as `sensor_msgs/PointField`. Without a time:
/// for use inside `PointCloudHeader`.
struct alignas(4) PointField {
    /// `x`, `y`, `z`, `rgb`, `intensity`, `ring`, …: text.
    char name[16];
    /// From the start of a point: bytes.
    std::uint32_t offset;
    /// Numbers side by side: count.
    std::uint32_t count;
    /// Type of one number, the code of a `DType`: no unit.
    std::uint8_t dtype;
    /// 0: no unit.
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
    /// When it was measured, CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// The frame of the points: text.
    char frame_id[32];
    /// Rows of an organised cloud, else 1: count.
    std::uint32_t height;
    /// Points in a row, all points of a cloud that is not organised: count.
    std::uint32_t width;
    /// From one point to the next: bytes.
    std::uint32_t point_step;
    /// From one row to the next: bytes.
    std::uint32_t row_step;
    /// How many of `fields` there are, from the first: count.
    std::uint32_t field_count;
    /// 1 if numbers have the highest byte first, else 0: no unit.
    std::uint8_t is_bigendian;
    /// 1 if all points are valid, 0 if some have a NaN as a coordinate: no unit.
    std::uint8_t is_dense;
    /// 0: no unit.
    std::uint8_t _reserved[2];
    /// What a point consists of: no unit.
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

/// The header of a `Tensor`, with what `DLTensor` of DLPack says: numbers in up to eight
/// dimensions.
///
/// Followed by `std::uint8_t data[]`, to the message's end.
struct alignas(8) TensorHeader {
    /// When the data were measured or computed, CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Type of one element, the code of a `DType`: no unit.
    std::uint8_t dtype = 1;
    /// How many of `shape` and `strides` there are, from the first: count.
    std::uint8_t dimensions = 1;
    /// 0: no unit.
    std::uint8_t _reserved0[6];
    /// Elements along each dimension, the outermost first: count.
    std::uint64_t shape[8];
    /// From one element to the next along each dimension, as in DLPack: elements.
    std::uint64_t strides[8] = {1};
    /// What it is, as `images` or `logits`: text.
    char name[32];
    /// 0: no unit.
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

/// Size and place of a map, as `nav_msgs/MapMetaData`. Without a time: for use inside maps.
struct alignas(8) MapMetaData {
    /// When the map was made, CLOCK_REALTIME: nanoseconds.
    std::uint64_t map_load_time_ns;
    /// Side of a cell: metres.
    float resolution;
    /// Cells along x: count.
    std::uint32_t width;
    /// Cells along y: count.
    std::uint32_t height;
    /// 0: no unit.
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
    /// When the content held, CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// The frame of the map: text.
    char frame_id[32];
    /// Size and place.
    MapMetaData info;
    /// 0: no unit.
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
    /// When the content held, CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// The frame of the map: text.
    char frame_id[32];
    /// Size and place.
    MapMetaData info;
    /// Which layer of the costs it is, as `master`: text.
    char layer[32];
    /// 0: no unit.
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

/// The header of an `AudioFrame`: samples that are not compressed, those of all channels at
/// one time side by side.
///
/// Followed by `std::uint8_t data[]`, to the message's end.
struct alignas(8) AudioFrameHeader {
    /// When the first sample was taken, CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Samples of each channel: count.
    std::uint64_t samples;
    /// Samples of each channel in a second: hertz.
    std::uint32_t sample_rate;
    /// Channels: count.
    std::uint16_t channels;
    /// Type of a sample, the code of a `DType`: no unit.
    std::uint8_t dtype;
    /// 0: no unit.
    std::uint8_t _reserved0;
    /// The frame of the microphone: text.
    char frame_id[32];
    /// 0: no unit.
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

/// The header of `Bytes`: any data, with a name for what they are.
///
/// Followed by `std::uint8_t data[]`, to the message's end.
struct alignas(8) BytesHeader {
    /// When they were made, CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Length of the data that follow: bytes.
    std::uint64_t bytes;
    /// What the data are, best as a media type such as `application/cbor`: text.
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

/// The header of a `SchedulerStatus`: how a scheduler is. The metrics of its nodes follow,
/// one `NodeMetrics` after the other.
///
/// Followed by `std::uint8_t nodes[]`, to the message's end.
struct alignas(8) SchedulerStatusHeader {
    /// When it was so, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// When it was so, by CLOCK_MONOTONIC: nanoseconds.
    std::uint64_t monotonic_ns;
    /// Since its start: nanoseconds.
    std::uint64_t uptime_ns;
    /// Name of the scheduler: text.
    char scheduler[64];
    /// Of the process, in its own namespace: no unit.
    std::uint32_t process_id;
    /// Nodes that follow: count.
    std::uint32_t count;
    /// From one node to the next, the size of a `NodeMetrics`: bytes.
    std::uint32_t node_bytes;
    /// One of the `STATE_` constants: no unit.
    std::uint8_t state;
    /// 0: no unit.
    std::uint8_t _reserved[27];
    /// Not known.
    static constexpr std::uint8_t STATE_UNKNOWN = 0;
    /// Sets its nodes up.
    static constexpr std::uint8_t STATE_STARTING = 1;
    /// Runs them.
    static constexpr std::uint8_t STATE_RUNNING = 2;
    /// Everything stands still until the emergency stop is released.
    static constexpr std::uint8_t STATE_EMERGENCY_STOP = 3;
    /// Has them end.
    static constexpr std::uint8_t STATE_STOPPING = 4;
    /// At its end.
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

}  // namespace horus

#endif  // HORUS_MSG_HPP
