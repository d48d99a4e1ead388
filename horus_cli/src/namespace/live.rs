//! Finds the live schedulers of a namespace, and those of all other namespaces in the directory.

use std::sync::Arc;

use horus_core::namespace::{Namespace, NamespaceConfig, NamespaceName};
use horus_core::scheduler::{SchedulerInfo, schedulers};

use super::{namespace_names, open_listed_namespace};
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

/// Returns sentences that name the live schedulers of the other namespaces, to be appended to
/// another text. They begin with a space. Ignores namespaces that cannot be opened.
pub(crate) fn schedulers_elsewhere_text(config: &NamespaceConfig) -> String {
    let found = namespace_names(config.dir())
        .into_iter()
        .filter(|name| name != config.name().as_str())
        .filter_map(|name| {
            let config = config.clone().with_name(NamespaceName::new(&name).ok()?);
            let live = live_schedulers(&open_listed_namespace(&config).ok()??).ok()?;
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
