//! Finds out whether two messages are versions of each other, by the prefixes of their lists of
//! fields.

use horus_shm::{FieldPrefix, FieldPrefixes};

use super::parsed::{ParsedField, ParsedSchema};
use super::{FNV_OFFSET_BASIS, fnv1a_step};

/// Prefixes that mark a field as padding: the name of such a field begins with one of these texts.
const PADDING_PREFIXES: [&str; 2] = ["_pad", "_reserved"];

impl ParsedSchema {
    /// Returns the hash and the length of each prefix of this message's list of fields. With them,
    /// endpoints determine whether one message is a longer version of another one.
    ///
    /// A prefix consists of one or more outermost fields of the message, each with all the numbers
    /// that it contains. Padding after the last field does not belong to a prefix.
    pub(crate) fn field_prefixes(&self) -> FieldPrefixes {
        let mut hash = extend_hash(FNV_OFFSET_BASIS, &format!("message {}\n", self.name));
        if let Some(tail) = &self.tail {
            let line = format!("tail {} {}\n", tail.name, tail.primitive.name());
            hash = extend_hash(hash, &line);
        }
        let mut end = 0;
        let mut prefixes = Vec::new();
        let parts: Vec<_> = self
            .fields
            .chunk_by(|a, b| outermost_name(a) == outermost_name(b))
            .collect();
        for (at, fields) in parts.iter().enumerate() {
            for field in *fields {
                hash = extend_hash(hash, &field.schema_text_line());
                end = field
                    .shape
                    .end_offset()
                    .map_or(end, |behind| end.max(behind));
            }
            let next = parts.get(at + 1).map(|fields| fields[0].shape.offset);
            // WHY the offset: a text of any origin may say that fields overlap.
            let is_apart = next.is_none_or(|next| next >= end);
            if is_apart && !is_padding(outermost_name(&fields[0])) {
                prefixes.push(FieldPrefix {
                    hash: (hash >> 64) as u64 ^ hash as u64,
                    bytes: end as u64,
                });
            }
        }
        let growth = FieldPrefixes::new(prefixes.into_iter().rev());
        match self.tail {
            Some(_) => growth.with_head(self.size as u32),
            None => growth,
        }
    }
}

impl ParsedField {
    /// Returns the line that describes this field in the canonical text of the schema.
    fn schema_text_line(&self) -> String {
        let shape = &self.shape;
        let name = shape.primitive.name();
        let arrays = shape.arrays.iter();
        let arrays: String = arrays
            .map(|(count, stride)| format!(" {count}*{stride}"))
            .collect();
        let (path, offset, count) = (&self.path, shape.offset, shape.count);
        format!("field {path} {name} {offset} {count}{arrays}\n")
    }
}

/// Returns the first name in the path of a field, which is the name of a field of the message
/// itself: `pose` for `pose.x`.
fn outermost_name(field: &ParsedField) -> &str {
    field.path.split('.').next().unwrap_or_default()
}

fn is_padding(name: &str) -> bool {
    PADDING_PREFIXES
        .iter()
        .any(|padding| name.starts_with(padding))
}

fn extend_hash(hash: u128, text: &str) -> u128 {
    text.bytes().fold(hash, fnv1a_step)
}

#[cfg(test)]
mod tests {
    use horus_shm::TypeInfo;

    use crate::message::{ParsedField, ParsedSchema, Schema};
    use crate::topic::DynamicType;

    /// Returns a schema text of fields of 8 bytes: numbers, or messages with the numbers in
    /// brackets, as in `a b(x y) _pad`.
    fn text(name: &str, fields: &str) -> String {
        let mut lines = String::new();
        let mut offset = 0;
        let mut around = None;
        for word in fields.split_whitespace() {
            let (outer, inner) = word.split_once('(').unwrap_or(("", word));
            if !outer.is_empty() {
                around = Some(outer);
            }
            let path = around.map_or(String::new(), |around| format!("{around}."));
            let number = inner.trim_end_matches(')');
            let (number, kind) = number.split_once(':').unwrap_or((number, "f64"));
            lines += &format!("field {path}{number} {kind} {offset} 1\n");
            offset += 8;
            if inner.ends_with(')') {
                around = None;
            }
        }
        format!("horus schema 1\nmessage {name}\nsize {offset}\nalign 8\n{lines}")
    }

    fn info(text: &str) -> TypeInfo {
        let parsed = DynamicType::parse(text).expect("a canonical text");
        parsed.info().clone()
    }

    /// Returns how many bytes of message `b` a reader of message `a` uses; `None` if the two do not
    /// match. Checks that the result is the same when the roles are exchanged.
    fn shared(a: &str, b: &str) -> Option<u64> {
        let [a, b] = [a, b].map(|fields| info(&text("M", fields)));
        let matches = a.identity().matches(&b.identity());
        assert_eq!(matches, b.identity().matches(&a.identity()), "symmetric");
        let [first, second] = [(&a, &b), (&b, &a)].map(|(a, b)| a.shared_bytes(b));
        matches.then(|| {
            assert_eq!(first, second, "both take the same beginning");
            first
        })
    }

    #[test]
    fn a_version_with_more_fields_at_the_end_matches() {
        assert_eq!(shared("a b", "a b"), Some(16));
        assert_eq!(shared("a b", "a b c"), Some(16));
        assert_eq!(shared("a", "a b c d"), Some(8));
        assert_eq!(shared("a b:i64", "a b:i64 c(x y)"), Some(16));
        assert_eq!(shared("a b(x y)", "a b(x y) c"), Some(24));
    }

