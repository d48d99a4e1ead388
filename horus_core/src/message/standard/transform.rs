//! Calculations with rotations and transforms, which use the crate `glam`. They are available with
//! the feature `glam`.
//!
//! Quaternions are normalised first, because rounding or integration may have changed their length.
//! A quaternion of length 0 cannot be normalised. It occurs in messages that were not filled in, so
//! it is an error and not the identity.
//!
//! Every function takes a few dozen floating point operations, allocates nothing, and never panics.

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use glam::{DAffine3, DQuat, DVec3};

use crate::message::{
    FrameId, Point3, Pose2D, Pose3D, Quaternion, Transform, TransformStamped, Vector3,
};

/// If the pitch is closer to ±90° than this number of radians, roll and yaw are considered to turn
/// about the same axis.
const GIMBAL_LOCK_MARGIN: f64 = 1e-10;

/// The quaternion is not a rotation: it is all zeros, infinite, or not a number.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error(
    "quaternion {found:?} is not a rotation, its length must be finite and not 0; write \
     [0.0, 0.0, 0.0, 1.0] for no rotation"
)]
#[non_exhaustive]
pub struct NotARotation {
    /// The invalid quaternion: x, y, z, w.
    pub found: [f64; 4],
}

/// The reason why two transforms cannot be composed.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TransformError {
    /// One of the rotations is invalid.
    #[error(transparent)]
    NotARotation(#[from] NotARotation),
    /// The parent frame of the inner transform is not the child frame of the outer one.
    #[error("the transform of '{outer_child}' cannot be followed by one in '{inner_parent}'")]
    Frames {
        /// The child frame of the outer transform.
        outer_child: FrameId,
        /// The parent frame of the inner transform.
        inner_parent: FrameId,
    },
}

fn checked_rotation(found: [f64; 4]) -> Result<DQuat, NotARotation> {
    let longest = found
        .iter()
        .fold(0.0_f64, |longest, part| longest.max(part.abs()));
    let is_finite = found.iter().all(|part| part.is_finite());
    // WHY: dividing first keeps the squares from overflow and underflow.
    let scaled = DQuat::from_array(found.map(|part| part / longest));
    if longest > 0.0 && is_finite {
        Ok(scaled.normalize())
    } else {
        Err(NotARotation { found })
    }
}

impl Quaternion {
    /// Returns a counter-clockwise rotation about z by `yaw` radians.
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

    /// Returns the rotation about the fixed axis x by `roll`, then about y by `pitch`, then about z
    /// by `yaw`, in radians. This is the same as `setRPY` of tf2 and `rpy` of URDF. It equals the
    /// rotation about the z axis of the body, then its y axis, then its x axis.
    #[must_use]
    pub fn from_rpy(roll: f64, pitch: f64, yaw: f64) -> Self {
        let about = DQuat::from_rotation_z(yaw) * DQuat::from_rotation_y(pitch);
        (about * DQuat::from_rotation_x(roll)).into()
    }

    /// Returns roll, pitch and yaw in radians, such that [`from_rpy`](Self::from_rpy) gives the
    /// same rotation. Roll and yaw are from −π to π, and pitch is from −π/2 to π/2.
    ///
    /// At a pitch of ±π/2, roll and yaw turn about the same axis; then yaw is 0, as in tf2.
    ///
    /// # Errors
    ///
    /// [`NotARotation`] if the length of the quaternion is 0 or not finite.
    pub fn rpy(self) -> Result<[f64; 3], NotARotation> {
        let DQuat { x, y, z, w } = checked_rotation(self.into())?;
        // WHY: products of half angles give the sum and difference of roll and yaw exactly, also
        // close to the gimbal lock. There the matrix elements that contain roll and yaw vanish.
        let up = (x - z).hypot(w + y);
        let down = (x + z).hypot(w - y);
        let difference = (x - z).atan2(w + y);
        let sum = (x + z).atan2(w - y);
        let pitch = 2.0 * up.atan2(down) - FRAC_PI_2;
        Ok(if down < GIMBAL_LOCK_MARGIN {
            [wrap_angle(2.0 * difference), pitch, 0.0]
        } else if up < GIMBAL_LOCK_MARGIN {
            [wrap_angle(2.0 * sum), pitch, 0.0]
        } else {
            [
                wrap_angle(sum + difference),
                pitch,
                wrap_angle(sum - difference),
            ]
        })
    }

