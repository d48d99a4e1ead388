/*
 * horus: topics in shared memory for robots. The C ABI; C11, usable from C++.
 *
 * CONVENTIONS, which hold for every function unless it says otherwise.
 *
 * Result    A horus_status_t: HORUS_OK, a positive outcome that is no error, or a negative
 *           HORUS_E_* error. horus_last_error_message() says more about the last error of the
 *           calling thread. Numbers are never used again for something else.
 * Outputs   come last and are written only with HORUS_OK (and HORUS_TRUNCATED). They may have any
 *           alignment. A null one is HORUS_E_NULL, but where "may be null" is said.
 * Handles   are numbers with a type, a generation and an index. A zero, stale, forged or wrong
 *           one is HORUS_E_HANDLE, also in optimised builds; never undefined behaviour. Whoever
 *           opens a handle closes it. What is still open at the end of the process is closed by
 *           the kernel.
 * Threads   Any thread may call. Two threads must not be in calls with the same handle at the
 *           same time (open one for each thread); that is undefined, and HORUS_E_BUSY in builds
 *           with the feature `checked` and in debug builds. One exception: a handle may be closed
 *           at any time. Calls that use it are waited for, calls that block give up within 50 ms,
 *           and later ones get HORUS_E_HANDLE.
 * Blocking  None blocks but those whose name ends in _timeout or _wait, and the _close ones as
 *           said above. Those that open or close something make system calls, 10 to 500 us; the
 *           others make none, and allocate nothing, after the first message.
 * Strings   are UTF-8 that ends in a 0, read during the call and not kept: names up to 4096
 *           bytes, schema texts up to 64 KiB.
 * Structs   with a member `struct_bytes` grow at their end: set it to the size of the struct (the
 *           HORUS_*_INIT macros do). Zeros in all other members say nothing in particular.
 * Times     are nanoseconds. A negative timeout never ends.
 * fork      A handle that a child inherits is HORUS_E_FORKED there; it can be closed, without
 *           effect on the parent.
 * Cancels   pthread_cancel of a thread waits until the thread is out of the library's calls, also
 *           out of those that wait: no call is a cancellation point.
 * Panics    No call unwinds or aborts. A defect of the library is HORUS_E_PANIC.
 */
#ifndef HORUS_HORUS_H
#define HORUS_HORUS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Version ------------------------------------------------------------------------------ */

/* Grows when a program that was compiled with an older header must be compiled again. */
#define HORUS_ABI_VERSION 0

/* The HORUS_ABI_VERSION of the library that runs. Costs a call. */
uint32_t horus_abi_version(void);

/* The version of the library that runs, as "0.1.0". Lives as long as the library. */
const char *horus_version_string(void);

/* ---- Status ------------------------------------------------------------------------------- */

typedef int32_t horus_status_t;

enum {
    HORUS_OK = 0,        /* done */
    HORUS_EMPTY = 1,     /* there is no message right now */
    HORUS_FULL = 2,      /* a reliable subscriber is a whole lane behind: try again */
    HORUS_TIMEOUT = 3,   /* the time was over */
    HORUS_TRUNCATED = 4, /* the message was longer than the buffer, and was cut */
    HORUS_STOPPED = 5,   /* the scheduler is to stop, or has stopped */

