//! Point clouds, whose points have named fields.

use super::{ArrayLayout, Framed, Header, array_error_text};
use crate::message::{DType, Element, FrameId, Primitive, Tail, Text, Zeroable, timestamp_now_ns};

/// Maximum number of fields (such as `x` or `intensity`) that a point of a [`PointCloud`] can have.
pub const POINT_FIELDS_MAX: usize = 16;

crate::message! {
    /// One number, or array of numbers, in each point, like `sensor_msgs/PointField`. It has no
    /// timestamp: it is for use inside [`PointCloudHeader`].
    #[derive(Default)]
    pub struct PointField {
        /// Name, such as `x`, `y`, `z`, `rgb`, `intensity` or `ring`: text.
        pub name: Text<16>,
        /// Offset from the start of a point: bytes.
        pub offset: u32,
        /// Number of contiguous numbers: count.
        pub count: u32,
        /// Type of one number, the code of a [`DType`]: no unit.
        pub dtype: u8,
        /// Reserved, 0: no unit.
        pub _reserved: [u8; 7],
    }
}
layout! { PointField = 32 { name: 0, offset: 16, count: 20, dtype: 24, _reserved: 25 } }

crate::message! {
    /// The header of a [`PointCloud`], after `sensor_msgs/PointCloud2`: points that have the fields
    /// described here.
    pub struct PointCloudHeader {
        /// Time of the measurement, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Frame of the points: text.
        pub frame_id: FrameId,
        /// Number of rows of an organised cloud, else 1: count.
        pub height: u32,
        /// Number of points in a row, or of all points if the cloud is not organised: count.
        pub width: u32,
        /// Stride from one point to the next: bytes.
        pub point_step: u32,
        /// Stride from one row to the next: bytes.
        pub row_step: u32,
        /// Number of fields, which are the first elements of `fields`: count.
        pub field_count: u32,
        /// 1 if numbers are big-endian, else 0: no unit.
        pub is_bigendian: u8,
        /// 1 if all points are valid, 0 if some have a NaN as a coordinate: no unit.
        pub is_dense: u8,
        /// Reserved, 0: no unit.
        pub _reserved: [u8; 2],
        /// Fields of each point: no unit.
        pub fields: [PointField; POINT_FIELDS_MAX],
    }
}
layout! {
    PointCloudHeader = 576 {
        timestamp_ns: 0, frame_id: 8, height: 40, width: 44, point_step: 48, row_step: 52,
        field_count: 56, is_bigendian: 60, is_dense: 61, _reserved: 62, fields: 64,
    }
}

/// Points with the fields that the header describes, like `sensor_msgs/PointCloud2`.
///
/// ```
/// use horus_core::message::{PointCloud, PointCloudHeader};
///
/// let mut cloud = PointCloud::zeroed(PointCloudHeader::xyz(2))?;
/// cloud.data_as_mut::<[f32; 3]>()?[1] = [1.0, 2.0, 3.0];
/// let z = cloud.field("z").unwrap();
/// assert_eq!((z.get::<f32>(1), z.get::<f32>(2)), (Some(3.0), None));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type PointCloud<D = super::Buffer> = Framed<PointCloudHeader, D>;

impl PointCloudHeader {
    /// Returns the header of a cloud of `points` points with three 32-bit coordinates, 12 bytes
    /// each, stamped with the current time.
    #[must_use]
    pub fn xyz(points: u32) -> Self {
        const XYZ_FIELDS: [&str; 3] = ["x", "y", "z"];
        XYZ_FIELDS.iter().fold(Self::empty(points), |cloud, name| {
            cloud.with_field(name, DType::F32)
        })
    }

    /// Returns a header as [`Self::xyz`] does, with an additional 32-bit field `intensity`. Each
    /// point has 16 bytes.
    #[must_use]
    pub fn xyzi(points: u32) -> Self {
        Self::xyz(points).with_field("intensity", DType::F32)
    }

    /// Returns the header of a cloud without fields; add them with [`Self::with_field`].
    #[must_use]
    pub fn empty(points: u32) -> Self {
        Self {
            timestamp_ns: timestamp_now_ns(),
            height: 1,
            width: points,
            is_dense: 1,
            ..Self::default()
        }
    }

