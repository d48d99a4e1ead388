// Topic<T>: both ends of a topic in one object.
#ifndef HORUS_TOPIC_HPP
#define HORUS_TOPIC_HPP

#include "publisher.hpp"
#include "subscriber.hpp"

namespace horus {

/// Sends and receives; receives its own messages too. What Publisher and Subscriber have.
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

    /// What the topic can tell, as its receiving end sees it.
    using Subscriber<T>::info;

    Publisher<T> &publisher() noexcept { return *this; }
    Subscriber<T> &subscriber() noexcept { return *this; }
    /// For a wait set, among others.
    const Subscriber<T> &subscriber() const noexcept { return *this; }

    void raw() const = delete;

  private:
    Topic(Publisher<T> &&publisher, Subscriber<T> &&subscriber) noexcept
        : Publisher<T>(std::move(publisher)), Subscriber<T>(std::move(subscriber)) {}
};

}  // namespace horus

#endif  // HORUS_TOPIC_HPP
