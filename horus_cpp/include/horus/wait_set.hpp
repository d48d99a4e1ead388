// WaitSet: one thread waits for many topics, deadlines and timers.
#ifndef HORUS_WAIT_SET_HPP
#define HORUS_WAIT_SET_HPP

#include <array>

#include "subscriber.hpp"

namespace horus {

HORUS_VARIANT_BEGIN

/// The reason for which an entry of a wait set is ready.
enum class Reason : std::int32_t {
    message = HORUS_READY_MESSAGE,
    deadline_missed = HORUS_READY_DEADLINE_MISSED,
    timer = HORUS_READY_TIMER,
    closed = HORUS_READY_CLOSED,
};

/// A ready entry of a wait set.
class Ready {
  public:
    Ready() noexcept = default;

    /// Returns the key that `add` returned.
    std::uint64_t key() const noexcept { return raw_.key; }
    Reason reason() const noexcept { return static_cast<Reason>(raw_.reason); }
    /// For Reason::deadline_missed: returns the time without a message.
    std::chrono::nanoseconds silent() const noexcept {
        return std::chrono::nanoseconds(static_cast<std::int64_t>(raw_.silent_ns));
    }
    /// For Reason::timer: returns the number of earlier periods that were not reported.
    std::uint64_t missed() const noexcept { return raw_.missed; }

  private:
    friend class WaitSet;

    horus_ready_t raw_{};
};
static_assert(sizeof(Ready) == sizeof(horus_ready_t) && std::is_standard_layout_v<Ready>);

/// The ready entries after a wait; empty after a timeout. `for (const auto &ready : set.wait())`.
class ReadyList {
  public:
    const Ready *begin() const noexcept { return all_.data(); }
    const Ready *end() const noexcept { return all_.data() + count_; }
    std::size_t size() const noexcept { return count_; }
    bool empty() const noexcept { return count_ == 0; }

  private:
    friend class WaitSet;

    // WHY not more: the array is on the stack, and the next wait returns the other entries.
    std::array<Ready, 16> all_;
    std::size_t count_ = 0;
};

/// Waits for many topics, deadlines and timers. It does not own the subscribers, which can be used
/// as usual between waits. Only one thread at a time may use it.
class WaitSet {
  public:
    static std::optional<WaitSet> open(std::error_code &error) noexcept {
        horus_wait_set_t raw{};
        if (detail::done(horus_wait_set_open(&raw), error)) {
            return WaitSet(raw);
        }
        return std::nullopt;
    }
    /// Adds a topic. It is ready when it has an unread message and, if `silent_max` is not 0,
    /// whenever no message was published for that time. Returns a key, which is never 0 except after
    /// an error: horus::Errc::argument if the time is negative.
    template <class T>
    std::uint64_t add(const Subscriber<T> &subscriber, std::chrono::nanoseconds silent_max,
                      std::error_code &error) noexcept {
        std::uint64_t key = 0;
        (void)detail::done(add_raw(subscriber.raw(), silent_max, key), error);
        return key;
    }
    /// Adds a timer that is ready every `period` from now on. A late wait does not shift its phase.
    std::uint64_t add_interval(std::chrono::nanoseconds period, std::error_code &error) noexcept {
        std::uint64_t key = 0;
        const std::uint64_t period_ns = detail::time_ns(period);
        (void)detail::done(horus_wait_set_add_interval(raw(), period_ns, &key), error);
        return key;
    }
    /// Removes a topic or a timer.
    void remove(std::uint64_t key, std::error_code &error) noexcept {
        (void)detail::done(horus_wait_set_remove(raw(), key), error);
    }
    /// Waits up to `timeout` until an entry is ready. A topic with unread messages is ready in each
    /// call. Blocks: spins briefly, then sleeps.
    ReadyList wait(std::chrono::nanoseconds timeout, std::error_code &error) noexcept {
        ReadyList list;
        if (!detail::done(wait_raw(timeout, list), error)) {
            list.count_ = 0;
        }
        return list;
    }

#if HORUS_EXCEPTIONS
    WaitSet() {
        horus_wait_set_t raw{};
        (void)detail::done(horus_wait_set_open(&raw));
        handle_ = Handle(raw);
    }
    template <class T>
    std::uint64_t add(const Subscriber<T> &subscriber,
                      std::chrono::nanoseconds silent_max = std::chrono::nanoseconds(0)) {
        std::uint64_t key = 0;
        (void)detail::done(add_raw(subscriber.raw(), silent_max, key));
        return key;
    }
    std::uint64_t add_interval(std::chrono::nanoseconds period) {
        std::uint64_t key = 0;
        (void)detail::done(horus_wait_set_add_interval(raw(), detail::time_ns(period), &key));
        return key;
    }
    void remove(std::uint64_t key) { (void)detail::done(horus_wait_set_remove(raw(), key)); }
    ReadyList wait(std::chrono::nanoseconds timeout = forever) {
        ReadyList list;
        if (!detail::done(wait_raw(timeout, list))) {
            list.count_ = 0;
        }
        return list;
    }
#endif

    horus_wait_set_t raw() const noexcept { return handle_.raw(); }

  private:
    using Handle = detail::Handle<horus_wait_set_t, horus_wait_set_close>;

    explicit WaitSet(horus_wait_set_t raw) noexcept : handle_(raw) {}

    horus_status_t add_raw(horus_subscriber_t subscriber, std::chrono::nanoseconds silent_max,
                           std::uint64_t &key) noexcept {
        return horus_wait_set_add(raw(), subscriber, detail::time_ns(silent_max), &key);
    }
    horus_status_t wait_raw(std::chrono::nanoseconds timeout, ReadyList &list) noexcept {
        return horus_wait_set_wait(raw(), detail::timeout_ns(timeout), &list.all_.data()->raw_,
                                   list.all_.size(), &list.count_);
    }

    Handle handle_;
};

HORUS_VARIANT_END

}  // namespace horus

#endif  // HORUS_WAIT_SET_HPP
