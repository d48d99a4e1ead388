// A plugin that hides its symbols, so that it has its own copy of what the headers define.
#include "check.hpp"

#define VISIBLE extern "C" __attribute__((visibility("default")))

VISIBLE std::error_code failed_open();
VISIBLE void throw_error();

std::error_code failed_open() {
    std::error_code error;
    CHECK(!horus::Publisher<robot::Pair>::open("no topic, this", {}, error));
    return error;
}

void throw_error() { horus::Publisher<robot::Pair> publisher("no topic, this"); }
