//! Rotations and transforms agree with matrices, and invalid quaternions are errors.

#![cfg(feature = "glam")]

use horus_testing as _;

mod noise;

use std::f64::consts::{FRAC_PI_2, PI};

use fastrand::Rng;
use glam::{DAffine3, DQuat, DVec3};
use horus_core::message::{
    Odometry, Point3, Pose2D, Pose3D, Quaternion, Text, Transform, TransformError,
    TransformStamped, Vector3,
};
use noise::{Case, result, rounds, seeds};

type Matrix = [[f64; 3]; 3];

/// The largest accepted difference between equal results of numbers about 10.
const NEAR: f64 = 1e-12;

fn between(rng: &mut Rng, low: f64, high: f64) -> f64 {
    low + (high - low) * (rng.usize(..1 << 53) as f64 / (1_u64 << 53) as f64)
}

fn vector(rng: &mut Rng) -> [f64; 3] {
    std::array::from_fn(|_| between(rng, -10.0, 10.0))
}

/// Returns an evenly distributed unit quaternion: a random point in a ball of four dimensions,
/// normalised.
fn unit(rng: &mut Rng) -> [f64; 4] {
    loop {
        let parts: [f64; 4] = std::array::from_fn(|_| between(rng, -1.0, 1.0));
        let length = parts.iter().map(|part| part * part).sum::<f64>().sqrt();
        if (0.1..=1.0).contains(&length) {
            return parts.map(|part| part / length);
        }
    }
}

fn transform(rng: &mut Rng) -> Transform {
    Transform::new(vector(rng), unit(rng))
}

/// Returns the rotation matrix of a unit quaternion, written out.
fn matrix([x, y, z, w]: [f64; 4]) -> Matrix {
    [
        [
            1.0 - 2.0 * (y * y + z * z),
            2.0 * (x * y - w * z),
            2.0 * (x * z + w * y),
        ],
        [
            2.0 * (x * y + w * z),
            1.0 - 2.0 * (x * x + z * z),
            2.0 * (y * z - w * x),
        ],
        [
            2.0 * (x * z - w * y),
            2.0 * (y * z + w * x),
            1.0 - 2.0 * (x * x + y * y),
        ],
    ]
}

fn times(a: Matrix, b: Matrix) -> Matrix {
    std::array::from_fn(|row| {
        std::array::from_fn(|column| (0..3).map(|k| a[row][k] * b[k][column]).sum())
    })
}

fn of(a: Matrix, v: [f64; 3]) -> [f64; 3] {
    a.map(|row| row.iter().zip(v).map(|(a, v)| a * v).sum())
}

fn plus(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|axis| a[axis] + b[axis])
}

#[track_caller]
fn near<const N: usize>(a: [f64; N], b: [f64; N]) {
    let apart = a
        .iter()
        .zip(b)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f64::max);
    assert!(apart < NEAR * 100.0, "{a:?} and {b:?} are {apart} apart");
}

#[track_caller]
fn near_matrix(a: Matrix, b: Matrix) {
    a.into_iter().zip(b).for_each(|(a, b)| near(a, b));
}

/// Returns the product of the usual rotation matrices about x, y and z.
fn about(roll: f64, pitch: f64, yaw: f64) -> Matrix {
    let ((sr, cr), (sp, cp), (sy, cy)) = (roll.sin_cos(), pitch.sin_cos(), yaw.sin_cos());
    let x = [[1.0, 0.0, 0.0], [0.0, cr, -sr], [0.0, sr, cr]];
    let y = [[cp, 0.0, sp], [0.0, 1.0, 0.0], [-sp, 0.0, cp]];
    let z = [[cy, -sy, 0.0], [sy, cy, 0.0], [0.0, 0.0, 1.0]];
    times(z, times(y, x))
}

fn each(mut law: impl FnMut(&mut Rng)) {
    for seed in seeds(rounds(3_000, 300_000)) {
        let _case = Case(seed);
        law(&mut Rng::with_seed(seed));
    }
}

#[test]
fn transforms_agree_with_matrices() {
    each(|rng| {
        let outer = transform(rng);
        let inner = transform(rng);
        let point = vector(rng);
        let a = matrix(outer.rotation);
        let b = matrix(inner.rotation);
        let by_matrix = plus(of(a, point), outer.translation);
        near(outer.apply(point).unwrap(), by_matrix);
        near(
            Quaternion::from(outer.rotation).rotate(point).unwrap(),
            of(a, point),
        );

        let both = outer.compose(&inner).unwrap();
        near_matrix(matrix(both.rotation), times(a, b));
        near(
            both.translation,
            plus(of(a, inner.translation), outer.translation),
        );
        near(
            both.apply(point).unwrap(),
            outer.apply(inner.apply(point).unwrap()).unwrap(),
        );
    });
    result("transform_cases", seeds(rounds(3_000, 300_000)).count());
}

