//! Kernels that lack a system call, or refuse it: seccomp filters.

#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]

/// Makes `call` fail with `error`, from now on, in this thread and in threads that it starts.
pub fn refuse(call: i64, error: i32) {
    let statement = |code: u32, k: u32| libc::sock_filter {
        code: code as u16,
        jt: 0,
        jf: 0,
        k,
    };
    let unless_this = libc::sock_filter {
        code: (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16,
        jt: 0,
        jf: 1,
        k: call as u32,
    };
    // The first word of a filter's input is the number of the call.
    let mut filter = [
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0),
        unless_this,
        statement(
            libc::BPF_RET | libc::BPF_K,
            libc::SECCOMP_RET_ERRNO | error as u32,
        ),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW),
    ];
    install(&mut filter);
}

/// Makes the kernel end the process with SIGSYS at any call of this thread except `calls`.
///
/// WHY not the kernel's strict mode: it also forbids reading the time stamp counter, with which the
/// C library reads the clock without a system call.
pub fn allow_only(calls: &[i64]) {
    let statement = |code: u32, k: u32| libc::sock_filter {
        code: code as u16,
        jt: 0,
        jf: 0,
        k,
    };
    let mut filter = vec![statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0)];
    for (index, &call) in calls.iter().enumerate() {
        let code = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
        let jt = (calls.len() - index) as u8;
        filter.push(libc::sock_filter {
            code,
            jt,
            jf: 0,
            k: call as u32,
        });
    }
    filter.push(statement(
        libc::BPF_RET | libc::BPF_K,
        libc::SECCOMP_RET_KILL_PROCESS,
    ));
    filter.push(statement(
        libc::BPF_RET | libc::BPF_K,
        libc::SECCOMP_RET_ALLOW,
    ));
    install(&mut filter);
}

fn install(filter: &mut [libc::sock_filter]) {
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: takes integers.
    let unprivileged = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    assert_eq!(unprivileged, 0);
    let mode = libc::SECCOMP_MODE_FILTER;
    let program = &raw const program;
    // SAFETY: the program and its instructions are readable for the call.
    let set = unsafe { libc::prctl(libc::PR_SET_SECCOMP, mode, program) };
    assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
}
