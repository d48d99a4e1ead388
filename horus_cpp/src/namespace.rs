//! The C functions that open, close and remove namespaces.

use std::ffi::c_char;
use std::sync::Arc;

use horus_core::namespace::{
    NameError, Namespace, NamespaceConfig, NamespaceError, NamespaceName, remove_topic, sweep,
};

use crate::ffi::{self, NAME_BYTES_MAX, OutPointer, run_guarded, write_if_not_null};
use crate::handle::Slab;
use crate::status::{Failure, HORUS_E_BUSY, HORUS_E_NAME, HORUS_OK};

/// The C struct `horus_namespace_t`, as `horus.h` declares it: a handle of a namespace.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct HorusNamespace {
    /// The handle, as a number. 0 stands for the namespace that the environment selects.
    pub id: u64,
}

static NAMESPACES: Slab<Arc<Namespace>> = Slab::new(1);

/// Returns the namespace to which `handle` refers. For the handle 0, returns the namespace that the
/// environment selects.
///
/// # Safety
///
/// No other thread is in a call with `handle`.
pub(crate) unsafe fn resolve_namespace(handle: HorusNamespace) -> Result<Arc<Namespace>, Failure> {
    if handle.id == 0 {
        return Ok(Namespace::current()?);
    }
    // SAFETY: the caller's contract: no other thread is in a call with the handle.
    let namespace = unsafe { NAMESPACES.borrow_value(handle.id) }?;
    Ok(Arc::clone(&namespace))
}

/// The C function `horus_namespace_open`: see `horus.h`.
///
/// # Safety
///
/// The arguments are as `horus.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_namespace_open(
    directory: *const c_char,
    name: *const c_char,
    out: *mut HorusNamespace,
) -> i32 {
    // SAFETY: the caller's contract, which is the same; a null group is allowed.
    unsafe { horus_namespace_open_group(directory, name, std::ptr::null(), out) }
}

/// The C function `horus_namespace_open_group`: see `horus.h`.
///
/// # Safety
///
/// The arguments are as `horus.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_namespace_open_group(
    directory: *const c_char,
    name: *const c_char,
    group: *const c_char,
    out: *mut HorusNamespace,
) -> i32 {
    run_guarded(|| {
        let out = OutPointer::new(out, "out")?;
        // SAFETY: the caller's contract: `directory` is null or a terminated text.
        let directory = unsafe { ffi::optional_text(directory, "directory", NAME_BYTES_MAX) }?;
        // SAFETY: the caller's contract: `name` is null or a terminated text.
        let name = unsafe { ffi::optional_text(name, "name", NAME_BYTES_MAX) }?;
        // SAFETY: the caller's contract: `group` is null or a terminated text.
        let group = unsafe { ffi::optional_text(group, "group", NAME_BYTES_MAX) }?;
        let no_name = |error: NameError| Failure::new(HORUS_E_NAME, error.to_string());
        let name = name.map(NamespaceName::new).transpose().map_err(no_name)?;
        let config = namespace_config(directory, name, group)?;
        let id = NAMESPACES.open(Namespace::open(&config)?)?;
        // SAFETY: the caller's contract: `out` is valid for writes.
        unsafe { out.write(HorusNamespace { id }) };
        Ok(HORUS_OK)
    })
}

/// Returns the configuration for opening a namespace. A `name` or `directory` that is `None` is
/// read from the environment. A `group` that is `None` is read from there only if `directory` is
/// `None`, too; otherwise there is no group.
fn namespace_config(
    directory: Option<&str>,
    name: Option<NamespaceName>,
    group: Option<&str>,
) -> Result<NamespaceConfig, NamespaceError> {
    let from_env = NamespaceConfig::from_env;
    let config = match (directory, name) {
        (Some(directory), Some(name)) => NamespaceConfig::new(directory, name),
        (Some(directory), None) => NamespaceConfig::new(directory, from_env()?.name().clone()),
        (None, Some(name)) => from_env()?.with_name(name),
        (None, None) => from_env()?,
    };
    match group {
        Some(group) => config.with_group(group),
        None => Ok(config),
    }
}

/// The C function `horus_namespace_close`: see `horus.h`.
#[unsafe(no_mangle)]
pub extern "C" fn horus_namespace_close(name_space: HorusNamespace) -> i32 {
    run_guarded(|| {
        drop(NAMESPACES.close(name_space.id)?);
        Ok(HORUS_OK)
    })
}

/// The C function `horus_namespace_remove`: see `horus.h`.
#[unsafe(no_mangle)]
pub extern "C" fn horus_namespace_remove(name_space: HorusNamespace) -> i32 {
    run_guarded(|| {
        NAMESPACES.close(name_space.id)?.remove()?;
        Ok(HORUS_OK)
    })
}

/// The C function `horus_namespace_sweep`: see `horus.h`.
///
/// # Safety
///
/// The arguments are as `horus.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_namespace_sweep(
    name_space: HorusNamespace,
    out_removed: *mut usize,
) -> i32 {
    run_guarded(|| {
        // SAFETY: the caller's contract: no other thread is in a call with the namespace.
        let namespace = unsafe { resolve_namespace(name_space) }?;
        let report = sweep(&namespace)?;
        // SAFETY: the caller's contract: `out_removed` is null or valid for writes.
        unsafe { write_if_not_null(out_removed, report.removed.len()) };
        Ok(HORUS_OK)
    })
}

/// The C function `horus_topic_remove`: see `horus.h`.
///
/// # Safety
///
/// The arguments are as `horus.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_topic_remove(
    name_space: HorusNamespace,
    topic: *const c_char,
) -> i32 {
    run_guarded(|| {
        // SAFETY: the caller's contract: `topic` is null or a terminated text.
        let topic = unsafe { ffi::required_text(topic, "topic", NAME_BYTES_MAX) }?;
        // SAFETY: the caller's contract: no other thread is in a call with the namespace.
        let namespace = unsafe { resolve_namespace(name_space) }?;
        if remove_topic(&namespace, topic)? {
            return Ok(HORUS_OK);
        }
        let text = format!("topic '{topic}' is in use: close its endpoints first");
        Err(Failure::new(HORUS_E_BUSY, text))
    })
}
