//! Messages with trailing data, as Python objects: a header, and the location of the data.

use std::ptr;

use horus_core::message::{ArrayLayout, Buffer, FramedKind};
use horus_core::topic::RawSample;
use pyo3::exceptions::{PyAttributeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;

use crate::buffer::zeroed_buffer;
use crate::message::framed::memory::{DataOwner, Loan, LoanEndReason};
use crate::message::instance;
use crate::message::kind::MessageKind;

/// The location of a message's data. It is stored in the message object, before the header.
pub(crate) struct DataLocation {
    pub(super) address: *mut u8,
    pub(super) bytes: usize,
    pub(super) memory: DataOwner,
    /// The element type and dimensions of the data. `None` before their first use, and always
    /// `None` while the header can still change.
    layout: Option<ArrayLayout>,
}

/// Number of extra bytes in the Python object of a message with trailing data, which is the size of
/// a [`DataLocation`].
pub(crate) const DATA_LOCATION_BYTES: usize = size_of::<DataLocation>();
const _: () = assert!(DATA_LOCATION_BYTES.is_multiple_of(8) && align_of::<DataLocation>() == 8);

/// Returns the data location of a message, which must have trailing data.
#[inline]
pub(super) fn data_location_of<'a>(object: &'a Bound<'_, PyAny>) -> &'a DataLocation {
    // SAFETY: written when the object was made, and only changed by `data_location_mut`.
    unsafe { &*instance::extra_bytes_of(object.as_ptr()).cast::<DataLocation>() }
}

/// Returns the data location of a message for writing. The message must have trailing data.
///
/// # Safety
///
/// No other reference to the same `DataLocation` is used while this one is.
#[inline]
#[expect(
    clippy::mut_from_ref,
    reason = "Python's objects are shared; the contract says the rest"
)]
pub(super) unsafe fn data_location_mut<'a>(object: &'a Bound<'_, PyAny>) -> &'a mut DataLocation {
    // SAFETY: as in `data_location_of`, and by the contract nobody else looks.
    unsafe { &mut *instance::extra_bytes_of(object.as_ptr()).cast::<DataLocation>() }
}

/// Returns the description of the message type of `object`, which must be a message that ends in
/// data of variable length.
#[inline]
pub(super) fn framed_kind_of(object: &Bound<'_, PyAny>) -> &'static FramedKind {
    instance::kind_of(object)
        .framed
        .expect("a message that ends in data")
}

/// Returns the bytes of the header and of the data. They must not be used while Python code may
/// run, because Python code can change them.
///
/// # Errors
///
/// The same as for [`check_loan_not_ended`].
pub(crate) fn header_and_data<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<(&'a [u8], &'a [u8])> {
    check_loan_not_ended(object)?;
    let data = data_location_of(object);
    // SAFETY: so many bytes lie there as long as the object lives; only who holds the GIL writes
    // those of a loan and of memory of its own.
    let bytes = unsafe { std::slice::from_raw_parts(data.address, data.bytes) };
    Ok((instance::message_bytes(object), bytes))
}

/// Returns the size of the data, in bytes.
pub(crate) fn data_bytes(object: &Bound<'_, PyAny>) -> usize {
    data_location_of(object).bytes
}

/// Checks that the data still belong to the message.
///
/// # Errors
///
/// `ValueError` if the message was on loan, and is not any longer.
///
/// WHY: the publisher writes its next messages into the same slot, and another process may do so
/// after the publisher's end. This message would then show the data of those messages.
#[inline]
fn check_loan_not_ended(object: &Bound<'_, PyAny>) -> PyResult<()> {
    match loan_end_reason(object) {
        None => Ok(()),
        Some(reason) => Err(ended_loan_error(object, reason)),
    }
}

/// Returns the reason why a message is no longer on loan. Returns `None` for a message that is on
/// loan, or never was.
#[inline]
fn loan_end_reason(object: &Bound<'_, PyAny>) -> Option<LoanEndReason> {
    match &data_location_of(object).memory {
        DataOwner::Loan(Loan {
            publisher: Err(reason),
            ..
        }) => Some(*reason),
        _ => None,
    }
}

/// Returns the error for an access to the data of a message that is no longer on loan.
#[cold]
pub(super) fn ended_loan_error(object: &Bound<'_, PyAny>, reason: LoanEndReason) -> PyErr {
    let name = instance::kind_of(object).schema.name;
    let (end, call) = match reason {
        LoanEndReason::Published => ("it was published", "publish()"),
        LoanEndReason::Discarded => ("it was discarded", "discard()"),
        LoanEndReason::Closed => ("its publisher was closed", "close()"),
    };
    PyValueError::new_err(format!(
        "the data of this {name} are gone: {end}, and its slot in shared memory belongs to other \
         messages. Make a copy() before {call}"
    ))
}

/// Makes a message with a copy of `header`. The data of the message are the `bytes` bytes at
/// `address`, which are part of `memory`.
pub(crate) fn message_with_data<'py>(
    py: Python<'py>,
    kind: &'static MessageKind,
    header: &[u8],
    (address, bytes): (*mut u8, usize),
    memory: DataOwner,
) -> PyResult<Bound<'py, PyAny>> {
    assert_eq!(header.len(), kind.bytes, "a header of {}", kind.schema.name);
    let object = instance::message_with_extra_bytes(py, kind, DATA_LOCATION_BYTES)?;
    // SAFETY: the object is new, and has room for so many bytes.
    unsafe {
        ptr::copy_nonoverlapping(
            header.as_ptr(),
            instance::bytes_address(&object),
            kind.bytes,
        )
    };
    let extra = instance::extra_bytes_of(object.as_ptr()).cast::<DataLocation>();
    // SAFETY: as above; nobody else knows the object.
    unsafe {
        extra.write(DataLocation {
            address,
            bytes,
            memory,
            layout: None,
        })
    };
    Ok(object)
}

