//! Generates the reference document of all messages.

use super::super::{Constant, Domain, Field, FieldKind, Schema, Tail};
use super::{append_formatted, array_suffix, doc_lines, element_type_name, replace_links};

const FILE_HEADER: &str = "\
<!-- @generated from the doc comments in horus_core/src/message/ by the test `message_export`. -->

# Messages

What the standard messages hold, byte by byte. They are plain data, the same in Rust, C++ and
Python, little-endian. Names, units and axes follow ROS 2 and REP-103; where ROS has the type, the
message says which. Offsets and sizes are in bytes.

* `char[N]` is UTF-8 filled up with NUL; if all bytes are used, there is no NUL.
* A list is an array of a fixed length and a count of the elements that are used, from the first. A
  count may be larger than the array, if another program made a mistake: then the array is all that
  there is.
* Fields called `_reserved` are 0. They are where a compiler would put padding.
* Covariances are row-major. All zeros means unknown; −1 as the first element, not provided.
";

/// Generates a Markdown document. It has a list of the messages and, for each message, its doc
/// comment and tables of its fields and constants.
#[must_use]
pub fn markdown(domains: &[Domain]) -> String {
    let mut out = String::from(FILE_HEADER);
    let names: Vec<_> = domains.iter().flat_map(|domain| domain.messages).collect();
    let link = |name: &str| {
        if names.iter().any(|schema| schema.name == name) {
            format!("[`{name}`](#{})", name.to_lowercase())
        } else {
            format!("`{name}`")
        }
    };
    for domain in domains {
        let links: Vec<_> = domain
            .messages
            .iter()
            .map(|schema| link(schema.name))
            .collect();
        append_formatted(
            &mut out,
            format_args!("\n**{}**: {}\n", domain.title, links.join(", ")),
        );
    }
    for domain in domains {
        append_formatted(&mut out, format_args!("\n## {}\n", domain.title));
        for schema in domain.messages {
            write_message(&mut out, schema, link);
        }
    }
    out
}

fn write_message(out: &mut String, schema: &Schema, link: impl Fn(&str) -> String + Copy) {
    let doc = replace_links(&schema.doc_text(), link);
    let name = schema.name;
    let size = schema.size;
    append_formatted(out, format_args!("\n### {name}\n\n{}\n\n", doc.trim_end()));
    match schema.tail {
        None => append_formatted(
            out,
            format_args!("{size} bytes, alignment {}.\n\n", schema.align),
        ),
        Some(Tail { name, .. }) => append_formatted(
            out,
            format_args!(
                "A header of {size} bytes, then `{name}` up to the end of the message.\n\n"
            ),
        ),
    }
    out.push_str("| offset | field | type | unit | meaning |\n|---:|---|---|---|---|\n");
    for field in schema.fields {
        let Field { name, offset, .. } = field;
        let shape = array_suffix(field);
        let kind = match field.kind {
            FieldKind::Message(inner) => link(inner.name) + &shape,
            FieldKind::Primitive(_) | FieldKind::Text(_) => {
                format!("`{}{shape}`", element_type_name(field))
            }
        };
        let unit = field.unit();
        let meaning = replace_links(&field.meaning(), link);
        append_formatted(
            out,
            format_args!("| {offset} | `{name}` | {kind} | {unit} | {meaning} |\n"),
        );
    }
    if let Some(Tail { name, primitive }) = schema.tail {
        let kind = primitive.name();
        append_formatted(
            out,
            format_args!("| {size} | `{name}` | `{kind}[…]` |  | What the header describes |\n"),
        );
    }
    if !schema.constants.is_empty() {
        out.push_str("\n| value | constant | meaning |\n|---:|---|---|\n");
    }
    for Constant {
        name, value, doc, ..
    } in schema.constants
    {
        let doc = doc_lines(doc).join(" ");
        let meaning = replace_links(doc.trim_end_matches('.'), link);
        append_formatted(out, format_args!("| {value} | `{name}` | {meaning} |\n"));
    }
}
