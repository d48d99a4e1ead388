// Context: what a callback of a node can ask about its tick, and request.
#ifndef HORUS_CONTEXT_HPP
#define HORUS_CONTEXT_HPP

#include <chrono>
#include <cstdint>

#include "horus.h"

namespace horus {

/// The context of one tick. It is valid only during the callback, on the thread of the callback.
class Context {
  public:
    explicit Context(horus_context_t *raw) noexcept : raw_(raw) {}

    /// Returns the number of this tick of this node, from 0 on.
    std::uint64_t tick() const noexcept { return horus_context_tick(raw_); }
    /// Returns the due time of the tick (`started`: its start time), by CLOCK_MONOTONIC.
    std::chrono::nanoseconds scheduled() const noexcept {
        return ns(horus_context_scheduled_ns(raw_));
    }
    std::chrono::nanoseconds started() const noexcept { return ns(horus_context_started_ns(raw_)); }
    /// Returns the time from one tick to the next; zero without a rate.
    std::chrono::nanoseconds period() const noexcept { return ns(horus_context_period_ns(raw_)); }
    /// Returns the rest of the budget; zero if it is used up, the maximum if there is no budget.
    std::chrono::nanoseconds budget_left() const noexcept {
        return ns(horus_context_budget_left_ns(raw_));
    }
    /// Returns true in the safe state: send nothing that ends it. Only with
    /// `MissPolicy::safe_mode`, and with `graduated` after an isolation.
    bool in_safe_state() const noexcept { return horus_context_in_safe_state(raw_) != 0; }
    /// Returns 64 random bits from the generator of this node. Not for secrets.
    std::uint64_t random() noexcept { return horus_context_random(raw_); }
    /// Returns a random number from 0 to 1, excluding 1.
    double random_double() noexcept { return horus_context_random_double(raw_); }
    /// Passes a checkpoint: a tick passes 1, 2, and so on, up to NodeBuilder::checkpoints.
    void checkpoint(std::uint64_t number) noexcept { horus_context_checkpoint(raw_, number); }
    /// Stops the scheduler after this tick.
    void stop() noexcept { horus_context_stop(raw_); }
    /// Sets the error text of a callback that fails by its return value, not by an exception.
    void set_error(const char *error) noexcept { horus_context_set_error(raw_, error); }

    horus_context_t *raw() const noexcept { return raw_; }

  private:
    static std::chrono::nanoseconds ns(std::uint64_t number) noexcept {
        constexpr auto most = static_cast<std::uint64_t>(INT64_MAX);
        return std::chrono::nanoseconds(static_cast<std::int64_t>(number < most ? number : most));
    }

    horus_context_t *raw_;
};

}  // namespace horus

#endif  // HORUS_CONTEXT_HPP
