//! Builds the tree of nested messages from the fields of a schema, with bounded work and memory.

use super::{LayoutError, MESSAGE_NESTING_MAX};
use crate::message::{DType, ParsedField, ParsedSchema, Primitive};
use crate::value::Value;

/// Nested arrays of messages, outermost first. Each has its number of elements, and its stride in
/// bytes.
pub(super) type ArrayDimensions<'a> = &'a [(usize, usize)];

/// A field of a message: numbers, a nested message, or an array of these.
#[derive(Debug, Clone)]
pub(super) struct FieldNode {
    pub(super) name: String,
    /// Number of elements and stride in bytes of each array that this field is, outermost first. A
    /// field of a real message is one array or none; a schema text may state more.
    pub(super) arrays: Vec<(usize, usize)>,
    pub(super) content: FieldContent,
    pub(super) is_root: bool,
}

#[derive(Debug, Clone)]
pub(super) enum FieldContent {
    Message(Vec<FieldNode>),
    Numbers(ContiguousNumbers),
}

/// Numbers that are contiguous in the message; there may be just one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ContiguousNumbers {
    pub(super) kind: ElementKind,
    /// Offset of the numbers from the start of the message, in bytes. If arrays enclose the
    /// numbers, it is the offset in the first element of each array.
    pub(super) offset: usize,
    pub(super) count: usize,
    /// True if the numbers are converted to an array; false for a single number or a text.
    pub(super) is_row: bool,
}

/// The type of one element of a field. It decides whether several elements become a typed array,
/// bytes or a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ElementKind {
    /// A number. Several of them become a typed array.
    Number(DType),
    /// A byte of the trailing data. Several of them become a value of bytes.
    Raw,
    /// A byte of a text that is padded with NUL. All of them become a string.
    Text,
}

impl ElementKind {
    fn for_field(primitive: Primitive) -> Self {
        DType::from_primitive(primitive).map_or(Self::Text, Self::Number)
    }

    pub(super) fn for_trailing_data(primitive: Primitive) -> Self {
        match Self::for_field(primitive) {
            Self::Number(DType::U8) | Self::Text => Self::Raw,
            kind => kind,
        }
    }

    /// Returns the size of one element in bytes.
    pub(super) const fn size(self) -> usize {
        match self {
            Self::Number(dtype) => dtype.size(),
            Self::Raw | Self::Text => 1,
        }
    }

    /// Returns the number type of one element.
    pub(super) const fn dtype(self) -> DType {
        match self {
            Self::Number(dtype) => dtype,
            Self::Raw | Self::Text => DType::U8,
        }
    }
}

impl ContiguousNumbers {
    /// Returns the range of the message's bytes that holds the numbers.
    pub(super) fn byte_range(self) -> std::ops::Range<usize> {
        self.offset..self.offset + self.count * self.kind.size()
    }

    pub(super) fn element(self, index: usize) -> Option<Self> {
        let element = |kind: ElementKind| Self {
            kind: ElementKind::Number(kind.dtype()),
            offset: self.offset + index * kind.size(),
            count: 1,
            is_row: false,
        };
        (self.is_row && index < self.count).then(|| element(self.kind))
    }
}

impl FieldNode {
    pub(super) fn child(&self, name: &str) -> Option<&Self> {
        match &self.content {
            FieldContent::Message(fields) => fields.iter().find(|field| field.name == name),
            FieldContent::Numbers(_) => None,
        }
    }

    /// Returns how many heap bytes the field takes after conversion to a value, not counting the
    /// [`Value`](crate::value::Value) itself and the name.
    pub(super) fn heap_bytes(&self) -> usize {
        let one = match &self.content {
            FieldContent::Message(fields) => fields.iter().fold(0_usize, |bytes, field| {
                let pair = size_of::<(Value, Value)>() + field.name.len();
                bytes
                    .saturating_add(pair)
                    .saturating_add(field.heap_bytes())
            }),
            FieldContent::Numbers(numbers) if numbers.count == 1 => 0,
            FieldContent::Numbers(numbers) => numbers.byte_range().len().saturating_add(64),
        };
        self.arrays.iter().rev().fold(one, |bytes, (count, _)| {
            bytes
                .saturating_add(size_of::<Value>())
                .saturating_mul(*count)
        })
    }
}

/// A field of a message, or one element of the field. If arrays of messages enclose the field, one
/// element of each array has been selected.
#[derive(Debug, Clone, Copy)]
pub(super) struct SelectedField<'a> {
    pub(super) node: &'a FieldNode,
    /// The field's own arrays in which no element has been selected yet.
    pub(super) arrays: ArrayDimensions<'a>,
    /// Sum of the distances, in bytes, from the first element of each array to the selected one.
    pub(super) distance: usize,
}

impl<'a> SelectedField<'a> {
    /// Selects the field `node` of the selected message. `node` must be a field of that message.
    pub(super) fn field(self, node: &'a FieldNode) -> Self {
        Self {
            node,
            arrays: &node.arrays,
            distance: self.distance,
        }
    }

    /// Returns the number of elements, or `None` if this part is not an array.
    pub(super) fn element_count(self) -> Option<usize> {
        self.arrays.first().map(|(count, _)| *count)
    }

    pub(super) fn element(self, index: usize) -> Option<Self> {
        let ((count, stride), arrays) = self.arrays.split_first()?;
        let element = || Self {
            node: self.node,
            arrays,
            distance: self.distance + index * stride,
        };
        (index < *count).then(element)
    }

    /// Returns the contiguous numbers of this part; `None` if it is a message, or an array in which
    /// no element has been selected.
    pub(super) fn numbers(self) -> Option<ContiguousNumbers> {
        match &self.node.content {
            FieldContent::Numbers(numbers) if self.arrays.is_empty() => Some(ContiguousNumbers {
                offset: numbers.offset + self.distance,
                ..*numbers
            }),
            _ => None,
        }
    }
}

