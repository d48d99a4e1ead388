//! The command line of the benchmarks.

use std::time::Duration;

use clap::Parser;
use clap::error::{Error, ErrorKind};
use horus_benchmarks::run::args::*;

fn parse(line: &str) -> Result<Args, Error> {
    Args::try_parse_from(["x"].into_iter().chain(line.split_whitespace()))
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
    assert_eq!(parse(line).unwrap(), wanted);
    assert_eq!(parse("").unwrap(), Args::default());
    let help = parse("--quick --help").unwrap_err();
    assert_eq!(help.kind(), ErrorKind::DisplayHelp);
}

#[test]
fn what_is_not_understood_is_named() {
    for (line, message) in [
        ("--fast", "'--fast'"),
        ("--json", "'--json <FILE>'"),
        ("--rounds 0", "'0' for '--rounds <N>': 0 is not in 1.."),
        ("--rounds 99999999999", "'99999999999' for '--rounds <N>'"),
        ("--samples 0", "'0' for '--samples <N>'"),
        (
            "--duration 0",
            "'0' for '--duration <S>': wants a number of seconds above 0",
        ),
        (
            "--cpus 1",
            "'1' for '--cpus <A,B>': wants two numbers 'A,B'",
        ),
    ] {
        let error = parse(line).unwrap_err().to_string();
        assert!(error.contains(message), "no {message} in {error}");
    }
}

#[test]
fn the_filter_is_a_part_of_the_id() {
    let args = parse("--filter two_lines").unwrap();
    assert!(args.wants_row("floor/cross_thread/two_lines/8B"));
    assert!(!args.wants_row("floor/cross_thread/one_line/8B"));
    assert!(Args::default().wants_row("anything"));
}

#[test]
fn the_command_line_overrides_the_default_effort() {
    let defaults = QuickOrFull((20, 200), (60, 500));
    let full = MeasurementEffort::new(&Args::default(), defaults);
    assert_eq!((full.rounds, full.warm_up, full.samples), (60, 50, 500));
    let quick = Args {
        quick: true,
        ..Args::default()
    };
    assert_eq!(MeasurementEffort::new(&quick, defaults).rounds, 20);
    let asked = Args {
        rounds: Some(3),
        samples: Some(15),
        ..quick
    };
    assert_eq!(
        MeasurementEffort::new(&asked, defaults),
        MeasurementEffort {
            rounds: 3,
            warm_up: 2,
            samples: 15
        }
    );
}
