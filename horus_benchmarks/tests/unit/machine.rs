//! The machine is described, with what makes its numbers worse.

use std::time::Duration;

use horus_benchmarks::measure::machine::*;
use horus_benchmarks::measure::pin::CpuPair;
use horus_benchmarks::measure::tsc::TscClock;

fn machine() -> Machine {
    let clock = TscClock::calibrate(Duration::from_millis(1));
    Machine::probe(CpuPair::choose(None).unwrap(), &clock).unwrap()
}

#[test]
fn probe_finds_what_every_linux_has() {
    let machine = machine();
    assert!(machine.cores >= machine.allowed_cpus.len().min(1));
    assert!(machine.allowed_cpus.contains(&machine.pinned.near));
    assert!(machine.rustc.starts_with("rustc "), "{}", machine.rustc);
    assert_ne!(machine.kernel, "unknown");
    assert!(!git_commit().is_empty());
}

#[test]
fn every_shortcoming_is_warned_of_and_a_good_machine_is_not() {
    let good = Machine {
        profile: "release".to_owned(),
        pinned: CpuPair { near: 0, far: 1 },
        governor: Some("performance".to_owned()),
        load_average: 0.1,
        invariant_tsc: true,
        hypervisor: None,
        ..machine()
    };
    assert_eq!(good.find_warnings(false), Vec::<String>::new());
    let bad = Machine {
        profile: "debug".to_owned(),
        pinned: CpuPair { near: 0, far: 0 },
        governor: Some("powersave".to_owned()),
        load_average: 1.5,
        invariant_tsc: false,
        hypervisor: Some("someone".to_owned()),
        ..good
    };
    assert_eq!(bad.find_warnings(true).len(), 7);
}

#[test]
fn what_the_hypervisor_took_is_of_the_pinned_cpus_and_warned_of() {
    let stat = |steal: u64| {
        format!(
            "cpu 9 9 9 9 9 9 9 9\ncpu0 10 0 0 50 0 0 0 {steal} 3 0\n\
             cpu1 5 0 5 20 0 0 0 {steal}\ncpu10 1 1 1 1 1 1 1 1\n"
        )
    };
    let before = CpuTimes::parse(&stat(0), &[0, 1]);
    let after = CpuTimes::parse(&stat(5), &[0, 1]);
    assert_eq!(before, Some(CpuTimes { all: 90, steal: 0 }));
    assert_eq!(
        after,
        Some(CpuTimes {
            all: 100,
            steal: 10
        })
    );
    assert_eq!(CpuTimes::parse("cpu0 1 2 3", &[0, 1]), None);
    assert!(CpuTimes::read(&[machine().pinned.near]).is_some());

    let mut machine = Machine {
        warnings: Vec::new(),
        ..machine()
    };
    machine.record_steal_time(before, None);
    assert_eq!(machine.steal_percent, None);
    machine.record_steal_time(before, after);
    assert_eq!(machine.steal_percent, Some(100.0));
    assert!(
        machine.warnings[0].contains("hypervisor"),
        "{:?}",
        machine.warnings
    );
    machine.record_steal_time(
        before,
        Some(CpuTimes {
            all: 1090,
            steal: 0,
        }),
    );
    assert_eq!(
        (machine.steal_percent, machine.warnings.len()),
        (Some(0.0), 1)
    );
}

#[test]
fn fields_are_found_by_their_whole_name() {
    let text = "model\t\t: 2\nmodel name\t: A CPU: fast\n";
    assert_eq!(read_cpu_model(text), "A CPU: fast");
    let x86 = format!("cpu family\t: 25\n{text}");
    assert_eq!(read_cpu_model(&x86), "A CPU: fast (family 25, model 2)");
    assert_eq!(read_cpu_model("model nam\t: 2\n"), "unknown");
}
