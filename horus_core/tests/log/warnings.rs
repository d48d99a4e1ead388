//! The warnings of the library in programs with a log, with a logger of their own, and with none.

use super::*;

/// Number of other topics on which the child causes a warning.
const OTHER_TOPICS: usize = 40;

/// A line that a child prints before it runs a scheduler.
const BEFORE_SCHEDULER: &str = "now a scheduler runs";

/// Opens endpoints that do not match, and looks for messages as a robot does.
pub(super) fn cause_warnings(how: &str, dir: &Path) {
    let namespace = namespace_in(dir);
    let settings = LogSettings::new().namespace(&namespace).program("warns");
    match how {
        "nobody" => return publish_another_message(&namespace),
        "of restarts" => return receive_when_told(&namespace),
        "opened" => settings.stderr(false).open().unwrap(),
        "silent" => settings
            .stderr(false)
            .filter(LogFilter::parse("off").unwrap())
            .open()
            .unwrap(),
        "as in a real-time node" => set_real_time_thread(true),
        _ => {}
    }
    let names = (0..OTHER_TOPICS).map(|number| format!("other/{number}"));
    for name in ["cmd_vel".to_owned()].into_iter().chain(names) {
        let topic = || Topic::<CmdVel>::builder(&name).namespace(&namespace);
        let other = Topic::<LogLine>::builder(&name).namespace(&namespace);
        let _publisher = other.publisher().unwrap();
        for _ in 0..3 {
            let mut subscriber = topic().subscriber().unwrap();
            for _ in 0..10 {
                assert_eq!(subscriber.recv(), None);
            }
        }
    }
    if how == "as in a real-time node" {
        eprintln!("{BEFORE_SCHEDULER}");
        let mut scheduler = Scheduler::new();
        scheduler.namespace(&namespace);
        let beat = scheduler.node("beat").rate(100.hz());
        beat.build(|_: &mut Context<'_>| ()).unwrap();
        scheduler.run_for(Duration::from_millis(100)).unwrap();
    }
}

/// Plays the role of a publisher that matches no subscriber.
fn publish_another_message(namespace: &Arc<Namespace>) {
    let topic = Topic::<LogLine>::builder("cmd_vel").namespace(namespace);
    let _publisher = topic.publisher().unwrap();
    say("here");
    while hear().is_some() {}
}

/// Plays the role of a subscriber. Each line of its input is an order to look for a message; its
/// last topic has a publisher in the same process that does not match.
fn receive_when_told(namespace: &Arc<Namespace>) {
    let topic = |name| Topic::<CmdVel>::builder(name).namespace(namespace);
    let mut subscriber = topic("cmd_vel").subscriber().unwrap();
    while hear().is_some() {
        assert_eq!(subscriber.recv(), None);
        say("received");
    }
    let other = Topic::<LogLine>::builder("other").namespace(namespace);
    let _publisher = other.publisher().unwrap();
    let mut subscriber = topic("other").subscriber().unwrap();
    assert_eq!(subscriber.recv(), None);
}

fn stderr_of_child(
    site: &Site,
    how: &str,
    change: impl FnOnce(&mut std::process::Command),
) -> String {
    let path = site.dir.path().join("stderr");
    let file = File::create(&path).unwrap();
    let role = format!("warns {how}");
    let mut child = Child::spawn_with(&role, site.dir.path(), |command| {
        change(command.stderr(file));
    });
    assert_eq!(child.wait(), End::Code(0));
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn a_program_without_a_log_prints_each_warning_once() {
    let site = Site::new();
    let printed = stderr_of_child(&site, "plainly", |_| ());
    let lines: Vec<_> = printed.lines().collect();
    let first = "horus: topic 'cmd_vel': nothing from process ";
    assert!(lines[0].starts_with(first), "{printed}");
    let advice = "use the same message in both programs";
    assert!(lines.iter().all(|line| line.contains(advice)), "{printed}");
    let topics: std::collections::BTreeSet<_> = lines.iter().collect();
    assert_eq!(topics.len(), lines.len(), "{printed}");
    // A robot with many topics does not fill the terminal.
    assert_eq!(lines.len(), 16, "{printed}");
    let hint = "(later warnings of this process are left out: open a log to see them)";
    assert_eq!(printed.matches(hint).count(), 1, "{printed}");
    assert!(lines[15].ends_with(hint), "{printed}");
}

/// Each start of the program is another process.
#[test]
fn a_program_that_is_started_again_and_again_does_not_use_up_the_warnings_of_another_one() {
    let site = Site::new();
    let path = site.dir.path().join("stderr");
    let file = File::create(&path).unwrap();
    let mut subscriber = Child::spawn_with("warns of restarts", site.dir.path(), |command| {
        command.stderr(file);
    });
    for _ in 0..20 {
        let mut publisher = Child::spawn_with("warns nobody", site.dir.path(), |command| {
            command.env("HORUS_LOG_STDERR", "off");
        });
        publisher.await_word("here");
        subscriber.tell("receive");
        while subscriber.try_listen() != Some("received") {}
        publisher.kill();
    }
    assert_eq!(subscriber.wait(), End::Code(0));
    let printed = std::fs::read_to_string(path).unwrap();
    let lines: Vec<_> = printed.lines().collect();
    assert_eq!(lines.len(), 2, "{printed}");
    for (line, topic) in lines.iter().zip(["cmd_vel", "other"]) {
        let begin = format!("horus: topic '{topic}': nothing from process ");
        assert!(line.starts_with(&begin), "{printed}");
    }
}

/// A thread that must not wait for stderr prints nothing itself.
#[test]
fn the_supervisor_prints_the_warnings_of_real_time_threads() {
    let site = Site::new();
    let printed = stderr_of_child(&site, "as in a real-time node", |_| ());
    let mut lines = printed.lines();
    assert_eq!(lines.next(), Some(BEFORE_SCHEDULER), "{printed}");
    let first = "horus: topic 'cmd_vel': nothing from process ";
    let is_first = |line: &str| line.starts_with(first);
    assert_eq!(
        lines.clone().filter(|line| is_first(line)).count(),
        1,
        "{printed}"
    );
    assert_eq!(
        lines.filter(|line| line.contains("nothing from")).count(),
        16,
        "{printed}"
    );
}

#[test]
fn the_variable_keeps_warnings_from_stderr() {
    let site = Site::new();
    let off = |command: &mut std::process::Command| {
        command.env("HORUS_LOG_STDERR", "off");
    };
    assert_eq!(stderr_of_child(&site, "plainly", off), "");
}

/// As in Python, C and C++, which set no logger of the crate `log`.
#[test]
fn an_open_log_gets_all_warnings() {
    let site = Site::new();
    assert_eq!(stderr_of_child(&site, "opened", |_| ()), "");
    let (lines, _) = site.lines();
    assert!(lines.len() > OTHER_TOPICS, "{}", lines.len());
    assert!(texts(&lines)[0].starts_with("topic 'cmd_vel': nothing from process "));
    let site = Site::new();
    assert_eq!(stderr_of_child(&site, "silent", |_| ()), "");
    assert_eq!(site.lines().0.len(), 0);
}
