// Subscriber<T> and Borrow<T>: receiving messages, and reading them in shared memory (zero-copy).
#ifndef HORUS_SUBSCRIBER_HPP
#define HORUS_SUBSCRIBER_HPP

#include "options.hpp"

namespace horus {

namespace detail {

/// A borrowed message. The destructor releases it.
class Sample {
  public:
    explicit Sample(const horus_sample_t &raw) noexcept : raw_(raw) {}
    Sample(Sample &&other) noexcept : raw_(std::exchange(other.raw_, horus_sample_t{})) {}
    Sample &operator=(Sample &&other) noexcept {
        if (this != &other) {
            release();
            raw_ = std::exchange(other.raw_, horus_sample_t{});
        }
        return *this;
    }
    ~Sample() { release(); }

    const horus_sample_t &raw() const noexcept { return raw_; }

  private:
    void release() noexcept {
        if (raw_.id != 0) {
            (void)horus_sample_release(raw_.id);
        }
    }

    horus_sample_t raw_;
};

}  // namespace detail

/// A borrowed message in shared memory: nothing is copied, and its publisher does not overwrite it.
/// It may be moved to another thread, and may outlive its subscriber. A subscriber can have at most
/// seven at a time.
template <class T, bool = is_framed_v<T>>
class Borrow {
  public:
    explicit Borrow(detail::Sample sample) noexcept : sample_(std::move(sample)) {}

    const T &operator*() const noexcept { return *get(); }
    const T *operator->() const noexcept { return get(); }
    const T *get() const noexcept { return static_cast<const T *>(sample_.raw().data); }
    /// Returns the number of the message among those of its publisher, from 1 on.
    std::uint64_t sequence() const noexcept { return sample_.raw().sequence; }

  private:
    detail::Sample sample_;
};

/// A borrowed message with a variable length. The sizes in the header were written by the sender:
/// compare them with `data().size()` before use. The header is copied when the message is borrowed,
/// so what was compared does not change. The data stay in shared memory.
template <class T>
class Borrow<T, true> {
  public:
    using Header = typename T::Header;
    using Element = typename T::Element;

    /// The sample is at least as long as the header: the library leaves out shorter ones.
    explicit Borrow(detail::Sample sample) noexcept
        : sample_(std::move(sample)), header_(*static_cast<const Header *>(sample_.raw().data)) {}

    /// Returns the copy of the header.
    const Header &header() const noexcept { return header_; }
    /// Returns the elements; none if this object was moved from.
    Span<const Element> data() const noexcept {
        if (sample_.raw().bytes < sizeof(Header)) {
            return {};
        }
        const auto *first = static_cast<const unsigned char *>(sample_.raw().data);
        return {reinterpret_cast<const Element *>(first + sizeof(Header)),
                (sample_.raw().bytes - sizeof(Header)) / sizeof(Element)};
    }
    /// Returns the number of the message among those of its publisher, from 1 on.
    std::uint64_t sequence() const noexcept { return sample_.raw().sequence; }

  private:
    detail::Sample sample_;
    Header header_;
};

HORUS_VARIANT_BEGIN

/// Receives messages from a topic. Only one thread at a time may use it; it can change threads.
template <class T>
class Subscriber {
    static_assert(detail::check_message<T>());

  public:
    /// Opens the topic to receive messages that are published from now on, and its history if it
    /// has one. Creates the topic if it does not exist. Takes 10 to 500 us.
    static std::optional<Subscriber> open(Name topic, const Options &options,
                                          std::error_code &error) noexcept {
        horus_subscriber_t raw{};
        if (detail::done(open_raw(topic, options, raw), error)) {
            return Subscriber(raw);
        }
        return std::nullopt;
    }

