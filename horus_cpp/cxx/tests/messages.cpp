// Sends and receives every standard message, field by field as C++ has them.
#include "horus_cpp_cxx/tests/messages.hpp"

#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

#include <horus/horus.hpp>

#include "every_message.hpp"

namespace {

constexpr std::size_t elements = 7;

/// The numbers of each field, by its path; those of arrays one after the other.
class Listing {
  public:
    template <class Number>
    void add(const std::string &path, Number number) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, &number, sizeof number);
        lines_[path] += " " + std::to_string(bits);
    }
    rust::String text() const {
        std::string all;
        for (const auto &[path, numbers] : lines_) {
            all += path + ":" + numbers + "\n";
        }
        return all;
    }

  private:
    std::map<std::string, std::string> lines_;
};

/// Visits the fields of a message, and those of nested messages.
template <class Each>
class Visitor {
  public:
    Visitor(Listing &listing, std::string prefix, Each each)
        : listing_(listing), prefix_(std::move(prefix)), each_(each) {}

    template <class Field>
    void field(const char *name, Field &field) {
        value(prefix_ + name, field);
    }

  private:
    template <class Field>
    void value(const std::string &path, Field &field) {
        using Plain = std::remove_const_t<Field>;
        if constexpr (std::is_array_v<Plain>) {
            for (auto &element : field) {
                value(path, element);
            }
        } else if constexpr (std::is_arithmetic_v<Plain>) {
            each_(field);
            listing_.add(path, field);
        } else {
            Visitor inner(listing_, path + ".", each_);
            each_field(field, inner);
        }
    }

    Listing &listing_;
    std::string prefix_;
    Each each_;
};

template <class Message, class Each>
void visit(Listing &listing, Message &message, Each each) {
    Visitor<Each> visitor(listing, "", each);
    each_field(message, visitor);
}

/// Returns a visitor that fills fields with distinct numbers, and texts with letters.
auto filler(std::uint64_t &seed) {
    return [&seed](auto &field) {
        using Number = std::decay_t<decltype(field)>;
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        if constexpr (std::is_same_v<Number, char>) {
            field = static_cast<char>('a' + (seed >> 33) % 26);
        } else if constexpr (std::is_floating_point_v<Number>) {
            field = static_cast<Number>(static_cast<std::int64_t>(seed) >> 40) / 8;
        } else {
            field = static_cast<Number>(seed >> 7);
        }
    };
}

constexpr auto nothing = [](auto &) {};

template <class T>
rust::String send_as(const std::string &topic, std::uint64_t seed) {
    Listing listing;
    horus::Publisher<T> publisher(topic);
    if constexpr (horus::is_framed_v<T>) {
        auto loan = publisher.loan().value();
        visit(listing, loan.header(), filler(seed));
        for (std::size_t index = 0; index < elements; index++) {
            auto &element = loan.data()[index];
            filler(seed)(element);
            listing.add(horus_tail_of(static_cast<const T *>(nullptr)), element);
        }
        loan.publish(elements);
    } else {
        T message;
        visit(listing, message, filler(seed));
        if (!publisher.send(message)) {
            throw std::runtime_error("the topic is full");
        }
    }
    return listing.text();
}

template <class T>
rust::String receive_as(const std::string &topic) {
    Listing listing;
    horus::Subscriber<T> subscriber(topic);
    if constexpr (horus::is_framed_v<T>) {
        const auto borrow = subscriber.borrow().value();
        visit(listing, borrow.header(), nothing);
        for (const auto &element : borrow.data()) {
            listing.add(horus_tail_of(static_cast<const T *>(nullptr)), element);
        }
    } else {
        const T message = subscriber.recv().value();
        visit(listing, message, nothing);
    }
    return listing.text();
}

template <class T>
rust::String default_as() {
    Listing listing;
    if constexpr (horus::is_framed_v<T>) {
        typename T::Header header{};
        visit(listing, header, nothing);
    } else {
        T message{};
        visit(listing, message, nothing);
    }
    return listing.text();
}

template <class Act>
rust::String act_as(rust::Str message, Act act) {
    rust::String told;
    const auto found = [&](auto tag) { told = act(tag); };
    if (!with_message(std::string_view(message.data(), message.size()), found)) {
        throw std::runtime_error("msg.hpp has no such message");
    }
    return told;
}

}  // namespace

rust::String send(rust::Str message, rust::Str topic, std::uint64_t seed) {
    return act_as(message, [&](auto tag) {
        return send_as<typename decltype(tag)::Message>(std::string(topic), seed);
    });
}

rust::String receive(rust::Str message, rust::Str topic) {
    return act_as(message, [&](auto tag) {
        return receive_as<typename decltype(tag)::Message>(std::string(topic));
    });
}

rust::String default_of(rust::Str message) {
    return act_as(message, [](auto tag) { return default_as<typename decltype(tag)::Message>(); });
}
