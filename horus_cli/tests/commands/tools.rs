//! Message types, namespaces, cleaning, the doctor, completions and manual pages.

use std::process::{Command, Stdio};

use horus_core::message::STANDARD;
use horus_core::topic::Topic;
use horus_testing::skip;

use crate::common::{Robot, status_value, until};
use crate::doctor_machine::{cpus, isolated_cpus};
use crate::golden::{check_json, check_json_except, check_text};

#[test]
fn message_types_are_shown_in_languages() {
    let robot = Robot::new();
    let list = robot.answer("msg list");
    assert_eq!(list.lines().count(), 1 + STANDARD.len(), "{list}");
    assert!(list.contains("CmdVel"), "{list}");
    check_text("msg_show", &robot.answer("msg show CmdVel"), &[]);
    let text = robot.answer("msg show CmdVel --as text");
    assert!(
        text.starts_with("horus schema 1\nmessage CmdVel\n"),
        "{text}"
    );
    let table = [
        ("cpp", "struct alignas(8) CmdVel"),
        ("c", "horus_cmd_vel_t"),
        ("python", "class CmdVel"),
        ("rust", "pub linear: f32,"),
    ];
    for (language, part) in table {
        let shown = robot.answer(&format!("msg show CmdVel --as {language}"));
        assert!(shown.contains(part), "no '{part}' in {shown}");
    }
    // Messages inside come first.
    let nested = robot.answer("msg show OccupancyGrid --as cpp");
    let inner = nested.find("sizeof(MapMetaData)").unwrap();
    assert!(inner < nested.find("sizeof(OccupancyGridHeader)").unwrap());
    // The fields of messages inside come after those of the message.
    let nested = robot.answer("msg show OccupancyGrid");
    let inner = nested.find("\nMapMetaData: ").unwrap();
    assert!(nested[inner..].contains("  metres  "), "{nested}");
    assert!(nested.find("  frame_id ").unwrap() < inner, "{nested}");
    assert!(
        nested.contains("metres per cell") || nested.contains("metres"),
        "{nested}"
    );
    robot.run("msg show CmdVal").failed(3, &["Near: CmdVel"]);
    check_json("msg_show", &robot.answer("msg show CmdVel --json"));
    check_json("msg_hash", &robot.answer("msg hash CmdVel --json"));
    let list = robot.answer("msg list --json");
    let (first, _) = list.split_once("},").unwrap();
    check_json("msg_list", first);

    let file = robot.dir().join("Leg.msg");
    std::fs::write(&file, "float64 angle\nuint8 STANCE=1\n").unwrap();
    let file = file.display();
    for (language, part) in [
        ("rust", "pub angle: f64,"),
        ("cpp", "double angle"),
        ("text", "message Leg\n"),
    ] {
        let shown = robot.answer(&format!("msg show --file {file} --as {language}"));
        assert!(shown.contains(part), "no '{part}' in {shown}");
    }
}

