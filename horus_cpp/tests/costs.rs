//! The cost of a message from C++ and from Rust, measured alternately; the best of each counts.
//!
//! The numbers are printed, and are meaningful in an optimised build: `cargo test --release -p
//! horus_cpp --test costs -- --nocapture`.

use horus_testing as _;

mod compiler;

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::Instant;

use compiler::Program;
use horus_core::namespace::{Namespace, NamespaceConfig, NamespaceName};
use horus_core::prelude::*;

const ROUNDS: usize = if cfg!(debug_assertions) { 2 } else { 20 };
const BATCHES: usize = 200;
const BATCH: u32 = 1000;

/// Measures the same as `cpp/costs.cpp`.
fn best_ns(publisher: &mut Publisher<CmdVel>, subscriber: &mut Subscriber<CmdVel>) -> f64 {
    let mut best_ns = f64::MAX;
    let mut message = CmdVel::new(0.5, 0.1);
    for _ in 0..BATCHES {
        let begin = Instant::now();
        for _ in 0..BATCH {
            message.timestamp_ns += 1;
            publisher.send(message).unwrap();
            assert_eq!(subscriber.recv(), Some(message));
        }
        best_ns = best_ns.min(begin.elapsed().as_nanos() as f64 / f64::from(BATCH));
    }
    best_ns
}

#[test]
fn a_message_is_received_as_it_was_sent_in_every_round() {
    let program = Program::cpp("tests/cpp/costs.cpp", &["-std=c++17", "-O2"]);
    let config = NamespaceConfig::new(program.shm_dir(), NamespaceName::default());
    let namespace = Namespace::open(&config).unwrap();
    let builder = || Topic::<CmdVel>::builder("rust").namespace(&namespace);
    let mut publisher = builder().publisher().unwrap();
    let mut subscriber = builder().subscriber().unwrap();
    let mut cpp = program.command();
    let mut cpp = cpp
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ask = cpp.stdin.take().unwrap();
    let answers = cpp.stdout.take().unwrap();
    let mut answers = BufReader::new(answers).lines();
    let mut in_rust = f64::MAX;
    let mut in_cpp = f64::MAX;
    for _ in 0..ROUNDS {
        in_rust = in_rust.min(best_ns(&mut publisher, &mut subscriber));
        writeln!(ask).unwrap();
        let answer = answers.next().expect("the C++ program ended").unwrap();
        in_cpp = in_cpp.min(answer.parse().unwrap());
    }
    drop(ask);
    assert!(cpp.wait().unwrap().success());
    let more = in_cpp - in_rust;
    println!("send + recv of CmdVel: Rust {in_rust:.1} ns, C++ {in_cpp:.1} ns, {more:.1} ns more");
}
