// The results of cpp_benchmark in the JSON format of all benchmarks: benchmarks/README.md describes
// it.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sched.h>
#include <sstream>
#include <string>
#include <sys/utsname.h>
#include <unistd.h>
#include <vector>

/// Returns the value at a share of all samples, which are sorted.
inline double percentile(const std::vector<double> &sorted, double share) {
    const auto last = static_cast<double>(sorted.size() - 1);
    return sorted[static_cast<std::size_t>(std::lround(share * last))];
}

/// The messages of a row, without the warm-up.
struct Counts {
    std::uint64_t sent, received;
};

/// A row: samples in nanoseconds, sorted, each of which is the mean of `operations` operations. It
/// has no counts if its operations move no messages.
struct Recorded {
    std::string id, basis;
    std::vector<double> sorted;
    std::uint64_t operations;
    std::optional<Counts> counts;
};

/// A goal of a row: its limit, the measured value, and `met` or `missed`.
struct Judged {
    std::string id, goal, measured, verdict;
};

inline const std::string unknown = "unknown";

/// Returns the first line of a file, or the text after the colon of the first line that begins with
/// `key`.
inline std::string said(const char *path, const std::string &key = "") {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        if (key.empty()) {
            return line;
        }
        if (line.rfind(key, 0) == 0) {
            const auto colon = line.find(": ");
            return colon == std::string::npos ? "" : line.substr(colon + 2);
        }
    }
    return unknown;
}

/// Returns a JSON string. The system's texts here have neither quotes nor control characters.
inline std::string quoted(const std::string &text) { return '"' + text + '"'; }

/// Converts CPUs as Linux lists them, `1-3,5`, to a JSON list.
inline std::string listed(const std::string &text) {
    std::istringstream parts(text);
    std::string out;
    for (std::string part; std::getline(parts, part, ',');) {
        if (part[0] < '0' || part[0] > '9') {
            continue;
        }
        const auto dash = part.find('-');
        const int last = std::atoi(part.c_str() + (dash == std::string::npos ? 0 : dash + 1));
        for (int cpu = std::atoi(part.c_str()); cpu <= last; cpu++) {
            out += (out.empty() ? "" : ", ") + std::to_string(cpu);
        }
    }
    return "[" + out + "]";
}

/// Returns the CPUs that this program may use.
inline std::string allowed_cpus() {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    sched_getaffinity(0, sizeof allowed, &allowed);
    std::string list;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        list += CPU_ISSET(cpu, &allowed) ? (list.empty() ? "" : ",") + std::to_string(cpu) : "";
    }
    return listed(list);
}

/// Returns the name of the CPU, on x86 with its family and model. WHY these: virtual machines with
/// different CPUs say the same name.
inline std::string cpu_name() {
    const char *info = "/proc/cpuinfo";
    const std::string name = said(info, "model name");
    const std::string family = said(info, "cpu family");
    if (family == unknown) {
        return name;
    }
    return name + " (family " + family + ", model " + said(info, "model\t") + ")";
}

