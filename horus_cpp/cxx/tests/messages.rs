//! Every standard message crosses between Rust and C++ in one process, both ways, field by field.

use horus_testing as _;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;

use horus_core::message::{
    Joint, MapMetaData, Message, PointField, Primitive, STANDARD, Schema, standard_default,
};
use horus_core::prelude::*;
use horus_core::topic::DynamicType;
// Linked because the C++ side calls it.
use horus_cpp as _;

#[cxx::bridge]
#[allow(
    unreachable_pub,
    clippy::multiple_unsafe_ops_per_block,
    reason = "what the bridge makes"
)]
mod ffi {
    unsafe extern "C++" {
        include!("horus_cpp_cxx/tests/messages.hpp");

        /// Fills each field of the message of this name, sends it, and returns a listing of its
        /// fields.
        fn send(message: &str, topic: &str, seed: u64) -> Result<String>;

        /// Receives a message of this name, and returns a listing of its fields.
        fn receive(message: &str, topic: &str) -> Result<String>;

        /// Returns a listing of the fields of a message of this name, or of its header, as `T{}`
        /// has them.
        fn default_of(message: &str) -> Result<String>;
    }
}

/// The number of elements in the data at the end of a message.
const ELEMENTS: usize = 7;

/// Returns the offsets of a message's numbers by path; array elements are in order.
fn places(schema: &Schema) -> BTreeMap<String, Vec<(usize, Primitive)>> {
    let parsed = Schema::parse(&schema.text()).unwrap();
    let mut places = BTreeMap::new();
    for field in &parsed.fields {
        let mut begins = vec![field.shape.offset];
        for (count, stride) in &field.shape.arrays {
            let each = |begin| (0..*count).map(move |index| begin + index * stride);
            begins = begins.into_iter().flat_map(each).collect();
        }
        let primitive = field.shape.primitive;
        let each = |begin| {
            (0..field.shape.count).map(move |index| (begin + index * primitive.size(), primitive))
        };
        places.insert(
            field.path.clone(),
            begins.into_iter().flat_map(each).collect(),
        );
    }
    if let Some(tail) = &parsed.tail {
        let primitive = tail.primitive;
        let each = |index| (parsed.size + index * primitive.size(), primitive);
        places.insert(tail.name.clone(), (0..ELEMENTS).map(each).collect());
    }
    places
}

/// Returns the listing of a message's fields in the format of the C++ side.
fn told(schema: &Schema, message: &[u8]) -> String {
    let mut text = String::new();
    for (path, numbers) in places(schema) {
        text += &(path + ":");
        for (offset, primitive) in numbers {
            let mut bits = [0; 8];
            let size = primitive.size();
            bits[..size].copy_from_slice(&message[offset..offset + size]);
            write!(text, " {}", u64::from_le_bytes(bits)).unwrap();
        }
        text.push('\n');
    }
    text
}

/// Returns a message in which all numbers differ.
fn filled(schema: &Schema) -> Vec<u8> {
    let tail_bytes = schema
        .tail
        .map_or(0, |tail| ELEMENTS * tail.primitive.size());
    let mut message = vec![0; schema.size + tail_bytes];
    let numbers = places(schema).into_values().flatten();
    for (number, (offset, primitive)) in numbers.enumerate() {
        let place = &mut message[offset..offset + primitive.size()];
        match primitive {
            Primitive::F32 => place.copy_from_slice(&(number as f32 + 0.5).to_le_bytes()),
            Primitive::F64 => place.copy_from_slice(&(0.25 - number as f64).to_le_bytes()),
            Primitive::Char => place.fill(b'a' + (number % 26) as u8),
            _ => place
                .iter_mut()
                .for_each(|byte| *byte = (number % 251) as u8 + 1),
        }
    }
    message
}

/// A namespace of this test's own, removed when dropped.
struct Apart {
    _dir: tempfile::TempDir,
}

impl Apart {
    fn enter() -> Self {
        let private = PermissionsExt::from_mode(0o700);
        let dir = tempfile::Builder::new()
            .permissions(private)
            .tempdir_in("/dev/shm")
            .unwrap();
        // SAFETY: no other test of this process reads the environment.
        unsafe { std::env::set_var("HORUS_SHM_DIR", dir.path().join("horus")) };
        // SAFETY: as above.
        unsafe { std::env::remove_var("HORUS_NAMESPACE") };
        Self { _dir: dir }
    }
}

