// The scheduler from C++ under a sanitizer: lifetimes, ticks, threads, and wrong calls.
//
//   cargo build --release --no-default-features -p horus_cpp
//   g++ -std=c++17 -O2 -fsanitize=address -fno-omit-frame-pointer
//       -o cpp_stress_asan horus_cpp/tests/cpp_stress_test.cpp
//       -L target/release -lhorus_cpp -lpthread -ldl -lm
//   LD_LIBRARY_PATH=target/release ./cpp_stress_asan
//
// Any finding ends the program with a status other than 0; the sanitizer checks for leaks at the
// end.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <unistd.h>

#include "../include/horus/scheduler.hpp"

#define CHECK(condition)                                                                          \
    do {                                                                                          \
        if (!(condition)) {                                                                       \
            std::fprintf(stderr, "%s:%d: %s; last error: %s\n", __FILE__, __LINE__, #condition,   \
                         horus_last_error_message());                                             \
            std::_Exit(1);                                                                        \
        }                                                                                         \
    } while (0)

namespace {

using namespace horus::literals;

constexpr int lives = 1000;
constexpr int sustained = 5000;
constexpr int concurrent = 50;
constexpr int null_calls = 10000;

/// The number of live nodes.
std::atomic<int> nodes{0};

/// A node that owns memory, so that a leak or a second delete is detected.
class Counted : public horus::Node {
  public:
    explicit Counted(std::atomic<std::uint64_t> &ticks) : ticks_(ticks) { nodes++; }
    ~Counted() override { nodes--; }

    void init(horus::Context &) override { text_ = std::string(100, 'a'); }
    void tick(horus::Context &context) override {
        text_[context.tick() % text_.size()]++;
        ticks_++;
    }

