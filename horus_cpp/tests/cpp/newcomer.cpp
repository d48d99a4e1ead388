// One end of a topic, as somebody writes it who reads no documentation: `newcomer END PRESET`. END
// is publish-command, publish-image, subscribe-command or subscribe-image. It prints "open", waits
// for a line of input, then sends or receives all messages, and prints "done".
#include "check.hpp"

#include <chrono>
#include <cstring>
#include <string>

namespace {

constexpr int messages = 3;
constexpr std::uint32_t width = 1920, height = 1080;
constexpr std::size_t pixels = std::size_t{width} * height * 3;

horus::Qos preset(const std::string &name) {
    return name == "command"    ? horus::Qos::command()
           : name == "reliable" ? horus::Qos::reliable()
                                : horus::Qos();
}

/// Tells the test that this end is open, and waits until the other one is.
void meet() {
    std::puts("open");
    std::fflush(stdout);
    CHECK(std::getchar() == '\n');
}

void publish_commands(const horus::Qos &qos) {
    horus::Publisher<horus::CmdVel> publisher("cmd_vel", qos);
    meet();
    for (int at = 1; at <= messages; ++at) {
        CHECK(publisher.send({static_cast<std::uint64_t>(at), static_cast<float>(at) * 0.5F, -1}));
    }
}

void subscribe_commands(const horus::Qos &qos) {
    horus::Subscriber<horus::CmdVel> subscriber("cmd_vel", qos);
    meet();
    for (std::uint64_t at = 1; at <= messages; ++at) {
        const horus::CmdVel command = subscriber.recv_blocking();
        CHECK(command.timestamp_ns == at && command.linear == static_cast<float>(at) * 0.5F);
    }
}

void publish_images(const horus::Qos &qos) {
    horus::Publisher<horus::Image> publisher("camera/rgb", qos);
    meet();
    for (int shade = 1; shade <= messages; ++shade) {
        auto loan = publisher.loan(pixels);
        CHECK(loan);
        horus::ImageHeader &header = loan->header();
        header = {};
        header.timestamp_ns = static_cast<std::uint64_t>(shade);
        header.width = width;
        header.height = height;
        header.step = width * 3;
        std::strcpy(header.encoding, "rgb8");
        std::memset(loan->data().data(), shade, pixels);
        loan->publish(pixels);
    }
}

void subscribe_images(const horus::Qos &qos) {
    horus::Subscriber<horus::Image> subscriber("camera/rgb", qos);
    meet();
    horus::WaitSet set;
    (void)set.add(subscriber);
    for (int shade = 1; shade <= messages;) {
        CHECK(!set.wait().empty());
        const auto image = subscriber.borrow();
        if (!image) {
            continue;
        }
        CHECK(image->header().width == width && image->header().height == height);
        CHECK(image->header().timestamp_ns == static_cast<std::uint64_t>(shade));
        CHECK(image->data().size() == pixels);
        for (const std::uint8_t byte : image->data()) {
            CHECK(byte == shade);
        }
        ++shade;
    }
}

}  // namespace

int main(int count, char **arguments) {
    CHECK(count == 3);
    const std::string end = arguments[1];
    const horus::Qos qos = preset(arguments[2]);
    if (end == "publish-command") {
        publish_commands(qos);
    } else if (end == "subscribe-command") {
        subscribe_commands(qos);
    } else if (end == "publish-image") {
        publish_images(qos);
    } else {
        CHECK(end == "subscribe-image");
        subscribe_images(qos);
    }
    std::puts("done");
    std::fflush(stdout);
    // A publisher leaves only when its messages have been received.
    (void)std::getchar();
    return 0;
}
