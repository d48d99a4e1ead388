//! Watches on a reader that moves, and what a reader reports while it reads two files.

use std::thread;

use horus_shm::{RawConsumer, ReadMode, RecvError};

use super::{RETRY_PERIOD, Scene, receive};
use crate::common::{Child, eventually};

/// Receives after the reader has tried again to map the lanes that it could not map.
fn receive_later(reader: &mut RawConsumer) -> Vec<u64> {
    thread::sleep(RETRY_PERIOD * 2);
    receive(reader)
}

#[test]
fn a_move_that_fails_closes_no_watch() {
    let scene = Scene::new(0);
    let mut request = scene.request();
    request.reader_limit = Some(1);
    let mut reader = RawConsumer::new(scene.open_with(&request), ReadMode::KeepLast).unwrap();
    let watch = reader.watch();
    scene.remove();
    let newcomer = RawConsumer::new(scene.open_with(&request), ReadMode::KeepLast).unwrap();
    assert_eq!(receive(&mut reader), []);
    assert!(matches!(reader.check(), Err(RecvError::NameLost { .. })));
    assert!(!watch.is_closed(), "the reader lives");
    drop(newcomer);
    assert_eq!(receive_later(&mut reader), []);
    assert_eq!(reader.check(), Ok(()));
    assert!(!watch.is_closed());
    drop(reader);
    assert!(watch.is_closed());
}
