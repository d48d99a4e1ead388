/* Nodes and a scheduler from C: each function, policies, errors, commands, the end of a run. */
#include "check.h"

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

typedef struct robot {
    atomic_int ticks, inits, shutdowns, safe, errors, destroyed;
    int fails_from;
    char said[128];
    horus_scheduler_t scheduler;
} robot_t;

static int32_t tick(void *user, horus_context_t *context) {
    robot_t *robot = user;
    int number = robot->ticks++;
    CHECK(horus_context_tick(context) <= (uint64_t)number);
    CHECK(horus_context_started_ns(context) >= horus_context_scheduled_ns(context));
    CHECK(horus_context_random_double(context) < 1);
    CHECK(horus_context_random(context) != horus_context_random(context));
    if (robot->fails_from > 0 && number + 1 >= robot->fails_from) {
        EXPECT(HORUS_OK, horus_context_set_error(context, "the wheel fell off"));
        return 7;
    }
    return 0;
}

static int32_t init(void *user, horus_context_t *context) {
    CHECK(horus_context_started_ns(context) > 0);
    ((robot_t *)user)->inits++;
    return 0;
}

static int32_t finish(void *user, horus_context_t *context) {
    CHECK(horus_context_tick(context) == 0);
    EXPECT(HORUS_E_STATE, horus_context_stop(context));
    ((robot_t *)user)->shutdowns++;
    return 0;
}

static int32_t enter_safe_state(void *user, horus_context_t *context) {
    (void)context;
    ((robot_t *)user)->safe++;
    return 0;
}

static int32_t is_safe_state(void *user) { return ((robot_t *)user)->safe > 0; }

static void on_error(void *user, const char *error) {
    robot_t *robot = user;
    robot->errors++;
    strncpy(robot->said, error, sizeof robot->said - 1);
}

static void destroy(void *user) { ((robot_t *)user)->destroyed++; }

static horus_node_t node_of(robot_t *robot) {
    horus_node_t node = HORUS_NODE_INIT;
    node.user = robot;
    node.tick = tick;
    node.init = init;
    node.shutdown = finish;
    node.enter_safe_state = enter_safe_state;
    node.is_safe_state = is_safe_state;
    node.on_error = on_error;
    node.destroy = destroy;
    return node;
}

static void hear(void *user, const horus_event_t *event) {
    CHECK(event->struct_bytes == sizeof *event && event->line[0] != 0 && event->node != NULL);
    ++*(atomic_int *)user;
}

static horus_scheduler_t opened(atomic_int *events) {
    horus_scheduler_options_t options = HORUS_SCHEDULER_OPTIONS_INIT;
    horus_scheduler_t scheduler;
    options.name = "nodes";
    options.on_event = hear;
    options.on_event_user = events;
    EXPECT(HORUS_OK, horus_scheduler_open(&options, &scheduler));
    return scheduler;
}

