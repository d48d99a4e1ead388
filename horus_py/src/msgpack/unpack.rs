//! Converts untrusted MessagePack to Python objects while reading it once.

use std::collections::HashMap;

use horus_core::message::DType;
use horus_core::value::{DEPTH_MAX, MsgpackReader, TYPED_ARRAY_EXT, Token, TypedView};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyFloat, PyMemoryView, PyTuple};

use crate::buffer::struct_letter_of;
use crate::msgpack::ext::PyExt;
use crate::msgpack::key_cache::KeyCache;
use crate::msgpack::layout::{Layout, first_pairs};
use crate::msgpack::result::{UnpackError, UnpackResult, decode_text};
use crate::numpy::{DIMENSIONS_MAX, numpy};

/// Converts `bytes`, which must be the MessagePack of exactly one value, to a Python object.
///
/// Allocates at most about 100 bytes for each byte read, and never recurses deeper than
/// [`DEPTH_MAX`].
pub(crate) fn unpack<'py>(py: Python<'py>, bytes: &[u8], keys: &mut KeyCache) -> UnpackResult<'py> {
    let mut reader = Reader {
        py,
        bytes: MsgpackReader::new(bytes),
        keys,
    };
    let value = reader.read_value(0)?;
    reader.bytes.finish()?;
    Ok(value)
}

struct Reader<'a, 'py> {
    py: Python<'py>,
    bytes: MsgpackReader<'a>,
    keys: &'a mut KeyCache,
}

