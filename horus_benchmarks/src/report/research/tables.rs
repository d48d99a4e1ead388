//! The layout of the page, as defined in `page.json`: its sections, the rows and columns of their
//! tables, and their charts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::report::goals::FLOOR_NS_KEY;
use crate::report::research::figure::{self, Figure, message_bytes_in_id};
use crate::report::research::record::{ProgramRecord, RunRecord};
use crate::report::rows::{self, Row};
use crate::report::template::fill_template;

const PAGE_LAYOUT_JSON: &str = include_str!("page.json");

/// Text of a table cell that has no value.
const NO_VALUE: &str = "–";

/// Columns of a table. For each one: a heading, and a template that is filled from a row.
type Columns = Vec<(String, String)>;

/// The layout of the whole report page.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Layout {
    /// The facts about the machine that the page shows.
    pub(super) facts: Columns,
    columns: BTreeMap<String, Columns>,
    /// The lines of the quick reference, which has the rows that most readers look for first.
    quick_reference: Vec<ReferenceLine>,
    sections: Vec<Section>,
    /// The layout of a section for each program that the rest of the layout does not mention.
    others: Section,
    not_among_others: Vec<String>,
    /// The choice of rows and columns for the tables at the end of the page, which list all rows of
    /// a program.
    rows: RowChoice,
}

/// A line of the quick reference. It has several lists of row ids; the page shows the first row of
/// each list that was measured.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReferenceLine {
    path: String,
    r#use: String,
    latency: Vec<String>,
    #[serde(default)]
    stream: Vec<String>,
}

/// A section of the report page, as the layout file describes it: its texts, tables and figures.
#[derive(Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
struct Section {
    id: String,
    title: String,
    lead: String,
    /// Number of figures that are visible when the page opens. The reader can unfold the others. If
    /// it is `None`, all figures are visible.
    open: Option<usize>,
    #[serde(skip_serializing)]
    tables: Vec<RowChoice>,
    /// The figures of the section. For each one: its kind, and the program whose rows it shows.
    #[serde(skip_serializing)]
    figures: Vec<(FigureKind, String)>,
}

/// A section of the layout, together with its content for one run.
#[derive(Serialize)]
pub(super) struct SectionContent<'a> {
    #[serde(flatten)]
    section: &'a Section,
    tables: Vec<Table<'a>>,
    figures: Vec<Figure>,
}

/// A table of the page. The last cell of each line says where the values of the line come from.
#[derive(Serialize)]
pub(super) struct Table<'a> {
    title: String,
    /// A text that explains the columns of the table.
    note: &'a str,
    /// The headings of the columns, without the heading of the source column.
    headings: Vec<&'a str>,
    lines: Vec<TableLine>,
}

/// A line of a table of the page.
#[derive(Serialize)]
struct TableLine {
    /// The cells of the line, one for each heading.
    cells: Vec<String>,
    /// The source of the values in this line, as `program: row id`; several sources are on separate
    /// text lines. If there are no values, it is the reason, such as `not measured`.
    source: String,
    /// True if the machine had fewer CPUs than busy threads. The values of the line are then less
    /// reliable.
    oversubscribed: bool,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FigureKind {
    Percentiles,
    BySize,
    Scaling,
}

/// The rules that choose the rows and the columns of a table.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RowChoice {
    title: String,
    note: String,
    columns: String,
    lines: LineSource,
    /// If set, the table shows only rows of this program.
    program: Option<String>,
    /// If not empty, the table shows only rows whose ids begin with one of these texts.
    starts: Vec<String>,
    contains: String,
    lacks: Option<String>,
    /// If set, the table shows only rows with messages of this size, in bytes.
    bytes: Option<f64>,
    /// The table shows only rows that have values at all of these JSON pointers.
    needs: Vec<String>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum LineSource {
    /// The table lists the rows that match the choice.
    #[default]
    Rows,
    /// The table lists the lines of the quick reference.
    Reference,
    /// The table lists control loops of robots, as programs have recorded them.
    Loops,
}

impl Layout {
    /// Returns the layout of the report's page. It is a constant of this program.
    pub(super) fn built_in() -> Layout {
        serde_json::from_str(PAGE_LAYOUT_JSON).expect("a constant, valid layout")
    }

