//! The script that runs everything, and the page that it makes: of real runs, however short.

use std::cell::{Cell, RefCell};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use horus_benchmarks::report::research::record::{OK_RESULT, RunRecord};
use horus_testing::write_program;
use html5ever::tendril::{SliceExt, StrTendril};
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer,
};

/// Elements without an end.
const VOID: [&str; 6] = ["meta", "br", "hr", "link", "img", "input"];

/// Built without the feature, it has nothing to compare with.
const NEEDS_FEATURE: &str = "iceoryx2_comparison";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the directory of the programs that were built with this test.
fn programs() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_raw_baselines"))
        .parent()
        .unwrap()
}

fn run_all(bin_dir: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(root().join("benchmarks/research/run_all.sh"));
    command
        .arg("--bin-dir")
        .arg(bin_dir)
        .args(arguments)
        .output()
        .expect("there is a bash")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a temporary path is UTF-8")
}

/// Runs everything once, as shortly as possible; the directory that it is kept in.
fn smoke() -> &'static Path {
    static KEPT: OnceLock<(tempfile::TempDir, Output)> = OnceLock::new();
    let (directory, output) = KEPT.get_or_init(|| {
        let directory = tempfile::tempdir().unwrap();
        let output = run_all(programs(), &["--smoke", "--output", text(directory.path())]);
        (directory, output)
    });
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    directory.path()
}

#[test]
fn every_program_runs_and_leaves_a_record_that_is_on_the_page() {
    let run = RunRecord::read(smoke()).unwrap();
    let page = fs::read_to_string(smoke().join("report.html")).unwrap();
    let csv = fs::read_to_string(smoke().join("results.csv")).unwrap();
    assert!(run.programs.len() >= 8);
    for program in &run.programs {
        let name = &program.name;
        assert!(
            program.is_complete(),
            "{name}: {:?} {:?}",
            program.outcome,
            program.problems
        );
        let outcome = program
            .outcome
            .as_ref()
            .unwrap_or_else(|| panic!("{name} was not noted"));
        if outcome.is_skipped() {
            assert_eq!(name, NEEDS_FEATURE);
            continue;
        }
        assert_eq!(outcome.result, OK_RESULT, "{name}");
        assert!(
            !program.rows.is_empty() && !program.commit.is_empty(),
            "{name}"
        );
        assert!(smoke().join(format!("{name}.txt")).is_file(), "{name}");
        for row in &program.rows {
            assert!(page.contains(&row.id), "{}", row.id);
            assert!(csv.contains(&format!("{name},{},", row.id)), "{}", row.id);
            assert_eq!(
                row.sent_messages(),
                row.received_messages() + row.lost_messages(),
                "{}",
                row.id
            );
        }
    }
}

/// The content of a page by its tokens: errors, elements left open, references, text of charts.
#[derive(Default)]
struct Page {
    errors: RefCell<Vec<String>>,
    open: RefCell<Vec<String>>,
    references: RefCell<Vec<String>>,
    ids: RefCell<Vec<String>>,
    charts: Cell<usize>,
    /// Shapes in the colour of a series, of the chart that is open.
    shapes: Cell<usize>,
    empty_charts: Cell<usize>,
}

impl TokenSink for Page {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        match token {
            Token::ParseError(error) => self.errors.borrow_mut().push(error.into_owned()),
            Token::TagToken(tag) if tag.kind == TagKind::StartTag => self.start(&tag),
            Token::TagToken(tag) => self.end(&tag),
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

impl Page {
    fn parse(text: &str) -> Page {
        let input = BufferQueue::default();
        input.push_back(StrTendril::from(
            text.as_bytes().to_tendril().try_reinterpret().unwrap(),
        ));
        let tokenizer = Tokenizer::new(Page::default(), Default::default());
        let _ = tokenizer.feed(&input);
        tokenizer.end();
        tokenizer.sink
    }

