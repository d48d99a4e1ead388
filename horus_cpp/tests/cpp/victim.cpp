// Streams until it is killed: `victim publish|receive|lend|borrow <sender>`. It prints "ready"
// first.
#include <cstdio>
#include <cstring>
#include <deque>
#include <string>

#include "check.hpp"

namespace robot {

/// A message whose words are all computed from its number.
template <std::size_t Words>
struct Tagged {
    std::uint64_t sender;
    std::uint64_t number;
    std::uint64_t words[Words];

    std::uint64_t word(std::size_t index) const {
        return (sender << 32 ^ number) * 0x9e3779b97f4a7c15u + index;
    }
    void fill(std::uint64_t from, std::uint64_t at) {
        sender = from;
        number = at;
        for (std::size_t index = 0; index < Words; index++) {
            words[index] = word(index);
        }
    }
    void check() const {
        for (std::size_t index = 0; index < Words; index++) {
            CHECK(words[index] == word(index));
        }
    }
};

struct Small : Tagged<6> {};
struct Large : Tagged<8190> {};
HORUS_MESSAGE(Small, sender, number, words);
HORUS_MESSAGE(Large, sender, number, words);

}  // namespace robot

int main(int count, char **arguments) {
    CHECK(count == 3);
    const std::string role = arguments[1];
    const std::uint64_t sender = std::strtoull(arguments[2], nullptr, 10);
    std::uint64_t number = 0;
    const auto go_on = [&] {
        if (number++ == 0) {
            std::puts("ready");
            std::fflush(stdout);
        }
    };
    if (role == "publish") {
        horus::Publisher<robot::Small> publisher("small");
        for (robot::Small message;; go_on()) {
            message.fill(sender, number);
            CHECK(publisher.send_timeout(message, horus::forever));
        }
    } else if (role == "receive") {
        for (horus::Subscriber<robot::Small> subscriber("small");; go_on()) {
            subscriber.recv_blocking().check();
        }
    } else if (role == "lend") {
        for (horus::Publisher<robot::Large> publisher("large");;) {
            if (auto loan = publisher.loan()) {
                (*loan)->fill(sender, number);
                loan->publish();
                go_on();
            }
        }
    } else {
        horus::Subscriber<robot::Large> subscriber("large");
        for (std::deque<horus::Borrow<robot::Large>> held;;) {
            if (auto borrow = subscriber.borrow()) {
                (*borrow)->check();
                held.push_back(std::move(*borrow));
                if (held.size() > 3) {
                    held.front()->check();
                    held.pop_front();
                }
                go_on();
            }
        }
    }
}
