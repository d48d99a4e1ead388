//! `horus.h` and the Rust side agree: functions with their signatures, constants, layouts.

use horus_testing as _;

mod compiler;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::mem::{align_of, offset_of, size_of};
use std::path::{Path, PathBuf};

use compiler::header::{declared, header};
use horus_cpp::*;

/// The C name of each type in a signature, by its name in Rust.
const TYPES: [(&str, &str); 35] = [
    ("i32", "horus_status_t"),
    ("i64", "int64_t"),
    ("u32", "uint32_t"),
    ("u64", "uint64_t"),
    ("usize", "size_t"),
    ("*const c_char", "const char *"),
    ("*mut c_char", "char *"),
    ("*const c_void", "const void *"),
    ("*mut c_void", "void *"),
    ("*mut *mut c_void", "void **"),
    ("*mut u64", "uint64_t *"),
    ("*mut usize", "size_t *"),
    ("HorusNamespace", "horus_namespace_t"),
    ("HorusPublisher", "horus_publisher_t"),
    ("HorusSubscriber", "horus_subscriber_t"),
    ("HorusWaitSet", "horus_wait_set_t"),
    ("HorusEndpointEvents", "horus_endpoint_events_t"),
    ("*mut HorusNamespace", "horus_namespace_t *"),
    ("*mut HorusPublisher", "horus_publisher_t *"),
    ("*mut HorusSubscriber", "horus_subscriber_t *"),
    ("*mut HorusWaitSet", "horus_wait_set_t *"),
    ("*mut HorusEndpointEvents", "horus_endpoint_events_t *"),
    ("*mut HorusSample", "horus_sample_t *"),
    ("*mut HorusReady", "horus_ready_t *"),
    ("*const HorusTopicOptions", "const horus_topic_options_t *"),
    ("f64", "double"),
    ("HorusScheduler", "horus_scheduler_t"),
    ("*mut HorusScheduler", "horus_scheduler_t *"),
    ("*mut HorusContext", "horus_context_t *"),
    (
        "*const HorusSchedulerOptions",
        "const horus_scheduler_options_t *",
    ),
    ("*const HorusNodeOptions", "const horus_node_options_t *"),
    ("*const HorusNode", "const horus_node_t *"),
    ("*const HorusEvent", "const horus_event_t *"),
    ("*mut HorusReport", "horus_report_t *"),
    ("*mut HorusMetrics", "horus_metrics_t *"),
];
/// As [`TYPES`], for structs that grow.
const OUT_TYPES: [(&str, &str); 6] = [
    ("*mut HorusEndpointEvent", "horus_endpoint_event_t *"),
    ("*mut HorusTopicInfo", "horus_topic_info_t *"),
    ("*mut HorusStats", "horus_stats_t *"),
    ("*mut HorusTopicCounters", "horus_topic_counters_t *"),
    ("*mut HorusLaneCounters", "horus_lane_counters_t *"),
    ("*mut HorusReaderCounters", "horus_reader_counters_t *"),
];

/// Returns the text of all source files in `folder` and below.
fn sources(folder: &Path) -> String {
    let files = fs::read_dir(folder).unwrap();
    let paths = files.map(|file| file.unwrap().path());
    let text = |path: PathBuf| match path.is_dir() {
        true => sources(&path),
        false => fs::read_to_string(path).unwrap() + "\n",
    };
    paths.map(text).collect()
}

/// Returns the name, result and parameters of each exported function of the Rust side, in C.
fn exported() -> BTreeMap<String, String> {
    let sources = sources(&compiler::root().join("src"));
    let mut functions = BTreeMap::new();
    for source in sources.split("#[unsafe(no_mangle)]").skip(1) {
        let source = source
            .trim_start()
            .trim_start_matches("pub ")
            .trim_start_matches("unsafe ");
        let source = source
            .strip_prefix("extern \"C\" fn ")
            .expect("exports are extern \"C\"");
        let (name, source) = source.split_once('(').unwrap();
        let (parameters, source) = source.split_once(')').unwrap();
        let result = source.split_once('{').unwrap().0.trim().strip_prefix("-> ");
        let in_c = |rust: &str| {
            let all = TYPES.iter().chain(&OUT_TYPES);
            let found = all.clone().find(|(name, _)| *name == rust.trim());
            found
                .unwrap_or_else(|| panic!("{name}: no type of C for {rust}"))
                .1
        };
        let parameters: Vec<_> = parameters.split(',').map(str::trim).collect();
        let parameters = parameters.iter().filter(|parameter| !parameter.is_empty());
        let parameters: Vec<_> = parameters
            .map(|parameter| {
                let (name, rust) = parameter.split_once(": ").unwrap();
                join(in_c(rust), name)
            })
            .collect();
        let parameters = if parameters.is_empty() {
            "void".to_owned()
        } else {
            parameters.join(", ")
        };
        let result = in_c(result.unwrap_or_else(|| panic!("{name} returns nothing")));
        functions.insert(
            name.to_owned(),
            format!("{}({parameters})", join(result, name)),
        );
    }
    functions
}

