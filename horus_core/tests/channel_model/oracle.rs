//! The channels, and an oracle of queues for any of them.

use std::collections::VecDeque;
use std::sync::Arc;

use fastrand::Rng;
use horus_core::channel::{TryRecvError, TrySendError, direct, fanout, mpsc, spmc, spsc};

use crate::counted::{Counted, Ledger};

/// A kind of channel with its properties, for the tests that every kind must pass.
pub(crate) trait Channel {
    /// True if every receiver gets every message.
    const BROADCASTS: bool;
    /// True if each sender has its own capacity.
    const LANES: bool;

    type Sender<T: Clone>;
    type Receiver<T: Clone>;

    fn channel<T: Clone>(capacity: usize) -> (Self::Sender<T>, Self::Receiver<T>);
    fn try_send<T: Clone>(tx: &mut Self::Sender<T>, message: T) -> Result<(), TrySendError<T>>;
    fn try_recv<T: Clone>(rx: &mut Self::Receiver<T>) -> Result<T, TryRecvError>;
    fn try_iter<T: Clone>(rx: &mut Self::Receiver<T>) -> Vec<T>;
    /// Returns `len`, `is_empty` and `capacity`.
    fn counts<T: Clone>(tx: &Self::Sender<T>) -> (usize, bool, usize);
    fn receiver_counts<T: Clone>(rx: &Self::Receiver<T>) -> (usize, bool, usize);

    fn another_sender<T: Clone>(_: &Self::Sender<T>) -> Option<Self::Sender<T>> {
        None
    }
    fn subscribe<T: Clone>(_: &Self::Sender<T>) -> Option<Self::Receiver<T>> {
        None
    }
    fn another_receiver<T: Clone>(_: &Self::Receiver<T>) -> Option<Self::Receiver<T>> {
        None
    }
}

macro_rules! channel {
    ($name:ident, $module:ident, $broadcasts:literal, $lanes:literal, { $($more:tt)* }) => {
        pub(crate) struct $name;

        impl Channel for $name {
            const BROADCASTS: bool = $broadcasts;
            const LANES: bool = $lanes;

            type Sender<T: Clone> = $module::Sender<T>;
            type Receiver<T: Clone> = $module::Receiver<T>;

            fn channel<T: Clone>(capacity: usize) -> (Self::Sender<T>, Self::Receiver<T>) {
                $module::channel(capacity)
            }
            fn try_send<T: Clone>(
                tx: &mut Self::Sender<T>,
                message: T,
            ) -> Result<(), TrySendError<T>> {
                tx.try_send(message)
            }
            fn try_recv<T: Clone>(rx: &mut Self::Receiver<T>) -> Result<T, TryRecvError> {
                rx.try_recv()
            }
            fn try_iter<T: Clone>(rx: &mut Self::Receiver<T>) -> Vec<T> {
                rx.try_iter().collect()
            }
            fn counts<T: Clone>(tx: &Self::Sender<T>) -> (usize, bool, usize) {
                (tx.len(), tx.is_empty(), tx.capacity())
            }
            fn receiver_counts<T: Clone>(rx: &Self::Receiver<T>) -> (usize, bool, usize) {
                (rx.len(), rx.is_empty(), rx.capacity())
            }
            $($more)*
        }
    };
}

channel!(Direct, direct, false, false, {});
channel!(Spsc, spsc, false, false, {});
channel!(Mpsc, mpsc, false, false, {
    fn another_sender<T: Clone>(tx: &Self::Sender<T>) -> Option<Self::Sender<T>> {
        Some(tx.clone())
    }
});
channel!(Spmc, spmc, true, false, {
    fn subscribe<T: Clone>(tx: &Self::Sender<T>) -> Option<Self::Receiver<T>> {
        tx.subscribe().ok()
    }
    fn another_receiver<T: Clone>(rx: &Self::Receiver<T>) -> Option<Self::Receiver<T>> {
        rx.try_clone().ok()
    }
});
channel!(Fanout, fanout, true, true, {
    fn another_sender<T: Clone>(tx: &Self::Sender<T>) -> Option<Self::Sender<T>> {
        tx.try_clone().ok()
    }
    fn subscribe<T: Clone>(tx: &Self::Sender<T>) -> Option<Self::Receiver<T>> {
        tx.subscribe().ok()
    }
    fn another_receiver<T: Clone>(rx: &Self::Receiver<T>) -> Option<Self::Receiver<T>> {
        rx.try_clone().ok()
    }
});

