//! The command line of the benchmarks.

use std::time::Duration;

use horus_benchmarks::run::args::*;

fn parse(line: &str) -> Result<Option<Args>, ArgsError> {
    Args::parse(line.split_whitespace().map(str::to_owned))
}

#[test]
fn every_option_is_understood() {
    let line = "--quick --json out.json --rounds 25 --samples 1000 --cpus 2,3 --filter floor/ \
        --duration 2.5 --runtime ours,tokio";
    let wanted = Args {
        quick: true,
        json: Some("out.json".into()),
        rounds: Some(25),
        samples: Some(1000),
        cpus: Some((2, 3)),
        filter: Some("floor/".to_owned()),
        duration: Some(Duration::from_millis(2500)),
        runtimes: Some(vec!["ours".to_owned(), "tokio".to_owned()]),
    };
    assert_eq!(parse(line), Ok(Some(wanted)));
    assert_eq!(parse(""), Ok(Some(Args::default())));
    assert_eq!(parse("--quick --help"), Ok(None));
}

#[test]
fn what_is_not_understood_is_named() {
    for (line, message) in [
        ("--fast", "unknown argument '--fast'"),
        ("--json", "--json needs a value"),
        ("--rounds 0", "--rounds wants a positive number, not '0'"),
        (
            "--rounds 99999999999",
            "--rounds wants a positive number, not '99999999999'",
        ),
        (
            "--duration 0",
            "--duration wants a number of seconds above 0, not '0'",
        ),
        ("--cpus 1", "--cpus wants two numbers 'A,B', not '1'"),
    ] {
        assert_eq!(parse(line).unwrap_err().to_string(), message);
    }
}

#[test]
fn the_filter_is_a_part_of_the_id() {
    let args = parse("--filter two_lines").unwrap().unwrap();
    assert!(args.wants("floor/cross_thread/two_lines/8B"));
    assert!(!args.wants("floor/cross_thread/one_line/8B"));
    assert!(Args::default().wants("anything"));
}

#[test]
fn the_command_line_overrides_the_default_effort() {
    assert_eq!(Effort::new(&Args::default()).rounds, 60);
    let quick = Args {
        quick: true,
        ..Args::default()
    };
    assert_eq!(Effort::new(&quick).rounds, VERDICT_ROUNDS);
    let asked = Args {
        rounds: Some(3),
        samples: Some(15),
        ..quick
    };
    assert_eq!(
        Effort::new(&asked),
        Effort {
            rounds: 3,
            warm_up: 2,
            samples: 15
        }
    );
}
