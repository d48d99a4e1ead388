//! Grid maps of square cells.

use super::raster::rows_columns_and_channels;
use super::{ArrayLayout, Framed, Header, array_error_text};
use crate::message::{DType, FrameId, Primitive, Tail, Text, timestamp_now_ns};

crate::message! {
    /// Size and position of a map, like `nav_msgs/MapMetaData`. It has no timestamp: it is for use
    /// inside maps.
    pub struct MapMetaData {
        /// Time at which the map was made, by CLOCK_REALTIME: nanoseconds.
        pub map_load_time_ns: u64,
        /// Side length of a cell: metres.
        pub resolution: f32,
        /// Number of cells along x: count.
        pub width: u32,
        /// Number of cells along y: count.
        pub height: u32,
        /// Reserved, 0: no unit.
        pub _reserved: u32,
        /// Position of the outer corner of cell (0, 0) in the map's frame, x, y, z: metres.
        pub origin_position: [f64; 3],
        /// Rotation of the grid in the map's frame, a unit quaternion x, y, z, w: no unit.
        pub origin_orientation: [f64; 4],
    }
}
layout! {
    MapMetaData = 80 {
        map_load_time_ns: 0, resolution: 8, width: 12, height: 16, _reserved: 20,
        origin_position: 24, origin_orientation: 48,
    }
}

impl MapMetaData {
    /// Returns the size and position of a map that is not rotated. Its cells have sides of
    /// `resolution` metres, and the outer corner of cell (0, 0) is at x, y in metres.
    #[must_use]
    pub fn new(width: u32, height: u32, resolution: f32, [x, y]: [f64; 2]) -> Self {
        Self {
            resolution,
            width,
            height,
            origin_position: [x, y, 0.0],
            ..Self::default()
        }
    }

    /// Returns the layout of the cells as an array with the dimensions row and column.
    fn cell_layout(&self, dtype: DType) -> ArrayLayout {
        let width = u64::from(self.width);
        ArrayLayout::new(dtype, &[(self.height.into(), width), (width, 1)])
    }

    /// Returns the cosine and sine of the grid's rotation about z. For an invalid quaternion,
    /// returns those of a grid that is not rotated.
    fn rotation_cos_sin(&self) -> (f64, f64) {
        let [x, y, z, w] = self.origin_orientation;
        // WHY: the first column of the quaternion's matrix is correct for any length except 0.
        let cos = w * w + x * x - y * y - z * z;
        let sin = 2.0 * (x * y + w * z);
        let length = cos.hypot(sin);
        if length > 0.0 && length.is_finite() {
            (cos / length, sin / length)
        } else {
            (1.0, 0.0)
        }
    }
}

impl Default for MapMetaData {
    /// Returns the size and position of a map without cells, at the origin, not rotated.
    fn default() -> Self {
        Self {
            map_load_time_ns: 0,
            resolution: 0.0,
            width: 0,
            height: 0,
            _reserved: 0,
            origin_position: [0.0; 3],
            origin_orientation: [0.0, 0.0, 0.0, 1.0],
        }
    }
}

crate::message! {
    /// The header of an [`OccupancyGrid`], after `nav_msgs/OccupancyGrid`: a byte for each cell, 0
    /// to 100 in percent, −1 if unknown, along x first.
    #[derive(Default)]
    pub struct OccupancyGridHeader {
        /// Time for which the content is valid, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Frame of the map: text.
        pub frame_id: FrameId,
        /// Size, resolution and position of the map.
        pub info: MapMetaData,
        /// Reserved, 0: no unit.
        pub _reserved: u64,
    }
}
layout! { OccupancyGridHeader = 128 { timestamp_ns: 0, frame_id: 8, info: 40, _reserved: 120 } }

crate::message! {
    /// The header of a [`CostMap`], after `nav2_msgs/Costmap`: a byte for each cell, 0 to 252, 253
    /// and 254 near and in obstacles, 255 if unknown, along x first.
    #[derive(Default)]
    pub struct CostMapHeader {
        /// Time for which the content is valid, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Frame of the map: text.
        pub frame_id: FrameId,
        /// Size, resolution and position of the map.
        pub info: MapMetaData,
        /// Layer of the costs, such as `master`: text.
        pub layer: Text<32>,
        /// Reserved, 0: no unit.
        pub _reserved: [u64; 5],
    }
}
layout! {
    CostMapHeader = 192 { timestamp_ns: 0, frame_id: 8, info: 40, layer: 120, _reserved: 152 }
}

