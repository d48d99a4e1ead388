//! The cost of single calls on one thread: `cargo bench -p horus_benchmarks`, reports in
//! `target/criterion/`. Latencies between threads and processes are what the binaries measure.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use horus_benchmarks::measure::payload::Payload;
use horus_benchmarks::run::namespace::PrivateNamespace;
use horus_benchmarks::scenario::ticking::TickingScheduler;
use horus_core::channel::{direct, fanout, mpsc, spmc, spsc};
use horus_core::message::{CmdVel, Imu, JointCommand, LaserScan, Message, Schema};
use horus_core::topic::Topic;
use horus_core::value::Value;

/// Messages of a channel.
const CAPACITY: usize = 256;

/// A send and a receive at a topic, both ends on this thread.
fn topic_latency(criterion: &mut Criterion) {
    let private = PrivateNamespace::create().expect("there is a place for a namespace");
    let namespace = private.open().expect("the place is new");
    let mut group = criterion.benchmark_group("topic_latency");
    macro_rules! of {
        ($($message:ident),+) => {$({
            let name = stringify!($message);
            let builder = || Topic::<$message>::builder(name).namespace(&namespace);
            let mut out = builder().publisher().expect("the topic is new");
            let mut back = builder().subscriber().expect("the topic is ours");
            let message = $message::compose(1);
            let mut received = $message::compose(0);
            group.throughput(Throughput::Bytes(size_of::<$message>() as u64));
            group.bench_function(BenchmarkId::new("send_recv", name), |bencher| {
                bencher.iter(|| {
                    out.send(black_box(&message)).expect("the topic is ours");
                    back.recv_into(black_box(&mut received))
                });
            });
            assert_eq!(received.verify(1), Ok(()), "{name}");
        })+};
    }
    of!(CmdVel, Imu, JointCommand, LaserScan);
}

/// A send and a receive at a channel, both ends on this thread.
fn channel_latency(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("channel_latency");
    macro_rules! of {
        ($($channel:ident),+) => {$({
            let (mut tx, mut rx) = $channel::channel::<[u64; 2]>(CAPACITY);
            group.bench_function(stringify!($channel), |bencher| {
                bencher.iter(|| {
                    tx.try_send(black_box([1, 2])).expect("there is room");
                    rx.try_recv().expect("there is a message")
                });
            });
        })+};
    }
    of!(direct, spsc, spmc, mpsc, fanout);
}

/// Making, describing and encoding messages.
fn message(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("message");
    group.bench_function("cmd_vel_new", |bencher| {
        bencher.iter(|| CmdVel::new(black_box(1.0), black_box(0.5)));
    });
    let schema = Imu::SCHEMA.text();
    group.bench_function("imu_schema_parsed", |bencher| {
        bencher.iter(|| Schema::parse(black_box(&schema)).expect("it is a schema"));
    });
    let pose = Value::from([("x", 1.0), ("y", 2.0), ("z", 3.0), ("w", 1.0)]);
    group.bench_function("value_4_keys_to_msgpack", |bencher| {
        bencher.iter(|| black_box(&pose).to_msgpack().expect("it can be encoded"));
    });
}

/// A turn of every node of a scheduler.
fn scheduler_tick(criterion: &mut Criterion) {
    let private = PrivateNamespace::create().expect("there is a place for a namespace");
    let namespace = private.open().expect("the place is new");
    let mut group = criterion.benchmark_group("scheduler_tick");
    for nodes in [1, 10, 50] {
        let mut ticking =
            TickingScheduler::start(nodes, false, &namespace).expect("the nodes are ours");
        group.throughput(Throughput::Elements(nodes));
        group.bench_function(BenchmarkId::new("nodes", nodes), |bencher| {
            bencher.iter(|| ticking.tick_once());
        });
        ticking.finish().expect("every node had its turns");
    }
}

criterion_group!(
    benches,
    topic_latency,
    channel_latency,
    message,
    scheduler_tick
);
criterion_main!(benches);