#[test]
fn a_transform_and_its_inverse_change_nothing() {
    each(|rng| {
        let there = transform(rng);
        let point = vector(rng);
        let back = there.inverse().unwrap();
        for nothing in [there.compose(&back).unwrap(), back.compose(&there).unwrap()] {
            near(nothing.translation, [0.0; 3]);
            near_matrix(matrix(nothing.rotation), matrix([0.0, 0.0, 0.0, 1.0]));
        }
        near(back.apply(there.apply(point).unwrap()).unwrap(), point);
    });
}

#[test]
fn composing_is_associative() {
    each(|rng| {
        let a = transform(rng);
        let b = transform(rng);
        let c = transform(rng);
        let left = a.compose(&b).unwrap().compose(&c).unwrap();
        let right = a.compose(&b.compose(&c).unwrap()).unwrap();
        near(left.translation, right.translation);
        near_matrix(matrix(left.rotation), matrix(right.rotation));
    });
}

#[test]
fn a_long_chain_keeps_its_length() {
    let mut rng = Rng::with_seed(1);
    let mut chain = Transform::IDENTITY;
    for _ in 0..rounds(100_000, 10_000_000) {
        chain = chain
            .compose(&Transform::new([0.0; 3], unit(&mut rng)))
            .unwrap();
    }
    let length: f64 = chain.rotation.iter().map(|part| part * part).sum();
    assert!((length - 1.0).abs() < 1e-14, "{length}");
}

#[test]
fn roll_pitch_and_yaw_are_about_fixed_axes() {
    each(|rng| {
        let [roll, yaw] = [(); 2].map(|()| between(rng, -PI, PI));
        let pitch = between(rng, -1.5, 1.5);
        let turned = Quaternion::from_rpy(roll, pitch, yaw);
        near_matrix(matrix(turned.into()), about(roll, pitch, yaw));
        near(turned.rpy().unwrap(), [roll, pitch, yaw]);
        assert!((turned.yaw().unwrap() - yaw).abs() < NEAR * 100.0);

        let flat = Quaternion::from_yaw(yaw);
        assert!((flat.yaw().unwrap() - yaw).abs() < NEAR);
        near_matrix(matrix(flat.into()), about(0.0, 0.0, yaw));
    });
}

#[test]
fn every_rotation_has_a_roll_pitch_and_yaw() {
    each(|rng| {
        let turned = unit(rng);
        let [roll, pitch, yaw] = Quaternion::from(turned).rpy().unwrap();
        assert!(roll.abs() <= PI && pitch.abs() <= FRAC_PI_2 && yaw.abs() <= PI);
        near_matrix(about(roll, pitch, yaw), matrix(turned));
    });
}

#[test]
fn straight_up_and_down_has_yaw_zero() {
    for pitch in [FRAC_PI_2, -FRAC_PI_2] {
        each(|rng| {
            let roll = between(rng, -PI, PI);
            let yaw = between(rng, -PI, PI);
            // WHY: up to a distance at which roll and yaw are distinguishable again.
            let off = between(rng, -16.0, -4.0);
            let pitch = pitch - pitch.signum() * 10_f64.powf(off);
            for pitch in [pitch, FRAC_PI_2.copysign(pitch)] {
                let turned = Quaternion::from_rpy(roll, pitch, yaw);
                let [roll, pitch, yaw] = turned.rpy().unwrap();
                let again = about(roll, pitch, yaw);
                let once = matrix(turned.into());
                let apart = |row: usize, column: usize| again[row][column] - once[row][column];
                let most = (0..9)
                    .map(|at| apart(at / 3, at % 3).abs())
                    .fold(0.0, f64::max);
                assert!(most < 1e-9, "{most} at {pitch}");
            }
        });
        assert_eq!(Quaternion::from_rpy(0.3, pitch, 0.0).yaw(), Ok(0.0));
    }
}

