//! A project outside this tree finds the installed library by CMake and pkg-config, or builds it as
//! a part of itself.

mod compiler;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use horus_testing::is_torture;

use compiler::{WARNINGS, root};

/// CMake builds and installs the library once, and each kind of project finds it.
#[test]
fn other_projects_find_the_library() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = dir.path().join("prefix");
    let cargo = cargo_settings();
    let build = build_library(dir.path(), &cargo);
    cmake(
        Command::new("cmake")
            .arg("--install")
            .arg(&build)
            .arg("--prefix")
            .arg(&prefix),
    );
    let lib = find(&prefix, "libhorus_cpp.so.0").expect("no libhorus_cpp.so.0 was installed");
    assert_eq!(
        fs::read_link(lib.join("libhorus_cpp.so")).unwrap(),
        Path::new("libhorus_cpp.so.0")
    );

    let consumer = copy_consumer(dir.path());
    let found = dir.path().join("found");
    let prefix_path = format!("-DCMAKE_PREFIX_PATH={}", prefix.display());
    let robot = root().join("../examples/robot/cpp");
    for (source, build) in [(&consumer, &found), (&robot, &dir.path().join("robot"))] {
        let mut configure = Command::new("cmake");
        cmake(
            configure
                .arg("-S")
                .arg(source)
                .arg("-B")
                .arg(build)
                .arg(&prefix_path),
        );
        cmake(Command::new("cmake").arg("--build").arg(build));
    }
    for talker in ["talker_c11", "talker_cpp17", "talker_cpp20"] {
        talk(&mut Command::new(found.join(talker)));
    }

    talk_by_pkg_config(dir.path(), &lib);

    let part = dir.path().join("part");
    let source = format!("-DHORUS_SOURCE={}", root().display());
    let mut configure = Command::new("cmake");
    configure
        .arg("-S")
        .arg(&consumer)
        .arg("-B")
        .arg(&part)
        .arg(source)
        .args(&cargo);
    cmake(&mut configure);
    let talkers = ["talker_c11", "talker_cpp17"];
    let mut build = Command::new("cmake");
    build.arg("--build").arg(&part);
    // WHY not all: the others were compiled with the same headers above.
    if !is_torture() {
        build.arg("--target").args(talkers);
    }
    cmake(&mut build);
    for talker in talkers {
        talk(&mut Command::new(part.join(talker)));
    }
    // The project installs itself, and not this library, unless it wants that.
    for (setting, is_installed) in [("OFF", false), ("ON", true)] {
        if is_installed {
            let mut configure = Command::new("cmake");
            configure
                .arg(&part)
                .arg(format!("-DHORUS_INSTALL={setting}"));
            cmake(&mut configure);
        }
        let prefix = dir.path().join(setting);
        let mut install = Command::new("cmake");
        install
            .arg("--install")
            .arg(&part)
            .arg("--prefix")
            .arg(&prefix);
        cmake(&mut install);
        let found = find(&prefix, "horus.h").is_some();
        assert_eq!(found, is_installed, "HORUS_INSTALL {setting}");
    }
}

/// Some systems install the library or the headers outside of the prefix.
#[test]
fn other_projects_find_the_library_in_absolute_directories() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let (prefix, lib, include) = (at("prefix"), at("elsewhere/lib"), at("elsewhere/include"));
    let consumer = copy_consumer(dir.path());
    for is_include_absolute in [false, true] {
        let mut settings = cargo_settings();
        settings.push(format!("-DCMAKE_INSTALL_PREFIX={}", prefix.display()));
        settings.push(format!("-DCMAKE_INSTALL_LIBDIR={}", lib.display()));
        if is_include_absolute {
            settings.push(format!("-DCMAKE_INSTALL_INCLUDEDIR={}", include.display()));
        }
        let build = build_library(dir.path(), &settings);
        cmake(Command::new("cmake").arg("--install").arg(&build));
        talk_by_pkg_config(dir.path(), &lib);
        let package = format!("-Dhorus_DIR={}", lib.join("cmake/horus").display());
        let mut configure = Command::new("cmake");
        configure
            .arg("-S")
            .arg(&consumer)
            .arg("-B")
            .arg(at("found"));
        cmake(configure.arg(package));
        let mut build = Command::new("cmake");
        build.arg("--build").arg(at("found"));
        cmake(build.args(["--target", "talker_c11"]));
        talk(&mut Command::new(at("found/talker_c11")));
        // The next round must not find what this one installed.
        for made in ["prefix", "elsewhere", "found"] {
            if at(made).exists() {
                fs::remove_dir_all(at(made)).unwrap();
            }
        }
    }
}

