//! Two CPUs are chosen, and threads are pinned to them.

use std::error::Error;

use horus_benchmarks::measure::pin::*;
use rustix::thread::CpuSet;

#[test]
fn default_pair_prefers_another_core_then_a_sibling_then_itself() {
    let two_per_core = |cpu: usize| vec![cpu / 2 * 2, cpu / 2 * 2 + 1];
    assert_eq!(
        CpuPair::choose_among(&[0, 1, 2, 3], two_per_core),
        CpuPair { near: 0, far: 2 }
    );
    assert_eq!(
        CpuPair::choose_among(&[0, 1], two_per_core),
        CpuPair { near: 0, far: 1 }
    );
    let alone = CpuPair::choose_among(&[5], two_per_core);
    assert!(alone.shares_cpu());
    assert!(!alone.shares_core());
}

#[test]
fn cpu_lists_are_parsed_as_the_kernel_writes_them() {
    assert_eq!(parse_cpu_list("0-2,5,7-8\n"), vec![0, 1, 2, 5, 7, 8]);
    assert_eq!(parse_cpu_list("\n"), Vec::<usize>::new());
}

#[test]
fn pinning_narrows_the_mask_to_one_cpu() {
    let cpu = *allowed_cpus().unwrap().last().unwrap();
    // A thread of its own, so that the test runner's threads keep their freedom.
    std::thread::spawn(move || {
        pin_current_thread(cpu).unwrap();
        assert_eq!(allowed_cpus().unwrap(), vec![cpu]);
    })
    .join()
    .unwrap();
}

#[test]
fn pinning_to_an_impossible_cpu_is_an_error_that_names_it() {
    let assert_not_allowed = |error: Box<dyn Error>, cpu: usize| {
        let text = format!("cpu {cpu} is not allowed here; allowed: [");
        assert!(error.to_string().starts_with(&text), "{error}");
    };
    assert_not_allowed(pin_current_thread(1 << 20).unwrap_err(), 1 << 20);
    let last = CpuSet::MAX_CPU - 1;
    if !allowed_cpus().unwrap().contains(&last) {
        assert_not_allowed(pin_current_thread(last).unwrap_err(), last);
        assert_not_allowed(CpuPair::choose(Some((0, last))).unwrap_err(), last);
    }
}
