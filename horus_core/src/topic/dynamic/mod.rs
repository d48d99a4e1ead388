//! Endpoints of topics whose message type is known only at run time. Language bindings and tools
//! use them.

mod builder;
mod message_type;
mod publisher;
mod subscriber;

pub use builder::DynamicBuilder;
pub use message_type::{DynamicSchema, DynamicType};
pub use publisher::DynamicPublisher;
pub use subscriber::{Arrival, DynamicSubscriber};
