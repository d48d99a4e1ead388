// Nodes in another translation unit than the scheduler's.
#include <horus/horus.hpp>

#include <atomic>
#include <memory>

std::unique_ptr<horus::Node> counter_elsewhere(std::atomic<int> &ticks);
void add_lambda_elsewhere(horus::Scheduler &scheduler, std::atomic<int> &ticks);

namespace {

class Counter : public horus::Node {
  public:
    explicit Counter(std::atomic<int> &ticks) : ticks_(ticks) {}
    void tick(horus::Context &) override { ticks_++; }

  private:
    std::atomic<int> &ticks_;
};

}  // namespace

std::unique_ptr<horus::Node> counter_elsewhere(std::atomic<int> &ticks) {
    return std::make_unique<Counter>(ticks);
}

void add_lambda_elsewhere(horus::Scheduler &scheduler, std::atomic<int> &ticks) {
    scheduler.node("lambda").build([&ticks](horus::Context &) { ticks++; });
}
