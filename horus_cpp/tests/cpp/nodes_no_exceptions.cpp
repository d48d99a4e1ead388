// Nodes with -fno-exceptions: they fail by numbers and texts instead.
#include <horus/horus.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(condition)                                                                          \
    do {                                                                                          \
        if (!(condition)) {                                                                       \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                  \
            std::_Exit(1);                                                                        \
        }                                                                                         \
    } while (0)

int main() {
    std::error_code error;
    horus::Scheduler scheduler({}, error);
    CHECK(!error);
    const bool is_added = scheduler.node("fails").build(
        [](horus::Context &context) {
            context.set_error("no wheel");
            return context.tick() < 3;
        },
        error);
    CHECK(is_added && !error);
    int ticks = 0;
    while (scheduler.tick_once(error)) {
        ticks++;
    }
    // The round in which the node fails returns the error.
    CHECK(error == horus::Errc::failed && ticks == 3);
    CHECK(!scheduler.finish(error) && error == horus::Errc::failed);
    const horus_report_t report = scheduler.report(error);
    CHECK(!error && report.reason == HORUS_REASON_NODE);
    CHECK(std::strcmp(report.error, "no wheel") == 0);
    return 0;
}
