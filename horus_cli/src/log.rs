//! The command `horus log`: prints the lines that processes have logged, even of processes that
//! have died.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use horus_core::log::{LogReader, LogRecord};
use horus_core::message::LogLineHeader;
use horus_core::namespace::{Namespace, NamespaceConfig};
use serde::Serialize;

use crate::cli::{parse_number, parse_seconds};
use crate::context::{Context, other_namespaces_with_logs_text};
use crate::failure::Failure;
use crate::namespace::{find_replacement_namespace, open_listed_namespace};
use crate::output::Tone;
use crate::output::format::{count, date_time, visible};
use crate::since::Since;
use crate::stop::Deadline;

/// Time between two checks of the log for new lines.
const POLL_PERIOD: Duration = Duration::from_millis(50);
/// Maximum number of polls for the lines that exist when the command starts. Without a limit, the
/// polls would not end while lines arrive as fast as they are read.
const INITIAL_POLLS_MAX: usize = 16;
/// Time between two polls of the log while another process has reserved a line but has not finished
/// writing it.
const UNFINISHED_LINE_POLL_PERIOD: Duration = Duration::from_millis(5);

/// Show what the processes have logged, also after they have died
///
/// Prints the lines of all processes that log to horus, merged by time, oldest
/// first. The last lines of each are kept in shared memory, even after kill -9;
/// of older ones, a note says how many were lost.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Continue with new lines, until Ctrl-C
    #[arg(short, long)]
    follow: bool,
    /// Only lines of this node
    #[arg(long, value_name = "NODE")]
    node: Option<String>,
    /// Only lines of this program, given by its name or process id
    #[arg(short, long, value_name = "PROGRAM")]
    program: Option<String>,
    /// Only lines of this level and more important ones
    #[arg(
        short,
        long,
        value_name = "LEVEL",
        default_value = "trace",
        hide_default_value = true
    )]
    level: Level,
    /// Only lines of the last S seconds
    #[arg(long, value_name = "S", value_parser = parse_seconds)]
    since: Option<Duration>,
    /// Begin with the last N matching lines
    #[arg(short = 'n', value_name = "N", value_parser = parse_number::<usize>)]
    number: Option<usize>,
}

/// The levels of log lines, the most important first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Level {
    Error = LogLineHeader::ERROR as isize,
    Warn = LogLineHeader::WARN as isize,
    Info = LogLineHeader::INFO as isize,
    Debug = LogLineHeader::DEBUG as isize,
    Trace = LogLineHeader::TRACE as isize,
}

#[derive(Debug, Serialize)]
struct LogLine<'a> {
    timestamp_ns: u64,
    monotonic_ns: u64,
    program: &'a str,
    process_id: u32,
    thread: &'a str,
    thread_id: u32,
    sequence: u64,
    lost_before: u64,
    level: String,
    node: &'a str,
    target: &'a str,
    source_file: &'a str,
    source_line: u32,
    text: &'a str,
    cut_bytes: u32,
}

/// The number of lines of a process that were lost since its last line that is printed.
#[derive(Debug, Serialize)]
struct LostLineCount<'a> {
    program: &'a str,
    process_id: u32,
    lost: u64,
}

/// The lines that the command has read, whether or not it prints them.
#[derive(Debug, Default)]
struct ReadLinesSummary {
    all: u64,
    selected: u64,
    /// The programs that have logged, with the ids of their processes.
    programs: BTreeMap<String, BTreeSet<u32>>,
    nodes: BTreeSet<String>,
}

/// The conditions that a log line must fulfil to be printed. The arguments of the command set them.
struct LineFilter<'a> {
    arguments: &'a Arguments,
    since: Since,
    lost: LostLines,
}

/// The lines of each process that were lost since its last line that was selected. The keys are the
/// program and the process id.
///
/// WHY: one of them may have been a line that fulfils the conditions.
#[derive(Debug, Default)]
struct LostLines(BTreeMap<(String, u32), u64>);