    /// Returns the sections for which the run has any content.
    pub(super) fn section_contents(&self, run: &RunRecord) -> Vec<SectionContent<'_>> {
        let sections = self.sections.iter();
        let mut parts: Vec<SectionContent<'_>> = sections
            .map(|section| self.section_content(section, run, &[None]))
            .collect();
        let programs = run.programs.iter().map(|program| program.name.as_str());
        let others: Vec<_> = programs
            .filter(|name| !self.has_section(name))
            .map(Some)
            .collect();
        parts.push(self.section_content(&self.others, run, &others));
        parts.retain(|part| !part.figures.is_empty() || !part.tables.is_empty());
        parts
    }

    /// Returns the tables and figures of a section. Repeats them for each element of `programs`,
    /// with only the rows of that program. An element `None` means no program: the layout alone
    /// chooses the rows.
    fn section_content<'a>(
        &'a self,
        section: &'a Section,
        run: &RunRecord,
        programs: &[Option<&str>],
    ) -> SectionContent<'a> {
        let tables = programs.iter().flat_map(|program| {
            let choices = section.tables.iter();
            choices.filter_map(|choice| choice.table(self, run, *program))
        });
        let figures = programs.iter().flat_map(|program| {
            let kinds = section.figures.iter();
            kinds.flat_map(|(kind, name)| kind.draw(run.program(program.unwrap_or(name))))
        });
        SectionContent {
            section,
            tables: tables.collect(),
            figures: figures.collect(),
        }
    }

    /// Returns the name of each program, together with a table of all its rows.
    pub(super) fn all_rows<'a>(&'a self, run: &'a RunRecord) -> Vec<(&'a str, Table<'a>)> {
        let names = run.programs.iter().map(|program| program.name.as_str());
        names
            .filter_map(|name| Some((name, self.rows.table(self, run, Some(name))?)))
            .collect()
    }

    /// Returns true if the layout has a section for the program with the name `program`.
    fn has_section(&self, program: &str) -> bool {
        let is_shown = |one: &Section| {
            let mut tables = one.tables.iter();
            tables.any(|table| table.program.as_deref() == Some(program))
                || one.figures.iter().any(|(_, name)| name == program)
        };
        self.sections.iter().any(is_shown) || self.not_among_others.iter().any(|n| n == program)
    }
}

impl FigureKind {
    fn draw(self, program: Option<&ProgramRecord>) -> Vec<Figure> {
        let draw = match self {
            FigureKind::Percentiles => figure::draw_percentiles,
            FigureKind::BySize => figure::draw_by_size,
            FigureKind::Scaling => figure::draw_scaling,
        };
        program.map(draw).unwrap_or_default()
    }
}

impl RowChoice {
    /// Returns the table that the layout describes, or `None` if it has no lines. If `program` is
    /// given, the table has only rows of that program.
    fn table<'a>(
        &'a self,
        layout: &'a Layout,
        run: &RunRecord,
        program: Option<&str>,
    ) -> Option<Table<'a>> {
        let columns = &layout.columns[&self.columns];
        let references = layout.quick_reference.iter();
        let lines = match self.lines {
            LineSource::Rows => self.rows(run, program.or(self.program.as_deref()), columns),
            LineSource::Reference => references.map(|one| one.make_line(run, columns)).collect(),
            LineSource::Loops => control_loop_lines(run, columns),
        };
        (!lines.is_empty()).then(|| Table {
            title: self.title.replace("{program}", program.unwrap_or_default()),
            note: &self.note,
            headings: columns
                .iter()
                .map(|(heading, _)| heading.as_str())
                .collect(),
            lines,
        })
    }

    fn rows(&self, run: &RunRecord, program: Option<&str>, columns: &Columns) -> Vec<TableLine> {
        let rows = run
            .rows()
            .filter(|(one, _)| program.is_none_or(|name| one.name == name));
        let lines = rows.filter_map(|(program, row)| {
            let value = row_with_context(program, row);
            let line = || make_line(columns, &value, source(program, row), row.oversubscribed);
            self.matches(&row.id, &value).then(line)
        });
        lines.collect()
    }

    fn matches(&self, id: &str, row: &Value) -> bool {
        (self.starts.is_empty() || self.starts.iter().any(|start| id.starts_with(start)))
            && id.contains(&self.contains)
            && self.lacks.as_ref().is_none_or(|part| !id.contains(part))
            && self
                .bytes
                .is_none_or(|bytes| message_bytes_in_id(id) == Some(bytes))
            && self
                .needs
                .iter()
                .all(|pointer| row.pointer(pointer).is_some())
    }
}

