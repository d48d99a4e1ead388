// Prints what a talker publishes: `listener_cpp [messages]`.
#include "counter.hpp"

#include <iostream>

int main(int argc, char **argv) try {
    const std::uint64_t messages = messages_of(argc, argv);
    horus::Subscriber<Counter> subscriber("counter", horus::Qos::latched());
    for (std::uint64_t received = 0; received < messages;) {
        if (const auto counter = subscriber.recv_timeout(std::chrono::seconds(1))) {
            std::cout << "received " << counter->count << std::endl;
            ++received;
        } else {
            std::cerr << "listener: nothing for a second\n";
        }
    }
    return 0;
} catch (const horus::Error &error) {
    std::cerr << "listener: " << error.what() << '\n';
    return 1;
}