pub(crate) fn run(arguments: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let found = context.open_existing_namespace()?;
    if arguments.follow {
        context.stop.catch_next_signal();
    }
    let deadline = context.deadline();
    let mut namespace = match found {
        Some(namespace) => namespace,
        None if arguments.follow => {
            let Some(namespace) = wait_for_namespace(deadline, context)? else {
                return Ok(());
            };
            namespace
        }
        None => return Ok(()),
    };
    let mut selection = LineFilter {
        arguments,
        since: Since::new(arguments.since),
        lost: LostLines::default(),
    };
    let mut reader = LogReader::new(&namespace);
    let mut printed = 0;
    let mut seen = ReadLinesSummary::default();
    for record in selection.read_existing_lines(&mut reader, &mut seen, context)? {
        print_line(&record, context)?;
        printed += 1;
    }
    let mut lost = 0;
    let mut goes_on = arguments.follow;
    while goes_on {
        context.out.flush()?;
        let due = deadline.or_earlier(Instant::now() + POLL_PERIOD);
        goes_on = context.stop.sleep_until(due) && !deadline.is_over();
        let replacement = find_replacement_namespace(&namespace)?;
        // WHY also if it is replaced: its last lines may say why a program has ended.
        let mut records = poll_lines(&mut reader)?;
        if let Some(other) = replacement {
            lost += reader.lost();
            reader = LogReader::new(&other);
            namespace = other;
            records.extend(poll_lines(&mut reader)?);
        }
        for mut record in records {
            if selection.accept_or_count_lost(&mut record) {
                print_line(&record, context)?;
                printed += 1;
            }
        }
    }
    context.out.flush()?;
    if arguments.follow {
        let lost = count(lost + reader.lost());
        context.print_note(format_args!("{} lines, {lost} lost", count(printed)));
        return Ok(());
    }
    for ((program, process_id), lost) in &selection.lost.0 {
        let (program, process_id, lost) = (program.as_str(), *process_id, *lost);
        if context.is_json() {
            context.out.write_json(LostLineCount {
                program,
                process_id,
                lost,
            })?;
        } else {
            context.print_note(lost_lines_text(program, process_id, lost));
        }
    }
    if seen.selected == 0 {
        let config = namespace.config();
        context.print_note(seen.no_lines_text(arguments, config));
    }
    Ok(())
}

/// Waits until a program creates the namespace. Returns `None` if a signal or the time limit of
/// `--timeout` comes first.
fn wait_for_namespace(
    deadline: Deadline,
    context: &Context,
) -> Result<Option<Arc<Namespace>>, Failure> {
    let config = context.namespace_config()?;
    loop {
        let due = deadline.or_earlier(Instant::now() + POLL_PERIOD);
        let is_over = !context.stop.sleep_until(due) || deadline.is_over();
        let namespace = open_listed_namespace(&config)?;
        if is_over || namespace.is_some() {
            return Ok(namespace);
        }
    }
}

impl LineFilter<'_> {
    /// Returns the log lines that exist when the command starts and fulfil the conditions.
    fn read_existing_lines(
        &mut self,
        reader: &mut LogReader,
        seen: &mut ReadLinesSummary,
        context: &Context,
    ) -> Result<VecDeque<LogRecord>, Failure> {
        let mut found = VecDeque::new();
        for _ in 0..INITIAL_POLLS_MAX {
            let records = poll_lines(reader)?;
            if records.is_empty() && !reader.has_withheld_lines() {
                break;
            }
            for mut record in records {
                let is_selected = self.accept_or_count_lost(&mut record);
                seen.add_line(&record, is_selected);
                if !is_selected {
                    continue;
                }
                found.push_back(record);
                if self
                    .arguments
                    .number
                    .is_some_and(|number| found.len() > number)
                {
                    found.pop_front();
                }
            }
            if reader.has_withheld_lines() {
                context
                    .stop
                    .sleep_until(Instant::now() + UNFINISHED_LINE_POLL_PERIOD);
            }
        }
        Ok(found)
    }

    /// Returns true if a line fulfils the conditions. Its number of lines that were lost before is
    /// then that since the last such line of its process.
    fn accept_or_count_lost(&mut self, record: &mut LogRecord) -> bool {
        let line = record.line.header();
        let process = (record.program.to_string(), line.process_id);
        // WHY: what was lost before a line that is too old was too old itself.
        let is_young = self.since.selects(line.timestamp_ns, line.monotonic_ns);
        let may_be_missed = is_young && self.is_of_program(record);
        let lost = self.lost.0.remove(&process).unwrap_or(0) + record.lost_before;
        if is_young && self.meets_conditions(record) {
            record.lost_before = lost;
            return true;
        }
        if may_be_missed && lost > 0 {
            self.lost.0.insert(process, lost);
        }
        false
    }

    /// Returns true if a line is of the program that the option `--program` selects.
    fn is_of_program(&self, record: &LogRecord) -> bool {
        let process_id = record.line.header().process_id;
        let is_of =
            |program: &String| *program == *record.program || program.parse() == Ok(process_id);
        self.arguments.program.as_ref().is_none_or(is_of)
    }

    /// Returns true if a line fulfils all conditions except that of its age.
    fn meets_conditions(&self, record: &LogRecord) -> bool {
        let line = record.line.header();
        let Arguments { node, level, .. } = self.arguments;
        node.as_ref().is_none_or(|node| line.node == **node)
            && self.is_of_program(record)
            && line.level <= *level as u8
    }
}

impl ReadLinesSummary {
    /// Adds a line that was read. `is_selected` is true if it fulfils the conditions.
    fn add_line(&mut self, record: &LogRecord, is_selected: bool) {
        let line = record.line.header();
        self.all += 1;
        self.selected += u64::from(is_selected);
        let programs = self.programs.entry(record.program.to_string());
        programs.or_default().insert(line.process_id);
        if !line.node.as_str().is_empty() {
            self.nodes.insert(line.node.to_string());
        }
    }

