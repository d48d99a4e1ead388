//! Tests of the checks of a watched node, with times that they set.

use super::*;
use crate::scheduler::api::plan::NodeSpec;
use crate::scheduler::run::node_entry::NodeEntry;

const MS: u64 = 1_000_000;

/// Returns a node whose ticks count as stuck after 10 ms, and its metrics.
fn watched_node() -> (WatchedNode, Arc<LiveMetrics>) {
    watched(NodeSpec {
        watchdog: Some(std::time::Duration::from_millis(10)),
        ..NodeSpec::default()
    })
}

fn watched(spec: NodeSpec) -> (WatchedNode, Arc<LiveMetrics>) {
    let spec = NodeSpec {
        name: "n".into(),
        ..spec
    };
    let metrics = Arc::<LiveMetrics>::default();
    let entry = NodeEntry {
        spec: spec.clone(),
        commands: Arc::default(),
        metrics: Arc::clone(&metrics),
    };
    let node = |_: &mut crate::scheduler::Context<'_>| {};
    let runner = Runner::new(Box::new(node), spec.into_plan(1).unwrap(), &entry);
    (WatchedNode::new(&runner, None, Vec::new()), metrics)
}

/// The limit of a tick is twice the budget, which changes with the rate.
#[test]
fn a_new_rate_changes_the_limit_of_a_tick() {
    let rate = Some(crate::scheduler::api::rate::Hertz::hz(1));
    let (mut watched_node, metrics) = watched(NodeSpec {
        rate,
        ..NodeSpec::default()
    });
    metrics.record_tick_begin(100 * MS, 100 * MS);
    assert!(watched_node.check_tick(110 * MS).is_none());
    metrics.set_budget_and_period(MS, 0);
    let found = watched_node.check_tick(110 * MS);
    assert!(matches!(found, Some(TickFinding::Stuck { .. })));
    metrics.set_budget_and_period(4000 * MS, 0);
    let found = watched_node.check_tick(2100 * MS);
    assert!(matches!(found, Some(TickFinding::Recovered { .. })));
    metrics.set_budget_and_period(u64::MAX, 0);
    assert!(watched_node.check_tick(u64::MAX / 2).is_none(), "no limit");
}

#[test]
fn a_stuck_node_stays_stuck_while_it_panics_and_is_made_safe_once() {
    let (mut watched_node, metrics) = watched_node();
    metrics.record_tick_begin(100 * MS, 100 * MS);
    assert!(matches!(
        watched_node.check_tick(120 * MS),
        Some(TickFinding::Stuck { .. })
    ));
    assert!(watched_node.claim_safe_state_callback());
    metrics.record_panic_begin(125 * MS);
    for now_ms in [130, 1000, 5000] {
        assert!(
            watched_node.check_tick(now_ms * MS).is_none(),
            "after {now_ms} ms"
        );
    }
    metrics.record_panic_end(5000 * MS);
    assert!(
        watched_node.check_tick(5000 * MS).is_none() && !watched_node.claim_safe_state_callback()
    );
    metrics.record_tick_end(100 * MS, 5001 * MS);
    assert!(matches!(
        watched_node.check_tick(5001 * MS),
        Some(TickFinding::Recovered { .. })
    ));
    metrics.record_tick_begin(6000 * MS, 6000 * MS);
    assert!(watched_node.claim_safe_state_callback());
}

/// A library may catch its own panics and try again, without end.
#[test]
fn a_tick_that_panics_again_and_again_and_does_not_end_is_stuck() {
    let (mut watched_node, metrics) = watched_node();
    metrics.record_tick_begin(100 * MS, 100 * MS);
    let found = (0..100).find_map(|round| {
        let now_ns = (105 + 5 * round) * MS;
        metrics.record_panic_begin(now_ns);
        metrics.record_panic_end(now_ns);
        let is_stuck = watched_node.check_tick(now_ns + MS).is_some();
        is_stuck.then_some(now_ns)
    });
    assert_eq!(found, Some(110 * MS));
}

/// The supervisor may be late, so that it finds no time between two ticks.
#[test]
fn a_stuck_tick_right_after_another_one_is_stuck_itself_and_made_safe() {
    let (mut watched_node, metrics) = watched_node();
    metrics.record_tick_begin(100 * MS, 100 * MS);
    let found = watched_node.check_tick(120 * MS);
    assert!(matches!(found, Some(TickFinding::Stuck { .. })));
    assert!(watched_node.claim_safe_state_callback());
    metrics.record_tick_end(100 * MS, 124 * MS);
    metrics.record_tick_begin(125 * MS, 125 * MS);
    let found = watched_node.check_tick(140 * MS);
    assert!(matches!(found, Some(TickFinding::Recovered { .. })));
    let next_ns = watched_node.next_check_ns(140 * MS);
    assert_eq!(next_ns, 140 * MS + BUSY_CHECK_INTERVAL_NS_MIN);
    let found = watched_node.check_tick(next_ns);
    assert!(matches!(found, Some(TickFinding::Stuck { .. })));
    assert!(watched_node.claim_safe_state_callback());
    assert!(watched_node.check_tick(150 * MS).is_none(), "once");
}

/// A node in safe mode may be in a long tick, and has not applied the stop.
#[test]
fn a_node_is_safe_in_an_emergency_stop_that_it_has_applied() {
    let (watched_node, metrics) = watched_node();
    assert!(watched_node.is_safe(), "not initialised");
    for (health, is_emergency, is_safe) in [
        (Health::Active, false, false),
        (Health::Safe, false, false),
        (Health::Active, true, false),
        (Health::Safe, true, true),
        (Health::Stopped, false, true),
    ] {
        metrics.set_health(health, false, is_emergency);
        assert_eq!(watched_node.is_safe(), is_safe, "{health:?} {is_emergency}");
        assert_eq!(metrics.health_and_is_paused(), (health, false));
    }
}

