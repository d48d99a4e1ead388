/*
 * @generated from the table of fields in horus_core/src/message/. C11, usable from C++.
 *
 * The standard messages. For the message CmdVel there are:
 *
 * horus_cmd_vel_t       the struct, with the same layout in every language
 * HORUS_CMD_VEL_SCHEMA  the canonical schema text, for HORUS_TOPIC_OPTIONS_FOR of horus.h
 * HORUS_CMD_VEL_INIT    an initialiser with the values of CmdVel::default() in Rust: where they are
 *                       not 0, orientations do not rotate, and what was not measured is NaN
 * HORUS_CMD_VEL_*       its constants, if it has any
 *
 * Of a message with data of any length, as Image, the struct is the header that the data follow:
 * horus_image_header_t and HORUS_IMAGE_HEADER_INIT, but HORUS_IMAGE_SCHEMA. What is received was
 * written by another program: compare the header with the length of the message before use.
 *
 * Comments use the names of docs/messages.md. C++ programs have the same in <horus/msg.hpp>.
 */
#ifndef HORUS_MESSAGES_H
#define HORUS_MESSAGES_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define HORUS_ASSERT(condition, text) static_assert(condition, text)
#define HORUS_ALIGNOF(type) alignof(type)
#else
#define HORUS_ASSERT(condition, text) _Static_assert(condition, text)
#define HORUS_ALIGNOF(type) _Alignof(type)
#endif
#define HORUS_ASSERT_LAYOUT(type, size, align)                       \
    HORUS_ASSERT(sizeof(type) == (size), "size of " #type);          \
    HORUS_ASSERT(HORUS_ALIGNOF(type) == (align), "alignment of " #type)
#define HORUS_ASSERT_OFFSET(type, field, offset) \
    HORUS_ASSERT(offsetof(type, field) == (offset), "offset of " #field " in " #type)

/* Part of initialisers: the same four times. */
#define HORUS_4X(...) __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__

/*
 * A point in space, like `geometry_msgs/Point`. It has no timestamp: it is for use inside
 * other messages, and for computing.
 */
typedef struct horus_point3 {
    /* Coordinate x: metres. */
    double x;
    /* Coordinate y: metres. */
    double y;
    /* Coordinate z: metres. */
    double z;
} horus_point3_t;
HORUS_ASSERT_LAYOUT(horus_point3_t, 24, 8);
HORUS_ASSERT_OFFSET(horus_point3_t, x, 0);
HORUS_ASSERT_OFFSET(horus_point3_t, y, 8);
HORUS_ASSERT_OFFSET(horus_point3_t, z, 16);
#define HORUS_POINT3_SCHEMA \
    "horus schema 1\nmessage Point3\nsize 24\nalign 8\nfield x f64 0 1\nfield y f64 8 1\n" \
    "field z f64 16 1\n"
#define HORUS_POINT3_INIT {0}

/*
 * A direction with a length, like `geometry_msgs/Vector3`. It has no timestamp: it is for use
 * inside other messages, and for computing.
 */
typedef struct horus_vector3 {
    /* Component along x: depends on the use. */
    double x;
    /* Component along y: depends on the use. */
    double y;
    /* Component along z: depends on the use. */
    double z;
} horus_vector3_t;
HORUS_ASSERT_LAYOUT(horus_vector3_t, 24, 8);
HORUS_ASSERT_OFFSET(horus_vector3_t, x, 0);
HORUS_ASSERT_OFFSET(horus_vector3_t, y, 8);
HORUS_ASSERT_OFFSET(horus_vector3_t, z, 16);
#define HORUS_VECTOR3_SCHEMA \
    "horus schema 1\nmessage Vector3\nsize 24\nalign 8\nfield x f64 0 1\nfield y f64 8 1\n" \
    "field z f64 16 1\n"
#define HORUS_VECTOR3_INIT {0}

/*
 * A rotation in space as a unit quaternion, like `geometry_msgs/Quaternion`. It has no
 * timestamp: it is for use inside other messages, and for computing.
 */
typedef struct horus_quaternion {
    /* sin(half the angle) times the axis along x: no unit. */
    double x;
    /* sin(half the angle) times the axis along y: no unit. */
    double y;
    /* sin(half the angle) times the axis along z: no unit. */
    double z;
    /* cos(half the angle): no unit. */
    double w;
} horus_quaternion_t;
HORUS_ASSERT_LAYOUT(horus_quaternion_t, 32, 8);
HORUS_ASSERT_OFFSET(horus_quaternion_t, x, 0);
HORUS_ASSERT_OFFSET(horus_quaternion_t, y, 8);
HORUS_ASSERT_OFFSET(horus_quaternion_t, z, 16);
HORUS_ASSERT_OFFSET(horus_quaternion_t, w, 24);
#define HORUS_QUATERNION_SCHEMA \
    "horus schema 1\nmessage Quaternion\nsize 32\nalign 8\nfield x f64 0 1\nfield y f64 8 1\n" \
    "field z f64 16 1\nfield w f64 24 1\n"
#define HORUS_QUATERNION_INIT {.w = 1.0}

/*
 * Pose of a child frame in its parent frame, like `geometry_msgs/Transform`. It converts
 * coordinates of the child's frame to the parent's: it rotates them and then translates them.
 * It has no names and no timestamp: it is for computing; `TransformStamped` is the message
 * to send.
 */
typedef struct horus_transform {
    /* The child's origin in the parent's frame, x, y, z: metres. */
    double translation[3];
    /* Unit quaternion x, y, z, w: no unit. */
    double rotation[4];
} horus_transform_t;
HORUS_ASSERT_LAYOUT(horus_transform_t, 56, 8);
HORUS_ASSERT_OFFSET(horus_transform_t, translation, 0);
HORUS_ASSERT_OFFSET(horus_transform_t, rotation, 24);
#define HORUS_TRANSFORM_SCHEMA \
    "horus schema 1\nmessage Transform\nsize 56\nalign 8\nfield translation f64 0 3\n" \
    "field rotation f64 24 4\n"
#define HORUS_TRANSFORM_INIT {.rotation = {0.0, 0.0, 0.0, 1.0}}

/* Position and heading in the plane, like `geometry_msgs/Pose2D`; in the frame of the topic. */
typedef struct horus_pose2d {
    /* Time of the measurement or command, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Coordinate x: metres. */
    double x;
    /* Coordinate y: metres. */
    double y;
    /* Heading from the x axis, counter-clockwise: radians. */
    double theta;
} horus_pose2d_t;
HORUS_ASSERT_LAYOUT(horus_pose2d_t, 32, 8);
HORUS_ASSERT_OFFSET(horus_pose2d_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_pose2d_t, x, 8);
HORUS_ASSERT_OFFSET(horus_pose2d_t, y, 16);
HORUS_ASSERT_OFFSET(horus_pose2d_t, theta, 24);
#define HORUS_POSE2D_SCHEMA \
    "horus schema 1\nmessage Pose2D\nsize 32\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field x f64 8 1\nfield y f64 16 1\nfield theta f64 24 1\n"
#define HORUS_POSE2D_INIT {0}

/*
 * Position and orientation in space, like `geometry_msgs/Pose` with a time; in the frame of
 * the topic. Its size is one cache line.
 */
typedef struct horus_pose3d {
    /* Time of the measurement or command, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Position x, y, z: metres. */
    double position[3];
    /* Unit quaternion x, y, z, w: no unit. */
    double orientation[4];
} horus_pose3d_t;
HORUS_ASSERT_LAYOUT(horus_pose3d_t, 64, 8);
HORUS_ASSERT_OFFSET(horus_pose3d_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_pose3d_t, position, 8);
HORUS_ASSERT_OFFSET(horus_pose3d_t, orientation, 32);
#define HORUS_POSE3D_SCHEMA \
    "horus schema 1\nmessage Pose3D\nsize 64\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field position f64 8 3\nfield orientation f64 32 4\n"
#define HORUS_POSE3D_INIT {.orientation = {0.0, 0.0, 0.0, 1.0}}

/* Position and orientation in a named frame, like `geometry_msgs/PoseStamped`. */
typedef struct horus_pose_stamped {
    /* Time of the measurement or command, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Frame of the pose: text. */
    char frame_id[32];
    /* Position x, y, z: metres. */
    double position[3];
    /* Unit quaternion x, y, z, w: no unit. */
    double orientation[4];
} horus_pose_stamped_t;
HORUS_ASSERT_LAYOUT(horus_pose_stamped_t, 96, 8);
HORUS_ASSERT_OFFSET(horus_pose_stamped_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_pose_stamped_t, frame_id, 8);
HORUS_ASSERT_OFFSET(horus_pose_stamped_t, position, 40);
HORUS_ASSERT_OFFSET(horus_pose_stamped_t, orientation, 64);
#define HORUS_POSE_STAMPED_SCHEMA \
    "horus schema 1\nmessage PoseStamped\nsize 96\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field frame_id char 8 32\nfield position f64 40 3\nfield orientation f64 64 4\n"
#define HORUS_POSE_STAMPED_INIT {.orientation = {0.0, 0.0, 0.0, 1.0}}

/*
 * An estimated pose, like `geometry_msgs/PoseWithCovariance` with a time; in the frame of the
 * topic, usually `map`.
 *
 * The covariance is row-major 6 × 6 over (x, y, z, rotation about x, y, z); all zeros means
 * unknown.
 */
typedef struct horus_pose_with_covariance {
    /* Time for which the pose is valid, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Position x, y, z: metres. */
    double position[3];
    /* Unit quaternion x, y, z, w: no unit. */
    double orientation[4];
    /*
     * Covariance of the position, of position and rotation, and of the rotation: m², m·rad,
     * rad².
     */
    double covariance[36];
} horus_pose_with_covariance_t;
HORUS_ASSERT_LAYOUT(horus_pose_with_covariance_t, 352, 8);
HORUS_ASSERT_OFFSET(horus_pose_with_covariance_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_pose_with_covariance_t, position, 8);
HORUS_ASSERT_OFFSET(horus_pose_with_covariance_t, orientation, 32);
HORUS_ASSERT_OFFSET(horus_pose_with_covariance_t, covariance, 64);
#define HORUS_POSE_WITH_COVARIANCE_SCHEMA \
    "horus schema 1\nmessage PoseWithCovariance\nsize 352\nalign 8\n" \
    "field timestamp_ns u64 0 1\nfield position f64 8 3\nfield orientation f64 32 4\n" \
    "field covariance f64 64 36\n"
#define HORUS_POSE_WITH_COVARIANCE_INIT {.orientation = {0.0, 0.0, 0.0, 1.0}}

/* Velocity of a body in space, like `geometry_msgs/TwistStamped`; in the body's own frame. */
typedef struct horus_twist {
    /* Time of the measurement or command, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Velocity along x, y, z: metres per second. */
    double linear[3];
    /* Angular velocity about x, y, z: radians per second. */
    double angular[3];
} horus_twist_t;
HORUS_ASSERT_LAYOUT(horus_twist_t, 56, 8);
HORUS_ASSERT_OFFSET(horus_twist_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_twist_t, linear, 8);
HORUS_ASSERT_OFFSET(horus_twist_t, angular, 32);
#define HORUS_TWIST_SCHEMA \
    "horus schema 1\nmessage Twist\nsize 56\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field linear f64 8 3\nfield angular f64 32 3\n"
#define HORUS_TWIST_INIT {0}

/*
 * An estimated velocity, like `geometry_msgs/TwistWithCovariance` with a time; in the body's
 * own frame.
 *
 * The covariance is row-major 6 × 6 over (velocity along x, y, z, and about x, y, z); all
 * zeros means unknown.
 */
typedef struct horus_twist_with_covariance {
    /* Time for which the velocity is valid, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Velocity along x, y, z: metres per second. */
    double linear[3];
    /* Angular velocity about x, y, z: radians per second. */
    double angular[3];
    /*
     * Covariance of the linear velocity, of linear and angular velocity, and of the angular
     * velocity: m²/s², m·rad/s², rad²/s².
     */
    double covariance[36];
} horus_twist_with_covariance_t;
HORUS_ASSERT_LAYOUT(horus_twist_with_covariance_t, 344, 8);
HORUS_ASSERT_OFFSET(horus_twist_with_covariance_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_twist_with_covariance_t, linear, 8);
HORUS_ASSERT_OFFSET(horus_twist_with_covariance_t, angular, 32);
HORUS_ASSERT_OFFSET(horus_twist_with_covariance_t, covariance, 56);
#define HORUS_TWIST_WITH_COVARIANCE_SCHEMA \
    "horus schema 1\nmessage TwistWithCovariance\nsize 344\nalign 8\n" \
    "field timestamp_ns u64 0 1\nfield linear f64 8 3\nfield angular f64 32 3\n" \
    "field covariance f64 56 36\n"
#define HORUS_TWIST_WITH_COVARIANCE_INIT {0}

/* Acceleration of a body in space, like `geometry_msgs/AccelStamped`; in the body's own frame. */
typedef struct horus_accel {
    /* Time of the measurement or command, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Acceleration along x, y, z: m/s². */
    double linear[3];
    /* Angular acceleration about x, y, z: rad/s². */
    double angular[3];
} horus_accel_t;
HORUS_ASSERT_LAYOUT(horus_accel_t, 56, 8);
HORUS_ASSERT_OFFSET(horus_accel_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_accel_t, linear, 8);
HORUS_ASSERT_OFFSET(horus_accel_t, angular, 32);
#define HORUS_ACCEL_SCHEMA \
    "horus schema 1\nmessage Accel\nsize 56\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field linear f64 8 3\nfield angular f64 32 3\n"
#define HORUS_ACCEL_INIT {0}

/*
 * Pose of the frame `child_frame_id` in the frame `frame_id`, like
 * `geometry_msgs/TransformStamped`. It converts coordinates of the child's frame to the
 * parent's.
 */
typedef struct horus_transform_stamped {
    /* Time for which the transform is valid, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Name of the parent, such as `odom`: text. */
    char frame_id[32];
    /* Name of the child, such as `base_link`: text. */
    char child_frame_id[32];
    /* The child's origin in the parent's frame, x, y, z: metres. */
    double translation[3];
    /* Unit quaternion x, y, z, w: no unit. */
    double rotation[4];
} horus_transform_stamped_t;
HORUS_ASSERT_LAYOUT(horus_transform_stamped_t, 128, 8);
HORUS_ASSERT_OFFSET(horus_transform_stamped_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_transform_stamped_t, frame_id, 8);
HORUS_ASSERT_OFFSET(horus_transform_stamped_t, child_frame_id, 40);
HORUS_ASSERT_OFFSET(horus_transform_stamped_t, translation, 72);
HORUS_ASSERT_OFFSET(horus_transform_stamped_t, rotation, 96);
#define HORUS_TRANSFORM_STAMPED_SCHEMA \
    "horus schema 1\nmessage TransformStamped\nsize 128\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field frame_id char 8 32\nfield child_frame_id char 40 32\nfield translation f64 72 3\n" \
    "field rotation f64 96 4\n"
#define HORUS_TRANSFORM_STAMPED_INIT {.rotation = {0.0, 0.0, 0.0, 1.0}}

/*
 * Force and torque on a body about the origin of its frame, like `geometry_msgs/Wrench` with a
 * time. The frame is that of the body or of the sensor.
 */
typedef struct horus_wrench {
    /* Time of the measurement or command, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Force along x, y, z: newtons. */
    double force[3];
    /* Torque about x, y, z: N·m. */
    double torque[3];
} horus_wrench_t;
HORUS_ASSERT_LAYOUT(horus_wrench_t, 56, 8);
HORUS_ASSERT_OFFSET(horus_wrench_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_wrench_t, force, 8);
HORUS_ASSERT_OFFSET(horus_wrench_t, torque, 32);
#define HORUS_WRENCH_SCHEMA \
    "horus schema 1\nmessage Wrench\nsize 56\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field force f64 8 3\nfield torque f64 32 3\n"
#define HORUS_WRENCH_INIT {0}

/* Force and torque in a named frame and about its origin, like `geometry_msgs/WrenchStamped`. */
typedef struct horus_wrench_stamped {
    /* Time of the measurement or command, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Frame of force and torque: text. */
    char frame_id[32];
    /* Force along x, y, z: newtons. */
    double force[3];
    /* Torque about x, y, z: N·m. */
    double torque[3];
} horus_wrench_stamped_t;
HORUS_ASSERT_LAYOUT(horus_wrench_stamped_t, 88, 8);
HORUS_ASSERT_OFFSET(horus_wrench_stamped_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_wrench_stamped_t, frame_id, 8);
HORUS_ASSERT_OFFSET(horus_wrench_stamped_t, force, 40);
HORUS_ASSERT_OFFSET(horus_wrench_stamped_t, torque, 64);
#define HORUS_WRENCH_STAMPED_SCHEMA \
    "horus schema 1\nmessage WrenchStamped\nsize 88\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field frame_id char 8 32\nfield force f64 40 3\nfield torque f64 64 3\n"
#define HORUS_WRENCH_STAMPED_INIT {0}

/*
 * One sample of an inertial measurement unit, like `sensor_msgs/Imu`.
 *
 * Angular velocities and accelerations are in the frame of the unit. The orientation is that
 * of this frame in a frame with x east, y north and z up (REP-103). Covariances are row-major
 * 3 × 3 over x, y, z. All zeros means unknown; −1 as the first element means that the unit
 * does not provide this quantity.
 */
typedef struct horus_imu {
    /* Time of the sample, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Unit quaternion x, y, z, w: no unit. */
    double orientation[4];
    /* Covariance of rotations about x, y, z: rad². */
    double orientation_covariance[9];
    /* Angular velocity about x, y, z: radians per second. */
    double angular_velocity[3];
    /* Covariance of `angular_velocity`: rad²/s². */
    double angular_velocity_covariance[9];
    /* Acceleration along x, y, z, with gravity, as accelerometers measure it: m/s². */
    double linear_acceleration[3];
    /* Covariance of `linear_acceleration`: m²/s⁴. */
    double linear_acceleration_covariance[9];
} horus_imu_t;
HORUS_ASSERT_LAYOUT(horus_imu_t, 304, 8);
HORUS_ASSERT_OFFSET(horus_imu_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_imu_t, orientation, 8);
HORUS_ASSERT_OFFSET(horus_imu_t, orientation_covariance, 40);
HORUS_ASSERT_OFFSET(horus_imu_t, angular_velocity, 112);
HORUS_ASSERT_OFFSET(horus_imu_t, angular_velocity_covariance, 136);
HORUS_ASSERT_OFFSET(horus_imu_t, linear_acceleration, 208);
HORUS_ASSERT_OFFSET(horus_imu_t, linear_acceleration_covariance, 232);
#define HORUS_IMU_SCHEMA \
    "horus schema 1\nmessage Imu\nsize 304\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field orientation f64 8 4\nfield orientation_covariance f64 40 9\n" \
    "field angular_velocity f64 112 3\nfield angular_velocity_covariance f64 136 9\n" \
    "field linear_acceleration f64 208 3\nfield linear_acceleration_covariance f64 232 9\n"
#define HORUS_IMU_INIT {.orientation = {0.0, 0.0, 0.0, 1.0}, .orientation_covariance = {-1.0}}

/*
 * One sweep of a planar range finder, like `sensor_msgs/LaserScan` without intensities.
 * `LidarScan` has any number of rays.
 *
 * Angles are about z of the sensor, counter-clockwise, 0 along its x. After REP-117 a range of
 * +∞ means that nothing was seen, −∞ that an object is too close, and NaN that the measurement
 * failed.
 */
typedef struct horus_laser_scan {
    /* Time of the first ray, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Angle of the first ray: radians. */
    float angle_min;
    /* Angle of the last ray: radians. */
    float angle_max;
    /* Angle from one ray to the next: radians. */
    float angle_increment;
    /* Time from one ray to the next: seconds. */
    float time_increment;
    /* Time from one sweep to the next: seconds. */
    float scan_time;
    /* Shortest valid range: metres. */
    float range_min;
    /* Longest valid range: metres. */
    float range_max;
    /* Number of measured ranges, which are the first elements of `ranges`: count. */
    uint32_t count;
    /* Distances in order of their angles: metres. */
    float ranges[360];
} horus_laser_scan_t;
HORUS_ASSERT_LAYOUT(horus_laser_scan_t, 1480, 8);
HORUS_ASSERT_OFFSET(horus_laser_scan_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_laser_scan_t, angle_min, 8);
HORUS_ASSERT_OFFSET(horus_laser_scan_t, angle_max, 12);
HORUS_ASSERT_OFFSET(horus_laser_scan_t, angle_increment, 16);
HORUS_ASSERT_OFFSET(horus_laser_scan_t, time_increment, 20);
HORUS_ASSERT_OFFSET(horus_laser_scan_t, scan_time, 24);
HORUS_ASSERT_OFFSET(horus_laser_scan_t, range_min, 28);
HORUS_ASSERT_OFFSET(horus_laser_scan_t, range_max, 32);
HORUS_ASSERT_OFFSET(horus_laser_scan_t, count, 36);
HORUS_ASSERT_OFFSET(horus_laser_scan_t, ranges, 40);
#define HORUS_LASER_SCAN_SCHEMA \
    "horus schema 1\nmessage LaserScan\nsize 1480\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field angle_min f32 8 1\nfield angle_max f32 12 1\nfield angle_increment f32 16 1\n" \
    "field time_increment f32 20 1\nfield scan_time f32 24 1\nfield range_min f32 28 1\n" \
    "field range_max f32 32 1\nfield count u32 36 1\nfield ranges f32 40 360\n"
#define HORUS_LASER_SCAN_INIT {0}

/*
 * The distance to the nearest object in a cone about the sensor's x axis, like
 * `sensor_msgs/Range`.
 *
 * After REP-117 a range of +∞ means that nothing was seen, −∞ that an object is too close, and
 * NaN that the measurement failed.
 */
typedef struct horus_range_sensor {
    /* Time of the measurement, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* One of the constants of this type, such as `ULTRASOUND`: no unit. */
    uint8_t radiation_type;
    /* Reserved, 0: no unit. */
    uint8_t _reserved[3];
    /* Opening angle of the cone: radians. */
    float field_of_view;
    /* Shortest valid range: metres. */
    float min_range;
    /* Longest valid range: metres. */
    float max_range;
    /* Distance: metres. */
    float range;
    /* Variance of `range`, 0 if unknown: m². */
    float variance;
} horus_range_sensor_t;
HORUS_ASSERT_LAYOUT(horus_range_sensor_t, 32, 8);
HORUS_ASSERT_OFFSET(horus_range_sensor_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_range_sensor_t, radiation_type, 8);
HORUS_ASSERT_OFFSET(horus_range_sensor_t, _reserved, 9);
HORUS_ASSERT_OFFSET(horus_range_sensor_t, field_of_view, 12);
HORUS_ASSERT_OFFSET(horus_range_sensor_t, min_range, 16);
HORUS_ASSERT_OFFSET(horus_range_sensor_t, max_range, 20);
HORUS_ASSERT_OFFSET(horus_range_sensor_t, range, 24);
HORUS_ASSERT_OFFSET(horus_range_sensor_t, variance, 28);
enum {
    /* The sensor uses sound. */
    HORUS_RANGE_SENSOR_ULTRASOUND = 0,
    /* The sensor uses infrared light. */
    HORUS_RANGE_SENSOR_INFRARED = 1
};
#define HORUS_RANGE_SENSOR_SCHEMA \
    "horus schema 1\nmessage RangeSensor\nsize 32\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field radiation_type u8 8 1\nfield _reserved u8 9 3\nfield field_of_view f32 12 1\n" \
    "field min_range f32 16 1\nfield max_range f32 20 1\nfield range f32 24 1\n" \
    "field variance f32 28 1\n"
#define HORUS_RANGE_SENSOR_INIT {0}

/*
 * Measured state of up to 16 joints, like `sensor_msgs/JointState`.
 * `JointStateArray` has any number of joints.
 *
 * Element *i* of every array belongs to joint *i*. The units are those of a revolute joint.
 * For a prismatic joint, radians become metres and newton-metres become newtons. The names are
 * in each message, as in ROS: a reader then needs no other topic and no fixed order.
 */
typedef struct horus_joint_state {
    /* Time of the measurement, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Number of joints, which are the first elements of each array: count. */
    uint32_t count;
    /* Reserved, 0: no unit. */
    uint32_t _reserved;
    /* Names of the joints, such as `left_wrist_roll`: text. */
    char name[16][32];
    /* Position of each joint: radians. */
    double position[16];
    /* Velocity of each joint: radians per second. */
    double velocity[16];
    /* Torque: N·m. */
    double effort[16];
} horus_joint_state_t;
HORUS_ASSERT_LAYOUT(horus_joint_state_t, 912, 8);
HORUS_ASSERT_OFFSET(horus_joint_state_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_joint_state_t, count, 8);
HORUS_ASSERT_OFFSET(horus_joint_state_t, _reserved, 12);
HORUS_ASSERT_OFFSET(horus_joint_state_t, name, 16);
HORUS_ASSERT_OFFSET(horus_joint_state_t, position, 528);
HORUS_ASSERT_OFFSET(horus_joint_state_t, velocity, 656);
HORUS_ASSERT_OFFSET(horus_joint_state_t, effort, 784);
#define HORUS_JOINT_STATE_SCHEMA \
    "horus schema 1\nmessage JointState\nsize 912\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field count u32 8 1\nfield _reserved u32 12 1\nfield name char 16 32 16*32\n" \
    "field position f64 528 16\nfield velocity f64 656 16\nfield effort f64 784 16\n"
#define HORUS_JOINT_STATE_INIT {0}

/* State of a battery, like `sensor_msgs/BatteryState`. NaN marks a value that is not measured. */
typedef struct horus_battery_state {
    /* Time of the measurement, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Voltage: volts. */
    float voltage;
    /* Temperature: degrees Celsius. */
    float temperature;
    /* Current, negative when discharging: amperes. */
    float current;
    /* Remaining charge: ampere-hours. */
    float charge;
    /* Present capacity when full: ampere-hours. */
    float capacity;
    /* Capacity when new: ampere-hours. */
    float design_capacity;
    /* Charge relative to the capacity, 0 to 1: no unit. */
    float percentage;
    /* One of the `POWER_SUPPLY_STATUS_` constants: no unit. */
    uint8_t power_supply_status;
    /* One of the `POWER_SUPPLY_HEALTH_` constants: no unit. */
    uint8_t power_supply_health;
    /* One of the `POWER_SUPPLY_TECHNOLOGY_` constants: no unit. */
    uint8_t power_supply_technology;
    /* 1 if there is a battery, else 0: no unit. */
    uint8_t present;
    /* Number of measured cells, which are the first elements of each array: count. */
    uint32_t cell_count;
    /* Reserved, 0: no unit. */
    uint32_t _reserved;
    /* Voltage of each cell: volts. */
    float cell_voltage[16];
    /* Temperature of each cell: degrees Celsius. */
    float cell_temperature[16];
    /* Place of the battery, such as the name of its slot: text. */
    char location[32];
    /* Serial number on the label: text. */
    char serial_number[32];
} horus_battery_state_t;
HORUS_ASSERT_LAYOUT(horus_battery_state_t, 240, 8);
HORUS_ASSERT_OFFSET(horus_battery_state_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_battery_state_t, voltage, 8);
HORUS_ASSERT_OFFSET(horus_battery_state_t, temperature, 12);
HORUS_ASSERT_OFFSET(horus_battery_state_t, current, 16);
HORUS_ASSERT_OFFSET(horus_battery_state_t, charge, 20);
HORUS_ASSERT_OFFSET(horus_battery_state_t, capacity, 24);
HORUS_ASSERT_OFFSET(horus_battery_state_t, design_capacity, 28);
HORUS_ASSERT_OFFSET(horus_battery_state_t, percentage, 32);
HORUS_ASSERT_OFFSET(horus_battery_state_t, power_supply_status, 36);
HORUS_ASSERT_OFFSET(horus_battery_state_t, power_supply_health, 37);
HORUS_ASSERT_OFFSET(horus_battery_state_t, power_supply_technology, 38);
HORUS_ASSERT_OFFSET(horus_battery_state_t, present, 39);
HORUS_ASSERT_OFFSET(horus_battery_state_t, cell_count, 40);
HORUS_ASSERT_OFFSET(horus_battery_state_t, _reserved, 44);
HORUS_ASSERT_OFFSET(horus_battery_state_t, cell_voltage, 48);
HORUS_ASSERT_OFFSET(horus_battery_state_t, cell_temperature, 112);
HORUS_ASSERT_OFFSET(horus_battery_state_t, location, 176);
HORUS_ASSERT_OFFSET(horus_battery_state_t, serial_number, 208);
enum {
    /* The status is unknown. */
    HORUS_BATTERY_STATE_POWER_SUPPLY_STATUS_UNKNOWN = 0,
    /* The battery is being charged. */
    HORUS_BATTERY_STATE_POWER_SUPPLY_STATUS_CHARGING = 1,
    /* The battery is being discharged. */
    HORUS_BATTERY_STATE_POWER_SUPPLY_STATUS_DISCHARGING = 2,
    /* The battery is connected and not being charged. */
    HORUS_BATTERY_STATE_POWER_SUPPLY_STATUS_NOT_CHARGING = 3,
    /* The battery is fully charged. */
    HORUS_BATTERY_STATE_POWER_SUPPLY_STATUS_FULL = 4,
    /* The health is unknown. */
    HORUS_BATTERY_STATE_POWER_SUPPLY_HEALTH_UNKNOWN = 0,
    /* The battery is healthy. */
    HORUS_BATTERY_STATE_POWER_SUPPLY_HEALTH_GOOD = 1,
    /* The battery is too hot. */
    HORUS_BATTERY_STATE_POWER_SUPPLY_HEALTH_OVERHEAT = 2,
    /* The battery does not work any more. */
    HORUS_BATTERY_STATE_POWER_SUPPLY_HEALTH_DEAD = 3,
    /* The voltage is too high. */
    HORUS_BATTERY_STATE_POWER_SUPPLY_HEALTH_OVERVOLTAGE = 4,
    /* The battery failed in a way that has no number here. */
    HORUS_BATTERY_STATE_POWER_SUPPLY_HEALTH_UNSPEC_FAILURE = 5,
    /* The battery is too cold. */
    HORUS_BATTERY_STATE_POWER_SUPPLY_HEALTH_COLD = 6,
    /* The watchdog of the battery expired. */
    HORUS_BATTERY_STATE_POWER_SUPPLY_HEALTH_WATCHDOG_TIMER_EXPIRE = 7,
    /* The safety timer of the battery expired. */
    HORUS_BATTERY_STATE_POWER_SUPPLY_HEALTH_SAFETY_TIMER_EXPIRE = 8,
    /* The technology has no number here. */
    HORUS_BATTERY_STATE_POWER_SUPPLY_TECHNOLOGY_UNKNOWN = 0,
    /* Nickel metal hydride. */
    HORUS_BATTERY_STATE_POWER_SUPPLY_TECHNOLOGY_NIMH = 1,
    /* Lithium ion. */
    HORUS_BATTERY_STATE_POWER_SUPPLY_TECHNOLOGY_LION = 2,
    /* Lithium polymer. */
    HORUS_BATTERY_STATE_POWER_SUPPLY_TECHNOLOGY_LIPO = 3,
    /* Lithium iron phosphate. */
    HORUS_BATTERY_STATE_POWER_SUPPLY_TECHNOLOGY_LIFE = 4,
    /* Nickel cadmium. */
    HORUS_BATTERY_STATE_POWER_SUPPLY_TECHNOLOGY_NICD = 5,
    /* Lithium manganese. */
    HORUS_BATTERY_STATE_POWER_SUPPLY_TECHNOLOGY_LIMN = 6,
    /* Lithium with nickel, manganese or aluminium, and cobalt. */
    HORUS_BATTERY_STATE_POWER_SUPPLY_TECHNOLOGY_TERNARY = 7
};
#define HORUS_BATTERY_STATE_SCHEMA \
    "horus schema 1\nmessage BatteryState\nsize 240\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field voltage f32 8 1\nfield temperature f32 12 1\nfield current f32 16 1\n" \
    "field charge f32 20 1\nfield capacity f32 24 1\nfield design_capacity f32 28 1\n" \
    "field percentage f32 32 1\nfield power_supply_status u8 36 1\n" \
    "field power_supply_health u8 37 1\nfield power_supply_technology u8 38 1\n" \
    "field present u8 39 1\nfield cell_count u32 40 1\nfield _reserved u32 44 1\n" \
    "field cell_voltage f32 48 16\nfield cell_temperature f32 112 16\n" \
    "field location char 176 32\nfield serial_number char 208 32\n"
#define HORUS_BATTERY_STATE_INIT \
    {.voltage = NAN, .temperature = NAN, .current = NAN, .charge = NAN, .capacity = NAN, \
     .design_capacity = NAN, .percentage = NAN}

/*
 * A position from a satellite navigation receiver in WGS 84, like `sensor_msgs/NavSatFix`.
 *
 * The covariance is row-major 3 × 3 over east, north, up. `position_covariance_type` is the
 * last field in ROS; here it fills what would be padding.
 */
typedef struct horus_nav_sat_fix {
    /* Time of the measurement, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* One of the `STATUS_` constants: no unit. */
    int8_t status;
    /* One of the `COVARIANCE_` constants: no unit. */
    uint8_t position_covariance_type;
    /* Sum of the `SERVICE_` constants of the received systems: no unit. */
    uint16_t service;
    /* Reserved, 0: no unit. */
    uint32_t _reserved;
    /* Latitude, north is positive: degrees. */
    double latitude;
    /* Longitude, east is positive: degrees. */
    double longitude;
    /* Height above the ellipsoid, NaN if unknown: metres. */
    double altitude;
    /* Covariance of the position to the east, north and up: m². */
    double position_covariance[9];
} horus_nav_sat_fix_t;
HORUS_ASSERT_LAYOUT(horus_nav_sat_fix_t, 112, 8);
HORUS_ASSERT_OFFSET(horus_nav_sat_fix_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_nav_sat_fix_t, status, 8);
HORUS_ASSERT_OFFSET(horus_nav_sat_fix_t, position_covariance_type, 9);
HORUS_ASSERT_OFFSET(horus_nav_sat_fix_t, service, 10);
HORUS_ASSERT_OFFSET(horus_nav_sat_fix_t, _reserved, 12);
HORUS_ASSERT_OFFSET(horus_nav_sat_fix_t, latitude, 16);
HORUS_ASSERT_OFFSET(horus_nav_sat_fix_t, longitude, 24);
HORUS_ASSERT_OFFSET(horus_nav_sat_fix_t, altitude, 32);
HORUS_ASSERT_OFFSET(horus_nav_sat_fix_t, position_covariance, 40);
enum {
    /* The status is not set. */
    HORUS_NAV_SAT_FIX_STATUS_UNKNOWN = -2,
    /* There is no position. */
    HORUS_NAV_SAT_FIX_STATUS_NO_FIX = -1,
    /* The position has no augmentation. */
    HORUS_NAV_SAT_FIX_STATUS_FIX = 0,
    /* The position has augmentation by satellites. */
    HORUS_NAV_SAT_FIX_STATUS_SBAS_FIX = 1,
    /* The position has augmentation from the ground. */
    HORUS_NAV_SAT_FIX_STATUS_GBAS_FIX = 2,
    /* The received systems are unknown. */
    HORUS_NAV_SAT_FIX_SERVICE_UNKNOWN = 0,
    /* GPS is received. */
    HORUS_NAV_SAT_FIX_SERVICE_GPS = 1,
    /* GLONASS is received. */
    HORUS_NAV_SAT_FIX_SERVICE_GLONASS = 2,
    /* BeiDou is received. */
    HORUS_NAV_SAT_FIX_SERVICE_COMPASS = 4,
    /* Galileo is received. */
    HORUS_NAV_SAT_FIX_SERVICE_GALILEO = 8,
    /* The covariance is unknown. */
    HORUS_NAV_SAT_FIX_COVARIANCE_TYPE_UNKNOWN = 0,
    /* The covariance was estimated from the dilution of precision. */
    HORUS_NAV_SAT_FIX_COVARIANCE_TYPE_APPROXIMATED = 1,
    /* The diagonal of the covariance is known. */
    HORUS_NAV_SAT_FIX_COVARIANCE_TYPE_DIAGONAL_KNOWN = 2,
    /* The whole covariance is known. */
    HORUS_NAV_SAT_FIX_COVARIANCE_TYPE_KNOWN = 3
};
#define HORUS_NAV_SAT_FIX_SCHEMA \
    "horus schema 1\nmessage NavSatFix\nsize 112\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field status i8 8 1\nfield position_covariance_type u8 9 1\nfield service u16 10 1\n" \
    "field _reserved u32 12 1\nfield latitude f64 16 1\nfield longitude f64 24 1\n" \
    "field altitude f64 32 1\nfield position_covariance f64 40 9\n"
#define HORUS_NAV_SAT_FIX_INIT {.status = -2}

/*
 * The magnetic field at a sensor and in its frame, like `sensor_msgs/MagneticField`.
 *
 * The covariance is row-major 3 × 3 over x, y, z; all zeros means unknown.
 */
typedef struct horus_magnetic_field {
    /* Time of the measurement, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Field along x, y, z, NaN for an axis that is not measured: tesla. */
    double magnetic_field[3];
    /* Covariance of `magnetic_field`: T². */
    double magnetic_field_covariance[9];
} horus_magnetic_field_t;
HORUS_ASSERT_LAYOUT(horus_magnetic_field_t, 104, 8);
HORUS_ASSERT_OFFSET(horus_magnetic_field_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_magnetic_field_t, magnetic_field, 8);
HORUS_ASSERT_OFFSET(horus_magnetic_field_t, magnetic_field_covariance, 32);
#define HORUS_MAGNETIC_FIELD_SCHEMA \
    "horus schema 1\nmessage MagneticField\nsize 104\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field magnetic_field f64 8 3\nfield magnetic_field_covariance f64 32 9\n"
#define HORUS_MAGNETIC_FIELD_INIT {0}

/* A temperature, like `sensor_msgs/Temperature`. */
typedef struct horus_temperature {
    /* Time of the measurement, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Temperature: degrees Celsius. */
    double temperature;
    /* Variance of `temperature`, 0 if unknown: °C². */
    double variance;
} horus_temperature_t;
HORUS_ASSERT_LAYOUT(horus_temperature_t, 24, 8);
HORUS_ASSERT_OFFSET(horus_temperature_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_temperature_t, temperature, 8);
HORUS_ASSERT_OFFSET(horus_temperature_t, variance, 16);
#define HORUS_TEMPERATURE_SCHEMA \
    "horus schema 1\nmessage Temperature\nsize 24\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field temperature f64 8 1\nfield variance f64 16 1\n"
#define HORUS_TEMPERATURE_INIT {0}

/*
 * The pressure of air or water, like `sensor_msgs/FluidPressure`. It is not for tanks or
 * tyres.
 */
typedef struct horus_fluid_pressure {
    /* Time of the measurement, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Absolute pressure: pascals. */
    double fluid_pressure;
    /* Variance of `fluid_pressure`, 0 if unknown: Pa². */
    double variance;
} horus_fluid_pressure_t;
HORUS_ASSERT_LAYOUT(horus_fluid_pressure_t, 24, 8);
HORUS_ASSERT_OFFSET(horus_fluid_pressure_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_fluid_pressure_t, fluid_pressure, 8);
HORUS_ASSERT_OFFSET(horus_fluid_pressure_t, variance, 16);
#define HORUS_FLUID_PRESSURE_SCHEMA \
    "horus schema 1\nmessage FluidPressure\nsize 24\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field fluid_pressure f64 8 1\nfield variance f64 16 1\n"
#define HORUS_FLUID_PRESSURE_INIT {0}

/* An illuminance, like `sensor_msgs/Illuminance`. */
typedef struct horus_illuminance {
    /* Time of the measurement, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Illuminance: lux. */
    double illuminance;
    /* Variance of `illuminance`, 0 if unknown: lx². */
    double variance;
} horus_illuminance_t;
HORUS_ASSERT_LAYOUT(horus_illuminance_t, 24, 8);
HORUS_ASSERT_OFFSET(horus_illuminance_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_illuminance_t, illuminance, 8);
HORUS_ASSERT_OFFSET(horus_illuminance_t, variance, 16);
#define HORUS_ILLUMINANCE_SCHEMA \
    "horus schema 1\nmessage Illuminance\nsize 24\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field illuminance f64 8 1\nfield variance f64 16 1\n"
#define HORUS_ILLUMINANCE_INIT {0}

/* Pressure on the taxels of a tactile sensor, row by row, and the total force. No ROS type. */
typedef struct horus_tactile_array {
    /* Time of the measurement, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Frame of the pad, x along its rows, z out of it: text. */
    char frame_id[32];
    /* Number of rows, along y: count. */
    uint32_t rows;
    /* Number of taxels in a row, along x: count. */
    uint32_t columns;
    /* Distance from one taxel to the next: metres. */
    float spacing;
    /* Force on the whole pad along x, y, z, NaN if not measured: newtons. */
    float force[3];
    /* Pressures of `rows` × `columns` taxels, row-major: pascals. */
    float pressure[256];
} horus_tactile_array_t;
HORUS_ASSERT_LAYOUT(horus_tactile_array_t, 1088, 8);
HORUS_ASSERT_OFFSET(horus_tactile_array_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_tactile_array_t, frame_id, 8);
HORUS_ASSERT_OFFSET(horus_tactile_array_t, rows, 40);
HORUS_ASSERT_OFFSET(horus_tactile_array_t, columns, 44);
HORUS_ASSERT_OFFSET(horus_tactile_array_t, spacing, 48);
HORUS_ASSERT_OFFSET(horus_tactile_array_t, force, 52);
HORUS_ASSERT_OFFSET(horus_tactile_array_t, pressure, 64);
#define HORUS_TACTILE_ARRAY_SCHEMA \
    "horus schema 1\nmessage TactileArray\nsize 1088\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field frame_id char 8 32\nfield rows u32 40 1\nfield columns u32 44 1\n" \
    "field spacing f32 48 1\nfield force f32 52 3\nfield pressure f32 64 256\n"
#define HORUS_TACTILE_ARRAY_INIT {.force = {NAN, NAN, NAN}}

/*
 * Velocity command of a robot that moves in the plane, in the robot's own frame: `linear.x`
 * and `angular.z` of `geometry_msgs/Twist` in single precision.
 */
typedef struct horus_cmd_vel {
    /* Time of the command, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Forward velocity: metres per second. */
    float linear;
    /* Counter-clockwise angular velocity: radians per second. */
    float angular;
} horus_cmd_vel_t;
HORUS_ASSERT_LAYOUT(horus_cmd_vel_t, 16, 8);
HORUS_ASSERT_OFFSET(horus_cmd_vel_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_cmd_vel_t, linear, 8);
HORUS_ASSERT_OFFSET(horus_cmd_vel_t, angular, 12);
#define HORUS_CMD_VEL_SCHEMA \
    "horus schema 1\nmessage CmdVel\nsize 16\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field linear f32 8 1\nfield angular f32 12 1\n"
#define HORUS_CMD_VEL_INIT {0}

/*
 * Set-points of up to 16 joints, with the names of `trajectory_msgs/JointTrajectoryPoint`.
 *
 * Element *i* of every array belongs to joint *i*; `mode` selects the arrays that are used.
 * The units are those of a revolute joint. For a prismatic joint, radians become metres and
 * newton-metres become newtons.
 */
typedef struct horus_joint_command {
    /* Time of the command, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Number of commanded joints: the first `count` elements of each array are in use: count. */
    uint32_t count;
    /* Reserved, 0: no unit. */
    uint32_t _reserved;
    /* One of the `MODE_` constants; any other number means `MODE_DISABLED`: no unit. */
    uint8_t mode[16];
    /* Position of each joint: radians. */
    double position[16];
    /* Velocity of each joint: radians per second. */
    double velocity[16];
    /* Feed-forward acceleration: rad/s². */
    double acceleration[16];
    /* Torque, or feed-forward torque: N·m. */
    double effort[16];
    /* Gain of the position error, often called kp: N·m/rad. */
    double stiffness[16];
    /* Gain of the velocity error, often called kd: N·m·s/rad. */
    double damping[16];
    /* Limit of the absolute value of the total torque; 0 leaves the limit to the drive: N·m. */
    double effort_max[16];
} horus_joint_command_t;
HORUS_ASSERT_LAYOUT(horus_joint_command_t, 928, 8);
HORUS_ASSERT_OFFSET(horus_joint_command_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_joint_command_t, count, 8);
HORUS_ASSERT_OFFSET(horus_joint_command_t, _reserved, 12);
HORUS_ASSERT_OFFSET(horus_joint_command_t, mode, 16);
HORUS_ASSERT_OFFSET(horus_joint_command_t, position, 32);
HORUS_ASSERT_OFFSET(horus_joint_command_t, velocity, 160);
HORUS_ASSERT_OFFSET(horus_joint_command_t, acceleration, 288);
HORUS_ASSERT_OFFSET(horus_joint_command_t, effort, 416);
HORUS_ASSERT_OFFSET(horus_joint_command_t, stiffness, 544);
HORUS_ASSERT_OFFSET(horus_joint_command_t, damping, 672);
HORUS_ASSERT_OFFSET(horus_joint_command_t, effort_max, 800);
enum {
    /*
     * This message does not command the joint. Whether it then holds, brakes or goes limp is up to
     * its drive.
     */
    HORUS_JOINT_COMMAND_MODE_DISABLED = 0,
    /* The drive follows `position`. */
    HORUS_JOINT_COMMAND_MODE_POSITION = 1,
    /* The drive follows `velocity`. */
    HORUS_JOINT_COMMAND_MODE_VELOCITY = 2,
    /* The drive applies `effort`. */
    HORUS_JOINT_COMMAND_MODE_EFFORT = 3,
    /*
     * The drive applies `effort + stiffness · (position − measured) + damping · (velocity −
     * measured)`.
     */
    HORUS_JOINT_COMMAND_MODE_IMPEDANCE = 4
};
#define HORUS_JOINT_COMMAND_SCHEMA \
    "horus schema 1\nmessage JointCommand\nsize 928\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field count u32 8 1\nfield _reserved u32 12 1\nfield mode u8 16 16\n" \
    "field position f64 32 16\nfield velocity f64 160 16\nfield acceleration f64 288 16\n" \
    "field effort f64 416 16\nfield stiffness f64 544 16\nfield damping f64 672 16\n" \
    "field effort_max f64 800 16\n"
#define HORUS_JOINT_COMMAND_INIT {0}

/*
 * Set-point of one motor. No ROS type: the fields and modes of `JointCommand` for a single
 * joint, and the duty cycle of drives without a sensor.
 */
typedef struct horus_motor_command {
    /* Time of the command, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Number of the motor, such as its node on the bus: no unit. */
    uint32_t motor_id;
    /* One of the `MODE_` constants; any other number means `MODE_DISABLED`: no unit. */
    uint8_t mode;
    /* 1 to power the drive, else 0: no unit. */
    uint8_t enable;
    /* Reserved, 0: no unit. */
    uint16_t _reserved;
    /* Position: radians. */
    double position;
    /* Velocity: radians per second. */
    double velocity;
    /* Torque, or feed-forward torque: N·m. */
    double effort;
    /* Share of the supply voltage, −1 to 1: no unit. */
    double duty_cycle;
    /* Limit of the speed; 0 leaves the limit to the drive: radians per second. */
    double velocity_max;
    /* Limit of the acceleration; 0 leaves the limit to the drive: rad/s². */
    double acceleration_max;
    /* Limit of the torque; 0 leaves the limit to the drive: N·m. */
    double effort_max;
} horus_motor_command_t;
HORUS_ASSERT_LAYOUT(horus_motor_command_t, 72, 8);
HORUS_ASSERT_OFFSET(horus_motor_command_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_motor_command_t, motor_id, 8);
HORUS_ASSERT_OFFSET(horus_motor_command_t, mode, 12);
HORUS_ASSERT_OFFSET(horus_motor_command_t, enable, 13);
HORUS_ASSERT_OFFSET(horus_motor_command_t, _reserved, 14);
HORUS_ASSERT_OFFSET(horus_motor_command_t, position, 16);
HORUS_ASSERT_OFFSET(horus_motor_command_t, velocity, 24);
HORUS_ASSERT_OFFSET(horus_motor_command_t, effort, 32);
HORUS_ASSERT_OFFSET(horus_motor_command_t, duty_cycle, 40);
HORUS_ASSERT_OFFSET(horus_motor_command_t, velocity_max, 48);
HORUS_ASSERT_OFFSET(horus_motor_command_t, acceleration_max, 56);
HORUS_ASSERT_OFFSET(horus_motor_command_t, effort_max, 64);
enum {
    /* The motor gets no command. */
    HORUS_MOTOR_COMMAND_MODE_DISABLED = 0,
    /* The drive follows `position`. */
    HORUS_MOTOR_COMMAND_MODE_POSITION = 1,
    /* The drive follows `velocity`. */
    HORUS_MOTOR_COMMAND_MODE_VELOCITY = 2,
    /* The drive applies `effort`. */
    HORUS_MOTOR_COMMAND_MODE_EFFORT = 3,
    /*
     * The drive applies `duty_cycle`, open loop. 4 is the impedance mode of `JointCommand`,
     * which does not exist here.
     */
    HORUS_MOTOR_COMMAND_MODE_DUTY_CYCLE = 5
};
#define HORUS_MOTOR_COMMAND_SCHEMA \
    "horus schema 1\nmessage MotorCommand\nsize 72\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field motor_id u32 8 1\nfield mode u8 12 1\nfield enable u8 13 1\n" \
    "field _reserved u16 14 1\nfield position f64 16 1\nfield velocity f64 24 1\n" \
    "field effort f64 32 1\nfield duty_cycle f64 40 1\nfield velocity_max f64 48 1\n" \
    "field acceleration_max f64 56 1\nfield effort_max f64 64 1\n"
#define HORUS_MOTOR_COMMAND_INIT {0}

/* Set-point of a hobby servo. No ROS type. */
typedef struct horus_servo_command {
    /* Time of the command, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Channel of the servo: no unit. */
    uint32_t servo_id;
    /* 1 to hold the position, 0 to release it: no unit. */
    uint8_t enable;
    /* Reserved, 0: no unit. */
    uint8_t _reserved[3];
    /* Angle from the middle: radians. */
    float position;
    /* Limit of the speed, 0 for the maximum of the servo: radians per second. */
    float velocity_max;
} horus_servo_command_t;
HORUS_ASSERT_LAYOUT(horus_servo_command_t, 24, 8);
HORUS_ASSERT_OFFSET(horus_servo_command_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_servo_command_t, servo_id, 8);
HORUS_ASSERT_OFFSET(horus_servo_command_t, enable, 12);
HORUS_ASSERT_OFFSET(horus_servo_command_t, _reserved, 13);
HORUS_ASSERT_OFFSET(horus_servo_command_t, position, 16);
HORUS_ASSERT_OFFSET(horus_servo_command_t, velocity_max, 20);
#define HORUS_SERVO_COMMAND_SCHEMA \
    "horus schema 1\nmessage ServoCommand\nsize 24\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field servo_id u32 8 1\nfield enable u8 12 1\nfield _reserved u8 13 3\n" \
    "field position f32 16 1\nfield velocity_max f32 20 1\n"
#define HORUS_SERVO_COMMAND_INIT {0}

/*
 * Wheel speeds of a robot with two driven wheels. No ROS type: `diff_drive_controller` of
 * `ros2_control` sends them to its wheels.
 */
typedef struct horus_differential_drive_command {
    /* Time of the command, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Speed of the left wheel, positive is forward: radians per second. */
    double left;
    /* Speed of the right wheel, positive is forward: radians per second. */
    double right;
    /* Limit of the acceleration; 0 leaves the limit to the drive: rad/s². */
    double acceleration_max;
    /* 1 to power the drives, else 0: no unit. */
    uint8_t enable;
    /* Reserved, 0: no unit. */
    uint8_t _reserved[7];
} horus_differential_drive_command_t;
HORUS_ASSERT_LAYOUT(horus_differential_drive_command_t, 40, 8);
HORUS_ASSERT_OFFSET(horus_differential_drive_command_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_differential_drive_command_t, left, 8);
HORUS_ASSERT_OFFSET(horus_differential_drive_command_t, right, 16);
HORUS_ASSERT_OFFSET(horus_differential_drive_command_t, acceleration_max, 24);
HORUS_ASSERT_OFFSET(horus_differential_drive_command_t, enable, 32);
HORUS_ASSERT_OFFSET(horus_differential_drive_command_t, _reserved, 33);
#define HORUS_DIFFERENTIAL_DRIVE_COMMAND_SCHEMA \
    "horus schema 1\nmessage DifferentialDriveCommand\nsize 40\nalign 8\n" \
    "field timestamp_ns u64 0 1\nfield left f64 8 1\nfield right f64 16 1\n" \
    "field acceleration_max f64 24 1\nfield enable u8 32 1\nfield _reserved u8 33 7\n"
#define HORUS_DIFFERENTIAL_DRIVE_COMMAND_INIT {0}

/*
 * Gains and limits of a PID controller: `Pid::Gains` and `AntiWindupStrategy` of
 * `control_toolbox` of `ros2_control`.
 *
 * `output = p·e + i·∫e dt + d·de/dt`; the units are those of the controller it is for.
 */
typedef struct horus_pid_config {
    /* Time of the configuration, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Number of the controller: no unit. */
    uint32_t controller_id;
    /*
     * Method that limits the integral while the output is limited, one of the `ANTIWINDUP_`
     * constants: no unit.
     */
    uint8_t antiwindup;
    /* Reserved, 0: no unit. */
    uint8_t _reserved[3];
    /* Proportional gain: depends on the use. */
    double p;
    /* Integral gain: depends on the use. */
    double i;
    /* Derivative gain: depends on the use. */
    double d;
    /* Upper limit of the integral part of the output, +∞ without a limit: depends on the use. */
    double i_max;
    /*
     * Lower limit of the integral part of the output, −∞ without a limit: depends on the use.
     */
    double i_min;
    /* Upper limit of the output, +∞ without a limit: depends on the use. */
    double u_max;
    /* Lower limit of the output, −∞ without a limit: depends on the use. */
    double u_min;
    /* Time constant of back calculation, 0 for the controller's default: seconds. */
    double tracking_time_constant;
    /* Largest error that is not integrated: depends on the use. */
    double error_deadband;
} horus_pid_config_t;
HORUS_ASSERT_LAYOUT(horus_pid_config_t, 88, 8);
HORUS_ASSERT_OFFSET(horus_pid_config_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_pid_config_t, controller_id, 8);
HORUS_ASSERT_OFFSET(horus_pid_config_t, antiwindup, 12);
HORUS_ASSERT_OFFSET(horus_pid_config_t, _reserved, 13);
HORUS_ASSERT_OFFSET(horus_pid_config_t, p, 16);
HORUS_ASSERT_OFFSET(horus_pid_config_t, i, 24);
HORUS_ASSERT_OFFSET(horus_pid_config_t, d, 32);
HORUS_ASSERT_OFFSET(horus_pid_config_t, i_max, 40);
HORUS_ASSERT_OFFSET(horus_pid_config_t, i_min, 48);
HORUS_ASSERT_OFFSET(horus_pid_config_t, u_max, 56);
HORUS_ASSERT_OFFSET(horus_pid_config_t, u_min, 64);
HORUS_ASSERT_OFFSET(horus_pid_config_t, tracking_time_constant, 72);
HORUS_ASSERT_OFFSET(horus_pid_config_t, error_deadband, 80);
enum {
    /* Only the limits of the integral part apply. */
    HORUS_PID_CONFIG_ANTIWINDUP_NONE = 0,
    /* The integral is reduced by the amount that the limit cut off. */
    HORUS_PID_CONFIG_ANTIWINDUP_BACK_CALCULATION = 1,
    /* Errors that would drive the output further beyond the limit are not integrated. */
    HORUS_PID_CONFIG_ANTIWINDUP_CONDITIONAL_INTEGRATION = 2
};
#define HORUS_PID_CONFIG_SCHEMA \
    "horus schema 1\nmessage PidConfig\nsize 88\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field controller_id u32 8 1\nfield antiwindup u8 12 1\nfield _reserved u8 13 3\n" \
    "field p f64 16 1\nfield i f64 24 1\nfield d f64 32 1\nfield i_max f64 40 1\n" \
    "field i_min f64 48 1\nfield u_max f64 56 1\nfield u_min f64 64 1\n" \
    "field tracking_time_constant f64 72 1\nfield error_deadband f64 80 1\n"
#define HORUS_PID_CONFIG_INIT \
    {.i_max = (double)INFINITY, .i_min = -(double)INFINITY, .u_max = (double)INFINITY, \
     .u_min = -(double)INFINITY}

/*
 * Pose, velocity and acceleration of a body at one time of a trajectory.
 *
 * It is like `trajectory_msgs/MultiDOFJointTrajectoryPoint` with one body, in the frame of the
 * topic. For joints use `JointCommand`.
 */
typedef struct horus_trajectory_point {
    /* Start of the trajectory, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Position x, y, z: metres. */
    double position[3];
    /* Unit quaternion x, y, z, w: no unit. */
    double orientation[4];
    /* Velocity along x, y, z: metres per second. */
    double linear_velocity[3];
    /* Angular velocity about x, y, z: radians per second. */
    double angular_velocity[3];
    /* Acceleration along x, y, z: m/s². */
    double linear_acceleration[3];
    /* Angular acceleration about x, y, z: rad/s². */
    double angular_acceleration[3];
    /* Time of arrival at this point, from `timestamp_ns`: nanoseconds. */
    uint64_t time_from_start_ns;
} horus_trajectory_point_t;
HORUS_ASSERT_LAYOUT(horus_trajectory_point_t, 168, 8);
HORUS_ASSERT_OFFSET(horus_trajectory_point_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_trajectory_point_t, position, 8);
HORUS_ASSERT_OFFSET(horus_trajectory_point_t, orientation, 32);
HORUS_ASSERT_OFFSET(horus_trajectory_point_t, linear_velocity, 64);
HORUS_ASSERT_OFFSET(horus_trajectory_point_t, angular_velocity, 88);
HORUS_ASSERT_OFFSET(horus_trajectory_point_t, linear_acceleration, 112);
HORUS_ASSERT_OFFSET(horus_trajectory_point_t, angular_acceleration, 136);
HORUS_ASSERT_OFFSET(horus_trajectory_point_t, time_from_start_ns, 160);
#define HORUS_TRAJECTORY_POINT_SCHEMA \
    "horus schema 1\nmessage TrajectoryPoint\nsize 168\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field position f64 8 3\nfield orientation f64 32 4\nfield linear_velocity f64 64 3\n" \
    "field angular_velocity f64 88 3\nfield linear_acceleration f64 112 3\n" \
    "field angular_acceleration f64 136 3\nfield time_from_start_ns u64 160 1\n"
#define HORUS_TRAJECTORY_POINT_INIT {.orientation = {0.0, 0.0, 0.0, 1.0}}

/*
 * Force to apply along some axes of a frame, while the others keep their position.
 *
 * This is hybrid force and position control after Raibert and Craig (1981). No ROS type; force
 * and torque are as in `geometry_msgs/WrenchStamped`.
 */
typedef struct horus_force_command {
    /* Time of the command, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Name of the coordinate frame of the task: text. */
    char frame_id[32];
    /* Force on the environment along x, y, z: newtons. */
    double force[3];
    /* Torque on the environment about x, y, z: N·m. */
    double torque[3];
    /*
     * For each axis along x, y, z and about x, y, z, 1 to control the force, 0 to keep the
     * position: no unit.
     */
    uint8_t force_controlled[6];
    /* Reserved, 0: no unit. */
    uint8_t _reserved[2];
    /*
     * Limit of the speed in free space; 0 leaves the limit to the controller: metres per
     * second.
     */
    double linear_velocity_max;
    /*
     * Limit of the angular speed in free space; 0 leaves the limit to the controller: radians
     * per second.
     */
    double angular_velocity_max;
} horus_force_command_t;
HORUS_ASSERT_LAYOUT(horus_force_command_t, 112, 8);
HORUS_ASSERT_OFFSET(horus_force_command_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_force_command_t, frame_id, 8);
HORUS_ASSERT_OFFSET(horus_force_command_t, force, 40);
HORUS_ASSERT_OFFSET(horus_force_command_t, torque, 64);
HORUS_ASSERT_OFFSET(horus_force_command_t, force_controlled, 88);
HORUS_ASSERT_OFFSET(horus_force_command_t, _reserved, 94);
HORUS_ASSERT_OFFSET(horus_force_command_t, linear_velocity_max, 96);
HORUS_ASSERT_OFFSET(horus_force_command_t, angular_velocity_max, 104);
#define HORUS_FORCE_COMMAND_SCHEMA \
    "horus schema 1\nmessage ForceCommand\nsize 112\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field frame_id char 8 32\nfield force f64 40 3\nfield torque f64 64 3\n" \
    "field force_controlled u8 88 6\nfield _reserved u8 94 2\n" \
    "field linear_velocity_max f64 96 1\nfield angular_velocity_max f64 104 1\n"
#define HORUS_FORCE_COMMAND_INIT {0}

/*
 * Compliance of a tool: a spring, a damper and a mass along and about each axis of a frame. No
 * ROS type; impedance control after Hogan (1985).
 *
 * `force = stiffness · offset + damping · velocity + mass · acceleration`
 */
typedef struct horus_impedance_parameters {
    /* Time of the configuration, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Frame of the axes, usually that of the tool: text. */
    char frame_id[32];
    /* Stiffness along x, y, z: N/m. */
    double linear_stiffness[3];
    /* Rotational stiffness about x, y, z: N·m/rad. */
    double angular_stiffness[3];
    /* Damping along x, y, z: N·s/m. */
    double linear_damping[3];
    /* Rotational damping about x, y, z: N·m·s/rad. */
    double angular_damping[3];
    /* Mass along x, y, z; 0 leaves that of the tool: kilograms. */
    double mass[3];
    /* Moment of inertia about x, y, z; 0 leaves that of the tool: kg·m². */
    double inertia[3];
    /* Limit of the force; 0 leaves the limit to the controller: newtons. */
    double force_max;
    /* Limit of the torque; 0 leaves the limit to the controller: N·m. */
    double torque_max;
} horus_impedance_parameters_t;
HORUS_ASSERT_LAYOUT(horus_impedance_parameters_t, 200, 8);
HORUS_ASSERT_OFFSET(horus_impedance_parameters_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_impedance_parameters_t, frame_id, 8);
HORUS_ASSERT_OFFSET(horus_impedance_parameters_t, linear_stiffness, 40);
HORUS_ASSERT_OFFSET(horus_impedance_parameters_t, angular_stiffness, 64);
HORUS_ASSERT_OFFSET(horus_impedance_parameters_t, linear_damping, 88);
HORUS_ASSERT_OFFSET(horus_impedance_parameters_t, angular_damping, 112);
HORUS_ASSERT_OFFSET(horus_impedance_parameters_t, mass, 136);
HORUS_ASSERT_OFFSET(horus_impedance_parameters_t, inertia, 160);
HORUS_ASSERT_OFFSET(horus_impedance_parameters_t, force_max, 184);
HORUS_ASSERT_OFFSET(horus_impedance_parameters_t, torque_max, 192);
#define HORUS_IMPEDANCE_PARAMETERS_SCHEMA \
    "horus schema 1\nmessage ImpedanceParameters\nsize 200\nalign 8\n" \
    "field timestamp_ns u64 0 1\nfield frame_id char 8 32\nfield linear_stiffness f64 40 3\n" \
    "field angular_stiffness f64 64 3\nfield linear_damping f64 88 3\n" \
    "field angular_damping f64 112 3\nfield mass f64 136 3\nfield inertia f64 160 3\n" \
    "field force_max f64 184 1\nfield torque_max f64 192 1\n"
#define HORUS_IMPEDANCE_PARAMETERS_INIT {0}

/*
 * Estimated pose and velocity of a body, like `nav_msgs/Odometry`.
 *
 * The pose is in the `odom` frame, the velocity in the body's own frame (REP-105).
 * Covariances are row-major 6 × 6 over (x, y, z, rotation about x, y, z); all zeros means
 * unknown.
 */
typedef struct horus_odometry {
    /* Time for which the pose is valid, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Position x, y, z: metres. */
    double position[3];
    /* Unit quaternion x, y, z, w: no unit. */
    double orientation[4];
    /*
     * Covariance of the position, of position and rotation, and of the rotation: m², m·rad,
     * rad².
     */
    double pose_covariance[36];
    /* Velocity along x, y, z of the body: metres per second. */
    double linear[3];
    /* Angular velocity about x, y, z of the body: radians per second. */
    double angular[3];
    /*
     * Covariance of the linear velocity, of linear and angular velocity, and of the angular
     * velocity: m²/s², m·rad/s², rad²/s².
     */
    double twist_covariance[36];
} horus_odometry_t;
HORUS_ASSERT_LAYOUT(horus_odometry_t, 688, 8);
HORUS_ASSERT_OFFSET(horus_odometry_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_odometry_t, position, 8);
HORUS_ASSERT_OFFSET(horus_odometry_t, orientation, 32);
HORUS_ASSERT_OFFSET(horus_odometry_t, pose_covariance, 64);
HORUS_ASSERT_OFFSET(horus_odometry_t, linear, 352);
HORUS_ASSERT_OFFSET(horus_odometry_t, angular, 376);
HORUS_ASSERT_OFFSET(horus_odometry_t, twist_covariance, 400);
#define HORUS_ODOMETRY_SCHEMA \
    "horus schema 1\nmessage Odometry\nsize 688\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field position f64 8 3\nfield orientation f64 32 4\nfield pose_covariance f64 64 36\n" \
    "field linear f64 352 3\nfield angular f64 376 3\nfield twist_covariance f64 400 36\n"
#define HORUS_ODOMETRY_INIT {.orientation = {0.0, 0.0, 0.0, 1.0}}

/* A navigation goal with tolerances, like the goal of `nav2_msgs/action/NavigateToPose`. */
typedef struct horus_nav_goal {
    /* Time of the command, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /*
     * Number chosen by the sender, and returned in `GoalResult`:
     * no unit.
     */
    uint64_t goal_id;
    /* Frame of the pose, such as `map`: text. */
    char frame_id[32];
    /* Position x, y, z: metres. */
    double position[3];
    /* Unit quaternion x, y, z, w: no unit. */
    double orientation[4];
    /* Largest accepted error of the position; 0 leaves it to the navigation: metres. */
    double position_tolerance;
    /* Largest accepted error of the yaw; 0 leaves it to the navigation: radians. */
    double yaw_tolerance;
    /* Time after which the goal is aborted; 0 means never: nanoseconds. */
    uint64_t timeout_ns;
} horus_nav_goal_t;
HORUS_ASSERT_LAYOUT(horus_nav_goal_t, 128, 8);
HORUS_ASSERT_OFFSET(horus_nav_goal_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_nav_goal_t, goal_id, 8);
HORUS_ASSERT_OFFSET(horus_nav_goal_t, frame_id, 16);
HORUS_ASSERT_OFFSET(horus_nav_goal_t, position, 48);
HORUS_ASSERT_OFFSET(horus_nav_goal_t, orientation, 72);
HORUS_ASSERT_OFFSET(horus_nav_goal_t, position_tolerance, 104);
HORUS_ASSERT_OFFSET(horus_nav_goal_t, yaw_tolerance, 112);
HORUS_ASSERT_OFFSET(horus_nav_goal_t, timeout_ns, 120);
#define HORUS_NAV_GOAL_SCHEMA \
    "horus schema 1\nmessage NavGoal\nsize 128\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field goal_id u64 8 1\nfield frame_id char 16 32\nfield position f64 48 3\n" \
    "field orientation f64 72 4\nfield position_tolerance f64 104 1\n" \
    "field yaw_tolerance f64 112 1\nfield timeout_ns u64 120 1\n"
#define HORUS_NAV_GOAL_INIT {.orientation = {0.0, 0.0, 0.0, 1.0}}

/*
 * State of a `NavGoal` while it is executed, and its result.
 *
 * It has the status of `action_msgs/GoalStatus`, and the result and feedback of
 * `nav2_msgs/action/NavigateToPose`.
 */
typedef struct horus_goal_result {
    /* Time of this state, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Number of the goal: no unit. */
    uint64_t goal_id;
    /* One of the `STATUS_` constants; any other number means `STATUS_UNKNOWN`: no unit. */
    uint8_t status;
    /* Reserved, 0: no unit. */
    uint8_t _reserved;
    /* Error code of the navigation in use, 0 without an error: no unit. */
    uint16_t error_code;
    /* Number of recoveries: count. */
    uint32_t number_of_recoveries;
    /* Time since the goal was accepted: nanoseconds. */
    uint64_t navigation_time_ns;
    /* Time until arrival, 0 if unknown: nanoseconds. */
    uint64_t estimated_time_remaining_ns;
    /* Distance to go along the path: metres. */
    double distance_remaining;
    /* Description of the error, for people to read: text. */
    char error_msg[64];
} horus_goal_result_t;
HORUS_ASSERT_LAYOUT(horus_goal_result_t, 112, 8);
HORUS_ASSERT_OFFSET(horus_goal_result_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_goal_result_t, goal_id, 8);
HORUS_ASSERT_OFFSET(horus_goal_result_t, status, 16);
HORUS_ASSERT_OFFSET(horus_goal_result_t, _reserved, 17);
HORUS_ASSERT_OFFSET(horus_goal_result_t, error_code, 18);
HORUS_ASSERT_OFFSET(horus_goal_result_t, number_of_recoveries, 20);
HORUS_ASSERT_OFFSET(horus_goal_result_t, navigation_time_ns, 24);
HORUS_ASSERT_OFFSET(horus_goal_result_t, estimated_time_remaining_ns, 32);
HORUS_ASSERT_OFFSET(horus_goal_result_t, distance_remaining, 40);
HORUS_ASSERT_OFFSET(horus_goal_result_t, error_msg, 48);
enum {
    /* The status is unknown. */
    HORUS_GOAL_RESULT_STATUS_UNKNOWN = 0,
    /* The goal was accepted and is not yet executed. */
    HORUS_GOAL_RESULT_STATUS_ACCEPTED = 1,
    /* The robot moves to the goal. */
    HORUS_GOAL_RESULT_STATUS_EXECUTING = 2,
    /* The goal is being cancelled, and the robot has not stopped yet. */
    HORUS_GOAL_RESULT_STATUS_CANCELING = 3,
    /* The robot has arrived. */
    HORUS_GOAL_RESULT_STATUS_SUCCEEDED = 4,
    /* The goal was cancelled on request. */
    HORUS_GOAL_RESULT_STATUS_CANCELED = 5,
    /* The navigation aborted the goal. */
    HORUS_GOAL_RESULT_STATUS_ABORTED = 6
};
#define HORUS_GOAL_RESULT_SCHEMA \
    "horus schema 1\nmessage GoalResult\nsize 112\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field goal_id u64 8 1\nfield status u8 16 1\nfield _reserved u8 17 1\n" \
    "field error_code u16 18 1\nfield number_of_recoveries u32 20 1\n" \
    "field navigation_time_ns u64 24 1\nfield estimated_time_remaining_ns u64 32 1\n" \
    "field distance_remaining f64 40 1\nfield error_msg char 48 64\n"
#define HORUS_GOAL_RESULT_INIT {0}

/*
 * A pose of a path, like those of `nav_msgs/Path`, and the speed of the robot at this pose. It
 * has no timestamp and no frame: it is for use inside `NavPath`. Its size is one cache line.
 */
typedef struct horus_waypoint {
    /* Position x, y, z: metres. */
    double position[3];
    /* Unit quaternion x, y, z, w: no unit. */
    double orientation[4];
    /* Speed at this pose; 0 means to stop there: metres per second. */
    double speed;
} horus_waypoint_t;
HORUS_ASSERT_LAYOUT(horus_waypoint_t, 64, 8);
HORUS_ASSERT_OFFSET(horus_waypoint_t, position, 0);
HORUS_ASSERT_OFFSET(horus_waypoint_t, orientation, 24);
HORUS_ASSERT_OFFSET(horus_waypoint_t, speed, 56);
#define HORUS_WAYPOINT_SCHEMA \
    "horus schema 1\nmessage Waypoint\nsize 64\nalign 8\nfield position f64 0 3\n" \
    "field orientation f64 24 4\nfield speed f64 56 1\n"
#define HORUS_WAYPOINT_INIT {.orientation = {0.0, 0.0, 0.0, 1.0}}

/* A path to follow, like `nav_msgs/Path`. */
typedef struct horus_nav_path {
    /* Time of the planning, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Frame of all waypoints, such as `map`: text. */
    char frame_id[32];
    /* Number of waypoints, which are the first elements of `waypoints`: count. */
    uint32_t count;
    /* Reserved, 0: no unit. */
    uint32_t _reserved;
    /* Waypoints in the order in which they are passed. */
    horus_waypoint_t waypoints[256];
} horus_nav_path_t;
HORUS_ASSERT_LAYOUT(horus_nav_path_t, 16432, 8);
HORUS_ASSERT_OFFSET(horus_nav_path_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_nav_path_t, frame_id, 8);
HORUS_ASSERT_OFFSET(horus_nav_path_t, count, 40);
HORUS_ASSERT_OFFSET(horus_nav_path_t, _reserved, 44);
HORUS_ASSERT_OFFSET(horus_nav_path_t, waypoints, 48);
#define HORUS_NAV_PATH_SCHEMA \
    "horus schema 1\nmessage NavPath\nsize 16432\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field frame_id char 8 32\nfield count u32 40 1\nfield _reserved u32 44 1\n" \
    "field waypoints.position f64 48 3 256*64\nfield waypoints.orientation f64 72 4 256*64\n" \
    "field waypoints.speed f64 104 1 256*64\n"
#define HORUS_NAV_PATH_INIT \
    {.waypoints = {HORUS_4X(HORUS_4X(HORUS_4X(HORUS_4X(HORUS_WAYPOINT_INIT))))}}

/*
 * A rectangle in an image, like `vision_msgs/BoundingBox2D`. It has no timestamp: it is for
 * use inside other messages.
 */
typedef struct horus_bounding_box2d {
    /* Centre x, y from the top left corner of the image: pixels. */
    double center[2];
    /* Rotation about the centre, from x to y: radians. */
    double theta;
    /* Size along its own x: pixels. */
    double size_x;
    /* Size along its own y: pixels. */
    double size_y;
} horus_bounding_box2d_t;
HORUS_ASSERT_LAYOUT(horus_bounding_box2d_t, 40, 8);
HORUS_ASSERT_OFFSET(horus_bounding_box2d_t, center, 0);
HORUS_ASSERT_OFFSET(horus_bounding_box2d_t, theta, 16);
HORUS_ASSERT_OFFSET(horus_bounding_box2d_t, size_x, 24);
HORUS_ASSERT_OFFSET(horus_bounding_box2d_t, size_y, 32);
#define HORUS_BOUNDING_BOX2D_SCHEMA \
    "horus schema 1\nmessage BoundingBox2D\nsize 40\nalign 8\nfield center f64 0 2\n" \
    "field theta f64 16 1\nfield size_x f64 24 1\nfield size_y f64 32 1\n"
#define HORUS_BOUNDING_BOX2D_INIT {0}

/*
 * A box in space, like `vision_msgs/BoundingBox3D`. It has no timestamp: it is for use inside
 * other messages.
 */
typedef struct horus_bounding_box3d {
    /* Centre x, y, z: metres. */
    double center[3];
    /* Unit quaternion x, y, z, w: no unit. */
    double orientation[4];
    /* Size along its own x, y, z: metres. */
    double size[3];
} horus_bounding_box3d_t;
HORUS_ASSERT_LAYOUT(horus_bounding_box3d_t, 80, 8);
HORUS_ASSERT_OFFSET(horus_bounding_box3d_t, center, 0);
HORUS_ASSERT_OFFSET(horus_bounding_box3d_t, orientation, 24);
HORUS_ASSERT_OFFSET(horus_bounding_box3d_t, size, 56);
#define HORUS_BOUNDING_BOX3D_SCHEMA \
    "horus schema 1\nmessage BoundingBox3D\nsize 80\nalign 8\nfield center f64 0 3\n" \
    "field orientation f64 24 4\nfield size f64 56 3\n"
#define HORUS_BOUNDING_BOX3D_INIT {.orientation = {0.0, 0.0, 0.0, 1.0}}

/*
 * An object detected in an image, like `vision_msgs/Detection2D` with its best hypothesis. All
 * detections in one image have the same time.
 */
typedef struct horus_detection {
    /* Time of the image, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Frame of the camera: text. */
    char frame_id[32];
    /* Class of the object, such as `person`: text. */
    char class_id[32];
    /* Confidence in the class, 0 to 1: no unit. */
    double score;
    /* Place of the object in the image. */
    horus_bounding_box2d_t bbox;
    /* Identifier of the object, the same in several images if it is tracked: text. */
    char id[32];
} horus_detection_t;
HORUS_ASSERT_LAYOUT(horus_detection_t, 152, 8);
HORUS_ASSERT_OFFSET(horus_detection_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_detection_t, frame_id, 8);
HORUS_ASSERT_OFFSET(horus_detection_t, class_id, 40);
HORUS_ASSERT_OFFSET(horus_detection_t, score, 72);
HORUS_ASSERT_OFFSET(horus_detection_t, bbox, 80);
HORUS_ASSERT_OFFSET(horus_detection_t, id, 120);
#define HORUS_DETECTION_SCHEMA \
    "horus schema 1\nmessage Detection\nsize 152\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field frame_id char 8 32\nfield class_id char 40 32\nfield score f64 72 1\n" \
    "field bbox.center f64 80 2\nfield bbox.theta f64 96 1\nfield bbox.size_x f64 104 1\n" \
    "field bbox.size_y f64 112 1\nfield id char 120 32\n"
#define HORUS_DETECTION_INIT {0}

/*
 * An object detected in space, like `vision_msgs/Detection3D` with its best hypothesis. All
 * detections in one measurement have the same time.
 */
typedef struct horus_detection3d {
    /* Time of the measurement, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Frame of the box: text. */
    char frame_id[32];
    /* Class of the object, such as `person`: text. */
    char class_id[32];
    /* Confidence in the class, 0 to 1: no unit. */
    double score;
    /* Place of the object. */
    horus_bounding_box3d_t bbox;
    /* Identifier of the object, the same in several measurements if it is tracked: text. */
    char id[32];
} horus_detection3d_t;
HORUS_ASSERT_LAYOUT(horus_detection3d_t, 192, 8);
HORUS_ASSERT_OFFSET(horus_detection3d_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_detection3d_t, frame_id, 8);
HORUS_ASSERT_OFFSET(horus_detection3d_t, class_id, 40);
HORUS_ASSERT_OFFSET(horus_detection3d_t, score, 72);
HORUS_ASSERT_OFFSET(horus_detection3d_t, bbox, 80);
HORUS_ASSERT_OFFSET(horus_detection3d_t, id, 160);
#define HORUS_DETECTION3D_SCHEMA \
    "horus schema 1\nmessage Detection3D\nsize 192\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field frame_id char 8 32\nfield class_id char 40 32\nfield score f64 72 1\n" \
    "field bbox.center f64 80 3\nfield bbox.orientation f64 104 4\nfield bbox.size f64 136 3\n" \
    "field id char 160 32\n"
#define HORUS_DETECTION3D_INIT {.bbox = HORUS_BOUNDING_BOX3D_INIT}

/*
 * An object that is tracked from one measurement to the next. No ROS type; the box is that of
 * `vision_msgs/Detection3D`.
 */
typedef struct horus_tracked_object {
    /* Time for which the pose is valid, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Frame of box and velocities: text. */
    char frame_id[32];
    /* Number of the track, which is never reused: no unit. */
    uint64_t track_id;
    /* Class of the object, such as `person`: text. */
    char class_id[32];
    /* Confidence in the class, 0 to 1: no unit. */
    double score;
    /* Place of the object. */
    horus_bounding_box3d_t bbox;
    /* Velocity along x, y, z: metres per second. */
    double linear_velocity[3];
    /* Angular velocity about x, y, z: radians per second. */
    double angular_velocity[3];
    /* Time since the track began: nanoseconds. */
    uint64_t age_ns;
    /* Number of measurements without the object since it was last seen: count. */
    uint32_t missed;
    /* One of the `STATE_` constants: no unit. */
    uint8_t state;
    /* Reserved, 0: no unit. */
    uint8_t _reserved[3];
} horus_tracked_object_t;
HORUS_ASSERT_LAYOUT(horus_tracked_object_t, 232, 8);
HORUS_ASSERT_OFFSET(horus_tracked_object_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_tracked_object_t, frame_id, 8);
HORUS_ASSERT_OFFSET(horus_tracked_object_t, track_id, 40);
HORUS_ASSERT_OFFSET(horus_tracked_object_t, class_id, 48);
HORUS_ASSERT_OFFSET(horus_tracked_object_t, score, 80);
HORUS_ASSERT_OFFSET(horus_tracked_object_t, bbox, 88);
HORUS_ASSERT_OFFSET(horus_tracked_object_t, linear_velocity, 168);
HORUS_ASSERT_OFFSET(horus_tracked_object_t, angular_velocity, 192);
HORUS_ASSERT_OFFSET(horus_tracked_object_t, age_ns, 216);
HORUS_ASSERT_OFFSET(horus_tracked_object_t, missed, 224);
HORUS_ASSERT_OFFSET(horus_tracked_object_t, state, 228);
HORUS_ASSERT_OFFSET(horus_tracked_object_t, _reserved, 229);
enum {
    /* The object was seen too few times to confirm the track. */
    HORUS_TRACKED_OBJECT_STATE_TENTATIVE = 0,
    /* The track is confirmed. */
    HORUS_TRACKED_OBJECT_STATE_CONFIRMED = 1,
    /* The object is not seen at the moment, and its motion is extrapolated. */
    HORUS_TRACKED_OBJECT_STATE_COASTING = 2,
    /* The track has ended; this is its last message. */
    HORUS_TRACKED_OBJECT_STATE_DELETED = 3
};
#define HORUS_TRACKED_OBJECT_SCHEMA \
    "horus schema 1\nmessage TrackedObject\nsize 232\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field frame_id char 8 32\nfield track_id u64 40 1\nfield class_id char 48 32\n" \
    "field score f64 80 1\nfield bbox.center f64 88 3\nfield bbox.orientation f64 112 4\n" \
    "field bbox.size f64 144 3\nfield linear_velocity f64 168 3\n" \
    "field angular_velocity f64 192 3\nfield age_ns u64 216 1\nfield missed u32 224 1\n" \
    "field state u8 228 1\nfield _reserved u8 229 3\n"
#define HORUS_TRACKED_OBJECT_INIT {.bbox = HORUS_BOUNDING_BOX3D_INIT}

/*
 * A place that is recognised again, such as a corner or a fiducial marker. No ROS type.
 *
 * The covariance is row-major 3 × 3 over x, y, z; all zeros means unknown.
 */
typedef struct horus_landmark {
    /* Time at which the landmark was seen, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Frame of the position: text. */
    char frame_id[32];
    /* Number of the landmark, such as that of the marker: no unit. */
    uint32_t landmark_id;
    /* One of the `KIND_` constants: no unit. */
    uint8_t kind;
    /* Reserved, 0: no unit. */
    uint8_t _reserved[3];
    /* Position x, y, z: metres. */
    double position[3];
    /* Unit quaternion x, y, z, w, the identity for a point: no unit. */
    double orientation[4];
    /* Covariance of `position`: m². */
    double position_covariance[9];
    /* Confidence that it is this landmark, 0 to 1: no unit. */
    double score;
} horus_landmark_t;
HORUS_ASSERT_LAYOUT(horus_landmark_t, 184, 8);
HORUS_ASSERT_OFFSET(horus_landmark_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_landmark_t, frame_id, 8);
HORUS_ASSERT_OFFSET(horus_landmark_t, landmark_id, 40);
HORUS_ASSERT_OFFSET(horus_landmark_t, kind, 44);
HORUS_ASSERT_OFFSET(horus_landmark_t, _reserved, 45);
HORUS_ASSERT_OFFSET(horus_landmark_t, position, 48);
HORUS_ASSERT_OFFSET(horus_landmark_t, orientation, 72);
HORUS_ASSERT_OFFSET(horus_landmark_t, position_covariance, 104);
HORUS_ASSERT_OFFSET(horus_landmark_t, score, 176);
enum {
    /* A point from a feature detector. */
    HORUS_LANDMARK_KIND_POINT = 0,
    /* A fiducial marker such as AprilTag or ArUco. */
    HORUS_LANDMARK_KIND_MARKER = 1,
    /* A vertical line such as a pole or an edge. */
    HORUS_LANDMARK_KIND_POLE = 2,
    /* A reflector. */
    HORUS_LANDMARK_KIND_REFLECTOR = 3
};
#define HORUS_LANDMARK_SCHEMA \
    "horus schema 1\nmessage Landmark\nsize 184\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field frame_id char 8 32\nfield landmark_id u32 40 1\nfield kind u8 44 1\n" \
    "field _reserved u8 45 3\nfield position f64 48 3\nfield orientation f64 72 4\n" \
    "field position_covariance f64 104 9\nfield score f64 176 1\n"
#define HORUS_LANDMARK_INIT {.orientation = {0.0, 0.0, 0.0, 1.0}}

/*
 * A flat part of the environment, such as a floor or a table. No ROS type; `coef` is as in
 * `shape_msgs/Plane`.
 */
typedef struct horus_plane_detection {
    /* Time of the measurement, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Frame of plane and centre: text. */
    char frame_id[32];
    /*
     * Coefficients a, b, c, d of `a·x + b·y + c·z + d = 0`, where (a, b, c) is a unit vector
     * and d in metres: no unit.
     */
    double coef[4];
    /* Centre x, y, z of the part: metres. */
    double center[3];
    /* Longest extent of the part, and the extent across it: metres. */
    double size[2];
    /* Number of points that the plane was fitted to: count. */
    uint32_t inlier_count;
    /* Reserved, 0: no unit. */
    uint32_t _reserved;
    /* Root mean square distance of these points from the plane: metres. */
    double residual;
} horus_plane_detection_t;
HORUS_ASSERT_LAYOUT(horus_plane_detection_t, 128, 8);
HORUS_ASSERT_OFFSET(horus_plane_detection_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_plane_detection_t, frame_id, 8);
HORUS_ASSERT_OFFSET(horus_plane_detection_t, coef, 40);
HORUS_ASSERT_OFFSET(horus_plane_detection_t, center, 72);
HORUS_ASSERT_OFFSET(horus_plane_detection_t, size, 96);
HORUS_ASSERT_OFFSET(horus_plane_detection_t, inlier_count, 112);
HORUS_ASSERT_OFFSET(horus_plane_detection_t, _reserved, 116);
HORUS_ASSERT_OFFSET(horus_plane_detection_t, residual, 120);
#define HORUS_PLANE_DETECTION_SCHEMA \
    "horus schema 1\nmessage PlaneDetection\nsize 128\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field frame_id char 8 32\nfield coef f64 40 4\nfield center f64 72 3\n" \
    "field size f64 96 2\nfield inlier_count u32 112 1\nfield _reserved u32 116 1\n" \
    "field residual f64 120 1\n"
#define HORUS_PLANE_DETECTION_INIT {0}

/*
 * A part of an image, like `sensor_msgs/RegionOfInterest`. It has no timestamp: it is for use
 * inside other messages. All zeros means the whole image.
 */
typedef struct horus_region_of_interest {
    /* Left edge: pixels. */
    uint32_t x_offset;
    /* Top edge: pixels. */
    uint32_t y_offset;
    /* Height of the region: pixels. */
    uint32_t height;
    /* Width of the region: pixels. */
    uint32_t width;
    /* 1 if it is to be cut from the rectified image: no unit. */
    uint8_t do_rectify;
    /* Reserved, 0: no unit. */
    uint8_t _reserved[7];
} horus_region_of_interest_t;
HORUS_ASSERT_LAYOUT(horus_region_of_interest_t, 24, 4);
HORUS_ASSERT_OFFSET(horus_region_of_interest_t, x_offset, 0);
HORUS_ASSERT_OFFSET(horus_region_of_interest_t, y_offset, 4);
HORUS_ASSERT_OFFSET(horus_region_of_interest_t, height, 8);
HORUS_ASSERT_OFFSET(horus_region_of_interest_t, width, 12);
HORUS_ASSERT_OFFSET(horus_region_of_interest_t, do_rectify, 16);
HORUS_ASSERT_OFFSET(horus_region_of_interest_t, _reserved, 17);
#define HORUS_REGION_OF_INTEREST_SCHEMA \
    "horus schema 1\nmessage RegionOfInterest\nsize 24\nalign 4\nfield x_offset u32 0 1\n" \
    "field y_offset u32 4 1\nfield height u32 8 1\nfield width u32 12 1\n" \
    "field do_rectify u8 16 1\nfield _reserved u8 17 7\n"
#define HORUS_REGION_OF_INTEREST_INIT {0}

/*
 * Calibration of a camera, like `sensor_msgs/CameraInfo`.
 *
 * The documents of `image_pipeline` explain its fields. Matrices are row-major.
 */
typedef struct horus_camera_info {
    /* Time of the image, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Optical frame (z forward, x right, y down): text. */
    char frame_id[32];
    /* Height of the image that was calibrated: pixels. */
    uint32_t height;
    /* Width of the image that was calibrated: pixels. */
    uint32_t width;
    /* Name of the model, such as `plumb_bob` or `rational_polynomial`: text. */
    char distortion_model[32];
    /* Number of coefficients of the model, from the first of `d`: count. */
    uint32_t d_count;
    /* Reserved, 0: no unit. */
    uint32_t _reserved;
    /* Coefficients of the distortion model: no unit. */
    double d[14];
    /* Intrinsic matrix of the raw image, 3 × 3, fx 0 cx 0 fy cy 0 0 1: pixels. */
    double k[9];
    /* Rotation that rectifies the image, 3 × 3: no unit. */
    double r[9];
    /* Projection of the rectified image, 3 × 4: pixels. */
    double p[12];
    /* Number of sensor columns in one column of the image; 0 means 1: count. */
    uint32_t binning_x;
    /* Number of sensor rows in one row of the image; 0 means 1: count. */
    uint32_t binning_y;
    /* Part of the sensor that was read, before binning. */
    horus_region_of_interest_t roi;
} horus_camera_info_t;
HORUS_ASSERT_LAYOUT(horus_camera_info_t, 472, 8);
HORUS_ASSERT_OFFSET(horus_camera_info_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_camera_info_t, frame_id, 8);
HORUS_ASSERT_OFFSET(horus_camera_info_t, height, 40);
HORUS_ASSERT_OFFSET(horus_camera_info_t, width, 44);
HORUS_ASSERT_OFFSET(horus_camera_info_t, distortion_model, 48);
HORUS_ASSERT_OFFSET(horus_camera_info_t, d_count, 80);
HORUS_ASSERT_OFFSET(horus_camera_info_t, _reserved, 84);
HORUS_ASSERT_OFFSET(horus_camera_info_t, d, 88);
HORUS_ASSERT_OFFSET(horus_camera_info_t, k, 200);
HORUS_ASSERT_OFFSET(horus_camera_info_t, r, 272);
HORUS_ASSERT_OFFSET(horus_camera_info_t, p, 344);
HORUS_ASSERT_OFFSET(horus_camera_info_t, binning_x, 440);
HORUS_ASSERT_OFFSET(horus_camera_info_t, binning_y, 444);
HORUS_ASSERT_OFFSET(horus_camera_info_t, roi, 448);
#define HORUS_CAMERA_INFO_SCHEMA \
    "horus schema 1\nmessage CameraInfo\nsize 472\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field frame_id char 8 32\nfield height u32 40 1\nfield width u32 44 1\n" \
    "field distortion_model char 48 32\nfield d_count u32 80 1\nfield _reserved u32 84 1\n" \
    "field d f64 88 14\nfield k f64 200 9\nfield r f64 272 9\nfield p f64 344 12\n" \
    "field binning_x u32 440 1\nfield binning_y u32 444 1\nfield roi.x_offset u32 448 1\n" \
    "field roi.y_offset u32 452 1\nfield roi.height u32 456 1\nfield roi.width u32 460 1\n" \
    "field roi.do_rectify u8 464 1\nfield roi._reserved u8 465 7\n"
#define HORUS_CAMERA_INFO_INIT {0}

/* A periodic message that shows that its sender runs. No ROS type. */
typedef struct horus_heartbeat {
    /* Send time, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Name of the sender: text. */
    char source[32];
    /* Sequence number, one more for each message: count. */
    uint64_t sequence;
    /* Time until the next heartbeat, from this one: nanoseconds. */
    uint64_t period_ns;
} horus_heartbeat_t;
HORUS_ASSERT_LAYOUT(horus_heartbeat_t, 56, 8);
HORUS_ASSERT_OFFSET(horus_heartbeat_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_heartbeat_t, source, 8);
HORUS_ASSERT_OFFSET(horus_heartbeat_t, sequence, 40);
HORUS_ASSERT_OFFSET(horus_heartbeat_t, period_ns, 48);
#define HORUS_HEARTBEAT_SCHEMA \
    "horus schema 1\nmessage Heartbeat\nsize 56\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field source char 8 32\nfield sequence u64 40 1\nfield period_ns u64 48 1\n"
#define HORUS_HEARTBEAT_INIT {0}

/*
 * A heartbeat of a node with its timing. No ROS type; the states are those of
 * `lifecycle_msgs/State`.
 */
typedef struct horus_node_heartbeat {
    /* Send time, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Name of the node: text. */
    char name[32];
    /* Number of ticks: count. */
    uint64_t tick_count;
    /* Period of the ticks, 0 without a fixed one: nanoseconds. */
    uint64_t period_ns;
    /* Duration of the last tick: nanoseconds. */
    uint64_t tick_duration_ns;
    /* Duration of the longest tick: nanoseconds. */
    uint64_t tick_duration_max_ns;
    /* Number of ticks that ended after their deadline: count. */
    uint64_t missed_deadlines;
    /* Time since the start of the node: nanoseconds. */
    uint64_t uptime_ns;
    /* Process id, in its own PID namespace: no unit. */
    uint32_t process_id;
    /* One of the `STATE_` constants: no unit. */
    uint8_t state;
    /* One of the constants of `DiagnosticStatus`, such as `OK`: no unit. */
    uint8_t level;
    /* Reserved, 0: no unit. */
    uint16_t _reserved;
} horus_node_heartbeat_t;
HORUS_ASSERT_LAYOUT(horus_node_heartbeat_t, 96, 8);
HORUS_ASSERT_OFFSET(horus_node_heartbeat_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_node_heartbeat_t, name, 8);
HORUS_ASSERT_OFFSET(horus_node_heartbeat_t, tick_count, 40);
HORUS_ASSERT_OFFSET(horus_node_heartbeat_t, period_ns, 48);
HORUS_ASSERT_OFFSET(horus_node_heartbeat_t, tick_duration_ns, 56);
HORUS_ASSERT_OFFSET(horus_node_heartbeat_t, tick_duration_max_ns, 64);
HORUS_ASSERT_OFFSET(horus_node_heartbeat_t, missed_deadlines, 72);
HORUS_ASSERT_OFFSET(horus_node_heartbeat_t, uptime_ns, 80);
HORUS_ASSERT_OFFSET(horus_node_heartbeat_t, process_id, 88);
HORUS_ASSERT_OFFSET(horus_node_heartbeat_t, state, 92);
HORUS_ASSERT_OFFSET(horus_node_heartbeat_t, level, 93);
HORUS_ASSERT_OFFSET(horus_node_heartbeat_t, _reserved, 94);
enum {
    /* The state is unknown. */
    HORUS_NODE_HEARTBEAT_STATE_UNKNOWN = 0,
    /* The node exists and is not set up. */
    HORUS_NODE_HEARTBEAT_STATE_UNCONFIGURED = 1,
    /* The node is set up and does not tick. */
    HORUS_NODE_HEARTBEAT_STATE_INACTIVE = 2,
    /* The node ticks. */
    HORUS_NODE_HEARTBEAT_STATE_ACTIVE = 3,
    /* The node has ended. */
    HORUS_NODE_HEARTBEAT_STATE_FINALIZED = 4
};
#define HORUS_NODE_HEARTBEAT_SCHEMA \
    "horus schema 1\nmessage NodeHeartbeat\nsize 96\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field name char 8 32\nfield tick_count u64 40 1\nfield period_ns u64 48 1\n" \
    "field tick_duration_ns u64 56 1\nfield tick_duration_max_ns u64 64 1\n" \
    "field missed_deadlines u64 72 1\nfield uptime_ns u64 80 1\nfield process_id u32 88 1\n" \
    "field state u8 92 1\nfield level u8 93 1\nfield _reserved u16 94 1\n"
#define HORUS_NODE_HEARTBEAT_INIT {0}

/*
 * A named value of a part of the robot, like `diagnostic_msgs/KeyValue`. It has no timestamp:
 * it is for use inside `DiagnosticStatus`.
 */
typedef struct horus_diagnostic_value {
    /* Name of the value: text. */
    char key[32];
    /* The value with its unit: text. */
    char value[64];
} horus_diagnostic_value_t;
HORUS_ASSERT_LAYOUT(horus_diagnostic_value_t, 96, 1);
HORUS_ASSERT_OFFSET(horus_diagnostic_value_t, key, 0);
HORUS_ASSERT_OFFSET(horus_diagnostic_value_t, value, 32);
#define HORUS_DIAGNOSTIC_VALUE_SCHEMA \
    "horus schema 1\nmessage DiagnosticValue\nsize 96\nalign 1\nfield key char 0 32\n" \
    "field value char 32 64\n"
#define HORUS_DIAGNOSTIC_VALUE_INIT {0}

/* State of a part of the robot, like `diagnostic_msgs/DiagnosticStatus`. */
typedef struct horus_diagnostic_status {
    /* Time of this state, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* `OK`, `WARN`, `ERROR` or `STALE`; any other number means `ERROR`: no unit. */
    uint8_t level;
    /* Reserved, 0: no unit. */
    uint8_t _reserved[3];
    /* Number of values, which are the first elements of `values`: count. */
    uint32_t count;
    /* Name of the part, such as `base: left motor`: text. */
    char name[64];
    /* Description of the state, for people to read: text. */
    char message[128];
    /* Identifier of the hardware, such as a serial number: text. */
    char hardware_id[32];
    /* Further values of the part. */
    horus_diagnostic_value_t values[16];
} horus_diagnostic_status_t;
HORUS_ASSERT_LAYOUT(horus_diagnostic_status_t, 1776, 8);
HORUS_ASSERT_OFFSET(horus_diagnostic_status_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_diagnostic_status_t, level, 8);
HORUS_ASSERT_OFFSET(horus_diagnostic_status_t, _reserved, 9);
HORUS_ASSERT_OFFSET(horus_diagnostic_status_t, count, 12);
HORUS_ASSERT_OFFSET(horus_diagnostic_status_t, name, 16);
HORUS_ASSERT_OFFSET(horus_diagnostic_status_t, message, 80);
HORUS_ASSERT_OFFSET(horus_diagnostic_status_t, hardware_id, 208);
HORUS_ASSERT_OFFSET(horus_diagnostic_status_t, values, 240);
enum {
    /* The part works. */
    HORUS_DIAGNOSTIC_STATUS_OK = 0,
    /* The part works, but needs attention. */
    HORUS_DIAGNOSTIC_STATUS_WARN = 1,
    /* The part does not work. */
    HORUS_DIAGNOSTIC_STATUS_ERROR = 2,
    /* The part has not reported for too long. */
    HORUS_DIAGNOSTIC_STATUS_STALE = 3
};
#define HORUS_DIAGNOSTIC_STATUS_SCHEMA \
    "horus schema 1\nmessage DiagnosticStatus\nsize 1776\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field level u8 8 1\nfield _reserved u8 9 3\nfield count u32 12 1\nfield name char 16 64\n" \
    "field message char 80 128\nfield hardware_id char 208 32\n" \
    "field values.key char 240 32 16*96\nfield values.value char 272 64 16*96\n"
#define HORUS_DIAGNOSTIC_STATUS_INIT {0}

/*
 * State of the emergency stop. No ROS type.
 *
 * Every value of `engaged` except 0 means that everything has to stand still, so that a
 * damaged message does not release the stop.
 */
typedef struct horus_emergency_stop {
    /* Time at which the stop was engaged or released, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* 0 if released, else the stop is engaged: no unit. */
    uint8_t engaged;
    /* Reserved, 0: no unit. */
    uint8_t _reserved[7];
    /* Name of the part that engaged or released the stop: text. */
    char source[32];
    /* Reason why it was engaged or released, for people to read: text. */
    char reason[64];
    /*
     * Time at which the stop was engaged or released, by CLOCK_MONOTONIC, 0 if unknown; it
     * shows which message of several publishers is the last one: nanoseconds.
     */
    uint64_t monotonic_ns;
} horus_emergency_stop_t;
HORUS_ASSERT_LAYOUT(horus_emergency_stop_t, 120, 8);
HORUS_ASSERT_OFFSET(horus_emergency_stop_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_emergency_stop_t, engaged, 8);
HORUS_ASSERT_OFFSET(horus_emergency_stop_t, _reserved, 9);
HORUS_ASSERT_OFFSET(horus_emergency_stop_t, source, 16);
HORUS_ASSERT_OFFSET(horus_emergency_stop_t, reason, 48);
HORUS_ASSERT_OFFSET(horus_emergency_stop_t, monotonic_ns, 112);
#define HORUS_EMERGENCY_STOP_SCHEMA \
    "horus schema 1\nmessage EmergencyStop\nsize 120\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field engaged u8 8 1\nfield _reserved u8 9 7\nfield source char 16 32\n" \
    "field reason char 48 64\nfield monotonic_ns u64 112 1\n"
#define HORUS_EMERGENCY_STOP_INIT {.engaged = 1}

/*
 * Motion that the safety functions allow at the moment. No ROS type; the modes are after ISO
 * 10218.
 *
 * A message of all zeros allows nothing.
 */
typedef struct horus_safety_status {
    /* Time of this state, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* One of the `MODE_` constants; any other number means `MODE_FAULT`: no unit. */
    uint8_t mode;
    /* 1 if the drives are powered: no unit. */
    uint8_t enabled;
    /* 1 if all watchdogs were served in time: no unit. */
    uint8_t watchdog_ok;
    /* 1 if positions, speeds and forces are within their limits: no unit. */
    uint8_t limits_ok;
    /* Fault code of the safety controller, 0 if there is none: no unit. */
    uint32_t fault_code;
    /* Limit of the speed of every part; +∞ without a limit: metres per second. */
    double speed_max;
    /* Reason for the mode, for people to read: text. */
    char message[64];
} horus_safety_status_t;
HORUS_ASSERT_LAYOUT(horus_safety_status_t, 88, 8);
HORUS_ASSERT_OFFSET(horus_safety_status_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_safety_status_t, mode, 8);
HORUS_ASSERT_OFFSET(horus_safety_status_t, enabled, 9);
HORUS_ASSERT_OFFSET(horus_safety_status_t, watchdog_ok, 10);
HORUS_ASSERT_OFFSET(horus_safety_status_t, limits_ok, 11);
HORUS_ASSERT_OFFSET(horus_safety_status_t, fault_code, 12);
HORUS_ASSERT_OFFSET(horus_safety_status_t, speed_max, 16);
HORUS_ASSERT_OFFSET(horus_safety_status_t, message, 24);
enum {
    /* The mode is unknown; the robot must stand still. */
    HORUS_SAFETY_STATUS_MODE_UNKNOWN = 0,
    /* The robot may move freely. */
    HORUS_SAFETY_STATUS_MODE_NORMAL = 1,
    /* The robot may move at reduced speed, see `speed_max`. */
    HORUS_SAFETY_STATUS_MODE_REDUCED = 2,
    /* A safety function stopped the robot, which may move again when the cause is gone. */
    HORUS_SAFETY_STATUS_MODE_PROTECTIVE_STOP = 3,
    /* A person stopped the robot, which may move again when a person releases it. */
    HORUS_SAFETY_STATUS_MODE_EMERGENCY_STOP = 4,
    /* A safety function does not work. */
    HORUS_SAFETY_STATUS_MODE_FAULT = 5
};
#define HORUS_SAFETY_STATUS_SCHEMA \
    "horus schema 1\nmessage SafetyStatus\nsize 88\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field mode u8 8 1\nfield enabled u8 9 1\nfield watchdog_ok u8 10 1\n" \
    "field limits_ok u8 11 1\nfield fault_code u32 12 1\nfield speed_max f64 16 1\n" \
    "field message char 24 64\n"
#define HORUS_SAFETY_STATUS_INIT {0}

/* Use of a computer's resources. No ROS type. */
typedef struct horus_resource_usage {
    /* Time of the measurement, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Name of the computer or the process: text. */
    char source[32];
    /*
     * Load of all processors together: the number of processors that are in use on average,
     * from 0 to `cpu_count`: no unit.
     */
    float cpu_load;
    /* Temperature, NaN if not measured: degrees Celsius. */
    float cpu_temperature;
    /* Memory in use: bytes. */
    uint64_t memory_used_bytes;
    /* Total memory: bytes. */
    uint64_t memory_total_bytes;
    /* Disk space in use: bytes. */
    uint64_t disk_used_bytes;
    /* Total disk space: bytes. */
    uint64_t disk_total_bytes;
    /* Data received from networks since the start of `source`: bytes. */
    uint64_t network_received_bytes;
    /* Data sent to networks since the start of `source`: bytes. */
    uint64_t network_sent_bytes;
    /* Time since the start of `source`: nanoseconds. */
    uint64_t uptime_ns;
    /* Number of threads: count. */
    uint32_t thread_count;
    /* Number of processors: count. */
    uint32_t cpu_count;
} horus_resource_usage_t;
HORUS_ASSERT_LAYOUT(horus_resource_usage_t, 112, 8);
HORUS_ASSERT_OFFSET(horus_resource_usage_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_resource_usage_t, source, 8);
HORUS_ASSERT_OFFSET(horus_resource_usage_t, cpu_load, 40);
HORUS_ASSERT_OFFSET(horus_resource_usage_t, cpu_temperature, 44);
HORUS_ASSERT_OFFSET(horus_resource_usage_t, memory_used_bytes, 48);
HORUS_ASSERT_OFFSET(horus_resource_usage_t, memory_total_bytes, 56);
HORUS_ASSERT_OFFSET(horus_resource_usage_t, disk_used_bytes, 64);
HORUS_ASSERT_OFFSET(horus_resource_usage_t, disk_total_bytes, 72);
HORUS_ASSERT_OFFSET(horus_resource_usage_t, network_received_bytes, 80);
HORUS_ASSERT_OFFSET(horus_resource_usage_t, network_sent_bytes, 88);
HORUS_ASSERT_OFFSET(horus_resource_usage_t, uptime_ns, 96);
HORUS_ASSERT_OFFSET(horus_resource_usage_t, thread_count, 104);
HORUS_ASSERT_OFFSET(horus_resource_usage_t, cpu_count, 108);
#define HORUS_RESOURCE_USAGE_SCHEMA \
    "horus schema 1\nmessage ResourceUsage\nsize 112\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field source char 8 32\nfield cpu_load f32 40 1\nfield cpu_temperature f32 44 1\n" \
    "field memory_used_bytes u64 48 1\nfield memory_total_bytes u64 56 1\n" \
    "field disk_used_bytes u64 64 1\nfield disk_total_bytes u64 72 1\n" \
    "field network_received_bytes u64 80 1\nfield network_sent_bytes u64 88 1\n" \
    "field uptime_ns u64 96 1\nfield thread_count u32 104 1\nfield cpu_count u32 108 1\n"
#define HORUS_RESOURCE_USAGE_INIT {.cpu_temperature = NAN}

/*
 * An event of a node, or of the scheduler that runs it: an entry of a log, and of the black
 * box. No ROS type.
 */
typedef struct horus_node_event {
    /* Time of the event, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Time of the event, by CLOCK_MONOTONIC: nanoseconds. */
    uint64_t monotonic_ns;
    /* Number of the tick, counted from 0: count. */
    uint64_t tick;
    /* Duration or delay, depending on the kind of event; 0 without one: nanoseconds. */
    uint64_t value_ns;
    /* Name of the node, empty for the scheduler itself: text. */
    char node[64];
    /* Details, such as an error or the message of a panic: text. */
    char text[128];
    /* Process id, in its own PID namespace: no unit. */
    uint32_t process_id;
    /* One of the constants of this message, such as `STARTED`: no unit. */
    uint8_t kind;
    /* One of the constants of `DiagnosticStatus`, such as `OK`: no unit. */
    uint8_t level;
    /* Reserved, 0: no unit. */
    uint16_t _reserved;
} horus_node_event_t;
HORUS_ASSERT_LAYOUT(horus_node_event_t, 232, 8);
HORUS_ASSERT_OFFSET(horus_node_event_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_node_event_t, monotonic_ns, 8);
HORUS_ASSERT_OFFSET(horus_node_event_t, tick, 16);
HORUS_ASSERT_OFFSET(horus_node_event_t, value_ns, 24);
HORUS_ASSERT_OFFSET(horus_node_event_t, node, 32);
HORUS_ASSERT_OFFSET(horus_node_event_t, text, 96);
HORUS_ASSERT_OFFSET(horus_node_event_t, process_id, 224);
HORUS_ASSERT_OFFSET(horus_node_event_t, kind, 228);
HORUS_ASSERT_OFFSET(horus_node_event_t, level, 229);
HORUS_ASSERT_OFFSET(horus_node_event_t, _reserved, 230);
enum {
    /* The node started. */
    HORUS_NODE_EVENT_STARTED = 1,
    /* The node ended. */
    HORUS_NODE_EVENT_FINISHED = 2,
    /* A tick returned an error, which is in `text`. */
    HORUS_NODE_EVENT_FAILED = 3,
    /* A tick panicked with the message in `text`. */
    HORUS_NODE_EVENT_PANICKED = 4,
    /*
     * A tick exceeded a limit by `value_ns`; `text` is `deadline` if it ended too late, and
     * `budget` if it took too long.
     */
    HORUS_NODE_EVENT_MISSED = 5,
    /* A tick does not end, and has run for `value_ns`. */
    HORUS_NODE_EVENT_STUCK = 6,
    /* A tick that was stuck ended after `value_ns`. */
    HORUS_NODE_EVENT_RECOVERED = 7,
    /* The node entered its safe state. */
    HORUS_NODE_EVENT_SAFE_STATE_ENTERED = 8,
    /* The node left its safe state. */
    HORUS_NODE_EVENT_SAFE_STATE_LEFT = 9,
    /* The node is paused until it is resumed. */
    HORUS_NODE_EVENT_PAUSED = 10,
    /* The node continues after a pause. */
    HORUS_NODE_EVENT_RESUMED = 11,
    /* The node ended because of a command. */
    HORUS_NODE_EVENT_STOPPED = 12,
    /* The node has a new rate, with the period `value_ns`. */
    HORUS_NODE_EVENT_RATE_CHANGED = 13,
    /* Another node has replaced this one. */
    HORUS_NODE_EVENT_SWAPPED = 14,
    /* A replacement by another node failed and changed nothing; the reason is in `text`. */
    HORUS_NODE_EVENT_SWAP_FAILED = 15,
    /* An input had no message for longer than its timeout; `text` names the topic and the times. */
    HORUS_NODE_EVENT_STALE_INPUT = 16,
    /* All inputs of the node have had a message within their timeouts again. */
    HORUS_NODE_EVENT_FRESH_INPUT = 17,
    /* A checkpoint was passed out of order, too early or not at all; `text` says which. */
    HORUS_NODE_EVENT_CHECKPOINT = 18,
    /* The emergency stop was engaged; `text` says by whom and why. */
    HORUS_NODE_EVENT_EMERGENCY_STOP = 19,
    /* The emergency stop was released; `text` says by whom and why. */
    HORUS_NODE_EVENT_EMERGENCY_OVER = 20,
    /*
     * The system refused a setting of the thread, such as a core or a priority; `text` says which.
     */
    HORUS_NODE_EVENT_REFUSED = 21,
    /* A `NodeCommand` was not executed; `text` has the command and the reason. */
    HORUS_NODE_EVENT_COMMAND = 22,
    /* The scheduler started. */
    HORUS_NODE_EVENT_SCHEDULER_STARTED = 23,
    /* The scheduler ended; the reason is in `text`. */
    HORUS_NODE_EVENT_SCHEDULER_STOPPED = 24,
    /*
     * A subscriber of the node cannot map the memory of a publisher, and misses its messages;
     * `text` has the reason and the topic.
     */
    HORUS_NODE_EVENT_LANE_NOT_MAPPED = 25,
    /* The subscriber of the topic `text` can map the memory of all publishers again. */
    HORUS_NODE_EVENT_LANE_MAPPED = 26,
    /*
     * A subscriber of the node gets nothing from any live publisher, because they send another
     * message or offer less than it requests; `text` has the reason and the topic.
     */
    HORUS_NODE_EVENT_INCOMPATIBLE = 27,
    /*
     * The subscriber of the topic `text` matches a live publisher again, or the topic has no live
     * publisher any more.
     */
    HORUS_NODE_EVENT_COMPATIBLE = 28,
    /*
     * The file of the topic `text` was removed or replaced, and the subscriber of the node
     * continues in the file that has the name now.
     */
    HORUS_NODE_EVENT_TOPIC_MOVED = 29,
    /*
     * The namespace of the topic `text` was removed or replaced: publishers that open the topic
     * from now on do not reach the subscriber of the node.
     */
    HORUS_NODE_EVENT_NAMESPACE_REMOVED = 30
};
#define HORUS_NODE_EVENT_SCHEMA \
    "horus schema 1\nmessage NodeEvent\nsize 232\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field monotonic_ns u64 8 1\nfield tick u64 16 1\nfield value_ns u64 24 1\n" \
    "field node char 32 64\nfield text char 96 128\nfield process_id u32 224 1\n" \
    "field kind u8 228 1\nfield level u8 229 1\nfield _reserved u16 230 1\n"
#define HORUS_NODE_EVENT_INIT {0}

/*
 * Metrics of a node since its scheduler started. It has no timestamp: it is for use inside
 * `SchedulerStatus`. No ROS type.
 */
typedef struct horus_node_metrics {
    /* Name of the node: text. */
    char name[64];
    /* Text of the last failure: text. */
    char last_error[128];
    /* Number of ticks that have ended: count. */
    uint64_t ticks;
    /* Period of the ticks, 0 without a rate: nanoseconds. */
    uint64_t period_ns;
    /* Duration of the last tick: nanoseconds. */
    uint64_t last_ns;
    /* Duration of the longest tick: nanoseconds. */
    uint64_t max_ns;
    /*
     * Number of misses, which are ticks that ended too late, took too long, began too soon or
     * passed their checkpoints in a wrong order, and inputs found too old: count.
     */
    uint64_t misses;
    /* Number of ticks that were skipped because the node was still busy or late: count. */
    uint64_t skipped_ticks;
    /* Number of ticks that returned an error or panicked: count. */
    uint64_t failures;
    /* Number of ticks that panicked: count. */
    uint64_t panics;
    /*
     * Histogram of the durations: element i counts the ticks below 2^i nanoseconds that no
     * earlier element counts. The last element counts all others: count.
     */
    uint64_t durations[40];
    /*
     * Histogram of the delays between due time and start of the ticks, like `durations`:
     * count.
     */
    uint64_t lateness[40];
    /* Execution class, one of the `CLASS_` constants: no unit. */
    uint8_t node_class;
    /* One of the `STATE_` constants: no unit. */
    uint8_t state;
    /* One of the constants of `DiagnosticStatus`, such as `OK`: no unit. */
    uint8_t level;
    /*
     * 1 while a command pauses the node, also if `state` is another one, such as `STATE_SAFE`
     * in an emergency stop: no unit.
     */
    uint8_t is_paused;
    /* Reserved, 0: no unit. */
    uint8_t _reserved[4];
} horus_node_metrics_t;
HORUS_ASSERT_LAYOUT(horus_node_metrics_t, 904, 8);
HORUS_ASSERT_OFFSET(horus_node_metrics_t, name, 0);
HORUS_ASSERT_OFFSET(horus_node_metrics_t, last_error, 64);
HORUS_ASSERT_OFFSET(horus_node_metrics_t, ticks, 192);
HORUS_ASSERT_OFFSET(horus_node_metrics_t, period_ns, 200);
HORUS_ASSERT_OFFSET(horus_node_metrics_t, last_ns, 208);
HORUS_ASSERT_OFFSET(horus_node_metrics_t, max_ns, 216);
HORUS_ASSERT_OFFSET(horus_node_metrics_t, misses, 224);
HORUS_ASSERT_OFFSET(horus_node_metrics_t, skipped_ticks, 232);
HORUS_ASSERT_OFFSET(horus_node_metrics_t, failures, 240);
HORUS_ASSERT_OFFSET(horus_node_metrics_t, panics, 248);
HORUS_ASSERT_OFFSET(horus_node_metrics_t, durations, 256);
HORUS_ASSERT_OFFSET(horus_node_metrics_t, lateness, 576);
HORUS_ASSERT_OFFSET(horus_node_metrics_t, node_class, 896);
HORUS_ASSERT_OFFSET(horus_node_metrics_t, state, 897);
HORUS_ASSERT_OFFSET(horus_node_metrics_t, level, 898);
HORUS_ASSERT_OFFSET(horus_node_metrics_t, is_paused, 899);
HORUS_ASSERT_OFFSET(horus_node_metrics_t, _reserved, 900);
enum {
    /* The class is unknown. */
    HORUS_NODE_METRICS_CLASS_UNKNOWN = 0,
    /* The node has its own thread, which wakes at absolute times. */
    HORUS_NODE_METRICS_CLASS_REAL_TIME = 1,
    /* The thread pool runs the node's ticks. */
    HORUS_NODE_METRICS_CLASS_COMPUTE = 2,
    /* The node has a thread that sleeps until a topic has a message. */
    HORUS_NODE_METRICS_CLASS_EVENT = 3,
    /* The node is a task that waits for files and networks. */
    HORUS_NODE_METRICS_CLASS_ASYNC_IO = 4,
    /* The thread that runs the scheduler also runs the node's ticks. */
    HORUS_NODE_METRICS_CLASS_BEST_EFFORT = 5,
    /*
     * The node is a group of actors, which has threads of its own. A tick is a message that an
     * actor has handled.
     */
    HORUS_NODE_METRICS_CLASS_ACTORS = 6,
    /* The state is unknown. */
    HORUS_NODE_METRICS_STATE_UNKNOWN = 0,
    /* The node ticks. */
    HORUS_NODE_METRICS_STATE_ACTIVE = 1,
    /* The node is paused by a command. */
    HORUS_NODE_METRICS_STATE_PAUSED = 2,
    /* The node backs off after a failure. */
    HORUS_NODE_METRICS_STATE_BACKING_OFF = 3,
    /* The node is in its safe state. */
    HORUS_NODE_METRICS_STATE_SAFE = 4,
    /* The node has ended. */
    HORUS_NODE_METRICS_STATE_STOPPED = 5,
    /* The node is in a tick that does not end. */
    HORUS_NODE_METRICS_STATE_STUCK = 6
};
#define HORUS_NODE_METRICS_SCHEMA \
    "horus schema 1\nmessage NodeMetrics\nsize 904\nalign 8\nfield name char 0 64\n" \
    "field last_error char 64 128\nfield ticks u64 192 1\nfield period_ns u64 200 1\n" \
    "field last_ns u64 208 1\nfield max_ns u64 216 1\nfield misses u64 224 1\n" \
    "field skipped_ticks u64 232 1\nfield failures u64 240 1\nfield panics u64 248 1\n" \
    "field durations u64 256 40\nfield lateness u64 576 40\nfield node_class u8 896 1\n" \
    "field state u8 897 1\nfield level u8 898 1\nfield is_paused u8 899 1\n" \
    "field _reserved u8 900 4\n"
#define HORUS_NODE_METRICS_INIT {0}

/* A command to a node or a whole scheduler. No ROS type. */
typedef struct horus_node_command {
    /* Send time, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Name of the node, empty for all nodes of the scheduler: text. */
    char node[64];
    /* New rate, for `SET_RATE`: hertz. */
    double rate_hz;
    /* One of the constants of this message, such as `PAUSE`: no unit. */
    uint8_t kind;
    /* Reserved, 0: no unit. */
    uint8_t _reserved[7];
} horus_node_command_t;
HORUS_ASSERT_LAYOUT(horus_node_command_t, 88, 8);
HORUS_ASSERT_OFFSET(horus_node_command_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_node_command_t, node, 8);
HORUS_ASSERT_OFFSET(horus_node_command_t, rate_hz, 72);
HORUS_ASSERT_OFFSET(horus_node_command_t, kind, 80);
HORUS_ASSERT_OFFSET(horus_node_command_t, _reserved, 81);
enum {
    /* Pauses the node until it is resumed. */
    HORUS_NODE_COMMAND_PAUSE = 1,
    /* Resumes a paused node. */
    HORUS_NODE_COMMAND_RESUME = 2,
    /* Ends the node after its current tick. */
    HORUS_NODE_COMMAND_STOP = 3,
    /* Changes the rate of the node. */
    HORUS_NODE_COMMAND_SET_RATE = 4,
    /* Ends all nodes and the scheduler. */
    HORUS_NODE_COMMAND_STOP_SCHEDULER = 5
};
#define HORUS_NODE_COMMAND_SCHEMA \
    "horus schema 1\nmessage NodeCommand\nsize 88\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field node char 8 64\nfield rate_hz f64 72 1\nfield kind u8 80 1\n" \
    "field _reserved u8 81 7\n"
#define HORUS_NODE_COMMAND_INIT {0}

/* The time of a simulation or a replayed recording, like `rosgraph_msgs/Clock`. */
typedef struct horus_clock {
    /* Send time, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Time of the clock: nanoseconds. */
    uint64_t clock_ns;
    /* Nominal rate of the clock, 1 for real time, 0 if it is stopped: no unit. */
    double rate;
} horus_clock_t;
HORUS_ASSERT_LAYOUT(horus_clock_t, 24, 8);
HORUS_ASSERT_OFFSET(horus_clock_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_clock_t, clock_ns, 8);
HORUS_ASSERT_OFFSET(horus_clock_t, rate, 16);
#define HORUS_CLOCK_SCHEMA \
    "horus schema 1\nmessage Clock\nsize 24\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field clock_ns u64 8 1\nfield rate f64 16 1\n"
#define HORUS_CLOCK_INIT {0}

/* A reading of another clock, like `sensor_msgs/TimeReference`. */
typedef struct horus_time_reference {
    /* Time of the reading, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Time of the other clock: nanoseconds. */
    uint64_t time_ref_ns;
    /* Name of the other clock, such as `gps`: text. */
    char source[32];
} horus_time_reference_t;
HORUS_ASSERT_LAYOUT(horus_time_reference_t, 48, 8);
HORUS_ASSERT_OFFSET(horus_time_reference_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_time_reference_t, time_ref_ns, 8);
HORUS_ASSERT_OFFSET(horus_time_reference_t, source, 16);
#define HORUS_TIME_REFERENCE_SCHEMA \
    "horus schema 1\nmessage TimeReference\nsize 48\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field time_ref_ns u64 8 1\nfield source char 16 32\n"
#define HORUS_TIME_REFERENCE_INIT {0}

/* State of a joystick or gamepad, like `sensor_msgs/Joy`. */
typedef struct horus_joystick_input {
    /* Time of the reading, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Name of the device, such as `/dev/input/js0`: text. */
    char device[32];
    /* Number of axes, which are the first elements of `axes`: count. */
    uint32_t axis_count;
    /* Number of buttons, which are the first elements of `buttons`: count. */
    uint32_t button_count;
    /* Positions of the axes, −1 to 1: no unit. */
    float axes[16];
    /* For each button, 1 while it is pressed, else 0: no unit. */
    uint8_t buttons[32];
} horus_joystick_input_t;
HORUS_ASSERT_LAYOUT(horus_joystick_input_t, 144, 8);
HORUS_ASSERT_OFFSET(horus_joystick_input_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_joystick_input_t, device, 8);
HORUS_ASSERT_OFFSET(horus_joystick_input_t, axis_count, 40);
HORUS_ASSERT_OFFSET(horus_joystick_input_t, button_count, 44);
HORUS_ASSERT_OFFSET(horus_joystick_input_t, axes, 48);
HORUS_ASSERT_OFFSET(horus_joystick_input_t, buttons, 112);
#define HORUS_JOYSTICK_INPUT_SCHEMA \
    "horus schema 1\nmessage JoystickInput\nsize 144\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field device char 8 32\nfield axis_count u32 40 1\nfield button_count u32 44 1\n" \
    "field axes f32 48 16\nfield buttons u8 112 32\n"
#define HORUS_JOYSTICK_INPUT_INIT {0}

/*
 * A key that was pressed or released. No ROS type. Keys have the numbers of the USB HID usage
 * tables, page 7, which do not depend on the layout of the keyboard.
 */
typedef struct horus_keyboard_input {
    /* Time of the event, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Number of the key, such as 4 for the A of a US keyboard: no unit. */
    uint16_t key;
    /* Sum of the `MODIFIER_` constants of the keys that are held: no unit. */
    uint16_t modifiers;
    /* One of the `ACTION_` constants: no unit. */
    uint8_t action;
    /* Reserved, 0: no unit. */
    uint8_t _reserved[3];
    /* Text that the key types in the current layout, empty if none: text. */
    char text[8];
} horus_keyboard_input_t;
HORUS_ASSERT_LAYOUT(horus_keyboard_input_t, 24, 8);
HORUS_ASSERT_OFFSET(horus_keyboard_input_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_keyboard_input_t, key, 8);
HORUS_ASSERT_OFFSET(horus_keyboard_input_t, modifiers, 10);
HORUS_ASSERT_OFFSET(horus_keyboard_input_t, action, 12);
HORUS_ASSERT_OFFSET(horus_keyboard_input_t, _reserved, 13);
HORUS_ASSERT_OFFSET(horus_keyboard_input_t, text, 16);
enum {
    /* The key was released. */
    HORUS_KEYBOARD_INPUT_ACTION_RELEASED = 0,
    /* The key was pressed. */
    HORUS_KEYBOARD_INPUT_ACTION_PRESSED = 1,
    /* The key is still held, and the keyboard repeats it. */
    HORUS_KEYBOARD_INPUT_ACTION_REPEATED = 2,
    /* A shift key is held. */
    HORUS_KEYBOARD_INPUT_MODIFIER_SHIFT = 1,
    /* A control key is held. */
    HORUS_KEYBOARD_INPUT_MODIFIER_CONTROL = 2,
    /* An alt key is held. */
    HORUS_KEYBOARD_INPUT_MODIFIER_ALT = 4,
    /* A meta key is held: the Windows, Command or Super key. */
    HORUS_KEYBOARD_INPUT_MODIFIER_META = 8
};
#define HORUS_KEYBOARD_INPUT_SCHEMA \
    "horus schema 1\nmessage KeyboardInput\nsize 24\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field key u16 8 1\nfield modifiers u16 10 1\nfield action u8 12 1\n" \
    "field _reserved u8 13 3\nfield text char 16 8\n"
#define HORUS_KEYBOARD_INPUT_INIT {0}

/*
 * The header of an `Image`, after `sensor_msgs/Image`: rows of pixels, top row first.
 *
 * Followed by `uint8_t data[]`, to the message's end.
 */
typedef struct horus_image_header {
    /* Start of the exposure, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Number of rows: count. */
    uint32_t height;
    /* Number of columns: count. */
    uint32_t width;
    /* Stride from one row to the next: bytes. */
    uint32_t step;
    /* 1 if channels of several bytes are big-endian, else 0: no unit. */
    uint8_t is_bigendian;
    /* Reserved, 0: no unit. */
    uint8_t _reserved0[3];
    /* Name of the pixel format, as in ROS, see `Encoding`: text. */
    char encoding[16];
    /* Optical frame of the camera (z forward, x right, y down): text. */
    char frame_id[32];
    /* Reserved, 0: no unit. */
    uint64_t _reserved1[7];
} horus_image_header_t;
HORUS_ASSERT_LAYOUT(horus_image_header_t, 128, 8);
HORUS_ASSERT_OFFSET(horus_image_header_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_image_header_t, height, 8);
HORUS_ASSERT_OFFSET(horus_image_header_t, width, 12);
HORUS_ASSERT_OFFSET(horus_image_header_t, step, 16);
HORUS_ASSERT_OFFSET(horus_image_header_t, is_bigendian, 20);
HORUS_ASSERT_OFFSET(horus_image_header_t, _reserved0, 21);
HORUS_ASSERT_OFFSET(horus_image_header_t, encoding, 24);
HORUS_ASSERT_OFFSET(horus_image_header_t, frame_id, 40);
HORUS_ASSERT_OFFSET(horus_image_header_t, _reserved1, 72);
#define HORUS_IMAGE_SCHEMA \
    "horus schema 1\nmessage Image\nsize 128\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field height u32 8 1\nfield width u32 12 1\nfield step u32 16 1\n" \
    "field is_bigendian u8 20 1\nfield _reserved0 u8 21 3\nfield encoding char 24 16\n" \
    "field frame_id char 40 32\nfield _reserved1 u64 72 7\ntail data u8\n"
#define HORUS_IMAGE_HEADER_INIT {0}

/*
 * The header of a `DepthImage` (REP-118): rows of depths along the optical axis, top row
 * first.
 *
 * Followed by `uint8_t data[]`, to the message's end.
 */
typedef struct horus_depth_image_header {
    /* Start of the exposure, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Number of rows: count. */
    uint32_t height;
    /* Number of columns: count. */
    uint32_t width;
    /* Stride from one row to the next: bytes. */
    uint32_t step;
    /* Length that a depth of 1 in the data stands for, 0.001 for millimetres: metres. */
    float unit;
    /* Smallest valid depth: metres. */
    float range_min;
    /* Largest valid depth: metres. */
    float range_max;
    /* `16UC1` or `32FC1` (REP-118), in the byte order of the machine: text. */
    char encoding[16];
    /* Optical frame of the camera (z forward, x right, y down): text. */
    char frame_id[32];
    /* Reserved, 0: no unit. */
    uint64_t _reserved[6];
} horus_depth_image_header_t;
HORUS_ASSERT_LAYOUT(horus_depth_image_header_t, 128, 8);
HORUS_ASSERT_OFFSET(horus_depth_image_header_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_depth_image_header_t, height, 8);
HORUS_ASSERT_OFFSET(horus_depth_image_header_t, width, 12);
HORUS_ASSERT_OFFSET(horus_depth_image_header_t, step, 16);
HORUS_ASSERT_OFFSET(horus_depth_image_header_t, unit, 20);
HORUS_ASSERT_OFFSET(horus_depth_image_header_t, range_min, 24);
HORUS_ASSERT_OFFSET(horus_depth_image_header_t, range_max, 28);
HORUS_ASSERT_OFFSET(horus_depth_image_header_t, encoding, 32);
HORUS_ASSERT_OFFSET(horus_depth_image_header_t, frame_id, 48);
HORUS_ASSERT_OFFSET(horus_depth_image_header_t, _reserved, 80);
#define HORUS_DEPTH_IMAGE_SCHEMA \
    "horus schema 1\nmessage DepthImage\nsize 128\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field height u32 8 1\nfield width u32 12 1\nfield step u32 16 1\nfield unit f32 20 1\n" \
    "field range_min f32 24 1\nfield range_max f32 28 1\nfield encoding char 32 16\n" \
    "field frame_id char 48 32\nfield _reserved u64 80 6\ntail data u8\n"
#define HORUS_DEPTH_IMAGE_HEADER_INIT {0}

/*
 * The header of a `CompressedImage`, after `sensor_msgs/CompressedImage`: the output of a
 * codec.
 *
 * Followed by `uint8_t data[]`, to the message's end.
 */
typedef struct horus_compressed_image_header {
    /* Start of the exposure, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Length of the compressed data that follow: bytes. */
    uint64_t bytes;
    /*
     * The codec, such as `jpeg` or `png`, or ROS's longer form `rgb8; jpeg compressed bgr8`:
     * text.
     */
    char format[64];
    /* Optical frame of the camera (z forward, x right, y down): text. */
    char frame_id[32];
    /* Reserved, 0: no unit. */
    uint8_t _reserved[16];
} horus_compressed_image_header_t;
HORUS_ASSERT_LAYOUT(horus_compressed_image_header_t, 128, 8);
HORUS_ASSERT_OFFSET(horus_compressed_image_header_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_compressed_image_header_t, bytes, 8);
HORUS_ASSERT_OFFSET(horus_compressed_image_header_t, format, 16);
HORUS_ASSERT_OFFSET(horus_compressed_image_header_t, frame_id, 80);
HORUS_ASSERT_OFFSET(horus_compressed_image_header_t, _reserved, 112);
#define HORUS_COMPRESSED_IMAGE_SCHEMA \
    "horus schema 1\nmessage CompressedImage\nsize 128\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field bytes u64 8 1\nfield format char 16 64\nfield frame_id char 80 32\n" \
    "field _reserved u8 112 16\ntail data u8\n"
#define HORUS_COMPRESSED_IMAGE_HEADER_INIT {0}

/*
 * The header of a `SegmentationMask`: rows of class numbers, a byte for each pixel, top row
 * first.
 *
 * Followed by `uint8_t data[]`, to the message's end.
 */
typedef struct horus_segmentation_mask_header {
    /* Time at which the segmented image was taken, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Number of rows: count. */
    uint32_t height;
    /* Number of columns: count. */
    uint32_t width;
    /* Stride from one row to the next: bytes. */
    uint32_t step;
    /* Number of classes, which are numbered from 0: count. */
    uint32_t class_count;
    /* Optical frame of the camera (z forward, x right, y down): text. */
    char frame_id[32];
    /* Reserved, 0: no unit. */
    uint64_t _reserved;
} horus_segmentation_mask_header_t;
HORUS_ASSERT_LAYOUT(horus_segmentation_mask_header_t, 64, 8);
HORUS_ASSERT_OFFSET(horus_segmentation_mask_header_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_segmentation_mask_header_t, height, 8);
HORUS_ASSERT_OFFSET(horus_segmentation_mask_header_t, width, 12);
HORUS_ASSERT_OFFSET(horus_segmentation_mask_header_t, step, 16);
HORUS_ASSERT_OFFSET(horus_segmentation_mask_header_t, class_count, 20);
HORUS_ASSERT_OFFSET(horus_segmentation_mask_header_t, frame_id, 24);
HORUS_ASSERT_OFFSET(horus_segmentation_mask_header_t, _reserved, 56);
#define HORUS_SEGMENTATION_MASK_SCHEMA \
    "horus schema 1\nmessage SegmentationMask\nsize 64\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field height u32 8 1\nfield width u32 12 1\nfield step u32 16 1\n" \
    "field class_count u32 20 1\nfield frame_id char 24 32\nfield _reserved u64 56 1\n" \
    "tail data u8\n"
#define HORUS_SEGMENTATION_MASK_HEADER_INIT {0}

/*
 * One number, or array of numbers, in each point, like `sensor_msgs/PointField`. It has no
 * timestamp: it is for use inside `PointCloudHeader`.
 */
typedef struct horus_point_field {
    /* Name, such as `x`, `y`, `z`, `rgb`, `intensity` or `ring`: text. */
    char name[16];
    /* Offset from the start of a point: bytes. */
    uint32_t offset;
    /* Number of contiguous numbers: count. */
    uint32_t count;
    /* Type of one number, the code of a `DType`: no unit. */
    uint8_t dtype;
    /* Reserved, 0: no unit. */
    uint8_t _reserved[7];
} horus_point_field_t;
HORUS_ASSERT_LAYOUT(horus_point_field_t, 32, 4);
HORUS_ASSERT_OFFSET(horus_point_field_t, name, 0);
HORUS_ASSERT_OFFSET(horus_point_field_t, offset, 16);
HORUS_ASSERT_OFFSET(horus_point_field_t, count, 20);
HORUS_ASSERT_OFFSET(horus_point_field_t, dtype, 24);
HORUS_ASSERT_OFFSET(horus_point_field_t, _reserved, 25);
#define HORUS_POINT_FIELD_SCHEMA \
    "horus schema 1\nmessage PointField\nsize 32\nalign 4\nfield name char 0 16\n" \
    "field offset u32 16 1\nfield count u32 20 1\nfield dtype u8 24 1\n" \
    "field _reserved u8 25 7\n"
#define HORUS_POINT_FIELD_INIT {0}

/*
 * The header of a `PointCloud`, after `sensor_msgs/PointCloud2`: points that have the fields
 * described here.
 *
 * Followed by `uint8_t data[]`, to the message's end.
 */
typedef struct horus_point_cloud_header {
    /* Time of the measurement, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Frame of the points: text. */
    char frame_id[32];
    /* Number of rows of an organised cloud, else 1: count. */
    uint32_t height;
    /* Number of points in a row, or of all points if the cloud is not organised: count. */
    uint32_t width;
    /* Stride from one point to the next: bytes. */
    uint32_t point_step;
    /* Stride from one row to the next: bytes. */
    uint32_t row_step;
    /* Number of fields, which are the first elements of `fields`: count. */
    uint32_t field_count;
    /* 1 if numbers are big-endian, else 0: no unit. */
    uint8_t is_bigendian;
    /* 1 if all points are valid, 0 if some have a NaN as a coordinate: no unit. */
    uint8_t is_dense;
    /* Reserved, 0: no unit. */
    uint8_t _reserved[2];
    /* Fields of each point: no unit. */
    horus_point_field_t fields[16];
} horus_point_cloud_header_t;
HORUS_ASSERT_LAYOUT(horus_point_cloud_header_t, 576, 8);
HORUS_ASSERT_OFFSET(horus_point_cloud_header_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_point_cloud_header_t, frame_id, 8);
HORUS_ASSERT_OFFSET(horus_point_cloud_header_t, height, 40);
HORUS_ASSERT_OFFSET(horus_point_cloud_header_t, width, 44);
HORUS_ASSERT_OFFSET(horus_point_cloud_header_t, point_step, 48);
HORUS_ASSERT_OFFSET(horus_point_cloud_header_t, row_step, 52);
HORUS_ASSERT_OFFSET(horus_point_cloud_header_t, field_count, 56);
HORUS_ASSERT_OFFSET(horus_point_cloud_header_t, is_bigendian, 60);
HORUS_ASSERT_OFFSET(horus_point_cloud_header_t, is_dense, 61);
HORUS_ASSERT_OFFSET(horus_point_cloud_header_t, _reserved, 62);
HORUS_ASSERT_OFFSET(horus_point_cloud_header_t, fields, 64);
#define HORUS_POINT_CLOUD_SCHEMA \
    "horus schema 1\nmessage PointCloud\nsize 576\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field frame_id char 8 32\nfield height u32 40 1\nfield width u32 44 1\n" \
    "field point_step u32 48 1\nfield row_step u32 52 1\nfield field_count u32 56 1\n" \
    "field is_bigendian u8 60 1\nfield is_dense u8 61 1\nfield _reserved u8 62 2\n" \
    "field fields.name char 64 16 16*32\nfield fields.offset u32 80 1 16*32\n" \
    "field fields.count u32 84 1 16*32\nfield fields.dtype u8 88 1 16*32\n" \
    "field fields._reserved u8 89 7 16*32\ntail data u8\n"
#define HORUS_POINT_CLOUD_HEADER_INIT {0}

/*
 * The header of a `Tensor`, with the content of DLPack's `DLTensor`: numbers in up to eight
 * dimensions.
 *
 * Followed by `uint8_t data[]`, to the message's end.
 */
typedef struct horus_tensor_header {
    /* Time of the measurement or computation, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Type of one element, the code of a `DType`: no unit. */
    uint8_t dtype;
    /* Number of dimensions, which are the first elements of `shape` and `strides`: count. */
    uint8_t dimensions;
    /* Reserved, 0: no unit. */
    uint8_t _reserved0[6];
    /* Number of elements along each dimension, outermost first: count. */
    uint64_t shape[8];
    /* Stride along each dimension, as in DLPack: elements. */
    uint64_t strides[8];
    /* Name, such as `images` or `logits`: text. */
    char name[32];
    /* Reserved, 0: no unit. */
    uint8_t _reserved1[16];
} horus_tensor_header_t;
HORUS_ASSERT_LAYOUT(horus_tensor_header_t, 192, 8);
HORUS_ASSERT_OFFSET(horus_tensor_header_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_tensor_header_t, dtype, 8);
HORUS_ASSERT_OFFSET(horus_tensor_header_t, dimensions, 9);
HORUS_ASSERT_OFFSET(horus_tensor_header_t, _reserved0, 10);
HORUS_ASSERT_OFFSET(horus_tensor_header_t, shape, 16);
HORUS_ASSERT_OFFSET(horus_tensor_header_t, strides, 80);
HORUS_ASSERT_OFFSET(horus_tensor_header_t, name, 144);
HORUS_ASSERT_OFFSET(horus_tensor_header_t, _reserved1, 176);
#define HORUS_TENSOR_SCHEMA \
    "horus schema 1\nmessage Tensor\nsize 192\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field dtype u8 8 1\nfield dimensions u8 9 1\nfield _reserved0 u8 10 6\n" \
    "field shape u64 16 8\nfield strides u64 80 8\nfield name char 144 32\n" \
    "field _reserved1 u8 176 16\ntail data u8\n"
#define HORUS_TENSOR_HEADER_INIT {.dtype = 1, .dimensions = 1, .strides = {1}}

/*
 * Size and position of a map, like `nav_msgs/MapMetaData`. It has no timestamp: it is for use
 * inside maps.
 */
typedef struct horus_map_meta_data {
    /* Time at which the map was made, by CLOCK_REALTIME: nanoseconds. */
    uint64_t map_load_time_ns;
    /* Side length of a cell: metres. */
    float resolution;
    /* Number of cells along x: count. */
    uint32_t width;
    /* Number of cells along y: count. */
    uint32_t height;
    /* Reserved, 0: no unit. */
    uint32_t _reserved;
    /* Position of the outer corner of cell (0, 0) in the map's frame, x, y, z: metres. */
    double origin_position[3];
    /* Rotation of the grid in the map's frame, a unit quaternion x, y, z, w: no unit. */
    double origin_orientation[4];
} horus_map_meta_data_t;
HORUS_ASSERT_LAYOUT(horus_map_meta_data_t, 80, 8);
HORUS_ASSERT_OFFSET(horus_map_meta_data_t, map_load_time_ns, 0);
HORUS_ASSERT_OFFSET(horus_map_meta_data_t, resolution, 8);
HORUS_ASSERT_OFFSET(horus_map_meta_data_t, width, 12);
HORUS_ASSERT_OFFSET(horus_map_meta_data_t, height, 16);
HORUS_ASSERT_OFFSET(horus_map_meta_data_t, _reserved, 20);
HORUS_ASSERT_OFFSET(horus_map_meta_data_t, origin_position, 24);
HORUS_ASSERT_OFFSET(horus_map_meta_data_t, origin_orientation, 48);
#define HORUS_MAP_META_DATA_SCHEMA \
    "horus schema 1\nmessage MapMetaData\nsize 80\nalign 8\nfield map_load_time_ns u64 0 1\n" \
    "field resolution f32 8 1\nfield width u32 12 1\nfield height u32 16 1\n" \
    "field _reserved u32 20 1\nfield origin_position f64 24 3\n" \
    "field origin_orientation f64 48 4\n"
#define HORUS_MAP_META_DATA_INIT {.origin_orientation = {0.0, 0.0, 0.0, 1.0}}

/*
 * The header of an `OccupancyGrid`, after `nav_msgs/OccupancyGrid`: a byte for each cell, 0
 * to 100 in percent, −1 if unknown, along x first.
 *
 * Followed by `int8_t data[]`, to the message's end.
 */
typedef struct horus_occupancy_grid_header {
    /* Time for which the content is valid, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Frame of the map: text. */
    char frame_id[32];
    /* Size, resolution and position of the map. */
    horus_map_meta_data_t info;
    /* Reserved, 0: no unit. */
    uint64_t _reserved;
} horus_occupancy_grid_header_t;
HORUS_ASSERT_LAYOUT(horus_occupancy_grid_header_t, 128, 8);
HORUS_ASSERT_OFFSET(horus_occupancy_grid_header_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_occupancy_grid_header_t, frame_id, 8);
HORUS_ASSERT_OFFSET(horus_occupancy_grid_header_t, info, 40);
HORUS_ASSERT_OFFSET(horus_occupancy_grid_header_t, _reserved, 120);
#define HORUS_OCCUPANCY_GRID_SCHEMA \
    "horus schema 1\nmessage OccupancyGrid\nsize 128\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field frame_id char 8 32\nfield info.map_load_time_ns u64 40 1\n" \
    "field info.resolution f32 48 1\nfield info.width u32 52 1\nfield info.height u32 56 1\n" \
    "field info._reserved u32 60 1\nfield info.origin_position f64 64 3\n" \
    "field info.origin_orientation f64 88 4\nfield _reserved u64 120 1\ntail data i8\n"
#define HORUS_OCCUPANCY_GRID_HEADER_INIT {.info = HORUS_MAP_META_DATA_INIT}

/*
 * The header of a `CostMap`, after `nav2_msgs/Costmap`: a byte for each cell, 0 to 252, 253
 * and 254 near and in obstacles, 255 if unknown, along x first.
 *
 * Followed by `uint8_t data[]`, to the message's end.
 */
typedef struct horus_cost_map_header {
    /* Time for which the content is valid, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Frame of the map: text. */
    char frame_id[32];
    /* Size, resolution and position of the map. */
    horus_map_meta_data_t info;
    /* Layer of the costs, such as `master`: text. */
    char layer[32];
    /* Reserved, 0: no unit. */
    uint64_t _reserved[5];
} horus_cost_map_header_t;
HORUS_ASSERT_LAYOUT(horus_cost_map_header_t, 192, 8);
HORUS_ASSERT_OFFSET(horus_cost_map_header_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_cost_map_header_t, frame_id, 8);
HORUS_ASSERT_OFFSET(horus_cost_map_header_t, info, 40);
HORUS_ASSERT_OFFSET(horus_cost_map_header_t, layer, 120);
HORUS_ASSERT_OFFSET(horus_cost_map_header_t, _reserved, 152);
#define HORUS_COST_MAP_SCHEMA \
    "horus schema 1\nmessage CostMap\nsize 192\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field frame_id char 8 32\nfield info.map_load_time_ns u64 40 1\n" \
    "field info.resolution f32 48 1\nfield info.width u32 52 1\nfield info.height u32 56 1\n" \
    "field info._reserved u32 60 1\nfield info.origin_position f64 64 3\n" \
    "field info.origin_orientation f64 88 4\nfield layer char 120 32\n" \
    "field _reserved u64 152 5\ntail data u8\n"
#define HORUS_COST_MAP_HEADER_INIT {.info = HORUS_MAP_META_DATA_INIT}

/*
 * The header of an `AudioFrame`: uncompressed samples, with the samples of all channels at
 * one time stored together.
 *
 * Followed by `uint8_t data[]`, to the message's end.
 */
typedef struct horus_audio_frame_header {
    /* Time of the first sample, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Number of samples of each channel: count. */
    uint64_t samples;
    /* Sample rate of each channel: hertz. */
    uint32_t sample_rate;
    /* Number of channels: count. */
    uint16_t channels;
    /* Type of a sample, the code of a `DType`: no unit. */
    uint8_t dtype;
    /* Reserved, 0: no unit. */
    uint8_t _reserved0;
    /* Frame of the microphone: text. */
    char frame_id[32];
    /* Reserved, 0: no unit. */
    uint64_t _reserved1;
} horus_audio_frame_header_t;
HORUS_ASSERT_LAYOUT(horus_audio_frame_header_t, 64, 8);
HORUS_ASSERT_OFFSET(horus_audio_frame_header_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_audio_frame_header_t, samples, 8);
HORUS_ASSERT_OFFSET(horus_audio_frame_header_t, sample_rate, 16);
HORUS_ASSERT_OFFSET(horus_audio_frame_header_t, channels, 20);
HORUS_ASSERT_OFFSET(horus_audio_frame_header_t, dtype, 22);
HORUS_ASSERT_OFFSET(horus_audio_frame_header_t, _reserved0, 23);
HORUS_ASSERT_OFFSET(horus_audio_frame_header_t, frame_id, 24);
HORUS_ASSERT_OFFSET(horus_audio_frame_header_t, _reserved1, 56);
#define HORUS_AUDIO_FRAME_SCHEMA \
    "horus schema 1\nmessage AudioFrame\nsize 64\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field samples u64 8 1\nfield sample_rate u32 16 1\nfield channels u16 20 1\n" \
    "field dtype u8 22 1\nfield _reserved0 u8 23 1\nfield frame_id char 24 32\n" \
    "field _reserved1 u64 56 1\ntail data u8\n"
#define HORUS_AUDIO_FRAME_HEADER_INIT {0}

/*
 * The header of `Bytes`: any data, with the name of their format.
 *
 * Followed by `uint8_t data[]`, to the message's end.
 */
typedef struct horus_bytes_header {
    /* Time of creation, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Length of the data that follow: bytes. */
    uint64_t bytes;
    /* Format of the data, preferably a media type such as `application/cbor`: text. */
    char format[48];
} horus_bytes_header_t;
HORUS_ASSERT_LAYOUT(horus_bytes_header_t, 64, 8);
HORUS_ASSERT_OFFSET(horus_bytes_header_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_bytes_header_t, bytes, 8);
HORUS_ASSERT_OFFSET(horus_bytes_header_t, format, 16);
#define HORUS_BYTES_SCHEMA \
    "horus schema 1\nmessage Bytes\nsize 64\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field bytes u64 8 1\nfield format char 16 48\ntail data u8\n"
#define HORUS_BYTES_HEADER_INIT {0}

/*
 * The header of a `SchedulerStatus`: the state of a scheduler. The metrics of its nodes
 * follow, one `NodeMetrics` after the other.
 *
 * Followed by `uint8_t nodes[]`, to the message's end.
 */
typedef struct horus_scheduler_status_header {
    /* Time of this state, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Time of this state, by CLOCK_MONOTONIC: nanoseconds. */
    uint64_t monotonic_ns;
    /* Time since the scheduler started: nanoseconds. */
    uint64_t uptime_ns;
    /* Name of the scheduler: text. */
    char scheduler[64];
    /* Process id, in its own PID namespace: no unit. */
    uint32_t process_id;
    /* Number of nodes that follow: count. */
    uint32_t count;
    /* Stride from one node to the next, which is the size of a `NodeMetrics`: bytes. */
    uint32_t node_bytes;
    /* One of the `STATE_` constants: no unit. */
    uint8_t state;
    /* Reserved, 0: no unit. */
    uint8_t _reserved[27];
} horus_scheduler_status_header_t;
HORUS_ASSERT_LAYOUT(horus_scheduler_status_header_t, 128, 8);
HORUS_ASSERT_OFFSET(horus_scheduler_status_header_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_scheduler_status_header_t, monotonic_ns, 8);
HORUS_ASSERT_OFFSET(horus_scheduler_status_header_t, uptime_ns, 16);
HORUS_ASSERT_OFFSET(horus_scheduler_status_header_t, scheduler, 24);
HORUS_ASSERT_OFFSET(horus_scheduler_status_header_t, process_id, 88);
HORUS_ASSERT_OFFSET(horus_scheduler_status_header_t, count, 92);
HORUS_ASSERT_OFFSET(horus_scheduler_status_header_t, node_bytes, 96);
HORUS_ASSERT_OFFSET(horus_scheduler_status_header_t, state, 100);
HORUS_ASSERT_OFFSET(horus_scheduler_status_header_t, _reserved, 101);
enum {
    /* The state is unknown. */
    HORUS_SCHEDULER_STATUS_STATE_UNKNOWN = 0,
    /* The scheduler initialises its nodes. */
    HORUS_SCHEDULER_STATUS_STATE_STARTING = 1,
    /* The scheduler runs its nodes. */
    HORUS_SCHEDULER_STATUS_STATE_RUNNING = 2,
    /* The emergency stop is engaged, and nothing may move until it is released. */
    HORUS_SCHEDULER_STATUS_STATE_EMERGENCY_STOP = 3,
    /* The scheduler waits for its nodes to end. */
    HORUS_SCHEDULER_STATUS_STATE_STOPPING = 4,
    /* The scheduler has ended. */
    HORUS_SCHEDULER_STATUS_STATE_STOPPED = 5
};
#define HORUS_SCHEDULER_STATUS_SCHEMA \
    "horus schema 1\nmessage SchedulerStatus\nsize 128\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field monotonic_ns u64 8 1\nfield uptime_ns u64 16 1\nfield scheduler char 24 64\n" \
    "field process_id u32 88 1\nfield count u32 92 1\nfield node_bytes u32 96 1\n" \
    "field state u8 100 1\nfield _reserved u8 101 27\ntail nodes u8\n"
#define HORUS_SCHEDULER_STATUS_HEADER_INIT {0}

/*
 * The header of a `LidarScan`, after `sensor_msgs/LaserScan`: the distances in order of
 * their angles, then, if they were measured, the intensities in the same order.
 *
 * Angles are about z of the sensor, counter-clockwise, 0 along its x. After REP-117 a range of
 * +∞ means that nothing was seen, −∞ that an object is too close, and NaN that the measurement
 * failed. The unit of the intensities depends on the device.
 *
 * Followed by `float data[]`, to the message's end.
 */
typedef struct horus_lidar_scan_header {
    /* Time of the first ray, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Frame of the sensor: text. */
    char frame_id[32];
    /* Angle of the first ray: radians. */
    float angle_min;
    /* Angle of the last ray: radians. */
    float angle_max;
    /* Angle from one ray to the next: radians. */
    float angle_increment;
    /* Time from one ray to the next: seconds. */
    float time_increment;
    /* Time from one sweep to the next: seconds. */
    float scan_time;
    /* Shortest valid range: metres. */
    float range_min;
    /* Longest valid range: metres. */
    float range_max;
    /* Number of rays: count. */
    uint32_t count;
    /* 1 if an intensity for each ray follows the ranges, else 0: no unit. */
    uint8_t has_intensities;
    /* Reserved, 0: no unit. */
    uint8_t _reserved0[7];
    /* Reserved, 0: no unit. */
    uint64_t _reserved1[6];
} horus_lidar_scan_header_t;
HORUS_ASSERT_LAYOUT(horus_lidar_scan_header_t, 128, 8);
HORUS_ASSERT_OFFSET(horus_lidar_scan_header_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_lidar_scan_header_t, frame_id, 8);
HORUS_ASSERT_OFFSET(horus_lidar_scan_header_t, angle_min, 40);
HORUS_ASSERT_OFFSET(horus_lidar_scan_header_t, angle_max, 44);
HORUS_ASSERT_OFFSET(horus_lidar_scan_header_t, angle_increment, 48);
HORUS_ASSERT_OFFSET(horus_lidar_scan_header_t, time_increment, 52);
HORUS_ASSERT_OFFSET(horus_lidar_scan_header_t, scan_time, 56);
HORUS_ASSERT_OFFSET(horus_lidar_scan_header_t, range_min, 60);
HORUS_ASSERT_OFFSET(horus_lidar_scan_header_t, range_max, 64);
HORUS_ASSERT_OFFSET(horus_lidar_scan_header_t, count, 68);
HORUS_ASSERT_OFFSET(horus_lidar_scan_header_t, has_intensities, 72);
HORUS_ASSERT_OFFSET(horus_lidar_scan_header_t, _reserved0, 73);
HORUS_ASSERT_OFFSET(horus_lidar_scan_header_t, _reserved1, 80);
#define HORUS_LIDAR_SCAN_SCHEMA \
    "horus schema 1\nmessage LidarScan\nsize 128\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field frame_id char 8 32\nfield angle_min f32 40 1\nfield angle_max f32 44 1\n" \
    "field angle_increment f32 48 1\nfield time_increment f32 52 1\nfield scan_time f32 56 1\n" \
    "field range_min f32 60 1\nfield range_max f32 64 1\nfield count u32 68 1\n" \
    "field has_intensities u8 72 1\nfield _reserved0 u8 73 7\nfield _reserved1 u64 80 6\n" \
    "tail data f32\n"
#define HORUS_LIDAR_SCAN_HEADER_INIT {0}

/*
 * Measured state of one joint. It has no timestamp: it is for use in a `JointStateArray`.
 *
 * The units are those of a revolute joint. For a prismatic joint, radians become metres and
 * newton-metres become newtons. NaN marks a value that is not measured. Its size is one cache
 * line.
 */
typedef struct horus_joint {
    /* Name of the joint, such as `left_wrist_roll`: text. */
    char name[40];
    /* Position: radians. */
    double position;
    /* Velocity: radians per second. */
    double velocity;
    /* Torque: N·m. */
    double effort;
} horus_joint_t;
HORUS_ASSERT_LAYOUT(horus_joint_t, 64, 8);
HORUS_ASSERT_OFFSET(horus_joint_t, name, 0);
HORUS_ASSERT_OFFSET(horus_joint_t, position, 40);
HORUS_ASSERT_OFFSET(horus_joint_t, velocity, 48);
HORUS_ASSERT_OFFSET(horus_joint_t, effort, 56);
#define HORUS_JOINT_SCHEMA \
    "horus schema 1\nmessage Joint\nsize 64\nalign 8\nfield name char 0 40\n" \
    "field position f64 40 1\nfield velocity f64 48 1\nfield effort f64 56 1\n"
#define HORUS_JOINT_INIT {0}

/*
 * The header of a `JointStateArray`, after `sensor_msgs/JointState`: a `Joint` for each
 * joint.
 *
 * Followed by `uint8_t joints[]`, to the message's end.
 */
typedef struct horus_joint_state_array_header {
    /* Time of the measurement, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Frame of the state, usually empty: text. */
    char frame_id[32];
    /* Number of joints that follow: count. */
    uint32_t count;
    /* Stride from one joint to the next, which is the size of a `Joint`: bytes. */
    uint32_t joint_bytes;
    /* Reserved, 0: no unit. */
    uint8_t _reserved[16];
} horus_joint_state_array_header_t;
HORUS_ASSERT_LAYOUT(horus_joint_state_array_header_t, 64, 8);
HORUS_ASSERT_OFFSET(horus_joint_state_array_header_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_joint_state_array_header_t, frame_id, 8);
HORUS_ASSERT_OFFSET(horus_joint_state_array_header_t, count, 40);
HORUS_ASSERT_OFFSET(horus_joint_state_array_header_t, joint_bytes, 44);
HORUS_ASSERT_OFFSET(horus_joint_state_array_header_t, _reserved, 48);
#define HORUS_JOINT_STATE_ARRAY_SCHEMA \
    "horus schema 1\nmessage JointStateArray\nsize 64\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field frame_id char 8 32\nfield count u32 40 1\nfield joint_bytes u32 44 1\n" \
    "field _reserved u8 48 16\ntail joints u8\n"
#define HORUS_JOINT_STATE_ARRAY_HEADER_INIT {0}

/*
 * The header of a `LogLine`, which `log` writes. The text of the line
 * follows.
 *
 * Followed by `uint8_t text[]`, to the message's end.
 */
typedef struct horus_log_line_header {
    /* Time of the call, by CLOCK_REALTIME: nanoseconds. */
    uint64_t timestamp_ns;
    /* Time of the call, by CLOCK_MONOTONIC: nanoseconds. */
    uint64_t monotonic_ns;
    /* Number of the line in its process, from 1 on; a gap is a line that was lost: no unit. */
    uint64_t sequence;
    /* Process id, in its own PID namespace: no unit. */
    uint32_t process_id;
    /* Thread id, in its own PID namespace: no unit. */
    uint32_t thread_id;
    /* Line of the source file, 0 if unknown: no unit. */
    uint32_t source_line;
    /* Length of the text that follows: bytes. */
    uint32_t text_bytes;
    /*
     * Number of bytes at the end of the text that were cut off, because they did not fit:
     * bytes.
     */
    uint32_t cut_bytes;
    /* One of the constants from `ERROR` to `TRACE`: no unit. */
    uint8_t level;
    /*
     * 1 if another thread prints the line, because the thread that logged it must not wait for
     * stderr: no unit.
     */
    uint8_t is_deferred;
    /* Reserved, 0: no unit. */
    uint8_t _reserved[2];
    /* Name of the thread: text. */
    char thread[16];
    /* Name of the node that logged the line, empty if no node did: text. */
    char node[64];
    /* Name of the logger, such as a module of Rust: text. */
    char target[64];
    /* Path of the source file, without its beginning if it is long; empty if unknown: text. */
    char source_file[64];
} horus_log_line_header_t;
HORUS_ASSERT_LAYOUT(horus_log_line_header_t, 256, 8);
HORUS_ASSERT_OFFSET(horus_log_line_header_t, timestamp_ns, 0);
HORUS_ASSERT_OFFSET(horus_log_line_header_t, monotonic_ns, 8);
HORUS_ASSERT_OFFSET(horus_log_line_header_t, sequence, 16);
HORUS_ASSERT_OFFSET(horus_log_line_header_t, process_id, 24);
HORUS_ASSERT_OFFSET(horus_log_line_header_t, thread_id, 28);
HORUS_ASSERT_OFFSET(horus_log_line_header_t, source_line, 32);
HORUS_ASSERT_OFFSET(horus_log_line_header_t, text_bytes, 36);
HORUS_ASSERT_OFFSET(horus_log_line_header_t, cut_bytes, 40);
HORUS_ASSERT_OFFSET(horus_log_line_header_t, level, 44);
HORUS_ASSERT_OFFSET(horus_log_line_header_t, is_deferred, 45);
HORUS_ASSERT_OFFSET(horus_log_line_header_t, _reserved, 46);
HORUS_ASSERT_OFFSET(horus_log_line_header_t, thread, 48);
HORUS_ASSERT_OFFSET(horus_log_line_header_t, node, 64);
HORUS_ASSERT_OFFSET(horus_log_line_header_t, target, 128);
HORUS_ASSERT_OFFSET(horus_log_line_header_t, source_file, 192);
enum {
    /* Something failed. */
    HORUS_LOG_LINE_ERROR = 1,
    /* Something is wrong, and the program goes on. */
    HORUS_LOG_LINE_WARN = 2,
    /* Something that a user wants to know. */
    HORUS_LOG_LINE_INFO = 3,
    /* Something that a developer wants to know. */
    HORUS_LOG_LINE_DEBUG = 4,
    /* A step of the program, for developers who follow each of them. */
    HORUS_LOG_LINE_TRACE = 5
};
#define HORUS_LOG_LINE_SCHEMA \
    "horus schema 1\nmessage LogLine\nsize 256\nalign 8\nfield timestamp_ns u64 0 1\n" \
    "field monotonic_ns u64 8 1\nfield sequence u64 16 1\nfield process_id u32 24 1\n" \
    "field thread_id u32 28 1\nfield source_line u32 32 1\nfield text_bytes u32 36 1\n" \
    "field cut_bytes u32 40 1\nfield level u8 44 1\nfield is_deferred u8 45 1\n" \
    "field _reserved u8 46 2\nfield thread char 48 16\nfield node char 64 64\n" \
    "field target char 128 64\nfield source_file char 192 64\ntail text u8\n"
#define HORUS_LOG_LINE_HEADER_INIT {0}

#undef HORUS_ASSERT_OFFSET
#undef HORUS_ASSERT_LAYOUT
#undef HORUS_ALIGNOF
#undef HORUS_ASSERT

#endif /* HORUS_MESSAGES_H */
