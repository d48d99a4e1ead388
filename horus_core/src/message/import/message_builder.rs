//! Collects the fields and constants of a message while its file is read.

use std::collections::BTreeSet;
use std::path::Path;

use super::comment::to_doc_comment;
use super::error::ImportError;
use super::layout::{LayoutPlan, PlannedField, leak_text};
use super::names::rename_if_reserved;
use super::parse::{ArrayLength, DefinitionItem, ElementType};
use super::value::{Literal, parse_defaults, parse_integer};
use crate::message::{Constant, FRAME_ID_BYTES, FieldKind, Primitive};

const COUNT_KIND: FieldKind = FieldKind::Primitive(Primitive::U32);
const TIMESTAMP_KIND: FieldKind = FieldKind::Primitive(Primitive::U64);

/// Collects the fields and constants of the message `message`, whose file `path` is being read.
#[derive(Debug)]
pub(super) struct MessageBuilder<'p> {
    pub(super) path: &'p Path,
    pub(super) message: &'p str,
    pub(super) plan: LayoutPlan,
    /// Names that fields and constants of the message have so far, to detect duplicates.
    names: BTreeSet<String>,
}

/// The type of one element of a field, and the number of elements.
#[derive(Debug)]
pub(super) struct KindAndLength {
    pub(super) kind: FieldKind,
    pub(super) length: ArrayLength,
}

impl<'p> MessageBuilder<'p> {
    pub(super) fn new(path: &'p Path, message: &'p str, comment: &str) -> Self {
        let plan = LayoutPlan {
            doc: to_doc_comment(comment),
            ..LayoutPlan::default()
        };
        Self {
            path,
            message,
            plan,
            names: BTreeSet::new(),
        }
    }

    pub(super) fn item_error(
        &self,
        item: &DefinitionItem,
        reason: impl Into<String>,
    ) -> ImportError {
        ImportError::new_for_line(self.path, item.line, &item.name, reason)
    }

    /// Adds the fields that replace a ROS `Header`: `timestamp_ns` and `frame_id`.
    pub(super) fn add_header(&mut self, item: &DefinitionItem) -> Result<(), ImportError> {
        let prefix = match item.name.as_str() {
            "header" => String::new(),
            name => format!("{name}_"),
        };
        let time = "Time of the data, by CLOCK_REALTIME: nanoseconds.";
        let time = format!("{time}\n\n{}", item.doc);
        self.add_planned_field(
            item,
            new_planned_field(format!("{prefix}timestamp_ns"), TIMESTAMP_KIND, &time),
        )?;
        let frame = FieldKind::Text(FRAME_ID_BYTES);
        let comment = "Frame of the data: text.";
        self.add_planned_field(
            item,
            new_planned_field(format!("{prefix}frame_id"), frame, comment),
        )
    }

    /// Adds the field of an item. For an array with a bound, also adds a field with the number of
    /// elements in use. An array without a bound becomes the trailing data of the message, and a
    /// field contains their number of elements.
    pub(super) fn add_field(
        &mut self,
        item: &DefinitionItem,
        KindAndLength { kind, length }: KindAndLength,
        default: Option<&str>,
    ) -> Result<(), ImportError> {
        let refuse = |reason| self.item_error(item, reason);
        let values = match default {
            Some(text) => parse_defaults(kind, length != ArrayLength::One, text).map_err(refuse)?,
            None => Vec::new(),
        };
        let given = values.len();
        let wrong_count = || {
            let reason = format!("its default has {given} elements: give as many as it has");
            self.item_error(item, reason)
        };
        let name = field_name(item);
        let mut field = new_planned_field(name.clone(), kind, &field_doc(item));
        field.values = values;
        match length {
            ArrayLength::One => self.add_planned_field(item, field),
            ArrayLength::Fixed(count) => {
                if default.is_some() && given != count {
                    return Err(wrong_count());
                }
                field.count = count;
                self.add_planned_field(item, field)
            }
            ArrayLength::Bounded(count) => {
                if given > count {
                    return Err(wrong_count());
                }
                field.count = count;
                self.add_planned_field(item, field)?;
                let comment = format!("Elements of `{name}` in use, from the first: count.");
                let mut used = new_planned_field(format!("{name}_count"), COUNT_KIND, &comment);
                if given > 0 {
                    used.values.push(Literal::Integer(given as i128));
                }
                self.add_planned_field(item, used)
            }
            ArrayLength::Unbounded if given > 0 => {
                Err(self.item_error(item, "an array without a bound has no default: remove it"))
            }
            ArrayLength::Unbounded => self.add_tail(item, name, kind),
        }
    }

