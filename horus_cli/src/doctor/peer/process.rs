//! Reads information about another process from `/proc`.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use horus_core::namespace::{NamespaceConfig, NamespaceName};

use crate::failure::Failure;
use crate::output::format::visible;
use crate::process::ProcessStat;

/// Name of a file in the directory of every namespace. Each process that uses the namespace holds
/// it open.
const REGISTRY_FILE: &str = "registry";

/// The number of the system error "No such process".
const ESRCH: i32 = 3;

/// Suffix that the kernel appends to the path of an open file in `/proc/PID/fd` if the file was
/// removed.
const DELETED_SUFFIX: &str = " (deleted)";

/// The user id and the group ids of a process, which decide which files it can open.
#[derive(Debug, Default)]
pub(super) struct Credentials {
    pub(super) uid: u32,
    pub(super) groups: Vec<u32>,
}

/// A namespace that another process has open.
#[derive(Debug)]
pub(in crate::doctor) struct OpenNamespace {
    /// The path of the namespace's directory, as the other process sees it.
    pub(in crate::doctor) path: PathBuf,
    /// Device number and inode number of the namespace's registry file. Two paths with the same
    /// numbers are the same namespace.
    pub(in crate::doctor) identity: (u64, u64),
    /// True if the namespace was removed while the process had it open.
    pub(in crate::doctor) is_deleted: bool,
}

/// The process that this command compares with itself.
#[derive(Debug)]
pub(super) struct PeerProcess {
    pub(super) pid: u32,
    pub(super) name: String,
    pub(super) credentials: Credentials,
    /// The id of the process in the pid namespace in which it runs. `None` if that is also the pid
    /// namespace of this command.
    pub(super) inner_namespace_pid: Option<u32>,
    /// The start time of the process, in clock ticks since boot; `None` if it cannot be read. With
    /// the id, it identifies the process even if the id is reused.
    pub(super) start_time: Option<u64>,
    /// The environment variables with which the process was started; `None` if they cannot be read.
    variables: Option<BTreeMap<String, String>>,
    pub(super) namespaces: io::Result<Vec<OpenNamespace>>,
}

impl PeerProcess {
    /// Reads information about the process `pid` from `/proc`. Fails if there is no process with
    /// that id.
    pub(super) fn read(pid: u32) -> Result<Self, Failure> {
        let dir = format!("/proc/{pid}");
        let status = read_status(&dir).map_err(|error| match error {
            error if is_missing_process(&error) => Failure::not_found(format_args!(
                "no process {pid} here; inside a container, processes have other ids: horus \
                 doctor lists those of the namespace"
            )),
            error => Failure::system(format_args!("cannot read {dir}/status: {error}")),
        })?;
        let field = |name: &str| status_field(&status, name).unwrap_or_default();
        let is_foreign = read_link(&format!("{dir}/ns/pid")) != read_link("/proc/self/ns/pid");
        let inner = field("NSpid:").split_whitespace().last();
        Ok(Self {
            pid,
            name: field("Name:").to_owned(),
            credentials: Credentials::parse(&status),
            inner_namespace_pid: inner
                .filter(|_| is_foreign)
                .and_then(|inner| inner.parse().ok()),
            start_time: ProcessStat::read(pid).map(|stat| stat.start_time),
            variables: fs::read(format!("{dir}/environ")).ok().map(parse_environ),
            namespaces: find_open_namespaces(&dir),
        })
    }

    /// Returns the id of the process in its own pid namespace.
    pub(super) fn pid_in_its_namespace(&self) -> u32 {
        self.inner_namespace_pid.unwrap_or(self.pid)
    }

    /// Returns the path by which this command can open a file of the process. `path` is the path of
    /// the file as the process sees it.
    pub(super) fn path_in_root(&self, path: &Path) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.pid));
        root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Returns the directory of the namespace that the environment variables of the process select;
    /// `None` if the variables cannot be read. The program can still select another namespace by
    /// itself.
    pub(super) fn expected_namespace(&self) -> Option<PathBuf> {
        let variables = self.variables.as_ref()?;
        let set = |name: &str| variables.get(name).filter(|value| !value.is_empty());
        let default = match set("HORUS_SHM_GROUP") {
            Some(group) => format!("/dev/shm/horus-g{}", group_id_text(group)),
            None => format!("/dev/shm/horus-{}", self.credentials.uid),
        };
        let dir = set("HORUS_SHM_DIR").map_or(default, String::clone);
        let name = set("HORUS_NAMESPACE").map_or("default", String::as_str);
        Some(PathBuf::from(dir).join(name))
    }
}

impl fmt::Display for PeerProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", visible(&self.name), self.pid)
    }
}

