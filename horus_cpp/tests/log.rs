//! A C++ program that logs and is killed: its lines are there.

use horus_testing as _;

mod compiler;

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use compiler::Program;
use horus_core::log::LogReader;
use horus_core::message::LogLineHeader;
use horus_core::namespace::{Namespace, NamespaceConfig, NamespaceName};

#[test]
fn the_lines_of_a_killed_program_are_kept() {
    for standard in compiler::dialects(1) {
        let program = Program::cpp("tests/cpp/log.cpp", &[standard]);
        let mut child = program
            .command()
            .env_remove("HORUS_LOG")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut said).unwrap();
        child.kill().unwrap();
        let stderr = child.wait_with_output().unwrap().stderr;
        let stderr = String::from_utf8(stderr).unwrap();
        assert_eq!(said, "done\n", "{stderr}");

        let name = NamespaceName::default();
        let config = NamespaceConfig::new(program.shm_dir(), name);
        let namespace = Namespace::open(&config).unwrap();
        let mut reader = LogReader::new(&namespace);
        let mut lines = reader.poll().unwrap();
        // On a slow machine, a tick may be late or stuck, which the scheduler logs.
        let slow = [
            "its deadline",
            "its budget",
            "stuck, a tick",
            "recovered, the tick",
        ];
        let is_slow = |text: &str| slow.iter().any(|part| text.contains(part));
        lines.retain(|record| !is_slow(&record.line.text()));
        assert_eq!(reader.lost(), 0);
        let found: Vec<_> = lines
            .iter()
            .map(|record| {
                let line = record.line.header();
                (
                    line.level,
                    line.node.as_str().to_owned(),
                    record.line.text().into_owned(),
                )
            })
            .collect();
        let line = |level, node: &str, text: &str| (level, node.to_owned(), text.to_owned());
        assert_eq!(
            found,
            [
                line(LogLineHeader::INFO, "camera", "from the process"),
                line(LogLineHeader::DEBUG, "planner", "from the planner"),
                line(LogLineHeader::ERROR, "camera", ""),
                line(LogLineHeader::WARN, "planner", "bytes\0\u{fffd}\u{1b}[2J"),
                line(LogLineHeader::INFO, "camera", "formatted 7 0.2"),
                line(LogLineHeader::INFO, "camera", &"x".repeat(752)),
                line(LogLineHeader::WARN, "arm", "in tick 0"),
                line(LogLineHeader::WARN, "arm", "in tick 1"),
                line(LogLineHeader::WARN, "arm", "in tick 2"),
                line(LogLineHeader::ERROR, "camera", "the last line"),
            ],
            "{standard}"
        );
        assert_eq!(lines[3].line.source_file, *"plan.c");
        assert_eq!(lines[3].line.source_line, 7);
        // All of the text that is not in the line, also what was left out before it was logged.
        assert_eq!(lines[5].line.cut_bytes, 5000 - 752);
        assert!(lines[5].line.source_file.as_str().ends_with("log.cpp"));
        if standard == "-std=c++20" {
            assert!(lines[0].line.source_file.as_str().ends_with("log.cpp"));
        }
        // Also those of the real-time node are on stderr.
        let own = stderr.lines().filter(|line| !is_slow(line));
        assert_eq!(own.count(), found.len(), "{stderr}");
        assert!(stderr.contains("Z WARN  arm: in tick 2\n"), "{stderr}");
        assert!(
            stderr.contains("bytes\\u{0}\u{fffd}\\u{1b}[2J\n"),
            "{stderr}"
        );
    }
}
