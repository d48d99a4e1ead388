// NodeBuilder: the settings of a node, and `build`, which adds it to the scheduler.
#ifndef HORUS_NODE_BUILDER_HPP
#define HORUS_NODE_BUILDER_HPP

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "callback.hpp"
#include "error.hpp"
#include "horus.h"
#include "node.hpp"
#include "options.hpp"
#include "rate.hpp"
#include "subscriber.hpp"

namespace horus {

HORUS_VARIANT_BEGIN

class Scheduler;

/// Collects the settings of a node. `build` adds the node.
class NodeBuilder {
  public:
    /// Sets the order among nodes on one thread: smaller ones tick first.
    NodeBuilder &order(std::int32_t order) { return options_.order = order, *this; }
    /// Runs the node on a thread of its own, at this rate.
    NodeBuilder &rate(Rate rate) { return options_.rate_hz = detail::given_hz(rate), *this; }
    /// Runs the node whenever `subscriber` has messages. The subscriber must stay open while the
    /// scheduler runs, and only the node may use it.
    template <typename T>
    NodeBuilder &on(const Subscriber<T> &subscriber) {
        return wake_.push_back(subscriber.raw()), *this;
    }
    /// Limits the rate of a node that topics wake.
    NodeBuilder &at_most(Rate rate) { return options_.at_most_hz = detail::given_hz(rate), *this; }
    /// Declares another topic that the node reads (`writes`: a topic that it writes), of which
    /// `build` takes at most 128.
    NodeBuilder &reads(std::string topic) { return reads_.push_back(std::move(topic)), *this; }
    NodeBuilder &writes(std::string topic) { return writes_.push_back(std::move(topic)), *this; }
    /// Runs the node in a pool of threads, for a node that takes long and may be late.
    NodeBuilder &compute() { return options_.is_compute = HORUS_YES, *this; }
    /// Sets the longest duration of a tick. `build` refuses a negative time in each setting, and 0
    /// as a budget, deadline or watchdog.
    NodeBuilder &budget(std::chrono::nanoseconds time) {
        return options_.budget_ns = detail::given_ns(time), *this;
    }
    NodeBuilder &deadline(std::chrono::nanoseconds time) {
        return options_.deadline_ns = detail::given_ns(time), *this;
    }
    NodeBuilder &watchdog(std::chrono::nanoseconds time) {
        return options_.watchdog_ns = detail::given_ns(time), *this;
    }
    /// Makes a tick count as a miss if it begins sooner than `time` after the start of the previous
    /// tick. The tick runs all the same: `at_most` makes the node wait.
    NodeBuilder &miss_if_sooner_than(std::chrono::nanoseconds time) {
        return options_.miss_if_sooner_than_ns = detail::time_ns(time), *this;
    }
    NodeBuilder &checkpoints(std::uint64_t number) {
        return options_.checkpoints = number, *this;
    }
    NodeBuilder &on_miss(MissPolicy policy) {
        return options_.on_miss = static_cast<std::int32_t>(policy), *this;
    }
    NodeBuilder &failure_policy(FailurePolicy policy) {
        options_.on_failure = policy.kind;
        options_.failures_max = policy.max;
        options_.pause_ns = detail::time_ns(policy.pause);
        return *this;
    }
    /// Calls `enter` once for each tick of the node that hangs, from another thread. It can, for
    /// instance, send a stop command by a publisher of its own. It must not call the node, because
    /// the tick is running, and must return within some milliseconds: until then, no other node is
    /// watched, and no emergency stop, command or signal is applied. Start a thread for longer
    /// work; the event SAFE_STATE_ENTERED then only means that `enter` has returned. The node needs
    /// a rate, a budget or a watchdog.
    NodeBuilder &safe_state(std::function<void()> enter) {
        return safe_state_ = std::move(enter), *this;
    }
    /// Sets the SCHED_FIFO priority of the node's thread, from 1 to 99, if the system allows it.
    NodeBuilder &priority(std::int32_t priority) {
        return options_.priority = priority == 0 ? HORUS_PRIORITY_ZERO : priority, *this;
    }
    NodeBuilder &core(std::uint32_t core) {
        options_.is_pinned = HORUS_YES;
        options_.core = core;
        return *this;
    }
    /// Keeps the CPUs of the machine from idle sleep states, if the system allows it.
    NodeBuilder &stay_awake() { return options_.is_awake = HORUS_YES, *this; }
    NodeBuilder &chain(std::string chain) { return chain_ = std::move(chain), *this; }

