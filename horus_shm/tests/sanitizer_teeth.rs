//! Bugs on purpose: each sanitizer finds the bugs that it is made for, and reports nothing in their
//! sound twins. A sanitizer that cannot fail proves nothing.
//!
//! Only `.ci/sanitizers` builds this file, once with each of them.

#![cfg(any(
    horus_sanitizer = "address",
    horus_sanitizer = "thread",
    horus_sanitizer = "realtime"
))]
#![cfg_attr(horus_sanitizer = "realtime", feature(sanitize))]

use horus_testing as _;

mod common;
mod spawn;

use common::{outcome, result, role};

/// A bug that a child commits, and the words that the sanitizer must report; none for a sound twin.
struct Bite {
    role: &'static str,
    bug: fn(),
    said: &'static [&'static str],
}

/// Not a test: entry point of the re-executed child process, which commits a bug.
#[test]
fn child_role() {
    let Some(role) = role() else { return };
    (bites().iter().find(|bite| bite.role == role).unwrap().bug)();
}

#[test]
fn the_sanitizer_bites() {
    for Bite { role, said, .. } in bites() {
        let dir = spawn::shm_dir();
        let outcome = outcome(role, dir.path());
        let errors = String::from_utf8_lossy(&outcome.stderr);
        assert_eq!(
            outcome.status.success(),
            said.is_empty(),
            "{role}: {errors}"
        );
        for words in *said {
            assert!(errors.contains(words), "{role}: no '{words}' in: {errors}");
        }
        let found = if said.is_empty() { "nothing" } else { said[0] };
        result(&format!("sanitizer_teeth/{role}"), format!("found {found}"));
    }
}

#[cfg(horus_sanitizer = "address")]
fn bites() -> &'static [Bite] {
    &[
        Bite {
            role: "lane_in_bounds",
            bug: || address::write_a_lap(4),
            said: &[],
        },
        Bite {
            role: "lane_out_of_bounds",
            bug: || address::write_a_lap(3),
            said: &[
                "heap-buffer-overflow",
                "horus_shm/src/protocol/lane/writer.rs",
            ],
        },
        Bite {
            role: "block_of_a_segment_that_is_gone",
            bug: address::keep_a_block,
            said: &["heap-use-after-free"],
        },
    ]
}

#[cfg(horus_sanitizer = "address")]
mod address {
    use std::sync::atomic::{AtomicU64, Ordering};

    use horus_shm::internals::TopicBlocks as _;
    use horus_shm::internals::identity::TypeIdentity;
    use horus_shm::internals::lane::LaneWriter;
    use horus_shm::internals::layout::LaneBlock;
    use horus_shm::internals::layout::WaitBlock;
    use horus_shm::internals::memory::{RawLane, RawLaneParts, ReaderBlocks};
    use horus_shm::{Access, Request, Segment, TypeInfo};

    #[repr(C, align(64))]
    #[derive(Clone, Copy)]
    struct Slot([u8; 64]);

    /// Writes one lap of a lane of four slots, which has memory for `slots`.
    pub(crate) fn write_a_lap(slots: usize) {
        let mut slots = vec![Slot([0; 64]); slots];
        let block = LaneBlock::<AtomicU64>::default();
        let wait = WaitBlock::<AtomicU64>::default();
        // SAFETY: there is a wait block, and no reader.
        let readers = unsafe { ReaderBlocks::new(&raw const wait, std::ptr::null(), 0, 0) };
        let parts = RawLaneParts {
            slots: slots.as_mut_ptr().cast(),
            stride: 64,
            capacity: 4,
            block: &raw const block,
            base: 0,
            generation: 0,
            lane: 0,
            type_identity: &TypeIdentity::NONE,
            readers,
        };
        // SAFETY: sound with four slots; with fewer it is the bug to be found.
        let mut writer = LaneWriter::new(unsafe { RawLane::new(parts) }, 0, true);
        let message = [7_u64; 4];
        for _ in 0..4 {
            // SAFETY: the message has 32 bytes, and this is the only writer.
            unsafe { writer.write(message.as_ptr().cast(), 32) }.unwrap();
        }
    }

