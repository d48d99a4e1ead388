// What the nodes of the controller share: they take turns on one thread.
#pragma once

#include <memory>
#include <optional>

#include <horus/horus.hpp>

/// What the robot knows of itself and of what is around it.
struct State {
    /// Mean of the samples since the last turn, rad/s.
    std::optional<double> yaw_rate;
    /// The nearest thing, metres.
    std::optional<float> nearest_m;
    /// A sensor has been silent for too long.
    bool is_blind = true;
};

/// The node that hears the sensors: senses.cpp.
std::unique_ptr<horus::Node> make_senses(State &state);

/// The node that sends a command in each of its turns: steering.cpp. Counts them in `sent`.
std::unique_ptr<horus::Node> make_steering(const State &state, std::uint64_t &sent);