/// Occupancy probabilities of cells, like `nav_msgs/OccupancyGrid`: a byte each, 0 to 100 in
/// percent, −1 if unknown. The cells are stored row by row along x, from cell (0, 0) on.
///
/// ```
/// use horus_core::message::{MapMetaData, OccupancyGrid, OccupancyGridHeader};
///
/// let info = MapMetaData::new(200, 100, 0.25, [-25.0, -12.5]);
/// let mut map = OccupancyGrid::zeroed(OccupancyGridHeader::new(info))?;
/// let (x, y) = map.cell_at(0.0, 0.0).unwrap();
/// *map.cell_mut(x, y).unwrap() = OccupancyGridHeader::OCCUPIED;
/// assert_eq!((x, y, map.cell(100, 50)), (100, 50, Some(100)));
/// assert_eq!(map.cell_at(25.1, 0.0), None);
/// # Ok::<(), horus_core::message::HeaderError>(())
/// ```
pub type OccupancyGrid<D = super::Buffer> = Framed<OccupancyGridHeader, D>;

/// Costs of cells, like `nav2_msgs/Costmap`: a byte each, 0 to 252; [`CostMapHeader`] has constants
/// for larger values. The cells are stored row by row along x, from cell (0, 0) on.
pub type CostMap<D = super::Buffer> = Framed<CostMapHeader, D>;

/// A header of a message whose data are the cells of a map.
pub trait Grid: Header {
    /// The number type that holds the value of one cell.
    type Cell: bytemuck::Pod;

    /// Returns the size, resolution and position of the map.
    fn info(&self) -> &MapMetaData;
}

impl OccupancyGridHeader {
    /// The value of a cell that is known to be free.
    pub const FREE: i8 = 0;
    /// The value of a cell that is certainly occupied.
    pub const OCCUPIED: i8 = 100;
    /// The value of a cell about which nothing is known.
    pub const UNKNOWN: i8 = -1;

    /// Returns the header of a map in the frame `map`, stamped with the current time.
    #[must_use]
    pub fn new(info: MapMetaData) -> Self {
        let timestamp_ns = timestamp_now_ns();
        let frame_id = FrameId::literal("map");
        Self {
            timestamp_ns,
            frame_id,
            info,
            _reserved: 0,
        }
    }

    /// Sets the name of the map's coordinate frame.
    #[must_use]
    pub const fn in_frame(mut self, frame_id: FrameId) -> Self {
        self.frame_id = frame_id;
        self
    }
}

impl CostMapHeader {
    /// The cost of a free cell: crossing it costs nothing.
    pub const FREE_SPACE: u8 = 0;
    /// The value of a cell that is closer to an obstacle than the radius of the robot. If the
    /// centre of a round robot is in such a cell, the robot collides.
    pub const INSCRIBED_INFLATED_OBSTACLE: u8 = 253;
    /// The cost of a cell that contains an obstacle.
    pub const LETHAL_OBSTACLE: u8 = 254;
    /// The cost of a cell about which nothing is known.
    pub const NO_INFORMATION: u8 = 255;

    /// Returns the header of a map of the layer `master` in the frame `map`, stamped with the
    /// current time.
    #[must_use]
    pub fn new(info: MapMetaData) -> Self {
        let timestamp_ns = timestamp_now_ns();
        let frame_id = FrameId::literal("map");
        Self {
            timestamp_ns,
            frame_id,
            info,
            layer: Text::literal("master"),
            _reserved: [0; 5],
        }
    }

    /// Sets the name of the map's coordinate frame.
    #[must_use]
    pub const fn in_frame(mut self, frame_id: FrameId) -> Self {
        self.frame_id = frame_id;
        self
    }
}

impl Header for OccupancyGridHeader {
    const NAME: &str = "OccupancyGrid";
    const TRAILING_DATA: Tail = Tail {
        name: "data",
        primitive: Primitive::I8,
    };
    const MAX_MESSAGE_BYTES: u64 = 1024 * 1024;

    fn data_bytes(&self) -> u64 {
        u64::from(self.info.width) * u64::from(self.info.height)
    }

    fn array_layout(&self) -> Option<ArrayLayout> {
        Some(self.info.cell_layout(DType::I8))
    }