    HORUS_E_PANIC = -1,         /* a defect of this library: please report the text */
    HORUS_E_HANDLE = -2,        /* no handle, one of another kind, or a closed one */
    HORUS_E_NULL = -3,          /* a pointer is null */
    HORUS_E_ARGUMENT = -4,      /* an argument is out of its range */
    HORUS_E_BUSY = -5,          /* what is to be used, closed or removed is in use */
    HORUS_E_LIMIT = -6,         /* too many handles, ends, entries or borrowed messages */
    HORUS_E_NAME = -7,          /* no name of a topic or namespace */
    HORUS_E_NOT_FOUND = -8,     /* nobody created the topic yet: try again, or say its type */
    HORUS_E_TYPE = -9,          /* the topic carries another message: the text says where */
    HORUS_E_QOS = -10,          /* the topic has another setting: the text says which */
    HORUS_E_SCHEMA = -11,       /* the text is no schema: the text of the error says where */
    HORUS_E_MESSAGE = -12,      /* messages of the topic have another length */
    HORUS_E_FORKED = -13,       /* the handle belongs to the parent process: open a new one */
    HORUS_E_REGION_LOST = -14,  /* the topic's memory is lost: close all ends, open again */
    HORUS_E_NOT_PINNABLE = -15, /* messages of the topic are copied: use send and recv */
    HORUS_E_LOAN = -16,         /* a slot is on loan and must not be, or the other way round */
    HORUS_E_NO_SPACE = -17,     /* the memory file system is full */
    HORUS_E_SYSTEM = -18,       /* the system refused */
    HORUS_E_DAMAGED = -19,      /* a file is none of ours, damaged, or of another version */
    HORUS_E_NODE = -20,         /* the node cannot run so, or none has that name: the text says */
    HORUS_E_STATE = -21,        /* the scheduler runs already, does not yet, or is over */
    HORUS_E_NO_MEMORY = -22,    /* no memory to map a publisher's messages: tried again by itself */
    HORUS_E_FAILED = -23        /* a node failed and ended the run: the text says which, and why */
};

/* The name of a status, as "HORUS_E_NULL"; "unknown" of any other number. Lives for ever. */
const char *horus_status_name(horus_status_t status);

/*
 * What the last call of this thread that returned an error has to say: what was found, what was
 * wanted, what to do. A failed call on a publisher or a subscriber names its topic. Never null; ""
 * before the first error; at most 1023 bytes. It lives as long as the thread, and the next error of
 * the thread overwrites it: copy it to keep it.
 */
const char *horus_last_error_message(void);

/* ---- Namespaces --------------------------------------------------------------------------- */

/* Topics that can see each other. {0} is that of the environment, and needs not be opened. */
typedef struct horus_namespace {
    uint64_t id;
} horus_namespace_t;

/*
 * Opens, and makes where it is missing, the namespace `name` in `directory`. Either may be null:
 * then the environment says it (HORUS_NAMESPACE, HORUS_SHM_DIR), as for Rust and Python programs.
 *
 * Errors: HORUS_E_NAME, HORUS_E_SYSTEM, HORUS_E_LIMIT.
 */
horus_status_t horus_namespace_open(const char *directory, const char *name,
                                    horus_namespace_t *out);

/* Closes the handle. Ends of topics that were opened with it go on. */
horus_status_t horus_namespace_close(horus_namespace_t name_space);

/*
 * Closes the handle, and removes the namespace with all of its topics: for tests, which have one of
 * their own. Ends that this process has go on without names.
 *
 * Errors: HORUS_E_BUSY if another process is in it: nothing is removed, but the handle is closed;
 * HORUS_E_SYSTEM if it was removed already: the handle is closed, too.
 */
horus_status_t horus_namespace_remove(horus_namespace_t name_space);

/*
 * Removes what processes left behind that were killed; never what is in use. It also runs by
 * itself, whenever a process opens a namespace. `out_removed`, how many topics that were, may be
 * null.
 */
horus_status_t horus_namespace_sweep(horus_namespace_t name_space, size_t *out_removed);

/*
 * Removes a topic, even one that is to outlive its processes.
 *
 * Errors: HORUS_E_BUSY while a process has an end of it, HORUS_E_NAME.
 */
horus_status_t horus_topic_remove(horus_namespace_t name_space, const char *topic);

/* ---- Topics ------------------------------------------------------------------------------- */

enum { HORUS_UNSET = 0, HORUS_NO = 1, HORUS_YES = 2 };
enum { HORUS_BEST_EFFORT = 1, HORUS_RELIABLE = 2 };
enum { HORUS_WAKE_MEMBARRIER = 1, HORUS_WAKE_FENCE = 2 };

