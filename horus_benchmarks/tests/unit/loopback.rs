//! Every message of one thread is counted and verified.

use std::cell::RefCell;
use std::collections::VecDeque;

use horus_benchmarks::measure::endpoint::ClosureEndpoint;
use horus_benchmarks::measure::loopback::*;
use horus_benchmarks::measure::micro::BatchPlan;
use horus_benchmarks::measure::payload::Payload;
use horus_benchmarks::measure::stream::StreamPlan;
use horus_benchmarks::measure::tsc::TickSource;

type Message = [u64; 2];

const PLAN: BatchPlan = BatchPlan {
    source: TickSource::Monotonic,
    warm_up: 1,
    batches: 3,
};

fn looped<T>(
    measure: impl FnOnce(&mut dyn FnMut(&Message), &mut dyn FnMut() -> Option<Message>) -> T,
) -> T {
    let queue = RefCell::new(VecDeque::new());
    measure(&mut |m| queue.borrow_mut().push_back(*m), &mut || {
        queue.borrow_mut().pop_front()
    })
}

#[test]
fn batches_fit_the_cache_and_are_never_empty() {
    assert_eq!(
        [16, 304, 1480, 1 << 20].map(operations_per_batch),
        [256, 64, 16, 1]
    );
}

#[test]
fn every_message_is_counted_and_verified() {
    looped(|send, receive| {
        let mut end = ClosureEndpoint(
            |message: &Message| {
                send(message);
                true
            },
            receive,
        );
        let micro = send_and_receive(&mut end, &PLAN, 1).unwrap();
        assert_eq!((micro.operations, micro.verified), (3 * 256, 3 * 256));
        let plan = StreamPlan {
            messages: 1000,
            first_seq: 5000,
            producers: 1,
        };
        let streamed = stream_in_bursts(&mut end, &plan, TickSource::Monotonic).unwrap();
        assert_eq!((streamed.received, streamed.lost), (1000, 0));
    });
}

#[test]
fn a_message_that_is_lost_or_another_is_an_error() {
    let mut lossy = ClosureEndpoint(|_: &Message| true, || None);
    assert!(send_and_receive(&mut lossy, &PLAN, 1).is_err());
    let mut stuck = ClosureEndpoint(|_: &Message| true, || Some(Message::compose(1)));
    assert!(send_and_receive(&mut stuck, &PLAN, 1).is_err());
    let plan = StreamPlan {
        messages: 10,
        first_seq: 1,
        producers: 1,
    };
    assert!(stream_in_bursts(&mut stuck, &plan, TickSource::Monotonic).is_err());
}
