/* Calls each function once correctly, and causes each error that a caller can make. */
#include "check.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void sends_and_receives(void) {
    horus_topic_options_t options = pair_options(NULL);
    horus_publisher_t publisher;
    horus_subscriber_t subscriber, adopting;
    EXPECT(HORUS_E_NOT_FOUND, horus_subscriber_open("pairs", NULL, &subscriber));
    EXPECT(HORUS_OK, horus_publisher_open("pairs", &options, &publisher));
    EXPECT(HORUS_OK, horus_subscriber_open("pairs", &options, &subscriber));
    EXPECT(HORUS_OK, horus_subscriber_open("pairs", NULL, &adopting));

    pair_t sent = {1, 2}, got = {0, 0};
    size_t bytes = 0;
    EXPECT(HORUS_EMPTY, horus_subscriber_recv(subscriber, &got, sizeof got, &bytes));
    EXPECT(HORUS_TIMEOUT, horus_subscriber_recv_timeout(subscriber, &got, sizeof got, 1000, NULL));
    EXPECT(HORUS_OK, horus_publisher_send(publisher, &sent, sizeof sent));
    EXPECT(HORUS_OK, horus_subscriber_recv(subscriber, &got, sizeof got, &bytes));
    CHECK(bytes == sizeof got && got.first == 1 && got.second == 2);
    EXPECT(HORUS_OK, horus_subscriber_recv_timeout(adopting, &got, sizeof got, -1, &bytes));

    sent.first = 7;
    EXPECT(HORUS_OK, horus_publisher_send(publisher, &sent, sizeof sent));
    sent.first = 8;
    EXPECT(HORUS_OK, horus_publisher_send_timeout(publisher, &sent, sizeof sent, 0));
    EXPECT(HORUS_OK, horus_subscriber_latest(subscriber, &got, sizeof got, &bytes));
    CHECK(bytes == sizeof got && got.first == 8);
    EXPECT(HORUS_EMPTY, horus_subscriber_latest(subscriber, &got, sizeof got, NULL));

    horus_stats_t stats = HORUS_STATS_INIT;
    EXPECT(HORUS_OK, horus_subscriber_stats(subscriber, &stats));
    CHECK(stats.received == 2 && stats.skipped == 1 && stats.sent == 3 && stats.lost == 0);
    CHECK(stats.struct_bytes == sizeof stats);
    horus_topic_info_t info = HORUS_TOPIC_INFO_INIT;
    EXPECT(HORUS_OK, horus_subscriber_info(subscriber, &info));
    CHECK(info.max_message_bytes == 16 && info.sequence == 3 && !info.has_variable_size);
    EXPECT(HORUS_OK, horus_publisher_info(publisher, &info));
    CHECK(info.publishers == 1 && info.subscribers == 2 && info.sequence == 3);
    EXPECT(HORUS_OK, horus_subscriber_check(subscriber));
    EXPECT(HORUS_OK, horus_subscriber_set_spin(subscriber, 0));

    EXPECT_OF("pairs", HORUS_E_MESSAGE, horus_publisher_send(publisher, &sent, 15));
    CHECK(strstr(horus_last_error_message(), "15") && strstr(horus_last_error_message(), "16"));
    CHECK(strstr(horus_last_error_message(), "topic 'pairs'"));
    EXPECT_OF("pairs", HORUS_E_MESSAGE, horus_publisher_send(publisher, &sent, 17));
    EXPECT_OF("pairs", HORUS_E_MESSAGE, horus_publisher_send(publisher, NULL, 0));
    EXPECT_OF("pairs", HORUS_E_NULL, horus_publisher_send(publisher, NULL, 16));
    EXPECT_OF("pairs", HORUS_E_ARGUMENT, horus_publisher_send(publisher, &sent, SIZE_MAX));
    EXPECT_OF("pairs", HORUS_E_ARGUMENT, horus_subscriber_recv(subscriber, &got, 15, NULL));
    EXPECT_OF("pairs", HORUS_E_NULL, horus_subscriber_recv(subscriber, NULL, 16, NULL));
    EXPECT_OF("pairs", HORUS_E_NULL, horus_subscriber_stats(subscriber, NULL));
    EXPECT_OF("pairs", HORUS_E_NULL, horus_publisher_info(publisher, NULL));
    EXPECT(HORUS_E_NULL, horus_publisher_open("pairs", &options, NULL));
    EXPECT(HORUS_E_NULL, horus_publisher_open(NULL, &options, &publisher));
    stats.struct_bytes = 0;
    EXPECT_OF("pairs", HORUS_E_ARGUMENT, horus_subscriber_stats(subscriber, &stats));

    horus_publisher_t other;
    horus_topic_options_t wrong = options;
    wrong.schema = "horus schema 1\nmessage Pair\nsize 8\nalign 8\nfield first u64 0 1\n";
    horus_qos_t strict = HORUS_QOS_INIT;
    strict.strict = HORUS_YES;
    wrong.qos = &strict;
    EXPECT_OF("pairs", HORUS_E_TYPE, horus_publisher_open("pairs", &wrong, &other));
    CHECK(strstr(horus_last_error_message(), "pairs"));
    strict.strict = HORUS_UNSET;
    strict.strict_schema = HORUS_YES;
    horus_subscriber_t foreign;
    uint64_t number;
    EXPECT(HORUS_OK, horus_subscriber_open("pairs", &wrong, &foreign));
    EXPECT_OF("pairs", HORUS_E_TYPE, horus_subscriber_recv(foreign, &number, sizeof number, NULL));
    CHECK(strstr(horus_last_error_message(), "field 'second': missing here"));
    EXPECT_OF("pairs", HORUS_E_TYPE,
              horus_subscriber_recv_timeout(foreign, &number, sizeof number, -1, NULL));
    CHECK(strstr(horus_last_error_message(), "field 'second': missing here"));
    EXPECT_OF("pairs", HORUS_E_TYPE, horus_subscriber_check(foreign));
    EXPECT(HORUS_OK, horus_publisher_open("pairs", &wrong, &other));
    EXPECT(HORUS_OK, horus_publisher_send(other, "\7\0\0\0\0\0\0", 8));
    EXPECT(HORUS_OK, horus_subscriber_recv(foreign, &number, sizeof number, NULL));
    CHECK(number == 7);
    EXPECT(HORUS_OK, horus_subscriber_check(foreign));
    EXPECT(HORUS_OK, horus_publisher_close(other));
    EXPECT(HORUS_OK, horus_subscriber_close(foreign));

    /* A version with a field more has its defaults behind what came. */
    const uint64_t defaults[3] = {1, 2, 9};
    uint64_t longer[3];
    horus_topic_options_t later = options;
    later.schema = "horus schema 1\nmessage Pair\nsize 24\nalign 8\nfield first u64 0 1\n"
                   "field second u64 8 1\nfield third u64 16 1\n";
    later.defaults = defaults;
    EXPECT(HORUS_OK, horus_subscriber_open("pairs", &later, &foreign));
    EXPECT(HORUS_OK, horus_publisher_send(publisher, &sent, sizeof sent));
    EXPECT(HORUS_OK, horus_subscriber_recv(foreign, longer, sizeof longer, NULL));
    CHECK(longer[0] == sent.first && longer[1] == sent.second && longer[2] == 9);
    EXPECT(HORUS_OK, horus_subscriber_info(foreign, &info));
    CHECK(info.max_message_bytes == 24 && info.received_bytes == 16);
    EXPECT(HORUS_OK, horus_subscriber_close(foreign));
    EXPECT(HORUS_OK, horus_subscriber_latest(subscriber, &got, sizeof got, NULL));
    wrong.schema = "horus schema 1\n";
    EXPECT_OF("pairs", HORUS_E_SCHEMA, horus_publisher_open("pairs", &wrong, &other));
    wrong.schema = NULL;
    EXPECT_OF("pairs", HORUS_E_NULL, horus_publisher_open("pairs", &wrong, &other));
    wrong.message_type = 3;
    EXPECT_OF("pairs", HORUS_E_ARGUMENT, horus_publisher_open("pairs", &wrong, &other));
    wrong.struct_bytes = 0;
    EXPECT_OF("pairs", HORUS_E_ARGUMENT, horus_publisher_open("pairs", &wrong, &other));
    EXPECT(HORUS_E_NAME, horus_publisher_open("", &options, &other));
    EXPECT(HORUS_E_NAME, horus_publisher_open("a b", &options, &other));
    wrong.struct_bytes = sizeof wrong;
    EXPECT(HORUS_E_ARGUMENT, horus_publisher_open("a\nb", &wrong, &other));
    CHECK(strstr(horus_last_error_message(), "topic 'a\\nb': "));
    EXPECT(HORUS_E_ARGUMENT, horus_publisher_open("\xff\xfe", &options, &other));
    char *endless = malloc(8192);
    memset(endless, 'a', 8192);
    EXPECT(HORUS_E_ARGUMENT, horus_publisher_open(endless, &options, &other));
    free(endless);
    horus_qos_t qos = HORUS_QOS_INIT;
    qos.preset = HORUS_QOS_RELIABLE;
    options.qos = &qos;
    /* No setting belongs to the topic. */
    EXPECT(HORUS_OK, horus_publisher_open("pairs", &options, &other));
    EXPECT(HORUS_OK, horus_publisher_close(other));
    qos.preset = 99;
    EXPECT_OF("pairs", HORUS_E_ARGUMENT, horus_publisher_open("pairs", &options, &other));
    EXPECT_OF("pairs", HORUS_E_BUSY, horus_topic_remove((horus_namespace_t){0}, "pairs"));
    EXPECT_OF("pairs", HORUS_E_NOT_PINNABLE,
              horus_subscriber_borrow(subscriber, &(horus_sample_t){0}));
    EXPECT_OF("pairs", HORUS_E_NOT_PINNABLE, horus_publisher_loan(publisher, &(void *){0}, NULL));
    EXPECT_OF("pairs", HORUS_E_LOAN, horus_publisher_publish(publisher, 16));
    EXPECT_OF("pairs", HORUS_E_LOAN, horus_publisher_discard(publisher));

    EXPECT(HORUS_OK, horus_publisher_close(publisher));
    EXPECT(HORUS_OK, horus_subscriber_close(subscriber));
    EXPECT(HORUS_OK, horus_subscriber_close(adopting));
    EXPECT(HORUS_OK, horus_topic_remove((horus_namespace_t){0}, "pairs"));
}