/* In `history`: none. (0 says nothing about it.) */
#define HORUS_HISTORY_NONE UINT32_MAX

enum {
    HORUS_QOS_DEFAULT = 0,     /* all left open: what the topic has, or the defaults */
    HORUS_QOS_SENSOR_DATA = 1, /* fresh data matters: 8 slots, best effort */
    HORUS_QOS_RELIABLE = 2,    /* nothing is overwritten unread: 1024 slots, HORUS_FULL */
    HORUS_QOS_COMMAND = 3,     /* to actuators: 16 slots, waking a reader is cheap for it */
    HORUS_QOS_LATCHED = 4      /* late joiners get the last message, also after its sender left */
};

/*
 * Quality of service. What the creator of a topic fixes and a joiner insists on; what is unset is
 * adopted from the topic. Begin with HORUS_QOS_INIT and a preset, change what matters.
 */
typedef struct horus_qos {
    uint32_t struct_bytes;
    int32_t preset;                    /* HORUS_QOS_*; the members below change it */
    int32_t reliability;               /* HORUS_BEST_EFFORT or HORUS_RELIABLE */
    uint32_t history;                  /* messages a late joiner gets, or HORUS_HISTORY_NONE */
    uint64_t capacity;                 /* slots of each publisher, rounded up to a power of two */
    int32_t persist_after_exit;        /* HORUS_YES: outlives its processes */
    int32_t wake_edge;                 /* HORUS_WAKE_*: who pays for waking */
    int32_t pinnable;                  /* HORUS_YES: loans and borrows also below 4 KiB */
    uint32_t publishers_max;           /* at most 64 */
    uint32_t subscribers_max;          /* at most 64 */
    uint32_t reliable_subscribers_max; /* at most 64 */
    uint64_t detach_after_ns;          /* go on without a subscriber stalled for that long */
} horus_qos_t;

#define HORUS_QOS_INIT {.struct_bytes = (uint32_t)sizeof(horus_qos_t)}

enum {
    HORUS_TYPE_ADOPT = 0, /* the topic must be there, and says what it carries */
    HORUS_TYPE_BYTES = 1, /* bytes of any number, without a meaning to this library */
    HORUS_TYPE_SCHEMA = 2 /* what `schema` describes, in the canonical form of docs/messages.md */
};

/* How an end of a topic is opened. */
typedef struct horus_topic_options {
    uint32_t struct_bytes;
    int32_t message_type;       /* HORUS_TYPE_* */
    const char *schema;         /* for HORUS_TYPE_SCHEMA */
    uint64_t max_message_bytes; /* longest message, where they have lengths; 0: 64 KiB */
    horus_namespace_t name_space;
    const horus_qos_t *qos; /* may be null */
} horus_topic_options_t;

#define HORUS_TOPIC_OPTIONS_INIT {.struct_bytes = (uint32_t)sizeof(horus_topic_options_t)}

/* Of messages with a schema text, for instance those of <horus/messages.h>. */
#define HORUS_TOPIC_OPTIONS_FOR(schema_text)                                                      \
    {.struct_bytes = (uint32_t)sizeof(horus_topic_options_t),                                     \
     .message_type = HORUS_TYPE_SCHEMA,                                                           \
     .schema = (schema_text)}

/* What an end can tell about itself and its topic. */
typedef struct horus_topic_info {
    uint32_t struct_bytes;
    int32_t is_sized;           /* 1: messages have lengths of their own */
    uint64_t max_message_bytes; /* of the longest message; of every one if it is not sized */
    uint64_t sequence;          /* of the last message of this end */
    uint32_t publishers;        /* that live, in any process */
    uint32_t subscribers;
} horus_topic_info_t;

#define HORUS_TOPIC_INFO_INIT {.struct_bytes = (uint32_t)sizeof(horus_topic_info_t)}

/* ---- Publishers --------------------------------------------------------------------------- */

