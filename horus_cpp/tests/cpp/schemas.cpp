// Prints the schemas of the messages of the tests: `<hash> <bytes>`, and the text.
#include "check.hpp"

#include <cinttypes>
#include <cstring>

template <class T>
void print() {
    constexpr horus::SchemaHash hash = horus::schema_hash<T>();
    const char *text = horus::schema_text<T>();
    std::printf("%016" PRIx64 "%016" PRIx64 " %zu\n%s", hash.high, hash.low, std::strlen(text), text);
}

int main() {
    print<robot::Pair>();
    print<robot::Everything>();
    print<Wheel>();
    print<Sonar>();
    print<horus::CmdVel>();
    print<horus::NavPath>();
    print<horus::TactileArray>();
    print<horus::DiagnosticStatus>();
    print<horus::Image>();
    print<horus::Bytes>();
    return 0;
}
