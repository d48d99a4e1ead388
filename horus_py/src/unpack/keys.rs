//! Keys of dicts that came before.

use std::fmt;

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::layout::Layout;
use super::{Read, Unread, text};

/// Bytes of the longest key that is kept.
const KEY_BYTES_MAX: usize = 32;
/// Keys that are kept: a power of two.
const KEYS: usize = 512;
/// Layouts that are kept: a power of two.
const LAYOUTS: usize = 16;
/// Pairs of the largest dict whose layout is kept.
const PAIRS_MAX: usize = 128;

/// Keys that were seen before: the same dicts come again and again, and a text that is there
/// already need not be made, checked and hashed. Nor need a dict be grown key by key that had the
/// same keys twice already.
///
/// Takes some 400 KiB at most, whatever comes.
#[derive(Default)]
pub(crate) struct Keys {
    /// Empty until the first key, then [`KEYS`] places.
    places: Vec<Option<Key>>,
    /// Empty until the first dict, then [`LAYOUTS`] places.
    layouts: Vec<Place>,
}

/// What is known of the dicts that begin alike and have as many pairs.
#[derive(Default)]
struct Place {
    /// Of the keys of the last one without a layout.
    signature: usize,
    /// That of the last ones, if they had the same keys. None while a dict is made by it.
    layout: Option<Box<Layout>>,
}

/// A key and its bytes.
pub(super) struct Key {
    bytes: [u8; KEY_BYTES_MAX],
    length: usize,
    text: Py<PyAny>,
}

impl Key {
    /// `None` if it is too long to be kept.
    pub(super) fn new(bytes: &[u8], text: &Bound<'_, PyAny>) -> Option<Self> {
        let mut kept = [0; KEY_BYTES_MAX];
        kept.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(Self { bytes: kept, length: bytes.len(), text: text.clone().unbind() })
    }

    pub(super) const fn text(&self) -> &Py<PyAny> {
        &self.text
    }

    #[inline]
    pub(super) fn is(&self, bytes: &[u8]) -> bool {
        self.bytes[..self.length] == *bytes
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keys({})", self.places.iter().flatten().count())
    }
}

impl Keys {
    /// The text of these bytes.
    #[inline]
    pub(super) fn text<'py>(&mut self, py: Python<'py>, bytes: &[u8]) -> Read<'py> {
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

    /// Where the layout of a dict with so many pairs, of which these are the bytes, is kept if
    /// there is one: the length of the first key and its first letter choose. `None` if none is
    /// ever kept for it.
    #[inline]
    pub(super) fn place_of_layout(&mut self, pairs: usize, bytes: &[u8]) -> Option<usize> {
        if !(2..=PAIRS_MAX).contains(&pairs) {
            return None;
        }
        if self.layouts.is_empty() {
            self.layouts.resize_with(LAYOUTS, Place::default);
        }
        let first = u16::from_le_bytes(*bytes.first_chunk()?);
        Some((hash(&[pairs as u8, first as u8, (first >> 8) as u8])) % LAYOUTS)
    }

    /// Takes away the layout that is there, if it is one of so many pairs.
    #[inline]
    pub(super) fn take_layout(&mut self, place: usize, pairs: usize) -> Option<Box<Layout>> {
        self.layouts[place].layout.take_if(|layout| layout.keys().len() == pairs)
    }

    /// Puts one back, or a new one there.
    #[inline]
    pub(super) fn keep_layout(&mut self, place: usize, layout: Box<Layout>) {
        self.layouts[place].layout = Some(layout);
    }

    /// Notes a dict that was made without a layout. The second in a row with the same keys gives
    /// one: WHY not the first: where each has other keys that would be work for nothing.
    pub(super) fn note(
        &mut self,
        place: usize,
        signature: usize,
        dict: &Bound<'_, PyDict>,
        pairs: usize,
    ) -> Result<(), Unread> {
        let known = &mut self.layouts[place];
        if known.signature != signature {
            known.signature = signature;
        } else if dict.len() == pairs {
            known.layout = Layout::of(dict)?.map(Box::new);
        }
        Ok(())
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
