//! The C ABI from C11: each function, each error, misuse, threads, forks, and Rust as the other
//! process.

use horus_testing as _;

mod compiler;

use std::process::Stdio;

use compiler::Program;
use horus_core::namespace::{Namespace, NamespaceConfig, NamespaceName};
use horus_core::prelude::*;
use horus_core::topic::DynamicSubscriber;

horus_core::message! {
    /// The message of `c/check.h`.
    pub struct Pair {
        /// A value that stays the same.
        pub first: u64,
        /// A value that changes.
        pub second: u64,
    }
}

#[test]
fn each_function_does_what_the_header_says() {
    Program::new("smoke").run(&[]);
}

#[test]
fn a_full_topic_and_a_timeout_leave_no_text_of_another_call() {
    Program::new("error_text").run(&[]);
}

#[test]
fn namespaces_are_opened_swept_and_removed() {
    Program::new("namespaces").run(&[]);
}

/// Every function of the header, with each kind of wrong argument; `tests/reference.rs` does so in
/// an optimised build.
#[test]
fn any_number_is_a_handle_or_an_error() {
    let said = Program::abuse(&compiler::library_dir()).run(&["2000", "4", "20000"]);
    println!("{said}");
    let functions = compiler::header::declared().len();
    assert!(
        said.starts_with(&format!("{functions} functions, ")),
        "{said}"
    );
}

/// In checked builds, also: two threads do not share a handle.
#[test]
fn a_handle_may_be_closed_while_it_is_used() {
    let rounds = if cfg!(debug_assertions) { "40" } else { "400" };
    let checked = if cfg!(debug_assertions) {
        "checked"
    } else {
        "unchecked"
    };
    Program::new("race").run(&[rounds, checked]);
}

#[test]
fn a_forked_child_has_handles_that_are_errors() {
    Program::new("forked").run(&[]);
}

#[test]
fn a_publisher_that_cannot_be_mapped_is_an_error_until_it_can() {
    Program::new("unmapped").run(&[]);
}

/// Each call completes, and the thread is cancelled after it.
#[test]
fn a_thread_that_is_cancelled_ends_outside_of_the_library() {
    Program::new("cancelled").run(&[]);
}

#[test]
fn rust_and_c_exchange_messages_across_processes() {
    const MESSAGES: u64 = 1000;
    let program = Program::new("echo");
    let config = NamespaceConfig::new(program.shm_dir(), NamespaceName::default());
    let namespace = Namespace::open(&config).unwrap();
    let qos = Qos::reliable();
    let builder = |name: &str| Topic::<Pair>::builder(name).qos(qos).namespace(&namespace);
    let mut questions = builder("questions").publisher().unwrap();
    let mut answers = builder("answers").subscriber().unwrap();
    let mut echo = program.command();
    let echo = echo
        .arg("questions")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // The first message shows that the other process has subscribed.
    assert_eq!(
        answers.recv_blocking().unwrap(),
        Pair {
            first: 0,
            second: 0
        }
    );
    let mut tool = DynamicSubscriber::observe(&namespace, "answers").unwrap();
    for first in (1..MESSAGES).chain([0]) {
        questions
            .send(Pair {
                first,
                second: first,
            })
            .unwrap();
        assert_eq!(
            answers.recv_blocking().unwrap(),
            Pair {
                first,
                second: first + 1
            }
        );
        assert!(tool.recv().is_some());
    }
    let output = echo.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        format!("{MESSAGES}\n")
    );
}

/// Both are publishers and subscribers, and no question or answer is lost.
#[test]
fn rust_and_c_go_on_when_the_files_of_their_topics_are_removed() {
    const REMOVALS: usize = 3;
    let program = Program::new("echo");
    let config = NamespaceConfig::new(program.shm_dir(), NamespaceName::default());
    let namespace = Namespace::open(&config).unwrap();
    let qos = Qos::reliable();
    let builder = |name: &str| Topic::<Pair>::builder(name).qos(qos).namespace(&namespace);
    let mut questions = builder("questions").publisher().unwrap();
    let mut answers = builder("answers").subscriber().unwrap();
    let mut echo = program.command();
    let echo = echo.arg("questions").stdout(Stdio::piped());
    let echo = echo.spawn().unwrap();
    answers.recv_blocking().unwrap();
    let mut asked = 0;
    let mut ask = |first| {
        let question = Pair {
            first,
            second: asked,
        };
        questions.send(question).unwrap();
        asked += 1;
        let answer = Pair {
            first,
            second: asked,
        };
        assert_eq!(answers.recv_blocking().unwrap(), answer);
    };
    let files = ["questions", "answers"].map(|topic| namespace.topics_path().join(topic));
    for _ in 0..REMOVALS {
        for file in &files {
            std::fs::remove_file(file).unwrap();
        }
        while !files.iter().all(|file| file.exists()) {
            ask(1);
        }
        ask(1);
    }
    ask(0);
    let output = echo.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        format!("{asked}\n")
    );
    let stats = answers.stats();
    assert_eq!((stats.received, stats.lost), (asked + 1, 0));
}

/// The error names the first field that differs.
#[test]
fn another_message_is_an_error_that_names_the_field() {
    let program = Program::new("echo");
    let config = NamespaceConfig::new(program.shm_dir(), NamespaceName::default());
    let namespace = Namespace::open(&config).unwrap();
    let _questions = Topic::<CmdVel>::builder("questions")
        .namespace(&namespace)
        .topic()
        .unwrap();
    let output = program.command().arg("questions").output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(errors.contains("is HORUS_E_TYPE"), "{errors}");
    assert!(
        errors.contains("'Pair' here, 'CmdVel' in the topic"),
        "{errors}"
    );
}
