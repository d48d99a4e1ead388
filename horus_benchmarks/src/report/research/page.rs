//! The page: one HTML file with everything in it, that opens without a network.

use std::fmt::Write as _;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::Value;

use crate::report::research::chart::{self, SERIES_MAX};
use crate::report::research::figure::{self, Figure};
use crate::report::research::record::{OK, Program, Run};
use crate::report::research::table::Table;
use crate::report::research::topics;
use crate::report::rows::Row;

const STYLE: &str = include_str!("page.css");

/// Figures of percentiles that are shown at once; the others unfold.
const OPEN_FIGURES: usize = 6;

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

/// A part of the page.
struct Section {
    id: &'static str,
    title: String,
    lead: &'static str,
    tables: Vec<Table>,
    figures: Vec<Figure>,
    /// How many of the figures are shown at once.
    open: usize,
}

impl Section {
    fn new(id: &'static str, title: &str, lead: &'static str) -> Section {
        let (title, open) = (title.to_owned(), usize::MAX);
        Section { id, title, lead, tables: Vec::new(), figures: Vec::new(), open }
    }

    fn tables(self, tables: impl IntoIterator<Item = Table>) -> Section {
        Section { tables: tables.into_iter().collect(), ..self }
    }

    fn figures(self, figures: Vec<Figure>) -> Section {
        Section { figures, ..self }
    }

    fn is_empty(&self) -> bool {
        self.tables.iter().all(|table| table.lines.is_empty()) && self.figures.is_empty()
    }

    fn render(&self) -> Markup {
        let (open, folded) = self.figures.split_at(self.open.min(self.figures.len()));
        html! {
            section id=(self.id) {
                h2 { (self.title) }
                @if !self.lead.is_empty() { p.lead { (self.lead) } }
                @for table in &self.tables { (table.render()) }
                @for (index, one) in open.iter().enumerate() { (draw(self.id, index, one)) }
                @if !folded.is_empty() {
                    details {
                        summary { (folded.len()) " more figures" }
                        @for (index, one) in folded.iter().enumerate() {
                            (draw(self.id, open.len() + index, one))
                        }
                    }
                }
            }
        }
    }
}

/// The whole page. `name` is what the run is called.
pub fn render(run: &Run, name: &str) -> String {
    let all = sections(run);
    let sections: Vec<&Section> = all.iter().filter(|section| !section.is_empty()).collect();
    let title = format!("Benchmarks: {name}");
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) (PreEscaped(colours())) }
            }
            body {
                h1 { (title) }
                (machine(run))
                nav {
                    a href="#programs" { "Programs" }
                    @for section in &sections { a href={ "#" (section.id) } { (section.title) } }
                    a href="#rows" { "All rows" }
                    a href="#method" { "Method" }
                }
                (programs(run))
                @for section in &sections { (section.render()) }
                (all_rows(run))
                (method())
            }
        }
    };
    page.into_string()
}

fn sections(run: &Run) -> Vec<Section> {
    let of = |name: &str| run.program(name);
    let curves = |names: &[&str]| -> Vec<Figure> {
        names.iter().filter_map(|name| of(name)).flat_map(figure::percentiles).collect()
    };
    let mut sections = vec![
        Section::new("quick-reference", "Quick reference", "")
            .tables([topics::quick_reference(run)]),
        Section::new("overhead", "Framework overhead", "What is added to the hardware floor.")
            .tables([topics::overhead(run)])
            .figures(figure::floor_ratios(run)),
        Section {
            open: OPEN_FIGURES,
            ..Section::new(
                "paths",
                "Latency of all paths",
                "Percentiles are of all samples; \"filtered\" (Tukey, 1.5 interquartile ranges) \
                 stands beside them and is used for nothing else. A curve that rises late is a \
                 path whose slow messages are rare.",
            )
        }
        .tables(topics::paths(run))
        .figures(curves(&["all_paths_latency", "raw_baselines"])),
        Section::new("throughput", "Throughput", "")
            .tables([topics::streams(run, "all_paths_latency", "")])
            .figures(of("all_paths_latency").map(figure::by_size).unwrap_or_default()),
        Section { open: 2, ..Section::new("robotics", "Messages of robots", "") }
            .tables([
                topics::of_program(run, "robotics_messages_benchmark", "Latency"),
                topics::streams(run, "robotics_messages_benchmark", "Throughput"),
                topics::real_time(run),
            ])
            .figures(curves(&["robotics_messages_benchmark"])),
        Section::new("competitors", "Side by side with others", "")
            .tables([topics::contests(run)])
            .figures(figure::contests(run)),
        Section::new("scaling", "Scaling", "")
            .tables([topics::scaling(run)])
            .figures(of("scalability_benchmark").map(figure::scaling).unwrap_or_default()),
        Section::new("determinism", "Determinism", "")
            .tables([topics::determinism(run)])
            .figures(curves(&["determinism_benchmark"])),
        Section::new(
            "wakeup",
            "Waking a blocked receiver",
            "From before the send to after the blocked call of another process returned. \
             Everywhere else both ends spin.",
        )
        .tables([topics::of_program(run, "wakeup_benchmark", "")])
        .figures(curves(&["wakeup_benchmark"])),
        Section { open: 3, ..Section::new("scheduler", "Schedulers", "") }
            .tables([topics::scheduler(run)])
            .figures(curves(&["scheduler_benchmark"])),
    ];
    let others = run.programs.iter().filter(|one| !AT_HOME.contains(&one.name.as_str()));
    let (mut tables, mut figures) = (Vec::new(), Vec::new());
    for program in others {
        let name = &program.name;
        tables.push(topics::of_program(run, name, &format!("{name}: times")));
        tables.push(topics::streams(run, name, &format!("{name}: rates")));
        figures.extend(figure::by_size(program));
        figures.extend(figure::percentiles(program));
    }
    sections.push(
        Section {
            open: OPEN_FIGURES,
            ..Section::new("others", "Other programs and languages", "")
        }
        .tables(tables)
        .figures(figures),
    );
    sections
}

