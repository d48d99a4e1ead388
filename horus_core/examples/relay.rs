//! Echoes one message of every standard type as it was received: for the tests of bindings.
//!
//! The message `CmdVel` comes on the topic `CmdVel` and is echoed on `CmdVel_back`. The program
//! prints `ready` when it has subscribed. With the argument `values`, it first publishes bytes that
//! are not a value on `values_back`, then echoes there what comes on `values`, until nil comes.
//! With `framed`, it echoes one of each message type that ends in data, and with `lists` only a
//! scan and a state of joints. With `imported`, it echoes two messages that `.msg` files declare.

use std::time::Duration;

use horus_core::message::{
    AudioFrameHeader, BytesHeader, CompressedImageHeader, CostMapHeader, DepthImageHeader, Framed,
    Header, ImageHeader, JointStateArrayHeader, LidarScanHeader, LogLineHeader, Message,
    OccupancyGridHeader, PointCloudHeader, SchedulerStatusHeader, SegmentationMaskHeader,
    TensorHeader,
};
use horus_core::prelude::*;
use horus_core::topic::DynamicType;

/// Messages that the tests of the importer declare.
mod imported {
    include!("../tests/golden/imported/messages.inc");
}

/// The most time to wait for a message.
const RECEIVE_TIMEOUT: Duration = Duration::from_secs(60);

/// Opens both endpoints of one type and returns a step that relays one message.
fn relay<T: Message>() -> Result<Box<dyn FnMut() -> Result<()>>> {
    let name = T::SCHEMA.name;
    let mut subscriber: Subscriber<T> = Subscriber::new(name)?;
    let mut publisher: Publisher<T> = Publisher::new(&format!("{name}_back"))?;
    Ok(Box::new(move || {
        let message = subscriber.recv_timeout(RECEIVE_TIMEOUT)?;
        Ok(publisher.send(&message)?)
    }))
}

macro_rules! relays {
    ($($domain:ident $title:literal { $($name:ident),+ $(,)? })+) => {
        vec![$($(relay::<horus_core::message::$name>()?),+),+]
    };
}

/// Opens both endpoints of one type of messages that end in data.
fn relay_framed<H: Header>() -> Result<Box<dyn FnMut() -> Result<()>>> {
    let mut subscriber: Subscriber<Framed<H>> = Subscriber::new(H::NAME)?;
    let mut publisher: Publisher<Framed<H>> = Publisher::new(&format!("{}_back", H::NAME))?;
    Ok(Box::new(move || {
        let message = subscriber.recv_timeout(RECEIVE_TIMEOUT)?;
        Ok(publisher.send(&message)?)
    }))
}

fn relay_values() -> Result<()> {
    let mut subscriber: Subscriber<Value> = Subscriber::new("values")?;
    let any = DynamicType::of::<Value>();
    let mut bytes = any
        .builder("values_back")
        .qos(Qos::new().capacity(64))
        .publisher()?;
    println!("ready");
    // More than those after which a receive that does not wait gives up.
    for _ in 0..20 {
        for malformed in [&b"\xc1"[..], b"", b"\x81\x80\x01"] {
            bytes.send_bytes(malformed)?;
        }
    }
    let mut publisher: Publisher<Value> = Publisher::new("values_back")?;
    loop {
        let value = subscriber.recv_timeout(RECEIVE_TIMEOUT)?;
        publisher.send(&value)?;
        if value.is_nil() {
            return Ok(());
        }
    }
}

fn main() -> Result<()> {
    let relays = match std::env::args().nth(1).as_deref() {
        None => horus_core::standard_messages!(relays),
        Some("values") => return relay_values(),
        Some("imported") => vec![
            relay::<imported::Leg>()?,
            relay_framed::<imported::SonarHeader>()?,
        ],
        Some("lists") => vec![
            relay_framed::<LidarScanHeader>()?,
            relay_framed::<JointStateArrayHeader>()?,
        ],
        _ => vec![
            relay_framed::<ImageHeader>()?,
            relay_framed::<DepthImageHeader>()?,
            relay_framed::<CompressedImageHeader>()?,
            relay_framed::<SegmentationMaskHeader>()?,
            relay_framed::<PointCloudHeader>()?,
            relay_framed::<TensorHeader>()?,
            relay_framed::<OccupancyGridHeader>()?,
            relay_framed::<CostMapHeader>()?,
            relay_framed::<AudioFrameHeader>()?,
            relay_framed::<BytesHeader>()?,
            relay_framed::<SchedulerStatusHeader>()?,
            relay_framed::<LidarScanHeader>()?,
            relay_framed::<JointStateArrayHeader>()?,
            relay_framed::<LogLineHeader>()?,
        ],
    };
    println!("ready");
    relays.into_iter().try_for_each(|mut relay| relay())
}
