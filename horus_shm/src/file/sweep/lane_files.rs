//! Removal of lane files that have no topic file any more, because a user removed the topic file by
//! hand, or because the process that was removing the topic died.

use std::collections::HashSet;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use crate::file::header::{self, HeaderError};
use crate::file::lane_name;
use crate::file::namespace::Namespace;
use crate::file::open::{lock_unless_in_use, provenance};
use crate::file::segment::FileId;
use crate::os::{self, OpenMode, lock};
use crate::protocol::layout::HEADER_BYTES;

/// Removes the lane files in the list `names` whose topic file has no name and is used by no
/// process. `named_topic_inodes` contains the inodes of the topic files that have a name. Returns
/// the names of the lane files that are damaged or cannot be examined.
pub(super) fn remove_orphaned_lane_files_and_get_unreadable(
    namespace: &Namespace,
    names: Vec<String>,
    named_topic_inodes: &HashSet<u64>,
) -> Vec<String> {
    let Ok(dir) = namespace.topics_dir() else {
        return names;
    };
    let is_foreign =
        |name: &String| match remove_orphaned_lane_file(namespace, dir, name, named_topic_inodes) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => false,
            removed => removed.is_err(),
        };
    names.into_iter().filter(is_foreign).collect()
}

fn remove_orphaned_lane_file(
    namespace: &Namespace,
    dir: BorrowedFd<'_>,
    name: &str,
    named_topic_inodes: &HashSet<u64>,
) -> io::Result<()> {
    let fd = os::open_file(dir, name, OpenMode::ReadOnly)?;
    let stat = os::fstat(fd.as_fd())?;
    let mut bytes = vec![0; HEADER_BYTES.min(stat.size_bytes as usize)];
    os::read_at(fd.as_fd(), &mut bytes, 0)?;
    let provenance = provenance(namespace);
    match header::decode_lane_header(&bytes, stat.size_bytes, provenance) {
        Ok((_, lane)) if named_topic_inodes.contains(&lane.topic_inode) => Ok(()),
        Ok((_, lane)) => {
            let topic = FileId::new(stat.dev, lane.topic_inode);
            remove_if_unused(namespace, topic, || unlink(dir, name))
        }
        // WHY at once: no process outlives its boot.
        Err(HeaderError::Boot) => unlink(dir, name),
        Err(HeaderError::Version(_) | HeaderError::Registry) => {
            if lock::try_write_lease(fd.as_fd())? {
                unlink(dir, name)?;
                lock::end_lease(fd.as_fd())?;
            }
            Ok(())
        }
        Err(HeaderError::Magic | HeaderError::Damaged { .. }) => {
            Err(io::ErrorKind::InvalidData.into())
        }
    }
}

/// Calls `remove` if no process, including this one, uses the topic file.
fn remove_if_unused(
    namespace: &Namespace,
    topic: FileId,
    remove: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    let Some(_table) = lock_unless_in_use(topic) else {
        return Ok(());
    };
    if !namespace
        .registry()
        .exclude_others_from_topic_file(topic.inode())?
    {
        return Ok(());
    }
    let removed = remove();
    namespace.registry().release_topic_file(topic.inode());
    removed
}

fn unlink(dir: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    debug_assert!(lane_name::is_lane_file_name(name));
    os::unlink(dir, name)
}
