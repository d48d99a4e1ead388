//! The reader and writer of CDR: alignment, byte orders, strings, and refused input.

use horus_testing as _;

mod ros_messages;

use horus_core::ros::{CdrError, CdrReader, CdrWriteError, CdrWriter};
use ros_messages::hex;

fn written(write: impl Fn(&mut CdrWriter<'_>)) -> Vec<u8> {
    let mut out = CdrWriter::new(&mut []);
    write(&mut out);
    let mut bytes = vec![0xee; out.at() + 2];
    let mut out = CdrWriter::new(&mut bytes);
    write(&mut out);
    let length = out.finish().unwrap();
    assert_eq!(bytes[length..], [0xee; 2], "what lies behind is left alone");
    bytes.truncate(length);
    bytes
}

fn reader(text: &str) -> CdrReader<'static> {
    CdrReader::new(hex(text).leak()).unwrap()
}

#[test]
fn numbers_lie_at_multiples_of_their_size_behind_the_encapsulation() {
    let bytes = written(|out| {
        out.u8(1);
        out.u16(2);
        out.i8(-1);
        out.u32(3);
        out.u8(4);
        out.f64(1.0);
        out.bool(true);
        out.i64(-2);
        out.i16(-3);
        out.f32(1.0);
        out.u64(5);
        out.i32(-4);
    });
    let golden = hex(
        "00010000 01 00 0200 ff 000000 03000000 04 000000 000000000000f03f 01 00000000000000 \
         feffffffffffffff fdff 0000 0000803f 0500000000000000 fcffffff",
    );
    assert_eq!(bytes, golden);
}

#[test]
fn both_byte_orders_are_read() {
    for text in [
        "00010000 01 00 0200 03000000 000000000000f83f 0000c03f fdff ff 01 fcffffff",
        "00000000 01 00 0002 00000003 3ff8000000000000 3fc00000 fffd ff 01 fffffffc",
    ] {
        let mut from = reader(text);
        assert_eq!((from.u8(), from.u16(), from.u32()), (Ok(1), Ok(2), Ok(3)));
        assert_eq!((from.f64(), from.f32()), (Ok(1.5), Ok(1.5)));
        assert_eq!(
            (from.i16(), from.i8(), from.bool(), from.i32()),
            (Ok(-3), Ok(-1), Ok(true), Ok(-4))
        );
        assert_eq!(from.finish(), Ok(()));
    }
}

#[test]
fn strings_count_their_nul() {
    let bytes = written(|out| {
        out.string("").unwrap();
        out.string("ß").unwrap();
        out.count(2).unwrap();
        out.bytes(&[8, 9]);
    });
    assert_eq!(
        bytes,
        hex("00010000 01000000 00 000000 03000000 c39f00 00 02000000 0809")
    );
    let mut from = CdrReader::new(&bytes).unwrap();
    assert_eq!((from.string(), from.string()), (Ok(""), Ok("ß")));
    assert_eq!((from.count(1), from.bytes(2)), (Ok(2), Ok(&[8, 9][..])));
    assert_eq!(from.at(), bytes.len());
    assert_eq!(
        reader("00010000 00000000").string(),
        Ok(""),
        "as others write it"
    );
}

#[test]
fn a_string_with_a_nul_is_not_written() {
    let mut bytes = [0; 32];
    let mut out = CdrWriter::new(&mut bytes);
    assert_eq!(
        out.string("a\0b"),
        Err(CdrWriteError::Text { field: "string" })
    );
}

#[test]
fn a_small_buffer_reports_the_needed_size() {
    for room in 0..16 {
        let mut bytes = vec![0xee; room];
        let mut out = CdrWriter::new(&mut bytes);
        out.u8(1);
        out.f64(2.0);
        let wanted = CdrWriteError::TooSmall { needed: 20, room };
        assert_eq!(out.finish(), Err(wanted));
    }
}

#[test]
fn other_encapsulations_are_refused() {
    for (text, found) in [
        ("0002 0000", [0, 2]),
        ("0007 0000", [0, 7]),
        ("0100 0000", [1, 0]),
    ] {
        let error = CdrReader::new(&hex(text)).unwrap_err();
        assert_eq!(error, CdrError::Encapsulation { found });
    }
    let error = CdrError::Encapsulation { found: [0, 7] };
    let text = "encapsulation 00 07: only plain CDR is read, which begins with 00 00 or 00 01";
    assert_eq!(error.to_string(), text);
    for length in 0..4 {
        let error = CdrReader::new(&[0, 1, 0, 0][..length]).unwrap_err();
        assert_eq!(
            error,
            CdrError::Truncated {
                at: 0,
                wanted: 4,
                left: length
            }
        );
    }
    assert!(
        CdrReader::new(&[0, 1, 0x12, 0x03]).is_ok(),
        "the options may be anything"
    );
}

#[test]
fn errors_name_the_offset() {
    let truncated = |at, wanted, left| CdrError::Truncated { at, wanted, left };
    let strings = [
        ("00010000 0300", truncated(4, 4, 2)),
        ("00010000 03000000 6100", truncated(8, 3, 2)),
        ("00010000 ffffffff 6100", truncated(8, u32::MAX as usize, 2)),
        ("00010000 02000000 6162", CdrError::Unterminated { at: 9 }),
        ("00010000 04000000 61006200", CdrError::Nul { at: 9 }),
        ("00010000 04000000 61ff6200", CdrError::Utf8 { at: 9 }),
    ];
    for (text, error) in strings {
        assert_eq!(reader(text).string(), Err(error), "{text}");
    }
    assert_eq!(
        reader("00010000 02").bool(),
        Err(CdrError::Bool { at: 4, found: 2 })
    );
    assert_eq!(reader("00010000 0000").u32(), Err(truncated(4, 4, 2)));
    assert_eq!(
        reader("00010000 03000000 00").count(8),
        Err(truncated(8, 24, 1))
    );
    let mut from = reader("00010000 00 00");
    assert_eq!((from.u8(), from.f64()), (Ok(0), Err(truncated(5, 7, 1))));
}

#[test]
fn only_padding_to_four_bytes_may_follow() {
    for (bytes, following) in [(1, 3), (2, 2), (3, 1), (4, 0)] {
        for left in 0..9 {
            let all = [&[0, 1, 0, 0][..], &vec![7; bytes + left]].concat();
            let mut from = CdrReader::new(&all).unwrap();
            from.bytes(bytes).unwrap();
            let at = 4 + bytes;
            let wanted = if left == 0 || left == following {
                Ok(())
            } else {
                Err(CdrError::Trailing { at, left })
            };
            assert_eq!(from.finish(), wanted, "{left} behind {bytes}");
        }
    }
}
