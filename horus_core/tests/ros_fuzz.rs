//! Random messages survive CDR, and random bytes are an error or a message, in bounded memory.

use horus_testing as _;

mod heap;
mod noise;
mod ros_messages;
mod values;

use std::any::TypeId;
use std::cell::Cell;
use std::fmt::Debug;

use fastrand::Rng;
use heap::peak;
use horus_core::message::{
    Accel, BatteryState, CameraInfo, Clock, CmdVel, CompressedImageHeader, DType, DiagnosticStatus,
    DiagnosticValue, Field, FieldKind, FluidPressure, Framed, Header, Illuminance, ImageHeader,
    Imu, Joint, JointState, JointStateArray, LaserScan, LidarScanHeader, MagneticField,
    MapMetaData, Message, NavPath, NavSatFix, OccupancyGridHeader, Odometry, Point3,
    PointCloudHeader, PointField, Pose2D, Pose3D, PoseStamped, PoseWithCovariance, Quaternion,
    RangeSensor, RegionOfInterest, Schema, Temperature, TimeReference, Transform, TransformStamped,
    Twist, TwistWithCovariance, Vector3, Waypoint, Wrench, WrenchStamped,
};
use horus_core::ros::{FromCdr, RosFrames, RosHeader, RosMessage, Unstamped};
use noise::{Case, rounds, seeds};
use ros_messages::{Visit, golden, visit};

/// Makes random frames.
trait Noise {
    fn noise(rng: &mut Rng) -> Self;
}

impl Noise for () {
    fn noise(_: &mut Rng) -> Self {}
}

impl Noise for RosHeader {
    fn noise(rng: &mut Rng) -> Self {
        Self::new(&text(rng, 100))
    }
}

impl Noise for RosFrames {
    fn noise(rng: &mut Rng) -> Self {
        Self::new(&text(rng, 100), &text(rng, 100))
    }
}

fn text(rng: &mut Rng, bound: usize) -> String {
    (0..rng.usize(..bound))
        .map(|_| ['a', '/', 'ß', '€', '𝄞'][rng.usize(..5)])
        .collect()
}

/// Returns a random message that ROS can represent, except for conditions on several fields.
fn random<M: Message>(rng: &mut Rng) -> M {
    let mut message = M::zeroed();
    fill(bytemuck::bytes_of_mut(&mut message), &M::SCHEMA, rng);
    message
}

fn fill(bytes: &mut [u8], schema: &Schema, rng: &mut Rng) {
    for field in schema.fields {
        let bytes = &mut bytes[field.offset..][..field.count * field.kind.size()];
        for element in bytes.chunks_mut(field.kind.size()) {
            fill_element(element, field, rng);
        }
    }
}

fn fill_element(element: &mut [u8], field: &Field, rng: &mut Rng) {
    let number = match (field.kind, field.name) {
        (_, name) if name.starts_with('_') => 0,
        (FieldKind::Message(schema), _) => return fill(element, schema, rng),
        (FieldKind::Text(room), _) => {
            let text = text(rng, room);
            let end = (0..=room.min(text.len()))
                .rev()
                .find(|end| text.is_char_boundary(*end));
            let end = end.unwrap_or(0);
            return element[..end].copy_from_slice(&text.as_bytes()[..end]);
        }
        (_, name) if name.ends_with("_ns") => values::word(rng) % ((1 << 31) * 1_000_000_000),
        (_, "present" | "do_rectify" | "is_dense" | "is_bigendian") => rng.usize(..2) as u64,
        (_, "dtype") => rng.usize(..6) as u64 + 1,
        _ => values::edge(rng),
    };
    element.copy_from_slice(&number.to_le_bytes()[..element.len()]);
}

