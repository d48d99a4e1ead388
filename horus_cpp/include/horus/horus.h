/*
 * horus: topics in shared memory for robots. The C ABI; C11, usable from C++.
 *
 * CONVENTIONS. They hold for every function unless its comment says otherwise.
 *
 * Result    is a horus_status_t: HORUS_OK, a positive outcome that is not an error, or a negative
 *           HORUS_E_* error. horus_last_error_message() describes the last error of the calling
 *           thread. Numbers are never reused for another meaning.
 * Outputs   come last and are written only with HORUS_OK (and HORUS_TRUNCATED), except where the
 *           comment says otherwise. They may have any alignment. A null output is HORUS_E_NULL,
 *           except where the comment allows null.
 * Handles   are numbers with a type, a generation and an index. A call with a zero, stale or forged
 *           handle, or one of another type, returns HORUS_E_HANDLE, in optimised builds too, and is
 *           never undefined behaviour. The caller that opens a handle closes it. The kernel closes
 *           handles that are still open when the process exits.
 * Threads   Any thread may call. Two threads must not use the same handle at the same time: open
 *           one for each thread. Otherwise the behaviour is undefined; debug builds and builds with
 *           the feature `checked` return HORUS_E_BUSY. One exception: any thread may close a handle
 *           at any time. The close waits for calls that use the handle. Blocking calls then return
 *           within 50 ms, and later calls return HORUS_E_HANDLE.
 * Blocking  Only functions whose names end in _timeout or _wait, or contain _wait_for_, block, and
 *           _close as described above. Functions that open or close make system calls and take 10
 *           to 500 us. After the first message, sending, receiving, lending, borrowing and
 *           releasing allocate nothing and make no system call, except to wake a subscriber that
 *           sleeps, for a message longer than the slots, and in calls that return an error.
 * Errors    The lists name those to expect. HORUS_E_NULL and HORUS_E_HANDLE are possible in every
 *           call, and HORUS_E_SYSTEM, _LIMIT, _DAMAGED, _NO_SPACE and _NO_MEMORY wherever a call
 *           opens a file or maps memory.
 * Strings   are UTF-8 and end in a 0. They are read during the call and not kept. Names of topics
 *           have up to 200 bytes, of namespaces, nodes and chains 64, of message types 128. Schema
 *           texts have up to 15,360 bytes, other texts 4096.
 * Structs   with a member `struct_bytes` may grow at their end in later versions. Set the member to
 *           the size of the struct (the HORUS_*_INIT macros do). A zero in any other member selects
 *           the default.
 * Times     are in nanoseconds. A negative timeout is infinite.
 * fork      A call of a child with a handle that it inherited returns HORUS_E_FORKED. The child can
 *           close the handle, without effect on the parent.
 * Cancels   pthread_cancel of a thread takes effect when the thread has left the library's calls,
 *           including those that wait: no call is a cancellation point.
 * Panics    No call unwinds or aborts. After a defect of the library, it returns HORUS_E_PANIC.
 */
#ifndef HORUS_HORUS_H
#define HORUS_HORUS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Version ------------------------------------------------------------------------------ */

/* Increases when programs that were compiled with an older header must be compiled again. */
#define HORUS_ABI_VERSION 0

/* Returns the HORUS_ABI_VERSION of the loaded library. */
uint32_t horus_abi_version(void);

/* Returns the version of the loaded library, such as "0.1.0". The text is never freed. */
const char *horus_version_string(void);

/* ---- Status ------------------------------------------------------------------------------- */

typedef int32_t horus_status_t;

enum {
    HORUS_OK = 0,        /* success */
    HORUS_EMPTY = 1,     /* there is no message now, or the next 16 are malformed: call again */
    HORUS_FULL = 2,      /* a reliable subscriber is the lane's whole capacity behind, or all slots
                            are borrowed: try again */
    HORUS_TIMEOUT = 3,   /* the timeout has expired */
    HORUS_TRUNCATED = 4, /* the message was longer than the buffer and was truncated */
    HORUS_STOPPED = 5,   /* the scheduler is stopping, or has stopped */

