// Publisher<T> and Loan<T>: sending messages, and filling them in shared memory (zero-copy).
#ifndef HORUS_PUBLISHER_HPP
#define HORUS_PUBLISHER_HPP

#include "options.hpp"

namespace horus {

namespace detail {

/// A slot on loan. The destructor ends the loan if it has not ended.
class Slot {
  public:
    Slot(horus_publisher_t publisher, void *data, std::size_t bytes) noexcept
        : publisher_(publisher), data_(data), bytes_(bytes) {}
    Slot(Slot &&other) noexcept
        : publisher_(std::exchange(other.publisher_, horus_publisher_t{})),
          data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
    Slot &operator=(Slot &&other) noexcept {
        if (this != &other) {
            discard();
            publisher_ = std::exchange(other.publisher_, horus_publisher_t{});
            data_ = std::exchange(other.data_, nullptr);
            bytes_ = std::exchange(other.bytes_, 0);
        }
        return *this;
    }
    ~Slot() { discard(); }

    /// Null after the loan has ended, when `bytes` is 0.
    void *data() const noexcept { return data_; }
    std::size_t bytes() const noexcept { return bytes_; }

    horus_status_t publish(std::size_t bytes) noexcept {
        const horus_status_t status = horus_publisher_publish(publisher_, bytes);
        if (status == HORUS_OK) {
            publisher_ = {};
            data_ = nullptr;
            bytes_ = 0;
        }
        return status;
    }

    void discard() noexcept {
        if (data_ != nullptr) {
            data_ = nullptr;
            (void)horus_publisher_discard(publisher_);
        }
    }

  private:
    horus_publisher_t publisher_;
    void *data_;
    std::size_t bytes_;
};

}  // namespace detail

HORUS_VARIANT_BEGIN

/// A slot in shared memory, to be filled in place: nothing is copied. It holds an older message or
/// zeros. Destroying it without `publish` ends the loan, and nothing is sent. It must not be used
/// after its publisher is destroyed.
template <class T, bool = is_framed_v<T>>
class Loan {
  public:
    explicit Loan(detail::Slot slot) noexcept : slot_(std::move(slot)) {}

    /// Returns the message in the slot. Must not be called after `publish`, as `operator->`.
    T &operator*() const noexcept { return *get(); }
    T *operator->() const noexcept { return get(); }
    /// Returns the message in the slot; null after `publish`.
    T *get() const noexcept { return static_cast<T *>(slot_.data()); }

    /// Publishes the message, and ends the loan. Never blocks.
    void publish(std::error_code &error) noexcept {
        (void)detail::done(slot_.publish(sizeof(T)), error);
    }
#if HORUS_EXCEPTIONS
    void publish() { (void)detail::done(slot_.publish(sizeof(T))); }
#endif

  private:
    detail::Slot slot_;
};

/// A loan of a message with a variable length: a header, followed by elements.
template <class T>
class Loan<T, true> {
  public:
    using Header = typename T::Header;
    using Element = typename T::Element;

    explicit Loan(detail::Slot slot) noexcept : slot_(std::move(slot)) {}

    /// Returns the header in the slot. Must not be called after `publish`.
    Header &header() const noexcept { return *static_cast<Header *>(slot_.data()); }
    /// Returns all elements that fit into the slot: at least those that the loan was requested for.
    /// Returns none after `publish`.
    Span<Element> data() const noexcept {
        if (slot_.bytes() < sizeof(Header)) {
            return {};
        }
        auto *first = static_cast<unsigned char *>(slot_.data()) + sizeof(Header);
        return {reinterpret_cast<Element *>(first),
                (slot_.bytes() - sizeof(Header)) / sizeof(Element)};
    }

    /// Publishes the header and the first `elements` elements, and ends the loan. Never blocks.
    /// If the slot has fewer elements, the error is horus::Errc::message, and the loan continues.
    void publish(std::size_t elements, std::error_code &error) noexcept {
        (void)detail::done(slot_.publish(bytes_of(elements)), error);
    }
#if HORUS_EXCEPTIONS
    void publish(std::size_t elements) { (void)detail::done(slot_.publish(bytes_of(elements))); }
#endif

    /// Returns the length in bytes of a message with this number of elements.
    static std::size_t bytes_of(std::size_t elements) noexcept {
        constexpr std::size_t max = (SIZE_MAX - sizeof(Header)) / sizeof(Element);
        return elements > max ? SIZE_MAX : sizeof(Header) + elements * sizeof(Element);
    }

  private:
    detail::Slot slot_;
};

/// Publishes messages on a topic. Only one thread at a time may use it; it can change threads.
template <class T>
class Publisher {
    static_assert(detail::check_message<T>());

  public:
    /// Opens the topic, and creates it if it does not exist. Takes 10 to 500 us.
    static std::optional<Publisher> open(Name topic, const Options &options,
                                         std::error_code &error) noexcept {
        horus_publisher_t raw{};
        if (detail::done(open_raw(topic, options, raw), error)) {
            return Publisher(raw);
        }
        return std::nullopt;
    }