/// Checks that a random message comes back, after `fix` made it representable in ROS.
fn comes_back<M: Message + FromCdr<FrameNames: Noise + Debug + PartialEq>>(
    rng: &mut Rng,
    fix: impl Fn(&mut M, &mut Rng),
) {
    let mut message = random::<M>(rng);
    fix(&mut message, rng);
    let frames = M::FrameNames::noise(rng);
    let bytes = message.to_cdr_with(&frames).expect(M::TYPE);
    let (read, read_frames) = M::from_cdr_with(&bytes).expect(M::TYPE);
    assert_eq!(
        bytemuck::bytes_of(&read),
        bytemuck::bytes_of(&message),
        "{}",
        M::TYPE
    );
    assert_eq!(read_frames, frames);
}

/// Checks the same for a message with data, whose size `fix` chooses.
fn framed_comes_back<H: Header>(rng: &mut Rng, fix: impl Fn(&mut H, &mut Rng))
where
    Framed<H>: FromCdr<FrameNames = ()>,
{
    let mut header = random::<H>(rng);
    fix(&mut header, rng);
    let data: Vec<u8> = (0..header.data_bytes()).map(|_| rng.u8(..)).collect();
    let message = Framed::new(header, &data).expect(H::NAME);
    let read = Framed::<H>::from_cdr(&message.to_cdr().expect(H::NAME)).expect(H::NAME);
    assert_eq!(
        bytemuck::bytes_of(read.header()),
        bytemuck::bytes_of(&header),
        "{}",
        H::NAME
    );
    assert_eq!(read.data(), data);
}

/// Returns a random count for the array, and clears the elements behind it.
fn counted<T: bytemuck::Pod, const N: usize>(rng: &mut Rng, elements: &mut [T; N]) -> u32 {
    let count = rng.usize(..N + 1);
    elements[count..].fill(T::zeroed());
    count as u32
}

/// Gives every NaN the same bits, because an array of only NaN is written as an empty array.
fn one_nan(numbers: &mut [f64]) {
    numbers
        .iter_mut()
        .filter(|number| number.is_nan())
        .for_each(|number| *number = f64::NAN);
}

fn geometry_comes_back(rng: &mut Rng) {
    comes_back::<Point3>(rng, |_, _| {});
    comes_back::<Vector3>(rng, |_, _| {});
    comes_back::<Quaternion>(rng, |_, _| {});
    comes_back::<Transform>(rng, |_, _| {});
    comes_back::<Pose2D>(rng, |pose, _| pose.timestamp_ns = 0);
    comes_back::<Pose3D>(rng, |pose, _| pose.timestamp_ns = 0);
    comes_back::<PoseStamped>(rng, |_, _| {});
    comes_back::<PoseWithCovariance>(rng, |_, _| {});
    comes_back::<Twist>(rng, |_, _| {});
    comes_back::<TwistWithCovariance>(rng, |_, _| {});
    comes_back::<Accel>(rng, |_, _| {});
    comes_back::<TransformStamped>(rng, |_, _| {});
    comes_back::<Wrench>(rng, |wrench, _| wrench.timestamp_ns = 0);
    comes_back::<WrenchStamped>(rng, |_, _| {});
    comes_back::<Odometry>(rng, |_, _| {});
    comes_back::<CmdVel>(rng, |command, _| {
        // WHY: converting to a double makes a signalling NaN quiet.
        let CmdVel {
            linear, angular, ..
        } = *command;
        let [linear, angular] = [linear, angular].map(|x| if x.is_nan() { 1.5 } else { x });
        *command = CmdVel {
            timestamp_ns: 0,
            linear,
            angular,
        };
    });
    let message = Twist {
        timestamp_ns: 0,
        ..random(rng)
    };
    let bytes = Unstamped { message }.to_cdr().unwrap();
    let read = Unstamped::<Twist>::from_cdr(&bytes).unwrap().message;
    assert_eq!(bytemuck::bytes_of(&read), bytemuck::bytes_of(&message));
}

