//! Messages as Python objects: one block of memory with the message's bytes in it.
//!
//! WHY not PyO3's classes: their layout is that of a Rust type, and here one Rust type serves every
//! message, whatever its size. So the classes are made by the C API, of the table of fields; only
//! their common base, with all that is not fast, is PyO3's.

use std::ffi::{CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use horus_core::message::{FRAMED_KINDS, STANDARD, standard_default, timestamp_now_ns};
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString, PyTuple, PyType};
use pyo3::{IntoPyObjectExt, ffi};

use crate::message::counts;
use crate::message::field;
use crate::message::framed;
use crate::message::kind::{self, Compared, Field, Kind};

/// A message. Its bytes follow, or lie in the message `owner`, of which this is a part.
#[repr(C)]
pub(crate) struct Object {
    head: ffi::PyObject,
    part: Part,
}

/// What a message has besides what every object has.
#[repr(C)]
struct Part {
    kind: &'static Kind,
    data: *mut u8,
    owner: *mut ffi::PyObject,
}

/// Where the bytes of a message that owns them begin: aligned as any message has to be.
const HEAD_BYTES: usize = size_of::<Object>();
const _: () = assert!(HEAD_BYTES.is_multiple_of(8));

/// What Python sees as the base of all classes of messages.
#[pyclass(frozen, subclass, module = "horus")]
#[derive(Debug)]
pub(crate) struct Message;

/// A new message with these bytes.
pub(crate) fn copied<'py>(
    py: Python<'py>,
    kind: &'static Kind,
    bytes: &[u8],
) -> PyResult<Bound<'py, PyAny>> {
    assert_eq!(bytes.len(), kind.bytes, "a message of {}", kind.schema.name);
    let object = allocate(py, kind)?;
    // SAFETY: the object is new, and has room for so many bytes.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), data(&object), kind.bytes) };
    Ok(object)
}

/// A new message of zeros.
pub(crate) fn zeroed<'py>(py: Python<'py>, kind: &'static Kind) -> PyResult<Bound<'py, PyAny>> {
    let object = allocate(py, kind)?;
    // SAFETY: the object is new, and has room for so many bytes.
    unsafe { std::ptr::write_bytes(data(&object), 0, kind.bytes) };
    Ok(object)
}

/// A new message whose bytes are anything.
#[inline]
fn allocate<'py>(py: Python<'py>, kind: &'static Kind) -> PyResult<Bound<'py, PyAny>> {
    with_room(py, kind, 0)
}

/// A new message whose bytes are anything, and `room` bytes before them for whatever else it has,
/// which nobody has written: see [`room_of`].
///
/// `room` is a multiple of 8.
#[inline]
pub(crate) fn with_room<'py>(
    py: Python<'py>,
    kind: &'static Kind,
    room: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let object = block(py, kind, room + kind.bytes)?;
    // SAFETY: the block has so many bytes after the head.
    let data = unsafe { object.as_ptr().cast::<u8>().add(HEAD_BYTES + room) };
    // SAFETY: the object is new, nobody else knows it.
    unsafe { (*object.as_ptr().cast::<Object>()).part.data = data };
    Ok(object)
}

/// Where the room of a message is that was made [`with_room`].
#[inline]
pub(crate) fn room_of(object: *mut ffi::PyObject) -> *mut u8 {
    object.cast::<u8>().wrapping_add(HEAD_BYTES)
}

/// The part of `whole` at `offset`, a message itself: no bytes of its own.
pub(crate) fn part<'py>(
    whole: &Bound<'py, PyAny>,
    kind: &'static Kind,
    offset: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let object = block(whole.py(), kind, 0)?;
    // SAFETY: the object is new, nobody else knows it.
    let this = unsafe { &mut *object.as_ptr().cast::<Object>() };
    // SAFETY: the caller says that the part lies in the whole, which is a message.
    this.part.data = unsafe { data(whole).add(offset) };
    // The part keeps the whole alive.
    this.part.owner = whole.clone().into_ptr();
    Ok(object)
}

