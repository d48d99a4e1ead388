//! Names: the grammar, its refusals, and that no two topics share a file.

use horus_testing as _;

use horus_shm::{NameError, NamespaceName, TopicName};
use proptest::prelude::*;

/// Generates any name of the grammar.
fn valid() -> impl Strategy<Value = String> {
    "[A-Za-z0-9_-]{1,12}([/.][A-Za-z0-9_-]{1,12}){0,12}"
}

/// Generates texts near the grammar, mostly outside of it.
fn near() -> impl Strategy<Value = String> {
    "[a-c_./+ \0ä-]{0,8}"
}

/// Checks the grammar once more, in the slow way.
fn is_topic(name: &str) -> bool {
    let name = name.strip_prefix('/').unwrap_or(name);
    let is_token = |token: &str| {
        !token.is_empty()
            && token
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
    };
    name.len() <= 200 && name.split(['/', '.']).all(is_token)
}

proptest! {
    #[test]
    fn every_name_of_the_grammar_round_trips(name in valid()) {
        let topic = TopicName::new(&name).unwrap();
        prop_assert_eq!(topic.as_str(), &name);
        prop_assert!(topic.file_name().len() <= 255);
        prop_assert!(!topic.file_name().contains('/') && !topic.file_name().starts_with('.'));
        prop_assert_eq!(&TopicName::from_file_name(topic.file_name()).unwrap(), &topic);
        prop_assert_eq!(&TopicName::new(&format!("/{name}")).unwrap(), &topic);
    }

    #[test]
    fn two_names_share_a_file_only_if_they_are_equal(
        a in "/?[ab_-]([/.]?[ab_-]){0,3}",
        b in "/?[ab_-]([/.]?[ab_-]){0,3}",
    ) {
        let a = TopicName::new(&a).unwrap();
        let b = TopicName::new(&b).unwrap();
        prop_assert_eq!(a.file_name() == b.file_name(), a.as_str() == b.as_str());
    }

    #[test]
    fn the_checker_agrees_with_the_grammar(name in near()) {
        prop_assert_eq!(TopicName::new(&name).is_ok(), is_topic(&name), "{:?}", name);
    }

    #[test]
    fn every_file_name_is_decoded_to_its_topic_or_refused(file_name in near()) {
        if let Ok(topic) = TopicName::from_file_name(&file_name) {
            prop_assert_eq!(topic.file_name(), &file_name);
            prop_assert_eq!(&TopicName::new(topic.as_str()).unwrap(), &topic);
        }
    }

    #[test]
    fn no_string_makes_it_panic(name in any::<String>()) {
        let _ = (TopicName::new(&name), TopicName::from_file_name(&name));
        let _ = NamespaceName::new(&name).map_err(|error| error.to_string());
    }
}

#[test]
fn separators_make_different_topics() {
    let names = [
        "a", "a/b", "a.b", "a_b", "a-b", "ab", "a/b/c", "a.b.c", "a/b.c", "a.b/c",
    ];
    let files: std::collections::HashSet<_> = names
        .iter()
        .map(|name| TopicName::new(name).unwrap().file_name().to_string())
        .collect();
    assert_eq!(files.len(), names.len());
}

#[test]
fn bad_characters_are_named_with_their_byte() {
    let cases = [
        ("a b", ' ', 1),
        ("/a b", ' ', 2),
        ("a\0", '\0', 1),
        ("ä", 'ä', 0),
        ("a/bö.c", 'ö', 3),
        ("a+b", '+', 1),
        ("a\nb", '\n', 1),
        ("a\\b", '\\', 1),
        ("~", '~', 0),
    ];
    for (name, wanted, wanted_at) in cases {
        match TopicName::new(name).unwrap_err() {
            NameError::BadCharacter { character, at, .. } => {
                assert_eq!((character, at), (wanted, wanted_at), "{name:?}");
            }
            other => panic!("{name:?}: {other}"),
        }
    }
    let message = TopicName::new("arm joint").unwrap_err().to_string();
    assert!(message.contains("' ' at byte 3"), "{message}");
}

#[test]
fn empty_tokens_are_named_with_their_byte() {
    let cases = [
        ("//a", 1),
        ("a//b", 2),
        ("a/", 2),
        ("a.", 2),
        (".a", 0),
        ("a./b", 2),
        ("..", 0),
    ];
    for (name, wanted_at) in cases {
        match TopicName::new(name).unwrap_err() {
            NameError::EmptyToken { at, .. } => assert_eq!(at, wanted_at, "{name:?}"),
            other => panic!("{name:?}: {other}"),
        }
    }
    let texts = [
        (
            "../x",
            "\"../x\" has an empty token at byte 0, in \"../\": use letters",
        ),
        (
            "/a/../b",
            "\"/a/../b\" has an empty token at byte 3, in \"/../\": use letters",
        ),
        (
            "a/",
            "\"a/\" has an empty token at byte 2, in \"/\": use letters",
        ),
    ];
    for (name, part) in texts {
        let text = TopicName::new(name).unwrap_err().to_string();
        assert!(text.contains(part), "{text}");
    }
    for name in ["", "/"] {
        assert!(
            matches!(TopicName::new(name), Err(NameError::Empty { .. })),
            "{name:?}"
        );
    }
}

#[test]
fn lengths_are_limited_without_the_leading_slash() {
    let longest = "a".repeat(200);
    assert!(TopicName::new(&longest).is_ok());
    assert!(TopicName::new(&format!("/{longest}")).is_ok());
    let error = TopicName::new(&format!("{longest}b")).unwrap_err();
    assert!(
        matches!(
            error,
            NameError::TooLong {
                bytes: 201,
                bytes_max: 200,
                ..
            }
        ),
        "{error}"
    );
    assert!(NamespaceName::new(&"n".repeat(64)).is_ok());
    let error = NamespaceName::new(&"n".repeat(65)).unwrap_err();
    assert!(
        matches!(
            error,
            NameError::TooLong {
                bytes: 65,
                bytes_max: 64,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn a_namespace_is_one_token() {
    assert_eq!(
        NamespaceName::new("robot-1_b").unwrap().as_str(),
        "robot-1_b"
    );
    for (name, wanted_at) in [
        ("a/b", 1),
        ("a.b", 1),
        ("/a", 0),
        (".", 0),
        ("..", 0),
        ("a ", 1),
    ] {
        match NamespaceName::new(name).unwrap_err() {
            NameError::BadCharacter { at, .. } => assert_eq!(at, wanted_at, "{name:?}"),
            other => panic!("{name:?}: {other}"),
        }
    }
    assert!(matches!(
        NamespaceName::new(""),
        Err(NameError::Empty { .. })
    ));
}
