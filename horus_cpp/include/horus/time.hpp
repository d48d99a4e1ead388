// timestamp_now_ns(): the time for fields such as `timestamp_ns`.
#ifndef HORUS_TIME_HPP
#define HORUS_TIME_HPP

#include <cstdint>
#include <time.h>

namespace horus {

/// Returns the present time for the field `timestamp_ns` of a message: nanoseconds of
/// CLOCK_REALTIME since 1970.
inline std::uint64_t timestamp_now_ns() noexcept {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
           static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace horus

#endif  // HORUS_TIME_HPP
