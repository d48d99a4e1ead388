//! The command `horus`, executed in processes of its own among programs that take part.

use horus_testing as _;

#[path = "commands/arguments.rs"]
mod arguments;
#[path = "common/browser.rs"]
mod browser;
mod common;
#[path = "commands/containers.rs"]
mod containers;
#[path = "commands/defaults.rs"]
mod defaults;
#[path = "commands/doctor.rs"]
mod doctor;
#[path = "commands/doctor_machine.rs"]
mod doctor_machine;
#[path = "commands/floods.rs"]
mod floods;
#[path = "commands/full_memory.rs"]
mod full_memory;
#[path = "common/golden.rs"]
mod golden;
#[path = "commands/launch.rs"]
mod launch;
#[path = "commands/launch_files.rs"]
mod launch_files;
#[path = "commands/launch_groups.rs"]
mod launch_groups;
#[path = "commands/launch_obstacles.rs"]
mod launch_obstacles;
#[path = "commands/launch_output.rs"]
mod launch_output;
#[path = "commands/launch_private.rs"]
mod launch_private;
#[path = "commands/launch_signals.rs"]
mod launch_signals;
#[path = "commands/launch_warnings.rs"]
mod launch_warnings;
#[path = "commands/log.rs"]
mod log;
#[path = "commands/messages.rs"]
mod messages;
#[path = "commands/monitor.rs"]
mod monitor;
#[path = "commands/monitor_page.rs"]
mod monitor_page;
#[path = "commands/names.rs"]
mod names;
#[path = "commands/namespaces.rs"]
mod namespaces;
#[path = "commands/nodes.rs"]
mod nodes;
#[path = "commands/program.rs"]
mod program;
#[path = "commands/removals.rs"]
mod removals;
#[path = "commands/removed_namespaces.rs"]
mod removed_namespaces;
#[path = "commands/replay.rs"]
mod replay;
#[path = "commands/streams.rs"]
mod streams;
#[path = "commands/tools.rs"]
mod tools;
#[path = "commands/top.rs"]
mod top;
#[path = "commands/topics.rs"]
mod topics;

/// Not a test: entry point of the re-executed child process; does nothing without a role.
#[test]
fn child_role() {
    if std::env::var_os(program::ROLE).is_some() {
        program::run();
    }
}
