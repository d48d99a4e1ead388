/*
 * Waits until the other end of a topic is there: rendezvous publish|subscribe|lose TOPIC
 *
 * Prints the number of the ends found and the message, and then stays until its input ends.
 */
#include "check.h"

#include <string.h>

static const int64_t LIMIT_NS = 60000000000;

static void say(const char *word, size_t number) {
    CHECK(printf("%s %zu\n", word, number) > 0 && fflush(stdout) == 0);
}

static void publish(horus_publisher_t publisher) {
    size_t found = 0;
    say("open", 1);
    EXPECT(HORUS_OK, horus_publisher_wait_for_subscribers(publisher, 1, LIMIT_NS, &found));
    EXPECT(HORUS_OK, horus_publisher_send(publisher, &(pair_t){7, 8}, sizeof(pair_t)));
    say("found", found);
}

static void subscribe(horus_subscriber_t subscriber) {
    size_t found = 0;
    pair_t pair;
    say("open", 1);
    EXPECT(HORUS_OK, horus_subscriber_wait_for_publishers(subscriber, 1, LIMIT_NS, &found));
    say("found", found);
    EXPECT(HORUS_OK,
           horus_subscriber_recv_timeout(subscriber, &pair, sizeof pair, LIMIT_NS, NULL));
    say("received", (size_t)pair.first);
}

/* Waits for a second end of each kind, while another process truncates the file of the topic. */
static void lose(horus_publisher_t publisher, horus_subscriber_t subscriber) {
    say("open", 2);
    EXPECT_OF("lost", HORUS_E_REGION_LOST,
              horus_publisher_wait_for_subscribers(publisher, 2, -1, NULL));
    EXPECT_OF("lost", HORUS_E_REGION_LOST,
              horus_subscriber_wait_for_publishers(subscriber, 2, -1, NULL));
    say("lost", 2);
}

int main(int argc, char **argv) {
    horus_topic_options_t options = pair_options(NULL);
    horus_publisher_t publisher = {0};
    horus_subscriber_t subscriber = {0};
    CHECK(argc == 3);
    if (strcmp(argv[1], "subscribe") != 0) {
        EXPECT(HORUS_OK, horus_publisher_open(argv[2], &options, &publisher));
    }
    if (strcmp(argv[1], "publish") != 0) {
        EXPECT(HORUS_OK, horus_subscriber_open(argv[2], &options, &subscriber));
    }
    if (subscriber.id == 0) {
        publish(publisher);
    } else if (publisher.id == 0) {
        subscribe(subscriber);
    } else {
        lose(publisher, subscriber);
    }
    while (getchar() != EOF) {
    }
    return 0;
}
