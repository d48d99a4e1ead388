/*
 * horus: nodes and schedulers in C. Included by horus.h, whose conventions hold here, but for:
 *
 * Threads   horus_scheduler_is_running, _stop, _pause, _resume, _stop_node, _set_rate and _figures
 *           may be called by any number of threads at any time, also from callbacks. Of the other
 *           calls with one scheduler, one is carried out at a time; a second one is HORUS_E_BUSY,
 *           also in optimised builds. So is any of them in a callback of that scheduler.
 * Callbacks come from threads of the library, but for those of nodes that have neither a rate nor
 *           a topic: these come from the thread that runs the scheduler, and so does every `init`.
 *           The calls of one node never overlap, except `safe_state`. They must return, and not by
 *           longjmp or pthread_exit. C++ exceptions must not leave them: scheduler.hpp sees to
 *           that. pthread_cancel of a thread waits until it is out of the library's calls; of a
 *           thread of the library, for ever.
 */
#ifndef HORUS_SCHEDULER_H
#define HORUS_SCHEDULER_H

#include "horus.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Contexts ----------------------------------------------------------------------------- */

/*
 * What a callback is told about its tick. It is gone when the callback returns, and belongs to the
 * thread of the callback. Null is an error of each function here: 0 from those that return a number
 * (then horus_last_error_message says so). `shutdown`, `enter_safe_state` and `safe_state` have one
 * that can only set an error; else it is HORUS_E_STATE, or 0. Each costs a few nanoseconds.
 */
typedef struct horus_context horus_context_t;

/* Number of this tick of this node, from 0 on. */
uint64_t horus_context_tick(horus_context_t *context);

/* When the tick was due, by CLOCK_MONOTONIC. */
uint64_t horus_context_scheduled_ns(horus_context_t *context);

/* When it began. */
uint64_t horus_context_started_ns(horus_context_t *context);

/* From one tick to the next; 0 without a rate. */
uint64_t horus_context_period_ns(horus_context_t *context);

/* What is left of the budget; 0 when it is spent, UINT64_MAX without one. Reads the clock. */
uint64_t horus_context_budget_left_ns(horus_context_t *context);

/* 64 random bits of this node's own. Not for secrets. */
uint64_t horus_context_random(horus_context_t *context);

/* The same as a number from 0 to 1, 1 not included. */
double horus_context_random_double(horus_context_t *context);

/* Passes a checkpoint, see `checkpoints` of horus_node_options_t. */
horus_status_t horus_context_checkpoint(horus_context_t *context, uint64_t checkpoint);

/* Asks the scheduler to stop after this tick: all nodes are shut down, in reverse order. */
horus_status_t horus_context_stop(horus_context_t *context);

/*
 * What the callback has to say about its failure, if it returns another number than 0: UTF-8, up to
 * 4096 bytes, copied. The last one counts.
 */
horus_status_t horus_context_set_error(horus_context_t *context, const char *error);

/* ---- Nodes -------------------------------------------------------------------------------- */

/*
 * The callbacks of a node; each is given `user`. All but `tick` may be null. Those that return
 * int32_t and have a context return 0, or any other number for a failure. After a failed tick or
 * init follows what `on_failure` of the options says.
 */
typedef struct horus_node {
    uint32_t struct_bytes;
    uint32_t reserved;
    void *user;
    int32_t (*tick)(void *user, horus_context_t *context);
    /* Before the first tick, and again after a restart. */
    int32_t (*init)(void *user, horus_context_t *context);
    /* After the last tick; a failure is reported, and nothing else. */
    int32_t (*shutdown)(void *user, horus_context_t *context);
    /* Brings what the node controls into a state that harms nobody. */
    int32_t (*enter_safe_state)(void *user, horus_context_t *context);
    /* Whether it is there: 0 or 1. Asked right after that; the answer is in the black box. */
    int32_t (*is_safe_state)(void *user);
    /* Told of each failure of the node, before the policy is applied. `error` goes with the call. */
    void (*on_error)(void *user, const char *error);
    /*
     * Brings what the node controls into a state that harms nobody while a tick does not return:
     * called once each time, from another thread, at the same time as the tick. That is when a tick
     * lasts longer than the watchdog allows, or still lasts when the run has ended. The context can
     * only set an error. The node needs a rate, a budget or a watchdog: else it is HORUS_E_NODE.
     */
    int32_t (*safe_state)(void *user, horus_context_t *context);
    /* `user` is not needed any more: the last call, from any thread; never if add_node failed. */
    void (*destroy)(void *user);
} horus_node_t;

