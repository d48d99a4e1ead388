/* A cancelled thread: every call that makes system calls completes before the cancellation. */
#include "check.h"

#include <pthread.h>
#include <string.h>

static int32_t stop(void *user, horus_context_t *context) {
    (void)user;
    return horus_context_stop(context);
}

static void schedule(void) {
    horus_node_t node = HORUS_NODE_INIT;
    horus_report_t report = HORUS_REPORT_INIT;
    horus_metrics_t figures = HORUS_METRICS_INIT;
    horus_scheduler_t scheduler;
    node.tick = stop;
    EXPECT(HORUS_OK, horus_scheduler_open(NULL, &scheduler));
    EXPECT(HORUS_OK, horus_scheduler_add_node(scheduler, "stops", NULL, &node));
    EXPECT(HORUS_OK, horus_scheduler_start(scheduler));
    EXPECT(HORUS_OK, horus_scheduler_metrics(scheduler, "stops", &figures));
    EXPECT(HORUS_STOPPED, horus_scheduler_run_for(scheduler, 60000000000));
    EXPECT(HORUS_STOPPED, horus_scheduler_tick_once(scheduler));
    EXPECT(HORUS_OK, horus_scheduler_finish(scheduler));
    EXPECT(HORUS_OK, horus_scheduler_report(scheduler, &report));
    EXPECT(HORUS_OK, horus_scheduler_close(scheduler));
}

static void exchange(horus_namespace_t space) {
    horus_qos_t qos = HORUS_QOS_INIT;
    horus_topic_options_t options = pair_options(&qos);
    horus_topic_info_t info = HORUS_TOPIC_INFO_INIT;
    horus_stats_t stats = HORUS_STATS_INIT;
    horus_publisher_t publisher;
    horus_subscriber_t subscriber;
    horus_wait_set_t set;
    horus_ready_t ready[2];
    horus_sample_t sample;
    horus_status_t status;
    pair_t pair = {1, 2};
    void *slot;
    size_t count;
    uint64_t key;
    qos.preset = HORUS_QOS_RELIABLE;
    qos.capacity = 16;
    qos.pinnable = HORUS_YES;
    options.name_space = space;
    EXPECT(HORUS_OK, horus_publisher_open("pairs", &options, &publisher));
    EXPECT(HORUS_OK, horus_subscriber_open("pairs", &options, &subscriber));
    EXPECT(HORUS_TIMEOUT, horus_subscriber_recv_timeout(subscriber, &pair, sizeof pair, 1000, NULL));
    EXPECT(HORUS_OK, horus_publisher_wait_for_subscribers(publisher, 1, -1, &count));
    EXPECT(HORUS_TIMEOUT, horus_publisher_wait_for_subscribers(publisher, 2, 60000000, &count));
    EXPECT(HORUS_TIMEOUT, horus_subscriber_wait_for_publishers(subscriber, 2, 1000, &count));
    /* The first message of a publisher, the one that is refused, and a wait for a free slot. */
    do {
        status = horus_publisher_send(publisher, &pair, sizeof pair);
    } while (status == HORUS_OK);
    EXPECT(HORUS_FULL, status);
    EXPECT(HORUS_FULL, horus_publisher_send_timeout(publisher, &pair, sizeof pair, 60000000));
    EXPECT(HORUS_FULL, horus_publisher_loan(publisher, &slot, NULL));
    EXPECT(HORUS_OK, horus_publisher_info(publisher, &info));
    EXPECT(HORUS_OK, horus_subscriber_recv(subscriber, &pair, sizeof pair, NULL));
    EXPECT(HORUS_OK, horus_subscriber_borrow(subscriber, &sample));
    EXPECT(HORUS_OK, horus_subscriber_latest(subscriber, &pair, sizeof pair, NULL));
    EXPECT(HORUS_OK, horus_subscriber_stats(subscriber, &stats));
    EXPECT(HORUS_OK, horus_subscriber_info(subscriber, &info));
    EXPECT(HORUS_OK, horus_subscriber_check(subscriber));
    EXPECT(HORUS_OK, horus_wait_set_open(&set));
    EXPECT(HORUS_OK, horus_wait_set_add(set, subscriber, 1000, &key));
    EXPECT(HORUS_OK, horus_wait_set_wait(set, 1000000000, ready, 2, &count));
    EXPECT(HORUS_OK, horus_wait_set_remove(set, key));
    EXPECT(HORUS_OK, horus_wait_set_close(set));
    EXPECT(HORUS_E_BUSY, horus_topic_remove(space, "pairs"));
    EXPECT(HORUS_OK, horus_subscriber_close(subscriber));
    EXPECT(HORUS_OK, horus_publisher_close(publisher));
    /* The last reference to the topic: this closes its file. */
    EXPECT(HORUS_OK, horus_sample_release(sample.id));
    EXPECT(HORUS_E_NOT_FOUND, horus_subscriber_open("pairs", NULL, &subscriber));
}

/* Calls of a subscriber that gets nothing look for the publisher that sends another message. */
static void differ(horus_namespace_t space) {
    horus_topic_options_t numbers = pair_options(NULL), pairs = pair_options(NULL);
    horus_publisher_t publisher;
    horus_subscriber_t subscriber;
    horus_sample_t sample;
    pair_t pair = {1, 2};
    numbers.name_space = pairs.name_space = space;
    numbers.schema = "horus schema 1\nmessage Pair\nsize 16\nalign 8\n"
                     "field first f64 0 1\nfield second u64 8 1\n";
    EXPECT(HORUS_OK, horus_publisher_open("pairs", &numbers, &publisher));
    EXPECT(HORUS_OK, horus_subscriber_open("pairs", &pairs, &subscriber));
    EXPECT(HORUS_OK, horus_publisher_send(publisher, &pair, sizeof pair));
    EXPECT(HORUS_E_TYPE, horus_subscriber_recv(subscriber, &pair, sizeof pair, NULL));
    EXPECT(HORUS_E_TYPE, horus_subscriber_latest(subscriber, &pair, sizeof pair, NULL));
    EXPECT(HORUS_E_TYPE, horus_subscriber_borrow(subscriber, &sample));
    EXPECT(HORUS_E_TYPE, horus_subscriber_borrow_latest(subscriber, &sample));
    EXPECT(HORUS_E_TYPE, horus_subscriber_check(subscriber));
    EXPECT(HORUS_OK, horus_subscriber_close(subscriber));
    EXPECT(HORUS_OK, horus_publisher_close(publisher));
}

static void *live(void *unused) {
    horus_namespace_t space;
    size_t removed;
    /* From now on, the first cancellation point ends this thread. */
    CHECK(pthread_cancel(pthread_self()) == 0);
    EXPECT(HORUS_OK, horus_namespace_open(NULL, "cancelled", &space));
    exchange(space);
    differ(space);
    EXPECT(HORUS_OK, horus_namespace_sweep(space, &removed));
    EXPECT(HORUS_OK, horus_namespace_remove(space));
    schedule();
    CHECK(horus_scheduler_is_running((horus_scheduler_t){7}) == HORUS_E_HANDLE);
    for (;;) {
        pthread_testcancel();
    }
    return unused;
}

int main(void) {
    for (int round = 0; round < 3; round++) {
        pthread_t thread;
        void *outcome = NULL;
        CHECK(pthread_create(&thread, NULL, live, NULL) == 0);
        CHECK(pthread_join(thread, &outcome) == 0);
        CHECK(outcome == PTHREAD_CANCELED);
    }
    return 0;
}
