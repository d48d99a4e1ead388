//! Makes the Python classes of messages through the C API, from the tables of their fields.
//!
//! WHY not classes of PyO3: such a class has the layout of one Rust type, but here one Rust type
//! serves messages of all sizes. Only the common base classes, with the methods that need not be
//! fast, are made by PyO3.

use std::ffi::{CString, c_char, c_int, c_void};

use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};
use pyo3::{PyTypeInfo, ffi};

use crate::call::{run_guarded, run_guarded_attached};
use crate::message::field;
use crate::message::framed;
use crate::message::instance::{self, get_buffer};
use crate::message::kind::{self, Field, MessageKind};

/// Makes the Python class for a kind of messages, and registers the class.
pub(crate) fn make_class<'py>(
    py: Python<'py>,
    kind: &'static MessageKind,
    module: &str,
    doc: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let text =
        |text: &str| CString::new(text).map_err(|_| PyValueError::new_err("a NUL in a name"));
    let mut getset = Vec::new();
    for field in &kind.fields {
        let doc = kind
            .schema
            .fields
            .iter()
            .find(|other| other.name == field.name);
        // WHY leaked: Python keeps the addresses for as long as the class lives, which is forever.
        getset.push(ffi::PyGetSetDef {
            name: text(field.name)?.into_raw(),
            get: Some(get_field),
            set: Some(set_field),
            doc: text(doc.map_or("", |field| field.doc.trim()))?.into_raw(),
            closure: std::ptr::from_ref(field).cast_mut().cast(),
        });
    }
    if let Some(tail) = kind.counted_tail() {
        getset.push(ffi::PyGetSetDef {
            name: text(tail.name)?.into_raw(),
            get: Some(framed::tail::get_tail),
            set: Some(framed::tail::set_tail),
            doc: c"The numbers after the fields, as an array that is a view of the message."
                .as_ptr(),
            closure: std::ptr::null_mut(),
        });
    }
    // SAFETY: an entry of zeros marks the end of the table.
    getset.push(unsafe { std::mem::zeroed() });
    let name = text(&format!("{module}.{}", kind.schema.name))?.into_raw();
    let slot = |slot: c_int, pfunc: *mut c_void| ffi::PyType_Slot { slot, pfunc };
    let extra = if kind.framed.is_some() {
        framed::data::DATA_LOCATION_BYTES
    } else {
        0
    };
    let (new, dealloc) = match kind.framed {
        Some(_) => (
            framed::draft::tp_new as *mut c_void,
            framed::data::dealloc as *mut c_void,
        ),
        None => (tp_new as *mut c_void, instance::dealloc as *mut c_void),
    };
    let mut slots = [
        slot(ffi::Py_tp_new, new),
        slot(ffi::Py_tp_dealloc, dealloc),
        slot(ffi::Py_tp_traverse, traverse as *mut c_void),
        slot(ffi::Py_tp_getset, Vec::leak(getset).as_mut_ptr().cast()),
        slot(
            ffi::Py_tp_doc,
            text(doc.trim())?.into_raw().cast::<c_char>().cast(),
        ),
        // WHY not for messages with trailing data: their buffer would have a shape, for which numpy
        // uses `__array__`.
        match kind.framed {
            Some(_) => slot(0, std::ptr::null_mut()),
            None => slot(ffi::Py_bf_getbuffer, get_buffer as *mut c_void),
        },
        slot(0, std::ptr::null_mut()),
    ];
    let mut spec = ffi::PyType_Spec {
        name,
        basicsize: c_int::try_from(instance::OBJECT_HEAD_BYTES + extra + kind.bytes)?,
        itemsize: 0,
        flags: u32::try_from(ffi::Py_TPFLAGS_DEFAULT)?,
        slots: slots.as_mut_ptr(),
    };
    let bases = PyTuple::new(py, [base_class_of(py, kind)])?;
    // SAFETY: the tables end in zeros, their strings and functions live forever.
    let class = unsafe { ffi::PyType_FromSpecWithBases(&raw mut spec, bases.as_ptr()) };
    // SAFETY: a new reference, or null and an exception.
    let class = unsafe { Bound::from_owned_ptr_or_err(py, class)? };
    // SAFETY: it is a class.
    let flags = unsafe { ffi::PyType_GetFlags(class.as_ptr().cast()) };
    if flags & ffi::Py_TPFLAGS_HAVE_GC != 0 {
        return Err(PyRuntimeError::new_err(
            "messages cannot be made without garbage collection",
        ));
    }
    for constant in kind.schema.constants {
        class.setattr(constant.name, constant.value)?;
    }
    class.setattr("__horus_schema__", kind.payload.schema_text())?;
    class.setattr("__horus_hash__", kind.payload.hash())?;
    kind::register_class(kind, &class);
    Ok(class)
}

