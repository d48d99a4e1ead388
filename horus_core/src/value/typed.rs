//! Arrays of numbers of one type, with a shape.

use super::Value;
use crate::message::{DType, Element, bf16_to_f32, f16_to_f32};

/// Maximum number of dimensions of a typed array, as in numpy.
pub const TYPED_DIMENSIONS_MAX: usize = 32;

/// Numbers of one type in a row-major array of any shape, like a numpy array.
///
/// Two arrays are equal if type, shape and bytes are equal, so a NaN equals a NaN with the same
/// bits.
///
/// ```
/// use horus_core::message::DType;
/// use horus_core::value::TypedArray;
///
/// let ranges = TypedArray::from_slice(&[1.5_f32, f32::INFINITY]);
/// assert_eq!((ranges.dtype(), ranges.shape()), (DType::F32, &[2][..]));
/// assert_eq!(ranges.to_vec::<f32>(), Some(vec![1.5, f32::INFINITY]));
/// assert_eq!(ranges.to_vec::<f64>(), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypedArray {
    dtype: DType,
    shape: Vec<u32>,
    bytes: Vec<u8>,
}

/// The reason why a typed array cannot be made from some bytes and a shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TypedArrayError {
    /// This version of the library does not know the type of the elements.
    #[error("elements of the unknown type {code}")]
    DType {
        /// The code that was found for the type.
        code: u8,
    },
    /// The shape has more dimensions than a typed array may have.
    #[error("{found} dimensions, at most {TYPED_DIMENSIONS_MAX} are allowed")]
    Dimensions {
        /// Number of dimensions of the shape.
        found: usize,
    },
    /// The payload is too short for its type, number of dimensions and shape.
    #[error("{found} bytes, too few for its type and shape")]
    Header {
        /// Number of bytes of the payload.
        found: usize,
    },
    /// The shape has so many elements that they take more bytes than a program can address.
    #[error("a shape too large for any memory")]
    TooManyBytes,
    /// The number of bytes is not the one that the type and the shape require.
    #[error("{found} bytes of elements, which do not match its shape")]
    Size {
        /// Number of bytes that were given for the elements.
        found: usize,
    },
}

impl TypedArray {
    /// Makes an array of `shape` from the little-endian bytes of its elements in row-major order.
    ///
    /// A shape without dimensions means a single number. The bytes are not copied.
    ///
    /// # Errors
    ///
    /// [`TypedArrayError`] if the shape has more than [`TYPED_DIMENSIONS_MAX`] dimensions, or if it
    /// requires a number of bytes that differs from the length of `bytes`.
    pub fn new(dtype: DType, shape: Vec<u32>, bytes: Vec<u8>) -> Result<Self, TypedArrayError> {
        check_length(dtype, &shape, bytes.len())?;
        Ok(Self {
            dtype,
            shape,
            bytes,
        })
    }

    /// Makes a one-dimensional array with a copy of `elements`.
    #[must_use]
    pub fn from_slice<T: Element>(elements: &[T]) -> Self {
        let count = u32::try_from(elements.len()).expect("at most 2^32 - 1 elements");
        let bytes = if cfg!(target_endian = "little") {
            bytemuck::cast_slice(elements).to_vec()
        } else {
            let mut bytes = Vec::with_capacity(size_of_val(elements));
            elements
                .iter()
                .for_each(|element| element.append_bytes_le(&mut bytes));
            bytes
        };
        Self {
            dtype: T::DTYPE,
            shape: vec![count],
            bytes,
        }
    }

    /// Returns the array with a different shape that has the same number of elements.
    ///
    /// # Errors
    ///
    /// [`TypedArrayError`] if the new shape has more than [`TYPED_DIMENSIONS_MAX`] dimensions, or a
    /// different number of elements.
    pub fn with_shape(self, shape: &[u32]) -> Result<Self, TypedArrayError> {
        Self::new(self.dtype, shape.to_vec(), self.bytes)
    }

    /// Returns the type of the elements.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns the number of elements along each dimension, outermost first.
    #[must_use]
    pub fn shape(&self) -> &[u32] {
        &self.shape
    }

    /// Returns the bytes of the elements, row-major and little-endian.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Converts the array to the bytes of its elements, row-major and little-endian. Does not copy
    /// them.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Returns the number of elements in all dimensions together.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len() / self.dtype.size()
    }

    /// Returns true if the array has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the element at `index` in row-major order, as an integer, float or boolean; `None`
    /// if there is no such element.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Value> {
        let size = self.dtype.size();
        let start = index.checked_mul(size)?;
        Some(element_value(
            self.dtype,
            self.bytes.get(start..start.checked_add(size)?)?,
        ))
    }

    /// Returns an iterator over the elements in row-major order, as [`get`](Self::get) returns
    /// them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Value> + '_ {
        self.bytes
            .chunks_exact(self.dtype.size())
            .map(|bytes| element_value(self.dtype, bytes))
    }

    /// Returns a copy of the elements, or `None` if their type is not `T`.
    #[must_use]
    pub fn to_vec<T: Element>(&self) -> Option<Vec<T>> {
        let elements = || {
            self.bytes
                .chunks_exact(self.dtype.size())
                .map(T::from_bytes_le)
                .collect()
        };
        (T::DTYPE == self.dtype).then(elements)
    }

    /// Returns the array in its MessagePack form, which is the payload of the extension
    /// [`TYPED_ARRAY_EXT`](super::TYPED_ARRAY_EXT).
    #[cfg(feature = "serde")]
    pub(super) fn extension_payload(&self) -> Vec<u8> {
        let mut header = [0; 2 + 4 * TYPED_DIMENSIONS_MAX];
        [
            write_payload_header(&mut header, self.dtype, &self.shape),
            &self.bytes,
        ]
        .concat()
    }
}

