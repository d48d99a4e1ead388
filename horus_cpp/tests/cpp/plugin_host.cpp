// Loads the plugin at the path that is its argument, and compares the errors of the plugin.
#include "check.hpp"

#include <dlfcn.h>

namespace {

template <class Function>
Function *function(void *plugin, const char *name) {
    void *found = dlsym(plugin, name);
    CHECK(found != nullptr);
    return reinterpret_cast<Function *>(found);
}

void is_a_name_error(const std::error_code &error) {
    CHECK(error == horus::Errc::name && horus::Errc::name == error);
    CHECK(!(error != horus::Errc::name) && !(horus::Errc::name != error));
    CHECK(error != horus::Errc::type && horus::Errc::type != error);
    CHECK(!(error == horus::Errc::type) && !(horus::Errc::type == error));
}

}  // namespace

int main(int, char **arguments) {
    void *plugin = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    CHECK(plugin != nullptr);
    const std::error_code error = function<std::error_code()>(plugin, "failed_open")();
    // The plugin has a category of its own.
    CHECK(error.category() != horus::error_category());
    is_a_name_error(error);
    try {
        function<void()>(plugin, "throw_error")();
        CHECK(false);
    } catch (const horus::Error &thrown) {
        is_a_name_error(thrown.code());
    }
    is_a_name_error(horus::Errc::name);
    const std::error_code other(HORUS_E_NAME, std::generic_category());
    CHECK(other != horus::Errc::name && !(horus::Errc::name == other));
    return 0;
}
