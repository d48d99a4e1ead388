//! The pairs of programs that a newcomer writes first, without agreeing on any setting: in C++ and
//! Rust, each end in a process of its own, and started in either order.

mod compiler;

use std::any::Any;
use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::Arc;

use compiler::Program;
use horus_core::message::{Encoding, Image, ImageHeader};
use horus_core::namespace::{Namespace, NamespaceConfig, NamespaceName};
use horus_core::prelude::*;
use horus_core::topic::Payload;
use horus_testing as _;

/// Messages of each pair, and the sizes of the images, as in `cpp/newcomer.cpp`.
const MESSAGES: u64 = 3;
const SIZE: (u32, u32) = (1920, 1080);

/// The settings of a publisher and of a subscriber.
type Presets = [&'static str; 2];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Language {
    Cpp,
    Rust,
}
use Language::{Cpp, Rust};

/// An end that is open.
enum End {
    Cpp(Newcomer),
    Rust(Box<dyn FnOnce()>),
}

/// A running C++ program, killed when dropped.
struct Newcomer {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Newcomer {
    /// Starts the program, and returns when its end is open.
    fn open(program: &Program, end: &str, preset: &str) -> Self {
        let mut command = program.command();
        command.args([end, preset]);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut this = Self {
            child,
            input,
            output,
        };
        this.expect("open");
        this
    }

    fn expect(&mut self, wanted: &str) {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        assert_eq!(line.trim_end(), wanted);
    }

    /// Lets it send or receive.
    fn go(&mut self) {
        self.input.as_mut().unwrap().write_all(b"\n").unwrap();
    }

    fn finish(mut self) {
        self.input = None;
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Newcomer {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn qos(preset: &str) -> Qos {
    match preset {
        "command" => Qos::command(),
        "reliable" => Qos::reliable(),
        _ => Qos::new(),
    }
}

/// A kind of message, with the names that the C++ program has for its ends.
trait Kind: Payload + Sized {
    const TOPIC: &str;
    const NAME: &str;
    fn message(number: u64) -> Self;
    fn check(&self, number: u64);
}

impl Kind for CmdVel {
    const TOPIC: &str = "cmd_vel";
    const NAME: &str = "command";

    fn message(number: u64) -> Self {
        Self {
            timestamp_ns: number,
            linear: number as f32 * 0.5,
            angular: -1.0,
        }
    }

    fn check(&self, number: u64) {
        assert_eq!(*self, Self::message(number));
    }
}

impl Kind for Image {
    const TOPIC: &str = "camera/rgb";
    const NAME: &str = "image";

    fn message(number: u64) -> Self {
        let header = ImageHeader::new(SIZE.0, SIZE.1, Encoding::RGB8);
        let mut image = Self::zeroed(ImageHeader {
            timestamp_ns: number,
            ..header
        })
        .unwrap();
        image.data_mut().fill(number as u8);
        image
    }

    fn check(&self, number: u64) {
        assert_eq!(
            (self.timestamp_ns, self.width, self.height),
            (number, SIZE.0, SIZE.1)
        );
        assert!(*self.data() == *Self::message(number).data());
    }
}

fn open_publisher<T: Kind>(
    language: Language,
    program: &Program,
    namespace: &Arc<Namespace>,
    preset: &str,
) -> End {
    if language == Cpp {
        let end = format!("publish-{}", T::NAME);
        return End::Cpp(Newcomer::open(program, &end, preset));
    }
    let builder = Topic::<T>::builder(T::TOPIC).namespace(namespace);
    let mut publisher = builder.qos(qos(preset)).publisher().unwrap();
    End::Rust(Box::new(move || {
        (1..=MESSAGES).for_each(|number| publisher.send(&T::message(number)).unwrap());
        // WHY kept: with its publisher, the messages that nobody has received yet would go.
        KEPT.with_borrow_mut(|kept| kept.push(Box::new(publisher)));
    }))
}

fn open_subscriber<T: Kind>(
    language: Language,
    program: &Program,
    namespace: &Arc<Namespace>,
    preset: &str,
) -> End {
    if language == Cpp {
        let end = format!("subscribe-{}", T::NAME);
        return End::Cpp(Newcomer::open(program, &end, preset));
    }
    let builder = Topic::<T>::builder(T::TOPIC).namespace(namespace);
    let mut subscriber = builder.qos(qos(preset)).subscriber().unwrap();
    End::Rust(Box::new(move || {
        (1..=MESSAGES).for_each(|number| subscriber.recv_blocking().unwrap().check(number));
        assert_eq!(subscriber.lost(), 0);
    }))
}

thread_local! {
    /// Publishers whose messages a C++ program has yet to receive.
    static KEPT: RefCell<Vec<Box<dyn Any>>> = const { RefCell::new(Vec::new()) };
}

/// Runs one pair; both ends must open, and all messages must arrive.
fn meet<T: Kind>(
    program: &Program,
    languages: [Language; 2],
    presets: Presets,
    publisher_first: bool,
) {
    let config = NamespaceConfig::new(program.shm_dir(), NamespaceName::default());
    let namespace = Namespace::open(&config).unwrap();
    let publisher = || open_publisher::<T>(languages[0], program, &namespace, presets[0]);
    let subscriber = || open_subscriber::<T>(languages[1], program, &namespace, presets[1]);
    let (publisher, subscriber) = if publisher_first {
        let publisher = publisher();
        (publisher, subscriber())
    } else {
        let subscriber = subscriber();
        (publisher(), subscriber)
    };
    let mut programs = Vec::new();
    for end in [publisher, subscriber] {
        match end {
            End::Rust(run) => run(),
            End::Cpp(mut program) => {
                program.go();
                program.expect("done");
                programs.push(program);
            }
        }
    }
    programs.into_iter().for_each(Newcomer::finish);
    KEPT.with_borrow_mut(Vec::clear);
}

fn meet_in_all_ways<T: Kind>(presets: Presets) {
    let program = Program::cpp("tests/cpp/newcomer.cpp", &["-std=c++17"]);
    for languages in [[Cpp, Cpp], [Cpp, Rust], [Rust, Cpp]] {
        for publisher_first in [true, false] {
            meet::<T>(&program, languages, presets, publisher_first);
        }
    }
}

#[test]
fn a_command_publisher_meets_a_plain_subscriber() {
    meet_in_all_ways::<CmdVel>(["command", "default"]);
}

#[test]
fn a_reliable_publisher_meets_a_plain_subscriber() {
    meet_in_all_ways::<CmdVel>(["reliable", "default"]);
}

#[test]
fn reliable_ends_meet() {
    meet_in_all_ways::<CmdVel>(["reliable", "reliable"]);
}

#[test]
fn a_publisher_of_full_hd_images_meets_a_plain_subscriber() {
    meet_in_all_ways::<Image>(["default", "default"]);
}
