/*
 * Echoes standard messages, each changed in a way that its test expects, until one without a time
 * comes. The argument selects the type: `cmd_vel`, `imu`, `scan` or `image`.
 */
#include "check.h"

#include <horus/messages.h>
#include <string.h>

static horus_publisher_t answers;
static horus_subscriber_t questions;

/* Opens the endpoints of the topics with this name. */
static void meet(const char *name, const char *schema) {
    char topic[64];
    horus_qos_t qos = HORUS_QOS_INIT;
    horus_topic_options_t options = HORUS_TOPIC_OPTIONS_FOR(schema);
    qos.preset = HORUS_QOS_RELIABLE;
    qos.capacity = 16;
    qos.history = 1;
    options.qos = &qos;
    options.max_message_bytes = 1 << 20;
    snprintf(topic, sizeof topic, "%s.questions", name);
    EXPECT(HORUS_OK, horus_subscriber_open(topic, &options, &questions));
    snprintf(topic, sizeof topic, "%s.answers", name);
    EXPECT(HORUS_OK, horus_publisher_open(topic, &options, &answers));
}

/* Receives a message of this size. */
static void receive(void *message, size_t bytes) {
    size_t received;
    EXPECT(HORUS_OK, horus_subscriber_recv_timeout(questions, message, bytes, -1, &received));
    CHECK(received == bytes);
}

static void answer(const void *message, size_t bytes) {
    EXPECT(HORUS_OK, horus_publisher_send_timeout(answers, message, bytes, -1));
}

static void echo_cmd_vel(void) {
    horus_cmd_vel_t command = HORUS_CMD_VEL_INIT;
    meet("cmd_vel", HORUS_CMD_VEL_SCHEMA);
    do {
        answer(&command, sizeof command);
        receive(&command, sizeof command);
        command.linear *= 2.0F;
        command.angular = -command.angular;
    } while (command.timestamp_ns != 0);
    answer(&command, sizeof command);
}

static void echo_imu(void) {
    horus_imu_t imu = HORUS_IMU_INIT;
    meet("imu", HORUS_IMU_SCHEMA);
    do {
        answer(&imu, sizeof imu);
        receive(&imu, sizeof imu);
        const double x = imu.orientation[0];
        imu.orientation[0] = imu.orientation[3];
        imu.orientation[3] = x;
        imu.angular_velocity[1] += 1.0;
        imu.linear_acceleration_covariance[8] += 1.0;
    } while (imu.timestamp_ns != 0);
    answer(&imu, sizeof imu);
}

static void echo_scan(void) {
    horus_laser_scan_t scan = HORUS_LASER_SCAN_INIT;
    meet("scan", HORUS_LASER_SCAN_SCHEMA);
    do {
        answer(&scan, sizeof scan);
        receive(&scan, sizeof scan);
        CHECK(scan.count < 360);
        scan.ranges[scan.count] = scan.range_max;
        scan.angle_max = scan.angle_min;
        scan.count += 1;
    } while (scan.timestamp_ns != 0);
    answer(&scan, sizeof scan);
}

/* Fills a lent slot with a borrowed message, the pixels inverted. */
static void invert(const horus_sample_t *sample) {
    void *slot;
    size_t room;
    const horus_image_header_t *image = sample->data;
    const uint8_t *pixels = (const uint8_t *)(image + 1);
    const size_t bytes = (size_t)image->step * image->height;
    CHECK(sample->bytes == sizeof *image + bytes);
    EXPECT(HORUS_OK, horus_publisher_loan(answers, &slot, &room));
    CHECK(room >= sample->bytes);
    memcpy(slot, image, sizeof *image);
    uint8_t *inverted = (uint8_t *)slot + sizeof *image;
    for (size_t index = 0; index < bytes; ++index) {
        inverted[index] = (uint8_t)(255 - pixels[index]);
    }
    EXPECT(HORUS_OK, horus_publisher_publish(answers, sample->bytes));
}

static void echo_image(void) {
    uint64_t timestamp_ns = 1, key;
    horus_wait_set_t set;
    meet("image", HORUS_IMAGE_SCHEMA);
    EXPECT(HORUS_OK, horus_wait_set_open(&set));
    EXPECT(HORUS_OK, horus_wait_set_add(set, questions, 0, &key));
    while (timestamp_ns != 0) {
        horus_ready_t ready;
        horus_sample_t sample;
        size_t count;
        EXPECT(HORUS_OK, horus_wait_set_wait(set, -1, &ready, 1, &count));
        EXPECT(HORUS_OK, horus_subscriber_borrow(questions, &sample));
        invert(&sample);
        timestamp_ns = ((const horus_image_header_t *)sample.data)->timestamp_ns;
        EXPECT(HORUS_OK, horus_sample_release(sample.id));
    }
    EXPECT(HORUS_OK, horus_wait_set_close(set));
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    if (strcmp(argv[1], "cmd_vel") == 0) {
        echo_cmd_vel();
    } else if (strcmp(argv[1], "imu") == 0) {
        echo_imu();
    } else if (strcmp(argv[1], "scan") == 0) {
        echo_scan();
    } else {
        CHECK(strcmp(argv[1], "image") == 0);
        echo_image();
    }
    EXPECT(HORUS_OK, horus_publisher_close(answers));
    EXPECT(HORUS_OK, horus_subscriber_close(questions));
    return 0;
}