/// Copies a project that uses the library, with its sources, to a directory below `dir`. Returns
/// that directory.
fn copy_consumer(dir: &Path) -> PathBuf {
    let consumer = dir.join("consumer");
    fs::create_dir(&consumer).unwrap();
    for from in ["tests/consumer", "examples"] {
        for file in fs::read_dir(root().join(from)).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), consumer.join(file.file_name())).unwrap();
        }
    }
    consumer
}

/// Returns the settings with which CMake calls cargo in the tests.
fn cargo_settings() -> Vec<String> {
    // WHY kept: cargo builds for CMake in a separate directory, which is slow the first time.
    let cargo_dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cmake");
    vec![
        format!("-DHORUS_CARGO_TARGET_DIR={}", cargo_dir.display()),
        format!("-DHORUS_CARGO={}", env!("CARGO")),
        "-DHORUS_CARGO_PROFILE=dev".to_owned(),
        "-DHORUS_CARGO_FLAGS=--offline".to_owned(),
    ]
}

/// Builds the library by CMake in a directory below `dir`, and returns that directory.
fn build_library(dir: &Path, settings: &[String]) -> PathBuf {
    let build = dir.join("build");
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(root()).arg("-B").arg(&build);
    cmake(configure.args(settings));
    cmake(Command::new("cmake").arg("--build").arg(&build));
    build
}

/// Builds a talker with the flags that pkg-config finds in the directory of the library, and runs
/// it.
fn talk_by_pkg_config(dir: &Path, lib: &Path) {
    let pkg_config = run(
        Command::new("pkg-config")
            .args(["--cflags", "--libs", "horus"])
            .env("PKG_CONFIG_PATH", lib.join("pkgconfig")),
        "pkg-config",
    );
    let talker = dir.join("talker");
    run(
        Command::new("cc")
            .args(["-std=c11", "-D_POSIX_C_SOURCE=200809L"])
            .args(WARNINGS)
            .arg(root().join("examples/talker.c"))
            .arg("-o")
            .arg(&talker)
            .args(pkg_config.split_whitespace()),
        "gcc",
    );
    talk(Command::new(&talker).env("LD_LIBRARY_PATH", lib));
}

/// Returns the directory at or below `dir` that has this file.
fn find(dir: &Path, name: &str) -> Option<PathBuf> {
    if dir.join(name).exists() {
        return Some(dir.to_owned());
    }
    let entries = fs::read_dir(dir).ok()?.map(|entry| entry.unwrap().path());
    entries
        .filter(|path| path.is_dir())
        .find_map(|path| find(&path, name))
}

/// Runs a talker for two messages.
fn talk(talker: &mut Command) {
    use std::os::unix::fs::PermissionsExt;
    let private = PermissionsExt::from_mode(0o700);
    let shm = tempfile::Builder::new()
        .permissions(private)
        .tempdir_in("/dev/shm")
        .unwrap();
    talker
        .arg("2")
        .env("HORUS_SHM_DIR", shm.path().join("shm"))
        .env_remove("HORUS_NAMESPACE");
    assert_eq!(run(talker, "the talker"), "sent 1\nsent 2\n");
}

fn cmake(command: &mut Command) {
    // WHY: the flags of the cargo that runs this test would be passed to the cargo that CMake runs.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("CARGO_") && name != "CARGO_HOME" {
            command.env_remove(&*name);
        }
    }
    // WHY: it builds once, and nothing reads the debug information.
    command
        .env("CARGO_INCREMENTAL", "0")
        .env("CARGO_PROFILE_DEV_DEBUG", "none");
    run(command, "cmake");
}

/// Runs a command, checks that it succeeds, and returns its output.
fn run(command: &mut Command, package: &str) -> String {
    let output = command.env("LC_ALL", "C").stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| {
        panic!("cannot run {command:?}: {error}; this test needs {package}: apt-get install it")
    });
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{command:?}: {}\n{said}\n{errors}",
        output.status
    );
    said
}