static void a_life(void) {
    atomic_int events = 0;
    robot_t robot = {0};
    horus_node_t node = node_of(&robot);
    horus_report_t report = HORUS_REPORT_INIT;
    horus_metrics_t figures = HORUS_METRICS_INIT;
    horus_scheduler_t scheduler = opened(&events);
    CHECK(horus_scheduler_is_running(scheduler) == 0);
    EXPECT(HORUS_OK, horus_scheduler_add_node(scheduler, "robot", NULL, &node));
    EXPECT(HORUS_E_NODE, horus_scheduler_add_node(scheduler, "robot", NULL, &node));
    CHECK(robot.destroyed == 0);
    EXPECT(HORUS_E_STATE, horus_scheduler_report(scheduler, &report));
    EXPECT(HORUS_OK, horus_scheduler_start(scheduler));
    CHECK(robot.inits == 1 && horus_scheduler_is_running(scheduler) == 1);
    EXPECT(HORUS_E_STATE, horus_scheduler_start(scheduler));
    EXPECT(HORUS_E_STATE, horus_scheduler_add_node(scheduler, "late", NULL, &node));
    for (int i = 0; i < 100; i++) {
        EXPECT(HORUS_OK, horus_scheduler_tick_once(scheduler));
    }
    CHECK(robot.ticks == 100);
    EXPECT(HORUS_OK, horus_scheduler_pause(scheduler, "robot"));
    EXPECT(HORUS_OK, horus_scheduler_tick_once(scheduler));
    CHECK(robot.ticks == 100);
    EXPECT(HORUS_OK, horus_scheduler_metrics(scheduler, "robot", &figures));
    CHECK(figures.ticks == 100 && figures.health == HORUS_HEALTH_PAUSED);
    EXPECT(HORUS_OK, horus_scheduler_resume(scheduler, "robot"));
    EXPECT(HORUS_OK, horus_scheduler_tick_once(scheduler));
    CHECK(robot.ticks == 101);
    EXPECT(HORUS_E_NODE, horus_scheduler_set_rate(scheduler, "robot", 10));
    EXPECT(HORUS_E_NODE, horus_scheduler_pause(scheduler, "unknown"));
    CHECK(strstr(horus_last_error_message(), "robot") != NULL);
    EXPECT(HORUS_OK, horus_scheduler_run_for(scheduler, 30000000));
    EXPECT(HORUS_OK, horus_scheduler_stop_node(scheduler, "robot"));
    EXPECT(HORUS_OK, horus_scheduler_tick_once(scheduler));
    CHECK(robot.shutdowns == 1);
    EXPECT(HORUS_OK, horus_scheduler_finish(scheduler));
    CHECK(robot.shutdowns == 1 && robot.safe == 0 && robot.destroyed == 1 && events > 0);
    CHECK(horus_scheduler_is_running(scheduler) == 0);
    EXPECT(HORUS_E_STATE, horus_scheduler_tick_once(scheduler));
    EXPECT(HORUS_OK, horus_scheduler_report(scheduler, &report));
    CHECK(report.reason == HORUS_REASON_DURATION_ELAPSED && report.exit_code == 0);
    CHECK(strncmp(report.scheduler, "nodes", 5) == 0);
    EXPECT(HORUS_OK, horus_scheduler_close(scheduler));
    EXPECT(HORUS_E_HANDLE, horus_scheduler_close(scheduler));
    CHECK(horus_scheduler_is_running(scheduler) == HORUS_E_HANDLE);
}

/* Checks `ticks` before the end, or a limit, for each policy. */
static void policies(void) {
    const int32_t kinds[] = {HORUS_FAILURE_FATAL, HORUS_FAILURE_RESTART, HORUS_FAILURE_SKIP,
                             HORUS_FAILURE_IGNORE, HORUS_UNSET};
    for (int i = 0; i < 5; i++) {
        atomic_int events = 0;
        robot_t robot = {.fails_from = 3};
        horus_node_t node = node_of(&robot);
        horus_node_options_t options = HORUS_NODE_OPTIONS_INIT;
        horus_report_t report = HORUS_REPORT_INIT;
        horus_scheduler_t scheduler = opened(&events);
        horus_status_t status = HORUS_OK;
        options.on_failure = kinds[i];
        options.failures_max = 2;
        options.pause_ns = kinds[i] == HORUS_FAILURE_SKIP ? 3600000000000u : 1;
        EXPECT(HORUS_OK, horus_scheduler_add_node(scheduler, "robot", &options, &node));
        for (int call = 0; call < 1000 && status == HORUS_OK; call++) {
            status = horus_scheduler_tick_once(scheduler);
        }
        CHECK(strcmp(robot.said, "the wheel fell off") == 0);
        if (status == HORUS_OK) {
            EXPECT(HORUS_OK, horus_scheduler_finish(scheduler));
        } else {
            EXPECT(HORUS_E_FAILED, status);
            CHECK(strstr(horus_last_error_message(), "node 'robot' failed: the wheel fell off"));
            CHECK(horus_scheduler_is_running(scheduler) == 0);
            EXPECT(HORUS_E_FAILED, horus_scheduler_run_for(scheduler, 1));
            EXPECT(HORUS_E_FAILED, horus_scheduler_finish(scheduler));
            CHECK(strstr(horus_last_error_message(), "node 'robot' failed: the wheel fell off"));
            EXPECT(HORUS_E_STATE, horus_scheduler_finish(scheduler));
        }
        EXPECT(HORUS_OK, horus_scheduler_report(scheduler, &report));
        switch (kinds[i]) {
        case HORUS_FAILURE_RESTART:
            CHECK(robot.inits == 3 && robot.errors == 3);
            break;
        case HORUS_FAILURE_SKIP:
            CHECK(robot.ticks == 5 && robot.errors == 3);
            break;
        case HORUS_FAILURE_IGNORE:
            CHECK(robot.ticks == 1000 && robot.errors == 998 && report.exit_code == 0);
            break;
        default:
            CHECK(robot.ticks == 3 && robot.safe == 1 && status == HORUS_E_FAILED);
            CHECK(report.reason == HORUS_REASON_NODE && report.exit_code == 1);
            CHECK(strcmp(report.node, "robot") == 0);
            CHECK(strcmp(report.error, "the wheel fell off") == 0);
        }
        CHECK(robot.destroyed == 1);
        EXPECT(HORUS_OK, horus_scheduler_close(scheduler));
    }
}

