//! Publishes or subscribes with an old or a new version of a message, or with another message: for
//! the tests of upgrades, and of which programs match.
//!
//! The arguments are `publish` or `subscribe`; `old`, `new` or `other`; and `plain` or `reliable`.
//! A publisher sends each number that it reads from its input, and prints `sent`. Whenever it reads
//! a line, a subscriber prints a line for each message that it has received, `incompatible` and the
//! error if no publisher matches it, and then `end`.

use std::io::BufRead as _;

use horus_core::message::Message;
use horus_core::prelude::*;
use horus_core::{RecvError, Result};

mod old {
    horus_core::message! {
        pub struct Status {
            pub number: u64,
            pub volts: f32,
            pub _reserved: [u8; 4],
        }
    }
}

mod new {
    horus_core::message! {
        pub struct Status {
            pub number: u64,
            pub volts: f32,
            pub amperes: f32 = 1.5,
            pub gain: f64,
        }
    }
}

mod other {
    horus_core::message! {
        pub struct Status {
            pub number: u64,
            pub celsius: f64,
        }
    }
}

/// Returns the quality of service that the last argument names.
fn qos() -> Qos {
    match std::env::args().nth(3).as_deref() {
        Some("reliable") => Qos::reliable(),
        _ => Qos::new(),
    }
}

fn lines() -> impl Iterator<Item = String> {
    std::io::stdin().lock().lines().map_while(Result::ok)
}

fn publish<T: Message>(message: impl Fn(u64) -> T) -> Result<()> {
    let mut publisher: Publisher<T> = Publisher::with_qos("status", qos())?;
    println!("open");
    for line in lines() {
        publisher.send(message(line.parse().expect("a number")))?;
        println!("sent");
    }
    Ok(())
}

fn subscribe<T: Message>(text: impl Fn(T) -> String) -> Result<()> {
    let mut subscriber: Subscriber<T> = Subscriber::with_qos("status", qos())?;
    println!("open");
    for _ in lines() {
        while let Some(message) = subscriber.recv() {
            println!("{} {}", text(message), subscriber.received_bytes());
        }
        if let Err(error @ RecvError::Incompatible { .. }) = subscriber.check() {
            println!("incompatible: {error}");
        }
        println!("end");
    }
    Ok(())
}

fn main() -> Result<()> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match arguments[..2].join(" ").as_str() {
        "publish old" => publish(|number| old::Status {
            number,
            volts: 12.5,
            _reserved: [7; 4],
        }),
        "publish new" => publish(|number| new::Status {
            number,
            volts: 24.0,
            amperes: 3.0,
            gain: 0.5,
        }),
        "publish other" => publish(|number| other::Status {
            number,
            celsius: 36.5,
        }),
        "subscribe other" => {
            subscribe(|status: other::Status| format!("{} {:.1}", status.number, status.celsius))
        }
        "subscribe old" => {
            subscribe(|status: old::Status| format!("{} {:.1}", status.number, status.volts))
        }
        "subscribe new" => subscribe(|status: new::Status| {
            let new::Status {
                number,
                volts,
                amperes,
                gain,
            } = status;
            format!("{number} {volts:.1} {amperes:.1} {gain:.1}")
        }),
        _ => panic!("three arguments: see above"),
    }
}
