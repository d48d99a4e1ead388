//! Imports `.msg` files of ROS 1 and ROS 2, so that one file declares a message in Rust, C++ and
//! Python.
//!
//! | in the file | in the message |
//! |---|---|
//! | `int8` to `int64`, `uint8` to `uint64`, `float32`, `float64` | the same number |
//! | `bool`, `byte`, `char` | `u8` |
//! | `string<=N` | a text of N bytes |
//! | `string` | a text of [`Importer::text_bytes`] or [`Importer::bound`] |
//! | `T[N]` | an array |
//! | `T[<=N] name` | an array of N, and a count `name_count: u32` |
//! | `T[] name`, once | the tail: any number of elements, counted by `name_count: u32` |
//! | `time name`, `builtin_interfaces/Time name` | `name_ns: u64` by CLOCK_REALTIME |
//! | `duration name` | `name_ns: i64` |
//! | `Header header` | `timestamp_ns: u64` and `frame_id`, a text of 32 bytes |
//! | another message | a message, from the file beside it or below [`Importer::directory`] |
//! | `int32 x 5` | the default value |
//! | `uint8 NAME=1` | a constant; those of floats and strings become part of the comment |
//! | comments | doc comments; a unit in brackets, as `[rad]`, ends the first paragraph |
//!
//! Messages have no padding. Fields with a larger alignment come first, and fields with the same
//! alignment are in the order of the file. A field `_reserved` fills the end. The size of a header
//! before a tail is a multiple of 64 bytes. An underscore is appended to a name that one of the
//! languages reserves.
//!
//! These functions are for tools and build scripts. The schemas that they make are `'static` and
//! are never freed. They accept any text: if it cannot become a message, they return an
//! [`ImportError`].

mod comment;
mod error;
mod layout;
mod message_builder;
mod names;
mod parse;
mod session;
mod value;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use super::{Schema, export};
pub use error::ImportError;
pub(in crate::message) use layout::{Declaration, default_bytes};
use session::ImportSession;
pub(in crate::message) use value::Literal;

/// The settings with which `.msg` files are read, and the methods that read them.
///
/// ```
/// use horus_core::message::import::Importer;
///
/// let text = "# State of a leg.\nfloat64 angle  # of the hip [rad]\nuint8 STANCE=1\n";
/// let leg = Importer::new().parse("Leg", text)?;
/// assert_eq!(leg.schemas()[0].fields[0].unit(), "radians");
/// assert!(leg.rust().contains("pub angle: f64,"));
/// assert!(leg.cpp("robot").contains("double angle;"));
/// assert!(leg.python().contains("    angle: horus.f64\n"));
/// # Ok::<(), horus_core::message::import::ImportError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Importer {
    text_bytes: usize,
    directories: Vec<PathBuf>,
    bounds: BTreeMap<String, usize>,
}

impl Importer {
    /// The default length in bytes of a string without a bound. [`Self::text_bytes`] changes it.
    pub const DEFAULT_TEXT_BYTES: usize = 64;

