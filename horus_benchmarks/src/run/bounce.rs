//! The two ends of the floor: one writes a word to shared memory, the other polls it and answers.

use std::sync::atomic;

use serde::{Deserialize, Serialize};

use crate::measure::endpoint::Endpoint;
use crate::measure::lines::{SharedCacheLine, SharedCacheLines};
use crate::measure::payload::SeqMessage;
use crate::measure::tsc::TickSource;
use crate::measure::wait::OtherEndWatch;
use crate::measure::workload::{
    RoundPlan, RoundResult, TimedPart, WorkloadError, run_echoing_end, run_measuring_end,
};

/// The choice of the cache lines that the two ends of the floor write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FloorCacheLines {
    /// Both ends write the same word, in turn.
    One,
    /// Each end writes a word in a different line. Ratios to the floor are computed with this
    /// variant.
    Two,
}

/// Maximum number of `pause` instructions between two polls. The floor tries every number from 0.
pub const PAUSES_AFTER_POLL_MAX: u32 = 3;

/// The description of one round of the floor, which both ends get.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the types say it")]
pub struct FloorJob {
    pub lines: FloorCacheLines,
    /// Number of `pause` instructions after each load that found nothing new, at most
    /// [`PAUSES_AFTER_POLL_MAX`].
    pub pauses: u32,
    pub plan: RoundPlan,
    pub source: TickSource,
}

/// The end of the floor that a side runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FloorEndRole {
    /// The measuring end.
    Near,
    /// The echoing end.
    Far,
}

/// Runs one end of a round. The other end must have the same job, and all words of the lines must
/// be 0 at the beginning.
pub fn run_floor_end(
    role: FloorEndRole,
    memory: &SharedCacheLines,
    job: &FloorJob,
    watch: &OtherEndWatch,
) -> Result<RoundResult, WorkloadError> {
    // WHY a constant: each number of pauses has a loop of its own, without another branch.
    match job.pauses {
        0 => run_end_with_pauses::<0>(role, memory, job, watch),
        1 => run_end_with_pauses::<1>(role, memory, job, watch),
        2 => run_end_with_pauses::<2>(role, memory, job, watch),
        _ => run_end_with_pauses::<PAUSES_AFTER_POLL_MAX>(role, memory, job, watch),
    }
}

fn run_end_with_pauses<const PAUSES: u32>(
    role: FloorEndRole,
    memory: &SharedCacheLines,
    FloorJob {
        lines,
        plan,
        source,
        ..
    }: &FloorJob,
    watch: &OtherEndWatch,
) -> Result<RoundResult, WorkloadError> {
    let end = &mut FloorEnd::<PAUSES>::new(memory, *lines, role);
    match (role, plan.timing) {
        (FloorEndRole::Near, TimedPart::OneWay) => {
            run_measuring_end::<[u64; 2]>(end, plan, *source, watch)
        }
        (FloorEndRole::Near, _) => run_measuring_end::<SeqMessage>(end, plan, *source, watch),
        (FloorEndRole::Far, TimedPart::OneWay) => {
            run_echoing_end::<[u64; 2]>(end, plan, *source, watch)
        }
        (FloorEndRole::Far, _) => run_echoing_end::<SeqMessage>(end, plan, *source, watch),
    }
}

/// One end of the floor. The line that it writes and the line that it watches may be the same.
struct FloorEnd<'a, const PAUSES: u32> {
    out: &'a SharedCacheLine,
    back: &'a SharedCacheLine,
    /// The lowest bit of every word that this end writes, which distinguishes the two ends.
    side_bit: u64,
    one_line: bool,
    /// The value of the watched word while there is no new message.
    last_word: u64,
}

impl<'a, const PAUSES: u32> FloorEnd<'a, PAUSES> {
    fn new(memory: &'a SharedCacheLines, lines: FloorCacheLines, end: FloorEndRole) -> Self {
        let (first, second) = match lines {
            FloorCacheLines::One => (memory.line(0), memory.line(0)),
            FloorCacheLines::Two => (memory.line(0), memory.line(1)),
        };
        let (out, back) = match end {
            FloorEndRole::Near => (first, second),
            FloorEndRole::Far => (second, first),
        };
        FloorEnd {
            out,
            back,
            side_bit: u64::from(end == FloorEndRole::Far),
            one_line: lines == FloorCacheLines::One,
            last_word: 0,
        }
    }

    #[inline(always)]
    fn load_new_word(&mut self) -> Option<u64> {
        // ORDERING(floor): Acquire. Pairs with the Release in `store_word`: a side that sees the
        // word sees what was written before it, as the reader of a ring must.
        let word = self.back.words[0].load(atomic::Ordering::Acquire);
        if word == self.last_word {
            for _ in 0..PAUSES {
                std::hint::spin_loop();
            }
            return None;
        }
        self.last_word = word;
        Some(word)
    }

    #[inline(always)]
    fn store_word(&mut self, word: u64) {
        if self.one_line {
            self.last_word = word;
        }
        // ORDERING(floor): Release. Pairs with the Acquire in `load_new_word`.
        self.out.words[0].store(word, atomic::Ordering::Release);
    }
}

impl<const PAUSES: u32> Endpoint<SeqMessage> for FloorEnd<'_, PAUSES> {
    #[inline(always)]
    fn send(&mut self, message: &SeqMessage) -> bool {
        self.store_word(message.0 << 1 | self.side_bit);
        true
    }

    #[inline(always)]
    fn recv(&mut self, message: &mut SeqMessage) -> bool {
        self.load_new_word()
            .map(|word| *message = SeqMessage(word >> 1))
            .is_some()
    }
}

/// Messages with a stamp, which is in the second word of the line. This works only with two lines.
impl<const PAUSES: u32> Endpoint<[u64; 2]> for FloorEnd<'_, PAUSES> {
    #[inline(always)]
    fn send(&mut self, message: &[u64; 2]) -> bool {
        // Relaxed: published by the Release in `store_word`.
        self.out.words[1].store(message[1], atomic::Ordering::Relaxed);
        self.store_word(message[0]);
        true
    }

    #[inline(always)]
    fn recv(&mut self, message: &mut [u64; 2]) -> bool {
        let Some(word) = self.load_new_word() else {
            return false;
        };
        // Relaxed: ordered by the Acquire in `load_new_word`; the other end writes again only after
        // an answer.
        *message = [word, self.back.words[1].load(atomic::Ordering::Relaxed)];
        true
    }
}
