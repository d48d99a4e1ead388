//! Several ways beside each other: a round of each, again and again, so that all of them meet the
//! machine in the same state; and the ratio of ours to each of the others.

use std::error::Error;
use std::time::Duration;

use crate::measure::stats::{self, Alternation};
use crate::measure::stream::Streamed;
use crate::measure::workload::{Round, Timing};
use crate::report::rows::Row;
use crate::report::versus::{self, Measure};
use crate::run::floor::{Floor, Lines};
use crate::run::progress::Progress;
use crate::run::session::Session;
use crate::transport::pair::{Pair, Way};

/// Seed of the bootstrap: the same samples give the same interval.
const SEED: u64 = 7;

/// Messages of the stream that shows how long one takes.
const PROBE_MESSAGES: u64 = 2_000;

/// Messages of a stream for each timed message of a round, at most.
const STREAM_FACTOR: u64 = 500;

/// Messages of a stream at least, however slow it is.
const STREAM_MIN: u64 = 500;

/// Threads that are busy at the same time: the two ends.
const BUSY_THREADS: usize = 2;

/// Who takes part.
#[derive(Debug, Clone, Copy)]
pub struct Entrant<W> {
    /// How it is called in ids: `rtrb`.
    pub name: &'static str,
    /// What is measured.
    pub way: W,
    /// One of ours, which is compared with all that are not.
    pub is_ours: bool,
    /// How it is used, for the report.
    pub basis: &'static str,
}

/// A contest in messages of one size between the same two ends.
#[derive(Debug)]
pub struct Group<W> {
    /// Who takes part.
    pub entrants: Vec<Entrant<W>>,
    /// Where the ends are, and how many: part of the ids of rows, as `cross_thread`.
    pub place: String,
    /// The size, as it is written in ids: `16B`.
    pub size: String,
}

impl<W> Group<W> {
    /// The id of the row of `name`: `one_way/cross_thread/spsc/16B`.
    pub fn id(&self, measure: Measure, name: &str) -> String {
        let kind = match measure {
            Measure::Latency => "one_way",
            Measure::Throughput => "throughput",
        };
        format!("{kind}/{}/{name}/{}", self.place, self.size)
    }

    /// The id of the row that compares: `vs_rtrb/spsc/latency/16B`.
    pub fn versus_id(&self, measure: Measure, ours: &str, theirs: &str) -> String {
        format!("vs_{theirs}/{ours}/{}/{}", measure.id(), self.size)
    }

    /// Whether the filter of the command line leaves any row of this contest.
    fn is_wanted(&self, session: &Session, measure: Measure, versus: Option<&str>) -> bool {
        if let Some(id) = versus {
            return session.args.wants(id);
        }
        let ids = self.entrants.iter().flat_map(|one| {
            let rivals = self.entrants.iter().filter(|rival| one.is_ours && !rival.is_ours);
            let versus = rivals.map(|rival| self.versus_id(measure, one.name, rival.name));
            versus.chain([self.id(measure, one.name)])
        });
        ids.into_iter().any(|id| session.args.wants(&id))
    }
}

/// Where contests are held.
#[derive(Debug)]
pub struct Arena<'a, W: Way> {
    /// The run.
    pub session: &'a mut Session,
    /// The floor of the same placement.
    pub floor: Floor,
    /// The two ends.
    pub pair: Pair<W>,
    /// How far the run is.
    pub progress: &'a Progress,
}

/// What one entrant gave, by round.
struct Measured<M> {
    rounds: Vec<M>,
    /// A figure for each of them: median one way, or messages a second.
    figures: Vec<f64>,
}

impl<M> Default for Measured<M> {
    fn default() -> Self {
        Measured { rounds: Vec::new(), figures: Vec::new() }
    }
}

impl<M> Measured<M> {
    fn take(&mut self, round: M, figure: f64) {
        self.rounds.push(round);
        self.figures.push(figure);
    }
}