/// A sender and the lane that the oracle gave it.
struct Sending<C: Channel> {
    pub(crate) tx: C::Sender<Counted>,
    pub(crate) lane: usize,
}

/// A receiver and, by lane, the messages that it must still get according to the oracle.
struct Receiving<C: Channel> {
    pub(crate) rx: C::Receiver<Counted>,
    pub(crate) owed: Vec<VecDeque<u64>>,
}

/// A channel and the oracle.
pub(crate) struct Model<C: Channel> {
    pub(crate) rng: Rng,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) capacity: usize,
    pub(crate) number: u64,
    sending: Vec<Sending<C>>,
    receiving: Vec<Receiving<C>>,
}

/// The most endpoints of each side that the oracle supports.
const ENDPOINTS_MAX: usize = 5;

impl<C: Channel> Model<C> {
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let capacity = 1 + rng.usize(..if seed.is_multiple_of(2) { 4 } else { 40 });
        let (tx, rx) = C::channel(capacity);
        let receiving = vec![Receiving {
            rx,
            owed: vec![VecDeque::new(); ENDPOINTS_MAX],
        }];
        let sending = vec![Sending { tx, lane: 0 }];
        Self {
            rng,
            ledger: Ledger::new(),
            capacity,
            number: 0,
            sending,
            receiving,
        }
    }

    pub(crate) fn step(&mut self) {
        match self.rng.usize(..100) {
            0 => self.add_sender(),
            1 => self.add_receiver(),
            2 if self.rng.usize(..8) == 0 => self.remove_sender(),
            3 if self.rng.usize(..4) == 0 => self.remove_receiver(),
            4 => self.check_counts(),
            5 => self.receive_all(),
            // WHY: without long runs of one kind, a channel is never full and never empty.
            6..=52 => (0..=self.rng.usize(..3)).for_each(|_| self.send()),
            _ => (0..=self.rng.usize(..3)).for_each(|_| self.receive()),
        }
    }

    pub(crate) fn add_sender(&mut self) {
        let taken: Vec<_> = self.sending.iter().map(|sending| sending.lane).collect();
        let free = if C::LANES {
            (0..ENDPOINTS_MAX).find(|lane| !taken.contains(lane))
        } else {
            Some(0)
        };
        let Some(lane) = free.filter(|_| !self.sending.is_empty()) else {
            return;
        };
        let of = self.rng.usize(..self.sending.len());
        let tx = C::another_sender(&self.sending[of].tx);
        self.sending.extend(tx.map(|tx| Sending { tx, lane }));
    }

    pub(crate) fn add_receiver(&mut self) {
        let owed = vec![VecDeque::new(); ENDPOINTS_MAX];
        if self.receiving.len() == ENDPOINTS_MAX {
            return;
        }
        let rx = if self.rng.usize(..2) == 0 && !self.receiving.is_empty() {
            let of = self.rng.usize(..self.receiving.len());
            C::another_receiver(&self.receiving[of].rx)
        } else if self.sending.is_empty() {
            None
        } else {
            let of = self.rng.usize(..self.sending.len());
            C::subscribe(&self.sending[of].tx)
        };
        self.receiving.extend(rx.map(|rx| Receiving { rx, owed }));
    }

    pub(crate) fn remove_sender(&mut self) {
        if !self.sending.is_empty() {
            let of = self.rng.usize(..self.sending.len());
            self.sending.swap_remove(of);
        }
    }

    pub(crate) fn remove_receiver(&mut self) {
        if !self.receiving.is_empty() {
            let of = self.rng.usize(..self.receiving.len());
            self.receiving.swap_remove(of);
            let left = self.ledger.alive();
            assert!(
                C::BROADCASTS || left == 0,
                "{left} left after the only receiver"
            );
        }
    }

    pub(crate) fn send(&mut self) {
        if self.sending.is_empty() {
            return;
        }
        let of = self.rng.usize(..self.sending.len());
        let Sending { tx, lane } = &mut self.sending[of];
        let number = self.number;
        let lane = *lane;
        self.number += 1;
        let sent = C::try_send(tx, self.ledger.message(number));
        let is_full = |receiving: &Receiving<C>| receiving.owed[lane].len() == self.capacity;
        match sent {
            Ok(()) => {
                assert!(!self.receiving.is_empty() && !self.receiving.iter().any(is_full));
                self.receiving
                    .iter_mut()
                    .for_each(|r| r.owed[lane].push_back(number));
            }
            Err(TrySendError::Full(message)) => {
                assert!(self.receiving.iter().any(is_full));
                assert_eq!(message.number(), number);
            }
            Err(TrySendError::Disconnected(message)) => {
                assert!(self.receiving.is_empty());
                assert_eq!(message.number(), number);
            }
        }
    }

    pub(crate) fn receive(&mut self) {
        if self.receiving.is_empty() {
            return;
        }
        let of = self.rng.usize(..self.receiving.len());
        let Receiving { rx, owed } = &mut self.receiving[of];
        match C::try_recv(rx) {
            Ok(message) => take(owed, message.number()),
            Err(error) => {
                assert!(
                    owed.iter().all(VecDeque::is_empty),
                    "{error:?} with messages owed"
                );
                assert_eq!(error == TryRecvError::Disconnected, self.sending.is_empty());
            }
        }
    }

    pub(crate) fn receive_all(&mut self) {
        if self.receiving.is_empty() {
            return;
        }
        let of = self.rng.usize(..self.receiving.len());
        let Receiving { rx, owed } = &mut self.receiving[of];
        C::try_iter(rx)
            .iter()
            .for_each(|message| take(owed, message.number()));
        assert!(
            owed.iter().all(VecDeque::is_empty),
            "not all that was there"
        );
    }

    pub(crate) fn check_counts(&self) {
        for Receiving { rx, owed } in &self.receiving {
            let len = owed.iter().map(VecDeque::len).sum();
            assert_eq!(C::receiver_counts(rx), (len, len == 0, self.capacity));
        }
        for Sending { tx, lane } in &self.sending {
            let len = self
                .receiving
                .iter()
                .map(|r| r.owed[*lane].len())
                .max()
                .unwrap_or(0);
            assert_eq!(C::counts(tx), (len, len == 0, self.capacity));
        }
        let owed = |r: &Receiving<C>| r.owed.iter().map(VecDeque::len).sum::<usize>() as u64;
        let unreceived: u64 = self.receiving.iter().map(owed).sum();
        assert!(
            C::BROADCASTS || self.ledger.alive() == unreceived,
            "kept too long, or lost"
        );
    }

    /// Drops all endpoints, in random order.
    pub(crate) fn end(mut self) {
        while !self.sending.is_empty() || !self.receiving.is_empty() {
            if self.rng.usize(..2) == 0 {
                self.remove_sender()
            } else {
                self.remove_receiver()
            }
        }
        assert_eq!(self.ledger.alive(), 0, "forgotten");
    }
}

/// Takes a message off the oracle's queues: it must be the first of one of them.
pub(crate) fn take(owed: &mut [VecDeque<u64>], number: u64) {
    let lane = owed.iter_mut().find(|lane| lane.front() == Some(&number));
    lane.unwrap_or_else(|| panic!("{number} is not next"))
        .pop_front();
}
