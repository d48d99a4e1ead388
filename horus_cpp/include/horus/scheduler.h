/*
 * horus: nodes and schedulers in C. Included by horus.h, whose conventions hold here, except:
 *
 * Threads   horus_scheduler_is_running, _stop, _pause, _resume, _stop_node, _set_rate and _metrics
 *           may be called by any number of threads at any time, also from callbacks. Only one of
 *           the other calls on a scheduler is executed at a time; a second one returns
 *           HORUS_E_BUSY, in optimised builds too, and so does any of them in a callback of that
 *           scheduler, also within a callback of another scheduler that this callback runs.
 * Callbacks `tick` of a node with a rate, a topic or `is_compute` is called from threads of the
 *           library, of another node from the thread that runs the scheduler. The first `init` of
 *           each node comes from the thread that starts the run, the last `shutdown` from the one
 *           that ends it. The thread of the ticks makes these calls in a restart, and calls
 *           `shutdown` after horus_scheduler_stop_node. `enter_safe_state` may come from any of
 *           these threads, during the start also from one of its own. The calls of one
 *           node never overlap, except `safe_state`. They must return, and must not leave by
 *           longjmp, pthread_exit or a C++ exception (scheduler.hpp catches exceptions).
 *           pthread_cancel of a thread takes effect when the thread has left the library's calls,
 *           and never for threads that the library has started.
 */
#ifndef HORUS_SCHEDULER_H
#define HORUS_SCHEDULER_H

#include "horus.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Contexts ----------------------------------------------------------------------------- */

/*
 * Information about the tick of a callback. It is valid until the callback returns, and only in the
 * thread of the callback. For a null context, each function here returns an error, and those that
 * return a number return 0 (and set horus_last_error_message). In `shutdown`, `enter_safe_state`
 * and `safe_state` a context can only set an error; other functions return HORUS_E_STATE, or 0. Each
 * call takes a few nanoseconds.
 */
typedef struct horus_context horus_context_t;

/* Returns the number of this tick of this node, from 0 on. */
uint64_t horus_context_tick(horus_context_t *context);

/* Returns the due time of the tick, by CLOCK_MONOTONIC. */
uint64_t horus_context_scheduled_ns(horus_context_t *context);

/* Returns the start time of the tick, by CLOCK_MONOTONIC. */
uint64_t horus_context_started_ns(horus_context_t *context);

/* Returns the time from one tick to the next; 0 without a rate. */
uint64_t horus_context_period_ns(horus_context_t *context);

/* Returns the rest of the budget in ns; 0 if it is used up, UINT64_MAX if the node has no budget.
 * Reads the clock. */
uint64_t horus_context_budget_left_ns(horus_context_t *context);

/* Returns 1 if the node is in its safe state during this tick: send nothing then that ends it. That
 * happens only with HORUS_MISS_SAFE_MODE, and with HORUS_MISS_GRADUATED after an isolation. Else
 * 0. */
uint64_t horus_context_in_safe_state(horus_context_t *context);

/* Returns 64 random bits from the generator of this node. Not for secrets. */
uint64_t horus_context_random(horus_context_t *context);

/* Returns a random number from 0 to 1, excluding 1. */
double horus_context_random_double(horus_context_t *context);

/* Passes a checkpoint; see `checkpoints` of horus_node_options_t. */
horus_status_t horus_context_checkpoint(horus_context_t *context, uint64_t checkpoint);

/* Stops the scheduler after this tick: all nodes are shut down, in reverse order. */
horus_status_t horus_context_stop(horus_context_t *context);

/*
 * Sets the error text of the callback, for the case that it returns a number other than 0. The text
 * is UTF-8 with up to 4096 bytes, and is copied. A later call replaces the text. If the callback
 * returns 0, the text is dropped.
 */
horus_status_t horus_context_set_error(horus_context_t *context, const char *error);

/* ---- Nodes -------------------------------------------------------------------------------- */

/*
 * The callbacks of a node. Each one gets `user`. All except `tick` may be null. Those that return
 * int32_t and have a context return 0, or any other number for a failure. After a failed tick or
 * init, the policy `on_failure` of the options is applied.
 */
