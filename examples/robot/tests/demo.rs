//! The demo's counts add up although programs are killed, it can be interrupted, and it leaves
//! nothing behind.

use horus_testing as _;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Lines, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use horus_core::namespace::{Namespace, NamespaceConfig, NamespaceName};
use horus_core::prelude::*;
use serde_json::Value as Json;
use tempfile::TempDir;

/// The limit for events that must happen, on a busy machine too.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// The programs that are killed, in the order of the kills.
const PROGRAMS: [&str; 4] = ["imu", "laser", "controller", "monitor"];

/// A directory for namespaces; the demo must leave it empty.
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

    /// Returns the launcher with a launch file.
    fn launch(&self, file: &Path, seconds: u32) -> Command {
        let robot = env!("CARGO_BIN_EXE_robot");
        let mut command = Command::new(horus());
        command.arg("launch").arg(file).env("ROBOT", robot);
        command
            .env("ROBOT_CONTROLLER", robot)
            .env("ROBOT_SECONDS", seconds.to_string())
            .env("HORUS_SHM_DIR", &self.dir)
            .env_remove("HORUS_NAMESPACE")
            .env_remove("HORUS_SHM_GROUP");
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn assert_empty(&self) {
        let entries = fs::read_dir(&self.dir).unwrap().flatten();
        let names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
        assert!(names.is_empty(), "{names:?} is left");
    }
}

fn launch_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("robot.json5")
}

/// Returns the command `horus`, which `cargo test` of the workspace builds beside the demo. If it
/// was not built, or before its sources changed, this builds it.
fn horus() -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_robot")).with_file_name("horus");
    let changed = |path: &Path| path.metadata().and_then(|file| file.modified()).ok();
    let mut newest = None;
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../horus_cli/src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            newest = newest.max(changed(&entry.path()));
            if entry.path().is_dir() {
                folders.push(entry.path());
            }
        }
    }
    if changed(&path) < newest {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--locked", "-p", "horus_cli", "--target-dir"]);
        let target = path.parent().and_then(Path::parent).unwrap();
        assert!(cargo.arg(target).status().unwrap().success());
    }
    path
}

/// A running demo that prints JSON.
struct Demo {
    launcher: Child,
    lines: Lines<BufReader<ChildStdout>>,
    /// The ledgers that were read so far.
    ledgers: Vec<Json>,
}

/// A fact about a program: the name of an event of its launch, or of its report.
#[derive(Debug)]
struct Fact {
    program: String,
    kind: String,
    json: Json,
}

impl Demo {
    fn start(mut command: Command) -> Self {
        command.arg("--json").env("ROBOT_REPORTS", "json");
        let mut launcher = command.spawn().unwrap();
        let lines = BufReader::new(launcher.stdout.take().unwrap()).lines();
        Self {
            launcher,
            lines,
            ledgers: Vec::new(),
        }
    }

    /// Returns the next fact; `None` at the end.
    fn next(&mut self) -> Option<Fact> {
        let json: Json = serde_json::from_str(&self.lines.next()?.unwrap()).unwrap();
        let text = |key: &str| json[key].as_str().unwrap_or_default().to_owned();
        let (program, event) = (text("program"), text("event"));
        if event != "line" {
            return Some(Fact {
                program,
                kind: event,
                json,
            });
        }
        let report: Json = serde_json::from_str(&text("text")).unwrap_or_default();
        let kind = report.as_object().and_then(|report| report.keys().next());
        let kind = kind.cloned().unwrap_or_default();
        let json = report[&kind].clone();
        if kind == "Received" {
            self.ledgers.push(json.clone());
        }
        Some(Fact {
            program,
            kind,
            json,
        })
    }

    /// Returns the next fact of this kind about a program.
    #[track_caller]
    fn wait_for(&mut self, program: &str, kind: &str) -> Json {
        let begin = Instant::now();
        while let Some(fact) = self.next() {
            if (fact.program.as_str(), fact.kind.as_str()) == (program, kind) {
                return fact.json;
            }
            assert!(begin.elapsed() < TIME_LIMIT, "no {kind} of {program}");
        }
        panic!("the demo ended before {kind} of {program}");
    }

