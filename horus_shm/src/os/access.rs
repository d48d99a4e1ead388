//! Access rules: the users that share the files of a namespace, and the owner, group and permission
//! bits of files that follow from that.

use std::io;
use std::os::fd::BorrowedFd;

use super::{Stat, effective_uid, fchmod, set_group};

/// The rule that says which users share the files of a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessRule {
    /// One user: files and directories have to belong to the user of this process.
    User,
    /// The members of the group with this number: files and directories have to belong to the
    /// group, and to any user. Only a member, or root, can make such a file.
    Group(u32),
}

impl AccessRule {
    /// Returns the permission bits of new files, which are the widest that existing ones may have.
    pub(crate) fn file_mode(self) -> u32 {
        match self {
            Self::User => 0o600,
            Self::Group(_) => 0o660,
        }
    }

    /// Returns the permission bits of new directories, which are the widest that existing ones may
    /// have. A group's directory has the set-group-id bit, so that what is made in it belongs to
    /// the group.
    pub(crate) fn dir_mode(self) -> u32 {
        match self {
            Self::User => 0o700,
            Self::Group(_) => 0o2770,
        }
    }

    /// Returns true if exactly the users of this rule have access to a file or directory with the
    /// permission bits `mode`, or fewer.
    pub(crate) fn excludes_others(self, stat: &Stat, mode: u32) -> bool {
        match self {
            Self::User => stat.uid == effective_uid() && stat.permissions() & !mode == 0,
            Self::Group(gid) => stat.gid == gid && stat.mode_bits() & !mode == 0,
        }
    }

    /// Returns true if the directory has the owner or group, and the mode, of one that this rule
    /// makes.
    pub(crate) fn permits_dir(self, stat: &Stat) -> bool {
        let is_usable = stat.mode_bits() & self.dir_mode() == self.dir_mode();
        self.excludes_others(stat, self.dir_mode()) && is_usable
    }

    /// Returns true if this rule accepts the owner or group of the file, and its mode. A file of
    /// this user may lack permission bits. WHY: no other user has them then, and a call that needs
    /// such a bit fails.
    pub(crate) fn permits_file(self, stat: &Stat) -> bool {
        let is_usable = match self {
            Self::User => true,
            Self::Group(_) => stat.mode_bits() == self.file_mode(),
        };
        self.excludes_others(stat, self.file_mode()) && is_usable
    }

    /// Checks the file as [`Self::permits_file`] does. The error describes what was found.
    pub(crate) fn check_file(self, stat: &Stat) -> Result<(), String> {
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

    /// Gives a new file its group and its permission bits, independent of the umask.
    pub(crate) fn apply_to_file(self, file: BorrowedFd<'_>) -> io::Result<()> {
        if let Self::Group(gid) = self {
            set_group(file, gid)?;
        }
        fchmod(file, self.file_mode())
    }
}
