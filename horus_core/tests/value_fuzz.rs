//! Decodes bytes and texts of any origin: each is a value or an error, in bounded memory and depth.

use horus_testing as _;

mod heap;
mod noise;
mod shapes;
mod values;

#[cfg(feature = "serde")]
use std::collections::BTreeMap;
use std::fmt::Write;

use fastrand::Rng;
use heap::peak;
use horus_core::message::{DESCRIBED_BYTES_PER_BYTE, Layout, SCHEMA_TEXT_BYTES_MAX, Schema};
use horus_core::value::{DECODED_BYTES_PER_BYTE, DecodeError, Value};
use noise::{Case, rounds, seeds};

/// Stack for 64 nested arrays, but not for nesting as deep as the input. It is four times as large
/// in a debug build.
const STACK_BYTES: usize = if cfg!(debug_assertions) { 512 } else { 128 } * 1024;

/// Runs `case` for every seed, on a small stack, and returns the sum of what it returns.
fn fuzz(name: &str, case: impl Fn(&mut Rng, &mut Seen) + Send + Sync) -> Seen {
    let cases = rounds(50_000, 1_000_000);
    let run = || {
        let mut seen = Seen::default();
        for seed in seeds(cases) {
            let _case = Case(seed);
            case(&mut Rng::with_seed(seed), &mut seen);
        }
        seen
    };
    let seen = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
        thread.spawn_scoped(scope, run).unwrap().join().unwrap()
    });
    println!(
        "RESULT {name}: {cases} inputs, {} accepted, {} refused, at most {:.1} bytes of heap for \
         each byte, {} KiB of stack",
        seen.accepted,
        seen.refused,
        seen.worst,
        STACK_BYTES / 1024
    );
    seen
}

/// Counts the outcomes of the inputs.
#[derive(Debug, Default)]
struct Seen {
    accepted: u64,
    refused: u64,
    /// The largest number of heap bytes for each byte of input.
    worst: f64,
}

impl Seen {
    fn outcome<T, E>(&mut self, outcome: &Result<T, E>) {
        match outcome {
            Ok(_) => self.accepted += 1,
            Err(_) => self.refused += 1,
        }
    }

    fn heap(&mut self, heap: usize, bytes: usize) {
        self.worst = self.worst.max(heap as f64 / bytes.max(1) as f64);
    }
}

/// Formats anything and discards the text.
struct Sink;

impl Write for Sink {
    fn write_str(&mut self, _: &str) -> std::fmt::Result {
        Ok(())
    }
}

/// Returns bytes that are MessagePack, damaged MessagePack, or similar to it.
fn msgpack(rng: &mut Rng) -> Vec<u8> {
    let mut bytes = match rng.usize(..4) {
        0 => values::bytes(rng, 60),
        1 => soup(rng),
        _ => values::value(rng, 4).to_msgpack().unwrap(),
    };
    for _ in 0..rng.usize(..4) {
        mutate(rng, &mut bytes);
    }
    bytes
}

/// Returns headers of values with little content, many of them nested arrays.
fn soup(rng: &mut Rng) -> Vec<u8> {
    let mut bytes = Vec::new();
    let nesting = rng.usize(..3);
    for _ in 0..rng.usize(..120) {
        match (nesting, rng.usize(..4)) {
            (0, 1..) => bytes.push(0x91),
            (1, 1..) => bytes.extend([0x81, 0xc0]),
            (_, 0) => bytes.push(0xc0 + rng.usize(..0x20) as u8),
            (_, 1) => bytes.extend([0xdc + rng.usize(..4) as u8, 0, 0, 0]),
            _ => bytes.push(rng.u8(..)),
        }
    }
    bytes
}

fn mutate(rng: &mut Rng, bytes: &mut Vec<u8>) {
    if bytes.is_empty() {
        return bytes.push(rng.u8(..));
    }
    let at = rng.usize(..bytes.len());
    match rng.usize(..5) {
        0 => bytes[at] = rng.u8(..),
        1 => bytes[at] ^= 1 << rng.usize(..8),
        2 => bytes.truncate(at),
        3 => bytes.insert(at, [0x91, 0x81, 0xdd, 0xc1, 0xff, 0x00][rng.usize(..6)]),
        _ => {
            let from = rng.usize(..bytes.len());
            let part: Vec<u8> = bytes[from..]
                .iter()
                .take(rng.usize(..20))
                .copied()
                .collect();
            bytes.splice(at..at, part);
        }
    }
}

#[test]
fn any_bytes_are_a_value_or_an_error() {
    let seen = fuzz("fuzz_msgpack", |rng, seen| {
        let bytes = msgpack(rng);
        let (decoded, heap) = peak(|| Value::decode(&bytes));
        seen.outcome(&decoded);
        seen.heap(heap, bytes.len());
        assert!(
            heap <= DECODED_BYTES_PER_BYTE * bytes.len(),
            "{heap} for {bytes:x?}"
        );
        match decoded {
            Ok(value) => {
                write!(Sink, "{value} {value:#}").unwrap();
                let again = value.to_msgpack().unwrap();
                assert!(
                    again.len() <= 2 * bytes.len(),
                    "singles become doubles, at worst"
                );
                let again = Value::decode(&again).unwrap();
                assert_eq!(again.to_msgpack(), value.to_msgpack());
            }
            Err(error) => assert!(at(&error) <= bytes.len(), "{error}"),
        }
    });
    assert!(seen.accepted > 1000 && seen.refused > 1000, "{seen:?}");
}

