//! The logs of forked children.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

/// Forks again and again while another thread tries to open the log. Each child opens its own.
pub(super) fn fork_while_the_log_is_opened(dir: &Path) {
    let namespace = namespace_in(dir);
    // An open of the log in this namespace fails.
    let unusable = namespace_in(&dir.join("unusable"));
    std::fs::remove_dir_all(dir.join("unusable")).unwrap();
    File::create(dir.join("unusable")).unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let settings = LogSettings::new().namespace(&unusable);
                settings.open().unwrap_err();
            }
        });
        for _ in 0..200 {
            let is_well = forked::fork(|| {
                // SAFETY: the call takes no pointer. It ends a child that hangs.
                unsafe { libc::alarm(60) };
                let settings = LogSettings::new().namespace(&namespace);
                settings.open().is_ok()
            });
            if !is_well {
                // WHY not a panic: the thread would run on, so that this process never ended.
                say("hangs");
                break;
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    say("over");
}

#[test]
fn a_forked_child_has_a_log_of_its_own() {
    let site = Site::new();
    let mut child = site.child("parent");
    order(&mut child, "say before");
    order(&mut child, "fork");
    order(&mut child, "say after");
    let (lines, lost) = site.lines();
    assert_eq!(
        (texts(&lines), lost),
        (vec!["before".into(), "child".into(), "after".into()], 0)
    );
    let ids: Vec<_> = lines.iter().map(|record| record.line.process_id).collect();
    assert_eq!([ids[0], ids[2]], [child.id(); 2]);
    assert_ne!(ids[1], child.id());
    assert_eq!(
        lines[1].line.thread_id, ids[1],
        "the main thread of the fork"
    );
}

#[test]
fn a_child_forked_while_another_thread_opens_the_log_can_open_its_own() {
    let site = Site::new();
    let mut child = Child::spawn("forks", site.dir.path());
    assert_eq!(child.await_word("over"), "over");
    assert_eq!(child.count("hangs"), 0);
    assert_eq!(child.wait(), End::Code(0));
}