/* Each end waits until the other is there. */
static void waits_for_ends(void) {
    horus_qos_t qos = HORUS_QOS_INIT;
    qos.subscribers_max = 2;
    qos.publishers_max = 3;
    horus_topic_options_t options = pair_options(&qos);
    horus_publisher_t publisher;
    horus_subscriber_t subscriber, second;
    size_t found = 9;
    EXPECT(HORUS_OK, horus_publisher_open("met", &options, &publisher));
    EXPECT(HORUS_OK, horus_publisher_wait_for_subscribers(publisher, 0, -1, &found));
    CHECK(found == 0);
    EXPECT_OF("met", HORUS_TIMEOUT, horus_publisher_wait_for_subscribers(publisher, 1, 0, &found));
    CHECK(strstr(horus_last_error_message(), "found 0, wanted 1") && found == 0);
    EXPECT(HORUS_OK, horus_subscriber_open("met", NULL, &subscriber));
    EXPECT(HORUS_OK, horus_subscriber_open("met", NULL, &second));
    EXPECT(HORUS_OK, horus_publisher_wait_for_subscribers(publisher, 1, -1, &found));
    CHECK(found == 2);
    EXPECT(HORUS_OK, horus_publisher_wait_for_subscribers(publisher, 2, 0, NULL));
    EXPECT(HORUS_OK, horus_subscriber_wait_for_publishers(subscriber, 1, 0, &found));
    CHECK(found == 1);
    /* Longer than the interval in which a wait looks for a close of its handle. */
    EXPECT_OF("met", HORUS_TIMEOUT,
              horus_subscriber_wait_for_publishers(subscriber, 2, 60000000, &found));
    CHECK(strstr(horus_last_error_message(), "not enough publishers") && found == 1);
    CHECK(strstr(horus_last_error_message(), "found 1, wanted 2"));
    EXPECT_OF("met", HORUS_E_ARGUMENT,
              horus_publisher_wait_for_subscribers(publisher, 65, -1, &found));
    CHECK(strstr(horus_last_error_message(), "the topic has room for 64"));
    EXPECT_OF("met", HORUS_E_ARGUMENT,
              horus_subscriber_wait_for_publishers(subscriber, SIZE_MAX, -1, &found));
    CHECK(strstr(horus_last_error_message(), "the topic has room for 64"));
    EXPECT(HORUS_OK, horus_publisher_close(publisher));
    EXPECT(HORUS_TIMEOUT, horus_subscriber_wait_for_publishers(subscriber, 1, 0, NULL));
    EXPECT(HORUS_OK, horus_subscriber_close(subscriber));
    EXPECT(HORUS_OK, horus_subscriber_close(second));
}

