// What the tests ask of C++.
#pragma once

#include <cstdint>

#include "rust/cxx.h"

/// Fills each field of the message of this name, sends it, and tells what it holds.
rust::String send(rust::Str message, rust::Str topic, std::uint64_t seed);

/// Receives a message of this name, and tells what its fields hold.
rust::String receive(rust::Str message, rust::Str topic);

/// Tells what the fields of a message of this name hold, or those of its header, as `T{}` has them.
rust::String default_of(rust::Str message);