    /// Reads a lane's block after its segment was dropped.
    pub(crate) fn keep_a_block() {
        let segment = Segment::heap(&Request::new(TypeInfo::opaque::<u64>())).unwrap();
        let block: *const LaneBlock<AtomicU64> = segment.lane_block(0, Access::Read).unwrap();
        drop(segment);
        // SAFETY: none: the segment is gone. It is the bug to be found.
        let head = unsafe { &(*block).head };
        std::hint::black_box(head.load(Ordering::Relaxed));
    }
}

#[cfg(horus_sanitizer = "thread")]
fn bites() -> &'static [Bite] {
    &[
        Bite {
            role: "copies_of_words",
            bug: thread::stream::<true>,
            said: &[],
        },
        Bite {
            role: "plain_copies",
            bug: thread::stream::<false>,
            said: &["data race", "horus_shm/src/protocol/lane/writer.rs"],
        },
    ]
}

#[cfg(horus_sanitizer = "thread")]
mod thread {
    use std::cell::UnsafeCell;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use horus_shm::internals::copy::{self, PrefetchIntent};
    use horus_shm::internals::lane::{LaneReader, LaneWriter, PollOutcome};
    use horus_shm::internals::layout::LaneBlock;
    use horus_shm::internals::memory::LaneMemory;
    use horus_shm::internals::sync::Edge;

    const MESSAGES: u64 = 200;

    #[derive(Debug, Default)]
    struct Slot {
        payload: UnsafeCell<[u64; 4]>,
        stamp: AtomicU64,
    }

    #[derive(Debug, Default)]
    struct Parts {
        block: LaneBlock<AtomicU64>,
        gated: AtomicU64,
        cursor: AtomicU64,
        slots: [Slot; 2],
    }

    // SAFETY: sound if the payloads are copied by racing words; otherwise it is the bug to be
    // found.
    unsafe impl Sync for Parts {}

    /// An open lane whose payloads are copied by racing words, or by plain copies.
    #[derive(Debug, Clone, Default)]
    struct Lane<const WORDS: bool>(Arc<Parts>);

    impl<const WORDS: bool> Lane<WORDS> {
        fn payload(&self, index: u64) -> *mut u8 {
            self.0.slots[index as usize].payload.get().cast()
        }
    }

    impl<const WORDS: bool> LaneMemory for Lane<WORDS> {
        type Word = AtomicU64;

        fn capacity(&self) -> u64 {
            2
        }

        fn block(&self) -> &LaneBlock<AtomicU64> {
            &self.0.block
        }

        fn stamp(&self, index: u64) -> &AtomicU64 {
            &self.0.slots[index as usize].stamp
        }

        fn reader_limit(&self) -> u32 {
            1
        }

        fn gated_reader_mask(&self) -> &AtomicU64 {
            &self.0.gated
        }

        fn cursor(&self, _reader: u32) -> &AtomicU64 {
            &self.0.cursor
        }

        unsafe fn store_racing(&self, index: u64, src: *const u8, bytes: usize) {
            let dst = self.payload(index);
            if WORDS {
                // SAFETY: the caller's `src` is readable for `bytes`; a payload is 8-aligned words.
                unsafe { copy::copy_to_shared(dst, src, bytes) }
            } else {
                // SAFETY: none: a reader may be in the slot. It is the bug to be found.
                unsafe { dst.copy_from_nonoverlapping(src, bytes) }
            }
        }

        unsafe fn load_racing(&self, index: u64, dst: *mut u8, bytes: usize) {
            let src = self.payload(index);
            if WORDS {
                // SAFETY: the caller's `dst` is writable for `bytes`; a payload is 8-aligned words.
                unsafe { copy::copy_from_shared(dst, src, bytes) }
            } else {
                // SAFETY: none: the writer may be in the slot. It is the bug to be found.
                unsafe { dst.copy_from_nonoverlapping(src, bytes) }
            }
        }

        unsafe fn store_exclusive(&self, _index: u64, _src: *const u8, _bytes: usize) {
            unreachable!("an open lane")
        }

