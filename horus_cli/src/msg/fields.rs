//! The fields and constants of a message type, with their units and meanings, as tables and JSON.

use horus_core::message::{Field, FieldKind, STANDARD, Schema};
use serde::Serialize;

use super::source::FoundType;
use crate::failure::Failure;
use crate::output::{Column, Output, Table};

/// A message type: its size, its documentation, its fields and its constants.
#[derive(Debug, Serialize)]
pub(super) struct MessageFields {
    message_type: String,
    bytes: usize,
    /// The doc comment; `None` if it is not known, as of types that only a topic has.
    doc: Option<String>,
    fields: Vec<FieldRow>,
    constants: Vec<ConstantRow>,
}

#[derive(Debug, Serialize)]
struct FieldRow {
    offset: usize,
    name: String,
    #[serde(rename = "type")]
    type_name: String,
    unit: Option<String>,
    meaning: Option<String>,
}

#[derive(Debug, Serialize)]
struct ConstantRow {
    name: &'static str,
    value: String,
    meaning: String,
}

impl MessageFields {
    /// Describes a message type, and then the messages that are nested in it. The units and
    /// meanings are known of standard messages and of `.msg` files, also if a topic carries them.
    pub(super) fn of(found: &FoundType) -> Vec<Self> {
        match found {
            FoundType::Standard(schema) => Self::with_nested(schema),
            FoundType::Imported(imported) => match imported.schemas().last() {
                Some(schema) => Self::with_nested(schema),
                None => Vec::new(),
            },
            FoundType::Text(text) => match STANDARD.iter().find(|schema| schema.text() == *text) {
                Some(schema) => Self::with_nested(schema),
                None => Self::of_text(text).into_iter().collect(),
            },
        }
    }

    fn with_nested(schema: &'static Schema) -> Vec<Self> {
        let schemas = with_nested_messages(schema).into_iter().rev();
        schemas.map(Self::of_schema).collect()
    }

    fn of_schema(schema: &Schema) -> Self {
        let tail = schema.tail.map(|tail| FieldRow {
            offset: schema.size,
            name: tail.name.to_owned(),
            type_name: format!("{}[…]", tail.primitive.name()),
            unit: None,
            meaning: Some("The data up to the end of the message".to_owned()),
        });
        let fields = schema.fields.iter().map(FieldRow::of);
        let constants = schema.constants.iter().map(|constant| ConstantRow {
            name: constant.name,
            value: constant.value.to_string(),
            meaning: one_line(constant.doc),
        });
        Self {
            message_type: schema.name.to_owned(),
            bytes: schema.size,
            doc: none_if_empty(without_links(&schema.doc_text())),
            fields: fields.chain(tail).collect(),
            constants: constants.collect(),
        }
    }

    /// Describes the message type in a schema text; `None` if the text is damaged.
    fn of_text(text: &str) -> Option<Self> {
        let schema = Schema::parse(text).ok()?;
        let row = |offset, name, type_name| FieldRow {
            offset,
            name,
            type_name,
            unit: None,
            meaning: None,
        };
        let fields = schema.fields.into_iter().map(|field| {
            let shape = field.shape.to_string();
            let type_name = shape.rsplit_once(" @").map_or(&*shape, |(kind, _)| kind);
            row(field.shape.offset, field.path, type_name.to_owned())
        });
        let tail = schema.tail.map(|tail| {
            let type_name = format!("{}[…]", tail.primitive.name());
            row(schema.size, tail.name, type_name)
        });
        Some(Self {
            message_type: schema.name,
            bytes: schema.size,
            doc: None,
            fields: fields.chain(tail).collect(),
            constants: Vec::new(),
        })
    }

