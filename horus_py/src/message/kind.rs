//! A kind of message: its table of fields, and the Python class made of it.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use horus_core::message::{DType, FieldKind, FramedKind, Primitive, STANDARD, Schema};
use horus_core::topic::PayloadType;
use pyo3::exceptions::PyRuntimeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::message::count_fields::counts_of;

/// A kind of message. Lives as long as the process: its class does too.
pub(crate) struct Kind {
    pub(crate) schema: &'static Schema,
    pub(crate) payload: PayloadType,
    /// Of every message of this kind; of its header, where data follow.
    pub(crate) bytes: usize,
    /// The description of the data behind a header; none if there are no data.
    pub(crate) framed: Option<&'static FramedKind>,
    /// The bytes of a new message, before its fields are set.
    pub(crate) default: Box<[u8]>,
    pub(crate) fields: Box<[Field]>,
    /// The runs of bytes that are compared alike, by offset.
    pub(crate) runs: Box<[Run]>,
    /// The offset of `timestamp_ns`, if there is one.
    pub(crate) stamp: Option<usize>,
    /// The numpy type, once it was asked for.
    pub(crate) dtype: PyOnceLock<Py<PyAny>>,
    /// The class; null until there is one, which is then never freed.
    class: AtomicPtr<ffi::PyTypeObject>,
}

/// A field as its getter and setter see it.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) message: &'static str,
    pub(crate) name: &'static str,
    pub(crate) kind: FieldKind,
    pub(crate) offset: usize,
    pub(crate) count: usize,
    /// The type of its numbers, if it has some that numpy knows.
    pub(crate) dtype: Option<DType>,
    /// The kind of the message in it.
    pub(crate) inner: Option<&'static Kind>,
    /// The fields that say how many of its elements count; none if all do.
    pub(crate) counts: &'static [&'static str],
}

impl Field {
    /// Bytes of the whole field.
    pub(crate) const fn bytes(&self) -> usize {
        self.kind.size() * self.count
    }
}

/// Bytes of a message that are compared alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) compared: Compared,
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
}

/// As what bytes are compared: −0 equals 0, and NaN nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compared {
    Bytes,
    F32,
    F64,
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kind({})", self.schema.name)
    }
}

impl Kind {
    /// The kind of the messages of `schema`, whose nested messages have a kind already.
    pub(crate) fn new(schema: &'static Schema, default: Box<[u8]>) -> PyResult<Self> {
        let payload = PayloadType::parse(&schema.text());
        let payload = payload.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        Ok(Self::with(schema, default, payload, None))
    }

    /// A kind whose messages end in data.
    pub(crate) fn framed(framed: &'static FramedKind) -> Self {
        Self::with(framed.schema(), framed.default_header(), framed.payload(), Some(framed))
    }

    fn with(
        schema: &'static Schema,
        default: Box<[u8]>,
        payload: PayloadType,
        framed: Option<&'static FramedKind>,
    ) -> Self {
        // WHY: a program may declare a message of the same name.
        let is_standard = STANDARD
            .iter()
            .any(|standard| standard.name == schema.name && standard.hash() == schema.hash());
        let field = |field: &horus_core::message::Field| Field {
            counts: if is_standard { counts_of(schema.name, field.name) } else { &[] },
            message: schema.name,
            name: field.name,
            kind: field.kind,
            offset: field.offset,
            count: field.count,
            dtype: match field.kind {
                FieldKind::Primitive(primitive) => DType::of_primitive(primitive),
                _ => None,
            },
            inner: match field.kind {
                FieldKind::Message(inner) => kinds().by_hash.get(&inner.hash()).copied(),
                _ => None,
            },
        };
        let fields: Box<[Field]> = schema.fields.iter().map(field).collect();
        let mut runs = Vec::new();
        add_runs(&mut runs, schema, 0);
        let stamp = fields.iter().find(|field| field.name == "timestamp_ns" && field.is_u64());
        let stamp = stamp.map(|field| field.offset);
        let runs = runs.into();
        let (bytes, dtype, class) = (schema.size, PyOnceLock::new(), AtomicPtr::default());
        Self { schema, payload, bytes, framed, default, fields, runs, stamp, dtype, class }
    }

