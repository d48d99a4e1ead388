//! Headers with a wrong field: names, schemas and sizes that cannot be, and each flipped bit.

use std::fs;

use horus_shm::internals::layout::{SCHEMA_BYTES_MAX, SCHEMA_OFFSET};
use horus_shm::{OpenError, Segment};

use super::Verdict::{Accepted, Damaged, Mismatch, NotATopic, Replaced};
use super::{Verdict, expect_verdict};
use crate::common::prevent_child_starts;
use crate::hostile::{self, FIELDS, Field, Scene};

#[test]
fn a_file_under_another_name_is_damaged() {
    let mut scene = Scene::new();
    let path = scene.path();
    let other = path.with_file_name("other");
    let image = scene.image();
    scene.plant(&image);
    fs::rename(&path, &other).unwrap();
    let name = horus_shm::TopicName::new("other").unwrap();
    match Segment::inspect(&scene.namespace, &name).unwrap_err() {
        OpenError::Damaged {
            field: "topic name",
            found,
            wanted,
            path,
        } => {
            assert_eq!(
                (found.as_str(), wanted.as_str()),
                ("'arm/joint'", "'other'")
            );
            assert_eq!(path, other);
        }
        error => panic!("{error:?}"),
    }
    fs::remove_file(other).unwrap();
    for name in [
        "arm.joint",
        "arm/joint2",
        "arm/join",
        "/arm/joint",
        "",
        "arm\0joint",
    ] {
        let mut image = scene.image();
        image.set("topic_name", 0);
        let (_, offset, _) = hostile::field("topic_name");
        image.bytes[offset..offset + name.len()].copy_from_slice(name.as_bytes());
        image.set("topic_name_bytes", name.len() as u128);
        image.fix_checksum();
        expect_verdict(&mut scene, &image, &[Damaged], name);
    }
}

#[test]
fn names_and_schemas_that_are_no_text_are_damage() {
    let mut scene = Scene::new();
    for name in ["topic_name", "type_name"] {
        let (_, offset, bytes) = hostile::field(name);
        for bad in [
            &[0xff][..],
            &[0xc3],
            &[0xed, 0xa0, 0x80],
            &[0xf4, 0x90, 0x80, 0x80],
        ] {
            let mut image = scene.image();
            image.bytes[offset..offset + bad.len()].copy_from_slice(bad);
            image.set(&format!("{name}_bytes"), bad.len() as u128);
            image.fix_checksum();
            expect_verdict(
                &mut scene,
                &image,
                &[Damaged],
                &format!("{name} of {bad:x?}"),
            );
        }
        for length in [bytes as u32 + 1, u32::MAX] {
            let mut image = scene.image();
            image.set(&format!("{name}_bytes"), length.into());
            image.fix_checksum();
            expect_verdict(
                &mut scene,
                &image,
                &[Damaged],
                &format!("{name} of {length} bytes"),
            );
        }
    }
    let mut image = scene.image();
    image.bytes[SCHEMA_OFFSET] = 0xff;
    expect_verdict(
        &mut scene,
        &image,
        &[Damaged],
        "a schema with a wrong checksum",
    );
    image.fix_checksum();
    expect_verdict(&mut scene, &image, &[Damaged], "a schema of 0xff");
}

#[test]
fn a_wrong_schema_length_is_damage_or_only_a_longer_text() {
    let mut scene = Scene::new();
    let right = scene.image().header().schema_bytes;
    let max = SCHEMA_BYTES_MAX as u32;
    for length in [
        0,
        right - 1,
        right + 1,
        max,
        max + 1,
        1 << 20,
        i32::MAX as u32,
        u32::MAX,
    ] {
        let mut image = scene.image();
        image.set("schema_bytes", length.into());
        expect_verdict(
            &mut scene,
            &image,
            &[Damaged],
            &format!("{length} bytes, old checksum"),
        );
        image.fix_checksum();
        // Only the hash counts, and this crate does not know how it is computed.
        let wanted = if length <= max { Accepted } else { Damaged };
        expect_verdict(&mut scene, &image, &[wanted], &format!("{length} bytes"));
    }
}

#[test]
fn sizes_that_overflow_or_are_out_of_range_are_damage() {
    let mut scene = Scene::new();
    let values = [
        0,
        3,
        1 << 20,
        1 << 31,
        1 << 32,
        (1 << 32) - 1,
        1 << 52,
        1 << 62,
        1 << 63,
    ];
    let values = values
        .into_iter()
        .chain([u64::MAX, u64::MAX - 7, u64::MAX / 2]);
    for name in ["payload_bytes", "file_bytes"] {
        for value in values.clone() {
            // A message can have that many bytes.
            if name == "payload_bytes" && (1..=(64 << 20) - 64).contains(&value) {
                continue;
            }
            let mut image = scene.image();
            image.set(name, value.into());
            image.fix_checksum();
            expect_verdict(&mut scene, &image, &[Damaged], &format!("{name} = {value}"));
        }
    }
    for name in ["payload_align"] {
        for value in [65, 127, 1 << 16, i32::MAX as u32, 1 << 31, u32::MAX] {
            let mut image = scene.image();
            image.set(name, value.into());
            image.fix_checksum();
            expect_verdict(&mut scene, &image, &[Damaged], &format!("{name} = {value}"));
        }
    }
    scene.expect_neighbour("after all");
}

/// Returns the possible verdicts for a flipped bit in a field, if the checksum is corrected.
fn verdicts_of_flip(field: Field) -> &'static [Verdict] {
    match field.0 {
        "magic" => &[NotATopic],
        "layout_version" | "boot_id" | "registry_id" => &[Replaced],
        "schema_hash" => &[Mismatch],
        "payload_bytes" | "payload_align" | "sized" => &[Damaged, Mismatch],
        "created_ns" | "history" | "reserved" | "topic_id" => &[Accepted],
        // Of these, only lane files use the values.
        "generation" | "base_position" | "base_number" | "topic_inode" | "session_id" | "lane" => {
            &[Accepted]
        }
        "stride" | "capacity" => &[Accepted],
        "reliability" | "persists" | "wake_barrier" | "pinnable" => &[Accepted],
        "type_name_bytes" | "type_name" | "schema_bytes" | "topic_name" => &[Damaged, Accepted],
        _ => &[Damaged],
    }
}

/// Opens a file for each flipped bit of the fixed header.
fn flip_every_bit(fix_checksum: bool, wanted: impl Fn(Field) -> &'static [Verdict]) {
    let _guard = prevent_child_starts();
    let mut scene = Scene::new();
    for &field in FIELDS {
        let (name, offset, bytes) = field;
        // One bit of each byte of the long texts is enough.
        let step = if bytes > 16 { 7 } else { 1 };
        for bit in (offset * 8..(offset + bytes) * 8).step_by(step) {
            let mut image = scene.image();
            image.bytes[bit / 8] ^= 1 << (bit % 8);
            if fix_checksum {
                image.fix_checksum();
                if name == "crc" {
                    continue;
                }
            }
            let what = format!("bit {} of {name}", bit - offset * 8);
            expect_verdict(&mut scene, &image, wanted(field), &what);
        }
        scene.expect_neighbour(name);
    }
}

#[test]
fn a_flipped_bit_in_any_field_is_found_by_the_checksum() {
    flip_every_bit(false, |field| match field.0 {
        "magic" => &[NotATopic],
        "layout_version" | "boot_id" => &[Replaced],
        _ => &[Damaged],
    });
}

#[test]
fn a_flipped_bit_in_any_field_with_its_checksum_is_judged_by_the_field() {
    flip_every_bit(true, verdicts_of_flip);
}
