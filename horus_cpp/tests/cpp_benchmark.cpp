// The cost of horus from C++: calls, ticks, messages, throughput. 10 000 samples a row, after a
// warm-up.
//
//   cargo build --release --no-default-features -p horus_cpp
//   g++ -std=c++17 -O2 -o cpp_benchmark horus_cpp/tests/cpp_benchmark.cpp
//       -L target/release -lhorus_cpp -lpthread -ldl -lm
//   LD_LIBRARY_PATH=target/release ./cpp_benchmark [--quick] [--json FILE]
//
// Nothing is subtracted. A sample of one call includes the cost of reading the clock twice, which
// has a row of its own. Calls of a few nanoseconds, less than such a reading, are timed in batches
// of 1000, which reduces the cost of the clock to a thousandth; the tail of those rows is that of a
// batch's mean. A goal is compared with the median of a row as measured.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <unistd.h>
#include <vector>

#include "../include/horus/horus.hpp"
#include "cpp_record.hpp"

/// The standard message, with the same schema.
struct CmdVel {
    std::uint64_t timestamp_ns;
    float linear;
    float angular;
};
HORUS_MESSAGE(CmdVel, timestamp_ns, linear, angular);

struct PictureHeader {
    std::uint64_t timestamp_ns;
};
HORUS_MESSAGE(PictureHeader, timestamp_ns);
struct Picture : horus::Framed<PictureHeader, std::uint8_t> {};
HORUS_FRAMED(Picture, data);

namespace {

using Clock = std::chrono::steady_clock;
// WHY: a clock that is set in between would make samples longer, shorter, or negative.
static_assert(Clock::is_steady);
using namespace horus::literals;

/// Samples of a row; fewer with --quick, which only checks that the benchmark works.
int samples = 10000;
constexpr int warm_up = 1000;
constexpr int batch = 1000;

double ns_between(Clock::time_point begin, Clock::time_point end) {
    return static_cast<double>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin).count());
}

/// Keeps the compiler from removing the computation of `value`.
template <class T>
void keep(const T &value) {
    asm volatile("" : : "g"(value) : "memory");
}

/// All rows so far, for --json.
std::vector<Recorded> recorded;

/// All goals so far, for --json.
std::vector<Judged> judged;

std::string text(double ns) {
    char out[32];
    if (ns < 1000) {
        std::snprintf(out, sizeof out, "%.1fns", ns);
    } else {
        std::snprintf(out, sizeof out, "%.2fus", ns / 1000);
    }
    return out;
}

/// Samples, each of which is the mean of `operations` operations.
struct Samples {
    std::vector<double> all;
    std::uint64_t operations;
};

/// Prints a row of the table; returns the median.
double row(const char *id, const char *name, Samples samples,
           std::optional<Counts> counts = std::nullopt) {
    auto &all = samples.all;
    std::sort(all.begin(), all.end());
    recorded.push_back({id, name, all, samples.operations, counts});
    double sum = 0, squares = 0;
    for (const double ns : all) {
        sum += ns;
    }
    const double mean = sum / static_cast<double>(all.size());
    for (const double ns : all) {
        squares += (ns - mean) * (ns - mean);
    }
    const double stddev = std::sqrt(squares / static_cast<double>(all.size()));
    std::printf("| %-28s | %9s | %9s | %9s | %9s | %9s | %9s |\n", name, text(all.front()).c_str(),
                text(percentile(all, 0.5)).c_str(), text(percentile(all, 0.99)).c_str(),
                text(percentile(all, 0.999)).c_str(), text(all.back()).c_str(),
                text(stddev).c_str());
    return percentile(all, 0.5);
}

/// Times single calls, including the cost of timing.
template <class Call>
Samples single(Call call) {
    for (int i = 0; i < warm_up; i++) {
        call();
    }
    std::vector<double> all;
    all.reserve(static_cast<std::size_t>(samples));
    for (int i = 0; i < samples; i++) {
        const auto begin = Clock::now();
        call();
        const auto end = Clock::now();
        all.push_back(ns_between(begin, end));
    }
    return {std::move(all), 1};
}

