//! The command `horus namespace rm`: removes a namespace that no process uses.

use clap::Args;
use horus_core::namespace::{Namespace, NamespaceName, NamespaceRemoveError};

use super::{namespace_names, other_processes};
use crate::context::{Context, namespace_failure, namespace_path};
use crate::failure::Failure;
use crate::output::format::visible;
use crate::output::nearest;

/// Remove a namespace that no process uses, with all of its topics
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Name of the namespace
    name: String,
}

pub(crate) fn run(arguments: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let config = context.existing_config()?;
    let names = namespace_names(config.dir());
    let name = NamespaceName::new(&arguments.name).map_err(Failure::usage)?;
    if !names.iter().any(|known| known == name.as_str()) {
        let near = nearest::suggest_names(name.as_str(), &names);
        return Err(Failure::not_found(format_args!(
            "no namespace '{name}' in {}.{near}",
            config.dir().display()
        )));
    }
    let namespace = Namespace::open(&config.with_name(name.clone()));
    let namespace = namespace.map_err(|error| namespace_failure(&error))?;
    namespace.remove().map_err(|error| match error {
        NamespaceRemoveError::Attended { .. } => in_use_failure(&namespace, &error),
        error => Failure::system(error),
    })?;
    if context.is_json() {
        let object = serde_json::json!({ "namespace": name.as_str(), "removed": true });
        return context.out.json(object);
    }
    context.print_note(format_args!("removed namespace '{name}'"));
    Ok(())
}

/// Returns the failure for a namespace that processes use. `error` names only one of them.
fn in_use_failure(namespace: &Namespace, error: &NamespaceRemoveError) -> Failure {
    let users = other_processes(namespace).unwrap_or_default();
    if users.is_empty() {
        return Failure::refused(error);
    }
    let names = users.iter().map(|one| visible(&one.to_string()));
    Failure::refused(format_args!(
        "the namespace {} is in use by {}: end {} first",
        namespace_path(namespace.config()).display(),
        names.collect::<Vec<_>>().join(", "),
        if users.len() == 1 { "it" } else { "them" },
    ))
}
