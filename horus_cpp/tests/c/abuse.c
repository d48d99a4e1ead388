/* Null, garbage, stale, wrong and doubly closed handles: errors, in every function. */
#include "check.h"

#include <string.h>

enum { CALLS = 10000, STALE = 5 };

static uint64_t seed = 88172645463325252u;

static uint64_t next_random(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static horus_namespace_t name_space;
static horus_publisher_t publisher;
static horus_subscriber_t subscriber;
static horus_sample_t sample;
static horus_wait_set_t wait_set;
static uint64_t stale[STALE];

/* A number that is no handle of the kind of `live`; it may be that of another kind. */
static uint64_t wrong_handle(unsigned call, uint64_t live) {
    const uint64_t handles[] = {name_space.id, publisher.id, subscriber.id, sample.id, wait_set.id};
    uint64_t random = next_random();
    switch (call % 8) {
    case 0: return 0;
    case 1: return random;
    case 2: return stale[random % STALE];
    case 3: return handles[random % 5] == live ? 1 : handles[random % 5];
    case 4: return live + ((random % 255 + 1) << 32);          /* another generation */
    case 5: return (live & ~(uint64_t)0xffffffff) | (random % 100000 + 8); /* another index */
    case 6: return (live & 0xffffffffffffffu) | (random % 250 + 6) << 56; /* no kind at all */
    default: return (live & ~(uint64_t)0xffffff) | 0xfffffe;
    }
}

/* Calls a function CALLS times, each time with a wrong `id`. */
#define ABUSE(live, call)                                                                         \
    do {                                                                                          \
        for (unsigned i = 0; i < CALLS; i++) {                                                    \
            uint64_t id = wrong_handle(i, live);                                                  \
            EXPECT(HORUS_E_HANDLE, call);                                                         \
            CHECK(horus_last_error_message()[0] != 0);                                            \
        }                                                                                         \
        functions++;                                                                              \
    } while (0)

/* The same where 0 is the namespace of the environment. */
#define ABUSE_NAMESPACE(live, call)                                                               \
    do {                                                                                          \
        for (unsigned i = 0; i < CALLS; i++) {                                                    \
            uint64_t id = wrong_handle(i, live);                                                  \
            EXPECT(HORUS_E_HANDLE, id == 0 ? HORUS_E_HANDLE : (call));                            \
        }                                                                                         \
        functions++;                                                                              \
    } while (0)

static horus_status_t open_in(uint64_t id, int publishes) {
    horus_topic_options_t options = bytes_options(4096);
    horus_publisher_t opened;
    horus_subscriber_t other;
    options.name_space.id = id;
    return publishes ? horus_publisher_open("abused", &options, &opened)
                     : horus_subscriber_open("abused", &options, &other);
}

int main(void) {
    horus_topic_options_t options = bytes_options(4096);
    /* Stale ones first, so that entries are used again. */
    for (int round = 0; round < 3; round++) {
        EXPECT(HORUS_OK, horus_namespace_open(NULL, NULL, &name_space));
        EXPECT(HORUS_OK, horus_publisher_open("abused", &options, &publisher));
        EXPECT(HORUS_OK, horus_subscriber_open("abused", &options, &subscriber));
        EXPECT(HORUS_OK, horus_wait_set_open(&wait_set));
        EXPECT(HORUS_OK, horus_publisher_send(publisher, "abc", 3));
        EXPECT(HORUS_OK, horus_subscriber_borrow(subscriber, &sample));
        if (round == 2) {
            break;
        }
        EXPECT(HORUS_OK, horus_namespace_close(name_space));
        EXPECT(HORUS_OK, horus_publisher_close(publisher));
        EXPECT(HORUS_OK, horus_subscriber_close(subscriber));
        EXPECT(HORUS_OK, horus_wait_set_close(wait_set));
        EXPECT(HORUS_OK, horus_sample_release(sample.id));
        const uint64_t closed[STALE] = {name_space.id, publisher.id, subscriber.id, wait_set.id,
                                        sample.id};
        memcpy(stale, closed, sizeof stale);
    }

    unsigned functions = 0;
    char buffer[4096];
    size_t bytes;
    void *slot;
    uint64_t key;
    horus_sample_t other;
    horus_stats_t stats = HORUS_STATS_INIT;
    horus_topic_info_t info = HORUS_TOPIC_INFO_INIT;
    horus_ready_t ready;
#define NAMESPACE ((horus_namespace_t){id})
#define PUBLISHER ((horus_publisher_t){id})
#define SUBSCRIBER ((horus_subscriber_t){id})
#define WAIT_SET ((horus_wait_set_t){id})
    ABUSE(name_space.id, horus_namespace_close(NAMESPACE));
    ABUSE(name_space.id, horus_namespace_remove(NAMESPACE));
    ABUSE_NAMESPACE(name_space.id, horus_namespace_sweep(NAMESPACE, &bytes));
    ABUSE_NAMESPACE(name_space.id, horus_topic_remove(NAMESPACE, "other"));
    ABUSE_NAMESPACE(name_space.id, open_in(id, 1));
    ABUSE_NAMESPACE(name_space.id, open_in(id, 0));
    ABUSE(publisher.id, horus_publisher_close(PUBLISHER));
    ABUSE(publisher.id, horus_publisher_send(PUBLISHER, buffer, 3));
    ABUSE(publisher.id, horus_publisher_send_timeout(PUBLISHER, buffer, 3, -1));
    ABUSE(publisher.id, horus_publisher_loan(PUBLISHER, &slot, &bytes));
    ABUSE(publisher.id, horus_publisher_publish(PUBLISHER, 3));
    ABUSE(publisher.id, horus_publisher_discard(PUBLISHER));
    ABUSE(publisher.id, horus_publisher_info(PUBLISHER, &info));
    ABUSE(subscriber.id, horus_subscriber_close(SUBSCRIBER));
    ABUSE(subscriber.id, horus_subscriber_recv(SUBSCRIBER, buffer, sizeof buffer, &bytes));
    ABUSE(subscriber.id,
          horus_subscriber_recv_timeout(SUBSCRIBER, buffer, sizeof buffer, -1, &bytes));
    ABUSE(subscriber.id, horus_subscriber_latest(SUBSCRIBER, buffer, sizeof buffer, &bytes));
    ABUSE(subscriber.id, horus_subscriber_borrow(SUBSCRIBER, &other));
    ABUSE(subscriber.id, horus_subscriber_borrow_latest(SUBSCRIBER, &other));
    ABUSE(subscriber.id, horus_subscriber_check(SUBSCRIBER));
    ABUSE(subscriber.id, horus_subscriber_set_spin(SUBSCRIBER, 0));
    ABUSE(subscriber.id, horus_subscriber_stats(SUBSCRIBER, &stats));
    ABUSE(subscriber.id, horus_subscriber_info(SUBSCRIBER, &info));
    ABUSE(sample.id, horus_sample_release(id));
    ABUSE(wait_set.id, horus_wait_set_close(WAIT_SET));
    ABUSE(wait_set.id, horus_wait_set_add(WAIT_SET, subscriber, 0, &key));
    ABUSE(subscriber.id, horus_wait_set_add(wait_set, SUBSCRIBER, 0, &key));
    ABUSE(wait_set.id, horus_wait_set_add_interval(WAIT_SET, 1, &key));
    ABUSE(wait_set.id, horus_wait_set_remove(WAIT_SET, 1));
    ABUSE(wait_set.id, horus_wait_set_wait(WAIT_SET, -1, &ready, 1, &bytes));

    /* The right ones are as they were, and none of them can be closed twice. */
    CHECK(memcmp(sample.data, "abc", 3) == 0);
    EXPECT(HORUS_OK, horus_sample_release(sample.id));
    EXPECT(HORUS_OK, horus_publisher_send(publisher, "xyz", 3));
    EXPECT(HORUS_OK, horus_subscriber_recv(subscriber, buffer, sizeof buffer, &bytes));
    CHECK(bytes == 3 && memcmp(buffer, "xyz", 3) == 0);
    EXPECT(HORUS_OK, horus_wait_set_close(wait_set));
    EXPECT(HORUS_OK, horus_publisher_close(publisher));
    EXPECT(HORUS_OK, horus_subscriber_close(subscriber));
    EXPECT(HORUS_OK, horus_namespace_close(name_space));
    for (unsigned i = 0; i < CALLS; i++) {
        EXPECT(HORUS_E_HANDLE, horus_sample_release(sample.id));
        EXPECT(HORUS_E_HANDLE, horus_wait_set_close(wait_set));
        EXPECT(HORUS_E_HANDLE, horus_publisher_close(publisher));
        EXPECT(HORUS_E_HANDLE, horus_subscriber_close(subscriber));
        EXPECT(HORUS_E_HANDLE, horus_namespace_close(name_space));
        EXPECT(HORUS_E_HANDLE, horus_namespace_remove(name_space));
    }
    /* Any bytes are a struct, or an error. */
    for (unsigned i = 0; i < CALLS; i++) {
        horus_qos_t qos;
        for (size_t at = 0; at < sizeof qos; at += 4) {
            /* Small numbers, or no topic would ever be opened. */
            uint32_t word = next_random() % 4 == 0 ? (uint32_t)(next_random() % 70) : 0;
            memcpy((char *)&qos + at, &word, sizeof word);
        }
        qos.struct_bytes = next_random() % 8 == 0 ? (uint32_t)(next_random() % 99) : sizeof qos;
        horus_topic_options_t any = pair_options(&qos);
        any.message_type = (int32_t)(next_random() % 4);
        horus_publisher_t opened;
        if (horus_publisher_open("any", &any, &opened) == HORUS_OK) {
            EXPECT(HORUS_OK, horus_publisher_close(opened));
        }
    }
    printf("%u functions, %d calls each\n", functions, CALLS);
    return 0;
}
