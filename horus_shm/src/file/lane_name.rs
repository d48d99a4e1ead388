//! Names of lane files: `.<topic id>.<inode of the topic file>.<lane>.<generation>`.
//!
//! WHY the inode: a sweep can tell from the name to which topic file a lane file belongs, without
//! opening the lane file.

use crate::file::header::ExtentId;

/// Returns the file name for the lane file of extent `id` of a topic.
pub(crate) fn lane_file_name(topic_id: [u8; 16], topic_inode: u64, id: ExtentId) -> String {
    let prefix = lane_files_prefix(topic_id);
    format!("{prefix}{topic_inode}.{}.{}", id.lane, id.generation)
}

/// Returns the common prefix of the names of all lane files of a topic.
pub(crate) fn lane_files_prefix(topic_id: [u8; 16]) -> String {
    format!(".{:032x}.", u128::from_be_bytes(topic_id))
}

/// Returns true if `name` has the form of a lane file's name, in this or any other layout version.
pub(crate) fn is_lane_file_name(name: &str) -> bool {
    split_lane_file_name(name).is_some()
}

/// Returns the inode of the topic file to which the lane file belongs, as given in the file's name
/// `name`; `None` if this is not the name of a lane file of this version of the layout.
pub(crate) fn topic_inode_in_name(name: &str) -> Option<u64> {
    let (topic_id, numbers) = split_lane_file_name(name)?;
    let [inode, lane, generation] = numbers[..] else {
        return None;
    };
    let id = ExtentId {
        lane: lane.try_into().ok()?,
        generation,
    };
    (lane_file_name(topic_id, inode, id) == name).then_some(inode)
}

/// Splits the name of a lane file into the topic's random id and the numbers that follow it; `None`
/// if `name` has a different form.
fn split_lane_file_name(name: &str) -> Option<([u8; 16], Vec<u64>)> {
    let (topic, numbers) = name.strip_prefix('.')?.split_once('.')?;
    let topic_id = u128::from_str_radix(topic, 16).ok()?.to_be_bytes();
    let numbers: Result<_, _> = numbers.split('.').map(str::parse).collect();
    (topic.len() == 32).then_some((topic_id, numbers.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOPIC: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

    #[test]
    fn a_name_says_the_inode_of_its_topic() {
        let id = ExtentId {
            lane: 63,
            generation: u64::MAX,
        };
        let name = lane_file_name(TOPIC, 1 << 40, id);
        assert_eq!(
            name,
            ".000102030405060708090a0b0c0d0e0f.1099511627776.63.18446744073709551615"
        );
        assert!(name.starts_with(&lane_files_prefix(TOPIC)));
        assert_eq!(topic_inode_in_name(&name), Some(1 << 40));
        assert!(is_lane_file_name(&name));
    }

    #[test]
    fn names_of_earlier_versions_are_lane_files_without_an_inode() {
        let name = ".000102030405060708090a0b0c0d0e0f.3.1";
        assert!(is_lane_file_name(name));
        assert_eq!(topic_inode_in_name(name), None);
    }

    #[test]
    fn names_in_other_forms_are_not_taken_for_lane_files() {
        for name in [
            "",
            ".",
            "imu",
            ".0001.7.3.1",
            "000102030405060708090a0b0c0d0e0f.7.3.1",
            ".000102030405060708090a0b0c0d0e0f",
            ".000102030405060708090a0b0c0d0e0f.",
            ".000102030405060708090a0b0c0d0e0g.7.3.1",
            ".000102030405060708090a0b0c0d0e0f.7.x.1",
        ] {
            assert!(!is_lane_file_name(name), "{name}");
            assert_eq!(topic_inode_in_name(name), None, "{name}");
        }
        for name in [
            ".000102030405060708090a0b0c0d0e0f.07.3.1",
            ".000102030405060708090a0b0c0d0e0f.7.3.1.1",
            ".000102030405060708090A0b0c0d0e0f.7.3.1",
            ".000102030405060708090a0b0c0d0e0f.7.4294967296.1",
        ] {
            assert_eq!(topic_inode_in_name(name), None, "{name}");
        }
    }
}
