/* The C messages, found where they were installed. */
#include <horus/horus.h>
#include <horus/messages.h>

horus_topic_options_t options_of_image(void);
horus_topic_options_t options_of_image(void) {
    const horus_topic_options_t options = HORUS_TOPIC_OPTIONS_FOR(HORUS_IMAGE_SCHEMA);
    return options;
}