/// The command itself has the options that errors about `.msg` files advise.
#[test]
fn msg_files_are_read_with_directories_and_bounds() {
    let robot = Robot::new();
    let path = |name: &str| robot.dir().join(name).display().to_string();
    std::fs::create_dir_all(path("share/legs/msg")).unwrap();
    std::fs::write(path("share/legs/msg/Leg.msg"), "float64 angle\n").unwrap();
    let file = path("Two.msg");
    std::fs::write(
        &file,
        "legs/Leg leg\nfloat32[] a\nfloat32[] b\nstring name\n",
    )
    .unwrap();
    let show = |options: &str| robot.run(&format!("msg show {file} {options}"));
    show("").failed(2, &["there is no legs/Leg.msg beside", "by --search"]);
    let search = format!("--search {}", path("share"));
    show(&search).failed(2, &["Two.msg:3: 'b'", "as --bound Two.b=16"]);
    let all = format!("{search} --bound Two.b=5 --text-bytes 32");
    let shown = show(&format!("{all} --as text")).succeeded();
    assert!(shown.contains("field b f32 12 5\n"), "{shown}");
    assert!(
        shown.contains(" char ") && shown.contains(" 32\n"),
        "{shown}"
    );
    assert!(shown.contains("tail a f32\n"), "{shown}");
    let shown = show(&format!("{all} --as python")).succeeded();
    assert!(shown.contains("class Two"), "{shown}");
    let shown = robot.answer("msg show CmdVel --as python");
    assert!(
        shown.starts_with("# Programs use horus.CmdVel, "),
        "{shown}"
    );
    show("--search /nosuch").failed(2, &["the directory /nosuch in which to look"]);
    show(&format!("{all} --bound Two.c=5")).failed(2, &["the bound of 'Two.c' was not used"]);
    robot
        .run(&format!("msg show Imu {search}"))
        .failed(2, &["are for .msg files, and none was read"]);
    robot.run("msg show Imu --bound b").failed_with_usage();
    for (bound, part) in [
        (
            "4294967296",
            "'b' alone has 4294967296 elements of 4 bytes: ",
        ),
        ("9".repeat(20).as_str(), "the number is too large"),
    ] {
        let ran = show(&format!("{search} --bound Two.b={bound}"));
        ran.failed_with_usage();
        assert!(ran.stderr.contains(part), "{ran:?}");
    }
    // Of two files, a bound may be for either one.
    let other = path("Three.msg");
    std::fs::write(&other, "float32[] a\nfloat32[] b\n").unwrap();
    let bounds = "--bound Two.b=5 --bound Three.b=5";
    let ran = robot.run(&format!("msg diff {file} {other} {search} {bounds}"));
    assert_eq!(ran.code, 1, "{ran:?}");
    assert_eq!(robot.answer(&format!("msg hash {file} {all}")).len(), 33);
}

#[test]
fn message_types_are_compared() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("publish cmd_vel steering");
    let hash = robot.answer("msg hash CmdVel");
    assert_eq!(hash.trim().len(), 32);
    assert_eq!(robot.answer("msg hash steering"), hash);
    let same = robot.run("msg diff CmdVel steering");
    assert_eq!((same.code, same.stdout.as_str()), (0, ""), "{same:?}");
    let differ = robot.run("msg diff CmdVel Imu");
    assert_eq!(differ.code, 1);
    check_text("msg_diff", &differ.stdout, &[]);
    check_json("msg_diff", &robot.run("msg diff CmdVel Imu --json").stdout);
    let changed = robot.dir().join("cmd_vel.txt");
    let text = robot
        .answer("msg show CmdVel --as text")
        .replace("angular", "steering");
    std::fs::write(&changed, text).unwrap();
    let differ = robot.run(&format!("msg diff CmdVel {}", changed.display()));
    let expected = format!(
        "field 'angular' in CmdVel is 'steering' in {}, both f32 @12\n",
        changed.display()
    );
    assert_eq!(differ.stdout, expected);
    let differ = robot.run("msg diff steering Imu");
    assert_eq!(
        differ.stdout,
        "message 'CmdVel' in steering, 'Imu' in Imu\n"
    );
}

/// A topic and a file that cannot be read are no absent ones.
#[test]
fn a_type_that_cannot_be_read_is_not_missing() {
    let robot = Robot::new();
    let broken = robot.namespace().topics_path().join("broken");
    std::fs::write(&broken, [0x5a; 200]).unwrap();
    let bytes = robot.dir().join("bytes.txt");
    std::fs::write(&bytes, [0xff; 8]).unwrap();
    let bytes = bytes.display();
    for command in ["msg show", "msg hash", "msg diff CmdVel"] {
        let ran = robot.run(&format!("{command} broken"));
        ran.failed(5, &["topic 'broken': ", "must be a topic file"]);
        let ran = robot.run(&format!("{command} {bytes}"));
        ran.failed(2, &[&format!("cannot read {bytes}: ")]);
        // An invalid name of a topic may be that of a type.
        robot
            .run(&format!("{command} no//topic"))
            .failed(3, &["is called 'no//topic'"]);
    }
    let missing = robot.dir().join("missing.txt");
    let ran = robot.run(&format!("msg show --file {}", missing.display()));
    ran.failed(3, &["cannot read "]);
}

mod own {
    horus_core::message! {
        /// A message that only a program has.
        pub struct Tilt {
            pub timestamp_ns: u64,
            pub angle: f64,
        }
    }
}