/* What was overwritten is lost before the subscriber looks, for itself and for a tool. */
static void is_lost_at_once(void) {
    const horus_namespace_t here = {0};
    horus_qos_t qos = HORUS_QOS_INIT;
    qos.capacity = 16;
    horus_topic_options_t options = pair_options(&qos);
    horus_publisher_t publisher;
    horus_subscriber_t subscriber;
    EXPECT(HORUS_OK, horus_publisher_open("behind", &options, &publisher));
    EXPECT(HORUS_OK, horus_subscriber_open("behind", &options, &subscriber));
    pair_t pair = {0, 0};
    for (pair.first = 0; pair.first < 1000; pair.first++) {
        EXPECT(HORUS_OK, horus_publisher_send(publisher, &pair, sizeof pair));
    }
    horus_stats_t stats = HORUS_STATS_INIT;
    horus_reader_counters_t reader = HORUS_READER_COUNTERS_INIT;
    EXPECT(HORUS_OK, horus_subscriber_stats(subscriber, &stats));
    CHECK(stats.sent == 1000 && stats.lost == 986 && stats.waiting == 14);
    EXPECT(HORUS_OK, horus_topic_reader_counters(here, "behind", 0, &reader));
    CHECK(reader.lost == 986 && reader.waiting == 14 && reader.received == 0);

    EXPECT(HORUS_OK, horus_subscriber_latest(subscriber, &pair, sizeof pair, NULL));
    CHECK(pair.first == 999);
    EXPECT(HORUS_OK, horus_subscriber_stats(subscriber, &stats));
    CHECK(stats.lost == 986 && stats.skipped == 13 && stats.waiting == 0);
    EXPECT(HORUS_OK, horus_topic_reader_counters(here, "behind", 0, &reader));
    CHECK(reader.lost == 986 && reader.skipped == 13 && reader.waiting == 0);
    EXPECT(HORUS_OK, horus_publisher_close(publisher));
    EXPECT(HORUS_OK, horus_subscriber_close(subscriber));
}

