// Publishes a counter ten times per second: `talker_cpp [messages]`.
#include "counter.hpp"

#include <iostream>
#include <thread>

int main(int argc, char **argv) try {
    const std::uint64_t messages = messages_of(argc, argv);
    horus::Publisher<Counter> publisher("counter", horus::Qos::latched());
    for (std::uint64_t count = 1; count <= messages; ++count) {
        const std::chrono::nanoseconds now = std::chrono::system_clock::now().time_since_epoch();
        if (publisher.send({static_cast<std::uint64_t>(now.count()), count})) {
            std::cout << "sent " << count << std::endl;
        } else {
            std::cerr << "talker: a reliable listener is too slow\n";
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return 0;
} catch (const horus::Error &error) {
    std::cerr << "talker: " << error.what() << '\n';
    return 1;
}
