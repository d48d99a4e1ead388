//! Opening distrusts the file: whatever has a topic's name, the opener gets a typed error or a
//! valid topic, and a topic beside it is not affected.

use horus_testing as _;

mod common;
#[path = "segment_hostile/fields.rs"]
mod fields;
mod hostile;
mod spawn;
#[path = "segment_hostile/stale.rs"]
mod stale;

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, Permissions};
use std::os::unix::fs::{FileExt, OpenOptionsExt as _, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use horus_shm::internals::layout::HEADER_BYTES;
use horus_shm::{OpenError, Request, Segment, TypeInfo};

use common::prevent_child_starts;
use hostile::{
    FILE_NAME, Image, Scene, expect_actionable, expect_linked, expect_usable, open_request, request,
};

/// The longest time that an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// The result of opening a planted file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    NotATopic,
    Damaged,
    Mismatch,
    /// Removed silently, since no process has it open.
    Replaced,
    Accepted,
}

use Verdict::{Accepted, Damaged, Mismatch, NotATopic, Replaced};

impl Verdict {
    fn of(answer: &Result<Arc<Segment>, OpenError>, scene: &Scene) -> Self {
        match answer {
            Ok(_) => Accepted,
            Err(OpenError::NotFound { .. }) if !scene.path().exists() => Replaced,
            Err(OpenError::NotATopic { .. }) => NotATopic,
            Err(OpenError::Damaged { .. }) => Damaged,
            Err(OpenError::SchemaMismatch { .. }) => Mismatch,
            Err(other) => panic!("{other:?}: {other}"),
        }
    }
}

/// Plants `image` and opens it in each way; the verdicts must be in `wanted`.
#[track_caller]
fn expect_verdict(scene: &mut Scene, image: &Image, wanted: &[Verdict], what: &str) {
    scene.plant(image);
    let answer = scene.open();
    let verdict = Verdict::of(&answer, scene);
    assert!(
        wanted.contains(&verdict),
        "{what}: {verdict:?} instead of {wanted:?}: {answer:?}"
    );
    match answer {
        Ok(segment) => expect_usable(&segment, what),
        Err(error) if matches!(verdict, NotATopic | Damaged | Replaced) => {
            expect_actionable(&error, &scene.path(), what);
        }
        Err(_) => {}
    }
    if matches!(verdict, NotATopic | Damaged) {
        assert!(scene.path().exists(), "{what}: removed");
        for answer in [
            scene.inspect(),
            scene.open_or_create(),
            scene.create(),
            scene.open_ring(),
        ] {
            assert_eq!(Verdict::of(&answer, scene), verdict, "{what}");
            expect_actionable(&answer.unwrap_err(), &scene.path(), what);
        }
    }
    scene.clear();
    if verdict == Replaced {
        scene.plant(image);
        let segment = scene.open_or_create().unwrap();
        expect_linked(&segment, what);
        expect_usable(&segment, what);
        drop(segment);
        assert!(
            !scene.path().exists(),
            "{what}: the new topic outlived its user"
        );
    }
    scene.expect_clean(what);
}

/// Runs `test` in a thread, so that a missing answer is a failure and not a hang.
fn within_patience<T: Send + 'static>(what: &str, test: impl FnOnce() -> T + Send + 'static) -> T {
    let (tell, told) = mpsc::channel();
    let thread = std::thread::spawn(move || drop(tell.send(test())));
    match told.recv_timeout(PATIENCE) {
        Ok(answer) => answer,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("{what}: no answer within {PATIENCE:?}"),
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            std::panic::resume_unwind(thread.join().unwrap_err())
        }
    }
}

/// Not a test: entry point of the re-executed child process.
#[test]
fn child_role() {
    match common::role().as_deref() {
        Some("attend") => {
            spawn::die_with_parent();
            let namespace = spawn::inherited_namespace();
            let topic = hostile::topic();
            let segment = Segment::open_or_create(&namespace, &topic, &request()).unwrap();
            common::say("here");
            common::park();
            drop(segment);
        }
        Some("hold") => {
            spawn::die_with_parent();
            let dir = std::env::var("HORUS_SHM_DIR").unwrap();
            let path = Path::new(&dir).join("default/topics").join(FILE_NAME);
            let file = File::open(path).unwrap();
            common::say("here");
            common::park();
            drop(file);
        }
        _ => {}
    }
}

#[test]
fn a_valid_image_is_accepted() {
    let _guard = prevent_child_starts();
    let mut scene = Scene::new();
    let image = scene.image();
    expect_verdict(&mut scene, &image, &[Accepted], "as it should be");
    scene.expect_neighbour("after all");
}

#[test]
fn a_file_truncated_anywhere_in_its_header_is_refused_by_its_size() {
    let mut scene = Scene::new();
    for file_bytes in (0..=HEADER_BYTES as u64)
        .step_by(64)
        .chain([1, 7, 8, 9, 551, 552, 553])
    {
        let mut image = scene.image();
        image.file_bytes = file_bytes;
        let what = format!("{file_bytes} bytes");
        // A file without its first word may be of any program.
        let wanted = if file_bytes < 8 { NotATopic } else { Damaged };
        expect_verdict(&mut scene, &image, &[wanted], &what);
    }
    scene.expect_neighbour("after all");
}

