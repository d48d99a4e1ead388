// Topic<T>: a publisher and a subscriber in one object.
#ifndef HORUS_TOPIC_HPP
#define HORUS_TOPIC_HPP

#include "publisher.hpp"
#include "subscriber.hpp"

namespace horus {

/// Sends and receives messages; also receives its own. Has the members of Publisher and Subscriber.
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
};

}  // namespace horus

#endif  // HORUS_TOPIC_HPP