/* Calls the library from callbacks, on the scheduler's own threads and on the running one. */
static int32_t calls_back(void *user, horus_context_t *context) {
    robot_t *robot = user;
    horus_node_t node = node_of(robot);
    EXPECT(HORUS_E_BUSY, horus_scheduler_close(robot->scheduler));
    EXPECT(HORUS_E_BUSY, horus_scheduler_finish(robot->scheduler));
    EXPECT(HORUS_E_BUSY, horus_scheduler_run(robot->scheduler));
    EXPECT(HORUS_E_BUSY, horus_scheduler_tick_once(robot->scheduler));
    EXPECT(HORUS_E_BUSY, horus_scheduler_add_node(robot->scheduler, "b", NULL, &node));
    CHECK(horus_scheduler_is_running(robot->scheduler) == 1);
    if (++robot->ticks == 3) {
        EXPECT(HORUS_OK, horus_scheduler_stop(robot->scheduler));
    }
    (void)context;
    return 0;
}

static void pause_briefly(void) { nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); }

/* Runs while no thread is in a call of the scheduler: only the callback itself makes them busy. */
static void callbacks_that_call_a_started_scheduler(void) {
    atomic_int events = 0;
    robot_t robot = {0}, on_main = {0};
    horus_node_t node = HORUS_NODE_INIT, main_node = node_of(&on_main);
    horus_node_options_t options = HORUS_NODE_OPTIONS_INIT;
    robot.scheduler = opened(&events);
    node.user = &robot;
    node.tick = calls_back;
    options.rate_hz = 200;
    EXPECT(HORUS_OK, horus_scheduler_add_node(robot.scheduler, "back", &options, &node));
    EXPECT(HORUS_OK, horus_scheduler_add_node(robot.scheduler, "main", NULL, &main_node));
    EXPECT(HORUS_OK, horus_scheduler_start(robot.scheduler));
    while (robot.ticks < 3) {
        pause_briefly();
    }
    CHECK(on_main.inits == 1 && on_main.ticks == 0);
    EXPECT(HORUS_OK, horus_scheduler_finish(robot.scheduler));
    EXPECT(HORUS_OK, horus_scheduler_close(robot.scheduler));
}

/* Calls the scheduler in whose callback the scheduler of this node runs. */
static int32_t calls_the_outer_scheduler(void *user, horus_context_t *context) {
    (void)calls_back(user, context);
    return horus_context_stop(context);
}

static int32_t runs_another_scheduler(void *user, horus_context_t *context) {
    horus_node_t node = HORUS_NODE_INIT;
    horus_scheduler_t inner;
    node.user = user;
    node.tick = calls_the_outer_scheduler;
    EXPECT(HORUS_OK, horus_scheduler_open(NULL, &inner));
    EXPECT(HORUS_OK, horus_scheduler_add_node(inner, "inner", NULL, &node));
    EXPECT(HORUS_STOPPED, horus_scheduler_run_for(inner, 60000000000));
    EXPECT(HORUS_OK, horus_scheduler_close(inner));
    /* The end of the inner callback is not that of this one. */
    return ((robot_t *)user)->ticks < 3 ? calls_back(user, context) : 0;
}

