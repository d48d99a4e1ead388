/* Prints what a talker publishes: `listener_c [messages]`. */
#include "counter.h"

int main(int argc, char **argv) {
    const uint64_t messages = messages_of(argc, argv);
    const horus_topic_options_t options = counter_options();
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