    /// Copies the next message to `out`, oldest first. Returns false if there is none, and after an
    /// error; then `out` holds unspecified bytes. Never blocks; takes some 10 ns and the copy.
    bool recv(T &out, std::error_code &error) noexcept {
        return detail::done(recv_raw(out), error);
    }
    /// Receives like `recv`, and waits up to `timeout` for a message.
    bool recv_timeout(T &out, std::chrono::nanoseconds timeout, std::error_code &error) noexcept {
        return detail::done(recv_raw(out, timeout), error);
    }
    /// Receives the newest message that was not received yet; older ones are counted as skipped, or
    /// as lost if they are overwritten already. Returns false if there is no new message: each
    /// message is received only once.
    bool latest(T &out, std::error_code &error) noexcept {
        return detail::done(latest_raw(out), error);
    }
    /// Borrows the next message in shared memory. Returns nothing if there is none, and after an
    /// error: horus::Errc::not_pinnable for messages below 4 KiB without Qos::pinnable. Never
    /// blocks.
    std::optional<Borrow<T>> borrow(std::error_code &error) noexcept {
        horus_sample_t sample{};
        return borrowed(detail::done(horus_subscriber_borrow(raw(), &sample), error), sample);
    }
    /// Borrows the newest message, with the rules of `latest`.
    std::optional<Borrow<T>> borrow_latest(std::error_code &error) noexcept {
        horus_sample_t sample{};
        const horus_status_t status = horus_subscriber_borrow_latest(raw(), &sample);
        return borrowed(detail::done(status, error), sample);
    }
    /// Waits up to `timeout` until the topic has `count` publishers, in all processes, and returns
    /// their number, as Publisher::wait_for_subscribers does.
    [[nodiscard]] std::optional<std::size_t>
    wait_for_publishers(std::size_t count, std::chrono::nanoseconds timeout,
                        std::error_code &error) const noexcept {
        std::size_t found = 0;
        const bool is_met = detail::done(wait_raw(count, timeout, found), error);
        return is_met ? std::optional<std::size_t>(found) : std::nullopt;
    }
    /// Reports an error if the subscriber cannot receive. Takes a few nanoseconds, and some system
    /// calls if a publisher does not match this subscriber.
    void check(std::error_code &error) const noexcept {
        (void)detail::done(horus_subscriber_check(raw()), error);
    }
    /// Sets the time for which waiting calls spin before they sleep. Default 10 us; negative: 0.
    void set_spin(std::chrono::nanoseconds spin, std::error_code &error) noexcept {
        (void)detail::done(horus_subscriber_set_spin(raw(), spin_ns(spin)), error);
    }
    /// Returns the ledger of the subscriber: see Stats.
    Stats stats(std::error_code &error) const noexcept {
        Stats stats = empty<Stats>();
        (void)detail::done(horus_subscriber_stats(raw(), &stats), error);
        return stats;
    }
    /// Returns information about the subscriber and its topic. Takes 0.2 us for each endpoint.
    Info info(std::error_code &error) const noexcept {
        Info info = empty<Info>();
        (void)detail::done(horus_subscriber_info(raw(), &info), error);
        return info;
    }

#if HORUS_EXCEPTIONS
    explicit Subscriber(Name topic, const Options &options = Options()) {
        horus_subscriber_t raw{};
        (void)detail::done(open_raw(topic, options, raw));
        handle_ = Handle(raw);
    }
    bool recv(T &out) { return detail::done(recv_raw(out)); }
    bool recv_timeout(T &out, std::chrono::nanoseconds timeout) {
        return detail::done(recv_raw(out, timeout));
    }
    bool latest(T &out) { return detail::done(latest_raw(out)); }

