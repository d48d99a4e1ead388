//! Nodes and schedulers of other processes: `node`, `scheduler`, `blackbox` and `estop`.

use horus_core::message::EmergencyStop;
use horus_core::scheduler::emergency_stop_publisher;

use crate::common::{Program, Ran, Robot, until};
use crate::golden::{check_json, check_json_except};

/// The keys of counts and times that differ from run to run.
const METRICS: [&str; 9] = [
    "ticks",
    "misses",
    "skipped_ticks",
    "last_ns",
    "lateness_p50_ns",
    "lateness_p99_ns",
    "process_id",
    "durations",
    "lateness",
];

/// Starts a program with the scheduler `arm`, and waits until its nodes run.
fn arm(robot: &Robot) -> Program {
    let mut program = robot.program();
    program.tell("schedule arm");
    robot.until("node list --json", |list| {
        list.matches("\"state\":\"active\"").count() == 3 && !list.contains("\"ticks\":0,")
    });
    program
}

/// Runs a command for a scheduler that must succeed, and returns its output.
#[track_caller]
fn apply(robot: &Robot, command: &str) -> String {
    // WHY so long: it ends when the command is applied, however slow the machine is.
    robot.answer(&format!("{command} --timeout 120"))
}

/// Returns the output of a command that shows states.
///
/// WHY again: a scheduler that gets no CPU time for two seconds is shown as not responding.
fn state_of(robot: &Robot, command: &str) -> String {
    robot.until(command, |text| !text.contains("not_responding"))
}

/// Engages the emergency stop, and returns the result of the command. Repeats it if a scheduler
/// gets no CPU time and therefore counts as one that does not respond.
fn engage(robot: &Robot, arguments: &[&str]) -> Ran {
    let arguments = [&["estop", "engage"], arguments].concat();
    let mut ran = robot.run_with(&arguments);
    until("the scheduler responds", || {
        let is_late = ran.code == 1 && ran.stderr.contains("has published no status for");
        if is_late {
            ran = robot.run_with(&arguments);
        }
        !is_late
    });
    ran
}

