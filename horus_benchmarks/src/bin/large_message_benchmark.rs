//! Large messages between two processes, copied and lent, beside a copy within one process.

use std::process::ExitCode;

use horus_benchmarks::measure::payload::size_label;
use horus_benchmarks::measure::stats::{Alternation, Samples};
use horus_benchmarks::report::goals::RATIOS;
use horus_benchmarks::report::rows::Row;
use horus_benchmarks::run::args::Args;
use horus_benchmarks::run::namespace::PrivateNamespace;
use horus_benchmarks::run::progress::Progress;
use horus_benchmarks::run::session::Session;
use horus_benchmarks::scenario::entry::{self, Outcome};
use horus_benchmarks::scenario::large::{CAPACITY, Copies, LargePair, Manner, SIZES};
use serde_json::json;

const NAME: &str = "large_message_benchmark";

const ABOUT: &str = "Messages of 4 KiB to 8 MiB between two processes: copied in and out, or made \
and read where they lie, beside a copy of as many bytes within one process. Timed from before the \
send to after a small answer.";

/// Seed of the bootstrap: the same samples give the same interval.
const SEED: u64 = 7;

/// Rounds, and bytes of the messages of each, for `--quick` and else.
const QUICK: (u32, u64) = (20, 16 << 20);
const FULL: (u32, u64) = (40, 64 << 20);

/// Messages of a round: at least, and at most.
const MESSAGES: (u64, u64) = (3, 1_000);

fn main() -> ExitCode {
    entry::main(NAME, ABOUT, run)
}

fn run(mut args: Args) -> Outcome {
    let (rounds, bytes) = if args.quick { QUICK } else { FULL };
    args.rounds.get_or_insert(rounds);
    let asked = args.samples;
    let mut session = Session::begin(args)?;
    session.report.set("capacity", CAPACITY);
    let private = PrivateNamespace::create()?;
    let mut pair = LargePair::start(session.cpus, session.clock.source(), &private)?;
    let progress = Progress::new(SIZES.len() as u64);
    for size in SIZES {
        progress.step();
        let label = size_label(size);
        progress.label(&label);
        let fitting = (bytes / size as u64).clamp(MESSAGES.0, MESSAGES.1);
        measure(&mut session, &mut pair, size, asked.map_or(fitting, |asked| asked.min(fitting)))?;
    }
    progress.finish();
    drop(pair);
    Ok(session.finish()?)
}

/// What was measured of one row.
struct Measured {
    id: String,
    basis: &'static str,
    samples: Samples,
    p50: Vec<f64>,
}

/// All rows of one size, in rounds that alternate.
fn measure(session: &mut Session, pair: &mut LargePair, bytes: usize, samples: u64) -> Outcome {
    let size = size_label(bytes);
    let row = |id, basis| Measured { id, basis, samples: Samples::new(), p50: Vec::new() };
    let manners = [Manner::Copy, Manner::Loan];
    let mut rows = vec![row(format!("memcpy/{size}"), "one process, warm source")];
    rows.extend(
        manners.map(|manner| {
            row(format!("large/cross_process/{}/{size}", manner.id()), manner.basis())
        }),
    );
    if !rows.iter().any(|row| session.args.wants(&row.id)) {
        return Ok(());
    }
    let (clock, warm_up) = (&session.clock, samples.div_ceil(4).max(CAPACITY));
    let mut copies = Copies::new(bytes);
    pair.open(bytes)?;
    for _ in 0..session.effort.rounds {
        let mut copied = Samples::new();
        for number in 0..warm_up + samples {
            let ticks = copies.copy(clock.source())?;
            if number >= warm_up {
                copied.record(ticks);
            }
        }
        let [copy, lent] = manners.map(|manner| pair.round(manner, warm_up, samples));
        for (row, round) in rows.iter_mut().zip([copied, copy?, lent?]) {
            row.p50.push(round.median_within(clock.resolution_ticks()));
            row.samples.merge(&round);
        }
    }
    let [memcpy, paths @ ..] = &rows[..] else { return Ok(()) };
    for one in &rows {
        let row = Row::samples(&one.id, &one.samples, session.clock.ns_per_tick());
        let gb_per_s = bytes as f64 / row.ns.map_or(f64::NAN, |ns| ns.p50);
        session.report.push(row, &format!("{}; {gb_per_s:.1} GB/s", one.basis));
    }
    for one in paths {
        let mut pairs = Alternation::default();
        memcpy.p50.iter().zip(&one.p50).for_each(|(&memcpy, &path)| pairs.push(memcpy, path));
        if let Some(ratio) = pairs.ratio(SEED) {
            let note = json!({ memcpy.id.as_str(): [ratio.median, ratio.low, ratio.high] });
            session.report.note(RATIOS, &one.id, note);
        }
    }
    Ok(())
}
