//! Computing with points, rotations and transforms.

use super::{Point3, Quaternion, Vector3};

macro_rules! arrays {
    ($($type:ident [$($part:ident),+] $count:literal)+) => {$(
        impl From<[f64; $count]> for $type {
            fn from([$($part),+]: [f64; $count]) -> Self {
                Self { $($part),+ }
            }
        }

        impl From<$type> for [f64; $count] {
            fn from($type { $($part),+ }: $type) -> Self {
                [$($part),+]
            }
        }
    )+};
}

arrays! {
    Point3 [x, y, z] 3
    Vector3 [x, y, z] 3
    Quaternion [x, y, z, w] 4
}

impl From<Point3> for Vector3 {
    /// From the origin to the point.
    fn from(Point3 { x, y, z }: Point3) -> Self {
        Self { x, y, z }
    }
}

impl From<Vector3> for Point3 {
    /// Where the vector ends that begins at the origin.
    fn from(Vector3 { x, y, z }: Vector3) -> Self {
        Self { x, y, z }
    }
}
