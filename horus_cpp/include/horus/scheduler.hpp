// Nodes and schedulers for C++17: horus::Scheduler, horus::Node, lambdas, 100_hz.
#ifndef HORUS_SCHEDULER_HPP
#define HORUS_SCHEDULER_HPP

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#if __has_include(<cxxabi.h>)
#include <cxxabi.h>
#endif

#include "error.hpp"
#include "horus.h"
#include "rate.hpp"
#include "subscriber.hpp"

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
    /// Returns true in the safe state (`MissPolicy::safe_mode` only): send nothing that ends it.
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

class NodeBuilder;
namespace detail {
struct Virtual;
}  // namespace detail

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
    /// Is called after the last tick.
    virtual void shutdown() {}
    /// Brings the devices of the node into a state that is safe for people and machine.
    virtual void enter_safe_state() {}
    /// Returns true if the safe state has been reached.
    virtual bool is_safe_state() { return true; }
    /// Is called for each failure, before the policy is applied.
    virtual void on_error(const char *) {}

  private:
    friend class NodeBuilder;
    friend struct detail::Virtual;

    /// The argument of NodeBuilder::safe_state.
    std::function<void()> safe_state_;
};

enum class MissPolicy : std::int32_t {
    warn = HORUS_MISS_WARN,
    skip = HORUS_MISS_SKIP,
    safe_mode = HORUS_MISS_SAFE_MODE,
    graduated = HORUS_MISS_GRADUATED,
    stop = HORUS_MISS_STOP,
};

/// The reaction to a failed tick.
struct FailurePolicy {
    std::int32_t kind = HORUS_UNSET;
    std::uint32_t max = 0;
    std::chrono::nanoseconds pause{0};

    /// Stops the whole scheduler.
    static constexpr FailurePolicy fatal() noexcept { return {HORUS_FAILURE_FATAL, 0, {}}; }
    /// Shuts the node down and initialises it again after a pause, which doubles each time. After
    /// more than `max` failures in a row, the run ends.
    static constexpr FailurePolicy restart(std::uint32_t max,
                                           std::chrono::nanoseconds backoff) noexcept {
        return {HORUS_FAILURE_RESTART, max, backoff};
    }
    /// Skips the tick; after more than `max` failures in a row, the node pauses for `cooldown`.
    static constexpr FailurePolicy skip(std::uint32_t max,
                                        std::chrono::nanoseconds cooldown) noexcept {
        return {HORUS_FAILURE_SKIP, max, cooldown};
    }
    /// Counts and reports the failure; the node continues.
    static constexpr FailurePolicy ignore() noexcept { return {HORUS_FAILURE_IGNORE, 0, {}}; }
};

namespace detail {

/// Runs a callback. Returns 0, or another number after an exception, whose text becomes the error
/// text of the context.
template <typename Call>
std::int32_t trampoline(horus_context_t *context, Call &&call) noexcept {
#if HORUS_EXCEPTIONS
    try {
        call();
        return 0;
    }
#if __has_include(<cxxabi.h>) && defined(__GLIBCXX__)
    // WHY: if it is swallowed, the C library aborts the process without naming pthread_exit.
    catch (abi::__forced_unwind &) {
        std::fputs("horus: a callback must not call pthread_exit\n", stderr);
        std::terminate();
    }
#endif
    catch (const std::exception &error) {
        if (context != nullptr) {
            horus_context_set_error(context, error.what());
        }
    } catch (const char *text) {
        if (context != nullptr) {
            horus_context_set_error(context, text);
        }
    } catch (int number) {
        if (context != nullptr) {
            char text[40];
            std::snprintf(text, sizeof text, "the int %d was thrown", number);
            horus_context_set_error(context, text);
        }
    } catch (...) {
        if (context != nullptr) {
            horus_context_set_error(context, "an object that is not a std::exception was thrown");
        }
    }
    return -1;
#else
    (void)context;
    call();
    return 0;
#endif
}

/// A node made of a callable, which returns nothing, or false or a nonzero number for a failure.
template <typename Tick>
struct Callable {
    Tick tick;
    std::function<void()> on_hang;

    static std::int32_t call(void *user, horus_context_t *raw) noexcept {
        std::int32_t code = 0;
        const std::int32_t thrown = trampoline(raw, [&] {
            Context context(raw);
            auto &tick = static_cast<Callable *>(user)->tick;
            using Result = std::invoke_result_t<Tick &, Context &>;
            if constexpr (std::is_void_v<Result>) {
                tick(context);
            } else if constexpr (std::is_same_v<std::decay_t<Result>, bool>) {
                code = tick(context) ? 0 : -1;
            } else {
                code = tick(context);
            }
        });
        return thrown != 0 ? thrown : code;
    }