impl Credentials {
    /// Reads the user and group ids of a process. `process` is the id of the process, or `self`.
    /// Returns `None` if they cannot be read.
    pub(super) fn read(process: &str) -> Option<Self> {
        let status = read_status(&format!("/proc/{process}")).ok()?;
        Some(Self::parse(&status))
    }

    fn parse(status: &str) -> Self {
        let numbers = |name: &str| -> Vec<u32> {
            let numbers = status_field(status, name)
                .unwrap_or_default()
                .split_whitespace();
            numbers.filter_map(|number| number.parse().ok()).collect()
        };
        // The second number is the effective one.
        let effective = |name: &str| numbers(name).get(1).copied().unwrap_or_default();
        let mut groups = numbers("Groups:");
        groups.push(effective("Gid:"));
        Self {
            uid: effective("Uid:"),
            groups,
        }
    }
}

impl OpenNamespace {
    /// Returns the device number and the inode number of the registry file in the directory `dir`.
    /// Returns `None` if there is no registry file, which means that `dir` is not a namespace.
    pub(super) fn registry_device_and_inode(dir: &Path) -> Option<(u64, u64)> {
        let registry = fs::metadata(dir.join(REGISTRY_FILE)).ok()?;
        Some((registry.dev(), registry.ino()))
    }
}

/// Returns the number of the group with the name or number `name_or_id`. Returns
/// `name_or_id` itself if there is no such group: a program with it opens no namespace.
fn group_id_text(name_or_id: &str) -> String {
    let config = NamespaceConfig::new("/", NamespaceName::default()).with_group(name_or_id);
    let gid = config.ok().and_then(|config| config.gid());
    gid.map_or_else(|| name_or_id.to_owned(), |gid| gid.to_string())
}

/// Returns the value of the field `name` in `status`, the content of `/proc/PID/status`; `None` if
/// there is no such field.
fn status_field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = status.lines();
    lines
        .find_map(|line| line.strip_prefix(name))
        .map(str::trim)
}

fn read_link(path: &str) -> Option<PathBuf> {
    fs::read_link(path).ok()
}

/// Returns the content of the file `status` in `dir`, the directory of a process in `/proc`.
///
/// WHY not read as text: the name may contain anything, and the kernel cuts it within characters.
fn read_status(dir: &str) -> io::Result<String> {
    let status = fs::read(format!("{dir}/status"))?;
    Ok(String::from_utf8_lossy(&status).into_owned())
}

/// Returns true if `error`, from reading a file in `/proc/PID`, means that there is no such
/// process.
fn is_missing_process(error: &io::Error) -> bool {
    // A process that ends between the opening of the file and its reading.
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(ESRCH)
}

/// Parses `environ`, the content of `/proc/PID/environ`, into environment variables and their
/// values.
fn parse_environ(environ: Vec<u8>) -> BTreeMap<String, String> {
    let text = String::from_utf8_lossy(&environ);
    let pairs = text.split('\0').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// Returns the namespaces that the process `pid` has open.
///
/// # Errors
///
/// Returns the system error if its open files cannot be read.
pub(in crate::doctor) fn open_namespaces_of(pid: u32) -> io::Result<Vec<OpenNamespace>> {
    find_open_namespaces(&format!("/proc/{pid}"))
}

/// Returns the namespaces that a process has open, which are those whose registry files it has
/// open. `dir` is the directory of the process in `/proc`.
fn find_open_namespaces(dir: &str) -> io::Result<Vec<OpenNamespace>> {
    let mut found: Vec<OpenNamespace> = Vec::new();
    for entry in fs::read_dir(format!("{dir}/fd"))?.flatten() {
        // A descriptor that was closed meanwhile has neither.
        let (Ok(path), Ok(file)) = (fs::read_link(entry.path()), fs::metadata(entry.path())) else {
            continue;
        };
        let bytes = path.as_os_str().as_bytes();
        let named = bytes.strip_suffix(DELETED_SUFFIX.as_bytes());
        let is_deleted = named.is_some();
        let path = Path::new(std::ffi::OsStr::from_bytes(named.unwrap_or(bytes)));
        let identity = (file.dev(), file.ino());
        let is_known = found.iter().any(|one| one.identity == identity);
        if path.file_name().is_some_and(|name| name == REGISTRY_FILE) && file.is_file() && !is_known
        {
            found.push(OpenNamespace {
                path: path.parent().unwrap_or(Path::new("/")).to_owned(),
                identity,
                is_deleted,
            });
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_that_ends_while_it_is_read_is_missing() {
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let path = format!("/proc/{}/status", child.id());
        let mut status = fs::File::open(&path).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let error = status.read_to_string(&mut String::new()).unwrap_err();
        assert!(is_missing_process(&error), "{error}");
        let error = fs::read(&path).unwrap_err();
        assert!(is_missing_process(&error), "{error}");
    }
}
