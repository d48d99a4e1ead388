/*
 * Calls every function of the header, from a table that the test generates: with null, garbage,
 * stale and wrong handles, null pointers, handles closed by another thread, and at random.
 *
 * abuse [calls of each kind] [races] [random calls]
 */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* In the order of the test. */
enum { NAMESPACE, PUBLISHER, SUBSCRIBER, SAMPLE, WAIT_SET, ENDPOINT_EVENTS, SCHEDULER, KINDS };

/* The arguments of a call. */
typedef struct call {
    uint64_t ids[KINDS];
    int null_at; /* the parameter that is null, from 0 on; or -1 */
    int64_t timeout_ns;
} call_t;

typedef struct function {
    const char *name;
    horus_status_t (*call)(const call_t *with);
    unsigned kinds;    /* bits of the handles that it takes */
    unsigned pointers; /* bits of the parameters that must not be null */
    int zero_is_a_namespace;
} function_t;

static uint64_t next_random(void) {
    static _Thread_local uint64_t seed = 88172645463325252u;
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static int32_t nothing(void *user, horus_context_t *context) {
    (void)user;
    (void)context;
    return 0;
}

static _Alignas(8) char bytes[4096];
static const horus_topic_options_t given_topic_options = {
    .struct_bytes = sizeof(horus_topic_options_t),
    .message_type = HORUS_TYPE_BYTES,
    .max_message_bytes = 4096,
};
static const horus_node_t given_node = {.struct_bytes = sizeof(horus_node_t), .tick = nothing};
static const horus_node_options_t given_node_options = HORUS_NODE_OPTIONS_INIT;
static const horus_scheduler_options_t given_scheduler_options = HORUS_SCHEDULER_OPTIONS_INIT;

#include "every_call.h"

enum { FUNCTION_COUNT = sizeof FUNCTIONS / sizeof FUNCTIONS[0] };

/* Opens a handle of this kind, all in one namespace. */
static void open_one(int kind, uint64_t ids[KINDS]) {
    horus_namespace_t name_space;
    horus_publisher_t publisher;
    horus_subscriber_t subscriber;
    horus_sample_t sample;
    horus_wait_set_t wait_set;
    horus_endpoint_events_t events;
    horus_scheduler_t scheduler;
    switch (kind) {
    case NAMESPACE:
        EXPECT(HORUS_OK, horus_namespace_open(NULL, "apart", &name_space));
        ids[kind] = name_space.id;
        break;
    case PUBLISHER:
        EXPECT(HORUS_OK, horus_publisher_open("abused", &given_topic_options, &publisher));
        ids[kind] = publisher.id;
        break;
    case SUBSCRIBER:
        EXPECT(HORUS_OK, horus_subscriber_open("abused", &given_topic_options, &subscriber));
        ids[kind] = subscriber.id;
        break;
    case SAMPLE:
        /* A separate topic, independent of the state of the others. */
        EXPECT(HORUS_OK, horus_publisher_open("lent", &given_topic_options, &publisher));
        EXPECT(HORUS_OK, horus_subscriber_open("lent", &given_topic_options, &subscriber));
        EXPECT(HORUS_OK, horus_publisher_send(publisher, "abc", 3));
        EXPECT(HORUS_OK, horus_subscriber_borrow(subscriber, &sample));
        CHECK(memcmp(sample.data, "abc", 3) == 0);
        EXPECT(HORUS_OK, horus_publisher_close(publisher));
        EXPECT(HORUS_OK, horus_subscriber_close(subscriber));
        ids[kind] = sample.id;
        break;
    case WAIT_SET:
        EXPECT(HORUS_OK, horus_wait_set_open(&wait_set));
        ids[kind] = wait_set.id;
        break;
    case ENDPOINT_EVENTS:
        EXPECT(HORUS_OK, horus_publisher_open("abused", &given_topic_options, &publisher));
        EXPECT(HORUS_OK, horus_publisher_subscriber_events(publisher, &events));
        EXPECT(HORUS_OK, horus_publisher_close(publisher));
        ids[kind] = events.id;
        break;
    default:
        EXPECT(HORUS_OK, horus_scheduler_open(NULL, &scheduler));
        EXPECT(HORUS_OK, horus_scheduler_add_node(scheduler, "abused", NULL, &given_node));
        ids[kind] = scheduler.id;
    }
}

static horus_status_t close_one(int kind, uint64_t id) {
    switch (kind) {
    case NAMESPACE: return horus_namespace_close((horus_namespace_t){id});
    case PUBLISHER: return horus_publisher_close((horus_publisher_t){id});
    case SUBSCRIBER: return horus_subscriber_close((horus_subscriber_t){id});
    case SAMPLE: return horus_sample_release(id);
    case WAIT_SET: return horus_wait_set_close((horus_wait_set_t){id});
    case ENDPOINT_EVENTS: return horus_endpoint_events_close((horus_endpoint_events_t){id});
    default: return horus_scheduler_close((horus_scheduler_t){id});
    }
}

static int ends_in(const function_t *function, const char *end) {
    size_t all = strlen(function->name), part = strlen(end);
    return all >= part && strcmp(function->name + all - part, end) == 0;
}

/* Returns true if the function closes the handle, as the namespace's removal does. */
static int closes(const function_t *function) {
    return ends_in(function, "_close") || ends_in(function, "_release") ||
           strcmp(function->name, "horus_namespace_remove") == 0;
}

static call_t live, stale;

/* Returns a number that is not a handle of the kind; it may be one of another kind. */
static uint64_t wrong_handle(unsigned number, int kind) {
    const uint64_t random = next_random(), right = live.ids[kind];
    const int other = (kind + 1 + (int)(random % (KINDS - 1))) % KINDS;
    switch (number % 9) {
    case 0: return 0;
    case 1: return random;
    case 2: return stale.ids[kind];
    case 3: return stale.ids[other];
    case 4: return live.ids[other];
    case 5: return right + ((random % 255 + 1) << 32);                       /* a generation */
    case 6: return (right & ~(uint64_t)0xffffffff) | (random % 100000 + 64); /* an index */
    case 7: return (right & 0xffffffffffffffu) | (random % 240 + 16) << 56;  /* no kind */
    default: return (right & ~(uint64_t)0xffffff) | 0xfffffe;
    }
}

/* Ends the program unless a call returned the wanted status. */
static void expect(const function_t *function, horus_status_t wanted, horus_status_t found,
                   uint64_t id) {
    if (found != wanted) {
        fprintf(stderr, "%s with %#llx is %s, not %s: %s\n", function->name,
                (unsigned long long)id, horus_status_name(found), horus_status_name(wanted),
                horus_last_error_message());
        exit(1);
    }
}

/* Passes one wrong handle to every function, for each of its handles. Returns their number. */
static unsigned wrong_handles(unsigned calls) {
    unsigned handles = 0;
    for (int at = 0; at < FUNCTION_COUNT; at++) {
        const function_t *function = &FUNCTIONS[at];
        for (int kind = 0; kind < KINDS; kind++) {
            if ((function->kinds & 1u << kind) == 0) {
                continue;
            }
            for (unsigned i = 0; i < calls; i++) {
                call_t with = live;
                with.ids[kind] = wrong_handle(i, kind);
                if (with.ids[kind] == 0 && function->zero_is_a_namespace) {
                    continue;
                }
                expect(function, HORUS_E_HANDLE, function->call(&with), with.ids[kind]);
                CHECK(horus_last_error_message()[0] != 0);
            }
            handles++;
        }
    }
    return handles;
}

/* Passes null for every pointer that must not be null. Returns their number. */
static unsigned null_pointers(unsigned calls) {
    unsigned pointers = 0;
    for (int at = 0; at < FUNCTION_COUNT; at++) {
        const function_t *function = &FUNCTIONS[at];
        for (int pointer = 0; pointer < 32; pointer++) {
            if ((function->pointers & 1u << pointer) == 0) {
                continue;
            }
            /* This pointer is checked before the handle. */
            const int is_early = strcmp(function->name, "horus_scheduler_report") == 0;
            call_t with = live;
            with.null_at = pointer;
            for (unsigned i = 0; i < calls; i++) {
                expect(function, is_early ? HORUS_E_STATE : HORUS_E_NULL, function->call(&with), 0);
            }
            pointers++;
        }
    }
    return pointers;
}

/* Calls the functions that take neither. */
static void harmless(unsigned calls) {
    call_t with = live;
    for (int at = 0; at < FUNCTION_COUNT; at++) {
        if (FUNCTIONS[at].kinds == 0 && FUNCTIONS[at].pointers == 0) {
            for (unsigned i = 0; i < calls; i++) {
                expect(&FUNCTIONS[at], HORUS_OK, FUNCTIONS[at].call(&with), 0);
            }
        }
    }
}

static void closed_twice(unsigned calls) {
    for (int kind = 0; kind < KINDS; kind++) {
        uint64_t ids[KINDS] = {0};
        open_one(kind, ids);
        EXPECT(HORUS_OK, close_one(kind, ids[kind]));
        for (unsigned i = 0; i < calls; i++) {
            EXPECT(HORUS_E_HANDLE, close_one(kind, ids[kind]));
        }
    }
}

/* Passes wrong handles within structs. */
static void wrong_inside(unsigned calls) {
    for (unsigned i = 0; i < calls; i++) {
        horus_topic_options_t options = given_topic_options;
        horus_scheduler_options_t apart = given_scheduler_options;
        horus_node_options_t woken = given_node_options;
        horus_publisher_t publisher;
        horus_subscriber_t subscriber;
        horus_scheduler_t scheduler;
        /* Not 0, which is the namespace of the environment. */
        options.name_space.id = wrong_handle(i % 8 + 1, NAMESPACE);
        apart.name_space = options.name_space;
        EXPECT(HORUS_E_HANDLE, horus_publisher_open("abused", &options, &publisher));
        EXPECT(HORUS_E_HANDLE, horus_subscriber_open("abused", &options, &subscriber));
        EXPECT(HORUS_E_HANDLE, horus_scheduler_open(&apart, &scheduler));
        const horus_subscriber_t wake = {wrong_handle(i, SUBSCRIBER)};
        woken.wake = &wake;
        woken.wake_count = 1;
        EXPECT(HORUS_E_HANDLE,
               horus_scheduler_add_node((horus_scheduler_t){live.ids[SCHEDULER]}, "woken", &woken,
                                        &given_node));
    }
}

/* Passes structs of random bytes: each is accepted or an error. */
static void any_struct(unsigned calls) {
    for (unsigned i = 0; i < calls; i++) {
        horus_qos_t qos;
        for (size_t at = 0; at < sizeof qos; at += 4) {
            /* Small numbers, as otherwise no topic would ever be opened. */
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
}

/* One function with one set of handles, on a thread of its own. */
typedef struct user {
    const function_t *function;
    call_t with;
    atomic_int is_used;
} user_t;

static void *use_until_closed(void *given) {
    user_t *user = given;
    for (;;) {
        atomic_store(&user->is_used, 1);
        horus_status_t status = user->function->call(&user->with);
        CHECK(status != HORUS_E_PANIC);
        if (status == HORUS_E_HANDLE) {
            return NULL;
        }
    }
}

/* Calls every function while another thread closes its handle. */
static void races(unsigned rounds) {
    for (int at = 0; at < FUNCTION_COUNT; at++) {
        for (unsigned race = 0; race < rounds * KINDS; race++) {
            const int kind = (int)(race % KINDS);
            user_t user = {.function = &FUNCTIONS[at], .with = {.null_at = -1, .timeout_ns = -1}};
            if ((user.function->kinds & 1u << kind) == 0) {
                continue;
            }
            for (int each = 0; each < KINDS; each++) {
                open_one(each, user.with.ids);
            }
            pthread_t thread;
            CHECK(pthread_create(&thread, NULL, use_until_closed, &user) == 0);
            while (!atomic_load(&user.is_used)) {
            }
            for (unsigned pause = 0; pause < race / KINDS * 50; pause++) {
                (void)horus_abi_version();
            }
            horus_status_t status = close_one(kind, user.with.ids[kind]);
            if (status != HORUS_OK) {
                CHECK(status == HORUS_E_HANDLE && closes(user.function));
            }
            CHECK(pthread_join(thread, NULL) == 0);
            for (int each = 0; each < KINDS; each++) {
                status = close_one(each, user.with.ids[each]);
                CHECK(status == HORUS_OK || (each == kind && status == HORUS_E_HANDLE));
            }
        }
    }
}

/* Calls functions at random, with mostly right handles. */
static unsigned random_calls(unsigned calls) {
    unsigned done = 0;
    call_t with = live;
    for (unsigned i = 0; i < calls; i++) {
        const function_t *function = &FUNCTIONS[next_random() % FUNCTION_COUNT];
        /* This call would not return by itself. */
        if (strcmp(function->name, "horus_scheduler_run") == 0) {
            continue;
        }
        call_t wrong = with;
        wrong.timeout_ns = (int64_t)(next_random() % 1000);
        if (next_random() % 4 == 0) {
            const int kind = (int)(next_random() % KINDS);
            wrong.ids[kind] = wrong_handle((unsigned)next_random(), kind);
        }
        if (next_random() % 16 == 0) {
            wrong.null_at = (int)(next_random() % 5);
        }
        const horus_status_t status = function->call(&wrong);
        CHECK(status != HORUS_E_PANIC);
        done += status >= 0;
        for (int kind = 0; kind < KINDS; kind++) {
            if (closes(function) && (function->kinds & 1u << kind) != 0 &&
                wrong.ids[kind] == with.ids[kind]) {
                /* Also if the namespace was removed already. */
                open_one(kind, with.ids);
            }
        }
    }
    live = with;
    return done;
}

int main(int argc, char **argv) {
    const unsigned calls = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 10000;
    const unsigned rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 10;
    const unsigned random = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 10000;
    /* Stale ones first, so that entries of the handle table are reused. */
    live.null_at = -1;
    for (int kind = 0; kind < KINDS; kind++) {
        open_one(kind, live.ids);
        EXPECT(HORUS_OK, close_one(kind, live.ids[kind]));
    }
    stale = live;
    for (int kind = 0; kind < KINDS; kind++) {
        open_one(kind, live.ids);
        CHECK(live.ids[kind] != stale.ids[kind]);
    }
    live.timeout_ns = -1;
    const unsigned handles = wrong_handles(calls);
    live.timeout_ns = 0;
    const unsigned pointers = null_pointers(calls);
    harmless(calls);
    closed_twice(calls);
    wrong_inside(calls);
    any_struct(calls);
    races(rounds);
    const unsigned done = random_calls(random);
    for (int kind = 0; kind < KINDS; kind++) {
        EXPECT(HORUS_OK, close_one(kind, live.ids[kind]));
    }
    printf("%d functions, %u handles, %u pointers, %u calls each; %u races each, %u random calls, "
           "%u of them done\n",
           FUNCTION_COUNT, handles, pointers, calls, rounds, random, done);
    return 0;
}
