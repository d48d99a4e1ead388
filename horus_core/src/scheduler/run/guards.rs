//! Per-tick checks besides timing: checkpoint order and input freshness.

use std::sync::Arc;
use std::time::Duration;

use crate::message::{NodeEvent, Text};
use crate::scheduler::api::checkpoints::{CheckpointPosition, Checkpoints};
use crate::scheduler::api::input::{InputWatch, stalest};
use crate::scheduler::api::plan::Plan;

/// The checks of one node, if it has any.
#[derive(Debug)]
pub(crate) struct Guards {
    pub(crate) checkpoints: Option<Checkpoints>,
    inputs: Vec<Arc<InputWatch>>,
    is_stale: bool,
}

/// A fault that counts as a miss, however quick the tick was.
#[derive(Debug)]
pub(crate) struct Fault {
    /// The kind of [`NodeEvent`] to record; `None` if the fault was recorded before and goes on.
    pub(crate) kind: Option<u8>,
    pub(crate) text: Text<128>,
}

impl Guards {
    /// Returns the checks that the plan asks for; `None` for most nodes.
    pub(crate) fn of(plan: &Plan) -> Option<Box<Self>> {
        let (wanted, not_before) = (plan.checkpoints, plan.not_before);
        let has_sequence = wanted > 0 || not_before.is_some();
        let new = || Checkpoints::new(wanted, not_before.unwrap_or(Duration::ZERO));
        let (checkpoints, inputs) = (has_sequence.then(new), plan.inputs.clone());
        let is_any = has_sequence || !inputs.is_empty();
        is_any.then(|| Box::new(Self { checkpoints, inputs, is_stale: false }))
    }

    /// Returns the node's checkpoint position, for another thread.
    pub(crate) fn place(&self) -> Option<Arc<CheckpointPosition>> {
        Some(Arc::clone(self.checkpoints.as_ref()?.place()))
    }

    /// Restarts the inputs' timeouts: the node is about to be initialised.
    pub(crate) fn restart(&self, now_ns: u64) {
        self.inputs.iter().for_each(|input| input.restart(now_ns));
    }

    /// Notes that a tick begins.
    pub(crate) fn begin(&mut self, now_ns: u64) {
        self.inputs.iter().for_each(|input| input.begin(now_ns));
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.begin(now_ns);
        }
    }

    /// Checks the tick that began at `begin_ns` and is over. WHY inputs only now: the tick has
    /// received what had come for them.
    pub(crate) fn end(&mut self, begin_ns: u64) -> Option<Fault> {
        let fault = self.checkpoints.as_mut().and_then(|checkpoints| checkpoints.end().err());
        let fault = fault.map(|fault| Fault {
            kind: Some(NodeEvent::CHECKPOINT),
            text: Text::format(format_args!("{fault}")),
        });
        fault.or_else(|| self.look_at_inputs(begin_ns))
    }

    /// Checks for a stale input, also at a time without a tick.
    pub(crate) fn look_at_inputs(&mut self, now_ns: u64) -> Option<Fault> {
        let stale = stalest(&self.inputs, now_ns);
        let is_new = !std::mem::replace(&mut self.is_stale, stale.is_some());
        let kind = is_new.then_some(NodeEvent::STALE_INPUT);
        stale.map(|input| Fault { kind, text: input.complaint(now_ns) })
    }

    /// Returns true if an input was stale at the last check.
    pub(crate) const fn is_stale(&self) -> bool {
        self.is_stale
    }
}
