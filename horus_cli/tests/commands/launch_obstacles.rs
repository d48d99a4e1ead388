//! Programs that the system cannot execute: for another processor, damaged, or of no known format.

use std::fs;
use std::path::PathBuf;

use horus_testing::write_program;

use crate::common::Robot;
use crate::launch::file;

/// Writes an executable file.
fn program(robot: &Robot, name: &str, bytes: &[u8]) -> PathBuf {
    let path = robot.dir().join(name);
    write_program(&path, bytes);
    path
}

/// Returns this test binary's first bytes, for a machine that no processor is.
fn foreign_elf() -> Vec<u8> {
    let own = fs::read(std::env::current_exe().unwrap()).unwrap();
    let mut bytes = own[..4096].to_vec();
    // The machine, in the byte order of the file.
    let is_little = bytes[5] == 1;
    let machine: u16 = 0x00f7;
    bytes[18..20].copy_from_slice(&if is_little {
        machine.to_le_bytes()
    } else {
        machine.to_be_bytes()
    });
    bytes
}

/// Returns this test binary's first bytes, with a loader that does not exist.
fn elf_without_loader() -> Vec<u8> {
    let own = fs::read(std::env::current_exe().unwrap()).unwrap();
    let mut bytes = own[..4096].to_vec();
    let name = bytes.windows(4).position(|part| part == b"/ld-").unwrap();
    bytes[name + 1] = b'x';
    bytes
}

/// Without this, a shell would execute the bytes as commands, and the launcher would try for ever.
#[test]
fn a_program_that_the_system_cannot_execute_is_named_and_not_tried_again() {
    let robot = Robot::new();
    program(&robot, "foreign", &foreign_elf());
    program(&robot, "musl", &elf_without_loader());
    program(&robot, "plain", b"touch executed\n");
    let table = [
        ("foreign", "is for another processor"),
        ("musl", "musl needs the loader /lib"),
        (
            "plain",
            "neither a binary for this machine nor a script with #!",
        ),
    ];
    for (name, reason) in table {
        let programs = format!("{{programs: {{a: {{command: ['./{name}']}}}}}}");
        let path = file(&robot, "robot.json5", &programs);
        let check = robot.run(&format!("launch --check {}", path.display()));
        assert_eq!(check.code, 1, "{name}: {check:?}");
        assert!(check.stderr.contains(reason), "{name}: {check:?}");
        for options in ["", " --keep"] {
            let ran = robot.run(&format!("launch {} --timeout 20{options}", path.display()));
            assert_eq!(ran.code, 1, "{name}{options}: {ran:?}");
            assert!(ran.stderr.contains(reason), "{name}{options}: {ran:?}");
            assert!(!ran.stderr.contains("restarting"), "{name}: {ran:?}");
        }
    }
    assert!(!robot.dir().join("executed").exists());
}
