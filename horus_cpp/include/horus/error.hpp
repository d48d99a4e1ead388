// Errors: the error codes of the C ABI as std::error_code, and as exceptions.
#ifndef HORUS_ERROR_HPP
#define HORUS_ERROR_HPP

#include <cstring>
#include <string>
#include <system_error>

#include "horus.h"

/// 1 if errors may be thrown. With 0 (or -fno-exceptions), only overloads with an error_code exist.
#ifndef HORUS_EXCEPTIONS
#ifdef __cpp_exceptions
#define HORUS_EXCEPTIONS 1
#else
#define HORUS_EXCEPTIONS 0
#endif
#endif

// Around all that differs with HORUS_EXCEPTIONS. WHY: the linker keeps one copy of an inline
// function, and a file without exceptions must not give its copies to the others, because those do
// not catch anything. So the classes of both kinds of files are different ones.
#if HORUS_EXCEPTIONS
#define HORUS_VARIANT_BEGIN
#define HORUS_VARIANT_END
#else
#define HORUS_VARIANT_BEGIN inline namespace without_exceptions {
#define HORUS_VARIANT_END }
#endif

namespace horus {

/// The errors HORUS_E_*, which <horus/horus.h> describes.
enum class Errc : int {
    panic = HORUS_E_PANIC,
    handle = HORUS_E_HANDLE,
    null = HORUS_E_NULL,
    argument = HORUS_E_ARGUMENT,
    busy = HORUS_E_BUSY,
    limit = HORUS_E_LIMIT,
    name = HORUS_E_NAME,
    not_found = HORUS_E_NOT_FOUND,
    type = HORUS_E_TYPE,
    qos = HORUS_E_QOS,
    schema = HORUS_E_SCHEMA,
    message = HORUS_E_MESSAGE,
    forked = HORUS_E_FORKED,
    region_lost = HORUS_E_REGION_LOST,
    not_pinnable = HORUS_E_NOT_PINNABLE,
    loan = HORUS_E_LOAN,
    no_space = HORUS_E_NO_SPACE,
    system = HORUS_E_SYSTEM,
    damaged = HORUS_E_DAMAGED,
    node = HORUS_E_NODE,
    state = HORUS_E_STATE,
    no_memory = HORUS_E_NO_MEMORY,
    failed = HORUS_E_FAILED,
    namespace_removed = HORUS_E_NAMESPACE_REMOVED,
};

}  // namespace horus

// WHY here: the first comparison of an Errc needs it.
template <>
struct std::is_error_code_enum<horus::Errc> : std::true_type {};

namespace horus {

namespace detail {

class ErrorCategory final : public std::error_category {
  public:
    const char *name() const noexcept override { return "horus"; }
    std::string message(int status) const override { return horus_status_name(status); }
};

}  // namespace detail

/// The category of the error codes of this library. Their message is the name of the status.
inline const std::error_category &error_category() noexcept {
    static const detail::ErrorCategory category;
    return category;
}

/// Converts an error to a std::error_code.
inline std::error_code make_error_code(Errc error) noexcept {
    return {static_cast<int>(error), error_category()};
}

/// Returns true if `code` is this error of the library. WHY not the comparison of std::error_code:
/// that compares the addresses of the categories, and a plugin may have a category of its own.
inline bool operator==(const std::error_code &code, Errc error) noexcept {
    return code.value() == static_cast<int>(error) &&
           std::strcmp(code.category().name(), error_category().name()) == 0;
}
inline bool operator==(Errc error, const std::error_code &code) noexcept { return code == error; }
inline bool operator!=(const std::error_code &code, Errc error) noexcept {
    return !(code == error);
}
inline bool operator!=(Errc error, const std::error_code &code) noexcept {
    return !(code == error);
}

/// Returns the text of the last error of this thread: what was found, what was wanted, what to do.
/// It is valid until the next error of the thread.
inline const char *last_error_message() noexcept { return horus_last_error_message(); }

#if HORUS_EXCEPTIONS
/// The exception. `what()` is the text of the error, `code()` its code.
class Error : public std::system_error {
  public:
    explicit Error(std::error_code code) : std::system_error(code, last_error_message()) {}
};
#endif

namespace detail {

#if HORUS_EXCEPTIONS
// WHY not inlined: calls that do not throw should not contain this code.
[[noreturn]] __attribute__((noinline, cold)) inline void raise(horus_status_t status) {
    throw Error(make_error_code(static_cast<Errc>(status)));
}

/// Throws if the status is an error; otherwise returns true for HORUS_OK.
inline bool done(horus_status_t status) {
    if (status < 0) {
        raise(status);
    }
    return status == HORUS_OK;
}
#endif

/// Stores the status in `error`; returns true for HORUS_OK.
inline bool done(horus_status_t status, std::error_code &error) noexcept {
    if (status < 0) {
        error = make_error_code(static_cast<Errc>(status));
    } else {
        error.clear();
    }
    return status == HORUS_OK;
}

}  // namespace detail

}  // namespace horus

#endif  // HORUS_ERROR_HPP
