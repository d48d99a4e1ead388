//! Programs in C and C++ wait until the other endpoint of their topic is there, whichever of them
//! starts first.

use horus_testing as _;

mod compiler;

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{ChildStdout, Stdio};

use compiler::{Program, Spawned};
use horus_core::namespace::{Namespace, NamespaceConfig, NamespaceName};

/// Compiles the program in both languages.
fn programs() -> [Program; 2] {
    [
        Program::new("rendezvous"),
        Program::cpp("tests/cpp/rendezvous.cpp", &["-std=c++17"]),
    ]
}

/// A running program. It ends when its input does.
struct Participant {
    process: Spawned,
    words: Lines<BufReader<ChildStdout>>,
}

impl Participant {
    /// Starts a program, and waits until it has opened the topic.
    fn start(program: &Program, shm_dir: &Path, role: &str, topic: &str) -> Self {
        let mut command = program.command();
        let command = command.env("HORUS_SHM_DIR", shm_dir).args([role, topic]);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = Spawned::new(command);
        let words = BufReader::new(process.take_stdout()).lines();
        let mut this = Self { process, words };
        let opened = this.word();
        assert!(opened.starts_with("open "), "{role}: {opened}");
        this
    }

    /// Returns its next word.
    fn word(&mut self) -> String {
        self.words.next().expect("the program ended").unwrap()
    }

    fn end(mut self) {
        assert!(self.process.wait().success());
    }
}

#[test]
fn processes_wait_for_each_other_in_either_order_and_language() {
    let programs = programs();
    let shm_dir = programs[0].shm_dir();
    for (first, first_program) in programs.iter().enumerate() {
        for (second, second_program) in programs.iter().enumerate() {
            for roles in [["publish", "subscribe"], ["subscribe", "publish"]] {
                let topic = format!("{first}.{second}.{}", roles[0]);
                let mut pair = [(first_program, roles[0]), (second_program, roles[1])]
                    .map(|(program, role)| Participant::start(program, &shm_dir, role, &topic));
                for (one, role) in pair.iter_mut().zip(roles) {
                    assert_eq!(one.word(), "found 1", "{role} of {topic}");
                    if role == "subscribe" {
                        assert_eq!(one.word(), "received 7", "{topic}");
                    }
                }
                pair.into_iter().for_each(Participant::end);
            }
        }
    }
}

#[test]
fn a_truncated_topic_ends_a_wait_with_an_error() {
    for program in programs() {
        let shm_dir = program.shm_dir();
        let mut waiting = Participant::start(&program, &shm_dir, "lose", "lost");
        let config = NamespaceConfig::new(&shm_dir, NamespaceName::default());
        let namespace = Namespace::open(&config).unwrap();
        let file = namespace.topics_path().join("lost");
        let file = OpenOptions::new().write(true).open(file).unwrap();
        file.set_len(0).unwrap();
        assert_eq!(waiting.word(), "lost 2");
        waiting.end();
    }
}
