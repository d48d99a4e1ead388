// Nodes in C++: an exception in any callback, on any executor, is a failure of the node.
#include <horus/horus.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>

#define CHECK(condition)                                                                          \
    do {                                                                                          \
        if (!(condition)) {                                                                       \
            std::fprintf(stderr, "%s:%d: %s; last error: %s\n", __FILE__, __LINE__, #condition,   \
                         horus::last_error_message());                                            \
            std::_Exit(1);                                                                        \
        }                                                                                         \
    } while (0)

using namespace horus::literals;
using namespace std::chrono_literals;

static_assert((100_hz).hz == 100 && (0.5_khz).hz == 500 && horus::Rate::every(10ms).hz == 100);

// Defined in another translation unit.
std::unique_ptr<horus::Node> counter_elsewhere(std::atomic<int> &ticks);
void add_lambda_elsewhere(horus::Scheduler &scheduler, std::atomic<int> &ticks);

struct Wake {
    std::uint64_t number;
};
HORUS_MESSAGE(Wake, number);

/// LeakSanitizer calls it: a scheduler that is destroyed in a callback, or while a call of its
/// `on_event` hangs, leaks its `on_event`.
extern "C" const char *__lsan_default_suppressions();
extern "C" const char *__lsan_default_suppressions() { return "leak:horus::Scheduler::begin"; }

namespace {

/// Waits for an event that must happen, with a limit for slow machines.
void wait_for(const std::function<bool()> &condition) {
    const auto limit = std::chrono::steady_clock::now() + 120s;
    while (!condition()) {
        CHECK(std::chrono::steady_clock::now() < limit);
        std::this_thread::sleep_for(1ms);
    }
}

struct NoException {};

struct Thrown {
    const char *said;
    void (*act)();
};

const Thrown what_is_thrown[] = {
    {"the wheel fell off", [] { throw std::runtime_error("the wheel fell off"); }},
    {"std::bad_alloc", [] { throw std::bad_alloc(); }},
    {"the int 42 was thrown", [] { throw 42; }},
    {"only text", [] { throw "only text"; }},
    {"an object that is not a std::exception was thrown", [] { throw NoException{}; }},
    {"an object that is not a std::exception was thrown", [] { throw std::string("a string"); }},
};

enum class Executor { main, rate, compute, event };
enum class Place { tick, init, shutdown, safe_state };

/// A node that throws in one of its callbacks, and records the errors reported to it.
class Throws : public horus::Node {
  public:
    struct Notes {
        std::atomic<int> errors{0}, ticks{0}, shutdowns{0}, destroyed{0};
        std::mutex lock;
        std::string said;
    };

    Throws(const Thrown &thrown, Place place, Notes &notes,
           std::unique_ptr<horus::Subscriber<Wake>> subscriber)
        : thrown_(thrown), place_(place), notes_(notes), subscriber_(std::move(subscriber)) {}
    ~Throws() override {
        notes_.destroyed++;
    }

    void init(horus::Context &) override { act(Place::init); }
    void tick(horus::Context &) override {
        notes_.ticks++;
        act(Place::tick);
        if (place_ == Place::safe_state) {
            throw std::logic_error("safe state, please");
        }
    }
    void shutdown() override {
        notes_.shutdowns++;
        act(Place::shutdown);
    }
    void enter_safe_state() override { act(Place::safe_state); }
    bool is_safe_state() override { throw 1; }
    void on_error(const char *error) override {
        {
            const std::lock_guard<std::mutex> guard(notes_.lock);
            notes_.said = error;
        }
        notes_.errors++;
        throw std::runtime_error("and that is nothing");
    }

  private:
    void act(Place place) const {
        if (place == place_) {
            thrown_.act();
        }
    }

