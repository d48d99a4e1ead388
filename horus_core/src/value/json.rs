//! Values as JSON and back, without loss.
//!
//! JSON has no bytes, no typed arrays, no NaN and no infinity, and its objects have only text keys.
//! [`to_json`] converts these values to types that JSON has, and lists the original types under the
//! additional key `"$types"` of the outermost object. [`from_json`] needs that list; other programs
//! can ignore it.
//!
//! | value | in JSON | in `"$types"` |
//! |---|---|---|
//! | bytes | base64 | `bytes` |
//! | typed array | array of numbers, row-major | `f32[2,3]` |
//! | NaN, infinity | `"NaN"`, `"NaN:7fc00001"`, `"-Infinity"` | `f64`, or that of the array |
//! | extension | base64 | `ext(5)` |
//! | map with keys that are not texts, or with equal keys | array of pairs | `map` |
//!
//! The keys of the list are paths, such as `legs[2].x`; a backslash in front of a dot, a bracket or
//! a backslash means the character itself, and `\e` at the beginning is an empty name. If the value
//! is not a map with texts as keys, the outermost object contains it under the key `value`, and the
//! list has an entry for the empty path.
//!
//! ```
//! use horus_core::value::json::{from_json, to_json};
//! use horus_core::value::{TypedArray, Value};
//!
//! let state = Value::from([
//!     ("joints", Value::from(TypedArray::from_slice(&[0.1_f32, f32::NAN]))),
//!     ("raw", Value::from(&b"ok"[..])),
//! ]);
//! let json = to_json(&state)?;
//! assert_eq!(
//!     json.to_string(),
//!     r#"{"joints": [0.1, "NaN"], "raw": "b2s=", "#.to_owned()
//!         + r#""$types": {"joints": "f32[2]", "raw": "bytes"}}"#,
//! );
//! assert_eq!(from_json(&json)?, state);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod number;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::{TypedArray, Value, base64};
use crate::message::DType;
use number::{element_from_json, element_to_json};

/// The key under which the outermost JSON object lists the types of values that JSON cannot
/// express.
pub const TYPES_KEY: &str = "$types";

/// The key under which the outermost JSON object contains a value that is not an object itself.
const NON_OBJECT_VALUE_KEY: &str = "value";

/// The listed type of an outermost value that JSON can express, but that is not an object, such as
/// a number. No other value that JSON can express is in the list.
const JSON_TYPE: &str = "json";

/// The path of the field with an empty name in the outermost object. No escaped name begins with
/// this text.
const EMPTY_NAME_PATH: &str = r"\e";

/// Maximum total length of the paths in the list of types: this many bytes for each byte of the
/// value.
const PATH_BYTES_PER_VALUE_BYTE: usize = 16;
/// Total length in bytes of the paths in the list of types that is always permitted, however small
/// the value is.
const PERMITTED_PATH_BYTES_MIN: usize = 64 * 1024;

const BYTES_TYPE: &str = "bytes";
const MAP_TYPE: &str = "map";

/// The error for a JSON value that [`from_json`] rejects, because a part of it does not have the
/// form that [`to_json`] returns.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{path}' is not {wanted}")]
pub struct JsonError {
    /// The path of the rejected part, such as `legs[2].x`.
    pub path: String,
    /// A description of the form that this part must have.
    pub wanted: String,
}

impl JsonError {
    fn new(path: &str, wanted: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            wanted: wanted.into(),
        }
    }
}

/// The error for a value that [`to_json`] does not convert, because its list of types would be much
/// longer than the value itself. That happens if many values whose types are listed are below a
/// very long key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the paths in \"$types\" have more than {bytes_max} bytes, the limit for a value of this size: \
     use shorter keys above many bytes, typed arrays, NaN and infinities"
)]
pub struct TypesTooLong {
    /// The maximum length of all paths of this value together, in bytes.
    pub bytes_max: usize,
}

