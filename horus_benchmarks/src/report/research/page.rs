//! Renders the report's page: one HTML file that needs no other files and no network.

use std::collections::BTreeSet;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, Error, Output, State};
use serde_json::json;

use crate::report::research::chart::PLOT_AREA;
use crate::report::research::record::{OK_RESULT, ProgramRecord, RunRecord};
use crate::report::research::tables::Layout;
use crate::report::template::fill_template;

const PAGE_HTML: &str = include_str!("page.html");
const PAGE_CSS: &str = include_str!("page.css");

/// Returns the HTML of the whole page. `name` is the name of the run.
///
/// # Errors
///
/// If the template of the page is invalid.
pub fn render(run: &RunRecord, name: &str) -> Result<String, Error> {
    let layout = Layout::built_in();
    let programs = || run.programs.iter();
    let commits: BTreeSet<&str> = programs().map(|one| &*one.commit).collect();
    let failed = programs().filter(|one| !one.is_complete());
    let content = json!({
        "name": name,
        "style": PAGE_CSS,
        "plot": PLOT_AREA,
        "facts": run.first_with_machine().map(|program| machine_facts(&layout, program)),
        "commits": commits.iter().filter(|commit| !commit.is_empty()).collect::<Vec<_>>(),
        "warnings": distinct_warnings(run),
        "failed": failed.map(|one| &one.name).collect::<Vec<_>>(),
        "programs": programs().map(program_values).collect::<Vec<_>>(),
        "parts": layout.section_contents(run),
        "rows": layout.all_rows(run),
    });
    let mut environment = Environment::new();
    let mut syntax = SyntaxConfig::builder();
    environment.set_syntax(syntax.trim_blocks(true).lstrip_blocks(true).build()?);
    environment.set_formatter(escape_html);
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment
        .template_from_str(PAGE_HTML)?
        .render(Value::from(Serde(content)))
}

/// Writes `value` to the page. Escapes the characters that have a meaning in HTML, unless the value
/// is marked as safe.
///
/// WHY not the escape function of the template engine: it also escapes slashes, and every id has
/// slashes.
fn escape_html(out: &mut Output<'_>, _: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    match value.as_str().filter(|_| !value.is_safe()) {
        Some(text) => {
            let text = text.replace('&', "&amp;").replace('<', "&lt;");
            out.write_str(&text.replace('>', "&gt;").replace('"', "&quot;"))?;
        }
        None => write!(out, "{value}")?,
    }
    Ok(())
}

/// Returns the names and values of the facts about the machine on which `program` ran.
fn machine_facts<'a>(layout: &'a Layout, program: &ProgramRecord) -> Vec<(&'a str, String)> {
    let mut machine = json!(program.machine);
    machine["commit"] = program.commit.as_str().into();
    let value =
        |template: &str| fill_template(template, &machine).unwrap_or_else(|| "none".to_owned());
    let facts = layout.facts.iter();
    facts
        .map(|(name, template)| (name.as_str(), value(template)))
        .collect()
}

/// Returns the warnings of all programs. With each warning comes the number of other programs that
/// also have it. If warnings differ only in a number, returns only the first of them.
fn distinct_warnings(run: &RunRecord) -> Vec<(&str, usize)> {
    let words = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "");
    let mut warnings: Vec<(&str, usize)> = Vec::new();
    for warning in run.programs.iter().flat_map(ProgramRecord::warnings) {
        let mut known = warnings.iter_mut();
        match known.find(|(first, _)| words(first) == words(warning)) {
            Some((_, more)) => *more += 1,
            None => warnings.push((warning, 0)),
        }
    }
    warnings
}

/// Returns the values for the line of `program` in the table of programs.
fn program_values(program: &ProgramRecord) -> serde_json::Value {
    let outcome = program.outcome.as_ref();
    let class = match outcome {
        Some(outcome) if outcome.result == OK_RESULT => "ok",
        Some(outcome) if !outcome.is_skipped() => "failed",
        _ => "note",
    };
    json!({
        "name": program.name,
        "result": outcome.map_or("not noted", |outcome| &outcome.result),
        "class": class,
        "problems": program.problems,
        "seconds": outcome.map(|outcome| outcome.seconds),
        "rows": program.rows.len(),
        "has_record": !program.rows.is_empty() || !program.machine.is_empty(),
        "has_histograms": !program.histograms.is_empty(),
    })
}
