// The state that the controller's nodes share; they tick in turn on one thread.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include <horus/horus.hpp>

/// The robot's knowledge of itself and of its surroundings.
struct State {
    /// Mean yaw rate of the samples since the last tick, in rad/s.
    std::optional<double> yaw_rate;
    /// Distance of the nearest object, in metres.
    std::optional<float> nearest_m;
    /// True if a sensor has been silent for too long.
    bool is_blind = true;
    /// True if the ledgers account for every message.
    bool adds_up = true;
};

/// Returns true if reports are JSON, for programs, and not text.
inline bool reports_are_json() {
    const char *reports = std::getenv("ROBOT_REPORTS");
    return reports != nullptr && std::strcmp(reports, "json") == 0;
}

/// Makes the node that receives the sensors: senses.cpp.
std::unique_ptr<horus::Node> make_senses(State &state);

/// Makes the node that sends a command in each tick and counts it in `sent`: steering.cpp.
std::unique_ptr<horus::Node> make_steering(const State &state, std::uint64_t &sent);
