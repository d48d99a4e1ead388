//! Generates the tables in the documents, such as the README's, from recorded runs. No number is
//! typed by hand.
//!
//! A table shows one record, and next to it the range over all records of the same CPU, because two
//! runs differ by more than the 95 % interval of each.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::report::goals::Verdict;
use crate::report::research::record::{Program, Run};
use crate::report::rows::Row;

/// A generated table: the marker lines around it, and the function that makes it.
type GeneratedTable = (
    &'static str,
    &'static str,
    fn(&Records, &str) -> Result<String, ReadmeError>,
);

/// The tables that a document may contain. The function gets the records and the link to the record
/// shown.
const GENERATED_TABLES: [GeneratedTable; 3] = [
    ("<!-- latency:begin -->", "<!-- latency:end -->", latency),
    ("<!-- layers:begin -->", "<!-- layers:end -->", layers),
    ("<!-- goals:begin -->", "<!-- goals:end -->", goals),
];

/// The benchmark program whose rows the tables show.
const SHOWN: &str = "all_paths_latency";

const ROWS: [(&str, &str); 8] = [
    (
        "two-line atomic ping-pong (the floor)",
        "floor/cross_process/two_lines/8B",
    ),
    (
        "1:1, gated ring, 16 B",
        "one_way/cross_process/spsc_shm/16B",
    ),
    ("1:1, topic, 16 B", "one_way/cross_process/topic/16B"),
    (
        "1:1, topic, 304 B (`Imu`)",
        "one_way/cross_process/topic/304B",
    ),
    (
        "1:1, topic, 1480 B (`LaserScan`)",
        "one_way/cross_process/topic/1480B",
    ),
    ("2:1, 16 B", "one_way/cross_process/mpsc_shm/16B"),
    ("2:2, 16 B", "one_way/cross_process/fanout_shm_2p2s/16B"),
    ("latest value, 16 B", "one_way/cross_process/pod_shm/16B"),
];

const STREAMS: [(&str, &str); 4] = [
    ("gated ring, 16 B", "throughput/cross_process/spsc_shm/16B"),
    (
        "gated ring, 304 B",
        "throughput/cross_process/spsc_shm/304B",
    ),
    (
        "reliable topic, 16 B",
        "throughput/cross_process/topic_reliable/16B",
    ),
    (
        "reliable topic, 304 B",
        "throughput/cross_process/topic_reliable/304B",
    ),
];

/// The parts of a message's time: what each step adds, and the row that measures it.
const LAYERS: [(&str, &str); 9] = [
    (
        "floor: two cache lines between two processes",
        "floor/cross_process/two_lines/8B",
    ),
    (
        "lane, gated ring, 16 B",
        "one_way/cross_process/spsc_shm/16B",
    ),
    ("lane, open, 16 B", "one_way/cross_process/fanout_shm/16B"),
    ("topic, 16 B", "one_way/cross_process/topic/16B"),
    (
        "lane, open, 1480 B",
        "one_way/cross_process/fanout_shm/1480B",
    ),
    ("topic, 1480 B", "one_way/cross_process/topic/1480B"),
    (
        "one thread, lane: send + recv, 16 B",
        "one_way/same_thread/fanout_shm/16B",
    ),
    (
        "one thread, topic: send + recv, 16 B",
        "one_way/same_thread/topic/16B",
    ),
    (
        "one thread, topic: send + recv, 1480 B",
        "one_way/same_thread/topic/1480B",
    ),
];

/// The reason why the README could not be updated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ReadmeError {
    #[error("the document has no line '{0}' where it belongs")]
    Marker(&'static str),
    #[error("the record has no row '{0}': record a full run of all_paths_latency")]
    Row(&'static str),
    #[error(
        "{}: {error}: name a directory like benchmarks/record/<cpu>/<date>-<commit>",
        path.display()
    )]
    Record { path: PathBuf, error: io::Error },
}

/// The record that is shown, and all records of the same CPU, including that one.
#[derive(Debug)]
pub struct Records {
    shown: Run,
    all: Vec<Run>,
}

