//! Converts typed arrays to plain arrays, for types that `serde` can read only from plain arrays.

use super::typed::{TypedView, element_value};
use super::{EncodeError, MsgpackReader, MsgpackWriter, TYPED_ARRAY_EXT, Token, Value};
use crate::message::DType;

/// Returns the MessagePack `bytes` with each typed array replaced by plain arrays of numbers,
/// nested according to its shape.
///
/// A typed array without dimensions becomes a number. Returns `None` if there is no typed array, or
/// if a value cannot be converted. Allocates at most about 70 bytes for each byte of the input.
pub(super) fn typed_arrays_to_plain(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut counting = MsgpackWriter::new(&mut []);
    let has_typed = write_plain_and_report_typed_arrays(&mut counting, bytes)?;
    let needed = match counting.finish() {
        Err(EncodeError::TooSmall { needed, .. }) if has_typed => needed,
        _ => return None,
    };
    let mut plain = vec![0; needed];
    let mut out = MsgpackWriter::new(&mut plain);
    write_plain_and_report_typed_arrays(&mut out, bytes)?;
    out.finish().ok()?;
    Some(plain)
}

/// Writes the MessagePack `bytes` to `out`, with plain arrays in place of typed ones. Returns true
/// if there was a typed array, and `None` if a value cannot be converted.
fn write_plain_and_report_typed_arrays(out: &mut MsgpackWriter<'_>, bytes: &[u8]) -> Option<bool> {
    let mut reader = MsgpackReader::new(bytes);
    let mut has_typed = false;
    let mut due = 1_usize;
    while due > 0 {
        due -= 1;
        match reader.token().ok()? {
            Token::Nil => out.nil(),
            Token::Bool(truth) => out.bool(truth),
            Token::Int(number) => out.int(number),
            Token::UInt(number) => out.uint(number),
            Token::Float(number) => out.float(number),
            Token::String(text) => out.string(std::str::from_utf8(text).ok()?).ok()?,
            Token::Bytes(bytes) => out.binary(bytes).ok()?,
            Token::Array(count) => {
                out.array(count).ok()?;
                due += count;
            }
            Token::Map(count) => {
                out.map(count).ok()?;
                due += 2 * count;
            }
            Token::Ext(TYPED_ARRAY_EXT, payload) => {
                has_typed = true;
                let view = TypedView::new(payload).ok()?;
                // WHY: a shape such as [4294967295, 0] has no elements, but four billion arrays.
                if count_plain_arrays(view.shape()) > 4 * payload.len() + 64 {
                    return None;
                }
                write_array(out, view.dtype(), view.shape(), view.bytes())?;
            }
            Token::Ext(number, bytes) => out.ext(number, bytes).ok()?,
        }
    }
    Some(has_typed)
}

/// Returns the maximum number of plain MessagePack arrays that a typed array of this shape becomes.
fn count_plain_arrays(shape: &[u32]) -> usize {
    let mut all = 0_usize;
    let mut of_this_dimension = 1_usize;
    for count in shape {
        all = all.saturating_add(of_this_dimension);
        let count = usize::try_from(*count).unwrap_or(usize::MAX);
        of_this_dimension = of_this_dimension.saturating_mul(count);
    }
    all
}

fn write_array(
    out: &mut MsgpackWriter<'_>,
    dtype: DType,
    shape: &[u32],
    bytes: &[u8],
) -> Option<()> {
    let Some((count, inner)) = shape.split_first() else {
        match element_value(dtype, bytes) {
            Value::Bool(truth) => out.bool(truth),
            Value::Int(number) => out.int(number),
            Value::UInt(number) => out.uint(number),
            Value::Float(number) => out.float(number),
            _ => return None,
        }
        return Some(());
    };
    let count = usize::try_from(*count).ok()?;
    out.array(count).ok()?;
    let each = bytes.len().checked_div(count).unwrap_or(0);
    (0..count).try_for_each(|index| write_array(out, dtype, inner, &bytes[index * each..][..each]))
}
