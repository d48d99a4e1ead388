// Code that the C++ programs of the tests share: checks, and messages.
#ifndef HORUS_TESTS_CHECK_HPP
#define HORUS_TESTS_CHECK_HPP

#include <cstdio>
#include <cstdlib>

#include <horus/horus.hpp>
#include <horus/msg.hpp>

// Ends the program unless a condition holds.
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            std::fprintf(stderr, "%s:%d: %s; last error: %s\n", __FILE__, __LINE__, #condition,    \
                         horus::last_error_message());                                             \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

namespace robot {

struct Pair {
    std::uint64_t first;
    std::uint64_t second;
};
HORUS_MESSAGE(Pair, first, second);

enum class Mode : std::uint8_t { idle, moving };

/// A message with every type of field.
struct Everything {
    std::uint64_t u64;
    std::int64_t i64;
    double f64;
    Pair pairs[3];
    horus::Point3 corners[2][2];
    std::array<double, 3> vector;
    float matrix[2][3];
    std::uint32_t u32;
    std::int32_t i32;
    std::uint16_t u16;
    std::int16_t i16;
    char names[2][16];
    char name[9];
    std::uint8_t u8;
    std::int8_t i8;
    Mode mode;
};
HORUS_MESSAGE(Everything, u64, i64, f64, pairs, corners, vector, matrix, u32, i32, u16, i16, names,
              name, u8, i8, mode);

}  // namespace robot

/// A message without a namespace.
struct Wheel {
    float metres;
};
HORUS_MESSAGE(Wheel, metres);

/// A header for data of the user's own.
struct SonarHeader {
    std::uint64_t timestamp_ns;
    std::uint64_t echoes;
};
HORUS_MESSAGE(SonarHeader, timestamp_ns, echoes);
struct Sonar : horus::Framed<SonarHeader, float> {};
HORUS_FRAMED(Sonar, strengths);

#endif  // HORUS_TESTS_CHECK_HPP
