//! Files that are truncated between two calls: endpoints find the loss in their next call, tasks
//! are woken, forked children go on, and a file that is whole again is opened anew.

use std::fs::{File, OpenOptions};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};

use horus_shm::{FanoutShm, MessageAlarm, RecvError, RingOptions, SendError};

use super::{Blow, KINDS, Message, SENDER, Scene};
use crate::common::{eventually, fate, fork, join_fork};
use crate::spawn::{die_with_parent, namespace, topic_files};
use crate::stream::Tagged;
use crate::tracer::ends::{Kind, Receiver, Ring, Sender};

/// The file is truncated between two calls of endpoints that wait for room or for a message.
#[test]
fn a_waiting_endpoint_finds_the_loss_in_its_next_call() {
    let scene = Scene::new();
    for kind in KINDS {
        let ring = Ring::<Message>::create(kind, &scene.namespace, "topic");
        let receiver = ring.receiver().unwrap();
        let Sender::Lane(mut producer) = ring.sender().unwrap() else {
            unreachable!()
        };
        let Receiver::Lanes(mut consumer) = receiver else {
            unreachable!()
        };
        let topic = consumer.raw().segment().label();
        let message = Message::new(SENDER, 0);
        for _ in 0..100 {
            let answer = producer.send_ref(&message);
            assert_eq!(
                answer.as_ref().is_err_and(|e| e.is_full()),
                kind.is_gated() && answer.is_err()
            );
        }
        while consumer.recv().is_some() {}
        let full = kind.is_gated() && {
            while producer.send_ref(&message).is_ok() {}
            true
        };
        OpenOptions::new()
            .write(true)
            .truncate(true)
            .open(scene.path("topic"))
            .unwrap();
        assert_eq!(consumer.check(), Ok(()), "no call has touched the file yet");
        if full {
            assert_eq!(
                producer.send_ref(&message),
                Err(SendError::RegionLost { topic, message: () }),
                "{kind:?}"
            );
        } else {
            assert!(consumer.recv().is_none(), "{kind:?}");
        }
        assert_eq!(
            consumer.check(),
            Err(RecvError::RegionLost { topic }),
            "{kind:?}"
        );
        assert_eq!(
            producer.send_ref(&message),
            Err(SendError::RegionLost { topic, message: () }),
            "{kind:?}"
        );
        assert!(
            consumer.recv().is_none() && consumer.latest().is_none(),
            "{kind:?}"
        );
        drop((ring, producer, consumer));
        assert_eq!(topic_files(&scene.namespace), [""; 0], "{kind:?}");
    }
}

/// A reader that has met no publisher touches only the blocks.
#[test]
fn a_reader_without_a_publisher_finds_the_loss_in_its_next_call() {
    let scene = Scene::new();
    for kind in KINDS {
        let ring = Ring::<Message>::create(kind, &scene.namespace, "topic");
        let Receiver::Lanes(mut consumer) = ring.receiver().unwrap() else {
            unreachable!()
        };
        File::from(
            ring.segment()
                .unwrap()
                .fd()
                .unwrap()
                .as_fd()
                .try_clone_to_owned()
                .unwrap(),
        )
        .set_len(0)
        .unwrap();
        assert!(consumer.recv().is_none());
        let topic = consumer.raw().segment().label();
        assert_eq!(
            consumer.check(),
            Err(RecvError::RegionLost { topic }),
            "{kind:?}"
        );
    }
}