    /// Reads all facts to the end, and checks that the demo succeeded.
    #[track_caller]
    fn finish(&mut self) -> Vec<Fact> {
        let facts: Vec<Fact> = std::iter::from_fn(|| self.next()).collect();
        let mut stderr = String::new();
        let mut pipe = self.launcher.stderr.take().unwrap();
        pipe.read_to_string(&mut stderr).unwrap();
        let code = self.launcher.wait().unwrap().code();
        assert_eq!(code, Some(0), "{stderr}{facts:?}");
        // The name of the namespace, if it is private, and nothing else.
        let is_name = |line: &str| line.starts_with("horus: the namespace is robot_demo_");
        let is_expected = stderr.lines().all(is_name) && stderr.lines().count() <= 1;
        assert!(is_expected, "{stderr}{facts:?}");
        facts
    }

    /// Checks that the last ledgers account for every message.
    #[track_caller]
    fn assert_adds_up(&self) {
        for (topic, reader) in [
            ("imu", "monitor"),
            ("scan", "monitor"),
            ("cmd_vel", "monitor"),
            ("imu", "controller"),
            ("scan", "controller"),
        ] {
            let is_it = |one: &&Json| one["topic"] == topic && one["reader"] == reader;
            let ledger = self.ledgers.iter().rfind(is_it).expect(reader);
            let number = |key: &str| ledger[key].as_u64().unwrap();
            let [sent, received, lost] = ["sent", "received", "lost"].map(number);
            assert!(sent > 0 && received > 0, "{ledger}");
            assert_eq!(sent, received + lost + number("skipped"), "{ledger}");
            assert_eq!(number("torn"), 0, "{ledger}");
        }
    }
}

/// Waits until a condition is true.
#[track_caller]
fn wait_until(missing: &str, mut is_true: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_true() {
        assert!(begin.elapsed() < TIME_LIMIT, "{missing}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn signal(pid: u64, name: &str) {
    let kill = Command::new("kill").arg(name).arg(pid.to_string()).status();
    assert!(kill.unwrap().success());
}

#[test]
fn every_message_is_accounted_for_although_the_imu_is_killed() {
    let shm = Shm::new();
    // WHY so long: the second half must hold the restart also on a busy machine.
    let mut demo = Demo::start(shm.launch(&launch_file(), 12));
    let restarted = demo.wait_for("monitor", "Restarted");
    assert!(restarted["first_ns"].as_u64() > restarted["last_ns"].as_u64());
    let facts = demo.finish();
    let is_end = |fact: &&Fact| fact.program == "fault" && fact.kind == "ended";
    assert_eq!(facts.iter().filter(is_end).count(), 1, "{facts:?}");
    demo.assert_adds_up();
    shm.assert_empty();
}

/// Compiles the controller in C++ from these sources. Returns the program, and the directory of the
/// library that it loads.
fn compile_controller(shm: &Shm, sources: &[PathBuf]) -> (PathBuf, PathBuf) {
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
    cxx.args(sources);
    for include in ["cpp", "../../horus_cpp/include"] {
        cxx.arg("-I").arg(root.join(include));
    }
    cxx.arg("-o").arg(&controller);
    cxx.arg("-L").arg(library).arg("-lhorus_cpp");
    let output = cxx
        .output()
        .expect("this test needs a C++ compiler as `c++`");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    (controller, library.to_owned())
}

/// Returns the path of a source of the controller in C++.
fn cpp_source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("cpp/{name}.cpp"))
}

