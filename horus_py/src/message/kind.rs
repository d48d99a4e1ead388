//! The kinds of messages: for each kind its table of fields, and the Python class that is made from
//! it.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use horus_core::message::{
    DType, FieldKind, FramedKind, Primitive, STANDARD, Schema, Tail, monotonic_now_ns,
    timestamp_now_ns,
};
use horus_core::topic::DynamicType;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::message::count_fields::count_fields_of;

/// A message type, with the data that its Python class needs. It is never freed, like its Python
/// class.
pub(crate) struct MessageKind {
    pub(crate) schema: &'static Schema,
    pub(crate) payload: DynamicType,
    /// Size of a message of this kind in bytes. If data follow the message, this is the size of its
    /// header.
    pub(crate) bytes: usize,
    /// The functions for the data that follow the header; `None` for messages of fixed size.
    pub(crate) framed: Option<&'static FramedKind>,
    /// The bytes of a message in which all fields have their default values. A new message is a
    /// copy of them.
    pub(crate) default: Box<[u8]>,
    pub(crate) fields: Box<[Field]>,
    /// The parts of a message that `==` compares, in the order of their offsets. Each part is
    /// compared in its own way, for example as floats.
    pub(crate) byte_runs: Box<[ComparedBytes]>,
    /// The offset of the field `timestamp_ns` in bytes; `None` if the message has no such field.
    timestamp_offset: Option<usize>,
    /// The offset of the field `monotonic_ns` in bytes; `None` if the message has no such field.
    monotonic_offset: Option<usize>,
    /// The structured numpy type of messages of this kind. It is made when it is first needed.
    pub(crate) dtype: PyOnceLock<Py<PyAny>>,
    /// The Python class of messages of this kind; null until it is made. The class is never freed.
    class: AtomicPtr<ffi::PyTypeObject>,
}

/// A field of a message, with the information that its getter and setter need.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) message: &'static str,
    pub(crate) name: &'static str,
    pub(crate) kind: FieldKind,
    pub(crate) offset: usize,
    pub(crate) count: usize,
    /// True if the value of the field is an array. An array that a program declares may have one
    /// element.
    pub(crate) is_array: bool,
    /// The type of the numbers in the field. `None` if the field has no numbers, or numbers of a
    /// type that is not in [`DType`].
    pub(crate) dtype: Option<DType>,
    /// The kind of the messages nested in the field; `None` if the field holds no messages.
    pub(crate) inner: Option<&'static MessageKind>,
    /// The names of the fields that count the elements in use of this array. The product of these
    /// fields is the number of elements. Empty if all elements are always in use.
    pub(crate) counts: &'static [&'static str],
}

impl Field {
    /// Returns the size of the field in bytes, with all its elements.
    pub(crate) const fn bytes(&self) -> usize {
        self.kind.size() * self.count
    }
}

/// A part of a message's bytes that `==` compares in a single way, for example as floats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ComparedBytes {
    pub(crate) comparison: Comparison,
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
}

/// The way in which a part of a message is compared: byte by byte, or as floats. As floats, −0
/// equals 0, and NaN equals nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Bytes,
    F32,
    F64,
}

impl fmt::Debug for MessageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MessageKind({})", self.schema.name)
    }
}

impl MessageKind {
    /// Makes the kind for messages that have the fields of `schema`. The kinds of its nested
    /// messages must exist already.
    pub(crate) fn new(schema: &'static Schema, default: Box<[u8]>) -> PyResult<Self> {
        let payload = DynamicType::parse(&schema.text());
        let payload = payload.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        Ok(Self::build(schema, default, payload, None))
    }

    /// Checks that messages of this kind have the field `timestamp_ns`. Raises `TypeError` if they
    /// have no such field.
    pub(crate) fn ensure_has_timestamp(&self) -> PyResult<()> {
        if self.timestamp_offset.is_some() {
            return Ok(());
        }
        let text = format!("{} has no field 'timestamp_ns'", self.schema.name);
        Err(PyTypeError::new_err(text))
    }

