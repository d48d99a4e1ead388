//! Draws the screen of `horus top`.

use std::collections::BTreeSet;
use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Block, Clear, List, Paragraph};

use super::state::{KeyMode, NodeCommandVerb, Pane, ShownDetails, TopState, TopicDetails};
use super::{tables, totals_line};
use crate::launch::status::ProgramState;
use crate::output::format::{count, duration, visible};
use crate::output::{COLUMN_GAP, Cell, Table, Tone};
use crate::process::OwnerId;
use crate::sample::{Node, Program, Topic};

/// Number of columns and number of rows of the smallest screen on which `horus top` draws its
/// tables. A smaller screen shows only its size.
const SMALLEST_SCREEN: (u16, u16) = (60, 15);

/// The mark in front of the selected row of a table.
const SELECTION_MARK: &str = "▶";

/// Number of rows on the screen that show events. Events are shown if the screen has at least
/// [`HEIGHT_FOR_EVENTS`] rows.
const EVENT_ROWS: u16 = 4;
const HEIGHT_FOR_EVENTS: u16 = 20;

/// Width of the longest bar of a histogram, in columns. [`RATE_BARS_WIDTH`] is the number of bars
/// that show the last minute of a topic.
const HISTOGRAM_BAR_WIDTH: f64 = 40.0;
const RATE_BARS_WIDTH: usize = 12;

const KEYS_HINT: &str =
    "tab pane  / filter  s sort  enter details  e echo  p pause  ? help  q quit";

const HELP_LINES: [&str; 14] = [
    "tab         the other pane: nodes or topics",
    "arrows, j k select a row; also page up, page down, home, end",
    "/           show only names and types with these letters; esc shows all",
    "s           sort by the next column",
    "enter       details of the selected topic or node; esc goes back",
    "e           the messages of the selected topic",
    "p, r        pause or resume the selected node, after y",
    "w           write what is shown into a file, as JSON",
    "ctrl-z      stop this program; fg continues it",
    "q, ctrl-c   quit",
    "",
    "p50, p99: half, 99 % of the ticks or messages took less, to a factor of two",
    "MISSES: ticks that ended too late, took too long or began too soon, and",
    "        inputs that were too old",
];

/// Draws the whole screen of `horus top`.
pub(super) fn draw_screen(frame: &mut Frame<'_>, top: &mut TopState) {
    let area = frame.area();
    if area.width < SMALLEST_SCREEN.0 || area.height < SMALLEST_SCREEN.1 {
        let (width, height) = SMALLEST_SCREEN;
        let text = format!(
            "too small: {}×{} of {width}×{height}",
            area.width, area.height
        );
        frame.render_widget(Paragraph::new(text), area);
        return;
    }
    let [head, body, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Fill(1),
        Constraint::Length(1),
    ])
    .areas(area);
    let title = format!(
        "horus top  {}  {:.3} Hz",
        totals_line(&top.sample),
        top.hertz
    );
    frame.render_widget(Paragraph::new(title).style(bold_style()), head);
    match &top.details {
        None => draw_panes(frame, top, body),
        Some(ShownDetails::Topic(details)) => draw_topic_details(frame, details, body),
        Some(ShownDetails::Node(path)) => draw_node_details(frame, top, path, body),
    }
    frame.render_widget(Paragraph::new(footer_text(top)), foot);
    if top.mode == KeyMode::Help {
        draw_help(frame, body);
    }
}

fn footer_text(top: &TopState) -> String {
    match &top.mode {
        KeyMode::Filter => format!("filter: {}_   enter keeps it, esc shows all", top.filter),
        KeyMode::Confirm(action) => {
            let verb = match action.verb {
                NodeCommandVerb::Pause => "pause",
                NodeCommandVerb::Resume => "resume",
            };
            format!("{verb} {}/{}? y/N", action.scheduler, action.node)
        }
        _ => match &top.message {
            Some(message) => message.clone(),
            None if top.details.is_some() => "esc back  w save  ? help  q quit".to_owned(),
            None => KEYS_HINT.to_owned(),
        },
    }
}

/// Draws the programs, the nodes, the topics and the events, one above the other.
fn draw_panes(frame: &mut Frame<'_>, top: &mut TopState, area: Rect) {
    let rows = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
    // The borders and the titles of the columns take three lines.
    let nodes = rows(top.shown_nodes().len()).saturating_add(3);
    let nodes = nodes.clamp(4, (area.height / 2).saturating_sub(2).max(4));
    let has_events = area.height >= HEIGHT_FOR_EVENTS;
    let events = if has_events { EVENT_ROWS + 2 } else { 0 };
    // Without `horus launch` there is nothing to show.
    let programs = match top.sample.programs.len() {
        0 => 0,
        _ if !has_events => 0,
        number => rows(number).saturating_add(3).min(area.height / 4),
    };
    let [programs, nodes, topics, events] = Layout::vertical([
        Constraint::Length(programs),
        Constraint::Length(nodes),
        Constraint::Fill(1),
        Constraint::Length(events),
    ])
    .areas(area);
    draw_programs(frame, top, programs);
    let table = tables::node_table(top.shown_nodes());
    draw_pane(frame, top, Pane::Nodes, table, nodes);
    let bars = |topic: &str| top.rate_bars(topic, RATE_BARS_WIDTH);
    let table = tables::topic_table(top.shown_topics(), Some(&bars));
    draw_pane(frame, top, Pane::Topics, table, topics);
    draw_events(frame, top, events);
}