impl Records {
    /// Reads the record in the directory `path`, and those records in the directories beside it
    /// that were made by the same CPU.
    pub fn read(path: &Path) -> Result<Records, ReadmeError> {
        let failed = |error| ReadmeError::Record {
            path: path.to_owned(),
            error,
        };
        let shown = Run::read(path).map_err(failed)?;
        if shown.program(SHOWN).is_none() {
            return Err(failed(io::Error::other(format!("no rows of {SHOWN}"))));
        }
        let cpu = cpu(&shown);
        let beside = path.parent().unwrap_or(path);
        let mut all = Vec::new();
        for directory in directories(beside).map_err(failed)? {
            match Run::read(&directory) {
                Ok(run) if self::cpu(&run) == cpu => all.push(run),
                Ok(_) => {}
                // Only the summary of the long tests may be there.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    return Err(ReadmeError::Record {
                        path: directory,
                        error,
                    });
                }
            }
        }
        Ok(Records { shown, all })
    }

    /// Returns the row `id` of the program [`SHOWN`] in the shown record.
    fn row(&self, id: &'static str) -> Result<&Row, ReadmeError> {
        let program = self.shown.program(SHOWN).ok_or(ReadmeError::Row(id))?;
        program.row(id).ok_or(ReadmeError::Row(id))
    }

    /// Returns the smallest and the largest value of `figure` in the row `id`, over all programs of
    /// all records.
    fn span(&self, id: &str, figure: impl Fn(&Row) -> Option<f64>) -> Option<[f64; 2]> {
        let rows = self.all.iter().flat_map(Run::rows).map(|(_, row)| row);
        let figures = rows.filter(|row| row.id == id).filter_map(figure);
        figures.fold(None, |span, figure| {
            let [low, high] = span.unwrap_or([figure; 2]);
            Some([figure.min(low), figure.max(high)])
        })
    }

    /// Returns the verdicts on all goals in the shown record, each with the program that measured
    /// it.
    fn verdicts(&self) -> Vec<(&str, Verdict)> {
        let of = |program: &Program| program.verdicts();
        let programs = self.shown.programs.iter();
        programs
            .flat_map(|program| of(program).into_iter().map(|one| (&*program.name, one)))
            .collect()
    }

    /// Returns `CPU …, commit …, record …` and the number of missed goals.
    fn heading(&self, link: &str) -> String {
        let program = self.shown.program(SHOWN);
        let text = |field| program.and_then(|program| program.machine_text(field));
        let [cpu, kernel, rustc] =
            ["cpu", "kernel", "rustc"].map(|field| text(field).unwrap_or("unknown"));
        let cores = program.and_then(|program| program.machine.get("cores")?.as_u64());
        let commit = program.map_or("unknown", |program| &program.commit);
        let verdicts = self.verdicts();
        let missed = verdicts.iter().filter(|(_, one)| !one.is_met()).count();
        format!(
            "{cpu} ({} cores), kernel {kernel}, {rustc}, commit `{commit}` ([record]({link})). Of \
             the {} goals that this record was held against, **{missed} were missed**.",
            cores.unwrap_or_default(),
            verdicts.len(),
        )
    }

    /// Returns the text above a table of times: the machine and commit, how the times were
    /// measured, and what the column `span` shows (the range of the same row over all records of
    /// this CPU). `link` leads to the record.
    fn times_introduction(&self, link: &str) -> String {
        format!(
            "{}\nTwo pinned processes, half a round trip, all samples, nothing subtracted. The \
             spans are of the same row in all programs of the {} records of this CPU.\n\n",
            self.heading(link),
            self.all.len(),
        )
    }
}

/// Returns the newest record in a CPU's directory: the one whose run of the shown program began
/// last. If the directory is itself a record, it is returned.
pub fn newest(path: &Path) -> Result<PathBuf, ReadmeError> {
    let shown = |path: &Path| path.join(SHOWN).with_extension("json");
    if shown(path).is_file() {
        return Ok(path.to_owned());
    }
    let failed = |error| ReadmeError::Record {
        path: path.to_owned(),
        error,
    };
    let found = directories(path).map_err(failed)?;
    let begun = |path: &PathBuf| {
        let run = Run::read(&shown(path)).ok()?;
        let begun = run
            .programs
            .first()?
            .settings
            .get("begun_unix_s")?
            .as_u64()?;
        Some((begun, path.clone()))
    };
    let newest = found.iter().filter_map(begun).max().map(|(_, path)| path);
    newest.ok_or_else(|| failed(io::Error::other("no record below it")))
}

fn directories(path: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(path)?.collect::<Result<Vec<_>, _>>()?;
    let mut found: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).collect();
    found.retain(|path| path.is_dir());
    found.sort();
    Ok(found)
}

fn cpu(run: &Run) -> Option<&str> {
    run.on_machine()?.machine_text("cpu")
}

