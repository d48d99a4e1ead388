//! A hanging test fails with its name, a failing sweep says how to repeat it, and a skip is
//! recorded in the requested file.

use std::env;
use std::fs;
use std::io::Write;
use std::process::{Command, Output};
use std::thread;

const ROLE_VARIABLE: &str = "HORUS_TESTING_ROLE";

/// Runs one of the tests below in a process of its own, as a child.
fn play(test: &str, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env::current_exe().unwrap());
    // WHY two threads: with one, the harness runs a test in the main thread, which has no name.
    command
        .args([test, "--exact", "--test-threads=2"])
        .env(ROLE_VARIABLE, "child");
    for name in ["HORUS_TEST_SKIPS", "HORUS_TEST_POINTS", "HORUS_TORTURE"] {
        command.env_remove(name);
    }
    command.envs(variables.iter().copied()).output().unwrap()
}

fn is_child() -> bool {
    env::var_os(ROLE_VARIABLE).is_some()
}

/// Not a test of a property: the child that hangs.
#[test]
fn hang_if_asked() {
    if is_child() {
        // WHY not `eprintln`: the harness would capture it.
        std::io::stderr().write_all(b"it hangs\n").unwrap();
    }
    while is_child() {
        thread::park();
    }
}

/// Not a test of a property: the child that skips.
#[test]
fn skip_if_asked() {
    if is_child() {
        horus_testing::skip("there is no such thing:\ninstall it");
    }
}

/// Not a test of a property: the child that fails at some points of a sweep.
#[test]
fn sweep_if_asked() {
    if is_child() {
        let sample = horus_testing::PointSample::every(3);
        let visited: Vec<_> = sample.points().take(3).collect();
        panic!("visited {visited:?}.");
    }
}

#[test]
fn a_sweep_that_fails_can_be_repeated() {
    let run = |variables: &[(&str, &str)]| {
        let output = play("sweep_if_asked", variables);
        assert!(!output.status.success());
        let both = [output.stdout, output.stderr].concat();
        String::from_utf8(both).unwrap()
    };
    let part = |text: &str, before: &str, after: char| {
        let found = text
            .split_once(before)
            .and_then(|(_, rest)| rest.split_once(after));
        found
            .unwrap_or_else(|| panic!("no '{before}' in: {text}"))
            .0
            .to_owned()
    };
    let first = run(&[]);
    let number = part(&first, "HORUS_TEST_POINTS=", '\n');
    let again = run(&[("HORUS_TEST_POINTS", &number)]);
    let visited = part(&first, "visited ", '.');
    assert_eq!(part(&again, "visited ", '.'), visited);
    for (name, value) in [("HORUS_TORTURE", "1"), ("HORUS_TEST_POINTS", "all")] {
        assert_eq!(part(&run(&[(name, value)]), "visited ", '.'), "[0, 1, 2]");
    }
    let wrong = run(&[("HORUS_TEST_POINTS", "some")]);
    assert!(
        wrong.contains("HORUS_TEST_POINTS is 'some': wanted 'all' or a number"),
        "{wrong}"
    );
}

#[test]
fn a_hang_is_a_failure_that_names_its_test() {
    let run = |seconds: u64| {
        let output = play(
            "hang_if_asked",
            &[("HORUS_TEST_SECONDS", &seconds.to_string())],
        );
        let printed = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(124), "{printed}");
        (seconds, printed)
    };
    // WHY again: on a busy machine the test may not have begun when its time is over.
    let mut runs = (0..6).map(|round| run(1 << round));
    let (seconds, printed) = runs.find(|(_, text)| text.contains("it hangs")).unwrap();
    let binary = env::current_exe().unwrap();
    for part in [
        "error: ",
        binary.to_str().unwrap(),
        &format!("after {seconds} s "),
        "unfinished: hang_if_asked",
    ] {
        assert!(printed.contains(part), "no '{part}' in: {printed}");
    }
}

#[test]
fn a_limit_that_is_no_number_is_an_error() {
    let output = play("skip_if_asked", &[("HORUS_TEST_SECONDS", "soon")]);
    let printed = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{printed}");
    assert!(
        printed.contains("HORUS_TEST_SECONDS is 'soon'"),
        "{printed}"
    );
}

#[test]
fn a_skip_of_a_passing_test_is_printed_and_recorded() {
    let file = env::temp_dir().join(format!("horus-testing-skips-{}", std::process::id()));
    let variables = [("HORUS_TEST_SKIPS", file.to_str().unwrap())];
    let wanted = "limit::skip_if_asked: there is no such thing: install it";
    let printed = [(); 2].map(|()| play("skip_if_asked", &variables));
    let recorded = fs::read_to_string(&file).unwrap();
    fs::remove_file(&file).unwrap();
    assert_eq!(recorded, format!("{wanted}\n{wanted}\n"));
    for output in printed {
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && printed.contains(&format!("\nSKIP {wanted}\n")));
    }
}
