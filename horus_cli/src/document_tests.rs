//! The commands and options of `horus` that the documents name exist.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cli;

/// First words behind `horus` that are no commands: a built-in one, an example of a program
/// `horus-weather`, and the first line of a schema text.
const WORDS_THAT_ARE_NO_COMMANDS: [&str; 3] = ["help", "weather", "schema"];

/// Returns the mistake in `text`, if it is a command line of `horus`.
fn find_command_line_mistake(root: &clap::Command, text: &str) -> Option<String> {
    let words = text.trim().trim_start_matches("$ ").split_whitespace();
    let mut words = words.skip_while(|word| word.contains('=')).peekable();
    words.next_if_eq(&"horus")?;
    if words
        .peek()
        .is_some_and(|word| WORDS_THAT_ARE_NO_COMMANDS.contains(word))
    {
        return None;
    }
    let mut command = root;
    while let Some(found) = words.peek().and_then(|word| command.find_subcommand(word)) {
        command = found;
        words.next();
    }
    if let Some(word) = words.peek().filter(|_| command.has_subcommands())
        && word.starts_with(char::is_alphabetic)
    {
        return Some(format!("{} has no command '{word}'", command.get_name()));
    }
    let words = words.take_while(|word| !["--", "|", "#", ">"].contains(word));
    let unknown = words.map(|word| word.trim_matches(|c: char| "[](),.:…".contains(c)));
    let mut unknown = unknown.filter(|word| is_option(word) && !has_option(command, word));
    let word = unknown.next()?;
    Some(format!("{} has no option {word}", command.get_name()))
}

fn is_option(word: &str) -> bool {
    let letters = word.trim_start_matches('-');
    letters.starts_with(char::is_alphabetic)
        && (word.starts_with("--") || word.starts_with('-') && letters.len() == 1)
}

fn has_option(command: &clap::Command, word: &str) -> bool {
    let name = word.split('=').next().unwrap_or(word);
    command.get_arguments().any(|argument| {
        let long = argument.get_long().map(|long| format!("--{long}"));
        let short = argument.get_short().map(|short| format!("-{short}"));
        long.as_deref() == Some(name) || short.as_deref() == Some(name)
    })
}

/// Returns the documents of the repository, except the changelog, which names what was there once.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folders = [root.clone(), root.join("docs")];
    let files = folders.iter().flat_map(|folder| {
        let entries = fs::read_dir(folder).expect("a folder of the repository");
        entries.map(|entry| entry.expect("an entry").path())
    });
    let is_document = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "md");
    files
        .filter(|path| is_document(path) && !path.ends_with("CHANGELOG.md"))
        .collect()
}

fn built_command() -> clap::Command {
    let mut command = cli::command();
    command.build();
    command
}

#[test]
fn documents_name_commands_that_exist() {
    let root = built_command();
    let mut commands = 0;
    let mut mistakes = Vec::new();
    for path in documents() {
        let text = fs::read_to_string(&path).expect("a document");
        let mut is_code = false;
        for (index, line) in text.lines().enumerate() {
            is_code ^= line.trim_start().starts_with("```");
            let texts = match is_code {
                true => vec![line],
                false => line.split('`').skip(1).step_by(2).collect(),
            };
            commands += texts.iter().filter(|text| text.contains("horus ")).count();
            let found = texts
                .iter()
                .filter_map(|text| find_command_line_mistake(&root, text));
            mistakes
                .extend(found.map(|found| format!("{}:{}: {found}", path.display(), index + 1)));
        }
    }
    assert!(commands > 100, "{commands} commands");
    assert!(mistakes.is_empty(), "{mistakes:#?}");
}

#[test]
fn mistakes_in_command_lines_are_found() {
    let root = built_command();
    let table = [
        (
            "$ HORUS_LOG=info horus topic hz imu --json --min=3 -w 2 # --gone",
            None,
        ),
        ("horus topic echo T [PATH] [--csv] | grep --gone", None),
        ("horus topic", None),
        ("horus weather map", None),
        ("horus launch --keep FILE -- --gone", None),
        ("grep --gone horus", None),
        ("horus gone", Some("horus has no command 'gone'")),
        ("horus topic gone T", Some("topic has no command 'gone'")),
        (
            "horus topic hz T… [--gone]",
            Some("hz has no option --gone"),
        ),
        ("horus topic hz T -z", Some("hz has no option -z")),
    ];
    for (text, found) in table {
        assert_eq!(
            find_command_line_mistake(&root, text).as_deref(),
            found,
            "{text}"
        );
    }
}
