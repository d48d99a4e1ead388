//! Computing with rotations and transforms, by `glam`; only with the feature of that name.
//!
//! Quaternions are taken by their direction: one that rounding or integration made a little longer
//! or shorter is normalised first. One of length 0 has no direction. It is what a message holds
//! that nobody filled in, so it is an error rather than the identity.
//!
//! All of these are a few dozen floating point operations, allocate nothing, and never panic.

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use glam::{DAffine3, DQuat, DVec3};

use crate::message::{
    FrameId, Point3, Pose2D, Pose3D, Quaternion, Transform, TransformStamped, Vector3,
};

/// Roll and yaw turn about the same axis if pitch is nearer to ±90° than this, in radians.
const GIMBAL_LOCK: f64 = 1e-10;

/// A quaternion without a direction: all zeros, infinite, or not a number.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error(
    "quaternion {found:?} is not a rotation, its length has to be finite and not 0; write \
     [0.0, 0.0, 0.0, 1.0] for none"
)]
#[non_exhaustive]
pub struct NotARotation {
    /// x, y, z, w.
    pub found: [f64; 4],
}

/// Why two transforms are not one after the other.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TransformError {
    /// One of the rotations is none.
    #[error(transparent)]
    NotARotation(#[from] NotARotation),
    /// The inner one is not given in the frame that the outer one is of.
    #[error("the transform of '{outer_child}' cannot be followed by one in '{inner_parent}'")]
    Frames {
        /// The child of the outer transform.
        outer_child: FrameId,
        /// The parent of the inner transform.
        inner_parent: FrameId,
    },
}

fn rotation(found: [f64; 4]) -> Result<DQuat, NotARotation> {
    let longest = found.iter().fold(0.0_f64, |longest, part| longest.max(part.abs()));
    let is_finite = found.iter().all(|part| part.is_finite());
    // WHY: dividing first keeps the squares from overflowing and from vanishing.
    let scaled = DQuat::from_array(found.map(|part| part / longest));
    if longest > 0.0 && is_finite { Ok(scaled.normalize()) } else { Err(NotARotation { found }) }
}

impl Quaternion {
    /// A turn about z, counter-clockwise: `yaw` in radians.
    ///
    /// ```
    /// use horus_core::message::Quaternion;
    ///
    /// let left = Quaternion::from_yaw(std::f64::consts::FRAC_PI_2);
    /// let [x, y, z] = left.rotate([1.0, 0.0, 0.0])?;
    /// assert!(x.abs() < 1e-15 && (y - 1.0).abs() < 1e-15 && z == 0.0);
    /// # Ok::<(), horus_core::message::NotARotation>(())
    /// ```
    #[must_use]
    pub fn from_yaw(yaw: f64) -> Self {
        DQuat::from_rotation_z(yaw).into()
    }

    /// Turns about the fixed axes x, then y, then z, in radians: `setRPY` of tf2, and what URDF
    /// calls `rpy`. The same as about its own z, then y, then x.
    #[must_use]
    pub fn from_rpy(roll: f64, pitch: f64, yaw: f64) -> Self {
        let about = DQuat::from_rotation_z(yaw) * DQuat::from_rotation_y(pitch);
        (about * DQuat::from_rotation_x(roll)).into()
    }

    /// Roll, pitch and yaw in radians, for [`from_rpy`](Self::from_rpy): roll and yaw from −π to
    /// π, pitch from −π/2 to π/2.
    ///
    /// Where pitch is ±π/2, roll and yaw turn about the same axis; then yaw is 0, as in tf2.
    ///
    /// # Errors
    ///
    /// The length is 0 or not finite.
    pub fn rpy(self) -> Result<[f64; 3], NotARotation> {
        let DQuat { x, y, z, w } = rotation(self.into())?;
        // WHY: products of half angles give sum and difference of roll and yaw, each exactly, also
        // close to the lock, where the elements of the matrix that hold roll and yaw vanish.
        let (up, down) = ((x - z).hypot(w + y), (x + z).hypot(w - y));
        let (difference, sum) = ((x - z).atan2(w + y), (x + z).atan2(w - y));
        let pitch = 2.0 * up.atan2(down) - FRAC_PI_2;
        Ok(if down < GIMBAL_LOCK {
            [wrapped(2.0 * difference), pitch, 0.0]
        } else if up < GIMBAL_LOCK {
            [wrapped(2.0 * sum), pitch, 0.0]
        } else {
            [wrapped(sum + difference), pitch, wrapped(sum - difference)]
        })
    }

    /// The heading of the body's x axis in radians, −π to π; 0 if that points straight up or down.
    ///
    /// # Errors
    ///
    /// The length is 0 or not finite.
    pub fn yaw(self) -> Result<f64, NotARotation> {
        self.rpy().map(|[_, _, yaw]| yaw)
    }

    /// The same rotation with length 1.
    ///
    /// # Errors
    ///
    /// The length is 0 or not finite.
    pub fn normalized(self) -> Result<Self, NotARotation> {
        rotation(self.into()).map(Into::into)
    }

    /// `vector`, turned.
    ///
    /// # Errors
    ///
    /// The length is 0 or not finite.
    pub fn rotate(self, vector: [f64; 3]) -> Result<[f64; 3], NotARotation> {
        Ok((rotation(self.into())? * DVec3::from(vector)).into())
    }
}

