// Sends and receives repeatedly: for each line of input, prints the best cost of a send and a
// receive.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <string>

#include "check.hpp"

int main() {
    constexpr int batches = 200, batch = 1000;
    horus::Publisher<horus::CmdVel> publisher("costs");
    horus::Subscriber<horus::CmdVel> subscriber("costs");
    horus::CmdVel sent{}, received{};
    for (std::string line; std::getline(std::cin, line);) {
        double best_ns = 1e9;
        for (int i = 0; i < batches; i++) {
            const auto begin = std::chrono::steady_clock::now();
            for (int j = 0; j < batch; j++) {
                sent.timestamp_ns++;
                const bool arrives = publisher.send(sent) && subscriber.recv(received);
                CHECK(arrives && received.timestamp_ns == sent.timestamp_ns);
            }
            const std::chrono::duration<double, std::nano> time =
                std::chrono::steady_clock::now() - begin;
            best_ns = std::min(best_ns, time.count() / batch);
        }
        std::cout << best_ns << std::endl;
    }
    return 0;
}
