//! Keeps the counted arrays of a message consistent with their count fields. Only the first
//! elements of a counted array are in use, and the product of its count fields is their number.

use horus_core::message::{FieldKind, Primitive};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::message::instance;
use crate::message::kind::{Field, MessageKind};

/// An array field to which a caller assigns elements, and the number of these elements.
pub(crate) type ArrayAndLength<'a> = (&'a Field, usize);

/// Sets the count fields of a new message to the lengths of the arrays that the caller gave. Does
/// not change a count field that the caller has set, for which `is_given` returns true. Returns an
/// error if the lengths contradict each other or such a count.
#[cold]
pub(crate) fn set_counts_of_new_message(
    object: &Bound<'_, PyAny>,
    arrays: &[ArrayAndLength<'_>],
    is_given: impl Fn(&str) -> PyResult<bool>,
) -> PyResult<()> {
    for (field, assigned) in arrays {
        let [count] = field.counts else {
            check_count_agreement(object, field, *assigned)?;
            continue;
        };
        if is_given(count)? {
            check_count_agreement(object, field, *assigned)?;
            continue;
        }
        let differs =
            |other: &&ArrayAndLength<'_>| other.0.counts == field.counts && other.1 != *assigned;
        if let Some((other, others)) = arrays.iter().find(differs) {
            let message = field.message;
            let name = field.name;
            let other = other.name;
            let text = format!(
                "{message}: '{name}' has {assigned} elements and '{other}' {others}: give as many \
                 of each, or '{count}'"
            );
            return Err(PyValueError::new_err(text));
        }
        write_count(object, count, *assigned)?;
    }
    Ok(())
}

/// Checks, before `assigned` elements are assigned to an array, that this number agrees with the
/// count that the array shares with other arrays. Returns an error if it does not.
#[cold]
pub(crate) fn check_shared_counts(
    object: &Bound<'_, PyAny>,
    field: &Field,
    assigned: usize,
) -> PyResult<()> {
    if is_count_set_by_assignment(object, field)? {
        Ok(())
    } else {
        check_count_agreement(object, field, assigned)
    }
}

/// Sets the count field after `assigned` elements were assigned to an array. Does not change it if
/// the assignment had the full length of the array, because that does not say how many elements are
/// in use.
#[cold]
pub(crate) fn update_count_after_assignment(
    object: &Bound<'_, PyAny>,
    field: &Field,
    assigned: usize,
) -> PyResult<()> {
    match field.counts {
        [count] if assigned < field.count && is_count_set_by_assignment(object, field)? => {
            write_count(object, count, assigned)
        }
        _ => Ok(()),
    }
}

/// Returns true if assigning to this array sets its count field. This is the case if the array has
/// a single count field, and that field is 0 or counts no other array.
fn is_count_set_by_assignment(object: &Bound<'_, PyAny>, field: &Field) -> PyResult<bool> {
    let [_] = field.counts else { return Ok(false) };
    let kind = instance::kind_of(object);
    let together = kind
        .fields
        .iter()
        .filter(|other| other.counts == field.counts)
        .count();
    Ok(together == 1 || elements_in_use(object, field)? == 0)
}

/// Returns an error if `assigned`, the number of elements given for an array, is neither the count
/// nor the full length of the array.
fn check_count_agreement(
    object: &Bound<'_, PyAny>,
    field: &Field,
    assigned: usize,
) -> PyResult<()> {
    let counted = elements_in_use(object, field)?;
    if assigned == counted || assigned == field.count {
        return Ok(());
    }
    let counts = field.counts.join("' times '");
    let text = format!(
        "{}.{}: {assigned} elements where '{counts}' is {counted}: give as many",
        field.message, field.name
    );
    Err(PyValueError::new_err(text))
}

/// Returns how many elements of an array are in use: the product of its count fields.
fn elements_in_use(object: &Bound<'_, PyAny>, field: &Field) -> PyResult<usize> {
    let kind = instance::kind_of(object);
    let mut product = 1_usize;
    for name in field.counts {
        let (offset, bytes) = count_field_offset_and_bytes(kind, name)?;
        let bytes = &instance::message_bytes(object)[offset..][..bytes];
        let mut number = [0; 8];
        number[..bytes.len()].copy_from_slice(bytes);
        // WHY little-endian: a shorter number is then the first bytes of a longer one.
        let number = usize::try_from(u64::from_le_bytes(number)).unwrap_or(usize::MAX);
        product = product.saturating_mul(number);
    }
    Ok(product)
}

fn write_count(object: &Bound<'_, PyAny>, count: &str, assigned: usize) -> PyResult<()> {
    let (offset, bytes) = count_field_offset_and_bytes(instance::kind_of(object), count)?;
    let number = (assigned as u64).to_le_bytes();
    // SAFETY: the field lies in the message.
    let to = unsafe { instance::bytes_address(object).add(offset) };
    // SAFETY: as above; nobody else has its bytes while the GIL is held, and no number is longer.
    unsafe { std::ptr::copy_nonoverlapping(number.as_ptr(), to, bytes) };
    Ok(())
}

/// Returns the offset and the size, in bytes, of the field `count`, which counts the elements of an
/// array.
fn count_field_offset_and_bytes(kind: &MessageKind, count: &str) -> PyResult<(usize, usize)> {
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
    field
        .map(|field| (field.offset, field.kind.size()))
        .ok_or_else(none)
}

const _: () = assert!(
    cfg!(target_endian = "little"),
    "counts are written as little-endian"
);
