// Options for opening publishers and subscribers: names, quality of service, namespaces, times.
#ifndef HORUS_OPTIONS_HPP
#define HORUS_OPTIONS_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "error.hpp"
#include "schema.hpp"

#if __cplusplus >= 202002L
#include <span>
#endif

namespace horus {

/// An infinite timeout. Negative timeouts expire at once.
inline constexpr std::chrono::nanoseconds forever = std::chrono::nanoseconds::max();

#if __cplusplus >= 202002L
template <class T>
using Span = std::span<T>;
#else
/// A view of contiguous elements. From C++20 on, it is std::span.
template <class T>
class Span {
  public:
    constexpr Span() noexcept = default;
    constexpr Span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
    template <std::size_t N>
    constexpr Span(T (&array)[N]) noexcept : data_(array), size_(N) {}
    /// Makes a view of a std::vector, std::array or std::string.
    template <class C, class = std::enable_if_t<
                           std::is_convertible_v<decltype(std::declval<C &>().data()), T *>>>
    constexpr Span(C &&container) noexcept : data_(container.data()), size_(container.size()) {}

    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr T *begin() const noexcept { return data_; }
    constexpr T *end() const noexcept { return data_ + size_; }
    constexpr T &operator[](std::size_t index) const noexcept { return data_[index]; }

  private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};
#endif

/// The name of a topic or namespace, from a `const char *` or std::string. Not kept after the call.
class Name {
  public:
    Name(const char *text) noexcept : text_(text) {}
    Name(const std::string &text) noexcept : text_(text.c_str()) {}

    const char *c_str() const noexcept { return text_; }

  private:
    const char *text_;
};

namespace detail {

constexpr std::int64_t timeout_ns(std::chrono::nanoseconds timeout) noexcept {
    return timeout == forever ? -1 : timeout.count() < 0 ? 0 : timeout.count();
}

/// Converts a time for the C functions. WHY a negative one becomes a number above INT64_MAX: they
/// refuse it, whereas 0 would stand for a default.
constexpr std::uint64_t time_ns(std::chrono::nanoseconds time) noexcept {
    const auto ns = static_cast<std::uint64_t>(time.count());
    return ns == HORUS_TIME_ZERO ? ns + 1 : ns;
}

/// Converts a time for a setting where the number 0 stands for the default, which no time selects.
constexpr std::uint64_t given_ns(std::chrono::nanoseconds time) noexcept {
    return time.count() == 0 ? HORUS_TIME_ZERO : time_ns(time);
}

/// Converts a number for a setting where 0 stands for the default, which no number selects.
constexpr std::uint32_t given_count(std::uint32_t number) noexcept {
    return number == 0 ? HORUS_COUNT_ZERO : number;
}
constexpr std::uint64_t given_count(std::uint64_t number) noexcept {
    return number == 0 ? HORUS_COUNT64_ZERO : number;
}

/// The owner of a handle. It can be moved, and the destructor closes the handle.
template <class Raw, horus_status_t (*Close)(Raw)>
class Handle {
  public:
    Handle() noexcept = default;
    explicit Handle(Raw raw) noexcept : raw_(raw) {}
    Handle(Handle &&other) noexcept : raw_(std::exchange(other.raw_, Raw{})) {}
    Handle &operator=(Handle &&other) noexcept {
        if (this != &other) {
            close();
            raw_ = std::exchange(other.raw_, Raw{});
        }
        return *this;
    }
    ~Handle() { close(); }

    Raw raw() const noexcept { return raw_; }

    Raw release() noexcept { return std::exchange(raw_, Raw{}); }

    void close() noexcept {
        if (raw_.id != 0) {
            (void)Close(release());
        }
    }

  private:
    Raw raw_{};
};

}  // namespace detail

/// Quality of service: what a publisher offers, and what a subscriber requests. No setting belongs
/// to the topic. Of a subscriber only the reliability affects publishers: without Qos::reliable() it
/// receives from all publishers, and none waits for it; strict, strict_schema and subscribers_max of
/// a subscriber apply to itself. `horus::Qos::reliable().capacity(64)`.
class Qos {
  public:
    /// The default of each setting: best effort.
    constexpr Qos() noexcept : Qos(HORUS_QOS_DEFAULT) {}
    /// For fresh data: 8 slots, best effort.
    static constexpr Qos sensor_data() noexcept { return Qos(HORUS_QOS_SENSOR_DATA); }
    /// No unread message is overwritten: `send` returns false if all slots are full. A reliable
    /// subscriber receives only from reliable publishers, and these wait for it (horus::Errc::qos
    /// while no live publisher is reliable).
    static constexpr Qos reliable() noexcept { return Qos(HORUS_QOS_RELIABLE); }
    /// For actuators: 16 slots, and the sender pays for wakes (HORUS_WAKE_FENCE).
    static constexpr Qos command() noexcept { return Qos(HORUS_QOS_COMMAND); }
    /// Late joiners get the last message, even if its publisher has been closed.
    static constexpr Qos latched() noexcept { return Qos(HORUS_QOS_LATCHED); }