/// The type of a topic has the name of the topic. Users also try the name of the type.
#[test]
fn a_type_that_only_a_topic_has_is_found() {
    let robot = Robot::new();
    let topic = Topic::<own::Tilt>::builder("arm/tilt").namespace(robot.namespace());
    let _publisher = topic.publisher().unwrap();
    let error = "called 'Tilt', but messages of this type are in the topics: arm/tilt. Name one";
    for command in ["msg show Tilt", "msg hash Tilt", "msg diff Tilt Imu"] {
        robot.run(command).failed(3, &[error]);
    }
    let text = robot.answer("msg show arm/tilt --as text");
    assert!(text.contains("message Tilt\n"), "{text}");
    let fields = robot.answer("msg show arm/tilt");
    assert_eq!(
        fields,
        "Tilt: 16 bytes\n  OFFSET  FIELD         TYPE\n       0  timestamp_ns  u64\n       \
         8  angle         f64\n"
    );
    assert_eq!(
        robot.answer("msg show /arm/tilt"),
        robot.answer("msg show arm/tilt")
    );
    robot
        .run("msg show Tilted")
        .failed(3, &["is called 'Tilted'. Near: "]);
}

#[test]
fn namespaces_are_listed_and_removed() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("publish cmd_vel cmd_vel");
    assert_eq!(
        robot
            .run("topic pub x CmdVel {} --qos latched -N second")
            .code,
        0
    );
    std::fs::create_dir(robot.dir().join("stranger")).unwrap();
    let list = robot.answer("namespace list");
    let lines: Vec<Vec<&str>> = list
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    // The program, and this test.
    assert_eq!(lines[1][..3], ["default", "1", "2"], "{list}");
    assert_eq!(lines[2][..3], ["second", "1", "0"], "{list}");
    assert_eq!(lines.len(), 3, "{list}");
    let json = robot.answer("namespace list --json");
    assert!(
        json.contains("\"namespace\":\"second\",\"topics\":1,\"processes\":[]"),
        "{json}"
    );
    check_json_except("namespace_list", &json, &["shm_dir", "processes"]);
    robot
        .run("namespace rm default")
        .failed(4, &["in use by process"]);
    // All processes are named.
    let mut other = robot.program();
    other.tell("publish cmd_vel odom");
    let [one, other] = [&program, &other].map(|one| format!("process {} (", one.id()));
    robot
        .run("namespace rm default")
        .failed(4, &[&one, &other, ": end them first"]);
    robot
        .run("namespace rm secnd")
        .failed(3, &["no namespace 'secnd'", "Near: second"]);
    check_json("namespace_rm", &robot.answer("namespace rm second --json"));
    assert!(!robot.dir().join("second").exists());
}

#[test]
fn clean_removes_what_nobody_uses() {
    let robot = Robot::new();
    let (mut one, mut other) = (robot.program(), robot.program());
    one.tell("publish cmd_vel used");
    other.tell("publish cmd_vel left/behind");
    other.tell("publish latched map");
    other.tell("send map 1");
    other.kill();
    let mut removed = String::new();
    until("the dead process is gone", || {
        removed = robot.answer("clean");
        !robot.namespace().topics_path().join("left+behind").exists()
    });
    assert!(removed.contains("removed: left/behind\n"), "{removed}");
    assert!(
        removed.contains("in use: used\n") && removed.contains("kept: map (kept after exit)\n"),
        "{removed}"
    );
    check_json("clean", &robot.answer("clean --all --json"));
    std::fs::write(robot.namespace().topics_path().join("stranger"), "x").unwrap();
    let left = robot.run("clean");
    assert_eq!(left.code, 1, "{left:?}");
    assert!(left.stdout.contains("no topic: stranger\n"), "{left:?}");
}