    /// Adds the node to the scheduler, which owns it. After an error, the node is destroyed: if its
    /// destructor makes a call that fails, last_error_message() is about that call.
    bool build(std::unique_ptr<Node> node, std::error_code &error) {
        return detail::done(add_node(node), error);
    }

    /// Adds a callable that takes a Context&, and returns nothing, a bool, or an integer.
    template <typename Tick,
              typename = std::enable_if_t<std::is_invocable_v<std::decay_t<Tick> &, Context &>>>
    bool build(Tick &&tick, std::error_code &error) {
        auto owned = callable(std::forward<Tick>(tick));
        return detail::done(add_callable(owned), error);
    }

#if HORUS_EXCEPTIONS
    /// Throws before it destroys the node, so that the exception has the text of this error.
    void build(std::unique_ptr<Node> node) { (void)detail::done(add_node(node)); }

    template <typename Tick,
              typename = std::enable_if_t<std::is_invocable_v<std::decay_t<Tick> &, Context &>>>
    void build(Tick &&tick) {
        auto owned = callable(std::forward<Tick>(tick));
        (void)detail::done(add_callable(owned));
    }
#endif

  private:
    friend class Scheduler;

    NodeBuilder(horus_scheduler_t scheduler, std::string name)
        : scheduler_(scheduler), name_(std::move(name)) {
        options_.struct_bytes = sizeof options_;
    }

    /// Adds the node, and takes it out of `node` if that succeeds.
    horus_status_t add_node(std::unique_ptr<Node> &node) {
        horus_node_t calls{};
        calls.struct_bytes = sizeof calls;
        calls.user = node.get();
        calls.tick = detail::Virtual::tick;
        calls.init = detail::Virtual::init;
        calls.shutdown = detail::Virtual::shutdown;
        calls.enter_safe_state = detail::Virtual::enter_safe_state;
        calls.is_safe_state = detail::Virtual::is_safe_state;
        calls.on_error = detail::Virtual::on_error;
        calls.destroy = detail::Virtual::destroy;
        if (node == nullptr) {
            calls.tick = nullptr;
        } else if (safe_state_) {
            node->safe_state_ = safe_state_;
            calls.safe_state = detail::Virtual::safe_state;
        }
        return add(calls, node);
    }

    template <typename Tick>
    auto callable(Tick &&tick) const {
        using Callable = detail::Callable<std::decay_t<Tick>>;
        return std::unique_ptr<Callable>(new Callable{std::forward<Tick>(tick), safe_state_});
    }

    /// Adds the callable, and takes it out of `owned` if that succeeds.
    template <typename Callable>
    horus_status_t add_callable(std::unique_ptr<Callable> &owned) {
        horus_node_t calls{};
        calls.struct_bytes = sizeof calls;
        calls.user = owned.get();
        calls.tick = Callable::call;
        calls.safe_state = safe_state_ ? Callable::safe_state : nullptr;
        calls.destroy = Callable::destroy;
        return add(calls, owned);
    }

    template <typename Owned>
    horus_status_t add(const horus_node_t &calls, std::unique_ptr<Owned> &owned) {
        std::vector<const char *> reads, writes;
        for (const std::string &topic : reads_) {
            reads.push_back(topic.c_str());
        }
        for (const std::string &topic : writes_) {
            writes.push_back(topic.c_str());
        }
        options_.chain = chain_ ? chain_->c_str() : nullptr;
        options_.wake = wake_.data();
        options_.wake_count = wake_.size();
        options_.reads = reads.data();
        options_.reads_count = reads.size();
        options_.writes = writes.data();
        options_.writes_count = writes.size();
        const horus_status_t status =
            horus_scheduler_add_node(scheduler_, name_.c_str(), &options_, &calls);
        if (status == HORUS_OK) {
            (void)owned.release();
        }
        return status;
    }

    horus_scheduler_t scheduler_;
    std::string name_;
    horus_node_options_t options_{};
    std::optional<std::string> chain_;
    std::vector<horus_subscriber_t> wake_;
    std::vector<std::string> reads_, writes_;
    std::function<void()> safe_state_;
};

HORUS_VARIANT_END

}  // namespace horus

#endif  // HORUS_NODE_BUILDER_HPP
