// The file of the program mixed.cpp that is compiled with -fno-exceptions.
#include <horus/horus.hpp>

#include <memory>

std::error_code fail_without_exceptions();

namespace {

class Stops : public horus::Node {
  public:
    void tick(horus::Context &context) override { context.stop(); }
};

}  // namespace

std::error_code fail_without_exceptions() {
    std::error_code error;
    horus::SchedulerOptions options;
    options.on_event = [](const horus::Event &) {};
    horus::Scheduler scheduler(options, error);
    if (error || !scheduler.node("stops").build(std::make_unique<Stops>(), error)) {
        return error;
    }
    if (!scheduler.node("fails").build([](horus::Context &) { return false; }, error)) {
        return error;
    }
    scheduler.run(error);
    return error;
}
