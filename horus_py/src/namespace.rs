//! Namespaces, the sets of topics that processes share.

use std::path::PathBuf;
use std::sync::Arc;

use horus_core::namespace::{Namespace, NamespaceConfig, NamespaceName};
use pyo3::prelude::*;

use crate::error::NamespaceError;

/// The topics of `name` in the directory `dir`, apart from all others.
#[pyclass(frozen, name = "Namespace", module = "horus")]
#[derive(Debug)]
pub(crate) struct PyNamespace {
    pub(crate) inner: Arc<Namespace>,
    dir: PathBuf,
    name: String,
}

fn refused(error: impl std::fmt::Display) -> PyErr {
    NamespaceError::new_err(error.to_string())
}

#[pymethods]
impl PyNamespace {
    #[new]
    fn new(py: Python<'_>, dir: PathBuf, name: &str) -> PyResult<Self> {
        let config = NamespaceConfig::new(&dir, NamespaceName::new(name).map_err(refused)?);
        let inner = py.detach(|| Namespace::open(&config)).map_err(refused)?;
        Ok(Self { inner, dir, name: name.to_owned() })
    }

    /// The namespace that the environment names.
    #[staticmethod]
    fn current(py: Python<'_>) -> PyResult<Self> {
        let config = NamespaceConfig::from_env().map_err(refused)?;
        let inner = py.detach(|| Namespace::open(&config)).map_err(refused)?;
        Ok(Self { inner, dir: config.dir().to_owned(), name: config.name().to_string() })
    }

    /// The directory that it is in.
    #[getter]
    fn dir(&self) -> PathBuf {
        self.dir.clone()
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Removes its files; an error while somebody uses one of its topics.
    fn remove(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.inner.remove()).map_err(refused)
    }

    fn __repr__(&self) -> String {
        format!("horus.Namespace({:?}, {:?})", self.dir.display().to_string(), self.name)
    }
}

/// Returns the namespace of an argument, or without one that of the environment.
pub(crate) fn namespace_of(namespace: Option<&Bound<'_, PyNamespace>>) -> PyResult<Arc<Namespace>> {
    let current =
        || Namespace::current().map_err(|error| NamespaceError::new_err(error.to_string()));
    namespace.map_or_else(current, |namespace| Ok(Arc::clone(&namespace.get().inner)))
}
