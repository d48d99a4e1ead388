//! Parses the JSON5 text of a launch file to a value, and finds the lines of its settings.
//!
//! A key that occurs twice in an object is an error: otherwise the last one would replace the
//! others, and a program would be missing without a word.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::setting_path::{Mistake, SettingPath, SettingStep};

/// Maximum depth of nested objects and lists.
const DEPTH_MAX: usize = 32;

/// Parses `text`. Returns an error text, with the line and the column, if it is not valid.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    Parser::default()
        .parse(text)
        .map_err(|error| parser_error_text(&error))
}

/// Returns the text of `mistake`, preceded by the line and the column of the value in `file_text`
/// that has the mistake.
pub(super) fn mistake_with_position(file_text: &str, mistake: Mistake) -> String {
    let mut parser = Parser {
        path: SettingPath::default(),
        refused: Some(mistake),
    };
    // WHY parsed again: the parser gives the position of a value only in an error.
    match parser.parse(file_text) {
        Err(error) => parser_error_text(&error),
        Ok(_) => parser
            .refused
            .map(|mistake| mistake.text)
            .unwrap_or_default(),
    }
}

/// Returns the text of an error of the parser, preceded by its position.
fn parser_error_text(error: &json5::Error) -> String {
    let mut text = error.to_string();
    let position = error.position().map(|position| position.to_string());
    if let Some(position) = &position {
        text.truncate(text.len() - format!(" at {position}").len());
    }
    if error.code().is_some() {
        text = match text.strip_prefix("EOF parsing ") {
            Some(part) => format!("no valid JSON5: the file ends within this part: {part}"),
            None => format!("no valid JSON5: {text}"),
        };
    }
    match position {
        Some(position) => format!("{position}: {text}"),
        None => text,
    }
}

/// The state of parsing a launch file.
#[derive(Debug, Default)]
struct Parser {
    /// The path of the value that is parsed now.
    path: SettingPath,
    /// A mistake that [`mistake_with_position`] or the parser has found. Parsing the value at the
    /// path of the mistake fails with its text; the error then has the position of that value.
    refused: Option<Mistake>,
}

impl Parser {
    fn parse(&mut self, text: &str) -> Result<Value, json5::Error> {
        let mut input = json5::Deserializer::from_str(text);
        let value = self.deserialize(&mut input)?;
        match input.deserialize_option(EndOfFile) {
            Err(error) if error.code() == Some(json5::ErrorCode::EofParsingValue) => Ok(value),
            other => other.map(|()| value),
        }
    }

    /// Calls `parse` to parse a value inside the current one. `step` leads from the current value
    /// to it.
    fn parse_child<T>(&mut self, step: SettingStep, parse: impl FnOnce(&mut Self) -> T) -> T {
        self.path.0.push(step);
        let parsed = parse(self);
        self.path.0.pop();
        parsed
    }

    /// Returns an error if the current value has a mistake, or is nested too deeply.
    fn check_current_value<E: Error>(&self) -> Result<(), E> {
        match &self.refused {
            Some(mistake) if mistake.path == self.path => Err(E::custom(&mistake.text)),
            _ if self.path.0.len() > DEPTH_MAX => {
                let depth = format_args!("more than {DEPTH_MAX} lists and objects in each other");
                Err(E::custom(depth))
            }
            _ => Ok(()),
        }
    }
}

impl<'de> DeserializeSeed<'de> for &mut Parser {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<Value, D::Error> {
        input.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Parser {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        self.check_current_value().map(|()| Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        self.check_current_value().map(|()| value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        self.check_current_value().map(|()| value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        self.check_current_value().map(|()| value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        self.check_current_value()?;
        let number = Number::from_f64(value).ok_or_else(|| {
            let predicate = format!("is {value}, but a finite number is wanted");
            E::custom(self.path.mistake(&predicate).text)
        })?;
        Ok(number.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        self.check_current_value().map(|()| value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut input: A) -> Result<Value, A::Error> {
        self.check_current_value()?;
        let mut list = Vec::new();
        loop {
            let step = SettingStep::Index(list.len());
            match self.parse_child(step, |parser| input.next_element_seed(parser))? {
                Some(value) => list.push(value),
                None => return Ok(list.into()),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut input: A) -> Result<Value, A::Error> {
        self.check_current_value()?;
        let mut object = Map::new();
        while let Some(key) = input.next_key::<String>()? {
            if object.contains_key(&key) {
                // WHY not here: the error gets the position of the value that returns it.
                let predicate = "is in the file twice: remove or rename one of the two";
                self.refused = Some(self.path.with_key(&key).mistake(predicate));
            }
            let step = SettingStep::Key(key.clone());
            let value = self.parse_child(step, |parser| input.next_value_seed(parser))?;
            object.insert(key, value);
        }
        Ok(object.into())
    }
}

/// A visitor for the text after the object of a launch file. It fails if there is any value.
struct EndOfFile;

impl<'de> Visitor<'de> for EndOfFile {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the end of the file")
    }

    fn visit_none<E: Error>(self) -> Result<(), E> {
        Err(E::custom("the end of the file is wanted after its object"))
    }

    fn visit_some<D: Deserializer<'de>>(self, _: D) -> Result<(), D::Error> {
        self.visit_none()
    }
}
