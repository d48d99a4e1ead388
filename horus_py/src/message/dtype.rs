//! The structured numpy types of messages, and views of messages as numpy arrays without copies.

use horus_core::message::FieldKind;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::message::field::numpy_code;
use crate::message::kind::{self, MessageKind};
use crate::numpy::required_numpy;

/// The descriptor of the class attribute `dtype`. It makes the numpy type when the attribute is
/// first read, so that only programs that use the attribute import numpy.
#[pyclass(frozen, name = "_DType", module = "horus._horus")]
#[derive(Debug)]
pub(crate) struct DType;

#[pymethods]
impl DType {
    fn __get__<'py>(
        &self,
        object: &Bound<'py, PyAny>,
        class: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let class = class.map_or_else(|| object.get_type().into_any(), Bound::clone);
        match kind::kind_of_argument(&class) {
            Some(kind) => dtype(class.py(), kind),
            None => Err(pyo3::exceptions::PyAttributeError::new_err("dtype")),
        }
    }
}

/// Returns the structured numpy type for a kind of messages. The first call makes the type.
pub(crate) fn dtype<'py>(py: Python<'py>, kind: &MessageKind) -> PyResult<Bound<'py, PyAny>> {
    let made = kind
        .dtype
        .get_or_try_init(py, || make_dtype(py, kind).map(Bound::unbind))?;
    Ok(made.bind(py).clone())
}

fn make_dtype<'py>(py: Python<'py>, kind: &MessageKind) -> PyResult<Bound<'py, PyAny>> {
    let numpy = required_numpy(py)?.module.bind(py);
    let format = |field: &kind::Field| {
        let element = match (field.kind, field.inner) {
            (FieldKind::Primitive(primitive), _) => {
                PyString::new(py, &format!("<{}", numpy_code(primitive))).into_any()
            }
            (FieldKind::Text(bytes), _) => PyString::new(py, &format!("S{bytes}")).into_any(),
            (FieldKind::Message(_), Some(inner)) => dtype(py, inner)?,
            (FieldKind::Message(schema), None) => {
                let text = format!("the class of {} is not made yet", schema.name);
                return Err(pyo3::exceptions::PyRuntimeError::new_err(text));
            }
        };
        if field.is_array {
            numpy.call_method1("dtype", ((element, (field.count,)),))
        } else {
            Ok(element)
        }
    };
    let fields = &kind.fields;
    let formats: Vec<_> = fields.iter().map(format).collect::<PyResult<_>>()?;
    let layout = PyDict::new(py);
    layout.set_item(
        "names",
        fields.iter().map(|field| field.name).collect::<Vec<_>>(),
    )?;
    layout.set_item("formats", formats)?;
    layout.set_item(
        "offsets",
        fields.iter().map(|field| field.offset).collect::<Vec<_>>(),
    )?;
    layout.set_item("itemsize", kind.bytes)?;
    numpy.call_method1("dtype", (layout,))
}

/// Returns a view of a message as a structured numpy array of no dimensions.
pub(crate) fn array_view<'py>(message: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = message.py();
    let dtype = dtype(py, crate::message::instance::kind_of(message))?;
    required_numpy(py)?
        .module
        .bind(py)
        .call_method1("ndarray", ((), dtype, message))
}
