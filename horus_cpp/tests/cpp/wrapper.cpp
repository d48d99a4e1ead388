// All functions of the C++ wrapper, with exceptions.
#include "check.hpp"

#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include <sys/resource.h>
#include <unistd.h>

using namespace std::chrono_literals;

namespace {

template <class T>
constexpr bool is_move_only =
    std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T> &&
    !std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T>;

static_assert(is_move_only<horus::Publisher<robot::Pair>>);
static_assert(is_move_only<horus::Subscriber<robot::Pair>>);
static_assert(is_move_only<horus::Topic<robot::Pair>>);
static_assert(is_move_only<horus::Loan<robot::Pair>>);
static_assert(is_move_only<horus::Borrow<robot::Pair>>);
static_assert(is_move_only<horus::Loan<Sonar>>);
static_assert(is_move_only<horus::Borrow<Sonar>>);
static_assert(is_move_only<horus::WaitSet>);
static_assert(is_move_only<horus::Namespace>);

/// Two versions of a message. The new one has a default that only the running program knows.
namespace version_1 {
struct Gain {
    std::uint64_t number;
};
HORUS_MESSAGE(Gain, number);
}  // namespace version_1
namespace version_2 {
double calibrated() { return std::strtod("0.75", nullptr); }
struct Gain {
    std::uint64_t number = 0;
    double factor = calibrated();
};
HORUS_MESSAGE(Gain, number, factor);
}  // namespace version_2

/// Opens its topic before `main`, when not all variables have their values yet.
horus::Subscriber<version_2::Gain> opened_before_main("gain");

void defaults_are_known_before_main() {
    horus::Subscriber<version_2::Gain> opened_in_main("gain");
    CHECK(horus::Publisher<version_1::Gain>("gain").send({7}));
    for (auto *subscriber : {&opened_before_main, &opened_in_main}) {
        const auto gain = subscriber->recv();
        CHECK(gain && gain->number == 7 && gain->factor == 0.75);
    }
}

/// Returns the exception that a call throws.
template <class Call>
horus::Errc thrown(Call call) {
    try {
        call();
    } catch (const horus::Error &error) {
        CHECK(error.code().category() == horus::error_category());
        CHECK(std::string(error.what()).size() > 10);
        return static_cast<horus::Errc>(error.code().value());
    }
    return static_cast<horus::Errc>(0);
}

void sends_and_receives() {
    horus::Publisher<robot::Pair> publisher("pairs");
    horus::Subscriber<robot::Pair> subscriber(std::string("pairs"));
    CHECK(!subscriber.recv());
    CHECK(publisher.send({1, 2}));
    const auto pair = subscriber.recv();
    CHECK(pair && pair->first == 1 && pair->second == 2);
    CHECK(publisher.send_timeout({3, 4}, 1s));
    robot::Pair out{};
    CHECK(subscriber.recv_timeout(out, horus::forever) && out.first == 3);
    CHECK(!subscriber.recv_timeout(1ms));
    CHECK(!subscriber.recv_timeout(-1s));
    for (std::uint64_t first = 5; first < 8; ++first) {
        CHECK(publisher.send({first, 0}));
    }
    CHECK(subscriber.latest()->first == 7);
    CHECK(!subscriber.latest());
    CHECK(publisher.send({9, 0}));
    CHECK(subscriber.recv_blocking().first == 9);
    subscriber.check();
    subscriber.set_spin(0ns);
    const horus::Stats stats = subscriber.stats();
    CHECK(stats.received == 4 && stats.skipped == 2 && stats.lost == 0 && stats.sent == 6);
    CHECK(publisher.info().subscribers == 1 && publisher.info().sequence == 6);
    CHECK(subscriber.info().max_message_bytes == sizeof(robot::Pair));
}

void the_ends_wait_for_each_other() {
    horus::Publisher<robot::Pair> publisher("met");
    CHECK(publisher.wait_for_subscribers(0, horus::forever) == std::size_t{0});
    CHECK(!publisher.wait_for_subscribers(1, 1ms));
    CHECK(!publisher.wait_for_subscribers(1, -1s));
    horus::Subscriber<robot::Pair> subscriber("met");
    CHECK(publisher.wait_for_subscribers(1, horus::forever) == std::size_t{1});
    CHECK(subscriber.wait_for_publishers(1, horus::forever) == std::size_t{1});
    CHECK(!subscriber.wait_for_publishers(2, 60ms));
    CHECK(thrown([&] { (void)publisher.wait_for_subscribers(65, 1s); }) == horus::Errc::argument);
    {
        // One who publishes and subscribes waits for others.
        horus::Topic<robot::Pair> both("met");
        CHECK(both.wait_for_subscribers(1, 0ns) == std::size_t{1});
        CHECK(both.wait_for_publishers(1, 0ns) == std::size_t{1});
        CHECK(subscriber.wait_for_publishers(2, 0ns) == std::size_t{2});
        CHECK(both.wait_for_publishers(0, 0ns) == std::size_t{1});
        CHECK(!both.wait_for_subscribers(2, 1ms) && !both.wait_for_publishers(2, 1ms));
        CHECK(thrown([&] { (void)both.wait_for_publishers(64, 1s); }) == horus::Errc::argument);
        CHECK(thrown([&] { (void)both.wait_for_publishers(SIZE_MAX, 1s); }) ==
              horus::Errc::argument);
        std::error_code error;
        CHECK(both.wait_for_subscribers(1, 0ns, error) == std::size_t{1} && !error);
        CHECK(!both.wait_for_subscribers(2, 0ns, error) && !error);
        CHECK(!both.wait_for_subscribers(64, 0ns, error) && error == horus::Errc::argument);
    }
    CHECK(!subscriber.wait_for_publishers(2, 0ns));
}

/// Returns how many times this thread has gone to sleep.
long sleep_count() {
    rusage usage{};
    CHECK(getrusage(RUSAGE_THREAD, &usage) == 0);
    return usage.ru_nvcsw;
}

/// WHY times above 50 ms: the library waits in slices of that length.
void a_wait_spins_only_before_it_sleeps() {
    horus::Subscriber<robot::Pair> subscriber("silent");
    const auto sleeps_of_wait = [&](std::chrono::nanoseconds time) {
        const long before = sleep_count();
        CHECK(!subscriber.recv_timeout(time));
        return sleep_count() - before;
    };
    subscriber.set_spin(100ms);
    CHECK(sleeps_of_wait(300ms) > 0);
    // The next wait spins again, for the whole time. WHY a loop: a page fault may be a sleep, too.
    bool has_only_spun = false;
    for (int i = 0; i < 600 && !has_only_spun; ++i) {
        has_only_spun = sleeps_of_wait(90ms) == 0;
    }
    CHECK(has_only_spun);
}

void a_moved_end_goes_on() {
    horus::Topic<robot::Pair> topic("moved", horus::Qos::reliable().capacity(2));
    CHECK(topic.send({1, 1}) && topic.send({2, 2}) && !topic.send({3, 3}));
    horus::Topic<robot::Pair> other = std::move(topic);
    CHECK(thrown([&] { (void)topic.send({4, 4}); }) == horus::Errc::handle);
    CHECK(other.recv()->first == 1);
    std::thread([moved = std::move(other)]() mutable {
        CHECK(moved.recv()->first == 2);
        CHECK(moved.send({5, 5}));
        CHECK(moved.info().publishers == 1);
    }).join();
    horus::Subscriber<robot::Pair> gone("moved");
    CHECK(gone.info().subscribers == 1);
    horus::Subscriber<robot::Pair> assigned("another");
    assigned = std::move(gone);
    CHECK(assigned.info().subscribers == 1);
}

void a_loan_is_the_slot_that_is_borrowed() {
    const auto qos = horus::Qos().pinnable().capacity(16);
    horus::Publisher<robot::Pair> publisher("slots", qos);
    horus::Subscriber<robot::Pair> subscriber("slots");
    auto loan = publisher.loan();
    const robot::Pair *slot = loan->get();
    (*loan)->first = 1;
    (**loan).second = 2;
    CHECK(thrown([&] { (void)publisher.send({0, 0}); }) == horus::Errc::loan);
    CHECK(thrown([&] { (void)publisher.loan(); }) == horus::Errc::loan);
    loan->publish();
    CHECK(loan->get() == nullptr);
    CHECK(thrown([&] { loan->publish(); }) != static_cast<horus::Errc>(0));
    loan.reset();
    auto first = subscriber.borrow();
    CHECK((*first)->first == 1 && (**first).second == 2 && first->sequence() == 1);
    {
        // Two mappings of the same bytes: a change in one is visible in the other.
        const_cast<robot::Pair *>(slot)->first = 7;
        CHECK((*first)->first == 7);
    }
    // A dropped loan publishes nothing.
    (void)publisher.loan();
    CHECK(publisher.send({3, 4}));
    auto newest = subscriber.borrow_latest();
    CHECK((*newest)->first == 3 && newest->sequence() == 2);
    CHECK(!subscriber.borrow());
    // A borrowed message outlives the subscriber, and may move to another thread.
    horus::Borrow<robot::Pair> kept = std::move(*newest);
    subscriber = horus::Subscriber<robot::Pair>("slots");
    std::thread([kept = std::move(kept)] { CHECK(kept->second == 4); }).join();

    horus::Topic<robot::Pair> small("small");
    CHECK(thrown([&] { (void)small.loan(); }) == horus::Errc::not_pinnable);
    CHECK(thrown([&] { (void)small.borrow(); }) == horus::Errc::not_pinnable);
}

void data_follow_a_header() {
    const auto options = horus::Options().max_message_bytes(sizeof(SonarHeader) + 4096);
    horus::Publisher<Sonar> publisher("sonar", options.qos(horus::Qos().pinnable()));
    horus::Subscriber<Sonar> subscriber("sonar");
    auto loan = publisher.loan();
    CHECK(loan->data().size() >= 1024);
    loan->header() = {17, 3};
    float value = 0;
    for (float &echo : loan->data()) {
        echo = value++;
    }
    CHECK(thrown([&] { loan->publish(SIZE_MAX); }) == horus::Errc::message);
    const auto is_none = [](auto data) { return data.data() == nullptr && data.size() == 0; };
    horus::Loan<Sonar> moved = std::move(*loan);
    CHECK(is_none(loan->data()) && moved.data().size() >= 1024);
    *loan = std::move(moved);
    CHECK(is_none(moved.data()) && loan->data().size() >= 1024);
    loan->publish(3);
    CHECK(is_none(loan->data()));
    auto borrow = subscriber.borrow();
    CHECK(borrow->header().timestamp_ns == 17 && borrow->data().size() == 3);
    CHECK(borrow->data()[2] == 2 && borrow->sequence() == 1);
    const horus::Borrow<Sonar> kept = std::move(*borrow);
    CHECK(is_none(borrow->data()) && kept.data().size() == 3);
}

/// Any program may send less than the header: this one does it by the C functions.
void a_message_shorter_than_its_header_is_counted_and_left_out() {
    horus::Subscriber<Sonar> subscriber("short");
    const horus::Options options(horus::Qos().pinnable());
    const horus_topic_options_t raw_options = options.raw<Sonar>();
    horus_publisher_t raw;
    CHECK(horus_publisher_open("short", &raw_options, &raw) == HORUS_OK);
    const struct {
        SonarHeader header;
        float strength;
    } whole = {{17, 1}, 2.5F};
    const std::size_t bytes = sizeof(SonarHeader) + sizeof(float);
    const auto send = [&](std::size_t length) {
        CHECK(horus_publisher_send(raw, &whole, length) == HORUS_OK);
    };
    send(0);
    send(sizeof(SonarHeader) - 1);
    send(bytes);
    {
        const auto borrow = subscriber.borrow();
        CHECK(borrow && borrow->sequence() == 3 && borrow->header().timestamp_ns == 17);
        CHECK(borrow->data().size() == 1 && borrow->data()[0] == 2.5F);
    }
    CHECK(!subscriber.borrow() && subscriber.stats().malformed == 2);
    send(0);
    CHECK(!subscriber.borrow_latest() && subscriber.stats().malformed == 3);
    send(sizeof(SonarHeader));
    CHECK(subscriber.borrow_latest()->data().size() == 0);
    CHECK(subscriber.stats().received == 2);
    CHECK(horus_publisher_close(raw) == HORUS_OK);
}

/// What a program has checked of a header stays as it is, whatever others write to shared memory.
void a_borrowed_header_does_not_change() {
    horus::Publisher<Sonar> publisher("checked", horus::Qos().pinnable());
    horus::Subscriber<Sonar> subscriber("checked");
    auto loan = publisher.loan(2);
    SonarHeader &slot = loan->header();
    float *strengths = loan->data().data();
    slot = {17, 2};
    strengths[1] = 1;
    loan->publish(2);
    const auto borrow = subscriber.borrow();
    CHECK(borrow->header().echoes == 2);
    // Another mapping of the same bytes: the data show that the borrow is in place.
    slot.echoes = 1000;
    strengths[1] = 7;
    CHECK(borrow->data()[1] == 7);
    CHECK(borrow->header().echoes == 2);
}

void slots_grow_to_what_a_loan_needs() {
    horus::Subscriber<horus::Image> subscriber("camera");
    horus::Publisher<horus::Image> publisher("camera");
    const std::size_t pixels = std::size_t{1920} * 1080 * 3;
    std::error_code error;
    CHECK(publisher.loan()->data().size() < pixels);
    for (int shade = 1; shade < 3; ++shade) {
        auto loan = shade == 1 ? publisher.loan(pixels) : publisher.loan(pixels, error);
        CHECK(loan && !error && loan->data().size() >= pixels);
        loan->header() = {};
        loan->header().width = 1920;
        std::memset(loan->data().data(), shade, pixels);
        loan->publish(pixels);
        const auto borrow = subscriber.borrow();
        CHECK(borrow && borrow->header().width == 1920 && borrow->data().size() == pixels);
        CHECK(borrow->data()[0] == shade && borrow->data()[pixels - 1] == shade);
    }
    CHECK(subscriber.info().max_message_bytes >= sizeof(horus::ImageHeader) + pixels);
    CHECK(thrown([&] { (void)publisher.loan(SIZE_MAX); }) == horus::Errc::message);
    CHECK(!publisher.loan(std::size_t{1} << 30, error) && error == horus::Errc::message);
    CHECK(thrown([&] { (void)publisher.reserve(SIZE_MAX); }) == horus::Errc::message);
    CHECK(publisher.reserve(std::size_t{9} << 20));
    CHECK(publisher.reserve(1, error) && !error);
    CHECK(publisher.loan()->data().size() + sizeof(horus::ImageHeader) >= std::size_t{9} << 20);
    horus::Publisher<horus::Image> limited(
        "camera", horus::Options().max_message_bytes(sizeof(horus::ImageHeader) + 1000));
    CHECK(limited.loan(1000)->data().size() >= 1000);
    CHECK(thrown([&] { (void)limited.loan(1001); }) == horus::Errc::message);
}

void who_requests_more_than_is_offered_is_told() {
    horus::Subscriber<robot::Pair> plain("matched");
    horus::Subscriber<robot::Pair> demanding("matched", horus::Qos::reliable());
    CHECK(!demanding.recv());
    horus::Publisher<robot::Pair> careless("matched", horus::Qos::command());
    CHECK(careless.send({1, 1}) && plain.recv()->first == 1);
    CHECK(thrown([&] { (void)demanding.recv(); }) == horus::Errc::qos);
    CHECK(thrown([&] { (void)demanding.recv_blocking(); }) == horus::Errc::qos);
    CHECK(thrown([&] { demanding.check(); }) == horus::Errc::qos);
    horus::Publisher<robot::Pair> careful("matched", horus::Qos::reliable().capacity(2));
    CHECK(careful.send({2, 2}) && demanding.recv_blocking().first == 2);
    demanding.check();
    CHECK(plain.recv()->first == 2 && demanding.stats().sent == 1);
}

void the_ends_see_each_other_come_and_go() {
    horus::Publisher<robot::Pair> publisher("seen");
    horus::EndpointEvents subscribers(publisher);
    CHECK(!subscribers.wait(0ns));
    {
        horus::Subscriber<robot::Pair> subscriber("seen", horus::Qos::reliable());
        const auto joined = subscribers.wait();
        CHECK(joined && joined->kind == HORUS_ENDPOINT_SUBSCRIBER);
        CHECK(joined->change == HORUS_CHANGE_JOINED);
        CHECK(joined->mismatch == HORUS_MISMATCH_QOS);
        CHECK(joined->process_id == static_cast<std::uint32_t>(getpid()));
        horus::EndpointEvents publishers(subscriber);
        std::error_code error;
        const auto there = publishers.wait(1s, error);
        CHECK(there && !error && there->kind == HORUS_ENDPOINT_PUBLISHER);
        CHECK(there->mismatch == HORUS_MISMATCH_QOS);
        CHECK(!publishers.wait(1ms, error) && !error);
    }
    const auto left = subscribers.wait();
    CHECK(left && left->change == HORUS_CHANGE_LEFT && left->mismatch == HORUS_MISMATCH_NONE);
}

void each_key_has_its_latched_message() {
    const horus::Options latched(horus::Qos::latched());
    for (const std::uint64_t number : {1U, 2U}) {
        horus::Publisher<robot::Pair> map("kept", latched.latch_key("map server"));
        CHECK(map.send({number, 0}));
        horus::Publisher<robot::Pair> costs("kept", latched.latch_key("costmap"));
        CHECK(costs.send({number, 1}));
    }
    horus::Subscriber<robot::Pair> late("kept");
    const auto first = late.recv();
    const auto second = late.recv();
    CHECK(first && second && first->first == 2 && second->first == 2);
    CHECK(first->second != second->second && !late.recv());
}

void one_thread_waits_for_all() {
    horus::WaitSet set;
    horus::Topic<robot::Pair> pairs("waited");
    horus::Subscriber<Wheel> wheels("wheels");
    CHECK(set.wait(0ns).empty());
    const auto of_pairs = set.add(pairs.subscriber());
    const auto of_wheels = set.add(wheels, 1ms);
    CHECK(pairs.send({1, 1}));
    const auto ready = set.wait(0ns);
    CHECK(!ready.empty());
    CHECK(ready.begin()->key() == of_pairs);
    CHECK(ready.begin()->reason() == horus::Reason::message);
    CHECK(pairs.recv());
    const auto silent = set.wait();
    CHECK(silent.size() == 1 && silent.begin()->key() == of_wheels);
    CHECK(silent.begin()->reason() == horus::Reason::deadline_missed);
    CHECK(silent.begin()->silent() >= 1ms);
    set.remove(of_wheels);
    const auto timer = set.add_interval(1ms);
    for (const horus::Ready &each : set.wait()) {
        CHECK(each.key() == timer && each.reason() == horus::Reason::timer);
    }
    CHECK(thrown([&] { (void)set.add_interval(0ns); }) == horus::Errc::argument);
    CHECK(thrown([&] { set.remove(99); }) == horus::Errc::argument);
}

void namespaces_are_apart() {
    const char *directory = std::getenv("HORUS_SHM_DIR");
    CHECK(directory != nullptr);
    horus::Namespace other(directory, "other");
    const auto options = horus::Options().name_space(other);
    {
        horus::Publisher<robot::Pair> there("pair", options);
        horus::Subscriber<robot::Pair> here("pair");
        CHECK(there.info().subscribers == 0 && here.info().publishers == 0);
        CHECK(thrown([&] { other.remove_topic("pair"); }) == horus::Errc::busy);
    }
    CHECK(other.sweep() == 0);
    std::move(other).remove();
    CHECK(thrown([] { horus::Namespace(std::getenv("HORUS_SHM_DIR"), "../up"); }) ==
          horus::Errc::name);
    const std::string shared = std::string(directory) + "-group";
    CHECK(thrown([&] { horus::Namespace(shared, "other", "no such group"); }) ==
          horus::Errc::argument);
    const std::string group = std::to_string(getegid());
    horus::Namespace of_group(shared, "other", group);
    CHECK(thrown([&] { horus::Namespace(shared, "other"); }) == horus::Errc::damaged);
    std::error_code error;
    CHECK(horus::Namespace::open_group(shared, "other", group, error).has_value() && !error);
    std::move(of_group).remove();
    CHECK(rmdir(shared.c_str()) == 0);
}

/// An object without a namespace, because it was moved or removed, does not mean the namespace of
/// the environment, whose topics are in use.
void an_empty_namespace_is_no_namespace() {
    CHECK(horus::Publisher<robot::Pair>("kept.here", horus::Qos::latched()).send({1, 1}));
    horus::Namespace moved(std::getenv("HORUS_SHM_DIR"), "moved");
    horus::Namespace removed(std::move(moved));
    std::move(removed).remove();
    for (horus::Namespace *empty : {&moved, &removed}) {
        CHECK(thrown([&] { empty->remove_topic("kept.here"); }) == horus::Errc::handle);
        CHECK(std::string(horus::last_error_message()) == "the handle is null: open one first");
        CHECK(thrown([&] { (void)empty->sweep(); }) == horus::Errc::handle);
        CHECK(thrown([&] { std::move(*empty).remove(); }) == horus::Errc::handle);
        const auto options = horus::Options().name_space(*empty);
        CHECK(thrown([&] { horus::Publisher<robot::Pair>("pair", options); }) ==
              horus::Errc::handle);
        CHECK(thrown([&] { horus::Subscriber<robot::Pair>("pair", options); }) ==
              horus::Errc::handle);
        CHECK(thrown([&] { (void)horus::topics(empty->raw()); }) == horus::Errc::handle);
        CHECK(thrown([&] { (void)horus::inspect("kept.here", empty->raw()); }) ==
              horus::Errc::handle);
        horus::LogOptions log;
        log.name_space = empty;
        CHECK(thrown([&] { horus::open_log(log); }) == horus::Errc::handle);
        horus::SchedulerOptions of_scheduler;
        of_scheduler.name_space = empty->raw();
        CHECK(thrown([&] { horus::Scheduler{of_scheduler}; }) == horus::Errc::handle);
    }
    CHECK(horus::Subscriber<robot::Pair>("kept.here").recv()->first == 1);
    horus::Namespace again(std::getenv("HORUS_SHM_DIR"), "moved");
    moved = std::move(again);
    CHECK(moved.sweep() == 0 && horus::topics(moved.raw()).empty());
    std::move(moved).remove();
}

void errors_say_what_is_wrong() {
    horus::Publisher<robot::Pair> publisher("typed");
    try {
        horus::Publisher<Wheel> other("typed", horus::Qos().strict());
        CHECK(false);
    } catch (const std::system_error &error) {
        CHECK(error.code() == horus::Errc::type);
        CHECK(error.code().message() == "HORUS_E_TYPE");
        CHECK(std::string(error.what()).find("'Wheel' here, 'Pair' in the topic") !=
              std::string::npos);
    }
    std::error_code code;
    CHECK(!horus::Publisher<Wheel>::open("typed", horus::Qos().strict(), code));
    CHECK(code == horus::Errc::type);
    CHECK(publisher.send({1, 1}, code) && !code);
    // Without it, each subscriber gets the messages of its own type.
    horus::Subscriber<Wheel> wheels("typed");
    CHECK(thrown([&] { (void)wheels.recv_blocking(); }) == horus::Errc::type);
    try {
        wheels.check();
        CHECK(false);
    } catch (const std::system_error &error) {
        CHECK(std::string(error.what()).find("'Wheel' here, 'Pair' in the topic") !=
              std::string::npos);
    }
    horus::Publisher<Wheel> wheel("typed");
    CHECK(wheel.send({}) && wheels.recv().has_value());
    wheels.check();
}

/// A number that was computed may be 0 by mistake, and must not select the default.
void a_number_of_0_is_no_default() {
    const auto refused = [](const horus::Options &options, const char *part) {
        try {
            horus::Publisher<horus::Image> publisher("of.zero", options);
        } catch (const horus::Error &error) {
            return std::string(error.what()).find(part) != std::string::npos;
        }
        return false;
    };
    CHECK(refused(horus::Qos().capacity(0), "capacity is 0"));
    CHECK(refused(horus::Qos().publishers_max(0), "publishers_max is 0"));
    CHECK(refused(horus::Qos().subscribers_max(0), "subscribers_max is 0"));
    CHECK(refused(horus::Options().max_message_bytes(0), "max_message_bytes is 0"));
    constexpr std::uint64_t large = UINT32_MAX;
    CHECK(refused(horus::Qos().capacity(large), "capacity is 4294967295"));
    CHECK(refused(horus::Options().max_message_bytes(large), "max_message_bytes) is 4294967295"));
}

/// The handle waits in parts of at most 50 ms, and each part may end without room.
void a_send_that_waits_long_is_refused_once() {
    const auto qos = horus::Qos::reliable().capacity(2);
    horus::Publisher<horus::CmdVel> publisher("refused.once", qos);
    horus::Subscriber<horus::CmdVel> subscriber("refused.once", horus::Qos::reliable());
    const auto refused = [] { return horus::inspect("refused.once").lanes[0].refused; };
    CHECK(publisher.send({}) && publisher.send({}));
    std::error_code error;
    CHECK(!publisher.send_timeout({}, 160ms, error) && refused() == 1);
    std::thread sender([&] { CHECK(publisher.send_timeout({}, 60s)); });
    std::this_thread::sleep_for(160ms);
    CHECK(subscriber.recv().has_value());
    sender.join();
    CHECK(refused() == 1);
}

void a_tool_sees_who_takes_part() {
    std::error_code error;
    CHECK(!horus::inspect("seen.by.tools", error) && error == horus::Errc::not_found);
    const auto qos = horus::Qos::reliable().capacity(2);
    horus::Publisher<horus::CmdVel> publisher("seen.by.tools", qos);
    horus::Subscriber<horus::CmdVel> subscriber("seen.by.tools", horus::Qos::reliable());
    CHECK(publisher.send({}) && publisher.send({}) && !publisher.send({}));
    const horus::Inspection seen = horus::inspect("seen.by.tools");
    CHECK(std::string(seen.topic.message_type) == "CmdVel" && seen.topic.capacity == 2);
    CHECK(seen.schema == horus::schema_text<horus::CmdVel>());
    CHECK(seen.lanes.size() == 1 && seen.lanes[0].sent == 2 && seen.lanes[0].refused == 1);
    CHECK(seen.subscribers.size() == 1 && seen.subscribers[0].received == 0);
    bool is_listed = false;
    for (const std::string &name : horus::topics()) {
        is_listed = is_listed || name == "seen.by.tools";
    }
    CHECK(is_listed);
}

}  // namespace

