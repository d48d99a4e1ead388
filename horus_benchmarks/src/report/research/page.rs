//! The page: one self-contained HTML file that opens without a network.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::json;

use crate::report::research::chart::SERIES_MAX;
use crate::report::research::figure::Figure;
use crate::report::research::html::{Table, escape};
use crate::report::research::record::{OK, Program, Run};
use crate::report::research::tables::{Layout, Section};
use crate::report::template::fill;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");

/// A section of the layout, and its content for this run.
struct Part<'a> {
    section: &'a Section,
    tables: Vec<Table<'a>>,
    figures: Vec<Figure>,
}

/// Returns the whole page. `name` is the name of the run.
pub fn render(run: &Run, name: &str) -> String {
    let layout = Layout::read();
    let parts = parts(&layout, run);
    let link = |Part { section, .. }: &Part<'_>| {
        format!("<a href=\"#{}\">{}</a>\n", section.id, section.title)
    };
    PAGE.replace("{{style}}", STYLE)
        .replace("{{name}}", &escape(name))
        .replace("{{machine}}", &machine(&layout, run))
        .replace("{{links}}", &parts.iter().map(link).collect::<String>())
        .replace("{{programs}}", &programs(run))
        .replace(
            "{{sections}}",
            &parts.iter().map(Part::render).collect::<String>(),
        )
        .replace("{{rows}}", &all_rows(&layout, run))
}

/// Returns the sections for which the run has anything to show.
fn parts<'a>(layout: &'a Layout, run: &Run) -> Vec<Part<'a>> {
    let part = |section: &'a Section| {
        let tables = section.tables(layout, run, None);
        let figures = section.figures(run, None);
        Part {
            section,
            tables,
            figures,
        }
    };
    let mut parts: Vec<Part<'a>> = layout.sections.iter().map(part).collect();
    let mut others = Part {
        section: &layout.others,
        tables: Vec::new(),
        figures: Vec::new(),
    };
    for program in run
        .programs
        .iter()
        .filter(|one| !layout.has_section(&one.name))
    {
        let name = Some(program.name.as_str());
        others
            .tables
            .extend(layout.others.tables(layout, run, name));
        others.figures.extend(layout.others.figures(run, name));
    }
    parts.push(others);
    parts.retain(|one| {
        !one.figures.is_empty() || one.tables.iter().any(|table| !table.lines.is_empty())
    });
    parts
}

impl Part<'_> {
    fn render(&self) -> String {
        let Section {
            id,
            title,
            lead,
            open,
            ..
        } = self.section;
        let open = open.unwrap_or(usize::MAX);
        let mut html = format!("<section id=\"{id}\"><h2>{title}</h2>\n");
        if !lead.is_empty() {
            let _ = write!(html, "<p class=\"lead\">{}</p>", escape(lead));
        }
        html.extend(self.tables.iter().map(Table::render));
        for (index, figure) in self.figures.iter().enumerate() {
            if index == open {
                let folded = self.figures.len() - open;
                let _ = write!(html, "<details><summary>{folded} more figures</summary>");
            }
            html.push_str(&draw(id, index, figure));
        }
        html.push_str(if self.figures.len() > open {
            "</details>"
        } else {
            ""
        });
        html + "</section>\n"
    }
}

fn draw(section: &str, index: usize, figure: &Figure) -> String {
    let Figure {
        title,
        source,
        svg,
        legend,
    } = figure;
    let name = |(index, name): (usize, &String)| {
        let colour = index % SERIES_MAX;
        let name = escape(name);
        format!("<li><i style=\"background:var(--c{colour})\"></i>{name}</li>")
    };
    format!(
        "<figure id=\"{section}-{}\"><figcaption>{}<span class=\"source\"><code>{}</code></span>\
         </figcaption>{svg}<ul class=\"legend\">{}</ul></figure>\n",
        index + 1,
        escape(title),
        escape(source),
        legend.iter().enumerate().map(name).collect::<String>(),
    )
}