    HORUS_E_PANIC = -1,         /* a defect of this library: please report the text */
    HORUS_E_HANDLE = -2,        /* not a handle, one of another type, or a closed one */
    HORUS_E_NULL = -3,          /* a pointer is null */
    HORUS_E_ARGUMENT = -4,      /* an argument is out of its range */
    HORUS_E_BUSY = -5,          /* the object to be used, closed or removed is in use */
    HORUS_E_LIMIT = -6,         /* too many handles, endpoints, entries or borrowed messages */
    HORUS_E_NAME = -7,          /* not a valid name of a topic or namespace */
    HORUS_E_NOT_FOUND = -8,     /* the topic does not exist yet: try again, or give its type */
    HORUS_E_TYPE = -9,          /* publishers send another message type: the text says where */
    HORUS_E_QOS = -10,          /* no publisher offers the reliability that was requested */
    HORUS_E_SCHEMA = -11,       /* the schema text is invalid: the error text says where */
    HORUS_E_MESSAGE = -12,      /* a message of a length that cannot be sent here */
    HORUS_E_FORKED = -13,       /* the handle belongs to the parent process: open a new one */
    HORUS_E_REGION_LOST = -14,  /* the topic's memory is lost: close all handles, open again */
    HORUS_E_NOT_PINNABLE = -15, /* the topic has no loans and borrows: use send and recv */
    HORUS_E_LOAN = -16,         /* a slot is on loan and must not be, or none is and must be */
    HORUS_E_NO_SPACE = -17,     /* the memory file system is full */
    HORUS_E_SYSTEM = -18,       /* a system call failed */
    HORUS_E_DAMAGED = -19,      /* a file is foreign, damaged, or of another version */
    HORUS_E_NODE = -20,         /* wrong settings of a node, or no node of that name */
    HORUS_E_STATE = -21,        /* the scheduler, the log or the callback is in another state */
    HORUS_E_NO_MEMORY = -22,    /* no memory to map messages; receiving calls try again */
    HORUS_E_FAILED = -23,       /* a node failed and ended the run: see the text */
    HORUS_E_NAMESPACE_REMOVED = -24 /* the topic's namespace was removed: close all, open again */
};

/* Returns the name of a status, such as "HORUS_E_NULL", or "unknown". The text is never freed. */
const char *horus_status_name(horus_status_t status);

/*
 * Returns the text of the last error of this thread: what was found, what was wanted, what to do.
 * The text of a failed call on a publisher or a subscriber names the topic. It is never null, ""
 * before the first error, and has at most 1023 bytes. It is valid as long as the thread exists, and
 * the next error of the thread overwrites it: copy it to keep it. HORUS_FULL and HORUS_TIMEOUT
 * change it too: to a text after a call that waits for room or for endpoints, and else to "".
 * HORUS_OK, HORUS_EMPTY and HORUS_TRUNCATED leave it.
 */
const char *horus_last_error_message(void);

/* ---- Namespaces --------------------------------------------------------------------------- */

/* A set of topics with unique names. {0} is the namespace that the environment variables select; it
 * need not be opened. */
typedef struct horus_namespace {
    uint64_t id;
} horus_namespace_t;

/*
 * Opens the namespace `name` in `directory`, and creates it if it is missing. Either may be null:
 * then the environment variables HORUS_NAMESPACE and HORUS_SHM_DIR select it, as in Rust and Python
 * programs.
 *
 * Errors: HORUS_E_NAME; HORUS_E_ARGUMENT for a relative directory, or if there is no group of
 * HORUS_SHM_GROUP; HORUS_E_DAMAGED if a directory or file belongs to another user, or has another
 * mode; HORUS_E_SYSTEM, HORUS_E_LIMIT, HORUS_E_NO_SPACE.
 */
horus_status_t horus_namespace_open(const char *directory, const char *name,
                                    horus_namespace_t *out);

/*
 * Like horus_namespace_open, for a namespace that the members of `group` share: the name of a
 * group, or its number in decimal digits. With a null `group`, the environment variable
 * HORUS_SHM_GROUP selects it if `directory` is null, too; otherwise the namespace belongs to one
 * user. horus_namespace_open does the same.
 *
 * Errors: those of horus_namespace_open; HORUS_E_ARGUMENT if there is no such group.
 */
horus_status_t horus_namespace_open_group(const char *directory, const char *name,
                                          const char *group, horus_namespace_t *out);

/* Closes the handle. Publishers and subscribers that were opened with it stay open. */
horus_status_t horus_namespace_close(horus_namespace_t name_space);

/*
 * Closes the handle, and removes the namespace with all of its topics, also with an engaged
 * emergency stop, which schedulers that start later then do not know. This is for tests, which use
 * private namespaces. Publishers and subscribers of this process stay usable.
 *
 * Errors: HORUS_E_BUSY if another process uses the namespace: nothing is removed. HORUS_E_SYSTEM if
 * the namespace was removed already. In both cases the handle is closed.
 */
horus_status_t horus_namespace_remove(horus_namespace_t name_space);

/*
 * Removes the files of killed processes, and never files in use. It also runs automatically
 * whenever a process opens a namespace. `out_removed`, the number of removed topics, may be null.
 */
horus_status_t horus_namespace_sweep(horus_namespace_t name_space, size_t *out_removed);

/*
 * Removes a topic, even a persistent one; HORUS_OK if there is none. It also removes
 * `emergency_stop` while a stop is engaged, which schedulers that start later then do not know: the
 * commands `horus topic rm` and `horus clean` refuse that.
 *
 * Errors: HORUS_E_BUSY while a process has it open, HORUS_E_NAME, HORUS_E_SYSTEM, HORUS_E_DAMAGED.
 */
horus_status_t horus_topic_remove(horus_namespace_t name_space, const char *topic);

/* ---- Topics ------------------------------------------------------------------------------- */

