//! Checks of a tick in addition to its deadline and budget: the order of checkpoints, the time
//! since the previous tick, and the age of inputs.

use std::sync::Arc;
use std::time::Duration;

use crate::message::{NodeEvent, Text};
use crate::scheduler::api::checkpoints::{CheckpointChecker, LastCheckpoint};
use crate::scheduler::api::input::{InputWatch, stalest_input};
use crate::scheduler::api::plan::NodePlan;

/// The additional checks of a node that has checkpoints, a shortest allowed time between ticks, or
/// inputs with a timeout.
#[derive(Debug)]
pub(crate) struct TickChecks {
    pub(crate) checkpoints: Option<CheckpointChecker>,
    inputs: Vec<Arc<InputWatch>>,
    is_stale: bool,
}

/// A fault of a tick that makes the tick count as a miss, however fast it was.
#[derive(Debug)]
pub(crate) struct TickFault {
    /// The kind of [`NodeEvent`] to record; `None` if an event for the same fault was already
    /// recorded and the fault continues.
    pub(crate) kind: Option<u8>,
    pub(crate) text: Text<128>,
}

impl TickChecks {
    /// Returns the checks that the settings in `plan` require; `None` if they require none, as for
    /// most nodes.
    pub(crate) fn for_plan(plan: &NodePlan) -> Option<Box<Self>> {
        let wanted = plan.checkpoints;
        let miss_if_sooner_than = plan.miss_if_sooner_than;
        let has_sequence = wanted > 0 || miss_if_sooner_than.is_some();
        let new = || CheckpointChecker::new(wanted, miss_if_sooner_than.unwrap_or(Duration::ZERO));
        let checkpoints = has_sequence.then(new);
        let inputs = plan.inputs.clone();
        let is_any = has_sequence || !inputs.is_empty();
        is_any.then(|| {
            Box::new(Self {
                checkpoints,
                inputs,
                is_stale: false,
            })
        })
    }

    /// Returns the shared word with the number of the last checkpoint that the node has passed, so
    /// that another thread can read it during a tick. Returns `None` if the node has no
    /// checkpoints.
    pub(crate) fn last_checkpoint(&self) -> Option<Arc<LastCheckpoint>> {
        Some(Arc::clone(self.checkpoints.as_ref()?.last_checkpoint()))
    }

    /// Starts the timeouts of the inputs again at `now_ns`, because the node is being initialised
    /// or is allowed to tick again. Until one of them ends, no input is stale.
    pub(crate) fn restart_timeouts(&mut self, now_ns: u64) {
        // WHY: else the next check would find that a message has come.
        self.is_stale = false;
        self.inputs
            .iter()
            .for_each(|input| input.restart_timeout(now_ns));
    }

    /// Begins the checks of a tick that starts at `now_ns`. `period_ns` is the period of the node;
    /// 0 if it has no rate.
    pub(crate) fn begin_tick(&mut self, now_ns: u64, period_ns: u64) {
        self.inputs
            .iter()
            .for_each(|input| input.begin_tick(now_ns, period_ns));
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.begin_tick(now_ns);
        }
    }

    /// Ends the checks of the tick that began at `begin_ns`. Returns the fault of the tick; `None`
    /// if it had none. WHY inputs are checked at the end of a tick: only then has the node received
    /// the messages that were waiting.
    pub(crate) fn end_tick(&mut self, begin_ns: u64) -> Option<TickFault> {
        let fault = self
            .checkpoints
            .as_mut()
            .and_then(|checkpoints| checkpoints.end_tick().err());
        let fault = fault.map(|fault| TickFault {
            kind: Some(NodeEvent::CHECKPOINT),
            text: Text::format(format_args!("{fault}")),
        });
        fault.or_else(|| self.check_inputs(begin_ns))
    }

    /// Returns a fault if an input is older than its timeout, and `None` otherwise. Called at the
    /// end of a tick, and between two ticks.
    pub(crate) fn check_inputs(&mut self, now_ns: u64) -> Option<TickFault> {
        let stale = stalest_input(&self.inputs, now_ns);
        let is_new = !std::mem::replace(&mut self.is_stale, stale.is_some());
        let kind = is_new.then_some(NodeEvent::STALE_INPUT);
        stale.map(|input| TickFault {
            kind,
            text: input.describe_stale_input(now_ns),
        })
    }

    /// Returns true if an input was older than its timeout at the last check.
    pub(crate) const fn has_stale_input(&self) -> bool {
        self.is_stale
    }
}
