// Deliberate bugs with lent memory: `teeth race|late|none`. A sanitizer must find them.
#include <cstring>
#include <thread>

#include "check.hpp"

int main(int count, char **arguments) {
    CHECK(count == 2);
    const bool races = std::strcmp(arguments[1], "race") == 0;
    const bool is_late = std::strcmp(arguments[1], "late") == 0;
    horus::Publisher<horus::CmdVel> publisher("teeth");
    auto *command = new horus::CmdVel{};
    if (races) {
        std::thread other([&] { command->timestamp_ns++; });
        command->timestamp_ns++;
        other.join();
    }
    if (is_late) {
        delete command;
        // WHY: otherwise the compiler would find the bug first.
        asm volatile("" : "+r"(command));
    }
    const horus::CmdVel copy = *command;
    CHECK(publisher.send(copy));
    if (!is_late) {
        delete command;
    }
    return 0;
}
