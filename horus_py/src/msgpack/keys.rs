//! Caches keys and layouts of dicts that were read before.

use std::fmt;

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::msgpack::key::Key;
use crate::msgpack::layout::Layout;
use crate::msgpack::read::{Read, Unread, text};

/// Keys that are kept: a power of two.
const KEYS: usize = 512;
/// Layouts that are kept: a power of two.
const LAYOUTS: usize = 16;
/// Pairs of the largest dict whose layout is kept.
const PAIRS_MAX: usize = 128;

/// Keys that were seen before: the same dicts come again and again, and a text that is there
/// already need not be made, checked and hashed. Nor need a dict be grown key by key if those
/// before it had the same keys.
///
/// Takes some 400 KiB at most, whatever comes.
#[derive(Default)]
pub(crate) struct Keys {
    /// Empty until the first key, then [`KEYS`] places.
    places: Vec<Option<Key>>,
    /// Empty until the first dict, then [`LAYOUTS`] places.
    layouts: Vec<Place>,
    /// Layouts that were made, ever.
    pub(crate) layouts_made: usize,
}

/// The state of the dicts that begin alike and have as many pairs.
struct Place {
    /// Of the keys of the last one that was made without a layout.
    signature: usize,
    /// The number of dicts in a row that had those.
    alike: u32,
    /// The number of dicts that have to, to be given a layout. WHY not always 2: where one kind of
    /// dict follows the other, a layout is made for nothing, and the more often that was so, the
    /// longer this waits.
    wanted: u32,
    layout: Option<Box<Layout>>,
    /// A dict is being made by the layout, which is taken away meanwhile: those inside it, which
    /// may begin alike, are made without.
    is_lent: bool,
}

impl Place {
    const EMPTY: Self =
        Self { signature: 0, alike: 0, wanted: WANTED_MIN, layout: None, is_lent: false };

    /// A layout was made for other dicts than those that came.
    fn put_off(&mut self) {
        self.wanted = (2 * self.wanted).min(WANTED_MAX);
    }
}

/// Dicts in a row with the same keys that are given a layout, at first and in the end.
const WANTED_MIN: u32 = 2;
const WANTED_MAX: u32 = 1024;

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
            return Ok(key.text().bind(py).clone());
        }
        let text = text(py, bytes)?;
        if let Some(key) = Key::new(bytes, &text) {
            *place = Some(key);
        }
        Ok(text)
    }

    /// Returns the place for the layout of a dict with so many pairs, of which these are the bytes:
    /// the length of the first key and its first letter choose it. `None` if no layout is ever kept
    /// for such a dict.
    #[inline]
    pub(super) fn place_of_layout(&mut self, pairs: usize, bytes: &[u8]) -> Option<usize> {
        if !(2..=PAIRS_MAX).contains(&pairs) {
            return None;
        }
        if self.layouts.is_empty() {
            self.layouts.resize_with(LAYOUTS, || Place::EMPTY);
        }
        let first = u16::from_le_bytes(*bytes.first_chunk()?);
        Some((hash(&[pairs as u8, first as u8, (first >> 8) as u8])) % LAYOUTS)
    }

    /// Takes away the layout that is there, if it is one of so many pairs. To be given back.
    #[inline]
    pub(super) fn lend(&mut self, place: usize, pairs: usize) -> Option<Box<Layout>> {
        let known = &mut self.layouts[place];
        let layout = known.layout.take_if(|layout| layout.keys().len() == pairs)?;
        known.is_lent = true;
        Some(layout)
    }

    /// Takes back what [`Self::lend`] gave, and keeps it if it `fitted` the dict.
    #[inline]
    pub(super) fn give_back(&mut self, place: usize, layout: Box<Layout>, fitted: bool) {
        let known = &mut self.layouts[place];
        known.is_lent = false;
        if fitted {
            known.layout = Some(layout);
        } else {
            known.alike = 0;
            known.put_off();
        }
    }

    /// Notes a dict that was made without a layout, and makes one if enough before it were alike.
    pub(super) fn note(
        &mut self,
        place: usize,
        signature: usize,
        dict: &Bound<'_, PyDict>,
        pairs: usize,
    ) -> Result<(), Unread> {
        let known = &mut self.layouts[place];
        if known.is_lent {
            return Ok(());
        }
        if known.signature != signature {
            (known.signature, known.alike) = (signature, 0);
        }
        known.alike = known.alike.saturating_add(1);
        // WHY not `>=`: keys of which no layout can be made are not tried each time.
        if known.alike == known.wanted && dict.len() == pairs {
            if known.layout.is_some() {
                known.put_off();
            }
            known.layout = Layout::of(dict)?.map(Box::new);
            self.layouts_made += usize::from(known.layout.is_some());
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
