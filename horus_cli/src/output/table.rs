//! Tables of text. On a terminal, names are shortened in the middle until a row fits.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr as _;

use super::style::{Style, Tone};

/// The spaces between two columns of a table.
pub(crate) const COLUMN_GAP: &str = "  ";

/// Minimum width to which a name in a table is shortened, in columns of a terminal.
const NAME_WIDTH_MIN: usize = 12;

/// A column of a table: its title, and whether its cells are names, words or numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    title: &'static str,
    is_number: bool,
    may_shrink: bool,
}

impl Column {
    /// Returns a column of names. They may be shortened if the terminal is too narrow.
    pub(crate) const fn name(title: &'static str) -> Self {
        Self {
            title,
            is_number: false,
            may_shrink: true,
        }
    }

    /// Returns a column of words. They are never shortened.
    pub(crate) const fn text(title: &'static str) -> Self {
        Self {
            title,
            is_number: false,
            may_shrink: false,
        }
    }

    /// Returns a column of numbers. They are aligned to the right.
    pub(crate) const fn number(title: &'static str) -> Self {
        Self {
            title,
            is_number: true,
            may_shrink: false,
        }
    }
}

/// A cell of a table: its text, and the tone that selects its colour.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    /// Returns a cell with the given text, which is printed in the colour of `tone`.
    pub(crate) fn toned(tone: Tone, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { text, tone }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) const fn tone(&self) -> Tone {
        self.tone
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::toned(Tone::Plain, text)
    }
}

/// A table of text. Each column has a title above its cells.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    indent: usize,
}

impl Table {
    pub(crate) fn new(columns: impl Into<Vec<Column>>) -> Self {
        Self {
            columns: columns.into(),
            rows: Vec::new(),
            indent: 0,
        }
    }

    /// Indents all lines of the table by this many spaces.
    pub(crate) const fn indented(mut self, spaces: usize) -> Self {
        self.indent = spaces;
        self
    }

    /// Adds a row to the table. `cells` must have one cell for each column.
    pub(crate) fn add_row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let cells: Vec<Cell> = cells.into_iter().collect();
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
    }

    /// Drops columns at the right until the table fits a terminal of `width` columns, with its
    /// names as short as possible.
    pub(crate) fn drop_columns_beyond(&mut self, width: usize) {
        let widths = self.column_widths(Some(0));
        let mut end = self.indent;
        let kept = widths.iter().take_while(|column| {
            end += **column;
            let fits = end <= width;
            end += COLUMN_GAP.len();
            fits
        });
        let kept = kept.count();
        self.columns.truncate(kept);
        self.rows.iter_mut().for_each(|row| row.truncate(kept));
    }

    /// Writes the table. If `width` is given, shortens names so that the table fits into that many
    /// columns of a terminal, if this is possible.
    pub(super) fn write(
        &self,
        to: &mut impl Write,
        style: Style,
        width: Option<usize>,
    ) -> io::Result<()> {
        for row in self.fitted_rows(width) {
            let mut line = " ".repeat(self.indent);
            for Cell { text, tone } in row {
                // WHY not the padding, too: a colour must not reach beyond its text.
                let (front, rest) = text.split_at(text.len() - text.trim_start().len());
                let (text, back) = rest.split_at(rest.trim_end().len());
                line += &format!("{front}{}{back}{COLUMN_GAP}", style.paint(tone, text));
            }
            writeln!(to, "{}", line.trim_end())?;
        }
        Ok(())
    }

    /// Returns the row of titles, and then the rows of the table. All cells of a column are padded
    /// to the same width. If `width` is given, names are shortened until a row fits into that many
    /// columns of a terminal, if possible.
    pub(crate) fn fitted_rows(&self, width: Option<usize>) -> Vec<Vec<Cell>> {
        let widths = self.column_widths(width);
        let titles = self.columns.iter().map(|column| column.title.into());
        let titles: Vec<Cell> = titles.collect();
        let fit = |row: &Vec<Cell>| {
            let cells = self.columns.iter().zip(row).zip(&widths);
            let cells = cells.map(|((column, cell), width)| {
                let text = shorten_middle(&cell.text, *width);
                // WHY not the padding of `format!`: it counts characters, and some take two
                // columns or none.
                let padding = " ".repeat(width.saturating_sub(text.width()));
                let text = if column.is_number {
                    padding + &text
                } else {
                    text + &padding
                };
                Cell::toned(cell.tone, text)
            });
            cells.collect()
        };
        std::iter::once(&titles)
            .chain(&self.rows)
            .map(fit)
            .collect()
    }

    /// Returns the width of each column, in columns of a terminal. If the whole row would be wider
    /// than `limit`, makes the columns of names narrower, but not below [`NAME_WIDTH_MIN`].
    fn column_widths(&self, limit: Option<usize>) -> Vec<usize> {
        let columns = self.columns.iter().enumerate();
        let mut widths: Vec<usize> = columns
            .map(|(index, column)| {
                let cells = self.rows.iter().map(|row| row[index].text.width());
                cells.chain([column.title.width()]).max().unwrap_or(0)
            })
            .collect();
        let Some(limit) = limit else { return widths };
        let gaps = COLUMN_GAP.len() * widths.len().saturating_sub(1) + self.indent;
        let mut excess = (widths.iter().sum::<usize>() + gaps).saturating_sub(limit);
        while excess > 0 {
            let names = (0..widths.len()).filter(|index| self.columns[*index].may_shrink);
            let widest = names.max_by_key(|index| widths[*index]);
            let Some(widest) = widest.filter(|index| widths[*index] > NAME_WIDTH_MIN) else {
                break;
            };
            widths[widest] -= 1;
            excess -= 1;
        }
        widths
    }
}

