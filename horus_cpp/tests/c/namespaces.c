/* Namespaces: opens, sweeps and removes them, also those of a group. */
#include "check.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The members of a group share a namespace; one user's is not theirs. */
static void has_groups(const char *directory) {
    horus_namespace_t space;
    char group[32], shared[512];
    (void)snprintf(group, sizeof group, "%u", (unsigned)getegid());
    (void)snprintf(shared, sizeof shared, "%s-group", directory);
    EXPECT(HORUS_E_ARGUMENT, horus_namespace_open_group(shared, "one", "no such group", &space));
    EXPECT(HORUS_OK, horus_namespace_open_group(shared, "one", group, &space));
    struct stat found;
    CHECK(stat(shared, &found) == 0 && (found.st_mode & 07777) == 02770);
    CHECK(found.st_gid == getegid());
    EXPECT(HORUS_OK, horus_namespace_remove(space));
    EXPECT(HORUS_E_DAMAGED, horus_namespace_open_group(directory, "one", group, &space));
    CHECK(strstr(horus_last_error_message(), directory) != NULL);
    EXPECT(HORUS_E_DAMAGED, horus_namespace_open(shared, "one", &space));
    CHECK(strstr(horus_last_error_message(), "HORUS_SHM_GROUP") != NULL);
    EXPECT(HORUS_OK, horus_namespace_open_group(directory, "one", NULL, &space));
    EXPECT(HORUS_OK, horus_namespace_remove(space));
    CHECK(rmdir(shared) == 0);
}

static void has_namespaces(const char *directory) {
    horus_namespace_t one, two;
    EXPECT(HORUS_E_NAME, horus_namespace_open(directory, "not a name", &one));
    EXPECT(HORUS_E_NULL, horus_namespace_open(directory, "one", NULL));
    EXPECT(HORUS_OK, horus_namespace_open(directory, "one", &one));
    EXPECT(HORUS_OK, horus_namespace_open(NULL, "two", &two));
    horus_topic_options_t options = pair_options(NULL);
    options.name_space = one;
    horus_publisher_t publisher;
    horus_subscriber_t subscriber;
    EXPECT(HORUS_OK, horus_publisher_open("apart", &options, &publisher));
    options.message_type = HORUS_TYPE_OF_TOPIC;
    EXPECT(HORUS_OK, horus_subscriber_open("apart", &options, &subscriber));
    EXPECT(HORUS_OK, horus_subscriber_close(subscriber));
    options.name_space = two;
    EXPECT(HORUS_E_NOT_FOUND, horus_subscriber_open("apart", &options, &subscriber));
    size_t removed = 9;
    EXPECT(HORUS_OK, horus_namespace_sweep(one, &removed));
    CHECK(removed == 0);
    EXPECT(HORUS_OK, horus_namespace_sweep(one, NULL));
    EXPECT(HORUS_OK, horus_namespace_remove(one));
    EXPECT(HORUS_E_HANDLE, horus_namespace_close(one));
    /* An endpoint of this process still works without the namespace. */
    EXPECT(HORUS_OK, horus_publisher_send(publisher, &(pair_t){1, 2}, sizeof(pair_t)));
    EXPECT(HORUS_OK, horus_publisher_close(publisher));
    EXPECT(HORUS_OK, horus_namespace_close(two));
    has_groups(directory);
}

int main(void) {
    has_namespaces(getenv("HORUS_SHM_DIR"));
    return 0;
}
