//! The rooms of the sources import each other in one direction only.

use std::fs;
use std::path::Path;

/// Each room, and the rooms that it may import.
const ROOMS: [(&str, &[&str]); 5] = [
    ("measure", &[]),
    ("report", &["measure"]),
    ("run", &["measure", "report"]),
    ("transport", &["measure", "run"]),
    ("scenario", &["measure", "report", "run", "transport"]),
];

fn assert_imports(directory: &Path, room: &str, allowed: &[&str]) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            assert_imports(&path, room, allowed);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for (other, _) in ROOMS.iter().filter(|(other, _)| *other != room) {
            let imports = text.contains(&format!("crate::{other}::"));
            assert!(
                !imports || allowed.contains(other),
                "{} imports {other}",
                path.display()
            );
        }
    }
}

#[test]
fn rooms_import_downwards_only() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for (room, allowed) in ROOMS {
        assert_imports(&sources.join(room), room, allowed);
    }
}
