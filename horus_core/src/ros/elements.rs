//! Maps messages to the ROS types of `sensor_msgs` whose sequences are the trailing data of a horus
//! message.

use super::wire::{self, RosField};
use super::{CdrError, CdrReader, CdrWriteError, CdrWriter, FromCdr, RosMessage};
use crate::message::{Framed, Joint, JointStateArrayHeader, LidarScanHeader, Zeroable};

impl<D: AsRef<[u8]>> RosMessage for Framed<LidarScanHeader, D> {
    const TYPE: &'static str = "sensor_msgs/msg/LaserScan";
    type FrameNames = ();

    fn write_cdr(&self, (): &(), out: &mut CdrWriter<'_>) -> Result<(), CdrWriteError> {
        self.check_length()?;
        let message = self.header();
        ros_message!(@ [write message frames data out]
            Header header;
            float32 angle_min;
            float32 angle_max;
            float32 angle_increment;
            float32 time_increment;
            float32 scan_time;
            float32 range_min;
            float32 range_max;
        );
        let ranges_bytes = message.count as usize * size_of::<f32>();
        let (ranges, intensities) = self.data().split_at(ranges_bytes);
        for numbers in [ranges, intensities] {
            out.count(numbers.len() / size_of::<f32>())?;
            out.bytes(numbers);
        }
        Ok(())
    }
}

impl FromCdr for Framed<LidarScanHeader> {
    fn read_cdr(from: &mut CdrReader<'_>) -> Result<(Self, ()), CdrError> {
        let mut message = LidarScanHeader::zeroed();
        ros_message!(@ [read message frames data from]
            Header header;
            float32 angle_min;
            float32 angle_max;
            float32 angle_increment;
            float32 time_increment;
            float32 scan_time;
            float32 range_min;
            float32 range_max;
        );
        let mut ranges = from.clone();
        let wanted = skip_floats(from)?;
        let at = from.next_length_offset();
        let mut intensities = from.clone();
        let found = skip_floats(from)?;
        if found != 0 && found != wanted {
            return Err(CdrError::LengthMismatch {
                at,
                field: "intensities",
                found,
                wanted,
            });
        }
        message.count = wanted as u32;
        message.has_intensities = u8::from(found != 0);
        let mut scan = Framed::zeroed(message)?;
        read_floats(
            scan.ranges_mut().expect(OWNED_BUFFER_IS_ALIGNED),
            &mut ranges,
        )?;
        read_floats(
            scan.intensities_mut().expect(OWNED_BUFFER_IS_ALIGNED),
            &mut intensities,
        )?;
        Ok((scan, ()))
    }
}

/// The panic message for a misaligned buffer. The panic cannot happen, because this library has
/// allocated the buffer.
const OWNED_BUFFER_IS_ALIGNED: &str = "an owned buffer is aligned";

/// Skips a sequence of `float32` and returns how many elements it has.
fn skip_floats(from: &mut CdrReader<'_>) -> Result<usize, CdrError> {
    let size = size_of::<f32>();
    let count = from.count(size)?;
    from.bytes(count * size)?;
    Ok(count)
}

/// Reads a sequence of `float32` that has at least as many elements as `numbers`.
fn read_floats(numbers: &mut [f32], from: &mut CdrReader<'_>) -> Result<(), CdrError> {
    from.count(size_of::<f32>())?;
    numbers.iter_mut().try_for_each(|number| {
        *number = from.f32()?;
        Ok(())
    })
}

/// The sequences of numbers in a `JointState` of ROS: the name of each, and a function that returns
/// the corresponding field of a [`Joint`].
const JOINT_STATE_SEQUENCES: [(&str, fn(&mut Joint) -> &mut f64); 3] = [
    ("position", |joint| &mut joint.position),
    ("velocity", |joint| &mut joint.velocity),
    ("effort", |joint| &mut joint.effort),
];

impl<D: AsRef<[u8]>> RosMessage for Framed<JointStateArrayHeader, D> {
    const TYPE: &'static str = "sensor_msgs/msg/JointState";
    type FrameNames = ();

    fn write_cdr(&self, (): &(), out: &mut CdrWriter<'_>) -> Result<(), CdrWriteError> {
        self.check_length()?;
        let message = self.header();
        ros_message!(@ [write message frames data out] Header header;);
        let data = self.data();
        out.count(joints_in(data).len())?;
        joints_in(data).try_for_each(|joint| wire::string::write(&joint.name, "name", out))?;
        for (_, number) in JOINT_STATE_SEQUENCES {
            let numbers = || joints_in(data).map(|mut joint| *number(&mut joint));
            let is_measured = !numbers().all(f64::is_nan);
            out.count(if is_measured { numbers().len() } else { 0 })?;
            if is_measured {
                numbers().for_each(|number| out.f64(number));
            }
        }
        Ok(())
    }
}

impl FromCdr for Framed<JointStateArrayHeader> {
    fn read_cdr(from: &mut CdrReader<'_>) -> Result<(Self, ()), CdrError> {
        let mut message = JointStateArrayHeader::new(0);
        ros_message!(@ [read message frames data from] Header header;);
        let mut state = Self::zeroed(message)?;
        // The minimum is the length of an empty string.
        read_joint_sequence(&mut state, "name", 4, from, |joint, from| {
            wire::string::read(&mut joint.name, "name", from)
        })?;
        for (field, number) in JOINT_STATE_SEQUENCES {
            read_joint_sequence(&mut state, field, size_of::<f64>(), from, |joint, from| {
                *number(joint) = from.f64()?;
                Ok(())
            })?;
        }
        Ok((state, ()))
    }
}

/// Returns an iterator over copies of the joints in `data`. WHY copies: the bytes may be
/// misaligned.
fn joints_in(data: &[u8]) -> impl ExactSizeIterator<Item = Joint> {
    data.chunks_exact(size_of::<Joint>())
        .map(bytemuck::pod_read_unaligned)
}

/// Reads one of the parallel sequences of a `JointState`, which is empty or has one element for
/// each joint. If the state has no joints yet, one is added for each element of the sequence.
fn read_joint_sequence(
    state: &mut Framed<JointStateArrayHeader>,
    field: &'static str,
    element_bytes: usize,
    from: &mut CdrReader<'_>,
    read: impl Fn(&mut Joint, &mut CdrReader<'_>) -> Result<(), CdrError>,
) -> Result<(), CdrError> {
    let at = from.next_length_offset();
    let found = from.count(element_bytes)?;
    match (found, state.count as usize) {
        (0, _) => return Ok(()),
        (_, 0) => {
            let mut header = *state.header();
            header.count = found as u32;
            *state = Framed::zeroed(header)?;
            state
                .joints_mut()
                .expect(OWNED_BUFFER_IS_ALIGNED)
                .fill(Joint::UNMEASURED);
        }
        (_, wanted) if wanted == found => {}
        (_, wanted) => {
            return Err(CdrError::LengthMismatch {
                at,
                field,
                found,
                wanted,
            });
        }
    }
    let joints = state.joints_mut().expect(OWNED_BUFFER_IS_ALIGNED);
    joints.iter_mut().try_for_each(|joint| read(joint, from))
}
