//! Namespaces: which topics processes share, where their files are, and how to clear up.
//!
//! A process meets all others that have the same `HORUS_SHM_DIR` and `HORUS_NAMESPACE`; without
//! these variables, all others of the same user. Open a namespace by hand to keep something apart
//! (a test, a demo, a second robot), to remove it afterwards, or to [`sweep`] up what processes
//! left that were killed.
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

/// Removes the topic `name`, even if it is to outlive its processes; never while a process has an
/// end of it, this one included. True if it is gone, also if it never was.
///
/// # Errors
///
/// [`TopicError`]: a bad name, a file that cannot be looked at or is none of ours.
pub fn remove_topic(namespace: &Arc<Namespace>, name: &str) -> Result<bool, TopicError> {
    let remove = || horus_shm::remove_topic(namespace, &TopicName::new(name)?);
    remove().map_err(|error| TopicError::new(name, error))
}