/// What the run was made on, and what makes it worth less.
fn machine(run: &Run) -> Markup {
    let Some(program) = run.on_machine() else {
        return html! { div.alert.bad { "No record says what machine it was made on." } };
    };
    let text = |field| program.machine_text(field).unwrap_or("unknown").to_owned();
    let number = |field: &str| program.machine.get(field).and_then(Value::as_f64);
    let figure = |field, unit: &str| {
        number(field).map_or_else(
            || "unknown".to_owned(),
            |value| format!("{} {unit}", chart::digits(value)),
        )
    };
    let hz = number("timer_hz").map_or_else(String::new, |hz| format!(" at {:.3} GHz", hz / 1e9));
    let facts = [
        ("CPU", format!("{}, {} CPUs", text("cpu"), figure("cores", ""))),
        ("kernel", text("kernel")),
        ("hypervisor", program.machine_text("hypervisor").unwrap_or("none").to_owned()),
        ("governor", program.machine_text("governor").unwrap_or("none").to_owned()),
        ("compiler", format!("{}, {}", text("rustc"), text("profile"))),
        ("commit", program.commit.clone()),
        ("timer", format!("{}{hz}", text("timer"))),
        (
            "timer overhead, not subtracted",
            format!(
                "{}; steps of {}",
                figure("timer_overhead_ns", "ns"),
                figure("timer_resolution_ns", "ns")
            ),
        ),
        ("load before the run", figure("load_average", "")),
    ];
    let warnings = warnings(run);
    let commits: std::collections::BTreeSet<&str> =
        run.programs.iter().map(|one| &*one.commit).filter(|commit| !commit.is_empty()).collect();
    html! {
        dl.facts {
            @for (name, value) in &facts { div { dt { (name) } dd { (value) } } }
        }
        @if commits.len() > 1 {
            div.alert.bad {
                "Records of different commits: "
                (commits.into_iter().collect::<Vec<_>>().join(", "))
            }
        }
        @for (warning, more) in &warnings {
            div.alert {
                (warning)
                @if *more > 0 { " (and the like of " (more) " other programs)" }
            }
        }
    }
}

/// The warnings of all programs: of those that differ only in a number, the first, and how many
/// programs have the like.
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

/// What ran and how it ended: failures first to be seen.
fn programs(run: &Run) -> Markup {
    let failed: Vec<&Program> = run.programs.iter().filter(|one| !one.is_whole()).collect();
    html! {
        section id="programs" {
            h2 { "Programs" }
            @if !failed.is_empty() {
                div.alert.bad {
                    (failed.len()) " of " (run.programs.len()) " programs failed or left what \
                    cannot be read: "
                    (failed.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(", "))
                }
            }
            div.scroll {
                table {
                    thead {
                        tr {
                            @for name in ["program", "result", "seconds", "rows", "files"] {
                                th { (name) }
                            }
                        }
                    }
                    tbody {
                        @for one in &run.programs { (program_line(one)) }
                    }
                }
            }
        }
    }
}

fn program_line(program: &Program) -> Markup {
    let outcome = program.outcome.as_ref();
    let result = outcome.map_or("not noted", |outcome| outcome.result.as_str());
    let class = match &program.outcome {
        Some(outcome) if outcome.result == OK => "ok",
        Some(outcome) if !outcome.is_skipped() => "failed",
        _ => "note",
    };
    let has_record = !program.fields.is_empty() || !program.machine.is_empty();
    html! {
        tr {
            td { code { (program.name) } }
            td {
                span class=(class) { (result) }
                @for problem in &program.problems { div.failed { (problem) } }
            }
            td.num {
                @if let Some(outcome) = &program.outcome { (outcome.seconds) } @else { "–" }
            }
            td.num { (program.rows.len()) }
            td {
                @if has_record { a href={ (program.name) ".json" } { "JSON" } }
                @if !program.histograms.is_empty() {
                    " " a href={ (program.name) ".hlog" } { "histograms" }
                }
            }
        }
    }
}