    /// The number of slots of each publisher, rounded up to a power of two. Opening refuses 0, as a
    /// maximum and as a length, too.
    constexpr Qos capacity(std::uint64_t slots) const noexcept {
        return with(&horus_qos_t::capacity, detail::given_count(slots));
    }
    /// The number of old messages that a late joiner gets, at most seven eighths of the slots.
    constexpr Qos history(std::uint32_t messages) const noexcept {
        return with(&horus_qos_t::history, messages == 0 ? HORUS_HISTORY_NONE : messages);
    }
    /// Keeps the history, and the topic, when its publisher has left.
    constexpr Qos persist_after_exit(bool persist = true) const noexcept {
        return with(&horus_qos_t::persist_after_exit, persist ? HORUS_YES : HORUS_NO);
    }
    /// Allows loans and borrows of messages below 4 KiB, too.
    constexpr Qos pinnable(bool pinnable = true) const noexcept {
        return with(&horus_qos_t::pinnable, pinnable ? HORUS_YES : HORUS_NO);
    }
    /// Sets the maximum number of publishers with this setting that can be open at a time: at most
    /// 64, which is the default.
    constexpr Qos publishers_max(std::uint32_t max) const noexcept {
        return with(&horus_qos_t::publishers_max, detail::given_count(max));
    }
    /// Sets the same maximum for subscribers. With 1, a subscriber declares that the topic has no
    /// other one, which makes streams of small messages faster on some CPUs (docs/performance.md).
    constexpr Qos subscribers_max(std::uint32_t max) const noexcept {
        return with(&horus_qos_t::subscribers_max, detail::given_count(max));
    }
    /// Makes opening fail with horus::Errc::type if the topic was created with another message. So
    /// the result depends on which program came first.
    constexpr Qos strict(bool strict = true) const noexcept {
        return with(&horus_qos_t::strict, strict ? HORUS_YES : HORUS_NO);
    }
    /// Matches only endpoints with exactly this message, not with versions of it that have more or
    /// fewer fields at the end.
    constexpr Qos strict_schema(bool strict = true) const noexcept {
        return with(&horus_qos_t::strict_schema, strict ? HORUS_YES : HORUS_NO);
    }
    /// Makes the publisher no longer wait for a reliable subscriber that was stalled for that time.
    /// Opening with a negative time fails with horus::Errc::argument.
    constexpr Qos detach_after(std::chrono::nanoseconds time) const noexcept {
        return with(&horus_qos_t::detach_after_ns, detail::given_ns(time));
    }

    /// The struct of <horus/horus.h>. Change its members for rare settings.
    constexpr horus_qos_t &raw() noexcept { return raw_; }
    constexpr const horus_qos_t &raw() const noexcept { return raw_; }

  private:
    explicit constexpr Qos(int preset) noexcept : raw_{} {
        raw_.struct_bytes = static_cast<std::uint32_t>(sizeof raw_);
        raw_.preset = preset;
    }

    template <class Member, class Value>
    constexpr Qos with(Member horus_qos_t::*member, Value value) const noexcept {
        Qos changed = *this;
        changed.raw_.*member = static_cast<Member>(value);
        return changed;
    }

    horus_qos_t raw_;
};

HORUS_VARIANT_BEGIN

/// A namespace: a set of topics. The default is the namespace of the environment.
class Namespace {
  public:
    /// Opens the namespace `name` in `directory`, and creates it if it is missing. The environment
    /// variables HORUS_NAMESPACE and HORUS_SHM_DIR replace null arguments.
    static std::optional<Namespace> open(Name directory, Name name,
                                         std::error_code &error) noexcept {
        horus_namespace_t raw{};
        if (detail::done(horus_namespace_open(directory.c_str(), name.c_str(), &raw), error)) {
            return Namespace(raw);
        }
        return std::nullopt;
    }
    /// Opens a namespace that the members of `group` share: a name, or a number in decimal digits.
    static std::optional<Namespace> open_group(Name directory, Name name, Name group,
                                               std::error_code &error) noexcept {
        horus_namespace_t raw{};
        if (detail::done(horus_namespace_open_group(directory.c_str(), name.c_str(), group.c_str(),
                                                    &raw),
                         error)) {
            return Namespace(raw);
        }
        return std::nullopt;
    }
    /// Removes the topics of killed processes; returns the number of removed topics.
    std::size_t sweep(std::error_code &error) noexcept {
        std::size_t removed = 0;
        (void)detail::done(horus_namespace_sweep(raw(), &removed), error);
        return removed;
    }
    /// Removes a topic, even a persistent one; horus::Errc::busy while a process has it open. Also
    /// removes `emergency_stop` while a stop is engaged, which schedulers that start later then do
    /// not know: the commands `horus topic rm` and `horus clean` refuse that.
    void remove_topic(Name topic, std::error_code &error) noexcept {
        (void)detail::done(horus_topic_remove(raw(), topic.c_str()), error);
    }
    /// Removes the namespace with all of its topics, also with an engaged emergency stop, for
    /// tests; horus::Errc::busy if another process uses it.
    void remove(std::error_code &error) && noexcept {
        (void)detail::done(horus_namespace_remove(handle_.release()), error);
    }
#if HORUS_EXCEPTIONS
    Namespace(Name directory, Name name) {
        horus_namespace_t raw{};
        (void)detail::done(horus_namespace_open(directory.c_str(), name.c_str(), &raw));
        handle_ = Handle(raw);
    }
    Namespace(Name directory, Name name, Name group) {
        horus_namespace_t raw{};
        (void)detail::done(horus_namespace_open_group(directory.c_str(), name.c_str(),
                                                      group.c_str(), &raw));
        handle_ = Handle(raw);
    }
    std::size_t sweep() {
        std::size_t removed = 0;
        (void)detail::done(horus_namespace_sweep(raw(), &removed));
        return removed;
    }
    void remove_topic(Name topic) { (void)detail::done(horus_topic_remove(raw(), topic.c_str())); }
    void remove() && { (void)detail::done(horus_namespace_remove(handle_.release())); }
#endif