static void callbacks_that_run_another_scheduler(void) {
    atomic_int events = 0;
    robot_t robot = {.scheduler = opened(&events)};
    horus_node_t node = HORUS_NODE_INIT;
    horus_node_options_t options = HORUS_NODE_OPTIONS_INIT;
    node.user = &robot;
    node.tick = runs_another_scheduler;
    options.rate_hz = 100;
    EXPECT(HORUS_OK, horus_scheduler_add_node(robot.scheduler, "outer", &options, &node));
    EXPECT(HORUS_OK, horus_scheduler_start(robot.scheduler));
    while (robot.ticks < 3) {
        pause_briefly();
    }
    EXPECT(HORUS_OK, horus_scheduler_close(robot.scheduler));
}

static void callbacks_that_call(int has_thread) {
    atomic_int events = 0;
    robot_t robot = {0};
    horus_node_t node = HORUS_NODE_INIT;
    horus_node_options_t options = HORUS_NODE_OPTIONS_INIT;
    horus_report_t report = HORUS_REPORT_INIT;
    robot.scheduler = opened(&events);
    node.user = &robot;
    node.tick = calls_back;
    options.rate_hz = has_thread ? 200 : 0;
    EXPECT(HORUS_OK, horus_scheduler_add_node(robot.scheduler, "back", &options, &node));
    EXPECT(HORUS_OK, horus_scheduler_run(robot.scheduler));
    CHECK(robot.ticks >= 3);
    EXPECT(HORUS_OK, horus_scheduler_report(robot.scheduler, &report));
    CHECK(report.reason == HORUS_REASON_REQUESTED);
    EXPECT(HORUS_OK, horus_scheduler_close(robot.scheduler));
}

static int32_t fail_in_init(void *user, horus_context_t *context) {
    (void)user;
    EXPECT(HORUS_OK, horus_context_set_error(context, "no camera"));
    return 1;
}

/* A program that ends after the error, without another call, has to leave no device switched on. */
static void a_start_that_fails_shuts_the_nodes_down(void) {
    atomic_int events = 0;
    robot_t on_main = {0}, with_thread = {0}, broken = {0};
    horus_node_t node = node_of(&on_main);
    horus_node_options_t options = HORUS_NODE_OPTIONS_INIT;
    horus_scheduler_t scheduler = opened(&events);
    EXPECT(HORUS_OK, horus_scheduler_add_node(scheduler, "main", NULL, &node));
    options.rate_hz = 100;
    node = node_of(&with_thread);
    EXPECT(HORUS_OK, horus_scheduler_add_node(scheduler, "thread", &options, &node));
    node = node_of(&broken);
    node.init = fail_in_init;
    EXPECT(HORUS_OK, horus_scheduler_add_node(scheduler, "broken", &options, &node));
    EXPECT(HORUS_E_FAILED, horus_scheduler_start(scheduler));
    CHECK(on_main.safe == 1 && on_main.shutdowns == 1);
    CHECK(with_thread.safe == 1 && with_thread.shutdowns == 1);
    CHECK(broken.safe == 0 && broken.shutdowns == 0 && broken.errors == 1);
    EXPECT(HORUS_E_FAILED, horus_scheduler_tick_once(scheduler));
    EXPECT(HORUS_E_FAILED, horus_scheduler_finish(scheduler));
    EXPECT(HORUS_OK, horus_scheduler_close(scheduler));
}

static int32_t receive(void *user, horus_context_t *context) {
    const horus_subscriber_t *subscriber = user;
    pair_t pair;
    size_t bytes;
    while (horus_subscriber_recv(*subscriber, &pair, sizeof pair, &bytes) == HORUS_OK) {
        if (pair.second == 10) {
            EXPECT(HORUS_OK, horus_context_stop(context));
        }
    }
    return 0;
}

