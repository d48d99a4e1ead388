//! Measured states of any number of joints.

use super::{Framed, Header, HeaderError, TooLarge, ViewError};
use crate::message::{
    FrameId, JOINTS_MAX, JointState, Primitive, Tail, Text, Zeroable, timestamp_now_ns,
};

crate::message! {
    /// Measured state of one joint. It has no timestamp: it is for use in a [`JointStateArray`].
    ///
    /// The units are those of a revolute joint. For a prismatic joint, radians become metres and
    /// newton-metres become newtons. NaN marks a value that is not measured. Its size is one cache
    /// line.
    pub struct Joint {
        /// Name of the joint, such as `left_wrist_roll`: text.
        pub name: Text<40>,
        /// Position: radians.
        pub position: f64,
        /// Velocity: radians per second.
        pub velocity: f64,
        /// Torque: N·m.
        pub effort: f64,
    }
}
layout! { Joint = 64 { name: 0, position: 40, velocity: 48, effort: 56 } }

impl Joint {
    /// A joint without a name. Its values are marked as not measured.
    pub(crate) const UNMEASURED: Self = Self {
        name: Text::EMPTY,
        position: f64::NAN,
        velocity: f64::NAN,
        effort: f64::NAN,
    };

    /// Returns the joint called `name` at this position, in radians. Velocity and effort are marked
    /// as not measured.
    #[must_use]
    pub const fn new(name: Text<40>, position: f64) -> Self {
        Self {
            name,
            position,
            ..Self::UNMEASURED
        }
    }
}

impl Default for Joint {
    /// Returns a joint without a name, with the position, velocity and effort 0.
    fn default() -> Self {
        Self::zeroed()
    }
}

crate::message! {
    /// The header of a [`JointStateArray`], after `sensor_msgs/JointState`: a [`Joint`] for each
    /// joint.
    #[derive(Default)]
    pub struct JointStateArrayHeader {
        /// Time of the measurement, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Frame of the state, usually empty: text.
        pub frame_id: FrameId,
        /// Number of joints that follow: count.
        pub count: u32,
        /// Stride from one joint to the next, which is the size of a `Joint`: bytes.
        pub joint_bytes: u32,
        /// Reserved, 0: no unit.
        pub _reserved: [u8; 16],
    }
}
layout! {
    JointStateArrayHeader = 64 {
        timestamp_ns: 0, frame_id: 8, count: 40, joint_bytes: 44, _reserved: 48,
    }
}

/// Measured state of any number of joints, like `sensor_msgs/JointState`.
///
/// The joints follow the header as bytes, because a schema text allows only numbers there. They are
/// whole [`Joint`]s, and [`joints`](Framed::joints) returns them as such. [`JointState`] has a
/// fixed size, for at most 16 joints.
///
/// ```
/// use horus_core::message::{Joint, JointStateArray, JointStateArrayHeader, Text};
///
/// let names = (0..29).map(|index| Text::format(format_args!("joint_{index}")));
/// let joints: Vec<_> = names.map(|name| Joint::new(name, 0.5)).collect();
/// let state = JointStateArray::from_joints(JointStateArrayHeader::new(0), &joints)?;
/// assert_eq!((state.count, state.joints()?[28].position), (29, 0.5));
/// assert_eq!(state.index_of("joint_7")?, Some(7));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type JointStateArray<D = super::Buffer> = Framed<JointStateArrayHeader, D>;

impl JointStateArrayHeader {
    /// Returns the header for `count` joints, stamped with the current time.
    #[must_use]
    pub fn new(count: u32) -> Self {
        Self {
            timestamp_ns: timestamp_now_ns(),
            count,
            joint_bytes: size_of::<Joint>() as u32,
            ..Self::default()
        }
    }
}

impl Header for JointStateArrayHeader {
    const NAME: &str = "JointStateArray";
    const TRAILING_DATA: Tail = Tail {
        name: "joints",
        primitive: Primitive::U8,
    };
    /// Initial capacity of a slot: a message with 255 joints. Slots grow when a publisher sends a
    /// longer message.
    const MAX_MESSAGE_BYTES: u64 = 16 * 1024;