    /// The class, which there is before anybody can have a message.
    #[inline]
    pub(crate) fn class(&self) -> *mut ffi::PyTypeObject {
        // Relaxed: set once, under the GIL.
        self.class.load(Ordering::Relaxed)
    }

    /// Returns true if the object is a message of this kind: its classes have no subclasses.
    #[inline]
    pub(crate) fn is_kind_of(&self, object: &Bound<'_, PyAny>) -> bool {
        object.get_type_ptr() == self.class()
    }

    /// The field of this name.
    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

impl Field {
    fn is_u64(&self) -> bool {
        matches!(self.kind, FieldKind::Primitive(Primitive::U64)) && self.count == 1
    }

    /// Padding under another name: not shown unless somebody wrote to it.
    pub(crate) fn is_reserved(&self) -> bool {
        self.name.starts_with("_reserved")
    }
}

fn add_runs(runs: &mut Vec<Run>, schema: &Schema, base: usize) {
    for field in schema.fields {
        let offset = base + field.offset;
        let compared = match field.kind {
            FieldKind::Message(inner) => {
                for index in 0..field.count {
                    add_runs(runs, inner, offset + index * inner.size);
                }
                continue;
            }
            FieldKind::Primitive(Primitive::F32) => Compared::F32,
            FieldKind::Primitive(Primitive::F64) => Compared::F64,
            _ => Compared::Bytes,
        };
        let bytes = field.kind.size() * field.count;
        match runs.last_mut() {
            Some(last) if last.compared == compared => last.bytes += bytes,
            _ => runs.push(Run { compared, offset, bytes }),
        }
    }
}

/// All kinds.
#[derive(Debug, Default)]
pub(crate) struct Kinds {
    /// By the address of the class.
    by_class: HashMap<usize, &'static Kind>,
    by_hash: HashMap<u128, &'static Kind>,
}

static KINDS: Mutex<Option<Kinds>> = Mutex::new(None);

/// The table of kinds, locked. Python is not called while it is.
fn kinds() -> KindsGuard {
    let mut guard = KINDS.lock().unwrap_or_else(PoisonError::into_inner);
    guard.get_or_insert_default();
    KindsGuard(guard)
}

struct KindsGuard(MutexGuard<'static, Option<Kinds>>);

impl std::ops::Deref for KindsGuard {
    type Target = Kinds;

    fn deref(&self) -> &Kinds {
        self.0.as_ref().expect("filled when it was locked")
    }
}

impl std::ops::DerefMut for KindsGuard {
    fn deref_mut(&mut self) -> &mut Kinds {
        self.0.as_mut().expect("filled when it was locked")
    }
}

/// Makes `class` known as that of `kind`.
pub(crate) fn add(kind: &'static Kind, class: &Bound<'_, PyAny>) {
    // WHY leaked: messages are made of the class's address.
    let address = class.clone().into_ptr();
    kind.class.store(address.cast(), Ordering::Relaxed);
    let mut kinds = kinds();
    kinds.by_class.insert(address as usize, kind);
    kinds.by_hash.insert(kind.payload.hash(), kind);
}

/// The kind of the messages of a class, if it is one of messages.
pub(crate) fn of_class(class: *mut ffi::PyTypeObject) -> Option<&'static Kind> {
    kinds().by_class.get(&(class as usize)).copied()
}

/// The kind that a caller's `Type` argument means, if it is a class of messages.
pub(crate) fn of_argument(argument: &Bound<'_, PyAny>) -> Option<&'static Kind> {
    argument.is_instance_of::<pyo3::types::PyType>().then(|| of_class(argument.as_ptr().cast()))?
}