fn sensors_come_back(rng: &mut Rng) {
    comes_back::<Imu>(rng, |_, _| {});
    comes_back::<LaserScan>(rng, |scan, rng| scan.count = counted(rng, &mut scan.ranges));
    comes_back::<RangeSensor>(rng, |_, _| {});
    comes_back::<JointState>(rng, |state, rng| {
        state.count = counted(rng, &mut state.name);
        for numbers in [&mut state.position, &mut state.velocity, &mut state.effort] {
            let absent = rng.usize(..3) == 0;
            let joints = &mut numbers[..state.count as usize];
            joints
                .iter_mut()
                .filter(|_| absent)
                .for_each(|number| *number = f64::NAN);
            numbers[state.count as usize..].fill(0.0);
            one_nan(numbers);
        }
    });
    comes_back::<BatteryState>(rng, |battery, rng| {
        battery.cell_count = counted(rng, &mut battery.cell_voltage);
        battery.cell_temperature[battery.cell_count as usize..].fill(0.0);
        for number in &mut battery.cell_temperature {
            *number = if number.is_nan() { f32::NAN } else { *number };
        }
    });
    comes_back::<NavSatFix>(rng, |_, _| {});
    comes_back::<MagneticField>(rng, |_, _| {});
    comes_back::<Temperature>(rng, |_, _| {});
    comes_back::<FluidPressure>(rng, |_, _| {});
    comes_back::<Illuminance>(rng, |_, _| {});
    comes_back::<TimeReference>(rng, |_, _| {});
    comes_back::<RegionOfInterest>(rng, |_, _| {});
    comes_back::<CameraInfo>(rng, |camera, rng| {
        camera.d_count = counted(rng, &mut camera.d)
    });
    comes_back::<PointField>(rng, |_, _| {});
}

fn others_come_back(rng: &mut Rng) {
    comes_back::<MapMetaData>(rng, |_, _| {});
    comes_back::<NavPath>(rng, |path, rng| {
        path.count = counted(rng, &mut path.waypoints);
        path.waypoints[path.count as usize..].fill(Waypoint::default());
        let poses = &mut path.waypoints[..path.count as usize];
        poses
            .iter_mut()
            .for_each(|waypoint| waypoint.speed = f64::NAN);
    });
    comes_back::<Clock>(rng, |clock, _| (clock.timestamp_ns, clock.rate) = (0, 1.0));
    comes_back::<DiagnosticValue>(rng, |_, _| {});
    comes_back::<DiagnosticStatus>(rng, |status, rng| {
        status.timestamp_ns = 0;
        status.count = counted(rng, &mut status.values);
    });
    framed_comes_back::<ImageHeader>(rng, |image, rng| {
        (image.width, image.height) = (rng.usize(..20) as u32, rng.usize(..20) as u32);
        image.step = image.width * 24 + rng.usize(..9) as u32;
    });
    framed_comes_back::<CompressedImageHeader>(rng, |image, rng| {
        image.bytes = rng.usize(..500) as u64;
    });
    framed_comes_back::<LidarScanHeader>(rng, |scan, rng| {
        scan.count = rng.usize(1..2001) as u32;
        scan.has_intensities = rng.usize(..2) as u8;
    });
    joints_come_back(rng);
    framed_comes_back::<OccupancyGridHeader>(rng, |grid, rng| {
        (grid.info.width, grid.info.height) = (rng.usize(..20) as u32, rng.usize(..20) as u32);
    });
    framed_comes_back::<PointCloudHeader>(rng, |cloud, rng| {
        cloud.field_count = counted(rng, &mut cloud.fields);
        cloud.point_step = 0;
        for field in &mut cloud.fields[..cloud.field_count as usize] {
            *field = random(rng);
            field.dtype = [1, 2, 3, 4, 5, 6, 11, 12][rng.usize(..8)];
            let size = DType::from_code(field.dtype).unwrap().size() as u32;
            field.name = horus_core::message::Text::literal("x");
            (field.offset, field.count) = (cloud.point_step, 1 + rng.usize(..3) as u32);
            cloud.point_step += size * field.count;
        }
        (cloud.width, cloud.height) = (rng.usize(..10) as u32, rng.usize(..5) as u32);
        cloud.row_step = cloud.width * cloud.point_step + rng.usize(..9) as u32;
    });
}