/* A tool sees a topic's type, its participants, and the messages refused and lost. */
static void is_inspected(void) {
    const horus_namespace_t here = {0};
    horus_qos_t qos = HORUS_QOS_INIT;
    qos.preset = HORUS_QOS_RELIABLE;
    qos.capacity = 2;
    horus_topic_options_t options = pair_options(&qos);
    horus_publisher_t publisher;
    horus_subscriber_t subscriber;
    horus_topic_counters_t topic = HORUS_TOPIC_COUNTERS_INIT;
    EXPECT(HORUS_E_NOT_FOUND, horus_topic_inspect(here, "seen", &topic));
    EXPECT(HORUS_OK, horus_publisher_open("seen", &options, &publisher));
    EXPECT(HORUS_OK, horus_subscriber_open("seen", &options, &subscriber));
    pair_t pair = {1, 1};
    EXPECT(HORUS_OK, horus_publisher_send(publisher, &pair, sizeof pair));
    EXPECT(HORUS_OK, horus_publisher_send(publisher, &pair, sizeof pair));
    EXPECT(HORUS_FULL, horus_publisher_send(publisher, &pair, sizeof pair));
    EXPECT(HORUS_OK, horus_subscriber_recv(subscriber, &pair, sizeof pair, NULL));

    EXPECT(HORUS_OK, horus_topic_inspect(here, "seen", &topic));
    CHECK(topic.reliability == HORUS_RELIABLE && topic.message_bytes == sizeof pair);
    CHECK(topic.capacity == 2 && topic.lanes == 1 && topic.subscribers == 1);
    CHECK(strcmp(topic.message_type, "Pair") == 0 && topic.struct_bytes == sizeof topic);
    horus_lane_counters_t lane = HORUS_LANE_COUNTERS_INIT;
    EXPECT(HORUS_OK, horus_topic_lane_counters(here, "seen", 0, &lane));
    CHECK(lane.sent == 2 && lane.refused == 1 && lane.is_alive == 1 && lane.lane == 0);
    CHECK(lane.process_id == (uint32_t)getpid() && lane.process_name[0] != 0);
    EXPECT(HORUS_EMPTY, horus_topic_lane_counters(here, "seen", 1, &lane));
    horus_reader_counters_t reader = HORUS_READER_COUNTERS_INIT;
    EXPECT(HORUS_OK, horus_topic_reader_counters(here, "seen", 0, &reader));
    CHECK(reader.process_id == (uint32_t)getpid() && reader.received == 1);
    CHECK(reader.lost == 0 && reader.skipped == 0 && reader.borrowed == 0);
    CHECK(reader.waiting == 1);
    EXPECT(HORUS_EMPTY, horus_topic_reader_counters(here, "seen", 1, &reader));

    char text[1024];
    size_t bytes = 0;
    EXPECT(HORUS_OK, horus_topic_schema(here, "seen", text, sizeof text, &bytes));
    CHECK(strcmp(text, options.schema) == 0 && bytes == strlen(text));
    EXPECT(HORUS_TRUNCATED, horus_topic_schema(here, "seen", text, 6, &bytes));
    CHECK(strcmp(text, "horus") == 0 && bytes == strlen(options.schema));
    EXPECT(HORUS_TRUNCATED, horus_topics(here, NULL, 0, &bytes));
    CHECK(bytes > 0 && bytes < sizeof text);
    EXPECT(HORUS_TRUNCATED, horus_topics(here, text, bytes, NULL));
    EXPECT(HORUS_OK, horus_topics(here, text, bytes + 1, NULL));
    CHECK(strlen(text) == bytes && strstr(text, "seen\n"));
    EXPECT(HORUS_E_NULL, horus_topics(here, NULL, 1, &bytes));
    EXPECT(HORUS_E_NULL, horus_topic_inspect(here, "seen", NULL));
    topic.struct_bytes = 0;
    EXPECT(HORUS_E_ARGUMENT, horus_topic_inspect(here, "seen", &topic));

    EXPECT(HORUS_OK, horus_publisher_close(publisher));
    EXPECT(HORUS_OK, horus_topic_lane_counters(here, "seen", 0, &lane));
    CHECK(lane.is_alive == 0 && lane.process_id == 0 && lane.sent == 2);
    EXPECT(HORUS_OK, horus_subscriber_close(subscriber));
}

/* A full reliable topic refuses a send, and every setting is applied. */
static void is_reliable(void) {
    horus_qos_t qos = HORUS_QOS_INIT;
    qos.preset = HORUS_QOS_RELIABLE;
    qos.capacity = 2;
    qos.pinnable = HORUS_YES;
    qos.subscribers_max = 1;
    qos.publishers_max = 1;
    horus_topic_options_t options = pair_options(&qos);
    horus_publisher_t publisher;
    horus_subscriber_t subscriber, second;
    EXPECT(HORUS_OK, horus_publisher_open("reliable", &options, &publisher));
    EXPECT(HORUS_OK, horus_subscriber_open("reliable", &options, &subscriber));
    EXPECT_OF("reliable", HORUS_E_LIMIT, horus_subscriber_open("reliable", &options, &second));
    EXPECT(HORUS_E_LIMIT, horus_publisher_open("reliable", &options, &(horus_publisher_t){0}));
    pair_t pair = {1, 1};
    EXPECT(HORUS_OK, horus_publisher_send(publisher, &pair, sizeof pair));
    EXPECT(HORUS_OK, horus_publisher_send(publisher, &pair, sizeof pair));
    EXPECT(HORUS_FULL, horus_publisher_send(publisher, &pair, sizeof pair));
    EXPECT(HORUS_FULL, horus_publisher_send_timeout(publisher, &pair, sizeof pair, 1000));
    /* The text names the slowest subscriber: this process. */
    char process[64];
    snprintf(process, sizeof process, "process %ld ", (long)getpid());
    CHECK(strstr(horus_last_error_message(), "topic 'reliable'"));
    CHECK(strstr(horus_last_error_message(), process));
    EXPECT(HORUS_FULL, horus_publisher_loan(publisher, &(void *){0}, NULL));
    EXPECT(HORUS_OK, horus_subscriber_recv(subscriber, &pair, sizeof pair, NULL));
    EXPECT(HORUS_OK, horus_publisher_send(publisher, &pair, sizeof pair));
    EXPECT(HORUS_OK, horus_publisher_close(publisher));
    EXPECT(HORUS_OK, horus_subscriber_close(subscriber));
}

