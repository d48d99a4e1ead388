//! The far end of a benchmark: a pinned thread or a pinned child process that runs jobs.
//!
//! Between jobs a far end sleeps in the kernel. So several far ends can share one CPU if only one
//! of them works at a time: rounds of a ring alternate with rounds of the floor.

use std::error::Error;
use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Outcome;
use crate::measure::pin;
use crate::measure::wait::{OtherEndWatch, WAIT_TIMEOUT};
use crate::run::child::{ChildContext, ChildProcess, ChildSpec};
use crate::run::session;

/// The error for a far end in a thread that has ended.
const THREAD_ENDED_ERROR: &str = "the far thread ended early";

/// The placement of the two ends of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Placement {
    CrossThread,
    CrossProcess,
}

impl Placement {
    /// Returns the name of the placement in the ids of rows.
    pub fn id(self) -> &'static str {
        match self {
            Placement::CrossThread => "cross_thread",
            Placement::CrossProcess => "cross_process",
        }
    }
}

/// The near end's handle of a far end, which runs jobs of type `J`, one at a time, and returns
/// results of type `R`. When this value is dropped, the far end ends as well: a process is killed,
/// and a thread is stopped and joined.
#[derive(Debug)]
pub struct FarEndHandle<J, R> {
    far: FarEnd<J, R>,
    /// A watch that ends waits of the near end if the far end has died.
    pub watch: OtherEndWatch,
}

#[derive(Debug)]
enum FarEnd<J, R> {
    Thread {
        /// The sender of jobs, and a value whose drop ends the thread, even during a job.
        near: Option<(Sender<J>, Arc<()>)>,
        answers: Receiver<Result<R, String>>,
        handle: Option<JoinHandle<()>>,
    },
    Process(ChildProcess),
}

impl<J, R> Drop for FarEnd<J, R> {
    fn drop(&mut self) {
        let FarEnd::Thread { near, handle, .. } = self else {
            return;
        };
        *near = None;
        if let Some(handle) = handle.take() {
            // An error is the thread's panic, which has been printed.
            let _ = handle.join();
        }
    }
}

