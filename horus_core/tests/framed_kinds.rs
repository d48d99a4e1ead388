//! The table of messages of variable length agrees with the types.

use horus_testing as _;

use horus_core::message::{
    ArrayLayout, BytesHeader, DType, Encoding, FRAMED_KINDS, Framed, FramedKind, Header, Image,
    ImageHeader, LidarScanHeader, PointCloudHeader, STANDARD, Tensor, TensorHeader,
};
use horus_core::topic::DynamicType;

fn kind(name: &str) -> &'static FramedKind {
    FRAMED_KINDS
        .iter()
        .find(|kind| kind.schema().name == name)
        .expect("a kind of this name")
}

#[test]
fn every_standard_message_with_a_tail_is_in_the_table() {
    let with_tail = STANDARD.iter().filter(|schema| schema.tail.is_some());
    let names: Vec<_> = with_tail.map(|schema| schema.name).collect();
    assert_eq!(names.len(), FRAMED_KINDS.len());
    for name in names {
        let kind = kind(name);
        assert_eq!(kind.default_header().len(), kind.schema().size);
        assert_eq!(kind.payload().schema_text(), kind.schema().text());
        assert!(kind.payload().has_variable_size());
    }
    let typed = DynamicType::of::<Image>();
    assert_eq!(kind("Image").payload().hash(), typed.hash());
}

/// Checks that `reshape` makes a header whose data are that array.
#[test]
fn reshape_gives_the_layout_of_the_array() {
    let cases: &[(&str, DType, &[u64])] = &[
        ("Image", DType::U8, &[48, 64, 3]),
        ("Image", DType::U8, &[48, 64]),
        ("Image", DType::F32, &[48, 64, 4]),
        ("Image", DType::U16, &[0, 64]),
        ("DepthImage", DType::U16, &[48, 64]),
        ("DepthImage", DType::F32, &[48, 64]),
        ("CompressedImage", DType::U8, &[1000]),
        ("SegmentationMask", DType::U8, &[48, 64]),
        ("PointCloud", DType::F32, &[100, 3]),
        ("PointCloud", DType::F64, &[10, 20, 4]),
        ("Tensor", DType::F16, &[2, 3, 4, 5, 6, 7, 8, 9]),
        ("Tensor", DType::Bool, &[]),
        ("Tensor", DType::BF16, &[3, 0, 5]),
        ("OccupancyGrid", DType::I8, &[20, 30]),
        ("CostMap", DType::U8, &[20, 30]),
        ("AudioFrame", DType::I16, &[480, 2]),
        ("Bytes", DType::U8, &[7]),
        ("LidarScan", DType::F32, &[1081]),
        ("LidarScan", DType::F32, &[2, 2000]),
        ("LidarScan", DType::F32, &[2, 0]),
    ];
    for (name, dtype, shape) in cases {
        let kind = kind(name);
        let mut header = kind.default_header();
        kind.reshape(&mut header, *dtype, shape).unwrap();
        let elements: u64 = shape.iter().product();
        let bytes = kind.data_bytes(&header).unwrap();
        assert_eq!(bytes as u64, elements * dtype.size() as u64, "{name}");
        let array = kind.array_layout(&header, bytes).unwrap();
        assert_eq!((array.dtype(), array.shape()), (*dtype, *shape), "{name}");
        assert_eq!(array.extent_bytes(), bytes as u64, "{name}");
        // In row-major order each stride is the size of the inner dimensions.
        let inner: Vec<u64> = (0..shape.len())
            .map(|index| shape[index + 1..].iter().product::<u64>() * dtype.size() as u64)
            .collect();
        if elements > 0 {
            assert_eq!(array.strides(), inner, "{name}");
            assert_eq!(kind.array_layout(&header, bytes - 1), None, "{name}");
        }
        // A header that is already complete is unchanged.
        let before = header.clone();
        kind.fill_computed_fields(&mut header);
        assert_eq!(header, before, "{name}");
    }
}

