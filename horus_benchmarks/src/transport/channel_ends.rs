//! Paths over our channels: both sides of one between threads, or both ends on one thread.

use horus_core::channel::{direct, fanout, mpsc, spmc, spsc};

use crate::transport::channels::{self, Sides};
use crate::transport::ends::{Both, InTurn};
use crate::transport::packet::{Packet, Packet16, Packet304, Packet1480};
use crate::transport::path::{CAPACITY, Path, Ring, Size};
use crate::transport::side::{self, OpenPathError, Side};

/// Messages that every channel holds.
const ROOM: usize = CAPACITY as usize;

const JOINED: &str = "there is room for two";

/// Opens both sides of a path over channels, there and back: the near one, and the one that is
/// handed to the far thread.
pub fn pair(path: Path) -> Result<Sides, OpenPathError> {
    match path.size {
        Size::Small => pair_of::<Packet16>(path),
        Size::Medium => pair_of::<Packet304>(path),
        Size::Large => pair_of::<Packet1480>(path),
        _ => Err(OpenPathError::NotThisWay(path)),
    }
}

/// Opens a path over one channel, for one thread that sends and receives.
pub fn looped(path: Path) -> Result<Box<dyn Side>, OpenPathError> {
    match path.size {
        Size::Small => loop_of::<Packet16>(path),
        Size::Medium => loop_of::<Packet304>(path),
        Size::Large => loop_of::<Packet1480>(path),
        _ => Err(OpenPathError::NotThisWay(path)),
    }
}

fn pair_of<P: Packet>(path: Path) -> Result<Sides, OpenPathError> {
    Ok(match path.ring {
        Ring::Spsc => channels::both::<P, _, _>(|| spsc::channel(ROOM)),
        Ring::Mpsc => channels::both::<P, _, _>(|| channels::cloned(mpsc::channel(ROOM))),
        Ring::Spmc => channels::both::<P, _, _>(|| {
            let (sender, receiver) = spmc::channel(ROOM);
            let other = receiver.try_clone().expect(JOINED);
            (sender, Both::new([receiver, other]))
        }),
        Ring::Fanout => channels::both::<P, _, _>(|| {
            let (sender, receiver) = fanout::channel(ROOM);
            let other = (sender.try_clone().expect(JOINED), receiver.try_clone().expect(JOINED));
            (InTurn::new([sender, other.0]), Both::new([receiver, other.1]))
        }),
        _ => return Err(OpenPathError::NotThisWay(path)),
    })
}

fn loop_of<P: Packet>(path: Path) -> Result<Box<dyn Side>, OpenPathError> {
    Ok(match path.ring {
        Ring::Direct => {
            let (sender, receiver) = direct::channel::<P>(ROOM);
            side::joined_here::<P, _, _>(sender, receiver)
        }
        Ring::Spsc => {
            let (sender, receiver) = spsc::channel::<P>(ROOM);
            side::joined_here::<P, _, _>(sender, receiver)
        }
        _ => return Err(OpenPathError::NotThisWay(path)),
    })
}
