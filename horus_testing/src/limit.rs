//! The time limit of a test binary: turns a hang into a failure that names the test.
//!
//! A kernel timer ends the process after the time limit. Just before that, a forked child executes
//! the same binary again. This second process only prints the names of the tests that are still
//! running.
//!
//! WHY a timer and not a thread: many tests fork, count their threads, or enter kernel namespaces,
//! and an additional thread would disturb or prevent this. Also, a forked child does not inherit
//! the timer.

use std::env;
use std::ffi::{CStr, CString, OsStr};
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{self, Command};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering};

/// Name of the environment variable that sets the time limit of a test binary, in seconds. The
/// value 0 disables the limit.
const LIMIT_VARIABLE: &str = "HORUS_TEST_SECONDS";

/// The environment variable that is set only for the reporting process, which prints the running
/// tests. Its value is the id of the process whose tests are reported.
const REPORT_VARIABLE: &str = "HORUS_TEST_REPORT_PROCESS";

/// Time limit of a test binary by default, in seconds. On two CPUs, the slowest test binary takes
/// about a tenth of this time.
const DEFAULT_LIMIT_SECONDS: u64 = 1800;

/// Time limit of a test binary, in seconds, if the environment variable `HORUS_TORTURE` selects the
/// long versions of tests.
const TORTURE_LIMIT_SECONDS: u64 = 6 * 3600;

/// Exit status of a test binary that has exceeded its time limit. The command `timeout` uses the
/// same status.
const TIMEOUT_EXIT_STATUS: i32 = 124;

/// Maximum length of a thread's name, in bytes. The kernel truncates longer names, so the start of
/// a test's name is known and the rest is not.
const THREAD_NAME_BYTES_MAX: usize = 15;

/// Maximum number of tests that the report of a timeout lists for one thread.
const LISTED_TESTS_MAX: usize = 8;

/// Environment variables of the reporting process, in the form that `execve` needs. Null until the
/// time limit is set.
static REPORT_ENVIRONMENT: AtomicPtr<*const libc::c_char> = AtomicPtr::new(null_mut());

// SAFETY: the linker's start-up code calls the pointers in this section before `main`, as C
// functions without results. `arm` is one, and ignores the arguments that it gets.
#[cfg(target_os = "linux")]
#[used]
#[unsafe(link_section = ".init_array")]
static RUN_BEFORE_MAIN: extern "C" fn() = arm_time_limit;

/// Sets the time limit; or, if this is the reporting process, prints the report and exits. Runs
/// before `main`.
extern "C" fn arm_time_limit() {
    if let Some(process) = env::var_os(REPORT_VARIABLE) {
        print_unfinished_tests(&process);
        process::exit(0);
    }
    let seconds = match env::var(LIMIT_VARIABLE) {
        Ok(text) => text.parse().unwrap_or_else(|_| {
            eprintln!("error: {LIMIT_VARIABLE} is '{text}': wanted a number of seconds");
            process::exit(2);
        }),
        Err(_) if env::var_os("HORUS_TORTURE").is_some() => TORTURE_LIMIT_SECONDS,
        Err(_) => DEFAULT_LIMIT_SECONDS,
    };
    if seconds > 0 {
        prepare_reporter_env_vars(seconds);
        start_limit_timer(seconds);
    }
}

/// Stores the environment variables for the reporter: the process that prints the tests that are
/// still running after `limit_seconds`. WHY in advance: the signal handler must not allocate
/// memory.
fn prepare_reporter_env_vars(limit_seconds: u64) {
    let entry = |name: &OsStr, value: &OsStr| {
        let bytes = [name.as_bytes(), b"=", value.as_bytes()].concat();
        CString::new(bytes)
            .expect("the environment has no zero bytes")
            .into_raw()
            .cast_const()
    };
    let inherited = env::vars_os().filter(|(name, _)| name != LIMIT_VARIABLE);
    let mut entries: Vec<_> = inherited
        .map(|(name, value)| entry(&name, &value))
        .collect();
    let text = |number: u64| number.to_string().into_bytes();
    let own = u64::from(process::id());
    entries.push(entry(
        OsStr::new(REPORT_VARIABLE),
        OsStr::from_bytes(&text(own)),
    ));
    entries.push(entry(
        OsStr::new(LIMIT_VARIABLE),
        OsStr::from_bytes(&text(limit_seconds)),
    ));
    entries.push(null());
    // Never freed: the handler may run at any time.
    let environment = Box::leak(entries.into_boxed_slice()).as_mut_ptr();
    // Relaxed suffices: this runs before `main`, so every thread starts after it.
    REPORT_ENVIRONMENT.store(environment, Ordering::Relaxed);
}

/// Makes the kernel send a signal to this process after `seconds` seconds. The handler of the
/// signal ends the process.
fn start_limit_timer(seconds: u64) {
    // WHY this signal: no test and no code of the library uses it, and `alarm` is used elsewhere.
    let signal = libc::SIGRTMAX() - 3;
    // SAFETY: `sigaction` is plain data, for which zeros are a valid value.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = report_and_exit as extern "C" fn(libc::c_int) as usize;
    action.sa_flags = libc::SA_ONSTACK | libc::SA_RESTART;
    // SAFETY: the action is valid, and its handler is async-signal-safe.
    let mut failed = unsafe { libc::sigaction(signal, &raw const action, null_mut()) };
    // SAFETY: `sigevent` is plain data, for which zeros are a valid value.
    let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
    (event.sigev_notify, event.sigev_signo) = (libc::SIGEV_SIGNAL, signal);
    let mut timer: libc::timer_t = null_mut();
    // SAFETY: both pointers are valid for the call.
    failed |= unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) };
    // SAFETY: `itimerspec` is plain data, for which zeros are a valid value.
    let mut limit: libc::itimerspec = unsafe { std::mem::zeroed() };
    limit.it_value.tv_sec = i64::try_from(seconds).unwrap_or(i64::MAX);
    if failed == 0 {
        // SAFETY: the timer was just made, and `limit` is valid for the call.
        failed = unsafe { libc::timer_settime(timer, 0, &raw const limit, null_mut()) };
    }
    if failed != 0 {
        let error = io::Error::last_os_error();
        eprintln!("warning: this test binary has no time limit: {error}");
    }
}