/// A head and `bytes` after it.
#[inline]
fn block<'py>(py: Python<'py>, kind: &'static Kind, bytes: usize) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the interpreter is attached.
    let block = unsafe { ffi::PyObject_Malloc(HEAD_BYTES + bytes) }.cast::<Object>();
    if block.is_null() {
        return Err(pyo3::exceptions::PyMemoryError::new_err(()));
    }
    // SAFETY: the class is one of ours, whose instances begin with a head; the block has room.
    let object = unsafe { ffi::PyObject_Init(block.cast(), kind.class()) };
    // SAFETY: the block begins with a head, of which nothing but what Python has just written is
    // read before the next lines.
    let place = unsafe { (&raw mut (*block).part).cast::<Part>() };
    let part = Part { kind, data: std::ptr::null_mut(), owner: std::ptr::null_mut() };
    // SAFETY: as above; nobody else knows the block.
    unsafe { place.write(part) };
    // SAFETY: a new object, of which this is the only reference.
    Ok(unsafe { Bound::from_owned_ptr(py, object) })
}

/// Where the bytes of a message are. It has to be one.
#[inline]
pub(crate) fn data(message: &Bound<'_, PyAny>) -> *mut u8 {
    // SAFETY: every message begins with a head, which never changes.
    unsafe { (*message.as_ptr().cast::<Object>()).part.data }
}

/// The kind of a message. It has to be one.
#[inline]
pub(crate) fn kind_of(message: &Bound<'_, PyAny>) -> &'static Kind {
    // SAFETY: every message begins with a head, which never changes.
    unsafe { (*message.as_ptr().cast::<Object>()).part.kind }
}

/// The bytes of a message, for as long as Python cannot run.
#[inline]
pub(crate) fn bytes<'a>(message: &'a Bound<'_, PyAny>) -> &'a [u8] {
    // SAFETY: a message has so many bytes as long as it lives; only who holds the GIL writes them.
    unsafe { std::slice::from_raw_parts(data(message), kind_of(message).bytes) }
}

/// The bytes of a message, to be written.
///
/// # Safety
///
/// Nobody else knows the message.
#[inline]
pub(crate) unsafe fn bytes_mut<'a>(message: &Bound<'_, PyAny>) -> &'a mut [u8] {
    let (data, bytes) = (data(message), kind_of(message).bytes);
    // SAFETY: a message has so many bytes; by the contract, no other reference to them exists.
    unsafe { std::slice::from_raw_parts_mut(data, bytes) }
}

/// Whether an object is a message of any kind.
#[inline]
pub(crate) fn is_message(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<Message>()
}

