//! Runs the commands of `docs/cpp.md` that build the release library, benchmark it and check for
//! leaks, as they are written there. Usually the programs link the library of this test's build;
//! with `HORUS_TORTURE=1` the release library is built, as the document says, and measured for
//! longer. Then it is abused, too.

use horus_testing as _;

mod compiler;

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use compiler::{Program, header, library_dir, root};
use serde_json::Value;

/// Returns the commands below this heading of the document.
fn commands(heading: &str) -> Vec<String> {
    let document = std::fs::read_to_string(root().join("../docs/cpp.md")).unwrap();
    let (_, section) = document.split_once(&format!("\n## {heading}\n")).unwrap();
    let block = section
        .split("```sh\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    block
        .replace("\\\n", "")
        .lines()
        .map(str::to_owned)
        .collect()
}

/// Returns the target directory of the cargo that built this test.
fn target_dir() -> PathBuf {
    library_dir().ancestors().nth(2).unwrap().to_owned()
}

fn is_torture() -> bool {
    std::env::var_os("HORUS_TORTURE").is_some_and(|value| value == "1")
}

/// Creates a directory that looks like the repository, for the output of the commands.
fn checkout() -> tempfile::TempDir {
    let private = PermissionsExt::from_mode(0o700);
    let dir = tempfile::Builder::new()
        .permissions(private)
        .tempdir()
        .unwrap();
    symlink(root(), dir.path().join("horus_cpp")).unwrap();
    let target = dir.path().join("target");
    if is_torture() {
        symlink(target_dir(), target).unwrap();
    } else {
        std::fs::create_dir(&target).unwrap();
        symlink(library_dir(), target.join("release")).unwrap();
    }
    dir
}

/// Runs a line of the document, checks that it succeeds, and returns its output.
fn run(line: &str, dir: &Path) -> String {
    println!("$ {line}");
    let mut shell = Command::new("sh");
    // WHY: the settings of the cargo that runs this test would be passed to this one.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("CARGO_") && name != "CARGO_HOME" {
            shell.env_remove(&*name);
        }
    }
    shell
        .args(["-c", line])
        .current_dir(dir)
        .stdin(Stdio::null())
        .env("LC_ALL", "C");
    let output = shell
        .env("CARGO_TARGET_DIR", target_dir())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{line}: {}\n{said}\n{errors}",
        output.status
    );
    said
}