/// Joins a type and a name; the asterisk of a pointer is next to the name.
fn join(kind: &str, name: &str) -> String {
    if kind.ends_with('*') {
        format!("{kind}{name}")
    } else {
        format!("{kind} {name}")
    }
}

#[test]
fn every_function_is_declared_with_its_signature() {
    let exported = exported();
    let declared = declared();
    assert!(
        exported.len() >= 35,
        "only {} functions were found",
        exported.len()
    );
    for (name, signature) in &exported {
        assert_eq!(
            Some(signature),
            declared.get(name),
            "{name}: the header differs"
        );
    }
    let missing: Vec<_> = declared
        .keys()
        .filter(|name| !exported.contains_key(*name))
        .collect();
    assert!(
        missing.is_empty(),
        "declared, and nowhere to be found: {missing:?}"
    );
}

/// The library exports these functions and no others of that prefix.
#[test]
fn the_library_exports_what_is_declared() {
    let library = compiler::library_dir().join("libhorus_cpp.so");
    let mut nm = std::process::Command::new("nm");
    let output = nm.args(["-D", "--defined-only"]).arg(library).output();
    let output = output.expect("this test needs `nm`; install binutils");
    let text = String::from_utf8(output.stdout).unwrap();
    let symbols = text.lines().filter_map(|line| line.rsplit(' ').next());
    let mut symbols: Vec<_> = symbols.filter(|name| name.starts_with("horus_")).collect();
    symbols.sort_unstable();
    assert_eq!(
        symbols,
        declared().keys().map(String::as_str).collect::<Vec<_>>()
    );
}

#[test]
fn no_status_is_used_twice() {
    let mut numbers: Vec<_> = STATUSES.iter().map(|(_, number)| number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), STATUSES.len());
    // A new error takes the next number.
    let least = -i32::try_from(numbers.iter().filter(|number| ***number < 0).count()).unwrap();
    assert_eq!(*numbers[0], least);
}