/// Converts a value to one that JSON can express: a map with distinct texts as keys, whose values
/// are nil, booleans, integers, finite floats, texts, arrays and such maps. The key [`TYPES_KEY`]
/// lists the original types, so that [`from_json`] can restore the value.
///
/// The memory is proportional to the size of the value, and the recursion is as deep as its
/// nesting.
///
/// # Errors
///
/// [`TypesTooLong`] if the paths of the listed types have more than 64 KiB, and more than 16 times
/// as many bytes as the value: its texts and bytes, and 8 bytes for each value in it.
pub fn to_json(value: &Value) -> Result<Value, TypesTooLong> {
    let bytes_max = content_bytes(value).saturating_mul(PATH_BYTES_PER_VALUE_BYTE);
    let mut writer = JsonWriter {
        path_bytes_max: bytes_max.max(PERMITTED_PATH_BYTES_MIN),
        ..JsonWriter::default()
    };
    let is_object = object_pairs(value)
        .is_some_and(|pairs| pairs.iter().all(|(key, _)| key.as_str() != Some(TYPES_KEY)));
    let mut pairs = if is_object {
        match writer.convert(value) {
            Value::Map(pairs) => pairs,
            other => vec![(NON_OBJECT_VALUE_KEY.into(), other)],
        }
    } else {
        writer.store_type(JSON_TYPE);
        let converted = writer.convert(value);
        vec![(NON_OBJECT_VALUE_KEY.into(), converted)]
    };
    if writer.path_bytes > writer.path_bytes_max {
        return Err(TypesTooLong {
            bytes_max: writer.path_bytes_max,
        });
    }
    if !writer.found.is_empty() {
        pairs.push((TYPES_KEY.into(), Value::Map(writer.found)));
    }
    Ok(Value::Map(pairs))
}

/// Returns the size of a value, which limits the length of its list of types. It is the number of
/// bytes in its texts, byte strings and typed arrays, plus 8 for each value in it.
fn content_bytes(value: &Value) -> usize {
    let inner = match value {
        Value::String(text) => text.len(),
        Value::Bytes(bytes) | Value::Ext(_, bytes) => bytes.len(),
        Value::Typed(array) => array.bytes().len(),
        Value::Array(values) => values.iter().map(content_bytes).sum(),
        Value::Map(pairs) => {
            let both = |(key, value): &(Value, Value)| content_bytes(key) + content_bytes(value);
            pairs.iter().map(both).sum()
        }
        _ => 0,
    };
    inner + size_of::<u64>()
}

/// Returns the pairs of a map that can be a JSON object, because all keys are distinct texts.
/// Returns `None` for any other value.
fn object_pairs(value: &Value) -> Option<&[(Value, Value)]> {
    let pairs = value.as_map()?;
    let mut names = HashSet::new();
    let is_name = |(key, _): &(Value, Value)| match key {
        Value::String(name) => names.insert(name.clone()),
        _ => false,
    };
    pairs.iter().all(is_name).then_some(pairs)
}

/// Converts a value to JSON, and collects the types of those parts that JSON cannot express.
#[derive(Default)]
struct JsonWriter {
    found: Vec<(Value, Value)>,
    /// The path of the value that is being converted.
    path: String,
    /// Total length of all paths for which a type was stored, in bytes.
    path_bytes: usize,
    path_bytes_max: usize,
}

impl JsonWriter {
    /// Stores the type of the value at the current path. Replaces an earlier type for the same
    /// path. Stores nothing more once the paths are too long.
    fn store_type(&mut self, kind: impl Into<String>) {
        self.path_bytes = self.path_bytes.saturating_add(self.path.len());
        if self.path_bytes > self.path_bytes_max {
            return;
        }
        let kind = Value::String(kind.into());
        match self.found.last_mut() {
            Some((path, noted)) if path.as_str() == Some(&self.path) => *noted = kind,
            _ => self.found.push((Value::String(self.path.clone()), kind)),
        }
    }

