//! C programs of the tests: compiled by the system's compiler, linked with the library, and run.

#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]

pub mod calls;
pub mod header;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use horus_testing::{PointSample, is_torture};
use tempfile::TempDir;

pub const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

/// Further warnings that the C++ headers do not cause.
pub const CPP_WARNINGS: [&str; 3] = ["-Wshadow", "-Wconversion", "-Wsign-conversion"];

/// The dialects of C++ that the headers are for.
const DIALECTS: [&str; 2] = ["-std=c++17", "-std=c++20"];

/// Returns the dialects in which this run compiles the program with this number: one of them,
/// another one in other runs. With `HORUS_TORTURE=1`, returns all. WHY: the headers are long.
pub fn dialects(number: usize) -> impl Iterator<Item = &'static str> {
    let sample = PointSample::every(DIALECTS.len());
    sample.numbered_from(number).select_items(DIALECTS)
}

/// Returns the flags of optimisation and debug information. WHY none in the usual run: they take as
/// long as the rest of a compilation, and it takes longer than the programs run.
fn optimisation() -> &'static [&'static str] {
    if sanitizer().is_some() || is_torture() {
        &["-O1", "-g"]
    } else {
        &["-O0"]
    }
}

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the directory of the library that was built with this test.
pub fn library_dir() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let deps = test.parent().unwrap();
    assert!(
        deps.join("libhorus_cpp.so").exists(),
        "no libhorus_cpp.so in {}",
        deps.display()
    );
    deps.to_owned()
}

/// Returns the sanitizer that `.ci/sanitizers` built the library with, which all programs then use.
pub fn sanitizer() -> Option<String> {
    std::env::var("HORUS_TEST_SANITIZER")
        .ok()
        .filter(|name| !name.is_empty())
}

/// Returns the system's C compiler, with English messages. A later flag of optimisation replaces
/// its own one.
pub fn cc() -> Command {
    let mut cc = Command::new("cc");
    cc.env("LC_ALL", "C")
        .stdin(Stdio::null())
        .args(optimisation())
        .arg("-I")
        .arg(root().join("include"));
    cc
}

/// Returns the system's C++ compiler.
pub fn cxx() -> Command {
    let mut cxx = Command::new("c++");
    cxx.env("LC_ALL", "C")
        .stdin(Stdio::null())
        .args(optimisation())
        .arg("-I")
        .arg(root().join("include"));
    cxx
}

/// Returns the compiler's messages if it rejects this C11 source.
pub fn refusal(source: &str, flags: &[&str]) -> Option<String> {
    refused(cc(), "main.c", source, flags)
}

/// Returns the compiler's messages if it rejects this C++ source.
pub fn cpp_refusal(source: &str, flags: &[&str]) -> Option<String> {
    refused(cxx(), "main.cpp", source, flags)
}

/// Headers of C++20, compiled once for many sources. WHY: they take most of the time of a source.
pub struct Precompiled {
    dir: TempDir,
}

impl Precompiled {
    const FLAGS: [&str; 1] = ["-std=c++20"];

    pub fn new(includes: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let header = dir.path().join("precompiled.hpp");
        std::fs::write(&header, includes).unwrap();
        // The compiler takes the file of this name in place of the header.
        let compiled = dir.path().join("precompiled.hpp.gch");
        let mut compiler = cxx();
        compiler.args(Self::FLAGS).args(WARNINGS);
        let output = compiler
            .args(["-x", "c++-header"])
            .arg(&header)
            .arg("-o")
            .arg(compiled)
            .output();
        let output = output.expect("this test needs a C++ compiler as `c++`");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        Self { dir }
    }

    /// Returns the compiler's messages if it rejects this source after the headers.
    pub fn refusal(&self, source: &str) -> Option<String> {
        let mut compiler = cxx();
        compiler.arg("-I").arg(self.dir.path());
        let source = format!("#include \"precompiled.hpp\"\n{source}");
        refused(compiler, "main.cpp", &source, &Self::FLAGS)
    }
}

fn refused(mut compiler: Command, name: &str, source: &str, flags: &[&str]) -> Option<String> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join(name);
    std::fs::write(&file, source).unwrap();
    let output = compiler
        .args(flags)
        .args(WARNINGS)
        .arg("-fsyntax-only")
        .arg(&file)
        .output();
    let output = output.expect("this test needs C and C++ compilers as `cc` and `c++`");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    (!output.status.success()).then_some(errors)
}

