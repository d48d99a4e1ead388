//! Directories that are no namespaces.

use std::fs;

use crate::common::Robot;

/// No program can open it, and a terminal would act on its name.
#[test]
fn a_directory_with_an_invalid_name_is_no_namespace() {
    let robot = Robot::new();
    for name in ["default copy", "\u{1b}[31mred", "rot\u{e9}"] {
        let dir = robot.dir().join(name);
        fs::create_dir_all(dir.join("topics")).unwrap();
        fs::copy(robot.dir().join("default/registry"), dir.join("registry")).unwrap();
        fs::write(dir.join("topics/cmd_vel"), "").unwrap();
    }
    let list = robot.answer("namespace list");
    assert_eq!(list.lines().count(), 2, "{list}");
    let table = [
        ("topic list -N red", 0),
        ("topic info cmd_vel -N red", 3),
        ("namespace rm red", 3),
        ("doctor", 0),
        ("estop engage", 3),
    ];
    for (arguments, code) in table {
        let ran = robot.run(arguments);
        assert_eq!(ran.code, code, "{arguments}: {ran:?}");
        for text in [&ran.stdout, &ran.stderr] {
            let is_named = text.contains('\u{1b}') || text.contains("copy");
            assert!(!is_named, "{arguments}: {ran:?}");
        }
    }
}
