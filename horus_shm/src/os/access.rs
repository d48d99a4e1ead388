//! Access rules: which users share the files of a namespace, and which owner, group and permission
//! bits these files therefore have.

use std::io;
use std::os::fd::BorrowedFd;

use super::{FileStatus, effective_uid, fchmod, set_group};

/// The rule that decides which users share the files of a namespace, and with which permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessRule {
    /// A single user: files and directories must belong to the user of this process.
    User,
    /// The members of the group with this id: files and directories must belong to the group, and
    /// may belong to any user. Only a member of the group, or root, can create a file that belongs
    /// to the group.
    Group(u32),
}

impl AccessRule {
    /// Returns the permission bits that new files get. An existing file that permits more is not
    /// used.
    pub(crate) fn file_mode(self) -> u32 {
        match self {
            Self::User => 0o600,
            Self::Group(_) => 0o660,
        }
    }

    /// Returns the permission bits of new directories. An existing directory with more permissions
    /// is refused. A group's directory has the set-group-id bit, so that files created in it belong
    /// to the group.
    pub(crate) fn dir_mode(self) -> u32 {
        match self {
            Self::User => 0o700,
            Self::Group(_) => 0o2770,
        }
    }

    /// Returns true if a file or directory with the status `stat` has no permission bits other than
    /// those in `mode_max`, and belongs to the user or group of this rule. No other user then has
    /// access.
    pub(crate) fn accepts_owner_and_mode(self, stat: &FileStatus, mode_max: u32) -> bool {
        match self {
            Self::User => stat.uid == effective_uid() && stat.permissions() & !mode_max == 0,
            Self::Group(gid) => stat.gid == gid && stat.mode_bits() & !mode_max == 0,
        }
    }

    /// Returns true if the owner or group of a directory, and its mode, are those that this rule
    /// gives to new directories.
    pub(crate) fn permits_dir(self, stat: &FileStatus) -> bool {
        let is_usable = stat.mode_bits() & self.dir_mode() == self.dir_mode();
        self.accepts_owner_and_mode(stat, self.dir_mode()) && is_usable
    }

    /// Returns true if this rule accepts the owner or group of the file, and its mode. For
    /// [`Self::User`], permission bits may be missing. WHY: missing bits give nobody more access,
    /// and a call that needs one of them fails.
    pub(crate) fn permits_file(self, stat: &FileStatus) -> bool {
        let is_usable = match self {
            Self::User => true,
            Self::Group(_) => stat.mode_bits() == self.file_mode(),
        };
        self.accepts_owner_and_mode(stat, self.file_mode()) && is_usable
    }

    /// Checks that [`Self::permits_file`] accepts the file. If not, the error text says which owner
    /// and mode were found.
    pub(crate) fn check_file(self, stat: &FileStatus) -> Result<(), String> {
        if self.permits_file(stat) {
            return Ok(());
        }
        let (uid, gid, mode) = (stat.uid, stat.gid, stat.mode_bits());
        let me = effective_uid();
        Err(match self {
            Self::User if uid != me => format!("owned by user {uid} (you are {me})"),
            Self::Group(wanted) if gid != wanted => {
                format!("owned by user {uid} and group {gid} (wanted group {wanted})")
            }
            Self::Group(_) if stat.permissions() & 0o007 == 0 => {
                format!("owned by user {uid} with mode {mode:04o} (wanted 0660)")
            }
            _ => format!("open to others (mode {:04o})", stat.permissions()),
        })
    }

    /// Sets the group and the permission bits of a new file. WHY the bits, too: the umask may have
    /// cleared some of them.
    pub(crate) fn apply_to_file(self, file: BorrowedFd<'_>) -> io::Result<()> {
        if let Self::Group(gid) = self {
            set_group(file, gid)?;
        }
        fchmod(file, self.file_mode())
    }
}
