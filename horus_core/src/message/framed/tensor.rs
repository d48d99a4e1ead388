//! Tensors: numbers of one type in any number of dimensions.

use super::{ArrayLayout, Framed, Header};
use crate::message::{
    DType, Element, Primitive, Tail, Text, ViewError, Zeroable, timestamp_now_ns,
};

/// Maximum number of dimensions of a [`Tensor`].
pub const TENSOR_DIMENSIONS_MAX: usize = 8;

crate::message! {
    /// The header of a [`Tensor`], with the content of DLPack's `DLTensor`: numbers in up to eight
    /// dimensions.
    pub struct TensorHeader {
        /// Time of the measurement or computation, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Type of one element, the code of a [`DType`]: no unit.
        pub dtype: u8,
        /// Number of dimensions, which are the first elements of `shape` and `strides`: count.
        pub dimensions: u8,
        /// Reserved, 0: no unit.
        pub _reserved0: [u8; 6],
        /// Number of elements along each dimension, outermost first: count.
        pub shape: [u64; TENSOR_DIMENSIONS_MAX],
        /// Stride along each dimension, as in DLPack: elements.
        pub strides: [u64; TENSOR_DIMENSIONS_MAX],
        /// Name, such as `images` or `logits`: text.
        pub name: Text<32>,
        /// Reserved, 0: no unit.
        pub _reserved1: [u8; 16],
    }
}
layout! {
    TensorHeader = 192 {
        timestamp_ns: 0, dtype: 8, dimensions: 9, _reserved0: 10, shape: 16, strides: 80,
        name: 144, _reserved1: 176,
    }
}

/// Numbers of one type in up to eight dimensions, with strides, like DLPack's `DLTensor`.
///
/// ```
/// use horus_core::message::{DType, Tensor, TensorHeader};
///
/// let mut tensor = Tensor::zeroed(TensorHeader::new(DType::F32, &[2, 3])?)?;
/// tensor.as_mut_slice::<f32>()?[5] = 1.5;
/// assert_eq!(tensor.at::<f32>(&[1, 2]), Some(1.5));
/// assert_eq!(tensor.at::<f32>(&[2, 0]), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type Tensor<D = super::Buffer> = Framed<TensorHeader, D>;

/// The reason why a tensor, or a view of it, cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TensorError {
    /// The shape has more dimensions than a tensor may have.
    #[error("the tensor has {found} dimensions, at most {TENSOR_DIMENSIONS_MAX} are allowed")]
    Dimensions {
        /// Number of dimensions of the requested shape.
        found: usize,
    },
    /// The shape has more elements than 64 bits can count, or its number of elements differs from
    /// that of the data.
    #[error(
        "the shape {shape:?} has another number of elements than the data, or too many to count"
    )]
    Elements {
        /// The requested number of elements along each dimension, outermost first.
        shape: Vec<usize>,
    },
    /// The elements do not have the requested type.
    #[error("the elements are {found}, not {wanted}")]
    Type {
        /// Name of the type that the elements have.
        found: String,
        /// Type that the caller requested.
        wanted: DType,
    },
    /// The elements are not contiguous in row-major order, so they cannot be viewed as a slice.
    #[error("the tensor is strided: use `at`, or a copy in row-major order")]
    Strided,
    /// The bytes cannot be viewed as a slice of the requested type.
    #[error(transparent)]
    View(#[from] ViewError),
}

impl TensorHeader {
    /// Returns the header of a tensor in row-major order, stamped with the current time. A shape
    /// without dimensions means a single number.
    ///
    /// # Errors
    ///
    /// [`TensorError::Dimensions`] or [`TensorError::Elements`].
    pub fn new(dtype: DType, shape: &[usize]) -> Result<Self, TensorError> {
        let mut header = Self::zeroed();
        (header.timestamp_ns, header.dtype) = (timestamp_now_ns(), dtype.code());
        let counts: Vec<u64> = shape.iter().map(|count| *count as u64).collect();
        header.with_row_major_shape(&counts)
    }

