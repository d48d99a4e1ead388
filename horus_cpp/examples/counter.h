/* The message of the talker and the listener, and what else they share. */
#ifndef HORUS_EXAMPLES_COUNTER_H
#define HORUS_EXAMPLES_COUNTER_H

#include <horus/horus.h>

#include <stdio.h>
#include <stdlib.h>

/* The same message in C, C++, Rust and Python: the schema text says what it is. */
typedef struct counter {
    uint64_t timestamp_ns;
    uint64_t count;
} counter_t;

static const char *const COUNTER_SCHEMA = "horus schema 1\nmessage Counter\nsize 16\nalign 8\n"
                                          "field timestamp_ns u64 0 1\nfield count u64 8 1\n";

/* Late joiners get the last one. */
static const horus_qos_t COUNTER_QOS = {
    .struct_bytes = (uint32_t)sizeof(horus_qos_t),
    .preset = HORUS_QOS_LATCHED,
};

static inline horus_topic_options_t counter_options(void) {
    horus_topic_options_t options = HORUS_TOPIC_OPTIONS_INIT;
    options.message_type = HORUS_TYPE_SCHEMA;
    options.schema = COUNTER_SCHEMA;
    options.qos = &COUNTER_QOS;
    return options;
}

/* How many messages the argument asks for; without one, it never ends. Exits if it is no number. */
static inline uint64_t messages_of(int argc, char **argv) {
    if (argc == 1) {
        return UINT64_MAX;
    }
    const char *argument = argv[1];
    char *end;
    const uint64_t messages = strtoull(argument, &end, 10);
    if (argc > 2 || *argument < '0' || *argument > '9' || *end != 0) {
        fprintf(stderr, "usage: %s [messages]\n", argv[0]);
        exit(2);
    }
    return messages;
}

/* Says why, and what `main` returns. */
static inline int failed(const char *what) {
    fprintf(stderr, "%s: %s\n", what, horus_last_error_message());
    return 1;
}

#endif