    /// Publishes a copy of the message. Returns false if a reliable subscriber is the lane's
    /// whole capacity behind, and after an error. Never blocks; takes some 10 ns and the copy.
    [[nodiscard]] bool send(const T &message, std::error_code &error) noexcept {
        return detail::done(send_raw(message), error);
    }
    /// Publishes a copy of the message, and waits up to `timeout` for room.
    [[nodiscard]] bool send_timeout(const T &message, std::chrono::nanoseconds timeout,
                                    std::error_code &error) noexcept {
        return detail::done(send_raw(message, timeout), error);
    }
    /// Lends the next slot in shared memory. Returns nothing if a reliable subscriber is a whole
    /// lane behind, and after an error: horus::Errc::not_pinnable for messages below 4 KiB without
    /// Qos::pinnable. One loan at a time. Never blocks; the cost does not depend on the size. For a
    /// message of a variable length, use the overload with the number of elements. This one lends a
    /// slot with the length of the longest message so far, or with the length that was reserved.
    std::optional<Loan<T>> loan(std::error_code &error) noexcept {
        void *data = nullptr;
        std::size_t bytes = 0;
        if (detail::done(horus_publisher_loan(raw(), &data, &bytes), error)) {
            return Loan<T>(detail::Slot(raw(), data, bytes));
        }
        return std::nullopt;
    }
    /// Waits up to `timeout` until the topic has `count` subscribers, in all processes, and returns
    /// their number, which may be greater. Messages that are sent afterwards reach them.
    /// Returns nothing after the timeout, and after an error: horus::Errc::argument if the topic
    /// has no room for so many. Counts at once, and again after pauses of 1 ms that grow to 10 ms.
    [[nodiscard]] std::optional<std::size_t>
    wait_for_subscribers(std::size_t count, std::chrono::nanoseconds timeout,
                         std::error_code &error) const noexcept {
        std::size_t found = 0;
        const bool is_met = detail::done(wait_raw(count, timeout, found), error);
        return is_met ? std::optional<std::size_t>(found) : std::nullopt;
    }
    /// Lends a slot for a header and `elements` elements: reserves longer slots if they do not fit.
    std::optional<Loan<T>> loan(std::size_t elements, std::error_code &error) noexcept {
        if (detail::done(reserve_raw(Loan<T>::bytes_of(elements)), error)) {
            return loan(error);
        }
        return std::nullopt;
    }
    /// Makes sure that messages of `bytes` bytes (header and data) fit the slots, so that later
    /// sends and loans need not reserve longer slots. For the cost see horus_publisher_reserve.
    /// Returns false if reliable subscribers have too much to read yet, and after an error:
    /// horus::Errc::no_space if there is no memory.
    [[nodiscard]] bool reserve(std::size_t bytes, std::error_code &error) noexcept {
        return detail::done(reserve_raw(bytes), error);
    }
    /// Returns information about the publisher and its topic. Takes 0.2 us for each endpoint.
    Info info(std::error_code &error) const noexcept {
        Info info = empty_info();
        (void)detail::done(horus_publisher_info(raw(), &info), error);
        return info;
    }

#if HORUS_EXCEPTIONS
    explicit Publisher(Name topic, const Options &options = Options()) {
        horus_publisher_t raw{};
        (void)detail::done(open_raw(topic, options, raw));
        handle_ = Handle(raw);
    }
    [[nodiscard]] bool send(const T &message) { return detail::done(send_raw(message)); }
    [[nodiscard]] bool send_timeout(const T &message, std::chrono::nanoseconds timeout) {
        return detail::done(send_raw(message, timeout));
    }
    std::optional<Loan<T>> loan() {
        void *data = nullptr;
        std::size_t bytes = 0;
        if (detail::done(horus_publisher_loan(raw(), &data, &bytes))) {
            return Loan<T>(detail::Slot(raw(), data, bytes));
        }
        return std::nullopt;
    }
    [[nodiscard]] std::optional<std::size_t>
    wait_for_subscribers(std::size_t count, std::chrono::nanoseconds timeout) const {
        std::size_t found = 0;
        const bool is_met = detail::done(wait_raw(count, timeout, found));
        return is_met ? std::optional<std::size_t>(found) : std::nullopt;
    }
    std::optional<Loan<T>> loan(std::size_t elements) {
        return detail::done(reserve_raw(Loan<T>::bytes_of(elements))) ? loan() : std::nullopt;
    }
    [[nodiscard]] bool reserve(std::size_t bytes) { return detail::done(reserve_raw(bytes)); }
    Info info() const {
        Info info = empty_info();
        (void)detail::done(horus_publisher_info(raw(), &info));
        return info;
    }
#endif

    horus_publisher_t raw() const noexcept { return handle_.raw(); }

  private:
    using Handle = detail::Handle<horus_publisher_t, horus_publisher_close>;

    explicit Publisher(horus_publisher_t raw) noexcept : handle_(raw) {}

    static horus_status_t open_raw(Name topic, const Options &options,
                                   horus_publisher_t &out) noexcept {
        const horus_topic_options_t raw = options.template raw<T>();
        return horus_publisher_open(topic.c_str(), &raw, &out);
    }
    horus_status_t send_raw(const T &message) noexcept {
        static_assert(!is_framed_v<T>, "horus: send a header with data by loan()");
        return horus_publisher_send(raw(), &message, sizeof message);
    }
    horus_status_t send_raw(const T &message, std::chrono::nanoseconds timeout) noexcept {
        static_assert(!is_framed_v<T>, "horus: send a header with data by loan()");
        const std::int64_t timeout_ns = detail::timeout_ns(timeout);
        return horus_publisher_send_timeout(raw(), &message, sizeof message, timeout_ns);
    }
    horus_status_t wait_raw(std::size_t count, std::chrono::nanoseconds timeout,
                            std::size_t &found) const noexcept {
        const std::int64_t timeout_ns = detail::timeout_ns(timeout);
        return horus_publisher_wait_for_subscribers(raw(), count, timeout_ns, &found);
    }
    horus_status_t reserve_raw(std::size_t bytes) noexcept {
        return horus_publisher_reserve(raw(), bytes);
    }
    static Info empty_info() noexcept {
        Info info{};
        info.struct_bytes = static_cast<std::uint32_t>(sizeof info);
        return info;
    }

    Handle handle_;
};

HORUS_VARIANT_END

}  // namespace horus

#endif  // HORUS_PUBLISHER_HPP