enum { HORUS_UNSET = 0, HORUS_NO = 1, HORUS_YES = 2 };
enum { HORUS_BEST_EFFORT = 1, HORUS_RELIABLE = 2 };
enum { HORUS_WAKE_MEMBARRIER = 1, HORUS_WAKE_FENCE = 2 };

/* The value of `history` for no history. (0 selects the default.) */
#define HORUS_HISTORY_NONE UINT32_MAX

/*
 * A time of 0 ns, for settings in which the number 0 selects the default. Other times are at most
 * INT64_MAX: a greater number, as of a negative difference, is refused (HORUS_E_ARGUMENT).
 */
#define HORUS_TIME_ZERO (UINT64_C(1) << 63)

/*
 * The number 0 for settings where 0 selects the default: HORUS_COUNT_ZERO for `publishers_max` and
 * `subscribers_max`, and HORUS_COUNT64_ZERO for `capacity` and `max_message_bytes`, which have 64
 * bits. Opening refuses it. The C++ wrapper passes it, so that a number that was computed and is 0
 * by mistake does not select the default.
 */
#define HORUS_COUNT_ZERO UINT32_MAX
#define HORUS_COUNT64_ZERO UINT64_MAX

enum {
    HORUS_QOS_DEFAULT = 0,     /* the default of each setting */
    HORUS_QOS_SENSOR_DATA = 1, /* fresh data matter: 8 slots, best effort */
    HORUS_QOS_RELIABLE = 2,    /* no message that a reliable subscriber has not read is overwritten:
                                  HORUS_FULL instead */
    HORUS_QOS_COMMAND = 3,     /* for actuators: 16 slots, HORUS_WAKE_FENCE */
    HORUS_QOS_LATCHED = 4      /* late joiners get the last message, even of a closed publisher */
};

/*
 * Quality of service: what a publisher offers, and what a subscriber requests. No setting belongs
 * to the topic, so the order in which programs start does not matter. Start from HORUS_QOS_INIT and
 * a preset, and change single members.
 *
 * For a subscriber, only the reliability, `subscribers_max`, `strict` and `strict_schema` have an
 * effect. A subscriber with HORUS_RELIABLE receives only from publishers with HORUS_RELIABLE, and
 * these wait for it. While no live publisher has HORUS_RELIABLE, receiving calls return
 * HORUS_E_QOS. Any other subscriber receives from all publishers, and none waits for it.
 *
 * The message type is not a setting of the topic, either. A subscriber receives the messages of its
 * own type; while all live publishers send other types, receiving calls return HORUS_E_TYPE. A
 * message that has additional fields at its end is a version of the same type, unless the publisher
 * or the subscriber has `strict_schema`. With `strict`, opening fails with HORUS_E_TYPE if the
 * topic was created with another type, so it depends on which program came first.
 */
typedef struct horus_qos {
    uint32_t struct_bytes;
    int32_t preset;             /* HORUS_QOS_*; the members below change it */
    int32_t reliability;        /* HORUS_BEST_EFFORT (default) or HORUS_RELIABLE */
    uint32_t history;           /* number of messages for a late joiner, or HORUS_HISTORY_NONE;
                                   default: none, or 1 with persist_after_exit */
    uint64_t capacity;          /* slots of this publisher, 2 to 2^20, rounded up to a power of two;
                                   default: 16 to 1024 by message size, 4 above 1 MiB */
    int32_t persist_after_exit; /* HORUS_YES: topic and history outlive the publisher */
    int32_t wake_barrier;       /* HORUS_WAKE_*: a membarrier per sleep, or a fence per send */
    int32_t pinnable;           /* HORUS_YES: loans and borrows below 4 KiB, too */
    uint32_t publishers_max;    /* HORUS_E_LIMIT if that many are open already; default 64 */
    uint32_t subscribers_max;   /* the same for subscribers; 1: the only one */
    int32_t strict;             /* HORUS_YES: opening fails if the types differ; see above */
    uint64_t detach_after_ns;   /* no longer wait for a subscriber that was stalled for this time */
    int32_t strict_schema;      /* HORUS_YES: only the same version of the message matches */
    uint32_t reserved;          /* 0 */
} horus_qos_t;

#define HORUS_QOS_INIT {.struct_bytes = (uint32_t)sizeof(horus_qos_t)}

enum {
    HORUS_TYPE_OF_TOPIC = 0, /* the type of the topic, which must exist */
    HORUS_TYPE_BYTES = 1,    /* any number of bytes, which the library does not interpret */
    HORUS_TYPE_SCHEMA = 2    /* the type that `schema` describes, in the canonical form of
                                docs/cpp.md */
};

/*
 * The options for opening a publisher or a subscriber.
 *
 * `max_message_bytes` is the length of the longest message that a publisher may send, at most
 * nearly 64 MiB; its slots have that size from the start. With 0 the slots grow when a longer
 * message is sent, at the cost of horus_publisher_reserve. It has no effect on a subscriber.
 */
