/* Publishes a counter ten times per second: `talker_c [messages]`. */
#include <horus/horus.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* The same message in C, C++, Rust and Python: the schema text says what it is. */
typedef struct counter {
    uint64_t timestamp_ns;
    uint64_t count;
} counter_t;

static const char *const COUNTER_SCHEMA = "horus schema 1\nmessage Counter\nsize 16\nalign 8\n"
                                          "field timestamp_ns u64 0 1\nfield count u64 8 1\n";

static int failed(const char *what) {
    fprintf(stderr, "talker: %s: %s\n", what, horus_last_error_message());
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
    horus_publisher_t publisher;
    if (horus_publisher_open("counter", &options, &publisher) != HORUS_OK) {
        return failed("cannot open the topic");
    }
    for (uint64_t count = 1; count <= messages; ++count) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        const uint64_t now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
        const counter_t counter = {now_ns, count};
        if (horus_publisher_send(publisher, &counter, sizeof counter) < 0) {
            return failed("cannot send");
        }
        printf("sent %llu\n", (unsigned long long)count);
        nanosleep(&(struct timespec){0, 100000000}, NULL);
    }
    horus_publisher_close(publisher);
    return 0;
}
