//! The ends of our channels.

use horus_core::channel::{direct, fanout, mpsc, spmc, spsc};

use super::Word;
use crate::ends::{Rx, Tx};

macro_rules! ends {
    ($($module:ident),+) => {$(
        impl<P: Word> Tx<P> for $module::Sender<P> {
            #[inline(always)]
            fn send(&mut self, message: &P) -> bool {
                self.try_send(*message).is_ok() || super::full()
            }
        }

        impl<P: Word> Rx<P> for $module::Receiver<P> {
            #[inline(always)]
            fn recv(&mut self, message: &mut P) -> bool {
                self.try_recv().map(|found| *message = found).is_ok()
            }

            fn lost(&self) -> u64 {
                0
            }
        }
    )+};
}

ends!(direct, spsc, spmc, mpsc, fanout);
