// The node that sends a command in each of its ticks, and the command to halt at the end.
#include <algorithm>
#include <chrono>
#include <stdexcept>

#include <horus/msg.hpp>

#include "check.hpp"
#include "state.hpp"

namespace {

/// Distance in metres to the nearest object for full speed. If it is nearer, the robot is slower.
constexpr float free_m = 2;
constexpr float speed_max_m_s = 1;
/// Counter-steering, in rad/s for each rad/s that the robot turns.
constexpr double yaw_gain = 0.8;

class Steering : public horus::Node {
  public:
    Steering(const State &state, std::uint64_t &sent) : state_(state), sent_(sent) {}

    void tick(horus::Context &) override {
        horus::CmdVel command{};
        if (state_.yaw_rate && state_.nearest_m && !state_.is_blind) {
            command.linear = speed_max_m_s * std::min(*state_.nearest_m / free_m, 1.0F);
            command.angular = static_cast<float>(-yaw_gain * *state_.yaw_rate);
        }
        send(command);
    }
    void enter_safe_state() override { send({}); }
    void shutdown() override { send({}); }

  private:
    void send(horus::CmdVel command) {
        const std::chrono::nanoseconds now = std::chrono::system_clock::now().time_since_epoch();
        command.timestamp_ns = static_cast<std::uint64_t>(now.count());
        if (!commands_.send(check::sign<float>(command))) {
            throw std::runtime_error("a topic that holds nobody back is full");
        }
        sent_++;
    }

    const State &state_;
    std::uint64_t &sent_;
    horus::Publisher<horus::CmdVel> commands_{"cmd_vel"};
};

}  // namespace

std::unique_ptr<horus::Node> make_steering(const State &state, std::uint64_t &sent) {
    return std::make_unique<Steering>(state, sent);
}
