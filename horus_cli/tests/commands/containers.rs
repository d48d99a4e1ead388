//! Processes of different containers, which have the same process ids.

use std::process::{Command, Stdio};

use crate::common::Robot;
use crate::doctor::contained;
use crate::program;

/// The borders of a container that sees the same `/dev/shm`.
const BORDERS: &[&str] = &["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];

/// Returns the shell command that starts a program of this test binary with these lines of input.
pub(crate) fn program_command(lines: &str) -> String {
    let program = std::env::current_exe().unwrap();
    format!(
        "env {}=1 {}='{lines}' {} child_role --exact --nocapture --test-threads=1 >/dev/null",
        program::ROLE,
        program::SCRIPT,
        program.display()
    )
}

#[test]
fn publishers_with_the_same_process_id_are_two_processes() {
    let robot = Robot::new();
    let script = format!("exec {}", program_command("publish best_effort cmd_vel"));
    let Some(_one) = contained(&robot, BORDERS, &script) else {
        return;
    };
    let Some(_other) = contained(&robot, BORDERS, &script) else {
        return;
    };
    robot.until("topic list --json", |list| {
        list.contains("\"publishers\":2")
    });
    let own = std::process::id();
    let list = robot.answer("namespace list --json");
    let processes = format!("\"processes\":[1,1,{own}]");
    assert!(list.contains(&processes), "{list}");
    let dot = robot.answer("graph --dot -w 0.01");
    for vertex in ["    p1 -> t0 [", "    p1_2 -> t0 ["] {
        assert!(dot.contains(vertex), "no '{vertex}' in {dot}");
    }
    let mermaid = robot.answer("graph --mermaid -w 0.01");
    for vertex in ["    p1 -->|", "    p1_2 -->|"] {
        assert!(mermaid.contains(vertex), "no '{vertex}' in {mermaid}");
    }
    let sample = robot.answer("top --json -n 1 -i 0.01");
    let owners = owner_ids(&sample, "publisher_owner_ids");
    assert_eq!(owners.len(), 2, "{sample}");
    for owner in owners {
        let process = format!("\"owner_id\":\"{owner}\"");
        assert!(sample.contains(&process), "no '{process}' in {sample}");
    }
}

/// Returns the owner ids in the first array with this key.
fn owner_ids(json: &str, key: &str) -> Vec<String> {
    let (_, array) = json.split_once(&format!("\"{key}\":[")).unwrap();
    let (array, _) = array.split_once(']').unwrap();
    let ids = array.split(',').map(|id| id.trim_matches('"').to_owned());
    ids.collect()
}

/// The scheduler is the second process of its container, and the suspended process that of another
/// one.
#[test]
fn a_suspended_process_explains_no_scheduler_of_another_container() {
    let robot = Robot::new();
    let scheduler = format!("{} & wait", program_command("schedule arm"));
    let Some(_scheduler) = contained(&robot, BORDERS, &scheduler) else {
        return;
    };
    robot.until("scheduler list", |list| list.contains("running"));
    let horus = env!("CARGO_BIN_EXE_horus");
    let script = format!(
        "{} &
        until {horus} topic list -w 0 | grep -q camera; do sleep 0.05; done
        kill -STOP 2
        until grep -q ') T ' /proc/2/stat; do sleep 0.05; done
        {horus} estop engage 2>&1
        {horus} doctor",
        program_command("publish imu camera")
    );
    let output = Command::new("unshare")
        .args(BORDERS)
        .args(["sh", "-c", &script])
        .env("HORUS_SHM_DIR", robot.dir())
        .env("HORUS_NAMESPACE", "default")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("EMERGENCY STOP"), "{text}");
    assert!(text.contains("kill -CONT 2"), "{text}");
    assert!(!text.contains("is suspended with its process"), "{text}");
}