    /// Returns the heading of the body's x axis in radians, −π to π; 0 if it points straight up or
    /// down.
    ///
    /// # Errors
    ///
    /// [`NotARotation`] if the length of the quaternion is 0 or not finite.
    pub fn yaw(self) -> Result<f64, NotARotation> {
        self.rpy().map(|[_, _, yaw]| yaw)
    }

    /// Returns the same rotation as a quaternion of length 1.
    pub fn normalized(self) -> Result<Self, NotARotation> {
        checked_rotation(self.into()).map(Into::into)
    }

    /// Returns `vector`, rotated by this quaternion.
    pub fn rotate(self, vector: [f64; 3]) -> Result<[f64; 3], NotARotation> {
        Ok((checked_rotation(self.into())? * DVec3::from(vector)).into())
    }
}

/// Converts an angle between −2π and 2π to the equivalent angle between −π and π.
fn wrap_angle(angle: f64) -> f64 {
    if angle > PI {
        angle - TAU
    } else if angle < -PI {
        angle + TAU
    } else {
        angle
    }
}

impl Transform {
    /// Returns the composition of two transforms, which applies `inner` first and this transform
    /// second.
    ///
    /// If this is the pose of a child in its parent, and `inner` the pose of a grandchild in the
    /// child, the result is the pose of the grandchild in the parent.
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
    /// [`NotARotation`] if the length of one of the quaternions is 0 or not finite.
    pub fn compose(&self, inner: &Self) -> Result<Self, NotARotation> {
        let outer_turn = checked_rotation(self.rotation)?;
        let inner_turn = checked_rotation(inner.rotation)?;
        let moved = outer_turn * DVec3::from(inner.translation) + DVec3::from(self.translation);
        // WHY: without normalisation, long chains would drift away from unit length.
        let turned = (outer_turn * inner_turn).normalize();
        Ok(Self::new(moved.into(), turned.into()))
    }

    /// Returns the inverse transform: the pose of the parent in its child.
    ///
    /// # Errors
    ///
    /// [`NotARotation`] if the length of the quaternion is 0 or not finite.
    pub fn inverse(&self) -> Result<Self, NotARotation> {
        let back = checked_rotation(self.rotation)?.conjugate();
        let origin = back * -DVec3::from(self.translation);
        Ok(Self::new(origin.into(), back.into()))
    }

    /// Converts a point, in metres, from the child's frame to the parent's frame.
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
    /// [`NotARotation`] if the length of the quaternion is 0 or not finite.
    pub fn apply(&self, point: [f64; 3]) -> Result<[f64; 3], NotARotation> {
        let turned = checked_rotation(self.rotation)? * DVec3::from(point);
        Ok((turned + DVec3::from(self.translation)).into())
    }
}

impl TransformStamped {
    /// Returns the composition of two transforms, which applies `inner` first, like
    /// [`Transform::compose`]. The time of the result is the older of the two times.
    ///
    /// # Errors
    ///
    /// [`TransformError`] if the parent of `inner` is not the child of this transform, or if a
    /// quaternion is not a rotation.
    pub fn compose(&self, inner: &Self) -> Result<Self, TransformError> {
        let outer_child = self.child_frame_id;
        let inner_parent = inner.frame_id;
        if outer_child.as_str() != inner_parent.as_str() {
            return Err(TransformError::Frames {
                outer_child,
                inner_parent,
            });
        }
        let Transform {
            translation,
            rotation,
        } = self.transform().compose(&inner.transform())?;
        Ok(Self {
            timestamp_ns: self.timestamp_ns.min(inner.timestamp_ns),
            frame_id: self.frame_id,
            child_frame_id: inner.child_frame_id,
            translation,
            rotation,
        })
    }

    /// Returns the inverse transform, at the same time: the pose of the parent in its child.
    ///
    /// # Errors
    ///
    /// [`NotARotation`] if the length of the quaternion is 0 or not finite.
    pub fn inverse(&self) -> Result<Self, NotARotation> {
        let Transform {
            translation,
            rotation,
        } = self.transform().inverse()?;
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

    /// Projects the pose to the plane: drops height, roll and pitch, and keeps the time.
    fn try_from(pose: &Pose3D) -> Result<Self, NotARotation> {
        let [x, y, _] = pose.position;
        let theta = Quaternion::from(pose.orientation).yaw()?;
        Ok(Self {
            timestamp_ns: pose.timestamp_ns,
            x,
            y,
            theta,
        })
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
    /// Copies the numbers without normalising them.
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
        let turn = checked_rotation(transform.rotation)?;
        Ok(Self::from_rotation_translation(
            turn,
            DVec3::from(transform.translation),
        ))
    }
}
