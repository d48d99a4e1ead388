//! Every bit of a message is verified.

use horus_benchmarks::measure::payload::*;

fn any_flipped_bit_is_found<const N: usize>() {
    let mut message = <[u64; N]>::compose(41);
    message.set_stamp(0x1234_5678_9abc);
    assert_eq!(message.verify(41), Ok(()));
    assert!(message.verify(42).is_err());
    for bit in 0..N * 64 {
        let mut corrupt = message;
        corrupt[bit / 64] ^= 1 << (bit % 64);
        assert!(
            corrupt.verify(41).is_err(),
            "bit {bit} of {} bytes",
            <[u64; N]>::BYTES
        );
    }
}

#[test]
fn every_bit_of_every_size_is_verified() {
    any_flipped_bit_is_found::<1>();
    any_flipped_bit_is_found::<2>();
    any_flipped_bit_is_found::<38>();
    any_flipped_bit_is_found::<185>();
}

#[test]
fn neighbouring_messages_differ_in_every_word() {
    let one = <[u64; 38]>::compose(1);
    let two = <[u64; 38]>::compose(2);
    assert!((0..38).filter(|&i| i != 1).all(|i| one[i] != two[i]));
}

#[test]
fn sizes_are_named_as_in_the_ids() {
    assert_eq!(size_label(<[u64; 2]>::BYTES), "16B");
    assert_eq!(size_label(<[u64; 185]>::BYTES), "1480B");
    assert_eq!(size_label(65_536), "64KB");
}
