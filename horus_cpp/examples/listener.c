/* Prints what a talker publishes: `listener_c [messages]`. */
#include <horus/horus.h>

#include <stdio.h>
#include <stdlib.h>

typedef struct counter {
    uint64_t timestamp_ns;
    uint64_t count;
} counter_t;

static const char *const COUNTER_SCHEMA = "horus schema 1\nmessage Counter\nsize 16\nalign 8\n"
                                          "field timestamp_ns u64 0 1\nfield count u64 8 1\n";

static int failed(const char *what) {
    fprintf(stderr, "listener: %s: %s\n", what, horus_last_error_message());
    return 1;
}

int main(int argc, char **argv) {
    const uint64_t messages = argc > 1 ? strtoull(argv[1], NULL, 10) : UINT64_MAX;
    horus_qos_t qos = HORUS_QOS_INIT;
    qos.preset = HORUS_QOS_LATCHED;
    horus_topic_options_t options = HORUS_TOPIC_OPTIONS_INIT;
    options.message_type = HORUS_TYPE_SCHEMA;
    options.schema = COUNTER_SCHEMA;
    options.qos = &qos;
    horus_subscriber_t subscriber;
    if (horus_subscriber_open("counter", &options, &subscriber) != HORUS_OK) {
        return failed("cannot open the topic");
    }
    for (uint64_t received = 0; received < messages;) {
        counter_t counter;
        const int64_t second_ns = 1000000000;
        const horus_status_t status =
            horus_subscriber_recv_timeout(subscriber, &counter, sizeof counter, second_ns, NULL);
        if (status == HORUS_OK) {
            printf("received %llu\n", (unsigned long long)counter.count);
            ++received;
        } else if (status == HORUS_TIMEOUT) {
            fprintf(stderr, "listener: nothing for a second\n");
        } else {
            return failed("cannot receive");
        }
    }
    horus_subscriber_close(subscriber);
    return 0;
}
