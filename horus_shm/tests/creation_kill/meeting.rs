//! Two processes that make one namespace at the same time: one is stopped while it makes a
//! directory, the other one anywhere before it changes a directory. Both have to meet.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use horus_shm::{Namespace, Segment};
use horus_testing::PointSample;

use super::group::MEMBER;
use super::{STOPS_MAX, STRIDE, open_or_create, said};
use crate::common::{park, say};
use crate::spawn;
use crate::tracer::{Victim, be_traced, mark};

/// Enters a namespace, opens the topic, and reports in which registry it is.
pub(super) fn meet() {
    be_traced();
    mark();
    let namespace = Namespace::current().map_err(said);
    mark();
    let opened = namespace.and_then(|namespace| {
        let segment = open_or_create(&namespace).map_err(said)?;
        Ok((namespace, segment))
    });
    mark();
    say(describe(&opened));
    mark();
    park();
}

fn describe(opened: &Result<(Arc<Namespace>, Arc<Segment>), String>) -> String {
    match opened {
        Ok((namespace, _)) => {
            let id = u128::from_ne_bytes(namespace.registry().id());
            format!("in {id:032x}, current: {}", namespace.is_current())
        }
        Err(error) => error.replace('\n', " "),
    }
}

/// Runs `victim` to the entry of its `index`-th system call that changes a directory. Returns
/// `None` if it makes fewer before its next mark.
fn run_to_change(victim: &mut Victim, index: usize) -> Option<()> {
    let mut left = index;
    loop {
        let call = victim.next_call()?;
        let is_change = match call.number {
            libc::SYS_mkdirat | libc::SYS_renameat2 | libc::SYS_chmod => true,
            libc::SYS_unlinkat => call.args[2] == i64::from(libc::AT_REMOVEDIR),
            _ => false,
        };
        match left.checked_sub(usize::from(is_change)) {
            Some(rest) => left = rest,
            None => return Some(()),
        }
        victim.end_call();
    }
}

/// Two processes that make one namespace in the same role.
struct Meeting {
    role: &'static str,
    /// The first process opens the topic before the second one continues.
    opens_first: bool,
}

impl Meeting {
    /// Stops a process after its `first`-th change of a directory and another one before its
    /// `second`-th, and then lets them continue. Returns what they report, if it differs from what
    /// was expected. The error says which of the two makes fewer changes.
    fn stop_at(&self, first: usize, second: usize) -> Result<Option<String>, TooFew> {
        let dir = spawn::shm_dir();
        fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o1777)).unwrap();
        let base = dir.path().join("base");
        let mut maker = Victim::spawn(self.role, &base);
        run_to_change(&mut maker, first).ok_or(TooFew::First)?;
        maker.end_call();
        let mut other = Victim::spawn(self.role, &base);
        run_to_change(&mut other, second).ok_or(TooFew::Second)?;
        let marks = |victim: &mut Victim, count| (0..count).for_each(|_| victim.run_to_mark());
        marks(&mut maker, if self.opens_first { 2 } else { 1 });
        marks(&mut other, 2);
        marks(&mut maker, if self.opens_first { 1 } else { 2 });
        marks(&mut other, 1);
        let reports = [maker.listen(), other.listen()];
        let is_well = reports[0] == reports[1] && reports[0].ends_with("current: true");
        let left: Vec<_> = [dir.path(), &base, &base.join("default")]
            .iter()
            .flat_map(|dir| fs::read_dir(dir).unwrap())
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.starts_with('.'))
            .collect();
        Ok((!is_well || !left.is_empty()).then(|| format!("{reports:?}, left over: {left:?}")))
    }

    fn stop_everywhere(&self) {
        let (mut points, mut faults) = (0, Vec::new());
        let sample = PointSample::every(STRIDE);
        'first: for first in 0..STOPS_MAX {
            // WHY shifted: each stop of the one is visited with some stop of the other.
            for second in sample.numbered_from(first).points() {
                match self.stop_at(first, second) {
                    Ok(fault) => {
                        points += 1;
                        let at = format!("|   after {first} and before {second}: ");
                        faults.extend(fault.map(|fault| at + &fault));
                    }
                    Err(TooFew::First) => break 'first,
                    Err(TooFew::Second) => break,
                }
            }
        }
        let opens = if self.opens_first { "first" } else { "second" };
        println!(
            "| {}, opens {opens} | {points} pairs of stops | {} faults |",
            self.role,
            faults.len()
        );
        faults.iter().for_each(|fault| println!("{fault}"));
        assert!(points * sample.stride() > 20, "{points} pairs");
        assert!(faults.is_empty(), "{} faults", faults.len());
    }
}

/// The process that changes directories less often.
enum TooFew {
    First,
    Second,
}

#[test]
fn members_that_make_a_namespace_at_once_meet_wherever_two_of_them_were_stopped() {
    if spawn::skips_without_users(MEMBER) {
        return;
    }
    for opens_first in [false, true] {
        let role = "meet as a member";
        Meeting { role, opens_first }.stop_everywhere();
    }
}

#[test]
fn processes_under_a_masking_umask_meet_wherever_two_of_them_were_stopped() {
    for opens_first in [false, true] {
        let role = "meet under a masking umask";
        Meeting { role, opens_first }.stop_everywhere();
    }
}
