//! Patterns that select topics by name, such as `camera/*` or `**/status`.

/// Returns true if `name` matches `pattern`. In a pattern, `*` stands for any characters except
/// `/`, and `**` for any characters.
///
/// The time is proportional to the product of the lengths of `pattern` and `name`.
pub(super) fn matches_pattern(pattern: &str, name: &str) -> bool {
    let name = name.as_bytes();
    // Element i is true if the pattern so far matches the first i bytes of the name.
    let mut matched = vec![false; name.len() + 1];
    matched[0] = true;
    let mut rest = pattern.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first != b'*' {
            for end in (1..=name.len()).rev() {
                matched[end] = matched[end - 1] && name[end - 1] == *first;
            }
            matched[0] = false;
            rest = after;
            continue;
        }
        let crosses_slashes = after.first() == Some(&b'*');
        for end in 1..=name.len() {
            let passes = crosses_slashes || name[end - 1] != b'/';
            matched[end] |= matched[end - 1] && passes;
        }
        rest = &after[usize::from(crosses_slashes)..];
    }
    matched[name.len()]
}

/// Returns true if `text` is a pattern, and false if it is the name of a topic.
pub(super) fn is_pattern(text: &str) -> bool {
    text.contains('*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_star_stays_within_slashes() {
        let table = [
            ("imu", "imu", true),
            ("imu", "imu2", false),
            ("", "", true),
            ("*", "imu", true),
            ("*", "camera/rgb", false),
            ("**", "camera/rgb", true),
            ("camera/*", "camera/rgb", true),
            ("camera/*", "camera/rgb/raw", false),
            ("camera/**", "camera/rgb/raw", true),
            ("**/status", "horus/schedulers/arm/status", true),
            ("**/status", "status", false),
            ("*/r*b", "camera/rgb", true),
            ("c*a/*", "camera/rgb", true),
            ("c*x/*", "camera/rgb", false),
        ];
        for (pattern, name, expected) in table {
            assert_eq!(matches_pattern(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn many_stars_take_no_exponential_time() {
        let pattern = "*a".repeat(100) + "b";
        assert!(!matches_pattern(&pattern, &"a".repeat(200)));
    }
}
