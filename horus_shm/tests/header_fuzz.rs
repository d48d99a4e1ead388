//! Any header: a typed error, or a file whose every field was checked. Headers of topic files go
//! through the real open path.

use horus_testing as _;

mod hostile;
mod spawn;

use std::fs;
use std::sync::Arc;

use fastrand::Rng;
use horus_shm::internals::header::{self, Provenance};
use horus_shm::internals::layout::{
    BYTE_ORDER_MARK, FILE_PART_ALIGN_BYTES, HEADER_BYTES, Header, LANE_FILE_MAGIC, LAYOUT_VERSION,
    POSITION_MAX, RETIRED_WORD_OFFSET, SCHEMA_OFFSET, STRIDE_MAX, TOPIC_FILE_MAGIC,
};
use horus_shm::{OpenError, RawConsumer, ReadMode, Reliability, Request, Segment};

use hostile::{FIELDS, Image, Scene, expect_actionable, request, rounds};

/// The most mutations of one image.
const MUTATIONS_MAX: u64 = 4;

/// Values at which arithmetic overflows or limits are reached.
const EDGES: [u64; 25] = [
    0,
    1,
    2,
    3,
    7,
    8,
    16,
    63,
    64,
    65,
    127,
    128,
    129,
    4096,
    1 << 16,
    1 << 20,
    (1 << 20) + 1,
    64 << 20,
    i32::MAX as u64,
    u32::MAX as u64,
    1 << 40,
    1 << 52,
    i64::MAX as u64,
    1 << 63,
    u64::MAX,
];

/// Makes a header that a creator could have written, with the right length of its file.
fn random_contract(rng: &mut Rng, scene: &Scene) -> Image {
    Image::valid(&scene.namespace, &random_request(rng))
}

fn random_request(rng: &mut Rng) -> Request {
    let mut request = request();
    request.capacity = Some(1 << (1 + rng.u64(..12)));
    request.lane_limit = Some(1 + rng.u64(..64) as u32);
    request.reader_limit = Some(1 + rng.u64(..64) as u32);
    request.reliability = *rng.choice(&[None, Some(Reliability::Reliable)]).unwrap();
    request.history = Some(rng.u64(..) as u32);
    request.type_info.sized = rng.u64(..4) == 0;
    request.pinnable = request
        .type_info
        .sized
        .then_some(true)
        .or(*rng.choice(&[None, Some(false), Some(true)]).unwrap());
    let magnitude = rng.u64(..20);
    request.type_info.bytes = 1 + rng.u64(..1 << magnitude);
    request.type_info.align = 1 << rng.u64(..7);
    request.type_info.schema = "s".repeat(rng.u64(..200) as usize).into();
    request
}

fn mutate(rng: &mut Rng, image: &mut Image) {
    let field = *rng.choice(FIELDS).unwrap();
    let (name, offset, bytes) = field;
    let fixed = size_of::<Header>() as u64;
    let area = HEADER_BYTES as u64;
    match rng.u64(..9) {
        0 => image.set(name, (*rng.choice(&EDGES).unwrap()).into()),
        1 => image.set(name, rng.u64(..).into()),
        2 => image.set(
            name,
            image
                .get(name)
                .wrapping_add(u128::MAX * u128::from(rng.u64(..2))),
        ),
        3 => {
            let at = offset + rng.u64(..bytes as u64) as usize;
            image.bytes[at] ^= 1 << rng.u64(..8);
        }
        4 => {
            let limit = *rng.choice(&[fixed, area]).unwrap();
            let at = rng.u64(..limit) as usize;
            image.bytes[at] = rng.u64(..) as u8;
        }
        5 => {
            let other = rng.choice(FIELDS).unwrap().0;
            let one = image.get(name);
            let two = image.get(other);
            image.set(name, two);
            image.set(other, one);
        }
        6 => image.file_bytes = (*rng.choice(&EDGES).unwrap()).min(1 << 40),
        7 => image.file_bytes = image.file_bytes.saturating_sub(rng.u64(..1 << 17)),
        _ => {
            let start = rng.u64(..area) as usize;
            let end = (start + rng.u64(..256) as usize).min(HEADER_BYTES);
            image.bytes[start..end].fill_with(|| rng.u64(..) as u8);
        }
    }
}