typedef struct horus_topic_options {
    uint32_t struct_bytes;
    int32_t message_type;       /* HORUS_TYPE_* */
    const char *schema;         /* for HORUS_TYPE_SCHEMA */
    uint64_t max_message_bytes; /* of a publisher, for messages of a variable length: see above */
    horus_namespace_t name_space;
    const horus_qos_t *qos; /* may be null */
    const void *defaults;   /* of a subscriber: a message with the values of fields that a publisher
                               does not know; null: zeros. If messages have a variable length, only
                               the fields in front of the data. Read only by the opening call */
    const char *latch_key;  /* of a publisher whose history outlives it: its first message replaces
                               the history of this key; null: the key is the program's name */
} horus_topic_options_t;

#define HORUS_TOPIC_OPTIONS_INIT {.struct_bytes = (uint32_t)sizeof(horus_topic_options_t)}

/* The options for messages with a schema text, such as those of <horus/messages.h>. */
#define HORUS_TOPIC_OPTIONS_FOR(schema_text)                                                      \
    {.struct_bytes = (uint32_t)sizeof(horus_topic_options_t),                                     \
     .message_type = HORUS_TYPE_SCHEMA,                                                           \
     .schema = (schema_text)}

/* Information about a publisher or subscriber, and its topic. */
typedef struct horus_topic_info {
    uint32_t struct_bytes;
    int32_t has_variable_size;  /* 1: messages have a variable length */
    uint64_t max_message_bytes; /* if has_variable_size: length of the longest message that this
                                   publisher may send, or that publishers can send to this
                                   subscriber now (it grows with their slots). Otherwise the
                                   length of every message */
    uint64_t sequence;          /* of the last message sent or received by this handle */
    uint32_t publishers;        /* live ones, in all processes */
    uint32_t subscribers;
    uint64_t received_bytes;    /* bytes of the last received message that its publisher sent: fewer
                                   than its length if the publisher knows fewer fields. Valid until
                                   the next message is received. 0 for a publisher */
} horus_topic_info_t;

#define HORUS_TOPIC_INFO_INIT {.struct_bytes = (uint32_t)sizeof(horus_topic_info_t)}

/* ---- Publishers --------------------------------------------------------------------------- */

typedef struct horus_publisher {
    uint64_t id;
} horus_publisher_t;

/*
 * Opens the topic `topic` for publishing. Creates it if it does not exist, unless the type is to
 * be adopted. `options` may be null: the type is adopted, and all settings have their defaults.
 *
 * Errors: HORUS_E_NOT_FOUND, HORUS_E_TYPE, HORUS_E_ARGUMENT, HORUS_E_LIMIT, HORUS_E_NAME,
 * HORUS_E_SCHEMA, HORUS_E_NO_SPACE, HORUS_E_NO_MEMORY, HORUS_E_DAMAGED, HORUS_E_SYSTEM,
 * HORUS_E_HANDLE (of the namespace), HORUS_E_BUSY if another process has not finished to remove the
 * topic. Nothing is left behind.
 */
horus_status_t horus_publisher_open(const char *topic, const horus_topic_options_t *options,
                                    horus_publisher_t *out);

/* Closes the handle. Sent messages can still be received. Ends a loan. */
horus_status_t horus_publisher_close(horus_publisher_t publisher);

/*
 * Publishes a copy of the `bytes` bytes at `data`. Never blocks; takes some 10 ns and the copy. If
 * messages have a variable length, and this one is longer than the slots, it first reserves longer
 * ones, as horus_publisher_reserve does.
 *
 * Outcomes: HORUS_FULL if the publisher is reliable, or if all slots are borrowed by subscribers of
 * which one is stopped. Errors: HORUS_E_MESSAGE, HORUS_E_LOAN (a slot is on loan), HORUS_E_FORKED,
 * HORUS_E_REGION_LOST; those of horus_publisher_reserve, also if the topic's file was removed and
 * another one cannot be opened: the next call tries again.
 */
horus_status_t horus_publisher_send(horus_publisher_t publisher, const void *data, size_t bytes);

/* Publishes like horus_publisher_send, and waits up to `timeout_ns` for room. Blocks. */
horus_status_t horus_publisher_send_timeout(horus_publisher_t publisher, const void *data,
                                            size_t bytes, int64_t timeout_ns);

/*
 * Makes sure that messages of `bytes` bytes fit the slots of this publisher: later sends of that
 * length make no system call, and later loans are that long. If they do not fit yet, reserves
 * longer slots: some system calls, and 2 to 5 ms per MiB. The former slots are freed when their
 * messages would have been overwritten. Does nothing if messages of that length fit already.
 *
 * Outcomes: HORUS_FULL if reliable subscribers have yet to read too many former slots. Errors:
 * HORUS_E_MESSAGE if this publisher may not send such messages; HORUS_E_NO_SPACE,
 * HORUS_E_NO_MEMORY, HORUS_E_LIMIT or HORUS_E_SYSTEM if longer slots cannot be made: shorter
 * messages can still be sent;
 * HORUS_E_LOAN, HORUS_E_FORKED, HORUS_E_REGION_LOST.
 */
horus_status_t horus_publisher_reserve(horus_publisher_t publisher, size_t bytes);

