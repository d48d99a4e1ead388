//! Images, clouds, tensors, maps and sound: their views, their way through a topic, and protection
//! from invalid headers.

use horus_testing as _;

mod noise;
mod private;

use bytemuck::Zeroable;
use fastrand::Rng;
use horus_core::message::{
    AudioFrame, AudioFrameHeader, Bytes, BytesHeader, CompressedImage, CompressedImageHeader,
    CostMap, CostMapHeader, DType, DepthImage, DepthImageHeader, Encoding, FrameId, Framed, Grid,
    Header, HeaderError, Image, ImageHeader, JointStateArrayHeader, LidarScanHeader, LogLineHeader,
    MapMetaData, OccupancyGrid, OccupancyGridHeader, POINT_FIELDS_MAX, PointCloud,
    PointCloudHeader, Raster, SchedulerStatusHeader, Schema, SegmentationMask,
    SegmentationMaskHeader, Tensor, TensorError, TensorHeader, Text,
};
use horus_core::topic::Encoded;
use private::Private;

/// Returns a message with this header and random data.
fn noisy<H: Header>(header: H, rng: &mut Rng) -> Framed<H> {
    let mut message = Framed::zeroed(header).unwrap();
    message
        .data_mut()
        .iter_mut()
        .for_each(|byte| *byte = rng.u8(..));
    message
}

/// Calls `validate` with a header of each kind.
fn each_kind(check: &mut impl Check) {
    check.one(BytesHeader::new(1000).with_format(Text::literal("text/plain")));
    check.one(ImageHeader::new(33, 7, Encoding::BGR8).with_step(128));
    check.one(DepthImageHeader::millimetres(33, 7).with_range(0.2, 8.0));
    check.one(
        PointCloudHeader::xyzi(100)
            .with_field("ring", DType::U16)
            .with_field("time", DType::F64),
    );
    check.one(
        TensorHeader::new(DType::F32, &[2, 3, 4])
            .unwrap()
            .with_name(Text::literal("logits")),
    );
    check.one(OccupancyGridHeader::new(MapMetaData::new(
        20,
        30,
        0.5,
        [1.0, 2.0],
    )));
    check.one(CostMapHeader::new(MapMetaData::new(
        20,
        30,
        0.5,
        [1.0, 2.0],
    )));
    check.one(SegmentationMaskHeader::new(33, 7, 21));
    check.one(CompressedImageHeader::new(Text::literal("jpeg"), 777));
    check.one(AudioFrameHeader::new(DType::I16, 2, 48_000, 480));
    check.one(SchedulerStatusHeader::new("arm", 3));
    check.one(LidarScanHeader::new(1081).with_intensities());
    check.one(JointStateArrayHeader::new(29));
    check.one(LogLineHeader {
        text_bytes: 77,
        ..LogLineHeader::default()
    });
}

/// A test for a header of any kind.
trait Check {
    fn one<H: Header>(&mut self, header: H);
}

struct RoundTrip(Private, Rng);

impl Check for RoundTrip {
    fn one<H: Header>(&mut self, header: H) {
        let Self(private, rng) = self;
        let mut topic = private.builder::<Framed<H>>(H::NAME).topic().unwrap();
        let message = noisy(header, rng);
        topic.send(&message).unwrap();
        assert_eq!(topic.recv().unwrap(), message, "{}", H::NAME);
        let mut loan = topic.loan(header).unwrap();
        loan.data_mut().copy_from_slice(message.data());
        loan.publish().unwrap();
        let sample = topic.borrow().unwrap().unwrap();
        assert_eq!(sample, message);
        assert_eq!(
            sample.data().as_ptr().align_offset(64),
            0,
            "{}: data on a line",
            H::NAME
        );
        let schema = Schema::parse(&Framed::<H>::SCHEMA.text()).unwrap();
        assert_eq!(
            (schema.name.as_str(), schema.size),
            (H::NAME, size_of::<H>())
        );
        assert_eq!(schema.size % 64, 0);
    }
}

#[test]
fn every_kind_arrives_as_it_was_sent() {
    each_kind(&mut RoundTrip(Private::new(), Rng::with_seed(1)));
}

/// Writes headers with random bits, with which a hostile publisher could make a reader access other
/// memory.
struct Hostile(Rng, u32, u32);

