//! Reads MessagePack of any origin as Python objects, in one pass.

use horus_core::value::{DEPTH_MAX, MsgpackReader, TYPED_ARRAY_EXT, Token, TypedView};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyFloat, PyMemoryView, PyTuple};

use crate::buffer::struct_letter_of;
use crate::msgpack::ext::PyExt;
use crate::msgpack::keys::Keys;
use crate::msgpack::layout::{Layout, first_pairs};
use crate::msgpack::read::{Read, Unread, text};
use crate::numpy::{DIMENSIONS_MAX, numpy};

/// Reads bytes, which have to be the MessagePack of exactly one value.
///
/// Takes memory in proportion to the bytes, some 100 for each at most, and never recurses deeper
/// than [`DEPTH_MAX`].
pub(crate) fn unpack<'py>(py: Python<'py>, bytes: &[u8], keys: &mut Keys) -> Read<'py> {
    let mut reader = Reader { py, bytes: MsgpackReader::new(bytes), keys };
    let value = reader.value(0)?;
    reader.bytes.finish()?;
    Ok(value)
}

struct Reader<'a, 'py> {
    py: Python<'py>,
    bytes: MsgpackReader<'a>,
    keys: &'a mut Keys,
}

impl<'py> Reader<'_, 'py> {
    #[inline]
    fn value(&mut self, depth: usize) -> Read<'py> {
        if let Some(number) = self.bytes.float() {
            return Ok(PyFloat::new(self.py, number).into_any());
        }
        match self.bytes.token()? {
            Token::String(bytes) => text(self.py, bytes),
            Token::Array(count) => self.list(count, deeper(depth)?),
            Token::Map(pairs) => self.dict(pairs, deeper(depth)?),
            token => self.other(token),
        }
    }

    #[inline]
    fn other(&self, token: Token<'_>) -> Read<'py> {
        let py = self.py;
        Ok(match token {
            Token::Nil => py.None().into_bound(py),
            Token::Float(number) => PyFloat::new(py, number).into_any(),
            Token::Bool(truth) => truth.into_bound_py_any(py)?,
            Token::Int(number) => number.into_bound_py_any(py)?,
            Token::UInt(number) => number.into_bound_py_any(py)?,
            Token::Bytes(bytes) => PyBytes::new(py, bytes).into_any(),
            Token::Ext(TYPED_ARRAY_EXT, payload) => array(py, payload)?,
            Token::Ext(number, bytes) => {
                PyExt { number, bytes: bytes.to_vec() }.into_bound_py_any(py)?
            }
            // Those that hold others, and texts, are read by the callers.
            Token::String(_) | Token::Array(_) | Token::Map(_) => return Err(Unread::Malformed),
        })
    }

    fn list(&mut self, count: usize, depth: usize) -> Read<'py> {
        // WHY no larger: the reader refuses counts of more elements than there are bytes left.
        let length = isize::try_from(count).map_err(|_| Unread::Malformed)?;
        // SAFETY: a length that is not negative.
        let list = unsafe { ffi::PyList_New(length) };
        // SAFETY: a new reference, or null and an exception.
        let list = unsafe { Bound::from_owned_ptr_or_err(self.py, list)? };
        for index in 0..length {
            let value = self.value(depth)?;
            // SAFETY: a list that nobody knows, and a place in it; takes the reference.
            unsafe { ffi::PyList_SetItem(list.as_ptr(), index, value.into_ptr()) };
        }
        Ok(list)
    }

    fn dict(&mut self, pairs: usize, depth: usize) -> Read<'py> {
        let Some(place) = self.keys.place_of_layout(pairs, self.bytes.rest()) else {
            return Ok(self.pairs(PyDict::new(self.py), pairs, depth)?.0.into_any());
        };
        if let Some(layout) = self.keys.lend(place, pairs) {
            let read = self.laid_out(&layout, depth);
            let fitted = read.as_ref().map_or(true, |(_, fitted)| *fitted);
            self.keys.give_back(place, layout, fitted);
            return read.map(|(dict, _)| dict.into_any());
        }
        let (dict, signature) = self.pairs(PyDict::new(self.py), pairs, depth)?;
        self.keys.note(place, signature, &dict, pairs)?;
        Ok(dict.into_any())
    }

    /// A dict that probably has the keys of this layout, and whether it has.
    fn laid_out(
        &mut self,
        layout: &Layout,
        depth: usize,
    ) -> Result<(Bound<'py, PyDict>, bool), Unread> {
        let dict = layout.blank(self.py)?;
        for (index, key) in layout.keys().iter().enumerate() {
            let here = self.bytes.clone();
            if !self.bytes.short_text().is_some_and(|bytes| key.is(bytes)) {
                self.bytes = here;
                let first = first_pairs(dict, index)?;
                let (dict, _) = self.pairs(first, layout.keys().len() - index, depth)?;
                return Ok((dict, false));
            }
            self.pair(&dict, key.text().bind(self.py), depth)?;
        }
        Ok((dict, true))
    }

    /// Adds so many pairs to the dict; returns besides what the same keys in the same order give
    /// again, and others hardly ever.
    fn pairs(
        &mut self,
        dict: Bound<'py, PyDict>,
        pairs: usize,
        depth: usize,
    ) -> Result<(Bound<'py, PyDict>, usize), Unread> {
        let mut signature = 0_usize;
        for _ in 0..pairs {
            let key = match self.bytes.short_text() {
                Some(bytes) => self.keys.text(self.py, bytes)?,
                None => match self.bytes.token()? {
                    Token::String(bytes) => self.keys.text(self.py, bytes)?,
                    token => self.key(token, depth)?,
                },
            };
            signature = signature.rotate_left(5) ^ key.as_ptr().addr();
            self.pair(&dict, &key, depth)?;
        }
        Ok((dict, signature))
    }

    /// Reads a value, and makes it that of this key.
    #[inline]
    fn pair(
        &mut self,
        dict: &Bound<'py, PyDict>,
        key: &Bound<'py, PyAny>,
        depth: usize,
    ) -> Result<(), Unread> {
        let value = self.value(depth)?;
        // SAFETY: a dict and two objects.
        let set = unsafe { ffi::PyDict_SetItem(dict.as_ptr(), key.as_ptr(), value.as_ptr()) };
        if set == 0 { Ok(()) } else { Err(self.failed()) }
    }

    /// A key that is no text: an array becomes a tuple, as Python has no other.
    #[cold]
    fn key(&mut self, token: Token<'_>, depth: usize) -> Read<'py> {
        match token {
            Token::String(bytes) => text(self.py, bytes),
            Token::Array(count) => {
                let depth = deeper(depth)?;
                let mut elements = Vec::new();
                for _ in 0..count {
                    let token = self.bytes.token()?;
                    elements.push(self.key(token, depth)?);
                }
                Ok(PyTuple::new(self.py, elements)?.into_any())
            }
            Token::Map(_) | Token::Ext(TYPED_ARRAY_EXT, _) => Err(Unread::Malformed),
            token => self.other(token),
        }
    }

    /// After a call that left an exception.
    #[cold]
    fn failed(&self) -> Unread {
        match PyErr::fetch(self.py) {
            // A key that cannot be one.
            error if error.is_instance_of::<PyTypeError>(self.py) => Unread::Malformed,
            error => Unread::Python(error),
        }
    }
}

fn deeper(depth: usize) -> Result<usize, Unread> {
    if depth < DEPTH_MAX { Ok(depth + 1) } else { Err(Unread::Malformed) }
}

/// A numpy array, or a memoryview where there is no numpy.
fn array<'py>(py: Python<'py>, payload: &[u8]) -> Read<'py> {
    let view = TypedView::new(payload).map_err(|_| Unread::Malformed)?;
    let mut shape = [0; DIMENSIONS_MAX];
    for (place, count) in shape.iter_mut().zip(view.shape()) {
        *place = *count as isize;
    }
    let shape = &shape[..view.shape().len()];
    let Some(numpy) = numpy(py) else {
        let bytes = PyMemoryView::from(&PyBytes::new(py, view.bytes()))?;
        let letter = struct_letter_of(view.dtype());
        return Ok(bytes.call_method1("cast", (letter, PyTuple::new(py, shape)?))?);
    };
    numpy.copy(py, view.dtype(), shape, view.bytes()).map_err(|error| {
        // A shape beside whose 0 stand numbers that are too large for numpy.
        if error.is_instance_of::<PyValueError>(py) { Unread::Malformed } else { error.into() }
    })
}
