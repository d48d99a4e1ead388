/* Handles closed by one thread while another one uses them: error codes only. */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static horus_publisher_t publisher;
static horus_subscriber_t subscriber;
static horus_wait_set_t wait_set;
static uint64_t subject;
static atomic_int is_used;
/* True if two threads use the handle deliberately. */
static atomic_int is_shared;

/* The call that a thread repeats with the handle until it returns an error. */
typedef horus_status_t (*use_t)(void);

static horus_status_t sends(void) {
    return horus_publisher_send((horus_publisher_t){subject}, "abc", 3);
}

static horus_status_t lends(void) {
    void *slot;
    horus_publisher_t mine = {subject};
    horus_status_t status = horus_publisher_loan(mine, &slot, NULL);
    return status == HORUS_OK ? horus_publisher_publish(mine, 3) : status;
}

static horus_status_t receives(void) {
    char buffer[4096];
    return horus_subscriber_recv((horus_subscriber_t){subject}, buffer, sizeof buffer, NULL);
}

static horus_status_t receives_or_waits(void) {
    char buffer[4096];
    return horus_subscriber_recv_timeout((horus_subscriber_t){subject}, buffer, sizeof buffer, -1,
                                         NULL);
}

static horus_status_t borrows(void) {
    horus_sample_t sample;
    horus_status_t status = horus_subscriber_borrow((horus_subscriber_t){subject}, &sample);
    if (status == HORUS_OK) {
        CHECK(memcmp(sample.data, "abc", 3) == 0);
        EXPECT(HORUS_OK, horus_sample_release(sample.id));
    }
    return status;
}

static horus_status_t waits(void) {
    horus_ready_t ready[4];
    size_t count;
    return horus_wait_set_wait((horus_wait_set_t){subject}, -1, ready, 4, &count);
}

/* The topic never has so many. */
static horus_status_t waits_for_subscribers(void) {
    return horus_publisher_wait_for_subscribers((horus_publisher_t){subject}, 64, -1, NULL);
}

static horus_status_t waits_for_publishers(void) {
    return horus_subscriber_wait_for_publishers((horus_subscriber_t){subject}, 16, -1, NULL);
}

static void *use_until_closed(void *use) {
    /* C does not convert function pointers to void *, so this points to a function pointer. */
    const use_t *uses = use;
    for (;;) {
        atomic_store(&is_used, 1);
        horus_status_t status = (*uses)();
        if (status == HORUS_E_BUSY && atomic_load(&is_shared)) {
            /* The other thread had the handle. */
            continue;
        }
        if (status < 0) {
            CHECK(status == HORUS_E_HANDLE);
            return NULL;
        }
    }
}

static void *close_publisher(void *result) {
    *(horus_status_t *)result = horus_publisher_close(publisher);
    return NULL;
}

enum kind { PUBLISHER, SUBSCRIBER, WAIT_SET };

static void open_all(void) {
    horus_topic_options_t options = bytes_options(4096);
    uint64_t key;
    EXPECT(HORUS_OK, horus_publisher_open("raced", &options, &publisher));
    EXPECT(HORUS_OK, horus_subscriber_open("raced", &options, &subscriber));
    EXPECT(HORUS_OK, horus_wait_set_open(&wait_set));
    EXPECT(HORUS_OK, horus_wait_set_add_interval(wait_set, 1000000000, &key));
}

/* One thread uses a handle, another one closes it. */
static void race(enum kind kind, use_t use, int rounds) {
    for (int round = 0; round < rounds; round++) {
        open_all();
        subject = kind == PUBLISHER ? publisher.id : subscriber.id;
        subject = kind == WAIT_SET ? wait_set.id : subject;
        atomic_store(&is_used, 0);
        pthread_t user;
        CHECK(pthread_create(&user, NULL, use_until_closed, &use) == 0);
        while (!atomic_load(&is_used)) {
        }
        if (kind == SUBSCRIBER) {
            for (int i = 0; i < round % 8; i++) {
                EXPECT(HORUS_OK, horus_publisher_send(publisher, "abc", 3));
            }
        }
        horus_status_t closed[] = {
            horus_publisher_close(publisher),
            horus_subscriber_close(subscriber),
            horus_wait_set_close(wait_set),
        };
        CHECK(closed[0] == HORUS_OK && closed[1] == HORUS_OK && closed[2] == HORUS_OK);
        CHECK(pthread_join(user, NULL) == 0);
    }
}

/* If two threads close a handle, one succeeds. */
static void close_race(int rounds) {
    for (int round = 0; round < rounds; round++) {
        open_all();
        horus_status_t theirs, mine;
        pthread_t other;
        CHECK(pthread_create(&other, NULL, close_publisher, &theirs) == 0);
        close_publisher(&mine);
        CHECK(pthread_join(other, NULL) == 0);
        CHECK((mine == HORUS_OK) != (theirs == HORUS_OK));
        CHECK(mine == HORUS_E_HANDLE || theirs == HORUS_E_HANDLE);
        EXPECT(HORUS_OK, horus_subscriber_close(subscriber));
        EXPECT(HORUS_OK, horus_wait_set_close(wait_set));
    }
}

/* Checked builds detect a second thread in a call. */
static void share(void) {
    open_all();
    subject = subscriber.id;
    atomic_store(&is_used, 0);
    atomic_store(&is_shared, 1);
    pthread_t user;
    use_t use = receives_or_waits;
    CHECK(pthread_create(&user, NULL, use_until_closed, &use) == 0);
    while (horus_subscriber_check(subscriber) != HORUS_E_BUSY) {
    }
    EXPECT(HORUS_OK, horus_subscriber_close(subscriber));
    CHECK(pthread_join(user, NULL) == 0);
    EXPECT(HORUS_OK, horus_publisher_close(publisher));
    EXPECT(HORUS_OK, horus_wait_set_close(wait_set));
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 20;
    race(PUBLISHER, sends, rounds);
    race(PUBLISHER, lends, rounds);
    race(SUBSCRIBER, receives, rounds);
    race(SUBSCRIBER, borrows, rounds);
    race(SUBSCRIBER, receives_or_waits, rounds / 4);
    race(WAIT_SET, waits, rounds / 4);
    race(PUBLISHER, waits_for_subscribers, rounds / 4);
    race(SUBSCRIBER, waits_for_publishers, rounds / 4);
    close_race(rounds);
    if (argc > 2 && strcmp(argv[2], "checked") == 0) {
        share();
    }
    return 0;
}