impl<'py> Reader<'_, 'py> {
    #[inline]
    fn read_value(&mut self, depth: usize) -> UnpackResult<'py> {
        if let Some(number) = self.bytes.float() {
            return Ok(PyFloat::new(self.py, number).into_any());
        }
        match self.bytes.token()? {
            Token::String(bytes) => decode_text(self.py, bytes),
            Token::Array(count) => self.read_list(count, checked_next_depth(depth)?),
            Token::Map(pairs) => self.read_dict(pairs, checked_next_depth(depth)?),
            token => self.convert_scalar(token),
        }
    }

    #[inline]
    fn convert_scalar(&self, token: Token<'_>) -> UnpackResult<'py> {
        let py = self.py;
        Ok(match token {
            Token::Nil => py.None().into_bound(py),
            Token::Float(number) => PyFloat::new(py, number).into_any(),
            Token::Bool(truth) => truth.into_bound_py_any(py)?,
            Token::Int(number) => number.into_bound_py_any(py)?,
            Token::UInt(number) => number.into_bound_py_any(py)?,
            Token::Bytes(bytes) => PyBytes::new(py, bytes).into_any(),
            Token::Ext(TYPED_ARRAY_EXT, payload) => typed_array(py, payload)?,
            Token::Ext(number, bytes) => PyExt {
                number,
                bytes: bytes.to_vec(),
            }
            .into_bound_py_any(py)?,
            // Containers and texts are read by the callers.
            Token::String(_) | Token::Array(_) | Token::Map(_) => {
                return Err(UnpackError::Malformed);
            }
        })
    }

    fn read_list(&mut self, count: usize, depth: usize) -> UnpackResult<'py> {
        // This allocation is bounded: the reader refuses counts that exceed the number of bytes
        // left.
        let length = isize::try_from(count).map_err(|_| UnpackError::Malformed)?;
        // SAFETY: a length that is not negative.
        let list = unsafe { ffi::PyList_New(length) };
        // SAFETY: a new reference, or null and an exception.
        let list = unsafe { Bound::from_owned_ptr_or_err(self.py, list)? };
        for index in 0..length {
            let value = self.read_value(depth)?;
            // SAFETY: a list that nobody knows, and a place in it; takes the reference.
            unsafe { ffi::PyList_SetItem(list.as_ptr(), index, value.into_ptr()) };
        }
        Ok(list)
    }

    fn read_dict(&mut self, pairs: usize, depth: usize) -> UnpackResult<'py> {
        let Some(slot) = self.keys.layout_slot_index(pairs, self.bytes.rest()) else {
            return Ok(self
                .read_pairs(PyDict::new(self.py), pairs, depth)?
                .0
                .into_any());
        };
        if let Some(layout) = self.keys.take_layout(slot, pairs) {
            let read = self.dict_from_layout(&layout, depth);
            let fitted = read.as_ref().map_or(true, |(_, fitted)| *fitted);
            self.keys.return_layout(slot, layout, fitted);
            return read.map(|(dict, _)| dict.into_any());
        }
        let (dict, signature) = self.read_pairs(PyDict::new(self.py), pairs, depth)?;
        self.keys.record_dict(slot, signature, &dict, pairs)?;
        Ok(dict.into_any())
    }

    /// Reads a dict that probably has the keys of this layout. The returned `bool` is true if the
    /// dict has exactly these keys.
    fn dict_from_layout(
        &mut self,
        layout: &Layout,
        depth: usize,
    ) -> Result<(Bound<'py, PyDict>, bool), UnpackError> {
        let dict = layout.new_dict(self.py)?;
        for (index, key) in layout.keys().iter().enumerate() {
            let here = self.bytes.clone();
            if !self
                .bytes
                .short_text()
                .is_some_and(|bytes| key.matches(bytes))
            {
                self.bytes = here;
                let first = first_pairs(dict, index)?;
                let (dict, _) = self.read_pairs(first, layout.keys().len() - index, depth)?;
                return Ok((dict, false));
            }
            self.read_pair(&dict, key.text().bind(self.py), depth)?;
        }
        Ok((dict, true))
    }

    /// Reads `pairs` key-value pairs into the dict. Also returns a signature of the keys. Different
    /// keys, or the same keys in a different order, almost certainly have a different signature.
    fn read_pairs(
        &mut self,
        dict: Bound<'py, PyDict>,
        pairs: usize,
        depth: usize,
    ) -> Result<(Bound<'py, PyDict>, usize), UnpackError> {
        let mut signature = 0_usize;
        let mut tuple_hashes = TupleKeyHashes::default();
        for _ in 0..pairs {
            let key = match self.bytes.short_text() {
                Some(bytes) => self.keys.key_text(self.py, bytes)?,
                None => match self.bytes.token()? {
                    Token::String(bytes) => self.keys.key_text(self.py, bytes)?,
                    token => {
                        let key = self.read_non_text_key(token, depth)?;
                        tuple_hashes.count_key(&key)?;
                        key
                    }
                },
            };
            signature = signature.rotate_left(5) ^ key.as_ptr().addr();
            self.read_pair(&dict, &key, depth)?;
        }
        Ok((dict, signature))
    }

    /// Reads a value, and stores it in `dict` under `key`.
    #[inline]
    fn read_pair(
        &mut self,
        dict: &Bound<'py, PyDict>,
        key: &Bound<'py, PyAny>,
        depth: usize,
    ) -> Result<(), UnpackError> {
        let value = self.read_value(depth)?;
        // SAFETY: a dict and two objects.
        let set = unsafe { ffi::PyDict_SetItem(dict.as_ptr(), key.as_ptr(), value.as_ptr()) };
        if set == 0 {
            Ok(())
        } else {
            Err(self.take_python_exception())
        }
    }

    /// Reads a key that is not a text. An array becomes a tuple, because a Python list cannot be a
    /// key.
    #[cold]
    fn read_non_text_key(&mut self, token: Token<'_>, depth: usize) -> UnpackResult<'py> {
        match token {
            Token::String(bytes) => decode_text(self.py, bytes),
            Token::Array(count) => {
                let depth = checked_next_depth(depth)?;
                let mut elements = Vec::new();
                for _ in 0..count {
                    let token = self.bytes.token()?;
                    elements.push(self.read_non_text_key(token, depth)?);
                }
                Ok(PyTuple::new(self.py, elements)?.into_any())
            }
            Token::Map(_) | Token::Ext(TYPED_ARRAY_EXT, _) => Err(UnpackError::Malformed),
            token => self.convert_scalar(token),
        }
    }

    /// Returns the Python exception that a call has raised as an [`UnpackError`], and clears it.
    #[cold]
    fn take_python_exception(&self) -> UnpackError {
        match PyErr::fetch(self.py) {
            // The key is not hashable.
            error if error.is_instance_of::<PyTypeError>(self.py) => UnpackError::Malformed,
            error => UnpackError::Python(error),
        }
    }
}