impl<J, R> FarEndHandle<J, R>
where
    J: Serialize + DeserializeOwned + Send + 'static,
    R: Serialize + DeserializeOwned + Send + 'static,
{
    /// Starts a far end that is pinned to the CPU of `spec`. In a thread of this process,
    /// `make_job_runner` creates a function, which then runs each job. In a child process, the
    /// `main` function of this binary must call [`serve_jobs`] for the role of `spec`.
    pub fn launch<S, E: ToString>(
        placement: Placement,
        spec: &ChildSpec<'_>,
        make_job_runner: impl FnOnce() -> S + Send + 'static,
    ) -> Outcome<FarEndHandle<J, R>>
    where
        S: FnMut(J, &OtherEndWatch) -> Result<R, E>,
    {
        if placement == Placement::CrossThread {
            return FarEndHandle::start_thread(spec.cpu, spec.share_cpu, make_job_runner);
        }
        let child = ChildProcess::spawn(spec)?;
        let watch = OtherEndWatch::new(spec.share_cpu, child.child_death_check());
        Ok(FarEndHandle {
            far: FarEnd::Process(child),
            watch,
        })
    }

    /// Starts a thread that is pinned to `cpu`. Its job runner gets an [`OtherEndWatch`] for its
    /// waits, which end when the handle is dropped. `share_cpu` is true if the caller runs on the
    /// same CPU.
    pub fn start_thread<S, E: ToString>(
        cpu: usize,
        share_cpu: bool,
        make_job_runner: impl FnOnce() -> S + Send + 'static,
    ) -> Outcome<FarEndHandle<J, R>>
    where
        S: FnMut(J, &OtherEndWatch) -> Result<R, E>,
    {
        let (jobs, inbox) = mpsc::channel::<J>();
        let (outbox, answers) = mpsc::channel();
        // Each end holds one of these values, and the other end sees when it is gone.
        let (near_end, far_end) = (Arc::new(()), Arc::new(()));
        let (near_life, far_life) = (Arc::downgrade(&near_end), Arc::downgrade(&far_end));
        let work = move || {
            let _far_end = far_end;
            if let Err(error) = pin::pin_current_thread(cpu) {
                // The near end reads this as the answer to its first job.
                let _ = outbox.send(Err(error.to_string()));
                return;
            }
            let watch = OtherEndWatch::new(share_cpu, move || near_life.strong_count() == 0);
            let mut job_runner = make_job_runner();
            for job in inbox {
                let answer = job_runner(job, &watch).map_err(|error| error.to_string());
                if outbox.send(answer).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("far-end".to_owned());
        let handle = thread.spawn(work)?;
        let far = FarEnd::Thread {
            near: Some((jobs, near_end)),
            answers,
            handle: Some(handle),
        };
        Ok(FarEndHandle {
            far,
            watch: OtherEndWatch::new(share_cpu, move || far_life.strong_count() == 0),
        })
    }

    /// Starts a job on the far end. [`finish_job`](Self::finish_job) must be called before the next
    /// job is started.
    pub fn start_job(&mut self, job: J) -> Outcome {
        match &mut self.far {
            FarEnd::Thread { near, answers, .. } => {
                let (jobs, _) = near.as_ref().ok_or(THREAD_ENDED_ERROR)?;
                // A thread that has ended may have left the reason as its last answer.
                jobs.send(job).map_err(|_| match answers.try_recv() {
                    Ok(Err(reason)) => far_end_error(&reason),
                    _ => THREAD_ENDED_ERROR.into(),
                })
            }
            FarEnd::Process(child) => child.send_line(&serde_json::to_string(&job)?),
        }
    }

    /// Waits for the result of the started job, for at most [`WAIT_TIMEOUT`].
    pub fn finish_job(&mut self) -> Outcome<R> {
        let answer = match &mut self.far {
            FarEnd::Thread { answers, .. } => {
                let answer = answers.recv_timeout(WAIT_TIMEOUT);
                answer.map_err(|error| match error {
                    RecvTimeoutError::Timeout => format!(
                        "no answer from the far thread within {} s",
                        WAIT_TIMEOUT.as_secs()
                    ),
                    RecvTimeoutError::Disconnected => THREAD_ENDED_ERROR.to_owned(),
                })?
            }
            FarEnd::Process(child) => serde_json::from_str(&child.receive_line(WAIT_TIMEOUT)?)?,
        };
        answer.map_err(|reason: String| far_end_error(&reason))
    }

    /// Starts a job during which the near end has nothing to do, and waits for its result.
    pub fn run_job(&mut self, job: J) -> Outcome<R> {
        self.start_job(job)?;
        self.finish_job()
    }
}

fn far_end_error(reason: &str) -> Box<dyn Error> {
    format!("the far end failed: {reason}").into()
}

/// Runs jobs in a child process: pins the process, then answers each job from standard input with
/// the function that `make_job_runner` creates. Returns when the parent closes the pipe, or after
/// an error outside of a job, which is printed.
pub fn serve_jobs<J, R, S, E: ToString>(
    context: &ChildContext,
    make_job_runner: impl FnOnce() -> Outcome<S>,
) -> ExitCode
where
    J: DeserializeOwned,
    R: Serialize,
    S: FnMut(J, &OtherEndWatch) -> Result<R, E>,
{
    let answer_jobs = || -> Outcome {
        pin::pin_current_thread(context.cpu)?;
        let mut job_runner = make_job_runner()?;
        let watch = OtherEndWatch::new(context.share_cpu, context.parent_death_check());
        let mut answers = io::stdout().lock();
        for line in io::stdin().lock().lines() {
            let answer = job_runner(serde_json::from_str(&line?)?, &watch);
            let answer = answer.map_err(|error| error.to_string());
            writeln!(answers, "{}", serde_json::to_string(&answer)?)?;
            answers.flush()?;
        }
        Ok(())
    };
    session::exit_code(&format!("child process '{}'", context.role), answer_jobs())
}