static int32_t send(void *user, horus_context_t *context) {
    pair_t pair = {horus_context_tick(context), horus_context_tick(context)};
    CHECK(horus_publisher_send(*(horus_publisher_t *)user, &pair, sizeof pair) >= 0);
    return 0;
}

/* A node with a rate wakes another one by a topic. */
static void topics_wake(void) {
    atomic_int events = 0;
    horus_topic_options_t topic = pair_options(NULL);
    horus_publisher_t publisher;
    horus_subscriber_t subscriber, stale = {77};
    horus_node_t sender = HORUS_NODE_INIT, receiver = HORUS_NODE_INIT;
    horus_node_options_t at_rate = HORUS_NODE_OPTIONS_INIT, woken = HORUS_NODE_OPTIONS_INIT;
    horus_scheduler_t scheduler = opened(&events);
    const char *writes[] = {"pairs"};
    EXPECT(HORUS_OK, horus_publisher_open("pairs", &topic, &publisher));
    EXPECT(HORUS_OK, horus_subscriber_open("pairs", &topic, &subscriber));
    sender.user = &publisher;
    sender.tick = send;
    at_rate.rate_hz = 500;
    at_rate.writes = writes;
    at_rate.writes_count = 1;
    EXPECT(HORUS_OK, horus_scheduler_add_node(scheduler, "sender", &at_rate, &sender));
    receiver.user = &subscriber;
    receiver.tick = receive;
    woken.wake = &stale;
    woken.wake_count = 1;
    EXPECT(HORUS_E_HANDLE, horus_scheduler_add_node(scheduler, "receiver", &woken, &receiver));
    woken.wake = NULL;
    EXPECT(HORUS_E_NULL, horus_scheduler_add_node(scheduler, "receiver", &woken, &receiver));
    woken.wake = &subscriber;
    woken.rate_hz = 5;
    EXPECT(HORUS_E_NODE, horus_scheduler_add_node(scheduler, "receiver", &woken, &receiver));
    woken.rate_hz = 0;
    EXPECT(HORUS_OK, horus_scheduler_add_node(scheduler, "receiver", &woken, &receiver));
    EXPECT(HORUS_OK, horus_scheduler_run(scheduler));
    EXPECT(HORUS_OK, horus_scheduler_close(scheduler));
    EXPECT(HORUS_OK, horus_publisher_close(publisher));
    EXPECT(HORUS_OK, horus_subscriber_close(subscriber));
}

static void *run(void *scheduler) {
    horus_status_t status = horus_scheduler_run(*(horus_scheduler_t *)scheduler);
    CHECK(status == HORUS_OK || status == HORUS_E_HANDLE);
    return NULL;
}

/* Another thread runs the scheduler, and this one closes it. */
static void closed_while_it_runs(void) {
    for (int i = 0; i < 10; i++) {
        atomic_int events = 0;
        robot_t robot = {0};
        horus_node_t node = node_of(&robot);
        horus_node_options_t options = HORUS_NODE_OPTIONS_INIT;
        horus_scheduler_t scheduler = opened(&events);
        pthread_t thread;
        options.rate_hz = 100;
        EXPECT(HORUS_OK, horus_scheduler_add_node(scheduler, "robot", &options, &node));
        CHECK(pthread_create(&thread, NULL, run, &scheduler) == 0);
        while (robot.ticks == 0) {
            pause_briefly();
        }
        EXPECT(HORUS_E_BUSY, horus_scheduler_tick_once(scheduler));
        EXPECT(HORUS_OK, horus_scheduler_close(scheduler));
        CHECK(pthread_join(thread, NULL) == 0);
        CHECK(robot.destroyed == 1 && robot.shutdowns == 1);
    }
}

static atomic_int released, halts;

static int32_t hang(void *user, horus_context_t *context) {
    (void)user, (void)context;
    while (!released) {
        pause_briefly();
    }
    return 0;
}

static int32_t halt(void *user, horus_context_t *context) {
    CHECK(user == &halts);
    EXPECT(HORUS_E_STATE, horus_context_stop(context));
    halts++;
    return 0;
}