#ifndef __cplusplus
#define HORUS_NODE_INIT {.struct_bytes = (uint32_t)sizeof(horus_node_t)}
#endif

enum {
    HORUS_MISS_WARN = 1,      /* it is counted and reported: the default */
    HORUS_MISS_SKIP = 2,      /* the next tick is left out */
    HORUS_MISS_SAFE_MODE = 3, /* the node enters its safe state until it is in time for a while */
    HORUS_MISS_GRADUATED = 4, /* a warning, half the rate, isolation, the end of the run */
    HORUS_MISS_STOP = 5       /* everything stops, every node in its safe state */
};

enum {
    HORUS_FAILURE_FATAL = 1,   /* everything stops, every node in its safe state: the default */
    HORUS_FAILURE_RESTART = 2, /* shutdown and init after `pause_ns`, which doubles each time; the
                                  run ends after more than `failures_max` in a row */
    HORUS_FAILURE_SKIP = 3,    /* the tick is lost; after more than `failures_max` in a row the node
                                  rests for `pause_ns` */
    HORUS_FAILURE_IGNORE = 4   /* it is counted and reported */
};

/* What is asked for a node. Zeros ask for nothing: it has its turns on the running thread. */
typedef struct horus_node_options {
    uint32_t struct_bytes;
    int32_t order;          /* smaller ones come first, where nodes run one after the other */
    double rate_hz;         /* a thread of its own, so often; implies budget and deadline */
    double at_most_hz;      /* of a node that topics wake: so often at most */
    uint64_t budget_ns;     /* a tick may take so long; 0: 80 % of the period */
    uint64_t deadline_ns;   /* over so long after it was due; 0: 95 % of the period */
    uint64_t watchdog_ns;   /* stuck after so long; 0: twice the budget */
    uint64_t not_before_ns; /* from begin to begin at least */
    uint64_t checkpoints;   /* that a tick passes, in order: 1, 2, ... */
    int32_t on_miss;        /* HORUS_MISS_* */
    int32_t on_failure;     /* HORUS_FAILURE_* */
    uint32_t failures_max;
    int32_t priority; /* under SCHED_FIFO, 1 to 99, if the system allows it */
    uint64_t pause_ns;
    int32_t is_pinned; /* HORUS_YES: its thread stays on `core` */
    uint32_t core;
    int32_t is_compute; /* HORUS_YES: takes long, may be late, shares threads with others such */
    int32_t is_awake; /* HORUS_YES: keeps the machine's processors from sleeping, if the system
                         allows it */
    const char *chain;              /* shares a thread with nodes of this chain; may be null */
    const horus_subscriber_t *wake; /* runs whenever one of these has messages, at most 128 */
    size_t wake_count;
    const char *const *reads; /* topics it reads besides: who writes them comes first */
    size_t reads_count;
    const char *const *writes; /* topics it writes */
    size_t writes_count;
} horus_node_options_t;

#ifndef __cplusplus
#define HORUS_NODE_OPTIONS_INIT {.struct_bytes = (uint32_t)sizeof(horus_node_options_t)}
#endif

/* ---- Schedulers --------------------------------------------------------------------------- */

/* Runs nodes. */
typedef struct horus_scheduler {
    uint64_t id;
} horus_scheduler_t;

/* Something that happened to a node, or to the scheduler (`node` is "" then). */
typedef struct horus_event {
    uint32_t struct_bytes;
    uint32_t process_id;
    int32_t kind;  /* a constant of the message NodeEvent, docs/messages.md */
    int32_t level; /* 0 as it should be, 1 warning, 2 error */
    uint64_t timestamp_ns;
    uint64_t monotonic_ns;
    uint64_t tick;
    uint64_t value_ns; /* how long or how late */
    const char *node;
    const char *text;
    const char *line; /* all of it, for a person */
} horus_event_t;

