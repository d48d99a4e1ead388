//! Loans of rings with one gated reader.

use horus_shm::{LoanError, RingOptions, SpscShm};

use super::{pinnable, spawn};

type Ring = SpscShm<[u64; 1024]>;

fn lends_slots(ring: &Ring) -> bool {
    let mut producer = ring.producer().unwrap();
    !matches!(producer.loan(), Err(LoanError::NotPinnable { .. }))
}

/// It makes no difference who created the ring.
#[test]
fn a_gated_ring_lends_slots_only_on_request() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let options = RingOptions::default();
    let created = Ring::create(&namespace, "gated", &options).unwrap();
    assert!(!lends_slots(&created));
    let opened = Ring::open(&namespace, "gated", &options).unwrap();
    assert!(!lends_slots(&opened));
    let opened = Ring::open(&namespace, "gated", &pinnable()).unwrap();
    assert!(lends_slots(&opened));
}
