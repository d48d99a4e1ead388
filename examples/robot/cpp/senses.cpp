// The node that receives the IMU and the laser scanner.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>

#include <horus/msg.hpp>

#include "check.hpp"
#include "state.hpp"

namespace {

using namespace std::chrono_literals;

/// Maximum silence of a sensor. The robot counts as blind if one is silent for longer.
constexpr auto silence_max = 100ms;

/// A subscription to one topic, with its ledger.
template <class Message, class Last>
class Ear {
  public:
    explicit Ear(const char *topic) : topic_(topic), subscriber_(topic) {}

    /// Passes every message since the last call to `look`, or only the newest if `latest_only`.
    template <class Look>
    void hear(std::chrono::nanoseconds now, bool latest_only, Look look) {
        Message message;
        while (latest_only ? subscriber_.latest(message) : subscriber_.recv(message)) {
            received_++;
            torn_ += !check::matches_checksum<Last>(message);
            heard_ = now;
            look(message);
        }
    }
    bool is_silent(std::chrono::nanoseconds now) const {
        return !heard_ || now - *heard_ > silence_max;
    }
    /// Prints the ledger, and returns true if it accounts for every message.
    bool report() const {
        const horus::Stats stats = subscriber_.stats();
        std::printf(reports_are_json()
                        ? "{\"Received\":{\"reader\":\"controller\",\"topic\":\"%s\",\"sent\":%llu,"
                          "\"received\":%llu,\"lost\":%llu,\"skipped\":%llu,\"torn\":%llu,"
                          "\"latency\":null}}\n"
                        : "%s: sent %llu, received %llu, lost %llu, skipped %llu, torn %llu\n",
                    topic_, count(stats.sent), count(received_), count(stats.lost),
                    count(stats.skipped), count(torn_));
        return received_ + stats.lost + stats.skipped == stats.sent && torn_ == 0;
    }

  private:
    static unsigned long long count(std::uint64_t number) { return number; }

    const char *topic_;
    horus::Subscriber<Message> subscriber_;
    std::uint64_t received_ = 0, torn_ = 0;
    std::optional<std::chrono::nanoseconds> heard_;
};

class Senses : public horus::Node {
  public:
    explicit Senses(State &state) : state_(state) {}

    void tick(horus::Context &context) override {
        hear(context.started());
        state_.is_blind = imu_.is_silent(context.started()) || scan_.is_silent(context.started());
    }
    /// Receives the messages sent after the last tick, and reports the ledgers.
    void shutdown() override {
        hear({});
        const bool imu_adds_up = imu_.report();
        state_.adds_up = scan_.report() && imu_adds_up;
    }

  private:
    void hear(std::chrono::nanoseconds now) {
        double sum = 0;
        int samples = 0;
        imu_.hear(now, false, [&](const horus::Imu &imu) {
            sum += imu.angular_velocity[2];
            samples++;
        });
        if (samples > 0) {
            state_.yaw_rate = sum / samples;
        }
        scan_.hear(now, true, [&](const horus::LaserScan &scan) {
            const auto count = std::min<std::size_t>(scan.count, std::size(scan.ranges));
            float nearest = std::numeric_limits<float>::infinity();
            for (std::size_t at = 0; at < count; at++) {
                nearest = std::fmin(nearest, scan.ranges[at]);
            }
            state_.nearest_m = nearest;
        });
    }

    State &state_;
    Ear<horus::Imu, double> imu_{"imu"};
    Ear<horus::LaserScan, float> scan_{"scan"};
};

}  // namespace

std::unique_ptr<horus::Node> make_senses(State &state) { return std::make_unique<Senses>(state); }