    fn add_tail(
        &mut self,
        item: &DefinitionItem,
        name: String,
        kind: FieldKind,
    ) -> Result<(), ImportError> {
        let bound = format!(
            "give it a bound, as [<=16] in the file, or as --bound {}.{}=16 (in Rust by \
             Importer::bound)",
            self.message, item.name
        );
        let FieldKind::Primitive(primitive) = kind else {
            let reason = format!("only an array of numbers can have any length: {bound}");
            return Err(self.item_error(item, reason));
        };
        if let Some((other, _)) = &self.plan.tail {
            let reason = format!("one array can have any length, and '{other}' has: {bound}");
            return Err(self.item_error(item, reason));
        }
        let text = format!("Number of `{name}` that follow: count.\n\n{}", item.doc);
        self.add_planned_field(
            item,
            new_planned_field(format!("{name}_count"), COUNT_KIND, &text),
        )?;
        self.reserve_name(item, &name)?;
        self.plan.tail = Some((name, primitive));
        Ok(())
    }

    /// Adds an integer constant. A float or string constant is described in the doc comment
    /// instead.
    pub(super) fn add_constant(
        &mut self,
        item: &DefinitionItem,
        value: &str,
    ) -> Result<(), ImportError> {
        match item.element {
            ElementType::Number(Primitive::F32 | Primitive::F64) | ElementType::Text(_) => {
                let text = format!("The constant `{}` is {value}. {}", item.name, item.doc);
                let mut lines = super::comment::Comments::default();
                text.lines().for_each(|line| lines.push(line));
                self.plan.doc += "\n";
                self.plan.doc += &to_doc_comment(&lines.text());
                Ok(())
            }
            ElementType::Number(kind) => {
                let name = rename_if_reserved(&item.name);
                self.reserve_name(item, &name)?;
                let value = parse_integer(kind, value);
                self.plan.constants.push(Constant {
                    name: leak_text(name),
                    kind,
                    value: value.map_err(|reason| self.item_error(item, reason))?,
                    doc: leak_text(to_doc_comment(&item.doc)),
                });
                Ok(())
            }
            _ => Err(self.item_error(item, "a constant is a number or a string: make it a field")),
        }
    }

    /// Checks that no field or constant has the same name as a type, because C++ does not allow
    /// that.
    pub(super) fn check_type_names(&self) -> Result<(), ImportError> {
        let types = self
            .plan
            .fields
            .iter()
            .filter_map(|field| match field.kind {
                FieldKind::Message(inner) => Some(inner.name),
                _ => None,
            });
        let mut types = types.chain([self.message]);
        match types.find(|name| self.names.contains(*name)) {
            None => Ok(()),
            Some(name) => Err(ImportError::new_for_message(
                self.path,
                self.message,
                format!("'{name}' is both a type and a field or constant of it: rename one"),
            )),
        }
    }

    fn add_planned_field(
        &mut self,
        item: &DefinitionItem,
        field: PlannedField,
    ) -> Result<(), ImportError> {
        self.reserve_name(item, &field.name)?;
        self.plan.fields.push(field);
        Ok(())
    }

    fn reserve_name(&mut self, item: &DefinitionItem, name: &str) -> Result<(), ImportError> {
        if self.names.insert(name.to_owned()) {
            return Ok(());
        }
        let reason = format!("the message has another field or constant '{name}': rename one");
        Err(self.item_error(item, reason))
    }
}

/// Returns the name of the message's field for an item of the file. It is `name_ns` for a time or
/// duration called `name`.
fn field_name(item: &DefinitionItem) -> String {
    match item.element {
        ElementType::Time | ElementType::Duration => format!("{}_ns", item.name),
        _ => rename_if_reserved(&item.name),
    }
}

fn field_doc(item: &DefinitionItem) -> String {
    match item.element {
        ElementType::Time => format!("Time by CLOCK_REALTIME: nanoseconds.\n\n{}", item.doc),
        ElementType::Duration => format!("Duration: nanoseconds.\n\n{}", item.doc),
        _ => item.doc.clone(),
    }
}

fn new_planned_field(name: String, kind: FieldKind, comment: &str) -> PlannedField {
    PlannedField {
        name,
        kind,
        count: 1,
        doc: to_doc_comment(comment.trim_end()),
        values: Vec::new(),
    }
}
