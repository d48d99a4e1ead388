//! Finds names that are similar to an unknown name. Error texts suggest them.

use super::format::visible;

/// Maximum number of similar names that an error text suggests.
const SUGGESTIONS_MAX: usize = 3;

/// Returns up to three of `names` that are similar to `wanted`. Names that begin with `wanted` come
/// first, then those with the smallest edit distance. A name that occurs twice counts once. WHY it
/// also finds names with which `wanted` ends: a ROS user writes `geometry_msgs/Twist`.
fn nearest_names<'a>(wanted: &str, names: &'a [String]) -> Vec<&'a str> {
    let is_end = |name: &str| {
        wanted
            .strip_suffix(name)
            .is_some_and(|rest| rest.ends_with('/'))
    };
    let distance = |name: &str| match name.starts_with(wanted) || is_end(name) {
        true => 0,
        false => strsim::damerau_levenshtein(wanted, name),
    };
    let mut near: Vec<_> = names
        .iter()
        .map(|name| (distance(name), name.as_str()))
        .collect();
    near.sort_unstable();
    near.dedup();
    near.truncate(SUGGESTIONS_MAX);
    near.into_iter().map(|(_, name)| name).collect()
}

/// Returns a text that suggests similar names, such as ` Near: odom, imu`, to be appended to an
/// error text. It is empty if no name is similar. The names may come from other programs.
pub(crate) fn suggestion_text(wanted: &str, names: &[String]) -> String {
    match nearest_names(wanted, names).as_slice() {
        [] => String::new(),
        near => {
            let near: Vec<_> = near.iter().map(|name| visible(name)).collect();
            format!(" Near: {}", near.join(", "))
        }
    }
}

/// Returns up to three of `names` that `wanted` may be a misspelling of. These have the same part
/// after the last slash, or an edit distance of at most a quarter of the length of `wanted`,
/// rounded up.
pub(crate) fn similar_names<'a>(wanted: &str, names: &'a [String]) -> Vec<&'a str> {
    let edits_max = wanted.chars().count().div_ceil(4);
    let last_part = |name: &str| name.rsplit('/').next().map(str::to_owned);
    let mut similar: Vec<_> = names
        .iter()
        .filter(|name| *name != wanted)
        .map(|name| match last_part(name) == last_part(wanted) {
            true => (0, name.as_str()),
            false => (strsim::damerau_levenshtein(wanted, name), name.as_str()),
        })
        .filter(|(edits, _)| *edits <= edits_max)
        .collect();
    similar.sort_unstable();
    similar.truncate(SUGGESTIONS_MAX);
    similar.into_iter().map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_names_come_first() {
        let names = ["cmd_vel", "odom", "imu", "camera/rgb"].map(str::to_owned);
        assert_eq!(suggestion_text("odm", &names), " Near: odom, imu, cmd_vel");
        assert!(suggestion_text("cam", &names).starts_with(" Near: camera/rgb, "));
        assert!(suggestion_text("robot/imu", &names).starts_with(" Near: imu, "));
        assert_eq!(suggestion_text("odm", &[]), "");
        let twice = ["imu", "imu"].map(str::to_owned);
        assert_eq!(suggestion_text("imo", &twice), " Near: imu");
    }

    #[test]
    fn only_misspellings_are_similar() {
        let names = ["tilt", "tool", "imu", "left/scan"].map(str::to_owned);
        assert_eq!(similar_names("tlit", &names), ["tilt"]);
        assert_eq!(similar_names("robot/imu", &names), ["imu"]);
        assert_eq!(similar_names("scan", &names), ["left/scan"]);
        assert!(similar_names("imu", &names).is_empty());
        assert!(similar_names("cmd_vel", &names).is_empty());
    }
}
