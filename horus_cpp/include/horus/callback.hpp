// The C callbacks of nodes: they call C++, and turn an exception into a failure of the node.
#ifndef HORUS_CALLBACK_HPP
#define HORUS_CALLBACK_HPP

#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <type_traits>

#if __has_include(<cxxabi.h>)
#include <cxxabi.h>
#endif

#include "context.hpp"
#include "error.hpp"
#include "horus.h"
#include "node.hpp"

namespace horus {

namespace detail {

HORUS_VARIANT_BEGIN

/// Runs a callback. Returns 0, or another number after an exception, whose text becomes the error
/// text of the context.
template <typename Call>
std::int32_t trampoline(horus_context_t *context, Call &&call) noexcept {
#if HORUS_EXCEPTIONS
    try {
        call();
        return 0;
    }
#if __has_include(<cxxabi.h>) && defined(__GLIBCXX__)
    // WHY: if it is swallowed, the C library aborts the process without naming pthread_exit.
    catch (abi::__forced_unwind &) {
        std::fputs("horus: a callback must not call pthread_exit\n", stderr);
        std::terminate();
    }
#endif
    catch (const std::exception &error) {
        if (context != nullptr) {
            horus_context_set_error(context, error.what());
        }
    } catch (const char *text) {
        if (context != nullptr) {
            horus_context_set_error(context, text);
        }
    } catch (int number) {
        if (context != nullptr) {
            char text[40];
            std::snprintf(text, sizeof text, "the int %d was thrown", number);
            horus_context_set_error(context, text);
        }
    } catch (...) {
        if (context != nullptr) {
            horus_context_set_error(context, "an object that is not a std::exception was thrown");
        }
    }
    return -1;
#else
    (void)context;
    call();
    return 0;
#endif
}

/// Converts the number that a tick returned. WHY not cut: the lowest bits of a long one may be 0.
template <typename Number>
constexpr std::int32_t code_of(Number number) noexcept {
    const auto code = static_cast<std::int32_t>(number);
    return static_cast<Number>(code) == number ? code : number > Number{} ? INT32_MAX : INT32_MIN;
}

/// A node made of a callable, which returns nothing, or false or a nonzero number for a failure.
template <typename Tick>
struct Callable {
    Tick tick;
    std::function<void()> on_hang;

    static std::int32_t call(void *user, horus_context_t *raw) noexcept {
        std::int32_t code = 0;
        const std::int32_t thrown = trampoline(raw, [&] {
            Context context(raw);
            auto &tick = static_cast<Callable *>(user)->tick;
            using Result = std::decay_t<std::invoke_result_t<Tick &, Context &>>;
            static_assert(std::is_void_v<Result> || std::is_integral_v<Result> ||
                              (std::is_enum_v<Result> && std::is_convertible_v<Result, int>),
                          "horus: a tick returns nothing, a bool or an integer");
            if constexpr (std::is_void_v<Result>) {
                tick(context);
            } else if constexpr (std::is_same_v<Result, bool>) {
                code = tick(context) ? 0 : -1;
            } else {
                code = code_of(static_cast<Result>(tick(context)));
            }
        });
        return thrown != 0 ? thrown : code;
    }

    static std::int32_t safe_state(void *user, horus_context_t *raw) noexcept {
        return trampoline(raw, [&] { static_cast<Callable *>(user)->on_hang(); });
    }

    static void destroy(void *user) noexcept {
        trampoline(nullptr, [&] { delete static_cast<Callable *>(user); });
    }
};

/// The C callbacks of a node whose `user` is a Node: each calls a virtual function.
struct Virtual {
    static Node &of(void *user) noexcept { return *static_cast<Node *>(user); }

    static std::int32_t tick(void *user, horus_context_t *raw) noexcept {
        return trampoline(raw, [&] {
            Context context(raw);
            of(user).tick(context);
        });
    }
    static std::int32_t init(void *user, horus_context_t *raw) noexcept {
        return trampoline(raw, [&] {
            Context context(raw);
            of(user).init(context);
        });
    }
    static std::int32_t shutdown(void *user, horus_context_t *raw) noexcept {
        return trampoline(raw, [&] { of(user).shutdown(); });
    }
    static std::int32_t enter_safe_state(void *user, horus_context_t *raw) noexcept {
        return trampoline(raw, [&] { of(user).enter_safe_state(); });
    }
    static std::int32_t is_safe_state(void *user) noexcept {
        bool is_safe = false;
        trampoline(nullptr, [&] { is_safe = of(user).is_safe_state(); });
        return is_safe ? 1 : 0;
    }
    static void on_error(void *user, const char *error) noexcept {
        trampoline(nullptr, [&] { of(user).on_error(error); });
    }
    static std::int32_t safe_state(void *user, horus_context_t *raw) noexcept {
        return trampoline(raw, [&] { of(user).safe_state_(); });
    }
    static void destroy(void *user) noexcept {
        trampoline(nullptr, [&] { delete static_cast<Node *>(user); });
    }
};

HORUS_VARIANT_END

}  // namespace detail

}  // namespace horus

#endif  // HORUS_CALLBACK_HPP
