// Subscriber<T> and Borrow<T>: receiving, and reading messages where they lie.
#ifndef HORUS_SUBSCRIBER_HPP
#define HORUS_SUBSCRIBER_HPP

#include "options.hpp"

namespace horus {

namespace detail {

/// A borrowed message; gives it back.
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

/// A message in shared memory that its publisher spares: nothing is copied. It may go to another
/// thread, and outlive its subscriber. Keep few, seven at most.
template <class T, bool = is_framed_v<T>>
class Borrow {
  public:
    explicit Borrow(detail::Sample sample) noexcept : sample_(std::move(sample)) {}

    const T &operator*() const noexcept { return *get(); }
    const T *operator->() const noexcept { return get(); }
    const T *get() const noexcept { return static_cast<const T *>(sample_.raw().data); }
    /// As its publisher counts, from 1 on.
    std::uint64_t sequence() const noexcept { return sample_.raw().sequence; }

  private:
    detail::Sample sample_;
};

/// The same of a message with a length of its own. What the header says about the data is what the
/// sender wrote: compare it with `data().size()` before use.
template <class T>
class Borrow<T, true> {
  public:
    using Header = typename T::Header;
    using Element = typename T::Element;

    explicit Borrow(detail::Sample sample) noexcept : sample_(std::move(sample)) {}

    const Header &header() const noexcept {
        return *static_cast<const Header *>(sample_.raw().data);
    }
    Span<const Element> data() const noexcept {
        const auto *first = static_cast<const unsigned char *>(sample_.raw().data);
        return {reinterpret_cast<const Element *>(first + sizeof(Header)),
                (sample_.raw().bytes - sizeof(Header)) / sizeof(Element)};
    }
    /// As its publisher counts, from 1 on.
    std::uint64_t sequence() const noexcept { return sample_.raw().sequence; }

  private:
    detail::Sample sample_;
};

/// The receiving end of a topic. One thread at a time; may be moved to another.
template <class T>
class Subscriber {
    static_assert(detail::check_message<T>());

  public:
    /// Opens the topic to receive what is published from now on, and its history if it has one.
    /// Creates it if it is not there. 10 to 500 us.
    static std::optional<Subscriber> open(Name topic, const Options &options,
                                          std::error_code &error) noexcept {
        horus_subscriber_t raw{};
        if (detail::done(open_raw(topic, options, raw), error)) {
            return Subscriber(raw);
        }
        return std::nullopt;
    }

    /// Copies the next message to `out`, oldest first. False if there is none, or by an error;
    /// then `out` holds unspecified bytes. Never blocks: some 10 ns and the copy.
    bool recv(T &out, std::error_code &error) noexcept {
        return detail::done(recv_raw(out), error);
    }
    /// The same, but waits for up to `timeout`.
    bool recv_timeout(T &out, std::chrono::nanoseconds timeout, std::error_code &error) noexcept {
        return detail::done(recv_raw(out, timeout), error);
    }
    /// Receives the newest message that was not received yet; older ones are counted as skipped.
    /// `false` if nothing is new: a message is returned once.
    bool latest(T &out, std::error_code &error) noexcept {
        return detail::done(latest_raw(out), error);
    }
    /// The next message where it lies: none if there is none, or by an error:
    /// horus::Errc::not_pinnable below 4 KiB without Qos::pinnable. Never blocks.
    std::optional<Borrow<T>> borrow(std::error_code &error) noexcept {
        horus_sample_t sample{};
        return borrowed(detail::done(horus_subscriber_borrow(raw(), &sample), error), sample);
    }
    /// The same with the newest message.
    std::optional<Borrow<T>> borrow_latest(std::error_code &error) noexcept {
        horus_sample_t sample{};
        const horus_status_t status = horus_subscriber_borrow_latest(raw(), &sample);
        return borrowed(detail::done(status, error), sample);
    }
    /// Whether it can still receive, for when nothing comes. A few nanoseconds.
    void check(std::error_code &error) const noexcept {
        (void)detail::done(horus_subscriber_check(raw()), error);
    }
    /// How long what waits looks for a message before it sleeps. Default 10 us.
    void set_spin(std::chrono::nanoseconds spin, std::error_code &error) noexcept {
        (void)detail::done(horus_subscriber_set_spin(raw(), detail::period_ns(spin)), error);
    }
    /// The ledger.
    Stats stats(std::error_code &error) const noexcept {
        Stats stats = empty<Stats>();
        (void)detail::done(horus_subscriber_stats(raw(), &stats), error);
        return stats;
    }
    /// What the subscriber can tell. 0.2 us for each end of the topic.
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

    /// A copy of the next message, if there is one.
    std::optional<T> recv() {
        T out;
        return detail::done(recv_raw(out)) ? std::optional<T>(out) : std::nullopt;
    }
    /// The same, but waits for up to `timeout`.
    std::optional<T> recv_timeout(std::chrono::nanoseconds timeout) {
        T out;
        return detail::done(recv_raw(out, timeout)) ? std::optional<T>(out) : std::nullopt;
    }
    /// A copy of the next message, as soon as there is one.
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
    void check() const { (void)detail::done(horus_subscriber_check(raw())); }
    void set_spin(std::chrono::nanoseconds spin) {
        (void)detail::done(horus_subscriber_set_spin(raw(), detail::period_ns(spin)));
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
        static_assert(!is_framed_v<T>, "horus: borrow() what has a header and data");
        return horus_subscriber_recv(raw(), &out, sizeof out, nullptr);
    }
    horus_status_t recv_raw(T &out, std::chrono::nanoseconds timeout) noexcept {
        static_assert(!is_framed_v<T>, "horus: borrow() what has a header and data");
        const std::int64_t timeout_ns = detail::timeout_ns(timeout);
        return horus_subscriber_recv_timeout(raw(), &out, sizeof out, timeout_ns, nullptr);
    }
    horus_status_t latest_raw(T &out) noexcept {
        static_assert(!is_framed_v<T>, "horus: borrow_latest() what has a header and data");
        return horus_subscriber_latest(raw(), &out, sizeof out, nullptr);
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

    Handle handle_;
};

}  // namespace horus

#endif  // HORUS_SUBSCRIBER_HPP