typedef struct horus_scheduler_options {
    uint32_t struct_bytes;
    uint32_t compute_threads;     /* for nodes that compute; 0: one less than there are cores */
    const char *name;             /* where others look for it; null: the program's name */
    horus_namespace_t name_space; /* of what others see of it */
    double main_rate_hz;          /* of nodes without a rate; 0: 100 */
    int32_t stop_on_signals;      /* HORUS_YES: SIGINT and SIGTERM stop the run */
    int32_t use_kernel_clock;     /* HORUS_YES: do not trust the processor's counter */
    /* Told of events, from another thread, some ms later; else stderr is told of what is wrong. */
    void (*on_event)(void *user, const horus_event_t *event);
    void *on_event_user;
} horus_scheduler_options_t;

#ifndef __cplusplus
#define HORUS_SCHEDULER_OPTIONS_INIT {.struct_bytes = (uint32_t)sizeof(horus_scheduler_options_t)}
#endif

enum {
    HORUS_REASON_ASKED = 1,  /* it was asked to: horus_scheduler_stop, a node, a command */
    HORUS_REASON_OVER = 2,   /* its time was over */
    HORUS_REASON_SIGNAL = 3, /* the process got `signal` */
    HORUS_REASON_NODE = 4    /* `node` failed or was late: `error` */
};

/* What a run came to. */
typedef struct horus_report {
    uint32_t struct_bytes;
    int32_t reason; /* HORUS_REASON_* */
    int32_t signal;
    int32_t exit_code; /* for the process: 0, 1 if a node failed, 128 and the signal */
    char scheduler[72];
    char node[72];
    char error[512];
} horus_report_t;

enum {
    HORUS_HEALTH_ACTIVE = 1,
    HORUS_HEALTH_PAUSED = 2,
    HORUS_HEALTH_RESTING = 3, /* it has failed */
    HORUS_HEALTH_SAFE = 4,    /* in its safe state */
    HORUS_HEALTH_STOPPED = 5
};

/* What a node has done so far. Histograms count times below 1, 2, 4, ... ns. */
typedef struct horus_metrics {
    uint32_t struct_bytes;
    int32_t health; /* HORUS_HEALTH_* */
    uint64_t ticks;
    uint64_t last_ns; /* how long the last tick took, and the longest */
    uint64_t max_ns;
    uint64_t misses;
    uint64_t skipped_ticks; /* due times without a tick */
    uint64_t failures;
    uint64_t panics;
    uint64_t durations[40];
    uint64_t lateness[40];
} horus_metrics_t;

#ifndef __cplusplus
#define HORUS_REPORT_INIT {.struct_bytes = (uint32_t)sizeof(horus_report_t)}
#define HORUS_METRICS_INIT {.struct_bytes = (uint32_t)sizeof(horus_metrics_t)}
#endif

/*
 * Opens a scheduler without nodes; `options` may be null. Takes some milliseconds the first time.
 *
 * Errors: HORUS_E_ARGUMENT, HORUS_E_LIMIT.
 */
horus_status_t horus_scheduler_open(const horus_scheduler_options_t *options,
                                    horus_scheduler_t *out);

/*
 * Stops the scheduler, shuts its nodes down in reverse order and closes the handle. Blocks until
 * calls with it have returned and nodes are out of their ticks, of which those with a thread of
 * their own are left behind after 0.8 s.
 *
 * Errors: HORUS_E_BUSY in a callback of the scheduler: nothing is done.
 */
horus_status_t horus_scheduler_close(horus_scheduler_t scheduler);

/*
 * Adds a node. `options` may be null. What is passed is copied; `user` is the library's until
 * `destroy`. Subscribers in `wake` stay open for as long as the scheduler runs, and are used by the
 * node alone.
 *
 * Errors: HORUS_E_NODE if what is asked for contradicts itself (the text says why), HORUS_E_NULL
 * without a tick, HORUS_E_ARGUMENT, HORUS_E_STATE after the start, HORUS_E_HANDLE for a subscriber.
 */
