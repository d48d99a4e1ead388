//! A far end answers jobs, and ends with its near end.

use horus_benchmarks::measure::pin;
use horus_benchmarks::measure::wait::OtherEndWatch;
use horus_benchmarks::measure::wait::WaitError;
use horus_benchmarks::run::far_end::*;

fn any_cpu() -> usize {
    pin::allowed_cpus().unwrap()[0]
}

#[test]
fn a_thread_answers_jobs_in_order_and_reports_failures() {
    let mut total = 0;
    let job_runner = move |job: i64, _: &OtherEndWatch| {
        total += job;
        if job < 0 {
            Err(format!("{job} is negative"))
        } else {
            Ok(total)
        }
    };
    let mut peer = FarEndHandle::start_thread(any_cpu(), true, move || job_runner).unwrap();
    assert_eq!(peer.run_job(2).unwrap(), 2);
    assert_eq!(peer.run_job(3).unwrap(), 5);
    let error = peer.run_job(-1).unwrap_err();
    assert_eq!(error.to_string(), "the far end failed: -1 is negative");
}

#[test]
fn a_waiting_thread_ends_when_its_peer_is_dropped() {
    let job_runner = |(): (), watch: &OtherEndWatch| -> Result<(), String> {
        watch
            .spin_until(|| None::<()>)
            .map_err(|error| error.to_string())
    };
    let mut peer = FarEndHandle::start_thread(any_cpu(), true, move || job_runner).unwrap();
    peer.start_job(()).unwrap();
    drop(peer);
}

#[test]
fn a_near_wait_ends_when_the_far_thread_panics() {
    let job_runner = |(): (), _: &OtherEndWatch| -> Result<(), String> { panic!("on purpose") };
    let mut peer = FarEndHandle::start_thread(any_cpu(), true, move || job_runner).unwrap();
    peer.start_job(()).unwrap();
    assert_eq!(
        peer.watch.spin_until(|| None::<()>),
        Err(WaitError::PeerGone)
    );
    let error = peer.finish_job().unwrap_err();
    assert_eq!(error.to_string(), "the far thread ended early");
}

#[test]
fn an_impossible_cpu_is_the_answer_to_the_first_job() {
    let job_runner = |(): (), _: &OtherEndWatch| Ok::<(), String>(());
    let mut peer =
        FarEndHandle::<(), ()>::start_thread(1 << 20, false, move || job_runner).unwrap();
    assert!(peer.run_job(()).is_err());
}