    fn reshape(&mut self, dtype: DType, shape: &[u64]) -> Result<(), String> {
        let cells =
            rows_columns_and_channels(shape).filter(|cells| cells.2 == 1 && dtype == DType::I8);
        let refused = || array_error_text(Self::NAME, "rows and columns of i8", dtype, shape);
        (self.info.height, self.info.width, _) = cells.ok_or_else(refused)?;
        Ok(())
    }
}

impl Grid for OccupancyGridHeader {
    type Cell = i8;

    fn info(&self) -> &MapMetaData {
        &self.info
    }
}

impl Header for CostMapHeader {
    const NAME: &str = "CostMap";
    const TRAILING_DATA: Tail = Tail {
        name: "data",
        primitive: Primitive::U8,
    };
    const MAX_MESSAGE_BYTES: u64 = 1024 * 1024;

    fn data_bytes(&self) -> u64 {
        u64::from(self.info.width) * u64::from(self.info.height)
    }

    fn array_layout(&self) -> Option<ArrayLayout> {
        Some(self.info.cell_layout(DType::U8))
    }

    fn reshape(&mut self, dtype: DType, shape: &[u64]) -> Result<(), String> {
        let cells =
            rows_columns_and_channels(shape).filter(|cells| cells.2 == 1 && dtype == DType::U8);
        let refused = || array_error_text(Self::NAME, "rows and columns of u8", dtype, shape);
        (self.info.height, self.info.width, _) = cells.ok_or_else(refused)?;
        Ok(())
    }
}

impl Grid for CostMapHeader {
    type Cell = u8;

    fn info(&self) -> &MapMetaData {
        &self.info
    }
}

impl<H: Grid, D: AsRef<[u8]>> Framed<H, D> {
    /// Returns all cells, row after row: x varies fastest.
    pub fn cells(&self) -> &[H::Cell] {
        self.data_as().unwrap_or_default()
    }

    /// Returns the value of the cell in column `x` of row `y`; `None` for a cell outside the map.
    pub fn cell(&self, x: u32, y: u32) -> Option<H::Cell> {
        self.cells().get(self.index(x, y)?).copied()
    }

    /// Returns the column x and the row y of the cell that contains a point. The point is given in
    /// the map's frame, in metres. Returns `None` for a point outside the map.
    pub fn cell_at(&self, x: f64, y: f64) -> Option<(u32, u32)> {
        let info = self.info();
        let dx = x - info.origin_position[0];
        let dy = y - info.origin_position[1];
        let (cos, sin) = info.rotation_cos_sin();
        let side = f64::from(info.resolution);
        let place = [(cos * dx + sin * dy) / side, (cos * dy - sin * dx) / side];
        let [x, y] = place.map(|place| (place >= 0.0).then_some(place as u64));
        let x = u32::try_from(x?).ok()?;
        let y = u32::try_from(y?).ok()?;
        self.index(x, y).map(|_| (x, y))
    }

    /// Returns the centre of the cell in column `x` of row `y`, in metres in the map's frame. The
    /// cell may lie outside the map.
    pub fn centre_of(&self, x: u32, y: u32) -> [f64; 2] {
        let info = self.info();
        let side = f64::from(info.resolution);
        let [dx, dy] = [x, y].map(|cell| (f64::from(cell) + 0.5) * side);
        let (cos, sin) = info.rotation_cos_sin();
        let [x, y, _] = info.origin_position;
        [x + cos * dx - sin * dy, y + sin * dx + cos * dy]
    }

    fn index(&self, x: u32, y: u32) -> Option<usize> {
        let info = self.info();
        (x < info.width && y < info.height).then(|| y as usize * info.width as usize + x as usize)
    }
}

impl<H: Grid, D: AsRef<[u8]> + AsMut<[u8]>> Framed<H, D> {
    /// Returns a mutable slice of all cells, row after row.
    pub fn cells_mut(&mut self) -> &mut [H::Cell] {
        self.data_as_mut().unwrap_or_default()
    }

    /// Returns a mutable reference to the cell in column `x` of row `y`; `None` for a cell outside
    /// the map.
    pub fn cell_mut(&mut self, x: u32, y: u32) -> Option<&mut H::Cell> {
        let index = self.index(x, y)?;
        self.cells_mut().get_mut(index)
    }
}
