//! Rust and C++ programs that exchange messages across processes: what one sends, the other one
//! receives and answers.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use horus_core::message::{
    Encoding, Image, ImageHeader, Imu, LaserScan, Message, NavGoal, Point3, Text, Zeroable,
};
use horus_core::namespace::{Namespace, NamespaceConfig, NamespaceName};
use horus_core::prelude::*;
use horus_core::topic::Payload;

use crate::compiler::{Program, Spawned};
use crate::robot::{Everything, Pair};

struct Echo {
    namespace: Arc<Namespace>,
    other: Spawned,
}

impl Echo {
    /// Returns the next answer; fails if the other program ends.
    fn answer<T: Payload>(&mut self, answers: &mut Subscriber<T>) -> T {
        loop {
            let ended = self.other.try_wait();
            if let Ok(answer) = answers.recv_timeout(Duration::from_millis(100)) {
                return answer;
            }
            assert!(ended.is_none(), "the other program ended: {ended:?}");
        }
    }

    /// Sends messages, and compares the answers with the result of `answer`.
    fn check<T: Message + std::fmt::Debug + PartialEq + Default>(
        &mut self,
        name: &str,
        messages: &[T],
        answer: impl Fn(&mut T),
    ) {
        let builder = |end: &str| {
            let builder = Topic::<T>::builder(&format!("{name}.{end}"));
            builder
                .qos(Qos::reliable().history(1))
                .namespace(&self.namespace)
        };
        let mut questions = builder("questions").publisher().unwrap();
        let mut answers = builder("answers").subscriber().unwrap();
        assert_eq!(self.answer(&mut answers), T::default());
        for message in messages {
            questions.send(message).unwrap();
            let mut expected = *message;
            answer(&mut expected);
            assert_eq!(self.answer(&mut answers), expected);
        }
    }

    fn check_images(&mut self) {
        let builder = |end: &str| {
            let builder = Topic::<Image>::builder(&format!("image.{end}"));
            builder
                .qos(Qos::reliable().capacity(16).history(1))
                .namespace(&self.namespace)
        };
        let builder = |end: &str| builder(end).max_message_bytes(1 << 20);
        let mut questions = builder("questions").publisher().unwrap();
        let mut answers = builder("answers").subscriber().unwrap();
        assert_eq!(self.answer(&mut answers).data().len(), 1);
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
            let answer = self.answer(&mut answers);
            assert_eq!(*answer.header(), header);
            let inverted = |(index, pixel): (usize, &u8)| 255 - *pixel == (index % 251) as u8;
            assert!(answer.data().iter().enumerate().all(inverted));
            assert_eq!(answer.data().len(), 480 * width as usize);
        }
    }
}

#[test]
fn rust_and_cpp_exchange_messages_across_processes() {
    let program = Program::cpp("tests/cpp/echo.cpp", &["-std=c++17"]);
    let config = NamespaceConfig::new(program.shm_dir(), NamespaceName::default());
    let namespace = Namespace::open(&config).unwrap();
    let other = Spawned::new(program.command().stderr(Stdio::inherit()));
    let mut echo = Echo { namespace, other };
    let commands = [1, 2, 0].map(|timestamp_ns| CmdVel {
        timestamp_ns,
        linear: timestamp_ns as f32 + 0.5,
        angular: -0.25,
    });
    echo.check("cmd_vel", &commands, |command| {
        command.linear *= 2.0;
        command.angular = -command.angular;
    });
    let imu = Imu {
        orientation: [0.1, 0.2, 0.3, 0.4],
        angular_velocity: [1.0, 2.0, 3.0],
        linear_acceleration: [4.0, 5.0, 6.0],
        linear_acceleration_covariance: [0.5; 9],
        ..Imu::zeroed()
    };
    echo.check(
        "imu",
        &[
            Imu {
                timestamp_ns: 9,
                ..imu
            },
            imu,
        ],
        |imu| {
            imu.orientation.reverse();
            std::mem::swap(&mut imu.angular_velocity, &mut imu.linear_acceleration);
            imu.linear_acceleration_covariance[8] += 1.0;
        },
    );
    let mut scan = LaserScan {
        angle_min: -1.0,
        angle_max: 2.0,
        count: 7,
        ..LaserScan::zeroed()
    };
    scan.ranges[..9].copy_from_slice(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
    echo.check("scan", &[scan], |scan| {
        scan.ranges[..7].reverse();
        std::mem::swap(&mut scan.angle_min, &mut scan.angle_max);
    });
    let goal = NavGoal {
        goal_id: 41,
        frame_id: Text::literal("map"),
        ..NavGoal::zeroed()
    };
    echo.check(
        "goal",
        &[NavGoal {
            yaw_tolerance: 0.125,
            ..goal
        }],
        |goal| {
            goal.frame_id = Text::literal("odom");
            goal.goal_id += 1;
            goal.yaw_tolerance *= 2.0;
        },
    );
    let mut all = Everything::zeroed();
    all.i64 = -(1 << 40);
    all.pairs[0] = Pair {
        first: 1,
        second: 2,
    };
    all.corners[0][1] = Point3 {
        x: 1.0,
        y: 2.0,
        z: 3.0,
    };
    all.matrix = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    all.names = [Text::literal("left"), Text::literal("a name of 16 byt")];
    all.i8 = 17;
    echo.check("everything", &[all], |all| {
        all.i64 = -all.i64;
        all.pairs.swap(0, 2);
        (all.corners[0][1], all.corners[1][0]) = (all.corners[1][0], all.corners[0][1]);
        (all.matrix[0][2], all.matrix[1][0]) = (all.matrix[1][0], all.matrix[0][2]);
        all.names.swap(0, 1);
        all.vector[1] += 1.0;
        all.i8 = -all.i8;
        all.mode = 1;
    });
    echo.check_images();
    assert!(echo.other.wait().success());
}