horus_status_t horus_scheduler_add_node(horus_scheduler_t scheduler, const char *name,
                                        const horus_node_options_t *options,
                                        const horus_node_t *node);

/*
 * Initialises the nodes, in order, and starts their threads. The calls below do that by themselves.
 *
 * This call and those below return HORUS_E_FAILED when a node has failed or was late and its policy
 * has ended the run: the text says which node, and why. A program that ends with an error status
 * after any error does so, too, when a node has failed. The nodes are shut down by the call that
 * returns it, and by horus_scheduler_run, _finish and _close; after _run and _finish,
 * horus_scheduler_report says more. A node that is left behind at the end has failed, too.
 *
 * Outcomes: HORUS_STOPPED if everything is to stop already. Errors: HORUS_E_FAILED, for instance
 * after a failed init; HORUS_E_STATE the second time; and, after which the scheduler can only be
 * closed, what horus_publisher_open says, if nobody could be shown what happens, and
 * HORUS_E_SYSTEM.
 */
horus_status_t horus_scheduler_start(horus_scheduler_t scheduler);

/*
 * Gives every node that has neither a rate nor a topic one turn, now, on this thread. Blocks only
 * in the nodes and in the end of a run that failed; some 15 ns and 40 ns a node.
 *
 * Outcomes: HORUS_STOPPED if everything is to stop: then nothing was done. Errors: HORUS_E_FAILED.
 */
horus_status_t horus_scheduler_tick_once(horus_scheduler_t scheduler);

/*
 * Runs for `time_ns`; can be called again. Blocks.
 *
 * Outcomes: HORUS_STOPPED if everything is to stop. Errors: HORUS_E_FAILED.
 */
horus_status_t horus_scheduler_run_for(horus_scheduler_t scheduler, int64_t time_ns);

/*
 * Runs until something stops it, then does what horus_scheduler_finish does. Blocks.
 *
 * Errors: HORUS_E_FAILED if a node failed and ended the run. The run is over then, and
 * horus_scheduler_report has its report.
 */
horus_status_t horus_scheduler_run(horus_scheduler_t scheduler);

/*
 * Stops everything and shuts all nodes down, in reverse order. Blocks for a second at most, if
 * nodes on this thread do not hang.
 *
 * Errors: HORUS_E_STATE unless it runs; HORUS_E_FAILED as horus_scheduler_run.
 */
horus_status_t horus_scheduler_finish(horus_scheduler_t scheduler);

/* What the run came to. Errors: HORUS_E_STATE before it is over. */
horus_status_t horus_scheduler_report(horus_scheduler_t scheduler, horus_report_t *out);

/* 1 if it was started and nothing has stopped it, else 0; or HORUS_E_HANDLE. A nanosecond or two. */
horus_status_t horus_scheduler_is_running(horus_scheduler_t scheduler);

/* Has everything stop after the present ticks. Never blocks. */
horus_status_t horus_scheduler_stop(horus_scheduler_t scheduler);

/*
 * The node ticks no more until it is resumed; it stays as it is. Orders are noted and carried out
 * before the node's next turn: nobody waits for it. Errors, here and below: HORUS_E_NODE.
 */
horus_status_t horus_scheduler_pause(horus_scheduler_t scheduler, const char *node);

/* A paused node ticks again. */
horus_status_t horus_scheduler_resume(horus_scheduler_t scheduler, const char *node);

/* The node is shut down, for the rest of the run. */
horus_status_t horus_scheduler_stop_node(horus_scheduler_t scheduler, const char *node);

/* The node, which has a rate, ticks at another one; budget and deadline change with it. */
horus_status_t horus_scheduler_set_rate(horus_scheduler_t scheduler, const char *node,
                                        double rate_hz);

/* What the node has done so far, also after the run. Disturbs nobody. Errors: HORUS_E_NODE. */
horus_status_t horus_scheduler_metrics(horus_scheduler_t scheduler, const char *node,
                                       horus_metrics_t *out);

#ifdef __cplusplus
}
#endif

#endif /* HORUS_SCHEDULER_H */