/// Returns `text` shortened to at most `width` columns of a terminal. If the text is wider, its
/// middle is left out.
fn shorten_middle(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let kept = width.saturating_sub(1);
    let (front_width, back_width) = (kept - kept / 2, kept / 2);
    let ends = || text.char_indices().map(|(index, _)| index);
    let mut fronts = ends().rev().map(|end| &text[..end]);
    let mut backs = ends().map(|begin| &text[begin..]);
    let front = fronts.find(|part| part.width() <= front_width);
    let back = backs.find(|part| part.width() <= back_width);
    format!("{}…{}", front.unwrap_or(""), back.unwrap_or(""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::ColorChoice;

    fn written(width: Option<usize>, color: ColorChoice) -> String {
        let columns = [
            Column::name("TOPIC"),
            Column::text("TYPE"),
            Column::number("LOST"),
        ];
        let mut table = Table::new(columns);
        table.add_row([
            "horus/schedulers/arm/status".into(),
            "Imu".into(),
            "0".into(),
        ]);
        let lost = Cell::toned(Tone::Bad, "12");
        table.add_row(["imu".into(), "CmdVel".into(), lost]);
        let mut text = Vec::new();
        table
            .write(&mut text, Style::choose(color, false), width)
            .unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_table_has_two_spaces_between_columns() {
        let expected = "TOPIC                        TYPE    LOST\n\
                        horus/schedulers/arm/status  Imu        0\n\
                        imu                          CmdVel    12\n";
        assert_eq!(written(None, ColorChoice::Never), expected);
        assert_eq!(written(Some(80), ColorChoice::Never), expected);
    }

    #[test]
    fn names_are_cut_in_the_middle_and_numbers_never() {
        let expected = "TOPIC             TYPE    LOST\n\
                        horus/sc…/status  Imu        0\n\
                        imu               CmdVel    12\n";
        assert_eq!(written(Some(30), ColorChoice::Never), expected);
        let narrowest = written(Some(3), ColorChoice::Never);
        assert!(
            narrowest.contains("horus/…tatus  Imu        0\n"),
            "{narrowest}"
        );
    }

    /// Chinese characters and most emoji take two columns of a terminal, and an accent that is a
    /// character of its own takes none.
    #[test]
    fn wide_characters_do_not_move_columns() {
        let columns = || [Column::name("NODE"), Column::number("LOST")];
        let written = |names: &[&str], width| {
            let mut table = Table::new(columns());
            for name in names {
                table.add_row([(*name).into(), "7".into()]);
            }
            let mut text = Vec::new();
            let style = Style::choose(ColorChoice::Never, false);
            table.write(&mut text, style, width).unwrap();
            String::from_utf8(text).unwrap()
        };
        let names = ["手臂左", "arm", "🤖", "e\u{301}te\u{301}"];
        let expected = "NODE    LOST\n\
                        手臂左     7\n\
                        arm        7\n\
                        🤖         7\n\
                        e\u{301}te\u{301}        7\n";
        assert_eq!(written(&names, None), expected);
        assert_eq!(written(&names, Some(12)), expected);
        // As wide as 18 characters of Latin.
        let names = ["机器人左手臂控制器", "arm"];
        let expected = "NODE          LOST\n\
                        机器人…制器      7\n\
                        arm              7\n";
        assert_eq!(written(&names, Some(18)), expected);
    }

    #[test]
    fn colour_does_not_move_columns() {
        let colored = written(None, ColorChoice::Always);
        let plain = colored.replace("\x1b[31m", "").replace("\x1b[0m", "");
        assert_ne!(colored, plain);
        assert_eq!(plain, written(None, ColorChoice::Never));
    }
}
