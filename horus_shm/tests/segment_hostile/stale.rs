//! Files of another version, boot or registry: replaced, unless a process has them.

use std::fs::{self, File, OpenOptions};
use std::path::Path;
use std::sync::Barrier;

use horus_shm::internals::layout::{HEADER_BYTES, LAYOUT_VERSION};
use horus_shm::{OpenError, Segment};

use super::Verdict::Replaced;
use super::expect_verdict;
use crate::common::{Child, prevent_child_starts};
use crate::hostile::{Image, Scene, expect_actionable, expect_linked, expect_usable};

/// A valid file of another version, boot or registry, and the error while a process has it open.
struct Stale {
    what: String,
    image: Image,
    is_wanted: fn(&OpenError) -> bool,
}

fn stale_images(scene: &Scene) -> Vec<Stale> {
    let is_version = |error: &OpenError| matches!(error, OpenError::LayoutVersion { .. });
    let is_boot = |error: &OpenError| matches!(error, OpenError::NotATopic { .. });
    let is_registry = |error: &OpenError| matches!(error, OpenError::RegistryReplaced { .. });
    let stale = |field: &str, value: u128, is_wanted: fn(&OpenError) -> bool| {
        let mut image = scene.image();
        assert_ne!(image.get(field), value);
        image.set(field, value);
        image.fix_checksum();
        Stale {
            what: format!("{field} {value:#x}"),
            image,
            is_wanted,
        }
    };
    let image = scene.image();
    let versions = [0, u128::from(LAYOUT_VERSION) + 1, 1 << 24, u32::MAX.into()];
    let versions = versions.map(|version| stale("layout_version", version, is_version));
    let others = [
        stale("boot_id", image.get("boot_id") ^ 1, is_boot),
        stale("registry_id", image.get("registry_id") ^ 1, is_registry),
    ];
    versions.into_iter().chain(others).collect()
}

#[test]
fn a_stale_file_that_no_process_has_open_is_replaced_silently() {
    let _guard = prevent_child_starts();
    let mut scene = Scene::new();
    for Stale {
        what, mut image, ..
    } in stale_images(&scene)
    {
        expect_verdict(&mut scene, &image, &[Replaced], &what);
        // A file that is stale in two ways is stale.
        image.set("registry_id", 7);
        image.fix_checksum();
        expect_verdict(&mut scene, &image, &[Replaced], &what);
    }
    scene.expect_neighbour("after all");
}

#[test]
fn a_stale_file_of_another_layout_may_have_any_size_and_is_replaced_silently() {
    let _guard = prevent_child_starts();
    let mut scene = Scene::new();
    for file_bytes in [824, 1024, 4096, 1 << 20] {
        let mut image = scene.image();
        image.set("layout_version", u128::from(LAYOUT_VERSION) + 1);
        image.file_bytes = file_bytes;
        expect_verdict(
            &mut scene,
            &image,
            &[Replaced],
            &format!("{file_bytes} bytes"),
        );
    }
}

/// Opens a stale file while `hold` keeps it open, and again when it is released.
fn expect_refused_while_held<H>(scene: &mut Scene, hold: impl Fn(&Path) -> H) {
    for Stale {
        what,
        image,
        is_wanted,
    } in stale_images(scene)
    {
        scene.plant(&image);
        let held = hold(&scene.path());
        let _guard = prevent_child_starts();
        for answer in [
            scene.open(),
            scene.open_or_create(),
            scene.create(),
            scene.inspect(),
        ] {
            let error = answer.unwrap_err();
            assert!(is_wanted(&error), "{what}: {error:?}");
            expect_actionable(&error, &scene.path(), &what);
        }
        scene.expect_neighbour(&what);
        assert_eq!(
            fs::read(scene.path()).unwrap()[..HEADER_BYTES],
            image.bytes,
            "{what}"
        );
        drop(held);
        let segment = scene
            .open_or_create()
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        expect_usable(&segment, &what);
        drop(segment);
        scene.expect_clean(&what);
    }
}

#[test]
fn a_stale_file_that_a_descriptor_has_open_is_refused() {
    let mut scene = Scene::new();
    expect_refused_while_held(&mut scene, |path| File::open(path).unwrap());
    let open = |path: &Path| {
        OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .unwrap()
    };
    expect_refused_while_held(&mut scene, open);
}

#[test]
fn a_stale_file_that_is_only_mapped_is_refused() {
    let map = |path: &Path| {
        let file = File::open(path).unwrap();
        memmap2::MmapOptions::new()
            .len(4096)
            .map_raw_read_only(&file)
            .unwrap()
    };
    expect_refused_while_held(&mut Scene::new(), map);
}

#[test]
fn a_stale_file_that_another_process_has_open_is_refused() {
    let dir = crate::spawn::shm_dir();
    let path = dir.path().to_path_buf();
    let mut scene = Scene::in_namespace(crate::spawn::namespace(&path), dir);
    expect_refused_while_held(&mut scene, |_| {
        let mut child = Child::spawn("hold", &path);
        assert_eq!(child.listen(), "here");
        child
    });
}

#[test]
fn a_topic_in_use_under_a_registry_that_a_user_removed_is_refused_until_its_users_end() {
    let dir = crate::spawn::shm_dir();
    let path = dir.path().to_path_buf();
    let mut child = Child::spawn("attend", &path);
    assert_eq!(child.listen(), "here");
    let _guard = prevent_child_starts();
    fs::remove_file(path.join("default/registry")).unwrap();
    let mut scene = Scene::in_namespace(crate::spawn::namespace(&path), dir);
    for answer in [scene.open(), scene.open_or_create(), scene.inspect()] {
        let error = answer.unwrap_err();
        assert!(
            matches!(error, OpenError::RegistryReplaced { .. }),
            "{error:?}"
        );
        expect_actionable(&error, &scene.path(), "in use");
    }
    scene.expect_neighbour("in use");
    child.kill();
    expect_usable(&scene.open_or_create().unwrap(), "not in use");
    scene.expect_clean("not in use");
}

/// No process has the file open, so it is replaced, and no opener makes another one fail.
#[test]
fn many_openers_of_a_stale_file_end_on_one_new_file() {
    let _guard = prevent_child_starts();
    let scene = Scene::new();
    let mut errors = Vec::new();
    let images = stale_images(&scene);
    for Stale { what, image, .. } in images.iter().cycle().take(60) {
        scene.plant(image);
        let barrier = Barrier::new(4);
        let namespace = &scene.namespace;
        let open = || {
            barrier.wait();
            Segment::open_or_create(
                namespace,
                &crate::hostile::topic(),
                &crate::hostile::open_request(),
            )
        };
        let answers: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(open)).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        for answer in &answers {
            match answer {
                Ok(segment) => expect_linked(segment, what),
                Err(error) => errors.push(format!("{what}: {error}")),
            }
        }
        drop(answers);
        scene.clear();
    }
    assert!(
        errors.is_empty(),
        "{} of 240 failed, such as {}",
        errors.len(),
        errors[0]
    );
}