    const Thrown &thrown_;
    Place place_;
    Notes &notes_;
    std::unique_ptr<horus::Subscriber<Wake>> subscriber_;
};

/// One row of the matrix.
void throws(const Thrown &thrown, Executor executor, Place place, horus::FailurePolicy policy) {
    Throws::Notes notes;
    horus_report_t report;
    {
        horus::Scheduler scheduler;
        auto builder = scheduler.node("throws");
        builder.failure_policy(policy);
        std::unique_ptr<horus::Subscriber<Wake>> subscriber;
        std::unique_ptr<horus::Publisher<Wake>> publisher;
        if (executor == Executor::rate) {
            builder.rate(200_hz);
        } else if (executor == Executor::compute) {
            builder.rate(200_hz).compute();
        } else if (executor == Executor::event) {
            publisher = std::make_unique<horus::Publisher<Wake>>("wake");
            subscriber = std::make_unique<horus::Subscriber<Wake>>("wake");
            builder.on(*subscriber);
            CHECK(publisher->send(Wake{1}));
        }
        builder.build(std::make_unique<Throws>(thrown, place, notes, std::move(subscriber)));
        std::error_code outcome, none;
        std::thread runner([&] {
            scheduler.run(outcome);
            report = scheduler.report(none);
        });
        const bool is_fatal = policy.kind == HORUS_FAILURE_FATAL;
        if (place == Place::shutdown) {
            wait_for([&] { return notes.ticks > 0; });
            scheduler.stop();
        } else if (!is_fatal) {
            wait_for([&] { return notes.errors > 1; });
            CHECK(scheduler.is_running());
            scheduler.stop();
        }
        runner.join();
        if (is_fatal && place != Place::shutdown) {
            CHECK(report.reason == HORUS_REASON_NODE && report.exit_code == 1);
            CHECK(outcome == horus::Errc::failed && !none);
            CHECK(std::strcmp(report.node, "throws") == 0);
            const char *said = place == Place::safe_state ? "safe state, please" : thrown.said;
            CHECK(std::strcmp(report.error, said) == 0);
        } else {
            CHECK(report.reason == HORUS_REASON_REQUESTED && report.exit_code == 0 && !outcome);
        }
        // A failure in shutdown is only reported.
        CHECK(place == Place::shutdown || scheduler.metrics("throws").failures >= 1);
    }
    CHECK(notes.destroyed == 1);
    if (place == Place::tick) {
        CHECK(notes.said == thrown.said);
    }
}

void exception_matrix() {
    const horus::FailurePolicy fatal = horus::FailurePolicy::fatal();
    const horus::FailurePolicy ignore = horus::FailurePolicy::ignore();
    for (const Thrown &thrown : what_is_thrown) {
        for (const Executor executor :
             {Executor::main, Executor::rate, Executor::compute, Executor::event}) {
            throws(thrown, executor, Place::tick, fatal);
            throws(thrown, executor, Place::tick, ignore);
        }
        throws(thrown, Executor::main, Place::init, fatal);
        throws(thrown, Executor::rate, Place::init, fatal);
        throws(thrown, Executor::main, Place::shutdown, fatal);
        throws(thrown, Executor::rate, Place::safe_state, fatal);
    }
    std::printf("exceptions\n");
}

/// A pthread_cancel in a callback waits until its thread has left the library.
void cancelled(bool is_own_thread) {
    std::atomic<pthread_t> where{};
    std::atomic<int> ticks{0};
    std::atomic<bool> is_known{false}, has_returned{false};
    horus::Scheduler scheduler;
    auto builder = scheduler.node("sleeps");
    if (is_own_thread) {
        builder.rate(100_hz).budget(9ms).deadline(10ms);
    }
    builder.build([&](horus::Context &) {
        where = pthread_self();
        is_known = true;
        // A cancellation point.
        usleep(100);
        ticks++;
    });
    std::thread runner([&] {
        scheduler.run();
        has_returned = true;
        if (!is_own_thread) {
            for (;;) {
                pthread_testcancel();
            }
        }
    });
    wait_for([&] { return is_known.load(); });
    CHECK(pthread_cancel(where) == 0);
    const int before = ticks;
    wait_for([&] { return ticks > before + 3; });
    CHECK(scheduler.is_running() && scheduler.metrics("sleeps").failures == 0);
    scheduler.stop();
    runner.join();
    CHECK(has_returned);
}

/// A node that hangs until it is released.
class Hangs : public horus::Node {
  public:
    explicit Hangs(const std::atomic<bool> &released) : released_(released) {}
    void tick(horus::Context &) override {
        wait_for([&] { return released_.load(); });
    }

