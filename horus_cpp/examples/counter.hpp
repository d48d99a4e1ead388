// The message of the talker and the listener, and what else they share.
#ifndef HORUS_EXAMPLES_COUNTER_HPP
#define HORUS_EXAMPLES_COUNTER_HPP

#include <horus/horus.hpp>

#include <cstdlib>
#include <iostream>
#include <string>

struct Counter {
    std::uint64_t timestamp_ns;
    std::uint64_t count;
};
HORUS_MESSAGE(Counter, timestamp_ns, count);

// How many messages the argument asks for; without one, it never ends. Exits if it is no number.
inline std::uint64_t messages_of(int argc, char **argv) {
    if (argc == 1) {
        return UINT64_MAX;
    }
    const std::string argument = argv[1];
    const bool is_number = argument.find_first_not_of("0123456789") == std::string::npos;
    if (argc > 2 || argument.empty() || !is_number) {
        std::cerr << "usage: " << argv[0] << " [messages]\n";
        std::exit(2);
    }
    return std::strtoull(argument.c_str(), nullptr, 10);
}

#endif  // HORUS_EXAMPLES_COUNTER_HPP