/// Returns the offset that an error names.
fn at(error: &DecodeError) -> usize {
    match *error {
        DecodeError::Truncated { at, .. }
        | DecodeError::Trailing { at, .. }
        | DecodeError::TooDeep { at }
        | DecodeError::Reserved { at }
        | DecodeError::Utf8 { at }
        | DecodeError::TypedArray { at, .. }
        | DecodeError::Type { at, .. } => at,
        _ => panic!("a place of {error}"),
    }
}

#[cfg(feature = "serde")]
#[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
enum Tree {
    Leaf,
    Number(f64),
    Named(String),
    Wide(i128),
    Pair(Box<(Tree, Tree)>),
    Many(Vec<Tree>),
    Fields {
        left: Option<Box<Tree>>,
        raw: Vec<u8>,
        by_name: BTreeMap<String, Tree>,
    },
}

#[cfg(feature = "serde")]
impl Tree {
    fn random(rng: &mut Rng, depth: usize) -> Self {
        match rng.usize(..if depth == 0 { 4 } else { 7 }) {
            0 => Self::Leaf,
            1 => Self::Number(rng.usize(..100) as f64),
            2 => Self::Named(values::text(rng, 10)),
            3 => Self::Wide(i128::from(values::word(rng)) << 60),
            4 => Self::Pair(Box::new((
                Self::random(rng, depth - 1),
                Self::random(rng, depth - 1),
            ))),
            5 => Self::Many(
                (0..rng.usize(..4))
                    .map(|_| Self::random(rng, depth - 1))
                    .collect(),
            ),
            _ => Self::Fields {
                left: (rng.usize(..2) == 0).then(|| Box::new(Self::random(rng, depth - 1))),
                raw: values::bytes(rng, 10),
                by_name: [(values::text(rng, 4), Self::random(rng, depth - 1))].into(),
            },
        }
    }
}

#[cfg(feature = "serde")]
#[test]
fn any_bytes_are_a_type_of_serde_or_an_error() {
    use horus_core::value::{decode_serde, encode_serde};
    use serde::{Serialize, de::DeserializeOwned};

    fn decode<T: Serialize + DeserializeOwned>(bytes: &[u8], seen: &mut Seen) {
        let (decoded, heap) = peak(|| decode_serde::<T>(bytes));
        seen.outcome(&decoded);
        // WHY: a growing vector has up to twice the capacity, and for a moment a copy of its
        // elements.
        assert!(heap <= 256 * bytes.len() + 4096, "{heap} for {bytes:x?}");
        if bytes.len() >= 64 {
            seen.heap(heap, bytes.len());
        }
        match decoded {
            Ok(value) => {
                // WHY: the names of fields that were decoded from arrays are added.
                encode_serde(&value, &mut vec![0; 100 * bytes.len()]).unwrap();
            }
            Err(error) => assert!(at(&error) <= bytes.len(), "{error}"),
        }
    }

    let seen = fuzz("fuzz_serde", |rng, seen| match rng.usize(..5) {
        0 => decode::<Value>(&msgpack(rng), seen),
        1 => decode::<Vec<Vec<f64>>>(&msgpack(rng), seen),
        2 => decode::<BTreeMap<String, (u8, Option<String>)>>(&msgpack(rng), seen),
        _ => {
            let mut bytes = vec![0; 1 << 14];
            let used = encode_serde(&Tree::random(rng, 4), &mut bytes).unwrap();
            bytes.truncate(used);
            for _ in 0..rng.usize(..3) {
                mutate(rng, &mut bytes);
            }
            decode::<Tree>(&bytes, seen);
        }
    });
    assert!(seen.accepted > 1000 && seen.refused > 1000, "{seen:?}");
}

/// Words from which texts are made, some of them hostile.
const WORDS: [&str; 26] = [
    "horus schema 1\n",
    "message M\n",
    "size 8\n",
    "size 64\n",
    "align 8\n",
    "field a u8 0 1\n",
    "field a.b u8 0 1 ",
    "field b f64 8 2",
    "field ",
    "tail data u8\n",
    "tail data f64\n",
    "a.b.c",
    " u8 ",
    " char ",
    "field c char 4 4\n",
    " f32 ",
    " 1*1",
    " 2*2",
    " 3*16",
    " 1000000*0",
    " 18446744073709551615",
    ".",
    "\n",
    " 0",
    " 1",
    "x",
];

