/* Publishes a counter ten times per second: `talker_c [messages]`. */
#include "counter.h"

#include <time.h>

int main(int argc, char **argv) {
    const uint64_t messages = messages_of(argc, argv);
    const horus_topic_options_t options = counter_options();
    horus_publisher_t publisher;
    if (horus_publisher_open("counter", &options, &publisher) != HORUS_OK) {
        return failed("cannot open the topic");
    }
    for (uint64_t count = 1; count <= messages; ++count) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        const uint64_t now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
        const counter_t counter = {now_ns, count};
        const horus_status_t status = horus_publisher_send(publisher, &counter, sizeof counter);
        if (status < 0) {
            return failed("cannot send");
        }
        if (status == HORUS_OK) {
            printf("sent %llu\n", (unsigned long long)count);
        } else {
            fprintf(stderr, "talker: a reliable listener is too slow\n");
        }
        nanosleep(&(struct timespec){0, 100000000}, NULL);
    }
    horus_publisher_close(publisher);
    return 0;
}
