//! `horus doctor`: checks the machine, the directory of the namespaces, and the topics.

mod machine;
mod place;
mod real_time;
mod traffic;

use std::time::Duration;

use clap::Args;
use serde::Serialize;

use crate::cli::seconds;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Tone;

/// Look for what keeps robots from working, and say what to do
///
/// The exit code is 1 if anything is a fault.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Also measure how late real-time nodes start, for 5 seconds or S, on all CPUs
    #[arg(
        long,
        value_name = "S",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "5",
        value_parser = seconds
    )]
    rt: Option<Duration>,
}

/// The weight of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    /// As it should be.
    Ok,
    /// Worth knowing; it costs speed, or explains a surprise.
    Note,
    /// It keeps programs from working.
    Fault,
}

/// The result of one check.
#[derive(Debug, Serialize)]
pub(crate) struct Finding {
    check: &'static str,
    verdict: Verdict,
    found: String,
    /// The advice to the user.
    advice: Option<String>,
}

impl Finding {
    fn ok(check: &'static str, found: impl Into<String>) -> Self {
        let (verdict, found, advice) = (Verdict::Ok, found.into(), None);
        Self {
            check,
            verdict,
            found,
            advice,
        }
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
    let mut findings = place::check(context)?;
    findings.extend(traffic::check(context)?);
    findings.extend(machine::check());
    if let Some(time) = arguments.rt {
        findings.extend(real_time::check(time, context)?);
    }
    if context.is_json() {
        let findings = &findings;
        context.out.json(Findings { findings })?;
    } else {
        for finding in &findings {
            print(finding, context)?;
        }
        context.out.flush()?;
    }
    let has_fault = findings
        .iter()
        .any(|finding| finding.verdict == Verdict::Fault);
    if has_fault {
        return Err(Failure::no());
    }
    Ok(())
}

fn print(finding: &Finding, context: &mut Context) -> Result<(), Failure> {
    let (tone, word) = match finding.verdict {
        Verdict::Ok => (Tone::Plain, "ok   "),
        Verdict::Note => (Tone::Waiting, "note "),
        Verdict::Fault => (Tone::Bad, "FAULT"),
    };
    let word = context.out.paint(tone, word);
    context
        .out
        .line(format_args!("{word}  {}: {}", finding.check, finding.found))?;
    match &finding.advice {
        Some(advice) => context.out.line(format_args!("       → {advice}")),
        None => Ok(()),
    }
}
