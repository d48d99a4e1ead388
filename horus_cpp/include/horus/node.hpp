// Node: a part of a program that the scheduler runs; MissPolicy, FailurePolicy.
#ifndef HORUS_NODE_HPP
#define HORUS_NODE_HPP

#include <chrono>
#include <cstdint>
#include <functional>

#include "context.hpp"
#include "error.hpp"
#include "horus.h"

namespace horus {

namespace detail {

HORUS_VARIANT_BEGIN

struct Virtual;

HORUS_VARIANT_END

}  // namespace detail

HORUS_VARIANT_BEGIN

class NodeBuilder;

/// A part of a robot's program that the scheduler runs. An exception in a call is a failure of the
/// node, with the text of the exception. Different threads may make the calls, but never two at the
/// same time.
class Node {
  public:
    Node() = default;
    Node(const Node &) = delete;
    Node &operator=(const Node &) = delete;
    virtual ~Node() = default;

    /// Does the work of one tick.
    virtual void tick(Context &context) = 0;
    /// Is called before the first tick, and again after a restart.
    virtual void init(Context &) {}
    /// Is called after the last tick, and before each restart. At a regular end, such as Ctrl-C with
    /// SchedulerOptions::stop_on_signals, only this is called, and not enter_safe_state: a node that
    /// drives something stops it in both. Without that option, Ctrl-C and SIGTERM end the process at
    /// once, and nothing is called.
    virtual void shutdown() {}
    /// Brings the devices of the node into a state that is safe for people and machine. Is called
    /// in an emergency stop, by a policy, and at the end of a run that failed. A node without it,
    /// such as a lambda, only stops to tick in an emergency stop, and counts as safe; its last
    /// command stays in force.
    virtual void enter_safe_state() {}
    /// Returns true if the safe state has been reached. Is called after enter_safe_state until it
    /// does; until then, the node does not count as safe.
    virtual bool is_safe_state() { return true; }
    /// Is called for each failure, before the policy is applied.
    virtual void on_error(const char *) {}

  private:
    friend class NodeBuilder;
    friend struct detail::Virtual;

    /// The argument of NodeBuilder::safe_state.
    std::function<void()> safe_state_;
};

HORUS_VARIANT_END

/// The reaction to a tick that is late, too long or too early, or misses a checkpoint.
enum class MissPolicy : std::int32_t {
    /// The miss is counted and reported.
    warn = HORUS_MISS_WARN,
    /// The next tick is skipped.
    skip = HORUS_MISS_SKIP,
    /// The node enters its safe state, and leaves it after ten ticks in a row without a miss. It
    /// ticks meanwhile: a tick that sends a command undoes what enter_safe_state did, so it must
    /// send none while Context::in_safe_state.
    safe_mode = HORUS_MISS_SAFE_MODE,
    /// Misses in steps: warning, half the rate, isolation in the safe state, end of the run.
    graduated = HORUS_MISS_GRADUATED,
    /// The run ends, with every node in its safe state.
    stop = HORUS_MISS_STOP,
};

/// The reaction to a failed tick.
struct FailurePolicy {
    std::int32_t kind = HORUS_UNSET;
    std::uint32_t max = 0;
    std::chrono::nanoseconds pause{0};

    /// Stops the whole scheduler.
    static constexpr FailurePolicy fatal() noexcept { return {HORUS_FAILURE_FATAL, 0, {}}; }
    /// Shuts the node down and initialises it again after a pause, which doubles each time, up to a
    /// minute; a longer `backoff` counts as a minute. After more than `max` failures in a row, the
    /// run ends. Failures more than a minute apart are not in a row.
    static constexpr FailurePolicy restart(std::uint32_t max,
                                           std::chrono::nanoseconds backoff) noexcept {
        return {HORUS_FAILURE_RESTART, max, backoff};
    }
    /// Skips the tick; after more than `max` failures in a row, the node pauses for `cooldown`.
    /// Failures more than a minute apart are not in a row.
    static constexpr FailurePolicy skip(std::uint32_t max,
                                        std::chrono::nanoseconds cooldown) noexcept {
        return {HORUS_FAILURE_SKIP, max, cooldown};
    }
    /// Counts and reports the failure; the node continues.
    static constexpr FailurePolicy ignore() noexcept { return {HORUS_FAILURE_IGNORE, 0, {}}; }
};

}  // namespace horus

#endif  // HORUS_NODE_HPP
