//! The talkers and listeners in C and C++, in every combination.

use horus_testing as _;

mod compiler;

use std::process::Stdio;

use compiler::Program;

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
