//! Warnings at the start of a launch: the programs are started all the same.

use std::sync::Arc;

use horus_core::namespace::Namespace;

use super::status::{self, LaunchStatus, ProgramState};
use crate::context::Context;

/// Prints a warning for each other launcher of the namespace that already has programs with the
/// names of those in `own`. `own` is the status that this launcher has published before.
pub(super) fn warn_of_other_launchers(
    namespace: &Arc<Namespace>,
    own: &LaunchStatus,
    context: &Context,
) {
    let mut others = status::read(namespace);
    // WHY by its content: launchers in different containers may have the same process id.
    if let Some(index) = others.iter().position(|status| status == own) {
        others.swap_remove(index);
    }
    for other in others {
        let active = other.programs.iter().filter(|program| {
            let has_ended = matches!(program.state, ProgramState::Ended | ProgramState::Failed);
            let mut names = own.programs.iter().map(|own| &own.program);
            !has_ended && names.any(|name| *name == program.program)
        });
        let active: Vec<&str> = active.map(|program| program.program.as_str()).collect();
        if active.is_empty() {
            continue;
        }
        context.print_note(format_args!(
            "warning: the namespace '{}' already has programs with these names: {}. The horus \
             launch with the process id {} runs them from {}. Programs that run twice publish on \
             the same topics. Stop that launch (kill {}), or launch this file with another \
             namespace (-N)",
            namespace.config().name(),
            active.join(", "),
            other.launcher_pid,
            other.file,
            other.launcher_pid,
        ));
    }
}
