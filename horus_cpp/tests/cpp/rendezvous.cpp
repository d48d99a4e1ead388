// The same as c/rendezvous.c, in C++: rendezvous publish|subscribe|lose TOPIC
#include "check.hpp"

#include <cstring>
#include <iostream>

using namespace std::chrono_literals;

namespace {

constexpr auto limit = 60s;

void publish(const char *topic) {
    horus::Publisher<robot::Pair> publisher(topic);
    std::cout << "open 1" << std::endl;
    const auto found = publisher.wait_for_subscribers(1, limit);
    CHECK(found && publisher.send({7, 8}));
    std::cout << "found " << *found << std::endl;
    std::cin.get();
}

void subscribe(const char *topic) {
    horus::Subscriber<robot::Pair> subscriber(topic);
    std::cout << "open 1" << std::endl;
    const auto found = subscriber.wait_for_publishers(1, limit);
    CHECK(found);
    std::cout << "found " << *found << std::endl;
    const auto pair = subscriber.recv_timeout(limit);
    CHECK(pair);
    std::cout << "received " << pair->first << std::endl;
    std::cin.get();
}

/// Waits for another end of each kind, while another process truncates the file of the topic.
void lose(const char *name) {
    horus::Topic<robot::Pair> topic(name);
    std::cout << "open 2" << std::endl;
    std::error_code error;
    CHECK(!topic.wait_for_subscribers(1, horus::forever, error));
    CHECK(error == horus::Errc::region_lost);
    try {
        CHECK(!topic.wait_for_publishers(1, horus::forever));
        CHECK(false);
    } catch (const horus::Error &thrown) {
        CHECK(thrown.code() == horus::Errc::region_lost);
        CHECK(std::strstr(thrown.what(), "topic 'lost'") != nullptr);
    }
    std::cout << "lost 2" << std::endl;
    std::cin.get();
}

}  // namespace

int main(int argc, char **argv) {
    CHECK(argc == 3);
    if (std::strcmp(argv[1], "publish") == 0) {
        publish(argv[2]);
    } else if (std::strcmp(argv[1], "subscribe") == 0) {
        subscribe(argv[2]);
    } else {
        lose(argv[2]);
    }
    return 0;
}