/// Returns the first violated condition of an accepted file; each of these conditions is necessary.
fn first_fault(image: &Image, scene: &Scene) -> Option<&'static str> {
    let retired = RETIRED_WORD_OFFSET as usize;
    let is_retired = image.bytes[retired..retired + 8] != [0; 8];
    common_fault(image, scene, TOPIC_FILE_MAGIC).or(is_retired.then_some("retired"))
}

/// Does the same for a lane file.
fn first_lane_fault(image: &Image, scene: &Scene) -> Option<&'static str> {
    let header = image.header();
    let faults = [
        (header.lane > 63, "lane"),
        (header.generation > POSITION_MAX, "generation"),
        (header.base_position > POSITION_MAX, "base position"),
        (header.base_number > header.base_position, "base number"),
        (!header.capacity.is_power_of_two(), "capacity"),
        (
            header.payload_bytes.saturating_add(8) > header.stride,
            "stride",
        ),
        (!header.stride.is_multiple_of(64), "alignment of slots"),
        (
            u128::from(header.stride) * u128::from(header.capacity) > 1 << 40,
            "lane size",
        ),
    ];
    let fault = faults
        .into_iter()
        .find_map(|(is_fault, what)| is_fault.then_some(what));
    common_fault(image, scene, LANE_FILE_MAGIC).or(fault)
}

/// Returns the first violated condition of those that both kinds of files have.
fn common_fault(image: &Image, scene: &Scene, magic: [u8; 8]) -> Option<&'static str> {
    let header = image.header();
    let stored = (image.file_bytes as usize).min(HEADER_BYTES);
    let schema_end = SCHEMA_OFFSET as u64 + u64::from(header.schema_bytes);
    let faults = [
        (header.magic != magic, "magic"),
        (header.layout_version != LAYOUT_VERSION, "version"),
        (header.endianness != BYTE_ORDER_MARK, "endianness"),
        (
            header.boot_id != scene.namespace.registry().boot_id(),
            "boot",
        ),
        (
            header.registry_id != scene.namespace.registry().id(),
            "registry",
        ),
        (image.checksum() != Some(header.crc), "checksum"),
        (schema_end > stored as u64, "schema past the end"),
        (header.file_bytes != image.file_bytes, "recorded size"),
        (
            !image.file_bytes.is_multiple_of(FILE_PART_ALIGN_BYTES),
            "size of whole parts",
        ),
        (!header.payload_align.is_power_of_two(), "alignment"),
        (header.payload_bytes > STRIDE_MAX, "message size"),
    ];
    faults
        .into_iter()
        .find_map(|(is_fault, what)| is_fault.then_some(what))
}

/// Reads everything that a tool would read of a segment.
fn check_health(segment: &Arc<Segment>) {
    let shape = segment.shape();
    assert!(shape.lane_area().end <= shape.reader_area().start);
    assert!(shape.reader_area().end <= shape.file_bytes());
    assert_eq!(
        (segment.publisher_count(), segment.subscriber_count()),
        (0, 0)
    );
    let consumer = RawConsumer::new(Arc::clone(segment), ReadMode::Observer).unwrap();
    assert_eq!(consumer.stats().received, 0);
}

/// Plants `image`, opens it, and compares the result with the oracle. Returns true if the image was
/// accepted.
fn attempt(scene: &Scene, image: &Image, tool: bool, seed: u64) -> bool {
    scene.plant(image);
    let what = format!("seed {seed}");
    let answer = if tool { scene.inspect() } else { scene.open() };
    let fault = first_fault(image, scene);
    let accepted = match answer {
        Ok(segment) => {
            assert_eq!(fault, None, "{what}: accepted");
            check_health(&segment);
            true
        }
        Err(OpenError::NotFound { .. }) => {
            assert!(
                fault.is_some() && !scene.path().exists(),
                "{what}: {fault:?}, removed"
            );
            false
        }
        Err(error @ (OpenError::NotATopic { .. } | OpenError::Damaged { .. })) => {
            expect_actionable(&error, &scene.path(), &what);
            false
        }
        Err(OpenError::SchemaMismatch { .. }) if !tool => true,
        Err(error) => panic!("{what}: {error:?}"),
    };
    scene.clear();
    accepted
}

