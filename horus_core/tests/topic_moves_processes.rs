//! Processes that use a topic while its file is removed again and again: everything that was sent
//! is received or counted as lost.

use horus_testing as _;

mod private;

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use horus_core::message::CmdVel;
use horus_core::topic::{Publisher, Qos, Subscriber};
use private::Private;

const ROLE: &str = "HORUS_TEST_ROLE";
const TOPIC: &str = "moved";
/// The number of times that a test removes the file.
const REMOVALS: usize = 8;
/// The number of publishers that a test kills.
const KILLS: u64 = 6;
/// The pause between two looks at the names of topics.
const LOOK_PERIOD: Duration = Duration::from_millis(100);
/// The messages of publisher `n` are numbered from `n << PUBLISHER_BITS` on.
const PUBLISHER_BITS: u32 = 40;

/// A process that plays a role; killed when dropped.
struct Player {
    process: Child,
    said: BufReader<ChildStdout>,
    orders: ChildStdin,
}

impl Player {
    /// Starts a process, and returns when it has opened the topic.
    fn start(role: &str, dir: &Path) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["child_role", "--exact", "--nocapture", "--test-threads=1"]);
        command.env(ROLE, role).env("HORUS_SHM_DIR", dir);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        horus_shm::internals::child::kill_with_parent(&mut command);
        let mut process = command.spawn().unwrap();
        let said = BufReader::new(process.stdout.take().unwrap());
        let orders = process.stdin.take().unwrap();
        let mut player = Self {
            process,
            said,
            orders,
        };
        assert_eq!(player.listen(), "open");
        player
    }

    /// Returns the next line that it says.
    fn listen(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert_ne!(self.said.read_line(&mut line).unwrap(), 0, "it has ended");
            if let Some(said) = line.trim().strip_prefix('@') {
                return said.to_owned();
            }
        }
    }

    fn ask(&mut self, order: &str) -> String {
        writeln!(self.orders, "{order}").unwrap();
        self.listen()
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Not a test: entry point of the re-executed child process.
#[test]
fn child_role() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let (kind, rest) = role.split_once(' ').unwrap();
    match kind {
        "publisher" => publish(rest.parse().unwrap()),
        _ => subscribe(rest == "reliable"),
    }
}

fn say(line: impl std::fmt::Display) {
    println!("\n@{line}");
}

/// Sends until it gets a line, and then says how many messages it has sent.
fn publish(number: u64) {
    let mut publisher: Publisher<CmdVel> = Publisher::with_qos(TOPIC, Qos::reliable()).unwrap();
    let is_over = AtomicBool::new(false);
    say("open");
    let mut sent = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::io::stdin().read_line(&mut String::new()).unwrap();
            is_over.store(true, Ordering::Relaxed);
        });
        while !is_over.load(Ordering::Relaxed) {
            let message = CmdVel {
                timestamp_ns: (number << PUBLISHER_BITS) + sent,
                ..CmdVel::default()
            };
            if publisher
                .send_timeout(message, Duration::from_secs(1))
                .is_ok()
            {
                sent += 1;
            }
            if sent % 16 == 0 {
                std::thread::yield_now();
            }
        }
    });
    say(sent);
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

/// Receives until it has accounted for the number of messages that it is told, and then says how
/// many of them it has received.
fn subscribe(is_reliable: bool) {
    let qos = if is_reliable {
        Qos::reliable()
    } else {
        Qos::new()
    };
    let mut subscriber: Subscriber<CmdVel> = Subscriber::with_qos(TOPIC, qos).unwrap();
    let (sender, wanted) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).unwrap();
        sender.send(line.trim().parse::<u64>().unwrap()).unwrap();
    });
    say("open");
    let mut next = [0; 8];
    let mut received = 0;
    let mut limit = u64::MAX;
    loop {
        let stats = subscriber.stats();
        if limit == u64::MAX {
            limit = wanted.try_recv().unwrap_or(u64::MAX);
        } else if stats.received + stats.lost >= limit {
            break;
        }
        let Ok(message) = subscriber.recv_timeout(Duration::from_millis(20)) else {
            continue;
        };
        received += 1;
        let next = &mut next[(message.timestamp_ns >> PUBLISHER_BITS) as usize];
        let number = message.timestamp_ns & ((1 << PUBLISHER_BITS) - 1);
        assert!(number >= *next, "message {number} came after {next}");
        *next = number + 1;
    }
    let stats = subscriber.stats();
    assert_eq!(stats.received, received);
    assert_eq!(stats.received + stats.lost + stats.waiting, stats.sent);
    say(format!(
        "{received} {} {}",
        stats.lost,
        next.iter().sum::<u64>()
    ));
}