typedef struct horus_node {
    uint32_t struct_bytes;
    uint32_t reserved;
    void *user;
    int32_t (*tick)(void *user, horus_context_t *context);
    /* Called before the first tick, and again after a restart. */
    int32_t (*init)(void *user, horus_context_t *context);
    /* Called after the last tick, and before each restart. A failure is reported, and has no other
     * effect. At a regular end, such as a signal with stop_on_signals or horus_context_stop, and
     * after horus_scheduler_stop_node, this is called without enter_safe_state: a node that drives
     * something stops it in both. Without stop_on_signals, a signal ends the process at once, and
     * nothing is called. */
    int32_t (*shutdown)(void *user, horus_context_t *context);
    /* Brings the devices of the node into a state that is safe for people and machine. Called in an
     * emergency stop, by a policy, and at the end of a run that failed. A node without it only
     * stops to tick in an emergency stop, and counts as safe; its last command stays in force.
     * After a result other than 0, the node does not count as safe until it enters its safe state
     * again. */
    int32_t (*enter_safe_state)(void *user, horus_context_t *context);
    /* Returns 1 if the safe state has been reached, else 0. Called right after enter_safe_state,
     * and then before each tick and at least every 20 ms until it returns 1, which is recorded in
     * the black box. Until then, the node does not count as safe. */
    int32_t (*is_safe_state)(void *user);
    /* Called for each failure of the node, before the policy is applied. `error` is valid during
     * the call. */
    void (*on_error)(void *user, const char *error);
    /*
     * Brings the devices of the node into a safe state while a tick hangs. It is called once per
     * hang, from another thread, concurrently with the tick: when a tick takes longer than the
     * watchdog allows, or is still running after the run has ended. It must return within some
     * milliseconds: until then, no other node is watched, and no emergency stop, command or signal
     * is applied. Start a thread for longer work; the event SAFE_STATE_ENTERED then only means that
     * the callback has returned. The context can only set an error. The node needs a rate, a budget
     * or a watchdog; otherwise the error is HORUS_E_NODE.
     */
    int32_t (*safe_state)(void *user, horus_context_t *context);
    /* Frees `user`. It is the last call for the node, from any thread. It is not called if
     * horus_scheduler_add_node failed. */
    void (*destroy)(void *user);
} horus_node_t;

#ifndef __cplusplus
#define HORUS_NODE_INIT {.struct_bytes = (uint32_t)sizeof(horus_node_t)}
#endif

enum {
    HORUS_MISS_WARN = 1,      /* the miss is counted and reported: the default */
    HORUS_MISS_SKIP = 2,      /* the next tick is skipped */
    HORUS_MISS_SAFE_MODE = 3, /* the node enters its safe state, and leaves it after ten ticks in a
                                 row without a miss. It ticks meanwhile: a tick that sends a command
                                 undoes what enter_safe_state did, so it must send none while
                                 horus_context_in_safe_state */
    HORUS_MISS_GRADUATED = 4, /* misses in steps: warning, half rate, isolation, end of the run */
    HORUS_MISS_STOP = 5       /* the run ends, with every node in its safe state */
};

enum {
    /* The run ends, with every node in its safe state: the default. A node with a thread enters it
     * after its present tick, or within 20 ms; the others when their thread calls the scheduler. */
    HORUS_FAILURE_FATAL = 1,
    HORUS_FAILURE_RESTART = 2, /* shutdown and init after `pause_ns`, which doubles each time, up to
                                  a minute (a longer one counts as a minute); the run ends after
                                  more than `failures_max` failures in a row. Failures more than a
                                  minute apart are not in a row */
    HORUS_FAILURE_SKIP = 3,    /* the tick is lost; after more than `failures_max` failures in a row
                                  the node does not tick for `pause_ns`. Failures more than a
                                  minute apart are not in a row */
    HORUS_FAILURE_IGNORE = 4   /* the failure is counted and reported */
};

/* A `priority` of 0, which is refused: the number 0 selects none. */
#define HORUS_PRIORITY_ZERO INT32_MIN

/*
 * The settings of a node. If all are 0, it ticks on the thread that runs the scheduler. A time above
 * INT64_MAX is HORUS_E_ARGUMENT. A budget, deadline or watchdog of HORUS_TIME_ZERO is HORUS_E_NODE.
 */