/// Handles the timer's signal: starts the reporting process, waits for it, and ends this process.
/// Calls only async-signal-safe functions.
extern "C" fn report_and_exit(_: libc::c_int) {
    const OWN_EXECUTABLE: &CStr = c"/proc/self/exe";
    let arguments = [OWN_EXECUTABLE.as_ptr(), null()];
    let environment = REPORT_ENVIRONMENT.load(Ordering::Relaxed);
    // WHY not `fork`: it runs handlers, and takes the allocator's locks.
    // SAFETY: the only flag is the exit signal, so the child is a copy as by `fork`. It only
    // executes another program.
    let child = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
    if child == 0 {
        // SAFETY: all strings end in a 0, both arrays in a null pointer, and all live until the
        // call.
        unsafe { libc::execve(OWN_EXECUTABLE.as_ptr(), arguments.as_ptr(), environment) };
        // SAFETY: the call takes no pointer, and does not return.
        unsafe { libc::_exit(127) };
    }
    let child = child as libc::pid_t;
    let interrupted = || io::Error::last_os_error().kind() == io::ErrorKind::Interrupted;
    // SAFETY: a null status pointer is allowed, and means that the status is not wanted.
    while child > 0 && unsafe { libc::waitpid(child, null_mut(), 0) } == -1 && interrupted() {}
    // SAFETY: the call takes no pointer, and does not return.
    unsafe { libc::_exit(TIMEOUT_EXIT_STATUS) };
}

/// Prints which tests of the process with the id `process` are still running.
fn print_unfinished_tests(process: &OsStr) {
    let binary = env::current_exe().unwrap_or_default();
    let tests = list_test_names(&binary);
    let threads = thread_names(&Path::new("/proc").join(process).join("task"));
    let unfinished: Vec<_> = threads
        .iter()
        .filter_map(|name| tests_matching_thread_name(name, &tests))
        .collect();
    let what = if unfinished.is_empty() {
        "the unfinished test runs in the main thread: see the last name above".to_owned()
    } else {
        format!("unfinished: {}", unfinished.join(", "))
    };
    let seconds = env::var(LIMIT_VARIABLE).unwrap_or_default();
    let line = format!(
        "\nerror: {} still ran after {seconds} s ({LIMIT_VARIABLE}) and was ended; {what}\n",
        binary.display()
    );
    let _ = io::stderr().write_all(line.as_bytes());
}

/// Returns the names of all tests in the test binary `binary`, which it executes for this.
fn list_test_names(binary: &Path) -> Vec<String> {
    let mut list = Command::new(binary);
    list.args(["--list", "--format", "terse"])
        .env_remove(REPORT_VARIABLE);
    let printed = list
        .env(LIMIT_VARIABLE, "60")
        .output()
        .map(|output| output.stdout);
    let printed = String::from_utf8(printed.unwrap_or_default()).unwrap_or_default();
    printed
        .lines()
        .filter_map(|line| line.strip_suffix(": test"))
        .map(str::to_owned)
        .collect()
}

fn thread_names(tasks: &Path) -> Vec<String> {
    let names = fs::read_dir(tasks).into_iter().flatten().flatten();
    let names = names.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
    names
        .map(|name| name.trim_end_matches('\n').to_owned())
        .collect()
}

/// Returns the names of the tests that a thread with the name `name` may be running, joined to one
/// string; `None` if there is no such test. There are several if their names begin with the same 15
/// bytes.
fn tests_matching_thread_name(name: &str, tests: &[String]) -> Option<String> {
    let cut = |test: &String| test.as_bytes()[..test.len().min(THREAD_NAME_BYTES_MAX)].to_vec();
    let alike: Vec<_> = tests
        .iter()
        .filter(|test| cut(test) == name.as_bytes())
        .map(String::as_str)
        .collect();
    let more = alike.len().saturating_sub(LISTED_TESTS_MAX);
    let named = alike[..alike.len() - more].join(" or ");
    match (alike.len(), more) {
        (0, _) => None,
        (_, 0) => Some(named),
        _ => Some(format!("{named} or {more} more with the same beginning")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_thread_is_the_beginning_of_a_test() {
        let tests = ["short", "a_message_arrives", "a_message_arrives_late"].map(str::to_owned);
        assert_eq!(
            tests_matching_thread_name("short", &tests).as_deref(),
            Some("short")
        );
        let alike = tests_matching_thread_name("a_message_arriv", &tests);
        assert_eq!(
            alike.as_deref(),
            Some("a_message_arrives or a_message_arrives_late")
        );
        assert_eq!(tests_matching_thread_name("a_message", &tests), None);
        let many: Vec<_> = (0..11)
            .map(|number| format!("a_message_arrives_{number}"))
            .collect();
        let alike = tests_matching_thread_name("a_message_arriv", &many).unwrap();
        assert!(
            alike.ends_with("a_message_arrives_7 or 3 more with the same beginning"),
            "{alike}"
        );
    }
}
