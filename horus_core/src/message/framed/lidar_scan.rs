//! Planar scans with any number of beams.

use super::{ArrayLayout, Framed, Header, HeaderError, TooLarge, ViewError, array_error_text};
use crate::message::{
    DType, FrameId, LASER_RANGES_MAX, LaserScan, Primitive, Tail, Zeroable, timestamp_now_ns,
};

crate::message! {
    /// The header of a [`LidarScan`], after `sensor_msgs/LaserScan`: the distances in order of
    /// their angles, then, if they were measured, the intensities in the same order.
    ///
    /// Angles are about z of the sensor, counter-clockwise, 0 along its x. After REP-117 a range of
    /// +∞ means that nothing was seen, −∞ that an object is too close, and NaN that the measurement
    /// failed. The unit of the intensities depends on the device.
    #[derive(Default)]
    pub struct LidarScanHeader {
        /// Time of the first ray, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Frame of the sensor: text.
        pub frame_id: FrameId,
        /// Angle of the first ray: radians.
        pub angle_min: f32,
        /// Angle of the last ray: radians.
        pub angle_max: f32,
        /// Angle from one ray to the next: radians.
        pub angle_increment: f32,
        /// Time from one ray to the next: seconds.
        pub time_increment: f32,
        /// Time from one sweep to the next: seconds.
        pub scan_time: f32,
        /// Shortest valid range: metres.
        pub range_min: f32,
        /// Longest valid range: metres.
        pub range_max: f32,
        /// Number of rays: count.
        pub count: u32,
        /// 1 if an intensity for each ray follows the ranges, else 0: no unit.
        pub has_intensities: u8,
        /// Reserved, 0: no unit.
        pub _reserved0: [u8; 7],
        /// Reserved, 0: no unit.
        pub _reserved1: [u64; 6],
    }
}
layout! {
    LidarScanHeader = 128 {
        timestamp_ns: 0, frame_id: 8, angle_min: 40, angle_max: 44, angle_increment: 48,
        time_increment: 52, scan_time: 56, range_min: 60, range_max: 64, count: 68,
        has_intensities: 72, _reserved0: 73, _reserved1: 80,
    }
}

/// One sweep of a planar range finder with any number of rays, like `sensor_msgs/LaserScan`.
///
/// The data are the ranges in metres, and after them as many intensities, or none. As an array they
/// have the shape (rays), or (2, rays) with intensities. [`LaserScan`] has a fixed size, for
/// scanners of at most 360 rays.
///
/// ```
/// use horus_core::message::{LidarScan, LidarScanHeader};
///
/// // A scanner of 270° in steps of a quarter of a degree.
/// let header = LidarScanHeader::new(1081)
///     .with_angles(-2.356_194_5, 0.004_363_323)
///     .with_intensities();
/// let mut scan = LidarScan::zeroed(header)?;
/// scan.ranges_mut()?[540] = 2.5;
/// scan.intensities_mut()?[540] = 200.0;
/// assert_eq!((scan.ranges()?.len(), scan.intensities()?[540]), (1081, 200.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type LidarScan<D = super::Buffer> = Framed<LidarScanHeader, D>;

impl LidarScanHeader {
    /// Returns the header for `count` rays without intensities, stamped with the current time.
    #[must_use]
    pub fn new(count: u32) -> Self {
        Self {
            timestamp_ns: timestamp_now_ns(),
            count,
            ..Self::default()
        }
    }

    /// Sets the angle of the first ray and the angle from one ray to the next, in radians;
    /// `angle_max` follows from them.
    #[must_use]
    pub fn with_angles(mut self, angle_min: f32, angle_increment: f32) -> Self {
        let steps = self.count.saturating_sub(1);
        // WHY f64: with thousands of rays, the product would be some 1e-4 rad off.
        let span = f64::from(angle_increment) * f64::from(steps);
        self.angle_min = angle_min;
        self.angle_increment = angle_increment;
        self.angle_max = (f64::from(angle_min) + span) as f32;
        self
    }

    /// Makes the header announce an intensity for each ray, in addition to its range.
    #[must_use]
    pub const fn with_intensities(mut self) -> Self {
        self.has_intensities = 1;
        self
    }

    /// Sets the name of the sensor's coordinate frame.
    #[must_use]
    pub const fn in_frame(mut self, frame_id: FrameId) -> Self {
        self.frame_id = frame_id;
        self
    }

    const fn arrays_per_scan(&self) -> u64 {
        1 + (self.has_intensities != 0) as u64
    }
}

impl Header for LidarScanHeader {
    const NAME: &str = "LidarScan";
    const TRAILING_DATA: Tail = Tail {
        name: "data",
        primitive: Primitive::F32,
    };
    /// Initial capacity of a slot: a message with 8176 rays and their intensities. Slots grow when
    /// a publisher sends a longer message.
    const MAX_MESSAGE_BYTES: u64 = 64 * 1024;

    fn data_bytes(&self) -> u64 {
        u64::from(self.count) * self.arrays_per_scan() * size_of::<f32>() as u64
    }

    fn validate(&self) -> Result<(), String> {
        match self.has_intensities {
            0 | 1 => Ok(()),
            found => Err(format!("has_intensities is {found}, and 0 or 1 is wanted")),
        }
    }

    fn array_layout(&self) -> Option<ArrayLayout> {
        let rays = u64::from(self.count);
        let size = size_of::<f32>() as u64;
        let dimensions = [(2, rays * size), (rays, size)];
        let first = usize::from(self.has_intensities == 0);
        Some(ArrayLayout::new(DType::F32, &dimensions[first..]))
    }