/// Makes a message that owns its data. All data bytes are 0.
pub(crate) fn message_with_own_data<'py>(
    py: Python<'py>,
    kind: &'static MessageKind,
    header: &[u8],
    bytes: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let mut buffer = zeroed_buffer(bytes)?;
    let address = buffer.as_mut().as_mut_ptr();
    message_with_data(
        py,
        kind,
        header,
        (address, bytes),
        DataOwner::Own(buffer.into()),
    )
}

/// Makes a message from a received slot, without copying its data. Returns `None` if the slot
/// contains no valid message.
#[inline]
pub(crate) fn message_from_sample<'py>(
    py: Python<'py>,
    kind: &'static MessageKind,
    sample: RawSample,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some((header, data)) = sample.bytes().split_at_checked(kind.bytes) else {
        return Ok(None);
    };
    // WHY a copy of the header: it is checked once, and must not change after that.
    let mut small = [0; HEADER_BYTES_ON_STACK_MAX];
    let mut large = Vec::new();
    let copy = match small.get_mut(..header.len()) {
        Some(copy) => copy,
        None => {
            large.resize(header.len(), 0);
            large.as_mut_slice()
        }
    };
    copy.copy_from_slice(header);
    let Some(bytes) = data_bytes_if_valid(kind, copy, data.len()) else {
        return Ok(None);
    };
    let address = data.as_ptr().cast_mut();
    message_with_data(py, kind, copy, (address, bytes), DataOwner::Sample(sample)).map(Some)
}

/// The maximum size of a header that is copied without an allocation, in bytes. The headers of all
/// standard messages are smaller.
const HEADER_BYTES_ON_STACK_MAX: usize = 1024;

/// Makes a message from the first `bytes` bytes of `buffer`. The message owns the buffer as `owner`
/// does, so the data are not copied. Returns `None` if these bytes are not a valid message.
pub(crate) fn message_from_buffer<'py>(
    py: Python<'py>,
    kind: &'static MessageKind,
    (mut buffer, bytes): (Buffer, usize),
    owner: impl FnOnce(Buffer) -> DataOwner,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let message = &buffer.as_ref()[..bytes];
    let Some((header, data)) = header_and_stated_data_bytes(kind, message) else {
        return Ok(None);
    };
    let header = header.to_vec();
    let address = buffer.as_mut()[kind.bytes..].as_mut_ptr();
    message_with_data(py, kind, &header, (address, data), owner(buffer)).map(Some)
}