/// Draws the table of a pane, in which one row is selected.
fn draw_pane(frame: &mut Frame<'_>, top: &mut TopState, pane: Pane, mut table: Table, area: Rect) {
    let (name, all, order) = match pane {
        Pane::Nodes => ("Nodes", top.sample.nodes.len(), top.order_name(pane)),
        Pane::Topics => ("Topics", top.sample.topics.len(), top.order_name(pane)),
    };
    let is_active = top.pane == pane;
    let list = match pane {
        Pane::Nodes => &mut top.nodes.list,
        Pane::Topics => &mut top.topics.list,
    };
    // The two borders, and the mark of the selected row.
    let width = usize::from(area.width).saturating_sub(3);
    table.drop_columns_beyond(width);
    let mut lines = table.fitted_rows(Some(width)).into_iter();
    let titles = lines.next().unwrap_or_default();
    let lines: Vec<Line<'_>> = lines.map(|cells| row_line(&cells)).collect();
    let filter = match top.filter.as_str() {
        "" => String::new(),
        filter => format!(" with '{filter}'"),
    };
    let shown = lines.len();
    let title = format!(" {name}: {shown} of {all}{filter}, by {order} ");
    let block = Block::bordered().title(title);
    let inner = block.inner(area);
    frame.render_widget(block.border_style(border_style(is_active)), area);
    let [head, body] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(inner);
    let mut titles = row_line(&titles);
    titles.spans.insert(0, Span::raw(" "));
    frame.render_widget(titles.style(Modifier::DIM), head);
    let mark = if is_active { SELECTION_MARK } else { " " };
    let highlight = if is_active {
        bold_style()
    } else {
        Style::new()
    };
    let widget = List::new(lines)
        .highlight_symbol(mark)
        .highlight_style(highlight);
    frame.render_stateful_widget(widget, body, list);
}