fn schema_text(rng: &mut Rng) -> String {
    let mut text = match rng.usize(..6) {
        0 => (0..rng.usize(..20))
            .map(|_| WORDS[rng.usize(..WORDS.len())])
            .collect(),
        1 => {
            let fields = (0..rng.usize(..30)).map(|_| {
                let path: Vec<_> = (0..=rng.usize(..60))
                    .map(|_| ["a", "b"][rng.usize(..2)])
                    .collect();
                let arrays = [" 2*1", " 3*0", " 2*2 2*1", ""][rng.usize(..4)];
                format!(
                    "field {} u8 {} 1{arrays}\n",
                    path.join("."),
                    rng.usize(..30)
                )
            });
            let fields: String = fields.collect();
            format!(
                "horus schema 1\nmessage M\nsize {}\nalign 1\n{fields}",
                rng.usize(..300)
            )
        }
        _ => shapes::message(rng, 3).text(),
    };
    for _ in 0..rng.usize(..3) {
        let ends: Vec<_> = text
            .char_indices()
            .map(|(at, _)| at)
            .chain([text.len()])
            .collect();
        let a = ends[rng.usize(..ends.len())];
        let b = ends[rng.usize(..ends.len())];
        let word = match rng.usize(..3) {
            0 => rng.usize(..1000).to_string(),
            1 => text[a.min(b)..a.max(b)].chars().take(30).collect(),
            _ => WORDS[rng.usize(..WORDS.len())].to_owned(),
        };
        let end = ends[rng.usize(..ends.len())].clamp(a, (a + rng.usize(..6)).min(text.len()));
        let end = if text.is_char_boundary(end) { end } else { a };
        text.replace_range(a..end, &word);
    }
    text
}

/// Returns a path that is, or almost is, that of a field.
fn path(rng: &mut Rng, schema: &horus_core::message::ParsedSchema) -> String {
    if schema.fields.is_empty() {
        return "data[1]".to_owned();
    }
    let field = &schema.fields[rng.usize(..schema.fields.len())];
    let mut path = String::new();
    for name in field.path.split('.') {
        let dot = if path.is_empty() || rng.usize(..50) == 0 {
            ""
        } else {
            "."
        };
        write!(path, "{dot}{name}").unwrap();
        while rng.usize(..4) == 0 {
            write!(path, "[{}]", rng.usize(..4)).unwrap();
        }
    }
    match rng.usize(..8) {
        0 => path.chars().filter(|_| rng.usize(..10) > 0).collect(),
        1 => schema
            .tail
            .as_ref()
            .map_or(path, |tail| format!("{}[1]", tail.name)),
        _ => path,
    }
}

/// Reads and edits a message, and returns the largest heap that showing it took.
fn edit(rng: &mut Rng, text: &str, layout: &Layout, bytes: &mut [u8]) -> usize {
    let schema = Schema::parse(text).unwrap();
    let (whole, heap) = peak(|| layout.decode(bytes));
    if let Ok(whole) = whole {
        let sent = Value::decode(&whole.to_msgpack().unwrap()).unwrap();
        let mut copy = layout.encode(&sent).unwrap();
        assert_eq!(copy.len(), bytes.len());
        assert_eq!(
            layout.decode(&copy).unwrap().to_string(),
            whole.to_string(),
            "{text}"
        );
        layout.set(&mut copy, "", &whole).unwrap();
    }
    for _ in 0..3 {
        let path = path(rng, &schema);
        if let Ok(found) = layout.get(bytes, &path) {
            let before = bytes.to_vec();
            layout.set(bytes, &path, &found).unwrap();
            assert_eq!(bytes, before, "{path} of {text}");
        }
        let value = values::value(rng, 1);
        let before = bytes.to_vec();
        match layout.set(bytes, &path, &value) {
            Ok(()) => assert!(layout.get(bytes, &path).is_ok()),
            Err(error) => {
                assert!(error.to_string().len() < path.len() + 20_000, "{error}");
                assert_eq!(bytes, before, "{error}");
            }
        }
    }
    heap
}

#[test]
fn any_schema_text_is_a_layout_or_an_error() {
    let seen = fuzz("fuzz_schema", |rng, seen| {
        let text = schema_text(rng);
        let (parsed, heap) = peak(|| Schema::parse(&text).ok()?.layout().ok());
        assert!(heap <= 200 * text.len() + 4096, "{heap} for {text}");
        seen.outcome(&parsed.as_ref().ok_or(()));
        let Some(layout) = parsed else { return };
        let size = Schema::parse(&text).unwrap().size;
        let tail = [0, 0, 8, 16, 3][rng.usize(..5)];
        let Some(bytes) = size.checked_add(tail).filter(|bytes| *bytes <= 1 << 16) else {
            assert!(layout.decode(&[0; 100]).is_err());
            return;
        };
        let mut bytes: Vec<u8> = (0..bytes).map(|_| rng.u8(..)).collect();
        let heap = edit(rng, &text, &layout, &mut bytes);
        assert!(heap <= DESCRIBED_BYTES_PER_BYTE * bytes.len() + 8 * SCHEMA_TEXT_BYTES_MAX);
        seen.heap(heap, bytes.len());
    });
    assert!(seen.accepted > 1000 && seen.refused > 1000, "{seen:?}");
}
