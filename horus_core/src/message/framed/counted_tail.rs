//! Messages whose schema is known only at run time, in which a field of the header counts the
//! numbers after the header.

use horus_shm::internals::layout::STRIDE_MAX;

use super::{ArrayLayout, HeaderError, array_error_text};
use crate::message::{DType, FieldKind, Primitive, Schema};

/// Describes a header in which one field counts the numbers that follow: the position of that
/// field, and the type of the numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct CountedTail {
    offset: usize,
    count: Primitive,
    dtype: DType,
}

impl CountedTail {
    /// Finds the header field whose name is `count_field`. It holds the number of elements after
    /// the header.
    pub(super) fn new(schema: &Schema, count_field: &str) -> Result<Self, String> {
        let name = schema.name;
        let tail = schema.tail;
        let tail =
            tail.ok_or_else(|| format!("{name} has no data after its fields: add a tail"))?;
        let dtype = DType::from_primitive(tail.primitive);
        let dtype =
            dtype.ok_or_else(|| format!("the elements of {name}.{} are no numbers", tail.name))?;
        let field = schema.fields.iter().find(|field| field.name == count_field);
        let found = field.and_then(|field| match field.kind {
            FieldKind::Primitive(
                kind @ (Primitive::U8 | Primitive::U16 | Primitive::U32 | Primitive::U64),
            ) if field.count == 1 => Some((field.offset, kind)),
            _ => None,
        });
        let (offset, count) = found.ok_or_else(|| {
            format!(
                "{name}.{} is counted by '{count_field}', which is no field of {name} of the type \
                 u8, u16, u32 or u64: add such a field before it",
                tail.name
            )
        })?;
        Ok(Self {
            offset,
            count,
            dtype,
        })
    }

    /// Returns the number of elements that a header announces. The header may come from any
    /// process.
    fn header_element_count(&self, header: &[u8]) -> u64 {
        let mut count = [0; 8];
        let size = self.count.size();
        count[..size].copy_from_slice(&header[self.offset..][..size]);
        u64::from_le_bytes(count)
    }

    pub(super) fn data_bytes(
        &self,
        message: &'static str,
        header: &[u8],
    ) -> Result<usize, HeaderError> {
        let bytes = self
            .header_element_count(header)
            .saturating_mul(self.dtype.size() as u64);
        match usize::try_from(bytes) {
            Ok(length) if bytes <= STRIDE_MAX => Ok(length),
            _ => Err(HeaderError::TooLong { message, bytes }),
        }
    }

    pub(super) fn array_layout(&self, header: &[u8]) -> ArrayLayout {
        let size = self.dtype.size() as u64;
        ArrayLayout::new(self.dtype, &[(self.header_element_count(header), size)])
    }

    /// Sets the count in the header to the length of an array, which must have one dimension.
    pub(super) fn reshape(
        &self,
        message: &str,
        header: &mut [u8],
        (dtype, shape): (DType, &[u64]),
    ) -> Result<(), String> {
        let wanted = || {
            format!(
                "{} in a row, as many as a {} can count",
                self.dtype,
                self.count.name()
            )
        };
        let size = self.count.size();
        let fits = |count: u64| size == 8 || count < 1 << (8 * size);
        match *shape {
            [count] if dtype == self.dtype && fits(count) => {
                header[self.offset..][..size].copy_from_slice(&count.to_le_bytes()[..size]);
                Ok(())
            }
            _ => Err(array_error_text(message, &wanted(), dtype, shape)),
        }
    }
}