/// Splits the bytes of an untrusted message. Returns the header, and the number of data bytes that
/// the header states; `None` if the message is not valid.
pub(crate) fn header_and_stated_data_bytes<'a>(
    kind: &MessageKind,
    message: &'a [u8],
) -> Option<(&'a [u8], usize)> {
    let (header, data) = message.split_at_checked(kind.bytes)?;
    Some((header, data_bytes_if_valid(kind, header, data.len())?))
}

/// Returns the number of data bytes that a header states. Returns `None` if the header is not
/// valid, or if it states more than `available` bytes.
fn data_bytes_if_valid(kind: &MessageKind, header: &[u8], available: usize) -> Option<usize> {
    let bytes = kind.framed?.data_bytes(header).ok()?;
    (bytes <= available).then_some(bytes)
}

/// Returns a copy of the message. The copy owns its data, and can be written.
pub(crate) fn copy_message<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let (header, data) = header_and_data(object)?;
    let copy = message_with_own_data(object.py(), instance::kind_of(object), header, data.len())?;
    copy_data_into_message(&copy, data);
    Ok(copy)
}

/// Copies `data` to a new message, whose data must have exactly this length.
pub(crate) fn copy_data_into_message(object: &Bound<'_, PyAny>, data: &[u8]) {
    let to = data_location_of(object).address;
    assert_eq!(
        data.len(),
        data_location_of(object).bytes,
        "as many as it was made for"
    );
    // SAFETY: memory of its own, of so many bytes.
    unsafe { ptr::copy_nonoverlapping(data.as_ptr(), to, data.len()) };
}

/// Returns an error if the message is read-only.
pub(crate) fn ensure_writeable(object: &Bound<'_, PyAny>) -> PyResult<()> {
    if is_writeable(object) {
        return Ok(());
    }
    let whole = instance::outermost_message(object);
    Err(PyAttributeError::new_err(match loan_end_reason(&whole) {
        None => "a received message is read-only: change a copy()",
        Some(_) => "a message that was on loan is read-only: make a copy() before publish()",
    }))
}

/// Returns a new buffer for `bytes` bytes of data, if the memory that the message owns has no room
/// for them. Raises `MemoryError` if there is no memory for it.
pub(super) fn larger_buffer_if_needed(
    object: &Bound<'_, PyAny>,
    bytes: usize,
) -> PyResult<Option<Buffer>> {
    let data = data_location_of(object);
    let DataOwner::Own(buffers) = &data.memory else {
        return Ok(None);
    };
    let room = buffers.bytes_to_end_of_buffer(data.address);
    if bytes <= room {
        return Ok(None);
    }
    // WHY twice as long: the message keeps its earlier buffers, and so all of them together are not
    // longer than the current one, however often the length changes.
    zeroed_buffer(bytes.max(2 * room)).map(Some)
}

/// Replaces the data of a message by `bytes`. They may have a different length, unless the message
/// is on loan. `larger_buffer` is the result of [`larger_buffer_if_needed`] for this length.
///
/// Arrays that were made from the old data keep their length. They show the new data, unless the
/// new data did not fit into the memory; then the arrays continue to use the old memory.
pub(super) fn replace_data(object: &Bound<'_, PyAny>, bytes: &[u8], larger_buffer: Option<Buffer>) {
    // SAFETY: no other reference is used before this returns.
    let data = unsafe { data_location_mut(object) };
    if let DataOwner::Own(buffers) = &mut data.memory {
        if let Some(mut buffer) = larger_buffer {
            data.address = buffer.as_mut().as_mut_ptr();
            buffers.replace_current(buffer);
        }
        assert!(
            bytes.len() <= buffers.bytes_to_end_of_buffer(data.address),
            "a buffer that was not grown"
        );
        data.bytes = bytes.len();
    }
    assert!(
        bytes.len() <= data.bytes,
        "more than the data have room for"
    );
    // SAFETY: the data have so many bytes, and `bytes` lie elsewhere.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), data.address, bytes.len()) };
}

