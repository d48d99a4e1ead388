//! The command `horus namespace rm`: removes a namespace that no process uses.

use std::collections::BTreeSet;
use std::fs;
use std::io;

use clap::Args;
use horus_core::namespace::{Namespace, NamespaceConfig, NamespaceName, NamespaceRemoveError};
use horus_core::scheduler::EMERGENCY_STOP_TOPIC;

use super::{other_processes, require_namespace_names};
use crate::clean::{TOPICS_DIRECTORY, topic_names};
use crate::context::{Context, namespace_failure, namespace_path};
use crate::estop::{check_stop_is_not_engaged, unreadable_stop_failure};
use crate::failure::{Failure, is_lack_of_resources};
use crate::output::format::visible;
use crate::output::nearest;

/// Remove a namespace that no process uses, with all of its topics
///
/// Refuses to remove an engaged emergency stop: release it first.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Name of the namespace
    name: String,
}

pub(crate) fn run(arguments: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let config = context.existing_namespace_config()?;
    let names = require_namespace_names(&config)?;
    let name = NamespaceName::new(&arguments.name).map_err(Failure::usage)?;
    if !names.iter().any(|known| known == name.as_str()) {
        let near = nearest::suggestion_text(name.as_str(), &names);
        return Err(Failure::not_found(format_args!(
            "no namespace '{name}' in {}.{near}",
            config.dir().display()
        )));
    }
    let config = config.with_name(name.clone());
    let before = topic_names(&config);
    check_stop_is_not_engaged_in(&config)?;
    remove_namespace(&config)
        .map_err(|failure| with_removed_topics(failure, &before, &topic_names(&config)))?;
    if context.is_json() {
        let object = serde_json::json!({ "namespace": name.as_str(), "removed": true });
        return context.out.write_json(object);
    }
    context.print_note(format_args!("removed namespace '{name}'"));
    Ok(())
}

/// Returns a failure if the namespace that `config` selects keeps an engaged emergency stop, or if
/// this process lacks the memory or the file descriptors to find that out.
fn check_stop_is_not_engaged_in(config: &NamespaceConfig) -> Result<(), Failure> {
    let topics = namespace_path(config).join(TOPICS_DIRECTORY);
    // WHY not the list of topics: it needs a descriptor, and is empty without one.
    let file = fs::symlink_metadata(topics.join(EMERGENCY_STOP_TOPIC));
    if file.is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return Ok(());
    }
    match Namespace::open_existing(config) {
        Ok(Some(namespace)) => check_stop_is_not_engaged(&namespace),
        Err(error) if is_lack_of_resources(&error) => {
            Err(unreadable_stop_failure(namespace_failure(&error)))
        }
        // WHY no failure: a damaged namespace has to be removable.
        Ok(None) | Err(_) => Ok(()),
    }
}

/// Adds to `failure` which topics were removed before the error, and which are left: those whose
/// names are in `topics_before`, and are not or still in `topics_after`. Adds nothing if none was
/// removed.
fn with_removed_topics(
    failure: Failure,
    topics_before: &BTreeSet<String>,
    topics_after: &BTreeSet<String>,
) -> Failure {
    let removed: Vec<_> = topics_before
        .difference(topics_after)
        .map(String::as_str)
        .collect();
    if removed.is_empty() {
        return failure;
    }
    let left: Vec<_> = topics_before
        .intersection(topics_after)
        .map(String::as_str)
        .collect();
    let left = match left.as_slice() {
        [] => "no topic is left".to_owned(),
        left => format!("not removed: {}", left.join(", ")),
    };
    failure.with_advice(&format!("Removed before: {}; {left}", removed.join(", ")))
}

/// Removes the namespace that `config` selects. Returns a failure if a process uses it.
///
/// WHY without joining it first: a namespace whose registry is damaged can be removed, too; and a
/// process that joined a registry which was removed since is found by its topics only.
fn remove_namespace(config: &NamespaceConfig) -> Result<(), Failure> {
    let error = match Namespace::remove_at(config) {
        Ok(()) => return Ok(()),
        Err(error) => error,
    };
    match (error, Namespace::open_existing(config)) {
        (error @ NamespaceRemoveError::InUse { .. }, Ok(Some(namespace))) => {
            Err(in_use_failure(&namespace, &error))
        }
        (error @ NamespaceRemoveError::InUse { .. }, _) => {
            let error = visible(&error.to_string());
            Err(Failure::refused(format_args!("{error}: end it first")))
        }
        // WHY: a member of the group can still find out who has joined.
        (NamespaceRemoveError::OtherOwner { .. }, Ok(Some(namespace))) => {
            namespace.remove().map_err(|error| match error {
                error @ NamespaceRemoveError::InUse { .. } => in_use_failure(&namespace, &error),
                error => Failure::system(error),
            })
        }
        (error, _) => Err(Failure::system(error)),
    }
}

/// Returns the failure for a namespace that processes use. `error` names only one of them.
fn in_use_failure(namespace: &Namespace, error: &NamespaceRemoveError) -> Failure {
    let users = other_processes(namespace).unwrap_or_default();
    if users.is_empty() {
        let error = visible(&error.to_string());
        return Failure::refused(format_args!("{error}: end it first"));
    }
    let names = users.iter().map(|one| visible(&one.info.to_string()));
    Failure::refused(format_args!(
        "the namespace {} is in use by {}: end {} first",
        namespace_path(namespace.config()).display(),
        names.collect::<Vec<_>>().join(", "),
        if users.len() == 1 { "it" } else { "them" },
    ))
}