/// Checks that a record has the fields of those of the other languages, with plausible numbers.
fn assert_is_record(json: &str) {
    let record: Value = serde_json::from_str(json).unwrap();
    let rust = include_str!("golden/record.json");
    let rust: Value = serde_json::from_str(rust).unwrap();
    let keys = |value: &Value| {
        value
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    let optional = ["governor", "hypervisor", "rustflags", "steal_percent"];
    for key in keys(&rust["machine"])
        .iter()
        .filter(|key| !optional.contains(&key.as_str()))
    {
        assert!(
            !record["machine"][key].is_null(),
            "no {key} in {}",
            record["machine"]
        );
    }
    assert_eq!(keys(&record), keys(&rust));
    let rows = record["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 11);
    for row in rows {
        // With --quick there are a hundred samples, of one operation or of a thousand.
        let operations = &row["operations"];
        assert!(*operations == 100 || *operations == 100_000, "{row}");
        let has_messages = row["id"] == "cpp/send_recv/16B";
        let counts = ["sent", "received", "lost"].map(|name| row[name].as_u64());
        let wanted = [Some(100_000), Some(100_000), Some(0)];
        assert_eq!(
            counts,
            if has_messages { wanted } else { [None; 3] },
            "{row}"
        );
        let ns = |name: &str| row["ns"][name].as_f64().unwrap();
        let names = keys(&rust["rows"][0]["ns"]);
        assert!(
            names
                .iter()
                .all(|name| ns(name) >= 0.0 && ns(name) <= ns("max")),
            "{row}"
        );
        assert!(ns("min") <= ns("p50") && ns("p50") <= ns("p99_9"), "{row}");
        assert!(
            record["settings"]["basis"][row["id"].as_str().unwrap()].is_string(),
            "{row}"
        );
    }
    assert_eq!(record["settings"]["timer_overhead_subtracted"], false);
    let goals = record["settings"]["goals"].as_array().unwrap();
    assert_eq!(goals.len(), 5);
    for goal in goals {
        let row = rows.iter().find(|row| row["id"] == goal["id"]).unwrap();
        // Both have the format of the table.
        let limit = goal["goal"].as_str().unwrap().trim_start_matches("<= ");
        let [limit, median] = [limit, goal["measured"].as_str().unwrap()].map(time_ns);
        let p50 = row["ns"]["p50"].as_f64().unwrap();
        assert!(
            (median - p50).abs() <= 0.01 * p50.max(10.0),
            "{goal} of {row}"
        );
        let verdict = if p50 <= limit { "met" } else { "missed" };
        assert_eq!(goal["verdict"], verdict, "{goal} of {row}");
    }
}

/// Parses a time in the format of the benchmark: `12.3ns`, `1.23us`.
fn time_ns(text: &str) -> f64 {
    let number = |unit| {
        text.strip_suffix(unit)
            .and_then(|number| number.parse::<f64>().ok())
    };
    number("ns")
        .or_else(|| number("us").map(|us| us * 1e3))
        .unwrap_or_else(|| panic!("{text}"))
}

/// One test, because the build is slow. It does not check whether goals are met, as the machine may
/// be busy.
#[test]
fn the_commands_of_the_document_work() {
    let lines = commands("Measure");
    let [build, compile, benchmark, compile_stress, stress] = &lines[..] else {
        panic!("{lines:?}")
    };
    let dir = checkout();
    if is_torture() {
        run(build, root().parent().unwrap());
    }

    run(compile, dir.path());
    let quick = format!("{benchmark} --quick");
    let usual = if is_torture() { benchmark } else { &quick };
    let said = run(usual, dir.path());
    let columns = ["Operation", "Min", "Median", "P99", "P999", "Max", "Stddev"];
    let heads = said.lines().filter(|line| line.starts_with("| Operation"));
    for head in heads {
        let found: Vec<_> = head
            .split('|')
            .map(str::trim)
            .filter(|it| !it.is_empty())
            .collect();
        assert_eq!(found, columns);
    }
    let rows = [
        "two readings of the clock",
        "FFI call (abi_version)",
        "Atomic read (is_running)",
        "Empty scheduler",
        "1 node + callback",
        "10 nodes + callback",
        "50 nodes + callback",
        "send + recv, 16 bytes",
        "loan + publish, 64 KiB",
        "loan + publish, 1 MiB",
    ];
    for row in rows {
        let line = said
            .lines()
            .find(|line| line.starts_with(&format!("| {row} ")));
        let line = line.unwrap_or_else(|| panic!("no row {row} in\n{said}"));
        let times = line.split('|').filter(|cell| cell.trim().ends_with('s'));
        assert!(
            times
                .filter(|cell| cell.trim().contains("ns") || cell.contains("us"))
                .count()
                >= 6
        );
    }
    for row in [
        "| Ticks/second",
        "| Time per tick",
        "| CPU overhead at 1 kHz",
    ] {
        assert!(said.contains(row), "no row {row} in\n{said}");
    }
    // Copying a megabyte would take 16 times as long.
    let times = said
        .lines()
        .rev()
        .find(|line| line.starts_with("loan + publish of 1 MiB"));
    let times = times
        .unwrap()
        .split_whitespace()
        .find_map(|word| word.parse::<f64>().ok());
    println!("{said}\n1 MiB: {times:?} times what it is of 64 KiB");

    run(&format!("{quick} --json record.json"), dir.path());
    assert_is_record(&std::fs::read_to_string(dir.path().join("record.json")).unwrap());

    run(compile_stress, dir.path());
    let said = run(stress, dir.path());
    assert!(said.ends_with("done\n"), "{said}");

    if is_torture() {
        // The checks of the debug build are not in the release build.
        let said = Program::abuse(&target_dir().join("release")).run(&["10000", "10", "100000"]);
        println!("{said}");
        let functions = header::declared().len();
        assert!(
            said.starts_with(&format!("{functions} functions, ")),
            "{said}"
        );
    }
}
