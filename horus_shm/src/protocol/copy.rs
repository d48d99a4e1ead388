//! Copies into and out of shared slots while another process may access the same slot.
//!
//! If a peer may access the slot during a copy, the copy is a data race unless it consists of
//! atomic accesses. Up to [`WORD_COPY_BYTES_MAX`] a copy is a few relaxed 64-bit atomic accesses,
//! which the compiler keeps in registers. A longer copy is written in assembly, which the compiler
//! treats as an opaque sequence of relaxed accesses; [`Tuning`](super::tuning::Tuning) selects the
//! routine. With `--cfg horus_word_copies` (for miri and sanitizers), and on CPUs other than
//! x86-64, every copy consists of 64-bit atomic accesses.

use core::sync::atomic::{AtomicU64, Ordering};

/// Maximum length in bytes of a copy that is made by a few 64-bit atomic accesses, without a loop.
pub const WORD_COPY_BYTES_MAX: usize = 64;

/// Size of a motor command, in bytes. Code that knows message lengths only at run time has a
/// separate branch for this size. The length is a constant there, which makes a send and a receive
/// together 8 ns faster.
pub(crate) const FAST_PATH_MESSAGE_BYTES: usize = 16;

const WORD_BYTES: usize = size_of::<u64>();

pub(crate) const CACHE_LINE_BYTES: usize = 64;

/// Maximum number of cache lines that are prefetched before a message is copied out of a slot.
const COPY_PREFETCH_LINES_MAX: usize = 32;

/// Copies `bytes` bytes of private memory at `src` into the shared slot at `dst`.
///
/// # Safety
///
/// * `src` is readable for `bytes` bytes, and no other thread writes them.
/// * `dst` is 8-aligned and writable for `bytes` rounded up to 8; all other code that accesses it
///   during the call does so through this module.
#[inline(always)]
pub unsafe fn copy_to_shared(dst: *mut u8, src: *const u8, bytes: usize) {
    if bytes > WORD_COPY_BYTES_MAX {
        // SAFETY: `src` and `dst` are valid for `bytes` bytes by the contract; `bytes` is more than
        // 64.
        unsafe { long_copy::copy(dst, src, bytes, SharedSide::Destination) }
    } else {
        // SAFETY: `src` and `dst` are valid for `bytes` bytes by the contract.
        unsafe { copy_words_to_shared(dst, src, bytes) }
    }
}

/// Copies `bytes` bytes of the shared slot at `src` into private memory at `dst`.
///
/// The copy may be torn (half old, half new), so the caller has to check the slot's stamp before it
/// uses the copy.
///
/// # Safety
///
/// * `dst` is writable for `bytes` bytes, and no other thread touches them.
/// * `src` is 8-aligned and readable for `bytes` rounded up to 8; all other code that writes it
///   during the call does so through this module.
#[inline(always)]
pub unsafe fn copy_from_shared(dst: *mut u8, src: *const u8, bytes: usize) {
    if bytes > WORD_COPY_BYTES_MAX {
        let lines = bytes.div_ceil(CACHE_LINE_BYTES);
        // WHY: recently written lines come from another core, as many at a time as are prefetched,
        // and the next cache level need not keep them. 1480 B one way between two cores: 525 -> 475
        // ns. With more than `COPY_PREFETCH_LINES_MAX` lines it is slower.
        if lines <= COPY_PREFETCH_LINES_MAX {
            prefetch_lines(src, lines, PrefetchIntent::ReadOnce);
        }
        // SAFETY: `dst` and `src` are valid for `bytes` bytes by the contract; `bytes` is more than
        // 64.
        unsafe { long_copy::copy(dst, src, bytes, SharedSide::Source) }
    } else {
        // SAFETY: `dst` and `src` are valid for `bytes` bytes by the contract.
        unsafe { copy_words_from_shared(dst, src, bytes) }
    }
}

/// The purpose of a prefetch. It decides into which cache a cache line is fetched, and in what
/// state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrefetchIntent {
    /// The line will be read. Other caches keep their copies of it.
    Read,
    /// The line will be read once, and then not again until another core has written it.
    ReadOnce,
    /// The line will be written. Other caches lose their copies of it.
    Write,
    /// Another core will read the line next. The line moves to a cache that several cores share.
    Demote,
}

