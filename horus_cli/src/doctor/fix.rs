//! The repairs that `horus doctor --fix` makes. They change only files of a namespace, never
//! settings of the machine.

use std::path::PathBuf;

use horus_core::namespace::{SweepReport, remove_topic};

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
                let is_gone =
                    remove_topic(&namespace, name).map_err(|error| error_chain_text(&error))?;
                if is_gone {
                    Ok(format!("removed the file of {}", visible(name)))
                } else {
                    Err("a process has it open".to_owned())
                }
            }
            Self::CloseDirectory(dir, kind) => {
                let shown = dir.display();
                let closed = OwnDirectory::open(dir, *kind).and_then(|dir| dir.close_for_others());
                closed.map_err(|error| error.to_string())?;
                Ok(format!("{shown} has the mode 0700 now"))
            }
        }
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
