//! The ends of our channels.

use horus_core::channel::{direct, fanout, mpsc, spmc, spsc};

use super::{Word, full};
use crate::measure::payload::Corrupt;
use crate::transport::ends::{Draining, Rx, Tx};

tx!(direct::Sender<P>, |tx, message| tx.try_send(message).is_ok());
rx!(direct::Receiver<P>, |rx| rx.try_recv().ok());

macro_rules! ends {
    ($($module:ident),+) => {$(
        impl<P: Word> Tx<P> for $module::Sender<P> {
            #[inline(always)]
            fn send(&mut self, message: &P) -> bool {
                self.try_send_ref(message).is_ok() || full()
            }
        }

        impl<P: Word> Rx<P> for $module::Receiver<P> {
            #[inline(always)]
            fn recv(&mut self, message: &mut P) -> bool {
                self.try_recv_into(message).is_ok()
            }

            #[inline(always)]
            fn drain(
                &mut self,
                _message: &mut P,
                each: &mut impl FnMut(&P) -> Result<(), Corrupt>,
            ) -> Result<bool, Corrupt> {
                let mut draining = Draining::into(each);
                let messages = self.drain_in_place(|message| draining.enter(message));
                draining.end(messages)
            }

            fn lost(&self) -> u64 {
                0
            }
        }
    )+};
}

ends!(spsc, spmc, mpsc, fanout);
