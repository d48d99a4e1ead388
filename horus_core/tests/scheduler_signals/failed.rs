//! A node that fails while the run ends because of a signal.

use super::*;

/// Runs a scheduler whose node `wheel` fails in its last tick, beside one that reports its safe
/// state.
pub(crate) fn fails_at_end(dir: &Path) {
    struct Bystander;
    impl Node for Bystander {
        fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
            Ok(())
        }

        fn enter_safe_state(&mut self) {
            say("safe");
        }
    }
    let mut scheduler = arm(dir);
    scheduler.stop_on_signals();
    let handle = scheduler.handle();
    let last = move |_: &mut Context<'_>| -> NodeResult {
        say("ticks");
        while !handle.is_stopping() {
            thread::sleep(Duration::from_millis(1));
        }
        Err("the wheel fell off".into())
    };
    let wheel = scheduler.node("wheel").rate(100.hz());
    let wheel = wheel.watchdog(Duration::from_secs(3600));
    wheel.build(last).unwrap();
    scheduler.node("bystander").build(Bystander).unwrap();
    let outcome = scheduler.run();
    if let Err(error) = &outcome {
        say(format_args!("error {error}"));
    }
    exit(outcome);
}

#[test]
fn a_failure_in_a_last_tick_is_an_error_also_after_a_signal() {
    let dir = shm_dir();
    let mut child = Child::spawn("fails_at_end", dir.path());
    child.await_word("ticks");
    child.signal(libc::SIGTERM);
    assert_eq!(child.wait(), End::Code(1), "{:?}", child.said());
    let errors = child.told("error ");
    assert_eq!(errors.len(), 1, "{:?}", child.said());
    let text = "node 'wheel' failed: the wheel fell off";
    assert!(errors[0].ends_with(text), "{errors:?}");
    assert_eq!(child.told("safe"), [""]);
}
