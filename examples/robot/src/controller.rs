//! The controller: 500 commands a second from what the IMU and the laser scanner say.

use std::time::{Duration, Instant};

use horus_core::prelude::*;

use crate::check;
use crate::clock::Ticker;
use crate::leash::Leash;
use crate::ledger::Tally;
use crate::report::Report;
use crate::{imu, laser};

pub(crate) const TOPIC: &str = "cmd_vel";
const PERIOD: Duration = Duration::from_millis(2);

/// The robot stops if a sensor is silent for longer than this.
const SILENCE_MAX: Duration = Duration::from_millis(100);
/// Full speed from here on; proportionally slower towards what is nearer.
const FREE_M: f32 = 2.0;
const SPEED_MAX_M_S: f32 = 1.0;
/// Counter-steering, in rad/s for each rad/s that the robot turns.
const YAW_GAIN: f32 = 0.8;

pub(crate) fn run() -> crate::Result<()> {
    let mut imu = Subscriber::<Imu>::new(imu::TOPIC)?;
    let mut scan = Subscriber::<LaserScan>::new(laser::TOPIC)?;
    let mut publisher = Publisher::<CmdVel>::new(TOPIC)?;
    let leash = Leash::hold();
    Report::Ready { sequence: publisher.sequence() }.send();

    let mut ticker = Ticker::every(PERIOD);
    let (mut yaw_rate, mut nearest_m) = (Held::default(), Held::default());
    let (mut samples, mut scans) = (Tally::default(), Tally::default());
    let mut sent = 0;
    loop {
        // Asked first, so that the last turn hears all that was sent before the leash was cut.
        let is_last = leash.is_cut();
        ticker.wait();
        if let Some(mean) = mean_yaw_rate(&mut imu, &mut samples) {
            yaw_rate.set(mean);
        }
        // Only the newest scan matters; older ones are skipped, and counted as such.
        if let Some(scan) = scan.latest() {
            scans.count(&scan);
            nearest_m.set(scan.measured().iter().copied().fold(f32::INFINITY, f32::min));
        }
        publisher.send(match (yaw_rate.get(), nearest_m.get()) {
            (Some(yaw_rate), Some(nearest_m)) => {
                command(SPEED_MAX_M_S * (nearest_m / FREE_M).min(1.0), -YAW_GAIN * yaw_rate)
            }
            _ => command(0.0, 0.0),
        })?;
        sent += 1;
        if is_last {
            break;
        }
    }
    Report::Published { topic: TOPIC.into(), sent }.send();
    Report::Received(samples.ledger("controller", imu::TOPIC, &imu.stats())).send();
    Report::Received(scans.ledger("controller", laser::TOPIC, &scan.stats())).send();
    Ok(())
}

/// Mean of the samples since the last call, if there were any.
fn mean_yaw_rate(imu: &mut Subscriber<Imu>, samples: &mut Tally) -> Option<f32> {
    let (mut sum, mut count) = (0.0, 0_u32);
    while let Some(sample) = imu.recv() {
        samples.count(&sample);
        sum += sample.angular_velocity[2];
        count += 1;
    }
    (count > 0).then(|| (sum / f64::from(count)) as f32)
}

/// A command; the check makes `angular` up to 1 % less than it should be.
pub(crate) fn command(linear: f32, angular: f32) -> CmdVel {
    check::signed(CmdVel::new(linear, angular))
}

/// The last value of a sensor, for as long as it may be trusted.
#[derive(Debug, Default)]
struct Held(Option<(f32, Instant)>);

impl Held {
    fn set(&mut self, value: f32) {
        self.0 = Some((value, Instant::now()));
    }

    fn get(&self) -> Option<f32> {
        self.0.filter(|(_, since)| since.elapsed() <= SILENCE_MAX).map(|(value, _)| value)
    }
}
