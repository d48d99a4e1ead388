// A host with a handler of SIGBUS loads the library like a plugin, and closes it.
#include <horus/horus.h>

#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition)) {                                                    \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            std::exit(1);                                                      \
        }                                                                      \
    } while (false)

namespace {

sigjmp_buf after_fault;

extern "C" void handle_fault(int) { siglongjmp(after_fault, 1); }

// Reads memory of the host whose file was truncated. The handler of the host has to be called.
void fault() {
    const int file = open("truncated", O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK(file >= 0 && ftruncate(file, 4096) == 0);
    void *memory = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file, 0);
    CHECK(memory != MAP_FAILED && ftruncate(file, 0) == 0);
    if (sigsetjmp(after_fault, 1) == 0) {
        (void)*static_cast<volatile char *>(memory);
        CHECK(!"the fault was handled by the host");
    }
    CHECK(munmap(memory, 4096) == 0 && close(file) == 0);
}

template <class Function>
Function *function(void *library, const char *name) {
    void *found = dlsym(library, name);
    CHECK(found != nullptr);
    return reinterpret_cast<Function *>(found);
}

void use(void *library) {
    horus_topic_options_t options{};
    horus_publisher_t publisher;
    options.struct_bytes = sizeof options;
    options.message_type = HORUS_TYPE_BYTES;
    const auto open_it = function<decltype(horus_publisher_open)>(library, "horus_publisher_open");
    const auto close_it =
        function<decltype(horus_publisher_close)>(library, "horus_publisher_close");
    CHECK(open_it("bytes", &options, &publisher) == HORUS_OK);
    CHECK(close_it(publisher) == HORUS_OK);
}

// Returns true while this process has another thread, such as one of the library.
bool has_other_thread() {
    DIR *threads = opendir("/proc/self/task");
    CHECK(threads != nullptr);
    int count = 0;
    while (const dirent *entry = readdir(threads)) {
        count += entry->d_name[0] != '.';
    }
    closedir(threads);
    return count > 1;
}

}  // namespace

int main() {
    CHECK(std::signal(SIGBUS, handle_fault) != SIG_ERR);
    fault();
    for (int round = 0; round < 2; ++round) {
        void *library = dlopen("libhorus_cpp.so", RTLD_NOW | RTLD_LOCAL);
        CHECK(library != nullptr);
        // Data of a thread would keep the library loaded until the thread ends.
        std::thread(use, library).join();
        fault();
        while (has_other_thread()) {
            usleep(1000);
        }
        CHECK(dlclose(library) == 0);
        fault();
    }
    return 0;
}
