// horus: topics in shared memory for robots, for C++17 and later. Header-only, over <horus/horus.h>.
//
// Errors are thrown as horus::Error. Everything that throws has a twin that takes a std::error_code
// last, throws nothing, and is all that there is with -fno-exceptions. Objects are moved, never
// copied, and close what they have. An object that was moved from gives horus::Errc::handle.
#ifndef HORUS_HORUS_HPP
#define HORUS_HORUS_HPP

#include "error.hpp"
#include "inspect.hpp"
#include "options.hpp"
#include "publisher.hpp"
#include "scheduler.hpp"
#include "schema.hpp"
#include "subscriber.hpp"
#include "topic.hpp"
#include "wait_set.hpp"

namespace horus {

/// The version of the library that runs, as "0.1.0".
inline const char *version() noexcept { return horus_version_string(); }

}  // namespace horus

#endif  // HORUS_HORUS_HPP
