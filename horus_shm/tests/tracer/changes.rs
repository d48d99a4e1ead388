//! The points of a life after each change that other processes can see, and the short way to them.
//!
//! A kill between two changes leaves the same behind as a kill right after the first of them. So a
//! sweep over these points is a sweep over all instructions.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::Victim;
use super::route::Route;

/// The number of bytes that are compared of a lane's file: its header, and the first slots. WHY not
/// all: the copy of a message is many changes, of which the protocol does not know.
const LANE_BYTES_MAX: u64 = 4096;
/// The length of the longest topic file. Those of lanes in this test are longer.
const TOPIC_BYTES_MAX: u64 = 256 << 10;

/// A recorded life.
pub struct Changes {
    route: Route,
    /// The numbers of instructions after which something had changed.
    points: Vec<u64>,
}

impl Changes {
    /// Steps `victim` from its mark to the next, and compares the files in `dir`, and those of
    /// `removed`, after each instruction.
    pub fn record(victim: &mut Victim, dir: &Path, removed: &[File]) -> Self {
        let content = || (files_in(dir), removed.iter().map(bytes).collect::<Vec<_>>());
        let mut before = content();
        let mut points = vec![0];
        let route = Route::record(victim, |done| {
            let now = content();
            if now != before {
                points.push(done);
                before = now;
            }
            true
        });
        Self { route, points }
    }

    /// Returns the number of points. The first one is the beginning.
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Takes a victim from its mark to a point. A victim that takes another way, as after a wait
    /// that was shorter, stops elsewhere or at the next mark.
    pub fn follow(&self, victim: &mut Victim, point: usize) {
        self.route.follow(victim, self.points[point]);
    }
}

impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let instructions = self.route.instructions();
        let points = self.len();
        write!(f, "{instructions} instructions | killed at {points} points")
    }
}

/// Opens all files in `dir`.
pub fn open_all(dir: &Path) -> Vec<File> {
    let paths = fs::read_dir(dir).unwrap();
    paths
        .filter_map(|entry| File::open(entry.unwrap().path()).ok())
        .collect()
}

/// Returns the names and bytes of all files in `dir`. One that is removed meanwhile has no bytes.
fn files_in(dir: &Path) -> Vec<(OsString, Vec<u8>)> {
    let names = fs::read_dir(dir).unwrap();
    let mut files: Vec<_> = names
        .map(|entry| {
            let entry = entry.unwrap();
            let file = File::open(entry.path()).ok();
            (entry.file_name(), file.as_ref().map_or(vec![], bytes))
        })
        .collect();
    files.sort();
    files
}

/// Returns the bytes of a file that are compared.
fn bytes(file: &File) -> Vec<u8> {
    let all = file.metadata().unwrap().len();
    let compared = if all > TOPIC_BYTES_MAX {
        LANE_BYTES_MAX
    } else {
        all
    };
    let mut bytes = vec![0; compared as usize];
    let read = file.read_at(&mut bytes, 0).unwrap();
    bytes.truncate(read);
    bytes
}
