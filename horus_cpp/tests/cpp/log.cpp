// Logs lines in several ways, and then waits to be killed.
#include "check.hpp"

#include <cstdio>
#include <string>

int main() {
    using namespace horus::literals;
    std::error_code error;
    horus::log(horus::LogLevel::info, "before the log is open, this does nothing");
    CHECK(horus_log(HORUS_LOG_INFO, "x", 1) == HORUS_E_STATE);
    CHECK(horus_log_level() == 0 && !horus::is_log_enabled(horus::LogLevel::error));
    CHECK(horus_log(HORUS_LOG_INFO, nullptr, 1) == HORUS_E_NULL);
    horus::LogOptions options;
    options.node = "camera";
    options.filter = "info,loud";
    horus::open_log(options, error);
    CHECK(error == horus::Errc::argument);
    options.filter = "info,planner=debug";
    horus::open_log(options);
    horus::open_log(options, error);
    CHECK(error == horus::Errc::state);

    CHECK(horus_log_level() == HORUS_LOG_DEBUG);
    horus::log(horus::LogLevel::info, "from the process");
    horus::log(horus::LogLevel::debug, "filtered out");
    horus::log_from("planner", horus::LogLevel::debug, "from the planner");
    CHECK(horus_log(HORUS_LOG_ERROR, nullptr, 0) == HORUS_OK);
    CHECK(horus_log(9, "x", 1) == HORUS_E_ARGUMENT);
    CHECK(horus_log(HORUS_LOG_INFO, "x", static_cast<std::size_t>(-1)) == HORUS_E_ARGUMENT);
    CHECK(horus_log_from("planner", HORUS_LOG_WARN, "plan.c", 7, "bytes\0\xff\x1b[2J", 11) ==
          HORUS_OK);
#if defined(__cpp_lib_format)
    horus::logf(horus::LogLevel::info, "formatted {} {:.1f}", 7, 0.25);
    horus::logf(horus::LogLevel::info, "{}", std::string(5000, 'x'));
#else
    horus::log(horus::LogLevel::info, "formatted 7 0.2");
    CHECK(horus_log_prefix(nullptr, HORUS_LOG_INFO, "log.cpp", 1,
                           std::string(1024, 'x').c_str(), 1024, 3976) == HORUS_OK);
#endif

    horus::Scheduler scheduler;
    scheduler.node("arm").rate(500_hz).build([](horus::Context &context) {
        horus::log(horus::LogLevel::warn, "in tick " + std::to_string(context.tick()));
        if (context.tick() == 2) {
            context.stop();
        }
    });
    scheduler.run();

    horus::log(horus::LogLevel::error, "the last line");
    std::puts("done");
    std::fflush(stdout);
    std::getchar();
    return 0;
}
