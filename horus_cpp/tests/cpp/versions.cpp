// The program `horus_core/examples/versions.rs` in C++.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>

#include <horus/horus.hpp>

namespace old {
struct Status {
    std::uint64_t number;
    float volts;
    std::uint8_t _reserved[4];
};
HORUS_MESSAGE(Status, number, volts, _reserved);
}  // namespace old

namespace latest {
struct Status {
    std::uint64_t number = 0;
    float volts = 0;
    float amperes = 1.5F;
    double gain = 0;
};
HORUS_MESSAGE(Status, number, volts, amperes, gain);
}  // namespace latest

namespace other {
struct Status {
    std::uint64_t number;
    double celsius;
};
HORUS_MESSAGE(Status, number, celsius);
}  // namespace other

static horus::Qos qos;

static void say(const std::string &line) {
    std::puts(line.c_str());
    std::fflush(stdout);
}

static void print(const old::Status &status, unsigned long long bytes) {
    std::printf("%llu %.1f %llu\n", static_cast<unsigned long long>(status.number),
                static_cast<double>(status.volts), bytes);
}

static void print(const other::Status &status, unsigned long long bytes) {
    std::printf("%llu %.1f %llu\n", static_cast<unsigned long long>(status.number), status.celsius,
                bytes);
}

static void print(const latest::Status &status, unsigned long long bytes) {
    std::printf("%llu %.1f %.1f %.1f %llu\n", static_cast<unsigned long long>(status.number),
                static_cast<double>(status.volts), static_cast<double>(status.amperes),
                status.gain, bytes);
}

template <class T>
static void publish(T status) {
    horus::Publisher<T> publisher("status", qos);
    say("open");
    for (std::string line; std::getline(std::cin, line);) {
        status.number = std::strtoull(line.c_str(), nullptr, 10);
        if (!publisher.send(status)) std::exit(1);
        say("sent");
    }
}

template <class T>
static void subscribe() {
    horus::Subscriber<T> subscriber("status", qos);
    say("open");
    for (std::string line; std::getline(std::cin, line);) {
        std::error_code error;
        T status{};
        while (subscriber.recv(status, error)) {
            print(status, subscriber.info().received_bytes);
        }
        if (error == horus::Errc::type || error == horus::Errc::qos) {
            say(std::string("incompatible: ") + horus::last_error_message());
        }
        say("end");
    }
}

int main(int count, char **arguments) {
    if (count != 4) return 2;
    const bool is_new = std::strcmp(arguments[2], "new") == 0;
    const bool is_other = std::strcmp(arguments[2], "other") == 0;
    if (std::strcmp(arguments[3], "reliable") == 0) qos = horus::Qos::reliable();
    if (std::strcmp(arguments[1], "publish") == 0) {
        if (is_other) {
            publish(other::Status{0, 36.5});
        } else if (is_new) {
            publish(latest::Status{0, 24.0F, 3.0F, 0.5});
        } else {
            publish(old::Status{0, 12.5F, {7, 7, 7, 7}});
        }
    } else if (is_other) {
        subscribe<other::Status>();
    } else if (is_new) {
        subscribe<latest::Status>();
    } else {
        subscribe<old::Status>();
    }
}