typedef struct horus_node_options {
    uint32_t struct_bytes;
    int32_t order;          /* nodes on one thread: smaller ones tick first */
    double rate_hz;         /* rate on a thread of its own, from 0.000001 to 1,000,000, as all rates
                               are; implies budget and deadline */
    double at_most_hz;      /* the highest rate of a node that topics wake */
    uint64_t budget_ns;     /* the longest duration of a tick; 0: 80 % of the period, or the time
                               of deadline_ns or watchdog_ns if that is shorter */
    uint64_t deadline_ns;   /* the latest end of a tick after it was due; 0: 95 % of the period */
    uint64_t watchdog_ns;   /* a longer tick counts as hung; 0: twice the budget */
    uint64_t miss_if_sooner_than_ns; /* a tick that starts sooner after the last start runs, but is
                                        a miss */
    uint64_t checkpoints;   /* the number of checkpoints that a tick passes in order: 1, 2, ... */
    int32_t on_miss;        /* HORUS_MISS_* */
    int32_t on_failure;     /* HORUS_FAILURE_* */
    uint32_t failures_max;  /* for HORUS_FAILURE_RESTART and _SKIP */
    int32_t priority;       /* SCHED_FIFO priority, 1 to 99, if the system allows it */
    uint64_t pause_ns;      /* for HORUS_FAILURE_RESTART and _SKIP */
    int32_t is_pinned; /* HORUS_YES: its thread stays on `core` */
    uint32_t core;
    int32_t is_compute; /* HORUS_YES: the node takes long and may be late; a thread pool runs it */
    int32_t is_awake;   /* HORUS_YES: keeps the CPUs of the machine from idle sleep states, if the
                           system allows it */
    const char *chain;              /* nodes of the same chain share a thread; may be null */
    const horus_subscriber_t *wake; /* a message on any of these starts a tick; at most 128 */
    size_t wake_count;
    const char *const *reads; /* other topics that the node reads: their writers tick before it; at
                                 most 128 */
    size_t reads_count;
    const char *const *writes; /* topics that the node writes; at most 128 */
    size_t writes_count;
} horus_node_options_t;

#ifndef __cplusplus
#define HORUS_NODE_OPTIONS_INIT {.struct_bytes = (uint32_t)sizeof(horus_node_options_t)}
#endif

/* ---- Schedulers --------------------------------------------------------------------------- */

/* A scheduler, which runs nodes. */
typedef struct horus_scheduler {
    uint64_t id;
} horus_scheduler_t;

/* An event of a node, or of the scheduler (then `node` is ""). */
typedef struct horus_event {
    uint32_t struct_bytes;
    uint32_t process_id;
    int32_t kind;  /* a constant of the message NodeEvent, docs/messages.md */
    int32_t level; /* 0 information, 1 warning, 2 error */
    uint64_t timestamp_ns;
    uint64_t monotonic_ns;
    uint64_t tick;
    uint64_t value_ns; /* the duration or lateness that the event is about */
    const char *node;
    const char *text;
    const char *line; /* the whole event as text for people */
} horus_event_t;

typedef struct horus_scheduler_options {
    uint32_t struct_bytes;
    uint32_t compute_threads;     /* for compute nodes; 0: one less than there are CPUs */
    const char *name;             /* its name for other processes, cut after 64 bytes; null: the
                                     program's name */
    horus_namespace_t name_space; /* the namespace in which other processes see the scheduler */
    double main_rate_hz;          /* the rate of nodes without a rate of their own; 0: 100 */
    int32_t stop_on_signals;      /* HORUS_YES: SIGINT, SIGTERM and SIGHUP stop the run */
    int32_t use_kernel_clock;     /* HORUS_YES: use the kernel's clock, not the CPU's counter */
    /* Called for each event by the thread that watches the nodes, some ms after it. It must return
     * soon: until then, no emergency stop, command or signal is applied, and no node is found that
     * hangs. Hand slow work to a thread of your own. If null, warnings and errors are logged if the
     * process has opened its log, and printed to stderr otherwise. It gets `on_event_user`, which
     * must exist until horus_scheduler_close has returned HORUS_OK. */
    void (*on_event)(void *user, const horus_event_t *event);
    void *on_event_user;
} horus_scheduler_options_t;