/* A subscriber that requests reliable receives only from publishers that offer it, and is told so
 * while there is none. Any other receives from all, and holds none back. */
static void matches(void) {
    horus_qos_t qos = HORUS_QOS_INIT;
    qos.preset = HORUS_QOS_RELIABLE;
    qos.capacity = 2;
    horus_topic_options_t careless = pair_options(NULL), careful = pair_options(&qos);
    horus_subscriber_t easy, demanding;
    horus_publisher_t best_effort, reliable;
    pair_t pair = {1, 1}, got;
    size_t bytes;
    EXPECT(HORUS_OK, horus_subscriber_open("matched", &careless, &easy));
    EXPECT(HORUS_OK, horus_subscriber_open("matched", &careful, &demanding));
    EXPECT(HORUS_EMPTY, horus_subscriber_recv(demanding, &got, sizeof got, NULL));
    EXPECT(HORUS_OK, horus_subscriber_check(demanding));

    EXPECT(HORUS_OK, horus_publisher_open("matched", &careless, &best_effort));
    EXPECT(HORUS_OK, horus_publisher_send(best_effort, &pair, sizeof pair));
    EXPECT_OF("matched", HORUS_E_QOS, horus_subscriber_recv(demanding, &got, sizeof got, &bytes));
    EXPECT_OF("matched", HORUS_E_QOS,
              horus_subscriber_recv_timeout(demanding, &got, sizeof got, -1, &bytes));
    EXPECT_OF("matched", HORUS_E_QOS, horus_subscriber_latest(demanding, &got, sizeof got, &bytes));
    EXPECT_OF("matched", HORUS_E_QOS, horus_subscriber_check(demanding));
    CHECK(strstr(horus_last_error_message(), "request best effort"));
    EXPECT(HORUS_OK, horus_subscriber_recv(easy, &got, sizeof got, NULL));

    EXPECT(HORUS_OK, horus_publisher_open("matched", &careful, &reliable));
    pair.first = 2;
    EXPECT(HORUS_OK, horus_publisher_send(reliable, &pair, sizeof pair));
    EXPECT(HORUS_OK, horus_subscriber_recv_timeout(demanding, &got, sizeof got, -1, &bytes));
    CHECK(got.first == 2 && bytes == sizeof got);
    EXPECT(HORUS_OK, horus_subscriber_check(demanding));
    EXPECT(HORUS_OK, horus_subscriber_recv(easy, &got, sizeof got, NULL));
    CHECK(got.first == 2);
    horus_stats_t stats = HORUS_STATS_INIT;
    EXPECT(HORUS_OK, horus_subscriber_stats(demanding, &stats));
    CHECK(stats.sent == 1 && stats.received == 1 && stats.waiting == 0);

    /* It holds back only the publisher that it matches. */
    for (int i = 0; i < 9; i++) {
        EXPECT(HORUS_OK, horus_publisher_send(best_effort, &pair, sizeof pair));
        EXPECT(i < 2 ? HORUS_OK : HORUS_FULL, horus_publisher_send(reliable, &pair, sizeof pair));
    }
    EXPECT(HORUS_OK, horus_subscriber_close(demanding));
    for (int i = 0; i < 9; i++) {
        EXPECT(HORUS_OK, horus_publisher_send(reliable, &pair, sizeof pair));
    }
    EXPECT(HORUS_OK, horus_publisher_close(best_effort));
    EXPECT(HORUS_OK, horus_publisher_close(reliable));
    EXPECT(HORUS_OK, horus_subscriber_close(easy));
}