/// Returns the machine of the run, and the circumstances that make its numbers worse.
fn machine(layout: &Layout, run: &Run) -> String {
    let alert = |class: &str, text: &str| format!("<div class=\"alert{class}\">{text}</div>\n");
    let Some(program) = run.on_machine() else {
        return alert(" bad", "No record says what machine it was made on.");
    };
    let mut machine = json!(program.machine);
    machine["commit"] = program.commit.as_str().into();
    let fact = |(name, template): &(String, String)| {
        let text = fill(template, &machine).unwrap_or_else(|| "none".to_owned());
        format!("<div><dt>{name}</dt><dd>{}</dd></div>", escape(&text))
    };
    let facts: String = layout.facts.iter().map(fact).collect();
    let mut html = format!("<dl class=\"facts\">{facts}</dl>\n");
    let commits: BTreeSet<&str> = run
        .programs
        .iter()
        .map(|one| &*one.commit)
        .filter(|commit| !commit.is_empty())
        .collect();
    if commits.len() > 1 {
        let commits = commits.into_iter().collect::<Vec<_>>().join(", ");
        html.push_str(&alert(
            " bad",
            &format!("Records of different commits: {commits}"),
        ));
    }
    for (warning, more) in warnings(run) {
        let like = match more {
            0 => String::new(),
            more => format!(" (and the like of {more} other programs)"),
        };
        html.push_str(&alert("", &(escape(warning) + &like)));
    }
    html
}

/// Returns the warnings of all programs, each with the number of programs that have it. Of warnings
/// that differ only in a number, the first is returned.
fn warnings(run: &Run) -> Vec<(&str, usize)> {
    let words = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "");
    let mut warnings: Vec<(&str, usize)> = Vec::new();
    for warning in run.programs.iter().flat_map(Program::warnings) {
        match warnings
            .iter_mut()
            .find(|(first, _)| words(first) == words(warning))
        {
            Some((_, more)) => *more += 1,
            None => warnings.push((warning, 0)),
        }
    }
    warnings
}

/// Returns a table of the programs and their results; those that failed come first.
fn programs(run: &Run) -> String {
    let failed: Vec<&str> = run
        .programs
        .iter()
        .filter(|one| !one.is_whole())
        .map(|one| one.name.as_str())
        .collect();
    let mut html = String::new();
    if !failed.is_empty() {
        let _ = write!(
            html,
            "<div class=\"alert bad\">{} of {} programs failed or left what cannot be read: {}\
             </div>",
            failed.len(),
            run.programs.len(),
            escape(&failed.join(", "))
        );
    }
    html.push_str(
        "<div class=\"scroll\"><table><thead><tr><th>program</th><th>result</th><th>seconds</th>\
         <th>rows</th><th>files</th></tr></thead><tbody>\n",
    );
    html.extend(run.programs.iter().map(program_line));
    html + "</tbody></table></div>"
}

fn program_line(program: &Program) -> String {
    let outcome = program.outcome.as_ref();
    let result = outcome.map_or("not noted", |outcome| outcome.result.as_str());
    let class = match outcome {
        Some(outcome) if outcome.result == OK => "ok",
        Some(outcome) if !outcome.is_skipped() => "failed",
        _ => "note",
    };
    let problem = |text: &String| format!("<div class=\"failed\">{}</div>", escape(text));
    let seconds = outcome.map_or_else(|| "–".to_owned(), |outcome| outcome.seconds.to_string());
    let name = escape(&program.name);
    let link = |when: bool, file: &str, text: &str| match when {
        true => format!("<a href=\"{name}.{file}\">{text}</a> "),
        false => String::new(),
    };
    format!(
        "<tr><td><code>{name}</code></td><td><span class=\"{class}\">{}</span>{}</td>\
         <td class=\"num\">{seconds}</td><td class=\"num\">{}</td><td>{}{}</td></tr>\n",
        escape(result),
        program.problems.iter().map(problem).collect::<String>(),
        program.rows.len(),
        link(
            !program.rows.is_empty() || !program.machine.is_empty(),
            "json",
            "JSON"
        ),
        link(!program.histograms.is_empty(), "hlog", "histograms"),
    )
}

/// Returns every row of every program, with all of its percentiles.
fn all_rows(layout: &Layout, run: &Run) -> String {
    let rows = |program: &Program| {
        let name = escape(&program.name);
        let count = program.rows.len();
        let table = layout.rows.table(layout, run, Some(&program.name)).render();
        format!("<details><summary>{name}, {count} rows</summary>{table}</details>\n")
    };
    run.programs
        .iter()
        .filter(|program| !program.rows.is_empty())
        .map(rows)
        .collect()
}