    /// Sets the tensor's name, by which a program can distinguish several tensors of one topic.
    #[must_use]
    pub const fn with_name(mut self, name: Text<32>) -> Self {
        self.name = name;
        self
    }

    fn with_row_major_shape(mut self, shape: &[u64]) -> Result<Self, TensorError> {
        if shape.len() > TENSOR_DIMENSIONS_MAX {
            return Err(TensorError::Dimensions { found: shape.len() });
        }
        (self.dimensions, self.shape, self.strides) = (shape.len() as u8, [0; 8], [0; 8]);
        let mut stride = 1_u64;
        for (dimension, &count) in shape.iter().enumerate().rev() {
            (self.shape[dimension], self.strides[dimension]) = (count, stride);
            let next = stride.checked_mul(count);
            let counts = || shape.iter().map(|count| *count as usize).collect();
            stride = next.ok_or_else(|| TensorError::Elements { shape: counts() })?;
        }
        Ok(self)
    }

    /// Returns the number of elements along each dimension, outermost first.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        &self.shape[..self.rank()]
    }

    /// Returns the distance between successive elements along each dimension, counted in elements.
    #[must_use]
    pub fn strides(&self) -> &[u64] {
        &self.strides[..self.rank()]
    }

    /// Returns the type of the elements, or `None` if this version of the library does not know the
    /// type.
    #[must_use]
    pub fn element_type(&self) -> Option<DType> {
        DType::from_code(self.dtype)
    }

    /// Returns the number of elements of the tensor. Saturates on overflow.
    #[must_use]
    pub fn elements(&self) -> u64 {
        self.shape()
            .iter()
            .fold(1, |product: u64, count| product.saturating_mul(*count))
    }

    /// Returns true if the elements are contiguous in row-major order.
    #[must_use]
    pub fn is_contiguous(&self) -> bool {
        let mut stride = 1_u64;
        self.shape()
            .iter()
            .zip(self.strides())
            .rev()
            .all(|(&count, &found)| {
                let fits = count <= 1 || found == stride;
                stride = stride.saturating_mul(count);
                fits
            })
    }

    /// Returns the number of dimensions, which is limited to eight even if the sender wrote a
    /// larger number.
    const fn rank(&self) -> usize {
        match self.dimensions as usize {
            found if found < TENSOR_DIMENSIONS_MAX => found,
            _ => TENSOR_DIMENSIONS_MAX,
        }
    }

    /// Returns the number of elements that the tensor spans in memory, from the first to the last,
    /// including gaps. Saturates on overflow.
    fn extent_elements(&self) -> u64 {
        if self.elements() == 0 {
            return 0;
        }
        let last = |(count, stride): (&u64, &u64)| (count - 1).saturating_mul(*stride);
        let offsets = self.shape().iter().zip(self.strides()).map(last);
        offsets.fold(1, u64::saturating_add)
    }

    /// Returns the distance from the first element to the element at `index`, counted in elements;
    /// `None` if there is no such element.
    fn element_offset(&self, index: &[usize]) -> Option<u64> {
        if index.len() != self.rank() {
            return None;
        }
        let mut dimensions = index.iter().zip(self.shape().iter().zip(self.strides()));
        dimensions.try_fold(0_u64, |offset, (&index, (&count, &stride))| {
            let index = u64::try_from(index).ok().filter(|index| *index < count)?;
            offset.checked_add(index.checked_mul(stride)?)
        })
    }

    fn check_element_type<T: Element>(&self) -> Result<(), TensorError> {
        if self.dtype == T::DTYPE.code() {
            return Ok(());
        }
        let found = self
            .element_type()
            .map_or(format!("of type {}", self.dtype), |t| t.to_string());
        Err(TensorError::Type {
            found,
            wanted: T::DTYPE,
        })
    }
}

impl Default for TensorHeader {
    /// Returns the header of a tensor without elements, of the type `u8`.
    fn default() -> Self {
        let mut header = Self::zeroed();
        (header.dtype, header.dimensions, header.strides[0]) = (DType::U8.code(), 1, 1);
        header
    }
}

