//! Finds nodes by the names that users type, such as `controller` or `arm/controller`.

use std::sync::Arc;

use horus_core::message::NodeMetrics;
use horus_core::namespace::{Namespace, NamespaceConfig};
use horus_core::scheduler::{SchedulerInfo, schedulers};

use crate::context::Context;
use crate::failure::Failure;
use crate::namespace::live::similar_schedulers_text;
use crate::output::format::visible;
use crate::output::nearest;

/// A node that was found by its name, and the scheduler that runs it.
#[derive(Debug)]
pub(super) struct FoundNode {
    pub(super) namespace: Arc<Namespace>,
    pub(super) scheduler: SchedulerInfo,
    pub(super) metrics: NodeMetrics,
}

impl FoundNode {
    pub(super) fn name(&self) -> String {
        self.metrics.name.to_string()
    }
}

/// Finds the node `wanted`. If several schedulers have a node with this name, returns the node of
/// the scheduler that is alive. If several of them are alive, `wanted` must begin with the name of
/// the scheduler.
pub(super) fn find_node(context: &Context, wanted: &str) -> Result<FoundNode, Failure> {
    let elsewhere = |config: &NamespaceConfig, near| {
        similar_schedulers_text(config, near, |scheduler| {
            named_nodes(scheduler, wanted).next().is_some()
        })
    };
    let namespace = context.open_namespace_to_find(format_args!("node '{wanted}'"), |config| {
        elsewhere(config, String::new())
    })?;
    let all = schedulers(&namespace).map_err(|error| Failure::from_open_error(&error))?;
    let pairs = all
        .iter()
        .flat_map(|scheduler| named_nodes(scheduler, wanted).map(move |node| (scheduler, *node)));
    let mut found: Vec<_> = pairs.collect();
    if found.iter().any(|(scheduler, _)| scheduler.is_alive) {
        found.retain(|(scheduler, _)| scheduler.is_alive);
    }
    match found.as_slice() {
        [(scheduler, metrics)] => Ok(FoundNode {
            scheduler: (*scheduler).clone(),
            metrics: *metrics,
            namespace,
        }),
        [] => {
            let near = nearest::suggestion_text(wanted, &node_names(&all, wanted.contains('/')));
            let near = elsewhere(namespace.config(), near);
            Err(Failure::not_found(format_args!(
                "no node '{wanted}' in namespace '{}'.{near}",
                namespace.config().name()
            )))
        }
        several => {
            let wanted = visible(wanted);
            let names = several
                .iter()
                .map(|(scheduler, _)| format!("{}/{wanted}", visible(&scheduler.name)));
            let names = names.collect::<Vec<_>>().join(", ");
            Err(Failure::usage(format_args!(
                "several nodes are called '{wanted}': {names}"
            )))
        }
    }
}

/// Returns the names of all nodes of `schedulers`. If `is_qualified` is true, the name of the
/// scheduler is before each, as in `arm/controller`.
fn node_names(schedulers: &[SchedulerInfo], is_qualified: bool) -> Vec<String> {
    let names = schedulers.iter().flat_map(|scheduler| {
        let nodes = scheduler.nodes.iter();
        nodes.map(move |node| match is_qualified {
            true => format!("{}/{}", scheduler.name, node.name),
            false => node.name.to_string(),
        })
    });
    names.collect()
}

/// Returns the nodes of a scheduler that a user may mean by `wanted`: those with this name, also if
/// the name of the scheduler is before it.
fn named_nodes<'a>(
    scheduler: &'a SchedulerInfo,
    wanted: &'a str,
) -> impl Iterator<Item = &'a NodeMetrics> {
    let qualified = wanted.strip_prefix(&scheduler.name);
    let qualified = qualified.and_then(|rest| rest.strip_prefix('/'));
    let nodes = scheduler.nodes.iter();
    nodes.filter(move |node| {
        node.name == *wanted || qualified.is_some_and(|rest| node.name == *rest)
    })
}