typedef struct horus_publisher {
    uint64_t id;
} horus_publisher_t;

/*
 * Opens the topic `topic` to publish on it. Creates it if it is not there, unless the type is to
 * be adopted. `options` may be null: adopt the type, everything else open.
 *
 * Errors: HORUS_E_NOT_FOUND, HORUS_E_TYPE, HORUS_E_QOS, HORUS_E_LIMIT, HORUS_E_NAME,
 * HORUS_E_SCHEMA, HORUS_E_NO_SPACE, HORUS_E_DAMAGED, HORUS_E_SYSTEM. Nothing is left behind.
 */
horus_status_t horus_publisher_open(const char *topic, const horus_topic_options_t *options,
                                    horus_publisher_t *out);

/* Closes the handle. What was sent can still be received. Ends a loan. */
horus_status_t horus_publisher_close(horus_publisher_t publisher);

/*
 * Publishes `bytes` bytes at `data`, which are copied. Never blocks: some 10 ns and the copy.
 *
 * Outcomes: HORUS_FULL on a reliable topic. Errors: HORUS_E_MESSAGE, HORUS_E_LOAN (a slot is on
 * loan), HORUS_E_FORKED, HORUS_E_REGION_LOST.
 */
horus_status_t horus_publisher_send(horus_publisher_t publisher, const void *data, size_t bytes);

/* The same, but waits for room for up to `timeout_ns` while the topic is full. Blocks. */
horus_status_t horus_publisher_send_timeout(horus_publisher_t publisher, const void *data,
                                            size_t bytes, int64_t timeout_ns);

/*
 * Lends the next slot in shared memory, to be filled in place: nothing is copied, and the cost
 * does not depend on the size. `out_data` begins at a multiple of 64 and holds an older message or
 * zeros; `out_bytes`, its length, may be null. The slot is the caller's until the loan ends by
 * publish, discard or close; after that it must not be touched. One at a time; meanwhile send is
 * HORUS_E_LOAN. Never blocks.
 *
 * Outcomes: HORUS_FULL. Errors: HORUS_E_NOT_PINNABLE, HORUS_E_LOAN, HORUS_E_FORKED,
 * HORUS_E_REGION_LOST.
 */
horus_status_t horus_publisher_loan(horus_publisher_t publisher, void **out_data,
                                    size_t *out_bytes);

/*
 * Publishes the first `bytes` bytes of the slot on loan, and ends the loan. Never blocks.
 *
 * Errors: HORUS_E_MESSAGE for a length that the topic does not have, and the loan goes on;
 * HORUS_E_LOAN, HORUS_E_FORKED, HORUS_E_REGION_LOST.
 */
horus_status_t horus_publisher_publish(horus_publisher_t publisher, size_t bytes);

/* Ends the loan as if it had not been asked for. Errors: HORUS_E_LOAN if there is none. */
horus_status_t horus_publisher_discard(horus_publisher_t publisher);

/* What the publisher can tell. 0.2 us for each end of the topic. Errors: HORUS_E_FORKED. */
horus_status_t horus_publisher_info(horus_publisher_t publisher, horus_topic_info_t *out);

/* ---- Subscribers -------------------------------------------------------------------------- */

typedef struct horus_subscriber {
    uint64_t id;
} horus_subscriber_t;

/*
 * The ledger since the subscriber joined, in messages:
 * sent == received + malformed + lost + skipped + waiting, exactly, when the publishers rest.
 */
typedef struct horus_stats {
    uint32_t struct_bytes;
    uint32_t unmapped; /* publishers whose messages there is no memory to map; they are waiting */
    uint64_t received;
    uint64_t malformed;
    uint64_t lost;    /* overwritten before this subscriber came to them */
    uint64_t skipped; /* passed over by asking for the latest */
    uint64_t waiting;
    uint64_t sent;
    uint64_t busy; /* calls that gave up because the writer was faster; nothing is lost by that */
} horus_stats_t;

