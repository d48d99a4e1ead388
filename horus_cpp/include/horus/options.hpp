// How an end of a topic is opened: names, quality of service, namespaces, times.
#ifndef HORUS_OPTIONS_HPP
#define HORUS_OPTIONS_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "error.hpp"
#include "schema.hpp"

#if __cplusplus >= 202002L
#include <span>
#endif

namespace horus {

/// A timeout that never ends. Others that are negative are over at once.
inline constexpr std::chrono::nanoseconds forever = std::chrono::nanoseconds::max();

#if __cplusplus >= 202002L
template <class T>
using Span = std::span<T>;
#else
/// Elements side by side that are somewhere else; std::span from C++20 on.
template <class T>
class Span {
  public:
    constexpr Span() noexcept = default;
    constexpr Span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
    template <std::size_t N>
    constexpr Span(T (&array)[N]) noexcept : data_(array), size_(N) {}
    /// Of a std::vector, std::array or std::string.
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

/// The name of a topic or namespace: a `const char *` or a std::string, used during the call.
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

/// A period as the C ABI takes it, where 0 is an error or says nothing.
constexpr std::uint64_t period_ns(std::chrono::nanoseconds period) noexcept {
    return period.count() < 0 ? 0 : static_cast<std::uint64_t>(period.count());
}

/// A handle that is closed by whoever has it last.
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

/// Quality of service: what the creator of a topic fixes and a joiner insists on; what is unset is
/// adopted from the topic. `horus::Qos::reliable().capacity(64)`.
class Qos {
  public:
    /// All left open.
    constexpr Qos() noexcept : Qos(HORUS_QOS_DEFAULT) {}
    /// Fresh data matters: 8 slots, best effort.
    static constexpr Qos sensor_data() noexcept { return Qos(HORUS_QOS_SENSOR_DATA); }
    /// Nothing is overwritten unread: 1024 slots, and `send` returns false when they are full.
    static constexpr Qos reliable() noexcept { return Qos(HORUS_QOS_RELIABLE); }
    /// To actuators: 16 slots, waking a reader is cheap for it.
    static constexpr Qos command() noexcept { return Qos(HORUS_QOS_COMMAND); }
    /// Late joiners get the last message, also after its sender left.
    static constexpr Qos latched() noexcept { return Qos(HORUS_QOS_LATCHED); }

    /// Slots of each publisher, rounded up to a power of two.
    constexpr Qos capacity(std::uint64_t slots) const noexcept {
        return with(&horus_qos_t::capacity, slots);
    }
    /// Messages that a late joiner gets.
    constexpr Qos history(std::uint32_t messages) const noexcept {
        return with(&horus_qos_t::history, messages == 0 ? HORUS_HISTORY_NONE : messages);
    }
    /// Whether the topic outlives its processes.
    constexpr Qos persist_after_exit(bool persist = true) const noexcept {
        return with(&horus_qos_t::persist_after_exit, persist ? HORUS_YES : HORUS_NO);
    }
    /// Whether there are loans and borrows also of messages below 4 KiB.
    constexpr Qos pinnable(bool pinnable = true) const noexcept {
        return with(&horus_qos_t::pinnable, pinnable ? HORUS_YES : HORUS_NO);
    }
    /// At most 64.
    constexpr Qos publishers_max(std::uint32_t max) const noexcept {
        return with(&horus_qos_t::publishers_max, max);
    }
    /// At most 64.
    constexpr Qos subscribers_max(std::uint32_t max) const noexcept {
        return with(&horus_qos_t::subscribers_max, max);
    }
    /// Goes on without a reliable subscriber that is stalled for that long.
    constexpr Qos detach_after(std::chrono::nanoseconds time) const noexcept {
        return with(&horus_qos_t::detach_after_ns, detail::period_ns(time));
    }

    /// What <horus/horus.h> takes; its members may be changed, for settings that are rare.
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

/// Topics that can see each other. Who opens none is in that of the environment.
class Namespace {
  public:
    /// Opens, and makes where it is missing, the namespace `name` in `directory`; the environment
    /// says what is null (HORUS_NAMESPACE, HORUS_SHM_DIR).
    static std::optional<Namespace> open(Name directory, Name name,
                                         std::error_code &error) noexcept {
        horus_namespace_t raw{};
        if (detail::done(horus_namespace_open(directory.c_str(), name.c_str(), &raw), error)) {
            return Namespace(raw);
        }
        return std::nullopt;
    }
    /// Removes what processes left behind that were killed; returns how many topics that were.
    std::size_t sweep(std::error_code &error) noexcept {
        std::size_t removed = 0;
        (void)detail::done(horus_namespace_sweep(raw(), &removed), error);
        return removed;
    }
    /// Removes a topic, even one that is to outlive its processes; horus::Errc::busy while it is
    /// used.
    void remove_topic(Name topic, std::error_code &error) noexcept {
        (void)detail::done(horus_topic_remove(raw(), topic.c_str()), error);
    }
    /// Removes the namespace with all of its topics, for tests; horus::Errc::busy if another
    /// process is in it.
    void remove(std::error_code &error) && noexcept {
        (void)detail::done(horus_namespace_remove(handle_.release()), error);
    }
#if HORUS_EXCEPTIONS
    Namespace(Name directory, Name name) {
        horus_namespace_t raw{};
        (void)detail::done(horus_namespace_open(directory.c_str(), name.c_str(), &raw));
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

    horus_namespace_t raw() const noexcept { return handle_.raw(); }

  private:
    using Handle = detail::Handle<horus_namespace_t, horus_namespace_close>;

    explicit Namespace(horus_namespace_t raw) noexcept : handle_(raw) {}

    Handle handle_;
};

/// How an end of a topic is opened: `horus::Options().qos(horus::Qos::latched())`.
class Options {
  public:
    constexpr Options() noexcept = default;
    constexpr Options(const Qos &qos) noexcept : qos_(qos) {}

    constexpr Options qos(const Qos &qos) const noexcept {
        Options changed = *this;
        changed.qos_ = qos;
        return changed;
    }
    /// Needed only while an end is opened.
    Options name_space(const Namespace &name_space) const noexcept {
        Options changed = *this;
        changed.name_space_ = name_space.raw();
        return changed;
    }
    /// The longest message, header and data, of those with lengths of their own. Default 64 KiB.
    constexpr Options max_message_bytes(std::uint64_t bytes) const noexcept {
        Options changed = *this;
        changed.max_message_bytes_ = bytes;
        return changed;
    }

    /// What <horus/horus.h> takes, for messages T. It points into this.
    template <class T>
    horus_topic_options_t raw() const noexcept {
        horus_topic_options_t options{};
        options.struct_bytes = static_cast<std::uint32_t>(sizeof options);
        options.message_type = HORUS_TYPE_SCHEMA;
        options.schema = schema_text<T>();
        options.max_message_bytes = max_message_bytes_;
        options.name_space = name_space_;
        options.qos = &qos_.raw();
        return options;
    }

  private:
    Qos qos_;
    horus_namespace_t name_space_{};
    std::uint64_t max_message_bytes_ = 0;
};

/// What an end can tell about itself and its topic: horus_topic_info_t.
using Info = horus_topic_info_t;

/// The ledger of a subscriber in messages: horus_stats_t. When the publishers rest, it holds
/// exactly that sent == received + malformed + lost + skipped + waiting.
using Stats = horus_stats_t;

}  // namespace horus

#endif  // HORUS_OPTIONS_HPP
