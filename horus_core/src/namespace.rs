//! Namespaces: separate sets of topics, each with its own directory for the topics' files.
//!
//! Processes share topics if they have the same values of `HORUS_SHM_DIR` and `HORUS_NAMESPACE`.
//! Without these variables, all processes of one user share topics. `HORUS_SHM_GROUP`, or
//! [`NamespaceConfig::with_group`], shares a namespace among the users of a group.
//!
//! Open a namespace explicitly to isolate a test, a demo or a second robot, to remove a namespace,
//! or to delete the files of killed processes with [`sweep`].
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
//! assert_eq!(sweep(&namespace)?.in_use.len(), 1);
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

/// Removes the topic `name`, even if it persists after its processes have exited. Does not remove a
/// topic of which any process, including the calling one, has an endpoint. Returns true if the
/// topic does not exist afterwards.
///
/// Also removes `emergency_stop` while a stop is engaged, which schedulers that start later then do
/// not know. The commands `horus topic rm` and `horus clean` refuse that.
///
/// # Errors
///
/// Returns [`TopicError`] if the name is invalid, or the file cannot be examined or is not a topic
/// of this library.
pub fn remove_topic(namespace: &Arc<Namespace>, name: &str) -> Result<bool, TopicError> {
    let remove = || horus_shm::remove_topic(namespace, &TopicName::new(name)?);
    remove().map_err(|error| TopicError::new(name, error))
}

/// Does the same as [`remove_topic`], but keeps the topic and returns false if it was used since
/// the caller has looked at it. `uses` is the sum of
/// [`claims`](crate::introspect::LaneCounters::claims) and
/// [`sent`](crate::introspect::LaneCounters::sent) of all lanes.
#[doc(hidden)]
pub fn remove_topic_if_unused(
    namespace: &Arc<Namespace>,
    name: &str,
    uses: u64,
) -> Result<bool, TopicError> {
    let remove = || horus_shm::remove_topic_if_unused(namespace, &TopicName::new(name)?, uses);
    remove().map_err(|error| TopicError::new(name, error))
}
