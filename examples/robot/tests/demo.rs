//! The demo's counts add up, it can be interrupted, and it leaves nothing behind.

use horus_testing as _;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

use horus_core::namespace::{Namespace, NamespaceConfig, NamespaceName};
use tempfile::TempDir;

/// The exit status that a shell reports for a program ended by SIGINT.
const EXIT_INTERRUPTED: i32 = 128 + 2;
/// The limit for events that must happen, on a busy machine too.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// A directory for namespaces; the demo must leave it as empty as before.
struct Shm {
    parent: TempDir,
    dir: PathBuf,
}

impl Shm {
    fn new() -> Self {
        let parent = tempfile::tempdir_in("/dev/shm").unwrap();
        let dir = parent.path().join("horus");
        Self { parent, dir }
    }

    fn robot(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_robot"));
        command
            .args(arguments)
            .env("HORUS_SHM_DIR", &self.dir)
            .env_remove("HORUS_NAMESPACE");
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn assert_empty(&self) {
        assert!(
            !fs::exists(&self.dir).unwrap(),
            "{} is left",
            self.dir.display()
        );
    }
}

fn run(mut command: Command) -> (Option<i32>, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

/// Starts the demo and waits until the monitor prints a table.
fn start_and_wait_for_a_table(shm: &Shm) -> (Child, BufReader<ChildStdout>) {
    let mut launcher = shm.robot(&["--seconds", "600"]).spawn().unwrap();
    let mut lines = BufReader::new(launcher.stdout.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("cmd_vel") {
        line.clear();
        assert_ne!(
            lines.read_line(&mut line).unwrap(),
            0,
            "the demo ended before its time"
        );
    }
    (launcher, lines)
}

/// Returns the rows of the summary, split into words.
fn summary(stdout: &str) -> Vec<Vec<&str>> {
    let (_, summary) = stdout.split_once("\nsummary\n").expect(stdout);
    let rows = summary.lines().skip(1).take_while(|line| !line.is_empty());
    rows.map(|row| row.split_whitespace().collect()).collect()
}

fn assert_adds_up(stdout: &str) {
    let rows = summary(stdout);
    for who in [
        ["imu", "monitor"],
        ["scan", "monitor"],
        ["cmd_vel", "monitor"],
        ["imu", "controller"],
        ["scan", "controller"],
    ] {
        let row = rows.iter().find(|row| row[..2] == who).expect(stdout);
        let numbers: Vec<u64> = row[2..7].iter().map(|word| word.parse().unwrap()).collect();
        let [sent, received, lost, skipped, torn] = numbers[..] else {
            unreachable!()
        };
        assert!(sent > 0 && received > 0, "{stdout}");
        assert_eq!((sent, torn), (received + lost + skipped, 0), "{stdout}");
        assert_eq!(row.last(), Some(&"ok"), "{stdout}");
    }
}

#[test]
fn every_message_is_accounted_for_although_the_imu_is_killed() {
    let shm = Shm::new();
    let (code, stdout, stderr) = run(shm.robot(&["--seconds", "5"]));
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
    assert_adds_up(&stdout);
    for said in [
        "imu  killed with SIGKILL",
        "imu  gap ",
        "recovered in ",
        " Hz ",
    ] {
        assert!(stdout.contains(said), "no '{said}' in: {stdout}");
    }
    shm.assert_empty();
}

/// The controller in C++ works beside the processes in Rust.
#[test]
fn the_controller_may_be_written_in_cpp() {
    let shm = Shm::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let test = std::env::current_exe().unwrap();
    let library = test.parent().unwrap();
    let controller = shm.parent.path().join("controller");
    let mut cxx = Command::new("c++");
    cxx.args([
        "-std=c++17",
        "-O1",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Werror",
        "-pthread",
    ]);
    cxx.args(["main", "senses", "steering"].map(|name| root.join(format!("cpp/{name}.cpp"))));
    cxx.arg("-I")
        .arg(root.join("../../horus_cpp/include"))
        .arg("-o")
        .arg(&controller);
    cxx.arg("-L").arg(library).arg("-lhorus_cpp");
    let output = cxx
        .output()
        .expect("this test needs a C++ compiler as `c++`");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );

    let mut robot = shm.robot(&[
        "--seconds",
        "5",
        "--controller",
        controller.to_str().unwrap(),
    ]);
    robot.env("LD_LIBRARY_PATH", library);
    let (code, stdout, stderr) = run(robot);
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
    assert_adds_up(&stdout);
    shm.assert_empty();
}

#[test]
fn ctrl_c_ends_all_nodes_in_order() {
    let shm = Shm::new();
    let (mut launcher, mut lines) = start_and_wait_for_a_table(&shm);
    let kill = format!("kill -INT {}", launcher.id());
    assert!(
        Command::new("sh")
            .args(["-c", &kill])
            .status()
            .unwrap()
            .success()
    );

    let mut stdout = String::new();
    let mut stderr = String::new();
    lines.read_to_string(&mut stdout).unwrap();
    launcher
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut stderr)
        .unwrap();
    assert_eq!(
        launcher.wait().unwrap().code(),
        Some(EXIT_INTERRUPTED),
        "{stdout}{stderr}"
    );
    assert_eq!(stderr, "");
    assert_adds_up(&stdout);
    shm.assert_empty();
}

#[test]
fn the_nodes_end_with_a_launcher_that_is_killed() {
    let shm = Shm::new();
    let (mut launcher, _lines) = start_and_wait_for_a_table(&shm);
    let name = format!("robot_demo_{}", launcher.id());
    launcher.kill().unwrap();
    launcher.wait().unwrap();

    // The namespace cannot be removed while a node uses it.
    let config = NamespaceConfig::new(&shm.dir, NamespaceName::new(&name).unwrap());
    let namespace = Namespace::open(&config).unwrap();
    let start = Instant::now();
    while let Err(error) = namespace.remove() {
        assert!(start.elapsed() < TIME_LIMIT, "{error}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn an_invalid_argument_is_named() {
    let shm = Shm::new();
    for (arguments, error) in [
        (&["--fast"][..], "robot: unknown argument '--fast'\n"),
        (&["lidar"], "robot: unknown role 'lidar'\n"),
        (
            &["launch", "--seconds"],
            "robot: --seconds needs a number\n",
        ),
        (
            &["--seconds", "0"],
            "robot: --seconds is '0': wanted a number from 1 to 86400\n",
        ),
    ] {
        let (code, stdout, stderr) = run(shm.robot(arguments));
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(stderr.starts_with(error), "{arguments:?}: {stderr}");
    }
    shm.assert_empty();
}
