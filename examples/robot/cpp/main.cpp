// The controller of the robot in C++: two nodes in separate files, which tick in turn 500 times a
// second. `ROBOT_CONTROLLER=<this program> horus launch robot.json5` starts it beside the Rust processes.
#include <chrono>
#include <cstdio>
#include <exception>

#include "state.hpp"

using namespace horus::literals;

int main() try {
    // The launcher reads line by line.
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    State state;
    std::uint64_t sent = 0;
    horus::SchedulerOptions options;
    options.name = "controller";
    // Prints no events: they are in the black box, see `horus blackbox`.
    options.on_event = [](const horus::Event &) {};
    options.stop_on_signals = true;
    horus::Scheduler scheduler(options);
    const auto add = [&](const char *name, std::unique_ptr<horus::Node> node) {
        // The watchdog limit is longer than any tick: only a busy machine delays a tick here.
        const auto tick_max = std::chrono::seconds(1);
        scheduler.node(name).chain("controller").rate(500_hz).watchdog(tick_max).build(std::move(node));
    };
    add("senses", make_senses(state));
    add("steering", make_steering(state, sent));
    std::error_code error;
    scheduler.run(error);
    std::printf(reports_are_json() ? "{\"Published\":{\"topic\":\"cmd_vel\",\"sent\":%llu}}\n"
                                   : "cmd_vel: %llu messages sent\n",
                static_cast<unsigned long long>(sent));
    if (error) {
        std::fprintf(stderr, "controller: %s\n", horus::last_error_message());
        return 1;
    }
    if (!state.adds_up) {
        std::fprintf(stderr, "controller: a ledger does not add up\n");
        return 1;
    }
    // The launcher stops its programs by SIGTERM; the code is then 128 plus the number of the signal.
    return scheduler.report().exit_code;
} catch (const std::exception &error) {
    std::fprintf(stderr, "controller: %s\n", error.what());
    return 1;
}