/// Prefetches `lines` cache lines, the first of which contains `first`. It is only a hint to the
/// CPU, so it never faults.
#[inline(always)]
pub fn prefetch_lines(first: *const u8, lines: usize, intent: PrefetchIntent) {
    prefetch_line(first, intent);
    for line in 1..lines {
        prefetch_line(first.wrapping_add(line * CACHE_LINE_BYTES), intent);
    }
}

/// Returns the CPU's time stamp counter (a count of ticks), or 0 if the CPU has none. Costs some 10
/// ns.
#[inline(always)]
pub fn counter_ticks() -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: every x86-64 has the instruction. It traps only if the process itself has forbidden
    // it by prctl.
    return unsafe { core::arch::x86_64::_rdtsc() };
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    0
}

/// Maximum number of cache lines that a waiting reader prefetches for one message: about as many as
/// a core can request at a time.
const AWAITED_PREFETCH_LINES_MAX: u64 = 12;

/// Returns true if a reader that waits for a message of `lines` cache lines, in any of `lanes`
/// lanes, should prefetch all these lines while it waits.
///
/// WHY: a reader that polls only the stamp fetches the stamp's line when the message has arrived,
/// and only then the other lines: two transfers in a row. Latency between threads on two cores,
/// without -> with prefetch: 128 B 215 -> 160 ns, 256 B 270 -> 180, 384 B 300 -> 205, 768 B 340 ->
/// 300; messages of 1 KiB and more do not become faster. In a slot of one line, the stamp's line is
/// the only one.
#[inline(always)]
pub(crate) const fn is_prefetch_worthwhile(lines: u64, lanes: usize) -> bool {
    lines > 1 && lines * lanes as u64 <= AWAITED_PREFETCH_LINES_MAX
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
fn prefetch_line(line: *const u8, intent: PrefetchIntent) {
    use core::arch::asm;
    match intent {
        // SAFETY: PREFETCHT0 changes no register and no memory and ignores bad addresses.
        PrefetchIntent::Read => unsafe {
            asm!("prefetcht0 [{}]", in(reg) line, options(nostack, preserves_flags));
        },
        // SAFETY: as above.
        PrefetchIntent::ReadOnce => unsafe {
            asm!("prefetchnta [{}]", in(reg) line, options(nostack, preserves_flags));
        },
        // SAFETY: CLDEMOTE changes no register and no memory, and is a no-op on CPUs without it.
        PrefetchIntent::Demote => unsafe {
            asm!("cldemote [{}]", in(reg) line, options(nostack, preserves_flags));
        },
        // SAFETY: as above; a 64-bit x86 either has PREFETCHW or takes its encoding for a no-op.
        PrefetchIntent::Write => unsafe {
            asm!("prefetchw [{}]", in(reg) line, options(nostack, preserves_flags));
        },
    }
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
#[inline(always)]
const fn prefetch_line(_line: *const u8, _intent: PrefetchIntent) {}

/// The side of a copy that other threads may access during the copy: its source or its destination.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SharedSide {
    Source,
    Destination,
}

/// Copies from private to shared memory in 64-bit words.
///
/// # Safety
///
/// As [`copy_to_shared`].
#[inline(always)]
unsafe fn copy_words_to_shared(dst: *mut u8, src: *const u8, bytes: usize) {
    let mut at = 0;
    // WHY in two parts: a whole word is moved by one instruction even where the length is known
    // only at run time; with 16 B that is 10 ns less than two calls of `memcpy`.
    while bytes - at >= WORD_BYTES {
        // SAFETY: the whole word at `at` is in bounds.
        unsafe { copy_word_to_shared(dst, src, at, WORD_BYTES) };
        at += WORD_BYTES;
    }
    if at < bytes {
        // SAFETY: the remaining bytes are in bounds.
        unsafe { copy_word_to_shared(dst, src, at, bytes - at) };
    }
}

/// Copies `bytes` bytes at the offset `offset` from private to shared memory. `offset` is a
/// multiple of 8.
///
/// # Safety
///
/// As [`copy_to_shared`] of `offset + bytes` bytes; `bytes` is 1 to 8.
#[inline(always)]
unsafe fn copy_word_to_shared(dst: *mut u8, src: *const u8, offset: usize, bytes: usize) {
    let mut word = [0; WORD_BYTES];
    // SAFETY: in bounds of the source.
    let from = unsafe { src.add(offset) };
    // SAFETY: in bounds of the source by the contract; `word` holds 8 bytes.
    unsafe { core::ptr::copy_nonoverlapping(from, word.as_mut_ptr(), bytes) };
    // SAFETY: in bounds of the destination.
    let to = unsafe { dst.add(offset) };
    // SAFETY: this word of the destination is aligned and in bounds; shared words are only ever
    // touched atomically.
    let shared = unsafe { AtomicU64::from_ptr(to.cast()) };
    // Relaxed: the store of the stamp that follows publishes it.
    shared.store(u64::from_ne_bytes(word), Ordering::Relaxed);
}

/// Copies from shared to private memory in 64-bit words.
///
/// # Safety
///
/// As [`copy_from_shared`].
#[inline(always)]
unsafe fn copy_words_from_shared(dst: *mut u8, src: *const u8, bytes: usize) {
    let mut at = 0;
    // WHY in two parts: as in `copy_words_to_shared`.
    while bytes - at >= WORD_BYTES {
        // SAFETY: the whole word at `at` is in bounds.
        unsafe { copy_word_from_shared(dst, src, at, WORD_BYTES) };
        at += WORD_BYTES;
    }
    if at < bytes {
        // SAFETY: what is left is in bounds.
        unsafe { copy_word_from_shared(dst, src, at, bytes - at) };
    }
}

/// Copies `bytes` bytes at the offset `offset` from shared to private memory. `offset` is a
/// multiple of 8.
///
/// # Safety
///
/// As [`copy_from_shared`] of `offset + bytes` bytes; `bytes` is 1 to 8.
#[inline(always)]
unsafe fn copy_word_from_shared(dst: *mut u8, src: *const u8, offset: usize, bytes: usize) {
    // SAFETY: in bounds of the source.
    let from = unsafe { src.add(offset) };
    // SAFETY: this word of the source is aligned and in bounds; shared words are only ever touched
    // atomically.
    let shared = unsafe { AtomicU64::from_ptr(from.cast_mut().cast()) };
    // Relaxed: the stamp is checked again behind an acquire fence.
    let word = shared.load(Ordering::Relaxed).to_ne_bytes();
    // SAFETY: in bounds of the destination.
    let to = unsafe { dst.add(offset) };
    // SAFETY: in bounds of the destination by the contract.
    unsafe { core::ptr::copy_nonoverlapping(word.as_ptr(), to, bytes) };
}

#[cfg(any(not(target_arch = "x86_64"), miri, horus_word_copies))]
mod long_copy {
    use super::{SharedSide, copy_words_from_shared, copy_words_to_shared};

    /// Copies more than 64 bytes, in 64-bit words.
    ///
    /// # Safety
    ///
    /// As [`super::copy_to_shared`] or [`super::copy_from_shared`], depending on the side that is
    /// shared.
    #[inline]
    pub(super) unsafe fn copy(dst: *mut u8, src: *const u8, bytes: usize, shared: SharedSide) {
        if shared == SharedSide::Source {
            // SAFETY: `src` and `dst` are valid for `bytes` bytes by the contract of
            // `copy_from_shared`.
            unsafe { copy_words_from_shared(dst, src, bytes) }
        } else {
            // SAFETY: `src` and `dst` are valid for `bytes` bytes by the contract of
            // `copy_to_shared`.
            unsafe { copy_words_to_shared(dst, src, bytes) }
        }
    }
}

#[cfg(all(target_arch = "x86_64", not(miri), not(horus_word_copies)))]
mod long_copy {
    use core::arch::asm;

    use super::SharedSide;
    use crate::protocol::tuning::{Tuning, Vectors};

    /// Copies more than 64 bytes, with vector instructions or one string instruction. The last
    /// vectors may copy some bytes a second time, so that no shorter copy is needed for the rest.
    ///
    /// # Safety
    ///
    /// As [`super::copy_to_shared`] or [`super::copy_from_shared`], depending on the side that is
    /// shared; `bytes > 64`.
    #[inline(always)]
    pub(super) unsafe fn copy(dst: *mut u8, src: *const u8, bytes: usize, shared: SharedSide) {
        let tuning = Tuning::current();
        if shared == SharedSide::Destination && bytes >= tuning.string_copy_bytes_min as usize {
            // SAFETY: `dst` and `src` are valid for `bytes` by the contract.
            return unsafe { copy_by_rep_movsb(dst, src, bytes) };
        }
        match tuning.vectors {
            // SAFETY: `dst` and `src` are valid for `bytes` > 64 by the contract; every x86-64 has
            // SSE2.
            Vectors::Sse2 => unsafe { copy_sse2(dst, src, bytes) },
            // SAFETY: `dst` and `src` are valid for `bytes` > 64 by the contract, and the CPU has
            // AVX: `os::cpu` chooses it only there.
            Vectors::Avx => unsafe { copy_avx(dst, src, bytes) },
            // SAFETY: as above, with AVX-512.
            Vectors::Avx512 => unsafe { copy_avx512(dst, src, bytes) },
        }
    }

    /// Copies with one string instruction (`rep movsb`), which does not read the cache lines that
    /// it overwrites.
    ///
    /// The order of the instruction's own stores is undefined. But all of them come after the
    /// stores before the instruction, and before the stores after it (Intel SDM volume 3, 8.2.4;
    /// AMD APM volume 2, 7.1). So the stamp that is stored before a copy is visible before its
    /// bytes, and the stamp that is stored after it only after them.
    ///
    /// # Safety
    ///
    /// As [`copy`].
    #[inline(always)]
    unsafe fn copy_by_rep_movsb(dst: *mut u8, src: *const u8, bytes: usize) {
        // SAFETY: writes `bytes` bytes from `src` to `dst`, valid by the contract; the direction
        // flag is clear at the beginning of every assembly.
        unsafe {
            asm!(
                "rep movsb",
                inout("rdi") dst => _,
                inout("rsi") src => _,
                inout("rcx") bytes => _,
                options(nostack, preserves_flags),
            );
        }
    }

    /// Copies `bytes` bytes from `src` to `dst` through vector registers of 64 bytes.
    ///
    /// # Safety
    ///
    /// As [`copy`], and the CPU has AVX-512.
    #[inline(always)]
    unsafe fn copy_avx512(dst: *mut u8, src: *const u8, bytes: usize) {
        // SAFETY: the loop moves 128 bytes while at least 128 remain. The rest (below 128) is moved
        // as at most two blocks of 64, the last of which ends at the last byte; both exist because
        // `bytes` > 64.
        unsafe {
            asm!(
                "cmp {n}, 128",
                "jb 3f",
                "2:",
                "vmovups zmm0, [{s}]",
                "vmovups zmm1, [{s} + 64]",
                "vmovups [{d}], zmm0",
                "vmovups [{d} + 64], zmm1",
                "sub {s}, -128",
                "sub {d}, -128",
                "add {n}, -128",
                "cmp {n}, 128",
                "jae 2b",
                "3:",
                "test {n}, {n}",
                "jz 5f",
                "cmp {n}, 64",
                "jbe 4f",
                "vmovups zmm0, [{s}]",
                "vmovups [{d}], zmm0",
                "4:",
                "vmovups zmm1, [{s} + {n} - 64]",
                "vmovups [{d} + {n} - 64], zmm1",
                "5:",
                "vzeroupper",
                s = inout(reg) src => _,
                d = inout(reg) dst => _,
                n = inout(reg) bytes => _,
                // WHY all: as in `copy_avx`.
                out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
                options(nostack),
            );
        }
    }

    /// Copies `bytes` bytes from `src` to `dst` through vector registers of 32 bytes.
    ///
    /// # Safety
    ///
    /// As [`copy`], and the CPU has AVX.
    #[inline(always)]
    unsafe fn copy_avx(dst: *mut u8, src: *const u8, bytes: usize) {
        // SAFETY: the loop moves 128 bytes while at least 128 remain. The rest (below 128) is moved
        // as at most two blocks of 64, the last of which ends at the last byte; both exist because
        // `bytes` > 64.
        unsafe {
            asm!(
                "cmp {n}, 128",
                "jb 3f",
                "2:",
                "vmovups ymm0, [{s}]",
                "vmovups ymm1, [{s} + 32]",
                "vmovups ymm2, [{s} + 64]",
                "vmovups ymm3, [{s} + 96]",
                "vmovups [{d}], ymm0",
                "vmovups [{d} + 32], ymm1",
                "vmovups [{d} + 64], ymm2",
                "vmovups [{d} + 96], ymm3",
                "sub {s}, -128",
                "sub {d}, -128",
                "add {n}, -128",
                "cmp {n}, 128",
                "jae 2b",
                "3:",
                "test {n}, {n}",
                "jz 5f",
                "cmp {n}, 64",
                "jbe 4f",
                "vmovups ymm0, [{s}]",
                "vmovups ymm1, [{s} + 32]",
                "vmovups [{d}], ymm0",
                "vmovups [{d} + 32], ymm1",
                "4:",
                "vmovups ymm0, [{s} + {n} - 64]",
                "vmovups ymm1, [{s} + {n} - 32]",
                "vmovups [{d} + {n} - 64], ymm0",
                "vmovups [{d} + {n} - 32], ymm1",
                "5:",
                "vzeroupper",
                s = inout(reg) src => _,
                d = inout(reg) dst => _,
                n = inout(reg) bytes => _,
                // WHY all: VZEROUPPER clears the upper halves of ymm0 to ymm15, which a caller
                // compiled for AVX may use. It has to stay: code without AVX that follows would be
                // slow.
                out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
                options(nostack),
            );
        }
    }

    /// Copies `bytes` bytes from `src` to `dst` through vector registers of 16 bytes.
    ///
    /// # Safety
    ///
    /// As [`copy`].
    #[inline(always)]
    unsafe fn copy_sse2(dst: *mut u8, src: *const u8, bytes: usize) {
        // SAFETY: the loop moves 64 bytes while at least 64 remain. The rest is moved as one block
        // of 64 that ends at the last byte; it exists because `bytes` > 64.
        unsafe {
            asm!(
                "2:",
                "movups xmm0, [{s}]",
                "movups xmm1, [{s} + 16]",
                "movups xmm2, [{s} + 32]",
                "movups xmm3, [{s} + 48]",
                "movups [{d}], xmm0",
                "movups [{d} + 16], xmm1",
                "movups [{d} + 32], xmm2",
                "movups [{d} + 48], xmm3",
                "add {s}, 64",
                "add {d}, 64",
                "sub {n}, 64",
                "cmp {n}, 64",
                "jae 2b",
                "test {n}, {n}",
                "jz 3f",
                "movups xmm0, [{s} + {n} - 64]",
                "movups xmm1, [{s} + {n} - 48]",
                "movups xmm2, [{s} + {n} - 32]",
                "movups xmm3, [{s} + {n} - 16]",
                "movups [{d} + {n} - 64], xmm0",
                "movups [{d} + {n} - 48], xmm1",
                "movups [{d} + {n} - 32], xmm2",
                "movups [{d} + {n} - 16], xmm3",
                "3:",
                s = inout(reg) src => _,
                d = inout(reg) dst => _,
                n = inout(reg) bytes => _,
                out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                options(nostack),
            );
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        type Routine = unsafe fn(*mut u8, *const u8, usize);

        /// Returns the names and the functions of the copy routines that this CPU can run.
        fn routines() -> Vec<(&'static str, Routine)> {
            let mut routines: Vec<(_, Routine)> =
                vec![("sse2", copy_sse2), ("string", copy_by_rep_movsb)];
            if std::arch::is_x86_feature_detected!("avx") {
                routines.push(("avx", copy_avx));
            }
            if std::arch::is_x86_feature_detected!("avx512f") {
                routines.push(("avx512", copy_avx512));
            }
            routines
        }

        #[test]
        fn all_routines_copy_every_length() {
            let source: Vec<u8> = (0..4200_u32).map(|i| (i * 7 + 3) as u8).collect();
            for bytes in (65..600).chain([1023, 1024, 1480, 4095, 4096, 4200]) {
                for (name, routine) in routines() {
                    let mut target = vec![0_u8; bytes + 64];
                    // SAFETY: both buffers hold `bytes` bytes, and the CPU can run the routine.
                    unsafe { routine(target.as_mut_ptr(), source.as_ptr(), bytes) };
                    assert_eq!(target[..bytes], source[..bytes], "{name}, {bytes} bytes");
                    let behind = &target[bytes..];
                    assert!(
                        behind.iter().all(|&b| b == 0),
                        "{name}, {bytes} bytes: overrun"
                    );
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_there_and_back_is_the_identity_for_every_length() {
        let source: Vec<u8> = (0..2048_u32).map(|i| (i * 11 + 1) as u8).collect();
        for bytes in 0..=source.len() {
            let mut slot = vec![0_u64; bytes.div_ceil(8)];
            let mut back = vec![0_u8; bytes];
            // SAFETY: the source holds `bytes` bytes, the slot `bytes` rounded up to words.
            unsafe { copy_to_shared(slot.as_mut_ptr().cast(), source.as_ptr(), bytes) };
            // SAFETY: as above, and `back` holds `bytes` bytes.
            unsafe { copy_from_shared(back.as_mut_ptr(), slot.as_ptr().cast(), bytes) };
            assert_eq!(back, source[..bytes], "{bytes} bytes");
        }
    }
}