/// The controller in C++ works beside the processes in Rust.
#[test]
fn the_controller_may_be_written_in_cpp() {
    let shm = Shm::new();
    let sources = ["main", "senses", "steering"].map(cpp_source);
    let (controller, library) = compile_controller(&shm, &sources);
    let mut command = shm.launch(&launch_file(), 5);
    command
        .env("ROBOT_CONTROLLER", &controller)
        .env("LD_LIBRARY_PATH", &library);
    let mut demo = Demo::start(command);
    demo.finish();
    demo.assert_adds_up();
    shm.assert_empty();

    // After a signal, the status of the program is that of the report, 128 plus its number.
    let config = NamespaceConfig::new(&shm.dir, NamespaceName::new("alone").unwrap());
    let namespace = Namespace::open(&config).unwrap();
    let topic = Topic::<CmdVel>::builder("cmd_vel").namespace(&namespace);
    let mut commands = topic.subscriber().unwrap();
    let mut command = Command::new(controller);
    command
        .env("LD_LIBRARY_PATH", &library)
        .env("HORUS_SHM_DIR", &shm.dir)
        .env("HORUS_NAMESPACE", "alone")
        .stdout(Stdio::null());
    let mut alone = command.spawn().unwrap();
    wait_until("no command of the controller", || commands.recv().is_some());
    signal(alone.id().into(), "-TERM");
    assert_eq!(alone.wait().unwrap().code(), Some(128 + 15));
}

/// An exception of the standard library ends the controller in C++ with its text, as one of horus.
#[test]
fn the_controller_in_cpp_names_each_error() {
    let shm = Shm::new();
    let nodes = shm.parent.path().join("nodes.cpp");
    let code = r#"
        #include <stdexcept>
        #include "state.hpp"
        std::unique_ptr<horus::Node> make_senses(State &) { throw std::runtime_error("no ears"); }
        std::unique_ptr<horus::Node> make_steering(const State &, std::uint64_t &) { return {}; }
    "#;
    fs::write(&nodes, code).unwrap();
    let (controller, library) = compile_controller(&shm, &[cpp_source("main"), nodes]);
    let mut command = Command::new(controller);
    command.env("LD_LIBRARY_PATH", &library);
    let output = command.env("HORUS_SHM_DIR", &shm.dir).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert_eq!(stderr, "controller: no ears\n");
}