/* Slots grow, and no message is cut unless the status says so. */
static void grows(void) {
    horus_topic_options_t options = bytes_options(0);
    horus_publisher_t publisher, limited;
    horus_subscriber_t subscriber;
    EXPECT(HORUS_OK, horus_subscriber_open("growing", &options, &subscriber));
    EXPECT(HORUS_OK, horus_publisher_open("growing", &options, &publisher));
    horus_topic_info_t info = HORUS_TOPIC_INFO_INIT;
    EXPECT(HORUS_OK, horus_subscriber_info(subscriber, &info));
    const size_t room = (size_t)info.max_message_bytes, longer = 2 * room, longest = 8 * room;
    unsigned char *sent = malloc(longest), *got = malloc(longest);
    for (size_t at = 0; at < longest; at++) {
        sent[at] = (unsigned char)(at * 31 % 251);
    }

    size_t bytes = 0;
    EXPECT(HORUS_OK, horus_publisher_send(publisher, sent, longer));
    EXPECT(HORUS_TRUNCATED, horus_subscriber_recv(subscriber, got, room, &bytes));
    CHECK(bytes == longer && memcmp(got, sent, room) == 0);
    EXPECT(HORUS_OK, horus_subscriber_info(subscriber, &info));
    CHECK(info.max_message_bytes >= longer);
    const size_t before = (size_t)info.max_message_bytes;
    CHECK(before < longest);
    EXPECT(HORUS_OK, horus_publisher_send(publisher, sent, longest));
    EXPECT(HORUS_TRUNCATED,
           horus_subscriber_recv_timeout(subscriber, got, before, 1000 * 1000, &bytes));
    CHECK(bytes == longest && memcmp(got, sent, before) == 0);
    EXPECT(HORUS_OK, horus_publisher_send(publisher, sent, longest));
    EXPECT(HORUS_OK, horus_subscriber_recv(subscriber, got, longest + 4096, &bytes));
    CHECK(bytes == longest && memcmp(got, sent, longest) == 0);
    EXPECT(HORUS_TIMEOUT, horus_subscriber_recv_timeout(subscriber, got, room, 1000, &bytes));
    EXPECT(HORUS_OK, horus_publisher_send(publisher, sent, room));
    EXPECT(HORUS_OK, horus_subscriber_latest(subscriber, got, longest, &bytes));
    CHECK(bytes == room && memcmp(got, sent, room) == 0);

    void *slot = NULL;
    EXPECT(HORUS_OK, horus_publisher_loan(publisher, &slot, &bytes));
    EXPECT_OF("growing", HORUS_E_LOAN, horus_publisher_reserve(publisher, 2 * longest));
    EXPECT_OF("growing", HORUS_E_MESSAGE, horus_publisher_publish(publisher, bytes + 1));
    CHECK(strstr(horus_last_error_message(), "reserve more"));
    EXPECT(HORUS_OK, horus_publisher_discard(publisher));
    EXPECT(HORUS_OK, horus_publisher_reserve(publisher, 2 * longest));
    EXPECT(HORUS_OK, horus_publisher_loan(publisher, &slot, &bytes));
    CHECK(bytes >= 2 * longest);
    memset(slot, 42, 2 * longest);
    EXPECT(HORUS_OK, horus_publisher_publish(publisher, 2 * longest));
    horus_sample_t sample;
    EXPECT(HORUS_OK, horus_subscriber_borrow(subscriber, &sample));
    CHECK(sample.bytes == 2 * longest && ((const unsigned char *)sample.data)[longest] == 42);
    EXPECT(HORUS_OK, horus_sample_release(sample.id));
    EXPECT_OF("growing", HORUS_E_MESSAGE, horus_publisher_reserve(publisher, (size_t)1 << 27));
    EXPECT_OF("growing", HORUS_E_MESSAGE, horus_publisher_reserve(publisher, SIZE_MAX));
    EXPECT(HORUS_E_HANDLE, horus_publisher_reserve((horus_publisher_t){0}, 1));

    /* A limit concerns the publisher that has it, and nobody else. */
    options.max_message_bytes = longer;
    EXPECT(HORUS_OK, horus_publisher_open("growing", &options, &limited));
    EXPECT(HORUS_OK, horus_publisher_send(limited, sent, longer));
    EXPECT_OF("growing", HORUS_E_MESSAGE, horus_publisher_send(limited, sent, longer + 1));
    EXPECT_OF("growing", HORUS_E_MESSAGE, horus_publisher_reserve(limited, longer + 1));
    EXPECT(HORUS_OK, horus_publisher_send(publisher, sent, longest));
    EXPECT(HORUS_OK, horus_publisher_close(limited));
    EXPECT(HORUS_OK, horus_publisher_close(publisher));
    EXPECT(HORUS_OK, horus_subscriber_close(subscriber));
    free(sent);
    free(got);
}