#ifndef __cplusplus
#define HORUS_SCHEDULER_OPTIONS_INIT {.struct_bytes = (uint32_t)sizeof(horus_scheduler_options_t)}
#endif

enum {
    HORUS_REASON_REQUESTED = 1,        /* by horus_scheduler_stop, by a node or by a command */
    HORUS_REASON_DURATION_ELAPSED = 2, /* the duration of the run has passed */
    HORUS_REASON_SIGNAL = 3,           /* the process got the signal `signal` */
    HORUS_REASON_NODE = 4              /* `node` failed or was late; `error` says why */
};

/* The report of a run. */
typedef struct horus_report {
    uint32_t struct_bytes;
    int32_t reason; /* HORUS_REASON_* */
    int32_t signal;
    int32_t exit_code; /* for the process: 0, 1 if a node failed, or 128 + signal */
    char scheduler[72];
    char node[72];
    char error[512];
} horus_report_t;

enum {
    HORUS_HEALTH_ACTIVE = 1,
    HORUS_HEALTH_PAUSED = 2,
    HORUS_HEALTH_BACKING_OFF = 3, /* it pauses after failures */
    HORUS_HEALTH_SAFE = 4,        /* it is in its safe state */
    HORUS_HEALTH_STOPPED = 5      /* it is shut down */
};

/* The metrics of a node. `durations` and `lateness` are histograms: bucket i counts times below 2^i
 * ns that are not in an earlier bucket; the last bucket also counts all longer times. */
