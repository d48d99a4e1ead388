//! Reads `.msg` files, and the files of the messages nested in them. Each file is read once, and
//! its message is declared before the messages that contain it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::Importer;
use super::error::ImportError;
use super::layout::Declaration;
use super::message_builder::{KindAndLength, MessageBuilder};
use super::parse::{self, ArrayLength, DefinitionItem, ElementType, ItemRole};
use crate::message::{FieldKind, Primitive};

/// The maximum length of a `.msg` file in bytes. A longer file is an error.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The maximum depth to which messages may be nested in each other. A deeper nesting is an error.
const IMPORT_NESTING_MAX: usize = 32;

/// The state while an [`Importer`] reads a set of `.msg` files.
#[derive(Debug)]
pub(super) struct ImportSession<'a> {
    importer: &'a Importer,
    pub(super) declarations: Vec<Declaration>,
    /// The `.msg` files that have been read, each with the index of its message in `declarations`.
    pub(super) files: BTreeMap<PathBuf, usize>,
    /// The files of the messages that are being read, outermost first. By this list, a message that
    /// contains itself is detected.
    open_files: Vec<PathBuf>,
    used_bounds: BTreeSet<String>,
}

impl<'a> ImportSession<'a> {
    pub(super) const fn new(importer: &'a Importer) -> Self {
        Self {
            importer,
            declarations: Vec::new(),
            files: BTreeMap::new(),
            open_files: Vec::new(),
            used_bounds: BTreeSet::new(),
        }
    }