/// Arrays of two bytes a pixel may be anything, such as two masks: they are not declared to be
/// colours.
#[test]
fn an_image_of_an_array_has_a_colour_only_if_such_arrays_usually_have() {
    for (dtype, channels, encoding) in [
        (DType::U8, 1, Encoding::MONO8),
        (DType::U8, 2, Encoding::TYPE_8UC2),
        (DType::U8, 3, Encoding::RGB8),
        (DType::U8, 4, Encoding::RGBA8),
        (DType::U16, 2, Encoding::TYPE_16UC2),
        (DType::I8, 1, Encoding::TYPE_8SC1),
    ] {
        let mut header = ImageHeader::default();
        header.reshape(dtype, &[48, 64, channels]).unwrap();
        assert_eq!(header.encoding(), Some(encoding));
    }
}

#[test]
fn other_arrays_are_refused_and_change_nothing() {
    let cases: &[(&str, DType, &[u64], &str)] = &[
        ("Image", DType::U8, &[48], "rows, columns"),
        ("Image", DType::U8, &[48, 64, 5], "encoding"),
        ("Image", DType::U8, &[1 << 40, 64], "rows, columns"),
        ("DepthImage", DType::F64, &[48, 64], "u16 or f32"),
        ("DepthImage", DType::F32, &[48, 64, 2], "u16 or f32"),
        ("SegmentationMask", DType::I8, &[48, 64], "u8"),
        ("PointCloud", DType::F32, &[100, 2], "x, y, z"),
        ("PointCloud", DType::F32, &[100], "x, y, z"),
        ("Tensor", DType::F32, &[1; 9], "9 dimensions"),
        (
            "Tensor",
            DType::F32,
            &[1 << 40, 1 << 40],
            "too many to count",
        ),
        ("OccupancyGrid", DType::U8, &[20, 30], "i8"),
        ("AudioFrame", DType::I16, &[480, 1 << 16], "65535"),
        ("Bytes", DType::U16, &[7], "u8 in a row"),
        ("SchedulerStatus", DType::U8, &[7], "fields only"),
        ("LidarScan", DType::F64, &[1081], "f32 of the shape [rays]"),
        ("LidarScan", DType::F32, &[3, 1081], "[2, rays]"),
        ("LidarScan", DType::F32, &[1 << 32], "[2, rays]"),
        ("JointStateArray", DType::F64, &[29], "fields only"),
        ("LogLine", DType::U8, &[1 << 32], "u8 in a row"),
    ];
    for (name, dtype, shape, text) in cases {
        let kind = kind(name);
        let mut header = kind.default_header();
        let error = kind.reshape(&mut header, *dtype, shape).unwrap_err();
        assert!(error.contains(text), "{error}");
        assert_eq!(header, kind.default_header(), "{name}");
    }
    let mut bgr = ImageHeader {
        encoding: Encoding::BGR8.text(),
        ..ImageHeader::default()
    };
    bgr.reshape(DType::U8, &[4, 4, 3]).unwrap();
    assert_eq!(bgr.encoding(), Some(Encoding::BGR8));
    assert!(
        bgr.reshape(DType::U8, &[4, 4])
            .unwrap_err()
            .contains("'bgr8'")
    );
}

#[test]
fn complete_computes_the_derived_fields() {
    let mut image = ImageHeader {
        encoding: Encoding::RGB16.text(),
        ..ImageHeader::default()
    };
    (image.width, image.height) = (10, 2);
    image.fill_computed_fields();
    assert_eq!((image.step, image.data_bytes()), (60, 120));
    let mut cloud = PointCloudHeader::xyz(5);
    (cloud.height, cloud.row_step) = (0, 0);
    cloud.fill_computed_fields();
    assert_eq!((cloud.height, cloud.row_step), (1, 60));
    let mut tensor = TensorHeader::new(DType::F32, &[2, 3]).unwrap();
    let strides = tensor.strides;
    tensor.strides = [0; 8];
    tensor.fill_computed_fields();
    assert_eq!(tensor.strides, strides);
}