    #[test]
    fn padding_at_the_end_of_the_shorter_version_is_left_out() {
        assert_eq!(shared("a _pad", "a b"), Some(8));
        assert_eq!(shared("a _reserved", "a b c"), Some(8));
        assert_eq!(shared("a _pad0 _pad1", "a b"), Some(8));
        assert_eq!(shared("a _pad", "a _pad b"), Some(8));
        assert_eq!(shared("a _pad", "a _reserved"), Some(8));
        assert_eq!(shared("a _pad b", "a _pad b c"), Some(24));
        assert_eq!(
            shared("a _pad b", "a x b"),
            None,
            "padding in the middle is a field"
        );
        assert_eq!(shared("a _pad(x y)", "a b c"), Some(8));
    }

    #[test]
    fn other_changes_do_not_match() {
        assert_eq!(shared("a b", "b a"), None, "another order");
        assert_eq!(shared("a b", "a c"), None, "another name");
        assert_eq!(shared("a b", "a b:u64"), None, "another type");
        assert_eq!(shared("a b", "x a b"), None, "a field in front");
        assert_eq!(shared("a b c", "a c"), None, "a field removed");
        assert_eq!(
            shared("a(x y)", "a(x y z)"),
            None,
            "growth of a message inside"
        );
        assert_eq!(shared("a(x y) b", "a(x y z) b"), None);
        assert_eq!(shared("_pad", "a b"), None, "no field at all");
        let [m, n] = ["M", "N"].map(|name| info(&text(name, "a b")));
        assert!(!m.identity().matches(&n.identity()), "another message");
    }

    #[test]
    fn two_later_versions_of_a_message_need_not_match() {
        assert_eq!(shared("a", "a b"), Some(8));
        assert_eq!(shared("a", "a c"), Some(8));
        assert_eq!(shared("a b", "a c"), None);
    }

    #[test]
    fn a_version_may_have_up_to_sixteen_fields_more() {
        let long = |count: usize| -> String { (0..count).map(|at| format!("f{at} ")).collect() };
        assert_eq!(shared(&long(1), &long(17)), Some(8));
        assert_eq!(shared(&long(1), &long(18)), None);
        assert_eq!(shared(&long(40), &long(56)), Some(320));
    }

    #[test]
    fn arrays_belong_to_the_version_as_they_are() {
        let text =
            |lines: &str, size| format!("horus schema 1\nmessage M\nsize {size}\nalign 8\n{lines}");
        let old = "field a f64 0 1\nfield b.x f32 8 1 3*8\nfield b.y f32 12 1 3*8\n";
        let [old, new, longer] = [
            text(old, 32),
            text(&format!("{old}field c f64 32 2\n"), 48),
            text(
                &format!("{}field c f64 40 1\n", old.replace("3*8", "4*8")),
                48,
            ),
        ]
        .map(|text| info(&text));
        assert!(old.identity().matches(&new.identity()));
        assert_eq!((old.shared_bytes(&new), new.shared_bytes(&old)), (32, 32));
        assert!(
            !old.identity().matches(&longer.identity()),
            "a longer array"
        );
    }

    #[test]
    fn fields_that_overlap_begin_no_version() {
        // The second field lies between the elements of the first one.
        let first = "field a.x f32 0 1 2*8\n";
        let overlap = format!("{first}field b f32 4 1\n");
        let [first, overlap] = [first, &overlap].map(|lines| {
            info(&format!(
                "horus schema 1\nmessage M\nsize 12\nalign 4\n{lines}"
            ))
        });
        assert!(!first.identity().matches(&overlap.identity()));
    }

    /// Returns true if two messages match, computed from their texts instead of hashes.
    fn matches_by_text(a: &ParsedSchema, b: &ParsedSchema) -> bool {
        let part = |field: &ParsedField| field.path.split('.').next().unwrap().to_owned();
        let fields = |schema: &ParsedSchema| {
            let mut fields = schema.fields.clone();
            while fields
                .last()
                .is_some_and(|last| part(last).starts_with("_pad"))
            {
                fields.pop();
            }
            fields
        };
        let (mut short, mut long) = (fields(a), fields(b));
        if short.len() > long.len() {
            std::mem::swap(&mut short, &mut long);
        }
        let more = &long[short.len().min(long.len())..];
        let begins = long.starts_with(&short) && !short.is_empty();
        let is_top = more.first().zip(short.last());
        let is_top = is_top.is_none_or(|(next, last)| part(next) != part(last));
        let parts: std::collections::BTreeSet<_> = more.iter().map(part).collect();
        a == b || begins && is_top && parts.len() <= 16
    }

    #[test]
    fn the_verdict_of_the_hashes_is_that_of_the_texts() {
        let words = ["a", "b", "a:u64", "c(x y)", "c(x)", "_pad", "_pad1", "d"];
        let mut texts = vec![String::new()];
        for length in 0..3 {
            let shorter = texts.clone();
            for begin in shorter
                .iter()
                .filter(|text| text.split(' ').count() == length + 1)
            {
                texts.extend(words.iter().map(|word| format!("{begin} {word}")));
            }
        }
        let mut versions = Vec::new();
        for fields in &texts {
            if let Ok(parsed) = Schema::parse(&text("M", fields)) {
                versions.push((fields, info(&text("M", fields)).identity(), parsed));
            }
        }
        assert!(versions.len() > 200, "{}", versions.len());
        let mut pairs = 0;
        for (a, a_identity, a_parsed) in &versions {
            for (b, b_identity, b_parsed) in &versions {
                let wanted = matches_by_text(a_parsed, b_parsed);
                assert_eq!(a_identity.matches(b_identity), wanted, "{a} and {b}");
                pairs += u64::from(wanted);
            }
        }
        assert!(
            pairs > 2 * versions.len() as u64,
            "few of them match: {pairs}"
        );
    }
}
