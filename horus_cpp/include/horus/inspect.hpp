// Introspection: the topics of a namespace, their message types, participants and counters.
#ifndef HORUS_INSPECT_HPP
#define HORUS_INSPECT_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "options.hpp"

namespace horus {

/// A topic, and the number of its participants.
using TopicCounters = horus_topic_counters_t;
/// A lane of a topic, which is written by one publisher at a time.
using LaneCounters = horus_lane_counters_t;
/// A live subscriber of a topic.
using ReaderCounters = horus_reader_counters_t;

/// The state of a topic. The counters of a running topic are read one after another, so they are
/// not a snapshot of one moment and need not add up.
struct Inspection {
    TopicCounters topic{};
    std::string schema;
    /// The lanes that were ever used.
    std::vector<LaneCounters> lanes;
    /// The live subscribers.
    std::vector<ReaderCounters> subscribers;
};

namespace detail {

/// Calls `get(out, room, out_bytes)` with a buffer that grows until the text fits.
template <class Get>
horus_status_t text_of(std::string &text, Get get) {
    std::size_t bytes = 0;
    horus_status_t status = HORUS_TRUNCATED;
    while (status == HORUS_TRUNCATED) {
        // WHY + 1: the text ends in a 0.
        text.resize(bytes + 1);
        status = get(text.data(), text.size(), &bytes);
    }
    text.resize(status == HORUS_OK ? bytes : 0);
    return status;
}

/// Appends all entries to `all`: calls `get(index, out)` with each index until there is no entry.
template <class Metrics, class Get>
horus_status_t all_of(std::vector<Metrics> &all, Get get) {
    for (;;) {
        Metrics one{};
        one.struct_bytes = static_cast<std::uint32_t>(sizeof one);
        const horus_status_t status = get(all.size(), &one);
        if (status != HORUS_OK) {
            return status == HORUS_EMPTY ? HORUS_OK : status;
        }
        all.push_back(one);
    }
}

inline horus_status_t inspect(horus_namespace_t in, const char *topic, Inspection &found) {
    found.topic.struct_bytes = static_cast<std::uint32_t>(sizeof found.topic);
    horus_status_t status = horus_topic_inspect(in, topic, &found.topic);
    if (status == HORUS_OK) {
        status = text_of(found.schema, [&](char *out, std::size_t room, std::size_t *bytes) {
            return horus_topic_schema(in, topic, out, room, bytes);
        });
    }
    if (status == HORUS_OK) {
        status = all_of(found.lanes, [&](std::size_t index, LaneCounters *out) {
            return horus_topic_lane_counters(in, topic, index, out);
        });
    }
    if (status == HORUS_OK) {
        status = all_of(found.subscribers, [&](std::size_t index, ReaderCounters *out) {
            return horus_topic_reader_counters(in, topic, index, out);
        });
    }
    return status;
}

inline horus_status_t topics(horus_namespace_t in, std::vector<std::string> &names) {
    std::string lines;
    const auto get = [&](char *out, std::size_t room, std::size_t *bytes) {
        return horus_topics(in, out, room, bytes);
    };
    const horus_status_t status = text_of(lines, get);
    for (std::size_t begin = 0; begin < lines.size();) {
        const std::size_t end = lines.find('\n', begin);
        names.push_back(lines.substr(begin, end - begin));
        begin = end + 1;
    }
    return status;
}

}  // namespace detail

/// Returns the sorted names of the topics of the namespace `in`, for instance `name_space.raw()`.
/// The default is the namespace of the environment. Empty after an error.
inline std::vector<std::string> topics(std::error_code &error, horus_namespace_t in = {}) {
    std::vector<std::string> names;
    (void)detail::done(detail::topics(in, names), error);
    return names;
}
/// Inspects a topic. Only reads. horus::Errc::not_found if the topic does not exist.
inline std::optional<Inspection> inspect(Name topic, std::error_code &error,
                                         horus_namespace_t in = {}) {
    Inspection found;
    const bool is = detail::done(detail::inspect(in, topic.c_str(), found), error);
    return is ? std::optional<Inspection>(std::move(found)) : std::nullopt;
}
#if HORUS_EXCEPTIONS
inline std::vector<std::string> topics(horus_namespace_t in = {}) {
    std::vector<std::string> names;
    (void)detail::done(detail::topics(in, names));
    return names;
}
inline Inspection inspect(Name topic, horus_namespace_t in = {}) {
    Inspection found;
    (void)detail::done(detail::inspect(in, topic.c_str(), found));
    return found;
}
#endif

}  // namespace horus

#endif  // HORUS_INSPECT_HPP
