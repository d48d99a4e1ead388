//! Arrays of numbers of one type, with a shape.

use super::Value;
use crate::message::{DType, Element, bf16_to_f32, f16_to_f32};

/// The most dimensions of a typed array, as in numpy.
pub const TYPED_DIMENSIONS_MAX: usize = 32;

/// Numbers of one type in a row-major array of any shape, as a numpy array is.
///
/// Two are equal if type, shape and bytes are; so a NaN in one equals the same NaN in the other.
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

/// Why bytes are not a typed array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TypedArrayError {
    /// A type of elements that this version does not know.
    #[error("elements of the unknown type {code}")]
    DType {
        /// Its code.
        code: u8,
    },
    /// Too many dimensions.
    #[error("{found} dimensions, at most {TYPED_DIMENSIONS_MAX} are allowed")]
    Dimensions {
        /// How many.
        found: usize,
    },
    /// Fewer bytes than the type, the count of dimensions and the shape take.
    #[error("{found} bytes, too few for its type and shape")]
    Header {
        /// Bytes that there are.
        found: usize,
    },
    /// The shape asks for more than memory has.
    #[error("a shape that asks for more than memory has")]
    Endless,
    /// The shape asks for another number of bytes, or for more than memory has.
    #[error("{found} bytes of elements, which is not what its shape asks for")]
    Size {
        /// Bytes of elements that there are.
        found: usize,
    },
}

impl TypedArray {
    /// An array of `shape`, row-major, from the little-endian bytes of its elements.
    ///
    /// A shape without dimensions is that of a single number. No copy.
    ///
    /// # Errors
    ///
    /// If the shape has more than [`TYPED_DIMENSIONS_MAX`] dimensions, or the bytes are not as many
    /// as it asks for.
    pub fn new(dtype: DType, shape: Vec<u32>, bytes: Vec<u8>) -> Result<Self, TypedArrayError> {
        check(dtype, &shape, bytes.len())?;
        Ok(Self { dtype, shape, bytes })
    }

    /// An array of one dimension with a copy of these numbers.
    ///
    /// # Panics
    ///
    /// If there are more than 2³² − 1.
    #[must_use]
    pub fn from_slice<T: Element>(elements: &[T]) -> Self {
        let count = u32::try_from(elements.len()).expect("at most 2^32 - 1 elements");
        let bytes = if cfg!(target_endian = "little") {
            bytemuck::cast_slice(elements).to_vec()
        } else {
            let mut bytes = Vec::with_capacity(size_of_val(elements));
            elements.iter().for_each(|element| element.append_bytes_le(&mut bytes));
            bytes
        };
        Self { dtype: T::DTYPE, shape: vec![count], bytes }
    }

    /// The same elements in another shape.
    ///
    /// # Errors
    ///
    /// If that shape has more than [`TYPED_DIMENSIONS_MAX`] dimensions, or another number of
    /// elements.
    pub fn with_shape(self, shape: &[u32]) -> Result<Self, TypedArrayError> {
        Self::new(self.dtype, shape.to_vec(), self.bytes)
    }

    /// The type of the elements.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Elements along each dimension, outermost first.
    #[must_use]
    pub fn shape(&self) -> &[u32] {
        &self.shape
    }

    /// The elements, row-major and little-endian.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes of the elements, without a copy.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len() / self.dtype.size()
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The element at `index` in row-major order: an integer, float or boolean.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Value> {
        let size = self.dtype.size();
        let start = index.checked_mul(size)?;
        Some(element(self.dtype, self.bytes.get(start..start.checked_add(size)?)?))
    }