/// Describes the machine, and the conditions that make the results worse.
inline std::string machine_json(double timer_ns) {
    utsname system{};
    uname(&system);
    double load = 0;
    getloadavg(&load, 1);
    const auto flags = said("/proc/cpuinfo", "flags");
    const auto has = [&](const char *flag) { return flags.find(flag) != std::string::npos; };
    const bool invariant = has("constant_tsc") && has("nonstop_tsc");
    // WHY: the supervisor of a scheduler stays on the CPU where it is started, and must not run on
    // the measured one.
    std::string warnings = quoted("not pinned: the CPU is the one on which the program ended");
    if (load > 0.5) {
        warnings += ", " + quoted("load average above 0.5: other work disturbs the figures");
    }
    if (has("hypervisor")) {
        warnings +=
            ", " + quoted("virtual machine: CPUs may be shared, the tail is not representative");
    }
    const int cpu = sched_getcpu();
    const std::string clocksource =
        said("/sys/devices/system/clocksource/clocksource0/current_clocksource");
#ifdef __OPTIMIZE__
    const std::string profile = "release";
#else
    const std::string profile = "debug";
#endif
    std::ostringstream out;
    out << "{\"cpu\": " << quoted(cpu_name())
        << ", \"cores\": " << sysconf(_SC_NPROCESSORS_ONLN)
        << ", \"allowed_cpus\": " << allowed_cpus() << ", \"pinned\": {\"near\": " << cpu
        << ", \"far\": " << cpu << "}, \"isolated_cpus\": "
        << listed(said("/sys/devices/system/cpu/isolated")) << ", \"kernel\": "
        << quoted(system.release) << ", \"rustc\": " << quoted("C++ " __VERSION__)
        << ", \"profile\": " << quoted(profile) << ", \"timer\": \"monotonic\", \"timer_hz\": 1e9"
        << ", \"timer_overhead_ns\": " << timer_ns << ", \"timer_resolution_ns\": 1"
        << ", \"invariant_tsc\": " << (invariant ? "true" : "false")
        << ", \"clocksource\": " << quoted(clocksource) << ", \"load_average\": " << load
        << ", \"warnings\": [" << warnings << "]}";
    return out.str();
}

inline std::string row_json(const Recorded &row) {
    double sum = 0;
    for (const double ns : row.sorted) {
        sum += ns;
    }
    const auto count = row.sorted.size() * row.operations;
    std::ostringstream out;
    out << "{\"id\": " << quoted(row.id) << ", \"operations\": " << count;
    if (row.counts) {
        const auto [sent, received] = *row.counts;
        out << ", \"sent\": " << sent << ", \"received\": " << received
            << ", \"lost\": " << sent - received;
    }
    out << ", \"ns\": {\"min\": " << row.sorted.front();
    const struct {
        const char *name;
        double share;
    } shares[] = {{"p1", .01},  {"p5", .05},  {"p25", .25},   {"p50", .5},      {"p75", .75},
                  {"p90", .90}, {"p95", .95}, {"p99", .99}, {"p99_9", .999}, {"p99_99", .9999}};
    for (const auto &[name, share] : shares) {
        out << ", \"" << name << "\": " << percentile(row.sorted, share);
    }
    out << ", \"max\": " << row.sorted.back()
        << ", \"mean\": " << sum / static_cast<double>(row.sorted.size()) << "}}";
    return out.str();
}

inline std::string goal_json(const Judged &goal) {
    return "{\"id\": " + quoted(goal.id) + ", \"goal\": " + quoted(goal.goal) +
           ", \"measured\": " + quoted(goal.measured) + ", \"verdict\": " +
           quoted(goal.verdict) + "}";
}

/// Writes all rows and goals; returns false on failure.
inline bool write_json(const char *path, const std::vector<Recorded> &rows,
                       const std::vector<Judged> &goals, double timer_ns) {
    const char *commit = std::getenv("HORUS_COMMIT");
    std::ofstream out(path);
    out << "{\"machine\": " << machine_json(timer_ns)
        << ",\n\"commit\": " << quoted(commit != nullptr ? commit : "unknown")
        << ",\n\"settings\": {\"samples_removed\": 0, \"timer_overhead_subtracted\": false"
        << ", \"goals\": [";
    for (const auto &goal : goals) {
        out << (&goal == &goals.front() ? "" : ", ") << goal_json(goal);
    }
    out << "], \"basis\": {";
    for (const auto &row : rows) {
        out << (&row == &rows.front() ? "" : ", ") << quoted(row.id) << ": " << quoted(row.basis);
    }
    out << "}},\n\"rows\": [\n";
    for (const auto &row : rows) {
        out << row_json(row) << (&row == &rows.back() ? "\n" : ",\n");
    }
    out << "]}\n";
    return out.flush().good();
}