/// Times batches of calls, including the loop and a thousandth of the cost of timing. Calls `begun`
/// after the warm-up.
template <class Call, class Begun>
Samples batched(Call call, Begun begun) {
    std::vector<double> all;
    all.reserve(static_cast<std::size_t>(samples));
    for (int i = -warm_up / 10; i < samples; i++) {
        if (i == 0) {
            begun();
        }
        const auto begin = Clock::now();
        for (int j = 0; j < batch; j++) {
            call();
        }
        const auto end = Clock::now();
        if (i >= 0) {
            all.push_back(ns_between(begin, end) / batch);
        }
    }
    return {std::move(all), batch};
}

template <class Call>
Samples batched(Call call) {
    return batched(call, [] {});
}

void head(const char *title) {
    std::printf("\n%s\n\n| %-28s | %9s | %9s | %9s | %9s | %9s | %9s |\n", title, "Operation",
                "Min", "Median", "P99", "P999", "Max", "Stddev");
    std::printf("|------------------------------|-----------|-----------|-----------|-----------|"
                "-----------|-----------|\n");
}

horus::Scheduler with_nodes(int nodes, std::uint64_t &ticks) {
    horus::SchedulerOptions options;
    options.name = "cpp_benchmark";
    horus::Scheduler scheduler(options);
    for (int i = 0; i < nodes; i++) {
        scheduler.node("node" + std::to_string(i)).build([&ticks](horus::Context &) { ticks++; });
    }
    return scheduler;
}

/// Publishes images of this size without writing them; returns the median.
double lend(const char *id, const char *name, std::size_t bytes) {
    const auto options = horus::Options().max_message_bytes(bytes + 4096);
    horus::Publisher<Picture> publisher("picture" + std::to_string(bytes), options);
    return row(id, name, batched([&] {
        auto loan = publisher.loan();
        loan->header().timestamp_ns = 1;
        loan->publish(bytes);
    }));
}

/// Sends numbered messages, receives and compares each; returns the median.
double send_and_receive() {
    horus::Publisher<CmdVel> publisher("cmd_vel");
    horus::Subscriber<CmdVel> subscriber("cmd_vel");
    CmdVel sent{}, received{};
    Counts counts{};
    std::uint64_t wrong = 0;
    sent.angular = 0.25F;
    const auto exchange = [&] {
        sent.timestamp_ns++;
        sent.linear += 0.5F;
        counts.sent += publisher.send(sent);
        counts.received += subscriber.recv(received);
        wrong += std::memcmp(&received, &sent, sizeof sent) != 0;
    };
    auto all = batched(exchange, [&] { counts = {}; });
    if (wrong != 0 || counts.sent != counts.received) {
        std::printf("error: of %llu messages %llu were received, and %llu were not as sent\n",
                    static_cast<unsigned long long>(counts.sent),
                    static_cast<unsigned long long>(counts.received),
                    static_cast<unsigned long long>(wrong));
        std::exit(1);
    }
    return row("cpp/send_recv/16B", "send + recv, 16 bytes", std::move(all), counts);
}

/// Compares the median of a row with its limit.
void goal(const char *id, double wanted) {
    const auto is_row = [&](const Recorded &one) { return one.id == id; };
    const auto found = std::find_if(recorded.begin(), recorded.end(), is_row);
    const double median = percentile(found->sorted, 0.5);
    const std::string word = median <= wanted ? "met" : "missed";
    judged.push_back({id, "<= " + text(wanted), text(median), word});
    std::printf("%-22s %10s, goal %9s: %s\n", id, text(median).c_str(), text(wanted).c_str(),
                word.c_str());
}

/// A directory for the topics of this run, removed when destroyed.
class Directory {
  public:
    Directory() {
        char name[] = "/dev/shm/cpp_benchmark_XXXXXX";
        path_ = mkdtemp(name) != nullptr ? name : "";
        setenv("HORUS_SHM_DIR", (path_ + "/horus").c_str(), 1);
    }
    ~Directory() {
        std::error_code error;
        std::filesystem::remove_all(path_, error);
    }

  private:
    std::string path_;
};

}  // namespace

