//! Keeps the number of elements that count in an array of a message, and the array itself, in
//! agreement.

use horus_core::message::{FieldKind, Primitive};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::message::instance;
use crate::message::kind::{Field, Kind};

/// An array that was given, with so many elements.
pub(crate) type Given<'a> = (&'a Field, usize);

/// After the fields of a new message were set: sets the counts that `is_given` says were not given,
/// and refuses arrays that do not agree.
#[cold]
pub(crate) fn complete(
    object: &Bound<'_, PyAny>,
    arrays: &[Given<'_>],
    is_given: impl Fn(&str) -> PyResult<bool>,
) -> PyResult<()> {
    for (field, found) in arrays {
        let [count] = field.counts else {
            agree(object, field, *found)?;
            continue;
        };
        if is_given(count)? {
            agree(object, field, *found)?;
            continue;
        }
        let differs = |other: &&Given<'_>| other.0.counts == field.counts && other.1 != *found;
        if let Some((other, others)) = arrays.iter().find(differs) {
            let (message, name, other) = (field.message, field.name, other.name);
            let text = format!(
                "{message}: '{name}' has {found} elements and '{other}' {others}: give as many of \
                 each, or '{count}'"
            );
            return Err(PyValueError::new_err(text));
        }
        write(object, count, *found)?;
    }
    Ok(())
}

/// Before `found` elements are assigned to an array: refuses what does not agree with the others
/// that are counted with it.
#[cold]
pub(crate) fn before_change(
    object: &Bound<'_, PyAny>,
    field: &Field,
    found: usize,
) -> PyResult<()> {
    if sets_count(object, field)? { Ok(()) } else { agree(object, field, found) }
}

/// After that: sets the count. All elements that there are say nothing about how many count.
#[cold]
pub(crate) fn after_change(object: &Bound<'_, PyAny>, field: &Field, found: usize) -> PyResult<()> {
    match field.counts {
        [count] if found < field.count && sets_count(object, field)? => write(object, count, found),
        _ => Ok(()),
    }
}

/// Returns true if assigning this array changes its count: if no other is counted by that, or none
/// is yet.
fn sets_count(object: &Bound<'_, PyAny>, field: &Field) -> PyResult<bool> {
    let [_] = field.counts else { return Ok(false) };
    let kind = instance::kind_of(object);
    let together = kind.fields.iter().filter(|other| other.counts == field.counts).count();
    Ok(together == 1 || product(object, field)? == 0)
}

/// Refuses an array that has neither as many elements as count, nor all that there are.
fn agree(object: &Bound<'_, PyAny>, field: &Field, found: usize) -> PyResult<()> {
    let counted = product(object, field)?;
    if found == counted || found == field.count {
        return Ok(());
    }
    let counts = field.counts.join("' times '");
    let text = format!(
        "{}.{}: {found} elements where '{counts}' is {counted}: give as many",
        field.message, field.name
    );
    Err(PyValueError::new_err(text))
}

/// Returns the number of elements that count, as the message now says.
fn product(object: &Bound<'_, PyAny>, field: &Field) -> PyResult<usize> {
    let kind = instance::kind_of(object);
    let mut product = 1_usize;
    for name in field.counts {
        let (offset, bytes) = place(kind, name)?;
        let bytes = &instance::bytes(object)[offset..][..bytes];
        let mut number = [0; 8];
        number[..bytes.len()].copy_from_slice(bytes);
        // WHY little-endian: what comes first is the least.
        let number = usize::try_from(u64::from_le_bytes(number)).unwrap_or(usize::MAX);
        product = product.saturating_mul(number);
    }
    Ok(product)
}

fn write(object: &Bound<'_, PyAny>, count: &str, found: usize) -> PyResult<()> {
    let (offset, bytes) = place(instance::kind_of(object), count)?;
    let number = (found as u64).to_le_bytes();
    // SAFETY: the field lies in the message.
    let to = unsafe { instance::data(object).add(offset) };
    // SAFETY: as above; nobody else has its bytes while the GIL is held, and no number is longer.
    unsafe { std::ptr::copy_nonoverlapping(number.as_ptr(), to, bytes) };
    Ok(())
}

/// Returns the offset of the count, and its size in bytes.
fn place(kind: &Kind, count: &str) -> PyResult<(usize, usize)> {
    let field = kind.field(count).filter(|field| {
        field.count == 1
            && matches!(
                field.kind,
                FieldKind::Primitive(
                    Primitive::U8 | Primitive::U16 | Primitive::U32 | Primitive::U64
                )
            )
    });
    let none = || PyValueError::new_err(format!("{} has no '{count}'", kind.schema.name));
    field.map(|field| (field.offset, field.kind.size())).ok_or_else(none)
}

const _: () = assert!(cfg!(target_endian = "little"), "counts are written as little-endian");
