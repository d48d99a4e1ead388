// The controller of the robot in C++: two nodes in separate files, which tick in turn 500 times a
// second. `robot --controller <this program>` starts it beside the Rust processes.
#include <chrono>
#include <cstdio>
#include <thread>
#include <unistd.h>

#include "state.hpp"

using namespace horus::literals;

int main() try {
    // The launcher reads line by line.
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    State state;
    std::uint64_t sent = 0;
    horus::SchedulerOptions options;
    options.name = "controller";
    // Prints no events: the launcher shows the black boxes at the end.
    options.on_event = [](const horus::Event &) {};
    horus::Scheduler scheduler(options);
    const auto add = [&](const char *name, std::unique_ptr<horus::Node> node) {
        // The watchdog limit is longer than any tick: only a busy machine delays a tick here.
        const auto tick_max = std::chrono::seconds(1);
        scheduler.node(name).chain("controller").rate(500_hz).watchdog(tick_max).build(std::move(node));
    };
    add("senses", make_senses(state));
    add("steering", make_steering(state, sent));
    // The leash: the program ends when standard input is closed, by the launcher or by its death.
    std::thread leash([&] {
        char bytes[64];
        while (read(STDIN_FILENO, bytes, sizeof bytes) > 0) {
        }
        scheduler.stop();
    });
    std::error_code error;
    scheduler.run(error);
    std::printf("{\"Published\":{\"topic\":\"cmd_vel\",\"sent\":%llu}}\n",
                static_cast<unsigned long long>(sent));
    if (error) {
        std::fprintf(stderr, "controller: %s\n", horus::last_error_message());
        // Exits without destructors, since the leash thread still reads.
        std::_Exit(1);
    }
    leash.join();
    return 0;
} catch (const horus::Error &error) {
    std::fprintf(stderr, "controller: %s\n", error.what());
    return 1;
}
