//! Namespaces, as C sees them.

use std::ffi::c_char;
use std::sync::Arc;

use horus_core::namespace::{Namespace, NamespaceConfig, NamespaceName, remove_topic, sweep};

use crate::ffi::{self, NAME_BYTES_MAX, Out, guard, set_if_wanted};
use crate::handle::Slab;
use crate::status::{Failure, HORUS_E_BUSY, HORUS_E_NAME, HORUS_OK};

/// `horus_namespace_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct HorusNamespace {
    /// The handle.
    pub id: u64,
}

static NAMESPACES: Slab<Arc<Namespace>> = Slab::new(1);

/// Returns the namespace of a handle, or that of the environment if the handle is 0.
///
/// # Safety
///
/// No other thread is in a call with the handle.
pub(crate) unsafe fn namespace_of(handle: HorusNamespace) -> Result<Arc<Namespace>, Failure> {
    if handle.id == 0 {
        return Ok(Namespace::current()?);
    }
    // SAFETY: the caller's contract: no other thread is in a call with the handle.
    let namespace = unsafe { NAMESPACES.enter(handle.id) }?;
    Ok(Arc::clone(&namespace))
}

/// `horus_namespace_open`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_namespace_open(
    directory: *const c_char,
    name: *const c_char,
    out: *mut HorusNamespace,
) -> i32 {
    guard(|| {
        let out = Out::new(out, "out")?;
        // SAFETY: the caller's contract: `directory` is null or a terminated text.
        let directory = unsafe { ffi::text_if_any(directory, "directory", NAME_BYTES_MAX) }?;
        // SAFETY: the caller's contract: `name` is null or a terminated text.
        let name = unsafe { ffi::text_if_any(name, "name", NAME_BYTES_MAX) }?;
        let no_name =
            |error: horus_core::namespace::NameError| Failure::new(HORUS_E_NAME, error.to_string());
        let name = name.map(NamespaceName::new).transpose().map_err(no_name)?;
        let config = match (directory, name) {
            (Some(directory), Some(name)) => NamespaceConfig::new(directory, name),
            (directory, name) => {
                let found = NamespaceConfig::from_env().map_err(no_name)?;
                let directory = directory.map_or_else(|| found.dir().to_owned(), Into::into);
                NamespaceConfig::new(directory, name.unwrap_or_else(|| found.name().clone()))
            }
        };
        let id = NAMESPACES.open(Namespace::open(&config)?)?;
        // SAFETY: the caller's contract: `out` is valid for writes.
        unsafe { out.set(HorusNamespace { id }) };
        Ok(HORUS_OK)
    })
}

/// `horus_namespace_close`.
#[unsafe(no_mangle)]
pub extern "C" fn horus_namespace_close(name_space: HorusNamespace) -> i32 {
    guard(|| {
        drop(NAMESPACES.close(name_space.id)?);
        Ok(HORUS_OK)
    })
}

/// `horus_namespace_remove`.
#[unsafe(no_mangle)]
pub extern "C" fn horus_namespace_remove(name_space: HorusNamespace) -> i32 {
    guard(|| {
        NAMESPACES.close(name_space.id)?.remove()?;
        Ok(HORUS_OK)
    })
}

/// `horus_namespace_sweep`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_namespace_sweep(
    name_space: HorusNamespace,
    out_removed: *mut usize,
) -> i32 {
    guard(|| {
        // SAFETY: the caller's contract: no other thread is in a call with the namespace.
        let namespace = unsafe { namespace_of(name_space) }?;
        let report = sweep(&namespace)?;
        // SAFETY: the caller's contract: `out_removed` is null or valid for writes.
        unsafe { set_if_wanted(out_removed, report.removed.len()) };
        Ok(HORUS_OK)
    })
}

/// `horus_topic_remove`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_topic_remove(
    name_space: HorusNamespace,
    topic: *const c_char,
) -> i32 {
    guard(|| {
        // SAFETY: the caller's contract: `topic` is null or a terminated text.
        let topic = unsafe { ffi::text(topic, "topic", NAME_BYTES_MAX) }?;
        // SAFETY: the caller's contract: no other thread is in a call with the namespace.
        let namespace = unsafe { namespace_of(name_space) }?;
        if remove_topic(&namespace, topic)? {
            return Ok(HORUS_OK);
        }
        let text = format!("topic '{topic}' is in use: close its endpoints first");
        Err(Failure::new(HORUS_E_BUSY, text))
    })
}
