//! The command `horus completion`: prints scripts that complete the arguments of `horus` in a
//! shell. The scripts also complete the names of topics and nodes that exist at that moment. To
//! find these names, they call the hidden command `horus __complete`.

use clap::{Args, CommandFactory as _, ValueEnum};
use clap_complete::Shell;
use horus_core::introspect::topics;
use horus_core::message::STANDARD;
use horus_core::scheduler::schedulers;

use crate::cli::Cli;
use crate::context::Context;
use crate::failure::Failure;

/// Shell code that is appended to the generated script for bash. It completes the names of topics
/// and nodes.
const BASH_LIVE_NAMES: &str = include_str!("completion/live.bash");

/// Shell code that is added to the generated script for zsh. It completes the names of topics and
/// nodes. The constant `FISH_LIVE_NAMES` is the same for fish.
const ZSH_LIVE_NAMES: &str = include_str!("completion/live.zsh");
const FISH_LIVE_NAMES: &str = include_str!("completion/live.fish");

/// Print completions for a shell
///
/// For bash: source <(horus completion bash). Names of topics, nodes and message
/// types are completed as they are at the moment.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Shell: bash, zsh, fish, elvish or powershell
    #[arg(hide_possible_values = true)]
    shell: Shell,
}

/// Print the names that begin with a prefix
#[derive(Debug, Args)]
pub(crate) struct NamesArguments {
    /// The kind of names
    kind: NameKind,
    /// The beginning of the names
    #[arg(default_value = "")]
    prefix: String,
}

/// The kinds of names that are completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum NameKind {
    Topics,
    Nodes,
    Schedulers,
    Types,
}

pub(crate) fn run(arguments: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "horus", &mut script);
    let script = String::from_utf8_lossy(&script);
    let script = match arguments.shell {
        Shell::Bash => script.into_owned() + BASH_LIVE_NAMES,
        Shell::Fish => script.into_owned() + FISH_LIVE_NAMES,
        Shell::Zsh => complete_live_names_in_zsh(&script),
        _ => script.into_owned(),
    };
    context.out.write_bytes(script.as_bytes())
}

/// Returns the script for zsh that clap has generated, changed so that it also completes the names
/// of existing topics and nodes.
fn complete_live_names_in_zsh(script: &str) -> String {
    let lines = script.lines().map(|line| {
        for (argument, function) in [("topic", "_horus_topics"), ("node", "_horus_nodes")] {
            let is_argument = line.contains(&format!(":{argument} -- "))
                || line.contains(&format!(":{argument}s -- "));
            if is_argument {
                return line.replace(":_default'", &format!(":{function}'")) + "\n";
            }
        }
        line.to_owned() + "\n"
    });
    // WHY behind the first line: that one names the command for which the script is loaded.
    let script: String = lines.collect();
    let (first, rest) = script.split_once('\n').unwrap_or_default();
    format!("{first}\n{ZSH_LIVE_NAMES}{rest}")
}

/// Prints the requested names, one on each line. Prints nothing if the names cannot be read,
/// because a shell would show an error text in its prompt.
pub(crate) fn print_names(
    arguments: &NamesArguments,
    context: &mut Context,
) -> Result<(), Failure> {
    let names = match arguments.kind {
        NameKind::Types => STANDARD
            .iter()
            .map(|schema| schema.name.to_owned())
            .collect(),
        kind => find_live_names(kind, context).unwrap_or_default(),
    };
    let mut names: Vec<String> = names;
    names.retain(|name| name.starts_with(&arguments.prefix));
    names.sort();
    names.dedup();
    names
        .iter()
        .try_for_each(|name| context.out.write_line(name))
}

fn find_live_names(kind: NameKind, context: &Context) -> Option<Vec<String>> {
    let config = context.namespace_config().ok()?;
    let namespace = context.open_if_exists(&config).ok()??;
    if kind == NameKind::Topics {
        return topics(&namespace).ok();
    }
    let schedulers = schedulers(&namespace).ok()?;
    if kind == NameKind::Schedulers {
        return Some(schedulers.into_iter().map(|info| info.name).collect());
    }
    let nodes = schedulers.iter().flat_map(|info| &info.nodes);
    Some(nodes.map(|node| node.name.to_string()).collect())
}