/// Compiles assertions that constants have their values and structs their layouts.
#[test]
fn constants_and_layouts_are_the_same() {
    let mut source = String::from("#include <horus/horus.h>\n#include <stdalign.h>\n");
    let mut same = |c: &str, rust: i128| {
        let number = if rust < 0 {
            format!("{rust}")
        } else {
            format!("{rust}u")
        };
        writeln!(
            source,
            "_Static_assert({c} == {number}, \"{c} is {rust} in Rust\");"
        )
        .unwrap();
    };
    for (name, number) in STATUSES {
        same(name, (*number).into());
    }
    macro_rules! constants {
        ($($name:ident)*) => {$(same(stringify!($name), $name.into());)*};
    }
    constants! {
        HORUS_ABI_VERSION HORUS_UNSET HORUS_NO HORUS_YES HORUS_BEST_EFFORT HORUS_RELIABLE
        HORUS_WAKE_MEMBARRIER HORUS_WAKE_FENCE HORUS_HISTORY_NONE HORUS_QOS_DEFAULT
        HORUS_QOS_SENSOR_DATA HORUS_QOS_RELIABLE HORUS_QOS_COMMAND HORUS_QOS_LATCHED
        HORUS_TYPE_OF_TOPIC HORUS_TYPE_BYTES HORUS_TYPE_SCHEMA HORUS_READY_MESSAGE
        HORUS_READY_DEADLINE_MISSED HORUS_READY_TIMER HORUS_READY_CLOSED HORUS_MISS_WARN
        HORUS_MISS_SKIP HORUS_MISS_SAFE_MODE HORUS_MISS_GRADUATED HORUS_MISS_STOP
        HORUS_FAILURE_FATAL HORUS_FAILURE_RESTART HORUS_FAILURE_SKIP HORUS_FAILURE_IGNORE
        HORUS_REASON_REQUESTED HORUS_REASON_DURATION_ELAPSED HORUS_REASON_SIGNAL HORUS_REASON_NODE
        HORUS_HEALTH_ACTIVE HORUS_HEALTH_PAUSED HORUS_HEALTH_BACKING_OFF HORUS_HEALTH_SAFE
        HORUS_HEALTH_STOPPED HORUS_LOG_ERROR HORUS_LOG_WARN HORUS_LOG_INFO HORUS_LOG_DEBUG
        HORUS_LOG_TRACE HORUS_TIME_ZERO HORUS_COUNT_ZERO HORUS_COUNT64_ZERO HORUS_PRIORITY_ZERO
    }
    macro_rules! layouts {
        ($($rust:ident = $c:ident { $($field:ident)* })*) => {$(
            same(concat!("sizeof(", stringify!($c), ")"), size_of::<$rust>() as i128);
            same(concat!("alignof(", stringify!($c), ")"), align_of::<$rust>() as i128);
            $(same(
                concat!("offsetof(", stringify!($c), ", ", stringify!($field), ")"),
                offset_of!($rust, $field) as i128,
            );)*
        )*};
    }
    layouts! {
        HorusNamespace = horus_namespace_t { id }
        HorusPublisher = horus_publisher_t { id }
        HorusSubscriber = horus_subscriber_t { id }
        HorusWaitSet = horus_wait_set_t { id }
        HorusEndpointEvents = horus_endpoint_events_t { id }
        HorusEndpointEvent = horus_endpoint_event_t {
            struct_bytes kind change mismatch process_id reserved process_name
        }
        HorusSample = horus_sample_t { id data bytes sequence }
        HorusReady = horus_ready_t { key reason reserved silent_ns missed }
        HorusTopicInfo = horus_topic_info_t {
            struct_bytes has_variable_size max_message_bytes sequence publishers subscribers
            received_bytes
        }
        HorusStats = horus_stats_t {
            struct_bytes unmapped received malformed lost skipped waiting sent busy
        }
        HorusTopicCounters = horus_topic_counters_t {
            struct_bytes reliability message_bytes capacity lanes subscribers message_type
        }
        HorusLaneCounters = horus_lane_counters_t {
            struct_bytes lane is_alive process_id sent refused skips aborted process_name
        }
        HorusReaderCounters = horus_reader_counters_t {
            struct_bytes process_id received lost skipped borrowed is_asleep process_name
            waiting malformed
        }
        HorusTopicOptions = horus_topic_options_t {
            struct_bytes message_type schema max_message_bytes name_space qos defaults
            latch_key
        }
        HorusQos = horus_qos_t {
            struct_bytes preset reliability history capacity persist_after_exit wake_barrier
            pinnable publishers_max subscribers_max strict detach_after_ns strict_schema reserved
        }
        HorusScheduler = horus_scheduler_t { id }
        HorusNode = horus_node_t {
            struct_bytes reserved user tick init shutdown enter_safe_state is_safe_state on_error
            safe_state destroy
        }
        HorusNodeOptions = horus_node_options_t {
            struct_bytes order rate_hz at_most_hz budget_ns deadline_ns watchdog_ns
            miss_if_sooner_than_ns checkpoints on_miss on_failure failures_max priority pause_ns
            is_pinned core is_compute is_awake chain wake wake_count reads reads_count writes
            writes_count
        }
        HorusEvent = horus_event_t {
            struct_bytes process_id kind level timestamp_ns monotonic_ns tick value_ns node text
            line
        }
        HorusSchedulerOptions = horus_scheduler_options_t {
            struct_bytes compute_threads name name_space main_rate_hz stop_on_signals
            use_kernel_clock on_event on_event_user
        }
        HorusReport = horus_report_t {
            struct_bytes reason signal exit_code scheduler node error
        }
        HorusMetrics = horus_metrics_t {
            struct_bytes health ticks last_ns max_ns misses skipped_ticks failures panics durations
            lateness
        }
    }
    assert_eq!(compiler::refusal(&source, &["-std=c11"]), None);
    let wrong = source.replacen("== 0u", "== 77u", 1);
    assert!(
        compiler::refusal(&wrong, &["-std=c11"]).is_some(),
        "the compiler was not asked"
    );
}

/// Each header alone, twice and with the others, in each of its languages.
#[test]
fn each_header_compiles_alone() {
    let files = fs::read_dir(compiler::root().join("include/horus")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let names: Vec<_> = names.filter(|name| name.ends_with(".h")).collect();
    assert!(names.len() >= 3, "{names:?}");
    let sources = names
        .iter()
        .map(|name| format!("#include <horus/{name}>\n"));
    let all: String = sources.clone().collect();
    for source in sources.chain([all.repeat(2)]) {
        for language in ["-std=c11", "-std=c17"] {
            assert_eq!(
                compiler::refusal(&source, &[language]),
                None,
                "{language} {source}"
            );
        }
        for language in ["-std=c++17", "-std=c++20"] {
            let flags = ["-x", "c++", language, "-fno-exceptions"];
            assert_eq!(
                compiler::refusal(&source, &flags),
                None,
                "{language} {source}"
            );
        }
    }
}

/// Every declaration has a comment of its own above it.
#[test]
fn every_function_is_documented() {
    let header = header();
    for name in declared().keys() {
        let mut lines = header.split_inclusive('\n').scan(0, |at, line| {
            *at += line.len();
            Some((*at - line.len(), line))
        });
        let is_code = |line: &str| !line.starts_with([' ', '/']);
        let found = lines.find(|(_, line)| is_code(line) && line.contains(&format!("{name}(")));
        let (at, _) = found.unwrap();
        assert!(
            header[..at].trim_end().ends_with("*/"),
            "{name} has no comment above it"
        );
    }
}