#[test]
fn any_header_is_refused_with_a_typed_error_or_is_valid() {
    let mut scene = Scene::new();
    let rounds = rounds(20_000, 5_000_000);
    let descriptors = spawn::open_descriptors(scene.namespace.path());
    let mut accepted = 0_u64;
    for seed in 0..rounds {
        let mut rng = Rng::with_seed(seed);
        let mut image = if rng.u64(..2) == 0 {
            scene.image()
        } else {
            random_contract(&mut rng, &scene)
        };
        for _ in 0..rng.u64(..MUTATIONS_MAX + 1) {
            mutate(&mut rng, &mut image);
        }
        if rng.u64(..2) == 0 {
            image.fix_checksum();
        }
        let tool = rng.u64(..2) == 0;
        accepted += u64::from(attempt(&scene, &image, tool, seed));
        if seed % 1000 == 0 {
            scene.expect_neighbour("beside the fuzz");
            scene.expect_clean("beside the fuzz");
        }
    }
    println!("{accepted} of {rounds} were accepted");
    assert!(
        (rounds / 10..rounds / 2).contains(&accepted),
        "too few or too many headers were accepted: {accepted}"
    );
    scene.expect_neighbour("after the fuzz");
    assert_eq!(
        spawn::open_descriptors(scene.namespace.path()),
        descriptors,
        "descriptors were left open"
    );
}

/// The header of a lane file is decoded by the same rules, without a file.
#[test]
fn any_header_of_a_lane_file_is_refused_or_is_valid() {
    let scene = Scene::new();
    let rounds = rounds(20_000, 5_000_000);
    let provenance = Provenance {
        boot_id: scene.namespace.registry().boot_id(),
        registry_id: scene.namespace.registry().id(),
    };
    let mut accepted = 0_u64;
    for seed in 0..rounds {
        let mut rng = Rng::with_seed(seed);
        let mut image = Image::valid_lane(&scene.namespace, &random_request(&mut rng));
        for _ in 0..rng.u64(..MUTATIONS_MAX + 1) {
            mutate(&mut rng, &mut image);
        }
        if rng.u64(..2) == 0 {
            image.fix_checksum();
        }
        let stored = (image.file_bytes as usize).min(HEADER_BYTES);
        let bytes = &image.bytes[..stored];
        let fault = first_lane_fault(&image, &scene);
        let Ok((offer, lane)) = header::decode_lane_header(bytes, image.file_bytes, provenance)
        else {
            continue;
        };
        assert_eq!(fault, None, "seed {seed}: accepted");
        assert_eq!(offer.shape.file_bytes(), image.file_bytes);
        assert!(offer.shape.slots().end <= image.file_bytes);
        let again = header::encode_lane_header(&offer, &lane, provenance);
        let again = header::decode_lane_header(
            &[again, vec![0; HEADER_BYTES]].concat()[..HEADER_BYTES],
            image.file_bytes,
            provenance,
        );
        assert_eq!(again, Ok((offer, lane)), "seed {seed}");
        accepted += 1;
    }
    println!("{accepted} of {rounds} were accepted");
    assert!(
        (rounds / 10..rounds / 2).contains(&accepted),
        "too few or too many headers were accepted: {accepted}"
    );
}

#[test]
fn random_bytes_are_never_a_topic() {
    let scene = Scene::new();
    let mut rng = Rng::with_seed(1);
    for seed in 0..500 {
        let mut image = scene.image();
        image.bytes.fill_with(|| rng.u64(..) as u8);
        image.file_bytes = rng.u64(..1 << 17);
        if rng.u64(..2) == 0 {
            image.bytes[..TOPIC_FILE_MAGIC.len()].copy_from_slice(&TOPIC_FILE_MAGIC);
        }
        assert!(!attempt(&scene, &image, true, seed));
    }
}

/// The bytes are changed all at once: neither the text of a schema nor the rest of the area is
/// read.
#[test]
fn bytes_between_the_parts_of_a_header_are_not_read() {
    let scene = Scene::new();
    let mut image = scene.image();
    let end = SCHEMA_OFFSET + image.header().schema_bytes as usize;
    let retired = RETIRED_WORD_OFFSET as usize;
    image.bytes[size_of::<Header>()..retired].fill(0xa5);
    image.bytes[end..].fill(0xa5);
    assert!(attempt(&scene, &image, false, 0));
    assert!(fs::symlink_metadata(scene.path()).is_err());
}
