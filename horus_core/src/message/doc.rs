//! What the doc comment of a field says: a meaning and a unit.

use super::{Field, FieldKind, Schema};

impl Schema {
    /// The doc comment without the space that each line begins with.
    #[must_use]
    pub fn doc_text(&self) -> String {
        let lines = self.doc.lines().map(|line| line.strip_prefix(' ').unwrap_or(line));
        lines.collect::<Vec<_>>().join("\n")
    }
}

impl Field {
    /// What the number means, as "Forward" of the doc comment "Forward: metres per second."
    ///
    /// Empty if the doc comment is the unit only, or missing.
    #[must_use]
    pub fn meaning(&self) -> String {
        let text = self.first_paragraph();
        match (self.kind, text.rsplit_once(": ")) {
            (FieldKind::Message(_), _) => text,
            (_, Some((meaning, _))) => meaning.to_owned(),
            (_, None) => String::new(),
        }
    }

    /// The unit, as "metres per second" of the doc comment "Forward: metres per second."
    ///
    /// By convention, the first paragraph of the doc comment of a field ends with it. Empty for a
    /// message inside a message: its own fields have units.
    #[must_use]
    pub fn unit(&self) -> String {
        let text = self.first_paragraph();
        match (self.kind, text.rsplit_once(": ")) {
            (FieldKind::Message(_), _) => String::new(),
            (_, Some((_, unit))) => unit.to_owned(),
            (_, None) => uncapitalised(&text),
        }
    }

    /// The first paragraph in one line, without the full stop at its end.
    fn first_paragraph(&self) -> String {
        let lines = self.doc.lines().map(str::trim).take_while(|line| !line.is_empty());
        let text = lines.collect::<Vec<_>>().join(" ");
        text.strip_suffix('.').unwrap_or(&text).to_owned()
    }
}

/// `Metres` as `metres`; symbols, as `N·m`, stay as they are.
fn uncapitalised(text: &str) -> String {
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (Some(first), Some(second)) if second.is_lowercase() => {
            first.to_lowercase().chain(text.chars().skip(1)).collect()
        }
        _ => text.to_owned(),
    }
}
