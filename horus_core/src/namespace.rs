//! Namespaces: sets of processes that share topics, the folders of their files, and cleaning up.
//!
//! Processes share topics if they have the same `HORUS_SHM_DIR` and `HORUS_NAMESPACE`. Without
//! these variables, all processes of one user do. Open a namespace explicitly to isolate something
//! (a test, a demo, a second robot), to remove it afterwards, or to [`sweep`] up the files of
//! killed processes.
//!
//! ```
//! # let dir = tempfile::tempdir_in("/dev/shm").unwrap();
//! # let dir = dir.path().join("horus");
//! use horus_core::namespace::{Namespace, NamespaceConfig, NamespaceName, sweep};
//! use horus_core::prelude::*;
//!
//! let config = NamespaceConfig::new(dir, NamespaceName::new("second_robot")?);
//! let namespace = Namespace::open(&config)?;
//! let mut topic = Topic::<CmdVel>::builder("cmd_vel").namespace(&namespace).topic()?;
//! topic.send(CmdVel::new(0.5, 0.1))?;
//! assert_eq!(sweep(&namespace)?.attended.len(), 1);
//!
//! drop(topic);
//! namespace.remove()?;
//! # Ok::<(), horus_core::Error>(())
//! ```

use std::sync::Arc;

use horus_shm::TopicName;
pub use horus_shm::{
    NameError, Namespace, NamespaceConfig, NamespaceError, NamespaceName, NamespaceRemoveError,
    RegistryError, SweepReport, sweep,
};

use crate::topic::error::TopicError;

/// Removes the topic `name`, even if it is to persist after its processes exit. It is not removed
/// while any process, this one included, has an endpoint of it. Returns true if the topic is gone,
/// also if it never existed.
///
/// # Errors
///
/// [`TopicError`]: a bad name, or a file that cannot be examined or is not a topic of this library.
pub fn remove_topic(namespace: &Arc<Namespace>, name: &str) -> Result<bool, TopicError> {
    let remove = || horus_shm::remove_topic(namespace, &TopicName::new(name)?);
    remove().map_err(|error| TopicError::new(name, error))
}
