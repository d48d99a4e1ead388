//! The page: one HTML file with everything in it, that opens without a network.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::json;

use crate::report::research::chart::SERIES_MAX;
use crate::report::research::figure::{self, Figure};
use crate::report::research::html::{Table, escape};
use crate::report::research::record::{OK, Program, Run};
use crate::report::research::tables;
use crate::report::template::fill;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");

/// Programs that have a section of their own, and so are not among the others.
const AT_HOME: [&str; 10] = [
    "raw_baselines",
    "all_paths_latency",
    "robotics_messages_benchmark",
    "competitor_comparison",
    "iceoryx2_comparison",
    "channel_comparison",
    "scalability_benchmark",
    "determinism_benchmark",
    "wakeup_benchmark",
    "scheduler_benchmark",
];

/// Facts about the machine: a name, and a template that is filled from the record.
const FACTS: [(&str, &str); 9] = [
    ("CPU", "{/cpu}, {/cores} CPUs"),
    ("kernel", "{/kernel}"),
    ("hypervisor", "{/hypervisor}"),
    ("governor", "{/governor}"),
    ("compiler", "{/rustc}, {/profile}"),
    ("commit", "{/commit}"),
    ("timer", "{/timer}, steps of {/timer_resolution_ns:digits} ns"),
    ("timer overhead, not subtracted", "{/timer_overhead_ns:digits} ns"),
    ("load before the run", "{/load_average:digits}"),
];

/// A part of the page.
struct Section {
    id: &'static str,
    title: &'static str,
    lead: &'static str,
    tables: Vec<Table>,
    figures: Vec<Figure>,
    /// The number of figures that are shown at once; the others unfold.
    open: usize,
}

/// Returns the whole page. `name` is what the run is called.
pub fn render(run: &Run, name: &str) -> String {
    let mut sections = sections(run);
    sections.retain(|one| {
        !one.figures.is_empty() || one.tables.iter().any(|table| !table.lines.is_empty())
    });
    let link = |one: &Section| format!("<a href=\"#{}\">{}</a>\n", one.id, one.title);
    PAGE.replace("{{style}}", STYLE)
        .replace("{{name}}", &escape(name))
        .replace("{{machine}}", &machine(run))
        .replace("{{links}}", &sections.iter().map(link).collect::<String>())
        .replace("{{programs}}", &programs(run))
        .replace("{{sections}}", &sections.iter().map(Section::render).collect::<String>())
        .replace("{{rows}}", &all_rows(run))
}

fn sections(run: &Run) -> Vec<Section> {
    let curves = |names: &[&str]| -> Vec<Figure> {
        names.iter().filter_map(|name| run.program(name)).flat_map(figure::percentiles).collect()
    };
    let of = |name: &str, figures: fn(&Program) -> Vec<Figure>| {
        run.program(name).map(figures).unwrap_or_default()
    };
    let section = |id, title, tables, figures| Section {
        id,
        title,
        lead: "",
        tables,
        figures,
        open: usize::MAX,
    };
    let robots = "robotics_messages_benchmark";
    let mut sections = vec![
        section("quick-reference", "Quick reference", vec![tables::quick_reference(run)], vec![]),
        Section {
            lead: "What is added to the hardware floor.",
            ..section("overhead", "Framework overhead", vec![tables::overhead(run)], vec![])
        },
        Section {
            lead: "Percentiles are of all samples; \"filtered\" (Tukey, 1.5 interquartile ranges) \
                   stands beside them and is used for nothing else. A curve that rises late is a \
                   path whose slow messages are rare.",
            open: 6,
            ..section(
                "paths",
                "Latency of all paths",
                tables::paths(run),
                curves(&["all_paths_latency", "raw_baselines"]),
            )
        },
        section(
            "throughput",
            "Throughput",
            vec![tables::rates(run, "all_paths_latency", "")],
            of("all_paths_latency", figure::by_size),
        ),
        Section {
            open: 2,
            ..section(
                "robotics",
                "Messages of robots",
                vec![
                    tables::times(run, robots, "Latency"),
                    tables::rates(run, robots, "Throughput"),
                    tables::real_time(run),
                ],
                curves(&[robots]),
            )
        },
        section(
            "competitors",
            "Side by side with others",
            tables::comparisons(run).to_vec(),
            [
                of("channel_comparison", figure::by_size),
                of("competitor_comparison", figure::by_size),
            ]
            .concat(),
        ),
        section(
            "scaling",
            "Scaling",
            vec![tables::scaling(run)],
            of("scalability_benchmark", figure::scaling),
        ),
        section(
            "determinism",
            "Determinism",
            vec![tables::determinism(run)],
            curves(&["determinism_benchmark"]),
        ),
        Section {
            lead: "From before the send to after the blocked call of another process returned. \
                   Everywhere else both ends spin.",
            ..section(
                "wakeup",
                "Waking a blocked receiver",
                vec![tables::times(run, "wakeup_benchmark", "")],
                curves(&["wakeup_benchmark"]),
            )
        },
        Section {
            open: 3,
            ..section(
                "scheduler",
                "Schedulers",
                vec![tables::scheduler(run)],
                curves(&["scheduler_benchmark"]),
            )
        },
    ];
    let (mut tables, mut figures) = (Vec::new(), Vec::new());
    for program in run.programs.iter().filter(|one| !AT_HOME.contains(&one.name.as_str())) {
        let name = &program.name;
        tables.push(tables::times(run, name, &format!("{name}: times")));
        tables.push(tables::rates(run, name, &format!("{name}: rates")));
        figures.extend(figure::by_size(program));
        figures.extend(figure::percentiles(program));
    }
    let others = section("others", "Other programs and languages", tables, figures);
    sections.push(Section { open: 6, ..others });
    sections
}