impl ReferenceLine {
    fn make_line(&self, run: &RunRecord, columns: &Columns) -> TableLine {
        let latency = run.find(&self.latency);
        let stream = run.find(&self.stream).filter(|_| latency.is_some());
        let mut value = latency.map_or_else(
            || json!({}),
            |(program, row)| row_with_context(program, row),
        );
        value["stream"] = json!(stream.map(|(_, row)| row));
        value["path"] = self.path.as_str().into();
        value["use"] = self.r#use.as_str().into();
        let found = || latency.into_iter().chain(stream);
        let sources: Vec<_> = found().map(|(program, row)| source(program, row)).collect();
        let source = match sources.is_empty() {
            true => "not measured".to_owned(),
            false => sources.join("\n"),
        };
        let oversubscribed = latency.is_some_and(|(_, row)| row.oversubscribed);
        make_line(columns, &value, source, oversubscribed)
    }
}

/// Returns table lines for the control loops of robots, as the programs have recorded them. Each
/// line says whether the loop has time for the message that it waits for.
fn control_loop_lines(run: &RunRecord, columns: &Columns) -> Vec<TableLine> {
    let mut lines = Vec::new();
    for program in &run.programs {
        let notes = program.settings.get("real_time").and_then(Value::as_object);
        for (place, loops) in notes.into_iter().flatten() {
            for one in loops.as_array().into_iter().flatten() {
                let mut one = one.clone();
                one["place"] = place.as_str().into();
                let source = format!("{}: real_time/{place}", program.name);
                lines.push(make_line(columns, &one, source, false));
            }
        }
    }
    lines
}

/// Returns the JSON of `row` with four more values: the name of the program, how the row was
/// measured, the id without its first part, and the floor that was measured with the row.
pub(super) fn row_with_context(program: &ProgramRecord, row: &Row) -> Value {
    let mut value = json!(row);
    let short = match row.id.split_once('/') {
        Some(("one_way" | "throughput" | "floor" | "determinism" | "scalability", rest)) => rest,
        _ => &row.id,
    };
    value["short"] = short.into();
    value["program"] = program.name.as_str().into();
    value["basis"] = program.basis(&row.id).into();
    let floor: Option<[f64; 3]> = rows::value_of_row(&program.settings, FLOOR_NS_KEY, &row.id);
    if let (Some([_, floor, _]), Some(ns), Some(_)) = (floor, row.ns, row.floor_ratio) {
        value["floor"] = floor.into();
        value["overhead"] = (ns.p50 - floor).into();
    }
    value
}

fn make_line(columns: &Columns, value: &Value, source: String, oversubscribed: bool) -> TableLine {
    let cell = |(_, template): &(_, String)| {
        fill_template(template, value).unwrap_or_else(|| NO_VALUE.to_owned())
    };
    TableLine {
        cells: columns.iter().map(cell).collect(),
        source,
        oversubscribed,
    }
}

fn source(program: &ProgramRecord, row: &Row) -> String {
    format!("{}: {}", program.name, row.id)
}
