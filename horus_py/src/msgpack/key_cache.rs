//! Caches the keys and the layouts of dicts in received messages.

use std::fmt;

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::msgpack::key::Key;
use crate::msgpack::layout::Layout;
use crate::msgpack::result::{UnpackError, UnpackResult, decode_text};

/// Number of slots for keys in the cache, a power of two. A slot holds one key.
const KEY_SLOTS: usize = 512;
/// Number of slots for dict layouts in the cache, a power of two. A slot holds one layout.
const LAYOUT_SLOTS: usize = 16;
/// Maximum number of pairs of a dict whose layout is cached. The layouts of larger dicts are not
/// cached.
const CACHED_DICT_PAIRS_MAX: usize = 128;

/// A cache of the keys and layouts of dicts that were read. Successive messages often have the same
/// dicts. A key that is in the cache need not be made, checked and hashed again. A dict with the
/// same keys as an earlier one is made by copying the earlier layout, which is faster than adding
/// key by key.
///
/// The cache takes at most about 400 KiB, whatever messages are received.
#[derive(Default)]
pub(crate) struct KeyCache {
    /// The cached keys; empty until the first key is read, then [`KEY_SLOTS`] long.
    key_slots: Vec<Option<Key>>,
    /// The cached dict layouts; empty until the first dict is read, then [`LAYOUT_SLOTS`] long.
    layout_slots: Vec<LayoutSlot>,
    /// Number of dict layouts that this cache has made, for tests.
    pub(crate) layouts_made: usize,
}

/// A slot for a cached layout, with the statistics that decide when a layout is made. The slot of a
/// dict is selected by its number of pairs and by the beginning of its first key.
struct LayoutSlot {
    /// A hash of the keys, in their order, of the last dict that was read key by key, without a
    /// cached layout.
    signature: usize,
    /// Number of consecutive dicts whose keys had the hash `signature`.
    repeats: u32,
    /// Number of consecutive dicts with the same signature after which a layout is made. WHY not
    /// always 2: if two kinds of dicts alternate, a layout that is made is not used. The number
    /// doubles each time this happens.
    required_repeats: u32,
    layout: Option<Box<Layout>>,
    /// True while a dict is being read with the layout. The layout is moved out of the slot during
    /// that time. Nested dicts that use the same slot are read without a layout.
    is_taken: bool,
}

impl LayoutSlot {
    const EMPTY: Self = Self {
        signature: 0,
        repeats: 0,
        required_repeats: REQUIRED_REPEATS_MIN,
        layout: None,
        is_taken: false,
    };

    /// Doubles the number of dicts that are required before the next layout is made. It is called
    /// because the last layout did not fit the received dicts.
    fn double_required_repeats(&mut self) {
        self.required_repeats = (2 * self.required_repeats).min(REQUIRED_REPEATS_MAX);
    }
}

/// The initial and the smallest number of equal dicts before a layout is made.
const REQUIRED_REPEATS_MIN: u32 = 2;
/// The largest number of equal dicts that is required before a layout is made.
const REQUIRED_REPEATS_MAX: u32 = 1024;

impl fmt::Debug for KeyCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyCache({})", self.key_slots.iter().flatten().count())
    }
}

