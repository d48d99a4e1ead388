//! The CPU of this machine, and the settings for copies and pauses that are chosen for it.
//!
//! Each rule of [`tuning_for`] names the measurement on which it is based. `docs/performance.md`
//! describes these measurements, and says how to repeat them on another machine.

use std::fmt;
use std::time::Instant;

use crate::os::once::SetOnce;
use crate::protocol::copy;
use crate::protocol::tuning::{Pauses, Tuning, Vectors};

/// Number of times that each measurement executes the instruction to be measured.
const REPETITIONS_PER_MEASUREMENT: u32 = 64;

/// Number of measurements of each instruction. The shortest result is used, because an interrupt
/// may have lengthened the others.
const MEASUREMENTS_PER_INSTRUCTION: u32 = 8;

/// Maximum duration of one reading of the time stamp counter, in nanoseconds, for which it is
/// worthwhile to read it for each message. A hypervisor may trap the instruction.
const COUNTER_READ_NS_MAX: f64 = 40.0;

/// Minimum length in bytes of a copy that uses `rep movsb`, on CPUs with FSRM that are not from
/// AMD.
///
/// Measured on Emerald Rapids, without -> with `rep movsb`: 64 KiB between processes 9.7 -> 8.4 µs,
/// streams of 4 and 64 KiB a tenth faster, 1480 B slower.
const STRING_COPY_BYTES_MIN: u32 = 2048;

/// Minimum length in bytes of a copy that uses `rep movsb`, on AMD CPUs with FSRM.
///
/// Measured on Zen 5, without -> with `rep movsb`: 64 KiB 2.3 -> 1.8 µs, 16 KiB 760 -> 615 ns, but
/// 4 KiB 260 -> 346 ns, and streams of 4 KiB 2.0 -> 1.2 million messages a second.
const STRING_COPY_BYTES_MIN_ON_AMD: u32 = 8192;

/// Minimum length in bytes of a copy that uses `rep movsb`, on CPUs with ERMS but without FSRM: the
/// value that glibc uses with vectors of 32 bytes.
const STRING_COPY_BYTES_MIN_WITHOUT_FSRM: u32 = 4096;

/// The instruction set extensions that the settings for copies depend on. On CPUs other than
/// x86-64, all fields are false.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Features {
    /// AVX: the CPU has vector registers of 32 bytes, and the kernel supports them.
    pub avx: bool,
    /// AVX-512: the CPU has vector registers of 64 bytes, and the kernel supports them.
    pub avx512: bool,
    /// ERMS (enhanced `rep movsb`): the CPU executes long copies by this instruction at the speed
    /// of the memory.
    pub erms: bool,
    /// FSRM (fast short `rep movsb`): the CPU starts short copies by this instruction without
    /// delay.
    pub fsrm: bool,
    /// CLDEMOTE: the CPU has a hint instruction that moves a cache line to a cache that several
    /// cores share.
    pub cldemote: bool,
}

/// The CPU of this machine, and the settings that were derived from it.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// The vendor name that the CPU reports, such as `GenuineIntel`; empty if it reports none.
    pub vendor: String,
    /// The instruction set extensions that this CPU has.
    pub features: Features,
    /// Time that one PAUSE instruction takes, in nanoseconds, measured by this process.
    pub pause_ns: f64,
    /// Time that it takes to read the CPU's time stamp counter, in nanoseconds, measured by this
    /// process.
    pub ticks_ns: f64,
    /// The settings for copies and polls that this process uses.
    pub tuning: Tuning,
}

/// Returns what this process knows of its machine. The first call examines the CPU, which takes
/// some 0.1 ms, and chooses the settings of the process. (Opening the first topic does the same, as
/// does creating a channel that depends on the settings.) Makes no system call, and writes to no
/// file.
pub fn machine() -> &'static Machine {
    static MACHINE_PROPERTIES: SetOnce<Machine> = SetOnce::new();
    MACHINE_PROPERTIES.get().unwrap_or_else(|| {
        let mut machine = Machine::examine();
        // WHY first: a child that is forked next may find the machine, and then sets nothing. WHY
        // the result: another thread may have measured other times, and set its settings before.
        machine.tuning = machine.tuning.get_or_set_current();
        MACHINE_PROPERTIES.get_or_set(machine)
    })
}

