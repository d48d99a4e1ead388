//! A node that is always late, from its first warning to the end of the run.

use std::sync::atomic::AtomicU64;

use horus_shm::internals::sync::Word;

use super::*;
use crate::scheduler::api::plan::NodeSpec;
use crate::scheduler::api::policy::Miss;
use crate::scheduler::api::rate::Hertz;

/// A node that counts how often it enters its safe state.
struct Counting(Arc<AtomicU64>);

impl Node for Counting {
    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        Ok(())
    }

    fn enter_safe_state(&mut self) {
        self.0.fetch_add_one();
    }
}

#[test]
fn a_late_node_is_halved_and_isolated_and_ends_the_run_in_one_safe_state() {
    let rate = Some(1000.hz());
    let spec = NodeSpec {
        name: "n".into(),
        rate,
        on_miss: Some(Miss::Graduated),
        ..NodeSpec::default()
    };
    let entered = Arc::default();
    let node = Box::new(Counting(Arc::clone(&entered)));
    let entry = NodeEntry {
        spec: spec.clone(),
        commands: Arc::default(),
        metrics: Arc::default(),
    };
    let mut runner = Runner::new(node, spec.into_plan(1).unwrap(), &entry);
    runner.init_at_start(&Clock::simulated(0));
    let mut ticked_at_ms = Vec::new();
    let after = (0..20_000_u64).find_map(|ms| {
        let before = runner.tick;
        let due_ns = ms * 1_000_000;
        let clock = Clock::simulated(due_ns + 999_999);
        let (_, after) = runner.run_turn(&clock, due_ns, due_ns);
        ticked_at_ms.extend((runner.tick > before).then_some(ms));
        (after != AfterTurn::Continue).then_some(after)
    });
    assert_eq!(after, Some(AfterTurn::Abort));
    let wanted = [
        [0, 1, 2, 3],
        [5, 7, 9, 11],
        [1012, 1014, 1016, 1018],
        [3019, 3021, 3023, 3025],
        [7026, 7028, 7030, 7032],
    ];
    assert_eq!(ticked_at_ms, wanted.concat());
    assert_eq!(runner.metrics.snapshot().misses, 20);
    assert_eq!(entered.get(), 1);
}
