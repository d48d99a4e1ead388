//! Sends back one message of every standard type, as it was received: for the tests of bindings.
//!
//! The message `CmdVel` comes on the topic `CmdVel` and goes back on `CmdVel_back`. Says `ready`
//! when it listens.

use std::time::Duration;

use horus_core::message::Message;
use horus_core::prelude::*;

/// How long a message may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Both ends of one type, as a step that relays one message.
fn relay<T: Message>() -> Result<Box<dyn FnMut() -> Result<()>>> {
    let name = T::SCHEMA.name;
    let mut subscriber: Subscriber<T> = Subscriber::new(name)?;
    let mut publisher: Publisher<T> = Publisher::new(&format!("{name}_back"))?;
    Ok(Box::new(move || {
        let message = subscriber.recv_timeout(PATIENCE)?;
        Ok(publisher.send(&message)?)
    }))
}

macro_rules! relays {
    ($($domain:ident $title:literal { $($name:ident),+ $(,)? })+) => {
        vec![$($(relay::<horus_core::message::$name>()?),+),+]
    };
}

fn main() -> Result<()> {
    let relays = horus_core::standard_messages!(relays);
    println!("ready");
    relays.into_iter().try_for_each(|mut relay| relay())
}