#[test]
fn a_truncated_file_is_said_to_be_too_short_and_nothing_else() {
    let scene = Scene::new();
    let mut wrong = Vec::new();
    for file_bytes in (64..=HEADER_BYTES as u64).step_by(64) {
        let mut image = scene.image();
        image.file_bytes = file_bytes;
        scene.plant(&image);
        match scene.open() {
            Err(OpenError::Damaged {
                field: "file size",
                found,
                ..
            }) => {
                assert_eq!(found, file_bytes.to_string());
            }
            other => wrong.push(format!("{file_bytes} bytes: {}", other.unwrap_err())),
        }
        scene.clear();
    }
    assert!(
        wrong.is_empty(),
        "{} of them, such as {}",
        wrong.len(),
        wrong[0]
    );
}

#[test]
fn a_file_longer_or_shorter_than_its_header_says_is_damaged() {
    let mut scene = Scene::new();
    let right = scene.image().file_bytes;
    for file_bytes in [
        right - 65536,
        right - 4096,
        right - 1,
        right + 1,
        right + 65536,
        1 << 40,
    ] {
        let mut image = scene.image();
        image.file_bytes = file_bytes;
        expect_verdict(
            &mut scene,
            &image,
            &[Damaged],
            &format!("{file_bytes} bytes"),
        );
        image.file_bytes = right;
        image.set("file_bytes", file_bytes.into());
        image.fix_checksum();
        expect_verdict(
            &mut scene,
            &image,
            &[Damaged],
            &format!("says {file_bytes} bytes"),
        );
    }
    scene.expect_neighbour("after all");
}

#[test]
fn a_file_without_the_magic_is_not_a_topic() {
    let mut scene = Scene::new();
    for bit in 0..64 {
        let mut image = scene.image();
        image.bytes[bit / 8] ^= 1 << (bit % 8);
        expect_verdict(
            &mut scene,
            &image,
            &[NotATopic],
            &format!("bit {bit} of the magic"),
        );
    }
    let mut image = scene.image();
    for byte in [0, 0xff] {
        image.bytes.fill(byte);
        expect_verdict(
            &mut scene,
            &image,
            &[NotATopic],
            &format!("nothing but {byte:#x}"),
        );
    }
    scene.expect_neighbour("after all");
}

#[test]
fn a_file_of_another_byte_order_is_damaged() {
    let mut scene = Scene::new();
    for endianness in [0_u32, 0x0403_0201, u32::MAX] {
        let mut image = scene.image();
        image.set("endianness", endianness.into());
        expect_verdict(&mut scene, &image, &[Damaged], "without its checksum");
        image.fix_checksum();
        expect_verdict(&mut scene, &image, &[Damaged], "with its checksum");
    }
}

/// The process that declared it retired died before it could remove the name.
#[test]
fn a_file_that_is_retired_and_still_has_its_name_is_replaced_silently() {
    let mut scene = Scene::new();
    let mut image = scene.image();
    image.set_retired();
    scene.plant(&image);
    match scene.open() {
        Err(OpenError::NotFound { .. }) => {}
        other => panic!("{other:?}"),
    }
    let segment = scene.open_or_create().unwrap();
    expect_linked(&segment, "retired");
    expect_usable(&segment, "retired");
    drop(segment);
    scene.expect_neighbour("retired");
    scene.expect_clean("retired");
}

#[test]
fn a_retired_file_is_removed_by_a_sweep() {
    let _guard = prevent_child_starts();
    let scene = Scene::new();
    let mut image = scene.image();
    image.set("persists", 1);
    image.fix_checksum();
    image.set_retired();
    scene.plant(&image);
    let report = horus_shm::sweep(&scene.namespace).unwrap();
    assert_eq!(report.removed, [hostile::topic()], "{report:?}");
    expect_usable(&scene.open_or_create().unwrap(), "swept");
}

