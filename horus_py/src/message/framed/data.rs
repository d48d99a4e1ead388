//! Messages that end in data, as Python objects: a header, and the place of the data.

use std::ptr;

use horus_core::message::{ArrayLayout, Buffer, FramedKind};
use horus_core::topic::RawSample;
use pyo3::exceptions::{PyAttributeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;

use crate::message::framed::memory::Memory;
use crate::message::instance;
use crate::message::kind::Kind;

/// The data of a message: all that it has besides its header.
pub(crate) struct Data {
    pub(super) address: *mut u8,
    pub(super) bytes: usize,
    pub(super) memory: Memory,
    /// The layout of the data as an array, once somebody asked and if they never change.
    layout: Option<ArrayLayout>,
}

/// Room in the object for that.
pub(crate) const ROOM: usize = size_of::<Data>();
const _: () = assert!(ROOM.is_multiple_of(8) && align_of::<Data>() == 8);

/// Returns what a message has besides its header. It has to be one that ends in data.
#[inline]
pub(super) fn data_of<'a>(object: &'a Bound<'_, PyAny>) -> &'a Data {
    // SAFETY: written when the object was made, and only changed by `data_mut`.
    unsafe { &*instance::room_of(object.as_ptr()).cast::<Data>() }
}

/// The same, to be changed.
///
/// # Safety
///
/// No other reference to it is used while this one is.
#[inline]
#[expect(clippy::mut_from_ref, reason = "Python's objects are shared; the contract says the rest")]
pub(super) unsafe fn data_mut<'a>(object: &'a Bound<'_, PyAny>) -> &'a mut Data {
    // SAFETY: as in `data_of`, and by the contract nobody else looks.
    unsafe { &mut *instance::room_of(object.as_ptr()).cast::<Data>() }
}

#[inline]
pub(super) fn framed_of(object: &Bound<'_, PyAny>) -> &'static FramedKind {
    instance::kind_of(object).framed.expect("a message that ends in data")
}

/// The header's bytes and the data, for as long as Python cannot run.
pub(crate) fn parts<'a>(object: &'a Bound<'_, PyAny>) -> (&'a [u8], &'a [u8]) {
    let data = data_of(object);
    // SAFETY: so many bytes lie there as long as the object lives; only who holds the GIL writes
    // those of a loan and of memory of its own.
    let bytes = unsafe { std::slice::from_raw_parts(data.address, data.bytes) };
    (instance::bytes(object), bytes)
}

/// A new message with this header; its data are the `bytes` bytes at `address`, in `memory`.
pub(crate) fn make<'py>(
    py: Python<'py>,
    kind: &'static Kind,
    header: &[u8],
    (address, bytes): (*mut u8, usize),
    memory: Memory,
) -> PyResult<Bound<'py, PyAny>> {
    assert_eq!(header.len(), kind.bytes, "a header of {}", kind.schema.name);
    let object = instance::with_room(py, kind, ROOM)?;
    // SAFETY: the object is new, and has room for so many bytes.
    unsafe { ptr::copy_nonoverlapping(header.as_ptr(), instance::data(&object), kind.bytes) };
    let room = instance::room_of(object.as_ptr()).cast::<Data>();
    // SAFETY: as above; nobody else knows the object.
    unsafe { room.write(Data { address, bytes, memory, layout: None }) };
    Ok(object)
}

/// A message in memory of its own, whose data are zeros.
pub(super) fn own<'py>(
    py: Python<'py>,
    kind: &'static Kind,
    header: &[u8],
    bytes: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let mut buffer = Buffer::zeroed(bytes);
    let address = buffer.as_mut().as_mut_ptr();
    make(py, kind, header, (address, bytes), Memory::Own(buffer))
}

/// The message in a slot, without a copy of its data; `None` if there is none in it.
#[inline]
pub(crate) fn borrowed<'py>(
    py: Python<'py>,
    kind: &'static Kind,
    sample: RawSample,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some((header, data)) = sample.bytes().split_at_checked(kind.bytes) else {
        return Ok(None);
    };
    // WHY a copy of the header: it is checked once, and must not change after that.
    let mut copy = [0; HEADER_BYTES_MAX];
    let copy = &mut copy[..header.len()];
    copy.copy_from_slice(header);
    let Some(bytes) = promised_of(kind, copy, data.len()) else { return Ok(None) };
    let address = data.as_ptr().cast_mut();
    make(py, kind, copy, (address, bytes), Memory::Sample(sample)).map(Some)
}

/// Bytes of the longest header.
const HEADER_BYTES_MAX: usize = 1024;

/// The message in a copy of a slot, of which it takes the memory.
pub(crate) fn received<'py>(
    py: Python<'py>,
    kind: &'static Kind,
    mut buffer: Buffer,
    bytes: usize,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let message = &buffer.as_ref()[..bytes];
    let Some((header, data)) = split(kind, message) else { return Ok(None) };
    let header = header.to_vec();
    let address = buffer.as_mut()[kind.bytes..].as_mut_ptr();
    make(py, kind, &header, (address, data), Memory::Own(buffer)).map(Some)
}

