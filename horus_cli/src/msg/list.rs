//! The command `horus msg list`: lists the standard messages.

use clap::Args;
use horus_core::message::STANDARD_DOMAINS;
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Column, Table};

/// List the standard messages
#[derive(Debug, Args)]
pub(crate) struct Arguments {}

#[derive(Debug, Serialize)]
struct MessageList {
    messages: Vec<MessageRow>,
}

#[derive(Debug, Serialize)]
struct MessageRow {
    message_type: &'static str,
    domain: &'static str,
    bytes: usize,
    has_variable_size: bool,
    summary: String,
}

pub(crate) fn run(_: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let rows = STANDARD_DOMAINS.iter().flat_map(|domain| {
        domain.messages.iter().map(|schema| MessageRow {
            message_type: schema.name,
            domain: domain.name,
            bytes: schema.size,
            has_variable_size: schema.tail.is_some(),
            summary: first_sentence(&schema.doc_text()),
        })
    });
    let messages: Vec<MessageRow> = rows.collect();
    if context.is_json() {
        return context.out.write_json(MessageList { messages });
    }
    let mut table = Table::new([
        Column::text("MESSAGE"),
        Column::text("DOMAIN"),
        Column::number("BYTES"),
        Column::name("SUMMARY"),
    ]);
    for row in &messages {
        let and_more = if row.has_variable_size { "+" } else { "" };
        table.add_row([
            row.message_type.into(),
            row.domain.into(),
            format!("{}{and_more}", row.bytes).into(),
            row.summary.as_str().into(),
        ]);
    }
    context.out.write_table(&table)
}

/// Returns the first sentence of `doc`, a doc comment, on one line and without links.
fn first_sentence(doc: &str) -> String {
    let line = doc.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = line
        .split_once(". ")
        .map_or(line.clone(), |(first, _)| first.to_owned() + ".");
    without_links(&sentence)
}

/// Replaces the links of rustdoc, such as ``[`Imu`]`` and ``[`log`](mod@crate::log)``, by their
/// texts without quotes.
fn without_links(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once("[`") {
        let Some((name, after)) = link.split_once("`]") else {
            break;
        };
        out.extend([before, name]);
        let target = after
            .strip_prefix('(')
            .and_then(|after| after.split_once(')'));
        rest = target.map_or(after, |(_, after)| after);
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_one_sentence_without_links() {
        let doc = "State of a [`NavGoal`], which\n[`log`](mod@crate::log) writes. More.";
        assert_eq!(first_sentence(doc), "State of a NavGoal, which log writes.");
        assert_eq!(first_sentence("An [`open link"), "An [`open link");
        for domain in STANDARD_DOMAINS {
            for schema in domain.messages {
                let summary = first_sentence(&schema.doc_text());
                assert!(!summary.contains("[`"), "{summary}");
            }
        }
    }
}
