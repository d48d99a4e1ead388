//! Messages as Python objects: one block of memory with the message's bytes in it.

use std::ffi::c_int;

use pyo3::ffi;
use pyo3::prelude::*;

use crate::message::kind::{Compared, Kind};

/// A message. Its bytes follow, or lie in the message `owner`, of which this is a part.
#[repr(C)]
pub(crate) struct Object {
    head: ffi::PyObject,
    part: Part,
}

/// The part of a message that other objects do not have.
#[repr(C)]
struct Part {
    kind: &'static Kind,
    data: *mut u8,
    owner: *mut ffi::PyObject,
}

/// The offset of the bytes of a message that owns them: aligned as any message has to be.
pub(crate) const HEAD_BYTES: usize = size_of::<Object>();
const _: () = assert!(HEAD_BYTES.is_multiple_of(8));

/// The base of the classes of messages without data.
#[pyclass(frozen, subclass, module = "horus")]
#[derive(Debug)]
pub(crate) struct Message;

/// A new message with these bytes.
pub(crate) fn copied<'py>(
    py: Python<'py>,
    kind: &'static Kind,
    bytes: &[u8],
) -> PyResult<Bound<'py, PyAny>> {
    assert_eq!(bytes.len(), kind.bytes, "a message of {}", kind.schema.name);
    let object = allocate(py, kind)?;
    // SAFETY: the object is new, and has room for so many bytes.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), data(&object), kind.bytes) };
    Ok(object)
}

/// A new message of zeros.
pub(crate) fn zeroed<'py>(py: Python<'py>, kind: &'static Kind) -> PyResult<Bound<'py, PyAny>> {
    let object = allocate(py, kind)?;
    // SAFETY: the object is new, and has room for so many bytes.
    unsafe { std::ptr::write_bytes(data(&object), 0, kind.bytes) };
    Ok(object)
}

/// A new message whose bytes are anything.
#[inline]
fn allocate<'py>(py: Python<'py>, kind: &'static Kind) -> PyResult<Bound<'py, PyAny>> {
    with_room(py, kind, 0)
}

/// A new message whose bytes are anything, and `room` bytes before them for whatever else it has,
/// which nobody has written: see [`room_of`].
///
/// `room` is a multiple of 8.
#[inline]
pub(crate) fn with_room<'py>(
    py: Python<'py>,
    kind: &'static Kind,
    room: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let object = block(py, kind, room + kind.bytes)?;
    // SAFETY: the block has so many bytes after the head.
    let data = unsafe { object.as_ptr().cast::<u8>().add(HEAD_BYTES + room) };
    // SAFETY: the object is new, nobody else knows it.
    unsafe { (*object.as_ptr().cast::<Object>()).part.data = data };
    Ok(object)
}

/// Returns the address of the extra bytes of a message that was made [`with_room`].
#[inline]
pub(crate) fn room_of(object: *mut ffi::PyObject) -> *mut u8 {
    object.cast::<u8>().wrapping_add(HEAD_BYTES)
}

/// The part of `whole` at `offset`, a message itself: no bytes of its own.
pub(crate) fn part<'py>(
    whole: &Bound<'py, PyAny>,
    kind: &'static Kind,
    offset: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let object = block(whole.py(), kind, 0)?;
    // SAFETY: the object is new, nobody else knows it.
    let this = unsafe { &mut *object.as_ptr().cast::<Object>() };
    // SAFETY: the caller says that the part lies in the whole, which is a message.
    this.part.data = unsafe { data(whole).add(offset) };
    // The part keeps the whole alive.
    this.part.owner = whole.clone().into_ptr();
    Ok(object)
}

/// A head and `bytes` after it.
#[inline]
fn block<'py>(py: Python<'py>, kind: &'static Kind, bytes: usize) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the interpreter is attached.
    let block = unsafe { ffi::PyObject_Malloc(HEAD_BYTES + bytes) }.cast::<Object>();
    if block.is_null() {
        return Err(pyo3::exceptions::PyMemoryError::new_err(()));
    }
    // SAFETY: the class is one of ours, whose instances begin with a head; the block has room.
    let object = unsafe { ffi::PyObject_Init(block.cast(), kind.class()) };
    // SAFETY: the block begins with a head, of which nothing but what Python has just written is
    // read before the next lines.
    let place = unsafe { (&raw mut (*block).part).cast::<Part>() };
    let part = Part { kind, data: std::ptr::null_mut(), owner: std::ptr::null_mut() };
    // SAFETY: as above; nobody else knows the block.
    unsafe { place.write(part) };
    // SAFETY: a new object, of which this is the only reference.
    Ok(unsafe { Bound::from_owned_ptr(py, object) })
}