/// Returns the document with its tables made anew from `records`. `link` is the path under which
/// the document can link to the shown record.
pub fn with_tables(document: &str, records: &Records, link: &str) -> Result<String, ReadmeError> {
    let mut text = document.to_owned();
    let mut tables = 0;
    for (begin, end, table) in GENERATED_TABLES {
        let Some((before, rest)) = text.split_once(begin) else {
            continue;
        };
        let (_, after) = rest.split_once(end).ok_or(ReadmeError::Marker(end))?;
        text = format!("{before}{begin}\n{}{end}{after}", table(records, link)?);
        tables += 1;
    }
    if tables == 0 {
        Err(ReadmeError::Marker(GENERATED_TABLES[0].0))
    } else {
        Ok(text)
    }
}

fn layers(records: &Records, link: &str) -> Result<String, ReadmeError> {
    let mut text = records.times_introduction(link);
    text.push_str("| what | p50 | span | p99 | × floor | span | the `send` call |\n");
    text.push_str("|---|---|---|---|---|---|---|\n");
    for (name, id) in LAYERS {
        let row = records.row(id)?;
        let ns = row.ns.as_ref().ok_or(ReadmeError::Row(id))?;
        let send = row.send_ns.map_or_else(String::new, |send| time(send.p50));
        let p50 = time(ns.p50);
        let p99 = time(ns.p99);
        let [times, ratio, ratios] = spans(records, id, row);
        let _ = writeln!(
            text,
            "| {name} | {p50} | {times} | {p99} | {ratio} | {ratios} | {send} |"
        );
    }
    Ok(text)
}

fn latency(records: &Records, link: &str) -> Result<String, ReadmeError> {
    let mut text = records.times_introduction(link);
    text.push_str(
        "| one way between two processes | p50 | span | p99 | p99.9 | max | × floor | span |\n",
    );
    text.push_str("|---|---|---|---|---|---|---|---|\n");
    for (name, id) in ROWS {
        let row = records.row(id)?;
        let ns = row.ns.as_ref().ok_or(ReadmeError::Row(id))?;
        let [times, ratio, ratios] = spans(records, id, row);
        let tail = [ns.p99, ns.p99_9, ns.max].map(time).join(" | ");
        let p50 = time(ns.p50);
        let _ = writeln!(
            text,
            "| {name} | {p50} | {times} | {tail} | {ratio} | {ratios} |"
        );
    }
    text.push_str("\n| streaming between two processes | million messages/s | span | lost |\n");
    text.push_str("|---|---|---|---|\n");
    for (name, id) in STREAMS {
        let row = records.row(id)?;
        let rate = row.msgs_per_s.ok_or(ReadmeError::Row(id))? / 1e6;
        let rates = records
            .span(id, |row| row.msgs_per_s)
            .map_or_else(String::new, |span| {
                let [low, high] = span.map(|rate| rate / 1e6);
                format!("{low:.0} – {high:.0}")
            });
        let _ = writeln!(text, "| {name} | {rate:.0} | {rates} | {} |", row.lost);
    }
    Ok(text)
}

/// Returns the range of the median, the ratio to the floor, and the range of that ratio.
fn spans(records: &Records, id: &str, row: &Row) -> [String; 3] {
    let p50 = records.span(id, |row| Some(row.ns?.p50));
    let ratios = records.span(id, |row| row.floor_ratio);
    [
        p50.map_or_else(String::new, |span| span.map(time).join(" – ")),
        row.floor_ratio
            .map_or_else(String::new, |ratio| format!("{ratio:.2}")),
        ratios.map_or_else(String::new, |[low, high]| format!("{low:.2} – {high:.2}")),
    ]
}

fn goals(records: &Records, link: &str) -> Result<String, ReadmeError> {
    let mut text = format!("{}\n\n", records.heading(link));
    text.push_str("| program | row | goal | measured | verdict |\n|---|---|---|---|---|\n");
    for (program, verdict) in records.verdicts().iter().filter(|(_, one)| !one.is_met()) {
        let Verdict {
            id,
            goal,
            measured,
            verdict,
        } = verdict;
        let _ = writeln!(
            text,
            "| `{program}` | `{id}` | {goal} | {measured} | {verdict} |"
        );
    }
    Ok(text)
}

fn time(ns: f64) -> String {
    if ns < 10.0 {
        format!("{ns:.1} ns")
    } else if ns < 1e3 {
        format!("{ns:.0} ns")
    } else {
        format!("{:.1} µs", ns / 1e3)
    }
}