fn file_of(private: &Private) -> PathBuf {
    private.namespace().topics_path().join(TOPIC)
}

/// Removes the file, and returns when there is another one.
fn replace(private: &Private) {
    fs::remove_file(file_of(private)).unwrap();
    while !file_of(private).exists() {
        std::thread::yield_now();
    }
}

/// Waits until all publishers have moved to the file that has the name now.
fn meet(private: &Private, publishers: usize) {
    let mut subscriber: Subscriber<CmdVel> = private.subscriber(TOPIC, Qos::new());
    let mut met = BTreeSet::new();
    while met.len() < publishers {
        let message = subscriber.recv_blocking().unwrap();
        met.insert(message.timestamp_ns >> PUBLISHER_BITS);
    }
}

/// Returns the numbers that a subscriber says.
fn account(said: &str) -> [u64; 3] {
    let numbers: Vec<u64> = said.split(' ').map(|part| part.parse().unwrap()).collect();
    numbers.try_into().unwrap()
}

/// Ends the publishers, and checks that each subscriber accounts for all that they have sent.
fn expect_account(publishers: &mut [Player], subscribers: &mut [Player]) {
    let sent: Vec<u64> = publishers
        .iter_mut()
        .map(|publisher| publisher.ask("end").parse().unwrap())
        .collect();
    let sent = sent.iter().sum::<u64>();
    for subscriber in subscribers {
        let [received, lost, newest] = account(&subscriber.ask(&sent.to_string()));
        println!("| {received} received, {lost} lost of {sent}");
        assert_eq!(received + lost, sent, "sent");
        assert!(newest <= sent);
        assert!(received > 0);
    }
}

#[test]
fn a_publisher_and_two_subscribers_lose_no_message_uncounted() {
    let private = Private::new();
    let dir = private.namespace().path().parent().unwrap();
    let mut subscribers =
        ["plain", "reliable"].map(|qos| Player::start(&format!("subscriber {qos}"), dir));
    let mut publishers = [0, 1].map(|number| Player::start(&format!("publisher {number}"), dir));
    for _ in 0..REMOVALS {
        replace(&private);
    }
    meet(&private, publishers.len());
    expect_account(&mut publishers, &mut subscribers);
}

/// The file is removed a moment before a publisher is killed, so that it dies before, while or
/// after it moves. Another one takes its place.
#[test]
fn a_publisher_that_is_killed_while_it_moves_harms_nobody() {
    let private = Private::new();
    let dir = private.namespace().path().parent().unwrap();
    let mut subscribers =
        ["plain", "reliable"].map(|qos| Player::start(&format!("subscriber {qos}"), dir));
    let mut survivor = Player::start("publisher 0", dir);
    for kill in 1..=KILLS {
        let victim = Player::start(&format!("publisher {kill}"), dir);
        fs::remove_file(file_of(&private)).unwrap();
        // WHY no condition: each delay is a place of the move where it may die.
        std::thread::sleep(LOOK_PERIOD * kill as u32 / KILLS as u32);
        drop(victim);
        while !file_of(&private).exists() {
            std::thread::yield_now();
        }
        meet(&private, 1);
    }
    survivor.ask("end");
    for subscriber in &mut subscribers {
        let [received, lost, newest] = account(&subscriber.ask("0"));
        println!("| {received} received, {lost} lost");
        assert!(received > 0 && newest <= received + lost);
    }
}