    /// Reads the `.msg` file at `path`, unless it was read before. Returns the index of its message
    /// in `declarations`.
    pub(super) fn import_file_as_declaration(&mut self, path: &Path) -> Result<usize, ImportError> {
        let read_error = |source| ImportError::Read {
            path: path.to_owned(),
            source,
        };
        // WHY: the same file may be found by several paths.
        let canonical = path.canonicalize().map_err(read_error)?;
        if let Some(index) = self.files.get(&canonical) {
            return Ok(*index);
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        if self.open_files.contains(&canonical) {
            let reason = "it contains itself: remove one of the fields";
            return Err(ImportError::new_for_message(path, &name, reason));
        }
        if self.open_files.len() >= IMPORT_NESTING_MAX {
            let reason =
                format!("more than {IMPORT_NESTING_MAX} messages are nested: flatten them");
            return Err(ImportError::new_for_message(path, &name, reason));
        }
        let text = read_text(path).map_err(read_error)?;
        self.open_files.push(canonical.clone());
        let index = self.import_text_as_declaration(path, &name, &text)?;
        self.open_files.pop();
        self.files.insert(canonical, index);
        Ok(index)
    }

    /// Declares the message in `text`, the content of a `.msg` file. Returns the index of its
    /// message in `declarations`.
    pub(super) fn import_text_as_declaration(
        &mut self,
        path: &Path,
        name: &str,
        text: &str,
    ) -> Result<usize, ImportError> {
        check_message_name(path, name)?;
        let definition = parse::parse(path, text)?;
        let mut builder = MessageBuilder::new(path, name, &definition.doc);
        for item in &definition.items {
            match &item.role {
                ItemRole::Constant { value } => builder.add_constant(item, value)?,
                ItemRole::Field { length, default } => {
                    self.import_field(&mut builder, item, *length, default.as_deref())?;
                }
            }
        }
        builder.check_type_names()?;
        let declaration = builder.plan.into_declaration(name);
        let declaration =
            declaration.map_err(|reason| ImportError::new_for_message(path, name, reason))?;
        self.check_name_is_new(path, name)?;
        if declaration.schema.tail.is_some() {
            self.check_name_is_new(path, &format!("{name}Header"))?;
        }
        self.declarations.push(declaration);
        Ok(self.declarations.len() - 1)
    }

    /// Returns an error if a directory that the caller gave is none. WHY: the error about a message
    /// that is not found would not say that the path is wrong.
    pub(super) fn check_directories_exist(&self) -> Result<(), ImportError> {
        let mut directories = self.importer.directories.iter();
        match directories.find(|path| !path.is_dir()) {
            None => Ok(()),
            Some(path) => Err(ImportError::Directory { path: path.clone() }),
        }
    }

    /// Returns an error if the caller gave a bound that no field needed.
    pub(super) fn check_bounds_are_used(&self) -> Result<(), ImportError> {
        let mut bounds = self.importer.bounds.keys();
        match bounds.find(|field| !self.used_bounds.contains(*field)) {
            None => Ok(()),
            Some(field) => Err(ImportError::UnusedBound {
                field: field.clone(),
            }),
        }
    }

    /// Returns an error if another imported message already declares a type of this name.
    fn check_name_is_new(&self, path: &Path, name: &str) -> Result<(), ImportError> {
        let is_taken = self.declarations.iter().any(|other| {
            let header = name.strip_suffix("Header");
            let has_header = other.schema.tail.is_some() && header == Some(other.schema.name);
            other.schema.name == name || has_header
        });
        if is_taken {
            let reason = "another imported message declares a type of this name: import them \
                          separately, or rename one of them";
            return Err(ImportError::new_for_message(path, name, reason));
        }
        Ok(())
    }

    fn import_field(
        &mut self,
        builder: &mut MessageBuilder<'_>,
        item: &DefinitionItem,
        length: ArrayLength,
        default: Option<&str>,
    ) -> Result<(), ImportError> {
        if item.element == ElementType::Header {
            return match (length, default) {
                (ArrayLength::One, None) => builder.add_header(item),
                _ => Err(builder.item_error(item, "a Header is one field without a default")),
            };
        }
        let shape = self.resolve_kind(builder, item, length)?;
        builder.add_field(item, shape, default)
    }

    /// Returns the type and number of elements of a field. The bounds that the caller gave to the
    /// importer replace missing ones.
    fn resolve_kind(
        &mut self,
        builder: &MessageBuilder<'_>,
        item: &DefinitionItem,
        length: ArrayLength,
    ) -> Result<KindAndLength, ImportError> {
        let mut bound = || {
            let field = format!("{}.{}", builder.message, item.name);
            let bound = self.importer.bounds.get(&field).copied()?;
            self.used_bounds.insert(field);
            Some(bound)
        };
        let text_bytes = self.importer.text_bytes;
        let length = match length {
            ArrayLength::Unbounded => bound().map_or(length, ArrayLength::Bounded),
            length => length,
        };
        let kind = match &item.element {
            ElementType::Number(primitive) => FieldKind::Primitive(*primitive),
            ElementType::Time => FieldKind::Primitive(Primitive::U64),
            ElementType::Duration => FieldKind::Primitive(Primitive::I64),
            ElementType::Text(Some(bytes)) => FieldKind::Text(*bytes),
            ElementType::Text(None) if length == ArrayLength::One => {
                FieldKind::Text(bound().unwrap_or(text_bytes))
            }
            ElementType::Text(None) => FieldKind::Text(text_bytes),
            ElementType::Header => return Err(builder.item_error(item, "a Header is one field")),
            ElementType::Message { package, name } => {
                self.import_nested_message(builder, item, package.as_deref(), name)?
            }
        };
        Ok(KindAndLength { kind, length })
    }

    /// Reads the file of a nested message, and returns that message as the type of a field.
    fn import_nested_message(
        &mut self,
        builder: &MessageBuilder<'_>,
        item: &DefinitionItem,
        package: Option<&str>,
        name: &str,
    ) -> Result<FieldKind, ImportError> {
        let Some(path) = self.find_message_file(builder.path, package, name) else {
            let folder = package.map_or(String::new(), |package| format!("{package}/"));
            let reason = format!(
                "there is no {folder}{name}.msg beside {}, or in the directories of the import: \
                 add the directory that has it by --search (in Rust by Importer::directory)",
                builder.path.display()
            );
            return Err(builder.item_error(item, reason));
        };
        let index = self.import_file_as_declaration(&path)?;
        let schema = self.declarations[index].schema;
        if let Some(tail) = schema.tail {
            let reason = format!(
                "a {name} has any length, because '{}' has no bound, and so cannot be a field: \
                 give that array a bound",
                tail.name
            );
            return Err(builder.item_error(item, reason));
        }
        Ok(FieldKind::Message(schema))
    }

    /// Returns the path of a message's file. If `package` is given, searches in the directory of
    /// that package first: near `from`, then in the directories of the importer. Then searches in
    /// the directory of `from`, and in the directories of the importer themselves.
    fn find_message_file(&self, from: &Path, package: Option<&str>, name: &str) -> Option<PathBuf> {
        let file = format!("{name}.msg");
        let beside = from.parent().unwrap_or(Path::new(""));
        let given = self.importer.directories.iter().cloned();
        let mut candidates = Vec::new();
        if let Some(package) = package {
            let above = [beside.join(".."), beside.join("../..")];
            for root in above.into_iter().chain(given.clone()) {
                candidates.push(root.join(package).join("msg").join(&file));
                candidates.push(root.join(package).join(&file));
            }
        }
        candidates.push(beside.join(&file));
        candidates.extend(given.map(|root| root.join(&file)));
        candidates.into_iter().find(|path| path.is_file())
    }
}

fn check_message_name(path: &Path, name: &str) -> Result<(), ImportError> {
    let is_reserved = ["None", "Self", "True", "False"].contains(&name);
    let is_capital = name.starts_with(|letter: char| letter.is_ascii_uppercase());
    if parse::is_identifier(name) && is_capital && !is_reserved {
        return Ok(());
    }
    let reason = "the name of the file is that of the message: use letters and digits, and begin \
                  with a capital letter";
    Err(ImportError::new_for_message(path, name, reason))
}

fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let bytes = File::open(path)?
        .take(FILE_BYTES_MAX + 1)
        .read_to_string(&mut text)?;
    if bytes as u64 > FILE_BYTES_MAX {
        let reason = format!("it has more than {FILE_BYTES_MAX} bytes, which no .msg file has");
        return Err(io::Error::other(reason));
    }
    Ok(text)
}