impl Check for Hostile {
    fn one<H: Header>(&mut self, header: H) {
        let Self(rng, tried, accepted) = self;
        let whole = noisy(header, rng);
        let mut bytes = bytemuck::bytes_of(&header).to_vec();
        bytes.extend_from_slice(whole.data());
        for _ in 0..noise::rounds(2000, 200_000) {
            let mut damaged = bytes.clone();
            for _ in 0..1 + rng.usize(..3) {
                let at = rng.usize(..size_of::<H>());
                damaged[at] = [0, 1, 255, rng.u8(..)][rng.usize(..4)];
            }
            damaged.truncate(damaged.len() - rng.usize(..2) * rng.usize(..damaged.len()));
            let mut buffer = damaged.as_slice().into();
            *tried += 1;
            let Some(message) = Framed::<H>::decode(&mut buffer, damaged.len()) else {
                continue;
            };
            *accepted += 1;
            assert!(message.data().len() + size_of::<H>() <= damaged.len());
            assert_eq!(message.header().data_bytes(), message.data().len() as u64);
            let mut buffer = horus_core::message::Buffer::zeroed(message.data().len() + 600);
            let encoded = message.encode(buffer.as_mut()).unwrap();
            assert_eq!(
                Framed::<H>::decode(&mut buffer, encoded).unwrap().data(),
                message.data()
            );
        }
    }
}

#[test]
fn no_header_reaches_past_its_data() {
    let mut hostile = Hostile(Rng::with_seed(2), 0, 0);
    each_kind(&mut hostile);
    let Hostile(_, tried, accepted) = hostile;
    println!("RESULT hostile-frames: {accepted} of {tried} damaged messages were accepted");
    assert!(accepted > tried / 10 && accepted < tried);
}

/// Returns a message with random bits in the size fields, small enough to be accepted often.
fn wild<H: Header>(header: H, rng: &mut Rng, fields: &[usize]) -> Option<Framed<H>> {
    let mut bytes = bytemuck::bytes_of(&header).to_vec();
    for &at in fields {
        if rng.usize(..2) == 0 {
            bytes[at] = rng.usize(..24) as u8;
        }
    }
    bytes.resize(size_of::<H>() + rng.usize(..4000), 7);
    let length = bytes.len();
    Framed::<H>::decode(&mut bytes.as_slice().into(), length)
}

#[test]
fn views_of_any_header_stay_inside() {
    let mut rng = Rng::with_seed(3);
    let mut seen = [0_u32; 4];
    for _ in 0..noise::rounds(4000, 400_000) {
        let image = ImageHeader::new(5, 5, Encoding::RGB8);
        if let Some(mut image) = wild(image, &mut rng, &[8, 12, 16, 24, 25, 26, 27, 28]) {
            seen[0] += 1;
            let rows: usize = image.rows().map(<[u8]>::len).sum();
            assert!(rows <= image.data().len());
            let corner = (image.width.wrapping_sub(1), image.height.wrapping_sub(1));
            let _ = (image.pixel(corner.0, corner.1), image.pixel(image.width, 0));
            assert_eq!(image.row(image.height), None);
            let _ = (image.is_contiguous(), image.encoding());
            let _ = image.pixel_mut(0, 0);
        }
        let cloud = PointCloudHeader::xyzi(9);
        let sizes = [40, 44, 48, 52, 56, 60, 80, 84, 88, 112, 116, 120];
        if let Some(cloud) = wild(cloud, &mut rng, &sizes) {
            seen[1] += 1;
            for name in ["x", "y", "z", "intensity", "", "?"] {
                let Some(field) = cloud.field(name) else {
                    continue;
                };
                let points = field.iter::<f32>().count() as u64;
                assert!(points == 0 || points == cloud.points());
                let _ = (
                    field.get::<f64>(0),
                    field.get::<u8>(usize::MAX),
                    field.get::<f32>(1),
                );
            }
        }
        let tensor = TensorHeader::new(DType::U16, &[3, 4, 5]).unwrap();
        let sizes = [8, 9, 16, 24, 32, 40, 80, 88, 96, 104];
        if let Some(mut tensor) = wild(tensor, &mut rng, &sizes) {
            seen[2] += 1;
            let last: Vec<_> = tensor
                .shape()
                .iter()
                .map(|count| count.wrapping_sub(1) as usize)
                .collect();
            let exists = tensor.elements() > 0;
            assert_eq!(
                tensor.at::<u16>(&last).is_some(),
                exists && tensor.dtype == 3
            );
            let slice = tensor.as_slice::<u16>().map(<[u16]>::len);
            assert!(slice.is_err() || slice == Ok(tensor.elements() as usize));
            let _ = (tensor.at::<u16>(&[1; 9]), tensor.reshape(&[2, 30]));
        }
        let map = OccupancyGridHeader::new(MapMetaData::new(5, 5, 0.5, [0.0; 2]));
        if let Some(map) = wild(
            map,
            &mut rng,
            &[48, 49, 50, 51, 52, 56, 80, 88, 96, 104, 112],
        ) {
            seen[3] += 1;
            assert_eq!(map.cells().len() as u64, map.header().data_bytes());
            let _ = (
                map.cell(4, 4),
                map.cell_at(0.1, 0.1),
                map.cell_at(f64::NAN, f64::INFINITY),
            );
            assert_eq!(map.cell(map.info.width, 0), None);
        }
    }
    assert!(seen.iter().all(|&seen| seen > 40), "{seen:?}");
}

