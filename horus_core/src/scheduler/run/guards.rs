//! What is watched of a node in each tick beside its time: the way it takes, and its inputs.

use std::sync::Arc;
use std::time::Duration;

use crate::message::{NodeEvent, Text};
use crate::scheduler::api::checkpoints::{CheckpointPosition, Checkpoints};
use crate::scheduler::api::input::{InputWatch, stalest};
use crate::scheduler::api::plan::Plan;

/// The watches of one node, if it has any.
#[derive(Debug)]
pub(crate) struct Guards {
    pub(crate) checkpoints: Option<Checkpoints>,
    inputs: Vec<Arc<InputWatch>>,
    is_stale: bool,
}

/// Something that counts as a miss, however quick the tick was.
#[derive(Debug)]
pub(crate) struct Fault {
    /// The kind of [`NodeEvent`] to be recorded; none if it has been, and goes on.
    pub(crate) kind: Option<u8>,
    pub(crate) text: Text<128>,
}

impl Guards {
    /// What the plan asks for; nothing in most cases.
    pub(crate) fn of(plan: &Plan) -> Option<Box<Self>> {
        let (wanted, not_before) = (plan.checkpoints, plan.not_before);
        let has_way = wanted > 0 || not_before.is_some();
        let new = || Checkpoints::new(wanted, not_before.unwrap_or(Duration::ZERO));
        let (checkpoints, inputs) = (has_way.then(new), plan.inputs.clone());
        let is_any = has_way || !inputs.is_empty();
        is_any.then(|| Box::new(Self { checkpoints, inputs, is_stale: false }))
    }

    /// Where the node is, for another thread.
    pub(crate) fn place(&self) -> Option<Arc<CheckpointPosition>> {
        Some(Arc::clone(self.checkpoints.as_ref()?.place()))
    }

    /// The node is about to be initialised.
    pub(crate) fn restart(&self, now_ns: u64) {
        self.inputs.iter().for_each(|input| input.restart(now_ns));
    }

    /// A tick begins.
    pub(crate) fn begin(&mut self, now_ns: u64) {
        self.inputs.iter().for_each(|input| input.begin(now_ns));
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.begin(now_ns);
        }
    }

    /// The tick that began at `begin_ns` is over. WHY inputs are looked at only now: what had come
    /// for them has been received.
    pub(crate) fn end(&mut self, begin_ns: u64) -> Option<Fault> {
        let way = self.checkpoints.as_mut().and_then(|checkpoints| checkpoints.end().err());
        let astray = way.map(|fault| Fault {
            kind: Some(NodeEvent::CHECKPOINT),
            text: Text::format(format_args!("{fault}")),
        });
        astray.or_else(|| self.look_at_inputs(begin_ns))
    }

    /// Whether an input is stale, at a time without a tick too.
    pub(crate) fn look_at_inputs(&mut self, now_ns: u64) -> Option<Fault> {
        let stale = stalest(&self.inputs, now_ns);
        let is_new = !std::mem::replace(&mut self.is_stale, stale.is_some());
        let kind = is_new.then_some(NodeEvent::STALE_INPUT);
        stale.map(|input| Fault { kind, text: input.complaint(now_ns) })
    }

    /// Whether inputs were stale when they were looked at last.
    pub(crate) const fn is_stale(&self) -> bool {
        self.is_stale
    }
}