    /// Returns an importer with default settings. It looks for nested messages only near the files
    /// that contain them.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            text_bytes: Self::DEFAULT_TEXT_BYTES,
            directories: Vec::new(),
            bounds: BTreeMap::new(),
        }
    }

    /// Sets the length in bytes of the fields for strings that have no bound in their `.msg` file;
    /// 0 becomes 1.
    #[must_use]
    pub fn text_bytes(mut self, bytes: usize) -> Self {
        self.text_bytes = bytes.max(1);
        self
    }

    /// Adds a directory in which to look for messages, such as `/opt/ros/jazzy/share`. It contains
    /// files like `package/msg/Message.msg`, `package/Message.msg` or `Message.msg`. If it does not
    /// exist, [`read`](Self::read) returns an error.
    #[must_use]
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directories.push(directory.into());
        self
    }

    /// Sets a bound for an array or string that has none in its file:
    /// `bound("LaserScan.intensities", 1081)`. The bound is a number of elements for an array, and
    /// of bytes for a string; 0 becomes 1.
    #[must_use]
    pub fn bound(mut self, field: &str, bound: usize) -> Self {
        self.bounds.insert(field.to_owned(), bound.max(1));
        self
    }

    /// Reads these files, and the files of all messages that are nested in their messages.
    ///
    /// # Errors
    ///
    /// [`ImportError`] names the file, the line and the field that cannot be represented.
    pub fn read<P: AsRef<Path>>(&self, files: &[P]) -> Result<Imported, ImportError> {
        let mut session = ImportSession::new(self);
        session.check_directories_exist()?;
        for file in files {
            session.import_file_as_declaration(file.as_ref())?;
        }
        session.check_bounds_are_used()?;
        Ok(Imported {
            files: session.files.into_keys().collect(),
            declarations: session.declarations,
        })
    }

    /// Parses `text` as if it were the content of a file `{name}.msg` in the working directory.
    ///
    /// # Errors
    ///
    /// The errors of [`read`](Self::read).
    pub fn parse(&self, name: &str, text: &str) -> Result<Imported, ImportError> {
        let mut session = ImportSession::new(self);
        session.check_directories_exist()?;
        session.import_text_as_declaration(Path::new(&format!("{name}.msg")), name, text)?;
        session.check_bounds_are_used()?;
        Ok(Imported {
            files: session.files.into_keys().collect(),
            declarations: session.declarations,
        })
    }

    /// Writes the Rust declarations to `messages.rs` in the directory `OUT_DIR`, and returns its
    /// path. It prints `cargo::rerun-if-changed` for each file, as a build script must.
    ///
    /// ```no_run
    /// // build.rs, with horus_core in [build-dependencies]
    /// fn main() -> Result<(), horus_core::message::import::ImportError> {
    ///     horus_core::message::import::Importer::new().build(&["msg/Leg.msg"])?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// ```text
    /// mod messages {
    ///     include!(concat!(env!("OUT_DIR"), "/messages.rs"));
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`read`](Self::read), and [`ImportError::Write`] if `OUT_DIR` is not set or
    /// cannot be written.
    pub fn build<P: AsRef<Path>>(&self, files: &[P]) -> Result<PathBuf, ImportError> {
        let imported = self.read(files)?;
        for file in imported.files() {
            println!("cargo::rerun-if-changed={}", file.display());
        }
        let unset = || ImportError::Write {
            path: PathBuf::from("messages.rs"),
            source: io::Error::other("OUT_DIR is not set: call this from a build script"),
        };
        let directory = env::var_os("OUT_DIR").ok_or_else(unset)?;
        let path = Path::new(OsStr::new(&directory)).join("messages.rs");
        match fs::write(&path, imported.rust()) {
            Ok(()) => Ok(path),
            Err(source) => Err(ImportError::Write { path, source }),
        }
    }
}

impl Default for Importer {
    fn default() -> Self {
        Self::new()
    }
}

/// Imported messages, for which declarations in each language can be generated. The declarations in
/// all languages have the same schemas.
#[derive(Debug)]
pub struct Imported {
    files: Vec<PathBuf>,
    declarations: Vec<Declaration>,
}

impl Imported {
    /// Returns the schemas of the imported messages. A message that is nested in others comes
    /// before them.
    #[must_use]
    pub fn schemas(&self) -> Vec<&'static Schema> {
        self.declarations.iter().map(|one| one.schema).collect()
    }

    /// Returns the absolute paths of all `.msg` files that were read.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Generates Rust code: a `message!` and an implementation of `Default` for each message. For a
    /// message `Name` with trailing data, the code has a header `NameHeader` and a type alias
    /// `Name`.
    #[must_use]
    pub fn rust(&self) -> String {
        export::rust(&self.declarations)
    }

    /// Generates a C++17 header with the messages in this namespace, such as `robot` or
    /// `robot::msg`.
    #[must_use]
    pub fn cpp(&self, namespace: &str) -> String {
        export::cpp_in_namespace(&self.declarations, namespace)
    }

    /// Generates a C11 header with the messages. Their names begin with this prefix, in lower case,
    /// and an underscore: `robot` gives `robot_leg_t` and `ROBOT_LEG_INIT`. A constant gets an
    /// underscore if such a macro has its name.
    #[must_use]
    pub fn c(&self, prefix: &str) -> String {
        export::c_with_prefix(&self.declarations, prefix)
    }

    /// Generates a Python module that declares a class for each message.
    #[must_use]
    pub fn python(&self) -> String {
        export::python_classes(&self.declarations)
    }
}
