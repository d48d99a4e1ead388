//! Preparations that the unit tests of several modules share.

use std::sync::Arc;

use horus_core::namespace::{Namespace, NamespaceConfig, NamespaceName};
use tempfile::TempDir;

/// Opens an empty namespace in a new directory, which is removed when the returned [`TempDir`] is
/// dropped.
pub(crate) fn private_namespace() -> (TempDir, Arc<Namespace>) {
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    let config = NamespaceConfig::new(dir.path().join("horus"), NamespaceName::default());
    let namespace = Namespace::open(&config).unwrap();
    (dir, namespace)
}
