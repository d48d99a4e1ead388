/* The error text after outcomes that are not errors. */
#include "check.h"

#include <string.h>

#define TEXT horus_last_error_message()

/* Sets the error text to that of another topic. */
static void fails(void) {
    horus_publisher_t publisher;
    EXPECT(HORUS_E_NAME, horus_publisher_open("a b", NULL, &publisher));
    CHECK(strstr(TEXT, "topic 'a b'"));
}

int main(void) {
    horus_qos_t qos = HORUS_QOS_INIT;
    qos.preset = HORUS_QOS_RELIABLE;
    qos.capacity = 2;
    qos.pinnable = HORUS_YES;
    horus_topic_options_t options = pair_options(&qos);
    horus_publisher_t publisher;
    horus_subscriber_t subscriber;
    EXPECT(HORUS_OK, horus_publisher_open("full", &options, &publisher));
    EXPECT(HORUS_OK, horus_subscriber_open("full", &options, &subscriber));
    pair_t pair = {1, 1};

    fails();
    EXPECT(HORUS_EMPTY, horus_subscriber_recv(subscriber, &pair, sizeof pair, NULL));
    CHECK(strstr(TEXT, "topic 'a b'"));
    EXPECT(HORUS_TIMEOUT, horus_subscriber_recv_timeout(subscriber, &pair, sizeof pair, 1000, NULL));
    CHECK(strcmp(TEXT, "") == 0);

    horus_wait_set_t set;
    uint64_t key;
    EXPECT(HORUS_OK, horus_wait_set_open(&set));
    EXPECT(HORUS_OK, horus_wait_set_add(set, subscriber, 0, &key));
    horus_ready_t ready[1];
    size_t count = 1;
    fails();
    EXPECT(HORUS_TIMEOUT, horus_wait_set_wait(set, 1000, ready, 1, &count));
    CHECK(strcmp(TEXT, "") == 0);
    EXPECT(HORUS_OK, horus_wait_set_close(set));

    EXPECT(HORUS_OK, horus_publisher_send(publisher, &pair, sizeof pair));
    EXPECT(HORUS_OK, horus_publisher_send(publisher, &pair, sizeof pair));
    fails();
    EXPECT(HORUS_FULL, horus_publisher_send(publisher, &pair, sizeof pair));
    CHECK(strcmp(TEXT, "") == 0);
    fails();
    EXPECT(HORUS_FULL, horus_publisher_loan(publisher, &(void *){0}, NULL));
    CHECK(strcmp(TEXT, "") == 0);
    EXPECT(HORUS_FULL, horus_publisher_send_timeout(publisher, &pair, sizeof pair, 1000));
    CHECK(strstr(TEXT, "topic 'full': process ") && strstr(TEXT, "try again, or set detach_after"));
    EXPECT(HORUS_TIMEOUT, horus_publisher_wait_for_subscribers(publisher, 2, 0, NULL));
    CHECK(strstr(TEXT, "topic 'full': not enough subscribers"));
    EXPECT(HORUS_OK, horus_publisher_close(publisher));
    EXPECT(HORUS_OK, horus_subscriber_close(subscriber));
    return 0;
}