impl Section {
    fn render(&self) -> String {
        let mut html = format!("<section id=\"{}\"><h2>{}</h2>\n", self.id, self.title);
        if !self.lead.is_empty() {
            let _ = write!(html, "<p class=\"lead\">{}</p>", escape(self.lead));
        }
        html.extend(self.tables.iter().map(Table::render));
        for (index, figure) in self.figures.iter().enumerate() {
            if index == self.open {
                let folded = self.figures.len() - self.open;
                let _ = write!(html, "<details><summary>{folded} more figures</summary>");
            }
            html.push_str(&draw(self.id, index, figure));
        }
        html.push_str(if self.figures.len() > self.open { "</details>" } else { "" });
        html + "</section>\n"
    }
}

fn draw(section: &str, index: usize, figure: &Figure) -> String {
    let Figure { title, source, svg, legend } = figure;
    let name = |(index, name): (usize, &String)| {
        let (colour, name) = (index % SERIES_MAX, escape(name));
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

/// Returns what the run was made on, and what makes it worth less.
fn machine(run: &Run) -> String {
    let alert = |class: &str, text: &str| format!("<div class=\"alert{class}\">{text}</div>\n");
    let Some(program) = run.on_machine() else {
        return alert(" bad", "No record says what machine it was made on.");
    };
    let mut machine = json!(program.machine);
    machine["commit"] = program.commit.as_str().into();
    let fact = |(name, template): (&str, &str)| {
        let text = fill(template, &machine).unwrap_or_else(|| "none".to_owned());
        format!("<div><dt>{name}</dt><dd>{}</dd></div>", escape(&text))
    };
    let mut html = format!("<dl class=\"facts\">{}</dl>\n", FACTS.map(fact).concat());
    let commits: BTreeSet<&str> =
        run.programs.iter().map(|one| &*one.commit).filter(|commit| !commit.is_empty()).collect();
    if commits.len() > 1 {
        let commits = commits.into_iter().collect::<Vec<_>>().join(", ");
        html.push_str(&alert(" bad", &format!("Records of different commits: {commits}")));
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

/// Returns the warnings of all programs: of those that differ only in a number the first, and how
/// many programs have the like.
fn warnings(run: &Run) -> Vec<(&str, usize)> {
    let words = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "");
    let mut warnings: Vec<(&str, usize)> = Vec::new();
    for warning in run.programs.iter().flat_map(Program::warnings) {
        match warnings.iter_mut().find(|(first, _)| words(first) == words(warning)) {
            Some((_, more)) => *more += 1,
            None => warnings.push((warning, 0)),
        }
    }
    warnings
}

/// Returns which programs ran and how they ended, those that failed first.
fn programs(run: &Run) -> String {
    let failed: Vec<&str> =
        run.programs.iter().filter(|one| !one.is_whole()).map(|one| one.name.as_str()).collect();
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
        link(!program.rows.is_empty() || !program.machine.is_empty(), "json", "JSON"),
        link(!program.histograms.is_empty(), "hlog", "histograms"),
    )
}

/// Returns every row of every program, with all of its percentiles.
fn all_rows(run: &Run) -> String {
    let rows = |program: &Program| {
        let (name, count) = (escape(&program.name), program.rows.len());
        let table = tables::all(program).render();
        format!("<details><summary>{name}, {count} rows</summary>{table}</details>\n")
    };
    run.programs.iter().filter(|program| !program.rows.is_empty()).map(rows).collect()
}
