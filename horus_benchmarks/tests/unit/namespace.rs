//! A namespace is private, and is removed with all that it holds.

use std::fs::{self};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use horus_benchmarks::run::namespace::*;

#[test]
fn a_namespace_is_private_and_goes_with_all_it_holds() {
    let namespace = PrivateNamespace::create().unwrap();
    let directory = namespace.directory().to_owned();
    assert_eq!(
        fs::metadata(&directory).unwrap().permissions().mode() & 0o777,
        0o700
    );
    fs::create_dir(directory.join("topics")).unwrap();
    fs::write(directory.join("topics/cmd_vel"), b"data").unwrap();
    assert_eq!(namespace.environment()[0].1, directory);
    let topics = namespace.open().unwrap().topics_path();
    assert!(topics.starts_with(&directory) && topics.is_dir());
    let mut beside = directory.clone().into_os_string();
    beside.push("-of-another-library");
    fs::write(&beside, b"data").unwrap();
    drop(namespace);
    assert!(!directory.exists() && !Path::new(&beside).exists());
}