/*
 * Lends the next slot in shared memory, to be filled in place: nothing is copied, and the cost
 * does not depend on the size. For a message of a variable length, reserve its length before.
 * `out_data` is aligned to 64 bytes and holds an older message or zeros; `out_bytes`, the length of
 * the slot, may be null. The caller owns the slot until the loan ends by publish, discard or close,
 * and must not access it afterwards. There is one loan at a time; during it, horus_publisher_send
 * returns HORUS_E_LOAN. Never blocks.
 *
 * Outcomes: HORUS_FULL. Errors: HORUS_E_NOT_PINNABLE, HORUS_E_LOAN, HORUS_E_FORKED,
 * HORUS_E_REGION_LOST.
 */
horus_status_t horus_publisher_loan(horus_publisher_t publisher, void **out_data,
                                    size_t *out_bytes);

/*
 * Publishes the first `bytes` bytes of the slot on loan, and ends the loan. Never blocks.
 *
 * Errors: HORUS_E_MESSAGE for a length that the topic does not allow, or longer than the slot: the
 * loan continues; HORUS_E_LOAN, HORUS_E_FORKED, HORUS_E_REGION_LOST.
 */
horus_status_t horus_publisher_publish(horus_publisher_t publisher, size_t bytes);

/* Ends the loan without publishing it. Errors: HORUS_E_LOAN if there is none. */
horus_status_t horus_publisher_discard(horus_publisher_t publisher);

/*
 * Waits up to `timeout_ns` until the topic has `count` subscribers, in all processes, and writes
 * their number, which may be greater, to `out_count`, which may be null. Messages that are sent
 * afterwards reach them. Subscribers of killed processes do not count. Blocks: counts at once,
 * which takes 0.2 us for each subscriber, and again after pauses of 1 ms that grow to 10 ms.
 *
 * Outcomes: HORUS_TIMEOUT; the error text says how many were found. Errors: HORUS_E_ARGUMENT if the
 * topic has no room for so many, HORUS_E_FORKED, HORUS_E_REGION_LOST.
 */
horus_status_t horus_publisher_wait_for_subscribers(horus_publisher_t publisher, size_t count,
                                                    int64_t timeout_ns, size_t *out_count);

/* Gets information about the publisher and its topic. Takes 0.2 us for each endpoint of the topic.
 * Errors: HORUS_E_FORKED. */
horus_status_t horus_publisher_info(horus_publisher_t publisher, horus_topic_info_t *out);

/* ---- Subscribers -------------------------------------------------------------------------- */

typedef struct horus_subscriber {
    uint64_t id;
} horus_subscriber_t;

/*
 * The ledger since the subscriber joined, in messages:
 * sent == received + malformed + lost + skipped + waiting, exactly, while no publisher sends.
 */
typedef struct horus_stats {
    uint32_t struct_bytes;
    uint32_t unmapped; /* publishers whose messages cannot be mapped for lack of memory */
    uint64_t received;
    uint64_t malformed;
    uint64_t lost;    /* overwritten before this subscriber received them, noticed or not */
    uint64_t skipped; /* passed over by calls for the latest message, not overwritten */
    uint64_t waiting; /* still to be received, including those of unmapped publishers */
    uint64_t sent;
    uint64_t busy; /* calls that gave up because the writer was faster; this loses nothing */
} horus_stats_t;

#define HORUS_STATS_INIT {.struct_bytes = (uint32_t)sizeof(horus_stats_t)}

/* A message in shared memory. Its publisher does not overwrite it until it is released. */
typedef struct horus_sample {
    uint64_t id; /* for horus_sample_release */
    const void *data;
    size_t bytes;
    uint64_t sequence; /* number of the message among those of its publisher, from 1 on */
} horus_sample_t;

/*
 * Opens the topic `topic` to receive messages that are published from now on, and its history if it
 * has one. Options and errors are those of horus_publisher_open.
 */
horus_status_t horus_subscriber_open(const char *topic, const horus_topic_options_t *options,
                                     horus_subscriber_t *out);

/* Closes the handle. Borrowed messages stay valid until they are released. */
horus_status_t horus_subscriber_close(horus_subscriber_t subscriber);

/*
 * Copies the next message, oldest first, to `out`, which has room for `room` bytes. `out_bytes`,
 * the length of the message, may be null. Never blocks; takes some 10 ns and the copy. If the
 * result is neither HORUS_OK nor HORUS_TRUNCATED, `out` holds unspecified bytes.
 *
 * Outcomes: HORUS_EMPTY; HORUS_TRUNCATED if messages have a variable length and this one does not
 * fit: it counts as received, and `out_bytes` is its full length. Publishers may begin to send
 * longer messages at any time: read `out_bytes`, or use horus_subscriber_borrow, which cuts none.
 * (If `room` is less than `max_message_bytes` of horus_subscriber_info, messages are copied twice.)
 * Errors: HORUS_E_ARGUMENT if messages have one length and `room` is less; HORUS_E_FORKED,
 * HORUS_E_REGION_LOST; if there is no other message, HORUS_E_NO_MEMORY if a publisher's messages
 * cannot be mapped (calls try again, at most ten times a second), HORUS_E_TYPE if all live
 * publishers send another message, HORUS_E_QOS if the subscriber is reliable, and no live publisher
 * is, and HORUS_E_NAMESPACE_REMOVED if the topic's namespace was removed or replaced.
 */
