//! MessagePack of any origin to Python objects, in one pass.

use horus_core::value::{DEPTH_MAX, DecodeError, MsgpackReader, TYPED_ARRAY_EXT, Token, TypedView};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyTypeError, PyUnicodeDecodeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyFloat, PyMemoryView, PyString, PyTuple};

use crate::ext::PyExt;
use crate::field::struct_letter_of;
use crate::numpy::{DIMENSIONS_MAX, numpy};

/// Why there is no object.
#[derive(Debug)]
pub(crate) enum Unread {
    /// The bytes are not the MessagePack of anything that Python has.
    Malformed,
    /// Something else went wrong, as too little memory.
    Python(PyErr),
}

impl From<DecodeError> for Unread {
    fn from(_error: DecodeError) -> Self {
        Self::Malformed
    }
}

impl From<PyErr> for Unread {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

type Read<'py> = Result<Bound<'py, PyAny>, Unread>;

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
        let token = self.bytes.token()?;
        match token {
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
        let dict = PyDict::new(self.py);
        for _ in 0..pairs {
            let key = match self.bytes.token()? {
                Token::String(bytes) => self.keys.text(self.py, bytes)?,
                token => self.key(token, depth)?,
            };
            let value = self.value(depth)?;
            // SAFETY: a dict and two objects.
            let set = unsafe { ffi::PyDict_SetItem(dict.as_ptr(), key.as_ptr(), value.as_ptr()) };
            if set != 0 {
                return Err(self.failed());
            }
        }
        Ok(dict.into_any())
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

#[inline]
fn text<'py>(py: Python<'py>, bytes: &[u8]) -> Read<'py> {
    match PyString::from_bytes(py, bytes) {
        Ok(text) => Ok(text.into_any()),
        Err(error) if error.is_instance_of::<PyUnicodeDecodeError>(py) => Err(Unread::Malformed),
        Err(error) => Err(error.into()),
    }
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

/// Bytes of the longest key that is kept.
const KEY_BYTES_MAX: usize = 32;
/// Keys that are kept: a power of two.
const KEYS: usize = 512;

/// Keys that were seen before: the same dicts come again and again, and a text that is there
/// already need not be made, checked and hashed.
#[derive(Default)]
pub(crate) struct Keys {
    /// Empty until the first key, then [`KEYS`] places.
    places: Vec<Option<Key>>,
}

struct Key {
    bytes: [u8; KEY_BYTES_MAX],
    length: usize,
    text: Py<PyAny>,
}

impl Key {
    /// `None` if it is too long to be kept.
    fn new(bytes: &[u8], text: &Bound<'_, PyAny>) -> Option<Self> {
        let mut kept = [0; KEY_BYTES_MAX];
        kept.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(Self { bytes: kept, length: bytes.len(), text: text.clone().unbind() })
    }

    #[inline]
    fn is(&self, bytes: &[u8]) -> bool {
        self.bytes[..self.length] == *bytes
    }
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Keys({})", self.places.iter().flatten().count())
    }
}

impl Keys {
    /// The text of these bytes.
    #[inline]
    fn text<'py>(&mut self, py: Python<'py>, bytes: &[u8]) -> Read<'py> {
        if self.places.is_empty() {
            self.places.resize_with(KEYS, || None);
        }
        let place = &mut self.places[hash(bytes) % KEYS];
        if let Some(key) = place.as_ref().filter(|key| key.is(bytes)) {
            return Ok(key.text.bind(py).clone());
        }
        let text = text(py, bytes)?;
        if let Some(key) = Key::new(bytes, &text) {
            *place = Some(key);
        }
        Ok(text)
    }
}

/// Which place a key has: of no meaning to anybody else, so a weak one is good enough. Made of the
/// first and the last bytes, in which keys differ nearly always.
#[inline]
fn hash(bytes: &[u8]) -> usize {
    let (first, last) = if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk())
    {
        (u64::from_le_bytes(*first), u64::from_le_bytes(*last))
    } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        (u32::from_le_bytes(*first).into(), u32::from_le_bytes(*last).into())
    } else {
        let word = bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
        (word, word)
    };
    let last = last.wrapping_add(bytes.len() as u64);
    let product = u128::from(first ^ 0x9e37_79b9_7f4a_7c15)
        .wrapping_mul(u128::from(last ^ 0xff51_afd7_ed55_8ccd));
    ((product >> 64) as u64 ^ product as u64) as usize
}
