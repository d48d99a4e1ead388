//! Second signals: a repetition of the first one has no effect, a later one ends the process.

use super::*;

/// Longer than the time in which a signal counts as a repetition of the first one.
const REPETITION: Duration = Duration::from_millis(600);

/// `timeout` and others send a signal to a process and then to its group.
#[test]
fn a_repeated_signal_cuts_no_shutdown_short() {
    loop {
        let dir = shm_dir();
        let mut child = Child::spawn("slow_end", dir.path());
        child.await_word("tick main");
        let signals = [libc::SIGTERM, libc::SIGINT];
        let begin = Instant::now();
        signals.iter().for_each(|&signal| child.signal(signal));
        // A busy machine may send the second one so late that it is no repetition.
        let is_prompt = begin.elapsed() < Duration::from_millis(100);
        // Two threads may handle them at the same time.
        let end = child.wait();
        if is_prompt {
            let codes = signals.map(|signal| End::Code(128 + signal));
            assert!(codes.contains(&end), "{end:?}");
            assert!(is_reversed(&mut child), "{:?}", child.said());
            break;
        }
    }
}

#[test]
fn a_second_signal_ends_the_process_at_once() {
    let kinds = [libc::SIGINT, libc::SIGTERM];
    for (first, second) in kinds
        .into_iter()
        .flat_map(|one| kinds.map(|other| (one, other)))
    {
        let dir = shm_dir();
        let mut child = Child::spawn("hangs_at_end", dir.path());
        child.await_word("tick main");
        child.signal(first);
        child.await_word("hangs");
        thread::sleep(REPETITION);
        child.signal(second);
        assert_eq!(child.wait(), End::Code(128 + second), "{first}, {second}");
        assert_eq!(ends(&mut child), ["main", "woken"]);
    }
}

#[test]
fn the_second_signal_of_a_closed_terminal_cuts_no_shutdown_short() {
    let dir = shm_dir();
    let mut child = Child::spawn("hangs_at_end", dir.path());
    child.await_word("tick main");
    child.signal(libc::SIGHUP);
    child.await_word("hangs");
    for _ in 0..100 {
        child.signal(libc::SIGHUP);
        thread::sleep(Duration::from_millis(1));
    }
    thread::sleep(REPETITION);
    child.signal(libc::SIGTERM);
    assert_eq!(child.wait(), End::Code(128 + libc::SIGTERM));
}
