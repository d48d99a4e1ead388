//! The layout of an array in memory: the type of its elements, and their number and stride along
//! each dimension.

use super::TENSOR_DIMENSIONS_MAX;
use crate::message::DType;

/// Describes data that are an array of numbers: element type, dimensions and strides. It contains
/// the same information as DLPack's `DLTensor` and Python's buffer protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArrayLayout {
    dtype: DType,
    dimensions: usize,
    shape: [u64; TENSOR_DIMENSIONS_MAX],
    strides: [u64; TENSOR_DIMENSIONS_MAX],
}

impl ArrayLayout {
    /// Makes the layout of an array with elements of type `dtype`. `dimensions` has the number of
    /// elements and the stride in bytes of each dimension, outermost first.
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

    /// Returns the type of the array's elements.
    #[must_use]
    pub const fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns the number of elements along each dimension, outermost first.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        &self.shape[..self.dimensions]
    }

    /// Returns the distance in bytes between successive elements along each dimension, outermost
    /// first.
    #[must_use]
    pub fn strides(&self) -> &[u64] {
        &self.strides[..self.dimensions]
    }

    /// Returns the number of bytes from the start of the first element to the end of the last one.
    /// Saturates on overflow.
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
