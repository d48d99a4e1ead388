//! Splits the doc comment of a field into a meaning and a unit.

use super::{Field, FieldKind, Schema};

impl Schema {
    /// Returns the doc comment without the leading space of each line.
    #[must_use]
    pub fn doc_text(&self) -> String {
        let lines = self
            .doc
            .lines()
            .map(|line| line.strip_prefix(' ').unwrap_or(line));
        lines.collect::<Vec<_>>().join("\n")
    }
}

impl Field {
    /// Returns the meaning of the field: "Forward" for the doc comment "Forward: metres per
    /// second."
    ///
    /// The meaning is empty if there is no doc comment, or if it consists only of the unit.
    #[must_use]
    pub fn meaning(&self) -> String {
        let text = self.first_paragraph();
        match (self.kind, text.rsplit_once(": ")) {
            (FieldKind::Message(_), _) => text,
            (_, Some((meaning, _))) => meaning.to_owned(),
            (_, None) => String::new(),
        }
    }

    /// Returns the unit: "metres per second" for the doc comment "Forward: metres per second."
    ///
    /// By convention, the first paragraph of a field's doc comment ends with the unit. The unit is
    /// empty for a field that is itself a message, because the fields of that message have units.
    #[must_use]
    pub fn unit(&self) -> String {
        let text = self.first_paragraph();
        match (self.kind, text.rsplit_once(": ")) {
            (FieldKind::Message(_), _) => String::new(),
            (_, Some((_, unit))) => unit.to_owned(),
            (_, None) => uncapitalise(&text),
        }
    }

    /// Returns the first paragraph of the doc comment as one line, without the full stop at its
    /// end.
    fn first_paragraph(&self) -> String {
        let lines = self
            .doc
            .lines()
            .map(str::trim)
            .take_while(|line| !line.is_empty());
        let text = lines.collect::<Vec<_>>().join(" ");
        text.strip_suffix('.').unwrap_or(&text).to_owned()
    }
}

/// Returns `text` with a lower-case first letter: `metres` for `Metres`. Symbols such as `N·m` stay
/// unchanged.
fn uncapitalise(text: &str) -> String {
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (Some(first), Some(second)) if second.is_lowercase() => {
            first.to_lowercase().chain(text.chars().skip(1)).collect()
        }
        _ => text.to_owned(),
    }
}