#[test]
fn quaternions_of_any_length_except_zero_are_rotations() {
    each(|rng| {
        let turned = unit(rng);
        let point = vector(rng);
        let scale = 10_f64.powf(between(rng, -200.0, 200.0));
        let long = Quaternion::from(turned.map(|part| part * scale));
        near(long.normalized().unwrap().into(), turned);
        near(long.rotate(point).unwrap(), of(matrix(turned), point));
    });
    let inf = f64::INFINITY;
    let nan = f64::NAN;
    for none in [
        [0.0; 4],
        [-0.0; 4],
        [inf, 0.0, 0.0, 1.0],
        [0.0, nan, 0.0, 1.0],
        [nan; 4],
    ] {
        let quaternion = Quaternion::from(none);
        let transform = Transform::new([0.0; 3], none);
        assert!(quaternion.normalized().is_err());
        assert!(quaternion.rpy().is_err() && quaternion.yaw().is_err());
        assert!(quaternion.rotate([1.0; 3]).is_err());
        assert!(transform.apply([1.0; 3]).is_err() && transform.inverse().is_err());
        assert!(transform.compose(&Transform::IDENTITY).is_err());
        assert!(Transform::IDENTITY.compose(&transform).is_err());
        assert!(DAffine3::try_from(&transform).is_err());
    }
    let error = Quaternion::from([0.0; 4]).normalized().unwrap_err();
    assert_eq!(
        error.to_string(),
        "quaternion [0.0, 0.0, 0.0, 0.0] is not a rotation, its length must be finite and not 0; \
         write [0.0, 0.0, 0.0, 1.0] for no rotation"
    );
    assert!(
        Quaternion::from([f64::MIN_POSITIVE / 8.0, 0.0, 0.0, 0.0])
            .normalized()
            .is_ok()
    );
    assert!(Quaternion::from([f64::MAX; 4]).normalized().is_ok());
}

#[test]
fn composed_frames_must_match() {
    let stamped = |parent, child, timestamp_ns| TransformStamped {
        timestamp_ns,
        ..TransformStamped::new(
            Text::truncated(parent),
            Text::truncated(child),
            Transform::IDENTITY,
        )
    };
    let odom = stamped("odom", "base", 5);
    let tool = stamped("base", "tool", 3);
    let both = odom.compose(&tool).unwrap();
    assert_eq!(
        (both.frame_id.as_str(), both.child_frame_id.as_str()),
        ("odom", "tool")
    );
    assert_eq!(both.timestamp_ns, 3);
    let back = both.inverse().unwrap();
    assert_eq!(
        (back.frame_id.as_str(), back.child_frame_id.as_str()),
        ("tool", "odom")
    );

    let error = tool.compose(&odom).unwrap_err();
    assert!(matches!(error, TransformError::Frames { .. }));
    assert_eq!(
        error.to_string(),
        "the transform of 'tool' cannot be followed by one in 'odom'"
    );
}

#[test]
fn poses_in_the_plane_are_poses_in_space() {
    each(|rng| {
        let flat = Pose2D::new(
            between(rng, -9.0, 9.0),
            between(rng, -9.0, 9.0),
            between(rng, -PI, PI),
        );
        let pose = Pose3D::from(&flat);
        let again = Pose2D::try_from(&pose).unwrap();
        near(
            [again.x, again.y, again.theta],
            [flat.x, flat.y, flat.theta],
        );
        assert_eq!(again.timestamp_ns, flat.timestamp_ns);
        let [x, y, z] = Transform::from(&pose).apply([1.0, 0.0, 0.0]).unwrap();
        near(
            [x, y, z],
            [flat.x + flat.theta.cos(), flat.y + flat.theta.sin(), 0.0],
        );
    });
    assert_eq!(Transform::from(&Odometry::default()), Transform::IDENTITY);
}

#[test]
fn conversions_keep_every_number() {
    each(|rng| {
        let v = vector(rng);
        let q = unit(rng);
        assert_eq!(DVec3::from(Point3::from(v)), DVec3::from(v));
        assert_eq!(<[f64; 3]>::from(Vector3::from(DVec3::from(v))), v);
        assert_eq!(
            Vector3::from(Point3::from(Vector3::from(v))),
            Vector3::from(v)
        );
        assert_eq!(DQuat::from(Quaternion::from(q)), DQuat::from_array(q));
        assert_eq!(<[f64; 4]>::from(Quaternion::from(DQuat::from_array(q))), q);
        let transform = Transform::new(v, q);
        let affine = DAffine3::try_from(&transform).unwrap();
        near(
            affine.transform_point3(DVec3::ONE).into(),
            transform.apply([1.0; 3]).unwrap(),
        );
    });
}