    fn convert(&mut self, value: &Value) -> Value {
        match value {
            Value::Float(number) if !number.is_finite() => {
                self.store_type(DType::F64.name());
                element_to_json(DType::F64, &number.to_le_bytes())
            }
            Value::Bytes(bytes) => {
                self.store_type(BYTES_TYPE);
                base64::encode(bytes).into()
            }
            Value::Ext(number, bytes) => {
                self.store_type(format!("ext({number})"));
                base64::encode(bytes).into()
            }
            Value::Typed(array) => {
                self.store_type(array_type_name(array));
                let elements = array.bytes().chunks_exact(array.dtype().size());
                let elements = elements.map(|bytes| element_to_json(array.dtype(), bytes));
                Value::Array(elements.collect())
            }
            Value::Array(values) => self.convert_array(values),
            Value::Map(pairs) => match object_pairs(value) {
                Some(pairs) => self.convert_object(pairs),
                None => self.convert_pairs(pairs),
            },
            plain => plain.clone(),
        }
    }

    fn convert_array(&mut self, values: &[Value]) -> Value {
        let converted = values.iter().enumerate().map(|(index, value)| {
            self.convert_at_subpath(&index_path_suffix(index), |this| this.convert(value))
        });
        Value::Array(converted.collect())
    }

    fn convert_object(&mut self, pairs: &[(Value, Value)]) -> Value {
        let mut converted = Vec::with_capacity(pairs.len());
        for (key, value) in pairs {
            let name = key.as_str().unwrap_or_default();
            let suffix = field_path_suffix(&self.path, name);
            let value = self.convert_at_subpath(&suffix, |this| this.convert(value));
            converted.push((key.clone(), value));
        }
        Value::Map(converted)
    }

    fn convert_pairs(&mut self, pairs: &[(Value, Value)]) -> Value {
        self.store_type(MAP_TYPE);
        let mut converted = Vec::with_capacity(pairs.len());
        for (index, (key, value)) in pairs.iter().enumerate() {
            let pair = |this: &mut Self| {
                let key = this.convert_at_subpath(&index_path_suffix(0), |this| this.convert(key));
                let value =
                    this.convert_at_subpath(&index_path_suffix(1), |this| this.convert(value));
                Value::Array(vec![key, value])
            };
            converted.push(self.convert_at_subpath(&index_path_suffix(index), pair));
        }
        Value::Array(converted)
    }

    /// Calls `convert` with the path extended by `suffix`, and then restores the path.
    fn convert_at_subpath(
        &mut self,
        suffix: &str,
        convert: impl FnOnce(&mut Self) -> Value,
    ) -> Value {
        let length = self.path.len();
        self.path.push_str(suffix);
        let converted = convert(self);
        self.path.truncate(length);
        converted
    }
}

/// Returns the type of a typed array as a text such as `f32[2,3]`.
fn array_type_name(array: &TypedArray) -> String {
    let shape = array.shape().iter().map(ToString::to_string);
    format!("{}[{}]", array.dtype(), shape.collect::<Vec<_>>().join(","))
}

fn index_path_suffix(index: usize) -> String {
    format!("[{index}]")
}

/// Returns the text that must be appended to `path` to get the path of its field `name`: `.name`,
/// or `name` if `path` is empty. Escapes dots, brackets and backslashes in the name.
fn field_path_suffix(path: &str, name: &str) -> String {
    let mut suffix = String::new();
    if !path.is_empty() {
        suffix.push('.');
    }
    for letter in name.chars() {
        if matches!(letter, '.' | '[' | '\\') {
            suffix.push('\\');
        }
        suffix.push(letter);
    }
    // WHY: the empty path is the whole value.
    if suffix.is_empty() {
        suffix.push_str(EMPTY_NAME_PATH);
    }
    suffix
}