/// A C program of `tests/c`, and memory for its topics, removed when dropped.
pub struct Program {
    dir: TempDir,
    binary: PathBuf,
    library: PathBuf,
}

impl Program {
    pub fn new(name: &str) -> Self {
        Self::c(&format!("tests/c/{name}.c"))
    }

    /// Compiles a C program, by its path in this crate.
    pub fn c(path: &str) -> Self {
        let mut cc = cc();
        cc.args(["-std=c11", "-D_POSIX_C_SOURCE=200809L"]);
        Self::of(cc, &root().join(path), &library_dir())
    }

    /// Compiles `c/abuse.c`, which calls every function of the library in this directory.
    pub fn abuse(library: &Path) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("every_call.h"), calls::every_call()).unwrap();
        let mut cc = cc();
        cc.args(["-std=c11", "-D_POSIX_C_SOURCE=200809L"])
            .arg("-I")
            .arg(dir.path());
        Self::of(cc, &root().join("tests/c/abuse.c"), library)
    }

    /// Compiles a C++ program, by its path in this crate.
    pub fn cpp(path: &str, flags: &[&str]) -> Self {
        let mut cxx = cxx();
        cxx.args(CPP_WARNINGS).args(flags);
        Self::of(cxx, &root().join(path), &library_dir())
    }

    /// Compiles a C++ program with clang.
    pub fn clang(path: &str, flags: &[&str]) -> Self {
        let mut clang = Command::new("clang++");
        clang
            .args(optimisation())
            .arg("-I")
            .arg(root().join("include"))
            .args(CPP_WARNINGS)
            .args(flags);
        Self::of(clang, &root().join(path), &library_dir())
    }

    fn of(mut compiler: Command, source: &Path, library: &Path) -> Self {
        let private = PermissionsExt::from_mode(0o700);
        let dir = tempfile::Builder::new()
            .permissions(private)
            .tempdir_in("/dev/shm")
            .unwrap();
        let binary = dir.path().join(source.file_stem().unwrap());
        if let Some(sanitizer) = sanitizer() {
            compiler.arg(format!("-fsanitize={sanitizer}"));
            if sanitizer == "thread" {
                compiler.arg(root().join("tests/c/tsan.c"));
            }
        }
        compiler.arg("-pthread").args(WARNINGS).arg(source);
        compiler
            .arg("-o")
            .arg(&binary)
            .arg("-L")
            .arg(library)
            .arg("-lhorus_cpp");
        let output = compiler.output();
        let output = output.expect("this test needs C and C++ compilers as `cc` and `c++`");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        Self {
            dir,
            binary,
            library: library.to_owned(),
        }
    }

    /// Returns the folder of its namespaces.
    pub fn shm_dir(&self) -> PathBuf {
        self.dir.path().join("shm")
    }

    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.binary);
        // WHY: a misused call may create directories by relative paths.
        command.current_dir(self.dir.path());
        command
            .env("LD_LIBRARY_PATH", &self.library)
            .env("HORUS_SHM_DIR", self.shm_dir());
        command.env_remove("HORUS_NAMESPACE").stdin(Stdio::null());
        // WHY: AddressSanitizer reports the exit of a cancelled thread as an overflow.
        command.env("ASAN_OPTIONS", "use_sigaltstack=0");
        command
    }

    /// Runs it, checks that it succeeds, and returns its output.
    pub fn run(&self, arguments: &[&str]) -> String {
        let output = self.command().args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "{}\n{said}\n{errors}",
            output.status
        );
        said
    }
}

/// A running program, killed when dropped, so that it does not outlive a failed test.
pub struct Spawned(Child);

impl Spawned {
    pub fn new(command: &mut Command) -> Self {
        Self(command.spawn().unwrap())
    }

    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Returns its output, once.
    pub fn take_stdout(&mut self) -> ChildStdout {
        self.0.stdout.take().unwrap()
    }

    /// Returns its exit status, if it has ended.
    pub fn try_wait(&mut self) -> Option<ExitStatus> {
        self.0.try_wait().unwrap()
    }

    /// Closes its input, and waits until it has ended.
    pub fn wait(&mut self) -> ExitStatus {
        self.0.wait().unwrap()
    }
}

impl Drop for Spawned {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