horus_status_t horus_subscriber_recv(horus_subscriber_t subscriber, void *out, size_t room,
                                     size_t *out_bytes);

/* Receives like horus_subscriber_recv, and waits up to `timeout_ns` for a message. Blocks.
 * Outcomes: HORUS_TIMEOUT. */
horus_status_t horus_subscriber_recv_timeout(horus_subscriber_t subscriber, void *out, size_t room,
                                             int64_t timeout_ns, size_t *out_bytes);

/*
 * Receives the newest message that was not received yet. Older ones are counted as skipped, or as
 * lost if they are overwritten already. With several publishers, the message with the greatest
 * `monotonic_ns` is the newest, if messages have that field, else that with the greatest
 * `timestamp_ns`, which also counts where the former is 0. Never blocks. Outputs, outcomes and
 * errors are those of horus_subscriber_recv. The first call allocates two buffers of the longest
 * message, and the message is copied twice.
 */
horus_status_t horus_subscriber_latest(horus_subscriber_t subscriber, void *out, size_t room,
                                       size_t *out_bytes);

/*
 * Borrows the next message in shared memory: nothing is copied, and the cost does not depend on the
 * size. The data are read-only. The caller owns the sample until horus_sample_release, may pass it
 * to another thread, and may keep it after the subscriber is closed. Keep few: a subscriber can
 * hold seven at a time, and all subscribers together half of the slots (three, if it has four). Never
 * blocks.
 *
 * If messages have a variable length and a schema, a borrowed one has at least the length of its
 * header. Shorter ones are counted as `malformed` and left out. Other programs can still write to
 * the message: copy what has to stay as it was checked.
 *
 * Outcomes: HORUS_EMPTY. Errors: HORUS_E_NOT_PINNABLE, HORUS_E_LIMIT (release one, or receive it),
 * HORUS_E_FORKED, HORUS_E_REGION_LOST, HORUS_E_NO_MEMORY, HORUS_E_TYPE, HORUS_E_QOS.
 */
horus_status_t horus_subscriber_borrow(horus_subscriber_t subscriber, horus_sample_t *out);

/* Borrows the newest message, with the rules of horus_subscriber_latest. */
horus_status_t horus_subscriber_borrow_latest(horus_subscriber_t subscriber, horus_sample_t *out);

/*
 * Releases a borrowed message by the `id` of its sample. Its data must not be accessed afterwards.
 * Never blocks. Errors: HORUS_E_HANDLE, also for a second release.
 */
horus_status_t horus_sample_release(uint64_t sample_id);

/* Waits until the topic has `count` publishers. Everything else is as for
 * horus_publisher_wait_for_subscribers. */
horus_status_t horus_subscriber_wait_for_publishers(horus_subscriber_t subscriber, size_t count,
                                                    int64_t timeout_ns, size_t *out_count);

/*
 * Returns HORUS_OK while the subscriber can receive. Use it if no messages arrive. Takes a few
 * nanoseconds, and some system calls if a publisher does not match this subscriber.
 *
 * Errors: HORUS_E_FORKED, HORUS_E_REGION_LOST, HORUS_E_NAMESPACE_REMOVED; as for
 * horus_subscriber_recv, until it receives again: HORUS_E_NO_MEMORY, HORUS_E_TYPE, HORUS_E_QOS.
 */
horus_status_t horus_subscriber_check(horus_subscriber_t subscriber);

/*
 * Sets the time for which each waiting call spins before it sleeps. The default is 10 us, about the
 * cost of a sleep and a wake. 0 sleeps at once; a longer time uses more CPU for a lower latency.
 */
horus_status_t horus_subscriber_set_spin(horus_subscriber_t subscriber, uint64_t spin_ns);

/* Gets the ledger of the subscriber: see horus_stats_t. Errors: HORUS_E_FORKED. */
horus_status_t horus_subscriber_stats(horus_subscriber_t subscriber, horus_stats_t *out);

/* Gets information about the subscriber and its topic. Takes 0.2 us for each endpoint of the topic.
 * Errors: HORUS_E_FORKED. */
horus_status_t horus_subscriber_info(horus_subscriber_t subscriber, horus_topic_info_t *out);

/* ---- Introspection ------------------------------------------------------------------------ */

/*
 * Introspection only reads, and does not count as a subscriber. Each call opens the topic and makes
 * system calls. The counters of a running topic are read one after another, even those of one
 * struct, so they are not a snapshot of one moment and need not add up. Errors of all functions:
 * HORUS_E_NOT_FOUND, HORUS_E_NAME, HORUS_E_DAMAGED, HORUS_E_SYSTEM.
 */

