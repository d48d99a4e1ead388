//! Files and lanes that members of a group leave behind: other members take them over, replace
//! them or remove them.

use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, chown};
use std::path::Path;

use horus_shm::internals::TopicBlocks as _;
use horus_shm::{Access, Namespace, Owner, Segment};

use super::{
    GROUP, MEMBER, OTHER_MEMBER, ROOT, answer, config, directories, expect_parts, lane_path,
    place_for_all, rights, set_mode, start, topic_path,
};
use crate::common::{eventually, prevent_child_starts};
use crate::hostile::{FILE_NAME, Image, open_request, request, topic};
use crate::spawn;

#[test]
fn an_unfinished_directory_of_a_dead_member_is_removed_by_another() {
    if spawn::skips_without_users(MEMBER) {
        return;
    }
    for index in 1..3 {
        let (_dir, base) = place_for_all();
        let directories = directories(&base);
        for dir in &directories[..index] {
            fs::create_dir(dir).unwrap();
            chown(dir, Some(MEMBER), Some(GROUP)).unwrap();
            set_mode(dir, 0o2770);
        }
        let name = directories[index].file_name().unwrap().to_str().unwrap();
        let unfinished = directories[index].with_file_name(format!(".{name}.{:032x}", 7));
        for _ in 0..2 {
            fs::create_dir(&unfinished).unwrap();
            chown(&unfinished, Some(MEMBER), Some(GROUP)).unwrap();
            set_mode(&unfinished, 0o2700);
            assert_eq!(answer(OTHER_MEMBER, "create", &base), "usable");
            assert_eq!(rights(&directories[index]), (OTHER_MEMBER, GROUP, 0o2770));
            assert!(!unfinished.exists());
        }
    }
}

/// Returns the owner of the first lane of the topic, once there is one.
fn lane_owner(segment: &Segment) -> Owner {
    use std::sync::atomic::Ordering::Relaxed;
    let lane = segment.lane_block(0, Access::Read).unwrap();
    let mut owner = 0;
    eventually("an owner", || {
        owner = lane.owner.load(Relaxed);
        owner != 0
    });
    Owner::from_bits(owner)
}

#[test]
fn the_lane_of_a_killed_process_of_another_user_is_taken_over() {
    if spawn::skips_without_users(MEMBER) {
        return;
    }
    for [witness, dead, heir] in [
        [ROOT, MEMBER, OTHER_MEMBER],
        [MEMBER, OTHER_MEMBER, ROOT],
        [MEMBER, ROOT, OTHER_MEMBER],
    ] {
        let (_dir, base) = place_for_all();
        let mut reader = start(witness, "read", &base);
        assert_eq!(reader.listen(), "ready");
        let mut victim = start(dead, "write", &base);
        assert_eq!(victim.listen(), "ready");
        assert_eq!(reader.listen(), "received");
        let namespace = Namespace::open(&config(&base)).unwrap();
        let segment = Segment::open(&namespace, &topic(), &open_request()).unwrap();
        let owner = lane_owner(&segment);
        assert!(!namespace.registry().is_dead(owner));
        victim.kill();
        eventually("the death", || namespace.registry().is_dead(owner));
        let mut successor = start(heir, "write", &base);
        assert_eq!(successor.listen(), "ready");
        eventually("a takeover", || lane_owner(&segment) != owner);
        let mut new_reader = start(dead, "read", &base);
        assert_eq!(new_reader.listen(), "ready");
        assert_eq!(new_reader.listen(), "received");
    }
}

#[test]
fn every_member_removes_what_a_dead_one_left() {
    if spawn::skips_without_users(MEMBER) {
        return;
    }
    for (dead, heir) in [(MEMBER, OTHER_MEMBER), (ROOT, MEMBER), (MEMBER, ROOT)] {
        let (_dir, base) = place_for_all();
        let killed = |base: &Path| {
            let mut victim = start(dead, "life", base);
            assert_eq!(victim.listen(), "here");
            victim.kill();
            assert!(topic_path(base).exists());
        };
        killed(&base);
        let lane_file = lane_path(&base);
        // A process that enters sweeps.
        assert_ne!(answer(heir, "enter", &base), "");
        assert!(!topic_path(&base).exists() && !lane_file.exists());
        killed(&base);
        assert_eq!(answer(heir, "remove topic", &base), "true");
        killed(&base);
        assert_eq!(answer(heir, "remove", &base), "removed");
        assert!(!base.join("default").exists());
    }
}

