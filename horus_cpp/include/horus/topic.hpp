// Topic<T>: a publisher and a subscriber in one object.
#ifndef HORUS_TOPIC_HPP
#define HORUS_TOPIC_HPP

#include "publisher.hpp"
#include "subscriber.hpp"

namespace horus {

HORUS_VARIANT_BEGIN

/// Sends and receives messages of one topic, also those that it has sent itself. Has the members of
/// Publisher and Subscriber.
template <class T>
class Topic : public Publisher<T>, public Subscriber<T> {
  public:
    static std::optional<Topic> open(Name topic, const Options &options,
                                     std::error_code &error) noexcept {
        auto subscriber = Subscriber<T>::open(topic, options, error);
        if (!subscriber) {
            return std::nullopt;
        }
        auto publisher = Publisher<T>::open(topic, options, error);
        if (!publisher) {
            return std::nullopt;
        }
        return Topic(std::move(*publisher), std::move(*subscriber));
    }
#if HORUS_EXCEPTIONS
    explicit Topic(Name topic, const Options &options = Options())
        : Publisher<T>(topic, options), Subscriber<T>(topic, options) {}
#endif

    /// Waits for subscribers as Publisher does. The subscriber of this object does not count,
    /// except in the text of an error.
    [[nodiscard]] std::optional<std::size_t>
    wait_for_subscribers(std::size_t count, std::chrono::nanoseconds timeout,
                         std::error_code &error) const noexcept {
        const Publisher<T> &publisher = *this;
        return others(publisher.wait_for_subscribers(with_own(count), timeout, error));
    }
    /// Waits for publishers as Subscriber does. The publisher of this object does not count, except
    /// in the text of an error.
    [[nodiscard]] std::optional<std::size_t>
    wait_for_publishers(std::size_t count, std::chrono::nanoseconds timeout,
                        std::error_code &error) const noexcept {
        return others(subscriber().wait_for_publishers(with_own(count), timeout, error));
    }
#if HORUS_EXCEPTIONS
    [[nodiscard]] std::optional<std::size_t>
    wait_for_subscribers(std::size_t count, std::chrono::nanoseconds timeout) const {
        const Publisher<T> &publisher = *this;
        return others(publisher.wait_for_subscribers(with_own(count), timeout));
    }
    [[nodiscard]] std::optional<std::size_t>
    wait_for_publishers(std::size_t count, std::chrono::nanoseconds timeout) const {
        return others(subscriber().wait_for_publishers(with_own(count), timeout));
    }
#endif

    /// Returns the information of its subscriber.
    using Subscriber<T>::info;

    Publisher<T> &publisher() noexcept { return *this; }
    Subscriber<T> &subscriber() noexcept { return *this; }
    /// Returns its subscriber, for instance for a wait set.
    const Subscriber<T> &subscriber() const noexcept { return *this; }

    void raw() const = delete;

  private:
    Topic(Publisher<T> &&publisher, Subscriber<T> &&subscriber) noexcept
        : Publisher<T>(std::move(publisher)), Subscriber<T>(std::move(subscriber)) {}

    // WHY not beyond the maximum: no topic has so many, and 0 would be there at once.
    static std::size_t with_own(std::size_t count) noexcept {
        return count == SIZE_MAX ? count : count + 1;
    }
    static std::optional<std::size_t> others(std::optional<std::size_t> found) noexcept {
        return found ? std::optional<std::size_t>(*found - 1) : std::nullopt;
    }
};

HORUS_VARIANT_END

}  // namespace horus

#endif  // HORUS_TOPIC_HPP
