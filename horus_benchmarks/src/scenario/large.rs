//! Measures large messages between two processes, copied or loaned, and compares them with a plain
//! copy within one process.

use std::hint::black_box;
use std::process::ExitCode;

use serde_json::json;

use crate::measure::payload::CorruptMessage;
use crate::measure::rounds::SamplesByRound;
use crate::measure::stats::Samples;
use crate::measure::tsc::TickSource;
use crate::measure::workload::TimedPart;
use crate::report::goals::RATIOS_KEY;
use crate::report::rows::Row;
use crate::run::args::QuickOrFull;
use crate::run::floor::Placement;
use crate::run::session::BenchmarkSession;
use crate::scenario::ends::connect;
use crate::scenario::entry::{Outcome, Program};
use crate::transport::carrier::{Carrier, MessageSize, Transport};
use crate::transport::connection::Connection;
use crate::transport::large::{LARGE_TOPIC_CAPACITY, fill_words, verify_words};

const ABOUT: &str = "Measures messages of 4 KiB to 8 MiB between two processes, from before the \
send until a small answer has arrived. Each message is copied in and out, or written and read in \
place. A copy of as many bytes within one process is measured beside it.";

/// Number of rounds, and maximum number of messages in each round.
const ROUNDS_AND_SAMPLES: QuickOrFull<(u32, u64)> = QuickOrFull((20, 1_000), (40, 1_000));

/// Total size of the messages in each round in bytes. It limits their number, to 3 at least.
const ROUND_BYTES_MAX: QuickOrFull<u64> = QuickOrFull(16 << 20, 64 << 20);

const MESSAGES_PER_ROUND_MIN: u64 = 3;

const MESSAGE_SIZES_KIB: [usize; 8] = [4, 16, 64, 256, 1024, 2048, 4096, 8192];

const CARRIERS: [Carrier; 2] = [Carrier::LargeCopy, Carrier::LargeLoan];

/// Runs the benchmark `large_message_benchmark`.
pub fn main() -> ExitCode {
    Program::new(ABOUT, ROUNDS_AND_SAMPLES).main(run)
}

fn run(session: &mut BenchmarkSession) -> Outcome {
    let round_bytes = session.args.quick_or_full(ROUND_BYTES_MAX);
    session.report.set_setting("capacity", LARGE_TOPIC_CAPACITY);
    let start = || connect(session, Placement::CrossProcess);
    let mut connections = [start()?, start()?];
    session.add_progress_steps(MESSAGE_SIZES_KIB.len());
    for bytes in MESSAGE_SIZES_KIB.map(|kib| kib << 10) {
        let fitting = (round_bytes / bytes as u64).max(MESSAGES_PER_ROUND_MIN);
        let samples = session.effort.samples.min(fitting);
        measure_message_size(session, &mut connections, bytes, samples)?;
    }
    Ok(())
}

/// Measures all rows for one message size, in alternating rounds.
fn measure_message_size(
    session: &mut BenchmarkSession,
    connections: &mut [Connection; 2],
    bytes: usize,
    samples: u64,
) -> Outcome {
    let size = MessageSize::Bytes(bytes);
    session.progress.inc(1);
    session.progress.set_message(size.id());
    let memcpy_id = format!("memcpy/{}", size.id());
    let mut names = vec![(memcpy_id.clone(), "one process, warm source".to_owned())];
    names.extend(CARRIERS.map(|carrier| {
        let id = format!("large/cross_process/{}/{}", carrier.id(), size.id());
        (id, carrier.description())
    }));
    if !names.iter().any(|(id, _)| session.args.wants_row(id)) {
        return Ok(());
    }
    let clock = &session.clock;
    let warm_up = samples.div_ceil(4).max(LARGE_TOPIC_CAPACITY);
    let mut copies = BufferCopies::new(bytes);
    let mut rows = vec![SamplesByRound::default(); names.len()];
    for (connection, carrier) in connections.iter_mut().zip(CARRIERS) {
        connection.open(Transport { carrier, size })?;
    }
    for _ in 0..session.effort.rounds {
        let mut all = vec![copies.time_copies(clock.source, warm_up, samples)?];
        for connection in connections.iter_mut() {
            let (round, _) =
                connection.run_ping_pong_round(TimedPart::RoundTrip, warm_up, samples)?;
            all.push(round.ticks);
        }
        for (rounds, round) in rows.iter_mut().zip(&all) {
            rounds.add_round(round, clock.resolution_ticks);
        }
    }
    for ((id, method), rounds) in names.iter().zip(&rows) {
        let row = Row::from_samples(id, &rounds.samples, session.clock.ns_per_tick);
        let gb_per_s = bytes as f64 / row.ns.map_or(f64::NAN, |ns| ns.p50);
        let method = format!("{method}; {gb_per_s:.1} GB/s");
        session.add_row(row, method);
        if *id != memcpy_id
            && let Some(ratio) = rounds.ratio_to(&rows[0])
        {
            let note = json!({ memcpy_id.as_str(): ratio.to_json() });
            session.report.set_row_setting(RATIOS_KEY, id, note);
        }
    }
    Ok(())
}

/// Copies a warm buffer to each of [`LARGE_TOPIC_CAPACITY`] other buffers in turn. This measures
/// the cost of a copy within one process.
struct BufferCopies {
    from: Vec<u64>,
    to: Vec<Vec<u64>>,
    next_seq: u64,
}

impl BufferCopies {
    fn new(bytes: usize) -> BufferCopies {
        let from = vec![0; bytes / size_of::<u64>()];
        BufferCopies {
            to: vec![from.clone(); LARGE_TOPIC_CAPACITY as usize],
            from,
            next_seq: 1,
        }
    }

    fn time_copies(
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
        let to = &mut self.to[(seq % LARGE_TOPIC_CAPACITY) as usize];
        let start = source.read_at_start();
        black_box(to.as_mut_slice()).copy_from_slice(black_box(&self.from));
        let ticks = source.read_at_end().since(start);
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
            .time_copies(TickSource::detect(), 2, 10)
            .unwrap();
        assert_eq!(copied.count(), 10);
    }
}