impl From<TypedView<'_>> for TypedArray {
    fn from(view: TypedView<'_>) -> Self {
        Self {
            dtype: view.dtype,
            shape: view.shape().to_vec(),
            bytes: view.bytes.to_vec(),
        }
    }
}

/// A read-only typed array whose elements stay in the bytes of a message.
#[derive(Debug, Clone, Copy)]
pub struct TypedView<'a> {
    dtype: DType,
    shape: [u32; TYPED_DIMENSIONS_MAX],
    dimensions: usize,
    bytes: &'a [u8],
}

impl<'a> TypedView<'a> {
    /// Parses the payload of the extension [`TYPED_ARRAY_EXT`](super::TYPED_ARRAY_EXT), which may
    /// come from any process. Does not allocate.
    ///
    /// # Errors
    ///
    /// [`TypedArrayError`], the reason why `payload` is not a typed array.
    pub fn new(payload: &'a [u8]) -> Result<Self, TypedArrayError> {
        let header = || TypedArrayError::Header {
            found: payload.len(),
        };
        let (head, rest) = payload.split_first_chunk::<2>().ok_or_else(header)?;
        let [code, dimensions] = *head;
        let dtype = DType::from_code(code).ok_or(TypedArrayError::DType { code })?;
        let dimensions = usize::from(dimensions);
        if dimensions > TYPED_DIMENSIONS_MAX {
            return Err(TypedArrayError::Dimensions { found: dimensions });
        }
        let (counts, bytes) = rest.split_at_checked(4 * dimensions).ok_or_else(header)?;
        let mut shape = [0; TYPED_DIMENSIONS_MAX];
        for (place, count) in shape.iter_mut().zip(counts.chunks_exact(4)) {
            *place = u32::from_bytes_le(count);
        }
        check_length(dtype, &shape[..dimensions], bytes.len())?;
        Ok(Self {
            dtype,
            shape,
            dimensions,
            bytes,
        })
    }

    /// Returns the type of the elements.
    #[must_use]
    pub const fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns the number of elements along each dimension, outermost first.
    #[must_use]
    pub fn shape(&self) -> &[u32] {
        &self.shape[..self.dimensions]
    }

    /// Returns the bytes of the elements, row-major and little-endian. Their number matches the
    /// type and the shape.
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

/// Writes the part of the payload before the elements: type, number of dimensions, and shape. The
/// caller must have checked the shape with [`data_bytes`].
pub(super) fn write_payload_header<'a>(
    header: &'a mut [u8; 2 + 4 * TYPED_DIMENSIONS_MAX],
    dtype: DType,
    shape: &[u32],
) -> &'a [u8] {
    header[0] = dtype.code();
    // WHY: the cast is lossless, since there are at most 32 dimensions.
    header[1] = shape.len() as u8;
    for (place, count) in header[2..].chunks_exact_mut(4).zip(shape) {
        place.copy_from_slice(&count.to_le_bytes());
    }
    &header[..2 + 4 * shape.len()]
}

/// Returns the number of bytes that the elements of an array with this type and shape take. Returns
/// an error if the shape has too many dimensions, or too many elements for the memory of a program.
pub(super) fn data_bytes(dtype: DType, shape: &[u32]) -> Result<usize, TypedArrayError> {
    if shape.len() > TYPED_DIMENSIONS_MAX {
        return Err(TypedArrayError::Dimensions { found: shape.len() });
    }
    // WHY: a 0 in the shape makes the array empty, even if the product of the others overflows.
    if shape.contains(&0) {
        return Ok(0);
    }
    let bytes = shape.iter().try_fold(dtype.size(), |bytes, count| {
        bytes.checked_mul(usize::try_from(*count).ok()?)
    });
    bytes.ok_or(TypedArrayError::TooManyBytes)
}

fn check_length(dtype: DType, shape: &[u32], bytes: usize) -> Result<(), TypedArrayError> {
    match data_bytes(dtype, shape) {
        Ok(wanted) if wanted == bytes => Ok(()),
        Ok(_) | Err(TypedArrayError::TooManyBytes) => Err(TypedArrayError::Size { found: bytes }),
        Err(error) => Err(error),
    }
}

/// Converts the bytes of one element to a value. A float of lower precision becomes the same number
/// in double precision.
pub(super) fn element_value(dtype: DType, bytes: &[u8]) -> Value {
    match dtype {
        DType::U8 => u8::from_bytes_le(bytes).into(),
        DType::I8 => i8::from_bytes_le(bytes).into(),
        DType::U16 => u16::from_bytes_le(bytes).into(),
        DType::I16 => i16::from_bytes_le(bytes).into(),
        DType::U32 => u32::from_bytes_le(bytes).into(),
        DType::I32 => i32::from_bytes_le(bytes).into(),
        DType::U64 => u64::from_bytes_le(bytes).into(),
        DType::I64 => i64::from_bytes_le(bytes).into(),
        DType::F16 => f16_to_f32(u16::from_bytes_le(bytes)).into(),
        DType::BF16 => bf16_to_f32(u16::from_bytes_le(bytes)).into(),
        DType::F32 => f32::from_bytes_le(bytes).into(),
        DType::F64 => f64::from_bytes_le(bytes).into(),
        DType::Bool => Value::Bool(bytes.iter().any(|byte| *byte != 0)),
    }
}