    /// Returns a copy of the next message, if there is one.
    std::optional<T> recv() {
        T out;
        return detail::done(recv_raw(out)) ? std::optional<T>(out) : std::nullopt;
    }
    /// Returns a copy of the next message, and waits up to `timeout` for it.
    std::optional<T> recv_timeout(std::chrono::nanoseconds timeout) {
        T out;
        return detail::done(recv_raw(out, timeout)) ? std::optional<T>(out) : std::nullopt;
    }
    /// Waits for the next message, and returns a copy.
    T recv_blocking() {
        T out;
        while (!detail::done(recv_raw(out, forever))) {
        }
        return out;
    }
    /// Returns a copy of the newest message that was not received yet; nothing if none is new.
    std::optional<T> latest() {
        T out;
        return detail::done(latest_raw(out)) ? std::optional<T>(out) : std::nullopt;
    }
    std::optional<Borrow<T>> borrow() {
        horus_sample_t sample{};
        return borrowed(detail::done(horus_subscriber_borrow(raw(), &sample)), sample);
    }
    std::optional<Borrow<T>> borrow_latest() {
        horus_sample_t sample{};
        return borrowed(detail::done(horus_subscriber_borrow_latest(raw(), &sample)), sample);
    }
    [[nodiscard]] std::optional<std::size_t>
    wait_for_publishers(std::size_t count, std::chrono::nanoseconds timeout) const {
        std::size_t found = 0;
        const bool is_met = detail::done(wait_raw(count, timeout, found));
        return is_met ? std::optional<std::size_t>(found) : std::nullopt;
    }
    void check() const { (void)detail::done(horus_subscriber_check(raw())); }
    void set_spin(std::chrono::nanoseconds spin) {
        (void)detail::done(horus_subscriber_set_spin(raw(), spin_ns(spin)));
    }
    Stats stats() const {
        Stats stats = empty<Stats>();
        (void)detail::done(horus_subscriber_stats(raw(), &stats));
        return stats;
    }
    Info info() const {
        Info info = empty<Info>();
        (void)detail::done(horus_subscriber_info(raw(), &info));
        return info;
    }
#endif

    horus_subscriber_t raw() const noexcept { return handle_.raw(); }

  private:
    using Handle = detail::Handle<horus_subscriber_t, horus_subscriber_close>;

    explicit Subscriber(horus_subscriber_t raw) noexcept : handle_(raw) {}

    static horus_status_t open_raw(Name topic, const Options &options,
                                   horus_subscriber_t &out) noexcept {
        const horus_topic_options_t raw = options.template raw<T>();
        return horus_subscriber_open(topic.c_str(), &raw, &out);
    }
    horus_status_t recv_raw(T &out) noexcept {
        static_assert(!is_framed_v<T>, "horus: receive a header with data by borrow()");
        return horus_subscriber_recv(raw(), &out, sizeof out, nullptr);
    }
    horus_status_t recv_raw(T &out, std::chrono::nanoseconds timeout) noexcept {
        static_assert(!is_framed_v<T>, "horus: receive a header with data by borrow()");
        const std::int64_t timeout_ns = detail::timeout_ns(timeout);
        return horus_subscriber_recv_timeout(raw(), &out, sizeof out, timeout_ns, nullptr);
    }
    horus_status_t latest_raw(T &out) noexcept {
        static_assert(!is_framed_v<T>, "horus: receive a header with data by borrow_latest()");
        return horus_subscriber_latest(raw(), &out, sizeof out, nullptr);
    }
    horus_status_t wait_raw(std::size_t count, std::chrono::nanoseconds timeout,
                            std::size_t &found) const noexcept {
        const std::int64_t timeout_ns = detail::timeout_ns(timeout);
        return horus_subscriber_wait_for_publishers(raw(), count, timeout_ns, &found);
    }
    static std::optional<Borrow<T>> borrowed(bool is, const horus_sample_t &sample) noexcept {
        return is ? std::optional<Borrow<T>>(detail::Sample(sample)) : std::nullopt;
    }
    template <class S>
    static S empty() noexcept {
        S out{};
        out.struct_bytes = static_cast<std::uint32_t>(sizeof out);
        return out;
    }

    static std::uint64_t spin_ns(std::chrono::nanoseconds spin) noexcept {
        return spin.count() < 0 ? 0 : static_cast<std::uint64_t>(spin.count());
    }

    Handle handle_;
};

HORUS_VARIANT_END

}  // namespace horus

#endif  // HORUS_SUBSCRIBER_HPP
