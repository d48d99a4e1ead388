// A program with a file that is compiled without exceptions: an exception is a failure of its node
// here nevertheless.
#include <horus/horus.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>

#define CHECK(condition)                                                                          \
    do {                                                                                          \
        if (!(condition)) {                                                                       \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                  \
            std::_Exit(1);                                                                        \
        }                                                                                         \
    } while (0)

// Defined in a file that is compiled with -fno-exceptions. Returns the error of a failed node.
std::error_code fail_without_exceptions();

namespace {

class Throws : public horus::Node {
  public:
    void tick(horus::Context &) override { throw std::runtime_error("the wheel fell off"); }
};

}  // namespace

int main() {
    // Both files agree on the meaning of an error code.
    CHECK(fail_without_exceptions() == horus::Errc::failed);
    horus::SchedulerOptions options;
    options.on_event = [](const horus::Event &) { throw std::runtime_error("not now"); };
    horus::Scheduler scheduler(options);
    scheduler.node("throws").build(std::make_unique<Throws>());
    std::error_code error;
    CHECK(!scheduler.run(error) && error == horus::Errc::failed);
    CHECK(std::strcmp(scheduler.report().error, "the wheel fell off") == 0);
    return 0;
}