    /// Adds a field of one number to each point. The field comes after the other fields, and is
    /// aligned to its size.
    ///
    /// A name of more than 16 bytes, or more than [`POINT_FIELDS_MAX`] fields, result in a header
    /// that [`Header::validate`] refuses.
    #[must_use]
    pub fn with_field(mut self, name: &str, dtype: DType) -> Self {
        let index = self.field_count as usize;
        self.field_count += 1;
        let offset = self.point_step.next_multiple_of(dtype.size() as u32);
        if let (Some(field), Ok(name)) = (self.fields.get_mut(index), Text::new(name)) {
            let dtype = dtype.code();
            *field = PointField {
                name,
                offset,
                count: 1,
                dtype,
                ..PointField::default()
            };
        }
        self.with_point_step(offset + dtype.size() as u32)
    }

    /// Sets the stride from one point to the next, in bytes. Also sets the stride of the rows, so
    /// that they have no padding.
    #[must_use]
    pub const fn with_point_step(mut self, bytes: u32) -> Self {
        self.point_step = bytes;
        self.row_step = bytes.saturating_mul(self.width);
        self
    }

    /// Sets the name of the coordinate frame in which the points are given.
    #[must_use]
    pub const fn in_frame(mut self, frame_id: FrameId) -> Self {
        self.frame_id = frame_id;
        self
    }

    /// Returns the fields of a point: the first `field_count` elements of `fields`, or all elements
    /// if the sender's count is larger.
    #[must_use]
    pub fn point_fields(&self) -> &[PointField] {
        &self.fields[..POINT_FIELDS_MAX.min(self.field_count as usize)]
    }

    /// Returns the number of points of the cloud: the product of `width` and `height`.
    #[must_use]
    pub const fn points(&self) -> u64 {
        self.width as u64 * self.height as u64
    }

    fn check_field(&self, field: &PointField) -> Result<(), String> {
        let name = field.name;
        let dtype = DType::from_code(field.dtype);
        let unknown = || format!("field '{name}' is of type {}", field.dtype);
        let size = dtype.ok_or_else(unknown)?.size() as u64;
        let end = u64::from(field.offset) + u64::from(field.count) * size;
        if name.is_empty() || field.count == 0 || end > u64::from(self.point_step) {
            let step = self.point_step;
            return Err(format!(
                "field '{name}' ends at byte {end} of points {step} bytes apart"
            ));
        }
        Ok(())
    }
}

impl Default for PointCloudHeader {
    /// Returns the header of a cloud without points and fields.
    fn default() -> Self {
        Self::zeroed()
    }
}

impl Header for PointCloudHeader {
    const NAME: &str = "PointCloud";
    const TRAILING_DATA: Tail = Tail {
        name: "data",
        primitive: Primitive::U8,
    };
    const MAX_MESSAGE_BYTES: u64 = 2 * 1024 * 1024;

    fn data_bytes(&self) -> u64 {
        u64::from(self.row_step) * u64::from(self.height)
    }

    fn validate(&self) -> Result<(), String> {
        if self.field_count as usize > POINT_FIELDS_MAX {
            return Err(format!(
                "{} fields, at most {POINT_FIELDS_MAX}",
                self.field_count
            ));
        }
        self.point_fields()
            .iter()
            .try_for_each(|field| self.check_field(field))?;
        let row = u64::from(self.point_step) * u64::from(self.width);
        if row > u64::from(self.row_step) && self.height > 0 {
            let step = self.row_step;
            return Err(format!(
                "rows are {step} bytes apart, and their points need {row}"
            ));
        }
        Ok(())
    }

