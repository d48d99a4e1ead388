//! The talkers and listeners in C and C++, in every combination.

use horus_testing as _;

mod compiler;

use std::process::Stdio;

use compiler::{Program, root};
use horus_core::namespace::{Namespace, NamespaceConfig, NamespaceName};
use horus_core::topic::{Qos, Topic};

horus_core::message! {
    /// The message of the talkers.
    pub struct Counter {
        /// The time at which the message was sent.
        pub timestamp_ns: u64,
        /// The number of the message, from 1 on.
        pub count: u64,
    }
}

/// Programs that are copied from the examples may offer reliable messages.
#[test]
fn a_message_that_is_refused_is_not_sent() {
    let copies = tempfile::tempdir().unwrap();
    let edits = [
        ("talker.c", "", ""),
        (
            "counter.h",
            ".preset = HORUS_QOS_LATCHED,",
            ".preset = HORUS_QOS_RELIABLE, .capacity = 2,",
        ),
        (
            "talker.cpp",
            "horus::Qos::latched()",
            "horus::Qos::reliable().capacity(2)",
        ),
        ("counter.hpp", "", ""),
    ];
    for (file, from, to) in edits {
        let text = std::fs::read_to_string(root().join("examples").join(file)).unwrap();
        assert!(text.contains(from), "{file}");
        std::fs::write(copies.path().join(file), text.replacen(from, to, 1)).unwrap();
    }
    let path = |file: &str| copies.path().join(file).display().to_string();
    let talkers = [
        Program::c(&path("talker.c")),
        Program::cpp(&path("talker.cpp"), &["-std=c++17"]),
    ];
    for talker in &talkers {
        let config = NamespaceConfig::new(talker.shm_dir(), NamespaceName::default());
        let namespace = Namespace::open(&config).unwrap();
        let topic = Topic::<Counter>::builder("counter").namespace(&namespace);
        let _listener = topic.qos(Qos::reliable()).subscriber().unwrap();
        let talked = talker.command().arg("4").output().unwrap();
        assert!(talked.status.success(), "{talked:?}");
        assert_eq!(
            String::from_utf8(talked.stdout).unwrap(),
            "sent 1\nsent 2\n"
        );
        let errors = String::from_utf8(talked.stderr).unwrap();
        assert_eq!(errors.lines().count(), 2, "{errors}");
    }
}

#[test]
fn a_wrong_argument_is_refused() {
    let programs = [
        Program::c("examples/talker.c"),
        Program::c("examples/listener.c"),
        Program::cpp("examples/talker.cpp", &["-std=c++17"]),
        Program::cpp("examples/listener.cpp", &["-std=c++17"]),
    ];
    let wrong: [&[&str]; 6] = [&["--help"], &["foo"], &[""], &["-1"], &["5x"], &["5", "6"]];
    for program in &programs {
        for arguments in wrong {
            let refused = program.command().args(arguments).output().unwrap();
            assert_eq!(refused.status.code(), Some(2), "{arguments:?}: {refused:?}");
            let errors = String::from_utf8(refused.stderr).unwrap();
            assert!(errors.starts_with("usage: "), "{arguments:?}: {errors}");
        }
    }
}

/// Every listener receives from a talker of its own language and of the other.
#[test]
fn every_listener_receives_from_every_talker() {
    let talkers = [
        Program::c("examples/talker.c"),
        Program::cpp("examples/talker.cpp", &["-std=c++17"]),
    ];
    let listeners = [
        Program::c("examples/listener.c"),
        Program::cpp("examples/listener.cpp", &["-std=c++17"]),
    ];
    for talker in &talkers {
        for (number, listener) in listeners.iter().enumerate() {
            let shm_dir = talker.shm_dir().with_extension(number.to_string());
            let in_one_place = |program: &Program| {
                let mut command = program.command();
                command
                    .env("HORUS_SHM_DIR", &shm_dir)
                    .stdout(Stdio::piped());
                command
            };
            let listening = in_one_place(listener).arg("3").spawn().unwrap();
            // Endless, so that the order of the starts does not matter.
            let mut talking = in_one_place(talker).spawn().unwrap();
            let heard = listening.wait_with_output().unwrap();
            talking.kill().unwrap();
            talking.wait().unwrap();
            assert!(heard.status.success(), "{heard:?}");
            let heard = String::from_utf8(heard.stdout).unwrap();
            let counts: Vec<u64> = heard
                .lines()
                .map(|line| line.strip_prefix("received ").unwrap().parse().unwrap())
                .collect();
            assert!(
                counts.len() == 3 && counts.windows(2).all(|pair| pair[0] < pair[1]),
                "{heard}"
            );
        }
    }
}
