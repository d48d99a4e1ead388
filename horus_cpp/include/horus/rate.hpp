// Frequencies: horus::Rate, 100_hz, 2_khz.
#ifndef HORUS_RATE_HPP
#define HORUS_RATE_HPP

#include <chrono>

namespace horus {

/// A frequency in hertz.
struct Rate {
    double hz;

    static constexpr Rate every(std::chrono::nanoseconds period) noexcept {
        return Rate{1e9 / static_cast<double>(period.count())};
    }
};

namespace detail {

/// Returns the frequency for the C functions, where 0 stands for no rate, and -0 for a rate of 0.
/// WHY -0: a rate of 0 that a program gives has to be refused.
constexpr double given_hz(Rate rate) noexcept { return rate.hz == 0.0 ? -0.0 : rate.hz; }

}  // namespace detail

inline namespace literals {

constexpr Rate operator""_hz(unsigned long long hz) noexcept {
    return Rate{static_cast<double>(hz)};
}
constexpr Rate operator""_hz(long double hz) noexcept { return Rate{static_cast<double>(hz)}; }
constexpr Rate operator""_khz(unsigned long long khz) noexcept {
    return Rate{static_cast<double>(khz) * 1000.0};
}
constexpr Rate operator""_khz(long double khz) noexcept {
    return Rate{static_cast<double>(khz) * 1000.0};
}

}  // namespace literals

}  // namespace horus

#endif  // HORUS_RATE_HPP
