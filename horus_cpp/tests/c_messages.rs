//! `messages.h`: the same schemas, defaults and constants as in Rust, and messages that Rust and C
//! exchange.

use horus_testing as _;

mod compiler;

use std::fmt::Write as _;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use compiler::{Program, Spawned};
use horus_core::message::{
    Encoding, Image, ImageHeader, Imu, LaserScan, Message, STANDARD, Zeroable, standard_default,
};
use horus_core::namespace::{Namespace, NamespaceConfig, NamespaceName};
use horus_core::prelude::*;
use horus_core::topic::{Payload, TopicBuilder};

const SHOW: &str = "\
#include <horus/messages.h>
#include <stdio.h>

static void show(const char *schema, const unsigned char *bytes, size_t count) {
    fputs(schema, stdout);
    for (size_t index = 0; index < count; ++index) {
        printf(\"%02x\", bytes[index]);
    }
    puts(\"\");
}

int main(void) {
";

/// Returns the text in the header between `before` and `after`, once for each message.
fn names<'a>(header: &'a str, before: &str, after: &str) -> Vec<&'a str> {
    let names = header
        .lines()
        .filter_map(|line| line.strip_prefix(before)?.split_once(after));
    names.map(|(name, _)| name).collect()
}

/// A program prints the values that the compiler has for each of them.
#[test]
fn schemas_defaults_and_constants_are_those_of_rust() {
    let header = compiler::root().join("include/horus/messages.h");
    let header = std::fs::read_to_string(header).unwrap();
    let structs = names(&header, "typedef struct ", " {");
    let schemas = names(&header, "#define ", "_SCHEMA ");
    let defaults = names(&header, "#define ", "_INIT ");
    let counts = [structs.len(), schemas.len(), defaults.len()];
    assert_eq!(counts, [STANDARD.len(); 3]);
    let mut source = SHOW.to_owned();
    let mut expected = String::new();
    for (index, schema) in STANDARD.iter().enumerate() {
        let kind = structs[index];
        let upper = schemas[index];
        let default = defaults[index];
        // WHY static: C accepts only constant expressions in a static initialiser.
        writeln!(
            source,
            "    static const {kind}_t message{index} = {default}_INIT;"
        )
        .unwrap();
        for constant in schema.constants {
            let name = constant.name;
            let value = constant.value;
            writeln!(
                source,
                "    _Static_assert({upper}_{name} == {value}, \"{name}\");"
            )
            .unwrap();
        }
        let bytes = format!("(const unsigned char *)&message{index}, sizeof message{index}");
        writeln!(source, "    show({upper}_SCHEMA, {bytes});").unwrap();
        let header = if schema.tail.is_some() { "Header" } else { "" };
        let bytes = standard_default(&format!("{}{header}", schema.name)).unwrap();
        expected += &schema.text();
        bytes
            .iter()
            .for_each(|byte| write!(expected, "{byte:02x}").unwrap());
        expected.push('\n');
    }
    source += "    return 0;\n}\n";
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("show.c");
    std::fs::write(&file, source).unwrap();
    let shown = Program::c(file.to_str().unwrap()).run(&[]);
    for (shown, expected) in shown.lines().zip(expected.lines()) {
        assert_eq!(shown, expected);
    }
    assert_eq!(shown.len(), expected.len());
}

/// The C program at the other end of two topics.
struct Echo {
    namespace: Arc<Namespace>,
    name: &'static str,
    other: Spawned,
}

impl Echo {
    fn new(program: &Program, name: &'static str) -> Self {
        let config = NamespaceConfig::new(program.shm_dir(), NamespaceName::default());
        let namespace = Namespace::open(&config).unwrap();
        let other = Spawned::new(program.command().arg(name).stderr(Stdio::inherit()));
        Self {
            namespace,
            name,
            other,
        }
    }

    fn builder<T: Payload>(&self, end: &str) -> TopicBuilder<T> {
        let qos = Qos::reliable().capacity(16).history(1);
        let builder = Topic::<T>::builder(&format!("{}.{end}", self.name));
        builder.qos(qos).namespace(&self.namespace)
    }

    /// Returns the next answer; fails if the other program ends.
    fn answer<T: Payload>(&mut self, answers: &mut Subscriber<T>) -> T {
        loop {
            let ended = self.other.try_wait();
            if let Ok(answer) = answers.recv_timeout(Duration::from_millis(100)) {
                return answer;
            }
            assert!(
                ended.is_none(),
                "{}: the other program ended: {ended:?}",
                self.name
            );
        }
    }

    fn finish(mut self) {
        assert!(self.other.wait().success(), "{}", self.name);
    }

    /// Compares the first message of the other program with the default, and its answer to
    /// `message` with the result of `change`.
    fn check<T: Message + std::fmt::Debug + PartialEq + Default>(
        mut self,
        message: T,
        change: impl Fn(&mut T),
    ) {
        let mut questions = self.builder::<T>("questions").publisher().unwrap();
        let mut answers = self.builder::<T>("answers").subscriber().unwrap();
        assert_eq!(self.answer(&mut answers), T::default());
        questions.send(message).unwrap();
        let mut expected = message;
        change(&mut expected);
        assert_eq!(self.answer(&mut answers), expected);
        self.finish();
    }
}

#[test]
fn rust_and_c_exchange_standard_messages() {
    let program = Program::new("messages");
    let command = CmdVel {
        timestamp_ns: 0,
        linear: 0.5,
        angular: -0.25,
    };
    Echo::new(&program, "cmd_vel").check(command, |command| {
        command.linear *= 2.0;
        command.angular = -command.angular;
    });
    let imu = Imu {
        orientation: [0.1, 0.2, 0.3, 0.4],
        angular_velocity: [1.0, 2.0, 3.0],
        linear_acceleration_covariance: [0.5; 9],
        ..Imu::zeroed()
    };
    Echo::new(&program, "imu").check(imu, |imu| {
        imu.orientation.swap(0, 3);
        imu.angular_velocity[1] += 1.0;
        imu.linear_acceleration_covariance[8] += 1.0;
    });
    let mut scan = LaserScan {
        angle_min: -1.0,
        range_max: 30.0,
        count: 7,
        ..LaserScan::zeroed()
    };
    scan.ranges[..7].copy_from_slice(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    Echo::new(&program, "scan").check(scan, |scan| {
        scan.ranges[7] = scan.range_max;
        scan.angle_max = scan.angle_min;
        scan.count += 1;
    });
}

/// Images are lent, borrowed and read in place in both programs.
#[test]
fn rust_and_c_exchange_images_in_place() {
    let program = Program::new("messages");
    let mut echo = Echo::new(&program, "image");
    let builder = |end| echo.builder::<Image>(end).max_message_bytes(1 << 20);
    let mut questions = builder("questions").publisher().unwrap();
    let mut answers = builder("answers").subscriber().unwrap();
    for (width, timestamp_ns) in [(3, 1), (640, 2), (1000, 0)] {
        let header = ImageHeader::new(width, 480, Encoding::MONO8);
        let header = ImageHeader {
            timestamp_ns,
            ..header
        };
        let mut image = questions.loan(header).unwrap();
        let pixels = image.data_mut().iter_mut().enumerate();
        pixels.for_each(|(index, pixel)| *pixel = (index % 251) as u8);
        image.publish().unwrap();
        let answer = echo.answer(&mut answers);
        assert_eq!(*answer.header(), header);
        let is_inverted = |(index, pixel): (usize, &u8)| 255 - *pixel == (index % 251) as u8;
        assert!(answer.data().iter().enumerate().all(is_inverted));
        assert_eq!(answer.data().len(), 480 * width as usize);
    }
    echo.finish();
}

/// Compiles the code of `docs/cpp.md`, with the declarations that it omits.
#[test]
fn the_document_s_code_compiles() {
    let text = compiler::root().parent().unwrap().join("docs/cpp.md");
    let text = std::fs::read_to_string(text).unwrap();
    let blocks = text
        .split("```c\n")
        .skip(1)
        .map(|block| block.split("```").next().unwrap());
    let blocks: Vec<_> = blocks
        .filter(|block| block.contains("<horus/messages.h>"))
        .collect();
    assert_eq!(blocks.len(), 2);
    for block in blocks {
        let (includes, code): (Vec<_>, Vec<_>) =
            block.lines().partition(|line| line.starts_with("#include"));
        let includes = includes.join("\n");
        let code = code.join("\n");
        let source = format!(
            "{includes}\nvoid show(const horus_image_header_t *, const uint8_t *);\n\
             int main(void) {{\n{code}\nreturn status < 0;\n}}\n"
        );
        assert_eq!(compiler::refusal(&source, &["-std=c11"]), None, "{source}");
    }
}