impl Machine {
    fn examine() -> Self {
        let vendor = cpuid::vendor();
        let features = cpuid::features();
        let pause_ns = measure_instruction_ns(std::hint::spin_loop);
        let ticks_ns = measure_instruction_ns(|| std::hint::black_box(copy::counter_ticks()));
        Self {
            tuning: tuning_for(&vendor, features, ticks_ns),
            vendor,
            features,
            pause_ns,
            ticks_ns,
        }
    }
}

/// Replaces settings of this process with those in `text`, such as
/// `vectors=avx,pauses=none,string-copy=no,hand-over=no,publish=head,slots=writable`. Only for
/// benchmarks, which compare settings.
///
/// # Errors
///
/// A message that says which part of `text` is wrong: an unknown setting or value, or one that
/// needs an extension that the CPU does not have. In that case nothing is replaced.
#[doc(hidden)]
pub fn set_tuning(text: &str) -> Result<(), String> {
    let machine = machine();
    let mut tuning = machine.tuning;
    for part in text.split(',') {
        apply_setting(part, machine.features, &mut tuning)?;
    }
    tuning.set_current();
    Ok(())
}

fn apply_setting(setting: &str, features: Features, tuning: &mut Tuning) -> Result<(), String> {
    match setting.split_once('=').unwrap_or((setting, "")) {
        ("vectors", "sse2") => tuning.vectors = Vectors::Sse2,
        ("vectors", "avx") if features.avx => tuning.vectors = Vectors::Avx,
        ("vectors", "avx512") if features.avx512 => tuning.vectors = Vectors::Avx512,
        ("vectors", "avx" | "avx512") => {
            return Err(format!("{setting}: the CPU does not have it"));
        }
        ("pauses", "none") => tuning.pauses = Pauses::None,
        ("pauses", "one") => tuning.pauses = Pauses::One,
        ("pauses", "one-or-two") => tuning.pauses = Pauses::OneOrTwo,
        ("string-copy", "no") => tuning.string_copy_bytes_min = Tuning::NO_STRING_COPY,
        ("string-copy", bytes) => {
            let wanted = |_| format!("{setting}: wanted a number of bytes, or no");
            tuning.string_copy_bytes_min = bytes.parse().map_err(wanted)?;
        }
        ("hand-over", "yes") => tuning.demotes_lines = true,
        ("hand-over", "no") => tuning.demotes_lines = false,
        ("publish", "head") => tuning.publishes_by_head = true,
        ("publish", "stamps") => tuning.publishes_by_head = false,
        ("slots", "writable") => tuning.maps_slots_writable = true,
        ("slots", "read-only") => tuning.maps_slots_writable = false,
        _ => {
            let wanted = "vectors=sse2|avx|avx512, pauses=none|one|one-or-two, \
                          string-copy=BYTES|no, hand-over=yes|no, publish=head|stamps, or \
                          slots=writable|read-only";
            return Err(format!("{setting}: no such setting; wanted {wanted}"));
        }
    }
    Ok(())
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            vendor, features, ..
        } = self;
        let vendor = if vendor.is_empty() { "CPU" } else { vendor };
        write!(f, "{vendor}")?;
        let has = [
            (features.avx, "AVX"),
            (features.avx512, "AVX-512"),
            (features.erms, "ERMS"),
            (features.fsrm, "FSRM"),
            (features.cldemote, "CLDEMOTE"),
        ];
        for (_, name) in has.iter().filter(|(has, _)| *has) {
            write!(f, " {name}")?;
        }
        let (pause, ticks) = (self.pause_ns, self.ticks_ns);
        write!(
            f,
            ", PAUSE {pause:.0} ns, RDTSC {ticks:.0} ns: {}",
            self.tuning
        )
    }
}

