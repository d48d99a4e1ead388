// Scheduler: runs nodes, which are a horus::Node or a lambda, for instance with 100_hz.
#ifndef HORUS_SCHEDULER_HPP
#define HORUS_SCHEDULER_HPP

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "callback.hpp"
#include "error.hpp"
#include "horus.h"
#include "node_builder.hpp"
#include "rate.hpp"

namespace horus {

HORUS_VARIANT_BEGIN

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
    /// Is called for each event by the thread that watches the nodes, some milliseconds after it.
    /// It must return soon: until then, no emergency stop, command or signal is applied, and no
    /// node is found that hangs. Hand slow work to a thread of your own. If empty, warnings and
    /// errors are logged if the process has opened its log, and printed to stderr otherwise.
    /// Exceptions that it throws are ignored. The destructor of the scheduler waits for a call for
    /// about a second, and frees the function unless the call hangs.
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

    /// Ticks every node that has neither a rate, a topic nor `compute` once, here. Returns false if
    /// the run is to stop.
    bool tick_once(std::error_code &error) noexcept {
        return detail::done(horus_scheduler_tick_once(raw_), error);
    }
    /// Initialises the nodes and starts their threads. Blocks until each `init` has returned.
    /// Returns false if the run is to stop.
    bool start(std::error_code &error) noexcept {
        return detail::done(horus_scheduler_start(raw_), error);
    }
    /// Ticks the nodes of this thread for this time, and returns: at once if it is negative, when
    /// the run is stopped if it is horus::forever. The run goes on: nodes with threads of the
    /// library tick also after the call, until `finish`, `stop` or the destructor. (`run_for` in
    /// Python ends the run.) Returns false if the run is to stop.
    bool run_for(std::chrono::nanoseconds time, std::error_code &error) noexcept {
        return detail::done(horus_scheduler_run_for(raw_, detail::timeout_ns(time)), error);
    }
    /// Runs the scheduler until it is stopped, and shuts all nodes down. Returns false with
    /// `Errc::failed` if a node failed and ended the run; then `report` has the details.
    bool run(std::error_code &error) noexcept {
        return detail::done(horus_scheduler_run(raw_), error);
    }
    /// Stops the run and shuts all nodes down. Blocks for at most a second, unless a call of a node
    /// other than a tick, or a tick on this thread, does not return. Returns the same as `run`.
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
    /// From any thread, as the functions below: stops the ticks of the node until `resume`. What it
    /// has set in motion keeps moving.
    bool pause(const char *node, std::error_code &error) const noexcept {
        return detail::done(horus_scheduler_pause(raw_, node), error);
    }
    bool resume(const char *node, std::error_code &error) const noexcept {
        return detail::done(horus_scheduler_resume(raw_, node), error);
    }
    /// Calls `shutdown` of the node, and not `enter_safe_state`; it ticks no more in this run.
    bool stop_node(const char *node, std::error_code &error) const noexcept {
        return detail::done(horus_scheduler_stop_node(raw_, node), error);
    }
    /// Changes the rate of the node, and of all nodes of its chain. Budget and deadline follow,
    /// unless they were set; horus::Errc::node if these do not fit.
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
            // WHY never freed: the library still calls it for the events until that end; or a call
            // of it hangs, and uses it.
            (void)on_event_.release();
        }
        raw_ = {};
    }

    horus_scheduler_t raw_{};
    /// The callback for events. It may be called until the scheduler is closed.
    std::unique_ptr<OnEvent> on_event_;
};

HORUS_VARIANT_END

}  // namespace horus

#endif  // HORUS_SCHEDULER_HPP
