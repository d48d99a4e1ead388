//! Publishes or subscribes with an old or a new version of a message: for the tests of upgrades.
//!
//! The arguments are `publish` or `subscribe`, and `old` or `new`. A publisher sends each number
//! that it reads from its input, and prints `sent`. A subscriber prints a line for each message
//! that it has received, and then `end`, whenever it reads a line.

use std::io::BufRead as _;

use horus_core::message::Message;
use horus_core::prelude::*;

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

fn lines() -> impl Iterator<Item = String> {
    std::io::stdin().lock().lines().map_while(Result::ok)
}

fn publish<T: Message>(message: impl Fn(u64) -> T) -> Result<()> {
    let mut publisher: Publisher<T> = Publisher::new("status")?;
    println!("open");
    for line in lines() {
        publisher.send(message(line.parse().expect("a number")))?;
        println!("sent");
    }
    Ok(())
}

fn subscribe<T: Message>(text: impl Fn(T) -> String) -> Result<()> {
    let mut subscriber: Subscriber<T> = Subscriber::new("status")?;
    println!("open");
    for _ in lines() {
        while let Some(message) = subscriber.recv() {
            println!("{} {}", text(message), subscriber.received_bytes());
        }
        println!("end");
    }
    Ok(())
}

fn main() -> Result<()> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match arguments.join(" ").as_str() {
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
        _ => panic!("two arguments: publish or subscribe, and old or new"),
    }
}
