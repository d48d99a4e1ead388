//! Parses paths such as `legs[2].feet[1].x`: names joined by dots, and indices in brackets.

/// One step of a path such as `legs[2].x`: a name or an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathStep<'a> {
    /// The name of a field or map key.
    Name(&'a str),
    /// An index into an array, counted from 0.
    Index(usize),
}

/// Returns an iterator over the steps of `path`. It yields `None` for an invalid step, and then
/// ends. The empty path has no steps.
pub(crate) fn path_steps(path: &str) -> PathSteps<'_> {
    PathSteps {
        rest: path,
        begins: true,
        ended: path.is_empty(),
    }
}

/// The iterator over the steps of a path that [`path_steps`] returns.
#[derive(Debug, Clone)]
pub(crate) struct PathSteps<'a> {
    rest: &'a str,
    begins: bool,
    ended: bool,
}

impl<'a> PathSteps<'a> {
    fn parse_step(&mut self) -> Option<PathStep<'a>> {
        let begins = std::mem::take(&mut self.begins);
        if let Some(inside) = self.rest.strip_prefix('[') {
            let (digits, rest) = inside.split_once(']')?;
            self.rest = rest;
            // WHY: `parse` alone would also accept `+1`.
            let all_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
            return all_digits
                .then(|| digits.parse().ok())
                .flatten()
                .map(PathStep::Index);
        }
        let rest = if begins {
            self.rest
        } else {
            self.rest.strip_prefix('.')?
        };
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        let (name, rest) = rest.split_at(end);
        self.rest = rest;
        (!name.is_empty()).then_some(PathStep::Name(name))
    }
}

impl<'a> Iterator for PathSteps<'a> {
    type Item = Option<PathStep<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let step = self.parse_step();
        self.ended = step.is_none() || self.rest.is_empty();
        Some(step)
    }
}