/// Returns the base class of the class for a kind of messages: [`Message`](instance::Message) or
/// [`Framed`](framed::base::Framed).
fn base_class_of<'py>(py: Python<'py>, kind: &MessageKind) -> Bound<'py, PyType> {
    match kind.framed {
        Some(_) => framed::base::Framed::type_object(py),
        None => instance::Message::type_object(py),
    }
}

/// Implements `tp_new` of the class: makes a message with the default values, except for the fields
/// that the keyword arguments set.
unsafe extern "C" fn tp_new(
    class: *mut ffi::PyTypeObject,
    args: *mut ffi::PyObject,
    kwargs: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    run_guarded_attached(std::ptr::null_mut(), |py| {
        let kind =
            kind::kind_of_class(class).ok_or_else(|| PyTypeError::new_err("not a message"))?;
        // SAFETY: Python gives a tuple.
        if unsafe { ffi::PyTuple_Size(args) } != 0 {
            let name = kind.schema.name;
            let text = format!(
                "{name}() takes keywords only: {name}({}=…)",
                kind.fields[0].name
            );
            return Err(PyTypeError::new_err(text));
        }
        let object = instance::message_from_bytes(py, kind, &kind.default)?;
        // SAFETY: Python gives a dictionary or null.
        let kwargs = unsafe { Bound::from_borrowed_ptr_or_opt(py, kwargs) };
        if let Some(kwargs) = kwargs {
            field::set_fields(&object, kind, kwargs.cast::<PyDict>()?)?;
        }
        Ok(object.into_ptr())
    })
}

/// Implements `tp_traverse` of the class: visits nothing, because a message refers to no object
/// that could refer back to it.
///
/// WHY it exists: without it, the class would inherit garbage collection from its base class, but
/// messages have no header for the garbage collector.
unsafe extern "C" fn traverse(
    _object: *mut ffi::PyObject,
    _visit: ffi::visitproc,
    _argument: *mut c_void,
) -> c_int {
    0
}

unsafe extern "C" fn get_field(
    object: *mut ffi::PyObject,
    field: *mut c_void,
) -> *mut ffi::PyObject {
    run_guarded(std::ptr::null_mut(), |py| {
        // SAFETY: the closure of this class's table, which is a field that lives forever.
        let field = unsafe { &*field.cast::<Field>() };
        // SAFETY: Python gives a message of the class.
        let object = unsafe { Bound::from_borrowed_ptr(py, object) };
        Ok(field::python_value_of_field(&object, field)?.into_ptr())
    })
}

unsafe extern "C" fn set_field(
    object: *mut ffi::PyObject,
    value: *mut ffi::PyObject,
    field: *mut c_void,
) -> c_int {
    run_guarded_attached(-1, |py| {
        // SAFETY: the closure of this class's table, which is a field that lives forever.
        let field = unsafe { &*field.cast::<Field>() };
        // SAFETY: Python gives a message of the class.
        let object = unsafe { Bound::from_borrowed_ptr(py, object) };
        // SAFETY: Python gives an object, or null for `del`.
        let value = unsafe { Bound::from_borrowed_ptr_or_opt(py, value) };
        framed::data::ensure_writeable(&object)?;
        let Some(value) = value else {
            let text = format!("a {} always has '{}'", field.message, field.name);
            return Err(PyTypeError::new_err(text));
        };
        field::set_field_and_count(&object, field, &value)?;
        Ok(0)
    })
}
