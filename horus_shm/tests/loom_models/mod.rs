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