/// The hashes of those keys of a dict that are tuples.
///
/// WHY: Python's hashes of numbers, and of tuples of them, are not random. A message of 1 MB can
/// have 50 000 different keys with one hash, each of which Python compares with all others before
/// it, for minutes and with the GIL. Texts and bytes have random hashes, and few numbers have one
/// hash.
#[derive(Default)]
struct TupleKeyHashes {
    counts: HashMap<isize, u32>,
}

impl TupleKeyHashes {
    /// The number of keys that may have one hash. Tuples of five numbers, each of them -1 or -2,
    /// are 32 keys with one hash.
    const KEYS_WITH_EQUAL_HASH_MAX: u32 = 64;

    /// Counts the key. Returns an error if too many keys have its hash.
    #[cold]
    fn count_key(&mut self, key: &Bound<'_, PyAny>) -> Result<(), UnpackError> {
        if !key.is_exact_instance_of::<PyTuple>() {
            return Ok(());
        }
        // WHY: a tuple may contain something that has no hash.
        let hash = key.hash().map_err(|_| UnpackError::Malformed)?;
        let count = self.counts.entry(hash).or_default();
        *count += 1;
        if *count > Self::KEYS_WITH_EQUAL_HASH_MAX {
            return Err(UnpackError::Malformed);
        }
        Ok(())
    }
}

fn checked_next_depth(depth: usize) -> Result<usize, UnpackError> {
    if depth < DEPTH_MAX {
        Ok(depth + 1)
    } else {
        Err(UnpackError::Malformed)
    }
}

/// Converts a typed array to a memoryview. Elements of type `F16` become `F32` if the memoryviews
/// of this Python do not have them.
fn memoryview_of<'py>(py: Python<'py>, view: &TypedView<'_>, shape: &[isize]) -> UnpackResult<'py> {
    let bytes = PyBytes::new(py, view.bytes()).into_any();
    let (bytes, dtype) = match view.dtype() {
        DType::F16 if py.version_info() < (3, 12) => {
            (float16_to_float32_bytes(&bytes)?, DType::F32)
        }
        dtype => (bytes, dtype),
    };
    let bytes = PyMemoryView::from(&bytes)?;
    let letter = struct_letter_of(dtype);
    // WHY: Python refuses a shape that has a 0. The other dimensions are lost.
    if shape.contains(&0) {
        return Ok(bytes.call_method1("cast", (letter,))?);
    }
    Ok(bytes.call_method1("cast", (letter, PyTuple::new(py, shape)?))?)
}

/// Converts the bytes of numbers of half precision to those of the same numbers of single
/// precision.
fn float16_to_float32_bytes<'py>(halves: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = halves.py();
    let format = format!("{}e", halves.len()? / 2);
    let numbers = py
        .import("struct")?
        .call_method1("unpack", (format, halves))?;
    let singles = py.import("array")?.call_method1("array", ("f", numbers))?;
    singles.call_method0("tobytes")
}

/// Converts the payload of a typed array to a numpy array, or to a memoryview if numpy is not
/// installed.
fn typed_array<'py>(py: Python<'py>, payload: &[u8]) -> UnpackResult<'py> {
    let view = TypedView::new(payload).map_err(|_| UnpackError::Malformed)?;
    let mut shape = [0; DIMENSIONS_MAX];
    for (place, count) in shape.iter_mut().zip(view.shape()) {
        *place = *count as isize;
    }
    let shape = &shape[..view.shape().len()];
    let Some(numpy) = numpy(py)? else {
        return memoryview_of(py, &view, shape);
    };
    numpy
        .make_array_copy(py, view.dtype(), shape, view.bytes())
        .map_err(|error| {
            // The shape contains a 0, and other numbers that are too large for numpy.
            if error.is_instance_of::<PyValueError>(py) {
                UnpackError::Malformed
            } else {
                error.into()
            }
        })
}