/// Every row of every program, with all of its percentiles.
fn all_rows(run: &Run) -> Markup {
    let headings = [
        "id", "sent", "lost", "min", "p1", "p5", "p25", "p50", "p75", "p90", "p95", "p99", "p99.9",
        "p99.99", "max", "msgs/s", "basis",
    ];
    html! {
        section id="rows" {
            h2 { "All rows" }
            p.lead { "Nanoseconds, of all samples. Also as " a href="results.csv" { "CSV" } "." }
            @for program in run.programs.iter().filter(|program| !program.rows.is_empty()) {
                details {
                    summary { (program.name) ", " (program.rows.len()) " rows" }
                    div.scroll {
                        table {
                            thead { tr { @for heading in headings { th { (heading) } } } }
                            tbody {
                                @for row in &program.rows { (full_line(program, row)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn full_line(program: &Program, row: &Row) -> Markup {
    let ns = row.ns.as_ref();
    let figures = [
        ns.map(|ns| ns.min),
        ns.and_then(|ns| ns.p1),
        ns.and_then(|ns| ns.p5),
        ns.and_then(|ns| ns.p25),
        ns.map(|ns| ns.p50),
        ns.and_then(|ns| ns.p75),
        ns.map(|ns| ns.p90),
        ns.map(|ns| ns.p95),
        ns.map(|ns| ns.p99),
        ns.map(|ns| ns.p99_9),
        ns.map(|ns| ns.p99_99),
        ns.map(|ns| ns.max),
    ];
    html! {
        tr {
            td {
                code { (row.id) }
                @if row.oversubscribed { " " span.badge { "oversubscribed" } }
            }
            td.num { (row.sent) }
            td.num { (row.lost) }
            @for figure in figures {
                td.num { (figure.map_or_else(String::new, chart::digits)) }
            }
            td.num { (row.msgs_per_s.map_or_else(String::new, chart::rate)) }
            td { (program.basis(&row.id)) }
        }
    }
}

fn method() -> Markup {
    let lines = [
        "Percentiles and maxima are of all samples; nothing is removed, and the timer's overhead \
         is not subtracted. A filtered view is labelled as such.",
        "Latency is one way, from before the send on one core to after the receive on another: \
         half of a round trip timed by one core. The cost of a send call alone is not a latency, \
         and is in the records (send_ns).",
        "Intervals are 95 % bootstrap intervals of 10 000 resamples: of medians of rounds; of \
         rows with fewer than five rounds, of single samples, which makes them too narrow.",
        "The ratio to the floor compares each round with rounds of a two-line atomic ping-pong \
         next to it, on the same two CPUs.",
        "Every message is verified and numbered; sent = received + lost.",
        "A row with more busy threads than CPUs is marked as oversubscribed: its figures are \
         those of the kernel's scheduler.",
        "Do not compare nanoseconds between machines, or between days on a shared machine: \
         compare the ratios. A maximum of one run is no bound.",
    ];
    html! {
        section id="method" {
            h2 { "Method" }
            ul { @for line in lines { li { (line) } } }
            p.note { "In full: benchmarks/README.md in the repository." }
        }
    }
}

fn draw(section: &str, index: usize, figure: &Figure) -> Markup {
    let label = format!("Chart. {}. {}", figure.title, figure.source);
    html! {
        figure id={ (section) "-" (index + 1) } {
            figcaption {
                (figure.title)
                span.source { code { (figure.source) } }
            }
            (PreEscaped(embed(&figure.svg, &label)))
            @if !figure.legend.is_empty() {
                ul.legend {
                    @for (index, name) in figure.legend.iter().enumerate() {
                        li { i style={ "background:var(--c" (index % SERIES_MAX) ")" } {} (name) }
                    }
                }
            }
        }
    }
}

/// A picture as part of a page: it fills the width there is, and has a description.
fn embed(svg: &str, label: &str) -> String {
    let view = svg.find("viewBox").and_then(|at| svg[at..].split('"').nth(1)).unwrap_or_default();
    let body = svg.find('>').map_or("", |end| &svg[end + 1..]);
    let label = html! { (label) }.into_string().replace('"', "&quot;");
    format!("<svg viewBox=\"{view}\" role=\"img\" aria-label=\"{label}\">{body}")
}

/// What the stand-ins of charts look like, in light and in dark.
fn colours() -> String {
    let mut text = String::new();
    let mut rule = |stand_in: &str, variable: &str| {
        for property in ["fill", "stroke"] {
            let _ = writeln!(text, "[{property}=\"{stand_in}\"]{{{property}:var(--{variable})}}");
        }
    };
    rule(&chart::stand_in(chart::INK), "ink");
    rule(&chart::stand_in(chart::GRID), "grid");
    for index in 0..SERIES_MAX {
        rule(&chart::stand_in(chart::colour(index)), &format!("c{index}"));
    }
    text
}
