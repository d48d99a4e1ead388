// Events of the other endpoints of a topic: they join, leave or die.
#ifndef HORUS_ENDPOINT_EVENTS_HPP
#define HORUS_ENDPOINT_EVENTS_HPP

#include <chrono>
#include <cstdint>
#include <optional>
#include <system_error>

#include "options.hpp"
#include "publisher.hpp"
#include "subscriber.hpp"

namespace horus {

/// A publisher or subscriber that joined, left or died: the struct of <horus/horus.h>.
using EndpointEvent = horus_endpoint_event_t;

HORUS_VARIANT_BEGIN

/// The events of the subscribers of a publisher's topic, or of the publishers of a subscriber's
/// topic: they join, leave or die. Each look compares the endpoints with those of the look before,
/// and costs them nothing. Only one thread at a time may use it.
class EndpointEvents {
  public:
    template <class T>
    static std::optional<EndpointEvents> open(const Publisher<T> &publisher,
                                              std::error_code &error) noexcept {
        horus_endpoint_events_t raw{};
        return opened(horus_publisher_subscriber_events(publisher.raw(), &raw), raw, error);
    }
    template <class T>
    static std::optional<EndpointEvents> open(const Subscriber<T> &subscriber,
                                              std::error_code &error) noexcept {
        horus_endpoint_events_t raw{};
        return opened(horus_subscriber_publisher_events(subscriber.raw(), &raw), raw, error);
    }
    /// Waits up to `timeout` for the next event; returns nothing if there was none. With a timeout
    /// of 0 it does not block. Looks at once, and again after pauses of 1 ms that grow to 10 ms.
    std::optional<EndpointEvent> wait(std::chrono::nanoseconds timeout,
                                      std::error_code &error) noexcept {
        EndpointEvent event = empty();
        const bool is_there = detail::done(wait_raw(timeout, event), error);
        return is_there ? std::optional<EndpointEvent>(event) : std::nullopt;
    }

#if HORUS_EXCEPTIONS
    template <class T>
    explicit EndpointEvents(const Publisher<T> &publisher) {
        horus_endpoint_events_t raw{};
        (void)detail::done(horus_publisher_subscriber_events(publisher.raw(), &raw));
        handle_ = Handle(raw);
    }
    template <class T>
    explicit EndpointEvents(const Subscriber<T> &subscriber) {
        horus_endpoint_events_t raw{};
        (void)detail::done(horus_subscriber_publisher_events(subscriber.raw(), &raw));
        handle_ = Handle(raw);
    }
    std::optional<EndpointEvent> wait(std::chrono::nanoseconds timeout = forever) {
        EndpointEvent event = empty();
        const bool is_there = detail::done(wait_raw(timeout, event));
        return is_there ? std::optional<EndpointEvent>(event) : std::nullopt;
    }
#endif

    horus_endpoint_events_t raw() const noexcept { return handle_.raw(); }

  private:
    using Handle = detail::Handle<horus_endpoint_events_t, horus_endpoint_events_close>;

    explicit EndpointEvents(horus_endpoint_events_t raw) noexcept : handle_(raw) {}

    static std::optional<EndpointEvents> opened(horus_status_t status, horus_endpoint_events_t raw,
                                                std::error_code &error) noexcept {
        if (detail::done(status, error)) {
            return EndpointEvents(raw);
        }
        return std::nullopt;
    }
    static EndpointEvent empty() noexcept {
        EndpointEvent event{};
        event.struct_bytes = static_cast<std::uint32_t>(sizeof event);
        return event;
    }
    horus_status_t wait_raw(std::chrono::nanoseconds timeout, EndpointEvent &event) noexcept {
        return horus_endpoint_events_wait(raw(), detail::timeout_ns(timeout), &event);
    }

    Handle handle_;
};

HORUS_VARIANT_END

}  // namespace horus

#endif  // HORUS_ENDPOINT_EVENTS_HPP