/// Runs what Python called. A panic becomes an exception; without a result, `failed` is returned.
///
/// For what is called often. PyO3 does not know that the interpreter is attached, which spares its
/// guard, and keeps what is dropped meanwhile (exceptions, for one) until it is told: so what drops
/// some and does not fail has to call [`release`], or to use [`guard_known`].
#[inline]
pub(crate) fn guard<T>(failed: T, call: impl FnOnce(Python<'_>) -> PyResult<T>) -> T {
    // SAFETY: Python calls the functions of a class with the interpreter attached.
    let py = unsafe { Python::assume_attached() };
    let error = match catch_unwind(AssertUnwindSafe(|| call(py))) {
        Ok(Ok(result)) => return result,
        Ok(Err(error)) => error,
        Err(_) => panicked(),
    };
    release();
    error.restore(py);
    failed
}

/// [`guard`], but PyO3 knows: some 20 ns more.
pub(crate) fn guard_known<T: Copy>(failed: T, call: impl FnOnce(Python<'_>) -> PyResult<T>) -> T {
    let mut call = Some(call);
    let mut run = |py: Python<'_>| call.take().map_or(Ok(failed), |call| call(py));
    // WHY not `attach`: while the interpreter ends, that panics where this says no.
    Python::try_attach(|_| guard(failed, &mut run)).unwrap_or_else(|| guard(failed, &mut run))
}

#[cold]
fn panicked() -> PyErr {
    PyRuntimeError::new_err("horus panicked: report this as a bug")
}

/// Has PyO3 release what was dropped while it did not know that the interpreter is attached.
#[cold]
pub(crate) fn release() {
    // WHY not `attach`: as above; what is left then goes with the process.
    let _ = Python::try_attach(|_| ());
}

/// `tp_new`: a message with its defaults, and what the keywords say.
unsafe extern "C" fn new(
    class: *mut ffi::PyTypeObject,
    args: *mut ffi::PyObject,
    kwargs: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    guard_known(std::ptr::null_mut(), |py| {
        let kind = kind::of_class(class).ok_or_else(|| PyTypeError::new_err("not a message"))?;
        // SAFETY: Python gives a tuple.
        if unsafe { ffi::PyTuple_Size(args) } != 0 {
            let name = kind.schema.name;
            let text = format!("{name}() takes keywords only: {name}({}=…)", kind.fields[0].name);
            return Err(PyTypeError::new_err(text));
        }
        let object = copied(py, kind, &kind.default)?;
        // SAFETY: Python gives a dictionary or null.
        let kwargs = unsafe { Bound::from_borrowed_ptr_or_opt(py, kwargs) };
        if let Some(kwargs) = kwargs {
            set_all(&object, kind, kwargs.cast::<PyDict>()?)?;
        }
        Ok(object.into_ptr())
    })
}

/// Sets the fields of a message that nobody has seen yet, and what counts the elements of arrays.
pub(crate) fn set_all(
    object: &Bound<'_, PyAny>,
    kind: &Kind,
    fields: &Bound<'_, PyDict>,
) -> PyResult<()> {
    let mut arrays = Vec::new();
    for (name, value) in fields {
        let field = named(kind, name.cast::<PyString>()?)?;
        let found = field::set(object, field, &value, |_| Ok(()))?;
        if !field.counts.is_empty() {
            arrays.push((field, found));
        }
    }
    if arrays.is_empty() {
        return Ok(());
    }
    counts::complete(object, &arrays, |name| fields.contains(name))
}

/// Changes the default of a kind that nobody has seen yet.
pub(crate) fn set_default(
    kind: &Kind,
    default: &mut [u8],
    name: &Bound<'_, PyString>,
    value: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let field = named(kind, name)?;
    let bytes = field.offset..field.offset + field.bytes();
    field::set_bytes(field, value, &mut default[bytes]).map(drop)
}

fn named<'a>(kind: &'a Kind, name: &Bound<'_, PyString>) -> PyResult<&'a Field> {
    let name = name.to_str()?;
    kind.field(name).ok_or_else(|| {
        let known: Vec<_> = kind.fields.iter().map(|field| field.name).collect();
        let text = format!("{} has no field '{name}', only {}", kind.schema.name, known.join(", "));
        PyTypeError::new_err(text)
    })
}

/// `tp_dealloc`.
pub(crate) unsafe extern "C" fn dealloc(object: *mut ffi::PyObject) {
    // SAFETY: Python gives the last reference to a message.
    let class = unsafe { ffi::Py_TYPE(object) };
    // SAFETY: as above.
    let owner = unsafe { (*object.cast::<Object>()).part.owner };
    // SAFETY: the block is from `PyObject_Malloc`; whoever exports its bytes has a reference.
    unsafe { ffi::PyObject_Free(object.cast()) };
    // SAFETY: the object had a reference to its owner, or none.
    unsafe { ffi::Py_XDECREF(owner) };
    // SAFETY: the object had a reference to its class.
    unsafe { ffi::Py_DECREF(class.cast()) };
}

/// `tp_traverse`: a message refers to nothing that could refer to it.
///
/// WHY at all: a class without it takes after its base, which is collected by the garbage
/// collector; messages have no head for that.
unsafe extern "C" fn traverse(
    _object: *mut ffi::PyObject,
    _visit: ffi::visitproc,
    _argument: *mut c_void,
) -> c_int {
    0
}

/// `bf_getbuffer`: the bytes, to read and write.
unsafe extern "C" fn get_buffer(
    object: *mut ffi::PyObject,
    view: *mut ffi::Py_buffer,
    flags: c_int,
) -> c_int {
    // SAFETY: Python calls this with a message.
    let this = unsafe { &(*object.cast::<Object>()).part };
    let bytes = isize::try_from(this.kind.bytes).unwrap_or(isize::MAX);
    // SAFETY: the bytes live as long as the object, to which the view gets a reference.
    unsafe { ffi::PyBuffer_FillInfo(view, object, this.data.cast(), bytes, 0, flags) }
}

unsafe extern "C" fn get(object: *mut ffi::PyObject, field: *mut c_void) -> *mut ffi::PyObject {
    guard(std::ptr::null_mut(), |py| {
        // SAFETY: the closure of this class's table, which is a field that lives forever.
        let field = unsafe { &*field.cast::<Field>() };
        // SAFETY: Python gives a message of the class.
        let object = unsafe { Bound::from_borrowed_ptr(py, object) };
        Ok(field::get(&object, field)?.into_ptr())
    })
}

unsafe extern "C" fn set(
    object: *mut ffi::PyObject,
    value: *mut ffi::PyObject,
    field: *mut c_void,
) -> c_int {
    guard_known(-1, |py| {
        // SAFETY: the closure of this class's table, which is a field that lives forever.
        let field = unsafe { &*field.cast::<Field>() };
        // SAFETY: Python gives a message of the class.
        let object = unsafe { Bound::from_borrowed_ptr(py, object) };
        // SAFETY: Python gives an object, or null for `del`.
        let value = unsafe { Bound::from_borrowed_ptr_or_opt(py, value) };
        if kind_of(&object).framed.is_some() {
            framed::before_change(&object)?;
        }
        let Some(value) = value else {
            let text = format!("a {} always has '{}'", field.message, field.name);
            return Err(PyTypeError::new_err(text));
        };
        field::change(&object, field, &value)?;
        Ok(0)
    })
}

/// Makes the class of a kind and makes it known.
pub(crate) fn make_class<'py>(
    py: Python<'py>,
    kind: &'static Kind,
    module: &str,
    doc: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let text =
        |text: &str| CString::new(text).map_err(|_| PyValueError::new_err("a NUL in a name"));
    let mut getset = Vec::new();
    for field in &kind.fields {
        let doc = kind.schema.fields.iter().find(|other| other.name == field.name);
        // WHY leaked: Python keeps the addresses for as long as the class lives, which is forever.
        getset.push(ffi::PyGetSetDef {
            name: text(field.name)?.into_raw(),
            get: Some(get),
            set: Some(set),
            doc: text(doc.map_or("", |field| field.doc.trim()))?.into_raw(),
            closure: std::ptr::from_ref(field).cast_mut().cast(),
        });
    }
    // SAFETY: a row of zeros is how Python knows the end.
    getset.push(unsafe { std::mem::zeroed() });
    let name = text(&format!("{module}.{}", kind.schema.name))?.into_raw();
    let slot = |slot: c_int, pfunc: *mut c_void| ffi::PyType_Slot { slot, pfunc };
    let room = if kind.framed.is_some() { framed::ROOM } else { 0 };
    let (makes, ends) = match kind.framed {
        Some(_) => (framed::new as *mut c_void, framed::dealloc as *mut c_void),
        None => (new as *mut c_void, dealloc as *mut c_void),
    };
    let mut slots = [
        slot(ffi::Py_tp_new, makes),
        slot(ffi::Py_tp_dealloc, ends),
        slot(ffi::Py_tp_traverse, traverse as *mut c_void),
        slot(ffi::Py_tp_getset, Vec::leak(getset).as_mut_ptr().cast()),
        slot(ffi::Py_tp_doc, text(doc.trim())?.into_raw().cast::<c_char>().cast()),
        // WHY not the data of messages that end in some: theirs have shapes, which numpy asks for.
        match kind.framed {
            Some(_) => slot(0, std::ptr::null_mut()),
            None => slot(ffi::Py_bf_getbuffer, get_buffer as *mut c_void),
        },
        slot(0, std::ptr::null_mut()),
    ];
    let mut spec = ffi::PyType_Spec {
        name,
        basicsize: c_int::try_from(HEAD_BYTES + room + kind.bytes)?,
        itemsize: 0,
        flags: u32::try_from(ffi::Py_TPFLAGS_DEFAULT)?,
        slots: slots.as_mut_ptr(),
    };
    let bases = PyTuple::new(py, [kind.base(py)])?;
    // SAFETY: the tables end in zeros, their strings and functions live forever.
    let class = unsafe { ffi::PyType_FromSpecWithBases(&raw mut spec, bases.as_ptr()) };
    // SAFETY: a new reference, or null and an exception.
    let class = unsafe { Bound::from_owned_ptr_or_err(py, class)? };
    // SAFETY: it is a class.
    let flags = unsafe { ffi::PyType_GetFlags(class.as_ptr().cast()) };
    if flags & ffi::Py_TPFLAGS_HAVE_GC != 0 {
        return Err(PyRuntimeError::new_err("messages cannot be made without garbage collection"));
    }
    for constant in kind.schema.constants {
        class.setattr(constant.name, constant.value)?;
    }
    class.setattr("__horus_schema__", kind.payload.schema())?;
    class.setattr("__horus_hash__", kind.payload.hash())?;
    kind::add(kind, &class);
    Ok(class)
}

/// Adds the standard messages and their base to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add_class::<Message>()?;
    framed::register(module)?;
    for name in ["dtype", "__horus_dtype__"] {
        py.get_type::<Message>().setattr(name, crate::message::dtype::DType)?;
    }
    let classes = PyDict::new(py);
    for schema in STANDARD.iter().copied() {
        let framed = FRAMED_KINDS.iter().find(|kind| kind.schema().name == schema.name);
        let kind = match (framed, standard_default(schema.name)) {
            (Some(framed), _) => Kind::framed(framed),
            (None, Some(default)) => Kind::new(schema, default)?,
            (None, None) => continue,
        };
        let kind = Box::leak(Box::new(kind));
        let class = make_class(py, kind, "horus", schema.doc)?;
        classes.set_item(schema.name, class)?;
    }
    module.add("_STANDARD", classes)?;
    module.add_function(wrap_pyfunction!(_restore, module)?)?;
    module.add_function(wrap_pyfunction!(counts::_counted, module)?)?;
    module.add_function(wrap_pyfunction!(py_timestamp_now_ns, module)?)
}

