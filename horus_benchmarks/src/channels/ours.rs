//! The ends of our channels.

use horus_core::channel::{direct, fanout, mpsc, spmc, spsc};

use super::Word;
use crate::ends::{Draining, Rx, Tx};
use crate::payload::Corrupt;

macro_rules! ends {
    ($($module:ident $([$drain:path])?),+) => {$(
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

            $(
                #[inline(always)]
                fn drain(
                    &mut self,
                    _message: &mut P,
                    each: &mut impl FnMut(&P) -> Result<(), Corrupt>,
                ) -> Result<bool, Corrupt> {
                    let mut draining = Draining::into(each);
                    let messages = $drain(self, |message| draining.enter(&message));
                    draining.end(messages)
                }
            )?

            fn lost(&self) -> u64 {
                0
            }
        }
    )+};
}

ends!(
    direct,
    spsc[spsc::Receiver::drain],
    spmc[spmc::Receiver::drain],
    mpsc[mpsc::Receiver::drain],
    fanout[fanout::Receiver::drain]
);