/// The file of a lost segment can become usable again, for a process that opens it anew.
#[test]
fn a_file_that_is_made_whole_again_is_opened_anew() {
    let scene = Scene::new();
    let options = RingOptions {
        producers: Some(2),
        ..RingOptions::capacity(8)
    };
    let lost = FanoutShm::<u64>::create(&scene.namespace, "topic", &options).unwrap();
    let mut producer = lost.producer().unwrap();
    let consumer = lost.consumer().unwrap();
    let topic = lost.segment().label();
    let whole = lost.segment().shape().file_bytes();
    let file = OpenOptions::new()
        .write(true)
        .open(scene.path("topic"))
        .unwrap();
    file.set_len(Blow::BeforeReaders.cut(lost.segment()))
        .unwrap();
    assert_eq!(
        producer.send(1),
        Err(SendError::RegionLost { topic, message: 1 })
    );
    file.set_len(whole).unwrap();
    assert_eq!(
        producer.send(2),
        Err(SendError::RegionLost { topic, message: 2 }),
        "a lost region stays lost"
    );

    let options = RingOptions::default();
    let anew = FanoutShm::<u64>::open(&scene.namespace, "topic", &options).unwrap();
    let mut sender = anew.producer().unwrap();
    let mut receiver = anew.consumer().unwrap();
    drop((producer, consumer, lost));
    assert_eq!(topic_files(&scene.namespace), ["topic"], "it is in use");
    let same = FanoutShm::<u64>::open(&scene.namespace, "topic", &options).unwrap();
    let memory = |ring: &FanoutShm<u64>| std::ptr::from_ref(&***ring.segment());
    assert_eq!(memory(&same), memory(&anew));
    for number in 0..100 {
        sender.send(number).unwrap();
        assert_eq!(receiver.recv(), Some(number));
    }
    drop((sender, receiver, anew, same));
    assert_eq!(topic_files(&scene.namespace), [""; 0]);
}

#[test]
fn a_forked_child_outlives_a_loss_too() {
    let scene = Scene::new();
    let ring = Ring::<Message>::create(Kind::Fanout, &scene.namespace, "parent");
    let mut sender = ring.sender().unwrap();
    let mut receiver = ring.receiver().unwrap();
    let pid = fork(|| {
        die_with_parent();
        let namespace = namespace(scene.dir.path());
        let ring = FanoutShm::<u64>::create(&namespace, "child", &RingOptions::default()).unwrap();
        let mut producer = ring.producer().unwrap();
        let mut consumer = ring.consumer().unwrap();
        producer.send(1).unwrap();
        let topic = ring.segment().label();
        let path = namespace.topics_path().join("child");
        OpenOptions::new()
            .write(true)
            .truncate(true)
            .open(path)
            .unwrap();
        producer.send(2) == Err(SendError::RegionLost { topic, message: 2 })
            && consumer.recv().is_none()
            && consumer.check() == Err(RecvError::RegionLost { topic })
    });
    assert!(join_fork(pid));
    for number in 0..20 {
        let message = Message::new(SENDER, number);
        assert!(sender.send(&message));
        assert_eq!(receiver.recv(), Some(message));
    }
}

/// A waker that records that it was woken.
#[derive(Debug, Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The library's own thread finds the loss: no endpoint touches the file. The test runs in a child,
/// because the kernel kills the process if a thread cannot take SIGBUS.
#[test]
fn a_task_that_waits_is_woken_when_its_topic_is_lost() {
    let scene = Scene::new();
    let pid = fork(|| {
        die_with_parent();
        let namespace = namespace(scene.dir.path());
        let ring = FanoutShm::<u64>::create(&namespace, "task", &RingOptions::default()).unwrap();
        let producer = ring.producer().unwrap();
        let mut consumer = ring.consumer().unwrap();
        assert!(consumer.recv().is_none(), "the lane is mapped");
        let woken = Arc::new(Flag::default());
        let mut alarm = MessageAlarm::new(consumer.raw().watch());
        alarm.try_set(&Waker::from(Arc::clone(&woken)));
        let path = namespace.topics_path().join("task");
        OpenOptions::new()
            .write(true)
            .truncate(true)
            .open(path)
            .unwrap();
        eventually("the task is woken", || woken.0.load(Ordering::Relaxed));
        let topic = ring.segment().label();
        let is_lost = consumer.check() == Err(RecvError::RegionLost { topic });
        drop(producer);
        is_lost
    });
    assert_eq!(fate(pid), "exited with 0");
}