/// Returns the line of a table that begins with this word, with one space between its cells.
fn row(table: &str, name: &str) -> String {
    let line = table.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn nodes_are_listed_with_their_metrics() {
    let robot = Robot::new();
    let _program = arm(&robot);
    let list = state_of(&robot, "node list");
    assert!(row(&list, "NODE").starts_with("NODE SCHEDULER CLASS RATE STATE MISSES p99"));
    let controller = row(&list, "controller");
    assert!(
        controller.starts_with("controller arm real_time 200.0 Hz active "),
        "{list}"
    );
    let long = robot.until("node list -l", |list| list.contains("no such port"));
    assert!(long.contains("LAST ERROR"), "{long}");
    let json = state_of(&robot, "node list --json");
    assert!(
        json.starts_with("{\"horus\":1,\"nodes\":[{\"scheduler\":\"arm\","),
        "{json}"
    );
    check_json_except("node_list", &json, &METRICS);
    let info = state_of(&robot, "node info driver --json");
    assert!(info.contains("\"failures\":1"), "{info}");
    check_json_except("node_info", &info, &METRICS);
    let text = state_of(&robot, "node info arm/driver");
    for part in [
        "driver: active, real_time at 100.0 Hz, scheduler arm",
        "1 failed",
        "BELOW",
    ] {
        assert!(text.contains(part), "no '{part}' in {text}");
    }
    robot
        .run("node info drivr")
        .failed(3, &["no node 'drivr'", "Near: driver"]);
    let table = state_of(&robot, "scheduler list");
    assert!(row(&table, "arm").contains(" running 3 "), "{table}");
    let json = state_of(&robot, "scheduler list --json");
    check_json("scheduler_list", &json.replace("process_id", "pid"));
}

#[test]
fn commands_return_when_they_are_applied() {
    let robot = Robot::new();
    let _program = arm(&robot);
    let state = |node: &str| {
        let info = state_of(&robot, &format!("node info {node} --json"));
        let (_, rest) = info.split_once("\"state\":\"").unwrap();
        rest.split('"').next().unwrap().to_owned()
    };
    check_json("node_pause", &apply(&robot, "node pause planner --json"));
    assert_eq!(state("planner"), "paused");
    apply(&robot, "node resume planner");
    assert_eq!(state("planner"), "active");
    apply(&robot, "node rate planner 20");
    assert!(row(&robot.answer("node list"), "planner").contains(" 20.0 Hz "));
    apply(&robot, "node stop arm/planner");
    assert_eq!(state("planner"), "stopped");
    robot.run("node rate planner 0").failed_with_usage();
    robot.run("node pause plannr").failed(3, &["Near: planner"]);
    // Another scheduler with nodes of the same names.
    let mut other = robot.program();
    other.tell("schedule leg");
    robot.until("scheduler list", |list| {
        list.matches("running").count() == 2
    });
    let ran = robot.run("node pause controller");
    ran.failed(2, &["several nodes", "arm/controller", "leg/controller"]);
    apply(&robot, "node pause leg/controller");
    let stopped = apply(&robot, "scheduler stop leg --json");
    check_json("scheduler_stop", &stopped);
    let table = robot.answer("scheduler list");
    assert!(row(&table, "leg").contains(" stopped "), "{table}");
    let forgotten = robot.answer("scheduler forget leg --json");
    check_json("scheduler_forget", &forgotten);
    robot
        .run("scheduler forget leg")
        .failed(3, &["no scheduler 'leg'"]);
    robot
        .run("scheduler forget arm")
        .failed(4, &["scheduler 'arm' is in use"]);
    robot.run("scheduler stop log").failed(3, &["log", "arm"]);
}

#[test]
fn commands_that_no_node_can_apply_are_refused_at_once() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("react arm cmd_vel");
    robot.until("node list", |list| list.matches(" active ").count() == 2);
    // WHY so long: the command ends because it learns the answer, however slow the machine is.
    let never = "--timeout 120";
    let no_rate = robot.run(&format!("node rate reactor 50 {never}"));
    no_rate.failed(
        4,
        &["node 'reactor' of scheduler 'arm' has no rate to change"],
    );
    // Only the scheduler knows this.
    let too_fast = robot.run(&format!("node rate punctual 500 {never}"));
    too_fast.failed(
        4,
        &["scheduler 'arm' has refused the command: ", "deadline"],
    );
    apply(&robot, "node rate punctual 15");
    apply(&robot, "node stop punctual");
    let stopped = [
        "node 'punctual' of scheduler 'arm' is stopped for the rest of the run",
        "start its program again",
    ];
    for command in ["resume punctual", "pause punctual", "rate punctual 5"] {
        robot
            .run(&format!("node {command} {never}"))
            .failed(4, &stopped);
    }
    apply(&robot, "node stop punctual");
}

#[test]
fn the_doctor_expects_no_commands_and_no_emergency_stop() {
    let robot = Robot::new();
    let mut program = arm(&robot);
    program.tell("subscribe best_effort lonely");
    let found = robot.run("doctor").stdout;
    assert!(
        found.contains("lonely: 1 subscriber, and no publisher"),
        "{found}"
    );
    assert_eq!(found.matches("silent topic").count(), 1, "{found}");
}

#[test]
fn a_process_that_is_suspended_does_not_look_alive() {
    let robot = Robot::new();
    let program = arm(&robot);
    let signal = |signal| {
        // SAFETY: the call takes no pointer, and the child has not been waited for.
        assert_eq!(unsafe { libc::kill(program.id() as i32, signal) }, 0);
    };
    signal(libc::SIGSTOP);
    robot.until("node list", |list| {
        list.matches(" not_responding ").count() == 3
    });
    assert!(robot.answer("scheduler list").contains(" not_responding "));
    let found = robot.run("doctor");
    assert_eq!(found.code, 1, "{found:?}");
    let suspended = format!(
        "FAULT  suspended process: {} ({})\n",
        program.name(),
        program.id()
    );
    assert!(found.stdout.contains(&suspended), "{found:?}");
    let advice = format!("kill -CONT {}\n", program.id());
    assert!(found.stdout.contains(&advice), "{found:?}");
    signal(libc::SIGCONT);
    robot.until("node list", |list| list.matches(" active ").count() == 3);
    assert!(!robot.run("doctor").stdout.contains("suspended"));
}