/// Only the time in which the supervisor runs counts: if the process was stopped, a tick gets
/// its time after that.
#[test]
fn a_process_that_was_stopped_does_not_make_a_tick_endless() {
    let (mut watched_node, metrics) = watched(NodeSpec {
        rate: Some(crate::scheduler::api::rate::Hertz::hz(100)),
        ..NodeSpec::default()
    });
    let mut is_given_up = |now_ms: u64| {
        matches!(
            watched_node.check_tick(now_ms * MS),
            Some(TickFinding::GivenUp { .. })
        )
    };
    metrics.record_tick_begin(100 * MS, 100 * MS);
    assert!(!is_given_up(120));
    // Stopped for a minute.
    assert!((60_120..61_000).all(|now_ms| !is_given_up(now_ms)));
    assert!((61_000..61_200).any(&mut is_given_up), "it is endless");
    metrics.record_tick_end(100 * MS, 61_200 * MS);
    assert!(!is_given_up(61_200));
}

#[test]
fn a_node_whose_panic_hook_hangs_is_made_safe_once_before_it_is_stuck() {
    let (mut watched_node, metrics) = watched_node();
    metrics.record_tick_begin(100 * MS, 100 * MS);
    metrics.record_panic_begin(100 * MS);
    assert!(watched_node.check_tick(1110 * MS).is_none());
    assert!(matches!(
        watched_node.check_tick(1111 * MS),
        Some(TickFinding::PanicHookHangs)
    ));
    assert!(watched_node.claim_safe_state_callback());
    assert!(watched_node.check_tick(9000 * MS).is_none());
    // It now hangs like any other tick, and is safe already.
    assert!(matches!(
        watched_node.check_tick(10_100 * MS),
        Some(TickFinding::Stuck { .. })
    ));
    assert!(!watched_node.claim_safe_state_callback());
}

#[test]
fn a_tick_is_looked_at_when_it_has_lasted_too_long_and_not_much_sooner() {
    let (mut watched_node, metrics) = watched_node();
    let mut checks = |now_ns| {
        (
            watched_node.check_tick(now_ns).is_some(),
            watched_node.next_check_ns(now_ns),
        )
    };
    assert_eq!(checks(100 * MS), (false, 110 * MS + 1));
    metrics.record_tick_begin(100 * MS, 101 * MS);
    assert_eq!(checks(110 * MS + 1), (false, 111 * MS + 1));
    assert_eq!(
        checks(111 * MS),
        (false, 111 * MS + BUSY_CHECK_INTERVAL_NS_MIN)
    );
    assert_eq!(
        checks(111 * MS + 1),
        (true, 111 * MS + 1 + STUCK_CHECK_INTERVAL_NS)
    );
    metrics.record_tick_end(101 * MS, 112 * MS);
    assert_eq!(checks(112 * MS), (true, 122 * MS + 1));
}

/// A node that is always too slow, as it is watched for a second.
#[test]
fn at_most_ten_stuck_ticks_a_second_are_recorded_and_the_others_are_counted() {
    let (mut watched_node, metrics) = watched_node();
    let (mut recorded, mut left_out_of_all, mut recovered) = (0, 0, 0);
    for tick in 0..40 {
        let begin_ns = (100 + tick * 25) * MS;
        metrics.record_tick_begin(begin_ns, begin_ns);
        let found = watched_node.check_tick(begin_ns + 11 * MS);
        let Some(TickFinding::Stuck { left_out, .. }) = found else {
            panic!("tick {tick} is stuck, and has to be made safe");
        };
        recorded += u64::from(left_out.is_some());
        left_out_of_all += left_out.unwrap_or(0);
        metrics.record_tick_end(begin_ns, begin_ns + 20 * MS);
        let found = watched_node.check_tick(begin_ns + 20 * MS);
        recovered += u64::from(matches!(found, Some(TickFinding::Recovered { .. })));
    }
    // Every fourth tick; the last three are not counted yet.
    assert_eq!((recorded, recovered, left_out_of_all), (10, 10, 27));
}

#[test]
fn a_stuck_tick_that_was_left_out_and_does_not_end_is_recorded_once() {
    let (mut watched_node, metrics) = watched_node();
    metrics.record_tick_begin(100 * MS, 100 * MS);
    let found = watched_node.check_tick(111 * MS);
    assert!(matches!(
        found,
        Some(TickFinding::Stuck {
            left_out: Some(0),
            ..
        })
    ));
    metrics.record_tick_end(100 * MS, 120 * MS);
    let found = watched_node.check_tick(120 * MS);
    assert!(matches!(found, Some(TickFinding::Recovered { .. })));
    metrics.record_tick_begin(150 * MS, 150 * MS);
    let found = watched_node.check_tick(161 * MS);
    assert!(matches!(
        found,
        Some(TickFinding::Stuck { left_out: None, .. })
    ));
    let found = (162..400).filter_map(|now_ms| watched_node.check_tick(now_ms * MS));
    let found: Vec<_> = found.collect();
    let [
        TickFinding::Stuck {
            busy_ns,
            left_out: Some(0),
            ..
        },
    ] = found[..]
    else {
        panic!("{} findings", found.len());
    };
    assert_eq!(busy_ns, 61 * MS, "100 ms after the last one");
}