    static std::int32_t safe_state(void *user, horus_context_t *raw) noexcept {
        return trampoline(raw, [&] { static_cast<Callable *>(user)->on_hang(); });
    }

    static void destroy(void *user) noexcept {
        trampoline(nullptr, [&] { delete static_cast<Callable *>(user); });
    }
};

/// The C callbacks of a node whose `user` is a Node: each calls a virtual function.
struct Virtual {
    static Node &of(void *user) noexcept { return *static_cast<Node *>(user); }

    static std::int32_t tick(void *user, horus_context_t *raw) noexcept {
        return trampoline(raw, [&] {
            Context context(raw);
            of(user).tick(context);
        });
    }
    static std::int32_t init(void *user, horus_context_t *raw) noexcept {
        return trampoline(raw, [&] {
            Context context(raw);
            of(user).init(context);
        });
    }
    static std::int32_t shutdown(void *user, horus_context_t *raw) noexcept {
        return trampoline(raw, [&] { of(user).shutdown(); });
    }
    static std::int32_t enter_safe_state(void *user, horus_context_t *raw) noexcept {
        return trampoline(raw, [&] { of(user).enter_safe_state(); });
    }
    static std::int32_t is_safe_state(void *user) noexcept {
        bool is_safe = false;
        trampoline(nullptr, [&] { is_safe = of(user).is_safe_state(); });
        return is_safe ? 1 : 0;
    }
    static void on_error(void *user, const char *error) noexcept {
        trampoline(nullptr, [&] { of(user).on_error(error); });
    }
    static std::int32_t safe_state(void *user, horus_context_t *raw) noexcept {
        return trampoline(raw, [&] { of(user).safe_state_(); });
    }
    static void destroy(void *user) noexcept {
        trampoline(nullptr, [&] { delete static_cast<Node *>(user); });
    }
};

}  // namespace detail

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
    /// Declares another topic that the node reads (`writes`: a topic that it writes).
    NodeBuilder &reads(std::string topic) { return reads_.push_back(std::move(topic)), *this; }
    NodeBuilder &writes(std::string topic) { return writes_.push_back(std::move(topic)), *this; }
    /// Runs the node in a pool of threads, for a node that takes long and may be late.
    NodeBuilder &compute() { return options_.is_compute = HORUS_YES, *this; }
    NodeBuilder &budget(std::chrono::nanoseconds time) {
        return options_.budget_ns = ns(time), *this;
    }
    NodeBuilder &deadline(std::chrono::nanoseconds time) {
        return options_.deadline_ns = ns(time), *this;
    }
    NodeBuilder &watchdog(std::chrono::nanoseconds time) {
        return options_.watchdog_ns = ns(time), *this;
    }
    NodeBuilder &min_start_interval(std::chrono::nanoseconds time) {
        return options_.min_start_interval_ns = ns(time), *this;
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
        options_.pause_ns = ns(policy.pause);
        return *this;
    }
    /// Calls `enter` once for each tick of the node that hangs, from another thread. It can, for
    /// instance, send a stop command by a publisher of its own. It must not call the node, because
    /// the tick is running. The node needs a rate, a budget or a watchdog.
    NodeBuilder &safe_state(std::function<void()> enter) {
        return safe_state_ = std::move(enter), *this;
    }
    NodeBuilder &priority(std::int32_t priority) { return options_.priority = priority, *this; }
    NodeBuilder &core(std::uint32_t core) {
        options_.is_pinned = HORUS_YES;
        options_.core = core;
        return *this;
    }
    /// Keeps the CPUs of the machine from idle sleep states, if the system allows it.
    NodeBuilder &stay_awake() { return options_.is_awake = HORUS_YES, *this; }
    NodeBuilder &chain(std::string chain) { return chain_ = std::move(chain), *this; }

    /// Adds the node to the scheduler, which owns it. After an error, the node is destroyed.
    bool build(std::unique_ptr<Node> node, std::error_code &error) {
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
        const bool is_added = detail::done(add(calls), error);
        if (is_added) {
            (void)node.release();
        }
        return is_added;
    }

    /// Adds a callable that takes a Context&, and returns nothing, a bool, or a number.
    template <typename Tick,
              typename = std::enable_if_t<std::is_invocable_v<std::decay_t<Tick> &, Context &>>>
    bool build(Tick &&tick, std::error_code &error) {
        using Callable = detail::Callable<std::decay_t<Tick>>;
        std::unique_ptr<Callable> owned(new Callable{std::forward<Tick>(tick), safe_state_});
        horus_node_t calls{};
        calls.struct_bytes = sizeof calls;
        calls.user = owned.get();
        calls.tick = Callable::call;
        calls.safe_state = safe_state_ ? Callable::safe_state : nullptr;
        calls.destroy = Callable::destroy;
        const bool is_added = detail::done(add(calls), error);
        if (is_added) {
            (void)owned.release();
        }
        return is_added;
    }

