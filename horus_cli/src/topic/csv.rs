//! Converts messages to lines of comma-separated values (CSV).

use std::collections::HashMap;

use horus_core::value::Value;

/// Maximum length of an array whose elements become columns. Longer arrays are left out, unless
/// `full` is true.
const ELEMENTS_MAX: usize = 16;

/// The columns that show a message: the names and the cells of all single values in the message.
/// `left_out` has the names of the arrays that are not shown.
#[derive(Debug, Default)]
pub(super) struct CsvColumns {
    pub(super) names: Vec<String>,
    pub(super) cells: Vec<String>,
    pub(super) left_out: Vec<String>,
}

impl CsvColumns {
    /// Returns the columns of `value`, the part of a message at `path`; an empty path means the
    /// whole message, whose column is `value` if it is a single value. Includes the elements of
    /// long arrays only if `full` is true.
    pub(super) fn of(path: &str, value: &Value, full: bool) -> Self {
        let mut columns = Self::default();
        columns.add(path.to_owned(), value, full);
        columns
    }

    /// Returns one cell for each name in `header`, the names of the first message. The cell is
    /// empty if this message has no value with that name. Also returns the names of this message
    /// that are not in `header`.
    pub(super) fn cells_in_order_of(self, header: &[String]) -> (Vec<String>, Vec<String>) {
        if self.names == header {
            return (self.cells, Vec::new());
        }
        let mut found: HashMap<_, _> = self.names.iter().zip(self.cells).collect();
        let cells = header
            .iter()
            .map(|name| found.remove(name).unwrap_or_default());
        let cells = cells.collect();
        let others = self.names.iter().filter(|name| found.contains_key(name));
        (cells, others.cloned().collect())
    }

    fn add(&mut self, path: String, value: &Value, full: bool) {
        match value {
            Value::Map(pairs) => {
                for (key, value) in pairs {
                    let key = key.as_str().map_or_else(|| key.to_string(), str::to_owned);
                    let path = if path.is_empty() {
                        key
                    } else {
                        format!("{path}.{key}")
                    };
                    self.add(path, value, full);
                }
            }
            Value::Array(values) if full || values.len() <= ELEMENTS_MAX => {
                for (index, value) in values.iter().enumerate() {
                    self.add(format!("{path}[{index}]"), value, full);
                }
            }
            Value::Typed(array) if full || array.len() <= ELEMENTS_MAX => {
                for (index, value) in array.iter().enumerate() {
                    self.add(format!("{path}[{index}]"), &value, full);
                }
            }
            Value::Bytes(bytes) if full || bytes.len() <= ELEMENTS_MAX => {
                for (index, byte) in bytes.iter().enumerate() {
                    self.add(format!("{path}[{index}]"), &(*byte).into(), full);
                }
            }
            Value::Array(_) | Value::Typed(_) | Value::Bytes(_) => self.left_out.push(path),
            Value::String(text) => self.add_cell(&path, quoted_cell(text)),
            other => self.add_cell(&path, other.to_string()),
        }
    }

    fn add_cell(&mut self, path: &str, text: String) {
        // WHY not empty: the header of a single value would be an empty line, which others skip.
        let name = if path.is_empty() { "value" } else { path };
        self.names.push(quoted_cell(name));
        self.cells.push(text);
    }
}

/// Returns `text` as a CSV cell. Puts it into quotes if that is necessary.
fn quoted_cell(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_a_line() {
        let message = Value::from([
            ("t", Value::from(7)),
            ("pose", Value::from([("x", Value::from(1.5))])),
            ("name", Value::from("a,\"b\"")),
            ("data", Value::Bytes(vec![1, 2])),
            ("image", Value::Bytes(vec![0; 17])),
        ]);
        let columns = CsvColumns::of("", &message, false);
        assert_eq!(columns.names.join(","), "t,pose.x,name,data[0],data[1]");
        assert_eq!(columns.cells.join(","), "7,1.5,\"a,\"\"b\"\"\",1,2");
        assert_eq!(columns.left_out, ["image"]);
        assert_eq!(CsvColumns::of("", &message, true).cells.len(), 5 + 17);
        // An empty header is an empty line, which other programs skip.
        assert_eq!(CsvColumns::of("", &Value::from(5), false).names, ["value"]);
        assert_eq!(CsvColumns::of("x", &Value::from(5), false).names, ["x"]);
    }

    #[test]
    fn values_are_below_their_names() {
        let message = |names: &[&str]| {
            let pairs = names.iter().map(|name| (*name, *name));
            CsvColumns::of("", &pairs.collect(), false)
        };
        let header = message(&["a", "b", "c"]).names;
        let table: [(&[&str], &str, &[&str]); 4] = [
            (&["a", "b", "c"], "a,b,c", &[]),
            (&["c", "a"], "a,,c", &[]),
            (&["z", "b", "y"], ",b,", &["z", "y"]),
            (&[], ",,", &[]),
        ];
        for (names, line, others) in table {
            let (cells, found) = message(names).cells_in_order_of(&header);
            assert_eq!(cells.join(","), line);
            assert_eq!(found, others);
        }
    }
}