/// Converts an object that [`to_json`] returned back to the original value. Other objects are
/// accepted, too, if they have no list of types, or if their values have the listed types.
///
/// The memory is proportional to the size of the object, and the time to this size multiplied by
/// the logarithm of the number of listed types. The recursion is as deep as the nesting.
///
/// # Errors
///
/// [`JsonError`] if `json` is not an object, or if a value does not have the form that its listed
/// type requires.
pub fn from_json(json: &Value) -> Result<Value, JsonError> {
    let pairs = json
        .as_map()
        .ok_or_else(|| JsonError::new("", "an object"))?;
    let Some(types) = json.get(TYPES_KEY) else {
        return Ok(json.clone());
    };
    let noted = types
        .as_map()
        .ok_or_else(|| JsonError::new(TYPES_KEY, "an object"))?;
    let mut types = HashMap::with_capacity(noted.len());
    for (path, kind) in noted {
        let (Some(path), Some(kind)) = (path.as_str(), kind.as_str()) else {
            return Err(JsonError::new(TYPES_KEY, "an object of paths and types"));
        };
        types.insert(Cow::Borrowed(path), kind);
    }
    if types.contains_key("") {
        let value = json.get(NON_OBJECT_VALUE_KEY);
        let value = value.ok_or_else(|| JsonError::new(NON_OBJECT_VALUE_KEY, "there"))?;
        let types = convert_older_paths(types, value.as_map().unwrap_or_default());
        let mut reader = JsonReader::new(types);
        return reader.read(value, reader.all_type_entries());
    }
    let mut reader = JsonReader::new(convert_older_paths(types, pairs));
    let is_data = |(key, _): &&(Value, Value)| key.as_str() != Some(TYPES_KEY);
    reader.read_object(pairs.iter().filter(is_data), reader.all_type_entries())
}

/// The listed types by their paths.
type TypesByPath<'a> = HashMap<Cow<'a, str>, &'a str>;

/// Replaces a `\` that stands for the empty name of a field of the outermost object, as earlier
/// versions wrote it, by [`EMPTY_NAME_PATH`]. A path that may also begin with the escaped name of
/// one of `fields`, which are those of the outermost object, remains as it is.
fn convert_older_paths<'a>(types: TypesByPath<'a>, fields: &[(Value, Value)]) -> TypesByPath<'a> {
    let begins_a_name = |start: char| {
        let mut names = fields.iter().filter_map(|(key, _)| key.as_str());
        names.any(|name| name.starts_with(start))
    };
    let (is_dot_name, is_bracket_name) = (begins_a_name('.'), begins_a_name('['));
    let is_older = |rest: &str| match rest.chars().next() {
        None => true,
        Some('.') => !is_dot_name,
        Some('[') => !is_bracket_name,
        Some(_) => false,
    };
    let renamed = types.into_iter().map(|(path, kind)| {
        let older = path.strip_prefix('\\').filter(|rest| is_older(rest));
        let newer = older.map(|rest| Cow::Owned(format!("{EMPTY_NAME_PATH}{rest}")));
        (newer.unwrap_or(path), kind)
    });
    renamed.collect()
}

/// Converts JSON back to values, as the list of types says.
struct JsonReader<'a> {
    /// The listed types and their paths, in the order of the paths.
    ///
    /// WHY sorted: the paths that begin with the path of a value are next to each other. Each step
    /// down reduces this range by comparing only the step, so the time does not depend on the
    /// length of the paths above.
    types: Vec<(Cow<'a, str>, &'a str)>,
    /// The path of the value that is being read.
    path: String,
}

impl<'a> JsonReader<'a> {
    fn new(types: TypesByPath<'a>) -> Self {
        let mut types: Vec<_> = types.into_iter().collect();
        types.sort_unstable();
        Self {
            types,
            path: String::new(),
        }
    }

    /// Returns the range of all entries of `self.types`.
    const fn all_type_entries(&self) -> Range<usize> {
        0..self.types.len()
    }

    fn error(&self, wanted: impl Into<String>) -> JsonError {
        JsonError {
            path: self.path.clone(),
            wanted: wanted.into(),
        }
    }

    /// Reads the value `json` at the current path. `type_entries` is the range of the entries of
    /// `self.types` whose paths begin with this path.
    fn read(&mut self, json: &Value, type_entries: Range<usize>) -> Result<Value, JsonError> {
        // The path itself, which is the shortest one, comes first.
        let first = self.types[type_entries.clone()].first();
        let of_this = first.filter(|(path, _)| path.len() == self.path.len());
        let kind = of_this.map(|(_, kind)| *kind);
        match (kind, json) {
            (None | Some(JSON_TYPE), Value::Map(pairs)) => {
                self.read_object(pairs.iter(), type_entries)
            }
            (None | Some(JSON_TYPE), Value::Array(values)) => {
                let values = values.iter().enumerate();
                let read = values.map(|(index, value)| {
                    self.read_at_subpath(&index_path_suffix(index), value, type_entries.clone())
                });
                Ok(Value::Array(read.collect::<Result<_, _>>()?))
            }
            (None | Some(JSON_TYPE), plain) => Ok(plain.clone()),
            (Some(MAP_TYPE), pairs) => self.read_pairs(pairs, type_entries),
            (Some(kind), json) => convert_from_json_as(kind, json)
                .ok_or_else(|| self.error(format!("{kind} as JSON"))),
        }
    }

