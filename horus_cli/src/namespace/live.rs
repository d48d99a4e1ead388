//! Finds the live schedulers of a namespace, and schedulers of all other namespaces in the
//! directory.

use std::sync::Arc;

use horus_core::namespace::{Namespace, NamespaceConfig, NamespaceName};
use horus_core::scheduler::{SchedulerInfo, schedulers};

use super::{namespace_names, open_listed_namespace};
use crate::context::{join_sentences, namespaces_sentence};
use crate::doctor::removed::removed_namespaces_text;
use crate::failure::Failure;
use crate::output::format::visible;

/// Returns the schedulers of `namespace` that are alive.
pub(crate) fn live_schedulers(namespace: &Arc<Namespace>) -> Result<Vec<SchedulerInfo>, Failure> {
    let mut all = schedulers(namespace).map_err(|error| Failure::from_open_error(&error))?;
    all.retain(|scheduler| scheduler.is_alive);
    Ok(all)
}

/// Returns the names of `schedulers` as text, with commas between them.
pub(crate) fn scheduler_names(schedulers: &[SchedulerInfo]) -> String {
    let names = schedulers.iter().map(|scheduler| visible(&scheduler.name));
    names.collect::<Vec<_>>().join(", ")
}

/// Returns a text that helps a user who named a scheduler or a node that does not exist, to be
/// appended to another text: the similar names in `similar_names`, which may be empty, and the
/// other namespaces that have a scheduler for which `is_wanted` is true. If there is neither, names
/// those that have any scheduler. Begins with a space, or is empty.
pub(crate) fn similar_schedulers_text(
    config: &NamespaceConfig,
    similar_names: String,
    is_wanted: impl Fn(&SchedulerInfo) -> bool,
) -> String {
    match namespaces_with_scheduler(config, is_wanted) {
        others if !others.is_empty() => {
            let stop = if similar_names.is_empty() { "" } else { "." };
            format!(
                "{similar_names}{stop}{}",
                namespaces_sentence("that have it", &others)
            )
        }
        _ if similar_names.is_empty() => {
            let others = namespaces_with_scheduler(config, |_| true);
            namespaces_sentence("with schedulers", &others)
        }
        _ => similar_names,
    }
}

/// Returns the names of the other namespaces that have a scheduler, alive or not, for which
/// `is_wanted` is true. Ignores namespaces that cannot be opened.
fn namespaces_with_scheduler(
    config: &NamespaceConfig,
    is_wanted: impl Fn(&SchedulerInfo) -> bool,
) -> Vec<String> {
    let mut others = open_other_namespaces(config);
    others
        .retain(|(_, namespace)| schedulers(namespace).is_ok_and(|all| all.iter().any(&is_wanted)));
    others.into_iter().map(|(name, _)| name).collect()
}

/// Opens the other namespaces in the directory. Returns them with their names.
fn open_other_namespaces(config: &NamespaceConfig) -> Vec<(String, Arc<Namespace>)> {
    // A hint is left out if the directory cannot be read.
    let names = namespace_names(config.dir()).into_iter().flatten();
    let others = names.filter(|name| name != config.name().as_str());
    let opened = others.filter_map(|name| {
        let config = config.clone().with_name(NamespaceName::new(&name).ok()?);
        Some((name, open_listed_namespace(&config).ok()??))
    });
    opened.collect()
}

/// Returns sentences that name the live schedulers of the other namespaces, and the processes that
/// run on in removed namespaces, to be appended to another text. They begin with a space. Ignores
/// namespaces that cannot be opened.
pub(crate) fn other_namespaces_schedulers_text(config: &NamespaceConfig) -> String {
    join_sentences([
        removed_namespaces_text(config),
        existing_namespaces_schedulers_text(config),
    ])
}

fn existing_namespaces_schedulers_text(config: &NamespaceConfig) -> String {
    let found = open_other_namespaces(config).into_iter();
    let found = found.filter_map(|(name, namespace)| {
        let live = live_schedulers(&namespace).ok()?;
        (!live.is_empty()).then(|| format!("'{name}' ({})", scheduler_names(&live)))
    });
    let found = found.collect::<Vec<_>>().join(", ");
    if found.is_empty() {
        return " No other namespace has a live scheduler".to_owned();
    }
    format!(
        " Live schedulers in other namespaces: {found}. Choose one with --namespace or \
         HORUS_NAMESPACE"
    )
}
