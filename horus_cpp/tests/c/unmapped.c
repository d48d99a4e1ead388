/* Without memory to map a publisher's lane, each receive is an error, until there is some. */
#include "check.h"

#include <string.h>
#include <sys/resource.h>

enum { MESSAGE_BYTES = 4096, CAPACITY = 4096, SPARE_BYTES = 2 << 20 };

/* Returns the bytes of address space that this process uses. */
static rlim_t used_bytes(void) {
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL && fscanf(file, "%lu", &pages) == 1);
    fclose(file);
    return (rlim_t)pages * 4096;
}

int main(void) {
    static char message[MESSAGE_BYTES] = "seven";
    horus_qos_t qos = HORUS_QOS_INIT;
    qos.capacity = CAPACITY;
    horus_topic_options_t options = bytes_options(MESSAGE_BYTES);
    options.qos = &qos;
    horus_publisher_t publisher;
    horus_subscriber_t subscriber;
    size_t bytes = 0;
    EXPECT(HORUS_OK, horus_subscriber_open("unmapped", &options, &subscriber));
    EXPECT(HORUS_OK, horus_publisher_open("unmapped", &options, &publisher));

    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_AS, &limit) == 0);
    struct rlimit low = limit;
    low.rlim_cur = used_bytes() + SPARE_BYTES;
    CHECK(setrlimit(RLIMIT_AS, &low) == 0);
    EXPECT(HORUS_OK, horus_publisher_send(publisher, message, sizeof message));
    EXPECT_OF("unmapped", HORUS_E_NO_MEMORY,
              horus_subscriber_recv(subscriber, message, sizeof message, &bytes));
    CHECK(strstr(horus_last_error_message(), "publisher lane 0") != NULL);
    CHECK(strstr(horus_last_error_message(), "RLIMIT_AS") != NULL);
    EXPECT_OF("unmapped", HORUS_E_NO_MEMORY,
              horus_subscriber_recv_timeout(subscriber, message, sizeof message, -1, &bytes));
    EXPECT_OF("unmapped", HORUS_E_NO_MEMORY, horus_subscriber_check(subscriber));
    horus_stats_t stats = HORUS_STATS_INIT;
    EXPECT(HORUS_OK, horus_subscriber_stats(subscriber, &stats));
    CHECK(stats.unmapped == 1 && stats.waiting == 1);

    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    horus_status_t status;
    do {
        status = horus_subscriber_recv(subscriber, message, sizeof message, &bytes);
    } while (status == HORUS_E_NO_MEMORY);
    CHECK(status == HORUS_OK && bytes == sizeof message && strcmp(message, "seven") == 0);
    EXPECT(HORUS_OK, horus_subscriber_check(subscriber));
    return 0;
}
