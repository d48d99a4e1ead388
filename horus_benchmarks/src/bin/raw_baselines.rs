//! Measures the hardware floor, which needs no ring: the times for an exchange of a word between
//! two cores, for a copy, for a shared mapping and for a reading of the timer.

use std::fs::File;
use std::process::ExitCode;

use horus_benchmarks::measure::lines::SharedCacheLines;
use horus_benchmarks::measure::micro::{self, BatchPlan, BatchResult};
use horus_benchmarks::measure::rounds::alternating_order;
use horus_benchmarks::measure::stats::median_ratio;
use horus_benchmarks::measure::workload::RoundResult;
use horus_benchmarks::report::rows::Row;
use horus_benchmarks::run::args::QuickOrFull;
use horus_benchmarks::run::bounce::PAUSES_AFTER_POLL_MAX;
use horus_benchmarks::run::floor::{Floor, FloorCacheLines, Placement};
use horus_benchmarks::run::session::BenchmarkSession;
use horus_benchmarks::scenario::entry::{Outcome, Program};

const ABOUT: &str = "Measures the hardware without any ring: atomic ping-pong between two cores \
in one process and in two, store and load, memcpy, a shared mapping, and the timer.";

/// Number of rounds, and number of timed messages in each round.
const ROUNDS_AND_SAMPLES: QuickOrFull<(u32, u64)> = QuickOrFull((20, 20_000), (60, 50_000));

fn main() -> ExitCode {
    Program::new(ABOUT, ROUNDS_AND_SAMPLES).main(|session| {
        measure_ping_pong(session, Placement::CrossThread)?;
        measure_ping_pong(session, Placement::CrossProcess)?;
        measure_same_thread(session)
    })
}

/// Measures the exchange of a word between two cores with one cache line and with two, in
/// alternating rounds.
fn measure_ping_pong(session: &mut BenchmarkSession, placement: Placement) -> Outcome {
    let place = placement.id();
    let ids = ["one_line", "two_lines"].map(|lines| format!("floor/{place}/{lines}/8B"));
    if !ids.iter().any(|id| session.args.wants_row(id)) {
        return Ok(());
    }
    let effort = session.effort;
    session.add_progress_steps(2 * effort.rounds as usize);
    session.progress.set_message(format!("floor/{place}"));
    let (mut floor, spin) = Floor::new(placement, session.cpus, &session.clock, effort)?;
    let mut all: [Vec<RoundResult>; 2] = Default::default();
    for number in 0..effort.rounds {
        for index in alternating_order(number, all.len()) {
            session.progress.inc(1);
            let lines = [FloorCacheLines::Two, FloorCacheLines::One][index];
            all[index].push(floor.measure_round(lines, effort.warm_up, effort.samples)?);
        }
    }
    let offset = floor.check_counter_offset(&session.clock)?;
    session.report.set_setting(&format!("spin/{place}"), &spin);
    session.record_counter_offset(place, &offset);
    let [two, one] = all;
    let clock = &session.clock;
    let p50_ns = |rounds: &[RoundResult]| -> Vec<f64> {
        let rounds = rounds.iter();
        rounds.map(|round| round.p50_ns(clock)).collect()
    };
    let ratio = median_ratio(&p50_ns(&two), &p50_ns(&one));
    let rows = [(one, ratio, spin.one_line), (two, None, spin.two_lines)];
    for (id, (rounds, ratio, spin)) in ids.iter().zip(rows) {
        if session.args.wants_row(id) {
            let round = RoundResult::merge_all(&rounds).ok_or("no rounds")?;
            let row = Row::from_rounds(id, &round, &session.clock).with_floor_ratio(ratio);
            let first = spin.pauses;
            let method =
                format!("RTT/2, best of 0 to {PAUSES_AFTER_POLL_MAX} pauses ({first} at first)");
            session.add_row(row, method);
        }
    }
    Ok(())
}

/// Measures the minimum times of single operations, such as a store and a load, in one pinned
/// thread. The last row is the time that a reading of the timer takes, which every sample contains
/// once.
fn measure_same_thread(session: &mut BenchmarkSession) -> Outcome {
    let path = session.private.directory().join("mapping");
    let written = SharedCacheLines::map_new_file(File::create_new(path)?)?;
    let read = written.map_again()?;

    let batches = u64::from(session.effort.rounds) * session.effort.samples / 10;
    let batches = batches.max(session.effort.samples);
    let plan = &BatchPlan::new(session.clock.source, batches);
    let rows: [(&str, &dyn Fn() -> BatchResult); 6] = [
        ("store_load/8B", &|| micro::measure_store_load(plan)),
        ("memcpy/8B", &|| micro::measure_memcpy::<8>(plan, 1024)),
        ("memcpy/1KB", &|| micro::measure_memcpy::<1024>(plan, 64)),
        ("memcpy/8KB", &|| micro::measure_memcpy::<8192>(plan, 16)),
        ("memcpy/64KB", &|| micro::measure_memcpy::<65536>(plan, 1)),
        ("mmap_write_read/8B", &|| {
            micro::measure_mmap_write_read(plan, &written, &read)
        }),
    ];
    session.add_progress_steps(rows.len());
    for (name, measure) in rows {
        let id = format!("floor/same_thread/{name}");
        if session.begin_row_if_selected(&id) {
            let micro = measure();
            session.add_batches_row(&id, &micro, "");
        }
    }
    let id = "floor/same_thread/timer/overhead";
    if session.args.wants_row(id) {
        let clock = &session.clock;
        let row = Row::from_samples(id, &clock.reading_overhead, clock.ns_per_tick);
        session.add_row(row, "start to stop");
    }
    Ok(())
}
