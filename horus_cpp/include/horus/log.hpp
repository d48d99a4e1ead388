// Logging: the log of the process, a topic that keeps its last lines after the process was killed.
#ifndef HORUS_LOG_HPP
#define HORUS_LOG_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include "error.hpp"
#include "log.h"
#include "options.hpp"

#if __cplusplus >= 202002L && __has_include(<source_location>)
#include <source_location>
#endif
#if __cplusplus >= 202002L && __has_include(<format>)
#include <format>
#endif

namespace horus {

/// The level of a line, the most important first.
enum class LogLevel : std::uint32_t {
    error = HORUS_LOG_ERROR,
    warn = HORUS_LOG_WARN,
    info = HORUS_LOG_INFO,
    debug = HORUS_LOG_DEBUG,
    trace = HORUS_LOG_TRACE,
};

HORUS_VARIANT_BEGIN

/// Settings of the log. A null namespace is that of the environment.
struct LogOptions {
    /// The node name of lines that are logged outside of nodes; empty for none.
    std::string node;
    /// Selects lines, such as "info,planner=debug". The environment variable HORUS_LOG replaces it.
    std::string filter = "info";
    const Namespace *name_space = nullptr;
};

/// Opens the log of this process, once, at its start; horus::Errc::state if it is open already.
inline void open_log(const LogOptions &options, std::error_code &error) noexcept {
    const auto name_space =
        options.name_space == nullptr ? horus_namespace_t{} : options.name_space->raw();
    (void)detail::done(
        horus_log_open(name_space, options.node.c_str(), options.filter.c_str()), error);
}
#if HORUS_EXCEPTIONS
inline void open_log(const LogOptions &options = {}) {
    const auto name_space =
        options.name_space == nullptr ? horus_namespace_t{} : options.name_space->raw();
    (void)detail::done(
        horus_log_open(name_space, options.node.c_str(), options.filter.c_str()));
}
#endif

HORUS_VARIANT_END

/// Returns true if lines of this level may be logged. If not, a text need not be formatted.
inline bool is_log_enabled(LogLevel level) noexcept {
    return static_cast<std::uint32_t>(level) <= horus_log_level();
}

#if defined(__cpp_lib_source_location)
/// Logs a line of the node that ticks in this thread, or of the node of `open_log`. Does nothing if
/// the log is not open. Never throws. <horus/log.h> says when it blocks.
inline void log(LogLevel level, std::string_view text,
                std::source_location source = std::source_location::current()) noexcept {
    (void)horus_log_from(nullptr, static_cast<std::uint32_t>(level), source.file_name(),
                         source.line(), text.data(), text.size());
}
#else
/// Logs a line of the node that ticks in this thread, or of the node of `open_log`. Does nothing if
/// the log is not open. Never throws. <horus/log.h> says when it blocks.
inline void log(LogLevel level, std::string_view text) noexcept {
    (void)horus_log(static_cast<std::uint32_t>(level), text.data(), text.size());
}
#endif

/// Logs a line of the node `node`.
inline void log_from(Name node, LogLevel level, std::string_view text) noexcept {
    (void)horus_log_from(node.c_str(), static_cast<std::uint32_t>(level), nullptr, 0, text.data(),
                         text.size());
}

#if defined(__cpp_lib_format) && defined(__cpp_lib_source_location)
namespace detail {

/// A format and the position of the call in the source.
template <class... Args>
struct LogFormat {
    template <class Text>
    consteval LogFormat(const Text &text,
                        std::source_location from = std::source_location::current())
        : format(text), source(from) {}
    /// For functions that pass a format on.
    LogFormat(std::format_string<Args...> passed,
              std::source_location from = std::source_location::current())
        : format(passed), source(from) {}

    std::format_string<Args...> format;
    std::source_location source;
};

}  // namespace detail

/// Formats a line as std::format does, and logs it as `log` does. Formats nothing if the level is
/// not logged, and allocates nothing.
template <class... Args>
void logf(LogLevel level, detail::LogFormat<std::type_identity_t<Args>...> format,
          Args &&...args) {
    if (!is_log_enabled(level)) {
        return;
    }
    // WHY no longer: the log cuts a text after 752 bytes.
    char text[1024];
    const auto formatted =
        std::format_to_n(text, sizeof text, format.format, std::forward<Args>(args)...);
    const auto bytes = static_cast<std::size_t>(formatted.out - text);
    const auto all = static_cast<std::size_t>(formatted.size);
    (void)horus_log_prefix(nullptr, static_cast<std::uint32_t>(level), format.source.file_name(),
                           format.source.line(), text, bytes, all - bytes);
}
#endif

}  // namespace horus

#endif  // HORUS_LOG_HPP