    /// Reads the value `json` at the current path extended by `suffix`. `type_entries` is the range
    /// of the entries of `self.types` whose paths begin with the current path.
    fn read_at_subpath(
        &mut self,
        suffix: &str,
        json: &Value,
        type_entries: Range<usize>,
    ) -> Result<Value, JsonError> {
        let length = self.path.len();
        let types = &self.types[type_entries.clone()];
        let is_before =
            |(path, _): &(Cow<'_, str>, _)| &path.as_bytes()[length..] < suffix.as_bytes();
        let before = types.partition_point(is_before);
        let is_below = |(path, _): &(Cow<'_, str>, _)| {
            path.as_bytes()[length..].starts_with(suffix.as_bytes())
        };
        let below = types[before..].partition_point(is_below);
        let start = type_entries.start + before;
        self.path.push_str(suffix);
        let value = self.read(json, start..start + below);
        self.path.truncate(length);
        value
    }

    fn read_object<'b>(
        &mut self,
        pairs: impl Iterator<Item = &'b (Value, Value)>,
        type_entries: Range<usize>,
    ) -> Result<Value, JsonError> {
        let read = pairs.map(|(key, value)| {
            let name = key.as_str();
            let name = name.ok_or_else(|| self.error("an object with text keys"))?;
            let suffix = field_path_suffix(&self.path, name);
            let value = self.read_at_subpath(&suffix, value, type_entries.clone())?;
            Ok((key.clone(), value))
        });
        Ok(Value::Map(read.collect::<Result<_, _>>()?))
    }

    fn read_pairs(&mut self, json: &Value, type_entries: Range<usize>) -> Result<Value, JsonError> {
        let wanted = "an array of pairs";
        let pairs = json.as_array().ok_or_else(|| self.error(wanted))?;
        let read = pairs.iter().enumerate().map(|(index, pair)| {
            let Some([key, value]) = pair.as_array() else {
                return Err(self.error(wanted));
            };
            let [of_key, of_value] =
                [0, 1].map(|at| index_path_suffix(index) + &index_path_suffix(at));
            let key = self.read_at_subpath(&of_key, key, type_entries.clone())?;
            let value = self.read_at_subpath(&of_value, value, type_entries.clone())?;
            Ok((key, value))
        });
        Ok(Value::Map(read.collect::<Result<_, _>>()?))
    }
}

/// Converts `json` back to a value of the type `kind` from the list of types. Returns `None` if
/// `json` does not have the form of this type.
fn convert_from_json_as(kind: &str, json: &Value) -> Option<Value> {
    if kind == BYTES_TYPE {
        return Some(Value::Bytes(base64::decode(json.as_str()?)?));
    }
    if kind == DType::F64.name() {
        let mut bytes = Vec::new();
        element_from_json(DType::F64, json, &mut bytes)?;
        return Some(Value::Float(f64::from_le_bytes(bytes.try_into().ok()?)));
    }
    if let Some(number) = kind
        .strip_prefix("ext(")
        .and_then(|rest| rest.strip_suffix(')'))
    {
        return Some(Value::Ext(
            number.parse().ok()?,
            base64::decode(json.as_str()?)?,
        ));
    }
    let (dtype, shape) = kind.strip_suffix(']')?.split_once('[')?;
    let dtype = *DType::ALL.iter().find(|known| known.name() == dtype)?;
    let shape = match shape {
        "" => Vec::new(),
        shape => shape
            .split(',')
            .map(|count| count.parse().ok())
            .collect::<Option<_>>()?,
    };
    let mut bytes = Vec::new();
    for element in json.as_array()? {
        element_from_json(dtype, element, &mut bytes)?;
    }
    Some(TypedArray::new(dtype, shape, bytes).ok()?.into())
}
