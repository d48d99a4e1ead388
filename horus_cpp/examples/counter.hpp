// The message of the talker and the listener.
#ifndef HORUS_EXAMPLES_COUNTER_HPP
#define HORUS_EXAMPLES_COUNTER_HPP

#include <horus/horus.hpp>

struct Counter {
    std::uint64_t timestamp_ns;
    std::uint64_t count;
};
HORUS_MESSAGE(Counter, timestamp_ns, count);

#endif  // HORUS_EXAMPLES_COUNTER_HPP
