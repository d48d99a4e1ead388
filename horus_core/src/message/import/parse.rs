//! Parses the text of a `.msg` file of ROS 1 or ROS 2: fields, constants and comments.

use std::path::Path;

use super::comment::{Comments, move_unit_to_end};
use super::error::ImportError;
use crate::message::Primitive;

/// The content of a `.msg` file: the fields and constants of a message, in the order of the file.
#[derive(Debug)]
pub(super) struct MessageDefinition {
    /// The comment at the start of the file, which describes the message.
    pub(super) doc: String,
    pub(super) items: Vec<DefinitionItem>,
}

/// A field or a constant in a `.msg` file.
#[derive(Debug)]
pub(super) struct DefinitionItem {
    /// Number of the line in the file on which the item is, counted from 1.
    pub(super) line: usize,
    pub(super) name: String,
    pub(super) element: ElementType,
    pub(super) role: ItemRole,
    /// The item's comments, with the unit at the end of the first paragraph.
    pub(super) doc: String,
}

#[derive(Debug)]
pub(super) enum ItemRole {
    Field {
        length: ArrayLength,
        default: Option<String>,
    },
    Constant {
        value: String,
    },
}

/// The type of a field, or of one element if the field is an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ElementType {
    Number(Primitive),
    /// A string, with its maximum length in bytes; `None` if it has no bound.
    Text(Option<usize>),
    Time,
    Duration,
    Header,
    Message {
        package: Option<String>,
        name: String,
    },
}

/// The number of elements of a field: one, a fixed number, or a number with or without a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ArrayLength {
    One,
    Fixed(usize),
    Bounded(usize),
    Unbounded,
}

/// Parses `text`, the content of a `.msg` file. `path` is only used in errors.
pub(super) fn parse(path: &Path, text: &str) -> Result<MessageDefinition, ImportError> {
    let mut parser = Parser::default();
    for (index, line) in text.lines().enumerate() {
        parser.parse_line(path, index + 1, line)?;
    }
    Ok(parser.finish())
}

#[derive(Debug, Default)]
struct Parser {
    /// The comments that describe the message as a whole.
    doc: Comments,
    /// Comment lines that belong to the next item, which follows in the file.
    pending: Comments,
    items: Vec<(DefinitionItem, Comments)>,
    /// True if an indented comment line continues the comment on the line of the last item.
    continues: bool,
}

impl Parser {
    fn parse_line(&mut self, path: &Path, number: usize, line: &str) -> Result<(), ImportError> {
        let (code, comment) = split_comment(line);
        match (code.trim(), comment) {
            ("", None) => self.end_comment_block(),
            ("", Some(comment)) => self.add_comment(comment, line.starts_with([' ', '\t'])),
            (code, comment) => {
                let item = parse_definition_item(path, number, code)?;
                self.add_item(item, comment);
            }
        }
        Ok(())
    }

    fn end_comment_block(&mut self) {
        self.continues = false;
        let pending = std::mem::take(&mut self.pending);
        // WHY dropped otherwise: a comment between blank lines is a title of several fields.
        if self.items.is_empty() {
            self.doc.append(pending);
            self.doc.push("");
        }
    }

    fn add_comment(&mut self, text: &str, is_indented: bool) {
        match self.items.last_mut() {
            Some((_, comments)) if self.continues && is_indented => comments.push(text),
            _ => {
                self.continues = false;
                self.pending.push(text);
            }
        }
    }

    fn add_item(&mut self, item: DefinitionItem, trailing_comment: Option<&str>) {
        let mut comments = std::mem::take(&mut self.pending);
        // WHY: the first comment describes the message, even if no blank line follows it.
        if self.items.is_empty() && self.doc.is_empty() {
            self.doc.append(comments);
            comments = Comments::default();
        }
        self.continues = trailing_comment.is_some();
        if let Some(text) = trailing_comment {
            comments.push(text);
        }
        self.items.push((item, comments));
    }

    fn finish(mut self) -> MessageDefinition {
        if self.items.is_empty() {
            self.doc.append(self.pending);
        }
        let documented = |(item, comments): (DefinitionItem, Comments)| DefinitionItem {
            doc: move_unit_to_end(&comments.text()),
            ..item
        };
        MessageDefinition {
            doc: self.doc.text(),
            items: self.items.into_iter().map(documented).collect(),
        }
    }
}

/// Splits a line at the first `#` that is not in quotes. Returns the code before it, and the
/// comment after it if there is one.
fn split_comment(line: &str) -> (&str, Option<&str>) {
    let mut quote = None;
    let mut is_escaped = false;
    for (index, letter) in line.char_indices() {
        match (quote, letter) {
            _ if is_escaped => is_escaped = false,
            (Some(_), '\\') => is_escaped = true,
            (Some(open), _) if letter == open => quote = None,
            (None, '"' | '\'') => quote = Some(letter),
            (None, '#') => return (&line[..index], Some(&line[index + 1..])),
            _ => {}
        }
    }
    (line, None)
}