impl KeyCache {
    /// Returns the Python `str` for these UTF-8 bytes. Takes it from the cache if possible.
    /// Otherwise makes the `str`, and caches it if it is not too long.
    #[inline]
    pub(super) fn key_text<'py>(&mut self, py: Python<'py>, bytes: &[u8]) -> UnpackResult<'py> {
        if self.key_slots.is_empty() {
            self.key_slots.resize_with(KEY_SLOTS, || None);
        }
        let slot = &mut self.key_slots[key_slot_hash(bytes) % KEY_SLOTS];
        if let Some(key) = slot.as_ref().filter(|key| key.matches(bytes)) {
            return Ok(key.text().bind(py).clone());
        }
        let text = decode_text(py, bytes)?;
        if let Some(key) = Key::new(bytes, &text) {
            *slot = Some(key);
        }
        Ok(text)
    }

    /// Returns the index of the layout slot for a dict that has this number of pairs and whose
    /// encoding begins with `bytes`. The slot is selected by the number of pairs and by the first
    /// two bytes, which are the length and the first letter of the first key. Returns `None` if no
    /// layout is ever cached for such a dict.
    #[inline]
    pub(super) fn layout_slot_index(&mut self, pairs: usize, bytes: &[u8]) -> Option<usize> {
        if !(2..=CACHED_DICT_PAIRS_MAX).contains(&pairs) {
            return None;
        }
        if self.layout_slots.is_empty() {
            self.layout_slots
                .resize_with(LAYOUT_SLOTS, || LayoutSlot::EMPTY);
        }
        let first = u16::from_le_bytes(*bytes.first_chunk()?);
        Some((key_slot_hash(&[pairs as u8, first as u8, (first >> 8) as u8])) % LAYOUT_SLOTS)
    }

    /// Takes the layout out of a slot, if there is one and it has this number of pairs. The caller
    /// must return the layout with [`Self::return_layout`].
    #[inline]
    pub(super) fn take_layout(&mut self, slot: usize, pairs: usize) -> Option<Box<Layout>> {
        let known = &mut self.layout_slots[slot];
        let layout = known
            .layout
            .take_if(|layout| layout.keys().len() == pairs)?;
        known.is_taken = true;
        Some(layout)
    }

    /// Puts back a layout that [`Self::take_layout`] returned, or drops it if it did not fit the
    /// dict.
    #[inline]
    pub(super) fn return_layout(&mut self, slot: usize, layout: Box<Layout>, has_fitted: bool) {
        let known = &mut self.layout_slots[slot];
        known.is_taken = false;
        if has_fitted {
            known.layout = Some(layout);
        } else {
            known.repeats = 0;
            known.double_required_repeats();
        }
    }

    /// Records that `dict` was read without a layout. Makes a layout from it if enough consecutive
    /// dicts had the same keys.
    pub(super) fn record_dict(
        &mut self,
        slot: usize,
        signature: usize,
        dict: &Bound<'_, PyDict>,
        pairs: usize,
    ) -> Result<(), UnpackError> {
        let known = &mut self.layout_slots[slot];
        if known.is_taken {
            return Ok(());
        }
        if known.signature != signature {
            (known.signature, known.repeats) = (signature, 0);
        }
        known.repeats = known.repeats.saturating_add(1);
        // WHY not `>=`: keys that no layout can be made of are not tried again for each dict.
        if known.repeats == known.required_repeats && dict.len() == pairs {
            if known.layout.is_some() {
                known.double_required_repeats();
            }
            known.layout = Layout::from_dict(dict)?.map(Box::new);
            self.layouts_made += usize::from(known.layout.is_some());
        }
        Ok(())
    }
}

/// Returns a hash that selects the slot of a key. WHY a weak hash is enough: it is used for nothing
/// else, and a collision only costs time. The hash mixes the first and the last bytes of the key,
/// because keys nearly always differ in these.
#[inline]
fn key_slot_hash(bytes: &[u8]) -> usize {
    let (first, last) = if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk())
    {
        (u64::from_le_bytes(*first), u64::from_le_bytes(*last))
    } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        (
            u32::from_le_bytes(*first).into(),
            u32::from_le_bytes(*last).into(),
        )
    } else {
        let word = bytes
            .iter()
            .fold(0, |word, byte| word << 8 | u64::from(*byte));
        (word, word)
    };
    let last = last.wrapping_add(bytes.len() as u64);
    let product = u128::from(first ^ 0x9e37_79b9_7f4a_7c15)
        .wrapping_mul(u128::from(last ^ 0xff51_afd7_ed55_8ccd));
    ((product >> 64) as u64 ^ product as u64) as usize
}
