//! Tables of the page: headings, cells, and the id of the row that each line was read from.

use maud::{Markup, html};

/// A table. The last cell of each line says where its figures stand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// What has to be known to read it.
    pub note: String,
    /// Headings of the columns, that of the source aside.
    pub headings: Vec<&'static str>,
    /// Lines: a cell for each heading.
    pub lines: Vec<Line>,
}

/// A line of a [`Table`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    /// A cell for each heading.
    pub cells: Vec<String>,
    /// Program and id of the row, or why there is none.
    pub source: String,
    /// There were fewer CPUs than busy threads.
    pub oversubscribed: bool,
}

impl Table {
    /// An empty table.
    pub fn new(title: &str, note: &str, headings: &[&'static str]) -> Table {
        Table {
            title: title.to_owned(),
            note: note.to_owned(),
            headings: headings.to_vec(),
            lines: Vec::new(),
        }
    }

    /// Adds a line.
    pub fn push(&mut self, cells: Vec<String>, source: impl Into<String>, oversubscribed: bool) {
        debug_assert_eq!(cells.len(), self.headings.len());
        self.lines.push(Line { cells, source: source.into(), oversubscribed });
    }

    /// The table, as HTML; nothing without lines.
    pub fn render(&self) -> Markup {
        html! {
            @if !self.lines.is_empty() {
                @if !self.title.is_empty() { h3 { (self.title) } }
                @if !self.note.is_empty() { p.note { (self.note) } }
                div.scroll {
                    table {
                        thead {
                            tr {
                                @for heading in &self.headings { th { (heading) } }
                                th.source { "source" }
                            }
                        }
                        tbody {
                            @for line in &self.lines { (line.render()) }
                        }
                    }
                }
            }
        }
    }
}

impl Line {
    fn render(&self) -> Markup {
        html! {
            tr {
                @for (index, cell) in self.cells.iter().enumerate() {
                    td.num[index > 0 && is_figure(cell)] {
                        (cell)
                        @if index == 0 && self.oversubscribed {
                            " " span.badge { "oversubscribed" }
                        }
                    }
                }
                td.source { code { (self.source) } }
            }
        }
    }
}

/// Figures are aligned to the right; so is what stands for a figure that there is not.
fn is_figure(cell: &str) -> bool {
    cell.is_empty() || cell == "–" || cell.starts_with(|c: char| c.is_ascii_digit() || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_escaped_and_a_line_says_where_it_is_from() {
        let mut table = Table::new("T", "", &["name", "p50"]);
        assert_eq!(table.render().into_string(), "");
        table.push(vec!["<b>".to_owned(), "5 ns".to_owned()], "x: a/16B", true);
        let text = table.render().into_string();
        assert!(text.contains("&lt;b&gt;") && text.contains("<code>x: a/16B</code>"), "{text}");
        assert!(
            text.contains("oversubscribed") && text.contains("<td class=\"num\">5 ns"),
            "{text}"
        );
    }
}
