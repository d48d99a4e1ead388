//! The ping-pong is counted, verified and alternated.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use horus_benchmarks::measure::endpoint::ClosureEndpoint;
use horus_benchmarks::measure::endpoint::Endpoint;
use horus_benchmarks::measure::payload::Payload;
use horus_benchmarks::measure::pin;
use horus_benchmarks::measure::tsc::TickSource;
use horus_benchmarks::measure::wait::{OtherEndWatch, WaitError};
use horus_benchmarks::measure::workload::*;

type Queue<P> = Arc<Mutex<VecDeque<P>>>;

fn queue_end<P: Copy>(out: &Queue<P>, back: &Queue<P>) -> impl Endpoint<P> + use<P> {
    let out = out.clone();
    let back = back.clone();
    let send = move |message: &P| {
        out.lock().unwrap().push_back(*message);
        true
    };
    ClosureEndpoint(send, move || back.lock().unwrap().pop_front())
}

fn plan(timing: TimedPart) -> RoundPlan {
    RoundPlan {
        timing,
        warm_up: 10,
        samples: 200,
        first_seq: 1,
    }
}

fn run_round<P: Payload + Send + 'static>(plan: RoundPlan) -> (RoundResult, RoundResult) {
    let there = Queue::<P>::default();
    let back = Queue::<P>::default();
    let mut near = queue_end(&there, &back);
    let mut far = queue_end(&back, &there);
    let watch = OtherEndWatch::new(true, || false);
    let far_watch = watch.clone();
    let source = TickSource::detect();
    let cpu = pin::allowed_cpus().unwrap()[0];
    let far = std::thread::spawn(move || {
        pin::pin_current_thread(cpu).unwrap();
        run_echoing_end(&mut far, &plan, source, &far_watch).unwrap()
    });
    let round = run_measuring_end(&mut near, &plan, source, &watch).unwrap();
    (round, far.join().unwrap())
}

fn rounds_are_counted_and_verified<P: Payload + Send + 'static>() {
    for timing in [TimedPart::RoundTrip, TimedPart::SendCall] {
        let (round, echo) = run_round::<P>(plan(timing));
        assert_eq!(
            (round.sent, round.received, round.ticks.count()),
            (200, 200, 200)
        );
        assert_eq!(
            (echo.sent, echo.received, echo.ticks.count()),
            (200, 200, 0)
        );
    }
    let (round, echo) = run_round::<P>(plan(TimedPart::OneWay));
    assert_eq!(round.ticks.count() + round.backwards, 200);
    assert_eq!(echo.ticks.count() + echo.backwards, 200);
}

#[test]
fn rounds_of_every_payload_are_counted_and_verified() {
    rounds_are_counted_and_verified::<[u64; 2]>();
    rounds_are_counted_and_verified::<[u64; 38]>();
    rounds_are_counted_and_verified::<[u64; 185]>();
}

#[test]
fn a_corrupt_echo_and_a_lost_one_end_the_round() {
    let source = TickSource::detect();
    let watch = OtherEndWatch::new(true, || false).with_timeout(Duration::from_millis(1));
    let mut wrong = ClosureEndpoint(|_: &[u64; 2]| true, || Some(<[u64; 2]>::compose(9)));
    let error =
        run_measuring_end(&mut wrong, &plan(TimedPart::RoundTrip), source, &watch).unwrap_err();
    assert!(matches!(error, WorkloadError::CorruptMessage(c) if c.found_seq == 9));
    let mut silent = ClosureEndpoint(|_: &[u64; 2]| true, || None);
    let error =
        run_measuring_end(&mut silent, &plan(TimedPart::RoundTrip), source, &watch).unwrap_err();
    assert_eq!(error, WorkloadError::Wait(WaitError::Stalled));
}
