//! Every message of a stream is received or counted as lost.

use std::time::Duration;

use horus_benchmarks::measure::bracket::RoundBetweenFloors;
use horus_benchmarks::measure::endpoint::{ClosureEndpoint, Endpoint};
use horus_benchmarks::measure::payload::Payload;
use horus_benchmarks::measure::stream::*;
use horus_benchmarks::measure::tsc::TickSource;
use horus_benchmarks::measure::wait::OtherEndWatch;
use horus_benchmarks::measure::workload::WorkloadError;

type Message = [u64; 2];

const PLAN: StreamPlan = StreamPlan {
    messages: 6,
    first_seq: 11,
    producers: 1,
};

fn receive(plan: &StreamPlan, numbers: &[u64]) -> Result<StreamResult, WorkloadError> {
    let mut coming = numbers.iter().map(|&seq| Message::compose(seq));
    let mut end = ClosureEndpoint(|_: &Message| true, move || coming.next());
    let watch = OtherEndWatch::new(true, || false).with_timeout(Duration::from_millis(1));
    stream_receive(&mut end, plan, TickSource::detect(), &watch)
}

#[test]
fn every_message_is_received_or_counted_as_lost() {
    for numbers in [
        &[11, 12, 13, 14, 15, 16][..],
        &[16],
        &[12, 15, 16],
        &[11, 16],
    ] {
        let streamed = receive(&PLAN, numbers).unwrap();
        assert_eq!(streamed.received, numbers.len() as u64);
        assert_eq!(streamed.received + streamed.lost, PLAN.messages);
    }
}

#[test]
fn messages_of_two_producers_may_overtake_each_other() {
    let plan = StreamPlan {
        producers: 2,
        ..PLAN
    };
    for numbers in [&[11, 13, 12, 14, 16, 15][..], &[15, 16], &[12, 14, 16, 15]] {
        let streamed = receive(&plan, numbers).unwrap();
        assert_eq!(streamed.received, numbers.len() as u64);
        assert_eq!(streamed.received + streamed.lost, plan.messages);
    }
    for numbers in [&[13, 11][..], &[12, 12]] {
        assert!(matches!(
            receive(&plan, numbers),
            Err(WorkloadError::CorruptMessage(_))
        ));
    }
}

#[test]
fn repeated_overtaken_and_foreign_messages_are_errors() {
    for numbers in [&[11, 11][..], &[12, 11], &[17], &[10]] {
        let outcome = receive(&PLAN, numbers);
        assert!(
            matches!(outcome, Err(WorkloadError::CorruptMessage(_))),
            "{numbers:?}"
        );
    }
    assert!(matches!(
        receive(&PLAN, &[11, 12]),
        Err(WorkloadError::Wait(_))
    ));
}

#[test]
fn the_sender_offers_each_message_until_there_is_room() {
    let mut offers = 0;
    let mut taken = Vec::new();
    let send = |message: &Message| {
        offers += 1;
        let room = offers % 3 == 0;
        room.then(|| taken.push(message.seq())).is_some()
    };
    let watch = OtherEndWatch::new(true, || false);
    let ready = || Some(Message::compose(PLAN.first_seq));
    stream_send(
        &mut ClosureEndpoint(send, ready),
        &PLAN,
        TickSource::detect(),
        &watch,
    )
    .unwrap();
    assert_eq!(taken, [11, 12, 13, 14, 15, 16]);
}

/// An endpoint whose other end, which has reported that it is ready, confirms the last message when
/// it was sent `confirmed_after` times.
struct LateConfirmation {
    is_ready: bool,
    sends_of_last: u32,
    confirmed_after: u32,
}

impl Endpoint<Message> for LateConfirmation {
    const MAY_DROP_MESSAGES: bool = true;

    fn send(&mut self, message: &Message) -> bool {
        self.sends_of_last += u32::from(message.seq() == PLAN.last_seq());
        true
    }

    fn recv(&mut self, message: &mut Message) -> bool {
        *message = Message::compose(PLAN.first_seq);
        std::mem::replace(&mut self.is_ready, false) || self.sends_of_last >= self.confirmed_after
    }
}

/// A receiver may have no CPU for some seconds.
#[test]
fn the_last_message_is_repeated_until_it_is_confirmed_or_the_receiver_is_gone() {
    let send = |confirmed_after, watch: &OtherEndWatch| {
        let mut end = LateConfirmation {
            is_ready: true,
            sends_of_last: 0,
            confirmed_after,
        };
        stream_send(&mut end, &PLAN, TickSource::detect(), watch).unwrap();
        end.sends_of_last
    };
    assert_eq!(send(1200, &OtherEndWatch::new(true, || false)), 1200);
    assert!(send(1200, &OtherEndWatch::new(true, || true)) < 1200);
}

#[test]
fn a_rate_is_of_what_was_received() {
    let streamed = StreamResult {
        received: 10,
        lost: 5,
        elapsed_ticks: 100,
    };
    assert_eq!(streamed.messages_per_s(1000.0), 100.0);
    let result = (SenderResult { elapsed_ticks: 50 }, streamed);
    let bracket = RoundBetweenFloors {
        before_ns: 1.0,
        after_ns: 2.0,
        result,
        counts: true,
    };
    let note = StreamRecord::new(&bracket, 1000.0);
    assert_eq!(
        (note.msgs_per_s, note.sent_per_s, note.lost),
        (100.0, 300.0, 5)
    );
}