/// Returns the settings for a CPU with the given vendor and features. `counter_read_ns` is the time
/// in nanoseconds that it takes to read the CPU's counter.
fn tuning_for(vendor: &str, features: Features, counter_read_ns: f64) -> Tuning {
    Tuning {
        vectors: match features {
            // Streams between processes on an Emerald Rapids, AVX-512 to AVX: 304 B 1.08 times as
            // fast, 4 to 64 KiB 1.06 to 1.19; single messages up to 16 KiB take the same time. WHY
            // with FSRM: CPUs without it lower their clock for such vectors.
            Features {
                avx512: true,
                fsrm: true,
                ..
            } => Vectors::Avx512,
            Features { avx: true, .. } => Vectors::Avx,
            _ => Vectors::Sse2,
        },
        // One way between processes, 16 B. On a Zen 5, which has AVX-512: one or two pauses 75 to
        // 81 ns, and 118 in some pairs, none 65 to 73 in every pair. On a Zen 3, which has not:
        // none 85, one 75; with 304 B none 145, one 115. On Intel servers none was never better.
        pauses: match (vendor, features.avx512) {
            ("AuthenticAMD", true) => Pauses::None,
            ("AuthenticAMD", false) => Pauses::One,
            _ => Pauses::OneOrTwo,
        },
        string_copy_bytes_min: match (vendor, features.erms, features.fsrm) {
            ("AuthenticAMD", true, true) => STRING_COPY_BYTES_MIN_ON_AMD,
            (_, true, true) => STRING_COPY_BYTES_MIN,
            (_, true, false) => STRING_COPY_BYTES_MIN_WITHOUT_FSRM,
            (_, false, _) => Tuning::NO_STRING_COPY,
        },
        // One way between processes on an Emerald Rapids: 1480 B 584 -> 505 ns.
        demotes_lines: features.cldemote && counter_read_ns <= COUNTER_READ_NS_MAX,
        // Streams between two threads on a Zen 4, stamps -> head, in millions of messages a second:
        // 8 B 118 to 128 -> 215, 64 B 33 -> 81; where the CPUs share no cache, 8 B 32 to 47 -> 42
        // to 59. Single messages take as long, or less. On Intel servers a head was slower: there
        // each message moves the line of the head and that of the value, one after the other (8 and
        // 16 B, rtrb, which has a head, 205 ns and 22 to 27 million a second; stamps 141 ns and 116
        // to 137 million). Other AMD CPUs were not measured.
        publishes_by_head: vendor == "AuthenticAMD",
        // Streams between two processes on a Zen 4, 16 B, read-only -> writable, in millions of
        // messages a second: 256 slots 50 -> 86 to 116, 128 slots 51 -> 144. Other AMD CPUs were
        // not measured.
        maps_slots_writable: vendor == "AuthenticAMD",
    }
}