    /// Returns the layout of the points, or rows of points, as an array of their numbers. Returns
    /// `None` unless all numbers have one type and fill the point without gaps.
    fn array_layout(&self) -> Option<ArrayLayout> {
        let dtype = DType::from_code(self.point_fields().first()?.dtype)?;
        let size = dtype.size() as u32;
        let behind = self.point_fields().iter().try_fold(0, |offset, field| {
            let next = field.count.checked_mul(size)?.checked_add(offset)?;
            (field.offset == offset && field.dtype == dtype.code()).then_some(next)
        })?;
        if behind != self.point_step || self.is_bigendian != 0 {
            return None;
        }
        let points = (self.width.into(), self.point_step.into());
        let numbers = ((behind / size).into(), size.into());
        Some(match self.height {
            1 => ArrayLayout::new(dtype, &[points, numbers]),
            rows => {
                let rows = (rows.into(), self.row_step.into());
                ArrayLayout::new(dtype, &[rows, points, numbers])
            }
        })
    }

    fn fill_computed_fields(&mut self) {
        if self.row_step == 0 {
            self.height = self.height.max(1);
            self.row_step = self.point_step.saturating_mul(self.width);
        }
    }

    /// Sets the number of points from the shape of an array. If the cloud has no fields yet, the
    /// first three numbers of each point become x, y and z, and a fourth one becomes the intensity.
    fn reshape(&mut self, dtype: DType, shape: &[u64]) -> Result<(), String> {
        let refused = || {
            array_error_text(
                Self::NAME,
                "points of x, y, z and perhaps intensity",
                dtype,
                shape,
            )
        };
        let (height, width, numbers) = match *shape {
            [points, numbers] => (1, points, numbers),
            [height, width, numbers] => (height, width, numbers),
            _ => return Err(refused()),
        };
        if self.field_count == 0 {
            const XYZI_FIELDS: [&str; 4] = ["x", "y", "z", "intensity"];
            let count = usize::try_from(numbers)
                .ok()
                .filter(|count| matches!(count, 3 | 4));
            let names = &XYZI_FIELDS[..count.ok_or_else(refused)?];
            *self = names
                .iter()
                .fold(*self, |cloud, name| cloud.with_field(name, dtype));
            self.is_dense = 1;
        }
        (self.height, self.width) = (
            height.try_into().map_err(|_| refused())?,
            width.try_into().map_err(|_| refused())?,
        );
        self.row_step = self.point_step.saturating_mul(self.width);
        let found = self
            .array_layout()
            .map(|array| (array.dtype(), array.shape().last().copied()));
        if found == Some((dtype, Some(numbers))) {
            Ok(())
        } else {
            Err(refused())
        }
    }
}

impl<D: AsRef<[u8]>> Framed<PointCloudHeader, D> {
    /// Returns a view of the field with this name in all points; `None` if there is no such field.
    pub fn field(&self, name: &str) -> Option<FieldView<'_>> {
        let field = self
            .point_fields()
            .iter()
            .find(|field| field.name == *name)?;
        Some(FieldView {
            cloud: self.header(),
            data: self.data(),
            field,
        })
    }
}

/// A read-only view of the numbers that one field has in all points of a cloud.
#[derive(Debug, Clone, Copy)]
pub struct FieldView<'a> {
    cloud: &'a PointCloudHeader,
    data: &'a [u8],
    field: &'a PointField,
}

impl FieldView<'_> {
    /// Returns the number in point `index`, where points are counted row after row. If the field
    /// has several numbers, returns the first one. Returns `None` if there is no such point, or if
    /// the type of the field is not `T`.
    #[must_use]
    pub fn get<T: Element>(&self, index: usize) -> Option<T> {
        if self.field.dtype != T::DTYPE.code() || self.cloud.is_bigendian != 0 {
            return None;
        }
        let width = self.cloud.width as usize;
        let step = self.cloud.point_step as usize;
        let row = index.checked_div(width)?;
        let column = index.checked_rem(width)?;
        if row >= self.cloud.height as usize {
            return None;
        }
        let start = row * self.cloud.row_step as usize + column * step;
        let bytes = self
            .data
            .get(start + self.field.offset as usize..)?
            .get(..size_of::<T>())?;
        Some(bytemuck::pod_read_unaligned(bytes))
    }

    /// Returns an iterator over the field's number in every point, as [`get`](Self::get) returns
    /// it.
    pub fn iter<T: Element>(&self) -> impl Iterator<Item = T> {
        (0..).map_while(|index| self.get(index))
    }
}