#[test]
fn ctrl_c_ends_all_programs_in_order() {
    let shm = Shm::new();
    let mut launcher = shm.launch(&launch_file(), 600).spawn().unwrap();
    let mut lines = BufReader::new(launcher.stdout.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("[monitor] cmd_vel") {
        line.clear();
        assert_ne!(lines.read_line(&mut line).unwrap(), 0, "it ended too early");
    }
    signal(launcher.id().into(), "-INT");
    let mut stdout = String::new();
    let mut stderr = String::new();
    lines.read_to_string(&mut stdout).unwrap();
    let mut pipe = launcher.stderr.take().unwrap();
    pipe.read_to_string(&mut stderr).unwrap();
    assert_eq!(launcher.wait().unwrap().code(), Some(0), "{stdout}{stderr}");
    let rows: Vec<&str> = stdout
        .lines()
        .filter(|line| line.ends_with("  ok"))
        .collect();
    assert_eq!(rows.len(), 5, "{stdout}");
    assert!(!stderr.contains("failed"), "{stderr}");
    shm.assert_empty();
}

#[test]
fn the_programs_end_with_a_launcher_that_is_killed() {
    let shm = Shm::new();
    let mut demo = Demo::start(shm.launch(&launch_file(), 600));
    demo.wait_for("fault", "started");
    let name = format!("robot_demo_{}", demo.launcher.id());
    demo.launcher.kill().unwrap();
    demo.launcher.wait().unwrap();

    // The namespace cannot be removed while a program uses it.
    let config = NamespaceConfig::new(&shm.dir, NamespaceName::new(&name).unwrap());
    let namespace = Namespace::open(&config).unwrap();
    let start = Instant::now();
    while let Err(error) = namespace.remove() {
        assert!(start.elapsed() < TIME_LIMIT, "{error}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A subscriber of all IMU samples, from before the first to after the last process.
struct Witness {
    imu: Subscriber<Imu>,
    received: u64,
    /// For each process: the tick that comes next.
    next_ticks: BTreeMap<u64, u64>,
    /// The process that sent the last sample.
    sender: Arc<AtomicU64>,
}

impl Witness {
    /// Looks until `is_over`, and once more.
    fn look_until(mut self, is_over: &AtomicBool) -> Self {
        loop {
            // Relaxed: the flag stands alone.
            let is_last = is_over.load(Ordering::Relaxed);
            self.look();
            if is_last {
                return self;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Receives all samples that are there, and checks that each process sent all its ticks.
    fn look(&mut self) {
        while let Some(sample) = self.imu.recv() {
            self.received += 1;
            let process = sample.orientation_covariance[1] as u64;
            let tick = sample.orientation_covariance[2] as u64;
            let next = self.next_ticks.entry(process).or_default();
            let lost = self.imu.stats().lost;
            assert!(tick == *next || lost > 0, "process {process}: {tick}");
            *next = tick + 1;
            // Relaxed: the number stands alone.
            self.sender.store(process, Ordering::Relaxed);
        }
    }
}

#[test]
fn each_program_is_killed_ten_times_and_the_ledger_stays_exact() {
    let shm = Shm::new();
    let config = NamespaceConfig::new(&shm.dir, NamespaceName::new("robot_demo").unwrap());
    let namespace = Namespace::open(&config).unwrap();
    let witness = Witness {
        imu: Topic::builder("imu")
            .namespace(&namespace)
            .subscriber()
            .unwrap(),
        received: 0,
        next_ticks: BTreeMap::new(),
        sender: Arc::new(AtomicU64::new(0)),
    };
    let sender = Arc::clone(&witness.sender);
    // A namespace whose name is known.
    let text = fs::read_to_string(launch_file()).unwrap();
    let file = shm.parent.path().join("robot.json5");
    fs::write(&file, text.replace("private: true", "private: false")).unwrap();
    let mut demo = Demo::start(shm.launch(&file, 600));
    let is_over = Arc::new(AtomicBool::new(false));
    let witness = std::thread::spawn({
        let is_over = Arc::clone(&is_over);
        move || witness.look_until(&is_over)
    });

    let mut pids = BTreeMap::new();
    while pids.len() < 5 {
        let fact = demo.next().unwrap();
        if fact.kind == "started" {
            pids.insert(fact.program, fact.json["pid"].as_u64().unwrap());
        }
    }
    for _ in 0..10 {
        for program in PROGRAMS {
            // WHY: a program is ready with its topic, and might be killed before its first tick.
            wait_until("no sample of the IMU", || {
                sender.load(Ordering::Relaxed) == pids["imu"]
            });
            signal(pids[program], "-KILL");
            let ended = demo.wait_for(program, "ended");
            assert_eq!(
                (&ended["pid"], &ended["signal"]),
                (&pids[program].into(), &9.into())
            );
            let delay_ns = demo.wait_for(program, "restarting")["delay_ns"].as_u64();
            assert!(delay_ns.unwrap() <= 100_000_000);
            let pid = demo.wait_for(program, "started")["pid"].as_u64().unwrap();
            pids.insert(program.to_owned(), pid);
            demo.wait_for(program, "ready");
        }
    }
    signal(demo.launcher.id().into(), "-TERM");
    let facts = demo.finish();
    demo.assert_adds_up();
    is_over.store(true, Ordering::Relaxed);
    let witness = witness.join().unwrap();
    let stats = witness.imu.stats();
    assert_eq!(stats.sent, witness.received + stats.lost + stats.skipped);
    assert_eq!(witness.next_ticks.len(), 11);
    let published = facts
        .iter()
        .find(|fact| fact.kind == "Published" && fact.program == "imu");
    let (published, last) = (&published.unwrap().json["sent"], pids["imu"]);
    let last_ticks = witness.next_ticks.get(&last).copied();
    assert_eq!(published.as_u64(), last_ticks, "{stats:?}");

    for pid in pids.values() {
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
    }
    drop(witness);
    namespace.remove().unwrap();
    shm.assert_empty();
}

#[test]
fn an_invalid_argument_is_named() {
    for (arguments, error) in [
        (&["imu", "--fast"][..], "robot: unknown argument '--fast'\n"),
        (&["lidar"], "robot: unknown role 'lidar'\n"),
        (&[], "robot: no role is given\n"),
        (&["fault", "--seconds"], "robot: --seconds needs a number\n"),
        (
            &["fault", "--seconds", "0"],
            "robot: --seconds is '0': wanted a number from 1 to 86400\n",
        ),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_robot"));
        let output = command.args(arguments).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
        assert!(stderr.starts_with(error), "{arguments:?}: {stderr}");
    }
}
