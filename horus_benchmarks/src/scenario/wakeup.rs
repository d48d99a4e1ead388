//! Measures how long it takes to wake a receiver that is blocked in another process, with several
//! mechanisms.

use std::collections::BTreeMap;
use std::process::ExitCode;

use horus_core::topic::WakeBarrier;
use serde_json::Value;

use crate::measure::micro::BatchPlan;
use crate::measure::rounds::SamplesByRound;
use crate::measure::stats::Samples;
use crate::measure::workload::TimedPart;
use crate::report::goals::RATIOS_KEY;
use crate::report::rows::Row;
use crate::run::args::{MeasurementEffort, QuickOrFull};
use crate::run::floor::{Floor, Placement};
use crate::run::session::BenchmarkSession;
use crate::scenario::comparison;
use crate::scenario::ends::connect;
use crate::scenario::entry::{Outcome, Program};
use crate::transport::carrier::{Carrier, MessageSize, Transport, WakeupMechanism};
use crate::transport::wakeup::time_sends_to_awake_reader;

const ABOUT: &str = "Measures the time to wake a receiver that is blocked in another process, \
from before the send until its call has returned: for topics, a wait set, a bare futex, a pipe \
and, with the feature iceoryx2, an iceoryx2 event. Also measures a send while no receiver sleeps.";

/// Number of rounds, and number of wake-ups in each. A wake-up takes a tenth of a millisecond.
pub(super) const ROUNDS_AND_SAMPLES: QuickOrFull<(u32, u64)> = QuickOrFull((20, 200), (60, 500));

/// The rounds with which the counters of both CPUs are compared. They have enough messages for a
/// median.
const COUNTER_CHECK_EFFORT: MeasurementEffort = MeasurementEffort {
    rounds: 1,
    warm_up: 100,
    samples: 2000,
};

/// Runs the benchmark `wakeup_benchmark`.
pub fn main() -> ExitCode {
    Program::new(ABOUT, ROUNDS_AND_SAMPLES).main(run)
}

fn run(session: &mut BenchmarkSession) -> Outcome {
    check_cpu_counters(session)?;
    let mut mechanisms = WakeupMechanism::ALL.to_vec();
    mechanisms.retain(|one| session.args.wants_row(one.id()));
    measure_wakeups(session, &mechanisms)?;
    for (barrier, name) in [
        (WakeBarrier::Membarrier, "topic"),
        (WakeBarrier::Fence, "topic_fence"),
    ] {
        measure_sends_to_awake_reader(session, barrier, &format!("send_to_the_awake/{name}/16B"))?;
    }
    Ok(())
}

/// Adds the row for sends to a topic whose reader is awake during the sends, but has slept before.
fn measure_sends_to_awake_reader(
    session: &mut BenchmarkSession,
    barrier: WakeBarrier,
    id: &str,
) -> Outcome {
    if !session.args.wants_row(id) {
        return Ok(());
    }
    let batches = u64::from(session.effort.rounds) * session.effort.samples.div_ceil(10);
    let plan = BatchPlan::new(session.clock.source, batches);
    let micro = time_sends_to_awake_reader(&session.private.open()?, barrier, &plan)?;
    session.add_batches_row(id, &micro, "");
    Ok(())
}

/// Checks whether the time-stamp counters of both CPUs agree, and stores the result in the report.
pub fn check_cpu_counters(session: &mut BenchmarkSession) -> Outcome {
    let place = Placement::CrossProcess;
    let clock = &session.clock;
    let (mut floor, _) = Floor::new(place, session.cpus, clock, COUNTER_CHECK_EFFORT)?;
    let offset = floor.check_counter_offset(clock)?;
    session.record_counter_offset(place.id(), &offset);
    Ok(())
}

/// Compares our mechanism with that of another library, as `measure` does. Adds the row `id` with
/// their ratio.
pub fn compare_two_mechanisms(
    session: &mut BenchmarkSession,
    id: &str,
    mechanisms: [WakeupMechanism; 2],
) -> Outcome {
    let all = measure_wakeups(session, &mechanisms)?;
    let count = all.iter().map(|latency| latency.samples.count()).sum();
    let ns_per_tick = session.clock.ns_per_tick;
    let ns = |latency: &SamplesByRound| -> Vec<f64> {
        let medians = latency.medians.iter();
        medians.map(|p50| p50 * ns_per_tick).collect()
    };
    let figures = [&ns(&all[0])[..], &ns(&all[1])];
    let method = Carrier::Wakeup(mechanisms[0]).description();
    comparison::add_comparison_row(session, id, figures, count, &method)
}

/// Measures all mechanisms: one round of each, again and again, so that all of them run while the
/// machine is in the same state. Adds their rows, and the ratios between them, to the report.
/// Returns the wake-up times of each mechanism.
pub(super) fn measure_wakeups(
    session: &mut BenchmarkSession,
    mechanisms: &[WakeupMechanism],
) -> Outcome<Vec<SamplesByRound>> {
    let effort = session.effort;
    let mut connections = Vec::new();
    for &mechanism in mechanisms {
        let mut connection = connect(session, Placement::CrossProcess)?;
        let carrier = Carrier::Wakeup(mechanism);
        let size = MessageSize::Bytes(16);
        connection.open(Transport { carrier, size })?;
        connections.push(connection);
    }
    let mut latencies = vec![SamplesByRound::default(); mechanisms.len()];
    let mut sends = vec![Samples::new(); mechanisms.len()];
    let step = session.clock.resolution_ticks;
    session.add_progress_steps(effort.rounds as usize * mechanisms.len());
    for _ in 0..effort.rounds {
        for (index, connection) in connections.iter_mut().enumerate() {
            session.progress.set_message(mechanisms[index].id());
            let (send, far) = connection.run_ping_pong_round(
                TimedPart::OneWay,
                effort.warm_up,
                effort.samples,
            )?;
            latencies[index].add_round(&far.ticks, step);
            sends[index].merge(&send.ticks);
            session.progress.inc(1);
        }
    }
    let ns_per_tick = session.clock.ns_per_tick;
    for ((mechanism, latency), send) in mechanisms.iter().zip(&latencies).zip(&sends) {
        let id = mechanism.id();
        let row = Row::from_samples(id, &latency.samples, ns_per_tick);
        let method = Carrier::Wakeup(*mechanism).description();
        session.add_row(row.with_send_times(send, ns_per_tick), method);
        let others = mechanisms.iter().zip(&latencies);
        let ratios = others.filter(|(other, _)| *other != mechanism);
        let ratios = ratios.filter_map(|(other, other_latency)| {
            Some((other.id(), latency.ratio_to(other_latency)?.to_json()))
        });
        let ratios: BTreeMap<&str, Value> = ratios.collect();
        session.report.set_row_setting(RATIOS_KEY, id, ratios);
    }
    Ok(latencies)
}
