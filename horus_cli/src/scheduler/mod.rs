//! The command `horus scheduler`: lists schedulers, stops them, and removes the files of those that
//! have ended.

mod forget;
mod list;
pub(crate) mod liveness;
mod stop;

use std::sync::Arc;

use clap::Subcommand;
use horus_core::namespace::Namespace;
use horus_core::scheduler::schedulers;

use crate::context::Context;
use crate::failure::Failure;
use crate::namespace::live::similar_schedulers_text;
use crate::output::nearest;

/// The commands of `horus scheduler`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    List(list::Arguments),
    Stop(stop::Arguments),
    Forget(forget::Arguments),
}

impl Command {
    /// Executes the command.
    pub(crate) fn run(self, context: &mut Context) -> Result<(), Failure> {
        match self {
            Self::List(arguments) => list::run(&arguments, context),
            Self::Stop(arguments) => stop::run(&arguments, context),
            Self::Forget(arguments) => forget::run(&arguments, context),
        }
    }
}

/// Opens the namespace of the scheduler `name`. Returns a failure if the namespace does not exist.
pub(crate) fn open_namespace_of_scheduler(
    context: &Context,
    name: &str,
) -> Result<Arc<Namespace>, Failure> {
    context.open_namespace_to_find(format_args!("scheduler '{name}'"), |config| {
        similar_schedulers_text(config, String::new(), |info| info.name == name)
    })
}

/// Returns the failure for a scheduler `name` that `namespace` does not have. Its message suggests
/// similar names, and the other namespaces that have the scheduler.
pub(crate) fn unknown_scheduler(namespace: &Arc<Namespace>, name: &str) -> Failure {
    let all = schedulers(namespace).unwrap_or_default();
    let names: Vec<String> = all.into_iter().map(|info| info.name).collect();
    let near = nearest::suggestion_text(name, &names);
    let config = namespace.config();
    let near = similar_schedulers_text(config, near, |info| info.name == name);
    Failure::not_found(format_args!(
        "no scheduler '{name}' in namespace '{}'.{near}",
        config.name()
    ))
}
