//! Python's buffer protocol: access to the elements of an object's buffer, and the letters that
//! stand for their types.

use std::ffi::CStr;
use std::ptr;

use horus_core::message::{Buffer, DType};
use pyo3::exceptions::{PyMemoryError, PyNotImplementedError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;

/// Maximum length of a message, in bytes: a slot is not longer.
const MESSAGE_BYTES_MAX: u64 = 64 << 20;

/// A view of a Python object's memory, obtained through the buffer protocol. It is released when
/// this value is dropped.
pub(crate) struct BufferView(Box<ffi::Py_buffer>);

impl Drop for BufferView {
    fn drop(&mut self) {
        // SAFETY: filled by `PyObject_GetBuffer`, and not moved since.
        unsafe { ffi::PyBuffer_Release(&raw mut *self.0) };
    }
}

impl BufferView {
    /// Requests the buffer of `object` through Python's buffer protocol.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        // WHY boxed: `shape` and `strides` of a `Py_buffer` may point into itself.
        let mut view = Box::new(ffi::Py_buffer::new());
        // SAFETY: an object, and a place for the view.
        let found =
            unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), &raw mut *view, ffi::PyBUF_FULL_RO) };
        if found == 0 {
            Ok(Self(view))
        } else {
            Err(PyErr::fetch(object.py()))
        }
    }

    /// Returns the number of elements along each dimension.
    pub(crate) fn shape(&self) -> &[isize] {
        let dimensions = usize::try_from(self.0.ndim).unwrap_or(0);
        if dimensions == 0 || self.0.shape.is_null() {
            return &[];
        }
        // SAFETY: as many as it says; they live as long as the view.
        unsafe { std::slice::from_raw_parts(self.0.shape, dimensions) }
    }

    /// Returns the type of the elements.
    ///
    /// # Errors
    ///
    /// `TypeError` if the elements are not integers, floats or booleans in the machine's byte
    /// order.
    pub(crate) fn dtype(&self, object: &Bound<'_, PyAny>) -> PyResult<DType> {
        let format = match self.0.format.is_null() {
            true => c"B",
            // SAFETY: a text that lives as long as the view.
            false => unsafe { CStr::from_ptr(self.0.format) },
        };
        dtype_from_format(format.to_bytes(), self.0.itemsize).ok_or_else(|| {
            let class = object.get_type();
            let format = format.to_string_lossy();
            PyTypeError::new_err(format!(
                "{class} with elements '{format}' of {} bytes: only integers, floats and booleans \
                 in the byte order of the machine can be sent, convert it by astype",
                self.0.itemsize
            ))
        })
    }

    /// Copies all elements to `place` in row-major order. `place` must have exactly the size of all
    /// elements.
    pub(crate) fn copy_to(&self, py: Python<'_>, place: &mut [u8]) -> PyResult<()> {
        let bytes = self.0.len;
        if place.len() != usize::try_from(bytes).unwrap_or(0) {
            return Err(PyNotImplementedError::new_err(
                "a buffer whose shape is not its size",
            ));
        }
        let view: *const ffi::Py_buffer = &raw const *self.0;
        // SAFETY: a view.
        if unsafe { ffi::PyBuffer_IsContiguous(view, b'C' as _) } != 0 && !place.is_empty() {
            // SAFETY: the view has so many bytes, side by side, and the place is another memory.
            unsafe { ptr::copy(self.0.buf.cast(), place.as_mut_ptr(), place.len()) };
            return Ok(());
        }
        let to = place.as_mut_ptr().cast();
        // SAFETY: the place has so many bytes.
        let copied = unsafe { ffi::PyBuffer_ToContiguous(to, view.cast_mut(), bytes, b'C' as _) };
        if copied == 0 {
            Ok(())
        } else {
            Err(PyErr::fetch(py))
        }
    }

    /// Copies all elements to new memory, in row-major order. Raises `ValueError` if they have more
    /// bytes than a message can have, and `MemoryError` if the memory is not there.
    pub(crate) fn to_vec(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        let wanted = usize::try_from(self.0.len).unwrap_or(0);
        // WHY: a view that repeats its elements may be longer than all memory.
        if wanted as u64 > MESSAGE_BYTES_MAX {
            return Err(PyValueError::new_err(format!(
                "an array of {wanted} bytes: no message is longer than {MESSAGE_BYTES_MAX} bytes"
            )));
        }
        let mut bytes = Vec::new();
        bytes
            .try_reserve_exact(wanted)
            .map_err(|_| PyMemoryError::new_err(format!("no memory to copy {wanted} bytes")))?;
        bytes.resize(wanted, 0);
        self.copy_to(py, &mut bytes)?;
        Ok(bytes)
    }
}

/// Allocates a buffer of `bytes` zeros. Raises `MemoryError` if there is no memory for it.
pub(crate) fn zeroed_buffer(bytes: usize) -> PyResult<Buffer> {
    let buffer = Buffer::try_zeroed(bytes);
    buffer.ok_or_else(|| PyMemoryError::new_err(format!("no memory for {bytes} bytes")))
}

/// Returns the type of elements that have `size` bytes and the format `format`, which is written as
/// in Python's `struct` or in numpy. Returns `None` unless they are single numbers in the machine's
/// byte order.
pub(crate) fn dtype_from_format(format: &[u8], size: isize) -> Option<DType> {
    let (letter, is_swapped) = match format {
        [letter] => (letter, false),
        [b'@' | b'=' | b'<', letter] => (letter, false),
        [b'>' | b'!', letter] => (letter, true),
        _ => return None,
    };
    let kind = match letter {
        b'b' | b'h' | b'i' | b'l' | b'q' | b'n' => 'i',
        b'B' | b'H' | b'I' | b'L' | b'Q' | b'N' | b'c' => 'u',
        b'e' | b'f' | b'd' => 'f',
        b'?' => '?',
        _ => return None,
    };
    Some(match (kind, size) {
        (_, 2..) if is_swapped => return None,
        ('i', 1) => DType::I8,
        ('i', 2) => DType::I16,
        ('i', 4) => DType::I32,
        ('i', 8) => DType::I64,
        ('u', 1) => DType::U8,
        ('u', 2) => DType::U16,
        ('u', 4) => DType::U32,
        ('u', 8) => DType::U64,
        ('f', 2) => DType::F16,
        ('f', 4) => DType::F32,
        ('f', 8) => DType::F64,
        ('?', 1) => DType::Bool,
        _ => return None,
    })
}

/// Returns the letter that stands for a type in the formats of Python's `struct` and `memoryview`.
pub(crate) const fn struct_letter_of(dtype: DType) -> &'static str {
    match dtype {
        DType::I8 => "b",
        DType::U16 | DType::BF16 => "H",
        DType::I16 => "h",
        DType::U32 => "I",
        DType::I32 => "i",
        DType::U64 => "Q",
        DType::I64 => "q",
        DType::F16 => "e",
        DType::F32 => "f",
        DType::F64 => "d",
        DType::Bool => "?",
        _ => "B",
    }
}