impl Header for TensorHeader {
    const NAME: &str = "Tensor";
    const TRAILING_DATA: Tail = Tail {
        name: "data",
        primitive: Primitive::U8,
    };
    const MAX_MESSAGE_BYTES: u64 = 1024 * 1024;

    fn data_bytes(&self) -> u64 {
        let size = self.element_type().map_or(0, DType::size) as u64;
        self.extent_elements().saturating_mul(size)
    }

    fn validate(&self) -> Result<(), String> {
        if usize::from(self.dimensions) > TENSOR_DIMENSIONS_MAX {
            return Err(TensorError::Dimensions {
                found: self.dimensions.into(),
            }
            .to_string());
        }
        self.element_type()
            .map(|_| ())
            .ok_or_else(|| format!("its elements are of type {}", self.dtype))
    }

    fn array_layout(&self) -> Option<ArrayLayout> {
        let dtype = self.element_type()?;
        let mut dimensions = [(0, 0); TENSOR_DIMENSIONS_MAX];
        for (place, (count, stride)) in dimensions
            .iter_mut()
            .zip(self.shape().iter().zip(self.strides()))
        {
            *place = (*count, stride.saturating_mul(dtype.size() as u64));
        }
        Some(ArrayLayout::new(dtype, &dimensions[..self.rank()]))
    }

    fn fill_computed_fields(&mut self) {
        if self.strides().iter().all(|stride| *stride == 0) {
            let shape = self.shape;
            if let Ok(reshaped) = self.with_row_major_shape(&shape[..self.rank()]) {
                *self = reshaped;
            }
        }
    }

    fn reshape(&mut self, dtype: DType, shape: &[u64]) -> Result<(), String> {
        *self = self
            .with_row_major_shape(shape)
            .map_err(|error| error.to_string())?;
        self.dtype = dtype.code();
        Ok(())
    }
}

impl<D: AsRef<[u8]>> Framed<TensorHeader, D> {
    /// Returns the element at `index`, which has one index for each dimension. Returns `None` if
    /// there is no such element, or if the type of the elements is not `T`.
    pub fn at<T: Element>(&self, index: &[usize]) -> Option<T> {
        self.check_element_type::<T>().ok()?;
        let start = usize::try_from(self.element_offset(index)?)
            .ok()?
            .checked_mul(size_of::<T>())?;
        let bytes = self.data().get(start..)?.get(..size_of::<T>())?;
        Some(bytemuck::pod_read_unaligned(bytes))
    }

    /// Returns all elements as a slice in row-major order, without copying them.
    ///
    /// # Errors
    ///
    /// [`TensorError::Type`] or [`TensorError::Strided`].
    pub fn as_slice<T: Element>(&self) -> Result<&[T], TensorError> {
        self.check_element_type::<T>()?;
        if !self.is_contiguous() {
            return Err(TensorError::Strided);
        }
        Ok(self.data_as()?)
    }
}

impl<D: AsRef<[u8]> + AsMut<[u8]>> Framed<TensorHeader, D> {
    /// Returns all elements as a mutable slice, like [`Self::as_slice`].
    ///
    /// # Errors
    ///
    /// The errors of [`Self::as_slice`].
    pub fn as_mut_slice<T: Element>(&mut self) -> Result<&mut [T], TensorError> {
        self.check_element_type::<T>()?;
        if !self.is_contiguous() {
            return Err(TensorError::Strided);
        }
        Ok(self.data_as_mut()?)
    }

    /// Changes the shape to a different one with the same number of elements, in row-major order.
    ///
    /// # Errors
    ///
    /// [`TensorError::Strided`], [`TensorError::Dimensions`] or [`TensorError::Elements`].
    pub fn reshape(&mut self, shape: &[usize]) -> Result<(), TensorError> {
        if !self.is_contiguous() {
            return Err(TensorError::Strided);
        }
        let counts: Vec<u64> = shape.iter().map(|count| *count as u64).collect();
        let reshaped = self.header().with_row_major_shape(&counts)?;
        if reshaped.elements() != self.elements() {
            return Err(TensorError::Elements {
                shape: shape.to_vec(),
            });
        }
        *self.header_mut() = reshaped;
        Ok(())
    }
}