/// Builds the tree of the fields of a message. The root is the message itself.
pub(super) fn build_field_tree(schema: &ParsedSchema) -> Result<FieldNode, LayoutError> {
    let total = schema.fields.iter().try_fold(0_usize, |total, field| {
        total
            .checked_add(total_field_bytes(field)?)
            .filter(|total| *total <= schema.size)
    });
    total.ok_or(LayoutError::Overlap)?;
    let fields = schema
        .fields
        .iter()
        .map(PathEntry::new)
        .collect::<Result<Vec<_>, _>>()?;
    let fields: Vec<&PathEntry<'_>> = fields.iter().collect();
    // WHY: a `ParsedSchema` may have been built by hand. One that was parsed never fails here.
    if fields.iter().any(|field| field.end_offset(0) > schema.size) {
        return Err(LayoutError::Overlap);
    }
    let content = FieldContent::Message(build_child_fields(&fields, 0, 0)?);
    Ok(FieldNode {
        name: String::new(),
        arrays: Vec::new(),
        content,
        is_root: true,
    })
}

/// Returns the total size in bytes of a field in all elements of the enclosing arrays; `None` on
/// overflow.
fn total_field_bytes(field: &ParsedField) -> Option<usize> {
    let shape = &field.shape;
    let one = shape.count.checked_mul(shape.primitive.size())?;
    shape
        .arrays
        .iter()
        .try_fold(one, |bytes, (count, _)| bytes.checked_mul(*count))
}

/// A field of a parsed schema, with its path split into names.
struct PathEntry<'a> {
    field: &'a ParsedField,
    names: Vec<&'a str>,
}

impl<'a> PathEntry<'a> {
    fn new(field: &'a ParsedField) -> Result<Self, LayoutError> {
        let names: Vec<_> = field
            .path
            .split('.')
            .take(MESSAGE_NESTING_MAX + 2)
            .collect();
        if names.len() > MESSAGE_NESTING_MAX + 1 {
            return Err(LayoutError::TooDeep {
                path: field.path.clone(),
            });
        }
        Ok(Self { field, names })
    }

    /// Returns the offset of the field's end from the start of the message, in bytes. Takes the
    /// field in the first element of each of the `depth` outermost arrays that enclose it, and in
    /// the last element of the other arrays.
    fn end_offset(&self, depth: usize) -> usize {
        let shape = &self.field.shape;
        let one = shape
            .offset
            .saturating_add(shape.count.saturating_mul(shape.primitive.size()));
        let inner = shape.arrays.iter().skip(depth);
        inner.fold(one, |end, (count, stride)| {
            end.saturating_add(count.saturating_sub(1).saturating_mul(*stride))
        })
    }
}

/// Builds the fields of a nested message from `entries`: the numbers that it contains. All their
/// paths begin with the same `level` names, which lead to this message. `depth` is the number of
/// arrays on the way to it.
fn build_child_fields(
    entries: &[&PathEntry<'_>],
    level: usize,
    depth: usize,
) -> Result<Vec<FieldNode>, LayoutError> {
    let mut groups: Vec<Vec<&PathEntry<'_>>> = Vec::new();
    for &entry in entries {
        let Some(name) = entry.names.get(level) else {
            return Err(LayoutError::Ambiguous {
                path: entry.field.path.clone(),
            });
        };
        match groups
            .iter_mut()
            .rev()
            .find(|group| group[0].names[level] == *name)
        {
            Some(group) => group.push(entry),
            None => groups.push(vec![entry]),
        }
    }
    groups
        .iter()
        .map(|group| build_field_node(group, level, depth))
        .collect()
}

fn build_field_node(
    group: &[&PathEntry<'_>],
    level: usize,
    depth: usize,
) -> Result<FieldNode, LayoutError> {
    let name = group[0].names[level].to_owned();
    if let [entry] = group
        && entry.names.len() == level + 1
    {
        let shape = &entry.field.shape;
        let (kind, is_row) = match (ElementKind::for_field(shape.primitive), shape.count) {
            (ElementKind::Text, _) => (ElementKind::Text, false),
            (kind, count) => (kind, count != 1),
        };
        let numbers = ContiguousNumbers {
            kind,
            offset: shape.offset,
            count: shape.count,
            is_row,
        };
        let arrays = shape.arrays[depth..].to_vec();
        return Ok(FieldNode {
            name,
            arrays,
            content: FieldContent::Numbers(numbers),
            is_root: false,
        });
    }
    let arrays: Vec<_> = shared_array_length_and_stride(group, depth)
        .into_iter()
        .collect();
    let content =
        FieldContent::Message(build_child_fields(group, level + 1, depth + arrays.len())?);
    Ok(FieldNode {
        name,
        arrays,
        content,
        is_root: false,
    })
}

/// Returns the length, and the stride in bytes, of the array whose elements are messages with the
/// fields `group`; `None` if there is no such array. The fields form an array if they all have the
/// same length and stride at this depth, and lie within one stride.
fn shared_array_length_and_stride(
    group: &[&PathEntry<'_>],
    depth: usize,
) -> Option<(usize, usize)> {
    let (count, stride) = *group[0].field.shape.arrays.get(depth)?;
    let is_shared =
        |entry: &&PathEntry<'_>| entry.field.shape.arrays.get(depth) == Some(&(count, stride));
    let start = group.iter().map(|entry| entry.field.shape.offset).min()?;
    let end = group
        .iter()
        .map(|entry| entry.end_offset(depth + 1))
        .max()?;
    (group.iter().all(is_shared) && end - start <= stride).then_some((count, stride))
}
