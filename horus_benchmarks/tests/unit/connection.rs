//! Every carrier carries rounds and streams.

use horus_benchmarks::measure::pin;
use horus_benchmarks::measure::pin::CpuPair;
use horus_benchmarks::measure::tsc::TickSource;
use horus_benchmarks::measure::workload::TimedPart;
use horus_benchmarks::run::floor::Placement;
use horus_benchmarks::run::namespace::PrivateNamespace;
use horus_benchmarks::transport::carrier::{Carrier, Transport};
use horus_benchmarks::transport::carrier::{ChannelShape, MessageSize};
use horus_benchmarks::transport::connection::*;

/// Runs `body` with a connection between two threads on one CPU. WHY on a thread of its own:
/// the threads of the test runner are not to be pinned.
fn with_connection(body: impl FnOnce(&mut Connection) + Send + 'static) {
    let cpu = pin::allowed_cpus().unwrap()[0];
    let run = move || {
        pin::pin_current_thread(cpu).unwrap();
        let cpus = CpuPair {
            near: cpu,
            far: cpu,
        };
        let source = TickSource::detect();
        let private = PrivateNamespace::create().unwrap();
        let place = Placement::CrossThread;
        body(&mut Connection::start(place, cpus, source, &private).unwrap());
    };
    std::thread::spawn(run).join().unwrap();
}

fn carries_rounds_and_streams(connection: &mut Connection, transport: Transport) {
    connection.open(transport).unwrap();
    let (round, echo) = connection
        .run_ping_pong_round(TimedPart::RoundTrip, 2, 20)
        .unwrap();
    assert_eq!(
        (round.sent, round.received, echo.received),
        (20, 20, 20),
        "{transport:?}"
    );
    let (_, streamed) = connection.run_stream(400).unwrap();
    let copies = if transport.carrier.is_duplex() { 2 } else { 1 };
    assert_eq!(streamed.sent_messages(), 400 * copies, "{transport:?}");
    assert!(
        streamed.lost == 0 || !transport.carrier.is_lossless(),
        "{transport:?}"
    );
}

#[test]
fn our_carriers_take_every_timing() {
    let all = [
        Carrier::SpscShm,
        Carrier::MpscShm,
        Carrier::SpmcShm,
        Carrier::FanoutShm,
        Carrier::FanoutShm2p2s,
        Carrier::Topic,
        Carrier::TopicReliable,
        Carrier::TopicDefault,
        Carrier::TopicLoan,
        Carrier::SPSC,
        Carrier::SPMC,
        Carrier::MPSC,
        Carrier::FANOUT,
        Carrier::FanoutShmDuplex,
        Carrier::TopicDuplex,
        Carrier::PodShm,
    ];
    with_connection(move |connection| {
        let error = connection.run_stream(1).unwrap_err();
        assert_eq!(error.to_string(), "no transport is open");
        for (carrier, size) in all
            .into_iter()
            .zip(MessageSize::USUAL_SIZES.into_iter().cycle())
        {
            let transport = Transport { carrier, size };
            connection.open(transport).unwrap();
            for timing in [TimedPart::OneWay, TimedPart::SendCall] {
                let (round, echo) = connection.run_ping_pong_round(timing, 5, 40).unwrap();
                assert_eq!((round.sent, round.received, echo.received), (40, 40, 40));
            }
            // Two consumers of an open lane lose different messages: nobody streams to them.
            let alone = [Carrier::PodShm, Carrier::SpmcShm, Carrier::FanoutShm2p2s];
            if !alone.contains(&carrier) {
                carries_rounds_and_streams(connection, transport);
            }
        }
    });
}

#[test]
fn every_channel_carries_rounds_and_streams_in_every_shape() {
    with_connection(|connection| {
        let mut sizes = [8, 16, 64, 256, 1024]
            .map(MessageSize::Bytes)
            .into_iter()
            .cycle();
        for shape in ChannelShape::COMPARED_SHAPES {
            let size = sizes.next().unwrap();
            for carrier in shape.compared_carriers() {
                carries_rounds_and_streams(connection, Transport { carrier, size });
            }
        }
    });
}

#[test]
fn every_carrier_between_processes_carries_every_size_that_it_can() {
    with_connection(|connection| {
        for size in [8, 32, 304, 1480, 4096, 16_384, 65_536].map(MessageSize::Bytes) {
            let able = |carrier: &Carrier| carrier.unsupported_reason(size.bytes()).is_none();
            for carrier in Carrier::CARRIERS_BETWEEN_PROCESSES.into_iter().filter(able) {
                carries_rounds_and_streams(connection, Transport { carrier, size });
            }
        }
    });
}
