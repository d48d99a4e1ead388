//! The namespace of a group, whose maker is killed, and which another user then enters.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use horus_shm::{Namespace, sweep};
use horus_testing::PointSample;

use super::{Check, STOPS_MAX, STRIDE, consumer, open_or_create, pass, said};
use crate::common::Child;
use crate::spawn;
use crate::tracer::{Stop, Victim};

/// A group, and two users in it, none of which the system's lists know.
const GROUP: u32 = 23_456;
pub(super) const MEMBER: u32 = 12_345;
pub(super) const NEXT_MEMBER: u32 = 12_346;

/// Becomes a user of the group, with the group's namespace as that of the environment.
pub(super) fn become_member(uid: u32) {
    spawn::become_user(uid, uid, &[GROUP]);
    // SAFETY: the test harness runs this test alone. The harness's own thread waits for the end of
    // the test and reads no variable meanwhile.
    unsafe { std::env::set_var("HORUS_SHM_GROUP", GROUP.to_string()) };
}

/// Enters a namespace whose maker may have died at any moment, uses its topic and leaves.
pub(super) fn live_after_another() -> Check {
    let namespace = Namespace::current().map_err(said)?;
    let segment = open_or_create(&namespace).map_err(said)?;
    let mut consumer = consumer(&segment).map_err(said)?;
    pass(&segment, &mut consumer)?;
    drop((consumer, segment));
    let report = sweep(&namespace).map_err(said)?;
    if !report.removed.is_empty() || !report.foreign.is_empty() {
        return Err(format!("something was left to sweep: {report:?}"));
    }
    Ok(())
}

/// The next process has no right to change or remove what belongs to the dead process's user in a
/// directory for all, such as `/dev/shm`.
#[test]
fn a_namespace_of_a_group_is_usable_by_others_after_a_death_at_any_system_call_of_its_maker() {
    if spawn::skips_without_users(MEMBER) {
        return;
    }
    let mut faults = Vec::new();
    let mut stops = 0;
    for stop in PointSample::every(STRIDE).points() {
        let dir = spawn::shm_dir();
        fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o1777)).unwrap();
        let base = dir.path().join("base");
        let mut victim = Victim::spawn("member's life", &base);
        if (0..=stop).any(|_| matches!(victim.run_to_system_call(), Stop::Mark | Stop::End)) {
            break;
        }
        victim.kill();
        let mut next = Child::spawn("next member's life", &base);
        let said = next.listen();
        if said != "usable" {
            faults.push(format!("|   at stop {stop}: {said}"));
        }
        next.finish();
        // Only a directory that has not got its name yet may be left beside.
        let rest = fs::read_dir(dir.path()).unwrap().flatten();
        let rest = rest.filter(|entry| entry.file_name() != "base");
        rest.for_each(|entry| fs::remove_dir(entry.path()).unwrap());
        stops = stop + 1;
        assert!(stops < STOPS_MAX, "{stops} stops");
    }
    println!(
        "| Group | {stops} stops at system calls | {} faults |",
        faults.len()
    );
    faults.iter().for_each(|fault| println!("{fault}"));
    assert!(stops > 20, "{stops} stops");
    assert!(faults.is_empty(), "{} faults", faults.len());
}
