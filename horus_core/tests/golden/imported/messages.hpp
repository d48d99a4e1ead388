// @generated from .msg files. C++17. Each message is declared once in a file that includes several
// such headers.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <horus/schema.hpp>

// Macros with the names of constants are set aside, and restored at the end.
#pragma push_macro("FLOAT32")
#undef FLOAT32
#pragma push_macro("FLOAT64")
#undef FLOAT64
#pragma push_macro("INT8")
#undef INT8
#pragma push_macro("LOWEST")
#undef LOWEST
#pragma push_macro("MASK")
#undef MASK
#pragma push_macro("POWER_SUPPLY_STATUS_CHARGING")
#undef POWER_SUPPLY_STATUS_CHARGING
#pragma push_macro("POWER_SUPPLY_STATUS_DISCHARGING")
#undef POWER_SUPPLY_STATUS_DISCHARGING
#pragma push_macro("POWER_SUPPLY_STATUS_UNKNOWN")
#undef POWER_SUPPLY_STATUS_UNKNOWN
#pragma push_macro("SWING")
#undef SWING
#pragma push_macro("UINT8")
#undef UINT8

namespace robot::msg {

#ifndef HORUS_IMPORTED_20A77073C1CD5E5DF57DEB8D8DEE03FD
#define HORUS_IMPORTED_20A77073C1CD5E5DF57DEB8D8DEE03FD
struct alignas(8) Header {
    /// Time by CLOCK_REALTIME: nanoseconds.
    std::uint64_t stamp_ns;
    char frame_id[64];
    /// Of the canonical schema text.
    static constexpr ::horus::SchemaHash schema_hash{0x931bc0a6dbc02277u, 0xb9f84c6e58f85c91u};
};
static_assert(sizeof(Header) == 72, "size of Header");
static_assert(alignof(Header) == 8, "alignment of Header");
static_assert(std::is_trivially_copyable_v<Header> && std::is_standard_layout_v<Header>);
static_assert(offsetof(Header, stamp_ns) == 0);
static_assert(offsetof(Header, frame_id) == 8);
HORUS_MESSAGE(Header, stamp_ns, frame_id);
#endif  /* HORUS_IMPORTED_20A77073C1CD5E5DF57DEB8D8DEE03FD */

#ifndef HORUS_IMPORTED_245A10430FCCDC47E682B1D4200B0EF8
#define HORUS_IMPORTED_245A10430FCCDC47E682B1D4200B0EF8
struct alignas(4) ColorRGBA {
    float r;
    float g;
    float b;
    float a;
    /// Of the canonical schema text.
    static constexpr ::horus::SchemaHash schema_hash{0x9b7644bb80122f5cu, 0x2d0e62d2c4d5addcu};
};
static_assert(sizeof(ColorRGBA) == 16, "size of ColorRGBA");
static_assert(alignof(ColorRGBA) == 4, "alignment of ColorRGBA");
static_assert(std::is_trivially_copyable_v<ColorRGBA> && std::is_standard_layout_v<ColorRGBA>);
static_assert(offsetof(ColorRGBA, r) == 0);
static_assert(offsetof(ColorRGBA, g) == 4);
static_assert(offsetof(ColorRGBA, b) == 8);
static_assert(offsetof(ColorRGBA, a) == 12);
HORUS_MESSAGE(ColorRGBA, r, g, b, a);
#endif  /* HORUS_IMPORTED_245A10430FCCDC47E682B1D4200B0EF8 */

#ifndef HORUS_IMPORTED_1F8CE436C96BE13E02B8213C453AE948
#define HORUS_IMPORTED_1F8CE436C96BE13E02B8213C453AE948
struct alignas(1) Empty {
    /// Reserved, 0: no unit.
    std::uint8_t _reserved;
    /// Of the canonical schema text.
    static constexpr ::horus::SchemaHash schema_hash{0xc5c7997e2db13230u, 0x4622469fb65b6a11u};
};
static_assert(sizeof(Empty) == 1, "size of Empty");
static_assert(alignof(Empty) == 1, "alignment of Empty");
static_assert(std::is_trivially_copyable_v<Empty> && std::is_standard_layout_v<Empty>);
static_assert(offsetof(Empty, _reserved) == 0);
HORUS_MESSAGE(Empty, _reserved);
#endif  /* HORUS_IMPORTED_1F8CE436C96BE13E02B8213C453AE948 */

#ifndef HORUS_IMPORTED_362F791E1AE432D0F421B641F5521291
#define HORUS_IMPORTED_362F791E1AE432D0F421B641F5521291
struct alignas(8) Point {
    double x;
    double y;
    double z;
    /// Of the canonical schema text.
    static constexpr ::horus::SchemaHash schema_hash{0xc43d2dc840c25981u, 0xe61d1fc4592e800cu};
};
static_assert(sizeof(Point) == 24, "size of Point");
static_assert(alignof(Point) == 8, "alignment of Point");
static_assert(std::is_trivially_copyable_v<Point> && std::is_standard_layout_v<Point>);
static_assert(offsetof(Point, x) == 0);
static_assert(offsetof(Point, y) == 8);
static_assert(offsetof(Point, z) == 16);
HORUS_MESSAGE(Point, x, y, z);
#endif  /* HORUS_IMPORTED_362F791E1AE432D0F421B641F5521291 */

#ifndef HORUS_IMPORTED_E78E504C65C2AA3D48B7900EF1FC4A39
#define HORUS_IMPORTED_E78E504C65C2AA3D48B7900EF1FC4A39
struct alignas(8) Quaternion {
    double x = 0.0;
    double y = 0.0;
    double z = 0.0;
    double w = 1.0;
    /// Of the canonical schema text.
    static constexpr ::horus::SchemaHash schema_hash{0xf280916dd2e78ee0u, 0x446e784fbb8121a9u};
};
static_assert(sizeof(Quaternion) == 32, "size of Quaternion");
static_assert(alignof(Quaternion) == 8, "alignment of Quaternion");
static_assert(std::is_trivially_copyable_v<Quaternion> && std::is_standard_layout_v<Quaternion>);
static_assert(offsetof(Quaternion, x) == 0);
static_assert(offsetof(Quaternion, y) == 8);
static_assert(offsetof(Quaternion, z) == 16);
static_assert(offsetof(Quaternion, w) == 24);
HORUS_MESSAGE(Quaternion, x, y, z, w);
#endif  /* HORUS_IMPORTED_E78E504C65C2AA3D48B7900EF1FC4A39 */

#ifndef HORUS_IMPORTED_24C06C935AE4AC494B536DEAF01B58AA
#define HORUS_IMPORTED_24C06C935AE4AC494B536DEAF01B58AA
struct alignas(8) Pose {
    Point position;
    Quaternion orientation;
    /// Of the canonical schema text.
    static constexpr ::horus::SchemaHash schema_hash{0xf8a69532517e025du, 0x47161595c510d770u};
};
static_assert(sizeof(Pose) == 56, "size of Pose");
static_assert(alignof(Pose) == 8, "alignment of Pose");
static_assert(std::is_trivially_copyable_v<Pose> && std::is_standard_layout_v<Pose>);
static_assert(offsetof(Pose, position) == 0);
static_assert(offsetof(Pose, orientation) == 24);
HORUS_MESSAGE(Pose, position, orientation);
#endif  /* HORUS_IMPORTED_24C06C935AE4AC494B536DEAF01B58AA */

#ifndef HORUS_IMPORTED_4DD18A5682606A3FD00E19FBB2A7E0F1
#define HORUS_IMPORTED_4DD18A5682606A3FD00E19FBB2A7E0F1
struct alignas(8) PoseWithCovariance {
    Pose pose;
    /// 6 x 6: position, then rotation
    double covariance[36];
    /// Of the canonical schema text.
    static constexpr ::horus::SchemaHash schema_hash{0x51b1716d80f91099u, 0x04749863997c737bu};
};
static_assert(sizeof(PoseWithCovariance) == 344, "size of PoseWithCovariance");
static_assert(alignof(PoseWithCovariance) == 8, "alignment of PoseWithCovariance");
static_assert(std::is_trivially_copyable_v<PoseWithCovariance> && std::is_standard_layout_v<PoseWithCovariance>);
static_assert(offsetof(PoseWithCovariance, pose) == 0);
static_assert(offsetof(PoseWithCovariance, covariance) == 56);
HORUS_MESSAGE(PoseWithCovariance, pose, covariance);
#endif  /* HORUS_IMPORTED_4DD18A5682606A3FD00E19FBB2A7E0F1 */

#ifndef HORUS_IMPORTED_050695B5717FD5526DF4B8CBBF02521B
#define HORUS_IMPORTED_050695B5717FD5526DF4B8CBBF02521B
struct alignas(8) Vector3 {
    double x;
    double y;
    double z;
    /// Of the canonical schema text.
    static constexpr ::horus::SchemaHash schema_hash{0x70ab4246b67c63afu, 0x3f456aacae8ecbd6u};
};
static_assert(sizeof(Vector3) == 24, "size of Vector3");
static_assert(alignof(Vector3) == 8, "alignment of Vector3");
static_assert(std::is_trivially_copyable_v<Vector3> && std::is_standard_layout_v<Vector3>);
static_assert(offsetof(Vector3, x) == 0);
static_assert(offsetof(Vector3, y) == 8);
static_assert(offsetof(Vector3, z) == 16);
HORUS_MESSAGE(Vector3, x, y, z);
#endif  /* HORUS_IMPORTED_050695B5717FD5526DF4B8CBBF02521B */

#ifndef HORUS_IMPORTED_8F452365AD2857E22925BE32C93665A1
#define HORUS_IMPORTED_8F452365AD2857E22925BE32C93665A1
struct alignas(8) Twist {
    Vector3 linear;
    Vector3 angular;
    /// Of the canonical schema text.
    static constexpr ::horus::SchemaHash schema_hash{0xb052a8f712050202u, 0x3032430edbe10e8bu};
};
static_assert(sizeof(Twist) == 48, "size of Twist");
static_assert(alignof(Twist) == 8, "alignment of Twist");
static_assert(std::is_trivially_copyable_v<Twist> && std::is_standard_layout_v<Twist>);
static_assert(offsetof(Twist, linear) == 0);
static_assert(offsetof(Twist, angular) == 24);
HORUS_MESSAGE(Twist, linear, angular);
#endif  /* HORUS_IMPORTED_8F452365AD2857E22925BE32C93665A1 */

#ifndef HORUS_IMPORTED_7710CAC9211B3E0BEFA41EA3878E05C2
#define HORUS_IMPORTED_7710CAC9211B3E0BEFA41EA3878E05C2
struct alignas(8) TwistWithCovariance {
    Twist twist;
    /// 6 x 6: linear, then angular
    double covariance[36];
    /// Of the canonical schema text.
    static constexpr ::horus::SchemaHash schema_hash{0x693ba12d7befa1dcu, 0x08005167c2b8f59cu};
};
static_assert(sizeof(TwistWithCovariance) == 336, "size of TwistWithCovariance");
static_assert(alignof(TwistWithCovariance) == 8, "alignment of TwistWithCovariance");
static_assert(std::is_trivially_copyable_v<TwistWithCovariance> && std::is_standard_layout_v<TwistWithCovariance>);
static_assert(offsetof(TwistWithCovariance, twist) == 0);
static_assert(offsetof(TwistWithCovariance, covariance) == 48);
HORUS_MESSAGE(TwistWithCovariance, twist, covariance);
#endif  /* HORUS_IMPORTED_7710CAC9211B3E0BEFA41EA3878E05C2 */

#ifndef HORUS_IMPORTED_B1216FEF505128BF4A95C68D057A0095
#define HORUS_IMPORTED_B1216FEF505128BF4A95C68D057A0095
/// Pose in the frame of the header, and velocity in the frame of the body.
struct alignas(8) Odometry {
    /// Time of the data, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    PoseWithCovariance pose;
    TwistWithCovariance twist;
    /// Frame of the data: text.
    char frame_id[32];
    /// Frame of the body
    char child_frame_id[64];
    /// Of the canonical schema text.
    static constexpr ::horus::SchemaHash schema_hash{0xaa5fb720311a446eu, 0x065878b5cac80e6eu};
};
static_assert(sizeof(Odometry) == 784, "size of Odometry");
static_assert(alignof(Odometry) == 8, "alignment of Odometry");
static_assert(std::is_trivially_copyable_v<Odometry> && std::is_standard_layout_v<Odometry>);
static_assert(offsetof(Odometry, timestamp_ns) == 0);
static_assert(offsetof(Odometry, pose) == 8);
static_assert(offsetof(Odometry, twist) == 352);
static_assert(offsetof(Odometry, frame_id) == 688);
static_assert(offsetof(Odometry, child_frame_id) == 720);
HORUS_MESSAGE(Odometry, timestamp_ns, pose, twist, frame_id, child_frame_id);
#endif  /* HORUS_IMPORTED_B1216FEF505128BF4A95C68D057A0095 */

#ifndef HORUS_IMPORTED_5F7A697E5FAF4C4A588E20FF1BECBED2
#define HORUS_IMPORTED_5F7A697E5FAF4C4A588E20FF1BECBED2
/// Units are rad/s and m/s^2. Each covariance is 3 x 3, one row after the other.
struct alignas(8) Imu {
    /// Time of the data, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    Quaternion orientation;
    double orientation_covariance[9];
    Vector3 angular_velocity;
    double angular_velocity_covariance[9];
    Vector3 linear_acceleration;
    double linear_acceleration_covariance[9];
    /// Frame of the data: text.
    char frame_id[32];
    /// Of the canonical schema text.
    static constexpr ::horus::SchemaHash schema_hash{0x7a1c73711caa51b9u, 0x1e44121c97ec70ecu};
};
static_assert(sizeof(Imu) == 336, "size of Imu");
static_assert(alignof(Imu) == 8, "alignment of Imu");
static_assert(std::is_trivially_copyable_v<Imu> && std::is_standard_layout_v<Imu>);
static_assert(offsetof(Imu, timestamp_ns) == 0);
static_assert(offsetof(Imu, orientation) == 8);
static_assert(offsetof(Imu, orientation_covariance) == 40);
static_assert(offsetof(Imu, angular_velocity) == 112);
static_assert(offsetof(Imu, angular_velocity_covariance) == 136);
static_assert(offsetof(Imu, linear_acceleration) == 208);
static_assert(offsetof(Imu, linear_acceleration_covariance) == 232);
static_assert(offsetof(Imu, frame_id) == 304);
HORUS_MESSAGE(Imu, timestamp_ns, orientation, orientation_covariance, angular_velocity,
    angular_velocity_covariance, linear_acceleration, linear_acceleration_covariance, frame_id);
#endif  /* HORUS_IMPORTED_5F7A697E5FAF4C4A588E20FF1BECBED2 */

#ifndef HORUS_IMPORTED_0AC794B141CDFA0C5DF43CA8B71E6345
#define HORUS_IMPORTED_0AC794B141CDFA0C5DF43CA8B71E6345
/// One sweep of a planar range finder.
///
/// Followed by `float ranges[]`, to the message's end.
struct alignas(8) LaserScanHeader {
    /// Time of the data, by CLOCK_REALTIME: nanoseconds.
    ///
    /// Its time is that of ray 0
    std::uint64_t timestamp_ns;
    /// Of ray 0: radians.
    float angle_min;
    /// Of the last ray: radians.
    float angle_max;
    /// From ray to ray: radians.
    float angle_increment;
    /// From ray to ray: seconds.
    float time_increment;
    /// From sweep to sweep: seconds.
    float scan_time;
    /// Shortest valid range: metres.
    float range_min;
    /// Longest valid range: metres.
    float range_max;
    /// Number of `ranges` that follow: count.
    ///
    /// Metres.
    std::uint32_t ranges_count;
    /// Each device has its own unit
    float intensities[1081];
    /// Elements of `intensities` in use, from the first: count.
    std::uint32_t intensities_count;
    /// Frame of the data: text.
    char frame_id[32];
    /// Reserved, 0: no unit.
    std::uint8_t _reserved[16];
};
static_assert(sizeof(LaserScanHeader) == 4416, "size of LaserScanHeader");
static_assert(alignof(LaserScanHeader) == 8, "alignment of LaserScanHeader");
static_assert(std::is_trivially_copyable_v<LaserScanHeader> && std::is_standard_layout_v<LaserScanHeader>);
static_assert(offsetof(LaserScanHeader, timestamp_ns) == 0);
static_assert(offsetof(LaserScanHeader, angle_min) == 8);
static_assert(offsetof(LaserScanHeader, angle_max) == 12);
static_assert(offsetof(LaserScanHeader, angle_increment) == 16);
static_assert(offsetof(LaserScanHeader, time_increment) == 20);
static_assert(offsetof(LaserScanHeader, scan_time) == 24);
static_assert(offsetof(LaserScanHeader, range_min) == 28);
static_assert(offsetof(LaserScanHeader, range_max) == 32);
static_assert(offsetof(LaserScanHeader, ranges_count) == 36);
static_assert(offsetof(LaserScanHeader, intensities) == 40);
static_assert(offsetof(LaserScanHeader, intensities_count) == 4364);
static_assert(offsetof(LaserScanHeader, frame_id) == 4368);
static_assert(offsetof(LaserScanHeader, _reserved) == 4400);
HORUS_MESSAGE(LaserScanHeader, timestamp_ns, angle_min, angle_max, angle_increment, time_increment,
    scan_time, range_min, range_max, ranges_count, intensities, intensities_count, frame_id,
    _reserved);
struct LaserScan : ::horus::Framed<LaserScanHeader, float> {
    /// Of the canonical schema text.
    static constexpr ::horus::SchemaHash schema_hash{0x5d28e876f563f934u, 0xabf432824b609168u};
};
HORUS_FRAMED(LaserScan, ranges);
#endif  /* HORUS_IMPORTED_0AC794B141CDFA0C5DF43CA8B71E6345 */

#ifndef HORUS_IMPORTED_083E04EC46184BE06A520A6E1AC33B87
#define HORUS_IMPORTED_083E04EC46184BE06A520A6E1AC33B87
/// Units are rad, rad/s and N*m, or m, m/s and N for a prismatic joint.
///
/// Followed by `double position[]`, to the message's end.
struct alignas(8) JointStateHeader {
    /// Time of the data, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    double velocity[32];
    double effort[32];
    /// Elements of `name` in use, from the first: count.
    std::uint32_t name_count;
    /// Number of `position` that follow: count.
    std::uint32_t position_count;
    /// Elements of `velocity` in use, from the first: count.
    std::uint32_t velocity_count;
    /// Elements of `effort` in use, from the first: count.
    std::uint32_t effort_count;
    /// Frame of the data: text.
    char frame_id[32];
    char name[32][64];
    /// Reserved, 0: no unit.
    std::uint8_t _reserved[8];
};
static_assert(sizeof(JointStateHeader) == 2624, "size of JointStateHeader");
static_assert(alignof(JointStateHeader) == 8, "alignment of JointStateHeader");
static_assert(std::is_trivially_copyable_v<JointStateHeader> && std::is_standard_layout_v<JointStateHeader>);
static_assert(offsetof(JointStateHeader, timestamp_ns) == 0);
static_assert(offsetof(JointStateHeader, velocity) == 8);
static_assert(offsetof(JointStateHeader, effort) == 264);
static_assert(offsetof(JointStateHeader, name_count) == 520);
static_assert(offsetof(JointStateHeader, position_count) == 524);
static_assert(offsetof(JointStateHeader, velocity_count) == 528);
static_assert(offsetof(JointStateHeader, effort_count) == 532);
static_assert(offsetof(JointStateHeader, frame_id) == 536);
static_assert(offsetof(JointStateHeader, name) == 568);
static_assert(offsetof(JointStateHeader, _reserved) == 2616);
HORUS_MESSAGE(JointStateHeader, timestamp_ns, velocity, effort, name_count, position_count,
    velocity_count, effort_count, frame_id, name, _reserved);
struct JointState : ::horus::Framed<JointStateHeader, double> {
    /// Of the canonical schema text.
    static constexpr ::horus::SchemaHash schema_hash{0x9df07478fdc27797u, 0xf19a58eccd917220u};
};
HORUS_FRAMED(JointState, position);
#endif  /* HORUS_IMPORTED_083E04EC46184BE06A520A6E1AC33B87 */

#ifndef HORUS_IMPORTED_DD323723FDDE993B968C9D6FA1022193
#define HORUS_IMPORTED_DD323723FDDE993B968C9D6FA1022193
/// A rectangle in an image: pixels.
struct alignas(4) RegionOfInterest {
    std::uint32_t x_offset;
    std::uint32_t y_offset;
    std::uint32_t height;
    std::uint32_t width;
    std::uint8_t do_rectify;
    /// Reserved, 0: no unit.
    std::uint8_t _reserved[3];
    /// Of the canonical schema text.
    static constexpr ::horus::SchemaHash schema_hash{0xda9f8c89735a63ebu, 0x23bf136a92b3349du};
};
static_assert(sizeof(RegionOfInterest) == 20, "size of RegionOfInterest");
static_assert(alignof(RegionOfInterest) == 4, "alignment of RegionOfInterest");
static_assert(std::is_trivially_copyable_v<RegionOfInterest> && std::is_standard_layout_v<RegionOfInterest>);
static_assert(offsetof(RegionOfInterest, x_offset) == 0);
static_assert(offsetof(RegionOfInterest, y_offset) == 4);
static_assert(offsetof(RegionOfInterest, height) == 8);
static_assert(offsetof(RegionOfInterest, width) == 12);
static_assert(offsetof(RegionOfInterest, do_rectify) == 16);
static_assert(offsetof(RegionOfInterest, _reserved) == 17);
HORUS_MESSAGE(RegionOfInterest, x_offset, y_offset, height, width, do_rectify, _reserved);
#endif  /* HORUS_IMPORTED_DD323723FDDE993B968C9D6FA1022193 */

#ifndef HORUS_IMPORTED_40BF0B3FC35C3A0BDDCBDAE5D52DBA41
#define HORUS_IMPORTED_40BF0B3FC35C3A0BDDCBDAE5D52DBA41
/// Calibration of a camera. Matrices hold one row after the other.
///
/// Followed by `double d[]`, to the message's end.
struct alignas(8) CameraInfoHeader {
    /// Time of the data, by CLOCK_REALTIME: nanoseconds.
    ///
    /// Its frame is the optical one
    std::uint64_t timestamp_ns;
    /// 3 x 3
    double k[9];
    /// 3 x 3
    double r[9];
    /// 3 x 4
    double p[12];
    /// Pixels
    std::uint32_t height;
    /// Pixels
    std::uint32_t width;
    /// Number of `d` that follow: count.
    ///
    /// Coefficients of distortion_model
    std::uint32_t d_count;
    std::uint32_t binning_x;
    std::uint32_t binning_y;
    RegionOfInterest roi;
    /// Frame of the data: text.
    char frame_id[32];
    /// Such as plumb_bob
    char distortion_model[64];
};
static_assert(sizeof(CameraInfoHeader) == 384, "size of CameraInfoHeader");
static_assert(alignof(CameraInfoHeader) == 8, "alignment of CameraInfoHeader");
static_assert(std::is_trivially_copyable_v<CameraInfoHeader> && std::is_standard_layout_v<CameraInfoHeader>);
static_assert(offsetof(CameraInfoHeader, timestamp_ns) == 0);
static_assert(offsetof(CameraInfoHeader, k) == 8);
static_assert(offsetof(CameraInfoHeader, r) == 80);
static_assert(offsetof(CameraInfoHeader, p) == 152);
static_assert(offsetof(CameraInfoHeader, height) == 248);
static_assert(offsetof(CameraInfoHeader, width) == 252);
static_assert(offsetof(CameraInfoHeader, d_count) == 256);
static_assert(offsetof(CameraInfoHeader, binning_x) == 260);
static_assert(offsetof(CameraInfoHeader, binning_y) == 264);
static_assert(offsetof(CameraInfoHeader, roi) == 268);
static_assert(offsetof(CameraInfoHeader, frame_id) == 288);
static_assert(offsetof(CameraInfoHeader, distortion_model) == 320);
HORUS_MESSAGE(CameraInfoHeader, timestamp_ns, k, r, p, height, width, d_count, binning_x,
    binning_y, roi, frame_id, distortion_model);
struct CameraInfo : ::horus::Framed<CameraInfoHeader, double> {
    /// Of the canonical schema text.
    static constexpr ::horus::SchemaHash schema_hash{0x165df557e0d8f2e8u, 0x28bb9786a8ddd2cau};
};
HORUS_FRAMED(CameraInfo, d);
#endif  /* HORUS_IMPORTED_40BF0B3FC35C3A0BDDCBDAE5D52DBA41 */

#ifndef HORUS_IMPORTED_0BD0C94DB262F76CB60DFE0951195EE9
#define HORUS_IMPORTED_0BD0C94DB262F76CB60DFE0951195EE9
/// A number that was not measured is NaN.
///
/// Followed by `float cell_voltage[]`, to the message's end.
struct alignas(8) BatteryStateHeader {
    /// Time of the data, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Volts.
    float voltage;
    /// Degrees Celsius.
    float temperature;
    /// Below 0 while it supplies the robot: amperes.
    float current;
    /// Ampere hours.
    float charge;
    /// 0 to 1
    float percentage;
    /// Number of `cell_voltage` that follow: count.
    ///
    /// One number a cell: volts.
    std::uint32_t cell_voltage_count;
    /// Frame of the data: text.
    char frame_id[32];
    std::uint8_t power_supply_status;
    std::uint8_t present;
    char location[64];
    char serial_number[64];
    /// Reserved, 0: no unit.
    std::uint8_t _reserved[62];
    static constexpr std::uint8_t POWER_SUPPLY_STATUS_UNKNOWN = 0;
    static constexpr std::uint8_t POWER_SUPPLY_STATUS_CHARGING = 1;
    static constexpr std::uint8_t POWER_SUPPLY_STATUS_DISCHARGING = 2;
};
static_assert(sizeof(BatteryStateHeader) == 256, "size of BatteryStateHeader");
static_assert(alignof(BatteryStateHeader) == 8, "alignment of BatteryStateHeader");
static_assert(std::is_trivially_copyable_v<BatteryStateHeader> && std::is_standard_layout_v<BatteryStateHeader>);
static_assert(offsetof(BatteryStateHeader, timestamp_ns) == 0);
static_assert(offsetof(BatteryStateHeader, voltage) == 8);
static_assert(offsetof(BatteryStateHeader, temperature) == 12);
static_assert(offsetof(BatteryStateHeader, current) == 16);
static_assert(offsetof(BatteryStateHeader, charge) == 20);
static_assert(offsetof(BatteryStateHeader, percentage) == 24);
static_assert(offsetof(BatteryStateHeader, cell_voltage_count) == 28);
static_assert(offsetof(BatteryStateHeader, frame_id) == 32);
static_assert(offsetof(BatteryStateHeader, power_supply_status) == 64);
static_assert(offsetof(BatteryStateHeader, present) == 65);
static_assert(offsetof(BatteryStateHeader, location) == 66);
static_assert(offsetof(BatteryStateHeader, serial_number) == 130);
static_assert(offsetof(BatteryStateHeader, _reserved) == 194);
HORUS_MESSAGE(BatteryStateHeader, timestamp_ns, voltage, temperature, current, charge, percentage,
    cell_voltage_count, frame_id, power_supply_status, present, location, serial_number, _reserved);
struct BatteryState : ::horus::Framed<BatteryStateHeader, float> {
    /// Of the canonical schema text.
    static constexpr ::horus::SchemaHash schema_hash{0x71f18f1f359ffc7fu, 0x1b18e3914e926e1fu};
};
HORUS_FRAMED(BatteryState, cell_voltage);
#endif  /* HORUS_IMPORTED_0BD0C94DB262F76CB60DFE0951195EE9 */

#ifndef HORUS_IMPORTED_B51D2A918462244C76C2D0B61AAAF27C
#define HORUS_IMPORTED_B51D2A918462244C76C2D0B61AAAF27C
/// One channel of the points.
struct alignas(4) PointField {
    /// Its first byte in a point
    std::uint32_t offset;
    std::uint32_t count;
    char name[16];
    /// FLOAT32, for example
    std::uint8_t datatype;
    /// Reserved, 0: no unit.
    std::uint8_t _reserved[3];
    static constexpr std::uint8_t INT8 = 1;
    static constexpr std::uint8_t UINT8 = 2;
    static constexpr std::uint8_t FLOAT32 = 7;
    static constexpr std::uint8_t FLOAT64 = 8;
    /// Of the canonical schema text.
    static constexpr ::horus::SchemaHash schema_hash{0x0d0758f18544274au, 0x656954de7b94f94fu};
};
static_assert(sizeof(PointField) == 28, "size of PointField");
static_assert(alignof(PointField) == 4, "alignment of PointField");
static_assert(std::is_trivially_copyable_v<PointField> && std::is_standard_layout_v<PointField>);
static_assert(offsetof(PointField, offset) == 0);
static_assert(offsetof(PointField, count) == 4);
static_assert(offsetof(PointField, name) == 8);
static_assert(offsetof(PointField, datatype) == 24);
static_assert(offsetof(PointField, _reserved) == 25);
HORUS_MESSAGE(PointField, offset, count, name, datatype, _reserved);
#endif  /* HORUS_IMPORTED_B51D2A918462244C76C2D0B61AAAF27C */

#ifndef HORUS_IMPORTED_1C9D38EFC62A9212AEF34A5B9E36C9C5
#define HORUS_IMPORTED_1C9D38EFC62A9212AEF34A5B9E36C9C5
///
/// Followed by `std::uint8_t data[]`, to the message's end.
struct alignas(8) PointCloud2Header {
    /// Time of the data, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Rows of points
    std::uint32_t height;
    /// Points of each row
    std::uint32_t width;
    PointField fields[16];
    /// Elements of `fields` in use, from the first: count.
    std::uint32_t fields_count;
    /// Bytes from point to point
    std::uint32_t point_step;
    /// Bytes from row to row
    std::uint32_t row_step;
    /// Number of `data` that follow: count.
    std::uint32_t data_count;
    /// Frame of the data: text.
    char frame_id[32];
    std::uint8_t is_bigendian;
    /// No coordinate is NaN
    std::uint8_t is_dense;
    /// Reserved, 0: no unit.
    std::uint8_t _reserved[62];
};
static_assert(sizeof(PointCloud2Header) == 576, "size of PointCloud2Header");
static_assert(alignof(PointCloud2Header) == 8, "alignment of PointCloud2Header");
static_assert(std::is_trivially_copyable_v<PointCloud2Header> && std::is_standard_layout_v<PointCloud2Header>);
static_assert(offsetof(PointCloud2Header, timestamp_ns) == 0);
static_assert(offsetof(PointCloud2Header, height) == 8);
static_assert(offsetof(PointCloud2Header, width) == 12);
static_assert(offsetof(PointCloud2Header, fields) == 16);
static_assert(offsetof(PointCloud2Header, fields_count) == 464);
static_assert(offsetof(PointCloud2Header, point_step) == 468);
static_assert(offsetof(PointCloud2Header, row_step) == 472);
static_assert(offsetof(PointCloud2Header, data_count) == 476);
static_assert(offsetof(PointCloud2Header, frame_id) == 480);
static_assert(offsetof(PointCloud2Header, is_bigendian) == 512);
static_assert(offsetof(PointCloud2Header, is_dense) == 513);
static_assert(offsetof(PointCloud2Header, _reserved) == 514);
HORUS_MESSAGE(PointCloud2Header, timestamp_ns, height, width, fields, fields_count, point_step,
    row_step, data_count, frame_id, is_bigendian, is_dense, _reserved);
struct PointCloud2 : ::horus::Framed<PointCloud2Header, std::uint8_t> {
    /// Of the canonical schema text.
    static constexpr ::horus::SchemaHash schema_hash{0xb1d6b017f6f09262u, 0x5b2785f00fe30e6au};
};
HORUS_FRAMED(PointCloud2, data);
#endif  /* HORUS_IMPORTED_1C9D38EFC62A9212AEF34A5B9E36C9C5 */

#ifndef HORUS_IMPORTED_AF15153C839BD0745282D4156A1D734F
#define HORUS_IMPORTED_AF15153C839BD0745282D4156A1D734F
///
/// Followed by `float axes[]`, to the message's end.
struct alignas(8) JoyHeader {
    /// Time of the data, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Number of `axes` that follow: count.
    std::uint32_t axes_count;
    std::int32_t buttons[16];
    /// Elements of `buttons` in use, from the first: count.
    std::uint32_t buttons_count;
    /// Frame of the data: text.
    char frame_id[32];
    /// Reserved, 0: no unit.
    std::uint8_t _reserved[16];
};
static_assert(sizeof(JoyHeader) == 128, "size of JoyHeader");
static_assert(alignof(JoyHeader) == 8, "alignment of JoyHeader");
static_assert(std::is_trivially_copyable_v<JoyHeader> && std::is_standard_layout_v<JoyHeader>);
static_assert(offsetof(JoyHeader, timestamp_ns) == 0);
static_assert(offsetof(JoyHeader, axes_count) == 8);
static_assert(offsetof(JoyHeader, buttons) == 12);
static_assert(offsetof(JoyHeader, buttons_count) == 76);
static_assert(offsetof(JoyHeader, frame_id) == 80);
static_assert(offsetof(JoyHeader, _reserved) == 112);
HORUS_MESSAGE(JoyHeader, timestamp_ns, axes_count, buttons, buttons_count, frame_id, _reserved);
struct Joy : ::horus::Framed<JoyHeader, float> {
    /// Of the canonical schema text.
    static constexpr ::horus::SchemaHash schema_hash{0x7bf3a473798be0bbu, 0x868f3016158d24f9u};
};
HORUS_FRAMED(Joy, axes);
#endif  /* HORUS_IMPORTED_AF15153C839BD0745282D4156A1D734F */

#ifndef HORUS_IMPORTED_7293B7D7FD49E674A8BFDDA4CB9A7FF7
#define HORUS_IMPORTED_7293B7D7FD49E674A8BFDDA4CB9A7FF7
/// A message with a name that generated Python uses, too.
struct alignas(8) Literal {
    double gains[4];
    /// Of the canonical schema text.
    static constexpr ::horus::SchemaHash schema_hash{0xb91e2bf4c0100e95u, 0xe2ccaa795270ac89u};
};
static_assert(sizeof(Literal) == 32, "size of Literal");
static_assert(alignof(Literal) == 8, "alignment of Literal");
static_assert(std::is_trivially_copyable_v<Literal> && std::is_standard_layout_v<Literal>);
static_assert(offsetof(Literal, gains) == 0);
HORUS_MESSAGE(Literal, gains);
#endif  /* HORUS_IMPORTED_7293B7D7FD49E674A8BFDDA4CB9A7FF7 */

#ifndef HORUS_IMPORTED_FB0172099935F90760DB10BD1F6E654C
#define HORUS_IMPORTED_FB0172099935F90760DB10BD1F6E654C
/// State of one leg, with every kind of field.
///
/// \"Quotes\", `code`, * / and a backslash at the end
///
/// The constant `RATE` is 0.5. Of the gait: hertz.
///
/// The constant `PREFIX` is leg.
struct alignas(8) Leg {
    /// Time of the data, by CLOCK_REALTIME: nanoseconds.
    std::uint64_t timestamp_ns;
    /// Time by CLOCK_REALTIME: nanoseconds.
    ///
    /// Of the last contact
    std::uint64_t contact_time_ns;
    /// Duration: nanoseconds.
    ///
    /// Stance and swing
    std::int64_t phases_ns[2];
    Point foot;
    Quaternion joints[2];
    std::int64_t lowest = (-9223372036854775807 - 1);
    std::uint64_t highest = 18446744073709551615u;
    double axis[3] = {0.0, 0.0, 1.0};
    float gain = 1.5F;
    /// At the foot: newtons.
    float forces[8] = {1.5F, 2.0F};
    /// Elements of `forces` in use, from the first: count.
    std::uint32_t forces_count = 2;
    /// Elements of `notes` in use, from the first: count.
    std::uint32_t notes_count;
    std::int16_t steps = 127;
    /// Frame of the data: text.
    char frame_id[32];
    /// As on the label
    char name[12] = {'l', 'e', 'f', 't', ' ', '#', '1'};
    /// A word that C++ and Python reserve
    std::uint8_t class_ = 1;
    /// And one that Rust does
    std::uint8_t type;
    std::uint8_t letter = 65;
    std::int8_t trim = -128;
    char notes[2][5];
    /// Phase of the step
    static constexpr std::int8_t SWING = -1;
    static constexpr std::uint64_t MASK = 18446744073709551615u;
    static constexpr std::int64_t LOWEST = (-9223372036854775807 - 1);
    /// Of the canonical schema text.
    static constexpr ::horus::SchemaHash schema_hash{0x468b205574e2dbc3u, 0xf251d3aa7b4cd509u};
};
static_assert(sizeof(Leg) == 264, "size of Leg");
static_assert(alignof(Leg) == 8, "alignment of Leg");
static_assert(std::is_trivially_copyable_v<Leg> && std::is_standard_layout_v<Leg>);
static_assert(offsetof(Leg, timestamp_ns) == 0);
static_assert(offsetof(Leg, contact_time_ns) == 8);
static_assert(offsetof(Leg, phases_ns) == 16);
static_assert(offsetof(Leg, foot) == 32);
static_assert(offsetof(Leg, joints) == 56);
static_assert(offsetof(Leg, lowest) == 120);
static_assert(offsetof(Leg, highest) == 128);
static_assert(offsetof(Leg, axis) == 136);
static_assert(offsetof(Leg, gain) == 160);
static_assert(offsetof(Leg, forces) == 164);
static_assert(offsetof(Leg, forces_count) == 196);
static_assert(offsetof(Leg, notes_count) == 200);
static_assert(offsetof(Leg, steps) == 204);
static_assert(offsetof(Leg, frame_id) == 206);
static_assert(offsetof(Leg, name) == 238);
static_assert(offsetof(Leg, class_) == 250);
static_assert(offsetof(Leg, type) == 251);
static_assert(offsetof(Leg, letter) == 252);
static_assert(offsetof(Leg, trim) == 253);
static_assert(offsetof(Leg, notes) == 254);
HORUS_MESSAGE(Leg, timestamp_ns, contact_time_ns, phases_ns, foot, joints, lowest, highest, axis,
    gain, forces, forces_count, notes_count, steps, frame_id, name, class_, type, letter, trim,
    notes);
#endif  /* HORUS_IMPORTED_FB0172099935F90760DB10BD1F6E654C */

#ifndef HORUS_IMPORTED_B3DE63F6C3A15F6D35F08BFD80212C2D
#define HORUS_IMPORTED_B3DE63F6C3A15F6D35F08BFD80212C2D
/// Echoes of one ping.
///
/// Followed by `std::uint16_t strengths[]`, to the message's end.
struct alignas(8) SonarHeader {
    /// Time of the data, by CLOCK_REALTIME: nanoseconds.
    ///
    /// Its time is that of the ping,
    /// and its frame that of the microphone
    std::uint64_t timestamp_ns;
    /// Of the ping
    Point origin;
    /// Number of `strengths` that follow: count.
    ///
    /// Sound pressure of each echo: pascals.
    ///
    /// (an echo that was lost has none)
    std::uint32_t strengths_count;
    /// Speed of sound in the air: metres per second.
    float speed = 343.0F;
    /// Frame of the data: text.
    char frame_id[32];
    /// Reserved, 0: no unit.
    std::uint8_t _reserved[56];
};
static_assert(sizeof(SonarHeader) == 128, "size of SonarHeader");
static_assert(alignof(SonarHeader) == 8, "alignment of SonarHeader");
static_assert(std::is_trivially_copyable_v<SonarHeader> && std::is_standard_layout_v<SonarHeader>);
static_assert(offsetof(SonarHeader, timestamp_ns) == 0);
static_assert(offsetof(SonarHeader, origin) == 8);
static_assert(offsetof(SonarHeader, strengths_count) == 32);
static_assert(offsetof(SonarHeader, speed) == 36);
static_assert(offsetof(SonarHeader, frame_id) == 40);
static_assert(offsetof(SonarHeader, _reserved) == 72);
HORUS_MESSAGE(SonarHeader, timestamp_ns, origin, strengths_count, speed, frame_id, _reserved);
struct Sonar : ::horus::Framed<SonarHeader, std::uint16_t> {
    /// Of the canonical schema text.
    static constexpr ::horus::SchemaHash schema_hash{0x7467514954121ed9u, 0x4668f49b500af6f2u};
};
HORUS_FRAMED(Sonar, strengths);
#endif  /* HORUS_IMPORTED_B3DE63F6C3A15F6D35F08BFD80212C2D */

#ifndef HORUS_IMPORTED_A39A9D6DA681AE83395AA15286192719
#define HORUS_IMPORTED_A39A9D6DA681AE83395AA15286192719
/// Fields with the names of all keywords of Rust, and of a name that generated Python uses.
struct alignas(1) Keywords {
    std::uint8_t as_;
    std::uint8_t break_;
    std::uint8_t const_;
    std::uint8_t continue_;
    std::uint8_t crate_;
    std::uint8_t else_;
    std::uint8_t enum_;
    std::uint8_t extern_;
    std::uint8_t false_;
    std::uint8_t fn;
    std::uint8_t for_;
    std::uint8_t if_;
    std::uint8_t impl;
    std::uint8_t in_;
    std::uint8_t let;
    std::uint8_t loop;
    std::uint8_t match;
    std::uint8_t mod;
    std::uint8_t move;
    std::uint8_t mut;
    std::uint8_t pub;
    std::uint8_t ref;
    std::uint8_t return_;
    std::uint8_t self_;
    std::uint8_t Self_;
    std::uint8_t static_;
    std::uint8_t struct_;
    std::uint8_t super_;
    std::uint8_t trait;
    std::uint8_t true_;
    std::uint8_t type;
    std::uint8_t unsafe;
    std::uint8_t use;
    std::uint8_t where;
    std::uint8_t while_;
    std::uint8_t async_;
    std::uint8_t await_;
    std::uint8_t dyn;
    std::uint8_t gen;
    std::uint8_t abstract;
    std::uint8_t become;
    std::uint8_t box;
    std::uint8_t do_;
    std::uint8_t final;
    std::uint8_t macro;
    std::uint8_t override;
    std::uint8_t priv;
    std::uint8_t typeof_;
    std::uint8_t unsized;
    std::uint8_t virtual_;
    std::uint8_t yield_;
    std::uint8_t try_;
    std::uint8_t Literal = 1;
    std::uint8_t after_it[3];
    /// Of the canonical schema text.
    static constexpr ::horus::SchemaHash schema_hash{0x45447077e1b7da0fu, 0xd7b4de318fa2fdbbu};
};
static_assert(sizeof(Keywords) == 56, "size of Keywords");
static_assert(alignof(Keywords) == 1, "alignment of Keywords");
static_assert(std::is_trivially_copyable_v<Keywords> && std::is_standard_layout_v<Keywords>);
static_assert(offsetof(Keywords, as_) == 0);
static_assert(offsetof(Keywords, break_) == 1);
static_assert(offsetof(Keywords, const_) == 2);
static_assert(offsetof(Keywords, continue_) == 3);
static_assert(offsetof(Keywords, crate_) == 4);
static_assert(offsetof(Keywords, else_) == 5);
static_assert(offsetof(Keywords, enum_) == 6);
static_assert(offsetof(Keywords, extern_) == 7);
static_assert(offsetof(Keywords, false_) == 8);
static_assert(offsetof(Keywords, fn) == 9);
static_assert(offsetof(Keywords, for_) == 10);
static_assert(offsetof(Keywords, if_) == 11);
static_assert(offsetof(Keywords, impl) == 12);
static_assert(offsetof(Keywords, in_) == 13);
static_assert(offsetof(Keywords, let) == 14);
static_assert(offsetof(Keywords, loop) == 15);
static_assert(offsetof(Keywords, match) == 16);
static_assert(offsetof(Keywords, mod) == 17);
static_assert(offsetof(Keywords, move) == 18);
static_assert(offsetof(Keywords, mut) == 19);
static_assert(offsetof(Keywords, pub) == 20);
static_assert(offsetof(Keywords, ref) == 21);
static_assert(offsetof(Keywords, return_) == 22);
static_assert(offsetof(Keywords, self_) == 23);
static_assert(offsetof(Keywords, Self_) == 24);
static_assert(offsetof(Keywords, static_) == 25);
static_assert(offsetof(Keywords, struct_) == 26);
static_assert(offsetof(Keywords, super_) == 27);
static_assert(offsetof(Keywords, trait) == 28);
static_assert(offsetof(Keywords, true_) == 29);
static_assert(offsetof(Keywords, type) == 30);
static_assert(offsetof(Keywords, unsafe) == 31);
static_assert(offsetof(Keywords, use) == 32);
static_assert(offsetof(Keywords, where) == 33);
static_assert(offsetof(Keywords, while_) == 34);
static_assert(offsetof(Keywords, async_) == 35);
static_assert(offsetof(Keywords, await_) == 36);
static_assert(offsetof(Keywords, dyn) == 37);
static_assert(offsetof(Keywords, gen) == 38);
static_assert(offsetof(Keywords, abstract) == 39);
static_assert(offsetof(Keywords, become) == 40);
static_assert(offsetof(Keywords, box) == 41);
static_assert(offsetof(Keywords, do_) == 42);
static_assert(offsetof(Keywords, final) == 43);
static_assert(offsetof(Keywords, macro) == 44);
static_assert(offsetof(Keywords, override) == 45);
static_assert(offsetof(Keywords, priv) == 46);
static_assert(offsetof(Keywords, typeof_) == 47);
static_assert(offsetof(Keywords, unsized) == 48);
static_assert(offsetof(Keywords, virtual_) == 49);
static_assert(offsetof(Keywords, yield_) == 50);
static_assert(offsetof(Keywords, try_) == 51);
static_assert(offsetof(Keywords, Literal) == 52);
static_assert(offsetof(Keywords, after_it) == 53);
HORUS_MESSAGE(Keywords, as_, break_, const_, continue_, crate_, else_, enum_, extern_, false_, fn,
    for_, if_, impl, in_, let, loop, match, mod, move, mut, pub, ref, return_, self_, Self_,
    static_, struct_, super_, trait, true_, type, unsafe, use, where, while_, async_, await_, dyn,
    gen, abstract, become, box, do_, final, macro, override, priv, typeof_, unsized, virtual_,
    yield_, try_, Literal, after_it);
#endif  /* HORUS_IMPORTED_A39A9D6DA681AE83395AA15286192719 */

}  // namespace robot::msg

#pragma pop_macro("FLOAT32")
#pragma pop_macro("FLOAT64")
#pragma pop_macro("INT8")
#pragma pop_macro("LOWEST")
#pragma pop_macro("MASK")
#pragma pop_macro("POWER_SUPPLY_STATUS_CHARGING")
#pragma pop_macro("POWER_SUPPLY_STATUS_DISCHARGING")
#pragma pop_macro("POWER_SUPPLY_STATUS_UNKNOWN")
#pragma pop_macro("SWING")
#pragma pop_macro("UINT8")