    fn data_bytes(&self) -> u64 {
        u64::from(self.count) * u64::from(self.joint_bytes)
    }

    fn validate(&self) -> Result<(), String> {
        let wanted = size_of::<Joint>();
        match self.joint_bytes as usize {
            found if found == wanted || self.count == 0 => Ok(()),
            found => Err(format!(
                "its joints are {found} bytes apart, and they have {wanted}"
            )),
        }
    }

    fn fill_computed_fields(&mut self) {
        self.joint_bytes = size_of::<Joint>() as u32;
    }
}

impl JointStateArray {
    /// Makes a message with these joints. Sets the header's `count` to their number.
    ///
    /// # Errors
    ///
    /// Returns [`HeaderError`] if the header does not describe such joints.
    pub fn from_joints(
        mut header: JointStateArrayHeader,
        joints: &[Joint],
    ) -> Result<Self, HeaderError> {
        header.count = joints.len().try_into().unwrap_or(u32::MAX);
        header.fill_computed_fields();
        Self::new(header, bytemuck::cast_slice(joints))
    }
}

impl<D: AsRef<[u8]>> Framed<JointStateArrayHeader, D> {
    /// Returns the joints in the order in which the publisher wrote them.
    ///
    /// # Errors
    ///
    /// Returns [`ViewError`] if the data cannot be viewed as joints.
    pub fn joints(&self) -> Result<&[Joint], ViewError> {
        self.data_as()
    }

    /// Returns the index of the joint called `name`; `None` if there is no such joint.
    ///
    /// # Errors
    ///
    /// The errors of [`joints`](Framed::joints).
    pub fn index_of(&self, name: &str) -> Result<Option<usize>, ViewError> {
        let joints = self.joints()?;
        Ok(joints.iter().position(|joint| joint.name == *name))
    }
}

impl<D: AsRef<[u8]> + AsMut<[u8]>> Framed<JointStateArrayHeader, D> {
    /// Returns the joints for writing.
    ///
    /// # Errors
    ///
    /// The errors of [`joints`](Framed::joints).
    pub fn joints_mut(&mut self) -> Result<&mut [Joint], ViewError> {
        self.data_as_mut()
    }
}

impl From<&JointState> for JointStateArray {
    /// Returns a message with the joints of `state` that are in use. The name of its frame is
    /// empty.
    fn from(state: &JointState) -> Self {
        let joint = |index: usize| Joint {
            name: Text::truncated(state.name[index].as_str()),
            position: state.position[index],
            velocity: state.velocity[index],
            effort: state.effort[index],
        };
        let joints: Vec<_> = (0..state.joints()).map(joint).collect();
        let header = JointStateArrayHeader {
            timestamp_ns: state.timestamp_ns,
            ..JointStateArrayHeader::default()
        };
        Self::from_joints(header, &joints).expect("a message has room for 16 joints")
    }
}

impl<D: AsRef<[u8]>> TryFrom<&Framed<JointStateArrayHeader, D>> for JointState {
    type Error = TooLarge;

    /// Converts the state, except for the name of its frame, which a [`JointState`] does not have.
    fn try_from(state: &Framed<JointStateArrayHeader, D>) -> Result<Self, TooLarge> {
        let found = state.count as usize;
        if found > JOINTS_MAX {
            return Err(TooLarge::Elements {
                message: "JointState",
                of: "joints",
                found,
                limit: JOINTS_MAX,
            });
        }
        let mut fixed = Self {
            timestamp_ns: state.timestamp_ns,
            count: state.count,
            ..Self::zeroed()
        };
        let size = size_of::<Joint>();
        for (index, bytes) in state.data().chunks_exact(size).take(found).enumerate() {
            // WHY: the data may lie anywhere.
            let joint: Joint = bytemuck::pod_read_unaligned(bytes);
            let name = joint.name.as_str();
            fixed.name[index] = Text::new(name).map_err(|error| TooLarge::Name {
                message: "JointState",
                name: name.to_owned(),
                limit: error.bytes_max,
            })?;
            fixed.position[index] = joint.position;
            fixed.velocity[index] = joint.velocity;
            fixed.effort[index] = joint.effort;
        }
        Ok(fixed)
    }
}
