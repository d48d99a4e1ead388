//! Presence: the processes that attend a topic file, and the one that removes it.

use horus_shm::internals::presence;
use loom::thread;

use crate::loom_memory::attendance::{Found, OpenFile, Process};
use crate::loom_memory::mutation::explore;

/// The name leads to the file that a process attends, for as long as it attends it.
pub(crate) fn a_topic_is_never_split() {
    for found in [Found::Nothing, Found::Unused, Found::HalfRetired] {
        for killed in [false, true] {
            explore(2, move || {
                let [one, two, three] = Process::all(found);
                let attend = |process: &Process, killed: bool| {
                    let Some(file) = process.join() else { return };
                    assert!(file.has_the_name());
                    thread::yield_now();
                    assert!(file.has_the_name());
                    if killed {
                        file.leave_killed()
                    } else {
                        file.leave()
                    }
                };
                let other = thread::spawn(move || attend(&one, killed));
                attend(&two, false);
                other.join().unwrap();
                assert!(three.join().unwrap().has_the_name());
            });
        }
    }
}

/// A file whose name was removed by hand is not joined.
pub(crate) fn a_file_without_its_name_is_not_in_use() {
    explore(2, || {
        let [one, two, _] = Process::all(Found::Unused);
        let file = one.open().unwrap();
        two.remove_by_hand();
        let other = thread::spawn(move || two.join().unwrap().has_the_name());
        assert_ne!(
            presence::attach_to_file(&file).unwrap(),
            presence::AttachOutcome::Attached
        );
        assert!(other.join().unwrap());
    });
}

/// Of several processes that leave together, the last removes the file; if it is killed, another
/// one does.
pub(crate) fn a_topic_that_all_leave_leaves_no_file() {
    for killed in [false, true] {
        explore(3, move || {
            let [one, two, three] = Process::all(Found::Nothing);
            let [theirs, mine] = [one.join().unwrap(), two.join().unwrap()];
            let leave = move |file: OpenFile| {
                if killed {
                    file.leave_killed()
                } else {
                    file.leave()
                }
            };
            let other = thread::spawn(move || leave(theirs));
            mine.leave();
            other.join().unwrap();
            assert!(killed || three.open().is_none(), "left over");
            let file = three.join().unwrap();
            assert!(file.has_the_name());
            file.leave();
            assert!(three.open().is_none(), "left over");
        });
    }
}

/// A latched message stays, even if a process that leaves found none in the file before.
pub(crate) fn a_latched_message_is_not_removed() {
    explore(3, || {
        let [one, two, three] = Process::all(Found::Nothing);
        let theirs = one.join().unwrap();
        let other = thread::spawn(move || theirs.leave_unless_kept());
        let mine = two.join().unwrap();
        mine.latch();
        let latched = mine.index();
        mine.leave_unless_kept();
        other.join().unwrap();
        assert_eq!(three.open().map(|file| file.index()), Some(latched));
    });
}
