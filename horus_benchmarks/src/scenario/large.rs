//! Measures large messages between two processes, copied or loaned, and compares them with a plain
//! copy within one process.

use std::hint::black_box;
use std::process::ExitCode;

use serde_json::json;

use crate::measure::payload::{CorruptMessage, size_label};
use crate::measure::rounds::Rounds;
use crate::measure::stats::Samples;
use crate::measure::tsc::TickSource;
use crate::measure::workload::Timing;
use crate::report::goals::RATIOS_KEY;
use crate::report::rows::Row;
use crate::run::args::{Args, QuickOrFull};
use crate::run::floor::Placement;
use crate::run::namespace::PrivateNamespace;
use crate::run::session::{BenchmarkSession, progress_bar};
use crate::scenario::entry::{self, Outcome};
use crate::transport::carrier::{Carrier, MessageSize, Transport};
use crate::transport::connection::Connection;
use crate::transport::large::{CAPACITY, fill_words, verify_words};

const ABOUT: &str = "Measures messages of 4 KiB to 8 MiB between two processes, from before the \
send until a small answer has arrived. Each message is copied in and out, or written and read in \
place. A copy of as many bytes within one process is measured beside it.";

/// Number of rounds, and total size of the messages in each round in bytes.
const ROUNDS_AND_BYTES: QuickOrFull<(u32, u64)> = QuickOrFull {
    quick: (20, 16 << 20),
    full: (40, 64 << 20),
};

/// Minimum and maximum number of messages in a round. Within these limits, it depends on the size
/// of the messages.
const MESSAGES_MIN_AND_MAX: (u64, u64) = (3, 1_000);

const MESSAGE_SIZES: [usize; 8] = [
    4 << 10,
    16 << 10,
    64 << 10,
    256 << 10,
    1 << 20,
    2 << 20,
    4 << 20,
    8 << 20,
];

const CARRIERS: [Carrier; 2] = [Carrier::LargeCopy, Carrier::LargeLoan];

/// Runs the benchmark `large_message_benchmark`.
pub fn main() -> ExitCode {
    entry::main("large_message_benchmark", ABOUT, &[], run)
}

fn run(mut args: Args) -> Outcome {
    let (rounds, bytes) = args.quick_or_full(ROUNDS_AND_BYTES);
    args.rounds.get_or_insert(rounds);
    let asked = args.samples;
    let mut session = BenchmarkSession::begin(args)?;
    session.report.set("capacity", CAPACITY);
    let private = PrivateNamespace::create()?;
    let cpus = session.cpus;
    let source = session.clock.source();
    let start = || Connection::start(Placement::CrossProcess, cpus, source, &private);
    let mut connections = [start()?, start()?];
    let progress = progress_bar(MESSAGE_SIZES.len() as u64);
    for size in MESSAGE_SIZES {
        progress.inc(1);
        progress.set_message(size_label(size));
        let fitting = (bytes / size as u64).clamp(MESSAGES_MIN_AND_MAX.0, MESSAGES_MIN_AND_MAX.1);
        let samples = asked.map_or(fitting, |asked| asked.min(fitting));
        measure(&mut session, &mut connections, size, samples)?;
    }
    drop((progress, connections));
    Ok(session.finish()?)
}

/// Measures all rows for one message size, in alternating rounds.
fn measure(
    session: &mut BenchmarkSession,
    connections: &mut [Connection; 2],
    bytes: usize,
    samples: u64,
) -> Outcome {
    let size = MessageSize::Bytes(bytes);
    let memcpy = (
        format!("memcpy/{}", size.id()),
        "one process, warm source".to_owned(),
    );
    let large = CARRIERS.map(|carrier| {
        let id = format!("large/cross_process/{}/{}", carrier.id(), size.id());
        (id, carrier.basis())
    });
    let names = [&[memcpy][..], &large].concat();
    if !names.iter().any(|(id, _)| session.args.wants_row(id)) {
        return Ok(());
    }
    let clock = &session.clock;
    let warm_up = samples.div_ceil(4).max(CAPACITY);
    let mut copies = BufferCopies::new(bytes);
    let mut rows = vec![Rounds::default(); names.len()];
    for (connection, carrier) in connections.iter_mut().zip(CARRIERS) {
        connection.open(Transport { carrier, size })?;
    }
    for _ in 0..session.effort.rounds {
        let mut all = vec![copies.round(clock.source(), warm_up, samples)?];
        for connection in connections.iter_mut() {
            all.push(
                connection
                    .round(Timing::RoundTrip, warm_up, samples)?
                    .0
                    .ticks,
            );
        }
        for (rounds, round) in rows.iter_mut().zip(&all) {
            rounds.add(round, clock.resolution_ticks());
        }
    }
    for ((id, basis), rounds) in names.iter().zip(&rows) {
        let row = Row::from_samples(id, &rounds.samples, session.clock.ns_per_tick());
        let gb_per_s = bytes as f64 / row.ns.map_or(f64::NAN, |ns| ns.p50);
        session
            .report
            .push(row, &format!("{basis}; {gb_per_s:.1} GB/s"));
    }
    for ((id, _), rounds) in names.iter().zip(&rows).skip(1) {
        if let Some(ratio) = rounds.ratio_to(&rows[0]) {
            let note = json!({ names[0].0.as_str(): ratio.to_array() });
            session.report.set_for_row(RATIOS_KEY, id, note);
        }
    }
    Ok(())
}

/// Copies a warm buffer to each of [`CAPACITY`] other buffers in turn. This measures the cost of a
/// copy within one process.
struct BufferCopies {
    from: Vec<u64>,
    to: Vec<Vec<u64>>,
    next_seq: u64,
}

impl BufferCopies {
    fn new(bytes: usize) -> BufferCopies {
        let from = vec![0; bytes / size_of::<u64>()];
        let to = vec![from.clone(); CAPACITY as usize];
        BufferCopies {
            from,
            to,
            next_seq: 1,
        }
    }

    fn round(
        &mut self,
        source: TickSource,
        warm_up: u64,
        samples: u64,
    ) -> Result<Samples, CorruptMessage> {
        let mut copied = Samples::new();
        for number in 0..warm_up + samples {
            let ticks = self.time_one_copy(source)?;
            if number >= warm_up {
                copied.record(ticks);
            }
        }
        Ok(copied)
    }

    /// Copies the buffer once and verifies the copy. Returns the duration of the copy in ticks.
    fn time_one_copy(&mut self, source: TickSource) -> Result<u64, CorruptMessage> {
        let seq = self.next_seq;
        self.next_seq += 1;
        fill_words(&mut self.from, seq);
        let to = &mut self.to[(seq % CAPACITY) as usize];
        let start = source.start();
        black_box(to.as_mut_slice()).copy_from_slice(black_box(&self.from));
        let ticks = source.stop().since(start);
        verify_words(to, seq)?;
        Ok(ticks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_a_large_message_and_of_a_copy_is_verified() {
        let mut words = vec![0; 1000];
        fill_words(&mut words, 7);
        assert_eq!(verify_words(&words, 7), Ok(()));
        assert!(verify_words(&words, 8).is_err());
        words[999] ^= 1;
        assert!(verify_words(&words, 7).is_err());
        let copied = BufferCopies::new(4096)
            .round(TickSource::detect(), 2, 10)
            .unwrap();
        assert_eq!(copied.count(), 10);
    }
}
