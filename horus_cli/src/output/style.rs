//! The colours of the output. They mark states that a reader must not overlook. The text also names
//! these states, for output without colours.

use std::env;

use crate::cli::ColorChoice;

/// The meaning of a printed text. It selects the colour in which the text is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// The text has no special meaning. It is printed without a colour.
    Plain,
    /// Something is lost, dead or refused. The text is printed in red.
    Bad,
    /// Something is waiting or late. The text is printed in yellow.
    Waiting,
}

impl Tone {
    /// Returns the name of the tone, such as `bad`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Bad => "bad",
            Self::Waiting => "waiting",
        }
    }
}

/// The colours that an output uses. They may be switched off.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    pub(super) is_colored: bool,
}

impl Style {
    /// Decides whether the output is coloured. The option decides first, and then the environment
    /// variables `NO_COLOR` and `CLICOLOR_FORCE`, which many programs use.
    pub(crate) fn choose(color: ColorChoice, is_terminal: bool) -> Self {
        let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_forced = env::var_os("CLICOLOR_FORCE").is_some_and(|value| value != "0");
        let is_dumb = env::var_os("TERM").is_some_and(|value| value == "dumb");
        let is_colored = match color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto if is_set("NO_COLOR") => false,
            ColorChoice::Auto => is_forced || (is_terminal && !is_dumb),
        };
        Self { is_colored }
    }

    /// Returns `text` in the colour of `tone`. Returns it unchanged if the colours are switched
    /// off.
    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Bad if self.is_colored => "31",
            Tone::Waiting if self.is_colored => "33",
            _ => return text.to_owned(),
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}
