//! The configuration of a namespace: its directory, its name, and the users that share it.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::{self, Path, PathBuf};

use super::NamespaceError;
use crate::file::name::NamespaceName;
use crate::os::access::AccessRule;
use crate::os::{self, group};

const DIR_VARIABLE: &str = "HORUS_SHM_DIR";
const NAMESPACE_VARIABLE: &str = "HORUS_NAMESPACE";
const GROUP_VARIABLE: &str = "HORUS_SHM_GROUP";

/// The directory and name of a namespace to open, and the users that share the namespace.
///
/// By default, a namespace belongs to one user. [`NamespaceConfig::with_group`] shares it among the
/// members of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamespaceConfig {
    dir: PathBuf,
    name: NamespaceName,
    access: AccessRule,
}

impl NamespaceConfig {
    /// Selects the namespace `name` in `dir`, for the user of this process. Opening the namespace
    /// creates `dir` and the namespace's directory if necessary; the parent of `dir` must exist.
    pub fn new(dir: impl Into<PathBuf>, name: NamespaceName) -> Self {
        Self {
            dir: dir.into(),
            name,
            access: AccessRule::User,
        }
    }

    /// Selects the namespace that the environment variables name: `$HORUS_NAMESPACE` in the
    /// directory `$HORUS_SHM_DIR`, shared by the members of the group `$HORUS_SHM_GROUP`.
    ///
    /// If a variable is unset or empty, its default is used. The default name is `default`, and the
    /// default is no group. The default directory is `/dev/shm/horus-<uid>`, or
    /// `/dev/shm/horus-g<gid>` with a group. So two terminals of one user share a namespace, and so
    /// do all members of a group who set `$HORUS_SHM_GROUP`.
    ///
    /// # Errors
    ///
    /// [`NamespaceError::Name`] if `$HORUS_NAMESPACE` is not a valid name; otherwise the errors of
    /// [`NamespaceConfig::with_group`].
    pub fn from_env() -> Result<Self, NamespaceError> {
        let set = |variable| env::var_os(variable).filter(|value: &OsString| !value.is_empty());
        // WHY lossy: a text that is not UTF-8 gets a character that no valid name has.
        let text = |variable| set(variable).map(|text| text.to_string_lossy().into_owned());
        let name = match text(NAMESPACE_VARIABLE) {
            Some(name) => NamespaceName::new(&name)?,
            None => NamespaceName::default(),
        };
        let access = match text(GROUP_VARIABLE) {
            Some(group) => AccessRule::Group(find_gid(&group)?),
            None => AccessRule::User,
        };
        let dir = set(DIR_VARIABLE).map_or_else(|| default_dir(access), PathBuf::from);
        Ok(Self { dir, name, access })
    }

    /// Shares the namespace among the members of `group`, which is the name of a group, or its
    /// number in decimal digits. All processes that use the namespace have to select the same
    /// group. If the directory is the default one of [`NamespaceConfig::from_env`], the default
    /// directory of the group replaces it.
    ///
    /// Directories get the mode 2770 and files 0660, and all of them belong to the group. A process
    /// that is not a member gets [`NamespaceError::NotAMember`]. Members can affect each other's
    /// processes just as processes of one user can, except that they cannot trace or kill them.
    ///
    /// Reads the system's database of groups. Some systems ask another machine for this, so do not
    /// call this function in a control loop.
    ///
    /// # Errors
    ///
    /// [`NamespaceError::UnknownGroup`] if there is no such group; [`NamespaceError::GroupLookup`]
    /// if the database of groups cannot be read.
    pub fn with_group(self, group: &str) -> Result<Self, NamespaceError> {
        let access = AccessRule::Group(find_gid(group)?);
        // WHY: the members would not find a directory that has the number of a user in its name.
        let dir = if self.dir == default_dir(self.access) {
            default_dir(access)
        } else {
            self.dir
        };
        Ok(Self {
            dir,
            name: self.name,
            access,
        })
    }

    /// Returns a configuration that differs from this one only in the name of the namespace.
    #[must_use]
    pub fn with_name(self, name: NamespaceName) -> Self {
        Self { name, ..self }
    }

    /// Returns the parent directory, in which the namespace has its own directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the namespace's name.
    pub fn name(&self) -> &NamespaceName {
        &self.name
    }

    /// Returns the id of the group whose members share the namespace; `None` if the namespace
    /// belongs to one user.
    pub fn gid(&self) -> Option<u32> {
        match self.access {
            AccessRule::User => None,
            AccessRule::Group(gid) => Some(gid),
        }
    }

    /// Returns the same configuration with an absolute path as its directory.
    pub(super) fn to_absolute(&self) -> io::Result<Self> {
        let dir = path::absolute(&self.dir)?;
        Ok(Self {
            dir,
            ..self.clone()
        })
    }

    pub(super) fn access_rule(&self) -> AccessRule {
        self.access
    }
}

/// Returns the parent directory that is used if none is configured. All processes of the same users
/// compute the same path.
fn default_dir(access: AccessRule) -> PathBuf {
    PathBuf::from(match access {
        AccessRule::User => format!("/dev/shm/horus-{}", os::effective_uid()),
        AccessRule::Group(gid) => format!("/dev/shm/horus-g{gid}"),
    })
}

fn find_gid(group: &str) -> Result<u32, NamespaceError> {
    let unknown = || NamespaceError::UnknownGroup {
        group: group.to_owned(),
    };
    if !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_digit()) {
        // WHY not the largest number: it stands for "unchanged" where the kernel takes a group.
        let gid = group.parse().ok().filter(|&gid| gid != u32::MAX);
        return gid.ok_or_else(unknown);
    }
    match group::find_gid(group) {
        Ok(gid) => gid.ok_or_else(unknown),
        Err(source) => Err(NamespaceError::GroupLookup {
            group: group.to_owned(),
            source,
        }),
    }
}
