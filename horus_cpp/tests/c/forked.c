/* A forked child: inherited handles are errors, can be closed, and new ones work. */
#include "check.h"

#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static horus_subscriber_t waited;

/* Waits in a call with `waited` while the other thread forks. */
static void *wait_for_ever(void *unused) {
    pair_t pair;
    horus_status_t status;
    do {
        status = horus_subscriber_recv_timeout(waited, &pair, sizeof pair, -1, NULL);
    } while (status == HORUS_OK);
    CHECK(status == HORUS_E_HANDLE);
    return unused;
}

static int32_t tick(void *user, horus_context_t *context) {
    ++*(int *)user;
    (void)context;
    return 0;
}

static void wait_for(pid_t child) {
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Calls every function of the scheduler in a child. */
static void fork_with(horus_scheduler_t scheduler, const int *ticks) {
    int before = *ticks;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        horus_node_t node = HORUS_NODE_INIT;
        horus_metrics_t metrics = HORUS_METRICS_INIT;
        horus_report_t report = HORUS_REPORT_INIT;
        horus_scheduler_t own;
        node.tick = tick;
        EXPECT(HORUS_E_FORKED, horus_scheduler_is_running(scheduler));
        EXPECT(HORUS_E_FORKED, horus_scheduler_tick_once(scheduler));
        CHECK(*ticks == before);
        EXPECT(HORUS_E_FORKED, horus_scheduler_add_node(scheduler, "b", NULL, &node));
        EXPECT(HORUS_E_FORKED, horus_scheduler_start(scheduler));
        EXPECT(HORUS_E_FORKED, horus_scheduler_run_for(scheduler, 1));
        EXPECT(HORUS_E_FORKED, horus_scheduler_run(scheduler));
        EXPECT(HORUS_E_FORKED, horus_scheduler_finish(scheduler));
        EXPECT(HORUS_E_FORKED, horus_scheduler_report(scheduler, &report));
        EXPECT(HORUS_E_FORKED, horus_scheduler_stop(scheduler));
        EXPECT(HORUS_E_FORKED, horus_scheduler_pause(scheduler, "a"));
        EXPECT(HORUS_E_FORKED, horus_scheduler_resume(scheduler, "a"));
        EXPECT(HORUS_E_FORKED, horus_scheduler_stop_node(scheduler, "a"));
        EXPECT(HORUS_E_FORKED, horus_scheduler_set_rate(scheduler, "a", 10));
        EXPECT(HORUS_E_FORKED, horus_scheduler_metrics(scheduler, "a", &metrics));
        EXPECT(HORUS_OK, horus_scheduler_close(scheduler));
        EXPECT(HORUS_E_HANDLE, horus_scheduler_is_running(scheduler));
        EXPECT(HORUS_OK, horus_scheduler_open(NULL, &own));
        EXPECT(HORUS_OK, horus_scheduler_start(own));
        CHECK(horus_scheduler_is_running(own) == 1);
        EXPECT(HORUS_OK, horus_scheduler_finish(own));
        CHECK(horus_scheduler_is_running(own) == 0);
        EXPECT(HORUS_OK, horus_scheduler_close(own));
        _exit(0);
    }
    wait_for(child);
}

/* Must be the first calls of this program: the first one forks before the scheduler was used. */
static void schedulers(void) {
    int ticks = 0;
    horus_node_t node = HORUS_NODE_INIT;
    horus_scheduler_t scheduler;
    node.user = &ticks;
    node.tick = tick;
    EXPECT(HORUS_OK, horus_scheduler_open(NULL, &scheduler));
    fork_with(scheduler, &ticks);
    EXPECT(HORUS_OK, horus_scheduler_add_node(scheduler, "a", NULL, &node));
    EXPECT(HORUS_OK, horus_scheduler_start(scheduler));
    EXPECT(HORUS_OK, horus_scheduler_tick_once(scheduler));
    CHECK(ticks == 1);
    fork_with(scheduler, &ticks);
    CHECK(horus_scheduler_is_running(scheduler) == 1);
    EXPECT(HORUS_OK, horus_scheduler_tick_once(scheduler));
    CHECK(ticks == 2);
    EXPECT(HORUS_OK, horus_scheduler_finish(scheduler));
    EXPECT(HORUS_OK, horus_scheduler_close(scheduler));
}

