//! Two mappings of one memory show the same words.

use std::sync::atomic::{self};

use horus_benchmarks::measure::lines::*;

#[test]
fn two_mappings_of_one_memory_show_the_same_words() {
    let first = SharedCacheLines::create().unwrap();
    let second = first.map_again().unwrap();
    first.line(1).words[3].store(42, atomic::Ordering::Relaxed);
    assert_eq!(second.line(1).words[3].load(atomic::Ordering::Relaxed), 42);
    assert_eq!(second.line(0).words[3].load(atomic::Ordering::Relaxed), 0);
}

#[test]
fn a_file_too_short_for_the_lines_is_refused() {
    let file = tempfile::tempfile().unwrap();
    file.set_len(255).unwrap();
    assert!(SharedCacheLines::map(file).is_err());
}