  private:
    std::atomic<std::uint64_t> &ticks_;
    std::string text_;
};

void create_and_destroy() {
    std::atomic<std::uint64_t> ticks{0};
    for (int life = 0; life < lives; life++) {
        horus::Scheduler scheduler;
        scheduler.node("one").build(std::make_unique<Counted>(ticks));
        std::error_code error;
        // A second node of the same name is refused, and destroyed.
        CHECK(!scheduler.node("one").build(std::make_unique<Counted>(ticks), error));
        CHECK(error == horus::Errc::node && nodes == 1);
        // WHY not all: most are never started, and some end in the middle of a run.
        if (life % 20 == 0) {
            CHECK(scheduler.tick_once());
            if (life % 40 == 0) {
                CHECK(scheduler.finish().exit_code == 0);
            }
        }
    }
    CHECK(nodes == 0 && ticks == lives / 20);
    std::printf("scheduler create/destroy: %d\n", lives);
}

void sustained_ticks() {
    std::atomic<std::uint64_t> ticks{0};
    horus::Scheduler scheduler;
    scheduler.node("one").build(std::make_unique<Counted>(ticks));
    for (int tick = 0; tick < sustained; tick++) {
        CHECK(scheduler.tick_once() && scheduler.is_running());
    }
    scheduler.finish();
    CHECK(ticks == sustained && scheduler.metrics("one").ticks == sustained && nodes == 0);
    std::printf("sustained ticks: %d\n", sustained);
}

/// Runs half of the nodes on one thread and half on threads of their own, while other threads read
/// metrics and send commands.
void concurrent_nodes() {
    std::atomic<std::uint64_t> ticks{0}, threaded{0};
    horus::Scheduler scheduler;
    for (int node = 0; node < concurrent; node++) {
        auto builder = scheduler.node("node" + std::to_string(node));
        if (node % 2 == 0) {
            builder.build(std::make_unique<Counted>(ticks));
        } else {
            builder.rate(100_hz).build(std::make_unique<Counted>(threaded));
        }
    }
    CHECK(scheduler.start() && nodes == concurrent);
    std::atomic<bool> over{false};
    std::thread asker([&] {
        while (!over) {
            CHECK(scheduler.is_running() && scheduler.metrics("node1").failures == 0);
            scheduler.pause("node3");
            scheduler.resume("node3");
        }
    });
    for (int tick = 0; tick < sustained; tick++) {
        CHECK(scheduler.tick_once());
    }
    while (threaded < concurrent) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    over = true;
    asker.join();
    const std::uint64_t expected = std::uint64_t{sustained} * (concurrent / 2);
    CHECK(ticks == expected);
    CHECK(scheduler.finish().exit_code == 0 && nodes == 0);
    std::printf("concurrent nodes: %d, %llu ticks on one thread, %llu on others\n", concurrent,
                static_cast<unsigned long long>(ticks.load()),
                static_cast<unsigned long long>(threaded.load()));
}

std::int32_t nothing(void *, horus_context_t *) { return 0; }

/// Each function with nulls and closed handles returns an error.
void wrong_calls() {
    horus_scheduler_t open{}, closed{};
    CHECK(horus_scheduler_open(nullptr, &open) == HORUS_OK);
    CHECK(horus_scheduler_open(nullptr, &closed) == HORUS_OK);
    CHECK(horus_scheduler_close(closed) == HORUS_OK);
    horus_node_t no_tick{}, node{};
    no_tick.struct_bytes = node.struct_bytes = sizeof node;
    node.tick = nothing;
    for (int i = 0; i < null_calls; i++) {
        const horus_scheduler_t none = i % 2 == 0 ? horus_scheduler_t{} : closed;
        CHECK(horus_scheduler_open(nullptr, nullptr) == HORUS_E_NULL);
        CHECK(horus_scheduler_close(none) == HORUS_E_HANDLE);
        CHECK(horus_scheduler_add_node(none, "a", nullptr, &node) == HORUS_E_HANDLE);
        CHECK(horus_scheduler_add_node(open, nullptr, nullptr, &node) == HORUS_E_NULL);
        CHECK(horus_scheduler_add_node(open, "a", nullptr, nullptr) == HORUS_E_NULL);
        CHECK(horus_scheduler_add_node(open, "a", nullptr, &no_tick) == HORUS_E_NULL);
        CHECK(horus_scheduler_start(none) == HORUS_E_HANDLE);
        CHECK(horus_scheduler_tick_once(none) == HORUS_E_HANDLE);
        CHECK(horus_scheduler_run_for(none, 1) == HORUS_E_HANDLE);
        CHECK(horus_scheduler_run(none) == HORUS_E_HANDLE);
        CHECK(horus_scheduler_finish(none) == HORUS_E_HANDLE);
        CHECK(horus_scheduler_finish(open) == HORUS_E_STATE);
        CHECK(horus_scheduler_report(none, nullptr) == HORUS_E_HANDLE);
        CHECK(horus_scheduler_report(open, nullptr) == HORUS_E_STATE);
        CHECK(horus_scheduler_is_running(none) == HORUS_E_HANDLE);
        CHECK(horus_scheduler_stop(none) == HORUS_E_HANDLE);
        CHECK(horus_scheduler_pause(none, "a") == HORUS_E_HANDLE);
        CHECK(horus_scheduler_pause(open, nullptr) == HORUS_E_NULL);
        CHECK(horus_scheduler_resume(none, "a") == HORUS_E_HANDLE);
        CHECK(horus_scheduler_resume(open, nullptr) == HORUS_E_NULL);
        CHECK(horus_scheduler_stop_node(none, "a") == HORUS_E_HANDLE);
        CHECK(horus_scheduler_stop_node(open, nullptr) == HORUS_E_NULL);
        CHECK(horus_scheduler_set_rate(none, "a", 1) == HORUS_E_HANDLE);
        CHECK(horus_scheduler_set_rate(open, nullptr, 1) == HORUS_E_NULL);
        CHECK(horus_scheduler_metrics(none, "a", nullptr) == HORUS_E_HANDLE);
        CHECK(horus_scheduler_metrics(open, "a", nullptr) == HORUS_E_NODE);
        CHECK(horus_context_tick(nullptr) == 0);
        CHECK(horus_context_scheduled_ns(nullptr) == 0);
        CHECK(horus_context_started_ns(nullptr) == 0);
        CHECK(horus_context_period_ns(nullptr) == 0);
        CHECK(horus_context_budget_left_ns(nullptr) == 0);
        CHECK(horus_context_in_safe_state(nullptr) == 0);
        CHECK(horus_context_random(nullptr) == 0);
        CHECK(horus_context_random_double(nullptr) == 0);
        CHECK(horus_context_checkpoint(nullptr, 1) == HORUS_E_NULL);
        CHECK(horus_context_stop(nullptr) == HORUS_E_NULL);
        CHECK(horus_context_set_error(nullptr, "a") == HORUS_E_NULL);
    }
    CHECK(horus_scheduler_close(open) == HORUS_OK);
    std::printf("null and closed handles: %d calls of each function\n", null_calls);
}

}  // namespace

int main() {
    char directory[] = "/dev/shm/cpp_stress_XXXXXX";
    CHECK(mkdtemp(directory) != nullptr);
    setenv("HORUS_SHM_DIR", (std::string(directory) + "/horus").c_str(), 1);
    create_and_destroy();
    sustained_ticks();
    concurrent_nodes();
    wrong_calls();
    std::filesystem::remove_all(directory);
    std::printf("done\n");
    return 0;
}