#[test]
fn nodes_of_a_scheduler_that_ended_in_order_are_stopped() {
    let robot = Robot::new();
    let program = arm(&robot);
    apply(&robot, "scheduler stop arm");
    program.kill();
    let list = robot.until("node list", |list| !list.contains(" active "));
    assert_eq!(list.matches(" stopped ").count(), 3, "{list}");
    assert!(robot.answer("scheduler list").contains(" stopped "));
    arm(&robot).kill();
    robot.until("node list", |list| list.matches(" dead ").count() == 3);
    assert!(robot.answer("scheduler list").contains(" dead "));
}

#[test]
fn the_doctor_names_schedulers_that_have_died_until_they_run_again() {
    let robot = Robot::new();
    let check = "scheduler has died";
    let program = arm(&robot);
    apply(&robot, "scheduler stop arm");
    program.kill();
    robot.until("scheduler list", |list| list.contains(" stopped "));
    let found = robot.run("doctor").stdout;
    assert!(!found.contains(check), "{found}");
    arm(&robot).kill();
    robot.until("scheduler list", |list| list.contains(" dead "));
    let found = robot.run("doctor");
    assert_eq!(found.code, 1, "{found:?}");
    let found = found.stdout;
    assert!(found.contains("FAULT  scheduler has died: arm"), "{found}");
    assert!(found.contains("horus blackbox arm"), "{found}");
    let again = arm(&robot);
    let found = robot.run("doctor").stdout;
    assert!(!found.contains(check), "{found}");
    again.kill();
    robot.until("scheduler list", |list| list.contains(" dead "));
    robot.answer("scheduler forget arm");
    let found = robot.run("doctor").stdout;
    assert!(!found.contains(check), "{found}");
}

/// As with topics: the usual reason is that the user looks into the wrong namespace.
#[test]
fn the_namespaces_of_a_node_or_scheduler_are_named() {
    let robot = Robot::new();
    let _program = arm(&robot);
    let missing = [
        ("node pause planner", "no node 'planner'"),
        ("node info arm/planner", "no node 'arm/planner'"),
        ("scheduler stop arm", "no scheduler 'arm'"),
        ("scheduler forget arm", "no scheduler 'arm'"),
        ("blackbox arm", "no scheduler 'arm'"),
    ];
    let there = "Namespaces that have it: default. Choose one with --namespace";
    for (command, text) in missing {
        robot
            .run(&format!("{command} -N nowhere"))
            .failed(3, &[text, "the namespace 'nowhere' does not exist", there]);
    }
    robot.answer("topic pub cmd_vel CmdVel {} -N other");
    for (command, text) in missing {
        let text = format!("{text} in namespace 'other'");
        let ran = robot.run(&format!("{command} -N other"));
        ran.failed(3, &[&text, there]);
    }
    // Two schedulers may have nodes of the same names.
    let mut second = robot.program();
    second.tell("schedule hand");
    robot.until("node list", |list| list.matches("planner").count() == 2);
    let near = "Near: planner, driver, controller\n";
    robot.run("node info planer").failed(3, &[near]);
    let near = "Near: arm/planner, ";
    robot.run("node info arm/planer").failed(3, &[near]);
    let ran = robot.run("blackbox leg -N other");
    ran.failed(3, &["Namespaces with schedulers: default."]);
}