#[test]
fn the_doctor_finds_faults_and_says_what_to_do() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("subscribe best_effort cmd_vel");
    let healthy = robot.run("doctor");
    assert_eq!(healthy.code, 0, "{healthy:?}");
    let processes = format!(
        "ok     processes: {} ({}); without a topic: {} ({})\n",
        program.name(),
        program.id(),
        std::fs::read_to_string("/proc/self/comm")
            .unwrap()
            .trim_end(),
        std::process::id()
    );
    let machine = horus_core::machine();
    for part in [
        &processes,
        &format!("ok     processor: {}", machine.vendor),
        &machine.tuning.to_string(),
        "ok     namespace: ",
        "memory for topics",
        "note   silent topic: cmd_vel: 1 sub",
    ] {
        assert!(
            healthy.stdout.contains(part),
            "no '{part}' in {}",
            healthy.stdout
        );
    }
    let mut other = robot
        .command("topic wait nothing -N other")
        .spawn()
        .unwrap();
    robot.until("doctor", |found| {
        found.contains("note   other namespaces: other (1 processes)")
    });
    std::fs::write(robot.namespace().topics_path().join("stranger"), "x").unwrap();
    let ill = robot.run("doctor");
    assert_eq!(ill.code, 1, "{ill:?}");
    assert!(ill.stdout.contains("FAULT  unreadable topic: "), "{ill:?}");
    assert!(ill.stdout.contains("→ horus topic rm stranger"), "{ill:?}");
    let first = robot.run("doctor --json").stdout;
    let (first, _) = first.split_once("},").unwrap();
    check_json_except("doctor", first, &["found"]);
    robot.answer("topic rm stranger");
    let json = robot.answer("doctor --json");
    assert!(
        json.contains("{\"check\":\"silent topic\",\"verdict\":\"note\","),
        "{json}"
    );
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn the_doctor_measures_how_late_nodes_start() {
    let robot = Robot::new();
    let ran = robot.run("doctor --rt=0.3");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("measuring for 0.3 s"), "{ran:?}");
    let allowed = status_value(i64::from(std::process::id()), "Cpus_allowed_list:");
    let mut cpus = cpus(&allowed);
    cpus.extend(isolated_cpus());
    let lines = ran.stdout.matches("  wake-up latency: cpu ");
    assert_eq!(lines.count(), cpus.len(), "{ran:?}");
    for part in ["  kernel: ", "  real-time settings: ", " at 1000 Hz: p50 "] {
        assert!(ran.stdout.contains(part), "no '{part}' in {ran:?}");
    }
    let json = robot.answer("doctor --rt=0.1 -q --json");
    assert!(json.contains("{\"check\":\"wake-up latency\","), "{json}");
    // An interrupted measurement leaves nothing, too.
    let stream = robot.stream("doctor --rt");
    let name = format!("horus_doctor_{}", stream.id());
    until("the nodes run", || {
        let topics = format!("{name}/topics");
        robot.dir().join(topics).is_dir()
    });
    stream.signal(libc::SIGINT);
    let ran = stream.wait();
    assert_eq!(ran.code, 130, "{ran:?}");
    let left = std::fs::read_dir(robot.dir()).unwrap().flatten();
    let left = left.filter(|entry| entry.file_name().to_string_lossy().starts_with("horus_"));
    assert_eq!(left.count(), 0);
}

/// Runs a shell with a script on stdin; `None` if there is no such shell.
fn shell(name: &str, arguments: &[&str], script: &str) -> Option<String> {
    use std::io::Write;

    let mut command = Command::new(name);
    let bin = std::path::Path::new(env!("CARGO_BIN_EXE_horus"))
        .parent()
        .unwrap();
    let path = std::env::var("PATH").unwrap();
    command
        .args(arguments)
        .env("PATH", format!("{}:{path}", bin.display()));
    let spawned = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut process) = spawned else {
        skip(format_args!("no {name}: apt-get install {name}"));
        return None;
    };
    process
        .stdin
        .take()
        .unwrap()
        .write_all(script.as_bytes())
        .unwrap();
    let output = process.wait_with_output().unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && printed.is_empty(),
        "{name}: {printed}"
    );
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn bash_completes_live_names() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("publish cmd_vel camera/rgb");
    program.tell("publish cmd_vel imu");
    let table = [
        ("horus topic echo ''", "camera/rgb imu"),
        ("horus topic echo cam", "camera/rgb"),
        ("horus topic ec", "echo"),
        ("horus msg show CmdV", "CmdVel"),
        ("horus scheduler st", "stop"),
    ];
    for (line, expected) in table {
        let words = line.split(' ').count();
        let script = format!(
            "export HORUS_SHM_DIR={} HORUS_NAMESPACE=default\n{}\n\
             COMP_WORDS=({line}); COMP_CWORD={}\n\
             _horus_live horus \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"\n\
             echo ${{COMPREPLY[@]}}\n",
            robot.dir().display(),
            robot.answer("completion bash"),
            words - 1
        );
        let Some(found) = shell("bash", &["--norc", "-s"], &script) else {
            return;
        };
        assert_eq!(found.trim(), expected, "{line}");
    }
}