/* A mebibyte is written and read in place. */
static void lends_and_borrows(void) {
    const size_t megabyte = 1 << 20;
    horus_topic_options_t options = bytes_options(megabyte);
    /* Slots of more than a mebibyte are four by default. */
    horus_qos_t qos = HORUS_QOS_INIT;
    qos.capacity = 16;
    options.qos = &qos;
    horus_publisher_t publisher;
    horus_subscriber_t subscriber;
    EXPECT(HORUS_OK, horus_publisher_open("images", &options, &publisher));
    EXPECT(HORUS_OK, horus_subscriber_open("images", &options, &subscriber));
    horus_sample_t sample;
    EXPECT(HORUS_EMPTY, horus_subscriber_borrow(subscriber, &sample));
    EXPECT(HORUS_EMPTY, horus_subscriber_borrow_latest(subscriber, &sample));
    EXPECT_OF("images", HORUS_E_NULL, horus_subscriber_borrow(subscriber, NULL));

    void *slot = NULL;
    size_t room = 0;
    EXPECT_OF("images", HORUS_E_NULL, horus_publisher_loan(publisher, NULL, &room));
    EXPECT(HORUS_OK, horus_publisher_loan(publisher, &slot, &room));
    CHECK(room == megabyte && (uintptr_t)slot % 64 == 0);
    EXPECT_OF("images", HORUS_E_LOAN, horus_publisher_loan(publisher, &slot, &room));
    EXPECT_OF("images", HORUS_E_LOAN, horus_publisher_send(publisher, "abc", 3));
    EXPECT_OF("images", HORUS_E_LOAN, horus_publisher_send_timeout(publisher, "abc", 3, 0));
    EXPECT_OF("images", HORUS_E_MESSAGE, horus_publisher_publish(publisher, megabyte + 1));
    EXPECT(HORUS_OK, horus_publisher_discard(publisher));
    EXPECT(HORUS_EMPTY, horus_subscriber_borrow(subscriber, &sample));
    EXPECT(HORUS_OK, horus_publisher_loan(publisher, &slot, NULL));
    memset(slot, 42, megabyte);
    EXPECT(HORUS_OK, horus_publisher_publish(publisher, megabyte));
    EXPECT_OF("images", HORUS_E_LOAN, horus_publisher_publish(publisher, megabyte));

    EXPECT(HORUS_OK, horus_subscriber_borrow(subscriber, &sample));
    const unsigned char *data = sample.data;
    CHECK(sample.bytes == megabyte && sample.sequence == 1 && data[0] == 42);
    CHECK(data[megabyte - 1] == 42);
    EXPECT(HORUS_E_HANDLE, horus_sample_release(subscriber.id));
    /* The message outlives its subscriber. */
    EXPECT(HORUS_OK, horus_subscriber_close(subscriber));
    CHECK(data[7] == 42);
    EXPECT(HORUS_OK, horus_sample_release(sample.id));
    EXPECT(HORUS_E_HANDLE, horus_sample_release(sample.id));

    EXPECT(HORUS_OK, horus_subscriber_open("images", NULL, &subscriber));
    char text[4] = "";
    size_t bytes = 0;
    EXPECT(HORUS_OK, horus_publisher_send(publisher, "abcdef", 6));
    EXPECT(HORUS_TRUNCATED, horus_subscriber_recv(subscriber, text, 3, &bytes));
    CHECK(bytes == 6 && strcmp(text, "abc") == 0);
    EXPECT(HORUS_OK, horus_publisher_send(publisher, "xy", 2));
    EXPECT(HORUS_OK, horus_subscriber_recv_timeout(subscriber, text, 3, 0, &bytes));
    CHECK(bytes == 2 && strcmp(text, "xyc") == 0);
    EXPECT(HORUS_TIMEOUT, horus_subscriber_recv_timeout(subscriber, text, 3, 1000, &bytes));
    EXPECT(HORUS_OK, horus_publisher_send(publisher, NULL, 0));
    EXPECT(HORUS_OK, horus_subscriber_latest(subscriber, NULL, 0, &bytes));
    CHECK(bytes == 0);

    horus_sample_t held[8];
    for (int i = 0; i < 8; i++) {
        EXPECT(HORUS_OK, horus_publisher_send(publisher, &i, sizeof i));
        if (i < 7) {
            EXPECT(HORUS_OK, horus_subscriber_borrow(subscriber, &held[i]));
        }
    }
    EXPECT_OF("images", HORUS_E_LIMIT, horus_subscriber_borrow(subscriber, &held[7]));
    for (int i = 0; i < 7; i++) {
        CHECK(memcmp(held[i].data, &i, sizeof i) == 0);
        EXPECT(HORUS_OK, horus_sample_release(held[i].id));
    }
    EXPECT(HORUS_OK, horus_publisher_close(publisher));
    EXPECT(HORUS_OK, horus_subscriber_close(subscriber));
}