#define HORUS_STATS_INIT {.struct_bytes = (uint32_t)sizeof(horus_stats_t)}

/* A message in shared memory that its publisher spares until it is released. */
typedef struct horus_sample {
    uint64_t id; /* for horus_sample_release */
    const void *data;
    size_t bytes;
    uint64_t sequence; /* as its publisher counts, from 1 on */
} horus_sample_t;

/*
 * Opens the topic `topic` to receive what is published from now on (and its history, if it has
 * one). As horus_publisher_open.
 */
horus_status_t horus_subscriber_open(const char *topic, const horus_topic_options_t *options,
                                     horus_subscriber_t *out);

/* Closes the handle. Borrowed messages stay until they are released. */
horus_status_t horus_subscriber_close(horus_subscriber_t subscriber);

/*
 * Copies the next message, oldest first, to `out`, which has room for `room` bytes. `out_bytes`,
 * its length, may be null. Never blocks: some 10 ns and the copy. After another result than
 * HORUS_OK and HORUS_TRUNCATED, `out` holds unspecified bytes.
 *
 * Outcomes: HORUS_EMPTY; HORUS_TRUNCATED if messages have lengths of their own and this one has
 * no room: it is received, `out_bytes` is its whole length. (Where `room` is less than the longest
 * message, messages are copied twice.) Errors: HORUS_E_ARGUMENT if messages
 * have one length, and there is room for less; HORUS_E_FORKED, HORUS_E_REGION_LOST;
 * HORUS_E_NO_MEMORY if a publisher's messages cannot be mapped and there is no other message (each
 * call tries again, ten times a second at most).
 */
horus_status_t horus_subscriber_recv(horus_subscriber_t subscriber, void *out, size_t room,
                                     size_t *out_bytes);

/* The same, but waits for a message for up to `timeout_ns`. Blocks. Outcomes: HORUS_TIMEOUT. */
horus_status_t horus_subscriber_recv_timeout(horus_subscriber_t subscriber, void *out, size_t room,
                                             int64_t timeout_ns, size_t *out_bytes);

/*
 * The newest message not received yet; older ones are passed over, and counted as skipped. Of
 * several publishers the greatest `timestamp_ns` wins, if messages have it. Never blocks. As recv;
 * the first call allocates two buffers of the longest message, and the message is copied twice.
 */
horus_status_t horus_subscriber_latest(horus_subscriber_t subscriber, void *out, size_t room,
                                       size_t *out_bytes);

/*
 * The next message where it lies in shared memory: nothing is copied, and the cost does not
 * depend on the size. Read only. The caller owns it until horus_sample_release; it may be given to
 * another thread, and outlives the subscriber. Keep few: seven at a time, and all subscribers
 * together half of the slots. Never blocks.
 *
 * Outcomes: HORUS_EMPTY. Errors: HORUS_E_NOT_PINNABLE, HORUS_E_LIMIT (release one),
 * HORUS_E_FORKED, HORUS_E_REGION_LOST, HORUS_E_NO_MEMORY.
 */
horus_status_t horus_subscriber_borrow(horus_subscriber_t subscriber, horus_sample_t *out);

/* The same with the newest message, as horus_subscriber_latest. */
horus_status_t horus_subscriber_borrow_latest(horus_subscriber_t subscriber, horus_sample_t *out);

/*
 * Gives a borrowed message back, by the `id` of its sample; its data must not be touched any
 * more. Never blocks. Errors: HORUS_E_HANDLE, also the second time.
 */
horus_status_t horus_sample_release(uint64_t sample_id);

/*
 * HORUS_OK while the subscriber can receive; for when nothing comes. A few nanoseconds.
 *
 * Errors: HORUS_E_FORKED, HORUS_E_REGION_LOST, HORUS_E_NO_MEMORY.
 */
horus_status_t horus_subscriber_check(horus_subscriber_t subscriber);

/*
 * How long the calls that wait look for a message before they sleep. Default 10 us, about what a
 * sleep and a wake cost; 0 sleeps at once, more burns the CPU for a faster answer.
 */
