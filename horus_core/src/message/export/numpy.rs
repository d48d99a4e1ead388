//! Generates numpy layouts, in a Python module that imports numpy only on demand.

use super::super::{Constant, Field, FieldKind, Primitive, Schema, Tail};
use super::append_formatted;

const FILE_HEADER: &str = "\
# @generated from the table of fields in horus_core/src/message/.
\"\"\"Layouts of the standard messages: what numpy needs to read and write them in place.\"\"\"

";

const FILE_FOOTER: &str = r#"

def dtype(name):
    """The numpy dtype of the message called `name`."""
    import numpy

    layout = LAYOUTS[name]
    formats = [
        (dtype(kind) if kind in LAYOUTS else kind, shape) for kind, shape in layout["formats"]
    ]
    return numpy.dtype({**layout, "formats": formats})
"#;

/// Generates a Python module with `LAYOUTS`, `TAILS`, `CONSTANTS`, `HASHES` and `dtype(name)`.
///
/// `LAYOUTS` is a dictionary from message names to `names`, `formats`, `offsets` and `itemsize`, in
/// the form that `numpy.dtype` takes. A format is a pair of type and shape. For a nested message,
/// the type is the name of that message.
#[must_use]
pub fn numpy(messages: &[&Schema]) -> String {
    let mut out = String::from(FILE_HEADER);
    out.push_str("LAYOUTS = {\n");
    for schema in messages {
        write_layout(&mut out, schema);
    }
    out.push_str("}\n\n# What follows the layout, up to the end of the message.\nTAILS = {\n");
    for schema in messages {
        if let Some(Tail { name, primitive }) = schema.tail {
            let kind = numpy_type(primitive);
            append_formatted(
                &mut out,
                format_args!("    \"{}\": (\"{name}\", \"{kind}\"),\n", schema.name),
            );
        }
    }
    out.push_str("}\n\nCONSTANTS = {\n");
    for schema in messages
        .iter()
        .filter(|schema| !schema.constants.is_empty())
    {
        append_formatted(&mut out, format_args!("    \"{}\": {{\n", schema.name));
        for Constant { name, value, .. } in schema.constants {
            append_formatted(&mut out, format_args!("        \"{name}\": {value},\n"));
        }
        out.push_str("    },\n");
    }
    out.push_str("}\n\nHASHES = {\n");
    for schema in messages {
        append_formatted(
            &mut out,
            format_args!("    \"{}\": 0x{:032x},\n", schema.name, schema.hash()),
        );
    }
    out + "}\n" + FILE_FOOTER
}

fn write_layout(out: &mut String, schema: &Schema) {
    let row =
        |of: &dyn Fn(&Field) -> String| schema.fields.iter().map(of).collect::<Vec<_>>().join(", ");
    let names = row(&|field| format!("\"{}\"", field.name));
    let formats = row(&|field| {
        let shape = if field.count > 1 {
            format!("({},)", field.count)
        } else {
            "()".to_owned()
        };
        format!("(\"{}\", {shape})", field_type(field))
    });
    let offsets = row(&|field| field.offset.to_string());
    append_formatted(out, format_args!("    \"{}\": {{\n", schema.name));
    append_formatted(out, format_args!("        \"names\": [{names}],\n"));
    append_formatted(out, format_args!("        \"formats\": [{formats}],\n"));
    append_formatted(out, format_args!("        \"offsets\": [{offsets}],\n"));
    append_formatted(
        out,
        format_args!("        \"itemsize\": {},\n    }},\n", schema.size),
    );
}

fn field_type(field: &Field) -> String {
    let primitive = match field.kind {
        FieldKind::Message(schema) => return schema.name.to_owned(),
        FieldKind::Text(bytes) => return format!("S{bytes}"),
        FieldKind::Primitive(primitive) => primitive,
    };
    numpy_type(primitive)
}

fn numpy_type(primitive: Primitive) -> String {
    let letter = match primitive {
        Primitive::U8 | Primitive::U16 | Primitive::U32 | Primitive::U64 => 'u',
        Primitive::I8 | Primitive::I16 | Primitive::I32 | Primitive::I64 => 'i',
        Primitive::F32 | Primitive::F64 => 'f',
        Primitive::Char => 'S',
    };
    format!("<{letter}{}", primitive.size())
}