/// The header of a message of any origin, and how many bytes of data follow it.
pub(super) fn split<'a>(kind: &Kind, message: &'a [u8]) -> Option<(&'a [u8], usize)> {
    let (header, data) = message.split_at_checked(kind.bytes)?;
    Some((header, promised_of(kind, header, data.len())?))
}

/// Returns the number of bytes of data that a header promises, if it makes sense and there are as
/// many.
fn promised_of(kind: &Kind, header: &[u8], found: usize) -> Option<usize> {
    let bytes = kind.framed?.data_bytes(header).ok()?;
    (bytes <= found).then_some(bytes)
}

/// A copy in memory of its own, which can be written.
pub(crate) fn copied<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let (header, data) = parts(object);
    let copy = own(object.py(), instance::kind_of(object), header, data.len())?;
    fill(&copy, data);
    Ok(copy)
}

/// Makes the data of a new message these.
pub(super) fn fill(object: &Bound<'_, PyAny>, data: &[u8]) {
    let to = data_of(object).address;
    assert_eq!(data.len(), data_of(object).bytes, "as many as it was made for");
    // SAFETY: memory of its own, of so many bytes.
    unsafe { ptr::copy_nonoverlapping(data.as_ptr(), to, data.len()) };
}

/// Before a field changes: refuses that where nothing may.
pub(crate) fn before_change(object: &Bound<'_, PyAny>) -> PyResult<()> {
    if is_writeable(object) {
        return Ok(());
    }
    Err(PyAttributeError::new_err("what was received or published is read-only: change a copy()"))
}

pub(crate) fn is_writeable(object: &Bound<'_, PyAny>) -> bool {
    match &data_of(object).memory {
        Memory::Own(_) => true,
        Memory::Sample(_) => false,
        Memory::Loan(loan) => loan.publisher.is_some(),
    }
}

/// Returns true if the message lies in a slot that a publisher has lent, and neither has back nor
/// has sent.
pub(crate) fn is_on_loan(object: &Bound<'_, PyAny>) -> bool {
    matches!(&data_of(object).memory, Memory::Loan(loan) if loan.publisher.is_some())
}

/// Checks that header and data belong together.
pub(crate) fn check(object: &Bound<'_, PyAny>) -> PyResult<()> {
    match promised(object)? {
        wanted if wanted == data_of(object).bytes => Ok(()),
        wanted => Err(unlike(object, wanted)),
    }
}

/// Bytes of data that the header promises.
pub(crate) fn promised(object: &Bound<'_, PyAny>) -> PyResult<usize> {
    let bytes = framed_of(object).data_bytes(instance::bytes(object));
    bytes.map_err(|error| PyValueError::new_err(error.to_string()))
}

#[cold]
pub(crate) fn unlike(object: &Bound<'_, PyAny>, wanted: usize) -> PyErr {
    let (name, found) = (instance::kind_of(object).schema.name, data_of(object).bytes);
    let text = format!("the header of the {name} promises {wanted} bytes, it has {found}");
    PyValueError::new_err(text)
}

/// Returns the layout of the data as an array.
#[inline]
pub(crate) fn layout(object: &Bound<'_, PyAny>) -> PyResult<ArrayLayout> {
    // SAFETY: nobody else looks before this returns.
    let data = unsafe { data_mut(object) };
    if let Some(layout) = data.layout {
        return Ok(layout);
    }
    let layout = framed_of(object).array(instance::bytes(object), data.bytes);
    let none = || {
        let name = instance::kind_of(object).schema.name;
        let text = format!("the data of the {name} are no array, or fewer than its header says");
        PyValueError::new_err(text)
    };
    // WHY only then: the header of one that can be written changes, and not only by its attributes.
    if matches!(data.memory, Memory::Sample(_)) {
        data.layout = layout;
    }
    layout.ok_or_else(none)
}

/// Returns the address of the data, and true if they may be written.
pub(crate) fn place(object: &Bound<'_, PyAny>) -> (*mut u8, bool) {
    (data_of(object).address, is_writeable(object))
}

/// `tp_dealloc`.
pub(crate) unsafe extern "C" fn dealloc(object: *mut ffi::PyObject) {
    // SAFETY: written when the object was made, and nobody else has the object.
    let data = unsafe { &mut *instance::room_of(object).cast::<Data>() };
    if let Memory::Loan(loan) = &mut data.memory {
        loan.give_back();
    }
    // SAFETY: written when the object was made; the object is not used after this.
    unsafe { ptr::drop_in_place(instance::room_of(object).cast::<Data>()) };
    // SAFETY: what every message has is left.
    unsafe { instance::dealloc(object) };
}