/// What `pickle` calls: a message of `class`, if that still has this hash.
#[pyfunction]
#[pyo3(signature = (class, hash, bytes, /))]
fn _restore<'py>(
    class: &Bound<'py, PyAny>,
    hash: u128,
    bytes: &[u8],
) -> PyResult<Bound<'py, PyAny>> {
    let kind = known(class)?;
    if kind.payload.hash() != hash {
        let text = format!("the pickled {} has other fields than this one", kind.schema.name);
        return Err(PyValueError::new_err(text));
    }
    of_bytes(class, kind, bytes)
}

/// Nanoseconds since 1970 by CLOCK_REALTIME: what `timestamp_ns` of a message is.
#[pyfunction]
#[pyo3(name = "timestamp_now_ns")]
fn py_timestamp_now_ns() -> u64 {
    timestamp_now_ns()
}

fn known(class: &Bound<'_, PyAny>) -> PyResult<&'static Kind> {
    let wanted = || PyTypeError::new_err(format!("{class} is not a class of messages"));
    kind::of_argument(class).ok_or_else(wanted)
}

fn of_bytes<'py>(
    class: &Bound<'py, PyAny>,
    kind: &'static Kind,
    bytes: &[u8],
) -> PyResult<Bound<'py, PyAny>> {
    if bytes.len() != kind.bytes {
        let (name, found, wanted) = (kind.schema.name, bytes.len(), kind.bytes);
        let text = format!("{found} bytes, and a {name} has {wanted}");
        return Err(PyValueError::new_err(text));
    }
    copied(class.py(), kind, bytes)
}