  private:
    const std::atomic<bool> &released_;
};

/// The callback for a hanging tick is called once, and its exception is recorded.
void hung(bool is_object, bool hook_throws) {
    // WHY static: the thread of the node outlives its scheduler.
    static std::atomic<bool> released[4];
    std::atomic<bool> &is_released = released[is_object * 2 + hook_throws];
    std::atomic<int> halts{0};
    std::atomic<int> failures{0};
    horus::SchedulerOptions options;
    options.on_event = [&](const horus::Event &event) {
        failures += std::strstr(event.text, "no halt today") != nullptr;
    };
    horus::Scheduler scheduler(options);
    auto builder = scheduler.node("hangs");
    builder.rate(100_hz).safe_state([&, hook_throws] {
        halts++;
        if (hook_throws) {
            throw std::runtime_error("no halt today");
        }
    });
    if (is_object) {
        builder.build(std::make_unique<Hangs>(is_released));
    } else {
        builder.build([&](horus::Context &) { wait_for([&] { return is_released.load(); }); });
    }
    std::error_code error;
    CHECK(!scheduler.run(error) && error == horus::Errc::failed);
    CHECK(std::strstr(horus::last_error_message(), "does not end") != nullptr);
    // WHY: on a slow machine, events are reported after the run.
    wait_for([&] { return failures == hook_throws; });
    CHECK(halts == 1);
    is_released = true;
}

void signals() {
    horus::SchedulerOptions options;
    options.stop_on_signals = true;
    horus::Scheduler scheduler(options);
    scheduler.node("raises").rate(100_hz).build([](horus::Context &context) {
        if (context.tick() == 2) {
            CHECK(kill(getpid(), SIGTERM) == 0);
        }
    });
    const horus_report_t report = scheduler.run();
    CHECK(report.reason == HORUS_REASON_SIGNAL && report.signal == SIGTERM);
    CHECK(report.exit_code == 128 + SIGTERM);
}

void results_of_lambdas() {
    horus::Scheduler scheduler;
    int calls = 0;
    scheduler.node("nothing").order(1).build([&](horus::Context &) { calls++; });
    scheduler.node("bool").failure_policy(horus::FailurePolicy::ignore())
        .build([&](horus::Context &context) {
            context.set_error("it said no");
            return context.tick() % 2 == 0;
        });
    scheduler.node("number").failure_policy(horus::FailurePolicy::ignore())
        .build([owned = std::make_unique<int>(5)](horus::Context &) { return *owned; });
    bool is_good = true;
    scheduler.node("reference").failure_policy(horus::FailurePolicy::ignore())
        .build([&](horus::Context &) -> const bool & { return is_good; });
    // None of these is 0, although its lowest 32 bits are.
    const auto wide = [&](const char *name, auto number) {
        scheduler.node(name).failure_policy(horus::FailurePolicy::ignore())
            .build([number](horus::Context &) { return number; });
    };
    wide("wide", std::int64_t{1} << 32);
    wide("unsigned", std::uint64_t{1} << 63);
    std::error_code error;
    CHECK(!scheduler.node("bool").build([](horus::Context &) {}, error));
    CHECK(error == horus::Errc::node);
    CHECK(!scheduler.node("null").build(std::unique_ptr<horus::Node>(), error));
    CHECK(error == horus::Errc::null);
    const auto says = [](const char *part) {
        return std::strstr(horus::last_error_message(), part) != nullptr;
    };
    for (const auto &[rate, part] : {std::pair(horus::Rate{-1}, "not -1"), std::pair(0_hz, "not 0")}) {
        CHECK(!scheduler.node("slow").rate(rate).build([](horus::Context &) {}, error));
        CHECK(error == horus::Errc::node && says(part));
        CHECK(!scheduler.node("slow").at_most(rate).build([](horus::Context &) {}, error));
        CHECK(error == horus::Errc::node && says(part));
    }
    for (int i = 0; i < 10; i++) {
        CHECK(scheduler.tick_once());
    }
    CHECK(calls == 10 && scheduler.metrics("bool").failures == 5);
    CHECK(scheduler.metrics("number").failures == 10);
    CHECK(scheduler.metrics("reference").failures == 0);
    CHECK(scheduler.metrics("wide").failures == 10);
    CHECK(scheduler.metrics("unsigned").failures == 10);
    horus::Scheduler moved = std::move(scheduler);
    CHECK(moved.is_running() && moved.tick_once());
    moved.pause("nothing");
    CHECK(moved.tick_once() && calls == 11);
    CHECK(!moved.set_rate("nothing", 5_hz, error) && error == horus::Errc::node);
    CHECK(moved.finish().reason == HORUS_REASON_DURATION_ELAPSED);
    CHECK(!moved.tick_once(error) && error == horus::Errc::state);
    horus::Scheduler empty;
    CHECK(!empty.run(error) && error == horus::Errc::node);
}

/// A negative time, as of a wrong difference, is refused and not replaced by a default; 0 as well,
/// where it would make each tick late.
void wrong_times_are_refused() {
    struct Setting {
        const char *name;
        std::function<void(horus::NodeBuilder &, std::chrono::nanoseconds)> set;
        std::optional<horus::Errc> zero;
    };
    const Setting settings[] = {
        {"budget", [](auto &node, auto time) { node.budget(time); }, horus::Errc::node},
        {"deadline", [](auto &node, auto time) { node.deadline(time); }, horus::Errc::node},
        {"watchdog", [](auto &node, auto time) { node.watchdog(time); }, horus::Errc::node},
        {"miss_if_sooner_than", [](auto &node, auto time) { node.miss_if_sooner_than(time); }, {}},
        {"pause",
         [](auto &node, auto time) { node.failure_policy(horus::FailurePolicy::skip(1, time)); },
         {}},
    };
    horus::Scheduler scheduler;
    for (const Setting &setting : settings) {
        const auto built = [&](std::chrono::nanoseconds time, std::error_code &error) {
            auto builder = scheduler.node(setting.name);
            builder.rate(100_hz);
            setting.set(builder, time);
            return builder.build([](horus::Context &) {}, error);
        };
        std::error_code error;
        for (const auto time : {-1ns, std::chrono::nanoseconds::min()}) {
            CHECK(!built(time, error) && error == horus::Errc::argument);
            CHECK(std::strstr(horus::last_error_message(), setting.name) != nullptr);
        }
        CHECK(built(0ns, error) == !setting.zero);
        CHECK(setting.zero ? error == *setting.zero : !error);
    }
}

/// A priority that was computed and is 0 by mistake is refused.
void a_priority_of_0_is_refused() {
    horus::Scheduler scheduler;
    auto builder = scheduler.node("planner");
    builder.rate(100_hz).priority(0);
    std::error_code error;
    CHECK(!builder.build([](horus::Context &) {}, error) && error == horus::Errc::argument);
    CHECK(std::strstr(horus::last_error_message(), "priority is 0") != nullptr);
}

/// An exception has the text of its own error, although the refused node fails in its destructor.
void a_refused_node_does_not_replace_the_error() {
    class Fails : public horus::Node {
      public:
        ~Fails() override {
            std::error_code error;
            CHECK(!horus::Subscriber<Wake>::open("no topic, this", {}, error));
        }
        void tick(horus::Context &) override {}
    };
    horus::Scheduler scheduler;
    const auto said = [&](auto node) -> std::string {
        try {
            scheduler.node("late").rate(100_hz).budget(-1ns).build(std::move(node));
        } catch (const horus::Error &error) {
            CHECK(error.code() == horus::Errc::argument);
            return error.what();
        }
        return "";
    };
    CHECK(said(std::make_unique<Fails>()).find("budget_ns is -1") != std::string::npos);
    auto callable = [fails = std::make_unique<Fails>()](horus::Context &) { (void)fails; };
    CHECK(said(std::move(callable)).find("budget_ns is -1") != std::string::npos);
}

void other_translation_units() {
    std::atomic<int> ticks{0};
    horus::Scheduler scheduler;
    scheduler.node("here").build([&](horus::Context &) { ticks++; });
    scheduler.node("there").build(counter_elsewhere(ticks));
    add_lambda_elsewhere(scheduler, ticks);
    for (int i = 0; i < 10; i++) {
        CHECK(scheduler.tick_once());
    }
    CHECK(ticks == 30);
}

/// Events arrive after a scheduler was moved, and when the callback throws.
void events_are_told() {
    std::atomic<int> told{0};
    horus::SchedulerOptions options;
    options.on_event = [&](const horus::Event &event) {
        const bool is_false = std::string(event.text).find("returned false") != std::string::npos;
        told += std::string(event.node) == "fails" && event.level == 2 && is_false;
        throw 1;
    };
    horus::Scheduler first(options);
    horus::Scheduler scheduler(std::move(first));
    scheduler.node("fails").failure_policy(horus::FailurePolicy::ignore()).build(
        [](horus::Context &) { return false; });
    CHECK(scheduler.tick_once());
    wait_for([&] { return told > 0; });
    scheduler.finish();
}

/// A call of `on_event` that has begun keeps what it has captured, although the scheduler is gone.
void an_event_callback_that_hangs() {
    // WHY static: the call outlives this function.
    static std::atomic<bool> has_begun, may_return;
    std::weak_ptr<int> captured;
    {
        const auto owned = std::make_shared<int>(5);
        captured = owned;
        horus::SchedulerOptions options;
        options.on_event = [owned](const horus::Event &) {
            has_begun = true;
            wait_for([&] { return may_return.load(); });
        };
        horus::Scheduler scheduler(options);
        scheduler.node("ticks").build([](horus::Context &) {});
        scheduler.start();
        wait_for([&] { return has_begun.load(); });
    }
    CHECK(!captured.expired());
    may_return = true;
}

/// A negative time is over at once; `forever` lasts until the run is stopped.
void run_for_takes_every_time() {
    horus::Scheduler scheduler;
    scheduler.node("stops").build([](horus::Context &context) {
        if (context.tick() == 3) {
            context.stop();
        }
    });
    std::error_code error;
    CHECK(scheduler.run_for(-1ns) && scheduler.run_for(std::chrono::nanoseconds::min(), error));
    CHECK(!scheduler.run_for(horus::forever, error) && !error);
    CHECK(scheduler.metrics("stops").ticks == 4);
}

enum class Ends { by_destruction, by_assignment, on_another_thread, in_an_event };

/// A scheduler that one of its callbacks destroys or replaces: its run ends, and the later events
/// are reported.
void ended_by_a_callback(Ends how) {
    // WHY static: on a slow machine, events are reported after the run.
    static std::atomic<int> told, ticks;
    static std::optional<horus::Scheduler> scheduler;
    told = 0;
    ticks = 0;
    horus::SchedulerOptions options;
    options.on_event = [how](const horus::Event &event) {
        if (std::strstr(event.text, "no wheel") == nullptr) {
            return;
        }
        if (how == Ends::in_an_event) {
            scheduler.reset();
        }
        told++;
    };
    scheduler.emplace(options);
    // Destroying the scheduler in a callback leaves its handle open.
    const horus_scheduler_t raw = scheduler->raw();
    auto builder = scheduler->node("ends");
    builder.failure_policy(horus::FailurePolicy::ignore());
    if (how == Ends::on_another_thread) {
        builder.rate(100_hz);
    }
    builder.build([how](horus::Context &context) {
        ticks++;
        if (how == Ends::by_assignment) {
            *scheduler = horus::Scheduler();
        } else if (how != Ends::in_an_event) {
            scheduler.reset();
        }
        context.set_error("no wheel");
        return false;
    });
    if (how == Ends::on_another_thread) {
        scheduler->start();
        wait_for([&] { return ticks > 0 && horus_scheduler_is_running(raw) == 0; });
        CHECK(horus_scheduler_finish(raw) == HORUS_OK);
    } else {
        CHECK(scheduler->run().reason == HORUS_REASON_REQUESTED);
    }
    CHECK(ticks == 1 || how == Ends::in_an_event);
    wait_for([&] { return told > 0; });
    CHECK(scheduler.has_value() == (how == Ends::by_assignment));
    CHECK(!scheduler || scheduler->tick_once());
    scheduler.reset();
    CHECK(horus_scheduler_close(raw) == HORUS_OK);
}

}  // namespace

int main() {
    results_of_lambdas();
    wrong_times_are_refused();
    a_priority_of_0_is_refused();
    a_refused_node_does_not_replace_the_error();
    run_for_takes_every_time();
    for (const Ends how : {Ends::by_destruction, Ends::by_assignment, Ends::on_another_thread,
                           Ends::in_an_event}) {
        ended_by_a_callback(how);
    }
    events_are_told();
    an_event_callback_that_hangs();
    other_translation_units();
    exception_matrix();
    cancelled(true);
    cancelled(false);
    for (const bool is_object : {false, true}) {
        hung(is_object, false);
        hung(is_object, true);
    }
    signals();
    std::printf("done\n");
    return 0;
}
