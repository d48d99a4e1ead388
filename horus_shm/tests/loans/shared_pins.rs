//! The messages that several readers borrow at the same time: a reader may borrow what the others
//! do not hold or have not reserved, whatever they held before.

use std::sync::Arc;

use horus_shm::{
    BorrowError, Consumer, FanoutShm, Producer, RawConsumer, ReadMode, RingOptions, Sample,
};

use super::set_copy_pins;

type Message = [u64; 512];

/// Returns the endpoints of a ring of four slots, so all readers together may hold three messages.
fn ring<const READERS: usize>() -> (Producer<Message>, [Consumer<Message>; READERS]) {
    let ring = FanoutShm::<Message>::heap(&RingOptions::capacity(4)).unwrap();
    let readers = std::array::from_fn(|_| ring.consumer().unwrap());
    (ring.producer().unwrap(), readers)
}

fn send(producer: &mut Producer<Message>, messages: u64) {
    for _ in 0..messages {
        producer.send([7; 512]).unwrap();
    }
}

fn borrow(reader: &mut Consumer<Message>) -> Sample<Message> {
    reader.borrow().unwrap().expect("a message")
}

#[test]
fn a_reader_may_borrow_what_another_one_has_given_back() {
    let (mut producer, [mut first, mut second]) = ring();
    send(&mut producer, 3);
    drop([(); 3].map(|()| borrow(&mut first)));
    let held = [(); 3].map(|()| borrow(&mut second));
    send(&mut producer, 1);
    let refused = first.borrow().map(|_| ());
    assert!(
        matches!(refused, Err(BorrowError::NoPins { held: 0, .. })),
        "{refused:?}"
    );
    drop(held);
    borrow(&mut first);
}

/// As a program that keeps its last image until the next one comes.
#[test]
fn readers_that_each_keep_their_last_message_take_turns() {
    let (mut producer, mut readers) = ring::<2>();
    let mut kept = [None, None];
    for round in 0..100 {
        send(&mut producer, 1);
        for (reader, kept) in readers.iter_mut().zip(&mut kept) {
            let next = reader.borrow();
            assert!(next.is_ok(), "round {round}: {next:?}");
            *kept = next.unwrap();
            // A poll without a message needs no pin.
            assert!(reader.borrow().unwrap().is_none(), "round {round}");
        }
    }
    assert_eq!(readers.map(|reader| reader.stats().received), [100; 2]);
}

#[test]
fn a_reader_keeps_what_it_has_reserved() {
    let ring = FanoutShm::<Message>::heap(&RingOptions::capacity(4)).unwrap();
    let mut producer = ring.producer().unwrap();
    let mut second = ring.consumer().unwrap();
    let mut first = RawConsumer::new(Arc::clone(ring.segment()), ReadMode::KeepLast).unwrap();
    first.reserve_borrows(2).unwrap();
    send(&mut producer, 3);
    let _held = borrow(&mut second);
    for _ in 0..2 {
        let refused = second.borrow().map(|_| ());
        let text = refused.unwrap_err().to_string();
        assert!(
            text.contains("holds 1 messages, and others hold or reserve the rest: copy"),
            "{text}"
        );
    }
    let _reserved = [(); 2].map(|()| first.borrow().unwrap().expect("a message"));
    let refused = first.reserve_borrows(8);
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("holds 2 messages, and others hold"), "{text}");
}

/// Other processes do not see a message that a reader copies as a borrowed one.
#[test]
fn a_message_that_is_being_copied_does_not_count_as_borrowed() {
    let ring = FanoutShm::<Message>::heap(&RingOptions::capacity(4)).unwrap();
    let mut readers: [_; 5] = std::array::from_fn(|_| ring.consumer().unwrap());
    send(&mut ring.producer().unwrap(), 2);
    let _held = borrow(&mut readers[1]);
    set_copy_pins(ring.segment(), |slot| 1 << 24 | (slot + 1));
    let counters = ring.segment().reader_counters();
    let borrowed: Vec<_> = counters.iter().map(|reader| reader.borrowed).collect();
    assert_eq!(borrowed, [0, 1, 0, 0, 0]);
}

/// Threads that keep one message each and borrow the next one never pin more than a sender leaves
/// them: each of its messages finds a slot.
#[test]
fn threads_that_take_pins_from_one_another_leave_a_slot_to_the_sender() {
    const MESSAGES: u64 = 20_000;
    let (mut producer, readers) = ring::<3>();
    let total = std::thread::scope(|scope| {
        let reading = readers.map(|mut reader| {
            scope.spawn(move || {
                let mut kept: Option<Sample<Message>> = None;
                while reader.stats().sent < MESSAGES || reader.stats().waiting > 0 {
                    match reader.borrow() {
                        Ok(Some(next)) => kept = Some(next),
                        Ok(None) => std::thread::yield_now(),
                        Err(BorrowError::NoPins { .. }) => _ = reader.recv(),
                        Err(error) => panic!("{error}"),
                    }
                    let is_whole =
                        |kept: &Sample<Message>| kept.iter().all(|&word| word == kept[0]);
                    assert!(
                        kept.as_ref().is_none_or(is_whole),
                        "changed while it was held"
                    );
                }
                let stats = reader.stats();
                stats.received + stats.lost
            })
        });
        for number in 0..MESSAGES {
            producer.send([number; 512]).unwrap();
        }
        reading.map(|reading| reading.join().unwrap())
    });
    assert_eq!(total, [MESSAGES; 3]);
}
