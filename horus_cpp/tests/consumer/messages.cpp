// A second translation unit with the same headers: each definition is there once.
#include <horus/horus.hpp>
#include <horus/msg.hpp>

const char *text_of_image();
const char *text_of_image() { return horus::schema_text<horus::Image>(); }
