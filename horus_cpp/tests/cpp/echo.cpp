// Answers messages of several types with a computed copy of their fields, until one has the number
// 0.
#include "check.hpp"

#include <algorithm>
#include <cstring>

namespace {

/// Answers until `answer` returns false.
template <class T, class Answer>
void echo(const char *name, Answer answer) {
    // A late joiner gets the first answer too.
    const horus::Qos qos = horus::Qos::reliable().history(1);
    horus::Subscriber<T> questions(std::string(name) + ".questions", qos);
    horus::Publisher<T> answers(std::string(name) + ".answers", qos);
    // The first answer shows that this program has subscribed.
    CHECK(answers.send(T{}));
    for (bool more = true; more;) {
        T message = questions.recv_blocking();
        more = answer(message);
        CHECK(answers.send_timeout(message, horus::forever));
    }
    CHECK(questions.stats().lost == 0);
}

void images() {
    const horus::Qos qos = horus::Qos::reliable().capacity(16).history(1);
    const auto options = horus::Options(qos).max_message_bytes(1 << 20);
    horus::Subscriber<horus::Image> questions("image.questions", options);
    horus::Publisher<horus::Image> answers("image.answers", options);
    horus::WaitSet set;
    CHECK(set.add(questions) != 0);
    auto ready = answers.loan();
    horus::ImageHeader &header = ready->header();
    header = {};
    header.height = header.width = header.step = 1;
    std::strcpy(header.encoding, "mono8");
    ready->publish(1);
    for (bool more = true; more;) {
        CHECK(!set.wait().empty());
        auto question = questions.borrow();
        auto answer = answers.loan();
        CHECK(question && answer);
        CHECK(std::strcmp(question->header().encoding, "mono8") == 0);
        CHECK(question->data().size() == question->header().height * question->header().step);
        answer->header() = question->header();
        std::transform(question->data().begin(), question->data().end(), answer->data().begin(),
                       [](std::uint8_t pixel) { return static_cast<std::uint8_t>(255 - pixel); });
        answer->publish(question->data().size());
        more = question->header().timestamp_ns != 0;
    }
}

}  // namespace

int main() {
    echo<horus::CmdVel>("cmd_vel", [](horus::CmdVel &command) {
        command.linear *= 2;
        command.angular = -command.angular;
        return command.timestamp_ns != 0;
    });
    echo<horus::Imu>("imu", [](horus::Imu &imu) {
        std::reverse(std::begin(imu.orientation), std::end(imu.orientation));
        std::swap(imu.angular_velocity, imu.linear_acceleration);
        imu.linear_acceleration_covariance[8] += 1;
        return imu.timestamp_ns != 0;
    });
    echo<horus::LaserScan>("scan", [](horus::LaserScan &scan) {
        std::reverse(std::begin(scan.ranges), std::begin(scan.ranges) + scan.count);
        std::swap(scan.angle_min, scan.angle_max);
        return scan.timestamp_ns != 0;
    });
    echo<horus::NavGoal>("goal", [](horus::NavGoal &goal) {
        CHECK(std::strcmp(goal.frame_id, "map") == 0);
        std::strcpy(goal.frame_id, "odom");
        goal.goal_id += 1;
        goal.yaw_tolerance *= 2;
        return goal.timestamp_ns != 0;
    });
    echo<robot::Everything>("everything", [](robot::Everything &all) {
        all.i64 = -all.i64;
        std::swap(all.pairs[0], all.pairs[2]);
        std::swap(all.corners[0][1], all.corners[1][0]);
        std::swap(all.matrix[0][2], all.matrix[1][0]);
        std::swap(all.names[0], all.names[1]);
        all.vector[1] += 1;
        all.i8 = static_cast<std::int8_t>(-all.i8);
        all.mode = robot::Mode::moving;
        return all.u64 != 0;
    });
    images();
    return 0;
}