    /// Writes the current time to those fields of a message that hold a time.
    pub(crate) fn set_timestamps(&self, message: &mut [u8]) {
        let mut write = |offset: Option<usize>, now_ns: u64| {
            if let Some(offset) = offset {
                message[offset..offset + 8].copy_from_slice(&now_ns.to_ne_bytes());
            }
        };
        write(self.timestamp_offset, timestamp_now_ns());
        write(self.monotonic_offset, monotonic_now_ns());
    }

    /// Makes a kind for messages that are followed by data, such as images.
    pub(crate) fn framed(framed: &'static FramedKind, default: Box<[u8]>) -> Self {
        Self::build(framed.schema(), default, framed.payload(), Some(framed))
    }

    /// Returns the description of the numbers after the fields, if one of the fields says how many
    /// there are; otherwise `None`. The Python class has an attribute for these numbers.
    pub(crate) fn counted_tail(&self) -> Option<Tail> {
        self.schema
            .tail
            .filter(|_| self.framed.is_some_and(FramedKind::is_counted))
    }

    fn build(
        schema: &'static Schema,
        default: Box<[u8]>,
        payload: DynamicType,
        framed: Option<&'static FramedKind>,
    ) -> Self {
        // WHY: a program may declare a message of the same name.
        let is_standard = STANDARD
            .iter()
            .any(|standard| standard.name == schema.name && standard.hash() == schema.hash());
        let field = |field: &horus_core::message::Field| Field {
            counts: if is_standard {
                count_fields_of(schema.name, field.name)
            } else {
                &[]
            },
            message: schema.name,
            name: field.name,
            kind: field.kind,
            offset: field.offset,
            count: field.count,
            is_array: field.count > 1,
            dtype: match field.kind {
                FieldKind::Primitive(primitive) => DType::from_primitive(primitive),
                _ => None,
            },
            inner: match field.kind {
                FieldKind::Message(inner) => lock_kinds().kind_of_schema(inner),
                _ => None,
            },
        };
        let fields: Box<[Field]> = schema.fields.iter().map(field).collect();
        let mut runs = Vec::new();
        add_compared_bytes_of_fields(&mut runs, schema, 0);
        let offset_of = |name: &str| {
            let mut fields = fields.iter();
            let field = fields.find(|field| field.name == name && field.is_u64())?;
            Some(field.offset)
        };
        let timestamp_offset = offset_of("timestamp_ns");
        let monotonic_offset = offset_of("monotonic_ns");
        let runs = runs.into();
        let bytes = schema.size;
        let dtype = PyOnceLock::new();
        let class = AtomicPtr::default();
        Self {
            schema,
            payload,
            bytes,
            framed,
            default,
            fields,
            byte_runs: runs,
            timestamp_offset,
            monotonic_offset,
            dtype,
            class,
        }
    }

    /// Returns the Python class of messages of this kind. It is always made before the first
    /// message of the kind.
    #[inline]
    pub(crate) fn class(&self) -> *mut ffi::PyTypeObject {
        // Relaxed: set once, under the GIL.
        self.class.load(Ordering::Relaxed)
    }

    /// Returns true if the object is a message of this kind. Only the class itself has to be
    /// compared, because message classes cannot be subclassed.
    #[inline]
    pub(crate) fn is_kind_of(&self, object: &Bound<'_, PyAny>) -> bool {
        object.get_type_ptr() == self.class()
    }

    /// Returns the field with this name; `None` if the message has no such field.
    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

impl Field {
    fn is_u64(&self) -> bool {
        matches!(self.kind, FieldKind::Primitive(Primitive::U64)) && self.count == 1
    }

