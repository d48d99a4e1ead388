//! Topics, messages and nodes: what a robot programmer uses.
//!
//! A *message* is plain data of a fixed size with a table of its fields, made by [`message!`]. The
//! usual ones are in [`mod@message`]: [`CmdVel`](message::CmdVel), [`Imu`](message::Imu),
//! [`LaserScan`](message::LaserScan) and others, with the names and units of ROS 2 and REP-103.

// WHY: `message!` holds the one exception, an `unsafe impl` that its own compile-time checks prove.
#![deny(unsafe_code)]

pub mod message;
