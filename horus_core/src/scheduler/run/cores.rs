//! The numbers of the CPUs to which a node can be pinned.

use std::thread;

/// Returns the highest CPU number of this machine plus one.
///
/// WHY not `available_parallelism`: that is the number of CPUs on which the calling thread may run
/// now. If a program was started on CPU 1 alone, that number is one, although its nodes may be
/// pinned to CPU 1 or any other. A pin that the system refuses is reported.
pub(crate) fn highest_cpu_plus_one() -> usize {
    let possible = std::fs::read_to_string("/sys/devices/system/cpu/possible").unwrap_or_default();
    highest_cpu_plus_one_in_list(&possible)
        .unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from))
}

/// Returns the largest CPU number in a list in the kernel's format, such as `0-3,8-11`, plus one.
/// Returns `None` if `list` is not in this format.
fn highest_cpu_plus_one_in_list(list: &str) -> Option<usize> {
    let last = list.trim_end().rsplit([',', '-']).next()?;
    last.parse::<usize>().ok()?.checked_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_number_of_a_list_counts() {
        for (list, wanted) in [("0\n", 1), ("0-1\n", 2), ("0-3,8-11\n", 12), ("0-2,7\n", 8)] {
            assert_eq!(highest_cpu_plus_one_in_list(list), Some(wanted), "{list}");
        }
        assert_eq!(highest_cpu_plus_one_in_list(""), None);
        assert!(highest_cpu_plus_one() >= thread::available_parallelism().map_or(1, usize::from));
    }
}
