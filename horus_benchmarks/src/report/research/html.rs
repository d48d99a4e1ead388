//! Text and tables as HTML.

use std::fmt::Write as _;

/// The text of a table cell that has no value.
pub(super) const NONE: &str = "–";

/// A table. The last cell of each line tells where its figures come from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Table<'a> {
    pub(super) title: String,
    /// Explains the columns.
    pub(super) note: &'a str,
    /// Headings of the columns, without the heading of the source column.
    pub(super) headings: Vec<&'a str>,
    pub(super) lines: Vec<Line>,
}

/// A line of a [`Table`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// A cell for each heading.
    pub(super) cells: Vec<String>,
    /// The origin of the figures of this line: `program: row id`, one on each text line; or why
    /// there are none, such as `not measured`.
    pub(super) source: String,
    /// True if there were fewer CPUs than busy threads.
    pub(super) oversubscribed: bool,
}

/// Escapes the characters that have a meaning in HTML.
pub(super) fn escape(text: &str) -> String {
    let text = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    text.replace('"', "&quot;")
}

impl Table<'_> {
    /// Returns the table as HTML; empty if it has no lines.
    pub(super) fn render(&self) -> String {
        if self.lines.is_empty() {
            return String::new();
        }
        let wrap = |text: &str, tag: &str, class: &str| match text {
            "" => String::new(),
            text => format!("<{tag}{class}>{}</{tag}>", escape(text)),
        };
        let mut html = wrap(&self.title, "h3", "") + &wrap(self.note, "p", " class=\"note\"");
        html.push_str("<div class=\"scroll\"><table><thead><tr>");
        self.headings
            .iter()
            .for_each(|heading| html.push_str(&wrap(heading, "th", "")));
        html.push_str("<th class=\"source\">source</th></tr></thead><tbody>\n");
        for line in &self.lines {
            html.push_str("<tr>");
            for (index, cell) in line.cells.iter().enumerate() {
                let class = if index > 0 && is_number(cell) {
                    " class=\"num\""
                } else {
                    ""
                };
                let badge = match index == 0 && line.oversubscribed {
                    true => " <span class=\"badge\">oversubscribed</span>",
                    false => "",
                };
                let _ = write!(html, "<td{class}>{}{badge}</td>", escape(cell));
            }
            let source = escape(&line.source);
            let _ = writeln!(html, "<td class=\"source\"><code>{source}</code></td></tr>");
        }
        html + "</tbody></table></div>\n"
    }
}

/// Returns true if a cell is to be right-aligned: for numbers, and for the text of a missing
/// number.
fn is_number(cell: &str) -> bool {
    cell.is_empty() || cell == NONE || cell.starts_with(|c: char| c.is_ascii_digit() || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_escaped_and_a_line_says_where_it_is_from() {
        let mut table = Table {
            headings: vec!["name", "p50"],
            ..Table::default()
        };
        assert_eq!(table.render(), "");
        let cells = vec!["<b>".to_owned(), "5 ns".to_owned()];
        table.lines = vec![Line {
            cells,
            source: "x: a/16B".to_owned(),
            oversubscribed: true,
        }];
        let text = table.render();
        for wanted in [
            "&lt;b&gt;",
            "<code>x: a/16B</code>",
            "oversubscribed",
            "\"num\">5 ns",
        ] {
            assert!(text.contains(wanted), "no {wanted} in {text}");
        }
    }
}