/* A topic, and the number of its participants. */
typedef struct horus_topic_counters {
    uint32_t struct_bytes;
    int32_t reliability;    /* HORUS_RELIABLE if a publisher offers that */
    uint64_t message_bytes; /* the length of a message, or of the longest that fits a slot now */
    uint64_t capacity;      /* slots of the longest lane, in messages; 0 without a publisher */
    uint32_t lanes;         /* lanes that were ever used */
    uint32_t subscribers;   /* live ones */
    char message_type[128]; /* the type name, truncated if it is longer */
} horus_topic_counters_t;

#define HORUS_TOPIC_COUNTERS_INIT {.struct_bytes = (uint32_t)sizeof(horus_topic_counters_t)}

/* A lane of a topic, which one publisher at a time writes. */
typedef struct horus_lane_counters {
    uint32_t struct_bytes;
    uint32_t lane;         /* its index in the topic */
    int32_t is_alive;      /* 1: the lane belongs to a live publisher */
    uint32_t process_id;   /* of the publisher; 0 if it is not known */
    uint64_t sent;         /* messages of all publishers that have used the lane */
    uint64_t refused;      /* sends refused because a reliable subscriber was a whole lane behind */
    uint64_t skips;        /* positions skipped because a subscriber held the slot */
    uint64_t aborted;      /* writes that were interrupted by the death of a publisher */
    char process_name[64]; /* "" if it is not known */
} horus_lane_counters_t;

#define HORUS_LANE_COUNTERS_INIT {.struct_bytes = (uint32_t)sizeof(horus_lane_counters_t)}

/* A live subscriber of a topic. Its counters are exact at every moment. */
typedef struct horus_reader_counters {
    uint32_t struct_bytes;
    uint32_t process_id;   /* 0 if it is not known */
    uint64_t received;     /* messages delivered to it, without the malformed ones */
    uint64_t lost;         /* overwritten before it received them, noticed or not */
    uint64_t skipped;      /* passed over by calls for the latest message, not overwritten */
    uint32_t borrowed;     /* messages that it holds now */
    int32_t is_asleep;     /* 1: it sleeps until a message arrives */
    char process_name[64]; /* "" if it is not known */
    uint64_t waiting;      /* not received yet, and not overwritten */
    uint64_t malformed;    /* dropped, because their bytes are no message of its type */
} horus_reader_counters_t;

#define HORUS_READER_COUNTERS_INIT {.struct_bytes = (uint32_t)sizeof(horus_reader_counters_t)}

/*
 * Writes the names of the topics of a namespace to `out`, which has room for `room` bytes: sorted,
 * one per line, with a 0 at the end. `out_bytes`, the length without the 0, may be null.
 *
 * Outcomes: HORUS_TRUNCATED if not all of it fits: `out_bytes` is the full length. `out` may be
 * null if `room` is 0.
 */
horus_status_t horus_topics(horus_namespace_t name_space, char *out, size_t room,
                            size_t *out_bytes);

/* Writes the schema text of the topic's messages, as horus_topics does. */
horus_status_t horus_topic_schema(horus_namespace_t name_space, const char *topic, char *out,
                                  size_t room, size_t *out_bytes);

/* Gets the message type, the size and the number of participants of a topic. */
horus_status_t horus_topic_inspect(horus_namespace_t name_space, const char *topic,
                                   horus_topic_counters_t *out);

/* Gets the counters of a lane, by its index in the list of lanes that were ever used. Outcomes:
 * HORUS_EMPTY after the last one. */
horus_status_t horus_topic_lane_counters(horus_namespace_t name_space, const char *topic,
                                        size_t index, horus_lane_counters_t *out);

/* Gets the counters of a live subscriber, by its index in the list of live subscribers. Outcomes:
 * HORUS_EMPTY after the last one. */
horus_status_t horus_topic_reader_counters(horus_namespace_t name_space, const char *topic,
                                          size_t index, horus_reader_counters_t *out);

/* ---- Events of endpoints -------------------------------------------------------------------- */

/* A source of events: publishers or subscribers of a topic join, leave or die. */
typedef struct horus_endpoint_events {
    uint64_t id;
} horus_endpoint_events_t;

enum {
    HORUS_ENDPOINT_PUBLISHER = 1,
    HORUS_ENDPOINT_SUBSCRIBER = 2
};

enum {
    HORUS_CHANGE_JOINED = 1, /* it was opened, or was open already at the first look */
    HORUS_CHANGE_LEFT = 2,   /* it was closed */
    HORUS_CHANGE_DIED = 3,   /* its process ended without closing it */
    HORUS_CHANGE_GONE = 4    /* it was closed or its process ended, and it is no longer known which:
                                since the last look, others took the places of more than eleven
                                that had died */
};

enum {
    HORUS_MISMATCH_NONE = 0, /* the two match: messages pass between them */
    HORUS_MISMATCH_TYPE = 1, /* the message types of the two do not match */
    HORUS_MISMATCH_QOS = 2   /* the subscriber requests reliable, but the publisher offers best
                                effort */
};