#[test]
fn arrays_show_padding_and_strides_as_they_are() {
    let image = ImageHeader::new(4, 2, Encoding::RGB8).with_step(16);
    let array = image.array_layout().unwrap();
    assert_eq!(
        (array.shape(), array.strides()),
        (&[2, 4, 3][..], &[16, 3, 1][..])
    );
    assert_eq!(array.extent_bytes(), 16 + 12);
    // Numbers in the byte order of another machine are not an array.
    let mut swapped = ImageHeader::new(4, 2, Encoding::MONO16);
    assert!(swapped.array_layout().is_some());
    swapped.is_bigendian = 1 - swapped.is_bigendian;
    assert_eq!(swapped.array_layout(), None);
    // Points with numbers of two types are not an array of one type.
    let mixed = PointCloudHeader::xyz(3).with_field("ring", DType::U16);
    assert_eq!(mixed.array_layout(), None);
    let tensor = Tensor::zeroed(TensorHeader::new(DType::F64, &[3, 2]).unwrap()).unwrap();
    let mut turned = *tensor.header();
    (turned.shape[0], turned.shape[1]) = (2, 3);
    (turned.strides[0], turned.strides[1]) = (1, 2);
    let array = turned.array_layout().unwrap();
    assert_eq!(
        (array.shape(), array.strides()),
        (&[2, 3][..], &[8, 16][..])
    );
    assert_eq!(array.extent_bytes(), 48);
    let huge = ArrayLayout::new(DType::U8, &[(u64::MAX, u64::MAX), (2, u64::MAX)]);
    assert_eq!(huge.extent_bytes(), u64::MAX);
}

/// Compares a type that is known by its schema only with the type of this crate.
#[test]
fn a_counted_kind_equals_the_typed_one() {
    let typed = kind("LidarScan");
    let counted = FramedKind::counted(typed.schema(), "count").unwrap();
    assert!(counted.is_counted() && !typed.is_counted());
    assert_eq!(counted.payload(), typed.payload());
    let mut header = counted.default_header();
    assert_eq!(header, typed.default_header());
    counted.reshape(&mut header, DType::F32, &[1081]).unwrap();
    assert_eq!(counted.data_bytes(&header), Ok(4 * 1081));
    assert_eq!(typed.data_bytes(&header), Ok(4 * 1081));
    let bytes = 4 * 1081;
    assert_eq!(
        counted.array_layout(&header, bytes),
        typed.array_layout(&header, bytes)
    );
    assert_eq!(counted.array_layout(&header, bytes - 1), None);
    let before = header.clone();
    for (dtype, shape) in [
        (DType::F64, &[3][..]),
        (DType::F32, &[2, 3]),
        (DType::F32, &[1 << 32]),
    ] {
        let refused = counted.reshape(&mut header, dtype, shape).unwrap_err();
        assert!(
            refused.contains("f32 in a row, as many as a u32 can count"),
            "{refused}"
        );
        assert_eq!(header, before);
    }
}

#[test]
fn any_count_is_a_length_or_an_error() {
    let counted = FramedKind::counted(&Framed::<BytesHeader>::SCHEMA, "bytes").unwrap();
    for (count, fits) in [
        (0, true),
        (64 << 20, true),
        ((64 << 20) + 1, false),
        (u64::MAX, false),
    ] {
        let header = BytesHeader::new(count);
        let found = counted.data_bytes(bytemuck::bytes_of(&header));
        assert_eq!(found.ok(), fits.then_some(count as usize));
        assert_eq!(
            counted
                .array_layout(bytemuck::bytes_of(&header), 0)
                .is_some(),
            count == 0
        );
    }
}

#[test]
fn a_count_is_an_unsigned_field_of_the_header() {
    let scan = &Framed::<LidarScanHeader>::SCHEMA;
    for count in ["rays", "angle_min", "frame_id", "_reserved1", ""] {
        let refused = FramedKind::counted(scan, count).unwrap_err();
        let wanted = format!("LidarScan.data is counted by '{count}', which is no field");
        assert!(refused.starts_with(&wanted), "{refused}");
    }
    let no_tail = FramedKind::counted(STANDARD[0], "x").unwrap_err();
    assert!(
        no_tail.contains("has no data after its fields"),
        "{no_tail}"
    );
}
