//! A record that cannot be read, or that failed, is kept.

use std::fs;
use std::io;

use horus_benchmarks::report::research::record::*;

#[test]
fn what_cannot_be_read_and_what_failed_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
    write(
        "good.json",
        r#"{"machine": {"cpu": "x", "warnings": ["hot"]}, "commit": "abc",
            "settings": {"basis": {"a": "RTT/2"}},
            "rows": [{"id": "a", "sent": 1, "received": 1, "lost": 0, "ratio": 2.5,
                      "ratio_ci": [2.0, 3.0]}, {"id": "b", "ns": 7}]}"#,
    );
    write("bad.json", "{");
    write("notes.txt", "");
    write(
        OUTCOMES_FILE,
        "lost\texit code 1\t7\ngood\tok\t3\npython\tskipped: none\t0\n",
    );
    let run = RunRecord::read(directory.path()).unwrap();
    let names: Vec<&str> = run.programs.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["lost", "good", "python", "bad"]);
    let [lost, good, python, bad] = &run.programs[..] else {
        panic!()
    };
    assert!(!lost.is_complete() && !bad.is_complete() && !good.is_complete());
    assert!(python.is_complete());
    assert_eq!(
        lost.outcome,
        Some(ProgramOutcome {
            result: "exit code 1".to_owned(),
            seconds: 7
        })
    );
    assert!(
        bad.problems[0].contains("cannot be read"),
        "{:?}",
        bad.problems
    );
    assert!(good.problems[0].contains("row b"), "{:?}", good.problems);
    assert_eq!(
        (good.rows[0].additional.ratio, good.measurement_method("a")),
        (Some(2.5), "RTT/2")
    );
    assert_eq!((good.warnings(), run.rows().count()), (vec!["hot"], 1));
    assert_eq!(
        run.first_with_machine().map(|one| one.name.as_str()),
        Some("good")
    );
}

#[test]
fn one_record_is_a_run_and_an_empty_directory_is_none() {
    let directory = tempfile::tempdir().unwrap();
    let error = RunRecord::read(directory.path()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    let path = directory.path().join("one.json");
    fs::write(&path, r#"{"rows": []}"#).unwrap();
    let run = RunRecord::read(&path).unwrap();
    let names: Vec<&str> = run.programs.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["one"]);
}