#[test]
fn the_default_of_every_standard_message_is_that_of_rust() {
    let mut nonzero = 0;
    for schema in STANDARD {
        let is_framed = schema.tail.is_some();
        let name = if is_framed {
            format!("{}Header", schema.name)
        } else {
            schema.name.into()
        };
        let default = standard_default(&name).unwrap_or_else(|| panic!("{name} has no default"));
        let fields = Schema {
            tail: None,
            ..**schema
        };
        assert_eq!(
            ffi::default_of(schema.name).unwrap(),
            told(&fields, &default),
            "{name}"
        );
        nonzero += usize::from(default.iter().any(|byte| *byte != 0));
    }
    assert!(
        nonzero >= 15,
        "{nonzero} messages have a default other than zeros"
    );
}

/// Sends a message both ways through the typed endpoints of both languages.
fn cross<T: Message>(crossed: &mut Vec<&'static str>) {
    let schema = &T::SCHEMA;
    let name = T::SCHEMA.name;
    let qos = Qos::new().history(1);
    let topic = format!("typed.{name}");
    let builder = Topic::<T>::builder(&topic).qos(qos);
    let mut publisher = builder.publisher().unwrap();
    let message = filled(schema);
    publisher
        .send(bytemuck::pod_read_unaligned::<T>(&message))
        .unwrap();
    assert_eq!(
        ffi::receive(name, &topic).unwrap(),
        told(schema, &message),
        "{name} to C++"
    );

    let topic = format!("typed.back.{name}");
    let mut subscriber = Topic::<T>::builder(&topic).subscriber().unwrap();
    let sent = ffi::send(name, &topic, crossed.len() as u64).unwrap();
    let message = subscriber
        .recv()
        .unwrap_or_else(|| panic!("{name} did not arrive"));
    assert_eq!(
        told(schema, bytemuck::bytes_of(&message)),
        sent,
        "{name} from C++"
    );
    crossed.push(name);
}

/// Sends a message both ways as bytes with a schema: a header, and data that are lent or borrowed.
fn cross_framed(schema: &'static Schema, crossed: &mut Vec<&'static str>) {
    let name = schema.name;
    let kind = DynamicType::parse(&schema.text()).unwrap();
    let topic = format!("framed.{name}");
    let builder = kind
        .builder(&topic)
        .max_message_bytes(64 * 1024)
        .qos(Qos::new().history(1));
    let mut publisher = builder.publisher().unwrap();
    let message = filled(schema);
    publisher.send_bytes(&message).unwrap();
    assert_eq!(
        ffi::receive(name, &topic).unwrap(),
        told(schema, &message),
        "{name} to C++"
    );

    let topic = format!("framed.back.{name}");
    let mut subscriber = kind
        .builder(&topic)
        .max_message_bytes(64 * 1024)
        .subscriber()
        .unwrap();
    let sent = ffi::send(name, &topic, crossed.len() as u64).unwrap();
    let mut message = vec![0; subscriber.max_message_bytes() as usize];
    let bytes = subscriber
        .recv_into(&mut message)
        .unwrap_or_else(|| panic!("{name} did not arrive"));
    assert_eq!(bytes, filled(schema).len(), "{name} from C++");
    assert_eq!(told(schema, &message), sent, "{name} from C++");
    crossed.push(name);
}

#[test]
fn every_standard_message_crosses_both_ways_field_by_field() {
    let _apart = Apart::enter();
    let mut crossed = Vec::new();
    macro_rules! cross_all {
        ($($domain:ident $title:literal { $($name:ident),+ $(,)? })+) => {
            $($(cross::<horus_core::message::$name>(&mut crossed);)+)+
        };
    }
    horus_core::standard_messages!(cross_all);
    // These are parts of messages with data.
    cross::<PointField>(&mut crossed);
    cross::<MapMetaData>(&mut crossed);
    cross::<Joint>(&mut crossed);
    for schema in STANDARD.iter().filter(|schema| schema.tail.is_some()) {
        cross_framed(schema, &mut crossed);
    }
    let mut all: Vec<_> = STANDARD.iter().map(|schema| schema.name).collect();
    all.sort_unstable();
    crossed.sort_unstable();
    assert_eq!(crossed, all);
    // An exception of C++ is an error here.
    let error = ffi::receive("NoMessage", "nothing").unwrap_err();
    assert_eq!(error.what(), "msg.hpp has no such message");
}