/// Checks random joints. WHY not as the others: their data are no arbitrary bytes, because names
/// are UTF-8, and an array of only NaN is written as an empty array.
fn joints_come_back(rng: &mut Rng) {
    let mut joints: Vec<Joint> = (0..rng.usize(..50)).map(|_| random(rng)).collect();
    let columns: [fn(&mut Joint) -> &mut f64; 3] =
        [|j| &mut j.position, |j| &mut j.velocity, |j| &mut j.effort];
    for column in columns {
        let absent = rng.usize(..3) == 0;
        let numbers = joints.iter_mut().map(column);
        for number in numbers {
            *number = if absent || number.is_nan() {
                f64::NAN
            } else {
                *number
            };
        }
    }
    let state = JointStateArray::from_joints(random(rng), &joints).unwrap();
    let read = JointStateArray::from_cdr(&state.to_cdr().unwrap()).unwrap();
    assert_eq!(
        bytemuck::bytes_of(read.header()),
        bytemuck::bytes_of(state.header())
    );
    assert_eq!(read.data(), state.data());
}

#[test]
fn random_messages_come_back() {
    let cases = rounds(300, 30_000);
    for seed in seeds(cases) {
        let _case = Case(seed);
        let rng = &mut Rng::with_seed(seed);
        geometry_comes_back(rng);
        sensors_come_back(rng);
        others_come_back(rng);
    }
    println!("RESULT cdr_random: {cases} random messages of each type came back");
}

thread_local! {
    /// The largest heap beyond the length of the input that reading took on this thread.
    static HEAP_MAX: Cell<usize> = const { Cell::new(0) };
}

/// Reads bytes, checks that the message can be written and read again, and returns true if it was
/// read.
fn probe<M: FromCdr + 'static>(bytes: &[u8]) -> bool {
    let (read, heap) = peak(|| M::from_cdr_with(bytes));
    let beyond = heap.saturating_sub(bytes.len() * heap_per_byte::<M>());
    HEAP_MAX.set(HEAP_MAX.get().max(beyond));
    assert!(
        heap <= bytes.len() * heap_per_byte::<M>() + ERROR_BYTES,
        "{}: {heap} for {}",
        M::TYPE,
        bytes.len()
    );
    let Ok((message, frames)) = read else {
        return false;
    };
    let again = message.to_cdr_with(&frames).expect(M::TYPE);
    let (message, frames) = M::from_cdr_with(&again).expect(M::TYPE);
    assert_eq!(
        message.to_cdr_with(&frames).as_ref(),
        Ok(&again),
        "{}",
        M::TYPE
    );
    true
}

/// Returns the most heap for a byte of the input: a name of four bytes becomes a whole `Joint`.
fn heap_per_byte<M: 'static>() -> usize {
    let is_joints = TypeId::of::<M>() == TypeId::of::<JointStateArray>();
    if is_joints { size_of::<Joint>() / 4 } else { 1 }
}

/// The largest heap of an error, in bytes.
const ERROR_BYTES: usize = 256;

/// A message in both byte orders, and its reader.
struct Target {
    golden: [Vec<u8>; 2],
    probe: fn(&[u8]) -> bool,
}

#[derive(Default)]
struct Targets(Vec<Target>);

