//! A program that keeps vectors in registers across calls that copy. `vectors.rs` compiles it for
//! each CPU. Panics if a vector was changed.

#[cfg(not(all(target_arch = "x86_64", target_feature = "avx")))]
fn main() {
    println!("no AVX: nothing to keep");
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx"))]
fn main() {
    avx::main();
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx"))]
mod avx {
    use std::arch::x86_64::{__m256d, _mm256_add_pd, _mm256_setr_pd};
    use std::hint::black_box;

    use horus_shm::internals::copy;
    use horus_shm::{Consumer, Producer, RingOptions, SpscShm};

    /// Longer than the messages that are copied in words.
    type Message = [u64; 64];

    const ROUNDS: usize = 9;

    type Lanes = [f64; 4];

    const BASE: Lanes = [1.0, 2.0, 3.0, 4.0];

    #[inline(always)]
    fn vector(lanes: Lanes) -> __m256d {
        // SAFETY: this module is compiled for CPUs with AVX only.
        unsafe { _mm256_setr_pd(lanes[0], lanes[1], lanes[2], lanes[3]) }
    }

    #[inline(always)]
    fn add(left: __m256d, right: __m256d) -> __m256d {
        // SAFETY: as above.
        unsafe { _mm256_add_pd(left, right) }
    }

    fn lanes(vector: __m256d) -> Lanes {
        // SAFETY: both are 32 bytes of which any bits are valid.
        unsafe { std::mem::transmute(vector) }
    }

    /// Counts in vectors how often `$copy` ran, which is compiled into this function. It uses few
    /// vectors, which the compiler keeps in registers that the copy does not use itself.
    macro_rules! counted {
        ($copy:expr) => {{
            let step = vector(black_box(BASE));
            let mut first = step;
            let mut second = add(step, step);
            for _ in 0..ROUNDS {
                $copy;
                first = add(first, step);
                second = add(second, step);
            }
            [lanes(first), lanes(second)]
        }};
    }

    #[inline(never)]
    fn across_store(shared: &mut Message, private: &Message) -> [Lanes; 2] {
        let dst = shared.as_mut_ptr().cast();
        let src = private.as_ptr().cast();
        // SAFETY: both buffers have this size, and belong to this thread.
        counted!(unsafe { copy::copy_to_shared(dst, src, size_of::<Message>()) })
    }

    #[inline(never)]
    fn across_load(private: &mut Message, shared: &Message) -> [Lanes; 2] {
        let dst = private.as_mut_ptr().cast();
        let src = shared.as_ptr().cast();
        // SAFETY: both buffers have this size, and belong to this thread.
        counted!(unsafe { copy::copy_from_shared(dst, src, size_of::<Message>()) })
    }

    #[inline(never)]
    fn across_send(producer: &mut Producer<Message>, message: &Message) -> [Lanes; 2] {
        counted!(producer.send(*message).expect("there is room"))
    }

    #[inline(never)]
    fn across_recv(consumer: &mut Consumer<Message>, message: &mut Message) -> [Lanes; 2] {
        counted!(*message = consumer.recv().expect("a message is there"))
    }

    #[inline(never)]
    fn across_recv_into(consumer: &mut Consumer<Message>, message: &mut Message) -> [Lanes; 2] {
        counted!(assert!(consumer.recv_into(message), "a message is there"))
    }

    #[inline(never)]
    fn across_drain(consumer: &mut Consumer<Message>) -> [Lanes; 2] {
        let step = vector(black_box(BASE));
        let mut first = step;
        let mut second = add(step, step);
        consumer.drain(|_| {
            first = add(first, step);
            second = add(second, step);
        });
        [lanes(first), lanes(second)]
    }

    pub(super) fn main() {
        let ring = SpscShm::<Message>::heap(&RingOptions::capacity(64)).expect("memory is there");
        let mut producer = ring.producer().expect("no other producer");
        let mut consumer = ring.consumer().expect("no other consumer");
        let sent = black_box([7; 64]);
        let mut received = [0; 64];
        let counted = |rounds| BASE.map(|base| base * (rounds as f64));
        let wanted = [counted(ROUNDS + 1), counted(ROUNDS + 2)];
        for _ in 0..3 {
            assert_eq!(across_store(&mut received, &sent), wanted, "store");
            assert_eq!(across_load(&mut received, &sent), wanted, "load");
            assert_eq!(across_send(&mut producer, &sent), wanted, "send");
            assert_eq!(across_recv(&mut consumer, &mut received), wanted, "recv");
            assert_eq!(across_send(&mut producer, &sent), wanted, "send");
            assert_eq!(across_recv_into(&mut consumer, &mut received), wanted, "recv_into");
            assert_eq!(across_send(&mut producer, &sent), wanted, "send");
            assert_eq!(across_drain(&mut consumer), wanted, "drain");
            assert_eq!(received, sent);
        }
        println!("vectors kept");
    }
}