#[test]
fn a_black_box_outlives_its_scheduler() {
    let robot = Robot::new();
    let program = arm(&robot);
    let process = program.id();
    robot.until("blackbox arm --kind failed", |events| {
        events.contains("no such port")
    });
    let failed = robot.answer("blackbox arm --kind failed --json");
    let times = ["timestamp_ns", "monotonic_ns", "process_id", "tick"];
    check_json_except("blackbox", &failed, &times);
    let follow = robot.stream("blackbox arm -f --kind paused --json");
    apply(&robot, "node pause planner");
    let line = follow.line();
    assert!(
        line.contains("\"node\":\"planner\",\"kind\":\"paused\""),
        "{line}"
    );
    program.kill();
    robot.until("scheduler list", |list| list.contains("dead"));
    let died = robot.run("blackbox arm");
    let note = format!("arm: its process {process} ended after these events without shutting");
    assert!(died.stderr.starts_with(&note), "{died:?}");
    let events = died.succeeded();
    assert!(
        events.lines().next().unwrap().contains("scheduler started"),
        "{events}"
    );
    assert!(events.contains("driver: failed in tick "), "{events}");
    let mut later = arm(&robot);
    let _ = later.id();
    let last = robot.run("blackbox arm --json");
    assert_eq!(last.stderr, "");
    let last = last.succeeded();
    assert!(
        !last.contains(&format!("\"process_id\":{process}")),
        "{last}"
    );
    let all = robot.answer("blackbox arm --all-runs --json");
    assert!(all.contains(&format!("\"process_id\":{process}")), "{all}");
    assert_eq!(robot.answer("blackbox arm --since 0"), "");
    let of_driver = robot.answer("blackbox arm --all-runs --node driver");
    assert!(
        of_driver.lines().all(|line| line.contains("Z driver: ")),
        "{of_driver}"
    );
    let last_of_driver = robot.answer("blackbox arm --all-runs --node driver -n 1");
    assert_eq!(last_of_driver.lines().count(), 1);
    // The scheduler runs, so there may be more events by now.
    let later_of_driver = robot.answer("blackbox arm --all-runs --node driver");
    let place = |line: Option<&str>| {
        later_of_driver
            .lines()
            .position(|other| line == Some(other))
    };
    let known = place(of_driver.lines().last()).unwrap();
    let last = place(last_of_driver.lines().last()).unwrap();
    assert!(
        last >= known,
        "{last_of_driver}: not the last of {of_driver}"
    );
    robot
        .run("blackbox leg")
        .failed(3, &["no scheduler 'leg'", "Near: arm"]);
    for options in ["", "-f", "--all-runs"] {
        let ran = robot.run(&format!("blackbox arm --node drive {options}"));
        ran.failed(3, &["no node 'drive' in scheduler 'arm'. Near: driver"]);
    }
    let none = robot.run("blackbox arm --node driver --since 0");
    let note = "arm: no such events in the last run: --all-runs shows those of earlier ones, too\n";
    assert_eq!(
        (none.code, none.stdout.as_str(), none.stderr.as_str()),
        (0, "", note)
    );
    assert_eq!(robot.run("blackbox arm --kind late").code, 2);
    apply(&robot, "node pause controller");
    assert!(follow.line().contains("\"node\":\"controller\""));
    follow.signal(libc::SIGINT);
    assert_eq!(follow.wait().code, 0);
    later.tell("publish cmd_vel cmd_vel");
}