impl Visit for Targets {
    fn message<M>(&mut self, file: &'static str, _: M, _: M::FrameNames)
    where
        M: FromCdr<FrameNames: PartialEq + Debug> + PartialEq + Debug + 'static,
    {
        self.0.push(Target {
            golden: golden(file),
            probe: probe::<M>,
        });
    }
}

fn targets() -> Vec<Target> {
    let mut targets = Targets::default();
    visit(&mut targets);
    targets.0.push(Target {
        golden: golden("Path"),
        probe: probe::<NavPath>,
    });
    targets.0
}

/// Returns a part of one golden message, changed in a few places, or random bytes.
fn mutated(targets: &[Target], own: usize, rng: &mut Rng) -> Vec<u8> {
    let mut bytes = targets[own].golden[rng.usize(..2)].clone();
    if rng.usize(..8) == 0 {
        bytes = [
            &[0, rng.usize(..2) as u8, 0, 0][..],
            &values::bytes(rng, 400),
        ]
        .concat();
    }
    for _ in 0..rng.usize(..5) {
        let at = rng.usize(..bytes.len().max(1));
        match rng.usize(..6) {
            0 | 1 => bytes
                .get_mut(at)
                .into_iter()
                .for_each(|byte| *byte = rng.u8(..)),
            2 => {
                let word = (values::edge(rng) as u32).to_le_bytes();
                bytes
                    .iter_mut()
                    .skip(at & !3)
                    .zip(word)
                    .for_each(|(byte, new)| *byte = new);
            }
            3 => bytes.truncate(at),
            4 => drop(bytes.splice(at..at, values::bytes(rng, 20))),
            _ => {
                let other = &targets[rng.usize(..targets.len())].golden[rng.usize(..2)];
                bytes.truncate(at);
                bytes.extend(&other[rng.usize(..other.len())..]);
            }
        }
    }
    bytes
}

#[test]
fn any_bytes_are_an_error_or_a_message() {
    let targets = targets();
    let inputs = rounds(50_000, 1_000_000);
    let mut read = 0_u64;
    let mut tried = 0_u64;
    let all = rounds(0, 1) == 1;
    for seed in seeds(inputs) {
        let _case = Case(seed);
        let rng = &mut Rng::with_seed(seed);
        let own = rng.usize(..targets.len());
        let bytes = mutated(&targets, own, rng);
        let other = rng.usize(..targets.len());
        for (index, target) in targets.iter().enumerate() {
            if all || index == own || index == other {
                tried += 1;
                read += u64::from((target.probe)(&bytes));
            }
        }
    }
    let heap = HEAP_MAX.get();
    println!(
        "RESULT cdr_fuzz: {inputs} inputs, {tried} decodes, {read} of them messages, heap at most \
         the input's length and {heap} bytes"
    );
}

#[test]
fn every_truncated_message_is_an_error() {
    for target in targets() {
        for bytes in &target.golden {
            assert!((target.probe)(bytes));
            for end in 0..bytes.len() {
                assert!(
                    !(target.probe)(&bytes[..end]),
                    "{end} bytes of {}",
                    bytes.len()
                );
            }
        }
    }
}

struct WriteInPlace;

impl Visit for WriteInPlace {
    fn message<M>(&mut self, file: &'static str, message: M, frames: M::FrameNames)
    where
        M: FromCdr<FrameNames: PartialEq + Debug> + PartialEq + Debug + 'static,
    {
        let [little, _] = golden(file);
        let mut slot = vec![0; little.len()];
        let (written, heap) = peak(|| message.encode_cdr(&frames, &mut slot));
        assert_eq!((written, heap), (Ok(little.len()), 0), "{file}");
        assert_eq!(slot, little, "{file}");
    }
}

#[test]
fn writing_into_a_slot_allocates_nothing() {
    visit(&mut WriteInPlace);
}

/// Tests counts and lengths that exceed any memory.
#[test]
fn false_lengths_allocate_nothing() {
    for target in targets() {
        for bytes in &target.golden {
            for at in (4..bytes.len() - 4).step_by(4) {
                for claim in [
                    [0xff; 4],
                    [0x7f, 0xff, 0xff, 0xff],
                    [0xff, 0xff, 0xff, 0x7f],
                ] {
                    let mut bytes = bytes.clone();
                    bytes[at..at + 4].copy_from_slice(&claim);
                    (target.probe)(&bytes);
                }
            }
        }
    }
}