#if HORUS_EXCEPTIONS
    template <typename Tick>
    void build(Tick &&node) {
        std::error_code error;
        if (!build(std::forward<Tick>(node), error)) {
            throw Error(error);
        }
    }
#endif

  private:
    friend class Scheduler;

    NodeBuilder(horus_scheduler_t scheduler, std::string name)
        : scheduler_(scheduler), name_(std::move(name)) {
        options_.struct_bytes = sizeof options_;
    }

    static std::uint64_t ns(std::chrono::nanoseconds time) noexcept {
        return static_cast<std::uint64_t>(time.count() < 0 ? 0 : time.count());
    }

    horus_status_t add(const horus_node_t &calls) {
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
        return horus_scheduler_add_node(scheduler_, name_.c_str(), &options_, &calls);
    }

    horus_scheduler_t scheduler_;
    std::string name_;
    horus_node_options_t options_{};
    std::optional<std::string> chain_;
    std::vector<horus_subscriber_t> wake_;
    std::vector<std::string> reads_, writes_;
    std::function<void()> safe_state_;
};

/// An event of a node, or of the scheduler. `line` is the whole event as text for people.
using Event = horus_event_t;

/// The settings of a scheduler. Zeros select the defaults.
struct SchedulerOptions {
    std::string name;
    Rate main_rate{0};
    std::uint32_t compute_threads = 0;
    bool stop_on_signals = false;
    bool use_kernel_clock = false;
    horus_namespace_t name_space{};
    /// Is called for each event, from another thread, some milliseconds after it. If empty,
    /// warnings and errors are printed to stderr. Exceptions that it throws are ignored.
    std::function<void(const Event &)> on_event{};
};

/// Runs nodes. Functions marked "From any thread" may be called by nodes, too; only one thread at a
/// time may call the others.
class Scheduler {
  public:
#if HORUS_EXCEPTIONS
    explicit Scheduler(const SchedulerOptions &options = {}) { detail::done(begin(options)); }
#endif
    Scheduler(const SchedulerOptions &options, std::error_code &error) {
        detail::done(begin(options), error);
    }
    Scheduler(Scheduler &&other) noexcept
        : raw_(std::exchange(other.raw_, {})), on_event_(std::move(other.on_event_)) {}
    Scheduler &operator=(Scheduler &&other) noexcept {
        if (this != &other) {
            close();
            raw_ = std::exchange(other.raw_, {});
            on_event_ = std::move(other.on_event_);
        }
        return *this;
    }
    Scheduler(const Scheduler &) = delete;
    Scheduler &operator=(const Scheduler &) = delete;
    /// Stops the run, and shuts the nodes down. In a callback of the scheduler it only stops the
    /// run: a `run` in progress then shuts the nodes down, and without one nothing does. So call
    /// Context::stop there instead.
    ~Scheduler() { close(); }

    /// Starts the definition of a node with this name: add its settings, then call `build`.
    NodeBuilder node(std::string name) { return NodeBuilder(raw_, std::move(name)); }

    /// Ticks every node without a rate and a topic once, here. Returns false if the run is to stop.
    bool tick_once(std::error_code &error) noexcept {
        return detail::done(horus_scheduler_tick_once(raw_), error);
    }
    /// Initialises the nodes and starts their threads. Returns false if the run is to stop.
    bool start(std::error_code &error) noexcept {
        return detail::done(horus_scheduler_start(raw_), error);
    }
    /// Runs the scheduler for this time: not at all if it is negative, until the run is stopped if
    /// it is horus::forever. Returns false if the run is to stop.
    bool run_for(std::chrono::nanoseconds time, std::error_code &error) noexcept {
        return detail::done(horus_scheduler_run_for(raw_, detail::timeout_ns(time)), error);
    }
    /// Runs the scheduler until it is stopped, and shuts all nodes down. Returns false with
    /// `Errc::failed` if a node failed and ended the run; then `report` has the details.
    bool run(std::error_code &error) noexcept {
        return detail::done(horus_scheduler_run(raw_), error);
    }
    /// Stops the run and shuts all nodes down. Returns the same as `run`.
    bool finish(std::error_code &error) noexcept {
        return detail::done(horus_scheduler_finish(raw_), error);
    }
    /// Returns the report of the run after it has ended.
    horus_report_t report(std::error_code &error) noexcept {
        horus_report_t report{};
        report.struct_bytes = sizeof report;
        detail::done(horus_scheduler_report(raw_, &report), error);
        return report;
    }