static void a_node_that_hangs(void) {
    atomic_int events = 0;
    horus_node_t node = HORUS_NODE_INIT;
    horus_node_options_t options = HORUS_NODE_OPTIONS_INIT;
    horus_scheduler_t scheduler = opened(&events);
    node.user = &halts;
    node.tick = hang;
    node.safe_state = halt;
    EXPECT(HORUS_E_NODE, horus_scheduler_add_node(scheduler, "hangs", &options, &node));
    CHECK(strstr(horus_last_error_message(), "watchdog") != NULL);
    options.rate_hz = 100;
    EXPECT(HORUS_OK, horus_scheduler_add_node(scheduler, "hangs", &options, &node));
    EXPECT(HORUS_E_FAILED, horus_scheduler_run(scheduler));
    CHECK(halts == 1);
    released = 1;
    EXPECT(HORUS_OK, horus_scheduler_close(scheduler));
}

/* Returns 1 while a thread of this process is the supervisor of a scheduler. */
static int has_supervisor(void) {
    DIR *threads = opendir("/proc/self/task");
    struct dirent *thread;
    int found = 0;
    CHECK(threads != NULL);
    while ((thread = readdir(threads)) != NULL) {
        char path[64], name[32] = "";
        FILE *file;
        snprintf(path, sizeof path, "/proc/self/task/%.20s/comm", thread->d_name);
        file = fopen(path, "r");
        if (file != NULL) {
            found |= fgets(name, sizeof name, file) != NULL && strcmp(name, "supervisor\n") == 0;
            fclose(file);
        }
    }
    closedir(threads);
    return found;
}

static void wait_for_end_of_supervisor(void) {
    while (has_supervisor()) {
        pause_briefly();
    }
}

static atomic_int may_return;

static void hear_and_hang(void *user, const horus_event_t *event) {
    (void)event;
    ++*(atomic_int *)user;
    while (!may_return) {
        pause_briefly();
    }
}

/* The caller learns that on_event still uses its argument; no other call of it begins. */
static void an_event_callback_that_hangs(void) {
    atomic_int events = 0;
    robot_t robot = {0};
    horus_node_t node = node_of(&robot);
    horus_scheduler_options_t options = HORUS_SCHEDULER_OPTIONS_INIT;
    horus_scheduler_t scheduler;
    options.on_event = hear_and_hang;
    options.on_event_user = &events;
    may_return = 0;
    EXPECT(HORUS_OK, horus_scheduler_open(&options, &scheduler));
    EXPECT(HORUS_OK, horus_scheduler_add_node(scheduler, "robot", NULL, &node));
    EXPECT(HORUS_OK, horus_scheduler_start(scheduler));
    while (events == 0) {
        pause_briefly();
    }
    EXPECT(HORUS_TIMEOUT, horus_scheduler_close(scheduler));
    CHECK(strstr(horus_last_error_message(), "on_event") != NULL);
    EXPECT(HORUS_E_HANDLE, horus_scheduler_close(scheduler));
    CHECK(robot.destroyed == 1);
    may_return = 1;
    wait_for_end_of_supervisor();
    CHECK(events == 1);
}

static atomic_int safe_states;

static int32_t halt_and_hang(void *user, horus_context_t *context) {
    (void)user, (void)context;
    safe_states++;
    while (!may_return) {
        pause_briefly();
    }
    return 0;
}

/* The supervisor is left behind in another callback: it reports no event after the close. */
static void a_safe_state_that_hangs(void) {
    atomic_int events = 0;
    int events_before;
    horus_node_t node = HORUS_NODE_INIT;
    horus_node_options_t options = HORUS_NODE_OPTIONS_INIT;
    horus_scheduler_t scheduler = opened(&events);
    released = 0;
    may_return = 0;
    node.tick = hang;
    node.safe_state = halt_and_hang;
    options.rate_hz = 100;
    EXPECT(HORUS_OK, horus_scheduler_add_node(scheduler, "hangs", &options, &node));
    EXPECT(HORUS_OK, horus_scheduler_start(scheduler));
    while (safe_states == 0) {
        pause_briefly();
    }
    EXPECT(HORUS_OK, horus_scheduler_close(scheduler));
    events_before = events;
    may_return = 1;
    released = 1;
    wait_for_end_of_supervisor();
    CHECK(events == events_before);
}

