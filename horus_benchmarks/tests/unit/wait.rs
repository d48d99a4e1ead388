//! A wait ends, whatever becomes of the other end.

use std::sync::Arc;
use std::time::Duration;

use horus_benchmarks::measure::wait::*;

#[test]
fn a_wait_returns_what_was_polled() {
    let mut left = 10_000;
    let found = OtherEndWatch::new(false, || false).spin_until(|| {
        left -= 1;
        (left == 0).then_some(7)
    });
    assert_eq!(found, Ok(7));
}

#[test]
fn a_wait_ends_when_the_other_end_is_gone_or_stuck() {
    let other_end = Arc::new(());
    let life = Arc::downgrade(&other_end);
    let watch = OtherEndWatch::new(true, move || life.strong_count() == 0);
    let stuck = watch.clone().with_timeout(Duration::from_millis(1));
    assert_eq!(stuck.spin_until(|| None::<()>), Err(WaitError::Stalled));
    drop(other_end);
    assert_eq!(watch.spin_until(|| None::<()>), Err(WaitError::PeerGone));
}
