//! Messages as Python objects. Each object is one memory block, which also contains the bytes of
//! the message.

use std::ffi::c_int;

use pyo3::ffi;
use pyo3::prelude::*;

use crate::message::framed::data::is_writeable;
use crate::message::kind::{Comparison, MessageKind};

/// The head of a message object. The bytes of the message follow it. For a nested message, they are
/// instead in the message `owner`, of which this message is a part.
#[repr(C)]
pub(crate) struct MessageObject {
    head: ffi::PyObject,
    message: MessageObjectFields,
}

/// The fields of a message object, which follow the standard header of a Python object in memory.
#[repr(C)]
struct MessageObjectFields {
    kind: &'static MessageKind,
    data: *mut u8,
    owner: *mut ffi::PyObject,
}

/// The size of the head of a message object, in bytes. This is the offset of the message's bytes.
/// It is a multiple of 8, which is the largest alignment of a message.
pub(crate) const OBJECT_HEAD_BYTES: usize = size_of::<MessageObject>();
const _: () = assert!(OBJECT_HEAD_BYTES.is_multiple_of(8));

/// The base class of messages of fixed size.
#[pyclass(frozen, subclass, module = "horus")]
#[derive(Debug)]
pub(crate) struct Message;

/// Makes a message whose content is a copy of `bytes`.
pub(crate) fn message_from_bytes<'py>(
    py: Python<'py>,
    kind: &'static MessageKind,
    bytes: &[u8],
) -> PyResult<Bound<'py, PyAny>> {
    assert_eq!(bytes.len(), kind.bytes, "a message of {}", kind.schema.name);
    let object = uninitialised_message(py, kind)?;
    // SAFETY: the object is new, and has room for so many bytes.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), bytes_address(&object), kind.bytes) };
    Ok(object)
}

/// Makes a message in which all bytes are 0.
pub(crate) fn zeroed_message<'py>(
    py: Python<'py>,
    kind: &'static MessageKind,
) -> PyResult<Bound<'py, PyAny>> {
    let object = uninitialised_message(py, kind)?;
    // SAFETY: the object is new, and has room for so many bytes.
    unsafe { std::ptr::write_bytes(bytes_address(&object), 0, kind.bytes) };
    Ok(object)
}

/// Makes a message object whose bytes are not initialised yet. The caller must write them.
#[inline]
fn uninitialised_message<'py>(
    py: Python<'py>,
    kind: &'static MessageKind,
) -> PyResult<Bound<'py, PyAny>> {
    message_with_extra_bytes(py, kind, 0)
}

/// Makes a message with uninitialised bytes. In front of these, the object has `extra` more
/// uninitialised bytes for other data: see [`extra_bytes_of`].
///
/// `extra` must be a multiple of 8.
#[inline]
pub(crate) fn message_with_extra_bytes<'py>(
    py: Python<'py>,
    kind: &'static MessageKind,
    extra: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let object = allocate_object(py, kind, extra + kind.bytes)?;
    // SAFETY: the block has so many bytes after the head.
    let data = unsafe { object.as_ptr().cast::<u8>().add(OBJECT_HEAD_BYTES + extra) };
    // SAFETY: the object is new, nobody else knows it.
    unsafe { (*object.as_ptr().cast::<MessageObject>()).message.data = data };
    Ok(object)
}

/// Returns the address of the extra bytes of a message that was made by
/// [`message_with_extra_bytes`].
#[inline]
pub(crate) fn extra_bytes_of(object: *mut ffi::PyObject) -> *mut u8 {
    object.cast::<u8>().wrapping_add(OBJECT_HEAD_BYTES)
}

/// Makes an object for a message that is nested in `outer` at the byte offset `offset`. The object
/// has no message bytes. It uses those of `outer`.
pub(crate) fn nested_message<'py>(
    outer: &Bound<'py, PyAny>,
    kind: &'static MessageKind,
    offset: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let object = allocate_object(outer.py(), kind, 0)?;
    // SAFETY: the object is new, nobody else knows it.
    let this = unsafe { &mut *object.as_ptr().cast::<MessageObject>() };
    // SAFETY: by the caller's promise, the nested message lies in `outer`.
    this.message.data = unsafe { bytes_address(outer).add(offset) };
    // The nested message keeps the whole one alive.
    this.message.owner = outer.clone().into_ptr();
    Ok(object)
}