    fn reshape(&mut self, dtype: DType, shape: &[u64]) -> Result<(), String> {
        let refused = || {
            let wanted = "f32 of the shape [rays], or [2, rays] with intensities";
            array_error_text(Self::NAME, wanted, dtype, shape)
        };
        let (rays, has_intensities) = match *shape {
            [rays] if dtype == DType::F32 => (rays, 0),
            [2, rays] if dtype == DType::F32 => (rays, 1),
            _ => return Err(refused()),
        };
        self.count = rays.try_into().map_err(|_| refused())?;
        self.has_intensities = has_intensities;
        Ok(())
    }
}

impl LidarScan {
    /// Makes a scan of these ranges, in metres, and intensities, which may be empty. The header's
    /// `count` and `has_intensities` are set accordingly.
    ///
    /// # Errors
    ///
    /// [`HeaderError`] if the number of intensities is neither 0 nor the number of ranges, or if
    /// there are too many for one message.
    ///
    /// ```
    /// use horus_core::message::{LidarScan, LidarScanHeader};
    ///
    /// let scan = LidarScan::from_parts(LidarScanHeader::new(0), &[1.5, f32::INFINITY], &[])?;
    /// assert_eq!((scan.count, scan.ranges()?[0]), (2, 1.5));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_parts(
        mut header: LidarScanHeader,
        ranges: &[f32],
        intensities: &[f32],
    ) -> Result<Self, HeaderError> {
        header.count = ranges.len().try_into().unwrap_or(u32::MAX);
        header.has_intensities = u8::from(!intensities.is_empty());
        let data = [ranges, intensities].concat();
        Self::new(header, bytemuck::cast_slice(&data))
    }
}

impl<D: AsRef<[u8]>> Framed<LidarScanHeader, D> {
    /// Returns the ranges in order of their angles, in metres.
    ///
    /// # Errors
    ///
    /// [`ViewError`] if the data are not aligned for `f32`. This does not happen with received and
    /// borrowed messages.
    pub fn ranges(&self) -> Result<&[f32], ViewError> {
        let data: &[f32] = self.data_as()?;
        Ok(data.get(..self.count as usize).unwrap_or(data))
    }

    /// Returns the intensities in order of their angles; an empty slice if they were not measured.
    ///
    /// # Errors
    ///
    /// The errors of [`ranges`](Framed::ranges).
    pub fn intensities(&self) -> Result<&[f32], ViewError> {
        let data: &[f32] = self.data_as()?;
        Ok(data.get(self.count as usize..).unwrap_or_default())
    }
}

impl<D: AsRef<[u8]> + AsMut<[u8]>> Framed<LidarScanHeader, D> {
    /// Returns the ranges for writing, in metres.
    ///
    /// # Errors
    ///
    /// The errors of [`ranges`](Framed::ranges).
    pub fn ranges_mut(&mut self) -> Result<&mut [f32], ViewError> {
        let count = self.count as usize;
        let data: &mut [f32] = self.data_as_mut()?;
        let end = count.min(data.len());
        Ok(&mut data[..end])
    }

    /// Returns the intensities as a mutable slice, which is empty if the header announces none.
    ///
    /// # Errors
    ///
    /// The errors of [`ranges`](Framed::ranges).
    pub fn intensities_mut(&mut self) -> Result<&mut [f32], ViewError> {
        let count = self.count as usize;
        let data: &mut [f32] = self.data_as_mut()?;
        Ok(data.get_mut(count..).unwrap_or_default())
    }
}

impl From<&LaserScan> for LidarScan {
    /// Returns a message with the measured ranges of `scan`. The name of its frame is empty.
    fn from(scan: &LaserScan) -> Self {
        let header = LidarScanHeader {
            timestamp_ns: scan.timestamp_ns,
            angle_min: scan.angle_min,
            angle_max: scan.angle_max,
            angle_increment: scan.angle_increment,
            time_increment: scan.time_increment,
            scan_time: scan.scan_time,
            range_min: scan.range_min,
            range_max: scan.range_max,
            ..LidarScanHeader::default()
        };
        Self::from_parts(header, scan.measured(), &[]).expect("a message has room for 360 ranges")
    }
}

impl<D: AsRef<[u8]>> TryFrom<&Framed<LidarScanHeader, D>> for LaserScan {
    type Error = TooLarge;

    /// Converts the scan, except for its frame and its intensities, which a [`LaserScan`] does not
    /// have.
    fn try_from(scan: &Framed<LidarScanHeader, D>) -> Result<Self, TooLarge> {
        let found = scan.count as usize;
        let mut fixed = Self {
            timestamp_ns: scan.timestamp_ns,
            angle_min: scan.angle_min,
            angle_max: scan.angle_max,
            angle_increment: scan.angle_increment,
            time_increment: scan.time_increment,
            scan_time: scan.scan_time,
            range_min: scan.range_min,
            range_max: scan.range_max,
            count: scan.count,
            ..Self::zeroed()
        };
        let ranges = fixed.ranges.get_mut(..found).ok_or(TooLarge::Elements {
            message: "LaserScan",
            of: "ranges",
            found,
            limit: LASER_RANGES_MAX,
        })?;
        // WHY one by one: the data may lie anywhere.
        for (range, bytes) in ranges.iter_mut().zip(scan.data().chunks_exact(4)) {
            *range = bytemuck::pod_read_unaligned(bytes);
        }
        Ok(fixed)
    }
}