    fn start(&self, tag: &Tag) {
        let name = tag.name.to_string();
        for attribute in &tag.attrs {
            let key = attribute.name.local.to_string();
            let value = attribute.value.to_string();
            match key.as_str() {
                "href" | "src" | "srcset" | "data" | "xlink:href" | "action" => {
                    self.references.borrow_mut().push(value);
                }
                "id" => self.ids.borrow_mut().push(value),
                "class" if value == "series" => {
                    self.shapes.set(self.shapes.get() + 1);
                }
                _ => {}
            }
        }
        if name == "svg" {
            self.charts.set(self.charts.get() + 1);
            self.shapes.set(0);
        }
        if !tag.self_closing && !VOID.contains(&name.as_str()) {
            self.open.borrow_mut().push(name);
        }
    }

    fn end(&self, tag: &Tag) {
        let name = tag.name.to_string();
        let open = self.open.borrow_mut().pop();
        if open.as_deref() != Some(&name) {
            self.errors
                .borrow_mut()
                .push(format!("</{name}> ends {open:?}"));
        }
        if name == "svg" && self.shapes.get() == 0 {
            self.empty_charts.set(self.empty_charts.get() + 1);
        }
    }
}

/// Holds a page to what makes it readable everywhere, and without a network.
fn assert_page_is_whole(directory: &Path) -> usize {
    let text = fs::read_to_string(directory.join("report.html")).unwrap();
    let page = Page::parse(&text);
    assert_eq!(*page.errors.borrow(), Vec::<String>::new());
    assert_eq!(*page.open.borrow(), Vec::<String>::new());
    assert_eq!(page.empty_charts.get(), 0, "a chart without data");
    let ids = page.ids.borrow();
    for reference in page.references.borrow().iter() {
        match reference.strip_prefix('#') {
            Some(id) => assert!(ids.iter().any(|one| one == id), "nothing has the id {id}"),
            None => assert!(
                directory.join(reference).is_file(),
                "there is no {reference}"
            ),
        }
    }
    for outside in [
        "http:", "https:", "<script", "<link", "<img", "url(", "@import",
    ] {
        assert!(
            !text.contains(outside),
            "the page asks for something: {outside}"
        );
    }
    page.charts.get()
}

#[test]
fn the_page_is_well_formed_and_needs_nothing_but_itself() {
    let charts = assert_page_is_whole(smoke());
    assert!(charts >= 20, "{charts} charts");
}

#[test]
fn a_page_that_is_torn_or_asks_for_something_is_found_out() {
    let torn = Page::parse("<p><b>x</p>");
    assert!(!torn.errors.borrow().is_empty());
    let page = Page::parse("<svg><path fill=\"#010101\"></svg><img src=\"http://x\">");
    assert_eq!(*page.references.borrow(), ["http://x"]);
    assert_eq!((page.charts.get(), page.errors.borrow().len()), (1, 1));
}

#[test]
fn a_program_that_fails_is_on_the_page_and_the_others_are_too() {
    let directory = tempfile::tempdir().unwrap();
    let bins = directory.path().join("bin");
    let out = directory.path().join("out");
    fs::create_dir(&bins).unwrap();
    for name in ["raw_baselines", "research_report"] {
        symlink(programs().join(name), bins.join(name)).unwrap();
    }
    let only = "raw_baselines,determinism_benchmark";
    let output = run_all(&bins, &["--smoke", "--only", only, "--output", text(&out)]);
    assert_eq!(output.status.code(), Some(1));
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    assert!(
        page.contains("1 of 2 programs failed"),
        "the page hides the failure"
    );
    assert!(page.contains("failed with exit code 127") && page.contains("floor/cross_thread/"));
    assert!(assert_page_is_whole(&out) > 0);
}

/// Writes a program that says `text` and ends with `code`.
fn write_script(path: &Path, text: &str, code: i32) {
    write_program(path, format!("#!/bin/sh\necho '{text}' >&2\nexit {code}\n"));
}

#[test]
fn a_program_is_skipped_by_its_exit_code_and_not_by_what_it_says() {
    let directory = tempfile::tempdir().unwrap();
    let bins = directory.path().join("bin");
    let out = directory.path().join("out");
    fs::create_dir(&bins).unwrap();
    symlink(
        programs().join("research_report"),
        bins.join("research_report"),
    )
    .unwrap();
    write_script(
        &bins.join("wakeup_benchmark"),
        "x: it was built without iceoryx2",
        1,
    );
    write_script(&bins.join("iceoryx2_comparison"), "x: lacks iceoryx2", 77);
    let only = "iceoryx2_comparison,wakeup_benchmark";
    let output = run_all(&bins, &["--smoke", "--only", only, "--output", text(&out)]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let outcomes = fs::read_to_string(out.join("outcomes.tsv")).unwrap();
    let results: Vec<&str> = outcomes
        .lines()
        .map(|line| line.split('\t').nth(1).unwrap())
        .collect();
    let failed = "failed with exit code 1: x: it was built without iceoryx2";
    assert_eq!(results, ["skipped: x: lacks iceoryx2", failed]);
    assert!(
        out.join("wakeup_benchmark.log").is_file(),
        "its messages are kept"
    );
}

#[test]
fn names_that_no_program_has_are_refused() {
    let out = tempfile::tempdir().unwrap();
    for (only, wrong) in [
        ("raw_baselines,blitzz", "'blitzz'"),
        ("", "''"),
        ("raw_baselines,", "''"),
        ("raw.baselines", "'raw.baselines'"),
    ] {
        let output = run_all(
            programs(),
            &["--smoke", "--only", only, "--output", text(out.path())],
        );
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{only}: {said}");
        assert!(
            said.contains(&format!("no program {wrong}")),
            "{only}: {said}"
        );
    }
}

fn compare(old: &Path, new: &Path) -> Output {
    run_all(programs(), &["--compare", text(old), text(new)])
}

#[test]
fn what_became_slower_is_named_and_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let same = compare(smoke(), smoke());
    assert!(
        same.status.success(),
        "{}",
        String::from_utf8_lossy(&same.stdout)
    );

    let record = fs::read_to_string(smoke().join("raw_baselines.json")).unwrap();
    let mut record: serde_json::Value = serde_json::from_str(&record).unwrap();
    let id = record["rows"][5]["id"].as_str().unwrap().to_owned();
    // WHY all: the few rounds of this run have no interval.
    let [old, new] = ["old", "new"].map(|name| directory.path().join(name));
    for (path, p50) in [(&old, 100.0), (&new, 300.0)] {
        record["rows"][5]["ns"]["p50"] = p50.into();
        let spread = &mut record["rows"][5]["spread"];
        spread["p50_ci"] = [p50 * 0.98, p50 * 1.02].to_vec().into();
        spread["resampled"] = "rounds".into();
        spread["rounds"] = 20.into();
        fs::create_dir(path).unwrap();
        fs::write(path.join("raw_baselines.json"), record.to_string()).unwrap();
    }
    let output = compare(&old, &new);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains(&format!("REGRESSION  raw_baselines: {id}")),
        "{said}"
    );
    assert!(said.contains("1 regressions"), "{said}");
    let nothing = compare(smoke(), &directory.path().join("nothing"));
    assert_eq!(nothing.status.code(), Some(2));
}

fn below(directory: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    paths.filter(|path| path.is_dir()).collect()
}

/// `2026-11-23-da859ad4dd70`, or with `-2` behind it for another run of the same commit and day.
fn assert_is_of_commit(directory: &Path, commit: &str) {
    let name = directory.file_name().unwrap().to_str().unwrap();
    let (date, rest) = name.split_at("2026-11-23".len());
    assert!(
        date.chars().all(|one| one.is_ascii_digit() || one == '-'),
        "{name}"
    );
    let again = rest
        .strip_prefix(&format!("-{commit}"))
        .unwrap_or_else(|| panic!("{name} {commit}"));
    let number = again.strip_prefix('-').map(str::parse::<u32>);
    assert!(
        again.is_empty() || matches!(number, Some(Ok(2..))),
        "{name}"
    );
}

#[test]
fn every_record_that_was_kept_can_still_be_read_and_is_where_its_commit_says() {
    let mut read = 0;
    for directory in below(&root().join("benchmarks/record"))
        .iter()
        .flat_map(|cpu| below(cpu))
    {
        let summary = fs::read_to_string(directory.join("torture.txt")).unwrap_or_default();
        if let Some(commit) = summary
            .lines()
            .find_map(|line| line.strip_prefix("commit     "))
        {
            assert_is_of_commit(&directory, &short(commit));
        }
        let Ok(run) = RunRecord::read(&directory) else {
            continue;
        };
        for program in &run.programs {
            assert_eq!(program.problems, Vec::<String>::new(), "{}", program.name);
            if !program.rows.is_empty() {
                assert_is_of_commit(&directory, &program.commit);
            }
            read += program.rows.len();
        }
    }
    assert!(read > 2000, "{read} rows");
}

/// A commit of 40 digits, by twelve of them; what follows, as `-dirty`, stays.
fn short(commit: &str) -> String {
    format!("{}{}", &commit[..12], &commit[40..])
}

#[test]
fn nothing_that_was_recorded_is_written_over() {
    let records = tempfile::tempdir().unwrap();
    let next = |pattern: &str| {
        let mut command = Command::new(root().join("benchmarks/research/record_dir.sh"));
        let output = command
            .args([pattern, text(records.path())])
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        PathBuf::from(String::from_utf8(output.stdout).unwrap().trim_end())
    };
    let first = next("*.json");
    for number in 2..5 {
        let directory = next("*.json");
        fs::create_dir_all(&directory).unwrap();
        assert_eq!(
            next("*.json"),
            directory,
            "an empty directory is as good as none"
        );
        fs::write(directory.join("raw_baselines.json"), "kept").unwrap();
        assert_eq!(
            next("*.json"),
            PathBuf::from(format!("{}-{number}", first.display()))
        );
        // The summary of the long tests may stand beside the first record of its commit.
        assert_eq!(next("torture.txt"), first);
    }
    let output = run_all(programs(), &["--smoke", "--output", text(&first)]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("no record is overwritten"), "{said}");
    assert_eq!(
        fs::read_to_string(first.join("raw_baselines.json")).unwrap(),
        "kept"
    );

    fs::write(first.join("torture.txt"), "kept").unwrap();
    let output = Command::new(root().join(".ci/torture"))
        .arg(&first)
        .output()
        .unwrap();
    assert_eq!(
        output.status.code(),
        Some(2),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(
        fs::read_to_string(first.join("torture.txt")).unwrap(),
        "kept"
    );
}

#[test]
fn a_command_line_that_is_not_understood_is_an_error() {
    for arguments in [&["--fast"][..], &["--output"], &["--compare", "one"]] {
        assert_eq!(
            run_all(programs(), arguments).status.code(),
            Some(2),
            "{arguments:?}"
        );
    }
    let help = run_all(programs(), &["--help"]);
    assert!(help.status.success() && String::from_utf8_lossy(&help.stdout).contains("--compare"));
}

/// Returns the page as a browser without a network shows it; `None` without a browser.
fn browse(arguments: &[&str], page: &Path) -> Option<Output> {
    let profile = tempfile::tempdir().unwrap();
    let output = Command::new("chromium")
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
        ])
        .args([
            "--host-resolver-rules=MAP * ~NOTFOUND",
            "--enable-logging=stderr",
        ])
        .arg(format!("--user-data-dir={}", text(profile.path())))
        .args(arguments)
        .arg(format!("file://{}", text(page)))
        .output();
    output.ok()
}

#[test]
fn a_browser_without_a_network_shows_the_plots() {
    let page = smoke().join("report.html");
    let picture = smoke().join("picture.png");
    let taken = format!("--screenshot={}", text(&picture));
    let Some(shot) = browse(&["--window-size=1280,16000", &taken], &page) else {
        horus_testing::skip("there is no browser: apt-get install chromium");
        return;
    };
    let said = String::from_utf8_lossy(&shot.stderr);
    assert!(shot.status.success(), "{said}");
    assert!(
        !said.contains("net::ERR"),
        "the page asked for something: {said}"
    );
    let seen = fs::metadata(&picture).unwrap().len();
    // The same page without its pictures: what they add is a picture's worth.
    let text_only = smoke().join("text_only.html");
    let text = fs::read_to_string(&page).unwrap();
    fs::write(
        &text_only,
        text.replace("<svg ", "<svg style=\"visibility:hidden\" "),
    )
    .unwrap();
    browse(&["--window-size=1280,16000", &taken], &text_only).unwrap();
    let without = fs::metadata(&picture).unwrap().len();
    assert!(
        seen > without + 20_000,
        "{seen} bytes with plots, {without} without"
    );
}