static void waits(void) {
    horus_topic_options_t options = pair_options(NULL);
    horus_publisher_t publisher;
    horus_subscriber_t subscriber;
    horus_wait_set_t set;
    uint64_t on_message = 0, on_tick = 0;
    horus_ready_t ready[4];
    size_t count = 9;
    EXPECT(HORUS_OK, horus_publisher_open("waited", &options, &publisher));
    EXPECT(HORUS_OK, horus_subscriber_open("waited", &options, &subscriber));
    EXPECT(HORUS_OK, horus_wait_set_open(&set));
    EXPECT(HORUS_E_NULL, horus_wait_set_open(NULL));
    EXPECT(HORUS_E_ARGUMENT, horus_wait_set_wait(set, -1, ready, 4, &count));
    EXPECT(HORUS_TIMEOUT, horus_wait_set_wait(set, 0, ready, 4, &count));
    CHECK(count == 0);
    EXPECT(HORUS_OK, horus_wait_set_add(set, subscriber, 0, &on_message));
    EXPECT(HORUS_E_HANDLE,
           horus_wait_set_add(set, (horus_subscriber_t){publisher.id}, 0, &on_message));
    EXPECT(HORUS_TIMEOUT, horus_wait_set_wait(set, 1000, ready, 4, &count));
    EXPECT(HORUS_E_ARGUMENT, horus_wait_set_wait(set, 0, ready, 0, &count));
    EXPECT(HORUS_E_NULL, horus_wait_set_wait(set, 0, NULL, 4, &count));
    EXPECT(HORUS_OK, horus_publisher_send(publisher, &(pair_t){1, 2}, sizeof(pair_t)));
    EXPECT(HORUS_OK, horus_wait_set_wait(set, -1, ready, 4, &count));
    CHECK(count == 1 && ready[0].key == on_message && ready[0].reason == HORUS_READY_MESSAGE);
    EXPECT(HORUS_E_ARGUMENT, horus_wait_set_add_interval(set, 0, &on_tick));
    EXPECT(HORUS_OK, horus_wait_set_add_interval(set, 1, &on_tick));
    CHECK(on_tick != 0 && on_tick != on_message);
    /* Two entries are ready, and there is room for one: the other comes next. */
    EXPECT(HORUS_OK, horus_wait_set_wait(set, -1, ready, 1, &count));
    CHECK(count == 1 && ready[0].key == on_message);
    EXPECT(HORUS_OK, horus_wait_set_wait(set, -1, ready, 1, &count));
    CHECK(count == 1 && ready[0].key == on_tick && ready[0].reason == HORUS_READY_TIMER);
    EXPECT(HORUS_OK, horus_wait_set_remove(set, on_tick));
    EXPECT(HORUS_E_ARGUMENT, horus_wait_set_remove(set, on_tick));
    EXPECT(HORUS_OK, horus_wait_set_remove(set, on_message));
    EXPECT(HORUS_OK, horus_wait_set_add(set, subscriber, 1, &on_message));
    EXPECT(HORUS_OK, horus_subscriber_recv(subscriber, &(pair_t){0, 0}, sizeof(pair_t), NULL));
    EXPECT(HORUS_OK, horus_wait_set_wait(set, -1, ready, 4, &count));
    CHECK(count == 1 && ready[0].reason == HORUS_READY_DEADLINE_MISSED && ready[0].silent_ns > 0);
    EXPECT(HORUS_OK, horus_subscriber_close(subscriber));
    EXPECT(HORUS_OK, horus_wait_set_wait(set, -1, ready, 4, &count));
    CHECK(count == 1 && ready[0].key == on_message && ready[0].reason == HORUS_READY_CLOSED);
    EXPECT(HORUS_OK, horus_wait_set_close(set));
    EXPECT(HORUS_E_HANDLE, horus_wait_set_close(set));
    EXPECT(HORUS_OK, horus_publisher_close(publisher));
}

/* An entry that had no room is returned by the next call, also when the set has become empty. */
static void closed_entries_are_left_over(void) {
    horus_topic_options_t options = pair_options(NULL);
    horus_subscriber_t first, second;
    horus_wait_set_t set;
    uint64_t keys[2];
    horus_ready_t ready;
    size_t count = 0;
    EXPECT(HORUS_OK, horus_subscriber_open("waited", &options, &first));
    EXPECT(HORUS_OK, horus_subscriber_open("waited", &options, &second));
    EXPECT(HORUS_OK, horus_wait_set_open(&set));
    EXPECT(HORUS_OK, horus_wait_set_add(set, first, 0, &keys[0]));
    EXPECT(HORUS_OK, horus_wait_set_add(set, second, 0, &keys[1]));
    EXPECT(HORUS_OK, horus_subscriber_close(first));
    EXPECT(HORUS_OK, horus_subscriber_close(second));
    for (int i = 0; i < 2; i++) {
        EXPECT(HORUS_OK, horus_wait_set_wait(set, -1, &ready, 1, &count));
        CHECK(count == 1 && ready.key == keys[i] && ready.reason == HORUS_READY_CLOSED);
    }
    EXPECT(HORUS_OK, horus_wait_set_close(set));
}

static void no_event_is_lost_by_a_wrong_struct(void) {
    horus_topic_options_t options = pair_options(NULL);
    horus_publisher_t publisher;
    horus_subscriber_t subscriber;
    horus_endpoint_events_t events;
    horus_endpoint_event_t event = {.struct_bytes = 3};
    EXPECT(HORUS_OK, horus_publisher_open("events", &options, &publisher));
    EXPECT(HORUS_OK, horus_publisher_subscriber_events(publisher, &events));
    EXPECT(HORUS_OK, horus_subscriber_open("events", &options, &subscriber));
    EXPECT(HORUS_E_ARGUMENT, horus_endpoint_events_wait(events, 10000000000, &event));
    event.struct_bytes = sizeof event;
    EXPECT(HORUS_OK, horus_endpoint_events_wait(events, 10000000000, &event));
    CHECK(event.kind == HORUS_ENDPOINT_SUBSCRIBER && event.change == HORUS_CHANGE_JOINED);
    EXPECT(HORUS_OK, horus_endpoint_events_close(events));
    EXPECT(HORUS_OK, horus_subscriber_close(subscriber));
    EXPECT(HORUS_OK, horus_publisher_close(publisher));
}

int main(void) {
    CHECK(horus_abi_version() == HORUS_ABI_VERSION);
    CHECK(strlen(horus_version_string()) > 0);
    CHECK(strcmp(horus_last_error_message(), "") == 0);
    CHECK(strcmp(horus_status_name(HORUS_E_NULL), "HORUS_E_NULL") == 0);
    CHECK(strcmp(horus_status_name(12345), "unknown") == 0);
    sends_and_receives();
    waits_for_ends();
    is_lost_at_once();
    is_inspected();
    is_reliable();
    matches();
    grows();
    lends_and_borrows();
    waits();
    closed_entries_are_left_over();
    no_event_is_lost_by_a_wrong_struct();
    return 0;
}