/// Allocates a message object: a head, followed by `bytes` uninitialised bytes.
#[inline]
fn allocate_object<'py>(
    py: Python<'py>,
    kind: &'static MessageKind,
    bytes: usize,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the interpreter is attached.
    let block = unsafe { ffi::PyObject_Malloc(OBJECT_HEAD_BYTES + bytes) }.cast::<MessageObject>();
    if block.is_null() {
        return Err(pyo3::exceptions::PyMemoryError::new_err(()));
    }
    // SAFETY: the class is one of ours, whose instances begin with a head; the block has room.
    let object = unsafe { ffi::PyObject_Init(block.cast(), kind.class()) };
    // SAFETY: the block begins with a head, of which nothing but what Python has just written is
    // read before the next lines.
    let place = unsafe { (&raw mut (*block).message).cast::<MessageObjectFields>() };
    let fields = MessageObjectFields {
        kind,
        data: std::ptr::null_mut(),
        owner: std::ptr::null_mut(),
    };
    // SAFETY: as above; nobody else knows the block.
    unsafe { place.write(fields) };
    // SAFETY: a new object, of which this is the only reference.
    Ok(unsafe { Bound::from_owned_ptr(py, object) })
}

/// Returns the address of the first byte of `message`, which must be a message object.
#[inline]
pub(crate) fn bytes_address(message: &Bound<'_, PyAny>) -> *mut u8 {
    // SAFETY: every message begins with a head, which never changes.
    unsafe { (*message.as_ptr().cast::<MessageObject>()).message.data }
}

/// Returns the kind of the object `message`, which must be a message object.
#[inline]
pub(crate) fn kind_of(message: &Bound<'_, PyAny>) -> &'static MessageKind {
    // SAFETY: every message begins with a head, which never changes.
    unsafe { (*message.as_ptr().cast::<MessageObject>()).message.kind }
}

/// Returns the message that has the bytes of `message`: itself, or the outermost message in which
/// it is nested.
#[inline]
pub(crate) fn outermost_message<'a, 'py>(
    message: &'a Bound<'py, PyAny>,
) -> Borrowed<'a, 'py, PyAny> {
    let mut whole = message.as_borrowed();
    loop {
        // SAFETY: every message begins with a head, which never changes.
        let owner = unsafe { (*whole.as_ptr().cast::<MessageObject>()).message.owner };
        if owner.is_null() {
            return whole;
        }
        // SAFETY: a message keeps its owner alive for as long as it lives.
        whole = unsafe { Borrowed::from_ptr(message.py(), owner) };
    }
}

/// Returns the bytes of a message. They must not be used while Python code may run, because Python
/// code can change them.
#[inline]
pub(crate) fn message_bytes<'a>(message: &'a Bound<'_, PyAny>) -> &'a [u8] {
    // SAFETY: a message has so many bytes as long as it lives; only who holds the GIL writes them.
    unsafe { std::slice::from_raw_parts(bytes_address(message), kind_of(message).bytes) }
}

/// Returns the bytes of a message for writing.
///
/// # Safety
///
/// No other code has a reference to the message.
#[inline]
pub(crate) unsafe fn message_bytes_mut<'a>(message: &Bound<'_, PyAny>) -> &'a mut [u8] {
    let data = bytes_address(message);
    let bytes = kind_of(message).bytes;
    // SAFETY: a message has so many bytes; by the contract, no other reference to them exists.
    unsafe { std::slice::from_raw_parts_mut(data, bytes) }
}

/// Returns true if `object` is a message object of any kind.
#[inline]
pub(crate) fn is_message(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<Message>()
}

