//! Texts in messages: valid ones are returned unchanged, and any bytes can be read as some text.

use horus_testing as _;

mod noise;

use fastrand::Rng;
use horus_core::message::{FieldKind, Message, Primitive, Schema, Text};
use noise::{Case, result, rounds, seeds};

/// Characters of each length in UTF-8, except NUL.
const CHARACTERS: [char; 8] = ['a', '/', '_', 'é', '°', '→', '界', '🤖'];

fn words(rng: &mut Rng, length: usize) -> String {
    (0..length)
        .map(|_| CHARACTERS[rng.usize(..CHARACTERS.len())])
        .collect()
}

#[test]
fn a_text_that_fits_comes_out_again() {
    for seed in seeds(rounds(2_000, 200_000)) {
        let _case = Case(seed);
        let mut rng = Rng::with_seed(seed);
        let length = rng.usize(..20);
        let text = words(&mut rng, length);
        match Text::<16>::new(&text) {
            Ok(made) => {
                assert!(text.len() <= 16);
                assert_eq!(made, *text);
                assert_eq!(made.to_string(), text);
                assert_eq!(made, Text::truncated(&text));
                assert!(made.as_bytes()[text.len()..].iter().all(|byte| *byte == 0));
            }
            Err(error) => {
                assert!(text.len() > 16);
                assert_eq!((error.bytes, error.bytes_max), (text.len(), 16));
            }
        }
    }
}

#[test]
fn a_cut_is_the_longest_part_of_whole_characters() {
    for seed in seeds(rounds(2_000, 200_000)) {
        let _case = Case(seed);
        let mut rng = Rng::with_seed(seed);
        let length = rng.usize(..20);
        let text = words(&mut rng, length);
        let ends = (0..=text.len().min(7)).filter(|end| text.is_char_boundary(*end));
        assert_eq!(
            Text::<7>::truncated(&text),
            text[..ends.max().unwrap()],
            "{text}"
        );
    }
}

#[test]
fn a_formatted_text_is_cut_like_any_other() {
    let mut rng = Rng::with_seed(3);
    for length in 0..40 {
        let words = words(&mut rng, length);
        let whole = format!("{words} and {length}");
        let text = Text::<16>::format(format_args!("{words} and {length}"));
        assert_eq!(text, Text::<16>::truncated(&whole), "{whole}");
    }
}

#[test]
fn any_bytes_are_the_text_before_the_first_invalid_byte() {
    for seed in seeds(rounds(20_000, 2_000_000)) {
        let _case = Case(seed);
        let mut rng = Rng::with_seed(seed);
        let mut bytes: [u8; 12] = std::array::from_fn(|_| rng.u8(..));
        let length = rng.usize(..5);
        let start = words(&mut rng, length);
        let kept = start.len().min(12);
        bytes[..kept].copy_from_slice(&start.as_bytes()[..kept]);

        let before_nul = bytes.iter().position(|byte| *byte == 0).unwrap_or(12);
        let valid = |end: &usize| str::from_utf8(&bytes[..*end]).is_ok();
        let end = (0..=before_nul).filter(valid).max().unwrap();
        let text = Text::from(bytes);
        assert_eq!(text.as_str().as_bytes(), &bytes[..end]);
        assert_eq!(text.is_empty(), end == 0);
        assert_eq!(text.as_bytes(), &bytes);
        let _ = format!("{text:?} {text:>40}");
    }
    result(
        "text_hostile",
        format!("patterns={}", seeds(rounds(20_000, 2_000_000)).count()),
    );
}

#[test]
fn a_nul_ends_a_text() {
    assert_eq!(Text::<8>::new("ab\0cd").unwrap(), *"ab");
    assert_eq!(Text::<8>::new("ab\0cd"), Text::new("ab"));
    assert_eq!(Text::<8>::truncated("\0"), Text::EMPTY);
}

#[test]
fn a_text_is_shown_as_a_string() {
    const MAP: Text<8> = Text::literal("map");
    assert_eq!(format!("{MAP}|{MAP:>5}|{MAP:?}"), "map|  map|\"map\"");
    assert_eq!(MAP, "map");
    assert_eq!(Text::try_from("map"), Ok(MAP));
    assert_eq!(Text::<8>::default(), "");
    let error = Text::<2>::new("map").unwrap_err();
    assert_eq!(
        error.to_string(),
        "the text has 3 bytes, but 2 fit: shorten it, or use `Text::truncated`"
    );
}

horus_core::message! {
    struct Joint { name: Text<8>, aliases: [Text<4>; 3], tags: [[Text<2>; 1]; 1], bytes: [u8; 2] }
}

horus_core::message! {
    struct Arm { joints: [Joint; 2], grid: [[Text<2>; 2]; 3] }
}

#[test]
fn a_schema_distinguishes_texts_from_bytes() {
    let text = "horus schema 1\nmessage Arm\nsize 60\nalign 1\n\
                field joints.name char 0 8 2*24\n\
                field joints.aliases char 8 4 2*24 3*4\n\
                field joints.tags char 20 2 2*24\n\
                field joints.bytes u8 22 2 2*24\n\
                field grid char 48 2 6*2\n";
    assert_eq!(Arm::SCHEMA.text(), text);
    let parsed = Schema::parse(text).unwrap();
    assert_eq!(parsed.fields[1].shape.primitive, Primitive::Char);
    assert_eq!(
        (
            parsed.fields[1].shape.count,
            &*parsed.fields[1].shape.arrays
        ),
        (4, &[(2, 24), (3, 4)][..])
    );
    let aliases = Joint::SCHEMA.fields[1];
    assert_eq!(
        (aliases.kind, aliases.count, aliases.kind.size()),
        (FieldKind::Text(4), 3, 4)
    );
}

#[test]
fn a_text_is_made_of_a_string_where_any_error_of_the_library_is_returned() {
    fn frame(name: &str) -> horus_core::Result<Text<8>> {
        let made = Text::new(name)?;
        let converted: Text<8> = name.try_into()?;
        assert_eq!(made, converted);
        Ok(made)
    }
    assert_eq!(frame("map").unwrap(), *"map");
    let error = frame("base_link").unwrap_err();
    assert!(error.to_string().contains("9 bytes, but 8 fit"), "{error}");
}