    /// Returns the handle. If this object was moved or removed, that is a number that is never a
    /// handle: calls with it fail with horus::Errc::handle. WHY not 0: that is the namespace of the
    /// environment.
    horus_namespace_t raw() const noexcept {
        const horus_namespace_t raw = handle_.raw();
        return raw.id == 0 ? horus_namespace_t{UINT64_MAX} : raw;
    }

  private:
    using Handle = detail::Handle<horus_namespace_t, horus_namespace_close>;

    explicit Namespace(horus_namespace_t raw) noexcept : handle_(raw) {}

    Handle handle_;
};

HORUS_VARIANT_END

namespace detail {

/// Returns the message with the values of fields that a publisher does not know: the default member
/// initializers of T, or zeros. Null if T has no default constructor.
template <class T>
const void *default_of() noexcept {
    if constexpr (is_framed_v<T>) {
        return default_of<typename T::Header>();
    } else if constexpr (std::is_default_constructible_v<T>) {
        // WHY local: it is initialised at its first use, also before `main`. WHY not const: zeros
        // then take no space in the program file.
        static T message{};
        return &message;
    } else {
        return nullptr;
    }
}

}  // namespace detail

HORUS_VARIANT_BEGIN

/// Options for opening an endpoint, for instance `horus::Options().qos(horus::Qos::latched())`.
class Options {
  public:
    constexpr Options() noexcept = default;
    constexpr Options(const Qos &qos) noexcept : qos_(qos) {}

    constexpr Options qos(const Qos &qos) const noexcept {
        Options changed = *this;
        changed.qos_ = qos;
        return changed;
    }
    /// Sets the namespace, which is needed only during the opening call.
    Options name_space(const Namespace &name_space) const noexcept {
        Options changed = *this;
        changed.name_space_ = name_space.raw();
        return changed;
    }
    /// Sets the longest message (header and data) of variable length that a publisher may send. Its
    /// slots have this size from the start. Without it, they grow with the messages.
    constexpr Options max_message_bytes(std::uint64_t bytes) const noexcept {
        Options changed = *this;
        changed.max_message_bytes_ = detail::given_count(bytes);
        return changed;
    }

    /// Sets the key by which a publisher whose history outlives it finds that history again: its
    /// first message replaces the history of the same key. Default: the name of the program. The
    /// text is needed only during the opening call.
    constexpr Options latch_key(const char *key) const noexcept {
        Options changed = *this;
        changed.latch_key_ = key;
        return changed;
    }

    /// Returns the struct of <horus/horus.h> for messages T. It points into this object.
    template <class T>
    horus_topic_options_t raw() const noexcept {
        horus_topic_options_t options{};
        options.struct_bytes = static_cast<std::uint32_t>(sizeof options);
        options.message_type = HORUS_TYPE_SCHEMA;
        options.schema = schema_text<T>();
        options.max_message_bytes = max_message_bytes_;
        options.name_space = name_space_;
        options.qos = &qos_.raw();
        options.defaults = detail::default_of<T>();
        options.latch_key = latch_key_;
        return options;
    }

  private:
    Qos qos_;
    horus_namespace_t name_space_{};
    std::uint64_t max_message_bytes_ = 0;
    const char *latch_key_ = nullptr;
};

HORUS_VARIANT_END

/// Information about an endpoint and its topic: horus_topic_info_t.
using Info = horus_topic_info_t;

/// The ledger of a subscriber in messages: horus_stats_t. While no publisher sends, exactly
/// sent == received + malformed + lost + skipped + waiting.
using Stats = horus_stats_t;

}  // namespace horus

#endif  // HORUS_OPTIONS_HPP
