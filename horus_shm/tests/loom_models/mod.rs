//! The models: each states one property, and explores the real algorithms for it.

pub(crate) mod channel;
pub(crate) mod gate;
pub(crate) mod growth;
pub(crate) mod lane;
pub(crate) mod moving;
pub(crate) mod pins;
pub(crate) mod presence;
pub(crate) mod takeover;
pub(crate) mod wait;

/// Returns the limit of involuntary switches in a model with the most executions: `usual`, or `all`
/// in runs that visit all points. WHY: three models take two thirds of the time of all.
fn switches(usual: usize, all: usize) -> usize {
    if horus_testing::visits_all_points() {
        all
    } else {
        usual
    }
}