/// Writes a file of the topic that an earlier release, boot or registry left, for the user `uid`.
fn plant_stale(namespace: &Namespace, uid: u32, field: &str, value: u128) {
    // WHY: no child of another test must keep it open.
    let _guard = prevent_child_starts();
    let mut image = Image::valid(namespace, &request());
    image.set(field, value);
    image.fix_checksum();
    let path = namespace.topics_path().join(FILE_NAME);
    let _ = fs::remove_file(&path);
    let file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o660)
        .open(&path)
        .unwrap();
    file.set_len(image.file_bytes).unwrap();
    file.write_all_at(&image.bytes, 0).unwrap();
    chown(&path, Some(uid), Some(GROUP)).unwrap();
    set_mode(&path, 0o660);
}

#[test]
fn a_stale_file_is_replaced_by_its_owner_and_root_and_by_all_if_it_is_of_another_boot() {
    if spawn::skips_without_users(MEMBER) {
        return;
    }
    let (_dir, base) = place_for_all();
    let namespace = Namespace::open(&config(&base)).unwrap();
    let path = topic_path(&base);
    for uid in [MEMBER, OTHER_MEMBER, ROOT] {
        for part in ["create", "remove topic", "sweep"] {
            plant_stale(&namespace, MEMBER, "boot_id", 77);
            let said = answer(uid, part, &base);
            assert!(["usable", "true"].contains(&&*said) || part == "sweep");
            assert!(!path.exists(), "{part}: {said}");
        }
    }
    for (field, value) in [("layout_version", 999), ("registry_id", 77)] {
        for uid in [MEMBER, ROOT] {
            plant_stale(&namespace, MEMBER, field, value);
            assert_eq!(answer(uid, "create", &base), "usable", "{field}");
        }
        plant_stale(&namespace, MEMBER, field, value);
        let before = fs::metadata(&path).unwrap().ino();
        for part in ["create", "remove topic"] {
            let said = answer(OTHER_MEMBER, part, &base);
            assert!(said.starts_with("StaleOfOther"), "{field}: {said}");
            let (text, user) = (path.display().to_string(), format!("user {MEMBER}"));
            expect_parts(&said, &[&text, &user, "start a program"]);
        }
        let swept = answer(OTHER_MEMBER, "sweep", &base);
        assert!(swept.contains("foreign: [\"arm+joint\"]"), "{swept}");
        assert_eq!(fs::metadata(&path).unwrap().ino(), before);
        // The remedy that the error names.
        assert_ne!(answer(MEMBER, "enter", &base), "");
        assert!(!path.exists(), "its owner came, and it is still there");
    }
}

#[test]
fn a_stale_file_that_another_process_has_open_stays() {
    if spawn::skips_without_users(MEMBER) {
        return;
    }
    let (_dir, base) = place_for_all();
    let namespace = Namespace::open(&config(&base)).unwrap();
    for (field, error) in [
        ("layout_version", "LayoutVersion"),
        ("registry_id", "RegistryReplaced"),
    ] {
        plant_stale(&namespace, MEMBER, field, 77);
        let file = fs::File::open(topic_path(&base)).unwrap();
        for uid in [MEMBER, ROOT] {
            let said = answer(uid, "create", &base);
            assert!(said.starts_with(error), "{field}: {said}");
        }
        drop(file);
    }
}

#[test]
fn a_namespace_that_holds_topics_of_others_is_removed_from_outside_by_root_alone() {
    if spawn::skips_without_users(MEMBER) {
        return;
    }
    let (_dir, base) = place_for_all();
    let mut victim = start(MEMBER, "life", &base);
    assert_eq!(victim.listen(), "here");
    victim.kill();
    // Entering would sweep. A damaged registry keeps everybody out.
    fs::write(base.join("default/registry"), "nonsense").unwrap();
    let said = answer(OTHER_MEMBER, "remove from outside", &base);
    assert!(said.starts_with("OtherOwner"), "{said}");
    expect_parts(&said, &[&format!("user {MEMBER}"), "default"]);
    assert!(topic_path(&base).exists());
    Namespace::remove_at(&config(&base)).unwrap();
    assert!(!base.join("default").exists());
}

/// The lock of a member of a registry that was removed is not in the present one. Only the owner of
/// a file and root can take a lease, which finds its users.
#[test]
fn a_member_removes_no_topic_of_another_one_that_may_use_it_by_a_removed_registry() {
    if spawn::skips_without_users(MEMBER) {
        return;
    }
    let (_dir, base) = place_for_all();
    let mut user = start(MEMBER, "life", &base);
    assert_eq!(user.listen(), "here");
    fs::remove_file(base.join("default/registry")).unwrap();
    for (uid, wanted) in [
        (OTHER_MEMBER, "OtherOwner"),
        (MEMBER, "InUse"),
        (ROOT, "InUse"),
    ] {
        let said = answer(uid, "remove", &base);
        assert!(said.starts_with(wanted), "{uid}: {said}");
        assert!(topic_path(&base).exists(), "{uid}: {said}");
    }
    user.kill();
    assert_eq!(answer(MEMBER, "remove", &base), "removed");
    assert!(!base.join("default").exists());
}