/* A publisher or subscriber that joined, left or died. */
typedef struct horus_endpoint_event {
    uint32_t struct_bytes;
    int32_t kind;          /* HORUS_ENDPOINT_* */
    int32_t change;        /* HORUS_CHANGE_* */
    int32_t mismatch;      /* HORUS_MISMATCH_*: if it joined, the reason why no message passes */
    uint32_t process_id;   /* 0 if it is not known */
    uint32_t reserved;     /* 0 */
    char process_name[64]; /* "" if it is not known */
} horus_endpoint_event_t;

#define HORUS_ENDPOINT_EVENT_INIT {.struct_bytes = (uint32_t)sizeof(horus_endpoint_event_t)}

/*
 * Opens the events of the topic's subscribers, in all processes. Each look compares the subscribers
 * of the topic with those of the look before. So it costs the subscribers nothing, and one that is
 * opened and closed between two looks makes no event. The topic stays in use until the events are
 * closed.
 */
horus_status_t horus_publisher_subscriber_events(horus_publisher_t publisher,
                                                 horus_endpoint_events_t *out);

/* Opens the events of the topic's publishers, in the same way. */
horus_status_t horus_subscriber_publisher_events(horus_subscriber_t subscriber,
                                                 horus_endpoint_events_t *out);

/* Closes the handle. The events then no longer keep the topic in use. */
horus_status_t horus_endpoint_events_close(horus_endpoint_events_t events);

/*
 * Waits up to `timeout_ns` for the next event. Blocks: looks at once, which takes 0.2 us for each
 * endpoint, and again after pauses of 1 ms that grow to 10 ms.
 *
 * Outcomes: HORUS_TIMEOUT. Errors: HORUS_E_FORKED, HORUS_E_REGION_LOST.
 */
horus_status_t horus_endpoint_events_wait(horus_endpoint_events_t events, int64_t timeout_ns,
                                          horus_endpoint_event_t *out);

/* ---- Wait sets ---------------------------------------------------------------------------- */

/* A set of topics, deadlines and timers that one thread waits for. */
typedef struct horus_wait_set {
    uint64_t id;
} horus_wait_set_t;

enum {
    HORUS_READY_MESSAGE = 1,         /* the subscriber has unread messages; or its topic is lost:
                                        then receiving returns HORUS_E_REGION_LOST in each wait, so
                                        remove the entry */
    HORUS_READY_DEADLINE_MISSED = 2, /* no message was published for `silent_max_ns` */
    HORUS_READY_TIMER = 3,           /* the timer has expired */
    HORUS_READY_CLOSED = 4           /* the subscriber was closed; it is no longer in the set */
};

/* A ready entry of a wait set. */
typedef struct horus_ready {
    uint64_t key;
    int32_t reason; /* HORUS_READY_* */
    uint32_t reserved;
    uint64_t silent_ns; /* for HORUS_READY_DEADLINE_MISSED: the time without a message */
    uint64_t missed;    /* for HORUS_READY_TIMER: earlier periods that were not reported */
} horus_ready_t;

/* Opens an empty set. */
horus_status_t horus_wait_set_open(horus_wait_set_t *out);

/* Closes the handle. The subscribers of the set stay open. */
horus_status_t horus_wait_set_close(horus_wait_set_t wait_set);

/*
 * Adds a topic. It is ready when `subscriber` has an unread message and, if `silent_max_ns` is not
 * 0, whenever no message was published for that time. `out_key` is never 0, and is unique in this
 * set. The set does not own the subscriber, which can be used as usual between waits.
 *
 * Errors: HORUS_E_LIMIT with 4096 topics, HORUS_E_ARGUMENT for a time above INT64_MAX.
 */
horus_status_t horus_wait_set_add(horus_wait_set_t wait_set, horus_subscriber_t subscriber,
                                  uint64_t silent_max_ns, uint64_t *out_key);

/*
 * Adds a timer that is ready every `period_ns` from now on. A late wait does not shift its phase.
 *
 * Errors: HORUS_E_LIMIT with 1024 timers, HORUS_E_ARGUMENT for 0 and above INT64_MAX.
 */
horus_status_t horus_wait_set_add_interval(horus_wait_set_t wait_set, uint64_t period_ns,
                                           uint64_t *out_key);

/* Removes a topic or a timer from the set. Errors: HORUS_E_ARGUMENT if it is not in the set. */
horus_status_t horus_wait_set_remove(horus_wait_set_t wait_set, uint64_t key);

/*
 * Waits up to `timeout_ns` until an entry is ready. Writes up to `room` ready entries to `out`, and
 * their number to `out_count`; the next call returns the others. The set is level-triggered: a
 * topic with unread messages is ready in each call. Blocks: spins briefly, then sleeps.
 *
 * `out_count` is 0 after HORUS_TIMEOUT, and after an error that ends the wait, such as
 * HORUS_E_FORKED. It remains as it is if the call is refused for an argument or the handle.
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

#include "log.h"
#include "scheduler.h"

#endif /* HORUS_HORUS_H */
