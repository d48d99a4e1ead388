//! Measures the hardware floor, which needs no ring: the times for an exchange of a word between
//! two cores, for a copy, for a shared mapping and for a reading of the timer.

use std::error::Error;
use std::fs::File;
use std::process::ExitCode;

use horus_benchmarks::measure::lines::SharedCacheLines;
use horus_benchmarks::measure::micro::{self, MicroPlan, MicroResult};
use horus_benchmarks::measure::payload::size_label;
use horus_benchmarks::measure::rounds::alternating_order;
use horus_benchmarks::measure::stats::ratio_of_medians;
use horus_benchmarks::measure::workload::Round;
use horus_benchmarks::report::rows::Row;
use horus_benchmarks::run::args::Args;
use horus_benchmarks::run::bounce::PAUSES_MAX;
use horus_benchmarks::run::floor::{Floor, FloorLines, Placement, SpinChoice};
use horus_benchmarks::run::namespace::PrivateNamespace;
use horus_benchmarks::run::session::{BenchmarkSession, progress_bar};
use horus_benchmarks::scenario::entry::{self, Outcome};

const ABOUT: &str = "Measures the hardware without any ring: atomic ping-pong between two cores \
in one process and in two, store and load, memcpy, a shared mapping, and the timer.";

fn main() -> ExitCode {
    entry::main("raw_baselines", ABOUT, &[], run)
}

fn run(args: Args) -> Outcome {
    let mut session = BenchmarkSession::begin(args)?;
    for placement in [Placement::CrossThread, Placement::CrossProcess] {
        measure_ping_pong(&mut session, placement)?;
    }
    measure_same_thread(&mut session)?;
    measure_timer(&mut session);
    Ok(session.finish()?)
}

/// Measures the exchange of a word between two cores with one cache line and with two, in
/// alternating rounds.
fn measure_ping_pong(
    session: &mut BenchmarkSession,
    placement: Placement,
) -> Result<(), Box<dyn Error>> {
    let id = |lines| format!("floor/{}/{lines}/8B", placement.id());
    let one_id = id("one_line");
    let two_id = id("two_lines");
    if !session.args.wants_row(&one_id) && !session.args.wants_row(&two_id) {
        return Ok(());
    }
    let effort = session.effort;
    let progress = progress_bar(u64::from(effort.rounds) * 2);
    progress.set_message(format!("floor/{}", placement.id()));
    let (mut floor, spin) = Floor::new(placement, session.cpus, &session.clock, effort)?;
    let mut all: [Vec<Round>; 2] = Default::default();
    for number in 0..effort.rounds {
        for index in alternating_order(number, all.len()) {
            progress.inc(1);
            let lines = [FloorLines::Two, FloorLines::One][index];
            all[index].push(floor.round(lines, effort.warm_up, effort.samples)?);
        }
    }
    let offset = floor.check_offset(&session.clock)?;

    let place = placement.id();
    session.report.set(&format!("spin/{place}"), &spin);
    session.record_offset(place, &offset);
    let p50_ns = |rounds: &Vec<Round>| -> Vec<f64> {
        rounds
            .iter()
            .map(|round| round.p50_ns(&session.clock))
            .collect()
    };
    let ratio = ratio_of_medians(&p50_ns(&all[0]), &p50_ns(&all[1]));
    let [Some(two), Some(one)] = all.map(|rounds| Round::merge_all(&rounds)) else {
        return Ok(());
    };
    let one = Row::from_rounds(&one_id, &one, &session.clock).with_floor_ratio(ratio);
    let two = Row::from_rounds(&two_id, &two, &session.clock);
    add_row(session, one, &spin_basis(&spin.one_line));
    add_row(session, two, &spin_basis(&spin.two_lines));
    Ok(())
}

fn spin_basis(choice: &SpinChoice) -> String {
    format!(
        "RTT/2, best of 0 to {PAUSES_MAX} pauses ({} at first)",
        choice.pauses
    )
}

/// Measures the minimum times of single operations, such as a store and a load, in one pinned
/// thread.
fn measure_same_thread(session: &mut BenchmarkSession) -> Result<(), Box<dyn Error>> {
    let namespace = PrivateNamespace::create()?;
    let file = File::options()
        .create_new(true)
        .read(true)
        .write(true)
        .open(namespace.directory().join("mapping"))?;
    let written = SharedCacheLines::map_new(file)?;
    let read = written.map_again()?;

    let batches = u64::from(session.effort.rounds) * session.effort.samples / 10;
    let batches = batches.max(session.effort.samples);
    let plan = MicroPlan::new(session.clock.source(), batches);
    micro_row(session, "store_load/8B", || {
        micro::measure_store_load(&plan)
    });
    memcpy_row::<8>(session, &plan, 1024);
    memcpy_row::<1024>(session, &plan, 64);
    memcpy_row::<8192>(session, &plan, 16);
    memcpy_row::<65536>(session, &plan, 1);
    micro_row(session, "mmap_write_read/8B", || {
        micro::measure_mmap_write_read(&plan, &written, &read)
    });
    Ok(())
}

fn memcpy_row<const N: usize>(session: &mut BenchmarkSession, plan: &MicroPlan, batch: u64) {
    let id = format!("memcpy/{}", size_label(N));
    micro_row(session, &id, || micro::measure_memcpy::<N>(plan, batch));
}

fn micro_row(session: &mut BenchmarkSession, id: &str, measure: impl FnOnce() -> MicroResult) {
    let id = format!("floor/same_thread/{id}");
    if !session.args.wants_row(&id) {
        return;
    }
    let progress = progress_bar(1);
    progress.set_message(id.clone());
    let micro = measure();
    let row = Row::from_micro(&id, &micro, &session.clock);
    add_row(session, row, &format!("batches of {}", micro.batch));
}

/// Measures the time that a reading of the timer takes. Every sample contains that time once.
fn measure_timer(session: &mut BenchmarkSession) {
    let clock = &session.clock;
    let row = Row::from_samples(
        "floor/same_thread/timer/overhead",
        clock.reading_overhead(),
        clock.ns_per_tick(),
    );
    add_row(session, row, "start to stop");
}

fn add_row(session: &mut BenchmarkSession, row: Row, basis: &str) {
    if session.args.wants_row(&row.id) {
        session.report.push(row, basis);
    }
}
