//! The namespace of one run of a launch file. If it is private, it is removed at the end of the
//! run.

use std::process;
use std::sync::Arc;

use horus_core::namespace::{Namespace, NamespaceConfig, NamespaceName, NamespaceRemoveError};

use crate::context::namespace_failure;
use crate::failure::Failure;
use crate::random::random_digits;

/// Number of random bytes in the name of a private namespace.
const PRIVATE_NAME_RANDOM_BYTES: usize = 4;

/// The longest text that is appended to the name of a private namespace: a process id, and the
/// digits of [`PRIVATE_NAME_RANDOM_BYTES`].
pub(super) const LONGEST_PRIVATE_SUFFIX: &str = "_4194304_01234567";

/// Checks that the name of a private namespace, which begins with the selected one, is not too
/// long.
pub(super) fn check_private_name(config: &NamespaceConfig) -> Result<(), Failure> {
    let name = config.name();
    match NamespaceName::new(&format!("{name}{LONGEST_PRIVATE_SUFFIX}")) {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::usage(format_args!(
            "the name of the namespace, '{name}', is too long with the digits that 'private' \
             appends to it: {error}"
        ))),
    }
}

/// The namespace of one run. If it is private, dropping this value removes it.
#[derive(Debug)]
pub(super) struct RunNamespace {
    namespace: Arc<Namespace>,
    /// True if the namespace is private and was not removed yet.
    is_removed_on_drop: bool,
}

impl RunNamespace {
    /// Opens the namespace that `config` selects. If `is_private` is true, opens a new namespace
    /// whose name begins with the selected one.
    pub(super) fn open(mut config: NamespaceConfig, is_private: bool) -> Result<Self, Failure> {
        if is_private {
            // WHY not only the process id: launchers in different containers may have the same one,
            // and a killed launcher leaves its namespace to a later one with its id.
            let digits = random_digits::<PRIVATE_NAME_RANDOM_BYTES>().map_err(|error| {
                Failure::system(format_args!(
                    "cannot read /dev/urandom for the name of the private namespace: {error}"
                ))
            })?;
            let name = format!("{}_{}_{digits}", config.name(), process::id());
            config = config.with_name(NamespaceName::new(&name).map_err(Failure::usage)?);
        }
        let namespace = Namespace::open(&config).map_err(|error| {
            if is_private {
                // WHY the error is ignored: the first one is reported.
                let _ = Namespace::remove_at(&config);
            }
            namespace_failure(&error)
        })?;
        Ok(Self {
            namespace,
            is_removed_on_drop: is_private,
        })
    }

    pub(super) const fn get(&self) -> &Arc<Namespace> {
        &self.namespace
    }

    /// Opens the namespace again if it was removed since. Returns true if this has
    /// opened another one. Makes some system calls.
    ///
    /// # Errors
    ///
    /// The failure of opening it. The former namespace then stays open.
    pub(super) fn reopen_if_removed(&mut self) -> Result<bool, Failure> {
        if self.namespace.is_current() {
            return Ok(false);
        }
        let namespace = Namespace::open(self.namespace.config());
        let namespace = namespace.map_err(|error| namespace_failure(&error))?;
        let is_other = !Arc::ptr_eq(&namespace, &self.namespace);
        self.namespace = namespace;
        Ok(is_other)
    }

    /// Removes the namespace if it is private.
    ///
    /// # Errors
    ///
    /// The error of [`Namespace::remove`]. The namespace is then kept.
    pub(super) fn remove_if_private(&mut self) -> Result<(), NamespaceRemoveError> {
        if !std::mem::take(&mut self.is_removed_on_drop) {
            return Ok(());
        }
        self.namespace.remove()
    }
}

impl Drop for RunNamespace {
    fn drop(&mut self) {
        // WHY the error is ignored: the run has failed, and reports the reason for that.
        let _ = self.remove_if_private();
    }
}