#[test]
fn only_a_regular_file_of_one_name_is_a_topic() {
    let makers: [(&str, fn(&Scene)); 7] = [
        ("a directory", |scene| fs::create_dir(scene.path()).unwrap()),
        ("not a regular file", |scene| make_fifo(&scene.path())),
        ("a socket", |scene| {
            drop(UnixListener::bind(scene.path()).unwrap())
        }),
        ("a symbolic link", |scene| {
            symlink("nowhere", scene.path()).unwrap()
        }),
        ("a symbolic link", |scene| {
            symlink("good", scene.path()).unwrap()
        }),
        ("a symbolic link", |scene| {
            symlink(FILE_NAME, scene.path()).unwrap()
        }),
        ("a file with 2 names", |scene| {
            let path = scene.path();
            scene.plant(&scene.image());
            fs::hard_link(&path, path.parent().unwrap().with_file_name("other")).unwrap();
        }),
    ];
    for (found, make) in makers {
        within_patience(found, move || {
            let mut scene = Scene::new();
            make(&scene);
            let opens = [
                Scene::open,
                Scene::open_or_create,
                Scene::create,
                Scene::inspect,
            ];
            for open in opens
                .into_iter()
                .chain([Scene::open_ring as fn(&Scene) -> _])
            {
                let error = open(&scene).unwrap_err();
                assert!(
                    matches!(error, OpenError::NotATopic { .. }),
                    "{found}: {error:?}"
                );
                assert!(error.to_string().contains(found), "{error}");
                expect_actionable(&error, &scene.path(), found);
            }
            assert!(
                fs::symlink_metadata(scene.path()).is_ok(),
                "{found}: removed"
            );
            scene.expect_neighbour(found);
            scene.clear();
            expect_usable(&scene.open_or_create().unwrap(), found);
            scene.expect_clean(found);
        });
    }
}

fn make_fifo(path: &Path) {
    let path = std::ffi::CString::new(path.as_os_str().as_encoded_bytes()).unwrap();
    // SAFETY: the path is a C string that outlives the call.
    assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
}

/// A topic file is private, like the registry beside it: a file that other users can open is
/// refused.
#[test]
fn a_file_open_to_others_is_refused() {
    let scene = Scene::new();
    let mut accepted = Vec::new();
    for mode in [0o666, 0o777, 0o660, 0o606, 0o640, 0o604] {
        scene.plant(&scene.image());
        fs::set_permissions(scene.path(), Permissions::from_mode(mode)).unwrap();
        match scene.open() {
            Ok(_) => accepted.push(format!("{mode:04o}")),
            Err(error) => {
                let told = error.to_string();
                assert!(told.contains(&format!("{mode:04o}")), "{mode:04o}: {error}");
                expect_actionable(&error, &scene.path(), &format!("mode {mode:04o}"));
            }
        }
        scene.clear();
    }
    assert!(accepted.is_empty(), "accepted: {accepted:?}");
}

#[test]
fn a_mismatch_says_which_topic_and_leaves_it_alone() {
    let scene = Scene::new();
    let owner = Segment::create(&scene.namespace, &hostile::topic(), &request()).unwrap();
    let mut other_hash = open_request();
    other_hash.type_info.hash[0] ^= 1;
    let mut other_size = open_request();
    other_size.type_info = TypeInfo::opaque::<[u64; 3]>();
    let mut untold = Vec::new();
    let requests: [(&str, &Request); 2] = [("hash", &other_hash), ("size", &other_size)];
    for (what, request) in requests {
        let answer = Segment::open(&scene.namespace, &hostile::topic(), request);
        let error = answer.unwrap_err().to_string();
        if !error.contains(&scene.path().display().to_string()) {
            untold.push(format!("{what}: {error}"));
        }
    }
    expect_usable(&owner, "after the mismatches");
    assert!(untold.is_empty(), "no path in: {untold:#?}");
}

/// The file is opened, but not mapped: a cut under a mapping is another test's subject.
#[test]
fn a_file_that_is_cut_and_grown_while_it_is_opened_gives_typed_answers() {
    let _guard = prevent_child_starts();
    let scene = Scene::new();
    let mut image = scene.image();
    image.fix_checksum();
    let path = scene.path();
    let plant = || {
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(false).mode(0o600);
        options.open(&path).unwrap()
    };
    let mut file = plant();
    let stop = AtomicBool::new(false);
    let mut answers = BTreeMap::<_, u64>::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                // An opener that closes it while it is whole removes it.
                if !path.exists() {
                    file = plant();
                }
                for bytes in [
                    image.file_bytes,
                    4096,
                    image.file_bytes,
                    600,
                    image.file_bytes,
                    0,
                ] {
                    file.set_len(bytes).unwrap();
                    file.write_all_at(&image.bytes[..4096.min(bytes as usize)], 0)
                        .unwrap();
                }
            }
        });
        // WHY more, if needed: on a busy machine, the other thread may be suspended for long.
        for round in 0..1_000_000 {
            let is_seen = |key| answers.contains_key(key);
            if round >= 5000 && is_seen("opened") && is_seen("damaged") {
                break;
            }
            let answer = scene.inspect();
            *answers
                .entry(match answer {
                    Ok(_) => "opened",
                    Err(OpenError::Damaged { .. }) => "damaged",
                    Err(OpenError::NotATopic { .. }) => "no topic",
                    Err(OpenError::Io { .. }) => "cut while it was read",
                    // It was empty when the retired mark was read.
                    Err(OpenError::NotFound { .. }) => "gone",
                    Err(other) => {
                        stop.store(true, Ordering::Relaxed);
                        panic!("{other:?}")
                    }
                })
                .or_default() += 1;
        }
        stop.store(true, Ordering::Relaxed);
    });
    println!("{answers:?}");
    assert!(
        answers.contains_key("opened") && answers.contains_key("damaged"),
        "{answers:?}"
    );
}
