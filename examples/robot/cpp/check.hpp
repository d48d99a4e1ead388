// Every message of the demo contains a checksum of its own content, as in src/check.rs.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

namespace check {

/// Returns the checksum: FNV-1a over 8-byte words of everything except the checksum itself, which
/// is in the two lowest bytes of the last number.
template <class Last, class Message>
std::array<unsigned char, 2> of(const Message &message) {
    static_assert(sizeof message % 8 == 0);
    std::array<unsigned char, sizeof message> bytes;
    std::memcpy(bytes.data(), &message, sizeof message);
    std::memset(bytes.data() + sizeof message - sizeof(Last), 0, 2);
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (std::size_t at = 0; at < sizeof message; at += 8) {
        std::uint64_t word;
        std::memcpy(&word, bytes.data() + at, sizeof word);
        hash = (hash ^ word) * 0x0100000001b3u;
    }
    return {static_cast<unsigned char>(hash >> 48), static_cast<unsigned char>(hash >> 56)};
}

/// Returns the message with its checksum filled in.
template <class Last, class Message>
Message sign(Message message) {
    const auto check = of<Last>(message);
    auto *last = reinterpret_cast<unsigned char *>(&message) + sizeof message - sizeof(Last);
    std::memcpy(last, check.data(), check.size());
    return message;
}

/// Returns true if the message matches its checksum.
template <class Last, class Message>
bool matches_checksum(const Message &message) {
    const auto check = of<Last>(message);
    const auto *last = reinterpret_cast<const unsigned char *>(&message) + sizeof message;
    return std::memcmp(last - sizeof(Last), check.data(), check.size()) == 0;
}

}  // namespace check