typedef struct horus_metrics {
    uint32_t struct_bytes;
    int32_t health; /* HORUS_HEALTH_* */
    uint64_t ticks;
    uint64_t last_ns; /* the duration of the last tick */
    uint64_t max_ns;  /* the duration of the longest tick */
    uint64_t misses;        /* ticks that were late, too long or too early, faults of checkpoints */
    uint64_t skipped_ticks; /* due times at which no tick began */
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
 * Opens a scheduler without nodes. `options` may be null. The first call takes some milliseconds.
 *
 * Errors: HORUS_E_ARGUMENT, HORUS_E_LIMIT.
 */
horus_status_t horus_scheduler_open(const horus_scheduler_options_t *options,
                                    horus_scheduler_t *out);

/*
 * Stops the scheduler, shuts its nodes down in reverse order and closes the handle. Blocks until
 * calls with the handle have returned and nodes have left their ticks. After 0.8 s it no longer
 * waits for the ticks of nodes with a thread of their own: they are left behind. It waits without a
 * limit for each `init`, `shutdown`, `enter_safe_state` and `destroy`. No call of `on_event` begins
 * after this call.
 *
 * Outcomes: HORUS_TIMEOUT if a call of `on_event` has not returned after a second. The handle is
 * closed, but `on_event_user` is in use until that call returns.
 *
 * Errors: HORUS_E_BUSY in a callback of the scheduler: nothing is done, so call
 * horus_scheduler_stop there, and close the handle after the run.
 */
horus_status_t horus_scheduler_close(horus_scheduler_t scheduler);

/*
 * Adds a node. `options` may be null. The arguments are copied; `user` belongs to the library until
 * `destroy`. Subscribers in `wake` must stay open while the scheduler runs, and only the node may
 * use them.
 *
 * Errors: HORUS_E_NODE if the settings contradict each other (the text says why), HORUS_E_NULL
 * without a tick, HORUS_E_ARGUMENT, HORUS_E_STATE after the start, HORUS_E_HANDLE for a subscriber.
 */
horus_status_t horus_scheduler_add_node(horus_scheduler_t scheduler, const char *name,
                                        const horus_node_options_t *options,
                                        const horus_node_t *node);

/*
 * Initialises the nodes, in order, and starts their threads. Blocks until each `init` has returned.
 * The calls below do this automatically.
 *
 * This call and those below return HORUS_E_FAILED if a node failed or was late and its policy has
 * ended the run: the text names the node and the reason. A program that exits with an error status
 * after any error therefore also does so after a failure of a node. The call that returns
 * HORUS_E_FAILED shuts the nodes down, also after a failed init, as do horus_scheduler_run, _finish
 * and _close. After _run and _finish, horus_scheduler_report has the details. A node that is left
 * behind at the end has failed, too.
 *
 * Outcomes: HORUS_STOPPED if the run is to stop already. Errors: HORUS_E_FAILED, for instance after
 * a failed init; HORUS_E_STATE if the scheduler was started before; HORUS_E_SYSTEM; and the errors
 * of horus_publisher_open if the topics that show the scheduler to other processes cannot be
 * opened. After the last two, the scheduler can only be closed.
 */
horus_status_t horus_scheduler_start(horus_scheduler_t scheduler);

/*
 * Ticks every node that has neither a rate, a topic nor `is_compute` once, on this thread. Blocks
 * only while the nodes do, and at the end of a run that failed; takes some 15 ns, and 40 ns for
 * each node.
 *
 * Outcomes: HORUS_STOPPED if the run is to stop: no node was ticked. Errors: HORUS_E_FAILED.
 */
horus_status_t horus_scheduler_tick_once(horus_scheduler_t scheduler);

/*
 * Ticks the nodes of this thread for `time_ns`, and returns; if it is negative, until the run is
 * stopped. It can be called again. The run goes on: nodes with threads of the library tick also
 * after the call, until horus_scheduler_finish, _stop or _close (`run_for` in Python ends the run).
 * Blocks.
 *
 * Outcomes: HORUS_STOPPED if the run is to stop. Errors: HORUS_E_FAILED.
 */
horus_status_t horus_scheduler_run_for(horus_scheduler_t scheduler, int64_t time_ns);

/*
 * Runs until it is stopped, then acts like horus_scheduler_finish. Blocks.
 *
 * Errors: HORUS_E_NODE without nodes; HORUS_E_FAILED if a node failed and ended the run. The run
 * has ended then, and horus_scheduler_report returns its report.
 */
horus_status_t horus_scheduler_run(horus_scheduler_t scheduler);

/*
 * Stops the run and shuts all nodes down, in reverse order. Blocks for at most a second, unless an
 * `init`, `shutdown`, `enter_safe_state` or `destroy` of any node, or a tick on this thread, does
 * not return.
 *
 * Errors: HORUS_E_STATE unless the scheduler runs; HORUS_E_FAILED as for horus_scheduler_run.
 */
horus_status_t horus_scheduler_finish(horus_scheduler_t scheduler);

/* Gets the report of the run. Errors: HORUS_E_STATE before the run has ended. */
horus_status_t horus_scheduler_report(horus_scheduler_t scheduler, horus_report_t *out);

/*
 * Returns 1 if the scheduler runs and was not stopped, else 0, or HORUS_E_HANDLE or HORUS_E_FORKED.
 * In 1 to 2 ns; in a forked child, in 10 times that.
 */
horus_status_t horus_scheduler_is_running(horus_scheduler_t scheduler);

/* Stops the run after the current ticks. Never blocks. */
horus_status_t horus_scheduler_stop(horus_scheduler_t scheduler);

/*
 * Stops the ticks of the node until it is resumed; its state is kept. No callback of it is called,
 * so what it has set in motion keeps moving. Commands are stored and applied before the next tick
 * of the node; no call waits for it. Errors, here and below: HORUS_E_NODE.
 */
horus_status_t horus_scheduler_pause(horus_scheduler_t scheduler, const char *node);

/* Lets a paused node tick again. */
horus_status_t horus_scheduler_resume(horus_scheduler_t scheduler, const char *node);

/* Shuts the node down for the rest of the run: calls `shutdown`, and not `enter_safe_state`. */
horus_status_t horus_scheduler_stop_node(horus_scheduler_t scheduler, const char *node);

/* Changes the rate of a node that has one, and of all nodes of its chain. Budget and deadline
 * follow, unless they were set; HORUS_E_NODE if these do not fit. */
horus_status_t horus_scheduler_set_rate(horus_scheduler_t scheduler, const char *node,
                                        double rate_hz);

/* Gets the metrics of the node, also after the run. Delays no node. Errors: HORUS_E_NODE. */
horus_status_t horus_scheduler_metrics(horus_scheduler_t scheduler, const char *node,
                                       horus_metrics_t *out);

#ifdef __cplusplus
}
#endif

#endif /* HORUS_SCHEDULER_H */
