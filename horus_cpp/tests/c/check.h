/* Code that the C programs of the tests share. */
#ifndef HORUS_TESTS_CHECK_H
#define HORUS_TESTS_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <horus/horus.h>

/* Ends the program unless a condition holds. */
#define CHECK(condition)                                                                          \
    do {                                                                                          \
        if (!(condition)) {                                                                       \
            fprintf(stderr, "%s:%d: %s; last error: %s\n", __FILE__, __LINE__, #condition,        \
                    horus_last_error_message());                                                  \
            exit(1);                                                                              \
        }                                                                                         \
    } while (0)

/* Ends the program unless a call returns a status. */
#define EXPECT(status, call)                                                                      \
    do {                                                                                          \
        horus_status_t found_ = (call);                                                           \
        if (found_ != (status)) {                                                                 \
            fprintf(stderr, "%s:%d: %s is %s, not %s; last error: %s\n", __FILE__, __LINE__,      \
                    #call, horus_status_name(found_), #status, horus_last_error_message());       \
            exit(1);                                                                              \
        }                                                                                         \
    } while (0)

/* Ends the program unless a call returns an error whose text names its topic, once. */
#define EXPECT_OF(topic, status, call)                                                            \
    do {                                                                                          \
        EXPECT(status, call);                                                                     \
        const char *named_ = strstr(horus_last_error_message(), "topic '" topic "'");             \
        CHECK(named_ != NULL && strstr(named_ + 1, "topic '" topic "'") == NULL);                 \
    } while (0)

/* The message of the tests. */
typedef struct pair {
    uint64_t first;
    uint64_t second;
} pair_t;

static const char *const PAIR_SCHEMA = "horus schema 1\nmessage Pair\nsize 16\nalign 8\n"
                                       "field first u64 0 1\nfield second u64 8 1\n";

static inline horus_topic_options_t pair_options(const horus_qos_t *qos) {
    horus_topic_options_t options = HORUS_TOPIC_OPTIONS_INIT;
    options.message_type = HORUS_TYPE_SCHEMA;
    options.schema = PAIR_SCHEMA;
    options.qos = qos;
    return options;
}

static inline horus_topic_options_t bytes_options(uint64_t max_message_bytes) {
    horus_topic_options_t options = HORUS_TOPIC_OPTIONS_INIT;
    options.message_type = HORUS_TYPE_BYTES;
    options.max_message_bytes = max_message_bytes;
    return options;
}

#endif
