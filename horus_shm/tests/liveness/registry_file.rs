//! A registry file that cannot be trusted: it is replaced while no process uses it, and otherwise
//! its fault is an error; a path that is no private file is refused.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::{Duration, Instant};

use horus_shm::{RegistryError, RegistryFault};

use super::{Place, join, write};

/// A change that damages a registry file, and the fault that must be found.
type Damage = (&'static str, fn(&File), fn(&RegistryFault) -> bool);

const DAMAGES: [Damage; 7] = [
    (
        "emptied",
        |f| f.set_len(0).unwrap(),
        |f| matches!(f, RegistryFault::Size { .. }),
    ),
    (
        "cut in the header",
        |f| f.set_len(100).unwrap(),
        |f| matches!(f, RegistryFault::Size { .. }),
    ),
    (
        "cut",
        |f| f.set_len(1000).unwrap(),
        |f| matches!(f, RegistryFault::Size { .. }),
    ),
    (
        "grown",
        |f| f.set_len(1 << 20).unwrap(),
        |f| matches!(f, RegistryFault::Size { .. }),
    ),
    (
        "zeroed",
        |f| write(f, 0, &[0; 128]),
        |f| matches!(f, RegistryFault::Magic),
    ),
    (
        "of version 77",
        |f| write(f, 8, &[77]),
        |f| matches!(f, RegistryFault::Version { .. }),
    ),
    (
        "with another id",
        |f| write(f, 20, &[1, 2, 3]),
        |f| matches!(f, RegistryFault::Checksum),
    ),
];

/// Makes the registry one of another boot, with a valid checksum.
fn move_to_another_boot(file: &File) {
    let mut header = [0; 128];
    file.read_exact_at(&mut header, 0).unwrap();
    header[32] ^= 1;
    let crc = crc32fast::hash(&header[..124]);
    header[124..].copy_from_slice(&crc.to_ne_bytes());
    write(file, 0, &header);
}

fn damages() -> impl Iterator<Item = Damage> {
    let boot: Damage = ("of another boot", move_to_another_boot, |f| {
        matches!(f, RegistryFault::Boot)
    });
    DAMAGES.into_iter().chain([boot])
}

#[test]
fn a_damaged_registry_without_a_process_is_replaced() {
    for (what, damage, _) in damages() {
        let place = Place::new();
        let old_id = place.join().unwrap().id();
        damage(&place.open_file());
        let new = place
            .join()
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_ne!(new.id(), old_id, "{what}");
        assert_eq!(place.join().unwrap().id(), new.id(), "{what}");
    }
}

#[test]
fn a_damaged_registry_of_the_living_is_an_error() {
    for (what, damage, is_expected) in damages() {
        let place = Place::new();
        let living = place.join().unwrap();
        let dead = place.join().unwrap().own_owner_word();
        damage(&place.open_file());
        match place.join().unwrap_err() {
            RegistryError::Damaged { fault, .. } => assert!(is_expected(&fault), "{what}: {fault}"),
            other => panic!("{what}: {other}"),
        }
        assert!(
            !living.is_dead(living.own_owner_word()) && living.is_dead(dead),
            "{what}"
        );
        drop(living);
        place
            .join()
            .unwrap_or_else(|error| panic!("{what}: {error}"));
    }
}

#[test]
fn entries_that_cannot_be_read_do_not_kill_the_living() {
    for bytes in [0, 200] {
        let place = Place::new();
        let a = place.join().unwrap();
        let b = place.join().unwrap();
        let file = place.open_file();
        file.set_len(bytes).unwrap();
        assert!(!a.is_dead(b.own_owner_word()));
        file.set_len(1 << 18).unwrap();
        assert!(!a.is_dead(b.own_owner_word()), "the file is all zeros");
        let gone = b.own_owner_word();
        drop(b);
        assert!(a.is_dead(gone));
    }
}

#[test]
fn an_entry_out_of_generations_is_passed_over() {
    for stored in [(1_u64 << 48) - 1, 1 << 48, u64::MAX] {
        let place = Place::new();
        drop(place.join().unwrap());
        write(&place.open_file(), 128, &stored.to_ne_bytes());
        let registry = place.join().unwrap();
        assert_eq!(
            registry.own_owner_word().to_bits() >> 48,
            2,
            "the second entry"
        );
        assert!(!registry.is_dead(registry.own_owner_word()));
    }
}

#[test]
fn a_path_that_is_no_file_is_refused_at_once() {
    type Make = fn(&Path);
    let cases: [(&str, Make); 5] = [
        ("a FIFO", |path| {
            let path = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
            // SAFETY: a C string that outlives the call.
            assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
        }),
        ("a directory", |path| fs::create_dir(path).unwrap()),
        ("a socket", |path| drop(UnixListener::bind(path).unwrap())),
        ("a dangling symlink", |path| {
            symlink("nowhere", path).unwrap()
        }),
        ("a symlink to a registry", |path| {
            let other = path.with_file_name("other");
            fs::create_dir(&other).unwrap();
            drop(join(&other).unwrap());
            symlink(other.join("registry"), path).unwrap();
        }),
    ];
    for (what, make) in cases {
        let place = Place::new();
        make(&place.file());
        let start = Instant::now();
        let error = place.join().unwrap_err();
        assert!(
            matches!(error, RegistryError::NotAFile { .. }),
            "{what}: {error}"
        );
        assert!(
            start.elapsed() < Duration::from_secs(5),
            "{what} made it wait"
        );
        assert!(
            place.file().symlink_metadata().is_ok(),
            "{what} is still there"
        );
    }
}

#[test]
fn a_registry_open_to_others_is_refused() {
    let place = Place::new();
    drop(place.join().unwrap());
    assert_eq!(
        fs::metadata(place.file()).unwrap().permissions().mode() & 0o777,
        0o600
    );
    fs::set_permissions(place.file(), PermissionsExt::from_mode(0o660)).unwrap();
    let error = place.join().unwrap_err();
    assert!(
        matches!(error, RegistryError::Refused { mode: 0o660, .. }),
        "{error}"
    );
    fs::set_permissions(place.file(), PermissionsExt::from_mode(0o600)).unwrap();
    fs::hard_link(place.file(), place.path().join("second")).unwrap();
    let error = place.join().unwrap_err();
    assert!(
        matches!(error, RegistryError::Refused { links: 2, .. }),
        "{error}"
    );
}

#[test]
fn an_empty_file_in_place_of_the_registry_is_replaced() {
    let place = Place::new();
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(place.file())
        .unwrap();
    place.join().unwrap();
}
