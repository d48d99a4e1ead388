//! The command `horus doctor`: checks the machine, the directory of the namespaces, the processes
//! and the topics.

mod emergency;
mod fix;
pub(crate) mod frozen;
mod logind;
mod machine;
mod mismatch;
mod own_directory;
mod peer;
mod place;
mod real_time;
pub(crate) mod removed;
mod traffic;

use std::time::Duration;

use clap::Args;
use serde::Serialize;

use crate::cli::{parse_number, parse_positive_seconds};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Tone;
use crate::output::format::visible_lines;
use fix::Fix;

/// Look for what keeps robots from working, and say what to do
///
/// The exit code is 1 if anything is a fault.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Also measure how late real-time nodes start, for 5 seconds or S, on each usable CPU
    #[arg(
        long,
        value_name = "S",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "5",
        value_parser = parse_positive_seconds
    )]
    rt: Option<Duration>,
    /// Only say why the process PID and those that are started here do not meet
    #[arg(
        long,
        value_name = "PID",
        value_parser = parse_number::<u32>,
        conflicts_with_all = ["rt", "fix"]
    )]
    peer: Option<u32>,
    /// Remove stale files and close the directory to others; settings of the machine stay
    #[arg(long)]
    fix: bool,
}

/// The severity of a finding of `horus doctor`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    /// The check found nothing wrong.
    Ok,
    /// The finding is not a fault, but costs speed or explains surprising behaviour.
    Note,
    /// The finding is a fault that keeps programs from working.
    Fault,
}

/// The result of one check: its severity, a text for the user, and perhaps a repair.
#[derive(Debug, Serialize)]
pub(crate) struct Finding {
    check: &'static str,
    verdict: Verdict,
    found: String,
    /// A text that tells the user what to do about the finding; `None` if nothing has to be done.
    advice: Option<String>,
    /// A text about the repair that `horus doctor --fix` has made; `None` if it has not repaired
    /// this finding.
    fixed: Option<String>,
    /// The repair that `horus doctor --fix` can make; `None` if the user has to repair the fault.
    #[serde(skip)]
    fix: Option<Fix>,
}

impl Finding {
    fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self {
            check,
            verdict: Verdict::Ok,
            found: found.into(),
            advice: None,
            fixed: None,
            fix: None,
        }
    }

    /// Returns the fault for a check that could not be made. `error` is the reason.
    fn unknown(check: &'static str, error: impl Into<String>) -> Self {
        Self {
            verdict: Verdict::Fault,
            ..Self::ok(check, error)
        }
    }

    /// Returns true if the finding is a fault that has not been repaired.
    fn is_fault(&self) -> bool {
        self.verdict == Verdict::Fault && self.fixed.is_none()
    }

    /// Adds `fix`, a repair that `horus doctor --fix` can make, to the finding.
    fn with_fix(mut self, fix: Fix) -> Self {
        self.fix = Some(fix);
        self
    }

    fn note(check: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        let advice = Some(advice.into());
        Self {
            verdict: Verdict::Note,
            advice,
            ..Self::ok(check, found)
        }
    }

    fn fault(check: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            verdict: Verdict::Fault,
            ..Self::note(check, found, advice)
        }
    }
}

#[derive(Debug, Serialize)]
struct Findings<'a> {
    findings: &'a [Finding],
}

pub(crate) fn run(arguments: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let (findings, cut_short) = match arguments.peer {
        Some(pid) => (peer::check_peer(pid, context)?, None),
        None => run_checks(arguments, context)?,
    };
    if context.is_json() {
        let findings = &findings;
        context.out.write_json(Findings { findings })?;
    } else {
        for finding in &findings {
            print_finding(finding, context)?;
        }
        context.out.flush()?;
    }
    if let Some(failure) = cut_short {
        context.out.flush()?;
        return Err(failure);
    }
    if findings.iter().any(Finding::is_fault) {
        return Err(Failure::answer_no());
    }
    Ok(())
}

/// Runs all checks. Returns their findings, and the failure of the measurement of `--rt` if it has
/// one. WHY the findings also then: they say what `--fix` has changed.
fn run_checks(
    arguments: &Arguments,
    context: &mut Context,
) -> Result<(Vec<Finding>, Option<Failure>), Failure> {
    let config = context.namespace_config()?;
    let mut findings = place::check_directory(&config);
    if arguments.fix {
        fix::apply_fixes(&mut findings, context);
    }
    // WHY: in a directory to which others have access, no namespace can be opened.
    if !findings.iter().any(Finding::is_fault) {
        findings.extend(place::check_other_namespaces(&config));
        findings.extend(removed::check_removed_namespaces(&config));
        match context.open_existing_namespace_with_report() {
            Ok(Some((namespace, report))) => {
                findings.extend(traffic::check_traffic(&namespace));
                findings.push(fix::report_removed_topics(&report));
            }
            Ok(None) => {}
            Err(failure) if failure.is_not_found() => return Err(failure),
            // WHY no failure: the checks of the machine may tell the reason.
            Err(failure) => findings.push(Finding::unknown("namespace", failure.text())),
        }
    }
    findings.extend(machine::check_machine());
    let mut cut_short = None;
    if let Some(time) = arguments.rt {
        match real_time::check_real_time(time, context) {
            Ok(measured) => findings.extend(measured),
            Err(failure) => cut_short = Some(failure),
        }
    }
    if arguments.fix {
        fix::apply_fixes(&mut findings, context);
    }
    Ok((findings, cut_short))
}

fn print_finding(finding: &Finding, context: &mut Context) -> Result<(), Failure> {
    let (tone, word) = match finding.verdict {
        Verdict::Ok => (Tone::Plain, "ok   "),
        Verdict::Note => (Tone::Waiting, "note "),
        Verdict::Fault => (Tone::Bad, "FAULT"),
    };
    let word = context.out.paint(tone, word);
    // WHY: a finding may repeat the paths and variables of other processes.
    let found = visible_lines(&finding.found);
    context
        .out
        .write_line(format_args!("{word}  {}: {found}", finding.check))?;
    let (arrow, text) = match (&finding.fixed, &finding.advice) {
        (Some(fixed), _) => ("fixed:", fixed),
        (None, Some(advice)) => ("→", advice),
        (None, None) => return Ok(()),
    };
    let text = visible_lines(text);
    context
        .out
        .write_line(format_args!("       {arrow} {text}"))
}
