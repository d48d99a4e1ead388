// The C++ functions that the tests call.
#pragma once

#include <cstdint>

#include "rust/cxx.h"

/// Fills each field of the message of this name, sends it, and returns a listing of its fields.
rust::String send(rust::Str message, rust::Str topic, std::uint64_t seed);

/// Receives a message of this name, and returns a listing of its fields.
rust::String receive(rust::Str message, rust::Str topic);

/// Returns a listing of the fields of a message of this name, or of its header, as `T{}` has them.
rust::String default_of(rust::Str message);