/// Returns true if the message may be written. This is false for a received or published message
/// with trailing data, and for all messages that are nested in such a message.
#[inline]
pub(crate) fn is_writeable(object: &Bound<'_, PyAny>) -> bool {
    let whole = instance::outermost_message(object);
    if instance::kind_of(&whole).framed.is_none() {
        return true;
    }
    match &data_location_of(&whole).memory {
        DataOwner::Own(_) => true,
        DataOwner::Sample(_) | DataOwner::Copy(_) => false,
        DataOwner::Loan(loan) => loan.publisher.is_ok(),
    }
}

/// Returns true if the message is in a slot that a publisher has loaned. The slot has been neither
/// published nor returned.
pub(crate) fn is_on_loan(object: &Bound<'_, PyAny>) -> bool {
    matches!(&data_location_of(object).memory, DataOwner::Loan(loan) if loan.publisher.is_ok())
}

/// Checks that the message has as many data bytes as its header states.
pub(crate) fn check_data_size(object: &Bound<'_, PyAny>) -> PyResult<()> {
    match data_bytes_stated_in_header(object)? {
        wanted if wanted == data_location_of(object).bytes => Ok(()),
        wanted => Err(size_mismatch_error(object, wanted)),
    }
}

/// Returns the number of data bytes that the header states.
pub(crate) fn data_bytes_stated_in_header(object: &Bound<'_, PyAny>) -> PyResult<usize> {
    let bytes = framed_kind_of(object).data_bytes(instance::message_bytes(object));
    bytes.map_err(|error| PyValueError::new_err(error.to_string()))
}

#[cold]
pub(crate) fn size_mismatch_error(object: &Bound<'_, PyAny>, wanted: usize) -> PyErr {
    let name = instance::kind_of(object).schema.name;
    let found = data_location_of(object).bytes;
    let text = format!("the header of the {name} promises {wanted} bytes, it has {found}");
    PyValueError::new_err(text)
}

/// Returns the layout of the data as an array: its element type and dimensions.
#[inline]
pub(crate) fn array_layout(object: &Bound<'_, PyAny>) -> PyResult<ArrayLayout> {
    // SAFETY: no other reference is used before this returns.
    let data = unsafe { data_location_mut(object) };
    if let Some(layout) = data.layout {
        return Ok(layout);
    }
    let layout = framed_kind_of(object).array_layout(instance::message_bytes(object), data.bytes);
    let none = || {
        let name = instance::kind_of(object).schema.name;
        let text = format!("the data of the {name} are no array, or fewer than its header says");
        PyValueError::new_err(text)
    };
    // WHY only then: the header of a message that can be written may change, and not only through
    // its attributes.
    if matches!(data.memory, DataOwner::Sample(_) | DataOwner::Copy(_)) {
        data.layout = layout;
    }
    layout.ok_or_else(none)
}

/// Returns the address of the data. The `bool` is true if the data may be written.
///
/// # Errors
///
/// The same as for [`check_loan_not_ended`].
pub(crate) fn data_address_and_is_writeable(
    object: &Bound<'_, PyAny>,
) -> PyResult<(*mut u8, bool)> {
    check_loan_not_ended(object)?;
    Ok((data_location_of(object).address, is_writeable(object)))
}

/// Implements `tp_dealloc` of the class: ends a loan, releases the memory of the data, and frees
/// the object.
pub(crate) unsafe extern "C" fn dealloc(object: *mut ffi::PyObject) {
    // SAFETY: written when the object was made, and nobody else has the object.
    let data = unsafe { &mut *instance::extra_bytes_of(object).cast::<DataLocation>() };
    if let DataOwner::Loan(loan) = &mut data.memory {
        loan.discard_unless_ended();
    }
    // SAFETY: written when the object was made; the object is not used after this.
    unsafe { ptr::drop_in_place(instance::extra_bytes_of(object).cast::<DataLocation>()) };
    // SAFETY: what every message has is left.
    unsafe { instance::dealloc(object) };
}