/* Sets an error text and succeeds; from the second call on, fails without a text. */
static int32_t fails_without_a_text(void *user, horus_context_t *context) {
    if (((robot_t *)user)->ticks++ == 0) {
        EXPECT(HORUS_OK, horus_context_set_error(context, "a text of another call"));
        return 0;
    }
    return 7;
}

/* The error text of a callback that succeeded is not that of a later failure. */
static void an_old_error_text(void) {
    atomic_int events = 0;
    robot_t robot = {0};
    horus_node_t node = node_of(&robot);
    horus_node_options_t options = HORUS_NODE_OPTIONS_INIT;
    horus_scheduler_t scheduler = opened(&events);
    node.tick = fails_without_a_text;
    options.on_failure = HORUS_FAILURE_IGNORE;
    EXPECT(HORUS_OK, horus_scheduler_add_node(scheduler, "robot", &options, &node));
    EXPECT(HORUS_OK, horus_scheduler_tick_once(scheduler));
    EXPECT(HORUS_OK, horus_scheduler_tick_once(scheduler));
    CHECK(strcmp(robot.said, "the callback returned 7, and set no error text") == 0);
    EXPECT(HORUS_OK, horus_scheduler_close(scheduler));
}

static void wrong_settings(void) {
    atomic_int events = 0;
    robot_t robot = {0};
    horus_node_t node = node_of(&robot), no_tick = node;
    horus_node_options_t options = HORUS_NODE_OPTIONS_INIT, wrong = options;
    horus_scheduler_t scheduler = opened(&events);
#define REFUSED(status, member, value)                                                            \
    do {                                                                                          \
        wrong = options;                                                                          \
        wrong.member = value;                                                                     \
        EXPECT(status, horus_scheduler_add_node(scheduler, "a", &wrong, &node));                  \
        CHECK(horus_last_error_message()[0] != 0);                                                \
    } while (0)
    REFUSED(HORUS_E_ARGUMENT, struct_bytes, 3);
    REFUSED(HORUS_E_ARGUMENT, on_miss, 6);
    REFUSED(HORUS_E_ARGUMENT, on_failure, -1);
    REFUSED(HORUS_E_ARGUMENT, priority, 100);
    REFUSED(HORUS_E_ARGUMENT, priority, HORUS_PRIORITY_ZERO);
    CHECK(strstr(horus_last_error_message(), "priority is 0, not 1 to 99") != NULL);
    REFUSED(HORUS_E_ARGUMENT, is_pinned, 3);
    REFUSED(HORUS_E_NODE, rate_hz, -1);
    REFUSED(HORUS_E_NODE, deadline_ns, 5);
    REFUSED(HORUS_E_NODE, watchdog_ns, HORUS_TIME_ZERO);
    REFUSED(HORUS_E_ARGUMENT, miss_if_sooner_than_ns, UINT64_MAX);
    CHECK(strstr(horus_last_error_message(), "miss_if_sooner_than_ns is -1 ns") != NULL);
    REFUSED(HORUS_E_NULL, reads_count, 1);
    REFUSED(HORUS_E_NULL, writes_count, 1);
    no_tick.tick = NULL;
    EXPECT(HORUS_E_NULL, horus_scheduler_add_node(scheduler, "a", NULL, &no_tick));
    EXPECT(HORUS_E_NODE, horus_scheduler_add_node(scheduler, "", NULL, &node));
    CHECK(robot.destroyed == 0);
    EXPECT(HORUS_OK, horus_scheduler_close(scheduler));
    CHECK(robot.destroyed == 0);
}

int main(void) {
    a_life();
    policies();
    callbacks_that_call(0);
    callbacks_that_call(1);
    callbacks_that_call_a_started_scheduler();
    a_start_that_fails_shuts_the_nodes_down();
    callbacks_that_run_another_scheduler();
    topics_wake();
    closed_while_it_runs();
    a_node_that_hangs();
    an_event_callback_that_hangs();
    a_safe_state_that_hangs();
    an_old_error_text();
    wrong_settings();
    return 0;
}
