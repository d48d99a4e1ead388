//! A namespace of a test's own, in memory: only the test uses it, and it is removed with the test.

#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;

use horus_core::namespace::{Namespace, NamespaceConfig, NamespaceName};
use horus_core::scheduler::Scheduler;
use horus_core::topic::{Payload, Publisher, Qos, Subscriber, Topic, TopicBuilder};
use horus_shm::{OnStalled, RawProducer, Request, Segment, TopicName};
use tempfile::TempDir;

pub struct Private {
    // Declared before the directory: fields are dropped in this order.
    namespace: Arc<Namespace>,
    dir: TempDir,
}

impl Private {
    pub fn new() -> Self {
        let private = PermissionsExt::from_mode(0o700);
        let dir = tempfile::Builder::new()
            .permissions(private)
            .tempdir_in("/dev/shm")
            .unwrap();
        let namespace = open(dir.path(), "default");
        Self { namespace, dir }
    }

    /// Returns a scheduler in a namespace of its own.
    pub fn alone() -> (Scheduler, Self) {
        let private = Self::new();
        (private.scheduler(), private)
    }

    /// Opens another namespace in the same directory.
    pub fn sibling(&self, name: &str) -> Arc<Namespace> {
        open(self.dir.path(), name)
    }

    pub fn namespace(&self) -> &Arc<Namespace> {
        &self.namespace
    }

    /// Returns a scheduler in this namespace.
    pub fn scheduler(&self) -> Scheduler {
        let mut scheduler = Scheduler::new();
        scheduler.namespace(&self.namespace);
        scheduler
    }

    pub fn builder<T: Payload>(&self, topic: &str) -> TopicBuilder<T> {
        Topic::builder(topic).namespace(&self.namespace)
    }

    pub fn publisher<T: Payload>(&self, topic: &str, qos: Qos) -> Publisher<T> {
        self.builder(topic).qos(qos).publisher().unwrap()
    }

    pub fn subscriber<T: Payload>(&self, topic: &str, qos: Qos) -> Subscriber<T> {
        self.builder(topic).qos(qos).subscriber().unwrap()
    }

    /// Returns a publisher that can write any bytes into an existing topic of `T`.
    pub fn raw_producer<T: Payload>(&self, topic: &str) -> RawProducer {
        let name = TopicName::new(topic).unwrap();
        let request = Request::new(T::type_info());
        let segment = Segment::open(&self.namespace, &name, &request).unwrap();
        RawProducer::new(segment, OnStalled::Full).unwrap()
    }

    /// Returns the names of the files that topics have at the moment, without those of their lanes.
    pub fn topic_files(&self) -> Vec<String> {
        let (lanes, topics): (Vec<_>, Vec<_>) = self
            .files()
            .into_iter()
            .partition(|name| name.starts_with('.'));
        if topics.is_empty() {
            assert!(lanes.is_empty(), "without a topic: {lanes:?}");
        }
        topics
    }

    /// Returns the memory in bytes that the files of all topics take.
    pub fn taken_bytes(&self) -> u64 {
        let taken = |name| {
            let file = self.namespace.topics_path().join(name);
            std::fs::metadata(file).unwrap().blocks() * 512
        };
        self.files().into_iter().map(taken).sum()
    }

    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.namespace.topics_path()).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

fn open(dir: &Path, name: &str) -> Arc<Namespace> {
    let name = NamespaceName::new(name).unwrap();
    Namespace::open(&NamespaceConfig::new(dir, name)).unwrap()
}