/// Names of nodes may have any characters, and those of a shared namespace come from other users.
#[test]
fn bash_quotes_the_names_that_it_completes() {
    let robot = Robot::new();
    let dir = tempfile::tempdir().unwrap();
    let names = ["cpu 0", "a$(touch${IFS}pwned)", "it's"];
    let mut scheduler = horus_core::scheduler::Scheduler::new();
    scheduler.name("names");
    scheduler.namespace(robot.namespace());
    for name in names {
        let quiet = |_: &mut horus_core::scheduler::Context<'_>| {};
        scheduler.node(name).build(quiet).unwrap();
    }
    scheduler
        .run_for(std::time::Duration::from_millis(50))
        .unwrap();
    let quotes = ["", "'", "\""];
    let typed = [
        ("cpu", names[0]),
        ("cpu ", names[0]),
        ("a", names[1]),
        ("it", names[2]),
    ];
    let rows = quotes
        .iter()
        .flat_map(|quote| typed.map(|row| (quote, row)));
    for (quote, (typed, expected)) in rows {
        // The quotation marks of the word that is typed are still open.
        let typed = match *quote {
            "" => typed.replace(' ', "\\ "),
            _ => typed.to_owned(),
        };
        let script = format!(
            "cd {}; export HORUS_SHM_DIR={} HORUS_NAMESPACE=default\n{}\n\
             read -r quote << 'end'\n{quote}\nend\n\
             COMP_WORDS=(horus node info \"$quote\"'{typed}'); COMP_CWORD=3\n\
             _horus_live horus \"${{COMP_WORDS[3]}}\" info\n\
             [[ ${{#COMPREPLY[@]}} == 1 ]] || exit 1\n\
             eval \"set -- $quote${{COMPREPLY[0]}}$quote\"\n\
             echo \"$#:$1\"\n",
            dir.path().display(),
            robot.dir().display(),
            robot.answer("completion bash"),
        );
        let Some(found) = shell("bash", &["--norc", "-s"], &script) else {
            return;
        };
        assert_eq!(found, format!("1:{expected}\n"), "{quote}{typed}");
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn fish_completes_live_names() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("publish cmd_vel camera/rgb");
    let script = format!(
        "set -x HORUS_SHM_DIR {}; set -x HORUS_NAMESPACE default\n{}\n\
         complete -C 'horus topic echo cam'; complete -C 'horus topic ec'\n",
        robot.dir().display(),
        robot.answer("completion fish"),
    );
    if let Some(found) = shell("fish", &["--no-config"], &script) {
        let first = |line: &str| line.split('\t').next().map(str::to_owned);
        let found: Vec<_> = found.lines().filter_map(first).collect();
        assert_eq!(found, ["camera/rgb", "echo"]);
    }
}

#[test]
fn completions_load() {
    let robot = Robot::new();
    for (name, arguments) in [("zsh", &["-f", "-s"][..]), ("fish", &["--no-config"][..])] {
        let script = robot.answer(&format!("completion {name}"));
        assert!(script.contains("__complete topics"), "{name}");
        let script = match name {
            "zsh" => format!("autoload -U compinit; compinit -D -u\n{script}"),
            _ => script,
        };
        shell(name, arguments, &script);
    }
    let zsh = robot.answer("completion zsh");
    assert!(zsh.starts_with("#compdef horus\n"), "{zsh}");
    assert!(
        zsh.contains(":_horus_topics'") && zsh.contains(":_horus_nodes'"),
        "{zsh}"
    );
    let names = robot.answer("__complete types Img");
    assert_eq!(names, "");
    assert_eq!(robot.answer("__complete types Imu"), "Imu\n");
    assert_eq!(robot.answer("__complete topics x -N nothing"), "");
}

#[test]
fn there_is_a_manual_page_for_each_command() {
    let robot = Robot::new();
    let page = robot.answer("man");
    assert!(page.contains(".TH horus 1"), "{page}");
    let dir = robot.dir().join("man1");
    robot.answer(&format!("man {}", dir.display()));
    for page in ["horus.1", "horus-topic-hz.1", "horus-node-pause.1"] {
        assert!(dir.join(page).is_file(), "{page}");
    }
    robot
        .run("man /proc/nothing")
        .failed(5, &["cannot write to /proc/nothing"]);
}
