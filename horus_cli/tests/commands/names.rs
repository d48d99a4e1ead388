//! Names that other programs have chosen, and on which a terminal would act.

use horus_core::message::{NodeMetrics, SchedulerStatus, SchedulerStatusHeader};
use horus_core::topic::{Publisher, Qos, Topic};

use crate::common::Robot;

/// The name of a node that sets the title of a terminal, clears it, and begins a line.
const HOSTILE: &str = "arm\x1b]0;x\x07\x1b[2J\nhorus: all is well";
const VISIBLE: &str = r"arm\u{1b}]0;x\u{7}\u{1b}[2J\nhorus: all is well";

/// Publishes the status of a scheduler that does not run. Its only node has a hostile name.
fn publish_status(robot: &Robot, scheduler: &str) -> Publisher<SchedulerStatus> {
    let qos = Qos::latched().history(2).publishers_max(1).strict(true);
    let topic = Topic::builder(&format!("horus/schedulers/{scheduler}/status"));
    let topic = topic.namespace(robot.namespace()).qos(qos);
    let mut publisher = topic.publisher().unwrap();
    let header = SchedulerStatusHeader::new(scheduler, 1);
    let mut status = SchedulerStatus::zeroed(header).unwrap();
    status.data_as_mut::<NodeMetrics>().unwrap()[0] = NodeMetrics::new(HOSTILE);
    publisher.send(&status).unwrap();
    publisher
}

/// Each error is one line, and shows the hostile name without effect.
#[test]
fn a_terminal_acts_on_no_name_in_an_error() {
    let robot = Robot::new();
    let _statuses = [publish_status(&robot, "one"), publish_status(&robot, "two")];
    let near = format!("Near: {VISIBLE}");
    robot.run("node info nosuch").failed(3, &[&near]);
    let several = format!("several nodes are called '{VISIBLE}': one/{VISIBLE}, two/{VISIBLE}");
    robot
        .run_with(&["node", "info", HOSTILE])
        .failed(2, &[&several]);
    for ran in [
        robot.run_with(&["scheduler", "stop", HOSTILE]),
        robot.run_with(&["topic", "info", HOSTILE]),
        robot.run_with(&["launch", HOSTILE]),
    ] {
        assert!(ran.code > 0, "{ran:?}");
        assert!(!ran.stderr.contains(['\x1b', '\x07']), "{ran:?}");
    }
}