horus_status_t horus_subscriber_set_spin(horus_subscriber_t subscriber, uint64_t spin_ns);

/* The ledger. Errors: HORUS_E_FORKED. */
horus_status_t horus_subscriber_stats(horus_subscriber_t subscriber, horus_stats_t *out);

/* What the subscriber can tell. 0.2 us for each end of the topic. Errors: HORUS_E_FORKED. */
horus_status_t horus_subscriber_info(horus_subscriber_t subscriber, horus_topic_info_t *out);

/* ---- Introspection ------------------------------------------------------------------------ */

/*
 * Looking disturbs nobody: no place is taken, nothing is written. Each call opens the topic and
 * makes system calls. While the topic runs, its counters are read one after another, also those of
 * one struct: they are not of one moment, and need not add up. Errors of all: HORUS_E_NOT_FOUND,
 * HORUS_E_NAME, HORUS_E_DAMAGED, HORUS_E_SYSTEM.
 */

/* A topic, and how many take part. */
typedef struct horus_topic_counters {
    uint32_t struct_bytes;
    int32_t reliability;    /* HORUS_BEST_EFFORT or HORUS_RELIABLE */
    uint64_t message_bytes; /* of a message, or of the longest one */
    uint64_t capacity;      /* slots of each publisher's lane, in messages */
    uint32_t lanes;         /* that were ever used */
    uint32_t subscribers;   /* that live */
    char message_type[128]; /* its name, cut if it is longer */
} horus_topic_counters_t;

#define HORUS_TOPIC_COUNTERS_INIT {.struct_bytes = (uint32_t)sizeof(horus_topic_counters_t)}

/* A lane of a topic, which one publisher at a time writes. */
typedef struct horus_lane_counters {
    uint32_t struct_bytes;
    uint32_t lane;         /* its index in the topic */
    int32_t is_alive;      /* 1: a publisher has it and lives */
    uint32_t process_id;   /* of the publisher; 0 if it is not known */
    uint64_t sent;         /* messages that it has carried, of all of its publishers */
    uint64_t refused;      /* sends refused because a reliable subscriber was a lane behind */
    uint64_t skips;        /* positions stepped over because a subscriber held what was there */
    uint64_t aborted;      /* writes that the death of a publisher interrupted */
    char process_name[64]; /* "" if it is not known */
} horus_lane_counters_t;

#define HORUS_LANE_COUNTERS_INIT {.struct_bytes = (uint32_t)sizeof(horus_lane_counters_t)}

/* A live subscriber of a topic. Its counters may be behind by up to 256 messages. */
typedef struct horus_reader_counters {
    uint32_t struct_bytes;
    uint32_t process_id;   /* 0 if it is not known */
    uint64_t received;     /* messages delivered to it */
    uint64_t lost;         /* overwritten before it came to them */
    uint64_t skipped;      /* passed over by asking for the latest */
    uint32_t borrowed;     /* messages that it borrows at the moment */
    int32_t is_asleep;     /* 1: it sleeps until a message comes */
    char process_name[64]; /* "" if it is not known */
} horus_reader_counters_t;

#define HORUS_READER_COUNTERS_INIT {.struct_bytes = (uint32_t)sizeof(horus_reader_counters_t)}

/*
 * Writes the names of the topics of a namespace to `out`, which has room for `room` bytes: sorted, a
 * line each, with a 0 at the end. `out_bytes`, the length without the 0, may be null.
 *
 * Outcomes: HORUS_TRUNCATED if there is no room for all: `out_bytes` is the whole length. `out` may
 * be null if `room` is 0.
 */
horus_status_t horus_topics(horus_namespace_t name_space, char *out, size_t room,
                            size_t *out_bytes);

/* Writes the schema text of the topic's messages, as horus_topics does. */
horus_status_t horus_topic_schema(horus_namespace_t name_space, const char *topic, char *out,
                                  size_t room, size_t *out_bytes);