/// The time for a message is that of CLOCK_REALTIME, in nanoseconds.
void a_message_gets_the_present_time() {
    using namespace std::chrono;
    const auto now = [] { return system_clock::now().time_since_epoch(); };
    const auto before = now();
    const nanoseconds stamp(horus::timestamp_now_ns());
    CHECK(before <= stamp && stamp <= now());
}

int main() {
    a_message_gets_the_present_time();
    defaults_are_known_before_main();
    sends_and_receives();
    the_ends_wait_for_each_other();
    a_wait_spins_only_before_it_sleeps();
    a_moved_end_goes_on();
    a_loan_is_the_slot_that_is_borrowed();
    data_follow_a_header();
    a_borrowed_header_does_not_change();
    a_message_shorter_than_its_header_is_counted_and_left_out();
    slots_grow_to_what_a_loan_needs();
    who_requests_more_than_is_offered_is_told();
    the_ends_see_each_other_come_and_go();
    each_key_has_its_latched_message();
    one_thread_waits_for_all();
    namespaces_are_apart();
    an_empty_namespace_is_no_namespace();
    errors_say_what_is_wrong();
    a_number_of_0_is_no_default();
    a_send_that_waits_long_is_refused_once();
    a_tool_sees_who_takes_part();
    CHECK(horus::version()[0] != 0);
    return 0;
}