#[test]
fn an_image_has_rows_and_pixels() {
    let header = ImageHeader::new(3, 2, Encoding::RGB8).with_step(16);
    let mut image = Image::zeroed(header.in_frame(FrameId::literal("camera"))).unwrap();
    assert_eq!((image.data().len(), image.is_contiguous()), (32, false));
    image.pixel_mut(2, 1).unwrap().copy_from_slice(&[1, 2, 3]);
    assert_eq!(image.row(1), Some(&[0, 0, 0, 0, 0, 0, 1, 2, 3][..]));
    assert_eq!(image.data()[22..25], [1, 2, 3]);
    assert_eq!(
        (image.row(2), image.pixel(3, 0), image.pixel(0, 2)),
        (None, None, None)
    );
    assert_eq!(image.rows().count(), 2);
    assert_eq!(
        (image.encoding(), image.frame_id.as_str()),
        (Some(Encoding::RGB8), "camera")
    );

    let narrow = ImageHeader::new(3, 2, Encoding::RGB8).with_step(8);
    let error = Image::zeroed(narrow).unwrap_err().to_string();
    let text =
        "the header of the Image contradicts itself: rows are 8 bytes apart, and 3 pixels need 9";
    assert_eq!(error, text);
    // An unknown encoding is transferred unchanged.
    let mut exotic = ImageHeader::new(3, 2, Encoding::MONO8).with_step(100);
    exotic.encoding = Text::literal("nv12");
    let exotic = Image::zeroed(exotic).unwrap();
    assert_eq!(
        (exotic.row(1).map(<[u8]>::len), exotic.pixel(0, 0)),
        (Some(100), None)
    );
    let endless = ImageHeader::new(u32::MAX, u32::MAX, Encoding::TYPE_64FC4);
    assert!(matches!(
        Image::zeroed(endless),
        Err(HeaderError::Inconsistent { .. })
    ));
}

#[test]
fn encodings_are_those_of_ros() {
    for (name, bytes) in [
        ("rgb8", 3),
        ("bgra16", 8),
        ("mono16", 2),
        ("bayer_rggb8", 1),
        ("yuv422", 2),
        ("8UC3", 3),
        ("16SC1", 2),
        ("32FC1", 4),
        ("64FC4", 32),
    ] {
        assert_eq!(
            Encoding::from_name(name).unwrap().pixel_bytes(),
            bytes,
            "{name}"
        );
    }
    assert_eq!(Encoding::from_name("rgb"), None);
    for encoding in Encoding::ALL {
        assert_eq!(Encoding::from_name(encoding.name()), Some(*encoding));
        assert_eq!(encoding.text(), *encoding.name());
        assert_eq!(
            encoding.pixel_bytes(),
            encoding.channels() * encoding.dtype().size()
        );
    }
}