    /// Returns true if the name of the field marks it as explicit padding. `repr` shows such a
    /// field only if its value is not 0.
    pub(crate) fn is_reserved(&self) -> bool {
        self.name.starts_with("_reserved")
    }
}

fn add_compared_bytes_of_fields(runs: &mut Vec<ComparedBytes>, schema: &Schema, base: usize) {
    for field in schema.fields {
        let offset = base + field.offset;
        let comparison = match field.kind {
            FieldKind::Message(inner) => {
                for index in 0..field.count {
                    add_compared_bytes_of_fields(runs, inner, offset + index * inner.size);
                }
                continue;
            }
            FieldKind::Primitive(Primitive::F32) => Comparison::F32,
            FieldKind::Primitive(Primitive::F64) => Comparison::F64,
            _ => Comparison::Bytes,
        };
        let bytes = field.kind.size() * field.count;
        match runs.last_mut() {
            Some(last) if last.comparison == comparison => last.bytes += bytes,
            _ => runs.push(ComparedBytes {
                comparison,
                offset,
                bytes,
            }),
        }
    }
}

/// All kinds of messages for which a Python class was made.
#[derive(Debug, Default)]
pub(crate) struct MessageKindTable {
    /// The kinds, each with the memory address of its Python class as the key.
    by_class: HashMap<usize, &'static MessageKind>,
    /// The kinds, each with the memory address of its schema as the key.
    by_schema: HashMap<usize, &'static MessageKind>,
    /// For each schema hash, the kind that was the first to be registered with it.
    by_hash: HashMap<u128, &'static MessageKind>,
}

impl MessageKindTable {
    /// Returns the kind with this schema or, if the schema is that of a message that is nested in a
    /// standard one, the first kind with an equal schema.
    ///
    /// WHY not by the hash alone: a program may declare an equal message again, as when a cell of a
    /// notebook runs twice. Each declaration has its own class.
    fn kind_of_schema(&self, schema: &'static Schema) -> Option<&'static MessageKind> {
        let own = self.by_schema.get(&std::ptr::from_ref(schema).addr());
        own.or_else(|| self.by_hash.get(&schema.hash())).copied()
    }
}

static MESSAGE_KINDS: Mutex<Option<MessageKindTable>> = Mutex::new(None);

/// Locks the table of kinds. Python must not be called while it is locked.
fn lock_kinds() -> MessageKindTableGuard {
    let mut guard = MESSAGE_KINDS.lock().unwrap_or_else(PoisonError::into_inner);
    guard.get_or_insert_default();
    MessageKindTableGuard(guard)
}

struct MessageKindTableGuard(MutexGuard<'static, Option<MessageKindTable>>);

impl std::ops::Deref for MessageKindTableGuard {
    type Target = MessageKindTable;

    fn deref(&self) -> &MessageKindTable {
        self.0.as_ref().expect("filled when it was locked")
    }
}

impl std::ops::DerefMut for MessageKindTableGuard {
    fn deref_mut(&mut self) -> &mut MessageKindTable {
        self.0.as_mut().expect("filled when it was locked")
    }
}

/// Registers `class` as the class of `kind`.
pub(crate) fn register_class(kind: &'static MessageKind, class: &Bound<'_, PyAny>) {
    // WHY leaked: messages are made with the address of the class.
    let address = class.clone().into_ptr();
    kind.class.store(address.cast(), Ordering::Relaxed);
    let mut kinds = lock_kinds();
    kinds.by_class.insert(address as usize, kind);
    let schema = std::ptr::from_ref(kind.schema).addr();
    kinds.by_schema.insert(schema, kind);
    kinds.by_hash.entry(kind.payload.hash()).or_insert(kind);
}

/// Returns the kind to which a class belongs; `None` if the class is not a message class.
pub(crate) fn kind_of_class(class: *mut ffi::PyTypeObject) -> Option<&'static MessageKind> {
    lock_kinds().by_class.get(&(class as usize)).copied()
}

/// Returns the kind for an argument that should be a message class; `None` if it is not a message
/// class.
pub(crate) fn kind_of_argument(argument: &Bound<'_, PyAny>) -> Option<&'static MessageKind> {
    argument
        .is_instance_of::<pyo3::types::PyType>()
        .then(|| kind_of_class(argument.as_ptr().cast()))?
}