/// Measures how long `instruction` takes, and returns this time in nanoseconds.
fn measure_instruction_ns<R>(instruction: impl Fn() -> R) -> f64 {
    let measure = || {
        let begin = Instant::now();
        (0..REPETITIONS_PER_MEASUREMENT).for_each(|_| _ = instruction());
        begin.elapsed().as_secs_f64() * 1e9 / f64::from(REPETITIONS_PER_MEASUREMENT)
    };
    (0..MEASUREMENTS_PER_INSTRUCTION)
        .map(|_| measure())
        .fold(f64::MAX, f64::min)
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod cpuid {
    use core::arch::x86_64::{__cpuid_count, CpuidResult};

    use super::Features;

    /// The number (leaf) of the CPUID query that lists the instruction set extensions introduced
    /// after AVX.
    const CPUID_EXTENSIONS_LEAF: u32 = 7;

    #[allow(unused_unsafe, reason = "the call is safe in newer versions of Rust")]
    fn cpuid(leaf: u32) -> CpuidResult {
        // SAFETY: every x86-64 has the instruction.
        unsafe { __cpuid_count(leaf, 0) }
    }

    pub(super) fn vendor() -> String {
        let leaf = cpuid(0);
        let bytes = [leaf.ebx, leaf.edx, leaf.ecx].map(u32::to_le_bytes);
        String::from_utf8_lossy(bytes.as_flattened()).into_owned()
    }

    pub(super) fn features() -> Features {
        let leaf = (cpuid(0).eax >= CPUID_EXTENSIONS_LEAF).then(|| cpuid(CPUID_EXTENSIONS_LEAF));
        let (ecx, edx) = leaf.map_or((0, 0), |leaf| (leaf.ecx, leaf.edx));
        Features {
            avx: is_x86_feature_detected!("avx"),
            avx512: is_x86_feature_detected!("avx512f"),
            erms: is_x86_feature_detected!("ermsb"),
            fsrm: edx >> 4 & 1 == 1,
            cldemote: ecx >> 25 & 1 == 1,
        }
    }
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
mod cpuid {
    use super::Features;

    pub(super) fn vendor() -> String {
        String::new()
    }

    pub(super) fn features() -> Features {
        Features::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Features = Features {
        avx: true,
        avx512: true,
        erms: true,
        fsrm: true,
        cldemote: true,
    };

    /// Only on x86-64: elsewhere no feature is looked for, and under emulation the kernel lists
    /// those of another CPU.
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_features_that_the_kernel_lists_are_found() {
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let Some(flags) = cpuinfo.lines().find(|line| line.starts_with("flags")) else {
            return;
        };
        let lists = |name| flags.split_whitespace().any(|flag| flag == name);
        let found = machine().features;
        let listed = Features {
            avx: lists("avx"),
            avx512: lists("avx512f"),
            erms: lists("erms"),
            fsrm: lists("fsrm"),
            cldemote: lists("cldemote"),
        };
        // WHY not equal: a kernel lists no extension that it does not know.
        let is_found = [
            (listed.avx, found.avx),
            (listed.avx512, found.avx512),
            (listed.erms, found.erms),
            (listed.fsrm, found.fsrm),
            (listed.cldemote, found.cldemote),
        ];
        let all = is_found.iter().all(|&(listed, found)| found || !listed);
        assert!(all, "{listed:?}, but {found:?}");
        assert!(cpuinfo.contains(&machine().vendor));
    }

    #[test]
    fn the_first_call_chooses_the_settings_of_the_process() {
        let machine = machine();
        assert_eq!(Tuning::current(), machine.tuning);
        assert!(machine.pause_ns > 0.0);
    }

    /// WHY the default: another value replaces it, on CPUs for which it was chosen.
    #[test]
    fn the_settings_of_a_thread_that_chooses_later_are_not_used() {
        let chosen = machine().tuning;
        assert_eq!(Tuning::default().get_or_set_current(), chosen);
        assert_eq!(Tuning::current(), chosen);
    }

    #[test]
    fn no_setting_needs_what_the_cpu_lacks() {
        assert_eq!(tuning_for("", Features::default(), 10.0), Tuning::default());
        let old = Features {
            avx512: true,
            avx: true,
            ..Features::default()
        };
        assert_eq!(tuning_for("GenuineIntel", old, 10.0).vectors, Vectors::Avx);
        let best = tuning_for("GenuineIntel", ALL, 10.0);
        assert_eq!((best.vectors, best.demotes_lines), (Vectors::Avx512, true));
        assert!(!tuning_for("GenuineIntel", ALL, 1500.0).demotes_lines);
        let zen5 = tuning_for("AuthenticAMD", ALL, 10.0);
        assert_eq!(
            (zen5.pauses, zen5.string_copy_bytes_min),
            (Pauses::None, 8192)
        );
        assert_eq!(best.string_copy_bytes_min, 2048);
        let zen3 = Features {
            avx512: false,
            ..ALL
        };
        assert_eq!(tuning_for("AuthenticAMD", zen3, 10.0).pauses, Pauses::One);
    }

    #[test]
    fn settings_are_replaced_by_their_names() {
        let mut tuning = Tuning::default();
        let parts = [
            "vectors=avx512",
            "pauses=none",
            "string-copy=99",
            "hand-over=yes",
            "publish=head",
            "slots=writable",
        ];
        for part in parts {
            apply_setting(part, ALL, &mut tuning).unwrap();
        }
        let wanted = Tuning {
            vectors: Vectors::Avx512,
            pauses: Pauses::None,
            string_copy_bytes_min: 99,
            demotes_lines: true,
            publishes_by_head: true,
            maps_slots_writable: true,
        };
        assert_eq!(tuning, wanted);
        for part in ["vectors=mmx", "pauses", "string-copy=x", ""] {
            let error = apply_setting(part, ALL, &mut tuning).unwrap_err();
            assert!(
                error.starts_with(part) && error.contains("wanted"),
                "{error}"
            );
        }
        let error = apply_setting("vectors=avx512", Features::default(), &mut tuning).unwrap_err();
        assert!(error.contains("the CPU does not have it"), "{error}");
        assert_eq!(tuning, wanted);
    }

    #[test]
    fn a_machine_is_shown_with_its_settings() {
        let machine = Machine {
            vendor: "GenuineIntel".to_owned(),
            features: ALL,
            pause_ns: 41.6,
            ticks_ns: 9.8,
            tuning: tuning_for("GenuineIntel", ALL, 9.8),
        };
        assert_eq!(
            machine.to_string(),
            "GenuineIntel AVX AVX-512 ERMS FSRM CLDEMOTE, PAUSE 42 ns, RDTSC 10 ns: copies by \
             AVX-512, from 2048 B on into slots by `rep movsb`; one or two pauses between empty \
             polls; lines handed over"
        );
    }
}
