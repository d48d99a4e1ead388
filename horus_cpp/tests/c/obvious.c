/* The simplest program: it runs a scheduler, whose result becomes the exit status. */
#include <horus/horus.h>
#include <stdio.h>
#include <string.h>

static int32_t fall_off(void *user, horus_context_t *context) {
    if (*(int *)user) {
        horus_context_set_error(context, "the wheel fell off");
        return 1;
    }
    return horus_context_stop(context);
}

int main(int count, char **arguments) {
    int fails = count > 2 && strcmp(arguments[2], "fails") == 0;
    horus_node_t node = HORUS_NODE_INIT;
    horus_scheduler_t scheduler;
    horus_status_t status;
    node.user = &fails;
    node.tick = fall_off;
    if (horus_scheduler_open(NULL, &scheduler) != HORUS_OK ||
        horus_scheduler_add_node(scheduler, "wheel", NULL, &node) != HORUS_OK) {
        return 77;
    }
    if (strcmp(arguments[1], "run") == 0) {
        status = horus_scheduler_run(scheduler);
    } else if (strcmp(arguments[1], "run_for") == 0) {
        status = horus_scheduler_run_for(scheduler, 60000000000);
    } else {
        while (horus_scheduler_tick_once(scheduler) == HORUS_OK) {
        }
        status = horus_scheduler_finish(scheduler);
    }
    if (status < 0) {
        fprintf(stderr, "%s\n", horus_last_error_message());
    }
    horus_scheduler_close(scheduler);
    return status < 0;
}
