//! Finds names that are similar to an unknown name. Error texts suggest them.

/// Maximum number of similar names that an error text suggests.
const SUGGESTIONS_MAX: usize = 3;

/// Returns up to three of `names` that are similar to `wanted`. Names that begin with `wanted` come
/// first, then those with the smallest edit distance. WHY it also finds names with which `wanted`
/// ends: a ROS user writes `geometry_msgs/Twist`.
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
    near.truncate(SUGGESTIONS_MAX);
    near.into_iter().map(|(_, name)| name).collect()
}

/// Returns a text that suggests similar names, such as ` Near: odom, imu`, to be appended to an
/// error text. It is empty if no name is similar.
pub(crate) fn suggest_names(wanted: &str, names: &[String]) -> String {
    match nearest_names(wanted, names).as_slice() {
        [] => String::new(),
        near => format!(" Near: {}", near.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_names_come_first() {
        let names = ["cmd_vel", "odom", "imu", "camera/rgb"].map(str::to_owned);
        assert_eq!(suggest_names("odm", &names), " Near: odom, imu, cmd_vel");
        assert!(suggest_names("cam", &names).starts_with(" Near: camera/rgb, "));
        assert!(suggest_names("robot/imu", &names).starts_with(" Near: imu, "));
        assert_eq!(suggest_names("odm", &[]), "");
    }
}
