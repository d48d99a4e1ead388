//! A generated C table of every function of the header, so that none is missed: for `c/abuse.c`.

use std::fmt::Write as _;

use super::header::{bare, declared, header};

/// Handle types, without `horus_` and `_t`. A sample's handle is a number.
const KINDS: [&str; 7] = [
    "namespace",
    "publisher",
    "subscriber",
    "sample",
    "wait_set",
    "endpoint_events",
    "scheduler",
];

/// Pointers that may be null: the function, or any if empty, and the parameter.
const MAY_BE_NULL: [(&str, &str); 16] = [
    ("", "options"),
    ("", "out_bytes"),
    ("horus_namespace_open", "directory"),
    ("horus_namespace_open", "name"),
    ("horus_namespace_open_group", "directory"),
    ("horus_namespace_open_group", "name"),
    ("horus_namespace_open_group", "group"),
    ("horus_log_from", "file"),
    ("horus_log_from", "node"),
    ("horus_log_prefix", "file"),
    ("horus_log_prefix", "node"),
    ("horus_log_open", "filter"),
    ("horus_log_open", "node"),
    ("horus_namespace_sweep", "out_removed"),
    ("horus_publisher_wait_for_subscribers", "out_count"),
    ("horus_subscriber_wait_for_publishers", "out_count"),
];

/// Functions that take the namespace 0 for that of the environment.
const ZERO_IS_A_NAMESPACE: [&str; 8] = [
    "horus_log_open",
    "horus_namespace_sweep",
    "horus_topic_remove",
    "horus_topics",
    "horus_topic_schema",
    "horus_topic_inspect",
    "horus_topic_lane_counters",
    "horus_topic_reader_counters",
];

/// Returns a C function for each function of the header, with handles and a null to pass, and a
/// table of them.
pub fn every_call() -> String {
    let header = bare(&header());
    let mut calls = String::from("/* Generated from the header by the test. */\n");
    let mut table = String::from("static const function_t FUNCTIONS[] = {\n");
    for (name, declaration) in declared() {
        let (before, parameters) = declaration.split_once('(').unwrap();
        let result = before[..before.len() - name.len()].trim();
        let parameters = parameters.trim_end_matches(')').split(", ");
        let parameters = parameters.filter(|parameter| *parameter != "void");
        let mut places = String::new();
        let mut arguments = Vec::new();
        let mut kinds = 0_u32;
        let mut pointers = 0_u32;
        for (index, parameter) in parameters.enumerate() {
            let at = parameter.rfind([' ', '*']).unwrap() + 1;
            let kind = parameter[..at].trim();
            let parameter = &parameter[at..];
            if let Some(found) = KINDS
                .iter()
                .position(|known| is_handle(known, kind, parameter))
            {
                kinds |= 1 << found;
                arguments.push(match kind {
                    "uint64_t" => format!("with->ids[{found}]"),
                    _ => format!("({kind}){{with->ids[{found}]}}"),
                });
            } else if kind.ends_with('*') {
                let function = |only: &str| only.is_empty() || only == name;
                let is_optional = |(only, of): &(&str, &str)| function(only) && *of == parameter;
                if !MAY_BE_NULL.iter().any(is_optional) {
                    pointers |= 1 << index;
                }
                let place = place(&header, kind, index, &mut places);
                arguments.push(format!("with->null_at == {index} ? NULL : {place}"));
            } else {
                arguments.push(number(kind).to_owned());
            }
        }
        let call = format!("{name}({})", arguments.join(", "));
        let call = match (result, undo(&name, arguments.len())) {
            ("horus_status_t", Some(undo)) => format!(
                "const horus_status_t status = {call};\n    \
                 if (status == HORUS_OK) EXPECT(HORUS_OK, {undo});\n    return status;"
            ),
            ("horus_status_t", None) => format!("return {call};"),
            // Their only error is 0.
            ("uint64_t" | "double", _) => format!("return {call} == 0 ? HORUS_E_NULL : HORUS_OK;"),
            ("uint32_t", _) => format!("(void){call}; return HORUS_OK;"),
            ("const char *", _) => format!("CHECK({call} != NULL); return HORUS_OK;"),
            (other, _) => panic!("{name}: say what to do with a result of {other}"),
        };
        let zero = i32::from(ZERO_IS_A_NAMESPACE.contains(&name.as_str()));
        writeln!(
            calls,
            "static horus_status_t call_{name}(const call_t *with) {{"
        )
        .unwrap();
        writeln!(calls, "{places}    (void)with;\n    {call}\n}}").unwrap();
        writeln!(
            table,
            "    {{\"{name}\", call_{name}, {kinds}u, {pointers}u, {zero}}},"
        )
        .unwrap();
    }
    calls + &table + "};\n"
}

/// Returns the call that gives back what the function opened or borrowed; its last argument says
/// where that is. WHY: a topic has few places, and a closed subscriber keeps its own while a sample
/// of it is held.
fn undo(name: &str, arguments: usize) -> Option<String> {
    let out = || format!("place_{}", arguments - 1);
    if name.contains("_borrow") {
        return Some(format!("horus_sample_release({}.id)", out()));
    }
    if name.ends_with("_events") {
        return Some(format!("horus_endpoint_events_close({})", out()));
    }
    // A log stays open.
    let (kind, _) = name
        .split_once("_open")
        .filter(|(kind, _)| *kind != "horus_log")?;
    Some(format!("{kind}_close({})", out()))
}

fn is_handle(known: &str, kind: &str, parameter: &str) -> bool {
    kind == format!("horus_{known}_t") || (known == "sample" && parameter == "sample_id")
}

/// Returns the variable that a pointer of this type points to.
fn place(header: &str, kind: &str, index: usize, places: &mut String) -> String {
    let pointed = kind.trim_end_matches('*').trim();
    match kind {
        "const char *" => "\"abused\"".to_owned(),
        "void *" | "const void *" => "bytes".to_owned(),
        // Only the library makes one.
        "horus_context_t *" => "NULL".to_owned(),
        _ if pointed.starts_with("const horus_") => {
            format!(
                "&given_{}",
                pointed
                    .trim_start_matches("const horus_")
                    .trim_end_matches("_t")
            )
        }
        _ => {
            let pointed = if kind == "void **" { "void *" } else { pointed };
            let init = pointed.trim_end_matches("_t").to_uppercase() + "_INIT";
            let init = if header.contains(&format!("#define {init} ")) {
                &init
            } else {
                "{0}"
            };
            let init = if pointed.starts_with("horus_") {
                init
            } else {
                "0"
            };
            writeln!(places, "    static {pointed} place_{index} = {init};").unwrap();
            format!("&place_{index}")
        }
    }
}

/// Returns a harmless number of this type.
fn number(kind: &str) -> &'static str {
    match kind {
        "int64_t" => "with->timeout_ns",
        "size_t" | "uint32_t" | "uint64_t" => "1",
        "double" => "100",
        "horus_status_t" => "(horus_status_t)next_random()",
        other => panic!("say which {other} does no harm"),
    }
}
