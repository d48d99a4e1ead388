// A second translation unit with the same headers: no definition is duplicated.
#include <horus/horus.hpp>
#include <horus/msg.hpp>

const char *text_of_image();
const char *text_of_image() { return horus::schema_text<horus::Image>(); }
