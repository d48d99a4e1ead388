//! The ends of channels between threads, and both sides of a path that is made of them.

use horus_core::channel::{direct, fanout, mpsc, spmc, spsc};

use crate::ends::{Both, InTurn, Rx, Tx};
use crate::packet::{Packet, Packet16, Packet304, Packet1480};
use crate::path::{CAPACITY, Path, Ring, Size};
use crate::side::{self, OpenPathError, Side};

/// Both sides of a path: the near one, and the one that is handed to the far thread.
pub type Sides = (Box<dyn Side + Send>, Box<dyn Side + Send>);

macro_rules! ends {
    ($($channel:ident),+) => {$(
        impl<P: Packet> Tx<P> for $channel::Sender<P> {
            #[inline(always)]
            fn send(&mut self, message: &P) -> bool {
                self.try_send(*message).is_ok()
            }
        }

        impl<P: Packet> Rx<P> for $channel::Receiver<P> {
            #[inline(always)]
            fn recv(&mut self, message: &mut P) -> bool {
                self.try_recv().map(|received| *message = received).is_ok()
            }

            /// Channels lose nothing.
            fn lost(&self) -> Option<u64> {
                Some(0)
            }
        }
    )+};
}

ends!(direct, spsc, spmc, mpsc, fanout);

/// Opens both sides of a path over channels, there and back.
///
/// # Errors
///
/// [`OpenPathError::NoChannel`] if the path is not one between threads, or the message is not one
/// of [`Size::ALL`].
pub fn pair(path: Path) -> Result<Sides, OpenPathError> {
    match path.size {
        Size::Small => pair_of::<Packet16>(path),
        Size::Medium => pair_of::<Packet304>(path),
        Size::Large => pair_of::<Packet1480>(path),
        _ => Err(OpenPathError::NoChannel(path)),
    }
}

/// Opens a path over one channel, for one thread that sends and receives.
///
/// # Errors
///
/// As [`pair`].
pub fn looped(path: Path) -> Result<Box<dyn Side>, OpenPathError> {
    match path.size {
        Size::Small => loop_of::<Packet16>(path),
        Size::Medium => loop_of::<Packet304>(path),
        Size::Large => loop_of::<Packet1480>(path),
        _ => Err(OpenPathError::NoChannel(path)),
    }
}

fn pair_of<P: Packet>(path: Path) -> Result<Sides, OpenPathError> {
    let room = CAPACITY as usize;
    Ok(match path.ring {
        Ring::Spsc => joined::<P, _, _>(|| Ok(spsc::channel::<P>(room)))?,
        Ring::Mpsc => joined::<P, _, _>(|| {
            let (sender, receiver) = mpsc::channel::<P>(room);
            Ok((InTurn::new([sender.clone(), sender]), receiver))
        })?,
        Ring::Spmc => joined::<P, _, _>(|| {
            let (sender, receiver) = spmc::channel::<P>(room);
            let second = sender.subscribe()?;
            Ok((sender, Both::new([receiver, second])))
        })?,
        Ring::Fanout => joined::<P, _, _>(|| {
            let (sender, receiver) = fanout::channel::<P>(room);
            let second = receiver.try_clone()?;
            Ok((InTurn::new([sender.try_clone()?, sender]), Both::new([receiver, second])))
        })?,
        _ => return Err(OpenPathError::NoChannel(path)),
    })
}

/// Two channels make two sides: each has the sending end of one and the receiving end of the other.
fn joined<P, T, R>(
    channel: impl Fn() -> Result<(T, R), OpenPathError>,
) -> Result<Sides, OpenPathError>
where
    P: Packet,
    T: Tx<P> + Send + 'static,
    R: Rx<P> + Send + 'static,
{
    let ((there, arrives), (back, returns)) = (channel()?, channel()?);
    Ok((side::joined::<P, _, _>(there, returns), side::joined::<P, _, _>(back, arrives)))
}

fn loop_of<P: Packet>(path: Path) -> Result<Box<dyn Side>, OpenPathError> {
    let room = CAPACITY as usize;
    Ok(match path.ring {
        Ring::Direct => {
            let (sender, receiver) = direct::channel::<P>(room);
            side::joined_here::<P, _, _>(sender, receiver)
        }
        Ring::Spsc => {
            let (sender, receiver) = spsc::channel::<P>(room);
            side::joined_here::<P, _, _>(sender, receiver)
        }
        Ring::Mpsc => {
            let (sender, receiver) = mpsc::channel::<P>(room);
            side::joined_here::<P, _, _>(sender, receiver)
        }
        Ring::Fanout => {
            let (sender, receiver) = fanout::channel::<P>(room);
            side::joined_here::<P, _, _>(sender, receiver)
        }
        _ => return Err(OpenPathError::NoChannel(path)),
    })
}
