//! The repairs that `horus doctor --fix` makes. They change only files of a namespace, never
//! settings of the machine.

use std::path::PathBuf;
use std::sync::Arc;

use horus_core::OpenError;
use horus_core::introspect::Inspector;
use horus_core::namespace::{Namespace, SweepReport, remove_topic};

use super::Finding;
use super::own_directory::{DirectoryKind, OwnDirectory};
use crate::context::Context;
use crate::failure::error_chain_text;
use crate::output::format::visible;

/// A repair that `horus doctor --fix` can make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fix {
    /// Removes the file with this name from the directory of the topics: it cannot be opened as a
    /// topic. A file that a process has open is not removed.
    RemoveTopic(String),
    /// Sets the mode of this directory to 0700, so that other users cannot access it. Only a
    /// directory that the library has made for this user is changed.
    CloseDirectory(PathBuf, DirectoryKind),
}

/// Makes the repairs that the findings offer, and stores the result of each repair in its finding.
/// If a repair fails, the finding does not change.
pub(super) fn apply_fixes(findings: &mut [Finding], context: &Context) {
    for finding in findings {
        let Some(fix) = finding.fix.take() else {
            continue;
        };
        match fix.apply(context) {
            Ok(fixed) => finding.fixed = Some(fixed),
            Err(error) => context.print_note(format_args!("{}: not fixed: {error}", finding.check)),
        }
    }
}

impl Fix {
    fn apply(&self, context: &Context) -> Result<String, String> {
        match self {
            Self::RemoveTopic(name) => {
                let namespace = context.open_existing_namespace();
                let namespace = namespace.map_err(|failure| failure.text().to_owned())?;
                let namespace = namespace.ok_or("the namespace is gone")?;
                remove_unreadable_topic(&namespace, name)
            }
            Self::CloseDirectory(dir, kind) => {
                let shown = dir.display();
                let dir = OwnDirectory::open(dir, *kind).map_err(|error| error.to_string())?;
                let closed = dir.make_private();
                closed.map_err(|error| error.to_string())?;
                Ok(format!("{shown} has the mode 0700 now"))
            }
        }
    }
}

/// Removes the file of the topic `name`, and returns a text about it. Refuses if the topic can be
/// read, or if this process lacks the memory or the file descriptors to find that out.
///
/// WHY: it may have become readable since the check, for instance because its file was new then.
fn remove_unreadable_topic(namespace: &Arc<Namespace>, name: &str) -> Result<String, String> {
    let shown = visible(name);
    match Inspector::open_in(namespace, name) {
        Ok(_) => return Err(format!("{shown} can be read now")),
        Err(error)
            if error
                .as_open_error()
                .is_some_and(OpenError::is_lack_of_resources) =>
        {
            return Err(error_chain_text(&error));
        }
        Err(_) => {}
    }
    let is_gone = remove_topic(namespace, name).map_err(|error| error_chain_text(&error))?;
    if is_gone {
        Ok(format!("removed the file of {shown}"))
    } else {
        Err("a process has it open".to_owned())
    }
}

/// Returns a finding about the topics that were removed when this process opened the namespace,
/// because no live process used them. `report` is the report of that removal.
pub(super) fn report_removed_topics(report: &SweepReport) -> Finding {
    const CHECK_NAME: &str = "stale topics";
    let removed = report.removed.iter();
    let removed: Vec<String> = removed.map(|name| visible(&name.to_string())).collect();
    if removed.is_empty() {
        return Finding::ok(CHECK_NAME, "none");
    }
    let found = format!("no live process used {}", removed.join(", "));
    let mut finding = Finding::ok(CHECK_NAME, found);
    finding.fixed = Some("opening the namespace has removed them".to_owned());
    finding
}

#[cfg(test)]
mod tests {
    use std::fs;

    use horus_core::message::CmdVel;
    use horus_core::topic::{Qos, Topic};

    use super::*;
    use crate::testing::private_namespace;

    #[test]
    fn a_topic_that_can_be_read_now_is_not_removed() {
        let (_dir, namespace) = private_namespace();
        let topic = Topic::<CmdVel>::builder("map").namespace(&namespace);
        let mut publisher = topic.qos(Qos::latched()).publisher().unwrap();
        publisher.send(CmdVel::default()).unwrap();
        drop(publisher);
        let stranger = namespace.topics_path().join("stranger");
        fs::write(&stranger, "x").unwrap();
        let kept = remove_unreadable_topic(&namespace, "map");
        assert_eq!(kept, Err("map can be read now".to_owned()));
        assert!(namespace.topics_path().join("map").exists());
        let removed = remove_unreadable_topic(&namespace, "stranger");
        assert_eq!(removed, Ok("removed the file of stranger".to_owned()));
        assert!(!stranger.exists());
    }
}
