/* Echoes each message with its second half incremented, until 0 comes. */
#include "check.h"

int main(int argc, char **argv) {
    horus_topic_options_t options = pair_options(NULL);
    horus_publisher_t publisher;
    horus_subscriber_t subscriber;
    CHECK(argc == 2);
    horus_qos_t qos = HORUS_QOS_INIT;
    qos.preset = HORUS_QOS_RELIABLE;
    options.qos = &qos;
    EXPECT(HORUS_OK, horus_subscriber_open(argv[1], &options, &subscriber));
    EXPECT(HORUS_OK, horus_publisher_open("answers", &options, &publisher));
    pair_t pair = {1, 0};
    EXPECT(HORUS_OK, horus_publisher_send(publisher, &(pair_t){0, 0}, sizeof pair));
    while (pair.first != 0) {
        size_t bytes;
        EXPECT(HORUS_OK, horus_subscriber_recv_timeout(subscriber, &pair, sizeof pair, -1, &bytes));
        CHECK(bytes == sizeof pair);
        pair.second += 1;
        EXPECT(HORUS_OK, horus_publisher_send_timeout(publisher, &pair, sizeof pair, -1));
    }
    horus_stats_t stats = HORUS_STATS_INIT;
    EXPECT(HORUS_OK, horus_subscriber_stats(subscriber, &stats));
    CHECK(stats.lost == 0);
    printf("%llu\n", (unsigned long long)stats.received);
    EXPECT(HORUS_OK, horus_publisher_close(publisher));
    EXPECT(HORUS_OK, horus_subscriber_close(subscriber));
    return 0;
}
