// The controller of the robot in C++: two nodes, in files of their own, which take turns 500 times a
// second. `robot --controller <this program>` starts it beside the Rust processes.
#include <chrono>
#include <cstdio>
#include <thread>
#include <unistd.h>

#include "state.hpp"

using namespace horus::literals;

int main() try {
    // The launcher reads lines.
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    State state;
    std::uint64_t sent = 0;
    horus::SchedulerOptions options;
    options.name = "controller";
    // The launcher shows at the end what the black boxes say.
    options.on_event = [](const horus::Event &) {};
    horus::Scheduler scheduler(options);
    const auto add = [&](const char *name, std::unique_ptr<horus::Node> node) {
        // The watchdog is longer than any tick: what delays one here is the machine.
        const auto tick_max = std::chrono::seconds(1);
        scheduler.node(name).chain("controller").rate(500_hz).watchdog(tick_max).build(std::move(node));
    };
    add("senses", make_senses(state));
    add("steering", make_steering(state, sent));
    // The leash: the program ends with whoever started it.
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
        // The leash still reads.
        std::_Exit(1);
    }
    leash.join();
    return 0;
} catch (const horus::Error &error) {
    std::fprintf(stderr, "controller: %s\n", error.what());
    return 1;
}
