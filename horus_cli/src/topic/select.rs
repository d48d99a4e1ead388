//! Selects topics by the names and patterns that the user gives.

use std::sync::Arc;

use horus_core::introspect::{Inspector, topics};
use horus_core::namespace::Namespace;

use super::pattern::{is_pattern, matches_pattern};
use crate::context::{Context, similar_topics_text};
use crate::failure::Failure;

/// Prefix of the names of the library's internal topics.
const INTERNAL_PREFIX: &str = "horus/";

/// Returns true if `name` is the name of an internal topic of the library, such as the status of a
/// scheduler.
pub(crate) fn is_internal_topic(name: &str) -> bool {
    name.starts_with(INTERNAL_PREFIX)
}

/// Returns true if the topic `name` may be offered to a user who typed `wanted`. Internal topics
/// are only offered if `wanted` begins with [`INTERNAL_PREFIX`].
fn may_suggest_topic(wanted: &str, name: &str) -> bool {
    is_internal_topic(wanted) || !is_internal_topic(name)
}

/// Returns true if `pattern` selects the topic `name`. It selects internal topics only if it begins
/// with [`INTERNAL_PREFIX`].
pub(super) fn is_selected_by(pattern: &str, name: &str) -> bool {
    matches_pattern(pattern, name) && may_suggest_topic(pattern, name)
}

/// Returns `name` without a leading slash. ROS users type topic names with a leading slash.
pub(crate) fn without_leading_slash(name: &str) -> &str {
    name.strip_prefix('/').unwrap_or(name)
}

/// Opens the namespace. Returns it together with the names of the topics that `wanted` selects,
/// each once, in the order of the arguments. A pattern selects all topics that it matches, but
/// internal ones only if it begins with [`INTERNAL_PREFIX`].
///
/// It does not check whether a topic with a given name exists, because opening the topic does that.
pub(crate) fn select_topics(
    context: &Context,
    wanted: &[String],
) -> Result<(Arc<Namespace>, Vec<String>), Failure> {
    let first = wanted.first().map_or("*", String::as_str);
    let namespace = context.open_namespace_of_topic(without_leading_slash(first))?;
    let mut names: Vec<String> = Vec::new();
    for wanted in wanted.iter().map(|wanted| without_leading_slash(wanted)) {
        let found = if is_pattern(wanted) {
            matching_topics(&namespace, wanted)?
        } else {
            vec![wanted.to_owned()]
        };
        for name in found {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    Ok((namespace, names))
}

/// Returns the names of the topics for which `is_wanted` returns true. The function gets the name
/// of each topic and that of its message type.
pub(crate) fn topics_with_type(
    namespace: &Arc<Namespace>,
    mut is_wanted: impl FnMut(&str, &str) -> bool,
) -> Result<Vec<String>, Failure> {
    let mut found = topics(namespace).map_err(|error| Failure::from_open_error(&error))?;
    found.retain(|name| {
        // A topic that cannot be opened was removed meanwhile, or its type is unknown.
        let topic = Inspector::open_in(namespace, name);
        topic.is_ok_and(|topic| is_wanted(name, topic.message_type()))
    });
    Ok(found)
}

/// Returns the names of the topics that match `pattern`. Returns a failure if there are none.
fn matching_topics(namespace: &Arc<Namespace>, pattern: &str) -> Result<Vec<String>, Failure> {
    let all = topics(namespace).map_err(|error| Failure::from_open_error(&error))?;
    let (found, others): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|name| is_selected_by(pattern, name));
    if found.is_empty() {
        let only_internal = match others.iter().find(|name| matches_pattern(pattern, name)) {
            Some(internal) => format!(
                " It matches '{internal}', a topic of the library: such a pattern has to begin \
                 with '{INTERNAL_PREFIX}'."
            ),
            None => String::new(),
        };
        let is_wanted = |name: &str| is_selected_by(pattern, name);
        let near = similar_topics_text(namespace.config(), pattern, others, is_wanted);
        return Err(Failure::not_found(format_args!(
            "no topic matches '{pattern}' in namespace '{}'.{only_internal}{near}",
            namespace.config().name()
        )));
    }
    Ok(found)
}