int main(void) {
    schedulers();
    horus_qos_t qos = HORUS_QOS_INIT;
    qos.pinnable = HORUS_YES;
    horus_topic_options_t options = pair_options(&qos);
    horus_publisher_t publisher;
    horus_subscriber_t subscriber;
    horus_wait_set_t set;
    horus_sample_t sample;
    uint64_t key;
    horus_stats_t stats = HORUS_STATS_INIT;
    horus_topic_info_t info = HORUS_TOPIC_INFO_INIT;
    horus_publisher_t lender;
    void *slot;
    void *lent;
    pair_t pair = {1, 2};
    horus_ready_t ready;
    size_t count = 9;
    EXPECT(HORUS_OK, horus_publisher_open("forked", &options, &publisher));
    EXPECT(HORUS_OK, horus_subscriber_open("forked", &options, &subscriber));
    EXPECT(HORUS_OK, horus_subscriber_open("forked", &options, &waited));
    EXPECT(HORUS_OK, horus_wait_set_open(&set));
    EXPECT(HORUS_OK, horus_wait_set_add(set, subscriber, 0, &key));
    EXPECT(HORUS_OK, horus_publisher_send(publisher, &pair, sizeof pair));
    EXPECT(HORUS_OK, horus_subscriber_borrow(subscriber, &sample));
    EXPECT(HORUS_OK, horus_publisher_open("forked", &options, &lender));
    EXPECT(HORUS_OK, horus_publisher_loan(lender, &lent, NULL));
    memcpy(lent, &(pair_t){7, 8}, sizeof pair);
    pthread_t waiter;
    CHECK(pthread_create(&waiter, NULL, wait_for_ever, NULL) == 0);

    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        EXPECT_OF("forked", HORUS_E_FORKED, horus_publisher_send(publisher, &pair, sizeof pair));
        EXPECT_OF("forked", HORUS_E_FORKED,
                  horus_publisher_send_timeout(publisher, &pair, sizeof pair, -1));
        EXPECT_OF("forked", HORUS_E_FORKED, horus_publisher_loan(publisher, &slot, NULL));
        EXPECT_OF("forked", HORUS_E_FORKED,
                  horus_subscriber_recv(subscriber, &pair, sizeof pair, NULL));
        EXPECT_OF("forked", HORUS_E_FORKED,
                  horus_subscriber_recv_timeout(subscriber, &pair, sizeof pair, -1, NULL));
        EXPECT_OF("forked", HORUS_E_FORKED,
                  horus_subscriber_latest(subscriber, &pair, sizeof pair, NULL));
        EXPECT_OF("forked", HORUS_E_FORKED, horus_subscriber_borrow(subscriber, &sample));
        EXPECT_OF("forked", HORUS_E_FORKED, horus_subscriber_check(subscriber));
        EXPECT_OF("forked", HORUS_E_FORKED, horus_subscriber_stats(subscriber, &stats));
        EXPECT_OF("forked", HORUS_E_FORKED, horus_subscriber_info(subscriber, &info));
        EXPECT_OF("forked", HORUS_E_FORKED, horus_publisher_info(publisher, &info));
        EXPECT_OF("forked", HORUS_E_FORKED,
                  horus_publisher_wait_for_subscribers(publisher, 1, -1, NULL));
        EXPECT_OF("forked", HORUS_E_FORKED,
                  horus_subscriber_wait_for_publishers(subscriber, 9, -1, NULL));
        /* The child may write the lent slot; no process sees it. */
        memcpy(lent, &(pair_t){666, 666}, sizeof pair);
        EXPECT_OF("forked", HORUS_E_FORKED, horus_publisher_publish(lender, sizeof pair));
        EXPECT(HORUS_E_ARGUMENT, horus_wait_set_wait(set, -1, &ready, 0, &count));
        CHECK(count == 9);
        EXPECT(HORUS_E_FORKED, horus_wait_set_wait(set, -1, &ready, 1, &count));
        CHECK(count == 0);
        EXPECT(HORUS_OK, horus_sample_release(sample.id));
        EXPECT(HORUS_OK, horus_publisher_close(publisher));
        EXPECT(HORUS_OK, horus_subscriber_close(subscriber));
        /* The thread that is in a call with it does not exist in the child. */
        EXPECT(HORUS_OK, horus_subscriber_close(waited));
        EXPECT(HORUS_OK, horus_wait_set_close(set));
        EXPECT(HORUS_OK, horus_publisher_open("forked", &options, &publisher));
        pair.first = 99;
        EXPECT(HORUS_OK, horus_publisher_send(publisher, &pair, sizeof pair));
        EXPECT(HORUS_OK, horus_publisher_close(publisher));
        _exit(0);
    }
    wait_for(child);
    /* The parent is unaffected, except for the message. */
    CHECK(memcmp(sample.data, &(pair_t){1, 2}, sizeof(pair_t)) == 0);
    EXPECT(HORUS_OK, horus_sample_release(sample.id));
    EXPECT(HORUS_OK, horus_subscriber_recv(subscriber, &pair, sizeof pair, NULL));
    CHECK(pair.first == 99);
    EXPECT(HORUS_OK, horus_publisher_send(publisher, &pair, sizeof pair));
    EXPECT(HORUS_OK, horus_subscriber_recv(subscriber, &pair, sizeof pair, NULL));
    EXPECT(HORUS_OK, horus_publisher_publish(lender, sizeof pair));
    EXPECT(HORUS_OK, horus_subscriber_recv(subscriber, &pair, sizeof pair, NULL));
    CHECK(pair.first == 7 && pair.second == 8);
    EXPECT(HORUS_OK, horus_subscriber_close(waited));
    CHECK(pthread_join(waiter, NULL) == 0);
    return 0;
}
