// The simplest program: it runs a scheduler, and catches nothing.
#include <horus/horus.hpp>

#include <chrono>
#include <cstring>
#include <stdexcept>

int main(int, char **arguments) {
    const bool fails = std::strcmp(arguments[2], "fails") == 0;
    horus::Scheduler scheduler;
    scheduler.node("wheel").build([=](horus::Context &context) {
        if (fails) {
            throw std::runtime_error("the wheel fell off");
        }
        context.stop();
    });
    if (std::strcmp(arguments[1], "run") == 0) {
        scheduler.run();
    } else if (std::strcmp(arguments[1], "run_for") == 0) {
        scheduler.run_for(std::chrono::minutes(1));
    } else {
        scheduler.start();
        while (scheduler.is_running()) {
            std::error_code error;
            scheduler.tick_once(error);
        }
        scheduler.finish();
    }
    return 0;
}