    /// From any thread: returns true if the scheduler was started and not stopped yet.
    bool is_running() const noexcept { return horus_scheduler_is_running(raw_) == 1; }
    /// From any thread: stops the run.
    void stop() const noexcept { horus_scheduler_stop(raw_); }
    /// From any thread, as the functions below: stops the ticks of the node until `resume`.
    bool pause(const char *node, std::error_code &error) const noexcept {
        return detail::done(horus_scheduler_pause(raw_, node), error);
    }
    bool resume(const char *node, std::error_code &error) const noexcept {
        return detail::done(horus_scheduler_resume(raw_, node), error);
    }
    bool stop_node(const char *node, std::error_code &error) const noexcept {
        return detail::done(horus_scheduler_stop_node(raw_, node), error);
    }
    bool set_rate(const char *node, Rate rate, std::error_code &error) const noexcept {
        return detail::done(horus_scheduler_set_rate(raw_, node, rate.hz), error);
    }
    horus_metrics_t metrics(const char *node, std::error_code &error) const noexcept {
        horus_metrics_t out{};
        out.struct_bytes = sizeof out;
        detail::done(horus_scheduler_metrics(raw_, node, &out), error);
        return out;
    }

#if HORUS_EXCEPTIONS
    bool tick_once() { return detail::done(horus_scheduler_tick_once(raw_)); }
    bool start() { return detail::done(horus_scheduler_start(raw_)); }
    bool run_for(std::chrono::nanoseconds time) {
        return detail::done(horus_scheduler_run_for(raw_, detail::timeout_ns(time)));
    }
    /// Throws an Error with the code `Errc::failed` if a node failed and ended the run; its text
    /// names the node and the reason. The run has ended then, and `report` has the details.
    /// Otherwise, the process should exit with the exit code of the report.
    horus_report_t run() {
        // WHY a copy: a callback may destroy this object.
        const horus_scheduler_t raw = raw_;
        detail::done(horus_scheduler_run(raw));
        return report_of(raw);
    }
    /// Throws the same errors as `run`.
    horus_report_t finish() {
        // WHY a copy: as above.
        const horus_scheduler_t raw = raw_;
        detail::done(horus_scheduler_finish(raw));
        return report_of(raw);
    }
    horus_report_t report() { return report_of(raw_); }
    void pause(const char *node) const { detail::done(horus_scheduler_pause(raw_, node)); }
    void resume(const char *node) const { detail::done(horus_scheduler_resume(raw_, node)); }
    void stop_node(const char *node) const { detail::done(horus_scheduler_stop_node(raw_, node)); }
    void set_rate(const char *node, Rate rate) const {
        detail::done(horus_scheduler_set_rate(raw_, node, rate.hz));
    }
    horus_metrics_t metrics(const char *node) const {
        horus_metrics_t out{};
        out.struct_bytes = sizeof out;
        detail::done(horus_scheduler_metrics(raw_, node, &out));
        return out;
    }
#endif

    horus_scheduler_t raw() const noexcept { return raw_; }

  private:
    using OnEvent = std::function<void(const Event &)>;

    static void tell(void *user, const horus_event_t *event) noexcept {
        detail::trampoline(nullptr, [&] { (*static_cast<OnEvent *>(user))(*event); });
    }

#if HORUS_EXCEPTIONS
    static horus_report_t report_of(horus_scheduler_t raw) {
        horus_report_t report{};
        report.struct_bytes = sizeof report;
        detail::done(horus_scheduler_report(raw, &report));
        return report;
    }
#endif

    horus_status_t begin(const SchedulerOptions &options) {
        horus_scheduler_options_t raw{};
        if (options.on_event) {
            // WHY on the heap: the scheduler may be moved while an event is reported.
            on_event_ = std::make_unique<OnEvent>(options.on_event);
            raw.on_event = tell;
            raw.on_event_user = on_event_.get();
        }
        raw.struct_bytes = sizeof raw;
        raw.compute_threads = options.compute_threads;
        raw.name = options.name.empty() ? nullptr : options.name.c_str();
        raw.name_space = options.name_space;
        raw.main_rate_hz = options.main_rate.hz;
        raw.stop_on_signals = options.stop_on_signals ? HORUS_YES : HORUS_UNSET;
        raw.use_kernel_clock = options.use_kernel_clock ? HORUS_YES : HORUS_UNSET;
        return horus_scheduler_open(&raw, &raw_);
    }

    void close() noexcept {
        if (raw_.id != 0 && horus_scheduler_close(raw_) != HORUS_OK) {
            // A callback of the scheduler cannot wait for the end of the run.
            horus_scheduler_stop(raw_);
            // WHY never freed: the library still calls it for the events until that end.
            (void)on_event_.release();
        }
        raw_ = {};
    }

    horus_scheduler_t raw_{};
    /// The callback for events. It may be called until the scheduler is closed.
    std::unique_ptr<OnEvent> on_event_;
};

}  // namespace horus

#endif  // HORUS_SCHEDULER_HPP