/// The schedulers go by the greatest `monotonic_ns`, which another container may have set.
#[test]
fn a_stop_or_release_that_is_not_in_force_is_a_failure() {
    let robot = Robot::new();
    let _program = arm(&robot);
    let send = |stop: EmergencyStop, monotonic_ns: u64| {
        let stop = EmergencyStop {
            monotonic_ns,
            ..stop
        };
        let mut publisher = emergency_stop_publisher(robot.namespace()).unwrap();
        publisher.send(stop).unwrap();
    };
    send(EmergencyStop::engage("other", "front hit"), u64::MAX / 2);
    let ran = robot.run("estop release");
    ran.failed(4, &["EMERGENCY STOP by other: front hit", "monotonic_ns"]);
    assert_eq!(robot.run("estop status").code, 1);
    let (_, advice) = ran.stderr.split_once(": horus topic ").expect(&ran.stderr);
    let (pub_, value) = advice.trim_end().split_once(" '").expect(advice);
    let words = pub_.split(' ').chain([value.trim_end_matches('\'')]);
    let words: Vec<&str> = ["topic"].into_iter().chain(words).collect();
    robot.run_with(&words).succeeded();
    assert_eq!(robot.run("estop status").code, 0);
    send(EmergencyStop::release("other", ""), u64::MAX - 1);
    let ran = robot.run("estop engage");
    ran.failed(4, &["released by other", "monotonic_ns"]);
}

#[test]
fn a_reason_that_is_too_long_is_cut_with_a_note() {
    let robot = Robot::new();
    let reason = "do NOT release before ".repeat(4);
    let ran = robot.run_with(&["estop", "engage", "--reason", &reason]);
    assert_eq!(ran.code, 3, "{ran:?}");
    let note = format!("the reason is cut after 64 bytes: {}\n", &reason[..64]);
    assert!(ran.stderr.starts_with(&note), "{ran:?}");
}

#[test]
fn an_emergency_stop_reaches_all_schedulers() {
    let robot = Robot::new();
    assert_eq!(robot.answer("estop status"), "never engaged\n");
    let _program = arm(&robot);
    engage(&robot, &["--reason", "front hit"]).succeeded();
    robot.until("scheduler list", |list| list.contains("emergency_stop"));
    let status = robot.run("estop status");
    assert_eq!(status.code, 1, "{status:?}");
    assert!(
        status
            .stdout
            .contains("EMERGENCY STOP by horus estop: front hit"),
        "{status:?}"
    );
    check_json(
        "estop_status",
        &mask_time(&robot.run("estop status --json").stdout),
    );
    // A node can be paused and resumed meanwhile, and is in its safe state all the time.
    apply(&robot, "node pause planner");
    let table = state_of(&robot, "node list");
    assert!(
        row(&table, "planner").contains(" safe_state, paused "),
        "{table}"
    );
    assert!(
        row(&table, "controller").contains(" safe_state "),
        "{table}"
    );
    let info = apply(&robot, "node resume planner --json");
    let is_paused = "\"state\":\"safe_state\",\"is_paused\":false";
    assert!(info.contains(is_paused), "{info}");
    apply(&robot, "node pause planner");
    let released = robot.answer("estop release");
    assert!(
        released.ends_with("Z released by horus estop\n"),
        "{released}"
    );
    robot.until("scheduler list", |list| list.contains("running"));
    robot.until("node list", |table| {
        row(table, "planner").contains(" paused ")
    });
    assert_eq!(robot.run("estop status").code, 0);
}

#[test]
fn a_suspended_scheduler_does_not_count_as_stopped() {
    let robot = Robot::new();
    let program = arm(&robot);
    let signal = |signal| {
        // SAFETY: the call takes no pointer, and the child has not been waited for.
        assert_eq!(unsafe { libc::kill(program.id() as i32, signal) }, 0);
    };
    signal(libc::SIGSTOP);
    let pid = program.id();
    until("the process is suspended", || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.contains(") T ")
    });
    let ran = robot.run("estop engage");
    let suspended = format!(
        "engaged, but not in effect everywhere: scheduler 'arm' is suspended with its process, and \
         obeys only when that goes on: kill -CONT {pid}"
    );
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains(&suspended), "{ran:?}");
    assert!(ran.stdout.contains("EMERGENCY STOP"), "{ran:?}");
    signal(libc::SIGCONT);
    robot.until("scheduler list", |list| list.contains("emergency_stop"));
    engage(&robot, &[]).succeeded();
    // It is also named if another message counts.
    let release = EmergencyStop {
        monotonic_ns: u64::MAX / 2,
        ..EmergencyStop::release("other", "")
    };
    let mut publisher = emergency_stop_publisher(robot.namespace()).unwrap();
    publisher.send(release).unwrap();
    signal(libc::SIGSTOP);
    let ran = robot.run("estop engage");
    ran.failed(4, &["monotonic_ns", "scheduler 'arm' is suspended"]);
    signal(libc::SIGCONT);
}

