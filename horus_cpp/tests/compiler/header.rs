//! The declarations in the headers of the C ABI, read from their text.

use std::collections::BTreeMap;
use std::fs;

use super::root;

/// Returns the text of all headers.
pub fn header() -> String {
    let files =
        ["horus.h", "log.h", "scheduler.h"].map(|file| root().join("include/horus").join(file));
    files.map(|file| fs::read_to_string(file).unwrap()).concat()
}

/// Returns the text without C comments, with white space reduced to single blanks.
pub fn bare(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((code, comment)) = rest.split_once("/*") {
        out += code;
        rest = comment.split_once("*/").unwrap().1;
    }
    out += rest;
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the declarations of functions in the header.
pub fn declared() -> BTreeMap<String, String> {
    let header = bare(&header());
    let mut functions = BTreeMap::new();
    for statement in header
        .split(';')
        .filter(|statement| statement.trim_end().ends_with(')'))
    {
        // Text before the declaration: preprocessor lines and the braces of C++.
        let first = [
            "horus_status_t horus_",
            "uint32_t horus_",
            "uint64_t horus_",
            "double horus_",
            "const char *horus_",
        ];
        let start = first
            .iter()
            .filter_map(|first| statement.rfind(first))
            .min();
        let Some(start) = start else { continue };
        let declaration = statement[start..].trim();
        let (before, _) = declaration.split_once('(').unwrap();
        let name = before.rsplit([' ', '*']).next().unwrap();
        functions.insert(name.to_owned(), declaration.to_owned());
    }
    functions
}
