// The wrapper without exceptions: -fno-exceptions -fno-rtti.
#include "check.hpp"

static_assert(HORUS_EXCEPTIONS == 0);

int main() {
    using namespace std::chrono_literals;
    std::error_code error;
    auto publisher = horus::Publisher<robot::Pair>::open("pairs", horus::Qos().pinnable(), error);
    CHECK(publisher && !error);
    auto subscriber = horus::Subscriber<robot::Pair>::open("pairs", {}, error);
    CHECK(subscriber && !error);
    CHECK(!horus::Topic<Wheel>::open("pairs", horus::Qos().strict(), error));
    CHECK(error == horus::Errc::type && error.message() == "HORUS_E_TYPE");

    robot::Pair pair{};
    CHECK(!subscriber->recv(pair, error) && !error);
    CHECK(publisher->send({1, 2}, error) && !error);
    CHECK(subscriber->recv(pair, error) && pair.second == 2);
    CHECK(publisher->send_timeout({3, 4}, 1s, error));
    CHECK(subscriber->latest(pair, error) && pair.second == 4);
    CHECK(!subscriber->recv_timeout(pair, 1ms, error) && !error);

    CHECK(publisher->wait_for_subscribers(1, horus::forever, error) == std::size_t{1} && !error);
    CHECK(!publisher->wait_for_subscribers(2, 1ms, error) && !error);
    CHECK(subscriber->wait_for_publishers(1, 0ns, error) == std::size_t{1} && !error);
    CHECK(!subscriber->wait_for_publishers(99, 0ns, error) && error == horus::Errc::argument);

    auto loan = publisher->loan(error);
    CHECK(loan && !error);
    CHECK(!publisher->loan(error) && error == horus::Errc::loan);
    (*loan)->first = 5;
    loan->publish(error);
    CHECK(!error);
    auto borrow = subscriber->borrow(error);
    CHECK(borrow && (*borrow)->first == 5);
    CHECK(!subscriber->borrow_latest(error) && !error);

    auto set = horus::WaitSet::open(error);
    CHECK(set && !error);
    const auto key = set->add(*subscriber, 0ns, error);
    CHECK(key != 0 && set->wait(0ns, error).empty() && !error);
    CHECK(set->add_interval(-1s, error) == 0 && error == horus::Errc::argument);
    CHECK(set->add(*subscriber, -1ns, error) == 0 && error == horus::Errc::argument);
    CHECK(std::string(horus::last_error_message()).find("silent_max_ns is -1") == 0);
    const auto reliable = horus::Qos::reliable();
    const auto detached = reliable.detach_after(-1ns);
    CHECK(!horus::Publisher<robot::Pair>::open("late", detached, error));
    CHECK(error == horus::Errc::argument);
    CHECK(horus::Publisher<robot::Pair>::open("late", reliable.detach_after(0ns), error));
    set->remove(key, error);
    CHECK(!error);
    set->remove(key, error);
    CHECK(error == horus::Errc::argument);
    CHECK(subscriber->stats(error).received == 3 && publisher->info(error).subscribers == 1);

    auto other = horus::Namespace::open(std::getenv("HORUS_SHM_DIR"), "other", error);
    CHECK(other && other->sweep(error) == 0 && !error);
    std::move(*other).remove(error);
    CHECK(!error);
    return 0;
}