int main(int count, char **arguments) {
    const char *json = nullptr;
    for (int i = 1; i < count; i++) {
        if (std::strcmp(arguments[i], "--quick") == 0) {
            samples = 100;
        } else if (std::strcmp(arguments[i], "--json") == 0 && i + 1 < count) {
            json = arguments[++i];
        } else {
            std::fprintf(stderr, "cpp_benchmark: '%s' is not --quick or --json FILE\n",
                         arguments[i]);
            return 2;
        }
    }
    const Directory directory;
    std::printf("horus %s, ABI %u; %d samples a row, %d to warm up\n", horus_version_string(),
                horus_abi_version(), samples, warm_up);

    head("Timer overhead (part of every sample below)");
    const double timer_ns = row("cpp/timer", "two readings of the clock", single([] {}));

    std::uint64_t ticks = 0;
    head("FFI boundary cost (means of 1000)");
    auto scheduler = with_nodes(0, ticks);
    scheduler.start();
    row("cpp/ffi/abi_version", "FFI call (abi_version)",
        batched([] { keep(horus_abi_version()); }));
    row("cpp/ffi/is_running", "Atomic read (is_running)", batched([&] {
        keep(scheduler.is_running());
    }));

    head("Scheduler tick from C++");
    row("cpp/tick/0_nodes", "Empty scheduler", batched([&] { keep(scheduler.tick_once()); }));
    scheduler.finish();
    double medians[3] = {};
    const int counts[3] = {1, 10, 50};
    for (int i = 0; i < 3; i++) {
        auto filled = with_nodes(counts[i], ticks);
        filled.start();
        const std::string nodes = i == 0 ? "node" : "nodes", number = std::to_string(counts[i]);
        const std::string id = "cpp/tick/" + number + "_" + nodes;
        const std::string name = number + " " + nodes + " + callback";
        medians[i] = row(id.c_str(), name.c_str(), single([&] { keep(filled.tick_once()); }));
        if (i == 0) {
            row("cpp/tick/1_node/means", "1 node, means of 1000",
                batched([&] { keep(filled.tick_once()); }));
        }
        filled.finish();
    }

    std::printf("\nScalability\n\n| Nodes | Median tick | Per-node cost |\n|---|---|---|\n");
    for (int i = 0; i < 3; i++) {
        std::printf("| %d | %s | %s |\n", counts[i], text(medians[i]).c_str(),
                    text(medians[i] / counts[i]).c_str());
    }

    head("Messages from C++ (means of 1000)");
    send_and_receive();
    const double small = lend("cpp/loan/64KB", "loan + publish, 64 KiB", std::size_t{64} << 10);
    const double large = lend("cpp/loan/1MB", "loan + publish, 1 MiB", std::size_t{1} << 20);

    const int rounds = 200 * samples;
    auto one = with_nodes(1, ticks);
    one.start();
    const std::uint64_t before = ticks;
    const auto begin = Clock::now();
    for (int i = 0; i < rounds; i++) {
        keep(one.tick_once());
    }
    const double tick_ns = ns_between(begin, Clock::now()) / rounds;
    one.finish();
    if (ticks - before != static_cast<std::uint64_t>(rounds)) {
        std::printf("error: %llu ticks of %d\n", static_cast<unsigned long long>(ticks - before),
                    rounds);
        return 1;
    }
    std::printf("\nThroughput\n\n| Metric | Value |\n|---|---|\n");
    std::printf("| Ticks/second (1 node) | %.0f |\n", 1e9 / tick_ns);
    std::printf("| Time per tick | %s |\n", text(tick_ns).c_str());
    std::printf("| CPU overhead at 1 kHz | %.4f%% of one core |\n", tick_ns * 1000 / 1e9 * 100);

    std::printf("\n");
    goal("cpp/ffi/abi_version", 3);
    goal("cpp/ffi/is_running", 3);
    goal("cpp/tick/0_nodes", 20);
    goal("cpp/tick/1_node/means", 80);
    goal("cpp/tick/50_nodes", 3000);
    std::printf("%-34s %10.2f times what it is of 64 KiB\n", "loan + publish of 1 MiB",
                large / small);
    if (json != nullptr && !write_json(json, recorded, judged, timer_ns)) {
        std::fprintf(stderr, "cpp_benchmark: cannot write %s\n", json);
        return 1;
    }
    return 0;
}