#[pymethods]
impl Message {
    /// The message with these bytes.
    #[classmethod]
    fn from_bytes<'py>(
        class: &Bound<'py, PyType>,
        bytes: pyo3::buffer::PyBuffer<u8>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let bytes = bytes.to_vec(class.py())?;
        of_bytes(class, known(class)?, &bytes)
    }

    /// A message stamped with the current time.
    #[classmethod]
    #[pyo3(signature = (**fields))]
    fn now<'py>(
        class: &Bound<'py, PyType>,
        fields: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let kind = known(class)?;
        let Some(stamp) = kind.stamp else {
            let text = format!("{} has no field 'timestamp_ns'", kind.schema.name);
            return Err(PyTypeError::new_err(text));
        };
        let message = class.call((), fields)?;
        let now = timestamp_now_ns().to_ne_bytes();
        // SAFETY: nobody else knows the message yet.
        let bytes = unsafe { bytes_mut(&message) };
        bytes[stamp..stamp + 8].copy_from_slice(&now);
        Ok(message)
    }

    /// A message of its own with the same content.
    fn copy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        copied(slf.py(), kind_of(slf), bytes(slf))
    }

    fn __copy__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::copy(slf)
    }

    fn __deepcopy__<'py>(
        slf: &Bound<'py, Self>,
        _memo: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Self::copy(slf)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let restore = py.import("horus._horus")?.getattr("_restore")?;
        let bytes = PyBytes::new(py, bytes(slf));
        (restore, (slf.get_type(), kind_of(slf).payload.hash(), bytes)).into_bound_py_any(py)
    }

    /// The message as a structured numpy array of no dimensions, in place: nothing is copied.
    fn to_numpy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        crate::message::dtype::view(slf)
    }

    fn __bytes__<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyBytes> {
        PyBytes::new(slf.py(), bytes(slf))
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let class = slf.get_type();
        let mut text = String::new();
        field::write_message(&mut text, &class.module()?.to_string_lossy(), slf)?;
        Ok(text)
    }

    fn __richcmp__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        op: CompareOp,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let same_class = slf.get_type().is(other.get_type());
        match op {
            CompareOp::Eq if same_class => equal(slf, other).into_bound_py_any(py),
            CompareOp::Ne if same_class => (!equal(slf, other)).into_bound_py_any(py),
            _ => Ok(py.NotImplemented().into_bound(py)),
        }
    }
}

/// Whether two messages of one class say the same.
pub(crate) fn equal(one: &Bound<'_, PyAny>, other: &Bound<'_, PyAny>) -> bool {
    let (runs, one, other) = (&kind_of(one).runs, bytes(one), bytes(other));
    runs.iter().all(|run| {
        let range = run.offset..run.offset + run.bytes;
        let (one, other) = (&one[range.clone()], &other[range]);
        match run.compared {
            Compared::Bytes => one == other,
            Compared::F32 => same(one, other, f32::from_ne_bytes),
            Compared::F64 => same(one, other, f64::from_ne_bytes),
        }
    })
}

fn same<T: PartialEq, const N: usize>(one: &[u8], other: &[u8], read: fn([u8; N]) -> T) -> bool {
    let (one, other) = (one.as_chunks::<N>().0, other.as_chunks::<N>().0);
    one.iter().zip(other).all(|(one, other)| read(*one) == read(*other))
}