#[test]
fn a_depth_image_has_metres() {
    let header = DepthImageHeader::metres(4, 1).with_range(0.5, 10.0);
    let mut depth = DepthImage::zeroed(header).unwrap();
    depth
        .data_as_mut::<f32>()
        .unwrap()
        .copy_from_slice(&[f32::NAN, 0.4, 10.0, f32::INFINITY]);
    let metres: Vec<_> = (0..5).map(|x| depth.metres(x, 0)).collect();
    assert_eq!(metres, [None, None, Some(10.0), None, None]);
    let mut millimetres = DepthImage::zeroed(DepthImageHeader::millimetres(2, 2)).unwrap();
    millimetres.data_as_mut::<u16>().unwrap()[3] = 1000;
    assert_eq!(
        (millimetres.metres(1, 1), millimetres.metres(0, 0)),
        (Some(1.0), None)
    );
    let mut colours = DepthImageHeader::metres(4, 1);
    colours.encoding = Encoding::RGB8.text();
    assert!(
        DepthImage::zeroed(colours)
            .unwrap_err()
            .to_string()
            .contains("'rgb8', not 16UC1")
    );
}

#[test]
fn a_cloud_has_fields_at_any_place() {
    let header = PointCloudHeader::xyz(6)
        .with_field("ring", DType::U16)
        .with_field("time", DType::F64);
    let fields: Vec<_> = header
        .point_fields()
        .iter()
        .map(|field| (field.name.as_str(), field.offset))
        .collect();
    assert_eq!(
        fields,
        [("x", 0), ("y", 4), ("z", 8), ("ring", 12), ("time", 16)]
    );
    assert_eq!(header.point_step, 24);
    // The cloud has two rows of three points, with 8 bytes of padding behind each row.
    let organised = PointCloudHeader {
        height: 2,
        width: 3,
        row_step: 80,
        ..header
    };
    let mut cloud = PointCloud::zeroed(organised).unwrap();
    for point in 0..6 {
        let start = point / 3 * 80 + point % 3 * 24;
        cloud.data_mut()[start + 8..][..4].copy_from_slice(&(point as f32).to_ne_bytes());
        cloud.data_mut()[start + 12..][..2].copy_from_slice(&(point as u16).to_ne_bytes());
    }
    let z = cloud.field("z").unwrap();
    assert_eq!(
        z.iter::<f32>().collect::<Vec<_>>(),
        [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    );
    assert_eq!((z.get::<f32>(6), z.get::<f64>(0)), (None, None));
    assert_eq!(cloud.field("ring").unwrap().get::<u16>(5), Some(5));
    assert!(cloud.field("intensity").is_none());

    let refused = [
        (
            "many",
            (0..17).fold(PointCloudHeader::empty(1), |cloud, _| {
                cloud.with_field("x", DType::U8)
            }),
        ),
        (
            "long",
            PointCloudHeader::empty(1).with_field("a_name_of_17_long", DType::U8),
        ),
        ("outside", PointCloudHeader::xyz(1).with_point_step(8)),
        (
            "rows",
            PointCloudHeader {
                row_step: 11,
                ..PointCloudHeader::xyz(1)
            },
        ),
    ];
    for (why, header) in refused {
        assert!(header.validate().is_err(), "{why}");
    }
    assert_eq!(POINT_FIELDS_MAX, 16);
    let mut swapped = PointCloud::zeroed(PointCloudHeader::xyz(1)).unwrap();
    swapped.header_mut().is_bigendian = 1;
    assert_eq!(swapped.field("x").unwrap().get::<f32>(0), None);
}

#[test]
fn a_tensor_has_shape_and_strides() {
    let mut tensor = Tensor::zeroed(TensorHeader::new(DType::I32, &[2, 3]).unwrap()).unwrap();
    tensor
        .as_mut_slice::<i32>()
        .unwrap()
        .copy_from_slice(&[1, 2, 3, 4, 5, 6]);
    assert_eq!(
        (tensor.shape(), tensor.strides()),
        (&[2, 3][..], &[3, 1][..])
    );
    assert_eq!(
        (tensor.at::<i32>(&[1, 0]), tensor.at::<i32>(&[1])),
        (Some(4), None)
    );
    assert_eq!(tensor.at::<f32>(&[0, 0]), None);
    tensor.reshape(&[3, 2]).unwrap();
    assert_eq!(tensor.at::<i32>(&[1, 0]), Some(3));
    assert!(matches!(
        tensor.reshape(&[4, 2]),
        Err(TensorError::Elements { .. })
    ));
    assert!(matches!(
        tensor.as_slice::<f32>(),
        Err(TensorError::Type { .. })
    ));

    // The tensor is transposed without a copy.
    (tensor.header_mut().shape, tensor.header_mut().strides) =
        ([2, 3, 0, 0, 0, 0, 0, 0], [1, 2, 0, 0, 0, 0, 0, 0]);
    assert_eq!(
        (tensor.at::<i32>(&[0, 1]), tensor.at::<i32>(&[1, 2])),
        (Some(3), Some(6))
    );
    assert_eq!(tensor.as_slice::<i32>(), Err(TensorError::Strided));
    assert_eq!(tensor.header().data_bytes(), 24);

    let scalar = Tensor::zeroed(TensorHeader::new(DType::F64, &[]).unwrap()).unwrap();
    assert_eq!((scalar.at::<f64>(&[]), scalar.data().len()), (Some(0.0), 8));
    let empty = Tensor::zeroed(TensorHeader::new(DType::F64, &[0, 5]).unwrap()).unwrap();
    assert_eq!((empty.data().len(), empty.at::<f64>(&[0, 0])), (0, None));
    assert!(matches!(
        TensorHeader::new(DType::U8, &[1; 9]),
        Err(TensorError::Dimensions { .. })
    ));
    assert!(TensorHeader::new(DType::U8, &[usize::MAX, 2]).is_err());
    let huge = TensorHeader::new(DType::F64, &[usize::MAX / 16]).unwrap();
    assert!(matches!(
        Tensor::zeroed(huge),
        Err(HeaderError::TooLong { .. })
    ));
}

#[test]
fn cells_are_found_in_turned_maps() {
    let mut info = MapMetaData::new(4, 2, 0.5, [10.0, 20.0]);
    let half = std::f64::consts::FRAC_1_SQRT_2;
    // The map is rotated by a quarter turn to the left; the length of the quaternion has no effect.
    info.origin_orientation = [0.0, 0.0, 3.0 * half, 3.0 * half];
    let mut map = CostMap::zeroed(CostMapHeader::new(info)).unwrap();
    *map.cell_mut(3, 1).unwrap() = CostMapHeader::LETHAL_OBSTACLE;
    let [x, y] = map.centre_of(3, 1);
    assert!(
        (x - 9.25).abs() < 1e-9 && (y - 21.75).abs() < 1e-9,
        "{x} {y}"
    );
    assert_eq!(map.cell_at(x, y), Some((3, 1)));
    assert_eq!(map.cells()[7], 254);
    for x in 0..4 {
        for y in 0..2 {
            let [east, north] = map.centre_of(x, y);
            assert_eq!(map.cell_at(east, north), Some((x, y)));
        }
    }
    assert_eq!((map.cell_at(10.1, 20.1), map.cell(4, 0)), (None, None));
    let grid = OccupancyGrid::zeroed(OccupancyGridHeader::new(info)).unwrap();
    assert_eq!(
        (grid.info().width, grid.cell(0, 0)),
        (4, Some(OccupancyGridHeader::FREE))
    );
    let lost = OccupancyGridHeader {
        info: MapMetaData::zeroed(),
        ..Default::default()
    };
    let lost = OccupancyGrid::zeroed(lost).unwrap();
    assert_eq!(lost.cell_at(0.0, 0.0), None);
}

#[test]
fn small_frames_report_their_content() {
    let bytes = Bytes::new(BytesHeader::new(4), b"data").unwrap();
    assert_eq!(bytes.data(), b"data");
    let mask = SegmentationMask::new(SegmentationMaskHeader::new(2, 1, 3), &[0, 2]).unwrap();
    assert_eq!(
        (mask.class(1, 0), mask.class(0, 1), mask.step()),
        (Some(2), None, 2)
    );
    let jpeg = CompressedImageHeader::new(Text::literal("jpeg"), 2);
    assert!(matches!(
        CompressedImage::new(jpeg, &[1, 2, 3]),
        Err(HeaderError::Length { .. })
    ));
    let header = AudioFrameHeader::new(DType::F32, 3, 16_000, 160);
    let sound = AudioFrame::zeroed(header).unwrap();
    assert_eq!((sound.data().len(), sound.seconds()), (1920, 0.01));
    assert_eq!(AudioFrameHeader::default().seconds(), 0.0);
    let error = sound.data_as::<[f32; 7]>().unwrap_err().to_string();
    assert!(
        error.contains("have 1920 bytes") && error.contains("28 bytes"),
        "{error}"
    );
}