/// Parses the line of a field or a constant: `type name`, `type name default` or `type NAME=value`.
fn parse_definition_item(
    path: &Path,
    line: usize,
    code: &str,
) -> Result<DefinitionItem, ImportError> {
    let wanted = "a line is `type name`, `type name default` or `type NAME=value`: correct it, or \
                  put a # before text";
    let malformed = || ImportError::new_for_line(path, line, code, wanted);
    let (kind, rest) = code.split_once(char::is_whitespace).ok_or_else(malformed)?;
    let rest = rest.trim_start();
    let end = rest.find(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'));
    let (name, rest) = rest.split_at(end.unwrap_or(rest.len()));
    let refuse = |reason: String| ImportError::new_for_line(path, line, name, reason);
    if !name.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
        return Err(malformed());
    }
    let (element, length) = parse_type(kind).map_err(refuse)?;
    let value = rest.trim_start();
    let role = match value.strip_prefix('=') {
        Some(_) if length != ArrayLength::One => {
            return Err(refuse(
                "an array cannot be a constant: make it a field".to_owned(),
            ));
        }
        Some(value) => ItemRole::Constant {
            value: value.trim().to_owned(),
        },
        None if !value.is_empty() && value.len() == rest.len() => return Err(malformed()),
        None => ItemRole::Field {
            length,
            default: (!value.is_empty()).then(|| value.to_owned()),
        },
    };
    Ok(DefinitionItem {
        line,
        name: name.to_owned(),
        element,
        role,
        doc: String::new(),
    })
}

/// Parses the type of a field, such as `float32`, `string<=16[4]` or `geometry_msgs/Point[]`.
/// Returns the type of one element, and the number of elements.
fn parse_type(text: &str) -> Result<(ElementType, ArrayLength), String> {
    let Some((element, length)) = text.split_once('[') else {
        return Ok((parse_element_type(text)?, ArrayLength::One));
    };
    let malformed = || {
        let text = super::error::excerpt(text);
        format!("the length of {text} is not [], [N] or [<=N] with a number N of at least 1")
    };
    let length = length.strip_suffix(']').ok_or_else(malformed)?;
    let length = match length.strip_prefix("<=") {
        Some(bound) => ArrayLength::Bounded(parse_positive_integer(bound).ok_or_else(malformed)?),
        None if length.is_empty() => ArrayLength::Unbounded,
        None => ArrayLength::Fixed(parse_positive_integer(length).ok_or_else(malformed)?),
    };
    Ok((parse_element_type(element)?, length))
}

fn parse_positive_integer(text: &str) -> Option<usize> {
    text.parse().ok().filter(|number| *number > 0)
}

fn parse_element_type(text: &str) -> Result<ElementType, String> {
    let (name, bound) = match text.split_once("<=") {
        Some((name, bound)) => (name, Some(parse_positive_integer(bound))),
        None => (text, None),
    };
    let number = |primitive| match bound {
        None => Ok(ElementType::Number(primitive)),
        Some(_) => Err(format!(
            "{name} has no bound: only strings and arrays have one"
        )),
    };
    match name {
        "bool" | "byte" | "char" | "uint8" => number(Primitive::U8),
        "uint16" => number(Primitive::U16),
        "uint32" => number(Primitive::U32),
        "uint64" => number(Primitive::U64),
        "int8" => number(Primitive::I8),
        "int16" => number(Primitive::I16),
        "int32" => number(Primitive::I32),
        "int64" => number(Primitive::I64),
        "float32" => number(Primitive::F32),
        "float64" => number(Primitive::F64),
        "string" => match bound {
            Some(None) => Err("the bound of a string is a number of at least 1".to_owned()),
            Some(bound) => Ok(ElementType::Text(bound)),
            None => Ok(ElementType::Text(None)),
        },
        "wstring" => Err(
            "a wstring is UTF-16, which messages cannot hold: use string<=N, which is UTF-8"
                .to_owned(),
        ),
        _ => parse_message_type(text),
    }
}

fn parse_message_type(text: &str) -> Result<ElementType, String> {
    let parts: Vec<_> = text.split('/').collect();
    let (package, name) = match parts.as_slice() {
        [name] => (None, *name),
        [package, name] | [package, "msg", name] => (Some(*package), *name),
        _ => return Err(unknown_type_text(text)),
    };
    let is_builtin = matches!((package, name), (None, "time" | "duration"));
    let is_capital = name.starts_with(|letter: char| letter.is_ascii_uppercase());
    if !package.into_iter().chain([name]).all(is_identifier) || !(is_builtin || is_capital) {
        return Err(unknown_type_text(text));
    }
    Ok(match (package, name) {
        (None, "time") | (Some("builtin_interfaces"), "Time") => ElementType::Time,
        (None, "duration") | (Some("builtin_interfaces"), "Duration") => ElementType::Duration,
        (None | Some("std_msgs" | "roslib"), "Header") => ElementType::Header,
        _ => ElementType::Message {
            package: package.map(str::to_owned),
            name: name.to_owned(),
        },
    })
}

fn unknown_type_text(text: &str) -> String {
    format!(
        "{} is no type: use bool, int8 to int64, uint8 to uint64, float32, float64, string, a \
         message, or an array of these",
        super::error::excerpt(text)
    )
}

/// Returns true for an ASCII identifier that begins with a letter.
pub(super) fn is_identifier(text: &str) -> bool {
    let rest = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    text.starts_with(|letter: char| letter.is_ascii_alphabetic()) && text.chars().all(rest)
}
