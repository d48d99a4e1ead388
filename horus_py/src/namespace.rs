//! Namespaces: separate sets of topics, which processes share.

use std::path::PathBuf;
use std::sync::Arc;

use horus_core::namespace::{Namespace, NamespaceConfig, NamespaceName};
use pyo3::prelude::*;

use crate::error::NamespaceError;

/// A set of topics, separate from all others: the namespace `name` in the directory `dir`.
#[pyclass(frozen, name = "Namespace", module = "horus")]
#[derive(Debug)]
pub(crate) struct PyNamespace {
    pub(crate) inner: Arc<Namespace>,
    dir: PathBuf,
    name: String,
}

pub(crate) fn namespace_error(error: impl std::fmt::Display) -> PyErr {
    NamespaceError::new_err(error.to_string())
}

#[pymethods]
impl PyNamespace {
    #[new]
    #[pyo3(signature = (dir, name, *, group=None))]
    fn new(py: Python<'_>, dir: PathBuf, name: &str, group: Option<&str>) -> PyResult<Self> {
        let mut config =
            NamespaceConfig::new(&dir, NamespaceName::new(name).map_err(namespace_error)?);
        if let Some(group) = group {
            config = config.with_group(group).map_err(namespace_error)?;
        }
        let inner = py
            .detach(|| Namespace::open(&config))
            .map_err(namespace_error)?;
        Ok(Self {
            inner,
            dir,
            name: name.to_owned(),
        })
    }

    /// Returns the namespace that the environment variables select.
    #[staticmethod]
    fn current(py: Python<'_>) -> PyResult<Self> {
        let config = NamespaceConfig::from_env().map_err(namespace_error)?;
        let inner = py
            .detach(|| Namespace::open(&config))
            .map_err(namespace_error)?;
        Ok(Self {
            inner,
            dir: config.dir().to_owned(),
            name: config.name().to_string(),
        })
    }

    /// The directory that contains the namespace.
    #[getter]
    fn dir(&self) -> PathBuf {
        self.dir.clone()
    }

    /// The name of the namespace.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Removes the namespace's files. Raises an error while a process uses one of its topics.
    fn remove(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.inner.remove()).map_err(namespace_error)
    }

    fn __repr__(&self) -> String {
        format!(
            "horus.Namespace({:?}, {:?})",
            self.dir.display().to_string(),
            self.name
        )
    }
}

/// Returns the namespace that the caller of a Python function gave. If it gave none, returns the
/// namespace that the environment variables select.
pub(crate) fn namespace_or_current(
    namespace: Option<&Bound<'_, PyNamespace>>,
) -> PyResult<Arc<Namespace>> {
    let current =
        || Namespace::current().map_err(|error| NamespaceError::new_err(error.to_string()));
    namespace.map_or_else(current, |namespace| Ok(Arc::clone(&namespace.get().inner)))
}
