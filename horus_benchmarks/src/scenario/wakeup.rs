//! Measures how long it takes to wake a receiver that is blocked in another process, with several
//! mechanisms.

use std::collections::BTreeMap;
use std::error::Error;
use std::process::ExitCode;

use horus_core::topic::WakeBarrier;

use crate::measure::micro::MicroPlan;
use crate::measure::rounds::Rounds;
use crate::measure::stats::Samples;
use crate::measure::workload::Timing;
use crate::report::goals::RATIOS_KEY;
use crate::report::rows::Row;
use crate::run::args::{Args, Effort, QuickOrFull};
use crate::run::floor::{Floor, Placement};
use crate::run::namespace::PrivateNamespace;
use crate::run::session::{BenchmarkSession, progress_bar};
use crate::scenario::comparison;
use crate::scenario::entry::{self, Outcome};
use crate::transport::carrier::{Carrier, Mechanism, MessageSize, Transport};
use crate::transport::connection::Connection;
use crate::transport::wakeup::time_sends_to_awake_reader;

const ABOUT: &str = "Measures the time to wake a receiver that is blocked in another process, \
from before the send until its call has returned: for topics, a wait set, a bare futex, a pipe \
and, with the feature iceoryx2, an iceoryx2 event. Also measures a send while no receiver sleeps.";

/// Number of wake-ups in a round. Each wake-up takes a tenth of a
/// millisecond.
pub(super) const SAMPLES_PER_ROUND: QuickOrFull<u64> = QuickOrFull {
    quick: 200,
    full: 500,
};

/// The rounds with which the counters of both CPUs are compared. They have enough messages for a
/// median.
const COUNTER_CHECK_EFFORT: Effort = Effort {
    rounds: 1,
    warm_up: 100,
    samples: 2000,
};

/// Runs the benchmark `wakeup_benchmark`.
pub fn main() -> ExitCode {
    entry::main("wakeup_benchmark", ABOUT, &[], run)
}

fn run(mut args: Args) -> Outcome {
    let samples = args.quick_or_full(SAMPLES_PER_ROUND);
    args.samples.get_or_insert(samples);
    let mut session = BenchmarkSession::begin(args)?;
    check_counters(&mut session)?;
    let private = PrivateNamespace::create()?;
    let wanted = |one: &Mechanism| session.args.wants_row(one.id());
    let mechanisms: Vec<Mechanism> = Mechanism::ALL.iter().copied().filter(wanted).collect();
    measure(&mut session, &private, &mechanisms)?;
    for (edge, name) in [
        (WakeBarrier::Membarrier, "topic"),
        (WakeBarrier::Fence, "topic_fence"),
    ] {
        measure_awake_sends(&mut session, &private, edge, name)?;
    }
    Ok(session.finish()?)
}

/// Adds the row for sends to a topic whose reader is awake during the sends, but has slept before.
fn measure_awake_sends(
    session: &mut BenchmarkSession,
    private: &PrivateNamespace,
    edge: WakeBarrier,
    name: &str,
) -> Outcome {
    let id = format!("send_to_the_awake/{name}/16B");
    if !session.args.wants_row(&id) {
        return Ok(());
    }
    let batches = u64::from(session.effort.rounds) * session.effort.samples.div_ceil(10);
    let plan = MicroPlan::new(session.clock.source(), batches);
    let micro = time_sends_to_awake_reader(&private.open()?, edge, &plan)?;
    let row = Row::from_micro(&id, &micro, &session.clock);
    session
        .report
        .push(row, &format!("batches of {}", micro.batch));
    Ok(())
}

/// Checks whether the time-stamp counters of both CPUs agree, and stores the result in the report.
pub fn check_counters(session: &mut BenchmarkSession) -> Outcome {
    let (mut floor, _) = Floor::new(
        Placement::CrossProcess,
        session.cpus,
        &session.clock,
        COUNTER_CHECK_EFFORT,
    )?;
    let offset = floor.check_offset(&session.clock)?;
    session.record_offset(Placement::CrossProcess.id(), &offset);
    Ok(())
}

/// The results of one mechanism in all rounds: the times of the wake-ups, and the times of the
/// sends.
pub(super) struct MechanismTimes {
    mechanism: Mechanism,
    connection: Connection,
    latency: Rounds,
    send: Samples,
}

/// Compares our mechanism with that of another library, as `measure` does. Adds the row `id` with
/// their ratio.
pub fn compare_two(
    session: &mut BenchmarkSession,
    private: &PrivateNamespace,
    id: &str,
    mechanisms: [Mechanism; 2],
) -> Outcome {
    let all = measure(session, private, &mechanisms)?;
    let count = all.iter().map(|one| one.latency.samples.count()).sum();
    let ns_per_tick = session.clock.ns_per_tick();
    let ns = |one: &MechanismTimes| -> Vec<f64> {
        let medians = one.latency.medians.iter();
        medians.map(|p50| p50 * ns_per_tick).collect()
    };
    let basis = Carrier::Wakeup(mechanisms[0]).basis();
    comparison::add_comparison_row(session, id, [&ns(&all[0]), &ns(&all[1])], count, &basis)
}

/// Measures all mechanisms: one round of each, again and again, so that all of them run while the
/// machine is in the same state. Adds their rows, and the ratios between them, to the report.
pub(super) fn measure(
    session: &mut BenchmarkSession,
    private: &PrivateNamespace,
    mechanisms: &[Mechanism],
) -> Result<Vec<MechanismTimes>, Box<dyn Error>> {
    let effort = session.effort;
    let clock = &session.clock;
    let mut all = Vec::new();
    for &mechanism in mechanisms {
        let place = Placement::CrossProcess;
        let mut connection = Connection::start(place, session.cpus, clock.source(), private)?;
        connection.open(Transport {
            carrier: Carrier::Wakeup(mechanism),
            size: MessageSize::Bytes(16),
        })?;
        all.push(MechanismTimes {
            mechanism,
            connection,
            latency: Rounds::default(),
            send: Samples::new(),
        });
    }
    let progress = progress_bar(u64::from(effort.rounds) * all.len() as u64);
    for _ in 0..effort.rounds {
        for one in &mut all {
            progress.set_message(one.mechanism.id());
            let connection = &mut one.connection;
            let (send, far) = connection.round(Timing::OneWay, effort.warm_up, effort.samples)?;
            one.latency.add(&far.forward, clock.resolution_ticks());
            one.send.merge(&send.ticks);
            progress.inc(1);
        }
    }
    drop(progress);
    for one in &all {
        let id = one.mechanism.id();
        let ns_per_tick = session.clock.ns_per_tick();
        let row = Row::from_samples(id, &one.latency.samples, ns_per_tick)
            .with_send_times(&one.send, ns_per_tick);
        let basis = Carrier::Wakeup(one.mechanism).basis();
        session.report.push(row, &basis);
        let others = all.iter().filter(|other| other.mechanism != one.mechanism);
        let ratios = others.filter_map(|other| {
            let ratio = one.latency.ratio_to(&other.latency)?.to_array();
            Some((other.mechanism.id(), ratio))
        });
        let ratios: BTreeMap<&str, [f64; 3]> = ratios.collect();
        session.report.set_for_row(RATIOS_KEY, id, ratios);
    }
    Ok(all)
}