/* Tells what the topic carries, and how many take part. */
horus_status_t horus_topic_inspect(horus_namespace_t name_space, const char *topic,
                                   horus_topic_counters_t *out);

/* Tells about a lane, by its place in the list of those that were ever used. Outcomes: HORUS_EMPTY
 * if there are no more. */
horus_status_t horus_topic_lane_counters(horus_namespace_t name_space, const char *topic,
                                        size_t index, horus_lane_counters_t *out);

/* Tells about a live subscriber, by its place in the list of those. Outcomes: HORUS_EMPTY if there
 * are no more. */
horus_status_t horus_topic_reader_counters(horus_namespace_t name_space, const char *topic,
                                          size_t index, horus_reader_counters_t *out);

/* ---- Wait sets ---------------------------------------------------------------------------- */

/* One thread waits for many topics, deadlines and timers. */
typedef struct horus_wait_set {
    uint64_t id;
} horus_wait_set_t;

enum {
    HORUS_READY_MESSAGE = 1,         /* the subscriber has unread messages */
    HORUS_READY_DEADLINE_MISSED = 2, /* none was published for as long as was allowed */
    HORUS_READY_TIMER = 3,           /* it is time */
    HORUS_READY_CLOSED = 4           /* the subscriber was closed; it is no longer in the set */
};

/* Something that is ready. */
typedef struct horus_ready {
    uint64_t key;
    int32_t reason; /* HORUS_READY_* */
    uint32_t reserved;
    uint64_t silent_ns; /* of HORUS_READY_DEADLINE_MISSED: how long there was none */
    uint64_t missed;    /* of HORUS_READY_TIMER: periods that were over before and not reported */
} horus_ready_t;

/* Opens a set of nothing. */
horus_status_t horus_wait_set_open(horus_wait_set_t *out);

/* Closes the handle. Subscribers are not closed by that. */
horus_status_t horus_wait_set_close(horus_wait_set_t wait_set);

/*
 * Adds a topic: ready when `subscriber` has something to receive, and, if `silent_max_ns` is not
 * 0, whenever nothing was published for that long. `out_key` is never 0 and tells it from the
 * others of this set. The set does not own the subscriber, which is used as ever between waits.
 *
 * Errors: HORUS_E_LIMIT with 128 topics.
 */
horus_status_t horus_wait_set_add(horus_wait_set_t wait_set, horus_subscriber_t subscriber,
                                  uint64_t silent_max_ns, uint64_t *out_key);

/*
 * Adds a timer: ready every `period_ns` from now on. Its phase stays, however late a wait is.
 *
 * Errors: HORUS_E_LIMIT with 1024 timers, HORUS_E_ARGUMENT for 0.
 */
horus_status_t horus_wait_set_add_interval(horus_wait_set_t wait_set, uint64_t period_ns,
                                           uint64_t *out_key);

/* Takes a topic or a timer out of the set. Errors: HORUS_E_ARGUMENT if it is not in it. */
horus_status_t horus_wait_set_remove(horus_wait_set_t wait_set, uint64_t key);

/*
 * Waits until something is ready, for up to `timeout_ns`, and writes the first `room` of what is
 * to `out`, and how many to `out_count`; what had no room comes in the next call. Level-triggered:
 * a topic with unread messages is ready again and again. Blocks, asleep after a short spin.
 *
 * Outcomes: HORUS_TIMEOUT. Errors: HORUS_E_ARGUMENT if `room` is 0, or the set is empty and the
 * timeout never ends; HORUS_E_FORKED.
 */
horus_status_t horus_wait_set_wait(horus_wait_set_t wait_set, int64_t timeout_ns,
                                   horus_ready_t *out, size_t room, size_t *out_count);

/* ---- Nodes and schedulers ----------------------------------------------------------------- */

#ifdef __cplusplus
}
#endif

#include "scheduler.h"

#endif /* HORUS_HORUS_H */