    /// Returns a text for a user who sees no line: it names the condition that no line fulfils, or
    /// says that no program has logged.
    fn no_lines_text(&self, arguments: &Arguments, config: &NamespaceConfig) -> String {
        if self.all == 0 {
            let namespace = config.name();
            let others = other_namespaces_with_logs_text(config);
            return format!(
                "no program has logged in namespace '{namespace}': programs log to horus after \
                 horus_core::log::init() in Rust, horus.log_to_topic() in Python, or \
                 horus::open_log() in C++.{others}"
            );
        }
        let all = count(self.all);
        let names = |names: Vec<&String>| {
            let names: Vec<_> = names.iter().map(|name| visible(name)).collect();
            names.join(", ")
        };
        let is_known = |program: &String| {
            let ids = self.programs.values().flatten();
            self.programs.contains_key(program) || ids.copied().any(|id| program.parse() == Ok(id))
        };
        if let Some(program) = arguments.program.as_ref().filter(|name| !is_known(name)) {
            let programs = names(self.programs.keys().collect());
            return format!(
                "none of the {all} lines is of program '{program}'. Programs that have logged: \
                 {programs}"
            );
        }
        if let Some(node) = arguments
            .node
            .as_ref()
            .filter(|name| !self.nodes.contains(*name))
        {
            let nodes = match names(self.nodes.iter().collect()) {
                nodes if nodes.is_empty() => "none".to_owned(),
                nodes => nodes,
            };
            return format!(
                "none of the {all} lines is of node '{node}'. Nodes that have logged: {nodes}"
            );
        }
        format!("none of the {all} lines fulfils all conditions of the options")
    }
}

fn poll_lines(reader: &mut LogReader) -> Result<Vec<LogRecord>, Failure> {
    reader
        .poll()
        .map_err(|error| Failure::from_open_error(&error))
}

fn print_line(record: &LogRecord, context: &mut Context) -> Result<(), Failure> {
    let line = record.line.header();
    let text = record.line.text();
    if context.is_json() {
        return context.out.write_json(LogLine {
            timestamp_ns: line.timestamp_ns,
            monotonic_ns: line.monotonic_ns,
            program: &record.program,
            process_id: line.process_id,
            thread: line.thread.as_str(),
            thread_id: line.thread_id,
            sequence: line.sequence,
            lost_before: record.lost_before,
            level: line.level_name().to_lowercase(),
            node: line.node.as_str(),
            target: line.target.as_str(),
            source_file: line.source_file.as_str(),
            source_line: line.source_line,
            text: &text,
            cut_bytes: line.cut_bytes,
        });
    }
    let process = format!("{}[{}]", visible(&record.program), line.process_id);
    if record.lost_before > 0 {
        // WHY flushed: the note belongs between the lines.
        context.out.flush()?;
        context.print_note(lost_lines_text(
            &record.program,
            line.process_id,
            record.lost_before,
        ));
    }
    let said = format!(
        "{:5} {process} {}",
        line.level_name(),
        source_and_text(line.source(), &text, line.cut_bytes)
    );
    let said = context.out.paint(level_tone(line.level), &said);
    context
        .out
        .write_line(format_args!("{} {said}", date_time(line.timestamp_ns)))
}

/// Returns a note about lines of a process that were overwritten before they were read.
fn lost_lines_text(program: &str, process_id: u32, lost: u64) -> String {
    format!(
        "{}[{process_id}]: {} lines lost",
        visible(program),
        count(lost)
    )
}

/// Returns the source and the text of a log line. If the text has several lines, marks each line
/// after the first, so that it cannot look like another log line.
fn source_and_text(source: &str, text: &str, cut_bytes: u32) -> String {
    let parts: Vec<_> = text
        .trim_end_matches('\n')
        .split('\n')
        .map(visible)
        .collect();
    let mut said = parts.join("\n    | ");
    if !source.is_empty() {
        said.insert_str(0, &format!("{}: ", visible(source)));
    }
    if cut_bytes > 0 {
        said.push_str(&format!("… ({cut_bytes} bytes more)"));
    }
    said
}

/// Returns the tone of a log level. The tone selects the colour in which a line is printed.
const fn level_tone(level: u8) -> Tone {
    match level {
        LogLineHeader::ERROR => Tone::Bad,
        LogLineHeader::WARN => Tone::Waiting,
        _ => Tone::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_can_look_like_another_line_or_move_the_cursor() {
        assert_eq!(
            source_and_text("pl\x1banner", "a\x1b[2J\r\n2025 ERROR b\n", 3),
            "pl\\u{1b}anner: a\\u{1b}[2J\\r\n    | 2025 ERROR b… (3 bytes more)"
        );
        assert_eq!(source_and_text("", "x", 0), "x");
    }
}
