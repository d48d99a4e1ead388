//! Data as an array: of which type, how many along each dimension, and how far apart.

use super::TENSOR_DIMENSIONS_MAX;
use crate::message::DType;

/// How the data of a message are an array of numbers, as `DLTensor` of DLPack and the buffers of
/// Python say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArrayLayout {
    dtype: DType,
    dimensions: usize,
    shape: [u64; TENSOR_DIMENSIONS_MAX],
    strides: [u64; TENSOR_DIMENSIONS_MAX],
}

impl ArrayLayout {
    /// Elements of this type; for each dimension, the outermost first, how many and how many bytes
    /// from one to the next.
    ///
    /// # Panics
    ///
    /// If there are more than [`TENSOR_DIMENSIONS_MAX`] dimensions.
    #[must_use]
    pub fn new(dtype: DType, dimensions: &[(u64, u64)]) -> Self {
        let mut this = Self {
            dtype,
            dimensions: dimensions.len(),
            shape: [0; TENSOR_DIMENSIONS_MAX],
            strides: [0; TENSOR_DIMENSIONS_MAX],
        };
        for (index, (count, stride)) in dimensions.iter().enumerate() {
            (this.shape[index], this.strides[index]) = (*count, *stride);
        }
        this
    }

    /// The type of the elements.
    #[must_use]
    pub const fn dtype(&self) -> DType {
        self.dtype
    }

    /// Elements along each dimension, the outermost first.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        &self.shape[..self.dimensions]
    }

    /// From one element to the next along each dimension: bytes.
    #[must_use]
    pub fn strides(&self) -> &[u64] {
        &self.strides[..self.dimensions]
    }

    /// Bytes from the first element to behind the last one; saturates.
    #[must_use]
    pub fn extent_bytes(&self) -> u64 {
        if self.shape().contains(&0) {
            return 0;
        }
        let last = |(count, stride): (&u64, &u64)| (count - 1).saturating_mul(*stride);
        let offsets = self.shape().iter().zip(self.strides()).map(last);
        offsets.fold(self.dtype.size() as u64, u64::saturating_add)
    }
}