#[test]
fn an_emergency_stop_that_stops_nothing_is_no_success() {
    let robot = Robot::new();
    let _program = arm(&robot);
    let ran = robot.run("-N typo estop engage");
    let parts = [
        "no scheduler runs in namespace 'typo', which was created now",
        "holds schedulers that start later",
        "horus -N typo estop release",
        "Live schedulers in other namespaces: 'default' (arm)",
    ];
    ran.failed(3, &parts);
    assert!(state_of(&robot, "scheduler list").contains("running"));
    // It is kept, and another one is in the namespace that exists now.
    assert_eq!(robot.run("-N typo estop status").code, 1);
    let json = robot.run("-N typo estop engage --json");
    assert_eq!(json.code, 3, "{json:?}");
    assert!(json.stdout.contains("\"engaged\":true"), "{json:?}");
    let empty = "\"namespace\":\"typo\",\"schedulers\":[]";
    assert!(json.stdout.contains(empty), "{json:?}");
    assert!(!json.stderr.contains("created"), "{json:?}");
    // A stop that is kept can be released without a scheduler, but only once.
    let ran = robot.run("-N typo estop release");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.stderr.contains("no scheduler runs in namespace 'typo'"),
        "{ran:?}"
    );
    let parts = [
        "nothing was released",
        "no emergency stop is kept there",
        "'default' (arm)",
    ];
    robot.run("-N typo estop release").failed(3, &parts);
    let parts = ["nothing was released", "namespace 'other' does not exist"];
    robot.run("-N other estop release").failed(3, &parts);
    assert!(!robot.dir().join("other").exists());
    let status = robot.run("-N typo estop status");
    assert_eq!(status.code, 0, "{status:?}");
    assert!(status.stderr.contains("'default' (arm)"), "{status:?}");
    let ran = engage(&robot, &[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let sent = "sent to the schedulers of namespace 'default': arm\n";
    assert_eq!(ran.stderr, sent);
}

#[test]
fn an_emergency_stop_that_was_left_over_is_found() {
    let robot = Robot::new();
    robot.run("estop engage");
    let fault = "FAULT  emergency stop: engaged by horus estop at 2";
    let found = robot.run("doctor");
    assert_eq!(found.code, 1, "{found:?}");
    assert!(found.stdout.contains(fault), "{found:?}");
    let held = " ago), without a reason; no scheduler runs, and each that starts is held\n";
    assert!(found.stdout.contains(held), "{found:?}");
    let mut program = robot.program();
    program.tell("schedule arm");
    let events = robot.until("blackbox arm --kind emergency_stop", |events| {
        events.contains("EMERGENCY STOP")
    });
    assert!(
        events.contains("until 'horus estop release': by horus estop at 2"),
        "{events}"
    );
    assert!(events.ends_with("Z\n"), "{events}");
    robot.run_with(&["estop", "engage", "--reason", "front hit"]);
    let found = robot.run("doctor").stdout;
    for part in [
        fault,
        ", reason: front hit; it holds the schedulers arm\n",
        "→ no node ticks until it is released. If that is safe: horus -N default estop release",
    ] {
        assert!(found.contains(part), "no '{part}' in {found}");
    }
    robot.answer("estop release");
    assert!(!robot.run("doctor").stdout.contains("emergency stop"));
}

fn mask_time(json: &str) -> String {
    let (before, after) = json.split_once("\"timestamp_ns\":").unwrap();
    let after = after.trim_start_matches(|c: char| c.is_ascii_digit());
    format!("{before}\"timestamp_ns\":N{after}")
}