fn draw_programs(frame: &mut Frame<'_>, top: &TopState, area: Rect) {
    let mut programs: Vec<&Program> = top.sample.programs.iter().collect();
    let is_running = |program: &&&Program| program.status.state == ProgramState::Running;
    let all = programs.len();
    let running = programs.iter().filter(is_running).count();
    let title = format!(" Programs (horus launch): {running} of {all} running ");
    // WHY: if not all fit, those with a problem do.
    programs.sort_by_key(|program| program.status.state.tone() == Tone::Plain);
    let block = Block::bordered().title(title);
    let width = usize::from(block.inner(area).width);
    let mut table = tables::program_table(programs, top.sample.timestamp_ns);
    table.drop_columns_beyond(width);
    let rows = table.fitted_rows(Some(width)).into_iter();
    let mut lines: Vec<Line<'_>> = rows.map(|cells| row_line(&cells)).collect();
    if let Some(titles) = lines.first_mut() {
        *titles = std::mem::take(titles).style(Modifier::DIM);
    }
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

fn draw_events(frame: &mut Frame<'_>, top: &TopState, area: Rect) {
    let block = Block::bordered().title(" Events (black boxes) ");
    let height = usize::from(block.inner(area).height);
    let skipped = top.events.len().saturating_sub(height);
    let lines = top.events.iter().skip(skipped);
    let lines = lines.map(|event| Line::styled(tables::event_line(event), tone_color(event.tone)));
    let text = Text::from_iter(lines);
    frame.render_widget(Paragraph::new(text).block(block), area);
}

/// Draws the details of a topic: its participants and its last messages.
fn draw_topic_details(frame: &mut Frame<'_>, details: &TopicDetails, area: Rect) {
    let block = Block::bordered().title(format!(" Topic {} ", details.name));
    let inner = block.inner(area);
    let height = usize::from(inner.height);
    let mut lines = Vec::new();
    if !details.echoes_only {
        lines.extend(details.description.iter().map(|cells| row_line(cells)));
        // WHY: the messages keep some lines, however many participants there are.
        lines.truncate(height / 2);
        lines.push(Line::default());
    }
    let room = height.saturating_sub(lines.len() + 1);
    let messages = match details.messages.len() {
        0 => "no message yet".to_owned(),
        _ => "the newest message of each look:".to_owned(),
    };
    lines.push(Line::styled(messages, Modifier::DIM));
    let skipped = details.messages.len().saturating_sub(room);
    let messages = details.messages.iter().skip(skipped);
    lines.extend(messages.map(|message| Line::raw(message.as_str())));
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

/// Draws the details of a node: its metrics, its topics, and the histograms of its times. `path` is
/// the path of the node.
fn draw_node_details(frame: &mut Frame<'_>, top: &TopState, path: &str, area: Rect) {
    let block = Block::bordered().title(format!(" Node {} ", visible(path)));
    let found = top.sample.nodes.iter().find(|node| node.path() == path);
    let lines = match found {
        Some(node) => node_lines(node, top),
        None => vec![Line::styled("it is gone", tone_color(Tone::Bad))],
    };
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

fn node_lines<'a>(node: &Node, top: &TopState) -> Vec<Line<'a>> {
    let metrics = &node.metrics;
    let mut lines = vec![
        Line::from(vec![
            Span::styled(metrics.state_text(), tone_color(metrics.tone())),
            Span::raw(format!(", {} at {}", metrics.class, metrics.rate_text())),
        ]),
        Line::raw(format!(
            "{} ticks, {} misses, {} skipped, {} failed, {} panicked",
            count(metrics.ticks),
            count(metrics.misses),
            count(metrics.skipped_ticks),
            count(metrics.failures),
            count(metrics.panics),
        )),
    ];
    lines.extend(node_topic_lines(node, top));
    if !metrics.last_error.is_empty() {
        let error = format!("last error: {}", visible(&metrics.last_error));
        lines.push(Line::styled(error, tone_color(Tone::Bad)));
    }
    lines.push(Line::default());
    lines.extend(histogram_lines("duration of ticks", &node.durations));
    lines.push(Line::default());
    lines.extend(histogram_lines("lateness of ticks", &node.lateness));
    lines
}

/// Returns two lines with the topics that the node reads and writes. If these are not known, the
/// lines show the topics of its process.
fn node_topic_lines<'a>(node: &Node, top: &TopState) -> [Line<'a>; 2] {
    if let (Some(reads), Some(writes)) = (&node.reads, &node.writes) {
        let line = |role, names: &[String]| Line::raw(format!("{role}: {}", names.join(", ")));
        return [line("reads", reads), line("writes", writes)];
    }
    let topics = |role: &str, has: &dyn Fn(&Topic) -> bool| {
        let topics = top.sample.topics.iter().filter(|topic| has(topic));
        let names: Vec<&str> = topics.map(|topic| topic.name.as_str()).collect();
        Line::raw(format!("its process {role}: {}", names.join(", ")))
    };
    let has = |processes: &BTreeSet<OwnerId>| {
        let process = node.owner_id.as_ref();
        process.is_some_and(|process| processes.contains(process))
    };
    [
        topics("publishes", &|topic| has(&topic.publisher_owner_ids)),
        topics("subscribes to", &|topic| has(&topic.subscriber_owner_ids)),
    ]
}

/// Returns the lines that show a histogram, with a bar for each bucket. The empty buckets at both
/// ends are left out.
fn histogram_lines<'a>(title: &'a str, buckets: &[u64]) -> Vec<Line<'a>> {
    let mut lines = vec![Line::styled(title, Modifier::DIM)];
    let highest = buckets.iter().copied().max().unwrap_or(0).max(1);
    let first = buckets.iter().position(|count| *count > 0);
    let last = buckets.iter().rposition(|count| *count > 0);
    let (Some(first), Some(last)) = (first, last) else {
        return lines;
    };
    for (index, ticks) in buckets.iter().enumerate().take(last + 1).skip(first) {
        let width = (*ticks as f64 / highest as f64 * HISTOGRAM_BAR_WIDTH).ceil();
        let below = duration(Duration::from_nanos(1 << index));
        let bar = "█".repeat(width as usize);
        let ticks = count(*ticks);
        lines.push(Line::raw(format!("< {below:>7}  {ticks:>12}  {bar}")));
    }
    lines
}

fn draw_help(frame: &mut Frame<'_>, area: Rect) {
    let block = Block::bordered()
        .title(" Keys ")
        .border_style(border_style(true));
    frame.render_widget(Clear, area);
    let lines = HELP_LINES.map(Line::raw).to_vec();
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

/// Returns the cells of a table row as one line, with a gap after each cell.
fn row_line<'a>(cells: &[Cell]) -> Line<'a> {
    let spans = cells.iter().flat_map(|cell| {
        let text = Span::styled(cell.text().to_owned(), tone_color(cell.tone()));
        [text, Span::raw(COLUMN_GAP)]
    });
    Line::from_iter(spans)
}

const fn bold_style() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

const fn border_style(is_active: bool) -> Style {
    if is_active {
        Style::new()
    } else {
        Style::new().add_modifier(Modifier::DIM)
    }
}

const fn tone_color(tone: Tone) -> Style {
    match tone {
        Tone::Plain => Style::new(),
        Tone::Bad => Style::new().fg(Color::Red),
        Tone::Waiting => Style::new().fg(Color::Yellow),
    }
}