/// An angle between −2π and 2π as one between −π and π.
fn wrapped(angle: f64) -> f64 {
    if angle > PI {
        angle - TAU
    } else if angle < -PI {
        angle + TAU
    } else {
        angle
    }
}

impl Transform {
    /// First `inner`, then this one: where a grandchild is, of a child in its parent and a
    /// grandchild in the child.
    ///
    /// ```
    /// use horus_core::message::{Quaternion, Transform};
    ///
    /// let map_from_base = Transform::new([2.0, 0.0, 0.0], Quaternion::IDENTITY.into());
    /// let base_from_tool = Transform::new([0.0, 0.0, 1.0], Quaternion::from_yaw(0.5).into());
    /// let map_from_tool = map_from_base.compose(&base_from_tool)?;
    /// assert_eq!(map_from_tool.translation, [2.0, 0.0, 1.0]);
    /// # Ok::<(), horus_core::message::NotARotation>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A quaternion's length is 0 or not finite.
    pub fn compose(&self, inner: &Self) -> Result<Self, NotARotation> {
        let (outer_turn, inner_turn) = (rotation(self.rotation)?, rotation(inner.rotation)?);
        let moved = outer_turn * DVec3::from(inner.translation) + DVec3::from(self.translation);
        // WHY: or long chains drift away from unit length.
        let turned = (outer_turn * inner_turn).normalize();
        Ok(Self::new(moved.into(), turned.into()))
    }

    /// What takes back what this does: where the parent is in its child.
    ///
    /// # Errors
    ///
    /// The quaternion's length is 0 or not finite.
    pub fn inverse(&self) -> Result<Self, NotARotation> {
        let back = rotation(self.rotation)?.conjugate();
        let origin = back * -DVec3::from(self.translation);
        Ok(Self::new(origin.into(), back.into()))
    }

    /// A point of the child's frame, in the parent's; in metres.
    ///
    /// ```
    /// use horus_core::message::{Quaternion, Transform};
    ///
    /// let map_from_base = Transform::new([1.0, 2.0, 0.0], Quaternion::from_yaw(0.0).into());
    /// assert_eq!(map_from_base.apply([0.5, 0.0, 0.0])?, [1.5, 2.0, 0.0]);
    /// assert!(Transform::new([0.0; 3], [0.0; 4]).apply([0.0; 3]).is_err());
    /// # Ok::<(), horus_core::message::NotARotation>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The quaternion's length is 0 or not finite.
    pub fn apply(&self, point: [f64; 3]) -> Result<[f64; 3], NotARotation> {
        let turned = rotation(self.rotation)? * DVec3::from(point);
        Ok((turned + DVec3::from(self.translation)).into())
    }
}

impl TransformStamped {
    /// First `inner`, then this one, as [`Transform::compose`]; as old as the older of both.
    ///
    /// # Errors
    ///
    /// `inner` is not given in the frame that this one is of, or a quaternion is not a rotation.
    pub fn compose(&self, inner: &Self) -> Result<Self, TransformError> {
        let (outer_child, inner_parent) = (self.child_frame_id, inner.frame_id);
        if outer_child.as_str() != inner_parent.as_str() {
            return Err(TransformError::Frames { outer_child, inner_parent });
        }
        let Transform { translation, rotation } = self.transform().compose(&inner.transform())?;
        Ok(Self {
            timestamp_ns: self.timestamp_ns.min(inner.timestamp_ns),
            frame_id: self.frame_id,
            child_frame_id: inner.child_frame_id,
            translation,
            rotation,
        })
    }

    /// Where the parent is in its child, at the same time.
    ///
    /// # Errors
    ///
    /// The quaternion's length is 0 or not finite.
    pub fn inverse(&self) -> Result<Self, NotARotation> {
        let Transform { translation, rotation } = self.transform().inverse()?;
        Ok(Self {
            timestamp_ns: self.timestamp_ns,
            frame_id: self.child_frame_id,
            child_frame_id: self.frame_id,
            translation,
            rotation,
        })
    }
}

impl TryFrom<&Pose3D> for Pose2D {
    type Error = NotARotation;

    /// Seen from above: without height, roll and pitch, with the same time.
    fn try_from(pose: &Pose3D) -> Result<Self, NotARotation> {
        let [x, y, _] = pose.position;
        let theta = Quaternion::from(pose.orientation).yaw()?;
        Ok(Self { timestamp_ns: pose.timestamp_ns, x, y, theta })
    }
}

macro_rules! vectors {
    ($($type:ident)+) => {$(
        impl From<$type> for DVec3 {
            fn from($type { x, y, z }: $type) -> Self {
                Self::new(x, y, z)
            }
        }

        impl From<DVec3> for $type {
            fn from(DVec3 { x, y, z }: DVec3) -> Self {
                Self { x, y, z }
            }
        }
    )+};
}

vectors! { Point3 Vector3 }

impl From<Quaternion> for DQuat {
    /// The same numbers; nothing is normalised.
    fn from(Quaternion { x, y, z, w }: Quaternion) -> Self {
        Self::from_xyzw(x, y, z, w)
    }
}

impl From<DQuat> for Quaternion {
    fn from(DQuat { x, y, z, w }: DQuat) -> Self {
        Self { x, y, z, w }
    }
}

impl TryFrom<&Transform> for DAffine3 {
    type Error = NotARotation;

    fn try_from(transform: &Transform) -> Result<Self, NotARotation> {
        let turn = rotation(transform.rotation)?;
        Ok(Self::from_rotation_translation(turn, DVec3::from(transform.translation)))
    }
}