/// Returns the address of the bytes of a message. It has to be one.
#[inline]
pub(crate) fn data(message: &Bound<'_, PyAny>) -> *mut u8 {
    // SAFETY: every message begins with a head, which never changes.
    unsafe { (*message.as_ptr().cast::<Object>()).part.data }
}

/// The kind of a message. It has to be one.
#[inline]
pub(crate) fn kind_of(message: &Bound<'_, PyAny>) -> &'static Kind {
    // SAFETY: every message begins with a head, which never changes.
    unsafe { (*message.as_ptr().cast::<Object>()).part.kind }
}

/// The bytes of a message, for as long as Python cannot run.
#[inline]
pub(crate) fn bytes<'a>(message: &'a Bound<'_, PyAny>) -> &'a [u8] {
    // SAFETY: a message has so many bytes as long as it lives; only who holds the GIL writes them.
    unsafe { std::slice::from_raw_parts(data(message), kind_of(message).bytes) }
}

/// The bytes of a message, to be written.
///
/// # Safety
///
/// Nobody else knows the message.
#[inline]
pub(crate) unsafe fn bytes_mut<'a>(message: &Bound<'_, PyAny>) -> &'a mut [u8] {
    let (data, bytes) = (data(message), kind_of(message).bytes);
    // SAFETY: a message has so many bytes; by the contract, no other reference to them exists.
    unsafe { std::slice::from_raw_parts_mut(data, bytes) }
}

/// Returns true if an object is a message of any kind.
#[inline]
pub(crate) fn is_message(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<Message>()
}

/// `tp_dealloc`.
pub(crate) unsafe extern "C" fn dealloc(object: *mut ffi::PyObject) {
    // SAFETY: Python gives the last reference to a message.
    let class = unsafe { ffi::Py_TYPE(object) };
    // SAFETY: as above.
    let owner = unsafe { (*object.cast::<Object>()).part.owner };
    // SAFETY: the block is from `PyObject_Malloc`; an exporter of its bytes has a reference.
    unsafe { ffi::PyObject_Free(object.cast()) };
    // SAFETY: the object had a reference to its owner, or none.
    unsafe { ffi::Py_XDECREF(owner) };
    // SAFETY: the object had a reference to its class.
    unsafe { ffi::Py_DECREF(class.cast()) };
}

/// Returns true if two messages of one class have equal fields.
pub(crate) fn equal(one: &Bound<'_, PyAny>, other: &Bound<'_, PyAny>) -> bool {
    let (runs, one, other) = (&kind_of(one).runs, bytes(one), bytes(other));
    runs.iter().all(|run| {
        let range = run.offset..run.offset + run.bytes;
        let (one, other) = (&one[range.clone()], &other[range]);
        match run.compared {
            Compared::Bytes => one == other,
            Compared::F32 => same(one, other, f32::from_ne_bytes),
            Compared::F64 => same(one, other, f64::from_ne_bytes),
        }
    })
}

fn same<T: PartialEq, const N: usize>(one: &[u8], other: &[u8], read: fn([u8; N]) -> T) -> bool {
    let (one, other) = (one.as_chunks::<N>().0, other.as_chunks::<N>().0);
    one.iter().zip(other).all(|(one, other)| read(*one) == read(*other))
}

/// `bf_getbuffer`: the bytes, to read and write.
pub(crate) unsafe extern "C" fn get_buffer(
    object: *mut ffi::PyObject,
    view: *mut ffi::Py_buffer,
    flags: c_int,
) -> c_int {
    // SAFETY: Python calls this with a message.
    let this = unsafe { &(*object.cast::<Object>()).part };
    let bytes = isize::try_from(this.kind.bytes).unwrap_or(isize::MAX);
    // SAFETY: the bytes live as long as the object, to which the view gets a reference.
    unsafe { ffi::PyBuffer_FillInfo(view, object, this.data.cast(), bytes, 0, flags) }
}