/// Implements `tp_dealloc` of the class: frees the object, and releases its owner and its class.
pub(crate) unsafe extern "C" fn dealloc(object: *mut ffi::PyObject) {
    // SAFETY: Python gives the last reference to a message.
    let class = unsafe { ffi::Py_TYPE(object) };
    // SAFETY: as above.
    let owner = unsafe { (*object.cast::<MessageObject>()).message.owner };
    // SAFETY: the block is from `PyObject_Malloc`; an exporter of its bytes has a reference.
    unsafe { ffi::PyObject_Free(object.cast()) };
    // SAFETY: the object had a reference to its owner, or none.
    unsafe { ffi::Py_XDECREF(owner) };
    // SAFETY: the object had a reference to its class.
    unsafe { ffi::Py_DECREF(class.cast()) };
}

/// Returns true if all fields of two messages of the same class are equal.
pub(crate) fn are_equal(one: &Bound<'_, PyAny>, other: &Bound<'_, PyAny>) -> bool {
    let runs = &kind_of(one).byte_runs;
    let one = message_bytes(one);
    let other = message_bytes(other);
    runs.iter().all(|run| {
        let range = run.offset..run.offset + run.bytes;
        let one = &one[range.clone()];
        let other = &other[range];
        match run.comparison {
            Comparison::Bytes => one == other,
            Comparison::F32 => floats_equal(one, other, f32::from_ne_bytes),
            Comparison::F64 => floats_equal(one, other, f64::from_ne_bytes),
        }
    })
}

fn floats_equal<T: PartialEq, const N: usize>(
    one: &[u8],
    other: &[u8],
    read: fn([u8; N]) -> T,
) -> bool {
    let one = one.as_chunks::<N>().0;
    let other = other.as_chunks::<N>().0;
    one.iter()
        .zip(other)
        .all(|(one, other)| read(*one) == read(*other))
}

/// Implements the buffer protocol (`bf_getbuffer`): exports the bytes of the message for reading
/// and, unless it is read-only, for writing.
pub(crate) unsafe extern "C" fn get_buffer(
    object: *mut ffi::PyObject,
    view: *mut ffi::Py_buffer,
    flags: c_int,
) -> c_int {
    // SAFETY: Python calls the functions of a class with the interpreter attached.
    let py = unsafe { Python::assume_attached() };
    // SAFETY: Python calls this with a message.
    let this = unsafe { Borrowed::from_ptr(py, object) };
    // SAFETY: the place for the view is Python's; the message keeps its own bytes.
    unsafe { fill_buffer_view(&this, &this, view, flags) }
}

/// Fills `view` with the bytes of `message`. The view gets a reference to `exporter`.
///
/// # Safety
///
/// `view` and `flags` are those of a call of `bf_getbuffer`. `exporter` keeps `message` alive.
unsafe fn fill_buffer_view(
    message: &Bound<'_, PyAny>,
    exporter: &Bound<'_, PyAny>,
    view: *mut ffi::Py_buffer,
    flags: c_int,
) -> c_int {
    let bytes = isize::try_from(kind_of(message).bytes).unwrap_or(isize::MAX);
    let is_read_only = c_int::from(!is_writeable(message));
    let data = bytes_address(message).cast();
    // SAFETY: by the contract, the bytes live as long as the exporter.
    unsafe { ffi::PyBuffer_FillInfo(view, exporter.as_ptr(), data, bytes, is_read_only, flags) }
}

/// Exports the bytes of a message by the buffer protocol, even if the class of the message does not
/// support that protocol.
#[pyclass(frozen)]
pub(crate) struct ByteExporter(pub(crate) Py<PyAny>);

#[pymethods]
impl ByteExporter {
    unsafe fn __getbuffer__(
        slf: &Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let message = slf.get().0.bind(slf.py());
        // SAFETY: Python gives the arguments, and this object has a reference to the message.
        match unsafe { fill_buffer_view(message, slf, view, flags) } {
            0 => Ok(()),
            _ => Err(PyErr::fetch(slf.py())),
        }
    }
}