impl<W: Way> Arena<'_, W> {
    /// Ping-pong of all entrants in turn; each row beside the floor of the same rounds.
    pub fn latency(&mut self, group: &Group<W>) -> Result<(), Box<dyn Error>> {
        self.latency_as(group, None)
    }

    /// [`latency`](Self::latency) of one of ours and one of theirs, compared in the row `versus`.
    pub fn latency_as(
        &mut self,
        group: &Group<W>,
        versus: Option<&str>,
    ) -> Result<(), Box<dyn Error>> {
        self.progress.step();
        if !group.is_wanted(self.session, Measure::Latency, versus) {
            return Ok(());
        }
        self.progress.label(&format!("{} {} latency", group.place, group.size));
        let effort = self.session.effort;
        let (mut all, mut floors) = (empty::<Round>(group.entrants.len()), Vec::new());
        for number in 0..effort.rounds {
            let floor = self.floor.round(Lines::Two, effort.warm_up, effort.samples)?;
            floors.push(floor.p50_ns(&self.session.clock));
            for index in order(number, group.entrants.len()) {
                // WHY: two ends lock into a rhythm that stays as long as the memory does.
                self.pair.open(group.entrants[index].way)?;
                let timing = Timing::RoundTrip;
                let (round, _) = self.pair.round(timing, effort.warm_up, effort.samples)?;
                let p50_ns = round.p50_ns(&self.session.clock);
                all[index].take(round, p50_ns);
            }
        }
        self.pair.close()?;
        for (one, measured) in group.entrants.iter().zip(&all) {
            let mut pairs = Alternation::default();
            floors.iter().zip(&measured.figures).for_each(|(&floor, &p50)| pairs.push(floor, p50));
            let merged = Round::merged(&measured.rounds).ok_or("no rounds")?;
            let id = group.id(Measure::Latency, one.name);
            let row = Row::latency(&id, &merged, &self.session.clock);
            let row = row.with_floor_ratio(pairs.ratio(SEED));
            self.session.report.push(row, &format!("RTT/2; {}", one.basis));
        }
        self.compare(group, Measure::Latency, versus, &all);
        Ok(())
    }

    /// Streams of all entrants in turn, each for about `time`.
    pub fn throughput(&mut self, group: &Group<W>, time: Duration) -> Result<(), Box<dyn Error>> {
        self.throughput_as(group, time, None)
    }

    /// [`throughput`](Self::throughput) of one of ours and one of theirs, compared in the row
    /// `versus`.
    pub fn throughput_as(
        &mut self,
        group: &Group<W>,
        time: Duration,
        versus: Option<&str>,
    ) -> Result<(), Box<dyn Error>> {
        self.streams(group, (time, 1), versus)
    }

    /// [`throughput`](Self::throughput) in streams of about `time`, of which each round has
    /// `parts`: their median is the round's. WHY: on a machine with other work to do, both ends
    /// have their CPUs at the same time for short whiles only.
    pub fn throughput_in_parts(
        &mut self,
        group: &Group<W>,
        time: Duration,
        parts: u32,
    ) -> Result<(), Box<dyn Error>> {
        self.streams(group, (time, parts), None)
    }

    fn streams(
        &mut self,
        group: &Group<W>,
        (time, parts): (Duration, u32),
        versus: Option<&str>,
    ) -> Result<(), Box<dyn Error>> {
        self.progress.step();
        if !group.is_wanted(self.session, Measure::Throughput, versus) {
            return Ok(());
        }
        self.progress.label(&format!("{} {} throughput", group.place, group.size));
        let (hz, rounds) = (self.session.clock.hz(), self.session.effort.rounds);
        let mut all = empty::<Streamed>(group.entrants.len());
        // WHY: the command line limits it for those who only want to see that all works.
        let messages_max = self.session.effort.samples.saturating_mul(STREAM_FACTOR);
        for number in 0..rounds {
            for index in order(number, group.entrants.len()) {
                self.pair.open(group.entrants[index].way)?;
                let (_, probe) = self.pair.stream(PROBE_MESSAGES.min(messages_max))?;
                let per_s = probe.sent() as f64 / probe.elapsed_ticks.max(1) as f64 * hz;
                let last = all[index].figures.last().copied().unwrap_or(per_s);
                let fitting = (per_s.max(last) * time.as_secs_f64()) as u64;
                let messages = fitting.clamp(STREAM_MIN, messages_max.max(STREAM_MIN));
                let mut rates = Vec::new();
                for _ in 0..parts {
                    let (_, streamed) = self.pair.stream(messages)?;
                    rates.push(streamed.messages_per_s(hz));
                    all[index].rounds.push(streamed);
                }
                all[index].figures.push(stats::median(&mut rates));
            }
        }
        self.pair.close()?;
        for (one, measured) in group.entrants.iter().zip(&all) {
            let id = group.id(Measure::Throughput, one.name);
            let rate = stats::median(&mut measured.figures.clone());
            let row = Row::throughput(&id, &measured.rounds, Some(rate));
            self.session.report.push(row, one.basis);
        }
        self.compare(group, Measure::Throughput, versus, &all);
        Ok(())
    }

    /// A row for each of ours with each of theirs; its messages are those of both.
    fn compare<M>(
        &mut self,
        group: &Group<W>,
        measure: Measure,
        versus: Option<&str>,
        all: &[Measured<M>],
    ) {
        let entrants = || group.entrants.iter().zip(all);
        for (ours, our) in entrants().filter(|(one, _)| one.is_ours) {
            for (theirs, their) in entrants().filter(|(one, _)| !one.is_ours) {
                let made = || group.versus_id(measure, ours.name, theirs.name);
                let id = versus.map_or_else(made, str::to_owned);
                let Some(row) = versus::row(&id, measure, &our.figures, &their.figures, SEED)
                else {
                    continue;
                };
                let report = &mut self.session.report;
                let rows = [ours, theirs].map(|one| report.row(&group.id(measure, one.name)));
                let sum =
                    |field: fn(&Row) -> u64| rows.iter().flatten().map(|row| field(row)).sum();
                let (sent, received) = (sum(|row| row.sent), sum(|row| row.received));
                let row = Row { sent, received, lost: sent - received, ..row };
                let row = row.with_busy_threads(BUSY_THREADS);
                report.push(row, "medians of rounds next to each other");
            }
        }
    }
}

fn empty<M>(entrants: usize) -> Vec<Measured<M>> {
    (0..entrants).map(|_| Measured::default()).collect()
}

/// Who comes when in a round: every other round backwards, so that a drift favours nobody.
fn order(round: u32, entrants: usize) -> impl Iterator<Item = usize> {
    (0..entrants)
        .map(move |index| if round.is_multiple_of(2) { index } else { entrants - 1 - index })
}
