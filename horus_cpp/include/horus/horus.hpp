// horus: topics in shared memory for robots, in C++17 and later; headers over <horus/horus.h>.
//
// Errors are thrown as horus::Error. Each function that throws has an overload that takes a
// std::error_code as its last argument and throws nothing; with -fno-exceptions only these exist.
// Objects can be moved but not copied, and close their handles. A moved-from object gives
// horus::Errc::handle.
#ifndef HORUS_HORUS_HPP
#define HORUS_HORUS_HPP

#include "context.hpp"
#include "endpoint_events.hpp"
#include "error.hpp"
#include "inspect.hpp"
#include "log.hpp"
#include "node.hpp"
#include "node_builder.hpp"
#include "options.hpp"
#include "publisher.hpp"
#include "scheduler.hpp"
#include "schema.hpp"
#include "subscriber.hpp"
#include "text.hpp"
#include "time.hpp"
#include "topic.hpp"
#include "wait_set.hpp"

namespace horus {

/// Returns the version of the loaded library, such as "0.1.0".
inline const char *version() noexcept { return horus_version_string(); }

}  // namespace horus

#endif  // HORUS_HORUS_HPP