    /// Prints the message type as text: its documentation, and tables of its fields and constants.
    pub(super) fn print(&self, out: &mut Output) -> Result<(), Failure> {
        let Self {
            message_type,
            bytes,
            ..
        } = self;
        out.write_line(format_args!("{message_type}: {bytes} bytes"))?;
        if let Some(doc) = &self.doc {
            out.write_line(doc.trim_end())?;
        }
        let is_documented = self.fields.iter().any(FieldRow::is_documented);
        let mut columns = vec![
            Column::number("OFFSET"),
            Column::text("FIELD"),
            Column::text("TYPE"),
        ];
        if is_documented {
            columns.extend([Column::text("UNIT"), Column::text("MEANING")]);
        }
        let mut table = Table::new(columns).indented(2);
        for field in &self.fields {
            let known = [
                field.offset.to_string(),
                field.name.clone(),
                field.type_name.clone(),
            ];
            let docs = [&field.unit, &field.meaning].map(|text| text.clone().unwrap_or_default());
            let docs = docs.into_iter().filter(|_| is_documented);
            table.add_row(known.into_iter().chain(docs).map(Into::into));
        }
        out.write_table(&table)?;
        if self.constants.is_empty() {
            return Ok(());
        }
        let mut table = Table::new([
            Column::number("VALUE"),
            Column::text("CONSTANT"),
            Column::text("MEANING"),
        ])
        .indented(2);
        for constant in &self.constants {
            let ConstantRow {
                name,
                value,
                meaning,
            } = constant;
            table.add_row([value.clone().into(), (*name).into(), meaning.clone().into()]);
        }
        out.write_table(&table)
    }
}

impl FieldRow {
    fn of(field: &Field) -> Self {
        let array = (field.count > 1).then(|| format!("[{}]", field.count));
        let array = array.unwrap_or_default();
        let type_name = match field.kind {
            FieldKind::Primitive(primitive) => format!("{}{array}", primitive.name()),
            FieldKind::Text(bytes) => format!("char{array}[{bytes}]"),
            FieldKind::Message(schema) => format!("{}{array}", schema.name),
        };
        Self {
            offset: field.offset,
            name: field.name.to_owned(),
            type_name,
            unit: none_if_empty(field.unit()),
            meaning: none_if_empty(without_links(&field.meaning())),
        }
    }

    const fn is_documented(&self) -> bool {
        self.unit.is_some() || self.meaning.is_some()
    }
}

/// Returns `schema` and all messages that are nested in it. Each message comes after the messages
/// that are nested in it.
pub(super) fn with_nested_messages(schema: &'static Schema) -> Vec<&'static Schema> {
    let mut all: Vec<&'static Schema> = Vec::new();
    for field in schema.fields {
        if let FieldKind::Message(inner) = field.kind {
            for one in with_nested_messages(inner) {
                if !all.iter().any(|known| known.name == one.name) {
                    all.push(one);
                }
            }
        }
    }
    all.push(schema);
    all
}

fn none_if_empty(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

/// Returns a doc comment as one line, without the full stop at its end.
fn one_line(doc: &str) -> String {
    let lines = doc.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    without_links(lines.trim_end_matches('.'))
}

/// Returns a doc comment with only the names of its links: `Imu` for ``[`Imu`]`` and
/// ``[`Imu`](path)``.
fn without_links(doc: &str) -> String {
    let mut parts = doc.split("[`");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push('`');
        let Some((name, rest)) = part.split_once("`]") else {
            out.push_str(part);
            continue;
        };
        out.push_str(name);
        out.push('`');
        let target = rest.strip_prefix('(').and_then(|rest| rest.split_once(')'));
        out.push_str(target.map_or(rest, |(_, rest)| rest));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_shown_by_their_names() {
        let doc = "A [`One`], like [`Two`](crate::Two): [a] [`b";
        assert_eq!(without_links(doc), "A `One`, like `Two`: [a] `b");
    }

    #[test]
    fn no_standard_message_shows_a_link() {
        for schema in STANDARD {
            for message in MessageFields::of(&FoundType::Standard(schema)) {
                let text = serde_json::to_string(&message).unwrap();
                assert!(!text.contains("[`") && !text.contains("]("), "{text}");
            }
        }
    }
}
