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
    is_sized: bool,
    summary: String,
}

pub(crate) fn run(_: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let rows = STANDARD_DOMAINS.iter().flat_map(|domain| {
        domain.messages.iter().map(|schema| MessageRow {
            message_type: schema.name,
            domain: domain.name,
            bytes: schema.size,
            is_sized: schema.tail.is_some(),
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
        let and_more = if row.is_sized { "+" } else { "" };
        table.add_row([
            row.message_type.into(),
            row.domain.into(),
            format!("{}{and_more}", row.bytes).into(),
            row.summary.as_str().into(),
        ]);
    }
    context.out.write_table(&table)
}

/// Returns the first sentence of `doc`, a doc comment, on one line.
fn first_sentence(doc: &str) -> String {
    let line = doc.split_whitespace().collect::<Vec<_>>().join(" ");
    line.split_once(". ")
        .map_or(line.clone(), |(first, _)| first.to_owned() + ".")
}