        unsafe fn load_exclusive(&self, _index: u64, _dst: *mut u8, _bytes: usize) {
            unreachable!("an open lane")
        }

        fn fence(&self, edge: Edge) {
            std::sync::atomic::fence(edge.ordering);
        }

        fn prefetch(&self, _index: u64, _intent: PrefetchIntent) {}
    }

    /// Streams through the lane from thread to thread. Each slot is written again after it was
    /// read, so messages are whole either way; but no ordering tells the language that it was read
    /// before.
    pub(crate) fn stream<const WORDS: bool>() {
        let lane = Lane::<WORDS>::default();
        let mut reader = LaneReader::new(lane.clone(), 0, 0);
        let read = &AtomicU64::new(0);
        std::thread::scope(|scope| {
            let writing = scope.spawn(move || {
                let mut writer = LaneWriter::new(lane, 0, false);
                for number in 0..MESSAGES {
                    // WHY Relaxed: this load must order nothing.
                    while number >= read.load(Ordering::Relaxed) + 2 {
                        std::thread::yield_now();
                    }
                    let message = [number; 4];
                    // SAFETY: the message has 32 bytes, and this is the only writer.
                    unsafe { writer.write(message.as_ptr().cast(), 32) }.unwrap();
                }
            });
            while reader.position() < MESSAGES {
                let mut message = [0_u64; 4];
                // SAFETY: there is room for 32 bytes.
                let polled = unsafe { reader.read(message.as_mut_ptr().cast(), 32) };
                assert!(
                    polled != PollOutcome::Message || message == [message[0]; 4],
                    "torn"
                );
                read.store(reader.position(), Ordering::Relaxed);
                std::thread::yield_now();
            }
            // WHY: ThreadSanitizer understands a join, but not the end of a scope.
            writing.join().unwrap();
        });
    }
}

#[cfg(horus_sanitizer = "realtime")]
fn bites() -> &'static [Bite] {
    &[
        Bite {
            role: "arithmetic",
            bug: realtime::reckon,
            said: &[],
        },
        Bite {
            role: "allocation",
            bug: realtime::allocate,
            said: &["`malloc`"],
        },
        Bite {
            role: "lock",
            bug: realtime::lock,
            said: &["`pthread_mutex_lock`"],
        },
        // The documented exception: a receiver maps the lane of a publisher that came later.
        Bite {
            role: "first_look_at_a_lane",
            bug: realtime::look_for_the_first_time,
            said: &[
                "unsafe-library-call",
                "horus_shm/src/endpoint/consumer/raw.rs",
            ],
        },
    ]
}

#[cfg(horus_sanitizer = "realtime")]
mod realtime {
    use std::hint::black_box;

    use horus_shm::{Consumer, FanoutShm, RingOptions};

    #[sanitize(realtime = "nonblocking")]
    pub(crate) fn reckon() {
        black_box(black_box(6) * black_box(7));
    }

    #[sanitize(realtime = "nonblocking")]
    pub(crate) fn allocate() {
        black_box(Box::new(black_box(7)));
    }

    #[sanitize(realtime = "nonblocking")]
    pub(crate) fn lock() {
        let mut mutex = libc::PTHREAD_MUTEX_INITIALIZER;
        // SAFETY: the mutex is initialised and stays where it is.
        unsafe { libc::pthread_mutex_lock(&raw mut mutex) };
        // SAFETY: as above; this thread has locked it.
        unsafe { libc::pthread_mutex_unlock(&raw mut mutex) };
    }

    #[sanitize(realtime = "nonblocking")]
    fn recv(consumer: &mut Consumer<u64>) -> Option<u64> {
        consumer.recv()
    }

    pub(crate) fn look_for_the_first_time() {
        let namespace = crate::spawn::inherited_namespace();
        let ring = FanoutShm::<u64>::create(&namespace, "new", &RingOptions::default()).unwrap();
        let mut consumer = ring.consumer().unwrap();
        let _producer = ring.producer().unwrap();
        assert_eq!(recv(&mut consumer), None);
    }
}
