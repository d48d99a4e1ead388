//! The route of a victim through one call, and the short way to any point of it.
//!
//! Every stop costs two switches between processes. So the first victim is stepped all the way and
//! its route is recorded; later victims run to a breakpoint close to their point.

use super::{Stop, Victim};

/// The greatest distance from the mark of an address that belongs to the test binary: such an
/// address has the same distance in every process.
const OWN_CODE_BYTES: i64 = 1 << 27;
/// The cost of one pass of a breakpoint, in steps.
const PASS_STEPS: u64 = 3;
const BREAKPOINT: i64 = 0xcc;

/// The place of a victim after each number of instructions, from the mark at which the call begins.
pub struct Route {
    /// The distance from the mark, and the number of times that the route has passed here; `None`
    /// outside of the test binary, and for the mark itself.
    places: Vec<Option<(i64, u64)>>,
}

impl Route {
    /// Steps `victim` from its mark to the next, and calls `look` with the number of each
    /// instruction that was executed. Ends before the mark if `look` returns false.
    pub fn record(victim: &mut Victim, mut look: impl FnMut(u64) -> bool) -> Self {
        let origin = victim.instruction_pointer();
        let mut distances: Vec<i64> = Vec::new();
        let mut passes = std::collections::HashMap::new();
        let mut places = vec![None];
        while victim.step(1) == 1 {
            let distance = victim.instruction_pointer() - origin;
            distances.push(distance);
            let count = passes.entry(distance).or_insert(0_u64);
            *count += 1;
            let is_own = distance != 0 && distance.abs() < OWN_CODE_BYTES;
            places.push(is_own.then_some((distance, *count)));
            if !look(distances.len() as u64) {
                break;
            }
        }
        Self { places }
    }

    /// Returns the number of instructions from mark to mark.
    pub fn instructions(&self) -> u64 {
        self.places.len() as u64 - 1
    }

    /// Takes a victim from its mark to the point after `count` instructions; returns false if it
    /// came to the next mark instead.
    pub fn follow(&self, victim: &mut Victim, count: u64) -> bool {
        let mut best = (count, 0);
        for from in (1..=count).rev() {
            if count - from >= best.0 {
                break;
            }
            if let Some((_, passes)) = self.places[from as usize] {
                best = best.min((count - from + PASS_STEPS * passes, from));
            }
        }
        let from = best.1;
        if let Some((distance, passes)) = self.places[from as usize]
            && !run_to(victim, victim.instruction_pointer() + distance, passes)
        {
            return false;
        }
        victim.step(count - from) == count - from
    }
}

/// Runs until `address` is reached for the `passes`-th time; returns false if a mark comes first.
fn run_to(victim: &mut Victim, address: i64, passes: u64) -> bool {
    for pass in 1..=passes {
        let code = victim.peek(address);
        victim.poke(address, code & !0xff | BREAKPOINT);
        victim.run_to_mark();
        victim.poke(address, code);
        if victim.instruction_pointer() != address + 1 {
            return false;
        }
        victim.set_instruction_pointer(address);
        if pass < passes {
            assert_eq!(victim.stop_after_one(), Stop::Step);
        }
    }
    true
}