    /// The elements in row-major order, as [`get`](Self::get) gives them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Value> + '_ {
        self.bytes.chunks_exact(self.dtype.size()).map(|bytes| element(self.dtype, bytes))
    }

    /// A copy of the elements, or `None` if they are of another type.
    #[must_use]
    pub fn to_vec<T: Element>(&self) -> Option<Vec<T>> {
        let elements =
            || self.bytes.chunks_exact(self.dtype.size()).map(T::from_bytes_le).collect();
        (T::DTYPE == self.dtype).then(elements)
    }

    /// The extension's payload.
    #[cfg(feature = "serde")]
    pub(super) fn payload(&self) -> Vec<u8> {
        let mut header = [0; 2 + 4 * TYPED_DIMENSIONS_MAX];
        [write_header(&mut header, self.dtype, &self.shape), &self.bytes].concat()
    }
}

impl From<TypedView<'_>> for TypedArray {
    fn from(view: TypedView<'_>) -> Self {
        Self { dtype: view.dtype, shape: view.shape().to_vec(), bytes: view.bytes.to_vec() }
    }
}

/// A typed array in the bytes of a message.
#[derive(Debug, Clone, Copy)]
pub struct TypedView<'a> {
    dtype: DType,
    shape: [u32; TYPED_DIMENSIONS_MAX],
    dimensions: usize,
    bytes: &'a [u8],
}

impl<'a> TypedView<'a> {
    /// Reads the payload of the extension [`TYPED_ARRAY_EXT`](super::TYPED_ARRAY_EXT), of any
    /// origin. No allocation.
    ///
    /// # Errors
    ///
    /// Why it is not that of a typed array.
    pub fn new(payload: &'a [u8]) -> Result<Self, TypedArrayError> {
        let header = || TypedArrayError::Header { found: payload.len() };
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
        check(dtype, &shape[..dimensions], bytes.len())?;
        Ok(Self { dtype, shape, dimensions, bytes })
    }

    /// The type of the elements.
    #[must_use]
    pub const fn dtype(&self) -> DType {
        self.dtype
    }

    /// Elements along each dimension, outermost first.
    #[must_use]
    pub fn shape(&self) -> &[u32] {
        &self.shape[..self.dimensions]
    }

    /// The elements, row-major and little-endian: as many bytes as type and shape ask for.
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

/// The extension's payload without the elements: type, number of dimensions, and each of them. The
/// shape is one that [`data_bytes`] let through.
pub(super) fn write_header<'a>(
    header: &'a mut [u8; 2 + 4 * TYPED_DIMENSIONS_MAX],
    dtype: DType,
    shape: &[u32],
) -> &'a [u8] {
    header[0] = dtype.code();
    // WHY: at most 32 dimensions.
    header[1] = shape.len() as u8;
    for (place, count) in header[2..].chunks_exact_mut(4).zip(shape) {
        place.copy_from_slice(&count.to_le_bytes());
    }
    &header[..2 + 4 * shape.len()]
}

/// Bytes of the elements of an array of this shape.
pub(super) fn data_bytes(dtype: DType, shape: &[u32]) -> Result<usize, TypedArrayError> {
    if shape.len() > TYPED_DIMENSIONS_MAX {
        return Err(TypedArrayError::Dimensions { found: shape.len() });
    }
    // WHY: a 0 in the shape makes the whole empty, whatever stands beside it and would overflow.
    if shape.contains(&0) {
        return Ok(0);
    }
    let bytes = shape
        .iter()
        .try_fold(dtype.size(), |bytes, count| bytes.checked_mul(usize::try_from(*count).ok()?));
    bytes.ok_or(TypedArrayError::Endless)
}

fn check(dtype: DType, shape: &[u32], bytes: usize) -> Result<(), TypedArrayError> {
    match data_bytes(dtype, shape) {
        Ok(wanted) if wanted == bytes => Ok(()),
        Ok(_) | Err(TypedArrayError::Endless) => Err(TypedArrayError::Size { found: bytes }),
        Err(error) => Err(error),
    }
}

/// The element whose bytes these are; a half-precision number as the same number in double.
pub(super) fn element(dtype: DType, bytes: &[u8]) -> Value {
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
